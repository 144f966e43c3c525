"""What a broker does beside `match`: `python -m benchmarks.day [--size N]`.

What other questions cost, as multiples of a `match`, or in nanoseconds for each item. All ratios are of one run. How
long other threads wait beside long calls is in waits.py.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from benchmarks.workloads import growing_filters
from ctrie import Ctrie, CtrieSet
from subtrie import MQTT, SubscriptionTrie, TopicStore

MANY = 2_000


def best(call: Callable[[], object], calls: int = MANY) -> float:
    """Return the processor time of a call, in seconds: the best of five turns."""
    times = []
    for _ in range(5):
        before = time.process_time()
        for _ in range(calls):
            call()
        times.append(time.process_time() - before)
    return min(times) / calls


def drain(items: Any) -> None:
    for _ in items:
        pass


def ratios(size: int) -> dict[str, str]:
    trie = SubscriptionTrie[int](MQTT)
    trie.subscribe_many([(f"a/x{number % 1_000}/y{number}/z", number) for number in range(size)])
    one = "a/x77/y77/z"
    match = best(lambda: trie.match(one))
    found = {
        "in": best(lambda: (one, 77) in trie),
        "overlapping, one hit": best(lambda: list(trie.overlapping(one))),
        "overlapping, one hit, a wildcard": best(lambda: list(trie.overlapping("a/x77/y77/+"))),
    }
    said = {name: f"{cost / match:.1f} x match" for name, cost in found.items()}
    changes: dict[str, Callable[[int], object]] = {
        "diff, added": lambda number: trie.subscribe(f"a/x{number}/new/z", number),
        "diff, other options": lambda number: trie.subscribe(f"a/x{number % 1_000}/y{number}/z", number, qos=1),
        "diff, a second subscriber": lambda number: trie.subscribe(f"a/x{number % 1_000}/y{number}/z", -1),
    }
    for name, change in changes.items():
        before = trie.snapshot()
        for number in range(MANY):
            change(number)
        said[name] = f"{best(lambda: drain(trie.diff(before)), 1) / MANY * 1e6:.1f} us a change"  # noqa: B023
    pairs = Ctrie({7 * number: number for number in range(size)})
    beside = best(lambda: drain(dict(pairs).items()), 1)
    said["items of a map"] = f"{best(lambda: drain(pairs.items()), 1) / size * 1e9:.0f} ns each"
    said["items of a dict"] = f"{beside / size * 1e9:.0f} ns each, with its making"
    hot = SubscriptionTrie[int](MQTT)
    hot.subscribe_many([("hot", number, {"qos": number % 3}) for number in range(100_000)])
    said["deliveries of 100,000"] = f"{best(lambda: hot.deliveries('hot'), 1) / 100_000 * 1e6:.2f} us each"
    few = SubscriptionTrie[int](MQTT)
    few.subscribe_many([("a/+/#", 1), ("a/b/#", 2), ("a/b/c", 3)])
    without = best(lambda: few.match("a/b/c"))
    few.subscribe("a/+/#", 1, but=("a/secret/#",))
    said["match, one of three has an exclusion"] = f"{best(lambda: few.match('a/b/c')) / without:.1f} x none has"
    few.subscribe("a/+/#", 1)
    plain = best(lambda: few.deliveries("a/b/c"))
    told = best(lambda: [one.words for one in few.deliveries("a/b/c")])
    said["the words of three deliveries"] = f"{told / plain:.1f} x the deliveries"
    said.update(group_ratios())
    said.update(own_ratios(size))
    said.update(interest_ratios(size))
    said.update(set_ratios(size))
    said.update(many_ratios(size))
    store = TopicStore[int](MQTT)
    before_store = time.process_time()
    for number in range(size):
        store[f"a/{number % 997}/{number}"] = number
    said["a store, one by one"] = f"{(time.process_time() - before_store) / size * 1e6:.1f} us each"
    return said


def group_ratios() -> dict[str, str]:
    """What groups cost: of sixteen filters none, one, half and all have a group instead of a subscriber."""
    said: dict[str, str] = {}
    costs: dict[int, tuple[float, float]] = {}
    for groups in (0, 1, 8, 16):
        trie = SubscriptionTrie[int](MQTT)
        for number in range(16):  # sixteen filters that match one topic of four words
            filter = "/".join("+" if number >> place & 1 else "abcd"[place] for place in range(4))
            for member in range(4 if number < groups else 1):
                trie.subscribe(f"$share/g{number}/{filter}" if number < groups else filter, 4 * number + member)
        costs[groups] = (
            best(lambda: trie.match("a/b/c/d")),  # noqa: B023
            best(lambda: trie.deliveries("a/b/c/d")),  # noqa: B023
        )
    for groups in (1, 8, 16):
        matched, delivered = (cost / plain for cost, plain in zip(costs[groups], costs[0], strict=True))
        said[f"sixteen filters, {groups} in groups"] = f"match {matched:.1f} x, deliveries {delivered:.1f} x without"
    lone, one = SubscriptionTrie[int](MQTT), SubscriptionTrie[int](MQTT)
    lone.subscribe("a/b", 1)
    for member in range(4):
        one.subscribe("$share/g/a/b", member)
    matched = best(lambda: one.match("a/b")) / best(lambda: lone.match("a/b"))
    delivered = best(lambda: one.deliveries("a/b")) / best(lambda: lone.deliveries("a/b"))
    said["one filter, with a group"] = f"match {matched:.1f} x, deliveries {delivered:.1f} x without"
    return said


def own_ratios(size: int) -> dict[str, str]:
    """What other questions cost that a broker asks: for one subscriber, a group, and stored messages."""
    trie = SubscriptionTrie[int](MQTT)
    trie.subscribe_many([("hot/+", number) for number in range(10_000)])
    trie.subscribe_many([("#", 1), ("hot/1", 1)])
    trie.subscribe_many([("$share/g/jobs", number) for number in range(100)])
    few = SubscriptionTrie[int](MQTT)
    few.subscribe_many([(filter, 1) for filter in ("hot/+", "#", "hot/1")])
    alone = best(lambda: few.deliveries("hot/1"))
    own = best(lambda: trie.deliveries_of("hot/1", 1))
    members = best(lambda: trie.members("jobs", "g"))
    store = TopicStore[int](MQTT, {f"a/x{number % 1_000}/y{number}": number for number in range(size)})
    session, everybody = SubscriptionTrie[int](MQTT), SubscriptionTrie[int](MQTT)
    session.subscribe_many([(f"a/x{number}/+", 1) for number in range(20)])
    everybody.subscribe_many([(f"a/x{number}/#", number) for number in range(1_000)])
    found = sum(1 for _ in store.joined(session))
    joined = best(lambda: drain(store.joined(session)), 1) / found
    walked = best(lambda: drain(store.joined(everybody)), 1) / size
    matching = best(lambda: [list(store.matching(f"a/x{number}/+")) for number in range(20)], 1) / found
    return {
        "own deliveries of one of 10,000": f"{own / alone:.1f} x the deliveries of a trie with nobody else",
        "the members of a group of 100": f"{members / 100 * 1e6:.2f} us each",
        "a store joined, 20 filters": f"{joined * 1e6:.2f} us a topic, {joined / matching:.1f} x their matching",
        "a store joined, 1,000 filters": f"{walked * 1e6:.2f} us a topic",
    }


def interest_ratios(size: int) -> dict[str, str]:
    """What notices cost: of subscribes that each make a filter."""
    costs: dict[str, float] = {}

    def ignore(*notice: object) -> None: ...

    for _ in range(3):
        for name in ("", "on_interest", "on_group_interest"):
            settings: dict[str, Any] = {name: ignore} if name else {}
            trie = SubscriptionTrie[int](MQTT, **settings)
            before = time.process_time()
            for number in range(size // 4):
                trie.subscribe(f"a/x{number % 1_000}/y{number}", number)
            cost = time.process_time() - before
            costs[name] = min(cost, costs.get(name, cost))
    return {
        f"subscribe with {name}": f"{cost / costs['']:.1f} x without, a new filter"
        for name, cost in costs.items()
        if name
    }


def many_ratios(size: int) -> dict[str, str]:
    """What `subscribe_many` and `unsubscribe_many` cost beside a loop, in a trie with so many filters: for filters that
    begin with words that are there, for filters of their own, and for a second subscriber."""
    filters = list(growing_filters(size))
    trie = SubscriptionTrie[Any]()
    trie.subscribe_many([(filter, number) for number, filter in enumerate(filters)])
    few = min(size, 5_000)
    kinds = {
        "longer": [(f"{filter}.new", "x") for filter in growing_filters(few, 99)],
        "of their own": [(f"new.{number // 3}.{number % 3}", "x") for number in range(few)],
        "there": [(filter, "x") for filter in Random(3).sample(filters, few)],
    }
    said: dict[str, str] = {}
    for kind, rows in kinds.items():
        costs: dict[str, list[float]] = {"subscribe": [], "unsubscribe": []}
        for way in costs:
            one = getattr(trie, way)
            for call in (partial(_one_by_one, one, rows), partial(getattr(trie, f"{way}_many"), rows)):
                costs[way].append(_best_undone(call, partial(_one_by_one, getattr(trie, _OTHER[way]), rows), way))
        said.update({f"{way}_many, {kind}": f"{many / loop:.2f} x a loop" for way, (loop, many) in costs.items()})
    return said


_OTHER = {"subscribe": "unsubscribe", "unsubscribe": "subscribe"}


def _one_by_one(change: Callable[[Any, Any], object], rows: list[tuple[str, Any]]) -> None:
    for filter, subscriber in rows:
        change(filter, subscriber)


def _best_undone(call: Callable[[], object], other: Callable[[], object], way: str) -> float:
    """Return the processor time of a call; another one makes room for it, or takes back what it did."""
    times = []
    for _ in range(5):
        if way == "unsubscribe":
            other()
        before = time.process_time()
        call()
        times.append(time.process_time() - before)
        if way == "subscribe":
            other()
    return min(times)


def set_ratios(size: int) -> dict[str, str]:
    """What the operators of sets cost beside those of `set`: of numbers, which a set finds one behind the other in
    memory; of texts; and of a set and a fork of it with a few changes."""
    said: dict[str, str] = {}
    evens, threes = list(range(0, size, 2)), list(range(0, size, 3))
    sets: dict[str, tuple[list[Any], list[Any]]] = {
        "numbers": (evens, threes),
        "texts": (list(map(str, evens)), list(map(str, threes))),
    }
    for kind, (some, more) in sets.items():
        costs = _set_costs(CtrieSet(some), CtrieSet(more), set(some), set(more))
        said.update({f"sets of {kind}, {sign}": f"{cost:.1f} x set" for sign, cost in costs.items()})
    ours, one = CtrieSet(evens), set(evens)
    fork, other = ours.snapshot(), set(one)
    for number in range(10):
        fork.add(-1 - number)
        other.add(-1 - number)
    costs = _set_costs(ours, fork, one, other)
    said.update({f"a set and its fork, {sign}": f"{cost:.3f} x set" for sign, cost in costs.items()})
    return said


def _set_costs(ours: CtrieSet[Any], others: CtrieSet[Any], one: set[Any], other: set[Any]) -> dict[str, float]:
    joined = one | other
    ours_joined = CtrieSet[Any](joined)
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "&": (lambda: ours & others, lambda: one & other),
        "|": (lambda: ours | others, lambda: one | other),
        "-": (lambda: ours - others, lambda: one - other),
        "^": (lambda: ours ^ others, lambda: one ^ other),
        "<=, true": (lambda: ours <= ours_joined, lambda: one <= joined),
    }
    return {sign: best(mine, 1) / best(theirs, 1) for sign, (mine, theirs) in pairs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.day", description=__doc__)
    parser.add_argument("--size", type=int, default=200_000)
    size = parser.parse_args().size
    for name, cost in ratios(size).items():
        print(f"{name:38} {cost}")


if __name__ == "__main__":
    main()
