"""The announcement that a thread is making the value of a key, for `Ctrie.get_or_create`."""

import threading

from ctrie._thread_owner import Doer


class Creation(Doer):
    """Made by the thread that calls the factory; others wait on it."""

    __slots__ = ("_ended",)

    def __init__(self) -> None:
        super().__init__()
        self._ended = threading.Event()

    def wait(self, key: object) -> None:
        """Return when the maker has ended, with or without a value, or was left behind by a fork."""
        if self.is_left_behind():
            return
        if self.is_this_thread():
            raise RuntimeError(f"get_or_create: the factory for {key!r} asked for that same key")
        self._ended.wait()

    def finish(self) -> None:
        self._ended.set()
