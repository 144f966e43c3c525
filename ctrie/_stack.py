"""The C stack of a thread: for functions that call users' `__eq__` or `__hash__`, which may call them again.

The interpreter counts the calls of Python code and raises RecursionError, so the interpreted twin needs nothing. It
does not count the C stack that compiled code takes in between.
"""

from __future__ import annotations


def check_stack() -> None:
    """Raise RecursionError if little is left of the stack."""
