"""One suite for the other matchers (`subtrie.baselines`), beside the trie: published cases, any sequence of operations, and
threads; and what each of them does to be quick.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie import AMQP, MQTT, Dialect, SubscriptionTrie, TopicError
from subtrie.baselines.filtering import FilteringMatcher
from subtrie.baselines.locked import LockedTrie
from subtrie.baselines.naive import NaiveMatcher
from subtrie.matcher import Matcher
from tests.subtrie.support import DIALECTS, LITERAL_WORDS, WORDS, is_valid, reaches, text_of
from tests.threads import run_together

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
VECTORS = Path(__file__).parents[1] / "data" / "vectors"

every_matcher = pytest.mark.parametrize("make", MATCHERS.values(), ids=MATCHERS)


@every_matcher
def test_published_cases_all_subscribed_at_once(make: MakeMatcher) -> None:
    lines = [json.loads(line) for line in (VECTORS / "topics.jsonl").read_text().splitlines()]
    for dialect in DIALECTS:
        matcher, mine = make(dialect), [case for case in lines if case["dialect"] == dialect.name.lower()]
        cases = [case for case in mine if "matches" in case and is_valid(dialect.split_topic, case["topic"])]
        filters = {case["filter"] for case in cases}
        for filter in filters:
            assert matcher.subscribe(filter, filter)
        for case in (case for case in mine if not case.get("valid", True)):
            for kind, ways in (
                ("filter", (matcher.subscribe, matcher.unsubscribe)),
                ("topic", (matcher.match, matcher.has_match)),
            ):
                if kind in case and not is_valid(getattr(dialect, f"split_{kind}"), case[kind]):
                    for way in ways:
                        with pytest.raises(TopicError):
                            way(case[kind], *[1] * (kind == "filter"))  # type: ignore[operator]
        assert len(matcher) == len(filters)
        for case in cases:
            found = matcher.match(case["topic"])
            assert (case["filter"] in found) == case["matches"], case
            assert matcher.has_match(case["topic"]) == bool(found)
            assert len(found) == len(set(found))
        matcher.check()
        for filter in filters:
            assert matcher.unsubscribe(filter, filter)
        assert not any(matcher.has_match(case["topic"]) or matcher.match(case["topic"]) for case in cases)
        matcher.check()


@every_matcher
def test_what_is_refused_changes_nothing(make: Any) -> None:
    class Lying(str):
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return hash("z")

    matcher = make(MQTT)
    matcher.subscribe("z", 1)
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: matcher.subscribe(b"a", 1), "a filter must be a str, not bytes"),
        (lambda: matcher.match(b"a"), "a topic must be a str, not bytes"),
        (lambda: matcher.subscribe("b", ["ann"]), "unhashable type: 'list'"),
        (lambda: matcher.unsubscribe("z", ["ann"]), "unhashable type: 'list'"),
    ]
    for call, text in wrong:
        with pytest.raises(TypeError, match=text):
            call()
    if not isinstance(matcher, SubscriptionTrie):
        with pytest.raises(TopicError, match="shared subscription, which only a SubscriptionTrie itself serves"):
            matcher.subscribe("$share/workers/jobs", 1)
    assert (len(matcher), matcher.match("z"), matcher.match("b")) == (1, (1,), ())
    matcher.subscribe(Lying("a/b"), 2)  # a text is what it is, whatever its own methods say
    assert matcher.match("z") == (1,)
    assert matcher.match(Lying("a/b")) == matcher.match("a/b") == (2,)
    matcher.check()


ACTIONS = st.sampled_from(["subscribe", "subscribe", "unsubscribe", "match"])
STEPS = st.lists(st.tuples(ACTIONS, WORDS, st.integers(0, 2), LITERAL_WORDS), max_size=20)


@pytest.mark.once
@every_matcher
@given(dialect=st.sampled_from(DIALECTS), steps=STEPS)
def test_any_operations_answer_as_a_set_of_subscriptions(make: MakeMatcher, dialect: Dialect, steps: list[Any]) -> None:
    matcher, there = make(dialect), set[tuple[str, int]]()
    for name, words, number, said in steps:
        on, topic = (text_of(dialect, words), number), text_of(dialect, said)
        if name == "match":
            found = matcher.match(topic)
            assert sorted(found) == sorted({who for filter, who in there if reaches(dialect, filter, topic)})
            assert (matcher.has_match(topic), len(matcher)) == (bool(found), len(there))
        elif name == "subscribe":
            assert matcher.subscribe(*on) is (on not in there)
            there.add(on)
        else:
            assert matcher.unsubscribe(*on) is (on in there)
            there.discard(on)
        matcher.check()


@every_matcher
@pytest.mark.parametrize("seed", [1, 2])
def test_threads_lose_nothing_and_see_nothing_that_is_not_there(make: MakeMatcher, seed: int) -> None:
    """Each thread changes subscriptions of its own, and knows what it must see of them at any moment. One subscription
    stands throughout and must always be seen."""
    matcher = make(AMQP)
    matcher.subscribe("#", "always")

    def work(thread: int) -> set[tuple[str, Any]]:
        rng, own = random.Random(f"{seed}-{thread}"), set[tuple[str, Any]]()

        def text(*wild: str) -> str:
            return ".".join(rng.choices(["a", "b", "c", *wild], k=rng.randint(1, 3)))

        for _ in range(400):
            on, topic, way = (text("*", "#"), (thread, rng.randrange(3))), text(), rng.randrange(3)
            if way == 0:
                assert matcher.subscribe(*on) is (on not in own)
                own.add(on)
            elif way == 1:
                assert matcher.unsubscribe(*on) is (on in own)
                own.discard(on)
            else:
                found = matcher.match(topic)
                assert "always" in found
                mine = {who for filter, who in own if reaches(AMQP, filter, topic)}
                assert {seen for seen in found if seen[0] == thread} == mine
                assert matcher.has_match(topic)
        return own

    there = set().union(*run_together([partial(work, thread) for thread in range(4)])) | {("#", "always")}
    matcher.check()
    assert len(matcher) == len(there)
    for topic in ("a", "b", "a.b", "c.c", "a.b.c", "c.b.a"):
        assert set(matcher.match(topic)) == {who for filter, who in there if reaches(AMQP, filter, topic)}


@every_matcher
def test_many_wildcards_are_matched_in_polynomial_time(make: MakeMatcher) -> None:
    """An exponential matcher would never return from this."""
    matcher = make(AMQP)
    for last in ("b", "a"):
        matcher.subscribe(".".join(["#", "a"] * 60 + [last]), last)
    assert matcher.match(".".join("a" * 120)) == ("a",)
    assert matcher.has_match(".".join("a" * 120))
    matcher.check()


@with_bitmaps
def test_the_inverted_one_compiles_a_topic_once_and_keeps_no_more_than_allowed() -> None:
    matcher = InvertedMatcher(max_topics=3)
    matcher.subscribe("*", "ann")
    for topic in "abcdefg":
        assert matcher.match(topic) == ("ann",)
    assert len(matcher._rows) == 3
    row = matcher._rows["g"]
    matcher.match("g")
    assert matcher._rows["g"] is row
    matcher.check()
    with pytest.raises(ValueError, match="max_topics must be at least 1, not 0"):
        InvertedMatcher(max_topics=0)


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
        assert matcher.match("a.b") == ("a.b",)
        for topic, rows in (
            ("a.b", 2),  # b and null, and nothing after that first null
            ("a.b.c.d", 3),
            ("a.f.g.d", 2),  # nothing is left after g
            ("x.b.c.d", 0),  # no filter has x or a wildcard in that place
            ("a.b.c.d.e", 0),  # longer than every filter
        ):
            ands.clear()
            matcher.match(topic)
            assert len(ands) == rows, topic
        matcher.check()


def test_the_filtering_one_asks_wide_filters_first_and_skips_those_they_cover() -> None:
    matcher = FilteringMatcher()
    for filter in ("forex.eur", "stock.lon.*", "*.*", "bond.#", "forex.*", "stock.lon.bp"):
        matcher.subscribe(filter, filter)
    assert matcher._state.load().widest == (("bond", "#"), ("*", "*"), ("stock", "lon", "*"))
    matcher.unsubscribe("*.*", "*.*")
    assert matcher._state.load().widest == (("bond", "#"), ("forex", "*"), ("stock", "lon", "*"))
    matcher.check()
    alike = FilteringMatcher()
    for filter in ("*.#", "#.*"):  # of filters that mean the same, one is asked
        alike.subscribe(filter, filter)
    assert len(alike._state.load().widest) == 1
    assert set(alike.match("a")) == {"*.#", "#.*"}
    alike.unsubscribe("*.#", "*.#")
    assert alike.match("a") == ("#.*",)
    alike.check()
