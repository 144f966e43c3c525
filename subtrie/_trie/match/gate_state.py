"""The state of the gate of the interleaved traversals (interleaving_gate.py), and the room for a group of topics.

This is the interpreted text. In the compiled twin (`gate_state.pxd`) all of it is a struct of C.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from subtrie._trie.match.steps import Group, Member, Steps

PREFETCHES = False  # whether fetching a node has an effect
GROUP = 16  # topics that are traversed side by side, at most
FEWEST = 4  # and at least
TRIED = 8
ROUNDS = 128  # groups from one trial to the next, at least
MOST_ROUNDS = 2_048
SMALL = 8_000  # branches
LARGE = 200_000


class Gate:
    """What one call for many topics knows of groups."""

    def __init__(self) -> None:
        self.group: Group = []
        self.count = 0  # of the topics in it
        self.steps = Steps()
        self.pays = False  # groups may pay, according to the last look
        self.better = False  # they do, according to the last trial
        self.round = 0  # groups since the last trial began
        self.rounds = 0  # groups from there to the next one; 0: there was none yet
        self.since = 0  # when the present group began
        self.spent = [0, 0]  # nanoseconds of the groups tried, of topics one by one and side by side
        self.longest = [0, 0]


begin_gate = Gate.__init__


def end_gate(w: Gate) -> None:
    """Give back memory."""


def has_room(w: Gate) -> bool:
    """Return whether there is memory for a group."""
    w.group = w.group or [Member() for _ in range(GROUP)]
    return True


def nanoseconds() -> int:
    """Return the time."""
    return perf_counter_ns()


def text_at(block: list[Any], at: int) -> Any:
    """Return a topic by its number, borrowed."""
    return block[at]


def fetch_characters(text: Any) -> None:
    """Have the characters of a topic fetched."""
