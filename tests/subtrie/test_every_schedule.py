"""Operations of subscription tries and topic stores between threads: some of the explorer's scenarios for each start,
under every schedule.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stress.explorer.scenario import Scenario
from subtrie import SubscriptionTrie
from tests.every_schedule import explored, scenarios_of
from tests.tries.compiled import Named
from tests.tries.scenarios import STARTS
from tests.tries.targets import SubscriptionsUnderTest

pytestmark = pytest.mark.once  # a copy of the interpreted source, in one thread, whatever twin the tests run


@pytest.mark.parametrize("start", STARTS["subscriptions"])
def test_operations_on_subscriptions(start: str) -> None:
    running, stopping = scenarios_of("subscriptions", start, 3)
    assert explored(running, stopping) > len(running) + len(stopping)


@pytest.mark.parametrize("start", STARTS["topics"])
def test_operations_on_topics(start: str) -> None:
    running, stopping = scenarios_of("topics", start, 3)
    assert explored(running, stopping) > len(running) + len(stopping)


MOVES = [
    ("a wildcard beside words that meet", "a.y1", "a.y1", "*.y1"),
    ("a wildcard beside words that meet", "a.y1", "*.b", "a.#"),
    ("words that meet below a wildcard", "y1", "#.y1", "y1"),
    ("words of one hash", "same1.b", "same1.b", "*.b"),
    ("words about to meet", "y1.b", "y1.b", "#.b"),
    ("wildcards in a chain", "a.b.c", "a.*.c", "a.b.c"),
]


def moved_around(start: str, topic: str, old: str, new: str, question: str) -> Iterator[Scenario]:
    """A question while a subscriber joins one filter and leaves another, or the reverse."""
    on, off = ("subscribe", (new, "x")), ("unsubscribe", (old, "x"))
    for changes in ((on, off), (off, on)):
        yield Scenario("subscriptions", start, (((question, (topic,)),), changes))


QUESTIONS = ["match", "has_match", "entries", "deliveries", "match_many", "count"]


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_two_changes_around_a_question_are_explained_by_one_instant(number: int) -> None:
    """Half of the moves for each question."""
    for move in (MOVES + MOVES)[number : number + len(MOVES) : 2]:
        assert explored(list(moved_around(*move, QUESTIONS[number]))) > 4


def test_subscribers_with_hashes_of_the_scenario_answer_by_their_names() -> None:
    """The compiled modules are explored with such subscribers, in a build that these tests do not make."""
    named = Named(SubscriptionsUnderTest(SubscriptionTrie()))
    named.subscribe("a.b", "x")
    assert named.snapshot().read() == [("a.b", "x")]
