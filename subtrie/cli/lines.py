"""Users' files, line by line. A bad line is reported with file, line and reason, and the others are still processed."""

from __future__ import annotations

import codecs
import errno
import json
import os
import reprlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, TextIO

from subtrie import SubscriptionTrie, TopicError

MAX_LINE_BYTES = 128 * 1024
"""Longest line read into memory; a longer one is bad, and the rest of it is skipped."""
STANDARD_INPUT = "-"
_COLUMN_ENDS = frozenset("\t\r\n")


def remark(text: object) -> None:
    """Print on standard error. Where nobody gets it, nothing else changes: `print` would take standard output instead
    of one that was closed before the start.
    """
    if sys.stderr is None:
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:  # what is left in the buffer must not fail once more in the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


class BadLines:
    """Reports bad lines on standard error, from any thread, and counts them."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def add(self, file: str, number: int, reason: object) -> None:
        """Report one line; it is written as ``FILE:LINE: reason``."""
        with self._lock:
            self.count += 1
            remark(f"{file}:{number}: {reason}")


class LineFile:
    """An open file of lines, with the name under which its bad lines are reported."""

    def __init__(self, name: str, stream: BinaryIO, bad: BadLines) -> None:
        self._name = name
        self._stream = stream
        self._bad = bad

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """The lines that can be decoded, each with its number and without its line end."""
        number = 0
        while raw := self._stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                while raw and not raw.endswith(b"\n"):  # the rest of the line
                    raw = self._stream.readline(MAX_LINE_BYTES)
                self.refuse(number, f"longer than {MAX_LINE_BYTES} bytes")
                continue
            if number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            try:
                yield number, raw.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                self.refuse(number, f"not UTF-8: {error.reason} at byte {error.start}")

    def refuse(self, number: int, reason: object) -> None:
        """Report a line of this file as bad."""
        self._bad.add(self._name, number, reason)


@contextmanager
def open_lines(path: str, bad: BadLines) -> Iterator[LineFile]:
    """Open ``path``, or standard input for ``-``.

    Raises:
        OSError: the file cannot be opened, or standard input is closed.
    """
    if path == STANDARD_INPUT:
        name = "<standard input>"
        yield LineFile(name, _bytes_of(sys.stdin, name), bad)
        return
    with open(path, "rb") as stream:
        yield LineFile(path, stream, bad)


def standard_output() -> BinaryIO:
    """The stream for the matches, as bytes.

    Raises:
        OSError: it is closed.
    """
    return _bytes_of(sys.stdout, "<standard output>")


def _bytes_of(stream: TextIO | None, name: str) -> BinaryIO:
    """The binary stream under `stream`, which is None if it was closed when Python started."""
    if stream is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), name)
    return stream.buffer


def subscribe_lines(
    trie: SubscriptionTrie, lines: LineFile, advance: Callable[[int], None], *, for_columns: bool = False
) -> None:
    """Subscribe every line. A line is `filter<TAB>subscriber`, optionally with another tab and a JSON object of
    options; or a JSON object of filter, subscriber and options. With `for_columns`, subscribers that no column can
    hold are bad: in the lines of an answer they would be several."""
    for number, line in lines:
        advance(1)
        try:
            filter, subscriber, options = _subscription(line)
            if for_columns and not _COLUMN_ENDS.isdisjoint(subscriber):
                raise ValueError(f"a tab or a line end in the subscriber {reprlib.repr(subscriber)}: use --json")
            trie.subscribe(filter, subscriber, **options)
        except (TopicError, TypeError, ValueError) as error:
            lines.refuse(number, error)


def _subscription(line: str) -> tuple[str, str, dict[str, Any]]:
    if line.startswith("{") and "\t" not in line:
        fields = _json_object(line, "the line")
        filter, subscriber, options = fields.get("filter"), fields.get("subscriber"), fields.get("options", {})
        if not isinstance(filter, str) or not isinstance(subscriber, str) or not isinstance(options, dict):
            raise ValueError(f"not an object of filter, subscriber (both texts) and options: {reprlib.repr(line)}")
        return filter, subscriber, options
    filter, *columns = line.split("\t")
    if len(columns) not in (1, 2) or not columns[0] or (len(columns) == 2 and not columns[1].startswith("{")):
        raise ValueError(f"not filter<TAB>subscriber: {reprlib.repr(line)}")
    return filter, columns[0], _json_object(columns[1], "the third column") if len(columns) == 2 else {}


def _json_object(text: str, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} is no JSON object: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no JSON object: {reprlib.repr(text)}")
    return value


def topic_lines(lines: LineFile) -> Iterator[tuple[int, str]]:
    """The topics, one on each line, with their numbers. Topics that the dialect refuses are found when they are
    matched."""
    for number, topic in lines:
        if "\t" in topic:
            lines.refuse(number, f"a tab in the topic {reprlib.repr(topic)}")
        else:
            yield number, topic


def answers(
    lines: LineFile,
    topics: Iterable[tuple[int, str]],
    answer: Callable[[SubscriptionTrie, str], str],
    trie: SubscriptionTrie,
) -> Iterator[str]:
    """The answers to some `topic_lines`, topic by topic: `as_columns` or `as_json`."""
    for number, topic in topics:
        try:
            yield answer(trie, topic)
        except TopicError as error:
            lines.refuse(number, error)


def as_columns(trie: SubscriptionTrie, topic: str) -> str:
    """The matches of a topic as text: sorted ``topic<TAB>subscriber`` lines.

    Subscribers that are not strings, and so do not come from a file, are left out.
    """
    return "".join(
        [
            f"{topic}\t{subscriber}\n"
            for subscriber in sorted(each for each in trie.match(topic) if isinstance(each, str))
        ]
    )


def as_json(trie: SubscriptionTrie, topic: str) -> str:
    """One JSON object, on a line, for each subscription that a topic reaches: topic, filter, subscriber and options."""
    found = sorted(
        (one.as_dict() for one in trie.entries(topic)), key=lambda one: (str(one["subscriber"]), one["filter"])
    )
    return "".join([json.dumps({"topic": topic, **one}, ensure_ascii=False, default=str) + "\n" for one in found])
