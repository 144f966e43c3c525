"""Hashes of words, and those that no word has.

A level of the subscription trie is a hash trie of words. Of the groups that its first C-node tells apart, two belong to
the wildcards and one to the mark (`exact_layout.py`), and no word falls into them, so the branch of each of these
stands alone in its place in any level.

This is the interpreted text; compiled modules hash in place (`words.h`).
"""

from __future__ import annotations

from ctrie._arrays import GROUPS
from ctrie._nodes import mix

MARKED = GROUPS - 3
ONE_WORD = GROUPS - 2
MANY_WORDS = GROUPS - 1


def word_hash(word: str) -> int:
    """Return the hash of a word that is no wildcard. Keyed, as str's own is: nobody can prepare words that collide."""
    h = mix(hash(word))
    return h ^ GROUPS // 2 if h & (GROUPS - 1) >= MARKED else h
