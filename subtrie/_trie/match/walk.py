"""What a traversal (matching.py) needs: the words of a topic, its notes, and views of the nodes that it passes.

This is the interpreted text. In the compiled twin (`walk.pxd`) words are hashed in place, positions are the bits of one
machine word, notes are pointers in buffers, and nothing that is passed is counted.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from ctrie._slot import peek
from subtrie._trie.packed_key import key_begins

MOST_WORDS = 63
NOTED = (
    3  # what `seen` holds for an I-node: itself, its main node, and the positions of a level that begins there, or 0
)
ABOVE = 3  # what `above` holds for a level: the branch that leads to it, that branch's level, the number of its record
PACKED = 7  # characters stand in the branch itself, where one is packed
OTHERS_MAY_WRITE = True  # while a traversal reads; not so where a lock that it holds keeps them from it


class Word:
    """A word of a topic: its characters, how many they are, and its hash."""

    __slots__ = ("hash", "length", "text")

    def __init__(self, text: str, hash: int) -> None:
        self.text = text
        self.length = len(text)
        self.hash = hash


class Buffer:
    """Notes, one after the other."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[Any] = []

    @property
    def count(self) -> int:
        return len(self.items)


class Trails:
    """How a traversal came to what it found: of each level but the first, what ABOVE tells; of each branch found, its
    level; and, when all is found, the records of a trail (trail.py)."""

    __slots__ = ("above", "levels", "records")

    def __init__(self) -> None:
        self.above, self.levels, self.records = Buffer(), Buffer(), Buffer()


class Traversal:
    """A topic on its way through a trie, what was read on it, and the branches that were found."""

    __slots__ = (
        "exact",
        "found",
        "full",
        "level",
        "many",
        "many_min",
        "one",
        "only_first",
        "pending",
        "pending_main",
        "reserved",
        "seen",
        "separator",
        "size",
        "trails",
        "whole",
        "words",
    )
    words: list[Word]
    size: int  # 0: not split yet, which is for a trie with exact=True only (exact_layout.py)
    whole: Word  # in such a trie: the topic as one word
    exact: bool
    full: int  # the positions 0 to size
    many_min: int  # the least number of words that the many-words wildcard stands for
    separator: str
    one: str
    many: str
    reserved: bool  # filters that begin with a wildcard do not see this topic
    only_first: bool
    trails: Trails | None  # None: not wanted
    level: int  # the number of the present level, from 0
    pending: Any  # the I-node of an undecided GCAS that stopped the traversal
    pending_main: Any
    seen: Buffer
    found: Buffer


class Ends:
    """Where a traversal's next notes go."""

    __slots__ = ("_found", "_seen")

    def __init__(self, t: Traversal) -> None:
        self._seen, self._found = t.seen.items, t.found.items

    @property
    def found(self) -> int:
        """How many branches have been found."""
        return len(self._found)


def rewind(t: Traversal) -> None:
    """Forget all notes."""
    t.seen, t.found, t.level = Buffer(), Buffer(), -1
    if t.trails is not None:
        t.trails.above, t.trails.levels = Buffer(), Buffer()


ends_of = Ends


def count_notes(t: Traversal, ends: Ends) -> None:
    """Write down how many notes there are. For the compiled twin."""


def has_room(ends: Ends) -> bool:
    """Return whether what one level notes has room. Lists always have."""
    return True


def make_room(t: Traversal) -> bool:
    """Return whether there is memory for more notes. For the compiled twin."""
    return True


def noted(seen: list[Any], ends: Ends) -> int:
    """Return how many items the notes of what was read have."""
    return len(seen)


def note(ends: Ends, inode: Any, positions: int) -> Any:
    """Read an I-node's main node, note both, and return it."""
    main = peek(inode)
    note_both(ends, inode, main, positions)
    return main


def note_both(ends: Ends, inode: Any, main: Any, positions: int) -> None:
    """Note an I-node and the main node that it held."""
    ends._seen += (inode, main, positions)


def note_found(ends: Ends, branch: Any) -> None:
    """Note a branch with subscribers."""
    ends._found.append(branch)


def note_read(t: Traversal, inode: Any, main: Any) -> bool:
    """Note an I-node and its main node for the second pass, if there is one, and if there is memory for that."""
    t.seen.items += (inode, main, 0)
    return True


def push_branch(t: Traversal, branch: Any) -> bool:
    """Note a branch with subscribers, if there is memory for that."""
    t.found.items.append(branch)
    return True


def note_above(t: Traversal, branch: Any) -> bool:
    """Note which branch leads to the level that is noted next."""
    assert t.trails is not None
    t.trails.above.items += (branch, t.level, 0)
    return True


def levels_noted(t: Traversal) -> int:
    """Return how many levels `note_above` has noted."""
    return 0 if t.trails is None else t.trails.above.count // ABOVE


def buffer_start(buffer: Buffer) -> None:
    """Begin with a buffer. For the compiled twin, as is the next."""


def buffer_free(buffer: Buffer) -> None:
    """Give back memory."""


def buffer_push(buffer: Buffer, item: Any) -> bool:
    """Add a note, if there is memory for it."""
    buffer.items.append(item)
    return True


def address(thing: Any) -> Any:
    """Return what C would point to."""
    return thing


def as_node(noted: Any) -> Any:
    """Return the node that was noted."""
    return noted


def lowest_bit(bits: int) -> int:
    """Return the number of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1


def bit(i: int) -> int:
    """Return the bit of a number."""
    return 1 << i


def after_one(t: Traversal, positions: int) -> int:
    """Return the positions after the wildcard for one word."""
    return positions << 1 & t.full


def after_many(t: Traversal, positions: int) -> int:
    """Return the positions after the wildcard for many words."""
    fewest = lowest_bit(positions) + t.many_min
    return t.full >> fewest << fewest if fewest <= t.size else 0


def is_one_word(t: Traversal, i: int, j: int) -> bool:
    """Return whether two words of the topic are the same."""
    return t.words[i].text == t.words[j].text


def begins_branch(word: Word, branch: Any, separator: str) -> bool:
    """Return whether a branch with the hash of a word begins with it."""
    return key_begins(branch, word.text, separator)


def text_in(branch: Any) -> str:
    """Return the text of a borrowed branch."""
    return branch.key  # type: ignore[no-any-return]


length_of = len


def word_end(text: str, at: int, separator: str) -> int:
    """Return where the word ends that begins at `at`."""
    end = text.find(separator, at)
    return len(text) if end < 0 else end


def character_at(text: str, at: int) -> str:
    """Return a character by its number."""
    return text[at]


def is_part(word: Word, text: str, start: int, end: int) -> bool:
    """Return whether a word is what a text holds from `start` to `end`."""
    return word.text == text[start:end]


size_of = len


def item_of(array: tuple[Any, ...], i: int) -> Any:
    """Return an item of a borrowed tuple."""
    return array[i]


is_readonly = attrgetter("readonly")


def prefetch(node: Any) -> None:
    """Fetch a node into the processor's caches. For the compiled twin, as are the next ones."""


def prefetch_to_count(thing: Any) -> None:
    """The same, for an object to which a reference will be taken."""


def fetch_text_apart(branch: Any) -> bool:
    """Return whether the text of a branch stands somewhere else, and if so, have it fetched."""
    return len(branch.key) > PACKED


def prefetch_wanted(branch: Any) -> None:
    """Have what a branch holds for its subscribers fetched."""
