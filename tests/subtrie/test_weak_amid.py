"""Weakly held subscribers that die in the middle of something else."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest

from stress.processes import gil_enabled
from subtrie import SubscriptionTrie
from tests.subtrie.support import Equal, SameHash, subscription_twin
from tests.subtrie.test_weak import crowd, every_crowd
from tests.tries.campaign import delayed
from tests.twins import Together, Twin

pytestmark = pytest.mark.usefixtures("little_to_collect")


class Meddler(SameHash):
    """Does something when it is compared."""

    meddle: Callable[[], object] = staticmethod(lambda: None)

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        self.meddle()
        return self is other


OPERATIONS: dict[str, Callable[[SubscriptionTrie, Any], Any]] = {
    "subscribe": lambda trie, one: trie.subscribe("a.b", one),
    "subscribe with options": lambda trie, one: trie.subscribe("a.b", one, qos=1),
    "unsubscribe": lambda trie, one: trie.unsubscribe("a.b", one),
    "unsubscribe_all": lambda trie, one: trie.unsubscribe_all(one),
    "match": lambda trie, one: trie.match("a.b"),
    "entries": lambda trie, one: list(trie.entries("a.b", merge="one")),
    "filters": lambda trie, one: trie.filters(one),
}


@every_crowd
@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_death_amid_a_comparison(operation: Callable[[SubscriptionTrie, Any], Any], new: bool, size: int) -> None:
    """One of the two compared subscribers dies, and one between them, on the filters that the operation is about."""
    trie = SubscriptionTrie(weak=True)
    others = crowd(trie, "a.b", size)
    one, compared = Meddler("one"), Meddler("compared")
    doomed: list[SameHash] = [SameHash("between"), compared]
    for filter in ("a.b", "a.*"):
        for subscriber in doomed:
            trie.subscribe(filter, subscriber)
        if not new:
            trie.subscribe(filter, one)
    refs = [weakref.ref(subscriber) for subscriber in doomed]
    fork = trie.fork()
    compared.meddle = one.meddle = doomed.clear
    del subscriber, compared
    operation(trie, one)
    doomed.clear()
    assert [ref() for ref in refs] == [None, None]
    one.meddle = lambda: None
    for each in (trie, fork):
        assert set(each.match("a.b")) - {one} == set(others)
        assert {found.subscriber for found in each.subscriptions("a.*")} <= {one}
        each.check()


class Start:
    """A trie of a private twin with two subscribers; `die` releases one of them."""

    kept: Any = None

    def __init__(self, twin: Twin) -> None:
        self.told: dict[str, bool] = {}
        self.trie: Any = twin.modules["subtrie"].SubscriptionTrie(weak=True, on_interest=self.told.__setitem__)
        self.stays = Equal("stays")
        self.doomed = [Equal("doomed")]
        for filter in ("a", "a.b"):
            self.trie.subscribe(filter, self.doomed[0])
        self.trie.subscribe("a.c", self.stays)

    def die(self) -> None:
        self.doomed.clear()


def subscribe_one_equal_to_the_doomed(on: Start) -> Any:
    on.kept = Equal("doomed")
    return on.trie.subscribe("a.b", on.kept)


class Amid(NamedTuple):
    """An operation; the filters that are left after it and the death; its answer if the death came first."""

    run: Callable[[Start], Any]
    left: set[str]
    answer: Any


AMID = {
    "subscribe": Amid(lambda on: on.trie.subscribe("a.b", on.stays), {"a.b", "a.c"}, True),
    "subscribe a path": Amid(lambda on: on.trie.subscribe("a.b.d", on.stays), {"a.b.d", "a.c"}, True),
    "subscribe an equal": Amid(lambda on: on.trie.subscribe("a.c", Equal("stays")), {"a.c"}, False),
    "subscribe the doomed": Amid(lambda on: [on.trie.subscribe("a.c", one) for one in list(on.doomed)], {"a.c"}, []),
    "subscribe one equal to the doomed": Amid(subscribe_one_equal_to_the_doomed, {"a.c"}, True),
    "change options": Amid(lambda on: [on.trie.subscribe("a.b", one, qos=1) for one in [*on.doomed]], {"a.c"}, []),
    "unsubscribe": Amid(lambda on: on.trie.unsubscribe("a.c", on.stays), set(), True),
    "clear": Amid(lambda on: on.trie.clear(), set(), None),
    "match": Amid(lambda on: [found.name for found in on.trie.match("a.b")], {"a.c"}, []),
    "has_match": Amid(lambda on: on.trie.has_match("a.b"), {"a.c"}, False),
    "entries": Amid(lambda on: [found.subscriber.name for found in on.trie.entries("a")], {"a.c"}, []),
    "len": Amid(lambda on: len(on.trie), {"a.c"}, 1),
    "fork": Amid(lambda on: len(on.trie.fork()), {"a.c"}, 1),
    "snapshot": Amid(lambda on: len(on.trie.snapshot()), {"a.c"}, 1),
}


def assert_left(on: Start, left: set[str]) -> None:
    """The filters in `left` remain, and perhaps one that a subscriber equal to the doomed one has."""
    added = [] if on.kept is None else on.trie.filters(on.kept)
    assert added in ([], ["a.b"])
    assert {one.filter for one in on.trie.subscriptions()} == left | set(added)
    assert all(one.subscriber in (on.stays, on.kept) for one in on.trie.subscriptions())
    assert {filter for filter, wanted in on.told.items() if wanted} == left | set(added)
    on.trie.check()


@pytest.mark.skipif(
    not gil_enabled(), reason="the explorer's threads are real ones here, and what one lets go dies in its maker's"
)
@pytest.mark.parametrize("operation", AMID)
def test_a_death_amid_an_operation_and_an_operation_amid_a_death(operation: str) -> None:
    """The death comes at each access of the operation to a slot; and when the subscriber is dead, the operation comes
    while its subscriptions are removed one after another."""
    twin, (run, left, expected) = subscription_twin(), AMID[operation]
    amid = {"death": 0, "operation": 0}

    def judge(on: Start, answer: Any, _: None) -> None:
        assert_left(on, left)
        is_dead_before = together.execution.order[0] == 1
        amid["operation" if is_dead_before else "death"] += 1
        if is_dead_before:
            assert answer == expected
            assert on.kept is None or on.trie.filters(on.kept) == ["a.b"]

    together = Together(twin, partial(Start, twin), [run, Start.die], judge)
    for _ in delayed(together):
        pass
    assert min(amid.values()) > 1, amid
