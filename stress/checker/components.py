"""Splits a history into components that share no element of the object, so that each can be judged by itself.

Herlihy and Wing's locality: if the objects are disjoint, a history is linearizable exactly when its restriction to
every object is. Here the disjoint objects are found in the history. Every operation joins all elements (keys, members,
subscriptions) that *occur in the history* and that it can touch. Elements that no operation joins are disjoint. So a
match of one topic joins the filters that cover it, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

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


def components(operations: Sequence[Operation], spec: Spec, starts: Sequence[State]) -> list[Component]:
    """The components of a history, in no particular order. O(n log n) for footprints of bounded size."""
    universe = universe_of(operations, spec, starts)
    footprints = []
    for operation in operations:
        footprint = spec.footprint(operation, universe)
        if footprint is EVERYTHING:
            return [Component(operations, starts)]
        footprints.append(footprint)
    together = {element: [element] for element in universe}
    for footprint in footprints:
        for one, other in pairwise(footprint):
            if together[one] is not together[other]:
                few, many = sorted((together[one], together[other]), key=len)
                many += few
                together.update(dict.fromkeys(few, many))
    nothing: list[Element] = []  # is touched by a match of a topic that no filter covers, for example
    parts: dict[int, tuple[list[Operation], list[Element]]] = {}
    for operation, footprint in zip(operations, footprints, strict=True):
        its = together[next(iter(footprint))] if footprint else nothing
        parts.setdefault(id(its), ([], its))[0].append(operation)
    return [
        Component(group, list(dict.fromkeys(spec.restrict(state, its) for state in starts)), its)
        for group, its in parts.values()
    ]


def universe_of(operations: Iterable[Operation], spec: Spec, starts: Iterable[State]) -> dict[Element, None]:
    """Every element that an operation names or that is there at the start, in the order of appearance."""
    universe = dict.fromkeys(element for state in starts for element in spec.elements_of(state))
    universe.update(dict.fromkeys(element for operation in operations for element in spec.elements(operation)))
    return universe
