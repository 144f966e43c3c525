"""`python -m stress run`: record structures under stress, and judge what their threads saw."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from stress.arguments import positive
from stress.checker.check import Verdict
from stress.cli.progress import watching
from stress.recorder.campaign import Outcome, Settings, default_processes, draw_seed, run_workloads
from stress.recorder.record import CLOCKS
from stress.recorder.workload import Workload
from stress.tries.targets import TARGETS, find

__all__ = ["add_arguments", "main"]

_STATUS = {Verdict.LINEARIZABLE: 0, Verdict.ILLEGAL: 1, Verdict.UNKNOWN: 2}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `run` can be told."""
    parser.add_argument(
        "targets", nargs="*", default=list(TARGETS), metavar="TARGET",
        help=f"{', '.join(TARGETS)} (default: all), or module:attribute for a Workload of your own",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="N", help="decides what is called, and where threads give way")
    parser.add_argument(
        "--duration", type=positive(float), metavar="SECONDS", help="run each target for so long (10, if no --rounds)"
    )
    parser.add_argument("--rounds", type=positive(int), metavar="N", help="run each target for so many rounds at most")
    parser.add_argument(
        "--threads", type=positive(int), default=3, metavar="N", help="how many call at once (%(default)s)"
    )
    parser.add_argument("--processes", type=positive(int), metavar="N", help="how many campaigns run side by side")
    parser.add_argument(
        "--clock",
        choices=sorted(CLOCKS),
        default="ticket",
        help="what orders calls and returns (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for each target")
    parser.add_argument("--report", metavar="FILE.html", help="write a page about what is wrong, if something is")
    parser.add_argument("--save", metavar="FILE.jsonl", default="stress-failure.jsonl",
                        help="where the history goes if something is wrong (%(default)s)")  # fmt: skip


def main(arguments: argparse.Namespace) -> int:
    """Run the targets one after another until one is found wrong, or the user interrupts."""
    try:
        workloads = [(name, find(name)) for name in arguments.targets]
        settings = _settings(arguments)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    statuses = set()
    for name, each in workloads:
        outcome = _run(each, settings)
        if outcome.history is not None:
            outcome = outcome.save(arguments.save)
        _tell(name, outcome, arguments)
        statuses.add(_STATUS[outcome.verdict])
        if outcome.verdict is Verdict.ILLEGAL or outcome.interrupted:
            break
    return 1 if 1 in statuses else 2 if 2 in statuses else 0


def _settings(arguments: argparse.Namespace) -> Settings:
    duration = arguments.duration
    if duration is None and arguments.rounds is None:
        duration = 10.0
    return Settings(
        threads=arguments.threads,
        rounds=arguments.rounds,
        duration=duration,
        seed=draw_seed() if arguments.seed is None else arguments.seed,
        clock=arguments.clock,
        processes=arguments.processes or default_processes(arguments.threads),
    )


def _run(workloads: Sequence[Workload], settings: Settings) -> Outcome:
    with watching(settings) as watch:
        return run_workloads(workloads, settings, watch)


def _tell(name: str, outcome: Outcome, arguments: argparse.Namespace) -> None:
    report = outcome.explained()
    page = arguments.report if report is not None else None
    if page:
        outcome.save_html(page)
    if arguments.json:
        print(json.dumps(_as_json(name, outcome, page)), flush=True)
        return
    print(f"{name}: {outcome.report()}", flush=True)
    if outcome.saved_as:
        print(f"The history is in {outcome.saved_as}" + (f", a page about it in {page}" if page else "") + ".")


def _as_json(name: str, outcome: Outcome, page: str | None) -> dict[str, Any]:
    report = outcome.explained()
    return {
        "target": name, "verdict": outcome.verdict.name.lower(), "seed": outcome.seed,
        "rounds": outcome.rounds, "operations": outcome.operations, "overlap": round(outcome.overlap, 4),
        "undecided": outcome.undecided,
        "seconds": round(outcome.seconds, 3), "interrupted": outcome.interrupted, "trouble": outcome.trouble,
        "found": report.diagnosis.shape.name if report and report.diagnosis else None,
        "sentence": report.sentence if report else None, "history": outcome.saved_as or None, "report": page,
    }  # fmt: skip
