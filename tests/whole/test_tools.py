"""The programs that make starts: a release cuts every file that states the version or none, `make races` runs all tests
in which threads meet, the soak finds what is wrong. (What programs write into pages is in test_figures.py.)"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

from conftest import starts_threads
from tests.soak import Shared, Worker, soak
from tools import page_table, release

ROOT = Path(__file__).parents[2]


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Copies of the files that state the version, on which the release works."""
    made = {name: tmp_path / getattr(release, name).name for name in ("VERSION", "CHANGES", "CITATION")}
    for name, copy in made.items():
        text = getattr(release, name).read_text("utf-8")
        copy.write_text(text.replace("\n## Unreleased\n", "\n## Unreleased\n\n- A change.\n"), "utf-8")
        monkeypatch.setattr(release, name, copy)
    return made


@pytest.mark.once
def test_a_cut_is_in_every_file_that_states_the_version(copies: dict[str, Path]) -> None:
    assert f"\nversion: {release.version_here()}\n" in copies["CITATION"].read_text("utf-8")
    changes = copies["CHANGES"].read_text("utf-8")
    for version, date in ("97.0.0", "2031-02-03"), ("97.1.0", "2031-03-04"):  # the next one replaces the date, too
        assert release.main(["--cut", version, date]) == 0
        stated = re.findall(r"(?m)^(?:version|date-released): (.*)", copies["CITATION"].read_text("utf-8"))
        assert (release.version_here(), stated) == (version, [version, date])
        changes = changes.replace("## Unreleased\n", f"## Unreleased\n\n## {version} ({date})\n", 1)
        assert copies["CHANGES"].read_text("utf-8") == changes


@pytest.mark.once
def test_a_release_has_changes_and_is_cited(copies: dict[str, Path]) -> None:
    release.main(["--cut", "97.0.0", "2031-02-03"])
    release.check_changes()
    for name, text, said in (
        ("CITATION", "\nversion: 96.0.0\n", r"CITATION\.cff does not cite 97\.0\.0"),
        ("VERSION", '__version__ = "98.0.0"\n', r"begins with \['97\.0\.0'\], not with 98\.0\.0"),
    ):
        copies[name].write_text(text, "utf-8")
        with pytest.raises(SystemExit, match=said):
            release.check_changes()


@pytest.mark.once
@pytest.mark.parametrize(
    ("name", "text", "version", "date"),
    [
        ("CITATION", "title: none\n", "97.0.0", "2031-02-03"),
        ("VERSION", "", "97.0.0", "2031-02-03"),
        ("CHANGES", "# Changes\n", "97.0.0", "2031-02-03"),
        ("CHANGES", "", "97", "2031-02-03"),
        ("CHANGES", "", "97.0.0rc1", "2031-02-03"),
        ("CHANGES", "", "97.0.0", "soon"),
    ],
)
def test_a_cut_that_cannot_be_whole_changes_nothing(
    copies: dict[str, Path], name: str, text: str, version: str, date: str
) -> None:
    copies[name].write_text(text, "utf-8")
    before = {each: path.read_text("utf-8") for each, path in copies.items()}
    with pytest.raises(SystemExit, match=copies[name].name if (version, date) == ("97.0.0", "2031-02-03") else "0.3.0"):
        release.main(["--cut", version, date])
    assert {each: path.read_text("utf-8") for each, path in copies.items()} == before


@pytest.mark.once
def test_a_table_keeps_the_rows_that_a_program_did_not_make(tmp_path: Path) -> None:
    page, marks, head = tmp_path / "page.md", ("<!-- begin -->\n", "<!-- end -->\n"), ("what", "how")
    text = "Before.\n<!-- begin -->\n| what | how |\n| --- | --- |\n| a | slow |\n| c | 5 |\n<!-- end -->\nAfter."
    page.write_text(text)
    page_table.update(page, marks, head, [["b", "new"], ["a", "quick"]], keys=1)
    assert page.read_text() == text.replace("| a | slow |\n", "| a | quick |\n| b | new |\n")


@pytest.mark.once
def test_tests_with_an_event_loop_are_known_to_meet_as_threads_do() -> None:
    loops = []
    for path in sorted((ROOT / "tests" / "subtrie").glob("test_*.py")):
        module = importlib.import_module(f"tests.subtrie.{path.stem}")
        kinds = [kind for kind in vars(module).values() if inspect.isclass(kind) and kind.__module__ == module.__name__]
        tests = [test for holder in (module, *kinds) for name, test in vars(holder).items() if name.startswith("test_")]
        loops += [test for test in tests if inspect.iscoroutinefunction(inspect.unwrap(test))]
    assert [test.__qualname__ for test in loops if not starts_threads(test)] == []
    assert loops


def test_a_short_soak() -> None:
    said: list[str] = []
    assert soak(20_000, 2, 1, said.append) == []
    assert "verified operations" in said[-1]


@pytest.mark.parametrize("value", [None, -1])
def test_a_wrong_answer_is_seen(value: int | None) -> None:
    shared = Shared(1)
    worker = Worker(shared, 0, 1)
    worker.go(100)
    key = next(iter(worker.values))
    shared.ctrie.update({key: value}) if value else shared.ctrie.pop(key)
    with pytest.raises(AssertionError, match="worker 0, operation"):
        worker.go(2_000)
