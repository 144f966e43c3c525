"""Many topics at once: the answers are the same as one by one, whatever is fetched in advance, and whatever comes again."""

from __future__ import annotations

import random
import sys
from array import array
from collections.abc import Iterator
from typing import Any

import pytest

from subtrie import AMQP, NATS, Dialect, SubscriptionTrie, TopicError
from subtrie.columns import row_numbers
from tests.subtrie.support import either_layout, every_dialect, filled, made

WORDS = ["seven-1", "eight-12", "long-" * 8, *(f"w{n}" for n in range(150))]
LARGE = pytest.mark.slow("more subscriptions than caches of processors hold; fewer show the same code")


def crowded(dialect: Dialect, size: int, rng: random.Random, exact: bool = False) -> SubscriptionTrie:
    """Words of all lengths, wildcards in all places, and filters that first differ at any of their words. Subscribers
    are numbers of rows: each is on one filter."""
    trie = SubscriptionTrie(dialect, exact=exact)
    for n in range(size):
        text = [rng.choice(WORDS) for _ in range(rng.randrange(1, 5))]
        if n % 50 == 0:
            text[rng.randrange(len(text))] = dialect.one_word
        if n % 70 == 0:
            text[-1] = str(dialect.many_words)
        trie.subscribe(dialect.join(text), n, qos=n % 3)
    for n in range(size, size + 100):  # a large set on one filter, and numbers that are not their own hashes
        trie.subscribe(dialect.join(["seven-1", "w1"]), (1 << 63) - n)
    return trie


def topics_of(dialect: Dialect, number: int, rng: random.Random) -> list[str]:
    return [dialect.join([rng.choice([*WORDS, "\xe9"]) for _ in range(rng.randrange(1, 6))]) for _ in range(number)]


@pytest.mark.parametrize(
    "size", [20, pytest.param(6_000, marks=pytest.mark.compiled), pytest.param(25_000, marks=LARGE)]
)
@either_layout
@every_dialect
def test_the_same_answers_as_one_by_one(dialect: Dialect, exact: bool, size: int) -> None:
    rng = random.Random(size)
    trie = crowded(dialect, size, rng, exact=exact)
    topics = [dialect.join(["seven-1", "w1"]), dialect.join(["a"] * 70), *topics_of(dialect, 1_000, rng)]
    for some in (
        *(topics[:n] for n in (0, 1, 15, 16, 17, 255, 257)),
        topics[:300] * 2,
        [f"{n % 3}" for n in range(300)],
    ):
        expected = [sorted(trie.match(topic)) for topic in some]
        for given in (some, tuple(some), iter(some)):
            assert [sorted(found) for found in trie.match_many(given)] == expected
        assert [sorted(one.subscriber for one in found) for found in trie.deliveries_many(some)] == expected
        offsets, numbers, subscribers = trie.match_columns(some)
        assert len(set(subscribers)) == len(subscribers)
        answers = [numbers[start:end] for start, end in zip(offsets, offsets[1:], strict=False)]
        assert [sorted(subscribers[n] for n in found) for found in answers] == expected
        assert memoryview(offsets).format == memoryview(numbers).format == array("q").typecode
        ends, rows = (memoryview(column).cast("q") for column in row_numbers(trie, some))
        assert [sorted(rows[start:end]) for start, end in zip(ends, ends[1:], strict=False)] == expected
    trie.check()


@pytest.mark.compiled
def test_topics_with_more_steps_under_way_than_there_is_room_for() -> None:
    """Behind the `#`, each of the forty words of a topic leads on, and sixteen topics are traversed side by side."""
    some = [f"w{n}" for n in range(25)]
    trie = filled(*(f"{a}.{b}.{c}" for a in some for b in some for c in some), *(f"#.v{n}.#.x" for n in range(60)))
    rng = random.Random(7)
    words = [f"v{n}" for n in range(60)]
    topics = [".".join([*rng.choices(some, k=3), *rng.sample(words, 40), rng.choice("xy")]) for _ in range(600)]
    answers = trie.match_many(topics)
    assert [sorted(found) for found in answers] == [sorted(trie.match(topic)) for topic in topics]
    assert {len(found) for found in answers} == {0, 40}


def test_topics_that_are_made_one_by_one_are_asked_for_when_they_come() -> None:
    trie = made()

    def topics() -> Iterator[str]:
        yield "a"
        trie.subscribe("a", 1)
        yield "a"
        trie.unsubscribe("a", 1)
        yield "a"

    assert trie.match_many(topics()) == [(), (1,), ()]


def test_texts_of_other_types_are_asked_for_each_time() -> None:
    class Text(str):
        def __eq__(self, other: object) -> bool:
            raise AssertionError("nobody compares them")

        __hash__ = str.__hash__

    assert filled("a").match_many([Text("a"), Text("a"), "a"]) == [("a",)] * 3


class Undecided:
    """Cannot tell whether it is equal to another one."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        raise ValueError("who knows")


@pytest.mark.compiled
def test_nothing_is_kept_when_a_subscriber_raises_in_the_middle_of_a_group() -> None:
    rng = random.Random(2)
    trie = crowded(AMQP, 6_000, rng)
    everywhere = object()
    trie.subscribe("#", everywhere)
    for filter in ("odd.*", "odd.one"):
        trie.subscribe(filter, Undecided())
    topics = list(dict.fromkeys(topics_of(AMQP, 60, rng)))
    assert all(everywhere in found for found in trie.match_many(topics))
    before = sys.getrefcount(everywhere)
    for ask in (trie.match_many, trie.match_columns):
        for at in (0, 7, 15, 16, 40):
            with pytest.raises(ValueError, match="who knows"):
                ask([*topics[:at], "odd.one", *topics[at:]])
            assert sys.getrefcount(everywhere) == before
    trie.check()


@pytest.mark.parametrize(
    ("topic", "error"), [("b..c", TopicError), ("a\0", TopicError), (5, TypeError), (None, TypeError)]
)
def test_a_bad_topic_among_them(topic: Any, error: type[Exception]) -> None:
    trie = made(NATS, rows=[(">", 0)])
    for ask in (trie.match_many, trie.deliveries_many, trie.match_columns, lambda topics: row_numbers(trie, topics)):
        for topics in (["a", topic], [*["a"] * 300, topic]):
            with pytest.raises(error):
                ask(topics)
