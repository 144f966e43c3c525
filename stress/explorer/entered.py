"""Sees which Python functions begin to run, and gives them steps. The copies of their codes are kept from one
exploration to the next.

`sys.monitoring` tells of each code object once, at no further cost. Before Python 3.12 only `sys.setprofile` can tell,
and it slows everything down. So it is on only in some executions (`watch`): the first ones, one in so many later, and
every one from the moment at which an instruction meets something that it has not met before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain
from types import CodeType, FrameType, FunctionType
from typing import Any, Final
from weakref import WeakKeyDictionary

from stress.explorer.containers import is_a
from stress.explorer.instrumentation import with_steps
from stress.explorer.policy import HERE, Treatment, treatment_of
from stress.explorer.sharing import Knowledge
from stress.explorer.substitution import all_functions

__all__ = [
    "CALLER", "CALLING", "Entered", "Stepped", "caller_of", "codes_in", "codes_near", "copy_of", "does_something",
]  # fmt: skip

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


def codes_near(things: Iterable[Any]) -> list[CodeType]:
    """The codes of all functions in the files of some functions and classes, and of what these name. Not all of these
    will run: it saves the time to find those that do, one after another. And nothing else may tell of one that C code
    calls in few executions, or of how an object ends that is not ready when the first execution does.
    """
    near = [*things]
    for _ in ("their functions and classes", "what these name", "its functions"):
        near += [behind for each in near for behind in _behind(each)]
    files = {each.__code__.co_filename for each in near if type(each) is FunctionType}
    codes = [each.__code__ for each in all_functions() if each.__code__.co_filename in files]
    return [code for code in codes if treatment_of(code) is Treatment.EXPLORED]


def _behind(thing: Any) -> list[Any]:
    if is_a(thing, type):
        return [each for base in thing.__mro__ for each in vars(base).values()]
    return [thing.__globals__.get(name) for name in thing.__code__.co_names] if type(thing) is FunctionType else []


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """The code, and those of functions and classes within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_in(each)


class Stepped:
    """Gives the functions of a program steps, and takes them back."""

    def __init__(self) -> None:
        self.made: dict[int, CodeType] = {}
        """The codes that may run as they are."""
        self.alike: dict[CodeType, CodeType] = {}
        """The codes that have steps, each with its copy: code that is compiled in every execution is equal to one."""
        self._functions: list[FunctionType] = []
        self._codes: set[int] = set()
        """The codes whose functions these are. Any that has been made since was made by code with steps, and has such
        code itself."""
        self._swapped: list[tuple[FunctionType, CodeType]] = []
        self._met: WeakKeyDictionary[FunctionType, CodeType] = WeakKeyDictionary()

    def give(self, knowledge: Knowledge) -> None:
        """Let the codes that are known have steps."""
        variables = frozenset(knowledge.variables)
        self.made.clear()
        self.made.update(CALLING)
        copies = {key: copy_of(code, variables, self.made) for key, code in knowledge.codes.items()}
        self.alike = {knowledge.codes[key]: copy for key, copy in copies.items()}
        if self._codes != knowledge.codes.keys():
            self._functions = [each for each in all_functions() if id(each.__code__) in knowledge.codes]
            self._codes = set(knowledge.codes)
        for function in self._functions:
            code = function.__code__
            if id(code) in copies:
                self._swapped.append((function, code))
                function.__code__ = copies[id(code)]

    def give_one(self, function: FunctionType, copy: CodeType) -> None:
        """Let a function have steps that is met when it is called."""
        self._met.setdefault(function, function.__code__)
        function.__code__ = copy

    def take_back(self) -> None:
        """Give the functions their own codes again. One that has got steps twice would end the process."""
        for function, code in (*self._met.items(), *reversed(self._swapped)):
            function.__code__ = code
        self._swapped.clear()
        self._met.clear()


_copies: dict[tuple[int, frozenset[str]], tuple[CodeType, CodeType, dict[int, CodeType]]] = {}


def copy_of(code: CodeType, variables: frozenset[str], made: dict[int, CodeType]) -> CodeType:
    """The code with steps, which is kept for the next exploration."""
    named = ((*each.co_names, *each.co_cellvars, *each.co_freevars) for each in codes_in(code))
    here = variables & {*chain.from_iterable(named)}
    known = _copies.get((id(code), here))
    if known is None:
        parts: dict[int, CodeType] = {}
        known = _copies[id(code), here] = code, with_steps(code, here, parts), parts
    made.update(known[2])
    return known[1]


def does_something(code: CodeType) -> bool:
    """Whether code accesses anything but its own variables."""
    return bool(code.co_names or code.co_freevars)


CALLER: Final = "<a caller>"
"""Where callers say that their code lies."""
CALLING: Final[dict[int, CodeType]] = {}
"""The codes of callers, by identity. They have steps."""


@cache
def caller_of(op: str) -> Callable[..., Any]:
    """A function that calls the method `op` of its first argument with the others, as user's code: it looks a method up
    when it calls it, and both are steps if they touch what threads share. So an object may replace its methods, and a
    method may be written in C.
    """
    names: dict[str, Any] = {"__name__": "a caller"}
    exec(compile(f"def call(made, *args): return getattr(made, {op!r})(*args)", CALLER, "exec"), names)
    function: FunctionType = names["call"]
    function.__code__ = with_steps(function.__code__, frozenset(), CALLING)
    return function
