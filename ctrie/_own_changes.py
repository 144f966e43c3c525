"""Detects an operation that disturbs itself: users' code, called by the operation, changes the operation's own key.

`compute` and similar operations start again if the key has changed meanwhile. If their callback, in the same thread,
changes the key each time, they would repeat for ever; so those changes are counted. Counting begins with the second
round. A writer learns whether anything counts by one read of a thread-local variable.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

MOST_CHANGES = 9  # rounds with such a change, after the first round: "the tenth call" in the docstrings

_innermost: Final[dict[int, Watch]] = {}
"""Thread -> the innermost operation whose callback it is running. Not a slot: each thread has its own entry."""


class Watch:
    """One operation on one key. Counts the rounds in which its own thread has changed that key."""

    __slots__ = ("_above", "_changed", "_hash", "_rounds", "_trie")

    def __init__(self, trie: Any, hash: int) -> None:
        self._trie = trie
        self._hash = hash
        self._changed: list[Any] = []  # keys of that hash
        self._rounds = 0
        self._above: Watch | None = None

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

    def end_round(self, operation: str, key: Any, equal: Callable[[Any, Any], Any] | None) -> None:
        """End a round that failed. Raises RuntimeError if this thread itself has made too many rounds fail."""
        changed, self._changed = self._changed, []
        for one in changed:
            if one is key or (one == key if equal is None else equal(one, key)):
                self._rounds += 1
                break
        if self._rounds == MOST_CHANGES:
            raise RuntimeError(
                f"{operation}: what it called for {key!r} has changed that same key in every one of "
                f"{MOST_CHANGES + 1} attempts; it would never succeed"
            )


def is_watching() -> bool:
    """Tell whether this thread is in a callback of an operation that counts changes."""
    return threading.get_ident() in _innermost


def note_change(trie: Any, key: Any, hash: int) -> None:
    """Tell the operations whose callbacks this thread is running that it has changed a key of `trie`."""
    watch = _innermost.get(threading.get_ident())
    while watch is not None:
        if watch._trie is trie and watch._hash == hash:
            watch._changed.append(key)
        watch = watch._above
