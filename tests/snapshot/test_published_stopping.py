"""What a process that ends has published: everything, however it ends, unless it is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import snapshot

pytestmark = [pytest.mark.slow, pytest.mark.once]  # each test starts an interpreter that loads Arrow

BEGIN = """
import os, signal, sys, threading, time
import snapshot
from subtrie import SubscriptionTrie
trie, publisher = snapshot.take_over(sys.argv[1], every=3600)
while publisher.version is None:
    time.sleep(0.001)  # the first version is published at once
trie.subscribe("last", "s", n=(1, 2))
"""

WITH = """
with publisher:
    {}
"""

STORM = """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
publish, left = publisher._writer.publish, [None] * {}
def interrupted():
    if left:
        left.pop()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    return publish()
publisher._writer.publish = interrupted
with publisher:
    pass
"""

SLOWLY = """
publish = publisher._writer.publish
def slowly():
    time.sleep(0.2)  # meanwhile the other one begins
    return publish()
publisher._writer.publish = slowly
"""

ENDS = {
    "of the program": "",
    "of a with block": WITH.format("pass"),
    "by sys.exit": WITH.format("sys.exit(3)"),
    "by an exception": WITH.format("raise RuntimeError"),
    "by sys.exit outside": "sys.exit(3)",
    "by an exception outside": "raise RuntimeError",
    "in another thread": "threading.Thread(target=time.sleep, args=(0.2,)).start()",
    "by SIGTERM with the documented handler": (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
        + WITH.format("os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)")
    ),
    "by SIGTERM with the documented handler, outside": (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(60)"
    ),
    "by SIGTERM with the documented handler, while the last version is written": STORM.format(1),
    "by one SIGTERM after another": STORM.format(3),
    "of two threads that close": SLOWLY
    + WITH.format(
        "both = [threading.Thread(target=publisher.close) for _ in range(2)]\n    for one in both: one.start()\n"
        "    for one in both: one.join()"
    ),
    "of a thread by sys.exit": WITH.format("ended = threading.Thread(target=sys.exit); ended.start(); ended.join()"),
    "by Ctrl-C": WITH.format("os.kill(os.getpid(), signal.SIGINT); time.sleep(60)"),
    "of a fork, which is not its publisher's": "if os.fork() == 0: sys.exit(0)\nos.wait()",
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_the_last_changes_are_published_at_the_end(tmp_path: Path, end: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", BEGIN + end, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert [version.changes for version in snapshot.versions(tmp_path)] == [0, 1], run.stderr
    assert snapshot.restore(tmp_path).match("last") == ("s",)
    assert "could not be published" not in run.stderr
    assert "is closed" not in run.stderr


@pytest.mark.parametrize("how", ["signal.SIGKILL", "signal.SIGTERM"])
def test_a_kill_loses_them(tmp_path: Path, how: str) -> None:
    end = WITH.format(f"os.kill(os.getpid(), {how}); time.sleep(60)")
    run = subprocess.run([sys.executable, "-c", BEGIN + end, str(tmp_path)], capture_output=True, check=False)
    assert -run.returncode in (signal.SIGKILL, signal.SIGTERM)
    assert [version.changes for version in snapshot.versions(tmp_path)] == [0]
