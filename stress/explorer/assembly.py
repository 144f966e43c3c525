"""Code objects taken apart and put together again, with instructions inserted: for CPython 3.11 to 3.14.

A code object is a list of `Instruction`. Jumps and exception tables refer to instructions, not to offsets, so that
instructions can be added anywhere. A jump to an instruction arrives at what was inserted before it. The lines of
tracebacks stay what they were.
"""

from __future__ import annotations

import dis
import opcode
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final

__all__ = ["OP", "Instruction", "assembled", "disassembled"]

OP: Final = opcode.opmap
_EXTENDED_ARG: Final = OP["EXTENDED_ARG"]
_JUMPS: Final = frozenset({*opcode.hasjrel, *opcode.hasjabs})
_Range = tuple["Instruction", "Instruction | None", "Instruction", int]


def _caches_of_all() -> list[int]:
    """For each operation, how many units of cache follow it."""
    known: Any = getattr(opcode, "_inline_cache_entries")  # noqa: B009 - typeshed does not know it
    if isinstance(known, dict):
        return [known.get(name, 0) for name in opcode.opname]
    return [*known, *[0] * (256 - len(known))]


_CACHES: Final = _caches_of_all()
_exceptions_of: Final[Any] = getattr(dis, "_parse_exception_table")  # noqa: B009 - as above
_IS_BACKWARD: Final = frozenset(number for name, number in OP.items() if "BACKWARD" in name or name == "END_ASYNC_FOR")
"""Those of the jumps that go back. The end of `async for` is one since 3.14: it tells where it is reached from."""


@dataclass(eq=False, slots=True)
class Instruction:
    """An instruction, what was inserted `before` and `after` it, and the line that it came from. A jump
    has a `target`; its argument is worked out.
    """

    op: int
    arg: int = 0
    target: Instruction | None = None
    line: int | None = None
    before: list[Instruction] = field(default_factory=list)
    after: list[Instruction] = field(default_factory=list)
    at: int = 0

    @property
    def name(self) -> str:
        """The name of the operation."""
        return opcode.opname[self.op]

    def size(self) -> int:
        """Units that it takes, with its prefixes and its cache."""
        return 1 + (self.arg > 0xFF) + (self.arg > 0xFFFF) + (self.arg > 0xFFFFFF) + _CACHES[self.op]


def disassembled(code: CodeType) -> tuple[list[Instruction], list[_Range]]:
    """The instructions, and the ranges of the exception table: the first instruction, the first one after the range,
    the handler, and the depth of the stack there.
    """
    found: list[Instruction] = []
    starts: dict[int, Instruction] = {}
    jumps: list[tuple[Instruction, int]] = []
    units, lines = code.co_code, [line for line, *_ in code.co_positions()]
    at, begins, arg = 0, 0, 0
    while at < len(units):
        op, low = units[at], units[at + 1]
        arg = arg << 8 | low
        if op == _EXTENDED_ARG:
            at += 2
            continue
        each = Instruction(op, arg, None, lines[at // 2])
        starts[begins] = each
        at += 2 + 2 * _CACHES[op]
        if op in _JUMPS:
            jumps.append((each, at + 2 * (-arg if op in _IS_BACKWARD else arg)))
        found.append(each)
        begins, arg = at, 0
    for each, to in jumps:
        each.target = starts[to]
    ranges = [
        (starts[each.start], starts.get(each.end), starts[each.target], each.depth << 1 | each.lasti)
        for each in _exceptions_of(code)
    ]
    return found, ranges


def assembled(
    code: CodeType, instructions: Iterable[Instruction], ranges: Iterable[_Range], consts: tuple[Any, ...], extra: int
) -> CodeType:
    """A code object like `code`, of these instructions, which need up to `extra` more places on the stack."""
    first: dict[int, Instruction] = {}
    flat: list[Instruction] = []
    for each in instructions:
        before = each.before
        first[id(each)] = before[0] if before else each
        for new in (*before, *each.after):
            new.line = each.line
        flat += [*before, each, *each.after]
    _lay_out(flat, first)
    end = flat[-1].at + flat[-1].size()
    units = bytearray()
    for each in flat:
        for shift in (24, 16, 8):
            if each.arg >> shift:
                units += bytes((_EXTENDED_ARG, each.arg >> shift & 0xFF))
        units += bytes((each.op, each.arg & 0xFF)) + bytes(2 * _CACHES[each.op])
    table = bytearray()
    for start, stop, handler, depth in ranges:
        begin, at = first[id(start)].at, len(table)
        length = (end if stop is None else first[id(stop)].at) - begin
        table += b"".join(map(_varint, (begin, length, first[id(handler)].at, depth)))
        table[at] |= 128  # where an entry begins
    return code.replace(
        co_code=bytes(units),
        co_consts=consts,
        co_stacksize=code.co_stacksize + extra,
        co_exceptiontable=bytes(table),
        co_linetable=_lines(code.co_firstlineno, flat),
    )


def _lay_out(flat: list[Instruction], first: dict[int, Instruction]) -> None:
    """Give each instruction its place, and each jump its argument: a longer argument moves what follows."""
    moved = True
    while moved:
        at, moved = 0, False
        for each in flat:
            each.at = at
            at += each.size()
        for each in flat:
            if each.target is not None:
                size = each.size()
                distance = first[id(each.target)].at - each.at - size
                each.arg = -distance if each.op in _IS_BACKWARD else distance
                if each.arg < 0:
                    raise ValueError(f"a {each.name} in the wrong direction")
                moved = moved or each.size() != size


def _varint(value: int) -> bytes:
    """A number in the form of exception tables: six bits a unit, the highest first."""
    units = [value & 63]
    while value := value >> 6:
        units.append(value & 63 | 64)
    return bytes(reversed(units))


def _lines(line: int, flat: Iterable[Instruction]) -> bytes:
    """The table of positions: lines alone."""
    table = bytearray()
    for each in flat:
        for done in range(0, each.size(), 8):
            size = min(each.size() - done, 8)
            if each.line is None:
                table.append(0x80 | 15 << 3 | size - 1)
                continue
            table.append(0x80 | 13 << 3 | size - 1)  # a line without columns
            table += _low_first(_signed(each.line - line))
            line = each.line
    return bytes(table)


def _signed(value: int) -> int:
    return -value << 1 | 1 if value < 0 else value << 1


def _low_first(value: int) -> bytes:
    """A number in the form of position tables: six bits a unit, the lowest first."""
    units = bytearray()
    while value > 63:
        units.append(value & 63 | 64)
        value >>= 6
    units.append(value)
    return bytes(units)
