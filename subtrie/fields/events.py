"""Events of JSON as flat messages: what is nested becomes fields with dotted names.

    {"shop": {"items": [{"id": 1, "n": 3}, {"id": 2}]}, "tags": ["new", "red"]}

    shop.items.id: 1 or 2        shop.items.n: 3        tags: "new" or "red"

A field that lies in a list has several values, its `Elements`. A criterion holds if one of them fulfils it. What
belongs to one object has to be met together: no message above has id 2 and n 3. So each value knows its *place*, the
elements of lists that lead to it. Values belong together if their places agree in every list that both lead through.

This is how event routers look into lists. docs/fields.md has the differences.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

PlaceInLists: TypeAlias = tuple[tuple[int, int], ...]
"""The number of each list, from the outermost on, with the number of its element."""

MOST_LISTS = 100  # of lists in lists, those whose elements are kept apart
MOST_NESTED = 2_000  # no reader of JSON nests deeper


class Elements(tuple[Any, ...]):
    """The values of a field that lies in a list, a tuple of them. `places` says where each stands among the elements of
    lists, None if that does not matter.

    >>> Elements([1, 2]) == (1, 2)
    True
    """

    places: tuple[PlaceInLists, ...] | None = None


def flattened(message: Mapping[str, Any], *, together: bool = True) -> dict[str, Any]:
    """Return a message of JSON as a flat one, for `match_all` and its kin: the fields of nested objects have dotted
    names, and a field in a list has all its values, as `Elements`.

    A criterion holds if some value of its field fulfils it. All that a subscription asks of fields in one list must be
    fulfilled by one element of it, as event routers have it; with `together=False` by any elements. A list or an object
    without values gives no field, and nor does a value without a hash. O(size of the message).

    Raises:
        TypeError: The message is not a mapping.

    >>> flattened({"source": "shop", "detail": {"state": "open", "price": 3}})
    {'source': 'shop', 'detail.state': 'open', 'detail.price': 3}
    >>> flattened({"items": [{"id": 1}, {"id": 2}], "tags": ["new"], "none": []})
    {'items.id': (1, 2), 'tags': ('new',)}
    """
    if not isinstance(message, Mapping):
        raise TypeError(f"a message is a mapping of field names to values, not {type(message).__name__}")
    flat: dict[str, Any] = {}
    several: dict[str, list[tuple[Any, PlaceInLists]]] = {}  # the fields in lists; `flat` has them, too, in their order
    lists = 0
    stack: list[tuple[str, Any, PlaceInLists, int, bool]]
    stack = [(name, message[name], (), 1, False) for name in reversed(list(message))]
    while stack:
        name, value, place, depth, listed = stack.pop()
        if isinstance(value, list | Mapping) and depth >= MOST_NESTED:
            raise ValueError(f"field {name[:40]!r}...: nested more than {MOST_NESTED} deep; does it hold itself?")
        if isinstance(value, list):
            lists += 1
            # A list of one element keeps nothing apart.
            apart = together and len(value) > 1 and len(place) < MOST_LISTS
            for i in range(len(value) - 1, -1, -1):
                one = value[i]
                inside = (*place, (lists, i)) if apart and isinstance(one, list | Mapping) else place
                stack.append((name, one, inside, depth + 1, True))
        elif isinstance(value, Mapping):
            inner = reversed(list(value))
            stack += [(f"{name}.{below}", value[below], place, depth + 1, listed) for below in inner]
        elif not _is_value(value):
            continue
        elif listed or name in flat:
            if name not in several:
                several[name] = [(flat[name], ())] if name in flat else []
            several[name].append((value, place))
            flat[name] = value
        else:
            flat[name] = value
    for name, found in several.items():
        flat[name] = elements = Elements([value for value, _ in found])
        if any(place for _, place in found):
            elements.places = tuple([place for _, place in found])
    return flat


def _is_value(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


# ------------------------------------------------------------------------------------------------------------ together


def hold_together(criteria: Iterable[Any], message: Mapping[Any, Any]) -> bool:
    """Return whether values that belong together meet criteria, each of which the message may meet by itself. A field
    is absent if none of its values belongs together with these. O(values of the fields) for each way to choose one of
    the alternatives of every `AnyOf` that is taken apart."""
    return any(_way_holds(way, message) for way in _ways(criteria, message))


def _ways(criteria: Iterable[Any], message: Mapping[Any, Any]) -> Iterator[list[Any]]:
    """Yield what may be met together: with one of the alternatives of each criterion that has to be taken apart."""
    choices: list[list[list[Any]]] = []
    for criterion in criteria:
        if not criterion.is_taken_apart():
            choices.append([[criterion]])
        else:
            met = (way for way in criterion.alternatives if all(one.may_be_met_by(message) for one in way))
            choices.append([chosen for way in met for chosen in _ways(way, message)])
    return ([one for way in chosen for one in way] for chosen in itertools.product(*choices))


def _way_holds(criteria: list[Any], message: Mapping[Any, Any]) -> bool:
    asked: list[list[PlaceInLists]] = []
    absent: list[PlaceInLists] = []
    for criterion in criteria:
        elements = message.get(criterion.name)
        if type(elements) is not Elements or elements.places is None:
            continue
        if criterion.is_of_absence():
            absent += elements.places
            continue
        places = [place for value, place in zip(elements, elements.places, strict=True) if criterion.holds(value)]
        asked.append(places)
    if not absent:  # a value without a place goes with every other one
        asked = [places for places in asked if () not in places]
    return _fit(asked, absent)[0]


def _fit(asked: list[list[PlaceInLists]], absent: list[PlaceInLists]) -> tuple[bool, bool]:
    """Return whether there is a place for each asked, so that all of them agree in every list that they share, and
    disagree with every absent one in some list; and whether they can do so with one that is in a list.

    Places in different lists agree, so each list is looked at by itself. A criterion whose values are in several lists
    side by side goes with everything: that takes names with points in them."""
    if () in absent:
        return False, False
    by_list: dict[int, list[list[PlaceInLists]]] = {}
    for places in asked:
        lists = {place[0][0] for place in places if place}
        if len(lists) == 1:
            by_list.setdefault(lists.pop(), []).append(places)
    apart: dict[int, list[PlaceInLists]] = {}
    for place in absent:
        apart.setdefault(place[0][0], []).append(place)
    if not apart.keys() <= by_list.keys():
        return False, False
    is_in_one = False
    for one, group in by_list.items():
        if _fit_in_one(group, apart.get(one, [])):
            is_in_one = True
        elif one in apart or not all(() in places for places in group):
            return False, False
    return True, is_in_one


def _fit_in_one(group: list[list[PlaceInLists]], absent: list[PlaceInLists]) -> bool:
    """Return whether one element of a list has a place for each asked, and what is absent elsewhere only. What has a
    place outside of the list (`()`) need not be in the element, but something has to be."""
    if len(group) == 1 and not absent:
        return True
    inside: list[dict[int, list[PlaceInLists]]] = []
    for places in group:
        inside.append({})
        for place in places:
            if place:
                inside[-1].setdefault(place[0][1], []).append(place[1:])
    bound = [one.keys() for one, places in zip(inside, group, strict=True) if () not in places]
    elements = set(bound[0]).intersection(*bound[1:]) if bound else set().union(*inside)
    for element in sorted(elements):
        further: list[list[PlaceInLists]] = []
        is_there = False
        for one, places in zip(inside, group, strict=True):
            if element in one:
                may_be_outside = () in places
                is_there = is_there or not may_be_outside or () in one[element]
                further.append([*one[element], ()] if may_be_outside else one[element])
        fits, is_in_one = _fit(further, [place[1:] for place in absent if place[0][1] == element])
        if is_in_one or (fits and is_there):
            return True
    return False
