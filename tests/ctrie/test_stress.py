"""Real threads on one Ctrie: nothing is lost, nothing comes back, and an operation on the whole map sees one instant.

Each test runs a fixed amount of work, small enough for every test run; `slow` marks longer versions. The `stress`
package has the long runs with recorded histories.
"""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import ctrie
from ctrie import Ctrie
from tests.keys import Key, hash_of
from tests.threads import meanwhile, run_together

pytestmark = pytest.mark.racing

THREADS = 8

# How much work. The interpreted twin is twenty times slower; the portable slot makes it ten times slower again.
PORTABLE = ctrie.AtomicReference.__module__ == "ctrie._portable"
WORK = 5_000 if ctrie.twin == "compiled" else 50 if PORTABLE else 300


def colliding(number: int) -> list[Key]:
    return [Key(f"k{i}", 11) for i in range(number)]


class OwnKeys:
    """Threads that each write, and read back at once, keys that no other thread writes."""

    def __init__(self, trie: Any, keys_per_thread: int, snapshots: bool = True) -> None:
        self.trie = trie
        self.keys = keys_per_thread
        self.background = [trie.snapshot, trie.readonly_snapshot] if snapshots else []
        self.operations = 0

    def work(self, thread: int, go_on: Callable[[int], bool]) -> int:
        chance = random.Random(thread)
        model: dict[tuple[int, int], list[int]] = {}
        trie = self.trie
        for step in itertools.count():
            if not go_on(step):
                break
            k = thread, chance.randrange(self.keys)
            what = chance.random()
            if what < 0.5:
                trie[k] = model[k] = [step]
            elif what < 0.7:
                assert trie.pop(k, None) is model.pop(k, None)
            elif what < 0.8:
                new = [step]
                present = trie.put_if_absent(k, new)
                assert present is model.get(k)
                model.setdefault(k, new)
            elif what < 0.9:
                new = [step]
                assert trie.replace(k, new) is (k in model)
                if k in model:
                    model[k] = new
            else:
                model[k] = trie.compute(k, lambda old, step=step: [step])
                assert model[k] == [step]
            assert trie.get(k) is model.get(k), f"thread {thread}, step {step}: {k} has lost a write"
        for k in ((thread, number) for number in range(self.keys)):
            assert trie.get(k) is model.get(k), f"thread {thread}: {k} has lost a write"
        return step

    def run(self, go_on: Callable[[int], bool]) -> int:
        """Return the number of operations."""
        with meanwhile(*self.background):
            steps = run_together([lambda thread=thread: self.work(thread, go_on) for thread in range(THREADS)])
        self.trie.check()
        return sum(steps)


class TestOwnKeys:
    @pytest.mark.parametrize("keys_per_thread", [3, 40])
    def test_no_write_is_lost_while_snapshots_are_taken_without_pause(self, keys_per_thread: int) -> None:
        OwnKeys(Ctrie(), keys_per_thread).run(lambda step: step < WORK)

    def test_nor_when_all_keys_collide(self) -> None:
        OwnKeys(Ctrie(hash=lambda k: 0), 4).run(lambda step: step < WORK // 4)

    @pytest.mark.slow
    @pytest.mark.parametrize("keys_per_thread", [3, 20, 400])
    def test_for_longer(self, keys_per_thread: int) -> None:
        end = time.monotonic() + 1
        OwnKeys(Ctrie(), keys_per_thread).run(lambda step: step % 64 != 0 or time.monotonic() < end)

    def test_no_removal_from_a_collision_is_lost(self) -> None:
        keys = colliding(8 * THREADS)

        def remove(thread: int) -> None:
            for k in keys[thread::THREADS]:
                assert trie.pop(k) == k.name
                assert k not in trie

        for _ in range(max(1, WORK // 100)):
            trie: Any = Ctrie(((k, k.name) for k in keys), hash=hash_of)
            run_together([lambda thread=thread: remove(thread) for thread in range(THREADS)])
            assert not trie
            assert trie._shape() == ("C",)
            trie.check()


class TestSameKeys:
    """All threads want the same keys; each contest has exactly one winner."""

    KEYS = max(20, WORK // 4)

    def winners(self, contest: Callable[[int], bool]) -> list[int]:
        """Let all threads contest for each key; return the number of winners of each."""

        def compete(thread: int) -> list[bool]:
            # Each thread begins at a different place, so that they meet.
            order = [*range(thread * self.KEYS // THREADS, self.KEYS), *range(thread * self.KEYS // THREADS)]
            won = dict.fromkeys(order, False)
            for k in order:
                won[k] = contest(k)
            return [won[k] for k in range(self.KEYS)]

        results = run_together([lambda thread=thread: compete(thread) for thread in range(THREADS)])
        return [sum(won) for won in zip(*results, strict=True)]

    @pytest.fixture(params=[None, lambda k: k % 5], ids=["spread", "colliding"])
    def hash(self, request: pytest.FixtureRequest) -> Any:
        if request.param is not None:
            self.KEYS = max(20, WORK // 20)
        return request.param

    def test_put_if_absent(self, hash: Any) -> None:
        trie: Any = Ctrie(hash=hash)
        with meanwhile(trie.snapshot):
            assert set(self.winners(lambda k: trie.put_if_absent(k, k) is None)) == {1}
        assert trie == {k: k for k in range(self.KEYS)}
        trie.check()

    def test_remove_if(self, hash: Any) -> None:
        trie: Any = Ctrie(((k, k) for k in range(self.KEYS)), hash=hash)
        with meanwhile(trie.snapshot):
            assert set(self.winners(lambda k: not trie.remove_if(k, -1) and trie.remove_if(k, k))) == {1}
        assert trie._shape() == ("C",)
        trie.check()

    def test_replace_if(self, hash: Any) -> None:
        trie: Any = Ctrie(((k, k) for k in range(self.KEYS)), hash=hash)
        with meanwhile(trie.readonly_snapshot):
            assert set(self.winners(lambda k: trie.replace_if(k, k, -k - 1))) == {1}
        assert trie == {k: -k - 1 for k in range(self.KEYS)}
        trie.check()

    def test_pop(self, hash: Any) -> None:
        trie: Any = Ctrie(((k, k) for k in range(self.KEYS)), hash=hash)
        with meanwhile(trie.readonly_snapshot):
            assert set(self.winners(lambda k: trie.pop(k, None) is not None)) == {1}
        assert trie._shape() == ("C",)
        trie.check()

    def test_toggled_an_even_number_of_times_every_key_is_as_before(self, hash: Any) -> None:
        trie: Any = Ctrie(((k, k) for k in range(0, self.KEYS, 2)), hash=hash)

        def toggle(k: int) -> bool:
            while True:
                if trie.put_if_absent(k, k) is None or trie.remove_if(k, k):
                    return True

        self.winners(toggle)
        assert trie == {k: k for k in range(0, self.KEYS, 2)}
        trie.check()

    def test_what_is_put_in_is_popped_once(self) -> None:
        trie: Any = Ctrie()
        numbers = max(100, WORK)
        popped: list[list[int]] = [[] for _ in range(THREADS // 2)]
        done = threading.Event()

        def put(thread: int) -> None:
            for number in range(thread, numbers, THREADS // 2):
                trie[number] = number

        def take(into: list[int]) -> None:
            while True:
                last = done.is_set()
                try:
                    into.append(trie.popitem()[0])
                except KeyError:
                    if last:
                        return

        def put_all() -> None:
            run_together([lambda thread=thread: put(thread) for thread in range(THREADS // 2)])
            done.set()

        run_together([put_all, *(lambda into=into: take(into) for into in popped)])
        assert sorted(itertools.chain(*popped)) == list(range(numbers))
        assert not trie
        trie.check()


NUMBERS = max(60, WORK // 4)

# Ways to look at a whole map at one instant; each gives the set of its keys. dict(m.items()) is one of them. dict(m)
# is not: it takes m.keys(), which shows one instant, and then looks up key by key.
LOOKS: dict[str, Callable[[Any], set[int]]] = {
    "iteration": lambda m: set(m),
    "keys": lambda m: set(m.keys()),
    "values": lambda m: set(m.values()),
    "items": lambda m: set(dict(m.items())),
    "len": lambda m: set(range(len(m))),
    "snapshot": lambda m: set(m.snapshot()),
    "readonly_snapshot": lambda m: set(m.readonly_snapshot()),
    "copy": lambda m: set(copy.copy(m)),
    "pickle": lambda m: set(pickle.loads(pickle.dumps(m))),
    "union": lambda m: set(m | {}),
    "split": lambda m: {k for part in m.split(3) for k, _ in part},
    "diff": lambda m: {k for k, _, _ in m.diff(Ctrie(), "absent")},
    "lookups in a snapshot": lambda m: {k for s in [m.readonly_snapshot()] for k in range(NUMBERS) if k in s},
}


class TestOneInstant:
    """Keys come or go in order, so the number of keys at an instant tells which keys they are."""

    @pytest.mark.parametrize("look", LOOKS)
    def test_of_keys_that_come_in_order_every_look_sees_the_first_ones(self, look: str) -> None:
        trie: Any = Ctrie()

        def fill() -> None:
            for number in range(NUMBERS):
                trie[number] = number

        def watch() -> None:
            seen = 0
            while seen < min(NUMBERS, 1000):
                found = LOOKS[look](trie)
                assert found == set(range(len(found)))
                assert len(found) >= seen, "a key that was seen has disappeared"
                seen = len(found)

        run_together([fill, watch, watch])
        trie.check()

    @pytest.mark.parametrize("look", [look for look in LOOKS if look != "len"])
    def test_of_keys_that_go_in_order_every_look_sees_the_last_ones(self, look: str) -> None:
        trie: Any = Ctrie((number, number) for number in range(NUMBERS))

        def empty() -> None:
            for number in range(NUMBERS):
                assert trie.pop(number) == number

        def watch() -> None:
            while True:
                found = LOOKS[look](trie)
                assert found == set(range(NUMBERS - len(found), NUMBERS))
                if not found:
                    return

        run_together([empty, watch, watch])
        assert trie._shape() == ("C",)
        trie.check()

    def test_a_key_that_moves_is_never_seen_twice_nor_lost(self) -> None:
        """Inserted at its new place before it is removed from the old one: one key or two neighbours, never none."""
        trie: Any = Ctrie({0: None})
        place = itertools.count()

        def move() -> None:
            here = next(place)
            trie[here + 1] = None
            del trie[here]

        with meanwhile(move):
            for _ in range(WORK // 4):
                found = sorted(trie)
                assert len(found) in (1, 2)
                assert found[-1] - found[0] == len(found) - 1
                assert trie
        trie.check()

    def test_a_snapshot_shows_the_same_whenever_it_is_read(self) -> None:
        keys = 200
        trie: Any = Ctrie((k, [0]) for k in range(keys))
        chance = random.Random(1)

        def modify() -> None:
            for _ in range(50):
                k = chance.randrange(2 * keys)
                trie[k] = [k]
                trie.pop(k + 1, None)

        with meanwhile(modify, modify, modify):
            for take in [trie.snapshot, trie.readonly_snapshot] * max(2, WORK // 100):
                taken = take()
                first = dict(taken.items())
                for _ in range(3):
                    assert {k: taken[k] for k in range(2 * keys) if k in taken} == first
                assert list(taken) == list(first)
                assert len(taken) == len(first)
                taken.check()
        trie.check()

    def test_forks_of_a_busy_trie_can_be_emptied_in_isolation(self) -> None:
        keys = max(30, WORK // 20)
        trie: Any = Ctrie((k, 0) for k in range(keys))

        def modify() -> None:
            for k in range(keys):
                trie[k] = trie[k] + 1

        def fork_and_empty() -> None:
            for _ in range(3):
                fork = trie.snapshot()
                assert sorted(fork) == list(range(keys))
                for k in range(keys):
                    assert fork.pop(k) >= 0
                    assert len(fork) == keys - k - 1
                fork.check()

        with meanwhile(modify, modify):
            run_together([fork_and_empty] * 4)
        assert sorted(trie) == list(range(keys))
        trie.check()

    def test_one_read_only_snapshot_is_counted_alike_by_all(self) -> None:
        trie: Any = Ctrie((number, None) for number in range(500))
        frozen = trie.readonly_snapshot()
        with meanwhile(lambda: trie.update({random.random(): None})):
            assert run_together([lambda: len(frozen)] * 16) == [500] * 16
        frozen.check()
        trie.check()


class TestAnythingGoes:
    """Any outcome is allowed, but only the exceptions of the contract may be raised."""

    def test_filling_clearing_and_looking(self) -> None:
        trie: Any = Ctrie()

        def first() -> None:
            try:
                k, value = trie.popitem()
                assert k == value
            except KeyError:
                pass
            assert next(iter(trie), None) in (None, *range(100))
            assert next(iter(trie.items()), (1, 1))[0] in range(100)

        def whole() -> None:
            items = trie.items()
            assert len(items) == len(list(items)) <= 100
            assert all(k == value for k, value in items)
            frozen = trie.readonly_snapshot()
            assert frozen == frozen.snapshot()
            assert repr(frozen) == repr(frozen.snapshot())
            assert len(trie) <= 100

        with meanwhile(lambda: trie.update((k, k) for k in range(100)), trie.clear, first):
            for _ in range(max(20, WORK // 20)):
                whole()
        trie.check()

    @pytest.mark.parametrize("hash", [None, lambda k: k % 7], ids=["spread", "colliding"])
    def test_everything_at_once(self, hash: Any) -> None:
        trie: Any = Ctrie(hash=hash)

        def work(seed: int) -> None:
            chance = random.Random(seed)
            for _ in range(WORK // 2):
                k = chance.randrange(30)
                act: Callable[[int], Any] = chance.choice(
                    [
                        lambda k: trie.get(k),
                        lambda k: trie.__setitem__(k, k),
                        lambda k: trie.pop(k, None),
                        lambda k: trie.setdefault(k, k),
                        lambda k: trie.replace(k, k),
                        lambda k: trie.replace_if(k, k, k),
                        lambda k: trie.remove_if(k, k),
                        lambda k: trie.compute(k, lambda value: k),
                        lambda k: trie.get_or_create(k, lambda: k),
                        lambda k: trie.snapshot().update({k: -1}),
                        lambda k: len(trie),
                        lambda k: trie.clear() if chance.random() < 0.1 else None,
                    ]
                )
                act(k)

        run_together([lambda seed=seed: work(seed) for seed in range(THREADS)])
        assert all(k == value for k, value in trie.items())
        trie.check()
