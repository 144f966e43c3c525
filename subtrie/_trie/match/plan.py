"""What matching needs of a dialect; and topics that can be split without its methods.

This is the interpreted text. In the compiled twin (`plan.pyx`) it is C values, and words are found and hashed in place.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from ctrie._machine import GROUPS
from ctrie._nodes import Rooted, mix
from subtrie._trie.match.answer_cache import Cache
from subtrie._trie.match.reading import Query, new_query
from subtrie._trie.match.walk import MOST_WORDS, Traversal, Word
from subtrie._trie.words import MANY_WORDS, MARKED, ONE_WORD
from subtrie.dialects import Dialect

__all__ = [
    "Matchable",
    "Plan",
    "cache_of",
    "filter_path",
    "hash_in_filter",
    "is_plain_filter",
    "lay_out",
    "path_by",
    "plan_of",
    "prepare_whole",
    "put_query",
    "query_again",
    "query_of",
    "split_filter_in_place",
    "split_in_place",
    "word_hash",
]


class Plan:
    """What matching needs of a dialect, and whether the trie is one with `exact=True` (exact_layout.py)."""

    __slots__ = ("dialect", "exact", "in_place", "separator", "share", "splits", "unites")

    def __init__(self, dialect: Dialect, exact: bool) -> None:
        characters = [dialect.separator, dialect.one_word, dialect.many_words or dialect.one_word]
        self.dialect = dialect
        self.exact = exact
        self.separator = dialect.separator
        self.share = dialect.share_prefix
        self.unites = dialect.queue_groups
        self.in_place = all(len(c) == 1 and c.isascii() for c in characters)  # matching.py serves for it
        self.splits = self.in_place and all(
            getattr(type(dialect), name) is getattr(Dialect, name) for name in ("split_filter", "split_topic")
        )

    def hash_in_filter(self, word: str) -> int:
        """Return the hash of a word where it stands in a filter."""
        return hash_in_filter(self.dialect, word)


class Matchable(Rooted):
    """What a topic is matched against: the root of a trie, the plan of its dialect, and what is remembered of it."""

    __slots__ = ("_cache", "_home", "_plan")
    _plan: Plan
    _cache: Cache | None
    _home: Any  # where subscribers are weakly held, a weak reference to the trie itself; else None


plan_of = attrgetter("_plan")
cache_of = attrgetter("_cache")


def filter_path(trie: Matchable, filter: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the words of a filter, never none (reading.py on the filter of no words), and their hashes.

    The compiled body may return the whole text of one for a trie with `exact=True` (exact_layout.py).
    """
    return path_by(trie._plan, filter)


def is_plain_filter(trie: Matchable, filter: str) -> bool:
    """Return whether a filter is valid, and its words stand between separators in it, without a look by its dialect.
    For the compiled twin."""
    return False


def path_by(plan: Plan, filter: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The same, by a plan."""
    words = plan.dialect.split_filter(filter) or ("",)
    return words, tuple(hash_in_filter(plan.dialect, word) for word in words)


def hash_in_filter(dialect: Dialect, word: str) -> int:
    """Return the hash of a word where it stands in a filter."""
    if word == dialect.one_word:
        return ONE_WORD
    if word == dialect.many_words:
        return MANY_WORDS
    return word_hash(word)


def word_hash(word: str) -> int:
    """Return the hash of a word that is not a wildcard. It is keyed, like that of str, against provoked collisions."""
    h = mix(hash(word))
    return h ^ GROUPS // 2 if h & (GROUPS - 1) >= MARKED else h


def query_of(plan: Plan, topic: str) -> Query:
    """Split and validate a topic by its dialect's own methods, and hash its words."""
    words = plan.dialect.split_topic(topic)
    hashes = tuple(word_hash(word) for word in words or ("",))
    whole = plan.dialect.join(words) if plan.exact else None
    return new_query(words, hashes, plan.dialect, whole, 0 if whole is None else word_hash(whole))


def query_again(plan: Plan, topic: str) -> Query:
    """Return the query of a topic that has been matched, which need not be validated again."""
    if not plan.splits or type(topic) is not str or not topic.isascii() or topic == "":
        return query_of(plan, topic)
    words = tuple(topic.split(plan.separator))
    return new_query(words, tuple(map(word_hash, words)), plan.dialect, None, 0)


def split_in_place(t: Traversal, plan: Plan, topic: str) -> bool:
    """Put all that a traversal has to know of a topic into `t`. False, and size 0: the dialect's own methods have to
    split it."""
    t.size = 0
    if not plan.splits or type(topic) is not str or not topic.isascii() or topic == "":
        return False
    try:
        words = plan.dialect.split_topic(topic)
    except ValueError:
        return False
    if not 0 < len(words) <= MOST_WORDS:
        return False
    t.words = [Word(word, word_hash(word)) for word in words]
    t.size = len(words)
    t.reserved = plan.dialect.is_reserved(words)
    lay_out(t, plan, topic)
    return True


def split_filter_in_place(t: Traversal, plan: Plan, filter: str) -> bool:
    """Put the words of a filter into `t`, to be looked up. False, and size 0: the dialect's own methods have to split
    it."""
    t.size = 0
    if not plan.splits or type(filter) is not str or not filter.isascii() or filter == "":
        return False
    try:
        words = plan.dialect.split_filter(filter)
    except ValueError:
        return False
    if not 0 < len(words) <= MOST_WORDS or words[0] == plan.share:
        return False
    t.words = [Word(word, hash_in_filter(plan.dialect, word)) for word in words]
    t.size = len(words)
    t.separator = plan.separator
    return True


def prepare_whole(t: Traversal, plan: Plan, topic: str) -> bool:
    """Put a topic into `t`, to be looked for without its words in a trie with exact=True. False: this topic does not
    allow it."""
    if type(topic) is not str:
        return False
    t.words, t.size, t.full, t.reserved, t.exact, t.many_min = [], 0, 1, False, True, 0
    t.whole = Word(topic, word_hash(topic))
    t.separator = plan.separator
    return True


def put_query(t: Traversal, plan: Plan, query: Query) -> None:
    """Put a query into `t`, which is used no longer than the query. Size 0: reading.py has to answer it."""
    t.words = [*map(Word, query.words, query.hashes)] if plan.in_place and len(query.words) <= MOST_WORDS else []
    t.size = len(t.words)
    t.reserved = query.reserved
    lay_out(t, plan, query.whole)


def lay_out(t: Traversal, plan: Plan, whole: Any) -> None:
    """Put into `t` what a traversal has to know besides the topic's words."""
    dialect = plan.dialect
    t.exact = plan.exact
    if t.exact:
        t.whole = Word(whole, word_hash(whole))
    t.full = (1 << t.size + 1) - 1
    t.many_min = dialect.many_min
    t.separator = plan.separator
    t.one = dialect.one_word
    t.many = dialect.many_words or t.one
