"""Measures again what was measured on a busy machine: `python -m benchmarks.again --minutes 30`.

The figures that people see first come first: the README's picture and the six questions, then the others by age. Each
benchmark runs in a process of its own, on the interpreter of its earlier result, and writes its result and all pages
when it is done. So the program can be stopped at any time: what is not done keeps its earlier result. It waits while
the machine has other work, and ends with a list of what still comes from a busy machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from benchmarks.answers import QUESTIONS
from benchmarks.machine import MOST_LOAD, busy, describe, processors_in_use
from benchmarks.plots import draw
from benchmarks.results import Run, load, load_all, save
from benchmarks.suite import all_benchmarks

FOLDER = Path("docs/benchmarks")
PYTHONS = {
    "cp311": [".venv/bin/python"],
    "cp313t": [".venv-t/bin/python", "-X", "gil=0"],
}
LONGEST = 150
"""Seconds that a benchmark may take, if it answers none of the six questions."""
LONGEST_ANSWER = 480


def queue(runs: Iterable[Run]) -> list[Run]:
    """Return the runs on busy machines: those of the six questions, then the others, the oldest first."""
    answers = [question.stem for question in QUESTIONS]
    place = {stem: number for number, stem in enumerate(answers)}
    disturbed = [run for run in runs if busy(run.machine)]
    return sorted(disturbed, key=lambda run: (place.get(run.stem, len(answers)), run.taken, run.seconds or 0, run.stem))


def wait_until_idle(until: float) -> bool:
    """Wait while others keep the processors busy; return whether they are idle before that time."""
    cores = int(str(describe()["cores"]))
    while processors_in_use(2.0) > MOST_LOAD * cores:
        if time.monotonic() > until:
            return False
    return True


def measure(run: Run, seconds: float, quick: bool, log: Path) -> str:
    """Measure once more. Return "" or what has gone wrong; the earlier result is kept then."""
    python = PYTHONS.get(run.tag)
    if run.benchmark not in all_benchmarks():
        return "there is no such benchmark any more"
    if python is None or shutil.which(python[0]) is None:
        return f"there is no interpreter for {run.tag}"
    command = [*python, "-m", "benchmarks", run.benchmark, *(["--quick"] if quick else [])]
    with log.open("ab") as output:
        child = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"it was not done after {seconds:.0f} s"
        finally:
            _end(child)
    if status == 2:
        return "the machine was busy"
    return f"it ended with {status}: see {log}" if status else _kept_for_its_series(run)


def _kept_for_its_series(run: Run) -> str:
    """Put the earlier result back if the new one lacks some of its series, which need what is not installed here."""
    path = FOLDER / f"{run.stem}.json"
    lost = {result.series for result in run.results} - {result.series for result in load(path).results}
    if not lost:
        return ""
    draw(run, FOLDER)
    save(run, FOLDER)
    return f"without {', '.join(sorted(lost))}, so the earlier result is kept"


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process and what it has started, such as a broker or Spark."""
    with suppress(ProcessLookupError):  # all of it has ended
        os.killpg(child.pid, signal.SIGKILL)  # a group of its own, so nobody else is meant
    child.wait()


def main(arguments: list[str] | None = None) -> int:
    """Measure until the time is over, then say what remains."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the block below says what remains, then, too
    end = time.monotonic() + options.minutes * 60
    options.log.parent.mkdir(parents=True, exist_ok=True)
    answers = {question.stem for question in QUESTIONS}
    why: dict[str, str] = {}
    try:
        for run in queue(load_all(FOLDER)):
            if options.names and run.benchmark not in options.names:
                continue
            left = end - time.monotonic()
            if left < 5 or not (options.quick or wait_until_idle(end)):
                break
            began = time.monotonic()
            most = LONGEST_ANSWER if run.stem in answers else LONGEST
            why[run.stem] = measure(run, min(left, most), options.quick, options.log)
            print(f"{run.stem}: {time.monotonic() - began:.0f} s {why[run.stem]}".rstrip(), flush=True)
    finally:
        remaining = queue(load_all(FOLDER))
        print(f"\n{len(remaining)} results are from a busy machine, and their pages say so:")
        for run in remaining:
            reason = why.get(run.stem, "no time") or "it was left out: see the log"
            print(f"  {run.stem}, {run.taken}, load {run.machine['load_before']}: {reason}")
        if not options.quick:  # if a benchmark was stopped just after its result was written
            subprocess.run([sys.executable, "-m", "benchmarks", "--pages"], check=True)
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.again", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="only these benchmarks")
    parser.add_argument("--minutes", type=float, default=30.0, help="the time for all together (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing kept: only see that all works")
    parser.add_argument("--log", type=Path, default=Path("build/again.log"), help="where they write (%(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
