"""Real threads on one map or set: nothing is lost, nothing comes back, and an operation on the whole of it sees one instant.

Each test runs a fixed amount of work, small enough for every test run. The `stress` package has the long runs with
recorded histories.
"""

from __future__ import annotations

import copy
import itertools
import pickle
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

import ctrie
from ctrie import Ctrie, CtrieSet
from tests.ctrie.oracle import ABSENT, OPERATIONS, Pair, Universe, itself, outcome
from tests.threads import meanwhile, run_together

pytestmark = pytest.mark.racing

THREADS = 8

# How much work. The interpreted twin is twenty times slower; the portable slot makes it ten times slower again.
PORTABLE = ctrie.AtomicReference.__module__ == "ctrie._portable"
WORK = 5_000 if ctrie.twin == "compiled" else 50 if PORTABLE else 300


@pytest.mark.parametrize(
    ("keys", "work", "options"), [(3, WORK, {}), (40, WORK, {}), (4, WORK // 4, {"hash": lambda k: 0})], ids=str
)
def test_no_write_is_lost_while_snapshots_are_taken_without_pause(keys: int, work: int, options: Any) -> None:
    """Each thread writes, and reads back at once, keys that no other thread writes."""
    shared: Any = Ctrie(**options)

    def act(thread: int) -> None:
        chance = random.Random(thread)
        own = Pair(Universe([(thread, number) for number in range(keys)], {}, itself), [])
        own.map = shared
        for step in range(work):
            name = chance.choice(("set", "set", "pop", "put_if_absent", "replace", "compute", "get"))
            own.operate(name, (thread, chance.randrange(keys)), None, [step])
            if step % 16 == 0:
                own.look_up()
        own.look_up()

    with meanwhile(shared.snapshot, shared.readonly_snapshot):
        run_together([partial(act, thread) for thread in range(THREADS)])
    shared.check()


# ---------------------------------------------------------------------------------------------------------- one winner

# A contest for a key, of which each key has one winner: whether the map holds all keys before, and who has won.
CONTESTS: dict[str, tuple[bool, Callable[[Any, int], Any]]] = {
    "put_if_absent": (False, lambda m, k: m.put_if_absent(k, k) is None),
    "remove_if": (True, lambda m, k: not m.remove_if(k, -1) and m.remove_if(k, k)),
    "replace_if": (True, lambda m, k: m.replace_if(k, k, -k - 1)),
    "pop": (True, lambda m, k: m.pop(k, None) is not None),
    "add": (False, lambda s, k: s.add(k)),
    "discard": (True, lambda s, k: s.discard(k)),
}


def contested(contest: Callable[[int], Any], keys: int) -> list[int]:
    """Let all threads contest for each key, each beginning at another place; return the number of winners of each."""

    def compete(thread: int) -> list[bool]:
        first = thread * keys // THREADS
        won = {k: bool(contest(k)) for k in (*range(first, keys), *range(first))}
        return [won[k] for k in range(keys)]

    return list(map(sum, zip(*run_together([partial(compete, thread) for thread in range(THREADS)]), strict=True)))


@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("name", CONTESTS)
def test_each_contest_has_one_winner(name: str, colliding: bool) -> None:
    is_full, contest = CONTESTS[name]
    keys = max(20, WORK // (20 if colliding else 4))
    options: Any = {"hash": lambda k: k % 5} if colliding else {}
    of_set = name in ("add", "discard")
    present: Any = range(keys if is_full else 0)
    made: Any = CtrieSet(present, **options) if of_set else Ctrie(((k, k) for k in present), **options)
    with meanwhile(made.snapshot, made.readonly_snapshot):
        assert contested(lambda k: contest(made, k), keys) == [1] * keys
    if name in ("remove_if", "pop", "discard"):
        assert not made
        assert of_set or made._shape() == ("C",)
    else:
        assert sorted(made) == list(range(keys))
    made.check()


def test_what_changes_a_value_by_itself_is_done_as_often_as_asked() -> None:
    """Increments, and toggles in pairs."""
    times = max(20, WORK // 20)
    counts, toggled, members = Ctrie[int, int](), Ctrie({k: k for k in range(0, 10, 2)}), CtrieSet[int]()

    def act() -> None:
        for number in range(2 * times):
            k = number % 5
            counts.compute(k, lambda count: count + 1, 0)
            while toggled.put_if_absent(k, k) is not None and not toggled.remove_if(k, k):
                pass
            members.symmetric_difference_update([k])

    with meanwhile(lambda: (len(counts), members.snapshot())):
        run_together([act] * THREADS)
    assert counts == dict.fromkeys(range(5), THREADS * 2 * times // 5)
    assert toggled == {k: k for k in range(0, 10, 2)}
    assert not members
    for made in (counts, toggled, members):
        made.check()


@pytest.mark.parametrize("kind", [Ctrie, CtrieSet])
def test_what_is_put_in_is_popped_once(kind: Any) -> None:
    made, numbers = kind(), max(100, WORK)

    def put(thread: int) -> list[int]:
        for number in range(thread, numbers, 4):
            made.add(number) if kind is CtrieSet else made.setdefault(number, number)
        return []

    def take() -> list[int]:
        popped = [outcome(made.pop if kind is CtrieSet else made.popitem) for _ in range(numbers)]
        return [each if kind is CtrieSet else each[0] for each in popped if each is not KeyError]

    taken: Any = run_together([*(partial(put, thread) for thread in range(4)), take, take, take, take])  # type: ignore[arg-type]
    assert sorted([*itertools.chain(*taken), *made]) == list(range(numbers))
    made.check()


# --------------------------------------------------------------------------------------------------------- one instant

NUMBERS = max(60, WORK // 4)

# Ways to look at a whole map at one instant; each gives the set of its keys. dict(m.items()) is one of them. dict(m)
# is not: it takes m.keys(), which shows one instant, and then looks up key by key.
LOOKS: dict[str, Callable[[Any], set[int]]] = {
    "iteration": lambda m: set(m),
    "keys": lambda m: set(m.keys()),
    "values": lambda m: set(m.values()),
    "items": lambda m: set(dict(m.items())),
    "snapshot": lambda m: set(m.snapshot()),
    "readonly_snapshot": lambda m: set(m.readonly_snapshot()),
    "copy": lambda m: set(copy.copy(m)),
    "pickle": lambda m: set(pickle.loads(pickle.dumps(m))),
    "union": lambda m: set(m | {}),
    "split": lambda m: {k for part in m.split(3) for k, _ in part},
    "diff": lambda m: {k for k, _, _ in m.diff(Ctrie(), ABSENT)},
    "lookups in a snapshot": lambda m: {k for s in [m.readonly_snapshot()] for k in range(NUMBERS + 1) if k in s},
    "get_many of a snapshot": lambda m: set(m.snapshot().get_many(range(NUMBERS + 1))) - {None},
}


@pytest.mark.parametrize("name", LOOKS)
def test_every_look_is_of_one_instant(name: str) -> None:
    """Keys come in order, then they go in order, then there is another one: which keys there are tells how late it is."""
    trie: Any = Ctrie()

    def fill_and_empty() -> None:
        for number in range(NUMBERS):
            trie[number] = number
        for number in range(NUMBERS):
            assert trie.pop(number) == number
        trie[NUMBERS] = NUMBERS

    def watch() -> None:
        latest = 0
        while NUMBERS not in (found := LOOKS[name](trie)):
            is_filling = 0 in found
            assert found == set(range(len(found)) if is_filling else range(NUMBERS - len(found), NUMBERS))
            if found:
                now = len(found) if is_filling else 2 * NUMBERS - len(found)
                assert now >= latest, "what was seen has disappeared, or what was gone has come back"
                latest = now

    run_together([fill_and_empty, watch, watch])
    trie.check()


def test_a_snapshot_shows_the_same_whenever_it_is_read_and_can_be_emptied_alone() -> None:
    keys = max(30, WORK // 20)
    trie: Any = Ctrie((k, 0) for k in range(keys))

    def modify() -> None:
        for k in range(keys):
            trie[k] = trie[k] + 1

    def look() -> None:
        for take in (trie.snapshot, trie.readonly_snapshot):
            taken = take()
            first = dict(taken.items())
            assert sorted(first) == list(range(keys))
            for _ in range(3):
                assert {k: taken[k] for k in range(keys)} == first
            assert list(taken) == list(first)
            if take == trie.snapshot:
                for k in range(keys):
                    assert taken.pop(k) == first[k]
                    assert len(taken) == keys - k - 1
            taken.check()

    frozen = trie.readonly_snapshot()
    with meanwhile(modify, modify):
        answers: list[Any] = run_together([look, look, look, partial(len, frozen), partial(len, frozen)])  # type: ignore[arg-type]
    assert answers[3:] == [keys, keys]
    assert sorted(trie) == list(range(keys))
    trie.check()


def test_operators_of_two_sets_are_of_one_instant_of_each() -> None:
    """Each thread adds a number to one set and takes it from the other, so no instant of one set has gaps."""
    most = 1_000 if ctrie.twin == "compiled" else 200
    one, other = CtrieSet(range(most)), CtrieSet(range(most))

    def change(method: Callable[[int], object], numbers: Sequence[int]) -> None:
        for number in numbers:
            method(number)

    def operate() -> None:
        for _ in range(40):
            only = sorted(one - other)
            low = [number for number in only if number < most]
            assert only == [*range(len(low)), *range(most, most + len(only) - len(low))]
            both = sorted(one & other)
            assert both == list(range(both[0], most))
            assert len(one | other) >= most

    grow, shrink = (
        partial(change, one.add, range(most, most * 7 // 5)),
        partial(change, other.discard, range(most * 2 // 5)),
    )
    run_together([grow, shrink, operate, operate])  # type: ignore[arg-type]
    for members in (one, other):
        members.check()


@pytest.mark.parametrize("colliding", [False, True])
def test_everything_at_once(colliding: bool) -> None:
    """Any outcome is allowed, but only the exceptions of the contract may be raised, and values belong to their keys."""
    trie: Any = Ctrie(hash=(lambda k: k % 7) if colliding else None)
    names = [name for name in OPERATIONS if "compute" not in name]

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(WORK // 2):
            k = chance.randrange(30)
            outcome(OPERATIONS[chance.choice(names)].call, trie, k, k, k)
            if chance.random() < 0.1:
                outcome(chance.choice((trie.clear, trie.popitem, trie.snapshot().popitem)))
            elif chance.random() < 0.1:
                assert all(value in (None, k) for k, value in enumerate(trie.get_many(range(30))))
                items, frozen = trie.items(), trie.readonly_snapshot()
                assert len(items) == len(list(items)) <= 30
                assert frozen == frozen.snapshot()
                assert repr(frozen) == repr(frozen.snapshot())

    run_together([partial(work, seed) for seed in range(THREADS)])
    assert all(k == value for k, value in trie.items())
    trie.check()
