"""Hands out topics to threads in portions; the answers are written in the order of the portions."""

from __future__ import annotations

import threading
from collections import deque
from typing import BinaryIO

Portion = list[tuple[int, str]]
"""Topics with their line numbers."""


class Feed:
    """One thread offers portions of topics, the others take them and put their answers.

    Args:
        out: receives the answers.
        limit: the most offered portions that may wait to be taken.
    """

    def __init__(self, out: BinaryIO, limit: int) -> None:
        self._out = out
        self._limit = limit
        self._changed = threading.Condition()
        self._waiting: deque[tuple[int, Portion]] = deque()
        self._offered = 0
        self._written = 0
        self._ended = False
        self._closed = False

    def offer(self, portion: Portion) -> bool:
        """Offer a portion once there is room; False if the feed was closed."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < self._limit or self._closed)
            self._waiting.append((self._offered, portion))
            self._offered += 1
            self._changed.notify_all()
            return not self._closed

    def end(self) -> None:
        """Note that nothing more will be offered."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def take(self) -> tuple[int, Portion] | None:
        """The next portion and its number, once there is one; None at the end or if the feed was closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended or self._closed)
            if self._closed or not self._waiting:
                return None
            self._changed.notify_all()
            return self._waiting.popleft()

    def put(self, number: int, answer: bytes) -> None:
        """Write the answer to a portion once all earlier ones are written, unless the feed is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._written == number or self._closed)
            if self._closed:
                return
            self._out.write(answer)
            self._written += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Give up: threads that wait here continue at once, and no more answers are written."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
