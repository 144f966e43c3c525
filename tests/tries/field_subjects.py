"""Matchers by fields under test: the calls of `tests.tries.fields`, whose criteria and messages are texts, on a
`FieldMatcher` or a `RoutingMatcher`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, Final

from stress.recorder.record import Deferred
from stress.recorder.workload import Workload, one_of
from tests.tries.fields import Asked, Fields, as_message, as_tests
from tests.tries.under_test import UnderTest, check

_Pairs = list[tuple[str, Any]]
_CRITERIA: Final = {
    "=": "Equals", "!=": "NotIn", "<": "LessThan", "<=": "AtMost", ">": "GreaterThan", ">=": "AtLeast", "^=": "Prefix",
    "$=": "Suffix", "*=": "Wildcard", "~=": "EqualsIgnoringCase", "absent": "Absent", "there": "Present",
}  # fmt: skip


class FieldsUnderTest(UnderTest):
    """The calls of the specification, on the `FieldMatcher` of the module `fields`."""

    def __init__(self, fields: Any, matcher: Any) -> None:
        super().__init__(matcher)
        self._fields = fields
        self._criteria: dict[str, tuple[Any, ...]] = {}
        self._texts: dict[tuple[Any, ...], str] = {}

    def subscribe(self, criteria: str, subscriber: Any) -> bool:
        """As the matcher's."""
        return bool(self.trie.subscribe(*self._asked(criteria), subscriber))

    def unsubscribe(self, criteria: str, subscriber: Any) -> bool:
        """As the matcher's."""
        return bool(self.trie.unsubscribe(*self._asked(criteria), subscriber))

    def subscribe_many(self, pairs: Iterable[tuple[str, Any]]) -> int:
        """As the matcher's."""
        return int(self.trie.subscribe_many([(*self._asked(criteria), subscriber) for criteria, subscriber in pairs]))

    def match(self, message: str) -> Any:
        """Who has a subscription of which all criteria hold."""
        return self.trie.match_all(as_message(message))

    def match_any(self, message: str) -> Any:
        """Who has a subscription of which some criterion holds."""
        return self.trie.match_any(as_message(message))

    def hits(self, message: str) -> list[tuple[str, Any, int]]:
        """How many criteria of each subscription hold, where any does."""
        return [(*self._told(found), count) for found, count in self.trie.hits(as_message(message)).items()]

    def match_many(self, message: str) -> Any:
        """As `match`, asked for twice at one instant."""
        return self._alike(self.trie.match_many([as_message(message)] * 2))

    def deliveries(self, message: str) -> list[Any]:
        """Who gets a message, be it once or more often."""
        return list(dict.fromkeys(delivery.subscriber for delivery in self.trie.deliveries(as_message(message))))

    def subscriptions(self) -> _Pairs:
        """Criteria and subscriber of every subscription."""
        return list(map(self._told, self.trie.subscriptions()))

    def fork(self) -> Deferred:
        """A fork, read later, and after that emptied, which is nobody else's business."""
        taken = self.trie.fork()

        def read() -> _Pairs:
            fork = taken.fork()
            fork.clear()
            fork.check()
            return self.content_of(taken)

        return Deferred(read)

    def content_of(self, trie: Any) -> _Pairs:
        """Criteria and subscriber of every subscription, as it lists them one after another."""
        trie.check()
        listed = list(map(self._told, trie))
        if len(listed) != len(trie):
            raise AssertionError(f"{len(trie)} subscriptions, of which {len(listed)} are listed")
        return listed

    @staticmethod
    def _alike(answers: Any) -> Any:
        one, other = answers
        if set(one) != set(other):
            raise AssertionError(f"one instant has two answers: {one} and {other}")
        return one

    def _asked(self, criteria: str) -> tuple[Any, ...]:
        """What a text asks for, as the arguments of a call."""
        if criteria not in self._criteria:
            asked = self._arguments(as_tests(criteria))
            self._texts[asked] = criteria  # first: what another thread finds below may be listed by a third one at once
            self._criteria[criteria] = asked
        return self._criteria[criteria]

    def _arguments(self, tests: Sequence[Asked]) -> tuple[Any, ...]:
        return (frozenset(map(self._criterion, tests)),)

    def _told(self, found: Any) -> tuple[str, Any]:
        return self._texts[found.criteria,], found.subscriber

    def _criterion(self, test: Asked) -> Any:
        kind = getattr(self._fields, _CRITERIA[test.relation])
        if test.relation in ("there", "absent"):
            return kind(test.name)
        return kind(test.name, [test.value] if test.relation == "!=" else test.value)


class RoutesUnderTest(FieldsUnderTest):
    """The same on a `RoutingMatcher`: the first criterion is the filter, and a message has a topic."""

    def match(self, message: str) -> Any:
        """Who wants a message under a topic."""
        return self.trie.match(*self._routed(message))

    def match_many(self, message: str) -> Any:
        """As `match`, asked for twice at one instant."""
        return self._alike(self.trie.match_many([self._routed(message)] * 2))

    def deliveries(self, message: str) -> list[Any]:
        """Who gets a message, be it once or more often."""
        return list(dict.fromkeys(delivery.subscriber for delivery in self.trie.deliveries(*self._routed(message))))

    def _arguments(self, tests: Sequence[Asked]) -> tuple[Any, ...]:
        topic, *rest = tests
        return topic.value, frozenset(map(self._criterion, rest))

    def _told(self, found: Any) -> tuple[str, Any]:
        return self._texts[found.filter, found.criteria], found.subscriber

    @staticmethod
    def _routed(message: str) -> tuple[str, dict[str, Any]]:
        fields = dict(as_message(message))
        return fields.pop("@"), fields


# ----------------------------------------------------------------------------------------------------------- workloads


_ASKED: Final = (
    (["f=1", "f=", "f=0", "f>=1", "f!=1", "f", "!f"], ["f=1", "f=0", "f=", "g=1"]),
    (["f=1 & g=1", "f=1 & g>=1", "f<2 & g", "f & !g", "f!=1 & g=1", "g=1", "!f"], ["f=1 g=1", "f=1", "g=2", "f=2 g=1"]),
    (["f^=a", "f$=b", "f*=a*b", "f~=AB", "f^=a & g~=b", "f*=*b & g$=b", "f!=ab"], ["f=ab g=b", "f=ab", "f=aB g=B", "f=b g=ab"]),
    (["f>=0 & g<2", "f>1 & g<=2", "f>=0 & g>=0", "f<2 & g<2", "f>=0 & g<2 & !h", "f>=1 & g>=1", "f>0"],
     ["f=1 g=1", "f=2 g=1", "f=0 g=0 h=1", "f=2"]),
)  # fmt: skip
"""Criteria of one field, of two, of texts, and of ranges, and messages for them."""


def _field_workloads() -> list[Workload]:
    """A matcher whose hits are counted from the beginning or now and then, and one that nobody asks for hits."""
    fields = import_module("subtrie.fields")

    def matcher() -> FieldsUnderTest:
        return FieldsUnderTest(fields, fields.FieldMatcher())

    def counting() -> FieldsUnderTest:
        counted = matcher()
        counted.hits("f=1")
        return counted

    plain = [_calls(criteria, messages) for criteria, messages in _ASKED]
    whole = [(call, one_of("f=1", "f=0", "f=", "g=1")) for call in ("match_any", "hits")] * 2
    made = [(matcher, calls) for calls in plain]
    made += [(make, [*calls, *whole]) for make in (matcher, counting) for calls in plain]
    return [Workload(make, Fields(), calls, check, "fields") for make, calls in made]


def _route_workloads() -> list[Workload]:
    """Filters with and without wildcards, and with criteria on top of them or none."""
    fields = import_module("subtrie.fields")

    def matcher() -> RoutesUnderTest:
        return RoutesUnderTest(fields, fields.RoutingMatcher())

    routes = ["@a.b", "@a.b & f=1", "@a.*", "@a.* & f>=1", "@# & f=1", "@#", "@*.b & !f", "@a.# & f=2"]
    messages = ["@a.b f=1", "@a.b", "@a.c f=2", "@x.b f=1"]
    return [Workload(matcher, Fields(), _calls(routes, messages), check, "routes")]


def _calls(criteria: list[str], messages: list[str]) -> list[tuple[Any, ...]]:
    asked, subscriber, message = one_of(*criteria), one_of(1, 2), one_of(*messages)
    several = one_of(*(tuple((each, who) for each in criteria[at : at + 3]) for at in (0, 2, 4) for who in (1, 2)))
    changes: list[tuple[Any, ...]] = [("subscribe", asked, subscriber), ("unsubscribe", asked, subscriber)]
    whole = [("subscriptions",), ("snapshot",), ("__len__",), ("clear",), ("unsubscribe_all", subscriber)]
    return [*changes * 6, *[("match", message)] * 8, ("subscribe_many", several), *whole]


FIELDS: Final = {"fields": _field_workloads, "routes": _route_workloads}
"""Workloads by the names of targets."""
