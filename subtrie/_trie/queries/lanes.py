"""What a walk through a store goes with (topics_matching.py): its lanes, what waits for one, and what was found.

This is the interpreted text. In the compiled twin (`lanes.pxd`) all of it are structs of C, nodes are borrowed, and
what is said to be asked for is prefetched; here it is there already.
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.branch import Chain
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
    depth: int  # how many words have led to the level, and no more than the filter has


class Aim:
    """What counts in the levels at one depth: a word and its hash, or `any` word."""

    __slots__ = ("any", "hash", "word")

    def __init__(self, word: str | None, hash: int) -> None:
        self.word, self.hash, self.any = word, hash, word is None


class Walk:
    """One walk along the words of a filter (None: any word). What is to be visited waits as node and depth."""

    def __init__(self) -> None:
        self.lanes = [Lane() for _ in range(LANES)]
        self.count = 0  # of the lanes in use, which are the first ones
        self.held_up = 0  # the lane where something is pending
        self.waiting, self.found = Buffer(), Buffer()
        self.aims: list[Aim] = []  # for each of the words, and one for what is below the last of them
        self.words: tuple[str | None, ...] = ()
        self.size = 0  # how many words
        self.least = 0  # how many words a topic has at least
        self.open = False  # it may have more of them
        self.separator = ""
        self.reserved: str | None = None  # topics do not count whose first word begins so
        self.wordless = False  # the empty text is a topic of no words, kept as one empty word


begin = Walk.__init__


def set_aims(w: Walk, words: tuple[str | None, ...], hashes: tuple[int, ...]) -> bool:
    """Note the words, if there is memory for that."""
    w.words = words
    w.size = len(words)
    w.aims = [*map(Aim, words, hashes), Aim(None, 0)]
    return True


def aim_at(w: Walk, depth: int) -> Aim:
    """Return what counts at a depth."""
    return w.aims[depth]


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


def keep(w: Walk, pair: Any) -> bool:
    """Take a reference to an answer, if there is memory for that."""
    w.found.items.append(pair)
    return True


def list_of_found(w: Walk) -> list[Any]:
    """Hand the answers on, with the references that have been taken."""
    return w.found.items


def end(w: Walk) -> None:
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


def is_word(aim: Aim, branch: Any) -> bool:
    """Tell, of a branch with the word's hash, whether it is that word and nothing more; False also where that takes a
    closer look, as for the empty word."""
    return not isinstance(branch, Chain) and branch.key == aim.word != ""


def has_word(w: Walk, branch: Any, depth: int) -> bool:
    """Tell whether a branch begins with a word of the filter."""
    return key_begins(branch, w.words[depth], w.separator)  # type: ignore[arg-type]


def followed_in(w: Walk, branch: Any, depth: int) -> int:
    """As `words_followed` in packed_key.py, of the filter's words from `depth` on."""
    return words_followed(branch, w.words, depth, w.separator)


def is_plain(w: Walk, branch: Any) -> bool:
    """Tell whether a branch of the first level is neither out of sight of a filter that begins with a wildcard nor the
    topic of no words; False also where that takes a closer look."""
    return branch.key != "" and (w.reserved is None or not branch.key.startswith(w.reserved))


def is_reserved(w: Walk, branch: Any) -> bool:
    """Tell whether a branch of the first level is out of sight of a filter that begins with a wildcard."""
    return w.reserved is not None and branch.key.startswith(w.reserved)  # type: ignore[no-any-return]


def is_no_text(branch: Any) -> bool:
    """Tell whether the text of a branch is empty."""
    return branch.key == ""  # type: ignore[no-any-return]
