"""The steps of a warming pass (warming.py) that are under way.

This is the interpreted text. In the compiled twin (`steps.pxd`) steps are structs of C.
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.match.walk import Traversal

ROOM = 1024  # steps that are under way at most

# What a step's node is.
AT_LEVEL = 0  # the first I-node of a level
AT_MAIN = 1  # its main node
AT_INNER = 2  # the main node of another I-node of the level
AT_PLACE = 3  # a C-node, of which one place for a child has been fetched
AT_CHILD = 4  # a branch, or an I-node
AT_TEXT = 5  # a branch whose text stands apart


class Step:
    """Where a pass is with one topic, on one of its ways."""

    __slots__ = ("end", "hash", "node", "place", "positions", "state", "topic", "whole")
    node: Any  # fetched, but not looked at yet
    state: int
    place: int
    topic: int
    hash: int  # of the word or wildcard that is looked for there: what C-nodes have not told apart yet
    whole: int  # the same, whole
    positions: int  # after it
    end: int  # how many characters the word has


class Steps:
    """Steps, in the order in which they are made."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[Step] = []

    @property
    def count(self) -> int:
        return len(self.items)


def topic_at(topics: list[Traversal], i: int) -> Traversal:
    """Return a topic by its number."""
    return topics[i]


def step_at(steps: Steps, i: int) -> Step:
    """Return a step by its number."""
    return steps.items[i]


def last_step(steps: Steps) -> Step:
    """Return the step that was noted last."""
    return steps.items[-1]


def clear(steps: Steps) -> None:
    """Forget all steps."""
    steps.items.clear()


def new_step(steps: Steps) -> Step:
    """Note a step, to be filled in; there is room."""
    steps.items.append(Step())
    return steps.items[-1]


def same_step(steps: Steps, s: Step) -> Step:
    """Note a step like this one."""
    step = new_step(steps)
    for name in Step.__slots__:
        if hasattr(s, name):
            setattr(step, name, getattr(s, name))
    return step


def is_in_first_line(cn: Any, place: int) -> bool:
    """Return whether a C-node has a place for a child in the line of memory that its bitmap stands in."""
    return place < 4


def fetch_main(main: Any) -> None:
    """Have what is read of a main node fetched."""


def fetch_branch(branch: Any) -> None:
    """Have what is read of a branch, or of an I-node, fetched."""


def fetch_level(inode: Any) -> None:
    """Have what is read of a level's first I-node fetched."""
