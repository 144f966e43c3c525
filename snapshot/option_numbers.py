"""Options as numbers: a joined row carries a number instead of a map, if the plan knows what the number means.

Spark copies a map of text to text row by row. In a set with one option per subscription, that took two fifths of the
time of a joined row. Most sets have few different options. So the driver looks at some rows of the set and puts the
different maps into the plan, as a constant array. A worker returns a place in that array. A row with other options
carries its own map.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from snapshot._extras import extra
from snapshot.option_maps import maps_of
from snapshot.text_columns import expanded

if TYPE_CHECKING:
    import pyarrow as pa

OptionMap = tuple[tuple[str, str | None], ...]
"""Options as Spark has them: names with their texts, in order."""

MOST = 256
"""Different maps that have numbers."""

LONGEST = 1_024
"""Characters of the longest map that has a number, so that a plan stays small."""

MOST_LOOKED_AT = 1_024
"""Different maps of one batch that are looked at."""


def numbered(column: pa.MapArray, known: Sequence[OptionMap]) -> tuple[pa.Int32Array, tuple[OptionMap, ...]]:
    """The number of each row's options, null where they have none, and what the numbers mean.

    Args:
        known: what the first numbers mean; others follow, until there are `MOST`.
    """
    pa = extra("pyarrow")
    if len(column) == 0 or column.null_count:  # such rows come from no export
        return pa.nulls(len(column), pa.int32()), tuple(known)
    maps = maps_of(column)
    numbers = {options: number for number, options in enumerate(known)}
    plan: list[int | None] = [None] * len(maps.texts)
    for number in range(min(len(maps.texts), MOST_LOOKED_AT)):
        options = tuple(zip(*maps.pairs(number), strict=True))
        length = sum(len(name) + len(text or "") for name, text in options)
        if options not in numbers and len(numbers) < MOST and length <= LONGEST:
            numbers[options] = len(numbers)
        plan[number] = numbers.get(options)
    return pa.array(expanded(plan, maps.numbers), pa.int32()), tuple(numbers)


def renumbered(here: Sequence[OptionMap], plan: Sequence[OptionMap]) -> pa.Int32Array:
    """The number in the plan for each number of a worker, null if the plan has none."""
    pa = extra("pyarrow")
    places = {options: place for place, options in enumerate(plan)}
    return pa.array([places.get(options) for options in here], pa.int32())


def looked_up(number: str, plan: Sequence[OptionMap]) -> str:
    """A Spark expression for the options that a number means; null for null."""
    # JSON, since Spark takes a second over an array of some hundred maps that are written out. Not element_at, which
    # under spark.sql.ansi.enabled takes a null for the first place of an array without nulls.
    # And in hexadecimal bytes, since the meaning of a backslash in SQL depends on a setting.
    known = json.dumps([dict(options) for options in plan]).encode().hex()
    return f"get(from_json(cast(X'{known}' as string), 'array<map<string, string>>'), {number})"
