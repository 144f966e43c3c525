"""Any sequence of subscriptions and changes, asked any messages, against a plain reading of criteria and messages."""

from __future__ import annotations

import copy
import pickle
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subtrie.fields
from subtrie.fields.matcher import state_of
from tests.fields.drawn import THEMES, Theme
from tests.fields.reading import is_wanted, values_of, ways_of

Key = tuple[frozenset[Any], Any]  # criteria and subscriber


class Asked:
    """Options, and the ways to meet all criteria of a subscription and each of them."""

    def __init__(self, criteria: frozenset[Any], options: dict[str, Any]) -> None:
        self.options = options
        self.ways, self.each = ways_of(criteria), [ways_of([one]) for one in criteria]


class Tried:
    """A matcher, routes with the same subscriptions on one filter, and what both must hold."""

    def __init__(self, fields: Any = subtrie.fields) -> None:
        self.fields = fields
        self.matcher, self.routes = fields.FieldMatcher(), fields.RoutingMatcher()
        self.held: dict[Key, Asked] = {}
        self.counts = False  # hits are counted from the first question for them

    def subscribe(self, criteria: Any, subscriber: Any, options: dict[str, Any]) -> None:
        key = frozenset(criteria), subscriber
        is_new = key not in self.held
        assert self.matcher.subscribe(criteria, subscriber, **options) is is_new
        assert self.routes.subscribe("t.*", criteria, subscriber, **options) is is_new
        self.held[key] = Asked(key[0], options)

    def unsubscribe(self, criteria: Any, subscriber: Any) -> None:
        is_there = self.held.pop((frozenset(criteria), subscriber), None) is not None
        assert ((criteria, subscriber) in self.matcher) is is_there
        assert self.matcher.unsubscribe(criteria, subscriber) is is_there
        assert self.routes.unsubscribe("t.*", criteria, subscriber) is is_there

    def subscribe_many(self, many: list[tuple[Any, Any, dict[str, Any]]]) -> None:
        new = {(frozenset(criteria), subscriber) for criteria, subscriber, _ in many} - self.held.keys()
        assert self.matcher.subscribe_many(many) == len(new)
        assert self.routes.subscribe_many([("t.*", *one) for one in many]) == len(new)
        self.held |= {(frozenset(one), subscriber): Asked(frozenset(one), options) for one, subscriber, options in many}

    def replace(self, old: Any, new: Any, subscriber: Any) -> None:
        before, after = (frozenset(old), subscriber), (frozenset(new), subscriber)
        is_there = before in self.held
        assert self.matcher.replace(old, new, subscriber) is is_there
        assert self.routes.replace("t.*", old, new, subscriber) is is_there
        if is_there:
            options = self.held.pop(before).options
            self.held[after] = Asked(after[0], options)

    def unsubscribe_all(self, subscriber: Any) -> None:
        gone = [key for key in self.held if key[1] == subscriber]
        assert self.matcher.unsubscribe_all(subscriber) == self.routes.unsubscribe_all(subscriber) == len(gone)
        for key in gone:
            del self.held[key]

    # ------------------------------------------------------------------------------------------------------- questions

    def ask(self, message: dict[str, Any]) -> int:
        """Compare every answer; return how many subscriptions are met."""
        there = list(values_of(message))
        met = [key for key, asked in self.held.items() if is_wanted(asked.ways, there)]
        wanted = {subscriber for _, subscriber in met}
        flat = self.fields.flattened(message)
        answers = [
            self.matcher.match_all(message),
            self.matcher.match_all(flat),
            self.matcher.match_many([{}, message])[1],
        ]
        answers += [self.routes.match("t.u", message), self.routes.match_many([("t.u", flat)])[0]]
        for answer in answers:
            assert set(answer) == wanted
            assert len(answer) == len(wanted), "a subscriber twice"
        assert self.routes.match("u", message) == ()
        for deliveries in (
            self.matcher.deliveries(message),
            self.matcher.deliveries_many([message])[0],
            self.routes.deliveries("t.u", message),
        ):
            assert len(deliveries) == len(met)
            assert {(frozenset(each.criteria), each.subscriber) for each in deliveries} == set(met)
            assert all(
                each.options == self.held[frozenset(each.criteria), each.subscriber].options for each in deliveries
            )
        if self.counts:
            counts = {key: sum(is_wanted(ways, there) for ways in asked.each) for key, asked in self.held.items()}
            hits = {(found.criteria, found.subscriber): count for found, count in self.matcher.hits(message).items()}
            assert hits == {key: count for key, count in counts.items() if count}
            assert set(self.matcher.match_any(message)) == {subscriber for _, subscriber in hits}
        for criteria, subscriber in list(self.held)[:3]:
            verdict = self.fields.explain(criteria, message).split("\n")[0]
            assert verdict == ("met" if (criteria, subscriber) in met else "not met")
        return len(met)

    def compare(self, older: Tried) -> None:
        old, new = ({key: asked.options for key, asked in one.held.items()} for one in (older, self))
        wanted = {("removed", *key) for key in old.keys() - new.keys()} | {
            ("added", *key) for key in new.keys() - old.keys()
        }
        wanted |= {("updated", *key) for key in old.keys() & new.keys() if old[key] != new[key]}
        for one, other in ((self.matcher, older.matcher), (self.routes, older.routes)):
            changes = [
                (each.kind, each.subscription.criteria, each.subscription.subscriber) for each in one.diff(other)
            ]
            assert len(changes) == len(wanted)
            assert set(changes) == wanted
            assert (one == other) is (not wanted)

    def copied(self, way: str) -> Tried:
        made = copy.copy(self)
        made.held = dict(self.held)
        ways: dict[str, Any] = {"copy": copy.copy, "pickle": lambda one: pickle.loads(pickle.dumps(one))}
        copies = [ways[way](one) if way in ways else getattr(one, way)() for one in (self.matcher, self.routes)]
        made.matcher, made.routes = copies
        return made

    def check(self) -> None:
        content = {key: asked.options for key, asked in self.held.items()}
        for one in (self.matcher, self.routes):
            one.check()
            assert {(each.criteria, each.subscriber): each.options for each in one} == content
            assert (len(one), bool(one)) == (len(content), bool(content))
        assert self.matcher.approximate_len() == len(content)

    def empty(self, rng: Random) -> None:
        """Unsubscribe all, in any order: nothing is left."""
        for criteria, subscriber in rng.sample(list(self.held), len(self.held)):
            self.unsubscribe(criteria, subscriber)
            if rng.random() < 0.05:
                self.check()
        self.check()
        assert self.fields is not subtrie.fields or left_in(self.matcher) == []


def left_in(matcher: Any) -> list[Any]:
    """The objects that a matcher's state still leads to: none, if there are no subscriptions."""
    state = state_of(matcher)
    index, clues = state.index, state.clues
    parts = [state.owners, state.rows, index.fields, index.absent]
    return [part for part in (*parts, *([clues.fields, clues.absent] if clues is not None else [])) if part is not None]


def walk(theme: Theme, rng: Random, begin: int, steps: int, fields: Any = subtrie.fields) -> int:
    """Random changes and questions, from some subscriptions on; return how many subscriptions were met."""
    tried, met = Tried(fields), 0

    def some() -> tuple[Any, Any, dict[str, Any]]:
        return theme.criteria(fields, rng), rng.choice(theme.subscribers), rng.choice([{}, {"qos": 1}])

    def known() -> Key:
        return rng.choice(list(tried.held)) if tried.held and rng.random() < 0.9 else some()[:2]

    tried.subscribe_many([(theme.criteria(fields, rng), number, {}) for number in range(begin)])
    older = tried.copied("snapshot")
    for _ in range(steps):
        match rng.randrange(12):
            case 0 | 1 | 2 | 3:
                tried.subscribe(*some())
            case 4:
                tried.subscribe(*known(), {"qos": 2})  # the options of one that is there
            case 5 | 6:
                tried.unsubscribe(*known())
            case 7:
                tried.subscribe_many([some() for _ in range(rng.randrange(9))])
            case 8:
                criteria, subscriber = known()
                tried.replace(criteria, theme.criteria(fields, rng), subscriber)
            case 9 if rng.random() < 0.5:
                tried.unsubscribe_all(rng.choice(theme.subscribers))
            case 10:
                tried.compare(older)
                older = tried.copied("snapshot")
            case 11:
                ways = ["fork", "copy", "pickle"] if fields is subtrie.fields else ["fork", "copy"]
                tried = tried.copied(rng.choice(ways))
                tried.counts = tried.counts or rng.random() < 0.5
        met += sum(tried.ask(theme.message(rng)) for _ in range(2))
    tried.check()
    older.check()
    met += older.ask(theme.message(rng))
    tried.empty(rng)
    return met


@given(
    name=st.sampled_from(sorted(THEMES)),
    seed=st.integers(0, 2**32),
    begin=st.sampled_from([0, 5]),
    steps=st.integers(1, 25),
)
def test_any_sequence(name: str, seed: int, begin: int, steps: int) -> None:
    walk(THEMES[name], Random(seed), begin, steps)


@pytest.mark.parametrize("name", THEMES)
def test_many_subscriptions(name: str) -> None:
    """There are enough of them for crowded places, and for trees and nodes at several levels."""
    assert walk(THEMES[name], Random(name), 300, 30) > 100
