"""The options of the data source: each is honoured or refused by each reader, whatever its text is."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from subtrie import SubscriptionTrie

pytest.importorskip("pyspark.sql.datasource", reason="Spark 3.5 has no Python data sources")

from pyspark.sql.types import IntegerType, StringType, StructType  # noqa: E402

from snapshot.source import Subscriptions  # noqa: E402
from snapshot.source.changes import HAS_LIMITS  # noqa: E402
from snapshot.source.options import TABLE, Options, Reader  # noqa: E402

GOOD = {
    "path": "x",
    "versionAsOf": "2",
    "timestampAsOf": "2026-11-24T12:00:00Z",
    "readChangeFeed": "true",
    "startingVersion": "1",
    "endingVersion": "3",
    "maxVersionsPerTrigger": "1",
}
HONOURED = {
    Reader.INSTANT: {"path", "versionAsOf", "timestampAsOf"},
    Reader.CHANGES: {"path", "readChangeFeed", "startingVersion", "endingVersion"},
    Reader.STREAM: {"path", "readChangeFeed", "startingVersion", "endingVersion", "maxVersionsPerTrigger"},
}
NEEDED = {
    Reader.INSTANT: {"path"},
    Reader.CHANGES: {"path", "readChangeFeed", "startingVersion"},
    Reader.STREAM: {"path", "readChangeFeed"},
}


def read(reader: Reader, options: dict[str, str], schema: StructType | None = None) -> Any:
    source = Subscriptions(options)
    schema = schema or StructType()
    return source.streamReader(schema) if reader is Reader.STREAM else source.reader(schema)


def every_case() -> list[tuple[Reader, frozenset[str]]]:
    names = list(TABLE)
    chosen = (frozenset(some) for size in range(len(names) + 1) for some in itertools.combinations(names, size))
    return [
        (reader, some) for some in chosen for reader in Reader if ("readChangeFeed" in some) or reader.name != "CHANGES"
    ]


def test_every_set_of_options_is_honoured_or_refused_by_every_reader() -> None:
    wrong = []
    for reader, names in every_case():
        if reader is Reader.INSTANT and "readChangeFeed" in names:
            continue  # that is the reader of changes
        excluded = {"versionAsOf", "timestampAsOf"} <= names
        right = NEEDED[reader] <= names <= HONOURED[reader] and not excluded
        right = right and (HAS_LIMITS or "maxVersionsPerTrigger" not in names)
        try:
            read(reader, {name: GOOD[name] for name in names})
        except (ValueError, NotImplementedError):
            if right:
                wrong.append((reader, sorted(names), "refused"))
        else:
            if not right:
                wrong.append((reader, sorted(names), "accepted"))
    assert wrong == []


@pytest.mark.parametrize("name", [name for name in TABLE if "ersion" in name])
@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", " 1", "1_0", "+1", "٣", "²", "new", "9" * 19, "1" + "0" * 30])
def test_a_number_is_one_or_more_and_fits_in_64_bits(name: str, text: str) -> None:
    reader = next(reader for reader in Reader if reader in TABLE[name].readers)
    options = {each: GOOD[each] for each in NEEDED[reader]} | {name: text}
    with pytest.raises(ValueError, match=rf"{name} must be (the|a) number of"):
        Options(options)


@given(st.text(max_size=6) | st.text("0123456789", max_size=25) | st.sampled_from(["true", "FALSE", "1_0", "-0"]))
def test_a_text_is_taken_as_what_it_says_or_refused(text: str) -> None:
    taken = {}
    for name in ("versionAsOf", "readChangeFeed"):
        with contextlib.suppress(ValueError):
            options = Options({name: text})
            taken[name] = options.at if name == "versionAsOf" else options.changes
    right: dict[str, Any] = {}
    if text and set(text) <= set("0123456789") and len(text) < 20 and 0 < int(text) < 2**63:
        right["versionAsOf"] = int(text)
    if text.lower() in ("true", "false"):
        right["readChangeFeed"] = text.lower() == "true"
    assert taken == right


@pytest.mark.parametrize("text", ["now", "2026-11-24T12:00:00", "2026-11-24", "", "7"])
def test_a_time_has_a_zone(text: str) -> None:
    with pytest.raises(ValueError, match=r"timestampAsOf must be a time in ISO's format, such as .* zone"):
        Options({"path": "x", "timestampAsOf": text})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"startingVersion": "1"},
            'startingVersion is an option of the changes .* set option."readChangeFeed", "true"',
        ),
        ({"readChangeFeed": "true", "versionAsOf": "1"}, "versionAsOf is an option of the set of one version, not of"),
        ({"readChangeFeed": "true", "startingVersion": "3", "endingVersion": "2"}, "3 comes after endingVersion 2"),
        ({"foo": "1"}, "has no option 'foo'; it has path, versionAsOf, timestampAsOf, readChangeFeed"),
        ({"location": "/x"}, "has no option 'location'"),
    ],
)
def test_a_refusal_says_what_to_do(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Options({"path": "x"} | options)


def test_columns_that_are_not_there_are_refused() -> None:
    schema = StructType().add("filter", StringType()).add("depth", IntegerType())
    read(Reader.INSTANT, {"path": "x"}, schema)
    for bad in (schema.add("foo", StringType()), StructType().add("depth", StringType())):
        with pytest.raises(ValueError, match=r"has no column (foo|depth) string, but filter string, words array"):
            read(Reader.INSTANT, {"path": "x"}, bad)


class TestStream:
    """What a stream reads, asked like Spark asks it."""

    @pytest.fixture
    def where(self, tmp_path: Path) -> Path:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            for number in range(5):
                trie.subscribe(f"a.{number}", "s")
                publisher.publish()
        return tmp_path

    def versions(self, where: Path, **options: str) -> list[int]:
        """The versions that a stream reads, batch by batch."""
        stream: Any = Subscriptions({"path": str(where), "readChangeFeed": "true"} | options).streamReader(
            Subscriptions({"readChangeFeed": "true"}).schema()
        )
        limit = stream.getDefaultReadLimit() if HAS_LIMITS else None
        found: list[int] = []
        at = stream.initialOffset()
        for _ in range(20):
            until = stream.latestOffset(at, limit)
            if until == at:
                return found
            for part in stream.partitions(at, until):
                found += [row for batch in stream.read(part) for row in batch.column("_commit_version").to_pylist()]
            at = until
        raise AssertionError("the stream does not end")

    def test_begins_with_the_whole_set_or_the_changes_of_a_version(self, where: Path) -> None:
        assert self.versions(where) == [5] * 5
        assert self.versions(where, startingVersion="1") == [1, 2, 3, 4, 5]
        assert self.versions(where, startingVersion="5") == [5]
        assert self.versions(where, startingVersion="6") == []

    def test_ends_with_a_version(self, where: Path) -> None:
        assert self.versions(where, startingVersion="2", endingVersion="3") == [2, 3]
        assert self.versions(where, endingVersion="3") == [3] * 3
        assert self.versions(where, startingVersion="4", endingVersion="9") == [4, 5]

    def test_refuses_to_begin_with_a_version_that_is_not_there(self, where: Path) -> None:
        with pytest.raises(snapshot.NotPublishedError, match="there is no version 7"):
            self.versions(where, startingVersion="7")

    @pytest.mark.skipif(not HAS_LIMITS, reason="from Spark 4.2 on")
    def test_has_batches_of_so_many_versions(self, where: Path) -> None:
        assert self.versions(where, startingVersion="1", maxVersionsPerTrigger="2") == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("write", ["writer", "streamWriter"])
def test_writing_is_refused(write: str) -> None:
    with pytest.raises(NotImplementedError, match=r"are read by Spark and not written.*snapshot.Publisher"):
        getattr(Subscriptions({"path": "x"}), write)(StructType(), True)
