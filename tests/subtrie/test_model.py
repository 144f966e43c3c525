"""Any sequence of operations, on a trie, its snapshots and its forks, against a dict and the dialect's own rules.

The other tests cover what such sequences rarely reach: words of every width and length, topics around the sizes at
which the compiled matcher changes its method, hostile filters, many subscribers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from subtrie import AMQP, MQTT, NATS, Change, Dialect, Subscription, SubscriptionTrie
from tests.subtrie.support import is_valid, reaches

Options = dict[str, Any]


class Model(dict[tuple[str, Any], Options]):
    """(filter, subscriber) -> options."""

    def __init__(self, dialect: Dialect, exact: bool, content: Iterable[tuple[tuple[str, Any], Options]] = ()) -> None:
        super().__init__(content)
        self.dialect = dialect
        self.exact = exact

    def copy(self) -> Model:
        return Model(self.dialect, self.exact, self.items())

    def reached(self, topic: str) -> list[Any]:
        return in_order(
            (filter, subscriber, options)
            for (filter, subscriber), options in self.items()
            if reaches(self.dialect, filter, topic)
        )

    def wanting(self, topic: str) -> set[Any]:
        return {subscriber for _, subscriber, _ in self.reached(topic)}

    def listed(self, only_filter: str | None = None, only_subscriber: Any = None) -> list[Any]:
        return in_order(
            (filter, subscriber, options)
            for (filter, subscriber), options in self.items()
            if only_filter in (None, filter) and only_subscriber in (None, subscriber)
        )

    def changes_from(self, older: Model) -> list[Any]:
        changes = [(*on, self[on], "added") for on in self.keys() - older.keys()]
        changes += [(*on, older[on], "removed") for on in older.keys() - self.keys()]
        changes += [(*on, self[on], "updated") for on in self.keys() & older.keys() if self[on] != older[on]]
        return in_order(changes)

    def words(self, filter: str) -> tuple[str, ...]:
        return self.dialect.split_filter(filter) or ("",)

    def path(self, filter: str) -> tuple[str | None, ...]:
        """The branches that would lead to a filter if no chain were rolled up. None stands for the mark."""
        words = self.words(filter)
        if not self.exact or self.dialect.is_wild(words[0]):
            return words
        return (None, *words) if any(map(self.dialect.is_wild, words)) else (filter,)

    def stats(self) -> dict[str, int]:
        filters = {filter for filter, _ in self}
        paths = {self.path(filter) for filter in filters}
        prefixes = {path[:size] for path in paths for size in range(1, len(path) + 1)}
        levels = Counter(prefix[:-1] for prefix in prefixes)
        # Chains are rolled up: a prefix has no branch of its own if nobody is subscribed there and one word follows it.
        branches = [prefix for prefix in prefixes if prefix in paths or levels[prefix] > 1]
        return {
            "filters": len(filters),
            "subscriptions": len(self),
            "branches": len(branches),
            "depth": max((len(self.words(filter)) for filter in filters), default=0),
            "widest_level": max(levels.values(), default=0),
            "widest_fanout": max((sum(on[0] == filter for on in self) for filter in filters), default=0),
        }


def in_order(found: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(found, key=repr)


def plain(subscriptions: Iterable[Subscription]) -> list[Any]:
    return in_order((found.filter, found.subscriber, dict(found.options)) for found in subscriptions)


def plain_changes(changes: Iterable[Change]) -> list[Any]:
    return in_order((*found[:2], dict(found.options), kind) for found, kind in changes)


class Tried:
    """A trie and its expected content. Every operation is applied to both."""

    def __init__(self, trie: SubscriptionTrie, model: Model) -> None:
        self.trie = trie
        self.model = model

    @staticmethod
    def empty(dialect: Dialect, exact: bool) -> Tried:
        return Tried(SubscriptionTrie(dialect, exact=exact), Model(dialect, exact))

    def subscribe(self, filter: str, subscriber: Any, options: Options) -> None:
        assert self.trie.subscribe(filter, subscriber, **options) is ((filter, subscriber) not in self.model)
        self.model[filter, subscriber] = options

    def unsubscribe(self, filter: str, subscriber: Any) -> None:
        assert self.trie.unsubscribe(filter, subscriber) is ((filter, subscriber) in self.model)
        self.model.pop((filter, subscriber), None)

    def unsubscribe_all(self, subscriber: Any) -> None:
        gone = [on for on in self.model if on[1] == subscriber]
        assert self.trie.unsubscribe_all(subscriber) == len(gone)
        for on in gone:
            del self.model[on]

    def clear(self) -> None:
        self.trie.clear()
        self.model.clear()

    def ask(self, topic: str) -> None:
        trie, wanting = self.trie, self.model.wanting(topic)
        found = trie.match(topic)
        assert set(found) == wanting
        assert len(found) == len(wanting), f"a subscriber twice: {found}"
        assert trie.count(topic) == len(wanting)
        assert trie.has_match(topic) is bool(wanting)
        assert plain(trie.entries(topic)) == self.model.reached(topic)

    def list_some(self, filter: str, subscriber: Any) -> None:
        assert plain(self.trie.subscriptions(filter=filter)) == self.model.listed(filter)
        assert plain(self.trie.subscriptions(subscriber=subscriber)) == self.model.listed(None, subscriber)
        assert plain(self.trie.subscriptions(filter, subscriber)) == self.model.listed(filter, subscriber)
        theirs = [on[0] for on in self.model if on[1] == subscriber]
        assert sorted(self.trie.filters(subscriber)) == sorted(theirs)

    def list_all(self) -> None:
        assert plain(self.trie.subscriptions()) == self.model.listed()
        assert len(self.trie) == len(self.model)
        assert bool(self.trie) is bool(self.model)
        assert self.trie.stats().items() >= self.model.stats().items()
        self.trie.check()


# ------------------------------------------------------------------------------------------------------------- machine

WORDS = {
    AMQP: ["a", "b", "é", "", "longer than eight"],
    MQTT: ["a", "b", "я", "", "$s"],
    NATS: ["a", "b", "𝄞", "a>", "longer-than-eight"],
}
TOPIC_WORDS = {AMQP: [*WORDS[AMQP], "*", "#"], MQTT: WORDS[MQTT], NATS: WORDS[NATS]}


def filters_of(dialect: Dialect, max_size: int = 4) -> st.SearchStrategy[str]:
    assert dialect.many_words is not None
    word = st.sampled_from([*WORDS[dialect], dialect.one_word, dialect.one_word, dialect.many_words])
    least = 0 if dialect.zero_words else 1
    texts = st.lists(word, min_size=least, max_size=max_size).map(dialect.join)
    return texts.filter(partial(is_valid, dialect.split_filter))


def topics_of(dialect: Dialect, max_size: int = 5) -> st.SearchStrategy[str]:
    least = 0 if dialect.zero_words else 1
    words = st.lists(st.sampled_from(TOPIC_WORDS[dialect]), min_size=least, max_size=max_size)
    return words.map(dialect.join).filter(lambda text: bool(text) or dialect.zero_words)


SUBSCRIBERS = st.sampled_from([0, 1, 2, "x", (), None])
OPTIONS = st.sampled_from([{}, {}, {"qos": 1}, {"qos": 2, "local": True}])
CROWD = range(100, 112)


either_layout = pytest.mark.parametrize("exact", [False, True], ids=["by words", "exact"])


def machine(dialect: Dialect, exact: bool) -> type[RuleBasedStateMachine]:
    filters, topics = filters_of(dialect), topics_of(dialect)

    class Machine(RuleBasedStateMachine):
        live = Bundle("live")  # can be changed
        frozen = Bundle("frozen")  # snapshots

        def __init__(self) -> None:
            super().__init__()
            self.all: list[Tried] = []

        def remembered(self, trie: SubscriptionTrie, model: Model) -> Tried:
            self.all.append(Tried(trie, model))
            return self.all[-1]

        @initialize(target=live)
        def begin(self) -> Tried:
            return self.remembered(SubscriptionTrie(dialect, exact=exact), Model(dialect, exact))

        @rule(it=live, filter=filters, subscriber=SUBSCRIBERS, options=OPTIONS)
        def subscribe(self, it: Tried, filter: str, subscriber: Any, options: Options) -> None:
            it.subscribe(filter, subscriber, options)

        @rule(it=live, filter=filters, subscriber=SUBSCRIBERS)
        def unsubscribe(self, it: Tried, filter: str, subscriber: Any) -> None:
            it.unsubscribe(filter, subscriber)

        @rule(it=live, data=st.data())
        def unsubscribe_one_who_is_there(self, it: Tried, data: st.DataObject) -> None:
            if it.model:
                it.unsubscribe(*data.draw(st.sampled_from(sorted(it.model, key=repr))))

        @rule(it=live, filter=filters)
        def a_crowd_comes(self, it: Tried, filter: str) -> None:
            for subscriber in CROWD:
                it.subscribe(filter, subscriber, {})

        @rule(it=live, filter=filters, left=st.integers(0, 2))
        def a_crowd_goes(self, it: Tried, filter: str, left: int) -> None:
            for subscriber in CROWD[left:]:
                it.unsubscribe(filter, subscriber)

        @rule(it=live, subscriber=SUBSCRIBERS)
        def unsubscribe_all(self, it: Tried, subscriber: Any) -> None:
            it.unsubscribe_all(subscriber)

        @rule(it=live)
        def clear(self, it: Tried) -> None:
            it.clear()

        @rule(target=frozen, it=live | frozen)
        def snapshot(self, it: Tried) -> Tried:
            return self.remembered(it.trie.snapshot(), it.model.copy())

        @rule(target=live, it=live | frozen)
        def fork(self, it: Tried) -> Tried:
            return self.remembered(it.trie.fork(), it.model.copy())

        @rule(it=live | frozen, topic=topics)
        def ask(self, it: Tried, topic: str) -> None:
            it.ask(topic)

        @rule(it=live | frozen, several=st.lists(topics, max_size=3))
        def match_many(self, it: Tried, several: list[str]) -> None:
            assert [set(found) for found in it.trie.match_many(several)] == list(map(it.model.wanting, several))

        @rule(it=live | frozen, filter=filters, subscriber=SUBSCRIBERS)
        def list_some(self, it: Tried, filter: str, subscriber: Any) -> None:
            it.list_some(filter, subscriber)

        @rule(it=live | frozen)
        def list_all(self, it: Tried) -> None:
            it.list_all()

        @rule(newer=live | frozen, older=live | frozen)
        def diff(self, newer: Tried, older: Tried) -> None:
            assert plain_changes(newer.trie.diff(older.trie)) == newer.model.changes_from(older.model)

        def teardown(self) -> None:
            for it in self.all:
                it.list_all()

    return Machine


@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
@either_layout
def test_any_sequence_of_operations(dialect: Dialect, exact: bool) -> None:
    fewer = settings(max_examples=settings().max_examples // 4)  # an example takes fifty steps
    run_state_machine_as_test(machine(dialect, exact), settings=fewer)


# ------------------------------------------------------------------------------------------------- words of every kind

# Stored in one, two or four bytes a character, with common beginnings, and on both sides of 8 and 16 bytes.
ODD_WORDS = [
    *("", "é", "éa", "éaaaaaaa", "aé"),
    *("я", "яa", "яaaa", "яaaaa", "aя"),
    *("𝄞", "𝄞a", "𝄞𝄞", "𝄞𝄞a", "a𝄞"),
    *("a" * size for size in (1, 2, 7, 8, 9, 15, 16, 17, 24, 25)),
    *("a" * 7 + "b", "a" * 8 + "b", "a" * 15 + "b", "a" * 16 + "b"),
    *("a\x01", "a\xff", "a\u0100", "\x01", "\xff", "\u0100", "\uffff", "\U00010000", "\U0010ffff"),
    *("*", "#", "**", "*#", "+", ">", "$", "$a", "a*", "#a", "a>"),
]


@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
@either_layout
def test_words_of_every_width_and_length(dialect: Dialect, exact: bool) -> None:
    """Every word as a filter of its own and beside every other one; only the same word finds it."""
    roomy = replace(dialect, max_bytes=1_000)
    words = [word for word in ODD_WORDS if is_valid(roomy.split_filter, word)]
    literal = [word for word in words if not roomy.is_wild(word)]
    tried = Tried.empty(roomy, exact)
    for word in words:
        tried.subscribe(word, word, {})
        tried.subscribe(roomy.join(("x", word)), word, {})
        tried.subscribe(roomy.join((roomy.one_word, word)), word, {})
    tried.list_all()
    for word in literal:
        for topic in (word, roomy.join(("x", word)), roomy.join((word, word))):
            tried.ask(topic)
    for word in words:
        tried.unsubscribe(word, word)
        tried.unsubscribe(roomy.join(("x", word)), word)
        tried.list_some(roomy.join((roomy.one_word, word)), word)
    tried.list_all()


ROOMY = replace(AMQP, max_bytes=2_000, max_words=600, max_wildcards=600)
SIZES = [*range(5), 7, 31, 61, 62, 63, 64, 65, 66, 100, 127, 128, 129, 200]


@pytest.mark.parametrize("size", SIZES)
@either_layout
def test_topics_of_many_words(size: int, exact: bool) -> None:
    """Positions are kept in a machine word for up to 63 words, and in an integer of any size for more."""
    rng = random.Random(size)
    topic = [rng.choice("ab") for _ in range(size)]
    tried = Tried.empty(ROOMY, exact)

    def around(words: list[str]) -> str:
        """A filter for this topic, or for one of nearly the same length."""
        at, to = sorted(rng.choices(range(len(words) + 1), k=2))
        return ROOMY.join(
            rng.choice(
                [
                    words,
                    [*words[:at], "#", *words[to:]],
                    [*words[:at], "*", *words[at + 1 :]],
                    [*words[:at], "*", *words[at:]],
                    [*words[:at], "#", "*", "#", *words[to:]],
                    ["#", *words[at:to], "#"],
                    ["*"] * rng.choice([size, size - 1, size + 1]),
                    ["#", *["*"] * rng.choice([size, size - 1, size + 1]), "#"],
                    [*words, "#", "#"],
                ]
            )
        )

    for n in range(60 if size < 100 else 20):  # the model is slow for long ones
        tried.subscribe(around(topic), n % 40, {})
    for shown in (topic, topic[1:], [*topic, "a"], topic[::-1]):
        tried.ask(ROOMY.join(shown))
    tried.list_all()


@given(filters=st.lists(filters_of(AMQP, 6), max_size=8), topic=topics_of(AMQP, 6), exact=st.booleans())
def test_repeated_words_and_wildcards(filters: list[str], topic: str, exact: bool) -> None:
    tried = Tried.empty(AMQP, exact)
    for n, filter in enumerate(filters):
        tried.subscribe(filter, n % 3, {"n": n})
    tried.ask(topic)
    tried.list_all()


@either_layout
def test_many_wildcards_for_many_words(exact: bool) -> None:
    """In tries that backtrack, the first of these questions would practically never end."""
    tried = Tried.empty(AMQP, exact)
    for filter in ("#." * 15 + "b", "#.a." * 15 + "#", "#.a.#.a." * 7 + "b", "#." * 100 + "#", "#.*." * 31 + "#", "#"):
        tried.subscribe(filter, filter, {})
    for topic in (".".join("a" * 31), ".".join("a" * 30 + "b"), ".".join("ab" * 15), ".".join("a" * 120), "", "b"):
        tried.ask(topic)
    tried.list_all()


@pytest.mark.parametrize("topic", ["a.b.c.d.e.f.g.h.i", "a.a.a.a", "a" + ".a" * 62, "a" + ".a" * 80], ids=len)
@either_layout
def test_a_topic_that_passes_and_finds_more_than_a_match_has_room_for_at_first(topic: str, exact: bool) -> None:
    tried = Tried.empty(AMQP, exact)
    filters = [*product(*((word, "*") for word in "abcdefghi"))]
    filters += [words for size in range(1, 6) for words in product("a*#", repeat=size)]
    for filter in filters:
        tried.subscribe(".".join(filter), filter, {})
    tried.ask(topic)
    tried.list_all()


@either_layout
def test_a_wildcard_is_an_ordinary_word_of_an_amqp_topic(exact: bool) -> None:
    tried = Tried.empty(AMQP, exact)
    for filter in ("a.*", "a.#", "a.b", "*.*", "#", "*", "#.b", "a.*.#"):
        tried.subscribe(filter, filter, {})
    for topic in ("a.*", "a.#", "*", "#", "*.#", "#.b", "a.*.b", "a.#.b", ""):
        tried.ask(topic)
    tried.list_all()


@either_layout
def test_the_filter_of_no_words_and_that_of_one_empty_word_are_apart(exact: bool) -> None:
    tried = Tried.empty(AMQP, exact)
    for filter in ("", ".", "..", "#", "*", "*.", ".*", "#.", "#.#", ".#"):
        tried.subscribe(filter, filter, {})
    for topic in ("", ".", "..", "a", "a.", ".a", "..."):
        tried.ask(topic)
    for filter in ("", "."):
        tried.unsubscribe(filter, filter)
        tried.list_some(filter, filter)
        tried.ask(filter)
    tried.list_all()


@pytest.mark.parametrize(
    "dialect",
    [
        Dialect("long wildcards", separator="/", one_word="one", many_words="many", zero_words=True),
        Dialect("wide signs", separator="·", one_word="×", many_words="…", many_min=1, reserved_prefix="sys"),
        Dialect("flat", separator=":", one_word="?", many_words=None, empty_words=False, max_words=3),
        replace(MQTT, name="reserved", many_last=False, many_min=1, zero_words=True, share_prefix=None),
    ],
    ids=lambda dialect: dialect.name,
)
@either_layout
def test_dialects_of_ones_own(dialect: Dialect, exact: bool) -> None:
    rng = random.Random(dialect.name)
    tried = Tried.empty(dialect, exact)
    wild = [dialect.one_word, dialect.many_words or dialect.one_word]
    literal = ["a", "b", "sys1", "$s", "é"]
    for n in range(150):
        filter = dialect.join(rng.choices([*wild, *literal], k=rng.randint(1, 3)))
        tried.subscribe(filter, n % 20, {"n": n})
    for _ in range(60):
        tried.ask(dialect.join(rng.choices(literal, k=rng.randint(1, 3))))
    tried.list_all()


@either_layout
def test_thousands_of_words_and_of_subscribers(exact: bool) -> None:
    """Words are random, so that levels split and contract everywhere; subscribers pass the inline limit both ways."""
    rng = random.Random(4)
    tried = Tried.empty(AMQP, exact)
    words = [f"{rng.getrandbits(32):x}" for _ in range(1_000)]
    ons = [(f"top.{word}", n % 7) for n, word in enumerate(words)] + [("top.*", n) for n in range(1_000)]
    rng.shuffle(ons)
    for on in ons:
        tried.subscribe(*on, {})
    for word in rng.sample(words, 5):
        tried.ask(f"top.{word}")
    tried.list_all()
    before = Tried(tried.trie.snapshot(), tried.model.copy())
    for on in ons[: -len(ons) // 10]:
        tried.unsubscribe(*on)
    for word in rng.sample(words, 5):
        tried.ask(f"top.{word}")
    tried.list_all()
    assert plain_changes(tried.trie.diff(before.trie)) == tried.model.changes_from(before.model)
    for on in ons[-len(ons) // 10 :]:
        tried.unsubscribe(*on)
    tried.list_all()
    before.list_all()
