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
# write is an insertion below it.
@pytest.mark.parametrize("held_name", ["a", "b"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("bump", BUMPS)
def test_a_write_survives_that_others_renew_around_it(bump: str, change: str, held_name: str) -> None:
    write_while_another_renews(Ctrie, BUMPS[bump], CHANGES[change], held_name)


# After clear and refill everything has one generation, so nothing is renewed.
@pytest.mark.once  # a copy of the interpreted source, whatever twin the tests run
@pytest.mark.parametrize("held_name", ["a", "b"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("bump", [bump for bump in BUMPS if bump != "clear and refill"])
def test_the_published_renewal_is_noticed(bump: str, change: str, held_name: str) -> None:
    make = load_twin(AS_PUBLISHED).Ctrie
    with pytest.raises(AssertionError):
        write_while_another_renews(make, BUMPS[bump], CHANGES[change], held_name)


@pytest.mark.once
class TestRenewal:
    """What happens to the I-nodes of a C-node when one of them is entered, on the interpreted nodes."""

    @pytest.fixture
    def twin(self) -> Any:
        return load_twin()

    @pytest.fixture
    def trie(self, twin: Any) -> Any:
        """The first I-node of its C-node is of the root's generation, the others are of an older one."""
        trie = twin.Ctrie()
        for group in (1, 7, 9):
            trie.update({Placed(f"x{group}", group, 1): "old", Placed(f"y{group}", group, 2): "old"})
        trie.snapshot()
        trie.replace(Placed("x1", 1, 1), "new")
        return trie

    def test_what_is_entered_is_copied_if_it_is_of_an_older_generation(self, twin: Any, trie: Any) -> None:
        before, gen = children(twin, trie), present(twin, trie)
        assert [inode.gen is gen for inode in before] == [True, False, False]
        trie.replace(Placed("x7", 7, 1), "new")
        after = children(twin, trie)
        assert [one is other for one, other in zip(before, after, strict=True)] == [True, False, True]
        assert [inode.gen is gen for inode in after] == [True, True, False]
        trie.check()

    def test_what_is_of_the_present_generation_is_entered_as_it_is(self, twin: Any, trie: Any) -> None:
        before = children(twin, trie)
        trie.replace(Placed("y1", 1, 2), "new")
        assert children(twin, trie) == before
        trie.check()

    def test_a_read_copies_nothing(self, twin: Any, trie: Any) -> None:
        before = children(twin, trie)
        assert trie[Placed("y7", 7, 2)] == "old"
        assert children(twin, trie) == before
        trie.check()

    def test_a_new_key_beside_them_copies_nothing(self, twin: Any, trie: Any) -> None:
        before = children(twin, trie)
        trie[Placed("new", 11, 1)] = "new"
        assert children(twin, trie)[:3] == before
        trie.check()

    def test_generations_have_no_content_but_their_identity(self) -> None:
        gen = load_twin().nodes.Gen
        assert gen.__slots__ == ()
        assert gen() is not gen()
        assert gen() != gen()


def present(twin: Any, trie: Any) -> Any:
    """The root's generation."""
    return twin.nodes.load(trie._root).gen


def children(twin: Any, trie: Any) -> list[Any]:
    """The children of the root's C-node."""
    return list(twin.nodes.load(twin.nodes.load(trie._root)).array)
