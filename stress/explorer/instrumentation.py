"""Functions with steps: a copy of a function's code that announces every access of what threads may share.

The copy does what the original does, instruction by instruction. Before an instruction that reads or changes something,
it looks up the instruction's operands in a *site* (`sites`), which makes the step. So nothing depends on the source, on
names that the compiler changes, or on how a function is reached. The codes of inner functions are copied, too.

Code objects are taken apart and put together again, for CPython 3.11 to 3.14. A code object is a list of
`Instruction`. Jumps and exception tables refer to instructions, not to offsets, so that instructions can be added
anywhere. A jump to an instruction arrives at what was inserted before it. The lines of tracebacks stay what they were.
"""

from __future__ import annotations

import dis
import opcode
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from types import CodeType
from typing import Any, Final

from stress.explorer import sites
from stress.processes import gil_enabled

__all__ = ["with_steps"]

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


# --------------------------------------------------------------------------------------------------- what is inserted


_VERSION: Final = sys.version_info[:2]
_SUBSCRIPT: Final = (
    Instruction(OP["BINARY_SUBSCR"]) if "BINARY_SUBSCR" in OP else Instruction(OP["BINARY_OP"], 26)
)  # NB_SUBSCR
_METHOD_FIRST: Final = _VERSION < (3, 13)
"""Whether the place for `self`, or nothing, lies below a callable on the stack, and not above it."""
_ITERATOR_AT: Final = 1 + dis.stack_effect(OP["GET_ITER"])
"""The depth of an iterator in a loop. Some versions of 3.14 have an index above it, and take the items of a list or a
tuple from it without an iterator.
"""
_TRUTH: Final = frozenset(
    name for name in OP if name.startswith(("POP_JUMP_", "JUMP_IF_")) and "NONE" not in name
) | {"UNARY_NOT", "TO_BOOL"}  # fmt: skip
_IS_TRUTH_ALREADY: Final = frozenset({"COMPARE_OP", "CONTAINS_OP", "IS_OP", "UNARY_NOT", "TO_BOOL"})
_LOAD_CELL: Final = OP["LOAD_CLOSURE" if OP.get("LOAD_CLOSURE", 256) < 256 else "LOAD_FAST"]
_INPLACE: Final = 13
"""The least argument of a BINARY_OP that changes its left operand."""
_IS_DIVIDED: Final = not gil_enabled()
"""Whether other threads may run while one instruction reads several things that Python's own types hold."""
_ITEM: Final = partial(sites.Uses, does="read_item")
_PUT: Final = partial(sites.Uses, does="change_item")
_CHANGED: Final = partial(sites.Uses, does="use", name="first")
_NEXT: Final = partial(sites.Tells, does="take_next")
_WHOLE: Final = partial(sites.Reads, does="use", name="shallow")
_DEEP: Final = partial(sites.Reads, does="use", name="read")
_READ_BY_ONE: Final = "use_in_parts" if _IS_DIVIDED else "use"
_IN_PARTS: Final = partial(sites.Reads, does=_READ_BY_ONE, name="shallow")
_LOOKS: Final[dict[str, tuple[Any, ...]]] = {
    "BINARY_SUBSCR": (_ITEM, 2, 1),
    "BINARY_SLICE": (_ITEM, 3, 2),
    "STORE_SUBSCR": (_PUT, 2, 1, 3),
    "DELETE_SUBSCR": (_PUT, 2, 1),
    "STORE_SLICE": (partial(sites.Uses, does="change_item", name="slice"), 3, 2, 4),
    "COMPARE_OP": (partial(sites.Uses, does="use", name="read"), 2, 1),
    "FOR_ITER": (_NEXT, _ITERATOR_AT),
    "SEND": (_NEXT, 2),
    "UNPACK_SEQUENCE": (_IN_PARTS, 1),
    "UNPACK_EX": (_IN_PARTS, 1),
    "MATCH_KEYS": (_IN_PARTS, 2),
    "IMPORT_FROM": (sites.LoadAttribute, 1),
    "STORE_ATTR": (partial(sites.Tells, does="store"), 1),
    "DELETE_ATTR": (partial(sites.Tells, does="store"), 1),
    "MATCH_CLASS": (partial(sites.Reads, does=_READ_BY_ONE, name="get"), 3),
    "CONTAINS_OP": (_DEEP, 1),  # what is in there is compared
    "FORMAT_VALUE": (_DEEP, 1),
    "FORMAT_SIMPLE": (_DEEP, 1),
    "FORMAT_WITH_SPEC": (_DEEP, 2),
    "CONVERT_VALUE": (_DEEP, 1),
    **dict.fromkeys((
        "GET_ITER", "GET_LEN", "GET_YIELD_FROM_ITER", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE",
    ), (_WHOLE, 1)),
}  # fmt: skip
"""The site of each of these instructions, and at which depths of the stack it looks."""
_CHANGES: Final = (_CHANGED, 2, 1)
_NAMED: Final = frozenset({"IMPORT_FROM", "STORE_ATTR", "DELETE_ATTR"})
_BUILDS: Final = frozenset({"BUILD_LIST", "BUILD_SET", "BUILD_MAP", "BUILD_CONST_KEY_MAP"})


def with_steps(code: CodeType, variables: frozenset[str], made: dict[int, CodeType]) -> CodeType:
    """The code with steps. `variables` are the names of modules' and of outer functions' variables that change. `made`
    gets all codes with steps, by their identity.
    """
    return _Copy(code, variables, made).done()


class _Copy:
    """The copying of one code object."""

    def __init__(self, code: CodeType, variables: frozenset[str], made: dict[int, CodeType]) -> None:
        self._code, self._variables, self._made = code, variables, made
        self._consts: list[Any] = [
            with_steps(each, variables, made) if isinstance(each, CodeType) else each for each in code.co_consts
        ]
        self._instructions, self._ranges = disassembled(code)
        self._extra = 3
        self._decorators: set[int] = set()
        self._local = (*code.co_varnames, *(each for each in code.co_cellvars if each not in code.co_varnames))
        self._targets = {id(each.target) for each in self._instructions if each.target is not None}

    def done(self) -> CodeType:
        """The copy."""
        past: list[Instruction] = []
        pending: list[Instruction] = []
        for each in self._instructions:
            if each.name in ("KW_NAMES", "PRECALL"):  # what is inserted for a call comes before these
                pending.append(each)
                continue
            start = pending[0] if pending else each
            pending = []
            self._insert(each, start, past)
            past.append(each)
        copy = assembled(self._code, self._instructions, self._ranges, tuple(self._consts), self._extra)
        self._made[id(copy)] = copy
        return copy

    # ------------------------------------------------------------------------------------------ what can be inserted

    def _const(self, value: Any) -> Instruction:
        self._consts.append(value)
        return Instruction(OP["LOAD_CONST"], len(self._consts) - 1)

    def _subscript(self) -> Instruction:
        return Instruction(_SUBSCRIPT.op, _SUBSCRIPT.arg)

    def _look(self, site: sites.Site, *depths: int) -> list[Instruction]:
        """Look the operands at these depths of the stack up in a site; it sees one, or a tuple of several. That of a
        call always sees a tuple.
        """
        copies = [Instruction(OP["COPY"], depth + 1 + number) for number, depth in enumerate(depths)]
        is_group = len(depths) > 1 or type(site) is sites.Call
        build = [Instruction(OP["BUILD_TUPLE"], len(depths))] if is_group else []
        self._extra = max(self._extra, len(depths) + 2)
        return [self._const(site), *copies, *build, self._subscript(), Instruction(OP["POP_TOP"])]

    def _tell(self, site: sites.Site, load: Instruction | None = None) -> list[Instruction]:
        """Tell a site that this place is passed, with what is loaded for it."""
        return [self._const(site), load or self._const(None), self._subscript(), Instruction(OP["POP_TOP"])]

    def _exchange(self, site: sites.Site) -> list[Instruction]:
        """Put what a site answers in the place of the top of the stack."""
        return [self._const(site), Instruction(OP["SWAP"], 2), self._subscript()]

    # ------------------------------------------------------------------------------------------------ what is inserted

    def _insert(self, each: Instruction, start: Instruction, past: list[Instruction]) -> None:
        name, arg, code = each.name, each.arg, self._code
        line = each.line or code.co_firstlineno
        before, previous = start.before, past[-1] if past else None
        if _is_turn(each):
            before += self._tell(sites.Tells(code, line, "turn"))
        if name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            self._load_attribute(each, line)
        elif name in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
            known = code.co_names[arg >> 1 if name == "LOAD_GLOBAL" else arg]
            if "LOAD" not in name:
                before += self._tell(sites.Tells(code, line, "change_global", known))
            elif known in self._variables and (name == "LOAD_GLOBAL" or code.co_name == "<module>"):
                before += self._tell(sites.Tells(code, line, "read_global", known))
        elif name in ("LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF"):
            self._variable(each, name != "LOAD_DEREF", line)
        elif name == "BINARY_OP":
            looks = _LOOKS["BINARY_SUBSCR"] if arg == 26 else _CHANGES if arg >= _INPLACE else _LOOKS["COMPARE_OP"]
            before += self._look(looks[0](code, line), *looks[1:])
        elif name in _LOOKS:
            site, *depths = _LOOKS[name]
            has_spec = name == "FORMAT_VALUE" and arg & 4
            named = {"name": code.co_names[arg]} if name in _NAMED else {}
            before += self._look(site(code, line, **named), *([2] if has_spec else depths))
        elif name in _TRUTH:
            told = previous is not None and previous.name in _IS_TRUTH_ALREADY and id(each) not in self._targets
            if not told:
                before += self._look(_WHOLE(code, line), 1)
        elif name in ("BEFORE_WITH", "BEFORE_ASYNC_WITH", "LOAD_SPECIAL"):
            before += self._exchange(sites.LoadAttribute(code, line, name="__enter__"))
        elif name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX"):
            self._call(each, before, line, past)
        elif name in ("RETURN_VALUE", "YIELD_VALUE", "RETURN_CONST"):
            before += self._tell(sites.Tells(code, line, "go_on"))
        elif name in _BUILDS or (name == "MAKE_FUNCTION" and self._is_named(previous)):
            each.after += self._look(sites.Tells(code, line, "note_made"), 1)

    def _is_named(self, code: Instruction | None) -> bool:
        """Whether the function of a code has a name, and may have attributes: comprehensions are functions, too."""
        return code is not None and code.name == "LOAD_CONST" and self._code.co_consts[code.arg].co_name[0] != "<"

    def _load_attribute(self, each: Instruction, line: int) -> None:
        """Methods are loaded like other attributes, so that a call has its callable in the same place always."""
        code, arg, name = self._code, each.arg, each.name
        shift = {"LOAD_METHOD": 0, "LOAD_ATTR": _VERSION >= (3, 12), "LOAD_SUPER_ATTR": 2}[name]
        is_method = name == "LOAD_METHOD" or (_VERSION >= (3, 12) and bool(arg & 1))
        attribute = code.co_names[arg >> int(shift)]
        if name == "LOAD_SUPER_ATTR":
            each.before += self._look(sites.LoadAttribute(code, line, name=attribute), 1)
        else:
            each.before += self._exchange(sites.LoadAttribute(code, line, name=attribute))
        if not is_method:
            return
        if name == "LOAD_METHOD":
            each.op = OP["LOAD_ATTR"]
        else:
            each.arg = arg & ~1
        each.after.append(Instruction(OP["PUSH_NULL"]))
        if _METHOD_FIRST:
            each.after.append(Instruction(OP["SWAP"], 2))

    def _variable(self, each: Instruction, changes: bool, line: int) -> None:
        """A variable that functions within each other share. The closure's cell is the place."""
        code = self._code
        names = (*self._local, *code.co_freevars)
        variable = names[each.arg] if each.arg < len(names) else ""
        if not variable or not (changes or variable in self._variables):
            return
        load = Instruction(_LOAD_CELL, each.arg)
        site = sites.Tells(code, line, "change_variable" if changes else "read_variable", variable)
        each.before += self._tell(site, load)

    def _call(self, each: Instruction, before: list[Instruction], line: int, past: list[Instruction]) -> None:
        code, arg = self._code, each.arg
        if each.name == "CALL_FUNCTION_EX":
            with_names = 1 if _VERSION >= (3, 14) else arg & 1
            given = 1 + with_names
            before += self._look(
                sites.CallWithAll(code, line, name="shallow"), given + (1 if _METHOD_FIRST else 2), given
            )
            return
        names = int(each.name == "CALL_KW")
        each_given = [names + number for number in range(arg, 0, -1)]
        if _METHOD_FIRST:
            depths = [arg + 2, arg + 1, *each_given] if self._is_below(each, past) else [arg + 1, *each_given]
        else:
            depths = [names + arg + 2, *each_given]
        before += self._look(sites.Call(code, line), *depths)

    def _is_below(self, call: Instruction, past: list[Instruction]) -> bool:
        """Whether the callable of a call lies below its first argument: a decorator of a function, a comprehension, the
        end of `with`, and an assertion with a message. In others nothing lies there, put by an instruction. (A class is
        decorated in that way, too: that looks as if the class were called.)
        """
        last = past[-1]
        if call.arg == 2:
            of_none = [each.name == "LOAD_CONST" and self._consts[each.arg] is None for each in past[-3:]]
            return of_none == [True] * 3 and past[-4].name != "PUSH_NULL"
        if call.arg:
            return False
        is_decorator = last.name == "MAKE_FUNCTION" and self._code.co_consts[past[-2].arg].co_name[0] != "<"
        asserts = [each.name for each in past if each.name in ("LOAD_ASSERTION_ERROR", "RAISE_VARARGS")]
        raises = self._instructions[self._instructions.index(call) + 1].name == "RAISE_VARARGS"
        if is_decorator or last.name in ("GET_ITER", "GET_AITER") or id(last) in self._decorators:
            self._decorators.add(id(call))
            return True
        return raises and asserts[-1:] == ["LOAD_ASSERTION_ERROR"]


def _is_turn(jump: Instruction) -> bool:
    """Whether an instruction jumps back to a loop that asks no iterator for its items."""
    target = jump.target
    is_loop = "BACKWARD" in jump.name and "NO_INTERRUPT" not in jump.name
    return is_loop and target is not None and target.name not in ("FOR_ITER", "GET_ANEXT")
