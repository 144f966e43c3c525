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
from stress.explorer.strategies import stopped_for_ever
from tests.keys import Key, hash_of, key
from tests.twins import Fault, Together, Twin, load_twin

pytestmark = pytest.mark.once  # a copy of the interpreted source, in one thread, whatever twin the tests run

NODES, EDITS, DESCENT = "ctrie._nodes", "ctrie._edits", "ctrie._descent"

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


def test_a_lookup_commits_a_write_that_it_meets(twin: Twin) -> None:
    trie = filled(twin, A)
    twin.suspend(lambda: trie.replace(A, "new"), 1)
    assert trie[A] == "new"
    assert twin.nodes.load(twin.nodes.load(inode_of(twin, trie, A))) is None


KEYS = (A, A3, B, T1, T3)  # of these, A3, B and T3 are absent; the path of T3 ends in an L-node
READS: list[Callable[[Any], Any]] = [
    lambda m: [(m.get(k), k in m, bool(m)) for k in KEYS],
    lambda m: [(m.replace_if(k, "other", "new"), m.remove_if(k, "other")) for k in KEYS],
]
WRITES: list[Callable[[Any], Any]] = [
    lambda m: [(m.put_if_absent(k, "new"), m.setdefault(k, "new")) for k in (A, T1)],
    lambda m: [(m.pop(k, None), m.replace(k, "new")) for k in (A3, B, T3)],
]
READS_OF_ALL: list[Callable[[Any], Any]] = [len, list, bool, dict, lambda m: T3 in m, lambda m: m.keys()]


def test_what_changes_nothing_changes_no_slot(twin: Twin) -> None:
    """A lookup copies nothing, even after a snapshot."""
    for bump in (None, *BUMPS.values()):
        for operation in READS if bump else READS + WRITES:
            trie = filled(twin, A, A2, T1, T2)
            if bump:
                bump(trie)
            assert twin.changes(lambda trie=trie, operation=operation: operation(trie)) == 0
    for read in READS_OF_ALL:
        frozen = filled(twin, A, A2, T1, T2).readonly_snapshot()
        assert twin.changes(lambda frozen=frozen, read=read: read(frozen)) == 0


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


ATTEMPTS: list[tuple[Callable[[Any], Any], int]] = [
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
]


@pytest.mark.parametrize("bump", BUMPS)
def test_without_contention_nothing_is_tried_twice(twin: Twin, bump: str, monkeypatch: pytest.MonkeyPatch) -> None:
    edits: Any = twin.modules[EDITS]
    attempt, made = edits._attempt, []
    monkeypatch.setattr(edits, "_attempt", lambda root, edit: made.append(edit) or attempt(root, edit))
    for operation, attempts in ATTEMPTS:
        trie = filled(twin, A, A2, T1, T2)
        BUMPS[bump](trie)
        made.clear()
        operation(trie)
        assert len(made) <= attempts
        trie.check()


def restarted(twin: Twin, operation: Callable[[Any], Any]) -> None:
    trie = filled(twin, A, A2)

    def write(access: int) -> None:
        if access < 12_000:  # more restarts than the interpreter allows nested calls
            trie[A] = access

    twin.interfere(lambda: operation(trie), write)
    trie.check()


def test_restarts_do_not_deepen_the_stack(twin: Twin) -> None:
    for operation in (
        lambda m: m.__setitem__(A, "mine"),
        lambda m: m.pop(A, None),
        lambda m: m.compute(A, lambda value: "mine"),
        lambda m: m.snapshot(),
        lambda m: m.clear(),
    ):
        restarted(twin, operation)


# ------------------------------------------------------------------------------------------------------------ tombs


def test_whoever_meets_a_tomb_that_was_not_cleared_reads_past_it(twin: Twin) -> None:
    for removed, survivor, third in ((A, A2, A3), (T1, T2, T3)):  # in a C-node, in an L-node
        trie = left_with_tomb(twin, removed, survivor, B)
        for reader in (trie, trie.snapshot(), trie.readonly_snapshot()):
            assert reader[Key(*survivor)] == "old"  # by an equal key
            assert [removed in reader, third in reader] == [False, False]
            assert dict(reader.items()) == {survivor: "old", B: "old"}
            assert (set(reader), len(reader)) == ({survivor, B}, 2)
            assert sorted(pair for part in reader.split(3) for pair in part) == sorted([(survivor, "old"), (B, "old")])
        trie = left_with_tomb(twin, removed, survivor)
        iterator = iter(trie)
        assert next(iterator) == survivor
        del iterator  # it may be dropped in the tomb
        assert list(trie) == [survivor]
        trie.check()


def test_a_write_at_a_tomb_that_was_not_cleared_happens(twin: Twin) -> None:
    for removed, survivor, third in ((A, A2, A3), (T1, T2, T3)):
        for k in (removed, survivor, third):
            trie = left_with_tomb(twin, removed, survivor, B)
            assert trie.put_if_absent(k, "new") == ("old" if k == survivor else None)
            trie[k] = "newest"
            assert trie[k] == "newest"
            assert set(trie) == {survivor, B, k}
            assert "'T'" not in str(trie._shape())
            trie.check()
        trie = left_with_tomb(twin, removed, survivor)
        assert trie.pop(survivor) == "old"
        assert trie._shape() == ("C",)
        trie.check()


def test_the_key_of_a_tomb_is_compared_as_the_trie_compares(twin: Twin) -> None:
    for removed, survivor in ((A, A2), (T1, T2)):
        trie = twin.Ctrie(hash=hash_of, equal=lambda one, other: one.name.lower() == other.name.lower())
        trie[removed] = trie[survivor] = "old"
        twin.suspend(lambda trie=trie, removed=removed: trie.pop(removed), 2)
        shouted = Key(survivor.name.upper(), survivor.hash)
        assert trie.readonly_snapshot()[shouted] == "old"
        assert trie.replace_if(shouted, "old", "new")
        assert dict(trie.items()) == {survivor: "new"}


# ------------------------------------------------------------------------------------------------- faults put back


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
            lambda twin: restarted(twin, lambda m: m.__setitem__(A, "mine")),
        ),
        (
            Fault("iteration passes over tombs", NODES, "return () if tn.sn is None else (tn.sn,)", "return ()"),
            test_whoever_meets_a_tomb_that_was_not_cleared_reads_past_it,
        ),
        (
            Fault(
                "lookup in tombs is by identity",
                DESCENT,
                "tn.sn is not None and same_key(tn.sn, key, hash, equal)",
                "tn.sn is not None and tn.sn.key is key",
            ),
            test_whoever_meets_a_tomb_that_was_not_cleared_reads_past_it,
        ),
        (
            Fault(
                "lookup in tombs ignores the trie's equality",
                DESCENT,
                "tn.sn is not None and same_key(tn.sn, key, hash, equal)",
                "tn.sn is not None and same_key(tn.sn, key, hash, None)",
            ),
            test_the_key_of_a_tomb_is_compared_as_the_trie_compares,
        ),
        (
            Fault(
                "a write that meets a tomb is dropped",
                EDITS,
                "            _bury(root, edit, main)  # type: ignore[arg-type]\n            return RESTART",
                "            _bury(root, edit, main)\n            edit.found = None\n            return DONE",
            ),
            test_a_write_at_a_tomb_that_was_not_cleared_happens,
        ),
        (
            Fault(
                "an absent key's removal rewrites the L-node",
                EDITS,
                "    added = _created(edit)\n    if added is None:\n        return DONE\n    return _commit(root, edit, ln,",
                "    added = _created(edit)\n    if added is None:\n        return _commit(root, edit, ln, new_lnode(ln.entries))\n    return _commit(root, edit, ln,",
            ),
            test_what_changes_nothing_changes_no_slot,
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else "",
)
def test_the_fault_is_noticed(fault: Fault, test: Callable[[Twin], None]) -> None:
    with pytest.raises((AssertionError, AttributeError, KeyError, RecursionError)):
        test(load_twin(fault))
