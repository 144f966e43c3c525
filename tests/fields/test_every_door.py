"""Any patterns on any events, through every door: all of them give the answer of a plain reading of the two.

The doors are `match_all`, `match_many`, `deliveries`, routes, copies, pickles, `explain`, and what is written of a matcher
and read again. The names and values are odd ones: names with points, quotes and brackets, empty ones, numbers of any
size, halves of characters, addresses.
"""

from __future__ import annotations

import json
import math
import pickle
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

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
from tests.fields.reading import exact, is_wanted, values_of, ways_of

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
    "10.0.0.0/32", "0.0.0.0/1", "128.0.0.0/1", "::/1", "::/128", "::ffff:10.0.0.0/104", "fe80::/10", "10.0.0.1/0", "10.0.0.7/8",
]  # fmt: skip
WILDCARDS = ["*", "", "a", "a*", "*b", "*a*", "a*b", "\\*", "*\\*", "a\\\\*", "*\\\\", "*\n*", "a*a", "*1*", "*\ud800",
    "b*a*", "*.0.*", "a\\**", "a*b*a", "ab", "*\U0001f600*", "*a*b*", "*aa*", "a*a*a", "ab*ab", "*ab*ab*", "aba*aba", "*\U0001f600", "\\\\*", "\\*\\*", "*\\**", "a*\\\\",
]  # fmt: skip
SHELLS = [
    "*", "", "a*", "*b", "a\\b", "*\\", "\\*", "a*b", "*a*", "a*ab", "*aa*b", "\\\\*", "*\ude00", "ab*ab", "*a*a*",
]  # fmt: skip

# Few names and many common values, so that patterns ask for what events have.
NAMES = ["a", "b", "c", "", "a.b", "b.c", 'q"', "[0]", "\xdf", "$or ", ".", "a[0]", "\ud800"]
COMMON = [1, 2, "a", "ab"]


def some_event(rng: Random, depth: int = 0) -> dict[str, Any]:
    return {name: some_value(rng, depth) for name in rng.sample(NAMES[: rng.choice([3, 5, 13])], rng.randrange(1, 4))}


def some_value(rng: Random, depth: int) -> Any:
    kind = rng.random()
    if depth < 4 and kind < 0.25:
        return some_event(rng, depth + 1)
    if depth < 4 and kind < 0.55:
        return [some_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return some_plain(rng, [*TEXTS, *NUMBERS, *NO_JSON, None])


def some_plain(rng: Random, pool: list[Any]) -> Any:
    return rng.choice(COMMON if rng.random() < 0.5 else pool)


def some_pattern(rng: Random, depth: int = 0) -> dict[str, Any]:
    pattern: dict[str, Any] = {}
    for name in rng.sample(NAMES[: rng.choice([3, 5, 13])], rng.randrange(1, 4)):
        if depth < 3 and rng.random() < 0.4:
            pattern[name] = some_pattern(rng, depth + 1)
        else:
            pattern[name] = [some_test(rng) for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))]
    if depth < 3 and rng.random() < 0.2:
        pattern["$or"] = [some_pattern(rng, depth + 1) for _ in range(rng.randrange(1, 4))]
    return pattern


def some_test(rng: Random) -> Any:
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


def some_test_of_text(rng: Random) -> dict[str, Any]:
    kind = rng.choice(["prefix", "suffix", "equals-ignore-case", "exactly", "wildcard", "shellstyle"])
    if kind in ("wildcard", "shellstyle"):
        return {kind: rng.choice(WILDCARDS if kind == "wildcard" else SHELLS)}
    text = rng.choice(TEXTS)
    in_any_case = kind in ("prefix", "suffix") and rng.random() < 0.5
    return {kind: {"equals-ignore-case": text} if in_any_case else text}


def some_range(rng: Random) -> dict[str, Any]:
    bounds = [number for number in NUMBERS if not isinstance(number, bool)]
    low, high = sorted([rng.choice(bounds), rng.choice(bounds)], key=exact)
    above, below = rng.choice([">", ">="]), rng.choice(["<", "<="])
    if low == high:
        above, below = ">=", "<="
    both = [[above, low, below, high], [below, high, above, low]]
    return {"numeric": rng.choice([["=", low], [above, low], [below, high], *both])}


# --------------------------------------------------------------------------------------------------------------- doors


def written_anew(criterion: Criterion) -> list[Criterion]:
    """As if it had been made without a pattern. Alternatives and exclusions of some kinds have none then."""
    criterion.written = None
    try:
        return from_pattern(to_pattern([criterion]))
    except ValueError:
        if not isinstance(criterion, AnyOf | Not):
            raise
        return [criterion]


@given(seed=st.integers(0, 2**32), count=st.sampled_from([1, 8, 30]))
def test_every_door_gives_the_answer_of_a_plain_reading(seed: int, count: int) -> None:
    rng = Random(seed)
    events = [some_event(rng) for _ in range(8)]
    matcher, anew, again = (FieldMatcher[int](max_values=10**6) for _ in range(3))
    routes = RoutingMatcher[int](max_values=10**6)
    known: dict[int, Any] = {}
    matcher.hits({})
    for number in range(count):
        pattern = some_pattern(rng)
        try:
            criteria = from_pattern(pattern)
        except ValueError as error:
            assert "is named twice" in str(error)  # noqa: PT017
            continue
        assert to_pattern(criteria) == pattern
        assert to_pattern(from_pattern(json.dumps(pattern))) == pattern
        assert set(from_pattern(to_pattern(criteria))) == set(criteria)
        known[number] = pattern
        matcher.subscribe(criteria, number, qos=1)
        anew.subscribe([one for criterion in from_pattern(pattern) for one in written_anew(criterion)], number)
        routes.subscribe("t.#", criteria, number)
    matcher.check()
    again.subscribe_many([(from_pattern(text), number, options) for text, number, options in pattern_rows(matcher)])
    copies = [matcher.fork(), matcher.snapshot(), again, anew, pickle.loads(pickle.dumps(matcher))]
    many = zip(events, matcher.match_many(events), routes.match_many([("t.a", event) for event in events]), strict=True)
    for event, found, found_routes in many:
        there = list(values_of(event))
        wanted = [number for number, pattern in known.items() if is_wanted(ways_of(pattern), there)]
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
        counts = {each.subscriber: sum(is_wanted(ways_of([c]), there) for c in each.criteria) for each in matcher}
        assert {each.subscriber: count for each, count in matcher.hits(event).items()} == {
            number: count for number, count in counts.items() if count
        }
    matcher.check()
