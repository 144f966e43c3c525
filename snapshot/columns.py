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
`dialect`      string                  the name of the trie's dialect: one value in all rows
`group`        string                  the group of a shared subscription, or queue group; null where there is none
`snapshot_id`  string                  names the snapshot: one value in all rows
`taken_at`     timestamp (UTC)         when the snapshot was taken: one value in all rows
============== ======================= ===================================================================

Rows of changes have three columns more:

============== ======================= ===================================================================
`old_options`  map<string, string>     the options that it had; null if it was added
`new_options`  map<string, string>     the options that it has now; null if it was removed
`change`       string                  ``"added"``, ``"removed"`` or ``"updated"`` (other options)
============== ======================= ===================================================================

There `options` are the new ones, or the old ones where there are no new ones, and `snapshot_id` and `taken_at` are of
the newer snapshot.

Subscriptions are encoded `BATCH_ROWS` at a time into flat buffers with offsets, so that the memory used
beside the finished batches does not grow with the set; fewer at a time where their texts are long, since one
string column of a batch ends at 2 GiB.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from snapshot._extras import extra
from snapshot.cut import Cut
from snapshot.texts import SubscriberKeys, option_text
from subtrie import Dialect, Subscription, SubscriptionTrie
from subtrie.columns import Changed, changed

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 64 * 1024
"""Rows of a full record batch."""

BATCH_TEXT = 64 * 1024 * 1024
"""Characters, each of up to four bytes, that the texts of a record batch have together; one row may have more."""

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
            ("dialect", pa.string()),
            ("group", pa.string()),
            ("snapshot_id", pa.string()),
            ("taken_at", pa.timestamp("us", tz="UTC")),
        ]
    )


def change_schema() -> pa.Schema:
    """The Arrow schema of exported changes."""
    pa = extra("pyarrow")
    options = pa.map_(pa.string(), pa.string())
    return (
        schema()
        .append(pa.field("old_options", options))
        .append(pa.field("new_options", options))
        .append(pa.field("change", pa.string()))
    )


def set_batches(cut: Cut, keys: SubscriberKeys) -> Iterator[pa.RecordBatch]:
    """The subscriptions of one instant as batches of `schema`, each made when it is asked for."""
    for subscriptions in in_batches(cut.trie.subscriptions()):
        yield from encode(subscriptions, cut, keys)


def change_batches(newer: Cut, older: SubscriptionTrie, keys: SubscriberKeys) -> Iterator[pa.RecordBatch]:
    """What is different in ``newer`` from ``older``, which has its dialect, as batches of `change_schema`."""
    pa = extra("pyarrow")
    for changes in in_batches(changed(newer.trie, older)):
        old = _Options([change.before for change in changes]).maps()
        new = _Options([change.after for change in changes]).maps()
        kinds = pa.array([_kind(change) for change in changes], pa.string())
        held = [
            Subscription(one.filter, one.subscriber, one.after if one.after is not None else one.before or {})
            for one in changes
        ]
        done = 0
        for batch in encode(held, newer, keys):
            rows = slice(done, done + len(batch))
            yield pa.record_batch([*batch.columns, old[rows], new[rows], kinds[rows]], schema=change_schema())
            done += len(batch)


def _kind(change: Changed) -> str:
    return "added" if change.before is None else "removed" if change.after is None else "updated"


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


def encode(subscriptions: Sequence[Subscription], cut: Cut, keys: SubscriberKeys) -> Iterator[pa.RecordBatch]:
    """``subscriptions`` as record batches, in their order: one batch, or more of them where texts are long."""
    subscribers, options = (
        [keys.of(held.subscriber) for held in subscriptions],
        _Options([held.options for held in subscriptions]),
    )
    characters = sum(len(held.filter) for held in subscriptions) + sum(map(len, subscribers)) + options.characters()
    if characters > BATCH_TEXT and len(subscriptions) > 1:
        half = len(subscriptions) // 2
        yield from encode(subscriptions[:half], cut, keys)
        yield from encode(subscriptions[half:], cut, keys)
    else:
        yield _batch(subscriptions, subscribers, options, cut)


def _batch(
    subscriptions: Sequence[Subscription], subscribers: list[str], options: _Options, cut: Cut
) -> pa.RecordBatch:
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    filters = pa.array([held.filter for held in subscriptions], pa.string())
    words = _words(filters, cut.trie.dialect)
    return pa.record_batch(
        [
            filters,
            words,
            pc.list_value_length(words),
            _wildcard_counts(words, cut.trie.dialect),
            pa.array(subscribers, pa.string()),
            options.maps(),
            pa.repeat(pa.scalar(cut.trie.dialect.name, pa.string()), len(filters)),
            pa.array([group_of(held, cut.trie.dialect) for held in subscriptions], pa.string()),
            pa.repeat(pa.scalar(cut.snapshot_id, pa.string()), len(filters)),
            pa.repeat(pa.scalar(cut.taken_at, pa.timestamp("us", tz="UTC")), len(filters)),
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
    """How many wildcards each list holds."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    wildcards = pa.array([word for word in (dialect.one_word, dialect.many_words) if word is not None], pa.string())
    return sums(pc.is_in(words.values, value_set=wildcards).cast(pa.int32()), words.offsets)


def sums(numbers: pa.Array, offsets: pa.Int32Array) -> pa.Array:
    """The sum of the numbers in each list: the running sum at its end less that at its start."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    running = pa.concat_arrays([pa.array([0], numbers.type), pc.cumulative_sum(numbers)])
    return pc.subtract(running.take(offsets[1:]), running.take(offsets[:-1]))


def group_of(held: Subscription, dialect: Dialect) -> str | None:
    """The group that a subscription is in, if any."""
    if dialect.queue_groups:
        return held.options.get("queue")
    if dialect.share_prefix is None or not held.filter.startswith(dialect.share_prefix):
        return None
    return dialect.unshare(dialect.split_filter(held.filter))[0]


class _Options:
    """Options as texts; None is no mapping at all."""

    def __init__(self, mappings: Sequence[Mapping[str, Any] | None]) -> None:
        self._absent = [options is None for options in mappings]
        self._offsets: list[int] = [0]
        self._names: list[str] = []
        self._texts: list[str | None] = []
        for options in mappings:
            for name, value in (options or {}).items():
                self._names.append(name)
                self._texts.append(option_text(name, value))
            self._offsets.append(len(self._names))

    def characters(self) -> int:
        """How many characters the names and the texts have together."""
        return sum(map(len, self._names)) + sum(len(text) for text in self._texts if text is not None)

    def maps(self) -> pa.MapArray:
        """A map for each subscription."""
        pa = extra("pyarrow")
        return pa.MapArray.from_arrays(
            pa.array(self._offsets, pa.int32()),
            pa.array(self._names, pa.string()),
            pa.array(self._texts, pa.string()),
            mask=pa.array(self._absent, pa.bool_()) if any(self._absent) else None,
        )
