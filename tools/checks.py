"""The checks, in parts, some at a time: `make test` runs the quick ones, `make test-all` the rest after them.

    python -m tools.checks quick [--gil] [ARGUMENTS OF PYTEST]
    python -m tools.checks rest [--gil]

With arguments for pytest (`make test ARGS=tests/ctrie/test_sets.py`), pytest alone runs, on the compiled twin. The
free-threaded half needs such an interpreter: FREE_THREADED_PYTHON=..., python3.14t or python3.13t, or the one that made
`.venv-t`. Each part shows its output when it is done.
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

# What each process tests: folders, so that a new test is in them by where it stands. Tests of the tries start
# collections again and again, and each exploration looks through all modules that are not installed. Both take several
# times as long in a process with Spark, Arrow and all tests. So each file of the explorer's tests has its own process.
CORE = ["tests/ctrie tests/subtrie tests/fields ctrie subtrie"]
CLASSES = ["tests/stress/test_classes.py"]  # the longest by far
BESIDE = ["stress", *map(str, sorted({*Path("tests/stress").glob("test_*.py")} - {*map(Path, CLASSES)}))]
STRESS = [*CLASSES, *BESIDE]
OUTSIDE = ["tests/snapshot tests/whole snapshot README.md"]

QUICK = "not slow and not docs and not spark"
SLOW = "(slow or docs or spark)"
# Tests marked `once` say the same on every interpreter and twin: the GIL build's compiled twin runs them.
MORE = "not once"
# No twin has code of its own for publishing.
NO_PUBLISHING = "--ignore-glob=tests/snapshot/test_published_*"
# Of Spark, a build without the GIL shows what each release of Spark has to show; the rest is the same everywhere.
SPARKS = ["tests/snapshot/test_sparks.py"]
# What threads do to each other is all that is new about the interpreted twin on a free-threaded interpreter. The quick
# checks ask the rooms above the tries for no more there: each exploration takes several times as long.
THREADS = "(threads or racing)"
# More examples of what hypothesis draws than the quick checks try.
EXAMPLES = "hypothesis and not spark"

HELPER = Path("../shared/bin/free-threaded-python")
ONLY_GIL = "== Left out: the free-threaded half."
NO_FREE_THREADED = (
    "== Tests: no free-threaded Python found, so that half was left out; to include it, install python3.13t or "
    "python3.14t (for instance: uv python install 3.14t) or set FREE_THREADED_PYTHON to the path of one."
)
NOTHING_TO_RUN = 5
"""What pytest answers where no test is selected, as of a folder whose slow tests say the same everywhere."""
LAST_LINES = 100
MINUTES = {"quick": (8, 12), "rest": (20, 30)}
"""About what the checks take on two cores: on one interpreter, and with a free-threaded one."""
LEFT_OUT = (
    "== Left out: slow tests, more examples, Spark, the pages, and on a free-threaded build what is no matter of "
    "threads above the tries. `make test-all` runs these."
)
NEVER_HERE = (
    "== Left out: tests that start clusters (`make stress`) or brokers (`make test-brokers`), other releases of Spark "
    "(`make test-sparks`), sanitizers (`make races`, `make sanitize`), and long campaigns (`make stress`, `make soak`)."
)


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
            if status not in (0, NOTHING_TO_RUN):
                break
        return status, told, time.monotonic() - began


def tests(name: str, twin: str, processes: list[str], selection: str, *options: str) -> Part:
    """A part that runs the tests in some folders, in one process after another."""
    place, after = (".venv-t", FREE_THREADED_BUILT) if name.startswith("free-threaded") else (".venv", BUILT.name)
    command = (f"{place}/bin/python", "-m", "pytest", "-m", selection, *options)
    return Part(name, tuple((*command, *folders.split()) for folders in processes), twin, after)


BUILT = Part("gil-built", (("make", "--no-print-directory", ".venv/built"),))
"""Lint begins meanwhile. The interpreted twin needs it, too: without the compiled slot it takes the portable one, and
several times as long."""
FREE_THREADED_BUILT = "free-threaded-built"


def quick(python: str) -> list[Part]:
    """The quick checks, the longest first."""
    gil = [
        BUILT,
        tests("gil-classes", "compiled", CLASSES, QUICK),
        tests("gil-stress", "compiled", BESIDE, QUICK),
        tests("gil-outside", "compiled", OUTSIDE, QUICK),
        tests("gil-interpreted", "interpreted", CORE, f"{QUICK} and {MORE}"),
        tests("gil-core", "compiled", CORE, QUICK),
        Part("lint", (("make", "--no-print-directory", "lint"),)),
    ]
    if not python:
        return gil
    return [
        built_with(python),
        *gil,
        tests("free-threaded-core", "compiled", CORE, f"{QUICK} and {MORE}"),
        tests("free-threaded-threads", "compiled", STRESS[::2], f"{QUICK} and {MORE} and {THREADS}"),
        tests("free-threaded-more-threads", "compiled", STRESS[1::2], f"{QUICK} and {MORE} and {THREADS}"),
        tests("free-threaded-threads-outside", "compiled", OUTSIDE, f"{QUICK} and {MORE} and {THREADS}"),
    ]


def rest(python: str) -> list[Part]:
    """What the quick checks leave out, the longest first."""
    more = "--hypothesis-profile=all"
    gil = [
        BUILT,
        tests("gil-slow-classes", "compiled", CLASSES, SLOW),
        tests("gil-slow-stress", "compiled", BESIDE, SLOW),
        tests("gil-slow-outside", "compiled", OUTSIDE, SLOW),
        tests("gil-slow-core", "compiled", CORE, f"{SLOW} or {EXAMPLES}", more),
        tests("gil-outside-interpreted", "interpreted", OUTSIDE, f"{QUICK} and {MORE}", NO_PUBLISHING),
        tests("gil-examples-interpreted", "interpreted", CORE, f"{EXAMPLES} and {MORE}", more),
        tests("gil-examples-outside", "compiled", ["tests/snapshot tests/stress"], f"{EXAMPLES} and not slow", more),
    ]
    if not python:
        return gil
    return [
        built_with(python),
        *gil,
        tests("free-threaded-slow-core", "compiled", CORE, f"{SLOW} and {MORE}"),
        tests("free-threaded-stress", "compiled", STRESS, f"({SLOW} or not {THREADS}) and {MORE}"),
        tests(
            "free-threaded-outside",
            "compiled",
            OUTSIDE,
            f"(slow or not {THREADS}) and not docs and not spark and {MORE}",
        ),
        tests("free-threaded-spark", "compiled", SPARKS, f"spark and {MORE}"),
        tests("free-threaded-interpreted", "interpreted", CORE, f"{THREADS} and {MORE} and not slow"),
    ]


def built_with(python: str) -> Part:
    """Makes the free-threaded environment, beside other parts: the helper may have to build an interpreter first."""
    path = f"$(nice {python})" if python == str(HELPER) else python
    make = 'exec make --no-print-directory .venv-t/built FREE_THREADED_PYTHON="$python"'
    return Part(FREE_THREADED_BUILT, (("sh", "-c", f'python="{path}" && {make}'),))


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


def run(pending: list[Part]) -> dict[str, str]:
    """Run parts, two more at a time than there are processors, since parts that start processes often wait.

    After one has failed, no other begins. Return what those that failed have told.
    """
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
                if status not in (0, NOTHING_TO_RUN):
                    failed[part.name] = told
    return failed


def main() -> int:
    """Run the quick checks or the rest, and say how long that takes and what it left out."""
    which, *arguments = sys.argv[1:]
    only_gil = arguments[:1] == ["--gil"]
    if arguments := arguments[only_gil:]:
        environment = {**os.environ, "CTRIE_TWIN": "compiled", "CTRIE_EXPECT_TWIN": "compiled"}
        pytest = [".venv/bin/python", "-m", "pytest", *arguments]
        return subprocess.call(BUILT.commands[0]) or subprocess.call(pytest, env=environment)
    python = "" if only_gil else free_threaded()
    if not (only_gil or python):
        print(NO_FREE_THREADED, flush=True)
    pending = quick(python) if which == "quick" else rest(python)
    minutes = MINUTES[which][bool(python)]
    print(f"== {len(pending)} parts, some at a time, in about {minutes} minutes on two cores", flush=True)
    failed = run(pending)
    for name, told in failed.items():  # once more: other parts showed theirs since, and a log may be cut
        print(f"== {name} failed; its last lines:\n{last_lines(told)}", flush=True)
    if not python:
        print(ONLY_GIL if only_gil else NO_FREE_THREADED)
    print(LEFT_OUT if which == "quick" else NEVER_HERE)
    print(f"== Failed: {', '.join(failed)}" if failed else "== All parts passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
