"""What a SubscriptionTrie keeps alive, and how it is released.

A subscriber without subscriptions, a dropped trie and a dropped snapshot are released by reference counting alone, once
`drain` has released what readers might still have used. Cycles through a trie are collected. Dropping a very deep trie
needs no deep recursion.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from ctrie import drain
from subtrie import MQTT, SubscriptionTrie
from tests.scripts import run_script
from tests.subtrie.support import SameHash, Subscriber

pytestmark = pytest.mark.usefixtures("little_to_collect")

FILTERS = ("a.b", "a.*", "#")


def gone(*refs: weakref.ref[Any]) -> bool:
    assert drain() == 0
    return all(ref() is None for ref in refs)


def accompany(trie: SubscriptionTrie, company: str) -> None:
    others = {"in a small set": 4, "in a large set": 40}.get(company, 0)
    trie.subscribe_many([("a.b", n) for n in range(others)])
    if company == "among others of its hash":
        trie.subscribe_many([("a.b", SameHash()) for _ in range(10)])
    elif company in ("beside other filters", "after a snapshot"):
        trie.subscribe_many([(filter, n) for n in range(100) for filter in (f"a.{n}", f"{n}.#")])
    if company == "after a snapshot":
        trie.snapshot()


every_company = pytest.mark.parametrize(
    "company",
    [
        "alone",
        "in a small set",
        "in a large set",
        "among others of its hash",
        "beside other filters",
        "after a snapshot",
    ],
)


def subscribed(trie: SubscriptionTrie) -> tuple[Subscriber, weakref.ref[Subscriber]]:
    subscriber = SameHash()
    for filter in FILTERS:
        trie.subscribe(filter, subscriber, holds=subscriber)
    assert subscriber in trie.match("a.b")
    assert trie.has_match("a.b")
    return subscriber, weakref.ref(subscriber)


ENDS: dict[str, Callable[[SubscriptionTrie, Subscriber], object]] = {
    "it has left": lambda trie, subscriber: [trie.unsubscribe(filter, subscriber) for filter in FILTERS],
    "it has left all at once": lambda trie, subscriber: trie.unsubscribe_all(subscriber),
    "its options were replaced, and it has left": lambda trie, subscriber: [
        (trie.subscribe(filter, subscriber, holds=None), trie.unsubscribe(filter, subscriber)) for filter in FILTERS
    ],
    "the trie was cleared": lambda trie, subscriber: trie.clear(),
    "others of it were refused": lambda trie, subscriber: (refused(trie, subscriber), trie.clear()),
}


def refused(trie: SubscriptionTrie, subscriber: Subscriber) -> None:
    for filter in ("\0", "a" * 256):
        with pytest.raises(ValueError, match=" at character "):
            trie.subscribe(filter, subscriber)
    assert not trie.unsubscribe("a", subscriber)


@pytest.mark.usefixtures("without_collector")
@every_company
class TestReferenceCountingReleases:
    def test_a_subscriber_and_its_options(self, company: str) -> None:
        for name, end in ENDS.items():
            trie = SubscriptionTrie()
            accompany(trie, company)
            subscriber, ref = subscribed(trie)
            end(trie, subscriber)
            assert subscriber not in trie.match("a.b")
            del subscriber
            assert gone(ref), name
            trie.check()

    def test_options_that_were_replaced(self, company: str) -> None:
        trie = SubscriptionTrie()
        accompany(trie, company)
        option = Subscriber()
        ref = weakref.ref(option)
        trie.subscribe("a.b", "x", option=option)
        del option
        assert not gone(ref)
        trie.subscribe("a.b", "x", option=None)
        assert gone(ref)
        trie.check()

    def test_all_of_a_trie_that_was_dropped_after_its_snapshots(self, company: str) -> None:
        trie = SubscriptionTrie()
        accompany(trie, company)
        for take in (SubscriptionTrie.snapshot, SubscriptionTrie.fork):
            subscriber, ref = subscribed(trie)
            taken = take(trie)
            assert trie.unsubscribe_all(subscriber) == 3
            del subscriber
            assert not gone(ref)
            assert ref() in taken.match("a.b")
            held = weakref.ref(taken)
            del taken
            assert gone(ref, held)
        refs = weakref.ref(trie), subscribed(trie)[1]
        trie.check()
        del trie
        assert gone(*refs)

    def test_an_answer_that_was_dropped(self, company: str) -> None:
        trie = SubscriptionTrie()
        accompany(trie, company)
        ref = subscribed(trie)[1]
        answers: list[Any] = [trie.match("a.b"), trie.match_many(["a.b"]), trie.entries("a.b"), trie.subscriptions()]
        next(answers[2])
        next(answers[3])
        trie.clear()
        assert not gone(ref)
        del answers
        assert gone(ref)


HOLDERS: dict[str, Callable[[SubscriptionTrie, Subscriber], object]] = {
    "its subscriber": lambda trie, subscriber: trie.subscribe("a.b", subscriber),
    "a tuple with the subscriber": lambda trie, subscriber: trie.subscribe("a.b", (1, subscriber)),
    "an option": lambda trie, subscriber: trie.subscribe("a.b", "x", option=subscriber),
    "a list in an option": lambda trie, subscriber: trie.subscribe("a.b", "x", option=[subscriber]),
    "several filters": lambda trie, subscriber: [trie.subscribe(f"a.{n}.#", subscriber) for n in range(40)],
}


@every_company
def test_the_collector_finds_cycles_through_a_trie_its_snapshots_and_forks(company: str) -> None:
    """subscriber -> a list of its own -> the trie -> its nodes -> the subscriber"""
    for name, hold in HOLDERS.items():
        trie, subscriber = SubscriptionTrie(), Subscriber()
        accompany(trie, company)
        hold(trie, subscriber)
        fork = trie.fork()
        subscriber.holds = [{"trie": trie}, trie.snapshot(), fork]
        refs = weakref.ref(trie), weakref.ref(fork), weakref.ref(subscriber)
        fork.check()
        del trie, fork, subscriber
        assert not any(ref() is None for ref in refs)
        drain()
        gc.collect()
        assert gone(*refs), name


# ------------------------------------------------------------------------------------------------------------ the ends

DEEP = """
import dataclasses, gc, threading
from ctrie import drain
from subtrie import AMQP, SubscriptionTrie

WORDS = 1_500
DEEP = dataclasses.replace(AMQP, max_words=2_000, max_wildcards=2_000, max_bytes=100_000)
FILTERS = [".".join(["a"] * WORDS), "*" + ".a" * (WORDS - 1), "#" + ".b" * (WORDS - 1)]
released = []

class Subscriber:
    def __del__(self):
        released.append(self)

def filled():
    trie = SubscriptionTrie(DEEP)
    for filter in FILTERS:
        trie.subscribe(filter, Subscriber())
    return trie

def drop():
    filled()

def drop_with_snapshots():
    trie = filled()
    snapshot = trie.snapshot()
    fork = trie.fork()
    trie.subscribe(FILTERS[0] + ".b", Subscriber())
    fork.subscribe(FILTERS[1] + ".b", Subscriber())
    del trie
    drain()
    del snapshot

def clear():
    trie = filled()
    trie.clear()
    assert len(trie) == 0

def prune():
    trie = SubscriptionTrie(DEEP)
    for filter in FILTERS:
        trie.subscribe(filter[:599], Subscriber())
    for found in list(trie.subscriptions()):
        assert trie.unsubscribe(found.filter, found.subscriber)
    assert trie.stats()["branches"] == 0

def collect():
    trie = filled()
    trie.subscribe(FILTERS[0], trie)
    del trie
    drain()
    gc.collect()

def ask():
    trie = filled()
    assert len(trie.match(FILTERS[0])) == 2
    assert trie.stats()["depth"] == WORDS
    trie.check()

gc.disable()
threading.stack_size({stack_size})
for end in (drop, drop_with_snapshots, clear, prune, collect, ask):
    released.clear()
    thread = threading.Thread(target=end)
    thread.start()
    thread.join()
    drain()
    assert len(released) >= len(FILTERS), (end.__name__, len(released))
print("all gone")
"""


# When free-threaded 3.13 releases interpreted nodes, or any deeply nested objects, it overruns a small stack itself.
@pytest.mark.parametrize(
    "stack_size",
    [pytest.param(0, id="usual stack"), pytest.param(512 * 1024, id="small stack", marks=pytest.mark.compiled)],
)
def test_a_deep_trie_goes_without_deep_recursion(stack_size: int) -> None:
    """In a process of its own, since an overrun stack ends the process."""
    assert run_script(DEEP.replace("{stack_size}", str(stack_size))) == (0, "all gone\n", "")


class Uninitialised(SubscriptionTrie):
    def __init__(self) -> None:
        self.name = "forgot to call super().__init__()"


@pytest.mark.parametrize(
    "make", [lambda: SubscriptionTrie.__new__(SubscriptionTrie), Uninitialised], ids=["new", "subclass"]
)
def test_a_trie_that_was_never_initialised_is_empty_and_refuses_changes(make: Callable[[], SubscriptionTrie]) -> None:
    trie = make()
    for read_only in (trie, trie.snapshot()):
        assert (read_only.match("a.b"), read_only.has_match("a.b"), read_only.count("a")) == ((), False, 0)
        assert read_only.match_many(["a", "b"]) == [(), ()]
        assert [*read_only.entries("a"), *read_only.subscriptions(), *read_only.subscriptions(filter="a")] == []
        assert (len(read_only), bool(read_only), read_only.filters("x")) == (0, False, [])
        assert list(read_only.diff(SubscriptionTrie())) == []
        for change in (lambda: read_only.subscribe("a", 1), lambda: read_only.unsubscribe("a", 1), read_only.clear):  # noqa: B023
            with pytest.raises(TypeError, match="read-only"):
                change()
        read_only.check()
    fork = trie.fork()
    assert fork.subscribe("a.*", 1)
    assert fork.match("a.b") == (1,)
    assert trie.match("a.b") == ()
    fork.check()


def test_an_initialiser_that_failed_may_be_tried_again() -> None:
    trie = SubscriptionTrie.__new__(SubscriptionTrie)
    with pytest.raises(TypeError, match="dialect must be a Dialect"):
        trie.__init__("MQTT")  # type: ignore[misc]
    trie.__init__(MQTT)  # type: ignore[misc]
    assert trie.subscribe("a/+", 1)
    assert trie.match("a/b") == (1,)
    trie.check()
