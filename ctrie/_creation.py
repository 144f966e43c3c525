"""The announcement that a thread is making the value of a key; used by `Ctrie.get_or_create`."""

import threading
from typing import Final

from ctrie._thread_owner import Doer

_awaited: Final[dict[tuple[int, int], "Creation"]] = {}
"""Thread -> the creation that it waits for. This is not a slot: the threads in it are blocked by design."""


class Creation(Doer):
    """Made by the thread that calls the factory. Other threads wait on it."""

    __slots__ = ("_going_on", "_has_ended")

    def __init__(self) -> None:
        super().__init__()
        try:
            self._going_on = threading.Lock()
        except RuntimeError:  # "can't allocate lock"
            raise MemoryError from None
        self._going_on.acquire()
        self._has_ended = False

    def wait(self, key: object) -> None:
        """Return when the maker has finished, with or without a value, or was left behind by a fork. Raises
        RuntimeError for a deadlock: the maker waits, directly or through other threads, for a value that this thread
        makes."""
        if self._has_ended or self.is_left_behind():  # ended, but there was no memory to take it back
            return
        if self.is_this_thread():
            raise RuntimeError(f"get_or_create: the factory for {key!r} asked for that same key")
        me = Doer().thread
        # Register first, then check: if several threads begin to wait for one another, the last one sees all entries.
        _awaited[me] = self
        try:
            if self._waits_for(me):
                raise RuntimeError(
                    f"get_or_create: the factory for {key!r}, in another thread, waits for a key that this thread makes"
                )
            with self._going_on:
                pass
        finally:
            _awaited.pop(me, None)

    def _waits_for(self, thread: tuple[int, int]) -> bool:
        """Tell whether the chain maker -> maker of what it waits for -> ... ends at `thread`."""
        chain = [self]
        while chain[-1].thread != thread:
            following = _awaited.get(chain[-1].thread)
            if following is None or following in chain:
                return False
            chain.append(following)
        # If no creation in the chain has ended by now, then no thread in the chain can have continued meanwhile.
        return not any(creation._has_ended for creation in chain)

    def finish(self) -> None:
        """Let the others go on. This allocates nothing: without memory, they would wait for ever."""
        self._has_ended = True
        self._going_on.release()
