"""`python -m stress replay`: show again what is wrong with a history, or run an explorer's schedule again.

A history recorded from real threads cannot be made to happen again; what can be shown again is why it is
wrong. What is no file is taken for a token of the explorer.
"""

from __future__ import annotations

import argparse
import os
import sys

from stress.checker.check import Budget, Verdict, check
from stress.cli import explore
from stress.cli.check import add_judging, initial_of
from stress.formats.read import read_history
from stress.history import HistoryError
from stress.reports import html, text
from stress.reports.report import report_on

__all__ = ["add_arguments", "main"]

_STATUS = {Verdict.LINEARIZABLE: 0, Verdict.ILLEGAL: 1, Verdict.UNKNOWN: 2}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `replay` can be told."""
    parser.add_argument("what", metavar="FILE", help="a recorded history, or a token of the explorer")
    parser.add_argument("--report", metavar="FILE.html", help="write a page about it")
    add_judging(parser)


def main(arguments: argparse.Namespace) -> int:
    """Show it; the exit status tells the verdict as `check` does."""
    if not os.path.exists(arguments.what):
        return explore.replay(arguments)
    try:
        history, spec = read_history(arguments.what, arguments.spec, initial_of(arguments))
    except HistoryError as error:
        print(error, file=sys.stderr)
        return 2
    judgement = check(history, spec, budget=Budget(steps=arguments.budget))
    report = report_on(history, spec, judgement)
    if arguments.report:
        html.save(report, arguments.report)
    print(text.render(report), end="")
    return _STATUS[judgement.verdict]
