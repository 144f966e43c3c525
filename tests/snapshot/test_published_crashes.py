"""Publishing that is interrupted: killed processes, full disks, faulty disks, interrupts."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import snapshot
from snapshot.published import composer, ledger, open_directory, retention, store, writer
from subtrie import SubscriptionTrie
from tests.snapshot.crashing_publisher import content, step_of
from tests.snapshot.support import held_by, running

ROOT = Path(__file__).parents[2]
THOROUGH = "STRESS_PUBLISHING" in os.environ
"""Whether there is time for all cases; `make stress` sets the variable."""

KILLS = 60 if THOROUGH else 10
FIRST_LINES = [1, 2, 3] if THOROUGH else [1]
"""The first lines to interrupt; from each of them, every third line is interrupted."""


def acknowledged_in(notes: Path) -> dict[int, int]:
    """The step of each version that was acknowledged; a line that a kill has cut off does not count."""
    lines = notes.read_text().splitlines(keepends=True) if notes.exists() else []
    pairs = [line.split() for line in lines if line.endswith("\n")]
    noted = {int(version): int(step) for version, step in pairs}
    assert len(noted) == len(pairs), "a number was given twice"
    return noted


class TestKills:
    @pytest.mark.once
    @pytest.mark.parametrize("keep", [None, 3])
    def test_lose_nothing_that_was_acknowledged_and_repeat_nothing(
        self, publishers: subprocess.Popen[str], tmp_path: Path, keep: int | None
    ) -> None:
        seed = random.randrange(2**32)
        print("seed", seed)
        chance = random.Random(seed)
        where, notes = tmp_path / "published", tmp_path / "acknowledged"
        follower: snapshot.Follower | None = None
        unheard = 0
        for _ in range(KILLS):
            noted = notes.stat().st_size if notes.exists() else 0
            unheard += 1
            with publishing(publishers, where, notes, keep):
                if chance.random() < 0.7:
                    wait_for_more(notes, noted)
                time.sleep(chance.random() * 0.1)  # the moment of the kill is left to chance
            if follower is None and where.exists() and open_directory(where).versions():
                follower = snapshot.follow(where)
            if notes.exists() and notes.stat().st_size > noted:
                unheard = 1  # the publisher that was heard last; each later one adds one
            self.check(where, acknowledged_in(notes), keep, unheard)
            if follower is not None:
                assert follower.poll() == open_directory(where).version_at().version
                assert held_by(follower.trie) == content(step_of(follower.trie))
        assert follower is not None
        follower.trie.check()
        with snapshot.Publisher(SubscriptionTrie(), where, keep=keep):
            pass  # removes the files that the killed publishers have left
        directory = open_directory(where)
        manifests = [version for number in directory.numbers() if (version := directory.get(number)) is not None]
        named = {file.path for version in manifests for file in version.files()}
        there = {f"{folder}/{name}" for folder in ("full", "changes") for name in os.listdir(where / folder)}
        assert there == named
        assert not [name for name in os.listdir(where / "_versions") if name.startswith(".")]

    def check(self, where: Path, acknowledged: dict[int, int], keep: int | None, unheard: int) -> None:
        """Each of the `unheard` publishers may have published one step that it had no time to acknowledge."""
        published = open_directory(where).versions()
        assert keep is None or len(published) <= keep
        steps = {version.version: step_of(snapshot.restore(where, at=version.version)) for version in published[-3:]}
        for version, step in steps.items():
            assert acknowledged.get(version, step) == step
            assert held_by(snapshot.restore(where, at=version)) == content(step)
        assert sorted(set(steps.values())) == sorted(steps.values()), "a step was published twice"
        if acknowledged:
            newest = max(acknowledged)
            assert published[-1].version >= newest
            assert steps[published[-1].version] in range(acknowledged[newest], acknowledged[newest] + unheard + 1)
            if keep is None:
                assert set(acknowledged) <= {version.version for version in published}


@pytest.fixture(scope="module")
def publishers() -> Iterator[subprocess.Popen[str]]:
    with running("crashing_publisher") as publishers:
        yield publishers


@contextmanager
def publishing(publishers: subprocess.Popen[str], where: Path, notes: Path, keep: int | None) -> Iterator[None]:
    """A publisher that is killed at the end."""
    assert publishers.stdin is not None
    assert publishers.stdout is not None
    print(json.dumps([str(where), str(notes), keep]), file=publishers.stdin, flush=True)
    process = int(publishers.stdout.readline())
    try:
        yield
    finally:
        os.kill(process, signal.SIGKILL)
        assert publishers.stdout.readline() == "ended\n"


def wait_for_more(notes: Path, size: int) -> None:
    deadline = time.monotonic() + 60
    while not (notes.exists() and notes.stat().st_size > size):
        assert time.monotonic() < deadline, "nothing is published"
        time.sleep(0.001)


# ------------------------------------------------------------------------------------------------------------- faults


class Faults:
    """Makes one of a publisher's calls to the system fail: before it has any effect, or after it has succeeded."""

    CALLS = (
        (os, "link"),
        (os, "fsync"),
        (os, "pwrite"),
        (os, "open"),
        (composer, "write_plain"),
        (composer, "write_feed"),
    )

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.at: int | None = None
        self.error: BaseException = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.late = False
        for module, name in self.CALLS:
            monkeypatch.setattr(module, name, self.failing(getattr(module, name)))

    def failing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def attempted(*arguments: Any, **named: Any) -> Any:
            self.count += 1
            fails = self.count == self.at
            if fails and not self.late:
                raise self.error
            answer = call(*arguments, **named)
            if fails:
                raise self.error
            return answer

        return attempted


def published_trie(where: Path) -> tuple[SubscriptionTrie, snapshot.Publisher]:
    trie = SubscriptionTrie()
    trie.subscribe_many((f"a.{number}", f"s{number % 5}", {"n": number}) for number in range(30))
    publisher = snapshot.Publisher(trie, where, key=str)
    publisher.publish()
    return trie, publisher


def change(trie: SubscriptionTrie, number: int) -> None:
    trie.subscribe("new", f"subscriber {number}", n=number)
    trie.unsubscribe("new", f"subscriber {number - 1}")
    trie.subscribe("a.1", "s1", n=-number)


@pytest.mark.once  # what the disk says is the same on every build
class TestFaults:
    @pytest.mark.parametrize("late", [False, True])
    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
    def test_at_each_step_leave_a_version_or_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, late: bool
    ) -> None:
        trie, publisher = published_trie(tmp_path)
        follower = snapshot.follow(tmp_path)
        faults = Faults(monkeypatch)
        faults.late, faults.error = late, OSError(code, os.strerror(code))
        before = trie.snapshot()
        change(trie, 0)
        version = publisher.publish()
        calls, failures = faults.count, 0
        assert calls >= 8
        for at in range(1, calls + 3):
            before = trie.snapshot()
            change(trie, at)
            faults.count, faults.at = 0, at
            with contextlib.suppress(OSError):
                publisher.publish()
                failures -= 1
            failures += 1
            faults.at = None
            assert held_by(snapshot.restore(tmp_path)) in (held_by(before), held_by(trie))
            version = publisher.publish()
            assert held_by(snapshot.restore(tmp_path, at=version)) == held_by(trie)
            assert follower.poll() == version
            assert held_by(follower.trie) == held_by(trie)
        assert failures >= calls / 2
        self.check_all(tmp_path)

    @pytest.mark.parametrize("late", [False, True])
    def test_at_the_first_version_too(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", "alice")
        faults = Faults(monkeypatch)
        faults.late = late
        for at in range(1, 20):
            where = tmp_path / str(at)
            faults.count, faults.at = 0, at
            try:
                snapshot.Publisher(trie, where).publish()
            except OSError:
                faults.at = None
                snapshot.Publisher(trie, where).publish()
            assert held_by(snapshot.restore(where)) == {("a", "alice"): {}}

    def check_all(self, where: Path) -> None:
        """The feeds contain every change exactly once."""
        trie = snapshot.restore(where, at=1)
        directory = open_directory(where)
        for version in directory.changes(1, directory.version_at().version):
            seen = held_by(trie)
            writer_side = snapshot.restore(where, at=version.version)
            differences = list(writer_side.diff(trie))
            assert len(differences) == version.changes, "a change is there twice, or not at all"
            trie = writer_side
            assert held_by(trie) != seen


@contextmanager
def interrupt_at(line: int) -> Iterator[list[int]]:
    """Raise KeyboardInterrupt at the n-th line that the publisher's own modules run."""
    files = {module.__file__ for module in (writer, composer, retention, ledger, store)}
    count = [0]

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            count[0] += 1
            if count[0] == line:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(None)


class TestInterrupts:
    @pytest.mark.once
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file may be left open
    @pytest.mark.parametrize("start", FIRST_LINES)
    def test_at_any_line_lose_nothing(self, tmp_path: Path, start: int) -> None:
        trie, publisher = published_trie(tmp_path)
        follower = snapshot.follow(tmp_path)
        line, interrupted, reached = start, 0, True
        while reached:
            before = trie.snapshot()
            change(trie, line)
            try:
                with interrupt_at(line) as lines:
                    publisher.publish()
            except KeyboardInterrupt:
                interrupted += 1
            reached = lines[0] >= line
            assert held_by(snapshot.restore(tmp_path)) in (held_by(before), held_by(trie))
            version = publisher.publish()
            assert follower.poll() == version
            assert held_by(follower.trie) == held_by(trie)
            line += 3
        assert interrupted > 30
        TestFaults().check_all(tmp_path)
