"""Calls that take long let other threads run meanwhile, on interpreters with a GIL, which none of them holds for long."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import repeat
from typing import Any

import pytest

from ctrie import Ctrie, _nodes
from subtrie import MQTT, SubscriptionTrie, TopicStore
from subtrie.fields import Equals, FieldMatcher, Not, RoutingMatcher

N = 240_000
pytestmark = [
    pytest.mark.once,  # without a GIL there is nothing to let go of
    pytest.mark.skipif(str(_nodes.__file__).endswith(".py"), reason="between two lines, the interpreter does"),
]


def longest_hold(call: Callable[[], Any]) -> float:
    """Make a call; return the most processor time of it, in seconds, between two turns of another thread."""
    clock = time.pthread_getcpuclockid(threading.get_ident())
    last, longest = time.clock_gettime(clock), 0.0
    over = threading.Event()

    def take_turns() -> None:
        nonlocal last, longest
        while not over.is_set():
            now = time.clock_gettime(clock)
            longest, last = max(longest, now - last), now
            time.sleep(0)

    other = threading.Thread(target=take_turns)
    other.start()
    time.sleep(0.001)
    gc.disable()  # its pauses are not ours
    longest, last = 0.0, time.clock_gettime(clock)
    try:
        kept = call()
        held = max(longest, time.clock_gettime(clock) - last)
    finally:
        gc.enable()
        over.set()
        other.join()
    del kept
    return held


def filters(end: str = "") -> list[tuple[str, int]]:
    return [(f"a/{i % 997}/{i}{end}", i) for i in range(N)]


def filled(rows: list[Any]) -> SubscriptionTrie[int]:
    trie = SubscriptionTrie[int](MQTT)
    trie.subscribe_many(rows)
    return trie


def flat(option: int) -> SubscriptionTrie[int]:
    return filled([(str(i), i, {"qos": option}) for i in range(N)])


def first_change(newer: SubscriptionTrie[int], older: SubscriptionTrie[int]) -> Any:
    return next(iter(newer.diff(older)))


def asking(routed: bool, size: int, name: str) -> Callable[[], Any]:
    """A call for many messages, each of which is compared with all subscriptions and wanted by nobody."""
    asked = [([Not(Equals("a", 1)), Not(Equals("b", number))], number) for number in range(size)]
    matcher: Any = RoutingMatcher() if routed else FieldMatcher()
    matcher.subscribe_many([("t", *one) for one in asked] if routed else asked)
    message: Any = {"a": 1, "b": -1}
    return lambda: getattr(matcher, name)(repeat(("t", message) if routed else message, 2_000_000 // size))


# Each makes what is needed, and returns the call.
CALLS: dict[str, Callable[[], Callable[[], Any]]] = {
    "update": lambda: partial(Ctrie[int, int]().update, {i: i for i in range(N)}),
    "list, items": lambda: partial(list, Ctrie({i: i for i in range(N)}).items()),
    "clear, map": lambda: Ctrie({i: i for i in range(N)}).clear,
    "match_many, 100": lambda: asking(routed=False, size=100, name="match_many"),
    "routes.match_many, 100": lambda: asking(routed=True, size=100, name="match_many"),
    "deliveries_many, 5,000": lambda: asking(routed=False, size=5_000, name="deliveries_many"),
    "routes.deliveries_many, 5,000": lambda: asking(routed=True, size=5_000, name="deliveries_many"),
    "clear, store": lambda: TopicStore(MQTT, dict(filters())).clear,
    "matching": lambda: partial(TopicStore(MQTT, dict(filters())).matching, "#"),
    "clear, trie": lambda: filled(filters()).clear,
    "stats": lambda: filled(filters()).stats,
    "filters": lambda: partial(filled(filters()).filters, -1),
    "list, subscriptions": lambda: partial(list, filled(filters())),
    "diff, a level": lambda: partial(first_change, flat(1), filled([])),
    "diff, a level of which all has changed": lambda: partial(first_change, flat(1), flat(2)),
    "diff, a filter": lambda: partial(first_change, filled([("a", i) for i in range(N)]), filled([])),
    "elsewhere": lambda: partial(filled(filters()).subscribe_many, [(f"b/{one}", who) for one, who in filters()]),
    "below": lambda: partial(filled(filters()).subscribe_many, filters("/x")),
    "unsubscribe_many": lambda: partial(filled(filters()).unsubscribe_many, filters()),
    "unsubscribe_all": lambda: partial(filled([(filter, 1) for filter, _ in filters()]).unsubscribe_all, 1),
}
SLOW = pytest.mark.slow("fills tries with hundreds of thousands of subscriptions first")
QUICK = ("update", "list, items", "clear, map", "match_many, 100")


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else SLOW) for name in CALLS])
def test_none_holds_the_gil_for_long(name: str) -> None:
    # A thread that waits asks for the GIL after 1 ms here, 5 ms by default. One that the machine wakes late makes a hold
    # longer by chance, what a call does makes it longer always.
    holds: list[float] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-3)
    try:
        while len(holds) < 6 and min(holds, default=1.0) > 0.008:
            holds.append(longest_hold(CALLS[name]()))
    finally:
        sys.setswitchinterval(interval)
    assert min(holds) <= 0.008, f"{name} holds the GIL for {holds}"
