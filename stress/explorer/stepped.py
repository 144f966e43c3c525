"""The functions of a program that have steps in an exploration, the copies of their codes, which are kept from one
exploration to the next, and the code of whoever calls an object.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FrameType, FunctionType
from typing import Any, Final
from weakref import WeakKeyDictionary

from stress.explorer.entered import codes_in, functions_of
from stress.explorer.instrumentation import with_steps
from stress.explorer.sharing import Knowledge

__all__ = ["CALLER", "CALLING", "Stepped", "caller_of", "copy_of", "does_something", "only_names_classes"]


class Stepped:
    """Gives the functions of a program steps, and takes them back."""

    def __init__(self) -> None:
        self.roots: list[Any] = []
        """What leads to functions."""
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
            self._functions = functions_of(knowledge.codes, self.roots)
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
    here = variables & {*_names_in(code)}
    known = _copies.get((id(code), here))
    if known is None:
        parts: dict[int, CodeType] = {}
        known = _copies[id(code), here] = code, with_steps(code, here, parts), parts
    made.update(known[2])
    return known[1]


def _names_in(code: CodeType) -> Iterator[str]:
    for each in codes_in(code):
        yield from (*each.co_names, *each.co_cellvars, *each.co_freevars)


def does_something(code: CodeType) -> bool:
    """Whether code accesses anything but its own variables."""
    return bool(code.co_names or code.co_freevars)


_NAMING: Final = frozenset({
    "RESUME", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_CONST", "LOAD_FAST", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_SMALL_INT", "BUILD_TUPLE", "BINARY_SUBSCR", "BINARY_OP", "PUSH_NULL",
    "PRECALL", "CALL", "CACHE", "RETURN_VALUE", "RETURN_CONST", "COPY_FREE_VARS", "NOT_TAKEN",
})  # fmt: skip


def only_names_classes(code: CodeType, frame: FrameType) -> bool:
    """Whether code only puts classes together, as an annotation does that is evaluated, or makes a tuple of what it is
    given, as `__new__` of a named tuple does.
    """
    if any(each.opname not in _NAMING for each in dis.get_instructions(code)):
        return False
    spaces = (frame.f_locals, frame.f_globals, frame.f_builtins)
    found = [next((each[name] for each in spaces if name in each), None) for name in code.co_names]
    return all(isinstance(each, type) or each == tuple.__new__ for each in found)


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
