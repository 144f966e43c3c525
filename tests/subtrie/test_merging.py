"""Many subscriptions into a trie that has some, and out of it: the result is the same as one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from operator import methodcaller
from typing import Any

import pytest

from stress.explorer.bounded import bounded
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError
from tests.subtrie.support import explained, subscription_twin
from tests.subtrie.test_filling import DIALECTS, content, some_rows
from tests.tries.trie_copy import load_copy
from tests.twins import Together


def with_groups(dialect: Dialect, rows: list[tuple[Any, ...]], rng: random.Random) -> list[tuple[Any, ...]]:
    changed: list[tuple[Any, ...]] = []
    for row in rows:
        if rng.random() < 0.2 and dialect is MQTT:
            changed.append((f"$share/g{rng.randrange(2)}/{row[0]}", *row[1:]))
        elif rng.random() < 0.2 and dialect is NATS:
            changed.append((row[0], row[1], {**(row[2] if len(row) > 2 else {}), "queue": "ab"[rng.randrange(2)]}))
        else:
            changed.append(row)
    return changed


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("words", [2, 40])
@pytest.mark.parametrize("settings", [{}, {"cache": 8}, {"exact": True}, {"index": True}], ids=str)
def test_the_same_trie_as_one_by_one(dialect: Dialect, words: int, settings: dict[str, Any]) -> None:
    rng = random.Random(words)
    for before, count in ((1, 1), (3, 2), (3, 10), (20, 100), (300, 300), (1_000, 30)):
        rows = with_groups(dialect, some_rows(dialect, before + count, words, rng), rng)
        trie: SubscriptionTrie[Any] = SubscriptionTrie(dialect, **settings)
        expected: SubscriptionTrie[Any] = SubscriptionTrie(dialect, **settings)
        for each in (trie, expected):
            each.subscribe_many(rows[:before])
        older = trie.snapshot() if rng.random() < 0.5 else None
        was = content(trie)
        new = 0
        for row in rows[before:]:
            new += expected.subscribe(row[0], row[1], **(row[2] if len(row) > 2 else {}))
        assert trie.subscribe_many(iter(rows[before:])) == new
        trie.check()
        assert content(trie) == content(expected)
        assert trie.stats()["nodes"] == expected.stats()["nodes"]
        fork = trie.fork()
        rng.shuffle(rows)
        gone = 0
        for row in rows[: len(rows) // 2]:
            gone += expected.unsubscribe(row[0], row[1], queue=row[2].get("queue") if len(row) > 2 else None)
        assert trie.unsubscribe_many(rows[: len(rows) // 2]) == gone
        trie.check()
        assert content(trie) == content(expected)
        assert trie.stats()["nodes"] == expected.stats()["nodes"]
        assert trie.unsubscribe_many(rows) == len(expected)
        trie.check()
        assert len(trie) == 0
        assert older is None or content(older) == was
        fork.check()
        assert fork.unsubscribe_many(rows) > 0
        fork.check()
        assert len(fork) == 0


def test_words_that_the_dialect_has_to_cut() -> None:
    before = [("\xe9t\xe9.b", 1), ("\u20ac.\xe9", 4), ("a.b.c", 6), ("long-word-of-letters.b", 7)]
    rows = [
        ("\xe9t\xe9.b", 2),
        ("\xe9t\xe9.b.c", 3),
        ("\u20ac.\xe9.x", 5),
        ("a.b", 8),
        ("a.b.c.\xe9", 9),
        ("long-word-of-letters.c", 1),
    ]
    trie: SubscriptionTrie[Any] = SubscriptionTrie()
    expected: SubscriptionTrie[Any] = SubscriptionTrie()
    for filter, subscriber in before:
        assert trie.subscribe(filter, subscriber)
        assert expected.subscribe(filter, subscriber)
    assert trie.subscribe_many(rows) == len(rows)
    for filter, subscriber in rows:
        assert expected.subscribe(filter, subscriber)
    trie.check()
    assert content(trie) == content(expected)
    assert trie.unsubscribe_many(before) == len(before)
    trie.check()
    assert sorted((s.filter, s.subscriber) for s in trie) == sorted(rows)


@pytest.mark.once  # a copy of the interpreted source, whatever twin the tests run
def test_words_of_one_hash() -> None:
    trie = load_copy().modules["subtrie"].SubscriptionTrie()
    before = [("same1.a", "x"), ("same3", "z"), ("b.same1", "x")]
    rows = [("same2.a", "y"), ("same1.a", "z"), ("b.same2", "y"), ("same4", "x"), ("same5", "x")]
    for row in before:
        assert trie.subscribe(*row)
    assert trie.subscribe_many(rows) == len(rows)
    assert sorted((s.filter, s.subscriber) for s in trie) == sorted(before + rows)
    trie.check()
    assert trie.unsubscribe_many([("same6", "x"), *before, ("same2", "y")]) == len(before)
    assert sorted((s.filter, s.subscriber) for s in trie) == sorted(rows)
    trie.check()


STARTS = ((), ("a.b.c", "a.b.d"), ("a", "a.b"), ("a.b.c.d", "a.c"), ("d.a", "d.b.c", "d.b.d"))
ROWS = ("a.b.x", "a.c.x", "a.b", "d.b.c", "d.x", "a.b.c.d.e")
MEANWHILE: dict[str, Callable[[Any], object]] = {
    "subscribe": lambda trie: trie.subscribe("z", "other"),
    "subscribe near": lambda trie: trie.subscribe("a.b.y", "other"),
    "unsubscribe": lambda trie: trie.unsubscribe("a.b.c", "one"),
    "snapshot": lambda trie: trie.snapshot(),
}


@pytest.mark.once  # of the interpreted source, in one thread
@pytest.mark.parametrize("here", STARTS, ids="|".join)
@pytest.mark.parametrize("other", MEANWHILE)
def test_as_many_are_told_as_were_changed_whatever_another_thread_does(here: tuple[str, ...], other: str) -> None:
    twin = subscription_twin()
    rows = [(filter, "mine") for filter in ROWS]
    for call, before in (("subscribe_many", ROWS[3:4]), ("unsubscribe_many", ROWS)):
        changed = len(rows) - len(before) if call == "subscribe_many" else len(rows)
        left = set(ROWS) if call == "subscribe_many" else set()

        def make(before: tuple[str, ...] = before) -> Any:
            trie = twin.modules["subtrie"].SubscriptionTrie()
            for filter in here:
                trie.subscribe(filter, "one")
            for filter in before:
                trie.subscribe(filter, "mine")
            return trie

        def judge(trie: Any, told: int, _: object, changed: int = changed, left: set[str] = left) -> None:
            assert told == changed
            assert {s.filter for s in trie if s.subscriber == "mine"} == left
            trie.check()

        together = Together(twin, make, [methodcaller(call, rows), MEANWHILE[other]], judge)
        with explained(call):
            assert len(list(bounded(together, 1))) > 1


def test_a_bad_row_changes_nothing() -> None:
    bad: Any
    for bad, error in (
        (("a..b", 1), TopicError),
        (("a", []), TypeError),
        (("a", 1, {"qos": 1}, 2), ValueError),
        (("a", 1, 5), TypeError),
        ((5, 1), TypeError),
        (("a", 1, {"queue": "a b"}), ValueError),
    ):
        trie: SubscriptionTrie[Any] = SubscriptionTrie(NATS)
        for held in (0, 1):  # an empty trie is filled in another way
            for change in (trie.subscribe_many, trie.unsubscribe_many):
                with pytest.raises(error):
                    change([("a.b", 1), ("a.b", 0), bad])
                assert content(trie) == [("a.b", 0, True, "{}")] * held
            trie.check()
            trie.subscribe("a.b", 0)


def test_a_snapshot_that_a_subscriber_takes_meanwhile() -> None:
    """Its `__eq__` is called amid the changes, and what it does makes the compare-and-sets fail."""
    trie: SubscriptionTrie[Any] = SubscriptionTrie()
    cuts: list[SubscriptionTrie[Any]] = []

    class Busy:
        def __init__(self, name: int) -> None:
            self.name = name

        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            cuts.append(trie.snapshot())
            trie.subscribe("x.y", len(cuts))
            return isinstance(other, Busy) and other.name == self.name

    trie.subscribe("a.b", Busy(0))
    trie.subscribe("a.c", 5)
    assert trie.subscribe_many([("a.b", Busy(1)), ("a.d", 2), ("a.b", Busy(0)), ("q", 3)]) == 3
    trie.check()
    assert {s.filter for s in trie} == {"a.b", "a.c", "a.d", "q", "x.y"}
    cut_before = len(cuts)
    assert trie.unsubscribe_many([("a.b", Busy(1)), ("a.d", 2), ("q", 4)]) == 2
    assert len(cuts) > cut_before
    trie.check()
    for cut in cuts:
        cut.check()
    assert sorted(trie.match("a.c")) == [5]


def test_levels_that_empty_go_although_a_comparison_fails() -> None:
    """Some rows are done when the `__eq__` of a subscriber raises: what they emptied is gone, as after one by one."""

    class Raises:
        def __hash__(self) -> int:
            return 5

        def __eq__(self, other: object) -> bool:
            raise KeyError("no answer")

    for above in ([], [("a", 1)], [("a.b", 1)]):
        rows: list[tuple[str, Any]] = [(f"a.b.c{number}.d", number) for number in range(100)]
        rows += [("a.b.z.y", 5), ("a.c", 7), *above]
        trie: SubscriptionTrie[Any] = SubscriptionTrie()
        trie.subscribe_many(rows)
        for bad in ("a.b.z.y", "a.c", "a.b"):
            trie.subscribe(bad, 5)
            with pytest.raises(KeyError):
                trie.unsubscribe_many([*rows[:100], (bad, Raises())])
            trie.check()
            expected: SubscriptionTrie[Any] = SubscriptionTrie()
            expected.subscribe_many(trie.subscriptions())
            assert trie.stats()["nodes"] == expected.stats()["nodes"]
            trie.subscribe_many(rows)


def test_most_of_a_trie_is_taken_out_at_once() -> None:
    """What is left has the nodes that it has alone."""
    rng = random.Random(7)
    filters = [".".join(rng.choice("abcdefgh") for _ in range(rng.randrange(1, 7))) for _ in range(3_000)]
    rows: list[tuple[Any, ...]] = [(filter, number % 3) for number, filter in enumerate(filters)]
    for share in (0.5, 0.9, 0.99, 0.999):
        trie: SubscriptionTrie[Any] = SubscriptionTrie()
        trie.subscribe_many(rows)
        older = trie.snapshot() if share < 0.95 else None
        stay = {row for row in rows if rng.random() > share}
        there = set(rows)
        assert trie.unsubscribe_many([row for row in rows if row not in stay]) == len(there) - len(stay)
        trie.check()
        expected: SubscriptionTrie[Any] = SubscriptionTrie()
        for row in stay:
            expected.subscribe(*row)
        assert content(trie) == content(expected)
        assert trie.stats()["nodes"] == expected.stats()["nodes"]
        assert len(trie) == len(stay)
        if older is not None:
            older.check()
            assert len(older) == len(there)


def test_a_remembered_answer_is_not_given_after_a_change() -> None:
    trie: SubscriptionTrie[Any] = SubscriptionTrie(AMQP, cache=8)
    assert trie.match("a.b") == ()
    assert trie.subscribe_many([("a.*", 1)]) == 1
    assert trie.match("a.b") == (1,)
    assert trie.subscribe_many([("a.*", 2), ("#", 3)]) == 2
    assert sorted(trie.match("a.b")) == [1, 2, 3]
    assert trie.unsubscribe_many([("a.*", 2), ("#", 3)]) == 2
    assert trie.match("a.b") == (1,)
