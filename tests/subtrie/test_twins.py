"""Matching in C against its interpreted twin: the same subscriptions and topics, the same answers and refusals.

The two use different hashes: words fall into different branches, so a mistake would have to be made twice.
"""

from __future__ import annotations

import random
import string
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError
from tests.twins import load_twin

pytestmark = pytest.mark.compiled


def interpreted(dialect: Dialect, exact: bool) -> Any:
    subtrie = load_twin(None, ("ctrie", "subtrie")).modules["subtrie"]
    rules = {rule.name: getattr(dialect, rule.name) for rule in fields(Dialect)}
    return subtrie.SubscriptionTrie(subtrie.Dialect(**rules), exact=exact)  # type: ignore[attr-defined]


class Twins:
    """Two tries with the same operations, which must have the same results."""

    def __init__(self, dialect: Dialect, exact: bool = False) -> None:
        self.compiled = SubscriptionTrie(dialect, exact=exact)
        self.interpreted = interpreted(dialect, exact)

    def same(self, ask: Callable[[Any], Any]) -> Any:
        ours, theirs = outcome(ask, self.compiled), outcome(ask, self.interpreted)
        assert ours == theirs
        return ours

    def ask(self, topic: str) -> Any:
        self.same(lambda trie: trie.has_match(topic))
        self.same(lambda trie: trie.count(topic))
        self.same(lambda trie: listed(trie.entries(topic)))
        self.same(lambda trie: listed(trie.deliveries(topic)))
        self.same(lambda trie: sorted(repr(one.subscriber) for one in trie.deliveries(topic, merge="one")))
        self.same(lambda trie: [Counter(found) for found in trie.match_many([topic, topic])])
        return self.same(lambda trie: Counter(trie.match(topic)))

    def end(self) -> None:
        self.same(lambda trie: listed(trie.subscriptions()))
        self.same(lambda trie: (len(trie), trie.stats()["branches"], trie.stats()["filters"]))
        self.compiled.check()
        self.interpreted.check()


def outcome(ask: Callable[[Any], Any], trie: Any) -> Any:
    """The result or the error; each twin has a TopicError of its own."""
    try:
        return ask(trie)
    except (ValueError, TypeError) as error:
        return type(error).__name__, error.args


def listed(subscriptions: Iterable[Any]) -> list[Any]:
    return sorted((found.filter, repr(found.subscriber), sorted(found.options.items())) for found in subscriptions)


DIALECTS = [
    AMQP,
    MQTT,
    NATS,
    replace(AMQP, name="short AMQP", max_words=3, max_wildcards=1, max_bytes=12),
    replace(
        MQTT, name="lax MQTT", many_last=False, wildcards_in_words=True, wildcards_in_topics=True, share_prefix=None
    ),
    replace(NATS, name="odd NATS", reserved_prefix="$", empty_words=True, zero_words=True, forbidden="b\xe9"),
    Dialect("long wildcards", separator="/", one_word="one", many_words="many"),
]


def texts(dialect: Dialect) -> st.SearchStrategy[str]:
    """Mostly valid filters and topics, and some nearly valid ones."""
    wild = [dialect.one_word, dialect.many_words or dialect.one_word]
    word = st.sampled_from(
        ["a", "b", "", "a\xe9", "\u044f", "\U0001d11e", "$s", "$share", "abcdefgh", "abcdefghi", *wild]
    )
    part = st.sampled_from(["a", dialect.separator, *wild, "\0", " ", "\ud800", "\x7f", "\x80"])
    return st.lists(word, max_size=6).map(dialect.join) | st.lists(part, max_size=12).map("".join)


@given(dialect=st.sampled_from(DIALECTS), exact=st.booleans(), data=st.data())
@settings(max_examples=2 * settings().max_examples)  # since there are so many dialects
def test_any_subscriptions_and_topics(dialect: Dialect, exact: bool, data: st.DataObject) -> None:
    twins = Twins(dialect, exact)
    text = texts(dialect)
    for filter, subscriber, action in data.draw(
        st.lists(
            st.tuples(text, st.integers(0, 3), st.sampled_from(["subscribe", "subscribe", "unsubscribe"])), max_size=12
        )
    ):
        twins.same(lambda trie: getattr(trie, action)(filter, subscriber))  # noqa: B023 (called at once)
    for topic in data.draw(st.lists(text, max_size=6)):
        twins.ask(topic)
    twins.end()


@pytest.mark.parametrize("seed", range(2))
def test_many_filters_and_long_topics(seed: int) -> None:
    """Topics of 1 to 90 words, for both ways to keep positions; words of 1 to 40 letters; many subscribers."""
    rng = random.Random(seed)
    roomy = replace(AMQP, max_bytes=5_000, max_words=200)
    twins = Twins(roomy, exact=seed == 1)
    words = ["".join(rng.choices(string.ascii_letters, k=rng.choice([1, 2, 7, 8, 9, 16, 40]))) for _ in range(6)]

    def text(wild: Iterable[str], sizes: list[int]) -> str:
        return roomy.join(rng.choices([*words, *wild], k=rng.choice(sizes)))

    for n in range(400):
        filter = text(["*", "*", "#", "#", "#"], [1, 2, 3, 4, 5])
        twins.same(lambda trie: trie.subscribe(filter, n % 90))  # noqa: B023 (called at once)
    found = sum(len(twins.ask(text(["*"], [1, 2, 3, 4, 62, 63, 64, 65, 90]))) for _ in range(60))
    assert found > 100, "these topics reach nobody"
    for filter in [found.filter for found in twins.compiled.subscriptions()][::2]:
        for n in range(0, 90, 3):
            twins.same(lambda trie: trie.unsubscribe(filter, n))  # noqa: B023 (called at once)
    for _ in range(20):
        twins.ask(text(["#"], [1, 2, 3, 64]))
    twins.end()


@pytest.mark.parametrize("separator", [".", "/", "\x01", "\x7f", "\xb7", "\u2192"])
def test_words_are_found_wherever_they_lie(separator: str) -> None:
    """A text is read eight characters at a time, so three words in a row have lengths around the multiples of eight."""
    dialect = replace(AMQP, separator=separator, max_bytes=1_000)
    twins = Twins(dialect)
    sizes = [0, 1, 3, 6, 7, 8, 9, 15, 16, 17]
    twins.same(lambda trie: [trie.subscribe(dialect.join(("*", "b" * size, "*")), size) for size in sizes])
    twins.same(lambda trie: trie.subscribe(dialect.join(("#", "c" * 7)), "c"))
    for one in sizes:
        for two in sizes:
            for three in sizes:
                found = twins.compiled.match(dialect.join(("a" * one, "b" * two, "c" * three)))
                assert set(found) == ({two, "c"} if three == 7 else {two}), (one, two, three)
    twins.ask(dialect.join(("a", "b", "c" * 7)))
    twins.end()


@pytest.mark.parametrize("offence", ["\0", "\ud800", " ", "\n", ">", "*", ".."])
def test_an_offence_is_found_wherever_it_lies(offence: str) -> None:
    twins = Twins(NATS)
    for before in range(20):
        for after in (0, 1, 7, 9):
            text = "a" * before + offence + "b" * after
            refused = twins.ask(text)
            if offence in "\0\ud800 \n":
                assert refused == ("TopicError", (text, before, refused[1][2])), "not refused at its place"
            twins.same(lambda trie: trie.subscribe(text, 1))  # noqa: B023 (called at once)
            twins.same(lambda trie: trie.unsubscribe(text, 1))  # noqa: B023 (called at once)
    twins.end()


def test_the_twins_refuse_with_an_error_each() -> None:
    twins = Twins(NATS)
    assert twins.ask("a..b") == ("TopicError", ("a..b", 2, "empty word"))
    with pytest.raises(TopicError):
        twins.compiled.match("a..b")
    assert type(twins.interpreted) is not type(twins.compiled)
    twins.end()
