"""Publishers that take over from each other and are killed: nothing that was acknowledged is lost, in a directory and in
an object store with faults. The programs of the page on two hosts run, too. `make stress` makes thousands of kills: ``STRESS_PUBLISHING=1`` asks for all of them.
"""

from __future__ import annotations

import functools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import snapshot
from snapshot.published import open_directory
from snapshot.published.manifest import kept_name
from tests.snapshot.contest import Counts, Place, contend
from tests.snapshot.faulty_server import BUCKET, Server, serving
from tests.snapshot.support import ROOT
from tests.snapshot.support import until as wait_until
from tests.snapshot.world import LEFT

pytestmark = pytest.mark.once

SHARE = float(os.environ.get("STRESS_PUBLISHING", "0.01"))
"""Which part of the whole is done."""
KILLS_EACH = 50
"""Kills for one directory, since all its versions are compared in the end."""


def contests(kills: int, take_overs: int, contest: Callable[[int], Counts]) -> Counts:
    """Hold contests until there have been so many kills and take-overs, or the share of them that is asked for."""
    counts = Counts(0, 0, 0)
    while counts.kills < max(4, SHARE * kills) or counts.take_overs < max(4, SHARE * take_overs):
        now = contest(min(max(4, round(SHARE * kills)), KILLS_EACH))
        counts = Counts(*map(sum, zip(counts, now, strict=True)))
        print(counts, flush=True)
    return counts


@pytest.fixture
def chance() -> random.Random:
    seed = random.randrange(2**32)
    print("seed", seed)
    return random.Random(seed)


@pytest.mark.parametrize("keep", [None, 3, "some"])
def test_of_a_directory(publishers: subprocess.Popen[str], tmp_path: Path, chance: random.Random, keep: Any) -> None:
    def contest(kills: int) -> Counts:
        folder = tmp_path / "contest"
        folder.mkdir()
        where = folder / "published"
        place = Place(str(where), str(where), folder / "notes", keep=keep)
        counts = contend(publishers, place, chance, kills, pause=0.05, quieten=lambda: None)
        with snapshot.take_over(where, keep=LEFT if keep == "some" else keep)[1]:  # which removes what the killed left
            directory = open_directory(where)
            versions = [version for number in directory.numbers() if (version := directory.get(number)) is not None]
        named = {file.path for version in versions for file in version.files()}
        named |= {
            name
            for one in directory.left().values()
            if one and one.full
            for name in (one.full.path, kept_name(one.version))
        }
        assert {f"{name}/{file}" for name in ("full", "changes") for file in os.listdir(where / name)} == named
        assert not [name for name in os.listdir(where / "_versions") if name.startswith(".")]
        shutil.rmtree(folder)
        return counts

    contests(2000, 200, contest)


@pytest.mark.slow("faults that last, requests that are late, and processes that wait for them")
@pytest.mark.parametrize("keep", [None, 2, "some"])
def test_of_objects(
    server: Server, publishers: subprocess.Popen[str], tmp_path: Path, chance: random.Random, keep: Any
) -> None:
    faults = [server.fail(0, 0)]

    def contest(kills: int) -> Counts:
        name = f"{keep}x{time.monotonic_ns()}"
        notes, retries = tmp_path / name, {"retry_config": {"max_retries": 4}}
        place = Place(server.uri(name, faulty=False), server.uri(name), notes, retries, keep)
        server.fail(chance.randrange(2**32), 0.15)
        counts = contend(publishers, place, chance, kills, pause=0.3, quieten=lambda: server.fail(0, 0))
        faults.append(server.fail(0, 0))
        return counts

    counts = contests(500, 100, contest)
    print(faults[-1] - faults[0], "requests failed")
    assert faults[-1] - faults[0] > counts.kills / 2


# ----------------------------------------------------------------------------------------------------------- two hosts

OUTAGE = float(os.environ.get("STRESS_OUTAGE", "2"))
"""For how many seconds the server is stopped."""
PAGE = (ROOT / "docs" / "keeping.md").read_text().partition("## Two hosts and an object store")[2].partition("\n## ")[0]
PUBLISHER, FOLLOWER = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


class Program:
    """A program of the page, and what it has printed."""

    def __init__(self, text: str, port: str, log: Path) -> None:
        environment = {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
        }
        self.where, self.log = f"s3://{BUCKET}/{log.parent.name}", log
        with log.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", text, self.where],
                env=os.environ | environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
            )

    def lines(self) -> list[list[str]]:
        """The lines with a version and a beat; the last one may be half written."""
        found = (line.split() for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n"))
        return [line for line in found if len(line) >= 2 and line[0].isdigit()]

    def beat(self) -> int:
        return int(self.lines()[-1][1]) if self.lines() else 0


@pytest.mark.slow("starts programs that load Arrow, and waits while the server is stopped")
def test_of_two_hosts(tmp_path: Path) -> None:
    """The programs of the page: a publisher, a follower, and a publisher on the other host, which takes over."""
    for name in ("moto", "obstore"):
        pytest.importorskip(name, reason="needs the extra `s3-server`")
    programs: list[Program] = []
    until = functools.partial(
        wait_until, within=120 + OUTAGE, says=lambda: [program.log.read_text()[-500:] for program in programs]
    )

    def start(text: str, name: str) -> Program:
        programs.append(Program(text, service.ports[1], tmp_path / name))
        return programs[-1]

    with serving() as service:
        try:
            first = start(PUBLISHER, "first")
            until(lambda: first.beat() > 0)
            follower = start(FOLLOWER, "follower")
            until(lambda: follower.beat() > 5)
            second = start(PUBLISHER, "second")
            until(lambda: second.beat() > 0 and first.process.poll() is not None)
            assert second.beat() > first.beat()
            assert "another publisher has taken over" in first.log.read_text()
            until(lambda: follower.beat() > first.beat())
            service.program.send_signal(signal.SIGSTOP)
            seen, beat, end = len(follower.lines()), second.beat(), time.monotonic() + OUTAGE
            until(lambda: time.monotonic() > end and len(follower.lines()) > seen + 3)
            assert second.beat() <= beat + 1  # one may have been written before
            service.program.send_signal(signal.SIGCONT)
            until(lambda: second.beat() > beat + 20 and follower.beat() > beat + 10)
            second.process.kill()
            second.process.wait()
            (clock,) = snapshot.restore(first.where, storage=service.good).subscriptions(filter="clock")
            assert clock.options["beat"] >= second.beat()
            until(lambda: follower.beat() == clock.options["beat"])
            assert follower.lines()[-1][2] == "None"
            assert (beats := [int(line[1]) for line in follower.lines()]) == sorted(beats)
        finally:
            for program in programs:
                program.process.kill()
                program.process.wait()
