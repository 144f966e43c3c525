"""The search for a linearization of the operations of one component, segment by segment.

A *segment* is a stretch of operations between two instants at which no operation was running (quiescent cuts).
`Search` carries the set of possible states of the object from one segment to the next. Most segments are small and are
walked to the end. A wide one yields its first end states and is suspended; the search returns to it only if those
states lead nowhere.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from stress.checker.segment import PAUSE, SLICE, EndStates, Segment
from stress.history import Operation
from stress.spec import Spec, State

_FIRST_SHARE: Final = 4096
"""The least number of steps in the first share of a search."""
_STEPS: Final = 16
"""The same for each operation, ..."""
_STEPS_BEFORE_A_GLANCE: Final = 4
"""... if the specification has a `glance`, which may decide what a long search cannot. While few operations overlap, a
search takes fewer steps.
"""

_TRAIL: Final = 64


def first_share(operations: Sequence[Operation], spec: Spec) -> int:
    """The number of steps that a search may take before others have their turn."""
    each = _STEPS if type(spec).glance is Spec.glance else _STEPS_BEFORE_A_GLANCE
    return max(_FIRST_SHARE, each * len(operations))


def segments(operations: Iterable[Operation]) -> list[list[Operation]]:
    """The operations by time of call, cut wherever no operation was running. There is no cut after a pending
    operation."""
    cut: list[list[Operation]] = []
    busy_until: float = float("-inf")
    for operation in sorted(operations, key=lambda each: each.call):
        if operation.call > busy_until:
            cut.append([])
        cut[-1].append(operation)
        busy_until = max(busy_until, float("inf") if operation.returned is None else operation.returned)
    return cut


@dataclass
class Ending:
    """The end of a search: `linearizable`, or the number of the first segment that cannot be crossed.

    `trail` gives, for that segment and some before it, all states in which it can be entered. It ends earlier if not
    all of them are known.
    """

    linearizable: bool
    segment: int = -1
    trail: tuple[tuple[int, list[State]], ...] = ()


@dataclass
class _Crossing:
    """A segment that is being crossed: its unfinished walks, and the end states that they have yielded so far."""

    level: int
    segment: Segment
    walks: list[EndStates]
    found: set[State] = field(default_factory=set)


def _never() -> bool:
    return False


class Search:
    """The search through the operations of one component. Call `advance` until it returns an ending."""

    def __init__(
        self,
        operations: Sequence[Operation],
        spec: Spec,
        starts: Iterable[State],
        *,
        relaxed: bool = False,
    ) -> None:
        self.spec, self.operations = spec, operations
        self.starts = list(dict.fromkeys(starts))
        self.relaxed = relaxed
        self.steps = 0
        self._walk = self._find()

    def advance(self, steps: int, is_over: Callable[[], object] = _never) -> Ending | None:
        """Continue the search for about `steps` steps, or until `is_over`, which is asked every few hundred steps,
        returns true; None if that did not decide.
        """
        stop_at = self.steps + steps
        try:
            while self.steps < stop_at and not is_over():
                next(self._walk)
        except StopIteration as end:
            ending: Ending = end.value
            return ending
        return None

    def _find(self) -> Generator[None, None, Ending]:
        levels = segments(self.operations)
        suspended: list[_Crossing] = []
        entered: defaultdict[int, set[State]] = defaultdict(set)
        deepest = -1
        trail: deque[tuple[int, list[State]]] = deque(maxlen=_TRAIL)
        states, level, pause_at = self.starts, 0, SLICE
        while level < len(levels):
            if level > deepest:
                deepest = level
                if not suspended:
                    trail.append((level, states))
            operations, is_last = levels[level], level == len(levels) - 1
            if len(operations) <= 2 and all(each.returned is not None for each in operations):
                alone = len(operations) == 1
                ends = self._cross_alone(operations, states) if alone else self._cross_pair(operations, states)
            else:
                segment = Segment(operations, self.spec, self.relaxed)
                crossing = _Crossing(level, segment, [segment.end_states(state) for state in states])
                ends = yield from self._ends(crossing, first_only=is_last)
                if crossing.walks and not is_last:
                    suspended.append(crossing)
            while not ends:
                if not suspended:
                    return Ending(False, deepest, tuple(trail))
                level = suspended[-1].level
                ends = yield from self._ends(suspended[-1])
                if not suspended[-1].walks:
                    suspended.pop()
            level += 1
            if suspended:  # the states that were entered here before led nowhere
                states = [state for state in ends if state not in entered[level]]
                entered[level].update(states)
            else:
                states = ends
            if self.steps >= pause_at:
                pause_at = self.steps + SLICE
                yield
        return Ending(True)

    def _ends(self, crossing: _Crossing, first_only: bool = False) -> Generator[None, None, list[State]]:
        """End states that were not found before: all of them if that is quick, else some."""
        segment, fresh = crossing.segment, list[State]()
        while crossing.walks:
            before = segment.steps
            for item in crossing.walks[-1]:
                self.steps += segment.steps - before
                before = segment.steps
                if item is PAUSE:
                    if fresh:
                        return fresh
                    yield
                elif item not in crossing.found:
                    crossing.found.add(item)
                    fresh.append(item)
                    if first_only:
                        return fresh
            self.steps += segment.steps - before + 1
            crossing.walks.pop()
        return fresh

    def _cross_alone(self, operations: list[Operation], states: list[State]) -> list[State]:
        _, _, _, _, op, args, result = operations[0]
        self.steps += len(states)
        if len(states) == 1:
            return list(self.spec.successors(states[0], op, args, result))
        return list(dict.fromkeys(after for state in states for after in self.spec.successors(state, op, args, result)))

    def _cross_pair(self, operations: list[Operation], states: list[State]) -> list[State]:
        """Cross two operations that overlap, in either order."""
        successors = self.spec.successors
        self.steps += 4 * len(states)
        ends: dict[State, None] = {}
        for first, second in (operations, reversed(operations)):
            for state in states:
                for between in successors(state, first.op, first.args, first.result):
                    ends.update(dict.fromkeys(successors(between, second.op, second.args, second.result)))
        return list(ends)
