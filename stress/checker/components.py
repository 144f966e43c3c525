"""Splits a history into components that share no element of the object, so that each can be judged by itself.

Herlihy and Wing's locality: if the objects are disjoint, a history is linearizable exactly when its restriction to
every object is. Here the disjoint objects are found in the history. Every operation joins all elements (keys, members,
subscriptions) that *occur in the history* and that it can touch. Elements that no operation joins are disjoint. So a
match of one topic joins the filters that cover it, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stress.history import Operation
from stress.spec import EVERYTHING, Element, Spec, State


@dataclass
class Component:
    """Operations that only touch `elements`. `elements` is None if the history was not split. `projected`: the
    operations are what the recorded ones say about these `elements` alone.
    """

    operations: Sequence[Operation]
    starts: Sequence[State]
    elements: Sequence[Element] | None = None
    projected: bool = False


class _DisjointSets:
    """Union-find with path halving."""

    def __init__(self, members: Iterable[Element]) -> None:
        self._parent = {member: member for member in members}

    def find(self, member: Element) -> Element:
        parent = self._parent
        while parent[member] != member:
            parent[member] = parent[parent[member]]
            member = parent[member]
        return member

    def join(self, members: Iterable[Element]) -> None:
        roots = list(map(self.find, members))
        for root in roots:
            self._parent[root] = roots[0]


def components(operations: Sequence[Operation], spec: Spec, starts: Sequence[State]) -> list[Component]:
    """The components of a history, in no particular order. O(n log n) for footprints of bounded size."""
    universe = universe_of(operations, spec, starts)
    footprints = []
    for operation in operations:
        footprint = spec.footprint(operation, universe)
        if footprint is EVERYTHING:
            return [Component(operations, starts)]
        footprints.append(footprint)
    sets = _DisjointSets(universe)
    for footprint in footprints:
        sets.join(footprint)
    members: dict[Element, list[Element]] = {}
    for element in universe:
        members.setdefault(sets.find(element), []).append(element)
    grouped: dict[Element, list[Operation]] = {}
    untouching: list[Operation] = []  # they touch no element: for example a match of a topic that no filter covers
    for operation, footprint in zip(operations, footprints, strict=True):
        group = grouped.setdefault(sets.find(next(iter(footprint))), []) if footprint else untouching
        group.append(operation)
    parts = [(group, members[root]) for root, group in grouped.items()]
    if untouching:
        parts.append((untouching, []))
    return [
        Component(group, list(dict.fromkeys(spec.restrict(state, its) for state in starts)), its)
        for group, its in parts
    ]


def universe_of(operations: Iterable[Operation], spec: Spec, starts: Iterable[State]) -> dict[Element, None]:
    """Every element that an operation names or that is there at the start, in the order of appearance."""
    universe = dict.fromkeys(element for state in starts for element in spec.elements_of(state))
    universe.update(dict.fromkeys(element for operation in operations for element in spec.elements(operation)))
    return universe


def projections(part: Component, spec: Spec) -> Iterator[Component]:
    """For each element of a component, what its operations say about that element alone."""
    elements = universe_of(part.operations, spec, part.starts) if part.elements is None else part.elements
    universe = dict.fromkeys(elements)
    for element in universe:
        said = (spec.project(operation, element, universe) for operation in part.operations)
        operations = [operation for operation in said if operation is not None]
        if operations:
            starts = dict.fromkeys(spec.restrict(state, (element,)) for state in part.starts)
            yield Component(operations, list(starts), [element], projected=True)
