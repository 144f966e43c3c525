"""Any patterns on any events, through every door: all of them give the answer of a plain reading of the two.

The doors are `match_all`, `match_many`, `deliveries`, routes, copies, pickles, `explain`, and what is written of a matcher
and read again. The names and values are odd ones: names with points, quotes and brackets, empty
ones, numbers of any size, halves of characters, addresses.
"""

from __future__ import annotations

import ipaddress
import itertools
import json
import math
import pickle
import random
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, TypeAlias

import pytest

from subtrie.fields import (
    AnyOf,
    Criterion,
    FieldMatcher,
    Not,
    RoutingMatcher,
    explain,
    flattened,
    from_pattern,
    pattern_rows,
    to_pattern,
)

# ------------------------------------------------------------------------------------------------------- a plain reading

Path: TypeAlias = tuple[int | str, ...]  # names, and positions in lists
Value: TypeAlias = tuple[str, Any, Path]  # field, value, where it stands


def values_of(thing: Any, name: str | None = None, path: Path = ()) -> Iterator[Value]:
    if isinstance(thing, dict):
        for step, below in thing.items():
            yield from values_of(below, step if name is None else f"{name}.{step}", (*path, step))
    elif isinstance(thing, list):
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


def ways_of(pattern: dict[str, Any], name: str | None = None) -> Iterator[list[tuple[str, list[Any]]]]:
    """The ways to meet a pattern: each says what is asked of some fields, all of which is to hold."""
    parts: list[list[list[tuple[str, list[Any]]]]] = []
    for step, asked in pattern.items():
        here = step if name is None else f"{name}.{step}"
        if step == "$or":
            parts.append([way for one in asked for way in ways_of(one, name)])
        else:
            parts.append(list(ways_of(asked, here)) if isinstance(asked, dict) else [[(here, asked)]])
    for chosen in itertools.product(*parts):
        yield list(itertools.chain(*chosen))


def is_wanted(pattern: dict[str, Any], event: dict[str, Any]) -> bool:
    there = list(values_of(event))
    return any(is_way_met(way, there) for way in ways_of(pattern))


def is_way_met(way: list[tuple[str, list[Any]]], there: list[Value]) -> bool:
    """Whether some values that belong together, one for each test, meet it. A field is absent if it has no value that
    belongs together with all of these."""

    def further(i: int, chosen: list[Path], absent: list[str]) -> bool:
        if i == len(way):
            return not any(
                field in absent and all(belong_together(path, one) for one in chosen) for field, _, path in there
            )
        name, asked = way[i]
        if {"exists": False} in asked and further(i + 1, chosen, [*absent, name]):
            return True
        return any(
            further(i + 1, [*chosen, path], absent)
            for field, value, path in there
            if field == name
            and any(meets(test, value) for test in asked)
            and all(belong_together(path, one) for one in chosen)
        )

    return further(0, [], [])


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and value == value


def exact(number: Any) -> Any:
    return number if isinstance(number, float) and math.isinf(number) else Fraction(number)


def compares(sign: str, one: Any, other: Any) -> bool:
    one, other = exact(one), exact(other)
    return bool({"=": one == other, "<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[sign])


def in_one_case(text: str) -> str:
    same = {"\u1e9e": "\xdf", "\u1fbc": "\u1fb3"}  # the full folding of these has several characters
    return "".join(same.get(one, one.casefold() if len(one.casefold()) == 1 else one) for one in text)


def meets(test: Any, value: Any) -> bool:
    """Whether a value that is there meets a test of a pattern."""
    if not isinstance(test, dict):
        if is_number(test) and is_number(value):
            return compares("=", test, value)  # True is 1
        return type(test) is type(value) and test == value
    ((kind, operand),) = test.items()
    if kind == "exists":
        return bool(operand)
    if kind == "numeric":
        pairs = zip(operand[::2], operand[1::2], strict=True)
        return is_number(value) and all(compares(sign, value, bound) for sign, bound in pairs)
    if kind == "anything-but":
        if isinstance(operand, dict):
            ((inner, texts),) = operand.items()
            return not any(meets({inner: one}, value) for one in (texts if isinstance(texts, list) else [texts]))
        return not any(meets(one, value) for one in (operand if isinstance(operand, list) else [operand]))
    return isinstance(value, str) and meets_text(kind, operand, value)


def meets_text(kind: str, operand: Any, value: str) -> bool:
    if isinstance(operand, dict):
        return meets_text(kind, in_one_case(operand["equals-ignore-case"]), in_one_case(value))
    match kind:
        case "exactly":
            return bool(value == operand)
        case "prefix":
            return bool(value[: len(operand)] == operand)
        case "suffix":
            return bool(operand == "" or value[-len(operand) :] == operand)
        case "equals-ignore-case":
            return in_one_case(value) == in_one_case(operand)
        case "wildcard":
            parts = [part if part == "*" else part[-1] for part in re.findall(r"\\.|.", operand, re.DOTALL)]
            stars = [part == "*" for part in re.findall(r"\\.|.", operand, re.DOTALL)]
            return is_like(list(zip(parts, stars, strict=True)), value)
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


# -------------------------------------------------------------------------------------------------------- what is drawn

TEXTS = [
    *("a\x00b", "a[0]", "K", "fi", "FI", "\udfff", "a\ud800", "\uffff", "010.0.0.1", "2001:db8::1", "2001:DB8:0::1"),
    *("b", "AB", "\u03a3a", "\u01c4", "\u01c5", "\u01c6", "\U0001f600a"),
    *("", "a", "A", "ab", "aB", "ba", "k", "\u212a", "\u017fa", "Sa", "\xdf", "\u1e9e", "ss", "SS", "\u03c3", "\u03a3"),
    *("\u03c2", "i", "I", "\u0130", "\u0131", "e\u0301", "\xe9", "\u0301", "\ufb01", "\ud800", "a\udfff", "\U00010400"),
    *("\U00010428", "*", "\\", "a*b", "a\\b", "a\nb", "\x00", "a\x00", "1", "1.0", "true", "null", "NaN", "a.b", "$or"),
    *(
        '"', "\t", "\u2028", "\U0001f600", "\ude00", "aa", "aab", "abab", "aba", "**", "?", "\xe5", "\u212b", "\xb5",
        "\u03bc",
    ),
    *(
        "\u2126", "\u03c9", "\u1fb3", "\u1fbc", "\u03b8", "\u03f4", "\u1e9b", "\u1e61", "\u0345", "\u03b9", "\u0149",
        "\u01f0",
    ),
    *("10.0.0", "10.0.0.256", "0x0a.0.0.1", "::", "0::0", "::1.2.3.4", "1::2::3", "::ffff:a00:1", "\u0661\u0660.0.0.1"),
    *("10.0.0.1", "10.0.0.255", "10.9.0.1", "255.255.255.255", "10.0.0.01", "10.0.0.1 ", "::1", "::ffff:10.0.0.1", "2001:DB8::1", "fe80::1%eth0"),
]  # fmt: skip
NUMBERS: list[Any] = [
    *(0, -0.0, 1, 1.0, True, False, -1, 2, 5, 5.000000, 1e2, 100, 0.1, 0.1 + 0.2, 0.3, 5e-324, 1e16, 10**16 + 1),
    *(
        1e-320, 2**63 - 1, 2.0**63, 2**64, 2.0**64, 1e22, 10**22, 10**23, 1e23, -(2**53) - 1, 1 / 3, -1e308, 2**1024,
        -(2**1024),
    ),
    *(2.5, -2.5, 3, 1e-7, 1e300, -5e-324, 10**16, -(10**30), 1.7976931348623157e308),
    *(1.0000000000000002, 2**52 + 0.5, 2**53, 2**53 + 1, 2.0**53, 2**63, -(2**64), 10**30, 1e30, 10**400, 1e308),
]  # fmt: skip
NO_JSON = [math.inf, -math.inf, math.nan]
NETWORKS = [
    "10.0.0.0/8",
    "10.0.0.0/16",
    "10.0.0.0/31",
    "::/64",
    "2001:db8::/33",
    "10.0.0.7/31",
    "10.0.0.1",
    "0.0.0.0/0",
    "::/0",
    "::1",
    "::ffff:0:0/96",
    "2001:db8::/32",
]
NETWORKS += [
    "10.0.0.0/32", "0.0.0.0/1", "128.0.0.0/1", "::/1", "::/128", "::ffff:10.0.0.0/104", "fe80::/10", "10.0.0.1/0", "10.0.0.7/8",
]  # fmt: skip
WILDCARDS = ["*", "", "a", "a*", "*b", "*a*", "a*b", "\\*", "*\\*", "a\\\\*", "*\\\\", "*\n*", "a*a", "*1*", "*\ud800"]
WILDCARDS += [
    "b*a*", "*.0.*", "a\\**", "a*b*a", "ab", "*\U0001f600*", "*a*b*", "*aa*", "a*a*a", "ab*ab", "*ab*ab*", "aba*aba", "*\U0001f600", "\\\\*", "\\*\\*", "*\\**", "a*\\\\",
]  # fmt: skip
SHELLS = [
    "*", "", "a*", "*b", "a\\b", "*\\", "\\*", "a*b", "*a*", "a*ab", "*aa*b", "\\\\*", "*\ude00", "ab*ab", "*a*a*",
]  # fmt: skip

# Few names and many common values, so that patterns ask for what events have.
NAMES = ["a", "b", "c", "", "a.b", "b.c", 'q"', "[0]", "\xdf", "$or ", ".", "a[0]", "\ud800"]
COMMON = [1, 2, "a", "ab"]


def some_event(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    return {name: some_value(rng, depth) for name in rng.sample(NAMES[: rng.choice([3, 5, 13])], rng.randrange(1, 4))}


def some_value(rng: random.Random, depth: int) -> Any:
    kind = rng.random()
    if depth < 4 and kind < 0.25:
        return some_event(rng, depth + 1)
    if depth < 4 and kind < 0.55:
        return [some_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return some_plain(rng, [*TEXTS, *NUMBERS, *NO_JSON, None])


def some_plain(rng: random.Random, pool: list[Any]) -> Any:
    return rng.choice(COMMON if rng.random() < 0.5 else pool)


def some_pattern(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    pattern: dict[str, Any] = {}
    for name in rng.sample(NAMES[: rng.choice([3, 5, 13])], rng.randrange(1, 4)):
        if depth < 3 and rng.random() < 0.4:
            pattern[name] = some_pattern(rng, depth + 1)
        else:
            pattern[name] = [some_test(rng) for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))]
    if depth < 3 and rng.random() < 0.2:
        pattern["$or"] = [some_pattern(rng, depth + 1) for _ in range(rng.randrange(1, 4))]
    return pattern


def some_test(rng: random.Random) -> Any:
    match rng.randrange(8):
        case 0 | 1 | 2:
            return some_plain(rng, [*TEXTS, *NUMBERS, None])
        case 3:
            return {"exists": rng.random() < 0.3}
        case 4:
            return some_test_of_text(rng)
        case 5:
            return {"cidr": rng.choice(NETWORKS)}
        case 6:
            return some_range(rng)
    operands = [some_plain(rng, [*TEXTS, *NUMBERS, None]) for _ in range(rng.randrange(1, 4))]
    inner = operands if len(operands) > 1 or rng.random() < 0.5 else operands[0]
    if rng.random() < 0.7:
        ((kind, operand),) = some_test_of_text(rng).items()
        more = [one[kind] for one in (some_test_of_text(rng) for _ in range(4)) if kind in one]
        inner = {kind: [operand, *more] if rng.random() < 0.5 else operand}
    return {"anything-but": inner}


def some_test_of_text(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(["prefix", "suffix", "equals-ignore-case", "exactly", "wildcard", "shellstyle"])
    if kind in ("wildcard", "shellstyle"):
        return {kind: rng.choice(WILDCARDS if kind == "wildcard" else SHELLS)}
    text = rng.choice(TEXTS)
    in_any_case = kind in ("prefix", "suffix") and rng.random() < 0.5
    return {kind: {"equals-ignore-case": text} if in_any_case else text}


def some_range(rng: random.Random) -> dict[str, Any]:
    bounds = [number for number in NUMBERS if not isinstance(number, bool)]
    low, high = sorted([rng.choice(bounds), rng.choice(bounds)], key=exact)
    above, below = rng.choice([">", ">="]), rng.choice(["<", "<="])
    if low == high:
        above, below = ">=", "<="
    both = [[above, low, below, high], [below, high, above, low]]
    return {"numeric": rng.choice([["=", low], [above, low], [below, high], *both])}


# ---------------------------------------------------------------------------------------------------------------- tests


def written_anew(criterion: Criterion) -> list[Criterion]:
    """As if it had been made without a pattern. Alternatives and exclusions of some kinds have none then."""
    criterion.written = None
    try:
        return from_pattern(to_pattern([criterion]))
    except ValueError:
        if not isinstance(criterion, AnyOf | Not):
            raise
        return [criterion]


@pytest.mark.parametrize("seed", range(40))
def test_every_door_gives_the_answer_of_a_plain_reading(seed: int) -> None:
    rng = random.Random(seed)
    asked = [some_pattern(rng) for _ in range(rng.choice([1, 8, 30]))]
    events = [some_event(rng) for _ in range(8)]
    matcher: FieldMatcher[int] = FieldMatcher(max_values=10**6)
    routes: RoutingMatcher[int] = RoutingMatcher(max_values=10**6)
    anew: FieldMatcher[int] = FieldMatcher(max_values=10**6)
    known: dict[int, Any] = {}
    for number, pattern in enumerate(asked):
        try:
            criteria = from_pattern(pattern)
        except ValueError as error:
            if "is named twice" in str(error):
                continue
            raise
        assert to_pattern(criteria) == pattern
        assert to_pattern(from_pattern(json.dumps(pattern))) == pattern
        assert set(from_pattern(to_pattern(criteria))) == set(criteria)
        known[number] = pattern
        matcher.subscribe(criteria, number, qos=1)
        anew.subscribe([one for criterion in from_pattern(pattern) for one in written_anew(criterion)], number)
        routes.subscribe("t.#", criteria, number)
    matcher.check()
    again: FieldMatcher[int] = FieldMatcher(max_values=10**6)
    again.subscribe_many([(from_pattern(text), number, options) for text, number, options in pattern_rows(matcher)])
    copies = [matcher.fork(), matcher.snapshot(), again, anew, pickle.loads(pickle.dumps(matcher))]
    together = matcher.match_many(events)
    through_routes = routes.match_many([("t.a", event) for event in events])
    for event, found, found_routes in zip(events, together, through_routes, strict=True):
        wanted = [number for number, pattern in known.items() if is_wanted(pattern, event)]
        assert sorted(matcher.match_all(event)) == sorted(found) == wanted
        assert sorted(matcher.match_all(flattened(event))) == wanted
        assert sorted(matcher.match_all(json.loads(json.dumps(event)))) == wanted
        assert sorted(each.subscriber for each in matcher.deliveries(event)) == wanted
        assert sorted(routes.match("t.a", event)) == sorted(found_routes) == wanted
        assert sorted(each.subscriber for each in routes.deliveries("t", event)) == wanted
        for copy in copies:
            assert sorted(copy.match_all(event)) == wanted
        for number, pattern in known.items():
            verdict = explain(from_pattern(pattern), event).split("\n")[0]
            assert verdict == ("met" if number in wanted else "not met"), pattern
