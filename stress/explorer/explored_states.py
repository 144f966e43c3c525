"""The states that have been explored, so that an execution that reaches one of them need not continue.

The steps that would follow are known, but not their effect on the decisions that led here: a later step may depend on
one of these decisions, and then it must also be tried before it. So each state is stored with the steps that were made
after it. An execution that reaches the state lets other threads go first wherever one of those steps may depend on its
own (Yang, Chen, Gopalakrishnan, Kirby: *Efficient Stateful Dynamic Partial Order Reduction*, SPIN 2008).

Threads that slept when a state was explored did not run on from there. So its exploration is sufficient only if they
are asleep again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stress.explorer.steps import Step

__all__ = ["Memory"]


class Memory:
    """The explored states. Steps are represented by numbers, and sets of steps or of threads by bits."""

    def __init__(self) -> None:
        self._explored: dict[int, list[tuple[int, int]]] = {}
        self._numbers: dict[tuple[int, Step], int] = {}
        self._dependent: list[int] = []
        self._of_thread: list[int] = []
        self._touching: dict[Any, list[tuple[int, int, Step]]] = {}

    def after(self, state: int, asleep: int) -> int | None:
        """The steps made after `state`, if it was explored and no other threads slept then; None if not."""
        return next((steps for slept, steps in self._explored.get(state, ()) if not slept & ~asleep), None)

    def keep(self, state: int, asleep: int, steps: int) -> None:
        """Record that `state` is explored, that these threads slept, and that these `steps` were made after it."""
        self._explored.setdefault(state, []).append((asleep, steps))

    def number(self, thread: int, step: Step) -> int:
        """The number of a step of a thread."""
        known = self._numbers.get((thread, step))
        if known is not None:
            return known
        number = self._numbers[thread, step] = len(self._dependent)
        mask = 0
        for other_thread, other_number, other in self._near(step):
            if other_thread != thread and step.depends_on(other):
                mask |= 1 << other_number
                self._dependent[other_number] |= 1 << number
        self._dependent.append(mask)
        while len(self._of_thread) <= thread:
            self._of_thread.append(0)
        self._of_thread[thread] |= 1 << number
        for place in _places(step):
            self._touching.setdefault(place, []).append((thread, number, step))
        return number

    def _near(self, step: Step) -> Iterator[tuple[int, int, Step]]:
        """The steps that `step` may depend on."""
        yield from self._touching.get(step.slot, ())
        if step.calls:
            yield from self._touching.get(_RETURNS, ())
        if step.returns:
            yield from self._touching.get(_CALLS, ())

    def racing(self, number: int, steps: int) -> list[int]:
        """The threads of those of `steps` that depend on step `number`."""
        found = self._dependent[number] & steps
        return [thread for thread, own in enumerate(self._of_thread) if found & own] if found else []


_CALLS, _RETURNS = object(), object()


def _places(step: Step) -> Sequence[Any]:
    return [step.slot, *[_CALLS] * step.calls, *[_RETURNS] * step.returns]
