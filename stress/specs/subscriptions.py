"""Specification of a set of topic subscriptions with wildcard match, by a naive scan over all of them."""

# ruff: noqa: D102 - the methods are those of Spec, and are explained there

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, ClassVar, Final

from stress.by_key import OfElements
from stress.history import Operation, show
from stress.spec import Element, State
from stress.specs.wildcards import DIALECTS, matches

Pair = tuple[str, Hashable]

_MATCHING: Final = frozenset({"match", "entries", "has_match", "count"})
_WHOLE: Final = frozenset({"subscriptions", "snapshot", "len", "__len__"})
_PAIRS: Final = frozenset({"entries", "subscriptions", "snapshot"})


class Subscriptions(OfElements):
    """Pairs of a topic filter and a subscriber.

    Operations and answers are those of `subtrie.SubscriptionTrie`: `subscribe(filter, subscriber) -> bool`,
    `unsubscribe(filter, subscriber) -> bool`, `unsubscribe_all(subscriber) -> int`, `match(topic)` (the
    distinct subscribers, in any order), `has_match(topic) -> bool`, `count(topic) -> int` (of distinct
    subscribers), `entries(topic)` (pairs), `deliveries_of(topic, subscriber)` (the filters of one subscriber that match
    a topic), `filters(subscriber)`, `subscriptions()` and `snapshot()` (pairs),
    `len()`, `clear()`, `contains(filter, subscriber)`.

    Args:
        dialect: "amqp", "mqtt" or "nats".
        initial: the pairs that are there at the start.

    >>> spec = Subscriptions()
    >>> spec.step(frozenset({("a.*", 1), ("#", 2), ("b", 3)}), "match", ("a.b",))[1] == {1, 2}
    True
    """

    name = "subscriptions"
    read_only = _MATCHING | _WHOLE | frozenset({"filters", "contains", "deliveries_of"})
    unchanged: ClassVar[Mapping[str, object]] = {"subscribe": False, "unsubscribe": False}
    unordered = _PAIRS | frozenset({"match", "filters", "deliveries_of"})
    vocabulary = read_only | frozenset({"subscribe", "unsubscribe", "unsubscribe_all", "clear"})
    parameters: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("subscribe", "unsubscribe", "contains"), "filter, subscriber"),
        **dict.fromkeys(("unsubscribe_all", "filters"), "subscriber"),
        **dict.fromkeys(_MATCHING, "topic"),
        **dict.fromkeys(_WHOLE | {"clear"}, ""),
        "deliveries_of": "topic, subscriber",
    }

    def __init__(self, initial: Iterable[Pair] | None = None, *, dialect: str = "amqp") -> None:
        if dialect not in DIALECTS:
            raise ValueError(f"no dialect {dialect!r}: there are {', '.join(DIALECTS)}")
        self.dialect = dialect
        self.initial: frozenset[Pair] = frozenset(initial or ())
        if not all(
            isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str) for each in set[Any](self.initial)
        ):
            raise ValueError("it must consist of pairs of a filter and a subscriber")
        self._universe: Collection[Any] = ()
        self._cover: dict[Any, list[Pair]] = {}

    def options(self) -> dict[str, Any]:
        return {"initial": self.initial, "dialect": self.dialect}

    def step(self, state: frozenset[Pair], op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        match op:
            case "subscribe":
                return state | {args}, args not in state
            case "unsubscribe":
                return state - {args}, args in state
            case "contains":
                return state, args in state
            case "unsubscribe_all":
                mine = {pair for pair in state if pair[1] == args[0]}
                return state - mine, len(mine)
            case "filters":
                return state, frozenset(filter for filter, subscriber in state if subscriber == args[0])
            case "deliveries_of":
                mine = {pair for pair in state if pair[1] == args[1]}
                return state, frozenset(filter for filter, _ in mine if self._matches(filter, args[0]))
            case "clear":
                return frozenset(), None
            case "len" | "__len__":
                return state, len(state)
            case "subscriptions" | "snapshot":
                return state, state
            case "match" | "entries" | "has_match" | "count":
                return state, self._matching(state, op, args[0])
        return super().step(state, op, args)

    def _matches(self, filter: str, topic: str) -> bool:
        return matches(self.dialect, filter, topic)

    def _matching(self, state: frozenset[Pair], op: str, topic: str) -> Hashable:
        hits = frozenset(pair for pair in state if self._matches(pair[0], topic))
        if op == "entries":
            return hits
        subscribers = frozenset(subscriber for _, subscriber in hits)
        return subscribers if op == "match" else bool(hits) if op == "has_match" else len(subscribers)

    def elements(self, operation: Operation) -> Iterable[Element]:
        return (operation.args,) if operation.op in {"subscribe", "unsubscribe", "contains"} else ()

    def footprint(self, operation: Operation, universe: Collection[Any]) -> Any:
        if operation.op in _MATCHING:
            return self._covered(operation.args[0], universe)
        if operation.op in {"unsubscribe_all", "filters"}:
            return [pair for pair in universe if pair[1] == operation.args[0]]
        if operation.op == "deliveries_of":
            return [pair for pair in self._covered(operation.args[0], universe) if pair[1] == operation.args[1]]
        return super().footprint(operation, universe)

    def _covered(self, topic: Any, universe: Collection[Any]) -> list[Pair]:
        """The pairs of `universe` whose filter matches `topic`. The answers for the last universe are cached."""
        if self._universe is not universe:
            self._universe, self._cover = universe, {}
        if topic not in self._cover:
            self._cover[topic] = [pair for pair in universe if self._matches(pair[0], topic)]
        return self._cover[topic]

    def describe(self, state: frozenset[Pair]) -> str:
        by_filter: dict[str, set[Hashable]] = {}
        for filter, subscriber in state:
            by_filter.setdefault(filter, set()).add(subscriber)
        told = (f"{filter!r}: {show(frozenset(by_filter[filter]))}" for filter in sorted(by_filter))
        return "{" + ", ".join(told) + "}"

    def normalise(self, op: str, result: Any) -> Hashable:
        if op in self.unordered and isinstance(result, Iterable):
            result = [(each[0], each[1]) if op in _PAIRS else each for each in result]
        return super().normalise(op, result)
