"""A plain reading of criteria, of patterns and of events, with which the tests of fields compare what is answered.

It shares no code with the package. A criterion is read as tests of a pattern, of which one has to hold, so that there is
one reading for both; bounds may be of any kind. It knows criteria by the names of their classes, so that it reads those of
a private copy, too.
"""

from __future__ import annotations

import ipaddress
import itertools
import operator
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

Path: TypeAlias = tuple[int | str, ...]  # names, and positions in lists
Value: TypeAlias = tuple[str, Any, Path]  # field, value, where it stands
Way: TypeAlias = list[tuple[str, list[Any]]]  # what is asked of some fields, all of which is to hold


# ----------------------------------------------------------------------------------------------------- events and ways


def values_of(thing: Any, name: str | None = None, path: Path = ()) -> Iterator[Value]:
    if isinstance(thing, dict):
        for step, below in thing.items():
            yield from values_of(below, step if name is None else ".".join((name, step)), (*path, step))
    elif type(thing).__name__ in ("list", "Elements"):
        for i, below in enumerate(thing):
            # A plain value in a list belongs to no element: it goes with whatever the list lies in.
            yield from values_of(below, name, (*path, i) if isinstance(below, list | dict) else path)
    else:
        assert name is not None
        yield name, thing, path


def belong_together(one: Path, other: Path) -> bool:
    """Whether two values are in the same element of each list that both are in."""
    for here, there in zip(one, other, strict=False):
        if here != there:
            return isinstance(here, str) or isinstance(there, str)
    return True


def ways_of(asked: Any, name: str | None = None) -> list[Way]:
    """The ways to meet a pattern, or a list of criteria."""
    parts: list[list[Way]] = []
    for step, one in asked.items() if isinstance(asked, dict) else ((None, one) for one in asked):
        here = step if name is None else f"{name}.{step}"
        if step is None:
            ways = (
                [each for way in one.alternatives for each in ways_of(way)]
                if is_any_of(one)
                else [[(one.name, asked_by(one))]]
            )
        elif step == "$or":
            ways = [way for alternative in one for way in ways_of(alternative, name)]
        else:
            ways = ways_of(one, here) if isinstance(one, dict) else [[(here, one)]]
        parts.append(ways)
    return [list(itertools.chain(*chosen)) for chosen in itertools.product(*parts)]


def is_any_of(criterion: Any) -> bool:
    return type(criterion).__name__ == "AnyOf"


def is_wanted(ways: Iterable[Way], there: list[Value]) -> bool:
    """Whether some values that belong together, one for each test of a way, meet it. A field is absent if it has no value
    that belongs together with all of these."""

    def further(way: Way, chosen: list[Path], absent: list[str]) -> bool:
        if not way:
            return not any(
                field in absent and all(belong_together(path, one) for one in chosen) for field, _, path in there
            )
        (name, asked), *rest = way
        if {"exists": False} in asked and further(rest, chosen, [*absent, name]):
            return True
        return any(
            field == name
            and any(meets(test, value) for test in asked)
            and all(belong_together(path, one) for one in chosen)
            and further(rest, [*chosen, path], absent)
            for field, value, path in there
        )

    return any(further(way, [], []) for way in ways)


# --------------------------------------------------------------------------------------------------------------- tests


def asked_by(criterion: Any) -> list[Any]:
    """A criterion on one field as tests of a pattern, of which one has to hold."""
    match type(criterion).__name__:
        case "Equals":
            return [criterion.value]
        case "OneOf":
            return list(criterion.values)
        case "NotIn":
            return [{"anything-but": list(criterion.values)}]
        case "Present" | "Absent":
            return [{"exists": type(criterion).__name__ == "Present"}]
        case "Within":
            low = [">" if criterion.low_open else ">=", criterion.low]
            high = ["<" if criterion.high_open else "<=", criterion.high]
            return [
                {"numeric": (low if criterion.low is not None else []) + (high if criterion.high is not None else [])}
            ]
        case "Prefix" | "Suffix" as kind:
            text = getattr(criterion, kind.lower())
            return [{kind.lower(): {"equals-ignore-case": text} if criterion.ignore_case else text}]
        case "EqualsIgnoringCase":
            return [{"equals-ignore-case": criterion.text}]
        case "Wildcard":
            return [{"wildcard": criterion.pattern}]
        case "InNetwork":
            return [{"cidr": criterion.network}]
        case "Not":
            return [{"not": asked_by(criterion.criterion)}]
        case "AnyOf":
            return [{"all": [asked_by(one) for one in way]} for way in criterion.alternatives]
    raise AssertionError(criterion)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal | Fraction) and value == value


def exact(number: Any) -> Any:
    return number if number in (float("inf"), float("-inf")) else Fraction(number)


SIGNS = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def compares(sign: str, one: Any, other: Any) -> bool:
    """Numbers compare exactly, whatever their types, and True is 1. What cannot be compared does not compare."""
    if is_number(one) and is_number(other):
        one, other = exact(one), exact(other)
    try:
        return bool(SIGNS[sign](one, other))
    except (TypeError, ValueError, ArithmeticError):
        return False


def in_one_case(text: str) -> str:
    same = {"\u1e9e": "\xdf", "\u1fbc": "\u1fb3"}  # the full folding of these has several characters
    return "".join(same.get(one, one.casefold() if len(one.casefold()) == 1 else one) for one in text)


def meets(test: Any, value: Any) -> bool:
    """Whether a value that is there meets a test."""
    if not isinstance(test, dict):
        return compares("=", test, value)
    ((kind, operand),) = test.items()
    if kind == "exists":
        return bool(operand)
    if kind == "not":
        return not any(meets(one, value) for one in operand)
    if kind == "all":
        return all(any(meets(one, value) for one in tests) for tests in operand)
    if kind == "numeric":
        return all(compares(sign, value, bound) for sign, bound in zip(operand[::2], operand[1::2], strict=True))
    if kind == "anything-but":
        if isinstance(operand, dict):
            ((inner, texts),) = operand.items()
            operand = [{inner: one} for one in (texts if isinstance(texts, list) else [texts])]
        return not any(meets(one, value) for one in (operand if isinstance(operand, list) else [operand]))
    return isinstance(value, type(operand) if isinstance(operand, bytes) else str) and meets_text(kind, operand, value)


def meets_text(kind: str, operand: Any, value: Any) -> bool:
    if isinstance(operand, dict):
        return meets_text(kind, in_one_case(operand["equals-ignore-case"]), in_one_case(value))
    match kind:
        case "exactly":
            return bool(value == operand)
        case "prefix":
            return bool(value[: len(operand)] == operand)
        case "suffix":
            return bool(value[max(0, len(value) - len(operand)) :] == operand)
        case "equals-ignore-case":
            return in_one_case(value) == in_one_case(operand)
        case "wildcard":
            parts = re.findall(r"\\.|.", operand, re.DOTALL)
            return is_like([(part[-1], part == "*") for part in parts], value)
        case "shellstyle":
            return is_like([(one, one == "*") for one in operand], value)
    try:
        return "%" not in value and ipaddress.ip_address(value) in ipaddress.ip_network(operand, strict=False)
    except ValueError:
        return False


def is_like(pattern: list[tuple[str, bool]], text: str) -> bool:
    """Whether a text matches characters, of which some stand for any number of any."""
    places = {0}
    for character, is_star in pattern:
        if is_star:
            places = set(range(min(places), len(text) + 1)) if places else set()
        else:
            places = {place + 1 for place in places if text[place : place + 1] == character}
    return len(text) in places
