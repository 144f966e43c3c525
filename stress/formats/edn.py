"""A reader of EDN (extensible data notation), the text format in which other tools keep their histories.

Values become immutable Python values: vectors and lists become tuples, sets frozen sets, maps `EdnMap`, keywords
`Keyword`, symbols `Symbol`, nil None. A tag is ignored and its value kept, except for jepsen's keyed pairs, which
become `KeyedPair`. `#_` drops a form. Nothing here recurses; values that are nested deeper than JSON Lines may be are
refused.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NoReturn

from stress.formats.jsonl import DEEPEST
from stress.history import NAN, HistoryError

__all__ = ["EdnMap", "KeyedPair", "Keyword", "Symbol", "Unreadable", "read_edn", "read_edn_value"]


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
    """A map of the text, which begins on `line`; hashable, because a map may be a key."""

    line = 0

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


class KeyedPair(tuple[Any, ...]):
    """A vector with the tag `#jepsen.independent/tuple`: a key, and a value for the object of that key."""

    __slots__ = ()


@dataclass(frozen=True)
class Unreadable:
    """A word that is not EDN, with the reason."""

    reason: str


_TOKEN: Final = re.compile(
    r"""[\s,]*+(?:;[^\n]*+[\s,]*+)*+
    (?:(?P<atom>[^\s,;"()\[\]{}\\\#][^\s,;"()\[\]{}\\]*+)
      | (?P<close>[\])}])
      | (?P<open>\#\{|[\[({])
      | (?P<keyed>\#jepsen\.independent/tuple[\s,]*+\[)
      | (?P<string>"(?:[^"\\]|\\.)*+")
      | (?P<pattern>\#"(?:[^"\\]|\\.)*+")
      | (?P<unclosed>\#?")
      | (?P<discard>\#_)
      | (?P<special>\#\#-?[A-Za-z]+)
      | (?P<tag>\#:?[A-Za-z:][^\s,;"()\[\]{}]*+)
      | (?P<object>\#<[^<>]*+(?:<[^<>]*+>[^<>]*+)*+>)
      | (?P<character>\\(?:u[0-9A-Fa-f]{4}|[A-Za-z]+|.))
      | (?P<end>\Z)
      | (?P<wrong>.))""",
    re.VERBOSE | re.DOTALL,
)
_NO_VALUES: Final = frozenset({"discard", "tag", "end"})
_INTEGER: Final = re.compile(r"[+-]?\d+N?\Z")
_HEXADECIMAL: Final = re.compile(r"[+-]?0[xX][0-9A-Fa-f]+N?\Z")
_FLOAT: Final = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?M?\Z")
_RATIO: Final = re.compile(r"([+-]?\d+)/(\d+)\Z")
_WORDS: Final = {"nil": None, "true": True, "false": False}
_SPECIAL: Final = {"Inf": float("inf"), "-Inf": float("-inf"), "NaN": NAN}
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
_COLLECTIONS: Final[Mapping[str, Callable[[list[Any]], Any]]] = {
    "[": tuple,
    "(": tuple,
    "#{": frozenset,
    _KEYED: KeyedPair,
}


class _Open:
    """A collection whose end has not been read yet. `drop` counts the forms dropped by preceding `#_`."""

    __slots__ = ("drop", "items", "opener", "position")

    def __init__(self, opener: str, position: int) -> None:
        self.opener, self.position = opener, position
        self.items: list[Any] = []
        self.drop = 0


class _Place:
    """The text being read, for messages about it."""

    def __init__(self, text: str, source: str) -> None:
        self._starts, self._source = [match.end() for match in re.finditer("\n", text)], source

    def line(self, position: int) -> int:
        return bisect_right(self._starts, position) + 1

    def error(self, reason: str, position: int) -> HistoryError:
        return HistoryError(reason, source=self._source, line=self.line(position))


def read_edn(text: str, source: str = "<text>", *, lenient: bool = False) -> Iterator[tuple[int, Any]]:
    """The top-level values of `text`, each with the number of the line that it starts on.

    Args:
        text: the text to read.
        source: its origin, for messages.
        lenient: whether a word that is not EDN becomes an `Unreadable`.

    Raises:
        HistoryError: the text is not EDN; the message names `source`, the line and what is wrong.

    >>> [value for _, value in read_edn('{:f :read, :value [1 nil "x"]} ; a comment')]
    [{:f: :read, :value: (1, None, 'x')}]
    """
    place = _Place(text, source)
    top = _Open("", 0)  # the text itself
    around: list[_Open] = []
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        token, position = match[kind], match.start(kind)
        if kind == "open" or kind == "keyed":
            around.append(top)
            if len(around) > DEEPEST:  # whatever looks at the value may recurse
                raise place.error(f"a value is nested more than {DEEPEST} levels deep", position)
            top = _Open(_KEYED if kind == "keyed" else token, position)
            continue
        if kind in _NO_VALUES:
            top.drop += kind == "discard"
            continue
        if kind == "close":
            value, position = _closed(top, token, position, place), top.position
            top = around.pop()
        else:
            value = _word(kind, token)
            if type(value) is Unreadable and not (lenient and kind in _SCALARS):
                raise place.error(value.reason, position)
        if top.drop:
            top.drop -= 1
        elif around:
            top.items.append(value)
        else:
            yield place.line(position), value
    if around:
        raise place.error(f"{top.opener!r} is never closed", top.position)


def read_edn_value(text: str, source: str = "<value>") -> Any:
    """The single value in `text`.

    >>> read_edn_value("[1 nil]")
    (1, None)
    """
    values = [value for _, value in read_edn(text, source)]
    if len(values) != 1:
        raise HistoryError(f"{text!r} is not one value but {len(values)}", source=source)
    return values[0]


def _closed(closed: _Open, closer: str, position: int, place: _Place) -> Any:
    """The collection that `closer` ends."""
    opener, items = closed.opener, closed.items
    if _CLOSERS.get(opener) != closer:
        opened = f"the {opener!r} of line {place.line(closed.position)} is open" if opener else "nothing is open"
        raise place.error(f"{closer!r} closes nothing: {opened}", position)
    if opener != "{":
        return _COLLECTIONS[opener](items)
    if len(items) % 2:
        raise place.error("a map has a key without a value", closed.position)
    if len({(type(key), key) for key in items[::2]}) < len(items) // 2:
        raise place.error("a map has a key twice", closed.position)
    read = EdnMap(zip(items[::2], items[1::2], strict=True))
    read.line = place.line(closed.position)
    return read


@lru_cache(maxsize=4096)  # most of a history consists of few distinct words
def _word(kind: str, token: str) -> Any:
    if kind == "unclosed":
        return Unreadable("a string is never closed")
    if kind not in _SCALARS:
        return Unreadable(f"{token!r} is not EDN")
    try:
        return _SCALARS[kind](token)
    except (ValueError, KeyError, ZeroDivisionError) as error:
        return Unreadable(f"{token!r} is not EDN: {error}")


def _string(token: str) -> str:
    return re.sub(r"\\(u[0-9A-Fa-f]{4}|[0-7]{1,3}|.)", _unescape, token[1:-1], flags=re.DOTALL)


def _unescape(match: re.Match[str]) -> str:
    escape = match.group(1)
    if escape[0] == "u" and len(escape) == 5:
        return chr(int(escape[1:], 16))
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    if escape not in _ESCAPES:
        raise ValueError(f"there is no escape \\{escape}")
    return _ESCAPES[escape]


def _character(token: str) -> str:
    name = token[1:]
    if len(name) == 1:
        return name
    if name[0] == "u" and len(name) == 5:
        return chr(int(name[1:], 16))
    return _CHARACTERS[name]


def _object(token: str) -> NoReturn:
    raise ValueError("an object that cannot be read")


def _atom(token: str) -> Any:
    if token in _WORDS:
        return _WORDS[token]
    if token[0] == ":" and len(token) > 1:
        return Keyword(token[1:])
    if _INTEGER.match(token):
        return int(token.rstrip("N"))
    if _HEXADECIMAL.match(token):
        return int(token.rstrip("N"), 16)
    if _FLOAT.match(token):
        return float(token.rstrip("M"))
    if ratio := _RATIO.match(token):
        return int(ratio.group(1)) / int(ratio.group(2))
    if token[0].isdigit() or token[0] == ":":
        raise ValueError("neither a number, a keyword nor a symbol")
    return Symbol(token)


_SCALARS: Final[Mapping[str, Callable[[str], Any]]] = {
    "atom": _atom,
    "string": _string,
    "pattern": lambda token: token[2:-1],
    "special": lambda token: _SPECIAL[token[2:]],
    "character": _character,
    "object": _object,
}
