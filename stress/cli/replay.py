"""`python -m stress replay`: show again what is wrong with a history, or run an explorer's schedule again.

A history that was recorded from real threads cannot be made to happen again, but the reason why it is wrong can be
shown again. An argument that is not a file is taken as a token of the explorer. If the code has changed, the command
says so.
"""

from __future__ import annotations

import argparse
import os

from stress.cli import explore
from stress.cli.check import add_judging, judged
from stress.cli.output import aside, say, written
from stress.reports import html, text
from stress.reports.report import report_on, verdict_on
from stress.source import changed
from stress.verdicts import EXIT_STATUS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `replay`."""
    parser.add_argument("what", metavar="FILE", help="a recorded history, or a token of the explorer")
    parser.add_argument("--report", metavar="FILE.html", help="write a page about it")
    add_judging(parser)


def main(arguments: argparse.Namespace) -> int:
    """Show it; the exit status is that of `check`."""
    if not os.path.exists(arguments.what):
        return explore.replay(arguments)
    history, spec, judgement = judged(arguments.what, arguments)
    report = report_on(history, spec, judgement)
    if arguments.report:
        written(lambda path: html.save(report, path), arguments.report)
    for told in changed(history.header.get("code")):
        aside(f"{told}: the history is of the earlier version.")
    status = EXIT_STATUS[verdict_on(history, judgement)[0]]
    say(text.render(report).rstrip(), status)
    return status
