"""Object stores: files written to and read from S3, and published directories that were copied there."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import snapshot
from snapshot.published import DamagedError, NotPublishedError
from subtrie import MQTT, SubscriptionTrie

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.once


def pyarrow_fs() -> Any:
    return importlib.import_module("pyarrow.fs")


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The URI of a bucket of a server on this machine."""
    server_of = pytest.importorskip("moto.server", reason="needs moto, of the extra `s3-server`").ThreadedMotoServer
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_of(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    own = f"endpoint_override=http://{host}:{port}&region=us-east-1&allow_bucket_creation=true"
    uri = f"s3://key:secret@bucket?{own}"
    files, path = pyarrow_fs().FileSystem.from_uri(uri)
    files.create_dir(path)
    try:
        yield uri
    finally:
        server.stop()


@pytest.fixture
def uri(bucket: str, request: pytest.FixtureRequest) -> str:
    """A URI where nothing exists yet."""
    return inside(bucket, request.node.name.partition("[")[0])


def inside(uri: str, name: str) -> str:
    before, _, behind = uri.partition("?")
    return f"{before}/{name}?{behind}"


def listed(uri: str) -> list[str]:
    """The files below a URI."""
    fs = pyarrow_fs()
    files, path = fs.FileSystem.from_uri(uri)
    found = files.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    return sorted(each.path.removeprefix(f"{path}/") for each in found if each.type == fs.FileType.File)


def copy(where: Path, uri: str) -> None:
    """Copy a published directory, the manifests last."""
    files, path = pyarrow_fs().FileSystem.from_uri(uri)
    names = [str(each.relative_to(where)) for each in where.rglob("*") if each.is_file()]
    for name in sorted(names, key=lambda name: (name.startswith("_versions"), name)):
        with files.open_output_stream(f"{path}/{name}") as stream:
            stream.write((where / name).read_bytes())


def held_by(trie: SubscriptionTrie) -> set[tuple[str, Any, str]]:
    return {(held.filter, held.subscriber, repr(dict(held.options))) for held in trie.subscriptions()}


def filled(count: int = 200) -> SubscriptionTrie:
    trie = SubscriptionTrie(MQTT)
    trie.subscribe_many((f"a/{n}/+", n % 7, {"qos": n % 3}) for n in range(count))
    return trie


class TestFiles:
    def test_come_back_as_they_were_written(self, uri: str) -> None:
        trie, path = filled(), inside(uri, "set.parquet")
        snapshot.write(SubscriptionTrie(), path)
        snapshot.write(trie, path)
        assert held_by(snapshot.load(path)) == held_by(trie)
        assert listed(uri) == ["set.parquet"]

    def test_are_read_in_batches_and_from_a_folder(self, uri: str) -> None:
        import pyarrow.parquet as pq

        trie = filled()
        files, path = pyarrow_fs().FileSystem.from_uri(uri)
        table = snapshot.to_arrow(trie)
        for number, start in enumerate(range(0, len(table), 90)):
            pq.write_table(table[start : start + 90], f"{path}/part-{number}.parquet", filesystem=files)
        loaded = snapshot.load(uri)
        assert {name for name, _, _ in held_by(loaded)} == {name for name, _, _ in held_by(trie)}
        assert len(loaded) == len(trie)

    def test_that_are_not_there_are_named(self, uri: str) -> None:
        with pytest.raises(FileNotFoundError, match=r"nothing\.parquet"):
            snapshot.load(inside(uri, "nothing.parquet"))

    def test_of_a_write_that_fails_are_not_there(self, uri: str) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "alice", what=object())
        with pytest.raises(TypeError, match="what"):
            snapshot.write(trie, inside(uri, "set.parquet"))
        assert listed(uri) == []


class TestS3a:
    """Spark's users write `s3a://`."""

    def test_is_s3(self, uri: str, tmp_path: Path) -> None:
        trie = filled()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
            copy(tmp_path, uri)
            for scheme in ("s3a", "s3n"):
                other = uri.replace("s3://", f"{scheme}://")
                assert held_by(snapshot.restore(other)) == held_by(trie)
                assert snapshot.load(inside(other, snapshot.versions(other)[0].full.path)) == trie  # type: ignore[union-attr]


class TestPublished:
    def test_is_read_where_it_was_copied_to(self, uri: str, tmp_path: Path) -> None:
        trie = filled()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            first = publisher.publish()
            before = held_by(trie)
            copy(tmp_path, uri)
            with snapshot.follow(uri) as follower:
                assert held_by(follower.trie) == before
                trie.subscribe("b/#", 1, qos=2)
                trie.unsubscribe("a/0/+", 0)
                second = publisher.publish()
                assert follower.poll() == first
                copy(tmp_path, uri)
                assert follower.poll() == second
                assert held_by(follower.trie) == held_by(trie)
        assert [each.version for each in snapshot.versions(uri)] == [first, second]
        assert held_by(snapshot.restore(uri)) == held_by(trie)
        assert held_by(snapshot.restore(uri, at=first)) == before
        with pytest.raises(NotPublishedError, match="there is no version 9"):
            snapshot.restore(uri, at=9)

    def test_lacks_what_was_not_copied(self, uri: str, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="nothing was published there"):
            snapshot.restore(uri)
        with snapshot.Publisher(filled(), tmp_path) as publisher:
            publisher.publish()
        (full,) = (tmp_path / "full").iterdir()
        full.unlink()
        copy(tmp_path, uri)
        with pytest.raises(DamagedError, match=rf"/full/{full.name}.* is missing, which version 1 of s3://"):
            snapshot.restore(uri)

    def test_is_read_and_matched_with_by_spark(self, spark: SparkSession, uri: str, tmp_path: Path) -> None:
        trie = filled()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
            trie.subscribe("b/#", 1, qos=2)
            trie.unsubscribe("a/0/+", 0)
            publisher.publish()
        copy(tmp_path, uri)
        snapshot.register(spark)
        rows = spark.read.format("subscriptions").load(uri).select("filter", "subscriber").collect()
        assert {tuple(row) for row in rows} == {(filter, str(who)) for filter, who, _ in held_by(trie)}
        messages = spark.createDataFrame([("a/0/x",), ("a/3/x",), ("b/c",)], "topic string")
        for plan in ("trie", "join"):
            matched = snapshot.match_spark(messages, uri, plan=plan).select("topic", "filter").collect()
            assert {tuple(row) for row in matched} == {("a/3/x", "a/3/+"), ("b/c", "b/#")}, plan
        grown = [(row.version, row.subscriptions, row.added) for row in snapshot.growth(uri, spark).collect()]
        assert grown == [(1, 200, 0), (2, 200, 1)]
        with pytest.raises(ValueError, match="say with record="):
            snapshot.match_stream(messages, uri)
