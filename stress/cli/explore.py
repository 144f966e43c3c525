"""`python -m stress explore`: every schedule of small scenarios of an object; and replay one of them.

An object is explored in a separate process, so that a crash of that process is a finding, and Ctrl-C always works.

Exit status 0: all was explored, and nothing is wrong. 1: something is wrong. 2: nothing can be said.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from stress.arguments import positive
from stress.cli.output import aside, say, written
from stress.cli.targets import NONE, add_targets, alone, over
from stress.explorer.explore import Explored, explore
from stress.explorer.scenario import Scenarios
from stress.explorer.token import Calls, TokenError, read
from stress.processes import PATIENCE, Died, Patience, Tally, Team, Worker
from stress.progress_line import following
from stress.recorder.workload import Workload, as_arguments
from stress.seed import draw_seed
from stress.source import changed
from stress.verdicts import EXIT_STATUS, Verdict, verdict_of

Progress = Callable[[str], object]
"""Is told of each execution that begins, by its scenario, and of each object that is prepared, by an empty text."""
_MADE = "executions"
_PREPARES = "another object is prepared"
_NAMELESS = "the token names no object: give it to stress.explore(..., replay=...), with the original arguments"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `explore`."""
    add_targets(parser, (), "a Workload, or a factory of objects")
    add_exploring(parser)
    parser.add_argument(
        "--patience", type=positive(float), default=PATIENCE, metavar="SECONDS",
        help="how long one execution may take before a call counts as hung (%(default)s)",
    )  # fmt: skip


def add_exploring(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of every search for faults."""
    parser.add_argument("--seed", type=int, default=draw_seed(), metavar="N", help="decides what is drawn at random")
    parser.add_argument(
        "--duration",
        type=positive(float),
        metavar="SECONDS",
        help="search for at most this long (default: 10 s for threads, else until all is explored)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for each target")
    parser.add_argument("--report", metavar="FILE.html", help="if a fault is found, write a page about it")


def main(arguments: argparse.Namespace) -> int:
    """Explore the targets one after another."""
    return over(arguments, partial(_explore, arguments=arguments), NONE)


def _explore(target: str, workloads: Sequence[Workload], arguments: argparse.Namespace) -> int:
    again = f"the same command with --seed {arguments.seed}"
    return _supervised(target, arguments, again, partial(_all, workloads, arguments))


def replay(arguments: argparse.Namespace) -> int:
    """Execute the schedule of a token again; return the exit status."""
    try:
        token = read(arguments.what)
        if token.origin is None:
            raise TokenError(_NAMELESS)
        origin, since = token.origin, changed(token.code)
        calls, workloads = origin.read(), alone(origin.target, origin.spec)
    except ValueError as error:
        aside(f"{arguments.what[:40]}: {error}")
        return 2
    for told in since:
        aside(f"{told}: the token is for the earlier version.")
    arguments.json, arguments.duration, arguments.patience = False, None, PATIENCE
    work = partial(_again, workloads, token.target, calls, arguments, bool(since))
    return _supervised(origin.target, arguments, f"python -m stress replay {arguments.what}", work)


def _again(
    workloads: Sequence[Workload],
    name: str,
    calls: Calls,
    arguments: argparse.Namespace,
    is_changed: bool,
    progress: Progress,
) -> tuple[int, dict[str, Any]]:
    """The result of a token's schedule, on the first object of that name that it fits."""
    at_start, *threads, at_end = map(as_arguments, calls)
    misfit = f"nothing at {workloads[0].target} makes a {name}: let the earlier version replay the token"
    for each in workloads:
        if len(workloads) > 1 and type(each.factory()).__name__ != name:
            continue
        try:
            outcome = explore(
                each.factory, each.given_spec, threads, at_start=at_start, at_end=at_end, **each.demand,
                replay=arguments.what, target=each.target, progress=progress,
            )  # fmt: skip
        except TokenError as error:
            misfit = str(error)
            continue
        if outcome.verdict is Verdict.ILLEGAL:
            return _told([outcome], arguments)
        return 2 if is_changed else 0, {"report": "nothing is wrong (any more) in the schedule of the token"}
    return 2, {"report": misfit}


def _supervised(
    target: str, arguments: argparse.Namespace, again: str, work: Callable[[Progress], tuple[int, dict[str, Any]]]
) -> int:
    """Do some work in a separate process, and print the result, with how to have it `again`; return the exit status."""
    told: dict[str, Any] = {"verdict": "unknown", "report": "undecided (it was interrupted)"}
    status, began, hangs = 2, time.monotonic(), False
    tally, patience, before = Tally([_MADE], 1), Patience(), 0
    with (
        suppress(KeyboardInterrupt),
        following(target, arguments.duration) as tell,
        Team(1, _send, work, tally) as team,
    ):
        for message in team.messages():
            made = tally.value(_MADE)
            before = made if message == _PREPARES else before
            seconds = arguments.patience if made > before else max(arguments.patience, PATIENCE)
            if isinstance(message, Died) and hangs and not message.note:
                missing = f"no call was made within {seconds:g} s: let the factory return, or `--patience` be larger"
                told["report"] = f"undecided ({missing})"
            elif isinstance(message, Died):
                died = str(message._replace(note=""))
                trouble = f"a call has not returned for {arguments.patience:g} s" if hangs else died
                status, told = 1, _ended(trouble, message, again, made)
            elif message not in (None, _PREPARES):
                status, told = message
            tell(f"{made:,} executions", time.monotonic() - began)
            if patience.is_over(made, seconds) and not hangs:
                hangs = True
                team.interrupt(0)
    text = told.pop("report")
    say(json.dumps({"target": target, **told}) if arguments.json else f"{target}: {text}", status)
    return status


def _ended(trouble: str, died: Died, again: str, made: int) -> dict[str, Any]:
    """What is told of a process that died, or was ended because it hung."""
    at = f", in a schedule of {died.note}" if died.note else ""
    stacks = [f"\nWhere the threads were\n{died.stacks}"] if died.stacks else []
    return {
        "verdict": "illegal", "executions": made, "token": None, "found": trouble,
        "report": "\n".join([f"NOT all right: {trouble}{at}", *stacks, f"\nTo see it again: {again}"]),
    }  # fmt: skip


def _send(worker: Worker, work: Callable[[Progress], tuple[int, dict[str, Any]]], tally: Tally) -> None:
    def progress(scenario: str) -> None:
        worker.note(scenario)
        if scenario:
            tally.add(0, _MADE)
        else:
            worker.send(_PREPARES)

    worker.send(work(progress))


def _all(
    workloads: Sequence[Workload], arguments: argparse.Namespace, progress: Progress
) -> tuple[int, dict[str, Any]]:
    """The result of exploring the objects, up to the first with a fault."""
    outcomes: list[Explored] = []
    for workload in workloads:
        progress("")
        outcome = explore(
            workload.factory, workload.given_spec, Scenarios(workload.operations, workload.roles), **workload.demand,
            duration=arguments.duration, seed=arguments.seed, target=workload.target, progress=progress,
        )  # fmt: skip
        outcomes.append(outcome)
        if outcome.verdict is Verdict.ILLEGAL:
            break
    return _told(outcomes, arguments)


def _told(outcomes: Sequence[Explored], arguments: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    last = outcomes[-1]
    unknown = [each.schedules for each in outcomes if each.verdict is Verdict.UNKNOWN]
    verdict = verdict_of(found=last.verdict is Verdict.ILLEGAL, missing=unknown)
    if arguments.report and last.found is not None:
        written(last.save_html, arguments.report)
    executions = sum(each.executions for each in outcomes)
    said = [last] if verdict is Verdict.ILLEGAL else outcomes
    report = "\n".join(each.report().rstrip() for each in said)
    return EXIT_STATUS[verdict], {
        "verdict": verdict.name.lower(), "executions": executions, "token": last.token or None,
        "found": last.found.headline if last.found else None, "report": report,
    }  # fmt: skip
