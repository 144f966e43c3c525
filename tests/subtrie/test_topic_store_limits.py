"""The number of topics of a store is limited, and its clock may be set to any time: the newest stay the newest, ages are
what they are, and a change costs O(1) on average. `test_topic_store.py` has ages among all other changes.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from subtrie import MQTT, TopicStore
from subtrie._trie import topic_store
from subtrie._trie.queries import listing
from tests.subtrie.test_topic_store import Clocks
from tests.threads import run_together

HOUR = 3600.0


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list with the number of topics that have been looked at in walks of whole stores."""
    made = [0]
    walk = listing.walk

    def counted(root: Any) -> Any:
        for each in walk(root):
            made[0] += 1
            yield each

    monkeypatch.setattr(topic_store, "walk", counted)
    return made


class TestClocks:
    @pytest.mark.parametrize("step", [-HOUR, -60, -0.5, 60, HOUR, 1e9])
    def test_the_newest_stay_when_the_clock_is_set(self, clocks: Clocks, step: float) -> None:
        store: TopicStore[int] = TopicStore(MQTT, max_topics=100)
        for number in range(100):
            clocks.run(0.01)
            store[f"old/{number}"] = number
        clocks.wall += step
        for number in range(300):
            clocks.run(0.01)
            store[f"new/{number}"] = number
            assert f"new/{number}" in store
        assert sorted(store.values()) == list(range(300 - len(store), 300))
        assert len(store) >= 87
        store.check()

    def test_times_never_decrease_and_are_those_of_the_clock_when_it_is_right(self, clocks: Clocks) -> None:
        chance = random.Random(7)
        store: TopicStore[int] = TopicStore(MQTT)
        last = 0.0
        for number in range(500):
            clocks.run(chance.random())
            if chance.random() < 0.1:
                clocks.wall += chance.uniform(-100, 100)
            if chance.random() < 0.5:
                store.update({"a": number})
            else:
                store.pop("a", None)
                store.setdefault("a", number)
            now = store.stored_at("a")
            assert now >= max(last, clocks.wall)
            assert clocks.wall <= last or now == pytest.approx(clocks.wall, abs=1e-6)
            last = now

    def test_values_with_times_of_the_future_count_as_new_and_older_than_what_comes_after(self, clocks: Clocks) -> None:
        store: TopicStore[int] = TopicStore(MQTT, max_topics=100, max_age=60)
        store["mine"] = 0
        for number in range(99):
            store.put(f"old/{number}", number, clocks.wall + HOUR + number)
        clocks.run(59)
        assert len(store) == 100
        for number in range(100):
            clocks.run(0.001)
            store[f"new/{number}"] = number
            assert f"new/{number}" in store
        assert sum(topic.startswith("new/") for topic in store) >= 87
        clocks.run(2)
        assert all(topic.startswith("new/") for topic in store)
        clocks.run(60)
        assert not store

    def test_of_restored_values_the_wall_clock_tells_the_age(self, clocks: Clocks) -> None:
        store: TopicStore[int] = TopicStore(MQTT, max_age=60)
        store["a"] = 1
        cut, pickled = store.snapshot(), pickle.dumps(store)
        clocks.wall += 30  # another process begins, whose clocks tell something else
        clocks.running = 3.0
        restored, cut = pickle.loads(pickled), pickle.loads(pickle.dumps(cut))
        assert restored.stored_at("a") == cut.stored_at("a") == store.stored_at("a")
        clocks.run(29)
        assert list(restored) == ["a"]
        clocks.run(2)
        assert (list(restored), list(cut), list(cut.fork())) == ([], ["a"], [])


class TestNumber:
    @pytest.mark.parametrize("most", [1, 2, 7, 8, 100, 1000])
    def test_is_never_exceeded_and_the_newest_stay(self, most: int) -> None:
        store: TopicStore[int] = TopicStore(MQTT, max_topics=most)
        chance = random.Random(most)
        newest: list[str] = []
        for number in range(5 * most + 20):
            topic = str(chance.randrange(3 * most))
            store.put(topic, number, float(number))
            newest = [topic] + [each for each in newest if each != topic]
            assert len(store) <= most
            if chance.random() < 0.1:
                gone = chance.choice(newest)
                store.pop(gone, None)
                newest.remove(gone)
        kept = set(store)
        assert kept == set(newest[: len(kept)])
        assert len(kept) >= min(len(newest), most - most // 8)
        store.check()

    @pytest.mark.parametrize("clock", [None, lambda: 1000.0])
    def test_of_many_at_once_the_last_stay(
        self, monkeypatch: pytest.MonkeyPatch, clock: Callable[[], float] | None
    ) -> None:
        if clock is not None:
            monkeypatch.setattr(topic_store, "time", clock)
            monkeypatch.setattr(topic_store, "monotonic", clock)
        topics = {f"a/{number}": number for number in range(100)}
        filled: TopicStore[int] = TopicStore(MQTT, max_topics=8)
        filled.update(topics.items())
        for store in (TopicStore(MQTT, topics, max_topics=8), filled):
            kept = sorted(store.values())
            assert kept == list(range(100 - len(kept), 100))
            assert len(kept) >= 7

    def test_holds_in_a_fork(self) -> None:
        store = TopicStore(MQTT, {str(number): number for number in range(10)}, max_topics=10)
        for fork in (store.fork(), store.snapshot().fork(), pickle.loads(pickle.dumps(store))):
            assert (fork.max_age, fork.max_topics) == (None, 10)
            fork["x"] = 0
            assert ("x" in fork, len(fork) <= 10) == (True, True)
        assert len(store) == 10

    def test_is_kept_by_many_threads(self) -> None:
        store: TopicStore[int] = TopicStore(MQTT, max_topics=64, max_age=HOUR)

        def write(first: int) -> None:
            for number in range(2_000):
                store[f"{first}/{number}"] = number

        run_together([partial(write, first) for first in range(4)])
        store["last"] = 0
        assert len(store) <= 64 + 4
        store.expire()
        assert len(store) <= 64
        assert "last" in store
        store.check()


class TestCosts:
    @pytest.mark.parametrize("room", [1, 2, 10, 1_000])
    def test_no_walk_for_each_change_near_the_limit(self, steps: list[int], room: int) -> None:
        store: TopicStore[int] = TopicStore(MQTT, max_topics=2_000)
        store.update((f"a/{number}", number) for number in range(2_000 - room))
        forks = store, store.fork(), store.snapshot().fork()
        for each in forks * 1_000:
            each["door/bell"] = 0
            del each["door/bell"]
        assert steps[0] == 0
        assert [len(each) for each in forks] == [2_000 - room] * 3
        store.check()

    @pytest.mark.parametrize("age", [100.0, None])
    def test_writers_remove_what_has_expired(self, clocks: Clocks, steps: list[int], age: float | None) -> None:
        store: TopicStore[int] = TopicStore(MQTT, max_age=age)
        for number in range(20_000):
            clocks.run(1)
            store.put(str(number), number, expires=None if age else 100)
        assert store.approximate_len() == len(list(store.changes(TopicStore(MQTT)))) < 2_500
        assert steps[0] <= 12 * 20_000
        store.check()

    @pytest.mark.parametrize(
        ("seed", "limits"),
        [(0, {"max_topics": 2_000}), (1, {"max_age": HOUR}), (2, {"max_topics": 2_000, "max_age": 60})],
    )
    def test_a_change_costs_a_bounded_number_of_steps_in_any_order(
        self, steps: list[int], seed: int, limits: dict[str, Any]
    ) -> None:
        chance = random.Random(seed)
        store: TopicStore[int] = TopicStore(MQTT, **limits)
        changes = 0
        newest: dict[str, None] = {}
        while changes < 20_000:
            adds, ways = chance.randrange(1, 4_000), chance.choice([1, 1.5, 3])
            for _ in range(adds):
                topic = str(chance.randrange(8_000))
                if chance.random() * ways < 1:
                    store.setdefault(topic, changes) if chance.random() < 0.2 else store.update({topic: changes})
                elif newest:
                    store.pop(topic if chance.random() < 0.5 else newest.popitem()[0], None)
                newest[topic] = None
                changes += 1
            if chance.random() < 0.2:
                store.clear()
            elif chance.random() < 0.2 and store:
                store.popitem()
            assert len(store) <= limits.get("max_topics", 8_000)
        assert steps[0] <= 12 * changes, f"seed {seed}: {steps[0]} steps for {changes} changes"
        store.check()
