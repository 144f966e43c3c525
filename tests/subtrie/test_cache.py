"""The match cache: it changes no answer, only the time that matches take, and what stays alive."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctrie import drain
from ctrie._machine import GROUPS
from stress.explorer.bounded import bounded
from subtrie import MQTT, SubscriptionTrie, TopicError
from tests.subtrie.support import subscription_twin
from tests.threads import meanwhile, run_together
from tests.twins import Fault, Together, Twin

CACHED = 64
WORDS = ["a", "b", "c"]
TOPICS = ["a", "a.b", "b.a", "c.c", "a.b.c", "c.b.a", "b.b.b.b"]
filters = st.lists(st.sampled_from([*WORDS, "*", "#"]), min_size=1, max_size=4).map(".".join)


def counted(trie: Any) -> tuple[int, int]:
    stats = trie.stats()
    return stats["cache_hits"], stats["cache_misses"]


def warm(trie: Any, topic: str) -> None:
    """Match until the answer is remembered: the first time notes the topic, the second one remembers the answer."""
    for _ in range(2):
        trie.match(topic)


class TestWhatIsRemembered:
    def test_a_topic_is_recalled_from_the_third_time_on(self) -> None:
        trie = SubscriptionTrie(cache=CACHED)
        trie.subscribe("a.*", "anna")
        assert [trie.match("a.b") for _ in range(5)] == [("anna",)] * 5
        assert counted(trie) == (3, 2)
        trie.check()

    def test_that_nobody_wants_a_topic_is_remembered_too(self) -> None:
        trie = SubscriptionTrie(cache=CACHED)
        warm(trie, "a.b")
        assert trie.match("a.b") == ()
        assert counted(trie)[0] == 1

    def test_without_a_cache_nothing_is_counted(self) -> None:
        trie = SubscriptionTrie()
        warm(trie, "a")
        trie.match("a")
        assert counted(trie) == (0, 0)

    @pytest.mark.parametrize(
        "look", [SubscriptionTrie.snapshot, SubscriptionTrie.fork, SubscriptionTrie.stats, len, bool]
    )
    def test_a_look_at_one_instant_leaves_it_all(self, look: Callable[[Any], Any]) -> None:
        trie = SubscriptionTrie(cache=CACHED)
        for filter in ("a.b", "a.c", "#"):
            trie.subscribe(filter, filter)
        warm(trie, "a.b")
        for _ in range(3):
            look(trie)
            assert sorted(trie.match("a.b")) == ["#", "a.b"]
        assert counted(trie) == (3, 2)
        trie.check()

    def test_the_first_match_after_a_clear_is_counted(self) -> None:
        trie = SubscriptionTrie(cache=CACHED)
        warm(trie, "a")
        trie.clear()
        trie.match("a")
        assert counted(trie) == (0, 1)

    def test_match_many_and_count_use_it(self) -> None:
        trie = SubscriptionTrie(cache=CACHED)
        trie.subscribe("#", 1)
        assert trie.match_many(iter(["a.b"] * 4)) == [(1,)] * 4  # for a list, it would ask once
        assert trie.count("a.b") == 1
        assert counted(trie)[0] == 3

    def test_what_is_no_topic_is_refused_every_time(self) -> None:
        trie = SubscriptionTrie(cache=CACHED)
        for _ in range(4):
            with pytest.raises(TopicError):
                trie.match("a.\0")
            with pytest.raises(TypeError):
                trie.match(7)  # type: ignore[arg-type]

    def test_a_string_of_another_type_is_no_key(self) -> None:
        class Shouting(str):
            def __eq__(self, other: object) -> bool:
                return True

            __hash__ = str.__hash__

        trie = SubscriptionTrie(cache=CACHED)
        trie.subscribe("a", "anna")
        warm(trie, "a")
        assert trie.match(Shouting("b")) == ()
        assert trie.match(Shouting("a")) == ("anna",)

    @pytest.mark.parametrize("letter", ["a", "é", "ж", "𝄞"], ids=["ascii", "one byte", "two bytes", "four bytes"])
    def test_topics_that_differ_in_one_character_are_told_apart(self, letter: str) -> None:
        """In a cache of four places, all topics share the same places, so only their texts tell them apart."""
        trie = SubscriptionTrie(cache=4)
        for size in range(1, 30):
            text = letter * size
            topics = [text, *(f"{text[:at]}b{text[at + 1 :]}" for at in range(size))]
            for topic in topics:
                trie.subscribe(topic, topic)
            assert [trie.match(topic) for topic in topics for _ in range(3)] == [(t,) for t in topics for _ in range(3)]
        assert counted(trie)[0] > 400
        trie.check()

    def test_a_snapshot_and_a_fork_remember_for_themselves(self) -> None:
        trie = SubscriptionTrie(MQTT, cache=CACHED)
        trie.subscribe("a/+", "anna")
        warm(trie, "a/b")
        snapshot, fork = trie.snapshot(), trie.fork()
        trie.unsubscribe("a/+", "anna")
        fork.subscribe("a/#", "bert")
        for _ in range(4):
            assert trie.match("a/b") == ()
            assert snapshot.match("a/b") == ("anna",)
            assert sorted(fork.match("a/b")) == ["anna", "bert"]
        assert counted(snapshot) == counted(fork) == (2, 2)
        assert counted(trie) == (3, 2 + 1)

    @pytest.mark.parametrize("cache", [-1, 1 << 17])
    def test_a_size_out_of_bounds_is_refused(self, cache: int) -> None:
        with pytest.raises(ValueError, match=f"between 0 and 65536 topics a thread, not {cache}"):
            SubscriptionTrie(cache=cache)

    def test_a_size_that_is_no_number_is_refused(self) -> None:
        with pytest.raises(TypeError, match="cache must be a number of topics, not str"):
            SubscriptionTrie(cache="64")  # type: ignore[arg-type]


CHANGES: dict[str, Callable[[Any], Any]] = {
    "another subscriber": lambda t: t.subscribe("a.b", "bert"),
    "another filter": lambda t: t.subscribe("a.*", "bert"),
    "a wildcard at the root": lambda t: t.subscribe("#", "bert"),
    "a filter below": lambda t: t.subscribe("a.b.#", "bert"),
    "the only subscriber goes": lambda t: t.unsubscribe("a.b", "anna"),
    "clear": lambda t: t.clear(),
    "a snapshot and then a write": lambda t: (t.snapshot(), t.subscribe("*.b", "bert")),
    "unsubscribe_all": lambda t: t.unsubscribe_all("anna"),
    "gone and back": lambda t: (t.unsubscribe("a.b", "anna"), t.subscribe("a.b", "anna")),
}


class TestNoAnswerIsOlderThanACompletedWrite:
    @pytest.mark.parametrize("change", CHANGES)
    def test_after_every_kind_of_change(self, change: str) -> None:
        cached, plain = SubscriptionTrie(cache=CACHED), SubscriptionTrie()
        for trie in (cached, plain):
            trie.subscribe("a.b", "anna")
            for _ in range(3):
                trie.match("a.b")
            CHANGES[change](trie)
        for _ in range(4):
            assert sorted(cached.match("a.b")) == sorted(plain.match("a.b"))
        cached.check()

    @given(
        steps=st.lists(
            st.tuples(st.sampled_from(["subscribe", "unsubscribe", "snapshot", "clear"]), filters, st.integers(0, 2)),
            max_size=30,
        )
    )
    def test_whatever_happens_it_answers_as_a_trie_without_one(self, steps: list[tuple[str, str, int]]) -> None:
        cached, plain = SubscriptionTrie(cache=4), SubscriptionTrie()
        for what, filter, subscriber in steps:
            arguments = (filter, subscriber) if "subscribe" in what else ()
            for trie in (cached, plain):
                getattr(trie, what)(*arguments)
            for topic in TOPICS * 3:
                assert sorted(cached.match(topic)) == sorted(plain.match(topic))
        cached.check()

    def test_of_two_filters_that_somebody_moves_between(self) -> None:
        """Real threads: anna is always on one of the filters, so no answer, remembered or not, may leave her out."""
        trie = SubscriptionTrie(cache=CACHED)
        trie.subscribe("#", "anna")

        def move() -> None:
            for new, old in (("a.b", "#"), ("*.b", "a.b"), ("#", "*.b")):
                trie.subscribe(new, "anna")
                trie.unsubscribe(old, "anna")

        def ask() -> None:
            for _ in range(2_000):
                assert trie.match("a.b") == ("anna",)

        with meanwhile(move):
            run_together([ask, ask, ask])
        trie.check()

    def test_every_thread_reads_its_own_writes(self) -> None:
        trie = SubscriptionTrie(cache=4)

        def work(number: int) -> None:
            mine: set[str] = set()
            rng = random.Random(number)
            for _ in range(400):
                filter = rng.choice(["a.b", "a.*", "#", "*.b"])
                if filter in mine:
                    trie.unsubscribe(filter, number)
                else:
                    trie.subscribe(filter, number)
                mine ^= {filter}
                for topic in ("a.b", "c.b", "c"):
                    wanted = any(on == "#" or (on == "*.b" and topic == "c.b") or topic == "a.b" for on in mine)
                    assert (number in trie.match(topic)) is wanted

        with meanwhile(trie.snapshot):
            run_together([lambda number=number: work(number) for number in range(4)])
        trie.check()


# ----------------------------------------------------------------------------------------------- at every single access


def outdated(private: Twin, one: Callable[[Any], Any], other: Callable[[Any], Any]) -> list[list[int]]:
    """Each of two operations is interrupted by the other one; return the schedules after which a match gave a wrong
    answer."""
    wrong = []

    def make() -> Any:
        trie = private.modules["subtrie"].SubscriptionTrie(cache=4)
        for topic, subscriber in (("a.b", "anna"), ("a.c", "carl"), ("a.d", "dora")):
            trie.subscribe(topic, subscriber)
        trie.match("a.b")
        return trie

    def judge(trie: Any, *_: object) -> None:
        expected = {found.subscriber for found in trie.entries("a.b")}
        if set(trie.match("a.b")) != expected or set(trie.match("a.b")) != expected:
            wrong.append(together.execution.order)
        trie.check()

    together = Together(private, make, [one, other], judge)
    assert len(list(bounded(together, 1))) > 1
    return wrong


WRITES: dict[str, Callable[[Any], Any]] = {
    "unsubscribe": lambda t: t.unsubscribe("a.b", "anna"),
    "subscribe": lambda t: t.subscribe("*.b", "bert"),
    "clear": lambda t: t.clear(),
    "a snapshot": lambda t: t.snapshot(),
    "a snapshot and then a write": lambda t: (t.snapshot(), t.unsubscribe("a.b", "anna")),
    "match": lambda t: t.match("a.b"),
}
STALE = Fault(
    "an answer is recalled whatever has changed", "subtrie._trie.match.answer_cache", "and _still_hold(found)", ""
)
FIRST_LEVEL_ONLY = Fault(
    "only the first level is watched",
    "subtrie._trie.match.scratch",
    "for at in range(0, len(seen), 3) for one",
    "for at in range(0, 3, 3) for one",
)
ANY_ROOT = Fault(
    "another root is taken for the same one",
    "subtrie._trie.match.answer_cache",
    "is_exactly(first, INode) and peek(first) is item_of(remembered, FIRST_MAIN)",
    "True",
)


@pytest.mark.once  # a copy of the interpreted source, in one thread, whatever twin the tests run
class TestEveryAccess:
    @pytest.mark.parametrize(("one", "other"), list(combinations(WRITES, 2)))
    def test_of_one_operation_with_another_in_between(self, one: str, other: str) -> None:
        assert outdated(subscription_twin(), WRITES[one], WRITES[other]) == []

    @pytest.mark.parametrize("fault", [STALE, FIRST_LEVEL_ONLY, ANY_ROOT], ids=lambda fault: fault.name)
    def test_these_tests_notice(self, fault: Fault) -> None:
        broken = subscription_twin(fault)
        assert any(outdated(broken, WRITES["match"], WRITES[runs]) for runs in WRITES)


# --------------------------------------------------------------------------------------------------------- its bounds


class Subscriber:
    pass


IN_TURN = [f"topic{number}" for number in range(40)]


def ask(trie: Any, topics: list[str], rounds: int) -> None:
    for topic in topics * rounds:
        trie.match(topic)


def misses_of(trie: Any, topics: list[str], rounds: int) -> int:
    """How often an answer is not recalled when the topics are asked for in turn."""
    before = trie.stats()["cache_misses"]
    ask(trie, topics, rounds)
    misses: int = trie.stats()["cache_misses"] - before
    return misses


class TestRoom:
    """A cache of four has all its places in one row, so any four topics have the same places."""

    @pytest.mark.parametrize("topics", [IN_TURN[i : i + 4] for i in range(0, 40, 4)])
    def test_topics_that_come_in_turn_all_find_a_place(self, topics: list[str]) -> None:
        trie = SubscriptionTrie(cache=4)
        ask(trie, topics, 2)
        assert misses_of(trie, topics, 50) == 0
        trie.check()

    @pytest.mark.parametrize("topics", [IN_TURN[i : i + 3] for i in range(0, 39, 3)])
    def test_also_where_others_have_been_noted(self, topics: list[str]) -> None:
        trie = SubscriptionTrie(cache=4)
        ask(trie, [f"other{number}" for number in range(100)], 1)
        ask(trie, topics, 30)
        assert misses_of(trie, topics, 50) == 0
        trie.check()

    def test_topics_that_come_once_put_nobody_out_while_there_is_room(self) -> None:
        trie = SubscriptionTrie(cache=4)
        topics = IN_TURN[:3]
        ask(trie, topics, 2)
        ask(trie, [f"other{number}" for number in range(100)], 1)
        assert misses_of(trie, topics, 50) == 0
        trie.check()

    def test_one_topic_too_many_puts_not_all_others_out(self) -> None:
        trie = SubscriptionTrie(cache=4)
        topics = IN_TURN[:5]
        ask(trie, topics, 10)
        assert misses_of(trie, topics, 100) < 400
        trie.check()


class TestBounds:
    def test_it_keeps_no_more_than_it_has_room_for(self) -> None:
        """A remembered answer keeps the main nodes that it was read from, with up to GROUPS branches each."""
        trie = SubscriptionTrie(cache=4)
        subscribers = [Subscriber() for _ in range(2_000)]
        alive = [weakref.ref(subscriber) for subscriber in subscribers]
        for number, subscriber in enumerate(subscribers):
            trie.subscribe(f"t{number}", subscriber)
        for number in range(2_000):
            warm(trie, f"t{number}")
        for number, subscriber in enumerate(subscribers):
            trie.unsubscribe(f"t{number}", subscriber)
        del subscribers, subscriber
        drain()
        gc.collect()
        assert sum(ref() is not None for ref in alive) <= 4 * 3 * GROUPS

    @pytest.mark.parametrize("end", ["clear", "drop"])
    def test_nothing_is_kept_when_the_trie_is_cleared_or_dropped(self, end: str) -> None:
        trie: Any = SubscriptionTrie(cache=CACHED)
        subscriber = Subscriber()
        alive = weakref.ref(subscriber)
        trie.subscribe("a", subscriber)
        warm(trie, "a")
        del subscriber
        assert alive() is not None
        if end == "clear":
            trie.clear()
        trie = None if end == "drop" else trie
        drain()
        gc.collect()
        assert alive() is None

    def test_an_answer_that_leads_back_to_the_trie_is_collected_with_it(self) -> None:
        trie: Any = SubscriptionTrie(cache=CACHED)
        subscriber: Any = Subscriber()
        subscriber.routes = trie
        alive = weakref.ref(subscriber)
        trie.subscribe("a", subscriber)
        warm(trie, "a")
        trie.unsubscribe("a", subscriber)  # only the remembered answer leads to it now
        drain()
        del trie, subscriber
        gc.collect()
        drain()
        gc.collect()
        assert alive() is None
