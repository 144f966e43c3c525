"""The announcement that a thread is making the value of a key, for `Ctrie.get_or_create`."""

import threading


class Creation:
    """Made by the thread that calls the factory; others wait on it."""

    __slots__ = ("_ended", "_maker")

    def __init__(self) -> None:
        self._maker = threading.get_ident()
        self._ended = threading.Event()

    def wait(self, key: object) -> None:
        """Return when the maker has ended, with or without a value."""
        if self._maker == threading.get_ident():
            raise RuntimeError(f"get_or_create: the factory for {key!r} asked for that same key")
        self._ended.wait()

    def finish(self) -> None:
        self._ended.set()
