"""Structures of the literature on lock-free and fine-grained programming, each as it should be and with one fault:
`stress.explore` says that the first is right, and finds the second.
"""

from __future__ import annotations

from typing import Any

import pytest

import ctrie
import stress
from stress import Verdict, explore

AtomicReference: Any = ctrie.AtomicReference
pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")


def put_into(reference: Any, value: Any) -> None:
    """Store, as those do who alone may."""
    assert reference.compare_and_set(reference.load(), value)


class MichaelScottQueue:
    """A dummy node in front; the tail may lag behind by one, and whoever sees that moves it."""

    helps = True

    def __init__(self) -> None:
        dummy = (None, AtomicReference(None))
        self.head, self.tail = AtomicReference(dummy), AtomicReference(dummy)

    def put(self, item: Any) -> None:
        node = (item, AtomicReference(None))
        while True:
            last = self.tail.load()
            following = last[1].load()
            if following is not None:
                if self.helps:
                    self.tail.compare_and_set(last, following)
                else:  # forgets what follows
                    last[1].compare_and_set(following, None)
            elif last[1].compare_and_set(None, node):
                self.tail.compare_and_set(last, node)
                return

    def get(self) -> Any:
        while True:
            first, last = self.head.load(), self.tail.load()
            following = first[1].load()
            if following is None:
                return None
            if first is last:
                self.tail.compare_and_set(last, following)
            elif self.head.compare_and_set(first, following):
                return following[0]


class LosesWhatFollows(MichaelScottQueue):
    helps = False


class HarrisList:
    """A sorted list. A node's successor and its mark are one value, so a marked node takes no new successor."""

    marks = True

    def __init__(self) -> None:
        self.head: Any = (None, AtomicReference((None, False)))

    def _search(self, key: int) -> tuple[Any, Any, Any]:
        """The node before, what it refers to, and the node of the key or behind it."""
        while True:
            before = self.head
            link = before[1].load()
            while link[0] is not None:
                node = link[0]
                following = node[1].load()
                if following[1]:  # marked: take it out
                    fresh = (following[0], False)
                    if link[1] or not before[1].compare_and_set(link, fresh):
                        break
                    link = fresh
                elif node[0] >= key:
                    return before, link, node
                else:
                    before, link = node, following
            else:
                return before, link, None

    def add(self, key: int) -> bool:
        while True:
            before, link, node = self._search(key)
            if node is not None and node[0] == key:
                return False
            if not link[1] and before[1].compare_and_set(link, ((key, AtomicReference((node, False))), False)):
                return True

    def remove(self, key: int) -> bool:
        while True:
            before, link, node = self._search(key)
            if node is None or node[0] != key:
                return False
            following = node[1].load()
            if not self.marks:
                if before[1].compare_and_set(link, (following[0], False)):
                    return True
            elif not following[1] and node[1].compare_and_set(following, (following[0], True)):
                return True

    def contains(self, key: int) -> bool:
        _, _, node = self._search(key)
        return node is not None and bool(node[0] == key)


class UnlinksWithoutMark(HarrisList):
    marks = False


class Collects:
    """Two registers with version numbers; a snapshot is two equal collects."""

    versions = True

    def __init__(self) -> None:
        self.cells = [AtomicReference((0, 0)), AtomicReference((0, 0))]

    def write(self, at: int, value: int) -> None:
        while True:
            old = self.cells[at].load()
            if self.cells[at].compare_and_set(old, (value, old[1] + 1 if self.versions else 0)):
                return

    def snapshot(self) -> tuple[int, int]:
        while True:
            one = [cell.load() for cell in self.cells]
            other = [cell.load() for cell in self.cells]
            if one == other:
                return one[0][0], one[1][0]


class CollectsValues(Collects):
    versions = False


class Ring:
    """A bounded queue of cells with turn numbers: a cell says whose turn it is. It calls itself full, or empty, as long
    as one call is under way in the cell that is next, whatever is in the others: that is known of it, and no order of
    the calls explains it.
    """

    def __init__(self) -> None:
        self.cells = [AtomicReference((turn, None)) for turn in range(2)]
        self.puts, self.gets = AtomicReference(0), AtomicReference(0)

    def put(self, item: Any) -> bool:
        while True:
            at = self.puts.load()
            cell = self.cells[at % 2]
            seen = cell.load()
            if seen[0] < at:
                if self.puts.load() == at:
                    return False
            elif self.puts.compare_and_set(at, at + 1):
                put_into(cell, (at + 1, item))
                return True

    def get(self) -> Any:
        while True:
            at = self.gets.load()
            cell = self.cells[at % 2]
            seen = cell.load()
            if seen[0] < at + 1:
                if self.gets.load() == at:
                    return None
            elif self.gets.compare_and_set(at, at + 1):
                put_into(cell, (at + 2, None))
                return seen[1]


class TicketLock:
    """Whoever comes draws a number, and waits until it is called."""

    draws = True

    def __init__(self) -> None:
        self.next, self.called, self.n = AtomicReference(0), AtomicReference(0), 0

    def _draw(self) -> int:
        while True:
            number = self.next.load()
            if not self.draws:
                put_into(self.next, number + 1)
                return int(number)
            if self.next.compare_and_set(number, number + 1):
                return int(number)

    def increment(self) -> int:
        mine = self._draw()
        while self.called.load() != mine:
            pass
        self.n += 1
        n = self.n
        put_into(self.called, mine + 1)
        return n


class DrawsInTwoSteps(TicketLock):
    draws = False


class QueueLock:
    """Each who waits has a flag of his own, which his predecessor clears (Mellor-Crummey and Scott)."""

    looks_again = True

    def __init__(self) -> None:
        self.tail, self.n = AtomicReference(None), 0

    def increment(self) -> int:
        mine = [AtomicReference(True), AtomicReference(None)]
        before = self.tail.load()
        while not self.tail.compare_and_set(before, mine):
            before = self.tail.load()
        if before is not None:
            put_into(before[1], mine)
            while mine[0].load():
                pass
        self.n += 1
        n = self.n
        follower = mine[1].load()
        if follower is None:
            if self.tail.compare_and_set(mine, None):
                return n
            if not self.looks_again:
                return n
            while follower is None:
                follower = mine[1].load()
        put_into(follower[0], False)
        return n


class ForgetsAFollower(QueueLock):
    looks_again = False


class Queued(stress.Spec):
    """A queue of which nobody waits."""

    initial = ()
    room = 10

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "put":
            full = len(state) == self.room
            return (state, False) if full else ((*state, *args), self.told)
        return (state[1:], state[0]) if state else (state, None)

    told: Any = None


class TwoQueued(Queued):
    room = 2
    told = True


class Members(stress.Spec):
    """A set."""

    initial: Any = frozenset()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        match op:
            case "add":
                return state | {*args}, args[0] not in state
            case "remove":
                return state - {*args}, args[0] in state
        return state, args[0] in state


class Cells(stress.Spec):
    """Two registers that are read together."""

    initial = (0, 0)

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "snapshot":
            return state, state
        at, value = args
        return (*state[:at], value, *state[at + 1 :]), None


QUEUED: Any = [[("put", 1), ("get",)], [("put", 2)], [("get",)]]
LISTED: Any = [[("remove", 1), ("contains", 3)], [("add", 2), ("contains", 2)], [("remove", 2)]]
PRESENT: Any = [("add", 1), ("add", 3)]
RUNG: Any = [[("put", 3), ("get",)], [("get",), ("put", 4)]]
ONE_AFTER_THE_OTHER: Any = [("write", 0, 1), ("write", 0, 0), ("write", 1, 1), ("write", 1, 0)]
COLLECTED: Any = [[("snapshot",)], ONE_AFTER_THE_OTHER * 2]
COUNTED: Any = [[("increment",)], [("increment",)], [("increment",)]]


@pytest.mark.once  # some thousand schedules: where threads of the system take turns, a busy machine needs minutes
@pytest.mark.parametrize(
    ("right", "wrong", "spec", "threads", "before"),
    [
        (MichaelScottQueue, LosesWhatFollows, Queued(), QUEUED, []),
        (HarrisList, UnlinksWithoutMark, Members(), LISTED, PRESENT),
        (Collects, CollectsValues, Cells(), COLLECTED, []),
        (TicketLock, DrawsInTwoSteps, stress.Counter(), COUNTED[:2], []),
        (QueueLock, ForgetsAFollower, stress.Counter(), COUNTED[:2], []),
    ],
)
def test_the_fault_is_found_and_the_structure_is_right(
    right: Any, wrong: Any, spec: Any, threads: Any, before: Any
) -> None:
    found = explore(wrong, spec, threads, at_start=before, seed=1)
    assert found.verdict is Verdict.ILLEGAL, found.summary
    said = explore(right, spec, threads, at_start=before, seed=1, preemptions=3)
    assert said.verdict is Verdict.LINEARIZABLE, said.summary


def test_a_ring_that_is_full_for_a_moment_is_no_queue() -> None:
    found = explore(Ring, TwoQueued(), RUNG, at_start=[("put", 1), ("put", 2)], seed=1)
    assert found.verdict is Verdict.ILLEGAL
    assert found.found is not None
    assert "put(4) -> False" in found.report()
