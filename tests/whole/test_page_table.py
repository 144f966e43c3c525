"""A table in a page keeps the rows that a program did not make, and those that are newer than what it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tools import builds, page_table, sanitized

pytestmark = pytest.mark.once

MARKS = ("<!-- begin -->\n", "<!-- end -->\n")
HEAD = ("what", "how", "made")
PAGE = """\
Before.
<!-- begin -->
| what | how | made |
| --- | --- | --- |
| a | slow | 2 |
| c | 5 of 5 | 2 |
<!-- end -->
After.
"""


def test_rows_made_elsewhere_stay(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, "utf-8")
    made = [["b", "new", "1"], ["a", "quick", "3"]]
    page_table.update(page, MARKS, HEAD, made, keys=1)
    assert page.read_text("utf-8") == PAGE.replace("| a | slow | 2 |\n", "| a | quick | 3 |\n| b | new | 1 |\n")


def test_a_page_without_a_place_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Nothing.\n", "utf-8")
    with pytest.raises(SystemExit, match="no place"):
        page_table.update(page, MARKS, HEAD, [], keys=1)
    assert page.read_text("utf-8") == "Nothing.\n"


@pytest.mark.parametrize("writer", [builds, sanitized])
def test_the_pages_have_such_tables(writer: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = writer.PAGE.read_text("utf-8")
    page.write_text(text, "utf-8")
    page_table.update(page, (writer.BEGIN, writer.END), writer.HEAD, [], keys=3)
    assert sorted(page.read_text("utf-8").splitlines()) == sorted(text.splitlines())
