"""Tells whether calls that never returned wait as they should: for example a `get` from an empty queue without a `put`.

They do if the calls that returned have a linearization after which none of the others can take effect, according to the
specification (`WAITS`, or no successor at all).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from stress.alike import Again
from stress.checker.search import Search
from stress.frozen_states import judged
from stress.history import UNSEEN, Call, Operation
from stress.spec import Spec, State

__all__ = ["after", "may_wait", "wait_as_they_should"]

_ALL_WAIT: Final = "(all others wait)"
_STEPS: Final = 200_000


class _WithWaiters(Spec):
    """An object with one more operation, which is possible in states where none of some calls is."""

    def __init__(self, spec: Spec, waiting: Sequence[Operation]) -> None:
        self._spec, self._waiting = spec, waiting
        self.initial = spec.initial

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        """As `Spec.successors`."""
        if op != _ALL_WAIT:
            return self._spec.successors(state, op, args, result)
        can_go_on = (list(self._spec.successors(state, each.op, each.args, UNSEEN)) for each in self._waiting)
        return () if any(can_go_on) else (state,)

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


def after(spec: Spec, state: State, call: Call) -> list[State]:
    """The states after a call, with any answer; none if it has to wait. If the specification fails, the state itself:
    the judgement reports the failure.
    """
    try:
        return judged(spec, lambda its: list(its.successors(state, call[0], call[1], UNSEEN)))
    except Exception:  # noqa: BLE001 - the object may never have this state, so the specification need not handle it
        return [state]


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
