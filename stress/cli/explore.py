"""`python -m stress explore`: try the interleavings of small scenarios, on both tries or on your own object; and replay
one of them.

Exit status 0: all was explored, and nothing is wrong. 1: something is wrong. 2: nothing can be said.
"""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from functools import partial
from typing import Any

from stress.arguments import positive
from stress.cli import explore_object
from stress.cli.output import aside, found_wrong, say, written
from stress.cli.progress import following
from stress.explorer.minimise import minimise
from stress.explorer.token import OBJECT_PREFIX, TokenError
from stress.explorer.trace import Drift, trace
from stress.processes import PATIENCE, Tally, default_processes
from stress.reports import html, text
from stress.reports.report import Report
from stress.seed import draw_seed
from stress.tries.campaign import MATRIX, PARTS, Exploration, Plan, explore_matrix
from stress.tries.compiled import NotBuilt, load_compiled
from stress.tries.report import report_on_trie
from stress.tries.scenarios import STARTS
from stress.tries.source_copy import Change, StaleChange
from stress.tries.token import decode, source_digest
from stress.tries.twins import experiment_on, load_twin
from stress.verdicts import EXIT_STATUS, status_of

__all__ = ["add_arguments", "main", "replay"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `explore`."""
    parser.add_argument(
        "targets", nargs="*", default=list(STARTS), metavar="TARGET",
        help=f"{', '.join(STARTS)} (default: all), or module:attribute for your own Workload, or for a factory of "
             "objects, if --spec names their specification",
    )  # fmt: skip
    parser.add_argument("--spec", metavar="NAME", help="the specification of the objects: a name, or module:Class")
    parser.add_argument(
        "--seed", type=int, default=draw_seed(), metavar="N", help="decides what is drawn at random, and in which order"
    )
    parser.add_argument(
        "--duration",
        type=positive(float),
        metavar="SECONDS",
        help="explore for at most this long (default: until all is explored)",
    )
    parser.add_argument("--processes", type=positive(int), metavar="N", help="how many processes share the work")
    parser.add_argument(
        "--compiled", action="store_true", help="explore the compiled modules of both tries (see make explored)"
    )
    parser.add_argument(
        "--ideal", action="store_true", help="with --compiled: release replaced values as soon as pins allow"
    )
    parser.add_argument(
        "--bounded", action="store_true", help="explore pairs with at most two preemptions, and not to their ends"
    )
    parser.add_argument("--part", action="append", choices=tuple(MATRIX), help="explore only this part of the matrix")
    parser.add_argument(
        "--patience", type=positive(float), default=PATIENCE, metavar="SECONDS",
        help="how long one execution of an object of your own may take before a call counts as hung (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--report", metavar="FILE.html", help="if a fault is found, write a page about it")


def main(arguments: argparse.Namespace) -> int:
    """Explore. Users' own targets are explored one after another."""
    own = [target for target in arguments.targets if ":" in target]
    unknown = [target for target in arguments.targets if target not in STARTS and target not in own]
    if unknown:
        there_are = f"there are {', '.join(STARTS)}, and module:attribute for your own"
        aside(f"nothing is called {unknown[0]!r}: {there_are}")
        return 2
    if arguments.spec and len(own) < len(arguments.targets):
        aside("--spec is for an object of your own, as module:attribute")
        return 2
    tries = [target for target in arguments.targets if target in STARTS]
    statuses = []
    for target in own:
        statuses.append(explore_object.main(target, arguments))
        if statuses[-1] == 1:
            return 1
    if tries:
        try:
            statuses.append(_explore_tries(tries, arguments))
        except NotBuilt as error:
            aside(error)
            return 2
    return status_of(statuses)


def _explore_tries(targets: list[str], arguments: argparse.Namespace) -> int:
    processes = arguments.processes or default_processes(1)
    parts = tuple(arguments.part or MATRIX)
    plan = Plan(
        tuple(targets),
        arguments.seed,
        arguments.duration,
        processes,
        arguments.compiled,
        parts,
        arguments.ideal,
        arguments.bounded,
    )
    if plan.compiled:
        load_compiled()  # to report at once if there are no such modules
    with following(f"seed {plan.seed}", plan.duration) as tell:

        def watch(tally: Tally, seconds: float) -> None:
            executions = sum(tally.value(f"{part} executions") for part in PARTS)
            told = ", ".join(f"{tally.value(part):,} {part}" for part in PARTS)
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
        _save_page(report, arguments)
    status = EXIT_STATUS[exploration.verdict]
    told = json.dumps(_as_json(exploration, report)) if arguments.json else _as_text(exploration, report)
    say(told.rstrip(), status)
    return status


def _save_page(report: Report, arguments: argparse.Namespace) -> None:
    if arguments.report:
        written(lambda path: html.save(report, path), arguments.report)


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


def replay(arguments: argparse.Namespace) -> int:
    """Execute a token's execution again. Exit status 1 if it is (still) wrong, 0 if not, 2 if it cannot be executed, or
    if nothing is wrong but the code has changed.
    """
    if arguments.what.startswith(OBJECT_PREFIX):
        return explore_object.replay(arguments)
    try:
        token = decode(arguments.what)
        twin = load_twin(token.compiled, changes=_changes(token.mutant))
        _, finding = trace(experiment_on(twin, token.scenario), token.order)
    except (TokenError, StaleChange, Drift, NotBuilt) as error:
        aside(f"{arguments.what[:40]}: {error}" if isinstance(error, TokenError) else error)
        return 2
    is_changed = token.digest != source_digest()
    if is_changed:
        aside("The source has changed since, so the steps may have another meaning.")
    if finding is None:
        say(f"Nothing is wrong (any more) with {token.scenario}, in this order of steps.")
        return 2 if is_changed else 0
    report = report_on_trie(twin, finding, token.mutant)
    _save_page(report, arguments)
    say(text.render(report).rstrip(), 1)
    return 1


def _changes(mutant: str) -> list[Change]:
    if not mutant:
        return []
    from stress.tries.mutants.catalogue import find

    return find(mutant).changes
