"""Users' files, line by line: a bad line is reported with file, line and reason, and the rest goes on."""

from __future__ import annotations

import errno
import os
import reprlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, TextIO

from subtrie import SubscriptionTrie, TopicError

MAX_LINE_BYTES = 128 * 1024
"""Longest line read into memory; a longer one is bad, and the rest of it is skipped."""
STANDARD_INPUT = "-"


class BadLines:
    """Reports bad lines on standard error, from any thread, and counts them."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def add(self, file: str, number: int, reason: object) -> None:
        """Report one line; it is written as ``FILE:LINE: reason``."""
        with self._lock:
            self.count += 1
            print(f"{file}:{number}: {reason}", file=sys.stderr)


class LineFile:
    """An open file of lines, and the name that its bad lines are reported under."""

    def __init__(self, name: str, stream: BinaryIO, bad: BadLines) -> None:
        self._name = name
        self._stream = stream
        self._bad = bad

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """The lines that can be decoded, each with its number and without its end."""
        number = 0
        while raw := self._stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                self._skip_rest_of_line(raw)
                self.refuse(number, f"longer than {MAX_LINE_BYTES} bytes")
                continue
            try:
                yield number, raw.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                self.refuse(number, f"not UTF-8: {error.reason} at byte {error.start}")

    def refuse(self, number: int, reason: object) -> None:
        """Report a line of this file as bad."""
        self._bad.add(self._name, number, reason)

    def _skip_rest_of_line(self, raw: bytes) -> None:
        while raw and not raw.endswith(b"\n"):
            raw = self._stream.readline(MAX_LINE_BYTES)


@contextmanager
def open_lines(path: str, bad: BadLines) -> Iterator[LineFile]:
    """Open ``path``, or standard input for ``-``.

    :raises OSError: the file cannot be opened, or standard input is closed
    """
    if path == STANDARD_INPUT:
        name = "<standard input>"
        yield LineFile(name, _bytes_of(sys.stdin, name), bad)
        return
    with open(path, "rb") as stream:
        yield LineFile(path, stream, bad)


def standard_output() -> BinaryIO:
    """Where the matches go, as bytes.

    :raises OSError: it is closed
    """
    return _bytes_of(sys.stdout, "<standard output>")


def _bytes_of(stream: TextIO | None, name: str) -> BinaryIO:
    """The bytes under ``stream``; Python has None for one that was closed when it started."""
    if stream is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), name)
    return stream.buffer


def subscribe_lines(trie: SubscriptionTrie, lines: LineFile, advance: Callable[[int], None]) -> None:
    """Subscribe every ``filter<TAB>subscriber`` line."""
    for number, line in lines:
        advance(1)
        filter, *subscribers = line.split("\t")
        if len(subscribers) != 1 or not subscribers[0]:
            lines.refuse(number, f"not filter<TAB>subscriber: {reprlib.repr(line)}")
            continue
        try:
            trie.subscribe(filter, subscribers[0])
        except TopicError as error:
            lines.refuse(number, error)


def topic_lines(lines: LineFile) -> Iterator[tuple[int, str]]:
    """The topics, one a line, with their numbers; what the dialect refuses shows when they are matched."""
    for number, topic in lines:
        if "\t" in topic:
            lines.refuse(number, f"a tab in the topic {reprlib.repr(topic)}")
        else:
            yield number, topic


def match_lines(trie: SubscriptionTrie, lines: LineFile, topics: Iterable[tuple[int, str]]) -> Iterator[str]:
    """The matches of some `topic_lines` as text, topic by topic: sorted ``topic<TAB>subscriber`` lines.

    Subscribers that no file named, which are not strings, are left out.
    """
    for number, topic in topics:
        try:
            found = trie.match(topic)
        except TopicError as error:
            lines.refuse(number, error)
            continue
        yield "".join(
            [f"{topic}\t{subscriber}\n" for subscriber in sorted(each for each in found if isinstance(each, str))]
        )
