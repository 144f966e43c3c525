"""What Spark reads of a published directory: sets, and changes as batches and streams.

The readers are asked here as Spark asks them, mostly without a session.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import random
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import snapshot
from snapshot import parquet
from subtrie import MQTT, NATS, Dialect
from tests.snapshot.support import filled, go_back, published, trie_of
from tests.snapshot.values import earlier, held

pytest.importorskip("pyspark.sql.datasource", reason="Spark 3.5 has no Python data sources")

from pyspark.sql.types import LongType, StringType, StructType  # noqa: E402

from snapshot import instants as parted  # noqa: E402
from snapshot.build import Building  # noqa: E402
from snapshot.file_metadata import FileMetadata  # noqa: E402
from snapshot.published import open_directory  # noqa: E402
from snapshot.source import Subscriptions  # noqa: E402
from snapshot.source.changes import HAS_LIMITS  # noqa: E402
from snapshot.source.options import TABLE, Options  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[tuple[str, str, list[tuple[str, str]]]]


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("published")


@pytest.fixture(scope="module")
def instants(where: Path) -> Iterator[dict[int, Rows]]:
    """Versions with everything that can happen to a subscription, including queue groups. Files have many row groups,
    which are read in several parts."""
    trie = trie_of(*((f"a.{n}.>", f"s{n % 7}", {"qos": n % 3}) for n in range(300)), dialect=NATS)
    instants = {}
    with pytest.MonkeyPatch.context() as patch, snapshot.Publisher(trie, where) as publisher:
        patch.setattr(parquet, "BATCH_ROWS", 10)
        for step in range(4):
            trie.subscribe(f"new.{step}", "carol", qos=step)
            trie.subscribe("new.*", "carol", queue="g", qos=step)
            trie.unsubscribe(f"a.{step}.>", f"s{step % 7}")
            trie.unsubscribe("new.*", "carol") if step % 2 else trie.subscribe("new.*", "carol")
            instants[publisher.publish()] = sorted(
                (held.filter, held.subscriber, sorted((name, str(value)) for name, value in held.options.items()))
                for held in trie.subscriptions()
            )
        yield instants
    trie.check()


class TestInSpark:
    @pytest.mark.once
    @pytest.mark.parametrize("dialect", [MQTT, NATS], ids=lambda dialect: dialect.name)
    def test_a_set_is_what_restore_rebuilds(
        self, spark: SparkSession, tmp_path: Path, instants: dict[int, Rows], dialect: Dialect
    ) -> None:
        """With values of many types, groups and exclusions; also of files of an earlier version."""
        with zipfile.ZipFile(Path(__file__).parents[1] / "data" / "published-3.zip") as packed:
            packed.extractall(tmp_path)
        trie, publisher = snapshot.take_over(tmp_path / "new", dialect)
        with publisher:
            earlier(trie, publisher.publish)
            trie.subscribe(dialect.join(["a", dialect.one_word]), "s", but=[dialect.join(["a", "b"])])
            trie.subscribe(dialect.join(["$share", "g", "a"]), "s")
            publisher.publish()
        for where, at in itertools.product((tmp_path / dialect.name, tmp_path / "new"), (None, 3)):
            version = open_directory(where).version_at(at)
            frame = snapshot.read(spark, where, at)
            assert frame.where("filter = 'a1'").selectExpr("options['n']").count() == 1
            rows = frame.toArrow()
            assert {(row["snapshot_id"], row["taken_at"]) for row in rows.to_pylist()} == {
                (version.snapshot_id, version.time)
            }
            built = Building(FileMetadata(dialect, bool(version.integers), 0), own=True)
            for batch in rows.to_batches():
                built.add(batch)
            assert held(built.finished()) == held(snapshot.restore(where, at))

    def test_errors_reach_the_user_and_stores_are_read(self, spark: SparkSession, tmp_path: Path) -> None:
        snapshot.register(spark)
        changes = spark.read.format("subscriptions").options(**FEED, startingVersion="1")
        for nothing in (lambda: snapshot.read(spark, tmp_path), lambda: changes.load(str(tmp_path)).collect()):
            with pytest.raises(Exception, match="nothing was published there"):
                nothing()
        snapshot.Publisher(filled(), tmp_path).publish()
        rows = snapshot.read(spark, tmp_path).selectExpr("filter as topic", "options['value'] as value")
        assert [tuple(row) for row in rows.where("topic = 'a/9'").collect()] == [("a/9", "x")]
        assert changes.load(str(tmp_path)).count() == len(filled())
        with pytest.raises(ValueError, match="has the topics of a store"):
            snapshot.match_spark(spark.createDataFrame([("a",)], "topic string"), str(tmp_path))


def row_of(row: dict[str, Any]) -> tuple[str, str, list[tuple[str, str]]]:
    return row["filter"], row["subscriber"], sorted(row["options"])


def in_order(tables: Iterable[Any]) -> list[dict[str, Any]]:
    rows = [row for table in tables for row in table.to_pylist()]
    return sorted(rows, key=lambda row: (*row_of(row), repr(row)))


def read_set(where: Path, at: Any = None) -> list[dict[str, Any]]:
    """What tasks read of a set."""
    directory = open_directory(where)
    parts, _ = parted.parts_of(directory, directory.version_at(at))
    return in_order(rows for part in parts for rows in parted.rows_of(directory.store, part))


def read(where: Path, **options: str) -> list[dict[str, Any]]:
    """What tasks read of changes: without the driver, without its JVM."""
    source = Subscriptions({"path": str(where), **FEED, **options})
    reader: Any = source.reader(source.schema())
    return in_order(batch for part in reader.partitions() for batch in reader.read(part))


def test_changes_lead_from_one_version_to_another(where: Path, instants: dict[int, Rows]) -> None:
    rows, state = read(where, startingVersion="1", endingVersion="3"), Counter[str]()
    assert Counter(row["_commit_version"] for row in rows)[1] == len(instants[1])
    for version in (1, 2, 3):
        for row in (row for row in rows if row["_commit_version"] == version):
            state[repr(row_of(row))] += -1 if row["_change_type"] in ("delete", "update_preimage") else 1
        assert sorted(state.elements()) == sorted(map(repr, instants[version])), version


@pytest.mark.once  # what lies in files is the same on every build
def test_damage_is_named_wherever_a_bit_is_flipped(where: Path, instants: dict[int, Rows], tmp_path: Path) -> None:
    """Also in what Parquet's own checksums do not cover: the heads of pages, and the footer."""
    chance, copy = random.Random(38), tmp_path / "copy"
    asked: list[Callable[[Path], Any]] = [read_set, functools.partial(read, startingVersion="1")]
    right = [each(where) for each in asked]
    assert list(map(row_of, right[0])) == instants[4]
    files = sorted(path.relative_to(where) for path in where.rglob("*.parquet"))
    assert len(files) == len(instants)
    for name in files * 8:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(where, copy)
        content = bytearray((copy / name).read_bytes())
        place = chance.choice([chance.randrange(len(content)), -chance.randrange(1, len(content) // 3)])
        content[place] ^= 1 << chance.randrange(8)
        (copy / name).write_bytes(content)
        told: list[str] = []
        for each, rows in zip(asked, right, strict=True):
            try:
                assert each(copy) == rows
            except snapshot.DamagedError as error:
                told.append(str(error))
        assert told
        assert all(name.name in error for error in told)


# ------------------------------------------------------------------------------------------------------------- options

GOOD = {
    "path": "x",
    "storage": "{}",
    "readChangeFeed": "true",
    "startingVersion": "1",
    "endingVersion": "3",
    "maxVersionsPerTrigger": "1",
}
NEEDED = {False: {"path", "readChangeFeed", "startingVersion"}, True: {"path", "readChangeFeed"}}
"""By a batch, and by a stream."""


def asked(stream: bool, options: dict[str, str], schema: StructType | None = None) -> Any:
    source: Any = Subscriptions(options)
    return (source.streamReader if stream else source.reader)(schema or StructType())


def test_every_set_of_options_is_honoured_or_refused_by_every_reader() -> None:
    wrong = []
    every = (frozenset(some) for size in range(len(TABLE) + 1) for some in itertools.combinations(TABLE, size))
    for names, stream in itertools.product(every, (False, True)):
        right = NEEDED[stream] <= names and ((stream and HAS_LIMITS) or "maxVersionsPerTrigger" not in names)
        is_taken = False
        with contextlib.suppress(ValueError, NotImplementedError):
            asked(stream, {name: GOOD[name] for name in names})
            is_taken = True
        if is_taken is not right:
            wrong.append((stream, sorted(names), is_taken))
    assert wrong == []


@example(str(2**63))
@given(
    st.text(max_size=6) | st.text("0123456789", max_size=25) | st.sampled_from(["true", "FALSE", "1_0", "-0", "٣", "²"])
)
def test_a_text_is_taken_as_what_it_says_or_refused(text: str) -> None:
    taken = {}
    for name in ("startingVersion", "readChangeFeed"):
        with contextlib.suppress(ValueError):
            taken[name] = Options({name: text}).start
    right: dict[str, Any] = {}
    if text and set(text) <= set("0123456789") and len(text) < 20 and 0 < int(text) < 2**63:
        right["startingVersion"] = int(text)
    if text.lower() == "true":
        right["readChangeFeed"] = None
    assert taken == right


FEED, SECOND = {"readChangeFeed": "true"}, {"startingVersion": "2"}
REFUSED: list[tuple[dict[str, str], str]] = [
    ({}, r'has changes: option."readChangeFeed", "true".*snapshot\.read'),
    (SECOND, r'has changes: option."readChangeFeed", "true".*snapshot\.read'),
    (FEED | {"startingVersion": "3", "endingVersion": "2"}, "startingVersion 3 comes after endingVersion 2"),
    (FEED, "needs startingVersion"),
    (FEED | {"startingVersion": "6"}, "there is no version 6"),
    (FEED | SECOND | {"endingVersion": "9"}, "there is no version 9"),
    (FEED | SECOND | {"maxVersionsPerTrigger": "1"}, "is an option of a stream"),
    ({"startingversion": "new"}, r"startingVersion must be the number of a version \(1 or more\), not 'new'"),
    ({"versionAsOf": "1"}, "has no option 'versionAsOf'; it has path, storage, readChangeFeed, startingVersion"),
    ({"location": "/x"}, "has no option 'location'"),
    ({"readChangeFeed": "false"}, r"readChangeFeed must be true, since snapshot\.read.* reads a set, not 'false'"),
    ({"path": ""}, "needs the path of a published directory"),
]


@pytest.mark.parametrize(("options", "says"), REFUSED)
def test_a_refusal_says_what_to_do(where: Path, instants: Any, options: dict[str, str], says: str) -> None:
    given = {name: value for name, value in ({"path": str(where)} | options).items() if (name, value) != ("path", "")}
    with pytest.raises((ValueError, snapshot.NotPublishedError), match=says):
        asked(False, given).partitions()


def test_what_is_no_reader_of_these_columns_is_refused() -> None:
    schema = StructType().add("filter", StringType()).add("_commit_version", LongType())
    asked(True, {"path": "x"} | FEED, schema)
    for bad in (schema.add("foo", StringType()), StructType().add("_commit_version", StringType())):
        with pytest.raises(ValueError, match=r"has no column (foo|_commit_version) string, but filter string, subs"):
            asked(True, {"path": "x"} | FEED, bad)
    for write in ("writer", "streamWriter"):
        with pytest.raises(NotImplementedError, match=r"are read by Spark and not written.*snapshot.Publisher"):
            getattr(Subscriptions({"path": "x"}), write)(StructType(), True)


# ------------------------------------------------------------------------------------------------------------- streams


def stream_of(where: Path, **options: str) -> Any:
    """A stream of changes, as Spark makes it."""
    return Subscriptions({"path": str(where)} | FEED | options).streamReader(Subscriptions({}).schema())


@pytest.mark.parametrize(
    ("options", "versions"),
    [
        ({}, [5] * 5),  # the whole set
        ({"startingVersion": "1"}, [1, 2, 3, 4, 5]),
        ({"startingVersion": "5"}, [5]),
        ({"startingVersion": "6"}, []),
        ({"startingVersion": "2", "endingVersion": "3"}, [2, 3]),
        ({"endingVersion": "3"}, [3] * 3),
        ({"startingVersion": "4", "endingVersion": "9"}, [4, 5]),
        ({"startingVersion": "1", "maxVersionsPerTrigger": "2"}, [1, 2, 3, 4, 5]),
    ],
)
def test_a_stream_has_the_versions_it_was_asked_for(
    tmp_path: Path, options: dict[str, str], versions: list[int]
) -> None:
    published(tmp_path, 5)
    if "maxVersionsPerTrigger" in options and not HAS_LIMITS:
        pytest.skip("from Spark 4.2 on")
    stream = stream_of(tmp_path, **options)
    limit = stream.getDefaultReadLimit() if HAS_LIMITS else None
    found: list[int] = []
    at, ends = stream.initialOffset(), []
    while at not in ends:
        ends.append(at)
        at = stream.latestOffset(at, limit)
        for part in stream.partitions(ends[-1], at) if at != ends[-1] else ():
            found += [row for batch in stream.read(part) for row in batch.column("_commit_version").to_pylist()]
    assert found == versions
    with pytest.raises(snapshot.NotPublishedError, match="there is no version 7"):
        stream_of(tmp_path, startingVersion="7").initialOffset()


@pytest.mark.parametrize("newer", [0, 1, 2, 3])
def test_a_stream_sees_that_the_directory_went_back(tmp_path: Path, newer: int) -> None:
    """As a stream that goes on, and as one that runs its last batch again."""
    where, seen = tmp_path / "published", list[Any]()
    trie, publisher = published(where, 1)
    begun = json.loads(json.dumps(stream_of(where).initialOffset()))
    go_back(where, trie, publisher, newer, lambda: seen.append(stream_of(where).latestOffset()))
    end = json.loads(json.dumps(seen[0]))
    calls: list[Callable[[Any], object]] = [
        lambda stream: stream.latestOffset(end, None),
        lambda stream: stream.partitions(begun, end),
        lambda stream: stream.partitions(end, stream.latestOffset()),
    ]
    for call in calls:
        with pytest.raises(snapshot.HistoryError, match="does not continue the history in which version 3 was"):
            call(stream_of(where))
    assert stream_of(where).partitions(begun, stream_of(where).latestOffset())  # begun anew


def test_a_stream_goes_on_from_a_checkpoint_without_marks_and_over_claims(tmp_path: Path) -> None:
    trie, _ = published(tmp_path, 2)
    stream = stream_of(tmp_path)
    end = stream.latestOffset({"version": 1}, None)
    assert end["version"] == 2
    assert len(stream.partitions({"version": 1}, end)) == 1
    assert stream.latestOffset(end, None) == end
    snapshot.Publisher(trie, tmp_path)  # this claim takes number 3
    for start in "34":
        assert read(tmp_path, startingVersion=start) == []
