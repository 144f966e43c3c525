"""The set that messages are matched with: a trie of this process, or a version of a published directory."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

from snapshot import held_sets
from snapshot._extras import extra
from snapshot.columns import cut_of, schema, set_batches, stored_schema, table_of
from snapshot.environment import require_session, require_workers
from snapshot.held_sets import JOINED, HeldSet
from snapshot.instants import Part, files_of, parts_of, rows_of
from snapshot.merging import KIND, merged, named, there_after
from snapshot.older import current
from snapshot.option_maps import TYPES
from snapshot.option_numbers import OptionMap, numbered
from snapshot.published import Directory, HistoryError, NotPublishedError, Version, open_directory
from snapshot.published.directory import read_whole
from snapshot.published.feed import parquet_file, read_feed, whole_table
from snapshot.published.manifest import DataFile, Mark
from snapshot.sparks import frame_of, is_remote, struct_of
from snapshot.texts import Key, SubscriberKeys
from subtrie import Dialect, SubscriptionTrie

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from snapshot.instants import Flags

OPTIONS_SEEN, GROUPS_SEEN = 64 * 1024, 4
"""Rows of which the driver looks at the options, and in how many parts of a file they are, at most."""


def source_of(
    source: Any,
    at: int | datetime.datetime | None,
    key: Key | None,
    storage: Mapping[str, Any] | None = None,
) -> TrieSet | PublishedSet:
    """The set of a subscription trie or of a published directory. Of a set it is that set, so that one who asks
    several questions takes it once.

    Raises:
        TypeError: ``source`` is neither a subscription trie nor a path.
        ValueError: ``at`` or ``key`` does not apply to it.
    """
    if isinstance(source, TrieSet | PublishedSet):
        return source
    if isinstance(source, str | os.PathLike):
        if key is not None:
            raise ValueError("key= is for tries; what is published has its keys already")
        directory = open_directory(source, storage)
        version = directory.version_at(at)
        if version.limits is not None:
            raise ValueError(f"{directory.store.place} has the topics of a store, which match no messages")
        return PublishedSet(directory, version)
    if not isinstance(source, SubscriptionTrie):
        raise TypeError(
            "the source must be a SubscriptionTrie, a snapshot of one, or the path of a published directory, "
            f"not {type(source).__name__}"
        )
    if at is not None:
        raise ValueError("at= is for published directories; of a trie, give the snapshot")
    if storage:
        raise ValueError("storage= is for published directories, not for a trie")
    return TrieSet(source.snapshot(), key)


# A trie ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BroadcastSet:
    """A set as compressed Arrow in a broadcast variable, named by a digest of its content."""

    digest: str
    dialect: Dialect
    content: Any = field(compare=False)

    def made(self) -> HeldSet:
        """The set in the broadcast variable."""
        pa = extra("pyarrow")
        return held_sets.built(pa.ipc.open_stream(self.content.value), self.dialect)


LAST_SENT = "_subtrie_last_sent"
"""Where a Spark context keeps the set that was sent last. An equal one is not sent again."""


class TrieSet:
    """A snapshot of a trie, on the driver."""

    def __init__(self, trie: SubscriptionTrie, key: Key | None) -> None:
        self.dialect = trie.dialect
        self._table = table_of(set_batches(cut_of(trie), SubscriberKeys(key)), schema()).select(JOINED)

    def sent(self, spark: SparkSession, *, history: bool = False) -> BroadcastSet:
        """The object that the workers are sent, and that makes the set there. Equal objects mean the same set.

        What Spark keeps of it lasts as long as the plans that need it, and a set more: the last one.

        Args:
            history: whether the set is that of all versions that are kept up to this one.

        Raises:
            ValueError: there are no such versions, or this session cannot send a trie.
        """
        if history:
            raise ValueError("as_of= is for published directories")
        if is_remote(spark):
            raise ValueError(
                "a Spark Connect session cannot send a trie to the workers: publish it, give the directory"
            )
        pa = extra("pyarrow")
        sink, options = pa.BufferOutputStream(), pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(sink, self._table.schema, options=options) as stream:
            stream.write_table(self._table)
        content = bytes(sink.getvalue())
        digest = hashlib.blake2b(content + repr(self.dialect).encode(), digest_size=16).hexdigest()
        context: Any = spark.sparkContext
        sent: BroadcastSet | None = vars(context).get(LAST_SENT)
        if sent is None or sent.digest != digest:  # two threads may both send it, which costs only time
            broadcast = context.broadcast(content)
            # Spark's cleaner removes the blocks of a broadcast variable that no plan refers to, but not the file that
            # Python wrote. One object of the JVM knows where that is: the driver's block, from which tasks learn it. So
            # the file goes when that object is collected, and not a moment before.
            context._jvm.org.apache.commons.io.FileCleaner.track(broadcast._path, broadcast._python_broadcast)
            sent = BroadcastSet(digest, self.dialect, broadcast)
            vars(context)[LAST_SENT] = sent
        return sent

    def options(self) -> tuple[OptionMap, ...]:
        """Different options that subscriptions have: all of them, or those of `OPTIONS_SEEN` rows."""
        return numbered(self._table.column("options").slice(0, OPTIONS_SEEN).combine_chunks(), ())[1]

    def rows(self, spark: SparkSession) -> DataFrame:
        """The set, with the columns `JOINED`."""
        return frame_of(spark, self._table)


# A published directory ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublishedVersion:
    """A version of a published directory, by its path: each worker reads it from there.

    Args:
        mark: which version of this number.
        since: the number of an earlier version, if the set is that of all versions from there on; else None.
    """

    where: str
    mark: Mark
    since: int | None = None

    def made(self) -> HeldSet:
        """The set: made from a kept earlier version and the changes since, or from the directory alone.

        Raises:
            HistoryError: the directory is not the one that the driver saw.
        """
        directory, number = open_directory(self.where), self.mark.version
        directory.require(self.mark)
        if self.since is not None:
            first, versions = directory.version_at(self.since), directory.changes(self.since, number)
            times = [first.time, *(version.time for version in versions)]
            return held_sets.with_history(_built(directory, first), _changes(directory, versions), times)
        kept = [each for each in held_sets.kept() if isinstance(each, PublishedVersion) and each.since is None]
        earlier = [each for each in kept if each.where == self.where and each.mark.version < number]
        if earlier:
            before = max(earlier, key=lambda each: each.mark.version)
            try:
                directory.require(before.mark)
                feeds = _changes(directory, directory.changes(before.mark.version, number))
                return held_sets.advanced(held_sets.held_set(before, before.made), feeds)
            except (NotPublishedError, HistoryError):
                pass  # its changes are not kept any more, or it is of another history
        return _built(directory, directory.version_at(number))


def _built(directory: Directory, version: Version) -> HeldSet:
    """A version, from its full instant and the changes since: each file is read once, as a whole."""
    pa, queues = extra("pyarrow"), version.dialect.queue_groups
    full, later = directory.parts(version)
    assert full.full is not None
    rows = whole_table(read_whole(directory.store, full.full), [*JOINED, TYPES])
    rows = current(rows, full.json_options).select(JOINED)
    if later:
        changes = merged(_changes(directory, later), queues)
        others = rows.filter(pa.array(~named(rows, changes, queues)))
        rows = pa.concat_tables([others, there_after(changes).select(JOINED)])
    return held_sets.built(rows.to_batches(), version.dialect)


def _changes(directory: Directory, versions: Iterable[Version]) -> list[pa.Table]:
    """The feeds of versions, with the columns `JOINED` and ``_change_type``."""
    return [read_feed(directory.store, each, [*JOINED, KIND]) for each in versions if each.feed is not None]


class PublishedSet:
    """A version of a published directory, on the driver."""

    def __init__(self, directory: Directory, version: Version) -> None:
        self.dialect = version.dialect
        self._directory, self._version = directory, version

    def sent(self, spark: SparkSession, *, history: bool = False) -> PublishedVersion:
        """As `TrieSet.sent`."""
        since = self._version.oldest if history else None
        assert since is not None or not history
        return PublishedVersion(self._directory.store.uri, self._version.marked(), since)

    def options(self) -> tuple[OptionMap, ...]:
        """As `TrieSet.options`."""
        full = self._directory.parts(self._version).full.full
        assert full is not None
        known: tuple[OptionMap, ...] = ()
        with parquet_file(self._directory.store, full.path) as file:
            groups = file.num_row_groups
            for group in range(0, groups, -(-groups // GROUPS_SEEN) or 1):  # of all the file, whose rows are sorted
                rows = file.iter_batches(
                    OPTIONS_SEEN // GROUPS_SEEN, row_groups=[group], columns=["options"], use_threads=False
                )
                known = numbered(next(rows).column("options"), known)[1]
        return known

    def rows(self, spark: SparkSession, names: Sequence[str] = JOINED) -> DataFrame:
        """The set, with these columns, as Spark itself reads it: those rows of the full instant and of the feeds that
        it has, told by their numbers."""
        parts, there = parts_of(self._directory, self._version)
        full, feeds, store = parts[0].full, parts[-1].feeds, self._directory.store
        is_pattern = feeds and not set("{}[]*?\\").isdisjoint(store.place)
        if not store.is_local or is_pattern or any(each.json_options is not None for each in (full, *feeds)):
            # Spark would need a connector of its own for this file system, cannot convert rows of earlier versions, and
            # takes several files that might be patterns several times, though it is told that they are none.
            require_workers(spark)
            read = partial(_read_parts, where=store.uri, parts=parts)
            rows = spark.range(0, len(parts), 1, len(parts)).mapInArrow(read, struct_of(stored_schema()))
            return rows.select(*names)
        files = files_of(parts)
        reader = spark.read.option("__globPaths__", "false")  # or Spark would take brackets for a pattern
        rows = reader.schema(struct_of(stored_schema())).parquet(*map(self._directory.locate, files))
        return (_flagged(spark, rows, there, files) if feeds else rows).select(*names)


def _flagged(spark: SparkSession, rows: DataFrame, flags: Flags, files: Sequence[DataFile]) -> DataFrame:
    """The rows of files that have their flag. Flags are those of all rows of the files, one after the other.

    The flags are one array, which a subquery reads: a join with them took twice as long for a count, and a constant in
    the plan would be in all that Spark shows and keeps of plans.
    """
    functions, pa, np = extra("pyspark.sql.functions"), extra("pyarrow"), extra("numpy")
    words = np.packbits(np.pad(flags, (0, -len(flags) % 64)), bitorder="little").view("<i8")
    table = pa.table({"_flags": pa.ListArray.from_arrays(pa.array([0, len(words)], pa.int32()), words)})
    starts = accumulate((file.rows for file in files), initial=0)
    first_rows = {file.path.rpartition("/")[2]: start for file, start in zip(files, starts, strict=False)}
    begins = functions.from_json(functions.lit(json.dumps(first_rows)), "map<string, bigint>")
    row = begins[functions.col("_metadata.file_name")] + functions.col("_metadata.row_index")
    return spark.sql(
        "SELECT * FROM {rows} WHERE "
        "getbit(get((SELECT _flags FROM {flags}), cast(_row div 64 AS int)), cast(_row % 64 AS int)) = 1",
        rows=rows.withColumn("_row", row),
        flags=frame_of(spark, table),
    )


SentSet: TypeAlias = BroadcastSet | PublishedVersion
"""What the workers are sent."""


def _read_parts(numbers: Iterable[pa.RecordBatch], *, where: str, parts: list[Part]) -> Iterator[pa.RecordBatch]:
    """The rows of the parts with these numbers, on a worker."""
    store = open_directory(where).store
    for number in (number for batch in numbers for number in batch.column(0).to_pylist()):
        for rows in rows_of(store, parts[number]):
            yield from rows.select(stored_schema().names).to_batches()


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
        where: the directory, a path that all executors can read. Python workers read it, all columns and rows, if it
            is in an object store, if an earlier version of this package wrote files of it, or if its path has a
            character of patterns, such as a bracket.
        at: a version or a time (with a zone); None for the newest version.
        storage: as for `Publisher`. The executors use it, too.

    Returns:
        The columns of `snapshot.columns` that are stored, one row for each subscription.

    Raises:
        ImportError: pyarrow or pyspark is not installed.
        FileNotFoundError: nothing was ever published there.
        NotPublishedError: there is no such version, or it is not kept any more.
        DamagedError: a file is damaged or missing.

    The call compares the full instant with its digest, merges the changes since, and finds the rows that they name:
    O(n) bytes, memory for the changes, and a byte for each row. The version is the one at the time of the call.
    """
    extra("pyspark.sql")
    require_session(spark)
    directory = open_directory(where, storage)
    version = directory.version_at(at)
    functions = extra("pyspark.sql.functions")
    taken_at = functions.expr(f"timestamp_micros({round(version.time.timestamp() * 1_000_000)})")
    frame = PublishedSet(directory, version).rows(spark, stored_schema().names)
    return frame.withColumn("snapshot_id", functions.lit(version.snapshot_id)).withColumn("taken_at", taken_at)
