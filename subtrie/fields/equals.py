"""Equal criteria of subscriptions are one object, in most cases.

Many subscriptions ask for the same besides what is rare: for one of a few sides, say, or a state. So each thread keeps
up to KNOWN criteria that it has subscribed, and a subscription takes the one that is like its own in all: in its kind,
in its values and their types, and in how a pattern wrote it. Threads share no such memory: they would wait for one
another at every subscribe. Criteria with values of other types than PLAIN are not looked at: they may have no hash, may
compare equal without being the same, or may change. Those with long texts are not kept.

The words of filters are one object, too, where they are the same: a search that compares words of many filters finds
those that it has met before in the processor's caches.
"""

from __future__ import annotations

import threading
from typing import Any

import cython

if not cython.compiled:
    from subtrie.fields.criteria import Criterion

from subtrie.fields.criteria import Absent, Equals, Prefix, Present, Within
from subtrie.fields.names import PLAIN
from subtrie.fields.texts import EqualsIgnoringCase, InNetwork, Suffix, Wildcard

KNOWN = 1024  # for each thread
LONGEST = 200  # characters of a text that is kept

_OURS = frozenset(  # a user's subclass may have more in it than its arguments
    (Equals, Present, Absent, Within, Prefix, Suffix, EqualsIgnoringCase, Wildcard, InNetwork)
)


class _Own(threading.local):
    """What the present thread keeps."""

    def __init__(self) -> None:
        self.known: dict[tuple[Any, ...], Criterion] = {}
        self.words: dict[str, str] = {}


own = _Own()


def one_of_equals(criterion: Criterion) -> Criterion:
    """Return a criterion that is like the given one in all: one that this thread has subscribed before, or the given
    one. O(size of the criterion)."""
    likeness = _likeness_of(criterion)
    if likeness is None:
        return criterion
    known: dict[tuple[Any, ...], Any] = own.known
    found: Criterion | None = known.get(likeness)
    if found is not None:
        return found
    for part in likeness:
        if type(part) is str and len(part) > LONGEST:
            return criterion
    if len(known) >= KNOWN:
        known.clear()
    known[likeness] = criterion
    return criterion


def one_of_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return words, each of which is one object with those that this thread has subscribed before. O(words)."""
    known: dict[str, str] = own.words
    if len(known) >= KNOWN:
        known.clear()
    return tuple(
        [known.setdefault(word, word) if type(word) is str and len(word) <= LONGEST else word for word in words]
    )


def _likeness_of(criterion: Criterion) -> tuple[Any, ...] | None:
    """Return what two criteria have in common if either may stand for the other; None if nothing tells."""
    kind = type(criterion)
    if kind not in _OURS:
        return None
    likeness: list[Any] = [kind, criterion.written]
    for value in criterion.arguments():
        kind = type(value)
        if kind not in PLAIN or (kind is float and value == 0):  # -0.0 equals 0.0, and is not the same
            return None
        likeness.append(kind)
        likeness.append(value)
    return tuple(likeness)
