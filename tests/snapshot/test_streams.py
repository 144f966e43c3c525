"""Streams: messages matched with a published set, each batch with one version, and a published set as a stream."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import snapshot
from snapshot import streaming
from snapshot.published.store import store_of
from subtrie import SubscriptionTrie
from tests.snapshot.support import go_back, run_stream, trie_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def trie() -> Iterator[SubscriptionTrie]:
    trie = trie_of(("a.#", "alice", {"qos": 1}))
    yield trie
    trie.check()


@pytest.fixture
def publisher(trie: SubscriptionTrie, tmp_path: Path) -> Iterator[snapshot.Publisher]:
    with snapshot.Publisher(trie, tmp_path / "published") as publisher:
        publisher.publish()
        yield publisher


def put(folder: Path, number: int, *topics: str) -> None:
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"id": number * 10 + n, "topic": topic}) for n, topic in enumerate(topics)]
    (folder / f".{number:03}").write_text("\n".join(lines))
    (folder / f".{number:03}").rename(folder / f"{number:03}.json")


class TestMatchStream:
    def test_matches_each_batch_with_the_version_that_was_newest(
        self, spark: SparkSession, trie: SubscriptionTrie, publisher: snapshot.Publisher, tmp_path: Path
    ) -> None:
        put(tmp_path / "messages", 0, "a.b", "c")
        messages = spark.readStream.schema("id int, topic string").json(str(tmp_path / "messages"))
        run_stream(snapshot.match_stream(messages, tmp_path / "published"), tmp_path)
        trie.subscribe("c", "bob")
        trie.unsubscribe("a.#", "alice")
        second = publisher.publish()
        put(tmp_path / "messages", 1, "a.b", "c")
        matched = snapshot.match_stream(messages, tmp_path / "published")
        assert matched.columns == ["id", "topic", "filter", "subscriber", "options", "version"]
        run_stream(matched, tmp_path)
        rows = spark.read.parquet(str(tmp_path / "out")).orderBy("id").collect()
        assert [(row.id, row.filter, row.subscriber, row.version) for row in rows] == [
            (0, "a.#", "alice", second - 1),
            (11, "c", "bob", second),
        ]

    def test_matches_a_frame_that_is_no_stream_and_leaves_no_record(
        self, spark: SparkSession, publisher: snapshot.Publisher, tmp_path: Path
    ) -> None:
        matched = snapshot.match_stream(spark.createDataFrame([("a.b",)], "topic string"), tmp_path / "published")
        for _ in range(2):
            assert [(row.filter, row.version) for row in matched.collect()] == [("a.#", publisher.version)]
        assert list((tmp_path / "published" / "_matched").iterdir()) == []
        with pytest.raises(ValueError, match="two columns 'version'"):
            messages = spark.createDataFrame([("a", 1)], "topic string, Version int")
            snapshot.match_stream(messages, tmp_path / "published")

    @pytest.mark.slow("starts Spark three times, and kills it in between")
    @pytest.mark.once
    def test_loses_nothing_and_repeats_nothing_when_the_driver_is_killed(
        self, trie: SubscriptionTrie, publisher: snapshot.Publisher, tmp_path: Path
    ) -> None:
        seed = random.randrange(10**6)
        print(f"seed {seed}")
        chance = random.Random(seed)
        versions, wanted = {1: trie.snapshot()}, Counter[Any]()
        topics: dict[int, list[str]] = {}
        for kill in [True, False]:
            for _ in range(4):
                topics[len(topics)] = [chance.choice(["a.b", "c", "b.c", "x\0"]) for _ in range(5)]
                put(tmp_path / "messages", len(topics) - 1, *topics[len(topics) - 1])
            trie.subscribe(chance.choice(["#", "c", "b.*"]), f"s{len(topics)}")
            versions[publisher.publish()] = trie.snapshot()
            drive(tmp_path, chance.randrange(1, 4) if kill else None)
        rows = committed(tmp_path)
        version_of = {row["id"] // 10: row["version"] for row in rows}
        for batch, number, topic in (
            (batch, n, topic) for batch, some in topics.items() for n, topic in enumerate(some)
        ):
            if topic == "x\0":
                wanted[batch * 10 + number, None, None, False] += 1
            elif batch in version_of:
                for held in versions[version_of[batch]].entries(topic):
                    wanted[batch * 10 + number, held.filter, held.subscriber, True] += 1
        found = Counter((row["id"], row["filter"], row["subscriber"], row["_topic_error"] is None) for row in rows)
        assert found == wanted
        assert len({(row["id"] // 10, row["version"]) for row in rows}) == len(version_of), "one version a batch"
        assert len(set(version_of.values())) > 1


def drive(folder: Path, batches: int | None) -> None:
    """Run the driver to its end, or kill it when `batches` batches have got a version since it started."""
    records = folder / "published" / "_matched"
    begun = len(list(records.glob("*.json")))
    with (folder / "errors").open("w+") as errors:
        driver = subprocess.Popen(
            [sys.executable, "-m", "tests.snapshot.stream_driver", str(folder)],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            while driver.poll() is None and (batches is None or len(list(records.glob("*.json"))) < begun + batches):
                time.sleep(0.02)
            assert batches is not None or driver.returncode == 0, (folder / "errors").read_text()
        finally:
            if driver.poll() is None:
                os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()


def committed(folder: Path) -> list[dict[str, Any]]:
    """The rows of the files in the sink's own log, which are those that Spark reads."""
    log = folder / "matched" / "_spark_metadata"
    rows: list[dict[str, Any]] = []
    for entry in sorted(log.glob("[0-9]*")):
        for line in entry.read_text().splitlines()[1:]:
            path = json.loads(line)["path"].removeprefix("file://")
            rows += pq.ParquetFile(path).read().to_pylist()
    return rows


class TestRecord:
    """Which version a micro-batch was matched with, and is matched with whenever it is repeated."""

    @pytest.fixture
    def record(self, tmp_path: Path) -> Any:
        record = store_of(tmp_path / "record")
        record.prepare(("",))
        return record

    def test_names_one_version_however_often_it_is_asked(
        self, trie: SubscriptionTrie, publisher: snapshot.Publisher, tmp_path: Path, record: Any
    ) -> None:
        where = str(tmp_path / "published")
        first = streaming.recorded(where, record, "q", 0)
        trie.subscribe("b", "bob")
        second = publisher.publish()
        assert streaming.recorded(where, record, "q", 0) == first
        for task in (("q", 1), ("other", 0), ("q", streaming.KEPT_RECORDS)):
            assert streaming.recorded(where, record, *task).version == second
        assert sorted(record.names("")) == ["other.0.json", "q.1.json", f"q.{streaming.KEPT_RECORDS}.json"]

    @pytest.mark.parametrize("newer", [1, 2, 3])
    def test_refuses_a_directory_that_went_back(
        self, trie: SubscriptionTrie, publisher: snapshot.Publisher, tmp_path: Path, record: Any, newer: int
    ) -> None:
        """Whether the number of the version that was seen is there again or not."""
        where = tmp_path / "published"
        go_back(where, trie, publisher, newer, lambda: streaming.recorded(str(where), record, "q", 0))
        for batch in (0, 1):
            with pytest.raises((snapshot.HistoryError, snapshot.NotPublishedError)):
                streaming.recorded(str(where), record, "q", batch)
        streaming.recorded(str(where), record, "anew", 0)

    @pytest.mark.parametrize(
        ("content", "error", "says"),
        [
            ('{"version": 99, "directory": "x"}', LookupError, r"matched with version 99 .* keep more versions"),
            ('{"version": 1, "directory": "x"}', ValueError, "is of another published directory"),
            ("no", ValueError, "is not the record of a micro-batch"),
        ],
    )
    def test_that_is_of_something_else_is_refused(
        self,
        publisher: snapshot.Publisher,
        tmp_path: Path,
        record: Any,
        content: str,
        error: type[Exception],
        says: str,
    ) -> None:
        (tmp_path / "record" / "q.0.json").write_text(content)
        with pytest.raises(error, match=says):
            streaming.recorded(str(tmp_path / "published"), record, "q", 0)


class TestStreamOfChanges:
    def test_begins_with_the_whole_set_and_goes_on_with_each_version_once(
        self, spark: SparkSession, trie: SubscriptionTrie, publisher: snapshot.Publisher, tmp_path: Path
    ) -> None:
        """And stops with an error when the directory has gone back."""
        snapshot.register(spark)
        options, where = {"readChangeFeed": "true", "maxVersionsPerTrigger": "1"}, tmp_path / "published"
        changes = spark.readStream.format("subscriptions").options(**options).load(str(where))
        trie.subscribe("b", "bob")
        publisher.publish()
        assert run_stream(changes, tmp_path) == 1
        publisher = snapshot.Publisher(trie, where)  # this claim takes number 3
        for number in range(3):
            trie.subscribe("c", f"s{number}")
            publisher.publish()
        assert run_stream(changes, tmp_path) == 3
        rows = spark.read.parquet(str(tmp_path / "out")).collect()
        found = sorted((row._commit_version, row.subscriber, row._change_type) for row in rows)
        newer = [(4 + number, f"s{number}", "insert") for number in range(3)]
        assert found == [(2, "alice", "insert"), (2, "bob", "insert"), *newer]
        go_back(where, trie, publisher, 1, lambda: run_stream(changes, tmp_path))
        with pytest.raises(Exception, match="does not continue the history in which version 8 was seen"):
            run_stream(changes, tmp_path)
