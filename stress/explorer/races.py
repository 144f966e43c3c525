"""Accesses that nothing orders: two threads access one place, one of them changes it, and no lock or the like is
between them. Such code may be right all the same; but nobody promises that the next version of it, or of Python, is.

Each thread has a clock, as has each lock, reference and the like. Whoever uses one of these learns what its clock
knows, and tells it what he knows. An access is ordered after another one if its thread knows of it.
"""

from __future__ import annotations

from typing import Any, Final

from stress.explorer.machine import Machine
from stress.explorer.policy import program_place
from stress.explorer.slots import LOAD, Place, Several, words_of

__all__ = ["Races"]

_Access = tuple[int, int, str]
"""A thread, its time, and the line."""
_MOST: Final = 20
"""Races that are told."""


class Races:
    """Observes the executions of a machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.found: dict[tuple[str, ...], str] = {}
        self._begin()

    def _begin(self) -> None:
        self._clocks: dict[int, dict[int, int]] = {}
        self._known: dict[Any, dict[int, int]] = {}
        self._wrote: dict[Any, _Access] = {}
        self._read: dict[Any, dict[int, _Access]] = {}

    def observe(self, me: int, slot: Any, expected: Any, _: Any) -> None:
        """As `Machine.observe`."""
        if self._machine.step == 0:
            self._begin()
        clock = self._clocks.setdefault(me, {})
        clock[me] = clock.get(me, 0) + 1
        if not isinstance(slot, Place):
            known = self._known.setdefault(id(slot) if slot._name is None else slot._name, {})
            for thread, time in known.items():
                clock[thread] = max(clock.get(thread, 0), time)
            known.update(clock)
            return
        if slot._name is None:
            return
        changes = expected is not LOAD
        access = me, clock[me], program_place()
        for place in slot._name if type(slot._name) is Several else (slot._name,):
            others: list[_Access] = list(self._read.get(place, {}).values()) if changes else []
            if place in self._wrote:
                others.append(self._wrote[place])
            for other in others:
                if other[0] != me and other[1] > clock.get(other[0], 0):
                    self._note(place, other, access)
            if changes:
                self._wrote[place] = access
            else:
                self._read.setdefault(place, {})[me] = access

    def _note(self, place: Any, one: _Access, other: _Access) -> None:
        what = words_of([place])
        lines = sorted({one[2], other[2]})
        if len(self.found) < _MOST:
            self.found.setdefault((what, *lines), f"{what}: nothing orders {' and '.join(lines)}")
