"""A stream of messages matched with a published set: one version for each micro-batch, the same after a restart.

A task of a micro-batch knows the query and the number of the batch, but not the version that the other tasks use. So
the first task writes the newest version to a file named after the query and the batch, which only one task can create.
All tasks read that file. It still exists when the query restarts and runs the batch again.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from snapshot._extras import extra
from snapshot.environment import require_workers
from snapshot.matching import by_trie
from snapshot.messages import messages_of
from snapshot.published import NotPublishedError, open_directory
from snapshot.published.manifest import MOST_BYTES, Mark
from snapshot.published.store import Store, store_of
from snapshot.sets import PublishedVersion, SentSet, source_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

VERSION = "version"
"""The column that names the version."""

KEPT_RECORDS = 100
"""For how many batches of a query the records are kept: as many as Spark keeps (``minBatchesToRetain``)."""


def match_stream(
    messages: DataFrame,
    where: str | os.PathLike[str],
    topic: str | Column = "topic",
    *,
    record: str | os.PathLike[str] | None = None,
    mode: str = "FAILFAST",
    groups: str | Column = "all",
    storage: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Join a stream of messages with the published subscriptions that match them.

    Args:
        messages: a streaming data frame; any other is matched as a whole with the newest version.
        where: a published directory that all executors can read, a path or a URI.
        topic: as for `snapshot.match_spark`.
        record: a directory that all executors can write to. It records which batch was matched with which version.
            Several queries may share it. It belongs to their checkpoints: if you delete one, delete both. The default
            is ``_matched`` in ``where``; it is required if ``where`` is not a local path.
        mode: as for `snapshot.match_spark`.
        groups: as for `snapshot.match_spark`.
        storage: that of ``where``, as for `Publisher`. The executors use it, too.

    Returns:
        The columns that `snapshot.match_spark` returns, and ``version``. A micro-batch is matched with the newest
        version at the start of its first task, and with the same version if it runs again. So a sink that writes each
        batch once holds each row once, whatever was killed.

    Raises:
        ValueError: as for `snapshot.match_spark`, or ``record`` is missing.
        FileNotFoundError: nothing was ever published at ``where``.
        WorkersError: Spark's Python workers lack this package.

    Workers keep the set between batches and apply only the changes. The directory must keep a version until the batch
    that was matched with it is committed.
    """
    extra("pyspark.sql")
    directory = open_directory(where, storage)
    newest = source_of(directory.store.uri, None, None)
    seen = messages_of(messages, topic, mode, groups)
    if VERSION in map(str.lower, seen.names):
        raise ValueError("the result would have two columns 'version', rename that of the messages")
    spark = messages.sparkSession
    require_workers(spark)
    if record is None and not directory.store.is_local:
        raise ValueError(
            f"{directory.store.place} cannot be written to: say with record= which directory, of a file system that "
            "all executors have mounted, keeps which batch was matched with which version"
        )
    kept = store_of(directory.store.locate("_matched") if record is None else record)
    kept.prepare(("",))
    alone = newest.sent(spark)
    assert isinstance(alone, PublishedVersion)
    return by_trie(seen, partial(_set_of_task, directory.store.uri, kept.uri, alone.mark), newest.options())


def _set_of_task(where: str, record: str, alone: Mark) -> tuple[SentSet, int]:
    """The set that the messages of this worker's task are matched with, and its version.

    Args:
        alone: the version, if there is no query, since the data frame is not a stream.
    """
    context = extra("pyspark").TaskContext.get()
    query = context and context.getLocalProperty("sql.streaming.queryId")
    batch = context and context.getLocalProperty("streaming.sql.batchId")
    mark = recorded(where, store_of(record), query, int(batch)) if query and batch else alone
    return PublishedVersion(where, mark), mark.version


def recorded(where: str, record: Store, query: str, batch: int) -> Mark:
    """The version that a micro-batch is matched with. The first task that asks records it.

    Lock-free: if several tasks find no record, one creates it and the others read it.

    Raises:
        HistoryError: the directory went back, or forked, since this or the previous batch.
    """
    name = _name(query, batch)
    while True:
        try:
            return _read(record, name, where)
        except FileNotFoundError:
            pass
        directory = open_directory(where)
        version = directory.version_at(None)
        with contextlib.suppress(FileNotFoundError):
            before = _fields(record, _name(query, batch - 1))
            if before.digest:
                directory.require(before)
        content = json.dumps(version.marked()._asdict()).encode()
        try:
            record.create(name, content, f".{name}.{uuid.uuid4().hex}")
        except FileExistsError:
            continue
        if batch >= KEPT_RECORDS:
            record.remove(_name(query, batch - KEPT_RECORDS))
        return version.marked()


def _name(query: str, batch: int) -> str:
    return f"{query}.{batch}.json"


def _fields(record: Store, name: str) -> Mark:
    """The version in a record, without a digest in records of earlier versions of this package.

    Raises:
        ValueError: it is not a record.
    """
    content = record.read(name, MOST_BYTES)
    try:
        fields: dict[str, Any] = json.loads(content)
        return Mark(str(fields["directory"]), int(fields["version"]), str(fields.get("digest", "")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{record.locate(name)} is not the record of a micro-batch ({error!r}); restore it") from error


def _read(record: Store, name: str, where: str) -> Mark:
    """The version in a record, and what the directory has of it.

    Raises:
        ValueError: it belongs to another directory, or is not a record.
        NotPublishedError: the version is not kept any more.
        HistoryError: the directory has another version of this number.
    """
    mark = _fields(record, name)
    number, directory = mark.version, open_directory(where)
    try:
        version = directory.version_at(number)
    except NotPublishedError as gone:
        raise NotPublishedError(
            f"{gone}. A micro-batch was matched with version {number} and has to be matched with it again: let the "
            "publisher keep more versions; to match this batch with the newest one instead, delete "
            f"{record.locate(name)}"
        ) from gone
    if version.directory != mark.directory:
        raise ValueError(
            f"{record.locate(name)} is of another published directory than {directory.store.place}; give each its own"
        )
    if mark.digest:
        directory.require(mark)
    return version.marked()
