"""JSON patterns of event routers: read, written, and refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie import MQTT, NATS
from subtrie.fields import (
    Absent,
    AnyOf,
    AtLeast,
    Criterion,
    Equals,
    EqualsIgnoringCase,
    FieldMatcher,
    GreaterThan,
    InNetwork,
    LessThan,
    Not,
    NotIn,
    OneOf,
    Prefix,
    Present,
    RoutingMatcher,
    Suffix,
    Wildcard,
    Within,
    explain,
    from_pattern,
    pattern_rows,
    to_pattern,
)

pytestmark = pytest.mark.once

TRANSLATED: list[tuple[dict[str, Any], list[Criterion]]] = [
    ({"f": ["a"]}, [Equals("f", "a")]),
    ({"f": [1, "a", None, True]}, [OneOf("f", [1, "a", None, True])]),
    ({"f": []}, [OneOf("f", [])]),
    ({"f": [{"exists": True}]}, [Present("f")]),
    ({"f": [{"exists": False}]}, [Absent("f")]),
    ({"f": [{"prefix": "eu-"}]}, [Prefix("f", "eu-")]),
    ({"f": [{"anything-but": ["a", 1]}]}, [NotIn("f", ["a", 1])]),
    ({"f": [{"numeric": [">", 0, "<=", 5]}]}, [Within("f", 0, 5, low_open=True)]),
    ({"f": [{"numeric": [">=", 1.5]}]}, [AtLeast("f", 1.5)]),
    ({"f": [{"numeric": ["<", 3]}]}, [LessThan("f", 3)]),
    ({"f": [{"suffix": ".png"}]}, [Suffix("f", ".png")]),
    ({"f": [{"equals-ignore-case": "Ab"}]}, [EqualsIgnoringCase("f", "Ab")]),
    ({"f": [{"prefix": {"equals-ignore-case": "Ab"}}]}, [Prefix("f", "Ab", ignore_case=True)]),
    ({"f": [{"suffix": {"equals-ignore-case": "Ab"}}]}, [Suffix("f", "Ab", ignore_case=True)]),
    ({"f": [{"wildcard": "a*\\*b"}]}, [Wildcard("f", "a*\\*b")]),
    ({"f": [{"cidr": "10.0.0.0/8"}]}, [InNetwork("f", "10.0.0.0/8")]),
    ({"f": [{"anything-but": {"prefix": "a"}}]}, [Not(Prefix("f", "a"))]),
    ({"f": [{"anything-but": {"suffix": ["a", "b"]}}]}, [Not(AnyOf(Suffix("f", "a"), Suffix("f", "b")))]),
    ({"f": [{"anything-but": {"equals-ignore-case": "A"}}]}, [Not(EqualsIgnoringCase("f", "A"))]),
    ({"f": [{"anything-but": {"wildcard": ["a*", "b*"]}}]}, [Not(AnyOf(Wildcard("f", "a*"), Wildcard("f", "b*")))]),
    ({"f": ["a", 1, {"prefix": "b"}, {"exists": False}]}, [AnyOf(OneOf("f", ["a", 1]), Prefix("f", "b"), Absent("f"))]),
    (
        {"$or": [{"f": ["a"], "g": [1]}, {"h": [{"exists": True}]}], "i": [2]},
        [AnyOf([Equals("f", "a"), Equals("g", 1)], Present("h")), Equals("i", 2)],
    ),
    ({"$or": [{"a": {"b": ["x"]}}, {"c": ["y"]}]}, [AnyOf(Equals("a.b", "x"), Equals("c", "y"))]),
    ({"$or": ["a", "b"]}, [OneOf("$or", ["a", "b"])]),
    ({"": {"a": ["x"]}, ".b": ["y"]}, [Equals(".a", "x"), Equals(".b", "y")]),
    ({"a": {"b": {"c": ["x"]}, "d": ["y"]}, "e": [1]}, [Equals("a.b.c", "x"), Equals("a.d", "y"), Equals("e", 1)]),
]


@pytest.mark.parametrize(("pattern", "criteria"), TRANSLATED)
def test_translation_both_ways(pattern: dict[str, Any], criteria: list[Criterion]) -> None:
    assert set(from_pattern(pattern)) == set(from_pattern(json.dumps(pattern))) == set(criteria)
    assert set(from_pattern(json.dumps(to_pattern(criteria)))) == set(criteria)


@pytest.mark.parametrize(
    ("pattern", "criteria"),
    [
        ({"f": [{"anything-but": "a"}]}, [NotIn("f", ["a"])]),
        ({"f": [{"numeric": ["=", 3]}]}, [Equals("f", 3)]),
        ({"f": [{"numeric": ["<=", 5, ">", 0]}]}, [Within("f", 0, 5, low_open=True)]),
        ({"f": [{"exactly": "a"}]}, [Equals("f", "a")]),
        ({"f": [{"shellstyle": "a*\\b"}]}, [Wildcard("f", "a*\\\\b")]),
        ({"$or": [{"f": ["a"]}, {"f": [{"prefix": "b"}]}]}, [AnyOf(Equals("f", "a"), Prefix("f", "b"))]),
    ],
)
def test_other_ways_to_write_it(pattern: dict[str, Any], criteria: list[Criterion]) -> None:
    assert from_pattern(pattern) == criteria


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ({"a": {"f": [{"regexp": "x"}]}}, "field 'a.f': criteria cannot express the test 'regexp'"),
        ({"a": {"f": ["x", {"near": "x"}]}}, "field 'a.f': criteria cannot express the test 'near'"),
        ({"$or": [{"regexp": "a"}, {"g": ["b"]}]}, r"field '\$or': criteria cannot express the test 'regexp'"),
        ({"f": [{"prefix": "a", "exists": True}]}, "field 'f': a test has one name, not 2"),
        ({"f": [{"anything-but": {"cidr": "::/0"}}]}, "criteria cannot express the test 'anything-but' with"),
        ({"f": [{"anything-but": {"prefix": []}}]}, "criteria cannot express the test 'anything-but' with"),
        ({"f": [{"anything-but": {"prefix": ["a", 1]}}]}, "criteria cannot express the test 'anything-but' with"),
        ({"f": [{"anything-but": []}]}, "field 'f', test 'anything-but': it names nothing"),
        ({"f": [{"anything-but": [["a"]]}]}, "is not a text, number, boolean or null"),
        ({"f": [{"prefix": {"suffix": "a"}}]}, "criteria cannot express the test 'prefix' with"),
        ({"f": [{"suffix": {"equals-ignore-case": 1}}]}, "criteria cannot express the test 'suffix' with"),
        ({"f": [{"cidr": "fe80::1%eth0/64"}]}, "field 'f', test 'cidr': 'fe80::1%eth0/64' is a network with a zone"),
        ({"f": [{"cidr": "10.0.0.0/255.0.255.0"}]}, "field 'f', test 'cidr'"),
        ({"f": [{"wildcard": "a**b"}]}, r"field 'f', test 'wildcard': the wildcard pattern 'a\*\*b' has two"),
        ({"f": [{"wildcard": "a\\b"}]}, "a backslash stands before 'b'"),
        ({"f": [{"wildcard": "a\\"}]}, "ends with a backslash"),
        ({"f": [{"shellstyle": "a**b"}]}, "two . side by side"),
        ({"f": [{"cidr": "10.0.0.0/33"}]}, "field 'f', test 'cidr': '10.0.0.0/33' is no network of IP version 4 or 6"),
        ({"a.b": ["x"], "a": {"b": ["y"]}}, "field 'a.b' is named twice"),
        ({"f": [{"numeric": [[], 1]}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": [{}, 1]}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": [">", True]}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": [">", 1, "<", 3, "<", 2]}]}, "is not a list of a sign and a number"),
        ({"f": [float("nan")]}, "field 'f': nan is no number of JSON, or it is too large"),
        ({"f": [{}]}, "field 'f': a test has one name, not 0"),
        ({"f": [float("inf")]}, "field 'f': inf is no number of JSON, or it is too large"),
        ({"f": [{"anything-but": [float("inf")]}]}, "field 'f', test 'anything-but': inf is no number of JSON"),
        ({"f": [{"numeric": [">", float("-inf")]}]}, "field 'f', test 'numeric': -inf is no number of JSON"),
        ({"$or": []}, r"field '\$or': give a list of patterns, not \[\]"),
        ({"f": {"$or": {"g": [1]}}}, r"field 'f.\$or': give a list of patterns, not {"),
        ({"$or": [{}]}, "the pattern is empty"),
        ({"f": [{"exists": "yes"}]}, "criteria cannot express the test 'exists' with 'yes'"),
        ({"f": [{"numeric": [">", "a"]}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": [">"]}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": []}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": ["~", 1]}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": [">", 1, ">=", 2]}]}, "has two bounds for one end"),
        ({"f": [{"numeric": ["=", 1, "<", 2]}]}, "has two bounds for one end"),
        ({"f": [{"numeric": [">", 2, "<", 1]}]}, "nothing lies within 2 and 1"),
        ({"f": [["a"]]}, "is not a text, number, boolean or null"),
        ({"f": "a"}, "field 'f': give a list of values and tests, not 'a'"),
        ({"f": {}}, "field 'f': an empty object asks for nothing"),
        ({}, "the pattern is empty"),
    ],
)
def test_what_criteria_cannot_express_is_refused_by_name(pattern: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_pattern(pattern)


def in_objects(depth: int) -> Any:
    """A pattern of a field whose path has so many names."""
    pattern: Any = ["x"]
    for _ in range(depth):
        pattern = {"a": pattern}
    return pattern


def in_alternatives(depth: int) -> Any:
    pattern: Any = {"a": ["x"]}
    for i in range(depth):
        pattern = {"$or": [pattern, {f"b{i}": [1]}]}
    return pattern


def test_patterns_nested_deep_are_read_and_those_deeper_are_refused() -> None:
    (criterion,) = from_pattern(in_objects(1_000))
    assert criterion == Equals(".".join("a" * 1_000), "x")
    with pytest.raises(ValueError, match=r"field 'a\.a.*\.a': nested more than 1,000 deep"):
        from_pattern(in_objects(1_001))
    matcher = FieldMatcher()
    pattern = in_alternatives(90)
    matcher.subscribe(from_pattern(pattern), "ann")
    assert matcher.match_all({"a": "x"}) == matcher.match_all({"b3": 1}) == ("ann",)
    assert to_pattern(from_pattern(pattern)) == pattern
    for depth in (100, 1_000, 100_000):
        with pytest.raises(ValueError, match=r"field '\$or': \$or is nested 100 deep or more"):
            from_pattern(in_alternatives(depth))
    for depth in (2_000, 1_000_000):
        with pytest.raises(ValueError, match="nested"):
            from_pattern('{"a":' * depth + '["x"]' + "}" * depth)
        with pytest.raises(ValueError, match=r"nested|is not a text, number"):
            from_pattern('{"a":[' + "[" * depth + "]" * depth + "]}")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ({"a": [{"prefx": "x"}]}, "field 'a': criteria cannot express the test 'prefx'; did you mean 'prefix'"),
        ({"a": [{"anything_but": "x"}]}, "did you mean 'anything-but'"),
        (
            {"$and": [{"a": [1]}]},
            "the only name with a meaning of its own is .or, and fields side by side all have to hold",
        ),
        ({"a": [{"regexp": "x"}]}, "criteria cannot express the test 'regexp'$"),
    ],
)
def test_who_misspells_a_test_is_told_what_may_be_meant(pattern: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_pattern(pattern)


def test_criteria_in_criteria_have_an_end() -> None:
    for make in (Not, lambda inner: AnyOf(inner, Equals("b", 1)), lambda inner: AnyOf((inner, Equals("a", 1)))):
        criterion: Criterion = Equals("a", 1)
        for _ in range(100):
            criterion = make(criterion)
        assert hash(criterion) == hash(criterion)
        matcher = FieldMatcher()
        matcher.subscribe([criterion], "ann")
        assert matcher.match_all({"a": 1}) == ("ann",)
        with pytest.raises(ValueError, match="criteria are nested up to 100 deep"):
            make(criterion)


@pytest.mark.parametrize(
    "pattern",
    [
        {"f" * 100_000: []},
        {"f": ["x" * 100_000, {"wildcard": "x" * 100_000 + "**"}]},
        {"f": [{"x" * 100_000: 1}]},
        {"f": [[["x" * 1_000] * 1_000] * 1_000]},
        {"f": "x" * 100_000},
        {"f": [{"cidr": "x" * 100_000}]},
        {"f": [{"prefix": ["x" * 1_000] * 1_000}]},
        {"f": [{"numeric": ["<", 1, "x" * 100_000]}]},
        {"f": [{"anything-but": {"prefix": {"x" * 100_000: 1}}}]},
        {"f": [10**10_000]},
        {"f": [{"numeric": ["<", 10**10_000]}]},
    ],
)
def test_errors_of_patterns_are_short(pattern: dict[str, Any]) -> None:
    if "f" not in pattern:
        pattern = {next(iter(pattern)): "no list"}
    with pytest.raises(ValueError, match="field 'f") as caught:
        from_pattern(pattern)
    assert len(str(caught.value)) < 500


def test_errors_of_criteria_are_short() -> None:
    long = "x" * 100_000
    pattern: Any = {long: [1]}
    refused: list[Callable[[], object]] = [
        lambda: Within("f", long, "a"),
        lambda: Wildcard("f", long + "**"),
        lambda: OneOf("f", long),
        lambda: to_pattern([Equals("f", (long,))]),
        lambda: FieldMatcher().subscribe(pattern, 1),
        lambda: FieldMatcher().subscribe_many([long]),  # type: ignore[list-item]
    ]
    for make in refused:
        with pytest.raises((ValueError, TypeError)) as caught:
            make()
        assert len(str(caught.value)) < 500


def test_numbers_too_long_to_be_written() -> None:
    assert from_pattern('{"f": [' + "9" * 4_000 + "]}") == [Equals("f", 10**4_000 - 1)]
    with pytest.raises(ValueError, match="field 'f': inf is no number of JSON, or it is too large"):
        from_pattern('{"f": [' + "9" * 4_001 + "]}")
    with pytest.raises(ValueError, match="field 'f', test 'numeric': inf is"):
        from_pattern('{"f": [{"numeric": ["<", 1' + "0" * 1_000_000 + "]}]}")


def test_names_that_are_no_texts() -> None:
    with pytest.raises(TypeError, match="the names in a pattern are texts, not 1"):
        from_pattern({1: ["a"]})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="the names in a pattern are texts, not None"):
        from_pattern({"a": [{None: "a"}]})


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"source": [{"prefix": "EC2"}], "source": [{"anything-but": ["EC2Test"]}]}', "source"),
        ('{"detail": {"x": {"y": ["a"], "y": ["a"]}}}', "detail.x.y"),
        ('{"$or": [{"f": [1], "f": [2]}, {"g": [1]}]}', "f"),
        ('{"a": {"$or": [{"f": [1]}], "$or": [{"g": [1]}]}}', r"a.\$or"),
        ('{"a": [1], "a": {"b": [2]}}', "a"),
        ('{"a": {"b": [2]}, "a": [1]}', "a"),
        ('{"a": {"b": [1]}, "a": {"c": [2]}}', "a"),
        ('{"e": {"a": {"c": {"d": [2]}}, "a": [1]}}', "e.a"),
        ('{"$or": [{"f": [1], "f": {"g": [2]}}, {"h": [1]}]}', "f"),
        ('{"a": {"$or": [{"f": {"g": [1]}, "f": {"h": [2]}}]}}', "a.f"),
        ('{"a": [3], "a": {"$or": [{"b": [1]}, {"c": [1]}]}}', "a"),
        ('{"$or": [{"a": [1]}], "$or": {"b": [1]}}', r"\$or"),
        ('{"a": {"b": [1]}, "a.b": [2]}', "a.b"),
        ('{"$or": [{"a": {"b": [1]}, "a.b": [2]}]}', "a.b"),
    ],
)
def test_a_field_that_is_named_twice_is_refused(text: str, field: str) -> None:
    with pytest.raises(ValueError, match=f"field '{field}' is named twice"):
        from_pattern(text)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ('{"prefix": "x", "prefix": "y"}', "field 'f': a test has one name, not 2: 'prefix', 'prefix'"),
        ('{"exists": true, "exists": false}', "field 'f': a test has one name, not 2: 'exists', 'exists'"),
        ('{"a": 1, "b": 2, "c": 3, "d": 4}', "field 'f': a test has one name, not 4: 'a', 'b', 'c'$"),
        ('{"suffix": {"equals-ignore-case": "x", "equals-ignore-case": "y"}}', "'equals-ignore-case' is named twice"),
        ('{"anything-but": {"prefix": "x", "prefix": "y"}}', "field 'f', test 'anything-but': 'prefix' is named twice"),
        (
            '{"anything-but": {"prefix": {"equals-ignore-case": "x", "equals-ignore-case": "y"}}}',
            "field 'f', test 'anything-but': 'equals-ignore-case' is named twice",
        ),
    ],
)
def test_a_test_that_is_named_twice_is_refused_by_name(test: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_pattern(f'{{"f": [{test}]}}')


@pytest.mark.parametrize(
    "pattern",
    [
        {"a": [1], "a.b": [2]},
        {"a.b": [2], "a": [1]},
        {"a": [1], "a.b": [2], "$or": [{"a": [1], "a.b": [2]}]},
        {"$or": [{"a": [1], "a.b": [2]}, {"a": {"b": [2]}, "a.b.c": [3]}]},
    ],
)
def test_a_field_that_has_values_and_fields(pattern: dict[str, Any]) -> None:
    """Two fields: both are to hold, as in event-ruler, and both are written."""
    criteria = from_pattern(pattern)
    assert to_pattern(criteria) == to_pattern(set(criteria)) == pattern
    assert from_pattern(json.dumps(pattern)) == criteria
    matcher: FieldMatcher[int] = FieldMatcher()
    matcher.subscribe(criteria, 1)
    wanted: list[dict[str, Any]] = [{"a": [1, {"b": 2}]}, {"a": [{"b": 2}, 1]}, {"a": 1, "a.b": 2}]
    others: list[dict[str, Any]] = [{"a": 1}, {"a": {"b": 2}}, {"a": [1, {"b": 3}]}, {"a": [2, {"b": 2}]}, {"a.b": 2}]
    assert matcher.match_many(wanted) == [(1,)] * len(wanted)
    assert matcher.match_many(others) == [()] * len(others)
    assert to_pattern([Equals("a.b", 2), Equals("a", 1)]) == {"a": [1], "a.b": [2]}


def test_what_is_no_pattern() -> None:
    with pytest.raises(TypeError, match="a pattern is a JSON object, not list"):
        from_pattern("[1]")
    with pytest.raises(ValueError, match="Expecting"):
        from_pattern("{")


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        ([Equals("f", 1), Present("f")], "a pattern has one test for each field"),
        ([AnyOf(Equals("f", 1), Equals("g", 1)), AnyOf(Equals("h", 1), Equals("g", 1))], "there is another one"),
        ([Not(Within("f", 1, 2))], "has no JSON pattern"),
        ([Not(AnyOf(Prefix("f", "a"), Suffix("f", "b")))], "has no JSON pattern"),
        ([Equals("f", float("inf"))], "inf is not a text, number, boolean or null of JSON"),
        ([AtLeast("f", float("-inf"))], "the bounds of a pattern are numbers, not -inf"),
        ([Equals("f", (1,))], "is not a text, number, boolean or null of JSON"),
        ([Prefix("f", b"a")], "has no JSON pattern"),
        ([Within("f", "a", "b")], "the bounds of a pattern are numbers, not 'a'"),
        ([Within("f")], "has no JSON pattern; Present has one"),
    ],
)
def test_what_has_no_pattern(criteria: list[Criterion], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_pattern(criteria)


leaves = st.none() | st.integers(-5, 5) | st.floats(-5, 5) | st.text("ab", max_size=2)
written = st.lists(
    st.one_of(
        st.builds(Equals, st.just("n"), leaves),
        st.builds(OneOf, st.just("n"), st.lists(leaves, max_size=3)),
        st.builds(NotIn, st.just("n"), st.lists(leaves, max_size=3)),
        st.builds(GreaterThan, st.just("n"), st.integers(-5, 5)),
        st.builds(Prefix, st.just("n"), st.text("ab")),
    ),
    max_size=1,
)


@given(written, st.lists(st.dictionaries(st.just("n"), leaves), max_size=4))
def test_what_was_written_and_read_back_answers_the_same(
    criteria: list[Criterion], messages: list[dict[str, Any]]
) -> None:
    criteria = [*criteria, Absent("x")]
    one, other = FieldMatcher(), FieldMatcher()
    one.subscribe(criteria, 1)
    other.subscribe(from_pattern(json.dumps(to_pattern(criteria))), 1)
    for message in messages:
        assert one.match_all(message) == other.match_all(message)
    one.check()
    other.check()


def test_rows_make_the_matcher_again() -> None:
    matcher = FieldMatcher()
    for number, (_, criteria) in enumerate(TRANSLATED):
        matcher.subscribe(criteria, f"s{number}", qos=number)
    again = FieldMatcher()
    again.subscribe_many((from_pattern(pattern), *rest) for pattern, *rest in pattern_rows(matcher))
    assert set(again) == set(matcher)
    assert {s.subscriber: dict(s.options) for s in again} == {s.subscriber: dict(s.options) for s in matcher}
    again.check()


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        (Equals, "made with the name of a field, not the class Equals itself"),
        ([Equals], "made with the name of a field, not the class Equals itself"),
        (Equals("a", 1), r"a list, even if it is one: \[Equals\('a', 1\)\]"),
        ({"a": [1]}, r"a list, not dict: from_pattern\(\) reads a JSON pattern"),
        ('{"a": [1]}', r"a list, not str: from_pattern\(\) reads a JSON pattern"),
        ([{"a": [1]}], "another of subtrie.fields, not dict"),
        (["a"], "another of subtrie.fields, not str"),
        (None, "not iterable"),
    ],
)
def test_what_is_no_list_of_criteria_is_refused_with_what_to_do(criteria: Any, message: str) -> None:
    fields, routes = FieldMatcher(), RoutingMatcher()
    several: list[Callable[[], object]] = [
        lambda: fields.subscribe(criteria, 1),
        lambda: fields.unsubscribe(criteria, 1),
        lambda: fields.subscribe_many([([Equals("b", 1)], 1), (criteria, 1)]),
        lambda: routes.subscribe("a", criteria, 1),
        lambda: routes.subscribe_many([("a", [], 1), ("a", criteria, 1)]),
    ]
    for refused in several:
        with pytest.raises(TypeError, match=message):
            refused()
    assert len(fields) == len(routes) == 0


def test_routes_have_no_queue_groups() -> None:
    routes = RoutingMatcher(NATS)
    several: list[Callable[[], object]] = [
        lambda: routes.subscribe("a", [], 1, queue="workers"),
        lambda: routes.subscribe_many([("a", [], 0), ("a", [], 1, {"queue": "workers"})]),
    ]
    for refused in several:
        with pytest.raises(ValueError, match="queue='workers': a RoutingMatcher has no queue groups"):
            refused()
    with pytest.raises(TypeError, match="did you mean queue"):
        routes.subscribe("a", [], 1, qeue="workers")
    assert len(routes) == 0
    assert routes.subscribe("a", [], 1, queue=None)
    assert RoutingMatcher().subscribe("a", [], 1, queue="a word like any other in AMQP")
    with pytest.raises(ValueError, match="the option qos of MQTT is one of 0, 1, 2, not 3"):
        RoutingMatcher(MQTT).subscribe("a", [], 1, qos=3)
    with pytest.raises(ValueError, match=r"a subscription is \(filter, criteria, subscriber\) or"):
        routes.subscribe_many([("a", [])])
    with pytest.raises(TypeError, match="the name of an option is a str, not 1"):
        routes.subscribe_many([("a", [], 2, {1: 2})])


@pytest.mark.parametrize("criterion", [Equals("$or.x", 1), Equals("a.$or.b", 1), OneOf("$or", []), OneOf("a.$or", [])])
def test_a_field_whose_name_would_be_alternatives_is_refused(criterion: Criterion) -> None:
    with pytest.raises(ValueError, match=r"since \$or means alternatives there"):
        to_pattern([criterion])


@pytest.mark.parametrize("name", ["$or", "a.$or"])
@pytest.mark.parametrize("make", [Present, Absent, lambda name: Equals(name, 1), lambda name: Prefix(name, "a")])
def test_a_field_of_that_name_at_the_end_is_read_again(name: str, make: Callable[[str], Criterion]) -> None:
    assert from_pattern(to_pattern([make(name)])) == [make(name)]


def test_nothing_is_explained_without_a_criterion() -> None:
    with pytest.raises(ValueError, match="a subscription has at least one criterion"):
        explain([], {"a": 1})
