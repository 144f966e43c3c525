"""Specifications made from an object itself: a state is the calls that took effect, and a call's answer is what it
answers after them, one after another. Answers are kept, so each sequence of calls is executed once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from stress.alike import alike
from stress.history import Call, shortened, show
from stress.spec import WAITS, Spec, SpecError, State

Calls = tuple[Call, ...]


class OfCalls(Spec):
    """What an object itself answers. Subclasses define `_learn`."""

    initial: Calls = ()
    _refused_where = "here"  # the calls stand before it anyway

    def __init__(self) -> None:
        self._known: dict[Calls, Any] = {}

    def _learn(self, calls: Calls) -> None:
        """Put the answer to the last of the calls among the known ones; `WAITS` if it waits."""
        raise NotImplementedError

    def step(self, state: Calls, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        """The calls with one more, and its answer after the others."""
        calls = (*state, (op, args))
        if calls not in self._known:
            self._learn(calls)
        answer = self._known[calls]
        return WAITS if answer is WAITS else (calls, answer)

    def demand_equal(self, calls: Calls, one: Any, other: Any) -> None:
        """Raise `SpecError` if the last of these calls answered one thing the first time and another the second."""
        if not (one is other or (one == other and alike(one, other))):
            first, second = (shortened(show(each), 80) for each in (one, other))
            raise SpecError(
                f"{told(calls[-1])} answers {first} the first time and {second} the second, although one thread makes "
                f"the same calls on a fresh object: {self.describe(calls)}. So a specification must say which answers "
                "are right"
            )

    def describe(self, state: Calls) -> str:
        """The calls."""
        return "; ".join(map(told, state)) or "a fresh object"

    def options(self) -> dict[str, Any]:
        """None: only the object itself makes an equal one."""
        return {}


class AnyAnswer(Spec):
    """Every answer is right: only an invariant can be broken."""

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Any) -> Iterable[State]:
        """As `Spec.successors`."""
        return (state,)


def told(call: Call) -> str:
    """A call in words."""
    op, args = call
    return f"{op}({', '.join(map(show, args))})"
