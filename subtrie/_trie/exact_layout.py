"""The layout of a trie made with `exact=True`: filters without a wildcard are stored by their whole text.

The first level of such a trie has

    filters without a wildcard      each as a branch whose word is the whole text, hashed as one word
    filters that begin with one     as in any other trie
    all other filters               below the branch of the *mark*, as if the empty word came before their first word

So one probe finds a filter without a wildcard, whatever its words, and the first C-node shows whether any filter has to
be searched word by word. The mark has a hash that no word has (`words.py`), so it shares its place with no word. Edits
know nothing of this: to them, a whole text is a filter of one word, and the mark is a first word like others. Only code
that spells out filters knows it. In a path the mark is None.

`overlapping` pays for this: if the given filter has a wildcard, it is compared with every whole text. docs/design.md
says when the layout is worth it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from subtrie._trie.words import MARKED
from subtrie.dialects import Dialect

MARK = ""


def exact_path(
    dialect: Dialect, words: tuple[str, ...], hashes: tuple[int, ...], word_hash: Callable[[str], int]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the words by which such a trie stores a filter, and their hashes."""
    if len(words) == 1:  # a whole text, or a wildcard
        return words, hashes
    if not any(map(dialect.is_wild, words)):
        text = dialect.join(words)
        return (text,), (word_hash(text),)
    return (words, hashes) if dialect.is_wild(words[0]) else ((MARK, *words), (MARKED, *hashes))


def plain_words(words: tuple[str, ...], hashes: tuple[int, ...]) -> tuple[str, ...]:
    """Return the words by which a trie stores a filter, without the mark."""
    return words[1:] if hashes[0] == MARKED else words


def filter_words(branch: Any, separator: str) -> tuple[str, ...]:
    """Return the words that a branch adds to a filter: all words of a whole text, but not the mark."""
    words = tuple(branch.key.split(separator))
    return words[1:] if branch.hash == MARKED else words
