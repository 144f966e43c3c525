"""JSON patterns of event routers: read, written, and refused by name."""

from __future__ import annotations

import json
import pickle
from typing import Any
from unittest.mock import patch

import pytest

from subtrie.fields import (
    Absent,
    AnyOf,
    AtLeast,
    Criterion,
    Equals,
    EqualsIgnoringCase,
    FieldMatcher,
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
    from_pattern,
    pattern_rows,
    patterns,
    to_pattern,
)

pytestmark = pytest.mark.once

TRANSLATED: list[tuple[dict[str, Any], list[Criterion]]] = [
    ({"f": ["a"]}, [Equals("f", "a")]),
    *[  # type: ignore[list-item]
        ({"open": [test]}, [make(name, test if isinstance(test, str) else next(iter(test.values())))])
        for name in [type("Name", (str,), {"__str__": lambda _: "lie"})("open")]
        for make, test in (
            *((Equals, "a"), (EqualsIgnoringCase, {"equals-ignore-case": "a"}), (Prefix, {"prefix": "a"})),
            *((Suffix, {"suffix": "a"}), (Wildcard, {"wildcard": "a*b"}), (InNetwork, {"cidr": "10.0.0.0/8"})),
        )
    ],
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


# Ways to write it that are read, and written otherwise.
OTHERWISE: list[tuple[dict[str, Any], list[Criterion]]] = [
    ({"f": [{"anything-but": "a"}]}, [NotIn("f", ["a"])]),
    ({"f": [{"numeric": ["=", 3]}]}, [Equals("f", 3)]),
    ({"f": [{"numeric": ["<=", 5, ">", 0]}]}, [Within("f", 0, 5, low_open=True)]),
    ({"f": [{"exactly": "a"}]}, [Equals("f", "a")]),
    ({"f": [{"shellstyle": "a*\\b"}]}, [Wildcard("f", "a*\\\\b")]),
    ({"$or": [{"f": ["a"]}, {"f": [{"prefix": "b"}]}]}, [AnyOf(Equals("f", "a"), Prefix("f", "b"))]),
]


@pytest.mark.parametrize(("pattern", "criteria"), TRANSLATED + OTHERWISE)
def test_patterns_and_criteria_say_each_other(pattern: dict[str, Any], criteria: list[Criterion]) -> None:
    assert set(from_pattern(pattern)) == set(from_pattern(json.dumps(pattern))) == set(criteria)
    assert set(from_pattern(json.dumps(to_pattern(criteria)))) == set(criteria)
    assert to_pattern(from_pattern(pattern)) == pattern


def test_rows_make_the_matcher_again() -> None:
    matcher, again = FieldMatcher[str](), FieldMatcher[str]()
    for number, (_, criteria) in enumerate(TRANSLATED):
        matcher.subscribe(criteria, f"s{number}", qos=number)
    again.subscribe_many((from_pattern(pattern), *rest) for pattern, *rest in pattern_rows(matcher))
    assert again == matcher
    again.check()


@pytest.mark.parametrize(
    "pattern",
    [
        {"a": [1], "a.b": [2]},
        {"a.b": [2], "a": [1]},
        {"a": [1], "a.b": [2], "$or": [{"a": [1], "a.b": [2]}]},
        {"$or": [{"a": [1], "a.b": [2]}, {"a": {"b": [2]}, "a.b.c": [3]}]},
    ],
)
def test_a_field_that_has_values_and_fields_is_two_fields(pattern: dict[str, Any]) -> None:
    criteria = from_pattern(pattern)
    assert to_pattern(criteria) == to_pattern(set(criteria)) == pattern
    assert from_pattern(json.dumps(pattern)) == criteria
    assert to_pattern([Equals("a.b", 2), Equals("a", 1)]) == {"a": [1], "a.b": [2]}


# --------------------------------------------------------------------------------------------------------- what is refused

REFUSED: list[tuple[Any, str]] = [
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
    ({"a": [{"prefx": "x"}]}, "field 'a': criteria cannot express the test 'prefx'; did you mean 'prefix'"),
    ({"a": [{"anything_but": "x"}]}, "did you mean 'anything-but'"),
    (
        {"$and": [{"a": [1]}]},
        "the only name with a meaning of its own is .or, and fields side by side all have to hold",
    ),
    ({"a": [{"regexp": "x"}]}, "criteria cannot express the test 'regexp'$"),
    # a field or a test that is named twice
    ('{"source": [{"prefix": "EC2"}], "source": [{"anything-but": ["EC2Test"]}]}', "field 'source' is named twice"),
    ('{"detail": {"x": {"y": ["a"], "y": ["a"]}}}', "field 'detail.x.y' is named twice"),
    ('{"$or": [{"f": [1], "f": [2]}, {"g": [1]}]}', "field 'f' is named twice"),
    ('{"a": {"$or": [{"f": [1]}], "$or": [{"g": [1]}]}}', r"field 'a.\$or' is named twice"),
    ('{"a": [1], "a": {"b": [2]}}', "field 'a' is named twice"),
    ('{"a": {"b": [2]}, "a": [1]}', "field 'a' is named twice"),
    ('{"a": {"b": [1]}, "a": {"c": [2]}}', "field 'a' is named twice"),
    ('{"e": {"a": {"c": {"d": [2]}}, "a": [1]}}', "field 'e.a' is named twice"),
    ('{"$or": [{"f": [1], "f": {"g": [2]}}, {"h": [1]}]}', "field 'f' is named twice"),
    ('{"a": {"$or": [{"f": {"g": [1]}, "f": {"h": [2]}}]}}', "field 'a.f' is named twice"),
    ('{"a": [3], "a": {"$or": [{"b": [1]}, {"c": [1]}]}}', "field 'a' is named twice"),
    ('{"$or": [{"a": [1]}], "$or": {"b": [1]}}', r"field '\$or' is named twice"),
    ('{"a": {"b": [1]}, "a.b": [2]}', "field 'a.b' is named twice"),
    ('{"$or": [{"a": {"b": [1]}, "a.b": [2]}]}', "field 'a.b' is named twice"),
    ('{"f": [{"prefix": "x", "prefix": "y"}]}', "field 'f': 'prefix' is named twice"),
    ('{"f": [{"exists": true, "exists": false}]}', "field 'f': 'exists' is named twice"),
    ('{"f": [{"a": 1, "b": 2, "c": 3, "d": 4}]}', "field 'f': a test has one name, not 4: 'a', 'b', 'c'$"),
    ('{"f": [{"suffix": {"equals-ignore-case": "x", "equals-ignore-case": "y"}}]}', "'equals-ignore-case' is named twice"),
    ('{"f": [{"anything-but": {"prefix": "x", "prefix": "y"}}]}', "field 'f', test 'anything-but': 'prefix' is named twice"),
    ('{"f": [{"anything-but": {"prefix": {"equals-ignore-case": "x", "equals-ignore-case": "y"}}}]}', "field 'f', test 'anything-but': 'equals-ignore-case' is named twice"),
    # what is no pattern, and numbers that are none of JSON
    ("[1]", "a pattern is a JSON object, not list"),
    ("{", "Expecting"),
    ({1: ["a"]}, "the names in a pattern are texts, not 1"),
    ({"a": [{None: "a"}]}, "the names in a pattern are texts, not None"),
    ('{"f": [' + "9" * 4_001 + "]}", "field 'f': inf is no number of JSON, or it is too large"),
    ('{"f": [{"numeric": ["<", 1' + "0" * 1_000_000 + "]}]}", "field 'f', test 'numeric': inf is"),
    # long ones
    ({"f" * 100_000: 1}, "field 'f"),
    ({"f": ["x" * 100_000, {"wildcard": "x" * 100_000 + "**"}]}, "field 'f"),
    ({"f": [{"x" * 100_000: 1}]}, "field 'f"),
    ({"f": [[["x" * 1_000] * 1_000] * 1_000]}, "field 'f"),
    ({"f": "x" * 100_000}, "field 'f"),
    ({"f": [{"cidr": "x" * 100_000}]}, "field 'f"),
    ({"f": [{"prefix": ["x" * 1_000] * 1_000}]}, "field 'f"),
    ({"f": [{"numeric": ["<", 1, "x" * 100_000]}]}, "field 'f"),
    ({"f": [{"anything-but": {"prefix": {"x" * 100_000: 1}}}]}, "field 'f"),
    ({"f": [10**10_000]}, "field 'f"),
    ({"f": [{"numeric": ["<", 10**10_000]}]}, "field 'f"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "says"), REFUSED, ids=[says[:60] for _, says in REFUSED])
def test_what_criteria_cannot_express_is_refused_shortly_by_name(pattern: Any, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says) as caught:
        from_pattern(pattern)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("criteria", "says"),
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
        ([Equals("$or.x", 1)], r"a pattern cannot say this: field '(a\.)?\$or'"),
        ([Equals("a.$or.b", 1)], r"a pattern cannot say this: field '(a\.)?\$or'"),
        ([OneOf("$or", [])], r"a pattern cannot say this: field '(a\.)?\$or'"),
        # what would not be read again
        ([AnyOf(Equals("cidr", "10.0.0.0/8"), Equals("port", 80))], r"a pattern cannot say this: field '\$or'"),
        ([*from_pattern({"a.b": [1]}), AtLeast("a.b", 2)], "a pattern cannot say this: field 'a.b' is named twice"),
        ([Not(OneOf("f", []))], "a pattern cannot say this: field 'f', test 'anything-but': it names nothing"),
        ([OneOf("a.$or", [])], r"a pattern cannot say this: field '(a\.)?\$or'"),
    ],
)
def test_what_has_no_pattern(criteria: list[Criterion], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        to_pattern(criteria)


def test_a_field_with_the_name_of_alternatives_at_the_end_is_read_again() -> None:
    for name in ("$or", "a.$or"):
        for criterion in (Present(name), Absent(name), Equals(name, 1), Prefix(name, "a")):
            assert from_pattern(to_pattern([criterion])) == [criterion]


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
    with patch.object(patterns, "_criteria", wraps=patterns._criteria) as read:
        assert to_pattern(pickle.loads(pickle.dumps(from_pattern(pattern)))) == pattern
    assert read.call_count == 2 * (1 + 2 * 90)  # each alternative once, and once again
    for depth in (100, 1_000, 100_000):
        with pytest.raises(ValueError, match=r"field '\$or': \$or is nested 100 deep or more"):
            from_pattern(in_alternatives(depth))
    for depth in (2_000, 1_000_000):
        with pytest.raises(ValueError, match="nested"):
            from_pattern('{"a":' * depth + '["x"]' + "}" * depth)
        with pytest.raises(ValueError, match=r"nested|is not a text, number"):
            from_pattern('{"a":[' + "[" * depth + "]" * depth + "]}")
    assert from_pattern('{"f": [' + "9" * 4_000 + "]}") == [Equals("f", 10**4_000 - 1)]
