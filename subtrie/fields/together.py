"""What belongs together: whether values that one element of a list has meet all that a subscription asks of that list.

A place is an element of a list (events.py). Values agree if in each list that both lie in they lie in one element:

    {"items": [{"id": 1, "tags": [{"t": "a"}]}, {"id": 2}], "boxes": [{"w": 3}, {"w": 5}]}

    items.id 1 and items.tags.t "a" agree, as do items.id 2 and boxes.w 5. items.id 1 and 2 do not.

A message meets criteria if there is a value for each of them, so that all of these agree. A field is absent if no value
of it agrees with all of these. Lists side by side know nothing of one another, so each is gone through by itself, and
so are the lists inside one of its elements: no element is looked at twice for a subscription. Its criteria are asked
of each element until one fails, as a loop would do. Where one names values, only the elements that have these are
looked at.

A field whose values lie in several lists side by side goes with everything. That takes a name with a dot in an event.
"""

# ruff: noqa: C419 - compiled functions have no generators

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cython

if not cython.compiled:
    from subtrie.fields.criteria import ORIGINAL, VALUES, Criterion
    from subtrie.fields.events import Place

from subtrie.fields.events import Elements

NO, FITS, IN_A_LIST = range(3)  # IN_A_LIST: values in a list can be among those that meet all


class Field:
    """A field with values in elements of lists."""

    __slots__ = ("apart", "by_value", "elements", "is_split", "places", "rows", "values")
    elements: tuple[Any, ...]
    places: tuple[Place | None, ...]
    values: dict[Any, list[Any]]  # those of each place, and of None; none, if there are some only in a list inside
    rows: dict[Any, list[tuple[Place, list[Any]]]]  # the places in a list inside of a place, each with its own values
    is_split: set[Any]  # the places inside of which it lies in several lists
    by_value: dict[Any, list[tuple[Place, list[Any]]]] | None  # the outermost places with a value
    apart: dict[Any, list[Place]]  # the places in a list inside of a place where some other fields have no values


class Together:
    """A flat message, with the fields that have been asked for by their places."""

    __slots__ = ("fields", "message")
    message: dict[Any, Any]
    fields: dict[Any, Field | None]


def new_together(message: dict[Any, Any]) -> Together:
    """Return a message of which nothing has been asked."""
    together: Together = Together.__new__(Together)
    together.message = message
    together.fields = {}
    return together


def hold_together(together: Together, criteria: Iterable[Any]) -> bool:
    """Return whether values that belong together meet criteria. O(elements of the lists that these are about) for each
    way to choose one of the alternatives of every `AnyOf` that is taken apart."""
    return _some_way_holds(together, [], list(criteria))


def _some_way_holds(together: Together, chosen: list[Any], criteria: list[Any]) -> bool:
    """Return whether values meet what is chosen, and criteria: one alternative of each that has to be taken apart. What
    cannot be met with the first alternatives is not asked with all others."""
    apart: list[Any] = []
    for criterion in criteria:
        (apart if criterion.is_taken_apart() else chosen).append(criterion)
    if not apart:
        return _way_holds(together, chosen)
    if _way_holds(together, [one for one in chosen if not one.is_of_absence()]):
        for way in apart[0].alternatives:
            may_be_met = all([one.may_be_met_by(together.message) for one in way])
            if may_be_met and _some_way_holds(together, list(chosen), [*way, *apart[1:]]):
                return True
    return False


def _way_holds(together: Together, criteria: Iterable[Any]) -> bool:
    asked: list[tuple[Criterion, Field, bool]] = []
    absent: list[Field] = []
    for criterion in criteria:
        field = _field_of(together, criterion.name)
        if field is not None and criterion.is_of_absence():
            if field.values.get(None):
                return False
            absent.append(field)
        elif field is not None:
            asked.append((criterion, field, False))
        elif not criterion.met_by(together.message):
            return False
    if len(asked) == 1 and not absent:
        only: Criterion = asked[0][0]
        return only.met_by(together.message)
    return _fit(None, asked, absent) != NO


def _field_of(together: Together, name: Any) -> Field | None:
    """Return a field of the message; None if it has none of this name in elements of lists."""
    if name in together.fields:
        return together.fields[name]
    value = together.message.get(name)
    field: Field | None = None
    if type(value) is Elements and value.places is not None:
        field = Field.__new__(Field)
        field.elements, field.places = value, value.places
        field.values, field.rows, field.is_split, field.by_value, field.apart = {}, {}, set(), None, {}
        for one, place in zip(value, value.places, strict=False):
            _values_at(field, place).append(one)
    together.fields[name] = field
    return field


def _values_at(field: Field, place: Place | None) -> list[Any]:
    """Return the list of a field's values at a place, with a row for the place and each one around it."""
    found = field.values.get(place)
    if found is not None:
        return found
    values = held = field.values[place] = []
    while place is not None:
        above = place.above
        rows = field.rows.get(above)
        if rows is None:
            rows = field.rows[above] = []
        elif rows[0][0].of is not place.of:
            field.is_split.add(above)
        rows.append((place, held))
        if above in field.values:
            break
        held = field.values[above] = []
        place = above
    return values


# -------------------------------------------------------------------------------------------------------------- fitting


def _fit(at: Place | None, asked: list[tuple[Criterion, Field, bool]], absent: list[Field]) -> int:
    """Return whether values at a place, or in lists inside of it, meet all that is asked, and whether all absent values
    there, of which none is at the place itself, are in other elements of lists than these. What is asked with True may
    be met elsewhere, too."""
    inside: list[tuple[Criterion, Field, bool]] | None = None
    for one in asked:
        criterion, field, is_free = one
        is_met = _one_holds(criterion, field.values.get(at))
        if is_met and not absent:
            continue
        if at not in field.rows:
            if not is_met and not is_free:
                return NO
            continue
        if inside is None:
            inside = []
        inside.append((criterion, field, True) if is_met else one)
    if inside is None and not absent:
        return FITS
    return _fit_in_lists(at, inside, absent)


def _one_holds(criterion: Criterion, values: list[Any] | None) -> bool:
    if values is not None:
        for value in values:
            if criterion.holds(value):
                return True
    return False


def _fit_in_lists(at: Place | None, asked: list[tuple[Criterion, Field, bool]] | None, absent: list[Field]) -> int:
    """As `_fit`, of the lists inside of a place: each has to do with what lies in it."""
    groups: dict[Any, list[tuple[Criterion, Field, bool]]] = {}  # by the object that stands for a list
    for one in asked or ():
        field, is_free = one[1], one[2]
        if at not in field.is_split:
            place: Place = field.rows[at][0][0]
            groups.setdefault(place.of, []).append(one)
        elif not is_free and not _fits_somewhere(at, [one]):
            return NO
    apart: dict[Any, list[Field]] = {}
    for field in absent:
        rows = field.rows.get(at, [])
        for of in {row[0].of for row in (rows if at in field.is_split else rows[:1])}:
            if of not in groups:
                return NO
            apart.setdefault(of, []).append(field)
    found = FITS
    for of, group in groups.items():
        if _fit_in_one(at, group, apart.get(of, [])):
            found = IN_A_LIST
        elif of in apart or not all([is_free for _, _, is_free in group]):
            return NO
    return found


def _fits_somewhere(at: Place | None, several: list[tuple[Criterion, Field, bool]]) -> bool:
    """Return whether something in a list inside of a place meets one of these."""
    for criterion, field, _ in several:
        for place, _ in field.rows[at]:
            if _fit(place, [(criterion, field, False)], []) != NO:
                return True
    return False


def _fit_in_one(at: Place | None, group: list[tuple[Criterion, Field, bool]], absent: list[Field]) -> bool:
    """Return whether one element of a list meets all that is asked of the list, while what is absent is in others. What
    may be met elsewhere need not be met in it, but something has to be."""
    bound = [one for one in group if not one[2]]
    if not absent:
        return _one_has_all(at, bound) if bound else _fits_somewhere(at, group)
    candidates = {place: None for _, field, _ in bound[:1] or group for place in _places_apart(field, at, absent)}
    for place in candidates:
        found = _fit(place, group, [field for field in absent if place in field.values])
        if found == IN_A_LIST or (found == FITS and bound):
            return True
        for criterion, field, _ in group if found == FITS else ():
            if _one_holds(criterion, field.values.get(place)):
                return True
    return False


def _places_apart(field: Field, at: Place | None, absent: list[Field]) -> list[Place]:
    """Return the places in lists inside of a place where a field has values and absent ones have none. Subscriptions
    that ask for the same absence have them in common, so that one that is met nowhere goes through no list."""
    key = (at, *absent)
    if key not in field.apart:
        field.apart[key] = [place for place, _ in field.rows[at] if not any([one.values.get(place) for one in absent])]
    return field.apart[key]


def _one_has_all(at: Place | None, group: list[tuple[Criterion, Field, bool]]) -> bool:
    """Return whether one element of a list meets all that is asked of the list, of which none may be met elsewhere."""
    first = group[0]
    field = first[1]
    rows = field.rows[at]
    for one in group:
        criterion, field = one[0], one[1]
        found = _rows_with_values(criterion, field) if at is None else field.rows[at]
        if len(found) < len(rows):
            first, rows = one, found
    criterion, field = first[0], first[1]
    others = [one for one in group if one is not first]
    for place, values in rows:
        if _one_holds(criterion, values):
            if _fit(place, others, []):
                return True
        elif place in field.rows and _fit(place, group, []):
            return True
    return False


def _rows_with_values(criterion: Criterion, field: Field) -> list[tuple[Place, list[Any]]]:
    """Return the rows of the outermost places at which, or inside of which, a field has one of the values that a
    criterion names; of all of them, if it names none, or too many."""
    if criterion.place != VALUES or criterion.view != ORIGINAL:
        return field.rows[None]
    named = criterion.values_filed()
    if len(named) > len(field.rows[None]):
        return field.rows[None]
    if field.by_value is None:
        field.by_value = {}
        for value, place in zip(field.elements, field.places, strict=False):
            if place is not None:
                top = place if place.top is None else place.top
                rows = field.by_value.setdefault(value, [])
                if not rows or rows[len(rows) - 1][0] is not top:
                    rows.append((top, field.values[top]))
    if len(named) == 1:
        for value in named:
            return field.by_value.get(value, [])
    return [row for value in named for row in field.by_value.get(value, ())]
