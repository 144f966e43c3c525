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
from snapshot.columns import BATCH_ROWS, stored_schema
from snapshot.held_sets import JOINED
from snapshot.merging import merged, named, there_after
from snapshot.older import current
from snapshot.published.directory import Directory, require_whole
from snapshot.published.feed import parquet_file, read_feed
from snapshot.published.manifest import DataFile, Version
from snapshot.published.store import Store

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Flags = np.ndarray[Any, Any]

ROW = "_row"
"""The column that numbers the rows of feeds."""

PART_GROUPS = 4
"""How many row groups of a full instant one task reads: usually a quarter of a million rows."""


class Part(NamedTuple):
    """Row groups of a full instant, or what the feeds of later versions add.

    Args:
        version: the version that it is a part of.
        full: the version whose full instant it is.
        groups: the numbers of the row groups.
        there: for each of their rows, whether no change names it.
        feeds: the later versions; empty in a part of the full instant.
    """

    version: Version
    full: Version
    groups: list[int]
    there: Flags
    feeds: list[Version]


def parts_of(directory: Directory, version: Version) -> tuple[list[Part], Flags]:
    """The parts of a version, the full instant's first. And, for each row of the files of the full instant and of the
    feeds, one after the other, whether it is in the set.

    Raises:
        DamagedError: a file is damaged or missing.

    O(n) bytes; it takes memory for the changes, and a byte for each row.
    """
    pa, np = extra("pyarrow"), extra("numpy")
    store, (full, later), queues = directory.store, directory.parts(version), version.dialect.queue_groups
    assert full.full is not None
    require_whole(store, full.full)
    feeds, end = [], full.full.rows
    for each in later:
        feed = read_feed(store, each)
        feeds.append(feed.append_column(ROW, pa.array(np.arange(end, end + len(feed)))))
        end += len(feed)
    changes = merged(feeds, queues) if feeds else None
    there = np.repeat((True, False), (full.full.rows, end - full.full.rows))
    if changes is not None:
        there[there_after(changes).column(ROW)] = True
    parts, start = [], 0
    with parquet_file(store, full.full.path) as file:
        for first in range(0, max(1, file.num_row_groups), PART_GROUPS):
            groups = list(range(first, min(first + PART_GROUPS, file.num_row_groups)))
            if changes is not None:
                rows = file.read_row_groups(groups, columns=JOINED if queues else JOINED[:2], use_threads=False)
                rows = current(rows, full.json_options) if queues else rows
                there[start : start + len(rows)] = ~named(rows, changes, queues)
            end = start + sum(file.metadata.row_group(group).num_rows for group in groups)
            parts.append(Part(version, full, groups, there[start:end], []))
            start = end
    return [*parts, Part(version, full, [], there[:0], later)] if later else parts, there


def files_of(parts: list[Part]) -> list[DataFile]:
    """The files of the full instant and of the feeds, in order."""
    full, feeds = parts[0].full, parts[-1].feeds
    return [file for file in (full.full, *(each.feed for each in feeds)) if file is not None]


def rows_of(store: Store, part: Part) -> Iterator[pa.Table]:
    """The rows of a part.

    Raises:
        DamagedError: a feed is damaged or missing.
    """
    if part.feeds:
        changes = merged([read_feed(store, each) for each in part.feeds], part.version.dialect.queue_groups)
        yield there_after(changes).select(stored_schema().names)
        return
    pa, start = extra("pyarrow"), 0
    assert part.full.full is not None
    with parquet_file(store, part.full.full.path) as file:
        for batch in file.iter_batches(BATCH_ROWS, row_groups=part.groups, use_threads=False):
            there = pa.array(part.there[start : start + len(batch)])
            start += len(batch)
            yield pa.Table.from_batches([current(batch, part.full.json_options).filter(there)])
