"""Many subscriptions at once, into a trie and out of it: the result is the same as one by one, to the node; into an empty
one they appear at one instant; and what is bad changes nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from subtrie import AMQP, MQTT, NATS, Dialect, Subscription, SubscriptionTrie, TopicError
from tests.subtrie.support import every_dialect, is_valid, made
from tests.tries.trie_copy import load_copy

Rows = list[tuple[Any, ...]]
COUNTS = ("nodes", "branches", "groups", "filters")


def some_rows(dialect: Dialect, count: int, words: int, rng: random.Random) -> Rows:
    """Filters with common beginnings, prefixes of one another, repeats with the same subscribers, and groups."""
    vocabulary = ["a", "cc", "word-eight", "\xe9" if rng.random() < 0.1 else "e", *(f"w{n}" for n in range(words))]
    rows: Rows = []
    for _ in range(count):
        text = [rng.choice(vocabulary) for _ in range(rng.randrange(1, 6))]
        if rng.random() < 0.2:
            text[rng.randrange(len(text))] = dialect.one_word
        if rng.random() < 0.1:
            text[-1] = str(dialect.many_words)
        filter = dialect.join(text)
        options: dict[str, Any] = {"qos": rng.randrange(3)} if rng.random() < 0.3 else {}
        if rng.random() < 0.2 and dialect is MQTT:
            filter = f"$share/g{rng.randrange(2)}/{filter}"
        elif rng.random() < 0.2 and dialect is NATS:
            options["queue"] = "ab"[rng.randrange(2)]
        rows.append((filter, rng.randrange(20), options) if options else (filter, rng.randrange(20)))
    return rows


def one_by_one(trie: SubscriptionTrie[Any], rows: Rows, come: bool) -> int:
    if come:
        return sum(trie.subscribe(row[0], row[1], **(row[2] if len(row) > 2 else {})) for row in rows)
    return sum(trie.unsubscribe(row[0], row[1], queue=row[2].get("queue") if len(row) > 2 else None) for row in rows)


def content(trie: SubscriptionTrie[Any]) -> list[Any]:
    return sorted(str((s.filter, s.subscriber, sorted(s.options.items()))) for s in trie.subscriptions())


def expect_same(dialect: Dialect, before: Rows, rows: Rows, go: Rows, **settings: Any) -> None:
    """Rows come into a trie that has some, and rows go; a twin of it gets them one by one."""
    trie, expected = (SubscriptionTrie[Any](dialect, **settings) for _ in range(2))
    cuts: list[tuple[SubscriptionTrie[Any], list[Any]]] = [(trie.snapshot(), [])]
    for number, some in enumerate((before, rows, go, before + rows)):
        change = trie.subscribe_many if number < 2 else trie.unsubscribe_many
        assert change(iter(some)) == one_by_one(expected, some, number < 2)
        trie.check()
        assert content(trie) == content(expected)
        assert [trie.stats()[name] for name in COUNTS] == [expected.stats()[name] for name in COUNTS]
        for row in some[:: len(some) // 10 + 1]:
            topic = row[0].replace(dialect.one_word, "a").replace(str(dialect.many_words), "a")
            if is_valid(dialect.split_topic, topic):
                assert trie.has_match(topic) == expected.has_match(topic)
        cuts.append((trie.fork() if number == 1 else trie.snapshot(), content(trie)))
    assert len(trie) == 0
    for cut, held in cuts:
        cut.check()
        assert content(cut) == held
    assert cuts[2][0].unsubscribe_many(before + rows) == len(cuts[2][1])
    cuts[2][0].check()


@every_dialect
@pytest.mark.parametrize(
    ("words", "settings"), [(2, {}), (40, {"cache": 8}), (2, {"exact": True}), (40, {"index": True}), (300, {})]
)
def test_the_same_trie_as_one_by_one(dialect: Dialect, words: int, settings: dict[str, Any]) -> None:
    rng = random.Random(words)
    for before, count in ((0, 1), (0, 3), (0, 100), (0, 1_000), (1, 1), (3, 10), (20, 100), (300, 300), (1_000, 30)):
        rows = some_rows(dialect, before + count, words, rng)
        expect_same(dialect, rows[:before], rows[before:], rng.sample(rows, len(rows) // 2), **settings)


def test_words_that_the_dialect_has_to_cut() -> None:
    """Texts outside of ASCII, filters of many words, long words that differ only late, and plain ones."""
    long = ".".join("abcdefgh" * 9)
    texts = [
        "\xe9t\xe9.b",
        "\xe9t\xe9.c",
        "\u20ac.\xe9.x",
        "\u20ac.\xe9",
        "a.\U0001f600.b",
        "a.b",
        "a.b.c",
        "a.b.c.\xe9",
        long,
        long + ".i",
        "",
    ]
    texts += [f"a-word-of-many-letter{end}" for end in ("s.b", "s.c", "t.c")]
    rows: Rows = [(text, n) for n, text in enumerate(texts)]
    dialect = replace(AMQP, max_words=200, max_bytes=1_000)
    for before in (0, 5, 9):
        expect_same(dialect, rows[:before], rows[before:], rows[::2])


def test_most_of_a_trie_is_taken_out_at_once() -> None:
    """What is left has the nodes that it has alone."""
    rng = random.Random(7)
    rows: Rows = [(".".join(rng.choices("abcdefgh", k=rng.randrange(1, 7))), n % 3) for n in range(3_000)]
    for share in (0.5, 0.9, 0.99, 0.999):
        expect_same(AMQP, [], rows, [row for row in dict.fromkeys(rows) if rng.random() < share])


@pytest.mark.once  # a copy of the interpreted source, whatever twin the tests run
def test_words_of_one_hash() -> None:
    trie = load_copy().modules["subtrie"].SubscriptionTrie()
    first = [("same1.a", "x"), ("same2.a", "y"), ("same3", "z"), ("b.same1", "x"), ("b.same2", "y")]
    then = [("same1.a", "z"), ("same4", "x"), ("same5", "x"), ("same2.b", "y")]
    for rows in (first, then):
        assert trie.subscribe_many(rows) == len(rows)
        trie.check()
    assert sorted((s.filter, s.subscriber) for s in trie) == sorted(first + then)
    assert sorted(trie.match("same1.a")) == ["x", "z"]
    assert trie.unsubscribe_many([("same6", "x"), *first, ("same2", "y")]) == len(first)
    assert sorted((s.filter, s.subscriber) for s in trie) == sorted(then)
    trie.check()


def test_of_equal_subscribers_the_first_object_stays_with_the_last_options() -> None:
    first, again, options = "".join(["a", "b"]), "".join(["a", "b"]), {"qos": 2}
    trie: SubscriptionTrie[Any] = made()
    assert trie.subscribe_many([("x", first, {"qos": 1}), ("x", again, options)]) == 1
    options["qos"] = 3  # they belong to the trie
    (subscription,) = trie.subscriptions()
    assert subscription.subscriber is first
    assert dict(subscription.options) == {"qos": 2}


BAD: list[tuple[Any, type[Exception] | tuple[type[Exception], ...]]] = [
    (("a..b", "x"), TopicError),
    (("a", []), TypeError),
    ((1, "x"), TypeError),
    (("a",), ValueError),
    ("ab", ValueError),
    (("a", "x", {}, "more"), ValueError),
    (("a", "x", None), TypeError),
    (("a", "x", 5), TypeError),
    (("a", "x", {1: "x"}), TypeError),
    (("a", "x", [("qos", 1)]), TypeError),
    (("a", "x", {"queue": "a b"}), ValueError),
]


@pytest.mark.parametrize(("bad", "error"), BAD, ids=lambda value: str(value)[:30])
def test_one_bad_row_leaves_all_as_it_was(bad: Any, error: type[Exception]) -> None:
    def some() -> Iterator[Any]:
        yield "a", 1
        raise OSError("unreadable")

    trie = made(NATS)
    for held in ([], [Subscription("a", "there")]):  # an empty trie is filled in another way
        for change in (trie.subscribe_many, trie.unsubscribe_many):
            with pytest.raises(error):
                change([("a", "there"), ("new", "x"), bad, ("newer", "x")])
            with pytest.raises(OSError, match="unreadable"):
                change(some())
            assert list(trie.subscriptions()) == held
        trie.check()
        trie.subscribe("a", "there")


# -------------------------------------------------------------------------------------------- what a subscriber does


def test_a_subscriber_that_subscribes_meanwhile_is_kept() -> None:
    trie: SubscriptionTrie[Any] = made()

    class Busy:
        def __hash__(self) -> int:
            trie.subscribe("x", "from within")
            return 1

    assert trie.subscribe_many([("a", 1), ("b", Busy())]) == 2
    assert trie.match("x") == ("from within",)
    assert len(trie) == 3


def test_a_snapshot_that_a_subscriber_takes_meanwhile() -> None:
    """Its `__eq__` is called amid the changes, and what it does makes the compare-and-sets fail."""
    trie: SubscriptionTrie[Any] = made()
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

    make: Callable[[], SubscriptionTrie[Any]] = SubscriptionTrie
    for above in ([], [("a", 1)], [("a.b", 1)]):
        rows: Rows = [(f"a.b.c{number}.d", number) for number in range(100)]
        rows += [("a.b.z.y", 5), ("a.c", 7), *above]
        trie = make()
        trie.subscribe_many(rows)
        for bad in ("a.b.z.y", "a.c", "a.b"):
            trie.subscribe(bad, 5)
            with pytest.raises(KeyError):
                trie.unsubscribe_many([*rows[:100], (bad, Raises())])
            trie.check()
            expected = make()
            expected.subscribe_many(trie.subscriptions())
            assert trie.stats()["nodes"] == expected.stats()["nodes"]
            trie.subscribe_many(rows)
