"""Published directories: followers, and publishers that publish by themselves."""

from __future__ import annotations

import datetime
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot import turns
from snapshot.published import composer, open_directory
from snapshot.published import publisher as publisher_module
from snapshot.published.writer import Writer
from subtrie import SubscriptionTrie
from tests.snapshot.test_published import assert_equal, until
from tests.threads import run_together


class TestFollowers:
    def test_apply_changes_to_one_trie(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "alice")
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
            with snapshot.follow(tmp_path) as follower:
                copy = follower.trie
                assert (follower.version, copy.match("a")) == (1, ("alice",))
                assert follower.poll() == 1
                trie.subscribe("b.*", "bob", qos=1)
                trie.unsubscribe("a", "alice")
                publisher.publish()
                assert (follower.poll(), follower.version, follower.trie is copy) == (2, 2, True)
                assert_equal(copy, trie)

    def test_go_on_after_another_publisher_took_over(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
        with snapshot.follow(tmp_path) as follower:
            for number in range(3):
                with snapshot.Publisher(trie, tmp_path) as publisher:
                    trie.subscribe("a", f"s{number}")
                    assert follower.poll() <= publisher.publish() == follower.poll()
                    assert_equal(follower.trie, trie)

    def test_that_fall_behind_never_lose_what_stays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 2)
        trie = SubscriptionTrie()
        trie.subscribe("stays.#", "alice", n=1)
        trie.subscribe("goes", "bob")
        with snapshot.Publisher(trie, tmp_path, keep=1) as publisher:
            publisher.publish()
            follower = snapshot.follow(tmp_path)
            trie.unsubscribe("goes", "bob")
            for number in range(20):
                trie.subscribe("new", f"s{number}")
                publisher.publish()
        assert open_directory(tmp_path).get(2) is None
        done = threading.Event()

        def watch() -> int:
            seen = 0
            while not done.is_set():
                assert follower.trie.match("stays.here") == ("alice",)
                seen += 1
            return seen

        def poll() -> None:
            try:
                follower.poll()
            finally:
                done.set()

        run_together([watch, poll])
        assert_equal(follower.trie, trie)
        follower.trie.check()

    def test_that_were_behind_at_a_claim_come_back(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 2)
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
        with snapshot.Publisher(trie, tmp_path, keep=1) as publisher:
            follower = snapshot.follow(tmp_path)
            assert follower.poll() == 1  # it has also seen the claim, which is never removed
            for number in range(20):
                trie.subscribe("new", f"s{number}")
                publisher.publish()
        follower.poll()
        assert_equal(follower.trie, trie)

    @pytest.mark.parametrize("how", ["gone", "emptied", "another", "another that is empty", "claimed anew"])
    def test_keep_what_they_have_if_the_directory_is_another_one(self, tmp_path: Path, how: str) -> None:
        where, trie = tmp_path / "published", SubscriptionTrie()
        trie.subscribe("a", "alice")
        with snapshot.Publisher(trie, where) as publisher:
            publisher.publish()
        follower = snapshot.follow(where)
        where.rename(tmp_path / "old")
        other = SubscriptionTrie()
        if how == "emptied":
            where.mkdir()
        elif how != "gone":
            with snapshot.Publisher(other, where) as publisher:
                if how == "another":
                    other.subscribe("b", "bob")
                if how != "claimed anew":
                    publisher.publish()
        for _ in range(2):
            with pytest.raises(snapshot.HistoryError, match="is not the directory that was followed up to version 1"):
                follower.poll()
            assert isinstance(follower.error, snapshot.HistoryError)
            assert_equal(follower.trie, trie)
        if how.startswith("another"):
            follower.resynchronise()
            assert_equal(follower.trie, other)
            assert follower.poll() == follower.version == 1
        else:
            with pytest.raises((FileNotFoundError, snapshot.NotPublishedError)):
                follower.resynchronise()
            assert_equal(follower.trie, trie)
            shutil.rmtree(where, ignore_errors=True)
            (tmp_path / "old").rename(where)
            assert follower.poll() == 1
        assert follower.error is None

    def test_that_fail_by_themselves_say_so_once_and_wait_longer(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        where, trie, told = tmp_path / "published", SubscriptionTrie(), list[BaseException]()
        waited: list[float] = []
        wait = turns.Stop.wait
        monkeypatch.setattr(
            turns.Stop, "wait", lambda stop, pause: waited.append(pause) or wait(stop, min(pause, 0.01))
        )
        with snapshot.Publisher(trie, where) as publisher:
            publisher.publish()
            with snapshot.follow(where, every=0.5, on_error=told.append) as follower:
                until(lambda: len(waited) > 1)
                where.rename(tmp_path / "old")
                waited.clear()
                until(lambda: len(waited) > 9)
                assert len(told) == len(caplog.records) == 1
                assert isinstance(told[0], snapshot.HistoryError)
                assert type(follower.error) is type(told[0])
                assert [pause for pause in waited if pause > 0.5][:6] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
                (tmp_path / "old").rename(where)
                until(lambda: follower.error is None)
                until(lambda: len(caplog.records) > 1)
                assert "works again" in caplog.records[1].message
                trie.subscribe("a", "ann")
                version = publisher.publish()
                until(lambda: follower.version == version)
        assert len(told) == 1
        assert len(caplog.records) == 2

    def test_poll_by_themselves(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
            with snapshot.follow(tmp_path, every=datetime.timedelta(milliseconds=2)) as follower:
                for number in range(3):
                    trie.subscribe("a", f"s{number}")
                    version = publisher.publish()
                    until(lambda version=version: follower.version == version)
                    assert_equal(follower.trie, trie)

    def test_see_a_version_whole_or_as_damaged(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
            follower = snapshot.follow(tmp_path)
            trie.subscribe("a", "alice")
            publisher.publish()
            feed = open_directory(tmp_path).version_at().feed
            assert feed is not None
            content = (tmp_path / feed.path).read_bytes()
            (tmp_path / feed.path).write_bytes(content[:-1])
            with pytest.raises(snapshot.DamagedError, match=feed.path):
                follower.poll()
            (tmp_path / feed.path).unlink()
            with pytest.raises(snapshot.DamagedError, match=f"{feed.path} is missing"):
                follower.poll()
            assert (follower.version, len(follower.trie)) == (1, 0)
            (tmp_path / feed.path).write_bytes(content)
            assert follower.poll() == 2


class TestByItself:
    def test_publishes_at_once_by_time_and_at_the_end(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path, every=0.01):
            until(lambda: open_directory(tmp_path).versions())
            trie.subscribe("a", "alice")
            until(lambda: len(open_directory(tmp_path).versions()) == 2)
        with snapshot.Publisher(trie, tmp_path, every=datetime.timedelta(hours=1)):
            trie.subscribe("b", "bob")
        assert_equal(snapshot.restore(tmp_path), trie)

    def test_publishes_when_enough_has_changed(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path, changes=3) as publisher:
            until(lambda: open_directory(tmp_path).versions())
            trie.subscribe_many([("a", "s1"), ("a", "s2")])
            assert publisher._has_enough() is False
            trie.unsubscribe("a", "s2")
            trie.subscribe_many([("a", "s3"), ("a", "s4")])
            until(lambda: len(open_directory(tmp_path).versions()) == 2)
            assert_equal(snapshot.restore(tmp_path), trie)
            trie.subscribe("a", "s5")
        assert_equal(snapshot.restore(tmp_path), trie)

    def test_tries_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(publisher_module, "AFTER_FAILURE", 0.001)
        trie = SubscriptionTrie()
        trie.subscribe("a", object())
        publisher = snapshot.Publisher(trie, tmp_path, every=0.001, strict=True)
        until(lambda: publisher._rounds._failures > 3)
        assert isinstance(publisher.error, TypeError)
        assert len(caplog.records) == 1
        with pytest.raises(TypeError, match="subscriber"):
            publisher.close()
        trie.clear()
        publisher.close()
        publisher.close()
        assert publisher.error is None
        assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
        assert len(snapshot.versions(tmp_path)) == 1
        with pytest.raises(ValueError, match="closed"):
            publisher.publish()

    def test_ends_when_it_is_fenced(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        trie, fenced, told = SubscriptionTrie(), list[BaseException](), list[BaseException]()
        publisher = snapshot.Publisher(trie, tmp_path, every=0.001, on_fenced=fenced.append, on_error=told.append)
        until(lambda: open_directory(tmp_path).versions())
        snapshot.Publisher(trie, tmp_path)
        trie.subscribe("a", "never published")
        assert publisher._thread is not None
        publisher._thread.join(60)
        assert not publisher._thread.is_alive()
        for _ in range(2):
            publisher.close()
        assert [isinstance(error, snapshot.FencedError) for error in (*fenced, publisher.error)] == [True, True]
        assert told == []
        assert len(caplog.records) == 1
        assert "taken over" in caplog.text
        assert caplog.records[0].exc_info is None

    @pytest.mark.parametrize("by_itself", [False, True])
    def test_is_no_traceback_to_close_if_it_is_fenced(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture, by_itself: bool
    ) -> None:
        trie, fenced = SubscriptionTrie(), list[BaseException]()
        every = 3600 if by_itself else None
        with snapshot.Publisher(trie, tmp_path, on_error=fenced.append, every=every) as publisher:
            until(lambda: publisher.version == 1) if by_itself else publisher.publish()
            snapshot.take_over(tmp_path)
            trie.subscribe("a", "lost")
            if not by_itself:
                with pytest.raises(snapshot.FencedError):
                    publisher.publish()
        assert len(fenced) == len(caplog.records) == 1
        assert isinstance(publisher.error, snapshot.FencedError)
        assert len(snapshot.restore(tmp_path)) == 0

    def test_goes_on_after_an_error_while_the_changes_are_counted(self, tmp_path: Path) -> None:
        class Client:
            """A subscriber that cannot be compared so many times."""

            fails = 0

            def __init__(self, name: str) -> None:
                self.name = name

            def __hash__(self) -> int:
                return 1

            def __eq__(self, other: object) -> bool:
                if Client.fails:
                    Client.fails -= 1
                    raise TimeoutError
                return self is other

        trie, ann, bob = SubscriptionTrie(), Client("ann"), Client("bob")
        trie.subscribe_many([("a", ann), ("a", bob), ("b", bob)])
        with snapshot.Publisher(trie, tmp_path, changes=3, key=lambda client: client.name) as publisher:
            until(lambda: publisher.version == 1)
            trie.unsubscribe("a", ann)
            trie.subscribe("a", Client("cat"))
            Client.fails = 1
            until(lambda: Client.fails == 0)
            trie.subscribe_many((f"c.{number}", bob) for number in range(3))
            until(lambda: len(snapshot.restore(tmp_path)) == 6)

    def test_is_tried_again_if_the_first_version_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(publisher_module, "AFTER_FAILURE", 0.001)
        fails, publish = [OSError("full")] * 2, Writer.publish

        def sometimes(writer: Writer) -> Any:
            if fails:
                raise fails.pop()
            return publish(writer)

        monkeypatch.setattr(Writer, "publish", sometimes)
        with snapshot.Publisher(SubscriptionTrie(), tmp_path, changes=5) as publisher:
            until(lambda: publisher.version == 1)

    def test_counts_as_often_if_the_disk_is_slow(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        paused: list[float] = []
        wait, publish = turns.Stop.wait, Writer.publish
        monkeypatch.setattr(
            turns.Stop, "wait", lambda stop, pause: paused.append(pause) or wait(stop, min(pause, 0.01))
        )
        monkeypatch.setattr(Writer, "publish", lambda writer: (time.sleep(0.3), publish(writer))[1])
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path, changes=1) as publisher:
            until(lambda: publisher.version == 1)
            trie.subscribe("a", "ann")
            until(lambda: publisher.version == 2)
        assert max(paused) < 20 * 0.3, "the pause is proportional to the time that publishing took"

    @pytest.mark.parametrize(
        ("arguments", "error", "says"),
        [
            ({"every": 0}, ValueError, "every must be a positive time"),
            ({"every": "1s"}, TypeError, "every must be seconds or a timedelta"),
            ({"changes": 0}, ValueError, "changes must be at least 1"),
            ({"changes": 1.5}, TypeError, "changes must be a number"),
            ({"keep": 0}, ValueError, "keep must be at least 1"),
            ({"keep": datetime.timedelta(0)}, ValueError, "keep must be a positive time"),
            ({"key": 5}, TypeError, "key must be a function"),
            ({"strict": "no"}, TypeError, "strict must be True or False"),
            ({"on_error": 5}, TypeError, "on_error and on_fenced must be functions"),
            ({"on_fenced": 5}, TypeError, "on_error and on_fenced must be functions"),
        ],
    )
    def test_refuses_what_makes_no_sense(
        self, tmp_path: Path, arguments: dict[str, Any], error: type[Exception], says: str
    ) -> None:
        with pytest.raises(error, match=says):
            snapshot.Publisher(SubscriptionTrie(), tmp_path / "x", **arguments)
        with pytest.raises(error, match=says):
            snapshot.take_over(tmp_path / "x", **arguments)
        assert not (tmp_path / "x").exists()

    @pytest.mark.parametrize("source", [None, 5, [], {}])
    def test_refuses_what_is_no_trie(self, tmp_path: Path, source: Any) -> None:
        with pytest.raises(TypeError, match="the trie must be"):
            snapshot.Publisher(source, tmp_path / "x")
        assert not (tmp_path / "x").exists()

    @pytest.mark.parametrize("known", [5, b"1", True])
    def test_refuses_a_mark_that_is_no_text(self, tmp_path: Path, known: Any) -> None:
        for call in (snapshot.restore, snapshot.follow, snapshot.take_over):
            with pytest.raises(TypeError, match="the mark of a version is a text"):
                call(tmp_path / "x", known=known)
        assert not (tmp_path / "x").exists()

    def test_in_many_threads_publishes_each_change_once(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()

            def work(name: str) -> None:
                for number in range(10):
                    trie.subscribe("a", f"{name}{number}")
                    publisher.publish()

            run_together([lambda name=name: work(name) for name in "xyz"])
        published = snapshot.versions(tmp_path)
        assert sum(version.changes for version in published) == 30
        assert_equal(snapshot.restore(tmp_path), trie)
