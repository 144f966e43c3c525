"""Bad input to a SubscriptionTrie: the error names the fault and its place, and nothing has changed.

The texts are those that docs/topics.md lists. Subscribers have methods that raise, block or call the trie. Other tests
show when two subscribers are the same, and what snapshots refuse.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError, TopicStore
from tests.odd_values import Number
from tests.threads import LIMIT, finish, start


def sample(dialect: Dialect) -> SubscriptionTrie:
    trie = SubscriptionTrie(dialect)
    for filter in ("a", dialect.join(("a", "b")), dialect.join((dialect.one_word, "b"))):
        trie.subscribe(filter, "ann", qos=1)
    trie.subscribe(dialect.many_words or "a", "bob")
    return trie


def everything(trie: SubscriptionTrie) -> Any:
    topic = trie.dialect.join(("a", "b"))
    return (
        len(trie),
        sorted((found.filter, found.subscriber, dict(found.options)) for found in trie.subscriptions()),
        sorted(trie.match(topic)),
        sorted(trie.match("a")),
        trie.stats(),
    )


@contextmanager
def unchanged(trie: SubscriptionTrie) -> Iterator[None]:
    before = everything(trie)
    yield
    assert everything(trie) == before
    trie.check()


# --------------------------------------------------------------------------------------------------------------- texts

ABOUT_A_FILTER: dict[str, Callable[[SubscriptionTrie, Any], Any]] = {
    "subscribe": lambda trie, filter: trie.subscribe(filter, "ann"),
    "subscribe with options": lambda trie, filter: trie.subscribe(filter, "new", qos=2),
    "unsubscribe": lambda trie, filter: trie.unsubscribe(filter, "ann"),
    "subscriptions": lambda trie, filter: trie.subscriptions(filter=filter),
    "subscribe_many": lambda trie, filter: trie.subscribe_many([("a", "new"), (filter, "ann")]),
    "unsubscribe_many": lambda trie, filter: trie.unsubscribe_many([("a", "ann"), (filter, "ann")]),
    "overlapping": lambda trie, filter: trie.overlapping(filter),
}
ABOUT_A_TOPIC: dict[str, Callable[[SubscriptionTrie, Any], Any]] = {
    "match": lambda trie, topic: trie.match(topic),
    "match_many": lambda trie, topic: trie.match_many(["a", topic]),
    "has_match": lambda trie, topic: trie.has_match(topic),
    "count": lambda trie, topic: trie.count(topic),
    "entries": lambda trie, topic: trie.entries(topic),
    "match_iter": lambda trie, topic: trie.match_iter(topic),
}

BOTH = [
    (AMQP, "a" * 256, 255, "longer than 255 bytes"),
    (AMQP, "é" * 128, 127, "longer than 255 bytes"),
    (MQTT, "a" * 65_536, 65_535, "longer than 65535 bytes"),
    (NATS, "a" * 4_097, 4_096, "longer than 4096 bytes"),
    (MQTT, "/".join(["a"] * 202), 402, "more than 201 words"),
    (NATS, ".".join(["a"] * 257), 512, "more than 256 words"),
    (MQTT, "", 0, "empty {}"),
    (NATS, "", 0, "empty {}"),
    (NATS, "a..b", 2, "empty word"),
    (NATS, ".a", 0, "empty word"),
    (NATS, "a.", 2, "empty word"),
    (MQTT, "a/b+", 3, "wildcard '+' inside a word"),
    (MQTT, "a#", 1, "wildcard '#' inside a word"),
    *((NATS, f"a.b{space}c", 3, f"forbidden character {space!r}") for space in " \t\n\f\r"),
    *((dialect, "a\0b", 1, r"forbidden character '\x00'") for dialect in (AMQP, MQTT, NATS)),
    *((dialect, "ab\ud800", 2, "lone surrogate") for dialect in (AMQP, MQTT, NATS)),
    *((dialect, "é\udfffb", 1, "lone surrogate") for dialect in (AMQP, MQTT, NATS)),
]
FILTERS = [
    *BOTH,
    (MQTT, "a/#/b", 2, "'#' is not the last word"),
    (NATS, "a.>.b", 2, "'>' is not the last word"),
    (MQTT, "$share//a", 7, "shared subscription without a group"),
    (MQTT, "$share/g", 8, "shared subscription without a filter"),
    (MQTT, "$share/g+/a", 8, "wildcard '+' in the name of a group"),
]
TOPICS = [
    *BOTH,
    (MQTT, "a/+", 2, "wildcard '+' in a topic"),
    (MQTT, "a/#", 2, "wildcard '#' in a topic"),
    (NATS, "*.b", 0, "wildcard '*' in a topic"),
    (NATS, "a.>", 2, "wildcard '>' in a topic"),
]
ACCEPTED = [
    (AMQP, "", ""),
    (AMQP, "a..b", "a..b"),
    (AMQP, ".a", ".a"),
    (AMQP, "a.", "a."),
    (AMQP, "a*b.c#", "a*b.c#"),
    (AMQP, "##", "##"),
    (AMQP, "a.*", "a.*"),
    (AMQP, "#.a.#", "#.a.#"),
    (AMQP, "." * 255, "." * 255),
    (AMQP, " \t", " \t"),
    (MQTT, "/", "/"),
    (MQTT, "a/b c", "a/b c"),
    (MQTT, "/".join(["a"] * 201), "/".join(["a"] * 201)),
    (NATS, "a*.>>", "a*.>>"),
    (NATS, "$share.g.a", "$share.g.a"),
]


@pytest.mark.parametrize("ask", ABOUT_A_FILTER.values(), ids=ABOUT_A_FILTER)
@pytest.mark.parametrize(("dialect", "filter", "position", "reason"), FILTERS, ids=lambda value: repr(value)[:20])
def test_a_bad_filter(
    ask: Callable[[SubscriptionTrie, str], Any], dialect: Dialect, filter: str, position: int, reason: str
) -> None:
    trie = sample(dialect)
    with unchanged(trie), pytest.raises(TopicError) as refused:
        ask(trie, filter)
    error = refused.value
    assert (error.text, error.position, error.reason) == (filter, position, reason.format("filter"))


@pytest.mark.parametrize("ask", ABOUT_A_TOPIC.values(), ids=ABOUT_A_TOPIC)
@pytest.mark.parametrize(("dialect", "topic", "position", "reason"), TOPICS, ids=lambda value: repr(value)[:20])
def test_a_bad_topic(
    ask: Callable[[SubscriptionTrie, str], Any], dialect: Dialect, topic: str, position: int, reason: str
) -> None:
    trie = sample(dialect)
    with unchanged(trie), pytest.raises(TopicError) as refused:
        ask(trie, topic)
    error = refused.value
    assert (error.text, error.position, error.reason) == (topic, position, reason.format("topic"))


@pytest.mark.parametrize(("dialect", "filter", "topic"), ACCEPTED, ids=lambda value: repr(value)[:20])
def test_what_looks_bad_and_is_not(dialect: Dialect, filter: str, topic: str) -> None:
    trie = SubscriptionTrie(dialect)
    assert trie.subscribe(filter, 1)
    assert trie.match(topic) == (1,)
    assert trie.filters(1) == [filter]
    assert trie.unsubscribe(filter, 1)
    assert trie.stats()["branches"] == 0
    trie.check()


@pytest.mark.parametrize("text", [None, b"a.b", 7, ("a", "b"), bytearray(b"a")], ids=repr)
@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
def test_no_text_at_all(dialect: Dialect, text: Any) -> None:
    trie = sample(dialect)
    named = type(text).__name__
    for ask in (trie.subscribe, trie.unsubscribe):
        with unchanged(trie), pytest.raises(TypeError, match=f"a filter must be a str, not {named}"):
            ask(text, "ann")
    if text is not None:  # None asks for all filters
        with unchanged(trie), pytest.raises(TypeError, match=f"a filter must be a str, not {named}"):
            trie.subscriptions(filter=text)
    for question in ABOUT_A_TOPIC.values():
        with unchanged(trie), pytest.raises(TypeError, match=f"a topic must be a str, not {named}"):
            question(trie, text)


def test_a_str_of_another_class_is_a_text() -> None:
    class Topic(str):
        __slots__ = ()

    trie = SubscriptionTrie()
    trie.subscribe(Topic("a.*"), 1)
    assert trie.match(Topic("a.b")) == trie.match("a.b") == (1,)
    assert [type(found.filter) for found in trie.subscriptions()] == [str]
    trie.check()


class Lying(str):
    def split(self, *_: Any) -> list[Any]:  # type: ignore[override]
        return ["a.b", None]

    def __eq__(self, _: object) -> bool:
        return True

    __hash__ = str.__hash__


def test_a_str_of_another_class_is_the_text_that_it_is_whatever_its_methods_say() -> None:
    trie = SubscriptionTrie()
    trie.subscribe(Lying("a.b"), 1)
    assert [found.filter for found in trie.subscriptions()] == ["a.b"]
    for topic in ("a.b", Lying("a.b")):
        assert trie.match(topic) == (1,)
        assert list(trie.match_iter(topic)) == [1]
    assert trie.match(Lying("a.c")) == ()
    trie.check()


def test_a_queue_group_of_another_class_is_the_name_that_it_is() -> None:
    trie = SubscriptionTrie(NATS)
    for subscriber, group in enumerate([Lying("one"), "two", Lying("three")]):
        trie.subscribe("a", subscriber, queue=group)
    assert sorted(trie.match("a")) == [0, 1, 2]
    assert trie.unsubscribe("a", 0, queue="one")
    trie.check()


@pytest.mark.parametrize("dialect", [None, "AMQP", Dialect], ids=repr)
def test_no_dialect(dialect: Any) -> None:
    with pytest.raises(TypeError, match="dialect must be a Dialect, such as AMQP, not "):
        SubscriptionTrie(dialect)


# --------------------------------------------------------------------------------------------------------- subscribers

UNHASHABLE: Any = ["ann"]
ABOUT_A_SUBSCRIBER: dict[str, Callable[[SubscriptionTrie, Any], Any]] = {
    "subscribe": lambda trie, subscriber: trie.subscribe("a.b", subscriber, qos=1),
    "unsubscribe": lambda trie, subscriber: trie.unsubscribe("a.b", subscriber),
    "unsubscribe_all": lambda trie, subscriber: trie.unsubscribe_all(subscriber),
    "subscriptions": lambda trie, subscriber: list(trie.subscriptions(subscriber=subscriber)),
    "subscriptions of a filter": lambda trie, subscriber: list(trie.subscriptions("a.b", subscriber)),
    "filters": lambda trie, subscriber: trie.filters(subscriber),
}
every_question_about_a_subscriber = pytest.mark.parametrize("ask", ABOUT_A_SUBSCRIBER.values(), ids=ABOUT_A_SUBSCRIBER)


class Unwilling:
    """Has the hash of the `victim`, and breaks or does something else when it is hashed or compared."""

    def __init__(
        self, victim: object, on_hash: Callable[[], Any] = lambda: None, on_eq: Callable[[], Any] = lambda: None
    ) -> None:
        self.victim = victim
        self.on_hash = on_hash
        self.on_eq = on_eq

    def __hash__(self) -> int:
        self.on_hash()
        return hash(self.victim)

    def __eq__(self, other: object) -> bool:
        self.on_eq()
        return self is other


class Broken(Exception):
    pass


def break_down() -> NoReturn:
    raise Broken


@every_question_about_a_subscriber
def test_an_unhashable_subscriber(ask: Callable[[SubscriptionTrie, Any], Any]) -> None:
    trie = sample(AMQP)
    with unchanged(trie), pytest.raises(TypeError, match="unhashable type: 'list'"):
        ask(trie, UNHASHABLE)


def test_an_unhashable_subscriber_is_refused_at_the_call() -> None:
    trie = sample(AMQP)
    with unchanged(trie), pytest.raises(TypeError, match="unhashable type: 'list'"):
        trie.subscriptions(subscriber=UNHASHABLE)


@every_question_about_a_subscriber
def test_a_subscriber_whose_hash_raises(ask: Callable[[SubscriptionTrie, Any], Any]) -> None:
    trie = sample(AMQP)
    with unchanged(trie), pytest.raises(Broken):
        ask(trie, Unwilling("ann", on_hash=break_down))


@every_question_about_a_subscriber
def test_a_subscriber_whose_comparison_raises(ask: Callable[[SubscriptionTrie, Any], Any]) -> None:
    trie = sample(AMQP)
    with unchanged(trie), pytest.raises(Broken):
        ask(trie, Unwilling("ann", on_eq=break_down))


@pytest.mark.parametrize("crowd", [0, 5, 30], ids=lambda crowd: f"among {crowd}")
@pytest.mark.parametrize("breaks", [True, False])
def test_a_comparison_amid_a_match(crowd: int, breaks: bool) -> None:
    """It takes place only for two different objects with one hash. Whatever it does, the trie stays sound."""
    trie = SubscriptionTrie()
    written = []

    def come_back() -> None:
        written.append(trie.unsubscribe("a.b", "later") or trie.subscribe("a.b", "later"))

    one, other = (Unwilling(7, on_eq=break_down if breaks else come_back) for _ in range(2))
    trie.subscribe("a.b", one)
    trie.subscribe("*.b", other)
    for n in range(crowd):
        trie.subscribe(f"#.{'b' if n % 2 else '*'}", f"{n}")
    size = len(trie)
    assert (trie.has_match("a.b"), len(list(trie.entries("a.b")))) == (True, size)
    for question in (trie.match, trie.count, lambda topic: trie.match_many([topic])):
        if breaks:
            with pytest.raises(Broken):
                question("a.b")
        else:
            question("a.b")
    assert bool(written) is not breaks
    if not breaks:
        found = trie.match("c.b")
        assert sum(subscriber is other for subscriber in found) == 1
        assert sum(subscriber is one for subscriber in trie.match("a.b")) == 1
    trie.unsubscribe("a.b", "later")
    assert len(trie) == size
    trie.check()


@pytest.mark.parametrize("ask", [ABOUT_A_SUBSCRIBER[name] for name in ("subscribe", "unsubscribe")])
@pytest.mark.parametrize("moment", ["on_hash", "on_eq"])
def test_a_subscriber_that_comes_back_to_the_trie(ask: Callable[[SubscriptionTrie, Any], Any], moment: str) -> None:
    """Its writes take effect; then its own operation continues, after a restart if needed."""
    trie = SubscriptionTrie()
    trie.subscribe("a.b", 7)
    guests: list[str] = []

    def come_back() -> None:
        if len(guests) < 3:
            guests.append(f"guest {len(guests)}")
            assert trie.subscribe("a.b", guests[-1])
            assert trie.match("a.b")

    visitor = Unwilling(7, **{moment: come_back})
    ask(trie, visitor)
    assert guests
    setattr(visitor, moment, lambda: None)
    assert set(trie.match("a.b")) - {visitor} == {7, *guests}
    trie.check()


def test_a_subscriber_that_blocks_when_compared_holds_nobody_up() -> None:
    trie = SubscriptionTrie()
    trie.subscribe("a.b", 7)
    entered, go_on = threading.Event(), threading.Event()

    def block() -> None:
        entered.set()
        assert go_on.wait(LIMIT)

    slow = Unwilling(7, on_eq=block)
    workers = start([lambda: trie.subscribe("a.b", slow)])
    assert entered.wait(LIMIT)
    assert trie.subscribe("a.b", "other")
    assert trie.unsubscribe("a.b", "other")
    assert trie.subscribe("a.c", "other")
    assert trie.match("a.b") == (7,)
    assert len(trie.snapshot()) == 2
    go_on.set()
    assert finish(workers) == [True]
    assert set(trie.match("a.b")) == {7, slow}
    trie.check()


def test_matching_does_not_hash_subscribers() -> None:
    hashed = []
    trie = SubscriptionTrie()
    one, other = (Unwilling(7, on_hash=lambda: hashed.append(1)) for _ in range(2))
    for filter in ("a.b", "a.*", "#"):
        trie.subscribe(filter, one)
        trie.subscribe(filter, other)
    hashed.clear()
    for _ in range(3):
        assert len(trie.match("a.b")) == trie.count("a.b") == 2
        assert trie.has_match("a.b")
    assert not hashed
    trie.check()


# -------------------------------------------------------------------------------------- which subscribers are the same


@pytest.mark.parametrize("crowd", [0, 3, 7, 8, 40], ids=lambda crowd: f"among {crowd}")
class TestSameness:
    """Subscribers are the same if they would be the same key of a dict, however many others are on the filter."""

    def trie(self, crowd: int) -> SubscriptionTrie:
        trie = SubscriptionTrie()
        for n in range(crowd):
            trie.subscribe("a", f"{n}")
        return trie

    def others(self, trie: SubscriptionTrie) -> list[Any]:
        return [subscriber for subscriber in trie.match("a") if not isinstance(subscriber, str)]

    def test_a_subscriber_is_kept_as_a_dict_keeps_a_key(self, crowd: int) -> None:
        trie = self.trie(crowd)
        assert trie.subscribe("a", 1)
        for same in (1.0, True):
            for options in ({}, {"qos": 2}, {}):
                assert not trie.subscribe("a", same, **options)
                assert [(type(kept), kept) for kept in self.others(trie)] == [(int, 1)]
                assert [dict(found.options) for found in trie.subscriptions("a", 1)] == [options]
        assert trie.unsubscribe("a", True)
        assert not trie.unsubscribe("a", 1)
        assert len(trie) == crowd
        trie.check()

    def test_equal_subscribers_on_two_filters_are_one_subscriber(self, crowd: int) -> None:
        trie = self.trie(crowd)
        for filter, subscriber in (("a", 1), ("*", 1.0), ("#", True)):
            assert trie.subscribe(filter, subscriber)
        assert self.others(trie) == [1]
        assert trie.count("a") == crowd + 1
        assert len(list(trie.entries("a"))) == crowd + 3
        assert sorted(trie.filters(1.0)) == ["#", "*", "a"]
        assert trie.unsubscribe_all(1) == 3
        trie.check()

    def test_none_is_a_subscriber_like_any_other(self, crowd: int) -> None:
        trie = self.trie(crowd)
        assert trie.subscribe("a", None)
        assert not trie.subscribe("a", None)
        assert self.others(trie) == [None]
        assert trie.filters(None) == ["a"]
        assert trie.unsubscribe_all(None) == 1
        assert len(trie) == crowd
        trie.check()

    def test_nan_is_the_same_as_itself_only(self, crowd: int) -> None:
        trie = self.trie(crowd)
        one, other = math.nan, float("nan")
        assert trie.subscribe("a", one)
        assert not trie.subscribe("a", one)
        assert trie.subscribe("a", other)
        assert trie.subscribe("*", one)
        assert sorted(map(id, self.others(trie))) == sorted(map(id, (one, other)))
        assert trie.unsubscribe("a", one)
        assert not trie.unsubscribe("a", one)
        assert trie.unsubscribe("a", other)
        trie.check()

    def test_different_subscribers_of_one_hash_are_apart(self, crowd: int) -> None:
        trie = self.trie(crowd)
        same_hash = [Unwilling(7) for _ in range(5)]
        for subscriber in same_hash:
            assert trie.subscribe("a", subscriber)
            assert trie.subscribe("*", subscriber)
        assert {id(found) for found in self.others(trie)} == set(map(id, same_hash))
        assert trie.count("a") == crowd + 5
        for left, subscriber in zip(range(4, -1, -1), same_hash, strict=True):
            assert trie.unsubscribe("a", subscriber)
            assert not trie.unsubscribe("a", subscriber)
            assert len(trie) == crowd + 5 + left
        trie.check()


# ----------------------------------------------------------------------------------------------------------- snapshots


def test_a_snapshot_refuses_every_change() -> None:
    trie = sample(AMQP)
    snapshot = trie.snapshot()
    for change in (
        lambda: snapshot.subscribe("a", "new"),
        lambda: snapshot.unsubscribe("a", "ann"),
        lambda: snapshot.unsubscribe("a", "nobody"),
        lambda: snapshot.unsubscribe_all("ann"),
        lambda: snapshot.unsubscribe_all("nobody"),
        lambda: snapshot.clear(),
    ):
        with (
            unchanged(snapshot),
            unchanged(trie),
            pytest.raises(TypeError, match=r"read-only snapshot; take \.fork\(\)"),
        ):
            change()


def test_a_difference_from_something_else() -> None:
    trie = sample(AMQP)
    for other in (None, "a.b", AMQP):
        with unchanged(trie), pytest.raises(TypeError, match="takes a SubscriptionTrie, not "):
            trie.diff(other)  # type: ignore[arg-type]


def test_a_difference_from_a_trie_of_another_dialect() -> None:
    with pytest.raises(ValueError, match="same dialect: AMQP, not MQTT"):
        SubscriptionTrie().diff(SubscriptionTrie(MQTT))


def test_a_difference_of_options_that_do_not_compare() -> None:
    """Such as arrays, whose == gives no truth value. They count as changed, unless they are the same object."""

    class Unclear:
        def __eq__(self, other: object) -> bool:
            raise ValueError("ambiguous")

        __hash__ = None  # type: ignore[assignment]

    trie = SubscriptionTrie()
    same = Unclear()
    trie.subscribe_many([("a", 1, {"q": Unclear()}), ("b", 1, {"q": same})])
    before = trie.snapshot()
    trie.subscribe_many([("a", 1, {"q": Unclear()}), ("b", 1, {"q": same})])
    assert [(change.kind, change.subscription.filter) for change in trie.diff(before)] == [("updated", "a")]
    trie.check()


def test_a_difference_of_options_that_are_equal_and_not_the_same() -> None:
    """True is no 1, and -0.0 no 0.0, wherever they stand; an enumeration's 1 is."""
    rows: list[tuple[Any, Any]] = [
        (1, True),
        (0.0, -0.0),
        ([1], [1.0]),
        (1, 1),
        ([1.5], [1.5]),
        (Number.ONE, 1),
        ({}, {}),
    ]
    trie, store = SubscriptionTrie(), TopicStore(AMQP, {str(number): row[0] for number, row in enumerate(rows)})
    trie.subscribe_many((str(number), "s", {"q": row[0]}) for number, row in enumerate(rows))
    before, stored = trie.snapshot(), store.snapshot()
    for number, row in enumerate(rows):
        trie.subscribe(str(number), "s", q=row[1])
        store[str(number)] = row[1]
    assert sorted(change.subscription.filter for change in trie.diff(before)) == ["0", "1", "2"]
    assert sorted(topic for topic, *_ in store.diff(stored)) == ["0", "1", "2"]


def test_what_it_says_of_itself() -> None:
    trie = SubscriptionTrie(MQTT)
    assert repr(trie) == "<SubscriptionTrie: MQTT>"
    assert repr(trie.snapshot()) == "<SubscriptionTrie: MQTT, read-only>"


def test_a_trie_is_initialised_once() -> None:
    trie = sample(AMQP)
    with unchanged(trie), pytest.raises(TypeError, match="is initialised once; make another one"):
        trie.__init__(MQTT)  # type: ignore[misc]
    assert trie.dialect is AMQP


def test_a_copy_is_a_fork() -> None:
    trie = sample(AMQP)
    copied = copy.copy(trie)
    with unchanged(trie):
        copied.subscribe("a", "new")
    with pytest.raises(TypeError, match="read-only"):
        copy.copy(trie.snapshot()).clear()
    copied.check()


@pytest.mark.parametrize("name", ["subscription_identifier", "weight"])
def test_a_number_out_of_a_wide_range_is_refused_in_a_short_sentence(name: str) -> None:
    """The range of identifiers has 268,435,455 numbers: to name each would take a minute and gigabytes."""
    trie: SubscriptionTrie[str] = SubscriptionTrie(MQTT)
    with pytest.raises(ValueError, match=rf"the option {name} of MQTT is from 1 to \d+, not 0"):
        trie.subscribe("a", "ann", **{name: 0})
    with pytest.raises(TypeError, match=rf"the option {name} of MQTT is an int, not 'x'"):
        trie.subscribe("a", "ann", **{name: "x"})
    with pytest.raises(ValueError, match="the option qos of MQTT is one of 0, 1, 2, not 3"):
        trie.subscribe("a", "ann", qos=3)
    assert len(trie) == 0
    trie.check()
