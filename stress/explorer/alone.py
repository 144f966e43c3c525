"""No specification: an answer is right if some sequential order of the calls on fresh objects gives it. A call that
would wait there waits. All calls are made on two objects: if these give other answers, nothing can be said of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stress.answers import as_it_is
from stress.explorer.plain_state import PlainState
from stress.explorer.policy import WouldWait
from stress.explorer.slots import MAIN, OneThread, Seam
from stress.explorer.synchronization import By
from stress.history import ANSWERS, freeze
from stress.of_calls import Calls, OfCalls
from stress.spec import WAITS
from stress.values import fresh

__all__ = ["Alone"]

_MOST_WAITS = 50


class Alone(OfCalls):
    """What the object itself answers if one thread makes the calls. To be used within the exploration of it."""

    def __init__(self, bound: Callable[[Any, str], Callable[..., Any]], factory: Callable[[], Any]) -> None:
        super().__init__()
        self._bound, self._factory = bound, factory
        self._seam: Any = None
        self._state: Any = None

    def live_in(self, seam: Seam, plain: PlainState) -> None:
        """Make the calls on this seam."""
        self._seam, self._state = seam, plain

    def _learn(self, calls: Calls) -> None:
        kept: list[Any] = []
        answer = self._made(calls, kept)
        kept += _of_many_sizes()  # these live on meanwhile, so that an `id` is another one
        self.demand_equal(calls, answer, self._made(calls, kept))
        self._known[calls] = answer

    def _made(self, calls: Calls, kept: list[Any]) -> Any:
        """The answer to the last of these calls, which are made on a fresh object; that goes into `kept`."""
        seam, plain = self._seam, self._state
        before, clock, callers, answer = seam.before, seam.clock, seam.callers, None
        one = _Lonely(seam)
        seam.before, seam.scheduler, seam.clock, seam.callers = None, one, 0.0, {}
        plain.alone_begins()
        try:
            made = self._factory()
            kept.append(made)
            for op, args in calls:
                one.by = op.by if type(op) is By else MAIN
                try:
                    answer = self._bound(made, op)(*fresh(args))
                except ANSWERS as error:
                    answer = error
                if one.would_wait:  # what the object raised on its way out is no answer
                    return WAITS
            # While it is as the call left it: what was filled by a method is emptied again in the end.
            is_raised = isinstance(answer, ANSWERS)
            return freeze(answer) if is_raised else self.normalise(calls[-1][0], as_it_is(answer))
        except WouldWait:
            return WAITS
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

    def caller(self) -> int:
        """As `Seam` says of `caller`."""
        return self.by

    def park(self, _: Any, timeout: float | None) -> bool:
        """As `Machine.park`."""
        self._waits += 1
        if timeout is None or self._waits > _MOST_WAITS:
            self.would_wait = True
            raise WouldWait
        self._seam.clock += timeout
        return False
