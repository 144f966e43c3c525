"""The garbage collector sees exactly those nodes of both tries that could be part of a cycle (ctrie/c/untracked.h)."""

from __future__ import annotations

import gc
import random
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import pytest

from ctrie import Ctrie, drain
from subtrie import SubscriptionTrie, TopicStore
from tests.threads import run_together

pytestmark = pytest.mark.compiled

GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
UNREPORTED = 512  # objects, at most, that a thread of a free-threaded build has counted, but not yet added to the count


class Subscriber:
    """Could be part of a cycle, like any object with attributes."""


def nodes(trie: object) -> Iterator[Any]:
    """All nodes of a trie, as the collector finds them."""
    found: list[object] = [trie]
    while found:
        node = found.pop()
        if type(node).__module__.startswith(("ctrie.", "subtrie.")):
            yield node
        if isinstance(node, tuple) or type(node).__module__.startswith(("ctrie.", "subtrie.")):
            found.extend(gc.get_referents(node))


def named(trie: object, *names: str) -> list[Any]:
    return [node for node in nodes(trie) if type(node).__name__ in names]


def could_be_in_a_cycle(node: Any) -> bool:
    """Whether the object that a branch or an entry leads to may lead on: a subscriber, options, entries, a level."""
    if type(node).__name__ == "Entry":
        return isinstance(node.key, Subscriber) or any(map(gc.is_tracked, (node.options or {}).values()))
    value = node.value
    alone = not could_be_in_a_cycle(value) if type(value).__name__ == "Entry" else type(value) in (int, str)
    if isinstance(value, tuple):
        alone = not gc.is_tracked(value) and not any(map(could_be_in_a_cycle, value))
    return not alone or node.next is not None


def filters(count: int) -> Iterator[str]:
    """Yield `count` filters; a third of them have one word, a third two words, and a third three words."""
    for n in range(count):
        yield f"a{n}" if n % 3 == 0 else f"b{n % 50}.c{n}" if n % 3 == 1 else f"d{n}.e.f"


class TestTracked:
    """Exactly the objects that could be part of a cycle."""

    def test_in_a_map(self) -> None:
        plain: Ctrie[int, Any] = Ctrie((key, key) for key in range(1_000))
        lists = Ctrie((key, [key]) for key in range(1_000))
        assert all(map(gc.is_tracked, named(lists, "CNode", "INode", "Pair")))
        assert not any(map(gc.is_tracked, named(plain, "Pair")))
        leaves = [cn for cn in named(plain, "CNode") if not named(cn, "INode")]
        assert leaves
        assert not any(map(gc.is_tracked, leaves))
        for value in ([1], 2, [3], 4):  # from one kind to the other and back
            plain.update(dict.fromkeys(range(0, 1_000, 7), value))
            pairs = {pair.key: pair for pair in named(plain, "Pair")}
            assert len(pairs) == 1_000
            assert all(gc.is_tracked(pair) == isinstance(pair.value, list) for pair in pairs.values())
            plain.check()

    def test_in_a_subscription_trie(self) -> None:
        trie = SubscriptionTrie()
        someone = Subscriber()
        for n, filter in enumerate(filters(1_000)):
            trie.subscribe(filter, n)
        for n, filter in enumerate(filters(500)):
            if n % 5 == 0:
                trie.subscribe(filter, someone)
            if n % 7 == 0:
                trie.subscribe(filter, "another")
            if n % 11 == 0:
                trie.subscribe(filter, "with options", qos=1)
            if n % 13 == 0:
                trie.subscribe(filter, "with a list", colours=["red"])
        kinds = {"Branch": set[bool](), "Chain": set[bool](), "Entry": set[bool]()}
        for node in named(trie, *kinds):
            assert gc.is_tracked(node) == could_be_in_a_cycle(node), node
            kinds[type(node).__name__].add(gc.is_tracked(node))
        assert all(seen == {False, True} for seen in kinds.values()), kinds
        trie.check()


def out_of_reach(trie: object) -> list[Any]:
    """The S-nodes that the collector tracks, but that hang from a node that it does not track. It would never find a
    cycle through them."""
    found, lost = [(trie, True)], []
    while found:
        node, seen = found.pop()
        kind = type(node).__name__
        if kind in {"Pair", "Branch", "Chain"} and gc.is_tracked(node) and not seen:
            lost.append(node)
        seen = seen and (gc.is_tracked(node) or kind == "tuple")
        found += [
            (below, seen)
            for below in gc.get_referents(node)
            if isinstance(below, tuple) or type(below).__module__.startswith(("ctrie.", "subtrie."))
        ]
    return lost


class TestINodes:
    """On GIL builds, they are tracked if the objects below them have to be; see untracked.h."""

    @pytest.mark.skipif(not GIL, reason="all I-nodes are tracked on free-threaded builds")
    def test_of_a_trie_in_which_nothing_could_be_part_of_a_cycle_few_are(self) -> None:
        plain: Ctrie[int, Any] = Ctrie((key, key) for key in range(10_000))
        assert not any(map(gc.is_tracked, named(plain, "INode", "CNode")))
        trie = filled((f"a{n % 10}.b{n // 10}" for n in range(10_000)), [0])
        inodes = named(trie, "INode")
        assert len(inodes) > 1_000
        assert sum(map(gc.is_tracked, inodes)) < 50
        plain.check()
        trie.check()

    @pytest.mark.parametrize("seed", range(4))
    def test_what_is_tracked_hangs_from_nodes_that_are(self, seed: int) -> None:
        rng = random.Random(seed)
        maps: list[Any] = [Ctrie((key, key) for key in range(2_000))]
        tries: list[Any] = [filled(filters(2_000), [0])]
        wanted = list(filters(2_000))
        for step in range(300):
            one, routes, value = rng.choice(maps), rng.choice(tries), rng.choice((step, [step], Subscriber()))
            key = rng.randrange(4_000)
            rng.choice((one.__setitem__, one.put_if_absent, one.replace))(key, value)
            one.pop(rng.randrange(4_000), None)
            who = value if isinstance(value, Subscriber) else step
            if rng.random() < 0.5:
                routes.subscribe(rng.choice(wanted), who)
                routes.unsubscribe(rng.choice(wanted), 0)
            else:
                routes.subscribe_many([(filter, who) for filter in rng.sample(wanted, 5)])
                routes.unsubscribe_many([(filter, 0) for filter in rng.sample(wanted, 5)])
            if step % 50 == 0:
                maps.append(one.snapshot())
                tries.append(routes.fork())
        assert all(out_of_reach(one) == [] for one in (*maps, *tries))
        assert all(routes.stats()["retries"] == 0 for routes in tries)  # no other thread interfered
        for one in (*maps, *tries):
            one.check()

    def test_a_cycle_through_a_node_that_was_not_tracked_is_collected(self) -> None:
        for where in ("map", "trie", "trie, many at once"):
            plain: Any = Ctrie((key, key) for key in range(2_000))
            trie: Any = filled((f"a{n % 40}.b.c{n}" for n in range(2_000)), [0])
            someone: Any = Subscriber()
            someone.owner = plain, trie
            if where == "map":
                plain[7] = someone
            elif where == "trie":
                trie.subscribe("a7.b.c.d", someone)
            else:
                trie.subscribe_many([("a7.b.c.d", someone), ("a8.b.c9", someone)])
            gone = weakref.ref(someone)
            drain()
            del plain, trie, someone
            gc.collect()
            drain()
            gc.collect()
            assert gone() is None


def filled(wanted: Iterable[str], subscribers: Iterable[object]) -> SubscriptionTrie:
    trie = SubscriptionTrie()
    for subscriber in subscribers:
        for filter in wanted:
            trie.subscribe(filter, subscriber)
    return trie


@pytest.fixture
def counted() -> Iterator[Callable[[], int]]:
    """How many more objects have been allocated for the collector than freed since the test began, give or take
    `UNREPORTED` for each thread."""
    gc.collect()
    gc.disable()
    try:
        yield lambda: gc.get_count()[0]
    finally:
        gc.enable()


@pytest.mark.skipif(GIL, reason="all nodes are allocated for the collector on GIL builds, and it looks at tracked ones")
class TestOnFreeThreadedBuilds:
    def test_pairs_and_cnodes_that_are_not_tracked_are_not_counted_either(self, counted: Callable[[], int]) -> None:
        pairs = [(key, key) for key in range(1_500)]  # tuples are counted, including those that are kept for reuse
        before = counted()
        trie = Ctrie(pairs)  # its 350 or so I-nodes are counted
        assert abs(counted() - before) < 1_000
        lists = Ctrie((key, [key]) for key in range(1_500))
        assert counted() - before > 2_000
        trie.check()
        lists.check()

    @pytest.mark.parametrize(
        ("each", "limit"),
        [
            pytest.param(1, 1_500, id="I-nodes are, branches are not"),
            pytest.param(3, 7_000, id="branches and the tuples that they lead to are, 4,500 entries are not"),
        ],
    )
    def test_branches_and_entries_that_are_not_tracked_are_not_counted_either(
        self, counted: Callable[[], int], each: int, limit: int
    ) -> None:
        wanted, someone = list(filters(1_500)), [Subscriber() for _ in range(each)]
        before = counted()
        trie = filled(wanted, range(each))
        assert abs(counted() - before) < limit
        before = counted()
        objects = filled(wanted, someone)
        assert counted() - before > limit
        trie.check()
        objects.check()

    def test_the_count_is_right_after_nodes_of_both_kinds_have_come_and_gone(self, counted: Callable[[], int]) -> None:
        """Otherwise collections would come too often, or never."""
        wanted, someone = list(filters(1_000)), Subscriber()
        trie: Ctrie[int, Any] = Ctrie((key, key) for key in range(1_000))
        routes = filled(wanted, [0])
        kept: list[object] = [[] for _ in range(20_000)]  # since the count does not go below zero
        before = counted()

        def write(start: int) -> None:
            for n in range(start, start + 20_000):
                trie[n % 1_000] = [n] if n % 3 else n
                change = routes.subscribe if n % 5 else routes.unsubscribe
                change(wanted[n % 1_000], (start, "text", someone)[n % 3])

        run_together([partial(write, 0), partial(write, 7)])
        trie.update((key, key) for key in range(1_000))
        for filter in wanted:
            for subscriber in (0, 7, "text", someone):
                routes.unsubscribe(filter, subscriber)
            routes.subscribe(filter, 0)
        drain()
        # Two threads have ended, and this one has counted twice. Not all I-nodes and tuples are those of before. Of each
        # kind of node 13,000 and more have come and gone, so a kind that is counted on one of these ways shows.
        assert abs(counted() - before) < 4 * UNREPORTED + 3_000
        assert kept
        trie.check()
        routes.check()


def questions() -> dict[str, Callable[[], object]]:
    trie, store, pairs = SubscriptionTrie(), TopicStore(topics={"a.b": 1}), Ctrie({1: 2})
    trie.subscribe("a.b", 1, qos=1)
    trie.subscribe("a.*", 2)
    return {
        "match": lambda: trie.match("a.b"),
        "match_many": lambda: trie.match_many(["a.b"]),
        "has_match": lambda: trie.has_match("a.b"),
        "count": lambda: trie.count("a.b"),
        "entries": lambda: list(trie.entries("a.b")),
        "deliveries": lambda: trie.deliveries("a.b", merge="best"),
        "subscribe": lambda: (trie.subscribe("c.d", 3), trie.unsubscribe("c.d", 3)),
        "matching": lambda: list(store.matching("a.*")),
        "topic": lambda: (store.get("a.b"), store.setdefault("a.b", 2), "c" in store),
        "get": lambda: (pairs.get(1), pairs.get_many([1]), 1 in pairs, pairs.setdefault(1, 3), pairs.replace(1, 2)),
    }


@pytest.mark.skipif(not GIL, reason="references to types are not counted on free-threaded builds")
@pytest.mark.parametrize("name", questions())
def test_what_is_asked_often_makes_no_generator(name: str) -> None:
    """Each generator in a compiled module takes time and leaves a reference to its type. `match_iter` is one: it hands
    over the first ones before it looks for the others."""
    ask = questions()[name]
    before = {kind: sys.getrefcount(kind) for kind in gc.get_objects() if isinstance(kind, type)}
    for _ in range(100):
        ask()
    more = {kind.__qualname__: sys.getrefcount(kind) - count for kind, count in before.items()}
    assert [name for name, count in more.items() if count >= 100] == []
