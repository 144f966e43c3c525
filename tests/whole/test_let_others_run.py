"""Calls that take long let other threads run meanwhile, on interpreters with a GIL."""

from __future__ import annotations

import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ctrie import Ctrie, _nodes
from subtrie import MQTT, SubscriptionTrie, TopicStore

N = 60_000
pytestmark = pytest.mark.skipif(str(_nodes.__file__).endswith(".py"), reason="between two lines, the interpreter does")


@contextmanager
def counting_turns() -> Iterator[Callable[[], int]]:
    """Count how often another thread runs."""
    turns = [0]
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            turns[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=run)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1_000)  # the interpreter itself never asks for the GIL
    thread.start()
    try:
        yield lambda: turns[0]
    finally:
        over.set()
        sys.setswitchinterval(interval)
        thread.join()


def test_every_long_call() -> None:
    rows = [(f"a/{i % 997}/{i}", i) for i in range(N)]
    trie = SubscriptionTrie[int](MQTT)
    trie.subscribe_many(rows)
    store = TopicStore[int](MQTT, dict(rows))
    m = Ctrie({i: i for i in range(4 * N)})
    other = SubscriptionTrie[int](MQTT)
    other.subscribe_many(rows)
    pickled = pickle.dumps(trie)
    calls: dict[str, Callable[[], Any]] = {
        "len(trie)": lambda: len(trie),
        "stats": trie.stats,
        "unsubscribe_all": lambda: trie.unsubscribe_all(-1),
        "filters": lambda: trie.filters(-1),
        "subscriptions": lambda: list(trie.subscriptions()),
        "len(store)": lambda: len(store),
        "len(map)": lambda: len(m),
        "pickle": lambda: pickle.dumps(trie),
        "unpickle": lambda: pickle.loads(pickled),
        "pickled map": lambda: pickle.dumps(m),
        "subscribe_many": lambda: trie.subscribe_many([(f"b/{filter}", who) for filter, who in rows]),
        "unsubscribe_many": lambda: trie.unsubscribe_many(rows),
        "clear, trie": other.clear,
        "clear, store": store.clear,
        "clear, map": m.clear,
    }
    for name, call in calls.items():
        with counting_turns() as turns:
            before = turns()
            call()
            after = turns()
        assert after > before, f"{name} let nobody run"
