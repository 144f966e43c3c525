"""Values that options and subscribers may have: those that come back, those that come back as equal ones, and others."""

from __future__ import annotations

import datetime
import decimal
import operator
import uuid
from collections import OrderedDict
from typing import Any

from tests.odd_values import Mute, MuteNumber, Name, Number, Raises, cyclic

ODD: list[Any] = [
    *(None, True, 5, -1, 2**63, 2**64, -(2**63) - 1, 10**6000, 0.5, float("inf"), "x", "~x", "", "\ud800"),
    *("\ud83d\ude00", "😀", [1, (2,)], {"a": 1}, {1: 2}, {"~tuple": [1]}, {"a": {"~x": 1}}, (1, 2), (), {1}),
    *(frozenset([(1,)]), b"\0\xff", decimal.Decimal("1.50"), uuid.UUID(int=7), datetime.date(2026, 1, 1)),
    *({"\ud800": 1}, datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)),  # noqa: DTZ001
]
"""Values that come back with their types."""

SUBSCRIBERS = [value for value in ODD if getattr(value, "__hash__", None) and value is not None]


class Connection:
    """It has no form as text."""

    def __repr__(self) -> str:
        raise RuntimeError("not even this")


HOPELESS: list[Any] = [object(), Connection(), cyclic(), [object()], {"a": Connection()}, len]
"""Values that cannot be stored."""

EQUAL: list[Any] = [
    *(Number.ONE, Name("x"), Name("\ud800"), OrderedDict(a=1), [Number.ONE]),
    *(Mute("x"), Mute("\ud800"), MuteNumber(5), MuteNumber(2**70)),
]
"""Values that come back as equal ones without a type of their own."""


class Elements(list[int]):
    """It compares as an array does: element by element."""

    def __eq__(self, other: object) -> Any:
        return Elements(map(operator.eq, self, [other] if isinstance(other, int) else other))  # type: ignore[call-overload]

    __hash__ = None  # type: ignore[assignment]


NOWHERE: list[Any] = [*HOPELESS, Raises(5), [Raises(5)], bytearray(b"x"), 1j, ..., Elements([5])]
"""Values that cannot be stored, and some that cannot even be compared."""

ALIKE: list[tuple[Any, Any]] = [
    *((1, True), (True, 1), (1, 1.0), (0.0, -0.0), ([1], [True]), ({"a": 1}, {"a": 1.0}), ((1,), (True,))),
    *(({1}, {True}), (decimal.Decimal("1.0"), decimal.Decimal("1.00")), (2**70, float(2**70)), (1, decimal.Decimal(1))),
    (
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    ),
]
"""Pairs of equal values that can be told apart."""


def shown(value: Any) -> Any:
    """What equals a value alone, and its type; a NaN equals itself."""
    return "NaN" if value != value else (type(value), value)  # noqa: PLR0124


def held(trie: Any) -> dict[tuple[Any, ...], dict[str, Any]]:
    """What a trie holds, with the types."""
    trie.check()
    return {
        (one.filter, shown(one.subscriber), one.options.get("queue")): {
            name: shown(value) for name, value in one.options.items()
        }
        for one in trie.subscriptions()
    }


def earlier(trie: Any, publish: Any) -> None:
    """The content of the versions in tests/data/published-3.zip, which an earlier version of this package published with
    this function: values of many types, names that had no columns of their own, and in NATS queue groups."""
    queue: dict[str, Any] = {"queue": "~g"} if trie.dialect.queue_groups else {}
    for number, value in enumerate(ODD):
        trie.subscribe(f"a{number}", "s", **{"n": value, "~n": "x", "m" * 300: 1, "\ud800": number, **queue})
    trie.subscribe("b", "bob", n="text", **queue)
    publish()
    for value in SUBSCRIBERS:
        trie.subscribe("s", value, n=5, **queue)
    trie.unsubscribe("b", "bob", **queue)
    publish()
    trie.subscribe("a1", "s", n=(1,), **queue)
    trie.subscribe("b", "bob", n=None, **queue)
    publish()
