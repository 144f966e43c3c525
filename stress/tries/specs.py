"""Specifications of what is particular to the tries: queue groups, exclusions, and operations under other names."""

# ruff: noqa: D102 - the methods are those of Spec, and are explained there

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Final

from stress.history import freeze
from stress.spec import Spec, State

__all__ = ["KNOWN_AS", "Exclusions", "Shares"]

KNOWN_AS: Final = {
    "get_many": "get", "update": "put", "deliveries": "match", "match_many": "match", "match_iter": "match",
    "deliveries_many": "match",
    "matching": "get", "matching_all": "items", "joined": "items", "groups": "members", "fork": "snapshot",
}  # fmt: skip
"""Operations, by their names in the specifications."""


def _in_any_order(result: Any) -> Hashable:
    """An answer whose order says nothing; an exception is itself."""
    return frozenset(map(freeze, result)) if isinstance(result, Iterable) else freeze(result)


class Shares(Spec):
    """One queue group: its members in the order in which they came, and who is next. A match takes a turn, if there is
    a member. Nobody is next (None) until there has been a match with these members: that one takes any of them. Members
    that have changed after a match are drawn by lot from then on (LOTS), until the last has left.

    >>> spec = Shares()
    >>> spec.step((("f", "x"), ("f", "y"), 1), "match", ("a/b",))
    ((('f', 'x'), ('f', 'y'), 0), ('y',))
    >>> sorted(spec.successors((("f", "x"), ("f", "y"), None), "match", ("a/b",), ("y",)))
    [(('f', 'x'), ('f', 'y'), 0)]
    >>> after, _ = spec.step((("f", "x"), 0), "subscribe", ("f", "y"))
    >>> [spec.successors(after, "match", ("a/b",), (who,)) == [after] for who in "xyz"]
    [True, True, False]
    """

    name = "shares"
    initial: Any = (None,)

    def __init__(self, initial: Any = (None,)) -> None:
        self.initial = initial

    def step(self, state: tuple[Any, ...], op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        *members, turn = state
        match op:
            case "subscribe":
                return (state, False) if args in members else (_changed([*members, args], turn), True)
            case "unsubscribe" if args not in members:
                return state, False
            case "unsubscribe":
                return _changed([member for member in members if member != args], turn), True
            case "has_match":
                return state, bool(members)
            case "match" if members and isinstance(turn, int):
                return (*members, (turn + 1) % len(members)), (members[turn][1],)
            case "match":
                return state, ()
            case "subscriptions":
                return state, frozenset(members)
            case "members":
                return state, frozenset(who for filter, who in members if filter.startswith("$share/"))
            case "deliveries_of":
                return state, any(who == args[1] for _, who in members)
        return super().step(state, op, args)

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        *members, turn = state
        if op != "match" or isinstance(turn, int) or not members:
            return super().successors(state, op, args, result)
        if turn is LOTS:
            return [state] if result in [(who,) for _, who in members] else []
        turns = [(*members, place) for place in range(len(members))]
        return [after for each in turns for after in super(Shares, self).successors(each, op, args, result)]

    def normalise(self, op: str, result: Any) -> Hashable:
        return _in_any_order(result) if op in {"subscriptions", "members"} else freeze(result)


LOTS: Final = "lots"
"""The turn of a group that has changed since a message: each of the next ones is drawn by lot, for longer than any of
our histories."""


def _changed(members: list[Any], turn: Any) -> State:
    """Return the group with these members. One that has lost its last member is gone: the next is new."""
    return (*members, LOTS if members and turn is not None else None)


class Exclusions(Spec):
    """Subscriptions to one filter, each with the topic that it does without ("": none).

    >>> spec = Exclusions()
    >>> state, _ = spec.step(frozenset(), "subscribe", ("a.*", "x", "a.b"))
    >>> spec.step(state, "match", ("a.b",))[1], spec.step(state, "match", ("a.c",))[1]
    (frozenset(), frozenset({'x'}))
    """

    name = "exclusions"
    initial: Any = frozenset()

    def __init__(self, initial: Any = frozenset()) -> None:
        self.initial = initial

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        others = frozenset(each for each in state if each[:2] != args[:2])
        match op:
            case "subscribe":
                return others | {args}, len(others) == len(state)
            case "unsubscribe":
                return others, len(others) < len(state)
            case "clear":
                return frozenset(), None
            case "match":
                return state, frozenset(who for _, who, without in state if without != args[0])
            case "has_match":
                return state, any(without != args[0] for *_, without in state)
            case "subscriptions" | "snapshot":
                return state, state
        return super().step(state, op, args)

    def normalise(self, op: str, result: Any) -> Hashable:
        return _in_any_order(result) if op in {"subscriptions", "snapshot", "match"} else freeze(result)
