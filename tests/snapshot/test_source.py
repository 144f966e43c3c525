"""The data source ``subscriptions``: instants and changes of a published directory, from Spark and from SQL."""

from __future__ import annotations

import datetime
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import snapshot
from snapshot.sql import PUSHDOWN
from subtrie import NATS, SubscriptionTrie

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

Rows = list[tuple[str, str, list[tuple[str, str]]]]


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("published")


@pytest.fixture(scope="module")
def instants(where: Path) -> dict[int, Rows]:
    """Versions with everything that can happen to a subscription, including queue groups."""
    trie = SubscriptionTrie(NATS)
    trie.subscribe_many((f"a.{n}.>", f"s{n % 7}", {"qos": n % 3}) for n in range(300))
    instants = {}
    with snapshot.Publisher(trie, where) as publisher:
        for step in range(4):
            trie.subscribe(f"new.{step}", "carol", qos=step)
            trie.subscribe("new.*", "carol", queue="g", qos=step)
            trie.unsubscribe(f"a.{step}.>", f"s{step % 7}")
            trie.unsubscribe("new.*", "carol") if step % 2 else trie.subscribe("new.*", "carol")
            instants[publisher.publish()] = rows_of(trie)
    trie.check()
    return instants


def rows_of(trie: SubscriptionTrie) -> Rows:
    return sorted(
        (held.filter, held.subscriber, sorted((name, str(value)) for name, value in held.options.items()))
        for held in trie.subscriptions()
    )


def found_in(frame: DataFrame) -> Rows:
    return sorted((row.filter, row.subscriber, sorted(row.options.items())) for row in frame.collect())


@pytest.fixture
def reader(spark: SparkSession, instants: dict[int, Rows]) -> DataFrameReader:
    snapshot.register(spark)
    return spark.read.format("subscriptions")


class TestInstant:
    def test_is_that_of_the_version_or_time(
        self, reader: DataFrameReader, where: Path, instants: dict[int, Rows]
    ) -> None:
        assert found_in(reader.load(str(where))) == instants[max(instants)]
        versions = snapshot.versions(where)
        assert found_in(reader.option("versionAsOf", versions[0].version).load(str(where))) == instants[1]

    def test_is_that_of_a_time(self, reader: DataFrameReader, where: Path, instants: dict[int, Rows]) -> None:
        time = snapshot.versions(where)[2].time.isoformat()
        assert found_in(reader.option("timestampAsOf", time).load(str(where))) == instants[3]

    def test_has_the_columns_of_the_set(self, spark: SparkSession, reader: DataFrameReader, where: Path) -> None:
        names = snapshot.to_spark(SubscriptionTrie(), spark).schema
        assert reader.load(str(where)).schema.simpleString() == names.simpleString()

    def test_has_one_name_and_time_in_all_rows(
        self, reader: DataFrameReader, where: Path, instants: dict[int, Rows]
    ) -> None:
        newest = snapshot.versions(where)[-1]
        assert newest.full is None, "the rows come from several versions"
        (row,) = reader.load(str(where)).select("snapshot_id", "taken_at").distinct().collect()
        assert (row.snapshot_id, row.taken_at.astimezone(datetime.UTC)) == (newest.snapshot_id, newest.time)

    def test_is_used_from_sql(
        self, spark: SparkSession, reader: DataFrameReader, where: Path, instants: dict[int, Rows]
    ) -> None:
        spark.sql(f"create or replace temporary view held using subscriptions options (path '{where}', versionAsOf 2)")
        row = spark.sql("select count(*) from held where topic_matches(filter, 'new.0', 'NATS')").first()
        assert row is not None
        assert row[0] == sum(NATS.matches(NATS.split_filter(filter), ("new", "0")) for filter, _, _ in instants[2])
        spark.catalog.dropTempView("held")

    @pytest.mark.once
    def test_is_filtered_where_it_is_read_if_the_session_allows(
        self, spark: SparkSession, where: Path, instants: dict[int, Rows]
    ) -> None:
        spark.conf.set(PUSHDOWN, "true")
        try:
            snapshot.register(spark)
            held = spark.read.format("subscriptions").load(str(where))
            frame = held.where("filter in ('a.9.>', 'new.1', 'a.0.>') and depth <= 3 and filter like 'a.%'")
            assert found_in(frame) == [row for row in instants[4] if row[0] == "a.9.>"]
            assert found_in(held.where("subscriber = 'carol'")) == [row for row in instants[4] if row[1] == "carol"]
            time = snapshot.versions(where)[-1].time
            assert found_in(held.where(f"taken_at = timestamp'{time.isoformat()}'")) == instants[4]
        finally:
            spark.conf.unset(PUSHDOWN)
            snapshot.register(spark)

    def test_in_several_parts_holds_each_row_once(
        self, spark: SparkSession, reader: DataFrameReader, tmp_path: Path
    ) -> None:
        trie = SubscriptionTrie()
        trie.subscribe_many((f"a.{n}", "s") for n in range(70_000))
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
        frame = reader.load(str(tmp_path))
        assert frame.count() == frame.select("filter").distinct().count() == 70_000
        trie.check()


class TestChanges:
    def test_lead_from_one_version_to_another(
        self, spark: SparkSession, reader: DataFrameReader, where: Path, instants: dict[int, Rows]
    ) -> None:
        changes = reader.options(readChangeFeed="true", startingVersion="1", endingVersion="3").load(str(where))
        rows = changes.collect()
        assert Counter(row._commit_version for row in rows)[1] == len(instants[1])
        state = Counter[str]()
        for version in (1, 2, 3):
            for row in rows:
                if row._commit_version == version:
                    sign = -1 if row._change_type in ("delete", "update_preimage") else 1
                    state[repr((row.filter, row.subscriber, sorted(row.options.items())))] += sign
            assert sorted(state.elements()) == sorted(map(repr, instants[version])), version

    def test_are_none_where_a_publisher_took_over_or_nothing_is_new(
        self, reader: DataFrameReader, tmp_path: Path
    ) -> None:
        snapshot.Publisher(SubscriptionTrie(), tmp_path).publish()
        snapshot.Publisher(SubscriptionTrie(), tmp_path)  # this claim takes number 2
        for start in ("2", "3"):
            changes = reader.options(readChangeFeed="true", startingVersion=start).load(str(tmp_path))
            assert changes.collect() == []

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"startingVersion": "3", "endingVersion": "2"}, "startingVersion 3 comes after endingVersion 2"),
            ({"startingVersion": "6"}, "there is no version 6"),
            ({"startingVersion": "1", "endingVersion": "9"}, "there is no version 9"),
        ],
    )
    def test_between_no_versions_are_refused(
        self, where: Path, instants: dict[int, Rows], options: dict[str, str], message: str
    ) -> None:
        from pyspark.sql.types import StructType

        from snapshot.source import Subscriptions

        with pytest.raises((ValueError, snapshot.NotPublishedError), match=message):
            Subscriptions({"path": str(where), "readChangeFeed": "true"} | options).reader(StructType()).partitions()


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "needs the path of a published directory"),
            (
                {"path": "x", "versionAsof": "new"},
                r"versionAsOf must be the number of a version \(1 or more\), not 'new'",
            ),
            ({"path": "x", "filter": "a"}, "has no option 'filter'; it has path, versionAsOf"),
            ({"path": "x", "readChangeFeed": "yes"}, "readChangeFeed must be true or false, not 'yes'"),
            ({"path": "x", "readChangeFeed": "true"}, "needs startingVersion"),
            (
                {"path": "x", "timestampAsOf": "now"},
                "timestampAsOf must be a time in ISO's format, such as .*, not 'now'",
            ),
            ({"path": "x", "versionAsOf": "1", "timestampAsOf": "2026-01-01"}, "exclude each other"),
        ],
    )
    def test_say_what_is_wanted(self, options: dict[str, str], message: str) -> None:
        from pyspark.sql.types import StructType

        from snapshot.source import Subscriptions

        with pytest.raises(ValueError, match=message):
            Subscriptions(options).reader(StructType()).partitions()

    def test_of_a_stream_that_is_none_of_changes(self) -> None:
        from pyspark.sql.types import StructType

        from snapshot.source import Subscriptions

        with pytest.raises(ValueError, match="is one of changes"):
            Subscriptions({"path": "x"}).streamReader(StructType())

    def test_reach_the_user(self, reader: DataFrameReader, tmp_path: Path) -> None:
        with pytest.raises(Exception, match="nothing was published there"):
            reader.load(str(tmp_path)).collect()


def read(where: Path, **options: str) -> list[dict[str, object]]:
    """What tasks read, in no order: without the driver, without its JVM."""
    from snapshot.source import Subscriptions

    make: Any = Subscriptions
    source = make({"path": str(where), **options})
    reader = source.reader(source.schema())
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    return sorted(rows, key=repr)


@pytest.mark.once  # what lies in files is the same on every build
class TestDamage:
    OPTIONS: tuple[dict[str, str], ...] = ({}, {"readChangeFeed": "true", "startingVersion": "1"})

    def test_is_named_wherever_a_bit_is_flipped(self, where: Path, instants: dict[int, Rows], tmp_path: Path) -> None:
        """Also in what Parquet's own checksums do not cover: the heads of pages, and the footer."""
        chance, copy = random.Random(38), tmp_path / "copy"
        right = [read(where, **options) for options in self.OPTIONS]
        files = sorted(path.relative_to(where) for path in where.rglob("*.parquet"))
        assert len(files) == len(instants)
        for name in files:
            for _ in range(25):
                shutil.copytree(where, copy)
                content = bytearray((copy / name).read_bytes())
                place = chance.choice([chance.randrange(len(content)), -chance.randrange(1, len(content) // 3)])
                content[place] ^= 1 << chance.randrange(8)
                (copy / name).write_bytes(content)
                told: list[str] = []
                for options, rows in zip(self.OPTIONS, right, strict=True):
                    try:
                        assert read(copy, **options) == rows
                    except snapshot.DamagedError as error:
                        told.append(str(error))
                assert told
                assert all(name.name in each for each in told)
                shutil.rmtree(copy)
