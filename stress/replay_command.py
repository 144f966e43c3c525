"""`python -m stress replay`: show again what is wrong with a history, or run an explorer's schedule again.

A history recorded from real threads cannot be made to happen again; what can be shown again is why it is
wrong. What is no file is taken for a token of the explorer, if there is one.
"""

from __future__ import annotations

import argparse
import os
import sys

from stress import report_html, report_text
from stress.check import Budget, Verdict, check
from stress.check_command import add_judging, initial_of
from stress.commands import module_of
from stress.history import HistoryError
from stress.read import read_history
from stress.report import report_on

__all__ = ["add_arguments", "main"]

_STATUS = {Verdict.LINEARIZABLE: 0, Verdict.ILLEGAL: 1, Verdict.UNKNOWN: 2}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `replay` can be told."""
    parser.add_argument("what", metavar="FILE", help="a recorded history, or a token of the explorer")
    parser.add_argument("--report", metavar="FILE.html", help="write a page about it")
    add_judging(parser)


def main(arguments: argparse.Namespace) -> int:
    """Show it; the exit status tells the verdict as `check` does."""
    explorer = module_of("explore")
    if explorer is not None and not os.path.exists(arguments.what):
        status: int = explorer.replay(arguments)
        return status
    try:
        history, spec = read_history(arguments.what, arguments.spec, initial_of(arguments))
    except HistoryError as error:
        print(error, file=sys.stderr)
        return 2
    judgement = check(history, spec, budget=Budget(steps=arguments.budget))
    report = report_on(history, spec, judgement)
    if arguments.report:
        report_html.save(report, arguments.report)
    print(report_text.render(report), end="")
    return _STATUS[judgement.verdict]
