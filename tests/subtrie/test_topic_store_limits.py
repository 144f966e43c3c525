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

HOUR = 3600.0


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
        later = time.time() + 2 * HOUR
        monkeypatch.setattr(topic_store, "time", lambda: later)
        assert (list(cut), list(pickle.loads(pickle.dumps(cut))), list(cut.fork()), list(store)) == (
            ["0"],
            ["0"],
            [],
            [],
        )

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

    @pytest.mark.parametrize("clock", [time.time, lambda: 1000.0])
    def test_of_many_at_once_the_last_stay(self, monkeypatch: pytest.MonkeyPatch, clock: Callable[[], float]) -> None:
        monkeypatch.setattr(topic_store, "time", clock)
        topics = {f"a/{number}": number for number in range(100)}
        made = TopicStore(MQTT, topics, max_topics=8)
        filled: TopicStore[int] = TopicStore(MQTT, max_topics=8)
        filled.update(topics.items())
        for store in (made, filled):
            kept = sorted(store.values())
            assert kept == list(range(100 - len(kept), 100))
            assert len(kept) >= 7

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
