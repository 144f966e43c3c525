"""The columns of a subscription set, and their encoder, which makes Arrow record batches of subscriptions.

============== ======================= ===================================================================
column         type                    content
============== ======================= ===================================================================
`filter`       string                  the topic filter
`subscriber`   string                  the subscriber's key (see `snapshot.texts`)
`options`      map<string, string>     the subscription's options as texts (see `snapshot.texts`)
`dialect`      string                  the name of the trie's dialect: one value in all rows
`group`        string                  the group of a shared subscription, or queue group; null if there is none
`snapshot_id`  string                  the name of the snapshot: one value in all rows
`taken_at`     timestamp (UTC)         when the snapshot was taken: one value in all rows
============== ======================= ===================================================================

What is stored, in files and published directories, has one more:

============== ======================= ===================================================================
`types`        string                  the types of the options (see `snapshot.storing`)
============== ======================= ===================================================================

What is exported, by `snapshot.to_arrow` and its like, has three more columns, which are computed from the filter:

============== ======================= ===================================================================
`words`        array<string>           its words
`depth`        int                     how many words
`wildcards`    int                     how many of them are wildcards
============== ======================= ===================================================================

Exported changes have three more:

============== ======================= ===================================================================
`old_options`  map<string, string>     the options before; null if it was added
`new_options`  map<string, string>     the options after; null if it was removed
`change`       string                  ``"added"``, ``"removed"`` or ``"updated"`` (other options)
============== ======================= ===================================================================

In these rows `options` are the new options, or the old ones of a subscription that was removed. `snapshot_id` and
`taken_at` belong to the newer snapshot.

Of a whole set, the trie writes the columns' buffers itself (`subtrie.columns`), so no row becomes a Python object. Rows
that are objects, such as changes, become columns by Arrow (`batches_of`). A batch has `BATCH_ROWS` rows, so the memory
used besides the finished batches does not grow with the set. It has fewer rows if their texts are long, since a string
column of a batch holds at most 2 GiB.
"""

from __future__ import annotations

import datetime
import itertools
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from snapshot._extras import extra
from snapshot.texts import SubscriberKeys, option_texts
from snapshot.topics import Limits, dialect_for, frozen, limits_of, mirrored, write_topics
from subtrie import Dialect, Subscription, SubscriptionTrie, TopicStore
from subtrie.columns import Changed, Columns, MapColumn, Rows, TextColumn, changed, walk

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 64 * 1024
"""How many rows a full record batch has."""

BATCH_TEXT = 64 * 1024 * 1024
"""How many bytes the texts of a record batch have together, at most; its last row may exceed this."""

MOST_TEXT = 2**31 - 1
"""How many bytes a column of texts holds."""

STEP = 2048
"""How many rows are filled at a time, which takes about two milliseconds. Ctrl-C takes effect between two steps."""

PAUSE = 0.00005
"""Seconds after each step in which another thread may take the GIL. Each thread that does keeps it for about five
milliseconds (`sys.getswitchinterval`). So beside two busy threads an export takes a tenth of the time, and not the
third that would be its share."""

HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

Item = TypeVar("Item")

Row = tuple[Any, ...]
"""A subscription as texts: its filter, its subscriber, its options by name, their types; and what the caller keeps
beside them."""


class Cut(NamedTuple):
    """A read-only snapshot, its name, when it was taken (UTC), and the limits of the topic store that it mirrors; or an
    empty one, and a snapshot of the store."""

    trie: SubscriptionTrie
    snapshot_id: str
    taken_at: datetime.datetime
    limits: Limits | None = None
    store: TopicStore[Any] | None = None

    def tries(self) -> Iterator[SubscriptionTrie]:
        """The tries that have the rows: one; or of a store, which needs no second one so, one for each batch."""
        if self.store is None:
            yield self.trie
            return
        own = self.store._lifetimes()  # type: ignore[attr-defined]
        for some in in_batches(self.store.entries()):
            part = SubscriptionTrie(self.trie.dialect)
            write_topics(part, own, ((None, entry) for entry in some))
            yield part.snapshot()

    def subscriptions(self) -> Iterator[Subscription]:
        """The rows as subscriptions."""
        return itertools.chain.from_iterable(trie.subscriptions() for trie in self.tries())


def cut_of(source: SubscriptionTrie | TopicStore[Any]) -> Cut:
    """Freeze ``source``, or take it, if it is a snapshot. All exports of one snapshot have its name and time.

    Raises:
        TypeError: ``source`` is not a subscription trie.

    O(1), and writers do not wait.
    """
    store = frozen(source) if isinstance(source, TopicStore) else None
    live = source if store is None else SubscriptionTrie(dialect_for(store.dialect))
    if not isinstance(live, SubscriptionTrie):
        raise TypeError(f"the source must be a SubscriptionTrie or a snapshot of one, not {type(live).__name__}")
    trie = live.snapshot()
    name, taken_at = trie.snapshot_id, trie.taken_at
    assert name is not None
    assert taken_at is not None
    return Cut(trie, name, _EPOCH + datetime.timedelta(microseconds=taken_at // 1000), limits_of(source), store)


def pair_of(newer: SubscriptionTrie, older: SubscriptionTrie) -> tuple[Cut, SubscriptionTrie]:
    """Freeze two tries that are to be compared.

    Raises:
        TypeError: one of them is not a subscription trie.
        ValueError: they have different dialects.
    """
    base, cut = cut_of(mirrored(older)).trie, cut_of(mirrored(newer))
    if cut.trie.dialect != base.dialect:
        raise ValueError(
            f"snapshots of different dialects have no difference: {cut.trie.dialect.name}, {base.dialect.name}"
        )
    return cut, base


def schema() -> pa.Schema:
    """The Arrow schema of a set."""
    pa = extra("pyarrow")
    return pa.schema(
        [
            ("filter", pa.string()),
            ("subscriber", pa.string()),
            ("options", pa.map_(pa.string(), pa.string())),
            ("dialect", pa.string()),
            ("group", pa.string()),
            ("snapshot_id", pa.string()),
            ("taken_at", pa.timestamp("us", tz="UTC")),
        ]
    )


def stored_schema() -> pa.Schema:
    """The Arrow schema of a set that is stored."""
    pa = extra("pyarrow")
    return schema().append(pa.field("types", pa.string()))


def export_schema() -> pa.Schema:
    """The Arrow schema of an exported set."""
    pa = extra("pyarrow")
    filters, *others = schema()
    words = [("words", pa.list_(pa.string())), ("depth", pa.int32()), ("wildcards", pa.int32())]
    return pa.schema([filters, *words, *others])


def change_schema() -> pa.Schema:
    """The Arrow schema of exported changes."""
    pa = extra("pyarrow")
    options = pa.map_(pa.string(), pa.string())
    return (
        export_schema()
        .append(pa.field("old_options", options))
        .append(pa.field("new_options", options))
        .append(pa.field("change", pa.string()))
    )


def set_batches(cut: Cut, keys: SubscriberKeys) -> Iterator[pa.RecordBatch]:
    """The subscriptions of one instant as batches of `schema`, each made when the caller asks for it.

    Raises:
        TypeError: a subscriber is neither a string nor an integer, and has no key.
        ValueError: two subscribers have the same key, or a text cannot be encoded as UTF-8.
    """
    constants = _constants(cut, 0)  # all batches share their memory
    for trie in cut.tries():
        rows = walk(trie, keys, keys.is_given)
        more = True
        while more:
            more = _filled(rows)
            keys.note(rows, trie)
            columns = rows.taken()
            if columns.rows > len(constants[0]):
                constants = _constants(cut, columns.rows)
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
    changes = (_texts_of_change(change, keys) for change in changed(newer.trie, older))
    for rows, batch in batches_of(changes, newer):
        old, new = _maps_of([row[4] for row in rows]), _maps_of([row[5] for row in rows])
        kinds = pa.array([row[6] for row in rows], pa.string())
        yield pa.record_batch([*exported(batch, newer).columns, old, new, kinds], schema=change_schema())


def _texts_of_change(change: Changed, keys: SubscriberKeys) -> Row:
    old = None if change.before is None else option_texts(change.before)
    new = None if change.after is None else option_texts(change.after)
    kind = "added" if old is None else "removed" if new is None else "updated"
    return change.filter, keys.subscriber(change.subscriber), old if new is None else new, "", old, new, kind


def batches_of(rows: Iterable[Row], cut: Cut) -> Iterator[tuple[list[Row], pa.RecordBatch]]:
    """``rows`` as batches of `schema`, in their order: each batch with its rows.

    Raises:
        ValueError: a text cannot be encoded as UTF-8, or the texts of a row do not fit into a column.
    """
    some: list[Row] = []
    text = 0
    for row in rows:
        topic_filter, subscriber, options, types, *_ = row
        text += len("".join((topic_filter, subscriber, *options, *filter(None, options.values()), types)).encode())
        if text > MOST_TEXT:
            raise ValueError("the texts of one subscription take more than 2 GiB, which no column holds")
        some.append(row)
        if len(some) == BATCH_ROWS or text >= BATCH_TEXT:
            yield some, _batch_of(some, cut)
            some, text = [], 0
    if some:
        yield some, _batch_of(some, cut)


def _batch_of(rows: list[Row], cut: Cut) -> pa.RecordBatch:
    pa = extra("pyarrow")
    dialect = cut.trie.dialect
    name, snapshot_id, taken_at = _constants(cut, len(rows))
    return pa.record_batch(
        [
            pa.array([row[0] for row in rows], pa.string()),
            pa.array([row[1] for row in rows], pa.string()),
            _maps_of([row[2] for row in rows]),
            name,
            pa.array([_group_of(row[0], row[2], dialect) for row in rows], pa.string()),
            snapshot_id,
            taken_at,
        ],
        schema=schema(),
    )


def exported(batch: pa.RecordBatch, cut: Cut) -> pa.RecordBatch:
    """The same rows with the columns that are computed from the filter."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    (filters, *others), dialect = batch.columns, cut.trie.dialect
    words = pc.split_pattern(filters, dialect.separator)
    if dialect.zero_words:  # then an empty filter has none
        words = pc.if_else(pc.equal(filters, ""), pa.scalar([], words.type), words)
    wild = pa.array([dialect.one_word, dialect.many_words or dialect.one_word], pa.string())
    wildcards = sums(pc.is_in(words.values, wild).cast(pa.int32()), words.offsets)
    return pa.record_batch([filters, words, pc.list_value_length(words), wildcards, *others], schema=export_schema())


def _maps_of(mappings: list[Mapping[str, str | None] | None]) -> pa.MapArray:
    pa = extra("pyarrow")
    pairs = [None if each is None else list(each.items()) for each in mappings]
    return pa.array(pairs, pa.map_(pa.string(), pa.string()))


def _group_of(filter: str, options: Mapping[str, str | None], dialect: Dialect) -> str | None:
    """The group that a subscription is in, if any."""
    if dialect.queue_groups:
        return options.get("queue")
    if dialect.share_prefix is None or not filter.startswith(dialect.share_prefix):
        return None
    return dialect.unshare(dialect.split_filter(filter))[0]


def in_batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """``items`` in lists of `BATCH_ROWS`, the last one shorter."""
    remaining = iter(items)
    while chunk := list(itertools.islice(remaining, BATCH_ROWS)):
        yield chunk


def table_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """A table of ``batches``. A table without rows gets one empty chunk, since Spark refuses a table without chunks."""
    table = extra("pyarrow").Table.from_batches(batches, schema)
    return table if table.num_rows else schema.empty_table()


def sums(numbers: pa.Array, offsets: pa.Int32Array) -> pa.Array:
    """The sum of the numbers in each list: the running sum at its end less that at its start."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    running = pa.concat_arrays([pa.array([0], numbers.type), pc.cumulative_sum(numbers)])
    return pc.subtract(running.take(offsets[1:]), running.take(offsets[:-1]))


# ------------------------------------------------------------------------------------------------ buffers to arrays


def _constants(cut: Cut, rows: int) -> list[pa.Array]:
    """The columns that have one value in all rows: ``dialect``, ``snapshot_id`` and ``taken_at``."""
    pa = extra("pyarrow")
    return [
        pa.repeat(pa.scalar(cut.trie.dialect.name, pa.string()), rows),
        pa.repeat(pa.scalar(cut.snapshot_id, pa.string()), rows),
        pa.repeat(pa.scalar(cut.taken_at, pa.timestamp("us", tz="UTC")), rows),
    ]


def _batch(columns: Columns, constants: list[pa.Array]) -> pa.RecordBatch:
    pa = extra("pyarrow")
    rows = columns.rows
    name, snapshot_id, taken_at = (column[:rows] for column in constants)
    return pa.record_batch(
        [
            _texts(rows, columns.filters),
            _texts(rows, columns.subscribers),
            _maps(rows, columns.options),
            name,
            _texts(rows, columns.groups, columns.group_validity, columns.ungrouped),
            snapshot_id,
            taken_at,
        ],
        schema=schema(),
    )


def _texts(rows: int, column: TextColumn, validity: bytes | None = None, nulls: int = 0) -> pa.Array:
    pa = extra("pyarrow")
    buffers = [None if validity is None else pa.py_buffer(validity), *map(pa.py_buffer, column)]
    return pa.Array.from_buffers(pa.string(), rows, buffers, nulls)


def _maps(rows: int, column: MapColumn) -> pa.Array:
    pa = extra("pyarrow")
    entries = len(column.names.offsets) // 4 - 1
    kind = pa.map_(pa.string(), pa.string())
    names = _texts(entries, column.names)
    values = _texts(entries, column.values, column.validity, column.nulls)
    pairs = pa.StructArray.from_arrays([names, values], fields=[kind.key_field, kind.item_field])
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(column.offsets)], 0, children=[pairs])
