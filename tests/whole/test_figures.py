"""Figures in prose are held by something: a raw result, a test, or the day and the command of a measurement.

`docs/figures.toml` says what holds which figure. Of the pages named here, a figure with a unit that it does not name
fails, and so does one that has moved away from its raw result. Code and what programs write are held elsewhere.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from benchmarks import results
from subtrie import AMQP, MQTT, NATS, SubscriptionTrie

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/performance.md", "docs/operating.md", "docs/choosing.md", "docs/benchmarks.md")
HELD: list[dict[str, Any]] = tomllib.loads((ROOT / "docs/figures.toml").read_text(encoding="utf-8"))["held"]

NUMBER = r"\d[\d,.]*"
UNIT = r"(?:us|ns|ms|s|seconds|[kMG]B|[GM]iB|B|bytes|times|million|messages a second|of the time)\b|%"
WORD = r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|sixteen|twenty|a hundred|a thousand"
FIGURE = re.compile(
    rf"\b{NUMBER}\s(?:{UNIT})|\b{NUMBER}%"
    rf"|\b(?:{WORD})\stimes|\b(?:twice|half|a third|a quarter|a tenth)\s(?:of\s)?(?:the|as|a)\b"
    r"|(?<=\|) *\d[\d,.]* *(?=\|)"  # a cell of a table
)
MADE = r"<!-- (\w+) -->.*?<!-- end of \1 -->"
CODE = r"^```.*?^```$"


def prose(page: str) -> str:
    """Blank out code and what programs write; places stay the same."""
    return re.sub(f"{MADE}|{CODE}", lambda found: " " * len(found[0]), page, flags=re.DOTALL | re.MULTILINE)


def spans(page: str, held: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Where the figures are that something holds."""
    found = []
    page = re.sub(CODE, lambda found: " " * len(found[0]), page, flags=re.DOTALL | re.MULTILINE)
    for each in held:
        if "section" in each:
            start = page.index(f"\n{each['section']}\n")
            rest = re.compile(r"^#{1,2} ", re.MULTILINE).search(page, start + len(each["section"]) + 2)
            found.append((start, rest.start() if rest else len(page)))
        else:
            start = page.index(each["says"])
            found.append((start, start + len(each["says"])))
    return found


def unheld(page: str, held: list[dict[str, Any]]) -> list[str]:
    """Return the figures that nothing holds."""
    covered = spans(page, held)
    return [
        found[0].strip()
        for found in FIGURE.finditer(prose(page))
        if not any(start <= found.start() and found.end() <= end for start, end in covered)
    ]


@pytest.mark.parametrize("name", PAGES)
def test_each_figure_is_held(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert not unheld(page, [each for each in HELD if each["page"] == name])


@pytest.mark.parametrize(
    "figure",
    ["45 ms", "3.3 GB", "16 times", "three times", "5 %", "a third of the", "| 7 |", "1.5 million", "twice as"],
)
def test_a_figure_that_nothing_holds_is_found(figure: str) -> None:
    assert unheld(f"It takes {figure} on the whole.", []) == [figure.strip("| ")]


@pytest.mark.parametrize("held", HELD, ids=lambda held: f"{held['page']}: {held.get('says', held.get('section'))}")
def test_what_holds_a_figure_does(held: dict[str, Any]) -> None:
    page = (ROOT / held["page"]).read_text(encoding="utf-8")
    assert held.get("section") or held["says"] in page
    if "raw" in held:
        value = median(*held["raw"]) / (median(*held["over"]) if "over" in held else 1) * held.get("scale", 1)
        assert held["low"] <= value <= held["high"], f"{held['page']} says {held['says']!r}; measured: {value:.3g}"
    elif "test" in held:
        file, _, name = held["test"].partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")
    else:
        start, end = spans(page, [held])[0]
        module = re.fullmatch(r"python -m benchmarks\.(\w+)", held["command"])
        assert module is None or (ROOT / "benchmarks" / f"{module[1]}.py").exists()
        elsewhere = "(benchmarks.md#" in held.get("says", "")  # where the figures stand, with their day
        assert elsewhere or held["measured"] in page[start:end]


def median(stem: str, series: str, x: float | None = None) -> float:
    run = results.load(ROOT / "docs/benchmarks" / f"{stem}.json")
    (found,) = (result.median for result in run.results if (result.series, result.x) == (series, x))
    return found


def test_an_index_takes_the_memory_that_choosing_says() -> None:
    table = dict(
        re.findall(r"^\| (.*) \| (\d+) \|$", (ROOT / "docs/performance.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    said = f"[{int(table['`index=True`']) / int(table['nothing']):.1f} times the memory]"
    assert said in (ROOT / "docs/choosing.md").read_text(encoding="utf-8")


def test_limits_of_dialects_are_those_of_the_page() -> None:
    bounds = [
        f"{each.max_bytes:,} bytes, {each.max_words} words, {each.max_wildcards} wildcards" for each in (MQTT, NATS)
    ]
    said = f"AMQP {AMQP.max_bytes} bytes; MQTT {bounds[0]}; NATS {bounds[1]}"
    assert said in (ROOT / "docs/operating.md").read_text(encoding="utf-8")


def test_texts_of_a_file_have_offsets_of_32_bits() -> None:
    """So a column of one batch holds 2 GiB, whatever is done with it."""
    pa = pytest.importorskip("pyarrow")
    from subtrie import snapshot

    trie = SubscriptionTrie[str](MQTT)
    trie.subscribe("a", "b")
    schema = snapshot.to_arrow(trie).schema
    assert schema.field("filter").type == pa.string()
