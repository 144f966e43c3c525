"""Many subscriptions at once into a trie that nobody else has yet.

Each is put in as any other is, but what goes before it is done once for rows that follow one another with one filter,
and nothing is kept of rows that are in. Rows in the order of a trie's own walk find the nodes that they change in the
processor's cache, and are put in several times as fast as in no order.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from typing import Any

if not cython.compiled:
    from subtrie._trie.subscribers import new_entry, subscriber_hash
    from subtrie._trie.trie import SubscriptionTrie
else:
    from cython.cimports.subtrie._trie.subscribers import new_entry, subscriber_hash
    from cython.cimports.subtrie._trie.trie import SubscriptionTrie

from subtrie._trie.trie import SubscriptionTrie as _SubscriptionTrie
from subtrie.dialects import Dialect
from subtrie.errors import TopicError


class RowError(ValueError):
    """A row that stands for no subscription, or for the same one as another; `row` counts from 0."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(row, reason)
        self.row = row
        self.reason = reason

    def __str__(self) -> str:
        return f"row {self.row}: {self.reason}"


class Bulk:
    """A trie in the making; `rows` tells how many it has."""

    __slots__ = ("_trie", "rows")
    _trie: SubscriptionTrie
    rows: int

    def add(self, filters: list[str], subscribers: list[Any], options: list[Any]) -> None:
        """Put subscriptions in: their filters, as they were subscribed, their subscribers, and their options (None: no
        options; a dict is kept). After an error the trie is of no use.

        Raises TopicError, with the row in its reason, for what is no filter, and RowError for whatever else is wrong.
        O(rows x (words + log n)).
        """
        trie = self._trie
        queues = trie.dialect.queue_groups
        first = self.rows
        last: Any = None
        place: Any = None
        for number in range(len(filters)):
            filter = filters[number]
            own = options[number]
            try:
                queue = own.get("queue") if queues and own is not None else None
                if place is None or queue is not None or last is None or filter != last:
                    place = trie._place(filter, queue)
                    last = filter if queue is None else None
                subscriber = subscribers[number]
                added = trie._put(place, new_entry(subscriber, subscriber_hash(subscriber), own))
            except TopicError as error:
                raise TopicError(error.text, error.position, f"row {first + number}: {error.reason}") from None
            except TypeError as error:
                raise RowError(first + number, str(error)) from error
            if not added:
                raise RowError(first + number, f"subscriber {subscriber!r} is on {filter!r} already")
        self.rows = first + len(filters)

    def finished(self) -> _SubscriptionTrie:
        """Return the trie, for everybody from now on."""
        return self._trie


def new_bulk(dialect: Dialect, exact: bool) -> Bulk:
    bulk: Bulk = Bulk.__new__(Bulk)
    bulk._trie = _SubscriptionTrie(dialect, exact=exact)
    bulk.rows = 0
    return bulk
