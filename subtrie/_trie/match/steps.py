"""The group of topics that interleaved traversals (interleaved.py) are made for, the steps that are under way, and the
memory that one call for many topics has for both.

This is the interpreted text. In the compiled twin (`steps.pxd`) all of them are structs.
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.match.scratch import Question
from subtrie._trie.match.walk import Trails, Traversal

PREFETCHES = False  # whether fetching a node has an effect
GROUP = 16  # topics that are traversed side by side, at most
FEWEST = 4  # and at least
ROOM = 512  # steps that are under way at most
WILD = -1  # the number of the word, where a wildcard is looked for

# What a step's node is when it is looked at. Each kind has a queue.
AT_CHILD = 0  # a branch, or an I-node; until it is fetched, the C-node that it is a child of
AT_TEXT = 1  # a branch whose text stands apart
AT_INNER = 2  # the main node of an I-node inside a level
AT_MAIN = 3  # the main node of a level's first I-node; until it is fetched, that I-node
KINDS = 4


class Member:
    """One topic of a group, and its answer."""

    __slots__ = ("question", "trails")

    def __init__(self) -> None:
        self.question, self.trails = Question(), Trails()


Group = list[Member]


class Step:
    """Where one topic is, on one of its ways."""

    __slots__ = ("child", "hash", "level", "node", "positions", "topic", "word")
    node: Any  # fetched, but not looked at yet
    child: int
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


class Batch:
    """What one call for many topics has: a group, the number of topics in it, and their steps."""

    def __init__(self) -> None:
        self.group: Group = []
        self.count = 0
        self.steps = Steps()


begin_batch = Batch.__init__


def end_batch(batch: Batch) -> None:
    """Give back memory."""


def has_room(batch: Batch) -> bool:
    """Return whether there is memory for a group."""
    batch.group = batch.group or [Member() for _ in range(GROUP)]
    return True


def text_at(block: list[Any], at: int) -> Any:
    """Return the text of a topic by its number, borrowed."""
    return block[at]


def question_at(group: Group, i: int) -> Question:
    """Return the state of a topic's question by the topic's number."""
    return group[i].question


def topic_at(group: Group, i: int) -> Traversal:
    """Return a topic by its number."""
    return group[i].question.walk


def trails_at(group: Group, i: int) -> Trails:
    """Return the trails of a topic by its number."""
    return group[i].trails


def queued(steps: Steps, kind: int) -> int:
    """Return how many steps have a node of this kind."""
    return len(steps.queues[kind])


def step_at(steps: Steps, kind: int, i: int) -> Step:
    """Return a step by its number in a queue."""
    return steps.queues[kind][i]


def clear(steps: Steps) -> None:
    """Forget all steps."""
    for queue in steps.queues:
        queue.clear()


def forget(steps: Steps, kind: int) -> None:
    """Forget the steps in a queue."""
    steps.queues[kind].clear()


def next_step(steps: Steps, kind: int) -> Step:
    """Return a step to be filled in, and to be kept in this queue. There is room."""
    return Step()


def moved(step: Step, steps: Steps, kind: int) -> Step:
    """Return a step to be changed, and to be kept in another queue. It is forgotten with the queue in which it is."""
    return step


def keep(step: Step, steps: Steps, kind: int, wanted: bool) -> None:
    """Put the step that `next_step` or `moved` has returned last in this queue, if it is wanted."""
    if wanted:
        steps.queues[kind].append(step)


def fetch_main(main: Any) -> None:
    """Have what is read of a main node fetched."""


def fetch_branch(branch: Any) -> None:
    """Have what is read of a branch, or of an I-node, fetched."""


def fetch_level(inode: Any) -> None:
    """Have what is read of a level's first I-node fetched."""


def fetch_characters(text: Any) -> None:
    """Have the characters of a topic fetched."""
