"""Many subscriptions into an empty trie: the result is the same as one by one, and appears at one instant."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie
from tests.tries.trie_copy import load_copy

DIALECTS = [AMQP, MQTT, NATS]


def some_rows(dialect: Dialect, count: int, words: int, rng: random.Random) -> list[tuple[Any, ...]]:
    """Filters with common beginnings, prefixes of one another, and repeats with the same subscribers."""
    vocabulary = ["a", "cc", "word-eight", "\xe9" if rng.random() < 0.1 else "e", *(f"w{n}" for n in range(words))]
    rows: list[tuple[Any, ...]] = []
    for _ in range(count):
        text = [rng.choice(vocabulary) for _ in range(rng.randrange(1, 6))]
        if rng.random() < 0.2:
            text[rng.randrange(len(text))] = dialect.one_word
        if rng.random() < 0.1:
            text[-1] = str(dialect.many_words)
        row = dialect.join(text), rng.randrange(20)
        rows.append((*row, {"qos": rng.randrange(3)}) if rng.random() < 0.3 else row)
    return rows


def one_by_one(dialect: Dialect, rows: list[tuple[Any, ...]]) -> tuple[SubscriptionTrie[Any], int]:
    trie: SubscriptionTrie[Any] = SubscriptionTrie(dialect)
    new = 0
    for row in rows:
        new += trie.subscribe(row[0], row[1], **(row[2] if len(row) > 2 else {}))
    return trie, new


def content(trie: SubscriptionTrie[Any]) -> list[Any]:
    return sorted((s.filter, s.subscriber, dict(s.options) == {}, str(dict(s.options))) for s in trie.subscriptions())


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("words", [2, 40, 300])
def test_the_same_trie_as_one_by_one(dialect: Dialect, words: int) -> None:
    rng = random.Random(words)
    for count in (1, 2, 3, 10, 100, 1_000):
        rows = some_rows(dialect, count, words, rng)
        expected, new = one_by_one(dialect, rows)
        trie: SubscriptionTrie[Any] = SubscriptionTrie(dialect)
        assert trie.subscribe_many(iter(rows)) == new
        trie.check()
        assert content(trie) == content(expected)
        assert trie.stats() == expected.stats()  # the same levels and nodes
        for row in rows[::10]:
            topic = row[0].replace(dialect.one_word, "a").replace(str(dialect.many_words), "a")
            assert sorted(trie.match(topic)) == sorted(expected.match(topic))
        for row in rows:
            trie.unsubscribe(row[0], row[1])
        trie.check()
        assert len(trie) == 0


def test_words_that_the_dialect_has_to_cut() -> None:
    """Texts outside of ASCII, filters of many words, long words that differ only late, and plain ones."""
    rows: list[tuple[Any, ...]] = [
        ("\xe9t\xe9.b", 1), ("\xe9t\xe9.c", 2), ("\u20ac.\xe9.x", 3), ("\u20ac.\xe9", 4), ("a.\U0001f600.b", 5), ("a.b", 6),
        (".".join("abcdefgh" * 9), 7), (".".join("abcdefgh" * 9), 8), (".".join("abcdefgh" * 9 + "i"), 9),
        ("a-word-of-many-letters.b", 10), ("a-word-of-many-letters.c", 11), ("a-word-of-many-lettert.c", 12), ("", 13),
    ]  # fmt: skip
    dialect = replace(AMQP, max_words=200, max_bytes=1_000)
    expected, new = one_by_one(dialect, rows)
    trie: SubscriptionTrie[Any] = SubscriptionTrie(dialect)
    assert trie.subscribe_many(rows) == new == len(rows)
    assert content(trie) == content(expected)
    assert trie.stats() == expected.stats()
    for filter, _ in rows:
        assert sorted(trie.match(filter)) == sorted(expected.match(filter))
    for filter, subscriber in rows:
        assert trie.unsubscribe(filter, subscriber)
    trie.check()


@pytest.mark.once  # a copy of the interpreted source, whatever twin the tests run
def test_words_of_one_hash() -> None:
    trie = load_copy().modules["subtrie"].SubscriptionTrie()
    rows = [("same1.a", "x"), ("same2.a", "y"), ("same3", "z"), ("same1.a", "z"), ("b.same1", "x"), ("b.same2", "y")]
    assert trie.subscribe_many(rows) == len(rows)
    assert sorted((s.filter, s.subscriber) for s in trie) == sorted(rows)
    assert sorted(trie.match("same1.a")) == ["x", "z"]
    trie.check()


def test_of_equal_subscribers_the_first_object_stays_with_the_last_options() -> None:
    first, again = "".join(["a", "b"]), "".join(["a", "b"])
    trie: SubscriptionTrie[Any] = SubscriptionTrie()
    assert trie.subscribe_many([("x", first, {"qos": 1}), ("x", again, {"qos": 2})]) == 1
    (subscription,) = trie.subscriptions()
    assert subscription.subscriber is first
    assert dict(subscription.options) == {"qos": 2}
    trie.check()


def test_groups_and_tries_that_have_more_to_see_to() -> None:
    rows = [("a.b", 1), ("a.c", 2)]
    shared: SubscriptionTrie[Any] = SubscriptionTrie(MQTT)
    assert shared.subscribe_many([("$share/g/a", 1), ("a", 2)]) == 2
    queued: SubscriptionTrie[Any] = SubscriptionTrie(NATS)
    assert queued.subscribe_many([("a", 1, {"queue": "q"}), ("a", 2)]) == 2
    heard: list[Any] = []
    for trie in (
        shared,
        queued,
        SubscriptionTrie(index=True),
        SubscriptionTrie(cache=8),
        SubscriptionTrie(exact=True),
        SubscriptionTrie(on_interest=lambda filter, wanted: heard.append((filter, wanted))),
    ):
        trie.subscribe_many(rows if trie not in (shared, queued) else [])
        trie.check()
        assert len(trie) == 2
    assert sorted(heard) == [("a.b", True), ("a.c", True)]
    assert len(list(shared.subscriptions())) == 2


def test_a_subscriber_that_subscribes_meanwhile_is_kept() -> None:
    trie: SubscriptionTrie[Any] = SubscriptionTrie()

    class Busy:
        def __hash__(self) -> int:
            trie.subscribe("x", "from within")
            return 1

    assert trie.subscribe_many([("a", 1), ("b", Busy())]) == 2
    assert trie.match("x") == ("from within",)
    assert len(trie) == 3
    trie.check()


def test_a_snapshot_keeps_what_it_had() -> None:
    trie: SubscriptionTrie[Any] = SubscriptionTrie()
    empty = trie.snapshot()
    trie.subscribe_many([("a.*", 1), ("a.b", 2)])
    filled = trie.snapshot()
    trie.subscribe_many([("c", 3)])
    trie.unsubscribe("a.b", 2)
    assert (len(empty), len(filled), len(trie)) == (0, 2, 2)
    assert sorted(filled.match("a.b")) == [1, 2]
    for each in (empty, filled, trie):
        each.check()
