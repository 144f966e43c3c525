"""Bitmaps of both engines, tested by the same cases, and the numbering of subscriptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie.bitmap import HIGHEST, Bitmap, IntBitmap, Numbering, deserialise, load, save

every_engine = pytest.mark.parametrize(
    "engine", sorted({IntBitmap, Bitmap}, key=repr), ids=lambda engine: engine.__name__
)
numbers = st.frozensets(st.integers(0, 40) | st.integers(65_530, 65_545))


@every_engine
@pytest.mark.once
class TestBitmap:
    @given(numbers=numbers, others=numbers)
    def test_is_a_set_of_numbers(self, engine: type[Bitmap], numbers: frozenset[int], others: frozenset[int]) -> None:
        bitmap, other = engine(numbers), engine(others)
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
    def test_finds_set_bits_and_zero_bits(self, engine: type[Bitmap], numbers: frozenset[int], number: int) -> None:
        bitmap = engine(numbers)
        zeros = sorted(set(range(65_550)) - numbers)
        assert bitmap.first() == min(numbers, default=None)
        assert bitmap.last() == max(numbers, default=None)
        assert bitmap.next(number) == min((n for n in numbers if n > number), default=None)
        assert bitmap.previous(number) == max((n for n in numbers if n < number), default=None)
        assert bitmap.first_zero() == zeros[0]
        assert bitmap.next_zero(number) == next(n for n in zeros if n > number)
        assert bitmap.previous_zero(number) == max((n for n in zeros if n < number), default=None)

    @given(numbers=numbers, number=st.integers(0, 45))
    def test_changes(self, engine: type[Bitmap], numbers: frozenset[int], number: int) -> None:
        bitmap = engine(numbers)
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
    def test_has_zero_bits_without_end(self, engine: type[Bitmap], beyond: int) -> None:
        bitmap = engine([5])
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
    def test_refuses_numbers_that_it_cannot_hold(
        self, engine: type[Bitmap], use: Callable[[Bitmap, int], Any], number: int
    ) -> None:
        bitmap = engine([5])
        with pytest.raises(OverflowError):
            use(bitmap, number)
        assert list(bitmap) == [5]

    @pytest.mark.parametrize("size", [-1, HIGHEST + 2, 2**70])
    def test_refuses_a_complement_of_a_size_that_it_cannot_have(self, engine: type[Bitmap], size: int) -> None:
        with pytest.raises(OverflowError, match=f"a bitmap has 0 to 4294967296 bits, not {size}"):
            engine([5]).complement(size)

    def test_is_written_to_a_file_and_read_back(self, engine: type[Bitmap], tmp_path: Path) -> None:
        for numbers in (set(), {0}, {3, 70_000}):
            save(engine(numbers), tmp_path / "bitmap")
            assert load(tmp_path / "bitmap") == Bitmap(numbers)

    def test_other_bytes_are_refused(self, engine: type[Bitmap]) -> None:
        with pytest.raises(ValueError, match="these bytes are no bitmap"):
            deserialise(b"")
        for damaged in (b"", b"not really"):
            with pytest.raises(ValueError, match=r"no bitmap|[Cc]ould not deserialize|install pyroaring"):
                deserialise(b"roaring bitmap\n" + damaged)
        assert deserialise(engine([1]).serialise()) == Bitmap([1])


@pytest.mark.once
def test_the_highest_number() -> None:
    """The engine of plain integers is left out: its int would take half a gigabyte."""
    if Bitmap is IntBitmap:
        pytest.skip("pyroaring is not installed")
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


@pytest.mark.once
def test_a_plain_bitmap_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subtrie.bitmap.HIGHEST", 23)
    assert deserialise(IntBitmap([23]).serialise()) == Bitmap([23])
    with pytest.raises(ValueError, match="has a number above 23"):
        deserialise(b"plain bitmap\n\0\0\0\1")


def test_numbers_are_used_again_lowest_first() -> None:
    numbers = Numbering()
    assert [numbers.add(("a",), subscriber) for subscriber in range(4)] == [0, 1, 2, 3]
    assert numbers.remove(("a",), 2) == 2
    assert numbers.remove(("a",), 2) is None
    assert numbers.remove(("a",), 1) == 1
    assert [numbers.add(("b",), subscriber) for subscriber in range(3)] == [1, 2, 4]
    assert numbers.subscribers([1, 3]) == {0, 3}
    numbers.check()
