"""Published directories that are taken over, go back, fork, or hold what no publisher put there."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot.published import composer, open_directory, retention, store, taking_over
from snapshot.published.claim import claimed
from snapshot.published.manifest import FOLDERS, Version, _checksum_of, from_json, sealed, trial_name
from subtrie import MQTT, SubscriptionTrie, TopicStore
from tests.snapshot.test_published import assert_equal, held_by
from tests.threads import run_together


def manifest(where: Path, number: int) -> Path:
    return where / "_versions" / f"{number:020}.json"


def manifests(where: Path) -> list[str]:
    return sorted(name for name in os.listdir(where / "_versions") if name.endswith(".json"))


def published(where: Path, versions: int = 3) -> tuple[SubscriptionTrie, snapshot.Publisher]:
    trie = SubscriptionTrie()
    publisher = snapshot.Publisher(trie, where)
    for number in range(versions):
        trie.subscribe(f"a.{number}", f"s{number}", level=number, note=f"n{number}")
        publisher.publish()
    return trie, publisher


class TestOtherWriters:
    """What a user writes to the trie of a follower is gone after `resynchronise`."""

    def test_of_a_trie(self, tmp_path: Path) -> None:
        trie, publisher = published(tmp_path)
        with snapshot.follow(tmp_path) as follower:
            follower.trie.subscribe("mine", "me")
            follower.trie.subscribe("a.0", "s0", level=9)
            follower.trie.unsubscribe("a.1", "s1")
            trie.subscribe("b", "s")
            publisher.publish()
            follower.poll()
            assert ("b", "s") in follower.trie
            assert ("mine", "me") in follower.trie
            follower.resynchronise()
            assert_equal(follower.trie, trie)

    def test_of_a_store(self, tmp_path: Path) -> None:
        store: TopicStore[Any] = TopicStore(MQTT, {str(number): number for number in range(9)}, max_topics=20)
        publisher = snapshot.Publisher(store, tmp_path)
        publisher.publish()
        with snapshot.follow(tmp_path) as follower:
            copy: Any = follower.trie
            copy["mine"], copy["3"] = b"me", 99
            del copy["4"]
            store["5"] = 55
            publisher.publish()
            follower.poll()
            copy["late"] = 1
            follower.resynchronise()
            assert sorted(copy.entries()) == sorted(store.entries())
            store["6"] = 66
            publisher.publish()
            follower.poll()
            assert sorted(copy.entries()) == sorted(store.entries())


class TestTakeOver:
    def test_of_a_new_directory_begins_one(self, tmp_path: Path) -> None:
        trie, publisher = snapshot.take_over(tmp_path / "new", MQTT)
        with publisher:
            assert (len(trie), trie.dialect) == (0, MQTT)
            trie.subscribe("a/+", "alice")
            assert publisher.publish() == 1
        again, publisher = snapshot.take_over(tmp_path / "new")
        with publisher:
            assert_equal(again, trie)
            assert publisher.publish() == 1

    def test_of_a_new_directory_in_which_another_publishes_at_once_continues_that(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = store.LocalStore.names

        def late(self: store.LocalStore, folder: str) -> list[str]:
            if folder == "":  # it has found no manifest, and asks what else there is
                monkeypatch.undo()
                published(tmp_path)
            return names(self, folder)

        monkeypatch.setattr(store.LocalStore, "names", late)
        assert len(snapshot.take_over(tmp_path)[0]) == 3

    def test_keeps_what_was_acknowledged_after_its_first_look(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old, first = published(tmp_path)

        def later(*arguments: Any) -> Any:
            old.subscribe("late", "bob")
            old.unsubscribe("a.1", "s1")
            first.publish()
            return claimed(*arguments)

        monkeypatch.setattr(taking_over, "claimed", later)
        trie, second = snapshot.take_over(tmp_path)
        assert_equal(trie, old)
        old.subscribe("lost", "bob")
        with pytest.raises(snapshot.FencedError):
            first.publish()
        trie.subscribe("new", "carol")
        second.publish()
        assert_equal(snapshot.restore(tmp_path), trie)
        assert ("late", "bob", None) in held_by(trie)

    def test_keeps_what_was_acknowledged_and_removed_since(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = SubscriptionTrie()
        first = snapshot.Publisher(old, tmp_path, keep=1)
        first.publish()

        def later(*arguments: Any) -> Any:
            for number in range(40):
                old.subscribe("late", f"s{number}")
                first.publish()
            return claimed(*arguments)

        monkeypatch.setattr(taking_over, "claimed", later)
        trie, _ = snapshot.take_over(tmp_path)
        assert_equal(trie, old)

    def test_writes_only_changes_afterwards(self, tmp_path: Path) -> None:
        published(tmp_path)
        trie, publisher = snapshot.take_over(tmp_path)
        trie.subscribe("new", "carol")
        version = open_directory(tmp_path).version_at(publisher.publish())
        assert (version.changes, version.kind) == (1, "changes")

    def test_with_a_key_goes_on_with_the_keys(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", ("x", 1))
        with snapshot.Publisher(trie, tmp_path, key=lambda one: str(one[1])) as publisher:
            publisher.publish()
        trie, publisher = snapshot.take_over(tmp_path, key=lambda one: one if isinstance(one, str) else str(one[1]))
        trie.subscribe("b", ("y", 2))
        publisher.publish()
        assert set(held_by(snapshot.restore(tmp_path))) == {("a", "1", None), ("b", "2", None)}

    def test_of_another_dialect_is_refused_before_the_claim(self, tmp_path: Path) -> None:
        trie, first = published(tmp_path)
        with pytest.raises(ValueError, match="of the dialect AMQP, not MQTT"):
            snapshot.take_over(tmp_path, MQTT)
        trie.subscribe("b", "bob")
        first.publish()

    @pytest.mark.parametrize("arguments", [{"every": 0}, {"changes": 0}, {"keep": 0}])
    def test_with_arguments_that_make_no_sense_claims_nothing(self, tmp_path: Path, arguments: dict[str, Any]) -> None:
        trie, first = published(tmp_path)
        with pytest.raises(ValueError, match="must be"):
            snapshot.take_over(tmp_path, **arguments)
        trie.subscribe("b", "bob")
        first.publish()

    def test_by_many_at_once_leaves_one(self, tmp_path: Path) -> None:
        old, _ = published(tmp_path)
        taken = run_together([lambda: snapshot.take_over(tmp_path)] * 6)
        done = []
        for number, (trie, publisher) in enumerate(taken):
            assert_equal(trie, old)
            trie.subscribe("winner", f"s{number}")
            with contextlib.suppress(snapshot.FencedError):
                publisher.publish()
                done.append(number)
        assert len(done) == 1
        assert_equal(snapshot.restore(tmp_path), taken[done[0]][0])

    def test_that_is_followed_by_another_at_once_leaves_its_claim(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The claim is part of the chain as soon as it is there, though nobody may ever publish with it."""
        old, _ = published(tmp_path)
        create, others = store.LocalStore.create, []

        def followed(self: store.LocalStore, *arguments: Any) -> None:
            create(self, *arguments)
            monkeypatch.setattr(store.LocalStore, "create", create)
            others.append(snapshot.take_over(tmp_path))

        monkeypatch.setattr(store.LocalStore, "create", followed)
        trie, late = snapshot.take_over(tmp_path)
        assert_equal(trie, old)
        trie.subscribe("lost", "bob")
        with pytest.raises(snapshot.FencedError):
            late.publish()
        (trie, publisher) = others[0]
        trie.subscribe("new", "carol")
        publisher.publish()
        assert_equal(snapshot.restore(tmp_path), trie)
        numbers = open_directory(tmp_path).numbers()
        assert numbers == list(range(numbers[0], numbers[-1] + 1))

    @pytest.mark.parametrize("is_lost", [False, True])
    def test_that_is_fenced_before_it_has_caught_up_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_lost: bool
    ) -> None:
        """What it has to read after its claim is removed by a later publisher, or is lost."""
        old, first = published(tmp_path)

        def overtaken(*arguments: Any) -> Any:
            monkeypatch.setattr(taking_over, "claimed", claimed)
            old.subscribe("meanwhile", "s")
            first.publish()
            taken = claimed(*arguments)
            if is_lost:
                shutil.rmtree(tmp_path / "changes")
                return taken
            trie, publisher = snapshot.take_over(tmp_path, keep=1)
            for number in range(40):
                trie.subscribe("late", f"s{number}")
                publisher.publish()
            return taken

        monkeypatch.setattr(taking_over, "claimed", overtaken)
        with pytest.raises(snapshot.DamagedError if is_lost else snapshot.FencedError):
            snapshot.take_over(tmp_path)

    def test_takes_a_dialect(self, tmp_path: Path) -> None:
        published(tmp_path)
        with pytest.raises(TypeError, match="dialect must be a Dialect, such as AMQP, not str"):
            snapshot.take_over(tmp_path, "AMQP")  # type: ignore[call-overload]

    @pytest.mark.parametrize("step", ["add_folder", "create"])
    @pytest.mark.parametrize("late", [False, True])
    def test_never_takes_a_number_that_was_free_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, late: bool
    ) -> None:
        """Meanwhile another publisher takes the number, and publishes until retention has removed it."""
        published(tmp_path)
        original, others = getattr(store.LocalStore, step), []

        def overtaken(self: store.LocalStore, *arguments: Any) -> None:
            monkeypatch.setattr(store.LocalStore, step, original)
            if late and step == "add_folder":
                original(self, *arguments)
            trie, publisher = snapshot.take_over(tmp_path, keep=1)
            for number in range(40):
                trie.subscribe("late", f"s{number}")
                publisher.publish()
            others.append(trie)
            if not (late and step == "add_folder"):
                original(self, *arguments)

        monkeypatch.setattr(store.LocalStore, step, overtaken)
        trie, publisher = snapshot.take_over(tmp_path)
        assert_equal(trie, others[0])
        trie.subscribe("new", "carol")
        publisher.publish()
        assert_equal(snapshot.restore(tmp_path), trie)
        numbers = open_directory(tmp_path).numbers()
        assert numbers == list(range(numbers[0], numbers[-1] + 1))

    def test_removes_what_a_newcomer_left_that_was_killed_before_its_claim(self, tmp_path: Path) -> None:
        published(tmp_path)
        newest = open_directory(tmp_path).newest()
        assert newest is not None
        for folder in FOLDERS:
            (tmp_path / trial_name(folder, newest.version + 1, "ab12")).touch()
        (tmp_path / "_versions" / f".desk.{newest.version + 1:020}.ab12").mkdir()
        with snapshot.take_over(tmp_path)[1]:
            pass
        assert not [path for path in tmp_path.glob("*/.*")]


class TestOutdatedTries:
    def test_are_refused_and_fence_nobody(self, tmp_path: Path) -> None:
        old, first = published(tmp_path)
        restored = snapshot.restore(tmp_path)
        old.subscribe("acknowledged", "bob")
        first.publish()
        with pytest.raises(snapshot.OutdatedError, match="the trie comes from version 3"):
            snapshot.Publisher(restored, tmp_path)
        old.subscribe("more", "bob")
        assert first.publish() == 5
        snapshot.Publisher(restored.fork(), tmp_path).publish()  # on purpose
        assert_equal(snapshot.restore(tmp_path), restored)

    def test_are_refused_if_the_version_appears_at_the_last_moment(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old, first = published(tmp_path)
        restored = snapshot.restore(tmp_path)
        add_folder = store.LocalStore.add_folder

        def later(self: store.LocalStore, name: str) -> None:
            monkeypatch.setattr(store.LocalStore, "add_folder", add_folder)
            old.subscribe("acknowledged", "bob")
            first.publish()
            add_folder(self, name)

        monkeypatch.setattr(store.LocalStore, "add_folder", later)
        with pytest.raises(snapshot.OutdatedError):
            snapshot.Publisher(restored, tmp_path)
        old.subscribe("more", "bob")
        first.publish()

    def test_are_those_of_followers_and_publishers_too(self, tmp_path: Path) -> None:
        old, first = published(tmp_path)
        follower = snapshot.follow(tmp_path)
        old.subscribe("b", "bob")
        first.publish()
        with pytest.raises(snapshot.OutdatedError):
            snapshot.Publisher(follower.trie, tmp_path)
        follower.poll()
        second = snapshot.Publisher(follower.trie, tmp_path)
        follower.trie.subscribe("c", "carol")
        second.publish()
        with pytest.raises(snapshot.OutdatedError):
            snapshot.Publisher(old, tmp_path)
        snapshot.Publisher(follower.trie, tmp_path)

    def test_are_not_those_of_other_directories(self, tmp_path: Path) -> None:
        published(tmp_path / "one")
        restored = snapshot.restore(tmp_path / "one")
        published(tmp_path / "other", 5)
        snapshot.Publisher(restored, tmp_path / "other").publish()
        assert_equal(snapshot.restore(tmp_path / "other"), restored)


class TestNewcomersThatFail:
    """They leave the directory to the publisher that has it."""

    def check(self, where: Path, fails: Callable[[], object], error: type[Exception]) -> None:
        for take in (lambda: snapshot.Publisher(SubscriptionTrie(), where), lambda: snapshot.take_over(where)):
            with pytest.raises(error):
                take()
        fails()

    @pytest.mark.parametrize("folder", ["full", "changes", "_versions"])
    @pytest.mark.parametrize("call", ["open", "listdir"])
    def test_to_write_or_list(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, call: str) -> None:
        trie, first = published(tmp_path)
        attempt = store.LocalStore.attempt

        def failing(self: store.LocalStore, name: str) -> None:
            if name.startswith(folder):
                raise PermissionError(call)
            attempt(self, name)

        monkeypatch.setattr(store.LocalStore, "attempt", failing)
        self.check(tmp_path, lambda: trie.subscribe("b", "bob"), PermissionError)
        assert first.publish() == 4
        assert not [name for name in os.listdir(tmp_path / folder) if name.endswith(".trial")]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    @pytest.mark.parametrize("mode", [0o500, 0o000, 0o300])
    @pytest.mark.parametrize("folder", ["full", "changes", "_versions"])
    def test_for_lack_of_permission(self, tmp_path: Path, folder: str, mode: int) -> None:
        trie, first = published(tmp_path)
        os.chmod(tmp_path / folder, mode)
        self.check(tmp_path, lambda: os.chmod(tmp_path / folder, 0o700), PermissionError)
        trie.subscribe("b", "bob")
        assert first.publish() == 4

    def test_to_read_a_manifest(self, tmp_path: Path) -> None:
        trie, first = published(tmp_path)
        content = manifest(tmp_path, 2).read_bytes()
        manifest(tmp_path, 2).write_bytes(content.replace(b"level", b"lewel"))
        self.check(tmp_path, lambda: manifest(tmp_path, 2).write_bytes(content), snapshot.DamagedError)
        trie.subscribe("b", "bob")
        assert first.publish() == 4

    def test_to_read_a_file(self, tmp_path: Path) -> None:
        trie, first = published(tmp_path)
        feed = snapshot.versions(tmp_path)[1].feed
        assert feed is not None
        (tmp_path / feed.path).write_bytes(b"x" * feed.bytes)
        self.check(tmp_path, lambda: None, snapshot.DamagedError)
        trie.subscribe("b", "bob")
        assert first.publish() == 4

    def test_leave_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        published(tmp_path)
        before = sorted(tmp_path.rglob("*"))
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(28, "no space")))
        self.check(tmp_path, lambda: None, OSError)
        assert sorted(tmp_path.rglob("*")) == before


class TestDirectoriesThatGoBack:
    def gone_back(self, tmp_path: Path) -> tuple[Path, snapshot.Follower, SubscriptionTrie, snapshot.Publisher]:
        """A directory that was replaced by its copy of version 3 when it and a follower were at version 6."""
        where = tmp_path / "published"
        trie, publisher = published(where)
        shutil.copytree(where, tmp_path / "copy")
        for number in range(3):
            trie.subscribe(f"lost.{number}", "s")
            publisher.publish()
        follower = snapshot.follow(where)
        assert follower.version == 6
        shutil.rmtree(where)
        shutil.copytree(tmp_path / "copy", where)
        return where, follower, trie, publisher

    @pytest.mark.parametrize("more", range(8))
    def test_are_not_followed_until_the_user_says_so(self, tmp_path: Path, more: int) -> None:
        where, follower, old, _ = self.gone_back(tmp_path)
        trie, publisher = snapshot.take_over(where)
        for number in range(more):
            trie.subscribe(f"new.{number}", "s")
            publisher.publish()
        for _ in range(2):
            with pytest.raises(snapshot.HistoryError, match="followed up to version 6"):
                follower.poll()
        assert_equal(follower.trie, old)
        assert follower.resynchronise() == open_directory(where).version_at().version
        assert_equal(follower.trie, trie)
        trie.subscribe("more", "s")
        assert follower.poll() < publisher.publish() == follower.poll()
        assert_equal(follower.trie, trie)

    def test_are_not_published_to_by_who_has_published_more(self, tmp_path: Path) -> None:
        where, _, old, first = self.gone_back(tmp_path)
        old.subscribe("b", "bob")
        for _ in range(2):
            with pytest.raises(snapshot.HistoryError, match="written up to version 6: its newest version is 3"):
                first.publish()
        with pytest.raises(snapshot.OutdatedError):
            snapshot.Publisher(old, where)
        snapshot.Publisher(old.fork(), where).publish()
        assert_equal(snapshot.restore(where), old)

    def test_and_continued_fence_who_has_published_more(self, tmp_path: Path) -> None:
        where, _, old, first = self.gone_back(tmp_path)
        trie, publisher = snapshot.take_over(where)
        for number in range(7):
            trie.subscribe("new", f"s{number}")
            publisher.publish()
            old.subscribe("b", f"s{number}")
            with pytest.raises((snapshot.HistoryError, snapshot.FencedError)):
                first.publish()
        assert_equal(snapshot.restore(where), trie)

    def test_and_are_removed_raise_an_error(self, tmp_path: Path) -> None:
        trie, publisher = published(tmp_path / "published")
        shutil.rmtree(tmp_path / "published")
        trie.subscribe("b", "bob")
        with pytest.raises(FileNotFoundError, match="has been removed"):
            publisher.publish()

    @pytest.mark.parametrize("first", range(4, 7))
    def test_or_mix_two_histories_are_not_restored(self, tmp_path: Path, first: int) -> None:
        where, _, _, _ = self.gone_back(tmp_path)
        trie, publisher = snapshot.take_over(where)
        for number in range(3):
            trie.subscribe(f"new.{number}", "s")
            publisher.publish()
        other = tmp_path / "other"
        shutil.copytree(tmp_path / "copy", other)
        old, publisher = snapshot.take_over(other)
        for number in range(3):
            old.subscribe("b", f"s{number}")
            publisher.publish()
        for number in range(first, 7):
            shutil.copy(manifest(other, number), manifest(where, number))
        shutil.copytree(other / "changes", where / "changes", dirs_exist_ok=True)
        for read in (snapshot.restore, snapshot.versions, snapshot.follow, snapshot.take_over):
            with pytest.raises(snapshot.HistoryError, match="two histories"):
                read(where)


class TestManifests:
    def test_show_each_flipped_bit(self, tmp_path: Path) -> None:
        published(tmp_path)
        for number in (1, 3):
            text = manifest(tmp_path, number).read_bytes()
            assert from_json(text, number, "it") == open_directory(tmp_path).get(number)
            for bit in range(8 * len(text)):
                damaged = bytearray(text)
                damaged[bit // 8] ^= 1 << bit % 8
                with pytest.raises(snapshot.DamagedError):
                    from_json(bytes(damaged), number, "it")

    def test_may_have_fields_that_readers_can_do_without(self, tmp_path: Path) -> None:
        published(tmp_path)
        version = open_directory(tmp_path).version_at()

        class Later(Version):
            def to_json(self) -> bytes:
                fields = json.loads(super().to_json())
                del fields["checksum"]
                fields["feed"]["colour"] = fields["colour"] = "red"
                text = json.dumps(fields, indent=1).removesuffix("\n}").encode()
                return text + _checksum_of(text)

        text, _ = sealed(Later(**{name: getattr(version, name) for name in version.__dataclass_fields__}))
        assert from_json(text, 3, "it") == version

    def test_are_not_longer_than_what_is_read(self, tmp_path: Path) -> None:
        published(tmp_path)
        trie, publisher = snapshot.take_over(tmp_path, strict=True)
        trie.subscribe("long", "s", **{"n" * 17_000_000: 1})
        with pytest.raises(ValueError, match="do not fit into a manifest"):
            publisher.publish()
        trie.unsubscribe("long", "s")
        trie.subscribe("b", "s")
        assert publisher.publish() == 5


class TestClocks:
    def test_that_ran_ahead_do_not_stop_retention(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The times of versions tell nothing until the clock is there again, so what else could end their growth?"""
        passed = [0.0]
        monkeypatch.setattr(retention, "monotonic", lambda: passed[0])
        monkeypatch.setattr(composer, "FEWEST_FEEDS", 2)
        trie, publisher = published(tmp_path, 0)
        ahead = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=3650)
        publisher._writer._previous = dataclasses.replace(publisher._writer._previous, time=ahead)
        trie.subscribe("a", "s")
        publisher.publish()
        publisher = snapshot.Publisher(trie, tmp_path, keep=datetime.timedelta(hours=1))
        for number in range(200):
            passed[0] += 600
            trie.subscribe("a", "s", n=number)
            publisher.publish()
        kept = snapshot.versions(tmp_path)
        assert kept[0].time > ahead
        assert len(kept) == 7
        assert len(manifests(tmp_path)) < 20


class TestClaims:
    def test_go_with_the_versions_beside_them(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        for number in range(100):
            with snapshot.Publisher(trie, tmp_path, keep=2) as publisher:
                trie.subscribe("a", "s", n=number)
                publisher.publish()
        assert len(manifests(tmp_path)) < 50
        assert_equal(snapshot.restore(tmp_path), trie)

    def test_go_even_if_nothing_is_published(self, tmp_path: Path) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "s")
        for _ in range(100):
            with snapshot.Publisher(trie, tmp_path, keep=2) as publisher:
                publisher.publish()
        assert len(manifests(tmp_path)) < 70
        assert_equal(snapshot.restore(tmp_path), trie)

    def test_that_are_gone_still_fence_who_slept(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first publisher falls asleep between its last look and its commit."""
        trie, other = SubscriptionTrie(), SubscriptionTrie()
        first = snapshot.Publisher(trie, tmp_path)
        first.publish()
        create = store.LocalStore.create

        def asleep(self: store.LocalStore, name: str, content: bytes, scratch: str) -> None:
            monkeypatch.setattr(store.LocalStore, "create", create)
            with snapshot.Publisher(other, tmp_path, keep=1) as second:
                for number in range(60):
                    other.subscribe("n", f"s{number}")
                    second.publish()
            assert not manifest(tmp_path, 2).exists(), "the claim is gone"
            create(self, name, content, scratch)

        monkeypatch.setattr(store.LocalStore, "create", asleep)
        trie.subscribe("a", "alice")
        with pytest.raises(snapshot.FencedError):
            first.publish()
        assert not manifest(tmp_path, 2).exists()
        assert_equal(snapshot.restore(tmp_path), other)

    def test_stay_while_a_desk_cannot_be_cleared(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        trie = SubscriptionTrie()
        snapshot.Publisher(trie, tmp_path).publish()

        def failing(self: store.LocalStore, name: str) -> None:
            raise PermissionError(name)

        monkeypatch.setattr(store.LocalStore, "clear_folder", failing)
        publisher = snapshot.Publisher(trie, tmp_path, keep=1)
        for number in range(40):
            trie.subscribe("a", f"s{number}")
            publisher.publish()
        assert manifest(tmp_path, 2).exists()

    def test_are_removed_little_by_little(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(retention, "REMOVALS", 3)
        trie = SubscriptionTrie()
        for number in range(40):
            trie.subscribe("a", "s", n=number)
            with snapshot.Publisher(trie, tmp_path, keep=1) as publisher:
                publisher.publish()
                assert_equal(snapshot.restore(tmp_path), trie)
                numbers = open_directory(tmp_path).numbers()
                assert numbers == list(range(numbers[0], numbers[-1] + 1)), "no gaps"


@pytest.mark.once  # what lies in directories is the same on every build
class TestVersionsThatAreKnown:
    """A reader that starts anew has seen nothing itself, so it is told what was seen before."""

    READERS: tuple[Callable[..., Any], ...] = (
        snapshot.restore,
        lambda where, **known: snapshot.follow(where, **known).trie,
        lambda where, **known: snapshot.take_over(where, **known)[0],
    )

    @pytest.mark.parametrize("read", READERS)
    @pytest.mark.parametrize("keep", [None, 1])
    def test_are_in_their_directory_however_far_it_went_on(
        self, tmp_path: Path, read: Callable[..., Any], keep: int | None
    ) -> None:
        trie = SubscriptionTrie()
        publisher = snapshot.Publisher(trie, tmp_path, keep=keep)
        assert publisher.mark is None
        marks: list[str] = []
        for number in range(40):
            trie.subscribe("a", f"s{number}")
            publisher.publish()
            assert publisher.mark is not None
            marks.append(publisher.mark)
            assert snapshot.follow(tmp_path, known=publisher.mark).mark == publisher.mark
        for mark in marks:
            assert_equal(read(tmp_path, known=mark), trie)

    @pytest.mark.parametrize("read", READERS)
    @pytest.mark.parametrize("newer", [None, 0, 1, 2, 3])
    def test_show_a_directory_that_went_back(self, tmp_path: Path, read: Callable[..., Any], newer: int | None) -> None:
        where = tmp_path / "published"
        trie, publisher = published(where)
        shutil.copytree(where, tmp_path / "copy")
        for number in range(2):
            trie.subscribe("lost", f"s{number}")
            publisher.publish()
        mark = publisher.mark
        shutil.rmtree(where)
        shutil.move(tmp_path / "copy", where)
        if newer is not None:
            trie, publisher = snapshot.take_over(where)
            for number in range(newer):
                trie.subscribe("other", f"s{number}")
                publisher.publish()
        before = sorted(where.rglob("*"))
        with pytest.raises(snapshot.HistoryError, match="does not continue the history in which version 5 was seen"):
            read(where, known=mark)
        assert sorted(where.rglob("*")) == before, "nothing was claimed"

    @pytest.mark.parametrize("read", READERS)
    def test_show_another_directory_and_one_without_versions(self, tmp_path: Path, read: Callable[..., Any]) -> None:
        _, publisher = published(tmp_path / "one")
        published(tmp_path / "other")
        for name in ("other", "nothing"):
            with pytest.raises(snapshot.HistoryError, match=r"another directory|nothing is published"):
                read(tmp_path / name, known=publisher.mark)
        assert not (tmp_path / "nothing").exists()

    @pytest.mark.parametrize("mark", ["", "3", "3.x.y", "x" * 100, "3." + "a" * 32 + "." + "b" * 63])
    def test_are_named_by_marks_alone(self, tmp_path: Path, mark: str) -> None:
        published(tmp_path)
        with pytest.raises(ValueError, match="is not the mark of a published version"):
            snapshot.restore(tmp_path, known=mark)
