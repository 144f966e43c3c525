"""The shape of the trie: where keys are, how deep, what collisions become, and what `check` finds in it."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ctrie import Ctrie
from ctrie._machine import GROUPS, W
from tests.ctrie.oracle import ABSENT, OPERATIONS, Pair, Universe, itself, kinds
from tests.keys import Key, hash_of, key, unmix
from tests.twins import load_twin

HASH_BITS = 64


def keys_that_agree_below(bit: int) -> tuple[Key, Key]:
    """Return two keys whose hashes differ in `bit` and agree in all bits below it."""
    low = random.Random(bit).getrandbits(HASH_BITS) & (1 << bit) - 1
    return Key("one", low), Key("other", low | 1 << bit)


def colliding(number: int) -> list[Key]:
    return [Key(f"k{i}", 0x0123_4567_89AB_CDEF) for i in range(number)]


def trie_of(*keys: Key, make: Callable[..., Any] = Ctrie) -> Any:
    trie = make(hash=hash_of)
    for k in keys:  # one by one, each on its own path
        trie[k] = k.name
    return trie


def depth(shape: tuple[Any, ...]) -> int:
    kind, *children = shape
    return 0 if kind == "S" else 1 + max(map(depth, children), default=0)


# ---------------------------------------------------------------------------------------------------------------- places


@pytest.mark.once
def test_unmix_is_the_inverse_of_mix() -> None:
    mix = load_twin().nodes.mix
    for mixed in (0, 1, GROUPS - 1, 1 << 63, (1 << 64) - 1, 0x0123_4567_89AB_CDEF):
        assert mix(unmix(mixed)) == mixed


def test_the_hash_is_read_a_group_at_a_time() -> None:
    far = trie_of(key("a", 0), key("b", GROUPS - 1), key("c", 7))
    assert far._shape() == ("C", ("S", key("a", 0)), ("S", key("c", 7)), ("S", key("b", GROUPS - 1)))
    near = trie_of(key("a", 3, 1), key("b", 3, 0))
    assert near._shape() == ("C", ("C", ("S", key("b", 3, 0)), ("S", key("a", 3, 1))))


def test_keys_that_differ_in_one_bit_part_at_its_level_and_climb_back_to_the_root() -> None:
    for bit in range(HASH_BITS):
        one, other = keys_that_agree_below(bit)
        trie = trie_of(one, other)
        assert depth(trie._shape()) == bit // W + 1
        assert "L" not in kinds(trie)
        trie.check()
        del trie[one]
        assert trie._shape() == ("C", ("S", other))
        trie.check()


def test_keys_that_differ_in_no_bit_share_an_l_node_below_the_last_one() -> None:
    trie = trie_of(*colliding(2))
    assert kinds(trie) == {"C": -(-HASH_BITS // W), "L": 1, "S": 2}
    trie.check()


def test_python_hashes_spread() -> None:
    """Python's hash of an integer is the integer itself: without mixing, a stride would build one long branch."""
    for stride in (1, GROUPS, 1 << 20, 1 << 40):
        trie: Any = Ctrie(dict.fromkeys(range(0, 1000 * stride, stride)))
        assert depth(trie._shape()) <= 6
        trie.check()


def test_a_custom_hash_may_be_negative_or_longer_and_all_sixty_four_bits_are_used() -> None:
    keys = [-1, 5 + (1 << 70), 0, 1 << 63]
    trie: Any = Ctrie({k: str(k) for k in keys}, hash=lambda k: k)
    assert "L" not in kinds(trie)
    assert [trie[k] for k in keys] == list(map(str, keys))
    trie.check()


# The present keys, and others that are looked at. One or all of the present ones are removed first, or none.
A, A2, A3 = key("a", 1, 1), key("a2", 1, 2), key("a3", 1, 3)
K1, K2, K3 = colliding(3)
PLACES: dict[str, tuple[list[Key], list[Key]]] = {
    "in an empty trie": ([], [A]),
    "where an S-node must be split": ([A], [A, A2]),
    "in a C-node below": ([A, A2], [A, A3]),
    "where an L-node must be made": ([K1], [K1, K2]),
    "in an L-node": ([K1, K2], [K1, K3]),
    "in a large L-node": ([K1, K2, K3], [K3]),
}


@pytest.mark.parametrize("place", PLACES)
def test_every_operation_in_every_place(place: str) -> None:
    present, looked_at = PLACES[place]
    universe = Universe([A, A2, A3, K1, K2, K3], {"hash": hash_of}, itself)
    for name in OPERATIONS:
        for k in looked_at:
            for removed in (None, *present):
                for old in ("value", "another"):
                    pair = Pair(universe, [(each, "value") for each in present])
                    if removed is not None:
                        pair.operate("pop", removed, None, None)
                    pair.operate(name, k, old, "new")
                    pair.check()


@pytest.mark.parametrize("low", [0, 5, 40, 64])
def test_differences_where_the_shape_differs(low: int) -> None:
    """Keys that part at any depth, added and removed: an S-node on one side, an I-node or nothing on the other."""
    keys = [Key(f"k{i}", (i << low) & ((1 << 64) - 1) if low < 64 else 3) for i in range(6)]
    universe = Universe(keys, {"hash": hash_of}, itself)
    for there in range(1 << 6):
        pair = Pair(universe, [(k, "old") for i, k in enumerate(keys) if there >> i & 1])
        before = pair.copied("readonly_snapshot")
        for k in keys:
            pair.operate("del" if k in before.held else "set", k, None, "new")
        pair.compare(before)
        assert {k: was for k, was, _ in pair.map.diff(before.map, ABSENT)} == {
            k: "old" if k in before.held else ABSENT for k in keys
        }
        pair.map.check()


def test_thousands_of_colliding_keys_need_no_deep_recursion() -> None:
    keys = colliding(1500)  # more than the nested calls allowed below; building an L-node is quadratic
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(sum(1 for _ in frames()) + 150)
    try:
        trie = trie_of(*keys)
        assert len(trie) == len(keys)
        assert sum(len(list(part)) for part in trie.split(4)) == len(keys)
        assert all(k in trie for k in keys[::100])
        frozen = trie.readonly_snapshot()
        for k in keys[:100]:
            del trie[k]
        assert sum(1 for _ in trie.diff(frozen)) == 100
        trie.check()
        del trie, frozen
    finally:
        sys.setrecursionlimit(limit)


def frames() -> Iterator[Any]:
    frame: Any = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def test_the_parts_are_of_similar_size() -> None:
    sizes = [len(list(part)) for part in Ctrie((k, k) for k in range(10_000)).split(8)]
    assert len(sizes) == 8
    assert max(sizes) < 2 * min(sizes)


@pytest.mark.once
def test_differences_are_looked_for_only_where_something_was_changed() -> None:
    """The test counts the accesses of slots on the interpreted twin."""
    twin = load_twin()
    trie = twin.Ctrie(dict.fromkeys(range(3000)))
    before = trie.readonly_snapshot()
    for k in range(0, 3000, 1000):
        trie[k] = "new"
    assert twin.count(lambda: list(trie.diff(before))) < twin.count(lambda: list(trie)) / 4


# ----------------------------------------------------------------------------------------------------------------- check


def inode(trie: Any, *path: int) -> Any:
    """The I-node at the end of a path of places of branches."""
    load = load_twin().nodes.load
    found = load(trie._root)
    for pos in path:
        found = load(found).array[pos]
    return found


def stray(nodes: Any, cn: Any) -> Any:
    edits: Any = load_twin().modules["ctrie._edits"]
    pair = nodes.new_pair(key("stray", 3, 9), key("stray", 3, 9).hash, "value")
    return edits.with_branch(cn, 1 << 9, len(cn.array), pair)


# What `check` says, of a trie of some keys, in which the I-node at the end of a path holds another node.
BROKEN: list[tuple[str, list[Key], list[int], Callable[[Any, Any], Any]]] = [
    ("I4", [A, key("b", 2)], [], lambda nodes, cn: nodes.new_cnode(cn.bitmap | 1, cn.array)),
    ("I4: (a|b) is", [A, key("b", 2)], [], lambda nodes, cn: nodes.new_cnode(cn.bitmap, cn.array[::-1])),
    ("I4: stray is off the path", [A, A2], [0], stray),
    ("I4: an L-node at depth", [A, A2], [0], lambda nodes, cn: nodes.new_lnode(cn.array)),
    ("I4: an L-node of one entry", [K1, K2], [0] * (HASH_BITS // W + 1), lambda nodes, ln: nodes.new_lnode(ln.entries[:1])),
    ("I5", [A, A2], [0], lambda nodes, cn: nodes.new_cnode(0, cn.array[:0])),
    ("I5", [A, A2], [0], lambda nodes, cn: nodes.new_cnode(1 << 1, cn.array[:1])),
    ("I5: the first", [A], [], lambda nodes, cn: nodes.new_tnode(cn.array[0])),
]  # fmt: skip


@pytest.mark.once
@pytest.mark.parametrize(("says", "keys", "path", "broken"), BROKEN)
def test_check_names_the_invariant_that_is_broken(says: str, keys: list[Key], path: list[int], broken: Any) -> None:
    twin = load_twin()
    trie = trie_of(*keys, make=twin.Ctrie)
    trie.check()
    twin.nodes.initialise(inode(trie, *path), broken(twin.nodes, twin.nodes.load(inode(trie, *path))))
    with pytest.raises(AssertionError, match=says):
        trie.check()


@pytest.mark.once
def test_check_finds_an_i_node_of_the_present_generation_below_an_older_one() -> None:
    trie = trie_of(A, key("b", 1, 2, 1), key("c", 1, 2, 2), make=load_twin().Ctrie)
    inode(trie, 0).gen = load_twin().nodes.Gen()
    with pytest.raises(AssertionError, match="I3"):
        trie.check()
