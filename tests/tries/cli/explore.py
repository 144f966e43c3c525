"""`python -m tests.tries explore map ...`: every interleaving of small scenarios of the tries."""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from functools import partial
from typing import Any

from stress.arguments import positive
from stress.cli.explore import add_exploring
from stress.cli.output import aside, found_wrong, say, written
from stress.explorer.strategies import minimise
from stress.processes import Tally, default_processes
from stress.progress_line import following
from stress.reports import html, text
from stress.reports.report import Report
from stress.verdicts import EXIT_STATUS
from tests.tries.campaign import MATRIX, Exploration, Plan, explore_matrix
from tests.tries.compiled import NotBuilt, load_compiled
from tests.tries.scenarios import STARTS
from tests.tries.twins import experiment_on, load_twin, report_on_trie


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `explore`."""
    parser.add_argument(
        "targets", nargs="*", default=list(STARTS), metavar="TARGET", help=f"{', '.join(STARTS)} (default: all)"
    )
    add_exploring(parser)
    parser.add_argument("--processes", type=positive(int), metavar="N", help="how many processes share the work")
    parser.add_argument(
        "--compiled", action="store_true", help="explore the compiled modules of both tries (see make explored)"
    )
    parser.add_argument(
        "--ideal", action="store_true", help="with --compiled: release replaced values as soon as pins allow"
    )
    parser.add_argument("--part", action="append", choices=tuple(MATRIX), help="explore only this part of the matrix")


def main(arguments: argparse.Namespace) -> int:
    """Explore the tries of these names, all together; return the exit status."""
    unknown = [name for name in arguments.targets if name not in STARTS]
    if unknown:
        aside(f"nothing is called {unknown[0]!r}: there are {', '.join(STARTS)}")
        return 2
    plan = Plan(
        tuple(arguments.targets),
        arguments.seed,
        arguments.duration,
        arguments.processes or default_processes(1),
        arguments.compiled,
        tuple(arguments.part or MATRIX),
        arguments.ideal,
    )
    try:
        if plan.compiled:
            load_compiled()  # to report at once if there are no such modules
        return _explore(plan, arguments)
    except NotBuilt as error:
        aside(error)
        return 2


def _explore(plan: Plan, arguments: argparse.Namespace) -> int:
    with following(f"seed {plan.seed}", plan.duration) as tell:

        def watch(tally: Tally, seconds: float) -> None:
            executions = sum(tally.value(f"{part} executions") for part in MATRIX)
            told = ", ".join(f"{tally.value(part):,} {part}" for part in MATRIX)
            tell(f"{executions:,} executions: {told}", seconds)

        exploration = explore_matrix(plan, watch)
    report = None
    if exploration.finding is not None:
        twin = load_twin(plan.compiled, plan.ideal)
        small = exploration.finding
        found_wrong()
        with suppress(KeyboardInterrupt):
            small = minimise(small, partial(experiment_on, twin))
        report = report_on_trie(twin, small)
        if arguments.report:
            written(partial(html.save, report), arguments.report)
    told = json.dumps(_as_json(exploration, report)) if arguments.json else _as_text(exploration, report)
    status = EXIT_STATUS[exploration.verdict]
    say(told.rstrip(), status)
    return status


def _as_text(exploration: Exploration, report: Report | None) -> str:
    lines = [exploration.summary, *(f"  {line}" for line in exploration.lines)]
    if exploration.crash:
        lines += ["", f"To execute again what it died of: {exploration.crash}"]
    return "\n".join(lines) + ("" if report is None else f"\n\n{text.render(report)}")


def _as_json(exploration: Exploration, report: Report | None) -> dict[str, Any]:
    return {
        "verdict": exploration.verdict.name.lower(), "missing": exploration.missing, "seed": exploration.plan.seed,
        "executions": exploration.total, "seconds": round(exploration.seconds, 3),
        "interrupted": exploration.interrupted, "died": exploration.died or None,
        "crash": exploration.crash or None,
        "scenarios": exploration.done, "of": exploration.sizes,
        "found": report.headline if report else None, "sentence": report.sentence if report else None,
        "scenario": report.facts["scenario"] if report else None, "replay": report.replay if report else None,
    }  # fmt: skip
