"""Hashes of words, and the two that stand for wildcards.

A level of the subscription trie is a hash trie of words. Of the 32 groups of the lowest five hash bits, two belong to
the wildcards and no word falls into them, so a wildcard's branch stands alone in its place in any level.

This is the interpreted text; compiled modules hash in place (`words.h`).
"""

from __future__ import annotations

from ctrie._nodes import mix

ONE_WORD = 30
MANY_WORDS = 31
_GROUPS_MASK = 31


def word_hash(word: str) -> int:
    """Return the hash of a word that is no wildcard. Keyed, as str's own is: nobody can prepare words that collide."""
    h = mix(hash(word))
    return h ^ 16 if h & _GROUPS_MASK >= ONE_WORD else h
