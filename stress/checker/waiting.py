"""What a specification says of calls besides a verdict: whether they may wait, and whether an answer could be wrong.

Calls that never returned wait as they should (a `get` from an empty queue without a `put`) if the calls that returned
have a linearization after which none of the others can take effect, according to the specification (`WAITS`, or no
successor at all).

A right verdict says something if an answer could have contradicted another one. An unlocked counter whose `increment`
answers None, and which nobody reads, loses updates, and every history of it is right: in each state `increment` may
answer None. So where calls change the state, some answer must depend on it: one of the calls could not have got its
answer in one of the states to which the others lead. Where only the first call changes something, or none does, an
answer other than None will do: they may all get what the first of them makes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from stress.checker.search import Search
from stress.frozen_states import judged
from stress.history import MAIN, UNSEEN, Call, Operation
from stress.spec import WAITS, Spec, State

_ALL_WAIT: Final = "(all others wait)"
_STEPS: Final = 200_000


class _WithWaiters(Spec):
    """An object with one more operation, which is possible in states where none of some calls is."""

    def __init__(self, spec: Spec, waiting: Sequence[Operation]) -> None:
        self._spec, self._waiting, self.initial = spec, waiting, spec.initial

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
    except Exception:  # noqa: BLE001 - a specification that does not know the calls says nothing about them
        return False
    return ending is not None and ending.linearizable


_ANYTHING: Final = object()
"""The state after two calls that wait alone and ended one another's wait: from then on everything is right."""


class _EndingWaits(Spec):
    """An object of which it is not known what two calls do together that both wait alone."""

    def __init__(self, spec: Spec, calls: Counter[Call], can_end: Callable[[State, tuple[Call, ...]], bool]) -> None:
        self._spec, self.initial, self._calls, self._can_end = spec, spec.initial, calls, can_end
        self.met = set[str]()

    def _waits(self, state: Any, call: Call) -> bool:
        return self._spec.step(state, *call) is WAITS

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        """As `Spec.successors`."""
        if state is _ANYTHING:
            return (state,)
        call = op, args
        for other in self._calls - Counter([call]) if self._waits(state, call) else ():
            if self._waits(state, other) and self._can_end(state, (call, other)):
                self.met |= {op, other[0]}
                return (_ANYTHING,)
        return self._spec.successors(state, op, args, result)


def may_have_met(
    operations: Sequence[Operation], spec: Spec, can_end: Callable[[State, tuple[Call, ...]], bool]
) -> set[str]:
    """The operations that may explain a history without a linearization, if calls that wait alone end one another's
    wait; empty if that explains nothing. A specification that was made from the object itself says nothing of such
    calls. `can_end`: whether some calls that wait alone in a state end their wait if they are all called there.
    """
    anything = _EndingWaits(spec, Counter((each.op, each.args) for each in operations), can_end)
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


_WALK: Final = 400
"""Operations that are followed to find states, ..."""
_STATES: Final = 32
_ANSWERS: Final = 64
"""... and the most states and answers that are compared."""


def could_contradict(operations: Iterable[Operation], spec: Spec) -> bool:
    """Whether an answer of a history says anything. A specification that fails in a state on the way does not allow
    every answer there. Takes a few thousand steps at most, and mostly a few dozen.
    """
    walk = sorted((each for each in operations if not each.pending), key=lambda each: each.call)
    last = [each for each in walk[_WALK:] if each.thread == MAIN]
    return judged(spec, lambda its: _is_refused_somewhere(walk[:_WALK], last, its))


def _is_refused_somewhere(walk: list[Operation], last: list[Operation], spec: Spec) -> bool:
    states, answers = {spec.initial: None}, dict.fromkeys((each.op, each.args, each.result) for each in (*last, *walk))
    told = list(answers)[:_ANSWERS]
    state, later = spec.initial, set[State]()
    try:
        for each in walk:
            after = list(spec.successors(state, each.op, each.args, each.result))
            if not after:
                return True
            state = after[0]
            later.add(state)
            states.setdefault(state)
            if len(states) >= _STATES:
                break
        if len(later) == 1:
            return any(result is not None and result is not UNSEEN for _, _, result in told)
        return any(not list(spec.successors(state, *answer)) for state in states for answer in told)
    except Exception:  # noqa: BLE001 - the object may never have this state, so the specification need not handle it
        return True
