# cython: language_level = 3
"""The thread that does some work that others rely on, and whether a fork has left that thread behind."""

import os
import threading


class Doer:
    """The thread that makes this object."""

    __slots__ = ("_process", "_thread")

    def __init__(self) -> None:
        self._process = os.getpid()
        self._thread = threading.get_ident()

    @property
    def thread(self) -> tuple[int, int]:
        """An identifier of the thread, unique across processes."""
        return self._process, self._thread

    def is_this_thread(self) -> bool:
        return self._thread == threading.get_ident()

    def is_left_behind(self) -> bool:
        """Tell whether the thread belongs to a process that this one was forked from. Of its threads, only the one that
        forked goes on in the child, as its main thread."""
        return self._process != os.getpid() and self._thread != threading.main_thread().ident
