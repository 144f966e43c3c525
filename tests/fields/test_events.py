"""Events of JSON: what is nested, what lies in lists, and what of it belongs together, one case at a time.

test_every_door.py and test_stateful.py draw patterns, criteria and events of such shapes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from subtrie.fields import (
    Absent,
    AnyOf,
    Criterion,
    Elements,
    Equals,
    FieldMatcher,
    GreaterThan,
    InNetwork,
    NotIn,
    OneOf,
    Present,
    Within,
    flattened,
    from_pattern,
)
from subtrie.fields.events import MOST_LISTS, MOST_NESTED
from tests.fields.reading import is_wanted, values_of, ways_of


class Case(NamedTuple):
    """Who asks for what, and who wants which event."""

    asked: dict[Any, list[Criterion]]
    events: list[tuple[dict[str, Any], set[Any]]]


RESTS: list[Any] = [[{"arn": "x"}], [["a"]], [[]], [{}], [[{"a": [1]}], 2], {"deep": [{"er": [[1]]}]}]
BOTH = from_pattern({"a": [1], "a.b": [2]})
CASES = {
    "what belongs to one object is met together": Case(
        {"ann": [Equals("items.id", 2), GreaterThan("items.n", 1)]},
        [
            ({"items": [{"id": 1, "n": 3}, {"id": 2}]}, set()),
            ({"items": [{"id": 1, "n": 3}, {"id": 2, "n": 2}]}, {"ann"}),
        ],
    ),
    "two ranges, too, which are filed as boxes": Case(
        {"ann": [Within("l.a", 1, 2), Within("l.b", 1, 2)]},
        [
            ({"l": [{"a": 1, "b": 5}, {"a": 5, "b": 1}]}, set()),
            ({"l": [{"a": 1, "b": 5}, {"a": 2, "b": 2}]}, {"ann"}),
        ],
    ),
    "alternatives with the rest": Case(
        {"ann": [Equals("l.a", 1), AnyOf(Equals("l.b", 1), [Equals("l.c", 1), Absent("d")])]},
        [
            ({"l": [{"a": 1}, {"b": 1}]}, set()),
            ({"l": [{"a": 1, "c": 1}, {"b": 1}]}, {"ann"}),
            ({"l": [{"a": 1, "c": 1}, {"b": 1}], "d": 1}, set()),
        ],
    ),
    "a field is absent where the other criteria are met": Case(
        {
            "both": [Equals("d.a", 1), Absent("d.b")],
            "alone": [Absent("d.b")],
            "any": [AnyOf(Absent("d.b"), Equals("d.b", 3)), Equals("d.a", 1)],
            "any alone": [AnyOf(Absent("d.b"), Equals("d.b", 3))],
            **{i: [Equals("d.a", 7), Absent("d.b")] for i in range(100)},  # a crowded place
        },
        [
            ({"d": [{"a": 1}, {"b": 2}]}, {"both", "any"}),
            ({"d": [{"a": 1, "b": 2}, {"a": 2}]}, set()),
            ({"d": [{"a": 1, "b": 3}, {"a": 2}]}, {"any", "any alone"}),
            ({"d": [{"a": 1, "b": [{"c": 1}]}, {"b": 2}, {"a": 1, "b": 1}]}, {"both", "any"}),
            ({"d": [{"a": 1}], "d.b": 4}, set()),
            ({"d": [{"a": 7}, {"b": 4}]}, set(range(100))),
            ({"d": [{"a": 7}, {"a": 8}]}, {*range(100), "alone", "any alone"}),
        ],
    ),
    "a field is absent beside one of several values": Case(  # one in a deeper list, where one in the list itself is not
        {"ann": [Present("z"), Absent("z.y")], "bob": [Present("z"), Absent("z.y"), Equals("z.x", 1)]},
        [
            ({"z": ["a", {"y": 1}]}, set()),
            ({"z": ["a", [[2, {"x": 1}], {"y": 1}]]}, {"ann", "bob"}),
            ({"z": ["a", [[2], {"y": 1}, {"x": 1}]]}, {"ann", "bob"}),
            ({"z": ["a", [[2, {"x": 1}], {"y": 1}], {"y": 2}]}, {"ann", "bob"}),
            ({"z": ["a", ["b", {"y": 1}, {"x": 1}]]}, {"bob"}),
        ],
    ),
    "an alternative without values hides no other one": Case(
        # It costs nothing to look for, whatever the order in which criteria are looked at: 20 names make both orders.
        {
            str(i): [Within(str(i), 0), AnyOf(OneOf("none", []), AnyOf(InNetwork(str(i), "::"), Present(str(i))))]
            for i in range(20)
        },
        [({str(i): 1}, {str(i)}) for i in range(20)],
    ),
    "what several values meet is found once": Case(
        {"ann": [OneOf("a", [1, 2])], "bob": [Within("a", 0, 9)], "cy": [NotIn("a", [7])], "dan": [Present("a")]},
        [({"a": [1, 2, 3]}, {"ann", "bob", "cy", "dan"})],
    ),
    "lists in a field that nobody asks for": Case(
        {"ann": [Equals("source", "shop")]},
        [
            ({"source": "shop", "rest": rest}, {"ann"})
            for rest in RESTS
        ],
    ),
    "names keep their points": Case(
        {"ann": from_pattern({"": {"a": [1]}})}, [({"": {"a": 1}}, {"ann"}), ({".a": 1}, {"ann"}), ({"a": 1}, set())]
    ),
    "names are their characters": Case(
        {"ann": [Equals("open.a", 1)]},
        [({type("Name", (str,), {"__format__": lambda *_: "lie"})("open"): {"a": 1}}, {"ann"})],
    ),
    "a field that has values and fields": Case(  # two fields: both are to hold, as in event-ruler
        {"ann": BOTH},
        [(one, {"ann"}) for one in ({"a": [1, {"b": 2}]}, {"a": [{"b": 2}, 1]}, {"a": 1, "a.b": 2})]
        + [(one, set()) for one in ({"a": 1}, {"a": {"b": 2}}, {"a": [1, {"b": 3}]}, {"a": [2, {"b": 2}]}, {"a.b": 2})],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_who_wants_an_event(name: str) -> None:
    asked, events = CASES[name]
    matcher: FieldMatcher[Any] = FieldMatcher()
    matcher.subscribe_many([(criteria, subscriber) for subscriber, criteria in asked.items()])
    matcher.check()
    for event, wanted in events:
        there = list(values_of(event))
        assert {subscriber for subscriber, criteria in asked.items() if is_wanted(ways_of(criteria), there)} == wanted
        assert set(matcher.match_all(event)) == set(matcher.match_all(flattened(event))) == wanted
        assert len(matcher.deliveries(event)) == len(wanted)
        apart = flattened(event, together=False)
        met = {subscriber for subscriber, criteria in asked.items() if all(one.met_by(apart) for one in criteria)}
        assert set(matcher.match_all(apart)) == met


def test_an_event_is_flattened() -> None:
    event = {"a": {"b": 1, "c": {"d": [1, 2]}}, "e": {}, "f": [], "g": [{"h": 1}, {"h": 2, "i": [3]}, 4], "j": None}
    flat = flattened(event)
    assert flat == {"a.b": 1, "a.c.d": (1, 2), "g.h": (1, 2), "g.i": (3,), "g": (4,), "j": None}
    assert {name for name, value in flat.items() if isinstance(value, Elements)} == {"a.c.d", "g.h", "g.i", "g"}
    assert flattened({"": {"a": 1}, ".b": 2, "c.": {"": 3}}) == {".a": 1, ".b": 2, "c..": 3}
    assert flattened({"a.b": 1, "a": {"b": 2}}) == {"a.b": (1, 2)}
    matcher: FieldMatcher[str] = FieldMatcher()
    matcher.subscribe([Equals("l.a", 1), Equals("m.b", 2)], "ann")
    # Lists of different events are different ones, even if both are the first of theirs.
    two = {**flattened({"l": [{"a": 1}, {"a": 2}]}), **flattened({"m": [{"b": 1}, {"b": 2}]})}
    assert matcher.match_all(two) == ("ann",)


def test_lists_in_lists_have_no_end_and_objects_do() -> None:
    inner: Any = [{"b": 1, "c": 2}, {"b": 1, "c": 1}]
    for _ in range(MOST_LISTS + 100):
        inner = [inner, []]
    matcher: FieldMatcher[str] = FieldMatcher()
    matcher.subscribe([Equals("a.b", 1), Equals("a.c", 1)], "ann")
    assert matcher.match_all({"a": inner}) == ("ann",)
    event: dict[str, Any] = {"c": []}
    event["c"].append(event["c"])
    assert matcher.match_all(event) == ()  # nobody asks for what is there
    matcher.subscribe([Equals("c", 1)], "bob")
    for ask in (flattened, matcher.match_all):
        with pytest.raises(ValueError, match=f"nested more than {MOST_NESTED} deep; does it hold itself"):
            ask(event)
    event["c"] = event
    assert matcher.match_all(event) == ()  # it is an object, and nobody asks for what is below
    with pytest.raises(ValueError, match=f"nested more than {MOST_NESTED} deep; does it hold itself"):
        flattened(event)


def test_many_lists_side_by_side_are_no_product() -> None:
    """What does not fit in one of many lists is found out there, whatever the others have."""
    event = {f"l{i}": [{"a": n, "b": -n} for n in range(1, 20)] for i in range(30)}
    matcher: FieldMatcher[str] = FieldMatcher()
    plain = [Within(f"l{i}.{name}", low, high) for i in range(20) for name, low, high in (("a", 1, 19), ("b", -19, -1))]
    matcher.subscribe([*plain, Within("l29.a", 1, 3), Within("l29.b", -9, -7)], "ann")
    matcher.subscribe([*plain, Present("l29.a")], "bob")
    assert matcher.match_all(event) == ("bob",)
