"""Publishers and followers that work by themselves: when they do, what they do about errors, and how they end."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot import turns
from snapshot.published.writer import Writer
from subtrie import SubscriptionTrie
from tests.snapshot.support import go_on, published, trie_of, until
from tests.snapshot.world import content

pytestmark = pytest.mark.once
STOPS = signal.SIGSTOP, signal.SIGCONT


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long threads wanted to wait; they do not wait as long."""
    pauses: list[float] = []
    wait = turns.Stop.wait
    monkeypatch.setattr(turns.Stop, "wait", lambda stop, pause: pauses.append(pause) or wait(stop, min(pause, 0.01)))
    return pauses


def test_a_thread_waits_no_longer_if_its_process_was_stopped() -> None:
    """A queue would wait for ever if its time is over when it looks again."""
    program = """
import signal, time, snapshot.turns
signal.alarm(60)
end = time.monotonic() + 2
while time.monotonic() < end:
    snapshot.turns.Stop().wait(1e-9)
"""
    with subprocess.Popen([sys.executable, "-c", program]) as waits:
        until(lambda: [waits.send_signal(each) for each in STOPS] and waits.poll() is not None)
    assert waits.returncode == 0


class TestPublishers:
    def test_publish_at_once_by_time_and_at_the_end_and_are_followed(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path, every=datetime.timedelta(milliseconds=10)) as publisher:
            until(lambda: publisher.version == 1)
            with snapshot.follow(tmp_path, every=0.002) as follower:
                for number in range(2, 5):
                    trie.subscribe("a", f"s{number}")
                    until(lambda number=number: follower.version == publisher.version == number)
                    assert content(follower.trie) == content(trie)
        with snapshot.Publisher(trie, tmp_path, every=datetime.timedelta(hours=1)):
            trie.subscribe("b", "bob")
        assert snapshot.restore(tmp_path) == trie

    def test_publish_when_enough_has_changed(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path, changes=3) as publisher:
            until(lambda: publisher.version == 1)
            trie.subscribe_many([("a", "s1"), ("a", "s2")])
            assert publisher._has_enough() is False
            trie.unsubscribe("a", "s2")
            trie.subscribe_many([("a", "s3"), ("a", "s4")])
            until(lambda: publisher.version == 2)
            assert snapshot.restore(tmp_path) == trie
            trie.subscribe("a", "s5")
        assert snapshot.restore(tmp_path) == trie

    def test_pause_in_proportion_to_the_counting_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waited: list[float]
    ) -> None:
        publish = Writer.publish
        monkeypatch.setattr(Writer, "publish", lambda writer: (time.sleep(0.3), publish(writer))[1])  # a slow disk
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path, changes=1) as publisher:
            until(lambda: publisher.version == 1)
            trie.subscribe("a", "ann")
            until(lambda: publisher.version == 2)
        assert max(waited) < 20 * 0.3

    def test_try_again_and_say_so_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """From the first version on."""
        monkeypatch.setattr("snapshot.published.publisher.AFTER_FAILURE", 0.001)
        trie, told = trie_of(("a", object())), list[BaseException]()
        publisher = snapshot.Publisher(trie, tmp_path, every=0.001, strict=True, on_error=told.append)
        until(lambda: publisher._rounds._failures > 3)
        with pytest.raises(TypeError, match="subscriber"):
            publisher.close()
        assert [type(error) for error in (*told, publisher.error)] == [TypeError] * 2
        trie.clear()
        for _ in range(2):
            publisher.close()
        assert publisher.error is None
        assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
        assert len(snapshot.versions(tmp_path)) == 1

    def test_go_on_after_an_error_while_changes_are_counted(self, tmp_path: Path) -> None:
        fails = list[int]()

        class Client(str):
            """A subscriber that cannot be compared so many times."""

            def __hash__(self) -> int:
                return 1

            def __eq__(self, other: object) -> bool:
                if fails:
                    raise TimeoutError(fails.pop())
                return self is other

        ann, bob = Client("ann"), Client("bob")
        trie = trie_of(("a", ann), ("a", bob), ("b", bob))
        with snapshot.Publisher(trie, tmp_path, changes=3, key=str) as publisher:
            until(lambda: publisher.version == 1)
            trie.unsubscribe("a", ann)
            trie.subscribe("a", Client("cat"))
            fails.append(1)
            until(lambda: not fails)
            trie.subscribe_many((f"c.{number}", bob) for number in range(3))
            until(lambda: len(snapshot.restore(tmp_path)) == 6)

    @pytest.mark.parametrize("every", [None, 0.001, 3600])
    def test_end_without_a_traceback_when_they_are_fenced(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture, every: float | None
    ) -> None:
        trie, fenced, told = SubscriptionTrie(), list[BaseException](), list[BaseException]()
        functions: dict[str, Any] = {"on_error": told.append} | ({} if every is None else {"on_fenced": fenced.append})
        with snapshot.Publisher(trie, tmp_path, every=every, **functions) as publisher:
            until(lambda: publisher.publish() if every is None else publisher.version == 1)
            snapshot.take_over(tmp_path)
            trie.subscribe("a", "never published")
            if every is None:
                with pytest.raises(snapshot.FencedError):
                    publisher.publish()
            elif every < 1 and publisher._thread is not None:
                publisher._thread.join(60)
                assert not publisher._thread.is_alive()
        publisher.close()
        assert [type(error) for error in (*fenced, *told, publisher.error)] == [snapshot.FencedError] * 2
        assert bool(told) is (every is None)
        assert [record.exc_info for record in caplog.records] == [None]
        assert f"(process {os.getpid()} on " in caplog.text
        assert "taken over" in caplog.text
        assert len(snapshot.restore(tmp_path)) == 0


def test_followers_that_fail_say_so_once_and_wait_longer(
    tmp_path: Path, waited: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    """Also if the function that is told would end the program, which in their thread it cannot."""
    where, told = tmp_path / "published", list[BaseException]()
    trie, publisher = published(where, 1)
    with snapshot.follow(where, every=0.5, on_error=lambda error: sys.exit(told.append(error))) as follower:
        until(lambda: len(waited) > 1)
        where.rename(tmp_path / "old")
        until(lambda: sum(pause > 0.5 for pause in waited) > 5)
        assert [type(error) for error in (*told, follower.error)] == [snapshot.HistoryError] * 2
        assert [pause for pause in waited if pause > 0.5][:6] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
        (tmp_path / "old").rename(where)
        until(lambda: follower.error is None and len(caplog.records) > 2)
        assert "works again" in caplog.records[2].message
        go_on(trie, publisher, 1)
        until(lambda: follower.version == publisher.version)
    assert (len(told), len(caplog.records)) == (1, 3)


def test_the_first_version_waits_for_no_import(tmp_path: Path) -> None:
    """Arrow imports pandas when it first makes a column: that takes seconds."""
    program = """
import sys, snapshot
from subtrie import MQTT, SubscriptionTrie
publisher = snapshot.Publisher(trie := SubscriptionTrie(MQTT), sys.argv[1])
before = set(sys.modules)
for options in {"qos": 1}, {"x": (1,)}:
    trie.subscribe("a", "s", **options)
    publisher.publish()
print([name for name in sys.modules.keys() - before if name.startswith(("numpy", "pandas", "pyarrow"))])
"""
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"
