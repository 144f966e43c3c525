"""What a call drops as a whole is freed piece by piece (ctrie/_machine.py): each part once, and none that others hold."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from ctrie import Ctrie, drain
from subtrie import MQTT, SubscriptionTrie, TopicStore

N = 3_000


class Value:
    """Something whose end can be seen."""


class Writer:
    """Something that changes the same structure when it ends."""

    def __init__(self, write: Callable[[], object]) -> None:
        self.write = write

    def __del__(self) -> None:
        self.write()


def filled(kind: str, values: list[Any]) -> Any:
    """Return a structure with these values, and with filters and topics of several lengths."""
    names = [f"a/{number % 97}/{number}" for number in range(len(values))]
    if kind == "map":
        return Ctrie(dict(zip(names, values, strict=True)))
    if kind == "store":
        return TopicStore(MQTT, dict(zip(names, values, strict=True)))
    trie = SubscriptionTrie[Any](MQTT, index=kind == "indexed trie")
    trie.subscribe_many(zip(names, values, strict=True))
    trie.subscribe_many(("hot/+", value) for value in values)  # a large set of subscribers
    trie.subscribe_many(("$share/g/hot/+", value) for value in values[:20])
    return trie


KINDS = ["map", "store", "trie", "indexed trie"]


@pytest.mark.parametrize("kind", KINDS)
def test_all_is_freed(kind: str) -> None:
    values = [Value() for _ in range(N)]
    ends = [weakref.ref(value) for value in values]
    structure = filled(kind, values)
    del values
    structure.clear()
    drain()
    gc.collect()
    assert [end() for end in ends if end() is not None] == []
    structure.check()
    assert len(structure) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_snapshot_holds_stays(kind: str) -> None:
    structure = filled(kind, [Value() for _ in range(N)])
    before = structure.snapshot()
    listed = sorted(map(repr, before.items() if kind in ("map", "store") else before.subscriptions()))
    for number in range(0, N, 7):  # afterwards they share some parts only
        name = f"a/{number % 97}/{number}"
        if kind in ("map", "store"):
            structure[name] = 1
        else:
            structure.subscribe(name, 1)
    structure.clear()
    drain()
    before.check()
    assert sorted(map(repr, before.items() if kind in ("map", "store") else before.subscriptions())) == listed
    structure.check()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_finalizers_change_it_again(kind: str) -> None:
    told: list[int] = []
    structure: Any = None

    def writing(number: int) -> Callable[[], object]:
        def write() -> None:
            told.append(number)
            if kind in ("map", "store"):
                structure[f"again/{number}"] = number
            else:
                structure.subscribe(f"again/{number}", number)
            if number % 100 == 0:
                structure.clear()  # within a clear
            assert number % 10, "users' finalizers may raise"

        return write

    structure = filled(kind, [Writer(writing(number)) for number in range(N)])
    structure.clear()
    drain()
    gc.collect()
    assert sorted(told) == list(range(N))
    structure.check()
    structure.clear()
    drain()
    assert len(structure) == 0
