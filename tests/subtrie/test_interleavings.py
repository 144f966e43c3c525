"""Every pair of subscription operations, on every start that matters, with a thread switch at every access.

The first operation is held before its k-th access of a slot, for every k that can make a difference; another thread
runs one operation to its end; then the first continues. subtrie_support.py describes the allowed outcomes. The last
section puts faults into the source, one at a time. Each must be noticed in the same manner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stress.tries.mutants.catalogue import RENEWAL, RENEWAL_OF_ALL
from tests.schedule import Fault, Twin, share
from tests.subtrie.support import (
    OPERATIONS,
    Case,
    On,
    Start,
    Step,
    explained,
    explore,
    filled,
    runs,
    subscription_twin,
)

pytestmark = pytest.mark.once  # the same interpreted source, in one thread, whatever twin the tests run

# ------------------------------------------------------------------------------------------------------------- starts

A, AB, AC, ABC, ABD, ABCD = On("a"), On("a.b"), On("a.c"), On("a.b.c"), On("a.b.d"), On("a.b.c.d")
STAR, HASH = On("*.b"), On("#")
CROWD = [On("a.b", f"s{n}") for n in range(9)]


def after_snapshot(*subscriptions: On) -> Callable[[Twin], Any]:
    """All I-nodes below the root are of an older generation than the root."""

    def build(twin: Twin) -> Any:
        trie = filled(*subscriptions)(twin)
        trie.snapshot()
        return trie

    return build


def mixed_generations(twin: Twin) -> Any:
    """The level below `a` and the I-node of `deep1` and `deep2` are of the root's generation. The level below `b` and
    the I-node of `s1` and `s2` are of an older one (ctrie's invariant I3)."""
    trie = after_snapshot(On("b.c"), On("b.a"), On("d"), On("s1"), On("s2"))(twin)
    trie.unsubscribe("d", "x")  # now the first C-node is of the root's generation, but its children are not
    for filter in ("a.b", "a.d", "deep1", "deep2"):
        trie.subscribe(filter, "x")
    return trie


def suspended(on: On, after_change: int, *subscriptions: On) -> Callable[[Twin], Any]:
    """A thread that removes `on` has been suspended for ever after its change number `after_change`."""

    def build(twin: Twin) -> Any:
        trie = filled(*subscriptions)(twin)
        assert twin.schedule.suspend(lambda: trie.unsubscribe(*on), after_change)
        return trie

    return build


STARTS = {
    "empty": Start(filled(), "a.b", [(AB, AB), (AB, AC), (AB, A)]),
    "one filter": Start(filled(AB), "a.b", [(AB, AB), (AB, AC), (AB, A), (AC, AB), (ABC, AB)]),
    "two levels about to go": Start(filled(ABC), "a.b.c", [(ABC, ABC), (ABC, AC), (ABC, AB), (AC, ABC)]),
    "a chain": Start(filled(ABCD), "a.b.c.d", [(ABC, ABCD), (AB, ABC), (ABD, AC), (On("a.b.c.d.b"), ABCD)]),
    "a chain above a level": Start(filled(ABC, ABD), "a.b.c", [(ABC, AB), (AC, ABC), (A, ABD), (ABC, ABD)]),
    "a chain below a chain": Start(filled(ABCD, AC), "a.b.c.d", [(AC, ABC), (ABCD, AC), (AB, AC)]),
    "wildcards in a chain": Start(
        filled(On("a.*.c"), On("a.#.c", "y")), "a.b.c", [(On("a.*.c"), ABC), (ABC, On("a.*"))]
    ),
    "a subscriber above": Start(filled(A, AB), "a", [(AB, A), (A, AB), (AB, AB), (AC, A)]),
    "a subscriber above a level above": Start(filled(A, ABC, ABD), "a.b.c", [(ABC, A), (A, ABD), (ABC, ABD)]),
    "a neighbour below": Start(filled(AB, AC), "a.b", [(AB, AC), (AC, AB), (AB, A), (A, AC)]),
    "a subscriber above a neighbour": Start(filled(A, AB, AC), "a.b", [(A, AB), (AB, A)]),
    "a neighbour leads on": Start(filled(AB, On("a.c.b"), On("a.c.d")), "a.b", [(AB, On("a.c.b")), (On("a.c.d"), AB)]),
    "wildcards": Start(filled(STAR, HASH), "a.b", [(AB, STAR), (STAR, AB), (HASH, AB)]),
    "words about to part": Start(
        filled(On("s1"), On("a.s1")), "a.s1", [(On("s2"), On("s3")), (On("a.s2"), On("a.s1"))]
    ),
    "words about to meet": Start(
        filled(On("s1.b"), On("s2"), On("a.s1"), On("a.s2")),
        "s1.b",
        [(On("s1.b"), On("s2")), (On("s2"), On("s1.c")), (On("a.s1"), On("a.s2"))],
    ),
    "words that part late": Start(
        filled(On("deep1")), "deep1", [(On("deep2"), On("deep3")), (On("deep2"), On("deep1"))]
    ),
    "words that meet late": Start(
        filled(On("a.deep1"), On("a.deep2")),
        "a.deep1",
        [(On("a.deep1"), On("a.deep2")), (On("a.deep2"), On("a.deep3"))],
    ),
    "words of one hash": Start(
        filled(On("t1.b"), On("t2")), "t1.b", [(On("t1.b"), On("t2")), (On("t3"), On("t1.b")), (On("t1.b"), On("t1.c"))]
    ),
    "after a snapshot": Start(after_snapshot(AB, AC, On("s1"), On("s2")), "a.b", [(AB, AC), (AB, On("s1")), (ABC, A)]),
    "mixed generations": Start(
        mixed_generations,
        "a.b",
        [(On("b.d"), AC), (On("s3"), On("deep3")), (AB, On("b.c")), (On("deep1"), On("s1"))],
    ),
    "eight subscribers": Start(filled(*CROWD[:8]), "a.b", [(CROWD[8], CROWD[0])]),
    "nine subscribers": Start(filled(*CROWD), "a.b", [(CROWD[8], CROWD[0])]),
    "two subscribers": Start(filled(AB, On("a.b", "y")), "a.b", [(AB, On("a.b", "y")), (AB, AB)]),
    "left with a pending removal": Start(suspended(AB, 1, AB), "a.b", [(AB, AC), (AC, AB), (A, AC)], AB),
    "left with a pending tomb": Start(suspended(AB, 1, A, AB), "a.b", [(AB, AC), (AC, AB), (A, AC)], AB),
    "left with a tomb": Start(suspended(AB, 2, A, AB), "a.b", [(A, AC), (AC, A), (AB, A)], AB),
    "left with a level to roll up": Start(suspended(AB, 2, AB, AC), "a.c", [(A, AC), (AC, A), (AC, AB)], AB),
    "left with a pending last tomb": Start(suspended(AB, 3, AB, AC), "a.c", [(A, AC), (AC, A), (AC, AB)], AB),
    "left with a last tomb": Start(suspended(AB, 4, AB, AC), "a.c", [(A, AC), (AC, A), (AC, AB)], AB),
    "left with a last tomb of a wildcard": Start(
        suspended(AB, 4, AB, On("a.*"), On("*.b", "y")), "a.c", [(A, AC), (On("a.*"), A)], AB
    ),
}


# --------------------------------------------------------------------------------------------------------- the matrix


def cases(start: str) -> list[Case]:
    return [
        Case(STARTS[start], Step(first, one), ((Step(second, other),),))
        for first in OPERATIONS
        for second in OPERATIONS
        for one, other in STARTS[start].pairs
    ]


LONG = {
    "words that meet late",
    "words that part late",
    "words of one hash",
    "after a snapshot",
    "left with a pending tomb",
}


@pytest.mark.parametrize("start", [pytest.param(s, marks=pytest.mark.slow) if s in LONG else s for s in STARTS])
def test_two_operations(start: str) -> None:
    twin = subscription_twin()
    chosen = share(cases(start))
    assert chosen
    for case in chosen:
        assert explore(twin, case) > 0


def test_a_snapshot_amid_a_prune_is_sound() -> None:
    """It may hold a tomb for ever, and a branch that leads only there. That is not a fault, and adds no filter."""
    case = Case(STARTS["one filter"], Step("unsubscribe", AB), ((Step("snapshot", AB),),))
    for _, (_, cut), where in runs(subscription_twin(), case):
        with explained(where):
            cut.trie.check()
            stats = cut.trie.stats()
            assert (stats["filters"], stats["depth"]) == ((1, 2) if cut.shown else (0, 0))


# ------------------------------------------------------------------------------------------------- faults put back


NODES = "ctrie._nodes"
BRANCH = "subtrie._trie.branch"

# Each fault has the start that shows it.
FAULTS = [
    (
        Fault(
            "a level that has emptied is not tombed",
            NODES,
            "    if size == 0:\n        return new_tnode(None)\n",
            "    if size == 0:\n        return cn\n",
        ),
        "a subscriber above",
    ),
    (
        Fault(
            "a subscribe writes into a level that has been tombed and is about to be pruned",
            NODES,
            "        else:\n            _bury(root, edit, main)",
            "        elif not edit.settled and main.sn is None and (added := _created(edit)) is not None:\n"
            "            flag = flag_at(edit.hash, 0)\n"
            "            return _commit(root, edit, main, new_cnode(flag, (added,)))\n"
            "        else:\n            _bury(root, edit, main)",
        ),
        "left with a tomb",
    ),
    (
        Fault(
            "whoever empties a level leaves its tomb where it is",
            NODES,
            "    edit.settled = True\n    return RESTART",
            "    return DONE",
        ),
        "a subscriber above",
    ),
    (
        Fault(
            "whoever leaves a level with one branch leaves it at that",
            NODES,
            "    if not (isinstance(new, TNode) or edit.emptied or _is_one_snode(edit, new)):",
            "    if not (isinstance(new, TNode) or edit.emptied):",
        ),
        "a neighbour below",
    ),
    (
        Fault(
            "whether somebody is subscribed above is not looked at again",
            NODES,
            "edit.emptied or _is_one_snode(edit, new)):",
            "edit.emptied or _is_one_snode(edit, new) and edit.rolls_up()):",
        ),
        "a subscriber above a neighbour",
    ),
    (
        Fault(
            "the last subscriber above a level with one branch leaves it at that",
            NODES,
            "    if not (isinstance(new, TNode) or edit.emptied or _is_one_snode(edit, new)):",
            "    if not (isinstance(new, TNode) or _is_one_snode(edit, new)):",
        ),
        "a subscriber above",
    ),
    (
        Fault(
            "branches are joined over the subscribers between them",
            BRANCH,
            "        if is_wanted(self):  # there is a subscriber",
            "        if False:  # there is a subscriber",
        ),
        "left with a last tomb",
    ),
    (
        Fault(
            "a last branch goes with its level",
            BRANCH,
            "        if last is None:",
            "        if True:",
        ),
        "a neighbour below",
    ),
    (
        Fault(
            "a chain that parts loses its subscribers",
            BRANCH,
            "lower_hash, subscribers_of(branch), branch.next)",
            "lower_hash, None, branch.next)",
        ),
        "a chain",
    ),
    (
        Fault(
            "a chain that parts takes a copy of its level down",
            BRANCH,
            "lower_hash, subscribers_of(branch), branch.next)",
            "lower_hash, subscribers_of(branch), branch.next and"
            " new_inode(new_inode.__globals__['load'](branch.next), self.inode.gen))",
        ),
        "a chain above a level",
    ),
    (
        Fault(
            "of a tomb with a branch, a match sees nothing",
            "subtrie._trie.match.traversal",
            "    return THROUGH if node is borrow(None) else",
            "    return THROUGH if True else",
        ),
        "left with a last tomb",
    ),
    (
        Fault(
            "a prune takes whatever level it finds",
            BRANCH,
            "        if self.next is not edit.inode:\n            return self\n",
            "",
        ),
        "a subscriber above",
    ),
    (
        Fault(
            "a prune takes the subscribers along",
            BRANCH,
            "            return changed_branch(self, subscribers_of(self), None) if is_wanted(self) else None",
            "            return None",
        ),
        "a subscriber above",
    ),
    (
        Fault(
            "the last subscriber takes the longer filters along",
            BRANCH,
            "        if left is None and branch.next is None:",
            "        if left is None:",
        ),
        "a subscriber above",
    ),
    (
        Fault(
            "a branch without subscribers stays",
            BRANCH,
            "        if left is None and branch.next is None:\n            return None\n",
            "",
        ),
        "one filter",
    ),
    (
        Fault(
            "a branch that is renewed keeps the old level",
            BRANCH,
            "        return changed_branch(self, subscribers_of(self), level)\n",
            "        return self\n",
        ),
        "after a snapshot",
    ),
    (
        Fault("renewal copies what is of the present generation", NODES, RENEWAL, RENEWAL_OF_ALL),
        "mixed generations",
    ),
    (
        Fault(
            "a fork shares the generation of its source",
            NODES,
            "    return new_root(new_inode(gcas_read(new_root(old, True), old), Gen()), False)",
            "    return new_root(rdcss_read_root(root), False)",
        ),
        "one filter",
    ),
    (
        Fault(
            "a commit does not look at the root's generation",
            NODES,
            "    return is_present(root, inode) and not root.readonly",
            "    return True",
        ),
        "one filter",
    ),
]


@pytest.mark.parametrize(("fault", "start"), [pytest.param(*fault, id=fault[0].name) for fault in FAULTS])
def test_the_suite_notices(fault: Fault, start: str) -> None:
    twin = subscription_twin(fault)
    with pytest.raises(AssertionError):
        for case in cases(start):
            explore(twin, case)
