"""The how-to of two hosts, followed: network namespaces are the hosts, if this process may make them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import snapshot
from tests.snapshot.faulty_server import BUCKET
from tests.snapshot.support import ROOT

pytest.importorskip("moto", reason="needs moto, of the extra `s3-server`")
pytest.importorskip("obstore", reason="needs the extra `s3`")
pytestmark = [pytest.mark.once, pytest.mark.slow]

OUTAGE = float(os.environ.get("STRESS_OUTAGE", "2"))
"""For how many seconds the server is stopped."""

PAGE = (ROOT / "docs" / "keeping.md").read_text().partition("## Two hosts and an object store")[2].partition("\n## ")[0]
PUBLISHER, FOLLOWER = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


class Host(NamedTuple):
    """What a program is started with there, and the server's address."""

    command: list[str]
    server: str


@pytest.fixture(scope="module")
def hosts() -> Iterator[tuple[Host, Host]]:
    """Two namespaces, each with a link of its own to the server; otherwise twice this machine."""
    names = [f"subtrie{os.getpid()}{letter}" for letter in "ab"]
    made = []
    try:
        for number, name in enumerate(names):
            link, here, there = f"st{os.getpid() % 10**6}{number}", f"10.71.{number}.1", f"10.71.{number}.2"
            for command in (
                f"netns add {name}",
                f"link add {link} type veth peer name eth0 netns {name}",
                f"addr add {here}/24 dev {link}",
                f"link set {link} up",
                f"-n {name} addr add {there}/24 dev eth0",
                f"-n {name} link set eth0 up",
            ):
                subprocess.run(["ip", *command.split()], check=True, capture_output=True)
            made.append(Host(["ip", "netns", "exec", name], here))
    except (OSError, subprocess.CalledProcessError) as error:
        print("no namespaces, so both hosts are this one:", getattr(error, "stderr", error))
        made = [Host([], "127.0.0.1")] * 2
    try:
        yield made[0], made[1]
    finally:
        for name in names:
            with contextlib.suppress(OSError):
                subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


class Program:
    """A program of the page, and what it has printed."""

    def __init__(self, text: str, host: Host, port: str, log: Path) -> None:
        environment = {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://{host.server}:{port}",
            "AWS_ALLOW_HTTP": "true",
        }
        self.log = log
        command = [*host.command, sys.executable, "-c", text, f"s3://{BUCKET}/{log.parent.name}"]
        with log.open("w") as out:
            self.process = subprocess.Popen(
                command, env=os.environ | environment, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT
            )

    def lines(self) -> list[list[str]]:
        """The lines with a version and a beat; the last one may be half written."""
        found = (line.split() for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n"))
        return [line for line in found if len(line) >= 2 and line[0].isdigit()]

    def beat(self) -> int:
        return int(self.lines()[-1][1]) if self.lines() else 0


def until(condition: Callable[[], bool], *programs: Program) -> None:
    deadline = time.monotonic() + 120 + OUTAGE
    while not condition():
        assert time.monotonic() < deadline, [program.log.read_text()[-500:] for program in programs]
        time.sleep(0.01)


def test_the_page(hosts: tuple[Host, Host], tmp_path: Path) -> None:
    one, two = hosts
    command = [sys.executable, "-m", "tests.snapshot.faulty_server", "0.0.0.0"]  # noqa: S104
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout is not None
        good, port = server.stdout.readline().split()
        try:
            follow_the_page(one, two, server, good, port, tmp_path)
        finally:
            server.kill()


def follow_the_page(one: Host, two: Host, server: subprocess.Popen[str], good: str, port: str, tmp_path: Path) -> None:
    first = Program(PUBLISHER, one, port, tmp_path / "first")
    programs = [first]
    try:
        until(lambda: first.beat() > 0, first)
        programs.append(follower := Program(FOLLOWER, two, port, tmp_path / "follower"))
        until(lambda: follower.beat() > 5, *programs)
        programs.append(second := Program(PUBLISHER, two, port, tmp_path / "second"))
        until(lambda: second.beat() > 0, *programs)
        assert second.beat() > first.beat()
        until(lambda: first.process.poll() is not None, *programs)
        assert "another publisher has taken over" in first.log.read_text()
        until(lambda: follower.beat() > first.beat(), *programs)
        server.send_signal(signal.SIGSTOP)
        seen, beat, end = len(follower.lines()), second.beat(), time.monotonic() + OUTAGE
        until(lambda: time.monotonic() > end and len(follower.lines()) > seen + 3, *programs)
        assert second.beat() <= beat + 1  # one may have been written before
        server.send_signal(signal.SIGCONT)
        until(lambda: second.beat() > beat + 20 and follower.beat() > beat + 10, *programs)
        second.process.kill()
        second.process.wait()
        storage = {
            "access_key_id": "k",
            "secret_access_key": "s",
            "region": "x",
            "endpoint": f"http://127.0.0.1:{good}",
        }
        (clock,) = snapshot.restore(f"s3://{BUCKET}/{tmp_path.name}", storage=storage).subscriptions(filter="clock")
        assert clock.options["beat"] >= second.beat()
        until(lambda: follower.beat() == clock.options["beat"], *programs)
        assert follower.lines()[-1][2] == "None"
        beats = [int(line[1]) for line in follower.lines()]
        assert beats == sorted(beats)
    finally:
        for program in programs:
            program.process.kill()
            program.process.wait()
