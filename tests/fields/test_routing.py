"""Routes: topics, and criteria on fields, in one question."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie
from subtrie.baselines.naive import NaiveMatcher
from subtrie.errors import TopicError
from subtrie.fields import Criterion, Equals, FieldMatcher, FieldSubscription, Present, RoutingMatcher, Within
from subtrie.fields.topics import Topic
from subtrie.matcher import Matcher
from tests.fields.test_matcher import criteria, every_topic_matcher, hits, in_threads, messages
from tests.subtrie.support import is_valid


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
        with pytest.raises(TopicError, match="forbidden character"):
            matcher.match("a\0", {"f": []})
        assert len(matcher) == 0
        matcher.check()


class TestARoutingMatcherAsAnObject:
    def test_it_is_initialised_once(self) -> None:
        matcher = RoutingMatcher(MQTT)
        with pytest.raises(TypeError, match="initialised once"):
            matcher.__init__(AMQP)  # type: ignore[misc]
        assert matcher.dialect is MQTT
        matcher.check()

    def test_one_that_is_not_initialised_is_empty_and_read_only(self) -> None:
        unmade = RoutingMatcher.__new__(RoutingMatcher)
        assert unmade.match("a", {}) == ()
        assert list(unmade) == []
        with pytest.raises(TypeError, match="is not initialised"):
            unmade.subscribe("a", [], 1)
        unmade.check()

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda matcher: pickle.loads(pickle.dumps(matcher))])
    def test_a_copy_is_one_of_its_own(self, copied: Callable[[RoutingMatcher], RoutingMatcher]) -> None:
        matcher = RoutingMatcher(MQTT)
        matcher.subscribe("a/+", [Present("f")], "ann", qos=1)
        other = copied(matcher)
        assert list(other) == list(matcher)
        assert other.dialect == MQTT
        other.subscribe("a/b", [], "bob")
        assert matcher.match("a/b", {"f": 0}) == ("ann",)
        assert set(other.match("a/b", {"f": 0})) == {"ann", "bob"}
        matcher.check()
        other.check()

    def test_a_difference_is_to_another_one(self) -> None:
        with pytest.raises(TypeError, match="older must be a RoutingMatcher, not FieldMatcher"):
            RoutingMatcher().diff(FieldMatcher())  # type: ignore[arg-type]

    def test_a_derived_dialect_splits_topics_in_its_own_way(self) -> None:
        class Folded(Dialect):
            def __init__(self) -> None:
                super().__init__("folded", separator=".", one_word="*", many_words="#")

            def split_topic(self, topic: str) -> tuple[str, ...]:
                return super().split_topic(topic.lower())

        matcher = RoutingMatcher(Folded())
        matcher.subscribe("a.*", [], 1)
        assert matcher.match("A.B", {}) == (1,)
        matcher.check()


@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
def test_topics_are_refused_as_the_dialect_refuses_them(dialect: Dialect) -> None:
    matcher = RoutingMatcher(dialect)
    matcher.subscribe(dialect.one_word, [], 1)
    for topic in ("", "a\0", "a b", dialect.one_word, f"a{dialect.separator}", "é", "\ud800", "x" * 70_000):
        try:
            words = dialect.split_topic(topic)
        except TopicError as refusal:
            with pytest.raises(TopicError, match=re.escape(str(refusal))):
                matcher.match(topic, {})
        else:
            assert matcher.match(topic, {}) == ((1,) if dialect.matches((dialect.one_word,), words) else ())
    with pytest.raises(TypeError, match="a topic must be a str, not int"):
        matcher.match(5, {})  # type: ignore[arg-type]
    matcher.check()


@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
def test_a_criterion_on_topics_says_what_the_dialect_says(dialect: Dialect) -> None:
    """Every filter of up to three words against every topic of up to three words."""
    wild = [word for word in (dialect.one_word, dialect.many_words) if word]
    filters = [words for n in range(4) for words in itertools.product(["a", "b", "$x", *wild], repeat=n)]
    topics = [words for n in range(4) for words in itertools.product(["a", "b", "$x"], repeat=n)]
    valid = [words for words in filters if is_valid(dialect.split_filter, dialect.join(words))]
    for words, topic in itertools.product(valid, topics):
        criterion = Topic(dialect, dialect.join(words), words)
        assert criterion.holds(topic) == dialect.matches(words, topic), (words, topic)


@pytest.mark.parametrize("topics", [SubscriptionTrie, NaiveMatcher])
def test_a_shared_subscription_is_refused(topics: Callable[[Dialect], Matcher]) -> None:
    """From a group, the matcher for topics could pick a member with criteria that the message does not meet."""
    matcher = RoutingMatcher(topics(MQTT))
    for change in (matcher.subscribe, matcher.unsubscribe):
        with pytest.raises(TopicError, match="shared subscription"):
            change("$share/workers/jobs", [Present("f")], "ann")
    assert len(matcher) == 0
    matcher.check()


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
    for subscribes, (filter, asked_for, subscriber) in changes:
        route = filter, FieldSubscription(frozenset(asked_for), subscriber)
        if subscribes:
            assert matcher.subscribe(filter, asked_for, subscriber) == (route not in present)
            present.add(route)
        else:
            assert matcher.unsubscribe(filter, asked_for, subscriber) == (route in present)
            present.discard(route)
        assert len(matcher) == len(present)
    for topic, message in asked:
        wanting = {
            s.subscriber
            for filter, s in present
            if AMQP.matches(AMQP.split_filter(filter), AMQP.split_topic(topic))
            and hits(s.criteria, message) == len(s.criteria)
        }
        found = matcher.match(topic, message)
        assert set(found) == wanting
        assert len(found) == len(wanting), "a subscriber twice"
    matcher.check()


@every_topic_matcher
def test_a_routed_match_sees_one_instant(topics: Callable[[], Matcher]) -> None:
    """Each writer moves one subscriber from one filter and criterion to another filter and criterion, and back."""
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


def test_names_that_are_no_texts_say_nothing_of_a_topic() -> None:
    routes: RoutingMatcher = RoutingMatcher()
    routes.subscribe_many([("a.b", [], 1), ("a.*", [], 2), ("*.b.*", [], 3), ("a.b.*", [], 4)])
    odd: Any = {0: ("a", "b"), ("word", 0): "a", ("words", 0): ("a", "b"), ("word", 1): "b"}
    for topic in ("x.y", "x.y.z"):
        assert routes.match(topic, odd) == ()
    assert sorted(routes.match("a.b", odd)) == [1, 2]
    assert sorted(routes.match("a.b.c", odd)) == [3, 4]
    routes.check()


@pytest.mark.parametrize("other", ["x", ("a",), ("a", []), None, 1])
def test_what_is_no_subscription_is_not_there(other: Any) -> None:
    assert other not in RoutingMatcher()


@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("seed", range(4))
def test_filters_of_any_words_answer_as_the_dialect_does(dialect: Dialect, seed: int) -> None:
    """Words short and long, of characters of one, two and four bytes, as many as there are places and more."""
    rng = random.Random(seed)
    words = ["a", "b", "$x", "seven77", "eight888", "nine99999", "é", "\u0101", "\U00010400", "ab", "ba"]
    wild = [word for word in (dialect.one_word, dialect.many_words) if word]
    sizes = [1, 2, 3, 4, 62, 63, 64, 65, 66]
    topics = [tuple(rng.choices(words, k=rng.choice(sizes))) for _ in range(40)]
    filters: set[tuple[str, ...]] = set()
    for topic in topics * 6:
        asked = [rng.choice([word, word, word, rng.choice(words + wild)]) for word in topic]
        filters.add(tuple(asked[: rng.choice([len(asked), rng.randrange(1, len(asked) + 1)])]))
    matcher: RoutingMatcher[int] = RoutingMatcher(dialect)
    known = [filter for filter in sorted(filters) if is_valid(dialect.split_filter, dialect.join(filter))]
    for number, filter in enumerate(known):
        matcher.subscribe(dialect.join(filter), [] if number % 2 else [Present("f")], number)
    matcher.check()
    valid = [topic for topic in topics if is_valid(dialect.split_topic, dialect.join(topic))]
    assert len(valid) > 10
    for topic in valid:
        wanted = [number for number, filter in enumerate(known) if dialect.matches(filter, topic)]
        assert sorted(matcher.match(dialect.join(topic), {"f": 1})) == wanted
        assert sorted(matcher.match(dialect.join(topic), {})) == [number for number in wanted if number % 2]
