"""`stress.explore` proves no wrong class, accuses no right one, and says why where it cannot tell: the table of `cases`."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import ctrie
from stress import Verdict
from tests.stress.cases import CASES, DIVIDED, VERDICTS, Case, case_named

pytestmark = [
    pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin"),
    pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning"),  # of classes that keep one
    # An archive of an execution that was cut short cannot be closed.
    pytest.mark.filterwarnings("ignore:Exception ignored in.*[zZ]ip:pytest.PytestUnraisableExceptionWarning"),
]

REST = [pytest.mark.slow("one class of a table whose kinds the quick ones cover"), pytest.mark.once]


@pytest.mark.parametrize(
    "case", [pytest.param(each, id=each.id, marks=[] if each.is_quick else REST) for each in CASES if each.is_for_here]
)
def test_what_is_said_is_true(case: Case) -> None:
    if case.verdict == "refused":
        with pytest.raises(ValueError) as refused:  # noqa: PT011 - the table has the text
            case.explored()
        told = str(refused.value)
    else:
        outcome = case.explored()
        told = outcome.report()
        assert outcome.verdict in VERDICTS[case.verdict], told
        assert case.verdict != "divided" or (DIVIDED in told) is (outcome.verdict is Verdict.UNKNOWN)
    for each in case.all_of("says"):
        assert each in told


def test_no_two_have_one_name() -> None:
    assert len({each.id for each in CASES}) == len(CASES)


def test_python_finds_the_text_of_a_class() -> None:
    with case_named("OfClosure").made() as made:
        assert inspect.getsource(made.__init__).startswith("    def __init__(self):")


PAGE = Path(__file__).parents[2] / "docs" / "stress" / "other-objects.md"


def without_numbers(report: str) -> str:
    """A report in which threads have no numbers: the explorer decides which of them comes first."""
    return re.sub(r"hread \d", "hread", report)


@pytest.mark.docs
@pytest.mark.once
def test_the_page_of_ten_faults_says_what_the_reports_say() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 10
    for name, *_, told in rows:
        case = next(each for each in CASES if each.why.startswith(f"{name}: "))
        assert without_numbers(told) in without_numbers(case.explored().report())
