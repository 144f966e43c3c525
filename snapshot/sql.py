"""What this package adds to a Spark session: a data source and an SQL function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapshot import catalyst
from snapshot._extras import extra
from snapshot.environment import require_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: SparkSession) -> None:
    """Give a session and its SQL a data source for published directories, and a function that matches.

    - The data source ``subscriptions`` (docs/spark.md): ``spark.read.format("subscriptions").load(path)``, or as a
      stream ``spark.readStream.format("subscriptions").load(path)``. Filters are pushed down to the files if
      ``spark.sql.python.filterPushdown.enabled`` is set at this call; call `register` again after you change it.
    - The function ``topic_matches(filter, topic, dialect)``: whether the filter matches the topic, by the rules of
      ``'AMQP'`` (the default), ``'MQTT'`` or ``'NATS'``. It is null if one of the texts is null, or if the dialect
      refuses the topic. Its answer for a filter that the dialect refuses is meaningless. It is plain SQL: no Python
      runs on the executors.

    :param spark: the session
    :raises ImportError: pyspark is not installed
    :raises TypeError: ``spark`` is not a session
    :raises RuntimeError: the session was stopped
    """
    extra("pyspark.sql")
    require_session(spark)
    register_source(spark)
    cases = "".join(
        f" when {catalyst.text(name)} then {catalyst.matches('filter', 'topic', dialect)}"
        for name, dialect in catalyst.DIALECTS.items()
    )
    names = ", ".join(catalyst.DIALECTS)
    unknown = f"raise_error(concat('topic_matches knows the dialects {names}, not ', coalesce(dialect, 'null')))"
    spark.sql(
        "create or replace temporary function topic_matches"
        "(filter string, topic string, dialect string default 'AMQP') returns boolean "
        f"return case dialect{cases} else {unknown} end"
    )


def register_source(spark: SparkSession) -> None:
    """Register the data source with a session."""
    source = extra("snapshot.source")
    pushed = str(spark.conf.get(PUSHDOWN, "false")).lower() == "true"
    spark.dataSource.register(source.FilteredSubscriptions if pushed else source.Subscriptions)


def read_published(spark: SparkSession, where: str, **options: int | str) -> DataFrame:
    """Read a published directory through the data source."""
    register_source(spark)
    return spark.read.format("subscriptions").options(**options).load(where)
