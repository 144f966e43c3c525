"""Bitmaps over numbered subscriptions, and the numbering itself.

A bitmap is a set of numbers from 0 to `HIGHEST`. All bits after its last set bit are zero, without limit. `Bitmap` is a
roaring bitmap of the package `pyroaring`, with the names of the founding design. Bitmaps are not thread-safe while they
change. One that no longer changes may be shared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from subtrie.dialects import Dialect, Words
from subtrie.matcher import checked_filter

try:
    import pyroaring
except ImportError:
    raise ImportError("bitmaps are those of pyroaring: pip install 'subtrie[bitmaps]'") from None

HIGHEST = 2**32 - 1
"""The highest number that a bitmap can hold; roaring bitmaps are of 32 bits."""


class Bitmap(pyroaring.BitMap):
    """A set of numbers.

    Args:
        numbers: the bits to set.

    Raises:
        OverflowError: here and wherever a bit is set, cleared or read, if its number is negative or above `HIGHEST`.

    >>> bitmap = Bitmap([1, 5])
    >>> bitmap.add(2)
    >>> list(bitmap), len(bitmap), 5 in bitmap
    ([1, 2, 5], 3, True)
    >>> bitmap.next(2), bitmap.previous(1), bitmap.next_zero(0), bitmap.previous_zero(6)
    (5, None, 3, 4)
    """

    def complement(self, size: int) -> Bitmap:
        """Return the first ``size`` bits inverted, the others cleared.

        Raises:
            OverflowError: ``size`` is negative or above `HIGHEST` + 1.
        """
        if not 0 <= size <= HIGHEST + 1:
            raise OverflowError(f"a bitmap has 0 to {HIGHEST + 1} bits, not {size}")
        return Bitmap(range(size)) - self

    def first(self) -> int | None:
        """Return the first set bit, or None."""
        return self.min() if self else None

    def last(self) -> int | None:
        """Return the last set bit, or None."""
        return self.max() if self else None

    def next(self, number: int) -> int | None:
        """Return the first set bit after ``number``, or None."""
        return next(self.iter_equal_or_larger(max(number, -1) + 1), None) if number < HIGHEST else None

    def previous(self, number: int) -> int | None:
        """Return the last set bit before ``number``, or None."""
        before = self.range_cardinality(0, min(max(number, 0), HIGHEST + 1))
        return self[before - 1] if before else None

    def first_zero(self) -> int:
        """Return the first zero bit."""
        return self.next_zero(-1)

    def next_zero(self, number: int) -> int:
        """Return the first zero bit after ``number``."""
        zero = max(number, -1) + 1
        step = 1
        while self._holds(zero, zero + step):
            zero += step
            step *= 2
        while step > 1:
            step //= 2
            if self._holds(zero, zero + step):
                zero += step
        return zero

    def previous_zero(self, number: int) -> int | None:
        """Return the last zero bit before ``number``, or None."""
        end = max(number, 0)
        step = 1
        while self._holds(end - step, end):
            end -= step
            step *= 2
        while step > 1:
            step //= 2
            if self._holds(end - step, end):
                end -= step
        return end - 1 if end else None

    def _holds(self, start: int, stop: int) -> bool:
        """Whether all bits from ``start`` to before ``stop`` are in range and set."""
        return start >= 0 and stop <= HIGHEST + 1 and bool(self.contains_range(start, stop))


def save(bitmap: Bitmap, path: str | Path) -> None:
    """Write a bitmap to a file, in the portable format of roaring bitmaps."""
    Path(path).write_bytes(bitmap.serialize())


def load(path: str | Path) -> Bitmap:
    """Read a bitmap from a file that `save` wrote.

    Raises:
        ValueError: if it is not such a file.
    """
    try:
        return Bitmap.deserialize(Path(path).read_bytes())
    except IndexError as error:  # pyroaring's ValueError describes the fault, its IndexError means missing bytes
        raise ValueError("these bytes are no bitmap") from error


class Numbering:
    """Gives each subscription the lowest free number, so that bitmaps stay as short as possible.

    >>> numbers = Numbering()
    >>> numbers.add(("a",), "ann"), numbers.add(("b",), "bob"), numbers.add(("a",), "ann")
    (0, 1, None)
    >>> numbers.remove(("a",), "ann"), numbers.add(("c",), "cy")
    (0, 0)
    >>> sorted(numbers.subscribers([0, 1]))
    ['bob', 'cy']
    """

    def __init__(self) -> None:
        self._number_of: dict[tuple[Words, Hashable], int] = {}
        self._used = Bitmap()
        self._given: list[tuple[Words, Any] | None] = []

    def add(self, filter: Words, subscriber: Any) -> int | None:
        """Number a subscription, or return None if it already has a number."""
        if (filter, subscriber) in self._number_of:
            return None
        number = self._used.first_zero()
        self._number_of[filter, subscriber] = number
        self._used.add(number)
        self._given[number : number + 1] = [(filter, subscriber)]
        return number

    def remove(self, filter: Words, subscriber: Any) -> int | None:
        """Free the number of a subscription and return it, or None if it has none."""
        number = self._number_of.pop((filter, subscriber), None)
        if number is not None:
            self._used.discard(number)
            self._given[number] = None
        return number

    def filter(self, number: int) -> Words:
        """Return the filter of a numbered subscription."""
        return self._given[number][0]  # type: ignore[index]

    def subscribers(self, numbers: Iterable[int]) -> set[Any]:
        """Return the subscribers of numbered subscriptions."""
        return {self._given[number][1] for number in numbers}  # type: ignore[index]

    def __len__(self) -> int:
        return len(self._number_of)

    def __iter__(self) -> Iterator[int]:
        return iter(self._used)

    def check(self) -> None:
        """Check that numbers and subscriptions correspond one to one."""
        assert sorted(self._number_of.values()) == list(self._used), "numbers in use differ from those given"
        for (filter, subscriber), number in self._number_of.items():
            assert self._given[number] == (filter, subscriber), f"number {number} is of {self._given[number]}"


class Numbered:
    """A matcher that numbers its subscriptions. `_file` and `_remove` put a number into its bitmaps, and take it out.

    Thread-safe by one lock, held throughout each operation: ``__hash__`` and ``__eq__`` of subscribers run under it and
    must not call the matcher. Blocking. Every operation takes effect at one instant while it holds the lock.

    Args:
        dialect: how filters and topics are written.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._lock = Lock()
        self._numbers = Numbering()

    def subscribe(self, filter: str, subscriber: Any) -> bool:
        """Add a subscription and tell whether it is new."""
        words = checked_filter(self.dialect, filter, subscriber)
        with self._lock:
            number = self._numbers.add(words, subscriber)
            if number is not None:
                self._file(number, words)
            return number is not None

    def unsubscribe(self, filter: str, subscriber: Any) -> bool:
        """Remove a subscription and tell whether it was there. It costs as much as :meth:`subscribe`."""
        words = checked_filter(self.dialect, filter, subscriber)
        with self._lock:
            number = self._numbers.remove(words, subscriber)
            if number is not None:
                self._remove(number, words)
            return number is not None

    def __len__(self) -> int:
        with self._lock:
            return len(self._numbers)

    def _file(self, number: int, words: Words) -> None:
        raise NotImplementedError

    def _remove(self, number: int, words: Words) -> None:
        raise NotImplementedError
