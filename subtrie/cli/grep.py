"""Finds the topics that a filter matches, as grep finds lines: `python -m subtrie match FILTER [FILE ...]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import BinaryIO, NamedTuple

from subtrie import Dialect, TopicError
from subtrie.cli.lines import STANDARD_INPUT, BadLines, LineFile, open_lines

FOUND, NONE, TROUBLE = 0, 1, 2


class Shown(NamedTuple):
    """What is written about the matching lines."""

    others: bool = False  # write the lines that do not match, instead
    counts: bool = False  # write their number, instead
    numbers: bool = False  # write each with its line number
    nothing: bool = False  # write nothing: the exit status tells


def grep(dialect: Dialect, filter: str, paths: Sequence[str], shown: Shown, out: BinaryIO) -> int:
    """Write the topics in some files that `filter` matches; return grep's exit status.

    A line that is not a topic is reported and counts as trouble, but the others are still searched.

    Raises:
        TopicError: `filter` is not a filter.
        OSError: a file cannot be read.
    """
    words = dialect.unshare(dialect.split_filter(filter))[1]
    bad = BadLines()
    found = False
    for path in paths or [STANDARD_INPUT]:
        named = f"{path}:" if len(paths) > 1 else ""
        count = 0
        with ExitStack() as stack:
            lines = stack.enter_context(open_lines(path, bad))
            for number, topic, matches in _judged(lines, dialect, words):
                if matches is shown.others:
                    continue
                found = True
                count += 1
                if shown.nothing:
                    return FOUND
                if not shown.counts:
                    out.write(f"{named}{f'{number}:' if shown.numbers else ''}{topic}\n".encode())
                    if path == STANDARD_INPUT:
                        out.flush()
        if shown.counts and not shown.nothing:
            out.write(f"{named}{count}\n".encode())
    out.flush()
    return TROUBLE if bad.count else FOUND if found else NONE


def _judged(lines: LineFile, dialect: Dialect, words: tuple[str, ...]) -> Iterator[tuple[int, str, bool]]:
    """Yield the number and text of every topic, and whether the filter with these words matches it."""
    for number, topic in lines:
        try:
            yield number, topic, dialect.matches(words, dialect.split_topic(topic))
        except TopicError as error:
            lines.refuse(number, error)
