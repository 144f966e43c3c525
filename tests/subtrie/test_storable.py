"""`SubscriptionTrie(storable=True)`: whoever subscribes what could not be published gets the error."""

from __future__ import annotations

import copy
import pickle
import socket
from decimal import Decimal
from typing import Any

import pytest

from subtrie import AMQP, MQTT, NATS, Dialect, Subscription, SubscriptionTrie
from tests.odd_values import Name, Number, Raises, cyclic

GOOD: list[Any] = [
    *(None, True, 5, 10**6000, 0.5, float("nan"), float("inf"), "", "\ud800", "~x", b"\xff", (1, "x"), Decimal("1.50")),
    *({1: 2}, [1, [2]], {"a": {3}}, frozenset({1}), Number.ONE, Name("x"), {"~tuple": [1]}),
]
BAD: list[Any] = [
    object(), len, socket.socket, 1j, bytearray(b"x"), ..., cyclic(), [object()], {"a": object()}, Raises(5),
]  # fmt: skip


def empty(**settings: Any) -> SubscriptionTrie:
    return SubscriptionTrie(MQTT, storable=True, **settings)


@pytest.mark.parametrize("value", GOOD, ids=lambda value: type(value).__name__)
def test_takes_what_can_be_stored(value: Any) -> None:
    trie = empty()
    assert trie.subscribe("a", "s", note=value)
    assert trie.subscribe_many([("b", "s", {"note": value})]) == 1
    if getattr(value, "__hash__", None) and not isinstance(value, tuple | frozenset):
        assert trie.subscribe("c", value)
    trie.check()


@pytest.mark.parametrize("value", BAD, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("settings", [{}, {"index": True}, {"exact": True}, {"on_interest": lambda *_: None}])
def test_refuses_everything_else_and_changes_nothing(value: Any, settings: dict[str, Any]) -> None:
    trie = empty(**settings)
    trie.subscribe("there", "s")
    before = trie.snapshot()
    with pytest.raises((TypeError, ValueError), match="option 'note' cannot be stored"):
        trie.subscribe("a", "s", note=value)
    rows: list[Any] = [("a", "s"), ("b", "s", {"note": value}), ("c", "s")]
    for given in (rows, iter(rows), [Subscription(*row) for row in rows]):
        with pytest.raises((TypeError, ValueError), match="option 'note' cannot be stored"):
            trie.subscribe_many(given)
    if getattr(value, "__hash__", None) and not isinstance(value, int):
        with pytest.raises(TypeError, match="the subscriber cannot be stored"):
            trie.subscribe("a", value)
    assert list(trie.diff(before)) == []
    trie.check()


@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS])
def test_refuses_a_filter_without_a_form(dialect: Dialect) -> None:
    with pytest.raises(ValueError, match=r"surrogate|the filter cannot be stored"):
        SubscriptionTrie(dialect, storable=True).subscribe("a\ud800", "s")


def test_other_errors_are_as_ever() -> None:
    trie = empty()
    plain = SubscriptionTrie(MQTT)
    given: Any
    for given in ([("a",)], [5], [("a/#/b", "s")], [(5, "s")], [("a", [])], [("a", "s", 5)], [("a", "s", {"qos": 9})]):
        with pytest.raises(Exception) as right:  # noqa: PT011
            plain.subscribe_many(given)
        with pytest.raises(type(right.value)):
            trie.subscribe_many(given)
    assert len(trie) == 0


def test_stays_with_forks_copies_and_pickles_and_removal_asks_nothing() -> None:
    trie = empty()
    trie.subscribe("a", "s")
    for other in (trie.fork(), copy.copy(trie), copy.deepcopy(trie), pickle.loads(pickle.dumps(trie))):
        with pytest.raises(TypeError):
            other.subscribe("b", "s", note=object())
        assert not other.unsubscribe("b", object())
        assert other.unsubscribe_many([("b", object()), ("a", "s", {"note": object()})]) == 1
    assert trie.snapshot().fork().subscribe("b", "s")
    assert SubscriptionTrie(MQTT).subscribe("a", "s", note=object())
