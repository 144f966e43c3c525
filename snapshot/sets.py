"""The set that messages are matched with: a trie of this process, or a version of a published directory."""

from __future__ import annotations

import datetime
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from snapshot import held_sets
from snapshot._extras import extra
from snapshot.columns import cut_of, schema, set_batches, stored_schema, table_of
from snapshot.environment import require_session, require_workers
from snapshot.held_sets import JOINED, HeldSet
from snapshot.instants import Part, parts_of, rows_of
from snapshot.merging import KIND, merged, there_after, untouched
from snapshot.older import current
from snapshot.option_maps import TYPES
from snapshot.option_numbers import OptionMap, numbered
from snapshot.published import Directory, HistoryError, NotPublishedError, Version, open_directory
from snapshot.published.directory import read_whole, require_whole
from snapshot.published.feed import read_feed
from snapshot.published.history import shaped
from snapshot.published.manifest import Mark
from snapshot.sparks import frame_of, is_remote, parquet_from, struct_of
from snapshot.texts import Key, SubscriberKeys
from snapshot.topics import SUFFIX
from subtrie import Dialect, SubscriptionTrie

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

OPTIONS_SEEN, GROUPS_SEEN = 64 * 1024, 4
"""Rows of which the driver looks at the options, and in how many parts of a file they are, at most."""


class SentSet(ABC):
    """The object that the workers are sent: the set, or where it is. Equal objects mean the same set."""

    def held(self) -> HeldSet:
        """The set, on a worker.

        Raises:
            HistoryError: the directory is not the one that the driver saw.
        """
        return held_sets.held_set(self, self.made)

    @abstractmethod
    def made(self) -> HeldSet:
        """The set, made anew."""


class SetSource(ABC):
    """A set on the driver."""

    dialect: Dialect

    @abstractmethod
    def sent(self, spark: SparkSession) -> SentSet:
        """The object that the workers are sent."""

    def history(self) -> SentSet:
        """The same for all versions that are kept up to this one.

        Raises:
            ValueError: there are none.
        """
        raise ValueError("as_of= is for published directories")

    @abstractmethod
    def options(self) -> tuple[OptionMap, ...]:
        """Different options that subscriptions have: all of them, or those of `OPTIONS_SEEN` rows."""

    @abstractmethod
    def rows(self, spark: SparkSession) -> DataFrame:
        """The set, with the columns of `JOINED`."""


def source_of(
    source: Any,
    at: int | datetime.datetime | None,
    key: Key | None,
    storage: Mapping[str, Any] | None = None,
) -> SetSource:
    """The set of a subscription trie or of a published directory. Of a set it is that set, so that one who asks
    several questions takes it once.

    Raises:
        TypeError: ``source`` is neither a subscription trie nor a path.
        ValueError: ``at`` or ``key`` does not apply to it.
    """
    if isinstance(source, SetSource):
        return source
    if isinstance(source, str | os.PathLike):
        if key is not None:
            raise ValueError("key= is for tries; what is published has its keys already")
        directory = open_directory(source, storage)
        version = directory.version_at(at)
        if version.dialect.name.endswith(SUFFIX):
            raise ValueError(f"{directory.store.place} has the topics of a store, which match no messages")
        return _PublishedSet(directory, version)
    if not isinstance(source, SubscriptionTrie):
        raise TypeError(
            "the source must be a SubscriptionTrie, a snapshot of one, or the path of a published directory, "
            f"not {type(source).__name__}"
        )
    if at is not None:
        raise ValueError("at= is for published directories; of a trie, give the snapshot")
    if storage:
        raise ValueError("storage= is for published directories, not for a trie")
    return _TrieSet(source.snapshot(), key)


# A trie ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _BroadcastSet(SentSet):
    """A set as compressed Arrow in a broadcast variable, named by a digest of its content."""

    digest: str
    dialect: Dialect
    content: Any = field(compare=False)

    def made(self) -> HeldSet:
        """The set in the broadcast variable."""
        pa = extra("pyarrow")
        return held_sets.built(pa.ipc.open_stream(self.content.value), self.dialect)


class _TrieSet(SetSource):
    """A snapshot of a trie."""

    def __init__(self, trie: SubscriptionTrie, key: Key | None) -> None:
        self.dialect = trie.dialect
        self._table = table_of(set_batches(cut_of(trie), SubscriberKeys(key)), schema()).select(JOINED)

    def sent(self, spark: SparkSession) -> SentSet:
        if is_remote(spark):
            raise ValueError(
                "a Spark Connect session cannot send a trie to the workers: publish it, give the directory"
            )
        content = _to_ipc(self._table)
        digest = hashlib.blake2b(content + repr(self.dialect).encode(), digest_size=16).hexdigest()
        return _BroadcastSet(digest, self.dialect, spark.sparkContext.broadcast(content))

    def options(self) -> tuple[OptionMap, ...]:
        return numbered(self._table.column("options").slice(0, OPTIONS_SEEN).combine_chunks(), ())[1]

    def rows(self, spark: SparkSession) -> DataFrame:
        return frame_of(spark, self._table)


def _to_ipc(table: pa.Table) -> bytes:
    pa = extra("pyarrow")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


# A published directory ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublishedVersion(SentSet):
    """A version of a published directory, by its path: each worker reads it from there.

    Args:
        mark: which version of this number.
    """

    where: str
    mark: Mark

    def made(self) -> HeldSet:
        """The set: made from a kept earlier version and the changes since, or from the directory alone."""
        directory = open_directory(self.where)
        directory.require(self.mark)
        number = self.mark.version
        kept = [each for each in held_sets.kept() if isinstance(each, PublishedVersion) and each.where == self.where]
        earlier = max((each.mark for each in kept if each.mark.version < number), default=None)
        if earlier is not None:
            try:
                directory.require(earlier)
                feeds = _changes(directory, directory.changes(earlier.version, number))
                return held_sets.advanced(PublishedVersion(self.where, earlier).held(), feeds)
            except (NotPublishedError, HistoryError):
                pass  # its changes are not kept any more, or it is of another history
        return _built(directory, directory.version_at(number))


@dataclass(frozen=True)
class PublishedHistory(SentSet):
    """The versions of a published directory from one to another."""

    where: str
    since: int
    until: Mark

    def made(self) -> HeldSet:
        """All of them."""
        directory = open_directory(self.where)
        directory.require(self.until)
        first = directory.version_at(self.since)
        versions = directory.changes(self.since, self.until.version)
        times = [first.time, *(version.time for version in versions)]
        return held_sets.with_history(_built(directory, first), _changes(directory, versions), times)


def _built(directory: Directory, version: Version) -> HeldSet:
    """A version, from its full instant and the changes since."""
    pa, queues = extra("pyarrow"), version.dialect.queue_groups
    full, later = directory.parts(version)
    assert full.full is not None
    rows = extra("pyarrow.parquet").ParquetFile(read_whole(directory.store, full.full)).read([*JOINED, TYPES])
    rows = current(rows, full.json_options).select(JOINED)
    if later:
        changes = merged(_changes(directory, later), queues)
        rows = pa.concat_tables([untouched(rows, changes, queues), there_after(changes).select(JOINED)])
    return held_sets.built(rows.to_batches(), version.dialect)


def _changes(directory: Directory, versions: Iterable[Version], names: Sequence[str] = JOINED) -> list[pa.Table]:
    """The feeds of versions, with these columns and ``_change_type``."""
    columns = [*names, KIND]
    return [read_feed(directory.store, version, columns) for version in versions if version.feed is not None]


class _PublishedSet(SetSource):
    """A version of a published directory."""

    def __init__(self, directory: Directory, version: Version) -> None:
        self.dialect = version.dialect
        self._directory, self._version = directory, version

    def sent(self, spark: SparkSession) -> SentSet:
        return PublishedVersion(self._directory.store.uri, self._version.marked())

    def history(self) -> SentSet:
        assert self._version.oldest is not None
        return PublishedHistory(self._directory.store.uri, self._version.oldest, self._version.marked())

    def options(self) -> tuple[OptionMap, ...]:
        full = self._directory.parts(self._version).full.full
        assert full is not None
        known: tuple[OptionMap, ...] = ()
        with self._directory.store.open(full.path) as opened:
            file = extra("pyarrow.parquet").ParquetFile(opened)
            groups = file.num_row_groups
            for group in range(0, groups, -(-groups // GROUPS_SEEN) or 1):  # of all the file, whose rows are sorted
                rows = file.iter_batches(OPTIONS_SEEN // GROUPS_SEEN, row_groups=[group], columns=["options"])
                known = numbered(next(rows).column("options"), known)[1]
        return known

    def rows(self, spark: SparkSession) -> DataFrame:
        return self.read(spark, JOINED)

    def read(self, spark: SparkSession, names: Sequence[str]) -> DataFrame:
        """Columns of the version as Spark itself reads it: the full instant without what feeds name, plus what they
        add."""
        full, later = self._directory.parts(self._version)
        assert full.full is not None
        whole = None
        if self._directory.store.is_local:
            require_whole(self._directory.store, full.full)
            whole = parquet_from(spark, self._directory.locate(full.full))
        if whole is None or TYPES not in whole.columns:
            # Spark would need a connector of its own for this file system, and cannot convert rows of earlier versions.
            require_workers(spark)
            parts, where = parts_of(self._directory, self._version), self._directory.store.uri
            read = partial(_read_parts, where=where, parts=parts)
            frame = spark.range(0, len(parts), 1, len(parts)).mapInArrow(read, struct_of(stored_schema()))
            return frame.select(*names)
        whole = whole.select(*names)
        if not later:
            return whole
        changes = merged(_changes(self._directory, later, names), self.dialect.queue_groups)
        queue = "options['queue']" if self.dialect.queue_groups else "cast(null as string)"
        changed = frame_of(spark, changes.select(JOINED)).selectExpr("filter as f", "subscriber as s", f"{queue} as q")
        same = extra("pyspark.sql.functions").expr(f"filter = f and subscriber = s and {queue} <=> q")
        kept = whole.join(changed, same, "left_anti")
        return kept.unionByName(frame_of(spark, there_after(changes).select(names)))


def _read_parts(numbers: Iterable[pa.RecordBatch], *, where: str, parts: list[Part]) -> Iterator[pa.RecordBatch]:
    """The rows of the parts with these numbers, on a worker."""
    store = open_directory(where).store
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            for rows in rows_of(store, parts[number]):
                yield from shaped(rows, stored_schema().names)


def read(
    spark: SparkSession,
    where: str | os.PathLike[str],
    at: int | datetime.datetime | None = None,
    *,
    storage: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The content of a version of a published directory as a Spark data frame, read by Spark's own reader of Parquet:
    it reads only the columns and the rows that a query needs, and runs no Python.

    Args:
        spark: the session.
        where: the directory, a path that all executors can read. In an object store, or if an earlier version
            of this package wrote the full instant, Python workers read it, all columns and rows.
        at: a version or a time (with a zone); None for the newest version.
        storage: as for `Publisher`. The executors use it, too.

    Returns:
        The columns of `snapshot.columns` that are stored, one row for each subscription.

    Raises:
        ImportError: pyarrow or pyspark is not installed.
        FileNotFoundError: nothing was ever published there.
        NotPublishedError: there is no such version, or it is not kept any more.
        DamagedError: a file is damaged or missing.

    The call compares the full instant with its digest, and merges the changes since: O(n) bytes, and memory for the
    changes. The version is the one at the time of the call.
    """
    extra("pyspark.sql")
    require_session(spark)
    directory = open_directory(where, storage)
    version = directory.version_at(at)
    functions = extra("pyspark.sql.functions")
    taken_at = functions.expr(f"timestamp_micros({round(version.time.timestamp() * 1_000_000)})")
    frame = _PublishedSet(directory, version).read(spark, stored_schema().names)
    return frame.withColumn("snapshot_id", functions.lit(version.snapshot_id)).withColumn("taken_at", taken_at)
