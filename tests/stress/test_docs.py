"""The manual's examples run, and print what the manual says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stress import SPECS

pytestmark = pytest.mark.once  # Python that is the same everywhere

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "docs" / "stress.md").read_text(encoding="utf-8")
EXPLORER = (ROOT / "docs" / "stress" / "explorer.md").read_text(encoding="utf-8")
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TEXT = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OBJECT, SPECIFICATION, RUN, OPERATIONS, PYTEST, FIXTURE = PYTHON.findall(MANUAL)
MATCHER, EXPLORED, MARKED = PYTHON.findall(EXPLORER)[:3]


def test_a_specification_is_ten_lines() -> None:
    lines = [line for line in SPECIFICATION.splitlines() if line.strip() and not line.startswith("import")]

    assert len(lines) <= 10


def test_the_first_test_finds_what_the_manual_shows(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in (OBJECT, SPECIFICATION, RUN):
        exec(block, names)

    printed = capsys.readouterr().out
    assert not names["outcome"]
    shown = TEXT.search(MANUAL)
    assert shown is not None
    for line in shown.group(1).splitlines():
        if not re.search(r"\d|->|-\+-|[|]", line):
            assert line in printed
    assert re.search(r"increment\(\) -> (\d+) was lost: thread \d's increment\(\) -> \1 fits only", printed)


def test_every_schedule_finds_what_the_manual_shows(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in (MATCHER, EXPLORED):
        exec(compile(block, "matcher.py", "exec"), names)

    printed = capsys.readouterr().out
    shown = next(block for block in TEXT.findall(EXPLORER) if "ann" in block)
    assert [line for line in shown.splitlines() if line not in printed] == []
    outcome = names["outcome"]
    again = names["stress"].explore(
        names["Matcher"], names["MatcherSpec"](), [names["reader"], names["writer"]], replay=outcome.token
    )
    assert again.found.headline == outcome.found.headline


def test_marked_code_is_refuted() -> None:
    names: dict[str, Any] = {}
    for block in ("import stress", MARKED):
        exec(block, names)

    assert "(write the sum)" in names["outcome"].report()


def test_arguments_can_be_drawn() -> None:
    names: dict[str, Any] = {}
    exec(f"import stress\n{OPERATIONS}", names)

    from random import Random

    from stress import Map, Workload

    calls = Workload(dict, Map(), names["operations"]).plans(Random(1), threads=2, rounds=10, length=10)
    drawn = [call for rounds in calls for each in rounds for call in each]
    assert {op for op, _ in drawn} == {"put", "get", "items"}
    values = [args[1] for op, args in drawn if op == "put"]
    assert len(set(values)) == len(values)
    assert {args[0] for op, args in drawn if op == "get"} == {"a", "b", "c"}


def test_the_plugin_works_as_shown(tmp_path: Path) -> None:
    (tmp_path / "test_hits.py").write_text("\n".join([OBJECT, SPECIFICATION, MARKED, PYTEST, FIXTURE]))
    words = ["-p", "no:cacheprovider", f"--rootdir={tmp_path}", "--stress-seed=5", str(tmp_path)]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *words], capture_output=True, text=True, timeout=100, cwd=ROOT, check=False
    )

    assert ran.stdout.count("stress seed 5: NOT linearizable") >= 2, ran.stdout
    assert "NOT linearizable: lost update; every schedule" in ran.stdout
    assert "3 failed" in ran.stdout


def test_every_specification_is_in_the_table() -> None:
    page = (ROOT / "docs" / "stress" / "specifications.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \| `(\w+)` \|", page, re.MULTILINE)

    assert dict(listed) == {name: spec.__name__ for name, spec in SPECS.items()}


def test_the_picture_is_there() -> None:
    for page in (ROOT / "docs" / "stress.md", ROOT / "docs" / "stress" / "explorer.md"):
        (picture,) = re.findall(r"!\[.*?\]\((.*?)\)", page.read_text(encoding="utf-8"))
        assert (page.parent / picture).stat().st_size < 200_000
