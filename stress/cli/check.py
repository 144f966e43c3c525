"""`python -m stress check`: judge recorded histories.

Exit status 0: all are linearizable. 1: some are not. 2: none is known not to be, but some could not be
decided within the budget, or not be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from stress.arguments import positive
from stress.checker.check import Budget, Judgement, Verdict, check
from stress.cli.progress import each
from stress.formats.read import parse_initial, read_history
from stress.history import UNSEEN, HistoryError
from stress.specs import SPECS

__all__ = ["add_arguments", "main"]

_STATUS = {Verdict.LINEARIZABLE: 0, Verdict.ILLEGAL: 1, Verdict.UNKNOWN: 2}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `check` can be told."""
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="JSON Lines, a jepsen log, or EDN events; the content tells"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for each file")
    add_judging(parser)


def add_judging(parser: argparse.ArgumentParser) -> None:
    """The arguments that say how a history in a file is judged."""
    parser.add_argument("--spec", choices=sorted(SPECS), metavar="NAME", help=f"what was recorded: {', '.join(SPECS)}")
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
        help="search at most so far (%(default)s)",
    )


def initial_of(arguments: argparse.Namespace) -> Any:
    """The start state that was named, or `UNSEEN`."""
    return UNSEEN if arguments.initial is None else parse_initial(arguments.initial)


def main(arguments: argparse.Namespace) -> int:
    """Judge every file; the verdicts go to standard output, what could not be read to standard error."""
    statuses = set()
    try:
        initial = initial_of(arguments)
        for file in each(arguments.files, "checking"):
            statuses.add(_judge(file, arguments, initial))
    except HistoryError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"interrupted after {len(statuses)} files", file=sys.stderr)
        statuses.add(2)
    return 1 if 1 in statuses else 2 if 2 in statuses else 0


def _judge(file: str, arguments: argparse.Namespace, initial: Any) -> int:
    try:
        history, spec = read_history(file, arguments.spec, initial)
    except HistoryError as error:
        print(error, file=sys.stderr)
        return 2
    judgement = check(history, spec, budget=Budget(steps=arguments.budget))
    print(_as_json(file, judgement) if arguments.json else _as_text(file, judgement), flush=True)
    return _STATUS[judgement.verdict]


def _as_text(file: str, judgement: Judgement) -> str:
    return f"{file}: {judgement.verdict.value} ({judgement.operations:,} operations, {judgement.seconds:.2f} s)"


def _as_json(file: str, judgement: Judgement) -> str:
    return json.dumps({
        "file": file, "verdict": judgement.verdict.name.lower(), "operations": judgement.operations,
        "components": judgement.components, "steps": judgement.steps, "seconds": round(judgement.seconds, 3),
    })  # fmt: skip
