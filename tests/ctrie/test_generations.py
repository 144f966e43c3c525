"""Generations: no acknowledged write is lost because a snapshot was taken in the past.

The published algorithm loses some writes. A C-node may lead to an I-node X of the present generation and to an older
one Y. A thread that descends to Y replaces *all* I-nodes of that C-node by copies, even X, while a writer may be
inside X. The write is acknowledged, and lost. Whoever reads the whole map starts a new generation, so
an iteration is enough for this.

The tests hold the writer in X by a key whose `__eq__` waits, on the twin that the tests run on. On a copy in which
renewal replaces all I-nodes, as published, they must fail.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from ctrie import Ctrie
from tests.keys import key, unmix
from tests.threads import LIMIT, finish, start
from tests.tries.mutants.of_maps import RENEWAL, RENEWAL_OF_ALL
from tests.twins import Fault, load_twin

AS_PUBLISHED = Fault("renewal copies what is of the present generation", "ctrie._edits", RENEWAL, RENEWAL_OF_ALL)

BUMPS: dict[str, Callable[[Any], Any]] = {
    "snapshot": lambda m: m.snapshot(),
    "readonly_snapshot": lambda m: m.readonly_snapshot(),
    "iteration": lambda m: next(iter(m)),
    "items": lambda m: m.items(),
    "equality": lambda m: m == {},
    "clear and refill": lambda m: (pairs := list(m.items()), m.clear(), m.update(pairs)),
}

CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "replace": lambda m, k: m.replace(k, "replaced"),
    "remove": lambda m, k: m.pop(k),
}


class Placed:
    """A key on the path `groups`, equal to others of its name. `__eq__` waits at its gate, if it has one."""

    def __init__(self, name: str, *groups: int) -> None:
        self.name = name
        self.gate: Gate | None = None
        raw = unmix(key(name, *groups).hash)
        self._hash = raw - (1 << 64) if raw >> 63 else raw
        assert hash(self) == self._hash

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self.gate is not None:
            self.gate.wait()
        if isinstance(other, Placed) and other.gate is not None:
            other.gate.wait()
        return isinstance(other, Placed) and self.name == other.name


class Gate:
    """Holds the first thread that arrives, until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._opened = threading.Event()

    def wait(self) -> None:
        self.reached.set()
        assert self._opened.wait(LIMIT)

    def open(self) -> None:
        self._opened.set()


def write_while_another_renews(
    make: Callable[[], Any], bump: Callable[[Any], Any], change: Callable[[Any, Any], Any], held_name: str
) -> None:
    """A writer is held in the I-node of `a` and `a2` while another one descends to that of `y1` and `y2`."""
    trie = make()
    lone = Placed("lone", 2)
    for k in (Placed("a", 1, 1), Placed("y1", 7, 1), Placed("y2", 7, 2), lone):
        trie[k] = "old"
    bump(trie)
    change(trie, lone)
    trie[Placed("a2", 1, 2)] = "old"

    held = Placed(held_name, 1, 1)
    held.gate = gate = Gate()
    writer = start([lambda: trie.__setitem__(held, "acknowledged")])
    assert gate.reached.wait(LIMIT)
    trie[Placed("y3", 7, 3)] = "new"
    gate.open()
    finish(writer)
    held.gate = None

    assert trie.get(Placed(held_name, 1, 1)) == "acknowledged"
    assert trie[Placed("y3", 7, 3)] == "new"
    trie.check()


# If the key is equal to `a`, the write is an update inside the I-node. If it is another key with the same hash, the
# write is an insertion below it. After clear and refill everything has one generation, so nothing is renewed.
HELD = [(bump, change, held) for bump in BUMPS for change in CHANGES for held in "ab"]


@pytest.mark.parametrize(("bump", "change", "held_name"), HELD)
def test_a_write_survives_that_others_renew_around_it(bump: str, change: str, held_name: str) -> None:
    write_while_another_renews(Ctrie, BUMPS[bump], CHANGES[change], held_name)


@pytest.mark.once  # a copy of the interpreted source, whatever twin the tests run
@pytest.mark.parametrize(("bump", "change", "held_name"), [held for held in HELD if held[0] != "clear and refill"])
def test_the_published_renewal_is_noticed(bump: str, change: str, held_name: str) -> None:
    with pytest.raises(AssertionError):
        write_while_another_renews(load_twin(AS_PUBLISHED).Ctrie, BUMPS[bump], CHANGES[change], held_name)


@pytest.mark.once
def test_what_is_entered_is_copied_if_it_is_of_an_older_generation() -> None:
    """And nothing else is, on the interpreted nodes: each write or read copies some of three I-nodes, of which the first
    is of the root's generation."""
    twin = load_twin()

    def children(trie: Any) -> list[Any]:
        return list(twin.nodes.load(twin.nodes.load(trie._root)).array)

    accesses: list[tuple[Callable[[Any], Any], list[bool]]] = [
        (lambda m: m.replace(Placed("x7", 7, 1), "new"), [False, True, False]),
        (lambda m: m.replace(Placed("y1", 1, 2), "new"), [False, False, False]),
        (lambda m: m[Placed("y7", 7, 2)], [False, False, False]),
        (lambda m: m.__setitem__(Placed("new", 11, 1), "new"), [False, False, False]),
    ]
    for access, copied in accesses:
        trie = twin.Ctrie()
        for group in (1, 7, 9):
            trie.update({Placed(f"x{group}", group, 1): "old", Placed(f"y{group}", group, 2): "old"})
        trie.snapshot()
        trie.replace(Placed("x1", 1, 1), "new")
        before, gen = children(trie), twin.nodes.load(trie._root).gen
        assert [inode.gen is gen for inode in before] == [True, False, False]
        access(trie)
        after = children(trie)[:3]
        assert [one is not other for one, other in zip(before, after, strict=True)] == copied
        assert [inode.gen is gen for inode in after] == [True, copied[1], False]
        trie.check()
    gen = twin.nodes.Gen  # it has no content but its identity
    assert gen.__slots__ == ()
    assert gen() != gen()
