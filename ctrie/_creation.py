"""The announcement that a thread is making the value of a key, for `Ctrie.get_or_create`."""

import threading
from typing import Final

from ctrie._thread_owner import Doer

_awaited: Final[dict[tuple[int, int], "Creation"]] = {}
"""By thread: the creation that it waits for. No slot: who is in here waits by design."""


class Creation(Doer):
    """Made by the thread that calls the factory; others wait on it."""

    __slots__ = ("_ended", "_has_ended")

    def __init__(self) -> None:
        super().__init__()
        self._ended = threading.Event()
        self._has_ended = False

    def wait(self, key: object) -> None:
        """Return when the maker has ended, with or without a value, or was left behind by a fork. Raises RuntimeError
        where that would be never: the maker waits, directly or through others, for what this thread makes."""
        if self.is_left_behind():
            return
        if self.is_this_thread():
            raise RuntimeError(f"get_or_create: the factory for {key!r} asked for that same key")
        me = Doer().thread
        # First noted, then looked at: of several that come to wait for one another, the last one sees all.
        _awaited[me] = self
        try:
            if self._waits_for(me):
                raise RuntimeError(
                    f"get_or_create: the factory for {key!r}, in another thread, waits for a key that this thread makes"
                )
            self._ended.wait()
        finally:
            _awaited.pop(me, None)

    def _waits_for(self, thread: tuple[int, int]) -> bool:
        """Tell whether the maker, or whoever makes what it waits for, and so on, waits for what `thread` makes."""
        chain = [self]
        while chain[-1].thread != thread:
            following = _awaited.get(chain[-1].thread)
            if following is None or following in chain:
                return False
            chain.append(following)
        # Where all are still being made now, that the last one is shows that nobody in the chain can have gone on.
        return not any(creation._has_ended for creation in chain)

    def finish(self) -> None:
        self._has_ended = True
        self._ended.set()
