"""What a walk through a store goes with (topics_matching.py): what waits, what is looked at now, what was found.

This is the interpreted text. In the compiled twin (`store_walk.pxd`) all of it are structs of C, nodes are borrowed,
and what is said to be asked for is prefetched; here it is there already.
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.branch import Chain
from subtrie._trie.match.walk import Buffer
from subtrie._trie.packed_key import key_begins, words_followed

GROUP = 96  # nodes that are gone through side by side: more would not wait less


class Aim:
    """What counts in the levels at one depth: a word and its hash, or `any` word."""

    __slots__ = ("any", "hash", "word")

    def __init__(self, word: str | None, hash: int) -> None:
        self.word, self.hash, self.any = word, hash, word is None


class Walk:
    """One walk along the words of a filter (None: any word)."""

    def __init__(self) -> None:
        self.waiting = Buffer()  # to be visited: node and depth, which is the number of words before it
        # The group: nodes of one depth that are visited now.
        self.nodes: list[Any] = [None] * GROUP
        self.mains: list[Any] = [None] * GROUP  # what the I-nodes among them hold
        self.places = [0] * GROUP  # of those, the places of the children to go on with
        self.count = 0
        self.depth = 0
        self.apart: list[Any] = [None] * GROUP  # branches whose texts are on their way
        self.apart_count = 0
        self.found = Buffer()  # the pairs
        self.counted = 0  # of how many of them references have been taken
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
    w.aims = [*map(Aim, words, hashes), Aim(None, 0), Aim(None, 0)]
    return True


def aim_at(w: Walk, depth: int) -> Aim:
    """Return what counts at a depth."""
    return w.aims[depth]


def wait(w: Walk, node: Any, depth: int) -> bool:
    """Let a node wait, if there is memory for that."""
    w.waiting.items += (node, depth)
    return True


def last_depth(w: Walk) -> int:
    """Return the depth of the node that came last of those that wait."""
    return w.waiting.items[-1]  # type: ignore[no-any-return]


def take_last(w: Walk) -> Any:
    """Let that node wait no more."""
    w.waiting.items.pop()
    return w.waiting.items.pop()


def note_pair(w: Walk, pair: Any) -> bool:
    """Note an answer, if there is memory for that."""
    w.found.items.append(pair)
    return True


def take_references(w: Walk) -> None:
    """Take references to the answers that have been noted, and ask for their topics and values."""
    w.counted = w.found.count


def list_of_found(w: Walk) -> list[Any]:
    """Hand the answers on, with the references that have been taken."""
    return w.found.items


def end(w: Walk) -> None:
    """Give memory back, and references that have not been handed on."""


def fetch_children(cn: Any) -> None:
    """Ask for the places of a C-node's children."""


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
    return w.reserved is not None and branch.key.startswith(w.reserved)


def is_no_text(branch: Any) -> bool:
    """Tell whether the text of a branch is empty."""
    return branch.key == ""  # type: ignore[no-any-return]
