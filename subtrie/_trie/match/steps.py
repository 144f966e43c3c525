"""The group of topics that interleaved traversals (interleaved.py) are made for, and the steps that are under way.

This is the interpreted text. In the compiled twin (`steps.pxd`) both are arrays of structs.
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.match.scratch import Scratch
from subtrie._trie.match.walk import Trails, Traversal

ROOM = 1024  # steps that are under way at most
WILD = -1  # the number of the word, where a wildcard is looked for

# What a step's node is.
AT_LEVEL = 0  # the first I-node of a level
AT_MAIN = 1  # its main node
AT_INNER = 2  # the main node of another I-node of the level
AT_PLACE = 3  # a C-node, of which one place for a child has been fetched
AT_CHILD = 4  # a branch, or an I-node
AT_TEXT = 5  # a branch whose text stands apart


class Member:
    """One topic of a group, and its answer."""

    __slots__ = ("scratch", "trails")

    def __init__(self) -> None:
        self.scratch, self.trails = Scratch(), Trails()


Group = list[Member]


class Step:
    """Where one topic is, on one of its ways."""

    __slots__ = ("hash", "level", "node", "place", "positions", "state", "topic", "word")
    node: Any  # fetched, but not looked at yet
    state: int
    place: int
    topic: Traversal
    word: int  # the number of the word that is looked for
    hash: int  # its hash: what C-nodes have not told apart yet
    positions: int  # after it
    level: int  # the number of the level


class Steps:
    """The steps that are under way."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[Step] = []

    @property
    def count(self) -> int:
        return len(self.items)


def scratch_at(group: Group, i: int) -> Scratch:
    """Return the state of a topic's question by the topic's number."""
    return group[i].scratch


def topic_at(group: Group, i: int) -> Traversal:
    """Return a topic by its number."""
    return group[i].scratch.walk


def trails_at(group: Group, i: int) -> Trails:
    """Return the trails of a topic by its number."""
    return group[i].trails


def step_at(steps: Steps, i: int) -> Step:
    """Return a step by its number."""
    return steps.items[i]


def clear(steps: Steps) -> None:
    """Forget all steps."""
    steps.items.clear()


def new_step(steps: Steps) -> Step:
    """Note a step, to be filled in; there is room."""
    steps.items.append(Step())
    return steps.items[-1]


def drop(steps: Steps, i: int) -> None:
    """Forget a step. The last one gets its number."""
    steps.items[i] = steps.items[-1]
    steps.items.pop()


def is_in_first_line(cn: Any, place: int) -> bool:
    """Return whether a C-node has a place for a child in the line of memory that its bitmap stands in."""
    return place < 4


def fetch_main(main: Any) -> None:
    """Have what is read of a main node fetched."""


def fetch_branch(branch: Any) -> None:
    """Have what is read of a branch, or of an I-node, fetched."""


def fetch_level(inode: Any) -> None:
    """Have what is read of a level's first I-node fetched."""
