"""Matching by fields: worked examples, and random cases against a comparison of every criterion with every field."""

from __future__ import annotations

import copy
import doctest
import itertools
import math
import pickle
import random
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie import AMQP, MQTT, NATS, SubscriptionTrie
from subtrie.baselines.locked import LockedTrie
from subtrie.baselines.naive import NaiveMatcher
from subtrie.fields import (
    Absent,
    AnyOf,
    AtLeast,
    AtMost,
    Criterion,
    Equals,
    FieldMatcher,
    FieldSubscription,
    GreaterThan,
    LessThan,
    Not,
    NotIn,
    OneOf,
    Prefix,
    Present,
    RoutingMatcher,
    Within,
    from_pattern,
)
from subtrie.fields.matcher import state_of

WORKED_EXAMPLE: dict[int, list[Criterion]] = {
    0: [Equals("currency", "USD"), Present("urgent")],
    1: [Equals("currency", "EUR")],
    2: [Equals("market", "forex"), Equals("currency", "EUR")],
    3: [Present("urgent")],
}


def left_in(matcher: Any) -> list[Any]:
    """The objects that a matcher's state still leads to: none, if there are no subscriptions."""
    state = state_of(matcher)
    index, clues = state.index, state.clues
    parts = [state.owners, state.rows, index.fields, index.absent]
    if clues is not None:
        parts += [clues.fields, clues.absent]
    return [part for part in parts if part is not None]


@pytest.fixture
def matcher() -> FieldMatcher:
    matcher = FieldMatcher()
    for subscriber, criteria in WORKED_EXAMPLE.items():
        assert matcher.subscribe(criteria, subscriber)
    return matcher


class TestWorkedExample:
    @pytest.mark.parametrize(
        ("message", "hits", "all_hold"),
        [
            ({"currency": "JPY", "market": "forex", "slow": None}, [0, 0, 1, 0], set()),
            ({"currency": "JPY", "urgent": None}, [1, 0, 0, 1], {3}),
            ({"market": "forex", "currency": "EUR"}, [0, 1, 2, 0], {1, 2}),
        ],
    )
    def test_hits(self, matcher: FieldMatcher, message: dict[str, Any], hits: list[int], all_hold: set[int]) -> None:
        counted = {subscription.subscriber: count for subscription, count in matcher.hits(message).items()}
        assert [counted.get(subscriber, 0) for subscriber in WORKED_EXAMPLE] == hits
        assert set(matcher.match_any(message)) == {n for n, count in enumerate(hits) if count}
        assert set(matcher.match_all(message)) == all_hold
        matcher.check()


def test_matchers_are_generic_in_their_subscribers() -> None:
    matcher: FieldMatcher[int] = FieldMatcher[int]()
    matcher.subscribe([Present("a")], 1)
    found: tuple[int, ...] = matcher.match_all({"a": 1})
    assert found == tuple(d.subscriber for d in matcher.deliveries({"a": 1})) == (1,)
    routes: RoutingMatcher[str] = RoutingMatcher[str](MQTT)
    routes.subscribe("a", [], "ann")
    assert [route.subscriber.upper() for route in routes] == ["ANN"]
    matcher.check()
    routes.check()


class TestChanges:
    def test_a_subscription_is_there_once(self, matcher: FieldMatcher) -> None:
        assert not matcher.subscribe(reversed(WORKED_EXAMPLE[0]), 0)
        assert matcher.subscribe(WORKED_EXAMPLE[0], 1)
        assert len(matcher) == 5
        assert matcher.unsubscribe(WORKED_EXAMPLE[0], 1)
        assert not matcher.unsubscribe(WORKED_EXAMPLE[0], 1)
        assert len(matcher) == 4
        matcher.check()

    def test_a_subscriber_with_two_matching_subscriptions_is_answered_once(self, matcher: FieldMatcher) -> None:
        matcher.subscribe([Present("currency")], 1)
        assert matcher.match_all({"currency": "EUR"}) == (1,)
        matcher.check()

    def test_nothing_is_left_of_what_has_gone(self, matcher: FieldMatcher) -> None:
        matcher.match_any({"urgent": None})
        for subscriber, criteria in WORKED_EXAMPLE.items():
            matcher.unsubscribe(criteria, subscriber)
        assert not matcher
        assert left_in(matcher) == []
        matcher.check()

    def test_options_are_replaced(self, matcher: FieldMatcher) -> None:
        assert not matcher.subscribe(WORKED_EXAMPLE[3], 3, qos=1)
        assert [dict(d.options) for d in matcher.deliveries({"urgent": 1})] == [{"qos": 1}]
        assert [found.options for found in matcher.hits({"urgent": 1}) if found.subscriber == 3] == [{"qos": 1}]
        assert not matcher.subscribe(WORKED_EXAMPLE[3], 3)
        assert [dict(d.options) for d in matcher.deliveries({"urgent": 1})] == [{}]
        matcher.check()

    @pytest.mark.parametrize("counted", [False, True])
    def test_unsubscribe_all(self, matcher: FieldMatcher, counted: bool) -> None:
        if counted:
            matcher.hits({})
        for value in range(40):
            matcher.subscribe([Equals("id", value), Within("price", 0, value)], 2)
        assert matcher.unsubscribe_all(2) == 41
        assert matcher.unsubscribe_all(2) == 0
        assert len(matcher) == 3
        assert matcher.match_all({"id": 3, "price": 1, "market": "forex", "currency": "EUR"}) == (1,)
        matcher.check()

    def test_several_at_once_or_none(self, matcher: FieldMatcher) -> None:
        with pytest.raises(TypeError, match="a criterion must be"):
            matcher.subscribe_many([([Present("a")], 1), (["a"], 2)])
        assert len(matcher) == 4
        assert matcher.subscribe_many([([Present("a")], 1), ([Present("a")], 1, {"qos": 2}), ([Present("b")], 1)]) == 2
        assert [dict(d.options) for d in matcher.deliveries({"a": 1})] == [{"qos": 2}]
        matcher.check()

    def test_what_is_there(self, matcher: FieldMatcher) -> None:
        assert (WORKED_EXAMPLE[2], 2) in matcher
        assert (WORKED_EXAMPLE[2], 1) not in matcher
        assert {found.subscriber: set(found.criteria) for found in matcher} == {
            subscriber: set(criteria) for subscriber, criteria in WORKED_EXAMPLE.items()
        }
        assert [found.subscriber for found in matcher.subscriptions(1)] == [1]
        matcher.clear()
        assert list(matcher) == left_in(matcher) == []
        matcher.check()


class TestInstants:
    def test_a_snapshot_stays_and_a_fork_goes_its_own_way(self, matcher: FieldMatcher) -> None:
        snapshot, fork = matcher.snapshot(), matcher.fork()
        before = set(matcher)
        matcher.unsubscribe_all(3)
        matcher.subscribe([Present("late")], 5)
        fork.subscribe([Present("late")], 6)
        assert snapshot.match_all({"urgent": 1, "late": 1}) == (3,)
        assert snapshot.match_any({"late": 1}) == ()
        assert set(snapshot) == before
        assert matcher.match_all({"urgent": 1, "late": 1}) == (5,)
        assert set(fork.match_all({"urgent": 1, "late": 1})) == {3, 6}
        assert snapshot.snapshot() is snapshot
        for one in (matcher, snapshot, fork):
            one.check()

    def test_a_snapshot_refuses_changes(self, matcher: FieldMatcher) -> None:
        snapshot = matcher.snapshot()
        for change in (
            lambda: snapshot.subscribe([Present("f")], 1),
            lambda: snapshot.unsubscribe([Present("f")], 1),
            lambda: snapshot.subscribe_many([]),
            lambda: snapshot.unsubscribe_all(1),
            snapshot.clear,
        ):
            with pytest.raises(TypeError, match=r"is a read-only snapshot; take \.fork"):
                change()
        assert len(snapshot) == 4
        snapshot.check()

    def test_a_difference(self, matcher: FieldMatcher) -> None:
        for value in range(100):
            matcher.subscribe([Equals("id", value)], "many")
        before = matcher.snapshot()
        matcher.unsubscribe([Equals("id", 7)], "many")
        matcher.subscribe([Equals("id", 8)], "many", qos=1)
        matcher.subscribe([Equals("id", 100)], "many")
        matcher.unsubscribe_all(0)
        changes = {(c.kind, c.subscription.subscriber, c.subscription.criteria) for c in matcher.diff(before)}
        assert changes == {
            ("removed", "many", frozenset([Equals("id", 7)])),
            ("updated", "many", frozenset([Equals("id", 8)])),
            ("added", "many", frozenset([Equals("id", 100)])),
            ("removed", 0, frozenset(WORKED_EXAMPLE[0])),
        }
        assert list(matcher.diff(matcher)) == []
        matcher.check()

    def test_equal_are_those_with_the_same_subscriptions_and_options(self) -> None:
        matcher: FieldMatcher = FieldMatcher()
        matcher.subscribe([Present("a"), Equals("b", 1)], "ann", qos=1)
        matcher.subscribe([Present("a")], "bob")
        other = FieldMatcher(max_criteria=5)
        other.subscribe_many([([Present("a")], "bob"), ([Equals("b", 1.0), Present("a")], "ann", {"qos": 1})])
        assert matcher == other == matcher.snapshot() == copy.copy(matcher) == pickle.loads(pickle.dumps(matcher))
        changes: list[Callable[[FieldMatcher], Any]] = [
            lambda m: m.subscribe([Present("a")], "bob", qos=2),
            lambda m: m.unsubscribe([Present("a")], "bob"),
            lambda m: m.subscribe([Present("b")], "bob"),
            lambda m: m.clear(),
        ]
        for change in changes:
            changed = other.fork()
            change(changed)
            assert matcher != changed
        assert matcher != RoutingMatcher()  # type: ignore[comparison-overlap]
        assert len({matcher, other, matcher}) == 2, "hashed by identity"

    def test_routes_are_compared_with_their_dialects(self) -> None:
        one, other = RoutingMatcher(AMQP), RoutingMatcher(NATS)
        assert one == RoutingMatcher(AMQP) != other
        one.subscribe("a.b", [Present("f")], 1)
        assert one != RoutingMatcher(AMQP)
        other.subscribe("a.b", [Present("f")], 1)
        assert one != other
        assert one == one.snapshot() == pickle.loads(pickle.dumps(one))
        assert hash(one) != hash(one.fork())

    def test_a_copy_and_a_pickle(self, matcher: FieldMatcher) -> None:
        matcher.subscribe([NotIn("a", [1]), Absent("b"), LessThan("c", 3), Prefix("d", "x")], "ann", qos=1)
        for other in (copy.copy(matcher), pickle.loads(pickle.dumps(matcher))):
            assert set(other) == set(matcher)
            other.check()
        assert [dict(s.options) for s in pickle.loads(pickle.dumps(list(matcher.subscriptions("ann"))))] == [{"qos": 1}]


class TestCriteria:
    @pytest.mark.parametrize(
        ("criterion", "holds", "fails"),
        [
            (Equals("f", 1), [1, 1.0], [2, None, "1"]),
            (Equals("f", None), [None], [0]),
            (Present("f"), [None, 0, ""], []),
            (OneOf("f", ["a", "b"]), ["a", "b"], ["c", None]),
            (OneOf("f", []), [], ["a", None]),
            (Within("f", 1, 3), [1, 2.5, 3], [0, 3.5, "2", None, float("nan")]),
            (Within("f", low=1), [1, 10**9], [0, "2"]),
            (Within("f", high="m"), ["a", "m"], ["n", 2]),
            (Within("f"), [0, "a", None], []),
            (Within("f", 1, 3, True, True), [1.5, 2, Decimal("2.5"), Fraction(3, 2)], [1, 3, "2", 1 + 0j]),
            (Within("f", "a", "b", high_open=True), ["a", "az"], ["b", b"a", 1]),
            (Within("f", b"a", b"b"), [b"a", b"ab"], ["a"]),
            (Within("f", date(2026, 1, 1)), [date(2026, 1, 1)], [datetime(2026, 1, 2), 1]),
            (Within("f", datetime(2026, 1, 1)), [datetime(2026, 1, 2)], [datetime(2026, 1, 2, tzinfo=UTC), 1]),
            (Within("f", datetime(2026, 1, 1, tzinfo=UTC)), [datetime(2026, 1, 2, tzinfo=UTC)], [datetime(2026, 1, 2)]),
            (Within("f", timedelta(1), timedelta(2)), [timedelta(1.5)], [timedelta(3), 1]),
            (Within("f", (1, 2), (3,)), [(2,), (1, 2)], [(0,), (4,), 2, "a"]),
            (LessThan("f", 3), [2, 2.9, True], [3, "2", None]),
            (AtMost("f", 3), [3, Decimal(3)], [3.1]),
            (GreaterThan("f", "m"), ["n", "ma"], ["m", 9]),
            (AtLeast("f", 3), [3, float("inf")], [2, float("nan")]),
            (NotIn("f", ["a", 1]), ["b", 2, None, ""], ["a", 1, True]),
            (NotIn("f", []), [0, None], []),
            (Prefix("f", "ab"), ["ab", "abc", "ab\U0010ffff"], ["a", "ac", "AB", b"ab", None, 1]),
            (Prefix("f", ""), ["", "a"], [b"", 1]),
            (Prefix("f", "\U0010ffff"), ["\U0010ffff", "\U0010ffffa"], ["a"]),
            (Prefix("f", b"a\xff"), [b"a\xff", b"a\xffb"], [b"b", "a"]),
        ],
    )
    def test_holds_for(self, criterion: Criterion, holds: list[Any], fails: list[Any]) -> None:
        matcher = FieldMatcher()
        matcher.subscribe([criterion], "ann")
        for value in holds:
            assert matcher.match_all({"f": value}) == ("ann",), value
        for value in fails:
            assert matcher.match_all({"f": value}) == (), value
        assert matcher.match_all({"g": (holds + fails)[0]}) == ()
        assert [criterion.holds(value) for value in holds + fails] == [True] * len(holds) + [False] * len(fails)
        assert pickle.loads(pickle.dumps(criterion)) == criterion
        assert matcher.unsubscribe([pickle.loads(pickle.dumps(criterion))], "ann")
        assert left_in(matcher) == []
        matcher.check()

    def test_absence_holds_where_no_field_is(self) -> None:
        matcher = FieldMatcher()
        matcher.subscribe([Absent("f")], "ann")
        matcher.subscribe([Absent("f"), Equals("g", 1)], "bob")
        assert matcher.match_all({}) == matcher.match_all({"g": 2}) == ("ann",)
        assert set(matcher.match_all({"g": 1})) == {"ann", "bob"}
        assert matcher.match_all({"f": None, "g": 1}) == ()
        assert matcher.match_any({"f": None, "g": 1}) == ("bob",)
        matcher.check()

    def test_an_impossible_range_is_refused(self) -> None:
        with pytest.raises(ValueError, match="nothing lies within 2 and 1"):
            Within("price", 2, 1)
        with pytest.raises(ValueError, match="nothing lies within nan and 1"):
            Within("price", float("nan"), 1)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Equals("price", float("nan")), "nothing is equal to nan"),
            (lambda: Equals("price", Decimal("sNaN")), "nothing is equal to Decimal"),
            (lambda: OneOf("price", [1, float("nan")]), "nothing is equal to nan"),
            (lambda: NotIn("price", [1, float("nan")]), "nothing is equal to nan"),
            (lambda: Within("price", float("nan")), "nothing lies within nan and None"),
            (lambda: LessThan("price", float("nan")), "nothing lies within None and nan"),
            (lambda: Within("price", 1, 1, low_open=True), "nothing lies within 1 and 1, open"),
        ],
    )
    def test_a_value_to_which_nothing_is_equal_is_refused(self, make: Callable[[], Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            make()

    def test_overlapping_criteria_on_one_field_each_count(self) -> None:
        matcher = FieldMatcher()
        criteria: list[Criterion] = [
            Present("f"),
            Equals("f", 2),
            OneOf("f", [1, 2]),
            OneOf("f", [2, 3]),
            Within("f", 1, 2),
            Within("f", 2, 9),
        ]
        matcher.subscribe(criteria, "ann")
        subscription = FieldSubscription(frozenset(criteria), "ann")
        assert matcher.hits({"f": 2}) == {subscription: 6}
        assert matcher.hits({"f": 1}) == {subscription: 3}
        assert matcher.match_all({"f": 2}) == ("ann",)
        assert matcher.match_all({"f": 1}) == ()
        matcher.check()


class TestBadInput:
    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Equals(1, 1), "the name of a field is a str, not int"),  # type: ignore[arg-type]
            (lambda: OneOf("f", "ab"), "the values of field 'f' are several: give a list of them, not 'ab'"),
            (lambda: OneOf("f", [[]]), "the value of field 'f' must be hashable, not list"),  # type: ignore[list-item]
            (lambda: AtLeast("f", None), "a comparison with field 'f' needs a bound, not None"),
            (lambda: Prefix("f", 1), "a prefix is a str or bytes, not int"),  # type: ignore[arg-type]
            (lambda: FieldMatcher().match_all([("f", 1)]), "a message is a mapping of .*, not list"),  # type: ignore[arg-type]
            (lambda: FieldMatcher().match_many({"f": 1}), "match_many.. takes several messages"),  # type: ignore[dict-item]
            (lambda: FieldMatcher().diff({}), "older must be a FieldMatcher, not dict"),  # type: ignore[arg-type]
        ],
    )
    def test_of_a_wrong_type(self, make: Callable[[], Any], message: str) -> None:
        with pytest.raises(TypeError, match=message):
            make()

    @pytest.mark.parametrize(
        ("criteria", "error", "message"),
        [
            ([], ValueError, "a subscription has 1 to 3 criteria, not 0"),
            ([Present(name) for name in "abcd"], ValueError, "a subscription has 1 to 3 criteria, not 4"),
            (["urgent"], TypeError, "a criterion must be Equals, Present or another of subtrie.fields, not str"),
            ([OneOf("f", range(4)), NotIn("g", ["a", ""])], ValueError, "name up to 5 values, not 6"),
            ([Equals("f", ["a"])], TypeError, "unhashable type: 'list'"),  # type: ignore[arg-type]
        ],
    )
    def test_is_refused_and_changes_nothing(self, criteria: list[Any], error: type[Exception], message: str) -> None:
        matcher = FieldMatcher(max_criteria=3, max_values=5)
        for change in (matcher.subscribe, matcher.unsubscribe):
            with pytest.raises(error, match=message):
                change(criteria, "ann")
        assert len(matcher) == 0
        matcher.check()

    @pytest.mark.parametrize("most", [0, -1])
    def test_a_matcher_for_no_criteria_is_refused(self, most: int) -> None:
        with pytest.raises(ValueError, match=f"max_criteria must be 1 or more, not {most}"):
            FieldMatcher(max_criteria=most)

    def test_nobody_is_a_subscriber_like_others(self) -> None:
        """`subscriptions` alone cannot be asked for the subscriber None, since None means all subscribers there."""
        matcher = FieldMatcher()
        matcher.subscribe([Present("f")], 1)
        assert ([Present("f")], None) not in matcher
        matcher.subscribe([Present("f")], None)
        assert ([Present("f")], None) in matcher
        assert matcher.unsubscribe([Present("f")], 1)
        assert matcher.match_all({"f": 1}) == (None,)
        matcher.check()

    def test_of_one_list_where_alternatives_were_meant(self) -> None:
        one, other = Equals("state", "open"), Equals("state", "paid")
        for wrong in ([one, other], {one, other}, iter([one, other])):
            with pytest.raises(ValueError, match="AnyOf takes alternatives one by one"):
                AnyOf(wrong)
        assert AnyOf(*[one, other]) == AnyOf(other, one)
        both = AnyOf([one, Present("a")], other)
        assert pickle.loads(pickle.dumps(both)) == both
        assert pickle.loads(pickle.dumps(AnyOf((one, other)))) == AnyOf(
            (one, other)
        )  # one alternative, as patterns have it

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: OneOf("n", 5), "the values of field 'n' are several: give a list of them, not 5"),  # type: ignore[arg-type]
            (lambda: Not([Equals("a", 1)]), "a criterion must be Equals, .*, not list"),  # type: ignore[arg-type]
            (lambda: Within("n", 5, "a"), "nothing lies within 5 and 'a', which do not compare"),
            (lambda: from_pattern({"a": [{"prefx": "x"}]}), "field 'a': .* test 'prefx'; did you mean 'prefix'"),
            (lambda: from_pattern({"a": [{"anything_but": "x"}]}), "did you mean 'anything-but'"),
            (
                lambda: from_pattern({"$and": [{"a": [1]}]}),
                "'.and': .*; the only name with a meaning of its own is .or",
            ),
        ],
    )
    def test_is_told_what_is_wrong(self, make: Callable[[], Any], message: str) -> None:
        with pytest.raises((TypeError, ValueError), match=message):
            make()

    @pytest.mark.parametrize("name", ["butt", "But", "buts", "BUT", "but_"])
    @pytest.mark.parametrize("value", [1, ("a/secret/#",)])
    def test_an_option_that_begins_like_but_is_refused(self, name: str, value: Any) -> None:
        fields, routes = FieldMatcher(), RoutingMatcher(MQTT)
        changes: list[Callable[[], object]] = [
            lambda: fields.subscribe([Present("a")], 1, **{name: value}),
            lambda: fields.subscribe_many([([Present("a")], 1, {name: value})]),
            lambda: routes.subscribe("a/#", [], 1, **{name: value}),
        ]
        for change in changes:
            with pytest.raises((TypeError, ValueError), match=r"has no exclusions|did you mean but"):
                change()
        assert len(fields) + len(routes) == 0
        with pytest.raises(ValueError, match="has no exclusions"):
            fields.subscribe([Present("a")], 1, but=("a",))

    def test_unhashable_subscriber(self) -> None:
        matcher = FieldMatcher()
        with pytest.raises(TypeError, match="unhashable type: 'dict'"):
            matcher.subscribe([Present("f")], {})
        assert len(matcher) == 0
        matcher.check()

    def test_what_has_no_hash_is_no_value_of_its_field(self, matcher: FieldMatcher) -> None:
        matcher.subscribe([Present("tags")], "tagged")
        values: list[Any] = [set(), bytearray(), {}, [], [[], {}], {"a": []}]
        for ask in (matcher.match_all, matcher.match_any, matcher.hits, matcher.deliveries):
            for value in values:
                assert len(ask({"urgent": None, "tags": value})) == len(ask({"urgent": None}))
        assert matcher.match_all({"tags": [set(), "a"]}) == ("tagged",)

    def test_a_value_whose_comparison_raises_is_equal_to_none(self, matcher: FieldMatcher) -> None:
        class Odd:
            def __eq__(self, other: object) -> bool:
                raise error("not to be compared")

            def __hash__(self) -> int:
                return hash("USD")

        error: type[BaseException]
        for error in (TypeError, ValueError, KeyError):  # noqa: B007 - it is raised
            message = {"currency": Odd(), "urgent": None}
            assert matcher.match_all(message) == matcher.match_all({"urgent": None})
        for error in (MemoryError, RecursionError, KeyboardInterrupt):
            with pytest.raises(error, match="not to be compared"):
                matcher.match_all({"currency": Odd()})


names = st.sampled_from("fgh")
small = st.integers(0, 3)
texts = st.text("ab\U0010ffff", max_size=3)
numbers = small | st.sampled_from([0.5, 1.5, Decimal("1.5"), Fraction(1, 2), float("inf"), True])
values = numbers | texts
ordered_pairs = st.tuples(numbers, numbers) | st.tuples(texts, texts)


def within(name: str, bounds: tuple[Any, Any], low_open: bool, high_open: bool) -> Criterion:
    low, high = min(bounds), max(bounds)
    return Within(name, low, high, low_open and low < high, high_open and low < high)


one_sided = st.sampled_from([LessThan, AtMost, GreaterThan, AtLeast])
criteria: st.SearchStrategy[Criterion] = st.one_of(
    st.builds(Equals, names, values | st.none()),
    st.builds(Present, names),
    st.builds(Absent, names),
    st.builds(OneOf, names, st.lists(values, max_size=3)),
    st.builds(NotIn, names, st.lists(values, max_size=3)),
    st.builds(within, names, ordered_pairs, st.booleans(), st.booleans()),
    st.builds(lambda one_sided, name, bound: one_sided(name, bound), one_sided, names, values),
    st.builds(Prefix, names, texts),
)
subscriptions = st.tuples(st.lists(criteria, min_size=1, max_size=4), st.integers(0, 2))
messages = st.dictionaries(names, values | st.none() | st.sampled_from([float("nan"), Decimal("NaN"), 1j, b"a", (1,)]))


def compare(one: Any, other: Any, strictly: bool) -> bool:
    if isinstance(one, str) != isinstance(other, str):
        return False
    try:
        return bool(one < other or (one == other and not strictly))
    except (TypeError, ArithmeticError):
        return False


def meets(criterion: Any, message: dict[str, Any]) -> bool:
    """Whether a message meets a criterion, of a private copy, too: computed without the criterion's code."""
    kind = type(criterion).__name__
    if kind == "Absent" or criterion.name not in message:
        return kind == "Absent" and criterion.name not in message
    value = message[criterion.name]
    match kind:
        case "Present":
            return True
        case "Equals":
            return bool(value == criterion.value)
        case "OneOf":
            return any(value == one for one in criterion.values)
        case "NotIn":
            return all(value != one for one in criterion.values)
        case "Prefix":
            return isinstance(value, str) and value[: len(criterion.prefix)] == criterion.prefix
    above = criterion.low is None or compare(criterion.low, value, criterion.low_open)
    return above and (criterion.high is None or compare(value, criterion.high, criterion.high_open))


def hits(criteria: Iterable[Criterion], message: dict[str, Any]) -> int:
    return sum(meets(criterion, message) for criterion in set(criteria))


@given(
    changes=st.lists(st.tuples(st.booleans(), subscriptions), max_size=12),
    asked=st.lists(messages, min_size=1, max_size=4),
    counted_from=st.integers(0, 12),
)
def test_any_changes_answer_as_counting_criterion_by_criterion(
    changes: list[tuple[bool, tuple[list[Criterion], int]]], asked: list[dict[str, Any]], counted_from: int
) -> None:
    matcher = FieldMatcher()
    present: set[FieldSubscription] = set()
    for number, (subscribes, (criteria, subscriber)) in enumerate(changes):
        subscription = FieldSubscription(frozenset(criteria), subscriber)
        if number == counted_from:
            matcher.hits({})
        if subscribes:
            assert matcher.subscribe(criteria, subscriber) == (subscription not in present)
            present.add(subscription)
        else:
            assert matcher.unsubscribe(criteria, subscriber) == (subscription in present)
            present.discard(subscription)
        matcher.check()
    assert set(matcher) == present
    for message in asked:
        counted = {s: hits(s.criteria, message) for s in present}
        complete = [s for s, count in counted.items() if count == len(s.criteria)]
        found = matcher.match_all(message)
        assert set(found) == {s.subscriber for s in complete}
        assert len(found) == len(set(found)), "a subscriber twice"
        assert sorted(d.subscriber for d in matcher.deliveries(message)) == sorted(s.subscriber for s in complete)
        assert matcher.hits(message) == {s: count for s, count in counted.items() if count}
        assert set(matcher.match_any(message)) == {s.subscriber for s, count in counted.items() if count}
    matcher.check()


@given(before=st.lists(subscriptions, max_size=12), after=st.lists(subscriptions, max_size=12), counted=st.booleans())
def test_the_difference_of_any_two_instants(
    before: list[tuple[list[Criterion], int]], after: list[tuple[list[Criterion], int]], counted: bool
) -> None:
    older = FieldMatcher()
    older.subscribe_many(before)
    newer = older.fork()
    if counted:
        newer.hits({})
    for subscription in before[::2]:
        newer.unsubscribe(*subscription)
    newer.subscribe_many(after)
    kinds = {"added": set(newer) - set(older), "removed": set(older) - set(newer)}
    changes = list(newer.diff(older))
    assert {kind: {c.subscription for c in changes if c.kind == kind} for kind in kinds} == kinds
    assert len(changes) == sum(map(len, kinds.values()))
    older.check()
    newer.check()


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("rest", [[], [Equals("rare", 1)]])
def test_criteria_whose_hashes_agree_are_different_criteria(rest: list[Criterion], counted: bool) -> None:
    """The hash of 0 and of the empty text is 0, so these two have one hash; here they also have one subscriber."""
    zero, empty = [Equals("f", 0), *rest], [Equals("f", ""), *rest]
    matcher = FieldMatcher()
    assert matcher.subscribe(zero, "me")
    older = matcher.fork()
    if counted:
        matcher.hits({})
    assert matcher.subscribe(empty, "me")
    matcher.check()
    assert [(c.kind, c.subscription.criteria) for c in matcher.diff(older)] == [("added", frozenset(empty))]
    assert not matcher.subscribe(zero, "me", colour="red")
    changes = sorted((c.kind, c.subscription.criteria) for c in matcher.diff(older))
    assert changes == [("added", frozenset(empty)), ("updated", frozenset(zero))]
    assert matcher.unsubscribe(zero, "me")
    assert matcher.match_all({"f": 0, "rare": 1}) == ()
    assert matcher.match_all({"f": "", "rare": 1}) == ("me",)
    matcher.check()
    assert matcher.unsubscribe(empty, "me")
    assert left_in(matcher) == []


@pytest.mark.parametrize("make", [Equals, AtLeast, lambda name, n: Within(name, n - 20, n + 20), LessThan])
def test_many_on_one_field_come_and_go(make: Callable[[str, int], Criterion]) -> None:
    """There are enough of them for nodes at several levels, and for nodes of ranges that are halved and joined."""
    matcher = FieldMatcher()
    rng = random.Random(3)
    numbers = list(range(300))
    rng.shuffle(numbers)
    for number in numbers:
        assert matcher.subscribe([make("f", number)], number)
    matcher.check()
    for value in (-1, 0, 77, 299, 500):
        assert set(matcher.match_all({"f": value})) == {n for n in numbers if meets(make("f", n), {"f": value})}
    rng.shuffle(numbers)
    while numbers:
        assert matcher.unsubscribe([make("f", numbers[-1])], numbers.pop())
        if len(numbers) % 50 == 0:
            matcher.check()
            assert set(matcher.match_all({"f": 150})) == {n for n in numbers if meets(make("f", n), {"f": 150})}
    assert left_in(matcher) == []


EDGES: tuple[Any, ...] = (
    -math.inf, -2.0, -1, -5e-324, -0.0, 0, 5e-324, 0.1, 1, math.nextafter(1, 2), 2**53 - 1, 2**53, 2.0**53, 2**53 + 1,
    10**400, math.inf,
)  # fmt: skip
OTHER_KINDS: tuple[Any, ...] = (True, Fraction(1, 10), Decimal("0.1"), Decimal(2) ** 53 + 1, Fraction(10**400))


@pytest.mark.parametrize("bounds", [EDGES, (*EDGES[::2], *OTHER_KINDS)], ids=["of ints and floats", "of any kind"])
def test_numbers_that_hardly_differ(bounds: tuple[Any, ...]) -> None:
    wanted = [None, *bounds]
    ranges: dict[Criterion, Callable[[Any], bool]] = {}
    for low, high, low_open, high_open in itertools.product(wanted, wanted, (False, True), (False, True)):
        if (low is None and high is None) or (
            None not in (low, high) and not is_up_to(low, high, low_open or high_open)
        ):
            continue
        begins, ends = partial(is_up_to, low, strictly=low_open), partial(is_up_to, other=high, strictly=high_open)
        ranges[Within("a", low, high, low_open, high_open)] = lambda value, begins=begins, ends=ends: (
            begins(other=value) and ends(value)
        )
    matcher = FieldMatcher()
    assert matcher.subscribe_many([([span], number) for number, span in enumerate(ranges)]) == len(ranges)
    matcher.check()
    for value in (*EDGES, *OTHER_KINDS):
        expected = {number for number, is_within in enumerate(ranges.values()) if is_within(value)}
        assert set(matcher.match_all({"a": value})) == expected
        assert {number for number, span in enumerate(ranges) if span.holds(value)} == expected


def is_up_to(one: Any, other: Any, strictly: bool) -> bool:
    """Whether one bound or value is below another, or equal to it unless `strictly`; None means no bound."""
    return one is None or other is None or bool(one < other if strictly else one <= other)


@pytest.mark.parametrize("kind", [int, str, Decimal, date.fromordinal])
def test_many_ranges_come_and_go(kind: Callable[[Any], Any]) -> None:
    rng = random.Random(11)
    matcher, starts = FieldMatcher(), list(range(100, 800, 2))
    spans = {start: Within("a", kind(start), kind(start + rng.randrange(9))) for start in starts}
    for start, span in spans.items():
        matcher.subscribe([span], start)
    matcher.check()
    rng.shuffle(starts)
    for left in range(len(starts) - 1, -1, -1):
        if left % 25 == 0:
            matcher.check()
            for value in rng.sample(range(100, 810), 20):
                expected = {start for start in starts[: left + 1] if spans[start].holds(kind(value))}
                assert set(matcher.match_all({"a": kind(value)})) == expected
        assert matcher.unsubscribe([spans[starts[left]]], starts[left])
    matcher.check()
    assert not matcher


def test_ranges_that_come_in_order_keep_the_tree_flat() -> None:
    matcher = FieldMatcher()
    for number in range(3_000):
        matcher.subscribe([Within("f", number, number + 1)], number)
    matcher.check()
    assert set(matcher.match_all({"f": 10})) == {9, 10}


@pytest.mark.parametrize("common_first", [False, True])
def test_a_subscription_is_found_through_its_rarest_criterion(common_first: bool) -> None:
    """In either order of the criteria, a match does not go through all subscriptions with the common criterion."""
    matcher = FieldMatcher()
    asked: list[int] = []

    class Asked(int):
        def __eq__(self, other: object) -> bool:
            asked.append(int(self))
            return int(self) == other

        def __hash__(self) -> int:
            return hash(int(self))

    for number in range(500):
        both: list[Criterion] = [Equals("type", "order"), Equals("id", Asked(number))]
        matcher.subscribe(both if common_first else both[::-1], number)
    asked.clear()
    assert matcher.match_all({"type": "order", "id": 77}) == (77,)
    assert len(asked) < 10, "subscriptions of other ids were looked at"
    matcher.check()


def in_threads(work: Callable[[int], None], threads: int) -> None:
    together = Barrier(threads)

    def together_work(thread: int) -> None:
        together.wait()
        work(thread)

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(together_work, thread) for thread in range(threads)]:
            done.result()


def test_a_match_sees_one_instant() -> None:
    """Each writer moves one subscriber between two fields: it is under the old one, the new one, or both."""
    matcher = FieldMatcher()
    writers = 2
    for writer in range(writers):
        matcher.subscribe([Present("f")], writer)

    def work(thread: int) -> None:
        if thread < writers:
            places = [Present("f"), Present("g")]
            for _ in range(300):
                matcher.subscribe(places[1:], thread)
                matcher.unsubscribe(places[:1], thread)
                places.reverse()
        else:
            for _ in range(600):
                assert set(matcher.match_any({"f": 1, "g": 1})) == set(range(writers))
                assert set(matcher.match_all({"f": 1, "g": 1})) == set(range(writers))

    in_threads(work, writers + 2)
    matcher.check()
    assert len(matcher) == writers


def test_writers_lose_nothing() -> None:
    matcher = FieldMatcher()
    threads = 4

    def work(thread: int) -> None:
        rng = random.Random(thread)
        own: set[FieldSubscription] = set()
        for _ in range(150):
            criteria: list[Criterion] = [Equals("f", rng.randrange(4)), Within("g", 0, rng.randrange(4))]
            subscription = FieldSubscription(frozenset(criteria), thread)
            if rng.random() < 0.6:
                assert matcher.subscribe(criteria, thread) == (subscription not in own)
                own.add(subscription)
            else:
                assert matcher.unsubscribe(criteria, thread) == (subscription in own)
                own.discard(subscription)
            seen = {s for s in matcher.hits({"f": 1, "g": 0}) if s.subscriber == thread}
            assert seen == own  # each has a range that contains 0
        for subscription in own:
            assert matcher.unsubscribe(subscription.criteria, thread)

    in_threads(work, threads)
    matcher.check()
    assert len(matcher) == 0


every_topic_matcher = pytest.mark.parametrize("topics", [SubscriptionTrie, NaiveMatcher, LockedTrie])


@pytest.mark.parametrize(
    ("criterion", "value"),
    [
        (Within("price", low=1), Decimal("NaN")),
        (Within("price", high=1), Decimal("NaN")),
        (Within("price", low=Decimal(1)), float("nan")),
        (Within("price", low=1), 1j),
    ],
)
def test_what_does_not_compare_is_not_within(criterion: Within, value: Any) -> None:
    matcher = FieldMatcher()
    matcher.subscribe([criterion], "ann")
    assert matcher.match_all({"price": value}) == matcher.match_any({"price": value}) == ()
    assert matcher.match_all({"price": 1}) == ("ann",)
    matcher.check()


@pytest.mark.parametrize("bounds", [(2, 1), (Decimal("NaN"), 1), ("a", 1)])
def test_bounds_that_nothing_lies_within(bounds: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="nothing lies within"):
        Within("price", *bounds)


@pytest.mark.parametrize("page", ["topics.md", "fields.md"])
def test_the_manual_is_right(page: str) -> None:
    manual = Path(__file__).parents[2] / "docs" / page
    failed, tried = doctest.testfile(str(manual), module_relative=False)
    assert tried > 0
    assert failed == 0
