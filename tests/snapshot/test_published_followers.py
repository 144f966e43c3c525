"""Published directories: followers, and publishers that publish by themselves."""

from __future__ import annotations

import datetime
import threading
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot.published import composer, open_directory
from snapshot.published import publisher as publisher_module
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

    def test_come_to_a_directory_that_was_made_anew(self, tmp_path: Path) -> None:
        where, trie = tmp_path / "published", SubscriptionTrie()
        trie.subscribe("a", "alice")
        with snapshot.Publisher(trie, where) as publisher:
            publisher.publish()
        follower = snapshot.follow(where)
        where.rename(tmp_path / "old")
        with pytest.raises(FileNotFoundError, match="published"):
            follower.poll()
        assert follower.trie.match("a") == ("alice",)
        trie.subscribe("b", "bob")
        with snapshot.Publisher(trie, where) as publisher:
            publisher.publish()
        follower.poll()
        assert_equal(follower.trie, trie)

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
        until(lambda: len(caplog.records) > 1)
        assert "it is tried again" in caplog.text
        with pytest.raises(TypeError, match="subscriber"):
            publisher.close()
        trie.clear()
        publisher.close()
        publisher.close()
        assert len(snapshot.versions(tmp_path)) == 1
        with pytest.raises(ValueError, match="closed"):
            publisher.publish()

    def test_ends_when_it_is_fenced(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        trie = SubscriptionTrie()
        publisher = snapshot.Publisher(trie, tmp_path, every=0.001)
        until(lambda: open_directory(tmp_path).versions())
        snapshot.Publisher(trie, tmp_path)
        assert publisher._thread is not None
        publisher._thread.join(60)
        assert not publisher._thread.is_alive()
        assert "taken over" in caplog.text
        with pytest.raises(snapshot.FencedError):
            publisher.close()

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
