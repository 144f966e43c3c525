"""All checks, in parts, some at a time: `make test`. Each part shows its output when it is done.

    python -m tools.checks [--gil] [ARGUMENTS OF PYTEST]

The free-threaded half needs such an interpreter: FREE_THREADED_PYTHON=..., python3.14t or python3.13t, or the one with
which `.venv-t` was made.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

# Folders, so that a new test is in them by where it stands. The explorer asks the garbage collector which objects refer
# to an object, and tests of the tries start collections again and again. Both take several times as long in a process
# that has loaded Spark, Arrow and all tests.
CORE = "tests/ctrie tests/subtrie tests/fields ctrie subtrie"
STRESS = "tests/stress stress"


def _stress_tests(*names: str) -> str:
    return " ".join(f"tests/stress/test_{name}.py" for name in names)


# Campaigns of a second, which a process full of other tests' objects would spend on looking for functions.
RUNS = _stress_tests("what_runs", "what_runs_say", "races_and_belt", "sequential")
# Each exploration looks through all objects of the process. These take a third to a half of the time in
# one of their own.
EXPLORED = _stress_tests(
    "in_bad_faith", "own_structures", "own_structures_around", "ordinary_python", "published", "what_c_reads"
)
WITHOUT_THESE = " ".join(f"--ignore={name}" for name in f"{RUNS} {EXPLORED}".split())
OUTSIDE = "tests/snapshot tests/whole snapshot README.md"

# Tests that take long, need Spark or test the stress tool show nothing new about the interpreted twin. Tests marked
# `once` show nothing new in any other run.
INTERPRETED = "not slow and not spark and not once"
NO_PUBLISHING = "--ignore-glob=tests/snapshot/test_published_*"  # no twin has code of its own for it
COMPILED = "not once"
# Of Spark, a build without the GIL shows what each release of Spark has to show; the rest is the same everywhere.
SPARKS = "tests/snapshot/test_sparks.py"
# What threads do to each other is all that is new about the interpreted twin on a free-threaded interpreter.
THREADS = f"(threads or racing) and {INTERPRETED}"

HELPER = Path("../shared/bin/free-threaded-python")
NO_FREE_THREADED = (
    "== Tests: no free-threaded Python found, so that half was left out; to include it, install python3.13t or "
    "python3.14t (for instance: uv python install 3.14t) or set FREE_THREADED_PYTHON to the path of one."
)
NOTHING_TO_RUN = 5
"""What pytest answers if no test was selected: with arguments, a part may have none."""
LAST_LINES = 100


@dataclass(frozen=True)
class Part:
    """Commands that run one after another, and the part that must be done before."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    twin: str = ""
    after: str = ""

    def run(self) -> tuple[int, str, float]:
        """The exit status, the output, and the seconds that it took."""
        began, told, status = time.monotonic(), "", 0
        environment = {**os.environ, "CTRIE_TWIN": self.twin, "CTRIE_EXPECT_TWIN": self.twin} if self.twin else None
        for command in self.commands:
            done = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
            )
            told += done.stdout
            status = done.returncode
            if status:
                break
        return status, told, time.monotonic() - began


def tests(name: str, twin: str, folders: str, selection: str, arguments: list[str]) -> Part:
    """A part that runs the tests in some folders."""
    place = ".venv-t" if name.startswith("free-threaded") else ".venv"
    command = (f"{place}/bin/python", "-m", "pytest", "-m", selection, *folders.split(), *arguments)
    return Part(name, (command,), twin, "free-threaded-built" if place == ".venv-t" else "")


def parts(python: str, *, only_gil: bool, arguments: list[str]) -> list[Part]:
    """All parts, the longest first."""

    def part(name: str, twin: str, folders: str, selection: str = "") -> Part:
        return tests(name, twin, folders, selection, arguments)

    outside = part("gil-outside", "compiled", OUTSIDE)
    stress = part("gil-stress", "compiled", f"{STRESS} {WITHOUT_THESE}")
    gil = [
        part("gil-interpreted", "interpreted", f"{CORE} {OUTSIDE} {NO_PUBLISHING}", INTERPRETED),
        part("gil-runs", "compiled", RUNS),
        part("gil-explored", "compiled", EXPLORED),
        part("gil-core", "compiled", CORE),
    ]
    if only_gil:
        return [outside, stress, *gil]
    lint = Part("lint", (("make", "--no-print-directory", "lint"),))
    if not python:
        return [outside, lint, stress, *gil]
    # Some at a time with others, since the helper may have to build an interpreter, which takes minutes.
    path = f"$(nice {python})" if python == str(HELPER) else python
    make = 'exec make --no-print-directory .venv-t/built FREE_THREADED_PYTHON="$python"'
    return [
        Part("free-threaded-built", (("sh", "-c", f'python="{path}" && {make}'),)),
        outside,
        lint,
        stress,
        part("free-threaded-core", "compiled", CORE, COMPILED),
        part("free-threaded-stress", "compiled", f"{STRESS} {WITHOUT_THESE}", COMPILED),
        part("free-threaded-explored", "compiled", EXPLORED, COMPILED),
        part("free-threaded-outside", "compiled", OUTSIDE, f"{COMPILED} and not spark"),
        part("free-threaded-spark", "compiled", SPARKS, f"{COMPILED} and spark"),
        part("free-threaded-interpreted", "interpreted", CORE, THREADS),
        *gil,
    ]


def free_threaded() -> str:
    """The free-threaded interpreter, or the helper that prints where it is; empty if there is neither."""
    python = os.environ.get("FREE_THREADED_PYTHON") or shutil.which("python3.14t") or shutil.which("python3.13t")
    if not python and os.access(HELPER, os.X_OK):
        python = str(HELPER)
    if not python and Path(".venv-t/built").exists():
        python = ".venv-t/bin/python"
    return python or ""


def last_lines(told: str) -> str:
    """What a part said at its end, without the list of tests that were left out."""
    return "\n".join([line for line in told.splitlines() if not line.startswith("SKIPPED")][-LAST_LINES:])


def main() -> int:
    """Run the parts, two more at a time than there are processors, since parts that start processes often wait."""
    arguments = sys.argv[1:]
    only_gil = arguments[:1] == ["--gil"]
    arguments = arguments[only_gil:]
    python = "" if only_gil else free_threaded()
    if not (only_gil or python):
        print(NO_FREE_THREADED, flush=True)
    pending = parts(python, only_gil=only_gil, arguments=arguments)
    print(
        f"== The checks run in {len(pending)} parts, some at a time; each shows its output when it is done", flush=True
    )
    running: dict[Future[tuple[int, str, float]], Part] = {}
    done: set[str] = {""}
    failed: dict[str, str] = {}
    most = (os.cpu_count() or 1) + 2
    with ThreadPoolExecutor(most) as pool:
        while running or (pending and not failed):
            ready = [part for part in pending if part.after in done and not failed]
            for part in ready[: most - len(running)]:
                pending.remove(part)
                running[pool.submit(part.run)] = part
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                part = running.pop(future)
                status, told, seconds = future.result()
                print(f"== {part.name}: {seconds:.0f} s\n{told}", flush=True)
                done.add(part.name)
                if status and not (status == NOTHING_TO_RUN and arguments):
                    failed[part.name] = told
    for name, told in failed.items():  # once more: other parts showed theirs since, and a log may be cut
        print(f"== {name} failed; its last lines:\n{last_lines(told)}", flush=True)
    print(f"== Failed: {', '.join(failed)}" if failed else "== All parts passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
