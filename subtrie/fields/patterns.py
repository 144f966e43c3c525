"""Subscriptions as the JSON patterns of event routers: Amazon EventBridge, event-ruler, Quamina and their kin.

    {"source": ["shop"], "detail": {"state": [{"anything-but": ["draft"]}], "price": [{"numeric": [">", 0, "<=", 5]}]}}

A pattern is an object whose leaves are lists of values and tests, of which the field must meet one. Objects in objects
are nested fields, here named with dots: `detail.state`. `flattened` (events.py) makes such names of a nested message.

A criterion that was read from a pattern remembers how that says it (`written`), so that `to_pattern` says it in the
same way. The meaning of a criterion is nothing but what it was made of.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, TypeAlias

from subtrie.fields.combined import MOST_NESTED as MOST_NESTED_CRITERIA
from subtrie.fields.combined import AnyOf, Not
from subtrie.fields.criteria import Absent, Criterion, Equals, NotIn, OneOf, Prefix, Present, Within
from subtrie.fields.short import short
from subtrie.fields.texts import EqualsIgnoringCase, InNetwork, Suffix, Wildcard

_SIGNS = ("<", "<=", ">", ">=", "=")
_OR = "$or"
_INFINITIES = (math.inf, -math.inf)  # JSON has none

MOST_NESTED = 1_000  # objects in objects: most readers of JSON go no deeper
MOST_DIGITS = 4_000  # of a whole number; Python takes 4,300, and n * n steps for n of them
MOST_BITS = MOST_DIGITS * 10 // 3

Path: TypeAlias = tuple[str, ...]
_Make: TypeAlias = Callable[[str, Any], Criterion | None]


class _Object(dict[str, Any]):
    """An object of JSON text, with all that it has, a name that it has twice included."""

    pairs: list[tuple[str, Any]]


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    made = _Object(pairs)
    made.pairs = pairs
    return made


def _pairs(given: Mapping[str, Any], what: str = "", path: Path = ()) -> Iterator[tuple[str, Any]]:
    """Iterate over the names of an object at a path and what they stand for. TypeError for names that JSON has not.
    ValueError for a name that stands twice, even if for other fields: a dict, which most readers make of an object, has
    only one of them."""
    known: set[str] = set()
    for name, value in given.pairs if isinstance(given, _Object) else given.items():
        if not isinstance(name, str):
            raise TypeError(f"the names in a pattern are texts, not {short(name)}")
        if name in known:
            raise ValueError(f"{what}{short('.'.join((*path, name)))} is named twice")
        known.add(name)
        yield name, value


def from_pattern(pattern: str | Mapping[str, Any]) -> list[Criterion]:
    """Return the criteria of a JSON pattern, given as text or as what json.loads makes of it. All of them are to hold.

    A field has a list of values (texts, numbers, booleans, null) and tests, of which one is to hold: `exists`,
    `exactly`, `prefix`, `suffix`, `equals-ignore-case`, `wildcard`, `shellstyle`, `cidr`, `numeric`, and `anything-but`
    with values or with tests on texts. `$or` has a list of patterns, of which one is to hold.

    True equals 1, as in Python. docs/fields.md has all differences from routers.

    Raises:
        ValueError: With the field and the test, for any other test (`regexp`), for a field that is named twice, and for
            what is not a pattern.
        TypeError: For what is not a JSON object.

    >>> from_pattern('{"currency": ["USD", "EUR"], "price": [{"numeric": [">", 0, "<=", 5]}]}')
    [OneOf('currency', frozenset({...})), Within('price', 0, 5, True, False)]
    >>> from_pattern({"name": ["log", {"suffix": ".log"}]})
    [AnyOf(Equals('name', 'log'), Suffix('name', '.log'))]
    >>> from_pattern({"name": [{"regexp": "a+"}]})
    Traceback (most recent call last):
        ...
    ValueError: field 'name': criteria cannot express the test 'regexp'
    """
    given = _read(pattern) if isinstance(pattern, str | bytes | bytearray) else pattern
    if not isinstance(given, Mapping):
        raise TypeError(f"a pattern is a JSON object, not {type(given).__name__}")
    found = []
    for path, asked, criterion in _criteria(given, (), 0):
        criterion.written = _written(path, asked)
        found.append(criterion)
    return found


def _read(text: str | bytes | bytearray) -> Any:
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_int=lambda n: int(n) if len(n) <= MOST_DIGITS else math.inf
        )
    except RecursionError:  # json.loads is written in C, and leaves nothing half done
        raise ValueError(f"the pattern {short(text)} is nested too deep") from None


def _written(path: tuple[str, ...], asked: Any) -> str:
    try:
        return json.dumps([path, asked], ensure_ascii=False)
    except RecursionError:
        raise ValueError(f"field {short('.'.join(path))}: nested too deep") from None


def _criteria(pattern: Mapping[str, Any], path: tuple[str, ...], depth: int) -> Iterator[tuple[Path, Any, Criterion]]:
    """Yield each criterion of a pattern at a path, with its own path and what is asked there. `depth` is the number of
    $or around the pattern."""
    if not pattern:
        raise ValueError(
            f"field {short('.'.join(path))}: an empty object asks for nothing" if path else "the pattern is empty"
        )
    names: set[str] = set()
    below: list[tuple[Path, Iterator[tuple[str, Any]]]] = [(path, _pairs(pattern, "field ", path))]
    while below:
        outer, steps = below[-1]
        step, asked = next(steps, (None, None))
        if step is None:
            below.pop()
            continue
        here = (*outer, step)
        name = ".".join(here)
        if isinstance(asked, Mapping) and step != _OR:
            if len(here) >= MOST_NESTED:
                raise ValueError(f"field {short(name)}: nested more than {MOST_NESTED:,} deep")
            if not asked:
                raise ValueError(f"field {short(name)}: an empty object asks for nothing")
            below.append((here, _pairs(asked, "field ", here)))
            continue
        if not isinstance(asked, list) or (step == _OR and not asked):
            wanted = "patterns" if step == _OR else "values and tests"
            raise ValueError(f"field {short(name)}: give a list of {wanted}, not {short(asked)}")
        if name in names:
            raise ValueError(f"field {short(name)} is named twice")
        names.add(name)
        if step == _OR and _is_or(asked):
            yield here, asked, _any_of(name, asked, outer, depth + 1)
        else:
            yield here, asked, _criterion(name, asked)


def _any_of(name: str, patterns: list[Any], path: Path, depth: int) -> Criterion:
    if depth >= MOST_NESTED_CRITERIA:  # one more is in a field with several tests
        raise ValueError(f"field {short(name)}: {_OR} is nested {MOST_NESTED_CRITERIA} deep or more")
    return AnyOf(*[tuple([found for _, _, found in _criteria(one, path, depth)]) for one in patterns])


def _is_or(asked: list[Any]) -> bool:
    """Return whether these are alternatives, and not the values and tests of a field that is called $or."""
    return all(isinstance(one, Mapping) and not any(name in _TESTS or name in _OTHERS for name in one) for one in asked)


def _criterion(name: str, asked: list[Any]) -> Criterion:
    values = [one for one in asked if not isinstance(one, Mapping)]
    found: list[Criterion] = []
    if values or not asked:
        try:
            _check_leaves(values)
        except ValueError as error:
            raise ValueError(f"field {short(name)}: {error}") from None
        found.append(Equals(name, values[0]) if len(values) == 1 else OneOf(name, values))
    for test in asked:
        if isinstance(test, Mapping):
            found.append(_test(name, test))
    return found[0] if len(found) == 1 else AnyOf(*found)


def _test(name: str, test: Mapping[str, Any]) -> Criterion:
    pairs = list(_pairs(test, f"field {short(name)}: "))
    if len(pairs) != 1:
        named = ", ".join([short(kind) for kind, _ in pairs[:3]])
        raise ValueError(f"field {short(name)}: a test has one name, not {len(pairs)}: {named or short(test)}")
    kind, operand = pairs[0]
    make = _TESTS.get(kind)
    if make is None:
        raise ValueError(f"field {short(name)}: criteria cannot express the test {short(kind)}{_meant(name, kind)}")
    try:
        criterion = make(name, operand)
    except ValueError as error:
        raise ValueError(f"field {short(name)}, test {kind!r}: {error}") from None
    if criterion is None:
        raise ValueError(f"field {short(name)}: criteria cannot express the test {kind!r} with {short(operand)}")
    return criterion


def _meant(name: str, kind: str) -> str:
    """Return what may help who has written a test that there is none of."""
    if name.rpartition(".")[2].startswith("$"):
        return f"; the only name with a meaning of its own is {_OR}, and fields side by side all have to hold"
    almost = get_close_matches(kind.lower().replace("_", "-"), _TESTS, 1, 0.7)
    return f"; did you mean {almost[0]!r}?" if almost else ""


def _exists(name: str, operand: Any) -> Criterion | None:
    if not isinstance(operand, bool):
        return None
    return Present(name) if operand else Absent(name)


def _of_text(make: Callable[[str, str], Criterion]) -> _Make:
    """Return what reads a test on a text."""
    return lambda name, operand: make(name, operand) if isinstance(operand, str) else None


def _in_any_case(make: Callable[[str, str, bool], Criterion]) -> _Make:
    """Return what reads a test on a text that may be in any case."""

    def read(name: str, operand: Any) -> Criterion | None:
        pairs = list(_pairs(operand)) if isinstance(operand, Mapping) else []
        ignore_case = [kind for kind, _ in pairs] == ["equals-ignore-case"]
        text = pairs[0][1] if ignore_case else operand
        return make(name, text, ignore_case) if isinstance(text, str) else None

    return read


def _anything_but(name: str, operand: Any) -> Criterion | None:
    if not isinstance(operand, Mapping):
        values = operand if isinstance(operand, list) else [operand]
        _check_leaves(values)
        if not values:
            raise ValueError('it names nothing; {"exists": true} asks for any value')
        return NotIn(name, values)
    pairs = list(_pairs(operand))
    if len(pairs) != 1:
        return None
    kind, texts = pairs[0]
    several = texts if isinstance(texts, list) else [texts]
    if kind not in _OF_TEXTS or not several:
        return None
    tests = [_OF_TEXTS[kind](name, text) for text in several]
    if None in tests:
        return None
    return Not(tests[0] if len(tests) == 1 else AnyOf(*tests))  # type: ignore[arg-type]


def _numeric(name: str, operand: Any) -> Criterion | None:
    if not isinstance(operand, list):
        return None
    signs, bounds = operand[::2], operand[1::2]
    numbers = all(isinstance(bound, int | float) and not isinstance(bound, bool) for bound in bounds)
    known = all(isinstance(sign, str) and sign in _SIGNS for sign in signs)
    if not numbers or not known or not bounds or len(signs) != len(bounds) or len(bounds) > 2:
        raise ValueError(f"{short(operand)} is not a list of a sign and a number, or of two of each")
    for bound in bounds:
        _check_number(bound)
    if signs == ["="]:
        return Equals(name, bounds[0])
    if "=" in signs or len({sign[0] for sign in signs}) != len(signs):
        raise ValueError(f"{short(operand)} has two bounds for one end")
    ends = {sign[0]: (sign, bound) for sign, bound in zip(signs, bounds, strict=True)}
    low_sign, low = ends.get(">", ("", None))
    high_sign, high = ends.get("<", ("", None))
    return Within(name, low, high, low_sign == ">", high_sign == "<")


_OF_TEXTS: dict[str, _Make] = {
    "equals-ignore-case": _of_text(EqualsIgnoringCase),
    "exactly": _of_text(Equals),
    "prefix": _in_any_case(Prefix),
    "shellstyle": _of_text(lambda name, text: Wildcard(name, text.replace("\\", "\\\\"))),
    "suffix": _in_any_case(Suffix),
    "wildcard": _of_text(Wildcard),
}
_TESTS: dict[str, _Make] = {
    **_OF_TEXTS,
    "anything-but": _anything_but,
    "cidr": _of_text(InNetwork),
    "exists": _exists,
    "numeric": _numeric,
}
_OTHERS = frozenset(["regexp"])  # tests of routers that are refused


def _check_leaves(values: list[Any]) -> None:
    for value in values:
        if not isinstance(value, str | int | float | None):
            raise ValueError(f"{short(value)} is not a text, number, boolean or null")
        _check_number(value)


def _check_number(value: Any) -> None:
    """Raise ValueError for what Python reads of NaN, Infinity, and of a number that is too large for a float, or too
    long to be written."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value!r} is no number of JSON, or it is too large")
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise ValueError(f"{short(value)} is too large: it has more than {MOST_DIGITS:,} digits")


# ------------------------------------------------------------------------------------------------------------- writing


def to_pattern(criteria: Iterable[Criterion]) -> dict[str, Any]:
    """Return criteria as a JSON pattern, an object that json.dumps takes. A name with dots becomes an object for each
    part before one, so that `from_pattern` gives criteria that ask for the same (a `OneOf` of one value is read as an
    `Equals`). What was read by `from_pattern` is written as it was read, and equal when it is read again.

    Raises:
        ValueError: With the criterion, for two criteria on one field; for two `AnyOf` on several fields; for a value
            that JSON has not, a prefix of bytes, a range whose bounds are no numbers, and whatever `from_pattern` would
            refuse to read again, such as a name with `$or` before a dot.

    >>> to_pattern([Equals("currency", "USD"), Within("price", 1, 5, low_open=True), Absent("cancelled")])
    {'cancelled': [{'exists': False}], 'currency': ['USD'], 'price': [{'numeric': ['>', 1, '<=', 5]}]}
    >>> to_pattern(from_pattern('{"b.c": ["y", "x"], "a": [{"numeric": ["=", 3]}]}'))
    {'a': [{'numeric': ['=', 3]}], 'b.c': ['y', 'x']}
    """
    pattern = _pattern_of(criteria)
    if pattern:
        try:
            list(_criteria(pattern, (), 0))  # once, with all alternatives in it
        except ValueError as error:  # a field has the name of a test, say, where an alternative may be one
            raise ValueError(f"a pattern cannot say this: {error}") from None
    return pattern


def _pattern_of(criteria: Iterable[Criterion]) -> dict[str, Any]:
    pattern: dict[str, Any] = {}
    for criterion in sorted(criteria, key=lambda criterion: str(criterion.name)):
        path, asked = _placed(criterion)
        steps, last = path[:-1], path[-1]
        place = pattern
        while steps and isinstance(place.get(steps[0], place), dict):
            place = place.setdefault(steps.pop(0), {})
        last = ".".join([*steps, last])  # below a field that has a test itself
        if last in place:
            raise ValueError(f"{short(criterion)}: a pattern has one test for each field, and there is another one")
        place[last] = asked
    return pattern


def _placed(criterion: Criterion) -> tuple[list[str], list[Any]]:
    """Return the path of a criterion in a pattern, and what stands there."""
    if criterion.written is not None:
        path, asked = json.loads(criterion.written)
        return path, asked
    if isinstance(criterion, AnyOf) and criterion.name is None:
        return [_OR], [_pattern_of(way) for way in criterion.alternatives]
    return str(criterion.name).split("."), _asked(criterion)


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
            return [{"anything-but": _leaves(criterion, criterion.values)} if criterion.values else {"exists": True}]
        case Within():
            return [{"numeric": _signs(criterion)}]
        case InNetwork():
            return [{"cidr": criterion.network}]
        case AnyOf() if all(len(way) == 1 for way in criterion.alternatives):
            return [one for way in criterion.alternatives for one in _asked(way[0])]
        case Not():
            return [{"anything-but": _but(criterion)}]
    kind, text = _text_test(criterion)
    return [{kind: text}]


def _text_test(criterion: Criterion) -> tuple[str, Any]:
    match criterion:
        case Prefix() if isinstance(criterion.prefix, str):
            return "prefix", {"equals-ignore-case": criterion.prefix} if criterion.ignore_case else criterion.prefix
        case Suffix():
            return "suffix", {"equals-ignore-case": criterion.suffix} if criterion.ignore_case else criterion.suffix
        case EqualsIgnoringCase():
            return "equals-ignore-case", criterion.text
        case Wildcard():
            return "wildcard", criterion.pattern
    raise ValueError(f"{short(criterion)} has no JSON pattern")


def _but(criterion: Not) -> Any:
    """Return what a Not stands for, after anything-but."""
    inner = criterion.criterion
    if isinstance(inner, AnyOf) and all(len(way) == 1 for way in inner.alternatives):
        tests = [_text_test(way[0]) for way in inner.alternatives]
        if len({kind for kind, _ in tests}) == 1:
            return {tests[0][0]: [text for _, text in tests]}
    if isinstance(inner, Equals | OneOf):
        return _asked(inner)
    if isinstance(inner, AnyOf):
        raise ValueError(f"{short(criterion)} has no JSON pattern")
    kind, text = _text_test(inner)
    return {kind: text}


def _leaves(criterion: Criterion, values: Iterable[Any]) -> list[Any]:
    for value in values:
        if not (value is None or type(value) in (str, int, float, bool)) or value in _INFINITIES:
            raise ValueError(f"{short(criterion)}: {short(value)} is not a text, number, boolean or null of JSON")
    return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def _signs(criterion: Within) -> list[Any]:
    signs: list[Any] = []
    for bound, is_open, sign in ((criterion.low, criterion.low_open, ">"), (criterion.high, criterion.high_open, "<")):
        if bound is not None:
            if type(bound) not in (int, float) or bound in _INFINITIES:
                raise ValueError(f"{short(criterion)}: the bounds of a pattern are numbers, not {short(bound)}")
            signs += [sign if is_open else f"{sign}=", bound]
    if not signs:
        raise ValueError(f"{short(criterion)} has no JSON pattern; Present has one")
    return signs


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
        yield as_json(to_pattern(subscription.criteria)), subscription.subscriber, dict(subscription.options)


def as_json(pattern: dict[str, Any]) -> str:
    """Return a pattern as a text that UTF-8 can hold: one with half of a character in it has escapes only."""
    text = json.dumps(pattern, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(pattern)
    return text
