"""Deliveries: the subscribers that get a message, with their options, filters and groups."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctrie import drain
from subtrie import AMQP, MQTT, NATS, Delivery, Dialect, SubscriptionTrie, TopicError
from subtrie._trie.draws import seed
from tests.subtrie.support import reaches
from tests.subtrie.test_groups import GROUPS, Ways
from tests.subtrie.test_model import filters_of, in_order, topics_of
from tests.threads import run_together


class Someone:
    """A subscriber that can be weakly held; equal by name."""

    def __init__(self, name: int) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Someone) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Someone({self.name})"


PEOPLE = [Someone(n) for n in range(4)]
# Options of a subscription, with and without `qos`.
OPTIONS: list[dict[str, Any]] = [{}, {"qos": 0}, {"qos": 1}, {"qos": 2}, {"no_local": True}]
there_of = dict[tuple[str, str | None, Any], dict[str, Any]]
settings_of = pytest.mark.parametrize("settings", [{}, {"cache": 8}, {"exact": True}, {"weak": True}], ids=str)


def plain(found: Iterable[Delivery]) -> list[Any]:
    return in_order((one.filter, one.group, one.subscriber, dict(one.options)) for one in found)


@settings_of
@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
@given(data=st.data())
def test_any_subscriptions(dialect: Dialect, settings: dict[str, Any], data: st.DataObject) -> None:
    """The trie, a snapshot and a fork against a dict from (filter, group, subscriber) to options."""
    ways, trie = Ways(dialect), SubscriptionTrie(dialect, **settings)
    groups = [None] if dialect is AMQP else GROUPS
    there: there_of = {}
    steps = st.tuples(
        filters_of(dialect, 2), st.sampled_from(groups), st.sampled_from(PEOPLE), st.sampled_from([None, *OPTIONS])
    )
    for filter, group, who, options in data.draw(st.lists(steps, max_size=12)):
        if options is None:
            ways.unsubscribe(trie, filter, group, who)
            there.pop((filter, group, who), None)
        else:
            trie.subscribe(ways.filter(filter, group), who, **options, **ways.options(group))
            there[filter, group, who] = {**options, **ways.options(group)}
    topics = data.draw(st.lists(topics_of(dialect, 3), min_size=1, max_size=3)) * 3
    for one in (trie, trie.snapshot(), trie.fork()):
        for topic in topics:
            reached = {on: there[on] for on in there if reaches(dialect, on[0], topic)}
            expect(ways, one, topic, reached)
    trie.check()


def expect(ways: Ways, trie: SubscriptionTrie, topic: str, reached: there_of) -> None:
    own = [on for on in reached if on[1] is None]
    teams: dict[Any, set[Any]] = {}
    for filter, group, who in reached:
        if group is not None:
            teams.setdefault(ways.group(filter, group), set()).add((ways.filter(filter, group), group, who))
    answers = [trie.deliveries(topic), trie.deliveries_many([topic])[0]]
    for found in answers:
        assert all((one.filter, one.group, one.subscriber) in named(ways, reached) for one in found)
        assert all(dict(one.options) == named(ways, reached)[one.filter, one.group, one.subscriber] for one in found)
        assert Counter(on for on in map(place, found) if on[1] is None) == Counter(own)
        members = [on for on in map(place, found) if on[1] is not None]
        assert len(members) == len(teams)
        assert all(sum(on in team for on in members) == 1 for team in teams.values())
    for merge in ("one", "best"):
        found = trie.deliveries(topic, merge=merge)
        alone = [one for one in found if one.group is None]
        assert Counter(one.subscriber for one in alone) == dict.fromkeys({who for _, _, who in own}, 1)
        assert len(found) - len(alone) == len(teams)
        if merge == "best":
            for one in alone:
                theirs = [value(reached[on]) for on in own if on[2] == one.subscriber]
                assert value(dict(one.options)) == max(theirs)
    listed = in_order((ways.filter(filter, group), who, options) for (filter, group, who), options in reached.items())
    assert in_order((one.filter, one.subscriber, dict(one.options)) for one in trie.entries(topic)) == listed


def named(ways: Ways, reached: there_of) -> there_of:
    return {(ways.filter(filter, group), group, who): options for (filter, group, who), options in reached.items()}


def place(one: Delivery) -> tuple[str, str | None, Any]:
    return one.filter, one.group, one.subscriber


def value(options: dict[str, Any]) -> float:
    found = options.get("qos")
    return -1 if found is None else found


class TestMerging:
    def trie(self) -> SubscriptionTrie:
        trie = SubscriptionTrie(MQTT)
        trie.subscribe("a/+", "ann", qos=1, subscription_identifier=5)
        trie.subscribe("#", "ann", qos=2, subscription_identifier=3)
        trie.subscribe("a/b", "ann")
        trie.subscribe("$share/g/a/b", "ann", qos=2)
        return trie

    def test_what_a_member_gets_is_kept_beside_what_it_gets_for_itself(self) -> None:
        trie = self.trie()
        assert [one.group for one in trie.deliveries("a/b", merge="one")].count("g") == 1
        assert len(trie.deliveries("a/b", merge="one")) == 2
        assert len(trie.deliveries("a/b")) == 4
        trie.check()

    def test_the_best_by_any_option(self) -> None:
        trie = self.trie()
        for by, filter in (("qos", "#"), ("subscription_identifier", "a/+")):
            for found in (trie.deliveries("a/b", merge="best", by=by), trie.entries("a/b", merge="best", by=by)):
                assert [one.filter for one in found if not one.filter.startswith("$share")] == [filter]
        trie.check()

    def test_less_than_nothing_is_more_than_no_option(self) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a.*", 1)
        trie.subscribe("#", 1, rank=-1)
        trie.subscribe("*.b", 1, rank=None)
        assert [one.filter for one in trie.deliveries("a.b", merge="best", by="rank")] == ["#"]
        trie.check()

    @pytest.mark.parametrize("number", [3, 40])
    def test_one_of_each_among_many(self, number: int) -> None:
        trie = SubscriptionTrie()
        for n in range(number):
            trie.subscribe("a", n, qos=0)
            trie.subscribe("*", n, qos=n % 3)
        found = trie.deliveries("a", merge="best")
        assert sorted(one.subscriber for one in found) == list(range(number))
        assert all(one.options["qos"] == one.subscriber % 3 for one in found)
        assert len(trie.deliveries("a", merge="one")) == number
        trie.check()

    def test_what_cannot_be_compared(self) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", 1, qos="high")
        trie.subscribe("*", 1, qos=2)
        with pytest.raises(TypeError, match=r"merge='best' cannot tell the greater of qos=.* and qos=.*"):
            trie.deliveries("a", merge="best")
        assert len(trie.deliveries("a", merge="best", by="rank")) == 1
        trie.check()

    def test_what_is_no_rule_is_refused_before_the_topic(self) -> None:
        trie = SubscriptionTrie(NATS)
        for ask in (trie.deliveries, trie.entries, lambda topic, **rule: trie.deliveries_many([topic], **rule)):
            with pytest.raises(ValueError, match="merge must be one of 'all', 'one', 'best', not 'max'"):
                ask("", merge="max")  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="by is the name of an option, a str, not 5"):
                ask("", merge="best", by=5)  # type: ignore[arg-type]
        trie.check()


class TestDelivery:
    def found(self) -> tuple[Delivery, ...]:
        trie = SubscriptionTrie(MQTT)
        trie.subscribe("$share/g/a/+", "ann", qos=2)
        trie.subscribe("a/+", "bob")
        trie.check()
        return tuple(sorted(trie.deliveries("a/b"), key=lambda one: one.subscriber))

    def test_goes_into_a_set_a_pickle_and_a_copy(self) -> None:
        found = self.found()
        assert found == self.found()
        assert set(found) == set(self.found())
        assert found[0] != found[1]
        assert pickle.loads(pickle.dumps(found)) == copy.deepcopy(found) == found
        assert [repr(one) for one in found] == [
            "Delivery(subscriber='ann', options={'qos': 2}, group='g', filter='$share/g/a/+')",
            "Delivery(subscriber='bob', options={}, group=None, filter='a/+')",
        ]

    def test_cannot_be_changed(self) -> None:
        one = self.found()[0]
        with pytest.raises(TypeError):
            one.options["qos"] = 1  # type: ignore[index]
        for name in ("subscriber", "options", "group", "filter"):
            with pytest.raises(AttributeError):
                setattr(one, name, None)

    def test_outlives_its_subscription_and_keeps_none_but_its_subscriber(self) -> None:
        trie = SubscriptionTrie()
        ann, bob = Someone(1), Someone(2)
        trie.subscribe("a.long-word-of-a-filter.*", ann, qos=1)
        trie.subscribe("a.long-word-of-a-filter.b", bob)
        kept = [one for one in trie.deliveries("a.long-word-of-a-filter.b") if one.subscriber is ann]
        gone = weakref.ref(bob)
        trie.clear()
        trie.check()
        del trie, bob
        gc.collect()
        drain()
        assert gone() is None
        assert plain(kept) == [("a.long-word-of-a-filter.*", None, ann, {"qos": 1})]

    @pytest.mark.parametrize("exact", [False, True], ids=["by words", "exact"])
    @pytest.mark.parametrize("words", [1, 3, 62, 63, 64, 65, 100])
    def test_filters_of_any_length_and_characters(self, words: int, exact: bool) -> None:
        for word in ("a", "of-more-than-seven", "é", "é-long-enough-for-the-heap", "日本", "😀"):
            trie = SubscriptionTrie(replace(AMQP, max_bytes=10_000), exact=exact)
            topic = ".".join([word] * words)
            filters = {topic, "#", ".".join(["*"] * words), ".".join([word] * (words - 1) + ["#"]), f"{word}.#"}
            filters |= {".".join(["*", *[word] * (words - 1)])} | {f"#.{word}", f"#.{word}.#"}
            for n, filter in enumerate(sorted(filters)):
                trie.subscribe(filter, n, qos=n)
                trie.subscribe(filter, -n - 1)
            found = trie.deliveries(topic)
            assert Counter(one.filter for one in found) == dict.fromkeys(filters, 2)
            assert sorted(one.filter for one in trie.entries(topic)) == sorted([*filters, *filters])
            trie.check()


def test_a_client_that_is_a_member_and_subscribed_for_itself_gets_both() -> None:
    trie = SubscriptionTrie(MQTT)
    for who in ("w1", "w2"):
        trie.subscribe("$share/g/a", who, qos=2)
    trie.subscribe("#", "w1", qos=0)
    seed(1)
    answers = [plain(trie.deliveries("a")) for _ in range(30)]
    assert {who for answer in answers for _, group, who, _ in answer if group} == {"w1", "w2"}
    assert {found[0] for answer in answers for found in answer} == {"#", "$share/g/a"}
    assert all(("#", None, "w1", {"qos": 0}) in answer and len(answer) == 2 for answer in answers)
    trie.check()


def test_a_queue_group_of_several_filters_gets_one_by_the_filter_of_the_member_that_is_drawn() -> None:
    trie = SubscriptionTrie(NATS)
    trie.subscribe("a.*", "w1", queue="w")
    trie.subscribe("a.>", "w2", queue="w")
    seed(1)
    answers = {found[:3] for _ in range(30) for found in plain(trie.deliveries("a.b"))}
    assert answers == {("a.*", "w", "w1"), ("a.>", "w", "w2")}
    trie.check()


def test_answers_are_remembered_beside_those_of_match() -> None:
    trie = SubscriptionTrie(cache=4)
    trie.subscribe("a.*", 1, qos=1)
    for _ in range(3):
        trie.match("a.b")
        trie.deliveries("a.b")
    assert trie.deliveries("a.b") is trie.deliveries("a.b")
    assert trie.match("a.b") == (1,)
    assert [dict(one.options) for one in trie.deliveries("a.b", merge="best")] == [{"qos": 1}]
    trie.subscribe("a.*", 1, qos=2)
    assert [dict(one.options) for one in trie.deliveries("a.b")] == [{"qos": 2}]
    trie.clear()
    assert trie.deliveries("a.b") == ()
    trie.check()


def test_refused() -> None:
    trie = SubscriptionTrie(NATS)
    with pytest.raises(TopicError):
        trie.deliveries("a..b")
    with pytest.raises(TopicError):
        trie.deliveries_many(["a", "a..b"])
    with pytest.raises(TypeError, match="takes several topics"):
        trie.deliveries_many("a")
    trie.check()


def test_threads_that_subscribe_and_ask() -> None:
    """A subscriber that moves between two filters with its options is always on one of them, whole."""
    trie = SubscriptionTrie()
    trie.subscribe("a.*", "ann", by="a.*")

    def move() -> None:
        for _ in range(300):
            trie.subscribe("*.b", "ann", by="*.b")
            trie.unsubscribe("a.*", "ann")
            trie.subscribe("a.*", "ann", by="a.*")
            trie.unsubscribe("*.b", "ann")

    def ask() -> None:
        for _ in range(600):
            found = trie.deliveries("a.b")
            assert found
            assert all(one.filter == one.options["by"] for one in found)
            assert len(trie.deliveries("a.b", merge="one")) == 1

    run_together([move, ask, ask])
    trie.check()
