"""The seed of what is drawn at random, if none is given."""

from __future__ import annotations

from random import SystemRandom


def draw_seed() -> int:
    """A random seed."""
    return SystemRandom().randrange(2**32)
