"""`python -m stress mutants`: put faults into our own source, and see which layer of the suite catches each."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import asdict

from stress.arguments import positive
from stress.cli.progress import each_of
from stress.recorder.campaign import default_processes, draw_seed
from stress.tries.mutants.catalogue import MUTANTS, Mutant
from stress.tries.mutants.suite import CONTROLS, Trial, run_suite

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `mutants` can be told."""
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="only those whose names contain one of the words (default: all)"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="decides what is drawn at random")
    parser.add_argument(
        "--duration", type=positive(float), default=15.0, metavar="SECONDS",
        help="the most that one of them may take (%(default)s); the unmutated code takes as long",
    )  # fmt: skip
    parser.add_argument("--processes", type=positive(int), metavar="N", help="how many processes share the work")
    parser.add_argument("--list", action="store_true", help="say which there are, and stop")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each")


def main(arguments: argparse.Namespace) -> int:
    """Try them; the exit status is 1 if one survives or the unmutated code is accused, 2 if one has gone stale, or a
    word is in no name.
    """
    words, known = arguments.words, (*CONTROLS, *MUTANTS)
    unknown = [word for word in words if not any(word in mutant.name for mutant in known)]
    if unknown:
        print(f"no mutant has {unknown[0]!r} in its name; --list tells which there are", file=sys.stderr)
        return 2
    wanted = [mutant for mutant in known if not words or any(word in mutant.name for word in words)]
    if arguments.list:
        print(*(f"{mutant.of}: {mutant.name}" for mutant in wanted), sep="\n")
        return 0
    return _try(wanted, arguments)


def _try(wanted: list[Mutant], arguments: argparse.Namespace) -> int:
    seed = draw_seed() if arguments.seed is None else arguments.seed
    processes = arguments.processes or default_processes(1)
    began, trials, interrupted = time.monotonic(), [], False
    try:
        for trial in each_of(run_suite(seed, arguments.duration, processes, wanted), len(wanted), "mutants"):
            trials.append(trial)
            print(json.dumps(asdict(trial)) if arguments.json else _as_text(trial), flush=True)
    except KeyboardInterrupt:
        interrupted = True
    summary = _summary(trials, len(wanted), seed, time.monotonic() - began, interrupted)
    print(summary, file=sys.stderr if arguments.json else sys.stdout)
    if any(not trial.is_well and not trial.stale for trial in trials):
        return 1
    return 2 if interrupted or any(trial.stale for trial in trials) else 0


def _as_text(trial: Trial) -> str:
    name = f"{trial.of}: {trial.name}"
    if trial.stale or trial.untried:
        return f"{'STALE' if trial.stale else 'untried':9} {name}: {trial.stale or trial.untried}"
    told = f"{name} ({trial.attempts:,} attempts, {trial.seconds:.1f} s)"
    if trial.is_control:
        return f"{'clean':9} {told}" if not trial.layer else f"{'ACCUSED':9} {told}: {trial.seen}\n{trial.replay}"
    return f"{trial.layer or 'SURVIVED':9} {told}"


def _summary(trials: list[Trial], wanted: int, seed: int, seconds: float, interrupted: bool) -> str:
    tried = [trial for trial in trials if not trial.is_control and not trial.untried]
    layers = Counter(trial.layer for trial in tried if trial.layer)
    by_layer = ", ".join(f"{count} by {layer}" for layer, count in sorted(layers.items()))
    accused = sum(trial.is_control and bool(trial.layer) for trial in trials)
    stopped = f", interrupted after {len(trials)} of {wanted}" if interrupted else ""
    return (
        f"{sum(layers.values())} of {len(tried)} mutants caught ({by_layer}); "
        f"unmutated code accused {accused} times; {seconds:.1f} s, seed {seed}{stopped}"
    )
