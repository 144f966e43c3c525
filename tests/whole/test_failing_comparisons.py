"""One comparison or hash of users' keys raises, whichever it is: the call raises and has changed nothing, or has made its
change. What is found later is whole (`check`), and counted right."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

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


def filled(make: Callable[[], Any], rows: list[tuple[Any, ...]], **options: Any) -> Any:
    made = make()
    for *where, number in rows:
        made.subscribe(*where, Key(number), **options)
    return made


four = range(4)
trie = [row for n in four for row in (("a", n), ("b", n % 2))]
fields = [
    row for n in four for row in (([Equals("a", Key(n))], n), ([OneOf("a", [Key(n), Key(9)]), Present("b")], n % 2))
]
MAKE: dict[str, Callable[[], Any]] = {
    "map": lambda: Ctrie({Key(number): number for number in four}),
    "set": lambda: CtrieSet(Key(number) for number in four),
    "trie": partial(filled, SubscriptionTrie, trie),
    "indexed": partial(filled, lambda: SubscriptionTrie(index=True), trie),
    "queued": partial(filled, lambda: SubscriptionTrie(NATS, index=True), [("a", n) for n in four], queue="q"),
    "shared": partial(filled, lambda: SubscriptionTrie(MQTT, index=True), [("$share/g/a", n) for n in four]),
    "fields": partial(filled, FieldMatcher, fields),
    "routes": partial(filled, RoutingMatcher, [("a.*", [Equals("a", Key(n % 2))], n) for n in four]),
}

# Calls by what is made. One that makes several changes may have made some; the same call again makes what is left.
CALLS: dict[str, dict[str, Callable[[Any], object]]] = {
    "map": {
        "set": lambda m: m.__setitem__(Key(9), 1),
        "set again": lambda m: m.__setitem__(Key(2), 9),
        "del": lambda m: m.__delitem__(Key(2)),
        "pop": lambda m: m.pop(Key(2)),
        "compute": lambda m: m.compute(Key(2), lambda old: 9),
        "replace_if": lambda m: m.replace_if(Key(2), 2, 9),
        "update, several": lambda m: m.update([(Key(2), 8), (Key(9), 9)]),
    },
    "set": {"add": lambda s: s.add(Key(9)), "discard": lambda s: s.discard(Key(2))},
    "trie": {
        "subscribe": lambda t: t.subscribe("a", Key(9)),
        "subscribe elsewhere": lambda t: t.subscribe("c", Key(1)),
        "subscribe again": lambda t: t.subscribe("a", Key(2), qos=9),
        "subscribe but": lambda t: t.subscribe("a.*", Key(2), but=("a.c",)),
        "unsubscribe": lambda t: t.unsubscribe("a", Key(1)),
        "unsubscribe nobody": lambda t: t.unsubscribe("a", Key(9)),
        "unsubscribe_all, several": lambda t: t.unsubscribe_all(Key(1)),
        "clear": lambda t: t.clear(),
        "subscribe_many, several": lambda t: t.subscribe_many([("a", Key(9)), ("c", Key(1))]),
        "unsubscribe_many, several": lambda t: t.unsubscribe_many([("a", Key(1)), ("b", Key(0))]),
    },
    "queued": {
        "subscribe": lambda t: t.subscribe("a", Key(9), queue="q"),
        "unsubscribe": lambda t: t.unsubscribe("a", Key(1), queue="q"),
    },
    "shared": {
        "subscribe": lambda t: t.subscribe("$share/g/a", Key(9)),
        "unsubscribe": lambda t: t.unsubscribe("$share/g/a", Key(1)),
    },
    "fields": {
        "subscribe": lambda f: f.subscribe([Equals("a", Key(1)), Present("c")], Key(9)),
        "subscribe again": lambda f: f.subscribe([Equals("a", Key(1))], Key(1), qos=9),
        "unsubscribe": lambda f: f.unsubscribe([Equals("a", Key(1))], Key(1)),
        "unsubscribe_all, several": lambda f: f.unsubscribe_all(Key(1)),
        "clear": lambda f: f.clear(),
    },
    "routes": {
        "subscribe": lambda r: r.subscribe("a.*", [Equals("a", Key(1))], Key(9)),
        "unsubscribe": lambda r: r.unsubscribe("a.*", [Equals("a", Key(1))], Key(1)),
        "unsubscribe_all, several": lambda r: r.unsubscribe_all(Key(1)),
    },
}  # fmt: skip
CALLS["indexed"] = CALLS["trie"]


def content(one: Any) -> list[str]:
    found = one.items() if isinstance(one, Ctrie) else one if isinstance(one, CtrieSet) else one.subscriptions()
    return sorted(map(repr, found))


@pytest.mark.parametrize("once", [True, False], ids=["one", "all later"])
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, calls in CALLS.items() for name in calls])
def test_a_comparison_that_raises_leaves_no_half_change(kind: str, name: str, once: bool) -> None:
    make, call, several = MAKE[kind], CALLS[kind][name], "several" in name
    Asked.left = None
    made = make()
    before = content(made)
    call(made)
    after = content(made)
    for number in range(1000):
        made = make()
        Asked.once, Asked.left = once, number
        refused = False
        try:
            call(made)
        except Refused:
            refused = True
        asked, Asked.left = number - Asked.left, None
        made.check()
        assert len(made) == len(content(made)) == getattr(made, "approximate_len", made.__len__)()
        if several:
            call(made)
        assert content(made) == (before if refused and not several else after), number
        if asked <= number:
            return
    raise AssertionError("it asks without end")
