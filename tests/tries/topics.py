"""Specification of a topic store: a map whose keys are topics, with a query by filter over all of them at one instant,
answered by a naive scan.
"""

# ruff: noqa: D102 - the methods are those of Spec, and are explained there

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, ClassVar

from stress.by_key import FrozenMap, without_order
from stress.history import UNSEEN, Operation, Raised, freeze
from stress.spec import Element, State
from stress.specs.map import Map
from stress.specs.wildcards import DIALECTS, matches


class Topics(Map):
    """A map of topics to values. `initial` is its content at the start.

    Operations and answers are those of `subtrie.TopicStore`: the mapping methods of `Map`, and `matching(filter)`,
    which answers the pairs of topic and value of one instant, in any order.

    Args:
        dialect: "amqp", "mqtt" or "nats".

    >>> Topics().step(FrozenMap({"a.b": 1, "c": 2}), "matching", ("a.*",))[1] == {("a.b", 1)}
    True
    """

    name = "topics"
    read_only = Map.read_only | {"matching"}
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

    def project(self, operation: Operation, element: Element, universe: Collection[Element]) -> Operation | None:
        if operation.op != "matching":
            return super().project(operation, element, universe)
        if not matches(self.dialect, operation.args[0], str(element)):
            return None
        return super().project(operation._replace(op="items", args=()), element, universe)

    def shows(self, operation: Operation) -> Iterable[Hashable]:
        return super().shows(operation._replace(op="items", args=()) if operation.op == "matching" else operation)

    def normalise(self, op: str, result: Any) -> Hashable:
        if op != "matching" or isinstance(result, (BaseException, Raised)) or result is UNSEEN:
            return super().normalise(op, result)
        return without_order([freeze(pair) for pair in result])
