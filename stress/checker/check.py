"""The checker: is there an order of the operations that respects real time and that the specification allows?

The parts of the method, each sound by itself:

1. `components`: the history is split into parts that share no element; each is judged by itself.
2. `search`: each part is searched for a linearization, the cheapest first, in turns of growing length, until a part is
   found that has none.
3. A glance: for a part that its first turn did not decide, some specifications know a narrower object that is quick to
   search and whose linearizations are a proof, or an excerpt on a few elements that may refute the part. And a part
   falls into smaller ones without the reads that join elements; each of these may refute it, too.
4. Budgets: a history that cannot be decided within the steps, seconds and memory allowed is `UNKNOWN`, never
   `LINEARIZABLE`.
"""

from __future__ import annotations

import mmap
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Final

from stress.alike import are_mixed
from stress.checker.components import Component, components, universe_of
from stress.checker.search import Ending, Search, first_share
from stress.frozen_states import frozen_state, judged
from stress.history import History, Operation, refuse_other_things, refuse_two_at_once
from stress.spec import EVERYTHING, Element, Excerpt, Spec, State
from stress.spec_check import as_instance, check_spec
from stress.verdicts import Verdict as Verdict  # whose home this is for users

_PAGES_A_MEGABYTE: Final = 2**20 / mmap.PAGESIZE


@dataclass(frozen=True)
class Budget:
    """The most that a judgement may cost: steps of the search (about a million a second), seconds, and the megabytes by
    which this process may grow (a step may take half a kilobyte).
    """

    steps: int = 10_000_000
    seconds: float = 120.0
    megabytes: float = 400.0


@dataclass(frozen=True)
class Failure:
    """A part of a history that has no linearization: its operations, their start states, and the point where the search
    ended.

    `elements` are the elements that the part touches (None: the whole history). `projected`: the operations are what
    the recorded ones say about these elements alone. `initial` are the possible states at the start. `trail` gives, for
    `segment`, which cannot be crossed, and for some segments before it, the states in which they can be entered; see
    `stress.checker.search.Ending`.
    """

    operations: tuple[Operation, ...]
    initial: tuple[State, ...]
    elements: tuple[Element, ...] | None
    projected: bool
    segment: int
    trail: tuple[tuple[int, list[State]], ...]


@dataclass(frozen=True)
class Judgement:
    """A verdict and its cost. True only if the history is linearizable."""

    verdict: Verdict
    operations: int
    components: int
    steps: int
    seconds: float
    failure: Failure | None = field(default=None, repr=False)
    spent: str = ""
    """The part of the budget that was used up, if the verdict is `UNKNOWN`."""

    @property
    def types_count(self) -> bool:
        """Whether the states of the failure are told apart by the types of what they hold."""
        return self.failure is not None and any(getattr(state, "typed", False) for state in self.failure.initial)

    def __bool__(self) -> bool:
        return self.verdict is Verdict.LINEARIZABLE


def check(
    history: History | Iterable[Operation],
    spec: Spec,
    *,
    starts: Iterable[State] | None = None,
    budget: Budget | None = None,
) -> Judgement:
    """Judge a history against a specification.

    Args:
        history: the recorded operations.
        spec: the sequential object that it must behave like.
        starts: the states that the object may have had at the start; by default `spec.initial` alone.
        budget: the most it may cost; beyond it the verdict is `UNKNOWN`.

    Returns:
        the judgement. It is exact unless it is `UNKNOWN`.

    Raises:
        HistoryError: a thread is in two calls at once, or something is no operation, or not hashable.
        SpecError: the specification contradicts itself (`spec_check`), or a step of it fails.

    Complexity: linear for few overlapping operations a component, exponential in their number at worst.

    >>> from stress import Counter, Operation
    >>> lost = [Operation(0, 0, 1, 4, "increment", (), 1), Operation(1, 1, 2, 3, "increment", (), 1)]
    >>> check(lost, Counter()).verdict
    <Verdict.ILLEGAL: 'NOT linearizable'>
    """
    operations = list(history)
    given = None if starts is None else list(starts)
    refuse_other_things(operations)
    refuse_two_at_once(operations)
    mixed = are_mixed(value for each in operations for value in each.args)
    return judged(as_instance(spec), lambda its: _check(operations, its, given, budget or Budget()), typed=mixed)


def _check(operations: Sequence[Operation], spec: Spec, given: Sequence[State] | None, budget: Budget) -> Judgement:
    began = time.monotonic()
    starts = [spec.initial] if given is None else [frozen_state(spec, each, "a start state") for each in given]
    check_spec(spec, operations, starts)
    parts = components(operations, spec, starts)
    verdict, failure, steps, spent = _Turns(spec, budget, began).take(parts)
    return Judgement(verdict, len(operations), len(parts), steps, time.monotonic() - began, failure, spent)


def is_linearizable(operations: Sequence[Operation], spec: Spec, starts: Sequence[State] | None = None) -> bool:
    """Whether a small history is linearizable: without components, without a budget. For an explorer, which judges many
    tiny histories.
    """
    refuse_other_things(operations)

    def judge(its: Spec) -> bool:
        begins = [its.initial] if starts is None else [frozen_state(its, each, "a start state") for each in starts]
        ending = Search(operations, its, begins).advance(sys.maxsize)
        return ending is not None and ending.linearizable

    return judged(as_instance(spec), judge)


def megabytes_in_use() -> float:
    """The memory that this process uses, as Linux reports it. Elsewhere 0: memory is not limited."""
    try:
        with open("/proc/self/statm", "rb") as sizes:
            return int(sizes.read().split()[1]) / _PAGES_A_MEGABYTE
    except FileNotFoundError:
        return 0.0


_Answer = tuple[Verdict, Failure | None, int, str]
"""The verdict, the refutation, the number of steps, and the part of the budget that was used up."""


class _Trial(Search):
    """A search that takes turns with others."""

    def __init__(self, part: Component, spec: Spec, *, proves: bool = True) -> None:
        super().__init__(part.operations, spec, part.starts)
        self.part = part
        self.proves = proves
        """Whether linearizability of these operations proves anything. That of some of a part does not."""
        self.share = self.first_share = first_share(part.operations, spec)
        """The steps of the next turn; doubled after each."""

    def __lt__(self, other: _Trial) -> bool:
        """Whether its turn comes first: the shortest share, then the fewest operations."""
        return (self.share, len(self.operations)) < (other.share, len(other.operations))


class _Turns:
    """Takes turns among searches, the shortest share first, and stops at the first part without a linearization."""

    def __init__(self, spec: Spec, budget: Budget, began: float) -> None:
        self._spec, self._budget = spec, budget
        self._deadline = began + budget.seconds
        self._most_megabytes = megabytes_in_use() + budget.megabytes
        self._queue: list[_Trial] = []
        self._unproved = 0
        self.steps = 0

    def take(self, parts: Sequence[Component]) -> _Answer:
        self._queue = [_Trial(part, self._spec) for part in parts]
        heapify(self._queue)
        self._unproved = len(parts)
        while self._unproved:
            spent = self._spent()
            if spent:
                return Verdict.UNKNOWN, None, self.steps, spent
            failure = self._turn(heappop(self._queue))
            if failure is not None:
                return Verdict.ILLEGAL, failure, self.steps, ""
        return Verdict.LINEARIZABLE, None, self.steps, ""

    def _spent(self) -> str:
        """The part of the budget that is used up; empty if none is."""
        if self.steps >= self._budget.steps:
            return f"{self._budget.steps:,} steps"
        if time.monotonic() >= self._deadline:
            return f"{self._budget.seconds:,g} seconds"
        return f"{self._budget.megabytes:,g} MB" if megabytes_in_use() >= self._most_megabytes else ""

    def _advanced(self, search: Search, share: int) -> Ending | None:
        """The ending of a search that was continued for this share, or for the rest of the budget."""
        before = search.steps
        ending = search.advance(min(share, self._budget.steps - self.steps), self._spent)
        self.steps += search.steps - before
        return ending

    def _turn(self, trial: _Trial) -> Failure | None:
        """Continue one search for its share; return the failure if the history is refuted."""
        part, share = trial.part, trial.share
        ending = self._advanced(trial, share)
        if ending is not None:
            self._unproved -= trial.proves
            return None if ending.linearizable else _failure(part, ending)
        if trial.proves and share == trial.first_share:
            seen = [self._spec.glance(part.operations, start) for start in part.starts]
            if any(self._is_found_in(each, part, share) for each in seen if isinstance(each, Spec)):
                self._unproved -= 1
                return None
            smaller = self._without_wide_reads(part)
            for excerpt in (each for each in seen if isinstance(each, Excerpt)):
                starts = [self._spec.restrict(state, excerpt.elements) for state in part.starts]
                smaller.append(Component(excerpt.operations, starts, list(excerpt.elements), projected=True))
            for its in smaller:
                heappush(self._queue, _Trial(its, self._spec, proves=False))
        trial.share *= 2
        heappush(self._queue, trial)
        return None

    def _without_wide_reads(self, part: Component) -> list[Component]:
        """The parts into which a part falls without the reads that join elements. These reads change nothing, so the
        rest of a linearization is one.
        """
        spec, universe = self._spec, universe_of(part.operations, self._spec, part.starts)
        narrow = [
            each
            for each in part.operations
            if not spec.is_read_only(each.op, each.args, each.result)
            or ((footprint := spec.footprint(each, universe)) is not EVERYTHING and len(footprint) < 2)
        ]
        found = components(narrow, spec, part.starts)
        return found if len(found) > 1 else []

    def _is_found_in(self, narrower: Spec, part: Component, share: int) -> bool:
        """Whether a narrower object than the judged one explains a part."""
        ending = self._advanced(Search(part.operations, narrower, [narrower.initial]), 4 * share)
        return ending is not None and ending.linearizable


def _failure(part: Component, ending: Ending) -> Failure:
    elements = None if part.elements is None else tuple(part.elements)
    return Failure(tuple(part.operations), tuple(part.starts), elements, part.projected, ending.segment, ending.trail)
