"""What a walk through a store goes with (topics_matching.py): its lanes, what waits for one, and what was found.

This is the interpreted text. In the compiled twin (`lanes.pxd`) all of it are structs of C, nodes are borrowed, and
what is said to be asked for is prefetched; here it is there already.
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.match.walk import Buffer
from subtrie._trie.packed_key import key_begins, words_followed

LANES = 24  # more would not wait less
ROUNDS = 4096  # while pinned

# What is on its way in a lane:
NODE = 0  # `node`: an I-node or a branch
MAIN = 1  # `main`: what I-node `node` held when it was looked at, perhaps pending
SLOT = 2  # where `main` has its child number `place`
CHILDREN = 3  # all places of `main` where it has children
TEXT = 4  # the text of branch `node`
PAIR = 5  # `node`: an answer

# How a step leaves its lane, and a round the walk:
GONE = 0
BUSY = 1
PENDING = 2
NO_MEMORY = 3


class Lane:
    """A node on its way from memory."""

    __slots__ = ("depth", "lev", "main", "node", "place", "state")
    state: int
    node: Any
    main: Any
    place: int
    lev: int  # how many bits of the hash have led here from the level's first I-node
    depth: int  # how many words have led to the level


class Walk:
    """One walk along the words of a filter (None: any word). What is to be visited waits as node and depth."""

    def __init__(self) -> None:
        self.lanes = [Lane() for _ in range(LANES)]
        self.count = 0  # of the lanes in use, which are the first ones
        self.held_up = 0  # the lane where something is pending
        self.waiting, self.found, self.hashes = Buffer(), Buffer(), Buffer()
        self.words: tuple[str | None, ...] = ()
        self.size = 0  # how many words
        self.least = 0  # how many words a topic has at least
        self.open = False  # it may have more of them
        self.separator = ""
        self.reserved: str | None = None  # topics do not count whose first word begins so
        self.wordless = False  # the empty text is a topic of no words, kept as one empty word


begin = Walk.__init__


def wait(w: Walk, node: Any, depth: int) -> bool:
    """Let a node wait for a lane, if there is memory for that."""
    w.waiting.items += (node, depth)
    return True


def next_waiting(w: Walk, lane: Lane) -> None:
    """Give a lane to the node that came last."""
    lane.depth, lane.lev = w.waiting.items.pop(), 0
    lane.node = w.waiting.items.pop()


def last_lane_to(w: Walk, i: int) -> None:
    """Let the last lane in use be number `i`, which is not used any more."""
    w.count -= 1
    w.lanes[i], w.lanes[w.count] = w.lanes[w.count], w.lanes[i]


def keep(found: Buffer, pair: Any) -> bool:
    """Take a reference to an answer, if there is memory for that."""
    found.items.append(pair)
    return True


def list_of(found: Buffer) -> list[Any]:
    """Hand the answers on, with the references that have been taken."""
    return found.items


def drop_answers(w: Walk) -> None:
    """Give memory back, and references that have not been handed on."""


def is_near(main: Any, place: int) -> bool:
    """Tell whether a child's place has come with the head of its C-node."""
    return True


def fetch_children(main: Any, count: int) -> None:
    """Ask for the places of a C-node's children, which did not come with its head."""


def fetch_pair(pair: Any) -> None:
    """Ask for a topic and its value."""


def fetch_text_apart(branch: Any) -> bool:
    """Tell whether the text of a branch stands somewhere else, and if so, ask for it."""
    return False


def has_word(w: Walk, branch: Any, depth: int) -> bool:
    """Tell whether a branch begins with a word of the filter."""
    return key_begins(branch, w.words[depth], w.separator)  # type: ignore[arg-type]


def followed_in(w: Walk, branch: Any, depth: int) -> int:
    """As `words_followed` in packed_key.py, of the filter's words from `depth` on."""
    return words_followed(branch, w.words, depth, w.separator)


def is_reserved(w: Walk, branch: Any) -> bool:
    """Tell whether a branch of the first level is out of sight of a filter that begins with a wildcard."""
    return w.reserved is not None and branch.key.startswith(w.reserved)  # type: ignore[no-any-return]


def is_no_text(branch: Any) -> bool:
    """Tell whether the text of a branch is empty."""
    return branch.key == ""  # type: ignore[no-any-return]
