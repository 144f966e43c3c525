"""The garbage collector and the nodes of both tries: it sees exactly those that could be part of a cycle
(ctrie/c/untracked.h), and every branch of a C-node (ctrie/c/cnode.h). Its switch is the user's alone."""

from __future__ import annotations

import gc
import random
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import pytest

from ctrie import Ctrie, CtrieSet, drain
from ctrie._machine import GROUPS
from subtrie import SubscriptionTrie, TopicStore
from tests.threads import run_together

GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
UNREPORTED = 512  # objects, at most, that a thread of a free-threaded build has counted, but not yet added to the count
POINTER = 8


class Subscriber:
    """Could be part of a cycle, like any object with attributes."""


def is_node(thing: Any) -> bool:
    return type(thing).__module__.startswith(("ctrie.", "subtrie."))


def named(trie: object, *names: str) -> list[Any]:
    """The nodes of a trie with these names, as the collector finds them."""
    found, nodes = [trie], []
    while found:
        node = found.pop()
        if type(node).__name__ in names:
            nodes.append(node)
        if isinstance(node, tuple) or is_node(node):
            found.extend(gc.get_referents(node))
    return nodes


def could_be_in_a_cycle(node: Any) -> bool:
    """Whether the object that a branch or an entry leads to may lead on: a subscriber, options, entries, a level."""
    if type(node).__name__ == "Entry":
        return isinstance(node.key, Subscriber) or any(map(gc.is_tracked, (node.options or {}).values()))
    value = node.value
    alone = not could_be_in_a_cycle(value) if type(value).__name__ == "Entry" else type(value) in (int, str)
    if isinstance(value, tuple):
        alone = not gc.is_tracked(value) and not any(map(could_be_in_a_cycle, value))
    return not alone or node.next is not None


def filters(count: int) -> list[str]:
    """A third of them have one word, a third two words, and a third three words."""
    return [f"a{n}" if n % 3 == 0 else f"b{n % 50}.c{n}" if n % 3 == 1 else f"d{n}.e.f" for n in range(count)]


def filled(wanted: Iterable[str], subscribers: Iterable[object]) -> SubscriptionTrie:
    trie = SubscriptionTrie()
    for subscriber in subscribers:
        for filter in wanted:
            trie.subscribe(filter, subscriber)
    return trie


# ------------------------------------------------------------------------------------------------------ what is tracked


@pytest.mark.compiled
@pytest.mark.parametrize("keys", [0, 1, 2, GROUPS - 1, GROUPS, GROUPS + 1, 1_000])
def test_the_collector_finds_every_branch_of_c_nodes_as_long_as_they_need(keys: int) -> None:
    trie = Ctrie((key, [key]) for key in range(keys))
    assert sorted(pair.key for pair in named(trie, "Pair")) == list(range(keys))
    empty = sys.getsizeof(named(Ctrie(), "CNode")[0])
    for cn in named(trie, "CNode"):
        branches = [each for each in gc.get_referents(cn) if type(each).__name__ in ("INode", "Pair")]
        assert sys.getsizeof(cn) == empty + len(branches) * POINTER
    trie.check()


@pytest.mark.compiled
def test_pairs_and_leaves_of_a_map_are_tracked_if_they_could_be_in_a_cycle() -> None:
    plain: Ctrie[int, Any] = Ctrie((key, key) for key in range(1_000))
    lists = Ctrie((key, [key]) for key in range(1_000))
    assert all(map(gc.is_tracked, named(lists, "CNode", "INode", "Pair")))
    leaves = [cn for cn in named(plain, "CNode") if not named(cn, "INode")]
    assert leaves
    assert not any(map(gc.is_tracked, leaves))
    for value in (5, [1], 2, [3], 4):  # from one kind to the other and back
        plain.update(dict.fromkeys(range(0, 1_000, 7), value))
        pairs = named(plain, "Pair")
        assert len(pairs) == 1_000
        assert all(gc.is_tracked(pair) == isinstance(pair.value, list) for pair in pairs)
        plain.check()


@pytest.mark.compiled
def test_branches_and_entries_of_a_trie_are_tracked_if_they_could_be_in_a_cycle() -> None:
    trie, someone = filled([], []), Subscriber()
    for n, filter in enumerate(filters(1_000)):
        trie.subscribe(filter, n)
        for every, subscriber, options in (
            (5, someone, {}),
            (7, "another", {}),
            (11, "qos", {"qos": 1}),
            (13, "list", {"colours": ["red"]}),
        ):
            if n < 500 and n % every == 0:
                trie.subscribe(filter, subscriber, **options)  # type: ignore[arg-type]
    for kind in ("Branch", "Chain", "Entry"):
        nodes = named(trie, kind)
        assert all(gc.is_tracked(node) == could_be_in_a_cycle(node) for node in nodes)
        assert {gc.is_tracked(node) for node in nodes} == {False, True}
    trie.check()


@pytest.mark.compiled
@pytest.mark.skipif(not GIL, reason="all I-nodes are tracked on free-threaded builds")
def test_of_a_trie_in_which_nothing_could_be_in_a_cycle_few_i_nodes_are_tracked() -> None:
    plain: Ctrie[int, Any] = Ctrie((key, key) for key in range(10_000))
    assert not any(map(gc.is_tracked, named(plain, "INode", "CNode")))
    trie = filled((f"a{n % 10}.b{n // 10}" for n in range(10_000)), [0])
    inodes = named(trie, "INode")
    assert len(inodes) > 1_000
    assert sum(map(gc.is_tracked, inodes)) < 50
    plain.check()
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
        found += [(below, seen) for below in gc.get_referents(node) if isinstance(below, tuple) or is_node(below)]
    return lost


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(2))
def test_what_is_tracked_hangs_from_nodes_that_are(seed: int) -> None:
    rng, wanted = random.Random(seed), filters(2_000)
    maps: list[Any] = [Ctrie((key, key) for key in range(2_000))]
    tries: list[Any] = [filled(wanted, [0])]
    for step in range(300):
        one, routes, value = rng.choice(maps), rng.choice(tries), rng.choice((step, [step], Subscriber()))
        rng.choice((one.__setitem__, one.put_if_absent, one.replace))(rng.randrange(4_000), value)
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
    for each in (*maps, *tries):
        assert out_of_reach(each) == []
        each.check()
    assert all(routes.stats()["retries"] == 0 for routes in tries)  # no other thread interfered


@pytest.mark.parametrize("where", ["map", "trie", "trie, many at once"])
def test_a_cycle_through_a_node_that_was_not_tracked_is_collected(where: str) -> None:
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


# ------------------------------------------------------------------------------------------------------ what is counted


@pytest.fixture
def counted(without_collector: None) -> Callable[[], int]:
    """How many more objects have been allocated for the collector than freed since the test began, give or take
    `UNREPORTED` for each thread."""
    return lambda: gc.get_count()[0]


@pytest.mark.compiled
@pytest.mark.freethreaded  # all nodes are allocated for the collector on GIL builds, and it looks at tracked ones
def test_nodes_that_are_not_tracked_are_not_counted_either(counted: Callable[[], int]) -> None:
    # Tuples are counted, including those that are kept for reuse.
    pairs: list[Any] = [(key, key) for key in range(1_500)]
    lists: list[Any] = [(key, [key]) for key in range(1_500)]
    wanted, someone = filters(1_500), [Subscriber() for _ in range(3)]
    # Of a map the 350 or so I-nodes are counted. Of a trie those are, and not the branches; where a filter has several
    # subscribers, branches and the tuples that they lead to, and not the 4,500 entries.
    cases: list[tuple[Any, ...]] = [
        (Ctrie, pairs, lists, 1_000, 1_300),
        (partial(filled, wanted), range(1), someone[:1], 1_500, 1_500),
        (partial(filled, wanted), range(3), someone, 7_000, 7_000),
    ]
    for make, untracked, tracked, most, least in cases:
        before = counted()
        one: Any = make(untracked)
        middle = counted()
        other: Any = make(tracked)
        assert abs(middle - before) < most
        assert counted() - middle > least
        one.check()
        other.check()
        del one, other


@pytest.mark.compiled
@pytest.mark.freethreaded
def test_the_count_is_right_after_nodes_of_both_kinds_have_come_and_gone(counted: Callable[[], int]) -> None:
    """Otherwise collections would come too often, or never."""
    wanted, someone = filters(1_000), Subscriber()
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


@pytest.mark.compiled
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


# ----------------------------------------------------------------------------------------------------------- its switch

FILLINGS: dict[str, Callable[[Any], Any]] = {
    "map of a generator": lambda keys: Ctrie((key, None) for key in keys),
    "map of a dict": lambda keys: Ctrie(dict.fromkeys(keys)),
    "update": lambda keys: Ctrie().update([(key, None) for key in keys]),
    "set of a generator": lambda keys: CtrieSet(key for key in keys),
    "set of a list": lambda keys: CtrieSet(list(keys)),
    "or": lambda keys: CtrieSet("a") | (key for key in keys),
    "and": lambda keys: CtrieSet("a") & (key for key in keys),
    "xor": lambda keys: CtrieSet("a") ^ {key: None for key in keys}.keys(),
    "union": lambda keys: CtrieSet("a").union(keys),
    "subscriptions": lambda keys: SubscriptionTrie().subscribe_many((str(key), key) for key in keys),
    "subscriptions of a list": lambda keys: SubscriptionTrie().subscribe_many([("a", key) for key in keys]),
}


@pytest.mark.racing
@pytest.mark.parametrize("filling", FILLINGS)
def test_code_that_a_filling_runs_finds_the_collector_as_the_user_set_it(filling: str) -> None:
    """Whoever switches it meanwhile has the last word."""
    seen: list[bool] = []

    class Looking:
        def __hash__(self) -> int:
            seen.append(gc.isenabled())
            return 5

    def keys(meanwhile: Callable[[], object]) -> Iterator[Looking]:
        for _ in range(3):
            seen.append(gc.isenabled())
            yield Looking()
            meanwhile()

    try:
        for is_on in (True, False):
            (gc.enable if is_on else gc.disable)()
            FILLINGS[filling](keys(lambda: None))
            assert set(seen) == {is_on} == {gc.isenabled()}
            seen.clear()
        gc.enable()
        FILLINGS[filling](keys(lambda: run_together([gc.disable])))
        assert not gc.isenabled()
    finally:
        gc.enable()
