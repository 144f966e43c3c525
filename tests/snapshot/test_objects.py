"""Published directories in an object store: S3's interface, on a server of this machine that has faults."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot.published import open_directory
from snapshot.published.objects import ObjectStore
from subtrie import SubscriptionTrie, TopicStore
from tests.snapshot.crashing_publisher import content, step_of
from tests.snapshot.faulty_server import AUTHORIZATION, BUCKET
from tests.snapshot.support import ROOT, held_by
from tests.threads import run_together

pytest.importorskip("moto", reason="needs moto, of the extra `s3-server`")
pytest.importorskip("obstore", reason="needs the extra `s3`")
pytestmark = [pytest.mark.once]

NO_RETRIES = {"max_retries": 0}
ROUNDS = 15


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
    command = [sys.executable, "-m", "tests.snapshot.faulty_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as program:
        yield Server(program)
        program.kill()


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
            ("s3://bucket/x", {"endpoint": "http://127.0.0.1:1"}, OSError, "error sending request|HTTP error"),
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
            store = ObjectStore(where, {**server.faulty, "retry_config": NO_RETRIES})
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

    @pytest.mark.slow
    @pytest.mark.parametrize("keep", [None, 2])
    @pytest.mark.parametrize("seed", range(2))
    def test_nothing_acknowledged_is_lost_or_acknowledged_twice(
        self, server: Server, where: str, tmp_path: Path, seed: int, keep: int | None
    ) -> None:
        """Publishers take over from each other, and are killed. A follower and a restore look on."""
        chance = random.Random(seed)
        uri = where.removeprefix(f"s3://{BUCKET}/")
        notes = tmp_path / "notes"
        command = [sys.executable, "-m", "tests.snapshot.object_publisher"]
        failed = server.fail(seed, 0.15)
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as program:
            assert program.stdin is not None
            assert program.stdout is not None
            running: list[int] = []
            for _ in range(ROUNDS):
                program.stdin.write(json.dumps([server.uri(uri), str(notes), keep]) + "\n")
                program.stdin.flush()
                running.append(int(program.stdout.readline()))
                time.sleep(chance.uniform(0.1, 1.2))
                if len(running) > 2 or chance.random() < 0.5:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(running.pop(chance.randrange(len(running))), signal.SIGKILL)
                with contextlib.suppress(FileNotFoundError, snapshot.NotPublishedError, OSError):
                    trie = snapshot.restore(where, storage=server.faulty)
                    assert held_by(trie) == content(step_of(trie)), "torn"
            for process in running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            program.stdin.close()
        failed = server.fail(0, 0) - failed
        time.sleep(0.5)  # late requests arrive
        acknowledged = [tuple(map(int, line.split())) for line in notes.read_text().splitlines()]
        trie = snapshot.restore(where, storage=server.good)
        trie.check()
        assert held_by(trie) == content(step_of(trie))
        print(f"seed {seed}: {len(acknowledged)} acknowledged, {failed} faults")
        assert failed > 20
        assert len(acknowledged) > 5
        assert len({version for version, _ in acknowledged}) == len(acknowledged), "twice"
        assert sorted(acknowledged) == sorted(acknowledged, key=lambda each: each[1]), "undone"
        newest = max(acknowledged)
        assert step_of(trie) >= newest[1], "lost"
        kept = {version.version for version in snapshot.versions(where, storage=server.good)}
        for version, step in acknowledged[:: max(1, len(acknowledged) // 20)]:
            if version in kept:
                assert step_of(snapshot.restore(where, version, storage=server.good)) == step
