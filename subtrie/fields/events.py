"""Events of JSON as flat messages: what is nested becomes fields with dotted names.

    {"shop": {"items": [{"id": 1, "n": 3}, {"id": 2}]}, "tags": ["new", "red"]}

    shop.items.id: 1 or 2        shop.items.n: 3        tags: "new" or "red"

A field that lies in a list has several values, its `Elements`. A criterion holds if one of them fulfils it. What
belongs to one object has to be met together: no message above has id 2 and n 3. So each value knows its *place*, the
innermost element of a list that it lies in, and a place knows the one that its list lies in (together.py).

This is how event routers look into lists. docs/fields.md has the differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cython

if not cython.compiled:
    from subtrie.fields.comparing import LIST, NOTHING, VALUE, as_value, contents_of, kind_of
    from subtrie.fields.names import leads_on

from subtrie.fields.names import MOST_STEPS, PLAIN

MOST_LISTS = 100  # of lists in lists, those whose elements are kept apart
MOST_NESTED = 2_000  # no reader of JSON nests deeper


class Place:
    """An element of a list. What is in it belongs together, and with what is in other lists; but no two elements of one
    list do."""

    __slots__ = ("above", "depth", "of", "top")
    of: object  # its list: one object for all elements
    above: Place | None  # the place that the list lies in, None if it lies in no other list
    top: Place | None  # the outermost one, None if it is that itself
    depth: int  # the number of lists around it

    def __init__(self, of: object, above: Place | None) -> None:
        self.of = of
        self.above = above
        if above is None:
            self.top, self.depth = None, 1
        else:
            self.top, self.depth = above if above.top is None else above.top, above.depth + 1

    def __reduce__(self) -> tuple[Any, ...]:
        return Place, (self.of, self.above)


class Elements(tuple[Any, ...]):
    """The values of a field that lies in a list, a tuple of them. `places` says in which elements of lists they stand,
    None for a value that stands in none; it is None if that does not matter.

    >>> Elements([1, 2]) == (1, 2)
    True
    """

    places: tuple[Place | None, ...] | None = None


class Step:
    """A name that leads into an event: a name before a dot, or all of it."""

    __slots__ = ("below", "name")
    name: Any
    below: dict[Any, Step | None]  # with one step more, as far as an event has them; None: nobody asks for it


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
    return flat_as_asked(message, None, True, together)


def flat_as_asked(message: Any, names: Any, is_whole: bool, together: bool) -> dict[Any, Any]:
    """Return a message as a flat one: the whole of it, or only what some names lead to (names.py)."""
    flat: dict[Any, Any] = {}
    several: dict[Any, tuple[list[Any], list[Any]]] = {}  # the fields in lists; `flat` has them, too, in their order
    # Each object or list that is being gone through: what is left of it, the step that leads to it, the place that it
    # is in, and for a list the object that stands for it, None if it keeps nothing apart.
    stack: list[tuple[Any, Step, Place | None, bool, bool, Any]]
    stack = [(iter(list(message.items())), _new_step(None), None, False, True, None)]
    while stack:
        inside, outer, place, is_listed, is_object, of = stack[len(stack) - 1]
        is_deeper = False
        for one in inside:
            step: Step | None = outer
            value = one
            if is_object:
                key, value = one
                step = outer.below.get(key, outer)
                if step is outer:
                    step = outer.below[key] = _step_to(names, is_whole, outer, key)
            if step is None:
                continue
            value = as_value(value)
            if type(value) not in PLAIN:
                kind = kind_of(value)
                if kind == NOTHING:
                    continue
                if kind != VALUE:
                    if len(stack) >= MOST_NESTED:
                        raise ValueError(
                            f"field {step.name[:40]!r}...: nested more than {MOST_NESTED} deep; does it hold itself?"
                        )
                    here = place if of is None else Place(of, place)
                    items, is_list = contents_of(value), kind == LIST
                    is_apart = is_list and together and len(items) > 1 and (here is None or here.depth < MOST_LISTS)
                    mark = object() if is_apart else None
                    stack.append((iter(items), step, here, is_listed or is_list, not is_list, mark))
                    is_deeper = True
                    break
            _put(flat, several, step.name, value, place, is_listed)
        if not is_deeper:
            stack.pop()
    for name, (values, places) in several.items():
        flat[name] = elements = Elements(values)
        if places.count(None) < len(places):
            elements.places = tuple(places)
    return flat


def _put(
    flat: dict[Any, Any],
    several: dict[Any, tuple[list[Any], list[Any]]],
    name: Any,
    value: Any,
    place: Place | None,
    is_listed: bool,
) -> None:
    """Write down a value of a field."""
    found = several.get(name)
    if found is None:
        if not is_listed and name not in flat:
            flat[name] = value
            return
        found = several[name] = ([], [])
        if name in flat:
            found[0].append(flat[name])
            found[1].append(None)
        flat[name] = None
    found[0].append(value)
    found[1].append(place)


def _step_to(names: Any, is_whole: bool, outer: Step, key: Any) -> Step | None:
    """Return one step more; None if nobody asks for what is there."""
    name = as_value(key) if outer.name is None else f"{outer.name}.{as_value(key)}"
    is_asked = is_whole or leads_on(names, name)
    return _new_step(name) if is_asked or (outer.name is not None and name.count(".") >= MOST_STEPS) else None


def _new_step(name: Any) -> Step:
    step: Step = Step.__new__(Step)
    step.name = name
    step.below = {}
    return step
