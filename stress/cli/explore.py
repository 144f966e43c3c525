"""`python -m stress explore`: try the interleavings of small scenarios on both tries; and replay one of them."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from typing import Any

from stress.arguments import positive
from stress.cli.progress import counting
from stress.explorer.minimise import minimise
from stress.explorer.token import TokenError
from stress.explorer.trace import Drift, trace
from stress.recorder.campaign import default_processes, draw_seed
from stress.reports import html, text
from stress.reports.report import Report
from stress.tries.campaign import Exploration, Plan, explore_matrix
from stress.tries.experiment import TrieExperiment
from stress.tries.report import report_on_trie
from stress.tries.scenarios import STARTS
from stress.tries.source_copy import Change, StaleChange
from stress.tries.token import decode, source_digest
from stress.tries.trie_copy import load_copy

__all__ = ["add_arguments", "main", "replay"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `explore` can be told."""
    parser.add_argument(
        "targets", nargs="*", default=list(STARTS), metavar="TARGET", help=f"{', '.join(STARTS)} (default: all)"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="decides what is drawn at random, and in which order")
    parser.add_argument(
        "--duration",
        type=positive(float),
        metavar="SECONDS",
        help="explore for so long; without it, until the matrix is done",
    )
    parser.add_argument("--processes", type=positive(int), metavar="N", help="how many processes share the work")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--report", metavar="FILE.html", help="write a page about what is wrong, if something is")


def main(arguments: argparse.Namespace) -> int:
    """Explore; the exit status is 1 if something is wrong, and 2 if nothing at all was executed."""
    unknown = [target for target in arguments.targets if target not in STARTS]
    if unknown:
        print(f"nothing is called {unknown[0]!r}: there are {', '.join(STARTS)}", file=sys.stderr)
        return 2
    seed = draw_seed() if arguments.seed is None else arguments.seed
    processes = arguments.processes or default_processes(1)
    plan = Plan(tuple(arguments.targets), seed, arguments.duration, processes)
    with counting(f"seed {seed}", plan.duration) as watch:
        exploration = explore_matrix(plan, watch)
    report = None
    if exploration.finding is not None:
        twin = load_copy()
        small = minimise(exploration.finding, partial(TrieExperiment, twin))
        report = report_on_trie(twin, small)
        if arguments.report:
            html.save(report, arguments.report)
    print(json.dumps(_as_json(exploration, report)) if arguments.json else _as_text(exploration, report), flush=True)
    return 1 if exploration.finding is not None else 0 if exploration.total else 2


def _as_text(exploration: Exploration, report: Report | None) -> str:
    lines = [exploration.summary, *(f"  {line}" for line in exploration.lines)]
    return "\n".join(lines) + ("" if report is None else f"\n\n{text.render(report)}")


def _as_json(exploration: Exploration, report: Report | None) -> dict[str, Any]:
    return {
        "verdict": "illegal" if exploration.finding else "linearizable", "seed": exploration.plan.seed,
        "executions": exploration.total, "seconds": round(exploration.seconds, 3),
        "interrupted": exploration.interrupted, "scenarios": exploration.done, "of": exploration.sizes,
        "found": report.headline if report else None, "sentence": report.sentence if report else None,
        "scenario": report.facts["scenario"] if report else None, "replay": report.replay if report else None,
    }  # fmt: skip


def replay(arguments: argparse.Namespace) -> int:
    """Execute a token's execution again. Exit status 1 if it is wrong (still), 0 if not, 2 if it cannot be had."""
    try:
        token = decode(arguments.what)
        twin = load_copy(_changes(token.mutant))
        _, finding = trace(TrieExperiment(twin, token.scenario), token.order)
    except (TokenError, StaleChange, Drift) as error:
        print(f"{arguments.what[:40]}: {error}" if isinstance(error, TokenError) else error, file=sys.stderr)
        return 2
    if token.digest != source_digest():
        print("The source has changed since, and with it perhaps the meaning of the steps.", file=sys.stderr)
    if finding is None:
        print(f"Nothing is wrong (any more) with {token.scenario}, in this order of steps.")
        return 0
    report = report_on_trie(twin, finding, token.mutant)
    if arguments.report:
        html.save(report, arguments.report)
    print(text.render(report), end="")
    return 1


def _changes(mutant: str) -> list[Change]:
    if not mutant:
        return []
    from stress.tries.mutants.catalogue import find

    return find(mutant).changes
