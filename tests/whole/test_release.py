"""What begins a version (tools/release.py): every file that states it, or none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import release

pytestmark = pytest.mark.once

STATES_THE_VERSION = ("VERSION", "CHANGES", "CITATION")


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Copies of these files, on which the release works."""
    made = {}
    for name in STATES_THE_VERSION:
        original: Path = getattr(release, name)
        made[name] = tmp_path / original.name
        text = original.read_text("utf-8").replace("\n## Unreleased\n", "\n## Unreleased\n\n- A change.\n")
        made[name].write_text(text, "utf-8")
        monkeypatch.setattr(release, name, made[name])
    return made


def test_the_citation_is_of_this_version() -> None:
    assert f"\nversion: {release.version_here()}\n" in release.CITATION.read_text("utf-8")


def test_a_cut_is_in_every_file_that_states_the_version(copies: dict[str, Path]) -> None:
    changes = copies["CHANGES"].read_text("utf-8")
    assert release.main(["--cut", "97.0.0", "2031-02-03"]) == 0
    assert release.version_here() == "97.0.0"
    assert re.findall(r"(?m)^(?:version|date-released): .*", copies["CITATION"].read_text("utf-8")) == [
        "version: 97.0.0",
        "date-released: 2031-02-03",
    ]
    assert copies["CHANGES"].read_text("utf-8") == changes.replace(
        "## Unreleased\n", "## Unreleased\n\n## 97.0.0 (2031-02-03)\n", 1
    )
    release.check_changes()


def test_the_next_cut_replaces_the_date_too(copies: dict[str, Path]) -> None:
    release.main(["--cut", "97.0.0", "2031-02-03"])
    release.main(["--cut", "97.1.0", "2031-03-04"])
    assert re.findall(r"(?m)^(?:version|date-released): .*", copies["CITATION"].read_text("utf-8")) == [
        "version: 97.1.0",
        "date-released: 2031-03-04",
    ]


@pytest.mark.parametrize(("name", "text"), [("CITATION", "title: none\n"), ("VERSION", ""), ("CHANGES", "# Changes\n")])
def test_a_cut_that_cannot_be_whole_changes_nothing(copies: dict[str, Path], name: str, text: str) -> None:
    copies[name].write_text(text, "utf-8")
    before = {each: path.read_text("utf-8") for each, path in copies.items()}
    with pytest.raises(SystemExit, match=copies[name].name):
        release.main(["--cut", "97.0.0", "2031-02-03"])
    assert {each: path.read_text("utf-8") for each, path in copies.items()} == before


@pytest.mark.parametrize(("version", "date"), [("97", "2031-02-03"), ("97.0.0", "soon"), ("97.0.0rc1", "2031-02-03")])
def test_what_is_no_version_or_date_is_refused(copies: dict[str, Path], version: str, date: str) -> None:
    with pytest.raises(SystemExit, match=r"0\.3\.0"):
        release.main(["--cut", version, date])


def test_a_release_that_would_be_cited_as_another_is_refused(copies: dict[str, Path]) -> None:
    release.main(["--cut", "97.0.0", "2031-02-03"])
    copies["CITATION"].write_text("\nversion: 96.0.0\n", "utf-8")
    with pytest.raises(SystemExit, match=r"CITATION\.cff does not cite 97\.0\.0"):
        release.check_changes()
