"""What a thread changes, in users' code that an operation runs, of the very key that the operation is about.

`compute` and the like begin again when the key has changed meanwhile. Users' code which changes it each time, in the
thread that runs it, would keep them at it for ever: so its changes are counted. This is not asked for in the first
round, and writers look whether anybody counts by one look at a variable of their thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

MOST_CHANGES = 9  # of its own key by one operation, after the first round: "the tenth call" in the docstrings

_innermost: Final[dict[int, Watch]] = {}
"""By thread: the operation in whose callback it is. No slot: each thread has its own place."""


class Watch:
    """One operation on one key, which counts in how many rounds its thread has changed that key."""

    __slots__ = ("_above", "_changed", "_hash", "_rounds", "_trie")

    def __init__(self, trie: Any, hash: int) -> None:
        self._trie = trie
        self._hash = hash
        self._changed: list[Any] = []  # keys of that hash
        self._rounds = 0
        self._above: Watch | None = None

    def begin(self) -> None:
        """Count, in this thread, from now on."""
        me = threading.get_ident()
        self._above = _innermost.get(me)
        _innermost[me] = self

    def end(self) -> None:
        """Count no more. Nothing to do if Ctrl-C came before `begin` had done anything."""
        me = threading.get_ident()
        if _innermost.get(me) is not self:
            return
        if self._above is None:
            _innermost.pop(me, None)
        else:
            _innermost[me] = self._above

    def end_round(self, operation: str, key: Any, equal: Callable[[Any, Any], Any] | None) -> None:
        """After a round that came to nothing. RuntimeError where that was this thread's own doing too often."""
        changed, self._changed = self._changed, []
        for one in changed:
            if one is key or (one == key if equal is None else equal(one, key)):
                self._rounds += 1
                break
        if self._rounds == MOST_CHANGES:
            raise RuntimeError(
                f"{operation}: what it called for {key!r} has changed that same key in every one of "
                f"{MOST_CHANGES + 1} attempts, and would be in its own way for ever"
            )


def is_watching() -> bool:
    """Tell whether this thread is in a callback of an operation that counts."""
    return threading.get_ident() in _innermost


def note_change(trie: Any, key: Any, hash: int) -> None:
    """This thread has changed a key of `trie`: those that it is in a callback of are told."""
    watch = _innermost.get(threading.get_ident())
    while watch is not None:
        if watch._trie is trie and watch._hash == hash:
            watch._changed.append(key)
        watch = watch._above
