"""A table that a program writes into a page, between two marks: rows that it did not make this time stay."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def update(
    page: Path,
    marks: tuple[str, str],
    head: tuple[str, ...],
    made: list[list[str]],
    keys: int,
    order: Callable[[list[str]], Any] | None = None,
) -> None:
    """Put rows into the page's table, each in the place of the one with the same first `keys` cells."""
    before, begin, rest = page.read_text("utf-8").partition(marks[0])
    table, end, after = rest.partition(marks[1])
    if not (begin and end):
        sys.exit(f"{page} has no place for the table")
    rows = {tuple(row[:keys]): row for row in map(_cells_of, table.splitlines()[2:])}
    rows |= {tuple(row[:keys]): row for row in made}
    lines = [head, ("---",) * len(head), *sorted(rows.values(), key=order)]
    page.write_text(before + begin + "".join(f"| {' | '.join(line)} |\n" for line in lines) + end + after, "utf-8")


def _cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
