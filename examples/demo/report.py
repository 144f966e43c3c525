"""The table at the end of a demonstration."""

from __future__ import annotations

from collections.abc import Iterator

from examples.demo.parts import Outcome


def report(outcome: Outcome) -> Iterator[str]:
    """The lines of the table: the measurements, the verdict on the cut, and Spark's answers."""
    table = rows(outcome)
    width = max(len(name) for name, _ in table)
    yield from (f"{name:<{width}}  {value}" for name, value in table)
    yield from outcome.exporter.faults
    yield from _ranking("Filters with the most subscribers:", outcome.exporter.top_filters)
    yield from _ranking("Topics with the most subscribers:", outcome.exporter.top_topics)


def rows(outcome: Outcome) -> list[tuple[str, str]]:
    """Return the measurements and the verdict: names and values."""
    return [*_writing(outcome), *_publishing(outcome), *_exporting(outcome)]


def _writing(outcome: Outcome) -> Iterator[tuple[str, str]]:
    slots = sum(writer.slots for writer in outcome.writers)
    renewed = sum(writer.completed - writer.slots for writer in outcome.writers) // 2
    yield "writer threads", f"{len(outcome.writers)}"
    yield "subscribes/s", f"{_rate(slots, outcome.crew.fill_seconds)} while filling"
    yield "", f"{_rate(renewed, outcome.crew.churn_seconds)} and as many unsubscribes/s while others match"


def _publishing(outcome: Outcome) -> Iterator[tuple[str, str]]:
    publishers = outcome.publishers
    matches = sum(publisher.matches for publisher in publishers)
    messages = sum(publisher.messages for publisher in publishers)
    checked = sum(publisher.checked for publisher in publishers)
    wrong = sum(publisher.wrong for publisher in publishers)
    rates = ", ".join(_rate(publisher.messages, publisher.seconds) for publisher in publishers)
    yield "publisher threads", f"{len(publishers)}"
    yield "messages/s per thread", rates
    together = sum(publisher.matches / publisher.seconds for publisher in publishers if publisher.seconds)
    yield "matches/s", f"{together:,.0f}, {matches / max(1, messages):.1f} a message"
    if checked:
        yield "wrong matches", f"{wrong:,} of {checked:,}"


def _exporting(outcome: Outcome) -> Iterator[tuple[str, str]]:
    exporter = outcome.exporter
    verdict = "no" if exporter.faults else "yes, it holds of each writer exactly a prefix of its steps"
    yield "snapshot call", f"{exporter.snapshot_us:,.1f} microseconds"
    yield "rows in Spark", f"{exporter.rows:,}"
    yield "cut consistent", verdict
    yield "meanwhile", f"{exporter.messages_meanwhile:,} messages, from the snapshot call to Spark's verdict"


def _rate(count: int, seconds: float) -> str:
    return f"{count / seconds:,.0f}" if seconds else "none"


def _ranking(title: str, rows: list[tuple[str, int]]) -> Iterator[str]:
    yield ""
    yield title
    yield from (f"{count:>8,}  {name}" for name, count in rows)
