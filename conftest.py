"""Shared by all tests, including those in docstrings: which of them run where, Spark, and hypothesis."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import tomllib
from collections.abc import Generator, Iterator
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from _pytest.doctest import DoctestModule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent
ROOMS = ("ctrie", "subtrie", "snapshot", "stress")
INTERPRETED = os.environ.get("CTRIE_TWIN") == "interpreted"
FREE_THREADED = not getattr(sys, "_is_gil_enabled", lambda: True)()

# `pytest` alone, in a clone where nothing is compiled, tests the package that is installed in the environment.
if not INTERPRETED and not any(ROOT.glob("ctrie/*" + EXTENSION_SUFFIXES[0])):
    sys.path[:] = [*(each for each in sys.path if Path(each).resolve() != ROOT), str(ROOT)]

# Docstrings of a compiled module are found in its source, but the extension beside it is imported.
os.environ["PY_IGNORE_IMPORTMISMATCH"] = "1"

# Modules that cannot be imported here: the portable slot needs the `atomics` package, which has no build for
# free-threaded interpreters, and neither has pyroaring; what stands in for a compiled header needs interpreted modules
# around it.
STAND_INS = ("fields/views.py", "match/steps.py", "match/walk.py", "queries/store_walk.py")
collect_ignore_glob = [
    *([] if find_spec("atomics") and find_spec("cffi") else ["*/_portable.py"]),
    *([] if find_spec("pyroaring") else [f"*/baselines/{name}.py" for name in ("bitmap", "inverted", "optimised")]),
    *([] if INTERPRETED else [f"*/{name}" for name in STAND_INS]),
]

# A test that uses one of these names starts threads, or an event loop, whose callbacks meet as threads do.
THREADS = {"asyncio", "Barrier", "Thread", "ThreadPoolExecutor", "campaign", "meanwhile", "run_together", "stress"}

# Spark's Python workers must run in this environment, not in whichever python3 comes first.
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

# A process that a shell starts in the background ignores Ctrl-C, and so do its children. The processes that tests
# interrupt must not ignore it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Failures come with the blob that replays them. `make test-all` tries the examples of the profile "all", and
# `--hypothesis-profile=thorough` twenty times as many. The interpreted twin takes several times as long for an example,
# so it gets fewer. So does a build without the GIL, which tries them a second time.
EXAMPLES = (12, 40) if INTERPRETED or FREE_THREADED else (30, 100)
QUICK = hypothesis.settings(deadline=None, derandomize=False, print_blob=True, max_examples=EXAMPLES[0])
hypothesis.settings.register_profile("quick", QUICK)
for profile, most in ("all", EXAMPLES[1]), ("thorough", 2_000):
    hypothesis.settings.register_profile(profile, QUICK, max_examples=most)
hypothesis.settings.load_profile("quick")

LONG = 5.0
"""Processor seconds above which a test needs the mark `slow` and a reason."""
processor_seconds: dict[str, float] = {}


def pytest_report_header() -> str:
    twin = "interpreted" if INTERPRETED else "compiled, where built"
    return f"ctrie: {twin}; GIL {'off' if FREE_THREADED else 'on'}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Find the examples in the docstrings of `.pyx` sources too."""
    if file_path.suffix == ".pyx" and file_path.parent.name != "seam" and not INTERPRETED:  # another build has the seam
        return DoctestModule.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a file that needs a library of an extra which is not installed, as in an environment with `test` alone."""
    report = yield
    missing = re.search(r"No module named '(\w+)'", str(report.longrepr)) if report.failed else None
    if missing and missing[1] in libraries_of_extras():
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"needs {missing[1]}")
    return report


@cache
def libraries_of_extras() -> set[str]:
    """What the extras install, by the names of distributions, which most modules have, too; numpy comes with pandas."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return {"numpy", *(match[0] for needed in extras.values() for each in needed if (match := re.match(r"\w+", each)))}


@pytest.hookimpl(tryfirst=True)  # before `-m` is applied
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = str(config.getoption("-m"))
    for item in items:
        if uses_spark(item):
            item.add_marker("spark")
        if "threads" in asked and starts_threads(getattr(item, "function", None)):
            item.add_marker("threads")
        if any(not mark.args for mark in item.iter_markers("slow")):
            raise pytest.UsageError(f"{item.nodeid}: its mark `slow` does not say why")
    elsewhere = [item for item in items if not belongs_here(item, asked)]
    if elsewhere:
        config.hook.pytest_deselected(items=elsewhere)
        items[:] = [item for item in items if item not in elsewhere]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note what a test and its children take of the processors, which does not depend on other work."""
    before = os.times()
    try:
        return (yield)
    finally:
        took = sum(os.times()[:4]) - sum(before[:4])
        if took > LONG and not any(item.get_closest_marker(mark) for mark in ("slow", "docs", "spark", "cluster")):
            processor_seconds[item.nodeid] = took


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name the tests that are slow and do not say why."""
    for name, took in processor_seconds.items():
        terminalreporter.write_line(
            f"{name} took {took:.0f} s of processor: mark it slow, with a reason, or make it quick"
        )


def belongs_here(item: pytest.Item, asked: str) -> bool:
    if item.get_closest_marker("cluster") and "cluster" not in asked:
        return False
    if item.get_closest_marker("freethreaded") and not FREE_THREADED:
        return False
    return not (item.get_closest_marker("compiled") and INTERPRETED)


def uses_spark(item: pytest.Item) -> bool:
    doctest = getattr(item, "dtest", None)
    if doctest is not None:
        return any("spark" in example.source for example in doctest.examples)
    return "spark" in getattr(item, "fixturenames", ())


def starts_threads(function: Any) -> bool:
    """Return whether a function starts threads or an event loop, or calls a function of its module which does."""
    codes, seen = [getattr(function, "__code__", None)], set()
    while codes:
        code = codes.pop()
        if not isinstance(code, CodeType) or code in seen:
            continue
        seen.add(code)
        if THREADS.intersection(code.co_names):
            return True
        codes += [nested for nested in code.co_consts if isinstance(nested, CodeType)]
        codes += [getattr(function.__globals__.get(name), "__code__", None) for name in code.co_names]
    return False


def pytest_collection_finish() -> None:
    """Refuse to test an extension that is older than its source, since that would test old code."""
    stale = [source for module in list(sys.modules.values()) for source in newer_sources(module)]
    if stale:
        names = ", ".join(str(source.relative_to(ROOT)) for source in stale)
        pytest.exit(f"edited since it was compiled: {names}. Run `make build` first.", returncode=4)


def newer_sources(module: ModuleType) -> Iterator[Path]:
    library = Path(getattr(module, "__file__", None) or "")
    if (
        library.is_relative_to(ROOT)
        and library.relative_to(ROOT).parts[0] in ROOMS
        and library.name.endswith(tuple(EXTENSION_SUFFIXES))
    ):
        for suffix in (".py", ".pyx", ".pxd"):
            source = ROOT.joinpath(*module.__name__.split(".")).with_suffix(suffix)
            if source.exists() and source.stat().st_mtime > library.stat().st_mtime:
                yield source


@pytest.fixture(scope="module")
def little_to_collect() -> Iterator[None]:
    """For tests that start collections again and again: these do not visit older objects."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def without_collector() -> Iterator[None]:
    """For tests of what counting references alone sets free."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A small local Spark session."""
    from pyspark.sql import SparkSession

    from tests.snapshot.support import SHORT_LIVED

    settings: dict[str, bool | float | int | str | None] = {
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.sql.adaptive.enabled": "false",  # a job for each shuffle of a few rows
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(ROOT / "build" / "spark-warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    yield session
    session.stop()
