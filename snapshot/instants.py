"""A version of a published directory in parts, which tasks of Spark read: the rows of a full instant that no later
change names, and the rows that later changes leave.

When the parts are made, the full instant is compared with its digest as a whole, and the rows that changes name are
found. So who reads a part of it needs no feed; its pages have checksums of their own. A feed is compared with its
digest by each who reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS
from snapshot.held_sets import JOINED
from snapshot.merging import merged, name_texts, there_after
from snapshot.older import current
from snapshot.published import Directory, Version
from snapshot.published.directory import require_whole
from snapshot.published.feed import added, parquet_file, read_feed
from snapshot.published.store import Store

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

PART_ROWS = 250_000
"""About how many rows of a full instant one task reads."""


class Part(NamedTuple):
    """Row groups of a full instant, or what the feeds of later versions add.

    Args:
        version: the version that it is a part of.
        full: the version whose full instant it is.
        groups: the numbers of the row groups.
        start: the number of their first row in the file.
        gone: the numbers of those of their rows that changes name.
        feeds: the later versions; empty in a part of the full instant.
    """

    version: Version
    full: Version
    groups: list[int]
    start: int
    gone: np.ndarray[Any, Any]
    feeds: list[Version]


def parts_of(directory: Directory, version: Version) -> tuple[list[Part], pa.Table | None]:
    """The parts of a version, the full instant's first; and the merged changes since that, None for no changes.

    Raises:
        DamagedError: a file is damaged or missing.

    O(n) bytes; it takes memory for the changes.
    """
    pc, np = extra("pyarrow.compute"), extra("numpy")
    store, (full, later), queues = directory.store, directory.parts(version), version.dialect.queue_groups
    assert full.full is not None
    require_whole(store, full.full)
    changes = merged([read_feed(store, each) for each in later], queues) if later else None
    names = None if changes is None else name_texts(changes, queues)
    parts, start, none = [], 0, np.zeros(0, np.int64)
    with parquet_file(store, full.full.path) as file:
        for groups in _groups_of(file.metadata):
            gone = none
            if names is not None:
                rows = current(file.read_row_groups(groups, columns=JOINED), full.json_options)
                gone = start + pc.indices_nonzero(
                    pc.is_in(name_texts(rows, queues), value_set=names)
                ).to_numpy().astype(np.int64)
            parts.append(Part(version, full, groups, start, gone, []))
            start += sum(file.metadata.row_group(group).num_rows for group in groups)
    return [*parts, Part(version, full, [], start, none, later)] if later else parts, changes


def rows_of(store: Store, part: Part) -> Iterator[pa.Table | pa.RecordBatch]:
    """The rows of a part, with the name and time of the version.

    Raises:
        DamagedError: a feed is damaged or missing.
    """
    if part.feeds:
        changes = merged([read_feed(store, each) for each in part.feeds], part.version.dialect.queue_groups)
        yield _stamped(there_after(changes).drop_columns(added().names), part.version)
        return
    np, start = extra("numpy"), part.start
    assert part.full.full is not None
    with parquet_file(store, part.full.full.path) as file:
        for batch in file.iter_batches(BATCH_ROWS, row_groups=part.groups):
            there = ~np.isin(np.arange(start, start + len(batch)), part.gone)
            start += len(batch)
            yield _stamped(current(batch, part.full.json_options).filter(extra("pyarrow").array(there)), part.version)


def _stamped(rows: pa.Table | pa.RecordBatch, version: Version) -> pa.Table | pa.RecordBatch:
    pa = extra("pyarrow")
    taken_at = pa.scalar(version.time, pa.timestamp("us", tz="UTC"))
    for name, value in (("snapshot_id", version.snapshot_id), ("taken_at", taken_at)):
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.repeat(value, rows.num_rows))
    return rows


def _groups_of(metadata: Any) -> list[list[int]]:
    """The row groups of a file, in one list for each task that is to read it; at least one."""
    groups, rows = [list[int]()], 0
    for number in range(metadata.num_row_groups):
        if rows >= PART_ROWS:
            groups.append([])
            rows = 0
        groups[-1].append(number)
        rows += metadata.row_group(number).num_rows
    return groups
