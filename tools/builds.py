"""Compile the modules with each interpreter and compiler found, run the tests of the core on each build, and write the
table of docs/install.md.

python -m tools.builds [--compilers gcc,clang] [--tests tests/ctrie,...] [INTERPRETER...]

An interpreter is a path; without any, those of PATH and of pyenv are taken. `--tests ''` compiles only. Each build is
made by setup.py in a copy of the tree, with warnings as errors. Rows of builds that are not made stay in the table.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools import page_table

ROOT = Path(__file__).parent.parent
BUILDS = ROOT / "build" / "builds"
PAGE = ROOT / "docs" / "install.md"
BEGIN, END = "<!-- begin of what `make builds` writes -->\n", "<!-- end -->\n"
HEAD = ("CPython", "compiler", "processor", "tests", "result", "made")
VERSIONS = ("3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t")
TESTS = "tests/ctrie,tests/subtrie,tests/fields"
# Of Python alone, or with a body in Python, so that every interpreter takes the same files.
NEEDS = ("cython==3.3.1", "pytest>=9", "pytest-timeout", "hypothesis<6.156", "cachetools", "rich", "sortedcontainers",
         "setuptools>=80")  # fmt: skip
# What Cython's code and CPython's headers do, of which no code of ours is at fault. All other warnings are errors.
ALLOWED = (
    *("sign-compare", "unused-function", "unused-variable", "unused-but-set-variable", "unused-parameter"),
    *("missing-field-initializers", "cast-function-type", "deprecated-declarations", "maybe-uninitialized"),
    *("unused-label", "unreachable-code", "unused-const-variable", "strict-prototypes", "cpp"),
    # Of a free-threaded Py_DECREF that is inlined where a path has a null pointer, which Py_XDECREF has excluded.
    "stringop-overflow",
)
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wno-unknown-warning-option", *(f"-Wno-{name}" for name in ALLOWED))
FACTS = (
    "import platform, sys, sysconfig; print(platform.python_version() + 't' * bool("
    "sysconfig.get_config_var('Py_GIL_DISABLED')), platform.machine())"
)


def main() -> int:
    """Make the builds asked for, and bring the table up to date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*")
    parser.add_argument("--compilers", default="gcc,clang")
    parser.add_argument("--tests", default=TESTS)
    asked = parser.parse_args()
    rows = [
        made(python, compiler, [name for name in asked.tests.split(",") if name])
        for python in asked.interpreters or interpreters_here()
        for compiler in filter(shutil.which, asked.compilers.split(","))
    ]
    tried = {re.sub(r"\.\d+(t?)$", r"\1", row[0]) for row in rows}
    print(f"left out, since no interpreter was found: {', '.join(v for v in VERSIONS if v not in tried) or 'none'}")
    page_table.update(PAGE, (BEGIN, END), HEAD, rows, keys=3, order=place_of)
    return any("passed" not in row[4] or re.search("failed|error", row[4]) for row in rows if row[3])


def interpreters_here() -> list[str]:
    """The interpreters of PATH and of pyenv."""
    on_path = [path for version in VERSIONS if (path := shutil.which(f"python{version}")) and "shims" not in path]
    return on_path + [str(path) for path in Path.home().glob(".pyenv/versions/3.1[1-9]*/bin/python")]


def made(python: str, compiler: str, tests: list[str]) -> list[str]:
    """Compile and test one build; return its row of the table."""
    version, machine = subprocess.check_output([python, "-c", FACTS], text=True).split()
    folder = BUILDS / f"{version}-{compiler}"
    site = copied(folder)
    environment = {**os.environ, "PYTHONPATH": f"{site}:{folder}", "CTRIE_TWIN": "compiled", "CC": compiler,
                   "CFLAGS": " ".join(STRICT), "PYTHON_GIL": "0" if version.endswith("t") else "1"}  # fmt: skip

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    built = run("setup.py", "--quiet", "build_ext", "--inplace")
    result = "compiles; not run"
    if built.returncode:
        result = next(iter(re.findall(r"(?:error|warning): .*", built.stderr)), built.stderr[-200:])
    elif tests:
        ended = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not spark and not slow", *tests)
        last = re.findall(r".*\d+ (?:passed|failed|error).*", ended.stdout)
        result = re.sub(r" in [\d.]+s.*|=", "", last[-1]).strip() if last else f"ended with {ended.returncode}"
    print(version, compiler, result, flush=True)
    told = subprocess.check_output([compiler, "--version"], text=True).splitlines()[0]
    number = re.findall(r"\d+\.\d+\.\d+", told)
    names = f"`{' '.join(tests)}`" if tests else ""
    return [version, f"{compiler} {number[-1]}", machine, names, result, time.strftime("%Y-%m-%d %H:%M")]


def copied(folder: Path) -> Path:
    """Copy the committed and the edited files into an empty folder; return where what the tests need is installed."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists() and not name.startswith(("docs/images", "docs/benchmarks/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    site = BUILDS / "site"
    if not site.exists():
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--target", str(site)]
        subprocess.run([*pip, "--only-binary", ":all:", *NEEDS], check=True)
    return site


def place_of(row: list[str]) -> tuple[bool, list[int], bool, str]:
    """Where a row stands: this processor first, then as versions go."""
    version, compiler, processor = row[:3]
    return processor != "x86_64", [int(n) for n in re.findall(r"\d+", version)[:2]], version.endswith("t"), compiler


if __name__ == "__main__":
    sys.exit(main())
