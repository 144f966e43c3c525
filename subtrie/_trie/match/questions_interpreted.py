"""The interpreted twin's entry to matching: the functions of questions.pyx, on the same two passes (traversal.py)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain
from typing import Any, NamedTuple

from ctrie._nodes import Root, Rooted, freeze_root
from ctrie._slot import unpin
from subtrie._trie.branch import Branch, subscribers_of
from subtrie._trie.groups import Shared
from subtrie._trie.match.answer_cache import (
    DELIVERIES,
    MOST_SEEN,
    SUBSCRIBERS,
    Cache,
    own_stripe,
    own_table,
    recall,
    remember,
    wanted_place,
)
from subtrie._trie.match.deliveries import Told, delivered, found_by, held
from subtrie._trie.match.reading import RETRIES, TRIAL, WORTH, Distinct, Query, extended, new_query, read_matches
from subtrie._trie.match.traversal import CHANGED, UNSPLIT, read_pinned
from subtrie._trie.match.walk import MOST_WORDS, Trails, Traversal, Word
from subtrie._trie.words import MANY_WORDS, ONE_WORD, word_hash
from subtrie.dialects import Dialect

__all__ = [
    "Matchable",
    "Plan",
    "all_found",
    "all_held",
    "deliveries",
    "deliveries_many",
    "exact_first",
    "filter_path",
    "has_match",
    "hash_in_filter",
    "match",
    "match_many",
    "match_numbers",
    "path_by",
]


class Plan:
    """What matching needs of a dialect, and whether the trie is one with `exact=True` (exact_layout.py)."""

    __slots__ = ("dialect", "exact", "in_place", "separator", "share")

    def __init__(self, dialect: Dialect, exact: bool) -> None:
        characters = [dialect.separator, dialect.one_word, dialect.many_words or dialect.one_word]
        self.dialect = dialect
        self.exact = exact
        self.separator = dialect.separator
        self.share = dialect.share_prefix
        self.in_place = all(len(c) == 1 and c.isascii() for c in characters)  # traversal.py serves for it

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
    return path_by(trie._plan, filter)


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


def _query_of(plan: Plan, topic: str) -> Query:
    words = plan.dialect.split_topic(topic)
    hashes = tuple(word_hash(word) for word in words or ("",))
    whole = plan.dialect.join(words) if plan.exact else None
    return new_query(words, hashes, plan.dialect, whole, 0 if whole is None else word_hash(whole))


def _walk(plan: Plan, only_first: bool, trails: bool) -> Traversal:
    """Return a traversal without a topic yet."""
    walk = Traversal()
    walk.exact = plan.exact
    walk.many_min = plan.dialect.many_min
    walk.separator = plan.separator
    walk.one = plan.dialect.one_word
    walk.many = plan.dialect.many_words or walk.one
    walk.only_first = only_first
    walk.trails = Trails() if trails else None
    return walk


def _with_whole(walk: Traversal, topic: str) -> None:
    """Have the topic looked for without its words."""
    walk.words, walk.size, walk.full, walk.reserved = [], 0, 1, False
    walk.whole = Word(topic, word_hash(topic))


def _with_words(walk: Traversal, query: Query) -> None:
    """Have the topic looked for with its words."""
    walk.words = [*map(Word, query.words, query.hashes)]
    walk.size = len(walk.words)
    walk.full = (1 << walk.size + 1) - 1
    walk.reserved = query.reserved
    if query.whole is not None:
        walk.whole = Word(query.whole, query.whole_hash)


class Read(NamedTuple):
    """What was found at one instant: branches and paths, and the I-nodes and main nodes that were read for it."""

    root: Root
    found: list[tuple[Branch, Any]]
    seen: list[Any]


def _read(trie: Matchable, topic: str, only_first: bool = False, trails: bool = False) -> Read:
    """Find all branches that a topic reaches; with `only_first`, one of them; without `trails`, paths are not told."""
    plan = trie._plan
    walk = _walk(plan, only_first, trails)
    if plan.exact and type(topic) is str:
        _with_whole(walk, topic)
        read = _read_at_last(walk, trie._root)
        if read is not None:
            return read
    query = _query_of(plan, topic)
    if plan.in_place and 0 < len(query.words) <= MOST_WORDS:
        _with_words(walk, query)
        read = _read_at_last(walk, trie._root)
        assert read is not None, "the topic's words are there"
        return read
    reading = read_matches(trie._root, query, only_first)
    return Read(reading.root, reading.found, reading.seen)


def _read_at_last(walk: Traversal, root: Root) -> Read | None:
    """Traverse until the answer is one of an instant; after some attempts, read a snapshot. None: the topic's words are
    needed."""
    outcome = CHANGED
    for _ in range(RETRIES):
        outcome = read_pinned(walk, root)
        unpin()
        if outcome != CHANGED:
            break
    if outcome == CHANGED:
        root = freeze_root(root)
        outcome = read_pinned(walk, root)
        unpin()
    if outcome == UNSPLIT:
        return None
    seen = walk.seen.items
    return Read(root, _with_paths(walk), [seen[at + one] for at in range(0, len(seen), 3) for one in (0, 1)])


def _with_paths(walk: Traversal) -> list[tuple[Branch, Any]]:
    """Return the branches found, with their paths if those are known."""
    if walk.trails is None:
        return [(branch, None) for branch in walk.found.items]
    paths: list[Any] = [None]  # of the levels
    above = walk.trails.above.items
    for at in range(0, len(above), 2):
        paths.append(extended(paths[above[at + 1]], above[at]))
    found = zip(walk.found.items, walk.trails.levels.items, strict=True)
    return [(branch, extended(paths[level], branch)) for branch, level in found]


def match(trie: Matchable, topic: str, take_turns: bool = True) -> tuple[Any, ...]:
    """Return the distinct subscribers of `topic` at one instant."""
    return _match(trie, topic, take_turns)[0]


def _match(trie: Matchable, topic: str, take_turns: bool) -> tuple[tuple[Any, ...], bool]:
    """The same, and tell whether the answer depends on whose turn it is."""
    dialect = trie._plan.dialect

    def subscribers(found: list[tuple[Branch, Any]]) -> tuple[Any, ...]:
        return tuple(Distinct(dialect, take_turns).named_by([subscribers_of(branch) for branch, _ in found]))

    return _answer(trie, topic, SUBSCRIBERS, subscribers)


def deliveries(trie: Matchable, topic: str) -> tuple[Told, ...]:
    """Return who gets a message on `topic`, at one instant."""
    dialect = trie._plan.dialect
    return _answer(trie, topic, DELIVERIES, lambda found: delivered(found_by(found, dialect, True), dialect, True))[0]


def match_numbers(trie: Matchable, topics: list[str]) -> tuple[bytes, bytes]:
    """Return the answers to many topics as columns of 64-bit integers: where each answer begins, and the end; and the
    subscribers, which are integers, none below zero, each on one filter outside of all groups."""
    answers = match_many(trie, topics)
    offsets = array("q", accumulate(map(len, answers), initial=0))
    return offsets.tobytes(), array("q", chain.from_iterable(answers)).tobytes()


def deliveries_many(trie: Matchable, topics: Iterable[str]) -> list[tuple[Told, ...]]:
    """Return `deliveries` of each topic."""
    return [deliveries(trie, topic) for topic in topics]


def all_held(trie: Matchable, topic: str) -> tuple[Told, ...]:
    """Return all who are subscribed to what `topic` reaches, at one instant."""
    return held(all_found(trie, topic), trie._plan.dialect)


def all_found(trie: Matchable, topic: str) -> tuple[Told, ...]:
    """As `all_held`, with what `held` has to look at."""
    return found_by(_read(trie, topic, trails=True).found, trie._plan.dialect, False)


def _answer(
    trie: Matchable, topic: str, kind: int, answer_of: Callable[[list[tuple[Branch, Any]]], tuple[Any, ...]]
) -> tuple[tuple[Any, ...], bool]:
    """Return what is made of what was found, or remembered, and tell whether it depends on whose turn it is."""
    trails = kind == DELIVERIES
    if trie._cache is None or type(topic) is not str:
        read = _read(trie, topic, trails=trails)
        return answer_of(read.found), _has_groups(read)
    stripe = own_stripe(kind)
    answer = recall(trie._cache, topic, stripe)
    if answer is not None:
        return answer, False
    table = own_table(trie._cache, stripe)
    if table.misses == 0:
        table.misses = 1  # there was no table yet to count it in
    place = wanted_place(table, topic)
    read = _read(trie, topic, trails=trails)
    answer = answer_of(read.found)
    if _has_groups(read):
        return answer, True
    # What holds in a snapshot, if it took one, says nothing of the trie.
    if place >= 0 and read.root is trie._root and len(read.seen) <= 2 * MOST_SEEN:
        remember(table, place, (topic, answer, trie._root, read.seen[0], *read.seen))
    return answer, False


def _has_groups(read: Read) -> bool:
    return any(isinstance(branch.value, Shared) for branch, _ in read.found)


def exact_first(trie: Matchable, topic: str) -> Iterator[Any] | None:
    """The compiled body answers `match_iter`, where it can; here literal_first.py always does."""
    return None


def has_match(trie: Matchable, topic: str) -> bool:
    """Tell whether anybody is subscribed to `topic`; stops at the first."""
    return bool(_read(trie, topic, only_first=True).found)


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
