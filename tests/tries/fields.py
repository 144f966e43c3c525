"""Specification of a field matcher: pairs of criteria and a subscriber, asked about messages by naive scan.

Criteria and messages are texts here, so that a history can be read, written and replayed:

    f=1 & g        the field f is 1, and there is a field g          f!=1      f is there, and not 1
    f>=1 & !g      f is 1 or more, and there is no field g           @a.*      the topic matches the filter a.*
    f=1 g=x @a.b   a message with these fields, and with this topic

A value that reads as a number is one, and every other one is text. What is left of `f=` is the empty text.
"""

# ruff: noqa: D102 - the methods are those of Spec, and are explained there

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, ClassVar, Final, NamedTuple

from stress.history import Operation
from stress.spec import Element, State
from stress.specs.subscriptions import Subscriptions
from stress.specs.wildcards import matches

_TEST: Final = re.compile(r"(?P<absent>!?)(?P<name>\w+)(?:(?P<relation><=|>=|!=|\^=|\$=|\*=|~=|=|<|>)(?P<value>.*))?")
_RELATIONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "^=": str.startswith, "$=": str.endswith, "*=": fnmatchcase, "~=": lambda found, text: found.lower() == text.lower(),
    "@": lambda topic, filter: matches("amqp", filter, topic), "there": lambda found, value: True,
}  # fmt: skip
_TOPIC: Final = "@"


class Asked(NamedTuple):
    """What is asked of one field: `relation` is one of _RELATIONS, where "@" is for the filter of a topic,
    or "absent"."""

    name: str
    relation: str
    value: Any = None

    def holds(self, message: Mapping[str, Any]) -> bool:
        """Whether a message is as asked."""
        if self.relation == "absent" or self.name not in message:
            return self.relation == "absent" and self.name not in message
        found = message[self.name]
        is_comparable = self.relation in {"=", "!=", "there"} or isinstance(found, str) == isinstance(self.value, str)
        return is_comparable and _RELATIONS[self.relation](found, self.value)


@lru_cache(maxsize=65536)
def as_tests(criteria: str) -> tuple[Asked, ...]:
    """What criteria ask for, each by itself.

    >>> as_tests("f>=1 & !g")
    (Asked(name='f', relation='>=', value=1), Asked(name='g', relation='absent', value=None))
    """
    return tuple(map(_as_test, criteria.split(" & ")))


def _as_test(text: str) -> Asked:
    if text.startswith(_TOPIC):
        return Asked(_TOPIC, _TOPIC, text[1:])
    found = _TEST.fullmatch(text)
    if found is None or (found["absent"] and found["relation"]):
        raise ValueError(f"no criterion: {text!r}")
    if found["relation"]:
        return Asked(found["name"], found["relation"], _as_value(found["value"]))
    return Asked(found["name"], "absent" if found["absent"] else "there")


@lru_cache(maxsize=65536)
def as_message(message: str) -> Mapping[str, Any]:
    """The fields of a message, and its topic under the name "@", if it has one.

    >>> dict(as_message("f=1 g=x @a.b"))
    {'f': 1, 'g': 'x', '@': 'a.b'}
    """
    fields: dict[str, Any] = {}
    for word in message.split():
        name, _, value = (_TOPIC, "", word[1:]) if word.startswith(_TOPIC) else word.partition("=")
        fields[name] = value if name == _TOPIC else _as_value(value)
    return fields


def _as_value(text: str) -> Any:
    return int(text) if re.fullmatch(r"-?\d+", text) else text


@lru_cache(maxsize=65536)
def _met(criteria: str, message: str) -> tuple[int, int]:
    """How many of the criteria hold, and how many there are."""
    tests, fields = as_tests(criteria), as_message(message)
    return sum(test.holds(fields) for test in tests), len(tests)


class Fields(Subscriptions):
    """Pairs of criteria and a subscriber. `initial` are those that are there at the start.

    Operations and answers are those of `subtrie.fields.FieldMatcher`: `subscribe(criteria, subscriber) -> bool`,
    `unsubscribe(criteria, subscriber) -> bool`, `subscribe_many(pairs) -> int`, `unsubscribe_all(subscriber) -> int`,
    `match(message)`, which is `match_all`, and `match_any(message)` (the distinct subscribers, in any order),
    `hits(message)` (criteria, subscriber, and how many of the criteria hold, if any does), `subscriptions()` and
    `snapshot()` (pairs), `len()`, `clear()`, `contains(criteria, subscriber)`. Two texts are two sets of criteria.

    >>> Fields().step(frozenset({("f=1", 1), ("f=2", 2), ("f>0 & !g", 3)}), "match", ("f=1",))[1] == {1, 3}
    True
    """

    name = "fields"
    read_only = Subscriptions.read_only - {"filters", "entries", "has_match", "count"} | {"match_any", "hits"}
    unordered = Subscriptions.unordered | {"hits", "match_any"}
    vocabulary = read_only | {"subscribe", "unsubscribe", "subscribe_many", "unsubscribe_all", "clear"}
    parameters: ClassVar[Mapping[str, str]] = {
        **Subscriptions.parameters,
        **dict.fromkeys(("subscribe", "unsubscribe", "contains"), "criteria, subscriber"),
        **dict.fromkeys(("match", "match_any", "hits"), "message"),
        "subscribe_many": "pairs",
    }

    def __init__(self, initial: Iterable[tuple[str, Hashable]] | None = None) -> None:
        super().__init__(initial)

    def options(self) -> dict[str, Any]:
        return {"initial": self.initial}

    def _matches(self, filter: str, topic: str) -> bool:
        met, asked = _met(filter, topic)
        return met == asked

    def step(self, state: frozenset[Any], op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        match op:
            case "subscribe_many":
                new = frozenset(args[0]) - state
                return state | new, len(new)
            case "hits":
                counts = ((*pair, _met(pair[0], args[0])[0]) for pair in state)
                return state, frozenset(each for each in counts if each[2])
            case "match_any":
                return state, frozenset(subscriber for criteria, subscriber in state if _met(criteria, args[0])[0])
        return super().step(state, op, args)

    def elements(self, operation: Operation) -> Iterable[Element]:
        return _several(operation) if operation.op == "subscribe_many" else super().elements(operation)


def _several(operation: Operation) -> tuple[Any, ...]:
    """The pairs that `subscribe_many` is given."""
    pairs: Any = operation.args[0]
    return tuple(pairs)
