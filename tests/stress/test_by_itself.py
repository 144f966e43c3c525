"""The tool by itself: it needs no tries, and its modules import each other in no circle."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.once  # Python that is the same everywhere

ROOT = Path(__file__).parents[2]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "stress").rglob("*.py"))
}


def imported(name: str) -> set[str]:
    """The modules of `stress` that a module imports when it runs, also in its functions."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(MODULES[name].read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update(inner & MODULES.keys() or {str(node.module)})
        waiting.extend(ast.iter_child_nodes(node))
    return found & MODULES.keys()


def test_no_module_imports_itself_by_way_of_others() -> None:
    try:
        TopologicalSorter({name: imported(name) for name in MODULES}).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


COUNTERS = """
import threading

class Right:
    def __init__(self):
        self.lock, self.n = threading.Lock(), 0
    def increment(self):
        with self.lock:
            self.n += 1
            return self.n

class Wrong:
    def __init__(self):
        self.n = 0
    def increment(self):
        self.n += 1
        return self.n
"""

WITHOUT = """
import importlib.abc, sys

class Refuses(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("ctrie", "subtrie", "snapshot") or name.startswith("stress.tries"):
            raise ModuleNotFoundError(f"{name} is not here")

sys.meta_path.insert(0, Refuses())
"""

CALLS = """
import stress
from counters import Right, Wrong

for factory in (Right, Wrong):
    for spec in (stress.Counter(), None):
        print(stress.explore(factory, spec, [[("increment",)], [("increment",)]]).verdict.name, end=" ")
        print(stress.run(factory, spec, [("increment",)], duration=1 if factory is Right else 20, pursuit=0.1).verdict.name)
"""


def run_without_tries(folder: Path, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "counters.py").write_text(COUNTERS)
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + code, *words],
        cwd=folder,
        env={"PYTHONPATH": f"{ROOT}:{folder}"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_explore_and_run_work_without_the_tries(tmp_path: Path) -> None:
    done = run_without_tries(tmp_path, CALLS)

    assert done.stderr == ""
    assert done.stdout.split("\n")[:4] == ["LINEARIZABLE LINEARIZABLE"] * 2 + ["ILLEGAL ILLEGAL"] * 2
