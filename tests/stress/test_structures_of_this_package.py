"""Objects of this package within an object that is explored: a call of theirs is a step, as one of an object in C is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from ctrie import Ctrie, CtrieSet
from stress import Spec, Verdict, explore
from subtrie import SubscriptionTrie, TopicStore
from subtrie.baselines.locked import LockedTrie
from subtrie.baselines.naive import NaiveMatcher
from subtrie.fields import Equals, FieldMatcher


class Structure(NamedTuple):
    make: Callable[[], Any]
    add: Callable[[Any, str], object]
    discard: Callable[[Any, str], object]
    has: Callable[[Any, str], object]


def of_filters(make: Callable[[], Any]) -> Structure:
    return Structure(
        make, lambda it, what: it.subscribe(what, 1), lambda it, what: it.unsubscribe(what, 1),
        lambda it, what: it.match(what),
    )  # fmt: skip


def of_keys(make: Callable[[], Any]) -> Structure:
    return Structure(
        make, lambda it, what: it.__setitem__(what, 1), lambda it, what: it.__delitem__(what),
        lambda it, what: what in it,
    )  # fmt: skip


STRUCTURES = {
    "a map": of_keys(Ctrie),
    "a set": Structure(CtrieSet, CtrieSet.add, CtrieSet.discard, CtrieSet.__contains__),
    "a store": of_keys(TopicStore),
    "a trie": of_filters(SubscriptionTrie),
    "a trie under a lock": of_filters(LockedTrie),
    "tables": of_filters(NaiveMatcher),
    "fields": Structure(
        FieldMatcher, lambda it, what: it.subscribe([Equals("what", what)], 1),
        lambda it, what: it.unsubscribe([Equals("what", what)], 1), lambda it, what: it.match_all({"what": what}),
    ),
}  # fmt: skip


class Seen:
    """Wrong: it looks at three things one after another, each of which another thread adds and takes away."""

    def __init__(self, structure: Structure) -> None:
        self.lock, self.calls = threading.Lock(), 0
        self.structure, self.there = structure, structure.make()

    def pass_by(self) -> None:
        with self.lock:
            self.calls += 1
        for what in "abc":
            self.structure.add(self.there, what)
            self.structure.discard(self.there, what)

    def all_seen(self) -> bool:
        with self.lock:
            self.calls += 1
        return all(self.structure.has(self.there, what) for what in "abc")


class NeverAll(Spec):
    initial = None

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return state, (False if op == "all_seen" else None)


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_call_of_the_packages_own_structures_is_a_step(name: str) -> None:
    outcome = explore(lambda: Seen(STRUCTURES[name]), NeverAll(), [[("pass_by",)], [("all_seen",)]])
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary


@pytest.mark.parametrize("made", [Ctrie, CtrieSet, SubscriptionTrie, LockedTrie, NaiveMatcher])
def test_such_a_structure_by_itself_is_refused(made: Any) -> None:
    with pytest.raises(ValueError, match=r"cannot be explored, since each of its calls is one step: use stress\.run"):
        explore(made, None, [[("check",)], [("check",)]])
