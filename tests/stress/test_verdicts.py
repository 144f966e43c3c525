"""Histories that other people recorded and judged: the checker must agree, and leave none undecided.

`data/histories/README.md` tells where they come from, and `VERDICTS.tsv` has the verdicts.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from stress import Verdict, check, read_history
from stress.reports.diagnosis import diagnose

pytestmark = pytest.mark.once  # the checker alone, which is the same everywhere

HISTORIES = Path(__file__).parents[1] / "data" / "histories"
SPECS = {"jepsen": "register", "kv": "kv"}

with (HISTORIES / "VERDICTS.tsv").open() as table:
    KNOWN = [(row["file"], int(row["ops"]), row["verdict"]) for row in csv.DictReader(table, delimiter="\t")]


def test_all_histories_are_here() -> None:
    assert len(KNOWN) == 58


@pytest.mark.parametrize(("file", "operations", "verdict"), KNOWN, ids=[file for file, _, _ in KNOWN])
def test_verdict_is_the_known_one(file: str, operations: int, verdict: str) -> None:
    history, spec = read_history(HISTORIES / file, SPECS[file.partition("/")[0]])

    judgement = check(history, spec)

    assert len(history) == operations
    assert judgement.verdict.value == verdict


@pytest.mark.parametrize("file", [file for file, _, verdict in KNOWN if verdict.startswith("NOT")])
def test_refuted_history_is_explained_by_a_small_part_of_it(file: str) -> None:
    history, spec = read_history(HISTORIES / file, SPECS[file.partition("/")[0]])

    diagnosis = diagnose(check(history, spec), spec, history)

    assert diagnosis is not None
    window = diagnosis.window
    assert check(window.operations, spec, starts=window.starts).verdict is Verdict.ILLEGAL
    without_culprit = [each for each in window.operations if each.id != window.culprit.id]
    assert check(without_culprit, spec, starts=window.starts).verdict is Verdict.LINEARIZABLE
    assert all(partial.refused for partial in diagnosis.partials)
    assert len(window.operations) < len(history)
