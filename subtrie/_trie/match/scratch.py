"""The working memory of a question: the references that it takes while it is pinned, and hands on.

This is the interpreted text. In the compiled twin (`scratch.pyx`) a reference is a pointer until it is counted.
"""

from __future__ import annotations

from array import array
from typing import Any

from subtrie._trie.groups import Shared
from subtrie._trie.match.answer_cache import FIRST
from subtrie._trie.match.plan import Matchable
from subtrie._trie.match.reading import extended
from subtrie._trie.match.walk import Buffer, Trails, Traversal
from subtrie._trie.weak_subscribers import Held, HeldMethod


class Asked:
    """What a question returns besides its answer."""

    __slots__ = ("by_lot",)
    by_lot: bool  # the answer depends, or may depend, on which member of a group was drawn


class Scratch:
    """The state of one question."""

    __slots__ = ("keep_seen", "only_hashes", "seen_taken", "shared", "stack", "subscribers", "walk", "weak", "whole")
    keep_seen: bool  # take references to what is in `seen` when the answer has been read
    seen_taken: bool
    shared: bool  # some filter has groups: there are Shared ones among the subscribers taken
    weak: bool  # weak references stand in the places of subscribers
    only_hashes: bool  # subscribers are noted for their hashes, and not taken
    whole: bool  # of deliveries: all subscribers of a filter are noted together, as one
    stack: Buffer  # of large sets
    subscribers: Buffer  # subscriber, hash; with trails, an Entry may stand for a subscriber, with 0

    def __init__(self) -> None:
        self.walk = Traversal()


def begin(s: Scratch, only_first: bool) -> None:
    """Begin. RecursionError: matches inside matches (from `__eq__` or a finalizer) are nested too deep."""
    start(s, only_first)


def enter() -> bool:
    """Return whether one more match may be nested in those of this thread. If so, it is until `leave`."""
    return True


def leave() -> None:
    """One match of this thread has ended."""


def start(s: Scratch, only_first: bool) -> None:
    """Begin, with nothing taken."""
    s.walk.only_first, s.walk.trails = only_first, None
    s.keep_seen = s.seen_taken = s.shared = s.weak = s.only_hashes = s.whole = False
    s.stack, s.subscribers = Buffer(), Buffer()


def release(s: Scratch) -> None:
    """End: `let_go` and `leave`."""


def let_go(s: Scratch) -> None:
    """Give back memory, and references that have not been handed on."""


def note(subscribers: Buffer, subscriber: Any, hash: int) -> bool:
    """Note a subscriber, if there is memory for that."""
    subscribers.items += (subscriber, hash)
    return True


def forget(noted: Buffer) -> None:
    """Forget all that was noted."""
    noted.items.clear()


def taken_from(stack: Buffer) -> Any:
    """Take the last node off a stack."""
    return stack.items.pop()


def room_for_pairs(subscribers: Buffer, count: int) -> Buffer | None:
    """Return room for so many subscribers and their hashes; nothing, if there is no memory for that."""
    return subscribers


def put_entry(pairs: Buffer, entry: Any) -> Buffer:
    """Put an entry there, and return the room that is left, as does the next."""
    note(pairs, entry, 0)
    return pairs


def put_subscriber(pairs: Buffer, entry: Any) -> Buffer:
    """Put the subscriber of an entry there."""
    note(pairs, entry.key, entry.hash)
    return pairs


def end_pairs(subscribers: Buffer, pairs: Buffer) -> None:
    """Note how much room has been used."""


def push_node(stack: Buffer, node: Any) -> bool:
    """Put a node on a stack, if there is memory for that."""
    stack.items.append(node)
    return True


def take_references(subscribers: Buffer) -> None:
    """Count a reference to each of the subscribers noted."""


def take_seen(s: Scratch) -> None:
    """Count a reference to each node that was read."""
    s.seen_taken = True


def fetch_ahead(s: Scratch, at: int) -> None:
    """Fetch what was noted some places after this one. For the compiled twin."""


def subscriber_at(s: Scratch, at: int) -> Any:
    """Return what was noted at a place."""
    return s.subscribers.items[at]


def hash_at(s: Scratch, at: int) -> int:
    """Return the hash beside it."""
    return s.subscribers.items[at + 1]  # type: ignore[no-any-return]


def is_shared_at(s: Scratch, at: int) -> bool:
    """Return whether a Shared was noted at a place."""
    return isinstance(s.subscribers.items[at], Shared)


def taken_shared(s: Scratch, at: int) -> Any:
    """Return the Shared at a place, borrowed from there."""
    return s.subscribers.items[at]


def put_taken(s: Scratch, subscriber: Any, hash: int) -> int:
    """Note a subscriber, which is borrowed, and take a reference to it."""
    note(s.subscribers, subscriber, hash)
    return 0


def drop_shared(s: Scratch, count: int) -> None:
    """Drop each Shared among the first `count` items."""
    items = s.subscribers.items
    kept = [at for at in range(0, len(items), 2) if not is_shared_at(s, at)]
    s.subscribers.items = [items[at + one] for at in kept for one in (0, 1)]


def handed_over(s: Scratch) -> tuple[Any, ...]:
    """Return the references taken."""
    answer = tuple(s.subscribers.items[::2])
    forget(s.subscribers)
    return answer


def remembered(s: Scratch, topic: str, answer: tuple[Any, ...], root: Any) -> tuple[Any, ...]:
    """Return what answer_cache.py remembers of an answer, out of the references taken."""
    seen = s.walk.seen.items
    s.seen_taken = False
    kept = (topic, answer, root, seen[0], *[seen[at + one] for at in range(0, len(seen), 3) for one in (0, 1)])
    assert len(kept) > FIRST
    return kept


def keep_living(subscribers: Buffer) -> None:
    """Put subscribers in the places of references to them, and drop those that are dead. This comes before repeated
    ones are dropped: otherwise, of two equal ones, the living one might be dropped."""
    noted, subscribers.items = subscribers.items, []
    for at in range(0, len(noted), 2):
        alive = noted[at]() if type(noted[at]) in (Held, HeldMethod) else noted[at]  # else it is Shared
        if alive is not None:
            note(subscribers, alive, noted[at + 1])


def begin_trails(s: Scratch, trails: Trails) -> None:
    """Let the traversal note how it comes to what it finds."""
    s.walk.trails = trails


def end_trails(trails: Trails) -> None:
    """Give back memory."""


def begin_records(t: Traversal) -> bool:
    """Begin with the records of an answer, if there is memory for that; number 0 is the record of no words."""
    assert t.trails is not None
    t.trails.records.items = [None]
    return True


def add_record(trails: Trails, place: int, branch: Any, marked: bool) -> int:
    """Add the record of a branch, `marked` or not, below another record. Return its place; 0: there is no memory."""
    trails.records.items.append(extended(trails.records.items[place], branch))
    return trails.records.count - 1


def trail_of(t: Traversal, trie: Matchable, topic: str, shared: bool) -> Any:
    """Return the trail of a whole answer (trail.py). `topic` is plain words and separators; `shared`: there may be
    groups."""
    assert t.trails is not None
    return trie._plan.dialect, t.trails.records.items, topic


def add_numbers(s: Scratch, numbers: Buffer) -> bool:
    """Add the numbers that the subscribers noted are, and forget these. False: there is no memory."""
    numbers.items += s.subscribers.items[::2]
    forget(s.subscribers)
    return True


def add_again(numbers: Buffer, start: int, count: int) -> bool:
    """Add numbers again that have been added before. False: there is no memory."""
    numbers.items += numbers.items[start : start + count]
    return True


def coming_again(topics: list[Any]) -> int:
    """Return how many of these topics are texts that have come before."""
    texts = [topic for topic in topics if type(topic) is str]
    return len(texts) - len(set(texts))


def bytes_of(words: Buffer) -> bytes:
    """Return machine words as bytes."""
    return array("q", words.items).tobytes()


def new_answer(size: int) -> Any:
    """Return an answer to be filled."""
    return [None] * size


def put_in_answer(answer: Any, i: int, item: Any) -> None:
    """Fill a place of an answer that no caller has yet."""
    answer[i] = item


answer_made: Any = tuple
