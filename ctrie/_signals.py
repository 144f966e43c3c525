"""Signals and other threads during long work: for functions that go through any number of items in one call.

The interpreter runs the handlers of signals, and lets other threads run, between two lines of Python code, so the
interpreted twin needs nothing. Compiled code has to see to both (`c/signals.h`), and only where any Python code may
run: not while pinned, and with nothing borrowed.
"""

from __future__ import annotations

EVERY = 128  # items between two checks, where one item takes less than some microseconds


def check_signals() -> None:
    """Run the handlers of the signals that have arrived, and let other threads run. Raises what the handlers raise:
    KeyboardInterrupt after Ctrl-C."""
