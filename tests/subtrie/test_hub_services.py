"""The asyncio hub as services need it: what a client is told, how it ends, and what it gets of the past."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from subtrie import AMQP, MQTT, NATS, Delivery, TopicError, TopicStore
from subtrie.hub import Closed, Hub, Slow, SlowReader
from tests.subtrie.event_loops import AT_ONCE, NEVER, Connection, check, run_loop, run_turned, turns


class TestSend:
    @run_loop
    async def test_with_two_arguments_is_told_by_which_subscription_a_message_came(self) -> None:
        hub: Hub[bytes] = Hub(retained=TopicStore(MQTT))
        got: list[tuple[bytes, Delivery[Any]]] = []

        async def send(message: bytes, delivery: Delivery[Any]) -> None:
            got.append((message, delivery))

        await hub.publish("a/0", b"kept")
        async with hub.connect(send) as client:
            client.subscribe("a/+", qos=1, priority=7)
            client.subscribe("$share/g/a/+", slow="newest")
            await hub.publish("a/b", b"x")
            await hub.drain()
        told = sorted(
            (m, one.filter, one.options.get("priority"), one.words, one.subscriber is client) for m, one in got
        )
        assert told == [
            (b"kept", "a/+", 7, ("0",), True),
            (b"x", "$share/g/a/+", None, ("b",), True),
            (b"x", "a/+", 7, ("b",), True),
        ]
        check(hub)

    @run_loop
    async def test_of_several_subscriptions_the_one_that_decides_is_told(self) -> None:
        hub: Hub[bytes] = Hub()
        got: list[str] = []

        async def send(message: bytes, delivery: Delivery[Any]) -> None:
            got.append(delivery.filter)

        async with hub.connect(send) as client:
            client.subscribe("a/#", slow="wait")
            client.subscribe("a/+", slow="drop")
            await hub.publish("a/b", b"x")
            await hub.drain()
        assert got == ["a/#"]

    @run_loop
    async def test_a_replacement_brings_its_own(self) -> None:
        hub: Hub[bytes] = Hub()
        got: list[Any] = []
        reads = asyncio.Event()

        async def send(message: bytes, delivery: Delivery[Any]) -> None:
            await reads.wait()
            got.append((message, delivery.options["n"]))

        async with hub.connect(send) as client:
            client.subscribe("a", slow="newest", n=0)
            for n in range(4):
                client.subscribe("a", slow="newest", n=n)
                await hub.publish("a", b"%d" % n)
            reads.set()
            await hub.drain()
        assert got == [(b"0", 0), (b"3", 3)]

    @pytest.mark.parametrize("shape", ["method", "partial", "object", "lambda", "default"])
    @run_loop
    async def test_may_be_anything_that_can_be_awaited(self, shape: str) -> None:
        hub: Hub[bytes] = Hub()
        got: list[bytes] = []

        class Peer:
            async def send(self, message: bytes) -> None:
                got.append(message)

            async def __call__(self, message: bytes) -> None:
                got.append(message)

        async def to(where: list[bytes], message: bytes) -> None:
            where.append(message)

        async def with_default(message: bytes, *, flush: bool = False) -> None:
            got.append(message)

        sends: dict[str, Any] = {
            "method": Peer().send,
            "partial": partial(to, got),
            "object": Peer(),
            "lambda": lambda message: to(got, message),
            "default": with_default,
        }
        async with hub.connect(sends[shape]) as client:
            client.subscribe("a")
            await hub.publish("a", b"x")
            await hub.drain()
        assert got == [b"x"]

    @run_loop
    async def test_a_plain_function_is_refused_at_once(self) -> None:
        hub: Hub[bytes] = Hub()
        got: list[bytes] = []

        def send(message: bytes) -> None:
            got.append(message)

        with pytest.raises(TypeError, match="make it `async def send`"):
            async with hub.connect(send):  # type: ignore[arg-type]
                pass
        assert hub.clients == set()
        check(hub)


class TestPublish:
    @run_loop
    async def test_a_sender_and_a_key_choose_members_as_deliveries_does(self) -> None:
        hub: Hub[bytes] = Hub(NATS)
        connections = [Connection() for _ in range(3)]
        async with (
            hub.connect(connections[0].send) as one,
            hub.connect(connections[1].send) as two,
            hub.connect(connections[2].send) as three,
        ):
            for client in (one, two, three):
                client.subscribe("jobs", queue="g")
            for _ in range(30):
                await hub.publish("jobs", b"not to the first", sender=one)
            for _ in range(30):
                await hub.publish("jobs", b"k", key="k")
            await hub.drain()
        assert b"not to the first" not in connections[0].got
        assert sorted(each.got.count(b"k") for each in connections) == [0, 0, 30]
        check(hub)


class TestClose:
    @pytest.mark.parametrize("busy", [False, True])
    @pytest.mark.parametrize("inside", [False, True])
    @run_turned
    async def test_ends_the_block_with_its_reason_and_counts_nobody_as_slow(self, inside: bool, busy: bool) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=NEVER)
        connection = Connection(reads=not busy)

        async def serve() -> None:
            async with hub.connect(connection.send) as client:
                client.subscribe("a", slow="wait")
                await asyncio.sleep(1)
                if inside:
                    client.close("rights revoked")
                await asyncio.sleep(NEVER)

        serving = asyncio.create_task(serve())
        await turns()
        publishers = [asyncio.create_task(hub.publish("a", b"x")) for _ in range(4)]
        await turns()
        if not inside:
            (client,) = hub.clients
            client.close("rights revoked")
            client.close("again")
            assert hub.clients == set()
            assert await hub.publish("a", b"x") == 0
        with pytest.raises(Closed, match=r"^rights revoked$") as caught:
            await serving
        assert not isinstance(caught.value, SlowReader)
        await asyncio.gather(*publishers)
        assert hub.counters.closed_as_slow == 0
        assert serving.cancelling() == 0
        check(hub)

    @run_loop
    async def test_a_mailbox_that_others_close_is_not_called_slow(self) -> None:
        hub: Hub[bytes] = Hub()
        with pytest.raises(ConnectionError) as caught:
            async with hub.connect(Connection().send) as client:
                client.mailbox.close()
                await asyncio.Event().wait()
        assert "slowly" not in str(caught.value)
        check(hub)

    @run_loop
    async def test_one_that_has_left_can_be_closed(self) -> None:
        hub: Hub[bytes] = Hub()
        async with hub.connect(Connection().send) as client:
            pass
        client.close("late")
        await turns()
        check(hub)


class TestDrain:
    @pytest.mark.parametrize("seed", range(10))
    @run_turned
    async def test_waits_for_all_that_was_published(self, seed: int) -> None:
        chance = Random(seed)
        hub: Hub[bytes] = Hub(room=2_000, patience=NEVER)
        got: dict[int, list[bytes]] = {n: [] for n in range(5)}

        async def send(n: int, message: bytes) -> None:
            await asyncio.sleep(chance.random())
            got[n].append(message)

        async def serve(n: int) -> None:
            async with hub.connect(partial(send, n)) as client:
                client.subscribe("t", slow="wait")
                await asyncio.Event().wait()

        serving = [asyncio.create_task(serve(n)) for n in range(5)]
        await turns()
        await hub.drain()
        for n in range(20):
            await hub.publish("t", b"%d" % n)
            if chance.random() < 0.2:
                await hub.drain()
                assert all(len(each) == n + 1 for each in got.values()), seed
        await asyncio.gather(hub.drain(), hub.drain())
        assert all(each == [b"%d" % n for n in range(20)] for each in got.values()), seed
        for each in serving:
            each.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        assert (hub.counters.sent, hub.counters.dropped) == (100, 0)
        check(hub)

    @pytest.mark.parametrize("way", ["leaves", "is slow", "is closed", "send raises"])
    @run_turned
    async def test_does_not_wait_for_who_goes(self, way: str) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=AT_ONCE)

        async def send(_: bytes) -> None:
            await asyncio.sleep(1 if way == "send raises" else NEVER)
            raise ConnectionResetError

        async def serve() -> None:
            async with hub.connect(send) as client:
                client.subscribe("t")
                await asyncio.sleep(1 if way == "leaves" else NEVER)

        serving = asyncio.create_task(serve())
        await turns()
        await hub.publish("t", b"0")
        await turns()
        await hub.publish("t", b"1")
        draining = asyncio.create_task(hub.drain())
        await turns()
        assert not draining.done()
        if way == "is slow":
            await hub.publish("t", b"2")
        if way == "is closed":
            next(iter(hub.clients)).close("so")
        await draining
        await asyncio.wait([serving])
        assert isinstance(serving.exception(), ConnectionError | None)
        check(hub)


class TestRetained:
    @pytest.mark.parametrize("slow", ["close", "wait", "newest", "drop"])
    @run_loop
    async def test_who_subscribes_gets_the_last_of_each_topic_and_then_what_comes(self, slow: Slow) -> None:
        store: TopicStore[bytes] = TopicStore(MQTT)
        hub: Hub[bytes] = Hub(retained=store)
        for n in range(3):
            await hub.publish("a/1", b"%d" % n)
        await hub.publish("a/secret", b"s")
        await hub.publish("b", b"b")
        await hub.publish("a/1", b"passing", retain=False)
        assert dict(store.items()) == {"a/1": b"2", "a/secret": b"s", "b": b"b"}
        connection = Connection()
        async with hub.connect(connection.send) as client:
            client.subscribe("a/#", slow=slow, but=("a/secret",))
            client.subscribe("$share/g/b", slow=slow)
            await turns()
            await hub.publish("a/1", b"3")
            await hub.drain()
        assert connection.got == [b"2", b"3"]
        check(hub)

    @run_turned
    async def test_an_old_value_never_comes_after_a_newer_one(self) -> None:
        """A client that has the topic by another filter already, with messages that wait, subscribes once more."""
        hub: Hub[bytes] = Hub(retained=TopicStore(MQTT))
        connection = Connection(reads=False)
        async with hub.connect(connection.send) as client:
            client.subscribe("x", slow="newest")
            client.subscribe("a/+", slow="newest")
            await hub.publish("x", b"x")
            await turns()
            await hub.publish("a/1", b"1")
            await hub.publish("a/1", b"2", retain=False)
            client.subscribe("a/#", slow="newest")
            connection.reads.set()
            await hub.drain()
        assert connection.got == [b"x", b"2"]
        check(hub)

    @pytest.mark.parametrize("slow", ["close", "wait", "newest"])
    @run_turned
    async def test_more_than_the_room_comes_to_a_client_that_reads_before_what_is_live(self, slow: Slow) -> None:
        hub: Hub[bytes] = Hub(room=500, patience=1, retained=TopicStore(MQTT))
        for n in range(100):
            await hub.publish(f"a/{n}", b"old" + bytes(97))
        connection = Connection()
        async with hub.connect(connection.send) as client:
            client.subscribe("a/#", slow=slow)
            assert client.mailbox.bytes <= 500
            live = asyncio.create_task(hub.publish("a/x", b"live"))
            await connection.has(101)
            assert await live == 1
            await hub.drain()
        assert [message[:4] for message in connection.got] == 100 * [b"old\0"] + [b"live"]
        check(hub)

    @run_turned
    async def test_a_client_that_does_not_read_them_is_slow(self) -> None:
        hub: Hub[bytes] = Hub(room=500, patience=1, retained=TopicStore(MQTT))
        for n in range(100):
            await hub.publish(f"a/{n}", bytes(100))
        with pytest.raises(SlowReader, match="too slowly"):
            async with hub.connect(Connection(reads=False).send) as client:
                client.subscribe("a/#")
                await asyncio.sleep(NEVER)
        check(hub)

    @run_loop
    async def test_what_is_refused_is_not_kept(self) -> None:
        store: TopicStore[bytes] = TopicStore(MQTT)
        hub: Hub[bytes] = Hub(retained=store, size=lambda message: len(message))
        wrong: list[tuple[Callable[[], Any], type[Exception]]] = [
            (lambda: hub.publish("a/+", b"x"), TopicError),
            (lambda: hub.publish("a", 5), TypeError),  # type: ignore[arg-type]
        ]
        for publish, error in wrong:
            with pytest.raises(error):
                await publish()
        assert not store
        with pytest.raises(ValueError, match="a store of MQTT, and the hub is of AMQP"):
            Hub(AMQP, retained=store)

    @run_loop
    async def test_a_dialect_with_groups_gives_members_none(self) -> None:
        hub: Hub[bytes] = Hub(NATS, retained=TopicStore(NATS))
        await hub.publish("jobs", b"1")
        connection = Connection()
        async with hub.connect(connection.send) as client:
            client.subscribe("jobs", queue="g")
            client.subscribe("jobs")
            await hub.drain()
        assert connection.got == [b"1"]
        check(hub)
