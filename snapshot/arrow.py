"""The subscription set as an Arrow table, and as a data frame of pandas or Spark.

Rows travel as Arrow batches all the way: no row becomes a Python object in Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from snapshot._extras import extra
from snapshot.columns import (
    Cut,
    change_batches,
    change_schema,
    cut_of,
    export_schema,
    exported,
    pair_of,
    set_batches,
    table_of,
)
from snapshot.environment import require_session
from snapshot.sparks import frame_of
from snapshot.texts import Key, SubscriberKeys
from subtrie import SubscriptionTrie, TopicStore

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def to_arrow(source: SubscriptionTrie | TopicStore[Any], *, key: Key | None = None) -> pa.Table:
    """All subscriptions of one instant as an Arrow table.

    Args:
        source: a subscription trie, or a snapshot of one; or a `TopicStore` (`snapshot.topics`).
        key: turns a subscriber into a string; needed unless all subscribers are strings or integers.

    Returns:
        A table with the columns of `snapshot.columns`, one row for each subscription, in no particular order.

    Raises:
        ImportError: pyarrow is not installed.
        TypeError: ``source`` is not a subscription trie, or a subscriber is neither a string nor an integer and there
            is no ``key``.
        ValueError: two subscribers have the same key.

    O(n). The snapshot of a live trie is the linearization point. Writers never wait.

    >>> from subtrie import SubscriptionTrie
    >>> trie = SubscriptionTrie()
    >>> trie.subscribe("stock.*.usd", "alice", qos=1)
    True
    >>> to_arrow(trie).drop_columns(["snapshot_id", "taken_at"]).to_pylist()[0]
    {'filter': 'stock.*.usd', 'words': ['stock', '*', 'usd'], 'depth': 3, 'wildcards': 1, 'subscriber':
    'alice',
     'options': [('qos', '1')], 'dialect': 'AMQP', 'group': None}
    """
    return table_of(_exported(cut_of(source), key), export_schema())


def to_reader(source: SubscriptionTrie, *, key: Key | None = None) -> pa.RecordBatchReader:
    """All subscriptions of one instant as a stream of Arrow record batches, each made when the reader asks for it.

    Anything that takes an Arrow stream can read it: ``polars.from_arrow(reader)``, ``duckdb.from_arrow(reader)``,
    ``reader.read_pandas()``, ``pyarrow.dataset.write_dataset(reader, ...)``. Only one thread may read at a time.

    Args:
        source: a subscription trie, or a snapshot of one.
        key: as for `to_arrow`.

    Returns:
        A reader of the batches of `to_arrow`.

    Raises:
        ImportError: pyarrow is not installed.
        TypeError: ``source`` is not a subscription trie.

    The call is O(1). It is the linearization point: the rows are those of its instant, whenever they are read. The
    reader raises the errors of `to_arrow` for a subscriber or an option. It takes memory for one batch of 65,536 rows
    and, with a ``key``, for one entry for each distinct subscriber.

    >>> from subtrie import SubscriptionTrie
    >>> trie = SubscriptionTrie()
    >>> trie.subscribe("a", "alice")
    True
    >>> reader = to_reader(trie)
    >>> trie.unsubscribe("a", "alice")
    True
    >>> [len(batch) for batch in reader]
    [1]
    """
    batches = _exported(cut_of(source), key)
    return extra("pyarrow").RecordBatchReader.from_batches(export_schema(), batches)


def _exported(cut: Cut, key: Key | None) -> Iterator[pa.RecordBatch]:
    return (exported(batch, cut) for batch in set_batches(cut, SubscriberKeys(key)))


def to_pandas(source: SubscriptionTrie, *, key: Key | None = None) -> pandas.DataFrame:
    """All subscriptions of one instant as a pandas data frame: `to_arrow`, with options as dictionaries.

    Raises:
        ImportError: pyarrow or pandas is not installed.
    """
    extra("pandas")
    frame: pandas.DataFrame = to_arrow(source, key=key).to_pandas(maps_as_pydicts="strict")
    return frame


def diff_to_arrow(newer: SubscriptionTrie, older: SubscriptionTrie, *, key: Key | None = None) -> pa.Table:
    """What changed between two snapshots, as an Arrow table.

    Args:
        newer: the later snapshot, or the trie itself.
        older: the earlier snapshot, or any trie with the same dialect, such as one from `load`.
        key: as for `to_arrow`.

    Returns:
        The columns of `to_arrow`, and ``old_options``, ``new_options`` and ``change`` (see `snapshot.columns`).

    Raises:
        ImportError: pyarrow is not installed.
        TypeError: one of the two is not a subscription trie, or a subscriber is neither a string nor an integer and
            there is no ``key``.
        ValueError: the two have different dialects, or two subscribers have the same key.

    Time and memory are proportional to the changes if both are snapshots of one trie, otherwise to the two sizes.

    >>> from subtrie import SubscriptionTrie
    >>> trie = SubscriptionTrie()
    >>> before = trie.snapshot()
    >>> trie.subscribe("a", "alice", qos=1)
    True
    >>> diff_to_arrow(trie, before).select(["filter", "old_options", "new_options", "change"]).to_pylist()
    [{'filter': 'a', 'old_options': None, 'new_options': [('qos', '1')], 'change': 'added'}]
    """
    cut, base = pair_of(newer, older)
    return table_of(change_batches(cut, base, SubscriberKeys(key)), change_schema())


def to_spark(source: SubscriptionTrie, spark: SparkSession, *, key: Key | None = None) -> DataFrame:
    """All subscriptions of one instant as a Spark data frame.

    Args:
        source: a subscription trie, or a snapshot of one.
        spark: the session.
        key: turns a subscriber into a string; needed unless all subscribers are strings or integers.

    Returns:
        A data frame with the columns of `snapshot.columns`, one row for each subscription.

    Raises:
        ImportError: pyarrow or pyspark is not installed.
        TypeError: ``source`` is not a subscription trie, or a subscriber is neither a string nor an integer and there
            is no ``key``.
        ValueError: two subscribers have the same key.

    O(n). This process holds the whole set once as Arrow, and Spark's driver holds it once more. `write` a set that is
    too large for that, and let Spark read the file. The linearization point is that of `to_arrow`.
    """
    require_session(spark)
    return frame_of(spark, to_arrow(source, key=key))


def diff_to_spark(
    newer: SubscriptionTrie, older: SubscriptionTrie, spark: SparkSession, *, key: Key | None = None
) -> DataFrame:
    """What changed between two snapshots, as a Spark data frame.

    Args:
        newer: the later snapshot, or the trie itself.
        older: the earlier snapshot, or any trie with the same dialect, such as one from `load`.
        spark: the session.
        key: as for `to_spark`.

    Returns:
        The columns of `to_spark`, and ``old_options``, ``new_options`` and ``change`` (see `snapshot.columns`).

    Raises:
        ImportError: pyarrow or pyspark is not installed.
        TypeError: one of the two is not a subscription trie, or a subscriber is neither a string nor an integer and
            there is no ``key``.
        ValueError: the two have different dialects, or two subscribers have the same key.

    Time and memory are proportional to the changes if both are snapshots of one trie, otherwise to the two sizes.
    """
    require_session(spark)
    return frame_of(spark, diff_to_arrow(newer, older, key=key))
