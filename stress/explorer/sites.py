"""Sites: the places in code where threads may access what they share. Instrumented code looks the operands of an
instruction up in its site, just before it executes the instruction.

A site knows which instruction it stands for. What an access means for the objects that threads share is decided by the
state of the exploration (`plain_state`), which is there only while an exploration runs.
"""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, Final

from stress.explorer.kinds import PLAIN, QUIET, Kind, kind_of
from stress.explorer.synchronization import refuse_private

__all__ = ["Call", "CallWithAll", "LoadAttribute", "Reads", "Site", "Tells", "Uses", "use"]

_GROUPS: Final = (tuple, frozenset)
"""They never change; what they hold may."""
_state: Any = None
_sites: list[Site] = []


def use(state: Any) -> None:
    """Let sites report to this state; None: to nobody."""
    global _state
    _state = state
    for each in _sites:
        each.known.clear()


class _Kinds(dict[type, Kind]):
    """The kinds of types. Of one that is met for the first time it is not known what it leads to, so the state is
    told."""

    def __missing__(self, of: type) -> Kind:
        kind = self[of] = kind_of(of)
        _state.meets_new()
        return kind


class Site:
    """The instruction of `code` at a line. `does` is the method of the state that is told of it, and `name` what that
    method knows. `known` are the types that it has met in this exploration.
    """

    __slots__ = ("code", "does", "known", "line", "name")

    def __init__(self, code: CodeType, line: int, does: str = "", name: str = "") -> None:
        self.code, self.line, self.does, self.name = code, line, does, name
        self.known = _Kinds()
        _sites.append(self)

    def __str__(self) -> str:
        return f"{self.code.co_filename}:{self.line}, in {self.code.co_qualname}"

    @property
    def place(self) -> str:
        """The function and the line, for names."""
        return f"{self.code.co_qualname}, line {self.line}"


class LoadAttribute(Site):
    """Reads an attribute of its operand; answers the operand, or the explored primitive that stands for it."""

    def __getitem__(self, owner: Any) -> Any:
        if _state is None:
            return owner
        kind = self.known[type(owner)]
        if kind is PLAIN and self.name != "__dict__":
            if self.name in _state.names:
                _state.read_attribute(owner, self.name)
            return owner
        if kind is QUIET:
            if self.name[0] == "_":
                refuse_private(owner, self.name, False, self)
            return owner
        return _state.load(self, kind, owner)


class Tells(Site):
    """Tells the state what the instruction is about to do with its operand."""

    def __getitem__(self, operand: Any) -> None:
        if _state is not None:
            getattr(_state, self.does)(self, operand)


class Reads(Site):
    """The same, of an operand that is read, unless it never changes."""

    def __getitem__(self, operand: Any) -> None:
        if _state is not None:
            of = type(operand)
            if self.known[of] is not QUIET or (of in _GROUPS and self.name == "read"):
                getattr(_state, self.does)(self, (operand,))


class Uses(Site):
    """The same, of an operand with others, of which the second one may be compared, unless neither ever changes."""

    def __getitem__(self, operands: tuple[Any, ...]) -> None:
        if _state is not None:
            first, second = type(operands[0]), type(operands[1])
            kinds = self.known[first], self.known[second]
            if kinds != _BOTH_QUIET or tuple in (first, second):
                getattr(_state, self.does)(self, operands)


_BOTH_QUIET: Final = (QUIET, QUIET)


class Call(Site):
    """Calls its first operand with the others."""

    def __getitem__(self, operands: tuple[Any, ...]) -> None:
        if _state is not None:
            _state.call(self, operands[0], operands[1:])


class CallWithAll(Site):
    """Calls its first operand with the items of the second one."""

    def __getitem__(self, operands: tuple[Any, Any]) -> None:
        if _state is not None:
            callee, given = operands
            if type(given) is not tuple:
                _state.use(self, (given,))
                kind = kind_of(type(given))
                gives = kind in (Kind.CONTAINER, Kind.VIEW) and type(type(given).__iter__) is not FunctionType
                given = (*given, given) if gives else (given,)
            _state.call(self, callee, given)
