"""What publishing promises beside any history (test_published_machine): numbers, times, feeds, keys, limits, refusals."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import errno
import itertools
import math
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest

import snapshot
from snapshot import columns
from snapshot.published import (
    composer,
    manifest,
    open_directory,
    restoring,
    retention,
    store,
    taking_over,
    writer,
)
from snapshot.published.claim import claimed
from snapshot.published.directory import Directory
from snapshot.published.feed import feed_schema
from snapshot.storing import Storing
from stress.processes import gil_enabled
from subtrie import AMQP, MQTT, NATS, SubscriptionTrie, TopicStore
from tests.snapshot.support import go_on, held_by, published, trie_of
from tests.snapshot.world import LEFT, content
from tests.threads import run_together

HOUR, START = datetime.timedelta(hours=1), datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)


class TestVersions:
    def test_are_numbered_and_say_what_they_have(self, tmp_path: Path) -> None:
        trie = trie_of(("a.*", "alice", {"qos": 1}), ("b", "bob"))
        with snapshot.Publisher(trie, tmp_path) as publisher:
            assert (publisher.mark, publisher.version) == (None, None)
            assert publisher.publish() == publisher.publish() == 1
            trie.subscribe("c", "carol")
            trie.subscribe("a.*", "alice", qos=2)
            trie.unsubscribe("b", "bob")
            assert publisher.publish() == 2
        first, second = snapshot.versions(tmp_path)
        assert (first.version, first.kind, first.subscriptions, first.changes) == (1, "full", 2, 2)
        assert (second.version, second.kind, second.subscriptions, second.changes) == (2, "changes", 2, 3)
        assert first.time < second.time <= datetime.datetime.now(datetime.UTC)
        feed = second.feed
        assert feed is not None
        rows = pq.read_table(tmp_path / feed.path).to_pylist()
        assert sorted((row["_change_type"], row["filter"], row["subscriber"], row["options"]) for row in rows) == [
            ("delete", "b", "bob", []),
            ("insert", "c", "carol", []),
            ("update_postimage", "a.*", "alice", [("qos", "2")]),
            ("update_preimage", "a.*", "alice", [("qos", "1")]),
        ]
        assert {(row["_commit_version"], row["_commit_timestamp"]) for row in rows} == {(2, second.time)}
        assert feed_schema().names[:-3] == columns.stored_schema().names

    @pytest.mark.parametrize(("patched", "changes"), [("FEWEST_FEEDS", 1), ("FEWEST_ROWS", 8)])
    def test_are_full_again_when_changes_outweigh_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patched: str, changes: int
    ) -> None:
        monkeypatch.setattr(composer, patched, 3 if changes == 1 else 20)
        trie = trie_of(*((f"a.{number}", "s") for number in range(20 if changes > 1 else 0)))
        with snapshot.Publisher(trie, tmp_path) as publisher:
            for step in range(10):
                publisher.publish()
                trie.subscribe_many((f"a.{number}", "s", {"n": step}) for number in range(changes))
        kinds = "".join(version.kind[0] for version in snapshot.versions(tmp_path))
        assert kinds == ("fcccfcccfc" if changes == 1 else "fccfccfccf")
        assert all(version.feed is not None for version in snapshot.versions(tmp_path)[1:])

    def test_are_merged_so_that_a_beginner_opens_few_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also after a take-over, and beside the feeds of all versions, which followers and `changes` take."""
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 1000)
        trie, publisher = published(tmp_path, 1)
        opened = []
        with snapshot.follow(tmp_path) as follower:
            for step in range(2, 102):
                if step % 45 == 0:
                    trie, publisher = snapshot.take_over(tmp_path)
                trie.subscribe("a.*", f"s{step % 7}", n=step)
                trie.unsubscribe("a.*", f"s{step % 5}")
                version = publisher.publish()
                opened.append(len(open_directory(tmp_path).parts(snapshot.versions(tmp_path)[-1]).feeds))
            assert follower.poll() == version
        assert 20 < max(opened) <= composer.LOOSE_FEEDS
        assert [one.version for one in snapshot.versions(tmp_path) if one.full] == [1]
        assert snapshot.changes(tmp_path, 0).read_all().num_rows == len(trie)
        assert snapshot.restore(tmp_path) == snapshot.restore(tmp_path, version) == follower.trie == trie

    def test_have_full_instants_of_other_processes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Then the publisher writes none. Retention removes them, and what a killed process left."""
        monkeypatch.setattr(composer, "FEWEST_ROWS", 12)
        trie, publisher = published(tmp_path, 1, keep=3)
        for step in range(2, 40):
            trie.subscribe_many((f"b.{step % 3}.{number}", "s", {"n": step}) for number in range(3))
            assert publisher.publish() == step
            if step % 2 == 0:
                assert snapshot.compact(tmp_path) == snapshot.compact(tmp_path) == step
            if step == 5:
                (tmp_path / "full" / f"{step:020}.c.0.parquet").touch()
        directory, kept = open_directory(tmp_path), snapshot.versions(tmp_path)
        assert [one.version for one in kept if one.full] == []
        assert len(directory.numbers()) < 12
        assert len(list((tmp_path / "full").iterdir())) < 12
        assert directory.parts(kept[-1]).full.version == 38
        assert snapshot.restore(tmp_path) == trie
        (tmp_path / "full" / f"{38:020}.json").write_text("damaged")
        assert snapshot.restore(tmp_path) == trie


class TestRetention:
    def test_keeps_a_number_of_versions_and_few_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also of claims, whether something is published after them or not."""
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 3)
        trie = SubscriptionTrie()
        for number in range(40):
            with snapshot.Publisher(trie, tmp_path, keep=3) as publisher:
                for step in range(number % 3):
                    trie.subscribe("a", f"s{number}", n=step)
                    publisher.publish()
        assert len(snapshot.versions(tmp_path)) == 3
        assert [
            len(os.listdir(tmp_path / name)) <= most for name, most in (("full", 3), ("changes", 9), ("_versions", 30))
        ] == [True] * 3

    def test_keeps_what_is_not_too_old_and_some_of_what_is_older(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A version every ten minutes, and two publishers. Of the full instants that are left, `compact` writes some."""
        times, held = (START + number * HOUR / 6 for number in itertools.count()), dict[int, int]()
        monkeypatch.setattr(writer, "cut_of", lambda trie: columns.cut_of(trie)._replace(taken_at=next(times)))
        for _ in range(2):
            trie, publisher = snapshot.take_over(
                tmp_path, keep=[(3 * HOUR, None), (8 * HOUR, HOUR), (40 * HOUR, 4 * HOUR)]
            )
            for step in range(150):
                trie.subscribe("a", "s", n=step)
                held[publisher.publish()] = step
                if step == 120:
                    assert snapshot.compact(tmp_path) == publisher.version
        kept = snapshot.versions(tmp_path)
        apart = [(kept[-1].time - one.time, after.time - one.time) for one, after in itertools.pairwise(kept)]
        assert {gap for age, gap in apart if age <= 3 * HOUR} == {HOUR / 6}
        assert all(gap <= (7 * HOUR / 6 if age <= 8 * HOUR else 4 * HOUR) for age, gap in apart)
        assert 18 + 5 + 8 <= len(kept) < 18 + 10 + 16
        for each, at in itertools.product(kept, ("version", "time")):
            found = snapshot.restore(tmp_path, getattr(each, at)).subscriptions()
            assert [one.options["n"] for one in found] == [held[each.version]]
        near = f"version {kept[2].version + 1}, .* next to it {kept[2].version} .* and {kept[3].version} "
        for gone, says in ((kept[2].version + 1, near), (kept[0].time - HOUR, "as early as")):
            with pytest.raises(snapshot.NotPublishedError, match=says):
                snapshot.restore(tmp_path, gone)
        # What is left stays as long as the next publisher keeps any version that is so old, or so many.
        numbers = [each.version for each in kept]
        for keep, most in [
            (None, 99),
            (99, 99),
            (99 * HOUR, 99),
            ([(90 * HOUR, None), (99 * HOUR, HOUR)], 99),
            (25, 25),
        ]:
            trie, publisher = snapshot.take_over(tmp_path, keep=keep)  # type: ignore[arg-type]
            trie.subscribe("a", "s", n=str(keep))
            numbers = [*numbers, publisher.publish()][-most:]
            assert [each.version for each in snapshot.versions(tmp_path)] == numbers

    @pytest.mark.parametrize("is_full", [True, False])
    def test_leaves_nothing_half(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_full: bool) -> None:
        """Without a copy, as on a full disk, a version stays whole. If it is made when a successor has removed the rest
        of the version, it is none."""
        create = store.LocalStore.create

        def slowly(self: store.LocalStore, name: str, *others: Any) -> None:
            if name.endswith(manifest.KEPT):
                if is_full:
                    raise OSError(errno.EDQUOT, name)
                monkeypatch.undo()
                go_on(*snapshot.take_over(tmp_path, keep=1), 20)
            create(self, name, *others)

        monkeypatch.setattr(store.LocalStore, "create", slowly)
        with contextlib.nullcontext() if is_full else pytest.raises(snapshot.FencedError):
            go_on(*snapshot.take_over(tmp_path, keep=LEFT), 20)
        versions = [each.version for each in snapshot.versions(tmp_path)]
        assert versions == (list(range(1, 21)) if is_full else [max(versions)])

    @pytest.mark.parametrize("meanwhile", [1, 9])
    def test_lists_what_is_left_meanwhile_and_not_what_is_damaged(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: int
    ) -> None:
        """That stays what it is, and is an error only for who wants it, or may want it."""

        def slowly(self: Directory, folder: str = manifest.VERSIONS) -> Sequence[int]:
            found = numbers(self, folder)
            monkeypatch.undo()
            go_on(trie, publisher, meanwhile)
            return found

        published(tmp_path, 6, keep=[LEFT[0], (99 * HOUR, LEFT[0][0])])
        (tmp_path / manifest.kept_name(2)).write_text("damaged")
        unfinished = tmp_path / "full" / f".{3:020}.0.{'ab' * 16}.json"  # a copy that a killed publisher was making
        unfinished.touch()
        trie, publisher = snapshot.take_over(tmp_path, keep=[LEFT[0], (99 * HOUR, LEFT[0][0])])
        assert not unfinished.exists()
        numbers = Directory.numbers
        monkeypatch.setattr(Directory, "numbers", slowly)
        kept = snapshot.versions(tmp_path)
        assert [each.version for each in kept][:5] == [1, 3, 4, 5, 6]
        assert len(snapshot.restore(tmp_path, 3)) == len(snapshot.restore(tmp_path, kept[1].time)) == 3
        for at in (2, kept[1].time - LEFT[0][0]):
            with pytest.raises(snapshot.DamagedError, match=r"kept\.json"):
                snapshot.restore(tmp_path, at)

    def test_goes_on_after_a_clock_ran_ahead(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The times of versions tell nothing until the clock is there again, so what else could end their growth?"""
        passed = [0.0]
        monkeypatch.setattr(retention, "monotonic", lambda: passed[0])
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 2)
        trie, publisher = published(tmp_path, 0)
        ahead = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=3650)
        publisher._writer._previous = dataclasses.replace(publisher._writer._previous, time=ahead)
        go_on(trie, publisher, 1)
        publisher = snapshot.Publisher(trie, tmp_path, keep=HOUR)
        for _ in range(60):
            passed[0] += 600
            go_on(trie, publisher, 1)
        kept = snapshot.versions(tmp_path)
        assert kept[0].time > ahead
        assert len(kept) == 7

    @pytest.mark.parametrize("keep", [3, HOUR])
    def test_reads_few_of_the_manifests_before(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: retention.Keep
    ) -> None:
        """So one that is damaged stops nobody, unless it is needed, and goes with the others."""
        published(tmp_path, 60)
        (tmp_path / manifest.manifest_name(20)).write_text("damaged")
        trie, passed, read = SubscriptionTrie(), itertools.chain([0.0], itertools.repeat(3600.0)), list[int]()
        monkeypatch.setattr(retention, "monotonic", passed.__next__)
        monkeypatch.setattr(Directory, "get", lambda *of, get=Directory.get: read.append(of[1]) or get(*of))
        go_on(trie, snapshot.Publisher(trie, tmp_path, keep=keep), 2)
        assert read.count(30) == 1  # when it is removed
        assert [one.version for one in snapshot.versions(tmp_path)] == [60, 62, 63]

    @pytest.mark.parametrize("is_stuck", [True, False])
    def test_removes_no_claim_while_an_earlier_publisher_may_write(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_stuck: bool
    ) -> None:
        trie, _ = published(tmp_path)
        if is_stuck:
            monkeypatch.setattr(store.LocalStore, "clear_folder", Mock(side_effect=PermissionError))
        publisher = snapshot.Publisher(trie, tmp_path, keep=1)
        go_on(trie, publisher, 40)
        assert (tmp_path / "_versions" / f"{4:020}.json").exists() is is_stuck


def test_keys_that_two_have_set_the_later_one_aside_until_the_other_leaves(tmp_path: Path) -> None:
    """A subscriber is asked for its key once, while it has subscriptions."""
    asked: list[Any] = []

    def key(one: Any) -> str:
        asked.append(one)
        return str(one[1])

    def stored() -> set[tuple[str, Any]]:
        publisher.publish()
        return set(held_by(snapshot.restore(tmp_path)))

    trie = trie_of(("a", ("x", 1)))
    publisher = snapshot.Publisher(trie, tmp_path, key=key)
    assert stored() == {("a", "1")}
    trie.subscribe_many([("b", ("y", 1)), ("c", ("y", 1)), ("d", ("z", 2)), ("e", ("x", 3), {"n": object()})])
    assert stored() == {("a", "1"), ("d", "2")}
    assert {one.filter for one in publisher.refused} == {"b", "c", "e"}
    assert "both have the key '1'" in next(one.reason for one in publisher.refused if one.filter == "b")
    trie.unsubscribe_many([("c", ("y", 1)), ("a", ("x", 1)), ("e", ("x", 3))])
    assert stored() == {("b", "1"), ("d", "2")}
    assert publisher.refused == ()
    trie.unsubscribe("b", ("y", 1))
    trie.subscribe_many([("b", ("w", 1), {"n": 2}), ("e", ("v", 3)), ("f", ("z", 2))])  # one on the same filter
    assert stored() == {("b", "1"), ("d", "2"), ("e", "3"), ("f", "2")}
    assert [asked.count(("x", 1)), asked.count(("z", 2))] == [1, 1]


@pytest.mark.parametrize("take_over", [False, True])
def test_each_publisher_gives_the_subscribers_of_its_own_trie_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, take_over: bool
) -> None:
    """In full instants, too, where it does not know the instant of the last version, which has keys already."""
    monkeypatch.setattr(composer, "FEWEST_FEEDS", 2)
    published(tmp_path, 1)
    kinds = set()
    for number in range(6):
        if take_over:
            trie, publisher = snapshot.take_over(tmp_path, key=lambda one: f"k{one}"[-3:])
        else:
            trie = trie_of(*((filter, number) for filter in ("a", "b")))
            publisher = snapshot.Publisher(trie, tmp_path, key=lambda one: f"k{one}"[-3:])
        trie.subscribe_many([(one.filter, one.subscriber, {"n": (number,)}) for one in trie.subscriptions()])
        publisher.publish()
        expected = {(one.filter, f"k{one.subscriber}"[-3:], (number,)) for one in trie.subscriptions()}
        assert {
            (one.filter, one.subscriber, one.options["n"]) for one in snapshot.restore(tmp_path).subscriptions()
        } == expected
        kinds.add(snapshot.versions(tmp_path)[-1].kind)
    assert kinds == {"full", "changes"}


@pytest.mark.parametrize("call", ["subscriber", "options", "key"])
@pytest.mark.parametrize("full", [True, False])
def test_an_error_that_does_not_come_again_sets_nothing_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: bool, call: str
) -> None:
    """It is no value's, but that of a signal's handler, which may come at any line, or of a resource that was busy."""
    trie = trie_of(("a", 1))
    left = [1]

    def once(*arguments: Any) -> Any:
        if left and arguments[-1] in (2, {"n": b"2"}):
            raise LookupError(left.pop())
        return str(arguments[-1]) if len(arguments) == 1 else given(*arguments)

    given = getattr(Storing, call, None)
    publisher = snapshot.Publisher(trie, tmp_path, key=once if call == "key" else None)
    if not full:
        publisher.publish()
    trie.subscribe("b", 2, n=b"2")
    if given is not None:
        monkeypatch.setattr(Storing, call, once)
    with contextlib.suppress(LookupError):
        publisher.publish()
    assert not left
    publisher.publish()
    assert (len(snapshot.restore(tmp_path)), publisher.refused) == (2, ())


STRICT: list[tuple[list[tuple[Any, ...]], type[Exception], str]] = [
    ([("b", object())], TypeError, r"object .* needs a tagged text; give a key="),
    ([("b", 2)], TypeError, "subscribers are (strings here, and 2|integers here, and 'alice') needs a tagged text"),
    ([("b", "~s")], TypeError, "'~s' needs a tagged text; give a key="),
    ([("b", "s", {"m": object()})], TypeError, "option 'm' needs a tagged text"),
    ([("b", "s", {"m": "\ud800"})], TypeError, "option 'm' needs a tagged text"),
    ([("b", "s", {"queue": "~g"})], TypeError, "option 'queue' needs a tagged text: '~g'"),
]


@pytest.mark.parametrize(("rows", "error", "says"), STRICT)
def test_a_strict_publisher_publishes_nothing_of_what_needs_more_than_columns(
    tmp_path: Path, rows: list[tuple[Any, ...]], error: type[Exception], says: str
) -> None:
    trie = trie_of(("a", "alice", {"n": 1}), ("q", "s", {"queue": "~g"}), dialect=NATS)
    snapshot.Publisher(trie, tmp_path).publish()
    with snapshot.Publisher(trie, tmp_path, strict=True) as publisher:
        publisher.publish()
        files = sorted(tmp_path.rglob("*"))
        trie.subscribe_many(rows)
        with pytest.raises(error, match=says):
            publisher.publish()
        assert sorted(tmp_path.rglob("*")) == files
        trie.unsubscribe_many(rows)
        assert publisher.publish() == 1
        trie.unsubscribe_many([("a", "alice"), ("q", "s", {"queue": "~g"})])  # which may go
        assert publisher.publish() == 3
        trie.subscribe("a", 7, n="text")  # earlier types do not matter then
        assert publisher.publish() == 4
        assert snapshot.restore(tmp_path) == trie
        trie.check()


class TestTakeOver:
    def test_of_a_new_directory_begins_one(self, tmp_path: Path) -> None:
        noticed: list[tuple[str, bool]] = []
        for step in range(3):
            into = SubscriptionTrie(MQTT, index=True, exact=True, on_interest=lambda *told: noticed.append(told))
            trie, publisher = snapshot.take_over(tmp_path / "new", MQTT, into=into)
            assert trie is into
            assert sorted(trie.filters("s")) == [f"a/{number}" for number in range(step)]
            with publisher:
                trie.subscribe(f"a/{step}", "s", qos=step)
                publisher.publish()
            trie.check()
        assert [version.changes for version in snapshot.versions(tmp_path / "new")] == [1, 1, 1]
        assert len(noticed) == 1 + 2 + 3

    @pytest.mark.parametrize("is_lost", [False, True])
    def test_that_is_fenced_before_it_has_caught_up_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_lost: bool
    ) -> None:
        """What it has to read after its claim is removed by a later publisher, or is lost."""
        old, first = published(tmp_path)

        def overtaken(*arguments: Any) -> Any:
            monkeypatch.setattr(taking_over, "claimed", claimed)
            go_on(old, first, 1, "meanwhile")
            taken = claimed(*arguments)
            if is_lost:
                shutil.rmtree(tmp_path / "changes")
                return taken
            trie, publisher = snapshot.take_over(tmp_path, keep=1)
            go_on(trie, publisher, 40, "late")
            return taken

        monkeypatch.setattr(taking_over, "claimed", overtaken)
        with pytest.raises(snapshot.DamagedError if is_lost else snapshot.FencedError):
            snapshot.take_over(tmp_path)

    def test_takes_a_later_number_if_its_own_is_used_and_free_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The publisher has published and removed that version while the newcomer was about to create its claim."""
        trie, publisher = published(tmp_path, keep=1)

        def slowly(*claim: Any, create: Any = store.LocalStore.create) -> None:
            monkeypatch.undo()
            go_on(trie, publisher, 40)
            create(*claim)

        monkeypatch.setattr(store.LocalStore, "create", slowly)
        assert snapshot.take_over(tmp_path)[1].publish() == publisher.version == 43


def test_outdated_tries_are_refused_and_fence_nobody(tmp_path: Path) -> None:
    """They are those of this directory, whatever else they were published to, and no forks."""
    old, first = published(tmp_path / "one")
    published(tmp_path / "other", 5)
    follower, restored = snapshot.follow(tmp_path / "one"), snapshot.restore(tmp_path / "one")
    snapshot.Publisher(restored, tmp_path / "other").publish()
    old.subscribe("acknowledged", "bob")
    assert first.publish() == 4
    for outdated in (restored, follower.trie):
        with pytest.raises(snapshot.OutdatedError, match="the trie comes from version 3"):
            snapshot.Publisher(outdated, tmp_path / "one")
    old.subscribe("more", "bob")
    assert first.publish() == 5
    snapshot.Publisher(restored.fork(), tmp_path / "one").publish()
    assert snapshot.restore(tmp_path / "one") == restored


def test_readers_and_followers_never_see_less_while_versions_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(composer, "FEWEST_FEEDS", 1)
    trie, done = trie_of(("always.#", "alice")), threading.Event()
    with snapshot.Publisher(trie, tmp_path, keep=1) as publisher:
        publisher.publish()
        follower = snapshot.follow(tmp_path)

        def publish() -> None:
            try:
                go_on(trie, publisher, 60 if gil_enabled() else 10)  # readers that run in parallel hold it up
            finally:
                done.set()

        def read() -> None:
            while not done.is_set():
                follower.poll()
                assert snapshot.restore(tmp_path).match("always") == ("alice",)

        def watch() -> None:
            while not done.is_set():
                assert follower.trie.match("always.here") == ("alice",)

        run_together([publish, read, watch])
        follower.poll()
        assert content(follower.trie) == content(trie)


def test_many_threads_publish_each_change_once(tmp_path: Path) -> None:
    trie, publisher = published(tmp_path, 1)

    run_together([lambda name=name: go_on(trie, publisher, 10, name) for name in "xyz"])
    assert sum(version.changes for version in snapshot.versions(tmp_path)) == 31
    assert snapshot.restore(tmp_path) == trie
    trie.check()


# ----------------------------------------------------------------------------------------------------------- refusals

FULL, SET = TopicStore(MQTT, {"a": 1}), trie_of(("a", "s"), dialect=MQTT)
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"every": 0}, ValueError, "every must be a positive time"),
    ({"every": "1s"}, TypeError, "every must be seconds or a timedelta"),
    ({"every": True}, TypeError, "every must be seconds or a timedelta"),
    ({"changes": 0}, ValueError, "changes must be at least 1"),
    ({"changes": 1.5}, TypeError, "changes must be a number"),
    *(
        ({"keep": keep}, ValueError, "keep must be a number .*; or a positive timedelta; or pairs")
        for keep in (
            *(
                0,
                True,
                0 * HOUR,
                -HOUR,
                "7d",
                "ab",
                b"ab",
                range(3),
                [],
                [5],
                [HOUR, HOUR],
                [(HOUR,)],
                [(HOUR, None, 3)],
            ),
            *([(HOUR, HOUR)], [(HOUR, None), None], [(1, None)], [(None, None)], [(2 * HOUR, None), (HOUR, HOUR)]),
            *([(HOUR, None), (2 * HOUR, each)] for each in (None, True, 60, math.nan, 0 * HOUR)),
            [(HOUR, None), (2 * HOUR, HOUR), (3 * HOUR, HOUR)],
        )
    ),
    *(
        ({"keep": keep}, TypeError, "keep must be a number .*; or a positive timedelta; or pairs")
        for keep in (1.5, math.nan, {(HOUR, None)}, {"a": 1}, iter([(HOUR, None)]))
    ),
    ({"key": 5}, TypeError, "key must be a function"),
    ({"strict": "no"}, TypeError, "strict must be True or False"),
    ({"on_error": 5}, TypeError, "on_error and on_fenced must be functions"),
    ({"on_fenced": 5}, TypeError, "on_error and on_fenced must be functions"),
    ({"storage": {"region": "x"}}, ValueError, "storage= is for object stores"),
    ({"into": FULL}, ValueError, "into= has content"),
    ({"into": SET}, ValueError, "into= has content"),
    ({"into": SubscriptionTrie(MQTT).snapshot()}, TypeError, "is a snapshot"),
    ({"into": TopicStore(MQTT).snapshot()}, TypeError, "snapshot"),
    ({"into": SubscriptionTrie(MQTT, weak=True)}, ValueError, "weak=True"),
    ({"into": {}}, TypeError, "into= must be an empty"),
    ({"into": TopicStore(MQTT), "dialect": NATS}, ValueError, "into= is of the dialect MQTT, not NATS"),
    ({"dialect": "AMQP"}, TypeError, "dialect must be a Dialect, such as AMQP, not str"),
    ({"known": 5}, TypeError, "the mark of a version is a text"),
    ({"known": "3.x.y"}, ValueError, "is not the mark of a published version"),
    ({"known": "3." + "a" * 32 + "." + "b" * 64}, snapshot.HistoryError, "nothing is published there"),
    ({"trie": None}, TypeError, "the trie must be"),
    ({"trie": {}}, TypeError, "the trie must be"),
    ({"trie": SubscriptionTrie(weak=True)}, ValueError, "weak"),
]


@pytest.mark.parametrize(("arguments", "error", "says"), WRONG)
def test_what_makes_no_sense_is_refused_before_anything_is_made(
    tmp_path: Path, arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    where = tmp_path / "new"
    calls: list[Callable[..., Any]] = [] if "trie" in arguments else [snapshot.take_over]
    if arguments.keys() <= {"known"}:
        calls += [snapshot.restore, snapshot.follow]
    elif not arguments.keys() & {"into", "dialect"}:
        calls.append(lambda where, **named: snapshot.Publisher(**{"trie": SubscriptionTrie(), "where": where, **named}))
    for call in calls:
        with pytest.raises(error, match=says):
            call(where, **arguments)
    assert not where.exists()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of a set and one of a store, files of them, one with nothing yet, a folder of others' files."""
    root = tmp_path_factory.mktemp("places")
    snapshot.Publisher(SET, root / "set").publish()
    snapshot.Publisher(FULL, root / "store").publish()
    snapshot.write(SET, root / "set.parquet")
    snapshot.write(FULL, root / "store.parquet")
    snapshot.Publisher(SET, root / "begun")
    (root / "others").mkdir()
    (root / "others" / "letter.txt").touch()
    return root


def another(where: Path) -> snapshot.Publisher:
    return snapshot.Publisher(SubscriptionTrie(), where)


REFUSED: list[tuple[str, Any, dict[str, Any], type[Exception], str]] = [
    ("nowhere", snapshot.versions, {}, FileNotFoundError, "is not a published directory"),
    ("nowhere", snapshot.restore, {}, FileNotFoundError, "nothing was published there"),
    ("nowhere", snapshot.follow, {}, FileNotFoundError, "nothing was published there"),
    ("begun", snapshot.restore, {}, snapshot.NotPublishedError, "nothing has been published yet"),
    ("begun", snapshot.follow, {}, snapshot.NotPublishedError, "nothing has been published yet"),
    ("others", snapshot.take_over, {}, ValueError, r"other files \(letter.txt\)"),
    ("set", snapshot.take_over, {"dialect": NATS}, ValueError, "of the dialect MQTT, not NATS"),
    ("set", another, {}, ValueError, "dialect MQTT, and the trie is of AMQP"),
    ("set", snapshot.take_over, {"into": SubscriptionTrie(AMQP)}, ValueError, "of the dialect MQTT, not AMQP"),
    ("set", snapshot.take_over, {"into": TopicStore(MQTT)}, ValueError, "has subscriptions, not topics"),
    ("store", snapshot.take_over, {"into": TopicStore(NATS)}, ValueError, "of the dialect MQTT, not NATS"),
    ("store", snapshot.take_over, {"into": SubscriptionTrie(MQTT)}, ValueError, "has the topics of a store"),
    ("set", snapshot.restore, {"at": 2}, snapshot.NotPublishedError, r"kept are 1 .* to 1 "),
    ("set", snapshot.restore, {"at": -1}, snapshot.NotPublishedError, r"kept are 1 .* to 1 "),
    ("set", snapshot.restore, {"at": 10**30}, snapshot.NotPublishedError, r"kept are 1 .* to 1 "),
    ("set", snapshot.restore, {"at": datetime.datetime(2026, 1, 1)}, ValueError, "no zone"),  # noqa: DTZ001
    ("set", snapshot.restore, {"at": "yesterday"}, TypeError, "at must be"),
    ("set", snapshot.restore, {"kind": TopicStore}, ValueError, "set has .*, and kind= asks for a TopicStore"),
    ("store", snapshot.restore, {"kind": SubscriptionTrie}, ValueError, "store has .* asks for a SubscriptionTrie"),
    ("set.parquet", snapshot.load, {"kind": TopicStore}, ValueError, "set.parquet has .* asks for a TopicStore"),
    ("store.parquet", snapshot.load, {"kind": SubscriptionTrie}, ValueError, "has .* asks for a SubscriptionTrie"),
    ("set", snapshot.restore, {"kind": dict}, TypeError, "kind must be"),
    ("set.parquet", snapshot.load, {"kind": dict}, TypeError, "kind must be"),
    ("set", snapshot.load, {}, IsADirectoryError, r"published directory .* snapshot\.restore\(path\)"),
    (".", snapshot.load, {}, IsADirectoryError, r"published directory .* snapshot\.restore\(path\)"),
    ("set.parquet", snapshot.take_over, {}, NotADirectoryError, "set.parquet"),
]


@pytest.mark.parametrize(("place", "call", "arguments", "error", "says"), REFUSED)
def test_what_is_not_there_is_refused_and_changes_nothing(
    root: Path, place: str, call: Any, arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    before = sorted(root.rglob("*"))
    with pytest.raises(error, match=says):
        call(root / place, **arguments)
    assert sorted(root.rglob("*")) == before
    into = arguments.get("into")
    assert not (into is not None and list(into.subscriptions() if isinstance(into, SubscriptionTrie) else into))


def test_a_publisher_of_a_removed_directory_is_told(tmp_path: Path) -> None:
    trie, first = published(tmp_path / "here")
    shutil.rmtree(tmp_path / "here")
    trie.subscribe("b", "bob")
    with pytest.raises(FileNotFoundError, match="has been removed"):
        first.publish()
    first.close()
    with pytest.raises(ValueError, match="closed"):
        first.publish()


def test_a_place_may_be_a_uri_or_what_no_store_has(tmp_path: Path) -> None:
    with snapshot.Publisher(SET, f"file://{tmp_path}/a%20b") as publisher:
        publisher.publish()
    assert len(snapshot.versions(tmp_path / "a b")) == 1
    for where, says in (
        (tmp_path / "\udcff", "cannot be encoded as UTF-8"),
        ("other://x/y", "obstore has no such store"),
    ):
        if says.startswith("obstore"):
            pytest.importorskip("obstore")
        for call in (lambda where: snapshot.Publisher(SET, where), snapshot.take_over):
            with pytest.raises(ValueError, match=says):
                call(where)
    assert len(list(tmp_path.iterdir())) == 1


def test_new_folders_are_flushed_up_to_the_first_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: set[Path] = set()
    real = store._sync
    monkeypatch.setattr(store, "_sync", lambda path: (flushed.add(path), real(path)))
    where = tmp_path / "new" / "deep" / "er"
    with snapshot.Publisher(SubscriptionTrie(), where):
        assert {where, *list(where.parents)[:3]} <= flushed
        assert tmp_path in flushed
        assert tmp_path.parent not in flushed


class TestCompact:
    @pytest.mark.parametrize(("of", "name"), [(store.LocalStore, "produce"), (restoring, "apply_feed")])
    def test_begins_again_if_its_version_is_removed_meanwhile(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: Any, name: str
    ) -> None:
        trie, publisher = published(tmp_path, keep=2)

        def slowly(*how: Any, call: Any = of.__dict__[name]) -> Any:
            monkeypatch.undo()
            made = call(*how)
            go_on(trie, publisher, 60)
            return made

        monkeypatch.setattr(of, name, slowly)
        assert (snapshot.compact(tmp_path), snapshot.restore(tmp_path)) == (publisher.version, trie)

    def test_lets_a_take_over_begin_there_that_could_not_begin_before(self, tmp_path: Path) -> None:
        trie, _ = published(tmp_path, 6)
        snapshot.compact(tmp_path)
        (tmp_path / "_versions" / f"{3:020}.json").unlink()
        again, publisher = snapshot.take_over(tmp_path)
        again.subscribe("more", 1)
        assert publisher.publish() == 8
        assert snapshot.restore(tmp_path) == again != trie


def test_directories_of_earlier_versions_are_read_and_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of format 2; and those that tagged integers beyond 64 bits in feeds, which would not be found again."""
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "FORMAT", 2)
        patch.setattr(
            Storing,
            "subscriber",
            lambda self, given, text=Storing.subscriber: (
                text(self, given) if given < 2**63 else f'~{{"~int": "{given:#x}"}}'
            ),
        )
        published(tmp_path, name=lambda number: number * 2**63)
    follower = snapshot.follow(tmp_path)
    trie, publisher = snapshot.take_over(tmp_path)
    assert trie.unsubscribe("a.2", 2**64)
    go_on(trie, publisher, 40)
    assert not snapshot.restore(tmp_path, 5).match("a.2")
    assert follower.poll() == snapshot.compact(tmp_path) == publisher.version
    assert snapshot.restore(tmp_path) == follower.trie == trie


def test_claims_are_no_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For who looks while there is nothing else yet, and finds the first version when that is to be told; and for who
    asks what has changed since one."""
    trie, publisher = published(tmp_path, 0)
    with (
        monkeypatch.context() as patch,
        pytest.raises(snapshot.NotPublishedError, match="nothing has been published yet"),
    ):
        patch.setattr(Directory, "versions", lambda self: [publisher.publish(), self.newest()][1:])
        snapshot.restore(tmp_path)
    go_on(trie, publisher, 2)
    snapshot.take_over(tmp_path)
    assert [snapshot.changes(tmp_path, since).read_all().num_rows for since in (2, 3, 4)] == [1, 0, 0]


def test_an_error_in_a_thread_that_flushes_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trie, publisher = published(tmp_path)
    here = threading.get_ident()
    trie.subscribe("more", 1)
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(store, "_sync", lambda _: bytes(0 if threading.get_ident() == here else 2**62))
        publisher.publish()
    assert publisher.publish() == 4


def test_a_trie_of_another_kind_is_compared_with_what_another_published(tmp_path: Path) -> None:
    published(tmp_path)
    trie = SubscriptionTrie(exact=True)
    trie.subscribe("a.1", "s1", n=1)
    assert snapshot.Publisher(trie, tmp_path).publish() == 5
    assert held_by(snapshot.restore(tmp_path)) == held_by(trie)
