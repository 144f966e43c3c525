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
    """Something whose end can be seen, and may do something."""

    def __init__(self, at_end: Callable[[], object] = int) -> None:
        self.at_end = at_end

    def __del__(self) -> None:
        self.at_end()


def name(number: int) -> str:
    """Filters and topics have several lengths."""
    return f"a/{number % 97}/{number}"


def put(structure: Any, place: str, value: Any) -> None:
    structure.subscribe(place, value) if isinstance(structure, SubscriptionTrie) else structure.__setitem__(
        place, value
    )


def filled(kind: str, values: list[Any]) -> Any:
    makes: dict[str, Callable[[], Any]] = {
        "map": Ctrie,
        "store": lambda: TopicStore(MQTT),
        "trie": lambda: SubscriptionTrie(MQTT),
    }
    structure = SubscriptionTrie[Any](MQTT, index=True) if "indexed" in kind else makes[kind]()
    for number, value in enumerate(values):
        put(structure, name(number), value)
    if "trie" in kind:
        structure.subscribe_many(("hot/+", value) for value in values)  # a large set of subscribers
        structure.subscribe_many(("$share/g/hot/+", value) for value in values[:20])
    return structure


def listed(structure: Any) -> list[str]:
    return sorted(map(repr, structure if isinstance(structure, SubscriptionTrie) else structure.items()))


@pytest.mark.parametrize("kind", ["map", "store", "trie", "indexed trie"])
def test_all_is_freed_but_what_a_snapshot_holds(kind: str) -> None:
    values = [Value() for _ in range(N)]
    ends = [weakref.ref(value) for value in values]
    structure = filled(kind, values)
    before = structure.snapshot()
    wanted = listed(before)
    for number in range(0, N, 7):  # afterwards they share some parts only
        put(structure, name(number), 1)
    del values
    structure.clear()
    drain()
    assert listed(before) == wanted
    before.check()
    structure.check()
    del before
    drain()
    gc.collect()
    assert [end() for end in ends if end() is not None] == []
    assert len(structure) == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ["map", "store", "trie", "indexed trie"])
def test_finalizers_change_it_again(kind: str) -> None:
    ended: list[int] = []
    structure: Any = None

    def writing(number: int) -> Callable[[], object]:
        def write() -> None:
            ended.append(number)
            put(structure, f"again/{number}", number)
            if number % 100 == 0:
                structure.clear()  # within a clear
            assert number % 10, "users' finalizers may raise"

        return write

    structure = filled(kind, [Value(writing(number)) for number in range(N)])
    structure.clear()
    drain()
    gc.collect()
    assert sorted(ended) == list(range(N))
    structure.check()
    structure.clear()
    drain()
    assert len(structure) == 0
