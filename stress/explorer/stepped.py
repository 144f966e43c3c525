"""The functions of a program that have steps in an exploration."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from stress.explorer.codes import CALLING, copy_of
from stress.explorer.entered import functions_of
from stress.explorer.knowledge import Knowledge

__all__ = ["Stepped"]


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
