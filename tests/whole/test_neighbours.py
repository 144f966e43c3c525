"""A distribution that is a good neighbour: a project with a `stress` or a `snapshot` of its own runs as before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once  # Python that is the same everywhere

ROOT = Path(__file__).parents[2]

THEIRS = {
    "stress.py": {"stress.py": "LEVEL = 7\n"},
    "stress/": {"stress/__init__.py": "LEVEL = 7\n", "stress/load.py": "LOAD = 7\n"},
    "snapshot.py": {"snapshot.py": "LEVEL = 7\n"},
    "snapshot/": {"snapshot/__init__.py": "LEVEL = 7\n", "snapshot/load.py": "LOAD = 7\n"},
}


def run(folder: Path, *words: str, with_script: bool = False) -> subprocess.CompletedProcess[str]:
    """Run Python in a project, with ours installed behind it, as in its site-packages."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    with_site = {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    if with_script:
        words = ("-c", "import sys; sys.path.remove(''); import pytest; sys.exit(pytest.main(sys.argv[1:]))", *words)
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=with_site, capture_output=True, text=True, timeout=100, check=False
    )


def project(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


PYTEST = ("-p", "subtrie_pytest", "-p", "no:cacheprovider", "-q")


@pytest.mark.parametrize("kind", THEIRS)
@pytest.mark.parametrize("with_script", [False, True])
def test_its_tests_run_as_before(tmp_path: Path, kind: str, with_script: bool) -> None:
    name = kind.rstrip("/").removesuffix(".py")
    tests = {
        "test_one.py": f"import {name}\ndef test_one():\n    assert {name}.LEVEL == 7\n",
        "pytest.ini": "[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n",
    }
    if kind.endswith("/"):  # with its tests inside
        tests[f"{name}/test_load.py"] = f"from {name}.load import LOAD\ndef test_load():\n    assert LOAD == 7\n"
    words = PYTEST if with_script else ("-m", "pytest", *PYTEST)
    ran = run(project(tmp_path, {**THEIRS[kind], **tests}), *words, with_script=with_script)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{2 if kind.endswith('/') else 1} passed" in ran.stdout
    assert "subtrie" not in ran.stdout + ran.stderr


ONE = "import {0}\ndef test_one():\n    assert {0}.LEVEL == 7\n"
ARRANGED: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "sources in src": ({"src/{0}/__init__.py": "LEVEL = 7\n", "tests/test_one.py": ONE}, ("-o", "pythonpath=src")),
    "imported by conftest": ({"{0}.py": "LEVEL = 7\n", "conftest.py": "import {0}\n", "test_one.py": ONE}, ()),
    "itself a plugin": ({"{0}.py": "LEVEL = 7\n", "test_one.py": ONE}, ("-p", "{0}")),
    "a namespace package": ({"{0}/load.py": "LOAD = 7\n", "test_one.py": "def test_one(): pass\n"}, ()),
    "with fixtures of our names": (
        {
            "{0}.py": "LEVEL = 7\n",
            "conftest.py": "import pytest\n@pytest.fixture\ndef linearizable(): return 7\n",
            "test_one.py": "import {0}\ndef test_one(linearizable):\n    assert {0}.LEVEL == linearizable\n",
        },
        (),
    ),
    "with a marker of our name": (
        {
            "{0}.py": "LEVEL = 7\n",
            "conftest.py": "def pytest_configure(config): config.addinivalue_line('markers', 'stress: theirs')\n",
            "test_one.py": "import pytest, {0}\n@pytest.mark.stress\ndef test_one(): assert {0}.LEVEL == 7\n",
        },
        (),
    ),
}


@pytest.mark.parametrize("name", ["stress", "snapshot"])
@pytest.mark.parametrize("how", ARRANGED)
def test_however_it_is_arranged(tmp_path: Path, how: str, name: str) -> None:
    files, words = ARRANGED[how]
    strict = {"pytest.ini": "[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n"}
    made = project(tmp_path, {path.format(name): text.format(name) for path, text in files.items()} | strict)
    ran = run(made, "-m", "pytest", *PYTEST, *(word.format(name) for word in words))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout
    assert "subtrie" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("fixture", ["linearizable", "every_schedule"])
@pytest.mark.parametrize("kind", ["stress.py", "stress/"])
def test_the_plugin_stays_away_with_one_sentence_where_it_is_asked_for(tmp_path: Path, kind: str, fixture: str) -> None:
    tests = {"test_one.py": f"import stress\ndef test_one({fixture}): pass\ndef test_two(): pass\n"}
    ran = run(project(tmp_path, {**THEIRS[kind], **tests}), "-m", "pytest", *PYTEST)
    assert "1 passed, 1 error" in ran.stdout
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


@pytest.mark.parametrize("kind", ["stress.py", "stress/"])
def test_the_aliases_reach_ours(tmp_path: Path, kind: str) -> None:
    ran = run(project(tmp_path, {**THEIRS[kind], "mine.py": OURS}), "mine.py")
    assert ran.stdout == "reached\n", ran.stderr
    assert ran.stderr == ""


@pytest.mark.parametrize("kind", THEIRS)
def test_our_import_tells_of_the_other_module(tmp_path: Path, kind: str) -> None:
    folder = project(tmp_path, THEIRS[kind])
    name = kind.rstrip("/").removesuffix(".py")
    assert run(folder, "-c", "import subtrie").stderr == ""
    told = run(folder, "-W", "always::ImportWarning", "-c", "import subtrie").stderr
    assert f"`import {name}` finds {folder / name}" in told
    assert f"ours is `subtrie.{name}`" in told
    assert run(folder, "-W", "error", "-c", "import subtrie").returncode == 0


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
    ran = run(tmp_path, "-W", "error", "-c", code)
    assert ran.stdout == "No module named 'subtrie.stress.nothing'\n", ran.stderr


@pytest.mark.parametrize("kind", ["stress.py", None])
def test_the_command_line_has_the_name_of_the_alias(tmp_path: Path, kind: str | None) -> None:
    folder = project(tmp_path, THEIRS[kind] if kind else {})
    ran = run(folder, "-m", "subtrie.stress", "check", "--spec", "counter", "nothing.jsonl")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "nothing.jsonl" in ran.stderr
