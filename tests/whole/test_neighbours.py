"""A distribution that is a good neighbour: a project with a `stress` or a `snapshot` of its own runs as before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once  # Python that is the same everywhere

ROOT = Path(__file__).parents[2]
PYTEST = ("-p", "subtrie_pytest", "-p", "no:cacheprovider", "-q")
SCRIPT = ("-c", "import sys; sys.path.remove(''); import pytest; sys.exit(pytest.main(sys.argv[1:]))")  # as `pytest`
STRICT = {"pytest.ini": "[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n"}


def run(folder: Path, files: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a project, with ours installed behind it, as in its site-packages."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    with_site = {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=with_site, capture_output=True, text=True, timeout=100, check=False
    )


MODULE = {"{0}.py": "LEVEL = 7\n"}
PACKAGE = {"{0}/__init__.py": "LEVEL = 7\n", "{0}/load.py": "LOAD = 7\n"}
ONE = {"test_one.py": "import {0}\ndef test_one():\n    assert {0}.LEVEL == 7\n"}
INSIDE = {"{0}/test_load.py": "from {0}.load import LOAD\ndef test_load():\n    assert LOAD == 7\n"}

# Files of a project, with its own name in place of {0}, how its tests are run, and how many pass.
ARRANGED: dict[str, tuple[dict[str, str], tuple[str, ...], int]] = {
    "a module": (MODULE | ONE, (), 1),
    "a package with tests inside": (PACKAGE | ONE | INSIDE, (), 2),
    "a module, run by the script": (MODULE | ONE, SCRIPT, 1),
    "a package, run by the script": (PACKAGE | ONE | INSIDE, SCRIPT, 2),
    "sources in src": ({"src/{0}/__init__.py": "LEVEL = 7\n", "tests/test_one.py": ONE["test_one.py"]}, ("-o", "pythonpath=src"), 1),
    "imported by conftest": (MODULE | ONE | {"conftest.py": "import {0}\n"}, (), 1),
    "itself a plugin": (MODULE | ONE, ("-p", "{0}"), 1),
    "a namespace package": ({"{0}/load.py": "LOAD = 7\n", "test_one.py": "def test_one(): pass\n"}, (), 1),
    "with fixtures of our names": (
        MODULE
        | {
            "conftest.py": "import pytest\n@pytest.fixture\ndef linearizable(): return 7\n",
            "test_one.py": "import {0}\ndef test_one(linearizable):\n    assert {0}.LEVEL == linearizable\n",
        },
        (),
        1,
    ),
    "with a marker of our name": (
        MODULE
        | {
            "conftest.py": "def pytest_configure(config): config.addinivalue_line('markers', 'stress: theirs')\n",
            "test_one.py": "import pytest, {0}\n@pytest.mark.stress\ndef test_one(): assert {0}.LEVEL == 7\n",
        },
        (),
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", ARRANGED)
def test_its_tests_run_as_before(tmp_path: Path, how: str) -> None:
    """Of half of the arrangements a project has a `stress`, of the others a `snapshot`; the rest is alike."""
    files, words, passed = ARRANGED[how]
    name = ("stress", "snapshot")[list(ARRANGED).index(how) % 2]
    made = {path.format(name): text.format(name) for path, text in files.items()} | STRICT
    begin = SCRIPT if words is SCRIPT else ("-m", "pytest")
    ran = run(tmp_path, made, *begin, *PYTEST, *(word.format(name) for word in words if words is not SCRIPT))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{passed} passed" in ran.stdout
    assert "subtrie" not in ran.stdout + ran.stderr


def test_the_plugin_stays_away_with_one_sentence_where_it_is_asked_for(tmp_path: Path) -> None:
    test = "import stress\n" + "".join(
        f"def test_{name}({name}): pass\n" for name in ("linearizable", "every_schedule")
    )
    ran = run(
        tmp_path, {"stress.py": "LEVEL = 7\n", "test_one.py": test + "def test_two(): pass\n"}, "-m", "pytest", *PYTEST
    )
    assert "1 passed, 2 errors" in ran.stdout
    assert "the fixtures of subtrie's stress stay away, since `import stress` finds" in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr


OURS = """
import sys, warnings
warnings.simplefilter("error")
import stress as theirs, subtrie
from subtrie import snapshot, stress
import subtrie.stress.checker.check as check

class Lossy:
    def __init__(self):
        self.n = 0
    def increment(self):
        n = self.n
        self.n = n + 1
        return n + 1

assert theirs.LEVEL == 7 and sys.modules["stress"] is theirs
assert not [name for name in sys.modules if name.startswith("stress.")]
assert stress.run(Lossy, stress.Counter(), [("increment",)], duration=20, pursuit=0).verdict is check.Verdict.ILLEGAL
assert not stress.explore(Lossy, stress.Counter(), [[("increment",)], [("increment",)]])
assert stress.SPECS and snapshot.__all__
print("reached")
"""


def test_the_aliases_reach_ours(tmp_path: Path) -> None:
    ran = run(tmp_path, {"stress/__init__.py": "LEVEL = 7\n", "mine.py": OURS}, "mine.py")
    assert (ran.stdout, ran.stderr) == ("reached\n", "")


@pytest.mark.parametrize("path", ["stress.py", "stress/__init__.py", "snapshot.py", "snapshot/__init__.py"])
def test_our_import_tells_of_the_other_module(tmp_path: Path, path: str) -> None:
    name = path.removesuffix(".py").partition("/")[0]
    told = run(tmp_path, {path: ""}, "-W", "always::ImportWarning", "-c", "import subtrie").stderr
    assert f"`import {name}` finds {tmp_path / name}" in told
    assert f"ours is `subtrie.{name}`" in told
    ran = run(tmp_path, {}, "-W", "error", "-c", "import subtrie")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_where_python_finds_ours_either_name_will_do(tmp_path: Path) -> None:
    code = """
import subtrie.stress.checker.check as one, stress.checker.check as other
import stress, snapshot, subtrie
from subtrie.snapshot import to_arrow
from subtrie.stress import Spec
assert one is other and one.__spec__.name == one.__name__ == "stress.checker.check"
assert subtrie.stress is stress and subtrie.snapshot is snapshot and Spec is stress.Spec
try:
    import subtrie.stress.nothing
except ModuleNotFoundError as error:
    print(error)
"""
    ran = run(tmp_path, {}, "-W", "error", "-c", code)
    assert ran.stdout == "No module named 'subtrie.stress.nothing'\n", ran.stderr


@pytest.mark.parametrize("files", [{"stress.py": ""}, {}])
def test_the_command_line_has_the_name_of_the_alias(tmp_path: Path, files: dict[str, str]) -> None:
    ran = run(tmp_path, files, "-m", "subtrie.stress", "check", "--spec", "counter", "nothing.jsonl")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "nothing.jsonl" in ran.stderr
