"""Bitmaps, and the numbering of subscriptions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyroaring")

from subtrie.baselines.bitmap import HIGHEST, Bitmap, load, save

pytestmark = pytest.mark.once
ends = st.integers(HIGHEST - 2, HIGHEST)
numbers = st.frozensets(st.integers(0, 40) | st.integers(65_530, 65_545) | ends)


@given(numbers=numbers, others=numbers, number=st.integers(0, 45) | st.integers(65_528, 65_548) | ends)
def test_is_a_set_of_numbers(numbers: frozenset[int], others: frozenset[int], number: int) -> None:
    bitmap, other = Bitmap(numbers), Bitmap(others)
    assert (list(bitmap), len(bitmap), bool(bitmap)) == (sorted(numbers), len(numbers), bool(numbers))
    assert set(bitmap & other) == numbers & others
    assert set(bitmap | other) == numbers | others
    assert set(bitmap ^ other) == numbers ^ others
    assert set(bitmap - other) == numbers - others
    assert set(bitmap.complement(50)) == set(range(50)) - numbers
    assert (bitmap == other) == (numbers == others)
    assert (bitmap.first(), bitmap.last()) == (min(numbers, default=None), max(numbers, default=None))
    assert bitmap.first_zero() == next(n for n in count() if n not in numbers)
    for at in (number, -3, 0):
        assert bitmap.next(at) == min((n for n in numbers if n > at), default=None)
        assert bitmap.previous(at) == max((n for n in numbers if n < at), default=None)
        assert bitmap.next_zero(at) == next(n for n in count(max(0, at + 1)) if n not in numbers)
        assert bitmap.previous_zero(at) == next((n for n in range(at - 1, -1, -1) if n not in numbers), None)
    copy = bitmap.copy()
    assert (number in bitmap) == (number in numbers)
    bitmap.add(number)
    assert set(bitmap) == numbers | {number}
    for _ in range(2):
        bitmap.discard(number)
        assert set(bitmap) == numbers - {number}
    bitmap.clear()
    assert not bitmap
    assert set(copy) == numbers


@pytest.mark.parametrize("beyond", [HIGHEST, HIGHEST + 1, 2**40])
def test_has_zero_bits_without_end(beyond: int) -> None:
    bitmap = Bitmap([5])
    assert (bitmap.next(beyond), bitmap.previous(beyond)) == (None, 5)
    assert (bitmap.next_zero(beyond), bitmap.previous_zero(beyond)) == (beyond + 1, beyond - 1)


USES: list[Callable[[Bitmap, int], Any]] = [
    lambda bitmap, number: Bitmap([number]),
    lambda bitmap, number: bitmap.add(number),
    lambda bitmap, number: bitmap.discard(number),
    lambda bitmap, number: number in bitmap,
]


@pytest.mark.parametrize("number", [-1, HIGHEST + 1, 2**70])
def test_refuses_numbers_that_it_cannot_hold(number: int) -> None:
    bitmap = Bitmap([5])
    for use in USES:
        with pytest.raises(OverflowError):
            use(bitmap, number)
    size = number + (number > 0)
    with pytest.raises(OverflowError, match=f"a bitmap has 0 to 4294967296 bits, not {size}"):
        bitmap.complement(size)
    assert list(bitmap) == [5]


def test_is_written_to_a_file_and_read_back(tmp_path: Path) -> None:
    for numbers in (set(), {0}, {3, 70_000}):
        save(Bitmap(numbers), tmp_path / "bitmap")
        assert load(tmp_path / "bitmap") == Bitmap(numbers)
    for damaged in (b"", b"not really"):
        (tmp_path / "bitmap").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"no bitmap|[Cc]ould not deserialize"):
            load(tmp_path / "bitmap")
