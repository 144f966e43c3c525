"""The state of a walk through a store (topics_matching.py): waiting nodes, the present group, the answers found.

This is the interpreted twin. In the compiled one (`store_walk.pxd`) the state is a C struct, nodes are borrowed, and
the functions that fetch prefetch memory; here they do nothing.
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.match.plan import word_hash
from subtrie._trie.match.walk import Buffer, Word
from subtrie._trie.packed_key import words_followed

GROUP = 96  # how many nodes are visited side by side; with more, the walk would not wait less


class Aim:
    """What the walk looks for in the levels at one depth: a word, or `any` one."""

    __slots__ = ("any", "word")

    def __init__(self, word: str | None) -> None:
        self.any = word is None
        self.word = Word("", 0) if word is None else Word(word, word_hash(word))


class Walk:
    """One walk along the words of a filter (None: any word)."""

    def __init__(self) -> None:
        self.waiting = Buffer()  # nodes to visit, each with its depth, which is the number of words before it
        # The group: nodes of one depth that are visited now.
        self.nodes: list[Any] = [None] * GROUP
        self.mains: list[Any] = [None] * GROUP  # the main nodes of the I-nodes among them
        self.numbers = [0] * GROUP  # the numbers in these of the children to visit next
        self.count = 0
        self.depth = 0
        self.apart: list[Any] = [None] * GROUP  # branches whose texts are being fetched
        self.apart_count = 0
        self.found = Buffer()  # the pairs
        self.counted = 0  # for how many of them references have been taken
        self.aims: list[Aim] = []  # one for each word, and one for the levels below the last word
        self.words: tuple[str | None, ...] = ()
        self.size = 0  # the number of words
        self.least = 0  # the least number of words of a topic
        self.open = False  # topics may have more words
        self.separator = self.separator_in_place = ""
        self.reserved: str | None = None  # topics whose first word begins with this are left out
        self.wordless = False  # the empty text is a topic of no words, stored as one empty word


begin = Walk.__init__


def set_aims(w: Walk, words: tuple[str | None, ...]) -> bool:
    """Set the words; return False if there is no memory."""
    w.words = words
    w.size = len(words)
    w.aims = [*map(Aim, words), Aim(None), Aim(None)]
    return True


def aim_at(w: Walk, depth: int) -> Aim:
    """Return the aim at a depth."""
    return w.aims[depth]


def wait(w: Walk, node: Any, depth: int) -> bool:
    """Add a node to those that wait; return False if there is no memory."""
    w.waiting.items += (node, depth)
    return True


def last_depth(w: Walk) -> int:
    """Return the depth of the waiting node that was added last."""
    return w.waiting.items[-1]  # type: ignore[no-any-return]


def pop_last(w: Walk) -> Any:
    """Remove and return that node."""
    w.waiting.items.pop()
    return w.waiting.items.pop()


def note_pair(w: Walk, pair: Any) -> bool:
    """Note an answer; return False if there is no memory."""
    w.found.items.append(pair)
    return True


def take_references(w: Walk) -> None:
    """Take references to the answers noted so far, and prefetch their topics and values."""
    w.counted = w.found.count


def list_of_found(w: Walk) -> list[Any]:
    """Return the answers, and give their references to the caller."""
    return w.found.items


def end(w: Walk) -> None:
    """Free the memory, and release references that the caller did not get."""


def prefetch_children(cn: Any) -> None:
    """Prefetch where a C-node has its children."""


def followed_in(w: Walk, branch: Any, depth: int) -> int:
    """The same as `words_followed` in packed_key.py, for the filter's words from `depth` on."""
    return words_followed(branch, w.words, depth, w.separator)


def is_reserved(w: Walk, branch: Any) -> bool:
    """Return whether a branch of the first level is reserved: filters that begin with a wildcard do not match it."""
    return w.reserved is not None and branch.key.startswith(w.reserved)


def is_no_text(branch: Any) -> bool:
    """Return whether the text of a branch is empty."""
    return branch.key == ""  # type: ignore[no-any-return]
