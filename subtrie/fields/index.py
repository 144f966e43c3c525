"""The index: which entries are filed under what a message has. Immutable; a change copies the path to it.

    Index
      fields: name -> Field
        values: value -> entries filed under it            Equals, OneOf
        ranges: of each order a tree, with entries         Within, Prefix
        any:    entries                                    Present, NotIn, Not
        views:  the same of what is made of texts          Suffix, Wildcard, InNetwork ... (texts.py)
        boxes:  other field -> a tree, with entries        two Withins (boxes.py)
      absent: name -> entries                              Absent
      topics: place and words -> entries                   filters of topics (topics.py)

The maps are those of maps.py, from keys to Cells. The sets of entries are the persistent hash tries of keyed.py.
What is filed are `Filed` entries: each is under one criterion and says what of it is not known to hold where it is
found (`rest`). So a search yields an entry once, and only if all of it holds.

Where many entries are filed at one place, they are filed there once more, in an index of their own: each under the next
criterion of its `rest`, and so on, as long as one has any. So a message that meets a common criterion does not look at
all that ask for it, but at those whose next criterion it meets, too.

    type = order:  Index           16,000 entries
                     amount:  ranges   > 1, > 2, > 3 ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import replaced, untrack_constant
    from ctrie._nodes import mix
    from subtrie._trie.keyed import Keyed, set_size, with_keyed, without_keyed
    from subtrie.fields.boxes import Box, with_box
    from subtrie.fields.criteria import (
        ANY,
        BOXES,
        LEADS,
        NONE,
        ORIGINAL,
        PIECES,
        RANGES,
        TOPICS,
        VALUES,
        Absent,
        Criterion,
        OneOf,
        Prefix,
        Within,
    )
    from subtrie.fields.intervals import crowd_around, with_range
    from subtrie.fields.maps import Cell, Crowd, cells_of, crowd_size, find_in_map, new_cell, with_cell, without_cell
    from subtrie.fields.texts import Suffix
    from subtrie.fields.topics import Topic, WordsAt
    from subtrie.fields.tree import Tree, filed_under, without_key

from subtrie._trie.keyed import check_shape, iter_keyed
from subtrie.fields.maps import check_map
from subtrie.fields.tree import all_filed, check_tree

# What a search pays besides the entries that it finds, in entries: for a tree of ranges, the walk through it; for what
# is filed under a field alone, that every message with the field finds it; for Absent, every message without it.
_RANGE_COST = 8
_ANY_COST = 64
_ABSENT_COST = 256


FEW_VALUES = 16  # of a OneOf: to file it under more takes long
CROWDED = 32  # entries at one place: from so many on, they are filed there once more

_NO_RANGES = (None,) * 7  # a tree for each order
_NO_VIEWS = (None,) * 6  # a field for each view; none for the original values


class Filed(Keyed):
    """An entry that is filed under one criterion, its access. `rest` is what remains to be asked where it is found:
    None, one criterion, or several in a tuple. `needs` are the bits of it (needs.py), `pieces` those of a text that one
    piece has found. An entry `is_repeated` if one message may find it at several places, and `is_joint` if values that
    meet it may have to belong together (together.py)."""

    __slots__ = ("access", "is_joint", "is_repeated", "needs", "pieces", "rest")
    access: Any  # several in a tuple, if one of them holds for certain where all is met that the entry asks
    is_joint: bool
    is_repeated: bool
    needs: int
    pieces: int
    rest: Any


class Field:
    """What is filed under one field."""

    __slots__ = ("any", "boxes", "ranges", "values", "views")
    boxes: Any
    values: Any
    ranges: tuple[Tree | None, ...] | None
    any: Any
    views: tuple[Any, ...] | None


class Index(Crowd):
    """All that is filed at one instant, or at one place. `whole` are the entries of a place that have no next
    criterion, and `count` is how many entries are filed there; the index of a state counts none."""

    __slots__ = ("absent", "fields", "topics", "whole")
    fields: Any
    absent: Any
    topics: Any
    whole: Any


def new_index(fields: Any, absent: Any, topics: Any = None, whole: Any = None, count: int = 0) -> Index:
    """Return an index of these three maps."""
    index: Index = Index.__new__(Index)
    index.fields = fields
    index.absent = absent
    index.topics = topics
    index.whole = whole
    index.count = count
    untrack_constant(index)
    return index


def _new_field(
    values: Any, ranges: tuple[Tree | None, ...] | None, any: Any, views: tuple[Any, ...] | None, boxes: Any
) -> Field:
    field: Field = Field.__new__(Field)
    field.values = values
    field.ranges = ranges
    field.any = any
    field.views = views
    field.boxes = boxes
    untrack_constant(field)
    return field


_NO_FIELD: Field = _new_field(None, None, None, None, None)


# ------------------------------------------------------------------------------------------------------------- changes


def refiled(index: Index, criterion: Criterion, old: Filed | None, new: Filed | None, depth: int = 0) -> Index:
    """Return the index with `new` in the place of `old` under a criterion; one of them may be None. `depth` is that of
    the index: 0 for that of a state. O(log n) for each value that the criterion names."""
    if criterion.place == TOPICS:
        words: WordsAt = criterion  # type: ignore[assignment]
        topics = _refiled_under(index.topics, words.key, words.key_hash, old, new, depth)
        return new_index(index.fields, index.absent, topics, index.whole, index.count)
    name_hash = mix(hash(criterion.name))
    if criterion.place == NONE:
        absent = _refiled_under(index.absent, criterion.name, name_hash, old, new, depth)
        return new_index(index.fields, absent, index.topics, index.whole, index.count)
    cell: Cell | None = find_in_map(index.fields, criterion.name, name_hash)
    before: Field = _NO_FIELD if cell is None else cell.value
    if criterion.view == ORIGINAL:
        after = _refiled_in_field(before, criterion, old, new, depth)
    else:
        after = _refiled_in_view(before, criterion, old, new, depth)
    if _is_empty(after):
        # Nothing is left. Or nothing was there and nothing came: a OneOf without values is filed nowhere.
        fields = index.fields if cell is None else without_cell(index.fields, cell)
    else:
        fields = with_cell(index.fields, new_cell(criterion.name, name_hash, after), cell)
    return new_index(fields, index.absent, index.topics, index.whole, index.count)


def _refiled_in_view(field: Field, criterion: Criterion, old: Filed | None, new: Filed | None, depth: int) -> Field:
    views = _NO_VIEWS if field.views is None else field.views
    before: Field | None = views[criterion.view]
    after = _refiled_in_field(_NO_FIELD if before is None else before, criterion, old, new, depth)
    changed = replaced(views, criterion.view, None if _is_empty(after) else after)
    left = None if changed == _NO_VIEWS else changed
    return _new_field(field.values, field.ranges, field.any, left, field.boxes)


def _is_empty(field: Field) -> bool:
    if field.values is not None or field.any is not None or field.ranges is not None:
        return False
    return field.views is None and field.boxes is None


def _refiled_in_field(field: Field, criterion: Criterion, old: Filed | None, new: Filed | None, depth: int) -> Field:
    if criterion.place == VALUES:
        values = field.values
        for value in criterion.values_filed():
            values = _refiled_under(values, value, mix(hash(value)), old, new, depth)
        return _new_field(values, field.ranges, field.any, field.views, field.boxes)
    if criterion.place == RANGES:
        ranges = _refiled_in_ranges(field.ranges, criterion.span(), old, new, depth)
        return _new_field(field.values, ranges, field.any, field.views, field.boxes)
    if criterion.place == BOXES:
        boxes = _refiled_in_boxes(field.boxes, criterion, old, new, depth)  # type: ignore[arg-type]
        return _new_field(field.values, field.ranges, field.any, field.views, boxes)
    any = _exchanged(field.any, old, new, depth)
    return _new_field(field.values, field.ranges, any, field.views, field.boxes)


def _refiled_in_ranges(
    ranges: tuple[Tree | None, ...] | None, span: Within, old: Filed | None, new: Filed | None, depth: int
) -> tuple[Tree | None, ...] | None:
    trees = _NO_RANGES if ranges is None else ranges
    tree: Tree | None = trees[span.order]
    filed = _exchanged(filed_under(tree, span), old, new, depth)
    left = with_range(tree, span, filed) if filed is not None else without_key(tree, span)  # type: ignore[arg-type]
    changed = replaced(trees, span.order, left)
    return None if left is None and changed == _NO_RANGES else changed


def _refiled_in_boxes(cells: Any, box: Box, old: Filed | None, new: Filed | None, depth: int) -> Any:
    """Change what is filed under a box, in a map from other fields to trees."""
    name_hash = mix(hash(box.other.name))
    cell: Cell | None = find_in_map(cells, box.other.name, name_hash)
    tree: Tree | None = None if cell is None else cell.value
    filed = _exchanged(filed_under(tree, box), old, new, depth)
    left = with_box(tree, box, filed) if filed is not None else without_key(tree, box)  # type: ignore[arg-type]
    if left is None:
        return without_cell(cells, cell)  # type: ignore[arg-type]
    return with_cell(cells, new_cell(box.other.name, name_hash, left), cell)


def _refiled_under(cells: Any, key: object, hash: int, old: Filed | None, new: Filed | None, depth: int) -> Any:
    """Change what a map has under a key; a key under which nothing is left goes."""
    cell: Cell | None = find_in_map(cells, key, hash)
    filed = _exchanged(None if cell is None else cell.value, old, new, depth)
    if filed is None:
        return without_cell(cells, cell)  # type: ignore[arg-type]
    return with_cell(cells, new_cell(key if cell is None else cell.key, hash, filed), cell)


# ------------------------------------------------------------------------------------------------------ crowded places


def _exchanged(filed: Any, old: Filed | None, new: Filed | None, depth: int) -> Any:
    """Return what is filed at one place of an index of this depth with `new` in the place of `old`."""
    if isinstance(filed, Index):
        return _refiled_within(filed, old, new, depth)
    changed = without_keyed(filed, old) if new is None else with_keyed(filed, new, old)  # type: ignore[arg-type]
    size = set_size(changed)
    # To look at all of them at each power of two takes O(1) a change.
    if old is None and size >= CROWDED and not size & (size - 1):
        return _divided(changed, depth)
    return changed


def _divided(several: Any, depth: int) -> Any:
    """Return entries filed once more, unless most of them have no next criterion."""
    entries = list(iter_keyed(several))
    if 2 * sum(next_criterion(entry, depth) is not None for entry in entries) < len(entries):
        return several
    within = new_index(None, None)
    for entry in entries:
        within = _refiled_within(within, None, entry, depth)
    return within


def _refiled_within(index: Index, old: Filed | None, new: Filed | None, depth: int) -> Any:
    """Return the index of a crowded place with `new` in the place of `old`; a set, if the crowd has gone."""
    one: Filed = new if old is None else old  # type: ignore[assignment]
    count = index.count + (new is not None) - (old is not None)
    step = next_criterion(one, depth)
    if step is None:
        whole = without_keyed(index.whole, old) if new is None else with_keyed(index.whole, new, old)  # type: ignore[arg-type]
        changed = new_index(index.fields, index.absent, index.topics, whole, count)
    else:
        changed = refiled(index, step, old, new, depth + 1)
        changed = new_index(changed.fields, changed.absent, changed.topics, changed.whole, count)
    if old is not None and new is None and count < CROWDED // 4:
        several: Any = None
        for entry in distinct_in(changed):
            several = with_keyed(several, entry, None)
        return several
    return changed


def next_criterion(entry: Filed, depth: int) -> Criterion | None:
    """Return the criterion under which an entry is filed once more at a crowded place of an index of this depth: of
    what remains to be asked, the next one that the index finds exactly, or a word of a Topic that is not its access."""
    rest = entry.rest
    if rest is None:
        return None
    for asked in rest if type(rest) is tuple else (rest,):
        criterion: Criterion = asked
        if isinstance(criterion, Topic):
            words = criterion.steps(entry.access)
            if depth < len(words):
                word: Criterion = words[depth]
                return word
            depth -= len(words)
        elif _is_filed_again(criterion):
            if depth == 0:
                return criterion
            depth -= 1
    return None


def _is_filed_again(criterion: Criterion) -> bool:
    if criterion.place == LEADS or not criterion.is_found_exactly():
        return False
    return not isinstance(criterion, OneOf) or len(criterion.values) > 0


# ----------------------------------------------------------------------------------------------------------- selection


def kind_of_cost(criterion: Criterion) -> int:
    """Return how much it costs to find by a criterion, by its kind: from 0 for a value, which few messages have, to 5
    for what nearly all may have. A crowd is no cost of its own: there, what is asked next is looked for."""
    if criterion.place == TOPICS:
        words: WordsAt = criterion  # type: ignore[assignment]
        return 0 if len(words.key) > 1 else 4
    if criterion.place == VALUES:
        if criterion.view == PIECES:
            return 1
        return 0 if not isinstance(criterion, OneOf) or len(criterion.values) <= FEW_VALUES else 3
    if criterion.place in (RANGES, BOXES):
        return 1 if isinstance(criterion, Prefix | Suffix) and criterion.span().high is not None else 3
    if criterion.place == ANY:
        return 2 if criterion.is_found_exactly() else 4
    return 4 if criterion.place == LEADS else 5


def crowd_under(index: Index, criterion: Criterion, most: int) -> int:
    """Return how many entries a message that meets a criterion finds with what is filed under it, as far as can be told
    from what is filed now: a measure of what it costs to find it there. O(log n + most)."""
    if criterion.place == TOPICS:
        words: WordsAt = criterion  # type: ignore[assignment]
        return _crowd_at(index.topics, words.key, words.key_hash)
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
        return max(0, crowd)  # without values, nobody is found
    if criterion.place == RANGES:
        span: Within = criterion.span()
        tree: Tree | None = None if field.ranges is None else field.ranges[span.order]
        below = 0 if span.low is None else crowd_around(tree, span.low, most)
        above = 0 if span.high is None else crowd_around(tree, span.high, most)
        return _RANGE_COST + max(below, above)
    return _ANY_COST + crowd_size(field.any)


def _crowd_at(cells: Any, key: object, hash: int) -> int:
    cell: Cell | None = find_in_map(cells, key, hash)
    return 0 if cell is None else crowd_size(cell.value)


# --------------------------------------------------------------------------------------------------------------- tests


def entries_in(filed: Any) -> Iterator[Any]:
    """Yield the entries of a place, as often as they are filed there."""
    if not isinstance(filed, Index):
        yield from iter_keyed(filed)
        return
    yield from iter_keyed(filed.whole)
    for _, entry in all_in_index(filed):
        yield entry


def distinct_in(filed: Any) -> list[Any]:
    """Return the entries of a place, each once."""
    return list({id(entry): entry for entry in entries_in(filed)}.values())


def all_in_index(index: Index) -> Iterator[tuple[Any, Filed]]:
    """Yield every entry with what stands for the place where it is filed, as often as it is filed."""
    for cell in cells_of(index.absent):
        for entry in distinct_in(cell.value):
            yield Absent(cell.key), entry
    for cell in cells_of(index.topics):
        for entry in distinct_in(cell.value):
            yield ("topic", cell.key), entry
    for cell in cells_of(index.fields):
        field: Field = cell.value
        yield from _all_in_field(cell.key, ORIGINAL, field)
        for view, inner in enumerate(field.views or ()):
            if inner is not None:
                yield from _all_in_field(cell.key, view, inner)


def _all_in_field(name: Any, view: int, field: Field) -> Iterator[tuple[Any, Any]]:
    for cell in cells_of(field.values):
        for entry in distinct_in(cell.value):
            yield (name, view, cell.key), entry
    for tree in field.ranges or ():
        for span, filed in all_filed(tree):
            for entry in distinct_in(filed):
                yield (view, span), entry
    for entry in distinct_in(field.any):
        yield name, entry
    for cell in cells_of(field.boxes):
        for box, filed in all_filed(cell.value):
            for entry in distinct_in(filed):
                yield box, entry


def places_of(criterion: Criterion) -> list[Any]:
    """Return what `all_in_index` calls the places of a criterion."""
    if criterion.place == TOPICS:
        return [("topic", criterion.key)]  # type: ignore[attr-defined]
    if criterion.place == VALUES:
        return [(criterion.name, criterion.view, value) for value in criterion.values_filed()]
    if criterion.place == RANGES:
        return [(criterion.view, criterion.span())]
    return [criterion if criterion.place in (NONE, BOXES) else criterion.name]


def check_index(index: Index, depth: int = 0) -> None:
    """Raise AssertionError if a map or a tree is ill-formed, or leads to nothing."""
    for cells in (index.fields, index.absent, index.topics):
        check_map(cells)
    for cell in cells_of(index.absent):
        _check_place(cell.value, depth)
        assert cell.value is not None, f"nothing is filed under the absence of {cell.key!r}"
    for cell in cells_of(index.topics):
        _check_place(cell.value, depth)
        assert cell.value is not None, f"nothing is filed under {cell.key!r} of a topic"
    for cell in cells_of(index.fields):
        _check_field(cell.key, cell.value, depth)


def _check_place(filed: Any, depth: int) -> None:
    if not isinstance(filed, Index):
        check_shape(filed)
        return
    check_shape(filed.whole)
    check_index(filed, depth + 1)
    entries = distinct_in(filed)
    assert len(entries) == filed.count, f"{len(entries)} entries at a crowded place, counted {filed.count}"
    assert filed.count >= CROWDED // 4, f"a crowd of {filed.count}"
    whole = {id(entry) for entry in iter_keyed(filed.whole)}
    assert whole == {id(entry) for entry in entries if next_criterion(entry, depth) is None}, "filed in a wrong place"
    there = {(place, id(entry)) for place, entry in all_in_index(filed)}
    wanted = {
        (place, id(entry))
        for entry in entries
        if (step := next_criterion(entry, depth)) is not None
        for place in places_of(step)
    }
    assert there == wanted, "an entry of a crowded place is filed in a wrong place"


def _check_field(name: Any, field: Field, depth: int) -> None:
    assert not _is_empty(field), f"nothing in {name!r}"
    check_map(field.values)
    _check_place(field.any, depth)
    for value in cells_of(field.values):
        _check_place(value.value, depth)
        assert value.value is not None, f"nothing is filed under {value.key!r}"
    for tree in field.ranges or ():
        check_tree(tree)
        for _, filed in all_filed(tree):
            _check_place(filed, depth)
    for cell in cells_of(field.boxes):
        check_tree(cell.value)
        for box, filed in all_filed(cell.value):
            assert (box.one.name, box.other.name) == (name, cell.key), f"{box!r} is filed in a wrong place"
            _check_place(filed, depth)
    assert field.views is None or any(field.views), f"no views in {name!r}"
    for view in field.views or ():
        if view is not None:
            _check_field(name, view, depth)
