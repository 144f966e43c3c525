"""Specifications of what is particular to the tries: queue groups, exclusions, topic stores, and operations under other
names.
"""

# ruff: noqa: D102 - the methods are those of Spec, and are explained there

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, ClassVar, Final

from stress.by_key import FrozenMap
from stress.history import Operation
from stress.spec import Element, Spec, State
from stress.specs.map import Map
from stress.specs.wildcards import DIALECTS, matches

KNOWN_AS: Final = {
    "get_many": "get", "update": "put", "deliveries": "match", "match_many": "match", "match_iter": "match",
    "deliveries_many": "match",
    "matching": "get", "matching_all": "items", "joined": "items", "groups": "members", "fork": "snapshot",
}  # fmt: skip
"""Operations, by their names in the specifications."""


class _OfPairs(Spec):
    """A specification whose state is a set of tuples."""

    def __init__(self, initial: Any = frozenset()) -> None:
        self.initial = initial


class Shares(_OfPairs):
    """One queue group: its members. A match names any of them, if there is one.

    >>> spec = Shares()
    >>> both = frozenset([("f", "x"), ("f", "y")])
    >>> [spec.successors(both, "match", ("a/b",), (who,)) == [both] for who in "xyz"]
    [True, True, False]
    """

    name = "shares"
    unordered = frozenset({"subscriptions", "members"})

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        match op:
            case "subscribe":
                return state | {args}, args not in state
            case "unsubscribe":
                return state - {args}, args in state
            case "has_match":
                return state, bool(state)
            case "match":
                return state, tuple(who for _, who in sorted(state)[:1])
            case "subscriptions":
                return state, state
            case "members":
                return state, frozenset(who for filter, who in state if filter.startswith("$share/"))
            case "deliveries_of":
                return state, any(who == args[1] for _, who in state)
        return super().step(state, op, args)

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        if op != "match" or not state:
            return super().successors(state, op, args, result)
        return [state] if result in [(who,) for _, who in state] else []


class Exclusions(_OfPairs):
    """Subscriptions to one filter, each with the topic that it does without ("": none).

    >>> spec = Exclusions()
    >>> state, _ = spec.step(frozenset(), "subscribe", ("a.*", "x", "a.b"))
    >>> spec.step(state, "match", ("a.b",))[1], spec.step(state, "match", ("a.c",))[1]
    (frozenset(), frozenset({'x'}))
    """

    name = "exclusions"
    unordered = frozenset({"subscriptions", "snapshot", "match"})

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


class Topics(Map):
    """A topic store: a map of topics to values, with a query by filter over all of them at one instant, answered by a
    naive scan. `initial` is its content at the start.

    Operations and answers are those of `subtrie.TopicStore`: the mapping methods of `Map`, and `matching(filter)`,
    which answers the pairs of topic and value of one instant, in any order.

    Args:
        dialect: "amqp", "mqtt" or "nats".

    >>> Topics().step(FrozenMap({"a.b": 1, "c": 2}), "matching", ("a.*",))[1] == {("a.b", 1)}
    True
    """

    name = "topics"
    read_only = Map.read_only | {"matching"}
    unordered = Map.unordered | {"matching"}
    vocabulary = Map.vocabulary | {"matching"}
    parameters: ClassVar[dict[str, str]] = {**Map.parameters, "matching": "filter"}

    def __init__(
        self, initial: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None = None, *, dialect: str = "amqp"
    ) -> None:
        if dialect not in DIALECTS:
            raise ValueError(f"no dialect {dialect!r}: there are {', '.join(DIALECTS)}")
        super().__init__(initial)
        self.dialect = dialect

    def options(self) -> dict[str, Any]:
        return {"initial": self.initial, "dialect": self.dialect}

    def step(self, state: FrozenMap, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        if op != "matching":
            return super().step(state, op, args)
        return state, frozenset((topic, state[topic]) for topic in self._matching(args[0], state))

    def _matching(self, filter: str, topics: Iterable[Any]) -> list[Any]:
        return [topic for topic in topics if matches(self.dialect, filter, topic)]

    def elements(self, operation: Operation) -> Iterable[Element]:
        return () if operation.op == "matching" else super().elements(operation)

    def footprint(self, operation: Operation, universe: Collection[Element]) -> Any:
        if operation.op == "matching":
            return self._matching(str(operation.args[0]), universe)
        return super().footprint(operation, universe)
