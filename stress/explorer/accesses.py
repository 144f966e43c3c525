"""The steps of accesses: the places that they touch as the scheduler sees them, and short ways to steps that are like
earlier ones.

To find the places of an access takes longer than anything else that a step does. Most steps are like one of the same
execution, or of an earlier one: an attribute of what the factory makes lies in the same place in all of them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, Final

from stress.explorer.kinds import LOCKS, is_of_c
from stress.explorer.places import FOREIGN, Attempt, Place, Several, meet, words_of
from stress.explorer.policy import Refused
from stress.explorer.sharing import EVERYTHING, Key
from stress.explorer.slots import Seam
from stress.explorer.stand_ins import StandIns
from stress.explorer.undo import MAIN

__all__ = ["Accesses"]


class Accesses(StandIns):
    """Makes the steps of accesses. `make_twin` is as for `StandIns`."""

    def __init__(self, seam: Seam, make_twin: Callable[[Any], Any]) -> None:
        super().__init__(seam, make_twin)
        self._places: dict[Any, Place] = {}
        self._lasting: dict[tuple[str, str | None, bool], Place] = {}
        """The places of attributes and items of what every execution has anew, by where it lies."""

    def _step(self, keys: list[Key], changes: bool, succeeds: Callable[[], bool] | None = None) -> Place | None:
        """Make the step that accesses these places. If it changes something only where it `succeeds`, that is asked
        when it is its turn.
        """
        before, now = self._seam.before, self.now
        changes, now.calls_back = changes or now.calls_back, False
        if before is None or not keys:
            return None
        if now.probes:
            self._found_by_probe()
        name: Any = keys[0] if len(keys) == 1 else Several(keys)
        if name in self._places:
            place = self._places[name]
        else:
            place = self._places[name] = Place(name, words_of(keys))
        if not changes:
            before(place)
        elif succeeds is None:
            before(place, None, "write")
        else:
            before(Attempt(name, place.what, succeeds), None, "write")
        return place

    def _step_of_c(self, keys: list[Key], changes: bool, succeeds: Callable[[], bool] | None = None) -> Place | None:
        """The same, of a call in C that may call back."""
        place = self._step(keys, changes, succeeds)
        self.now.call_backs.add(place, changes)
        return place

    def _use_foreign(self, owner: Any, changes: bool) -> None:
        if is_of_c(type(owner)) and any(type(each) is _REENTRANT for each in gc.get_referents(owner)):
            raise Refused(
                f"a {type(owner).__name__} is written in C and holds a real RLock, which does not tell threads apart "
                "that take turns: use stress.run for it"
            )
        if self._is_met(owner):
            self._step_of_c([FOREIGN], changes)

    def _use_outside(self, given: tuple[Any, ...]) -> None:
        """The effect of a call that finds or leaves something outside what it is given."""
        for each in given:
            self._save_reachable(each)
        if self._counts():
            self._step_of_c(list(dict.fromkeys([FOREIGN, *self._keys_of_arguments(given)])), True)

    def _is_disturbed(self, begun: int) -> bool:
        """Make the latest step again, if there was one since step `begun` of places that are the program's. Answers
        whether another thread has come in between, so that both together are not one step.
        """
        machine: Any = self._seam.scheduler
        if machine.step == begun:
            return False
        execution, first = machine.execution, machine.step - 1
        name = execution.slots[first]._name
        keys = [key for key in (name if type(name) is Several else [name]) if key != FOREIGN]
        changes = first in execution.wrote
        self._step(keys, changes)
        return any(
            execution.order[at] != machine.identity()
            and (changes or at in execution.wrote)
            and meet(Several(keys), execution.slots[at]._name)
            for at in range(first + 1, machine.step - 1)
        )

    def _has_quickly(self, owner: Any, name: str | None, changes: bool) -> bool:
        """Make a step like an earlier one, perhaps of another execution, on what lies in the same place, if there was
        one.
        """
        of, lying = id(owner), self.now.lying
        if of not in lying or of in self._of_all or self.names is EVERYTHING:
            return False
        key = (lying[of][1], name, changes)
        if key not in self._lasting:
            return False
        before = self._seam.before
        if before is not None and self.listens:
            if changes:
                before(self._lasting[key], None, "write")
            else:
                before(self._lasting[key])
        return True

    def _keep(self, owner: Any, name: str | None, changes: bool, place: Place | None) -> None:
        """Later steps like this one are quick, since what the factory made lies in the same place in all executions.
        But who exchanges dictionaries or classes of objects moves their attributes.
        """
        of, lying = id(owner), self.now.lying
        if place is not None and of in lying and of not in self._of_all and self.names is not EVERYTHING:
            self._lasting[lying[of][1], name, changes] = place

    def _found_by_probe(self) -> None:
        raise NotImplementedError

    def _counts(self) -> bool:
        """Whether a thread of the scenario runs. If another one does, its step is only counted."""
        before = self._seam.before
        if before is None or not self.listens:
            return False
        scheduler = self._seam.scheduler
        if scheduler is None or scheduler.identity() == MAIN:
            before(_PASSED)
            return False
        return True


_REENTRANT: Final = LOCKS[1]
_PASSED: Final = Place(None, "")
