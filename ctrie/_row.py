"""A row of slots: several places that threads may change, in one object.

This is the interpreted text; in the compiled body (`_row.pyx`) the slots are part of the object itself (`row.h`), eight
bytes each.
"""

from __future__ import annotations

from typing import Any

from ctrie._slot import Slot, compare_and_set, initialise, load, peek


class Row:
    """`size` slots, which initially hold None."""

    __slots__ = ("_slots", "size")
    size: int
    _slots: tuple[Slot, ...]


def new_row(size: int) -> Row:
    row: Row = Row.__new__(Row)
    row.size = size
    row._slots = tuple([_empty_slot() for _ in range(size)])
    return row


def _empty_slot() -> Slot:
    slot: Slot = Slot.__new__(Slot)
    initialise(slot, None)
    return slot


def load_at(row: Row, place: int) -> Any:
    """As `load`, for slot number `place`."""
    return load(row._slots[place])


def peek_at(row: Row, place: int) -> Any:
    """As `peek`, for slot number `place`."""
    return peek(row._slots[place])


def compare_and_set_at(row: Row, place: int, expected: object, desired: object) -> bool:
    """As `compare_and_set`, for slot number `place`."""
    return compare_and_set(row._slots[place], expected, desired)
