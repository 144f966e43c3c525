"""`explain`, and the other places that have to know every test of a pattern, such as export.

test_stateful.py and test_every_door.py compare its verdict with that of a matcher.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from subtrie.fields import Absent, AnyOf, Equals, FieldMatcher, Prefix, explain, from_pattern, patterns

# Of each test of a pattern and each form that it has: the test, a value that meets it, and one that does not.
FORMS: list[tuple[Any, Any, Any]] = [
    ("abc", "abc", "ab"),
    (None, None, "a"),
    (True, True, False),
    (1.5, 1.5, 1),
    ({"exists": True}, 1, ...),
    ({"exists": False}, ..., 1),
    ({"exactly": "a"}, "a", "A"),
    ({"prefix": "ab"}, "abc", "bab"),
    ({"prefix": {"equals-ignore-case": "AB"}}, "abc", "bab"),
    ({"suffix": "bc"}, "abc", "bca"),
    ({"suffix": {"equals-ignore-case": "BC"}}, "abc", "bca"),
    ({"equals-ignore-case": "aBc"}, "AbC", "abcd"),
    ({"wildcard": "a*c"}, "abc", "abcd"),
    ({"wildcard": "\\*"}, "*", "x"),
    ({"shellstyle": "a*\\c"}, "ab\\c", "abc"),
    ({"cidr": "10.0.0.0/8"}, "10.1.2.3", "11.1.2.3"),
    ({"cidr": "2001:db8::/32"}, "2001:db8::1", "2001:db9::1"),
    ({"numeric": ["=", 3]}, 3.0, 4),
    ({"numeric": [">", 3, "<=", 5]}, 5, 3),
    ({"numeric": ["<", 3]}, 2, "2"),
    ({"anything-but": "a"}, "b", "a"),
    ({"anything-but": 1}, 2, 1),
    ({"anything-but": ["a", "b"]}, "c", "b"),
    ({"anything-but": [1, 2]}, 3, 2),
    ({"anything-but": {"prefix": "a"}}, "ba", "ab"),
    ({"anything-but": {"prefix": ["a", "b"]}}, "ca", "ba"),
    ({"anything-but": {"suffix": "a"}}, "ab", "ba"),
    ({"anything-but": {"suffix": ["a", "b"]}}, "ac", "ab"),
    ({"anything-but": {"equals-ignore-case": "a"}}, "b", "A"),
    ({"anything-but": {"equals-ignore-case": ["a", "b"]}}, "c", "B"),
    ({"anything-but": {"wildcard": "a*c"}}, "b", "abc"),
    ({"anything-but": {"wildcard": ["a*c", "*d"]}}, "b", "d"),
]


def told(value: Any) -> dict[str, Any]:
    return {} if value is ... else {"f": value}


def inner_of(test: Any) -> list[str]:
    return list(test) if isinstance(test, dict) else []


def test_the_list_has_every_test_that_patterns_have() -> None:
    forms = [form for form, _, _ in FORMS if isinstance(form, dict)]
    assert {name for form in forms for name in form} == set(patterns._TESTS)
    inner = {name for form in forms for test in form.values() for name in inner_of(test)}
    assert inner | {"exactly", "shellstyle"} == set(patterns._OF_TEXTS)


@pytest.mark.parametrize(("form", "met", "unmet"), FORMS, ids=[json.dumps(form) for form, _, _ in FORMS])
def test_every_test_is_explained_and_goes_out_and_comes_back(form: Any, met: Any, unmet: Any) -> None:
    """`pattern_rows` is what `fields_to_arrow` writes. Criteria that remember no pattern are written anew."""
    fields, back = FieldMatcher[str](), FieldMatcher[str]()
    (plain,) = from_pattern({"f": [form]})
    plain.written = None
    fields.subscribe([plain], "ann")
    ((pattern, _, _),) = patterns.pattern_rows(fields)
    back.subscribe(from_pattern(pattern), "ann")
    for value, verdict, word in ((met, "met", "holds"), (unmet, "not met", "fails")):
        first, second, *_ = explain(from_pattern({"f": [form]}), told(value)).split("\n")
        assert first == verdict
        assert second.startswith(f"  {word}: ")
        assert second.endswith("there is no such field" if value is ... else f"the field is {value!r}")
        assert json.dumps({"f": [form]}) in second
        assert repr(plain) in explain([plain], told(value)).split("\n")[1]
        assert back.match_all(told(value)) == ("ann",) * (verdict == "met")


def test_alternatives_are_explained_one_by_one() -> None:
    criteria = from_pattern({"a": [1, {"prefix": "x"}], "$or": [{"b": [1], "c": [2]}, {"d": [{"exists": False}]}]})
    assert explain(criteria, {"a": "xy", "b": 1, "d": 0}) == (
        "not met\n"
        "  fails: one of these\n"
        "    fails: all of these\n"
        '      holds: {"b": [1]}: the field is 1\n'
        '      fails: {"c": [2]}: there is no such field\n'
        '    fails: {"d": [{"exists": false}]}: the field is 0\n'
        "  holds: one of these\n"
        "    fails: {\"a\": [1]}: the field is 'xy'\n"
        '    holds: {"a": [{"prefix": "x"}]}: the field is \'xy\''
    )
    alike = [AnyOf(Equals("a", 1), Prefix("a", "x")), AnyOf([Equals("b", 1), Equals("c", 2)], Absent("d"))]
    assert (
        explain(alike, {"a": "xy", "b": 1, "d": 0}).split("\n")[-1] == "    holds: Prefix('a', 'x'): the field is 'xy'"
    )


def test_a_part_that_no_pattern_says_by_itself_is_said_as_a_criterion() -> None:
    (criterion,) = from_pattern({"a": [1, {"anything-but": {"exactly": ["x", "y"]}}]})
    told = explain([criterion], {"a": "x"})
    assert told.startswith(
        "not met\n  fails: one of these\n    fails: {\"a\": [1]}: the field is 'x'\n    fails: Not(AnyOf(Equals('a', 'x')"
    )


def test_what_does_not_belong_together_is_said() -> None:
    asked = [Equals("i.id", 1), Absent("i.n")]
    assert "belong together" in explain(asked, {"i": [{"id": 1, "n": 1}, {"id": 2}]})
    assert explain(asked, {"i": [{"id": 1}, {"id": 2, "n": 1}]}).split("\n")[0] == "met"
    assert "the field has 0, 1, 2, 3, 4, 5, 6, 7 and 2 more" in explain([Equals("i", 11)], {"i": list(range(10))})
