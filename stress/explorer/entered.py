"""Sees which Python functions begin to run.

`sys.monitoring` tells of each code object once, at no further cost. Before Python 3.12 only `sys.setprofile` can tell,
and it slows everything down. So it is on only in some executions (`watch`): the first ones, one in so many later, and
every one from the moment at which an instruction meets something that it has not met before.
"""

from __future__ import annotations

import gc
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from stress.answers import space_of
from stress.explorer.containers import is_a, is_namespace
from stress.explorer.held import content_of, parts_of
from stress.explorer.kinds import PLAIN, is_of_c, kind_of
from stress.explorer.policy import HERE, Treatment, is_ours, module_of, treatment_of

__all__ = ["Entered", "codes_in", "functions_of", "reachable"]

_MONITORING: Any = getattr(sys, "monitoring", None)
_FIRST: Final = 20
_ONE_IN: Final = 64


class Entered:
    """Calls `tell` with each code object that begins to run, while it is on, and while `counts` answers True: other
    threads of the process may run, too.
    """

    def __init__(self, tell: Callable[[CodeType, FrameType], None], counts: Callable[[], bool]) -> None:
        self._tell, self._counts = tell, counts
        self._tool = -1
        self._executions = 0
        self._is_watching = False
        self.is_blind = _MONITORING is None
        """Whether nothing is seen now."""
        self._has_watched = False
        """Whether some thread may still have the hook: each is rid of it when it rests."""

    def begin(self) -> None:
        """Forget what has been seen, and begin again.

        Raises:
            ValueError: a profiler is on. The explorer would take its place, or end in it: `cProfile` mixes up threads
                that take turns, and may never end where they are free.
        """
        self._executions = 0
        if not self._is_watching and _is_profiled():
            raise ValueError("a profiler is on, such as cProfile, which explore cannot work with: use one that samples")
        if _MONITORING is None:
            return
        if self._tool < 0:
            free = [each for each in (4, 3, 1, 0, 2) if _MONITORING.get_tool(each) is None]
            if not free:
                raise ValueError("no tool of sys.monitoring is free, so what runs cannot be seen")
            self._tool = free[0]
            _MONITORING.use_tool_id(self._tool, "stress.explore")
            events = _MONITORING.events
            for event in (events.PY_START, events.PY_RESUME):
                _MONITORING.register_callback(self._tool, event, self._has_started)
            _MONITORING.set_events(self._tool, events.PY_START | events.PY_RESUME)
        _MONITORING.restart_events()

    def end(self) -> None:
        """See nothing any more."""
        if self._tool >= 0:
            _MONITORING.set_events(self._tool, 0)
            _MONITORING.free_tool_id(self._tool)
            self._tool = -1
        self.rest()

    def _has_started(self, code: CodeType, _: int) -> Any:
        if not self._counts():
            return None
        self._tell(code, sys._getframe(1))
        return _MONITORING.DISABLE

    # Before Python 3.12.

    def next_execution(self) -> bool:
        """Whether the next execution is one to watch from its beginning."""
        self._executions += 1
        self._has_watched = self._is_watching
        return self._executions <= _FIRST or self._executions % _ONE_IN == 0

    def watch(self) -> None:
        """See what begins to run from now on."""
        if _MONITORING is None:
            self._is_watching = self._has_watched = True
            self.is_blind = False
            sys.setprofile(self._profile)

    def rest(self) -> None:
        """See nothing until `watch` is called again."""
        if self._has_watched:
            self._is_watching = False
            self.is_blind = _MONITORING is None
            if getattr(sys.getprofile(), "__func__", None) is Entered._profile:
                sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and not frame.f_code.co_filename.startswith(HERE):
            self._tell(frame.f_code, frame)


def _is_profiled() -> bool:
    """Whether somebody else is told which functions run."""
    hook = sys.getprofile()
    own = getattr(hook, "__func__", None) is Entered._profile
    return (hook is not None and not own) or (
        _MONITORING is not None and _MONITORING.get_tool(_MONITORING.PROFILER_ID) == "cProfile"
    )


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """The code, and those of functions and classes within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_in(each)


def functions_of(codes: Mapping[int, CodeType], roots: Iterable[Any] = ()) -> list[FunctionType]:
    """The functions that have one of these codes. A free-threaded build does not tell of all of them who refers to
    their code, nor does any of what `gc.freeze` hides, so all that `roots` and the modules refer to is searched there.
    """
    found = {id(each): each for each in (gc.get_referrers(*codes.values()) if codes else ()) if _is_function(each)}
    missing = _with_functions(codes) - {id(each.__code__) for each in found.values()}
    files = {each.co_filename for each in codes.values()}
    modules = list(sys.modules.values())
    near = [each for each in modules if getattr(each, "__file__", None) in files]
    for places in ([*roots, *near], modules) if _FORGETS or gc.get_freeze_count() else ():
        if missing:
            for each in _functions_behind(places):
                if id(each.__code__) in codes:
                    found[id(each)] = each
                    missing.discard(id(each.__code__))
    return list(found.values())


_FORGETS: Final = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
_OPTIMIZED: Final = 1


def _is_function(each: Any) -> bool:
    return type(each) is FunctionType


def _with_functions(codes: Mapping[int, CodeType]) -> set[int]:
    """Those of the codes that a function has while none of them runs: bodies of classes and modules have none, and
    functions within others are made anew.
    """
    inner = {id(each) for code in codes.values() for each in code.co_consts if isinstance(each, CodeType)}
    return {key for key, code in codes.items() if code.co_flags & _OPTIMIZED} - inner


def _functions_behind(places: Iterable[Any]) -> Iterator[FunctionType]:
    """The functions among all objects that are referred to from these places."""
    waiting = [vars(each) if isinstance(each, ModuleType) else each for each in places]
    seen = {id(getattr(each, "__dict__", None)) for each in list(sys.modules.values())}
    while waiting:
        more = []
        for each in gc.get_referents(*waiting):
            if id(each) not in seen:
                seen.add(id(each))
                kind = type(each)
                if kind is FunctionType:
                    yield each
                    more += [each.__closure__, each.__defaults__, each.__kwdefaults__, each.__dict__]
                    if id(each.__globals__) not in seen:  # of code without a module
                        more.append(each.__globals__)
                elif kind not in _LEAVES:
                    more.append(each)
                    if not kind.__flags__ & _IS_COLLECTED and kind.__dictoffset__:
                        more.append(space_of(each))  # the collector does not tell of it
        waiting = more


_IS_COLLECTED: Final = 1 << 14
_LEAVES: Final = frozenset({str, bytes, int, float, bool, type(None), CodeType, ModuleType, complex, range})


def reachable(roots: Iterable[Any]) -> list[CodeType]:
    """The codes of functions and classes, and of those that their code names, or finds in what it names: tables of
    functions, objects with methods. More may run, and not all of these will: it saves the time to find them one after
    another. And nothing else may tell of one that C code calls in few executions.
    """
    waiting, seen = list(roots), dict[int, Any]()
    found: list[CodeType] = []
    while waiting and len(found) < _MOST_REACHABLE and len(seen) < _MOST_SEEN:
        each = waiting.pop()
        each = each.__func__ if type(each) in _OF_FUNCTIONS else each
        if id(each) in seen or type(each) in _LEAVES:
            continue
        seen[id(each)] = each
        if is_a(each, type):
            if not is_of_c(each) and not is_ours(module_of(each)):
                waiting += [base for base in each.__mro__[1:] if base is not object]
                waiting += vars(each).values()
        elif type(each) is not FunctionType:
            kind = kind_of(type(each))
            if not is_a(each, dict) or not is_namespace(each):
                waiting += [type(each)] * (kind is PLAIN) + [part for part, _ in parts_of(each, kind)]
        elif treatment_of(each.__code__) is Treatment.EXPLORED and not is_ours(each.__module__):
            found.append(each.__code__)
            names = {name for code in codes_in(each.__code__) for name in code.co_names}
            known = [each.__globals__[name] for name in names if name in each.__globals__]
            behind = [value for value in known if is_a(value, (FunctionType, type))]
            waiting[:0] = [value for value in known if not is_a(value, (FunctionType, type))]  # these at last
            waiting += [*behind, getattr(each, "__wrapped__", None), *map(content_of, each.__closure__ or ())]
    return found


_OF_FUNCTIONS: Final = (MethodType, staticmethod, classmethod)
_MOST_REACHABLE: Final = 300
_MOST_SEEN: Final = 5_000
