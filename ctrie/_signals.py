"""Signals during long work: for functions that go through any number of items in one call.

The interpreter runs the handlers of signals between two lines of Python code, so the interpreted twin needs nothing.
Compiled code has to ask, and only where any Python code may run: not while pinned, and with nothing borrowed.
"""

from __future__ import annotations

EVERY = 1024  # items between two checks, where one item takes less than a microsecond


def check_signals() -> None:
    """Run the handlers of the signals that have arrived. Raises what they raise: KeyboardInterrupt after Ctrl-C."""
