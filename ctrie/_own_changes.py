"""Detects operations that disturb themselves: users' code, called by an operation, changes the operation's own key.

`compute` and similar operations start again if the key has changed meanwhile. If their callback changes the key each
time, they would repeat for ever. So would the operations of two threads if the callback of each changes the key of the
other. Therefore such changes are counted. Counting begins with the second round. A writer learns whether anything
counts by one read of a thread-local variable.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

MOST_CHANGES = 9  # rounds with such a change, after the first round: "the tenth call" in the docstrings
MOST_NOTED = 1_000
"""Changes that one round notes. One is enough; the others are of different keys with the same hash. A long callback,
whose key others change all the time, does not fill the memory."""

_innermost: Final[dict[int, Watch]] = {}
"""Thread -> the innermost operation whose callback it is running. Not a slot: each thread has its own entry."""
_judging: Final = threading.Lock()
"""Held while a thread looks for a circle of operations, so that one operation gives up and not all. No key is compared
meanwhile. Only operations take it that other threads' callbacks have disturbed."""


class Watch:
    """One operation on one key. Counts the rounds in which its own thread has changed that key, and the rounds in which
    operations have that it disturbs itself."""

    __slots__ = ("_above", "_changed", "_changed_by", "_circles", "_hash", "_hindered_by", "_rounds", "_trie")

    def __init__(self, trie: Any, hash: int) -> None:
        self._trie = trie
        self._hash = hash
        self._above: Watch | None = None
        self._changed: list[Any] = []  # keys of that hash, by this thread
        self._rounds = 0
        self._changed_by: list[tuple[Any, Watch]] = []  # keys of that hash, by operations of other threads
        self._hindered_by: frozenset[Watch] = frozenset()  # in the last round: those that have changed its key
        self._circles = 0  # rounds, one after the other, in which that led back to this one

    def begin(self) -> None:
        """Start counting, in this thread."""
        me = threading.get_ident()
        self._above = _innermost.get(me)
        _innermost[me] = self

    def end(self) -> None:
        """Stop counting. Does nothing if Ctrl-C came before `begin` took effect."""
        me = threading.get_ident()
        if _innermost.get(me) is not self:
            return
        if self._above is None:
            _innermost.pop(me, None)
        else:
            _innermost[me] = self._above

    def forget(self) -> None:
        """Drop the other operations when this one is over. Otherwise each would keep the ones before it alive."""
        self._changed_by, self._hindered_by = [], frozenset()

    def end_round(self, operation: str, key: Any, equal: Callable[[Any, Any], Any] | None) -> None:
        """End a round that failed. Raises RuntimeError if users' code itself has made too many rounds fail."""
        changed, self._changed = self._changed, []
        changed_by, self._changed_by = self._changed_by, []
        own = any(_is_same(one, key, equal) for one in changed)
        hindered_by = frozenset(watch for one, watch in changed_by if _is_same(one, key, equal))
        self._rounds += own
        if self._rounds == MOST_CHANGES:
            raise RuntimeError(
                f"{operation}: what it called for {key!r} has changed that same key in every one of "
                f"{MOST_CHANGES + 1} attempts; it would never succeed"
            )
        if self._gives_up(hindered_by):
            raise RuntimeError(
                f"{operation}: what it called for {key!r} and what operations of other threads called have changed "
                f"each other's keys in every one of {MOST_CHANGES + 1} attempts; they would never succeed. The others "
                "continue"
            )

    def _gives_up(self, hindered_by: frozenset[Watch]) -> bool:
        """Note which operations disturbed the round that ended; tell whether this one has to break a circle."""
        if not hindered_by and not self._hindered_by:
            return False
        with _judging:
            self._hindered_by = hindered_by
            self._circles = self._circles + 1 if self._hinders_itself() else 0
            if self._circles < MOST_CHANGES:
                return False
            self._hindered_by = frozenset()  # which breaks it for the others
            return True

    def _hinders_itself(self) -> bool:
        """Tell whether this operation has disturbed, directly or through others, an operation that disturbed it."""
        seen: set[Watch] = set()
        waiting = list(self._hindered_by)
        while waiting:
            watch = waiting.pop()
            if watch is self:
                return True
            if watch not in seen:
                seen.add(watch)
                waiting.extend(watch._hindered_by)
        return False

    def and_above(self) -> Iterator[Watch]:
        """Yield this operation, and the operations of its thread whose callbacks called it."""
        watch: Watch | None = self
        while watch is not None:
            yield watch
            watch = watch._above


def _is_same(one: Any, key: Any, equal: Callable[[Any, Any], Any] | None) -> bool:
    return one is key or bool(one == key if equal is None else equal(one, key))


def is_watching() -> bool:
    """Tell whether this thread is in a callback of an operation that counts changes."""
    return threading.get_ident() in _innermost


def note_change(trie: Any, key: Any, hash: int) -> None:
    """Tell the operations whose callbacks this thread is running, and the operations of other threads on that key, that
    it has changed a key of `trie`."""
    mine = _innermost.get(threading.get_ident())
    if mine is None:
        return
    for watch in mine.and_above():
        if watch._trie is trie and watch._hash == hash:
            changed = watch._changed
            if len(changed) < MOST_NOTED and (not changed or changed[-1] is not key):
                changed.append(key)
    if mine._trie is trie and mine._hash == hash:
        return  # most likely the final change of the operation itself
    for innermost in list(_innermost.values()):
        if innermost is not mine:
            for watch in innermost.and_above():
                if watch._trie is trie and watch._hash == hash:
                    noted = watch._changed_by  # read once: its thread begins another list after each round
                    if len(noted) < MOST_NOTED and (not noted or noted[-1][0] is not key or noted[-1][1] is not mine):
                        noted.extend([(key, by) for by in reversed([*mine.and_above()])])
