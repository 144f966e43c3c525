"""One suite for all matchers: published cases, any sequence of operations against the naive matcher, and threads."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any, NamedTuple, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subtrie import SubscriptionTrie
from subtrie.baselines.filtering import FilteringMatcher
from subtrie.baselines.locked import LockedTrie
from subtrie.baselines.naive import NaiveMatcher
from subtrie.dialects import AMQP, MQTT, NATS, Dialect
from subtrie.errors import TopicError
from subtrie.matcher import Matcher
from tests.subtrie.support import is_valid

try:
    from subtrie.baselines.bitmap import Bitmap
    from subtrie.baselines.inverted import InvertedMatcher
    from subtrie.baselines.optimised import OptimisedMatcher
except ImportError:  # pyroaring has no build for every interpreter
    HAS_BITMAPS = False
else:
    HAS_BITMAPS = True

with_bitmaps = pytest.mark.skipif(not HAS_BITMAPS, reason="pyroaring is not installed")

MakeMatcher: TypeAlias = Callable[[Dialect], Matcher]
MATCHERS: dict[str, MakeMatcher] = {
    "naive": NaiveMatcher,
    "filtering": FilteringMatcher,
    "locked": LockedTrie,
    "trie": SubscriptionTrie,
    "trie, exact": partial(SubscriptionTrie, exact=True),
}
if HAS_BITMAPS:
    MATCHERS |= {
        "inverted": InvertedMatcher,
        "inverted, forgetful": partial(InvertedMatcher, max_topics=2),
        "optimised": OptimisedMatcher,
    }
WORDS = {AMQP: ["a", "b", "c", "", "a#b"], MQTT: ["a", "b", "", "$s", "$t"], NATS: ["a", "b", "c", "a>", "**"]}
VECTORS = Path(__file__).parents[1] / "data" / "vectors"

every_matcher = pytest.mark.parametrize("make", MATCHERS.values(), ids=MATCHERS)
every_dialect = pytest.mark.parametrize("dialect", WORDS, ids=lambda dialect: dialect.name)


def cases(dialect: Dialect, kind: str) -> list[dict[str, Any]]:
    lines = (VECTORS / "topics.jsonl").read_text().splitlines()
    return [case for case in map(json.loads, lines) if case["dialect"] == dialect.name.lower() and kind in case]


@every_matcher
@every_dialect
def test_published_cases_all_subscribed_at_once(make: MakeMatcher, dialect: Dialect) -> None:
    matcher = make(dialect)
    matching = [case for case in cases(dialect, "matches") if is_valid(dialect.split_topic, case["topic"])]
    filters = {case["filter"] for case in matching}
    for filter in filters:
        assert matcher.subscribe(filter, filter)
    assert len(matcher) == len(filters)
    for case in matching:
        found = matcher.match(case["topic"])
        assert (case["filter"] in found) == case["matches"], case
        assert matcher.has_match(case["topic"]) == bool(found)
        assert len(found) == len(set(found))
    matcher.check()
    for filter in filters:
        assert matcher.unsubscribe(filter, filter)
    assert len(matcher) == 0
    assert not any(matcher.has_match(case["topic"]) or matcher.match(case["topic"]) for case in matching)
    matcher.check()


@every_matcher
@every_dialect
def test_bad_texts_and_subscribers_are_refused_and_change_nothing(make: MakeMatcher, dialect: Dialect) -> None:
    matcher = make(dialect)
    matcher.subscribe("a", 1)
    invalid = [case for case in cases(dialect, "valid") if not case["valid"]]
    for filter in (case["filter"] for case in invalid if "filter" in case):
        if not is_valid(dialect.split_filter, filter):
            for change in (matcher.subscribe, matcher.unsubscribe):
                with pytest.raises(TopicError):
                    change(filter, 1)
    for topic in (case["topic"] for case in invalid if "topic" in case):
        if not is_valid(dialect.split_topic, topic):
            for ask in (matcher.match, matcher.has_match):
                with pytest.raises(TopicError):
                    ask(topic)
    not_text: Any = b"a"
    unhashable: Any = ["ann"]
    with pytest.raises(TypeError, match="a filter must be a str, not bytes"):
        matcher.subscribe(not_text, 1)
    with pytest.raises(TypeError, match="a topic must be a str, not bytes"):
        matcher.match(not_text)
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        matcher.subscribe("b", unhashable)
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        matcher.unsubscribe("a", unhashable)
    matcher.check()
    assert (len(matcher), matcher.match("a"), matcher.match("b")) == (1, (1,), ())


class Operation(NamedTuple):
    name: str
    filter: str
    subscriber: int
    topic: str


def operations(dialect: Dialect) -> st.SearchStrategy[list[Operation]]:
    """There are few words and subscribers, so operations often concern the same ones."""
    assert dialect.many_words is not None
    words = st.sampled_from(WORDS[dialect])
    wild = st.sampled_from([dialect.one_word, dialect.many_words])
    filters = st.lists(words | wild, max_size=5).map(dialect.join)
    topics = st.lists(words, max_size=5).map(dialect.join)
    return st.lists(
        st.builds(
            Operation,
            st.sampled_from(["subscribe", "subscribe", "unsubscribe", "match"]),
            filters.filter(partial(is_valid, dialect.split_filter)),
            st.integers(0, 2),
            topics.filter(partial(is_valid, dialect.split_topic)),
        ),
        max_size=20,
    )


def perform(matcher: Matcher, operation: Operation) -> object:
    if operation.name == "subscribe":
        return matcher.subscribe(operation.filter, operation.subscriber)
    if operation.name == "unsubscribe":
        return matcher.unsubscribe(operation.filter, operation.subscriber)
    found = matcher.match(operation.topic)
    assert len(found) == len(set(found)), "a subscriber twice"
    return set(found), matcher.has_match(operation.topic), len(matcher)


@pytest.mark.parametrize(
    "make",
    [pytest.param(make, id=name, marks=() if name == "trie" else pytest.mark.once) for name, make in MATCHERS.items()],
)
@every_dialect
@settings(max_examples=settings().max_examples // 2)  # half as many as usual, since there are many matchers
@given(data=st.data())
def test_any_operations_answer_as_the_naive_matcher(make: MakeMatcher, dialect: Dialect, data: st.DataObject) -> None:
    matcher, naive = make(dialect), NaiveMatcher(dialect)
    for operation in data.draw(operations(dialect)):
        assert perform(matcher, operation) == perform(naive, operation), operation
        matcher.check()


THREADS = 4
STEPS = 400


@every_matcher
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_threads_lose_nothing_and_see_nothing_that_is_not_there(make: MakeMatcher, seed: int) -> None:
    """Each thread changes subscriptions of its own, and knows what it must see of them at any moment.

    One subscription stands throughout and must always be seen. In the end, the matcher holds the same as a naive
    matcher after the steps of one thread after the other. Steps of different threads commute, since each thread has
    subscribers of its own.
    """
    matcher, naive = make(AMQP), NaiveMatcher(AMQP)
    matcher.subscribe("#", "always")
    naive.subscribe("#", "always")
    together = Barrier(THREADS)

    def steps(thread: int) -> list[Operation]:
        rng = random.Random(f"{seed}-{thread}")
        words = ["a", "b", "c"]

        def text(*wild: str) -> str:
            return ".".join(rng.choices([*words, *wild], k=rng.randint(1, 3)))

        return [
            Operation(rng.choice(["subscribe", "unsubscribe", "match"]), text("*", "#"), rng.randrange(3), text())
            for _ in range(STEPS)
        ]

    def work(thread: int) -> None:
        own = NaiveMatcher(AMQP)
        together.wait()
        for name, filter, number, topic in steps(thread):
            subscriber = thread, number
            if name == "subscribe":
                assert matcher.subscribe(filter, subscriber) == own.subscribe(filter, subscriber)
            elif name == "unsubscribe":
                assert matcher.unsubscribe(filter, subscriber) == own.unsubscribe(filter, subscriber)
            else:
                found = matcher.match(topic)
                assert "always" in found
                assert {seen for seen in found if seen[0] == thread} == set(own.match(topic))
                assert matcher.has_match(topic)

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(work, thread) for thread in range(THREADS)]:
            done.result()
    for thread in range(THREADS):
        for name, filter, number, _ in steps(thread):
            if name != "match":
                getattr(naive, name)(filter, (thread, number))
    matcher.check()
    assert len(matcher) == len(naive)
    for topic in ("a", "b", "a.b", "c.c", "a.b.c", "c.b.a"):
        assert set(matcher.match(topic)) == set(naive.match(topic))


@pytest.mark.parametrize("name", sorted(MATCHERS.keys() - {"trie", "trie, exact"}))
def test_plain_matchers_refuse_shared_subscriptions(name: str) -> None:
    matcher = MATCHERS[name](MQTT)
    with pytest.raises(TopicError, match="shared subscription, which only a SubscriptionTrie itself serves"):
        matcher.subscribe("$share/workers/jobs", 1)
    assert len(matcher) == 0
    matcher.check()


@every_matcher
def test_a_text_is_what_it_is_whatever_its_own_methods_say(make: Any) -> None:
    class Lying(str):
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return hash("z")

    matcher = make(AMQP)
    matcher.subscribe("z", 1)
    matcher.subscribe(Lying("a.b"), 2)
    assert matcher.match("z") == (1,)
    assert matcher.match(Lying("a.b")) == matcher.match("a.b") == (2,)
    matcher.check()


@with_bitmaps
class TestInverted:
    def test_keeps_no_more_topics_than_allowed(self) -> None:
        matcher = InvertedMatcher(max_topics=3)
        matcher.subscribe("*", "ann")
        for topic in "abcdefg":
            assert matcher.match(topic) == ("ann",)
        matcher.check()
        assert len(matcher._rows) == 3

    def test_must_keep_some_topic(self) -> None:
        with pytest.raises(ValueError, match="max_topics must be at least 1, not 0"):
            InvertedMatcher(max_topics=0)

    def test_compiles_a_topic_once(self) -> None:
        matcher = InvertedMatcher()
        matcher.subscribe("a.*", "ann")
        matcher.match("a.b")
        row = matcher._rows["a.b"]
        matcher.match("a.b")
        assert matcher._rows["a.b"] is row
        matcher.check()


@with_bitmaps
class TestOptimised:
    def test_gives_up_rows_with_the_filters_that_needed_them(self) -> None:
        matcher = OptimisedMatcher()
        matcher.subscribe("a.b", 1)
        matcher.subscribe("a.*.c.d", 2)
        assert [set(position.named) for position in matcher._positions] == [{"a"}, {"b"}, {"c"}, {"d"}]
        matcher.unsubscribe("a.*.c.d", 2)
        assert [set(position.named) for position in matcher._positions] == [{"a"}, {"b"}]
        matcher.check()

    def test_only_a_literal_after_the_many_words_wildcard_needs_a_comparison(self) -> None:
        matcher = OptimisedMatcher()
        for filter in ("a.#", "#.*", "a.*.#.#"):
            matcher.subscribe(filter, filter)
        assert len(matcher._inexact) == 0
        matcher.subscribe("#.b", "#.b")
        assert len(matcher._inexact) == 1
        matcher.check()

    def test_ands_no_more_rows_than_it_must(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ands: list[object] = []

        class Watched(Bitmap):
            def __and__(self, other: Any) -> Any:
                ands.append(other)
                return Watched(super().__and__(other))

        monkeypatch.setattr("subtrie.baselines.optimised.Bitmap", Watched)
        matcher = OptimisedMatcher()
        for filter in ("a.b", "a.*.c.d", "e.f.g"):
            matcher.subscribe(filter, filter)

        def rows_after_the_first(topic: str) -> int:
            ands.clear()
            matcher.match(topic)
            return len(ands)

        assert matcher.match("a.b") == ("a.b",)
        assert rows_after_the_first("a.b") == 2  # b and null, and nothing after that first null
        assert rows_after_the_first("a.b.c.d") == 3
        assert rows_after_the_first("a.f.g.d") == 2  # nothing is left after g
        assert rows_after_the_first("x.b.c.d") == 0  # no filter has x or a wildcard in that place
        assert rows_after_the_first("a.b.c.d.e") == 0  # longer than every filter
        matcher.check()


class TestFiltering:
    def test_asks_wide_filters_first_and_skips_those_they_cover(self) -> None:
        matcher = FilteringMatcher()
        for filter in ("forex.eur", "stock.lon.*", "*.*", "bond.#", "forex.*", "stock.lon.bp"):
            matcher.subscribe(filter, filter)
        assert matcher._state.load().widest == (("bond", "#"), ("*", "*"), ("stock", "lon", "*"))
        matcher.unsubscribe("*.*", "*.*")
        assert matcher._state.load().widest == (("bond", "#"), ("forex", "*"), ("stock", "lon", "*"))
        matcher.check()

    def test_of_filters_that_mean_the_same_one_is_asked(self) -> None:
        matcher = FilteringMatcher()
        matcher.subscribe("*.#", "ann")
        matcher.subscribe("#.*", "bob")
        assert len(matcher._state.load().widest) == 1
        assert set(matcher.match("a")) == {"ann", "bob"}
        matcher.unsubscribe("*.#", "ann")
        assert matcher.match("a") == ("bob",)
        matcher.check()


def test_locked_trie_keeps_no_empty_nodes() -> None:
    trie = LockedTrie()
    trie.subscribe("a.b.c", 1)
    trie.subscribe("a", 1)
    trie.unsubscribe("a.b.c", 1)
    assert not trie._root.children["a"].children
    trie.check()


@every_matcher
def test_many_wildcards_are_matched_in_polynomial_time(make: MakeMatcher) -> None:
    """An exponential matcher would never return from this."""
    matcher = make(AMQP)
    for last in ("b", "a"):
        matcher.subscribe(".".join(["#", "a"] * 60 + [last]), last)
    assert matcher.match(".".join("a" * 120)) == ("a",)
    assert matcher.has_match(".".join("a" * 120))
    matcher.check()
