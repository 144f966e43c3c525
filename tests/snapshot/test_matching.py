"""Messages matched by Spark: the answers are those of the trie, for all kinds of sets and messages."""

from __future__ import annotations

import datetime
import gc
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

import snapshot
from snapshot import held_sets, messages, option_numbers, sets
from snapshot.worker import place_of
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError
from tests.snapshot.support import trie_of, until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATHS = Dialect(
    "paths",
    separator="/",
    one_word="*",
    many_words="**",
    many_min=1,
    zero_words=True,
    reserved_prefix="$",
    share_prefix="$share",
    wildcards_in_topics=False,
    max_bytes=40,
    max_words=6,
)
"""Rules that no built-in dialect combines: many words anywhere, at least one; reserved topics; groups; limits."""

DIALECTS = [AMQP, MQTT, NATS, PATHS]


def name(dialect: Dialect) -> str:
    return dialect.name


def valid_filters(dialect: Dialect, chance: random.Random, count: int) -> list[str]:
    words = ["a", "b", "c", "$x", "\\E", "é"] + 3 * [dialect.one_word, str(dialect.many_words)]
    found: list[str] = []
    while len(found) < count:
        text = dialect.join(chance.choices(words, k=chance.randrange(8)))
        if dialect.share_prefix is not None and chance.random() < 0.3:
            text = dialect.join([dialect.share_prefix, chance.choice("gh"), text])
        try:
            dialect.split_filter(text)
        except TopicError:
            continue
        found.append(text)
    return found


def topics_of(dialect: Dialect, chance: random.Random, count: int) -> list[str]:
    """Topics, some of them invalid."""
    words = ["a", "b", "c", "$x", "\\E", "é", "z\n"] * 3 + ["", "a\0", dialect.one_word, f"b{dialect.many_words}"]
    return [dialect.join(chance.choices(words, k=chance.randrange(7))) for _ in range(count)]


def long_ones(dialect: Dialect) -> list[str]:
    join, separator = dialect.join, dialect.separator
    return ["é" * 200, "x" * 5000, "é" * 40_000, separator * 300, join("a" * 1100), "q" * 70 + "\0", ""]


def error_of(dialect: Dialect, topic: str) -> str | None:
    try:
        dialect.split_topic(topic)
    except TopicError as error:
        return str(error)
    return None


def filled(dialect: Dialect, chance: random.Random) -> SubscriptionTrie:
    trie = SubscriptionTrie(dialect)
    for filter in valid_filters(dialect, chance, 80):
        options = {"queue": chance.choice("gh")} if dialect.queue_groups and chance.random() < 0.5 else {}
        for _ in range(chance.randrange(1, 4)):
            trie.subscribe(filter, f"s{chance.randrange(9)}", qos=1, **options)
    trie.subscribe_many((filter, "s0", {"id": n}) for n, filter in enumerate(valid_filters(dialect, chance, 40)))
    return trie


def wanted_of(trie: SubscriptionTrie, rows: Sequence[tuple[int, str | None]], chosen: bool = False) -> Counter[str]:
    """The joined rows as texts, by the trie's own `entries`."""
    wanted: list[tuple[Any, ...]] = []
    for number, topic in rows:
        error = None if topic is None else error_of(trie.dialect, topic)
        if error is not None:
            wanted.append((number, topic, None, None, None, error))
        groups: dict[str, list[Any]] = {}
        for held in trie.entries(topic) if topic is not None and error is None else ():
            shared = held.filter if held.filter.startswith("$share/") else None
            group = held.options.get("queue") if trie.dialect.queue_groups else shared
            options = {name: None if value is None else str(value) for name, value in held.options.items()}
            row = (number, topic, held.filter, held.subscriber, sorted(options.items()), None)
            if chosen and group is not None and (shared is None or trie.dialect.share_prefix is not None):
                groups.setdefault(group, []).append(row)
            else:
                wanted.append(row)
        for group, members in groups.items():
            members.sort(key=lambda row: (row[3].encode(), row[2].encode()))
            wanted.append(members[place_of(str(number), group, len(members))])
    trie.check()
    return Counter(map(repr, wanted))


def text_of(row: Any) -> str:
    number, topic, filter, subscriber, options, error = row
    return repr((number, topic, filter, subscriber, None if options is None else sorted(options.items()), error))


class TestMatches:
    @pytest.mark.parametrize(
        ("dialect", "chosen"),
        [(AMQP, False), (MQTT, False), (MQTT, True), (NATS, True), (PATHS, False)],
        ids=["AMQP", "MQTT", "MQTT, one of each group", "NATS, one of each group", "paths"],
    )
    def test_are_those_of_the_trie(self, spark: SparkSession, dialect: Dialect, chosen: bool) -> None:
        from pyspark.sql import functions as F

        chance = random.Random(f"{dialect.name} {chosen}")
        trie = filled(dialect, chance)
        rows = list(enumerate([*topics_of(dialect, chance, 120), *long_ones(dialect), None]))
        frame = spark.createDataFrame(rows, "id int, topic string").repartition(3)
        groups: Any = F.col("id") if chosen else "all"
        joined = snapshot.match_spark(frame, trie, mode="PERMISSIVE", groups=groups)
        assert joined.columns == ["id", "topic", *held_sets.JOINED, messages.TOPIC_ERROR]
        assert Counter(map(text_of, joined.collect())) == wanted_of(trie, rows, chosen)

    def test_of_a_published_version_are_those_of_its_trie(self, spark: SparkSession, tmp_path: Path) -> None:
        chance, wanted = random.Random(5), {}
        trie, rows = filled(NATS, chance), list(enumerate(topics_of(NATS, chance, 60)))
        frame = spark.createDataFrame(rows, "id int, topic string")
        with snapshot.Publisher(trie, tmp_path) as publisher:
            wanted[publisher.publish()] = wanted_of(trie, rows)
            for _ in range(2):
                for filter in valid_filters(NATS, chance, 20):
                    trie.subscribe(filter, f"s{chance.randrange(5)}", qos=7)
                    trie.unsubscribe(filter, f"s{chance.randrange(5)}")
                wanted[publisher.publish()] = wanted_of(trie, rows)
        for version in (1, 3):
            joined = snapshot.match_spark(frame, str(tmp_path), mode="PERMISSIVE", at=version)
            assert Counter(map(text_of, joined.collect())) == wanted[version], version

    def test_drop_bad_topics_or_fail_at_them_or_keep_what_is_no_text(self, spark: SparkSession) -> None:
        trie = trie_of(("#", "alice"))
        frame = spark.createDataFrame([("a",), ("b.\0",), (None,)], "topic string")
        no_text = spark.sql("select cast(X'61ff' as string) as topic union all select 'a'")
        dropped = snapshot.match_spark(frame, trie, mode="DROPMALFORMED")
        assert [tuple(row)[:2] for row in dropped.collect()] == [("a", "#")]
        assert dropped.columns == ["topic", *held_sets.JOINED]
        with pytest.raises(Exception, match=r"TopicError: forbidden character '\\x00' at character 2 of 'b\.\\x00'"):
            snapshot.match_spark(frame, trie).collect()
        kept = snapshot.match_spark(no_text, trie, mode="PERMISSIVE").drop("topic")
        errors = {row["filter"]: row[messages.TOPIC_ERROR] for row in kept.collect()}
        assert errors["#"] is None
        assert errors[None].startswith("not UTF-8 at character 0")

    def test_know_all_options_alike_many_quoted_null_or_none(self, spark: SparkSession) -> None:
        trie = trie_of(("a", "none"), ("a", "null", {"no_local": None}), ("a", "quoted", {"note": "'\\\"\n\x00é"}))
        trie.subscribe_many(("a", f"s{number}", {"id": number}) for number in range(option_numbers.MOST + 20))
        rows = snapshot.match_spark(spark.sql("select 0 as id, 'a' as topic"), trie, mode="PERMISSIVE")
        assert Counter(map(text_of, rows.collect())) == wanted_of(trie, [(0, "a")])

    def test_compute_topics_and_compare_them_byte_by_byte(self, spark: SparkSession) -> None:
        from pyspark.sql import functions as F

        trie = trie_of(("1.b", "alice"), ("a", "bob"))
        frame = spark.createDataFrame([(1, "b"), (2, "b")], "n int, rest string")
        topic = F.concat_ws(".", F.col("n").cast("string"), "rest")
        collated = spark.sql("select topic collate UTF8_LCASE as topic from (select explode(array('A', 'a')) as topic)")
        joined = snapshot.match_spark(frame, trie, topic)
        assert joined.columns == ["n", "rest", *held_sets.JOINED]
        assert [tuple(row)[:3] for row in joined.collect()] == [(1, "b", "1.b")]
        assert [row.topic for row in snapshot.match_spark(collated, trie).collect()] == ["a"]

    def test_know_exclusions(self, spark: SparkSession, tmp_path: Path) -> None:
        trie = SubscriptionTrie(MQTT)
        trie.subscribe_many([("a/#", n, {"but": (f"a/{n}/#", "a/x")}) for n in range(3)])
        trie.subscribe("$share/g/a/+", 4, but=("a/1",), qos=1)
        trie.subscribe("b/#", 5)
        topics = ["a/0", "a/1/b", "a/x", "a", "b/c"]
        frame = spark.createDataFrame([(topic,) for topic in topics], "topic string")
        expected = Counter((topic, one.filter, str(one.subscriber)) for topic in topics for one in trie.entries(topic))
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
            trie.subscribe("a/#", 0)
            trie.subscribe("a/#", 0, but=("a/0/#", "a/x"))
            publisher.publish()
        for source in (trie, tmp_path):
            found = snapshot.match_spark(frame, source, "topic").collect()  # type: ignore[arg-type]
            assert Counter((row["topic"], row["filter"], row["subscriber"]) for row in found) == expected


class TestMessages:
    def frame(self, spark: SparkSession, *rows: Any, columns: Any = "topic string") -> DataFrame:
        return spark.createDataFrame(list(rows), columns)

    def test_keep_their_columns_whatever_these_are_called(self, spark: SparkSession) -> None:
        at = datetime.datetime(2026, 1, 2, 3, 4, 5, 678)
        schema = (
            "`my.topic` string, at timestamp, body binary, `x``y` array<string>, "
            "`ä.*` struct<x:int,y:map<string,double>>, `` int, c0 int"
        )
        given = self.frame(spark, ("a.b", at, b"\0\1", ["x", None], (1, {"k": 0.5}), 1, 2), columns=schema)
        joined = snapshot.match_spark(given, trie_of(("a.*", "alice")), topic="MY.topic")
        assert joined.columns == [*given.columns, *held_sets.JOINED]
        assert joined.drop(*held_sets.JOINED).schema == given.schema
        assert joined.drop(*held_sets.JOINED).collect() == given.collect()

    def test_meet_the_set_as_it_was_when_it_was_called_or_nobody(self, spark: SparkSession) -> None:
        joined = snapshot.match_spark(self.frame(spark, ("a",), (None,)), trie := trie_of(("a", "alice")))
        trie.unsubscribe("a", "alice")
        assert [[row.subscriber for row in joined.collect()] for _ in range(2)] == [["alice"]] * 2
        for rows, source in (([("a",)], trie), ([], trie_of(("#", "alice")))):
            nobody = snapshot.match_spark(self.frame(spark, *rows), source)
            assert (nobody.columns, nobody.count()) == (["topic", *held_sets.JOINED], 0)

    def test_are_matched_with_a_set_that_is_sent_once_and_given_back(self, spark: SparkSession) -> None:
        """What Spark keeps of a set in files: no more than frames that are held need, and the last one."""
        context, frame, trie = cast("Any", spark.sparkContext), self.frame(spark, ("a",)), trie_of(("a", 0))
        before, held = set(Path(context._temp_dir).iterdir()), snapshot.match_spark(frame, trie)
        for number in range(1, 6):
            trie.subscribe("a", number)
            assert snapshot.match_spark(frame, trie).count() == number + 1
            assert sets.TrieSet(trie, None).sent(spark) is sets.TrieSet(trie, None).sent(spark)
        until(
            lambda: (gc.collect(), context._jvm.System.gc(), len({*Path(context._temp_dir).iterdir()} - before))[2] == 2
        )
        assert held.count() == 1

    def test_are_told_apart_by_case_where_spark_does(self, spark: SparkSession, request: pytest.FixtureRequest) -> None:
        spark.conf.set("spark.sql.caseSensitive", "TRUE")
        request.addfinalizer(lambda: spark.conf.unset("spark.sql.caseSensitive"))
        given = self.frame(spark, ("a", "b", "c"), columns="topic string, Topic string, Filter string")
        joined = snapshot.match_spark(given, trie_of(("b", "alice")), topic="Topic").collect()
        assert [*map(tuple, joined)] == [("a", "b", "c", "b", "alice", {})]
        with pytest.raises(ValueError, match="have no column 'TOPIC'"):
            snapshot.match_spark(given, trie_of(("b", "alice")), topic="TOPIC")

    @pytest.mark.parametrize(
        ("schema", "arguments", "error", "says"),
        [
            ("subject string", {}, ValueError, r"have no column 'topic', only \['subject'\]"),
            ("topic int", {}, ValueError, r"column 'topic' of the messages must hold strings, not IntegerType"),
            ("topic string, Filter string", {}, ValueError, r"twice, rename them: \['Filter'\]"),
            ("topic string, id int, id int", {}, ValueError, r"twice, rename them: \['id', 'id'\]"),
            ("topic string, id int, Id int", {}, ValueError, r"twice, rename them: \['id', 'Id'\]"),
            ("topic string, Topic int", {}, ValueError, r"twice, rename them: \['topic', 'Topic'\]"),
            ("topic string", {"mode": "permissive"}, ValueError, "mode must be one of FAILFAST, PERMISSIVE, DROPMALF"),
            (
                "topic string",
                {"groups": "one"},
                ValueError,
                r'groups must be "all" or a column, such as F.col\(.one.\)',
            ),
            ("topic string", {"groups": 1}, TypeError, "groups must be the name of a column or a Column, not int"),
            ("topic string", {"topic": 3}, TypeError, "topic must be the name of a column or a Column, not int"),
            ("topic string", {"at": 3}, ValueError, "at= is for published directories"),
            ("topic string", {"storage": {"region": "x"}}, ValueError, "storage= is for published directories"),
            ("topic string", {"messages_df": [("a",)]}, TypeError, "messages must be a Spark DataFrame, not list"),
            ("topic string", {"source": {}}, TypeError, r"the source must be a SubscriptionTrie, a .* not dict"),
            ("topic string", {"source": "/nowhere"}, FileNotFoundError, "nothing was published there"),
            ("topic string", {"source": trie_of(("a", 7), ("a", "7"))}, ValueError, "both have the key '7'"),
        ],
    )
    def test_of_another_shape_are_refused(
        self, spark: SparkSession, schema: str, arguments: Any, error: type[Exception], says: str
    ) -> None:
        given = {"messages_df": self.frame(spark, columns=schema), "source": trie_of(("#", "alice"))} | arguments
        with pytest.raises(error, match=says):
            snapshot.match_spark(**given)


@pytest.mark.once
class TestTopicMatches:
    """The function in SQL."""

    def test_has_no_answer_where_there_is_no_topic(self, spark: SparkSession) -> None:
        snapshot.register(spark)
        row = spark.sql(
            "select topic_matches('a', null), topic_matches(null, 'a'), topic_matches('#', 'a\0'), "
            "topic_matches('a.*', 'a.b'), topic_matches(topic => 'a/b', filter => '+/b', dialect => 'MQTT')"
        ).first()
        assert list(row or ()) == [None, None, None, True, True]
        with pytest.raises(Exception, match="knows the dialects AMQP, MQTT, NATS, not STOMP"):
            spark.sql("select topic_matches('a', 'a', 'STOMP')").collect()


@pytest.mark.parametrize("dialect", [MQTT, NATS], ids=name)
def test_each_message_is_matched_with_the_set_of_its_time(
    spark: SparkSession, tmp_path: Path, dialect: Dialect
) -> None:
    """The same as if each were matched with the trie that is restored as of its time."""
    trie, publisher = snapshot.take_over(tmp_path, dialect)
    for step in range(8):
        trie.subscribe_many((dialect.join(["a", f"{n}"]), f"s{step % 3}", {"n": step}) for n in range(step % 4, 5))
        trie.unsubscribe(dialect.join(["a", f"{step % 5}"]), f"s{step % 2}")
        publisher.publish()
    versions = snapshot.versions(tmp_path)
    times = [one.time + datetime.timedelta(microseconds=n) for one in versions for n in (0, 1)]
    sent = [(dialect.join(["a", f"{number % 5}"]), time) for number, time in enumerate(times * 5)]
    frame = spark.createDataFrame([*sent, (sent[0][0], None)], "topic string, _2 timestamp").coalesce(1)
    found = snapshot.match_spark(frame, tmp_path, frame["topic"], as_of="_2").selectExpr(
        "topic", "unix_micros(_2)", "subscriber", "options['n']"
    )
    wanted = [
        (topic, round(time.timestamp() * 1e6), one.subscriber, str(one.options["n"]))
        for topic, time in sent
        for one in snapshot.restore(tmp_path, time).entries(topic)
    ]
    assert sorted(map(tuple, found.collect())) == sorted(wanted)
    for source, more in ((trie, {}), (tmp_path, {"at": 1})):
        with pytest.raises(ValueError, match="as_of= "):
            snapshot.match_spark(frame, source, as_of="_2", **more)  # type: ignore[call-overload, arg-type]
