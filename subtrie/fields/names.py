"""The names of the fields that subscriptions ask for: an event is looked into only as far as these lead.

    criteria on "items.id", "items.id", "items.n"         items: 3    items.id: 2    items.n: 1

Whoever subscribes says which fields count, and whoever sends an event says what is in it. So the cost of an event
follows from what was subscribed: a list under a name that is not here is passed over, however long it is. The names are
a map (maps.py) that a state has, from each name and each that leads to it to the number of criteria. A change counts
its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cython

if not cython.compiled:
    from ctrie._nodes import mix
    from subtrie.fields.maps import Cell, find_in_map, new_cell, with_cell, without_cell

from subtrie.fields.maps import cells_of, check_map

PLAIN = frozenset((str, int, float, bool, type(None)))  # types whose values are values, whatever they are
MOST_STEPS = 64  # of a name, that are counted; what lies deeper below these is taken to be asked for


def with_names(names: Any, criteria: Iterable[Any], by: int) -> Any:
    """Return the names where so many more ask for each of these criteria: 1 or -1. O(log n) for each step of a name."""
    for criterion in criteria:
        if criterion.name is None:  # on several fields
            for way in criterion.alternatives:
                names = with_names(names, way, by)
        elif isinstance(criterion.name, str):  # and not the words of a topic
            names = _with_name(names, criterion.name, by)
    return names


def _with_name(names: Any, name: str, by: int) -> Any:
    steps, end = 0, -1
    while True:
        steps, end = steps + 1, name.find(".", end + 1)
        step = name if end < 0 else name[:end]
        hash_ = mix(hash(step))
        found: Cell | None = find_in_map(names, step, hash_)
        count = by if found is None else found.value + by
        left = new_cell(step, hash_, count) if count else None
        names = with_cell(names, left, found) if left is not None else without_cell(names, found)  # type: ignore[arg-type]
        if end < 0 or steps == MOST_STEPS:
            return names


def leads_on(names: Any, name: Any) -> bool:
    """Return whether somebody asks for a name, or for one below it."""
    return find_in_map(names, name, mix(hash(name))) is not None


def may_meet_in_a_list(criteria: Iterable[Any]) -> bool:
    """Return whether values that two of these criteria ask for may lie in one list: both names begin with its name, and
    so with the same step. Only then may an event have to meet them together (together.py)."""
    return _meet(criteria, set())


def _meet(criteria: Iterable[Any], seen: set[str]) -> bool:
    """The same, where some names have been seen; of an `AnyOf` the criteria count that it is made of."""
    for criterion in criteria:
        if criterion.is_taken_apart():
            for way in criterion.alternatives:
                if _meet(way, seen):
                    return True
        elif isinstance(criterion.name, str):
            name = criterion.name
            end = name.find(".")
            step = name if end < 0 else name[:end]
            if step in seen:
                return True
            seen.add(step)
    return False


def check_names(names: Any, criteria: Iterable[Any]) -> None:
    """Raise AssertionError if the names are not those of the criteria."""
    check_map(names)
    wanted: dict[str, int] = {}
    left = list(criteria)
    while left:
        criterion = left.pop()
        if criterion.name is None:
            left += [one for way in criterion.alternatives for one in way]
        elif isinstance(criterion.name, str):
            steps = criterion.name.split(".")[:MOST_STEPS]
            for i in range(len(steps)):
                name = ".".join(steps[: i + 1])
                wanted[name] = wanted.get(name, 0) + 1
    known = {one.key: one.value for one in cells_of(names)}
    assert known == wanted, f"the names are {known}, not {wanted}"
