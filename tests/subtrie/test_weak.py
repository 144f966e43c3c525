"""Weakly held subscribers: `SubscriptionTrie(weak=True)`.

A subscriber that nothing else holds is removed from every filter, whenever it dies: in the middle of another operation,
in other threads, in a collection. No answer ever contains a dead subscriber or a reference, and only the dead
subscriber's subscriptions are removed.
"""

from __future__ import annotations

import dataclasses
import gc
import random
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctrie import drain
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie
from subtrie._trie.draws import seed
from tests.scripts import run_script
from tests.subtrie.lots import check_fair
from tests.subtrie.support import SameHash, Subscriber, reaches
from tests.threads import run_together

pytestmark = pytest.mark.usefixtures("little_to_collect")


class Equal(Subscriber):
    """A subscriber that equals any other one with the same name."""

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Equal), f"compared with {other!r}"
        return self.name == other.name


def crowd(trie: SubscriptionTrie, filter: str, size: int) -> list[Subscriber]:
    """Subscribe so many other objects to a filter. They live as long as the returned list."""
    others: list[Subscriber] = [SameHash(f"{n}") if n % 2 else Subscriber(f"{n}") for n in range(size)]
    for other in others:
        assert trie.subscribe(filter, other)
    return others


CROWDS = [0, 1, 5, 7, 8, 40]
every_crowd = pytest.mark.parametrize("size", CROWDS, ids=lambda size: f"among {size}")


# --------------------------------------------------------------------------------------------------------- all answers

FILTERS = {AMQP: ["a.b", "a.*", "#", "a", "a.#.b"], NATS: ["a.b", "a.*", ">", "a", "*.>"]}
On = tuple[str, str | None, str]  # filter, queue, name of the subscriber


def assert_answers(trie: SubscriptionTrie, alive: dict[str, Any], state: dict[On, Any]) -> None:
    """Compare every public answer with the expected subscriptions, which map to the option `qos`."""
    dialect = trie.dialect
    expected = Counter((filter, name, qos) for (filter, _, name), qos in state.items())

    def listed(found: Any) -> Counter[Any]:
        return Counter((one.filter, one.subscriber.name, one.options.get("qos")) for one in found)

    assert listed(trie.subscriptions()) == expected
    assert (len(trie), bool(trie)) == (len(state), bool(state))
    filters = {filter for filter, _, _ in state}
    assert set(trie.topics()) == {filter for filter in filters if not any(map(dialect.is_wild, filter.split(".")))}
    counts = trie.stats()
    assert (counts["filters"], counts["subscriptions"]) == (len(filters), len(state))
    assert counts["groups"] == len({(filter, queue) for filter, queue, _ in state if queue is not None})
    for filter in FILTERS[dialect]:
        here = Counter({one: n for one, n in expected.items() if one[0] == filter})
        assert listed(trie.subscriptions(filter)) == here
        assert listed(trie.overlapping(filter)) == Counter(
            {
                one: n
                for one, n in expected.items()
                if dialect.overlaps(dialect.split_filter(filter), dialect.split_filter(one[0]))
            }
        )
    for name, subscriber in alive.items():
        own = Counter({one: n for one, n in expected.items() if one[1] == name})
        assert set(trie.filters(subscriber)) == {filter for filter, _, _ in own}
        assert listed(trie.subscriptions(subscriber=subscriber)) == own
    for topic in ("a", "a.b", "a.b.c.b"):
        assert_answers_about(trie, topic, state)
    trie.check()


def assert_answers_about(trie: SubscriptionTrie, topic: str, state: dict[On, Any]) -> None:
    dialect = trie.dialect
    reached = {on: qos for on, qos in state.items() if reaches(dialect, on[0], topic)}
    plain = {name for _, queue, name in reached if queue is None}
    groups: dict[Any, set[str]] = {}
    for _, queue, name in reached:
        if queue is not None:
            groups.setdefault(queue, set()).add(name)
    for answer in (trie.match(topic), *trie.match_many([topic, topic]), tuple(trie.match_iter(topic))):
        names = [found.name for found in answer]
        assert len(names) == len(set(names)), "a subscriber twice"
        assert plain <= set(names) <= plain.union(*groups.values())
        assert all(members & set(names) for members in groups.values()), "a message to nobody"
    assert trie.has_match(topic) is bool(reached)
    assert len(plain) <= trie.count(topic) <= len(plain) + len(groups)
    assert Counter((one.filter, one.subscriber.name) for one in trie.entries(topic)) == Counter(
        (filter, name) for filter, _, name in reached
    )
    best = [one for one in trie.entries(topic, merge="best") if "queue" not in one.options]
    assert {one.subscriber.name: one.options.get("qos", 0) for one in best} == {
        name: max(qos or 0 for (_, queue, other), qos in reached.items() if other == name and queue is None)
        for name in plain
    }
    assert len(best) == len(plain)


@pytest.mark.parametrize("words", [1, 63, 64, 200])
@pytest.mark.parametrize("exact", [False, True])
def test_a_topic_of_any_length(words: int, exact: bool) -> None:
    """The compiled twin matches long topics by other code."""
    trie = SubscriptionTrie(dataclasses.replace(AMQP, max_bytes=1_000), weak=True, exact=exact)
    one, other = Subscriber(), Subscriber()
    topic = ".".join(["a"] * words)
    for filter in (topic, "a.#", "#"):
        trie.subscribe(filter, one)
        trie.subscribe(filter, other)
    cuts = [trie, trie.fork(), trie.snapshot()]
    del other
    for each in cuts:
        assert each.match(topic) == tuple(each.match_iter(topic)) == (one,)
        assert (each.count(topic), len(list(each.entries(topic)))) == (1, 3)
    del one
    for each in cuts:
        assert (each.match(topic), each.has_match(topic)) == ((), False)
        each.check()


@pytest.mark.parametrize("dialect", [AMQP, NATS], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("kind", [Subscriber, SameHash, Equal])
@given(data=st.data())
def test_every_answer_is_that_of_a_dict_without_the_dead(
    dialect: Dialect, kind: type[Subscriber], data: st.DataObject
) -> None:
    trie = SubscriptionTrie(dialect, weak=True, exact=data.draw(st.booleans()))
    alive: dict[str, Subscriber] = {}
    state: dict[On, Any] = {}
    cuts: list[tuple[SubscriptionTrie, dict[On, Any]]] = []
    actions = st.sampled_from(["put", "put", "put", "take", "take all", "die", "die", "clear", "snapshot", "fork"])
    for action in data.draw(st.lists(actions, max_size=12)):
        name = data.draw(st.sampled_from("xyz"))
        filter = data.draw(st.sampled_from(FILTERS[dialect]))
        queue = data.draw(st.sampled_from([None, "g"])) if dialect is NATS else None
        on = filter, queue, name
        match action:
            case "put":
                qos = data.draw(st.sampled_from([None, 1, 2]))
                options = {key: value for key, value in (("qos", qos), ("queue", queue)) if value is not None}
                subscriber = alive.setdefault(name, kind(name))
                assert trie.subscribe(filter, subscriber, **options) is (on not in state)
                state[on] = qos
                del subscriber
            case "take" if name in alive:
                assert trie.unsubscribe(filter, alive[name], queue=queue) is (state.pop(on, state) is not state)
            case "take all" if name in alive:
                taken = [on for on in state if on[2] == name]
                assert trie.unsubscribe_all(alive[name]) == len(taken)
                for on in taken:
                    del state[on]
            case "die" if name in alive:
                del alive[name]
                for of in (state, *(of for _, of in cuts)):
                    for on in [on for on in of if on[2] == name]:
                        del of[on]
            case "clear":
                trie.clear()
                state.clear()
            case "snapshot" | "fork":
                cuts.append((getattr(trie, action)(), dict(state)))
        assert_answers(trie, alive, state)
    for cut, shown in cuts:
        assert_answers(cut, alive, shown)
        changed = Counter({filter: 0 for filter in FILTERS[dialect]})
        changed.update(change.subscription.filter for change in trie.diff(cut))
        assert changed == Counter({filter: 0 for filter in FILTERS[dialect]}) + Counter(
            filter
            for filter, queue, name in state.keys() | shown.keys()
            if state.get((filter, queue, name), cut) != shown.get((filter, queue, name), cut)
        )


# -------------------------------------------------------------------------------------------------------------- deaths


@pytest.mark.usefixtures("without_collector")
class TestReferenceCounting:
    @every_crowd
    def test_who_goes_is_on_no_filter_at_once(self, size: int) -> None:
        trie = SubscriptionTrie(weak=True)
        others = crowd(trie, "a.b", size)
        subscriber = SameHash("gone")
        ref = weakref.ref(subscriber)
        for filter in ("a.b", "a.*", "#", "c"):
            assert trie.subscribe(filter, subscriber, qos=1)
        assert subscriber in trie.match("a.b")
        del subscriber
        assert ref() is None
        assert set(trie.match("a.b")) == set(others)
        assert trie.match("c") == ()
        counts = trie.stats()
        assert (counts["subscriptions"], counts["branches"]) == (size, size > 0)
        trie.check()

    def test_nothing_that_the_trie_does_keeps_a_subscriber_alive(self) -> None:
        trie = SubscriptionTrie(NATS, weak=True)
        subscriber = Subscriber()
        ref = weakref.ref(subscriber)
        trie.subscribe("a", subscriber)
        trie.subscribe("a", subscriber, qos=1)
        trie.subscribe_many([(">", subscriber), ("a.b", subscriber)])
        trie.subscribe("a", subscriber, queue="g")
        trie.unsubscribe("a.b", subscriber)
        kept: list[Any] = [trie.snapshot(), trie.fork(), trie.entries("a"), trie.subscriptions(), trie.overlapping(">")]
        kept += [trie.match_iter("a"), trie.diff(SubscriptionTrie(NATS))]
        drain()
        del subscriber
        assert ref() is None
        assert [list(one) for one in kept[2:]] == [[]] * 5
        assert not any(kept[:2])
        trie.check()

    def test_an_answer_keeps_whom_it_names(self) -> None:
        trie = SubscriptionTrie(weak=True)
        trie.subscribe("a", subscriber := Subscriber())
        answer = trie.match("a")
        del subscriber
        assert trie.match("a") == answer
        del answer
        assert trie.match("a") == ()
        trie.check()

    def test_a_trie_that_was_dropped_goes(self) -> None:
        trie = SubscriptionTrie(weak=True)
        fork = trie.fork()
        refs = weakref.ref(trie), weakref.ref(fork)
        trie.subscribe("a", subscriber := Subscriber())
        del trie, fork
        drain()
        assert [ref() for ref in refs] == [None, None]
        del subscriber  # its trie is gone already

    def test_a_subscriber_that_holds_the_trie_is_no_cycle(self) -> None:
        trie = SubscriptionTrie(weak=True)
        subscriber = Subscriber()
        subscriber.holds = [trie]
        for n in range(40):
            trie.subscribe(f"a.{n}", subscriber)
        refs = weakref.ref(trie), weakref.ref(subscriber)
        del trie, subscriber
        drain()
        assert [ref() for ref in refs] == [None, None]

    def test_temporary_subscribers_of_many(self) -> None:
        """Each lives until all are subscribed, and no longer."""
        trie = SubscriptionTrie(weak=True)
        born: list[weakref.ref[Subscriber]] = []

        def temporary() -> Iterator[tuple[str, Subscriber, dict[str, Any]]]:
            for n in range(20):
                subscriber, option = SameHash(), Subscriber()
                born.extend((weakref.ref(subscriber), weakref.ref(option)))
                yield (f"a.{n % 3}", subscriber, {"option": option})
                del subscriber, option

        assert trie.subscribe_many(temporary()) == 20
        drain()
        assert [ref() for ref in born] == [None] * 40  # including the options: no sweep was needed
        assert trie.stats()["branches"] == 0
        trie.check()


@pytest.mark.parametrize("company", [False, True])
def test_cycles_are_collected(company: bool) -> None:
    """subscriber -> itself and the trie; the trie may stay alive."""
    trie = SubscriptionTrie(weak=True)
    trie.subscribe("a", stays := Subscriber())
    refs: list[weakref.ref[Any]] = []
    for n in range(10):
        subscriber = SameHash()
        subscriber.holds = [subscriber, trie, stays]
        trie.subscribe("a", subscriber)
        trie.subscribe(f"{n}.#", subscriber)
        refs.append(weakref.ref(subscriber))
        del subscriber
    refs += [weakref.ref(trie)] * (not company)
    kept = [trie] * company
    del trie
    drain()
    gc.collect()
    assert [ref() for ref in refs] == [None] * len(refs)
    for trie in kept:
        assert (trie.match("a"), len(trie)) == ((stays,), 1)
        trie.check()


def test_in_a_collection_all_are_dead_when_the_first_is_taken_off() -> None:
    """By then the interpreter has cleared all references. While it calls their callbacks, no answer has a dead one."""
    told: list[tuple[str, bool]] = []

    def listener(filter: str, wanted: bool) -> None:
        told.append((filter, wanted))
        if not wanted:
            assert (trie.match("a.b"), trie.count("a.b"), trie.has_match("a.b")) == ((), 0, False)
            assert [*trie.entries("#"), *trie.subscriptions(), *trie.match_iter("a.b"), *trie.overlapping("a.b")] == []
            assert trie.snapshot().stats()["subscriptions"] == 0

    trie = SubscriptionTrie(on_interest=listener, weak=True)
    subscribers = [SameHash() for _ in range(20)]
    for subscriber in subscribers:
        subscriber.holds = subscribers
        trie.subscribe("a.b", subscriber)
        trie.subscribe("a.*", subscriber)
    del subscriber, subscribers
    gc.collect()
    assert len(trie) == 0
    assert sorted(told) == [("a.*", False), ("a.*", True), ("a.b", False), ("a.b", True)]
    trie.check()


class TestInterest:
    def test_a_death_is_told(self) -> None:
        told: list[tuple[str, bool]] = []
        trie = SubscriptionTrie(MQTT, on_interest=lambda *notice: told.append(notice), weak=True)
        one, other = Subscriber(), Subscriber()
        trie.subscribe("$share/g/a/+", one)
        trie.subscribe("a/+", other)
        del one
        assert told == [("a/+", True)]
        del other
        assert told[1:] == [("a/+", False)]
        trie.check()

    def test_what_a_listener_raises_at_a_death_is_nobodys_and_the_death_stands(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        unraisable: list[Any] = []
        monkeypatch.setattr(sys, "unraisablehook", lambda hooked: unraisable.append(hooked.exc_type))

        def sore(filter: str, wanted: bool) -> None:
            assert wanted

        trie = SubscriptionTrie(on_interest=sore, weak=True)
        trie.subscribe("a", subscriber := Subscriber())
        del subscriber
        assert unraisable == [AssertionError]
        assert not trie
        trie.check()


class TestGroups:
    @pytest.mark.parametrize("size", [2, 3, 9, 40])
    def test_a_dead_member_gets_nothing(self, size: int) -> None:
        trie = SubscriptionTrie(NATS, weak=True)
        members = [SameHash(f"{n}") for n in range(size)]
        for member in members:
            trie.subscribe("jobs", member, queue="workers")
        fork, snapshot = trie.fork(), trie.snapshot()
        del members[::2], member
        for each in (trie, fork, snapshot):
            seed(size)
            drawn = Counter(found for _ in range(60 * size) for found in each.match("jobs"))
            check_fair(drawn, dict.fromkeys(members, 1), size)
        members.clear()
        drawn.clear()
        for each in (trie, fork, snapshot):
            assert (each.match("jobs"), each.count("jobs"), each.has_match("jobs")) == ((), 0, False)
            assert each.stats()["groups"] == 0
            each.check()


class TestSnapshotsAndForks:
    def test_they_keep_nobody_alive_and_show_nobody_dead(self) -> None:
        trie = SubscriptionTrie(weak=True)
        stays, goes = Subscriber(), Subscriber()
        for filter in ("a.b", "#"):
            trie.subscribe(filter, stays)
            trie.subscribe(filter, goes)
        cuts = [trie.snapshot(), trie.fork(), trie.fork().snapshot(), trie.snapshot().fork()]
        ref = weakref.ref(goes)
        assert all(len(cut) == 4 for cut in cuts)
        del goes
        assert ref() is None
        for cut in cuts:
            assert (cut.match("a.b"), len(cut), cut.stats()["subscriptions"]) == ((stays,), 2, 2)
            cut.check()
        del stays
        assert not any([trie, *cuts])
        assert [list(cut.topics()) for cut in cuts] == [[]] * 4
        for cut in cuts:
            cut.check()

    def test_a_fork_is_rid_of_the_dead_when_it_counts(self) -> None:
        trie = SubscriptionTrie(weak=True)
        subscribers = [SameHash() for _ in range(20)]
        for n, subscriber in enumerate(subscribers):
            trie.subscribe(f"a.{n}", subscriber, option=(option := Subscriber()))
        fork, ref = trie.fork(), weakref.ref(option)
        del subscriber, subscribers, option, trie
        drain()
        assert ref() is not None
        assert len(fork) == 0
        drain()
        assert ref() is None
        fork.check()

    def test_what_a_fork_subscribed_itself_goes_at_once(self) -> None:
        told: list[tuple[str, bool]] = []
        trie = SubscriptionTrie(weak=True, on_interest=lambda *notice: told.append(notice))
        fork = trie.fork()
        fork.subscribe("a", subscriber := Subscriber(), option=(option := Subscriber()))
        ref = weakref.ref(option)
        del subscriber, option
        drain()
        assert ref() is None
        assert (told, len(trie), len(fork)) == ([], 0, 0)
        fork.check()


# ------------------------------------------------------------------------------------------------------- which of two


@every_crowd
class TestEqualSubscribers:
    def test_the_first_one_counts(self, size: int) -> None:
        trie = SubscriptionTrie(weak=True)
        others = crowd(trie, "a", size)
        first, second = Equal("x"), Equal("x")
        assert trie.subscribe("a", first)
        assert not trie.subscribe("a", second, qos=1)
        assert [one.subscriber for one in trie.subscriptions("a", second)] == [first]
        assert next(trie.subscriptions("a", second)).subscriber is first
        del first
        assert trie.filters(second) == []
        assert trie.subscribe("a", second)
        assert trie.unsubscribe("a", Equal("x"))
        assert set(trie.match("a")) == set(others)
        trie.check()

    def test_a_newer_one_stays_when_an_older_one_goes(self, size: int) -> None:
        """It was subscribed when the older one was dead, but not yet removed."""
        trie = SubscriptionTrie(weak=True)
        others = crowd(trie, "a", size)
        first, second = Equal("x"), Equal("x")
        trie.subscribe("a", first)
        fork = trie.fork()
        added: list[bool] = []

        def on_death(_: object) -> None:
            assert trie.filters(second) == []
            added.append(trie.subscribe("a", second))

        called_before = weakref.ref(first, on_death)
        del first
        assert (called_before(), added) == (None, [True])
        assert fork.subscribe("a", second)
        for each in (trie, fork):
            assert {id(found) for found in each.match("a")} == {id(one) for one in (second, *others)}
            assert each.filters(second) == ["a"]
            assert len(each) == size + 1
            each.check()
        assert trie.unsubscribe("a", second)

    def test_on_two_filters_the_living_one_is_named(self, size: int) -> None:
        trie = SubscriptionTrie(weak=True)
        others = crowd(trie, "a", size)
        first, second = Equal("x"), Equal("x")
        trie.subscribe("a", first)
        trie.subscribe("#", second)
        snapshot = trie.snapshot()
        assert trie.count("a") == size + 1
        del first
        for each in (trie, snapshot):
            assert {id(found) for found in each.match("a")} == {id(one) for one in (second, *others)}
            assert [one.filter for one in each.entries("a", merge="one") if one.subscriber is second] == ["#"]
            each.check()

    def test_nobody_is_taken_for_equal_to_none(self, size: int) -> None:
        trie = SubscriptionTrie(weak=True)
        others = crowd(trie, "a", size)
        trie.subscribe("a", subscriber := Subscriber())
        snapshot = trie.snapshot()
        del subscriber
        for each in (trie, snapshot):
            assert each.filters(None) == []
            assert set(each.match("a")) == set(others)
        assert not trie.unsubscribe("a", None)
        trie.check()

    def test_a_subscriber_that_does_not_equal_itself(self, size: int) -> None:
        class Nan(SameHash):
            __hash__ = SameHash.__hash__

            def __eq__(self, other: object) -> bool:
                return False

        trie = SubscriptionTrie(weak=True)
        others = crowd(trie, "a", size)
        one, other = Nan(), Nan()
        assert [trie.subscribe("a", one), trie.subscribe("a", one), trie.subscribe("#", one)] == [True, False, True]
        assert trie.subscribe("a", other)
        assert trie.count("a") == size + 2
        assert trie.unsubscribe("a", one)
        del one
        assert [id(found) for found in trie.match("b")] == []
        assert trie.count("a") == size + 1
        del other
        assert set(trie.match("a")) == set(others)
        trie.check()


def test_who_comes_back_when_it_is_finalised_is_still_subscribed() -> None:
    saved: list[Subscriber] = []

    class Phoenix(Subscriber):
        def __del__(self) -> None:
            saved.append(self)

    trie = SubscriptionTrie(weak=True)
    trie.subscribe("a", subscriber := Phoenix("x"))
    del subscriber
    assert trie.match("a") == tuple(saved)
    saved.clear()  # it was finalised once, so now it goes
    assert not trie
    trie.check()


def test_who_comes_back_from_a_collection_can_subscribe_again() -> None:
    """Versions of Python differ in whether it is still subscribed; if not, no answer contains it."""
    saved: list[Subscriber] = []

    class Phoenix(Subscriber):
        def __del__(self) -> None:
            saved.append(self)

    trie = SubscriptionTrie(weak=True)
    subscriber = Phoenix()
    subscriber.holds = subscriber
    trie.subscribe("a", subscriber)
    fork = trie.fork()
    del subscriber
    gc.collect()
    (risen,) = saved
    for each in (trie, fork):
        there = len(each)
        assert each.count("a") == len(each.filters(risen)) == there
        assert each.subscribe("a", risen) is not bool(there)
        assert each.match("a") == (risen,)
        each.check()


# ------------------------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("seed", range(2))
def test_threads(seed: int) -> None:
    """Each thread makes subscribers and drops them. All threads use the same filters and read all subscribers."""
    told: dict[str, bool] = {}
    trie = SubscriptionTrie(NATS, weak=True, on_interest=told.__setitem__)
    filters = ["a", "a.b", "a.*", ">", "*.b"]

    def work(number: int) -> list[Any]:
        rng = random.Random(f"{seed}, {number}")
        own: list[Subscriber] = []
        for step in range(400):
            match rng.randrange(4):
                case 0:
                    own.append(SameHash(f"{number}.{step}") if step % 2 else Equal(f"{step % 5}, {number}"))
                case 1 if own:
                    del own[rng.randrange(len(own))]
                case 2 if own:
                    queue = {"queue": "g"} if rng.random() < 0.3 else {}
                    trie.subscribe(rng.choice(filters), rng.choice(own), **queue)
                case _:
                    look(rng.choice((trie, trie.snapshot(), trie.fork())))
        return own

    def look(trie: SubscriptionTrie) -> None:
        for found in (*trie.match("a.b"), *trie.match_iter("a"), *(one.subscriber for one in trie.entries("a.b"))):
            assert isinstance(found, Subscriber), found
        assert len(trie) >= 0

    print(f"seed {seed}")
    alive = run_together([partial(work, number) for number in range(3)])
    gc.collect()
    living = {id(subscriber) for own in alive for subscriber in own}
    left = [one.subscriber for one in trie.subscriptions()]
    assert {id(subscriber) for subscriber in left} <= living
    assert len(trie) == len(left)
    trie.check()
    alive.clear()
    left.clear()
    gc.collect()
    drain()
    assert trie.snapshot().stats()["branches"] == 0
    assert not any(told.values())
    trie.check()


def test_two_threads_let_go_of_one_filter() -> None:
    """Each thread holds half of the filter's subscribers. At the end, nothing is left."""
    for _ in range(10):
        trie = SubscriptionTrie(weak=True)
        halves = [[SameHash() for _ in range(10)] for _ in range(2)]
        for half in halves:
            for subscriber in half:
                trie.subscribe("a.b", subscriber)
        del subscriber, half
        run_together([half.clear for half in halves])
        gc.collect()
        assert (trie.match("a.b"), trie.stats()["branches"]) == ((), 0)
        trie.check()


# ------------------------------------------------------------------------------------------------------------ refusals


class NoWeakReferences:
    __slots__ = ()


@pytest.mark.parametrize("subscriber", [1, "ann", (), None, NoWeakReferences()], ids=lambda one: type(one).__name__)
def test_who_cannot_be_weakly_held(subscriber: Any) -> None:
    trie = SubscriptionTrie(NATS, weak=True)
    trie.subscribe("a", stays := Subscriber())
    named = f"cannot create weak reference to '{type(subscriber).__name__}' object"
    changes: list[Callable[[], object]] = [
        lambda: trie.subscribe("a", subscriber),
        lambda: trie.subscribe("b", subscriber, queue="g"),
        lambda: trie.subscribe_many([("c", stays), ("a", subscriber)]),
    ]
    for change in changes:
        with pytest.raises(TypeError, match=named):
            change()
    assert (len(trie), trie.match("a"), trie.filters(subscriber)) == (1, (stays,), [])
    assert not trie.unsubscribe("a", subscriber)
    assert trie.unsubscribe_many([("a", subscriber), ("a", stays)]) == 1
    assert trie.unsubscribe_all(subscriber) == 0
    trie.check()


@pytest.mark.parametrize(("option", "reason"), [({"index": True}, "index"), ({"cache": 8}, "cache")], ids=str)
def test_what_does_not_go_together(option: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=f"weak and {reason} exclude each other"):
        SubscriptionTrie(weak=True, **option)


def test_references_of_ones_own_are_subscribers_like_any_other() -> None:
    class Reference(weakref.ref[Any]):
        """Supports weak references itself."""

    target = Subscriber()
    ref = Reference(target)
    trie, weak = SubscriptionTrie(), SubscriptionTrie(weak=True)
    for each in (trie, weak):
        each.subscribe("a", ref)
        assert each.match("a") == (ref,)
        assert each.filters(target) == []
    del ref, target
    assert [found() for found in (*trie.match("a"), *weak.match("a"))] == [None, None]
    trie.clear()
    drain()
    assert not weak
    trie.check()
    weak.check()


AT_EXIT = """
from subtrie import SubscriptionTrie

class Subscriber:
    pass

subscribers = [Subscriber() for _ in range(3)]
other = Subscriber()
trie = SubscriptionTrie(weak=True, on_interest=print)
for filter in ("a", "a.*"):
    for subscriber in (*subscribers, other):
        trie.subscribe(filter, subscriber)
del subscriber
"""


def test_nothing_is_said_at_exit() -> None:
    assert run_script(AT_EXIT) == (0, "a True\na.* True\n", "")
