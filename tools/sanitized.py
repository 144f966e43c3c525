"""The compiled modules under sanitizers: `make races` and `make sanitize`, and the table of what they ran.

They are built in a copy of the tree, since extensions of two builds for the same version have the same names. Cython's
output is copied, too: it is the same for every interpreter, and Cython takes a quarter of an hour under the sanitizer.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from packaging.requirements import Requirement

from tools import page_table

TREE: Final = (
    "LICENSE", "Makefile", "README.md", "conftest.py", "pyproject.toml", "setup.py", "subtrie_pytest.py", "benchmarks",
    "ctrie", "docs", "examples", "snapshot", "stress", "subtrie", "tests", "tools",
)  # fmt: skip
EXTRAS: Final = ("stress", "test")
SANITIZED: Final = (
    ("tests/subtrie",), ("tests/ctrie", "tests/fields"), ("tests/whole/test_no_memory.py",),
    ("tests/whole/test_stack_and_state.py",),
    ("tests/whole/test_failing_comparisons.py", "tests/whole/test_subclasses.py", "tests/whole/test_tally.py"),
)  # fmt: skip
NO_SUCH_PYTHON: Final = """\
Set TSAN_PYTHON to a Python that is free-threaded and built with ThreadSanitizer. From CPython's sources:
    ./configure --disable-gil --with-thread-sanitizer --prefix=/some/where && make && make install"""
MEETING: Final = "(racing or threads) and not spark and not slow"  # markers of tests, `threads` by conftest.py's look
UNDECIDED: Final = 2
HOURS: Final = 2  # of one part
LOGS: Final = Path("build", "sanitized")  # what each part said, and what it came to
PAGE: Final = Path("docs", "stress", "these-tries.md")
BEGIN: Final = "<!-- begin of what `make sanitize` and `make races` write -->\n"
END: Final = "<!-- end -->\n"
HEAD: Final = ("sanitizer", "CPython", "what ran", "result", "reports", "minutes")


class Part(NamedTuple):
    """One process of a run, and what it says of itself in the table."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    may_end_with: tuple[int, ...] = (0,)


def asked(python: str, code: str) -> str:
    """What an interpreter prints; empty if it fails."""
    return subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def copied(name: str) -> Path:
    """A copy of the tree without extensions."""
    copy = Path("build", name)
    shutil.rmtree(copy, ignore_errors=True)
    for each in map(Path, TREE):
        if each.is_dir():
            shutil.copytree(each, copy / each, ignore=shutil.ignore_patterns("*.so", "__pycache__", "_build"))
        else:
            copy.mkdir(parents=True, exist_ok=True)
            shutil.copy2(each, copy)
    return copy


def run(*command: str, folder: Path, **environment: str) -> None:
    """Run a command in a folder; end this program if it fails."""
    ended = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, check=False).returncode
    if ended:
        sys.exit(ended)


def run_parts(parts: list[Part], copy: Path, own: str, sanitizer: str, at_once: int) -> None:
    """Run them all, whatever each comes to, and bring the table up to date; end this program if one failed."""
    LOGS.mkdir(parents=True, exist_ok=True)
    version = asked(str(copy / own), "import sys; print(sys.version.partition(' (')[0])")
    version = version.replace(" free-threading build", "t").replace(" experimental", "")
    with ThreadPoolExecutor(at_once) as pool:
        failed = [name for name in pool.map(lambda part: run_part(part, copy, sanitizer, version), parts) if name]
    write_table()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def run_part(part: Part, copy: Path, sanitizer: str, version: str) -> str:
    """Run one part and note what it came to. Its name, if it failed."""
    stem = re.sub(r"[^\w.]+", "-", f"{sanitizer} {version} {part.name}")
    log, begun = LOGS / f"{stem}.log", time.monotonic()
    environment = {**os.environ, **part.environment}
    with log.open("w") as out:
        try:
            status = subprocess.run(
                part.command, cwd=copy, env=environment, stdout=out, stderr=subprocess.STDOUT, timeout=HOURS * 3600,
                check=False,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            status = -1
    minutes = round((time.monotonic() - begun) / 60)
    text = log.read_text(errors="replace")
    reports = len(re.findall(r"^SUMMARY: \w+Sanitizer|^\S+: runtime error:", text, re.MULTILINE))
    counted = re.findall(r"\d+ passed[^\n=]*?(?= in )|\d[\d,]* (?:operations|histories)[^\n]*", text)
    result = {
        "sanitizer": sanitizer, "python": version, "part": part.name, "result": counted[-1] if counted else "",
        "ended": "" if status in part.may_end_with else f"ended with {status}", "reports": reports, "minutes": minutes,
    }  # fmt: skip
    log.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(*result.values(), f"({log})", flush=True)
    return part.name if reports or status not in part.may_end_with else ""


def write_table() -> None:
    """Put all results that there are into the page."""
    rows = []
    for result in (json.loads(path.read_text("utf-8")) for path in sorted(LOGS.glob("*.json"))):
        told = f"{result['result']} {result['ended']}".strip()
        rows.append(
            [
                result["sanitizer"],
                result["python"],
                result["part"],
                told,
                str(result["reports"]),
                str(result["minutes"]),
            ]
        )
    page_table.update(PAGE, (BEGIN, END), HEAD, rows, keys=3)


def races(python: str) -> None:
    """Run what lets threads meet on a free-threaded interpreter that was built with ThreadSanitizer."""
    flags = "import sysconfig; print(sysconfig.get_config_var('CONFIG_ARGS'))"
    if not python or "thread-sanitizer" not in asked(python, flags):
        sys.exit(NO_SUCH_PYTHON)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each process would compile what it imports, for minutes
    copy, own = copied("races"), ".venv-t/bin/python"
    install_from_outside(python, copy / ".venv-t")
    print("== Compiling", flush=True)
    run(own, "setup.py", "--quiet", "build_ext", "--inplace", folder=copy, TSAN_OPTIONS="report_bugs=0")
    print("== One race that is known, to see that it is seen", flush=True)
    known = (own, "-m", "tests.ctrie.known_race")
    told = subprocess.run(
        known, cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    ).stdout
    if not is_known_race(told):
        sys.exit(f"{told}\nThreadSanitizer does not see it")
    print("== No others", flush=True)
    suppressed = {"TSAN_OPTIONS": "suppressions=tests/ctrie/known_races.txt"}
    # An undecided campaign has found no race. Under the sanitizer calls take long, so many overlap.
    # Each structure has a process of its own, so that one that is broken off (status 3) leaves the others.
    campaign = (own, "-m", "tests.tries", "run", "--duration", "60")
    tests = (own, "-m", "pytest", "--timeout", "1200", "-m")
    parts = [
        *(
            Part(f"`tests.tries run {name}`, 60 s", (*campaign, name), suppressed, (0, UNDECIDED))
            for name in ("map", "subscriptions", "topics", "fields", "routes")
        ),
        *(
            Part(f"the tests of `{folder}` that start threads or event loops", (*tests, MEETING, folder), suppressed)
            for folder in ("tests/ctrie", "tests/subtrie", "tests/fields")
        ),
    ]
    run_parts(parts, copy, own, "thread", 1)


def install_from_outside(python: str, environment: Path) -> None:
    """Set up an environment with the pip of the interpreter that runs this.

    Under ThreadSanitizer, pip takes many minutes, most of them for bytecode that is never read.
    """
    print(f"== Setting up {environment}", flush=True)
    run(python, "-m", "venv", "--clear", "--without-pip", str(environment), folder=Path())
    facts = "import sysconfig as s; print(s.get_path('purelib'), s.get_python_version(), s.get_config_var('SOABI'))"
    site, version, soabi = asked(str(environment / "bin" / "python"), facts).rsplit(" ", 2)
    abi = f"cp{soabi.split('-')[1]}"
    target = ("--target", site, "--implementation", "cp", "--python-version", version, "--abi", abi)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--only-binary", ":all:")
    run(*pip, "--no-compile", *target, *needs_of(version), folder=Path())


def needs_of(version: str) -> list[str]:
    """What the tests need on another version of Python. pip would ask the markers of the one that runs it."""
    extras = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    needs = [Requirement(need) for extra in EXTRAS for need in extras[extra]]
    there = [need for need in needs if not need.marker or need.marker.evaluate({"python_version": version})]
    return [f"{need.name}{need.specifier}" for need in there]


def is_known_race(told: str) -> bool:
    """Tell whether ThreadSanitizer has told of the known race. Which of its two accesses it names first is chance."""
    return any(line.lstrip().startswith("#0 ") and "_cache_counts" in line for line in told.splitlines())


def sanitize(python: str, environment: str, arguments: list[str]) -> None:
    """Run the tests of the structures under gcc's address and undefined-behaviour sanitizers.

    CPython's own allocator would hide uses after free. Free-threaded interpreters have no other one, of which the
    address sanitizer sees large blocks only. Memory that the interpreter itself never frees is not a leak of ours.
    Sanitized functions take several times as much stack, and nested objects are dropped to a depth of ten thousand. The
    sanitizer ends the process with a report on file descriptor 2, which pytest must not capture.
    """
    python = os.path.abspath(shutil.which(python) or python)
    print(f"== Sanitizing: {asked(python, 'import sys; print(sys.version)')}", flush=True)
    copy = copied("sanitize." + asked(python, "import sysconfig; print(sysconfig.get_config_var('SOABI'))"))
    own = ".venv/bin/python"
    make = ("make", "--no-print-directory", ".venv/installed", f"PYTHON={python}")
    run(*make, f"EXTRAS={','.join(EXTRAS)}", folder=copy)
    build = (own, "setup.py", "--quiet", "build_ext", "--inplace")
    run(*build, folder=copy, CTRIE_SANITIZE="address,undefined")
    sanitizing = {
        "LD_PRELOAD": " ".join(asked_gcc(name) for name in ("libasan.so", "libubsan.so")),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        # What the modules keep for each thread is ten times as much here, and the sanitizer has taken the room for it.
        "GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=16384",
        "CTRIE_TWIN": "compiled",
        "STRESS_ALLOCATIONS": "1",
        **({"PYTHONMALLOC": "malloc"} if environment == ".venv" else {}),
    }
    tests = (
        *("sh", "-c", 'ulimit -s unlimited || true; exec "$@"', "sh"),
        *(own, "-m", "pytest", "--capture=sys", "--timeout", "3600", "-m", "not spark and not slow", *arguments),
    )
    parts = [Part(f"`{' '.join(paths)}`", (*tests, *paths), sanitizing) for paths in SANITIZED]
    run_parts(parts, copy, own, "address, undefined", processors())


def asked_gcc(name: str) -> str:
    """The path of one of gcc's libraries."""
    return subprocess.run(
        ["gcc", f"-print-file-name={name}"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def sanitize_all(arguments: list[str]) -> None:
    """Sanitize for each interpreter there is.

    A debug interpreter also checks reference counts. The tests of a later free-threaded one run on the sources that
    Cython has translated for `.venv-t`.
    """
    debug = (shutil.which(f"python{version}-dbg") for version in ("3.11", "3.12", "3.13", "3"))
    own = os.environ.get("SANITIZE_PYTHON") or next(filter(None, debug), ".venv/bin/python")
    sanitize(own, ".venv", arguments)
    if Path(".venv-t/built").exists():
        sanitize(".venv-t/bin/python", ".venv-t", arguments)
        if later := os.environ.get("NEXT_PYTHON") or shutil.which("python3.14t"):
            sanitize(later, ".venv-t", arguments)


if __name__ == "__main__":
    if sys.argv[1] == "races":
        races(sys.argv[2])
    else:
        sanitize_all(sys.argv[2:])
