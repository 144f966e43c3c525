"""Bitmaps over numbered subscriptions, and the numbering itself.

A bitmap is a set of numbers from 0 to `HIGHEST`. All bits after its last set bit are zero, without limit. `Bitmap` is a
roaring bitmap of the `pyroaring` package if that is installed, otherwise `IntBitmap`, on a Python int. Both do the
same, but an int is copied on every change: it is good for up to some ten thousand subscriptions.

Bitmaps are not thread-safe while they change. One that no longer changes may be shared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from struct import unpack
from typing import TYPE_CHECKING, Any, TypeAlias

from subtrie.dialects import Words

HIGHEST = 2**32 - 1
"""The highest number that a bitmap can hold; roaring bitmaps are of 32 bits."""

_PLAIN = b"plain bitmap\n"
_ROARING = b"roaring bitmap\n"


class IntBitmap:
    """A bitmap on an int.

    Args:
        numbers: the bits to set.

    Raises:
        OverflowError: here and wherever a bit is set, cleared or read, if its number is negative or above `HIGHEST`.

    >>> bitmap = IntBitmap([1, 5])
    >>> bitmap.add(2)
    >>> list(bitmap), len(bitmap), 5 in bitmap
    ([1, 2, 5], 3, True)
    >>> bitmap.next(2), bitmap.previous(1), bitmap.next_zero(0), bitmap.previous_zero(6)
    (5, None, 3, 4)
    """

    __slots__ = ("_bits",)

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._bits = 0
        for number in numbers:
            self.add(number)

    @classmethod
    def _of(cls, bits: int) -> IntBitmap:
        bitmap = cls()
        bitmap._bits = bits
        return bitmap

    def add(self, number: int) -> None:
        """Set a bit."""
        self._bits |= _bit(number)

    def discard(self, number: int) -> None:
        """Clear a bit."""
        self._bits &= ~_bit(number)

    def clear(self) -> None:
        """Clear all bits."""
        self._bits = 0

    def copy(self) -> IntBitmap:
        """Return another bitmap with the same bits."""
        return self._of(self._bits)

    def __contains__(self, number: int) -> bool:
        return bool(self._bits & _bit(number))

    def __len__(self) -> int:
        return self._bits.bit_count()

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers of the set bits, in order. O(bits / 64 + set bits)."""
        size = (self._bits.bit_length() + 63) // 64
        for place, word in enumerate(unpack(f"<{size}Q", self._bits.to_bytes(8 * size, "little"))):
            while word:
                lowest = word & -word
                yield 64 * place + lowest.bit_length() - 1
                word ^= lowest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntBitmap) and self._bits == other._bits

    __hash__ = None  # type: ignore[assignment]  # it is mutable

    def __and__(self, other: IntBitmap) -> IntBitmap:
        return self._of(self._bits & other._bits)

    def __or__(self, other: IntBitmap) -> IntBitmap:
        return self._of(self._bits | other._bits)

    def __xor__(self, other: IntBitmap) -> IntBitmap:
        return self._of(self._bits ^ other._bits)

    def __sub__(self, other: IntBitmap) -> IntBitmap:
        return self._of(self._bits & ~other._bits)

    def __repr__(self) -> str:
        return f"IntBitmap({list(self)})"

    def complement(self, size: int) -> IntBitmap:
        """Return the first ``size`` bits inverted, the others cleared.

        Raises:
            OverflowError: ``size`` is negative or above `HIGHEST` + 1.
        """
        return self._of(~self._bits & (1 << _size(size)) - 1)

    def first(self) -> int | None:
        """Return the first set bit, or None."""
        return self.next(-1)

    def last(self) -> int | None:
        """Return the last set bit, or None."""
        return self.previous(self._bits.bit_length())

    def next(self, number: int) -> int | None:
        """Return the first set bit after ``number``, or None."""
        number = max(number, -1)
        above = self._bits >> number + 1
        return number + (above & -above).bit_length() if above else None

    def previous(self, number: int) -> int | None:
        """Return the last set bit before ``number``, or None."""
        size = min(max(number, 0), self._bits.bit_length())
        below = self._bits & (1 << size) - 1
        return below.bit_length() - 1 if below else None

    def first_zero(self) -> int:
        """Return the first zero bit."""
        return self.next_zero(-1)

    def next_zero(self, number: int) -> int:
        """Return the first zero bit after ``number``."""
        number = max(number, -1)
        above = ~(self._bits >> number + 1)
        return number + (above & -above).bit_length()

    def previous_zero(self, number: int) -> int | None:
        """Return the last zero bit before ``number``, or None."""
        size = min(max(number, 0), self._bits.bit_length())
        return number - 1 if size < number else self.complement(size).last()

    def serialise(self) -> bytes:
        """Return the bits as bytes, for :func:`deserialise`."""
        return _PLAIN + self._bits.to_bytes((self._bits.bit_length() + 7) // 8, "little")


def _bit(number: int) -> int:
    if not 0 <= number <= HIGHEST:
        raise OverflowError(f"a bitmap holds numbers from 0 to {HIGHEST}, not {number}")
    return 1 << number


def _size(size: int) -> int:
    if not 0 <= size <= HIGHEST + 1:
        raise OverflowError(f"a bitmap has 0 to {HIGHEST + 1} bits, not {size}")
    return size


if TYPE_CHECKING:
    Bitmap: TypeAlias = IntBitmap
else:
    try:
        import pyroaring
    except ImportError:
        Bitmap = IntBitmap
    else:

        class RoaringBitmap(pyroaring.BitMap):
            """A roaring bitmap with the methods of :class:`IntBitmap`.

            Args:
                numbers: the bits to set.
            """

            def complement(self, size: int) -> RoaringBitmap:
                """Return the first ``size`` bits inverted, the others cleared.

                Raises:
                    OverflowError: ``size`` is negative or above `HIGHEST` + 1.
                """
                return RoaringBitmap(range(_size(size))) - self

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

            def serialise(self) -> bytes:
                """Return the bits as bytes, for :func:`deserialise`."""
                return _ROARING + self.serialize()

        Bitmap = RoaringBitmap


def deserialise(data: bytes) -> Bitmap:
    """Return the bitmap that ``serialise`` wrote, on either engine.

    Raises:
        ValueError: if the bytes are not such a bitmap, or need pyroaring, which is not installed.

    >>> list(deserialise(Bitmap([3, 70_000]).serialise()))
    [3, 70000]
    """
    if data.startswith(_PLAIN):
        bits = int.from_bytes(data[len(_PLAIN) :], "little")
        if bits >> HIGHEST + 1:
            raise ValueError(f"this bitmap has a number above {HIGHEST}")
        return Bitmap(IntBitmap._of(bits))
    if not data.startswith(_ROARING):
        raise ValueError("these bytes are no bitmap")
    if Bitmap is IntBitmap:
        raise ValueError("this is a roaring bitmap: install pyroaring to read it")
    engine: Any = Bitmap
    try:
        bitmap: Bitmap = engine.deserialize(data[len(_ROARING) :])
    except IndexError as error:  # pyroaring's ValueError describes the fault, its IndexError means missing bytes
        raise ValueError("these bytes are no bitmap") from error
    return bitmap


def save(bitmap: Bitmap, path: str | Path) -> None:
    """Write a bitmap to a file."""
    Path(path).write_bytes(bitmap.serialise())


def load(path: str | Path) -> Bitmap:
    """Read a bitmap from a file that :func:`save` wrote.

    Raises:
        ValueError: if it is not such a file.
    """
    return deserialise(Path(path).read_bytes())


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
        self._filters: list[Words] = []
        self._subscribers: list[Any] = []

    def add(self, filter: Words, subscriber: Any) -> int | None:
        """Number a subscription, or return None if it already has a number."""
        if (filter, subscriber) in self._number_of:
            return None
        number = self._used.first_zero()
        self._number_of[filter, subscriber] = number
        self._used.add(number)
        if number == len(self._filters):
            self._filters.append(filter)
            self._subscribers.append(subscriber)
        else:
            self._filters[number] = filter
            self._subscribers[number] = subscriber
        return number

    def remove(self, filter: Words, subscriber: Any) -> int | None:
        """Free the number of a subscription and return it, or None if it has none."""
        number = self._number_of.pop((filter, subscriber), None)
        if number is not None:
            self._used.discard(number)
            self._subscribers[number] = None
        return number

    def filter(self, number: int) -> Words:
        """Return the filter of a numbered subscription."""
        return self._filters[number]

    def subscribers(self, numbers: Iterable[int]) -> set[Any]:
        """Return the subscribers of numbered subscriptions."""
        return {self._subscribers[number] for number in numbers}

    def __len__(self) -> int:
        return len(self._number_of)

    def __iter__(self) -> Iterator[int]:
        return iter(self._used)

    def check(self) -> None:
        """Check that numbers and subscriptions correspond one to one."""
        assert sorted(self._number_of.values()) == list(self._used), "numbers in use differ from those given"
        for (filter, subscriber), number in self._number_of.items():
            assert self._filters[number] == filter, f"number {number} has another filter"
            assert self._subscribers[number] is subscriber, f"number {number} has another subscriber"
