"""The package as it is built and imported: which twin runs, which files it has, which package may import which."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import pytest

import ctrie
from tests.scripts import run_script

ROOT = Path(__file__).parents[2]

# Each room may import itself and the rooms before it.
ROOMS = ["ctrie", "subtrie", "snapshot", "stress"]
ALIASES = [ROOT / "subtrie" / "snapshot", ROOT / "subtrie" / "stress"]

# Command lines put the rooms together: they may import all rooms, and no library module may import them.
COMMAND_LINES = re.compile(r"/(__main__|cli/\w+)\.py$")


def run_python(code: str) -> str:
    """Run `code` in a new interpreter, where nothing has been imported yet, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def load_setup() -> ModuleType:
    spec = importlib.util.spec_from_file_location("setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SETUP = load_setup()
# Of this interpreter alone: at the same time another may be building its own.
LIBRARY = f"lib.*-{sys.implementation.cache_tag}{'t' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''}"
BUILT: list[Path] = [
    path.relative_to(ROOT) for path in [*(ROOT / "build").glob(LIBRARY), ROOT / SETUP.C_FOLDER] if path.exists()
]
COMPILED_MODULES: dict[str, str] = SETUP.compiled_sources()


def library_modules() -> list[str]:
    """Return the names of all modules, without command lines, bodies that serve other twins and builds, what stands in
    for the seam, and what needs a package that has no build for every interpreter."""
    compiled = ctrie.twin == "compiled"
    elsewhere = ("_portable", *(("fields/views", "match/steps", "walk") if compiled else ()))
    if not importlib.util.find_spec("pyroaring"):
        elsewhere += ("baselines/bitmap", "baselines/inverted", "baselines/optimised")
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sources(".py", *([".pyx"] if compiled else []))
        if not COMMAND_LINES.search(path.as_posix())
        and not path.with_suffix("").as_posix().endswith(elsewhere)
        and path.parent.name != "seam"
    ]


def sources(*suffixes: str) -> list[Path]:
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*") if path.suffix in suffixes)


class TestTwin:
    def test_the_expected_twin_runs(self) -> None:
        expected = os.environ.get("CTRIE_EXPECT_TWIN") or os.environ.get("CTRIE_TWIN") or "compiled"
        assert ctrie.twin == expected

    @pytest.mark.compiled
    @pytest.mark.parametrize("name", COMPILED_MODULES)
    def test_every_module_of_the_compiled_twin_is_an_extension(self, name: str) -> None:
        assert str(importlib.import_module(name).__file__).endswith(tuple(EXTENSION_SUFFIXES))

    def test_every_module_of_the_interpreted_twin_is_its_source(self) -> None:
        sources = {name: source for name, source in COMPILED_MODULES.items() if source.endswith(".py")}
        code = (
            f"import {', '.join(sources)}, sys; print(ctrie.twin, *(sys.modules[n].__file__ for n in {list(sources)}))"
        )
        printed = subprocess.check_output(
            [sys.executable, "-c", code], cwd=ROOT, text=True, env={**os.environ, "CTRIE_TWIN": "interpreted"}
        )
        assert printed.split() == ["interpreted", *(str(ROOT / source) for source in sources.values())]

    def test_every_source_that_uses_cython_is_compiled(self) -> None:
        uses_cython = {
            path.relative_to(ROOT).as_posix()
            for path in sources(".py", ".pyx")
            if path.suffix == ".pyx" or "cython.compiled" in path.read_text()
        }
        seam = "tests/tries/seam/explored_seam.pyx"  # only where schedules are explored (CTRIE_EXPLORED)
        assert uses_cython - {seam} <= set(COMPILED_MODULES.values())


class TestImport:
    HEAVY = ("hypothesis", "matplotlib", "numpy", "pandas", "pyarrow", "pyspark", "rich")

    @pytest.mark.parametrize("package", ["ctrie", "subtrie"])
    def test_import_brings_nothing_heavy_along(self, package: str) -> None:
        loaded = run_python(f"import sys, {package}; print(*sys.modules)").split()
        assert not {name.partition(".")[0] for name in loaded} & set(self.HEAVY)

    @pytest.mark.parametrize("package", ["ctrie", "subtrie"])
    def test_import_takes_no_slow_part_of_the_standard_library(self, package: str) -> None:
        slow = {"asyncio", "difflib", "json", "logging", "pathlib"}
        if package == "ctrie":
            slow |= {"dataclasses", "inspect", "opcode"}  # a `Dialect` is a dataclass
        before = set(run_python("import sys, threading, typing, weakref; print(*sys.modules)").split())
        loaded = set(run_python(f"import sys, {package}; print(*sys.modules)").split()) - before
        assert not {name.partition(".")[0] for name in loaded} & slow

    @pytest.mark.freethreaded
    def test_the_gil_stays_off_after_importing_everything(self) -> None:
        modules = ["pandas", "pyarrow", "pyspark.sql", "rich", *library_modules()]
        assert run_python(f"import sys, {', '.join(modules)}; print(sys._is_gil_enabled())") == "False"


@pytest.mark.once
class TestRooms:
    def test_no_import_runs_upwards(self) -> None:
        upwards = [
            f"{path.relative_to(ROOT)}:{line} imports {imported}"
            for path in sources(".py", ".pyi", ".pyx", ".pxd")
            for line, imported in imports(path)
            if imported.partition(".")[0] not in allowed(path) and path.parent not in ALIASES  # for type checkers only
        ]
        assert upwards == []

    def test_no_library_module_imports_a_command_line(self) -> None:
        wrong = [
            f"{path.relative_to(ROOT)}:{line} imports {imported}"
            for path in sources(".py", ".pyi", ".pyx", ".pxd")
            if not COMMAND_LINES.search(path.as_posix())
            for line, imported in imports(path)
            if COMMAND_LINES.search(f"/{imported.replace('.', '/')}.py")
        ]
        assert wrong == []

    def test_the_general_rooms_of_stress_know_nothing_of_the_tries(self) -> None:
        wrong = [
            f"{path.relative_to(ROOT)}:{line} imports {imported}"
            for path in sources(".py")
            if path.relative_to(ROOT).parts[0] == "stress" and not COMMAND_LINES.search(path.as_posix())
            for line, imported in imports(path)
            if imported.startswith(("tests", "subtrie", "snapshot"))
        ]
        assert wrong == []


def allowed(path: Path) -> list[str]:
    if COMMAND_LINES.search(path.as_posix()):
        return ROOMS
    room = path.relative_to(ROOT).parts[0]
    return ROOMS[: ROOMS.index(room) + 1]


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and name of each import of one of our modules; relative ones stay in their room."""
    for line, name in parsed_imports(path) if path.suffix in (".py", ".pyi") else cython_imports(path):
        if name.partition(".")[0] in (*ROOMS, "tests", "benchmarks"):
            yield line, name


def parsed_imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from ((node.lineno, str(name.value)) for name in node.args[:1] if isinstance(name, ast.Constant))


def cython_imports(path: Path) -> Iterator[tuple[int, str]]:
    for line, text in enumerate(path.read_text().splitlines(), start=1):
        if found := re.match(r"\s*(?:from|c?import)\s+([\w.]+)", text):
            yield line, found[1].removeprefix("cython.cimports.")


@pytest.mark.once
def test_without_its_libraries_stress_says_how_to_get_them() -> None:
    hidden = "import sys; sys.modules['sortedcontainers'] = None"
    told = run_python(
        f"{hidden}\ntry:\n    import stress; stress.run\nexcept ModuleNotFoundError as error:\n    print(error)"
    )
    assert told == "stress needs sortedcontainers: pip install 'subtrie[stress]'"


@pytest.mark.once
class TestBuild:
    """The switches of setup.py, tried on a copy of the tree."""

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        for folder in ("ctrie", "subtrie", *map(str, BUILT)):
            shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("setup.py", "subtrie_pytest.py", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copy2(ROOT / file, tmp_path)
        return tmp_path

    @staticmethod
    def build(tree: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        switches = {"CTRIE_NO_EXTENSIONS": ""}
        return subprocess.run(
            [sys.executable, "setup.py", *(command or ("build_ext", "--inplace"))],
            cwd=tree,
            env={**os.environ, **switches, **environment},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def test_without_a_compiler_it_fails_and_says_what_to_do(self, tree: Path) -> None:
        outdated = tree / "ctrie" / f"_gone{EXTENSION_SUFFIXES[0]}"
        outdated.touch()
        (tree / "ctrie" / "c" / "slot.h").touch()
        done = self.build(tree, CC="false")
        assert done.returncode != 0
        assert "subtrie: the compiled modules could not be built" in done.stderr
        assert done.stderr.rstrip().endswith("CTRIE_NO_EXTENSIONS=1 pip install 'subtrie[portable]'")
        assert "Traceback" not in done.stderr
        assert not outdated.exists()

    def test_no_extensions_builds_none_and_removes_outdated_ones(self, tree: Path) -> None:
        outdated = tree / "ctrie" / f"_native{EXTENSION_SUFFIXES[0]}"
        outdated.touch()
        done = self.build(tree, CC="false", CTRIE_NO_EXTENSIONS="1")
        assert done.returncode == 0, done.stderr
        assert not outdated.exists()

    @pytest.mark.compiled
    def test_what_is_compiled_no_more_goes_into_no_wheel(self, tree: Path) -> None:
        library = next((tree / "build").glob(LIBRARY))
        outdated = library / "ctrie" / f"_gone{EXTENSION_SUFFIXES[0]}"
        outdated.touch()
        done = self.build(tree, "build_ext", CC="false")
        assert done.returncode == 0, done.stderr
        assert not outdated.exists()

    @pytest.mark.compiled
    def test_what_has_not_changed_is_not_built(self, tree: Path) -> None:
        done = self.build(tree, CC="false")
        assert done.returncode == 0, done.stderr

    @pytest.mark.compiled
    def test_a_source_that_has_changed_is_compiled_alone(self, tree: Path) -> None:
        (tree / "ctrie" / "_row.pyx").touch()
        done = self.build(tree)
        assert done.returncode == 0, done.stderr
        assert re.findall(r" -c (\S+)", done.stdout) == [str(SETUP.C_FOLDER / "ctrie" / "_row.c")]

    @pytest.mark.once
    @pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
    def test_what_is_edited_while_it_is_compiled_is_compiled_again(self, tmp_path: Path) -> None:
        shutil.copy(ROOT / "Makefile", tmp_path)
        sources = "ctrie/a.py subtrie/b.py setup.py pyproject.toml"
        for name in sources.split():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        compiling = tmp_path / ".venv" / "bin" / "python"
        compiling.parent.mkdir(parents=True)
        # An edit in the very tick of the file system's clock in which the build begins is as old as its mark.
        edit = "touch edited; while ! test ctrie/a.py -nt .venv/building; do touch ctrie/a.py; done"
        compiling.write_text(f'#!/bin/sh\ntest "$1" = -V || {{ echo compiled; test -e edited || {{ {edit}; }}; }}\n')
        compiling.chmod(0o755)
        (compiling.parent / "pip").touch()
        (tmp_path / ".venv" / "installed").touch()

        def make() -> int:
            done = subprocess.run(
                ["make", "--no-print-directory", "build"], cwd=tmp_path, capture_output=True, text=True, check=True
            )
            return done.stdout.count("compiled")

        assert [make(), make(), make()] == [1, 1, 0]


IN_A_SUBINTERPRETER = """
import sys
import sysconfig
import ctrie

interpreters = __import__("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
interpreter = interpreters.create()
script = '''
try:
    import ctrie
except ImportError as refusal:
    print(type(refusal).__name__)
'''
interpreters.run_string(interpreter, script)
interpreters.destroy(interpreter)
print(ctrie.Ctrie({1: 2}))
"""


@pytest.mark.compiled
def test_a_subinterpreter_is_told_and_the_main_one_goes_on() -> None:
    script = "import warnings; warnings.simplefilter('ignore')\n" + IN_A_SUBINTERPRETER
    assert run_script(script) == (0, "ImportError\nCtrie({1: 2})\n", "")
