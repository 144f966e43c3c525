# distutils: extra_compile_args = SMALL
"""`match_iter`: first the subscribers of the filter that equals the topic, then all others.

The topic's own filter is found by its words. Its subscribers are handed over one by one, before the others are looked
for. All is read in what the trie was at the instant of the call (frozen.py).

A filter that equals a topic was validated when it was subscribed. So a topic that is found this way is valid, and a
dialect is not asked again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cython

from subtrie.dialects import Dialect
from subtrie.errors import TopicError

if not cython.compiled:
    from subtrie._trie.branch import is_wanted, subscribers_of
    from subtrie._trie.frozen import frozen_root
    from subtrie._trie.groups import Shared
    from subtrie._trie.match.plan import Matchable, filter_path
    from subtrie._trie.match.questions import taken_at
    from subtrie._trie.words import MANY_WORDS, ONE_WORD, word_hash
else:
    from subtrie._trie.match.plan import word_hash

from subtrie._trie.exact_layout import exact_path
from subtrie._trie.match.audience import Distinct, new_audience
from subtrie._trie.match.reading import read_words
from subtrie._trie.queries.listing import branch_at

SEVERAL = 2  # filters: how many they are is not known beforehand


def match_iter(trie: Matchable, topic: Any) -> Iterator[Any]:
    """Return an iterator over the distinct subscribers of a topic; TopicError for a bad one that is no filter."""
    root = frozen_root(trie)
    path = _own_path(trie, topic)
    own = None if path is None else branch_at(root, *path, trie._plan.separator)
    if own is not None and not is_wanted(own):
        own = None
    taken = taken_at(trie, root, topic) if own is None else None
    words = None if own is not None or taken is not None else trie._plan.dialect.split_topic(topic)
    return _own_first(trie, root, topic, own, taken, words, Distinct(new_audience(trie, topic, SEVERAL)))


def _own_first(
    trie: Any, root: Any, topic: Any, own: Any, taken: list[Any] | None, words: Any, distinct: Distinct
) -> Iterator[Any]:
    if trie is None or root is None:
        raise TypeError("there is no trie to ask")  # anyone can call this generator
    value: Any = None
    if own is not None:
        value = subscribers_of(own)
        yield from distinct.by(value) if isinstance(value, Shared) else distinct.among(value)
        taken = taken_at(trie, root, topic)
    if taken is None:
        yield from distinct.named_by(
            subscribers_of(each) for each in _found(trie, root, topic, words) if each is not own
        )
        return
    shared: list[Any] = []
    for one, hash in taken:
        if isinstance(one, Shared):
            if one is not value:
                shared.append(one)
        elif distinct.is_new(one, hash):
            yield one
    yield from distinct.named_by(shared)


def _own_path(trie: Matchable, topic: Any) -> tuple[tuple[str, ...], tuple[int, ...]] | None:
    """Return words and hashes of the filter that is the topic itself; None if there is none."""
    plan = trie._plan
    dialect = plan.dialect
    if type(topic) is not str:
        return None
    if type(dialect) is Dialect:
        try:
            words, hashes = filter_path(trie, topic)
        except TopicError:
            return None
        if ONE_WORD in hashes or MANY_WORDS in hashes:  # in a filter, such a word is a wildcard
            return None
        return exact_path(dialect, words, hashes, word_hash) if plan.exact else (words, hashes)
    if len(topic) > dialect.max_bytes:
        return None
    words = tuple(topic.split(dialect.separator))
    if plan.exact:
        return (topic,), (word_hash(topic),)
    return None if any(map(dialect.is_wild, words)) else (words, tuple(map(word_hash, words)))


def _found(trie: Matchable, root: Any, topic: Any, words: tuple[str, ...] | None) -> list[Any]:
    """Return the branches that the topic reaches, read word by word; with its words, if they are known."""
    dialect = trie._plan.dialect
    if words is None:
        words = () if topic == "" and dialect.zero_words else tuple(topic.split(dialect.separator))
    whole = dialect.join(words) if trie._plan.exact else None
    whole_hash = 0 if whole is None else word_hash(whole)
    hashes = tuple(map(word_hash, words or ("",)))
    return [branch for branch, _ in read_words(root, words, hashes, dialect, whole, whole_hash)]
