"""Messages joined with the subscriptions that match them, by the workers of a Spark cluster.

The set is sent to each worker once, as compressed Arrow. A worker rebuilds a trie from it in which each
subscription's subscriber is its row number, so that a match answers with row numbers, and the joined rows are
cut from both tables by Arrow alone. That trie has no groups: workers could not agree on whose turn it is, so a
message is joined with all members of a group.
"""

from __future__ import annotations

import uuid
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, repeat
from typing import TYPE_CHECKING, NamedTuple

from snapshot._extras import extra
from snapshot.arrow import to_arrow
from snapshot.columns import BATCH_ROWS, sums
from snapshot.texts import Key
from subtrie import Dialect, SubscriptionTrie

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

JOINED = ("filter", "subscriber", "options")
"""The columns of the set that a matched message gets."""

PORTION_BYTES = 64 * 1024 * 1024
"""What the rows joined at a time take up in memory; one row may take more. A string column ends at 2 GiB."""


def match_spark(
    messages_df: DataFrame, source: SubscriptionTrie, topic: str = "topic", *, key: Key | None = None
) -> DataFrame:
    """Join messages with the subscriptions that match them.

    :param messages_df: the messages, in a session that is not a Spark Connect one
    :param source: a subscription trie, or a snapshot of one; what is subscribed later is not seen
    :param topic: the column of ``messages_df``, a string column, that holds a message's topic: its name as it
        is, dots included, and in upper or lower case unless ``spark.sql.caseSensitive`` is set; a null topic
        matches nobody
    :param key: as for `snapshot.to_spark`
    :returns: the columns of ``messages_df`` and ``filter``, ``subscriber`` and ``options``: one row for each
        message and each subscription that matches it, none for a message that nobody wants; of a group, all
        members, as `SubscriptionTrie.entries` names them. Evaluated lazily; a topic that the dialect refuses
        fails the job with a `TopicError` that names it
    :raises ImportError: pyarrow or pyspark is not installed
    :raises ValueError: ``messages_df`` has no string column ``topic``, or the result would have two columns
        with one name
    :raises TypeError: ``source`` is no subscription trie, or a subscriber is neither a string nor an integer
        and there is no ``key``

    Each Python worker holds the set once, and joined rows for at most 65,536 matches, or the matches of one
    message, at a time; fewer where they would take more than 64 MiB.
    """
    types = extra("pyspark.sql.types")
    place = _topic_place(messages_df, topic)
    spark = messages_df.sparkSession
    subscriptions = to_arrow(source, key=key).select(JOINED)
    joined_schema = types.StructType(
        [
            *messages_df.schema.fields,
            *spark.createDataFrame(subscriptions.slice(0, 0)).schema.fields,
        ]
    )
    names = joined_schema.names
    sent = spark.sparkContext.broadcast(_to_ipc(subscriptions))
    identifier, dialect = uuid.uuid4().hex, source.dialect

    def join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _join(batches, place, names, _worker_set(identifier, sent, dialect))

    # Spark reads the names of what is mapped as expressions: a dot would be a field of a struct.
    plain = messages_df.toDF(*(f"c{number}" for number in range(len(messages_df.columns))))
    return plain.mapInArrow(join, joined_schema)


def _topic_place(messages_df: DataFrame, topic: str) -> int:
    """The number of the column ``topic``, by Spark's rule for upper and lower case.

    :raises ValueError: the messages cannot be joined by it
    """
    types = extra("pyspark.sql.types")
    case_sensitive = str(messages_df.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"
    as_read = str if case_sensitive else str.lower
    names = [as_read(name) for name in messages_df.columns]
    if as_read(topic) not in names:
        raise ValueError(f"the messages have no column {topic!r}, only {messages_df.columns}")
    occurrences = Counter([*names, *JOINED])
    twice = [name for name in messages_df.columns if occurrences[as_read(name)] > 1]
    if twice:
        raise ValueError(f"the result would have these columns of the messages twice, rename them: {twice}")
    place = names.index(as_read(topic))
    kind = messages_df.schema.fields[place].dataType
    if not isinstance(kind, types.StringType):
        raise ValueError(f"column {topic!r} of the messages must hold strings, not {kind}")
    return place


def _to_ipc(table: pa.Table) -> bytes:
    pa = extra("pyarrow")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


class _WorkerSet(NamedTuple):
    """The set as a worker holds it: the subscriptions, how many bytes the texts of each have, and a trie whose
    subscribers are their row numbers."""

    identifier: str
    subscriptions: pa.Table
    sizes: pa.ChunkedArray
    rows: SubscriptionTrie


_held: _WorkerSet | None = None
"""The set used last: Spark runs the tasks of a query one after another in the same few processes."""


def _worker_set(identifier: str, sent: Broadcast[bytes], dialect: Dialect) -> _WorkerSet:
    global _held
    if _held is None or _held.identifier != identifier:
        _held = None
        _held = _built(identifier, sent.value, dialect)
    return _held


def _built(identifier: str, ipc: bytes, dialect: Dialect) -> _WorkerSet:
    pa = extra("pyarrow")
    subscriptions = pa.ipc.open_stream(ipc).read_all().combine_chunks()
    rows = SubscriptionTrie(replace(dialect, share_prefix=None))
    numbers = count()
    for filters in subscriptions.column("filter").chunks:
        for filter, number in zip(filters.to_pylist(), numbers, strict=False):
            rows.subscribe(_behind_group(filter, dialect), number)
    sizes = pa.chunked_array([_sizes(batch) for batch in subscriptions.to_batches()], pa.int64())
    return _WorkerSet(identifier, subscriptions, sizes, rows)


def _sizes(subscriptions: pa.RecordBatch) -> pa.Int64Array:
    """How many bytes the texts of each subscription have."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    filters, subscribers, options = (
        subscriptions.column("filter"),
        subscriptions.column("subscriber"),
        subscriptions.column("options"),
    )
    names, texts = (pc.binary_length(part).cast(pa.int64()) for part in (options.keys, options.items))
    of_options = sums(pc.add(names, pc.fill_null(texts, 0)), options.offsets)
    return pc.add(of_options, pc.add(pc.binary_length(filters), pc.binary_length(subscribers)))


def _behind_group(filter: str, dialect: Dialect) -> str:
    """The filter without the group of a shared subscription; any other as it is."""
    if dialect.share_prefix is None or not filter.startswith(dialect.share_prefix):
        return filter
    return dialect.join(dialect.unshare(dialect.split_filter(filter))[1])


def _join(
    batches: Iterator[pa.RecordBatch], place: int, names: list[str], held: _WorkerSet
) -> Iterator[pa.RecordBatch]:
    """The rows that the result has for ``batches``, whose column number ``place`` holds the topics."""
    pa = extra("pyarrow")
    for messages in batches:
        for matches in _matches(messages.column(place).to_pylist(), held.rows.match):
            for positions, rows in _portions(messages, held.sizes, *matches):
                columns = [*messages.take(positions).columns, *held.subscriptions.take(rows).columns]
                yield from pa.table(columns, names=names).to_batches(max_chunksize=BATCH_ROWS)


def _portions(
    messages: pa.RecordBatch, sizes: pa.ChunkedArray, positions: pa.Array, rows: pa.Array
) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Halves of the matches, and halves of these, until each is joined within `PORTION_BYTES` or is one match."""
    half = len(rows) // 2
    if half and _most_bytes(messages, sizes, positions, rows) > PORTION_BYTES:
        yield from _portions(messages, sizes, positions[:half], rows[:half])
        yield from _portions(messages, sizes, positions[half:], rows[half:])
    else:
        yield positions, rows


def _most_bytes(messages: pa.RecordBatch, sizes: pa.ChunkedArray, positions: pa.Array, rows: pa.Array) -> int:
    """A bound of what the joined rows take up, whatever the types of the messages' columns.

    It is as if each message were matched as often as the one that is matched most: the truth where they all are,
    and never less.
    """
    pc = extra("pyarrow.compute")
    first, last = positions[0].as_py(), positions[-1].as_py()
    most_matches = pc.max(positions.value_counts().field("counts")).as_py()
    of_messages = messages.slice(first, last - first + 1).nbytes * most_matches
    return int(of_messages + pc.sum(sizes.take(rows)).as_py())


def _matches(topics: list[str | None], match: Callable[[str], tuple[int, ...]]) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Each message's position with each matching subscription's row, about `BATCH_ROWS` pairs at a time."""
    positions, rows = array("q"), array("q")
    for position, topic in enumerate(topics):
        found = () if topic is None else match(topic)
        positions.extend(repeat(position, len(found)))
        rows.extend(found)
        if len(rows) >= BATCH_ROWS:
            yield _int64(positions), _int64(rows)
            positions, rows = array("q"), array("q")
    if rows:
        yield _int64(positions), _int64(rows)


def _int64(numbers: array[int]) -> pa.Array:
    pa = extra("pyarrow")
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])
