"""A match answers for one instant: a subscriber that is subscribed throughout, by whatever filters, is in the answer.

Other subscription tries read the branches of one level at different moments. This schedule shows it: a match has read
one branch and found no subscriber; a subscriber joins there and leaves the other branch; the match reads the other
branch, finds none, and answers "nobody", although the subscriber was subscribed throughout. The tests try this schedule
with all forms of the two filters, at every access of every question, and then on real threads. Matchers that read their
branches at different moments must fail.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import permutations, product
from typing import Any

import pytest

from ctrie import twin
from stress.explorer.bounded import bounded
from subtrie import SubscriptionTrie
from tests.subtrie.support import On, explained, filled, new_trie, subscription_twin
from tests.threads import meanwhile, run_together
from tests.twins import Fault, Together, Twin

# Each question about a topic, and whether its answer has "anna". Any other subscriber that wants the topic is "bert".
QUESTIONS: dict[str, Callable[[Any, str], Any]] = {
    "match": lambda trie, topic: "anna" in trie.match(topic),
    "match_many": lambda trie, topic: "anna" in trie.match_many([topic])[0],
    "match_iter": lambda trie, topic: "anna" in list(trie.match_iter(topic)),
    "entries": lambda trie, topic: "anna" in {found.subscriber for found in trie.entries(topic)},
    "deliveries": lambda trie, topic: "anna" in {found.subscriber for found in trie.deliveries(topic)},
    "has_match": lambda trie, topic: trie.has_match(topic),
    "count": lambda trie, topic: trie.count(topic) == 1,
}

# All of them match `a.b`, and all are different.
FILTERS = ["a.b", "*.b", "a.*", "*.*", "#", "a.#", "#.b", "*.#", "a.b.#", "#.a.b", "a.#.b", "#.a.#.b.#"]
BYSTANDERS = ["a.c", "*.c", "c.b", "a.*.c", "a.b.c", "c.#"]  # none matches; they keep levels from coming and going


def moves() -> list[tuple[str, str]]:
    return list(permutations(FILTERS, 2))


def missed(private: Twin, ask: Callable[[Any, str], Any], old: str, new: str, exact: bool = False) -> list[list[int]]:
    """Ask while anna moves from `old` to `new`; return the schedules after which the answer left her out."""
    misses = []

    def make() -> Any:
        trie = new_trie(private, exact=exact)
        for bystander in BYSTANDERS:
            trie.subscribe(bystander, "bert")
        trie.subscribe(old, "anna")
        return trie

    def move(trie: Any) -> None:
        assert trie.subscribe(new, "anna")
        assert trie.unsubscribe(old, "anna")

    def judge(trie: Any, answer: Any, _: None) -> None:
        if not answer:
            misses.append(together.execution.order)
        trie.check()

    together = Together(private, make, [lambda trie: ask(trie, "a.b"), move], judge)
    assert len(list(bounded(together, 1))) > 1
    return misses


@pytest.mark.once  # a copy of the interpreted source, in one thread, whatever twin the tests run
class TestMovingFromFilterToFilter:
    @pytest.mark.parametrize("question", QUESTIONS)
    def test_the_published_schedule(self, question: str) -> None:
        """The lookup reads the literal branch (empty); a.b comes and *.b goes; the lookup reads the * branch (empty)."""
        assert missed(subscription_twin(), QUESTIONS[question], "*.b", "a.b") == []

    @pytest.mark.parametrize("old", FILTERS)
    @pytest.mark.parametrize("exact", [False, True], ids=["by words", "exact"])
    def test_every_move(self, old: str, exact: bool) -> None:
        for new in FILTERS:
            if new != old:
                assert missed(subscription_twin(), QUESTIONS["match"], old, new, exact) == [], f"from {old} to {new}"

    @pytest.mark.parametrize("question", ["entries", "deliveries", "has_match"])
    def test_every_move_to_the_other_questions(self, question: str) -> None:
        for old, new in moves()[::3]:
            assert missed(subscription_twin(), QUESTIONS[question], old, new) == [], f"from {old} to {new}"


MATCHING = "subtrie._trie.match.matching"
NO_SECOND_PASS = Fault("branches are read at different moments", MATCHING, "not still_holds(t, root, first)", "False")
BLIND_SECOND_PASS = Fault(
    "the second pass looks at the root only",
    MATCHING,
    "if peek(as_node(seen[at])) is not as_node(seen[at + 1]):",
    "if False:",
)
HASTY_NO = Fault(
    "has_match says no after one pass",
    MATCHING,
    "outcome == THROUGH and OTHERS",
    "outcome == THROUGH and not t.only_first and OTHERS",
)


@pytest.mark.once
class TestTheSuiteNotices:
    @pytest.mark.parametrize("question", [name for name in QUESTIONS if name != "match_iter"])  # reads a snapshot
    @pytest.mark.parametrize("fault", [NO_SECOND_PASS, BLIND_SECOND_PASS], ids=lambda fault: fault.name)
    def test_branches_read_at_different_moments(self, fault: Fault, question: str) -> None:
        misses = [
            missed(subscription_twin(fault), QUESTIONS[question], *move) for move in (("*.b", "a.b"), ("a.b", "*.b"))
        ]
        assert any(misses)

    def test_a_no_after_one_pass(self) -> None:
        hasty = subscription_twin(HASTY_NO)
        assert any(missed(hasty, QUESTIONS["has_match"], *move) for move in (("*.b", "a.b"), ("a.b", "*.b")))


@pytest.mark.once
@pytest.mark.parametrize("seed", range(8))
def test_a_match_ends_however_much_is_written(seed: int) -> None:
    """After some attempts, a match reads a snapshot."""
    private = subscription_twin()
    rng = random.Random(seed)
    trie = filled(On("a.b", "anna"), On("*.b", "bert"), On("a.c", "carl"), On("a.b", "dora"))(private)
    filters = ["a.b", "*.b"]

    def move_dora_now_and_then(access: int) -> None:
        if rng.random() < 0.2:
            trie.subscribe(filters[1], "dora")
            trie.unsubscribe(filters[0], "dora")
            filters.reverse()

    with explained(f"seed {seed}"):
        for _ in range(5):
            found = private.interfere(lambda: trie.match("a.b"), move_dora_now_and_then)
            assert sorted(found) == ["anna", "bert", "dora"]
            assert not private.interfere(lambda: trie.has_match("b.d"), move_dora_now_and_then)
    trie.check()


# -------------------------------------------------------------------------------------------------------- real threads

# For every reader. Each match reads hundreds of levels, so much happens meanwhile.
MATCHES = 1_200 if twin == "compiled" else 80
DEEP_TOPIC = ".".join("a" * 7)
DEEP_FILTERS = [".".join(words) for words in product("a*", repeat=7)]


def deep_trie() -> SubscriptionTrie:
    """A trie with all levels of DEEP_FILTERS, and no subscriber on any of these filters."""
    trie = SubscriptionTrie()
    for filter in DEEP_FILTERS:
        trie.subscribe(f"{filter}.z", "bystander")
    return trie


@pytest.mark.parametrize("seed", [1, 2])
def test_real_threads_never_miss_whoever_is_always_subscribed(seed: int) -> None:
    """Anna is always on one filter or two."""
    rng = random.Random(seed)
    trie = deep_trie()
    here = rng.choice(DEEP_FILTERS)
    trie.subscribe(here, "anna")

    def move() -> None:
        nonlocal here
        there = rng.choice(DEEP_FILTERS)
        if there != here:
            assert trie.subscribe(there, "anna")
            assert trie.unsubscribe(here, "anna")
            here = there

    def match() -> None:
        for _ in range(MATCHES):
            assert trie.match(DEEP_TOPIC) == ("anna",)

    def ask() -> None:
        for _ in range(MATCHES // 4):
            assert trie.has_match(DEEP_TOPIC)
            assert 1 <= len(list(trie.entries(DEEP_TOPIC))) <= 2

    with meanwhile(move):
        run_together([match, match, ask])
    assert trie.filters("anna") == [here]
    trie.check()


def test_real_threads_see_no_two_who_were_never_subscribed_together() -> None:
    """Number n + 1 joins, number n leaves, and so on: at any instant, one number is subscribed, or two in a row."""
    rng = random.Random(3)
    trie = deep_trie()
    number, here = 0, DEEP_FILTERS[0]
    trie.subscribe(here, number)

    def relay() -> None:
        nonlocal number, here
        there = rng.choice(DEEP_FILTERS)
        assert trie.subscribe(there, number + 1)
        assert trie.unsubscribe(here, number)
        number, here = number + 1, there

    def match() -> None:
        for _ in range(MATCHES):
            together = sorted(trie.match(DEEP_TOPIC))
            assert together, "at some instant, nobody was subscribed"
            assert together in ([together[0]], [together[0], together[0] + 1])

    with meanwhile(relay):
        run_together([match, match])
    assert trie.match(DEEP_TOPIC) == (number,)
    trie.check()


# ------------------------------------------------------------------------------------------------ what a snapshot holds


@pytest.mark.once
def test_a_snapshot_amid_a_prune_is_sound() -> None:
    """It may hold a tomb for ever, and a branch that leads only there. That is not a fault, and adds no filter."""
    private = subscription_twin()

    def judge(trie: Any, _: bool, cut: Any) -> None:
        cut.check()
        stats = cut.stats()
        assert (stats["filters"], stats["depth"]) == ((1, 2) if len(cut) else (0, 0))

    functions = [lambda trie: trie.unsubscribe("a.b", "x"), lambda trie: trie.snapshot()]
    assert len(list(bounded(Together(private, partial(filled(On("a.b")), private), functions, judge), 1))) > 1
