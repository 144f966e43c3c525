"""A reader of EDN (extensible data notation), the text form in which other tools keep their histories.

Values become immutable Python values: vectors and lists tuples, sets frozen sets, maps `EdnMap`, keywords
`Keyword`, symbols `Symbol`, nil None. Tags are ignored and their value kept, but for that of jepsen's keyed
pairs, which become `KeyedPair`; `#_` drops a form. Nothing here recurses, so depth is no danger.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from stress.history import HistoryError

__all__ = ["EdnMap", "KeyedPair", "Keyword", "Symbol", "read_edn", "read_edn_value"]


@dataclass(frozen=True)
class Keyword:
    """A keyword, without its colon."""

    name: str

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f":{self.name}"


@dataclass(frozen=True)
class Symbol:
    """A symbol."""

    name: str

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


class EdnMap(dict[Hashable, Any]):
    """A map as it stood in the text, from `line` on; hashable, because a map may be a key."""

    line = 0

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


class KeyedPair(tuple[Any, ...]):
    """A vector with the tag `#jepsen.independent/tuple`: a key, and what is said of the object of that key."""

    __slots__ = ()


_TOKEN: Final = re.compile(
    r"""(?P<space>[\s,]+|;[^\n]*)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<unclosed>")
      | (?P<open>\#\{|[\[({]|\#jepsen\.independent/tuple[\s,]*\[)
      | (?P<close>[\])}])
      | (?P<discard>\#_)
      | (?P<special>\#\#[A-Za-z]+)
      | (?P<tag>\#:?[A-Za-z:][^\s,;"()\[\]{}]*)
      | (?P<character>\\(?:u[0-9A-Fa-f]{4}|[A-Za-z]+|.))
      | (?P<atom>[^\s,;"()\[\]{}\\]+)""",
    re.VERBOSE | re.DOTALL,
)
_INTEGER: Final = re.compile(r"[+-]?\d+N?\Z")
_FLOAT: Final = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?M?\Z")
_RATIO: Final = re.compile(r"([+-]?\d+)/(\d+)\Z")
_WORDS: Final = {"nil": None, "true": True, "false": False}
_SPECIAL: Final = {"Inf": float("inf"), "-Inf": float("-inf"), "NaN": float("nan")}
_CHARACTERS: Final = {
    "newline": "\n",
    "space": " ",
    "tab": "\t",
    "return": "\r",
    "backspace": "\b",
    "formfeed": "\f",
}
_ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    '"': '"',
    "\\": "\\",
    "'": "'",
    "/": "/",
}
_KEYED: Final = "#jepsen.independent/tuple"
_CLOSERS: Final = {"[": "]", "(": ")", "{": "}", "#{": "}", _KEYED: "]"}


class _Open:
    """A collection whose end has not been read yet; `drop` counts the forms that a `#_` before them drops."""

    def __init__(self, opener: str, line: int) -> None:
        self.opener, self.line = opener, line
        self.items: list[Any] = []
        self.drop = 0

    def add(self, value: Any) -> None:
        if self.drop:
            self.drop -= 1
        else:
            self.items.append(value)


def read_edn(text: str, source: str = "<text>") -> Iterator[tuple[int, Any]]:
    """The top-level values of `text`, each with the number of the line that it starts on.

    Raises:
        HistoryError: the text is not EDN; the message names `source`, the line and what is wrong.

    >>> [value for _, value in read_edn('{:f :read, :value [1 nil "x"]} ; a comment')]
    [{:f: :read, :value: (1, None, 'x')}]
    """
    line_starts = [match.end() for match in re.finditer("\n", text)]
    stack: list[_Open] = []
    drop = 0
    for kind, token, position in _tokens(text, source, line_starts):
        line = bisect_right(line_starts, position) + 1
        if kind == "open":
            stack.append(_Open(_KEYED if token.startswith(_KEYED) else token, line))
            continue
        if kind == "discard":
            if stack:
                stack[-1].drop += 1
            else:
                drop += 1
            continue
        if kind == "close":
            if not stack or _CLOSERS[stack[-1].opener] != token:
                opened = f"the {stack[-1].opener!r} of line {stack[-1].line} is open" if stack else "nothing is open"
                raise HistoryError(f"{token!r} closes nothing: {opened}", source=source, line=line)
            closed = stack.pop()
            line, value = closed.line, _collection(closed, source)
        else:
            value = _scalar(kind, token, source, line)
        if stack:
            stack[-1].add(value)
        elif drop:
            drop -= 1
        else:
            yield line, value
    if stack:
        raise HistoryError(f"{stack[-1].opener!r} is never closed", source=source, line=stack[-1].line)


def read_edn_value(text: str, source: str = "<value>") -> Any:
    """The one value that `text` holds.

    >>> read_edn_value("[1 nil]")
    (1, None)
    """
    values = [value for _, value in read_edn(text, source)]
    if len(values) != 1:
        raise HistoryError(f"{text!r} is not one value but {len(values)}", source=source)
    return values[0]


def _tokens(text: str, source: str, line_starts: list[int]) -> Iterator[tuple[str, str, int]]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        line = bisect_right(line_starts, position) + 1
        if match is None:
            raise HistoryError(f"{text[position]!r} is not EDN", source=source, line=line)
        kind = str(match.lastgroup)
        if kind == "unclosed":
            raise HistoryError("a string is never closed", source=source, line=line)
        if kind not in ("space", "tag"):
            yield kind, match.group(), position
        position = match.end()


def _collection(closed: _Open, source: str) -> Any:
    if closed.opener == "#{":
        return frozenset(closed.items)
    if closed.opener == _KEYED:
        return KeyedPair(closed.items)
    if closed.opener != "{":
        return tuple(closed.items)
    if len(closed.items) % 2:
        raise HistoryError("a map has a key without a value", source=source, line=closed.line)
    read = EdnMap(zip(closed.items[::2], closed.items[1::2], strict=True))
    read.line = closed.line
    return read


def _scalar(kind: str, token: str, source: str, line: int) -> Any:
    try:
        if kind == "string":
            return re.sub(r"\\(u[0-9A-Fa-f]{4}|[0-7]{1,3}|.)", _unescape, token[1:-1], flags=re.DOTALL)
        if kind == "special":
            return _SPECIAL[token[2:]]
        if kind == "character":
            return _character(token[1:])
        return _atom(token)
    except (ValueError, KeyError, ZeroDivisionError) as error:
        raise HistoryError(f"{token!r} is not EDN: {error}", source=source, line=line) from None


def _unescape(match: re.Match[str]) -> str:
    escape = match.group(1)
    if escape[0] == "u" and len(escape) == 5:
        return chr(int(escape[1:], 16))
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    if escape not in _ESCAPES:
        raise ValueError(f"there is no escape \\{escape}")
    return _ESCAPES[escape]


def _character(name: str) -> str:
    if len(name) == 1:
        return name
    if name[0] == "u" and len(name) == 5:
        return chr(int(name[1:], 16))
    return _CHARACTERS[name]


def _atom(token: str) -> Any:
    if token in _WORDS:
        return _WORDS[token]
    if token[0] == ":" and len(token) > 1:
        return Keyword(token[1:])
    if _INTEGER.match(token):
        return int(token.rstrip("N"))
    if _FLOAT.match(token):
        return float(token.rstrip("M"))
    if ratio := _RATIO.match(token):
        return int(ratio.group(1)) / int(ratio.group(2))
    if token[0].isdigit() or token[0] in ":#":
        raise ValueError("neither a number, a keyword nor a symbol")
    return Symbol(token)
