"""The change feed: the changes from one version to the next, written as rows of a Parquet file, and applied from it.

The rows have the columns of a full instant and those that Delta's change feed adds. The types of options matter only in
the rows that inserts and updates add. Removed rows are not rebuilt: they only serve to find the subscription.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS, Cut, Row, batches_of, schema
from snapshot.file_metadata import FileMetadata
from snapshot.published.directory import Directory, read_whole
from snapshot.published.errors import DamagedError
from snapshot.published.manifest import FORMAT, Version
from subtrie import SubscriptionTrie
from subtrie.columns import Changed
from subtrie.tagged import MARK

if TYPE_CHECKING:
    import pyarrow as pa

INSERT, DELETE, BEFORE, AFTER = "insert", "delete", "update_preimage", "update_postimage"


class Written(NamedTuple):
    """The content of a feed, counted while it was written.

    Args:
        rows: the rows of the file.
        changes: the changes; an update counts once.
        growth: inserts minus deletes.
    """

    rows: int
    changes: int
    growth: int


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

    Args:
        changes: changes of texts, as a `snapshot.published.sieve` makes them.
    """
    pa = extra("pyarrow")
    counts: Counter[str] = Counter()
    with extra("pyarrow.parquet").ParquetWriter(
        path, feed_schema(), compression="zstd", write_page_checksum=True
    ) as writer:
        for some, batch in batches_of(_rows(changes), cut):
            kinds = [kind for *_, kind in some]
            commit = [
                pa.array(kinds, pa.string()),
                pa.repeat(pa.scalar(version, pa.int64()), len(some)),
                pa.repeat(pa.scalar(cut.taken_at, pa.timestamp("us", tz="UTC")), len(some)),
            ]
            writer.write_batch(pa.record_batch([*batch.columns, *commit], schema=feed_schema()))
            counts.update(kinds)
    rows = counts.total()
    return Written(rows, rows - counts[BEFORE], counts[INSERT] - counts[DELETE])


def _rows(changes: Iterable[Changed]) -> Iterator[Row]:
    for filter, _, subscriber, before, after in changes:
        if before is not None:
            yield filter, subscriber, before, DELETE if after is None else BEFORE
        if after is not None:
            yield filter, subscriber, after, INSERT if before is None else AFTER


# -------------------------------------------------------------------------------------------------------- and back


def apply_feed(trie: SubscriptionTrie, directory: Directory, version: Version) -> None:
    """Apply the feed of a version to a trie. This is idempotent, even if an earlier attempt stopped in the middle.

    Raises:
        DamagedError: the file is damaged; the changes before the damage may have been applied.
        FileNotFoundError: the file is missing.
    """
    file = version.feed
    assert file is not None
    metadata = FileMetadata(
        version.dialect, bool(version.integers), frozenset(version.json_options), file.rows, tags=True
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
