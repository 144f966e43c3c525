"""The wheel as users install it, in an environment that has nothing else."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import ctrie

pytestmark = [
    pytest.mark.slow("builds a wheel and an environment"),
    pytest.mark.once,
    pytest.mark.compiled,
]

ROOT = Path(__file__).parents[2]
BUILT: list[Path] = [path.relative_to(ROOT) for path in [*(ROOT / "build").glob("lib.*"), ROOT / "build" / "c"]]
CYTHONS = str(Path(importlib.import_module("Cython").__file__ or "").parents[1])  # the folder that has it


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CTRIE", "PYTHON"))}
    done = subprocess.run(command, cwd=cwd, env=kept | environment, capture_output=True, text=True, check=False)
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
    return next(folder.glob("subtrie-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'), end='')", cwd=folder)
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", purelib, wheel, cwd=folder)
    return python


def test_it_has_only_what_runs_and_is_small(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [
        name for name in names if re.search(r"\.(pyx|pxd|h|c|o)$|tries/|demo", name)
    ] == []  # the rest builds or tests
    assert {name.partition("/")[0] for name in names if not name.startswith("subtrie-")} == {
        "ctrie", "subtrie", "snapshot", "stress", "subtrie_pytest.py",
    }  # fmt: skip
    assert [name for name in names if name.endswith("py.typed")]
    assert wheel.stat().st_size < 3_600_000


MISSING = "try:\n    {}\nexcept ImportError as missing:\n    print(missing)"
DOCTEST = "import doctest, subtrie.dialects; print(doctest.testmod(subtrie.dialects).failed)"
INTERPRETED = {"CTRIE_TWIN": "interpreted"}
PRINTS: dict[str, tuple[str, dict[str, str], str]] = {
    "compiled": ("import ctrie, subtrie; print(ctrie.twin, subtrie.__version__)", {}, f"compiled {ctrie.__version__}"),
    "examples in docstrings": (DOCTEST, {}, "0"),
    "snapshot without its extra": (
        MISSING.format("import snapshot, subtrie; snapshot.to_arrow(subtrie.SubscriptionTrie())"),
        {},
        "pip install 'subtrie[arrow]'",
    ),
    "stress without its extra": (
        "import stress; print(stress.check([], stress.Queue()).verdict.name)",
        {},
        "LINEARIZABLE",
    ),
    "interpreted by choice": (
        f"import sys; sys.path.append({CYTHONS!r}); import ctrie; print(ctrie.twin)",
        INTERPRETED,
        "interpreted",
    ),
    "interpreted without cython": (
        MISSING.format("import ctrie"),
        INTERPRETED,
        "the interpreted twin needs the package cython: pip install 'subtrie[portable]'",
    ),
}


@pytest.mark.parametrize("name", PRINTS)
def test_it_runs_or_says_what_to_install_without_another_word(installed: Path, tmp_path: Path, name: str) -> None:
    code, environment, printed = PRINTS[name]
    told = run(installed, "-X", "dev", "-W", "error", "-c", code, cwd=tmp_path, **environment)
    assert told.endswith(f"{printed}\n")


@pytest.mark.parametrize("is_clone", [False, True])
def test_where_nothing_was_compiled_it_warns_once_and_a_clone_is_told(
    installed: Path, tmp_path: Path, is_clone: bool
) -> None:
    site = Path(run(installed, "-c", "import ctrie; print(ctrie.__file__)", cwd=tmp_path).strip()).parents[1]
    for package in ("ctrie", "subtrie"):
        shutil.copytree(site / package, tmp_path / package, ignore=shutil.ignore_patterns("*.so"))
    cythons = (
        "" if is_clone else f"sys.path.append({CYTHONS!r})"
    )  # it has what slots are made of where none is compiled
    code = f"""
import sys, warnings
{cythons}
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    try:
        import ctrie, subtrie
    except ImportError as error:
        sys.exit(print(error))
print(ctrie.twin, len(warned), "CTRIE_TWIN=interpreted" in str(warned[0].message))
"""
    (tmp_path / "setup.py" if is_clone else tmp_path / "other.py").touch()
    told = run(installed, "-c", code, cwd=tmp_path, CTRIE_SLOT="native" if is_clone else "")
    assert told.startswith("this is the source of ctrie" if is_clone else "interpreted 1 True\n")


NEED_MORE = {"amqtt_on_a_trie", "broker_recovery", "stress_your_own", "demo", "subscriptions_in_spark"}


@pytest.mark.parametrize("example", sorted({path.stem for path in (ROOT / "examples").glob("*.py")} - NEED_MORE))
def test_examples_run(installed: Path, tmp_path: Path, example: str) -> None:
    assert run(installed, ROOT / "examples" / f"{example}.py", cwd=tmp_path)


def test_snippets_of_the_manual_run(installed: Path, tmp_path: Path) -> None:
    """Those pages that need only the package."""
    others = ("spark.md", "published.md", "published-format.md", "explorer.md", "other-objects.md", "stress.md")
    pages = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name not in others)
    told = run(installed, ROOT / "tests" / "snippets.py", "--plain", ROOT / "README.md", *pages, cwd=tmp_path)
    ran = {Path(page).name: int(count) for count, page in map(str.split, told.splitlines())}
    assert min(ran["README.md"] * 5, ran["tutorial.md"], ran["groups.md"] * 4) >= 10


# ---------------------------------------------------------------------------------------------------- beside other packages

LEVEL = "def level():\n    return 7\n"


@pytest.fixture
def overwritten(installed: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of one of our packages over which another distribution wrote, as `pip install stress` does."""
    code = f"import {request.param}; print({request.param}.__file__)"
    file = Path(run(installed, "-c", code, cwd=tmp_path).strip())
    ours = file.read_text()
    file.write_text(LEVEL)
    yield request.param
    file.write_text(ours)


def said_by_pytest(installed: Path, project: Path, **files: str) -> str:
    """What pytest says of a project in that environment, where it finds the plugins by itself; pytest is lent to it."""
    (project / "pytest.ini").write_text(
        "[pytest]\nfilterwarnings = error\naddopts = --strict-markers --strict-config\n"
    )
    for name, text in files.items():
        path = project / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    lent = str(Path(pytest.__file__).parents[1])
    return run(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project, PYTHONPATH=lent)


def test_pytest_finds_the_fixtures_by_itself(installed: Path, tmp_path: Path) -> None:
    test = (
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
    assert "1 passed" in said_by_pytest(installed, tmp_path, test_it=test)


TEST = "import NAME\nfrom NAME import level\ndef test_one():\n    assert NAME.level() == level() == 7\n"
IN_PACKAGE = "from snapshot.core import level\ndef test_core():\n    assert level() == 7\n"
PACKAGE = {"snapshot__in____init__": "from .core import level\n", "snapshot__in__core": LEVEL}


@pytest.mark.parametrize(
    ("name", "files"), [("stress", {"stress": LEVEL}), ("snapshot", {**PACKAGE, "snapshot__in__test_core": IN_PACKAGE})]
)
def test_a_project_with_such_a_name_is_tested_as_before(
    installed: Path, tmp_path: Path, name: str, files: dict[str, str]
) -> None:
    said = said_by_pytest(installed, tmp_path, test_theirs=TEST.replace("NAME", name), **files)
    assert f"{len(files) // 3 + 1} passed" in said
    assert not re.search("subtrie|warning", said)


@pytest.mark.parametrize("overwritten", ["snapshot", "stress"], indirect=True)
def test_another_distribution_that_wrote_over_ours_works_and_so_does_ours(
    installed: Path, overwritten: str, tmp_path: Path
) -> None:
    code = f"from subtrie import {overwritten}; print('__all__' in vars({overwritten}))"
    assert run(installed, "-W", "error", "-c", code, cwd=tmp_path) == "True\n"
    said = said_by_pytest(installed, tmp_path, test_theirs=TEST.replace("NAME", overwritten))
    assert "1 passed" in said
    assert not re.search("subtrie|warning", said)
