"""Object stores: S3's interface on a server of this machine, with its faults, the number of its requests, and its URIs.

What is published is the same as in a directory: test_published_machine and test_published_steps ask both.
"""

from __future__ import annotations

import _thread
import contextlib
import functools
import json
import os
import random
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import snapshot
from snapshot import sets
from snapshot.published import at_once, claim, open_directory
from snapshot.published.manifest import manifest_name
from snapshot.published.objects import ObjectStore
from subtrie import SubscriptionTrie
from tests.snapshot.faulty_server import BUCKET, Server
from tests.snapshot.support import go_on, held_by, published, trie_of
from tests.threads import run_together

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.once]

NO_RETRIES = {"retry_config": {"max_retries": 0}, "client_options": {"allow_http": True}}
NOWHERE = "http://127.0.0.1:1"
"""Where no server is."""
MANIFEST = "_versions/00000000000000000001.json"


@pytest.fixture
def there(request: pytest.FixtureRequest) -> str:
    """A place in the bucket where nothing is."""
    return f"s3://{BUCKET}/{request.node.name.partition('[')[0]}{time.monotonic_ns()}"


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_few_round_trips_are_made(server: Server, there: str, scheme: str) -> None:
    """One to find nothing new, three to publish (feed, manifest, whether this is still the directory), two to follow
    (what tells how many versions there are, beside the next one's manifest; its feed), and two for up to 16 more."""
    where, storage = server.place(scheme, there.rpartition("/")[2])
    trie, publisher = published(where, 1, storage=storage)
    follower = snapshot.follow(where, storage=storage)

    def require(call: Callable[[], int], *trips: int) -> None:
        """Require that a call makes so many requests at a time."""
        before = server.requests(*trips)
        assert call() == publisher.version
        assert server.requests() - before == sum(trips)

    require(publisher.publish, 1)
    require(follower.poll, 2, 1)  # it has not listed yet what it has read
    require(follower.poll, 2)
    for number in range(3):
        trie.subscribe("a", f"s{number}")
        require(publisher.publish, 1, 1, 1)
        require(follower.poll, 2, 1)
        require(follower.poll, 2)
    go_on(trie, publisher, 4)
    require(follower.poll, 2, 1, 3, 3)
    assert held_by(follower.trie) == held_by(trie)
    directory, feed = follower._directory, snapshot.versions(where, storage=storage)[-1].feed
    require(lambda: snapshot.versions(where, storage=storage)[-1].version, 1, 8, 1)  # all at once
    directory.store.ahead[feed.path] = b"x"  # type: ignore[union-attr]  # of a poll that failed
    # A worker of Spark finds the newest version by three, reads seven manifests and a listing, and each file once.
    require(lambda: sets._built(directory, directory.version_at()).end, *[1] * (3 + 8 + 8))
    assert snapshot.take_over(where, keep=1, storage=storage)[0] == trie
    with pytest.raises(snapshot.FencedError):
        publisher.publish()


def test_another_directory_in_its_place_is_noticed(server: Server, there: str) -> None:
    """Though its manifest has the same number, and had been listed."""
    _, publisher = published(there, 1, storage=server.good)
    published(f"{there}x", 1, storage=server.good)
    follower = snapshot.follow(there, storage=server.good)
    assert follower.poll() == follower.poll() == publisher.publish() == publisher.publish() == 1
    store, elsewhere = (ObjectStore(where, server.good) for where in (there, f"{there}x"))
    store.remove(MANIFEST)
    store.create(MANIFEST, elsewhere.read(MANIFEST), "")
    for call in (follower.poll, publisher.publish):
        with pytest.raises(snapshot.HistoryError):
            call()
    assert follower.trie.match("a.0") == ("s0",)


REFUSED: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("s3://nowhere/x", {}, OSError, "NoSuchBucket|no such bucket|list"),
    ("s3://bucket/x", {"endpoint": NOWHERE}, OSError, "error sending request|HTTP error"),
    ("s3://bucket/x", {"nonsense": "1"}, ValueError, "nonsense"),
    ("foo://bucket/x", {}, ValueError, "obstore has no such store"),
    ("gs://bucket/x", {"service_account_key": "{}"}, ValueError, "missing field `private_key`"),
    ("gs://bucket/x", {"service_account": "/nowhere.json"}, ValueError, "No such file or directory"),
    ("gs://bucket/x", {"skip_signature": True, "base_url": NOWHERE}, OSError, "GCS error.*sending request"),
    ("az://box/x", {}, ValueError, "Account must be specified"),
    ("az://box/x", {"account_name": "a", "access_key": "not base64"}, ValueError, "Invalid Access Key"),
    ("az://box/x", {"account_name": "a", "access_key": "a2V5", "endpoint": NOWHERE}, OSError, "Azure error.*"),
]


@pytest.mark.parametrize(("uri", "storage", "error", "says"), REFUSED)
def test_what_cannot_be_had_is_said_in_a_sentence(
    server: Server, uri: str, storage: dict[str, Any], error: type[Exception], says: str
) -> None:
    given = {**(server.good if uri.startswith("s3") else {}), **NO_RETRIES, **storage}
    for call in (snapshot.take_over, *((snapshot.restore, snapshot.follow) if "bucket" in uri[:8] else ())):
        with pytest.raises(error, match=says) as raised:
            call(uri, storage=given)
        assert "\n" not in str(raised.value)


def test_a_child_of_fork_is_told_that_it_cannot_ask(server: Server, there: str) -> None:
    published(there, 1, storage=server.good)
    follower = snapshot.follow(there, storage=server.good)
    for ask in (follower.poll, lambda: snapshot.restore(there, storage=server.good)):
        if (child := os.fork()) == 0:
            signal.alarm(30)
            try:
                ask()
            except RuntimeError as error:
                os._exit("child of fork" in str(error))
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert follower.poll() == 1


def test_calls_have_ended_when_the_exception_of_a_handler_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it comes between the starts of two threads."""
    made: list[int] = []
    begin: Any = _thread.start_new_thread
    monkeypatch.setattr(_thread, "start_new_thread", lambda *call: begin(*call) and 1 / 0)
    with pytest.raises(ZeroDivisionError):
        at_once.at_once(*[lambda: made.append(1)] * 3)
    assert made == [1] * 3


class TestTakeOver:
    @pytest.mark.parametrize("seen", [0, 1])
    def test_needs_no_listing_that_shows_all(
        self, server: Server, there: str, monkeypatch: pytest.MonkeyPatch, seen: int
    ) -> None:
        """They lack what was created since, or all; that costs nothing but time."""
        listed = ObjectStore.listed
        monkeypatch.setattr(ObjectStore, "listed", lambda store, name: listed(store, name)[:seen])
        trie, publisher = published(there, storage=server.good)
        assert publisher.version == 3
        monkeypatch.undo()
        assert held_by(snapshot.restore(there, storage=server.good)) == held_by(trie)
        # Nor one that shows its own claim.
        directory, names = open_directory(there, server.good), ObjectStore.names
        monkeypatch.setattr(ObjectStore, "names", lambda of, folder: {*names(of, folder)} - {f"{4:020}.json"})
        taken = claim.claimed(directory, directory.store, SubscriptionTrie().dialect, lambda newest: None)
        assert [*taken.present] == [1, 2, 3, taken.claim.version] == [1, 2, 3, 4]

    @pytest.mark.parametrize("ahead", [0, 40])
    def test_of_a_busy_publisher_comes_to_an_end(
        self, server: Server, there: str, monkeypatch: pytest.MonkeyPatch, ahead: int
    ) -> None:
        """It publishes a version whenever the newcomer has made three requests, or one more: it is as quick, and never
        pauses. Or it has published forty more versions while the newcomer read what was there."""
        busy, publisher = published(there, 1, storage=server.good)
        made, due, creates, chance, needed = 0, 3, 0, random.Random(0), claim._attempt_to_write

        def slowly(*which: Any) -> Any:
            found = needed(*which)
            go_on(busy, publisher, ahead)
            return found

        def counted(name: str) -> None:
            original = getattr(ObjectStore, name)

            def call(store: ObjectStore, *arguments: Any) -> Any:
                nonlocal made, due, creates
                if store is not publisher._writer._store:
                    made, creates = made + 1, creates + (name == "create")
                    if made >= due and not ahead:
                        due += chance.choice((3, 4))
                        busy.subscribe("a", "s", n=made)
                        with contextlib.suppress(snapshot.FencedError):
                            publisher.publish()
                    assert made < 300
                return original(store, *arguments)

            monkeypatch.setattr(ObjectStore, name, call)

        monkeypatch.setattr(claim, "_attempt_to_write", slowly)
        for name in ("read", "names", "listed", "create"):
            counted(name)
        trie, _ = snapshot.take_over(there, storage=server.good)
        monkeypatch.undo()
        assert held_by(trie) == held_by(snapshot.restore(there, storage=server.good))
        assert not ahead or creates < 10


class TestFaults:
    def test_a_manifest_that_arrives_when_its_number_is_free_again_is_no_version(
        self, server: Server, there: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its publisher was killed, and the next one has used the number and removed what had it."""
        published(there, 1, storage=server.good)
        trie, killed = snapshot.take_over(there, storage=server.good)
        with snapshot.follow(there, storage=server.good) as follower, monkeypatch.context() as patch:
            follower.poll()
            newer, publisher = snapshot.take_over(there, keep=1, storage=server.good)
            trie.subscribe("late", "ann")
            patch.setattr(ObjectStore, "create", None)
            with pytest.raises(TypeError):
                killed.publish()
        late, directory = vars(killed._writer)["_attempt"], open_directory(there, server.good)
        while publisher.version is None or directory.get(late.version.version) is not None:
            go_on(newer, publisher, 1)
        directory.store.create(manifest_name(late.version.version), late.text, "")
        assert follower.poll() == publisher.version == snapshot.versions(there, storage=server.good)[-1].version
        assert held_by(follower.trie) == held_by(newer)

    @pytest.mark.parametrize(("seed", "scheme"), [(0, "s3"), (1, "s3"), (2, "gs"), (3, "az")])
    def test_of_two_at_once_one_creates(self, server: Server, there: str, seed: int, scheme: str) -> None:
        won: list[int] = []
        where, storage = server.place(scheme, there.rpartition("/")[2])

        def create(number: int) -> None:
            store = ObjectStore(where, storage | NO_RETRIES)
            while True:
                try:
                    store.create("x", b"%d" % number, "")
                    won.append(number)
                except FileExistsError:
                    return
                except OSError:
                    continue
                return

        server.fail(seed, 0.4)
        run_together([lambda number=number: create(number) for number in range(8)])
        server.fail(0, 0)
        assert won == [int(ObjectStore(there, server.good).read("x"))]

    def test_what_conflicts_with_a_request_that_fails_is_tried_again(self, server: Server, there: str) -> None:
        store = ObjectStore(there, server.faulty | NO_RETRIES)
        server.fail(4, 0.5, "conflict", "twice")
        for number in range(20):
            store.create(f"{number}", b"x", "")
            store.attempt(f"trial{number}")
        server.fail(0, 0)
        assert len(store.names("")) == 20
        published(f"{there}x", 2, storage=server.good)
        server.fail(4, 1, "conflict")
        with pytest.raises(OSError, match="performing PUT"):
            snapshot.compact(f"{there}x", storage=server.faulty | NO_RETRIES)
        server.fail(0, 0)


class TestArrowsUris:
    """Those that pyarrow takes name files and published directories; Spark's users write `s3a://`."""

    @pytest.fixture
    def uri(self, server: Server, there: str) -> Callable[[str], str]:
        own = f"endpoint_override={server.good['endpoint']}&region=us-east-1"
        return lambda name: f"{there.replace('//', '//key:secret@')}/{name}?{own}"

    def test_of_files(self, uri: Callable[[str], str]) -> None:
        trie, path = trie_of(*((f"a.{n}.*", n % 7, {"qos": n % 3}) for n in range(200))), uri("set.parquet")
        with pytest.raises(FileNotFoundError, match=r"set\.parquet"):
            snapshot.load(path)
        for source in (SubscriptionTrie(), trie):
            snapshot.write(source, path)
        with pytest.raises(TypeError, match="what"):
            snapshot.write(trie_of(("a", "alice", {"what": object()})), uri("none.parquet"))
        for scheme in ("s3", "s3a", "s3n"):
            assert snapshot.load(path.replace("s3://", f"{scheme}://")) == trie
        assert len(snapshot.load(uri(""))) == 200, "the folder has nothing else"

    def test_messages_show_no_keys(self, uri: Callable[[str], str], caplog: pytest.LogCaptureFixture) -> None:
        trie, publisher = published(uri("published"))
        trie.subscribe("a", object())
        publisher.publish()
        snapshot.take_over(uri("published"))
        calls: list[Callable[[], object]] = [
            publisher.publish,
            lambda: snapshot.restore(uri("none")),
            lambda: snapshot.restore(uri("published"), 7),
            lambda: snapshot.load(uri("published")),
            lambda: snapshot.load(uri("none")),
            lambda: snapshot.load(uri("none").replace("s3://", "s4://")),
            lambda: snapshot.restore(uri("none").replace("s3://", "s4://")),
        ]
        for call in calls:
            with pytest.raises((OSError, ValueError, snapshot.FencedError, snapshot.NotPublishedError)) as raised:
                call()
            assert "secret@" not in "".join(traceback.format_exception(raised.value))
        assert "secret" not in caplog.text
        assert "set aside" in caplog.text

    @pytest.mark.parametrize("by", ["uri", "storage"])
    def test_in_spark(
        self,
        server: Server,
        spark: SparkSession,
        uri: Callable[[str], str],
        tmp_path: Path,
        capfd: pytest.CaptureFixture[str],
        by: str,
    ) -> None:
        """Its tasks know the URI, and what was given on the driver, which no plan and no message shows."""
        functions = pytest.importorskip("pyspark.sql.functions")
        storage = None if by == "uri" else server.good | {"secret_access_key": "hidden"}
        where = uri("x").replace("s3://", "s3a://")
        if storage is not None:
            where = where.partition("?")[0].replace("key:secret@", "")
        published(where, 2, storage=storage)
        snapshot.register(spark)
        asked = {} if storage is None else {"storage": json.dumps(storage)}
        messages = spark.createDataFrame([("a.9",), ("a.1",)], "topic string")
        source, reader = functools.partial(snapshot.match_spark, messages, where, storage=storage), spark.read
        frames = [source(), source(as_of=functions.expr("timestamp '2100-01-01'"))]
        frames.append(snapshot.match_stream(messages, where, record=tmp_path, storage=storage))
        for frame in frames:
            assert [row.topic for row in frame.collect()] == ["a.1"]
        changes = reader.format("subscriptions").options(readChangeFeed="true", startingVersion="1", **asked)
        frames.append(changes.load(where))
        frames.append(snapshot.overlaps(where, spark, storage=storage))
        frames.append(snapshot.read(spark, where, storage=storage))
        assert [frame.count() for frame in frames[-3:]] == [2, 0, 2]
        frames.append(snapshot.growth(where, spark, storage=storage))
        assert [row.added for row in frames[-1].collect()] == [1, 1]
        for frame in frames:
            frame.explain(True)
        with pytest.raises(ValueError, match="say with record="):
            snapshot.match_stream(messages, where, storage=storage)
        with pytest.raises(Exception, match="storage must be") as raised:
            reader.format("subscriptions").option("storage", "hidden").load(where).count()
        assert "hidden" not in str(raised.value) + "".join(capfd.readouterr())
