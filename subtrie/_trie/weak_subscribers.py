"""Weakly held subscribers: references that take their own subscriptions off.

In a trie made with `weak=True` each entry (subscribers.py) has a Held where others have the subscriber: a weak
reference that knows which subscription it stands for. It equals what its subscriber equals, so that a subscriber is
found as in any trie. Once its subscriber is gone it equals nothing but itself: by that, the subscription that it stood
for can still be told from a newer one of an equal subscriber.

The interpreter clears the reference when the subscriber goes, and that is when the subscription ends: whatever answers
read, they show only subscribers that they could still get hold of (`living` in subscribers.py). Then it calls
`_let_go`, wherever that thread may be, perhaps in the middle of another operation on the same trie, which takes the
entry off like any unsubscribe, by a compare-and-set that the interrupted operation notices.

A snapshot and a fork share the references of their trie, and these report to that trie alone. So what dies later stays
in the nodes of a snapshot, and in those of a fork until it is asked for a count or a list of all (`_present` in
trie.py); shown it is by neither.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import BuiltinMethodType, MethodType, ModuleType
from typing import Any


class Held(weakref.ref[Any]):
    """A subscription's reference to its subscriber; `hash` is that of the entry, `key` its filter and queue group, and
    `home` a weak reference to the trie in which it was subscribed."""

    __slots__ = ("hash", "home", "key")
    hash: int
    home: weakref.ref[Any]
    key: tuple[str, str | None]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        one = self()
        two = other() if type(other) in (Held, HeldMethod) else other  # type: ignore[operator]
        return one is not None and two is not None and (one is two or bool(one == two))


class HeldMethod(Held):
    """The same to a bound method, which is made anew each time somebody asks for it: it counts as alive for as long as
    its object and its function are."""

    __slots__ = ("function",)
    function: weakref.ref[Any] | str  # of a method in C, whose function cannot be had, the name

    def __call__(self) -> Any:
        owner = super().__call__()
        if owner is None:
            return None
        if isinstance(self.function, str):
            return getattr(owner, self.function)
        function = self.function()
        return None if function is None else MethodType(function, owner)


def hold(subscriber: Any, hash: int, key: tuple[str, str | None], home: weakref.ref[Any]) -> Held:
    """Make the reference for a subscription. TypeError for an object that cannot be weakly referred to.

    >>> hold("ann", hash("ann"), ("a.*", None), None)
    Traceback (most recent call last):
        ...
    TypeError: cannot create weak reference to 'str' object
    """
    held: Held
    if type(subscriber) is MethodType:
        held = method = HeldMethod(subscriber.__self__, _let_go)
        method.function = weakref.ref(subscriber.__func__)
    elif type(subscriber) is BuiltinMethodType and not isinstance(subscriber.__self__, ModuleType | None):
        held = method = HeldMethod(subscriber.__self__, _let_go)
        method.function = subscriber.__name__
    else:
        held = Held(subscriber, _let_go)
    held.hash = hash
    held.key = key
    held.home = home
    return held


def _let_go(held: Any, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
    """The subscriber is gone: take its subscription off, unless the trie is gone too, or all modules are about to."""
    trie = None if is_finalizing() else held.home()
    if trie is not None:
        trie._let_go(held)
