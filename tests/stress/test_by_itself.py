"""The tool by itself: it needs no tries, and its modules import each other in no circle."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from stress import cli

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
        if name.partition(".")[0] in ("ctrie", "subtrie", "snapshot"):
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


def run_alone(folder: Path, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run code where `stress` is as it is installed, and our other packages cannot be imported."""
    shutil.copytree(
        ROOT / "stress", folder / "stress", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
    )
    (folder / "counters.py").write_text(COUNTERS)
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + code, *words],
        cwd=folder,
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_explore_and_run_work_without_the_tries(tmp_path: Path) -> None:
    done = run_alone(tmp_path, CALLS)

    assert done.stderr == ""
    assert done.stdout.split("\n")[:4] == ["LINEARIZABLE LINEARIZABLE"] * 2 + ["ILLEGAL ILLEGAL"] * 2


TESTS = """
from counters import Right, Wrong

def test_run(linearizable):
    linearizable(Right, None, [("increment",)], duration=0.5)

def test_explore(every_schedule):
    every_schedule(Right, None, [[("increment",)], [("increment",)]])

def test_wrong(every_schedule):
    every_schedule(Wrong, None, [[("increment",)], [("increment",)]])
"""


def test_the_fixtures_work_without_the_tries(tmp_path: Path) -> None:
    shutil.copy(ROOT / "subtrie_pytest.py", tmp_path)
    (tmp_path / "subtrie").mkdir()
    shutil.copy(
        ROOT / "subtrie" / "_ours.py", tmp_path / "subtrie"
    )  # where it is installed, but not what imports tries
    (tmp_path / "test_it.py").write_text(TESTS)
    options = ["-p", "subtrie_pytest", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", "test_it.py"]
    done = run_alone(tmp_path, "import pytest; sys.exit(pytest.main(sys.argv[1:]))", *options)
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr


HISTORY = """\
{"stress": 1, "spec": "register"}
[0, 0, 0, 1, "write", [1], null]
[1, 0, 2, 3, "read", [], 2]
"""
CALL = ["--call", "increment()"]
COMMANDS: list[tuple[list[str], int]] = [
    (["run", "counters:Right", *CALL, "--spec", "counter", "--duration", "1"], 0),
    (["run", "counters:Wrong", *CALL, "--duration", "20"], 1),
    (["explore", "counters:Wrong", *CALL, "--spec", "counter"], 1),
    (["run"], 2),
    (["explore", "map"], 2),
    (["replay", "x1.token"], 2),
    (["mutants"], 2),
    (["check", "history.jsonl"], 1),
    (["replay", "history.jsonl"], 1),
]
MAIN = """
import json, sys
from stress.cli import main
status = []
for words in json.loads(sys.argv[1]):
    try:
        status.append(main(words))
    except SystemExit as error:
        status.append(error.code)
print("status", *status)
"""


def test_the_command_line_works_without_the_tries(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text(HISTORY)
    done = run_alone(tmp_path, MAIN, json.dumps([words for words, _ in COMMANDS]))

    assert done.stdout.splitlines()[-1] == " ".join(["status", *(str(status) for _, status in COMMANDS)]), done.stderr
    assert "Traceback" not in done.stderr


def test_the_line_that_shows_a_finding_again_works(tmp_path: Path) -> None:
    main = "from stress.cli import main; sys.exit(main())"
    found = run_alone(tmp_path, main, "explore", "counters:Wrong", *CALL)
    token = found.stdout.rpartition("python -m stress replay ")[2].split()[0]
    again = run_alone(tmp_path, main, "replay", token)

    assert again.returncode == 1
    assert "NOT linearizable" in again.stdout


@pytest.mark.parametrize("call", ["increment", "increment(x)", "a.b()", "put(one_of())", "put(key=1)", "1", "("])
def test_what_is_no_call_is_told(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explore", "counters:Right", "--call", call]) == 2
    assert capsys.readouterr().err.startswith(f"{call!r} is no call with plain arguments")


def test_the_tries_are_not_imported_for_an_object_that_is_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "counters.py").write_text(COUNTERS)
    code = (
        "import sys; from stress.cli import main; status = main(['explore', 'counters:Wrong', '--call', 'increment()'])\n"
        "print(status, sorted({'ctrie', 'subtrie', 'snapshot'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{ROOT}:{tmp_path}"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.stdout.splitlines()[-1] == "1 []"
