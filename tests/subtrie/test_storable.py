"""What can be stored as text, and rebuilt (`subtrie.tagged.require_storable`): the rest is refused by name."""

from __future__ import annotations

import socket
from decimal import Decimal
from typing import Any

import pytest

from subtrie.tagged import require_storable
from tests.odd_values import Name, Number, Raises, cyclic

GOOD: list[Any] = [
    *(None, True, 5, 10**6000, 0.5, float("nan"), float("inf"), "", "\ud800", "~x", b"\xff", (1, "x"), Decimal("1.50")),
    *({1: 2}, [1, [2]], {"a": {3}}, frozenset({1}), Number.ONE, Name("x"), {"~tuple": [1]}),
]
BAD: list[Any] = [
    object(), len, socket.socket, 1j, bytearray(b"x"), ..., cyclic(), [object()], {"a": object()}, Raises(5),
]  # fmt: skip


@pytest.mark.parametrize("value", GOOD, ids=lambda value: type(value).__name__)
def test_takes_what_can_be_stored(value: Any) -> None:
    require_storable("a", "s", {"note": value})
    require_storable("a", value, {})


@pytest.mark.parametrize("value", BAD, ids=lambda value: type(value).__name__)
def test_refuses_everything_else_by_name(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="option 'note' cannot be stored"):
        require_storable("a", "s", {"good": 1, "note": value})
    with pytest.raises((TypeError, ValueError), match="the subscriber cannot be stored"):
        require_storable("a", value, {})


def test_refuses_a_filter_without_a_form() -> None:
    with pytest.raises(ValueError, match="the filter cannot be stored"):
        require_storable("a\ud800", "s", {})
