"""Common questions about a subscription set. Each answer is a data frame, which Spark evaluates when it is used.

``source`` is a subscription trie, a snapshot of one, or a published directory, as in `snapshot.match_spark`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from snapshot._extras import extra
from snapshot.environment import require_session, require_workers
from snapshot.held_sets import behind_group
from snapshot.matching import Source, match_spark
from snapshot.merging import AFTER, DELETE, INSERT, KIND
from snapshot.published import open_directory
from snapshot.published.feed import read_feed
from snapshot.sets import source_of
from snapshot.sparks import frame_of
from snapshot.texts import Key
from subtrie import Dialect, SubscriptionTrie

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession


def busiest_filters(
    messages: DataFrame, source: Source, topic: str | Column = "topic", *, key: Key | None = None, **options: Any
) -> DataFrame:
    """How many messages each filter matches. The filters that match most come first.

    Args:
        options: ``mode``, ``at`` and ``storage`` of `snapshot.match_spark`.

    Returns:
        ``filter``; ``messages``, how many it matches; ``subscriptions``, how many have this filter; and ``deliveries``,
        the product of both. Filters that match nothing are left out (see `dead_filters`).
    """
    matched = _matched(messages, source, topic, key, options)
    return (
        matched.groupBy("filter")
        .agg(
            _expr("sum(_n) as deliveries"),
            _expr(
                "count(distinct subscriber, options['queue'] is null, coalesce(options['queue'], '')) as subscriptions"
            ),
        )
        .selectExpr("filter", "deliveries div subscriptions as messages", "subscriptions", "deliveries")
        .orderBy("messages", "filter", ascending=[False, True])
    )


def dead_filters(
    messages: DataFrame, source: Source, topic: str | Column = "topic", *, key: Key | None = None, **options: Any
) -> DataFrame:
    """The filters that match none of the messages.

    Args:
        options: as for `busiest_filters`.

    Returns:
        ``filter`` and ``subscriptions``, how many have this filter.
    """
    held = source_of(source, options.pop("at", None), key, options.pop("storage", None))
    matched = _matched(messages, held, topic, None, options).select("filter").distinct()
    return (
        held.rows(messages.sparkSession)
        .groupBy("filter")
        .agg(_expr("count(*) as subscriptions"))
        .join(matched, "filter", "left_anti")
        .orderBy("subscriptions", "filter", ascending=[False, True])
    )


def topics_per_subscriber(
    messages: DataFrame, source: Source, topic: str | Column = "topic", *, key: Key | None = None, **options: Any
) -> DataFrame:
    """How many messages each subscriber gets. The subscribers that get most come first.

    Args:
        options: as for `busiest_filters`.

    Returns:
        ``subscriber``; ``topics``, how many different ones; and ``messages``, how many, each counted once even if
        several of the subscriber's filters match it.
    """
    matched = _matched(messages, source, topic, key, options)
    return (
        matched.select("subscriber", "_topic", "_n")
        .distinct()
        .groupBy("subscriber")
        .agg(_expr("count(*) as topics"), _expr("sum(_n) as messages"))
        .orderBy("messages", "subscriber", ascending=[False, True])
    )


def overlaps(
    source: Source, spark: SparkSession, *, key: Key | None = None, storage: Mapping[str, Any] | None = None
) -> DataFrame:
    """The pairs of different filters that match a common topic.

    Returns:
        ``filter``, ``other`` and ``relation``. The relation is ``"covers"`` if the first filter matches all topics of
        the other, ``"is covered by"`` if the other matches all topics of the first, ``"equals"`` if both, and otherwise
        ``"overlaps"``. Each pair comes twice, once in each order. Groups of shared subscriptions are left out of the
        filters here.

    Raises:
        WorkersError: Spark's Python workers lack this package.

    This process holds the different filters, but not the pairs, of which there may be as many as the square.
    """
    require_session(spark)
    require_workers(spark)
    held = source_of(source, None, key, storage)
    rows = held.rows(spark).select("filter").distinct().toLocalIterator()
    filters = sorted({behind_group(row["filter"], held.dialect) for row in rows})
    table = extra("pyarrow").table({"filter": extra("pyarrow").array(filters, extra("pyarrow").string())})
    frame = frame_of(spark, table).repartition(max(1, min(64, len(filters) // 1000)))
    return frame.mapInArrow(
        partial(_overlaps, filters=filters, dialect=held.dialect), "filter string, other string, relation string"
    )


def growth(
    where: str | os.PathLike[str], spark: SparkSession, *, storage: Mapping[str, Any] | None = None
) -> DataFrame:
    """How a published set grew: one row for each version whose changes are kept, in order.

    Args:
        where: the directory, a path or a URI.
        spark: the session.
        storage: as for `read`.

    Returns:
        ``version``, ``time``, ``subscriptions`` (how many there were), ``added``, ``removed`` and ``updated`` (since
        the previous version; before the first one there was nothing).

    Raises:
        FileNotFoundError: nothing was ever published at ``where``.
        DamagedError: a feed is damaged.

    This process reads a column of each feed, one feed after the other.
    """
    require_session(spark)
    directory = open_directory(where, storage)
    oldest, rows = directory.version_at(None).oldest or 0, []
    for each in (each for each in directory.versions() if each.version >= oldest):
        counts = {INSERT: each.changes}  # in the first version, which has no feed
        if each.feed is not None:
            counts = Counter(read_feed(directory.store, each, ("options", KIND)).column(KIND).to_pylist())
        kinds = (counts.get(kind, 0) for kind in (INSERT, DELETE, AFTER))
        rows.append((each.version, each.time, each.subscriptions, *kinds))
    schema = "version bigint, time timestamp, subscriptions bigint, added bigint, removed bigint, updated bigint"
    return spark.createDataFrame(rows, schema).orderBy("version")


def _matched(
    messages: DataFrame, source: Any, topic: str | Column, key: Key | None, options: dict[str, Any]
) -> DataFrame:
    """The matches of each different topic, ``_topic``, and how many messages have it, ``_n``. The source may be a set
    that was taken from one."""
    functions = extra("pyspark.sql.functions")
    column = functions.col(f"`{topic.replace('`', '``')}`") if isinstance(topic, str) else topic
    topics = messages.groupBy(column.alias("_topic")).agg(functions.count("*").alias("_n"))
    matched = match_spark(topics, source, "_topic", key=key, **options)
    return matched.where("filter is not null")


def _expr(text: str) -> Column:
    return extra("pyspark.sql.functions").expr(text)  # type: ignore[no-any-return]


def _overlaps(batches: Iterator[pa.RecordBatch], *, filters: list[str], dialect: Dialect) -> Iterator[pa.RecordBatch]:
    pa = extra("pyarrow")
    trie = SubscriptionTrie(dialect)
    trie.subscribe_many((filter, "") for filter in filters)
    for batch in batches:
        for filter in batch.column("filter").to_pylist():
            others = sorted(held.filter for held in trie.overlapping(filter) if held.filter != filter)
            relations = [_relation(filter, other, dialect) for other in others]
            columns = [pa.array(values, pa.string()) for values in ([filter] * len(others), others, relations)]
            yield pa.record_batch(columns, names=["filter", "other", "relation"])


def _relation(filter: str, other: str, dialect: Dialect) -> str:
    one, two = dialect.split_filter(filter), dialect.split_filter(other)
    covers, covered = dialect.subsumes(one, two), dialect.subsumes(two, one)
    if covers and covered:
        return "equals"
    return "covers" if covers else "is covered by" if covered else "overlaps"
