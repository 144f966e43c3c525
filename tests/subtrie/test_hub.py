"""The asyncio hub: what its clients get, in which order and by which subscription, and what slow readers cost others.

`test_mailbox.py` has the order and the patience of one mailbox, `test_hub_ways_out.py` how a client's block ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, get_args

import pytest

from subtrie import AMQP, MQTT, NATS, Delivery, TopicError, TopicStore
from subtrie.hub import Client, Counters, Hub, Slow, SlowReader
from subtrie.mailbox import EACH
from tests.subtrie.event_loops import AT_ONCE, NEVER, Connection, new_hub, now, run_loop, run_turned, turns

every_policy = pytest.mark.parametrize("slow", get_args(Slow))


async def stays(hub: Hub[Any], send: Any, *filters: str, **options: Any) -> None:
    """Connect a client that subscribes and stays until it is cancelled or broken off."""
    async with hub.connect(send) as client:
        for filter in filters:
            client.subscribe(filter, **options)
        await asyncio.Event().wait()


async def ended(*serving: asyncio.Task[None]) -> list[type[Any]]:
    """Cancel the tasks that still run, and return what came out of each."""
    for each in serving:
        each.cancel()
    return [type(each) for each in await asyncio.gather(*serving, return_exceptions=True)]


class TestSlowReaders:
    @run_loop
    async def test_they_take_no_more_memory_than_their_rooms(self) -> None:
        hub = new_hub(room=100_000, patience=AT_ONCE)
        fast = Connection()
        readers = [*(Connection(reads=False) for _ in range(4)), fast]
        tasks = [asyncio.create_task(stays(hub, each.send, "#")) for each in readers]
        await turns()
        for _ in range(450):
            await hub.publish("t", b"x" * 10_000)
            assert sum(client.mailbox.bytes for client in hub.clients) <= 5 * 100_000
        await fast.has(450)
        assert len(hub.clients) == 1
        assert hub.counters.closed_as_slow == 4
        assert await ended(*tasks) == [SlowReader] * 4 + [asyncio.CancelledError]

    @run_turned
    async def test_those_that_are_slow_together_are_waited_for_together(self) -> None:
        hub = new_hub(room=1, patience=10)
        serving = [asyncio.create_task(stays(hub, Connection(reads=False).send, "t")) for _ in range(20)]
        await turns()
        fast, seen = Connection(), list[int]()
        serving.append(asyncio.create_task(stays(hub, fast.send, "t", slow="wait")))
        await turns()
        asyncio.get_running_loop().call_later(5, lambda: seen.append(len(fast.got)))
        for n in range(20):
            await hub.publish("t", b"%d" % n)
        assert (now(), seen) == (10, [3]), "others have what a publisher waits with"
        assert await ended(*serving) == [SlowReader] * 20 + [asyncio.CancelledError]


class TestOrder:
    @every_policy
    @run_loop
    async def test_is_that_of_publish_but_the_newest_take_the_place_of_older_ones(self, slow: Slow) -> None:
        hub = new_hub()
        connection = Connection(reads=False)
        expected = [b"z 1", b"x 4", b"y 3", b"z 5"] if slow == "newest" else [b"z 1", b"x 2", b"y 3", b"x 4", b"z 5"]
        async with hub.connect(connection.send) as client:
            client.subscribe("#", slow=slow)
            for message in (b"z 1", b"x 2", b"y 3", b"x 4", b"z 5"):
                await hub.publish(message[:1].decode(), message)
                await turns()  # the first one is being sent
            connection.reads.set()
            await connection.has(len(expected))
            await turns()
        assert connection.got == expected


class TestSeveralSubscriptions:
    @pytest.mark.parametrize("slow", ["close", "newest"])
    @run_loop
    async def test_give_one_copy_and_one_more_for_each_group(self, slow: Slow) -> None:
        hub = new_hub()
        connection = Connection(reads=False)
        async with hub.connect(connection.send) as client:
            for filter in ("a/+", "a/#", "$share/g/a/+", "$share/g/a/#", "$share/h/a/+"):
                client.subscribe(filter, slow=slow)
            assert await hub.publish("a/b", b"0") == 4
            await turns()
            for n in range(1, 9):
                assert await hub.publish("a/b", b"%d" % n) == 4
            connection.reads.set()
            await connection.has(5 if slow == "newest" else 36)
            await turns()
            assert client.unsubscribe("a/+")
        if slow == "newest":
            assert connection.got == [b"0"] + 4 * [b"8"]  # one was being sent
        else:
            assert connection.got == [b"%d" % n for n in range(9) for _ in range(4)]
        assert hub.counters.taken == hub.counters.sent + hub.counters.dropped

    @pytest.mark.parametrize("second", get_args(Slow))
    @pytest.mark.parametrize("first", get_args(Slow))
    @run_turned
    async def test_of_different_policies_the_one_that_promises_most_decides(self, first: Slow, second: Slow) -> None:
        decides = next(each for each in ("wait", "close", "newest", "drop") if each in (first, second))
        hub = new_hub(room=1, patience=1)
        connection = Connection(reads=False)
        told: list[str] = []

        async def send(message: bytes, delivery: Delivery[Any]) -> None:
            await connection.send(message)
            told.append(delivery.options["slow"])

        async def serve() -> None:
            async with hub.connect(send) as client:
                client.subscribe("p/1", slow=first)
                client.subscribe("p/+", slow=second)
                await asyncio.sleep(NEVER)

        serving = asyncio.create_task(serve())
        await turns()
        await hub.publish("p/1", b"0")  # is being sent
        await turns()
        (client,) = hub.clients
        await hub.publish("p/1", b"1")
        last = asyncio.create_task(hub.publish("p/1", b"2"))
        await asyncio.sleep(2)
        assert last.done() == (decides != "wait")
        assert client.mailbox.closed.is_set() == (decides == "close")
        connection.reads.set()
        await asyncio.sleep(1)
        expected = {"wait": [b"0", b"1", b"2"], "close": [], "newest": [b"0", b"2"], "drop": [b"0", b"1"]}
        assert connection.got == expected[decides]
        assert set(told) <= {decides}
        await ended(serving)
        await last

    @run_loop
    async def test_each_message_says_by_which_one_it_came(self) -> None:
        hub = new_hub(retained=TopicStore(MQTT))
        got: list[tuple[bytes, Delivery[Any]]] = []
        reads = asyncio.Event()

        async def send(message: bytes, delivery: Delivery[Any]) -> None:
            await reads.wait()
            got.append((message, delivery))

        await hub.publish("a/0", b"kept")
        async with hub.connect(send) as client:
            client.subscribe("a/+", qos=1, priority=7)
            client.subscribe("$share/g/a/+", slow="newest")
            await hub.publish("a/b", b"x")
            for n in range(3):  # a replacement brings its own
                client.subscribe("$share/g/a/+", slow="newest", priority=n)
                await hub.publish("a/b", b"y")
            reads.set()
            await hub.drain()
        told = sorted(
            (m, one.filter, one.options.get("priority"), one.words, one.subscriber is client) for m, one in got
        )
        own = [(message, "a/+", 7, ("b",), True) for message in (b"x", b"y", b"y", b"y")]
        group = (b"y", "$share/g/a/+", 2, ("b",), True)
        assert told == sorted([(b"kept", "a/+", 7, ("0",), True), *own, group])

    @run_loop
    async def test_a_sender_and_a_key_choose_members_and_members_leave(self) -> None:
        hub = new_hub(NATS)
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
                await hub.publish("jobs", b"k", key="k")
            await hub.drain()
            assert not one.unsubscribe("jobs")
            assert one.unsubscribe("jobs", queue="g")
            assert len(hub.routes) == 2
        assert b"not to the first" not in connections[0].got
        assert sorted(each.got.count(b"k") for each in connections) == [0, 0, 30]


class TestSend:
    @pytest.mark.parametrize("shape", ["method", "partial", "object", "lambda", "default", "option", "any"])
    @run_loop
    async def test_may_be_anything_that_can_be_awaited(self, shape: str) -> None:
        hub = new_hub()
        got: list[bytes] = []

        class Peer:
            async def send(self, message: bytes) -> None:
                got.append(message)

            __call__ = send

        async def to(where: list[bytes], message: bytes) -> None:
            where.append(message)

        sends: dict[str, Any] = {
            "method": Peer().send,
            "partial": partial(to, got),
            "object": Peer(),
            "lambda": lambda message: to(got, message),
            "default": lambda message, *, flush=False: to(got, message),
            "option": lambda message, where=got: to(where, message),  # as `text` of the `send` of websockets
            "any": lambda *arguments: to(got, *arguments),
        }
        async with hub.connect(sends[shape]) as client:
            client.subscribe("a")
            await hub.publish("a", b"x")
            await hub.drain()
        assert got == [b"x"]

    @run_loop
    async def test_a_plain_function_is_refused_at_once(self) -> None:
        hub = new_hub()

        def send(message: bytes) -> None: ...

        with pytest.raises(TypeError, match="make it `async def send`"):
            async with hub.connect(send):  # type: ignore[arg-type]
                pass
        assert hub.clients == set()


class TestDrain:
    @pytest.mark.parametrize("seed", range(5))
    @run_turned
    async def test_waits_for_all_that_was_published(self, seed: int) -> None:
        chance = Random(seed)
        hub = new_hub(room=2_000, patience=NEVER)
        got: dict[int, list[bytes]] = {n: [] for n in range(5)}

        async def send(n: int, message: bytes) -> None:
            await asyncio.sleep(chance.random())
            got[n].append(message)

        serving = [asyncio.create_task(stays(hub, partial(send, n), "t", slow="wait")) for n in range(5)]
        await turns()
        await hub.drain()
        for n in range(20):
            await hub.publish("t", b"%d" % n)
            if chance.random() < 0.2:
                await hub.drain()
                assert all(len(each) == n + 1 for each in got.values()), seed
        await asyncio.gather(hub.drain(), hub.drain())
        assert all(each == [b"%d" % n for n in range(20)] for each in got.values()), seed
        await ended(*serving)
        assert (hub.counters.sent, hub.counters.dropped) == (100, 0)

    @pytest.mark.parametrize("way", ["leaves", "is slow", "is closed", "send raises"])
    @run_turned
    async def test_does_not_wait_for_who_goes(self, way: str) -> None:
        hub = new_hub(room=1, patience=AT_ONCE)

        async def send(_: bytes) -> None:
            await asyncio.sleep(1 if way == "send raises" else NEVER)
            raise ConnectionResetError

        serving = asyncio.create_task(stays(hub, send, "t"))
        await turns()
        await hub.publish("t", b"0")
        await turns()
        await hub.publish("t", b"1")
        draining = asyncio.create_task(hub.drain())
        await turns()
        assert not draining.done()
        if way == "is slow":
            await hub.publish("t", b"2")
        elif way == "is closed":
            next(iter(hub.clients)).close("so")
        elif way == "leaves":
            serving.cancel()
        await draining
        await asyncio.wait([serving])
        (kind,) = await ended(serving)
        assert issubclass(kind, asyncio.CancelledError if way == "leaves" else ConnectionError)


class TestRetained:
    @every_policy
    @run_loop
    async def test_who_subscribes_gets_the_last_of_each_topic_and_then_what_comes(self, slow: Slow) -> None:
        store: TopicStore[bytes] = TopicStore(MQTT)
        hub = new_hub(retained=store)
        for n in range(3):
            await hub.publish("a/1", b"%d" % n)
        await hub.publish("a/secret", b"s")
        await hub.publish("b", b"b")
        await hub.publish("a/1", b"passing", retain=False)
        assert dict(store.items()) == {"a/1": b"2", "a/secret": b"s", "b": b"b"}
        connection = Connection()
        async with hub.connect(connection.send) as client:
            client.subscribe("a/#", slow=slow, but=("a/secret",), queue="is no group in MQTT")
            client.subscribe("$share/g/b", slow=slow)
            await turns()
            await hub.publish("a/1", b"3")
            await hub.drain()
        assert connection.got == [b"2", b"3"]

    @pytest.mark.parametrize("seed", range(40))
    @run_turned
    async def test_an_old_value_never_comes_after_a_newer_one(self, seed: int) -> None:
        """A client that has topics by another filter, with messages that wait in its mailbox or for room, subscribes
        again. If all is by "newest", one message of each topic waits."""
        chance, others = Random(seed), get_args(Slow)[seed % 4]
        hub = new_hub(retained=TopicStore(MQTT), room=chance.choice([100, 200, 1_000]), patience=NEVER)
        reads, got = asyncio.Semaphore(0), list[bytes]()
        last = {b"%d" % topic: b"" for topic in range(4)}

        async def send(message: bytes) -> None:
            await reads.acquire()
            got.append(message)

        async with asyncio.TaskGroup() as publishing, hub.connect(send) as client:
            for n in range(60):
                if chance.random() < 0.3:
                    filter = chance.choice(["a/+", "a/#", "#", "a/1", "a/2"])
                    client.subscribe(filter, slow=others if "#" in filter else "newest")
                elif chance.random() < 0.3:
                    reads.release()
                else:
                    topic = chance.choice(list(last))
                    last[topic] = b"%s at %02d" % (topic, n)
                    publishing.create_task(hub.publish(f"a/{topic.decode()}", last[topic]))
                await turns(3)
            client.subscribe("#", slow=others)
            before = len(got)
            for _ in range(500):
                reads.release()
            await hub.drain()
        assert others != "newest" or len(got) - before <= 1 + len(last), seed
        for topic, newest in last.items():
            mine = [message for message in got if message[:1] == topic]
            assert (mine, mine[-1:]) == (sorted(mine), [newest] if newest else []), seed

    @pytest.mark.parametrize("way", ["cancels", "reads"])
    @run_turned
    async def test_one_that_cannot_be_made_ends_the_block_and_all_count(self, way: str) -> None:
        sizes = [1, 1, 1, 1, 300, 1, 1]  # from the end: of x, of what is retained, and of the first of it once more
        store: TopicStore[bytes] = TopicStore(MQTT)
        store["r/0"] = store["r/1"] = store["r/2"] = b"r"
        hub = new_hub(retained=store, room=200, size=lambda _: sizes.pop())
        connection = Connection(reads=False)
        with pytest.raises(IndexError):
            async with hub.connect(connection.send) as client:
                client.subscribe("x", slow="wait")
                large = [asyncio.create_task(hub.publish("x", b"x")) for _ in range(3)][-1]
                await turns()
                client.subscribe("r/#", slow="wait")
                large.cancel() if way == "cancels" else connection.reads.set()
                await asyncio.sleep(NEVER)
        counters = hub.counters
        expected = (3, 0, 5) if way == "cancels" else (4, 2, 3)  # of the retained ones that wait, one counts
        assert (counters.taken, counters.sent, counters.dropped) == expected

    @pytest.mark.parametrize("reads", [True, False])
    @pytest.mark.parametrize("slow", ["close", "wait", "newest"])
    @run_turned
    async def test_more_than_the_room_comes_to_a_client_that_reads_before_what_is_live(
        self, slow: Slow, reads: bool
    ) -> None:
        hub = new_hub(room=500, patience=1, retained=TopicStore(MQTT))
        for n in range(100):
            await hub.publish(f"a/{n}", b"old" + bytes(97))
        connection = Connection(reads)

        async def serve() -> None:
            async with hub.connect(connection.send) as client:
                client.subscribe("a/#", slow=slow)
                assert client.mailbox.bytes <= 500
                made.append(len(client.mailbox) + len(client.mailbox._publishers))
                await client.mailbox.put(b"mark", slow=slow)
                await asyncio.sleep(NEVER)

        made: list[int] = []
        serving = asyncio.create_task(serve())
        await turns(1)
        assert made == [100 if slow == "newest" else 4], "the others are made when there is room for them"
        live = asyncio.create_task(hub.publish("a/x", b"live"))
        if reads:
            await connection.has(102)
            assert await live == 1
            await hub.drain()
        else:
            await asyncio.sleep(10)
            assert serving.done() == (slow == "close")  # as slow as one that does not read what is live
        kinds = await ended(serving)
        await live
        assert kinds == [asyncio.CancelledError if reads or slow != "close" else SlowReader]
        assert [message[:4] for message in connection.got] == (100 * [b"old\0"] + [b"mark", b"live"] if reads else [])

    @run_loop
    async def test_what_is_refused_is_not_kept_and_members_of_groups_get_none(self) -> None:
        store: TopicStore[bytes] = TopicStore(NATS)
        hub = new_hub(NATS, retained=store, size=lambda message: len(message))
        wrong: list[tuple[Callable[[], Any], type[Exception]]] = [
            (lambda: hub.publish("a.*", b"x"), TopicError),
            (lambda: hub.publish("a", 5), TypeError),  # type: ignore[arg-type]
        ]
        for publish, error in wrong:
            with pytest.raises(error):
                await publish()
        assert not store
        with pytest.raises(ValueError, match="a store of NATS, and the hub is of AMQP"):
            Hub(AMQP, retained=store)
        for log in (-1, 1.5):
            with pytest.raises(ValueError, match="log must be a whole number of bytes"):
                Hub(log=log)  # type: ignore[arg-type]
        await hub.publish("jobs", b"1")
        connection = Connection()
        async with hub.connect(connection.send) as client:
            client.subscribe("jobs", queue="g")
            client.subscribe("jobs")
            store["job"] = 5  # type: ignore[assignment]  # others may write to the store, too
            with pytest.raises(TypeError):
                client.subscribe(">")
            await hub.drain()
            assert hub.routes.filters(client) == ["jobs"]
        assert connection.got == [b"1"]


class TestComingBack:
    @pytest.mark.parametrize("slow", ["close", "newest"])
    @pytest.mark.parametrize("seed", range(20))
    @run_loop
    async def test_gives_what_was_missed_in_order(self, seed: int, slow: Slow) -> None:
        """At any moment, and several times; by "newest", at least the newest of each topic."""
        print("seed", seed)
        random, filters = Random(seed), ["a/+", "#"]
        hub = new_hub(room=random.choice([100, 300]), patience=NEVER, log=1 << 20)
        expected: list[bytes] = []
        got: list[bytes] = []
        position = hub.position
        reads, clients = [asyncio.Semaphore(0)], list[Client[bytes]]()
        publishing: list[asyncio.Task[int]] = []

        async def send(message: bytes) -> None:
            nonlocal position
            await reads[-1].acquire()
            got.append(message)
            position = clients[-1].position

        for _ in range(6):
            reads.append(asyncio.Semaphore(0))
            async with hub.connect(send) as client:
                clients.append(client)
                assert client.resume(position, filters, slow=slow) <= len(expected)
                for _ in range(random.randrange(10)):
                    if random.random() < 0.4:
                        reads[-1].release()
                    message = b"%d of %d" % (len(expected), random.randrange(3))
                    publishing.append(asyncio.create_task(hub.publish(f"a/{message[-1:].decode()}", message)))
                    expected.append(message)
                    await turns(3)
            for _ in range(random.randrange(3)):  # while it is away
                expected.append(b"%d of 1" % len(expected))
                await hub.publish("a/1", expected[-1])
        async with hub.connect(send) as client:
            clients.append(client)
            client.resume(position, filters, slow=slow)
            for _ in range(1_000):
                reads[-1].release()
            await hub.drain()
        await asyncio.gather(*publishing)
        if slow == "close":
            assert got == expected
        else:
            assert {each[-1:]: each for each in got} == {each[-1:]: each for each in expected}

    @run_loop
    async def test_from_too_far_back_or_from_elsewhere_is_refused_and_changes_nothing(self) -> None:
        others, hub = [new_hub().position for _ in range(20)], new_hub(log=3 * (EACH + 1))
        assert all(abs(each - hub.position) > 1_000_000 for each in others), "what one process sends in a minute"
        for number in range(5):
            await hub.publish("a", b"%d" % number)
        first = hub.position - 2
        connection, log = Connection(), f"the log has {first} to {hub.position}"
        async with hub.connect(connection.send) as client, new_hub().connect(connection.send) as without:
            with pytest.raises(TypeError, match=f"several filters in a list, not {first} and a str"):
                client.resume(first, "a/#")
            for who, error, wrong, why in (
                *((client, LookupError, one, log) for one in (others[0], first - 2, hub.position + 1)),
                *(
                    (client, TypeError, one, f"a whole number, .* not {one!r}")
                    for one in (first + 0.5, str(first), None)
                ),
                (without, LookupError, -1, "empty, or there is none"),
            ):
                with pytest.raises(error, match=why):
                    who.resume(wrong, ["a"])  # type: ignore[arg-type]
            with pytest.raises(TopicError):
                client.resume(first, ["a", "#/a"])
            with pytest.raises(ValueError, match="slow must be one of"):
                client.resume(first, {"a": {"slow": "later"}})
            assert not len(hub.routes)
            own: dict[str, dict[str, Any]] = {
                "$share/g/a": {},
                "a": {"slow": "drop", "but": ()},
                "+": {"but": ("a",), "id": 8},
            }
            assert client.resume(first - 1, own, slow="wait", id=7) == 3
            there = {one.filter: (one.options["slow"], one.options["id"]) for one in hub.routes}
            assert there == {"$share/g/a": ("wait", 7), "a": ("drop", 7), "+": ("wait", 8)}
            for make_it_have in (
                lambda: None,
                lambda: [client.unsubscribe(filter) for filter in own],
            ):  # subscriptions, or messages alone
                make_it_have()
                with pytest.raises(ValueError, match="before all subscriptions"):
                    client.resume(first, ["b"])
            await client.mailbox.put(b"by no publish")
            await hub.drain()
            assert client.position == hub.position
        assert connection.got == [b"2", b"3", b"4", b"by no publish"]
        with pytest.raises(ConnectionError, match="has left"):
            client.resume(first, ["a"])


@run_loop
async def test_nobody_gets_a_message_without_a_size_nor_by_an_unknown_policy() -> None:
    answers: list[Any] = [10, -100, 10]
    hub = new_hub(size=lambda _: answers.pop(0))
    readers = [Connection(), Connection()]
    async with hub.connect(readers[0].send) as one, hub.connect(readers[1].send) as other:
        with pytest.raises(ValueError, match="close, drop, newest, wait, not 'later'"):
            one.subscribe("t", slow="later")  # type: ignore[arg-type]
        one.subscribe("t")
        other.subscribe("t")
        assert await hub.publish("t", object()) == 2
        with pytest.raises(ValueError, match="size must return a whole number of bytes"):
            await hub.publish("t", object())
        assert await hub.publish("t", object()) == 2
        await turns()
        assert [len(each.got) for each in readers] == [2, 2]
    for name in Counters.__dataclass_fields__:
        assert f"{name}: " in (Counters.__doc__ or "")


@run_loop
async def test_what_is_shown_says_what_waits_and_for_whom() -> None:
    hub = new_hub(room=1_000, patience=AT_ONCE)
    async with hub.connect(Connection(reads=False).send) as client:
        assert repr(client) == "<Client of nothing: <Mailbox: 0 waiting, 0 of 1000 bytes>>"
        for n in range(5):
            client.subscribe(f"a/{n}", slow="drop")
        assert repr(hub) == "<Hub: 1 clients, 5 subscriptions>"
        await hub.publish("a/0", b"x")
        await turns()
        await hub.publish("a/0", b"xyz")
        await hub.publish("a/0", bytes(2_000))
        (receiver,) = hub.routes.match("a/3")
        shown = f"<Mailbox: 1 waiting, {EACH + 3} of 1000 bytes, stalled>"
        assert repr(receiver) == f"<Client of a/0, a/1, a/2 and 2 more: {shown}>"
    assert repr(client) == "<Client of nothing: <Mailbox: 0 waiting, 0 of 1000 bytes, closed>>"
