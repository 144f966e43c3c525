"""Bound methods as weakly held subscribers."""

from __future__ import annotations

import gc
from collections import deque
from typing import Any

import pytest

from ctrie import drain
from subtrie import MQTT, SubscriptionTrie
from subtrie._trie.draws import seed

pytestmark = pytest.mark.usefixtures("little_to_collect")


class Client:
    def __init__(self) -> None:
        self.inbox: deque[Any] = deque()

    def receive(self, message: object) -> None:
        self.inbox.append(message)


class TestBoundMethods:
    """A bound method is made anew each time, and dropped at once; only the object counts."""

    def test_lives_as_long_as_its_object(self) -> None:
        trie = SubscriptionTrie(weak=True)
        one, other = Client(), Client()
        assert trie.subscribe("a.*", one.receive)
        assert not trie.subscribe("a.*", one.receive)
        assert trie.subscribe("a.*", other.receive)
        assert set(trie.match("a.b")) == {one.receive, other.receive}
        for call in trie.match("a.b"):
            call("hello")
        assert list(one.inbox) == list(other.inbox) == ["hello"]
        assert {found.subscriber for found in trie.deliveries("a.b")} == {one.receive, other.receive}
        del call, one
        gc.collect()
        drain()
        assert trie.match("a.b") == (other.receive,)
        assert len(trie) == 1
        assert trie.unsubscribe("a.*", other.receive)
        assert not trie.unsubscribe("a.*", other.receive)
        assert trie.match("a.b") == ()
        trie.check()

    def test_equal_methods_by_several_filters_are_one(self) -> None:
        trie = SubscriptionTrie(weak=True)
        client = Client()
        for filter in ("a.b", "a.*", "#"):
            trie.subscribe(filter, client.receive)
        assert trie.match("a.b") == (client.receive,)
        assert len(trie.deliveries("a.b", merge="one")) == 1
        assert sorted(trie.filters(client.receive)) == ["#", "a.*", "a.b"]
        assert trie.unsubscribe_all(client.receive) == 3
        trie.check()

    def test_a_method_in_c(self) -> None:
        class Inbox(deque[Any]):
            __hash__ = object.__hash__  # type: ignore[assignment]

        trie = SubscriptionTrie(weak=True)
        inbox = Inbox()
        assert trie.subscribe("a", inbox.append)
        for call in trie.match("a"):
            call(5)
        assert list(inbox) == [5]
        del call, inbox
        gc.collect()
        drain()
        assert trie.match("a") == ()
        assert len(trie) == 0
        trie.check()

    def test_of_a_class(self) -> None:
        class Route:
            @classmethod
            def go(cls) -> None: ...

        trie = SubscriptionTrie(weak=True)
        assert trie.subscribe("a", Route.go)
        assert trie.match("a") == (Route.go,)
        trie.check()

    def test_in_a_group(self) -> None:
        trie = SubscriptionTrie(MQTT, weak=True)
        clients = [Client() for _ in range(3)]
        for client in clients:
            trie.subscribe("$share/g/a", client.receive)
        seed(1)
        assert {trie.match("a")[0] for _ in range(60)} == {client.receive for client in clients}
        del client, clients
        gc.collect()
        drain()
        assert trie.match("a") == trie.deliveries("a") == ()
        trie.check()

    def test_of_an_object_that_cannot_be_weakly_held(self) -> None:
        class Slotted:
            __slots__ = ()

            def receive(self) -> None: ...

        trie = SubscriptionTrie(weak=True)
        with pytest.raises(TypeError, match="cannot create weak reference to 'Slotted' object"):
            trie.subscribe("a", Slotted().receive)
        assert len(trie) == 0
        trie.check()
