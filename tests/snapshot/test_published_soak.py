"""Published directories under kills, take-overs and damage, at random. `make stress` makes thousands of them.

``STRESS_PUBLISHING=1`` asks for 2,000 kills, 200 take-overs and 4,000 cases of damage; without it there are some dozens.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot.published import composer, open_directory
from snapshot.published.feed import apply_feed
from subtrie import SubscriptionTrie
from tests.snapshot.crashing_publisher import content, step_of
from tests.snapshot.support import held_by as plainly_held_by
from tests.snapshot.support import running
from tests.snapshot.test_published import held_by

ROOT = Path(__file__).parents[2]
SHARE = float(os.environ.get("STRESS_PUBLISHING", "0.01"))
"""Which part of the whole is done."""

KILLS, TAKE_OVERS, DAMAGES = (max(4, round(SHARE * whole)) for whole in (2000, 200, 4000))
KILLS_EACH = 50
"""Kills for one directory, since all its versions are compared in the end."""


class Contest:
    """Publishers of one directory, of which several may run; only the last one may publish."""

    def __init__(self, publishers: subprocess.Popen[str], where: Path) -> None:
        self.publishers, self.where, self.notes = publishers, where / "published", where / "notes"
        self.running: list[int] = []

    def start(self) -> None:
        assert self.publishers.stdin is not None
        assert self.publishers.stdout is not None
        print(json.dumps([str(self.where), str(self.notes)]), file=self.publishers.stdin, flush=True)
        self.running.append(int(self.publishers.stdout.readline()))

    def kill(self, process: int) -> None:
        self.running.remove(process)
        with contextlib.suppress(ProcessLookupError):  # it was fenced and has ended
            os.kill(process, signal.SIGKILL)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                os.kill(process, 0)
                time.sleep(0.0005)
            raise AssertionError("a killed process does not end")

    def acknowledged(self) -> dict[int, int]:
        """The step of each acknowledged version, of all publishers; a line that a kill has cut off does not count."""
        found: dict[int, int] = {}
        for path in self.notes.parent.glob(f"{self.notes.name}.[0-9]*"):
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    version, step = map(int, line.split())
                    assert version not in found, "two publishers have acknowledged one number"
                    found[version] = step
        return found

    def wait_for_more(self, than: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.acknowledged()) <= than:
            assert time.monotonic() < deadline, "nothing is published"
            time.sleep(0.002)

    def check(self) -> int:
        """Every acknowledged version is there with its content, and no later version undoes a step."""
        failed = Path(f"{self.notes}.failed")
        assert not failed.exists(), failed.read_text()
        acknowledged = self.acknowledged()
        published = snapshot.versions(self.where)
        assert acknowledged.keys() <= {version.version for version in published}
        before, trie = -1, snapshot.restore(self.where, at=published[0].version)
        directory = open_directory(self.where)
        for version in published:
            if version.feed is not None:
                apply_feed(trie, directory, version)
            step = step_of(trie)
            assert step > before, "a step was undone"
            assert acknowledged.get(version.version, step) == step
            before = step
            if version.version % 7 == 0 or version is published[-1]:
                assert plainly_held_by(trie) == content(step)
                assert snapshot.restore(self.where, at=version.version) == trie
        return len(acknowledged)


@pytest.fixture(scope="module")
def publishers() -> Iterator[subprocess.Popen[str]]:
    with running("contending_publishers") as publishers:
        yield publishers


@pytest.mark.once
def test_kills_and_take_overs_lose_nothing_that_was_acknowledged(
    publishers: subprocess.Popen[str], tmp_path: Path
) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    kills = take_overs = versions = number = 0
    while kills < KILLS or take_overs < TAKE_OVERS:
        number += 1
        contest = Contest(publishers, tmp_path / str(number))
        contest.where.parent.mkdir()
        follower: snapshot.Follower | None = None
        before = kills
        while kills - before < KILLS_EACH and (kills < KILLS or take_overs < TAKE_OVERS):
            take_overs += bool(contest.running)  # while the others go on
            contest.start()
            if chance.random() < 0.6:
                contest.wait_for_more(len(contest.acknowledged()))
            time.sleep(chance.random() * 0.05)  # the moment is left to chance
            while contest.running and chance.random() < 0.8:
                contest.kill(chance.choice(contest.running))
                kills += 1
            if follower is None:
                with contextlib.suppress(FileNotFoundError, snapshot.NotPublishedError):
                    follower = snapshot.follow(contest.where)
            else:
                follower.poll()
                assert plainly_held_by(follower.trie) == content(step_of(follower.trie))
        while contest.running:
            contest.kill(contest.running[0])
            kills += 1
        versions += contest.check()
        assert follower is not None
        follower.poll()
        assert follower.trie == snapshot.restore(contest.where)
        with snapshot.take_over(contest.where)[1]:
            pass
        assert not [name for name in os.listdir(contest.where / "_versions") if name.startswith(".")]
        shutil.rmtree(contest.where)
    print(f"{kills} kills, {take_overs} take-overs, {versions} acknowledged versions")


# ------------------------------------------------------------------------------------------------------------ damage

Damage = Callable[[Path, random.Random], None]


def flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 1, 8])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def truncate(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: chance.randrange(len(data))])


def zero(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    start = chance.randrange(len(data))
    data[start : start + 64] = bytes(len(data[start : start + 64]))
    path.write_bytes(data)


def append(path: Path, chance: random.Random) -> None:
    path.write_bytes(path.read_bytes() + chance.randbytes(chance.randrange(1, 99)))


def swap(path: Path, chance: random.Random) -> None:
    other = chance.choice(sorted(path.parent.iterdir()))
    if other.is_file():
        one, two = path.read_bytes(), other.read_bytes()
        path.write_bytes(two)
        other.write_bytes(one)


def stray(path: Path, chance: random.Random) -> None:
    """Something else under a name that manifests have, or might be taken to have."""
    folder = path.parent.parent / "_versions"
    numbers = sorted(int(name.stem) for name in folder.glob("*.json"))
    number = chance.choice([numbers[-1] + 1, numbers[-1] + 2, numbers[-1] + 50, 10**15, 10**20 - 1])
    name = f"{number:020}.json"
    if chance.random() < 0.3:
        name = chance.choice(
            ["x.json", name.translate({48 + digit: 0x660 + digit for digit in range(10)}), "newest~", ".x"]
        )
    what = chance.choice(["copy", "dangling", "loop", "fifo", "folder", "device", "empty", "bytes"])
    place = folder / name
    if what == "copy":
        shutil.copy(path, place)
    elif what == "dangling":
        place.symlink_to("nowhere")
    elif what == "loop":
        place.symlink_to(name)
    elif what == "fifo":
        os.mkfifo(place)
    elif what == "folder":
        place.mkdir()
    elif what == "device":
        place.symlink_to("/dev/zero")
    else:
        place.write_bytes(b"" if what == "empty" else chance.randbytes(200))


def unhint(path: Path, chance: random.Random) -> None:
    """The hint is missing, or is no hint; and then another damage."""
    hint = path.parent.parent / "_versions" / "newest"
    hint.unlink()
    if chance.random() < 0.5:
        others: list[Callable[[Path], object]] = [os.mkfifo, os.mkdir, lambda it: it.symlink_to("newest")]
        chance.choice(others)(hint)
    if path.is_file() and chance.random() < 0.7:
        chance.choice([flip, truncate, stray])(path, chance)


DAMAGE: list[Damage] = [flip, flip, flip, truncate, zero, append, swap, stray, stray, stray, unhint]
DOCUMENTED = (snapshot.DamagedError, snapshot.NotPublishedError, FileNotFoundError, snapshot.FencedError, OSError)


def late(*_: object) -> None:
    raise AssertionError("it does not end")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, Any]]:
    """A directory of two publishers, and the content of each version."""
    where = tmp_path_factory.mktemp("whole") / "published"
    trie, instants = SubscriptionTrie(), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(composer, "FEWEST_FEEDS", 5)
        for part in range(2):
            with snapshot.Publisher(trie, where) as publisher:
                for step in range(7):
                    for number in range(20):
                        note = {"note": f"n{number}"} if number % 3 else {"tags": [step], "odd": (step,)}
                        trie.subscribe(f"a{number}.b{step}.*", f"s{number % 7}", level=(step * number) % 5, **note)
                    for number in range(0, 20, 3):
                        trie.unsubscribe(f"a{number}.b{step - 1 - part}.*", f"s{number % 7}")
                    instants[publisher.publish()] = held_by(trie)
    return where, instants


def test_damage_is_named_or_harms_nothing(whole: tuple[Path, dict[int, Any]], tmp_path: Path) -> None:
    """Never is another content returned, never is a call endless, and no newcomer that fails stops a publisher."""
    where, instants = whole
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    before = signal.signal(signal.SIGALRM, late)
    try:
        for case in range(DAMAGES):
            one_damage(where, tmp_path / "copy", instants, chance, counts, f"seed {seed}, case {case}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    print(dict(counts))
    assert counts["right"] > DAMAGES
    assert counts["DamagedError"] > DAMAGES / 4


def one_damage(
    where: Path, copy: Path, instants: dict[int, Any], chance: random.Random, counts: Counter[str], label: str
) -> None:
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(where, copy)
    healthy, publisher = snapshot.take_over(copy)
    newest = held_by(healthy)
    files = sorted(path for path in copy.rglob("*") if path.is_file())
    chosen = chance.choice([path for path in files if path.suffix == ".json"] if chance.random() < 0.6 else files)
    damage = chance.choice(DAMAGE)
    damage(chosen, chance)
    label = f"{label}: {damage.__name__} of {chosen.relative_to(copy)}"
    at = chance.choice(list(instants))

    def attempt(call: Callable[[], Any], expected: Any) -> bool:
        signal.setitimer(signal.ITIMER_REAL, 60)
        try:
            found = call()
        except DOCUMENTED as error:
            counts[type(error).__name__] += 1
            return False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        assert expected is None or found == expected, label
        counts["right"] += 1
        return True

    def followed() -> Any:
        with snapshot.follow(copy) as follower:
            follower.poll()
            return held_by(follower.trie)

    attempt(lambda: held_by(snapshot.restore(copy)), newest)
    attempt(lambda: held_by(snapshot.restore(copy, at=at)), instants[at])
    attempt(lambda: snapshot.versions(copy), None)
    attempt(followed, newest)
    taken = chance.choice(
        [lambda: held_by(snapshot.take_over(copy)[0]), lambda: snapshot.Publisher(healthy.fork(), copy)]
    )
    if chance.random() < 0.5 and attempt(taken, newest if taken.__code__.co_names[0] == "held_by" else None):
        return
    healthy.subscribe("healthy", "s")
    assert attempt(publisher.publish, None), f"{label}: a healthy publisher was stopped"
    attempt(lambda: held_by(snapshot.restore(copy)), held_by(healthy))
