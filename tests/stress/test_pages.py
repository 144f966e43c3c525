"""The examples of the manual of `stress` run, and print what the pages say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stress import SPECS, Map, Verdict, Workload

pytestmark = [pytest.mark.docs, pytest.mark.once]  # Python that is the same everywhere

ROOT = Path(__file__).parents[2]
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TEXT = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MANUAL, EXPLORER, OTHERS = (
    (ROOT / "docs" / page).read_text(encoding="utf-8")
    for page in ("stress.md", "stress/explorer.md", "stress/other-objects.md")
)
OBJECT, SPECIFICATION, RUN, OPERATIONS, PYTEST, FIXTURE = PYTHON.findall(MANUAL)
MATCHER, EXPLORED = PYTHON.findall(EXPLORER)
GLUE = dict(
    zip(("queue", "simple queue", "seqlock", "treiber", "lru", "cachetools"), PYTHON.findall(OTHERS), strict=True)
)


def run(*blocks: str) -> tuple[dict[str, Any], str]:
    """The names that blocks define, and what they print."""
    names: dict[str, Any] = {}
    with redirect_stdout(StringIO()) as printed:
        for block in blocks:
            exec(compile(block, "matcher.py", "exec"), names)
    return names, printed.getvalue()


def test_a_specification_is_ten_lines() -> None:
    lines = [line for line in SPECIFICATION.splitlines() if line.strip() and not line.startswith("import")]
    assert len(lines) <= 10


def test_the_first_test_finds_what_the_manual_shows() -> None:
    names, printed = run(OBJECT, SPECIFICATION, RUN)
    assert not names["outcome"]
    shown = TEXT.findall(MANUAL)[0].splitlines()
    assert [line for line in shown if not re.search(r"\d|->|-\+-|[|]", line) and line not in printed] == []
    assert re.search(r"increment\(\) -> (\d+) was lost: thread \d's increment\(\) -> \1 fits only", printed)


def test_every_schedule_finds_what_the_manual_shows() -> None:
    names, printed = run(MATCHER, EXPLORED)
    shown = next(block for block in TEXT.findall(EXPLORER) if "ann" in block)
    assert [line for line in shown.splitlines() if line not in printed] == []
    threads, token = [names["reader"], names["writer"]], names["outcome"].token
    again = names["stress"].explore(names["Matcher"], names["MatcherSpec"](), threads, replay=token)
    assert again.found.headline == names["outcome"].found.headline


def test_arguments_can_be_drawn() -> None:
    operations = run(f"import stress\n{OPERATIONS}")[0]["operations"]
    calls = Workload(dict, Map(), operations).plans(Random(1), threads=2, rounds=10, length=10)
    drawn = [call for rounds in calls for each in rounds for call in each]
    assert {op for op, _ in drawn} == {"put", "get", "items"}
    values = [args[1] for op, args in drawn if op == "put"]
    assert len(set(values)) == len(values)
    assert {args[0] for op, args in drawn if op == "get"} == {"a", "b", "c"}


def test_the_plugin_works_as_shown(tmp_path: Path) -> None:
    (tmp_path / "test_hits.py").write_text("\n".join([OBJECT, SPECIFICATION, PYTEST, FIXTURE]))
    words = ["-p", "no:cacheprovider", f"--rootdir={tmp_path}", "--stress-seed=5", str(tmp_path)]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *words], capture_output=True, text=True, timeout=100, cwd=ROOT, check=False
    )
    assert ran.stdout.count("stress seed 5: NOT linearizable") >= 2, ran.stdout
    assert "NOT linearizable: lost update; every schedule" in ran.stdout
    assert "3 failed" in ran.stdout


def test_every_specification_is_in_the_table_and_the_pictures_are_there() -> None:
    page = (ROOT / "docs" / "stress" / "specifications.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \| `(\w+)` \|", page, re.MULTILINE)
    assert dict(listed) == {name: spec.__name__ for name, spec in SPECS.items()}
    for folder, text in ((ROOT / "docs", MANUAL), (ROOT / "docs" / "stress", EXPLORER)):
        (picture,) = re.findall(r"!\[.*?\]\((.*?)\)", text)
        assert (folder / picture).stat().st_size < 200_000


# ---------------------------------------------------------------------------- objects that are not ours, with some glue


@pytest.fixture
def shown(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A block of the page as a module of its own."""
    if request.param == "cachetools":
        pytest.importorskip("cachetools")
    name = f"shown_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(GLUE[request.param], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield __import__(name)
    del sys.modules[name]


@pytest.mark.parametrize(
    ("shown", "right", "wrong", "told"),
    [
        ("queue", "outcome", "", ""),
        ("simple queue", "outcome", "", ""),
        ("seqlock", "right", "wrong", r"read\(\) -> \(0, 2\)"),
        ("treiber", "right", "wrong", ""),
        ("lru", "outcome", "", ""),
        ("cachetools", "", "outcome", "raised KeyError|mutated during iteration"),
    ],
    indirect=["shown"],
)
def test_right_ones_pass_and_wrong_ones_do_not(shown: Any, right: str, wrong: str, told: str) -> None:
    if right:
        outcome = getattr(shown, right)
        assert outcome, outcome.report()
    if wrong:
        outcome = getattr(shown, wrong)
        assert outcome.verdict is Verdict.ILLEGAL
        assert re.search(told, outcome.report())


@pytest.mark.parametrize("name", GLUE)
def test_the_glue_is_at_most_twenty_lines(name: str) -> None:
    """Everything counts except the imports, the specification, and the object where it is not imported."""
    theirs = {"Seqlock", "Hasty", "Node", "Treiber", "Recycling", "LRU"}
    parts = [each for each in ast.parse(GLUE[name]).body if not isinstance(each, (ast.Import, ast.ImportFrom))]
    glue = [each for each in parts if getattr(each, "name", "") not in theirs]
    assert sum((each.end_lineno or 0) - each.lineno + 1 for each in glue) <= 20
