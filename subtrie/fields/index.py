"""The index: which entries are filed under what a message has. Immutable; a change copies the path to it.

    Index
      fields: name -> Field
        values: value -> entries filed under it            Equals, OneOf
        ranges: order -> tree of ranges, with entries      Within, Prefix
        any:    entries                                    Present, NotIn
      absent: name -> entries                              Absent

The maps and the sets of entries are the persistent hash tries of subscribers.py: a map's entries are Cells, whose
"subscriber" is the key. What is filed are `Filed` entries: each is under one criterion and says what of it is not known
to hold where it is found (`rest`), so a search yields an entry once, and only if all of it holds.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from collections.abc import Iterator
from typing import Any

if not cython.compiled:
    from ctrie._arrays import settle
    from ctrie._nodes import mix
    from subtrie._trie.subscribers import Entry, SetNode, find_entry, set_size, with_entry, without_entry
    from subtrie.fields.criteria import (
        NONE,
        NOWHERE,
        RANGES,
        VALUES,
        Absent,
        Criterion,
        Equals,
        OneOf,
        Prefix,
        TopicPart,
        Within,
        check_hashable,
        order_of,
    )
    from subtrie.fields.intervals import (
        Ranges,
        crowd_around,
        filed_around,
        filed_at,
        with_range,
        without_range,
    )
else:
    from cython.cimports.ctrie._arrays import settle
    from cython.cimports.ctrie._nodes import mix
    from cython.cimports.subtrie._trie.subscribers import (
        Entry,
        SetNode,
        find_entry,
        set_size,
        with_entry,
        without_entry,
    )
    from cython.cimports.subtrie.fields.criteria import (
        NONE,
        NOWHERE,
        RANGES,
        VALUES,
        Absent,
        Criterion,
        Equals,
        OneOf,
        Prefix,
        TopicPart,
        Within,
        check_hashable,
        order_of,
    )
    from cython.cimports.subtrie.fields.intervals import (
        Ranges,
        crowd_around,
        filed_around,
        filed_at,
        with_range,
        without_range,
    )

from subtrie._trie.subscribers import check_set, iter_entries
from subtrie.fields.intervals import all_filed, check_ranges

# What a search among so many entries costs, in entries looked at: to walk a tree of ranges; for what is filed under a
# field alone, that it is found by every message with the field; for Absent, by every message without it.
_RANGE_COST = 8
_ANY_COST = 64
_ABSENT_COST = 256


class Cell(Entry):
    """A key, as an entry's subscriber, and what it leads to."""

    __slots__ = ("value",)
    value: Any


class Filed(Entry):
    """An entry that is filed under one criterion; `rest` is what remains to be asked where it is found."""

    __slots__ = ("rest",)
    rest: tuple[Criterion, ...]


class Field:
    """What is filed under one field."""

    __slots__ = ("any", "ranges", "values")
    values: Any
    ranges: dict[int, Ranges]
    any: Any


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


def _new_field(values: Any, ranges: dict[int, Ranges], any: Any) -> Field:
    field: Field = Field.__new__(Field)
    field.values = values
    field.ranges = ranges
    field.any = any
    settle(field)
    return field


def new_cell(key: object, hash: int, value: Any) -> Cell:
    """Return an entry of a map."""
    cell: Cell = Cell.__new__(Cell)
    cell.subscriber = key
    cell.hash = hash
    cell.options = None
    cell.value = value
    settle(cell)
    return cell


def find_cell(cells: Any, key: object, hash: int) -> Cell | None:
    """Return a key's cell in a map, or None. O(log n)."""
    return find_entry(cells, key, hash)  # type: ignore[return-value]


_NO_FIELD: Field = _new_field(None, {}, None)


# ------------------------------------------------------------------------------------------------------------- changes


def refiled(index: Index, criterion: Criterion, old: Filed | None, new: Filed | None) -> Index:
    """Return the index with `new` in the place of `old` under a criterion; one of them may be None. O(log n) for each
    value that the criterion names."""
    name_hash = mix(hash(criterion.name))
    if criterion.place == NONE:
        return new_index(index.fields, _refiled_under(index.absent, criterion.name, name_hash, old, new))
    cell: Cell | None = find_cell(index.fields, criterion.name, name_hash)
    before: Field = _NO_FIELD if cell is None else cell.value
    after = _refiled_in_field(before, criterion, old, new)
    if after.values is None and after.any is None and not after.ranges:
        # Nothing is left, or there was nothing and still is: OneOf no values is filed nowhere.
        return index if cell is None else new_index(without_entry(index.fields, cell), index.absent)
    return new_index(
        with_entry(index.fields, new_cell(criterion.name, name_hash, after), cell),
        index.absent,
    )


def _refiled_in_field(field: Field, criterion: Criterion, old: Filed | None, new: Filed | None) -> Field:
    if criterion.place == VALUES:
        values = field.values
        for value in _values_of(criterion):
            values = _refiled_under(values, value, mix(hash(value)), old, new)
        return _new_field(values, field.ranges, field.any)
    if criterion.place == RANGES:
        return _new_field(field.values, _refiled_in_ranges(field.ranges, _span_of(criterion), old, new), field.any)
    return _new_field(field.values, field.ranges, _exchanged(field.any, old, new))


def _refiled_in_ranges(
    ranges: dict[int, Ranges], span: Within, old: Filed | None, new: Filed | None
) -> dict[int, Ranges]:
    changed = dict(ranges)
    tree: Ranges | None = ranges.get(span.order)
    filed = _exchanged(filed_at(tree, span), old, new)
    left = with_range(tree, span, filed) if filed is not None else without_range(tree, span)  # type: ignore[arg-type]
    if left is None:
        del changed[span.order]
    else:
        changed[span.order] = left
    settle(changed)
    return changed


def _refiled_under(cells: Any, key: object, hash: int, old: Filed | None, new: Filed | None) -> Any:
    """Change what a map has under a key; a key under which nothing is left goes."""
    cell: Cell | None = find_cell(cells, key, hash)
    filed = _exchanged(None if cell is None else cell.value, old, new)
    if filed is None:
        return without_entry(cells, cell)  # type: ignore[arg-type]
    return with_entry(cells, new_cell(key if cell is None else cell.subscriber, hash, filed), cell)


def _exchanged(filed: Any, old: Filed | None, new: Filed | None) -> Any:
    return without_entry(filed, old) if new is None else with_entry(filed, new, old)  # type: ignore[arg-type]


def _values_of(criterion: Criterion) -> Any:
    if isinstance(criterion, Equals):
        equals: Equals = criterion
        return (equals.value,)
    if isinstance(criterion, TopicPart):
        part: TopicPart = criterion
        return (part.value,)
    one_of: OneOf = criterion  # type: ignore[assignment]
    return one_of.values


def _span_of(criterion: Criterion) -> Within:
    if isinstance(criterion, Prefix):
        prefix: Prefix = criterion
        return prefix.span()
    within: Within = criterion  # type: ignore[assignment]
    return within


# ----------------------------------------------------------------------------------------------------------- selection


def crowd_under(index: Index, criterion: Criterion, most: int) -> int:
    """Return how many entries a message that meets a criterion finds with what is filed under it, as far as can be told
    from what is filed now: a measure of what it costs to find it there. O(log n + most)."""
    name_hash = mix(hash(criterion.name))
    if criterion.place == NONE:
        return _ABSENT_COST + _crowd_at(index.absent, criterion.name, name_hash)
    cell: Cell | None = find_cell(index.fields, criterion.name, name_hash)
    field: Field = _NO_FIELD if cell is None else cell.value
    if criterion.place == VALUES:
        crowd = -1
        for value in _values_of(criterion):
            crowd += 1 + _crowd_at(field.values, value, mix(hash(value)))
            if crowd >= most:
                break
        return crowd
    if criterion.place == RANGES:
        span = _span_of(criterion)
        tree: Ranges | None = field.ranges.get(span.order)
        below = 0 if span.low is None else crowd_around(tree, span.low, most)
        above = 0 if span.high is None else crowd_around(tree, span.high, most)
        return _RANGE_COST + max(below, above)
    return _ANY_COST + set_size(field.any)


def _crowd_at(cells: Any, key: object, hash: int) -> int:
    cell: Cell | None = find_cell(cells, key, hash)
    return 0 if cell is None else set_size(cell.value)


# -------------------------------------------------------------------------------------------------------------- search


def entries_for(index: Index, message: dict[Any, Any]) -> list[Filed]:
    """Return the entries of which all holds for a message, each once. The message's values are hashed, and compared
    with those filed by `==`: users' code may run and raise."""
    found: list[Any] = []
    for name, value in list(message.items()):
        check_hashable(name, value)
        cell: Cell | None = find_cell(index.fields, name, mix(hash(name)))
        if cell is not None:
            _find_in_field(cell.value, value, message, found)
    if index.absent is not None:
        for without in iter_entries(index.absent):
            if without.subscriber not in message:
                nothing: Cell = without  # type: ignore[assignment]
                _find_among(nothing.value, message, found)
    return found


def _find_in_field(field: Field, value: Any, message: dict[Any, Any], found: list[Any]) -> None:
    if field.values is not None:
        cell: Cell | None = find_cell(field.values, value, mix(hash(value)))
        if cell is not None:
            _find_among(cell.value, message, found)
    if field.ranges:
        order = order_of(value)
        tree: Ranges | None = None if order == NOWHERE else field.ranges.get(order)
        if tree is not None:
            around: list[Any] = []
            filed_around(tree, value, around)
            for filed in around:
                _find_among(filed, message, found)
    if field.any is not None:
        _find_among(field.any, message, found)


def _find_among(filed: Any, message: dict[Any, Any], found: list[Any]) -> None:
    """Append the entries of a set of which all holds."""
    if isinstance(filed, SetNode):
        node: SetNode = filed
        for branch in node.array:
            _find_among(branch, message, found)
    elif isinstance(filed, Entry):
        entry: Filed = filed  # type: ignore[assignment]
        for criterion in entry.rest:
            if not criterion.met_by(message):
                return
        found.append(entry)
    else:
        for one in filed:
            _find_among(one, message, found)


# --------------------------------------------------------------------------------------------------------------- tests


def all_in_index(index: Index) -> Iterator[tuple[Criterion, Filed]]:
    """Yield every entry with a criterion that asks for the place where it is filed, as often as it is filed."""
    for cell in cells_of(index.absent):
        for entry in iter_entries(cell.value):
            yield Absent(cell.subscriber), entry  # type: ignore[misc]
    for cell in cells_of(index.fields):
        yield from _all_in_field(cell.subscriber, cell.value)


def _all_in_field(name: Any, field: Field) -> Iterator[tuple[Any, Any]]:
    for cell in cells_of(field.values):
        for entry in iter_entries(cell.value):
            yield (name, cell.subscriber), entry
    for tree in field.ranges.values():
        for span, filed in all_filed(tree):
            for entry in iter_entries(filed):
                yield span, entry
    for entry in iter_entries(field.any):
        yield name, entry


def cells_of(cells: Any) -> list[Cell]:
    """Return all entries of a map."""
    return list(iter_entries(cells))  # type: ignore[arg-type]


def places_of(criterion: Criterion) -> list[Any]:
    """Return what `all_in_index` calls the places of a criterion."""
    if criterion.place == VALUES:
        return [(criterion.name, value) for value in _values_of(criterion)]
    if criterion.place == RANGES:
        return [_span_of(criterion)]
    return [criterion if criterion.place == NONE else criterion.name]


def check_index(index: Index) -> None:
    """Raise AssertionError if a map or a tree is ill-formed, or leads to nothing."""
    for cells in (index.fields, index.absent):
        check_set(cells)
    for cell in cells_of(index.absent):
        check_set(cell.value)
        assert cell.value is not None, f"nothing is filed under the absence of {cell.subscriber!r}"
    for cell in cells_of(index.fields):
        field: Field = cell.value
        assert field.values is not None or field.ranges or field.any is not None, f"nothing in {cell.subscriber!r}"
        check_set(field.values)
        check_set(field.any)
        for value in cells_of(field.values):
            check_set(value.value)
            assert value.value is not None, f"nothing is filed under {value.subscriber!r}"
        for tree in field.ranges.values():
            check_ranges(tree)
