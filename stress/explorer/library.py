"""Which modules of the standard library are explored with the object.

Most of the library is taken as a whole: its functions work on what one call gives them, and there is nothing to be seen
in them. But one that is given something that threads share may be divided by another thread, like code of the program:
`random.shuffle` of a shared list, a `Mock` that counts its calls, a `Handler` that holds its lock. Then its module is
opened: it gets steps, and the exploration begins again.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

from stress.explorer.held import ATOMS, held
from stress.explorer.kinds import Kind, forget_kinds, kind_of
from stress.explorer.outliving import Snapshot
from stress.explorer.policy import OWN_THREAD, Refused, module_of, open_modules, openable, standard_module
from stress.explorer.stand_ins import StandIns
from stress.explorer.undo import MAIN

__all__ = ["Library"]


class Library(StandIns):
    """Finds the modules to open, and opens them."""

    _before: Snapshot

    def _open(self) -> None:
        """Open the modules that are known."""
        if open_modules(self.knowledge.modules):
            forget_kinds()

    def _close(self) -> None:
        """Open no module any more."""
        if open_modules(()):
            forget_kinds()

    def _open_by(self, code: CodeType, given: tuple[Any, ...]) -> None:
        """Code of the library runs with these arguments."""
        name = openable(code.co_filename)
        if name and self._me() != MAIN and any(map(self._is_handed, given)):
            self.knowledge.learn(self.knowledge.modules, name)

    def _open_for(self, code: CodeType, frame: FrameType) -> None:
        """Code begins to run: a method of the library's, perhaps, which an operator, a loop or the like has called, or
        what the library calls back, which it may do with a lock that it holds.
        """
        if code.co_argcount and openable(code.co_filename):
            self._open_by(code, (frame.f_locals.get(code.co_varnames[0]),))
        elif frame.f_back is not None and not standard_module(code.co_filename) and self._me() != MAIN:
            name = openable(frame.f_back.f_code.co_filename)
            if name:
                self.knowledge.learn(self.knowledge.modules, name)

    def _is_handed(self, each: Any) -> bool:
        """Whether threads share something that a call is given, and that does not outlive the execution. What does,
        such as a logger or the module's own random numbers, is the library's affair.
        """
        of = type(each)
        if of in ATOMS or kind_of(of) in _UNCHANGED or id(each) in self._of_all:
            return False
        if id(each) in self.now.lying:
            return True
        may_be_new = kind_of(of) is Kind.CONTAINER or (id(of), "called") in self._saved
        return may_be_new and not self._before.has(each) and self._whose(each) is not None

    def _expect_modules(self, made: Any) -> None:
        """Open those modules beforehand whose classes the object's parts are of."""
        for each, _ in held(made):
            if id(each) not in self._of_all:
                for base in type(each).__mro__:
                    file = getattr(sys.modules.get(module_of(base)), "__file__", None)
                    if isinstance(file, str) and (name := openable(file)):
                        self.knowledge.modules.add(name)

    def _refuse(self, site: Any, callee: FunctionType) -> None:
        """Refuse what cannot be explored.

        Raises:
            Refused: this function is of a library that has threads or processes of its own.
        """
        if self._me() == MAIN:
            return
        module = callee.__module__ or ""
        name = callee.__code__.co_name
        if name in _LOOKS or (module.partition(".")[0] == "threading" and name not in _STARTS):
            return
        for package, told in _REFUSED.items():
            if module == package or module.startswith(package + "."):
                raise Refused(f"{told} ({site})")


_UNCHANGED: Final = (Kind.QUIET, Kind.TYPE, Kind.MODULE, Kind.LOCK)
_STARTS: Final = frozenset({"start", "_start"})
_LOOKS: Final = frozenset({"current_process", "parent_process", "current_task", "iscoroutine", "iscoroutinefunction"})
"""Functions that only tell where the caller is, and what it has."""
_REFUSED: Final = {
    "threading": OWN_THREAD,
    "concurrent.futures.thread": OWN_THREAD,
    "concurrent.futures.process": "the object uses other processes, which cannot be explored",
    "asyncio": "an event loop of asyncio runs in the object, which cannot be explored",
    "multiprocessing": "the object uses other processes, which cannot be explored",
    "subprocess": "the object starts another program, which cannot be explored",
}  # fmt: skip
