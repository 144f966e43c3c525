"""The changes between two versions of a published directory, as rows: each one, or what they come to."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS
from snapshot.merging import INSERT, KIND
from snapshot.merging import net as net_of
from snapshot.older import current
from snapshot.published.directory import open_directory, require_whole
from snapshot.published.feed import feed_schema, parquet_file, read_feed
from snapshot.published.manifest import Version
from snapshot.published.store import Store

if TYPE_CHECKING:
    import pyarrow as pa


def changes(
    where: str | os.PathLike[str],
    since: int | datetime.datetime,
    until: int | datetime.datetime | None = None,
    *,
    net: bool = True,
    storage: Mapping[str, Any] | None = None,
) -> pa.RecordBatchReader:
    """The changes from one version of a published directory to another, as a stream of Arrow record batches.

    Args:
        where: the directory, a path or a URI.
        since: a version, whose own changes are left out: its number, or a time with a zone, which means the newest
            version that is not later. 0 means before the first version, whose rows are inserts.
        until: the last version, in the same way; None for the newest.
        net: whether there is one change for each subscription that differs between the two versions. Otherwise there
            are the changes of each version, in order: as many as the sum of `Version.changes`, which counts an update
            once.
        storage: as for `Publisher`.

    Returns:
        A reader of the columns of `snapshot.columns`, and ``_change_type`` (``insert``, ``delete``, or
        ``update_preimage`` and ``update_postimage``), ``_commit_version`` and ``_commit_timestamp``. A net change has
        the version in which it was last made.

    Raises:
        FileNotFoundError: nothing was ever published there; or a file is missing, or was removed meanwhile, which the
            reader raises, too.
        NotPublishedError: there are no such versions, or their changes are not kept any more.
        DamagedError: a file is damaged, which the reader raises, too.
        HistoryError: files of two histories are mixed.
        ValueError: ``since`` comes after ``until``.

    O(changes). The reader takes memory for one version's changes, or for all of them if they are net.

    >>> import tempfile, snapshot
    >>> from subtrie import SubscriptionTrie
    >>> trie = SubscriptionTrie()
    >>> with tempfile.TemporaryDirectory() as where, snapshot.Publisher(trie, where) as publisher:
    ...     for change in (trie.subscribe, trie.subscribe, trie.unsubscribe):
    ...         done = change("a", "bob") or change("b", "bob")
    ...         version = publisher.publish()
    ...     gross, net = (changes(where, 1, net=net).read_all() for net in (False, True))
    ...     gross.select(["filter", "_change_type"]).to_pylist(), net.column("filter").to_pylist()
    ([{'filter': 'b', '_change_type': 'insert'}, {'filter': 'a', '_change_type': 'delete'}], ['a', 'b'])
    """
    directory = open_directory(where, storage)
    last = directory.version_at(until)
    number = since if type(since) is int else directory.version_at(since).version
    if number > last.version:
        number = directory.version_at(number).version  # of a claim, the version before it
    if number > last.version:
        raise ValueError(f"since={since} comes after version {last.version}")
    versions = directory.changes(number, last.version, first=True)
    tables: Iterable[pa.Table] = (table for version in versions for table in changes_in(directory.store, version))
    if net:
        tables = [net_of([feed_schema().empty_table(), *tables], last.dialect.queue_groups)]
    return extra("pyarrow").RecordBatchReader.from_batches(
        feed_schema(), (batch for table in tables for batch in table.select(feed_schema().names).to_batches(BATCH_ROWS))
    )


def changes_in(store: Store, version: Version) -> Iterator[pa.Table]:
    """The rows of a version's feed, in parts. The first version has none: its rows are inserts."""
    if version.feed is not None:
        yield read_feed(store, version)
        return
    assert version.full is not None
    require_whole(store, version.full)
    with parquet_file(store, version.full.path) as file:
        for batch in file.iter_batches(BATCH_ROWS, use_threads=False):
            yield as_inserts(current(batch, version.json_options), version)


def as_inserts(rows: pa.Table | pa.RecordBatch, version: Version) -> pa.Table:
    """Rows of a full instant as changes that lead to a version, from nothing."""
    pa, kinds, times = extra("pyarrow"), feed_schema(), dict.fromkeys(("taken_at", "_commit_timestamp"), version.time)
    alike = {"snapshot_id": version.snapshot_id, KIND: INSERT, "_commit_version": version.version, **times}
    columns = [
        pa.repeat(pa.scalar(alike[each.name], each.type), len(rows)) if each.name in alike else rows.column(each.name)
        for each in kinds
    ]
    return pa.table(columns, schema=kinds)
