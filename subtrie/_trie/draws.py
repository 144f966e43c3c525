"""Draws by lot: which member of a group gets a message (choosing.py).

Nothing foretells a draw, and nothing is kept of earlier ones but the state of a generator. Each thread has its own, so
threads share nothing. A process that was forked draws otherwise than its parent.

This is the interpreted text, in which threads have one state together; the compiled one is in `draws.pyx`.
"""

from __future__ import annotations

import os
from random import Random

_random = Random()
if hasattr(os, "register_at_fork"):  # not on Windows, where no process is forked
    os.register_at_fork(after_in_child=_random.seed)


def draw(size: int) -> int:
    """Return a number from 0 to `size` - 1, each as likely as the others. O(1)."""
    return _random.randrange(size)


def seed(number: int) -> None:
    """Let the next draws of this thread follow from a number: for tests, and for schedules that are repeated."""
    _random.seed(number)
