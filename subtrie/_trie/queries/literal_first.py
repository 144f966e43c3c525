"""Matching in two steps: first the subscribers of the topic's own filter, without wildcards, then all others.

A filter without wildcards that equals a topic was validated when it was subscribed. So a topic that is found this way
is valid, and its characters are not checked again. In a trie with `exact=True` (exact_layout.py) this takes one probe,
otherwise one walk down the topic's words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from subtrie._trie.branch import is_wanted, subscribers_of
from subtrie._trie.match.audience import Distinct, new_audience
from subtrie._trie.match.reading import read_words
from subtrie._trie.queries.listing import branch_at
from subtrie.dialects import Dialect

SEVERAL = 2  # filters: how many they are is not known beforehand


def match_exact_first(trie: Any, root: Any, plan: Any, topic: Any, word_hash: Callable[[str], int]) -> Iterator[Any]:
    """Return an iterator over the distinct subscribers of `topic` in a read-only root of `trie`. TopicError for a bad
    topic."""
    dialect: Dialect = plan.dialect
    exact = None
    words: tuple[str, ...] = ()
    if type(topic) is str and len(topic) <= dialect.max_bytes:
        words = tuple(topic.split(dialect.separator))
        exact = _asked_by_name(root, plan, topic, words, word_hash)
    if exact is None or not is_wanted(exact):
        words = dialect.split_topic(topic)
        exact = None
    elif topic == "" and dialect.zero_words:
        words = ()
    whole = dialect.join(words) if plan.exact else None
    whole_hash = 0 if whole is None else word_hash(whole)
    hashes = tuple(map(word_hash, words or ("",)))
    distinct = Distinct(new_audience(trie, True, None, SEVERAL))
    return distinct.named_by(_values(root, dialect, words, hashes, whole, whole_hash, exact))


def _asked_by_name(root: Any, plan: Any, topic: str, words: tuple[str, ...], word_hash: Callable[[str], int]) -> Any:
    """Return the branch of the filter that equals this topic, or None."""
    if plan.exact:
        return branch_at(root, (topic,), (word_hash(topic),), plan.separator)
    if any(map(plan.dialect.is_wild, words)):  # in a filter, such a word would be a wildcard
        return None
    return branch_at(root, words, tuple(map(word_hash, words)), plan.separator)


def _values(
    root: Any,
    dialect: Dialect,
    words: tuple[str, ...],
    hashes: tuple[int, ...],
    whole: str | None,
    whole_hash: int,
    exact: Any,
) -> Iterator[Any]:
    if exact is not None:
        yield subscribers_of(exact)
    for branch, _ in read_words(root, words, hashes, dialect, whole, whole_hash):
        if branch is not exact:
            yield subscribers_of(branch)
