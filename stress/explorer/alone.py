"""No specification: an answer is right if some sequential order of the calls on fresh objects gives it. A call that
would wait there waits. All calls are made twice: if they get other answers then, nothing can be said of the object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from stress.answers import as_it_is
from stress.explorer.clock import OneClock
from stress.explorer.plain_state import PlainState
from stress.explorer.policy import WouldWait
from stress.explorer.slots import Seam
from stress.history import ANSWERS, freeze
from stress.of_calls import Calls, OfCalls
from stress.spec import WAITS, Spec, State

__all__ = ["Alone", "AnyAnswer"]

_MOST_WAITS = 50


class Alone(OfCalls):
    """What the object itself answers if one thread makes the calls. To be used within the exploration of it."""

    def __init__(self, bound: Callable[[Any, str], Callable[..., Any]], factory: Callable[[], Any]) -> None:
        super().__init__()
        self._bound, self._factory = bound, factory
        self._seam: Any = None
        self._plain: PlainState | None = None

    def live_in(self, seam: Seam, plain: PlainState) -> None:
        """Make the calls on this seam."""
        self._seam, self._plain = seam, plain

    def _learn(self, calls: Calls) -> None:
        first: list[Any] = []
        answer = self._made(calls, first)
        first += _of_many_sizes()  # these live on meanwhile, so that an `id` is another one
        self.demand_equal(calls, answer, self._made(calls, []))
        self._known[calls] = answer

    def _made(self, calls: Calls, objects: list[Any]) -> Any:
        """The answer to the last of these calls. The object goes into `objects`."""
        seam, plain = self._seam, self._plain
        assert plain is not None
        one = _OneThread(seam)
        before, clock, answer = seam.before, seam.clock, None
        seam.before, seam.scheduler, seam.clock = None, one, 0.0
        plain.alone_begins()
        try:
            made = self._factory()
            objects.append(made)
            for op, args in calls:
                try:
                    answer = self._bound(made, op)(*args)
                except ANSWERS as error:
                    answer = error
                if one.would_wait:  # what the object raised on its way out is no answer
                    return WAITS
            # While it is as the call left it: what was filled by a method is emptied again in the end.
            return freeze(answer) if isinstance(answer, ANSWERS) else self.normalise(calls[-1][0], as_it_is(answer))
        except WouldWait:
            return WAITS
        finally:
            plain.alone_ends()
            seam.before, seam.scheduler, seam.clock = before, None, clock


def _of_many_sizes() -> list[object]:
    """Objects that take the memory which was freed last, whatever its size."""
    return [object() for _ in range(8)] + [bytes(size) for size in range(0, 480, 8)]


class AnyAnswer(Spec):
    """Every answer is right: only an invariant can be broken."""

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Any) -> Iterable[State]:
        """As `Spec.successors`."""
        return (state,)


class _OneThread(OneClock):
    """The scheduler of a thread that is alone: whoever waits would wait for ever, and every timeout is over at once."""

    alone = True

    def __init__(self, seam: Seam) -> None:
        super().__init__(seam)
        self.name = count(-1, -1).__next__
        self._waits = 0
        self.would_wait = False

    def identity(self) -> int:
        """As `Scheduler.identity`."""
        return -1

    def park(self, _: Any, timeout: float | None) -> bool:
        """As `Machine.park`."""
        self._waits += 1
        if timeout is None or self._waits > _MOST_WAITS:
            self.would_wait = True
            raise WouldWait
        self._seam.clock += timeout
        return False
