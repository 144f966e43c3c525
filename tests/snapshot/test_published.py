"""Published directories: what publishers write, what is restored, and what each of them refuses."""

from __future__ import annotations

import datetime
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import snapshot
from snapshot import columns
from snapshot.published import composer, open_directory, retention, store
from snapshot.published.feed import feed_schema, write_feed
from stress.processes import gil_enabled
from subtrie import MQTT, NATS, Dialect, SubscriptionTrie
from tests.threads import run_together

Held = dict[tuple[str, Any, Any], dict[str, Any]]


def held_by(trie: SubscriptionTrie) -> Held:
    return {
        (held.filter, held.subscriber, held.options.get("queue")): dict(held.options) for held in trie.subscriptions()
    }


def assert_equal(one: SubscriptionTrie, other: SubscriptionTrie) -> None:
    assert one.dialect == other.dialect
    assert held_by(one) == held_by(other)
    assert one == other
    kinds = [{name: type(value) for name, value in held.items()} for held in held_by(one).values()]
    assert kinds == [{name: type(value) for name, value in held_by(other)[key].items()} for key in held_by(one)]


def feed_rows(where: Path, number: int) -> list[dict[str, Any]]:
    version = open_directory(where).version_at(number)
    assert version.feed is not None
    rows: list[dict[str, Any]] = pq.read_table(where / version.feed.path).to_pylist()
    return rows


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.001)


class TestVersions:
    def test_are_numbered_and_say_what_they_have(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe_many([("a.*", "alice", {"qos": 1}), ("b", "bob")])
        with snapshot.Publisher(trie, tmp_path) as publisher:
            assert publisher.publish() == 1
            trie.subscribe("c", "carol")
            trie.subscribe("a.*", "alice", qos=2)
            trie.unsubscribe("b", "bob")
            assert publisher.publish() == 2
        first, second = snapshot.versions(tmp_path)
        assert (first.version, first.kind, first.subscriptions, first.changes) == (1, "full", 2, 2)
        assert (second.version, second.kind, second.subscriptions, second.changes) == (2, "changes", 2, 3)
        assert first.time < second.time <= datetime.datetime.now(datetime.UTC)

    def test_are_not_made_where_nothing_has_changed(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            assert publisher.publish() == publisher.publish() == 1
            trie.subscribe("a", "alice")
            trie.unsubscribe("a", "alice")
            assert publisher.publish() == 1
        with snapshot.Publisher(trie, tmp_path) as publisher:
            assert publisher.publish() == 1
        assert [version.version for version in snapshot.versions(tmp_path)] == [1]

    def test_are_restored_by_number_and_by_time(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        instants = {}
        with snapshot.Publisher(trie, tmp_path) as publisher:
            for number in range(6):
                trie.subscribe(f"a.{number}", "alice", n=number)
                instants[publisher.publish()] = trie.snapshot()
        for version in snapshot.versions(tmp_path):
            expected = instants[version.version]
            assert_equal(snapshot.restore(tmp_path, at=version.version), expected)
            assert_equal(snapshot.restore(tmp_path, at=version.time), expected)
            assert_equal(snapshot.restore(tmp_path, at=version.time + datetime.timedelta(microseconds=1)), expected)
        assert_equal(snapshot.restore(tmp_path), trie)

    def test_have_rising_times_when_the_clock_goes_back(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        before = trie.snapshot()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            trie.subscribe("a", "alice")
            publisher.publish()
        with snapshot.Publisher(before, tmp_path) as publisher:
            publisher.publish()
        first, second = snapshot.versions(tmp_path)
        assert before.taken_at is not None
        assert second.time > first.time > datetime.datetime.fromtimestamp(before.taken_at / 1e9, datetime.UTC)

    @pytest.mark.parametrize(
        "trie_of",
        [
            lambda: SubscriptionTrie(exact=True),
            lambda: SubscriptionTrie(index=True, cache=10),
            lambda: SubscriptionTrie(MQTT),
            lambda: SubscriptionTrie(NATS),
            lambda: SubscriptionTrie(Dialect("own", "-", "?", None, forbidden="\0\t")),
        ],
    )
    def test_come_from_any_trie(self, tmp_path: Path, trie_of: Callable[[], SubscriptionTrie]) -> None:
        trie = trie_of()
        trie.subscribe("a", "alice", qos=1)
        for number in range(2):
            with snapshot.Publisher(trie, tmp_path) as publisher:
                publisher.publish()
                trie.subscribe("b", "bob", n=number)
                publisher.publish()
        assert_equal(snapshot.restore(tmp_path), trie)

    def test_keep_groups(self, tmp_path: Path) -> None:
        nats, mqtt = SubscriptionTrie(NATS), SubscriptionTrie(MQTT)
        for trie, where in ((nats, tmp_path / "nats"), (mqtt, tmp_path / "mqtt")):
            with snapshot.Publisher(trie, where), snapshot.Publisher(trie, where) as publisher:
                for step in range(4):
                    for group in ("x", "y"):
                        filter, options = ("a", {"queue": group}) if trie is nats else (f"$share/{group}/a", {})
                        trie.subscribe(filter, f"s{step}", n=step, **options)
                        if group == "x":
                            trie.unsubscribe(filter, f"s{step - 1}", **options)
                    publisher.publish()
                    assert_equal(snapshot.restore(where), trie)
            assert len(trie) == 5

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["a", "a.*", "#"]),
                st.sampled_from(["s", "t"]),
                st.none() | st.dictionaries(st.sampled_from(["x", "y"]), st.integers() | st.lists(st.text())),
                st.booleans(),
            ),
            max_size=12,
        )
    )
    def test_are_equal_whatever_is_done(
        self, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, dict[str, Any] | None, bool]]
    ) -> None:
        where, trie = tmp_path_factory.mktemp("any"), SubscriptionTrie()
        instants: dict[int, Held] = {}
        with snapshot.Publisher(trie, where) as publisher:
            instants[publisher.publish()] = held_by(trie)
            with snapshot.follow(where) as follower:
                for filter, subscriber, options, publishes in steps:
                    if options is None:
                        trie.unsubscribe(filter, subscriber)
                    else:
                        trie.subscribe(filter, subscriber, **options)
                    if publishes:
                        instants[publisher.publish()] = held_by(trie)
                        follower.poll()
                        assert held_by(follower.trie) == held_by(trie)
                follower.trie.check()
        assert {
            each.version: held_by(snapshot.restore(where, each.version)) for each in snapshot.versions(where)
        } == instants


class TestFeeds:
    def test_have_deltas_columns(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe_many([("a", "alice", {"qos": 1}), ("b", "bob", {"qos": 2})])
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
            trie.subscribe("a", "alice", qos=3)
            trie.unsubscribe("b", "bob")
            trie.subscribe("c", "carol")
            number = publisher.publish()
        rows = feed_rows(tmp_path, number)
        assert sorted((row["_change_type"], row["filter"], row["subscriber"], row["options"]) for row in rows) == [
            ("delete", "b", "bob", [("qos", "2")]),
            ("insert", "c", "carol", []),
            ("update_postimage", "a", "alice", [("qos", "3")]),
            ("update_preimage", "a", "alice", [("qos", "1")]),
        ]
        version = open_directory(tmp_path).version_at(number)
        assert {(row["_commit_version"], row["_commit_timestamp"]) for row in rows} == {(number, version.time)}
        assert feed_schema().names[:-3] == columns.schema().names

    def test_are_unbroken_by_another_publisher(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe_many([("a", "alice"), ("b", "bob")])
        with snapshot.Publisher(trie, tmp_path) as publisher:
            first = publisher.publish()
        restored = snapshot.restore(tmp_path)
        restored.unsubscribe("a", "alice")
        with snapshot.Publisher(restored, tmp_path) as publisher:
            second = publisher.publish()
        assert [row["_change_type"] for row in feed_rows(tmp_path, second)] == ["delete"]
        assert [each.version for each in open_directory(tmp_path).changes(first, second)] == [second]

    def test_outweigh_a_full_instant_in_time(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 3)
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            for number in range(10):
                trie.subscribe("a", f"s{number}")
                publisher.publish()
        published = snapshot.versions(tmp_path)
        assert [version.kind for version in published] == [
            "full",
            *["changes"] * 3,
            "full",
            *["changes"] * 3,
            "full",
            "changes",
        ]
        assert all(version.feed is not None for version in published[1:])
        assert_equal(snapshot.restore(tmp_path), trie)

    def test_outweigh_it_by_rows_too(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(composer, "FEWEST_ROWS", 10)
        trie = SubscriptionTrie()
        trie.subscribe_many((f"a.{number}", "s") for number in range(20))
        with snapshot.Publisher(trie, tmp_path) as publisher:
            for _ in range(5):
                publisher.publish()
                for number in range(8):
                    trie.subscribe(f"a.{number}", "s", n=time.monotonic())
        assert [version.kind for version in snapshot.versions(tmp_path)] == [
            "full",
            "changes",
            "changes",
            "full",
            "changes",
        ]

    def test_take_time_in_proportion_to_what_changed(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe_many((f"a.{number}", f"s{number}") for number in range(3000))
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
            trie.subscribe("a.7", "new")
            number = publisher.publish()
        version = open_directory(tmp_path).version_at(number)
        assert version.feed is not None
        assert (version.feed.rows, version.full) == (1, None)


class TestSubscribers:
    def test_that_are_objects_need_a_key_whenever_they_come(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "alice")
        with snapshot.Publisher(trie, tmp_path, strict=True) as publisher:
            publisher.publish()
            trie.subscribe("b", object())
            with pytest.raises(TypeError, match=r"neither a string nor an integer; give a key= function"):
                publisher.publish()
            assert len(snapshot.restore(tmp_path)) == 1
        trie.check()

    def test_are_what_the_key_makes_of_them(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", ("connection", 5), qos=1)
        with snapshot.Publisher(trie, tmp_path, key=lambda subscriber: f"c{subscriber[1]}") as publisher:
            publisher.publish()
            trie.subscribe("b", ("connection", 6))
            trie.unsubscribe("a", ("connection", 5))
            publisher.publish()
        assert held_by(snapshot.restore(tmp_path, at=1)) == {("a", "c5", None): {"qos": 1}}
        assert held_by(snapshot.restore(tmp_path)) == {("b", "c6", None): {}}

    def test_on_one_key_are_an_error_before_anything_is_written(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", ("x", 1))
        with snapshot.Publisher(trie, tmp_path, key=lambda subscriber: str(subscriber[1]), strict=True) as publisher:
            publisher.publish()
            files = sorted(tmp_path.rglob("*"))
            trie.subscribe("b", ("y", 1))
            with pytest.raises(ValueError, match=r"\('x', 1\) and \('y', 1\) both have the key '1'"):
                publisher.publish()
            assert sorted(tmp_path.rglob("*")) == files
            trie.unsubscribe("a", ("x", 1))
            publisher.publish()  # others may take the key of a removed subscriber
            assert held_by(snapshot.restore(tmp_path)) == {("b", "1", None): {}}
            trie.subscribe_many([("c", ("x", 2)), ("d", ("y", 2))])
            with pytest.raises(ValueError, match="both have the key '2'"):
                publisher.publish()

    def test_may_change_places_on_one_filter(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", ("x", 1), n=1)
        with snapshot.Publisher(trie, tmp_path, key=lambda subscriber: str(subscriber[1])) as publisher:
            publisher.publish()
            follower = snapshot.follow(tmp_path)
            trie.unsubscribe("a", ("x", 1))
            trie.subscribe("a", ("y", 1), n=2)
            number = publisher.publish()
        follower.poll()
        assert [row["_change_type"] for row in feed_rows(tmp_path, number)] == ["delete", "insert"]
        assert held_by(follower.trie) == held_by(snapshot.restore(tmp_path)) == {("a", "1", None): {"n": 2}}

    def test_keep_their_keys_as_long_as_they_are_there(self, tmp_path: Path) -> None:
        names = {1: "one"}
        trie = SubscriptionTrie()
        trie.subscribe("a", 1)
        with snapshot.Publisher(trie, tmp_path, key=names.__getitem__) as publisher:
            publisher.publish()
            names[1] = "other"
            trie.subscribe("b", 1)
            publisher.publish()
            trie.unsubscribe("a", 1)
            trie.unsubscribe("b", 1)
            publisher.publish()
            trie.subscribe("c", 1)
            publisher.publish()
        assert set(held_by(snapshot.restore(tmp_path, at=2))) == {("a", "one", None), ("b", "one", None)}
        assert set(held_by(snapshot.restore(tmp_path))) == {("c", "other", None)}

    def test_with_a_key_go_on_where_another_publisher_was(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe_many([("a", ("x", 1)), ("b", ("x", 2))])

        def key(subscriber: tuple[str, int]) -> str:
            return str(subscriber[1])

        for number in range(3):
            with snapshot.Publisher(trie, tmp_path, key=key) as publisher:
                publisher.publish()
                trie.subscribe("c", ("x", 10 + number))
                publisher.publish()
        assert [version.changes for version in snapshot.versions(tmp_path)] == [2, 1, 1, 1]

    def test_that_are_integers_come_back_as_such(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path, strict=True) as publisher:
            publisher.publish()
            trie.subscribe("a", 1)
            publisher.publish()
            trie.unsubscribe("a", 1)
            publisher.publish()
            assert held_by(snapshot.restore(tmp_path, at=2)) == {("a", 1, None): {}}
            trie.subscribe("a", "text")  # possible now, since no integers are left
            publisher.publish()
            assert held_by(snapshot.restore(tmp_path)) == {("a", "text", None): {}}
            trie.subscribe("b", 2)
            with pytest.raises(TypeError, match="integers"):
                publisher.publish()

    def test_need_a_key(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", ("x", 1))
        with snapshot.Publisher(trie, tmp_path, strict=True) as publisher, pytest.raises(TypeError, match="subscriber"):
            publisher.publish()

    def test_that_are_weakly_held_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="weak"):
            snapshot.Publisher(SubscriptionTrie(weak=True), tmp_path / "x", key=str)
        assert not (tmp_path / "x").exists()


class TestOptions:
    def test_keep_their_types(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "s", n=1, text="1", nothing=None, many=[1, "2"], yes=True)
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
            trie.subscribe("b", "s", n=2.5, text="2", other={"x": 1})
            publisher.publish()
        assert_equal(snapshot.restore(tmp_path), trie)

    def test_of_two_types_under_one_name_are_refused(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "s", n=1)
        with snapshot.Publisher(trie, tmp_path, strict=True) as publisher:
            publisher.publish()
            trie.subscribe("b", "s", n="1")
            with pytest.raises(TypeError, match="'n' is a string in one subscription and not in another"):
                publisher.publish()
            trie.unsubscribe("a", "s")  # its earlier type does not matter then
            assert publisher.publish() == 2
            assert snapshot.versions(tmp_path)[-1].kind == "full"
            assert_equal(snapshot.restore(tmp_path), trie)
            trie.subscribe("b", "s", n=object())
            with pytest.raises(TypeError, match="JSON"):
                publisher.publish()


class TestFencing:
    def test_is_of_the_publisher_that_was_there_before(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        first = snapshot.Publisher(trie, tmp_path)
        trie.subscribe("a", "alice")
        assert first.publish() == 1
        second = snapshot.Publisher(snapshot.restore(tmp_path), tmp_path)
        trie.subscribe("b", "bob")
        for _ in range(2):
            with pytest.raises(snapshot.FencedError, match=f"process {os.getpid()} on .* taken over"):
                first.publish()
        assert second.publish() == 1
        assert held_by(snapshot.restore(tmp_path)) == {("a", "alice", None): {}}
        assert not [name for name in os.listdir(tmp_path / "changes")]

    def test_holds_however_much_has_been_published_and_removed_since(self, tmp_path: Path) -> None:
        trie, other = SubscriptionTrie(), SubscriptionTrie()
        first = snapshot.Publisher(trie, tmp_path)
        first.publish()
        trie.subscribe("a", "alice")
        with snapshot.Publisher(other, tmp_path, keep=1) as second:
            for number in range(60):
                other.subscribe("n", f"s{number}")
                second.publish()
        assert open_directory(tmp_path).get(3) is None, "removed"
        with pytest.raises(snapshot.FencedError):
            first.publish()

    def test_lets_one_of_many_win(self, tmp_path: Path) -> None:
        tries = [SubscriptionTrie() for _ in range(8)]
        for number, trie in enumerate(tries):
            trie.subscribe("a", f"s{number}")
        publishers = run_together([lambda trie=trie: snapshot.Publisher(trie, tmp_path) for trie in tries])

        def publish(publisher: snapshot.Publisher) -> int | None:
            try:
                return publisher.publish()
            except snapshot.FencedError:
                return None

        published = run_together([lambda publisher=publisher: publish(publisher) for publisher in publishers])
        assert len([number for number in published if number is not None]) == 1
        winner = next(place for place, number in enumerate(published) if number is not None)
        assert_equal(snapshot.restore(tmp_path), tries[winner])

    def test_also_holds_while_files_are_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "alice")
        first = snapshot.Publisher(trie, tmp_path)
        first.publish()

        def overtaken(path: str, *arguments: Any) -> Any:
            written = write_feed(path, *arguments)
            monkeypatch.setattr(composer, "write_feed", write_feed)
            snapshot.Publisher(trie, tmp_path)  # removes the file, too
            assert not os.path.exists(path)
            return written

        monkeypatch.setattr(composer, "write_feed", overtaken)
        trie.subscribe("b", "bob")
        with pytest.raises(snapshot.FencedError):
            first.publish()
        assert [version.version for version in snapshot.versions(tmp_path)] == [1]

    def test_also_holds_while_files_are_flushed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "alice")
        first = snapshot.Publisher(trie, tmp_path)
        first.publish()
        flush = store.LocalStore._sync_with

        def overtaken(self: store.LocalStore, name: str) -> None:
            monkeypatch.setattr(store.LocalStore, "_sync_with", flush)
            snapshot.Publisher(trie, tmp_path)  # removes the files, too
            flush(self, name)

        monkeypatch.setattr(store.LocalStore, "_sync_with", overtaken)
        trie.subscribe("b", "bob")
        with pytest.raises(snapshot.FencedError):
            first.publish()
        assert [version.version for version in snapshot.versions(tmp_path)] == [1]

    def test_leaves_files_of_later_publishers_alone(self, tmp_path: Path) -> None:
        with snapshot.Publisher(SubscriptionTrie(), tmp_path) as publisher:
            publisher.publish()
        later = tmp_path / "changes" / f"{9:020}.7.abcdef01.parquet"
        earlier = tmp_path / "changes" / f"{9:020}.1.abcdef01.parquet"
        foreign = tmp_path / "changes" / "notes.txt"
        for file in (later, earlier, foreign):
            file.touch()
        snapshot.Publisher(SubscriptionTrie(), tmp_path)
        assert (later.exists(), earlier.exists(), foreign.exists()) == (True, False, True)


class TestLoad:
    """`load` reads a file or a folder of files; of a published directory it would take old instants for new ones."""

    def test_names_restore(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "ann")
        with snapshot.Publisher(trie, tmp_path / "here") as publisher:
            publisher.publish()
            trie.unsubscribe("a", "ann")
            publisher.publish()
        for folder in (tmp_path / "here", tmp_path):
            with pytest.raises(IsADirectoryError, match=r"published directory .* snapshot\.restore\(path\)"):
                snapshot.load(folder)


class TestRetention:
    def test_keeps_a_number_of_versions(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 3)
        trie = SubscriptionTrie()
        instants = {}
        with snapshot.Publisher(trie, tmp_path, keep=3) as publisher:
            for number in range(30):
                trie.subscribe("a", f"s{number}")
                instants[publisher.publish()] = trie.snapshot()
        kept = [version.version for version in snapshot.versions(tmp_path)]
        assert kept == [28, 29, 30]
        for number in kept:
            assert_equal(snapshot.restore(tmp_path, at=number), instants[number])
        for at in (27, datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)):
            with pytest.raises(snapshot.NotPublishedError, match="kept are 28"):
                snapshot.restore(tmp_path, at=at)
        assert len(os.listdir(tmp_path / "full")) <= 2
        assert len(os.listdir(tmp_path / "changes")) <= 8
        assert len(os.listdir(tmp_path / "_versions")) <= 10

    def test_keeps_what_is_not_too_old(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path, keep=datetime.timedelta(hours=1)) as publisher:
            for number in range(3):
                trie.subscribe("a", f"s{number}")
                publisher.publish()
        first = snapshot.versions(tmp_path)[0]
        assert len(snapshot.versions(tmp_path)) == 3
        with snapshot.Publisher(trie, tmp_path, keep=datetime.timedelta(microseconds=1)) as publisher:
            trie.subscribe("a", "more")
            publisher.publish()
        # A microsecond before the last version, the one before it was the newest, so it is kept.
        assert len(snapshot.versions(tmp_path)) == 2
        with pytest.raises(snapshot.NotPublishedError, match="as early as"):
            snapshot.restore(tmp_path, at=first.time)

    def test_removes_much_little_by_little(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(retention, "REMOVALS", 2)
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 5)
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            for number in range(12):
                trie.subscribe("a", f"s{number}")
                publisher.publish()
        sizes = []
        with snapshot.Publisher(trie, tmp_path, keep=1) as publisher:
            for number in range(20, 28):
                trie.subscribe("a", f"s{number}")
                publisher.publish()
                sizes.append(len(open_directory(tmp_path).numbers()))
                assert_equal(snapshot.restore(tmp_path), trie)
        assert all(one - other <= 1 for one, other in zip(sizes, sizes[1:], strict=False))
        assert min(sizes) < sizes[0]


class TestBadDirectories:
    def test_are_not_there(self, tmp_path: Path) -> None:
        for read in (snapshot.versions, snapshot.restore, snapshot.follow):
            with pytest.raises(FileNotFoundError, match="is not a published directory"):
                read(tmp_path / "nowhere")
        assert not (tmp_path / "nowhere").exists()

    def test_have_nothing_yet(self, tmp_path: Path) -> None:
        snapshot.Publisher(SubscriptionTrie(), tmp_path)
        assert snapshot.versions(tmp_path) == []
        for read in (snapshot.restore, snapshot.follow):
            with pytest.raises(snapshot.NotPublishedError, match="nothing has been published yet"):
                read(tmp_path)

    def test_have_other_files(self, tmp_path: Path) -> None:
        (tmp_path / "letter.txt").touch()
        with pytest.raises(ValueError, match=r"other files \(letter.txt\)"):
            snapshot.Publisher(SubscriptionTrie(), tmp_path)
        assert os.listdir(tmp_path) == ["letter.txt"]
        with pytest.raises(NotADirectoryError):
            snapshot.Publisher(SubscriptionTrie(), tmp_path / "letter.txt")

    def test_have_another_dialect(self, tmp_path: Path) -> None:
        first = snapshot.Publisher(SubscriptionTrie(), tmp_path)
        with pytest.raises(ValueError, match="dialect AMQP, and the trie is of MQTT"):
            snapshot.Publisher(SubscriptionTrie(MQTT), tmp_path)
        first.publish()  # the attempt has not fenced it

    def test_are_of_a_later_format(self, tmp_path: Path) -> None:
        with snapshot.Publisher(SubscriptionTrie(), tmp_path) as publisher:
            publisher.publish()
        manifest = tmp_path / "_versions" / f"{1:020}.json"
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format": 3}))
        for read in (snapshot.versions, snapshot.restore, snapshot.follow):
            with pytest.raises(snapshot.DamagedError, match=f"{manifest.name} is of format 3"):
                read(tmp_path)
        with pytest.raises(snapshot.DamagedError, match="format 3"):
            snapshot.Publisher(SubscriptionTrie(), tmp_path)

    @pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": 1}', "null", '{"format": 1, "version": 1}'])
    def test_have_damaged_manifests(self, tmp_path: Path, content: str) -> None:
        with snapshot.Publisher(SubscriptionTrie(), tmp_path) as publisher:
            publisher.publish()
        (tmp_path / "_versions" / f"{1:020}.json").write_text(content)
        with pytest.raises(snapshot.DamagedError, match=f"{1:020}.json"):
            snapshot.restore(tmp_path)

    def test_may_have_a_damaged_hint(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
            trie.subscribe("a", "alice")
            publisher.publish()
        for hint in (b"", b"x", b"%020d" % 7, b"%020d" % 1, b"%020d" % 0):
            (tmp_path / "_versions" / "newest").write_bytes(hint)
            assert_equal(snapshot.restore(tmp_path), trie)

    def test_have_damaged_or_missing_files(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "alice")
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
            trie.subscribe("b", "bob")
            publisher.publish()
        first, second = snapshot.versions(tmp_path)
        assert first.full is not None
        assert second.feed is not None
        for file in (first.full, second.feed):
            path = tmp_path / file.path
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            for bad in (bytes(content), content[:-1], b""):
                path.write_bytes(bad)
                with pytest.raises(snapshot.DamagedError, match=path.name):
                    snapshot.restore(tmp_path)
            path.unlink()
            with pytest.raises(snapshot.DamagedError, match=f"{path.name} is missing"):
                snapshot.restore(tmp_path)
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
        manifest = tmp_path / "_versions" / f"{1:020}.json"
        manifest.unlink()
        with pytest.raises(snapshot.DamagedError, match=f"{manifest.name} is missing"):
            snapshot.restore(tmp_path)

    def test_lack_what_the_next_publisher_needs(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
        (version,) = snapshot.versions(tmp_path)
        assert version.full is not None
        (tmp_path / version.full.path).unlink()
        trie.subscribe("a", "alice")
        for take in (lambda: snapshot.Publisher(trie, tmp_path), lambda: snapshot.take_over(tmp_path)):
            with pytest.raises(snapshot.DamagedError, match=f"{version.full.path} is missing"):
                take()

    @pytest.mark.parametrize(
        "use", [snapshot.restore, snapshot.follow, lambda where: snapshot.Publisher(SubscriptionTrie(), where)]
    )
    def test_lack_the_manifest_before_a_claim(self, tmp_path: Path, use: Callable[[Path], object]) -> None:
        with snapshot.Publisher(SubscriptionTrie(), tmp_path) as publisher:
            publisher.publish()
        snapshot.Publisher(SubscriptionTrie(), tmp_path)
        manifest = tmp_path / "_versions" / f"{1:020}.json"
        manifest.unlink()
        with pytest.raises(snapshot.DamagedError, match=f"{manifest.name} is missing"):
            use(tmp_path)

    def test_are_elsewhere(self, tmp_path: Path) -> None:
        with snapshot.Publisher(SubscriptionTrie(), f"file://{tmp_path}/a%20b") as publisher:
            publisher.publish()
        assert len(snapshot.versions(tmp_path / "a b")) == 1
        pytest.importorskip("obstore")
        with pytest.raises(ValueError, match="obstore has no such store"):
            snapshot.Publisher(SubscriptionTrie(), "other://bucket/published")

    def test_are_asked_for_what_they_have_not(self, tmp_path: Path) -> None:
        with snapshot.Publisher(SubscriptionTrie(), tmp_path) as publisher:
            publisher.publish()
        for at in (2, -1, 10**30):
            with pytest.raises(snapshot.NotPublishedError, match=r"kept are 1 .* to 1 "):
                snapshot.restore(tmp_path, at=at)
        with pytest.raises(ValueError, match="no zone"):
            snapshot.restore(tmp_path, at=datetime.datetime(2026, 1, 1))  # noqa: DTZ001
        with pytest.raises(TypeError, match="at must be"):
            snapshot.restore(tmp_path, at="yesterday")  # type: ignore[call-overload]

    def test_are_read_while_versions_are_removed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 1)
        trie = SubscriptionTrie()
        trie.subscribe("always", "alice")
        done = threading.Event()
        with snapshot.Publisher(trie, tmp_path, keep=1) as publisher:
            publisher.publish()

            def publish() -> None:
                try:
                    for number in range(60 if gil_enabled() else 20):  # readers that run in parallel hold it up
                        trie.subscribe("a", f"s{number}")
                        publisher.publish()
                finally:
                    done.set()

            def read() -> None:
                while not done.is_set():
                    assert snapshot.restore(tmp_path).match("always") == ("alice",)

            def follow() -> None:
                with snapshot.follow(tmp_path) as follower:
                    while not done.is_set():
                        follower.poll()
                        assert follower.trie.match("always") == ("alice",)
                    follower.poll()
                    assert_equal(follower.trie, trie)

            run_together([publish, read, follow])
