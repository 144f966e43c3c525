"""Routes: topics, and criteria on fields, in one question."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subtrie.fields
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie
from subtrie.baselines.locked import LockedTrie
from subtrie.baselines.naive import NaiveMatcher
from subtrie.errors import TopicError
from subtrie.fields import Equals, GreaterThan, Present, RoutingMatcher
from subtrie.fields.topics import Topic
from tests.fields.drawn import THEMES
from tests.fields.reading import is_wanted, values_of, ways_of
from tests.subtrie.support import is_valid

every_dialect = pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
WORDS = ["a", "b", "$x", "seven77", "eight888", "nine99999", "é", "\u0101", "\U00010400", "ab", "ba"]


def wild(dialect: Dialect) -> list[str]:
    return [word for word in (dialect.one_word, dialect.many_words) if word]


@every_dialect
@given(seed=st.integers(0, 2**32), words=st.integers(2, len(WORDS)), steps=st.integers(1, 30))
def test_any_routes_answer_as_topic_and_criteria_one_by_one(
    dialect: Dialect, seed: int, words: int, steps: int
) -> None:
    rng, theme = Random(seed), THEMES["small"]
    matcher: RoutingMatcher[int] = RoutingMatcher(dialect)
    held: dict[tuple[str, frozenset[Any], int], Any] = {}
    older, before = matcher.snapshot(), set(held)
    for step in range(steps):
        parts = rng.choices(WORDS[:words] + wild(dialect), k=rng.randint(1, 4))
        criteria = theme.criteria(subtrie.fields, rng) if rng.random() < 0.7 else []
        route = (
            type("Name", (str,), {"__str__": lambda _: "lie"})(dialect.join(parts)),
            frozenset(criteria),
            rng.randrange(3),
        )
        if held and rng.random() < 0.4:
            route = rng.choice(list(held))
        if not is_valid(dialect.split_filter, route[0]):
            continue
        if rng.random() < 0.7:
            assert matcher.subscribe(*route) is (route not in held)
            held[route] = ways_of(route[1])
        else:
            assert matcher.unsubscribe(*route) is (held.pop(route, None) is not None)
        assert (route in matcher) is (route in held)
        if step == steps // 2:
            older, before = matcher.snapshot(), set(held)
        topic, message = tuple(rng.choices(WORDS[:words], k=rng.randint(1, 4))), theme.message(rng)
        if is_valid(dialect.split_topic, dialect.join(topic)):
            there = list(values_of(message))
            wanted = {
                who
                for (filter, _, who), ways in held.items()
                if dialect.matches(dialect.split_filter(filter), topic) and is_wanted(ways, there)
            }
            found = matcher.match(dialect.join(topic), message)
            assert set(found) == wanted
            assert len(found) == len(wanted), "a subscriber twice"
    changes = [(change.kind, tuple(change.subscription[:3])) for change in matcher.diff(older)]
    assert len(changes) == len(set(changes))
    kinds = {"added": held.keys() - before, "removed": before - held.keys()}
    assert set(changes) == {(kind, route) for kind, routes in kinds.items() for route in routes}
    matcher.check()


@every_dialect
@pytest.mark.parametrize("seed", range(2))
def test_filters_of_any_words_answer_as_the_dialect_does(dialect: Dialect, seed: int) -> None:
    """Words short and long, of characters of one, two and four bytes, as many as there are places and more; filters with
    words in common, which are a crowd."""
    rng, sizes = Random(seed), [1, 2, 3, 4, 62, 63, 64, 65, 66]
    topics = [tuple(rng.choices(WORDS, k=rng.choice(sizes))) for _ in range(40)]
    topics += [("a", "b", "q", str(i % 40), str(i)) for i in range(60)] + [
        (str(i % 9), "x", str(i), "y") for i in range(60)
    ]
    filters: set[tuple[str, ...]] = {("+", "#"), ("*",) * 5, (">",)}
    for topic in topics * 3:
        asked = [rng.choice([word, word, word, rng.choice(WORDS + wild(dialect))]) for word in topic]
        filters.add(tuple(asked[: rng.choice([len(asked), rng.randrange(1, len(asked) + 1)])]))
    matcher: RoutingMatcher[int] = RoutingMatcher(dialect)
    known = [filter for filter in sorted(filters) if is_valid(dialect.split_filter, dialect.join(filter))]
    for number, filter in enumerate(known):
        matcher.subscribe(dialect.join(filter), [] if number % 2 else [GreaterThan("v", 1)], number)
    matcher.check()
    for topic in topics:
        if is_valid(dialect.split_topic, dialect.join(topic)):
            wanted = [number for number, filter in enumerate(known) if dialect.matches(filter, topic)]
            assert sorted(matcher.match(dialect.join(topic), {"v": 2})) == wanted
            assert sorted(matcher.match(dialect.join(topic), {"v": 1})) == [n for n in wanted if n % 2]
    for filter_, criteria, subscriber, _ in list(matcher):
        assert matcher.unsubscribe(filter_, criteria, subscriber)
    matcher.check()
    assert not matcher


@every_dialect
def test_a_criterion_on_topics_says_what_the_dialect_says(dialect: Dialect) -> None:
    """Every filter of up to three words against every topic of up to three words."""
    filters = [words for n in range(4) for words in itertools.product(["a", "b", "$x", *wild(dialect)], repeat=n)]
    topics = [words for n in range(4) for words in itertools.product(["a", "b", "$x"], repeat=n)]
    for words in filters:
        if is_valid(dialect.split_filter, dialect.join(words)):
            criterion = Topic(dialect, dialect.join(words), words)
            for topic in topics:
                assert criterion.holds(topic) == dialect.matches(words, topic), (words, topic)


@every_dialect
def test_topics_are_refused_as_the_dialect_refuses_them(dialect: Dialect) -> None:
    matcher: RoutingMatcher[int] = RoutingMatcher(dialect)
    matcher.subscribe(dialect.one_word, [], 1)
    for topic in ("", "a\0", "a b", dialect.one_word, f"a{dialect.separator}", "é", "\ud800", "x" * 70_000):
        try:
            words = dialect.split_topic(topic)
        except TopicError as refusal:
            with pytest.raises(TopicError, match=re.escape(str(refusal))):
                matcher.match(topic, {})
        else:
            assert matcher.match(topic, {}) == ((1,) if dialect.matches((dialect.one_word,), words) else ())
    matcher.check()


class Folded(Dialect):
    """A dialect that splits topics in its own way."""

    def __init__(self) -> None:
        super().__init__("folded", separator=".", one_word="*", many_words="#")

    def split_topic(self, topic: str) -> tuple[str, ...]:
        return super().split_topic(topic.lower())


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda matcher: pickle.loads(pickle.dumps(matcher))])
def test_a_routing_matcher_as_an_object(copied: Callable[[Any], Any]) -> None:
    for topics in (MQTT, SubscriptionTrie(MQTT), NaiveMatcher(MQTT), LockedTrie(MQTT)):
        matcher: RoutingMatcher[Any] = RoutingMatcher(topics)
        matcher.subscribe("a/+", [Present("f")], "ann", qos=1)
        other = copied(matcher)
        assert (list(other), other.dialect) == (list(matcher), MQTT)
        assert matcher == other == matcher.snapshot()
        assert hash(matcher) != hash(other)
        other.subscribe("a/b", [], "bob")
        assert matcher.match("a/b", {"f": 0}) == ("ann",)
        assert set(other.match("a/b", {"f": 0})) == {"ann", "bob"}
        assert matcher != other
        matcher.check()
        other.check()
    assert RoutingMatcher(AMQP) == RoutingMatcher() != RoutingMatcher(NATS)
    unmade: RoutingMatcher[Any] = RoutingMatcher.__new__(RoutingMatcher)
    assert (unmade.match("a", {}), list(unmade)) == ((), [])
    unmade.check()
    absent: list[Any] = ["x", ("a",), ("a", []), None, 1]
    assert [each in RoutingMatcher() for each in absent] == [False] * 5
    folded: RoutingMatcher[int] = RoutingMatcher(Folded())
    folded.subscribe("a.*", [], 1)
    assert folded.match("A.B", {}) == (1,)
    assert RoutingMatcher(NATS).subscribe("a", [], 1, queue=None)
    assert RoutingMatcher().subscribe("a", [], 1, queue="a word like any other in AMQP")


def test_names_that_are_no_texts_say_nothing_of_a_topic() -> None:
    routes: RoutingMatcher[int] = RoutingMatcher()
    routes.subscribe_many([("a.b", [], 1), ("a.*", [], 2), ("*.b.*", [], 3), ("a.b.*", [Equals("f", 1)], 4)])
    odd: Any = {0: ("a", "b"), ("word", 0): "a", ("words", 0): ("a", "b"), ("word", 1): "b", "f": 1}
    for topic, wanted in (("x.y", []), ("x.y.z", []), ("a.b", [1, 2]), ("a.b.c", [3, 4])):
        assert sorted(routes.match(topic, odd)) == wanted
    routes.check()
