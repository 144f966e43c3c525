"""Publishers that take a directory over from each other and are killed (tests.snapshot.killed), while a follower looks on."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import snapshot
from snapshot.published import open_directory
from snapshot.published.feed import apply_feed
from tests.snapshot.killed import content, step_of
from tests.snapshot.support import held_by, until


class Place(NamedTuple):
    """Where a contest is.

    Args:
        where: the directory, for who looks on in the end.
        through: the same, through what fails; publishers and the follower use that.
        notes: where publishers note what they have acknowledged.
        storage: for the client of an object store, where anything may fail and be tried again; otherwise nothing may.
        keep: how many versions are kept; "some" for `LEFT`.
    """

    where: str
    through: str
    notes: Path
    storage: dict[str, Any] | None = None
    keep: int | str | None = None


class Contest:
    """Publishers of one directory, of which several may run; only the last one may publish."""

    def __init__(self, publishers: subprocess.Popen[str], place: Place) -> None:
        self.publishers, self.place = publishers, place
        self.running: list[int] = []
        self.follower: snapshot.Follower | None = None

    def start(self) -> None:
        assert self.publishers.stdin is not None
        assert self.publishers.stdout is not None
        place = self.place
        told = [place.through, str(place.notes), {"keep": place.keep, "storage": place.storage}]
        print(json.dumps(told), file=self.publishers.stdin, flush=True)
        self.running.append(int(self.publishers.stdout.readline()))

    def kill(self, process: int) -> bool:
        """Kill a publisher. Return False if it was fenced and had ended."""
        self.running.remove(process)
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            return False
        deadline = time.monotonic() + 60
        with contextlib.suppress(ProcessLookupError):
            while time.monotonic() < deadline:
                os.kill(process, 0)
                time.sleep(0.0005)
            raise AssertionError("a killed process does not end")
        return True

    def acknowledged(self) -> dict[int, int]:
        """The step of each acknowledged version, of all publishers; a line that a kill has cut off does not count."""
        found: dict[int, int] = {}
        for path in self.place.notes.parent.glob(f"{self.place.notes.name}.[0-9]*"):
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    version, step = map(int, line.split())
                    assert version not in found, "two publishers have acknowledged one number"
                    found[version] = step
        return found

    def wait_for_more(self, than: int) -> None:
        until(lambda: self.require_no_error() or len(self.acknowledged()) > than, 120, lambda: "nothing is published")

    def require_no_error(self) -> None:
        failed = Path(f"{self.place.notes}.failed")
        assert not failed.exists(), failed.read_text()

    def follow(self) -> None:
        """Look at the newest version, which is whole."""
        missing: tuple[type[Exception], ...] = (FileNotFoundError, snapshot.NotPublishedError)
        with contextlib.suppress(*missing if self.place.storage is None else (*missing, OSError)):
            if self.follower is None:
                self.follower = snapshot.follow(self.place.through, storage=self.place.storage)
            self.follower.poll()
            assert held_by(self.follower.trie) == content(step_of(self.follower.trie)), "torn"

    def check(self) -> int:
        """Every acknowledged version is there with its content, and no later version undoes a step."""
        self.require_no_error()
        acknowledged, where = self.acknowledged(), self.place.where
        published = snapshot.versions(where)
        numbers = {version.version for version in published}
        assert {number for number in acknowledged if number >= min(numbers)} <= numbers, "lost"
        assert max(acknowledged, default=0) <= max(numbers), "lost"
        steps = [step for _, step in sorted(acknowledged.items())]
        assert steps == sorted(set(steps)), "a step was undone, or acknowledged twice"
        before, trie = -1, snapshot.restore(where, at=published[0].version)
        directory = open_directory(where)
        for version in published:
            if version.version < (published[-1].oldest or 0):  # its feed may have been removed
                trie = snapshot.restore(where, version.version)
            elif version.feed is not None:
                apply_feed(trie, directory, version)
            step = step_of(trie)
            assert step > before, "a step was undone"
            assert acknowledged.get(version.version, step) == step
            before = step
            if version.version % 7 == 0 or version is published[-1]:
                assert held_by(trie) == content(step)
                assert snapshot.restore(where, at=version.version) == trie
        assert self.follower is not None
        self.follower.poll()
        assert self.follower.trie == snapshot.restore(where)
        return len(acknowledged)


class Counts(NamedTuple):
    """What happened."""

    kills: int
    take_overs: int
    versions: int


def contend(
    publishers: subprocess.Popen[str],
    place: Place,
    chance: random.Random,
    kills: int,
    *,
    pause: float,
    quieten: Callable[[], object],
) -> Counts:
    """Start publishers and kill them, and check all in the end.

    Args:
        kills: how many are killed, at least.
        pause: how long a publisher is left alone, at most. The moment of the kill is left to chance.
        quieten: called before the check: nothing fails any more.
    """
    contest, killed, take_overs = Contest(publishers, place), 0, 0
    while killed < kills or contest.follower is None:
        take_overs += bool(contest.running)  # while the others go on
        contest.start()
        if chance.random() < 0.6:
            contest.wait_for_more(len(contest.acknowledged()))
        time.sleep(chance.random() * pause)
        while contest.running and chance.random() < 0.6:
            killed += contest.kill(chance.choice(contest.running))
        contest.follow()
    while contest.running:
        killed += contest.kill(contest.running[0])
    quieten()
    return Counts(killed, take_overs, contest.check())
