"""What stands in for real things while threads of an exploration run: for locks that were made before, and for the
attributes of objects derived from `threading.local`, of which each thread has its own.
"""

from __future__ import annotations

import _thread
import weakref
from collections.abc import Callable
from typing import Any

from stress.explorer.outliving import is_free
from stress.explorer.policy import Refused
from stress.explorer.sharing import Sharing
from stress.explorer.slots import Seam
from stress.explorer.undo import MAIN

__all__ = ["ClassOfLocks", "StandIns"]


class ClassOfLocks:
    """A class of locks, of which a method is read to be called with a lock: what stands in for that one has it, too."""

    def __init__(self, of: Any, twin: Callable[[Any], Any]) -> None:
        self._of, self._twin = of, twin

    def __getattr__(self, name: str) -> Any:
        def method(lock: Any, *args: Any) -> Any:
            return getattr(self._twin(lock), name)(*args)

        return method


class StandIns(Sharing):
    """Knows what stands in for what. `make_twin` gives the explored primitive for a real lock."""

    def __init__(self, seam: Seam, make_twin: Callable[[Any], Any]) -> None:
        super().__init__(seam)
        self._make_twin = make_twin
        seam.stands_for = self._twin
        self._twins: dict[int, tuple[Any, Any]] = {}
        self._twins_before = self._twins
        """Those of the execution, while calls are made by one thread alone."""
        self._numbers: dict[int, tuple[Any, int]] = {}
        self._locals: dict[int, list[Any]] = {}
        self._localised: set[tuple[int, int]] = set()
        self._used: dict[tuple[int, int], weakref.ref[Any]] = {}
        """The objects derived from `threading.local` that outlive an execution, by the threads that used them."""
        self._home = 0
        """The thread that explores."""

    def reset_locals(self) -> None:
        """Give objects derived from `threading.local` the attributes of before."""
        self._localised.clear()
        for local, last, of in self._locals.values():
            if last != MAIN:
                names = _thread._local.__getattribute__(local, "__dict__")
                names.clear()
                names.update(of[MAIN])
        self._locals.clear()

    def _localise(self, site: Any, local: Any) -> None:
        """Give an object derived from `threading.local` the attributes that it has in the thread that runs."""
        if self._seam.before is None:
            return
        me = self._me()
        if _thread.get_ident() != self._home:
            self._begin_anew(site, local, me)
            return
        known = self._locals.get(id(local))
        if known is None:
            known = self._locals[id(local)] = [local, MAIN, {}]
        names = _thread._local.__getattribute__(local, "__dict__")
        if known[1] == me:
            return
        known[2][known[1]] = dict(names)
        known[1] = me
        names.clear()
        if me in known[2]:
            names.update(known[2][me])
        else:
            self._fill(site, local)

    def _begin_anew(self, site: Any, local: Any, me: int) -> None:
        """A thread of the system has attributes of its own. Those of an earlier execution go."""
        key = (id(local), me)
        if key in self._localised or (id(local) in self._lying and id(local) not in self._of_all):
            return
        self._localised.add(key)
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
        if self._seam.before is None and not getattr(self._seam.scheduler, "alone", False):
            return lock
        known = self._twins.get(id(lock))
        if known is None or known[0] is not lock:
            made = self._make_twin(lock)
            lying = self._lying.get(id(lock))
            made._name = ("a lock", self._number_of(lock) if lying is None else lying[1])
            known = self._twins[id(lock)] = (lock, made)
        return known[1]

    def _number_of(self, lock: Any) -> int:
        """The number of a lock that was made before, the same in every execution. Its name must be its own: what is
        known of one lock, of who has waited for it, is not so of another."""
        return self._numbers.setdefault(id(lock), (lock, len(self._numbers)))[1]

    def marks(self) -> dict[Any, Any] | None:
        """As `Undo.marks`; a lock that outlives the object, and is held, or was at first, is to be put back, too."""
        used = any(made._value or not made.is_lock or not is_free(lock) for lock, made in self._twins.values())
        return None if used else super().marks()

    def reset_twins(self) -> None:
        """Restore the initial state of locks that outlive an execution."""
        self._twins.clear()
