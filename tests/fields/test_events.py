"""Events of JSON: what is nested, what lies in lists, and what of it belongs together; patterns on them, against the
plain reading of `test_every_door`."""

from __future__ import annotations

import json
import random
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
from tests.fields.test_every_door import is_wanted, some_event, some_pattern

# -------------------------------------------------------------------------------------------------------------- patterns


def some_readable(rng: random.Random) -> dict[str, Any]:
    """A pattern that names no field twice."""
    while True:
        pattern = some_pattern(rng)
        try:
            from_pattern(pattern)
            return pattern
        except ValueError as error:
            if "is named twice" not in str(error):
                raise


@pytest.mark.parametrize("seed", range(12))
def test_any_patterns_on_any_events(seed: int) -> None:
    """As many subscriptions come and go, each event is wanted by those whose patterns it meets."""
    rng = random.Random(seed)
    matcher = FieldMatcher(max_values=10**6)
    routes = RoutingMatcher(max_values=10**6)
    patterns: dict[int, dict[str, Any]] = {}
    wanted = 0
    for number in range(150):
        if patterns and rng.random() < 0.3:
            gone = rng.choice(list(patterns))
            criteria = from_pattern(patterns.pop(gone))
            assert matcher.unsubscribe(criteria, gone)
            assert routes.unsubscribe("t.*", criteria, gone)
        patterns[number] = some_readable(rng)
        assert matcher.subscribe(from_pattern(patterns[number]), number)
        assert routes.subscribe("t.*", from_pattern(patterns[number]), number)
        event = some_event(rng)
        expected = sorted(number for number, pattern in patterns.items() if is_wanted(pattern, event))
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
    matcher = FieldMatcher(max_values=10**6)
    matcher.hits({})
    for number in range(40):
        matcher.subscribe(from_pattern(some_readable(rng)), number)
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
    event: dict[str, Any] = {}
    event["a"] = event
    for ask in (flattened, FieldMatcher().match_all):
        with pytest.raises(ValueError, match=f"nested more than {MOST_NESTED:} deep; does it hold itself"):
            ask(event)


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
