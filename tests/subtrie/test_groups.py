"""Shared subscriptions of MQTT and queue groups of NATS: one member of a group gets each message, drawn by lot."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctrie import drain
from subtrie import AMQP, MQTT, NATS, Dialect, Subscription, SubscriptionTrie, TopicError
from subtrie._trie.draws import seed
from subtrie.dialects import Words
from tests.subtrie.lots import check_fair
from tests.subtrie.support import reaches
from tests.subtrie.test_model import SUBSCRIBERS, filters_of, in_order, topics_of
from tests.threads import meanwhile, run_together


class Ways:
    """The arguments to subscribe to a filter in a dialect, with or without a group."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def filter(self, filter: str, group: str | None) -> str:
        return filter if group is None or self.dialect.queue_groups else f"$share/{group}/{filter}"

    def options(self, group: str | None) -> dict[str, Any]:
        return {"queue": group} if group is not None and self.dialect.queue_groups else {}

    def group(self, filter: str, group: str) -> Any:
        """The identity of a group: in NATS, only its name."""
        return group if self.dialect.queue_groups else (filter, group)

    def subscribe(self, trie: SubscriptionTrie, filter: str, group: str | None, subscriber: Any) -> bool:
        return trie.subscribe(self.filter(filter, group), subscriber, **self.options(group))

    def unsubscribe(self, trie: SubscriptionTrie, filter: str, group: str | None, subscriber: Any) -> bool:
        return trie.unsubscribe(self.filter(filter, group), subscriber, **self.options(group))


class Someone:
    """A subscriber that can be weakly held."""


both_ways = pytest.mark.parametrize("dialect", [MQTT, NATS], ids=lambda dialect: dialect.name)
GROUPS = [None, None, "g", "h"]


@both_ways
@pytest.mark.parametrize("settings", [{}, {"index": True}, {"cache": 8}, {"exact": True}], ids=str)
@given(data=st.data())
def test_any_sequence_of_operations(dialect: Dialect, settings: dict[str, Any], data: st.DataObject) -> None:
    """A trie against a set of (filter, group, subscriber)."""
    ways, trie = Ways(dialect), SubscriptionTrie(dialect, **settings)
    there: set[tuple[str, str | None, Any]] = set()
    steps = st.tuples(st.booleans(), filters_of(dialect, 2), st.sampled_from(GROUPS), SUBSCRIBERS)
    for comes, filter, group, subscriber in data.draw(st.lists(steps, max_size=15)):
        one = filter, group, subscriber
        if comes:
            assert ways.subscribe(trie, filter, group, subscriber) is (one not in there)
            there.add(one)
        else:
            assert ways.unsubscribe(trie, filter, group, subscriber) is (one in there)
            there.discard(one)
    listed = in_order((ways.filter(filter, group), who, ways.options(group)) for filter, group, who in there)
    assert in_order((one.filter, one.subscriber, dict(one.options)) for one in trie.subscriptions()) == listed
    assert len(trie) == trie.stats()["subscriptions"] == len(there)
    for topic in data.draw(st.lists(topics_of(dialect, 3), max_size=3)) * 2:
        expect_match(ways, trie, there, topic)
    for subscriber in (0, 1, 2, "x", (), None):
        theirs = {ways.filter(filter, group) for filter, group, who in there if who == subscriber}
        assert sorted(trie.filters(subscriber)) == sorted(theirs)
        assert trie.unsubscribe_all(subscriber) == sum(who == subscriber for *_, who in there)
    assert not trie
    assert trie.stats()["branches"] == 0
    trie.check()


def expect_match(ways: Ways, trie: SubscriptionTrie, there: Iterable[tuple[str, str | None, Any]], topic: str) -> None:
    dialect = ways.dialect
    reached = [one for one in there if reaches(dialect, one[0], topic)]
    listed = in_order((ways.filter(filter, group), who, ways.options(group)) for filter, group, who in reached)
    assert in_order((one.filter, one.subscriber, dict(one.options)) for one in trie.entries(topic)) == listed
    expected = trie.count(topic)
    for found in (trie.match(topic), tuple(trie.match_iter(topic)), trie.match_many([topic])[0]):
        assert len(set(found)) == len(found)
        plain = {who for _, group, who in reached if group is None}
        assert plain <= set(found)
        members: dict[Any, set[Any]] = {}
        for filter, group, who in reached:
            if group is not None:
                members.setdefault(ways.group(filter, group), set()).add(who)
        assert all(set(found) & some for some in members.values())
        assert len(found) <= len(plain) + len(members)
        assert set(found) <= plain.union(*members.values())
    assert expected <= len({who for *_, who in reached})
    assert trie.has_match(topic) is bool(reached)


def members(dialect: Dialect, number: int, **settings: Any) -> SubscriptionTrie:
    ways, trie = Ways(dialect), SubscriptionTrie(dialect, **settings)
    for n in range(number):
        assert ways.subscribe(trie, "a", "g", n)
    return trie


@both_ways
@pytest.mark.parametrize("number", [1, 2, 8, 9, 100])
@pytest.mark.parametrize("settings", [{}, {"cache": 8}, {"exact": True}], ids=str)
class TestLots:
    def test_every_member_is_as_likely(self, dialect: Dialect, number: int, settings: dict[str, Any]) -> None:
        trie = members(dialect, number, **settings)
        everybody = dict.fromkeys(range(number), 1)
        ways: list[Callable[[], Iterable[Any]]] = [
            lambda: trie.match("a"),
            lambda: [one for (one,) in trie.match_many(["a"] * 5)],
            lambda: trie.match_iter("a"),
            lambda: [one.subscriber for one in trie.deliveries("a")],
            lambda: [one.subscriber for (one,) in trie.deliveries_many(["a"] * 5)],
        ]
        for number, way in enumerate(ways):
            seed(number)
            check_fair(Counter(who for _ in everybody for _ in range(60) for who in way()), everybody, number)
        trie.check()

    def test_looking_names_them_all(self, dialect: Dialect, number: int, settings: dict[str, Any]) -> None:
        trie = members(dialect, number, **settings)
        assert trie.count("a") == 1
        assert trie.has_match("a")
        assert len(list(trie.entries("a"))) == number
        assert len(list(trie.overlapping("a"))) == number
        trie.check()

    def test_threads_draw_apart(self, dialect: Dialect, number: int, settings: dict[str, Any]) -> None:
        trie = members(dialect, number, **settings)

        def matches(own: int) -> list[Any]:
            seed(own)
            return [who for _ in range(60 * number) for who in trie.match("a")]

        found = run_together([partial(matches, own) for own in range(3)])
        for own, drawn in enumerate(found):
            check_fair(Counter(drawn), dict.fromkeys(range(number), 1), own)
        assert number == 1 or found[0] != found[1]
        trie.check()


class TestGroups:
    @both_ways
    def test_groups_are_apart_from_each_other_and_from_those_in_none(self, dialect: Dialect) -> None:
        ways, trie = Ways(dialect), SubscriptionTrie(dialect)
        for group, who in ((None, "p"), (None, "q"), ("g", "g1"), ("g", "g2"), ("h", "h1")):
            ways.subscribe(trie, "a", group, who)
        seed(1)
        answers = {frozenset(trie.match("a")) for _ in range(60)}
        assert answers == {frozenset(["p", "q", "h1", "g1"]), frozenset(["p", "q", "h1", "g2"])}
        assert trie.count("a") == 4
        assert ways.unsubscribe(trie, "a", "g", "g1")
        assert not ways.unsubscribe(trie, "a", None, "g2")
        assert [set(trie.match("a")) for _ in range(2)] == [{"p", "q", "h1", "g2"}] * 2
        trie.check()

    @both_ways
    def test_a_member_who_also_listens_for_himself_is_named_once(self, dialect: Dialect) -> None:
        ways, trie = Ways(dialect), SubscriptionTrie(dialect)
        ways.subscribe(trie, "a", None, "x")
        ways.subscribe(trie, "a", "g", "x")
        assert trie.match("a") == ("x",)
        assert len(list(trie.entries("a", merge="best"))) == 2
        assert ways.unsubscribe(trie, "a", None, "x")
        assert trie.match("a") == ("x",)
        trie.check()

    @both_ways
    def test_a_long_topic(self, dialect: Dialect) -> None:
        """More words than the compiled matcher keeps in a machine word."""
        ways, trie = Ways(dialect), SubscriptionTrie(dialect)
        for n in range(2):
            ways.subscribe(trie, dialect.many_words or "", "g", n)
        topic = dialect.join(["a"] * 70)
        seed(1)
        check_fair(Counter(trie.match(topic)[0] for _ in range(200)), {0: 1, 1: 1}, 1)
        trie.check()

    @both_ways
    def test_an_instant_and_what_changed_since(self, dialect: Dialect) -> None:
        ways, trie = Ways(dialect), SubscriptionTrie(dialect)
        ways.subscribe(trie, "a", "g", 1)
        ways.subscribe(trie, "a", None, 1)
        before, fork = trie.snapshot(), trie.fork()
        ways.unsubscribe(trie, "a", "g", 1)
        ways.subscribe(trie, "a", "h", 2)
        changes = sorted((change.kind, change.subscription.filter) for change in trie.diff(before))
        assert changes == [("added", ways.filter("a", "h")), ("removed", ways.filter("a", "g"))]
        assert len(before) == len(fork) == 2
        assert SubscriptionTrie(dialect).subscribe_many(before.subscriptions()) == 2
        assert fork.unsubscribe_many(before.subscriptions()) == 2
        for one in (trie, before, fork):
            one.check()

    def test_the_filter_of_an_mqtt_group_is_one_of_its_own(self) -> None:
        trie = SubscriptionTrie(MQTT)
        trie.subscribe("$share/g/a/+", 1, qos=1)
        trie.subscribe("a/+", 2)
        assert list(trie.subscriptions("$share/g/a/+")) == [Subscription("$share/g/a/+", 1, {"qos": 1})]
        assert list(trie.subscriptions("a/+")) == [Subscription("a/+", 2)]
        assert [one.filter for one in trie.overlapping("$share/h/a/b")] != []
        trie.check()

    def test_the_filter_of_a_nats_group_is_everybodys(self) -> None:
        trie = SubscriptionTrie(NATS)
        trie.subscribe("a.*", 1, queue="g")
        trie.subscribe("a.*", 1)
        assert len(list(trie.subscriptions("a.*"))) == 2
        assert trie.filters(1) == ["a.*"]
        assert trie.unsubscribe_many([("a.*", 1, {"queue": "g"})]) == 1
        assert list(trie.subscriptions()) == [Subscription("a.*", 1)]
        trie.check()

    @pytest.mark.parametrize("topic", ["a.b", "a." + ".".join("b" * 70)], ids=["short", "long"])
    def test_a_nats_group_is_one_whatever_the_filters_of_its_members(self, topic: str) -> None:
        trie = SubscriptionTrie(NATS)
        for number, filter in enumerate(("a.*", "a.>", ">", topic)):
            for member in range(number + 1):
                trie.subscribe(filter, (filter, member), queue="g")
        reached = [one.subscriber for one in trie.entries(topic)]
        assert len(reached) >= 8
        for ask in (trie.match, lambda topic: tuple(trie.match_iter(topic)), lambda topic: trie.match_many([topic])[0]):
            seed(1)
            check_fair(Counter(ask(topic)[0] for _ in range(60 * len(reached))), dict.fromkeys(reached, 1), 1)
        assert trie.count(topic) == 1
        trie.subscribe("a.>", "other", queue="h")
        assert [len(trie.match(topic)), trie.count(topic)] == [2, 2]
        trie.check()

    def test_an_mqtt_group_is_one_for_each_filter(self) -> None:
        trie = SubscriptionTrie(MQTT)
        for filter in ("a/+", "a/#", "a/b"):
            trie.subscribe(f"$share/g/{filter}", filter)
        assert sorted(trie.match("a/b")) == ["a/#", "a/+", "a/b"]
        trie.check()

    def test_elsewhere_queue_is_an_option_like_others(self) -> None:
        trie = SubscriptionTrie(AMQP)
        trie.subscribe("a", 1, queue="q")
        trie.subscribe("a", 2, queue="q")
        assert sorted(trie.match("a")) == [1, 2]
        with pytest.raises(TypeError, match="AMQP has no queue groups"):
            trie.unsubscribe("a", 1, queue="q")
        trie.check()

    @pytest.mark.parametrize(("queue", "error"), [("", TopicError), ("a b", TopicError), (1, TypeError)])
    def test_a_bad_name_is_refused(self, queue: Any, error: type[Exception]) -> None:
        trie = SubscriptionTrie(NATS, index=True)
        for change in (trie.subscribe, trie.unsubscribe):
            with pytest.raises(error):
                change("a", 1, queue=queue)
        assert not trie
        trie.check()

    def test_a_dialect_names_groups_one_way(self) -> None:
        with pytest.raises(ValueError, match="exclude each other"):
            replace(MQTT, queue_groups=True)


class OfTeams(Dialect):
    """Writes the filters of groups in its own way: the text of a filter is `group: filter`."""

    def share(self, group: str, filter_words: Words) -> Words:
        return (group, *filter_words)

    def join(self, words: Sequence[str]) -> str:
        return ": ".join(words)


@pytest.mark.parametrize("words", [2, 80])
def test_a_dialect_of_ones_own_writes_the_filters_of_its_groups(words: int) -> None:
    trie = SubscriptionTrie(OfTeams(name="teams", separator=".", one_word="*", many_words=">", queue_groups=True))
    trie.subscribe("a.>", "ann", queue="g")
    topic = ".".join(["a", *"b" * (words - 1)])
    (given,), (held,), (own,) = trie.deliveries(topic), trie.entries(topic), trie.deliveries_of(topic, "ann")
    assert given.filter == held.filter == own.filter == "g: a.>"
    assert given.words == own.words == (("b",) * (words - 1),)


@pytest.mark.parametrize("topic", ["a/b", "a" + "/b" * 80])
@pytest.mark.parametrize("settings", [{}, {"exact": True}, {"weak": True}], ids=str)
def test_each_way_tells_the_filter_of_a_group(topic: str, settings: dict[str, Any]) -> None:
    trie = SubscriptionTrie(MQTT, **settings)
    one, two = Someone(), Someone()
    trie.subscribe("$share/güteklasse/a/#", one)
    trie.subscribe("a/#", two)
    wanted = {("$share/güteklasse/a/#", "güteklasse", one), ("a/#", None, two)}
    for found in (trie.deliveries(topic), trie.deliveries_many([topic])[0]):
        assert {(each.filter, each.group, each.subscriber) for each in found} == wanted
        assert {each.words for each in found} == {(tuple(topic.split("/")[1:]),)}
    held = {(each.filter, each.subscriber) for each in trie.entries(topic)}
    assert held == {(filter, who) for filter, _, who in wanted}
    assert [each.filter for each in trie.deliveries_of(topic, one)] == ["$share/güteklasse/a/#"]


@pytest.mark.compiled
def test_the_deliveries_of_groups_are_no_work_for_the_collector() -> None:
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("$share/g/a", "ann", qos=1)
    trie.subscribe("$share/g/a", "bob")
    seed(1)
    answers = [trie.deliveries("a") for _ in range(30)]
    assert {one.subscriber for (one,) in answers} == {"ann", "bob"}
    assert not any(map(gc.is_tracked, [*answers, *(one for (one,) in answers)]))


@both_ways
def test_real_threads_always_find_one_member(dialect: Dialect) -> None:
    """Others come and go; one member stays, so a match always finds one member, and never two."""
    ways, trie = Ways(dialect), SubscriptionTrie(dialect)
    ways.subscribe(trie, "a", "g", "stays")
    ways.subscribe(trie, "a", None, "plain")

    def come_and_go(number: int) -> None:
        for n in range(150):
            assert ways.subscribe(trie, "a", "g", (number, n))
            assert ways.subscribe(trie, "a", f"own {number}" if dialect is MQTT else f"own-{number}", n)
            assert ways.unsubscribe(trie, "a", "g", (number, n))
            assert ways.unsubscribe(trie, "a", f"own {number}" if dialect is MQTT else f"own-{number}", n)

    def look() -> None:
        found = trie.match("a")
        assert "plain" in found
        of_the_group = [one for one in found if one == "stays" or isinstance(one, tuple)]
        assert len(of_the_group) == 1

    looks: list[Callable[[], None]] = [look, look]
    with meanwhile(*looks):
        run_together([partial(come_and_go, number) for number in range(2)])
    assert set(trie.match("a")) == {"stays", "plain"}
    trie.check()
    assert drain() == 0


class TestWeights:
    @pytest.mark.parametrize("number", [2, 9, 100])
    @pytest.mark.parametrize("greatest", [3, 1_000])
    def test_by_weight(self, number: int, greatest: int) -> None:
        """Where one weighs 1,000 times as much as most others, draws are mostly in vain."""
        trie = SubscriptionTrie(MQTT)
        weights = {n: 2 if n % 2 else 1 for n in range(number)} | {0: greatest}
        for n, weight in weights.items():
            trie.subscribe("$share/g/a", n, weight=weight)
        seed(number)
        check_fair(Counter(trie.match("a")[0] for _ in range(20_000)), weights, number)

    @pytest.mark.parametrize("weight", [0, -1, 1_001, True, 1.5])
    def test_a_bad_weight_is_refused(self, weight: Any) -> None:
        trie = SubscriptionTrie(MQTT)
        with pytest.raises((TypeError, ValueError), match="weight"):
            trie.subscribe("$share/g/a", 1, weight=weight)
        assert not trie


class Worker:
    pass


def member(trie: SubscriptionTrie, **choice: Any) -> Any:
    (one,) = trie.deliveries("a", **choice)
    return one.subscriber


@both_ways
@pytest.mark.parametrize("number", [2, 8, 9, 100])
class TestChoices:
    def test_equal_keys_go_to_one_member_and_few_move(self, dialect: Dialect, number: int) -> None:
        ways, trie = Ways(dialect), members(dialect, number)
        before = {key: member(trie, key=key) for key in range(2_000)}
        assert {key: member(trie, key=float(key)) for key in before} == before
        share = len(before) / number
        counts = Counter(before.values())
        assert all(abs(counts[n] - share) < 6 * share**0.5 for n in range(number))
        ways.unsubscribe(trie, "a", "g", 0)
        ways.subscribe(trie, "a", "g", "new")
        after = {key: member(trie, key=key) for key in before}
        assert all(after[key] in (before[key], "new") or before[key] == 0 for key in before)
        assert sum(after[key] != before[key] for key in before) < 3.5 * share
        trie.check()

    def test_by_key_and_weight(self, dialect: Dialect, number: int) -> None:
        ways, trie = Ways(dialect), members(dialect, number)
        trie.subscribe(ways.filter("a", "g"), "heavy", weight=number, **ways.options("g"))
        got = Counter(member(trie, key=key) for key in range(2_000))
        assert abs(got["heavy"] - 1_000) < 150

    def test_the_sender_gets_it_only_if_alone(self, dialect: Dialect, number: int) -> None:
        ways, trie = Ways(dialect), members(dialect, number)
        seed(1)
        got = Counter(member(trie, sender=0) for _ in range(60 * (number - 1)))
        check_fair(got, dict.fromkeys(range(1, number), 1), 1)
        assert {member(trie, sender=0, key=key) for key in range(2_000)} == set(range(1, number))
        for n in range(1, number):
            ways.unsubscribe(trie, "a", "g", n)
        assert member(trie, sender=0) == member(trie, sender=0, key=1) == 0
        trie.check()

    def test_a_sender_who_is_not_in_the_group_changes_nothing(self, dialect: Dialect, number: int) -> None:
        trie = members(dialect, number)
        seed(1)
        check_fair(Counter(member(trie, sender="x") for _ in range(60 * number)), dict.fromkeys(range(number), 1), 1)

    def test_a_key_or_sender_without_a_hash_is_refused(self, dialect: Dialect, number: int) -> None:
        trie = members(dialect, number)
        with pytest.raises(TypeError, match="unhashable"):
            trie.deliveries("a", key=[])
        with pytest.raises(TypeError, match="unhashable"):
            trie.deliveries("a", sender=[])

    def test_those_who_are_not_there_are_left_out(self, dialect: Dialect, number: int) -> None:
        ways, trie = Ways(dialect), members(dialect, number)
        seed(1)
        there = number // 2
        absent = set(range(there, number))
        got = Counter(member(trie, without=absent) for _ in range(60 * there))
        check_fair(got, dict.fromkeys(range(there), 1), 1)
        assert {member(trie, without=absent, key=key) for key in range(2_000)} == set(range(there))
        assert {member(trie, without=range(1, number), key=key) for key in (None, 1, 2)} == {0}
        assert member(trie, without=range(1, number), sender=0) == 0
        for key in (None, 1):  # the sender is the only one who could get it, and is not there
            assert trie.deliveries("a", without=range(number), sender=0, key=key) == ()
        trie.subscribe(ways.filter("a", "g"), "weak", weight=1_000, **ways.options("g"))
        assert {member(trie, without=["weak"]) for _ in range(20 * number)} <= set(range(number))
        trie.check()

    def test_those_who_are_not_there_are_left_out_of_every_group_and_of_all_others(
        self, dialect: Dialect, number: int
    ) -> None:
        ways, trie = Ways(dialect), members(dialect, number)
        for n in range(number):
            all_topics = dialect.many_words or ""
            trie.subscribe(ways.filter(all_topics, "h"), n, but=["x"], **ways.options("h"))
            trie.subscribe(all_topics, n, but=["x"])
        absent = frozenset(range(1, number))
        found = trie.deliveries("a", without=absent)
        assert {one.group for one in found} == {None, "g", "h"}
        assert [one.subscriber for one in found] == [0] * 3
        assert trie.deliveries("a", without=iter([*absent, 0])) == ()
        assert [one.subscriber for one in trie.deliveries("a", without={*absent, "nobody"}, merge="one")] == [0] * 3
        assert len(trie.deliveries("a", without=())) == number + 2
        trie.check()

    def test_what_is_no_set_of_subscribers_is_refused(self, dialect: Dialect, number: int) -> None:
        trie = members(dialect, number)
        several: list[Any] = ["ann", [[]], 5]
        for wrong in several:
            with pytest.raises(TypeError):
                trie.deliveries("a", without=wrong)
        trie.check()
