"""The table of differences from event routers in docs/fields.md: what it says of this package holds, line by line."""

from __future__ import annotations

import doctest
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from subtrie.fields import FieldMatcher, from_pattern

pytestmark = pytest.mark.once

MANUAL = Path(__file__).parents[2] / "docs" / "fields.md"


def wants(pattern: Any, event: Any) -> bool:
    matcher = FieldMatcher()
    matcher.subscribe(from_pattern(pattern if isinstance(pattern, str) else json.dumps(pattern)), "ann")
    return matcher.match_all(json.loads(event) if isinstance(event, str) else event) == ("ann",)


def is_refused(pattern: Any) -> bool:
    with pytest.raises(ValueError, match="field"):
        from_pattern(pattern if isinstance(pattern, str) else json.dumps(pattern))
    return True


def deep_lists() -> None:
    inner: Any = [{"b": 1, "c": 2}, {"b": 2, "c": 1}]
    for _ in range(99):
        inner = [inner, []]
    pattern = {"a": {"b": [1], "c": [1]}}
    assert not wants(pattern, {"a": inner})
    assert wants(pattern, {"a": [inner, []]})


def deep_nesting() -> None:
    event: Any = 1
    for _ in range(1999):
        event = {"a": event}
    asked = {".".join("a" * 100): [1]}
    assert not wants(asked, {"a": event})
    assert not wants({"b": [1]}, {"a": {"a": event}})
    with pytest.raises(ValueError, match="nested more than 2000 deep"):
        wants(asked, {"a": {"a": event}})


def check_case() -> None:
    assert wants({"a": [{"equals-ignore-case": "stra\xdfe"}]}, {"a": "STRA\u1e9eE"})
    assert not wants({"a": [{"equals-ignore-case": "stra\xdfe"}]}, {"a": "STRASSE"})


def check_numbers() -> None:
    assert wants('{"a": [{"numeric": [">", 9007199254740992]}]}', '{"a": 9007199254740993}')
    assert wants('{"a": [{"numeric": ["=", 9007199254740993]}]}', '{"a": 9007199254740993}')
    assert not wants('{"a": [9007199254740993]}', '{"a": 9007199254740992}')
    assert wants('{"a": [{"numeric": [">", -6000000000000, "<", 0.0000000001]}]}', '{"a": 0.00000000001}')


def all_of(*claims: Callable[[], bool]) -> Callable[[], None]:
    def check() -> None:
        for claim in claims:
            assert claim()

    return check


LINES: dict[str, Callable[[], None]] = {
    "regular expressions": all_of(lambda: is_refused({"a": [{"regexp": "a+"}]})),
    "true": all_of(
        lambda: wants({"a": [1]}, '{"a": true}'),
        lambda: wants({"a": [False]}, '{"a": 0}'),
        lambda: wants({"a": [{"numeric": [">=", 0, "<", 5]}]}, '{"a": true}'),
    ),
    "numbers": check_numbers,
    "a range of one number": all_of(
        lambda: wants({"a": [{"numeric": [">=", 1, "<=", 1]}]}, {"a": 1}),
        lambda: not wants({"a": [{"numeric": [">=", 1, "<=", 1]}]}, {"a": 1.5}),
    ),
    "order of the bounds": all_of(lambda: wants({"a": [{"numeric": ["<", 5, ">", 1]}]}, {"a": 2})),
    "numbers too large for a float": all_of(
        lambda: is_refused('{"a": [1e999]}'), lambda: is_refused('{"a": [{"numeric": ["<", 1e999]}]}')
    ),
    "numbers as values": all_of(*[lambda n=n: wants({"a": [300]}, f'{{"a": {n}}}') for n in ("300", "300.0", "3.0e2")]),
    "a zero with a sign": all_of(
        *[lambda n=n: wants({"a": [0]}, f'{{"a": {n}}}') for n in ("-0", "-0.0", "-0e5", "0")]
    ),
    "no values": all_of(lambda: not wants({"a": []}, {"a": 1}), lambda: not wants({"a": []}, {})),
    "no fields": all_of(lambda: is_refused({"a": {}}), lambda: is_refused({"a": {"b": {}}})),
    "nothing to exclude": all_of(lambda: is_refused({"a": [{"anything-but": []}]})),
    "values of several kinds to exclude": all_of(
        lambda: wants({"a": [{"anything-but": ["a", 1]}]}, {"a": 2}),
        lambda: not wants({"a": [{"anything-but": ["a", 1]}]}, {"a": 1}),
        lambda: not wants({"a": [{"anything-but": [None, True]}]}, {"a": None}),
    ),
    "an empty text to begin or end with": all_of(
        lambda: wants({"a": [{"prefix": ""}], "b": [{"suffix": ""}]}, {"a": "b", "b": ""}),
        lambda: not wants({"a": [{"anything-but": {"prefix": ""}}]}, {"a": "b"}),
    ),
    "`anything-but` of other values": all_of(
        *[
            lambda kind=kind: wants({"a": [{"anything-but": {kind: "5"}}]}, {"a": 5})
            for kind in ("prefix", "suffix", "wildcard", "equals-ignore-case")
        ]
    ),
    "`exists` beside other tests": all_of(
        lambda: wants({"a": [{"exists": False}, "b"]}, {}),
        lambda: wants({"a": [{"exists": False}, "b"]}, {"a": "b"}),
        lambda: not wants({"a": [{"exists": False}, "b"]}, {"a": "c"}),
    ),
    "`exists` of an object": all_of(lambda: not wants({"a": [{"exists": True}]}, {"a": {"b": 1}})),
    "`exists` false beside other fields of a list": all_of(
        lambda: wants({"a": {"b": [1], "c": [{"exists": False}]}}, {"a": [{"b": 1}, {"c": 1}]}),
        lambda: not wants({"a": {"b": [1], "c": [{"exists": False}]}}, {"a": [{"b": 1, "c": 1}, {"b": 2}]}),
        lambda: wants({"a": {"d": [1], "c": [{"exists": False}]}}, {"a": [{"d": 1}, {"c": 1}]}),
        lambda: not wants({"a": {"c": [{"exists": False}]}}, {"a": [{"b": 1}, {"c": 1}]}),
    ),
    "`exists` false beside `exists` true of a name that comes before its own": all_of(
        lambda: wants({"a": [{"exists": True}], "b": [{"exists": False}]}, {"a": 1}),
        lambda: not wants({"a": [{"exists": True}], "b": [{"exists": False}]}, {"a": 1, "b": 1}),
    ),
    "a value beside an object in a list": all_of(
        lambda: wants({"a": [300], "a.b": [0]}, {"a": [300, {"b": 0}]}),
        lambda: wants({"c": {"a": [300], "a.b": [0]}}, {"c": {"a": [300, {"b": 0}]}}),
    ),
    "an empty list": all_of(
        lambda: not wants({"a": [{"exists": True}]}, {"a": []}), lambda: wants({"a": [{"exists": False}]}, {"a": []})
    ),
    "several tests on one field": all_of(
        lambda: wants({"a": ["b", {"prefix": "c"}, {"anything-but": {"suffix": "d"}}]}, {"a": "cd"}),
        lambda: not wants({"a": ["b", {"prefix": "c"}, {"anything-but": {"suffix": "d"}}]}, {"a": "bd"}),
    ),
    "`$or`": all_of(
        lambda: wants({"a": {"$or": [{"b": [1]}, {"c": {"$or": [{"d": [1]}]}}]}}, {"a": {"c": {"d": 1}}}),
        lambda: not wants({"a": {"$or": [{"b": [1]}, {"c": {"$or": [{"d": [1]}]}}]}}, {"a": {"c": {"e": 1}}}),
    ),
    "`$or` with values, or with tests of no field": all_of(
        lambda: wants({"$or": ["a"]}, {"$or": "a"}), lambda: wants({"$or": [{"prefix": "a"}]}, {"$or": "ab"})
    ),
    "a field inside `$or` and beside it": all_of(
        lambda: wants({"a": [{"prefix": "b"}], "$or": [{"a": [{"suffix": "c"}]}, {"d": [1]}]}, {"a": "bc"}),
        lambda: not wants({"a": [{"prefix": "b"}], "$or": [{"a": [{"suffix": "c"}]}, {"d": [1]}]}, {"a": "cc"}),
    ),
    "a field that is named twice": all_of(lambda: is_refused('{"a": ["b"], "a": ["b"]}')),
    "a name that stands twice in one object, for other fields": all_of(
        lambda: is_refused('{"a": {"b": [1]}, "a": {"c": [1]}}'), lambda: is_refused('{"a": [1], "a": {"b": [1]}}')
    ),
    "a field that an event names twice": all_of(
        lambda: wants({"a": [2]}, '{"a": 1, "a": 2}'), lambda: not wants({"a": [1]}, '{"a": 1, "a": 2}')
    ),
    "empty names": all_of(
        lambda: wants({"": {"a": [1]}}, {".a": 1}),
        lambda: wants({"": {"a": [1]}}, {"": {"a": 1}}),
        lambda: not wants({"": {"a": [1]}}, {"a": 1}),
    ),
    "names with points": all_of(
        lambda: wants({"a.b": [1]}, {"a": {"b": 1}}), lambda: wants({"a": {"b": [1]}}, {"a.b": 1})
    ),
    "what is no test: another name, several names, a value of another kind": all_of(
        *[
            lambda test=test: is_refused({"a": [test]})
            for test in (
                {"x": 2},
                {},
                {"prefix": "a", "suffix": "b"},
                {"prefix": 3},
                {"exactly": 33},
                {"suffix": ["a"]},
                {"wildcard": None},
                {"exists": "true"},
                {"cidr": "foo"},
                {"cidr": 10},
                {"numeric": 1},
                {"numeric": [">"]},
                {"numeric": [">", "1"]},
                {"numeric": ["!", 1]},
                {"anything-but": {"numeric": ["=", 1]}},
                {"anything-but": {"prefix": 1}},
                {"anything-but": [{"x": 1}]},
                {"anything-but": {"prefix": "a", "suffix": "b"}},
            )
        ]
    ),
    "lists and objects of values: `[[1]]`": all_of(
        lambda: is_refused({"a": [[1]]}), lambda: is_refused({"a": [1, []]}), lambda: is_refused({"a": [{"b": [1]}]})
    ),
    "`$or` of an object": all_of(lambda: is_refused({"$or": {"a": [1], "b": [2]}}), lambda: is_refused({"$or": {}})),
    "a backslash before another character, in `wildcard`": all_of(
        lambda: is_refused({"a": [{"wildcard": "a\\b"}]}), lambda: is_refused({"a": [{"wildcard": "a\\"}]})
    ),
    "case": check_case,
    "two `*` side by side": all_of(
        lambda: is_refused({"a": [{"wildcard": "a**"}]}), lambda: is_refused({"a": [{"shellstyle": "**"}]})
    ),
    "a `*` with a backslash behind another `*`": all_of(
        lambda: wants({"a": [{"wildcard": "b*\\*"}]}, {"a": "bc*"}),
        lambda: wants({"a": [{"wildcard": "*\\**"}]}, {"a": "b*c"}),
        lambda: not wants({"a": [{"wildcard": "*\\**"}]}, {"a": "bc"}),
    ),
    "`cidr`": all_of(
        lambda: wants({"a": [{"cidr": "10.0.0.0/8"}]}, {"a": "10.1.2.3"}),
        lambda: wants({"a": [{"cidr": "2001:db8::/32"}]}, {"a": "2001:db8::1"}),
        lambda: wants({"a": [{"cidr": "10.0.0.1"}]}, {"a": "10.0.0.1"}),
        lambda: not wants({"a": [{"cidr": "10.0.0.0/8"}]}, {"a": "10.0.0.01"}),
        lambda: not wants({"a": [{"cidr": "::/0"}]}, {"a": "10.0.0.1"}),
    ),
    "a network as `10.0.0.0/255.0.0.0`": all_of(
        lambda: wants({"a": [{"cidr": "10.0.0.0/255.0.0.0"}]}, {"a": "10.1.2.3"}),
        lambda: not wants({"a": [{"cidr": "10.0.0.0/255.0.0.0"}]}, {"a": "11.1.2.3"}),
    ),
    "an address with a zone: `fe80::1%eth0`": all_of(
        lambda: not wants({"a": [{"cidr": "fe80::/16"}]}, {"a": "fe80::1%eth0"}),
        lambda: wants({"a": [{"cidr": "fe80::/16"}]}, {"a": "fe80::1"}),
        lambda: is_refused({"a": [{"cidr": "fe80::1%eth0/64"}]}),
    ),
    "`suffix`, `exactly`": all_of(
        lambda: wants({"a": [{"suffix": "c"}]}, {"a": "bc"}), lambda: wants({"a": [{"exactly": "c"}]}, {"a": "c"})
    ),
    "`shellstyle`": all_of(
        lambda: wants({"a": [{"shellstyle": "b\\*"}]}, {"a": "b\\c"}),
        lambda: wants({"a": [{"wildcard": "b\\*"}]}, {"a": "b*"}),
    ),
    "lists of lists": all_of(
        lambda: not wants({"a": {"b": [1], "c": [1]}}, {"a": [[{"b": 1}], [{"c": 1}]]}),
        lambda: wants({"a": {"b": [1], "c": [1]}}, {"a": [[{"b": 1, "c": 1}], [{"c": 1}]]}),
    ),
    "lists deeper than 100": deep_lists,
    "nested more than 2,000 deep": deep_nesting,
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_the_table(line: str) -> None:
    LINES[line]()


def test_the_table_has_these_lines() -> None:
    table = MANUAL.read_text().partition("These are all differences")[2].partition("\n\n`")[0]
    assert re.findall(r"^\| ([^|]+?) +\|", table, re.MULTILINE) == list(LINES)


@pytest.mark.docs
@pytest.mark.parametrize("page", ["topics.md", "fields.md"])
def test_the_examples_of_the_manual_are_right(page: str) -> None:
    failed, tried = doctest.testfile(str(MANUAL.with_name(page)), module_relative=False)
    assert tried > 0
    assert failed == 0
