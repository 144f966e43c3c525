"""The state of the gate of the warming passes (warming_gate.py), and the room for a pass.

This is the interpreted text. In the compiled twin (`gate_state.pxd`) all of it is a struct of C.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from subtrie._trie.match.steps import Steps
from subtrie._trie.match.walk import Traversal

PREFETCHES = False  # whether fetching a node has an effect
GROUP = 16  # topics that a pass is made for
TRIED = 8
ROUNDS = 128  # groups from one trial to the next, at least
MOST_ROUNDS = 2_048
SMALL = 12_000  # branches
LARGE = 200_000


class Gate:
    """What one call for many topics knows of passes."""

    def __init__(self) -> None:
        self.topics: list[Traversal] = []
        self.here, self.there = Steps(), Steps()
        self.pays = False  # a pass may pay, according to the last look
        self.better = False  # it does, according to the last trial
        self.round = 0  # groups since the last trial began
        self.rounds = 0  # groups from there to the next one; 0: there was none yet
        self.since = 0  # when the present group began
        self.spent = [0, 0]  # nanoseconds of the groups tried, without and with a pass
        self.longest = [0, 0]


begin_gate = Gate.__init__


def end_gate(w: Gate) -> None:
    """Give back memory."""


def has_room(w: Gate, count: int) -> bool:
    """Return whether there is memory for a pass of so many topics."""
    w.topics = w.topics or [Traversal() for _ in range(count)]
    return True


def nanoseconds() -> int:
    """Return the time."""
    return perf_counter_ns()


def text_at(block: list[Any], at: int) -> Any:
    """Return a topic by its number, borrowed."""
    return block[at]


def fetch_characters(text: Any) -> None:
    """Have the characters of a topic fetched."""
