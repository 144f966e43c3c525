"""A `SubscriptionTrie` behaves like other containers: equality, `in`, iteration, pickles, type parameters.

Also the options that a dialect knows.
"""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctrie
import subtrie
import subtrie.dialects
from subtrie import AMQP, MQTT, NATS, Delivery, Dialect, Subscription, SubscriptionTrie, TopicError

FILTERS = {"AMQP": ["a.*", "#", "a.b", ""], "MQTT": ["a/+", "#", "$share/g/a", "a/"], "NATS": ["a.*", ">", "a.b", "b"]}
BY_NAME = pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)


def filled(dialect: Dialect, **settings: Any) -> SubscriptionTrie:
    trie = SubscriptionTrie(dialect, **settings)
    for number, filter in enumerate(FILTERS[dialect.name]):
        trie.subscribe(filter, number, qos=number % 3)
        trie.subscribe(filter, "all")
    if dialect.queue_groups:
        trie.subscribe("a.b", "all", queue="workers")
    return trie


class TestPickles:
    @BY_NAME
    @pytest.mark.parametrize("settings", [{}, {"index": True}, {"cache": 64}, {"exact": True}], ids=str)
    def test_what_comes_back_is_equal_and_goes_its_own_way(self, dialect: Dialect, settings: dict[str, Any]) -> None:
        trie = filled(dialect, **settings)
        for again in (pickle.loads(pickle.dumps(trie)), pickle.loads(pickle.dumps(trie, 2)), copy.deepcopy(trie)):
            assert again == trie
            assert again.dialect == dialect
            assert again.subscribe(FILTERS[dialect.name][0], "new")
            assert again != trie
            assert again.unsubscribe_all("all") == trie.fork().unsubscribe_all("all")
            again.check()
        trie.check()

    def test_settings_are_kept(self) -> None:
        again = pickle.loads(pickle.dumps(filled(AMQP, cache=64, exact=True)))
        for _ in range(5):
            again.match("a.b")
        assert again.stats()["cache_hits"] > 0
        assert again.diff(filled(AMQP, exact=True).snapshot()) is not None  # refused if only one of them is exact
        again.check()

    def test_a_snapshot_stays_one_of_the_same_instant(self) -> None:
        snapshot = filled(MQTT).snapshot()
        again = pickle.loads(pickle.dumps(snapshot))
        assert again == snapshot
        assert (again.taken_at, again.snapshot_id) == (snapshot.taken_at, snapshot.snapshot_id)
        with pytest.raises(TypeError, match="read-only"):
            again.clear()

    def test_every_filter_is_validated_again(self) -> None:
        reduced: Any = filled(MQTT).__reduce__()
        restore, (kind, dialect, settings, (filters, subscribers, options), instant), *_ = reduced

        def restored(*row: Any) -> Any:
            columns = zip((filters, subscribers, options), row, strict=True)
            return restore(kind, dialect, settings, tuple([*column, *more] for column, more in columns), instant)

        assert len(restored(["a/b"], [1], [{"qos": 1}])) == len(filters) + 1
        with pytest.raises(TopicError, match="is not the last word"):
            restored(["a/#/b"], [1], [None])
        with pytest.raises(ValueError, match="qos of MQTT is one of 0, 1, 2"):
            restored(["a/b"], [1], [{"qos": 7}])
        with pytest.raises(ValueError, match="columns of different lengths"):
            restored(["a/b"], [], [None])
        with pytest.raises((TypeError, AttributeError)):
            restored(["a/b"], [1], [5])

    @pytest.mark.parametrize("index", [False, True])
    def test_many_rows_keep_their_filters_and_options(self, index: bool) -> None:
        trie = SubscriptionTrie[Any](MQTT, index=index)
        for number in range(500):
            name = f"{'ä' * (number % 5)}/{number}"
            trie.subscribe(name, number, **({"qos": number % 3} if 128 <= number < 300 and number % 2 else {}))
            trie.subscribe(f"$share/g{number % 3}/{name}", (number, "of a group"))
        again = pickle.loads(pickle.dumps(trie))
        assert again == trie
        assert sorted(map(repr, again)) == sorted(map(repr, trie))
        again.check()

    def test_what_cannot_be_pickled_says_so(self) -> None:
        with pytest.raises(TypeError, match="weak=True is not pickled"):
            pickle.dumps(SubscriptionTrie(weak=True))
        trie = SubscriptionTrie()
        trie.subscribe("a", lambda: None)
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(trie)
        trie.check()


class TestContainer:
    @given(st.lists(st.tuples(st.sampled_from(FILTERS["NATS"]), st.integers(0, 3), st.sampled_from([None, "q", "r"]))))
    def test_equality_is_that_of_the_content(self, subscriptions: list[tuple[str, int, str | None]]) -> None:
        one, other = SubscriptionTrie(NATS), SubscriptionTrie(NATS, exact=True)
        for trie, order in ((one, subscriptions), (other, dict.fromkeys(reversed(subscriptions)))):
            for filter, subscriber, queue in order:
                trie.subscribe(filter, subscriber, **({} if queue is None else {"queue": queue}))
        assert one == other
        assert sorted(map(str, one)) == sorted(map(str, one.subscriptions()))
        one.subscribe("more", 1)
        assert one != other
        one.check()
        other.check()

    def test_options_and_dialects_count(self) -> None:
        one, other = SubscriptionTrie(), SubscriptionTrie()
        one.subscribe("a", 1)
        other.subscribe("a", 1, priority=1)
        assert one != other
        assert SubscriptionTrie(AMQP) != SubscriptionTrie(NATS)
        anything: object = []
        assert SubscriptionTrie() != anything
        assert hash(one) == hash(one)

    def test_in(self) -> None:
        trie = filled(NATS)
        trie.subscribe("q", 7, queue="workers")
        assert ("a.*", 0) in trie
        assert ("q", 7) in trie
        assert ("a.*", 1) not in trie
        assert ("a.x", 0) not in trie
        anything: tuple[object, ...] = (5, "a.*", ("a.*",), ("a..b", 0), (5, 0), ("a.*", []))
        assert not any(nonsense in trie for nonsense in anything)
        trie.check()

    def test_a_subscription_becomes_a_plain_dict(self) -> None:
        (one,) = [one for one in filled(MQTT) if one.subscriber == 1]
        assert json.loads(json.dumps(one.as_dict())) == {"filter": "#", "subscriber": 1, "options": {"qos": 1}}

    def test_type_parameters(self) -> None:
        assert SubscriptionTrie[str](MQTT) == SubscriptionTrie(MQTT)

    def test_versions(self) -> None:
        assert ctrie.__version__ == subtrie.__version__
        assert ctrie.__version__[0].isdigit()


class TestWhatIsNotMadeByACall:
    """In the compiled twin, reading one of these once ended the process."""

    @pytest.mark.parametrize("kind", [Subscription, Delivery])
    def test_one_without_content_says_so(self, kind: Any) -> None:
        class Own(Subscription[str]):
            def __init__(self) -> None:
                pass

        for made in (kind.__new__(kind), Own()):
            for read in (lambda one: one.subscriber, lambda one: one.options, lambda one: one.filter, repr, hash):
                with pytest.raises((TypeError, AttributeError)):
                    read(made)

    @pytest.mark.parametrize("filter", [b"a.b", 5, None, ("a", "b")])
    def test_the_filter_of_a_subscription_is_a_text(self, filter: Any) -> None:
        with pytest.raises(TypeError, match="the filter of a Subscription must be a str"):
            Subscription(filter, 1)


class TestOptions:
    @pytest.mark.parametrize(
        ("dialect", "options", "error", "said"),
        [
            (NATS, {"qeue": "w"}, TypeError, "NATS knows no option qeue; did you mean queue"),
            (MQTT, {"QoS": 1}, TypeError, "did you mean qos"),
            (MQTT, {"qos": 3}, ValueError, "one of 0, 1, 2, not 3"),
            (MQTT, {"qos": "1"}, TypeError, "qos of MQTT is an int, not '1'"),
            (MQTT, {"no_local": 1}, TypeError, "no_local of MQTT is a bool, not 1"),
            (MQTT, {"qos": True}, TypeError, "qos of MQTT is an int, not True"),
            (
                MQTT,
                {"subscription_identifier": False},
                TypeError,
                "subscription_identifier of MQTT is an int, not False",
            ),
        ],
    )
    def test_what_the_dialect_cannot_mean_is_refused(
        self, dialect: Dialect, options: dict[str, Any], error: type[Exception], said: str
    ) -> None:
        trie = SubscriptionTrie(dialect)
        with pytest.raises(error, match=said):
            trie.subscribe("a", 1, **options)
        with pytest.raises(error, match=said):
            trie.subscribe_many([("b", 1), ("a", 1, options)])
        assert len(trie) == 0
        trie.check()

    def test_all_other_names_are_free(self) -> None:
        trie = SubscriptionTrie(MQTT)
        trie.subscribe("a", 1, qos=2, no_local=True, colour="red", priority=5)
        assert dict(next(iter(trie)).options) == {"qos": 2, "no_local": True, "colour": "red", "priority": 5}
        free = SubscriptionTrie(AMQP)
        free.subscribe("a", 1, qeue=1, qos="high")
        trie.check()
        free.check()

    def test_values_of_several_types(self) -> None:
        own = Dialect("own", ":", "*", "#", options=(("level", ("low", 3)), ("ratio", float)))
        own.check_options({"level": "low", "ratio": 0.5})
        own.check_options({"level": 3, "ratio": None})
        with pytest.raises(TypeError, match="the option level of own is a str or an int, not 2"):
            own.check_options({"level": 2.5})
        with pytest.raises(ValueError, match="the option level of own is one of low, 3, not 4"):
            own.check_options({"level": 4})

    @pytest.mark.parametrize(
        "options",
        [{"level": int}, ["level"], ("level",), (("level",),), (("level", ()),), (("level", range(0)),), ((5, int),),
         (("level", "abc"),), (("", int),)],
    )  # fmt: skip
    def test_what_declares_no_option_is_refused_at_once(self, options: Any) -> None:
        with pytest.raises(ValueError, match=r"options must be a tuple|an option is declared by its name"):
            Dialect("own", ":", "*", "#", options=options)

    def test_misspelt_names_are_not_remembered_for_ever(self) -> None:
        """Such names may come from strangers."""
        for number in range(3_000):
            MQTT.check_options({f"name{number}": 1})
        assert subtrie.dialects._almost.cache_info().currsize <= 1_024
