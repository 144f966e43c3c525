"""Columns being filled, in Arrow's layout: what a row of a set of subscriptions becomes.

A place is where a walk stands: the words that have been spelled. It is kept for every node that the walk has yet to
visit, last in, first out, so that all of them share one text.

This is the interpreted text. The compiled body (`buffers.pyx`) makes no Python object of a row.
"""

from __future__ import annotations

import itertools
from array import array
from typing import Any, NamedTuple

from subtrie._trie.words import MARKED
from subtrie.dialects import Dialect

# What subscribers, and the values of an option, have been, as bits.
STRINGS = 1
INTEGER_TEXTS = 2  # strings that read as an integer does
INTEGERS = 4
OTHERS = 8

_MOST_TEXT = 2**31 - 1


class TextColumn(NamedTuple):
    """Texts as UTF-8, one after another, and where each begins (int32, one more than texts)."""

    offsets: Any
    text: Any


class MapColumn(NamedTuple):
    """Maps of text to text: where each begins; which of them there are, and which values (bits); None: all."""

    offsets: Any
    validity: Any
    names: TextColumn
    values: TextColumn
    values_validity: Any
    nulls: int
    value_nulls: int


class Columns(NamedTuple):
    """The columns of so many rows, as buffers."""

    rows: int
    filters: TextColumn
    word_lists: Any  # where the words of each filter begin
    words: TextColumn
    depths: Any
    wildcards: Any
    subscribers: TextColumn
    options: MapColumn
    groups: TextColumn
    group_validity: Any
    ungrouped: int


class _Texts:
    """A text column being filled."""

    def __init__(self) -> None:
        self.offsets = array("i", [0])
        self.text = bytearray()

    def add(self, *parts: bytes) -> None:
        for part in parts:
            self.text += part
        if len(self.text) > _MOST_TEXT:
            raise ValueError("the texts of one subscription take more than 2 GiB, which no column holds")
        self.offsets.append(len(self.text))

    def taken(self) -> TextColumn:
        taken = TextColumn(self.offsets.tobytes(), bytes(self.text))
        self.__init__()  # type: ignore[misc]
        return taken


class _Bits:
    """Bits being filled."""

    def __init__(self) -> None:
        self.bits: list[bool] = []

    def taken(self) -> tuple[bytes | None, int]:
        bits, self.bits = self.bits, []
        if all(bits):
            return None, 0
        packed = sum(1 << place for place, bit in enumerate(bits) if bit)
        return packed.to_bytes((len(bits) + 7) // 8, "little"), bits.count(False)


class Options:
    """A column of options being filled. `texts.option(name, value)` gives the text of what is no plain value; `kinds`
    tells what the values of each name have been."""

    def __init__(self, texts: Any) -> None:
        self._texts = texts
        self.kinds: dict[str, int] = {}
        self._offsets = array("i", [0])
        self._validity = _Bits()
        self._names = _Texts()
        self._values = _Texts()
        self._values_validity = _Bits()

    def add(self, options: dict[str, Any] | None, there: bool) -> None:
        """Add a map, empty if there are no options; a null, unless it is there."""
        for name, value in (options or {}).items():
            name = str.__str__(name)
            text = self._text(name, value)
            self._names.add(_utf8(name) or self._refused(name, value))
            self._values.add(b"" if text is None else text)
            self._values_validity.bits.append(text is not None)
        self._offsets.append(len(self._values_validity.bits))
        self._validity.bits.append(there)

    def _text(self, name: str, value: Any) -> bytes | None:
        known = self.kinds.get(name, 0)
        if value is None:
            self.kinds[name] = known
            return None
        if type(value) is str:
            self.kinds[name] = known | STRINGS
            text = _utf8(value)
            return self._refused(name, value) if text is None else text
        if type(value) is bool:
            self.kinds[name] = known | INTEGERS
            return b"true" if value else b"false"
        if type(value) is int:
            self.kinds[name] = known | INTEGERS
            return repr(value).encode()
        self.kinds[name] = known | OTHERS
        text = self._texts.option(name, value)
        return None if text is None else text.encode()

    def _refused(self, name: str, value: Any) -> bytes:
        self._texts.option(name, value)
        return b""  # the empty name

    def text(self) -> int:
        """Return how many bytes the texts have."""
        return len(self._names.text) + len(self._values.text)

    def taken(self) -> MapColumn:
        """Return what has been added, and begin again."""
        offsets, self._offsets = self._offsets.tobytes(), array("i", [0])
        validity, nulls = self._validity.taken()
        values_validity, value_nulls = self._values_validity.taken()
        names, values = self._names.taken(), self._values.taken()
        return MapColumn(offsets, validity, names, values, values_validity, nulls, value_nulls)


class Rows:
    """Rows being filled. `texts.subscriber(subscriber)` gives the text of one that is not a plain string or integer, or
    of every one if `ask`."""

    def __init__(self, dialect: Dialect, texts: Any, ask: bool) -> None:
        self._dialect = dialect
        self._texts = texts
        self._ask = ask
        self.kinds = 0
        self.rows = 0
        self.busy = False
        self._places: list[tuple[str, ...]] = []
        self._words: tuple[str, ...] = ()
        self.options = Options(texts)
        self._begin()

    def _begin(self) -> None:
        self._filters = _Texts()
        self._word_lists = array("i", [0])
        self._words_of_filters = _Texts()
        self._depths = array("i")
        self._wildcards = array("i")
        self._subscribers = _Texts()
        self._groups = _Texts()
        self._grouped = _Bits()

    def begin(self) -> None:
        """Say that rows are to be added. RuntimeError if that has been said before, and not that it is done."""
        if self.busy:
            raise RuntimeError(
                "these columns are being filled by another thread, or an error has left them half filled"
            )
        self.busy = True

    def done(self) -> None:
        """Say that no more are to be added for now, and all is well."""
        self.busy = False

    def push(self) -> None:
        """Keep the place where the walk stands."""
        self._places.append(self._words)

    def pop(self) -> None:
        """Go back to the place that was kept last."""
        self._words = self._places.pop()

    def spell(self, branch: Any) -> None:
        """Go on from here by the words of a branch."""
        words = tuple(branch.key.split(self._dialect.separator))
        self._words += words[1:] if branch.hash == MARKED else words

    def spell_text(self, filter: str) -> None:
        """Go to where a filter ends."""
        self._words = tuple(filter.split(self._dialect.separator))

    def row(self, group: str | None, shared: bool, subscriber: Any, options: dict[str, Any] | None) -> None:
        """Add a subscription to the filter that was spelled, or, `shared`, to the shared one of the group."""
        words = self._dialect.share(group, self._words) if shared and group is not None else self._words
        text = self._dialect.join(words).encode()
        if self._dialect.zero_words and not text:
            words = ()
        self._filters.add(text)
        for word in words:
            self._words_of_filters.add(word.encode())
        self._word_lists.append(len(self._words_of_filters.offsets) - 1)
        self._depths.append(len(words))
        self._wildcards.append(sum(map(self._dialect.is_wild, words)))
        self._subscribers.add(self._subscriber_text(subscriber))
        self._groups.add(b"" if group is None else group.encode())
        self._grouped.bits.append(group is not None)
        self.options.add(options, True)
        self.rows += 1

    def _subscriber_text(self, subscriber: Any) -> bytes:
        if not self._ask and type(subscriber) is str:
            text = _utf8(subscriber)
            if text is not None:
                digits = text.removeprefix(b"-")
                self.kinds |= STRINGS | (INTEGER_TEXTS if digits.isdigit() else 0)
                return text
        if not self._ask and type(subscriber) is int:
            self.kinds |= INTEGERS
            return int.__repr__(subscriber).encode()
        self.kinds |= OTHERS
        return self._texts.subscriber(subscriber).encode()  # type: ignore[no-any-return]

    def text(self) -> int:
        """Return how many bytes the texts have that may be long."""
        return len(self._filters.text) + len(self._subscribers.text) + self.options.text()

    def taken(self) -> Columns:
        """Return the columns of the rows added, and begin again."""
        self.begin()
        validity, ungrouped = self._grouped.taken()
        columns = Columns(
            self.rows,
            self._filters.taken(),
            self._word_lists.tobytes(),
            self._words_of_filters.taken(),
            self._depths.tobytes(),
            self._wildcards.tobytes(),
            self._subscribers.taken(),
            self.options.taken(),
            self._groups.taken(),
            validity,
            ungrouped,
        )
        self.rows = 0
        self._begin()
        self.done()
        return columns


def new_rows(dialect: Dialect, texts: Any, ask: bool) -> Rows:
    return Rows(dialect, texts, ask)


def _utf8(text: str) -> bytes | None:
    """Return the text as UTF-8; None where it has a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def strings(offsets: Any, text: Any) -> list[str]:
    """Return the texts of a column. ValueError if it is none: offsets out of order, bytes that are not UTF-8."""
    ends = array("i", bytes(offsets))
    content = bytes(text)
    if any(start > end for start, end in itertools.pairwise(ends)) or ends[0] < 0 or ends[-1] > len(content):
        raise ValueError("no text column: the offsets do not go on within the text")
    return [content[start:end].decode() for start, end in itertools.pairwise(ends)]
