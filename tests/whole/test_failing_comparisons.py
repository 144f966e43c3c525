"""One comparison or hash of users' keys raises, whichever it is: the call raises and has changed nothing, or has made its
change. What is found later is whole (`check`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from ctrie import Ctrie, CtrieSet
from subtrie import MQTT, NATS, SubscriptionTrie
from subtrie.fields import Equals, FieldMatcher, OneOf, Present, RoutingMatcher


class Refused(Exception):
    pass


class Asked:
    """What is asked of keys, and which question is refused."""

    left: int | None = None
    once = True


def ask() -> None:
    if Asked.left is None:
        return
    Asked.left -= 1
    if Asked.left == -1 or (Asked.left < 0 and not Asked.once):
        raise Refused


class Key:
    """Equal to others with its number; its hash is that of all."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        ask()
        return 7

    def __eq__(self, other: object) -> bool:
        ask()
        return isinstance(other, Key) and self.number == other.number

    def __repr__(self) -> str:
        return f"key {self.number}"


class Case(NamedTuple):
    make: Callable[[], Any]
    call: Callable[[Any], object]
    many: bool = False  # it makes several changes, and may have made some


def trie(dialect: Any = None, **settings: Any) -> SubscriptionTrie:
    made = SubscriptionTrie(dialect, **settings) if dialect else SubscriptionTrie(**settings)
    for number in range(4):
        made.subscribe("a", Key(number), qos=number)
        made.subscribe("b", Key(number % 2))
    return made


def indexed() -> SubscriptionTrie:
    return trie(index=True)


def queued() -> SubscriptionTrie:
    made = SubscriptionTrie(NATS, index=True)
    for number in range(4):
        made.subscribe("a", Key(number), queue="q")
    return made


def shared() -> SubscriptionTrie:
    made = SubscriptionTrie(MQTT, index=True)
    for number in range(4):
        made.subscribe("$share/g/a", Key(number))
    return made


def matcher() -> FieldMatcher:
    made = FieldMatcher()
    for number in range(4):
        made.subscribe([Equals("a", Key(number))], Key(number))
        made.subscribe([OneOf("a", [Key(number), Key(9)]), Present("b")], Key(number % 2))
    return made


def router() -> RoutingMatcher:
    made = RoutingMatcher()
    for number in range(4):
        made.subscribe("a.*", [Equals("a", Key(number % 2))], Key(number))
    return made


def ctrie() -> Ctrie:
    return Ctrie({Key(number): number for number in range(4)})


CASES = {
    "set": Case(ctrie, lambda m: m.__setitem__(Key(9), 1)),
    "set again": Case(ctrie, lambda m: m.__setitem__(Key(2), 9)),
    "del": Case(ctrie, lambda m: m.__delitem__(Key(2))),
    "pop": Case(ctrie, lambda m: m.pop(Key(2))),
    "compute": Case(ctrie, lambda m: m.compute(Key(2), lambda old: 9)),
    "replace_if": Case(ctrie, lambda m: m.replace_if(Key(2), 2, 9)),
    "update": Case(ctrie, lambda m: m.update([(Key(2), 8), (Key(9), 9)]), many=True),
    "add": Case(lambda: CtrieSet(ctrie()), lambda s: s.add(Key(9))),
    "discard": Case(lambda: CtrieSet(ctrie()), lambda s: s.discard(Key(2))),
    **{
        f"{name} {how}": Case(make, call, many)
        for how, make in (("plain", trie), ("indexed", indexed))
        for name, call, many in (
            ("subscribe", lambda t: t.subscribe("a", Key(9)), False),
            ("subscribe elsewhere", lambda t: t.subscribe("c", Key(1)), False),
            ("subscribe again", lambda t: t.subscribe("a", Key(2), qos=9), False),
            ("subscribe but", lambda t: t.subscribe("a.*", Key(2), but=("a.c",)), False),
            ("unsubscribe", lambda t: t.unsubscribe("a", Key(1)), False),
            ("unsubscribe nobody", lambda t: t.unsubscribe("a", Key(9)), False),
            ("unsubscribe_all", lambda t: t.unsubscribe_all(Key(1)), True),
            ("clear", lambda t: t.clear(), False),
            ("subscribe_many", lambda t: t.subscribe_many([("a", Key(9)), ("c", Key(1))]), True),
            ("unsubscribe_many", lambda t: t.unsubscribe_many([("a", Key(1)), ("b", Key(0))]), True),
        )
    },
    "subscribe queued": Case(queued, lambda t: t.subscribe("a", Key(9), queue="q")),
    "unsubscribe queued": Case(queued, lambda t: t.unsubscribe("a", Key(1), queue="q")),
    "subscribe shared": Case(shared, lambda t: t.subscribe("$share/g/a", Key(9))),
    "unsubscribe shared": Case(shared, lambda t: t.unsubscribe("$share/g/a", Key(1))),
    "fields subscribe": Case(matcher, lambda f: f.subscribe([Equals("a", Key(1)), Present("c")], Key(9))),
    "fields subscribe again": Case(matcher, lambda f: f.subscribe([Equals("a", Key(1))], Key(1), qos=9)),
    "fields unsubscribe": Case(matcher, lambda f: f.unsubscribe([Equals("a", Key(1))], Key(1))),
    "fields unsubscribe_all": Case(matcher, lambda f: f.unsubscribe_all(Key(1)), many=True),
    "fields clear": Case(matcher, lambda f: f.clear()),
    "router subscribe": Case(router, lambda r: r.subscribe("a.*", [Equals("a", Key(1))], Key(9))),
    "router unsubscribe": Case(router, lambda r: r.unsubscribe("a.*", [Equals("a", Key(1))], Key(1))),
    "router unsubscribe_all": Case(router, lambda r: r.unsubscribe_all(Key(1)), many=True),
}


def content(one: Any) -> list[str]:
    found = one.items() if isinstance(one, Ctrie) else one if isinstance(one, CtrieSet) else one.subscriptions()
    return sorted(map(repr, found))


@pytest.mark.parametrize("once", [True, False], ids=["one", "all later"])
@pytest.mark.parametrize("name", CASES)
def test_a_comparison_that_raises_leaves_no_half_change(name: str, once: bool) -> None:
    case = CASES[name]
    Asked.left = None
    made = case.make()
    before = content(made)
    case.call(made)
    after = content(made)
    for number in range(1000):
        made = case.make()
        Asked.once, Asked.left = once, number
        refused = False
        try:
            case.call(made)
        except Refused:
            refused = True
        asked, Asked.left = number - Asked.left, None
        made.check()
        if not refused:
            assert content(made) == after, number
        elif not case.many:
            assert content(made) == before, number
        case.call(made) if case.many else None
        if case.many:
            assert content(made) == after, number
        if asked <= number:
            return
    raise AssertionError("it asks without end")
