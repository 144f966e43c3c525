"""What a subscription takes: the bytes beside its criteria and subscriber, and that it tells its criteria as they were given."""

from __future__ import annotations

import random
import tracemalloc
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from subtrie.fields import (
    Absent,
    AnyOf,
    AtLeast,
    Equals,
    FieldMatcher,
    GreaterThan,
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
    equals,
    from_pattern,
    matcher,
)

MOST = 400  # bytes, with two criteria

KINDS: list[Any] = [
    Equals("a", 1),
    OneOf("a", [1, 2]),
    NotIn("a", [1]),
    Present("a"),
    Absent("a"),
    Within("a", 1, 2),
    Within("a", "b", type("Odd", (str,), {})("c")),  # compared as Python does: in no order
    GreaterThan("b", 1.5),
    LessThan("c", 2),
    Prefix("b", "x"),
    Suffix("b", "y", ignore_case=True),
    Wildcard("b", "x*z"),
    Wildcard("c", "x"),
    Not(Prefix("b", "q")),
    AnyOf(Equals("b", 1), Equals("b", 2)),
    AnyOf([Equals("b", 1), Present("c")], Prefix("a", "x")),
]


def made() -> tuple[list[list[Any]], list[int]]:
    rng = random.Random(4)
    low = [rng.randrange(500) for _ in range(20_000)]
    criteria = [[Equals("symbol", f"s{rng.randrange(5_000)}"), Within("price", x, x + 500)] for x in low]
    return criteria, list(range(len(criteria)))


@pytest.mark.skipif(not matcher.__file__.endswith(".so"), reason="objects of C are smaller")
def test_a_subscription_with_two_criteria_takes_few_bytes() -> None:
    criteria, subscribers = made()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        fields: FieldMatcher[int] = FieldMatcher()
        for asked, subscriber in zip(criteria, subscribers, strict=True):
            fields.subscribe(asked, subscriber)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / len(criteria) < MOST
    assert len(fields) == len(criteria)


def test_criteria_are_told_as_they_were_given() -> None:
    fields: FieldMatcher[int] = FieldMatcher()
    routes: RoutingMatcher[int] = RoutingMatcher()
    given: dict[int, frozenset[Any]] = {}
    rng = random.Random(7)
    for subscriber in range(600):
        given[subscriber] = asked = frozenset(rng.sample(KINDS, rng.randrange(1, 5)))
        fields.subscribe(asked, subscriber)
        routes.subscribe(rng.choice(["a.b", "a.*", "#", "*.*"]), asked, subscriber)
    fields.check()
    routes.check()
    for told in (fields, routes):
        found = {one.subscriber: one.criteria for one in told}
        assert found == given
        for subscriber, criteria in found.items():
            assert {repr(one) for one in criteria} == {repr(one) for one in given[subscriber]}
    for subscriber, asked in given.items():
        assert (asked, subscriber) in fields
        assert fields.unsubscribe(list(asked), subscriber)
    assert not fields


def test_equal_criteria_are_one_object() -> None:
    fields: FieldMatcher[int] = FieldMatcher()
    equals.own.known.clear()  # all are forgotten when too many are known, perhaps in the middle
    for subscriber in range(2_000):
        fields.subscribe([Equals("id", f"i{subscriber % 500}"), Equals("side", "buy"), Within("n", 1, 2.5)], subscriber)
    fields.check()
    assert len({id(one) for found in fields for one in found.criteria}) == 500 + 2
    assert len({(found.subscriber, *sorted(map(repr, found.criteria))) for found in fields}) == 2_000


def test_equal_words_of_filters_are_one_object() -> None:
    def words() -> tuple[str, ...]:
        return tuple("".join(["wo", end]) for end in ("rd", "rm", "x" * equals.LONGEST))

    (one, two, long), (again, other, longer) = equals.one_of_words(words()), equals.one_of_words(words())
    assert one is again
    assert two is other
    assert long is not longer
    for number in range(2 * equals.KNOWN):  # a part of these is forgotten
        assert equals.one_of_words((f"w{number}", "word")) == (f"w{number}", "word")
    assert len(equals.own.words) <= equals.KNOWN + 2


LIKE = [
    (Equals("a", 1), Equals("a", True), Equals("a", 1.0)),
    (Equals("a", 0.0), Equals("a", -0.0), Equals("a", 0)),
    (Within("a", 1, None), AtLeast("a", 1), AtLeast("a", 1.0)),
    (from_pattern('{"a": [{"numeric": ["=", 1]}]}')[0], from_pattern('{"a": [1]}')[0], from_pattern('{"a": [1.0]}')[0]),
    (Equals("a", Decimal("1.0")), Equals("a", Decimal("1.00")), Equals("a", Fraction(1))),
]


@pytest.mark.parametrize("alike", LIKE, ids=repr)
def test_what_is_only_equal_is_kept_as_it_was_given(alike: tuple[Any, ...]) -> None:
    fields: Any = FieldMatcher()
    for subscriber in range(300):
        fields.subscribe([alike[subscriber % 3], Present("b")][: 1 + subscriber % 2], subscriber)
    fields.check()
    for found in fields:
        told = next(one for one in found.criteria if one.name == "a")
        given = alike[found.subscriber % 3]
        assert repr(told) == repr(given)
        assert told.written == given.written
        assert type(told) is type(given)
    assert len(fields.match_all({"a": 1, "b": 2})) == sum(alike[i % 3].holds(1) for i in range(300))


def test_what_is_kept_is_bounded() -> None:
    fields: FieldMatcher[int] = FieldMatcher()
    known = equals.own.known
    for subscriber in range(3 * equals.KNOWN):
        fields.subscribe(
            [Equals("a", 1), Equals("b", f"{subscriber:{1 + 300 * (subscriber % 2)}}"), Present("c")], subscriber
        )
    assert 0 < len(known) <= equals.KNOWN
    assert all(len(part) <= equals.LONGEST for likeness in known for part in likeness if isinstance(part, str))
