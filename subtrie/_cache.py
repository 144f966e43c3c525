"""The match cache: answers that are remembered for as long as all that they were read from is unchanged.

A match is an answer of one instant because the I-nodes that it read still held the same main nodes when it read them
again (_matching.py). The same test makes a remembered answer exact: if all of them still hold what they held, then the
answer is what a match would find now. A displaced main node never comes back, and cannot be mistaken for another one
while it is remembered, so that nobody has to invalidate anything: a writer does nothing for the cache and knows nothing
of it. The linearization point of a recalled answer is the moment before the first of these reads.

A snapshot gives the trie another first I-node, but with the main node of the one before: only a snapshot hands the same
main node on, so where another first I-node holds the main node that was read, no write was committed in between.

    Cache   stripes: slots, each with a Table or None. A thread uses one stripe, so that threads do not write in the
            same places as long as there are no more of them than stripes; if there are, it is still correct.
    Table   places: slots, each with
              None
              a topic, seen once: most topics of a stream that never repeats go no further
              a Remembered: topic, its hash, answer, and what it was read from
            A topic may be in any of WAYS places, picked by its hash.

A remembered answer keeps its subscribers alive, and the nodes that it was read from with all that these hold, until
something else is remembered in its place, or until the trie is cleared or dropped: the reason why the cache is off
unless asked for. A snapshot renews the root, which every answer was read from, so after one all are read anew.

The counters are not slots: they decide no answer (that of misses picks the place to give up), and may miss a count
where two threads share a stripe.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

import threading
from typing import Any

if not cython.compiled:
    from ctrie._nodes import INode
    from ctrie._slot import Slot, compare_and_set, initialise, load
else:
    from cython.cimports.ctrie._native import Slot, compare_and_set, initialise, load
    from cython.cimports.ctrie._nodes import INode

STRIPES = 16
WAYS = 4
MOST_PLACES = 1 << 16
MOST_SEEN = 64  # I-nodes; what has read more is not remembered, which bounds what a full cache holds


class Remembered:
    """`seen` lists slots and what they held, alternately: the root's, the first I-node's, then other I-nodes'."""

    __slots__ = ("answer", "hash", "seen", "topic")
    topic: str
    hash: int
    answer: tuple[Any, ...]
    seen: tuple[Any, ...]


class Table:
    """The answers that the threads of one stripe remember."""

    __slots__ = ("hits", "misses", "places")
    places: tuple[Slot, ...]
    hits: int
    misses: int


class Cache:
    """What a trie remembers: up to `size` answers, a power of two, in each stripe that is in use."""

    __slots__ = ("size", "stripes")
    size: int
    stripes: tuple[Slot, ...]


def new_cache(places: int) -> Cache:
    """Make a cache of at least so many places for each thread."""
    if not 0 < places <= MOST_PLACES:
        raise ValueError(f"cache must be between 0 and {MOST_PLACES} topics a thread, not {places}")
    cache: Cache = Cache.__new__(Cache)
    cache.size = max(WAYS, 1 << (places - 1).bit_length())
    cache.stripes = _empty_slots(STRIPES)
    return cache


def _empty_slots(number: int) -> tuple[Slot, ...]:
    return tuple([_empty_slot() for _ in range(number)])


def _empty_slot() -> Slot:
    slot: Slot = Slot.__new__(Slot)
    initialise(slot, None)
    return slot


def own_table(cache: Cache, stripe: int) -> Table:
    """Return the table of a stripe, made when it is first asked for."""
    slot: Slot = cache.stripes[stripe]
    present = load(slot)
    if present is not None:
        return present  # type: ignore[no-any-return]
    table: Table = Table.__new__(Table)
    table.places = _empty_slots(cache.size)
    table.hits = table.misses = 0
    # Success: the table is the stripe's. Failure: another thread of this stripe was first, or the cache was emptied
    # again; this table then serves its maker alone, for once.
    compare_and_set(slot, None, table)
    return table


def place_number(table: Table, topic_hash: int, i: int) -> int:
    """Return the number of the place to look in after `i` others: all ways of a hash, its own one first."""
    first = topic_hash & len(table.places) - WAYS
    return first + ((topic_hash >> 32 ^ i) & WAYS - 1)


def recall(table: Table, topic: str) -> tuple[Any, ...] | None:
    """Return the answer that is remembered for `topic` if it still is the answer, else None. Wait-free."""
    topic_hash = hash(topic)
    for i in range(WAYS):
        found = load(table.places[place_number(table, topic_hash, i)])
        if isinstance(found, Remembered) and found.topic == topic and _still_hold(found.seen):
            table.hits += 1
            return found.answer
    table.misses += 1
    return None


def _still_hold(seen: tuple[Any, ...]) -> bool:
    first = load(seen[0])
    if first is not seen[1] and not (isinstance(first, INode) and load(first) is seen[3]):
        return False
    return all(load(seen[i]) is seen[i + 1] for i in range(2, len(seen), 2))


def wanted_place(table: Table, topic: str) -> Slot | None:
    """Return the place for `topic`, which was not recalled, if it is worth remembering; else note that it was seen."""
    topic_hash = hash(topic)
    for i in range(WAYS):
        place: Slot = table.places[place_number(table, topic_hash, i)]
        present = load(place)
        if isinstance(present, Remembered):
            if present.topic == topic:
                return place  # its answer has changed
        elif present == topic:
            return place
    spare = _spare_place(table, topic_hash)
    # Success: the topic is noted. Failure: another thread of the stripe has just noted or remembered something there.
    compare_and_set(spare, load(spare), topic)
    return None


def _spare_place(table: Table, topic_hash: int) -> Slot:
    """Return the place to note a topic in: an empty one, else one that has a note, else any. Which of several is
    as good as drawn: topics that come in turn would else put one another out for ever."""
    for i in range(WAYS):
        place: Slot = table.places[place_number(table, topic_hash, i)]
        if load(place) is None:
            return place
    drawn = table.misses * 40_503 >> 8
    for i in range(WAYS):
        place = table.places[place_number(table, topic_hash, drawn + i)]
        if not isinstance(load(place), Remembered):
            return place
    return table.places[place_number(table, topic_hash, drawn)]


def remember(place: Slot, topic: str, answer: tuple[Any, ...], seen: tuple[Any, ...]) -> None:
    """Remember an answer, read when the slots in `seen` held what stands beside them."""
    remembered: Remembered = Remembered.__new__(Remembered)
    remembered.topic = topic
    remembered.hash = hash(topic)
    remembered.answer = answer
    remembered.seen = seen
    # Success: the answer is remembered. Failure: another thread of the stripe has just remembered another one.
    compare_and_set(place, load(place), remembered)


def forget(cache: Cache) -> None:
    """Let go of all that is remembered."""
    for slot in cache.stripes:
        table = load(slot)
        if table is not None:
            # Success: the stripe begins anew. Failure: another thread has emptied it.
            compare_and_set(slot, table, None)


def counts(cache: Cache) -> tuple[int, int]:
    """Return the hits and misses since the cache was last emptied."""
    hits = misses = 0
    for slot in cache.stripes:
        table: Table | None = load(slot)
        if table is not None:
            hits += table.hits
            misses += table.misses
    return hits, misses


def stripe_of_thread() -> int:
    """Return the number of the present thread's stripe (the compiled twin numbers threads as they come)."""
    return threading.get_native_id() % STRIPES
