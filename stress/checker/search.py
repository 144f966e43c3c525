"""The search for a linearization of the operations of one component, segment by segment.

A *segment* is a stretch of operations between two instants at which no operation was running (quiescent cuts).
`Search` carries the set of possible states of the object from one segment to the next. Most segments are small and are
walked to the end. A wide one yields its first end states and is suspended; the search returns to it only if those
states lead nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, cast

from stress.checker.segment import PAUSE, SLICE, Pause, Segment
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

    `trail` gives, for that segment and some before it, all states in which it can be entered.
    """

    linearizable: bool
    segment: int = -1
    trail: tuple[tuple[int, list[State]], ...] = ()


class Search:
    """The search through the operations of one component. Call `advance` until it returns an ending."""

    def __init__(self, operations: Sequence[Operation], spec: Spec, starts: Iterable[State]) -> None:
        self.spec, self.operations, self.starts = spec, operations, starts
        self._levels = segments(operations)
        self._spent = [0]
        self._walk = self._find()

    @property
    def steps(self) -> int:
        """The steps that were taken."""
        return self._spent[0]

    def advance(self, steps: int, is_over: Callable[[], object] = bool) -> Ending | None:
        """Continue the search for about `steps` steps, or until `is_over`, which is asked every few hundred steps,
        returns true (`bool` never does); None if that did not decide.
        """
        stop_at = self.steps + steps
        try:
            while self.steps < stop_at and not is_over():
                next(self._walk)
        except StopIteration as end:
            return cast(Ending, end.value)
        return None

    def _find(self) -> Generator[None, None, Ending]:
        entered: dict[int, Iterable[State]] = {}
        """The states in which segments were entered, with the numbers of these segments in order. As long as the search
        cannot come back, the latest are kept.
        """
        suspended: list[tuple[int, Iterator[State | Pause]]] = []
        """Walks through wide segments, and the number of the segment behind each."""
        states, level, last, pause_at = list(dict.fromkeys(self.starts)), 0, len(self._levels), SLICE
        while True:
            while not states:
                if not suspended:
                    return Ending(
                        False, max(entered, default=0), tuple((at, list(its)) for at, its in entered.items())[-_TRAIL:]
                    )
                level, walk = suspended.pop()
                for found in walk:
                    if found is not PAUSE:
                        states.append(found)
                        if level == last:
                            break
                    elif states:
                        suspended.append((level, walk))
                        break
                    else:
                        yield
            if level == last:
                return Ending(True)
            if suspended or level in entered:
                known: Any = entered.setdefault(level, {})
                states = [state for state in dict.fromkeys(states) if state not in known]
                known.update(dict.fromkeys(states))
                if not states:
                    continue
            else:
                entered[level] = states = states if len(states) == 1 else list(dict.fromkeys(states))
            if len(entered) > _TRAIL and not suspended:
                del entered[next(iter(entered))]
            operations = self._levels[level]
            level += 1
            if len(operations) == 1 and operations[0].returned is not None:
                states = self._cross_alone(operations[0], states)
            elif len(operations) == 2 and level < last:
                states = self._cross_pair(operations, states)
            else:
                segment = Segment(operations, self.spec, self._spent)
                suspended.append((level, chain.from_iterable(map(segment.end_states, states))))
                states = []
            if self.steps >= pause_at:
                pause_at = self.steps + SLICE
                yield

    def _cross_alone(self, operation: Operation, states: list[State]) -> list[State]:
        _, _, _, _, op, args, result = operation
        self._spent[0] += len(states)
        if len(states) == 1:
            return list(self.spec.successors(states[0], op, args, result))
        return [after for state in states for after in self.spec.successors(state, op, args, result)]

    def _cross_pair(self, operations: list[Operation], states: list[State]) -> list[State]:
        """Cross two operations that overlap, in either order."""
        successors = self.spec.successors
        self._spent[0] += 4 * len(states)
        return [
            after
            for first, second in (operations, reversed(operations))
            for state in states
            for between in successors(state, first.op, first.args, first.result)
            for after in successors(between, second.op, second.args, second.result)
        ]
