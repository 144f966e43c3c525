"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.stress.test_run import LOST_INCREMENTS

pytestmark = pytest.mark.once  # Python that is the same everywhere

ROOT = Path(__file__).parents[2]

COUNTERS = """
import pytest, stress
from tests.stress.test_run import COUNTING, LockedCounter, LossyCounter
"""


def pytest_run(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(COUNTERS + tests)
    words = [
        "-p",
        "subtrie_pytest",
        "-p",
        "no:cacheprovider",
        "--strict-markers",
        f"--rootdir={folder}",
        *options,
        str(folder),
    ]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words], capture_output=True, text=True, timeout=100, cwd=ROOT, check=False
    )


def test_a_right_object_passes(tmp_path: Path) -> None:
    tests = """
def test_counter(linearizable):
    outcome = linearizable(LockedCounter, stress.Counter(), COUNTING, rounds=30)
    assert outcome.rounds == 30
"""
    ran = pytest_run(tmp_path, tests)

    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout


def test_a_wrong_one_fails_with_its_seed_and_the_report(tmp_path: Path) -> None:
    tests = """
@pytest.mark.stress(seed=4321, duration=30)
def test_counter(linearizable):
    linearizable(LossyCounter, stress.Counter(), COUNTING)
"""
    ran = pytest_run(tmp_path, tests)

    assert ran.returncode == 1
    assert "stress seed 4321: NOT linearizable; " in ran.stdout
    assert "To run it again: pytest --stress-seed=4321" in ran.stdout
    assert any(f"NOT linearizable: {name}" in ran.stdout for name in LOST_INCREMENTS)
    assert "python -m stress replay " in ran.stdout
    assert "FAILED" in ran.stdout
    assert "Traceback" not in ran.stdout


def test_the_command_line_goes_before_the_test_and_the_test_before_the_marker(tmp_path: Path) -> None:
    tests = """
pytestmark = pytest.mark.stress(seed=1, threads=4, rounds=3)

@pytest.mark.stress(seed=2)
def test_marked(linearizable):
    outcome = linearizable(LockedCounter, stress.Counter(), COUNTING)
    assert (outcome.seed, outcome.rounds) == (SEED or 2, 3)

def test_called(linearizable):
    outcome = linearizable(LockedCounter, stress.Counter(), COUNTING, seed=3)
    assert (outcome.seed, outcome.rounds) == (SEED or 3, 3)
"""
    by_itself = pytest_run(tmp_path, tests.replace("SEED", "None"))
    overruled = pytest_run(tmp_path, tests.replace("SEED", "77"), "--stress-seed=77", "--stress-duration=50")

    assert "2 passed" in by_itself.stdout, by_itself.stdout
    assert "2 passed" in overruled.stdout, overruled.stdout


def test_undecided_fails_too(tmp_path: Path) -> None:
    tests = """
def test_counter(linearizable):
    linearizable(LockedCounter, stress.Counter(), COUNTING, duration=0)
"""
    ran = pytest_run(tmp_path, tests)

    assert ran.returncode == 1
    assert (
        "undecided (no batch was recorded and judged in this time: let `duration` be longer); 0 operations"
        in ran.stdout
    )


@pytest.mark.parametrize("option", ["--stress-seed", "--stress-duration"])
def test_options_are_explained(tmp_path: Path, option: str) -> None:
    assert option in pytest_run(tmp_path, "", "--help").stdout


def test_a_duration_of_nothing_is_refused(tmp_path: Path) -> None:
    ran = pytest_run(tmp_path, "", "--stress-duration=0")

    assert ran.returncode == 4
    assert "--stress-duration: must be more than 0, not 0" in ran.stderr
