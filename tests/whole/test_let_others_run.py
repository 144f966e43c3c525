"""Calls that take long let other threads run meanwhile, on interpreters with a GIL."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count, repeat
from typing import Any

import pytest

from ctrie import Ctrie, _nodes
from subtrie import MQTT, SubscriptionTrie, TopicStore
from subtrie.fields import Equals, FieldMatcher, Not, RoutingMatcher

N = 60_000
pytestmark = [
    pytest.mark.once,  # without a GIL there is nothing to let go of
    pytest.mark.skipif(str(_nodes.__file__).endswith(".py"), reason="between two lines, the interpreter does"),
]


@contextmanager
def another_thread(turn: Callable[[], object]) -> Iterator[None]:
    """Let another thread take turns."""
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            turn()
            time.sleep(0)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def longest_hold(call: Callable[[], Any]) -> float:
    """Make a call; return the most processor time of it, in seconds, between two turns of another thread."""
    clock = time.pthread_getcpuclockid(threading.get_ident())
    last, longest = time.clock_gettime(clock), 0.0

    def turn() -> None:
        nonlocal last, longest
        now = time.clock_gettime(clock)
        longest, last = max(longest, now - last), now

    with another_thread(turn):
        time.sleep(0.001)
        gc.disable()  # its pauses are not ours
        longest, last = 0.0, time.clock_gettime(clock)
        try:
            kept = call()
            held = max(longest, time.clock_gettime(clock) - last)
        finally:
            gc.enable()
    del kept
    return held


def of_fields(size: int) -> dict[str, Callable[[], Any]]:
    """Calls for many messages, each of which is compared with all subscriptions and wanted by nobody."""
    asked = [([Not(Equals("a", 1)), Not(Equals("b", number))], number) for number in range(size)]
    fields: FieldMatcher[int] = FieldMatcher()
    fields.subscribe_many(asked)
    routes: RoutingMatcher[int] = RoutingMatcher()
    routes.subscribe_many([("t", *one) for one in asked])
    many = 2_000_000 // size
    calls: dict[str, tuple[Callable[[Iterable[Any]], Any], Any]] = {
        "match_many": (fields.match_many, {"a": 1, "b": -1}),
        "deliveries_many": (fields.deliveries_many, {"a": 1, "b": -1}),
        "routes.match_many": (routes.match_many, ("t", {"a": 1, "b": -1})),
        "routes.deliveries_many": (routes.deliveries_many, ("t", {"a": 1, "b": -1})),
    }
    return {
        f"{name}, {size} subscriptions": lambda call=call, message=message: call(repeat(message, many))
        for name, (call, message) in calls.items()
    }


def test_every_long_call() -> None:
    rows = [(f"a/{i % 997}/{i}", i) for i in range(N)]
    trie = SubscriptionTrie[int](MQTT)
    trie.subscribe_many(rows)
    store = TopicStore[int](MQTT, dict(rows))
    m = Ctrie({i: i for i in range(4 * N)})
    other = SubscriptionTrie[int](MQTT)
    other.subscribe_many(rows)
    calls: dict[str, Callable[[], Any]] = {
        "stats": trie.stats,
        "unsubscribe_all": lambda: trie.unsubscribe_all(-1),
        "filters": lambda: trie.filters(-1),
        "subscriptions": lambda: list(trie.subscriptions()),
        "list": lambda: list(m.items()),
        "subscribe_many": lambda: trie.subscribe_many([(f"b/{filter}", who) for filter, who in rows]),
        "unsubscribe_many": lambda: trie.unsubscribe_many(rows),
        "clear, trie": other.clear,
        "clear, store": store.clear,
        "clear, map": m.clear,
        **of_fields(100),
        **of_fields(20_000),
    }
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # some of the calls end within the usual one
    try:
        for name, call in calls.items():
            turns = count()
            with another_thread(lambda: next(turns)):  # noqa: B023
                before = next(turns)
                call()
                after = next(turns)
            assert after > before + 1, f"{name} let nobody run"
    finally:
        sys.setswitchinterval(interval)


def below(word: str) -> list[tuple[str, int]]:
    return [(f"a/{i % 997}/{i}{word}", i) for i in range(4 * N)]


def filled() -> SubscriptionTrie[int]:
    trie = SubscriptionTrie[int](MQTT)
    trie.subscribe_many(below(""))
    return trie


def flat(option: int) -> SubscriptionTrie[int]:
    trie = SubscriptionTrie[int](MQTT)
    trie.subscribe_many([(str(i), i, {"qos": option}) for i in range(4 * N)])
    return trie


def on_one_filter() -> SubscriptionTrie[int]:
    trie = SubscriptionTrie[int](MQTT)
    trie.subscribe_many([("a", i) for i in range(4 * N)])
    return trie


def first_change(newer: SubscriptionTrie[int], older: SubscriptionTrie[int]) -> Any:
    return next(iter(newer.diff(older)))


def of_one() -> SubscriptionTrie[int]:
    trie = SubscriptionTrie[int](MQTT)
    trie.subscribe_many([(filter, 1) for filter, _ in below("")])
    return trie


LONG: dict[str, Callable[[], Callable[[], Any]]] = {
    "diff, a level": lambda: partial(first_change, flat(1), SubscriptionTrie[int](MQTT)),
    "diff, a level of which all has changed": lambda: partial(first_change, flat(1), flat(2)),
    "diff, a filter": lambda: partial(first_change, on_one_filter(), SubscriptionTrie[int](MQTT)),
    "elsewhere": lambda: partial(filled().subscribe_many, [(f"b/{one}", who) for one, who in below("")]),
    "below": lambda: partial(filled().subscribe_many, below("/x")),
    "unsubscribe_many": lambda: partial(filled().unsubscribe_many, below("")),
    "unsubscribe_all": lambda: partial(of_one().unsubscribe_all, 1),
    "list, subscriptions": lambda: partial(list, filled()),
    "list, items": lambda: partial(list, Ctrie({i: i for i in range(4 * N)}).items()),
    "update": lambda: partial(Ctrie[int, int]().update, {i: i for i in range(4 * N)}),
}


@pytest.mark.parametrize("name", LONG)
def test_none_holds_the_gil_for_long(name: str) -> None:
    # A thread that waits asks for the GIL after 1 ms here, 5 ms by default. One that the machine wakes late makes a hold
    # longer by chance, what a call does makes it longer always.
    holds: list[float] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-3)
    try:
        while len(holds) < 6 and min(holds, default=1.0) > 0.008:
            holds.append(longest_hold(LONG[name]()))
    finally:
        sys.setswitchinterval(interval)
    assert min(holds) <= 0.008, f"{name} holds the GIL for {holds}"
