"""The change feed: the changes from one version to the next, written as rows of a Parquet file, and applied from it.

The rows have the columns of a full instant and those that Delta's change feed adds. The types of options matter only in
the rows that inserts and updates add. Removed rows are not rebuilt: they only serve to find the subscription.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS, encode, in_batches, schema
from snapshot.cut import Cut
from snapshot.file_metadata import FileMetadata
from snapshot.published.contents import read_whole
from snapshot.published.directory import Directory
from snapshot.published.errors import DamagedError
from snapshot.published.manifest import FORMAT, Version
from snapshot.text_columns import text_in
from snapshot.texts import SubscriberKeys
from subtrie import Subscription, SubscriptionTrie
from subtrie.columns import Changed
from subtrie.tagged import MARK

if TYPE_CHECKING:
    import pyarrow as pa

INSERT, DELETE, BEFORE, AFTER = "insert", "delete", "update_preimage", "update_postimage"


class Written(NamedTuple):
    """The content of a feed, counted while it was written.

    :param rows: the rows of the file
    :param changes: the changes; an update counts once
    :param growth: inserts minus deletes
    :param text: how many bytes of text the rows have
    """

    rows: int
    changes: int
    growth: int
    text: int


def feed_schema() -> pa.Schema:
    """The Arrow schema of a feed."""
    pa = extra("pyarrow")
    added = [
        ("_change_type", pa.string()),
        ("_commit_version", pa.int64()),
        ("_commit_timestamp", pa.timestamp("us", tz="UTC")),
    ]
    return pa.schema([*schema(), *(pa.field(name, kind) for name, kind in added)])


def write_feed(path: str, changes: Iterable[Changed], cut: Cut, version: int) -> Written:
    """Write changes into a Parquet file in their order, with one batch in memory at a time.

    :param changes: changes of texts, as a `snapshot.published.sieve` makes them
    """
    pq = extra("pyarrow.parquet")
    tally = _Tally()
    with pq.ParquetWriter(path, feed_schema(), compression="zstd", write_page_checksum=True) as writer:
        for rows in in_batches(_rows(changes, tally)):
            kinds = [kind for kind, _ in rows]
            for batch in encode([held for _, held in rows], cut, SubscriberKeys()):
                tally.text += text_in(batch)
                writer.write_batch(_with_commit(batch, kinds[: len(batch)], version, cut))
                kinds = kinds[len(batch) :]
    return tally.written()


def _with_commit(batch: pa.RecordBatch, kinds: list[str], version: int, cut: Cut) -> pa.RecordBatch:
    pa = extra("pyarrow")
    commit = [
        pa.array(kinds, pa.string()),
        pa.repeat(pa.scalar(version, pa.int64()), len(batch)),
        pa.repeat(pa.scalar(cut.taken_at, pa.timestamp("us", tz="UTC")), len(batch)),
    ]
    return pa.record_batch([*batch.columns, *commit], schema=feed_schema())


def _rows(changes: Iterable[Changed], tally: _Tally) -> Iterator[tuple[str, Subscription]]:
    for filter, _, subscriber, before, after in changes:
        if after is None:
            tally.deletes += 1
            yield DELETE, Subscription(filter, subscriber, before or {})
            continue
        held = Subscription(filter, subscriber, after)
        if before is None:
            tally.inserts += 1
            yield INSERT, held
        else:
            tally.updates += 1
            yield BEFORE, Subscription(filter, subscriber, before)
            yield AFTER, held


class _Tally:
    """Counts the changes."""

    def __init__(self) -> None:
        self.inserts = self.updates = self.deletes = self.text = 0

    def written(self) -> Written:
        changes = self.inserts + self.updates + self.deletes
        return Written(changes + self.updates, changes, self.inserts - self.deletes, self.text)


# -------------------------------------------------------------------------------------------------------- and back


def apply_feed(trie: SubscriptionTrie, directory: Directory, version: Version) -> None:
    """Apply the feed of a version to a trie. This is idempotent, even if an earlier attempt stopped in the middle.

    :raises DamagedError: the file is damaged; the changes before the damage may have been applied
    :raises FileNotFoundError: the file is missing
    """
    file = version.feed
    assert file is not None
    metadata = FileMetadata(
        version.dialect, bool(version.integers), frozenset(version.json_options), file.rows, tags=version.format > 1
    )
    content = read_whole(directory.store, file)
    try:
        for batch in extra("pyarrow.parquet").ParquetFile(content).iter_batches(BATCH_ROWS, columns=_USED):
            _apply(trie, batch, metadata)
    except (ValueError, TypeError, KeyError, OSError, extra("pyarrow").ArrowException) as error:
        raise DamagedError(f"{directory.locate(file)} is not a change feed of format {FORMAT}: {error}") from error


_USED = ["_change_type", "filter", "subscriber", "options"]


def _apply(trie: SubscriptionTrie, batch: pa.RecordBatch, metadata: FileMetadata) -> None:
    gone, there = [], []
    for kind, *row in zip(*(batch.column(name).to_pylist() for name in _USED), strict=True):
        if kind == DELETE:
            gone.append(_place(metadata, *row))
        elif kind in (INSERT, AFTER):
            there.append(metadata.subscription(*row))
        elif kind != BEFORE:
            raise ValueError(f"a change of type {kind!r}")
    trie.unsubscribe_many(gone)
    trie.subscribe_many(there)


def _place(
    metadata: FileMetadata, filter: str, subscriber: str, options: list[tuple[str, str | None]]
) -> tuple[Any, ...]:
    """What finds a deleted subscription. Its other options are ignored, since their types may have been different."""
    queue: list[tuple[str, str | None]] = [
        (name, text) for name, text in options if name in _QUEUE and text is not None
    ]
    return metadata.subscription(filter, subscriber, queue if metadata.dialect.queue_groups else [])


_QUEUE = ("queue", f"{MARK}queue")
