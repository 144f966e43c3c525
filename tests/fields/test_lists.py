"""Events with lists: what belongs together, against a plain reading; and that a list costs what subscriptions ask of it."""

from __future__ import annotations

import itertools
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from subtrie.fields import (
    Absent,
    AnyOf,
    AtLeast,
    Criterion,
    Equals,
    FieldMatcher,
    GreaterThan,
    LessThan,
    Not,
    NotIn,
    OneOf,
    Prefix,
    Present,
    RoutingMatcher,
    Suffix,
    Within,
    explain,
    flattened,
)
from subtrie.fields.names import MOST_STEPS
from tests.fields.test_every_door import belong_together, values_of

# ------------------------------------------------------------------------------------------------------- a plain reading


def ways_of(criteria: Any) -> Iterator[list[Any]]:
    choices: list[list[list[Any]]] = []
    for one in criteria:
        if isinstance(one, AnyOf):
            choices.append([way for alternative in one.alternatives for way in ways_of(alternative)])
        else:
            choices.append([[one]])
    for chosen in itertools.product(*choices):
        yield list(itertools.chain(*chosen))


def is_wanted(criteria: Any, event: dict[str, Any]) -> bool:
    """Whether some values that belong together, one for each criterion, meet all of one way. A field is absent if none of
    its values belongs together with all of these."""
    there = list(values_of(event))
    for way in ways_of(criteria):
        choices = [
            [path for name, value, path in there if name == one.name and one.holds(value)]
            for one in way
            if not isinstance(one, Absent)
        ]
        missing = {one.name for one in way if isinstance(one, Absent)}
        for chosen in itertools.product(*choices):
            if all(belong_together(one, other) for one, other in itertools.combinations(chosen, 2)) and not any(
                name in missing and all(belong_together(path, one) for one in chosen) for name, _, path in there
            ):
                return True
    return False


# -------------------------------------------------------------------------------------------------------- what is drawn

NAMES = ["x", "l", "l.a", "l.b", "l.k.c", "l.k.d", "l.m.e", "m.a", "m.b", "d.t", "d.l.a", "d.l.b"]


def some_criterion(rng: random.Random, depth: int = 0) -> Criterion:
    name, value = rng.choice(NAMES), rng.randrange(4)
    makers: list[Callable[[], Criterion]] = [
        lambda: Equals(name, value),
        lambda: Equals(name, value),
        lambda: OneOf(name, [value, rng.randrange(4), "a"]),
        lambda: AtLeast(name, value),
        lambda: LessThan(name, value),
        lambda: Within(name, value, value + 1),
        lambda: NotIn(name, [value]),
        lambda: Not(AtLeast(name, value)),
        lambda: Present(name),
        lambda: Absent(name),
        lambda: rng.choice([Prefix, Suffix])(name, rng.choice(["a", "b", ""])),
    ]
    if depth < 2 and rng.random() < 0.15:
        ways = [[some_criterion(rng, depth + 1) for _ in range(rng.randrange(1, 3))] for _ in range(2)]
        return AnyOf(*[way[0] if len(way) == 1 else way for way in ways])
    return rng.choice(makers)()


def some_value(rng: random.Random) -> Any:
    return rng.choice([0, 1, 2, 3, 3.0, "a", "ab", "ba", None])


def some_list(rng: random.Random, names: str, inner: dict[str, str]) -> list[Any]:
    found: list[Any] = []
    for _ in range(rng.randrange(4)):
        kind = rng.random()
        if kind < 0.15:
            found.append(some_value(rng))
        elif kind < 0.25:
            found.append(some_list(rng, names, inner))
        else:
            element = {name: some_value(rng) for name in names if rng.random() < 0.7}
            lists = {name: some_list(rng, of, {}) for name, of in inner.items() if rng.random() < 0.5}
            found.append({**element, **lists})
    return found


def some_event(rng: random.Random) -> dict[str, Any]:
    event: dict[str, Any] = {
        "x": some_value(rng),
        "l": some_list(rng, "ab", {"k": "cd", "m": "e"}),
        "m": some_list(rng, "ab", {}),
        "d": {"t": some_value(rng), "l": some_list(rng, "ab", {}), "unasked": [some_list(rng, "ab", {})]},
        "unasked": some_list(rng, "ab", {"k": "cd"}),
    }
    return {name: value for name, value in event.items() if rng.random() < 0.8}


def every_answer(matcher: Any, routes: Any, event: Any) -> Iterator[list[Any]]:
    yield sorted(matcher.match_all(event))
    yield sorted(matcher.match_all(flattened(event)))
    yield sorted(matcher.match_all(pickle.loads(pickle.dumps(flattened(event)))))
    yield sorted(each.subscriber for each in matcher.deliveries(event))
    yield sorted(matcher.match_many([{}, event])[1])
    yield sorted(routes.match("t.u", event))
    yield sorted(each.subscriber for each in routes.deliveries("t.u", event))


@pytest.mark.parametrize("seed", range(10))
def test_any_criteria_on_any_lists(seed: int) -> None:
    rng = random.Random(seed)
    matcher: FieldMatcher[int] = FieldMatcher()
    routes: RoutingMatcher[int] = RoutingMatcher()
    known: dict[int, frozenset[Criterion]] = {}
    wanted = 0
    for number in range(150):
        if len(known) > 60:
            gone = rng.choice(list(known))
            assert matcher.unsubscribe(known[gone], gone)
            assert routes.unsubscribe("t.*", known.pop(gone), gone)
        known[number] = frozenset([some_criterion(rng) for _ in range(rng.randint(1, 4))])
        matcher.subscribe(known[number], number)
        routes.subscribe("t.*", known[number], number)
        event = some_event(rng)
        expected = [number for number, criteria in known.items() if is_wanted(criteria, event)]
        for found in every_answer(matcher, routes, event):
            assert found == expected, event
        for number in rng.choices(list(known), k=3):
            verdict = explain(known[number], event).split("\n")[0]
            assert verdict == ("met" if number in expected else "not met")
        counts = {one.subscriber: sum(is_wanted([each], event) for each in one.criteria) for one in matcher}
        assert {one.subscriber: count for one, count in matcher.hits(event).items()} == {
            number: count for number, count in counts.items() if count
        }
        assert sorted(matcher.match_any(event)) == sorted(number for number, count in counts.items() if count)
        wanted += len(expected)
    assert wanted > 300
    matcher.check()
    routes.check()


# ------------------------------------------------------------------------------------------------------- hostile shapes


def filled(rules: list[list[Criterion]]) -> FieldMatcher[int]:
    matcher: FieldMatcher[int] = FieldMatcher()
    matcher.subscribe_many([(rule, number) for number, rule in enumerate(rules)])
    matcher.check()
    return matcher


@pytest.mark.parametrize("size", [200, 5_000])
def test_a_long_list_of_objects(size: int) -> None:
    items = [{"id": i % 50, "n": i * 7 % 13, "tag": f"t{i % 5}"} for i in range(size)]
    event = {"type": "order", "items": items}
    rules: list[list[Criterion]] = []
    for i in range(60):
        rules += [
            [Equals("items.id", i), GreaterThan("items.n", i % 13)],
            [GreaterThan("items.n", i % 14), LessThan("items.id", i % 9)],
            [Prefix("items.tag", f"t{i % 7}"), NotIn("items.n", [i % 13]), Equals("type", "order")],
            [Equals("items.id", i), Absent("items.gone"), Absent("items.tag")],
        ]
    matcher = filled(rules)
    expected = [
        number
        for number, rule in enumerate(rules)
        if any(all(each.met_by({"type": "order", **flattened({"items": item})}) for each in rule) for item in items)
    ]
    assert 50 < len(expected) < len(rules)
    assert sorted(matcher.match_all(event)) == expected


def test_two_lists_side_by_side() -> None:
    rng = random.Random(3)
    lists = {name: [{"x": rng.randrange(60), "y": rng.randrange(60)} for _ in range(60)] for name in "ab"}
    rules: list[list[Criterion]] = []
    for i in range(100):
        low = rng.randrange(60)
        rules.append([Equals("a.x", i % 60), AtLeast("a.y", low), Equals("b.x", i * 7 % 60), AtLeast("b.y", low // 4)])
    expected = [
        number
        for number, rule in enumerate(rules)
        if all(
            any(all(each.holds(item[each.name[2]]) for each in rule if each.name[0] == name) for item in items)
            for name, items in lists.items()
        )
    ]
    assert 5 < len(expected) < 95
    assert sorted(filled(rules).match_all(lists)) == expected


def test_lists_in_lists() -> None:
    rng = random.Random(4)
    orders: list[dict[str, Any]] = [
        {
            "id": i,
            "items": [{"a": rng.randrange(30), "b": rng.randrange(30)} for _ in range(20)],
            "by": rng.randrange(5),
        }
        for i in range(40)
    ]
    rules: list[list[Criterion]] = [
        [Equals("o.items.a", rng.randrange(30)), LessThan("o.items.b", rng.randrange(30)), Equals("o.by", i % 6)]
        for i in range(100)
    ]
    expected = [
        number
        for number, rule in enumerate(rules)
        if any(
            rule[2].holds(order["by"])
            and any(rule[0].holds(item["a"]) and rule[1].holds(item["b"]) for item in order["items"])
            for order in orders
        )
    ]
    assert 10 < len(expected) < 90
    assert sorted(filled(rules).match_all({"o": orders})) == expected


def test_elements_of_two_events_in_one_message() -> None:
    """Lists of different events are different ones, even if both are the first of theirs."""
    one, other = flattened({"l": [{"a": 1}, {"a": 2}]}), flattened({"m": [{"b": 1}, {"b": 2}]})
    matcher = filled([[Equals("l.a", 1), Equals("m.b", 2)]])
    assert matcher.match_all({**one, **other}) == (0,)


# ----------------------------------------------------------------------------------------------------------------- cost


class Untouched(dict[str, Any]):
    """An object that nobody may look into."""

    def items(self) -> Any:
        raise AssertionError("somebody looks into it")

    __iter__ = keys = values = items


def test_lists_that_nobody_asks_for_are_not_looked_into() -> None:
    matcher = filled([[Equals("type", "order")], [Equals("d.type", 1), Absent("d.gone")], [Present("d.other")]])
    routes: RoutingMatcher[int] = RoutingMatcher()
    routes.subscribe("#", [Equals("type", "order"), Absent("gone")], 1)
    matcher.hits({})
    event: Any = {"type": "order", "items": [Untouched(), Untouched()], "own": Untouched()}
    event["d"] = {"type": 1, "deep": event["items"], "items": event["items"]}
    assert sorted(matcher.match_all(event)) == [0, 1]
    assert sorted(matcher.match_any(event)) == [0, 1]
    assert routes.match("a", event) == (1,)


def test_names_are_those_of_the_subscriptions_that_are_there() -> None:
    event: Any = {"l": [Untouched()], "m": [{"a": 1}]}
    matcher: FieldMatcher[int] = FieldMatcher()
    long = ".".join(["m", *"a" * 2 * MOST_STEPS])
    rules: list[list[Criterion]] = [
        [Equals("l.a", 1), Equals("m.a", 1)],
        [AnyOf(Equals("l.b.c", 1), [Present("x"), Not(Equals("l", 1))]), Absent("m.b")],
        [Present(long)],
    ]
    for rule in rules:
        matcher.subscribe(rule, 1)
    before = matcher.snapshot()
    for rule in rules:
        with pytest.raises(AssertionError, match="looks into it"):
            matcher.match_all(event)
        assert matcher.unsubscribe(rule, 1)
        matcher.check()
        if rule is rules[1]:
            break
    assert matcher.match_all(event) == ()
    assert matcher.match_all({"l": event["l"], **nested(long)}) == (1,)
    with pytest.raises(AssertionError, match="looks into it"):
        before.match_all(event)
    matcher.clear()
    matcher.check()


def nested(name: str) -> Any:
    found: Any = 1
    for step in reversed(name.split(".")):
        found = {step: [found, 2]}
    return found


class Counted:
    """A value that counts how often it is compared."""

    compared = 0

    def __init__(self, value: int) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return self.value == (other.value if isinstance(other, Counted) else other)


SHAPES: list[tuple[Callable[[int], list[Criterion]], Callable[[int], dict[str, Any]]]] = [
    (  # none has both
        lambda i: [NotIn("l.a", [i]), Not(NotIn("l.b", [1]))],
        lambda n: {"l": [{"a": Counted(7), "b": Counted(2)} for _ in range(n)]},
    ),
    (  # a crowded place, to which each element leads
        lambda i: [Equals("l.a", 7), Equals("l.b", i)],
        lambda n: {"l": [{"a": Counted(7), "b": Counted(99)} for _ in range(n)]},
    ),
    (  # two lists
        lambda i: [Not(NotIn("l.a", [7])), Not(Equals("l.b", 2)), Not(Equals("m.a", 3)), Not(Equals("m.b", 2))],
        lambda n: {name: [{"a": Counted(7), "b": Counted(2)} for _ in range(n)] for name in "lm"},
    ),
    (  # lists in a list
        lambda i: [Not(NotIn("l.a", [7])), Not(Equals("l.k.b", 2)), Not(Equals("l.k.c", 2))],
        lambda n: {
            "l": [{"a": 7, "k": [{"b": Counted(3), "c": Counted(2)} for _ in range(10)]} for _ in range(n // 10)]
        },
    ),
    (  # absence
        lambda i: [Not(NotIn("l.a", [7])), Not(NotIn("l.b", [i])), Absent("l.c")],
        lambda n: {"l": [{"a": Counted(7), "b": Counted(i), "c": 1} for i in range(n)]},
    ),
]


@pytest.mark.parametrize(("rule", "event"), SHAPES)
def test_an_element_is_asked_once_for_a_subscription(
    rule: Callable[[int], list[Criterion]], event: Callable[[int], dict[str, Any]]
) -> None:
    """So the cost is linear in the elements, and no more than that of a loop over all of them and all subscriptions."""
    rules = 40
    matcher = filled([rule(i) for i in range(rules)])
    counts = []
    for size in (100, 200, 400):
        message = event(size)
        Counted.compared = 0
        assert matcher.match_all(message) == ()
        counts.append(Counted.compared)
        assert Counted.compared <= 2 * rules * size * len(rule(0)) + 100
    assert counts[2] - counts[1] <= 2.1 * (counts[1] - counts[0]) + 10
