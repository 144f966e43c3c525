"""Sets of subscriptions, and their differences, as the data of columns.

`walk` fills columns with all subscriptions of one instant. The results are buffers in Arrow's layout, which any Arrow
library can wrap.

>>> from subtrie import SubscriptionTrie
>>> t = SubscriptionTrie()
>>> t.subscribe("a.*", "alice", qos=1)
True
>>> class Texts:
...     def subscriber(self, subscriber):
...         return repr(subscriber)
...     def option(self, name, value):
...         return repr(value)
>>> rows = walk(t, Texts())
>>> rows.fill(1000, 1 << 20)
False
>>> columns = rows.taken()
>>> columns.rows, columns.filters.text, columns.options.values.text
(1, b'a.*', b'1')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from subtrie._trie.exclusions import BUT
from subtrie._trie.queries.buffers import (
    INTEGER_TEXTS,
    INTEGERS,
    OTHERS,
    STRINGS,
    Columns,
    MapColumn,
    TextColumn,
)
from subtrie._trie.queries.growing import strings
from subtrie._trie.trie import SubscriptionTrie as _SubscriptionTrie
from subtrie.dialects import Dialect
from subtrie.errors import RowError

if TYPE_CHECKING:
    from subtrie import SubscriptionTrie

EXCLUSIONS = BUT  # the name of the option that holds them

__all__ = [
    "INTEGERS",
    "INTEGER_TEXTS",
    "OTHERS",
    "STRINGS",
    "Changed",
    "Columns",
    "MapColumn",
    "RowError",
    "Rows",
    "TextColumn",
    "Texts",
    "changed",
    "loaded",
    "row_numbers",
    "strings",
    "walk",
]

_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class Texts(Protocol):
    """Gives texts to values that are not strings, integers or bools. If it raises, the columns are unusable."""

    def subscriber(self, subscriber: Any) -> str:
        """The text of a subscriber."""

    def option(self, name: str, value: Any) -> str | None:
        """The text of an option's value, None for a null."""


class Rows:
    """Columns that `walk` fills. For one thread at a time: RuntimeError if another thread is using it."""

    def __init__(self, walked: Any) -> None:
        self._walk, self._rows = walked, walked.rows

    def fill(self, rows: int, text: int) -> bool:
        """Continue the walk until there are this many rows or bytes of text; tell whether there may be more.

        O(rows). Threads that change the trie do not wait for it, nor does it wait for them.
        """
        return bool(self._walk.fill(rows, text))

    @property
    def text(self) -> int:
        """The number of bytes in the filters, subscribers and options of the rows."""
        return int(self._rows.text())

    @property
    def kinds(self) -> int:
        """The kinds of subscribers so far: `STRINGS`, `INTEGER_TEXTS` (strings that read like an integer), `INTEGERS`
        and `OTHERS`, combined by or."""
        return int(self._rows.kinds)

    @property
    def option_kinds(self) -> dict[str, int]:
        """The same for the values of each option, without `INTEGER_TEXTS`. Bools count as integers, None as nothing."""
        return dict(self._rows.options.kinds)

    def taken(self) -> Columns:
        """Return the columns of the rows added since the last call."""
        return self._rows.drained()  # type: ignore[no-any-return]


def walk(trie: SubscriptionTrie[Any], texts: Texts, ask: bool = False) -> Rows:
    """Begin to fill columns with all subscriptions as of the instant of this call.

    Args:
        ask: whether `texts` are asked for every subscriber, including strings and integers.
    """
    walked: Any = trie
    return Rows(walked._columns(texts, ask))


def loaded(
    dialect: Dialect,
    filters: list[str],
    subscribers: list[Any],
    options: list[dict[str, Any] | None],
    *,
    exact: bool = False,
) -> SubscriptionTrie[Any]:
    """A trie of rows: their filters, as they were subscribed, their subscribers, and their options (None: no options; a
    dict is kept, and several rows may share one).

    O(rows x words), and O(log rows) for each word.

    Raises:
        TopicError: For a text that is not a filter, with the row in its reason.
        RowError: For any other fault.

    >>> sorted(loaded(Dialect("own", "/", "+", "#"), ["a/+", "b"], [1, 2], [None, {"qos": 1}]).match("a/x"))
    [1]
    """
    trie: Any = _SubscriptionTrie(dialect, exact=exact)
    trie._load(filters, subscribers, options)
    return trie  # type: ignore[no-any-return]


class Changed(NamedTuple):
    """A difference between two instants: the options of a subscription before and after, None if it was not there."""

    filter: str
    group: str | None
    subscriber: Any
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


def changed(newer: SubscriptionTrie[Any], older: SubscriptionTrie[Any]) -> Iterator[Changed]:
    """Iterate over the differences of a trie from an older one: `SubscriptionTrie.diff`, with both sides' options.

    >>> from subtrie import SubscriptionTrie
    >>> t = SubscriptionTrie()
    >>> cut = t.snapshot()
    >>> t.subscribe("a", 1, qos=1)
    True
    >>> [(one.filter, one.subscriber, one.before, dict(one.after)) for one in changed(t, cut)]
    [('a', 1, None, {'qos': 1})]
    """
    trie: Any = newer
    for filter, group, before, after in trie._changed(older):
        options = None if before is None else before.options or _NO_OPTIONS
        holds = None if after is None else after.options or _NO_OPTIONS
        yield Changed(filter, group, (before if after is None else after).key, options, holds)


def row_numbers(rows: SubscriptionTrie[int], topics: list[str]) -> tuple[bytes, bytes]:
    """`match_columns` of a trie whose subscribers are the numbers of rows: offsets and numbers, 64-bit integers.

    `rows` is a trie without groups and without weak subscribers. Each number is on one filter, and none is below zero.
    Errors, cost and progress as `SubscriptionTrie.match_many`; OverflowError for a number of 2**63 or more.

    >>> from subtrie import SubscriptionTrie
    >>> t = SubscriptionTrie()
    >>> t.subscribe_many([("a.*", 0), ("a.b", 7)])
    2
    >>> offsets, numbers = row_numbers(t, ["a.b", "x", "a.c"])
    >>> list(memoryview(offsets).cast("q")), sorted(memoryview(numbers).cast("q"))
    ([0, 2, 2, 3], [0, 0, 7])
    """
    trie: Any = rows
    return trie._match_numbers(topics)  # type: ignore[no-any-return]
