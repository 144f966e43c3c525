"""The wheel as users install it, in an environment that has nothing else."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import textwrap
import venv
import zipfile
from pathlib import Path

import pytest

import ctrie

pytestmark = [pytest.mark.slow, pytest.mark.once, pytest.mark.compiled]

ROOT = Path(__file__).parents[2]
BUILT: list[Path] = [path.relative_to(ROOT) for path in [*(ROOT / "build").glob("lib.*"), ROOT / "build" / "c"]]

CYTHONS = str(Path(importlib.import_module("Cython").__file__ or "").parents[1])  # the folder that has it


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CTRIE", "PYTHON"))}
    done = subprocess.run(
        command, cwd=cwd, env=kept | environment, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built in a copy of the tree, with the extensions that were built in place."""
    folder = tmp_path_factory.mktemp("wheel")
    tree = folder / "tree"
    for room in ("ctrie", "subtrie", "snapshot", "stress", *map(str, BUILT)):
        shutil.copytree(ROOT / room, tree / room, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("setup.py", "subtrie_pytest.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy2(ROOT / file, tree)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    run(*pip, tree, cwd=folder)
    (built,) = folder.glob("subtrie-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    (purelib,) = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).splitlines()
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", purelib, wheel, cwd=folder)
    return python


def test_has_only_what_runs_and_is_small(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if re.search(r"\.(pyx|pxd|h|c|o)$", name)]
    assert {name.partition("/")[0] for name in names if not name.startswith("subtrie-")} == {
        "ctrie", "subtrie", "snapshot", "stress", "subtrie_pytest.py",
    }  # fmt: skip
    assert [name for name in names if name.endswith("py.typed")]
    assert not [name for name in names if "tries/" in name or "demo" in name]  # they serve the repository
    assert wheel.stat().st_size < 3_600_000


def test_runs_compiled_where_nothing_else_is(installed: Path, tmp_path: Path) -> None:
    code = "import ctrie, subtrie; print(ctrie.twin, subtrie.__version__)"
    printed = run(installed, "-X", "dev", "-W", "error", "-c", code, cwd=tmp_path)
    assert printed.split() == ["compiled", ctrie.__version__]


@pytest.mark.parametrize("package", ["snapshot", "stress"])
def test_ours_is_reached_although_another_distribution_wrote_over_it(
    installed: Path, tmp_path: Path, package: str
) -> None:
    """As after `pip install stress`, which has a package of that name."""
    where = f"import {package}; print({package}.__file__)"
    (file,) = run(installed, "-c", where, cwd=tmp_path).splitlines()
    ours = Path(file).read_text()
    public = {"snapshot": "to_arrow", "stress": "one_of"}[package]
    code = f"import {package} as top; from subtrie import {package}; print(top.THEIRS, '__all__' in vars({package}))"
    try:
        Path(file).write_text("THEIRS = 1\n")
        printed = run(installed, "-W", "error", "-c", code, cwd=tmp_path)
    finally:
        Path(file).write_text(ours)
    assert printed.split() == ["1", "True"]
    assert public in ours


@pytest.mark.parametrize("package", ["snapshot", "stress"])
def test_what_is_missing_is_said(installed: Path, tmp_path: Path, package: str) -> None:
    use = {
        "snapshot": "import snapshot, subtrie; snapshot.to_arrow(subtrie.SubscriptionTrie())",
        "stress": "import stress; stress.run",
    }[package]
    code = f"try:\n    {use}\nexcept ImportError as missing:\n    print(missing)"
    extra = {"snapshot": "arrow", "stress": "stress"}[package]
    assert f"pip install 'subtrie[{extra}]'" in run(installed, "-c", code, cwd=tmp_path)


def test_the_command_line_matches(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "topics").write_text("a/b\nc\n")
    (tmp_path / "set").write_text("a/+\tann\n")
    files = ("--subscriptions", "set", "--topics", "topics")
    assert run(installed, "-m", "subtrie", "match", "--dialect", "mqtt", *files, cwd=tmp_path) == "a/b\tann\n"


EXTRA = {
    "amqtt_on_a_trie.py",
    "broker_recovery.py",
    "stress_your_own.py",
    "demo.py",
    "subscriptions_in_spark.py",
}


def test_examples_run(installed: Path, tmp_path: Path) -> None:
    """Those examples that need only the package and end by themselves."""
    for example in sorted((ROOT / "examples").glob("*.py")):
        if example.name not in EXTRA:
            assert run(installed, example, cwd=tmp_path)


def test_snippets_of_the_manual_run(installed: Path, tmp_path: Path) -> None:
    """Those pages that need only the package."""
    pages = [
        page
        for page in (ROOT / "docs").rglob("*.md")
        if page.parent.name != "stress"
        and page.name not in ("stress.md", "spark.md", "published.md", "published-format.md")
    ]
    printed = run(
        installed, ROOT / "tests" / "snippets.py", "--plain", ROOT / "README.md", *sorted(pages), cwd=tmp_path
    )
    ran = {Path(page).name: int(count) for count, page in map(str.split, printed.splitlines())}
    assert ran["README.md"] > 1
    assert ran["tutorial.md"] > 10
    assert ran["groups.md"] > 2


def test_examples_in_docstrings_hold(installed: Path, tmp_path: Path) -> None:
    code = "import doctest, subtrie.dialects; print(doctest.testmod(subtrie.dialects).failed)"
    assert run(installed, "-c", code, cwd=tmp_path) == "0\n"


def test_interpreted_by_choice_runs_without_a_word(installed: Path, tmp_path: Path) -> None:
    code = f"import sys; sys.path.append({CYTHONS!r}); import ctrie; print(ctrie.twin)"
    printed = run(installed, "-W", "error", "-c", code, cwd=tmp_path, CTRIE_TWIN="interpreted")
    assert printed == "interpreted\n"


def test_interpreted_without_cython_says_what_to_install(installed: Path, tmp_path: Path) -> None:
    code = "try:\n    import ctrie\nexcept ImportError as missing:\n    print(missing)"
    printed = run(installed, "-c", code, cwd=tmp_path, CTRIE_TWIN="interpreted")
    assert printed == "the interpreted twin needs the package cython: pip install 'subtrie[portable]'\n"


def test_interpreted_because_nothing_was_compiled_warns_once(installed: Path, tmp_path: Path) -> None:
    where = "import ctrie; print(ctrie.__file__)"
    site = Path(run(installed, "-c", where, cwd=tmp_path).strip()).parents[1]
    for package in ("ctrie", "subtrie"):
        shutil.copytree(site / package, tmp_path / package, ignore=shutil.ignore_patterns("*.so"))
    code = f"""
        import sys, warnings
        sys.path.append({CYTHONS!r})  # it has what slots are made of where nothing is compiled, too
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            import ctrie, subtrie
        print(ctrie.twin, len(warned), "CTRIE_TWIN=interpreted" in str(warned[0].message))
    """
    assert run(installed, "-c", textwrap.dedent(code), cwd=tmp_path) == "interpreted 1 True\n"


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pytest and what it needs: only this is taken from the environment of these tests."""
    folder = tmp_path_factory.mktemp("lent")
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py", "sortedcontainers"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        lending = origin.parent if origin.name == "__init__.py" else origin
        (folder / lending.name).symlink_to(lending)
    return folder


def said_by_pytest(installed: Path, lent: Path, project: Path) -> str:
    """What pytest says of a project in that environment, where it finds the plugins by itself."""
    code = f"import sys; sys.path.insert(1, {str(lent)!r}); import pytest; sys.exit(pytest.main(['-q']))"
    return run(installed, "-c", code, cwd=project)


def test_pytest_finds_the_fixtures_by_itself(installed: Path, lent: Path, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import stress, threading\n"
        "class Locked:\n"
        "    def __init__(self): self.n, self.lock = 0, threading.Lock()\n"
        "    def increment(self):\n"
        "        with self.lock:\n"
        "            self.n += 1\n"
        "            return self.n\n"
        "def test_counter(linearizable):\n"
        "    linearizable(Locked, stress.Counter(), [('increment',)], rounds=20)\n"
    )
    assert "1 passed" in said_by_pytest(installed, lent, tmp_path)


THEIR_TESTS = {
    "pytest.ini": "[pytest]\nfilterwarnings = error\naddopts = --strict-markers --strict-config\n",
    "test_theirs.py": "import NAME\nfrom NAME import level\ndef test_one():\n    assert NAME.level() == level() == 7\n",
}
THEIR_FILES = {
    "a module of the project": {"stress.py": "def level():\n    return 7\n"},
    "a package of the project": {
        "snapshot/__init__.py": "from .core import level\n",
        "snapshot/core.py": "def level():\n    return 7\n",
        "snapshot/test_core.py": "from snapshot.core import level\ndef test_core():\n    assert level() == 7\n",
    },
    "a distribution installed over ours": {},
}
OVER_OURS = {"__init__.py": "from .stress import level\n", "stress.py": "def level():\n    return 7\n"}


@pytest.mark.parametrize("kind", THEIR_FILES)
def test_a_project_with_such_a_name_is_tested_as_before(
    installed: Path, lent: Path, tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    name = "snapshot" if "package" in kind else "stress"
    files = {file: text.replace("NAME", name) for file, text in THEIR_TESTS.items()} | THEIR_FILES[kind]
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    if "over ours" in kind:
        (where,) = run(installed, "-c", "import stress; print(stress.__file__)", cwd=tmp_path).splitlines()
        ours = Path(where).read_text()
        request.addfinalizer(lambda: Path(where).write_text(ours))
        request.addfinalizer(Path(where).with_name("stress.py").unlink)
        for file, text in OVER_OURS.items():
            Path(where).with_name(file).write_text(text)
    said = said_by_pytest(installed, lent, tmp_path)
    assert f"{2 if 'package' in kind else 1} passed" in said
    assert "subtrie" not in said
    assert "warning" not in said
