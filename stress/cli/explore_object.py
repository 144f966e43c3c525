"""`python -m stress explore module:attribute`: an object of one's own under every schedule of small scenarios.

It is explored in a process of its own, so that what brings that down is a finding, and Ctrl-C comes through.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from stress.cli.output import say
from stress.cli.progress import following
from stress.cli.targets import found
from stress.explorer.explore import Explored, explore
from stress.processes import Died, Team, Worker
from stress.recorder.campaign import draw_seed
from stress.recorder.workload import Workload
from stress.verdicts import EXIT_STATUS, Verdict, verdict_of

__all__ = ["main"]


def main(target: str, arguments: argparse.Namespace) -> int:
    """Explore it; the exit status."""
    try:
        workloads = found(target, arguments.spec)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    told: dict[str, Any] = {"verdict": "unknown", "report": "undecided (it was interrupted)"}
    status = 2
    try:
        with (
            following(target, arguments.duration) as tell,
            Team(1, _work, target, workloads, arguments) as team,
        ):
            beats = count()
            for message in team.messages():
                if isinstance(message, Died):
                    status = 1
                    told = {"verdict": "illegal", "report": f"NOT all right: {message}\n{message.stacks}".rstrip()}
                elif message is not None:
                    status, told = message
                tell("exploring", next(beats) / 10)
    except KeyboardInterrupt:
        pass
    text = told.pop("report")
    say(json.dumps({"target": target, **told}) if arguments.json else f"{target}: {text}", status)
    return status


def _work(worker: Worker, target: str, workloads: Sequence[Workload], arguments: argparse.Namespace) -> None:
    seed = draw_seed() if arguments.seed is None else arguments.seed
    worker.send(_told(list(_explored(worker, workloads, arguments, seed)), arguments))


def _explored(
    worker: Worker, workloads: Sequence[Workload], arguments: argparse.Namespace, seed: int
) -> Iterator[Explored]:
    for workload in workloads:
        worker.note(f"scenarios of {workload.target}, seed {seed}")
        outcome = explore(
            workload.factory, workload.spec, workload.operations, check=workload.check, duration=arguments.duration,
            seed=seed, target=workload.target,
        )  # fmt: skip
        yield outcome
        if outcome.verdict is Verdict.ILLEGAL:
            return


def _told(outcomes: Sequence[Explored], arguments: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    last = outcomes[-1]
    unknown = [each.schedules for each in outcomes if each.verdict is Verdict.UNKNOWN]
    verdict = verdict_of(found=last.verdict is Verdict.ILLEGAL, missing=unknown or ([] if outcomes else ["nothing"]))
    if arguments.report and last.found is not None:
        last.save_html(arguments.report)
    executions = sum(each.executions for each in outcomes)
    said = [last] if verdict is Verdict.ILLEGAL else outcomes
    report = "\n".join(each.report().rstrip() for each in said)
    return EXIT_STATUS[verdict], {
        "verdict": verdict.name.lower(), "executions": executions, "token": last.token or None,
        "found": last.found.headline if last.found else None, "report": report,
    }  # fmt: skip
