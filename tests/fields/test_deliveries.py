"""Deliveries are made once for a subscription: whose they are, when there is another one, and what the collector sees."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import sysconfig
import threading
from collections.abc import Callable
from typing import Any

import pytest

from subtrie.fields import (
    Absent,
    AnyOf,
    Criterion,
    Equals,
    FieldDelivery,
    FieldMatcher,
    Not,
    OneOf,
    Prefix,
    Present,
    RoutingMatcher,
    Wildcard,
    Within,
    delivery,
)

IS_COMPILED = delivery.__file__.endswith(".so")
IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def test_a_subscription_has_one_delivery_until_its_options_change() -> None:
    fields: FieldMatcher[str] = FieldMatcher()
    fields.subscribe([Present("a")], "ann", qos=1)
    (first,) = fields.deliveries({"a": 1})
    assert fields.deliveries({"a": 2})[0] is first
    assert not fields.subscribe([Present("a")], "ann", qos=1)
    assert fields.deliveries({"a": 2}) == (first,)
    before = fields.snapshot()
    assert not fields.subscribe([Present("a")], "ann", qos=2)
    (second,) = fields.deliveries({"a": 2})
    assert (first.options, second.options) == ({"qos": 1}, {"qos": 2})
    assert before.deliveries({"a": 1})[0] is first
    with pytest.raises(TypeError):
        second.options["qos"] = 3  # type: ignore[index]


def test_a_delivery_is_as_one_that_a_program_makes() -> None:
    fields: FieldMatcher[str] = FieldMatcher()
    fields.subscribe([Present("a")], "ann", qos=1)
    (found,) = fields.deliveries({"a": 1})
    assert type(found) is FieldDelivery
    assert found == FieldDelivery("ann", {"qos": 1}, None, (Present("a"),))
    assert found._replace(options={}) == ("ann", {}, None, (Present("a"),))
    with pytest.raises(TypeError, match="unhashable"):
        hash(found)


def test_equal_options_of_other_types_are_told_apart() -> None:
    fields: FieldMatcher[str] = FieldMatcher()
    for subscriber, value in (("ann", 1), ("bob", True), ("cyd", 1.0)):
        fields.subscribe([Present("a")], subscriber, qos=value)
    assert {each.subscriber: type(each.options["qos"]) for each in fields.deliveries({"a": 1})} == {
        "ann": int,
        "bob": bool,
        "cyd": float,
    }


def test_options_that_change_are_seen_as_they_are() -> None:
    fields: FieldMatcher[str] = FieldMatcher()
    tags: list[str] = []
    fields.subscribe([Present("a")], "ann", tags=tags)
    tags.append("x")
    assert fields.deliveries({"a": 1})[0].options == {"tags": ["x"]}
    fields.subscribe([Present("a")], "ann", tags=["y"])
    assert fields.deliveries({"a": 1})[0].options == {"tags": ["y"]}


def test_all_deliveries_of_a_subscriber_are_to_one_object() -> None:
    fields: FieldMatcher[Any] = FieldMatcher()
    one, other = ("ann", 1.0), ("ann", 1)
    fields.subscribe([Present("a")], one)
    fields.subscribe([Present("b")], other, qos=1)
    fields.subscribe_many([([Present("c")], other), ([Present("a")], other, {"qos": 2})])
    found = fields.deliveries({"a": 0, "b": 0, "c": 0})
    assert len(found) == 3
    assert all(each.subscriber is one for each in found)
    assert sorted(len(each.options) for each in found) == [0, 1, 1]
    fields.check()


def test_a_delivery_says_which_criteria_were_met() -> None:
    fields: FieldMatcher[str] = FieldMatcher()
    routes: RoutingMatcher[str] = RoutingMatcher()
    asked: list[list[Criterion]] = [
        [Present("a")],
        [Equals("a", 1), Within("b", 1, 2), Within("c", 1, 2)],
        [AnyOf(Equals("a", 1), Prefix("a", "x")), Absent("d")],
        [Wildcard("e", "x*y")],
        [Not(Equals("a", 2)), OneOf("a", [1, 2])],
    ]
    for criteria in asked:
        fields.subscribe(criteria, "ann")
        for pattern in ("t.*", "t.u", "#"):
            routes.subscribe(pattern, criteria, "ann")
    routes.subscribe("t.#", [], "bob")
    message = {"a": 1, "b": 2, "c": 1, "e": "xy"}
    wanted = sorted([sorted(map(repr, criteria)) for criteria in asked])
    assert sorted(sorted(map(repr, each.criteria)) for each in fields.deliveries(message)) == wanted
    found = [each.criteria for each in routes.deliveries("t.u", message)]
    assert found.count(()) == 1
    assert sorted(sorted(map(repr, each)) for each in found if each) == sorted(wanted * 3)
    fields.subscribe(asked[1], "ann", qos=1)
    assert {each.options.get("qos"): set(each.criteria) for each in fields.deliveries(message)}[1] == set(asked[1])


def test_replaced_criteria() -> None:
    fields: FieldMatcher[str] = FieldMatcher()
    old, new = [Equals("a", 1), Present("b")], [Equals("a", 2)]
    assert not fields.replace(old, new, "ann")
    fields.subscribe(old, "ann", qos=1)
    fields.subscribe(old, "bob")
    before = fields.snapshot()
    assert fields.replace(old, new, "ann")
    assert [(each.subscriber, dict(each.options), each.criteria) for each in fields.deliveries({"a": 2})] == [
        ("ann", {"qos": 1}, (Equals("a", 2),))
    ]
    assert fields.match_all({"a": 1, "b": 1}) == ("bob",)
    assert set(before.match_all({"a": 1, "b": 1})) == {"ann", "bob"}
    with pytest.raises(TypeError, match="read-only"):
        before.replace(old, new, "bob")
    assert fields.replace(new, list(new), "ann")
    fields.subscribe(old, "ann", qos=2)
    assert fields.replace(new, old, "ann")  # two become one, with the options of the replaced one
    assert [dict(each.options) for each in fields.subscriptions("ann")] == [{"qos": 1}]
    with pytest.raises(ValueError, match="1 to 64 criteria"):
        fields.replace(old, [], "ann")
    assert len(fields) == 2
    fields.check()


def test_a_replaced_subscription_of_a_route_held_weakly() -> None:
    class Client:
        pass

    client = Client()
    routes: RoutingMatcher[Client] = RoutingMatcher(weak=True)
    routes.subscribe("a.*", [Present("b")], client, qos=1)
    assert routes.replace("a.*", [Present("b")], [], client)
    (found,) = routes.deliveries("a.x", {})
    assert (found.subscriber, dict(found.options), found.criteria) == (client, {"qos": 1}, ())
    routes.check()
    del client, found
    gc.collect()
    assert routes.match("a.x", {}) == ()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_answers_can_be_copied_and_pickled(copied: Callable[[Any], Any]) -> None:
    fields: FieldMatcher[str] = FieldMatcher()
    fields.subscribe([Equals("a", 1), Within("b", 1, 2)], "ann", qos=1)
    routes: RoutingMatcher[str] = RoutingMatcher()
    before = fields.snapshot(), routes.snapshot()
    fields.subscribe([Present("a")], "bob", tags=["x"])
    routes.subscribe("t.*", [Equals("a", 1)], "ann", qos=1)
    answers: list[Any] = [
        *fields.deliveries({"a": 1, "b": 1}),
        *fields,
        *fields.hits({"a": 1}),
        *fields.diff(before[0]),
        *routes.deliveries("t.u", {"a": 1}),
        *routes,
        *routes.diff(before[1]),
    ]
    assert len(answers) == 10
    for answer in answers:
        assert copied(answer) == answer
        assert type(copied(answer)) is type(answer)


def test_held_weakly_they_are_to_those_that_are_alive() -> None:
    class Client:
        pass

    routes: RoutingMatcher[Client] = RoutingMatcher(weak=True)
    stays, goes = Client(), Client()
    routes.subscribe_many([("a", [], stays, {"qos": 1}), ("a", [], goes, {"qos": 1})])
    found = routes.deliveries("a", {})
    assert {each.subscriber for each in found} == {stays, goes}
    del goes, found
    gc.collect()
    (left,) = routes.deliveries("a", {})
    assert left.subscriber is stays
    assert left.options == {"qos": 1}
    assert left.group is None


@pytest.mark.skipif(not IS_COMPILED, reason="the interpreted twin leaves tuples on the collector's list")
def test_the_collector_sees_those_that_could_be_in_a_cycle() -> None:
    class Client:
        pass

    fields: FieldMatcher[Any] = FieldMatcher()
    nowhere = ["text", ("a", [].__len__()), frozenset(["b", len([])]), (1, len([]))]
    for number, subscriber in enumerate([Client(), (Client(), 1), *nowhere]):
        fields.subscribe([Equals("a", number)], subscriber)
        fields.subscribe([Equals("b", number)], subscriber, tags=[])
    for number in range(2 + len(nowhere)):
        (delivery,) = fields.deliveries({"a": number})
        assert gc.is_tracked(delivery) == (number < 2 or IS_FREE_THREADED)
        assert gc.is_tracked(fields.deliveries({"b": number})[0])


@pytest.mark.skipif(not IS_COMPILED, reason="the interpreted twin has ordinary objects only")
def test_the_collector_counts_what_it_visits() -> None:
    """Without a GIL it visits all that was allocated for it, and comes when a quarter of what is tracked is new. With one
    it visits what is tracked."""
    fields: FieldMatcher[Any] = FieldMatcher()
    gc.collect()
    before = len(gc.get_objects())
    for number in range(3_000):
        fields.subscribe([Equals("a", f"a{number}"), Equals("b", f"b{number}")], (f"client {number}", 0))
    gc.collect()
    grown = len(gc.get_objects()) - before
    assert grown > 15_000 if IS_FREE_THREADED else grown < 300


def test_a_cycle_through_a_delivery_is_freed() -> None:
    class Client:
        pass

    gone = threading.Event()
    client: Any = Client()
    client.fields = FieldMatcher()
    client.fields.subscribe([Present("a")], client, friends=[client])
    client.got = client.fields.deliveries({"a": 1})
    client.at_end = Owned(gone)
    del client
    for _ in range(3 if IS_FREE_THREADED else 1):
        gc.collect()
    assert gone.is_set()


class Owned:
    def __init__(self, gone: threading.Event) -> None:
        self._gone = gone

    def __del__(self) -> None:
        self._gone.set()


class Narrow(FieldDelivery):
    """A class below."""


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


def test_answers_for_weakly_held_subscribers_are_made_again_and_again() -> None:
    class Client:
        pass

    clients = [Client() for _ in range(700)]
    fields: FieldMatcher[Client] = FieldMatcher(weak=True)
    fields.subscribe_many([([Present("a")], client, {"n": number}) for number, client in enumerate(clients)])
    kept = fields.deliveries({"a": 1})
    for _ in range(20):
        again = fields.deliveries({"a": 1})
        assert again == kept
        assert {id(one) for one in again}.isdisjoint(map(id, kept))
        assert all(type(one) is FieldDelivery and one.group is None for one in again)
        del again
    assert [clients[one.options["n"]] for one in kept] == [one.subscriber for one in kept]
    assert len({id(one.subscriber) for one in kept}) == len(kept) == 700


@pytest.mark.parametrize("places", [["subscriber"], ["options"], ["group"], ["subscriber", "options"]])
def test_a_long_row_of_deliveries_in_one_another_is_dropped(places: list[str]) -> None:
    row: Any = None
    subscriber: Any = "ann"
    options: Any = {}
    for _ in range(200_000):
        row = FieldDelivery(**{"subscriber": subscriber, "options": options, **dict.fromkeys(places, row)})
    fields: FieldMatcher[Any] = FieldMatcher()
    fields.subscribe([Present("a")], "ann", row=row)
    del row
    fields.clear()
    assert fields.deliveries({"a": 1}) == ()
