"""Bitmaps, and the numbering of subscriptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyroaring")

from subtrie.baselines.bitmap import HIGHEST, Bitmap, Numbering, load, save

numbers = st.frozensets(st.integers(0, 40) | st.integers(65_530, 65_545))


@pytest.mark.once
class TestBitmap:
    @given(numbers=numbers, others=numbers)
    def test_is_a_set_of_numbers(self, numbers: frozenset[int], others: frozenset[int]) -> None:
        bitmap, other = Bitmap(numbers), Bitmap(others)
        assert list(bitmap) == sorted(numbers)
        assert len(bitmap) == len(numbers)
        assert bool(bitmap) == bool(numbers)
        assert set(bitmap & other) == numbers & others
        assert set(bitmap | other) == numbers | others
        assert set(bitmap ^ other) == numbers ^ others
        assert set(bitmap - other) == numbers - others
        assert set(bitmap.complement(50)) == set(range(50)) - numbers
        assert (bitmap == other) == (numbers == others)

    @given(numbers=numbers, number=st.integers(-3, 45) | st.integers(65_528, 65_548))
    def test_finds_set_bits_and_zero_bits(self, numbers: frozenset[int], number: int) -> None:
        bitmap = Bitmap(numbers)
        zeros = sorted(set(range(65_550)) - numbers)
        assert bitmap.first() == min(numbers, default=None)
        assert bitmap.last() == max(numbers, default=None)
        assert bitmap.next(number) == min((n for n in numbers if n > number), default=None)
        assert bitmap.previous(number) == max((n for n in numbers if n < number), default=None)
        assert bitmap.first_zero() == zeros[0]
        assert bitmap.next_zero(number) == next(n for n in zeros if n > number)
        assert bitmap.previous_zero(number) == max((n for n in zeros if n < number), default=None)

    @given(numbers=numbers, number=st.integers(0, 45))
    def test_changes(self, numbers: frozenset[int], number: int) -> None:
        bitmap = Bitmap(numbers)
        copy = bitmap.copy()
        assert (number in bitmap) == (number in numbers)
        bitmap.add(number)
        assert number in bitmap
        assert set(bitmap) == numbers | {number}
        bitmap.discard(number)
        bitmap.discard(number)
        assert number not in bitmap
        assert set(bitmap) == numbers - {number}
        bitmap.clear()
        assert not bitmap
        assert set(copy) == numbers

    @pytest.mark.parametrize("beyond", [HIGHEST, HIGHEST + 1, 2**40])
    def test_has_zero_bits_without_end(self, beyond: int) -> None:
        bitmap = Bitmap([5])
        assert bitmap.next(beyond) is None
        assert bitmap.previous(beyond) == 5
        assert bitmap.next_zero(beyond) == beyond + 1
        assert bitmap.previous_zero(beyond) == beyond - 1

    @pytest.mark.parametrize("number", [-1, HIGHEST + 1, 2**70])
    @pytest.mark.parametrize(
        "use",
        [
            lambda bitmap, number: type(bitmap)([number]),
            lambda bitmap, number: bitmap.add(number),
            lambda bitmap, number: bitmap.discard(number),
            lambda bitmap, number: number in bitmap,
        ],
        ids=["made", "added", "discarded", "looked for"],
    )
    def test_refuses_numbers_that_it_cannot_hold(self, use: Callable[[Bitmap, int], Any], number: int) -> None:
        bitmap = Bitmap([5])
        with pytest.raises(OverflowError):
            use(bitmap, number)
        assert list(bitmap) == [5]

    @pytest.mark.parametrize("size", [-1, HIGHEST + 2, 2**70])
    def test_refuses_a_complement_of_a_size_that_it_cannot_have(self, size: int) -> None:
        with pytest.raises(OverflowError, match=f"a bitmap has 0 to 4294967296 bits, not {size}"):
            Bitmap([5]).complement(size)

    def test_is_written_to_a_file_and_read_back(self, tmp_path: Path) -> None:
        for numbers in (set(), {0}, {3, 70_000}):
            save(Bitmap(numbers), tmp_path / "bitmap")
            assert load(tmp_path / "bitmap") == Bitmap(numbers)

    @pytest.mark.parametrize("damaged", [b"", b"not really"])
    def test_other_bytes_are_refused(self, damaged: bytes, tmp_path: Path) -> None:
        (tmp_path / "bitmap").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"no bitmap|[Cc]ould not deserialize"):
            load(tmp_path / "bitmap")


@pytest.mark.once
def test_the_highest_number() -> None:
    bitmap = Bitmap([HIGHEST])
    assert HIGHEST in bitmap
    assert (bitmap.first(), bitmap.last()) == (HIGHEST, HIGHEST)
    assert (bitmap.next(HIGHEST - 1), bitmap.next(HIGHEST), bitmap.previous(HIGHEST)) == (HIGHEST, None, None)
    assert (bitmap.next_zero(HIGHEST - 1), bitmap.next_zero(HIGHEST)) == (HIGHEST + 1, HIGHEST + 1)
    assert (bitmap.previous_zero(HIGHEST), bitmap.previous_zero(HIGHEST + 1)) == (HIGHEST - 1, HIGHEST - 1)
    full = Bitmap().complement(HIGHEST + 1)
    assert len(full) == HIGHEST + 1
    assert full.first_zero() == full.next_zero(5) == HIGHEST + 1
    assert full.previous_zero(HIGHEST + 1) is None
    assert not full.complement(HIGHEST + 1)


def test_numbers_are_used_again_lowest_first() -> None:
    numbers = Numbering()
    assert [numbers.add(("a",), subscriber) for subscriber in range(4)] == [0, 1, 2, 3]
    assert numbers.remove(("a",), 2) == 2
    assert numbers.remove(("a",), 2) is None
    assert numbers.remove(("a",), 1) == 1
    assert [numbers.add(("b",), subscriber) for subscriber in range(3)] == [1, 2, 4]
    assert numbers.subscribers([1, 3]) == {0, 3}
    numbers.check()
