"""No specification: an answer is right if some sequential order of the calls on fresh objects gives it. A call that
would wait there waits. All calls are made on two objects: if these give other answers, nothing can be said of them.

Whoever tries orders adds call to call. So the latest objects are kept, and the next call is made on them: but only if
nothing had to be put back that outlives them, since they are as their calls have left them then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stress.answers import as_it_is
from stress.explorer.clock import OneThread
from stress.explorer.identity import By
from stress.explorer.plain_state import PlainState
from stress.explorer.policy import WouldWait
from stress.explorer.slots import MAIN, Seam
from stress.history import ANSWERS, freeze
from stress.of_calls import Calls, OfCalls
from stress.spec import WAITS
from stress.values import fresh

__all__ = ["Alone"]

_MOST_WAITS = 50
_MOST_ALIVE = 16


class _Alive(NamedTuple):
    """An object on which calls have been made, its scheduler, the time by then, and the marks of what was made."""

    made: Any
    one: _Lonely
    clock: float
    marks: dict[Any, Any]


class Alone(OfCalls):
    """What the object itself answers if one thread makes the calls. To be used within the exploration of it."""

    def __init__(self, bound: Callable[[Any, str], Callable[..., Any]], factory: Callable[[], Any]) -> None:
        super().__init__()
        self._bound, self._factory = bound, factory
        self._seam: Any = None
        self._state: Any = None
        self._code: Any = None
        self._alive: dict[Calls, tuple[_Alive, _Alive]] = {}
        """Objects that these calls have been made on."""

    def live_in(self, seam: Seam, plain: PlainState) -> None:
        """Make the calls on this seam."""
        self._seam, self._state = seam, plain

    def _learn(self, calls: Calls) -> None:
        if self._code is not self._state.stepped.alike:
            self._alive.clear()  # their code has other steps now
            self._code = self._state.stepped.alike
        one, other = self._alive.pop(calls[:-1], (None, None))
        kept: list[Any] = []
        answer, one = self._made(calls, one, kept)
        if other is None:
            kept += _of_many_sizes()  # these live on meanwhile, so that an `id` is another one
        again, other = self._made(calls, other, kept)
        self.demand_equal(calls, answer, again)
        self._known[calls] = answer
        if one is not None and other is not None:
            self._alive[calls] = one, other
            if len(self._alive) > _MOST_ALIVE:
                del self._alive[next(iter(self._alive))]

    def _made(self, calls: Calls, alive: _Alive | None, kept: list[Any]) -> tuple[Any, _Alive | None]:
        """The answer to the last of these calls, and the object then, if it can be kept. All others have been made on
        `alive`; None: on none yet. The object goes into `kept`.
        """
        seam, plain = self._seam, self._state
        one = _Lonely(seam) if alive is None else alive.one
        before, clock, callers, answer = seam.before, seam.clock, seam.callers, None
        seam.before, seam.scheduler, seam.clock = None, one, 0.0 if alive is None else alive.clock
        seam.callers = one.callers
        plain.alone_begins(self._factory, {} if alive is None else alive.marks, one.locals)
        try:
            made = self._factory() if alive is None else alive.made
            kept.append(made)
            for op, args in calls if alive is None else calls[-1:]:
                one.by = op.by if type(op) is By else MAIN
                try:
                    answer = self._bound(made, op)(*fresh(args))
                except ANSWERS as error:
                    answer = error
                if one.would_wait:  # what the object raised on its way out is no answer
                    return WAITS, None
            # While it is as the call left it: what was filled by a method is emptied again in the end.
            is_raised = isinstance(answer, ANSWERS)
            told = freeze(answer) if is_raised else self.normalise(calls[-1][0], as_it_is(answer))
            marks = plain.marks()
            return told, None if marks is None else _Alive(made, one, seam.clock, marks)
        except WouldWait:
            return WAITS, None
        finally:
            plain.alone_ends()
            seam.before, seam.scheduler, seam.clock, seam.callers = before, None, clock, callers


def _of_many_sizes() -> list[object]:
    """Objects that take the memory which was freed last, whatever its size."""
    return [object() for _ in range(8)] + [bytes(size) for size in range(0, 480, 8)]


class _Lonely(OneThread):
    """The scheduler of a thread that is alone: whoever waits would wait for ever, and every timeout is over at once."""

    alone = True

    def __init__(self, seam: Seam) -> None:
        super().__init__(seam)
        self._waits = 0
        self.would_wait = False
        self.by = MAIN
        """Whose call is made."""
        self.callers: dict[int, Any] = {}
        self.locals: dict[int, Any] = {}

    def caller(self) -> int:
        """As `Scheduler.caller`."""
        return self.by

    def park(self, _: Any, timeout: float | None) -> bool:
        """As `Machine.park`."""
        self._waits += 1
        if timeout is None or self._waits > _MOST_WAITS:
            self.would_wait = True
            raise WouldWait
        self._seam.clock += timeout
        return False
