"""What this package adds to a Spark session: a data source of changes and an SQL function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapshot import catalyst
from snapshot._extras import extra
from snapshot.dialect_fields import KNOWN
from snapshot.environment import require_session
from snapshot.sparks import UnsupportedError, release
from subtrie import AMQP

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Give a session and its SQL a data source for the changes of published directories, and a function that matches.

    - The data source ``subscriptions`` (docs/spark.md), with the option ``readChangeFeed``: ``spark.read.format(
      "subscriptions")``, or as a stream ``spark.readStream.format("subscriptions")``. A set is read by `read`.
    - The function ``topic_matches(filter, topic, dialect)``: whether the filter matches the topic, by the rules of
      ``'AMQP'``, ``'MQTT'`` or ``'NATS'``. Give it the set's column ``dialect``. It is null if one of the texts is
      null, or if the dialect refuses the topic. Its answer for a filter that the dialect refuses is meaningless. It is
      plain SQL: no Python runs on the executors. Without the dialect, the rules are AMQP's, and a topic with ``/`` or a
      filter with ``/``, ``+`` or ``>`` is an error, since it is probably of another dialect.

    Args:
        spark: the session.

    Raises:
        ImportError: pyspark is not installed.
        TypeError: ``spark`` is not a session.
        RuntimeError: the session was stopped.
        UnsupportedError: Spark is older than 4.0.
    """
    require_session(spark)
    if release() < (4, 0):
        raise UnsupportedError("snapshot.register", "4.0")
    spark.dataSource.register(extra("snapshot.source").Subscriptions)
    cases = "".join(
        f" when {catalyst.text(name)} then {catalyst.matches('filter', 'topic', dialect)}"
        for name, dialect in KNOWN.items()
    )
    names = ", ".join(KNOWN)
    unknown = f"raise_error(concat('topic_matches knows the dialects {names}, not ', coalesce(dialect, 'null')))"
    foreign = "contains(topic, '/') or rlike(filter, '[/+>]')"
    unsaid = (
        "raise_error(concat('topic_matches(filter, topic) is for AMQP, and ', filter, ' or ', topic, ' is probably of "
        "another dialect: say which, topic_matches(filter, topic, dialect), by the column dialect that sets have'))"
    )
    amqp = f"if({foreign}, {unsaid}, {catalyst.matches('filter', 'topic', AMQP)})"
    spark.sql(
        "create or replace temporary function topic_matches"
        "(filter string, topic string, dialect string default '') returns boolean "
        f"return case dialect{cases} when '' then {amqp} else {unknown} end"
    )
