"""What this package adds to a Spark session: a data source of changes and an SQL function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapshot._extras import extra
from snapshot.dialect_fields import KNOWN
from snapshot.environment import require_session, require_workers
from snapshot.sparks import UnsupportedError, release
from subtrie import TopicError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Give a session and its SQL a data source for the changes of published directories, and a function that matches.

    - The data source ``subscriptions`` (docs/spark.md), with the option ``readChangeFeed``: ``spark.read.format(
      "subscriptions")``, or as a stream ``spark.readStream.format("subscriptions")``. A set is read by `read`.
    - The function ``topic_matches(filter, topic, dialect)``: whether the filter matches the topic, by the rules of
      ``'AMQP'``, ``'MQTT'`` or ``'NATS'``. Give it the set's column ``dialect``. It is null if one of the texts is
      null, or if the dialect refuses it. Without the dialect, the rules are AMQP's, and a topic with ``/`` or a filter
      with ``/``, ``+`` or ``>`` is an error, since it is probably of another dialect.

    Args:
        spark: the session.

    Raises:
        ImportError: pyspark is not installed.
        TypeError: ``spark`` is not a session.
        RuntimeError: the session was stopped.
        UnsupportedError: Spark is older than 4.0.
        WorkersError: Spark's Python workers lack this package.
    """
    require_session(spark)
    if release() < (4, 0):
        raise UnsupportedError("snapshot.register", "4.0")
    require_workers(spark)
    spark.dataSource.register(extra("snapshot.source").Subscriptions)
    spark.udf.register("topic_matches", topic_matches, "boolean")


def topic_matches(filter: str | None, topic: str | None, dialect: str | None = "") -> bool | None:
    """Whether a filter matches a topic, as `register` says.

    >>> topic_matches("room/+", "room/12", "MQTT"), topic_matches("room/#", "", "MQTT"), topic_matches("a", "b")
    (True, None, False)
    """
    if dialect is None or (dialect and dialect not in KNOWN):
        raise ValueError(f"topic_matches knows the dialects {', '.join(KNOWN)}, not {dialect or 'null'}")
    if filter is None or topic is None:
        return None
    if not dialect and ("/" in topic or not set("/+>").isdisjoint(filter)):
        raise ValueError(
            f"topic_matches(filter, topic) is for AMQP, and {filter} or {topic} is probably of another dialect: say "
            "which, topic_matches(filter, topic, dialect), by the column dialect that sets have"
        )
    try:
        return KNOWN[dialect or "AMQP"].matches(filter, topic)
    except TopicError:
        return None
