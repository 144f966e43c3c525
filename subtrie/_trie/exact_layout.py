"""Where filters are in a trie made with `exact=True`: those without a wildcard by their whole text.

The first level of such a trie has

    filters without a wildcard      each a branch by itself, whose word is the whole text, hashed as one word
    filters that begin with one     as in any other trie
    all others                      behind the branch of the *mark*, as if the empty word came before their first one

so that a filter without a wildcard takes one probe to find, whatever its words, and a look at the first C-node tells
whether there is any filter that would have to be looked for word by word. The mark has a hash that no word has
(`words.py`), and thus its place to itself. To edits a whole text is one word of a filter of one, and the mark a first
word like others: they know nothing of this. Whoever spells filters out does. In a path the mark is None.

`overlapping` pays for it: where the given filter has a wildcard, it compares it with every whole text. When it is worth
it, docs/design.md says.
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
    """Return the words of a filter, and their hashes, by which such a trie keeps it."""
    if len(words) == 1:  # a whole text, or one word, which is as good, or a wildcard
        return words, hashes
    if not any(map(dialect.is_wild, words)):
        text = dialect.join(words)
        return (text,), (word_hash(text),)
    return (words, hashes) if dialect.is_wild(words[0]) else ((MARK, *words), (MARKED, *hashes))


def plain_words(words: tuple[str, ...], hashes: tuple[int, ...]) -> tuple[str, ...]:
    """Return the words by which a trie keeps a filter, without the mark."""
    return words[1:] if hashes[0] == MARKED else words


def filter_words(branch: Any, separator: str) -> tuple[str, ...]:
    """Return the words that a branch adds to a filter: those of a whole text, and not the mark."""
    words = tuple(branch.key.split(separator))
    return words[1:] if branch.hash == MARKED else words
