"""Tells whether calls that never returned wait as they should: for example a `get` from an empty queue without a `put`.

They do if the calls that returned have a linearization after which none of the others can take effect, according to the
specification (`WAITS`, or no successor at all), neither alone nor together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from enum import Enum
from functools import partial
from itertools import product
from typing import Any, Final

from stress.alike import Again
from stress.checker.meetings import meetings_of
from stress.checker.search import Search
from stress.frozen_states import judged
from stress.history import UNSEEN, Call, Operation
from stress.spec import WAITS, Spec, State

__all__ = ["after", "after_meeting", "may_have_met", "may_wait", "wait_as_they_should"]

_ALL_WAIT: Final = "(all others wait)"
_STEPS: Final = 200_000


class _WithWaiters(Spec):
    """An object with one more operation, which is possible in states where none of some calls is."""

    def __init__(self, spec: Spec, waiting: Sequence[Operation]) -> None:
        self._spec, self._waiting = spec, waiting
        self.initial, self.meetings = spec.initial, spec.meetings  # type: ignore[misc]

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        """As `Spec.successors`."""
        if op != _ALL_WAIT:
            return self._spec.successors(state, op, args, result)
        calls = [(each.op, each.args) for each in self._waiting]
        can_go_on = (list(self._spec.successors(state, *call, UNSEEN)) for call in calls)
        return () if any(can_go_on) or any(True for _ in meetings_of(self._spec, state, calls)) else (state,)

    def meeting(self, state: Any, calls: tuple[Call, ...], results: tuple[Hashable, ...]) -> Iterable[State]:
        """As `Spec.meeting`."""
        return self._spec.meeting(state, calls, results)

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        """As `Spec.is_read_only`."""
        return op != _ALL_WAIT and self._spec.is_read_only(op, args, result)


def wait_as_they_should(operations: Iterable[Operation], spec: Spec) -> bool:
    """Whether all pending operations may wait, in a history that has ended without progress. Also False if that cannot
    be decided in some hundred thousand steps.
    """
    everything = list(operations)
    completed = [each for each in everything if each.returned is not None]
    waiting = [each for each in everything if each.returned is None]
    if not waiting:
        return False
    return judged(spec, partial(_all_wait, completed, waiting))


def _all_wait(completed: Sequence[Operation], waiting: Sequence[Operation], spec: Spec) -> bool:
    last = max((each.returned or 0 for each in completed), default=0)
    end = Operation(-1, "(nobody)", last + 1, last + 2, _ALL_WAIT, (), None)
    search = Search([*completed, end], _WithWaiters(spec, waiting), [spec.initial])
    try:
        ending = search.advance(_STEPS)
    except Again:
        raise
    except Exception:  # noqa: BLE001 - a specification that does not know the calls says nothing about them
        return False
    return ending is not None and ending.linearizable


class _Met(Enum):
    MET = "met"


class _MeetingAnything(Spec):
    """An object of which it is not known what two calls do together that both wait alone: anything, and from then on
    everything.
    """

    def __init__(self, spec: Spec, names: Collection[str], can_end: Callable[[State, tuple[Call, ...]], bool]) -> None:
        self._spec, self.initial, self._can_end = spec, spec.initial, can_end
        self.meetings = [*product(names, repeat=2)]  # type: ignore[misc]
        self.met = set[str]()

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        """As `Spec.successors`."""
        return (state,) if state is _Met.MET else self._spec.successors(state, op, args, result)

    def meeting(self, state: Any, calls: tuple[Call, ...], results: tuple[Hashable, ...]) -> Iterable[State]:
        """As `Spec.meeting`."""
        wait = state is not _Met.MET and all(self._spec.step(state, *call) is WAITS for call in calls)
        if not wait or not self._can_end(state, calls):
            return ()
        self.met.update(op for op, _ in calls)
        return (_Met.MET,)


def may_have_met(
    operations: Sequence[Operation], spec: Spec, can_end: Callable[[State, tuple[Call, ...]], bool]
) -> set[str]:
    """The operations that may explain a history without a linearization, if calls that wait alone meet; empty if that
    explains nothing. A specification that was made from the object itself says nothing of meetings. `can_end`: whether
    some calls that wait alone in a state end their wait if they are all called there.
    """
    anything = _MeetingAnything(spec, sorted({each.op for each in operations}), can_end)
    ending = Search(operations, anything, [spec.initial]).advance(_STEPS)
    return anything.met if ending is None or ending.linearizable else set()


def after(spec: Spec, state: State, call: Call) -> list[State]:
    """The states after a call, with any answer; none if it has to wait. If the specification fails, the state itself:
    the judgement reports the failure.
    """
    try:
        return judged(spec, lambda its: list(its.successors(state, call[0], call[1], UNSEEN)))
    except Exception:  # noqa: BLE001 - the object may never have this state, so the specification need not handle it
        return [state]


def after_meeting(spec: Spec, state: State, calls: Sequence[Call]) -> tuple[tuple[int, ...], State] | None:
    """Of calls that all wait, those that can take effect together with the last one: their places, and the state
    afterwards. None if it goes on waiting, or the specification fails.
    """
    if not spec.meetings:
        return None
    last = len(calls) - 1
    try:
        return judged(spec, lambda its: next((one for one in meetings_of(its, state, calls) if last in one[0]), None))
    except Exception:  # noqa: BLE001 - as above
        return None


def may_wait(spec: Spec, calls: Iterable[Call]) -> set[str]:
    """The operations that had to wait in some state on the way of these calls, made one after another."""
    found, state = set(), spec.initial
    for each in calls:
        then = after(spec, state, each)
        if then:
            state = then[0]
        else:
            found.add(each[0])
    return found
