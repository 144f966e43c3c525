"""`Delivery.words`: what the wildcards of a filter stood for in the topic."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie import AMQP, MQTT, NATS, Delivery, Dialect, SubscriptionTrie
from tests.subtrie.test_groups import GROUPS, Ways
from tests.subtrie.test_model import filters_of, topics_of

PATHS = Dialect("paths", separator="/", one_word="*", many_words="**", zero_words=True)
SEVERAL = Dialect("several", separator=".", one_word="*", many_words="#", many_min=1)
NO_MANY = Dialect("no many", separator=".", one_word="*", many_words=None)


class Folding(Dialect):
    """Splits texts in its own way."""

    def split_filter(self, text: str) -> tuple[str, ...]:
        return super().split_filter(text.lower())

    def split_topic(self, text: str) -> tuple[str, ...]:
        return super().split_topic(text.lower())


def splits(dialect: Dialect, filter: tuple[str, ...], topic: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield all that the wildcards may stand for, those first in which an early wildcard stands for few words."""
    if not filter:
        if not topic:
            yield ()
        return
    first, rest = filter[0], filter[1:]
    if first == dialect.many_words:
        for size in range(dialect.many_min, len(topic) + 1):
            for others in splits(dialect, rest, topic[size:]):
                yield topic[:size], *others
    elif topic and first == dialect.one_word:
        for others in splits(dialect, rest, topic[1:]):
            yield topic[0], *others
    elif topic and first == topic[0]:
        yield from splits(dialect, rest, topic[1:])


def expected(dialect: Dialect, filter: str, topic: str) -> tuple[Any, ...]:
    words = dialect.unshare(dialect.split_filter(filter))[1]
    return next(splits(dialect, words, dialect.split_topic(topic)))


@pytest.mark.parametrize("settings", [{}, {"cache": 8}, {"exact": True}], ids=str)
@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
@given(data=st.data())
def test_any_subscriptions(dialect: Dialect, settings: dict[str, Any], data: st.DataObject) -> None:
    """Deliveries of all kinds against every way to split the topic, tried one by one."""
    ways, trie = Ways(dialect), SubscriptionTrie(dialect, **settings)
    groups = [None] if dialect is AMQP else GROUPS
    steps = st.tuples(filters_of(dialect, 4), st.sampled_from(groups), st.integers(0, 2))
    for filter, group, who in data.draw(st.lists(steps, max_size=8)):
        ways.subscribe(trie, filter, group, who)
    topics = data.draw(st.lists(topics_of(dialect, 5), min_size=1, max_size=4)) * 2
    for one in (trie, trie.snapshot(), trie.fork()):
        for topic, found in zip(topics, one.deliveries_many(topics), strict=True):
            merged = [*one.deliveries(topic, merge="one"), *one.deliveries(topic, merge="best")]
            for delivery in (*found, *one.deliveries(topic), *merged):
                assert delivery.words == expected(dialect, delivery.filter, topic), (delivery, topic)
    trie.check()


@pytest.mark.parametrize("dialect", [AMQP, PATHS, SEVERAL, NO_MANY], ids=lambda dialect: dialect.name)
def test_every_filter_of_four_words_and_topic_of_five(dialect: Dialect) -> None:
    one, many = dialect.one_word, dialect.many_words or "b"
    trie = SubscriptionTrie(dialect)
    for size in range(1, 5):
        for words in product(("a", one, many), repeat=size):
            trie.subscribe(dialect.join(words), 1)
    for size in range(1, 6):
        for words in product(("a", "b"), repeat=size):
            topic = dialect.join(words)
            for delivery in trie.deliveries(topic):
                assert delivery.words == expected(dialect, delivery.filter, topic), (delivery, topic)
    trie.check()


@pytest.mark.parametrize("exact", [False, True], ids=["by words", "exact"])
@pytest.mark.parametrize("size", [1, 2, 62, 63, 64, 65, 100])
@pytest.mark.parametrize("word", ["a", "of-more-than-seven", "é", "日本", "😀", ""])
def test_topics_of_any_length_and_characters(word: str, size: int, exact: bool) -> None:
    dialect = replace(AMQP, max_bytes=10_000)
    trie = SubscriptionTrie(dialect, exact=exact)
    topic = ".".join([word] * size)
    for filter in {topic, "#", ".".join(["*"] * size), f"{word}.#", f"#.{word}.#", f"*.{word}.#", f"#.{word}.*"}:
        trie.subscribe(filter, filter)
    for one in (*trie.deliveries(topic), *trie.deliveries_many([topic] * 9)[8]):
        assert one.words == expected(dialect, one.filter, topic)
    trie.check()


def test_no_words_and_one_empty_word_are_told_apart() -> None:
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("a/#", 1)
    trie.subscribe("+/+/#", 2)
    found = {topic: {one.filter: one.words for one in trie.deliveries(topic)} for topic in ("a", "a/", "a//", "/b")}
    assert found["a"] == {"a/#": ((),)}
    assert found["a/"] == {"a/#": (("",),), "+/+/#": ("a", "", ())}
    assert found["a//"] == {"a/#": (("", ""),), "+/+/#": ("a", "", ("",))}
    assert found["/b"] == {"+/+/#": ("", "b", ())}
    both = SubscriptionTrie(AMQP)
    both.subscribe("#", 1)
    assert [one.words for one in both.deliveries("")] == [((),)]


def test_a_wildcard_for_many_words_takes_as_few_as_it_can_from_the_first_on() -> None:
    trie = SubscriptionTrie()
    trie.subscribe("#.b.#.*", 1)
    assert [one.words for one in trie.deliveries("a.b.c.b.d")] == [(("a",), ("c", "b"), "d")]
    assert [one.words for one in trie.deliveries("b.b")] == [((), (), "b")]


def test_the_name_of_a_group_is_no_word() -> None:
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("$share/g/+/x/#", 1)
    assert [(one.filter, one.words) for one in trie.deliveries("a/x/b")] == [("$share/g/+/x/#", ("a", ("b",)))]
    joined = SubscriptionTrie(NATS)
    joined.subscribe("*.b", 1, queue="g")
    joined.subscribe("a.>", 1, queue="g")
    found = {one.filter: one.words for _ in range(64) for one in joined.deliveries("a.b")}
    assert found == {"*.b": ("a",), "a.>": (("b",),)}


@pytest.mark.parametrize("exact", [False, True], ids=["by words", "exact"])
def test_words_are_those_that_the_dialect_has_split_the_topic_into(exact: bool) -> None:
    trie = SubscriptionTrie(Folding("folding", separator=".", one_word="*", many_words="#"), exact=exact)
    trie.subscribe("A.*", 1)
    trie.subscribe("#.B", 2)
    assert {one.filter: one.words for one in trie.deliveries("A.B")} == {"a.*": ("b",), "#.b": (("a",),)}


def test_a_topic_of_a_class_of_its_own() -> None:
    class Named(str):
        __slots__ = ()

        def split(self, *_: object) -> Any:
            raise AssertionError

    trie = SubscriptionTrie()
    trie.subscribe("a.*", 1)
    found = trie.deliveries(Named("a.b"))[0]
    assert found.words == ("b",)
    assert type(found.words[0]) is str


def test_made_by_hand_copied_and_pickled() -> None:
    trie = SubscriptionTrie(NATS)
    trie.subscribe("a.*.>", "ann", queue="g", weight=2)
    found = trie.deliveries("a.b.c.d")[0]
    assert found.words == ("b", ("c", "d"))
    for same in (copy.copy(found), copy.deepcopy(found), *(pickle.loads(pickle.dumps(found, n)) for n in range(6))):
        assert same == found
        assert same.words == found.words
    by_hand = Delivery("a.*.>", "ann", {"queue": "g", "weight": 2}, "g", ("b", ("c", "d")))
    assert by_hand == found
    assert hash(by_hand) == hash(found)
    assert by_hand.words == found.words
    assert by_hand.filter == found.filter
    assert Delivery("a.*", 1).words == ()
    # `words` belongs to the message: what says which subscription delivers leaves it out.
    assert Delivery("a.*", 1, words=("x",)) == Delivery("a.*", 1)
    assert found.as_dict() == {
        "filter": "a.*.>",
        "subscriber": "ann",
        "options": {"queue": "g", "weight": 2},
        "group": "g",
    }
    assert "words" not in repr(found)
    with pytest.raises(TypeError, match="must be a tuple, not str"):
        Delivery("a.*", 1, words="b")  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        found.words = ()  # type: ignore[misc]


def test_many_wildcards_for_many_words_take_no_exponential_time() -> None:
    trie = SubscriptionTrie(replace(AMQP, max_bytes=10_000))
    trie.subscribe(".".join(["#", "a"] * 60 + ["#"]), 1)
    (one,) = trie.deliveries(".".join(["a"] * 200))
    start = process_time()
    assert one.words == (*[()] * 60, ("a",) * 140)
    assert process_time() - start < 5
