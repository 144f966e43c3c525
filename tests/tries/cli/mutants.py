"""`python -m tests.tries mutants`: put faults into our own source, and see which layer of the suite catches each."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from stress.arguments import positive
from stress.cli.output import aside, say
from stress.processes import default_processes
from stress.progress_line import following
from stress.seed import draw_seed
from stress.verdicts import status_of
from tests.tries.mutants.catalogue import MUTANTS
from tests.tries.mutants.suite import CONTROLS, Trial, run_suite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `mutants`."""
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="only those whose names contain one of the words (default: all)"
    )
    parser.add_argument("--seed", type=int, default=draw_seed(), metavar="N", help="decides what is drawn at random")
    parser.add_argument(
        "--attempts", type=positive(int), default=20_000, metavar="N",
        help="the most executions for one mutant (%(default)s); a tenth of them for the unmutated code",
    )  # fmt: skip
    parser.add_argument("--processes", type=positive(int), metavar="N", help="how many processes share the work")
    parser.add_argument("--list", action="store_true", help="list the mutants, and stop")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each mutant")


def main(arguments: argparse.Namespace) -> int:
    """Try the mutants. The exit status is 1 if one survives, if the unmutated code is accused or if a process dies; 2
    if one is stale, if not all were tried, or if a word is in no name.
    """
    words: list[str] = arguments.words
    known = (*CONTROLS, *MUTANTS)
    unknown = [word for word in words if not any(word in mutant.name for mutant in known)]
    if unknown:
        aside(f"no mutant has {unknown[0]!r} in its name; --list tells which there are")
        return 2
    wanted = [mutant for mutant in known if not words or any(word in mutant.name for word in words)]
    if arguments.list:
        say("\n".join(f"{mutant.of}: {mutant.name}" for mutant in wanted))
        return 0
    return _try(wanted, arguments)


def _try(wanted: Sequence[Any], arguments: argparse.Namespace) -> int:
    trials: list[Trial] = []
    missing: list[str] = []
    processes = min(arguments.processes or default_processes(1), len(wanted))
    began = time.monotonic()
    try:
        with following("mutants", len(wanted), told=True) as tell:
            for trial in run_suite(arguments.seed, arguments.attempts, processes, wanted):
                if trial is not None:
                    trials.append(trial)
                    say(json.dumps(asdict(trial)) if arguments.json else _as_text(trial), _status_of(trial))
                tell(f"{len(trials)} of {len(wanted)} tried", len(trials))
    except KeyboardInterrupt:
        missing.append("it was interrupted")
    if len(trials) < len(wanted):
        missing.append(f"{len(trials)} of {len(wanted)} were tried")
    summary = _summary(trials, arguments.seed, time.monotonic() - began, missing)
    status = status_of([*map(_status_of, trials), 2 if missing else 0])
    if arguments.json:
        aside(summary)
    else:
        say(summary, status)
    return status


def _status_of(trial: Trial) -> int:
    return 2 if trial.stale else 0 if trial.is_well else 1


def _as_text(trial: Trial) -> str:
    name = f"{trial.of}: {trial.name}"
    if trial.died:
        return f"{'DIED':9} {name}: the process that tried it was {trial.died}"
    if trial.stale or trial.untried:
        return f"{'STALE' if trial.stale else 'untried':9} {name}: {trial.stale or trial.untried}"
    told = f"{name} ({trial.attempts:,} attempts, {trial.seconds:.1f} s)"
    if trial.is_control:
        return f"{'clean':9} {told}" if not trial.layer else f"{'ACCUSED':9} {told}: {trial.seen}\n{trial.replay}"
    return f"{trial.layer or 'SURVIVED':9} {told}"


def _summary(trials: list[Trial], seed: int, seconds: float, missing: list[str]) -> str:
    tried = [trial for trial in trials if not (trial.is_control or trial.untried or trial.died)]
    layers = Counter(trial.layer for trial in tried if trial.layer)
    by_layer = ", ".join(f"{count} by {layer}" for layer, count in sorted(layers.items()))
    accused = sum(trial.is_control and bool(trial.layer) for trial in trials)
    died = sum(bool(trial.died) for trial in trials)
    deaths = f"{died} processes died; " if died else ""
    stopped = f" (unfinished: {'; '.join(missing)})" if missing else ""
    return (
        f"{sum(layers.values())} of {len(tried)} mutants caught ({by_layer}); "
        f"unmutated code accused {accused} times; {deaths}{seconds:.1f} s, seed {seed}{stopped}"
    )
