"""Interleaved traversals: topics that are traversed side by side have the answers that they have one by one.

Most of it runs on a private copy of the interpreted twin, where a test can see what is read. The compiled twin has the
same text, and tests/subtrie/test_batches.py compares its answers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from tests.tries.trie_copy import TrieCopy, load_copy

pytestmark = pytest.mark.once

_MATCH = "subtrie._trie.match."
GROUP = 16


@pytest.fixture(scope="module")
def twin() -> TrieCopy:
    """A copy in which groups have as many topics as in other builds."""
    copy = load_copy()
    for name in ("interleaved", "steps", "batches"):
        vars(copy.modules[_MATCH + name])["GROUP"] = GROUP
    return copy


@contextmanager
def instead(module: Any, name: str, replaced: Any) -> Iterator[Any]:
    """Let a name of a module mean something else for a while."""
    original = vars(module)[name]
    vars(module)[name] = replaced
    try:
        yield original
    finally:
        vars(module)[name] = original


def read_by(twin: TrieCopy, module: str, ask: Callable[[], object]) -> set[Any]:
    """Return the I-nodes that a module reads when something is asked."""
    read: set[Any] = set()
    part = twin.modules[_MATCH + module]
    original = part.peek
    with instead(part, "peek", lambda slot: (read.add(slot), original(slot))[1]):
        ask()
    return {slot for slot in read if type(slot) is twin.nodes.INode}


def answered_alone(twin: TrieCopy, trie: Any, topics: list[str]) -> tuple[list[Any], list[str]]:
    """Return the answers to many topics, and the topics that were left to the ordinary match."""
    batches = twin.modules[f"{_MATCH}batches"]
    left: list[str] = []
    original = batches.match
    with instead(batches, "match", lambda trie, topic: (left.append(topic), original(trie, topic))[1]):
        return trie.match_many(topics), left


def filled(twin: TrieCopy, rng: random.Random, words: list[str]) -> Any:
    """Return a trie of filters that first differ at any of their words, with wildcards in all places."""
    trie = twin.modules["subtrie"].SubscriptionTrie()
    for number in range(rng.choice([1, 20, 300])):
        text = [
            rng.choice([*words, "*", "#"]) if rng.random() < 0.3 else rng.choice(words)
            for _ in range(rng.randint(1, 5))
        ]
        trie.subscribe(".".join(text), number, qos=rng.choice([0, 1]))
    return trie


def drawn(rng: random.Random, words: list[str]) -> list[str]:
    return [".".join(rng.choices([*words, "other"], k=rng.randint(1, 6))) for _ in range(rng.randint(1, 40))]


@pytest.mark.parametrize("seed", range(12))
def test_a_group_reads_the_nodes_that_the_matches_read_and_finds_what_they_find(twin: TrieCopy, seed: int) -> None:
    rng = random.Random(seed)
    words = [*(f"w{number}" for number in range(rng.choice([3, 40]))), "a word that takes some room"]
    trie = filled(twin, rng, words)
    for _ in range(6):
        topics = list(dict.fromkeys(drawn(rng, words)))
        answers, left = answered_alone(twin, trie, topics)
        assert not left
        assert [sorted(found) for found in answers] == [sorted(trie.match(topic)) for topic in topics]
        one_by_one = read_by(twin, "walk", partial(list, map(trie.match, topics)))
        side_by_side = read_by(twin, "interleaved", partial(trie.match_many, topics))
        assert side_by_side == one_by_one | {trie._root.load()}
        topics = drawn(rng, words)  # some of them several times
        together = [sorted(map(told, found)) for found in trie.deliveries_many(topics)]
        assert together == [sorted(map(told, trie.deliveries(topic))) for topic in topics]
        offsets, numbers = (memoryview(column).cast("q") for column in trie._match_numbers(topics))
        answers = [sorted(numbers[start:end]) for start, end in zip(offsets, offsets[1:], strict=False)]
        assert answers == [sorted(trie.match(topic)) for topic in topics]
    trie.check()


def told(delivery: Any) -> tuple[Any, ...]:
    return delivery.subscriber, delivery.filter, delivery.options.get("qos")


def test_what_happens_to_a_way_that_is_left_out() -> None:
    """These tests would notice if groups left out the wildcard for one word."""
    broken = load_copy()
    trie = broken.modules["subtrie"].SubscriptionTrie()
    for filter in ("*.b", "*.c", "a.b"):
        trie.subscribe(filter, filter)
    assert len(trie.match_many(["a.b"])[0]) == 2
    vars(broken.modules[f"{_MATCH}interleaved"])["ONE_WORD"] = 60  # the hash of an ordinary word
    assert trie.match_many(["a.b"]) == [("a.b",)]


def wide(twin: TrieCopy) -> tuple[Any, list[str]]:
    trie = twin.modules["subtrie"].SubscriptionTrie()
    topics = [f"{first}.{second}" for first in "abc" for second in "abcde"]
    for topic in topics:
        trie.subscribe(topic, topic)
    trie.subscribe("*.b", 1)
    trie.subscribe("*.c", 1)  # with these two, the level is not given up when others leave
    trie.subscribe("#", 2)
    return trie, topics


def test_topics_are_left_where_there_is_no_room_for_their_steps(twin: TrieCopy) -> None:
    trie, topics = wide(twin)
    expected = [set(trie.match(topic)) for topic in topics]
    interleaved = twin.modules[f"{_MATCH}interleaved"]
    with instead(interleaved, "ROOM", interleaved.MOST_WORDS + 2 + 40):
        answers, left = answered_alone(twin, trie, topics)
    assert 0 < len(left) < len(topics)
    assert list(map(set, answers)) == expected
    trie.check()


def test_all_topics_are_left_while_a_snapshot_is_not_complete(twin: TrieCopy) -> None:
    trie, topics = wide(twin)
    nodes, root = twin.nodes, trie._root.load()
    proposal = nodes.RDCSSDescriptor()
    proposal.old, proposal.expected = root, root.load()
    proposal.new = nodes.new_inode(proposal.expected, root.gen)
    nodes.initialise(proposal, nodes.UNDECIDED)
    assert nodes.compare_and_set(trie._root, root, proposal)
    answers, left = answered_alone(twin, trie, topics)
    assert left == topics
    assert topics[0] in answers[0]
    trie.check()


@pytest.mark.parametrize("ask", ["match_many", "deliveries_many"])
def test_each_answer_is_of_one_instant_whenever_others_write(twin: TrieCopy, ask: str) -> None:
    """A move from one filter to another, in the middle of the group: every topic sees one of the two, or both at the
    time between, and never none."""
    reads = 0
    while True:
        trie, topics = wide(twin)
        trie.subscribe("*.a", "mover")
        if not moved_at(twin, trie, reads, partial(getattr(trie, ask), topics)):
            break
        reads += 1
    assert reads > len(topics)


def moved_at(twin: TrieCopy, trie: Any, reads: int, ask: Callable[[], list[Any]]) -> bool:
    """Move a subscriber after so many reads of a group. Return whether there were that many."""
    interleaved = twin.modules[f"{_MATCH}interleaved"]
    original = interleaved.peek
    made = 0

    def peek(slot: Any) -> Any:
        nonlocal made
        if made == reads:
            trie.subscribe("#", "mover")
            trie.unsubscribe("*.a", "mover")
        made += 1
        return original(slot)

    with instead(interleaved, "peek", peek):
        answers = ask()
    for found in answers[::5]:  # those on a.a, b.a, c.a
        assert "mover" in {getattr(one, "subscriber", one) for one in found}
    trie.check()
    return made > reads


@pytest.mark.parametrize(
    ("settings", "fetches"), [({}, True), ({}, False), ({"cache": 10}, True), ({"exact": True}, True)]
)
def test_groups_are_made_where_something_can_be_fetched_and_where_answers_are_not_found_by_texts(
    settings: dict[str, Any], fetches: bool
) -> None:
    copy = load_copy()  # this copy makes a group of each topic
    vars(copy.modules[f"{_MATCH}interleaved"])["PREFETCHES"] = fetches  # it does not in the interpreted twin
    trie = copy.modules["subtrie"].SubscriptionTrie(**settings)
    trie.subscribe("a", 1)
    for ask in (trie.match_many, trie.deliveries_many, trie._match_numbers):
        assert bool(read_by(copy, "interleaved", partial(ask, ["a", "b"]))) is (fetches and not settings)
    trie.check()
