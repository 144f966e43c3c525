"""The subscription set as an Arrow table and as a pandas data frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snapshot._extras import extra
from snapshot.columns import encode, in_batches, schema, table_of
from snapshot.cut import Cut, cut_of
from snapshot.texts import Key, SubscriberKeys
from subtrie import SubscriptionTrie

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa


def to_arrow(source: SubscriptionTrie, *, key: Key | None = None) -> pa.Table:
    """All subscriptions of one instant as an Arrow table.

    :param source: a subscription trie, or a snapshot of one
    :param key: turns a subscriber into a string; needed unless all subscribers are strings or integers
    :returns: a table with the columns of `snapshot.columns`, one row a subscription, in no particular order
    :raises ImportError: pyarrow is not installed
    :raises TypeError: ``source`` is no subscription trie, or a subscriber is neither a string nor an integer
        and there is no ``key``
    :raises ValueError: two subscribers have the same key

    O(n). The snapshot taken of a live trie is the linearization point; writers go on meanwhile and never
    wait.

    >>> from subtrie import SubscriptionTrie
    >>> trie = SubscriptionTrie()
    >>> trie.subscribe("stock.*.usd", "alice", qos=1)
    True
    >>> to_arrow(trie).drop_columns(["snapshot_id", "taken_at"]).to_pylist()[0]
    {'filter': 'stock.*.usd', 'words': ['stock', '*', 'usd'], 'depth': 3, 'wildcards': 1, 'subscriber':
    'alice',
     'options': [('qos', '1')]}
    """
    return table_of(record_batches(cut_of(source), SubscriberKeys(key)), schema())


def to_pandas(source: SubscriptionTrie, *, key: Key | None = None) -> pandas.DataFrame:
    """All subscriptions of one instant as a pandas data frame: `to_arrow`, with options as dictionaries.

    :raises ImportError: pyarrow or pandas is not installed
    """
    extra("pandas")
    frame: pandas.DataFrame = to_arrow(source, key=key).to_pandas(maps_as_pydicts="strict")
    return frame


def record_batches(cut: Cut, keys: SubscriberKeys) -> Iterator[pa.RecordBatch]:
    """The batches of `to_arrow` one by one, each made when it is asked for."""
    for subscriptions in in_batches(cut.trie.subscriptions()):
        yield from encode(subscriptions, cut, keys)
