"""Judges the parts of a large history in several processes. The answer is the same as from one process.

The parts are assigned before the processes begin, the largest first. Each process takes turns among its parts, in the
order in which a single process would take turns among all. So the process that refutes a part at the earliest turn has
found what a single process would have found. Once a part is refuted, the other processes continue only up to that turn.
Only the number of the part is sent. The caller judges that part again, since states are users' objects, which may not
be picklable.

Steps are counted together, and each process may grow by its share of the memory. Processes must be forked, because then
they inherit the history without a copy.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from ctypes import c_longlong
from typing import NamedTuple

from stress.processes import Died, Tally, Team, Worker, WorkFailed
from stress.verdicts import Verdict

__all__ = ["Elsewhere", "Told", "can_fork", "deal", "judge"]

Turn = tuple[int, int, tuple[int, ...]]
"""The key by which turns are ordered: the share of steps, the number of operations, the number of the search."""


class Told(NamedTuple):
    """The finding of a process: the number of the part that it refuted, and the turn."""

    verdict: Verdict
    part: int = -1
    turn: Turn = (0, 0, ())
    spent: str = ""


class Elsewhere(Tally):
    """The progress of the processes of a team: the steps that they have made, and the turns at which they have refuted
    parts.
    """

    def __init__(self, processes: int) -> None:
        super().__init__(["steps"], processes)
        self._refuted = [multiprocessing.RawArray(c_longlong, 2) for _ in range(processes)]

    def refuted_at(self, process: int, turn: Turn) -> None:
        """Note that a process has refuted a part."""
        self._refuted[process][1] = turn[1]
        self._refuted[process][0] = turn[0]

    def is_late(self, turn: Turn) -> bool:
        """Whether a process has refuted a part at an earlier turn."""
        return any(share and turn[:2] > (share, operations) for share, operations in self._refuted)


def can_fork() -> bool:
    """Whether processes can be forked, which then inherit the memory of this one."""
    return "fork" in multiprocessing.get_all_start_methods() and not multiprocessing.current_process().daemon


def deal(sizes: Sequence[int], processes: int) -> list[list[int]]:
    """The numbers of the parts for each process: the largest part first, each to the process with the least work."""
    dealt: list[list[int]] = [[] for _ in range(processes)]
    loads = [0] * processes
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        least = loads.index(min(loads))
        dealt[least].append(number)
        loads[least] += sizes[number]
    return dealt


def judge(
    dealt: Sequence[Sequence[int]], take: Callable[[int, Sequence[int], Elsewhere], Told]
) -> tuple[Told, int] | None:
    """The findings of `take(process, numbers of parts, elsewhere)`, called in as many processes as there are lots, and
    the number of steps. None if a process failed; the caller then repeats the work without processes.
    """
    elsewhere = Elsewhere(len(dealt))
    told: list[Told] = []
    try:
        with Team(len(dealt), _work, dealt, take, elsewhere) as team:
            for message in team.messages():
                if isinstance(message, Died):
                    return None
                if message is not None:
                    told.append(message)
    except WorkFailed:
        return None
    refuted = [each for each in told if each.verdict is Verdict.ILLEGAL]
    if refuted:
        return min(refuted, key=lambda each: each.turn), elsewhere.value("steps")
    undecided = [each for each in told if each.verdict is Verdict.UNKNOWN]
    return (undecided or [Told(Verdict.LINEARIZABLE)])[0], elsewhere.value("steps")


def _work(worker: Worker, dealt: Sequence[Sequence[int]], take: Callable[..., Told], elsewhere: Elsewhere) -> None:
    worker.note(f"{len(dealt[worker.number])} parts of a history")
    worker.send(take(worker.number, dealt[worker.number], elsewhere))
