"""Subscriptions as the JSON patterns of event routers: Amazon EventBridge, Quamina and their kin.

    {"source": ["shop"], "detail": {"state": [{"anything-but": ["draft"]}], "price": [{"numeric": [">", 0, "<=", 5]}]}}

A pattern is an object whose leaves are lists: of values, of which the field must have one, or of one test. Objects in
objects are nested fields, here named with dots: `detail.state`. `flattened` makes such names of a nested message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from subtrie.fields.criteria import Absent, Criterion, Equals, NotIn, OneOf, Prefix, Present, Within

_SIGNS = ("<", "<=", ">", ">=", "=")


def from_pattern(pattern: str | Mapping[str, Any]) -> list[Criterion]:
    """Return the criteria of a JSON pattern, given as text or as what json.loads makes of it.

    It understands lists of texts, numbers, booleans and null; `{"exists": true}` and false; `{"prefix": text}`;
    `{"anything-but": value or values}`; `{"numeric": [sign, number]}`, with a second sign and number for the other end.
    It raises ValueError, with the field and the test, for anything else that routers have (suffix, wildcard,
    shellstyle, regexp, cidr, equals-ignore-case, $or), for several tests on one field, and for what is not a pattern;
    TypeError for what is not JSON. A match does not look into arrays, and true equals 1 as in Python.

    >>> from_pattern('{"currency": ["USD", "EUR"], "price": [{"numeric": [">", 0, "<=", 5]}]}')
    [OneOf('currency', frozenset({...})), Within('price', 0, 5, True, False)]
    >>> from_pattern({"name": [{"suffix": ".log"}]})
    Traceback (most recent call last):
        ...
    ValueError: field 'name': criteria cannot express the test 'suffix'
    """
    parsed = json.loads(pattern) if isinstance(pattern, str) else pattern
    if not isinstance(parsed, Mapping):
        raise TypeError(f"a pattern is a JSON object, not {type(parsed).__name__}")
    return list(_criteria(parsed, ""))


def _criteria(pattern: Mapping[str, Any], path: str) -> Iterator[Criterion]:
    if not pattern:
        raise ValueError(f"field {path!r}: an empty object asks for nothing" if path else "the pattern is empty")
    for name, asked in pattern.items():
        here = f"{path}.{name}" if path else name
        if name == "$or":
            raise ValueError(f"field {here!r}: criteria cannot express the test '$or'")
        if isinstance(asked, Mapping):
            yield from _criteria(asked, here)
        elif isinstance(asked, list):
            yield _criterion(here, asked)
        else:
            raise ValueError(f"field {here!r}: give a list of values or of one test, not {asked!r}")


def _criterion(name: str, asked: list[Any]) -> Criterion:
    tests = [one for one in asked if isinstance(one, Mapping)]
    if not tests:
        _check_leaves(name, asked)
        return Equals(name, asked[0]) if len(asked) == 1 else OneOf(name, asked)
    if len(asked) > 1:
        raise ValueError(
            f"field {name!r}: criteria cannot express several tests of which one is to hold, or tests beside "
            "values: make a subscription for each"
        )
    test = tests[0]
    if len(test) != 1:
        raise ValueError(f"field {name!r}: a test has one name, not {len(test)}")
    kind, operand = next(iter(test.items()))
    if kind == "exists" and isinstance(operand, bool):
        return Present(name) if operand else Absent(name)
    if kind == "prefix" and isinstance(operand, str):
        return Prefix(name, operand)
    if kind == "anything-but" and not isinstance(operand, Mapping):
        values = operand if isinstance(operand, list) else [operand]
        _check_leaves(name, values)
        return NotIn(name, values)
    if kind == "numeric" and isinstance(operand, list):
        return _range(name, operand)
    if kind in ("exists", "prefix", "anything-but", "numeric"):
        raise ValueError(f"field {name!r}: criteria cannot express the test {kind!r} with {operand!r}")
    raise ValueError(f"field {name!r}: criteria cannot express the test {kind!r}")


def _check_leaves(name: str, values: list[Any]) -> None:
    for value in values:
        if not isinstance(value, str | int | float | None):
            raise ValueError(f"field {name!r}: {value!r} is not a text, number, boolean or null")


def _range(name: str, operand: list[Any]) -> Criterion:
    bounds = dict(zip(operand[::2], operand[1::2], strict=False))
    numbers = all(isinstance(bound, int | float) and not isinstance(bound, bool) for bound in bounds.values())
    signs = [sign for sign in bounds if sign in _SIGNS]
    ends = [sign[0] for sign in signs]
    if len(operand) != 2 * len(bounds) or len(signs) != len(bounds) or not numbers or not bounds:
        raise ValueError(f"field {name!r}: {operand!r} is not a list of a sign and a number, or of two of each")
    if "=" in bounds and len(bounds) == 1:
        return Equals(name, bounds["="])
    if len(set(ends)) != len(ends) or "=" in bounds:
        raise ValueError(f"field {name!r}: {operand!r} has two bounds for one end")
    low = next((sign for sign in signs if sign[0] == ">"), None)
    high = next((sign for sign in signs if sign[0] == "<"), None)
    return Within(name, bounds.get(low), bounds.get(high), low == ">", high == "<")


def to_pattern(criteria: Iterable[Criterion]) -> dict[str, Any]:
    """Return criteria as a JSON pattern, an object that json.dumps takes. A name with dots becomes an object for each
    part before one, so that `from_pattern` gives the same criteria again.

    ValueError, with the criterion, for two criteria on one field, or one on a field within it; for a value that JSON
    has not, a prefix of bytes, and a range whose bounds are no numbers.

    >>> to_pattern([Equals("currency", "USD"), Within("price", 1, 5, low_open=True), Absent("cancelled")])
    {'cancelled': [{'exists': False}], 'currency': ['USD'], 'price': [{'numeric': ['>', 1, '<=', 5]}]}
    """
    pattern: dict[str, Any] = {}
    for criterion in sorted(criteria, key=lambda criterion: str(criterion.name)):
        *parts, last = str(criterion.name).split(".")
        place = pattern
        for part in parts:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise ValueError(f"{criterion!r}: a pattern has one test for each field, and there is one on {part!r}")
        if last in place:
            raise ValueError(f"{criterion!r}: a pattern has one test for each field, and there is another one")
        place[last] = _asked(criterion)
    return pattern


def _asked(criterion: Criterion) -> list[Any]:
    match criterion:
        case Present():
            return [{"exists": True}]
        case Absent():
            return [{"exists": False}]
        case Equals():
            return _leaves(criterion, [criterion.value])
        case OneOf():
            return _leaves(criterion, criterion.values)
        case NotIn():
            return [{"anything-but": _leaves(criterion, criterion.values)}]
        case Prefix() if isinstance(criterion.prefix, str):
            return [{"prefix": criterion.prefix}]
        case Within():
            return [{"numeric": _signs(criterion)}]
    raise ValueError(f"{criterion!r} has no JSON pattern")


def _leaves(criterion: Criterion, values: Iterable[Any]) -> list[Any]:
    listed = list(values)
    for value in listed:
        if not (value is None or type(value) in (str, int, float, bool)):
            raise ValueError(f"{criterion!r}: {value!r} is not a text, number, boolean or null of JSON")
    return sorted(listed, key=lambda value: (type(value).__name__, repr(value)))


def _signs(criterion: Within) -> list[Any]:
    signs: list[Any] = []
    for bound, is_open, sign in ((criterion.low, criterion.low_open, ">"), (criterion.high, criterion.high_open, "<")):
        if bound is not None:
            if type(bound) not in (int, float):
                raise ValueError(f"{criterion!r}: the bounds of a pattern are numbers, not {bound!r}")
            signs += [sign if is_open else f"{sign}=", bound]
    if not signs:
        raise ValueError(f"{criterion!r} has no JSON pattern; Present has one")
    return signs


def flattened(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message whose nested objects are fields with dotted names. Lists become tuples, values like any other.

    >>> flattened({"source": "shop", "detail": {"state": "open", "price": 3}})
    {'source': 'shop', 'detail.state': 'open', 'detail.price': 3}
    """
    flat: dict[str, Any] = {}
    stack: list[tuple[str, Any]] = [(name, value) for name, value in reversed(list(message.items()))]
    while stack:
        name, value = stack.pop()
        if isinstance(value, Mapping):
            stack.extend((f"{name}.{inner}", below) for inner, below in reversed(list(value.items())))
        else:
            flat[name] = tuple(value) if isinstance(value, list) else value
    return flat


def pattern_rows(subscriptions: Iterable[Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield (pattern as JSON text, subscriber, options) for each subscription: a matcher as plain rows.

    >>> from subtrie.fields import FieldMatcher
    >>> matcher = FieldMatcher()
    >>> matcher.subscribe([Equals("currency", "USD")], "ann", qos=1)
    True
    >>> list(pattern_rows(matcher))
    [('{"currency": ["USD"]}', 'ann', {'qos': 1})]
    """
    for subscription in subscriptions:
        pattern = json.dumps(to_pattern(subscription.criteria), ensure_ascii=False)
        yield pattern, subscription.subscriber, dict(subscription.options)
