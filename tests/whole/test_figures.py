"""What pages show of the code and of measurements is of today: figures in prose, and what programs put into pages.

A figure is held by a raw result, a test, or the day and the command of a measurement: `docs/figures.toml` says what holds
which. Of the pages named here, a figure with a unit that it does not name fails, and so does one that has moved away from
its raw result. Pictures of tries, the ways of calls, answers and tables are made once more, and compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from benchmarks import answers, readme, results
from docs import walks
from snapshot.columns import schema
from subtrie import AMQP, MQTT, NATS
from tools import builds, page_table, sanitized

pytestmark = [pytest.mark.once, pytest.mark.docs]

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", *(f"docs/{name}.md" for name in
         ("performance", "operating", "choosing", "benchmarks", "migrating", "spark", "fields")))  # fmt: skip
TEXTS = {name: (ROOT / name).read_text("utf-8") for name in PAGES}
HELD: list[dict[str, Any]] = tomllib.loads((ROOT / "docs/figures.toml").read_text("utf-8"))["held"]

NUMBER = r"\d[\d,.]*"
UNIT = r"(?:us|ns|ms|s|seconds|[kMG]B|[GM]iB|B|bytes|times|million|messages a second|of the time)\b|%"
WORD = r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|sixteen|twenty|a hundred|a thousand"
FIGURE = re.compile(
    rf"\b{NUMBER}\s(?:{UNIT})|\b{NUMBER}%"
    rf"|\b(?:{WORD})\stimes|\b(?:twice|half|a third|a quarter|a tenth)\s(?:of\s)?(?:the|as|a)\b"
    r"|(?<=\|) *\d[\d,.]* *(?=\|)"  # a cell of a table
)


def unheld(page: str, held: list[dict[str, Any]]) -> list[str]:
    """Return the figures that nothing holds."""
    made = r"<!-- (\w+) -->.*?<!-- end of \1 -->|^```.*?^```$"
    prose = re.sub(made, lambda found: " " * len(found[0]), page, flags=re.DOTALL | re.MULTILINE)
    covered = [span(page, each) for each in held]
    figures = [
        found
        for found in FIGURE.finditer(prose)
        if not any(a <= found.start() and found.end() <= b for a, b in covered)
    ]
    return [found[0].strip() for found in figures]


def span(page: str, held: dict[str, Any]) -> tuple[int, int]:
    """From where to where on a page something holds the figures: a sentence, or all below a heading."""
    pattern = re.escape(held["says"]) if "says" in held else rf"^{held['section']}\n(?:```.*?^```\n|(?!##? )[^\n]*\n)*"
    found = re.search(pattern, page, re.DOTALL | re.MULTILINE)
    assert found, held
    return found.span()


@pytest.mark.parametrize("name", PAGES)
def test_each_figure_is_held(name: str) -> None:
    assert not unheld(TEXTS[name], [each for each in HELD if each["page"] == name])


def test_a_figure_that_nothing_holds_is_found() -> None:
    for figure in (
        "45 ms",
        "3.3 GB",
        "16 times",
        "three times",
        "5 %",
        "a third of the",
        "| 7 |",
        "1.5 million",
        "twice as",
    ):
        assert unheld(f"It takes {figure} on the whole.", []) == [figure.strip("| ")]


@pytest.mark.parametrize("held", HELD, ids=lambda held: f"{held['page']}: {held.get('says', held.get('section'))}")
def test_what_holds_a_figure_does(held: dict[str, Any]) -> None:
    start, end = span(TEXTS[held["page"]], held)
    if "raw" in held:
        value = median(*held["raw"]) / (median(*held["over"]) if "over" in held else 1) * held.get("scale", 1)
        assert held["low"] <= value <= held["high"], f"{held['page']} says {held['says']!r}; measured: {value:.3g}"
    elif "test" in held:
        file, _, name = held["test"].partition("::")
        assert f"def {name}(" in (ROOT / file).read_text("utf-8")
    else:
        elsewhere = "(benchmarks.md#" in held.get("says", "")  # where the figures stand, with their day
        assert elsewhere or held["measured"] in TEXTS[held["page"]][start:end]


def median(stem: str, series: str, x: float | None = None) -> float:
    run = results.load(ROOT / "docs/benchmarks" / f"{stem}.json")
    (found,) = (result.median for result in run.results if (result.series, result.x) == (series, x))
    return found


def test_an_index_takes_the_memory_that_choosing_says() -> None:
    table = dict(re.findall(r"^\| (.*) \| (\d+) \|$", TEXTS["docs/performance.md"], re.MULTILINE))
    assert f"[{int(table['`index=True`']) / int(table['nothing']):.1f} times the memory]" in TEXTS["docs/choosing.md"]


def test_limits_of_dialects_are_those_of_the_page() -> None:
    mqtt, nats = (
        f"{each.max_bytes:,} bytes, {each.max_words} words, {each.max_wildcards} wildcards" for each in (MQTT, NATS)
    )
    assert f"AMQP {AMQP.max_bytes} bytes; MQTT {mqtt}; NATS {nats}" in TEXTS["docs/operating.md"]


def test_texts_of_a_file_have_offsets_of_32_bits() -> None:
    """So a column of one batch holds 2 GiB, whatever is done with it."""
    assert schema().field("filter").type == "string"


# ---------------------------------------------------------------------------------------------- what programs put into pages

PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
RAW = ROOT / "docs" / "benchmarks"
SVG = "{http://www.w3.org/2000/svg}"


def interpreted(*arguments: object, seed: str = "0") -> subprocess.CompletedProcess[str]:
    """Run Python on the interpreted twin, which shows its nodes; the hash of a text determines the place of its branch."""
    environment = os.environ | {"CTRIE_TWIN": "interpreted", "PYTHONHASHSEED": seed}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_pictures_are_what_is_drawn_of_tries_today(tmp_path: Path) -> None:
    assert interpreted("-m", "docs.pictures", tmp_path).returncode == 0
    drawn = {path.name: path.read_text() for path in tmp_path.glob("*.svg")}
    kept = {path.name: path.read_text() for path in PICTURES}
    assert drawn == kept, "a change of the tries has changed the pictures: look at what `make pictures` draws"
    refused = interpreted("-m", "docs.pictures", seed="random")  # hashes that differ every time
    assert (len(kept), refused.returncode, "PYTHONHASHSEED=0" in refused.stderr) == (3, 1, True)


def test_the_map_of_the_code_has_the_ways_that_calls_take() -> None:
    pytest.importorskip("pyarrow")
    told, kept = interpreted("-c", "from docs import walks; print(walks.table())").stdout, walks.PAGE.read_text()
    assert walks.page_with(told.strip(), kept) == kept, (
        "run `PYTHONHASHSEED=0 CTRIE_TWIN=interpreted python -m docs.walks`"
    )


@pytest.mark.parametrize(
    ("page", "write"), [(answers.PAGE, answers.write_answers), (readme.README, readme.write_figures)], ids=str
)
def test_answers_are_what_the_results_say(page: Path, write: Any, tmp_path: Path) -> None:
    copy, folder = tmp_path / page.name, tmp_path / "docs" / "benchmarks"
    copy.write_text((ROOT / page).read_text())
    folder.mkdir(parents=True)
    write(results.load_all(RAW), Path("docs/benchmarks") if write is readme.write_figures else folder, copy)
    assert copy.read_text() == (ROOT / page).read_text(), "run `python -m benchmarks --pages`"


@pytest.mark.parametrize("question", answers.QUESTIONS, ids=lambda question: question.name)
def test_the_picture_of_an_answer_shows_each_contender_in_its_colour(question: answers.Question) -> None:
    picture = (RAW / f"answer-{question.name}.svg").read_text().replace("&#x27;", "'")
    shown = [part for bar in question.bars for part in (answers.COLOURS[bar.label], bar.label)]
    assert [part for part in [*shown, "prefers-color-scheme:dark"] if part not in picture] == []


@pytest.mark.parametrize("writer", [builds, sanitized])
def test_pages_have_the_tables_that_programs_bring_up_to_date(writer: Any, tmp_path: Path) -> None:
    page, text = tmp_path / "page.md", (ROOT / writer.PAGE).read_text("utf-8")
    page.write_text(text, "utf-8")
    page_table.update(page, (writer.BEGIN, writer.END), writer.HEAD, [], keys=3)
    assert sorted(page.read_text("utf-8").splitlines()) == sorted(text.splitlines())
