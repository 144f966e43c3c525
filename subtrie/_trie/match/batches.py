# distutils: extra_compile_args = FAST
"""Many topics at once: answers to topics that come again, and interleaved traversals for the others (interleaved.py).

All topics of a list or tuple are there when the call begins, so an answer of any instant since then is of an instant
during the call. This does not hold if the user's code makes the topics one by one, since it may write to the trie
meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import check_signals
    from subtrie._trie.match.answer_cache import DELIVERIES, SUBSCRIBERS
    from subtrie._trie.match.deliveries import Told
    from subtrie._trie.match.interleaved import end_group, traverse_next
    from subtrie._trie.match.matching import ask, deliveries, match, subscribers_of, told_of
    from subtrie._trie.match.plan import Matchable
    from subtrie._trie.match.reading import TRIAL, WORTH, WORTH_IN_ONE_BLOCK
    from subtrie._trie.match.scratch import Question, bytes_of, coming_again, subscriber_at
    from subtrie._trie.match.steps import GROUP, Batch, begin_batch, end_batch, question_at, topic_at
    from subtrie._trie.match.walk import Buffer, address, buffer_free, buffer_push, buffer_start
else:
    from cython import address


def match_many(trie: Matchable, topics: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return `match` of each topic."""
    return _answers(trie, topics, SUBSCRIBERS)


def deliveries_many(trie: Matchable, topics: Iterable[Any]) -> list[tuple[Told, ...]]:
    """Return `deliveries` of each topic."""
    return _answers(trie, topics, DELIVERIES)


def _answers(trie: Matchable, topics: Any, wants: int) -> list[tuple[Any, ...]]:
    """Return what a question wants of each topic. A topic that comes again in a list or tuple gets the same answer
    again, unless members of groups were drawn for it."""
    if type(topics) is not list and type(topics) is not tuple:
        return [_one_answer(trie, topic, wants) for topic in topics]
    if not cython.compiled:
        batch = Batch()
    b = address(batch)
    answers: list[tuple[Any, ...]] = []
    answered: dict[str, tuple[Any, ...]] | None = None
    at = 0
    begin_batch(b)
    try:
        while at < len(topics):
            block = _block_of(topics, at)
            if at == 0 and _come_again(block, len(topics)):
                answered = {}
            if answered is None:
                _answer_block(b, trie, block, wants, answers)
            elif not _answer_or_repeat(trie, block, wants, answered, answers):
                answered = None
            at += TRIAL
        return answers
    finally:
        end_batch(b)


def _one_answer(trie: Matchable, topic: Any, wants: int) -> tuple[Any, ...]:
    return match(trie, topic) if wants == SUBSCRIBERS else deliveries(trie, topic)


def _block_of(topics: Any, at: int) -> list[Any]:
    """Return the next TRIAL topics of a list or tuple, in a new list, since a subscriber's __eq__ may change the given
    one. More would no longer be in the processor's cache when their turn comes."""
    check_signals()
    block = topics[at : at + TRIAL]
    return block if type(block) is list else list(block)


def _come_again(block: list[Any], count: int) -> bool:
    """Return whether so many of the first of `count` topics occur several times that it is worth keeping answers. If
    more blocks follow, more will come again in those: a few are enough. Of a few topics it is not asked, since that
    would take as long as a match."""
    worth = WORTH if count > len(block) else WORTH_IN_ONE_BLOCK
    return len(block) > GROUP and coming_again(block) * worth >= len(block)


def _answer_block(b: Batch, trie: Matchable, block: list[Any], wants: int, answers: list[tuple[Any, ...]]) -> None:
    for at in range(0, len(block), GROUP):
        traversed = traverse_next(b, trie, block, at, wants)
        try:
            for i in range(min(GROUP, len(block) - at)):
                topic = block[at + i]
                if not traversed or topic_at(b.group, i).size == 0:
                    answers.append(_one_answer(trie, topic, wants))
                elif wants == SUBSCRIBERS:
                    answers.append(subscribers_of(question_at(b.group, i), trie, topic))
                else:
                    answers.append(told_of(question_at(b.group, i), trie, topic, topic, None, None))
        finally:
            if traversed:
                end_group(b)


def _answer_or_repeat(
    trie: Matchable,
    block: list[Any],
    wants: int,
    answered: dict[str, tuple[Any, ...]],
    answers: list[tuple[Any, ...]],
) -> bool:
    """Answer those that have not been `answered`. Return whether there were enough others."""
    if not cython.compiled:
        question = Question()
    q = address(question)
    q.wants = wants
    repeated = 0
    for topic in block:
        is_text = type(topic) is str
        known = answered.get(topic) if is_text else None
        if known is not None:
            repeated += 1
            answers.append(known)
            continue
        answer = ask(q, trie, topic, None)
        answers.append(answer)
        if is_text and not q.by_lot:
            answered[topic] = answer
    return repeated * WORTH >= len(block)


# ------------------------------------------------------------------------------------------------------------- numbers


def match_numbers(trie: Matchable, topics: list[Any]) -> tuple[bytes, bytes]:
    """Return the answers to many topics, for a trie whose subscribers are integers, none below zero, each on one filter
    and in no group: where each answer begins, and the end; and the subscribers. Both are columns of 64-bit integers."""
    if not cython.compiled:
        batch, offsets, numbers = Batch(), Buffer(), Buffer()
    answered: dict[Any, int] | None = None
    buffer_start(address(offsets))
    buffer_start(address(numbers))
    begin_batch(address(batch))
    try:
        _push(address(offsets), 0)
        for at in range(0, len(topics), TRIAL):
            block = _block_of(topics, at)
            if at == 0 and _come_again(block, len(topics)):
                answered = {}
            if answered is None:
                _number_block(address(batch), trie, block, address(offsets), address(numbers))
            elif not _number_or_repeat(trie, block, at, answered, address(offsets), address(numbers)):
                answered = None
        return bytes_of(address(offsets)), bytes_of(address(numbers))
    finally:
        end_batch(address(batch))
        buffer_free(address(offsets))
        buffer_free(address(numbers))


def _number_block(b: Batch, trie: Matchable, block: list[Any], offsets: Buffer, numbers: Buffer) -> int:
    for at in range(0, len(block), GROUP):
        traversed = traverse_next(b, trie, block, at, SUBSCRIBERS)
        try:
            for i in range(min(GROUP, len(block) - at)):
                if not traversed or not _push_taken(numbers, question_at(b.group, i)):
                    _push_all(numbers, match(trie, block[at + i]))
                _push(offsets, numbers.count)
        finally:
            if traversed:
                end_group(b)
    return 0


def _number_or_repeat(
    trie: Matchable, block: list[Any], at: int, answered: dict[Any, int], offsets: Buffer, numbers: Buffer
) -> bool:
    """Add the numbers of those that have not been `answered`. Return whether there were enough others."""
    repeated = 0
    for i in range(len(block)):
        known = answered.setdefault(block[i], at + i)
        if known < at + i:
            repeated += 1
            for j in range(offsets.items[known], offsets.items[known + 1]):
                _push(numbers, numbers.items[j])
        else:
            _push_all(numbers, match(trie, block[i]))
        _push(offsets, numbers.count)
    return repeated * WORTH >= len(block)


def _push_taken(numbers: Buffer, q: Question) -> bool:
    """Add the subscribers taken for a topic. False: it is to be asked alone, or some may have exclusions."""
    if q.walk.size == 0 or q.shared:
        return False
    for at in range(0, q.subscribers.count, 2):
        _push(numbers, subscriber_at(q, at))
    return True


def _push_all(words: Buffer, several: tuple[Any, ...]) -> int:
    for word in several:
        _push(words, word)
    return 0


def _push(words: Buffer, word: int) -> None:
    if not buffer_push(words, word):
        raise MemoryError
