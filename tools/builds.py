"""Compile the modules with each interpreter and compiler found, run the tests of the core on each build, and write the
table of docs/builds.md.

python -m tools.builds [--compilers gcc,clang] [--tests tests/ctrie,...] [--only NAME] [INTERPRETER...]

`--tests ''` compiles only, as for musl-gcc, whose modules an interpreter of another C library cannot load.

An interpreter is a path; without any, those of PATH and of pyenv are taken. `DIR:PATH` is one within an unpacked
distribution, which chroot enters and whose own compiler compiles. `aarch64:DIR:PATH` is one of such a distribution for
64-bit ARM: a cross compiler compiles, and qemu runs the tests.

The C sources are those that `.venv/built` has translated. Each build is made in a folder of its own, with warnings as
errors, and its result is kept there. The table shows all results that there are. Rows of interpreters that are not here
stay in it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools import page_table

ROOT = Path(__file__).parent.parent
BUILDS = ROOT / "build" / "builds"
PAGE = ROOT / "docs" / "builds.md"
BEGIN, END = "<!-- begin of what `make builds` writes -->\n", "<!-- end -->\n"
HEAD = ("CPython", "compiler", "processor", "tests", "result", "made")
VERSIONS = ("3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t")
TESTS = ("tests/ctrie", "tests/subtrie", "tests/fields")
# Of Python alone, so that every interpreter takes the same files; the last hypothesis of that kind is this one.
NEEDS = ("pytest>=9", "pytest-timeout", "hypothesis<6.156", "cachetools", "rich", "sortedcontainers", "setuptools")
# What Cython's code and CPython's headers do, of which no code of ours is at fault. All other warnings are errors.
ALLOWED = (
    *("sign-compare", "unused-function", "unused-variable", "unused-but-set-variable", "unused-parameter"),
    *("missing-field-initializers", "cast-function-type", "deprecated-declarations", "maybe-uninitialized"),
    *("unused-label", "unreachable-code", "unused-const-variable", "strict-prototypes", "cpp"),
    # Of a free-threaded Py_DECREF that is inlined where a path has a null pointer, which Py_XDECREF has excluded.
    "stringop-overflow",
)
FACTS = (
    "import json, platform, sys, sysconfig; v = sysconfig.get_config_var; "
    "print(json.dumps([platform.python_version(), v('EXT_SUFFIX'), v('SOABI'), sysconfig.get_path('include'),"
    " sysconfig.get_path('platinclude'), bool(v('Py_GIL_DISABLED')), platform.machine()]))"
)


@dataclass
class Build:
    """One interpreter with one compiler."""

    interpreter: str
    compiler: str
    root: Path | None = None  # of an unpacked distribution
    emulated: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    def command(self, *arguments: str, folder: Path | None = None) -> list[str]:
        """The command that runs this interpreter, in a folder of this machine."""
        if self.root is None:
            return [self.interpreter, *arguments]
        if self.emulated:
            return ["qemu-aarch64-static", "-L", str(self.root), str(self.root / self.interpreter), *arguments]
        inside = "/" if folder is None else f"/{folder.relative_to(self.root)}"
        line = 'cd "$0" && exec "$@"'
        return ["chroot", str(self.root), "sh", "-c", line, inside, self.interpreter, *arguments]

    def look(self) -> None:
        """Ask the interpreter what it is."""
        answer = subprocess.run(
            self.command("-c", FACTS), capture_output=True, text=True, check=True, env=self.environment()
        )
        names = ("version", "suffix", "soabi", "include", "platinclude", "free_threaded", "machine")
        self.facts = dict(zip(names, json.loads(answer.stdout.splitlines()[-1]), strict=True))

    @property
    def name(self) -> str:
        """What its folder is called."""
        t = "t" * self.facts["free_threaded"]
        return f"{self.facts['version']}{t}-{self.compiler}-{'aarch64' if self.emulated else self.facts['machine']}"

    @property
    def folder(self) -> Path:
        """Where it is compiled and tested: within its distribution, if it has one that is entered."""
        if self.root is not None and not self.emulated:
            return self.root / "tmp" / "builds" / self.name
        return BUILDS / self.name

    def environment(self) -> dict[str, str]:
        """The variables that it runs with."""
        added = {"PYTHONHOME": str(self.root / "usr")} if self.root is not None and self.emulated else {}
        return {**os.environ, "PYTHON_GIL": "0" if self.facts.get("free_threaded") else "1", **added}

    def compiler_command(self) -> list[str]:
        """The compiler with this interpreter's headers."""
        includes = dict.fromkeys([self.facts["include"], self.facts["platinclude"]])
        if self.root is not None and not self.emulated:
            line = 'cd "$0" && exec "$@"'
            return ["chroot", str(self.root), "sh", "-c", line, f"/{self.folder.relative_to(self.root)}", self.compiler,
                    *[f"-I{path}" for path in includes]]  # fmt: skip
        if self.emulated:
            version = ".".join(self.facts["version"].split(".")[:2])
            here = self.root / "usr" / "include" if self.root else Path()
            return ["aarch64-linux-gnu-gcc", f"-I{here / ('python' + version)}", f"-I{here}"]
        return [self.compiler, *[f"-I{path}" for path in includes]]


def main() -> int:
    """Make the builds asked for, and the table of all that have been made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*")
    parser.add_argument("--compilers", default="gcc,clang")
    parser.add_argument("--tests", default=",".join(TESTS))
    parser.add_argument("--only", default="", help="builds whose name contains this")
    asked = parser.parse_args()
    BUILDS.mkdir(parents=True, exist_ok=True)
    failed = 0
    for build in builds_of(asked.interpreters, asked.compilers.split(",")):
        if asked.only in build.name:
            result = made(build, [name for name in asked.tests.split(",") if name])
            print(build.name, result["result"], flush=True)
            failed += not result["passed"]
    results = [json.loads(path.read_text("utf-8")) for path in sorted(BUILDS.glob("*.json"))]
    left_out = [version for version in VERSIONS if version not in {result["python"] for result in results}]
    print(f"left out, since no interpreter was found: {', '.join(left_out) or 'none'}")
    write_table(results)
    return failed > 0


def builds_of(named: list[str], compilers: list[str]) -> list[Build]:
    """Each interpreter with each compiler that is there for it."""
    found: list[Build] = []
    for name in named or interpreters_here():
        *kind, path = name.split(":")
        emulated = kind[:1] == ["aarch64"]
        root = Path(kind[-1]).resolve() if kind else None
        here = (
            ["gcc"] if emulated else [c for c in compilers if shutil.which(c, path=f"{root}/usr/bin" if root else None)]
        )
        for compiler in here:
            build = Build(path, compiler, root, emulated)
            build.look()
            found.append(build)
    return found


def interpreters_here() -> list[str]:
    """The interpreters of PATH and of pyenv."""
    on_path = [path for version in VERSIONS if (path := shutil.which(f"python{version}"))]
    of_pyenv = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.*/bin/python"))
    return [path for path in on_path if "shims" not in path] + [
        str(path) for path in of_pyenv if re.match(r"3\.1[1-9]", path.parent.parent.name)
    ]


def made(build: Build, tests: list[str]) -> dict[str, Any]:
    """Compile and test one build; keep the result and return it."""
    copy_sources(build.folder)
    warnings = compiled(build)
    counts = "" if warnings or not tests else tested(build, tests)
    passed = not warnings and (not tests or ("passed" in counts and "failed" not in counts and "error" not in counts))
    version = ".".join(build.facts["version"].split(".")[:2]) + "t" * build.facts["free_threaded"]
    result = {
        "python": version,
        "patch": build.facts["version"],
        "compiler": compiler_version(build),
        "machine": "aarch64 (qemu)" if build.emulated else build.facts["machine"],
        "tests": " ".join(tests),
        "result": warnings or counts or "compiles; not run",
        "passed": passed,
        "made": time.strftime("%Y-%m-%d %H:%M"),
    }
    (BUILDS / f"{build.name}.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return result


def compiler_version(build: Build) -> str:
    """The name of the compiler, and its version."""
    shown = subprocess.run([*build.compiler_command(), "--version"], capture_output=True, text=True, check=True).stdout
    number = re.search(r"\d+\.\d+(\.\d+)?", shown.splitlines()[0].partition(")")[2] or shown)
    return f"{build.compiler} {number[0] if number else '?'}"


def copy_sources(folder: Path) -> None:
    """Copy the committed and the edited files, and what the tests need, into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists() and not name.startswith(("docs/images", "docs/benchmarks/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    generated = f"cython.{sysconfig.get_config_var('SOABI')}"
    shutil.copytree(ROOT / "build" / generated, folder / "c")
    site = BUILDS / "site"
    if not site.exists():
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--target", str(site)]
        subprocess.run([*pip, "--only-binary", ":all:", *NEEDS], check=True)
    shutil.copytree(site, folder / "site")


def compiled(build: Build) -> str:
    """Compile all modules; return what the compiler said first, if anything."""
    sys.path.insert(0, str(ROOT))
    import setup

    # `-std=gnu11` is for both compilers; inlining parameters are gcc's own.
    here = sorted(
        {f"-I{header.parent.relative_to(ROOT)}" for package in setup.ROOMS for header in (ROOT / package).rglob("*.h")}
    )
    here += ["-Ic"]
    strict = ["-Wall", "-Wextra", "-Werror", *[f"-Wno-{name}" for name in ALLOWED]]
    strict += ["-Wno-unknown-warning-option"] if "clang" in build.compiler else []
    command = [*build.compiler_command(), "-fPIC", "-fno-strict-overflow", "-DNDEBUG", *strict, *here]

    def understood(flag: str) -> bool:
        if "clang" in build.compiler and flag in gcc_alone:
            return False
        return not (build.emulated and flag.startswith("-m"))

    gcc_alone = {flag for flags in setup.EXTRA_FLAGS.values() for flag in flags if flag[:2] not in ("-O", "-D")}
    sources = {module: str(Path("c", source).with_suffix(".c")) for module, source in setup.MODULES.items()}
    library = str(Path(*setup.LIBRARY.split(".")))
    asked = {module: [*filter(understood, setup.flags_of(module)), source] for module, source in sources.items()}
    asked[setup.LIBRARY] = [*filter(understood, setup.COMPILER_FLAGS), "ctrie/c/library.c"]

    def said(what: str, arguments: list[str]) -> str:
        ended = subprocess.run([*command, *arguments], cwd=build.folder, capture_output=True, text=True, check=False)
        if not ended.returncode:
            return ""
        first = re.search(r"(error|warning): .*", ended.stderr)
        (BUILDS / f"{build.name}.log").write_text(ended.stderr, "utf-8")
        return f"{what}: {first[0] if first else ended.stderr[:200]}"

    def of(module: str) -> str:
        return said(module, ["-c", *asked[module], "-o", f"{module}.o"])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = next(filter(None, pool.map(of, asked)), "")
    objects = [f"{module}.o" for module in asked]
    return failed or said(setup.LIBRARY, ["-shared", *objects, "-o", library + build.facts["suffix"]])


def tested(build: Build, tests: list[str]) -> str:
    """Run the tests; return pytest's last line."""
    run = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "1200" if build.emulated else "300"]
    run += ["-o", "filterwarnings=default", "-m", "not spark and not slow", *tests]
    inside = Path("/") / build.folder.relative_to(build.root) if build.root and not build.emulated else build.folder
    environment = {**build.environment(), "PYTHONPATH": f"{inside}/site:{inside}", "CTRIE_TWIN": "compiled"}
    ended = subprocess.run(
        build.command(*run, folder=build.folder),
        cwd=build.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    (BUILDS / f"{build.name}.log").write_text(ended.stdout[-20000:] + ended.stderr[-5000:], "utf-8")
    last = [line for line in ended.stdout.splitlines() if re.search(r"\d+ (passed|failed|error)", line)]
    return re.sub(r" in [\d.]+s.*|=", "", last[-1]).strip() if last else f"ended with {ended.returncode}"


def write_table(results: list[dict[str, Any]]) -> None:
    """Put these results into the page, but for those that are older than the rows there."""
    rows = []
    for r in results:
        tests = f"`{r['tests']}`" if r["tests"] else ""
        interpreter = r["patch"] + "t" * r["python"].endswith("t")
        rows.append([interpreter, r["compiler"], r["machine"], tests, r["result"], r["made"]])
    page_table.update(
        PAGE,
        (BEGIN, END),
        HEAD,
        rows,
        keys=3,
        order=place_of,
        is_older=lambda new, there: new[-1] < there[-1],
    )


def place_of(row: list[str]) -> tuple[bool, list[int], bool, str]:
    """Where a row stands: this processor first, then as versions go."""
    version, compiler, processor = row[:3]
    return processor != "x86_64", [int(n) for n in re.findall(r"\d+", version)[:2]], version.endswith("t"), compiler


if __name__ == "__main__":
    sys.exit(main())
