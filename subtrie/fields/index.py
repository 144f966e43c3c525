"""The index: which entries are filed under what a message has. Immutable; a change copies the path to it.

    Index
      fields: name -> Field
        values: value -> entries filed under it            Equals, OneOf
        ranges: of each order a tree, with entries         Within, Prefix
        any:    entries                                    Present, NotIn, Not
        views:  the same of what is made of texts          Suffix, Wildcard, InNetwork ... (texts.py)
      absent: name -> entries                              Absent

The maps are those of maps.py, from keys to Cells. The sets of entries are the persistent hash tries of keyed.py.
What is filed are `Filed` entries: each is under one criterion and says what of it is not known to hold where it is
found (`rest`). So a search yields an entry once, and only if all of it holds.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from collections.abc import Iterator
from typing import Any

if not cython.compiled:
    from ctrie._arrays import replaced, settle
    from ctrie._nodes import mix
    from subtrie._trie.keyed import Keyed, set_size, with_keyed, without_keyed
    from subtrie.fields.criteria import (
        NONE,
        ORIGINAL,
        RANGES,
        VALUES,
        Absent,
        Criterion,
        Within,
    )
    from subtrie.fields.intervals import (
        Ranges,
        crowd_around,
        filed_at,
        with_range,
        without_range,
    )
    from subtrie.fields.maps import Cell, cells_of, find_in_map, new_cell, with_cell, without_cell

from subtrie._trie.keyed import check_shape, iter_keyed
from subtrie.fields.intervals import all_filed, check_ranges
from subtrie.fields.maps import check_map

# What a search pays besides the entries that it finds, in entries: for a tree of ranges, the walk through it; for what
# is filed under a field alone, that every message with the field finds it; for Absent, every message without it.
_RANGE_COST = 8
_ANY_COST = 64
_ABSENT_COST = 256


_NO_RANGES = (None,) * 7  # a tree for each order
_NO_VIEWS = (None,) * 6  # a field for each view; none for the original values


class Filed(Keyed):
    """An entry that is filed under one criterion. `rest` is what remains to be asked where it is found: None, one
    criterion, or several in a tuple. `needs` are the bits of it (needs.py). An entry `is_repeated` if one message may
    find it at several places."""

    __slots__ = ("is_repeated", "needs", "rest")
    is_repeated: bool
    needs: int
    rest: Any


class Field:
    """What is filed under one field."""

    __slots__ = ("any", "ranges", "values", "views")
    values: Any
    ranges: tuple[Ranges | None, ...] | None
    any: Any
    views: tuple[Any, ...] | None


class Index:
    """All that is filed at one instant."""

    __slots__ = ("absent", "fields")
    fields: Any
    absent: Any


def new_index(fields: Any, absent: Any) -> Index:
    """Return an index of these two maps."""
    index: Index = Index.__new__(Index)
    index.fields = fields
    index.absent = absent
    settle(index)
    return index


def _new_field(values: Any, ranges: tuple[Ranges | None, ...] | None, any: Any, views: tuple[Any, ...] | None) -> Field:
    field: Field = Field.__new__(Field)
    field.values = values
    field.ranges = ranges
    field.any = any
    field.views = views
    settle(field)
    return field


_NO_FIELD: Field = _new_field(None, None, None, None)


# ------------------------------------------------------------------------------------------------------------- changes


def refiled(index: Index, criterion: Criterion, old: Filed | None, new: Filed | None) -> Index:
    """Return the index with `new` in the place of `old` under a criterion; one of them may be None. O(log n) for each
    value that the criterion names."""
    name_hash = mix(hash(criterion.name))
    if criterion.place == NONE:
        return new_index(index.fields, _refiled_under(index.absent, criterion.name, name_hash, old, new))
    cell: Cell | None = find_in_map(index.fields, criterion.name, name_hash)
    before: Field = _NO_FIELD if cell is None else cell.value
    if criterion.view == ORIGINAL:
        after = _refiled_in_field(before, criterion, old, new)
    else:
        after = _refiled_in_view(before, criterion, old, new)
    if _is_empty(after):
        # Nothing is left. Or nothing was there and nothing came: a OneOf without values is filed nowhere.
        return index if cell is None else new_index(without_cell(index.fields, cell), index.absent)
    return new_index(
        with_cell(index.fields, new_cell(criterion.name, name_hash, after), cell),
        index.absent,
    )


def _refiled_in_view(field: Field, criterion: Criterion, old: Filed | None, new: Filed | None) -> Field:
    views = _NO_VIEWS if field.views is None else field.views
    before: Field | None = views[criterion.view]
    after = _refiled_in_field(_NO_FIELD if before is None else before, criterion, old, new)
    changed = replaced(views, criterion.view, None if _is_empty(after) else after)
    return _new_field(field.values, field.ranges, field.any, None if changed == _NO_VIEWS else changed)


def _is_empty(field: Field) -> bool:
    return field.values is None and field.any is None and field.ranges is None and field.views is None


def _refiled_in_field(field: Field, criterion: Criterion, old: Filed | None, new: Filed | None) -> Field:
    if criterion.place == VALUES:
        values = field.values
        for value in criterion.values_filed():
            values = _refiled_under(values, value, mix(hash(value)), old, new)
        return _new_field(values, field.ranges, field.any, field.views)
    if criterion.place == RANGES:
        ranges = _refiled_in_ranges(field.ranges, criterion.span(), old, new)
        return _new_field(field.values, ranges, field.any, field.views)
    return _new_field(field.values, field.ranges, _exchanged(field.any, old, new), field.views)


def _refiled_in_ranges(
    ranges: tuple[Ranges | None, ...] | None, span: Within, old: Filed | None, new: Filed | None
) -> tuple[Ranges | None, ...] | None:
    trees = _NO_RANGES if ranges is None else ranges
    tree: Ranges | None = trees[span.order]
    filed = _exchanged(filed_at(tree, span), old, new)
    left = with_range(tree, span, filed) if filed is not None else without_range(tree, span)  # type: ignore[arg-type]
    changed = replaced(trees, span.order, left)
    return None if left is None and changed == _NO_RANGES else changed


def _refiled_under(cells: Any, key: object, hash: int, old: Filed | None, new: Filed | None) -> Any:
    """Change what a map has under a key; a key under which nothing is left goes."""
    cell: Cell | None = find_in_map(cells, key, hash)
    filed = _exchanged(None if cell is None else cell.value, old, new)
    if filed is None:
        return without_cell(cells, cell)  # type: ignore[arg-type]
    return with_cell(cells, new_cell(key if cell is None else cell.key, hash, filed), cell)


def _exchanged(filed: Any, old: Filed | None, new: Filed | None) -> Any:
    return without_keyed(filed, old) if new is None else with_keyed(filed, new, old)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------------------- selection


def crowd_under(index: Index, criterion: Criterion, most: int) -> int:
    """Return how many entries a message that meets a criterion finds with what is filed under it, as far as can be told
    from what is filed now: a measure of what it costs to find it there. O(log n + most)."""
    name_hash = mix(hash(criterion.name))
    if criterion.place == NONE:
        return _ABSENT_COST + _crowd_at(index.absent, criterion.name, name_hash)
    cell: Cell | None = find_in_map(index.fields, criterion.name, name_hash)
    field: Field | None = _NO_FIELD if cell is None else cell.value
    if criterion.view != ORIGINAL:
        field = None if field.views is None else field.views[criterion.view]  # type: ignore[union-attr]
    if field is None:
        field = _NO_FIELD
    if criterion.place == VALUES:
        crowd = -1
        for value in criterion.values_filed():
            crowd += 1 + _crowd_at(field.values, value, mix(hash(value)))
            if crowd >= most:
                break
        return crowd
    if criterion.place == RANGES:
        span: Within = criterion.span()
        tree: Ranges | None = None if field.ranges is None else field.ranges[span.order]
        below = 0 if span.low is None else crowd_around(tree, span.low, most)
        above = 0 if span.high is None else crowd_around(tree, span.high, most)
        return _RANGE_COST + max(below, above)
    return _ANY_COST + set_size(field.any)


def _crowd_at(cells: Any, key: object, hash: int) -> int:
    cell: Cell | None = find_in_map(cells, key, hash)
    return 0 if cell is None else set_size(cell.value)


# --------------------------------------------------------------------------------------------------------------- tests


def all_in_index(index: Index) -> Iterator[tuple[Criterion, Filed]]:
    """Yield every entry with a criterion that asks for the place where it is filed, as often as it is filed."""
    for cell in cells_of(index.absent):
        for entry in iter_keyed(cell.value):
            yield Absent(cell.key), entry
    for cell in cells_of(index.fields):
        field: Field = cell.value
        yield from _all_in_field(cell.key, ORIGINAL, field)
        for view, inner in enumerate(field.views or ()):
            if inner is not None:
                yield from _all_in_field(cell.key, view, inner)


def _all_in_field(name: Any, view: int, field: Field) -> Iterator[tuple[Any, Any]]:
    for cell in cells_of(field.values):
        for entry in iter_keyed(cell.value):
            yield (name, view, cell.key), entry
    for tree in field.ranges or ():
        for span, filed in all_filed(tree):
            for entry in iter_keyed(filed):
                yield (view, span), entry
    for entry in iter_keyed(field.any):
        yield name, entry


def places_of(criterion: Criterion) -> list[Any]:
    """Return what `all_in_index` calls the places of a criterion."""
    if criterion.place == VALUES:
        return [(criterion.name, criterion.view, value) for value in criterion.values_filed()]
    if criterion.place == RANGES:
        return [(criterion.view, criterion.span())]
    return [criterion if criterion.place == NONE else criterion.name]


def check_index(index: Index) -> None:
    """Raise AssertionError if a map or a tree is ill-formed, or leads to nothing."""
    for cells in (index.fields, index.absent):
        check_map(cells)
    for cell in cells_of(index.absent):
        check_shape(cell.value)
        assert cell.value is not None, f"nothing is filed under the absence of {cell.key!r}"
    for cell in cells_of(index.fields):
        _check_field(cell.key, cell.value)


def _check_field(name: Any, field: Field) -> None:
    assert not _is_empty(field), f"nothing in {name!r}"
    check_map(field.values)
    check_shape(field.any)
    for value in cells_of(field.values):
        check_shape(value.value)
        assert value.value is not None, f"nothing is filed under {value.key!r}"
    for tree in field.ranges or ():
        check_ranges(tree)
    assert field.views is None or any(field.views), f"no views in {name!r}"
    for view in field.views or ():
        if view is not None:
            _check_field(name, view)
