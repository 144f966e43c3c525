"""The columns of an exported subscription set, and their encoder: subscriptions in, Arrow record batches out.

============== ======================= ===================================================================
column         type                    content
============== ======================= ===================================================================
`filter`       string                  the topic filter
`words`        array<string>           its words
`depth`        int                     how many words
`wildcards`    int                     how many of them are wildcards
`subscriber`   string                  the subscriber's key (see `snapshot.texts`)
`options`      map<string, string>     the subscription's options as texts (see `snapshot.texts`)
`snapshot_id`  string                  names the snapshot: one value in all rows
`taken_at`     timestamp (UTC)         when the snapshot was taken: one value in all rows
============== ======================= ===================================================================

Subscriptions are encoded `BATCH_ROWS` at a time into flat buffers with offsets, so that the memory used
beside the finished batches does not grow with the set.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from snapshot._extras import extra
from snapshot.cut import Cut
from snapshot.texts import SubscriberKeys, option_text
from subtrie import Dialect, Subscription

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 64 * 1024
"""Rows of a full record batch."""

Item = TypeVar("Item")


def schema() -> pa.Schema:
    """The Arrow schema of an exported set."""
    pa = extra("pyarrow")
    return pa.schema(
        [
            ("filter", pa.string()),
            ("words", pa.list_(pa.string())),
            ("depth", pa.int32()),
            ("wildcards", pa.int32()),
            ("subscriber", pa.string()),
            ("options", pa.map_(pa.string(), pa.string())),
            ("snapshot_id", pa.string()),
            ("taken_at", pa.timestamp("us", tz="UTC")),
        ]
    )


def in_batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """``items`` in lists of `BATCH_ROWS`, the last one shorter."""
    remaining = iter(items)
    while chunk := list(itertools.islice(remaining, BATCH_ROWS)):
        yield chunk


def table_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """A table of ``batches``; that of none has one empty chunk, since Spark takes no table without any."""
    pa = extra("pyarrow")
    table = pa.Table.from_batches(batches, schema)
    return table if table.num_rows else schema.empty_table()


def encode(subscriptions: Sequence[Subscription], cut: Cut, keys: SubscriberKeys) -> pa.RecordBatch:
    """One record batch of ``subscriptions``, in their order."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    filters = pa.array([held.filter for held in subscriptions], pa.string())
    words = _words(filters, cut.trie.dialect)
    return pa.record_batch(
        [
            filters,
            words,
            pc.list_value_length(words),
            _wildcard_counts(words, cut.trie.dialect),
            pa.array([keys.of(held.subscriber) for held in subscriptions], pa.string()),
            _option_maps(subscriptions),
            pa.repeat(pa.scalar(cut.snapshot_id, pa.string()), len(subscriptions)),
            pa.repeat(pa.scalar(cut.taken_at, pa.timestamp("us", tz="UTC")), len(subscriptions)),
        ],
        schema=schema(),
    )


def _words(filters: pa.StringArray, dialect: Dialect) -> pa.ListArray:
    """The words of each filter; the empty filter has one empty word, or none where the dialect says so."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    if not dialect.zero_words:
        return pc.split_pattern(filters, pattern=dialect.separator)
    present = pc.if_else(pc.equal(filters, ""), pa.scalar(None, pa.string()), filters)
    return pc.coalesce(pc.split_pattern(present, pattern=dialect.separator), pa.scalar([], pa.list_(pa.string())))


def _wildcard_counts(words: pa.ListArray, dialect: Dialect) -> pa.Array:
    """How many wildcards each list holds: the running count at its end less that at its start."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    wildcards = pa.array([word for word in (dialect.one_word, dialect.many_words) if word is not None], pa.string())
    flags = pc.is_in(words.values, value_set=wildcards).cast(pa.int32())
    running = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(flags)])
    return pc.subtract(running.take(words.offsets[1:]), running.take(words.offsets[:-1]))


def _option_maps(subscriptions: Sequence[Subscription]) -> pa.MapArray:
    pa = extra("pyarrow")
    offsets, names, texts = [0], [], []
    for held in subscriptions:
        for name, value in held.options.items():
            names.append(name)
            texts.append(option_text(name, value))
        offsets.append(len(names))
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(names, pa.string()), pa.array(texts, pa.string())
    )
