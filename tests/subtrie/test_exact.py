"""Tries that store filters without a wildcard by their whole text: `SubscriptionTrie(exact=True)`.

The tests of the questions run on these tries, too, and show that the answers are the same.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError
from tests.subtrie.support import content, subscription_twin
from tests.threads import run_together

FILTERS = ["a.b.c", "a.b.d", "a.*.c", "a.#", "*.b.c", "#", "a", "b.*"]


def filled(*filters: str, dialect: Dialect = AMQP, **settings: Any) -> SubscriptionTrie:
    trie = SubscriptionTrie(dialect, exact=True, **settings)
    for filter in filters:
        assert trie.subscribe(filter, filter)
    return trie


class TestLayout:
    def test_a_filter_without_a_wildcard_is_one_branch_of_the_first_level(self) -> None:
        trie = filled("a.b.c", "a.b.d", "a.b")
        counts = trie.stats()
        assert (counts["branches"], counts["widest_level"], counts["depth"]) == (3, 3, 3)
        trie.check()

    def test_any_order_of_coming_and_going_leaves_the_same_trie(self) -> None:
        rng = random.Random(1)
        for _ in range(20):
            trie = SubscriptionTrie(exact=True)
            there: set[str] = set()
            for filter in rng.choices(FILTERS, k=40):
                (trie.unsubscribe if filter in there else trie.subscribe)(filter, filter)
                there ^= {filter}
                trie.check()
            fresh = filled(*sorted(there))
            assert content(trie) == content(fresh)
            names = ("branches", "nodes", "depth", "widest_level")
            assert [trie.stats()[name] for name in names] == [fresh.stats()[name] for name in names]

    def test_the_largest_texts(self) -> None:
        text = "a" + ".b" * 127
        trie = filled(text, text[:-2], text[:-2] + ".*")
        assert sorted(trie.match(text)) == sorted([text, text[:-2] + ".*"])
        assert trie.match(text[:-2]) == (text[:-2],)
        with pytest.raises(TopicError):
            trie.subscribe("a" + ".bb" * 127, "too long")
        assert len(trie) == 3
        trie.check()


class TestOneProbe:
    def watched(self, *filters: str) -> tuple[SubscriptionTrie, list[str]]:
        """A trie whose dialect has to be asked about every topic, and the topics that it was asked about."""
        asked: list[str] = []

        class Watched(Dialect):
            def split_topic(self, text: str) -> tuple[str, ...]:
                asked.append(text)
                return super().split_topic(text)

        # The compiled twin splits topics itself, except for a dialect that forbids so many characters.
        dialect = Watched("watched", separator=".", one_word="*", many_words="#", forbidden='\0!"§$%&/()=?')
        return filled(*filters, dialect=dialect), asked

    @pytest.mark.compiled
    def test_a_topic_asked_for_by_name_is_not_split_where_nothing_else_can_match(self) -> None:
        trie, asked = self.watched("a.b", "a.c", "b")
        assert trie.match("a.b") == ("a.b",)
        assert trie.has_match("b")
        assert trie.match_many(["a.c"]) == [("a.c",)]
        assert asked == [], "split, and so validated, again"
        assert trie.match("a.d") == ()
        assert asked == ["a.d"]
        trie.subscribe("*.b", "wild")
        assert sorted(trie.match("a.b")) == ["a.b", "wild"]
        assert asked == ["a.d", "a.b"]
        assert trie.has_match("a.b"), "one is enough, whoever else there is"
        assert asked == ["a.d", "a.b"]
        trie.unsubscribe("*.b", "wild")
        assert trie.match("a.b") == ("a.b",)
        assert asked == ["a.d", "a.b"]
        trie.check()

    @pytest.mark.parametrize("topic", ["a b", "", "a..b", "a" * 5_000, "a\0"])
    def test_what_is_no_topic_is_refused(self, topic: str) -> None:
        trie = filled("a", "a.b", dialect=NATS)
        for ask in (trie.match, trie.has_match, trie.count, trie.match_iter, trie.entries):
            with pytest.raises(TopicError):
                ask(topic)  # type: ignore[operator]
        trie.check()

    @pytest.mark.once
    def test_words_are_not_looked_at(self) -> None:
        """A topic of many words costs as many accesses as one of two."""
        twin = subscription_twin()
        trie = twin.modules["subtrie"].SubscriptionTrie(exact=True)
        topics = ["a.b", ".".join("a" * 100)]
        for topic in topics:
            trie.subscribe(topic, topic)
        accesses: list[list[int]] = [[], []]
        for topic, seen in zip(topics, accesses, strict=True):
            twin.interfere(partial(trie.match, topic), seen.append)
        assert len(accesses[0]) == len(accesses[1])
        trie.check()


class TestKindsOfFilters:
    def test_a_reserved_topic_is_seen_by_no_wildcard_at_the_beginning(self) -> None:
        trie = filled("$s/a", "$s/+", "+/a", "#", "+/+", dialect=MQTT)
        assert sorted(trie.match("$s/a")) == ["$s/+", "$s/a"]
        assert sorted(trie.match("s/a")) == ["#", "+/+", "+/a"]
        trie.check()

    def test_groups_of_both_kinds_of_filters(self) -> None:
        trie = SubscriptionTrie(MQTT, exact=True)
        for member in "xy":
            trie.subscribe("$share/g/a/b", member)
            trie.subscribe("$share/h/a/+", member)
        assert {frozenset(trie.match("a/b")) for _ in range(8)} <= {frozenset(one) for one in ("x", "y", "xy")}
        assert sorted(one.filter for one in trie.entries("a/b")) == ["$share/g/a/b"] * 2 + ["$share/h/a/+"] * 2
        assert trie.unsubscribe_all("x") == 2
        assert sorted(trie.filters("y")) == ["$share/g/a/b", "$share/h/a/+"]
        trie.check()

    def test_notices_name_the_filters(self) -> None:
        told: list[tuple[str, bool]] = []
        trie = SubscriptionTrie(exact=True, on_interest=lambda *notice: told.append(notice))
        for filter in ("a.b", "a.*", "*.b", ""):
            trie.subscribe(filter, 1)
            trie.unsubscribe(filter, 1)
        assert told == [(filter, wanted) for filter in ("a.b", "a.*", "*.b", "") for wanted in (True, False)]
        trie.check()

    def test_remembered_answers(self) -> None:
        trie = filled("a.b", "c.*", cache=4)
        for _ in range(3):
            assert trie.match("a.b") == ("a.b",)
        assert trie.stats()["cache_hits"] == 1
        trie.subscribe("a.b", "another")
        assert sorted(trie.match("a.b")) == ["a.b", "another"]
        trie.subscribe("a.*", "a third")
        assert sorted(trie.match("a.b")) == ["a third", "a.b", "another"]
        trie.check()


class TestInstants:
    def test_snapshots_and_forks_are_exact_too(self) -> None:
        trie = filled(*FILTERS)
        snapshot, fork = trie.snapshot(), trie.fork()
        fork.unsubscribe("a.b.c", "a.b.c")
        fork.subscribe("a.b.*", "new")
        trie.clear()
        assert sorted(snapshot.match("a.b.c")) == ["#", "*.b.c", "a.#", "a.*.c", "a.b.c"]
        assert sorted(fork.match("a.b.c")) == ["#", "*.b.c", "a.#", "a.*.c", "new"]
        assert sorted((change.kind, change.subscription.filter) for change in fork.diff(snapshot)) == [
            ("added", "a.b.*"),
            ("removed", "a.b.c"),
        ]
        for each in (trie, snapshot, fork):
            each.check()

    def test_a_trie_of_the_other_kind_has_nothing_to_compare(self) -> None:
        trie = filled("a.b")
        for one, other in ((trie, SubscriptionTrie()), (SubscriptionTrie(), trie)):
            with pytest.raises(ValueError, match="exact="):
                one.diff(other)
        trie.check()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("rounds", [300, pytest.param(5_000, marks=pytest.mark.slow)])
def test_real_threads(seed: int, rounds: int) -> None:
    """A subscriber is subscribed throughout. It moves between a filter found by its text and filters found by words."""
    print(f"seed {seed}")
    trie = filled("a.b.x", "b.*.c")
    trie.subscribe("a.b.c", "mover")

    def move() -> None:
        rng, here = random.Random(seed), "a.b.c"
        for _ in range(rounds):
            there = rng.choice([filter for filter in ("a.b.c", "a.*.c", "*.b.c", "a.#") if filter != here])
            assert trie.subscribe(there, "mover")
            assert trie.unsubscribe(here, "mover")
            here = there

    def ask() -> None:
        for _ in range(rounds):
            assert trie.match("a.b.c") == ("mover",)
            assert trie.has_match("a.b.c")

    def come_and_go(number: int) -> None:
        for n in range(rounds):
            filter = ("a.b.y", "a.b.*.z", f"a.{number}.{n % 50}")[n % 3]
            assert trie.subscribe(filter, number)
            assert trie.unsubscribe(filter, number)

    run_together([move, ask, lambda: come_and_go(1)])
    assert sorted(trie.filters("a.b.x")) == ["a.b.x"]
    assert len(trie) == 3
    trie.check()
