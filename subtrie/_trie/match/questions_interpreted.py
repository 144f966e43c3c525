"""The interpreted twin's entry to matching: the functions of questions.pyx on reading.py alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ctrie._nodes import Rooted
from subtrie._trie.match.answer_cache import (
    DELIVERIES,
    MOST_SEEN,
    SUBSCRIBERS,
    Cache,
    own_table,
    recall,
    remember,
    stripe_of_thread,
    wanted_place,
)
from subtrie._trie.match.deliveries import Told, delivered, found_by, held
from subtrie._trie.match.reading import (
    TRIAL,
    WORTH,
    Query,
    Reading,
    distinct_subscribers,
    has_groups,
    new_query,
    read_matches,
)
from subtrie._trie.words import MANY_WORDS, ONE_WORD, word_hash
from subtrie.dialects import Dialect

__all__ = [
    "Matchable",
    "Plan",
    "all_found",
    "all_held",
    "deliveries",
    "deliveries_many",
    "filter_path",
    "has_match",
    "hash_in_filter",
    "match",
    "match_many",
]


class Plan:
    """What matching needs of a dialect, and whether the trie is one with `exact=True` (exact_layout.py)."""

    __slots__ = ("dialect", "exact", "separator", "share")

    def __init__(self, dialect: Dialect, exact: bool) -> None:
        self.dialect = dialect
        self.exact = exact
        self.separator = dialect.separator
        self.share = dialect.share_prefix

    def hash_in_filter(self, word: str) -> int:
        """Return the hash of a word where it stands in a filter."""
        return hash_in_filter(self.dialect, word)


class Matchable(Rooted):
    """What a topic is matched against: the root of a trie, the plan of its dialect, and what is remembered of it."""

    __slots__ = ("_cache", "_home", "_plan")
    _plan: Plan
    _cache: Cache | None
    _home: Any  # where subscribers are weakly held, a weak reference to the trie itself; else None


def filter_path(trie: Matchable, filter: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the words of a filter, never none (reading.py on the filter of no words), and their hashes.

    The compiled body may return the whole text of one for a trie with `exact=True` (exact_layout.py).
    """
    plan = trie._plan
    words = plan.dialect.split_filter(filter) or ("",)
    return words, tuple(hash_in_filter(plan.dialect, word) for word in words)


def hash_in_filter(dialect: Dialect, word: str) -> int:
    """Return the hash of a word where it stands in a filter."""
    if word == dialect.one_word:
        return ONE_WORD
    if word == dialect.many_words:
        return MANY_WORDS
    return word_hash(word)


def _query_of(plan: Plan, topic: str) -> Query:
    words = plan.dialect.split_topic(topic)
    hashes = tuple(word_hash(word) for word in words or ("",))
    whole = plan.dialect.join(words) if plan.exact else None
    return new_query(words, hashes, plan.dialect, whole, 0 if whole is None else word_hash(whole))


def match(trie: Matchable, topic: str, take_turns: bool = True) -> tuple[Any, ...]:
    """Return the distinct subscribers of `topic` at one instant."""
    return _match(trie, topic, take_turns)[0]


def _match(trie: Matchable, topic: str, take_turns: bool) -> tuple[tuple[Any, ...], bool]:
    """The same, and tell whether the answer depends on whose turn it is."""
    return _answer(trie, topic, SUBSCRIBERS, lambda reading: distinct_subscribers(reading, take_turns))


def deliveries(trie: Matchable, topic: str) -> tuple[Told, ...]:
    """Return who gets a message on `topic`, at one instant."""
    dialect = trie._plan.dialect
    return _answer(
        trie, topic, DELIVERIES, lambda reading: delivered(found_by(reading.found, dialect, True), dialect, True)
    )[0]


def deliveries_many(trie: Matchable, topics: Iterable[str]) -> list[tuple[Told, ...]]:
    """Return `deliveries` of each topic."""
    return [deliveries(trie, topic) for topic in topics]


def all_held(trie: Matchable, topic: str) -> tuple[Told, ...]:
    """Return all who are subscribed to what `topic` reaches, at one instant."""
    return held(all_found(trie, topic), trie._plan.dialect)


def all_found(trie: Matchable, topic: str) -> tuple[Told, ...]:
    """As `all_held`, with what `held` has to look at."""
    return found_by(read_matches(trie._root, _query_of(trie._plan, topic)).found, trie._plan.dialect, False)


def _answer(
    trie: Matchable, topic: str, kind: int, answer_of: Callable[[Reading], tuple[Any, ...]]
) -> tuple[tuple[Any, ...], bool]:
    """Return what is made of a reading, or remembered, and tell whether it depends on whose turn it is."""
    if trie._cache is None or type(topic) is not str:
        reading = read_matches(trie._root, _query_of(trie._plan, topic))
        return answer_of(reading), has_groups(reading)
    table = own_table(trie._cache, stripe_of_thread(kind))
    answer = recall(table, topic)
    if answer is not None:
        return answer, False
    query = _query_of(trie._plan, topic)
    place = wanted_place(table, topic)
    reading = read_matches(trie._root, query)
    answer = answer_of(reading)
    if has_groups(reading):
        return answer, True
    # What holds in a snapshot, if it took one, says nothing of the trie.
    if place >= 0 and reading.root is trie._root and len(reading.seen) <= 2 * MOST_SEEN:
        remember(table, place, (topic, answer, trie._root, reading.seen[0], *reading.seen))
    return answer, False


def has_match(trie: Matchable, topic: str) -> bool:
    """Tell whether anybody is subscribed to `topic`; stops at the first."""
    return bool(read_matches(trie._root, _query_of(trie._plan, topic), True).found)


def match_many(trie: Matchable, topics: Iterable[str]) -> list[tuple[Any, ...]]:
    """Return `match` of each topic.

    A topic that comes again in a list or tuple gets the same answer again: all of them are asked for at once, and an
    answer of any instant since then is one of an instant during the call. Not so where the user's code makes the topics
    one by one, and may have written to the trie meanwhile, nor where each question takes a group's turn.
    """
    if type(topics) not in (list, tuple):
        return [match(trie, topic) for topic in topics]
    answered: dict[str, tuple[Any, ...]] | None = None
    answers: list[tuple[Any, ...]] = []
    start = 0
    while block := list(topics[start : start + TRIAL]):  # type: ignore[index]
        if start == 0 and _come_again([topic for topic in block if type(topic) is str]):
            answered = {}
        if answered is None:
            answers += [match(trie, topic) for topic in block]
        elif not _match_or_repeat(trie, block, answered, answers):
            answered = None
        start += TRIAL
    return answers


def _come_again(topics: list[str]) -> bool:
    """Tell whether so many of these come several times that it is WORTH keeping answers."""
    return (len(topics) - len(set(topics))) * WORTH >= len(topics)


def _match_or_repeat(
    trie: Matchable, block: list[str], answered: dict[str, tuple[Any, ...]], answers: list[tuple[Any, ...]]
) -> bool:
    """Match those that have not been `answered`, and tell whether there were enough others."""
    repeated = 0
    for topic in block:
        known = answered.get(topic) if type(topic) is str else None
        if known is not None:
            repeated += 1
            answers.append(known)
            continue
        answer, by_turns = _match(trie, topic, True)
        answers.append(answer)
        if type(topic) is str and not by_turns:
            answered[topic] = answer
    return repeated * WORTH >= len(block)
