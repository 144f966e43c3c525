"""Messages joined with the subscriptions that match them, by a Spark cluster.

Each Python worker holds a trie (`snapshot.held_sets`), which the driver sent or which it read from a published
directory, and matches messages with it (`snapshot.worker`). A message costs the same whatever the set looks like. There
is no join by SQL alone: one with keys for all dialects was no quicker than the patterns of each topic exploded by hand,
and both took three times as long as the tries (docs/spark.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from snapshot import worker
from snapshot._extras import extra
from snapshot.environment import require_workers
from snapshot.held_sets import NUMBER, held_set, joined_schema
from snapshot.messages import TOPIC_ERROR, Messages, messages_of
from snapshot.option_numbers import OptionMap, looked_up
from snapshot.sets import SentSet, source_of
from snapshot.sparks import struct_of
from snapshot.texts import Key
from snapshot.worker import Job
from subtrie import SubscriptionTrie

if TYPE_CHECKING:
    import datetime

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

Source = SubscriptionTrie | str | os.PathLike[str]


def match_spark(
    messages_df: DataFrame,
    source: Source,
    topic: str | Column = "topic",
    *,
    mode: str = "FAILFAST",
    groups: str | Column = "all",
    at: int | datetime.datetime | None = None,
    as_of: str | Column | None = None,
    key: Key | None = None,
    storage: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Join messages with the subscriptions that match them.

    Args:
        messages_df: the messages.
        source: a subscription trie, a snapshot of one, or a published directory (a path or URI that all executors can
            read). Later subscriptions are not seen.
        topic: the column with the messages' topics, which are strings: a ``Column``, or a name. A name is taken as it
            is, dots included; upper and lower case differ only if ``spark.sql.caseSensitive`` is set. A null topic
            matches no subscriber.
        mode: what happens to a topic that the dialect refuses, in Spark's words. ``FAILFAST``: the job fails, and the
            error names the topic. ``PERMISSIVE``: its message is kept with nulls for the subscription, and a further
            column of the result, ``_topic_error``, says what is wrong. ``DROPMALFORMED``: its message is left out.
        groups: ``"all"`` joins a message with all members of a group. A ``Column`` joins it with one member, which the
            text in that column chooses: the same text chooses the same member.
        at: of a published directory, a version or a time (with a zone); None for the newest version.
        as_of: of a published directory, the column with the time of each message. It is then matched with the version
            of that time: the newest that is not later, as with ``at``, among those that are kept when this is called. A
            message without a time matches no subscriber. Workers hold the rows of all versions.
        key: of a trie, as for `snapshot.to_spark`.
        storage: of a published directory, as for `Publisher`. The executors use it, too.

    Returns:
        The columns of ``messages_df`` and ``filter``, ``subscriber`` and ``options``, one row for each message and each
        subscription that matches it, none for a message without a match. Evaluated lazily.

    Raises:
        ImportError: pyarrow or pyspark is not installed.
        ValueError: ``messages_df`` has no string column ``topic``, or the result would have two columns with one name,
            or another parameter has a value that it cannot have, as a trie in a session of Spark Connect.
        TypeError: ``source`` is neither a subscription trie nor a path, or a subscriber is neither a string nor an
            integer and there is no ``key``.
        NotPublishedError: in the job, a message is older than the oldest version that is kept.
        WorkersError: Spark's Python workers lack this package.

    Each Python worker holds the set once. At a time it holds the joined rows of about 65,536 matches, or of all matches
    of one message; fewer if they would take more than 64 MiB.
    """
    extra("pyspark.sql")
    if as_of is not None and at is not None:
        raise ValueError("as_of= excludes at=")
    held = source_of(source, at, key, storage)
    messages = messages_of(messages_df, topic, mode, groups, as_of)
    require_workers(messages_df.sparkSession)
    sent = held.sent(messages_df.sparkSession, history=as_of is not None)
    return by_trie(messages, sent, held.options())


def by_trie(
    messages: Messages,
    sent: SentSet | Callable[[], tuple[SentSet, int]],
    options: tuple[OptionMap, ...] = (),
) -> DataFrame:
    """The joined rows.

    Args:
        sent: the set; or a function that each task calls to get the set and its version. The version is then the last
            column of the result.
        options: maps that many of the subscriptions have as their options. Rows with these cost less.
    """
    types = extra("pyspark.sql.types")
    fields = messages.frame.schema.fields[: len(messages.names)]
    kinds = [*struct_of(joined_schema())]
    if messages.mode == "PERMISSIVE":
        kinds.append(types.StructField(TOPIC_ERROR, types.StringType()))
    if not isinstance(sent, SentSet):
        kinds.append(types.StructField("version", types.LongType(), False))
    names = [*messages.names, *(kind.name for kind in kinds)]
    if options:
        kinds.append(types.StructField(NUMBER, types.IntegerType()))
    plain = [f"c{number}" for number in range(len(fields))] + [kind.name for kind in kinds]
    schema = types.StructType(
        [
            types.StructField(name, field.dataType, field.nullable, field.metadata)
            for name, field in zip(plain, [*fields, *kinds], strict=True)
        ]
    )
    job = Job(messages.topic, messages.key, len(messages.names), plain, messages.mode, None, messages.as_of, options)
    joined = messages.frame.mapInArrow(partial(_on_worker, job=job, sent=sent), schema)
    if options:
        column = f"coalesce({looked_up(NUMBER, options)}, options) as options"
        joined = joined.selectExpr(*(column if name == "options" else name for name in plain[:-1]))
    return joined.toDF(*names)


def _on_worker(
    batches: Iterator[pa.RecordBatch], *, job: Job, sent: SentSet | Callable[[], tuple[SentSet, int]]
) -> Iterator[pa.RecordBatch]:
    if not isinstance(sent, SentSet):
        sent, version = sent()
        job = job._replace(version=version)
    return worker.join(batches, job, held_set(sent, sent.made))
