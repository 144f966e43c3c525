# distutils: extra_compile_args = SMALL
"""Criteria on texts: how they end, what is inside, which case they are in, and the addresses that they are.

The index files these by what is made of a text, its *views*; criteria.py names them. For the end of a text, that is the
text read backwards: a suffix is a prefix of that. For texts in any case, it is the text in one case. A wildcard pattern
is filed under how it begins, how it ends, or a short piece of it, since any text that matches has these, too.
"""

# ruff: noqa: D102 - the methods of criteria are those of Criterion, and are explained there

from __future__ import annotations

import ipaddress
import re
from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import untrack_constant
    from subtrie.fields.criteria import (
        ADDRESSES,
        FOLDED,
        FOLDED_REVERSED,
        LEADS,
        PIECES,
        RANGES,
        REVERSED,
        VALUES,
        Criterion,
        Key,
        Prefix,
        Spanned,
        Within,
        folded,
        plain,
        texts_from,
    )

from subtrie.fields.criteria import _checked_name
from subtrie.fields.short import short

LONGEST_PIECE = 3  # characters: enough for most pieces to be rare, and few enough for most patterns to have one

_TOKENS = re.compile(r"\*|\\.?|[^*\\]+", re.DOTALL)  # of a wildcard pattern
_AFTER_V4 = 1 << 32  # addresses of version 6 come after those of version 4, in one order


def _checked_text(text: Any, what: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{what} is a str, not {type(text).__name__}")
    return plain(text)


class EqualsIgnoringCase(Criterion):
    """EqualsIgnoringCase(name, text)\n--\n
    The field has this text, be it in upper or lower case. Each character is folded as Unicode says, as long as that
    gives one character: "ß" equals "ẞ", and not "ss".

    >>> EqualsIgnoringCase("state", "open").holds("OPEN")
    True
    """

    __slots__ = ("_folded", "text")
    text: str
    _folded: str

    def __init__(self, name: str, text: str) -> None:
        self.name = _checked_name(name)
        self.text = _checked_text(text, "a text")
        self._folded = folded(self.text)
        self.place = VALUES
        self.view = FOLDED

    def holds(self, value: Any) -> bool:
        return isinstance(value, str) and folded(value) == self._folded

    def values_filed(self) -> Any:
        return (self._folded,)

    def arguments(self) -> tuple[Any, ...]:
        return self.name, self.text


class Suffix(Spanned):
    """Suffix(name, suffix, ignore_case=False)\n--\n
    The field has a text that ends with `suffix`, a str; with `ignore_case=True`, upper and lower case are the same,
    as in `EqualsIgnoringCase`.

    >>> Suffix("file", ".png").holds("a.png"), Suffix("file", ".png", ignore_case=True).holds("A.PNG")
    (True, True)
    """

    __slots__ = ("_end", "ignore_case", "suffix")
    suffix: str
    ignore_case: bool
    _end: str

    def __init__(self, name: str, suffix: str, ignore_case: bool = False) -> None:
        self.name = _checked_name(name)
        self.suffix = _checked_text(suffix, "a suffix")
        self.ignore_case = bool(ignore_case)
        self._end = folded(self.suffix) if self.ignore_case else self.suffix
        self._span = texts_from(self.name, self._end[::-1])
        self.place = RANGES
        self.view = FOLDED_REVERSED if self.ignore_case else REVERSED

    def holds(self, value: Any) -> bool:
        return isinstance(value, str) and (folded(value) if self.ignore_case else plain(value)).endswith(self._end)

    def arguments(self) -> tuple[Any, ...]:
        return (self.name, self.suffix, True) if self.ignore_case else (self.name, self.suffix)


class Wildcard(Criterion):
    """Wildcard(name, pattern)\n--\n
    The field has a text that matches `pattern`, in which each `*` stands for any characters, or none. A backslash
    before `*` or another backslash takes its meaning away.

    Raises:
        ValueError: For two `*` side by side, and for a backslash before anything else.

    >>> Wildcard("file", "*/img-*.png").holds("a/b/img-7.png"), Wildcard("file", "img-*").holds("a/img-7")
    (True, False)
    """

    __slots__ = ("_leads", "parts", "pattern")
    pattern: str
    parts: tuple[str, ...]
    _leads: tuple[tuple[Criterion, ...], ...]

    def __init__(self, name: str, pattern: str) -> None:
        self.name = _checked_name(name)
        self.pattern = _checked_text(pattern, "a wildcard pattern")
        self.parts = _parts_of(self.pattern)
        leads = _leads_of(self.name, self.parts)
        for lead in leads:
            untrack_constant(lead)
        self._leads = tuple([(lead,) for lead in leads])
        self.place = LEADS

    def holds(self, value: Any) -> bool:
        return isinstance(value, str) and _matches(self.parts, plain(value))

    def is_found_exactly(self) -> bool:
        return False

    def leads(self) -> tuple[tuple[Criterion, ...], ...]:
        return self._leads

    def arguments(self) -> tuple[Any, ...]:
        return self.name, self.pattern


def _parts_of(pattern: str) -> tuple[str, ...]:
    """Return the texts around the `*` of a pattern."""
    parts: list[str] = []
    part = before = ""
    for token in _TOKENS.findall(pattern):
        if token == "*" and before == "*":
            raise ValueError(f"the wildcard pattern {short(pattern)} has two * side by side")
        if token == "\\":
            raise ValueError(f"the wildcard pattern {short(pattern)} ends with a backslash")
        if token[0] == "\\" and token[1] not in "*\\":
            raise ValueError(f"in the wildcard pattern {short(pattern)}, a backslash stands before {token[1]!r}")
        if token == "*":
            parts.append(part)
            part = ""
        else:
            part += token[1:] if token[0] == "\\" else token
        before = token
    return (*parts, part)


def _matches(parts: tuple[str, ...], text: str) -> bool:
    """Return whether a text has all parts one after the other, the first where it begins and the last where it ends.
    The earliest place is as good as any for a part in the middle. O(characters of the text x parts) at worst."""
    if len(parts) == 1:
        return text == parts[0]
    if not text.startswith(parts[0]):
        return False
    place = len(parts[0])
    last = len(parts) - 1
    end = len(text) - len(parts[last])
    if end < place or not text.endswith(parts[last]):
        return False
    for i in range(1, last):
        found = text.find(parts[i], place, end)
        if found < 0:
            return False
        place = found + len(parts[i])
    return True


def _leads_of(name: str, parts: tuple[str, ...]) -> list[Criterion]:
    """Return criteria that hold wherever a pattern of these parts does; where it begins and ends, or else pieces."""
    if len(parts) == 1:
        return [Key(name, parts[0])]
    leads: list[Criterion] = []
    if parts[0]:
        leads.append(Prefix(name, parts[0]))
    if parts[len(parts) - 1]:
        leads.append(Suffix(name, parts[len(parts) - 1]))
    longest = max(parts, key=len)
    if not leads or len(longest) >= LONGEST_PIECE:
        most = min(len(longest), LONGEST_PIECE)
        pieces = {longest[i : i + most] for i in range(len(longest) - most + 1)}
        leads += [Key(name, piece, PIECES) for piece in sorted(pieces)]
    return leads


def pieces_of(text: str) -> set[str]:
    """Return all pieces of a text, up to the longest ones that patterns are filed under. O(characters)."""
    pieces = {""}
    for size in range(1, LONGEST_PIECE + 1):
        for i in range(len(text) - size + 1):
            pieces.add(text[i : i + size])
    return pieces


class InNetwork(Spanned):
    """InNetwork(name, network)\n--\n
    The field has a text that is an IP address in `network`, which `10.0.0.0/8` or `2001:db8::/32` write; of version
    4 or 6 as the network is.

    Raises:
        ValueError: For what is no network.

    >>> InNetwork("source", "10.0.0.0/8").holds("10.1.2.3"), InNetwork("source", "10.0.0.0/8").holds("11.1.2.3")
    (True, False)
    """

    __slots__ = ("network",)
    network: str

    def __init__(self, name: str, network: str) -> None:
        self.name = _checked_name(name)
        self.network = _checked_text(network, "a network")
        known = _network_of(self.network)
        first, last = _number_of(known.network_address), _number_of(known.broadcast_address)
        self._span = Within(name, first, last)
        untrack_constant(self._span)
        self.place = RANGES
        self.view = ADDRESSES

    def holds(self, value: Any) -> bool:
        address = address_of(value)
        return address is not None and self._span.holds(address)

    def arguments(self) -> tuple[Any, ...]:
        return self.name, self.network


def _network_of(text: str) -> Any:
    try:
        known = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"{short(text)} is no network of IP version 4 or 6") from None
    if "%" in text:
        raise ValueError(f"{short(text)} is a network with a zone, which no address here has")
    return known


def address_of(value: Any) -> int | None:
    """Return the number of an IP address that is written as a text, None if the value is none. One with a zone
    ("fe80::1%eth0") is of that zone, and in no network."""
    if not isinstance(value, str):
        return None
    text = plain(value)
    if len(text) > 64 or "%" in text:
        return None
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        address = None
    return None if address is None else _number_of(address)


def _number_of(address: Any) -> int:
    return int(address) if address.version == 4 else _AFTER_V4 + int(address)


def viewed(view: int, text: Any) -> Any:
    """Return what a view makes of a text, None if nothing."""
    if view == REVERSED:
        return plain(text)[::-1]
    if view == FOLDED:
        return folded(text)
    if view == FOLDED_REVERSED:
        return folded(text)[::-1]
    return address_of(text)
