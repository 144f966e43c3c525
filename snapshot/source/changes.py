"""Changes between versions of a published directory for Spark, as a batch and as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition

from snapshot.columns import BATCH_ROWS
from snapshot.instants import Part, parts_of, rows_of
from snapshot.published import Version
from snapshot.published.history import as_inserts, changes_in
from snapshot.source.options import Options
from snapshot.sparks import UnsupportedError

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles, SupportsTriggerAvailableNow
except ImportError:  # Spark 4.0 and 4.1 read all that there is
    HAS_LIMITS = False

    class Limited:
        """A stream without limits."""
else:
    HAS_LIMITS = True

    class Limited(SupportsTriggerAvailableNow):  # type: ignore[no-redef]
        """A stream with limits. Otherwise ``availableNow`` with a limit would stop after the first batch."""


if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

MOST_PARTITIONS = 64
"""How many parts the changes have, at most."""

NOTHING_YET = -1
"""The version in the offset of a stream that has read nothing."""

Offset = dict[str, Any]
"""What Spark keeps of a stream in its checkpoint: the number of the last version that was read, and its mark. The mark
is missing if there was no such manifest, and in checkpoints of earlier versions of this package."""


class Task(InputPartition):
    """Versions whose changes are read; or a part of the whole set that a stream begins with."""

    def __init__(self, versions: list[Version], part: Part | None = None) -> None:
        super().__init__(None)
        self.versions, self.part = versions, part


class _ChangeReader:
    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._names = list(schema.names)

    def _between(self, after: int, until: int) -> list[InputPartition]:
        """Partitions of the changes from one version to another."""
        versions = self._options.directory().changes(after, until, first=True)
        if not versions:
            return [Task([])]  # for no partitions, Spark calls the reader without one
        size = max(1, -(-len(versions) // MOST_PARTITIONS))
        return [Task(versions[first : first + size]) for first in range(0, len(versions), size)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition."""
        assert isinstance(partition, Task)
        store, part = self._options.directory().store, partition.part
        if part is not None:
            for rows in rows_of(store, part):
                yield from as_inserts(rows, part.version).select(self._names).to_batches()
        for version in partition.versions:
            for rows in changes_in(store, version):
                yield from rows.select(self._names).to_batches(max_chunksize=BATCH_ROWS)


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


class Stream(_ChangeReader, DataSourceStreamReader, Limited):
    """The changes of the versions as they are published."""

    def __init__(self, options: Options, schema: StructType) -> None:
        super().__init__(options, schema)
        if options.most is not None and not HAS_LIMITS:
            raise UnsupportedError("maxVersionsPerTrigger", "4.2")
        self._target: int | None = None

    def initialOffset(self) -> Offset:
        """The last version that is not read.

        Raises:
            NotPublishedError: the changes of ``startingVersion`` are not kept, or those before it are not published.
        """
        start = self._options.start
        if start is None:
            return {"version": NOTHING_YET}
        if start > self._newest() + 1:
            self._options.directory().version_at(start)  # raises an error that says which versions are kept
        return self._offset(start - 1)

    def getDefaultReadLimit(self) -> Any:
        """How many versions go into a batch. Spark's limit for files stands for versions."""
        most = self._options.most
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember which version is the newest: the stream ends with it."""
        self._target = self._newest()

    def latestOffset(self, start: Offset | None = None, limit: Any = None) -> Offset:
        """The last version of the next batch. Before Spark 4.2, Spark tells neither where it begins nor a limit.

        Raises:
            HistoryError: the directory went back, or forked, since the batch before.
        """
        self._require(start)
        newest = self._newest() if self._target is None else self._target
        if self._options.end is not None:
            newest = min(newest, self._options.end)
        if start is None:
            return self._offset(max(newest, (self._options.start or 0) - 1))
        most = limit.max_files if HAS_LIMITS and isinstance(limit, ReadMaxFiles) else None
        if start["version"] != NOTHING_YET and most is not None:
            newest = min(newest, start["version"] + most)
        return start if newest <= start["version"] else self._offset(newest)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The files of a batch, in parts that tasks read.

        Raises:
            HistoryError: the directory is not the one in which the batch begins or ends.
        """
        self._require(start)
        self._require(end)
        if start["version"] != NOTHING_YET:
            return self._between(start["version"], end["version"])
        version = self._options.directory().version_at(end["version"])
        return [Task([], part) for part in parts_of(self._options.directory(), version)[0]]

    def _offset(self, number: int) -> Offset:
        version = self._options.directory().get(number) if number >= 0 else None
        return {"version": number} if version is None else {"version": number, "mark": version.mark}

    def _require(self, offset: Offset | None) -> None:
        """Require that the directory continues the history that an offset was taken from."""
        if offset is not None:
            self._options.directory().require(offset.get("mark"))

    def _newest(self) -> int:
        return self._options.directory().version_at(None).version
