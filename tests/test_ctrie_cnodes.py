"""How a compiled C-node keeps its branches: in the node itself, which is as long as they are (ctrie/cnode.h). And what
the garbage collector knows of nodes (ctrie/plain.h)."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from ctrie import Ctrie, drain
from ctrie._arrays import GROUPS
from tests.threads import run_together

pytestmark = pytest.mark.compiled

GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
POINTER = 8


def cnodes(trie: Ctrie) -> Iterator[Any]:
    """All of the trie's C-nodes, as the garbage collector finds them."""
    found: list[object] = [trie]
    while found:
        node = found.pop()
        if type(node).__name__ == "CNode":
            yield node
        if type(node).__module__.startswith("ctrie."):
            found.extend(gc.get_referents(node))


def branches(cn: object) -> list[Any]:
    return [node for node in gc.get_referents(cn) if type(node).__name__ in ("INode", "Pair")]


@pytest.mark.parametrize("keys", [0, 1, 2, GROUPS - 1, GROUPS, GROUPS + 1, 1_000])
def test_the_collector_finds_every_branch(keys: int) -> None:
    trie = Ctrie((key, [key]) for key in range(keys))
    pairs = [node for cn in cnodes(trie) for node in branches(cn) if type(node).__name__ == "Pair"]
    assert sorted(pair.key for pair in pairs) == list(range(keys))
    trie.check()


def test_a_node_is_as_long_as_its_branches() -> None:
    trie = Ctrie((key, [key]) for key in range(1_000))
    empty = sys.getsizeof(next(cnodes(Ctrie())))
    sizes = {len(branches(cn)): sys.getsizeof(cn) for cn in cnodes(trie)}
    assert max(sizes) == GROUPS, "a level of a thousand keys begins with a full C-node"
    assert sizes == {width: empty + width * POINTER for width in sizes}
    trie.check()


def nodes(trie: Ctrie) -> list[Any]:
    return [node for cn in cnodes(trie) for node in (cn, *branches(cn))]


def test_the_collector_tracks_what_could_be_part_of_a_cycle_and_nothing_else() -> None:
    """An I-node could: what it holds changes."""
    plain, lists = Ctrie((key, key) for key in range(1_000)), Ctrie((key, [key]) for key in range(1_000))
    assert all(map(gc.is_tracked, nodes(lists)))
    assert not [node for node in nodes(plain) if type(node).__name__ == "Pair" and gc.is_tracked(node)]
    leaves = [cn for cn in cnodes(plain) if not any(type(node).__name__ == "INode" for node in branches(cn))]
    assert leaves
    assert not any(map(gc.is_tracked, leaves))
    for value in ([1], 2, [3], 4):  # from one kind to the other and back
        plain.update(dict.fromkeys(range(0, 1_000, 7), value))
        pairs = {node.key: node for node in nodes(plain) if type(node).__name__ == "Pair"}
        assert len(pairs) == 1_000
        assert all(gc.is_tracked(pair) == isinstance(pair.value, list) for pair in pairs.values())
        plain.check()


@pytest.fixture
def counted() -> Iterator[Callable[[], int]]:
    """How many more objects have been allocated for the collector than freed since the test began; to some hundreds."""
    gc.collect()
    gc.disable()
    try:
        yield lambda: gc.get_count()[0]
    finally:
        gc.enable()


@pytest.mark.skipif(GIL, reason="all nodes are allocated for the collector on GIL builds, and it looks at tracked ones")
class TestOnFreeThreadedBuilds:
    def test_nodes_that_are_not_tracked_are_not_counted_either(self, counted: Callable[[], int]) -> None:
        before = counted()
        trie = Ctrie((key, key) for key in range(1_500))  # below some 350 I-nodes, which are counted
        assert abs(counted() - before) < 1_000
        lists = Ctrie((key, [key]) for key in range(1_500))
        assert counted() - before > 2_000
        trie.check()
        lists.check()

    def test_the_count_is_right_after_nodes_of_both_kinds_have_come_and_gone(self, counted: Callable[[], int]) -> None:
        """Were it not, collections would come too often, or no more."""
        trie = Ctrie((key, key) for key in range(1_000))
        kept: list[object] = [[] for _ in range(10_000)]  # the count does not go below zero
        before = counted()

        def write(start: int) -> None:
            for n in range(start, start + 20_000):
                trie[n % 1_000] = [n] if n % 3 else n

        run_together([partial(write, 0), partial(write, 7)])
        trie.update((key, key) for key in range(1_000))
        drain()
        assert abs(counted() - before) < 2_000
        assert kept
        trie.check()
