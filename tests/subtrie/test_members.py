"""What a broker asks besides matching: members of groups, deliveries of one subscriber, notices for each group."""

from __future__ import annotations

import gc
import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

from ctrie import drain
from subtrie import AMQP, MQTT, NATS, Delivery, Dialect, Subscription, SubscriptionTrie, TopicError
from subtrie._trie.exclusions import leave_a_topic
from tests.subtrie.test_deliveries import Someone
from tests.subtrie.test_exclusions import PATHS, PEOPLE, Checked, gets
from tests.subtrie.test_groups import GROUPS, Ways, both_ways
from tests.subtrie.test_model import in_order
from tests.threads import meanwhile, run_together

SHARING = replace(PATHS, name="sharing", share_prefix="$share")
WIDE = replace(MQTT, name="wide", one_word="⊕")  # not matched in place
every_dialect = pytest.mark.parametrize(
    "dialect", [AMQP, MQTT, NATS, PATHS, SHARING, WIDE], ids=lambda dialect: dialect.name
)


def words_of(dialect: Dialect, draw: Random, wild: bool) -> str:
    """A filter, or a topic, of up to three words."""
    words = ["a", "b", "c"] + [f"{dialect.reserved_prefix}x"] * (dialect.reserved_prefix is not None)
    while True:
        several = [dialect.one_word, dialect.many_words] if wild else []
        text = dialect.join([draw.choice([*words, *several]) for _ in range(draw.randint(1, 3))])
        try:
            (dialect.split_filter if wild else dialect.split_topic)(text)
        except TopicError:
            continue
        return text


def filled(dialect: Dialect, draw: Random, steps: int = 25, **settings: Any) -> Checked:
    one = Checked(dialect, **settings)
    can_share = dialect.queue_groups or dialect.share_prefix is not None
    for _ in range(steps):
        filter, group = words_of(dialect, draw, True), draw.choice(GROUPS) if can_share else None
        if draw.random() < 0.2:
            one.unsubscribe(filter, group, draw.choice(PEOPLE))
        else:
            but = tuple(words_of(dialect, draw, True) for _ in range(draw.choice([0, 0, 1, 2])))
            one.subscribe(filter, group, draw.choice(PEOPLE), but)
    return one


def expect(one: Checked, trie: SubscriptionTrie, topics: list[str]) -> None:
    dialect = one.dialect
    by_filter: dict[str, dict[str, set[Any]]] = {}
    for filter, group, who in one.there:
        named = by_filter.setdefault(filter, {})
        if group is not None:
            named.setdefault(group, set()).add(who)
    listed = in_order((each.filter, each.subscriber, in_order(each.options.items())) for each in trie)
    for filter, named in by_filter.items():
        found = trie.groups(filter)
        assert {group: Counter(each.subscriber for each in members) for group, members in found.items()} == {
            group: Counter(members) for group, members in named.items()
        }
        for group, members in found.items():
            assert in_order(each.subscriber for each in trie.members(filter, group)) == in_order(named[group])
            for each in members:
                assert type(each) is Subscription
                assert (each.filter, each.subscriber, in_order(each.options.items())) in listed
        assert trie.members(filter, "nobody's") == ()
        if dialect.share_prefix is not None:
            for group in named:
                assert trie.groups(one.ways.filter(filter, group)) == {group: trie.members(filter, group)}
    for topic in topics:
        for who in PEOPLE:
            reached = [key for key, but in one.there.items() if key[2] == who and gets(dialect, key[0], but, topic)]
            mine = trie.deliveries_of(topic, Someone(who.name))
            assert all(type(each) is Delivery for each in mine)
            assert in_order((each.filter, each.group) for each in mine) == in_order(
                (one.ways.filter(filter, group), group) for filter, group, _ in reached
            )
            plain = [each for each in trie.deliveries(topic) if each.group is None and each.subscriber == who]
            assert in_order(map(told, plain)) == in_order(told(each) for each in mine if each.group is None)
            for rule in ("one", "best"):
                kept = trie.deliveries_of(topic, who, merge=rule)
                assert sum(each.group is None for each in kept) == bool(plain)
                assert [told(each) for each in kept if each.group] == [told(each) for each in mine if each.group]


def told(one: Delivery) -> Any:
    return one.filter, one.subscriber, in_order(one.options.items()), one.group, one.words


@every_dialect
@pytest.mark.parametrize("settings", [{}, {"index": True}, {"cache": 8}, {"exact": True}, {"weak": True}], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_any_subscriptions(dialect: Dialect, settings: dict[str, Any], seed: int) -> None:
    """The trie, a snapshot, a fork, and the fork's snapshot, against the meaning, applied one by one."""
    draw = Random(f"{dialect.name}, {settings}, {seed}")
    one = filled(dialect, draw, **settings)
    topics = [words_of(dialect, draw, False) for _ in range(4)]
    fork = one.trie.fork()
    for trie in (one.trie, one.trie.snapshot(), fork, fork.snapshot()):
        expect(one, trie, topics)
    one.trie.check()


@both_ways
@pytest.mark.parametrize("number", [1, 2, 8, 9, 300])
def test_groups_of_any_size(dialect: Dialect, number: int) -> None:
    ways, trie = Ways(dialect), SubscriptionTrie(dialect)
    for n in range(number):
        ways.subscribe(trie, "a", "g", n)
        ways.subscribe(trie, "a", f"h{n}", -1)
        ways.subscribe(trie, "a", None, n)
    assert sorted(one.subscriber for one in trie.members("a", "g")) == list(range(number))
    assert len(trie.groups("a")) == number + 1
    for n in {0, number - 1}:
        assert sorted(str(one.group) for one in trie.deliveries_of("a", n)) == ["None", "g"]
    assert len(trie.deliveries_of("a", -1)) == number


def test_the_words_of_an_own_delivery() -> None:
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("site/+/door/#", "log")
    trie.subscribe("$share/g/site/#", "log")
    trie.subscribe("#", "other")
    assert {one.group: one.words for one in trie.deliveries_of("site/7/door/front", "log")} == {
        None: ("7", ("front",)),
        "g": (("7", "door", "front"),),
    }


@pytest.mark.parametrize("exact", [False, True])
def test_refusals(exact: bool) -> None:
    trie = SubscriptionTrie(MQTT, exact=exact)
    trie.subscribe("$share/g/a", 1)
    with pytest.raises(TopicError):
        trie.groups("a/#/b")
    with pytest.raises(TopicError):
        trie.members("a/#/b", "g")
    with pytest.raises(TypeError, match="the name of a group is a str, not int"):
        trie.members("a", 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="names a group itself"):
        trie.members("$share/g/a", "g")
    with pytest.raises(TopicError):
        trie.deliveries_of("a/+", 1)
    with pytest.raises(TypeError):
        trie.deliveries_of("a", [])
    with pytest.raises(ValueError, match="merge"):
        trie.deliveries_of("a", 1, merge="some")  # type: ignore[arg-type]
    assert trie.groups("b") == {}
    assert SubscriptionTrie(AMQP).members("a", "g") == ()
    trie.check()


@both_ways
def test_dead_members_are_nobody(dialect: Dialect) -> None:
    ways, trie = Ways(dialect), SubscriptionTrie(dialect, weak=True)
    stays, goes = Someone(1), Someone(2)
    for who in (stays, goes):
        ways.subscribe(trie, "a", "g", who)
        ways.subscribe(trie, "a", "alone", goes)
    taken = trie.snapshot()
    assert len(trie.deliveries_of("a", Someone(2))) == 2
    del who, goes
    gc.collect()
    for each in (trie, taken):
        assert {group: [one.subscriber.name for one in found] for group, found in each.groups("a").items()} == {
            "g": [1]
        }
        assert each.members("a", "alone") == ()
        assert each.deliveries_of("a", Someone(2)) == ()


def test_a_subscriber_whose_equality_asks_the_trie_again() -> None:
    trie: SubscriptionTrie[Any] = SubscriptionTrie()

    class Curious:
        def __hash__(self) -> int:
            return 7

        def __eq__(self, other: object) -> bool:
            assert trie.has_match("a")
            trie.subscribe("b", 1)
            return type(other) is Curious

    trie.subscribe("a", Curious())
    trie.subscribe("#", Curious())
    assert len(trie.deliveries_of("a", Curious())) == 2


def test_one_instant_for_all_filters() -> None:
    """Where a subscriber always is on one of two filters, it has a delivery by one of them at each instant."""
    trie = SubscriptionTrie()
    trie.subscribe("a.*", 1)

    def swap() -> None:
        for _ in range(300):
            trie.subscribe("*.b", 1)
            trie.unsubscribe("a.*", 1)
            trie.subscribe("a.*", 1)
            trie.unsubscribe("*.b", 1)

    def ask() -> None:
        assert 1 <= len(trie.deliveries_of("a.b", 1)) <= 2

    meanwhile(ask, swap)


# ----------------------------------------------------------------------------------------------------------- interest


class Told:
    """A listener of groups, which has to be told the truth in turn."""

    def __init__(self) -> None:
        self.wanted: set[tuple[str, str | None]] = set()
        self.notices: list[tuple[str, str | None, bool]] = []

    def __call__(self, filter: str, group: str | None, wanted: bool) -> None:
        assert wanted is ((filter, group) not in self.wanted), "the same twice"
        (self.wanted.add if wanted else self.wanted.remove)((filter, group))
        self.notices.append((filter, group, wanted))


@every_dialect
@pytest.mark.parametrize("settings", [{}, {"index": True}, {"cache": 8}, {"exact": True}, {"weak": True}], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_alone_every_crossing_is_told_at_once(dialect: Dialect, settings: dict[str, Any], seed: int) -> None:
    draw, listener = Random(f"{dialect.name}, {settings}, {seed}"), Told()
    one = Checked(dialect, on_group_interest=listener, **settings)
    can_share = dialect.queue_groups or dialect.share_prefix is not None
    for _ in range(60):
        before, size = set(listener.wanted), len(listener.notices)
        filter = draw.choice(["a", words_of(dialect, draw, True)])
        group, who = draw.choice(GROUPS) if can_share else None, draw.choice(PEOPLE)
        what = draw.random()
        if what < 0.05:
            one.trie.clear()
            one.there.clear()
        elif what < 0.1:
            one.trie.unsubscribe_all(who)
            one.there = {key: but for key, but in one.there.items() if key[2] != who}
        elif what < 0.45:
            one.unsubscribe(filter, group, who)
        else:
            one.subscribe(filter, group, who, ())
        assert listener.wanted == {key[:2] for key in one.there}
        assert len(listener.notices) - size == len(before ^ listener.wanted)
    one.trie.check()


def test_many_at_once_and_dead_members() -> None:
    listener = Told()
    trie = SubscriptionTrie(NATS, weak=True, on_group_interest=listener)
    people = [Someone(n) for n in range(3)]
    trie.subscribe_many([("a", each, {"queue": "g"}) for each in people] + [("a", people[0])])
    assert listener.notices == [("a", "g", True), ("a", None, True)]
    people.clear()
    gc.collect()
    trie.subscribe("b", Someone(9))  # dies at once
    gc.collect()
    assert listener.wanted == set()


def test_no_notices_of_forks_snapshots_and_pickles() -> None:
    listener = Told()
    trie = SubscriptionTrie(NATS, on_group_interest=listener)
    trie.subscribe("a", 1, queue="g")
    trie.fork().unsubscribe("a", 1, queue="g")
    trie.snapshot().fork().clear()
    pickle.loads(pickle.dumps(trie)).clear()
    assert listener.notices == [("a", "g", True)]


def test_refused_listeners() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        SubscriptionTrie(on_interest=print, on_group_interest=print)
    with pytest.raises(TypeError, match="on_group_interest must be callable or None, not int"):
        SubscriptionTrie(on_group_interest=1)  # type: ignore[arg-type]

    async def later(filter: str, group: str | None, wanted: bool) -> None: ...

    with pytest.raises(TypeError, match="on_group_interest must be a function that is called"):
        SubscriptionTrie(on_group_interest=later)


def test_a_listener_that_raises() -> None:
    """The change remains, and the next notice of this group differs from the one that raised."""
    notices: list[Any] = []

    def sore(*notice: Any) -> None:
        notices.append(notice)
        raise ValueError("sore")

    trie = SubscriptionTrie(NATS, on_group_interest=sore)
    subscribe: Callable[[], object] = partial(trie.subscribe, "a", 1, queue="g")
    with pytest.raises(ValueError, match="sore"):
        subscribe()
    assert len(trie.members("a", "g")) == 1
    assert subscribe() is False
    with pytest.raises(ValueError, match="sore"):
        trie.unsubscribe("a", 1, queue="g")
    assert notices == [("a", "g", True), ("a", "g", False)]
    drain()


@pytest.mark.parametrize("seed", range(2))
def test_real_threads(seed: int) -> None:
    listener = Told()
    trie = SubscriptionTrie(NATS, index=bool(seed), exact=bool(seed), on_group_interest=listener)

    def work(number: int) -> None:
        draw = Random(f"{seed}, {number}")
        for _ in range(300):
            filter, who, group = draw.choice("ab"), draw.choice("xy"), draw.choice([None, "g", "h"])
            if draw.random() < 0.5:
                trie.subscribe(filter, who, **({} if group is None else {"queue": group}))
            else:
                trie.unsubscribe(filter, who, queue=group)

    print(f"seed {seed}")
    run_together([partial(work, number) for number in range(3)])
    named = {(filter, group) for filter in "ab" for group in trie.groups(filter)}
    plain = {(one.filter, None) for one in trie if "queue" not in one.options}
    assert listener.wanted == named | plain
    trie.check()


@every_dialect
@pytest.mark.parametrize("settings", [{}, {"exact": True}, {"weak": True}], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_whether_a_subscription_is_there(dialect: Dialect, settings: dict[str, Any], seed: int) -> None:
    """`in`, which looks filters up in place, for filters that are there and others, and for what is no filter."""
    draw = Random(f"{dialect.name}, {settings}, {seed}")
    one = filled(dialect, draw, 30, **settings)
    there = {(one.ways.filter(filter, group), who) for filter, group, who in one.there}
    others = {words_of(dialect, draw, True) for _ in range(40)} | {"", "#.#", "$share/g/a", "$share/g", "a" * 70_000}
    for trie in (one.trie, one.trie.snapshot()):
        for filter in {filter for filter, _ in there} | others:
            for who in PEOPLE:
                assert ((filter, who) in trie) is ((filter, who) in there)
        assert (1, PEOPLE[0]) not in trie
        assert ("a", []) not in trie


@every_dialect
@pytest.mark.parametrize("settings", [{}, {"exact": True}, {"weak": True}], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_overlapping_filters(dialect: Dialect, settings: dict[str, Any], seed: int) -> None:
    """Of filters with and without wildcards, which are looked for in different ways."""
    draw = Random(f"{dialect.name}, {settings}, {seed}")
    one = filled(dialect, draw, 30, **settings)
    for trie in (one.trie, one.trie.snapshot()):
        for wild in (True, False, False):
            for _ in range(15):
                filter = words_of(dialect, draw, wild)
                try:
                    words = dialect.unshare(dialect.split_filter(filter))[1]
                except TopicError:
                    with pytest.raises(TopicError):
                        trie.overlapping(filter)
                    continue
                expected = [
                    (one.ways.filter(each, group), who)
                    for (each, group, who), but in one.there.items()
                    if leave_a_topic(dialect, [dialect.split_filter(each), words], map(dialect.split_filter, but))
                ]
                found = trie.overlapping(filter)
                assert in_order((each.filter, each.subscriber) for each in found) == in_order(expected)
