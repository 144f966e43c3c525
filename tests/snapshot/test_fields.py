"""Subscriptions by fields as Arrow tables."""

from __future__ import annotations

import json

import pytest

from snapshot import fields_to_arrow
from subtrie.fields import Equals, FieldMatcher, Prefix, Within, from_pattern

pytestmark = pytest.mark.once


def test_a_table_has_every_subscription_of_one_instant() -> None:
    matcher = FieldMatcher()
    for number in range(100):
        matcher.subscribe([Equals("a.b", number), Within("c", 0, number)], number, qos=number % 3)
    taken = matcher.snapshot()
    matcher.clear()
    rows = fields_to_arrow(taken).to_pylist()
    assert {(frozenset(from_pattern(row["pattern"])), int(row["subscriber"])) for row in rows} == {
        (s.criteria, s.subscriber) for s in taken
    }
    assert {row["subscriber"]: dict(row["options"]) for row in rows}["4"] == {"qos": "1"}
    assert json.loads(rows[0]["pattern"])["a"]["b"]
    assert fields_to_arrow(matcher).num_rows == 0
    taken.check()


def test_half_of_a_character_is_written_with_an_escape() -> None:
    fields: FieldMatcher[int] = FieldMatcher()
    fields.subscribe(from_pattern({"n\udfff": ["\ud800", "\xe9"]}), 1)
    fields.subscribe(from_pattern({"n": [{"suffix": "\xe9"}]}), 2)
    patterns = {row["subscriber"]: row["pattern"] for row in fields_to_arrow(fields).to_pylist()}
    assert patterns["2"] == '{"n": [{"suffix": "\xe9"}]}'
    assert from_pattern(patterns["1"]) == from_pattern({"n\udfff": ["\ud800", "\xe9"]})


def test_what_has_no_row_is_refused() -> None:
    matcher = FieldMatcher()
    matcher.subscribe([Prefix("f", b"a")], "ann")
    with pytest.raises(ValueError, match="has no JSON pattern"):
        fields_to_arrow(matcher)
    with pytest.raises(TypeError, match="must be a FieldMatcher or a snapshot of one, not dict"):
        fields_to_arrow({})  # type: ignore[arg-type]
    matcher.check()
