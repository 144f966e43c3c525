"""The thread that does something on which others rely, and whether a fork has left it behind."""

import os
import threading


class Doer:
    """The thread that makes it."""

    __slots__ = ("_process", "_thread")

    def __init__(self) -> None:
        self._process = os.getpid()
        self._thread = threading.get_ident()

    def is_this_thread(self) -> bool:
        return self._thread == threading.get_ident()

    def is_left_behind(self) -> bool:
        """Tell whether it is a thread of a process that this one was forked from. Of those, the child has only the one
        that forked, as its main thread."""
        return self._process != os.getpid() and self._thread != threading.main_thread().ident
