"""JSON patterns of event routers: read, written, and refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie.fields import (
    Absent,
    AtLeast,
    Criterion,
    Equals,
    FieldMatcher,
    GreaterThan,
    LessThan,
    NotIn,
    OneOf,
    Prefix,
    Present,
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
    ],
)
def test_other_ways_to_write_it(pattern: dict[str, Any], criteria: list[Criterion]) -> None:
    assert from_pattern(pattern) == criteria


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        *(
            ({"a": {"f": [{test: "x"}]}}, f"field 'a.f': criteria cannot express the test '{test}'")
            for test in ("suffix", "wildcard", "shellstyle", "regexp", "cidr", "equals-ignore-case")
        ),
        ({"$or": [{"f": ["a"]}, {"g": ["b"]}]}, r"field '\$or': criteria cannot express the test '\$or'"),
        (
            {"f": ["a", {"prefix": "b"}]},
            "field 'f': criteria cannot express several tests of which one is to hold, or tests beside values",
        ),
        ({"f": [{"prefix": "a"}, {"prefix": "b"}]}, "field 'f': criteria cannot express several tests"),
        ({"f": [{"prefix": "a", "exists": True}]}, "field 'f': a test has one name, not 2"),
        ({"f": [{"anything-but": {"prefix": "a"}}]}, "criteria cannot express the test 'anything-but' with"),
        ({"f": [{"prefix": {"equals-ignore-case": "a"}}]}, "criteria cannot express the test 'prefix' with"),
        ({"f": [{"exists": "yes"}]}, "criteria cannot express the test 'exists' with 'yes'"),
        ({"f": [{"numeric": [">", "a"]}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": [">"]}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": []}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": ["~", 1]}]}, "is not a list of a sign and a number"),
        ({"f": [{"numeric": [">", 1, ">=", 2]}]}, "has two bounds for one end"),
        ({"f": [{"numeric": ["=", 1, "<", 2]}]}, "has two bounds for one end"),
        ({"f": [{"numeric": [">", 2, "<", 1]}]}, "nothing lies within 2 and 1"),
        ({"f": [["a"]]}, "is not a text, number, boolean or null"),
        ({"f": "a"}, "field 'f': give a list of values or of one test, not 'a'"),
        ({"f": {}}, "field 'f': an empty object asks for nothing"),
        ({}, "the pattern is empty"),
    ],
)
def test_what_criteria_cannot_express_is_refused_by_name(pattern: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_pattern(pattern)


def test_what_is_no_pattern() -> None:
    with pytest.raises(TypeError, match="a pattern is a JSON object, not list"):
        from_pattern("[1]")
    with pytest.raises(ValueError, match="Expecting"):
        from_pattern("{")


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        ([Equals("f", 1), Present("f")], "a pattern has one test for each field"),
        ([Equals("f", 1), Equals("f.g", 1)], "there is one on 'f'"),
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
