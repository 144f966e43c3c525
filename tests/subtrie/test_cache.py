"""The match cache: it changes no answer, only the time that matches take, and what stays alive.

`test_machine.py` and `test_threads.py` have tries that remember among all others, `test_linearizability.py` looks at every
access.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from ctrie import drain
from ctrie._machine import GROUPS
from subtrie import MQTT, SubscriptionTrie, TopicError
from tests.subtrie.support import Subscriber, made

CACHED = 64


def counted(trie: Any) -> tuple[int, int]:
    stats = trie.stats()
    return stats["cache_hits"], stats["cache_misses"]


def warm(trie: Any, topic: str) -> None:
    """Match until the answer is remembered: the first time notes the topic, the second one remembers the answer."""
    for _ in range(2):
        trie.match(topic)


class TestWhatIsRemembered:
    @pytest.mark.parametrize("subscribers", [(), ("anna",)])
    def test_a_topic_is_recalled_from_the_third_time_on(self, subscribers: tuple[str, ...]) -> None:
        """Also that nobody wants it. match_many and count use it; a clear begins anew; without a cache nothing counts."""
        for cache, expected in ((CACHED, (6, 2)), (0, (0, 0))):
            trie = SubscriptionTrie(cache=cache)
            for subscriber in subscribers:
                trie.subscribe("a.*", subscriber)
            assert [trie.match("a.b") for _ in range(5)] == [subscribers] * 5
            assert trie.match_many(iter(["a.b"] * 2)) == [subscribers] * 2  # for a list, it would ask once
            assert trie.count("a.b") == len(subscribers)
            assert counted(trie) == expected
            trie.clear()
            trie.match("a.b")
            assert counted(trie) == (0, bool(cache))
            trie.check()

    @pytest.mark.parametrize(
        "look", [SubscriptionTrie.snapshot, SubscriptionTrie.fork, SubscriptionTrie.stats, len, bool]
    )
    def test_a_look_at_one_instant_leaves_it_all(self, look: Callable[[Any], Any]) -> None:
        trie = made(rows=[(filter, filter) for filter in ("a.b", "a.c", "#")], cache=CACHED)
        warm(trie, "a.b")
        for _ in range(3):
            look(trie)
            assert sorted(trie.match("a.b")) == ["#", "a.b"]
        assert counted(trie) == (3, 2)

    def test_deliveries_are_remembered_beside_the_answers_of_match(self) -> None:
        trie = made(rows=[("a.*", 1, {"qos": 1})], cache=4)
        for _ in range(3):
            trie.match("a.b")
            trie.deliveries("a.b")
        assert trie.deliveries("a.b") is trie.deliveries("a.b")
        assert trie.match("a.b") == (1,)
        for options in ({"qos": 2}, {}):
            trie.subscribe("a.*", 1, **options)
            for merge in ("all", "best"):
                assert [dict(one.options) for one in trie.deliveries("a.b", merge=merge)] == [options]  # type: ignore[arg-type]
        trie.clear()
        assert trie.deliveries("a.b") == ()

    def test_what_is_no_topic_is_refused_every_time(self) -> None:
        trie = made(cache=CACHED)
        for _ in range(4):
            with pytest.raises(TopicError):
                trie.match("a.\0")
            with pytest.raises(TypeError):
                trie.match(7)  # type: ignore[arg-type]

    @pytest.mark.parametrize("letter", ["a", "é", "ж", "𝄞"], ids=["ascii", "one byte", "two bytes", "four bytes"])
    def test_topics_that_differ_in_one_character_are_told_apart(self, letter: str) -> None:
        """In a cache of four places, all topics share the same places, so only their texts tell them apart."""
        trie = made(cache=4)
        for size in range(1, 30):
            text = letter * size
            topics = [text, *(f"{text[:at]}b{text[at + 1 :]}" for at in range(size))]
            for topic in topics:
                trie.subscribe(topic, topic)
            assert [trie.match(topic) for topic in topics for _ in range(3)] == [(t,) for t in topics for _ in range(3)]
        assert counted(trie)[0] > 400

    def test_a_snapshot_and_a_fork_remember_for_themselves(self) -> None:
        trie = made(MQTT, rows=[("a/+", "anna")], cache=CACHED)
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


IN_TURN = [f"topic{number}" for number in range(40)]
OTHERS = [f"other{number}" for number in range(100)]


@pytest.mark.parametrize(
    ("before", "topics", "rounds", "most"),
    [
        *(([], IN_TURN[i : i + 4], 2, 0) for i in range(0, 40, 4)),
        *((OTHERS, IN_TURN[i : i + 3], 30, 0) for i in range(0, 39, 3)),  # also where others have been noted
        ([], IN_TURN[:5], 10, 200),  # one topic too many puts not all others out
    ],
)
def test_topics_that_come_in_turn_find_a_place(before: list[str], topics: list[str], rounds: int, most: int) -> None:
    """A cache of four has all its places in one row, so any four topics have the same places. Such as come once put
    nobody out while there is room."""
    trie = made(cache=4)
    for topic in before + topics * rounds + OTHERS * (len(topics) < 4):
        trie.match(topic)
    misses = counted(trie)[1]
    for topic in topics * 50:
        trie.match(topic)
    assert counted(trie)[1] - misses <= most


class TestWhatStaysAlive:
    def test_it_keeps_no_more_than_it_has_room_for(self) -> None:
        """A remembered answer keeps the main nodes that it was read from, with up to GROUPS branches each."""
        trie = made(cache=4)
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

    @pytest.mark.parametrize("end", ["clear", "drop", "drop a cycle"])
    def test_nothing_when_the_trie_is_cleared_or_dropped(self, end: str) -> None:
        """Also if the answer leads back to the trie."""
        trie: Any = SubscriptionTrie(cache=CACHED)
        subscriber = Subscriber()
        subscriber.holds = trie if end == "drop a cycle" else None
        alive = weakref.ref(subscriber)
        trie.subscribe("a", subscriber)
        warm(trie, "a")
        if subscriber.holds:
            trie.unsubscribe("a", subscriber)  # only the remembered answer leads to it now
        del subscriber
        assert alive() is not None
        if end == "clear":
            trie.clear()
        else:
            del trie
        drain()
        gc.collect()
        drain()
        gc.collect()
        assert alive() is None
