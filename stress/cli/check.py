"""`python -m stress check`: judge recorded histories.

Exit status 0: all are linearizable. 1: some are not. 2: none is known to be wrong, but some could not be decided within
the budget, are empty, or could not be read.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from stress.arguments import positive
from stress.checker.check import Budget, Judgement, check
from stress.cli.output import aside, say
from stress.formats.read import parse_initial, read_history
from stress.history import UNSEEN, History, HistoryError
from stress.progress_line import following
from stress.reports.report import verdict_on
from stress.spec import Spec
from stress.specs import SPECS
from stress.verdicts import EXIT_STATUS, Verdict, status_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `check`."""
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="JSON Lines, a jepsen log, or EDN events; the content tells"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for each file")
    add_judging(parser)


def add_judging(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that determine how a history in a file is judged."""
    parser.add_argument(
        "--spec",
        metavar="NAME",
        help=f"what was recorded: {', '.join(SPECS)}, or module:Class for your own specification",
    )
    parser.add_argument(
        "--initial",
        metavar="VALUE",
        help="the state at the start: nil, an integer, a string, or any EDN value",
    )
    parser.add_argument(
        "--budget",
        type=positive(int),
        metavar="STEPS",
        default=Budget().steps,
        help="the most steps of the search (%(default)s)",
    )


def main(arguments: argparse.Namespace) -> int:
    """Judge every file. Verdicts go to standard output, files that cannot be read to standard error."""
    statuses: list[int] = []
    files = arguments.files
    try:
        with following("checking", len(files), told=True) as tell:
            for file in files:
                statuses.append(_judge(file, arguments))
                tell(f"{len(statuses)} of {len(files)} files", len(statuses))
    except KeyboardInterrupt:
        aside(f"interrupted after {len(statuses)} of {len(files)} files")
        statuses.append(2)
    return status_of(statuses)


def judged(file: str, arguments: argparse.Namespace) -> tuple[History, Spec, Judgement]:
    """The history in a file, and its judgement.

    Raises:
        HistoryError: it cannot be read, or cannot be judged by this specification.
    """
    initial: Any = UNSEEN if arguments.initial is None else parse_initial(arguments.initial)
    try:
        history, spec = read_history(file, arguments.spec, initial)
        return history, spec, check(history, spec, budget=Budget(steps=arguments.budget))
    except HistoryError:
        raise
    except Exception as error:
        raise HistoryError(f"it cannot be judged: {type(error).__name__}: {error}", source=file) from error


def _judge(file: str, arguments: argparse.Namespace) -> int:
    try:
        history, _, judgement = judged(file, arguments)
    except HistoryError as error:
        aside(error)
        return 2
    verdict, reason = verdict_on(history, judgement)
    status = EXIT_STATUS[verdict]
    tell = _as_json if arguments.json else _as_text
    say(tell(file, judgement, verdict, reason), status)
    return status


def _as_text(file: str, judgement: Judgement, verdict: Verdict, reason: str) -> str:
    why = f", {reason}" if reason else ""
    return f"{file}: {verdict.value}{why} ({judgement.operations:,} operations, {judgement.seconds:.2f} s)"


def _as_json(file: str, judgement: Judgement, verdict: Verdict, reason: str) -> str:
    return json.dumps({
        "file": file, "verdict": verdict.name.lower(), "reason": reason, "operations": judgement.operations,
        "components": judgement.components, "steps": judgement.steps, "seconds": round(judgement.seconds, 3),
    })  # fmt: skip
