"""JSON patterns of event routers: read, written, and refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    Suffix,
    Wildcard,
    Within,
    flattened,
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
        ({"f": [{"anything-but": []}]}, "field 'f': 'anything-but' names nothing"),
        ({"f": [{"anything-but": [["a"]]}]}, "is not a text, number, boolean or null"),
        ({"f": [{"prefix": {"suffix": "a"}}]}, "criteria cannot express the test 'prefix' with"),
        ({"f": [{"suffix": {"equals-ignore-case": 1}}]}, "criteria cannot express the test 'suffix' with"),
        ({"f": [{"wildcard": "a**b"}]}, "two . side by side"),
        ({"f": [{"wildcard": "a\\b"}]}, "a backslash stands before 'b'"),
        ({"f": [{"wildcard": "a\\"}]}, "ends with a backslash"),
        ({"f": [{"shellstyle": "a**b"}]}, "two . side by side"),
        ({"f": [{"cidr": "10.0.0.0/33"}]}, "field 'f': '10.0.0.0/33' does not appear to be an IPv4 or IPv6 network"),
        ({"a.b": ["x"], "a": {"b": ["y"]}}, "field 'a.b' is named twice"),
        ({"f": [{"numeric": [[], 1]}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": [{}, 1]}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": [">", True]}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": [">", 1, "<", 3, "<", 2]}]}, "is not a list of a sign and a number"),
        ({"f": [float("nan")]}, "field 'f': nan is no number of JSON, or it is too large"),
        ({"f": [{}]}, "field 'f': a test has one name, not 0"),
        ({"f": [float("inf")]}, "field 'f': inf is no number of JSON, or it is too large"),
        ({"f": [{"anything-but": [float("inf")]}]}, "field 'f': inf is no number of JSON"),
        ({"f": [{"numeric": [">", float("-inf")]}]}, "field 'f': -inf is no number of JSON"),
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


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"source": [{"prefix": "EC2"}], "source": [{"anything-but": ["EC2Test"]}]}', "source"),
        ('{"detail": {"x": {"y": ["a"], "y": ["a"]}}}', "detail.x.y"),
        ('{"$or": [{"f": [1], "f": [2]}, {"g": [1]}]}', "f"),
    ],
)
def test_a_field_that_is_named_twice_is_refused(text: str, field: str) -> None:
    with pytest.raises(ValueError, match=f"field '{field}' is named twice"):
        from_pattern(text)


def test_a_name_that_stands_twice_for_different_fields() -> None:
    assert from_pattern('{"a": {"b": [1]}, "a": {"c": [2]}}') == [Equals("a.b", 1), Equals("a.c", 2)]
    both = from_pattern('{"e": {"a": {"c": {"d": [2]}}, "a": [1]}}')
    assert both == [Equals("e.a.c.d", 2), Equals("e.a", 1)]
    assert to_pattern(both) == to_pattern(set(both)) == {"e": {"a": [1], "a.c.d": [2]}}
    assert from_pattern(to_pattern(both)) == both[::-1]
    assert to_pattern([Equals("a.b", 2), Equals("a", 1)]) == {"a": [1], "a.b": [2]}
    with pytest.raises(ValueError, match="field 'f': a test has one name, not 2"):
        from_pattern('{"f": [{"prefix": "a", "prefix": "b"}]}')


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


def test_nested_messages() -> None:
    assert flattened({"a": {"b": 1, "c": {"d": [1, 2]}}, "e": {}}) == {"a.b": 1, "a.c.d": (1, 2)}
