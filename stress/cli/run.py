"""`python -m stress run`: record structures under stress, and judge the histories of their threads.

Exit status 0: all was judged, and right. 1: something is wrong, or a process died. 2: nothing can be said.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stress.arguments import positive
from stress.cli.explore import add_exploring
from stress.cli.output import found_wrong, say, written
from stress.cli.targets import NONE, Known, add_targets, over
from stress.processes import default_processes
from stress.recorder.batch import Settings
from stress.recorder.outcome import Outcome
from stress.recorder.record import CLOCKS
from stress.recorder.running import run_and_pursue
from stress.recorder.workload import Workload
from stress.verdicts import EXIT_STATUS, Verdict

_SECONDS_OF_PURSUIT = 10.0


def add_arguments(parser: argparse.ArgumentParser, known: Known = NONE) -> None:
    """Add the arguments of `run`. `known`: workloads that are known by name."""
    add_targets(parser, known, "a Workload, a list of them, or a factory of objects")
    add_exploring(parser)
    parser.add_argument(
        "--rounds", type=positive(int), metavar="N", help="run each target for at most this many rounds"
    )
    parser.add_argument(
        "--threads", type=positive(int), default=3, metavar="N", help="how many threads call at once (%(default)s)"
    )
    parser.add_argument("--processes", type=positive(int), metavar="N", help="how many campaigns run in parallel")
    parser.add_argument(
        "--patience", type=positive(float), default=30.0, metavar="SECONDS",
        help="how long there may be no progress before a call counts as hung (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--clock",
        choices=sorted(CLOCKS),
        default="ticket",
        help="the clock that orders calls and returns (%(default)s)",
    )
    parser.add_argument("--save", metavar="FILE.jsonl", default="stress-failure.jsonl",
                        help="if a fault is found, write its history to this file (%(default)s)")  # fmt: skip


def main(arguments: argparse.Namespace, known: Known = NONE) -> int:
    """Run the targets one after another until one is found wrong, or the user interrupts."""
    settings = Settings(
        threads=arguments.threads,
        rounds=arguments.rounds,
        duration=10.0 if arguments.duration is None and arguments.rounds is None else arguments.duration,
        seed=arguments.seed,
        clock=arguments.clock,
        processes=arguments.processes or default_processes(arguments.threads),
        patience=arguments.patience,
        supervised=True,
    )

    def test(name: str, workloads: Sequence[Workload]) -> int:
        most_roles = max(len(workload.roles) for workload in workloads)
        named = [replace(workload, target=name) for workload in workloads]
        its = replace(settings, threads=max(settings.threads, most_roles))
        outcome = run_and_pursue(named, its, _SECONDS_OF_PURSUIT, apart=True)
        found_wrong(outcome.verdict is Verdict.ILLEGAL)
        if outcome.history is not None and written(outcome.save, arguments.save):
            outcome = replace(outcome, saved_as=arguments.save)
        _tell(name, outcome, arguments)
        if outcome.interrupted:
            raise KeyboardInterrupt
        return EXIT_STATUS[outcome.verdict]

    return over(arguments, test, known)


def _tell(name: str, outcome: Outcome, arguments: argparse.Namespace) -> None:
    status = EXIT_STATUS[outcome.verdict]
    page = arguments.report if outcome.history is not None else None
    if page and not written(outcome.save_html, page):
        page = None
    if arguments.json:
        say(json.dumps(_as_json(name, outcome, page)), status)
        return
    try:
        told = outcome.report()
    except KeyboardInterrupt:
        told = f"{outcome.summary}\n(the report was interrupted)"
    say(f"{name}: {told}".rstrip(), status)
    if outcome.saved_as:
        say(f"The history is in {outcome.saved_as}" + (f", a page about it in {page}" if page else "") + ".", status)


def _as_json(name: str, outcome: Outcome, page: str | None) -> dict[str, Any]:
    report = outcome.explained()
    return {
        "target": name, "verdict": outcome.verdict.name.lower(), "missing": list(outcome.missing),
        "seed": outcome.seed, "rounds": outcome.rounds, "operations": outcome.operations,
        "overlap": round(outcome.overlap, 4), "undecided": outcome.undecided,
        "seconds": round(outcome.seconds, 3), "interrupted": outcome.interrupted, "trouble": outcome.trouble,
        "stacks": outcome.stacks,
        "found": report.diagnosis.shape.name if report and report.diagnosis else None,
        "sentence": report.sentence if report else None, "history": outcome.saved_as or None, "report": page,
        "replay": outcome.replay or None,
    }  # fmt: skip
