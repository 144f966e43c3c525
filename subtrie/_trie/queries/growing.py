"""Bytes, texts and bits that grow, in Arrow's layout.

This is the interpreted text. In the compiled twin (`growing.pyx`, `columns.h`) they are bytes of C.
"""

from __future__ import annotations

import itertools
from array import array
from typing import Any


class Growing:
    """Bytes; or integers of 32 bits, each of which is four bytes."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    @property
    def used(self) -> int:
        return len(self.data)


class GrowingTexts:
    """Texts as UTF-8, one after another, and where each begins (one more than texts)."""

    __slots__ = ("offsets", "text")

    def __init__(self) -> None:
        self.offsets, self.text = Growing(), Growing()


class Bits:
    """Bits, how many there are, and how many of them are clear."""

    __slots__ = ("bits",)

    def __init__(self) -> None:
        self.bits: list[bool] = []

    @property
    def count(self) -> int:
        return len(self.bits)


def add(g: Growing, text: bytes) -> None:
    """Add bytes."""
    g.data += text


def add_part(g: Growing, other: Growing, start: int, end: int) -> None:
    """Add a part of other bytes."""
    g.data += other.data[start:end]


def add_text(g: Growing, text: str) -> bool:
    """Add a text as UTF-8. False, and nothing is added, where it has a lone surrogate."""
    try:
        g.data += text.encode()
    except UnicodeEncodeError:
        return False
    return True


def add_int(g: Growing, number: int) -> None:
    """Add an integer of 32 bits."""
    g.data += array("i", [number]).tobytes()


def add_number(g: Growing, number: int) -> bool:
    """Add an integer's digits. False: it has more than 64 bits, and nothing is added."""
    if not -(1 << 63) <= number < 1 << 63:
        return False
    g.data += repr(number).encode()
    return True


def add_bit(column: Bits, bit: bool) -> None:
    """Add a bit."""
    column.bits.append(bit)


def add_branch(g: Growing, branch: Any, marked: bool) -> bool:
    """Add a branch's words, but for the mark, as `add_text`."""
    return add_text(g, branch.key[1:] if marked else branch.key)


def is_empty(branch: Any) -> bool:
    """Return whether a branch has no characters."""
    return branch.key == ""  # type: ignore[no-any-return]


def reads_as_integer(text: str) -> bool:
    """Return whether a text reads as an integer does when it is written."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit()


def cut(g: Growing, used: int) -> None:
    """Keep the first bytes only."""
    del g.data[used:]


def pop_int(g: Growing) -> int:
    """Take back the integer of 32 bits that was added last."""
    number: int = array("i", bytes(g.data[-4:]))[0]
    del g.data[-4:]
    return number


def drained(g: Growing) -> bytes:
    """Return what has been added, and begin again."""
    data, g.data = g.data, bytearray()
    return bytes(data)


def drained_bits(column: Bits) -> tuple[bytes | None, int]:
    """The same, of bits, and how many are clear; None: none is."""
    bits, column.bits = column.bits, []
    if all(bits):
        return None, 0
    packed = sum(1 << i for i, bit in enumerate(bits) if bit)
    return packed.to_bytes((len(bits) + 7) // 8, "little"), bits.count(False)


def set_flag(flag: Any) -> bool:
    """Set a flag of one item, and tell whether it was set before: columns are filled by one thread at a time."""
    before: bool = flag[0]
    flag[0] = True
    return before


def clear_flag(flag: Any) -> None:
    """Clear a flag."""
    flag[0] = False


def free_bytes(g: Any) -> None:
    """Give memory back. For the compiled twin, as is the next."""


def free_texts(column: GrowingTexts) -> None:
    """Give memory back."""


def strings(offsets: Any, text: Any) -> list[str]:
    """Return the texts of a column. ValueError if it is none: offsets out of order, bytes that are not UTF-8."""
    ends = array("i", bytes(offsets))
    content = bytes(text)
    if any(start > end for start, end in itertools.pairwise(ends)) or ends[0] < 0 or ends[-1] > len(content):
        raise ValueError("no text column: the offsets do not go on within the text")
    return [content[start:end].decode() for start, end in itertools.pairwise(ends)]
