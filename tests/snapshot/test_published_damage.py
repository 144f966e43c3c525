"""What no publisher put into a published directory: an error names it, or it does no harm.

Never is another content returned, never is a call endless, and no newcomer that fails stops a healthy publisher.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import snapshot
from snapshot.published import composer, open_directory, store
from snapshot.published.manifest import FOLDERS, _checksum_of, from_json, trial_name
from subtrie import SubscriptionTrie
from tests.snapshot.support import go_on, manifest, published, trie_of
from tests.snapshot.world import Content, content

pytestmark = pytest.mark.once  # what lies in directories is the same on every build

SHARE = float(os.environ.get("STRESS_PUBLISHING", "0.005"))
"""Which part of the whole is done; `make stress` sets the variable to 1."""
DAMAGES = round(SHARE * 4000)


def flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 1, 8])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def truncate(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def swap(path: Path, chance: random.Random) -> None:
    """Exchange a file with one of the same kind."""
    other = chance.choice([each for each in sorted(path.parent.iterdir()) if each.is_file()])
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)


def large(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


CHANGES: list[Callable[[Path, random.Random], object]] = [flip, flip, flip, truncate, swap]
STRAYS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "a dangling link": lambda path: path.symlink_to("nowhere"),
    "a loop": lambda path: path.symlink_to(path.name),
    "a FIFO": os.mkfifo,
    "a folder": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "an empty file": Path.touch,
    "a large file": large,
    "a copy of another": lambda path: shutil.copy(sorted(path.parent.glob("0*"))[0], path),
}
NUMBERS = [1, 2, 50, 10**15, 10**20 - 30]
DOCUMENTED = (snapshot.DamagedError, snapshot.NotPublishedError, FileNotFoundError, snapshot.FencedError, OSError)


@pytest.fixture
def soon() -> Iterator[None]:
    """Raise an error if something takes long that may never end."""

    before = signal.signal(signal.SIGALRM, Mock(side_effect=AssertionError("it does not end")))
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, Content]]:
    """A directory of two publishers, and the content of each version."""
    where, trie, instants = tmp_path_factory.mktemp("whole") / "published", SubscriptionTrie(), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(composer, "FEWEST_FEEDS", 5)
        for part in range(2):
            with snapshot.Publisher(trie, where) as publisher:
                for step in range(5):
                    for number in range(20):
                        note = {"note": f"n{number}"} if number % 3 else {"tags": [step], "odd": (step,)}
                        trie.subscribe(f"a{number}.b{step}.*", f"s{number % 7}", level=(step * number) % 5, **note)
                    for number in range(0, 20, 3):
                        trie.unsubscribe(f"a{number}.b{step - 1 - part}.*", f"s{number % 7}")
                    instants[publisher.publish()] = content(trie)
    return where, instants


class Damaged:
    """A copy of a directory, with a healthy publisher that has taken it over, and what is done to it."""

    def __init__(self, whole: tuple[Path, dict[int, Content]], copy: Path, label: str) -> None:
        where, self.instants = whole
        self.where, self.label, self.counts = copy, label, Counter[str]()
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(where, copy)
        self.healthy, self.publisher = snapshot.take_over(copy)
        self.newest = content(self.healthy)

    def attempt(self, call: Callable[[], Any], expected: Any = None) -> bool:
        """Whether a call ends well. If so, it returns what is expected."""
        signal.setitimer(signal.ITIMER_REAL, 60)
        try:
            found = call()
        except DOCUMENTED as error:
            self.counts[type(error).__name__] += 1
            return False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        assert expected is None or found == expected, self.label
        self.counts["right"] += 1
        return True

    def require(self, at: int, *, is_taken: bool) -> None:
        """Require that every call returns what is right or says what is wrong."""
        self.attempt(lambda: content(snapshot.restore(self.where)), self.newest)
        self.attempt(lambda: content(snapshot.restore(self.where, at)), self.instants[at])
        self.attempt(lambda: snapshot.versions(self.where))
        self.attempt(lambda: content(snapshot.follow(self.where).trie), self.newest)
        if is_taken and self.attempt(lambda: content(snapshot.take_over(self.where)[0]), self.newest):
            return
        if is_taken and self.attempt(lambda: snapshot.Publisher(self.healthy.fork(), self.where)):
            return
        self.healthy.subscribe("healthy", "s")
        assert self.attempt(self.publisher.publish), f"{self.label}: a healthy publisher was stopped"
        self.attempt(lambda: content(snapshot.restore(self.where)), content(self.healthy))


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("stray", STRAYS)
def test_strays_are_named_or_harm_nothing(whole: tuple[Path, dict[int, Content]], tmp_path: Path, stray: str) -> None:
    """In the place of a file, and under a number that is none yet."""
    highest = max(open_directory(whole[0]).numbers()) + 1  # the claim of the healthy publisher
    numbers = [1, *(min(highest + more, 10**20 - 1) for more in NUMBERS)]
    for place in ["full/*", "changes/*", *(f"_versions/{number:020}.json" for number in numbers)]:
        damaged = Damaged(whole, tmp_path / "copy", f"{stray} as {place}")
        path = sorted(damaged.where.glob(place), reverse=True)[0] if "*" in place else damaged.where / place
        path.unlink(missing_ok=True)
        STRAYS[stray](path)
        damaged.require(1, is_taken=True)


@pytest.mark.usefixtures("soon")
def test_damage_is_named_or_harms_nothing(whole: tuple[Path, dict[int, Content]], tmp_path: Path) -> None:
    seed, counts = random.randrange(2**32), Counter[str]()
    print("seed", seed)
    chance = random.Random(seed)
    for case in range(DAMAGES):
        damaged, damage = Damaged(whole, tmp_path / "copy", f"seed {seed}, case {case}"), chance.choice(CHANGES)
        files = sorted(
            path for path in damaged.where.rglob("*" if chance.random() < 0.4 else "*.json") if path.is_file()
        )
        damage(chance.choice(files), chance)
        damaged.require(chance.choice(list(whole[1])), is_taken=chance.random() < 0.5)
        counts += damaged.counts
    print(dict(counts))
    assert counts["right"] > DAMAGES
    assert counts["DamagedError"] > DAMAGES / 4


TAKERS: list[Callable[[Path], object]] = [
    snapshot.take_over,
    lambda where: snapshot.Publisher(SubscriptionTrie(), where),
]
NAMED: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "a changed feed": (
        f"changes/{3:020}*",
        lambda path: flip(path, random.Random(3)),
        "is damaged: it has other bytes",
    ),
    "a missing feed": (f"changes/{3:020}*", os.unlink, r"is missing.* which version 3 of"),
    "a changed instant": (
        f"full/{1:020}*",
        lambda path: flip(path, random.Random(3)),
        "is damaged: it has other bytes",
    ),
    "a missing instant": (f"full/{1:020}*", os.unlink, "is missing, which version 3 of"),
    "a missing manifest": (f"_versions/{2:020}*", os.unlink, "is missing"),
    "a changed manifest": (
        f"_versions/{2:020}*",
        lambda path: path.write_bytes(path.read_bytes().replace(b"AMQP", b"AMQQ")),
        r"is damaged \(its checksum is that of other bytes\); restore it from a copy",
    ),
    "a later format": (
        f"_versions/{3:020}*",
        lambda path: path.write_text(json.dumps({**json.loads(path.read_text()), "format": 5})),
        "is of format 5; this version of the package reads formats 2 to 4",
    ),
    "no JSON": (f"_versions/{3:020}*", lambda path: path.write_text("{"), "is not the manifest of a published version"),
    "a list": (f"_versions/{3:020}*", lambda path: path.write_text("[]"), "is not the manifest of a published version"),
    "another object": (f"_versions/{3:020}*", lambda path: path.write_text('{"format": 2}'), "is damaged"),
}


def test_a_claim_of_another_directory_is_followed_by_none(tmp_path: Path) -> None:
    trie, publisher = published(tmp_path / "one")
    for _ in range(9 + (publisher.version or 0)):
        snapshot.take_over(tmp_path / "other")[1].close()
    stray = sorted((tmp_path / "other" / "_versions").glob("0*"))[-1]
    shutil.copy(stray, tmp_path / "one" / "_versions")
    for take in TAKERS:
        with pytest.raises(snapshot.DamagedError, match=f"{stray.name} is of another published directory"):
            take(tmp_path / "one")
    (tmp_path / "one" / "_versions" / stray.name).unlink()
    assert content(snapshot.restore(tmp_path / "one")) == content(trie)


@pytest.mark.parametrize("what", NAMED)
@pytest.mark.parametrize("is_claimed", [False, True])
def test_what_is_wrong_is_said(tmp_path: Path, what: str, is_claimed: bool) -> None:
    """To readers, to newcomers, which claim nothing, and to a follower, which goes on when it is put right."""
    place, damage, says = NAMED[what]
    trie, first = published(tmp_path, 1)
    follower = snapshot.follow(tmp_path)
    go_on(trie, first, 2)
    if is_claimed:
        trie, first = snapshot.take_over(tmp_path)
    (path,) = tmp_path.glob(place)
    there = path.read_bytes()
    damage(path)
    before = sorted(tmp_path.rglob("*"))
    is_seen = "full" not in place and what != "a missing manifest"  # which may come later
    calls: list[Callable[[Path], object]] = [snapshot.restore, snapshot.follow, *TAKERS, lambda _: follower.poll()]
    for call in calls if is_seen else calls[:-1]:
        with pytest.raises(snapshot.DamagedError, match=says) as raised:
            call(tmp_path)
        assert path.name in str(raised.value)
    assert sorted(tmp_path.rglob("*")) == before
    path.write_bytes(there)
    trie.subscribe("b", "bob")
    assert first.publish() == follower.poll() == 4 + is_claimed
    assert content(follower.trie) == content(snapshot.restore(tmp_path)) == content(trie)


def test_a_manifest_shows_each_flipped_bit(tmp_path: Path) -> None:
    published(tmp_path)
    for number in (1, 3):
        text = manifest(tmp_path, number).read_bytes()
        assert from_json(text, number, "it") == open_directory(tmp_path).get(number)
        for bit in range(number - 1, 8 * len(text), 5):
            damaged = bytearray(text)
            damaged[bit // 8] ^= 1 << bit % 8
            with pytest.raises(snapshot.DamagedError):
                from_json(bytes(damaged), number, "it")


FIELDS: list[tuple[str, Any]] = [
    *(("limits", {}), ("limits", []), ("limits", {"max_age": -1, "max_topics": None})),
    ("limits", {"max_age": None, "max_topics": "x"}),
    *(("version", 4), ("version", "3"), ("time", "2026-01-01"), ("base", 9), ("kind", 5), ("json_options", [1])),
    ("feed", {"path": "../x", "rows": 1, "bytes": 1, "sha256": ""}),
    ("feed", {"path": f"changes/{3:020}.0.ab.parquet", "rows": "1", "bytes": 1, "sha256": ""}),
]


def test_fields_may_be_new_and_not_of_another_type(tmp_path: Path) -> None:
    published(tmp_path)
    version = open_directory(tmp_path).version_at()

    def written(name: str, value: object) -> bytes:
        fields = json.loads(version.to_json())
        del fields["checksum"]
        fields["feed"]["colour"] = "red"
        text = json.dumps(fields | {name: value}, indent=1).removesuffix("\n}").encode()
        return text + _checksum_of(text)

    assert from_json(written("colour", "red"), 3, "it") == version
    for name, value in FIELDS:
        with pytest.raises(snapshot.DamagedError, match="it is damaged"):
            from_json(written(name, value), 3, "it")


def test_files_of_two_histories_are_not_mixed(tmp_path: Path) -> None:
    published(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    for name in ("one", "other"):
        trie, publisher = snapshot.take_over(tmp_path / name)
        go_on(trie, publisher, 3, name)
    for number in (6, 5):
        shutil.copy(manifest(tmp_path / "other", number), manifest(tmp_path / "one", number))
        shutil.copytree(tmp_path / "other" / "changes", tmp_path / "one" / "changes", dirs_exist_ok=True)
        for read in (snapshot.restore, snapshot.versions, snapshot.follow, snapshot.take_over):
            with pytest.raises(snapshot.HistoryError, match="two histories"):
                read(tmp_path / "one")


def test_what_killed_publishers_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    published(tmp_path)
    claim = 4
    names = [f"changes/{9:020}.{claim + 3}.abcdef01.parquet", "changes/notes.txt", "_versions/x.json", "_versions/ "]
    names.append("_versions/" + "".join(chr(0x660 + int(digit)) for digit in f"{7:020}") + ".json")
    stays = [tmp_path / name for name in names]
    goes = [tmp_path / f"changes/{9:020}.1.abcdef01.parquet"]
    goes += [tmp_path / trial_name(folder, claim, "ab12") for folder in FOLDERS]
    for path in [*stays, *goes]:
        path.touch()
    desk = tmp_path / "_versions" / f".desk.{claim:020}.ab12"
    desk.mkdir()
    goes.append(tmp_path / "_versions" / "newest")  # a hint, which earlier versions of this package wrote
    goes[-1].touch()
    with snapshot.take_over(tmp_path)[1]:
        assert [path.exists() for path in [*stays, *goes, desk]] == [True] * len(stays) + [False] * (len(goes) + 1)
    assert not list(tmp_path.glob("_versions/.*"))


def test_a_manifest_that_only_a_listing_has_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published(tmp_path)
    names = store.LocalStore.names
    monkeypatch.setattr(store.LocalStore, "names", lambda self, folder: [*names(self, folder), f"{5:020}.json"])
    with pytest.raises(snapshot.DamagedError, match="is listed, but there is no such file"):
        snapshot.restore(tmp_path)


@pytest.mark.parametrize("how", ["gone", "emptied", "another", "another that is empty", "claimed anew"])
def test_another_directory_in_its_place_is_followed_when_told_to(tmp_path: Path, how: str) -> None:
    where = tmp_path / "published"
    trie, _ = published(where, 1)
    follower = snapshot.follow(where)
    where.rename(tmp_path / "old")
    if how == "emptied":
        where.mkdir()
    elif how != "gone":
        other = trie_of(("b", "bob")) if how == "another" else SubscriptionTrie()
        publisher = snapshot.Publisher(other, where)
        if how != "claimed anew":
            publisher.publish()
    for _ in range(2):
        with pytest.raises(snapshot.HistoryError, match="does not continue the history in which version 1 was seen"):
            follower.poll()
        assert isinstance(follower.error, snapshot.HistoryError)
    if how.startswith("another"):
        assert follower.resynchronise() == follower.poll() == follower.version == 1
        assert content(follower.trie) == content(other)
    else:
        with pytest.raises((FileNotFoundError, snapshot.NotPublishedError)):
            follower.resynchronise()
        assert content(follower.trie) == content(trie)
        shutil.rmtree(where, ignore_errors=True)
        (tmp_path / "old").rename(where)
        assert follower.poll() == 1
    assert follower.error is None
