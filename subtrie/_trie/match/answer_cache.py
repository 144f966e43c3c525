# distutils: extra_compile_args = FAST
"""The match cache: it remembers an answer as long as nothing has changed that the answer was read from.

A match is an answer of one instant because the I-nodes that it read still held the same main nodes when it read them
again (matching.py). The same test makes a remembered answer right: if all of them still hold what they held, then the
answer is what a match would find now. A displaced main node never comes back, and while it is remembered no other node
can have its address. So nothing has to be invalidated: a writer does nothing for the cache and does not know of it. The
linearization point of a recalled answer is the moment before the first of these reads.

A snapshot gives the trie another first I-node, but with the main node of the one before: only a snapshot hands the same
main node on, so where another first I-node holds the main node that was read, no write was committed in between.

    Cache   stripes: slots, each with a Table or None, for each kind of answer as many. A thread uses one stripe of each
            kind, so that threads do not write in the same places as long as there are no more of them than stripes; if
            there are, it is still correct.
    Table   buckets: slots, each with
              None
              a topic, seen once: most topics of a stream that never repeats go no further
              a tuple: topic, answer, and what the answer was read from, slots and what they held, alternately: the
              root's, the first I-node's, then other I-nodes'
            A topic may be in any of WAYS buckets, picked by its hash.

A remembered answer keeps its subscribers alive, and the nodes that it was read from with all that they hold, until
another answer takes its place, or until the trie is cleared or dropped. This is why the cache is off by default. A
snapshot renews the root, from which every answer was read, so after a snapshot all are read again.

The counters are not slots. They decide no answer (that of misses picks the bucket to give up), and may miss a count if
two threads share a stripe.
"""

from __future__ import annotations

import threading
from operator import attrgetter
from typing import Any

import cython

if not cython.compiled:
    from ctrie._nodes import INode
    from ctrie._row import Row, compare_and_set_at, load_at, new_row, peek_at
    from ctrie._slot import borrow, borrowed, is_exactly, peek, pin, unpin
    from subtrie._trie.match.walk import item_of, size_of

MOST_BUCKETS = 1 << 16

if not cython.compiled:  # in answer_cache.pxd, enums
    STRIPES = 16  # of each kind
    # Kinds of answers: subscribers (match), deliveries.
    SUBSCRIBERS = 0
    DELIVERIES = 1
    KINDS = 2
    WAYS = 4
    MOST_SEEN = 64  # I-nodes; an answer that read more is not remembered, so the size of a full cache is bounded

    # The items of what is remembered.
    TOPIC = 0
    ANSWER = 1
    ROOT = 2
    FIRST = 3
    FIRST_MAIN = 5


class Table:
    """The answers that the threads of one stripe remember."""

    __slots__ = ("buckets", "hits", "misses")
    buckets: Row
    hits: int
    misses: int


class Cache:
    """What a trie remembers: up to `size` answers of each kind, a power of two, in each stripe that is in use."""

    __slots__ = ("size", "stripes")
    size: int
    stripes: Row


def new_cache(buckets: int) -> Cache:
    """Make a cache of at least so many buckets for each thread."""
    if not 0 < buckets <= MOST_BUCKETS:
        raise ValueError(f"cache must be between 0 and {MOST_BUCKETS} topics a thread, not {buckets}")
    cache: Cache = Cache.__new__(Cache)
    cache.size = max(WAYS, 1 << (buckets - 1).bit_length())
    cache.stripes = new_row(KINDS * STRIPES)
    return cache


def own_table(cache: Cache, stripe: int) -> Table:
    """Return the table of a stripe, made when it is first asked for."""
    present = load_at(cache.stripes, stripe)
    if present is not None:
        return present  # type: ignore[no-any-return]
    table: Table = Table.__new__(Table)
    table.buckets = new_row(cache.size)
    table.hits = table.misses = 0
    # Success: the table is the stripe's. Failure: another thread of this stripe was first, or the cache was emptied
    # again; this table then serves its maker alone, for once.
    compare_and_set_at(cache.stripes, stripe, None, table)
    return table


def bucket_number(table: Table, topic_hash: int, i: int) -> int:
    """Return the number of the bucket to look in after `i` others: all ways of a hash, its own one first."""
    first = topic_hash & table.buckets.size - WAYS
    return first + ((topic_hash >> 32 ^ i) & WAYS - 1)


def recall(cache: Any, topic: Any, stripe: int) -> tuple[Any, ...] | None:
    """Return the answer that a stripe remembers for `topic`, an exact string, if it still is the answer, else None;
    None also if the stripe has no table yet. Cache and topic are borrowed from the caller. Wait-free."""
    topic_hash = hash_of_text(topic)
    answer = None
    pin()
    table = peek_at(stripes_of(cache), stripe)
    if table is not borrow(None):
        found = _remembered_in(buckets_of(table), topic, topic_hash)
        if found is not borrow(None) and _still_hold(found):
            answer = borrowed(item_of(found, ANSWER))
            count_hit(table)
        else:
            count_miss(table)
    unpin()
    return answer


def _remembered_in(buckets: Any, topic: Any, topic_hash: int) -> Any:
    """Return what is remembered of a topic, or None, borrowed."""
    first = topic_hash & (row_size(buckets) - WAYS)
    for i in range(WAYS):
        found = peek_at(buckets, first + ((topic_hash >> 32 ^ i) & (WAYS - 1)))
        if is_exactly(found, tuple) and is_same_text(item_of(found, TOPIC), topic):
            return found
    return borrow(None)


def _still_hold(remembered: Any) -> bool:
    """Return whether all that an answer was read from holds what it held."""
    first = peek(item_of(remembered, ROOT))
    if first is not item_of(remembered, FIRST) and not (
        is_exactly(first, INode) and peek(first) is item_of(remembered, FIRST_MAIN)
    ):
        return False
    for i in range(FIRST + 1, size_of(remembered), 2):
        if peek(item_of(remembered, i)) is not item_of(remembered, i + 1):
            return False
    return True


def wanted_bucket(table: Table, topic: str) -> int:
    """Return the number of the bucket for `topic`, which was not recalled, if its answer is worth remembering. Else
    note that the topic was seen, and return -1."""
    topic_hash = hash(topic)
    for i in range(WAYS):
        bucket = bucket_number(table, topic_hash, i)
        present = load_at(table.buckets, bucket)
        if present == topic or (type(present) is tuple and present[TOPIC] == topic):
            return bucket  # it was seen once, or its answer has changed
    spare = _spare_bucket(table, topic_hash)
    # Success: the topic is noted. Failure: another thread of the stripe has just noted or remembered something there.
    compare_and_set_at(table.buckets, spare, load_at(table.buckets, spare), topic)
    return -1


def _spare_bucket(table: Table, topic_hash: int) -> int:
    """Return the bucket to note a topic in: an empty one, else one that has a note, else any. Which one of several is
    practically random. Otherwise topics that come in a fixed order could displace one another for ever."""
    for i in range(WAYS):
        bucket = bucket_number(table, topic_hash, i)
        if load_at(table.buckets, bucket) is None:
            return bucket
    drawn = table.misses * 40_503 >> 8
    for i in range(WAYS):
        bucket = bucket_number(table, topic_hash, drawn + i)
        if type(load_at(table.buckets, bucket)) is not tuple:
            return bucket
    return bucket_number(table, topic_hash, drawn)


def remember(table: Table, bucket: int, remembered: tuple[Any, ...]) -> None:
    """Remember an answer. When it was read, the slots that it was read from held what stands beside them."""
    # Success: the answer is remembered. Failure: another thread of the stripe has just remembered another one.
    compare_and_set_at(table.buckets, bucket, load_at(table.buckets, bucket), remembered)


def forget(cache: Cache) -> None:
    """Forget all answers."""
    for stripe in range(KINDS * STRIPES):
        table = load_at(cache.stripes, stripe)
        if table is not None:
            # Success: the stripe begins anew. Failure: another thread has emptied it.
            compare_and_set_at(cache.stripes, stripe, table, None)


def counts(cache: Cache) -> tuple[int, int]:
    """Return the hits and misses since the cache was last emptied."""
    hits = misses = 0
    for stripe in range(KINDS * STRIPES):
        table: Table | None = load_at(cache.stripes, stripe)
        if table is not None:
            hits += table.hits
            misses += table.misses
    return hits, misses


if not cython.compiled:  # the compiled bodies are in answer_cache.pxd

    def own_stripe(kind: int) -> int:
        """Return the number of the present thread's stripe (the compiled twin numbers threads as they come)."""
        return kind * STRIPES + threading.get_native_id() % STRIPES

    def hash_of_text(topic: str) -> int:
        """Return the hash of an exact string, without running Python code."""
        return hash(topic)

    def is_same_text(text: str, other: str) -> bool:
        """Return whether two exact strings are equal, without running Python code."""
        return text == other

    def count_hit(table: Any) -> None:
        """Count, in a borrowed table, an answer that was recalled."""
        table.hits += 1

    def count_miss(table: Any) -> None:
        """Count, in a borrowed table, a topic whose answer has to be found."""
        table.misses += 1

    stripes_of = attrgetter("stripes")
    buckets_of = attrgetter("buckets")
    row_size = attrgetter("size")
