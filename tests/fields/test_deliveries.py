"""Deliveries: made once for a subscription, with what was given; to those that are alive; and what the collector sees."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from ctrie import drain
from subtrie.fields import (
    Absent,
    AnyOf,
    AtLeast,
    Criterion,
    Equals,
    FieldDelivery,
    FieldMatcher,
    Not,
    OneOf,
    Prefix,
    Present,
    RoutingMatcher,
    Suffix,
    Wildcard,
    Within,
    delivery,
    from_pattern,
)
from tests.fields.test_stateful import left_in

IS_COMPILED = delivery.__file__.endswith(".so")
IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


class Client:
    """A subscriber that can be held weakly. It is equal to any other with the same name."""

    def __init__(self, name: Any = "") -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Client) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def urgent(self) -> None: ...
    def rest(self) -> None: ...


# ------------------------------------------------------------------------------------------------------ what was given


def test_a_subscription_has_one_delivery_until_its_options_change() -> None:
    fields: FieldMatcher[str] = FieldMatcher()
    tags: list[str] = []
    fields.subscribe([Present("a")], "ann", qos=1, tags=tags)
    (first,) = fields.deliveries({"a": 1})
    tags.append("x")
    assert fields.deliveries({"a": 2})[0] is first
    assert first.options == {"qos": 1, "tags": ["x"]}
    before = fields.snapshot()
    for value in (2, True, 1.0, 1):
        assert not fields.subscribe([Present("a")], "ann", qos=value)
        (second,) = fields.deliveries({"a": 2})
        assert (second.options, type(second.options["qos"])) == ({"qos": value}, type(value))
    assert before.deliveries({"a": 1})[0] is first
    with pytest.raises(TypeError):
        second.options["qos"] = 3  # type: ignore[index]
    assert type(second) is FieldDelivery
    assert second == FieldDelivery("ann", {"qos": 1}, None, (Present("a"),))  # as one that a program makes
    assert second._replace(options={}) == ("ann", {}, None, (Present("a"),))
    with pytest.raises(TypeError, match="unhashable"):
        hash(second)


def test_all_deliveries_of_a_subscriber_are_to_one_object() -> None:
    fields: FieldMatcher[Any] = FieldMatcher()
    one, other = ("ann", 1.0), ("ann", 1)
    fields.subscribe([Present("a")], one)
    fields.subscribe([Present("b")], other, qos=1)
    fields.subscribe_many([([Present("c")], other), ([Present("a")], other, {"qos": 2})])
    found = fields.deliveries({"a": 0, "b": 0, "c": 0})
    assert [each.subscriber is one for each in found] == [True] * 3
    assert sorted(len(each.options) for each in found) == [0, 1, 1]
    fields.check()


KINDS: list[Any] = [
    *(Equals("a", 1), OneOf("a", [1, 2]), Present("a"), Absent("d"), Within("a", 1, 2), Prefix("b", "x"), Suffix("b", "y", True)),
    Within("a", 1, type("Odd", (int,), {})(2)),  # compared as Python does: in no order
    *(Wildcard("b", "x*z"), Wildcard("c", "x"), Not(Prefix("b", "q")), AnyOf(Equals("b", 1), Equals("b", 2))),
    AnyOf([Equals("b", 1), Present("c")], Prefix("a", "x")),
]  # fmt: skip


def test_criteria_are_told_as_they_were_given() -> None:
    fields, routes, rng = FieldMatcher[int](), RoutingMatcher[int](), Random(7)
    given: dict[int, frozenset[Any]] = {}
    for subscriber in range(600):
        given[subscriber] = asked = frozenset(rng.sample(KINDS, rng.randrange(1, 5)))
        fields.subscribe(asked, subscriber)
        routes.subscribe(rng.choice(["a.b", "a.*", "#", "*.*"]), asked, subscriber)
    fields.check()
    routes.check()
    message = {"a": 1, "b": 1, "c": "x"}
    for told in (fields, routes, fields.deliveries(message), routes.deliveries("a.b", message)):
        found = {one.subscriber: one.criteria for one in told}
        assert len(found) > 20
        for subscriber, criteria in found.items():
            assert {repr(one) for one in criteria} == {repr(one) for one in given[subscriber]}


LIKE: list[Any] = [
    (Equals("a", 1), Equals("a", True), Equals("a", 1.0)),
    (Equals("a", 0.0), Equals("a", -0.0), Equals("a", 0)),
    (Within("a", 1, None), AtLeast("a", 1), AtLeast("a", 1.0)),
    (from_pattern('{"a": [{"numeric": ["=", 1]}]}')[0], from_pattern('{"a": [1]}')[0], from_pattern('{"a": [1.0]}')[0]),
    (Equals("a", Decimal("1.0")), Equals("a", Decimal("1.00")), Equals("a", Fraction(1))),
]


@pytest.mark.parametrize("alike", LIKE, ids=repr)
def test_what_is_only_equal_is_kept_as_it_was_given(alike: tuple[Any, ...]) -> None:
    fields: Any = FieldMatcher()
    for subscriber in range(300):
        fields.subscribe([alike[subscriber % 3], Present("b")][: 1 + subscriber % 2], subscriber)
    fields.check()
    for found in fields:
        told, given = next(one for one in found.criteria if one.name == "a"), alike[found.subscriber % 3]
        assert (repr(told), told.written, type(told)) == (repr(given), given.written, type(given))
    assert len(fields.match_all({"a": 1, "b": 2})) == sum(alike[i % 3].holds(1) for i in range(300))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_answers_can_be_copied_and_pickled(copied: Callable[[Any], Any]) -> None:
    fields, routes = FieldMatcher[str](), RoutingMatcher[str]()
    fields.subscribe([Equals("a", 1), Within("b", 1, 2)], "ann", qos=1)
    before = fields.snapshot(), routes.snapshot()
    fields.subscribe([Present("a")], "bob", tags=["x"])
    routes.subscribe("t.*", [Equals("a", 1)], "ann", qos=1)
    answers: list[Any] = [
        *fields,
        *fields.deliveries({"a": 1, "b": 1}),
        *fields.hits({"a": 1}),
        *fields.diff(before[0]),
    ]
    answers += [*routes, *routes.deliveries("t.u", {"a": 1}), *routes.diff(before[1])]
    assert len(answers) == 10
    for answer in answers:
        assert copied(answer) == answer
        assert type(copied(answer)) is type(answer)


def test_a_replaced_subscription_keeps_its_options_or_replaces_another_one() -> None:
    fields: FieldMatcher[str] = FieldMatcher()
    old: list[Criterion] = [Equals("a", 1), Present("b")]
    new: list[Criterion] = [Equals("a", 2)]
    assert not fields.replace(old, new, "ann")
    fields.subscribe(old, "ann", qos=1)
    assert fields.replace(old, new, "ann")
    fields.subscribe(old, "ann", qos=2)
    assert fields.replace(new, list(new), "ann")
    assert fields.replace(new, old, "ann")  # two become one, with the options of the replaced one
    assert [(dict(each.options), each.criteria) for each in fields.subscriptions("ann")] == [
        ({"qos": 1}, frozenset(old))
    ]
    fields.check()


# ----------------------------------------------------------------------------------------------------------------- weak


def test_who_is_gone_is_on_nothing_any_more() -> None:
    matcher, routes = FieldMatcher[Any](weak=True), RoutingMatcher[Any](weak=True)
    ann, bob = Client("ann"), Client("bob")
    for criteria, who, options in (
        ([Equals("a", 1)], ann, {}),
        ([Present("a")], ann, {"qos": 1}),
        ([Present("a")], bob, {}),
    ):
        matcher.subscribe(criteria, who, **options)  # type: ignore[arg-type]
        routes.subscribe("t.*", [], who, **options)
        assert routes.replace("t.*", [], criteria, who)  # type: ignore[arg-type]
    snapshot = matcher.snapshot()
    assert (
        set(matcher.match_all({"a": 1}))
        == set(matcher.match_any({"a": 1}))
        == set(routes.match("t.u", {"a": 1}))
        == {ann, bob}
    )
    del ann, who
    gc.collect()
    for one in (matcher, snapshot):
        assert one.match_all({"a": 1}) == one.match_any({"a": 1}) == (bob,)
        assert [each.subscriber for each in (*one.deliveries({"a": 1}), *one)] == [bob, bob]
        assert len(one) == 1
    assert [(each.subscriber, each.group) for each in routes.deliveries("t.u", {"a": 1})] == [(bob, None)]
    assert matcher.unsubscribe([Present("a")], Client("bob"))
    assert left_in(matcher) == []
    matcher.check()
    routes.check()


def test_bound_methods_are_shown_as_what_they_are() -> None:
    """The interpreter makes a new bound method at each access; what counts is that the method's object is alive."""
    matcher, inbox = FieldMatcher[Any](weak=True), Client()
    everybody = {inbox, inbox.urgent, inbox.rest}
    for who in everybody:
        matcher.subscribe([Present("a")], who)
    message = {"a": 1}
    assert set(matcher.match_all(message)) == set(matcher.match_any(message)) == everybody
    for answer in (matcher.deliveries(message), matcher, matcher.hits(message)):
        assert {each.subscriber for each in answer} == everybody
    assert matcher.unsubscribe([Present("a")], inbox.urgent)
    del inbox, everybody, who, answer
    gc.collect()
    assert left_in(matcher) == []


def test_answers_for_weakly_held_subscribers_are_made_again_and_again() -> None:
    clients = [Client(number) for number in range(700)]
    fields: FieldMatcher[Client] = FieldMatcher(weak=True)
    fields.subscribe_many([([Present("a")], client, {"n": client.name}) for client in clients])
    kept = fields.deliveries({"a": 1})
    for _ in range(20):
        again = fields.deliveries({"a": 1})
        assert again == kept
        assert {id(one) for one in again}.isdisjoint(map(id, kept))
        assert all(type(one) is FieldDelivery and one.group is None for one in again)
        del again
    assert [clients[one.options["n"]] for one in kept] == [one.subscriber for one in kept]
    assert len({id(one.subscriber) for one in kept}) == len(kept) == 700


# ------------------------------------------------------------------------------------------------------------ collector


@pytest.mark.skipif(not IS_COMPILED, reason="the interpreted twin leaves tuples on the collector's list")
def test_the_collector_sees_those_that_could_be_in_a_cycle_and_counts_what_it_visits() -> None:
    """Without a GIL it visits all that was allocated for it, and comes when a quarter of what is tracked is new. With one
    it visits what is tracked."""
    fields: FieldMatcher[Any] = FieldMatcher()
    nowhere = ["text", ("a", [].__len__()), frozenset(["b", len([])]), (1, len([]))]
    for number, subscriber in enumerate([Client(), (Client(), 1), *nowhere]):
        fields.subscribe([Equals("a", number)], subscriber)
        fields.subscribe([Equals("b", number)], subscriber, tags=[])
        (found,) = fields.deliveries({"a": number})
        assert gc.is_tracked(found) == (number < 2 or IS_FREE_THREADED)
        assert gc.is_tracked(fields.deliveries({"b": number})[0])
    gc.collect()
    before = len(gc.get_objects())
    for number in range(3_000):
        fields.subscribe([Equals("a", f"a{number}"), Equals("b", f"b{number}")], (f"client {number}", 0))
    gc.collect()
    grown = len(gc.get_objects()) - before
    assert grown > 15_000 if IS_FREE_THREADED else grown < 300


def test_a_cycle_through_a_delivery_is_freed() -> None:
    client: Any = Client()
    client.fields = FieldMatcher()
    client.fields.subscribe([Present("a"), Within("b", 0, 1)], client, friends=[client])
    client.fields.subscribe_many([([Equals("a", n), Within("b", 0, n)], n) for n in range(100)])
    client.got = client.fields.deliveries({"a": 1, "b": 1})
    gone = weakref.ref(client)
    del client
    for _ in range(3 if IS_FREE_THREADED else 1):
        gc.collect()
        drain()
    gc.collect()
    assert gone() is None


class Owned:
    def __init__(self, gone: threading.Event) -> None:
        self._gone = gone

    def __del__(self) -> None:
        self._gone.set()


class Narrow(FieldDelivery):
    """A class below FieldDelivery."""


def test_deliveries_of_any_kind_and_size_are_dropped() -> None:
    """Those that are made here are dropped and used again here; others are tuples of that class, or of one below it."""
    gone = [threading.Event() for _ in range(5)]
    made: list[Any] = [
        FieldDelivery(Owned(gone[0]), {}),
        tuple.__new__(FieldDelivery, (Owned(gone[1]),)),
        tuple.__new__(FieldDelivery, ("a", {}, None, Owned(gone[2]))),
        Narrow(Owned(gone[3]), {}),
    ]
    made.append(made[0]._replace(subscriber=Owned(gone[4])))
    assert [len(one) for one in made] == [4, 1, 4, 4, 4]
    before = sys.getrefcount(Narrow)
    made.clear()
    gc.collect()
    assert all(each.is_set() for each in gone)
    assert IS_FREE_THREADED or sys.getrefcount(Narrow) == before - 1


@pytest.mark.parametrize("places", [["subscriber"], ["options"], ["group"], ["subscriber", "options"]])
def test_a_long_row_of_deliveries_in_one_another_is_dropped(places: list[str]) -> None:
    row: Any = None
    given: dict[str, Any] = {"subscriber": "ann", "options": {}}
    for _ in range(50_000):
        row = FieldDelivery(**{**given, **dict.fromkeys(places, row)})
    fields: FieldMatcher[Any] = FieldMatcher()
    fields.subscribe([Present("a")], "ann", row=row)
    del row
    fields.clear()
    assert fields.deliveries({"a": 1}) == ()
