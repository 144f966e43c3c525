"""Matching in two steps: who asked for the very topic, found by one walk down its words, then everybody else.

What a filter without wildcards and a topic have in common is their text, and filters were validated when they were
subscribed: a topic that is found this way is valid, and nobody looks at its characters again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from subtrie._branch import is_wanted, subscribers_of
from subtrie._listing import branch_at
from subtrie._matching import Distinct, read_words
from subtrie.dialects import Dialect


def match_exact_first(root: Any, dialect: Dialect, topic: Any, word_hash: Callable[[str], int]) -> Iterator[Any]:
    """Return an iterator of the distinct subscribers of `topic` in a read-only trie; raises what a topic raises."""
    exact = None
    words: tuple[str, ...] = ()
    if type(topic) is str and len(topic) <= dialect.max_bytes:
        words = tuple(topic.split(dialect.separator))
        if not any(map(dialect.is_wild, words)):  # in a filter, that would be no ordinary word
            exact = branch_at(root, words, tuple(map(word_hash, words)), dialect.separator)
    if exact is None or not is_wanted(exact):
        words = dialect.split_topic(topic)
        exact = None
    elif topic == "" and dialect.zero_words:
        words = ()
    return _in_turn(root, dialect, words, tuple(map(word_hash, words or ("",))), exact)


def _in_turn(root: Any, dialect: Dialect, words: tuple[str, ...], hashes: tuple[int, ...], exact: Any) -> Iterator[Any]:
    yield from Distinct(dialect).named_by(_values(root, dialect, words, hashes, exact))


def _values(root: Any, dialect: Dialect, words: tuple[str, ...], hashes: tuple[int, ...], exact: Any) -> Iterator[Any]:
    if exact is not None:
        yield subscribers_of(exact)
    for branch, _ in read_words(root, words, hashes, dialect):
        if branch is not exact:
            yield subscribers_of(branch)
