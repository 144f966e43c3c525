"""Many threads on one SubscriptionTrie: no acknowledged write is lost, every answer and every snapshot is of one instant.

Each test is short here, and some are longer under the marker `slow`. Seeds determine the threads' choices, but not their timing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest

from ctrie import drain, twin
from subtrie import AMQP, MQTT, NATS, SubscriptionTrie, TopicStore
from tests.subtrie.support import Told, Ways, both_ways, made, reaches
from tests.threads import meanwhile, run_together

pytestmark = pytest.mark.racing

WORKERS = 3
WORDS = ["a", "b", "c"]
TOPICS = ["a", "a.b", "b.a", "c.c", "a.b.c", "c.b.a", "b.b.b.b"]
LONGER = pytest.param(4_000, marks=pytest.mark.slow("the same for longer: timings differ each time"))

short_and_long = pytest.mark.parametrize("rounds", [200, LONGER])
matches = partial(reaches, AMQP)


def some_filters(number: int, seed: int) -> list[str]:
    """Different filters, with many words in common."""
    rng = random.Random(seed)
    found: set[str] = set()
    while len(found) < number:
        found.add(".".join(rng.choices([*WORDS, "*", "#"], k=rng.randint(1, 4))))
    return sorted(found)


# ---------------------------------------------------------------------------------------------- each has its own, or none


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
        assert {one.filter: one.options["n"] for one in self.trie.subscriptions(subscriber=self.name)} == self.mine
        assert sorted(self.trie.filters(self.name)) == sorted(self.mine)

    def read_back(self, filter: str) -> None:
        found = list(self.trie.subscriptions(filter, self.name))
        assert [one.options["n"] for one in found] == [self.mine[name] for name in self.mine if name == filter]
        topic = self.rng.choice(TOPICS)
        reached = {name: n for name, n in self.mine.items() if matches(name, topic)}
        assert (self.name in self.trie.match(topic)) is bool(reached)
        for answer in (
            self.trie.entries(topic),
            self.trie.deliveries(topic),
            self.trie.deliveries_of(topic, self.name),
        ):
            entries = [one for one in answer if one.subscriber == self.name]
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
    assert "fork" not in trie.match("nobody.else.here")
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


@short_and_long
@pytest.mark.parametrize(
    ("bystander", "settings"),
    [
        (a_snapshot_stays_what_it_is, {"exact": True}),
        (a_snapshot_stays_what_it_is, {"cache": 4}),
        (a_fork_goes_its_own_way, {}),
        (a_difference_leads_from_cut_to_cut, {"index": True}),
    ],
)
def test_no_write_is_lost(bystander: Callable[[SubscriptionTrie], None], settings: dict[str, Any], rounds: int) -> None:
    told = Told()
    trie = made(**settings, on_interest=told)
    workers = [Worker(trie, number, rounds) for number in range(WORKERS)]
    with meanwhile(partial(bystander, trie)):
        run_together([partial(worker.work, rounds) for worker in workers])
    assert len(trie) == sum(len(worker.mine) for worker in workers)
    assert told.wanted == {filter for worker in workers for filter in worker.mine}
    trie.check()
    for worker in workers:
        assert trie.unsubscribe_all(worker.name) == len(worker.mine)
    assert trie.stats()["branches"] == 0
    trie.check()
    assert drain() == 0


@short_and_long
@pytest.mark.parametrize("exact", [False, True])
def test_all_use_the_same_few_subscriptions(exact: bool, rounds: int) -> None:
    """At the end, the index has exactly the trie's subscriptions, and the listeners were told of these."""
    told, groups = Told(), Told()
    trie = made(NATS, index=True, exact=exact, on_interest=told)
    grouped = made(NATS, on_group_interest=lambda filter, group, wanted: groups(f"{filter} {group}", wanted))
    filters, subscribers, seed = ["a", "a.b", "*.b", ">"], ["x", "y"], f"{exact}, {rounds}"
    print(f"seed {seed}")

    def work(number: int) -> None:
        rng = random.Random(f"{seed}, {number}")
        for _ in range(rounds):
            filter, subscriber, queue = rng.choice(filters), rng.choice(subscribers), rng.choice([None, "g", "h"])
            action = rng.random()
            if action < 0.45:
                trie.subscribe(filter, subscriber)
                grouped.subscribe(filter, subscriber, **({} if queue is None else {"queue": queue}))
            elif action < 0.9:
                trie.unsubscribe(filter, subscriber)
                grouped.unsubscribe(filter, subscriber, queue=queue)
            elif action < 0.99:
                trie.unsubscribe_all(subscriber)
            else:
                trie.clear()

    def look() -> None:
        found = trie.filters("x")
        assert len(set(found)) == len(found)
        assert set(found) <= set(filters)

    with meanwhile(look):
        run_together([partial(work, number) for number in range(3)])
    for subscriber in subscribers:
        assert set(trie.filters(subscriber)) == {one.filter for one in trie.subscriptions() if one[1] == subscriber}
    assert told.wanted == {one.filter for one in trie.subscriptions()}
    assert groups.wanted == {f"{one.filter} {one.options.get('queue')}" for one in grouped}
    trie.check()
    grouped.check()
    assert drain() == 0


@short_and_long
def test_everybody_on_one_filter(rounds: int) -> None:
    """The filter comes and goes, its subscribers pass the inline limit both ways, and a level below comes and goes."""
    trie = made()

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


# ------------------------------------------------------------------------------------------------------- of one instant

# For every reader. Each match of a deep trie reads hundreds of levels, so much happens meanwhile.
ASKED = 600 if twin == "compiled" else 40
DEEP = [".".join(words) for words in product("a*", repeat=7)]
FLAT = ["a.b.c", "a.*.c", "*.b.c", "a.#", "#"]


def all_ways(trie: SubscriptionTrie, topic: str) -> list[Any]:
    """The subscribers that each question names; groups are asked below."""
    joined = {topic: found for topic, _, found in TopicStore(trie.dialect, {topic: 1}).joined(trie)}
    told = (trie.deliveries(topic), trie.deliveries_many([topic])[0], trie.entries(topic), joined.get(topic, ()))
    answers: list[Any] = [trie.match(topic), [*trie.match_iter(topic)], trie.match_many([topic, "x", topic])[2]]
    return answers + [{one.subscriber for one in found} for found in told]


@pytest.mark.parametrize(
    ("filters", "settings"), [(DEEP, {}), (FLAT, {"exact": True}), (FLAT, {"cache": 64}), (FLAT, {"index": True})]
)
def test_who_is_always_subscribed_is_never_missed(filters: list[str], settings: dict[str, Any]) -> None:
    """A subscriber that moves from filter to filter, always on one or two of them; its options say on which."""
    rng = random.Random(str(settings))
    trie, topic = SubscriptionTrie(**settings), filters[0]
    for filter in filters:
        trie.subscribe(f"{filter}.z", "bystander")
    here = rng.choice(filters)
    trie.subscribe(here, "mover", by=here)

    def move() -> None:
        nonlocal here
        there = rng.choice(filters)
        if there != here:
            assert trie.subscribe(there, "mover", by=there)
            assert trie.unsubscribe(here, "mover")
            here = there

    def match() -> None:
        for _ in range(2 * ASKED):
            assert "mover" in trie.match(topic)
            assert trie.has_match(topic)

    def ask() -> None:
        for _ in range(ASKED // 4):
            assert all("mover" in found for found in all_ways(trie, topic))
            assert 1 <= len(found := trie.deliveries_of(topic, "mover")) <= 2
            assert all(one.filter == one.options["by"] for one in found)
            assert len(trie.deliveries_of(topic, "mover", merge="one")) == 1

    with meanwhile(move):
        run_together([match, match, ask])
    assert trie.filters("mover") == [here]
    trie.check()


def test_exclusions_change_at_one_instant() -> None:
    """What gets a message by the old and by the new exclusions gets it at every instant; other topics never."""
    trie = made(MQTT, rows=[("a/#", "ann", {"but": ("a/x", "a/z")})])

    def change() -> None:
        for one in ("a/y", "a/x"):
            trie.subscribe("a/#", "ann", but=(one, "a/z"))

    def ask() -> None:
        for _ in range(ASKED):
            assert trie.match("a/b") == ("ann",)
            assert trie.match("a/z") == ()
            assert (trie.has_match("a/z"), trie.has_match("a/b")) == (False, True)
            both = trie.snapshot()
            assert both.has_match("a/x") is not both.has_match("a/y")

    with meanwhile(change):
        run_together([ask, ask])


@both_ways
def test_one_member_of_a_group_is_always_found_and_never_two(dialect: Any) -> None:
    ways, trie = Ways(dialect), SubscriptionTrie(dialect)
    ways.subscribe(trie, "a", "g", "stays")
    ways.subscribe(trie, "a", None, "plain")

    def come_and_go(number: int) -> None:
        for n in range(150):
            for group, who in (("g", (number, n)), (f"own-{number}", n)):
                assert ways.subscribe(trie, "a", group, who)
            for group, who in (("g", (number, n)), (f"own-{number}", n)):
                assert ways.unsubscribe(trie, "a", group, who)

    def look() -> None:
        found = trie.match("a")
        assert "plain" in found
        assert sum(one == "stays" or isinstance(one, tuple) for one in found) == 1

    looks: list[Callable[[], None]] = [look, look]
    with meanwhile(*looks):
        run_together([partial(come_and_go, number) for number in range(2)])
    assert set(trie.match("a")) == {"stays", "plain"}
    trie.check()
    assert drain() == 0


@short_and_long
def test_a_snapshot_holds_a_prefix_of_what_each_writer_did(rounds: int) -> None:
    """Number n of a writer joins, number n - window leaves, and so on. So a snapshot shows an unbroken run of its
    numbers, each on its own filter, and never an earlier run than the last snapshot showed."""
    trie = made()
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


@short_and_long
def test_clear_is_one_instant(rounds: int) -> None:
    """One thread fills the trie in a fixed order, clears it, and repeats. A snapshot shows a prefix of one round."""
    trie = made()
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
