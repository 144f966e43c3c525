"""Published directories in an object store: S3's interface, on a server of this machine that has faults."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot.published import claim, open_directory
from snapshot.published.objects import ObjectStore
from subtrie import SubscriptionTrie, TopicStore
from tests.snapshot.contest import Contest, Counts, Place, contend
from tests.snapshot.faulty_server import AUTHORIZATION, BUCKET
from tests.snapshot.support import ROOT, held_by, running
from tests.threads import run_together

SERVER = os.environ.get("S3_SERVER", sys.executable)
"""The interpreter that runs the server, if this one has no moto."""

if SERVER == sys.executable:
    pytest.importorskip("moto", reason="needs moto, of the extra `s3-server`")
pytest.importorskip("obstore", reason="needs the extra `s3`")
pytestmark = [pytest.mark.once]

NO_RETRIES, SOME_RETRIES = ({"retry_config": {"max_retries": retries}} for retries in (0, 4))

NOWHERE = "http://127.0.0.1:1"
"""Where no server is."""

SHARE = float(os.environ.get("STRESS_PUBLISHING", "0.01"))
"""Which part of the whole is done: 1,000 kills and 200 take-overs, half of them where two versions are kept."""

KILLS, TAKE_OVERS = (max(4, round(SHARE * whole)) for whole in (500, 100))
KILLS_EACH = 50
"""Kills for one directory, since all its versions are compared in the end."""


class Server:
    """The server, and the storage options that lead to it: past its faults, or through them."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self.program = program
        assert program.stdout is not None
        ports = program.stdout.readline().split()
        self.good, self.faulty = (self.storage(port) for port in ports)

    def storage(self, port: str) -> dict[str, Any]:
        keys = {"access_key_id": "key", "secret_access_key": "secret", "region": "us-east-1"}
        return {**keys, "endpoint": f"http://127.0.0.1:{port}"}

    def uri(self, name: str, *, faulty: bool = True) -> str:
        """The same as a URI that says all."""
        storage = self.faulty if faulty else self.good
        return f"s3://{BUCKET}/{name}?" + "&".join(f"{key}={value}" for key, value in storage.items())

    def fail(self, seed: int, share: float, *kinds: str) -> int:
        """Fail so many of the requests. Returns how many have failed until now."""
        return self._set(seed, share, *kinds)[0]

    def requests(self) -> int:
        """How many requests came through the faults, of which there are none from now on."""
        return self._set(0, 0)[1]

    def _set(self, *line: object) -> list[int]:
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        print(*line, sep=",", file=self.program.stdin, flush=True)
        return list(map(int, self.program.stdout.readline().split()))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    command = [SERVER, "-m", "tests.snapshot.faulty_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as program:
        yield Server(program)
        program.kill()


@pytest.fixture(scope="module")
def publishers() -> Iterator[subprocess.Popen[str]]:
    with running("contending_publishers") as publishers:
        yield publishers


@pytest.fixture
def where(request: pytest.FixtureRequest) -> str:
    return f"s3://{BUCKET}/{request.node.name.partition('[')[0]}{time.monotonic_ns()}"


class TestWithoutFaults:
    def test_is_published_restored_followed_and_taken_over(self, server: Server, where: str) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a.*", "ann", qos=1)
        with snapshot.Publisher(trie, where, storage=server.good, keep=2) as publisher:
            assert publisher.publish() == 1
            assert publisher.publish() == 1
            follower = snapshot.follow(where, storage=server.good)
            for number in range(40):
                trie.subscribe("b", f"s{number % 3}", n=number)
                publisher.publish()
                if number % 7 == 0:
                    assert follower.poll() == publisher.version
            assert follower.poll() == follower.poll() == 41
            assert held_by(follower.trie) == held_by(trie) == held_by(snapshot.restore(where, storage=server.good))
        kept = snapshot.versions(where, storage=server.good)
        assert [version.version for version in kept] == [40, 41]
        assert len(ObjectStore(where, server.good).names("full")) <= 2
        other, successor = snapshot.take_over(where, storage=server.good)
        assert held_by(other) == held_by(trie)
        other.subscribe("c", "carol")
        assert successor.publish() == 43
        snapshot.Publisher(trie.fork(), where, storage=server.good)
        other.subscribe("lost", "s")
        with pytest.raises(snapshot.FencedError, match="has taken over"):
            successor.publish()

    def test_costs_few_requests(self, server: Server, where: str) -> None:
        """One to find nothing new, three to publish (feed, manifest, whether this is still the directory), and to follow
        one for each manifest and feed, and the one that tells how many there are."""
        trie = SubscriptionTrie()

        def requests(call: Callable[[], int]) -> int:
            before = server.requests()
            assert call() == publisher.version
            return server.requests() - before

        with snapshot.Publisher(trie, where, storage=server.faulty) as publisher:
            publisher.publish()
            with snapshot.follow(where, storage=server.faulty) as follower:
                assert requests(publisher.publish) == 1
                assert requests(follower.poll) == 2  # it has not listed yet what it has read
                assert requests(follower.poll) == 1
                for number in range(3):
                    trie.subscribe("a", f"s{number}")
                    assert requests(publisher.publish) == 3
                    assert requests(follower.poll) == 3
                    assert requests(follower.poll) == 1
                for number in range(3):
                    trie.subscribe("b", f"s{number}")
                    publisher.publish()
                assert requests(follower.poll) == 1 + 2 * 3
                assert held_by(follower.trie) == held_by(trie)

    def test_a_listing_shows_another_manifest_of_the_same_number(self, server: Server, where: str) -> None:
        store, elsewhere = ObjectStore(where, server.good), ObjectStore(f"{where}x", server.good)
        trie = SubscriptionTrie()
        snapshot.Publisher(trie, f"{where}x", storage=server.good).publish()
        with snapshot.Publisher(trie, where, storage=server.good) as publisher:
            publisher.publish()
            follower = snapshot.follow(where, storage=server.good)
            assert follower.poll() == follower.poll() == publisher.publish() == publisher.publish() == 1
            name = "_versions/00000000000000000001.json"
            store.remove(name)
            store.create(name, elsewhere.read(name), "")
            for call in (follower.poll, publisher.publish):
                with pytest.raises(snapshot.HistoryError):
                    call()

    def test_has_stores_and_times(self, server: Server, where: str) -> None:
        topics = TopicStore[int](SubscriptionTrie().dialect)
        with snapshot.Publisher(topics, where, storage=server.good) as publisher:
            topics["a"] = 1
            publisher.publish()
        at = open_directory(where, server.good).version_at().time
        assert snapshot.restore(where, at, kind=TopicStore, storage=server.good)["a"] == 1

    def test_is_another_directory(self, server: Server, where: str) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "ann")
        with snapshot.Publisher(trie, where, storage=server.good) as publisher:
            publisher.publish()
        follower = snapshot.follow(where, storage=server.good)
        store = ObjectStore(where, server.good)
        for folder in ("_versions", "full"):
            for name in store.names(folder):
                store.remove(f"{folder}/{name}")
        with pytest.raises(snapshot.HistoryError, match="nothing is published there"):
            follower.poll()
        assert follower.trie.match("a") == ("ann",)

    @pytest.mark.parametrize(
        ("uri", "options", "error", "says"),
        [
            ("s3://nowhere/x", {}, OSError, "NoSuchBucket|no such bucket|list"),
            ("s3://bucket/x", {"endpoint": NOWHERE}, OSError, "error sending request|HTTP error"),
            ("s3://bucket/x", {"nonsense": "1"}, ValueError, "nonsense"),
            ("foo://bucket/x", {}, ValueError, "obstore has no such store"),
        ],
    )
    def test_that_cannot_be_had_is_an_error_before_anything_is_claimed(
        self, server: Server, uri: str, options: dict[str, Any], error: type[Exception], says: str
    ) -> None:
        storage = {**server.good, "retry_config": {"max_retries": 0}, **options}
        with pytest.raises(error, match=says):
            snapshot.take_over(uri, storage=storage)

    @pytest.mark.parametrize(
        ("uri", "storage", "error", "says"),
        [
            ("gs://bucket/x", {"service_account_key": "{}"}, ValueError, "missing field `private_key`"),
            ("gs://bucket/x", {"service_account": "/nowhere.json"}, ValueError, "No such file or directory"),
            ("gs://bucket/x", {"skip_signature": True, "base_url": NOWHERE}, OSError, "GCS error.*sending request"),
            ("az://box/x", {}, ValueError, "Account must be specified"),
            ("az://box/x", {"account_name": "a", "access_key": "not base64"}, ValueError, "Invalid Access Key"),
            ("az://box/x", {"account_name": "a", "access_key": "a2V5", "endpoint": NOWHERE}, OSError, "Azure error.*"),
        ],
    )
    def test_of_other_clouds_says_in_a_sentence_what_it_lacks(
        self, uri: str, storage: dict[str, Any], error: type[Exception], says: str
    ) -> None:
        given = {**NO_RETRIES, "client_options": {"allow_http": True}, **storage}
        for call in (snapshot.take_over, snapshot.restore, snapshot.follow):
            with pytest.raises(error, match=says) as raised:
                call(uri, storage=given)
            assert "\n" not in str(raised.value)

    def test_in_a_child_of_fork_is_an_error(self, server: Server, where: str) -> None:
        with snapshot.Publisher(SubscriptionTrie(), where, storage=server.good) as publisher:
            publisher.publish()
        follower = snapshot.follow(where, storage=server.good)
        for ask in (follower.poll, lambda: snapshot.restore(where, storage=server.good)):
            if (child := os.fork()) == 0:
                signal.alarm(30)
                try:
                    ask()
                except RuntimeError as error:
                    os._exit("child of fork" in str(error))
                os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        assert follower.poll() == 1

    def test_of_a_path_takes_no_storage(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="is for object stores"):
            snapshot.take_over(tmp_path, storage={"region": "x"})

    def test_a_manifest_under_a_number_that_was_removed_is_not_acknowledged(self, server: Server, where: str) -> None:
        """A publisher sleeps before its commit, and its successors' retention makes the number free meanwhile."""
        trie = SubscriptionTrie()
        sleeper = snapshot.Publisher(trie, where, storage=server.good)
        sleeper.publish()
        create = sleeper._writer._store.create

        def slept(*arguments: Any) -> None:
            other, successor = snapshot.take_over(where, storage=server.good, keep=1)
            for number in range(60):
                other.subscribe("a", f"s{number % 3}", n=number)
                successor.publish()
            create(*arguments)

        sleeper._writer._store.create = slept  # type: ignore[method-assign,assignment]
        trie.subscribe("never", "s")
        with pytest.raises(snapshot.FencedError):
            sleeper.publish()
        assert len(snapshot.restore(where, storage=server.good)) == 3
        assert open_directory(where, server.good).get(2) is None

    @pytest.mark.parametrize("is_removed", [True, False])
    def test_a_claim_under_a_number_that_was_taken_is_none(
        self, server: Server, where: str, monkeypatch: pytest.MonkeyPatch, is_removed: bool
    ) -> None:
        """A newcomer sleeps before its claim, and others take that number, and remove it, at once or a moment later."""
        with snapshot.Publisher(SubscriptionTrie(), where, storage=server.good) as publisher:
            publisher.publish()
        create = ObjectStore.create

        def slept(*arguments: Any) -> None:
            monkeypatch.setattr(ObjectStore, "create", create)
            trie, other = snapshot.take_over(where, storage=server.good, keep=1)
            if not is_removed:
                with pytest.raises(FileExistsError) as taken:
                    create(*arguments)
            for number in range(60):
                trie.subscribe("a", f"s{number % 3}", n=number)
                other.publish()
            assert open_directory(where, server.good).get(2) is None
            if not is_removed:
                raise taken.value
            create(*arguments)

        monkeypatch.setattr(ObjectStore, "create", slept)
        trie, publisher = snapshot.take_over(where, storage=server.good)
        assert len(trie) == 3
        trie.subscribe("mine", "s")
        publisher.publish()
        assert held_by(snapshot.restore(where, storage=server.good)) == held_by(trie)

    @pytest.mark.parametrize("seen", [0, 1])
    def test_listings_that_lag_cost_nothing_but_time(
        self, server: Server, where: str, monkeypatch: pytest.MonkeyPatch, seen: int
    ) -> None:
        """They lack what was created since, or all."""
        trie = SubscriptionTrie()
        listed = ObjectStore.listed
        monkeypatch.setattr(ObjectStore, "listed", lambda store, name: listed(store, name)[:seen])
        with snapshot.Publisher(trie, where, storage=server.good) as publisher:
            for number in range(3):
                trie.subscribe("a", f"s{number}")
                assert publisher.publish() == number + 1
        monkeypatch.undo()
        assert held_by(snapshot.restore(where, storage=server.good)) == held_by(trie)

    def test_a_busy_publisher_is_taken_over(self, server: Server, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """It publishes a version whenever the newcomer has made three requests, or one more: it is as quick, and never
        pauses."""
        busy = SubscriptionTrie()
        publisher = snapshot.Publisher(busy, where, storage=server.good)
        publisher.publish()
        made, due, chance = 0, 3, random.Random(0)

        def counted(name: str) -> None:
            original = getattr(ObjectStore, name)

            def call(store: ObjectStore, *arguments: Any) -> Any:
                nonlocal made, due
                if store is not publisher._writer._store:
                    made += 1
                    if made == due:
                        due += chance.choice((3, 4))
                        busy.subscribe("a", "s", n=made)
                        with contextlib.suppress(snapshot.FencedError):
                            publisher.publish()
                    assert made < 200
                return original(store, *arguments)

            monkeypatch.setattr(ObjectStore, name, call)

        for name in ("read", "names", "listed", "create"):
            counted(name)
        trie, _ = snapshot.take_over(where, storage=server.good)
        monkeypatch.undo()
        assert held_by(trie) == held_by(snapshot.restore(where, storage=server.good))
        assert publisher.error is not None

    def test_a_publisher_that_is_far_ahead_is_taken_over(
        self, server: Server, where: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Many versions come while the newcomer reads those that are kept: it does not go through them one by one."""
        busy, creates = SubscriptionTrie(), 0
        publisher = snapshot.Publisher(busy, where, storage=server.good)
        every, create = claim._all, ObjectStore.create

        def slowly(directory: Any, known: Any) -> Any:
            found = every(directory, known)
            for number in range(0 if known else 40):
                busy.subscribe("a", "s", n=number)
                publisher.publish()
            return found

        def counted(store: ObjectStore, *arguments: Any) -> None:
            nonlocal creates
            creates += store is not publisher._writer._store
            create(store, *arguments)

        monkeypatch.setattr(claim, "_all", slowly)
        monkeypatch.setattr(ObjectStore, "create", counted)
        trie, _ = snapshot.take_over(where, storage=server.good)
        monkeypatch.undo()
        assert held_by(trie) == held_by(snapshot.restore(where, storage=server.good))
        assert creates < 10

    @pytest.mark.parametrize("shown", ["less", "more"])
    def test_a_claim_is_the_last_of_what_it_found(
        self, server: Server, where: str, monkeypatch: pytest.MonkeyPatch, shown: str
    ) -> None:
        """After the claim a listing may not show it yet, or show that of the next publisher, too."""
        with snapshot.Publisher(SubscriptionTrie(), where, storage=server.good) as publisher:
            publisher.publish()
        directory = open_directory(where, server.good)
        every, calls = claim._all, itertools.count()

        def listed(of: Any, known: Any) -> Any:
            if next(calls) == 0:
                return every(of, known)
            if shown == "less":
                return known
            monkeypatch.setattr(claim, "_all", every)
            snapshot.take_over(where, storage=server.good)
            return every(of, known)

        monkeypatch.setattr(claim, "_all", listed)
        taken = claim.claimed(directory, directory.store, SubscriptionTrie().dialect, lambda newest: None)
        assert taken.present[-1] == taken.claim
        assert next(calls) == 2

    def test_what_successors_follow_stays(self, server: Server, where: str) -> None:
        """A publisher sleeps after its commit, and its successors remove the version before, but need this one."""
        trie = SubscriptionTrie()
        trie.subscribe_many(("a", number) for number in range(2000))
        sleeper = snapshot.Publisher(trie, where, storage=server.good)
        sleeper.publish()
        create = sleeper._writer._store.create

        def slept(*arguments: Any) -> None:
            create(*arguments)
            successor = snapshot.take_over(where, storage=server.good, keep=1)[1]
            successor._trie.subscribe("b", "s")
            successor.publish()
            assert open_directory(where, server.good).get(1) is None

        sleeper._writer._store.create = slept  # type: ignore[method-assign,assignment]
        trie.clear()
        assert sleeper.publish() == 2
        assert len(snapshot.restore(where, storage=server.good)) == 1


class TestWithFaults:
    def test_what_is_late_is_the_request_that_came(self, server: Server, where: str) -> None:
        """Also if its connection has gone on to another request."""
        place = http.client.HTTPConnection("127.0.0.1", int(server.faulty["endpoint"].rpartition(":")[2]))
        names = [f"{where.removeprefix(f's3://{BUCKET}')}/{number}" for number in range(40)]
        server.fail(1, 1, "late")
        try:
            with contextlib.closing(place) as connection:
                for name in names:
                    connection.request("PUT", f"/{BUCKET}{name}", name.encode() * 20, {"Authorization": AUTHORIZATION})
                    assert connection.getresponse().read() == b""
        finally:
            server.fail(0, 0)
        store = ObjectStore(where, server.good)
        deadline = time.monotonic() + 60
        while len(store.names("")) < len(names):
            assert time.monotonic() < deadline
        assert [store.read(name.rpartition("/")[2]) for name in names] == [name.encode() * 20 for name in names]

    @pytest.mark.parametrize("seed", range(3))
    def test_of_two_at_once_one_creates(self, server: Server, where: str, seed: int) -> None:
        won: list[int] = []

        def create(number: int) -> None:
            store = ObjectStore(where, server.faulty | NO_RETRIES)
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
        try:
            run_together([lambda number=number: create(number) for number in range(8)])
        finally:
            server.fail(0, 0)
        assert won == [int(ObjectStore(where, server.good).read("x"))]

    def test_what_conflicts_with_a_request_that_fails_is_tried_again(self, server: Server, where: str) -> None:
        store = ObjectStore(where, server.faulty | NO_RETRIES)
        server.fail(4, 0.5, "conflict")
        try:
            for number in range(20):
                store.create(f"{number}", b"x", "")
        finally:
            server.fail(0, 0)
        assert len(store.names("")) == 20

    @pytest.mark.slow
    @pytest.mark.parametrize("keep", [None, 2])
    def test_nothing_acknowledged_is_lost_or_acknowledged_twice(
        self, server: Server, publishers: subprocess.Popen[str], where: str, tmp_path: Path, keep: int | None
    ) -> None:
        """Publishers take over from each other, and are killed, while a follower looks on."""
        seed = random.randrange(2**32)
        print("seed", seed)
        chance, counts, faults = random.Random(seed), Counts(0, 0, 0), 0
        while counts.kills < KILLS or counts.take_overs < TAKE_OVERS:
            name = f"{where.removeprefix(f's3://{BUCKET}/')}{counts.kills}"
            folder = tmp_path / name
            folder.mkdir()
            place = Place(server.uri(name, faulty=False), server.uri(name), folder / "notes", SOME_RETRIES, keep)
            before = server.fail(chance.randrange(2**32), 0.15)
            contest = Contest(publishers, place)
            now = contend(contest, chance, min(KILLS, KILLS_EACH), pause=0.3, quieten=lambda: server.fail(0, 0))
            counts = Counts(*map(sum, zip(counts, now, strict=True)))
            faults += server.fail(0, 0) - before
            print(counts, faults, "faults", flush=True)
        assert faults > KILLS
