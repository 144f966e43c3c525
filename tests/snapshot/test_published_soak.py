"""Published directories under kills, take-overs and damage, at random. `make stress` makes thousands of them.

``STRESS_PUBLISHING=1`` asks for 2,000 kills, 200 take-overs and 4,000 cases of damage; without it there are some dozens.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot.published import composer
from subtrie import SubscriptionTrie
from tests.snapshot.contest import Contest, Counts, Place, contend
from tests.snapshot.support import running
from tests.snapshot.test_published import held_by

ROOT = Path(__file__).parents[2]
SHARE = float(os.environ.get("STRESS_PUBLISHING", "0.01"))
"""Which part of the whole is done."""

KILLS, TAKE_OVERS, DAMAGES = (max(4, round(SHARE * whole)) for whole in (2000, 200, 4000))
KILLS_EACH = 50
"""Kills for one directory, since all its versions are compared in the end."""


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
    counts = Counts(0, 0, 0)
    while counts.kills < KILLS or counts.take_overs < TAKE_OVERS:
        folder = tmp_path / "contest"
        folder.mkdir()
        where = str(folder / "published")
        contest = Contest(publishers, Place(where, where, folder / "notes"))
        now = contend(contest, chance, min(KILLS, KILLS_EACH), pause=0.05, quieten=lambda: None)
        counts = Counts(*map(sum, zip(counts, now, strict=True)))
        with snapshot.take_over(where)[1]:
            pass
        assert not [name for name in os.listdir(folder / "published" / "_versions") if name.startswith(".")]
        shutil.rmtree(folder)
    print(counts)


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
