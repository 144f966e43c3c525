"""Messages matched by Spark: the same answers as the trie's, for all kinds of messages."""

from __future__ import annotations

import datetime
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import snapshot
from snapshot import held_sets, worker
from subtrie import AMQP, MQTT, NATS, Dialect, Subscription, SubscriptionTrie
from tests.snapshot.support import trie_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TestMatchSpark:
    def test_joins_each_message_with_each_subscription_that_matches_it(self, spark: SparkSession) -> None:
        trie = trie_of(("a.*", "alice"), ("#", "alice"), ("a.b", "bob"), qos=1)
        messages = spark.createDataFrame([(1, "a.b"), (2, "a.b"), (3, "x"), (4, "")], "id int, topic string")
        joined = snapshot.match_spark(messages, trie)
        assert joined.columns == ["id", "topic", "filter", "subscriber", "options"]
        alice, bob = ("#", "alice", {"qos": "1"}), ("a.b", "bob", {"qos": "1"})
        assert sorted(tuple(row) for row in joined.collect()) == [
            (1, "a.b", *alice),
            (1, "a.b", "a.*", "alice", {"qos": "1"}),
            (1, "a.b", *bob),
            (2, "a.b", *alice),
            (2, "a.b", "a.*", "alice", {"qos": "1"}),
            (2, "a.b", *bob),
            (3, "x", *alice),
            (4, "", *alice),
        ]

    def test_agrees_with_the_dialect_on_random_sets(self, spark: SparkSession) -> None:
        chance = random.Random(7)

        def text(words: str) -> str:
            return ".".join(chance.choices(words, k=chance.randrange(5)))

        subscriptions = {(text("abc*#"), f"s{chance.randrange(20)}") for _ in range(300)}
        topics = [text("abcd") for _ in range(500)]
        messages = spark.createDataFrame(list(enumerate(topics)), "id int, topic string")
        joined = snapshot.match_spark(messages.repartition(3), trie_of(*subscriptions))
        expected = {
            (number, topic, filter, subscriber)
            for number, topic in enumerate(topics)
            for filter, subscriber in subscriptions
            if AMQP.matches(AMQP.split_filter(filter), AMQP.split_topic(topic))
        }
        found = [(row.id, row.topic, row.filter, row.subscriber) for row in joined.collect()]
        assert len(found) == len(expected)
        assert set(found) == expected

    def test_follows_the_dialect_of_the_trie(self, spark: SparkSession) -> None:
        trie = SubscriptionTrie(MQTT)
        trie.subscribe("+/b", "alice")
        messages = spark.createDataFrame([("a/b",), ("$a/b",), ("a.b",)], "topic string")
        assert [row.topic for row in snapshot.match_spark(messages, trie).collect()] == ["a/b"]
        trie.check()

    @pytest.mark.parametrize(
        ("dialect", "subscriptions"),
        [
            (MQTT, [("$share/g/a", {}), ("$share/h/a", {}), ("$share/g/+", {}), ("a", {})]),
            (NATS, [("a", {"queue": "g"}), ("a", {"queue": "h"}), ("*", {"queue": "g"}), ("a", {})]),
        ],
        ids=["MQTT", "NATS"],
    )
    def test_names_all_members_of_groups_as_entries_does(
        self, spark: SparkSession, dialect: Dialect, subscriptions: list[tuple[str, dict[str, str]]]
    ) -> None:
        trie = SubscriptionTrie(dialect)
        for filter, options in subscriptions:
            for subscriber in ("s1", "s2", "s3"):
                trie.subscribe(filter, subscriber, **options)
        topics = ["a", "b", "a", "a"]
        expected = sorted(
            (topic, held.filter, held.subscriber, sorted(held.options.items()))
            for topic in topics
            for held in trie.entries(topic)
        )
        messages = spark.createDataFrame([(topic,) for topic in topics], "topic string")
        for partitions in (1, 3):
            joined = snapshot.match_spark(messages.repartition(partitions), trie).collect()
            found = [(row.topic, row.filter, row.subscriber, sorted(row.options.items())) for row in joined]
            assert sorted(found) == expected
        trie.check()

    def test_sees_the_set_as_it_was_when_it_was_called(self, spark: SparkSession) -> None:
        trie = trie_of(("a", "alice"))
        joined = snapshot.match_spark(spark.createDataFrame([("a",)], "topic string"), trie)
        trie.unsubscribe("a", "alice")
        trie.subscribe("a", "bob")
        assert [row.subscriber for row in joined.collect()] == ["alice"]
        assert [row.subscriber for row in joined.collect()] == ["alice"]
        trie.check()

    def test_keeps_the_columns_of_the_messages(self, spark: SparkSession) -> None:
        at = datetime.datetime(2026, 1, 2, 3, 4, 5, 678)
        schema = (
            "subject string, at timestamp, body binary, tags array<string>, nested struct<x:int,y:map<string,double>>"
        )
        message: tuple[Any, ...] = ("a", at, b"\0\1", ["x", None], (1, {"k": 0.5}))
        messages = spark.createDataFrame([message], schema)
        joined = snapshot.match_spark(messages, trie_of(("*", "alice")), topic="subject")
        assert joined.select(messages.columns).schema == messages.schema
        assert joined.select(messages.columns).collect() == messages.collect()

    def test_a_null_topic_matches_nobody(self, spark: SparkSession) -> None:
        messages = spark.createDataFrame([(None,), ("a",)], "topic string")
        assert snapshot.match_spark(messages, trie_of(("#", "alice"))).count() == 1

    def test_an_empty_set_matches_nothing(self, spark: SparkSession) -> None:
        messages = spark.createDataFrame([("a",)], "topic string")
        joined = snapshot.match_spark(messages, SubscriptionTrie())
        assert joined.columns == ["topic", "filter", "subscriber", "options"]
        assert joined.count() == 0

    def test_no_messages_match_nothing(self, spark: SparkSession) -> None:
        messages = spark.createDataFrame([], "topic string")
        assert snapshot.match_spark(messages, trie_of(("#", "alice"))).count() == 0

    def test_a_topic_that_the_dialect_refuses_fails_the_job_and_is_named(self, spark: SparkSession) -> None:
        messages = spark.createDataFrame([("a.\0",)], "topic string")
        with pytest.raises(Exception, match=r"TopicError: forbidden character .* at character 2 of 'a\.\\x00'"):
            snapshot.match_spark(messages, trie_of(("#", "alice"))).collect()

    @pytest.mark.parametrize(
        ("schema", "message"),
        [
            ("subject string", r"have no column 'topic', only \['subject'\]"),
            ("topic int", r"column 'topic' of the messages must hold strings, not IntegerType"),
            ("topic string, Filter string", r"twice, rename them: \['Filter'\]"),
            ("topic string, id int, id int", r"twice, rename them: \['id', 'id'\]"),
            ("topic string, id int, Id int", r"twice, rename them: \['id', 'Id'\]"),
            ("topic string, Topic int", r"twice, rename them: \['topic', 'Topic'\]"),
        ],
    )
    def test_refuses_messages_of_another_shape(self, spark: SparkSession, schema: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            snapshot.match_spark(spark.createDataFrame([], schema), trie_of(("#", "alice")))

    def test_takes_names_of_columns_as_they_are(self, spark: SparkSession) -> None:
        names = ["my.topic", "c0", "a b", "x`y", "ä.*", ""]
        messages = spark.createDataFrame([("a.b", *"12345"), ("c", *"12345")], names)
        joined = snapshot.match_spark(messages, trie_of(("a.*", "alice")), topic="my.topic")
        assert joined.columns == [*names, *held_sets.JOINED]
        assert [tuple(row) for row in joined.collect()] == [("a.b", *"12345", "a.*", "alice", {})]

    def test_looks_for_the_topic_without_regard_to_case_as_spark_does(self, spark: SparkSession) -> None:
        messages = spark.createDataFrame([(1, "a")], "id int, topic string")
        joined = snapshot.match_spark(messages, trie_of(("a", "alice")), topic="Topic")
        assert joined.columns == ["id", "topic", *held_sets.JOINED]
        assert joined.count() == 1

    @pytest.mark.parametrize("setting", ["true", "TRUE"])
    def test_tells_columns_apart_by_case_where_spark_does(self, spark: SparkSession, setting: str) -> None:
        messages = spark.createDataFrame([("a", "b", "c")], "topic string, Topic string, Filter string")
        spark.conf.set("spark.sql.caseSensitive", setting)
        try:
            joined = snapshot.match_spark(messages, trie_of(("b", "alice")), topic="Topic")
            assert [tuple(row) for row in joined.collect()] == [("a", "b", "c", "b", "alice", {})]
            with pytest.raises(ValueError, match="have no column 'TOPIC'"):
                snapshot.match_spark(messages, trie_of(("b", "alice")), topic="TOPIC")
        finally:
            spark.conf.unset("spark.sql.caseSensitive")

    def test_refuses_what_is_no_subscription_trie(self, spark: SparkSession) -> None:
        source: Any = {"a": "alice"}
        with pytest.raises(TypeError, match=r"the source must be a SubscriptionTrie, a snapshot of one, .* not dict"):
            snapshot.match_spark(spark.createDataFrame([], "topic string"), source)


class TestWorker:
    def test_keeps_a_set_and_builds_it_once(self) -> None:
        made = []

        def make() -> held_sets.HeldSet:
            made.append(held_of(trie_of(("a", "alice"), ("#", "bob"))))
            return made[-1]

        held_sets.forget()
        first = held_sets.held_set("one", make)
        assert held_sets.held_set("one", make) is first
        assert held_sets.held_set("two", make) is made[1]
        assert held_sets.held_set("one", make) is first
        held_sets.held_set("three", make)
        assert held_sets.kept() == ["one", "three"]
        held_sets.forget()
        first.rows.check()

    def test_hands_out_rows_in_bounded_portions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(worker, "BATCH_ROWS", 4)
        monkeypatch.setattr(worker, "FIRST_TOPICS", 4)
        held = held_of(trie_of(*(("a", f"s{n}") for n in range(3)), ("b", "s"), *(("d", f"s{n}") for n in range(10))))
        portions = list(worker._Matcher(held.rows, "FAILFAST").matches(["a", None, "b", "c", "d", "d"]))
        assert [positions.tolist() for positions, _ in portions] == [[0, 0, 0, 2], [4] * 10 + [5] * 10]
        assert len(portions[0][1]) == 4
        held.rows.check()

    def test_cuts_the_matches_of_one_message_into_bounded_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(worker, "BATCH_ROWS", 4)
        held = held_of(trie_of(*(("#", f"s{number}") for number in range(10))))
        batches = joined(pa.record_batch({"topic": ["a"]}), held)
        assert [batch.num_rows for batch in batches] == [4, 4, 2]
        assert {subscriber for batch in batches for subscriber in batch["subscriber"].to_pylist()} == {
            f"s{number}" for number in range(10)
        }
        held.rows.check()

    def test_joins_a_bounded_number_of_bytes_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(worker, "PORTION_BYTES", 1000)
        held = held_of(trie_of(*(("#", f"s{number}") for number in range(20))))
        batches = joined(pa.record_batch({"topic": ["a", "b"], "body": ["x" * 190, "y" * 390]}), held)
        assert max(body_bytes(batch) for batch in batches) <= 1000
        assert max(batch.num_rows for batch in batches) > 1
        found = [(row["topic"], row["body"][0], row["subscriber"]) for batch in batches for row in batch.to_pylist()]
        assert sorted(found) == sorted((topic, body, f"s{n}") for topic, body in ("ax", "by") for n in range(20))
        held.rows.check()

    def test_joins_a_message_that_is_longer_than_that_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(worker, "PORTION_BYTES", 1000)
        held = held_of(trie_of(("#", "alice"), ("a", "bob")))
        batches = joined(pa.record_batch({"topic": ["a", "b"], "body": [["x" * 2000], ["y"]]}), held)
        assert [batch["topic"].to_pylist() for batch in batches] == [["a"], ["a"], ["b"]]
        held.rows.check()

    @pytest.mark.parametrize(
        "trie",
        [
            trie_of(*(("#", f"{number}{'s' * 200}") for number in range(8))),
            trie_of(*((f"{number}{'f' * 200}.#", "alice") for number in range(8)), ("#", "alice")),
            trie_of(*(("#", f"s{number}") for number in range(8)), note="x" * 200, none=None),
        ],
        ids=["subscribers", "filters", "options"],
    )
    def test_counts_the_texts_of_the_subscriptions(
        self, monkeypatch: pytest.MonkeyPatch, trie: SubscriptionTrie
    ) -> None:
        monkeypatch.setattr(worker, "PORTION_BYTES", 500)
        held = held_of(trie)
        assert held.sizes.sum() == sum(text_bytes(row) for part in held.parts for row in part.rows.to_pylist())
        messages = pa.record_batch({"topic": [f"{number}{'f' * 200}.a" for number in range(8)]})
        batches = joined(messages, held)
        assert all(sum(map(text_bytes, batch.to_pylist())) <= 500 or batch.num_rows == 1 for batch in batches)
        entries = [entry for topic in topics_of(messages) for entry in trie.entries(topic)]
        assert sum(batch.num_rows for batch in batches) == len(entries)
        held.rows.check()

    @pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
    def test_brings_a_set_up_to_date_by_changes_and_leaves_the_old_one_alone(self, dialect: Dialect) -> None:
        chance = random.Random(11)
        trie = SubscriptionTrie(dialect)
        held, versions = held_of(trie), []
        for _ in range(40):
            before = trie.snapshot()
            for _ in range(chance.randrange(30)):
                change(trie, chance)
            held = held_sets.advanced(held, [feed_of(trie.snapshot(), before)])
            versions.append((held, trie.snapshot()))
        topics = [dialect.join(chance.choices("abc", k=chance.randrange(1, 4))) for _ in range(50)]
        for then, snapshot_then in versions:
            batches = joined(pa.record_batch({"topic": topics}), then)
            found = sorted(repr(sorted(row.items())) for batch in batches for row in batch.to_pylist())
            wanted = sorted(repr(sorted(row.items())) for topic in topics for row in rows_of(snapshot_then, topic))
            assert found == wanted
            then.rows.check()
        assert len(held.parts) <= held_sets.MOST_PARTS
        trie.check()

    def test_refuses_a_change_that_takes_away_what_is_not_there(self) -> None:
        held = held_of(trie_of(("a", "alice")))
        feed = pa.Table.from_pylist(
            [{"filter": "a", "subscriber": "bob", "options": [], "_change_type": "delete"}],
            held_sets.joined_schema().append(pa.field("_change_type", pa.string())),
        )
        with pytest.raises(ValueError, match=r"takes away a subscription that is not there: .*'bob'"):
            held_sets.advanced(held, [feed])
        held.rows.check()


def held_of(trie: SubscriptionTrie) -> held_sets.HeldSet:
    return held_sets.built(snapshot.to_arrow(trie).select(held_sets.JOINED).to_batches(), trie.dialect)


def joined(messages: pa.RecordBatch, held: held_sets.HeldSet) -> list[pa.RecordBatch]:
    names = [*messages.schema.names, *held_sets.JOINED]
    job = worker.Job(messages.schema.get_field_index("topic"), None, messages.num_columns, names, "FAILFAST")
    return list(worker.join(iter([messages]), job, held))


def change(trie: SubscriptionTrie, chance: random.Random) -> None:
    dialect = trie.dialect
    wild = [dialect.one_word]
    filter = dialect.join(chance.choices([*"abc", *wild], k=chance.randrange(1, 4)))
    if dialect is MQTT and chance.random() < 0.3:
        filter = f"$share/g/{filter}"
    queue = {"queue": "g"} if dialect is NATS and chance.random() < 0.3 else {}
    if chance.random() < 0.6:
        trie.subscribe(filter, f"s{chance.randrange(5)}", qos=chance.randrange(3), **queue)
    else:
        trie.unsubscribe(filter, f"s{chance.randrange(5)}", **queue)


def feed_of(newer: SubscriptionTrie, older: SubscriptionTrie) -> pa.Table:
    """The rows of a change in a published directory, deletes first."""
    rows: list[dict[str, Any]] = []
    now = {name_of(held): held for held in newer.subscriptions()}
    before = {name_of(held): held for held in older.subscriptions()}
    rows += [row(before[name], "delete") for name in before.keys() - now.keys()]
    for name in now.keys() - before.keys():
        rows.append(row(now[name], "insert"))
    for name in now.keys() & before.keys():
        if dict(now[name].options) != dict(before[name].options):
            rows += [row(before[name], "update_preimage"), row(now[name], "update_postimage")]
    return pa.Table.from_pylist(rows, held_sets.joined_schema().append(pa.field("_change_type", pa.string())))


def name_of(held: Subscription) -> tuple[str, str, str | None]:
    return held.filter, held.subscriber, held.options.get("queue")


def row(held: Subscription, kind: str) -> dict[str, Any]:
    options = [(name, str(value)) for name, value in held.options.items()]
    return {"filter": held.filter, "subscriber": held.subscriber, "options": options, "_change_type": kind}


def rows_of(trie: SubscriptionTrie, topic: str) -> list[dict[str, Any]]:
    found = [row(held, "") for held in trie.entries(topic)]
    return [{"topic": topic, **{name: each[name] for name in held_sets.JOINED}} for each in found]


def topics_of(messages: pa.RecordBatch) -> list[str]:
    return [str(topic) for topic in messages["topic"].to_pylist()]


def body_bytes(batch: pa.RecordBatch) -> int:
    return sum(map(len, batch["body"].to_pylist()))


def text_bytes(row: dict[str, Any]) -> int:
    options = sum(len(name) + len(text or "") for name, text in row["options"])
    return len(row["filter"]) + len(row["subscriber"]) + options
