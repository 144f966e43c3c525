"""The changes of several versions as one table: the one merge of feeds.

A full instant and the feeds after it are a set: of the rows with one name, the last one counts. So every reader merges
the feeds first, as Arrow tables. The set then has the rows of the full instant that no merged row names, and the merged
rows of what is there afterwards. A merged table can be merged again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from snapshot._extras import extra
from snapshot.option_maps import TYPES, maps_of
from snapshot.storing import QUEUE
from snapshot.text_columns import expanded, text_in

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Numbers = np.ndarray[Any, Any]

INSERT, DELETE, BEFORE, AFTER = "insert", "delete", "update_preimage", "update_postimage"

KIND = "_change_type"

MOST = 2**29
"""How many bytes of text are put into one column, at most; a column holds 2 GiB, and a subscription may exceed this."""


def there_after(changes: pa.Table) -> pa.Table:
    """The rows of what is there after the changes, and was added or changed by them."""
    return of_kind(changes, INSERT, AFTER)


def of_kind(changes: pa.Table, *kinds: str) -> pa.Table:
    """The rows of changes of some kinds."""
    return changes.filter(_is_of(changes, *kinds))


def name_texts(rows: pa.Table | pa.RecordBatch, queues: bool) -> Any:
    """One text for each row, which names its subscription: filter, subscriber and, in a dialect with queues, queue."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    parts = [rows.column("filter")]
    if queues:
        parts.append(pc.fill_null(pc.map_lookup(rows.column("options"), QUEUE, "first"), ""))
    texts = [*(pc.binary_length(part) for part in parts), *parts, rows.column("subscriber")]
    large = pa.large_string()  # what stands in several columns may not fit into one of 2 GiB
    return pc.binary_join_element_wise(*(each.cast(large) for each in texts), pa.scalar(":", large))


def named(rows: pa.Table, changes: pa.Table, queues: bool) -> Numbers:
    """Whether each row is of a subscription that one of the changes names. Names are made of rows with such a filter
    alone, which are few."""
    is_in = extra("pyarrow.compute").is_in
    some = is_in(rows.column("filter"), value_set=changes.column("filter"))
    found: Numbers = some.to_numpy()
    found[found] = is_in(name_texts(rows.filter(some), queues), value_set=name_texts(changes, queues))
    return found


def merged(feeds: Iterable[pa.Table], queues: bool) -> pa.Table:
    """The last row of each subscription: how it is after all changes, or that it was deleted. It may be brought to a
    set at any time since the first feed.

    Args:
        feeds: tables with the columns of feeds, or some of them: at least those that name a subscription, ``options``
            and ``_change_type``; in the order of their versions. At least one.
        queues: whether the dialect has queue groups.

    O(rows), all in memory.
    """
    pa, np = extra("pyarrow"), extra("numpy")
    rows, _, last = _ends_of(feeds, queues)
    is_last = np.zeros(len(rows), bool)
    is_last[last] = True
    return rows.filter(pa.array(is_last))  # not `take`, which puts all texts into one column: that holds 2 GiB


def net(feeds: Iterable[pa.Table], queues: bool) -> pa.Table:
    """The changes of feeds without what came between: a feed from the version before the first to the last."""
    pa, np = extra("pyarrow"), extra("numpy")
    rows, first, last = _ends_of(feeds, queues)
    numbered = rows.append_column("row", pa.array(np.arange(len(rows))))
    return pa.concat_tables(_net(numbered, pa.array(first), pa.array(last))).drop_columns("row")


def _net(rows: pa.Table, first: pa.Array, last: pa.Array) -> Iterator[pa.Table]:
    """The net changes of subscriptions with these first and last rows. Halved until their texts fit into columns."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    rows = rows.filter(pc.is_in(rows.column("row"), value_set=pa.concat_arrays([first, last])))
    if len(last) > 1 and sum(map(text_in, rows.to_batches())) > MOST:
        half = len(last) // 2
        yield from _net(rows, first[:half], last[:half])
        yield from _net(rows, first[half:], last[half:])
        return
    rows = rows.combine_chunks()
    first, last = (rows.take(pc.index_in(each, value_set=rows.column("row"))) for each in (first, last))
    was, there = _is_of(first, DELETE, BEFORE), _is_of(last, INSERT, AFTER)
    old = last
    for name in ("options", TYPES):
        old = old.set_column(old.schema.get_field_index(name), name, first.column(name))
    differ = pc.and_(pc.and_(was, there), _differ(old, last))
    parts = [
        (old, pc.and_not(was, there), DELETE),
        (old, differ, BEFORE),
        (last, differ, AFTER),
        (last, pc.and_not(there, was), INSERT),
    ]
    for rows, chosen, kind in parts:
        kinds = pa.repeat(kind, len(rows))
        yield rows.set_column(rows.schema.get_field_index(KIND), KIND, kinds).filter(chosen)


def _ends_of(feeds: Iterable[pa.Table], queues: bool) -> tuple[pa.Table, Numbers, Numbers]:
    """All rows, in order; and the numbers of the first and the last row of each subscription."""
    pa, np = extra("pyarrow"), extra("numpy")
    # In one version, a subscription may be deleted and inserted: for an object that got the key of another one.
    ordered = [of_kind(feed, *kinds) for feed in feeds for kinds in ((DELETE, BEFORE), (INSERT, AFTER))]
    rows = pa.concat_tables(ordered)
    names = name_texts(rows, queues).combine_chunks().dictionary_encode()
    places, numbers = names.indices.to_numpy(), np.arange(len(rows))
    first, last = np.zeros((2, len(names.dictionary)), np.int64)
    last[places] = numbers  # of numbers for one place, the last stays
    first[places[::-1]] = numbers[::-1]
    return rows, first, last


def _is_of(changes: pa.Table, *kinds: str) -> Any:
    pa = extra("pyarrow")
    return extra("pyarrow.compute").is_in(changes.column(KIND), value_set=pa.array(kinds, pa.string()))


def _differ(before: pa.Table, after: pa.Table) -> pa.Array:
    """Whether the options of each row are others, in any order."""
    pa = extra("pyarrow")
    rows = len(before)
    both = pa.concat_tables([each.select(["options", TYPES]) for each in (before, after)]).combine_chunks()
    maps = maps_of(*(both.column(name).combine_chunks() for name in both.schema.names))
    known: dict[Any, int] = {}
    numbers = range(len(maps.texts))
    pairs = ((frozenset(zip(*maps.pairs(number), strict=True)), maps.types_of(number)) for number in numbers)
    alike = expanded([known.setdefault(each, number) for number, each in enumerate(pairs)], maps.numbers)
    return pa.array([old != new for old, new in zip(alike[:rows], alike[rows:], strict=True)], pa.bool_())
