"""Sites: the places in code where threads may access what they share. Instrumented code looks the operands of an
instruction up in its site, just before it executes the instruction.

A site knows which instruction it stands for. What an access means for the objects that threads share is decided by the
state of the exploration (`plain_state`), which is there only while an exploration runs.
"""

from __future__ import annotations

from collections import deque
from types import CodeType, FunctionType
from typing import Any, Final

from stress.explorer.kinds import PLAIN, QUIET, Kind, kind_of
from stress.explorer.synchronization import refuse_private

__all__ = [
    "Call",
    "CallWithAll",
    "LoadAttribute",
    "LoadItem",
    "Next",
    "Operation",
    "Reads",
    "Site",
    "StoreAttribute",
    "StoreItem",
    "StoreSlice",
    "Tells",
    "use",
]  # fmt: skip

_ITERATED: Final[tuple[Any, ...]] = ([], (), {}, {}.values(), {}.items(), set(), deque(), range(1), "", "\xff", b"")
_ENDING: Final[frozenset[type]] = frozenset(type(iter(each)) for each in _ITERATED) | {type(reversed([]))}
"""Iterators that end by themselves: a loop over one waits for nobody."""
_GROUPS: Final = (tuple, frozenset)
"""They never change; what they hold may."""
_SLICE: Final = slice(None)
_OF_KEYS: Final = frozenset({int, str, bool, tuple, slice, type(None)})
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
    """The instruction of `code` at a line. `known` are the types that it has met in this exploration."""

    __slots__ = ("code", "known", "line")

    def __init__(self, code: CodeType, line: int) -> None:
        self.code, self.line = code, line
        self.known = _Kinds()
        _sites.append(self)

    def __str__(self) -> str:
        return f"{self.code.co_filename}:{self.line}, in {self.code.co_qualname}"

    @property
    def place(self) -> str:
        """The function and the line, for names."""
        return f"{self.code.co_qualname}, line {self.line}"


class _Named(Site):
    __slots__ = ("name",)

    def __init__(self, code: CodeType, line: int, name: str) -> None:
        super().__init__(code, line)
        self.name = name


class LoadAttribute(_Named):
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


class StoreAttribute(_Named):
    """Changes an attribute of its operand."""

    def __getitem__(self, owner: Any) -> None:
        if _state is not None:
            kind = self.known[type(owner)]
            if kind is QUIET:
                refuse_private(owner, self.name, True, self)
            _state.change_attribute(owner, self.name, kind)


class LoadItem(Site):
    """Reads an item; its operands are the container and the key."""

    def __getitem__(self, operands: tuple[Any, Any]) -> None:
        if _state is not None:
            owner, key = operands
            kind = self.known[type(owner)]
            if kind is not QUIET:
                if type(key) not in _OF_KEYS:
                    self.known[type(key)]  # what is looked up may be compared
                _state.read_item(self, kind, owner, key)


class StoreItem(Site):
    """Changes or removes an item; its operands are the container, the key, and the value if there is one."""

    def __getitem__(self, operands: tuple[Any, ...]) -> None:
        if _state is not None:
            owner, key, *values = operands
            kind = self.known[type(owner)]
            if type(key) not in _OF_KEYS:
                self.known[type(key)]
            _state.change_item(self, kind, owner, key, tuple(values))


class StoreSlice(StoreItem):
    """Puts a value in the place of some items; its operands are the container and the value."""

    def __getitem__(self, operands: tuple[Any, Any]) -> None:
        super().__getitem__((operands[0], _SLICE, operands[1]))


class Tells(_Named):
    """Tells the state, by its method `does`, what the instruction is about to do with its operand. What `name` is, the
    method knows.
    """

    __slots__ = ("_does",)

    def __init__(self, code: CodeType, line: int, does: str, name: str = "") -> None:
        super().__init__(code, line, name)
        self._does = does

    def __getitem__(self, operand: Any) -> None:
        if _state is not None:
            getattr(_state, self._does)(self, operand)


class Reads(Tells):
    """The same, of an operand that is read, unless it never changes."""

    def __getitem__(self, operand: Any) -> None:
        if _state is not None:
            of = type(operand)
            kind = self.known[of]
            if kind is not QUIET or (of in _GROUPS and self._does == "read_deep"):
                getattr(_state, self._does)(self, operand)


class Operation(Site):
    """An operator with two operands, of which it may change the left one."""

    __slots__ = ("_changes",)

    def __init__(self, code: CodeType, line: int, changes: bool) -> None:
        super().__init__(code, line)
        self._changes = changes

    def __getitem__(self, operands: tuple[Any, Any]) -> None:
        if _state is None:
            return
        left, right = type(operands[0]), type(operands[1])
        kind = self.known[left]
        other = self.known[right]
        if kind is QUIET and other is QUIET and tuple not in (left, right):
            return
        _state.operate(self, operands, self._changes)


class Next(Site):
    """Takes the next item of an iterator."""

    def __getitem__(self, iterator: Any) -> None:
        if _state is not None:
            of = type(iterator)
            kind = self.known[of]
            if of not in _ENDING:
                _state.count_turn(self)
            _state.take_next(self, kind, iterator)


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
                _state.read_whole(self, given)
                kind = kind_of(type(given))
                gives = kind in (Kind.CONTAINER, Kind.VIEW) and type(type(given).__iter__) is not FunctionType
                given = (*given, given) if gives else (given,)
            _state.call(self, callee, given)
