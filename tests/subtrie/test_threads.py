"""Many threads on one SubscriptionTrie: no acknowledged write is lost, and every snapshot is of one instant.

Each test is short here, and longer under the marker `slow`. Seeds determine the threads' choices, but not their timing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest

from ctrie import drain
from subtrie import SubscriptionTrie
from tests.subtrie.support import matches
from tests.threads import meanwhile, run_together

pytestmark = pytest.mark.racing

WORKERS = 3
WORDS = ["a", "b", "c"]
TOPICS = ["a", "a.b", "b.a", "c.c", "a.b.c", "c.b.a", "b.b.b.b"]

short_and_long = pytest.mark.parametrize("rounds", [200, pytest.param(4_000, marks=pytest.mark.slow)])


def some_filters(number: int, seed: int) -> list[str]:
    """Different filters, with many words in common."""
    rng = random.Random(seed)
    found: set[str] = set()
    while len(found) < number:
        found.add(".".join(rng.choices([*WORDS, "*", "#"], k=rng.randint(1, 4))))
    return sorted(found)


class Worker:
    """Subscribes and unsubscribes itself. It knows the result, since no other thread changes its subscriptions."""

    def __init__(self, trie: SubscriptionTrie, number: int, seed: int) -> None:
        self.trie = trie
        self.rng = random.Random(f"{seed}, worker {number}")
        self.filters = some_filters(40, seed)
        self.name = f"worker {number}"
        self.mine: dict[str, Any] = {}  # options by filter

    def work(self, rounds: int) -> None:
        for n in range(rounds):
            filter = self.rng.choice(self.filters)
            if self.rng.random() < 0.5:
                assert self.trie.subscribe(filter, self.name, n=n) is (filter not in self.mine)
                self.mine[filter] = n
            else:
                assert self.trie.unsubscribe(filter, self.name) is (filter in self.mine)
                self.mine.pop(filter, None)
            self.read_back(filter)
        assert {
            found.filter: found.options["n"] for found in self.trie.subscriptions(subscriber=self.name)
        } == self.mine

    def read_back(self, filter: str) -> None:
        found = list(self.trie.subscriptions(filter, self.name))
        assert [one.options["n"] for one in found] == [self.mine[name] for name in self.mine if name == filter]
        topic = self.rng.choice(TOPICS)
        reached = {name: n for name, n in self.mine.items() if matches(name, topic)}
        assert (self.name in self.trie.match(topic)) is bool(reached)
        entries = [one for one in self.trie.entries(topic) if one.subscriber == self.name]
        assert {one.filter: one.options["n"] for one in entries} == reached
        assert len(entries) == len(reached)


def shown(trie: SubscriptionTrie) -> Any:
    return (
        sorted((found.filter, found.subscriber, found.options["n"]) for found in trie.subscriptions()),
        len(trie),
        [sorted(trie.match(topic)) for topic in TOPICS],
        [sorted((found.filter, found.subscriber) for found in trie.entries(topic)) for topic in TOPICS],
    )


def a_snapshot_stays_what_it_is(trie: SubscriptionTrie) -> None:
    snapshot = trie.snapshot()
    first = shown(snapshot)
    assert first[1] == len(first[0])
    for topic, subscribers in zip(TOPICS, first[2], strict=True):
        assert subscribers == sorted({one for name, one, _ in first[0] if matches(name, topic)})
    assert shown(snapshot) == first
    snapshot.check()


def a_fork_goes_its_own_way(trie: SubscriptionTrie) -> None:
    fork = trie.fork()
    before = len(fork)
    assert fork.subscribe("nobody.else.here", "fork", n=0)
    for name in WORDS:
        fork.subscribe(f"{name}.#", "fork", n=0)
    assert len(fork) == before + 4
    assert not trie.has_match("nobody.else.here.at.all") or "fork" not in trie.match("nobody.else.here")
    fork.clear()
    assert not fork.has_match("a.b")
    fork.check()


def a_difference_leads_from_cut_to_cut(trie: SubscriptionTrie) -> None:
    older, newer = trie.snapshot(), trie.snapshot()
    now = {(found.filter, found.subscriber): found.options["n"] for found in older.subscriptions()}
    for found, kind in newer.diff(older):
        assert ((found.filter, found.subscriber) in now) is (kind != "added")
        if kind == "removed":
            del now[found.filter, found.subscriber]
        else:
            now[found.filter, found.subscriber] = found.options["n"]
    assert now == {(found.filter, found.subscriber): found.options["n"] for found in newer.subscriptions()}


BYSTANDERS = [a_snapshot_stays_what_it_is, a_fork_goes_its_own_way, a_difference_leads_from_cut_to_cut]


@short_and_long
@pytest.mark.parametrize("bystander", BYSTANDERS, ids=lambda bystander: bystander.__name__)
def test_no_write_is_lost(bystander: Callable[[SubscriptionTrie], None], rounds: int) -> None:
    trie = SubscriptionTrie()
    workers = [Worker(trie, number, rounds) for number in range(WORKERS)]
    with meanwhile(partial(bystander, trie)):
        run_together([partial(worker.work, rounds) for worker in workers])
    assert len(trie) == sum(len(worker.mine) for worker in workers)
    trie.check()
    for worker in workers:
        for filter in worker.mine:
            assert trie.unsubscribe(filter, worker.name)
    assert trie.stats()["branches"] == 0
    trie.check()
    assert drain() == 0


@short_and_long
def test_everybody_on_one_filter(rounds: int) -> None:
    """The filter comes and goes, its subscribers pass the inline limit both ways, and a level below comes and goes."""
    trie = SubscriptionTrie()

    def crowd(number: int) -> None:
        mine = [f"{number}, {n}" for n in range(6)]
        for _ in range(rounds // 4):
            for name in mine:
                assert trie.subscribe("a.b", name)
            assert set(mine) <= set(trie.match("a.b"))
            for name in mine:
                assert trie.unsubscribe("a.b", name)
            assert not set(mine) & set(trie.match("a.b"))

    def below() -> None:
        for _ in range(rounds):
            assert trie.subscribe("a.b.c", "below")
            assert trie.match("a.b.c") == ("below",)
            assert trie.unsubscribe("a.b.c", "below")

    workers: list[Callable[[], None]] = [partial(crowd, number) for number in range(WORKERS)]
    run_together([*workers, below])
    assert trie.stats()["branches"] == 0
    trie.check()


@short_and_long
def test_a_snapshot_holds_a_prefix_of_what_each_writer_did(rounds: int) -> None:
    """Number n of a writer joins, number n - window leaves, and so on. So a snapshot shows an unbroken run of its
    numbers, each on its own filter, and never an earlier run than the last snapshot showed."""
    trie = SubscriptionTrie()
    window = 12
    places = some_filters(29, rounds)

    def write(writer: int) -> None:
        for n in range(3 * rounds):
            assert trie.subscribe(places[n % len(places)], (writer, n))
            if n >= window:
                assert trie.unsubscribe(places[(n - window) % len(places)], (writer, n - window))

    def look(latest: dict[int, int]) -> None:
        cut = trie.snapshot()
        ons = [(found.subscriber, found.filter) for found in cut.subscriptions()]
        for writer in range(WORKERS):
            numbers = sorted(on[0][1] for on in ons if on[0][0] == writer)
            if not numbers:
                assert writer not in latest
                continue
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            assert len(numbers) in (window, window + 1) or (numbers[0] == 0 and len(numbers) < window)
            assert numbers[-1] >= latest.get(writer, 0), "an earlier instant than the last one"
            latest[writer] = numbers[-1]
        assert all(filter == places[n % len(places)] for (_, n), filter in ons)
        assert len(ons) == len(set(ons))

    with meanwhile(partial(look, {}), partial(look, {})):
        run_together([partial(write, writer) for writer in range(WORKERS)])
    left = {found.subscriber for found in trie.subscriptions()}
    assert left == {(writer, n) for writer in range(WORKERS) for n in range(3 * rounds - window, 3 * rounds)}
    trie.check()


@short_and_long
def test_clear_is_one_instant(rounds: int) -> None:
    """One thread fills the trie in a fixed order, clears it, and repeats. A snapshot shows a prefix of one round."""
    trie = SubscriptionTrie()
    places = ["a", "a.b", "#", "*.b", "a.*", "a.b.c", "b"]

    def fill_and_clear() -> None:
        for number in range(rounds):
            for place in places:
                assert trie.subscribe(place, number)
            trie.clear()
            assert not trie

    def look() -> None:
        found = list(trie.snapshot().subscriptions())
        assert {one.filter for one in found} == set(places[: len(found)])
        assert len({one.subscriber for one in found}) <= 1
        assert len(trie.match("a.b")) <= 1

    with meanwhile(look, look):
        run_together([fill_and_clear])
    assert len(trie) == 0
    trie.check()


def test_threads_that_come_and_go() -> None:
    """Each of many threads makes one change and ends. The value that it replaced is still released."""
    trie = SubscriptionTrie()
    number = count()
    for _ in range(20):
        run_together([partial(trie.subscribe, filter, next(number)) for filter in ("a.b", "a.*", "#", "a.c.d")])
    assert sorted(found.subscriber for found in trie.subscriptions()) == list(range(80))
    everybody = [(found.filter, found.subscriber) for found in trie.subscriptions()]
    for start in range(0, 80, 4):
        assert all(run_together([partial(trie.unsubscribe, *on) for on in everybody[start : start + 4]]))
    assert trie.stats()["branches"] == 0
    trie.check()
    assert drain() == 0
