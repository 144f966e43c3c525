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

# What a question wants to know, after SUBSCRIBERS and DELIVERIES, which answer_cache.py has. Those from DELIVERIES to
# OWN tell of filters.
ENTRIES = 2  # subscriptions, with all members of groups; those of a Shared together, as one
ALL = 3  # the same as deliveries
OWN = 4  # all that is subscribed to each filter together, as one delivery
ANY = 5  # whether there is a subscriber


class Question:
    """A question, and what it has found so far."""

    __slots__ = ("by_lot", "keep_seen", "seen_taken", "shared", "stack", "subscribers", "walk", "wants", "weak")
    wants: int
    by_lot: bool  # the answer depends, or may depend, on which member of a group was drawn
    keep_seen: bool  # take references to what is in `seen` when the answer has been read
    seen_taken: bool
    shared: bool  # some filter has groups: there are Shared ones among the subscribers taken
    weak: bool  # weak references stand in the places of subscribers
    stack: Buffer  # of large sets
    subscribers: Buffer  # subscriber, hash; with trails, an Entry may stand for a subscriber, with 0

    def __init__(self) -> None:
        self.walk = Traversal()


def begin(q: Question) -> None:
    """Begin. RecursionError: matches inside matches (from `__eq__` or a finalizer) are nested too deep."""
    start(q)


def enter() -> bool:
    """Return whether one more match may be nested in those of this thread. If so, it is until `leave`."""
    return True


def leave() -> None:
    """One match of this thread has ended."""


def start(q: Question) -> None:
    """Begin, with nothing taken."""
    q.walk.only_first, q.walk.trails = q.wants == ANY, None
    q.keep_seen = q.seen_taken = q.shared = q.weak = False
    q.stack, q.subscribers = Buffer(), Buffer()


def release(q: Question) -> None:
    """End: `let_go` and `leave`."""


def let_go(q: Question) -> None:
    """Give back memory, and references that have not been handed on."""


def note_subscriber(subscribers: Buffer, subscriber: Any, hash: int) -> bool:
    """Note a subscriber, if there is memory for that."""
    subscribers.items += (subscriber, hash)
    return True


def forget(noted: Buffer) -> None:
    """Forget all that was noted."""
    noted.items.clear()


def pop_node(stack: Buffer) -> Any:
    """Remove the last node from a stack, and return it."""
    return stack.items.pop()


def room_for_pairs(subscribers: Buffer, count: int) -> Buffer | None:
    """Return room for so many subscribers and their hashes; nothing, if there is no memory for that."""
    return subscribers


def put_entry(pairs: Buffer, entry: Any) -> Buffer:
    """Put an entry there, and return the room that is left, as does the next."""
    note_subscriber(pairs, entry, 0)
    return pairs


def put_subscriber(pairs: Buffer, entry: Any) -> Buffer:
    """Put the subscriber of an entry there."""
    note_subscriber(pairs, entry.key, entry.hash)
    return pairs


def end_pairs(subscribers: Buffer, pairs: Buffer) -> None:
    """Note how much room has been used."""


def push_node(stack: Buffer, node: Any) -> bool:
    """Put a node on a stack, if there is memory for that."""
    stack.items.append(node)
    return True


def take_references(subscribers: Buffer) -> None:
    """Count a reference to each of the subscribers noted."""


def take_seen(q: Question) -> None:
    """Count a reference to each node that was read."""
    q.seen_taken = True


def fetch_ahead(q: Question, at: int) -> None:
    """Fetch what was noted some items after this one. For the compiled twin."""


def subscriber_at(q: Question, at: int) -> Any:
    """Return what was noted there."""
    return q.subscribers.items[at]


def hash_at(q: Question, at: int) -> int:
    """Return the hash beside it."""
    return q.subscribers.items[at + 1]  # type: ignore[no-any-return]


def is_shared_at(q: Question, at: int) -> bool:
    """Return whether a Shared was noted there."""
    return isinstance(q.subscribers.items[at], Shared)


def taken_shared(q: Question, at: int) -> Any:
    """Return the Shared that was noted there, borrowed."""
    return q.subscribers.items[at]


def put_taken(q: Question, subscriber: Any, hash: int) -> int:
    """Note a subscriber, which is borrowed, and take a reference to it."""
    note_subscriber(q.subscribers, subscriber, hash)
    return 0


def drop_shared(q: Question, count: int) -> None:
    """Drop each Shared among the first `count` items."""
    items = q.subscribers.items
    kept = [at for at in range(0, len(items), 2) if not is_shared_at(q, at)]
    q.subscribers.items = [items[at + one] for at in kept for one in (0, 1)]


def handed_over(q: Question) -> tuple[Any, ...]:
    """Return the references taken."""
    answer = tuple(q.subscribers.items[::2])
    forget(q.subscribers)
    return answer


def remembered(q: Question, topic: str, answer: tuple[Any, ...], root: Any) -> tuple[Any, ...]:
    """Return what answer_cache.py remembers of an answer, out of the references taken."""
    seen = q.walk.seen.items
    q.seen_taken = False
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
            note_subscriber(subscribers, alive, noted[at + 1])


def begin_trails(q: Question, trails: Trails) -> None:
    """Let the traversal note how it comes to what it finds."""
    q.walk.trails = trails


def end_trails(trails: Trails) -> None:
    """Give back memory."""


def begin_records(t: Traversal) -> bool:
    """Begin with the records of an answer, if there is memory for that; number 0 is the record of no words."""
    assert t.trails is not None
    t.trails.records.items = [None]
    return True


def add_record(trails: Trails, above: int, branch: Any, marked: bool) -> int:
    """Add the record of a branch, `marked` or not, below another record. Return its number; 0: there is no memory."""
    trails.records.items.append(extended(trails.records.items[above], branch))
    return trails.records.count - 1


def trail_of(t: Traversal, trie: Matchable, topic: str, shared: bool) -> Any:
    """Return the trail of a whole answer (trail.py). `topic` is plain words and separators; `shared`: there may be
    groups."""
    assert t.trails is not None
    return trie._plan.dialect, t.trails.records.items, topic


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
    """Put an item into an answer that no caller has yet."""
    answer[i] = item


answer_made: Any = tuple
