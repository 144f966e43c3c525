"""Hashes of words, and the hashes that no word has.

A level of the subscription trie is a hash trie of words. Two places of its first C-node belong to the wildcards, and
one to the mark (`exact_layout.py`). No word hashes to them, so in any level the branches of the wildcards and of the
mark share their places with no other branch.

How words are hashed is in match/plan.py; compiled modules hash in place (`words.h`).
"""

from __future__ import annotations

from ctrie._machine import GROUPS

MARKED = GROUPS - 3
ONE_WORD = GROUPS - 2
MANY_WORDS = GROUPS - 1
