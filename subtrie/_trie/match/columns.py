# distutils: extra_compile_args = FAST
# cython: language_level = 3
"""The answers to many topics as flat columns, for Arrow and other readers of columns."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

MOST_AT_ONCE = 4_096  # topics whose answers exist as tuples at the same time


def columns_of(
    match_many: Callable[[list[str]], list[tuple[Any, ...]]], topics: Iterable[str]
) -> tuple[array[int], array[int], list[Any]]:
    """Return where each answer begins, and the end; the numbers of the subscribers named; and the subscribers, each
    once, by their numbers. O(answers) time and space; at most MOST_AT_ONCE topics are taken in advance."""
    offsets, numbers = array("q", [0]), array("q")
    number_of: dict[Any, int] = {}
    rest = iter(topics)
    while some := list(islice(rest, MOST_AT_ONCE)):
        for found in match_many(some):
            for subscriber in found:
                numbers.append(number_of.setdefault(subscriber, len(number_of)))
            offsets.append(len(numbers))
    return offsets, numbers, list(number_of)
