"""Changes between versions of a published directory for Spark, as a batch and as a stream."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS, schema
from snapshot.published import Version
from snapshot.source.files import parquet_file, shaped
from snapshot.source.instants import Instant
from snapshot.source.limits import HAS_LIMITS, Limited, at_most, most_of
from snapshot.source.options import Options
from snapshot.sparks import UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

MOST_PARTITIONS = 64
"""How many parts the changes have, at most."""

NOTHING_YET = -1
"""The offset of a stream that has read nothing."""


class _Files(InputPartition):
    """Feeds, or full instants, whose rows count as inserts of their version."""

    def __init__(self, files: list[tuple[str, int, str, bool]]) -> None:
        super().__init__(None)
        self.files = files


class _ChangeReader:
    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._names = list(schema.names)

    def _between(self, after: int, until: int) -> list[InputPartition]:
        """Partitions of the changes from one version to another."""
        directory = self._options.directory()
        versions: list[Version] = []
        for number in range(after + 1, until + 1):
            version = directory.get(number)
            if version is not None and version.kind == "claim":
                continue
            if version is None or (version.feed is None and version.base != number):
                directory.version_at(number)  # raises an error that says which versions are kept
                raise AssertionError(f"version {number} appeared while it was looked for")
            versions.append(version)
        files = [_file(version) for version in versions]
        if not files:
            return [_Files([])]  # for no partitions, Spark calls the reader without one
        size = max(1, -(-len(files) // MOST_PARTITIONS))
        return [_Files(files[first : first + size]) for first in range(0, len(files), size)]

    def _read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Files)
        store = self._options.directory().store
        for name, version, time, is_feed in partition.files:
            with parquet_file(store, name) as file:
                for batch in file.iter_batches(batch_size=BATCH_ROWS):
                    yield from shaped(batch if is_feed else _as_inserts(batch, version, time), self._names)


def _file(version: Version) -> tuple[str, int, str, bool]:
    file = version.feed or version.full
    assert file is not None
    return file.path, version.version, version.time.isoformat(), version.feed is not None


class Changes(_ChangeReader, DataSourceReader):
    """The changes of the versions from one to another."""

    def partitions(self) -> Sequence[InputPartition]:
        """The files, in parts that tasks read."""
        start, end = self._options.start, self._options.end
        assert start is not None
        directory = self._options.directory()
        directory.version_at(end)  # raises an error if there is none
        if end is None:
            newest = directory.newest()
            assert newest is not None
            end = newest.version  # perhaps a claim
        if start > end + 1:
            directory.version_at(start)  # raises an error that says which versions are kept
        return self._between(start - 1, end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        return self._read(partition)


class Stream(_ChangeReader, DataSourceStreamReader, Limited):
    """The changes of the versions as they are published."""

    def __init__(self, options: Options, schema: StructType) -> None:
        super().__init__(options, schema)
        if options.most is not None and not HAS_LIMITS:
            raise UnsupportedError("maxVersionsPerTrigger", "4.2")
        self._target: int | None = None

    def initialOffset(self) -> dict[str, int]:
        """The last version that is not read.

        :raises NotPublishedError: the changes of ``startingVersion`` are not kept, or those before it are not published
        """
        start = self._options.start
        if start is None:
            return {"version": NOTHING_YET}
        if start > self._newest() + 1:
            self._options.directory().version_at(start)  # raises an error that says which versions are kept
        return {"version": start - 1}

    def getDefaultReadLimit(self) -> Any:
        """How many versions go into a batch. Spark's limit for files stands for versions."""
        return at_most(self._options.most)

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember which version is the newest: the stream ends with it."""
        self._target = self._newest()

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:
        """The last version of the next batch. Before Spark 4.2, Spark tells neither where it begins nor a limit."""
        newest = self._newest() if self._target is None else self._target
        if self._options.end is not None:
            newest = min(newest, self._options.end)
        if start is None:
            return {"version": max(newest, (self._options.start or 0) - 1)}
        most = most_of(limit)
        if start["version"] != NOTHING_YET and most is not None:
            newest = min(newest, start["version"] + most)
        return {"version": max(start["version"], newest)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """The files of a batch, in parts that tasks read."""
        if start["version"] != NOTHING_YET:
            return self._between(start["version"], end["version"])
        version = self._options.directory().version_at(end["version"])
        instant = Instant(self._options, schema().names, at=version.version)
        return [_Whole(rows, version) for rows in instant.partitions()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        if isinstance(partition, _Whole):
            return self._read_whole(partition)
        return self._read(partition)

    def _newest(self) -> int:
        return self._options.directory().version_at(None).version

    def _read_whole(self, partition: _Whole) -> Iterator[pa.RecordBatch]:
        """A part of a whole set, as inserts."""
        instant = Instant(self._options, schema().names)
        for batch in instant.read(partition.rows):
            yield from shaped(_as_inserts(batch, partition.version, partition.time), self._names)


class _Whole(InputPartition):
    """Rows of the whole set that a stream begins with."""

    def __init__(self, rows: InputPartition, version: Version) -> None:
        super().__init__(None)
        self.rows, self.version, self.time = rows, version.version, version.time.isoformat()


def _as_inserts(rows: pa.RecordBatch, version: int, time: str) -> pa.Table:
    """Rows of a full instant with the columns of changes."""
    pa = extra("pyarrow")
    stamp = pa.scalar(datetime.datetime.fromisoformat(time), pa.timestamp("us", tz="UTC"))
    return (
        pa.Table.from_batches([rows])
        .append_column("_change_type", pa.repeat("insert", len(rows)))
        .append_column("_commit_version", pa.repeat(pa.scalar(version, pa.int64()), len(rows)))
        .append_column("_commit_timestamp", pa.repeat(stamp, len(rows)))
    )
