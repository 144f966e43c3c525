"""Ctrl-C, while processes are started that it is not meant for."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ctrl_c_later"]


@contextmanager
def ctrl_c_later() -> Iterator[None]:
    """Processes that begin here never see a Ctrl-C, for they inherit that it is held back; here it comes at the end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
