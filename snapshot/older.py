"""Rows that earlier versions of this package wrote, as this one writes them.

They had columns that a filter tells. Their options had tagged texts beside them, as options whose names begin with
``~``, and no column of types: manifests and files listed the options whose texts are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

from snapshot._extras import extra
from snapshot.option_maps import TYPES, Pairs, maps_of
from snapshot.storing import QUEUE, Storing, Texts
from snapshot.text_columns import expanded
from subtrie.tagged import MARK, untagged

DROPPED = ("words", "depth", "wildcards")
"""Columns that were stored, too."""


def current(rows: Any, json_options: Collection[str] | None, *, tags: bool = True) -> Any:
    """The rows, a table or a batch, with a column of types.

    Args:
        json_options: names of the options whose texts are JSON; None if the rows are of this version.
        tags: whether there may be tagged texts.
    """
    names = rows.schema.names
    if json_options is None or TYPES in names:
        return rows
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    options = rows.column("options")
    maps = maps_of(options.combine_chunks() if isinstance(options, pa.ChunkedArray) else options)
    found = [_texts(maps.pairs(number), json_options, tags) for number in range(len(maps.texts))]
    pairs = expanded([list(texts.items()) for texts, _ in found], maps.numbers)
    types = expanded([text for _, text in found], maps.numbers)
    after = pa.array(pairs, options.type)
    rows = rows.drop_columns([name for name in DROPPED if name in names])
    rows = rows.set_column(rows.schema.get_field_index("options"), "options", after)
    if "group" in names:  # in a dialect with queue groups, it is what the options name
        group, (was, queue) = rows.column("group"), (pc.map_lookup(each, QUEUE, "first") for each in (options, after))
        group = pc.if_else(pc.fill_null(pc.equal(group, was), False), queue, group)
        rows = rows.set_column(rows.schema.get_field_index("group"), "group", group)
    return rows.append_column(TYPES, pa.array(types, pa.string()))


def untagged_integers(rows: Any) -> Any:
    """The rows of a feed of integers, each with its one text: those beyond 64 bits were tagged in feeds, which
    are merged by texts."""
    pc, texts, storing = extra("pyarrow.compute"), rows.column("subscriber"), Storing(True, tags=True)
    if not pc.any(pc.starts_with(texts, MARK)).as_py():
        return rows
    return rows.set_column(
        rows.schema.get_field_index("subscriber"),
        "subscriber",
        [[storing.subscriber(untagged(text[1:])) if text[:1] == MARK else text for text in texts.to_pylist()]],
    )


def _texts(pairs: Pairs, json_options: Collection[str], tags: bool) -> Texts:
    """The texts of options and of their types."""
    texts, values = dict(zip(*pairs, strict=True)), dict[str, Any]()
    for name, text in texts.items():
        if tags and name.startswith(MARK):
            of = json.loads(name[2:]) if name.startswith(MARK + MARK) else name[1:]
            values[of] = _read(untagged, text or "")
        elif not tags or MARK + name not in texts:
            values[name] = _read(json.loads, text) if name in json_options and text is not None else text
    return Storing(None, tags=True).options(values)


def _read(read: Callable[[str], Any], text: str) -> Any:
    """The value of a text; or the text, in a row that only names what was there, when an option had another type."""
    try:
        return read(text)
    except (ValueError, RecursionError):
        return text
