"""The group of topics that interleaved traversals (interleaved.py) are made for, and the steps that are under way.

This is the interpreted text. In the compiled twin (`steps.pxd`) both are arrays of structs.
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.match.scratch import Scratch
from subtrie._trie.match.walk import Trails, Traversal

ROOM = 512  # steps that are under way at most
WILD = -1  # the number of the word, where a wildcard is looked for

# What a step's node is. Each kind has a queue.
AT_PLACE = 0  # a C-node, of which one place for a child has been fetched
AT_CHILD = 1  # a branch, or an I-node
AT_TEXT = 2  # a branch whose text stands apart
AT_INNER = 3  # the main node of an I-node inside a level
AT_LEVEL = 4  # the first I-node of a level
AT_MAIN = 5  # its main node
KINDS = 6


class Member:
    """One topic of a group, and its answer."""

    __slots__ = ("scratch", "trails")

    def __init__(self) -> None:
        self.scratch, self.trails = Scratch(), Trails()


Group = list[Member]


class Step:
    """Where one topic is, on one of its ways."""

    __slots__ = ("hash", "level", "node", "place", "positions", "topic", "word")
    node: Any  # fetched, but not looked at yet
    place: int
    topic: Traversal
    word: int  # the number of the word that is looked for
    hash: int  # its hash: what C-nodes have not told apart yet
    positions: int  # after it
    level: int  # the number of the level


class Steps:
    """The steps that are under way: a queue for each kind of node."""

    __slots__ = ("queues",)

    def __init__(self) -> None:
        self.queues: list[list[Step]] = [[] for _ in range(KINDS)]


def scratch_at(group: Group, i: int) -> Scratch:
    """Return the state of a topic's question by the topic's number."""
    return group[i].scratch


def topic_at(group: Group, i: int) -> Traversal:
    """Return a topic by its number."""
    return group[i].scratch.walk


def trails_at(group: Group, i: int) -> Trails:
    """Return the trails of a topic by its number."""
    return group[i].trails


def queued(steps: Steps, kind: int) -> int:
    """Return how many steps have a node of this kind."""
    return len(steps.queues[kind])


def step_at(steps: Steps, kind: int, i: int) -> Step:
    """Return a step by its place in a queue."""
    return steps.queues[kind][i]


def clear(steps: Steps) -> None:
    """Forget all steps."""
    for queue in steps.queues:
        queue.clear()


def forget(steps: Steps, kind: int) -> None:
    """Forget the steps in a queue."""
    steps.queues[kind].clear()


def new_step(steps: Steps, kind: int) -> Step:
    """Note a step, to be filled in; there is room."""
    steps.queues[kind].append(Step())
    return steps.queues[kind][-1]


def moved(step: Step, steps: Steps, kind: int) -> Step:
    """Note a step in another queue, and return it there. It is forgotten with the queue in which it was."""
    steps.queues[kind].append(step)
    return step


def fetch_main(main: Any) -> None:
    """Have what is read of a main node fetched."""


def fetch_branch(branch: Any) -> None:
    """Have what is read of a branch, or of an I-node, fetched."""


def fetch_level(inode: Any) -> None:
    """Have what is read of a level's first I-node fetched."""
