"""Exclusions (`but=`): parts of a filter that a subscription does without."""

from __future__ import annotations

import copy
import gc
import pickle
import random
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctrie import drain
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError
from subtrie._trie.draws import seed
from subtrie._trie.exclusions import leave_a_topic
from subtrie.columns import row_numbers
from subtrie.fields import RoutingMatcher
from tests.subtrie.lots import check_fair
from tests.subtrie.support import reaches
from tests.subtrie.test_deliveries import Someone
from tests.subtrie.test_groups import GROUPS, Ways
from tests.subtrie.test_model import filters_of, in_order, topics_of
from tests.threads import run_together

DIALECTS = [AMQP, MQTT, NATS]
PATHS = Dialect("paths", separator="/", one_word="*", many_words="**", reserved_prefix="_", zero_words=True)
each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
PEOPLE = [Someone(n) for n in range(4)]
Content = dict[tuple[str, str | None, Any], tuple[str, ...]]  # (filter, group, subscriber) to exclusions


def gets(dialect: Dialect, filter: str, but: tuple[str, ...], topic: str) -> bool:
    """The meaning of exclusions: the filter matches, and none of them does."""
    return reaches(dialect, filter, topic) and not any(reaches(dialect, part, topic) for part in but)


class Checked:
    """A trie, and its expected content."""

    def __init__(self, dialect: Dialect, **settings: Any) -> None:
        self.ways, self.dialect = Ways(dialect), dialect
        self.trie = SubscriptionTrie(dialect, **settings)
        self.there: Content = {}

    def subscribe(self, filter: str, group: str | None, who: Any, but: tuple[str, ...]) -> None:
        """Subscribe; refused exclusions have to change nothing."""
        key = filter, group, who
        options = {**self.ways.options(group), **({"but": but} if but else {})}
        try:
            new = self.trie.subscribe(self.ways.filter(filter, group), who, **options)
        except ValueError:
            assert but
            return
        assert new is (key not in self.there)
        self.there[key] = tuple(dict.fromkeys(but))

    def unsubscribe(self, filter: str, group: str | None, who: Any) -> None:
        self.ways.unsubscribe(self.trie, filter, group, who)
        self.there.pop((filter, group, who), None)

    def rows(self) -> list[Any]:
        """What listings show."""
        return in_order(
            (
                self.ways.filter(filter, group),
                who,
                in_order({**self.ways.options(group), **({"but": but} if but else {})}.items()),
            )
            for (filter, group, who), but in self.there.items()
        )

    def expect(self, trie: SubscriptionTrie, topics: list[str]) -> None:
        assert listed(trie) == self.rows()
        batch = trie.match_many(topics)
        many = trie.deliveries_many(topics)
        offsets, numbers, subscribers = trie.match_columns(topics)
        for at, topic in enumerate(topics):
            reached = [key for key, but in self.there.items() if gets(self.dialect, key[0], but, topic)]
            plain = {who for _, group, who in reached if group is None}
            members: dict[Any, set[Any]] = {}
            for filter, group, who in reached:
                if group is not None:
                    members.setdefault(self.ways.group(filter, group), set()).add(who)
            answers = [trie.match(topic), [*trie.match_iter(topic)], batch[at]]
            answers.append([subscribers[n] for n in numbers[offsets[at] : offsets[at + 1]]])
            for answer in answers:
                assert len(set(answer)) == len(answer)
                others = set(answer) - plain
                assert plain <= set(answer) <= plain.union(*members.values())
                assert len(others) <= len(members)
            assert trie.has_match(topic) is bool(reached)
            assert bool(trie.count(topic)) is bool(reached)
            held = in_order((one.filter, one.subscriber) for one in trie.entries(topic))
            assert held == in_order((self.ways.filter(filter, group), who) for filter, group, who in reached)
            for found in (trie.deliveries(topic), many[at], trie.deliveries(topic, key="k")):
                direct = [(one.filter, one.subscriber) for one in found if one.group is None]
                assert in_order(direct) == in_order((filter, who) for filter, group, who in reached if group is None)
                chosen = [one for one in found if one.group is not None]
                assert len(chosen) == len(members)
                for one in chosen:
                    plain_filter = self.dialect.join(self.dialect.unshare(self.dialect.split_filter(one.filter))[1])
                    assert (plain_filter, one.group, one.subscriber) in reached
        trie.check()


def listed(trie: SubscriptionTrie) -> list[Any]:
    return in_order((one.filter, one.subscriber, in_order(one.options.items())) for one in trie.subscriptions())


@pytest.mark.parametrize("settings", [{}, {"index": True}, {"cache": 8}, {"exact": True}, {"weak": True}], ids=str)
@each_dialect
@given(data=st.data())
def test_any_subscriptions(dialect: Dialect, settings: dict[str, Any], data: st.DataObject) -> None:
    """All questions, of the trie, a snapshot, a fork and a pickle, against the meaning, applied one by one."""
    one = Checked(dialect, **settings)
    groups = [None] if dialect is AMQP else GROUPS
    filters = filters_of(dialect, 3)
    steps = st.tuples(
        st.sampled_from([True, True, True, False]),
        filters,
        st.sampled_from(groups),
        st.sampled_from(PEOPLE),
        st.lists(filters, max_size=3).map(tuple),
    )
    before = one.trie.snapshot()
    for comes, filter, group, who, but in data.draw(st.lists(steps, max_size=12)):
        if comes:
            one.subscribe(filter, group, who, but)
        else:
            one.unsubscribe(filter, group, who)
    topics = data.draw(st.lists(topics_of(dialect, 4), min_size=1, max_size=4))
    topics += topics
    tries = [one.trie, one.trie.snapshot(), one.trie.fork()]
    if not settings.get("weak"):
        tries.append(pickle.loads(pickle.dumps(one.trie)))
        assert one.trie == tries[3]
        again = SubscriptionTrie(dialect)
        again.subscribe_many(one.trie.subscriptions())
        tries.append(again)
        merged = SubscriptionTrie(dialect)
        merged.subscribe("x", "x")
        merged.subscribe_many(list(one.trie.subscriptions()))
        merged.unsubscribe("x", "x")
        tries.append(merged)
    for trie in data.draw(st.permutations(tries))[:2]:
        assert len(trie) == trie.approximate_len() == len(one.there)
        one.expect(trie, topics)
    changed = in_order((change.kind, change.subscription.filter) for change in one.trie.diff(before))
    assert changed == in_order(("added", one.ways.filter(filter, group)) for filter, group, _ in one.there)
    for given_filter in data.draw(st.lists(filters, max_size=3)):
        expected = [
            (one.ways.filter(filter, group), who)
            for (filter, group, who), but in one.there.items()
            if leave_a_topic(dialect, *_split(dialect, [filter, given_filter], but))
        ]
        found = [(each.filter, each.subscriber) for each in one.trie.overlapping(given_filter)]
        assert in_order(found) == in_order(expected)
    assert one.trie.unsubscribe_many(list(one.trie.subscriptions())) == len(one.there)
    assert not one.trie
    one.trie.check()


def _split(dialect: Dialect, *several: Any) -> list[Any]:
    return [[dialect.split_filter(text) for text in texts] for texts in several]


def shares(dialect: Dialect, filters: list[str], but: tuple[str, ...]) -> bool:
    """Whether some topic of up to 6 words is matched by all filters and no exclusion: of few words, which suffice."""
    words = {word for text in (*filters, *but) for word in dialect.split_filter(text) if not dialect.is_wild(word)}
    letters = [*sorted(words), "other", *(["$other"] if dialect is MQTT else ["_other"] if dialect is PATHS else [])]
    longest = max(len(dialect.split_filter(text)) for text in (*filters, *but)) + 1
    for size in range(0 if dialect.zero_words else 1, longest + 1):
        for topic in product(letters, repeat=size):
            if all(dialect.matches(dialect.split_filter(text), topic) for text in filters) and not any(
                dialect.matches(dialect.split_filter(text), topic) for text in but
            ):
                return True
    return False


@pytest.mark.parametrize("dialect", [*DIALECTS, PATHS], ids=lambda dialect: dialect.name)
def test_whether_filters_leave_a_topic(dialect: Dialect) -> None:
    """Against all topics of few words, for random filters of up to three."""
    draw = random.Random(dialect.name)
    reserved = {"$": "$s", "_": "_s"}.get(dialect.reserved_prefix or "", "b")
    for _ in range(400):
        texts: list[str] = []
        while len(texts) < 4:
            words = [
                draw.choice(["a", reserved, dialect.one_word, dialect.many_words]) for _ in range(draw.randint(1, 3))
            ]
            try:
                dialect.split_filter(dialect.join(words))  # type: ignore[arg-type]
            except TopicError:
                continue
            texts.append(dialect.join(words))  # type: ignore[arg-type]
        filters, but = texts[: draw.randint(1, 2)], texts[2 : draw.randint(2, 4)]
        split = [dialect.split_filter(text) for text in filters]
        found = leave_a_topic(dialect, split, [dialect.split_filter(text) for text in but])
        assert found is shares(dialect, filters, tuple(but)), (filters, but)


class TestRefused:
    """Nothing has changed afterwards."""

    BAD: tuple[tuple[Any, type[Exception], str], ...] = (
        ("a/b", TypeError, "takes a tuple of filters, not 'a/b'"),
        (5, TypeError, "takes a tuple of filters, not 5"),
        ({"a/b"}, TypeError, "takes a tuple of filters"),
        ((5,), TypeError, "a filter must be a str, not int"),
        (("a/#/b",), TopicError, "'#' is not the last word at character 2"),
        (("",), TopicError, "empty filter"),
        (("$share/g/a/b",), ValueError, "'\\$share/g/a/b' names a group"),
        (("b/#",), ValueError, "the exclusion 'b/#' takes nothing out of 'a/#'"),
        (("$SYS/#",), ValueError, "takes nothing out"),
        (("a/#",), ValueError, "take out all of 'a/#'"),
        (("#",), ValueError, "take out all"),
        (("a", "a/+/#"), ValueError, "take out all"),
        (tuple(f"a/{n}" for n in range(65)), ValueError, "at most 64 exclusions, not 65"),
    )

    @pytest.mark.parametrize(("but", "error", "text"), BAD, ids=lambda value: str(value)[:30])
    def test_by_every_way_to_subscribe(self, but: Any, error: type[Exception], text: str) -> None:
        trie = SubscriptionTrie(MQTT)
        trie.subscribe("a/#", "ann", but=("a/x",))
        before = trie.snapshot()
        with pytest.raises(error, match=text):
            trie.subscribe("a/#", "ann", but=but)
        with pytest.raises(error, match=text):
            trie.subscribe_many([("b", 1), ("a/#", "ann", {"but": but})])
        with pytest.raises(error, match=text):
            SubscriptionTrie(MQTT, index=True).subscribe_many([("b", 1), ("a/#", "ann", {"but": but})])
        assert trie == before
        trie.check()

    def test_of_a_filter_without_wildcards(self) -> None:
        trie = SubscriptionTrie(MQTT)
        with pytest.raises(ValueError, match="take out all of 'a/b'"):
            trie.subscribe("a/b", 1, but=("a/+",))
        assert not trie

    def test_64_are_taken(self) -> None:
        trie = SubscriptionTrie(MQTT)
        trie.subscribe("a/#", 1, but=tuple(f"a/{n}" for n in range(64)))
        assert [n for n in range(70) if trie.has_match(f"a/{n}")] == [*range(64, 70)]
        trie.check()

    def test_exclusions_that_take_exponential_time_to_compare_end_soon(self) -> None:
        trie = SubscriptionTrie(replace(AMQP, max_bytes=10_000))
        trie.subscribe("a.#", 1, but=tuple("#.b" + ".*" * n + ".c.#" for n in range(40)))
        assert [one.subscriber for one in trie.overlapping("#.b.#")] == [1]


def test_an_empty_tuple_and_a_list_are_taken_and_texts_are_kept_once() -> None:
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("a/#", 1, but=(), qos=1)
    assert [dict(one.options) for one in trie.subscriptions()] == [{"qos": 1}]
    trie.subscribe("a/#", 1, but=["a/b", "a/c", "a/b"])
    assert [dict(one.options) for one in trie.subscriptions()] == [{"but": ("a/b", "a/c")}]
    trie.subscribe("a/#", 1, but=())
    assert [dict(one.options) for one in trie.subscriptions()] == [{}]
    trie.check()


def test_a_subscribe_replaces_exclusions_and_a_change_tells() -> None:
    trie = SubscriptionTrie()
    trie.subscribe("a.#", 1, but=("a.x",))
    before = trie.snapshot()
    assert trie.subscribe("a.#", 1, but=("a.y",)) is False
    assert [trie.match(topic) for topic in ("a.x", "a.y")] == [(1,), ()]
    assert [before.match(topic) for topic in ("a.x", "a.y")] == [(), (1,)]
    assert [(change.kind, change.subscription.options["but"]) for change in trie.diff(before)] == [
        ("updated", ("a.y",))
    ]
    assert trie != before
    trie.subscribe("a.#", 1)
    assert trie.match("a.y") == (1,)
    trie.check()


def test_notices_are_of_filters_whatever_their_exclusions() -> None:
    told: list[tuple[str, bool]] = []
    trie = SubscriptionTrie(on_interest=lambda filter, wanted: told.append((filter, wanted)))
    trie.subscribe("a.#", 1, but=("a.x",))
    trie.subscribe("a.#", 1, but=("a.y",))
    trie.unsubscribe("a.#", 1)
    assert told == [("a.#", True), ("a.#", False)]
    trie.check()


def test_a_weak_subscriber_that_dies_leaves_with_its_exclusions() -> None:
    trie = SubscriptionTrie(weak=True)
    ann, bob = Someone(1), Someone(2)
    trie.subscribe("a.#", ann, but=("a.x",))
    trie.subscribe("a.#", bob)
    assert set(trie.match("a.b")) == {ann, bob}
    assert trie.match("a.x") == (bob,)
    assert [one.subscriber for one in trie.entries("a.x")] == [bob]
    del ann
    gc.collect()
    drain()
    assert trie.match("a.b") == (bob,)
    assert len(trie) == 1
    trie.check()


def test_as_a_message_on_a_topic_of_64_words_and_more() -> None:
    trie = SubscriptionTrie(replace(AMQP, max_bytes=10_000))
    trie.subscribe("a.#", 1, but=("#.x.#",))
    trie.subscribe("a.#", 2, qos=1)
    topic = ".".join(["a"] * 100)
    for asked, found in ((topic, {1, 2}), (f"{topic}.x", {2})):
        assert set(trie.match(asked)) == set(trie.match_iter(asked)) == found
        assert {one.subscriber for one in trie.deliveries(asked)} == found
        assert {one.subscriber for one in trie.entries(asked)} == found
    trie.unsubscribe("a.#", 2)
    assert trie.has_match(topic)
    assert not trie.has_match(f"{topic}.x")
    trie.check()


def test_numbers_of_rows() -> None:
    trie = SubscriptionTrie(MQTT)
    trie.subscribe_many([("a/#", n, {"but": (f"a/{n}",)}) if n % 2 else ("a/+", n) for n in range(20)])
    topics = [f"a/{n}" for n in range(20)] * 3
    offsets, numbers = (memoryview(column).cast("q") for column in row_numbers(trie, topics))
    for at, topic in enumerate(topics):
        assert sorted(numbers[offsets[at] : offsets[at + 1]]) == sorted(trie.match(topic))
    trie.check()


class TestGroups:
    @pytest.mark.parametrize("dialect", [MQTT, NATS], ids=lambda dialect: dialect.name)
    @pytest.mark.parametrize("weights", [False, True])
    def test_every_member_gets_its_share_of_every_topic(self, dialect: Dialect, weights: bool) -> None:
        """Topics that leave out different members alternate in all ways."""
        ways, sep, many = Ways(dialect), dialect.separator, dialect.many_words
        trie = SubscriptionTrie(dialect)
        filter = ways.filter(f"a{sep}{many}", "g")
        for n in range(4):
            but = {"but": (f"a{sep}{n}",)} if n < 3 else {}
            weight = {"weight": 2} if weights and n == 3 else {}
            trie.subscribe(filter, n, **ways.options("g"), **but, **weight)
        for topics in ([0, 9], [0, 1, 2], [9, 9, 1], [2, 0, 2, 1]):
            seed(1)
            got = {topic: Counter[int]() for topic in topics}
            for n in range(2_000):
                topic = topics[n % len(topics)]
                got[topic].update(trie.match(f"a{sep}{topic}"))
            for topic, drawn in got.items():
                check_fair(drawn, {n: 2 if weights and n == 3 else 1 for n in range(4) if n != topic}, 1)
        trie.check()

    def test_by_key_and_sender(self) -> None:
        trie = SubscriptionTrie(MQTT)
        for n in range(4):
            trie.subscribe("$share/g/a/#", n, but=(f"a/{n}",))
        for key in range(50):
            chosen = {trie.deliveries("a/9", key=key)[0].subscriber for _ in range(3)}
            assert len(chosen) == 1
            without = {trie.deliveries(f"a/{next(iter(chosen))}", key=key)[0].subscriber for _ in range(3)}
            assert len(without) == 1
            assert not chosen & without
        got = {trie.deliveries("a/1", sender=2)[0].subscriber for _ in range(100)}
        assert got == {0, 3}
        trie.unsubscribe("$share/g/a/#", 0)
        trie.unsubscribe("$share/g/a/#", 3)
        assert {trie.deliveries("a/1", sender=2)[0].subscriber for _ in range(9)} == {2}
        assert {trie.deliveries("a/2", sender=1)[0].subscriber for _ in range(9)} == {1}
        trie.unsubscribe("$share/g/a/#", 1)
        assert trie.deliveries("a/2") == trie.match("a/2") == ()
        assert not trie.has_match("a/2")
        trie.check()

    def test_groups_of_one_name_on_several_filters(self) -> None:
        trie = SubscriptionTrie(NATS)
        trie.subscribe("a.*", 1, queue="g", but=("a.x",))
        trie.subscribe("a.>", 2, queue="g")
        trie.subscribe("*.y", 3, queue="g", but=("b.*",))
        got = {topic: {trie.match(topic) for _ in range(200)} for topic in ("a.x", "a.y", "b.y", "c.y")}
        assert got == {"a.x": {(2,)}, "a.y": {(1,), (2,), (3,)}, "b.y": {()}, "c.y": {(3,)}}
        trie.check()


def test_a_matcher_of_topics_and_fields_has_none() -> None:
    with pytest.raises(ValueError, match="has no exclusions"):
        RoutingMatcher(MQTT).subscribe("a/#", [], 1, but=("a/b",))


def test_the_first_of_equal_subscribers_stays_with_the_exclusions_of_the_last() -> None:
    class Name(str):
        __slots__ = ()

    trie = SubscriptionTrie()
    first = Name("ann")
    trie.subscribe("a.#", first)
    trie.subscribe("a.#", Name("ann"), but=("a.x",))
    assert trie.match("a.b")[0] is first
    assert trie.match("a.x") == ()
    trie.subscribe_many([("a.#", Name("ann"), {"but": ("a.y",)})])
    assert trie.match("a.x")[0] is first
    assert trie.match("a.y") == ()
    trie.check()


def test_a_delivery_says_the_exclusions_and_copies() -> None:
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("a/#", "ann", but=("a/x",), qos=1)
    (found,) = trie.deliveries("a/b")
    assert dict(found.options) == {"but": ("a/x",), "qos": 1}
    assert found.words == (("b",),)
    assert copy.copy(trie) == trie
    forked = trie.fork()
    forked.subscribe("a/#", "ann")
    assert trie.match("a/x") == ()
    trie.check()


def test_a_subscriber_that_changes_its_exclusions_is_never_missed() -> None:
    """What gets a message by the old and by the new exclusions gets it at every instant; other topics never."""
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("a/#", "ann", but=("a/x", "a/z"))

    def change() -> None:
        for _ in range(1500):
            trie.subscribe("a/#", "ann", but=("a/y", "a/z"))
            trie.subscribe("a/#", "ann", but=("a/x", "a/z"))

    def ask() -> None:
        for _ in range(1500):
            assert trie.match("a/b") == ("ann",)
            assert trie.match("a/z") == ()
            assert not trie.has_match("a/z")
            assert trie.has_match("a/b")
            both = trie.snapshot()
            assert both.has_match("a/x") is not both.has_match("a/y")

    run_together([change, ask, ask])
    trie.check()


@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("name", ["butt", "But", "BUT", "buts", "bt", "but_"])
def test_a_misspelt_but_is_refused_since_it_would_give_secrets_away(dialect: Dialect, name: str) -> None:
    trie: SubscriptionTrie[str] = SubscriptionTrie(dialect)
    with pytest.raises(TypeError, match=rf"knows no option {name}; did you mean but\?"):
        trie.subscribe("a", "ann", **{name: ("a",)})
    with pytest.raises(TypeError, match=r"did you mean but\?"):
        trie.subscribe_many([("a", "ann", {name: ("a",)})])
    assert trie.subscribe("a", "ann", button="left", about=1)
    assert trie.match("a") == ("ann",)
    trie.check()
