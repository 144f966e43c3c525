"""Which subscriptions some event could share with others: by way of the index, and compared with each."""

from __future__ import annotations

import random

from subtrie.fields import (
    Absent,
    AnyOf,
    Criterion,
    Equals,
    FieldMatcher,
    FieldSubscription,
    NotIn,
    OneOf,
    Prefix,
    Present,
    Within,
)
from subtrie.fields.overlapping import may_share


def test_overlapping_by_way_of_the_index_is_overlapping_of_all() -> None:
    rng = random.Random(9)
    matcher = FieldMatcher()
    present: set[FieldSubscription] = set()

    def some() -> list[Criterion]:
        return [some_criterion(rng, name) for name in rng.sample("fgh", rng.randint(1, 3))]

    for number in range(300):
        criteria = some()
        matcher.subscribe(criteria, number)
        present.add(FieldSubscription(frozenset(criteria), number))
    for _ in range(200):
        asked = some()
        found = list(matcher.overlapping(asked))
        assert len(found) == len(set(found))
        assert set(found) == {one for one in present if may_share(asked, one.criteria)}
    assert list(matcher.overlapping([Equals("f", 1), Absent("f")])) == []
    matcher.check()


def some_criterion(rng: random.Random, name: str) -> Criterion:
    value = rng.randrange(12)
    kinds: list[Criterion] = [
        Equals(name, value),
        Equals(name, str(value)),
        OneOf(name, [value, value + 1]),
        OneOf(name, []),
        NotIn(name, [value]),
        Present(name),
        Absent(name),
        Within(name, value, value + 3, low_open=rng.random() < 0.5),
        Within(name, str(value), None),
        Prefix(name, str(value)),
    ]
    return rng.choice(kinds)


def test_overlapping_looks_at_alternatives_field_by_field() -> None:
    """30 fields with two alternatives each would be 2^60 ways to choose of both."""
    ones = [AnyOf(Equals(f"f{i}", 1), Prefix(f"f{i}", "x")) for i in range(30)]
    others = [AnyOf(Equals(f"f{i}", 2), Prefix(f"f{i}", "y")) for i in range(30)]
    matcher: FieldMatcher[str] = FieldMatcher()
    matcher.subscribe(ones, "ann")
    assert [s.subscriber for s in matcher.overlapping(ones)] == ["ann"]
    assert list(matcher.overlapping(others)) == []
    assert list(matcher.overlapping([*ones[:29], others[29]])) == []
