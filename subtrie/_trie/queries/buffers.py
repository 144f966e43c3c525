# cython: nonecheck=True

"""Columns being filled, in Arrow's layout: what a row of a set of subscriptions becomes.

`_here` is how long the words are that a walk has spelled, or -1 before the first one. Such a length is kept for every
node that the walk has yet to visit, last in, first out, so that all of them share one text.

What grows is in growing.py; in the compiled twin no Python object is made of a row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cython

if not cython.compiled:
    from subtrie._trie.match.walk import address
    from subtrie._trie.queries.growing import (
        Bits,
        Growing,
        GrowingTexts,
        add,
        add_bit,
        add_branch,
        add_int,
        add_number,
        add_part,
        add_text,
        clear_flag,
        cut,
        drained_bits,
        free_bytes,
        free_texts,
        is_empty,
        pop_int,
        reads_as_integer,
        set_flag,
    )
    from subtrie._trie.queries.growing import drained as bytes_drained
    from subtrie._trie.words import MARKED
else:
    from cython import address

from subtrie.dialects import Dialect

# What subscribers, and the values of an option, have been, as bits.
STRINGS = 1
INTEGER_TEXTS = 2  # strings that read as an integer does
INTEGERS = 4
OTHERS = 8

if not cython.compiled:  # in buffers.pxd, an enum
    _STRINGS, _INTEGER_TEXTS, _INTEGERS, _OTHERS = STRINGS, INTEGER_TEXTS, INTEGERS, OTHERS
    INT32_MAX = 2**31 - 1


class TextColumn(NamedTuple):
    """Texts as UTF-8, one after another, and where each begins (int32, one more than texts)."""

    offsets: Any
    text: Any


class MapColumn(NamedTuple):
    """Maps of text to text: where each begins; which of the values there are (bits); None: all."""

    offsets: Any
    names: TextColumn
    values: TextColumn
    validity: Any
    nulls: int


class Columns(NamedTuple):
    """The columns of so many rows, as buffers."""

    rows: int
    filters: TextColumn
    subscribers: TextColumn
    options: MapColumn
    groups: TextColumn
    group_validity: Any
    ungrouped: int


def _begin_texts(column: GrowingTexts) -> None:
    add_int(address(column.offsets), 0)


def _end_text(column: GrowingTexts) -> None:
    """End a text: what has been added since the last one."""
    if column.text.used > INT32_MAX:
        raise ValueError("the texts of one subscription take more than 2 GiB, which no column holds")
    add_int(address(column.offsets), column.text.used)


def _offsets_drained(offsets: Growing) -> bytes:
    ends = bytes_drained(offsets)
    add_int(offsets, 0)
    return ends


def _texts_drained(column: GrowingTexts) -> TextColumn:
    return TextColumn(_offsets_drained(address(column.offsets)), bytes_drained(address(column.text)))


# ------------------------------------------------------------------------------------------------------------- options


class GrowingOptions:
    """A column of options being filled. `texts.option(name, value)` gives the text of what is no plain value; `kinds`
    tells what the values of each name have been."""

    def __init__(self, texts: Any) -> None:
        if not cython.compiled:
            self._offsets, self._names, self._values = Growing(), GrowingTexts(), GrowingTexts()
            self._validity = Bits()
        self._texts = texts
        self.kinds: dict[str, int] = {}
        add_int(address(self._offsets), 0)
        _begin_texts(address(self._names))
        _begin_texts(address(self._values))

    def __dealloc__(self) -> None:
        free_bytes(address(self._offsets))
        free_bytes(address(self._validity.bits))
        free_texts(address(self._names))
        free_texts(address(self._values))

    def add(self, options: dict[str, Any] | None) -> int:
        """Add a map, empty if there are no options."""
        if options is not None:
            for name, value in options.items():
                if type(name) is not str:
                    name = str.__str__(name)
                if not add_text(address(self._names.text), name):
                    self._texts.option(name, value)
                    raise ValueError(f"the name of option {name!r} is no text")
                _end_text(address(self._names))
                self._add_value(name, value)
        add_int(address(self._offsets), self._validity.count)
        return 0

    def _add_value(self, name: str, value: Any) -> int:
        known = self.kinds.get(name, -1)
        there = True
        if value is None:
            kind = 0
            there = False
        elif type(value) is str and add_text(address(self._values.text), value):
            kind = _STRINGS
        elif value is True:
            kind = _INTEGERS
            add(address(self._values.text), b"true")
        elif value is False:
            kind = _INTEGERS
            add(address(self._values.text), b"false")
        elif type(value) is int and add_number(address(self._values.text), value):
            kind = _INTEGERS
        else:
            kind = _INTEGERS if type(value) is int else _OTHERS
            text = self._texts.option(name, value)
            there = text is not None
            if there:
                add(address(self._values.text), text.encode())
        _end_text(address(self._values))
        add_bit(address(self._validity), there)
        if known < 0 or known | kind != known:
            self.kinds[name] = kind | max(known, 0)
        return 0

    def text(self) -> int:
        """Return how many bytes the texts have."""
        return self._names.text.used + self._values.text.used

    def drained(self) -> MapColumn:
        """Hand over what has been added, and begin again."""
        offsets = _offsets_drained(address(self._offsets))
        validity, nulls = drained_bits(address(self._validity))
        names, values = _texts_drained(address(self._names)), _texts_drained(address(self._values))
        return MapColumn(offsets, names, values, validity, nulls)


# ---------------------------------------------------------------------------------------------------------------- rows


class GrowingRows:
    """Rows being filled. `texts.subscriber(subscriber)` gives the text of one that is not a plain string or integer, or
    of every one if `ask`."""

    def __init__(self, dialect: Dialect, texts: Any, ask: bool) -> None:
        if not cython.compiled:
            self._busy, self.kinds, self.rows = [False], 0, 0
            self._lengths, self._spelled = Growing(), Growing()
            self._filters, self._subscribers, self._groups = (GrowingTexts() for _ in range(3))
            self._grouped = Bits()
        self._texts = texts
        self._ask = ask
        self._here = -1
        self.options = GrowingOptions(texts)
        self._separator = dialect.separator.encode()
        self._share = None if dialect.share_prefix is None else dialect.share_prefix.encode()
        _begin_texts(address(self._filters))
        _begin_texts(address(self._subscribers))
        _begin_texts(address(self._groups))

    def __dealloc__(self) -> None:
        free_bytes(address(self._lengths))
        free_bytes(address(self._spelled))
        free_bytes(address(self._grouped.bits))
        free_texts(address(self._filters))
        free_texts(address(self._subscribers))
        free_texts(address(self._groups))

    def begin(self) -> int:
        """Say that rows are to be added. RuntimeError if that has been said before, and not that it is done."""
        if set_flag(address(self._busy)):
            raise RuntimeError(
                "these columns are being filled by another thread, or an error has left them half filled"
            )
        return 0

    def done(self) -> int:
        """Say that no more are to be added for now, and all is well."""
        clear_flag(address(self._busy))
        return 0

    def push(self) -> int:
        """Keep the length of what is spelled here."""
        add_int(address(self._lengths), self._here)
        return 0

    def pop(self) -> int:
        """Go back to the length that was kept last."""
        self._here = pop_int(address(self._lengths))
        cut(address(self._spelled), max(self._here, 0))
        return 0

    def spell(self, branch: Any) -> int:
        """Go on from here by the words of a branch."""
        marked = branch.hash == MARKED
        if marked and is_empty(branch):
            return 0
        if self._here >= 0:
            add(address(self._spelled), self._separator)
        if not add_branch(address(self._spelled), branch, marked):
            raise ValueError("a filter with a lone surrogate")
        if self._spelled.used > INT32_MAX:
            raise ValueError("the texts of one subscription take more than 2 GiB, which no column holds")
        self._here = self._spelled.used
        return 0

    def row(self, group: str | None, subscriber: Any, options: dict[str, Any] | None) -> int:
        """Add a subscription to the filter that was spelled, or to the shared one of the group."""
        name = None if group is None else group.encode()
        if name is not None and self._share is not None:
            for part in (self._share, name):
                add(address(self._filters.text), part)
                add(address(self._filters.text), self._separator)
        add_part(address(self._filters.text), address(self._spelled), 0, max(self._here, 0))
        _end_text(address(self._filters))
        self._add_subscriber(subscriber)
        if name is not None:
            add(address(self._groups.text), name)
        _end_text(address(self._groups))
        add_bit(address(self._grouped), name is not None)
        self.options.add(options)
        self.rows += 1
        return 0

    def _add_subscriber(self, subscriber: Any) -> int:
        text = address(self._subscribers.text)
        if not self._ask and type(subscriber) is str and add_text(text, subscriber):
            self.kinds |= _STRINGS
            if not self.kinds & _INTEGER_TEXTS and reads_as_integer(subscriber):
                self.kinds |= _INTEGER_TEXTS
        elif not self._ask and type(subscriber) is int:
            self.kinds |= _INTEGERS
            if not add_number(text, subscriber):
                add(text, int.__repr__(subscriber).encode())
        else:
            self.kinds |= _OTHERS
            add(text, self._texts.subscriber(subscriber).encode())
        _end_text(address(self._subscribers))
        return 0

    def text(self) -> int:
        """Return how many bytes the texts have that may be long."""
        return self._filters.text.used + self._subscribers.text.used + self.options.text()

    def drained(self) -> Columns:
        """Hand over the columns of the rows added, and begin again."""
        self.begin()
        validity, ungrouped = drained_bits(address(self._grouped))
        columns = Columns(
            self.rows,
            _texts_drained(address(self._filters)),
            _texts_drained(address(self._subscribers)),
            self.options.drained(),
            _texts_drained(address(self._groups)),
            validity,
            ungrouped,
        )
        self.rows = 0
        self.done()
        return columns


def new_rows(dialect: Dialect, texts: Any, ask: bool) -> GrowingRows:
    return GrowingRows(dialect, texts, ask)
