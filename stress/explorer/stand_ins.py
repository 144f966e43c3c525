"""What stands in for real things while threads of an exploration run: for locks that were made before, and for the
attributes of objects derived from `threading.local`, of which each thread has its own.
"""

from __future__ import annotations

import _thread
import weakref
from collections.abc import Callable
from typing import Any

from stress.explorer.outliving import Undo
from stress.explorer.policy import Refused
from stress.explorer.slots import MAIN, Seam

__all__ = ["StandIns"]


class Values:
    """The attributes `names` of an object derived from `threading.local`, in each of the threads that share a real one.
    In the main thread they are what they were, whatever calls do, when all is over.
    """

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._of: dict[int | None, dict[str, Any]] = {MAIN: dict(names), None: dict(names)}
        self._in: int | None = MAIN

    def enter(self, me: int | None) -> bool:
        """Show those of a thread, for None those of before; answers whether it has none yet."""
        if self._in == me:
            return False
        self._of[self._in] = dict(self._names)
        self._in = me
        self._names.clear()
        self._names.update(self._of.get(me, {}))
        return me not in self._of


class StandIns(Undo):
    """Knows what stands in for what. `make_twin` gives the explored primitive for a real lock."""

    def __init__(self, seam: Seam, make_twin: Callable[[Any], Any]) -> None:
        super().__init__(seam)
        self._make_twin = make_twin
        seam.stands_for = self._twin
        self._numbers: dict[int, tuple[Any, int]] = {}
        self._used: dict[tuple[int, int], weakref.ref[Any]] = {}
        """The objects derived from `threading.local` that outlive an execution, by the threads that used them."""

    def reset_locals(self) -> None:
        """Give objects derived from `threading.local` the attributes of before."""
        for values in self.now.locals.values():
            values.enter(None)

    def _localise(self, site: Any, local: Any) -> None:
        """Give an object derived from `threading.local` the attributes that it has in the thread that calls."""
        scheduler = self._seam.scheduler
        if not self.listens or scheduler is None:
            return
        me = scheduler.caller()
        if _thread.get_ident() != self._seam.home:
            self._begin_anew(site, local, me)
            return
        if id(local) not in self.now.locals:
            self.now.locals[id(local)] = Values(_thread._local.__getattribute__(local, "__dict__"))
        if self.now.locals[id(local)].enter(me):
            self._fill(site, local)

    def _begin_anew(self, site: Any, local: Any, me: int) -> None:
        """A thread of the system has attributes of its own. Those of an earlier execution go."""
        key = (id(local), me)
        if key in self.now.localised or (id(local) in self.now.lying and id(local) not in self._of_all):
            return
        self.now.localised.add(key)
        is_known = key in self._used and self._used[key]() is local
        if is_known:
            _thread._local.__getattribute__(local, "__dict__").clear()
            self._fill(site, local)
        self._used[key] = weakref.ref(local)

    @staticmethod
    def _fill(site: Any, local: Any) -> None:
        if type(local).__init__ is not object.__init__:
            try:
                type(local).__init__(local)
            except TypeError:
                raise Refused(
                    f"a {type(local).__name__}, derived from threading.local, takes arguments, and cannot be explored "
                    f"({site})"
                ) from None

    def _twin(self, lock: Any) -> Any:
        """The explored lock that stands for a real one."""
        if self._seam.scheduler is None:
            return lock
        known = self.now.twins.get(id(lock))
        if known is None or known[0] is not lock:
            made = self._make_twin(lock)
            lying = self.now.lying.get(id(lock))
            made._name = ("a lock", self._number_of(lock) if lying is None else lying[1])
            known = self.now.twins[id(lock)] = (lock, made)
        return known[1]

    def note(self, made: Any) -> None:
        """As `Undo.note`; what stands for a lock that the factory has used has the name of its place."""
        super().note(made)
        for lock, twin in self.now.twins.values():
            if id(lock) in self.now.lying:
                twin._name = self.now.lying[id(lock)][1]

    def _number_of(self, lock: Any) -> int:
        """The number of a lock that was made before, the same in every execution. Its name must be its own: what is
        known of one lock, of who has waited for it, is not so of another."""
        return self._numbers.setdefault(id(lock), (lock, len(self._numbers)))[1]
