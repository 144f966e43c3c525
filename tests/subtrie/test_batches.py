"""Many topics at once: the answers are the same as one by one, whatever is fetched in advance."""

from __future__ import annotations

import random
import sys
from array import array

import pytest

from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError
from subtrie.columns import row_numbers
from tests.threads import meanwhile

SIZES = [20, pytest.param(6_000, marks=pytest.mark.compiled), pytest.param(25_000, marks=pytest.mark.slow)]
WORDS = ["seven-1", "eight-12", "long-" * 8, *(f"w{n}" for n in range(150))]


def filled(dialect: Dialect, size: int, rng: random.Random, exact: bool = False) -> SubscriptionTrie:
    """Words of all lengths, wildcards in all places, and filters that first differ at any of their words."""
    trie = SubscriptionTrie(dialect, exact=exact)
    for n in range(size):
        text = [rng.choice(WORDS) for _ in range(rng.randrange(2, 5))]
        if n % 50 == 0:
            text[rng.randrange(len(text))] = dialect.one_word
        if n % 70 == 0:
            text[-1] = str(dialect.many_words)
        trie.subscribe(dialect.join(text), n, qos=n % 3)
    return trie


def topics_of(dialect: Dialect, number: int, rng: random.Random) -> list[str]:
    return [dialect.join([rng.choice([*WORDS, "\xe9"]) for _ in range(rng.randrange(1, 6))]) for _ in range(number)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("exact", [False, True], ids=["by words", "exact"])
@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
def test_the_same_answers_as_one_by_one(dialect: Dialect, exact: bool, size: int) -> None:
    rng = random.Random(size)
    trie = filled(dialect, size, rng, exact=exact)
    topics = topics_of(dialect, 1_000, rng)
    for number in (0, 1, 15, 16, 17, 255, 257, len(topics)):
        some = topics[:number]
        expected = [sorted(trie.match(topic)) for topic in some]
        for given in (some, tuple(some), iter(some)):
            assert [sorted(found) for found in trie.match_many(given)] == expected
        assert [sorted(one.subscriber for one in found) for found in trie.deliveries_many(some)] == expected
        offsets, numbers, subscribers = trie.match_columns(some)
        assert len(set(subscribers)) == len(subscribers)
        answers = [numbers[start:end] for start, end in zip(offsets, offsets[1:], strict=False)]
        assert [sorted(subscribers[n] for n in found) for found in answers] == expected
        assert memoryview(offsets).format == memoryview(numbers).format == array("q").typecode
    trie.check()


@pytest.mark.compiled
def test_topics_with_more_steps_under_way_than_there_is_room_for() -> None:
    """Behind the `#`, each of the forty words of a topic leads on, and sixteen topics are traversed side by side."""
    trie: SubscriptionTrie[str] = SubscriptionTrie(AMQP)
    some = [f"w{n}" for n in range(25)]
    trie.subscribe_many([(f"{a}.{b}.{c}", f"{a}{b}{c}") for a in some for b in some for c in some])
    trie.subscribe_many([(f"#.v{n}.#.x", f"v{n}") for n in range(60)])
    rng = random.Random(7)
    words = [f"v{n}" for n in range(60)]
    topics = [".".join([*rng.choices(some, k=3), *rng.sample(words, 40), rng.choice("xy")]) for _ in range(600)]
    answers = trie.match_many(topics)
    assert [sorted(found) for found in answers] == [sorted(trie.match(topic)) for topic in topics]
    assert {len(found) for found in answers} == {0, 40}
    trie.check()


def numbered(trie: SubscriptionTrie, topics: list[str]) -> list[list[int]]:
    """The answers of `row_numbers`."""
    offsets, numbers = (memoryview(column).cast("q") for column in row_numbers(trie, topics))
    return [sorted(numbers[start:end]) for start, end in zip(offsets, offsets[1:], strict=False)]


@pytest.mark.parametrize("exact", [False, True], ids=["by words", "exact"])
@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
def test_numbers_of_rows_are_those_that_match_names(dialect: Dialect, exact: bool) -> None:
    rng = random.Random(3)
    trie = SubscriptionTrie(dialect, exact=exact)
    for n in range(400):
        text = [rng.choice(WORDS[:12]) for _ in range(rng.randrange(1, 4))]
        text[rng.randrange(len(text))] = dialect.one_word if n % 3 == 0 else text[0]
        trie.subscribe(dialect.join(text), n)
    for n in range(400, 500):  # a large set on one filter, and numbers of any size
        trie.subscribe(dialect.join(["seven-1", "w1"]), n << 50)
    topics = [dialect.join([rng.choice([*WORDS[:12], "\xe9"]) for _ in range(rng.randrange(1, 4))]) for _ in range(600)]
    topics += [dialect.join(["seven-1", "w1"]), dialect.join(["a"] * 70)]
    for some in (topics, [], topics[:1], topics[:300] * 2, ["x", "y"] * 300):
        assert numbered(trie, some) == [sorted(trie.match(topic)) for topic in some]
    trie.check()


def test_numbers_of_rows_are_refused_for_what_is_no_topic() -> None:
    trie = SubscriptionTrie()
    trie.subscribe("#", 0)
    wrong: list[tuple[object, type[Exception]]] = [("a\0", TopicError), (None, TypeError), ([], TypeError)]
    for topic, error in wrong:
        for topics in (["a", topic], [*["a"] * 300, topic]):
            with pytest.raises(error):
                row_numbers(trie, topics)  # type: ignore[arg-type]
    trie.check()


@pytest.mark.slow
def test_while_others_subscribe() -> None:
    """Topics that are traversed side by side have their answers even so."""
    rng = random.Random(1)
    trie = filled(AMQP, 25_000, rng)
    topics = topics_of(AMQP, 1_000, rng)
    trie.subscribe("#", "always")

    def change() -> None:
        for n, topic in enumerate(topics[:100]):
            trie.subscribe(topic, "x")
            trie.subscribe(f"{topic}.z", "x")
            trie.unsubscribe(topic, "x")
            trie.unsubscribe(f"{topic}.z", "x")
            if n % 50 == 0:
                trie.snapshot()

    with meanwhile(change):
        for _ in range(5):
            assert all("always" in found for found in trie.match_many(topics))
            assert all(len(found) > 0 for found in trie.deliveries_many(topics))
    trie.check()


class Undecided:
    """Cannot tell whether it is equal to another one."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        raise ValueError("who knows")


@pytest.mark.compiled
def test_nothing_is_kept_when_a_subscriber_raises_in_the_middle_of_a_group() -> None:
    rng = random.Random(2)
    trie = filled(AMQP, 6_000, rng)
    everywhere = object()
    trie.subscribe("#", everywhere)
    trie.subscribe("odd.*", Undecided())
    trie.subscribe("odd.one", Undecided())
    topics = list(dict.fromkeys(topics_of(AMQP, 60, rng)))
    answers = trie.match_many([*topics[:20], *topics[20:]])
    assert all(everywhere in found for found in answers)
    del answers
    before = sys.getrefcount(everywhere)
    for ask in (trie.match_many, trie.match_columns):
        for at in (0, 7, 15, 16, 40):
            with pytest.raises(ValueError, match="who knows"):
                ask([*topics[:at], "odd.one", *topics[at:]])
            assert sys.getrefcount(everywhere) == before
    trie.check()


def test_a_bad_topic_among_them() -> None:
    trie = SubscriptionTrie(NATS)
    for ask in (trie.match_many, trie.deliveries_many, trie.match_columns):
        with pytest.raises(ValueError, match="empty word"):
            ask(["a", "b..c"])
        with pytest.raises(TypeError):
            ask(["a", 5])  # type: ignore[list-item]
        with pytest.raises(TypeError, match="takes several topics"):
            ask("a")
    trie.check()
