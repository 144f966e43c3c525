"""The table in docs/spark.md of what works with which Spark, made of the reports that `make test-sparks` collects.

python -m tests.snapshot.sparks_table REPORT...
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "spark.md"
BEGIN, END = "<!-- begin of what `make test-sparks` writes -->\n", "<!-- end -->\n"


def rows_of(page: str) -> list[list[str]]:
    """The rows of the table in a page."""
    table = page.partition(BEGIN)[2].partition(END)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.strip("|")]


def table_of(reports: list[dict[str, str]]) -> str:
    """The table of these reports, one for each version of Spark."""
    labels = list(dict.fromkeys(label for report in reports for label in report))
    rows = [[label, *(report.get(label, "not tested") for report in reports)] for label in labels]
    head = ["", *(report.pop("pyspark") for report in reports)]
    rows = [row for row in rows if row[0] != "pyspark"]
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main(paths: list[str]) -> None:
    """Write the table into the page."""
    page = PAGE.read_text()
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"{PAGE} has no place for the table")
    PAGE.write_text(before + begin + table_of([json.loads(Path(path).read_text()) for path in paths]) + end + after)


if __name__ == "__main__":
    main(sys.argv[1:])
