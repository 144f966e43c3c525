"""The package as it is built and imported: which twin runs, which files it has, which package may import which."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import NamedTuple

import pytest

import ctrie
from tests.scripts import run_script

ROOT = Path(__file__).parents[2]
OURS = {"ctrie", "subtrie", "snapshot", "stress", "tests", "benchmarks"}
ALLOWED = {
    "ctrie": {"ctrie"},
    "subtrie": {"ctrie", "subtrie"},
    "snapshot": {"ctrie", "subtrie", "snapshot"},
    "stress": {"ctrie", "stress"},  # it knows nothing of the tries
}
"""What each room may import of ours. Command lines put the rooms together, and no library module may import them."""
COMMAND_LINES = re.compile(r"/(__main__|cli/\w+)\.py$")
ALIASES = [ROOT / "subtrie" / "snapshot", ROOT / "subtrie" / "stress"]  # for type checkers only
IMPORTS = re.compile(
    r'^\s*(?:from ([\w.]+) )?c?import (?:\(\s*)?([\w.]+)|import_module\("([\w.]+)"', re.MULTILINE
)  # of Python and of Cython


SETUP = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")
# Of this interpreter alone: at the same time another may be building its own.
LIBRARY = f"lib.*-{sys.implementation.cache_tag}{'t' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''}"
BUILT: list[Path] = [
    path.relative_to(ROOT) for path in [*(ROOT / "build").glob(LIBRARY), ROOT / SETUP["C_FOLDER"]] if path.exists()
]
COMPILED_MODULES: dict[str, str] = SETUP["compiled_sources"]()
OF_PYTHON = {name: source for name, source in COMPILED_MODULES.items() if source.endswith(".py")}


def sources(*suffixes: str) -> list[Path]:
    return sorted(path for room in ALLOWED for path in (ROOT / room).rglob("*") if path.suffix in suffixes)


def printed_by(code: str, **environment: str) -> str:
    """Run `code` in a new interpreter, where nothing has been imported yet, and return what it printed."""
    environment = os.environ | environment
    return subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True, env=environment).strip()


class TestTwin:
    def test_the_expected_twin_runs(self) -> None:
        expected = os.environ.get("CTRIE_EXPECT_TWIN") or os.environ.get("CTRIE_TWIN") or "compiled"
        assert ctrie.twin == expected

    @pytest.mark.compiled
    def test_every_module_of_the_compiled_twin_is_an_extension(self) -> None:
        files = [str(importlib.import_module(name).__file__) for name in COMPILED_MODULES]
        assert [file for file in files if not file.endswith(tuple(EXTENSION_SUFFIXES))] == []

    def test_every_module_of_the_interpreted_twin_is_its_source(self) -> None:
        code = f"import {', '.join(OF_PYTHON)}, sys; print(*(sys.modules[n].__file__ for n in {list(OF_PYTHON)}))"
        assert printed_by(code, CTRIE_TWIN="interpreted").split() == [str(ROOT / each) for each in OF_PYTHON.values()]

    @pytest.mark.once
    def test_every_source_that_uses_cython_is_compiled(self) -> None:
        of_python = [path for path in sources(".py") if "cython.compiled" in path.read_text()]
        uses_cython = {path.relative_to(ROOT).as_posix() for path in [*of_python, *sources(".pyx")]}
        assert uses_cython <= set(COMPILED_MODULES.values())


class TestImport:
    @pytest.mark.parametrize("package", ["ctrie", "subtrie"])
    def test_import_brings_nothing_heavy_or_slow_along(self, package: str) -> None:
        heavy = {"hypothesis", "matplotlib", "numpy", "pandas", "pyarrow", "pyspark", "rich"}
        slow = {"asyncio", "dataclasses", "inspect", "json", "logging", "opcode", "pathlib"}
        before = printed_by("import sys, threading, typing, weakref; print(*sys.modules)").split()
        loaded = printed_by(f"import sys, {package}; print(*sys.modules)").split()
        assert {name.partition(".")[0] for name in {*loaded} - {*before}} & (heavy | slow) == set()
        assert {"subtrie._trie.match.columns", "subtrie._trie.queries.columns"} & {*loaded} == set(), "what few need"

    def test_a_new_option_imports_nothing_that_the_handler_of_a_signal_could_find_half_imported(self) -> None:
        printed_by(
            "import sys, subtrie; sys.modules['difflib'] = None; subtrie.SubscriptionTrie().subscribe('a', 1, of=1)"
        )

    @pytest.mark.freethreaded
    def test_the_gil_stays_off_after_importing_everything(self) -> None:
        ours = [
            ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            for path in sources(".py")
            if path.relative_to(ROOT).parts[0] in ("snapshot", "stress") and not COMMAND_LINES.search(path.as_posix())
        ]
        modules = ["pandas", "pyarrow", "pyspark.sql", "rich", *ours, *COMPILED_MODULES]
        assert printed_by(f"import sys, {', '.join(modules)}; print(sys._is_gil_enabled())") == "False"

    @pytest.mark.compiled
    def test_a_subinterpreter_is_told_and_the_main_one_goes_on(self) -> None:
        script = """
import sys, warnings
warnings.simplefilter("ignore")
import sysconfig
import ctrie
interpreters = __import__("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
interpreter = interpreters.create()
interpreters.run_string(interpreter, '''
try:
    import ctrie
except ImportError as refusal:
    print(type(refusal).__name__)
''')
interpreters.destroy(interpreter)
print(ctrie.Ctrie({1: 2}))
"""
        assert run_script(script) == (0, "ImportError\nCtrie({1: 2})\n", "")


def imports_that_are_wrong(path: Path, text: str) -> Iterator[str]:
    """Those of a room above, and those of a command line; a command line may import all rooms."""
    is_command_line = COMMAND_LINES.search(path.as_posix())
    allowed = set(ALLOWED) if is_command_line else ALLOWED[path.relative_to(ROOT).parts[0]]
    for module, name, named in IMPORTS.findall(re.sub(r'""".*?"""', "", text, flags=re.DOTALL)):
        whole = named or ".".join(filter(None, (module.removeprefix("cython.cimports."), name)))
        room = whole.partition(".")[0]
        runs = not is_command_line and COMMAND_LINES.search(f"/{whole.replace('.', '/')}.py")
        if room in OURS and (room not in allowed or runs):
            yield f"{path.relative_to(ROOT)} imports {whole}"


@pytest.mark.once
def test_no_import_runs_upwards() -> None:
    files = [path for path in sources(".py", ".pyi", ".pyx", ".pxd") if path.parent not in ALIASES]
    assert [each for path in files for each in imports_that_are_wrong(path, path.read_text())] == []
    wrong = (
        "from snapshot import (\n    a,\n)\nfrom cython.cimports.subtrie.b import c\nimport_module('x')\nimport ctrie\n"
    )
    assert len(list(imports_that_are_wrong(ROOT / "ctrie" / "d.py", wrong))) == 2
    assert len(list(imports_that_are_wrong(ROOT / "subtrie" / "d.py", "from subtrie.cli import main\n"))) == 1


# ------------------------------------------------------------------------------------------------------------- how it is built


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what setup.py builds, with what it has built."""
    for folder in ("ctrie", "subtrie", *map(str, BUILT)):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("setup.py", "subtrie_pytest.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / file, tmp_path)
    return tmp_path


class Build(NamedTuple):
    """What is touched before, what then must be gone, and how it is built: a compiler that fails must not be needed."""

    touched: tuple[str, ...] = ()
    gone: str = ""
    command: tuple[str, ...] = ("build_ext", "--inplace")
    compiler: str = "false"
    extensions: str = ""
    says: str = ""


NATIVE, GONE = (f"ctrie/{name}{EXTENSION_SUFFIXES[0]}" for name in ("_native", "_gone"))
WHAT_TO_DO = "CTRIE_NO_EXTENSIONS=1 pip install 'subtrie[portable]'"
BUILDS = {
    "without a compiler": Build((GONE, "ctrie/c/slot.h"), GONE, says=WHAT_TO_DO),
    "no extensions": Build((NATIVE,), NATIVE, extensions="1"),
    "what is compiled no more": Build((f"build/{LIBRARY}/{GONE}",), f"build/{LIBRARY}/{GONE}", ("build_ext",)),
    "what has not changed": Build(),
    "a source that has changed": Build(("ctrie/_row.pyx",), compiler="cc"),
}


@pytest.mark.once
@pytest.mark.compiled
@pytest.mark.parametrize("name", BUILDS)
def test_a_build_does_what_is_needed_and_no_more(tree: Path, name: str) -> None:
    case = BUILDS[name]
    for each in case.touched:
        (next(tree.glob(str(Path(each).parent))) / Path(each).name).touch()
    environment = os.environ | {"CC": case.compiler, "CTRIE_NO_EXTENSIONS": case.extensions}
    command = [sys.executable, "setup.py", *case.command]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert bool(done.returncode) == bool(case.says), done.stderr
    assert done.stderr.rstrip().endswith(case.says)
    assert ("the compiled modules could not be built" in done.stderr, "Traceback" in done.stderr) == (
        bool(case.says),
        False,
    )
    assert not (case.gone and list(tree.glob(case.gone)))
    if name == "a source that has changed":
        assert re.findall(r" -c (\S+)", done.stdout) == [str(SETUP["C_FOLDER"] / "ctrie" / "_row.c")]
