"""Weakly held subscribers: `SubscriptionTrie(weak=True)`.

A subscriber that nothing else holds is removed from every filter, whenever it dies: in the middle of another operation,
in other threads, in a collection. No answer ever contains a dead subscriber or a reference, and only the dead
subscriber's subscriptions are removed. `test_machine.py` lets subscribers die between all other changes.
"""

from __future__ import annotations

import dataclasses
import gc
import random
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from ctrie import drain
from subtrie import AMQP, MQTT, NATS, SubscriptionTrie
from tests.scripts import run_script
from tests.subtrie.support import Equal, SameHash, Subscriber, made
from tests.threads import run_together

pytestmark = pytest.mark.usefixtures("little_to_collect")

every_crowd = pytest.mark.parametrize("size", [0, 1, 5, 7, 8, 40], ids=lambda size: f"among {size}")


def crowd(trie: SubscriptionTrie, filter: str, size: int) -> list[Subscriber]:
    """Subscribe so many other objects to a filter. They live as long as the returned list."""
    others: list[Subscriber] = [SameHash(f"{n}") if n % 2 else Subscriber(f"{n}") for n in range(size)]
    for other in others:
        assert trie.subscribe(filter, other)
    return others


@pytest.mark.parametrize("words", [1, 63, 64, 200])
@pytest.mark.parametrize("exact", [False, True])
def test_a_topic_of_any_length(words: int, exact: bool) -> None:
    """The compiled twin matches long topics by other code."""
    trie = made(dataclasses.replace(AMQP, max_bytes=1_000), weak=True, exact=exact)
    one, other = Subscriber(), Subscriber()
    topic = ".".join(["a"] * words)
    for filter in (topic, "a.#", "#"):
        trie.subscribe(filter, one)
        trie.subscribe(filter, other)
    cuts = [trie, trie.fork(), trie.snapshot()]
    del other
    for each in cuts:
        assert each.match(topic) == tuple(each.match_iter(topic)) == (one,)
        assert (each.count(topic), len(list(each.entries(topic)))) == (1, 3)
    del one
    for each in cuts:
        assert (each.match(topic), each.has_match(topic)) == ((), False)
        each.check()


# -------------------------------------------------------------------------------------------------------------- deaths


@pytest.mark.usefixtures("without_collector")
class TestReferenceCounting:
    @every_crowd
    def test_who_goes_is_on_no_filter_at_once(self, size: int) -> None:
        trie = made(weak=True)
        others = crowd(trie, "a.b", size)
        subscriber = SameHash("gone")
        ref = weakref.ref(subscriber)
        for filter in ("a.b", "a.*", "#", "c"):
            assert trie.subscribe(filter, subscriber, qos=1)
        assert subscriber in trie.match("a.b")
        del subscriber
        assert ref() is None
        assert set(trie.match("a.b")) == set(others)
        assert trie.match("c") == ()
        assert not trie.unsubscribe("a.b", None), "nobody is taken for equal to None"
        counts = trie.stats()
        assert (counts["subscriptions"], counts["branches"]) == (size, size > 0)

    def test_nothing_but_an_answer_keeps_a_subscriber_alive(self) -> None:
        trie = made(NATS, weak=True)
        subscriber = Subscriber()
        ref = weakref.ref(subscriber)
        for options in ({}, {"qos": 1}, {"queue": "g"}):
            trie.subscribe("a", subscriber, **options)
        trie.subscribe_many([(">", subscriber), ("a.b", subscriber)])
        trie.unsubscribe("a.b", subscriber)
        kept: list[Any] = [trie.snapshot(), trie.fork(), trie.entries("a"), trie.subscriptions(), trie.overlapping(">")]
        kept += [trie.match_iter("a"), trie.diff(SubscriptionTrie(NATS))]
        answer = trie.match("a")
        del subscriber
        assert trie.match("a") == answer
        del answer
        drain()
        assert ref() is None
        assert [list(one) for one in kept[2:]] == [[]] * 5
        assert not any(kept[:2])

    def test_a_trie_that_was_dropped_goes_also_if_a_subscriber_holds_it(self) -> None:
        for holds in (False, True):
            trie = SubscriptionTrie(weak=True)
            subscriber = Subscriber()
            for n in range(40):
                trie.subscribe(f"a.{n}", subscriber)
            fork = trie.fork()
            subscriber.holds = [trie] * holds
            refs: list[weakref.ref[Any]] = [weakref.ref(fork), weakref.ref(trie), weakref.ref(subscriber)]
            if holds:
                del subscriber
            del trie, fork
            drain()
            assert [ref() is None for ref in refs] == [True, True, holds]

    def test_temporary_subscribers_of_many(self) -> None:
        """Each lives until all are subscribed, and no longer."""
        trie = made(weak=True)
        born: list[weakref.ref[Subscriber]] = []

        def temporary() -> Iterator[tuple[str, Subscriber, dict[str, Any]]]:
            for n in range(20):
                subscriber, option = SameHash(), Subscriber()
                born.extend((weakref.ref(subscriber), weakref.ref(option)))
                yield (f"a.{n % 3}", subscriber, {"option": option})
                del subscriber, option

        assert trie.subscribe_many(temporary()) == 20
        drain()
        assert [ref() for ref in born] == [None] * 40  # including the options: no sweep was needed
        assert trie.stats()["branches"] == 0


@pytest.mark.parametrize("company", [False, True])
def test_cycles_are_collected(company: bool) -> None:
    """subscriber -> itself and the trie; the trie may stay alive."""
    trie = SubscriptionTrie(weak=True)
    trie.subscribe("a", stays := Subscriber())
    refs: list[weakref.ref[Any]] = []
    for n in range(10):
        subscriber = SameHash()
        subscriber.holds = [subscriber, trie, stays]
        trie.subscribe("a", subscriber)
        trie.subscribe(f"{n}.#", subscriber)
        refs.append(weakref.ref(subscriber))
        del subscriber
    refs += [weakref.ref(trie)] * (not company)
    kept = [trie] * company
    del trie
    drain()
    gc.collect()
    assert [ref() for ref in refs] == [None] * len(refs)
    for trie in kept:
        assert (trie.match("a"), len(trie)) == ((stays,), 1)
        trie.check()


def test_in_a_collection_all_are_dead_when_the_first_is_taken_off() -> None:
    """By then the interpreter has cleared all references. While it calls their callbacks, no answer has a dead one."""
    told: list[tuple[str, bool]] = []

    def listener(filter: str, wanted: bool) -> None:
        told.append((filter, wanted))
        if not wanted:
            assert (trie.match("a.b"), trie.count("a.b"), trie.has_match("a.b")) == ((), 0, False)
            assert [*trie.entries("#"), *trie.subscriptions(), *trie.match_iter("a.b"), *trie.overlapping("a.b")] == []
            assert trie.snapshot().stats()["subscriptions"] == 0

    trie = made(on_interest=listener, weak=True)
    subscribers = [SameHash() for _ in range(20)]
    for subscriber in subscribers:
        subscriber.holds = subscribers
        trie.subscribe("a.b", subscriber)
        trie.subscribe("a.*", subscriber)
    del subscriber, subscribers
    gc.collect()
    assert len(trie) == 0
    assert sorted(told) == [("a.*", False), ("a.*", True), ("a.b", False), ("a.b", True)]


def test_what_a_listener_raises_at_a_death_is_nobodys_and_the_death_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda hooked: unraisable.append(hooked.exc_type))

    def sore(filter: str, wanted: bool) -> None:
        assert wanted

    trie = made(on_interest=sore, weak=True)
    trie.subscribe("a", subscriber := Subscriber())
    del subscriber
    assert unraisable == [AssertionError]
    assert not trie


@pytest.mark.parametrize("inherited", [True, False])
def test_a_fork_is_rid_of_the_dead_when_it_counts_and_of_its_own_at_once(inherited: bool) -> None:
    told: list[tuple[str, bool]] = []
    trie = made(weak=True, on_interest=lambda *notice: told.append(notice))
    fork = trie.fork()
    subscribers = [SameHash() for _ in range(20)]
    for n, subscriber in enumerate(subscribers):
        (trie if inherited else fork).subscribe(f"a.{n}", subscriber, option=(option := Subscriber()))
    fork, ref = trie.fork() if inherited else fork, weakref.ref(option)
    told.clear()
    del subscriber, subscribers, option
    drain()
    assert (ref() is not None) is inherited
    assert (len(trie), len(fork), len(told)) == (0, 0, 20 * inherited)
    drain()
    assert ref() is None
    fork.check()


# ------------------------------------------------------------------------------------------------------- which of two


@every_crowd
class TestEqualSubscribers:
    def test_the_first_one_counts(self, size: int) -> None:
        trie = made(weak=True)
        others = crowd(trie, "a", size)
        first, second = Equal("x"), Equal("x")
        assert trie.subscribe("a", first)
        assert not trie.subscribe("a", second, qos=1)
        assert next(trie.subscriptions("a", second)).subscriber is first
        trie.subscribe("#", second)
        assert trie.count("a") == size + 1
        del first
        assert trie.filters(second) == ["#"]
        assert {id(found) for found in trie.match("a")} == {id(one) for one in (second, *others)}
        assert [one.filter for one in trie.entries("a", merge="one") if one.subscriber is second] == ["#"]
        assert trie.subscribe("a", second)
        assert trie.unsubscribe("a", Equal("x"))

    def test_a_newer_one_stays_when_an_older_one_goes(self, size: int) -> None:
        """It was subscribed when the older one was dead, but not yet removed."""
        trie = made(weak=True)
        others = crowd(trie, "a", size)
        first, second = Equal("x"), Equal("x")
        trie.subscribe("a", first)
        fork = trie.fork()
        added: list[bool] = []

        def on_death(_: object) -> None:
            assert trie.filters(second) == []
            added.append(trie.subscribe("a", second))

        called_before = weakref.ref(first, on_death)
        del first
        assert (called_before(), added) == (None, [True])
        assert fork.subscribe("a", second)
        for each in (trie, fork):
            assert {id(found) for found in each.match("a")} == {id(one) for one in (second, *others)}
            assert each.filters(second) == ["a"]
            assert len(each) == size + 1
            each.check()
        assert trie.unsubscribe("a", second)

    def test_a_subscriber_that_does_not_equal_itself(self, size: int) -> None:
        class Nan(SameHash):
            __hash__ = SameHash.__hash__

            def __eq__(self, other: object) -> bool:
                return False

        trie = made(weak=True)
        others = crowd(trie, "a", size)
        one, other = Nan(), Nan()
        assert [trie.subscribe("a", one), trie.subscribe("a", one), trie.subscribe("#", one)] == [True, False, True]
        assert trie.subscribe("a", other)
        assert trie.count("a") == size + 2
        assert trie.unsubscribe("a", one)
        del one
        assert [id(found) for found in trie.match("b")] == []
        del other
        assert set(trie.match("a")) == set(others)


@pytest.mark.parametrize("cycle", [False, True])
def test_who_comes_back_when_it_is_finalised(cycle: bool) -> None:
    """Without a cycle, it is still subscribed. Versions of Python differ in whether one from a collection is; if not, no
    answer contains it, and it can subscribe again."""
    saved: list[Subscriber] = []

    class Phoenix(Subscriber):
        def __del__(self) -> None:
            saved.append(self)

    trie = made(weak=True)
    subscriber = Phoenix()
    subscriber.holds = subscriber if cycle else None
    trie.subscribe("a", subscriber)
    fork = trie.fork()
    del subscriber
    gc.collect()
    (risen,) = saved
    for each in (trie, fork):
        there = len(each)
        assert cycle or there == 1
        assert each.count("a") == len(each.filters(risen)) == there
        assert each.subscribe("a", risen) is not bool(there)
        assert each.match("a") == (risen,)
        each.check()
    del risen
    saved.clear()  # it was finalised once, so now it goes
    gc.collect()
    assert cycle or not trie


# ------------------------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("seed", range(2))
def test_threads(seed: int) -> None:
    """Each thread makes subscribers and drops them. All threads use the same filters and read all subscribers."""
    told: dict[str, bool] = {}
    trie = made(NATS, weak=True, on_interest=told.__setitem__)
    filters = ["a", "a.b", "a.*", ">", "*.b"]

    def work(number: int) -> list[Any]:
        rng = random.Random(f"{seed}, {number}")
        own: list[Subscriber] = []
        for step in range(400):
            match rng.randrange(4):
                case 0:
                    own.append(SameHash(f"{number}.{step}") if step % 2 else Equal(f"{step % 5}, {number}"))
                case 1 if own:
                    del own[rng.randrange(len(own))]
                case 2 if own:
                    queue = {"queue": "g"} if rng.random() < 0.3 else {}
                    trie.subscribe(rng.choice(filters), rng.choice(own), **queue)
                case _:
                    look(rng.choice((trie, trie.snapshot(), trie.fork())))
        return own

    def look(trie: SubscriptionTrie) -> None:
        for found in (*trie.match("a.b"), *trie.match_iter("a"), *(one.subscriber for one in trie.entries("a.b"))):
            assert isinstance(found, Subscriber), found
        assert len(trie) >= 0

    print(f"seed {seed}")
    alive = run_together([partial(work, number) for number in range(3)])
    gc.collect()
    living = {id(subscriber) for own in alive for subscriber in own}
    left = [one.subscriber for one in trie.subscriptions()]
    assert {id(subscriber) for subscriber in left} <= living
    assert len(trie) == len(left)
    trie.check()
    left.clear()
    run_together([own.clear for own in alive])
    gc.collect()
    drain()
    assert trie.snapshot().stats()["branches"] == 0
    assert not any(told.values())


# --------------------------------------------------------------------------------------------- who can be weakly held


class NoWeakReferences:
    __slots__ = ()

    def receive(self) -> None: ...


CANNOT = [1, "ann", (), None, NoWeakReferences(), NoWeakReferences().receive]


@pytest.mark.parametrize("subscriber", CANNOT, ids=lambda one: type(one).__name__)
def test_who_cannot_be_weakly_held(subscriber: Any) -> None:
    trie = made(NATS, weak=True)
    trie.subscribe("a", stays := Subscriber())
    changes: list[Callable[[], object]] = [
        lambda: trie.subscribe("a", subscriber),
        lambda: trie.subscribe("b", subscriber, queue="g"),
        lambda: trie.subscribe_many([("c", stays), ("a", subscriber)]),
    ]
    named = type(getattr(subscriber, "__self__", subscriber)).__name__
    for change in changes:
        with pytest.raises(TypeError, match=f"cannot create weak reference to '{named}' object"):
            change()
    assert (len(trie), trie.match("a"), trie.filters(subscriber)) == (1, (stays,), [])
    assert not trie.unsubscribe("a", subscriber)
    assert trie.unsubscribe_many([("a", subscriber), ("a", stays)]) == 1
    assert trie.unsubscribe_all(subscriber) == 0


def test_references_of_ones_own_are_subscribers_like_any_other() -> None:
    class Reference(weakref.ref[Any]):
        """Supports weak references itself."""

    target = Subscriber()
    ref = Reference(target)
    trie, weak = SubscriptionTrie(), SubscriptionTrie(weak=True)
    for each in (trie, weak):
        each.subscribe("a", ref)
        assert each.match("a") == (ref,)
        assert each.filters(target) == []
    del ref, target
    assert [found() for found in (*trie.match("a"), *weak.match("a"))] == [None, None]
    trie.clear()
    drain()
    assert not weak
    weak.check()


class Inbox(deque[Any]):
    """Its `append` is a method in C."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def receive(self, message: object) -> None:
        self.append(message)

    @classmethod
    def of_the_class(cls) -> None: ...


@pytest.mark.parametrize("name", ["receive", "append"])
def test_a_bound_method_lives_as_long_as_its_object(name: str) -> None:
    """It is made anew each time, and dropped at once; only the object counts."""
    trie = made(MQTT, weak=True)
    one, other = Inbox(), Inbox()
    for filter, new in (("a/+", True), ("a/+", False), ("#", True), ("$share/g/a/b", True)):
        assert trie.subscribe(filter, getattr(one, name)) is new
    assert trie.subscribe("a/+", getattr(other, name))
    assert {found.subscriber for found in trie.deliveries("a/b")} == {getattr(one, name), getattr(other, name)}
    assert len(trie.match("a/b")) == 2
    for call in trie.match("a/b"):
        call("hello")
    assert list(one) == list(other) == ["hello"]
    assert len(trie.filters(getattr(one, name))) == 3
    del call, one
    gc.collect()
    drain()
    assert trie.match("a/b") == (getattr(other, name),)
    assert trie.unsubscribe_all(getattr(other, name)) == 1
    assert trie.subscribe("a", Inbox.of_the_class)
    assert trie.match("a") == (Inbox.of_the_class,)


AT_EXIT = """
from subtrie import SubscriptionTrie

class Subscriber:
    pass

subscribers = [Subscriber() for _ in range(3)]
other = Subscriber()
trie = SubscriptionTrie(weak=True, on_interest=print)
for filter in ("a", "a.*"):
    for subscriber in (*subscribers, other):
        trie.subscribe(filter, subscriber)
del subscriber
"""


def test_nothing_is_said_at_exit() -> None:
    assert run_script(AT_EXIT) == (0, "a True\na.* True\n", "")
