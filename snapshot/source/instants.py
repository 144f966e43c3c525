"""An instant of a published directory for Spark: a full instant with its feeds applied, in parallel parts."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS
from snapshot.merging import merged, there_after, untouched
from snapshot.published import DataFile, Version
from snapshot.published.directory import require_whole
from snapshot.published.feed import parquet_file, read_feed
from snapshot.published.history import shaped
from snapshot.published.store import Store
from snapshot.source.options import Options

if TYPE_CHECKING:
    import pyarrow as pa

PARTITION_ROWS = 250_000
"""About how many rows of a full instant one task reads."""

# A feed is read by the task that needs it, and compared with its digest. A full instant is compared as a whole when a
# query is planned; then tasks read parts of it, whose pages have checksums of their own.


class _Rows(InputPartition):
    """Row groups of a full instant, without the rows that the feeds remove; or the rows that the feeds add."""

    def __init__(self, version: Version, full: DataFile | None, groups: list[int], feeds: list[DataFile]) -> None:
        super().__init__(None)
        self.snapshot_id, self.taken_at = version.snapshot_id, version.time.isoformat()
        self.queues = version.dialect.queue_groups
        self.full, self.groups, self.feeds = full, groups, feeds

    def stamped(self, rows: pa.Table | pa.RecordBatch) -> pa.Table | pa.RecordBatch:
        """The rows with the version's name and time. Its files may have those of earlier versions."""
        if not self.feeds:
            return rows
        pa = extra("pyarrow")
        taken_at = pa.scalar(datetime.datetime.fromisoformat(self.taken_at), pa.timestamp("us", tz="UTC"))
        for name, value in (("snapshot_id", self.snapshot_id), ("taken_at", taken_at)):
            rows = rows.set_column(rows.schema.get_field_index(name), name, pa.repeat(value, rows.num_rows))
        return rows


class Instant(DataSourceReader):
    """The set at a version or a time.

    Args:
        names: the columns that Spark wants.
        at: the version; None for that of the options.
    """

    def __init__(self, options: Options, names: list[str], at: int | None = None) -> None:
        self._options = options
        self._names = names
        self._at = options.at if at is None else at

    def partitions(self) -> Sequence[InputPartition]:
        """The row groups of the full instant, in parts that tasks read, and a part for the rows of feeds."""
        directory = self._options.directory()
        version = directory.version_at(self._at)
        full, later = directory.parts(version)
        assert full.full is not None
        require_whole(directory.store, full.full)
        feeds = [each.feed for each in later if each.feed is not None]
        groups = _groups_of(directory.store, full.full)
        parts: list[InputPartition] = [_Rows(version, full.full, some, feeds) for some in groups]
        return [*parts, _Rows(version, None, [], feeds)] if feeds else parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        assert isinstance(partition, _Rows)
        store = self._options.directory().store
        feeds = [read_feed(store, file) for file in partition.feeds]
        changes = merged(feeds, partition.queues) if feeds else None
        if partition.full is None:
            yield from shaped(partition.stamped(there_after(changes)), self._names)
            return
        with parquet_file(store, partition.full.path) as file:
            for batch in file.iter_batches(BATCH_ROWS, row_groups=partition.groups):
                kept = batch if changes is None else untouched(batch, changes, partition.queues)
                yield from shaped(partition.stamped(kept), self._names)


def _groups_of(store: Store, full: DataFile) -> list[list[int]]:
    """The row groups of a file, in one list for each task that is to read it."""
    with parquet_file(store, full.path) as file:
        metadata = file.metadata
    groups: list[list[int]] = []
    rows = PARTITION_ROWS
    for number in range(metadata.num_row_groups):
        if rows >= PARTITION_ROWS:
            groups.append([])
            rows = 0
        groups[-1].append(number)
        rows += metadata.row_group(number).num_rows
    return groups
