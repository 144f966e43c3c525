"""Objects of this package within an object that is explored: a call of theirs is a step, as one of an object in C is."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ctrie import Ctrie, CtrieSet
from stress import Spec, Verdict, explore
from subtrie import SubscriptionTrie, TopicStore
from subtrie.baselines.locked import LockedTrie
from subtrie.baselines.naive import NaiveMatcher
from subtrie.fields import Equals, FieldMatcher

pytestmark = pytest.mark.slow


class Seen:
    """Wrong: it looks at four things one after another, each of which another thread adds and takes away."""

    make: Any
    add: Any
    discard: Any
    has: Any

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.calls = 0
        self.there = self.make()

    def pass_by(self) -> None:
        with self.lock:
            self.calls += 1
        for number in range(3):
            self.add(str(number))
            self.discard(str(number))

    def all_seen(self) -> bool:
        with self.lock:
            self.calls += 1
        return all(self.has(str(number)) for number in range(3))


class SeenInMap(Seen):
    make: Any = Ctrie

    def add(self, what: str) -> None:
        self.there[what] = 1

    def discard(self, what: str) -> None:
        del self.there[what]

    def has(self, what: str) -> bool:
        return what in self.there


class SeenInSet(Seen):
    make = CtrieSet

    def add(self, what: str) -> None:
        self.there.add(what)

    def discard(self, what: str) -> None:
        self.there.discard(what)

    def has(self, what: str) -> bool:
        return what in self.there


class SeenInStore(SeenInMap):
    make = TopicStore


class SeenInTrie(Seen):
    make: Any = SubscriptionTrie

    def add(self, what: str) -> None:
        self.there.subscribe(what, 1)

    def discard(self, what: str) -> None:
        self.there.unsubscribe(what, 1)

    def has(self, what: str) -> bool:
        return bool(self.there.match(what))


class SeenUnderLock(SeenInTrie):
    make = LockedTrie


class SeenInTables(SeenInTrie):
    make = NaiveMatcher


class SeenInFields(Seen):
    make: Any = FieldMatcher

    def add(self, what: str) -> None:
        self.there.subscribe([Equals("what", what)], 1)

    def discard(self, what: str) -> None:
        self.there.unsubscribe([Equals("what", what)], 1)

    def has(self, what: str) -> bool:
        return bool(self.there.match_all({"what": what}))


class NeverAll(Spec):
    initial = None

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return state, (False if op == "all_seen" else None)


@pytest.mark.parametrize(
    "made",
    [
        SeenInMap, SeenInSet, SeenInStore, SeenInTrie, SeenUnderLock, SeenInTables, SeenInFields,
    ],
)  # fmt: skip
def test_a_call_of_the_packages_own_structures_is_a_step(made: Any) -> None:
    outcome = explore(made, NeverAll(), [[("pass_by",)], [("all_seen",)]])
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary


@pytest.mark.parametrize("made", [Ctrie, CtrieSet, SubscriptionTrie, LockedTrie, NaiveMatcher])
def test_such_a_structure_by_itself_is_refused(made: Any) -> None:
    with pytest.raises(ValueError, match=r"cannot be explored, since each of its calls is one step: use stress\.run"):
        explore(made, None, [[("check",)], [("check",)]])
