"""The change feed: the changes from one version to the next, written as rows of a Parquet file, and applied from it.

The rows have the columns of a full instant and those that Delta's change feed adds. The types of options matter only in
the rows that inserts and updates add. Removed rows are not rebuilt: they only serve to find the subscription.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from snapshot._extras import extra
from snapshot.build import Columns, RowReader
from snapshot.columns import BATCH_ROWS, Cut, Row, batches_of, stored_schema
from snapshot.file_metadata import FileMetadata
from snapshot.merging import AFTER, BEFORE, DELETE, INSERT, KIND, merged, of_kind, there_after
from snapshot.older import current, untagged_integers
from snapshot.option_maps import TYPES
from snapshot.published.directory import Directory, read_whole
from snapshot.published.errors import DamagedError
from snapshot.published.manifest import FORMAT, DataFile, Version
from snapshot.published.sieve import Stored
from snapshot.published.store import Store
from subtrie import SubscriptionTrie

if TYPE_CHECKING:
    import pyarrow as pa

MOST_MERGED: Final = 500_000
"""How many rows of feeds are in memory at a time, unless one version has more."""


def feed_schema() -> pa.Schema:
    """The Arrow schema of a feed."""
    pa = extra("pyarrow")
    added = {KIND: pa.string(), "_commit_version": pa.int64(), "_commit_timestamp": pa.timestamp("us", tz="UTC")}
    return pa.schema([*stored_schema(), *added.items()])


def write_feed(path: str, changes: Iterable[Stored], cut: Cut, version: int) -> tuple[int, int, int]:
    """Write changes into a Parquet file in their order, with one batch in memory at a time. Return how many rows and
    changes there are, and how many subscriptions more there are after them."""
    pa = extra("pyarrow")
    counts: Counter[str] = Counter()
    with extra("pyarrow.parquet").ParquetWriter(
        path, feed_schema(), compression="zstd", write_page_checksum=True
    ) as writer:
        for some, batch in batches_of(_rows(changes), cut):
            kinds = [kind for *_, kind in some]
            commit = [
                pa.array([row[3] for row in some], pa.string()),
                pa.array(kinds, pa.string()),
                pa.repeat(pa.scalar(version, pa.int64()), len(some)),
                pa.repeat(pa.scalar(cut.taken_at, pa.timestamp("us", tz="UTC")), len(some)),
            ]
            writer.write_batch(pa.record_batch([*batch.columns, *commit], schema=feed_schema()))
            counts.update(kinds)
    return counts.total(), counts.total() - counts[BEFORE], counts[INSERT] - counts[DELETE]


def write_merged(path: str, store: Store, versions: Iterable[Version]) -> int:
    """Write the last row of each subscription in the feeds of versions, and return how many there are."""
    feeds = [(version, read_feed(store, version)) for version in versions]
    rows = merged([feed for _, feed in feeds], feeds[-1][0].dialect.queue_groups)
    extra("pyarrow.parquet").write_table(rows, path, compression="zstd", write_page_checksum=True)
    return len(rows)


def _rows(changes: Iterable[Stored]) -> Iterator[Row]:
    for filter, subscriber, before, after in changes:
        if before is not None:
            yield filter, subscriber, *before, DELETE if after is None else BEFORE
        if after is not None:
            yield filter, subscriber, *after, INSERT if before is None else AFTER


# -------------------------------------------------------------------------------------------------------- and back


def read_feed(store: Store, version: Version, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of the feed of a version, which fit into memory, and some of its columns, or all.

    Raises:
        DamagedError: the file has other bytes than were written, or is no feed.
        FileNotFoundError: the file is missing.
    """
    file = version.feed
    assert file is not None
    content, names = read_whole(store, file), columns or feed_schema().names
    try:
        rows: pa.Table = current(whole_table(content, names), version.json_options)
        rows = untagged_integers(rows) if version.integers and "subscriber" in names else rows
        if unknown := set(rows.column(KIND).unique().to_pylist()).difference((INSERT, DELETE, BEFORE, AFTER)):
            raise ValueError(f"a change of type {unknown.pop()!r}")
    except (ValueError, TypeError, KeyError, OSError, extra("pyarrow").ArrowException) as error:
        raise _not_a_feed(store, file, error) from error
    return rows.select([name for name in names if name in rows.schema.names])


# No thread of Arrow's reads what Python holds. It would let go of it some time after the call that waited for it, for
# which it needs the interpreter: at the end of the program this aborts the process, or waits for ever.


def whole_table(content: bytes, columns: Sequence[str]) -> pa.Table:
    """Some columns of a Parquet file in memory."""
    return extra("pyarrow.parquet").ParquetFile(extra("pyarrow").py_buffer(content)).read(columns, use_threads=False)


@contextmanager
def parquet_file(store: Store, name: str) -> Iterator[Any]:
    """Open a Parquet file that was compared with its digest before, for reads with ``use_threads=False``."""
    with store.open(name) as opened:
        yield extra("pyarrow.parquet").ParquetFile(opened, page_checksum_verification=True, pre_buffer=False)


def apply_feed(trie: SubscriptionTrie, directory: Directory, *versions: Version) -> None:
    """Apply the feeds of versions that follow each other to a trie: as many at a time as fit into memory.

    That of a single version is idempotent, even if an earlier attempt stopped in the middle.

    Raises:
        DamagedError: a file is damaged; changes of it, and those before the damage, may have been applied.
        FileNotFoundError: a file is missing.
    """
    for some, integers in alike(versions):
        feeds = [read_feed(directory.store, version, USED) for version in some]
        dialect = some[-1].dialect
        try:
            changes = feeds[0] if len(feeds) == 1 else merged(feeds, dialect.queue_groups)
            _apply(trie, changes, FileMetadata(dialect, bool(integers), 0))
        except (ValueError, TypeError, KeyError) as error:
            assert some[0].feed is not None
            raise _not_a_feed(directory.store, some[0].feed, error) from error


def _not_a_feed(store: Store, file: DataFile, error: Exception) -> DamagedError:
    return DamagedError(f"{store.locate(file.path)} is not a change feed of format {FORMAT}: {error}")


USED = ("filter", "subscriber", "options", TYPES, KIND)
"""The columns that readers of feeds need."""


def alike(versions: Iterable[Version]) -> Iterator[tuple[list[Version], bool | None]]:
    """Versions with feeds, in parts that can be merged, and whether their subscribers are integers: in a part one text
    means one subscriber. And a part has at most `MOST_MERGED` rows, or is a single version."""
    some: list[Version] = []
    integers, rows = None, 0
    for version in versions:
        assert version.feed is not None
        differ = None not in (integers, version.integers) and integers is not version.integers
        if some and (differ or rows + version.feed.rows > MOST_MERGED):
            yield some, integers
            some, integers, rows = [], None, 0
        some.append(version)
        integers, rows = integers if version.integers is None else version.integers, rows + version.feed.rows
    if some:
        yield some, integers


def _apply(trie: SubscriptionTrie, changes: pa.Table, meaning: FileMetadata) -> None:
    reader = RowReader(meaning, own=True)
    for batch in of_kind(changes, DELETE).to_batches(BATCH_ROWS):
        trie.unsubscribe_many(_given(reader.named(batch)))
    for batch in there_after(changes).to_batches(BATCH_ROWS):
        trie.subscribe_many(_given(reader.read(batch)))


def _given(rows: Columns) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    filters, subscribers, options = rows
    return zip(filters, subscribers, (each or {} for each in options), strict=True)
