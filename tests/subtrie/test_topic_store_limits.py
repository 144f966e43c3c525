"""Values of a topic store that expire, by age and by number."""

from __future__ import annotations

import copy
import pickle
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from subtrie import MQTT, TopicStore
from subtrie._trie import topic_store
from subtrie._trie.queries import listing

HOUR = 3600.0


def counted_steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list with the number of topics that have been looked at in walks of whole stores."""
    steps = [0]

    def walk(root: Any) -> Any:
        for each in topic_store_walk(root):
            steps[0] += 1
            yield each

    topic_store_walk = listing.walk
    monkeypatch.setattr(topic_store, "walk", walk)
    return steps


def aged(*ages: float, **limits: Any) -> TopicStore[int]:
    """A store with topics 0, 1, ... of these ages."""
    store: TopicStore[int] = TopicStore(MQTT, **limits)
    now = time.time()
    for number, age in enumerate(ages):
        store.put(str(number), number, now - age)
    return store


class TestTimes:
    def test_are_those_of_storing(self) -> None:
        before = time.time()
        store = TopicStore(MQTT, {"a": 1})
        store["b"] = 2
        assert store.setdefault("c", 3) == 3
        store.update({"d": 4})
        assert all(before <= store.stored_at(topic) <= time.time() for topic in "abcd")
        first = store.stored_at("a")
        assert store.setdefault("a", 9) == 1
        assert store.stored_at("a") == first
        store.put("a", 5, 7.5)
        assert (store["a"], store.stored_at("a")) == (5, 7.5)
        assert sorted(store.entries())[0] == ("a", 5, 7.5)
        with pytest.raises(KeyError):
            store.stored_at("x")
        store.check()

    def test_are_kept_by_copies(self) -> None:
        store = aged(1, 2, max_age=HOUR, max_topics=10)
        for other in (store.snapshot(), store.fork(), copy.copy(store), pickle.loads(pickle.dumps(store))):
            assert sorted(other.entries()) == sorted(store.entries())
            assert (other.max_age, other.max_topics) == (HOUR, 10)
            other.check()

    def test_count_as_changes_but_not_as_differences(self) -> None:
        store = aged(5, 5)
        before = store.snapshot()
        store["0"] = 0
        store["2"] = 2
        del store["1"]
        assert sorted(store.diff(before)) == [("1", 1, None), ("2", None, 2)]
        found = {(old or new)[0]: (old, new) for old, new in store.changes(before)}  # type: ignore[index]
        assert found.keys() == {"0", "1", "2"}
        assert found["0"][0] == ("0", 0, before.stored_at("0"))
        assert found["0"][1] == ("0", 0, store.stored_at("0"))
        assert (found["1"][1], found["2"][0]) == (None, None)


class Clocks:
    """A wall clock that can be set, and one that runs on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.running = 1_700_000_000.0, 50.0
        monkeypatch.setattr(topic_store, "time", lambda: self.wall)
        monkeypatch.setattr(topic_store, "monotonic", lambda: self.running)

    def run(self, seconds: float) -> None:
        self.wall += seconds
        self.running += seconds


class TestClocks:
    """The wall clock may be set to any time: the newest stay the newest, and ages are what they are."""

    @pytest.mark.parametrize("step", [-HOUR, -60, -0.5, 60, HOUR, 1e9])
    def test_the_newest_stay_when_the_clock_is_set(self, monkeypatch: pytest.MonkeyPatch, step: float) -> None:
        clocks = Clocks(monkeypatch)
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

    def test_times_never_decrease_and_are_those_of_the_clock_when_it_is_right(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clocks = Clocks(monkeypatch)
        chance = random.Random(7)
        store: TopicStore[int] = TopicStore(MQTT)
        last = 0.0
        for number in range(500):
            clocks.run(chance.random())
            if chance.random() < 0.1:
                clocks.wall += chance.uniform(-100, 100)
            way = chance.randrange(3)
            if way == 0:
                store["a"] = number
            elif way == 1:
                store.update({"a": number})
            else:
                store.pop("a", None)
                store.setdefault("a", number)
            now = store.stored_at("a")
            assert now >= last
            assert now >= clocks.wall
            assert clocks.wall <= last or now == pytest.approx(clocks.wall, abs=1e-6)
            last = now

    @pytest.mark.parametrize("step", [-1e9, -HOUR, HOUR, 1e9])
    def test_ages_are_by_a_clock_that_nobody_sets(self, monkeypatch: pytest.MonkeyPatch, step: float) -> None:
        clocks = Clocks(monkeypatch)
        store: TopicStore[int] = TopicStore(MQTT, max_age=60)
        store["before"] = 1
        clocks.run(30)
        clocks.wall += step
        store["after"] = 2
        cut, fork = store.snapshot(), store.fork()
        assert sorted(store) == ["after", "before"]
        clocks.run(29)
        assert sorted(store) == sorted(fork) == ["after", "before"]
        clocks.run(2)
        assert list(store) == list(fork) == ["after"]
        clocks.run(30)
        assert list(store) == []
        assert sorted(cut) == ["after", "before"]
        assert store.expire() == 2

    def test_values_with_times_of_the_future_count_as_new_and_older_than_what_comes_after(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clocks = Clocks(monkeypatch)
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

    def test_of_restored_values_the_wall_clock_tells_the_age(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clocks = Clocks(monkeypatch)
        store: TopicStore[int] = TopicStore(MQTT, max_age=60)
        store["a"] = 1
        pickled = pickle.dumps(store)
        clocks.wall += 30  # another process begins, whose clocks tell something else
        clocks.running = 3.0
        restored = pickle.loads(pickled)
        assert restored.stored_at("a") == store.stored_at("a")
        clocks.run(29)
        assert list(restored) == ["a"]
        clocks.run(2)
        assert list(restored) == []


class TestExpires:
    """Values that expire by themselves, beside others that do not."""

    @pytest.mark.parametrize("max_age", [None, HOUR])
    def test_a_value_is_there_as_long_as_was_said(self, monkeypatch: pytest.MonkeyPatch, max_age: float | None) -> None:
        clocks = Clocks(monkeypatch)
        store: TopicStore[int] = TopicStore(MQTT, {"stays": 0}, max_age=max_age)
        store.put("a", 1, expires=60)
        store.put("b", 2, clocks.wall - 30, expires=60)
        store.put("c", 3, expires=2 * HOUR)
        before, fork, again = store.snapshot(), store.fork(), pickle.loads(pickle.dumps(store))
        clocks.run(29)
        for each in (store, fork, again):
            assert sorted(each) == ["a", "b", "c", "stays"]
        clocks.run(2)
        for each in (store, fork, again):
            assert sorted(each) == ["a", "c", "stays"]
            assert each.get("b") is None
            assert len(each) == 3
        clocks.run(30)
        store["c"] = 4  # a value that is stored again does not expire
        for each in (store, fork, again):
            assert sorted(each) == sorted(dict(each.matching("#"))) == ["c", "stays"]
            assert sorted(topic for topic, _, _ in each.entries()) == ["c", "stays"]
        clocks.run(2 * HOUR)
        assert sorted(store) == ([] if max_age else ["c", "stays"])
        assert sorted(before) == ["a", "b", "c", "stays"]
        assert store.expire() == (4 if max_age else 2)
        store.check()

    def test_writers_remove_what_has_expired(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clocks = Clocks(monkeypatch)
        steps = counted_steps(monkeypatch)
        store: TopicStore[int] = TopicStore(MQTT)
        for number in range(20_000):
            clocks.run(1)
            store.put(str(number), number, expires=100)
        assert store.approximate_len() < 2_500
        assert steps[0] <= 12 * 20_000
        store.check()

    @pytest.mark.parametrize("expires", [0, -1, float("nan")])
    def test_what_makes_no_sense_is_refused(self, expires: float) -> None:
        store: TopicStore[int] = TopicStore(MQTT)
        with pytest.raises(ValueError, match="expires must be more than 0 seconds"):
            store.put("a", 1, expires=expires)
        assert not store


class TestAge:
    def test_hides_what_is_too_old_from_every_question(self) -> None:
        store = aged(HOUR + 1, HOUR - 60, max_age=HOUR)
        assert store.get("0") is None
        assert "0" not in store
        with pytest.raises(KeyError):
            store["0"]
        with pytest.raises(KeyError):
            store.stored_at("0")
        assert list(store) == store.keys() == ["1"]
        assert store.values() == [1]
        assert store.items() == list(store.matching("+")) == [("1", 1)]
        assert (len(store), bool(store)) == (1, True)
        assert store == {"1": 1}
        assert store.pop("0", None) is None
        store.check()

    def test_ends_for_a_value_that_is_stored_again(self) -> None:
        store = aged(HOUR + 1, max_age=HOUR)
        assert store.setdefault("0", 7) == 7
        assert store["0"] == 7
        assert store.popitem() == ("0", 7)
        assert not store
        with pytest.raises(KeyError):
            store.popitem()

    def test_stands_still_in_a_snapshot_and_goes_on_in_a_fork(self, monkeypatch: pytest.MonkeyPatch) -> None:
        store = aged(0, max_age=HOUR)
        cut = store.snapshot()
        later, running = time.time() + 2 * HOUR, time.monotonic() + 2 * HOUR
        monkeypatch.setattr(topic_store, "time", lambda: later)
        monkeypatch.setattr(topic_store, "monotonic", lambda: running)
        again = pickle.loads(pickle.dumps(cut))
        assert list(cut) == list(again) == ["0"]
        assert list(cut.fork()) == list(again.fork()) == list(store) == []

    def test_is_removed_by_expire_and_by_writers(self) -> None:
        store = aged(HOUR + 1, 0, HOUR + 1, max_age=HOUR)
        before = store.snapshot()
        assert store.expire() == 2
        with pytest.raises(TypeError, match="read-only"):
            before.expire()
        assert sorted(old[0] for old, new in store.changes(before) if new is None and old) == ["0", "2"]
        for number in range(20_000):
            store.put(str(number), 0, time.time() - HOUR - 1)
        held = list(store.changes(TopicStore(MQTT)))
        assert len(held) < 2500, "writers remove what is too old"
        store.check()


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
        made = TopicStore(MQTT, topics, max_topics=8)
        filled: TopicStore[int] = TopicStore(MQTT, max_topics=8)
        filled.update(topics.items())
        for store in (made, filled):
            kept = sorted(store.values())
            assert kept == list(range(100 - len(kept), 100))
            assert len(kept) >= 7

    @pytest.mark.parametrize("room", [1, 2, 10, 1_000])
    def test_of_a_store_near_its_limit_costs_no_walk_for_each_change(
        self, monkeypatch: pytest.MonkeyPatch, room: int
    ) -> None:
        steps = counted_steps(monkeypatch)
        store: TopicStore[int] = TopicStore(MQTT, max_topics=2_000)
        store.update((f"a/{number}", number) for number in range(2_000 - room))
        for number in range(1_000):
            store["door/bell"] = number
            del store["door/bell"]
        assert steps[0] == 0
        assert len(store) == 2_000 - room
        store.check()

    @pytest.mark.parametrize("limits", [{"max_topics": 2_000}, {"max_age": HOUR}, {"max_topics": 2_000, "max_age": 60}])
    @pytest.mark.parametrize("seed", range(3))
    def test_costs_a_change_a_bounded_number_of_steps_in_any_order(
        self, monkeypatch: pytest.MonkeyPatch, seed: int, limits: dict[str, Any]
    ) -> None:
        steps = counted_steps(monkeypatch)
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
                    if chance.random() < 0.1:
                        store[topic] = changes
                elif newest:
                    store.pop(topic if chance.random() < 0.5 else newest.popitem()[0], None)
                newest[topic] = None
                changes += 1
            if chance.random() < 0.2:
                store.clear()
            elif chance.random() < 0.2:
                store.popitem() if store else None
            assert len(store) <= limits.get("max_topics", 8_000)
        assert steps[0] <= 12 * changes, f"seed {seed}: {steps[0]} steps for {changes} changes"
        store.check()

    def test_holds_in_a_fork(self) -> None:
        store = TopicStore(MQTT, {str(number): number for number in range(10)}, max_topics=10)
        for fork in (store.fork(), store.snapshot().fork(), pickle.loads(pickle.dumps(store))):
            fork["x"] = 0
            assert len(fork) <= 10
            assert "x" in fork
        assert len(store) == 10

    def test_is_kept_by_many_threads(self) -> None:
        store: TopicStore[int] = TopicStore(MQTT, max_topics=64, max_age=HOUR)

        def write(first: int) -> None:
            for number in range(2_000):
                store[f"{first}/{number}"] = number

        threads = [threading.Thread(target=write, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        store["last"] = 0
        assert len(store) <= 64 + 4
        store.expire()
        assert len(store) <= 64
        assert "last" in store
        store.check()


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        ({"max_age": 0}, ValueError),
        ({"max_age": -1.5}, ValueError),
        ({"max_age": float("nan")}, ValueError),
        ({"max_age": "1"}, TypeError),
        ({"max_age": True}, TypeError),
        ({"max_topics": 0}, ValueError),
        ({"max_topics": 1.5}, TypeError),
        ({"max_topics": True}, TypeError),
    ],
)
def test_limits_are_checked(limits: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="max_"):
        TopicStore(MQTT, **limits)
