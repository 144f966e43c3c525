"""A reader of EDN (extensible data notation), the text format in which other tools keep their histories.

Values become immutable Python values: vectors and lists become tuples, sets frozen sets, maps `EdnMap`, keywords and
symbols `Name`, nil None. A tag is ignored and its value kept, except for jepsen's keyed pairs, which become
`KeyedPair`. `#_` drops a form. A word that is no value of these becomes `Unreadable`, which matters only to who needs
it. Nothing here recurses; values that are nested deeper than JSON Lines may be are refused.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from stress.formats.jsonl import DEEPEST
from stress.history import HistoryError


class Name(str):
    """A keyword, without its colon, or a symbol."""

    __slots__ = ()


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
    """A word that is no value, with the reason."""

    reason: str


_TOKEN: Final = re.compile(
    r"""[\s,]*+(?:;[^\n]*+[\s,]*+)*+
    (?:(?P<atom>[^\s,;"()\[\]{}\\\#][^\s,;"()\[\]{}\\]*+)
      | (?P<close>[\])}])
      | (?P<open>\#\{|[\[({]|\#jepsen\.independent/tuple[\s,]*+\[)
      | (?P<string>"(?:[^"\\]|\\.)*+")
      | (?P<discard>\#_)
      | (?P<tag>\#:?[A-Za-z:][^\s,;"()\[\]{}]*+)
      | (?P<other>\#<[^<>]*+(?:<[^<>]*+>[^<>]*+)*+>|\#?"(?:[^"\\]|\\.)*+"?|\\(?:\w+|.)|\#\#\S*|.)
      | (?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)
_WORDS: Final = {"nil": None, "true": True, "false": False}
_NUMBER: Final = re.compile(r"[+-]?\d+(?:(?P<whole>N?)|(\.\d*)?([eE][+-]?\d+)?M?)\Z")
_CLOSERS: Final = {"[": "]", "(": ")", "{": "}", "#{": "}", "#": "]"}
_COLLECTIONS: Final[Mapping[str, Callable[[list[Any]], Any]]] = {
    "[": tuple,
    "(": tuple,
    "#{": frozenset,
    "#": KeyedPair,
}


class _Open:
    """A collection whose end has not been read yet. `drop` counts the forms dropped by preceding `#_`."""

    __slots__ = ("drop", "items", "opener", "position")

    def __init__(self, opener: str, position: int) -> None:
        self.opener, self.position = opener, position
        self.items: list[Any] = []
        self.drop = 0


def read_edn(text: str, source: str = "<text>") -> Iterator[tuple[int, Any]]:
    """The top-level values of `text`, each with the number of the line that it starts on.

    Args:
        text: the text to read.
        source: its origin, for messages.

    Raises:
        HistoryError: its brackets do not fit together; the message names `source`, the line and what is wrong.

    >>> [value for _, value in read_edn('{:f :read, :value [1 nil "x"]} ; a comment')]
    [{'f': 'read', 'value': (1, None, 'x')}]
    """
    starts = [match.end() for match in re.finditer("\n", text)]

    def line(position: int) -> int:
        return bisect_right(starts, position) + 1

    def error(reason: str, position: int) -> HistoryError:
        return HistoryError(reason, source=source, line=line(position))

    top = _Open("", 0)  # the text itself
    around: list[_Open] = []
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        token, position = match[kind], match.start(kind)
        if kind == "open":
            around.append(top)
            if len(around) > DEEPEST:  # whatever looks at the value may recurse
                raise error(f"a value is nested more than {DEEPEST} levels deep", position)
            top = _Open("#" if len(token) > 2 else token, position)
            continue
        if kind in ("discard", "tag", "end"):
            top.drop += kind == "discard"
            continue
        value: Any
        if kind != "close":
            value = _word(kind, token)
        elif _CLOSERS.get(top.opener) != token:
            opened = f"the {top.opener!r} of line {line(top.position)} is open" if top.opener else "nothing is open"
            raise error(f"{token!r} closes nothing: {opened}", position)
        else:
            position = top.position
            try:
                value = _map(top.items, line(position)) if top.opener == "{" else _COLLECTIONS[top.opener](top.items)
            except ValueError as wrong:
                raise error(str(wrong), position) from None
            top = around.pop()
        if top.drop:
            top.drop -= 1
        elif around:
            top.items.append(value)
        else:
            yield line(position), value
    if around:
        raise error(f"{top.opener!r} is never closed", top.position)


def _map(items: list[Any], line: int) -> EdnMap:
    if len(items) % 2:
        raise ValueError("a map has a key without a value")
    if len({(type(key), key) for key in items[::2]}) < len(items) // 2:
        raise ValueError("a map has a key twice")
    read = EdnMap(zip(items[::2], items[1::2], strict=True))
    read.line = line
    return read


@lru_cache(maxsize=4096)  # most of a history consists of few distinct words
def _word(kind: str, token: str) -> Any:
    if kind == "string":
        try:
            return json.loads(token, strict=False)
        except ValueError:
            return Unreadable(f"{token!r} is not EDN: there is no such escape")
    if token in _WORDS:
        return _WORDS[token]
    if number := _NUMBER.match(token):
        return int(token.rstrip("N")) if number["whole"] is not None else float(token.rstrip("M"))
    if kind == "other" or token[0].isdigit() or token == ":":
        return Unreadable(f"{token!r} is not EDN: neither a number, a text, a keyword nor a symbol")
    return Name(token.removeprefix(":"))


def read_edn_value(text: str, source: str = "<value>") -> Any:
    """The single value in `text`, as `plain` gives it.

    >>> read_edn_value("[1 nil]")
    (1, None)
    """
    values = [value for _, value in read_edn(text, source)]
    if len(values) != 1:
        raise HistoryError(f"{text!r} is not one value but {len(values)}", source=source)
    value = plain(values[0])
    if isinstance(value, Unreadable):
        raise HistoryError(value.reason, source=source)
    return value


def plain(value: Any) -> Any:
    """An EDN value in the form that the rest of the package uses: names as strings, maps as frozen sets of pairs. If a
    part of it is `Unreadable`, the first that is.
    """
    if isinstance(value, Name):
        return str(value)
    if not isinstance(value, (EdnMap, tuple, frozenset)):
        return value
    parts = [plain(part) for part in (value.items() if isinstance(value, EdnMap) else value)]
    unread = next((part for part in parts if isinstance(part, Unreadable)), None)
    return unread or (frozenset if isinstance(value, EdnMap) else type(value))(parts)
