"""A question costs what subscriptions ask of a message, and a subscription few bytes: counted, not timed."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from subtrie import MQTT
from subtrie.fields import (
    Absent,
    AnyOf,
    Criterion,
    Equals,
    FieldMatcher,
    GreaterThan,
    LessThan,
    Not,
    NotIn,
    Prefix,
    Present,
    RoutingMatcher,
    Wildcard,
    Within,
    equals,
    flattened,
    matcher,
)
from subtrie.fields.index import CROWDED
from subtrie.fields.matcher import state_of
from subtrie.fields.names import MOST_STEPS


def filled(rules: list[list[Criterion]]) -> FieldMatcher[int]:
    made: FieldMatcher[int] = FieldMatcher()
    made.subscribe_many([(rule, number) for number, rule in enumerate(rules)])
    made.check()
    return made


class Counted(int):
    """A number that counts how often numbers like it are compared."""

    compared = 0

    def _comparing(name: str) -> Any:  # type: ignore[misc]  # noqa: N805
        def compare(self: Any, other: Any) -> Any:
            Counted.compared += 1
            return getattr(int, name)(int(self), other)

        return compare

    __lt__, __le__, __gt__, __ge__, __eq__ = map(_comparing, ("__lt__", "__le__", "__gt__", "__ge__", "__eq__"))  # type: ignore[assignment, arg-type]
    __hash__ = int.__hash__


def comparisons(call: Callable[[], Any]) -> int:
    Counted.compared = 0
    call()
    return Counted.compared


# ---------------------------------------------------------------------------------------------------------- a few fields


@pytest.mark.parametrize("common_first", [False, True])
def test_a_subscription_is_found_through_its_rarest_criterion(common_first: bool) -> None:
    """Whichever criterion is named first. Thresholds that nobody reaches are not looked at, either."""
    order = 1 if common_first else -1
    rare = filled([[Equals("type", "order"), Equals("id", Counted(number))][::order] for number in range(500)])
    assert comparisons(lambda: rare.match_all({"type": "order", "id": 77})) < 10
    assert rare.match_all({"type": "order", "id": 77}) == (77,)
    high = filled([[Equals("type", "order"), GreaterThan("v", number + 10)][::order] for number in range(1000)])
    routes: RoutingMatcher[int] = RoutingMatcher(MQTT)
    for number in range(1000):
        routes.subscribe("sensors/+/heat", [GreaterThan("v", number + 10)], number)
    routes.check()
    assert comparisons(lambda: high.match_all({"type": "bill", "v": Counted(10_000)})) == 0
    assert comparisons(lambda: routes.match("weather/7/wind", {"v": Counted(10_000)})) == 0
    assert comparisons(lambda: high.match_all({"type": "order", "v": Counted(5)})) < 100
    assert comparisons(lambda: routes.match("sensors/1/heat", {"v": Counted(5)})) < 100
    assert high.match_all({"type": "order", "v": 10}) == routes.match("sensors/1/heat", {"v": 10}) == ()
    assert len(high.match_all({"type": "order", "v": 510})) == 500


def test_a_crowd_with_nothing_more_to_ask_stays_as_it_is() -> None:
    made: Any = FieldMatcher()
    for number in range(4 * CROWDED):
        made.subscribe([Equals("type", "order")], number)
    (field,) = [cell.value for cell in [state_of(made).index.fields]]
    assert not hasattr(field.values.value, "whole")
    assert len(made.match_all({"type": "order"})) == 4 * CROWDED
    made.check()


# ---------------------------------------------------------------------------------------------------------------- lists


class Untouched(dict[str, Any]):
    """An object that nobody may look into."""

    def items(self) -> Any:
        raise MemoryError("somebody looks into it")  # which a match lets through

    __iter__ = keys = values = items


def test_lists_that_nobody_asks_for_are_not_looked_into() -> None:
    made = filled([[Equals("type", "order")], [Equals("d.type", 1), Absent("d.gone")], [Present("d.other")]])
    routes: RoutingMatcher[int] = RoutingMatcher()
    routes.subscribe("#", [Equals("type", "order"), Absent("gone")], 1)
    made.hits({})
    event: Any = {"type": "order", "items": [Untouched(), Untouched()], "own": Untouched()}
    event["d"] = {"type": 1, "deep": event["items"], "items": event["items"]}
    assert sorted(made.match_all(event)) == sorted(made.match_any(event)) == [0, 1]
    assert routes.match("a", event) == (1,)


def test_names_are_those_of_the_subscriptions_that_are_there() -> None:
    made: FieldMatcher[int] = FieldMatcher()
    made.subscribe([Present(long := ".".join(["m", *"a" * 2 * MOST_STEPS]))], 1)
    event: Any = {"l": [Untouched()], "m": [{"a": 1}]}
    rules: list[list[Criterion]] = [
        [Equals("l.a", 1), Equals("m.a", 1)],
        [AnyOf(Equals("l.b.c", 1), [Present("x"), Not(Equals("l", 1))]), Absent("m.b")],
    ]
    for rule in rules:
        made.subscribe(rule, 1)
        before = made.snapshot()
        with pytest.raises(MemoryError, match="looks into it"):
            made.match_all(event)
        assert made.unsubscribe(rule, 1)
        assert made.match_all(event) == ()
        with pytest.raises(MemoryError, match="looks into it"):
            before.match_all(event)
        made.check()
    nested: Any = 1
    for step in reversed(long.split(".")):
        nested = {step: [nested, 2]}
    assert made.match_all({"l": event["l"], **nested}) == (1,)


Shape = tuple[Callable[[int], list[Criterion]], Callable[[int], dict[str, Any]]]
SHAPES: dict[str, Shape] = {
    "none has both": (
        lambda i: [NotIn("l.a", [i]), Not(NotIn("l.b", [1]))],
        lambda n: {"l": [{"a": Counted(7), "b": Counted(2)} for _ in range(n)]},
    ),
    "a crowded place, to which each element leads": (
        lambda i: [Equals("l.a", 7), Equals("l.b", i)],
        lambda n: {"l": [{"a": Counted(7), "b": Counted(99)} for _ in range(n)]},
    ),
    "two lists": (
        lambda i: [Not(NotIn("l.a", [7])), Not(Equals("l.b", 2)), Not(Equals("m.a", 3)), Not(Equals("m.b", 2))],
        lambda n: {name: [{"a": Counted(7), "b": Counted(2)} for _ in range(n)] for name in "lm"},
    ),
    "lists in a list": (
        lambda i: [Not(NotIn("l.a", [7])), Not(Equals("l.k.b", 2)), Not(Equals("l.k.c", 2))],
        lambda n: {
            "l": [{"a": 7, "k": [{"b": Counted(3), "c": Counted(2)} for _ in range(10)]} for _ in range(n // 10)]
        },
    ),
    "absence": (
        lambda i: [Not(NotIn("l.a", [7])), Not(NotIn("l.b", [i])), Absent("l.c")],
        lambda n: {"l": [{"a": Counted(7), "b": Counted(i), "c": 1} for i in range(n)]},
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_an_element_is_asked_once_for_a_subscription(name: str) -> None:
    """So the cost is linear in the elements, and no more than that of a loop over all of them and all subscriptions."""
    rule, event = SHAPES[name]
    rules = 40
    made, counts = filled([rule(i) for i in range(rules)]), []
    for size in (100, 200, 400):
        message = event(size)
        counts.append(comparisons(lambda message=message: made.match_all(message)))
        assert made.match_all(message) == ()
        # Where what is to be absent is in all elements, none of them is asked.
        assert counts[-1] <= 2 * rules * size * len(rule(0)) * (name != "absence") + 100
    assert counts[2] - counts[1] <= 2.1 * (counts[1] - counts[0]) + 10


WANTED: dict[str, Shape] = {
    "presence": (lambda i: [Present("l.a")], lambda j: {"a": j}),
    "what is excluded": (lambda i: [NotIn("l.a", [-i])], lambda j: {"a": j}),
    "one value": (lambda i: [Equals("l.a", 1)], lambda j: {"a": 1}),
    "a prefix": (lambda i: [Prefix("l.a", "ab")], lambda j: {"a": f"abc{j}"}),
    "a piece of a text": (lambda i: [Wildcard("l.a", "*abc*")], lambda j: {"a": f"abc{j}"}),
    "ranges": (lambda i: [LessThan("l.a", 10_000 + i)], lambda j: {"a": j}),
    "ranges of texts": (lambda i: [LessThan("l.a", f"x{i}")], lambda j: {"a": f"a{j}"}),
    "ranges in a crowded place": (
        lambda i: [Equals("l.b", 1), LessThan("l.a", 10_000 + i)],
        lambda j: {"a": j, "b": 1},
    ),
}


@pytest.mark.parametrize("name", WANTED)
def test_what_all_elements_lead_to_is_noted_once(name: str) -> None:
    """A loop over all subscriptions would stop at the first element. So neither time nor memory is elements times
    subscriptions: a note has eight bytes."""
    rule, item = WANTED[name]
    rules, size = 400, 1_000
    made, event = filled([rule(i) for i in range(rules)]), {"l": [item(j) for j in range(size)]}
    tracemalloc.start()
    try:
        assert len(made.match_all(event)) == rules
        assert tracemalloc.get_traced_memory()[1] < 8 * rules * size / 2
    finally:
        tracemalloc.stop()


def test_a_long_list_of_objects() -> None:
    items = [{"id": i % 50, "n": i * 7 % 13, "tag": f"t{i % 5}"} for i in range(1_000)]
    rules: list[list[Criterion]] = []
    for i in range(60):
        rules += [
            [Equals("items.id", i), GreaterThan("items.n", i % 13)],
            [GreaterThan("items.n", i % 14), LessThan("items.id", i % 9)],
            [Prefix("items.tag", f"t{i % 7}"), NotIn("items.n", [i % 13]), Equals("type", "order")],
            [Equals("items.id", i), Absent("items.gone"), Absent("items.tag")],
        ]
    flat = [{"type": "order", **flattened({"items": item})} for item in items]
    expected = [n for n, rule in enumerate(rules) if any(all(each.met_by(one) for each in rule) for one in flat)]
    assert 50 < len(expected) < len(rules)
    assert sorted(filled(rules).match_all({"type": "order", "items": items})) == expected


# ---------------------------------------------------------------------------------------------------------------- bytes


@pytest.mark.skipif(not matcher.__file__.endswith(".so"), reason="objects of C are smaller")
def test_a_subscription_with_two_criteria_takes_few_bytes() -> None:
    rng, count = Random(4), 20_000
    low = [rng.randrange(500) for _ in range(count)]
    rules = [
        ([Equals("symbol", f"s{rng.randrange(count // 4)}"), Within("price", x, x + 500)], n) for n, x in enumerate(low)
    ]
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        fields: FieldMatcher[int] = FieldMatcher()
        for rule, number in rules:
            fields.subscribe(rule, number)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / count < 400


def test_equal_criteria_and_words_are_one_object_and_what_is_kept_is_bounded() -> None:
    fields: FieldMatcher[int] = FieldMatcher()
    equals.own.known.clear()  # all are forgotten when too many are known, perhaps in the middle
    for subscriber in range(2_000):
        fields.subscribe([Equals("id", f"i{subscriber % 500}"), Equals("side", "buy"), Within("n", 1, 2.5)], subscriber)
    fields.check()
    assert len({id(one) for found in fields for one in found.criteria}) == 500 + 2
    for n in range(3 * equals.KNOWN):
        fields.subscribe([Equals("b", f"{n:{1 + 300 * (n % 2)}}"), Present("c")], n)
    assert 0 < len(equals.own.known) <= equals.KNOWN
    assert all(len(part) <= equals.LONGEST for like in equals.own.known for part in like if isinstance(part, str))

    def words() -> tuple[str, ...]:
        return tuple("".join(["wo", end]) for end in ("rd", "rm", "x" * equals.LONGEST))

    one, again = equals.one_of_words(words()), equals.one_of_words(words())
    assert [here is there for here, there in zip(one, again, strict=True)] == [True, True, False]
    for n in range(2 * equals.KNOWN):  # a part of these is forgotten
        assert equals.one_of_words((f"w{n}", "word")) == (f"w{n}", "word")
    assert len(equals.own.words) <= equals.KNOWN + 2
