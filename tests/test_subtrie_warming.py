"""The warming passes of `match_many`, in the text that both twins have: a pass goes where the matches will go.

It runs on a private copy of the interpreted twin: in the compiled one, a test cannot see where a pass goes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from stress.tries.trie_copy import TrieCopy, load_copy

pytestmark = pytest.mark.once

_MATCH = "subtrie._trie.match."


@pytest.fixture(scope="module")
def twin() -> TrieCopy:
    return load_copy()


def watched(module: Any, ask: Callable[[], object]) -> set[Any]:
    """Return the slots that a module reads when something is asked."""
    read: set[Any] = set()
    original = module.peek
    module.peek = lambda slot: (read.add(slot), original(slot))[1]
    try:
        ask()
    finally:
        module.peek = original
    return read


def prepared(twin: TrieCopy, trie: Any, topics: list[str]) -> list[Any]:
    """Return the topics in the form that a pass takes."""
    plan, walk = twin.modules[f"{_MATCH}plan"], twin.modules[f"{_MATCH}walk"]
    walks = [walk.Traversal() for _ in topics]
    assert all(plan.split_in_place(each, trie._plan, topic) for each, topic in zip(walks, topics, strict=True))
    return walks


def warm(twin: TrieCopy, trie: Any, topics: list[str]) -> set[Any]:
    """Make a pass for some topics, and return the I-nodes that it has read."""
    warming, steps = twin.modules[f"{_MATCH}warming"], twin.modules[f"{_MATCH}steps"]
    here, there = steps.Steps(), steps.Steps()
    walks = prepared(twin, trie, topics)
    return inodes(twin, watched(warming, lambda: warming.warm(trie._root, walks, len(topics), here, there)))


def inodes(twin: TrieCopy, slots: set[Any]) -> set[Any]:
    return {slot for slot in slots if type(slot) is twin.nodes.INode}


def match(twin: TrieCopy, trie: Any, topics: list[str]) -> set[Any]:
    """Match some topics one by one, and return the I-nodes that were read."""
    walk = twin.modules[f"{_MATCH}walk"]
    return inodes(twin, watched(walk, lambda: [trie.match(topic) for topic in topics])) | {trie._root.load()}


def filled(twin: TrieCopy, rng: random.Random, words: list[str]) -> Any:
    """Return a trie of filters that first differ at any of their words, with wildcards in all places."""
    trie = twin.modules["subtrie"].SubscriptionTrie()
    for number in range(rng.choice([1, 20, 300])):
        text = [
            rng.choice([*words, "*", "#"]) if rng.random() < 0.3 else rng.choice(words)
            for _ in range(rng.randint(1, 5))
        ]
        trie.subscribe(".".join(text), number)
    return trie


@pytest.mark.parametrize("seed", range(12))
def test_a_pass_reads_the_nodes_that_the_matches_read(twin: TrieCopy, seed: int) -> None:
    rng = random.Random(seed)
    words = [*(f"w{number}" for number in range(rng.choice([3, 40]))), "a word that takes some room"]
    trie = filled(twin, rng, words)
    for _ in range(10):
        topics = [".".join(rng.choices([*words, "other"], k=rng.randint(1, 6))) for _ in range(rng.randint(1, 16))]
        assert warm(twin, trie, topics) == match(twin, trie, topics)
    trie.check()


def test_this_test_notices_a_way_that_is_left_out() -> None:
    """For instance, of a pass that leaves out the wildcard for one word."""
    broken = load_copy()
    trie = broken.modules["subtrie"].SubscriptionTrie()
    for filter in ("*.b", "*.c", "a.b"):
        trie.subscribe(filter, 1)
    assert warm(broken, trie, ["a.b"]) == match(broken, trie, ["a.b"])
    vars(broken.modules[f"{_MATCH}warming"])["ONE_WORD"] = 60  # the hash of an ordinary word
    assert warm(broken, trie, ["a.b"]) < match(broken, trie, ["a.b"])


def test_a_pass_is_given_up_where_there_is_no_room_for_its_steps(twin: TrieCopy) -> None:
    trie = twin.modules["subtrie"].SubscriptionTrie()
    for first in "abc":
        for second in "abcd":
            trie.subscribe(f"{first}.{second}", 1)
    topics = [f"{first}.{second}" for first in "abc" for second in "abcd"]
    warming = twin.modules[f"{_MATCH}warming"]
    room = warming.ROOM
    vars(warming)["ROOM"] = warming.MOST_WORDS + 4  # room for only one step
    try:
        assert warm(twin, trie, topics) < match(twin, trie, topics)
    finally:
        vars(warming)["ROOM"] = room


@pytest.mark.parametrize(("filters", "topic", "size"), [([], "a.b", 0), (["a.b"], "a.b", 1), (["a.b"], "c", 1)])
def test_how_large_a_trie_is_thought_to_be(twin: TrieCopy, filters: list[str], topic: str, size: int) -> None:
    trie = twin.modules["subtrie"].SubscriptionTrie()
    for filter in filters:
        trie.subscribe(filter, 1)
    (walk,) = prepared(twin, trie, [topic])
    assert twin.modules[f"{_MATCH}warming"].estimated_size(trie._root, walk) == size


def test_a_trie_with_more_in_it_is_thought_to_be_larger(twin: TrieCopy) -> None:
    trie = twin.modules["subtrie"].SubscriptionTrie()
    sizes = []
    for first in range(20):
        for second in range(20):
            trie.subscribe(f"w{first}.w{second}", 1)
        (walk,) = prepared(twin, trie, ["w0.w1"])
        sizes.append(twin.modules[f"{_MATCH}warming"].estimated_size(trie._root, walk))
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_calls_for_many_topics_make_passes_where_something_can_be_fetched() -> None:
    copy = load_copy()  # this copy makes a pass for each topic
    trie = copy.modules["subtrie"].SubscriptionTrie()
    trie.subscribe("a", 1)
    warming, gate = copy.modules[f"{_MATCH}warming"], copy.modules[f"{_MATCH}warming_gate"]
    for ask in (trie.match_many, trie.deliveries_many, trie._match_numbers):
        assert watched(warming, partial(ask, ["a", "b"])) != set()
    assert copy.modules[f"{_MATCH}gate_state"].PREFETCHES is False, "the interpreted twin's own"
    vars(gate)["PREFETCHES"] = False
    for ask in (trie.match_many, trie.deliveries_many, trie._match_numbers):
        assert watched(warming, partial(ask, ["a", "b"])) == set()
