"""GCAS, RDCSS and tombs, one promise at a time, on the interpreted nodes under chosen schedules.

tests/ctrie/test_every_schedule.py tests what pairs of operations may return. This file tests what they do on the way: what
they restore, how often they try, what they change, and how deep the stack gets. The last test repeats each promise that
some implementation has broken, with that fault restored.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ctrie._machine import W, flag_at
from stress.explorer.suspension import stopped_for_ever
from tests.keys import Key, hash_of, key
from tests.twins import Fault, Together, Twin, load_twin

pytestmark = pytest.mark.once  # a copy of the interpreted source, in one thread, whatever twin the tests run

A, A2, A3, B = key("a", 1, 1), key("a2", 1, 2), key("a3", 1, 3), key("b", 2)
T1, T2, T3 = (Key(name, 0xFEDC_BA98_7654_3210) for name in ("t1", "t2", "t3"))

BUMPS: dict[str, Callable[[Any], Any]] = {
    "snapshot": lambda m: m.snapshot(),
    "readonly_snapshot": lambda m: m.readonly_snapshot(),
    "len": len,
    "iteration": lambda m: list(m),
    "clear and refill": lambda m: (pairs := list(m.items()), m.clear(), m.update(pairs)),
}


@pytest.fixture
def twin() -> Twin:
    return load_twin()


def filled(twin: Twin, *keys: Key) -> Any:
    trie = twin.Ctrie(hash=hash_of)
    for k in keys:
        trie[k] = "old"
    return trie


def inode_of(twin: Twin, trie: Any, k: Key) -> Any:
    """Return the last I-node on the path of `k`."""
    inode, lev = twin.nodes.load(trie._root), 0
    while True:
        main = twin.nodes.load(inode)
        flag = flag_at(k.hash, lev)
        child = main.array[(main.bitmap & (flag - 1)).bit_count()] if hasattr(main, "array") else None
        if not isinstance(child, twin.nodes.INode):
            return inode
        inode, lev = child, lev + W


def left_with_tomb(twin: Twin, removed: Key, *others: Key) -> Any:
    """Return a trie in which a thread has removed a key and stopped for ever before it cleared the tomb."""
    trie = filled(twin, removed, *others)
    committed = 2
    twin.suspend(lambda: trie.pop(removed), committed)
    assert "'T'" in str(trie._shape())
    return trie


# ------------------------------------------------------------------------------------------------------------- GCAS


def test_an_aborted_write_puts_the_very_main_node_back(twin: Twin) -> None:
    trie = filled(twin, A, A2)
    inode = inode_of(twin, trie, A)
    before = twin.nodes.load(inode)
    pending = 1
    twin.suspend(lambda: trie.replace(A, "never"), pending)
    assert twin.nodes.load(inode) is not before
    frozen = trie.readonly_snapshot()
    assert dict(frozen.items()) == {A: "old", A2: "old"}
    assert twin.nodes.load(inode) is before
    assert trie[A] == "old"
    trie.check()


def test_a_committed_write_leaves_no_predecessor(twin: Twin) -> None:
    trie = filled(twin, A, A2)
    trie[A] = "new"
    assert twin.nodes.load(twin.nodes.load(inode_of(twin, trie, A))) is None


def test_a_lookup_commits_a_write_that_it_meets(twin: Twin) -> None:
    trie = filled(twin, A)
    twin.suspend(lambda: trie.replace(A, "new"), 1)
    assert trie[A] == "new"
    assert twin.nodes.load(twin.nodes.load(inode_of(twin, trie, A))) is None


@pytest.mark.parametrize("k", [A, A3, B, T1, T3], ids=str)
@pytest.mark.parametrize("bump", BUMPS)
def test_a_lookup_changes_no_slot(twin: Twin, bump: str, k: Key) -> None:
    """It copies nothing either, even after a snapshot. T3 is an absent key whose path ends in an L-node."""
    trie = filled(twin, A, A2, T1, T2)
    BUMPS[bump](trie)
    assert twin.changes(lambda: (trie.get(k), k in trie, bool(trie))) == 0
    assert twin.changes(lambda: (trie.replace_if(k, "other", "new"), trie.remove_if(k, "other"))) == 0


@pytest.mark.parametrize("k", [A3, B, T3], ids=str)
def test_a_change_of_an_absent_key_changes_no_slot(twin: Twin, k: Key) -> None:
    trie = filled(twin, A, A2, T1, T2)
    assert twin.changes(lambda: (trie.pop(k, None), trie.replace(k, "new"))) == 0


@pytest.mark.parametrize("k", [A, T1], ids=str)
def test_an_insertion_of_a_present_key_changes_no_slot(twin: Twin, k: Key) -> None:
    trie = filled(twin, A, A2, T1, T2)
    assert twin.changes(lambda: (trie.put_if_absent(k, "new"), trie.setdefault(k, "new"))) == 0


@pytest.mark.parametrize("read", [len, list, bool, dict, lambda m: m[A], lambda m: T3 in m, lambda m: m.keys()])
def test_what_is_read_from_a_read_only_snapshot_changes_no_slot(twin: Twin, read: Callable[[Any], Any]) -> None:
    frozen = filled(twin, A, A2, T1, T2).readonly_snapshot()
    assert twin.changes(lambda: read(frozen)) == 0


# ------------------------------------------------------------------------------------------------------------ RDCSS


def test_a_read_and_a_write_finish_beside_a_snapshot_that_stopped_half_way(twin: Twin) -> None:
    trie = filled(twin, A, A2)
    proposed = 1
    twin.suspend(trie.snapshot, proposed)
    assert isinstance(twin.nodes.load(trie._root), twin.nodes.RDCSSDescriptor)
    assert twin.count(lambda: trie.get(A)) < 20
    twin.suspend(trie.snapshot, proposed)
    assert twin.count(lambda: trie.__setitem__(A, "new")) < 40
    assert trie[A] == "new"
    trie.check()


def test_a_write_that_pends_while_a_snapshot_is_proposed_finishes(twin: Twin) -> None:
    """If the write waited for the snapshot, and the snapshot for the write, neither would end."""

    def judge(trie: Any, fork: Any, written: Any) -> None:
        assert trie[A] == "new"
        trie.check()

    def write(trie: Any) -> None:
        trie[A] = "new"

    make = partial(filled, twin, A)
    assert len(list(stopped_for_ever(Together(twin, make, [twin.Ctrie.snapshot, write], judge), 1))) > 10


def test_a_snapshot_is_tried_again_as_long_as_writers_commit_and_then_succeeds(twin: Twin) -> None:
    trie = filled(twin, A)
    writes = 200

    def write(access: int) -> None:
        if access <= writes:
            trie[A] = access

    frozen = twin.interfere(trie.readonly_snapshot, write)
    assert frozen[A] == trie[A] == writes
    trie.check()


def test_clear_stops_when_it_has_succeeded(twin: Twin) -> None:
    for trie in (filled(twin), filled(twin, A, A2, B)):
        assert twin.count(trie.clear) == twin.count(trie.clear) < 20
        assert not trie
        trie.check()


def test_a_snapshot_costs_the_same_whatever_the_size(twin: Twin) -> None:
    small, large = twin.Ctrie({1: 1}), twin.Ctrie(dict.fromkeys(range(2000)))
    for take in (twin.Ctrie.snapshot, twin.Ctrie.readonly_snapshot, twin.Ctrie.clear, bool):
        assert twin.count(lambda take=take: take(small)) == twin.count(lambda take=take: take(large))


# --------------------------------------------------------------------------------------------------------- restarts


@pytest.mark.parametrize(
    ("operation", "attempts"),
    [
        (lambda m: m.__setitem__(A, "new"), 1),
        (lambda m: m.__setitem__(A3, "new"), 1),
        (lambda m: m.put_if_absent(B, "new"), 1),
        (lambda m: m.setdefault(T3, "new"), 1),
        (lambda m: m.replace(T1, "new"), 1),
        (lambda m: m.replace_if(A, "old", "new"), 1),
        (lambda m: m.compute(A, str.upper), 1),
        (lambda m: m.compute(A3, lambda value: "new"), 1),
        # One attempt removes, one clears the tomb, and one sees that no tomb is left. An L-node shrinks level by level.
        (lambda m: m.pop(A), 3),
        (lambda m: m.remove_if(A2, "old"), 3),
        (lambda m: m.pop(T1), 1 + 2 * 12),
    ],
)
@pytest.mark.parametrize("bump", BUMPS)
def test_without_contention_nothing_is_tried_twice(
    twin: Twin, bump: str, operation: Callable[[Any], Any], attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trie = filled(twin, A, A2, T1, T2)
    BUMPS[bump](trie)
    made = []
    edits: Any = twin.modules[EDITS]
    attempt = edits._attempt
    monkeypatch.setattr(edits, "_attempt", lambda root, edit: made.append(edit) or attempt(root, edit))
    operation(trie)
    assert len(made) <= attempts
    trie.check()


@pytest.mark.parametrize(
    "operation",
    [
        lambda m: m.__setitem__(A, "mine"),
        lambda m: m.pop(A, None),
        lambda m: m.compute(A, lambda value: "mine"),
        lambda m: m.snapshot(),
        lambda m: m.clear(),
    ],
    ids=["set", "pop", "compute", "snapshot", "clear"],
)
def test_restarts_do_not_deepen_the_stack(twin: Twin, operation: Callable[[Any], Any]) -> None:
    trie = filled(twin, A, A2)

    def write(access: int) -> None:
        if access < 12_000:  # more restarts than the interpreter allows nested calls
            trie[A] = access

    twin.interfere(lambda: operation(trie), write)
    trie.check()


# ------------------------------------------------------------------------------------------------------------ tombs


@pytest.mark.parametrize(("removed", "survivor", "third"), [(A, A2, A3), (T1, T2, T3)], ids=["C-node", "L-node"])
class TestTombLeftBehind:
    """The next thread meets a tomb that was not cleared."""

    def test_its_key_is_found_by_any_equal_one(self, twin: Twin, removed: Key, survivor: Key, third: Key) -> None:
        trie = left_with_tomb(twin, removed, survivor, B)
        for reader in (trie, trie.snapshot(), trie.readonly_snapshot()):
            assert reader[Key(*survivor)] == "old"
            assert removed not in reader
            assert third not in reader

    def test_it_is_iterated_over(self, twin: Twin, removed: Key, survivor: Key, third: Key) -> None:
        trie = left_with_tomb(twin, removed, survivor, B)
        for reader in (trie, trie.snapshot(), trie.readonly_snapshot()):
            assert set(reader) == {survivor, B}
            assert len(reader) == 2
            assert dict(reader.items()) == {survivor: "old", B: "old"}
            assert sorted(pair for part in reader.split(3) for pair in part) == sorted([(survivor, "old"), (B, "old")])

    def test_an_iterator_may_be_dropped_in_it(self, twin: Twin, removed: Key, survivor: Key, third: Key) -> None:
        trie = left_with_tomb(twin, removed, survivor)
        iterator = iter(trie)
        assert next(iterator) == survivor
        del iterator
        assert list(trie) == [survivor]
        trie.check()

    def test_a_write_below_it_happens(self, twin: Twin, removed: Key, survivor: Key, third: Key) -> None:
        for k in (removed, survivor, third):
            trie = left_with_tomb(twin, removed, survivor, B)
            assert trie.put_if_absent(k, "new") == ("old" if k == survivor else None)
            trie[k] = "newest"
            assert trie[k] == "newest"
            assert set(trie) == {survivor, B, k}
            assert "'T'" not in str(trie._shape())
            trie.check()

    def test_its_key_can_be_removed(self, twin: Twin, removed: Key, survivor: Key, third: Key) -> None:
        trie = left_with_tomb(twin, removed, survivor)
        assert trie.pop(survivor) == "old"
        assert trie._shape() == ("C",)
        trie.check()

    def test_equality_is_the_tries_own(self, twin: Twin, removed: Key, survivor: Key, third: Key) -> None:
        trie = twin.Ctrie(hash=hash_of, equal=lambda one, other: one.name.lower() == other.name.lower())
        trie[removed] = trie[survivor] = "old"
        twin.suspend(lambda: trie.pop(removed), 2)
        shouted = Key(survivor.name.upper(), survivor.hash)
        assert trie.readonly_snapshot()[shouted] == "old"
        assert trie.replace_if(shouted, "old", "new")
        assert dict(trie.items()) == {survivor: "new"}


# ------------------------------------------------------------------------------------------------- faults put back

NODES = "ctrie._nodes"
EDITS = "ctrie._edits"
DESCENT = "ctrie._descent"


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (
            Fault(
                "an aborted write puts back too much", NODES, "inode, main, failed.wrapped)", "inode, main, load(main))"
            ),
            test_an_aborted_write_puts_the_very_main_node_back,
        ),
        (
            Fault("an aborted write stays", NODES, "if compare_and_set(inode, main, failed.wrapped):", "if True:"),
            test_an_aborted_write_puts_the_very_main_node_back,
        ),
        (
            Fault(
                "a lookup does not help",
                DESCENT,
                "            if peek(main) is not borrow(None):\n                break\n",
                "",
            ),
            test_a_lookup_commits_a_write_that_it_meets,
        ),
        (
            Fault("GCAS waits for RDCSS", NODES, "rdcss_read_root(root, True)", "rdcss_read_root(root)"),
            test_a_write_that_pends_while_a_snapshot_is_proposed_finishes,
        ),
        (
            Fault(
                "clear does not return",
                NODES,
                "            held[0] = old\n            return held",
                "            held[0] = old\n            continue",
            ),
            test_clear_stops_when_it_has_succeeded,
        ),
        (
            Fault(
                "a write restarts by calling itself",
                EDITS,
                "    while outcome == RESTART:\n        if",
                "    if outcome == RESTART:\n        return edit_trie(root, edit)\n    while False:\n        if",
            ),
            lambda twin: test_restarts_do_not_deepen_the_stack(twin, lambda m: m.__setitem__(A, "mine")),
        ),
        (
            Fault("iteration passes over tombs", NODES, "return () if tn.sn is None else (tn.sn,)", "return ()"),
            lambda twin: TestTombLeftBehind().test_it_is_iterated_over(twin, A, A2, A3),
        ),
        (
            Fault(
                "lookup in tombs is by identity",
                DESCENT,
                "tn.sn is not None and same_key(tn.sn, key, hash, equal)",
                "tn.sn is not None and tn.sn.key is key",
            ),
            lambda twin: TestTombLeftBehind().test_its_key_is_found_by_any_equal_one(twin, A, A2, A3),
        ),
        (
            Fault(
                "lookup in tombs ignores the trie's equality",
                DESCENT,
                "tn.sn is not None and same_key(tn.sn, key, hash, equal)",
                "tn.sn is not None and same_key(tn.sn, key, hash, None)",
            ),
            lambda twin: TestTombLeftBehind().test_equality_is_the_tries_own(twin, T1, T2, T3),
        ),
        (
            Fault(
                "a write that meets a tomb is dropped",
                EDITS,
                "            _bury(root, edit, main)  # type: ignore[arg-type]\n            return RESTART",
                "            _bury(root, edit, main)\n            edit.found = None\n            return DONE",
            ),
            lambda twin: TestTombLeftBehind().test_a_write_below_it_happens(twin, A, A2, A3),
        ),
        (
            Fault(
                "an absent key's removal rewrites the L-node",
                EDITS,
                "    added = _created(edit)\n    if added is None:\n        return DONE\n    return _commit(root, edit, ln,",
                "    added = _created(edit)\n    if added is None:\n        return _commit(root, edit, ln, new_lnode(ln.entries))\n    return _commit(root, edit, ln,",
            ),
            lambda twin: test_a_change_of_an_absent_key_changes_no_slot(twin, T3),
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else "",
)
def test_the_fault_is_noticed(fault: Fault, test: Callable[[Twin], None]) -> None:
    with pytest.raises((AssertionError, AttributeError, KeyError, RecursionError)):
        test(load_twin(fault))
