"""Spark as it is deployed: several executors, one of which is lost, and Spark Connect.

Each session takes a minute and some gigabytes, so `make stress` runs these, and `make test` does not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow("each starts a cluster"),
    pytest.mark.once,
    pytest.mark.timeout(600),
]

ROOT = Path(__file__).parents[2]
CONNECT = ("grpc", "grpc_status", "google.rpc", "zstandard")
"""The packages that `pyspark[connect]` needs besides pyspark."""


def driven(*arguments: str) -> list[dict[str, Any]]:
    """Run a driver; return what it printed."""
    path = os.pathsep.join([str(ROOT), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "tests.snapshot.cluster_driver", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def lacks(name: str) -> bool:
    try:
        return find_spec(name) is None
    except ImportError:
        return True


@pytest.mark.parametrize("what", ["worker", "executor"])
def test_rows_are_complete_and_equal_after_a_loss(what: str, tmp_path: Path) -> None:
    found = driven("lost", what, str(tmp_path))
    assert [each["killed"] for each in found] == [True, True], "nothing was killed"
    assert [each["equal"] for each in found] == [True, True]
    assert all(each["rows"] > 50_000 for each in found)


@pytest.mark.skipif(any(map(lacks, CONNECT)), reason="needs pyspark[connect]: grpcio, grpcio-status, zstandard")
def test_spark_connect_matches_and_answers() -> None:
    (found,) = driven("connect")
    assert found["session"] == "pyspark.sql.connect.session"
    wanted = [["a.b", "#", "bob"], ["a.b", "a.*", "alice"], ["c", "#", "bob"]]
    assert found["rows_matched"] == wanted
    assert "a Spark Connect session cannot send a trie to the workers: publish it" in found["refusal"]
    assert found["rows"] == 2
    assert found["growth"] == [[1, 2, 2, 0, 0]]
    assert found["overlaps"] == [["#", "a.*", "covers"], ["a.*", "#", "is covered by"]]
    assert (found["back"], found["busiest"]) == (2, [2, 1])
    assert (found["set"], found["changes"], found["stream"], found["matched"]) == (2, 2, 2, 2)
    assert found["sql"] == ["alice", "bob"]
