"""Matching by fields: the worked examples, and anything against a comparison of every criterion with every
field."""

from __future__ import annotations

import doctest
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie import AMQP, MQTT, Dialect, SubscriptionTrie
from subtrie.errors import TopicError
from subtrie.fields import (
    Criterion,
    Equals,
    FieldMatcher,
    FieldSubscription,
    OneOf,
    Present,
    RoutingMatcher,
    Within,
)
from subtrie.locked import LockedTrie
from subtrie.matcher import Matcher
from subtrie.naive import NaiveMatcher

WORKED_EXAMPLE: dict[int, list[Criterion]] = {
    0: [Equals("currency", "USD"), Present("urgent")],
    1: [Equals("currency", "EUR")],
    2: [Equals("market", "forex"), Equals("currency", "EUR")],
    3: [Present("urgent")],
}


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

    def test_numbers_are_used_again(self, matcher: FieldMatcher) -> None:
        matcher.unsubscribe(WORKED_EXAMPLE[1], 1)
        matcher.unsubscribe(WORKED_EXAMPLE[0], 0)
        matcher.subscribe([Present("late")], 4)
        assert list(matcher._state.load().used) == [0, 2, 3]
        assert matcher.match_all({"late": 1, "currency": "EUR"}) == (4,)
        matcher.check()

    def test_nothing_is_left_of_what_has_gone(self, matcher: FieldMatcher) -> None:
        for subscriber, criteria in WORKED_EXAMPLE.items():
            matcher.unsubscribe(criteria, subscriber)
        maps, sizes, used = matcher._state.load()
        assert not any(maps)
        assert not sizes
        assert not used
        matcher.check()


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
        ("criteria", "error", "message"),
        [
            ([], ValueError, "a subscription has 1 to 3 criteria, not 0"),
            ([Present(name) for name in "abcd"], ValueError, "a subscription has 1 to 3 criteria, not 4"),
            (["urgent"], TypeError, "a criterion must be Equals, Present, OneOf or Within, not str"),
            ([Equals("f", ["a"])], TypeError, "unhashable type: 'list'"),  # type: ignore[arg-type]
        ],
    )
    def test_is_refused_and_changes_nothing(self, criteria: list[Any], error: type[Exception], message: str) -> None:
        matcher = FieldMatcher(max_criteria=3)
        for change in (matcher.subscribe, matcher.unsubscribe):
            with pytest.raises(error, match=message):
                change(criteria, "ann")
        assert len(matcher) == 0
        matcher.check()

    @pytest.mark.parametrize("most", [0, -1])
    def test_a_matcher_for_no_criteria_is_refused(self, most: int) -> None:
        with pytest.raises(ValueError, match=f"max_criteria must be 1 or more, not {most}"):
            FieldMatcher(max_criteria=most)

    def test_unhashable_subscriber(self) -> None:
        matcher = FieldMatcher()
        with pytest.raises(TypeError, match="unhashable type: 'dict'"):
            matcher.subscribe([Present("f")], {})
        assert len(matcher) == 0
        matcher.check()

    def test_unhashable_value_in_a_message_is_named(self, matcher: FieldMatcher) -> None:
        for ask in (matcher.match_all, matcher.match_any, matcher.hits):
            with pytest.raises(TypeError, match="the value of field 'tags' must be hashable, not list"):
                ask({"urgent": None, "tags": ["a"]})


names = st.sampled_from("fgh")
values = st.integers(0, 3)
criteria: st.SearchStrategy[Criterion] = st.one_of(
    st.builds(Equals, names, values),
    st.builds(Present, names),
    st.builds(OneOf, names, st.lists(values, max_size=3)),
    st.builds(lambda name, bounds: Within(name, min(bounds), max(bounds)), names, st.tuples(values, values)),
)
subscriptions = st.tuples(st.lists(criteria, min_size=1, max_size=4), st.integers(0, 2))
messages = st.dictionaries(names, values | st.none())


def hits(criteria: list[Criterion], message: dict[str, Any]) -> int:
    return sum(c.name in message and c.holds(message[c.name]) for c in set(criteria))


@given(
    changes=st.lists(st.tuples(st.booleans(), subscriptions), max_size=12),
    asked=st.lists(messages, min_size=1, max_size=4),
)
def test_any_changes_answer_as_counting_criterion_by_criterion(
    changes: list[tuple[bool, tuple[list[Criterion], int]]], asked: list[dict[str, Any]]
) -> None:
    matcher = FieldMatcher()
    present: set[FieldSubscription] = set()
    for subscribes, (criteria, subscriber) in changes:
        subscription = FieldSubscription(frozenset(criteria), subscriber)
        if subscribes:
            assert matcher.subscribe(criteria, subscriber) == (subscription not in present)
            present.add(subscription)
        else:
            assert matcher.unsubscribe(criteria, subscriber) == (subscription in present)
            present.discard(subscription)
        matcher.check()
    for message in asked:
        counted = {s: hits(list(s.criteria), message) for s in present}
        assert matcher.hits(message) == {s: count for s, count in counted.items() if count}
        assert set(matcher.match_any(message)) == {s.subscriber for s, count in counted.items() if count}
        complete = {s.subscriber for s, count in counted.items() if count == len(s.criteria)}
        assert set(matcher.match_all(message)) == complete


def in_threads(work: Callable[[int], None], threads: int) -> None:
    together = Barrier(threads)

    def together_work(thread: int) -> None:
        together.wait()
        work(thread)

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(together_work, thread) for thread in range(threads)]:
            done.result()


def test_a_match_sees_one_instant() -> None:
    """Each writer moves one subscriber between two fields: it is under the old one or the new one, or
    both."""
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
            assert seen == own  # all of them have a range that holds 0
        for subscription in own:
            assert matcher.unsubscribe(subscription.criteria, thread)

    in_threads(work, threads)
    matcher.check()
    assert len(matcher) == 0


every_topic_matcher = pytest.mark.parametrize("topics", [SubscriptionTrie, NaiveMatcher, LockedTrie])


@every_topic_matcher
class TestRouting:
    def test_wants_the_topic_and_all_criteria(self, topics: Callable[[], Matcher]) -> None:
        matcher = RoutingMatcher(topics())
        cheap = [Within("price", high=1.1)]
        assert matcher.subscribe("forex.*", cheap, "ann")
        assert matcher.subscribe("forex.*", [*cheap, Equals("side", "buy")], "bob")
        assert matcher.subscribe("forex.#", [], "cy")
        assert not matcher.subscribe("forex.*", cheap, "ann")
        assert set(matcher.match("forex.eur", {"price": 1.0, "side": "buy"})) == {"ann", "bob", "cy"}
        assert set(matcher.match("forex.eur", {"price": 1.0})) == {"ann", "cy"}
        assert set(matcher.match("forex.eur", {"price": 1.2})) == {"cy"}
        assert set(matcher.match("forex", {"price": 1.0})) == {"cy"}
        assert matcher.match("bonds", {"price": 1.0}) == ()
        assert matcher.unsubscribe("forex.*", cheap, "ann")
        assert not matcher.unsubscribe("forex.*", cheap, "ann")
        assert len(matcher) == 2
        assert set(matcher.match("forex.eur", {"price": 1.0})) == {"cy"}
        matcher.check()

    def test_a_subscriber_is_answered_once(self, topics: Callable[[], Matcher]) -> None:
        matcher = RoutingMatcher(topics())
        matcher.subscribe("a", [], "ann")
        matcher.subscribe("*", [Present("f")], "ann")
        assert matcher.match("a", {"f": 1}) == ("ann",)
        matcher.check()

    def test_bad_input_is_refused_and_changes_nothing(self, topics: Callable[[], Matcher]) -> None:
        matcher = RoutingMatcher(topics())
        with pytest.raises(TopicError, match="forbidden character"):
            matcher.subscribe("a\0", [], "ann")
        with pytest.raises(TypeError, match="a criterion must be"):
            matcher.subscribe("a", ["urgent"], "ann")  # type: ignore[list-item]
        with pytest.raises(TypeError, match="the value of field 'f' must be hashable, not list"):
            matcher.match("a", {"f": []})
        assert len(matcher) == 0
        matcher.check()


@pytest.mark.parametrize("topics", [SubscriptionTrie, NaiveMatcher])
def test_a_shared_subscription_is_refused(topics: Callable[[Dialect], Matcher]) -> None:
    """Of a group, the matcher for topics would pick members that the message does not suit."""
    matcher = RoutingMatcher(topics(MQTT))
    for change in (matcher.subscribe, matcher.unsubscribe):
        with pytest.raises(TopicError, match="shared subscription"):
            change("$share/workers/jobs", [Present("f")], "ann")
    assert len(matcher) == 0
    matcher.check()


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


def test_the_manual_is_right() -> None:
    manual = Path(__file__).parent.parent / "docs" / "topics.md"
    failed, tried = doctest.testfile(str(manual), module_relative=False)
    assert tried > 0
    assert failed == 0


routes = st.tuples(
    st.sampled_from(["a", "b", "a.b", "*", "#", "a.#", "*.b"]), st.lists(criteria, max_size=3), st.integers(0, 2)
)


@every_topic_matcher
@given(
    changes=st.lists(st.tuples(st.booleans(), routes), max_size=12),
    asked=st.lists(st.tuples(st.sampled_from(["a", "b", "a.b", "b.b", ""]), messages), min_size=1, max_size=4),
)
def test_any_routes_answer_as_topic_and_criteria_one_by_one(
    topics: Callable[[], Matcher],
    changes: list[tuple[bool, tuple[str, list[Criterion], int]]],
    asked: list[tuple[str, dict[str, Any]]],
) -> None:
    matcher = RoutingMatcher(topics())
    present: set[tuple[str, FieldSubscription]] = set()
    for subscribes, (filter, criteria, subscriber) in changes:
        route = filter, FieldSubscription(frozenset(criteria), subscriber)
        if subscribes:
            assert matcher.subscribe(filter, criteria, subscriber) == (route not in present)
            present.add(route)
        else:
            assert matcher.unsubscribe(filter, criteria, subscriber) == (route in present)
            present.discard(route)
        assert len(matcher) == len(present)
    for topic, message in asked:
        wanting = {
            s.subscriber
            for filter, s in present
            if AMQP.matches(AMQP.split_filter(filter), AMQP.split_topic(topic))
            and hits(list(s.criteria), message) == len(s.criteria)
        }
        found = matcher.match(topic, message)
        assert set(found) == wanting
        assert len(found) == len(wanting), "a subscriber twice"
    matcher.check()


@every_topic_matcher
def test_a_routed_match_sees_one_instant(topics: Callable[[], Matcher]) -> None:
    """Each writer moves one subscriber from a filter and a criterion to another of both, and back."""
    matcher = RoutingMatcher(topics())
    writers = 2
    places: list[tuple[str, list[Criterion]]] = [("a.b", [Present("f")]), ("*.b", [Within("f", 0, 1)])]
    for writer in range(writers):
        matcher.subscribe(*places[0], writer)

    def work(thread: int) -> None:
        if thread < writers:
            here, there = places
            for _ in range(300):
                matcher.subscribe(*there, thread)
                matcher.unsubscribe(*here, thread)
                here, there = there, here
        else:
            for _ in range(600):
                assert set(matcher.match("a.b", {"f": 1})) == set(range(writers))

    in_threads(work, writers + 2)
    matcher.check()
    assert len(matcher) == writers
