"""A compiled C-node stores its branches in the node itself, whose length fits their number (ctrie/c/cnode.h)."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from ctrie import Ctrie
from ctrie._machine import GROUPS

pytestmark = pytest.mark.compiled

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
