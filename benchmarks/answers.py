"""Six questions that people ask, each answered by one picture and one sentence from the raw results.

The pictures are SVG, drawn here: bars from zero, a label at each, one colour a contender that never changes, letters
that can be read at 390 pixels, and colours for light and dark pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Formatter

from benchmarks import sublist
from benchmarks.machine import busy, cores_of
from benchmarks.results import Run
from benchmarks.tables import number

PAGE = Path("docs/benchmarks.md")
BEGIN, END = "<!-- answers -->", "<!-- end of answers -->"
PICTURE = "matches-per-second"
"""The first answer's picture is the README's, too."""

COLOURS = {
    "subtrie": "#2f6fde",
    "subtrie, under a lock": "#8fb4f2",
    "paho's matcher": "#e08a1e",
    "a trie of dicts with a lock": "#2e9e5b",
    "bitmaps": "#9b59b6",
    "NATS' table": "#c0392b",
    "a dict of whole topics": "#7f8c8d",
}
WIDTH, ROW, LEFT = 360, 38, 8
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.a{fill:#555}"
    "@media(prefers-color-scheme:dark){text{fill:#eee}.a{fill:#bbb}}"
)


@dataclass(frozen=True)
class Bar:
    """A contender as people call it, and where its figure is."""

    label: str
    series: str
    x: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Question:
    """A question, the run with the answer, and the sentence that says it."""

    name: str
    title: str
    stem: str
    axis: str
    bars: tuple[Bar, ...]
    shown: Callable[[float], float]
    says: tuple[str, ...]
    """Sentences with the figures of the bars as {0}, {1}, ... and the quotient of two of them as {ratio}. One whose
    figures were not all measured, since a contender is not installed, is left out."""
    ratio: tuple[int, int]
    more: tuple[str, ...]


def _per_second(seconds: float) -> float:
    return 1e-6 / seconds


def _microseconds(seconds: float) -> float:
    return seconds * 1e6


QUESTIONS = (
    Question(
        PICTURE,
        "How fast is a match?",
        "throughput-cp311",
        "million matches a second among 1,000 filters",
        (
            Bar("subtrie", "SubscriptionTrie"),
            Bar("bitmaps", "inverted bitmap (S2)", note="all topics known"),
            Bar("paho's matcher", "paho MQTTMatcher"),
            Bar("a trie of dicts with a lock", "locked trie (S8)"),
            Bar("NATS' table", sublist.PLAIN, note="in Go"),
            Bar("subtrie", "SubscriptionTrie with a cache", note="topics in its cache"),
            Bar("NATS' table", sublist.CACHED, note="in Go, topics in its cache"),
        ),
        _per_second,
        (
            "One thread matches {0} million topics a second, {ratio} times as many as with paho's matcher.",
            "The table of the NATS server, in Go, does {4} million.",
            "With room for all topics in a cache it finds {6} million, and a trie with a cache {5} million.",
        ),
        (0, 2),
        ("openamq", "deliveries", "batches"),
    ),
    Question(
        "beside-a-writer",
        "What if others subscribe at the same time?",
        "writers-cp311",
        "million matches a second beside a writer",
        (
            Bar("subtrie", "SubscriptionTrie: match, one thread writes"),
            Bar("subtrie, under a lock", "SubscriptionTrie under a lock: match, one thread writes"),
            Bar("a trie of dicts with a lock", "locked trie (S8): match, one thread writes"),
            Bar("paho's matcher", "paho MQTTMatcher under a lock: match, one thread writes"),
        ),
        _per_second,
        ("It goes on matching: {0} million a second. A lock in its place leaves {1} million.",),
        (0, 1),
        ("mixed-90-10", "tail"),
    ),
    Question(
        "threads",
        "Does it use several cores?",
        "mixed-90-10-cp313t",
        "million operations a second, a tenth are writes",
        (
            Bar("subtrie", "SubscriptionTrie", 1, "1 thread"),
            Bar("subtrie", "SubscriptionTrie", 2, "2 threads"),
            Bar("subtrie, under a lock", "SubscriptionTrie under a lock", 2, "2 threads"),
            Bar("paho's matcher", "paho MQTTMatcher under a lock", 2, "2 threads, a lock"),
        ),
        _per_second,
        ("Two threads on one trie do {ratio} times the work of one. Those that share a lock do less than one alone.",),
        (1, 0),
        ("scaling", "map-scaling-mixed"),
    ),
    Question(
        "memory",
        "How much memory does it take?",
        "memory-cp311",
        "bytes a subscription, among a million",
        (
            Bar("subtrie", "SubscriptionTrie"),
            Bar("bitmaps", "optimised bitmap (S3)"),
            Bar("paho's matcher", "paho MQTTMatcher"),
            Bar("a trie of dicts with a lock", "locked trie (S8)"),
        ),
        float,
        ("{0} bytes a subscription, its text included. paho's matcher takes {ratio} times as much.",),
        (2, 0),
        (),
    ),
    Question(
        "growth",
        "How does it grow?",
        "growth-cp311",
        "microseconds a match, topics in random order",
        (
            Bar("subtrie", "SubscriptionTrie", 1_000, "1,000 filters"),
            Bar("subtrie", "SubscriptionTrie", 1_000_000, "1,000,000 filters"),
            Bar("paho's matcher", "paho MQTTMatcher", 1_000, "1,000 filters"),
            Bar("paho's matcher", "paho MQTTMatcher", 1_000_000, "1,000,000 filters"),
            Bar("a dict of whole topics", "dict.get of the whole topic", 1_000_000, "1,000,000 topics"),
        ),
        _microseconds,
        (
            "Among a thousand times as many filters a match takes {ratio} times as long.",
            "It waits for memory, as dicts do.",
        ),
        (1, 0),
        ("subscribe", "subscribe-many", "snapshot"),
    ),
    Question(
        "spark",
        "What does Spark do with it?",
        "columns-cp311",
        "million subscriptions a second, of a million",
        (
            Bar("subtrie", "to_arrow", 1_000_000, "to Arrow"),
            Bar("subtrie", "write", 1_000_000, "to a Parquet file"),
            Bar("subtrie", "load", 1_000_000, "back into a trie"),
            Bar("subtrie", "to_spark, full scan", 1_000_000, "to Spark, read there"),
        ),
        _per_second,
        ("A snapshot becomes an Arrow table at {0} million subscriptions a second, and blocks nobody meanwhile.",),
        (0, 1),
        ("spark-match", "publish"),
    ),
)


def write_answers(runs: list[Run], folder: Path, page: Path = PAGE) -> None:
    """Draw the pictures into `folder`, and put the answers into the page."""
    by_stem = {run.stem: run for run in runs}
    by_name = {run.benchmark for run in runs}
    lines: list[str] = []
    for question in QUESTIONS:
        if (run := by_stem.get(question.stem)) is not None:
            values = list(_values(question, run))
            (folder / f"answer-{question.name}.svg").write_text(_drawn(question, values))
            lines += _answer(question, run, values, folder.name, by_name)
    before, rest = page.read_text().split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{rest.partition(END)[2]}")


def _values(question: Question, run: Run) -> Iterator[float | None]:
    """Yield the figure of each bar, or None if it was not measured."""
    medians = {(result.series, result.x): result.median for result in run.results}
    for bar in question.bars:
        median = medians.get((bar.series, bar.x))
        yield None if median is None else question.shown(median)


def _sentences(question: Question, values: list[float | None]) -> Iterator[str]:
    figures = {str(place): number(value) for place, value in enumerate(values) if value is not None}
    one, other = (values[place] for place in question.ratio)
    if one is not None and other is not None:
        figures["ratio"] = number(one / other)
    for sentence in question.says:
        if all(name is None or name in figures for _, name, _, _ in Formatter().parse(sentence)):
            yield "".join(text + (figures[name] if name else "") for text, name, _, _ in Formatter().parse(sentence))


def _answer(question: Question, run: Run, values: list[float | None], folder: str, known: set[str]) -> Iterator[str]:
    yield f"## {question.title}\n"
    yield " ".join(_sentences(question, values)) + "\n"
    yield f"![{question.title}]({folder}/answer-{question.name}.svg)\n"
    machine, threads = run.machine, "with its GIL" if run.machine["gil"] else "free-threaded"
    marked = f" **{busy(machine)}**" if busy(machine) else ""
    where = f"Python {machine['python']} {threads}, {machine['cpu']}, {cores_of(machine)}, {run.taken}"
    more = ", ".join(f"`{name}`" for name in question.more if name in known)
    others = f" Others that ask about it: {more}." if more else ""
    yield f"{where}: `python -m benchmarks {run.benchmark}`; [all figures]({folder}/{run.stem}.json).{marked}{others}\n"


def _drawn(question: Question, values: list[float | None]) -> str:
    """Return the picture: each bar below its label, its figure behind it."""
    bars = [(bar, value) for bar, value in zip(question.bars, values, strict=True) if value is not None]
    most = max(value for _, value in bars)
    height = ROW * len(bars) + 26
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH * 3 // 2}" role="img">',
        f"<title>{escape(question.title)}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="a" x="{LEFT}" y="16">{escape(question.axis)}</text>',
    ]
    for row, (bar, value) in enumerate(bars):
        top = 26 + ROW * row
        label = f"{bar.label}, {bar.note}" if bar.note else bar.label
        wide = max(2.0, (WIDTH - LEFT - 60) * value / most)
        parts += [
            f'<text x="{LEFT}" y="{top + 12}">{escape(label)}</text>',
            f'<rect x="{LEFT}" y="{top + 17}" width="{wide:.1f}" height="14" rx="2" fill="{COLOURS[bar.label]}"/>',
            f'<text x="{LEFT + wide + 5:.1f}" y="{top + 29}">{number(value)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
