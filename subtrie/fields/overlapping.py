"""Whether some message meets two sets of criteria at once: the reverse question of a match.

It compares field by field, since criteria on different fields never exclude each other. It errs on one side only: if it
says no, there is no such message without lists; if it says yes, there usually is one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from subtrie._trie.subscribers import subscriber_hash
from subtrie.fields.combined import AnyOf
from subtrie.fields.criteria import Absent, Criterion, Equals, NotIn, OneOf, Prefix, Within, order_of
from subtrie.fields.index import Field, Index, entries_in
from subtrie.fields.maps import cells_of, find_in_map
from subtrie.fields.state import criteria_of
from subtrie.fields.topics import Topic
from subtrie.fields.tree import all_filed

MOST_WAYS = 1_000  # to choose among alternatives on the same fields, that are tried


def sharing(index: Index, asked: frozenset[Criterion]) -> Iterator[Any]:
    """Yield the entries of an index that may share a message with `asked`, each once. What is filed under other values
    of a field than `asked` names is not looked at, nor is what needs a field that `asked` wants absent."""
    seen: set[int] = set()
    for entry in _filed_near(index, asked):
        if id(entry) not in seen and may_share(asked, criteria_of(entry)):
            seen.add(id(entry))
            yield entry


def _filed_near(index: Index, asked: frozenset[Criterion]) -> Iterator[Any]:
    missing = {criterion.name for criterion in asked if isinstance(criterion, Absent)}
    there = {criterion.name for criterion in asked if not isinstance(criterion, AnyOf)} - missing
    named: dict[Any, Any] = {}
    for criterion in asked:
        if isinstance(criterion, Equals | OneOf):
            values = _named(criterion)
            if criterion.name not in named or len(values) < len(named[criterion.name]):
                named[criterion.name] = values
    for cell in cells_of(index.absent):
        if cell.key not in there:
            yield from entries_in(cell.value)
    for cell in cells_of(index.topics):
        yield from entries_in(cell.value)
    for cell in cells_of(index.fields):
        if cell.key not in missing:
            yield from _filed_in(cell.value, named.get(cell.key))


def _filed_in(field: Field, values: Any) -> Iterator[Any]:
    """Yield what is filed under a field, or only what one of these values may meet."""
    if values is None:
        for cell in cells_of(field.values):
            yield from entries_in(cell.value)
        for tree in field.ranges or ():
            for _, filed in all_filed(tree):
                yield from entries_in(filed)
    else:
        for value in values:
            named: Any = find_in_map(field.values, value, subscriber_hash(value))
            if named is not None:
                yield from entries_in(named.value)
            yield from _filed_around(field, value)
    yield from entries_in(field.any)
    for cell in cells_of(field.boxes):
        for box, filed in all_filed(cell.value):
            if values is None or any(box.one.holds(value) for value in values):
                yield from entries_in(filed)
    for view in field.views or ():
        if view is not None:
            yield from _filed_in(view, None)


def _filed_around(field: Field, value: Any) -> Iterator[Any]:
    order = order_of(value)
    if field.ranges is not None and order < len(field.ranges):
        for span, filed in all_filed(field.ranges[order]):
            if span.holds(value):
                yield from entries_in(filed)


def may_share(one: Iterable[Criterion], other: Iterable[Criterion]) -> bool:
    """Return whether a message may meet all of both. O(criteria^2), and up to `MOST_WAYS` steps more for alternatives:
    beyond that, it may."""
    return all(_may_all_be_met([], part, iter(range(MOST_WAYS))) for part in _parts([*one, *other]))


def _parts(asked: list[Criterion]) -> list[list[Criterion]]:
    """Return criteria in parts that have no field in common."""
    parts: list[tuple[set[Any], list[Criterion]]] = []
    for criterion in asked:
        names, together = set(_names_in(criterion)), [criterion]
        for part in [part for part in parts if not names.isdisjoint(part[0])]:
            parts.remove(part)
            names |= part[0]
            together += part[1]
        parts.append((names, together))
    return [part for _, part in parts]


def _names_in(criterion: Any) -> Iterator[Any]:
    if criterion.name is not None:
        yield criterion.name
    else:
        for one in itertools.chain(*criterion.alternatives):
            yield from _names_in(one)


def _may_all_be_met(plain: list[Criterion], asked: Iterable[Criterion], steps: Iterator[int]) -> bool:
    """Return whether a message may meet all of these; with one alternative after the other of each `AnyOf`."""
    if next(steps, None) is None:
        return True
    plain = plain + [criterion for criterion in asked if not isinstance(criterion, AnyOf)]
    by_name: dict[Any, list[Criterion]] = {}
    for criterion in plain:
        by_name.setdefault(criterion.name, []).append(criterion)
    if not all(map(_may_all_hold, by_name.values())):
        return False
    alternatives = [criterion for criterion in asked if isinstance(criterion, AnyOf)]
    if not alternatives:
        return True
    first, *rest = alternatives
    return any(_may_all_be_met(plain, [*way, *rest], steps) for way in first.alternatives)


def _may_all_hold(asked: list[Criterion]) -> bool:
    """Return whether one field may satisfy all of these."""
    absent = sum(isinstance(criterion, Absent) for criterion in asked)
    if absent:
        return absent == len(asked)
    named = [criterion for criterion in asked if isinstance(criterion, Equals | OneOf)]
    if named:
        fewest = min((_named(criterion) for criterion in named), key=len)
        return any(all(criterion.holds(value) for criterion in asked) for value in fewest)
    topics = [criterion for criterion in asked if isinstance(criterion, Topic)]
    if topics:
        return all(_share_topic(topics[0], topic) for topic in topics[1:])
    spans = [criterion.span() for criterion in asked if isinstance(criterion, Within | Prefix) and not criterion.view]
    excluded = {value for criterion in asked if isinstance(criterion, NotIn) for value in criterion.values}
    return _may_all_span(spans, excluded)


def _named(criterion: Any) -> Any:
    return (criterion.value,) if isinstance(criterion, Equals) else criterion.values


def _share_topic(one: Any, other: Any) -> bool:
    return bool(one.dialect.overlaps(one.words, other.words))


def _may_all_span(spans: list[Any], excluded: set[Any]) -> bool:
    """Return whether a value may lie within all of these, and be none of the excluded ones."""
    for i, one in enumerate(spans):
        for other in spans[:i]:
            if not (_begins_before_end(one, other) and _begins_before_end(other, one)):
                return False
    # Ranges of one order that share values two by two share some in all; a single value may be excluded.
    point = _only_value(spans)
    return point is None or point[0] not in excluded


def _begins_before_end(one: Any, other: Any) -> bool:
    """Return whether a range begins no later than another one ends."""
    if one.low is None or other.high is None:
        return _is_same_order(one, other)
    try:
        return bool(one.low < other.high if one.low_open or other.high_open else one.low <= other.high)
    except (TypeError, ArithmeticError):
        return False


def _is_same_order(one: Any, other: Any) -> bool:
    bounds = [bound for span in (one, other) for bound in (span.low, span.high) if bound is not None]
    try:
        return all(bool(bound < bounds[0]) in (True, False) for bound in bounds)
    except (TypeError, ArithmeticError):
        return False


def _only_value(spans: list[Any]) -> tuple[Any] | None:
    """Return the one value that all ranges leave, in a tuple, if it is certain that there is no other."""
    lows = [span.low for span in spans if span.low is not None]
    highs = [span.high for span in spans if span.high is not None]
    if lows and highs and max(lows) == min(highs):
        return (max(lows),)
    return None
