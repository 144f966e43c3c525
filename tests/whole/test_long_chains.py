"""Objects of ours that hold one another, fifty thousand in a row: the last reference to the first one drops them all, and the
stack does not grow with the row. It is a small one, so that some tens of bytes for each object would be too many.

Of the criteria those are tried that hold any object. What all of them hold, they have from one base: `written`. `Not` and
`AnyOf` are nested a hundred deep at most.
"""

from __future__ import annotations

import inspect
from typing import Any, Final

import pytest

import ctrie
import subtrie
import subtrie.fields
from tests.scripts import run_script

pytestmark = pytest.mark.compiled  # for the interpreted twin Python sees to it

PYTHONS_OWN: Final = 1 << 9  # the flag of a class that a `class` statement made; Python drops its instances itself
ROW: Final = """
import sys
from ctrie import AtomicReference, Ctrie, CtrieSet
from subtrie import AMQP, Delivery, Subscription, SubscriptionTrie, TopicStore
from subtrie.fields import *

class Value:
    "Any object that can be compared with another one."
    __slots__ = ("held",)
    def __init__(self, held):
        self.held = held
    def __le__(self, other):
        return True

def filled(made, *how, **named):
    (made.put if isinstance(made, TopicStore) else made.subscribe)(*how, **named)
    return made

def trie(held, **how):
    return filled(SubscriptionTrie(**how), "a.b", held)

def written(held):
    criterion = Present("a")
    criterion.written = held
    return criterion

HOLDERS = {
    "AtomicReference": AtomicReference,
    "Ctrie": lambda held: Ctrie({1: held}),
    "Ctrie, two": lambda held: Ctrie({1: held, 2: held}),
    "Ctrie, colliding": lambda held: Ctrie({1: held, 2**61: held}),
    "Ctrie, its snapshot": lambda held: Ctrie({1: held}).snapshot(),
    "Ctrie, its iterator": lambda held: iter(Ctrie({1: held}).items()),
    "CtrieSet": lambda held: iter(CtrieSet([held])),
    "SubscriptionTrie": trie,
    "SubscriptionTrie, index": lambda held: trie(held, index=True),
    "SubscriptionTrie, options": lambda held: filled(SubscriptionTrie(), "a.b", 1, option=held),
    "SubscriptionTrie, match_iter": lambda held: trie(held).match_iter("a.b"),
    "TopicStore": lambda held: filled(TopicStore(), "a.b", held, 1.0),
    "FieldMatcher": lambda held: filled(FieldMatcher(), [Present("a")], held),
    "FieldMatcher, options": lambda held: filled(FieldMatcher(), [Present("a")], 1, option=held),
    "RoutingMatcher": lambda held: filled(RoutingMatcher(AMQP), "a.b", [Present("a")], held),
    "Subscription": lambda held: Subscription("a", held),
    "Subscription, options": lambda held: Subscription("a", 1, {"option": held}),
    "Delivery": lambda held: Delivery("a", held),
    "Delivery, options": lambda held: Delivery("a", 1, {"option": held}),
    "Delivery, group": lambda held: Delivery("a", 1, {}, held),
    "Delivery, words": lambda held: Delivery("a", 1, {}, None, (held,)),
    "Equals": lambda held: Equals("a", held),
    "OneOf": lambda held: OneOf("a", [held]),
    "NotIn": lambda held: NotIn("a", [held]),
    "Within": lambda held: Within("a", Value(held), None),
    "LessThan": lambda held: LessThan("a", Value(held)),
    "AtMost": lambda held: AtMost("a", Value(held)),
    "GreaterThan": lambda held: GreaterThan("a", Value(held)),
    "AtLeast": lambda held: AtLeast("a", Value(held)),
    "written": written,
}
"""
DROPPED: Final = """
import threading

HEAVY = ("Ctrie", "FieldMatcher", "RoutingMatcher", "SubscriptionTrie", "TopicStore")  # of several frames each

def drop():
    for name, hold in HOLDERS.items():
        held = None
        for _ in range(15_000 if name.startswith(HEAVY) else 50_000):
            held = hold(held)
        print(name, flush=True)
        del held
        print("dropped", flush=True)

threading.stack_size(1 << 21)
dropping = threading.Thread(target=drop)
dropping.start()
dropping.join()
"""


@pytest.mark.slow("makes a million objects, in rows of fifty thousand")
def test_the_stack_does_not_grow_with_the_row() -> None:
    status, output, errors = run_script(ROW + DROPPED)
    assert (status, errors[-1000:]) == (0, ""), output.splitlines()[-1:]


def test_nothing_public_is_left_out() -> None:
    rows: dict[str, Any] = {}
    exec(ROW, rows)
    tried = {type(hold(None)) for hold in rows["HOLDERS"].values()}
    for module in (ctrie, subtrie, subtrie.fields):
        for name in module.__all__:
            kind = getattr(module, name)
            if (
                inspect.isclass(kind)
                and not kind.__flags__ & PYTHONS_OWN
                and not issubclass(kind, subtrie.fields.Criterion)
            ):
                assert kind in tried, name
