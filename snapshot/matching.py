"""Messages joined with the subscriptions that match them, by a Spark cluster. Two plans give the same answer.

``trie``: each Python worker holds a trie (`snapshot.held_sets`), which the driver sent or which it read from a
published directory, and matches messages with it (`snapshot.worker`). ``join``: Spark alone joins messages and
subscriptions on keys (`snapshot.signatures`).

Their costs were measured on two cores (the benchmark ``spark-match``), the first query included. The plan ``trie``
costs the same for each message whatever the set looks like, and some seconds at the start for a large set. The plan
``join`` costs more with each signature that the set has, and makes the keys of a large set again for each query. Both
cost more with each match; the number of matches is not known in advance. `explain` tells the result for a given set.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from snapshot import catalyst, signatures, worker
from snapshot._extras import extra
from snapshot.environment import lack_of_workers, require_workers
from snapshot.held_sets import JOINED, NUMBER
from snapshot.messages import TOPIC_ERROR, Messages, messages_of
from snapshot.option_numbers import OptionMap, looked_up
from snapshot.sets import SentSet, SetSource, source_of
from snapshot.signatures import Signature
from snapshot.sparks import binary_text, is_remote
from snapshot.texts import Key
from snapshot.worker import Job
from subtrie import Dialect, SubscriptionTrie
from subtrie.columns import EXCLUSIONS

if TYPE_CHECKING:
    import datetime

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

Plan = Literal["trie", "join"]
Source = SubscriptionTrie | str | os.PathLike[str]

SAMPLE = 5_000
"""How many subscriptions are looked at to choose a plan."""

_log = logging.getLogger("snapshot")

# Microseconds of two cores together, for messages of five words with three matches each. They come from the benchmarks
# spark-match and spark-match-large.
TRIE_PER_MESSAGE, TRIE_PER_SUBSCRIPTION = 2.0, 8.0
JOIN_PER_MESSAGE, JOIN_PER_KEY, JOIN_PER_LOOPED_KEY, JOIN_PER_SUBSCRIPTION = 1.2, 0.2, 0.3, 25.0


def match_spark(
    messages_df: DataFrame,
    source: Source,
    topic: str | Column = "topic",
    *,
    plan: Plan | None = None,
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
        plan: ``"trie"``, ``"join"``, or None for the one that should be faster; both give the same rows.
        mode: what happens to a topic that the dialect refuses, in Spark's words. ``FAILFAST``: the job fails, and the
            error names the topic. ``PERMISSIVE``: its message is kept with nulls for the subscription, and a further
            column of the result, ``_topic_error``, says what is wrong. ``DROPMALFORMED``: its message is left out.
        groups: ``"all"`` joins a message with all members of a group. A ``Column`` joins it with one member, which the
            text in that column chooses: the same text chooses the same member.
        at: of a published directory, a version or a time (with a zone); None for the newest version.
        as_of: of a published directory, the column with the time of each message. It is then matched with the version
            of that time: the newest that is not later, as with ``at``, among those that are kept when this is called. A
            message without a time matches no subscriber. The plan is ``trie``; workers hold the rows of all versions.
        key: of a trie, as for `snapshot.to_spark`.
        storage: of a published directory, as for `Publisher`. The executors use it, too.

    Returns:
        The columns of ``messages_df`` and ``filter``, ``subscriber`` and ``options``, one row for each message and each
        subscription that matches it, none for a message without a match. Evaluated lazily.

    Raises:
        ImportError: pyarrow or pyspark is not installed.
        ValueError: ``messages_df`` has no string column ``topic``, or the result would have two columns with one name,
            or another parameter has a value that it cannot have.
        TypeError: ``source`` is neither a subscription trie nor a path, or a subscriber is neither a string nor an
            integer and there is no ``key``.
        NotPublishedError: in the job, a message is older than the oldest version that is kept.
        WorkersError: the plan is ``"trie"``, and Spark's Python workers lack this package.

    With the plan ``trie`` each Python worker holds the set once. At a time it holds the joined rows of about 65,536
    matches, or of all matches of one message; fewer if they would take more than 64 MiB.
    """
    spark, messages, held = _looked_at(messages_df, source, topic, mode, groups, at, key, as_of, storage)
    if as_of is not None:
        if at is not None or plan == "join":
            raise ValueError('as_of= excludes at= and plan="join"')
        require_workers(spark)
        return by_trie(spark, messages, held.history(), held.options())
    chosen = _choice(spark, messages, held, plan)
    if chosen.plan == "trie":
        require_workers(spark)
        return by_trie(spark, messages, held.sent(spark), held.options())
    return _by_join(spark, messages, held)


def explain(
    messages_df: DataFrame,
    source: Source,
    topic: str | Column = "topic",
    *,
    plan: Plan | None = None,
    groups: str | Column = "all",
    at: int | datetime.datetime | None = None,
    key: Key | None = None,
    storage: Mapping[str, Any] | None = None,
) -> str:
    """Say which plan `match_spark` takes for these messages and this set, and why.

    It looks at 5,000 of the subscriptions. The parameters are those of `match_spark`.
    """
    spark, messages, held = _looked_at(messages_df, source, topic, "FAILFAST", groups, at, key, None, storage)
    return _choice(spark, messages, held, plan).text()


def _looked_at(
    messages_df: DataFrame,
    source: Source,
    topic: str | Column,
    mode: str,
    groups: str | Column,
    at: int | datetime.datetime | None,
    key: Key | None,
    as_of: str | Column | None,
    storage: Mapping[str, Any] | None,
) -> tuple[SparkSession, Messages, SetSource]:
    extra("pyspark.sql")
    held = source_of(source, at, key, storage)
    messages = messages_of(messages_df, topic, mode, groups, as_of)
    return messages_df.sparkSession, messages, held


# Which plan -----------------------------------------------------------------------------------------------------------


class _Choice(NamedTuple):
    plan: Plan
    why: str
    facts: str

    def text(self) -> str:
        return f"plan: {self.plan}, since {self.why}\n{self.facts}"


def _choice(spark: SparkSession, messages: Messages, held: SetSource, plan: Plan | None) -> _Choice:
    if plan not in (None, "trie", "join"):
        raise ValueError(f'plan must be "trie", "join" or None, not {plan!r}')
    if plan is not None:
        if plan == "trie" and is_remote(spark) and not held.is_published:
            raise ValueError(
                "a Spark Connect session cannot send a trie to the workers: publish it and give the directory, or "
                'take plan="join"'
            )
        return _Choice(plan, "it was asked for", held.described())
    if messages.frame.isStreaming:
        return _Choice("trie", "the messages are a stream", held.described())
    if is_remote(spark) and not held.is_published:
        return _Choice("join", "a Spark Connect session cannot send a trie to the workers", held.described())
    lack = lack_of_workers(spark)
    if lack is not None:
        _log.warning("%s. Until then, messages are matched by the join", lack)
        return _Choice("join", f"the workers cannot run the other one: {lack}", held.described())
    return _cheaper(spark, held)


def _cheaper(spark: SparkSession, held: SetSource) -> _Choice:
    """The cheaper plan for as many messages as there are subscriptions, and for at least a million."""
    sample = signatures.keyed(held.sample(spark, SAMPLE), held.dialect).select("signature").distinct()
    found = [Signature.parse(row["signature"]) for row in sample.collect()]
    subscriptions, messages = held.subscriptions, max(1_000_000, held.subscriptions)
    trie = (TRIE_PER_MESSAGE * messages + TRIE_PER_SUBSCRIPTION * subscriptions) / 1e6
    keys = len(found)
    per_key = JOIN_PER_KEY if keys <= signatures.MOST_WRITTEN_OUT else JOIN_PER_LOOPED_KEY
    join = ((JOIN_PER_MESSAGE + per_key * keys) * messages + JOIN_PER_SUBSCRIPTION * subscriptions) / 1e6
    facts = (
        f"{held.described()}, {keys} signatures among {min(SAMPLE, subscriptions):,} of them\n"
        f"for {messages:,} messages: trie about {trie:.1f} s, join about {join:.1f} s on two cores"
    )
    if trie <= join:
        return _Choice("trie", "it should take less time", facts)
    if not held.rows(spark).where(f"options['{EXCLUSIONS}'] is not null").isEmpty():
        return _Choice("trie", "some subscriptions have exclusions, which the join does not know", facts)
    return _Choice("join", "it should take less time", facts)


# By tries on the workers ----------------------------------------------------------------------------------------------


def by_trie(
    spark: SparkSession,
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
    kinds = _joined_fields(messages.mode)
    names = messages.result_names
    if not isinstance(sent, SentSet):
        kinds = [*kinds, types.StructField("version", types.LongType(), False)]
        names = [*names, "version"]
    if options:
        kinds = [*kinds, types.StructField(NUMBER, types.IntegerType())]
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
    return worker.join(batches, job, sent.held())


def _joined_fields(mode: str) -> list[Any]:
    types = extra("pyspark.sql.types")
    text = types.StringType()
    fields = [
        types.StructField("filter", text),
        types.StructField("subscriber", text),
        types.StructField("options", types.MapType(text, text)),
    ]
    return [*fields, types.StructField(TOPIC_ERROR, text)] if mode == "PERMISSIVE" else fields


# By a join ------------------------------------------------------------------------------------------------------------


def _by_join(spark: SparkSession, messages: Messages, held: SetSource) -> DataFrame:
    functions = extra("pyspark.sql.functions")
    if messages.frame.isStreaming:
        raise ValueError('a stream is matched by plan="trie"; to match it by a join, call match_spark in foreachBatch')
    dialect = held.dialect
    error = catalyst.topic_error("t", dialect)
    frame = messages.frame.withColumn("t", functions.expr(binary_text(f"c{messages.topic}")))
    if messages.mode == "FAILFAST":
        checked = "if(e is null, t, raise_error(concat('TopicError: ', e)))"
        frame = frame.withColumn("e", functions.expr(error)).withColumn("t", functions.expr(checked)).drop("e")
        frame = frame.withColumn(TOPIC_ERROR, functions.lit(None))
    else:
        frame = frame.withColumn(TOPIC_ERROR, functions.expr(error))
        if messages.mode == "DROPMALFORMED":
            frame = frame.where(f"{TOPIC_ERROR} is null")
    if messages.key is not None:
        frame = frame.withColumn("m", functions.monotonically_increasing_id())
    subscriptions, found = held.keyed(spark)
    small = held.subscriptions <= BROADCAST
    joined = signatures.joined(frame, "t", TOPIC_ERROR, subscriptions, found, dialect, small=small)
    joined = joined.where(f"if(options['{EXCLUSIONS}'] is null, true, raise_error({catalyst.text(NO_EXCLUSIONS)}))")
    if messages.key is not None:
        joined = _one_of_each_group(joined, f"c{messages.key}", dialect)
    columns = [*(f"c{number}" for number in range(len(messages.names))), *JOINED]
    if messages.mode == "PERMISSIVE":
        columns.append(TOPIC_ERROR)
    return joined.select(*columns).toDF(*messages.result_names)


NO_EXCLUSIONS = 'a subscription has exclusions (but=), which the join does not know: take plan="trie"'

BROADCAST = 250_000
"""Up to so many subscriptions, the set is sent to all executors. A larger one would not fit into a driver with Spark's
standard memory, so Spark chooses how to join it."""


def _one_of_each_group(joined: DataFrame, key: str, dialect: Dialect) -> DataFrame:
    """All rows in no group, and one member of each group, which the key's checksum chooses, as in `worker.place_of`."""
    if dialect.share_prefix is not None:
        prefix = catalyst.text(dialect.share_prefix + dialect.separator)
        group = f"if(startswith(filter, {prefix}), filter, null)"
    elif dialect.queue_groups:
        group = "options['queue']"
    else:
        return joined
    members = "partition by m, g"
    return (
        joined.selectExpr("*", f"{group} as g")
        .selectExpr(
            "*",
            f"row_number() over ({members} order by subscriber, filter) - 1 as place",
            f"count(*) over ({members}) as members",
        )
        .where(f"g is null or place = crc32(concat(coalesce({key}, ''), {catalyst.text(chr(0))}, g)) % members")
    )
