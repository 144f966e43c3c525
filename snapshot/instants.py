"""A version of a published directory in parts that tasks of Spark read: a full instant, brought up to date by feeds.

A feed is read by the task that needs it, and compared with its digest. A full instant is compared as a whole when the
parts are made; then tasks read parts of it, whose pages have checksums of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS
from snapshot.merging import merged, there_after, untouched
from snapshot.older import current
from snapshot.published import DataFile, Directory, Version
from snapshot.published.directory import require_whole
from snapshot.published.feed import added, parquet_file, read_feed
from snapshot.published.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

PART_ROWS = 250_000
"""About how many rows of a full instant one task reads."""


class Part(NamedTuple):
    """Row groups of a full instant, without the rows that feeds name; or, without groups, the rows that they add."""

    version: Version
    full: Version
    groups: list[int]
    feeds: list[Version]


def parts_of(directory: Directory, version: Version) -> list[Part]:
    """The parts of a version.

    Raises:
        DamagedError: the full instant is damaged or missing.
    """
    full, later = directory.parts(version)
    assert full.full is not None
    require_whole(directory.store, full.full)
    groups = _groups_of(directory.store, full.full)
    return [Part(version, full, some, later) for some in (groups if not later else [*groups, []])]


def rows_of(store: Store, part: Part) -> Iterator[pa.Table | pa.RecordBatch]:
    """The rows of a part, with the name and time of the version.

    Raises:
        DamagedError: a feed is damaged or missing.
    """
    queues = part.version.dialect.queue_groups
    changes = merged([read_feed(store, each) for each in part.feeds], queues) if part.feeds else None
    if not part.groups:
        yield _stamped(there_after(changes).drop_columns(added().names), part.version)
        return
    assert part.full.full is not None
    with parquet_file(store, part.full.full.path) as file:
        for each in file.iter_batches(BATCH_ROWS, row_groups=part.groups):
            batch = current(each, part.full.json_options)
            yield batch if changes is None else _stamped(untouched(batch, changes, queues), part.version)


def _stamped(rows: pa.Table | pa.RecordBatch, version: Version) -> pa.Table | pa.RecordBatch:
    pa = extra("pyarrow")
    taken_at = pa.scalar(version.time, pa.timestamp("us", tz="UTC"))
    for name, value in (("snapshot_id", version.snapshot_id), ("taken_at", taken_at)):
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.repeat(value, rows.num_rows))
    return rows


def _groups_of(store: Store, full: DataFile) -> list[list[int]]:
    """The row groups of a file, in one list for each task that is to read it."""
    with parquet_file(store, full.path) as file:
        metadata = file.metadata
    groups: list[list[int]] = []
    rows = PART_ROWS
    for number in range(metadata.num_row_groups):
        if rows >= PART_ROWS:
            groups.append([])
            rows = 0
        groups[-1].append(number)
        rows += metadata.row_group(number).num_rows
    return groups
