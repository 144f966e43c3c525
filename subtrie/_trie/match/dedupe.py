# distutils: extra_compile_args = FAST
"""Keeps the first of equal subscribers that a match has found, in sets without groups (reading.py does it with groups).

Subscribers are in a buffer as pairs, each with its hash. If two hashes are equal, the subscribers are compared by `==`,
which may run their code. A subscriber that occurred before is marked, and the marked ones are dropped at the end. So
the buffer holds every reference once, even if something is raised meanwhile."""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import flag_at
    from subtrie._trie.match.walk import Buffer

    FEW = 16  # subscribers that are compared each with each


def drop_repeated(subscribers: Buffer) -> int:
    """Keep the first of equal subscribers. Users' code runs only to compare two objects with equal hashes."""
    if _are_distinct(subscribers):
        return 0
    if _mark_among_many(subscribers) if subscribers.count > 2 * FEW else _mark_among_few(subscribers):
        _drop_marked(subscribers)
    return 0


def _are_distinct(subscribers: Buffer) -> bool:
    """Return whether all hashes differ in their last six bits: the cheapest proof for a few subscribers."""
    items = subscribers.items
    taken = 0
    for i in range(1, subscribers.count, 2):
        flag = flag_at(items[i], 0)
        if taken & flag:
            return False
        taken |= flag
    return True


def _is_same(subscribers: Buffer, i: int, j: int) -> bool:
    """Return whether those at two places are the same subscriber. The one at `i` is not marked."""
    items = subscribers.items
    return items[i + 1] == items[j + 1] and is_one(items[i], items[j])


def _mark_among_few(subscribers: Buffer) -> bool:
    """Mark those that occurred before. Return whether there are any."""
    some = False
    for i in range(2, subscribers.count, 2):
        for j in range(0, i, 2):
            if not is_marked(subscribers, j) and _is_same(subscribers, j, i):
                mark(subscribers, i)
                some = True
                break
    return some


def _mark_among_many(subscribers: Buffer) -> bool:
    """The same, by a hash table of places. It is at most a quarter full, since a mispredicted branch costs more than
    the room."""
    size = 4 * FEW
    while size < 2 * subscribers.count:
        size *= 2
    places = new_places(size)
    if not places:
        raise MemoryError
    some = False
    i = 0
    try:
        while True:
            i = _place_until_taken(subscribers.items, i, subscribers.count, places, size - 1)
            if i == subscribers.count:
                return some
            at = subscribers.items[i + 1] & (size - 1)
            while places[at] and not _is_same(subscribers, places[at] - 1, i):
                at = (at + 1) & (size - 1)
            if places[at]:
                mark(subscribers, i)
                some = True
            else:
                places[at] = i + 1
            i += 2
    finally:
        free_places(places)


def _place_until_taken(items: list[Any], i: int, count: int, places: Any, mask: int) -> int:
    """Give subscribers the places that their hashes name, beginning with the one at `i`. Return the first one whose
    place is taken. This is a function of its own because nothing in it can fail, so the loop's variables stay in
    registers."""
    while i < count:
        at = items[i + 1] & mask
        if places[at]:
            return i
        places[at] = i + 1
        i += 2
    return count


def _drop_marked(subscribers: Buffer) -> None:
    items = subscribers.items
    kept = 0
    for i in range(0, subscribers.count, 2):
        if is_marked(subscribers, i):
            let_go(subscribers, i)
        else:
            items[kept] = items[i]
            items[kept + 1] = items[i + 1]
            kept += 2
    keep_first(subscribers, kept)


if not cython.compiled:  # the compiled bodies are in dedupe.pxd

    class _Marked:
        """A subscriber that occurred before."""

    _MARKED = _Marked()

    def is_one(one: Any, other: Any) -> bool:
        """Return whether two subscribers are equal."""
        return one is other or bool(one == other)

    def is_marked(subscribers: Buffer, i: int) -> bool:
        """Return whether the subscriber at a place occurred before."""
        return subscribers.items[i] is _MARKED

    def mark(subscribers: Buffer, i: int) -> None:
        """Note that the subscriber at a place occurred before."""
        subscribers.items[i] = _MARKED

    def let_go(subscribers: Buffer, i: int) -> None:
        """Drop the reference at a place."""

    def keep_first(subscribers: Buffer, count: int) -> None:
        """Keep so many items."""
        del subscribers.items[count:]

    def new_places(size: int) -> list[int]:
        """Return places, 0 in each; or nothing, if there is no memory."""
        return [0] * size

    def free_places(places: list[int]) -> None:
        """Give back memory."""
