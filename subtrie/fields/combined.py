# distutils: extra_compile_args = SMALL
# cython: nonecheck=True

"""Criteria made of criteria: that one does not hold (`Not`), and that one of several does (`AnyOf`)."""

# ruff: noqa: D102, SIM110 - the methods of criteria are those of Criterion, and are explained there; a generator takes
# longer than a loop

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import untrack_constant
    from subtrie.fields.criteria import ANY, LEADS, Absent, Criterion, NotIn, OneOf

from subtrie.fields.short import short

MOST_NESTED = 100  # criteria in criteria: all that asks them asks itself about what is inside


class Not(Criterion):
    """Not(criterion)\n--\n
    The field is there, and its value does not satisfy `criterion`, which is on the same field.

    Raises:
        ValueError: For a criterion on several fields, for `Absent`, whose opposite is `Present`, and for criteria
            nested more than 100 deep.

    >>> from subtrie.fields import Prefix
    >>> Not(Prefix("file", "tmp")).holds("a.png"), Not(Prefix("file", "tmp")).holds("tmp.png")
    (True, False)
    """

    __slots__ = ("criterion", "depth")
    criterion: Any
    depth: int

    def __init__(self, criterion: Criterion) -> None:
        _check_criterion(criterion)
        if criterion.name is None or isinstance(criterion, Absent):
            raise ValueError(f"Not is about the value of one field, not about {short(criterion)}")
        self.depth = _depth_above((criterion,))
        untrack_constant(criterion)
        self.name = criterion.name
        self.criterion = criterion
        self.place = ANY

    def holds(self, value: Any) -> bool:
        return not self.criterion.holds(value)

    def is_found_exactly(self) -> bool:
        return False

    def arguments(self) -> tuple[Any, ...]:
        return (self.criterion,)


class AnyOf(Criterion):
    """AnyOf(*alternatives)\n--\n
    At least one of `alternatives` holds: each is a criterion, or several of which all are to hold. They may be on
    one field, whose name is then that of this criterion, or on several; then `name` is None.

    Raises:
        ValueError: There are no alternatives, one has no criteria, the only one is a list of several (`any` takes such
            a list), or criteria are nested more than 100 deep.

    >>> from subtrie.fields import Equals, Prefix
    >>> AnyOf(Equals("state", "open"), Prefix("state", "re")).holds("reopened")
    True
    >>> AnyOf(Equals("a", 1), [Equals("b", 1), Equals("c", 1)]).met_by({"b": 1, "c": 1})
    True
    """

    __slots__ = ("alternatives", "depth")
    alternatives: tuple[tuple[Any, ...], ...]
    depth: int

    def __init__(self, *alternatives: Criterion | Iterable[Criterion]) -> None:
        ways = [(one,) if isinstance(one, Criterion) else tuple(one) for one in alternatives]
        if not ways or not all(ways):
            raise ValueError("AnyOf takes one alternative or more, each of one criterion or more")
        if len(ways) == 1 and len(ways[0]) > 1 and type(alternatives[0]) is not tuple:
            raise ValueError(
                "AnyOf takes alternatives one by one: AnyOf(a, b) or AnyOf(*several). Of a single "
                f"{type(alternatives[0]).__name__} all would have to hold; if that is meant, subscribe without AnyOf"
            )
        for criterion in itertools.chain(*ways):
            _check_criterion(criterion)
            untrack_constant(criterion)
        self.depth = _depth_above(itertools.chain(*ways))
        names = {criterion.name for criterion in itertools.chain(*ways)}
        self.name = names.pop() if len(names) == 1 else None
        self.alternatives = tuple(ways)
        self.place = LEADS

    def holds(self, value: Any) -> bool:
        if self.name is None:
            raise TypeError(f"{self!r} is about several fields; met_by() takes a message")
        for way in self.alternatives:
            if _all_hold(way, value):
                return True
        return False

    def met_by(self, message: dict[Any, Any]) -> bool:
        for way in self.alternatives:
            if _all_met(way, message):
                return True
        return False

    def may_be_met_by(self, message: dict[Any, Any]) -> bool:
        for way in self.alternatives:
            if _all_may_be_met(way, message):
                return True
        return False

    def is_found_exactly(self) -> bool:
        return False

    def is_taken_apart(self) -> bool:
        if self.name is None:
            return True
        for way in self.alternatives:
            first = way[0]
            if len(way) > 1 or first.is_of_absence() or first.is_taken_apart():
                return True
        return False

    def leads(self) -> tuple[tuple[Criterion, ...], ...]:
        """One way: through the first criterion of each alternative."""
        return (tuple([lead for way in self.alternatives for lead in way[0].leads()[0]]),)

    def arguments(self) -> tuple[Any, ...]:
        return tuple([way[0] if len(way) == 1 else way for way in self.alternatives])

    def identity(self) -> tuple[Any, ...]:
        return "AnyOf", frozenset(map(frozenset, self.alternatives))


def _depth_above(criteria: Iterable[Any]) -> int:
    """Return how deep a criterion is nested that is made of these."""
    depth: int = 1 + max([one.depth if isinstance(one, Not | AnyOf) else 0 for one in criteria])
    if depth > MOST_NESTED:
        raise ValueError(f"criteria are nested up to {MOST_NESTED} deep in Not and AnyOf, and no deeper")
    return depth


def values_named(criteria: Iterable[Any]) -> int:
    """Return how many values criteria name in all, those inside of others included."""
    named = 0
    for criterion in criteria:
        if isinstance(criterion, OneOf | NotIn):
            named += len(criterion.values)
        elif isinstance(criterion, Not):
            named += values_named((criterion.criterion,))
        elif isinstance(criterion, AnyOf):
            named += values_named(itertools.chain(*criterion.alternatives))
    return named


def ways_to_meet(criteria: Iterable[Any]) -> int:
    """Return in how many ways a message may meet criteria: by one alternative of each `AnyOf` that is taken apart."""
    ways = 1
    for criterion in criteria:
        if isinstance(criterion, AnyOf) and criterion.is_taken_apart():
            ways *= sum([ways_to_meet(way) for way in criterion.alternatives])
    return ways


def _check_criterion(criterion: Any) -> None:
    if not isinstance(criterion, Criterion):
        is_class = isinstance(criterion, type) and issubclass(criterion, Criterion)
        so = f"made with the name of a field, not the class {criterion.__name__} itself" if is_class else ""
        wrong = so or f"not {type(criterion).__name__}"
        raise TypeError(f"a criterion must be Equals, Present or another of subtrie.fields, {wrong}")


def listed(criteria: Any) -> list[Any]:
    """Return the criteria of a subscription as a list. TypeError, which says what to do instead, for anything else."""
    if isinstance(criteria, Criterion):
        raise TypeError(f"the criteria of a subscription are a list, even if it is one: [{short(criteria)}]")
    if isinstance(criteria, (str, bytes)) or hasattr(criteria, "keys"):
        kind = type(criteria).__name__
        raise TypeError(f"the criteria of a subscription are a list, not {kind}: from_pattern() reads a JSON pattern")
    if isinstance(criteria, type):
        _check_criterion(criteria)
    found = list(criteria)
    for criterion in found:
        _check_criterion(criterion)
    return found


def _all_hold(way: tuple[Any, ...], value: Any) -> bool:
    for criterion in way:
        if not criterion.holds(value):
            return False
    return True


def _all_met(way: tuple[Any, ...], message: dict[Any, Any]) -> bool:
    for criterion in way:
        if not criterion.met_by(message):
            return False
    return True


def _all_may_be_met(way: tuple[Any, ...], message: dict[Any, Any]) -> bool:
    for criterion in way:
        if not criterion.may_be_met_by(message):
            return False
    return True
