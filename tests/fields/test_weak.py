"""Weakly held subscribers of fields."""

from __future__ import annotations

import gc
import weakref

import pytest

from ctrie import drain
from subtrie.fields import Equals, FieldMatcher, Present, Within
from tests.fields.test_matcher import left_in


class Subscriber:
    """A subscriber that can be weakly referenced. It is equal to any other with the same name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subscriber) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class TestWeakSubscribers:
    def test_who_is_gone_is_on_nothing_any_more(self) -> None:
        matcher = FieldMatcher(weak=True)
        ann, bob = Subscriber("ann"), Subscriber("bob")
        matcher.subscribe([Equals("a", 1)], ann)
        matcher.subscribe([Present("a")], ann, qos=1)
        matcher.subscribe([Present("a")], bob)
        snapshot = matcher.snapshot()
        assert set(matcher.match_all({"a": 1})) == {ann, bob}
        assert set(matcher.match_any({"a": 1})) == {ann, bob}
        del ann
        gc.collect()
        for one in (matcher, snapshot):
            assert one.match_all({"a": 1}) == one.match_any({"a": 1}) == (bob,)
            assert [d.subscriber for d in one.deliveries({"a": 1})] == [bob]
            assert len(one) == 1
            assert [s.subscriber for s in one] == [bob]
        matcher.check()
        assert matcher.unsubscribe([Present("a")], Subscriber("bob"))
        assert left_in(matcher) == []

    def test_bound_methods_are_shown_as_what_they_are(self) -> None:
        """The interpreter makes a new bound method at each access; what counts is that the method's object is alive."""

        class Inbox:
            def urgent(self) -> None: ...
            def rest(self) -> None: ...

        matcher, inbox = FieldMatcher(weak=True), Inbox()
        matcher.subscribe([Present("a")], inbox.urgent)
        matcher.subscribe([Equals("a", 1)], inbox.rest)
        matcher.subscribe([Equals("a", 1)], inbox)
        everybody = {inbox, inbox.urgent, inbox.rest}
        message = {"a": 1}
        assert set(matcher.match_all(message)) == set(matcher.match_any(message)) == everybody
        assert {d.subscriber for d in matcher.deliveries(message)} == everybody
        assert {s.subscriber for s in matcher} == {s.subscriber for s in matcher.hits(message)} == everybody
        assert matcher.unsubscribe([Present("a")], inbox.urgent)
        del inbox, everybody
        gc.collect()
        assert left_in(matcher) == []

    def test_who_cannot_be_weakly_held_is_refused(self) -> None:
        matcher = FieldMatcher(weak=True)
        with pytest.raises(TypeError, match="cannot create weak reference to 'int' object"):
            matcher.subscribe([Present("a")], 1)
        assert not matcher
        matcher.check()

    def test_a_matcher_keeps_no_cycle_alive(self) -> None:
        class Bus:
            pass

        bus = Bus()
        bus.matcher = FieldMatcher()  # type: ignore[attr-defined]
        bus.matcher.subscribe([Equals("a", 1), Within("b", 0, 1)], bus)  # type: ignore[attr-defined]
        for n in range(100):
            bus.matcher.subscribe([Equals("a", n), Within("b", 0, n)], n)  # type: ignore[attr-defined]
        gone = weakref.ref(bus)
        del bus
        gc.collect()
        drain()
        gc.collect()
        assert gone() is None
