"""Specifications of what is particular to the tries: queue groups, and operations under other names."""

# ruff: noqa: D102 - the methods are those of Spec, and are explained there

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from stress.history import freeze
from stress.spec import Spec, State

__all__ = ["KNOWN_AS", "Shares"]

KNOWN_AS: Final = {
    "get_many": "get", "update": "put", "deliveries": "match", "match_many": "match", "match_iter": "match",
    "deliveries_many": "match",
    "matching": "get", "matching_all": "items", "fork": "snapshot",
}  # fmt: skip
"""Operations, by their names in the specifications."""


class Shares(Spec):
    """One queue group: its members in the order in which they came, and the number of turns taken. A match takes a
    turn, if there is a member; the turn's number picks the member. With the last member the group goes, and its turns.

    >>> spec = Shares()
    >>> spec.step((("f", "x"), ("f", "y"), 1), "match", ("a/b",))
    ((('f', 'x'), ('f', 'y'), 2), ('y',))
    """

    name = "shares"
    initial: Any = (0,)

    def __init__(self, initial: Any = (0,)) -> None:
        self.initial = initial

    def step(self, state: tuple[Any, ...], op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        *members, turn = state
        match op:
            case "subscribe":
                return (state, False) if args in members else ((*members, args, turn), True)
            case "unsubscribe" if args not in members:
                return state, False
            case "unsubscribe":
                left = tuple(member for member in members if member != args)
                return (*left, turn if left else 0), True
            case "has_match":
                return state, bool(members)
            case "match" if members:
                return (*members, turn + 1), (members[turn % len(members)][1],)
            case "match":
                return state, ()
            case "subscriptions":
                return state, frozenset(members)
        return super().step(state, op, args)

    def normalise(self, op: str, result: Any) -> Hashable:
        return frozenset(map(freeze, result)) if op == "subscriptions" else freeze(result)
