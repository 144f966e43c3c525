"""A `SubscriptionTrie` behaves like other containers: equality, `in`, pickles, type parameters.

`test_machine.py` pickles and compares tries of any content.
"""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import ctrie
import subtrie
from subtrie import AMQP, MQTT, NATS, SubscriptionTrie, TopicError
from tests.subtrie.support import made


class TestPickles:
    def test_settings_are_kept(self) -> None:
        trie = made(rows=[("a.b", 1)], cache=64, exact=True, index=True)
        again = pickle.loads(pickle.dumps(trie, 2))
        for _ in range(5):
            again.match("a.b")
        assert again.stats()["cache_hits"] > 0
        assert list(again.diff(trie)) == []  # refused if only one of them is exact
        again.check()

    def test_a_snapshot_stays_one_of_the_same_instant(self) -> None:
        trie = made(MQTT, rows=[("$share/g/a", 1, {"qos": 1})])
        snapshot = trie.snapshot()
        again = pickle.loads(pickle.dumps(snapshot))
        assert again == snapshot
        assert (again.taken_at, again.snapshot_id) == (snapshot.taken_at, snapshot.snapshot_id)
        with pytest.raises(TypeError, match="read-only"):
            again.clear()

    def test_every_row_is_validated_again(self) -> None:
        trie = made(MQTT, rows=[("a/+", 1, {"qos": 1})])
        reduced: Any = trie.__reduce__()
        restore, (kind, dialect, settings, (filters, subscribers, options), instant), *_ = reduced

        def restored(*row: Any) -> Any:
            columns = zip((filters, subscribers, options), row, strict=True)
            return restore(kind, dialect, settings, tuple([*column, *more] for column, more in columns), instant)

        assert len(restored(["a/b"], [1], [{"qos": 1}])) == len(filters) + 1
        for bad, error, text in (
            ((["a/#/b"], [1], [None]), TopicError, "is not the last word"),
            ((["a/b"], [1], [{"qos": 7}]), ValueError, "qos of MQTT is one of 0, 1, 2"),
            ((["a/b"], [], [None]), ValueError, "columns of different lengths"),
            ((["a/b"], [1], [5]), (TypeError, AttributeError), "int"),
        ):
            with pytest.raises(error, match=text):
                restored(*bad)

    def test_what_cannot_be_pickled_says_so(self) -> None:
        with pytest.raises(TypeError, match="weak=True is not pickled"):
            pickle.dumps(SubscriptionTrie(weak=True))
        trie = made(rows=[("a", lambda: None)])
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(trie)


class TestContainer:
    def test_options_and_dialects_count_for_equality_and_settings_do_not(self) -> None:
        one, other = SubscriptionTrie(exact=True), SubscriptionTrie()
        for trie in (one, other):
            trie.subscribe("a", 1)
        assert one == other
        other.subscribe("a", 1, priority=1)
        assert one != other
        assert SubscriptionTrie(AMQP) != SubscriptionTrie(NATS)
        anything: object = []
        assert SubscriptionTrie() != anything
        assert hash(one) == hash(one)

    def test_nonsense_is_not_in_it(self) -> None:
        trie = made(NATS, rows=[("a.*", 0, {"queue": "workers"})])
        assert ("a.*", 0) in trie
        nonsense: list[object] = [
            5,
            "a.*",
            ("a.*",),
            ("a..b", 0),
            (5, 0),
            ("a.*", []),
            ("a" * 70_000, 0),
            ("", 0),
            ("a.*", 1),
        ]
        assert not any(one in trie for one in nonsense)

    def test_type_parameters_and_versions(self) -> None:
        assert SubscriptionTrie[str](MQTT) == SubscriptionTrie(MQTT)
        assert ctrie.__version__ == subtrie.__version__
        assert ctrie.__version__[0].isdigit()
