"""The compiled modules under sanitizers: `make races` and `make sanitize`.

They are built in a copy of the tree, since extensions of two builds for the same version have the same names. Cython's
output is copied, too: it is the same for every interpreter, and Cython takes a quarter of an hour under the sanitizer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

TREE: Final = (
    "LICENSE", "Makefile", "README.md", "conftest.py", "pyproject.toml", "setup.py", "subtrie_pytest.py", "ctrie",
    "docs", "examples", "snapshot", "stress", "subtrie", "tests", "tools",
)  # fmt: skip
EXTRAS: Final = "EXTRAS=stress,test"
NO_SUCH_PYTHON: Final = """\
Set TSAN_PYTHON to a Python that is free-threaded and built with ThreadSanitizer. From CPython's sources:
    ./configure --disable-gil --with-thread-sanitizer --prefix=/some/where && make && make install"""
UNDECIDED: Final = 2


def asked(python: str, code: str) -> str:
    """What an interpreter prints; empty if it fails."""
    return subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


def cython_of(python: str) -> Path:
    """The folder of Cython's output for an interpreter."""
    return Path("build", "cython." + asked(python, "import sysconfig; print(sysconfig.get_config_var('SOABI'))"))


def copied(name: str, translated_by: str, python: str) -> Path:
    """A copy of the tree without extensions, with what the Cython of one interpreter made for another one."""
    copy = Path("build", name)
    shutil.rmtree(copy, ignore_errors=True)
    for each in map(Path, TREE):
        if each.is_dir():
            shutil.copytree(each, copy / each, ignore=shutil.ignore_patterns("*.so", "__pycache__", "_build"))
        else:
            copy.mkdir(parents=True, exist_ok=True)
            shutil.copy2(each, copy)
    shutil.copytree(cython_of(translated_by), copy / cython_of(python))
    return copy


def run(*command: str, folder: Path, may_end_with: int = 0, **environment: str) -> None:
    """Run a command in a folder; end this program if it fails."""
    ended = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, check=False).returncode
    if ended not in (0, may_end_with):
        sys.exit(ended)


def races(python: str) -> None:
    """Run what lets threads meet on a free-threaded interpreter that was built with ThreadSanitizer."""
    flags = "import sysconfig; print(sysconfig.get_config_var('CONFIG_ARGS'))"
    if not python or "thread-sanitizer" not in asked(python, flags):
        sys.exit(NO_SUCH_PYTHON)
    copy, own = copied("races", ".venv/bin/python", python), ".venv-t/bin/python"
    for target in (".venv-t/installed", ".venv-t/built"):
        make = ("make", "--no-print-directory", target, f"FREE_THREADED_PYTHON={python}", EXTRAS)
        run(*make, folder=copy, TSAN_OPTIONS="report_bugs=0")
    print("== One race that is known, to see that it is seen", flush=True)
    known = (own, "-m", "tests.ctrie.known_race")
    told = subprocess.run(
        known, cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    ).stdout
    if not any("SUMMARY" in line and "_cache_counts" in line for line in told.splitlines()):
        sys.exit(f"{told}\nThreadSanitizer does not see it")
    print("== No others", flush=True)
    suppressed = "suppressions=tests/ctrie/known_races.txt"
    # An undecided campaign has found no race. Under the sanitizer calls take long, so many overlap.
    campaign = (own, "-m", "stress", "run", "--duration", "60")
    run(*campaign, folder=copy, may_end_with=UNDECIDED, TSAN_OPTIONS=suppressed)
    run(own, "-m", "pytest", "--timeout", "1200", "-m", "racing", "tests", folder=copy, TSAN_OPTIONS=suppressed)


def sanitize(python: str, environment: str, arguments: list[str]) -> None:
    """Run the tests of the structures under gcc's address and undefined-behaviour sanitizers.

    CPython's own allocator would hide uses after free. Free-threaded interpreters have no other one, of which the
    address sanitizer sees large blocks only. Memory that the interpreter itself never frees is not a leak of ours.
    Sanitized functions take several times as much stack, and nested objects are dropped to a depth of ten thousand. The
    sanitizer ends the process with a report on file descriptor 2, which pytest must not capture.
    """
    python = os.path.abspath(shutil.which(python) or python)
    print(f"== Sanitizing: {asked(python, 'import sys; print(sys.version)')}", flush=True)
    copy = copied(f"sanitize{environment.removeprefix('.venv')}", f"{environment}/bin/python", python)
    own = ".venv/bin/python"
    run("make", "--no-print-directory", ".venv/installed", f"PYTHON={python}", EXTRAS, folder=copy)
    build = (own, "setup.py", "--quiet", "build_ext", "--inplace", "--parallel", str(os.cpu_count()))
    run(*build, folder=copy, CTRIE_SANITIZE="address,undefined")
    libraries = [asked_gcc(name) for name in ("libasan.so", "libubsan.so")]
    selected = ("-m", "not spark and not slow", *arguments, "tests/ctrie", "tests/subtrie", "tests/fields")
    tests = (own, "-m", "pytest", "--capture=sys", "--timeout", "1200", *selected)
    if environment == ".venv":
        os.environ["PYTHONMALLOC"] = "malloc"
    run(
        "sh", "-c", 'ulimit -s unlimited || true; exec "$@"', "sh", *tests,
        folder=copy, LD_PRELOAD=" ".join(libraries), ASAN_OPTIONS="detect_leaks=0",
        UBSAN_OPTIONS="print_stacktrace=1", CTRIE_TWIN="compiled",
    )  # fmt: skip


def asked_gcc(name: str) -> str:
    """The path of one of gcc's libraries."""
    return subprocess.run(
        ["gcc", f"-print-file-name={name}"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    if sys.argv[1] == "races":
        races(sys.argv[2])
    else:
        sanitize(sys.argv[2], sys.argv[3], sys.argv[4:])
