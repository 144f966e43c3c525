"""`explain`, and the other places that have to know every test of a pattern, such as export."""

from __future__ import annotations

import datetime
import json
import random
from typing import Any

import pytest

from subtrie.fields import (
    Absent,
    AnyOf,
    AtLeast,
    Equals,
    EqualsIgnoringCase,
    FieldMatcher,
    GreaterThan,
    InNetwork,
    Not,
    NotIn,
    OneOf,
    Prefix,
    Present,
    Suffix,
    Wildcard,
    Within,
    explain,
    from_pattern,
    patterns,
)

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


def test_the_list_has_every_test_that_patterns_have() -> None:
    named = {name for form, _, _ in FORMS if isinstance(form, dict) for name in form}
    assert named == set(patterns._TESTS)
    inner = {
        name for form, _, _ in FORMS if isinstance(form, dict) for test in form.values() for name in inner_of(test)
    }
    assert inner | {"exactly", "shellstyle"} == set(patterns._OF_TEXTS)


def inner_of(test: Any) -> list[str]:
    return list(test) if isinstance(test, dict) else []


@pytest.mark.parametrize(("form", "met", "unmet"), FORMS, ids=[json.dumps(form) for form, _, _ in FORMS])
def test_every_test_is_explained(form: Any, met: Any, unmet: Any) -> None:
    (criterion,) = from_pattern({"f": [form]})
    for value, verdict, word in ((met, "met", "holds"), (unmet, "not met", "fails")):
        first, second, *_ = explain([criterion], told(value)).split("\n")
        assert first == verdict
        assert second.startswith(f"  {word}: ")
        shown = "there is no such field" if value is ... else f"the field is {value!r}"
        assert second.endswith(shown)
        assert json.dumps({"f": [form]}) in second
        criterion.written = None
        assert repr(criterion) in explain([criterion], told(value)).split("\n")[1]
        (criterion,) = from_pattern({"f": [form]})


@pytest.mark.parametrize(("form", "met", "unmet"), FORMS, ids=[json.dumps(form) for form, _, _ in FORMS])
def test_every_test_goes_out_and_comes_back(form: Any, met: Any, unmet: Any) -> None:
    """`pattern_rows` is what `fields_to_arrow` writes. Criteria that remember no pattern are written anew."""
    (criterion,) = from_pattern({"f": [form]})
    criterion.written = None
    fields: FieldMatcher[str] = FieldMatcher()
    fields.subscribe([criterion], "ann")
    ((pattern, subscriber, _),) = patterns.pattern_rows(fields)
    assert subscriber == "ann"
    back: FieldMatcher[str] = FieldMatcher()
    back.subscribe(from_pattern(pattern), "ann")
    assert back.match_all(told(met)) == ("ann",)
    assert back.match_all(told(unmet)) == ()


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


def test_what_is_refused_elsewhere_is_refused_here() -> None:
    with pytest.raises(ValueError, match="at least one criterion"):
        explain([], {})
    with pytest.raises(TypeError, match="a message is a mapping"):
        explain([Present("a")], [])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="are a list, even if it is one"):
        explain(Present("a"), {})  # type: ignore[arg-type]


KINDS: list[Any] = [
    *(Equals("a", 1), OneOf("b", [1, "x"]), NotIn("a", [2]), Present("c"), Absent("b"), Within("a", 1, 2)),
    *(AtLeast("b", datetime.date(2020, 1, 1)), GreaterThan("c", 1), Prefix("a", "x"), Suffix("b", "x")),
    *(Wildcard("c", "x*"), EqualsIgnoringCase("a", "X"), InNetwork("c", "10.0.0.0/8"), Not(Equals("a", 1))),
    *(AnyOf(Equals("a", 1), [Present("b"), Absent("c")]), Not(AnyOf(Prefix("b", "x"), Suffix("b", "y")))),
]


def test_the_verdict_is_that_of_a_matcher() -> None:
    rng = random.Random(11)
    values = [1, 2, "x", "xy", "10.1.1.1", None, True, [1, "x"], [], {"d": 1}, datetime.date(2021, 1, 1)]
    met = 0
    for _ in range(1_500):
        asked = rng.sample(KINDS, rng.randrange(1, 4))
        message = {name: rng.choice(values) for name in "abc" if rng.randrange(4)}
        fields: FieldMatcher[int] = FieldMatcher()
        fields.subscribe(asked, 1)
        verdict, *lines = explain(asked, message).split("\n")
        assert verdict == ("met" if fields.match_all(message) else "not met"), (asked, message)
        if not any(isinstance(value, list) for value in message.values()):
            tops = [line for line in lines if not line.startswith("    ")]
            assert (verdict == "met") == all(line.startswith("  holds") for line in tops), (asked, message)
        met += verdict == "met"
    assert met > 100
