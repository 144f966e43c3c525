"""Draws by lot: of a member of a group, where no turn says which one is next.

A thread draws from a deck of its own, so threads share nothing. The deck has DECK cards, each for an equal part of the
whole. A round goes through all of them, from a card drawn at random, by a step drawn at random that is odd: so each
comes once. Where in its part a draw falls is random, too. So what is drawn is as good as independent of what was drawn
before, and yet the members of a group that draws every time, or every second or third time, have nearly equal shares
after a round, where independent draws would differ by the root of their number.

This is the interpreted text; the compiled body is in `draws.pxd`. A process that was forked draws otherwise than its
parent after at most one round.
"""

from __future__ import annotations

import os
import threading
from random import Random

DECK = 64
_PART = 58  # bits within a part


class _Deck(threading.local):
    """The deck of one thread."""

    def __init__(self) -> None:
        self.random = Random()
        self.process = os.getpid()
        self.round: list[int] = []


_deck = _Deck()


def draw_word() -> int:
    """Return 64 random bits. O(1)."""
    return _deck.random.getrandbits(64)


def draw_again(size: int) -> int:
    """Return a number from 0 to `size` - 1 for one that cannot be taken, out of no deck: otherwise messages that some
    members cannot take would use up these members' cards, and leave too few to other messages. O(1)."""
    return draw_word() * size >> 64


def draw(size: int) -> int:
    """Return a number from 0 to `size` - 1. O(1)."""
    if not _deck.round:
        if _deck.process != os.getpid():
            _deck.__init__()  # type: ignore[misc]
        step, first = draw_word() | 1, draw_word()
        _deck.round = [(first + i * step) % DECK for i in range(DECK)]
    return (_deck.round.pop() << _PART | draw_word() >> (64 - _PART)) * size >> 64
