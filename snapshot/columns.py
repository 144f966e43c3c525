"""The columns of an exported subscription set, and their encoder, which makes Arrow record batches of subscriptions.

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
`group`        string                  the group of a shared subscription, or queue group; null if there is none
`snapshot_id`  string                  the name of the snapshot: one value in all rows
`taken_at`     timestamp (UTC)         when the snapshot was taken: one value in all rows
============== ======================= ===================================================================

Rows of changes have three more columns:

============== ======================= ===================================================================
`old_options`  map<string, string>     the options before; null if it was added
`new_options`  map<string, string>     the options after; null if it was removed
`change`       string                  ``"added"``, ``"removed"`` or ``"updated"`` (other options)
============== ======================= ===================================================================

In these rows `options` are the new options, or the old ones of a subscription that was removed. `snapshot_id` and
`taken_at` belong to the newer snapshot.

The trie writes the columns' buffers itself (`subtrie.columns`), so no row becomes a Python object. A batch has
`BATCH_ROWS` rows, so the memory used besides the finished batches does not grow with the set. It has fewer rows if
their texts are long, since a string column of a batch holds at most 2 GiB.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from snapshot._extras import extra
from snapshot.cut import Cut
from snapshot.texts import SubscriberKeys
from subtrie import Dialect, Subscription, SubscriptionTrie
from subtrie.columns import Changed, Columns, MapColumn, OptionColumn, Rows, TextColumn, changed, walk

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 64 * 1024
"""How many rows a full record batch has."""

BATCH_TEXT = 64 * 1024 * 1024
"""How many bytes the texts of a record batch have together, at most; its last row may exceed this."""

STEP = 2048
"""How many rows are filled at a time, which takes about two milliseconds. Ctrl-C takes effect between two steps."""

PAUSE = 0.00005
"""Seconds after each step in which another thread may take the GIL. Each thread that does keeps it for about five
milliseconds (`sys.getswitchinterval`). So beside two busy threads an export takes a tenth of the time, and not the
third that would be its share."""

HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()

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
    """The subscriptions of one instant as batches of `schema`, each made when the caller asks for it.

    :raises TypeError: a subscriber is neither a string nor an integer, and has no key
    :raises ValueError: two subscribers have the same key, or a text cannot be encoded as UTF-8
    """
    rows = walk(cut.trie, keys, keys.is_given)
    constants = _Constants(cut)
    more = True
    while more:
        more = _filled(rows)
        keys.note(rows, cut.trie)
        columns = rows.taken()
        if columns.rows:
            yield _batch(columns, constants)


def _filled(rows: Rows) -> bool:
    """Fill the rows of a batch; return whether there may be more."""
    for step in range(STEP, BATCH_ROWS + STEP, STEP):
        if not rows.fill(min(step, BATCH_ROWS), BATCH_TEXT):
            return False
        if rows.text >= BATCH_TEXT:
            break
        if HAS_GIL and threading.active_count() > 1:
            time.sleep(PAUSE)
    return True


def change_batches(newer: Cut, older: SubscriptionTrie, keys: SubscriberKeys) -> Iterator[pa.RecordBatch]:
    """The changes from ``older`` to ``newer``, which have the same dialect, as batches of `change_schema`."""
    pa = extra("pyarrow")
    for changes in in_batches(changed(newer.trie, older)):
        held = [Subscription(change.filter, change.subscriber, _latest(change)) for change in changes]
        done = 0
        for batch in encode(held, newer, keys, older):
            some = changes[done : done + len(batch)]
            old = _options([change.before for change in some], keys)
            new = _options([change.after for change in some], keys)
            kinds = pa.array(map(_kind, some), pa.string())
            yield pa.record_batch([*batch.columns, old, new, kinds], schema=change_schema())
            done += len(batch)


def _latest(change: Changed) -> Mapping[str, Any]:
    options = change.before if change.after is None else change.after
    assert options is not None
    return options


def _kind(change: Changed) -> str:
    return "added" if change.before is None else "removed" if change.after is None else "updated"


def _options(mappings: Iterable[Mapping[str, Any] | None], keys: SubscriberKeys) -> pa.MapArray:
    column = OptionColumn(keys)
    for options in mappings:
        column.add(options)
    taken = column.taken()
    return _maps(len(taken.offsets) // 4 - 1, taken)


def encode(
    subscriptions: Sequence[Subscription], cut: Cut, keys: SubscriberKeys, *others: SubscriptionTrie
) -> Iterator[pa.RecordBatch]:
    """``subscriptions`` as batches of `schema`, in their order: one batch, or several if the texts are long.

    They come from ``cut`` or ``others``. Subscribers that differ must have different keys in all of these.
    """
    rows = Rows(cut.trie.dialect, keys, keys.is_given)
    constants = _Constants(cut)
    for held in subscriptions:
        rows.add(held.filter, group_of(held, cut.trie.dialect), held.subscriber, held.options)
        if rows.text >= BATCH_TEXT:
            keys.note(rows, cut.trie, *others)
            yield _batch(rows.taken(), constants)
    keys.note(rows, cut.trie, *others)
    columns = rows.taken()
    if columns.rows:
        yield _batch(columns, constants)


def group_of(held: Subscription, dialect: Dialect) -> str | None:
    """The group that a subscription is in, if any."""
    if dialect.queue_groups:
        queue = held.options.get("queue")
        return None if queue is None else str.__str__(queue)
    if dialect.share_prefix is None or not held.filter.startswith(dialect.share_prefix):
        return None
    return dialect.unshare(dialect.split_filter(held.filter))[0]


def in_batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """``items`` in lists of `BATCH_ROWS`, the last one shorter."""
    remaining = iter(items)
    while chunk := list(itertools.islice(remaining, BATCH_ROWS)):
        yield chunk


def table_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """A table of ``batches``. A table without rows gets one empty chunk, since Spark refuses a table without chunks."""
    pa = extra("pyarrow")
    table = pa.Table.from_batches(batches, schema)
    return table if table.num_rows else schema.empty_table()


def sums(numbers: pa.Array, offsets: pa.Int32Array) -> pa.Array:
    """The sum of the numbers in each list: the running sum at its end less that at its start."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    running = pa.concat_arrays([pa.array([0], numbers.type), pc.cumulative_sum(numbers)])
    return pc.subtract(running.take(offsets[1:]), running.take(offsets[:-1]))


# ------------------------------------------------------------------------------------------------ buffers to arrays


class _Constants:
    """The columns that have one value in all rows. All batches share their memory."""

    def __init__(self, cut: Cut) -> None:
        pa = extra("pyarrow")
        self._values = {
            "dialect": pa.scalar(cut.trie.dialect.name, pa.string()),
            "snapshot_id": pa.scalar(cut.snapshot_id, pa.string()),
            "taken_at": pa.scalar(cut.taken_at, pa.timestamp("us", tz="UTC")),
        }
        self._columns: dict[str, Any] = {}

    def of(self, name: str, rows: int) -> pa.Array:
        """The first ``rows`` rows of a column."""
        column = self._columns.get(name)
        if column is None or len(column) < rows:
            self._columns[name] = column = extra("pyarrow").repeat(self._values[name], rows)
        return column[:rows]


def _batch(columns: Columns, constants: _Constants) -> pa.RecordBatch:
    pa = extra("pyarrow")
    rows = columns.rows
    words = _texts(len(columns.words.offsets) // 4 - 1, columns.words)
    lists = [None, pa.py_buffer(columns.word_lists)]
    return pa.record_batch(
        [
            _texts(rows, columns.filters),
            pa.Array.from_buffers(pa.list_(pa.string()), rows, lists, 0, children=[words]),
            _integers(rows, columns.depths),
            _integers(rows, columns.wildcards),
            _texts(rows, columns.subscribers),
            _maps(rows, columns.options),
            constants.of("dialect", rows),
            _texts(rows, columns.groups, columns.group_validity, columns.ungrouped),
            constants.of("snapshot_id", rows),
            constants.of("taken_at", rows),
        ],
        schema=schema(),
    )


def _integers(rows: int, numbers: bytes) -> pa.Array:
    pa = extra("pyarrow")
    return pa.Array.from_buffers(pa.int32(), rows, [None, pa.py_buffer(numbers)], 0)


def _texts(rows: int, column: TextColumn, validity: bytes | None = None, nulls: int = 0) -> pa.Array:
    pa = extra("pyarrow")
    buffers = [None if validity is None else pa.py_buffer(validity), *map(pa.py_buffer, column)]
    return pa.Array.from_buffers(pa.string(), rows, buffers, nulls)


def _maps(rows: int, column: MapColumn) -> pa.Array:
    pa = extra("pyarrow")
    entries = len(column.names.offsets) // 4 - 1
    kind = pa.map_(pa.string(), pa.string())
    names = _texts(entries, column.names)
    values = _texts(entries, column.values, column.values_validity, column.value_nulls)
    pairs = pa.StructArray.from_arrays([names, values], fields=[kind.key_field, kind.item_field])
    validity = None if column.validity is None else pa.py_buffer(column.validity)
    return pa.Array.from_buffers(kind, rows, [validity, pa.py_buffer(column.offsets)], column.nulls, children=[pairs])
