"""`TopicStore`: the last value of each topic, found by filters."""

from __future__ import annotations

import copy
import pickle
import random
import threading
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie import AMQP, MQTT, NATS, Dialect, TopicError, TopicStore
from subtrie._trie.topic_store import _restored
from tests.subtrie.support import is_valid

ROOMY = replace(AMQP, max_bytes=4_000, max_words=600)

DIALECTS = [AMQP, MQTT, NATS, Dialect("paths", separator="é", one_word="?", many_words="**", zero_words=True)]
BY_NAME = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
STORE: Any = TopicStore
WORDS = ["a", "b", "cc", "$x", "", "*", "+", "#", "é", "a-word-that-is-long", "a+b"]


def topics_of(dialect: Dialect) -> st.SearchStrategy[str]:
    """Words that may stand in a topic, so that nearly every text that is drawn is one."""
    words = [word for word in WORDS if is_valid(dialect.split_topic, dialect.separator.join(["a", word, "a"]))]
    texts = st.lists(st.sampled_from(words), max_size=5).map(dialect.separator.join)
    return texts.filter(lambda text: is_valid(dialect.split_topic, text))


def filters_of(dialect: Dialect) -> st.SearchStrategy[str]:
    """Some words may only be the last of a filter."""
    wild = [dialect.one_word, dialect.many_words or dialect.one_word]
    words = [*WORDS, *wild, *wild]
    inner = [word for word in words if is_valid(dialect.split_filter, dialect.separator.join(["a", word, "a"]))]
    last = [word for word in words if is_valid(dialect.split_filter, dialect.separator.join(["a", word]))]
    texts = st.builds(
        lambda begin, end: dialect.separator.join([*begin, *end]),
        st.lists(st.sampled_from(inner), max_size=4),
        st.lists(st.sampled_from(last), max_size=1),
    )
    return texts.filter(lambda text: is_valid(dialect.split_filter, text))


def matching(dialect: Dialect, model: dict[str, Any], filter: str) -> list[tuple[str, Any]]:
    words = dialect.split_filter(filter)
    return sorted(
        (topic, value) for topic, value in model.items() if dialect.matches(words, dialect.split_topic(topic))
    )


def test_a_reserved_prefix_counts_in_the_first_word_only() -> None:
    """`#` takes the words of every level, but leaves out reserved words only on the first level."""
    store = TopicStore(MQTT, {"a": 0, "a/$x": 1, "a/$x/$y": 2, "$x": 3, "$x/a": 4, "b/$x/a": 5})
    assert sorted(value for _, value in store.matching("#")) == [0, 1, 2, 5]
    assert sorted(value for _, value in store.matching("+/#")) == [0, 1, 2, 5]
    assert sorted(value for _, value in store.matching("$x/#")) == [3, 4]
    store.check()


class TestModel:
    @BY_NAME
    @given(data=st.data())
    def test_a_store_is_a_dict_that_filters_can_ask(self, dialect: Dialect, data: st.DataObject) -> None:
        topics, filters = topics_of(dialect), filters_of(dialect)
        store, model = TopicStore(dialect), dict[str, int]()
        for number, (topic, kind) in enumerate(
            data.draw(st.lists(st.tuples(topics, st.sampled_from("pssdg")), max_size=30))
        ):
            if kind == "p":
                assert store.pop(topic, None) == model.pop(topic, None)
            elif kind == "s":
                store[topic] = model[topic] = number
            elif kind == "d":
                assert store.setdefault(topic, number) == model.setdefault(topic, number)
            else:
                assert store.get(topic) == model.get(topic)
                assert (topic in store) is (topic in model)
        for filter in data.draw(st.lists(filters, max_size=8)):
            assert sorted(store.matching(filter)) == matching(dialect, model, filter)
        assert dict(store.items()) == model
        assert len(store) == len(model)
        assert bool(store) is bool(model)
        store.check()

    @BY_NAME
    def test_many_topics_are_all_found(self, dialect: Dialect) -> None:
        chosen = random.Random(4)
        model = {dialect.separator.join(chosen.choices("abcdefgh", k=chosen.randrange(1, 6))): n for n in range(3_000)}
        store = TopicStore(dialect, model)
        many = dialect.many_words or dialect.one_word
        for words in (["a"], ["a", many], [dialect.one_word, "b"], [many], ["c", dialect.one_word, "d", many]):
            filter = dialect.separator.join(words)
            assert sorted(store.matching(filter)) == matching(dialect, model, filter)
        store.check()
        for topic in list(model):
            del store[topic]
        assert list(store.matching(many)) == []
        store.check()

    @pytest.mark.parametrize("dialect", [ROOMY, replace(ROOMY, separator="·"), replace(ROOMY, one_word="⊕")])
    @pytest.mark.parametrize("word", ["w", "ä", "語"])
    def test_topics_of_any_length_are_found(self, dialect: Dialect, word: str) -> None:
        """Those of up to some words of ASCII characters are looked up in place."""
        topics = [dialect.separator.join([word] * size) for size in (1, 2, 3, 62, 63, 64, 65, 66, 127, 128, 129, 400)]
        store: TopicStore[int] = TopicStore(dialect)
        for number, topic in enumerate(topics):
            assert topic not in store
            store[topic] = number
        assert [store[topic] for topic in topics] == [*range(len(topics))]
        assert [store.get(topic + "x") for topic in topics] == [None] * len(topics)
        del store[topics[-1]]
        assert [topic in store for topic in topics] == [True] * (len(topics) - 1) + [False]
        store.check()

    def test_words_that_look_like_wildcards_are_ordinary_where_the_dialect_says_so(self) -> None:
        store = TopicStore(AMQP, {"a.*": 1, "a.#.b": 2, "a.x": 3})
        assert sorted(store.matching("a.*")) == [("a.*", 1), ("a.x", 3)]
        assert store["a.*"] == 1
        assert store.pop("a.#.b") == 2
        store.check()

    def test_reserved_topics_are_kept_from_filters_that_begin_with_a_wildcard(self) -> None:
        store = TopicStore(MQTT, {"$SYS/load": 1, "a": 2})
        assert list(store.matching("#")) == [("a", 2)]
        assert list(store.matching("+/load")) == []
        assert list(store.matching("$SYS/+")) == [("$SYS/load", 1)]

    def test_the_filter_of_a_shared_subscription_stands_for_the_one_behind_its_group(self) -> None:
        assert list(TopicStore(MQTT, {"a/b": 1}).matching("$share/g/a/+")) == [("a/b", 1)]

    def test_the_topic_of_no_words_has_no_word(self) -> None:
        store = TopicStore(AMQP, {"": 0, ".": 1, ".a": 2})
        assert sorted(store.matching("#")) == [("", 0), (".", 1), (".a", 2)]
        assert list(store.matching("*")) == []
        assert list(store.matching("")) == [("", 0)]
        assert sorted(store.matching(".#")) == [(".", 1), (".a", 2)]
        store.check()


class TestRefusals:
    @pytest.mark.parametrize(
        ("dialect", "topic", "offence"),
        [
            (MQTT, "a/+", "wildcard '[+]' in a topic at character 2"),
            (MQTT, "a+", "wildcard '[+]' inside a word at character 1"),
            (MQTT, "", "empty topic"),
            (NATS, "a..b", "empty word at character 2"),
            (NATS, "a.>", "wildcard '>' in a topic"),
            (AMQP, "a\0", "forbidden character"),
            (AMQP, "\ud800", "lone surrogate"),
            (AMQP, "x" * 256, "longer than 255 bytes"),
        ],
    )
    def test_what_is_no_topic_changes_nothing(self, dialect: Dialect, topic: str, offence: str) -> None:
        store = TopicStore(dialect, {"a": 1})
        for call in (store.__getitem__, store.get, store.pop, store.setdefault, lambda t: store.update({"b": 1, t: 2})):
            with pytest.raises(TopicError, match=offence):
                call(topic)
        with pytest.raises(TopicError, match=offence):
            store[topic] = 2
        assert topic not in store
        assert store.items() == [("a", 1)]
        store.check()

    def test_what_is_no_text_is_refused(self) -> None:
        store: TopicStore = TopicStore()
        with pytest.raises(TypeError, match="a topic must be a str, not int"):
            store[5] = 1  # type: ignore[index]
        with pytest.raises(TopicError):
            TopicStore(MQTT).matching("a/#/b")
        with pytest.raises(KeyError):
            store.popitem()
        with pytest.raises(TypeError, match="dialect must be"):
            TopicStore("AMQP")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="initialised once"):
            store.__init__(MQTT)  # type: ignore[misc]

    def test_a_snapshot_cannot_be_changed(self) -> None:
        store = TopicStore(topics={"a": 1}).snapshot()
        for change in (store.clear, store.popitem, lambda: store.pop("a"), lambda: store.update({"b": 1})):
            with pytest.raises(TypeError, match="read-only"):
                change()
        assert store.items() == [("a", 1)]


class TestInstants:
    def test_a_snapshot_stays_and_a_fork_goes_its_own_way(self) -> None:
        store = TopicStore(topics={"a.b": 1, "a.c": 2})
        before, fork = store.snapshot(), store.fork()
        store["a.b"], fork["a.d"] = 3, 4
        store.pop("a.c")
        assert dict(before.items()) == {"a.b": 1, "a.c": 2}
        assert dict(fork.items()) == {"a.b": 1, "a.c": 2, "a.d": 4}
        assert sorted(store.diff(before, "none")) == [("a.b", 1, 3), ("a.c", 2, "none")]
        assert before.snapshot() is before
        for each in (store, before, fork):
            each.check()

    @given(st.lists(st.tuples(st.sampled_from(["a", "a.b", "a.b.c", "a.d", "b", "b.c.d"]), st.integers(0, 3))))
    def test_a_difference_is_what_changed(self, changes: list[tuple[str, int]]) -> None:
        store = TopicStore(topics={"a.b": 1, "b": 2})
        before, old = store.snapshot(), dict(store.items())
        for topic, value in changes:
            if value:
                store[topic] = value
            else:
                store.pop(topic, None)
        new = dict(store.items())
        expected = {t: (old.get(t), new.get(t)) for t in old.keys() | new.keys() if old.get(t) != new.get(t)}
        assert {topic: (was, now) for topic, was, now in store.diff(before)} == expected
        store.check()

    def test_equals_a_mapping_of_the_same_topics_as_mappings_do(self) -> None:
        store = TopicStore(MQTT, {"a/b": 1, "c": 2})
        assert store == {"c": 2, "a/b": 1}
        assert {"c": 2, "a/b": 1} == store.snapshot()
        assert store == MappingProxyType({"c": 2, "a/b": 1})
        assert TopicStore() == {}
        for other in (
            {"c": 2},
            {"a/b": 1, "c": 3},
            {"a/b": 1, "c": 2, "d": 4},
            TopicStore(AMQP, store),
            None,
            ["a/b", "c"],
        ):
            assert store != other
        store.check()

    @BY_NAME
    def test_pickles_and_copies(self, dialect: Dialect) -> None:
        store = TopicStore(dialect, {"a": 1, dialect.separator.join("ab"): [2]})
        for other in (pickle.loads(pickle.dumps(store)), copy.copy(store), copy.deepcopy(store)):
            assert other == store
            assert other.dialect == dialect
            other["c"] = 3
            assert "c" not in store
            other.check()
        frozen = pickle.loads(pickle.dumps(store.snapshot()))
        with pytest.raises(TypeError, match="read-only"):
            frozen.clear()

    @pytest.mark.parametrize("row", [("a",), ("a", 1), ("a", 1, 1.0, 2)])
    def test_pickles_that_are_none_are_refused(self, row: tuple[Any, ...]) -> None:
        with pytest.raises(ValueError, match="to unpack"):
            _restored(STORE, MQTT, [row], False, (None, None, None))

    def test_stores_of_other_dialects_are_other_stores(self) -> None:
        assert TopicStore(AMQP) != TopicStore(NATS)
        with pytest.raises(ValueError, match="same dialect"):
            TopicStore(AMQP).diff(TopicStore(NATS))


def test_threads_lose_nothing_and_see_one_instant() -> None:
    """Each writer moves along a ring of topics: it stores message n and then removes n - 1. So a question finds at
    most two messages of a writer, and two only in a row."""
    store: TopicStore = TopicStore(MQTT)
    writers, rounds = 3, 300
    barrier = threading.Barrier(writers + 1)
    faults: list[object] = []

    def write(me: int) -> None:
        barrier.wait()
        for n in range(rounds):
            store[f"w{me}/{n % 7}/x"] = n
            if n:
                store.pop(f"w{me}/{(n - 1) % 7}/x")

    threads = [threading.Thread(target=write, args=(me,)) for me in range(writers)]
    for thread in threads:
        thread.start()
    barrier.wait()
    while any(thread.is_alive() for thread in threads):
        for me in range(writers):
            values = sorted(value for _, value in store.matching(f"w{me}/+/x"))
            if len(values) > 2 or (len(values) == 2 and values[1] - values[0] != 1):
                faults.append(values)
    for thread in threads:
        thread.join()
    assert faults == []
    assert sorted(store.items()) == [(f"w{me}/{(rounds - 1) % 7}/x", rounds - 1) for me in range(writers)]
    store.check()
