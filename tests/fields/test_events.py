"""Events of JSON: what is nested, what lies in lists, and what of it belongs together; patterns on them, against a
plain reading of both."""

from __future__ import annotations

import ipaddress
import itertools
import json
import operator
import random
import re
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subtrie.fields import (
    Absent,
    AnyOf,
    Elements,
    Equals,
    FieldMatcher,
    GreaterThan,
    InNetwork,
    NotIn,
    OneOf,
    Present,
    RoutingMatcher,
    Within,
    flattened,
    from_pattern,
    to_pattern,
)
from subtrie.fields.events import MOST_LISTS, MOST_NESTED

# ------------------------------------------------------------------------------------------------------- a plain reading

Leaf = tuple[str, Any, dict[int, int]]


def leaves(event: Any, name: str = "", inside: dict[int, int] | None = None) -> Iterator[Leaf]:
    """Every value of an event with its field and, by the lists that it lies in, the element of each."""
    inside = inside or {}
    if isinstance(event, dict):
        for step, below in event.items():
            yield from leaves(below, f"{name}.{step}" if name else step, inside)
    elif isinstance(event, list):
        for i, below in enumerate(event):
            in_list = {**inside, id(event): i} if isinstance(below, list | dict) else inside
            yield from leaves(below, name, in_list)
    else:
        yield name, event, inside


def agree(chosen: tuple[dict[int, int], ...]) -> bool:
    return all(
        one[list_] == other[list_]
        for one, other in itertools.combinations(chosen, 2)
        for list_ in one.keys() & other.keys()
    )


def conjunctions(pattern: dict[str, Any], name: str = "") -> Iterator[list[tuple[str, list[Any]]]]:
    """The ways to meet a pattern, each as tests of fields that all have to hold."""
    parts: list[list[list[tuple[str, list[Any]]]]] = []
    for step, asked in pattern.items():
        here = f"{name}.{step}" if name else step
        if step == "$or":
            parts.append([way for one in asked for way in conjunctions(one, name)])
        elif isinstance(asked, dict):
            parts.append(list(conjunctions(asked, here)))
        else:
            parts.append([[(here, asked)]])
    for chosen in itertools.product(*parts):
        yield [one for way in chosen for one in way]


SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}


# Characters that are the same in any case, as Unicode's simple foldings have it.
SAME = [
    "aA", "bB", "iI", "sS\u017f", "kK\u212a", "\u00df\u1e9e", "\u03c3\u03c2\u03a3", "\u01c6\u01c5\u01c4",
    "\u1fb3\u1fbc",
]  # fmt: skip


def in_one_case(text: str) -> str:
    return "".join(next((same[0] for same in SAME if character in same), character) for character in text)


def meets_test(test: Any, value: Any) -> bool:
    """Whether a value or a test of a pattern holds of a value that is there."""
    if not isinstance(test, dict):
        return bool(test == value)
    ((kind, operand),) = test.items()
    if kind == "exists":
        return bool(operand)
    if kind == "anything-but" and not isinstance(operand, dict):
        return value not in (operand if isinstance(operand, list) else [operand])
    if kind == "anything-but":
        ((inner, texts),) = operand.items()
        return not any(meets_test({inner: text}, value) for text in (texts if isinstance(texts, list) else [texts]))
    if kind == "exactly":
        return bool(value == operand)
    if kind == "numeric":
        if isinstance(value, str) or value is None:
            return False
        return all(SIGNS[sign](value, bound) for sign, bound in zip(operand[::2], operand[1::2], strict=True))
    if not isinstance(value, str):
        return False
    if isinstance(operand, dict):
        return meets_test({kind: in_one_case(operand["equals-ignore-case"])}, in_one_case(value))
    match kind:
        case "prefix":
            return bool(value[: len(operand)] == operand)
        case "suffix":
            return bool(value[max(0, len(value) - len(operand)) :] == operand)
        case "equals-ignore-case":
            return in_one_case(value) == in_one_case(operand)
        case "wildcard":
            parts = re.findall(r"\\.|.", operand, re.DOTALL)
            return bool(
                re.fullmatch("".join(".*" if part == "*" else re.escape(part[-1]) for part in parts), value, re.S)
            )
        case "shellstyle":
            return bool(re.fullmatch(".*".join(map(re.escape, operand.split("*"))), value, re.S))
    try:
        return ipaddress.ip_address(value) in ipaddress.ip_network(operand)
    except ValueError:
        return False


def wants(pattern: dict[str, Any], event: dict[str, Any]) -> bool:
    """Whether an event meets a pattern: some values, one for each test, fulfil all tests of one way and agree in the
    lists that they share. A field is absent if none of its values agrees with these."""
    there = list(leaves(event))
    for way in conjunctions(pattern):
        choices: list[list[dict[int, int] | str]] = []
        for name, asked in way:
            choices.append(
                [inside for field, value, inside in there if field == name and any(meets_test(t, value) for t in asked)]
            )
            if {"exists": False} in asked:
                choices[-1].append(name)
        for chosen in itertools.product(*choices):
            values = tuple([one for one in chosen if not isinstance(one, str)])
            if agree(values) and not any(field in chosen and agree((*values, at)) for field, _, at in there):
                return True
    return False


TEXTS = [
    "a", "b", "ab", "ba", "AB", "aab", "", "a*b", "a\\b", "*", "k", "\u212a", "\u017fa", "Sa", "\u00df", "\u1e9e",
    "ss",
]  # fmt: skip
TEXTS += [
    "\u03c3", "\u03c2", "\u03a3a", "\u01c5", "\u01c6", "\u0130", "\u0131", "i", "I", "\u1fb3", "\u1fbc",
    "\U0001f600a", "a\nb",
]  # fmt: skip
ADDRESSES = [
    "10.0.0.1", "10.9.0.1", "10.0.0.255", "255.255.255.255", "::1", "::ffff:10.0.0.1", "2001:DB8::1", "10.0.0.01",
]  # fmt: skip
NETWORKS = ["10.0.0.0/16", "10.0.0.0/8", "::/64", "0.0.0.0/0", "10.0.0.1", "10.0.0.0/31", "2001:db8::/33", "::/0"]
NUMBERS = [0, 1, 2, 2.5, 3, -0.0, -1, -2.5, 1e-7, 2**53, 2**53 + 1, 2.0**53, -(2**64), 10**30, 1e30, 5e-324, 1e300, 0.1]
WILDCARDS = [
    "*", "a*", "*b", "*a*", "a*b", "b*a*", "*.0.*", "ab", "", "a\\\\b", "a\\**", "*\\*", "\\*", "a*b*a", "*\n*",
    "*\U0001f600*",
]  # fmt: skip
VALUES = [*TEXTS, *ADDRESSES, *NUMBERS, *[None] * 4]


def some_event(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    return {name: some_value(rng, depth) for name in ("x", "y", "z", "x.y") if rng.random() < 0.6}


def some_value(rng: random.Random, depth: int) -> Any:
    kind = rng.random()
    if depth > 2 or kind < 0.5:
        return rng.choice(VALUES[:8] if rng.random() < 0.5 else VALUES)
    if kind < 0.7:
        return some_event(rng, depth + 1)
    return [some_value(rng, depth + 1) for _ in range(rng.randrange(4))]


def some_pattern(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    pattern: dict[str, Any] = {}
    for name in rng.sample("xyz", rng.randint(1, 2)):
        pattern[name] = some_pattern(rng, depth + 1) if depth < 2 and rng.random() < 0.4 else some_tests(rng)
    if rng.random() < 0.15:
        pattern["$or"] = [some_pattern(rng, depth + 1) for _ in range(2)]
    return pattern


def some_tests(rng: random.Random) -> list[Any]:
    pool = VALUES[:8] if rng.random() < 0.5 else VALUES
    values: list[Any] = rng.sample(pool, rng.randrange(3))
    tests = [some_test(rng) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
    return values + tests or [rng.choice(VALUES)]


def some_test(rng: random.Random) -> dict[str, Any]:
    text, number, other = rng.choice(TEXTS), rng.choice(NUMBERS), rng.choice(NUMBERS)
    both = rng.choice([text, {"equals-ignore-case": text}])
    plain = text.replace("*", "")
    kinds: list[dict[str, Any]] = [
        {"exists": rng.random() < 0.5},
        {"prefix": both},
        {"suffix": both},
        {"equals-ignore-case": text},
        {"exactly": text},
        {"wildcard": rng.choice(WILDCARDS)},
        {"shellstyle": rng.choice(["*" + plain, plain + "*", "a\\*", plain])},
        {"cidr": rng.choice(NETWORKS)},
        {"anything-but": rng.choice([text, [text, number], number, [None]])},
        {"anything-but": {rng.choice(["prefix", "suffix"]): rng.choice([text, both, [text, "b"], ["b", both]])}},
        {"anything-but": {"equals-ignore-case": rng.choice([text, [text, "b"]])}},
        {"anything-but": {"wildcard": rng.choice([rng.choice(WILDCARDS), ["*b", "a"]])}},
        {"numeric": [rng.choice(["=", ">", ">=", "<", "<="]), number]},
        {"numeric": rng.choice([[">=", min(number, other), "<=", max(number, other)], ["<", 3, ">", -1]])},
    ]
    return rng.choice(kinds)


# -------------------------------------------------------------------------------------------------------------- patterns


@pytest.mark.parametrize("seed", range(12))
def test_any_patterns_on_any_events(seed: int) -> None:
    """As many subscriptions come and go, each event is wanted by those whose patterns it meets."""
    rng = random.Random(seed)
    matcher = FieldMatcher()
    routes = RoutingMatcher()
    patterns: dict[int, dict[str, Any]] = {}
    wanted = 0
    for number in range(150):
        if patterns and rng.random() < 0.3:
            gone = rng.choice(list(patterns))
            criteria = from_pattern(patterns.pop(gone))
            assert matcher.unsubscribe(criteria, gone)
            assert routes.unsubscribe("t.*", criteria, gone)
        patterns[number] = some_pattern(rng)
        assert matcher.subscribe(from_pattern(patterns[number]), number)
        assert routes.subscribe("t.*", from_pattern(patterns[number]), number)
        event = some_event(rng)
        expected = sorted(number for number, pattern in patterns.items() if wants(pattern, event))
        wanted += len(expected)
        assert sorted(matcher.match_all(flattened(event))) == expected, event
        assert sorted(matcher.match_all(event)) == expected, event
        assert sorted(d.subscriber for d in matcher.deliveries(event)) == expected
        assert sorted(routes.match("t.a", event)) == expected
    assert wanted > 100
    matcher.check()
    routes.check()
    for number, pattern in patterns.items():
        assert matcher.unsubscribe(from_pattern(json.dumps(pattern)), number)
    assert not matcher
    matcher.check()


@pytest.mark.parametrize("seed", range(4))
def test_hits_on_any_events(seed: int) -> None:
    """Each criterion is counted by itself, so what belongs together does not matter."""
    rng = random.Random(seed)
    matcher = FieldMatcher()
    matcher.hits({})
    for number in range(40):
        matcher.subscribe(from_pattern(some_pattern(rng)), number)
    for _ in range(40):
        event = flattened(some_event(rng))
        counted = {s.subscriber: sum(c.met_by(event) for c in s.criteria) for s in matcher}
        assert {s.subscriber: count for s, count in matcher.hits(event).items()} == {
            number: count for number, count in counted.items() if count
        }
    matcher.check()


json_values = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text("aB*.", max_size=3)
texts = st.text("aB.", max_size=3)
any_case = texts | st.builds(lambda text: {"equals-ignore-case": text}, texts)
numeric = st.builds(
    lambda sign, number: [sign, number], st.sampled_from(["<", "<=", "=", ">", ">="]), st.integers(-3, 3)
)
of_texts = st.sampled_from(["prefix", "suffix", "equals-ignore-case", "wildcard"])
json_tests = st.one_of(
    st.builds(lambda kind, operand: {kind: operand}, st.sampled_from(["prefix", "suffix"]), any_case),
    st.builds(lambda kind, operand: {kind: operand}, st.sampled_from(["equals-ignore-case", "exactly"]), texts),
    st.builds(lambda truth: {"exists": truth}, st.booleans()),
    st.builds(lambda values: {"anything-but": values}, json_values | st.lists(json_values, min_size=1, max_size=3)),
    st.builds(lambda kind, text: {"anything-but": {kind: text}}, of_texts, texts | st.lists(texts, min_size=1)),
    st.builds(lambda parts: {"wildcard": "*".join(parts)}, st.lists(st.text("ab", min_size=1), min_size=1)),
    st.builds(lambda parts: {"shellstyle": "*".join(parts)}, st.lists(st.text("ab\\", min_size=1), min_size=1)),
    st.builds(lambda test: {"numeric": test}, numeric),
    st.just({"numeric": [">", 1, "<=", 5]}),
    st.just({"numeric": ["<=", 5, ">", 1]}),
    st.just({"cidr": "10.0.0.0/8"}),
)
json_leaves = st.lists(json_values | json_tests, max_size=4)
field_names = st.text("abc.$", max_size=3).filter(lambda name: name != "$or")
json_patterns = st.recursive(
    st.dictionaries(field_names, json_leaves, min_size=1, max_size=3),
    lambda below: st.one_of(
        st.dictionaries(field_names, below | json_leaves, min_size=1, max_size=3),
        st.builds(lambda one, ways: {**one, "$or": ways}, below, st.lists(below, min_size=1, max_size=3)),
    ),
    max_leaves=8,
)


@settings(max_examples=3 * settings().max_examples)
@given(json_patterns)
def test_what_a_pattern_says_is_what_is_written_of_it(pattern: dict[str, Any]) -> None:
    try:
        criteria = from_pattern(pattern)
    except ValueError:
        hypothesis.event("refused")  # a field is named twice, two * stand side by side, or a backslash has no meaning
        return
    assert to_pattern(criteria) == pattern
    assert to_pattern(from_pattern(json.dumps(pattern))) == pattern


@settings(max_examples=3 * settings().max_examples)
@given(json_patterns)
def test_criteria_that_are_written_anew_ask_the_same(pattern: dict[str, Any]) -> None:
    """Without what they remember of the pattern that they were read from."""
    try:
        criteria = from_pattern(pattern)
        for criterion in criteria:
            criterion.written = None
        again = from_pattern(to_pattern(criteria))
    except ValueError:
        return  # a field twice, or two $or at places that criteria do not know
    rng = random.Random(repr(pattern))
    for _ in range(10):
        names = {criterion.name for criterion in criteria if criterion.name is not None}
        message = {name: rng.choice(["a", "aB", "b.", 1, -1, 2.0, None, True]) for name in names if rng.random() < 0.7}
        assert all(c.met_by(message) for c in criteria) == all(c.met_by(message) for c in again)


# ---------------------------------------------------------------------------------------------------------------- events


def test_an_event_of_lists_and_objects() -> None:
    event = {"a": {"b": 1, "c": {"d": [1, 2]}}, "e": {}, "f": [], "g": [{"h": 1}, {"h": 2, "i": [3]}, 4], "j": None}
    flat = flattened(event)
    assert flat == {"a.b": 1, "a.c.d": (1, 2), "g.h": (1, 2), "g.i": (3,), "g": (4,), "j": None}
    assert {name for name, value in flat.items() if isinstance(value, Elements)} == {"a.c.d", "g.h", "g.i", "g"}


def test_names_keep_their_points() -> None:
    assert flattened({"": {"a": 1}, ".b": 2, "c.": {"": 3}}) == {".a": 1, ".b": 2, "c..": 3}
    assert flattened({"a.b": 1, "a": {"b": 2}}) == {"a.b": (1, 2)}
    matcher = FieldMatcher()
    matcher.subscribe(from_pattern({"": {"a": [1]}}), "ann")
    assert matcher.match_all({"": {"a": 1}}) == ("ann",)
    assert matcher.match_all({"a": 1}) == ()


def test_a_list_of_objects_in_a_field_that_nobody_asks_for() -> None:
    matcher = FieldMatcher()
    matcher.subscribe([Equals("source", "shop")], "ann")
    rests: list[Any] = [[{"arn": "x"}], [["a"]], [[]], [{}], [[{"a": [1]}], 2], {"deep": [{"er": [[1]]}]}]
    for rest in rests:
        for event in ({"source": "shop", "rest": rest}, {"rest": rest, "source": "shop"}):
            assert matcher.match_all(event) == matcher.match_all(flattened(event)) == ("ann",)
            assert matcher.match_any(event) == ("ann",)


def test_a_field_is_absent_where_the_other_criteria_are_met() -> None:
    both = [Equals("d.a", 1), Absent("d.b")]
    matcher = FieldMatcher()
    matcher.subscribe(both, "both")
    matcher.subscribe([Absent("d.b")], "alone")
    matcher.subscribe([AnyOf(Absent("d.b"), Equals("d.b", 3)), Equals("d.a", 1)], "any")
    matcher.subscribe([AnyOf(Absent("d.b"), Equals("d.b", 3))], "any alone")
    for i in range(100):  # a crowded place
        matcher.subscribe([Equals("d.a", 7), Absent("d.b")], i)

    def who(event: Any) -> set[Any]:
        flat = flattened(event)
        assert matcher.hits(flat) == {s: n for s in matcher if (n := sum(c.met_by(flat) for c in s.criteria))}
        return set(matcher.match_all(event))

    assert who({"d": [{"a": 1}, {"b": 2}]}) == {"both", "any"}
    assert who({"d": [{"a": 1, "b": 2}, {"a": 2}]}) == set()
    assert who({"d": [{"a": 1, "b": 3}, {"a": 2}]}) == {"any", "any alone"}
    assert who({"d": [{"a": 1, "b": [{"c": 1}]}, {"b": 2}, {"a": 1, "b": 1}]}) == {"both", "any"}
    assert who({"d": [{"a": 1}], "d.b": 4}) == set()
    assert who({"d": [{"a": 7}, {"b": 4}]}) == set(range(100))
    assert who({"d": [{"a": 7}, {"a": 8}]}) == {*range(100), "alone", "any alone"}
    assert set(matcher.match_all(flattened({"d": [{"a": 1}, {"b": 2}]}, together=False))) == set()
    matcher.check()


def test_what_belongs_to_one_object_is_met_together() -> None:
    matcher = FieldMatcher()
    matcher.subscribe([Equals("items.id", 2), GreaterThan("items.n", 1)], "ann")
    event = {"items": [{"id": 1, "n": 3}, {"id": 2}]}
    assert matcher.match_all(flattened(event)) == matcher.match_all(event) == ()
    assert matcher.match_all(flattened(event, together=False)) == ("ann",)
    event["items"][1]["n"] = 2
    assert matcher.match_all(flattened(event)) == ("ann",)


def test_alternatives_are_met_together_with_the_rest() -> None:
    matcher = FieldMatcher()
    matcher.subscribe([Equals("l.a", 1), AnyOf(Equals("l.b", 1), [Equals("l.c", 1), Absent("d")])], "ann")
    assert matcher.match_all({"l": [{"a": 1}, {"b": 1}]}) == ()
    assert matcher.match_all({"l": [{"a": 1, "c": 1}, {"b": 1}]}) == ("ann",)
    assert matcher.match_all({"l": [{"a": 1, "c": 1}, {"b": 1}], "d": 1}) == ()


def test_an_alternative_without_values_hides_no_other_one() -> None:
    """It costs nothing to look for, whatever the order in which criteria are looked at: 20 names make both orders."""
    matcher = FieldMatcher()
    for name in map(str, range(20)):
        matcher.subscribe(
            [Within(name, 0), AnyOf(OneOf("none", []), AnyOf(InNetwork(name, "::"), Present(name)))], name
        )
    matcher.check()
    assert [matcher.match_all({str(i): 1}) for i in range(20)] == [(str(i),) for i in range(20)]


def test_a_field_is_absent_beside_one_of_several_values() -> None:
    """A value in a deeper list may be met where one in the list itself is not."""
    matcher = FieldMatcher()
    matcher.subscribe([Present("z"), Absent("z.y")], "ann")
    matcher.subscribe([Present("z"), Absent("z.y"), Equals("z.x", 1)], "bob")
    for event, wanted in (
        ({"z": ["a", {"y": 1}]}, set()),
        ({"z": ["a", [[2, {"x": 1}], {"y": 1}]]}, {"ann", "bob"}),
        ({"z": ["a", [[2], {"y": 1}, {"x": 1}]]}, {"ann", "bob"}),
        ({"z": ["a", [[2, {"x": 1}], {"y": 1}], {"y": 2}]}, {"ann", "bob"}),
        ({"z": ["a", ["b", {"y": 1}, {"x": 1}]]}, {"bob"}),
    ):
        assert set(matcher.match_all(event)) == wanted, event


def test_a_subscription_that_several_values_meet_is_found_once() -> None:
    matcher = FieldMatcher()
    matcher.subscribe([OneOf("a", [1, 2])], "ann")
    matcher.subscribe([Within("a", 0, 9)], "bob")
    matcher.subscribe([NotIn("a", [7])], "cy")
    matcher.subscribe([Present("a")], "dan")
    assert sorted(d.subscriber for d in matcher.deliveries({"a": [1, 2, 3]})) == ["ann", "bob", "cy", "dan"]


def test_lists_in_lists_beyond_any_depth() -> None:
    inner: Any = [{"b": 1, "c": 2}, {"b": 1, "c": 1}]
    for _ in range(MOST_LISTS + 100):
        inner = [inner, []]
    matcher = FieldMatcher()
    matcher.subscribe([Equals("a.b", 1), Equals("a.c", 1)], "ann")
    assert matcher.match_all({"a": inner}) == ("ann",)


def test_an_event_that_holds_itself_is_refused() -> None:
    event: dict[str, Any] = {"a": []}
    event["a"].append(event["a"])
    matcher = FieldMatcher()
    assert matcher.match_all(event) == ()  # nobody asks for what is there
    matcher.subscribe([Equals("a", 1)], "ann")
    for ask in (flattened, matcher.match_all):
        with pytest.raises(ValueError, match=f"nested more than {MOST_NESTED:} deep; does it hold itself"):
            ask(event)
    event["a"] = event
    assert matcher.match_all(event) == ()  # it is an object, and nobody asks for what is below
    with pytest.raises(ValueError, match=f"nested more than {MOST_NESTED:} deep; does it hold itself"):
        flattened(event)


def test_many_lists_side_by_side_are_no_product() -> None:
    """What does not fit in one of many lists is found out there, whatever the others have."""
    event = {f"l{i}": [{"a": n, "b": -n} for n in range(1, 20)] for i in range(30)}
    matcher = FieldMatcher()
    plain = [Within(f"l{i}.{name}", low, high) for i in range(20) for name, low, high in (("a", 1, 19), ("b", -19, -1))]
    matcher.subscribe([*plain, Within("l29.a", 1, 3), Within("l29.b", -9, -7)], "ann")
    matcher.subscribe([*plain, Present("l29.a")], "bob")
    assert matcher.match_all(event) == ("bob",)


def test_the_ways_of_a_subscription_are_limited() -> None:
    matcher = FieldMatcher(max_values=16)
    fits = [AnyOf(Equals(f"a{i}", 1), Equals(f"b{i}", 1)) for i in range(4)]
    assert matcher.subscribe(fits, "ann")
    with pytest.raises(ValueError, match="the alternatives of a subscription make up to 16 ways, not 32"):
        matcher.subscribe([*fits, AnyOf(Equals("a", 1), Equals("b", 1))], "ann")
    with pytest.raises(ValueError, match="name up to 16 values, not 17"):
        matcher.subscribe([AnyOf(OneOf("a", range(17)), Equals("b", 1))], "ann")
