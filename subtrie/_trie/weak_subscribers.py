"""Weakly held subscribers: references that remove their own subscriptions.

In a trie made with `weak=True`, each entry (subscribers.py) has a Held instead of the subscriber: a weak reference that
knows its subscription. It equals whatever its subscriber equals, so a subscriber is found as in any trie. Once its
subscriber is dead, it equals only itself. So its subscription still differs from a newer one of an equal subscriber.

The interpreter clears the reference when the subscriber dies, and at this moment the subscription ends: answers contain
only subscribers that were still alive (`living` in subscribers.py). Then the interpreter calls `_let_go` in the current
thread, perhaps in the middle of another operation on the same trie. `_let_go` removes the entry like any unsubscribe,
by a compare-and-set that the interrupted operation notices.

A snapshot and a fork share the references of their trie, and these report only to that trie. So an entry whose
subscriber dies later stays in the nodes of a snapshot. It stays in those of a fork until the fork counts or lists all
subscriptions (`_present` in trie.py). Neither shows it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import BuiltinMethodType, MethodType, ModuleType
from typing import Any


class Held(weakref.ref[Any]):
    """A subscription's reference to its subscriber. `hash` is that of the entry, `key` is its filter and queue group,
    and `home` is a weak reference to the trie in which it was subscribed."""

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
    """A reference to a bound method, which Python makes anew each time it is read. It counts as alive as long as its
    object and its function are."""

    __slots__ = ("function",)
    function: weakref.ref[Any] | str  # the name, for a method in C, whose function is not accessible

    def __call__(self) -> Any:
        owner = super().__call__()
        if owner is None:
            return None
        if isinstance(self.function, str):
            return getattr(owner, self.function)
        function = self.function()
        return None if function is None else MethodType(function, owner)


def hold(subscriber: Any, hash: int, key: tuple[str, str | None], home: weakref.ref[Any]) -> Held:
    """Make the reference for a subscription. TypeError for an object that does not support weak references.

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
    """Remove the subscription of a dead subscriber, unless the trie is dead, too, or the interpreter is exiting."""
    trie = None if is_finalizing() else held.home()
    if trie is not None:
        trie._let_go(held)
