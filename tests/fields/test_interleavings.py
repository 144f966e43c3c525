"""Field matchers between threads: some of the explorer's pairs of operations in each run, users' code in the middle of
an operation, and recorded histories of real threads.

The explorer itself tries the rest (`fields` and `routes` of its matrix, with their mutants).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, cast

import pytest

import subtrie.fields as fields
from stress import check, record
from subtrie._trie.subscribers import subscriber_hash
from subtrie.fields import Equals, FieldMatcher, Present, RoutingMatcher, Within
from subtrie.fields.delivery import delivery_for
from subtrie.fields.matcher import state_of
from subtrie.fields.state import check_state, find_in, subscriptions_in, with_many
from tests.every_schedule import explored, scenarios_of
from tests.threads import run_together
from tests.tries.field_subjects import FieldsUnderTest
from tests.tries.fields import Fields
from tests.tries.scenarios import STARTS


@pytest.mark.once  # a copy of the interpreted source, in one thread, whatever twin the tests run
@pytest.mark.parametrize("target", ["fields", "routes"])
def test_operations(target: str) -> None:
    for start in STARTS[target]:
        running, stopping = scenarios_of(target, start, 4)
        assert explored(running, stopping) > len(running) + len(stopping)


class OfOneHash:
    """A value or subscriber with the hash of all others of its kind, which calls a function when it is compared."""

    def __init__(self, name: object, then: Callable[[], object] = lambda: None) -> None:
        self.name, self.then = name, then

    def __eq__(self, other: object) -> bool:
        self.then()
        return isinstance(other, OfOneHash) and self.name == other.name

    def __hash__(self) -> int:
        return 7


def test_users_code_that_changes_the_matcher_or_raises_in_the_middle_of_a_change() -> None:
    """`__eq__` runs between the load and the compare-and-set, which then fails: both changes take effect, or none."""
    matcher: FieldMatcher[str] = FieldMatcher()
    value = OfOneHash("one")
    matcher.subscribe([Equals("f", value)], "one")
    value.then = lambda: matcher.subscribe([Present("g")], "meanwhile")
    assert matcher.subscribe([Equals("f", OfOneHash("two"))], "two")
    value.then = lambda: 1 // 0
    with pytest.raises(ZeroDivisionError):
        matcher.subscribe([Equals("f", OfOneHash("three")), Within("g", 1)], "three")
    value.then = lambda: None
    assert {found.subscriber for found in matcher} == {"one", "two", "meanwhile"}
    matcher.check()


@pytest.mark.parametrize("counted", [False, True])
def test_a_subscriber_that_moves_is_never_missed(counted: bool) -> None:
    """Again and again, one subscription is made before another one ends, so every query finds one of them."""
    there: list[tuple[str, tuple[Any, ...]]] = [
        ("subscribe", ("f=1", "ann")),
        ("unsubscribe", ("f>=1 & g", "ann")),
        ("subscribe", ("f>=1 & g", "ann")),
        ("unsubscribe", ("f=1", "ann")),
    ]
    asked: list[tuple[str, tuple[Any, ...]]] = [("match", ("f=1 g=2",)), ("subscriptions", ())]
    if counted:
        asked += [("hits", ("f=1 g=2",)), ("match_any", ("f=1",))]
    spec = Fields()
    for seed in range(3):
        subject = FieldsUnderTest(fields, FieldMatcher())
        history = record(subject, [[there * 8] * 3, [asked * 8] * 3], spec, seed=seed)
        judgement = check(history, spec)
        assert judgement, f"seed {seed}: {judgement}"
        subject.check()


@pytest.mark.parametrize("routed", [False, True])
def test_writers_lose_nothing_and_a_match_sees_one_instant(routed: bool) -> None:
    """Each writer moves subscribers of its own between two places: each is at the old one, the new one, or both."""
    matcher: Any = RoutingMatcher() if routed else FieldMatcher()
    places = [[Equals("f", 1), Within("g", 0, 1)], [Present("g")]]

    def at(place: int, who: Any) -> tuple[Any, ...]:
        return (("a.b", "*.b")[place], places[place], who) if routed else (places[place], who)

    def match() -> set[Any]:
        return set(matcher.match("a.b", {"f": 1, "g": 1}) if routed else matcher.match_all({"f": 1, "g": 1}))

    everybody = {(writer, number) for writer in range(2) for number in range(3)}
    for who in everybody:
        matcher.subscribe(*at(0, who))

    def write(writer: int) -> None:
        for step in range(300):
            who, here = (writer, step % 3), step // 3 % 2
            assert matcher.subscribe(*at(1 - here, who))
            assert matcher.unsubscribe(*at(here, who))

    def read() -> None:
        for _ in range(300):
            assert match() == everybody

    run_together([lambda: write(0), lambda: write(1), read, read])
    matcher.check()
    assert (len(matcher), match()) == (len(everybody), everybody)


def _parts_of_many(many: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(frozenset(asked), delivery_for(who, {}, {}), subscriber_hash(who)) for asked, who in many]


def _content_of(state: Any) -> dict[Any, Any]:
    return {(each.key, frozenset(each.asked)): each.delivery[1] for each in subscriptions_in(state)}


@pytest.mark.parametrize("seed", range(30))
def test_what_others_change_meanwhile_is_added_to_what_many_have_made(seed: int) -> None:
    """Round after round, several subscriptions made on what was there before are those made anew on what is there."""
    rng = Random(seed)
    names: list[Any] = ["ann", "bob", "cid", "dan", *map(OfOneHash, "xyz")]
    asked = [[Equals("f", i % 3), Equals("g", i)] for i in range(6)] + [[Within("f", i, 9)] for i in range(3)]
    others = cast(Any, FieldMatcher())
    changes: list[Callable[[], object]] = [
        others.clear,
        lambda: others.hits({"f": 1}),
        *2 * [lambda: others.unsubscribe_all(rng.choice(names))],
        *3 * [lambda: others.unsubscribe(rng.choice(asked), rng.choice(names))],
        *5 * [lambda: others.subscribe(rng.choice(asked), rng.choice(names), qos=rng.randrange(2))],
    ]
    for _ in range(rng.randrange(40)):
        changes[-1]()
    many = _parts_of_many([(rng.choice(asked), rng.choice(names)) for _ in range(rng.randrange(1, 12))])
    made: list[Any] = []
    for _ in range(5):
        now = state_of(others)
        again, added = with_many(now, many, made)
        anew, wanted = with_many(now, many, [])
        assert added == wanted
        assert _content_of(again) == _content_of(anew)
        check_state(again)
        for _ in range(rng.randrange(5)):
            rng.choice(changes)()


def test_what_many_have_made_is_not_made_again() -> None:
    """Of a lost round all is kept but what is for a subscriber that others have changed."""
    others = cast(Any, FieldMatcher())
    many = _parts_of_many([([Equals("f", i)], f"one {i % 10}") for i in range(100)])
    made: list[Any] = []
    first, added = with_many(state_of(others), many, made)
    others.subscribe([Equals("f", 3)], "one 3")
    second, again = with_many(state_of(others), many, made)
    assert (added, again) == (100, 99)
    for criteria, delivery, owner_hash in many:
        before, after = (find_in(state, criteria, delivery[0], owner_hash) for state in (first, second))
        assert (before is after) == (delivery[0] != "one 3")
