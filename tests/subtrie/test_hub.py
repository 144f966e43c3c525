"""The asyncio hub: slow readers and bursts, counters, and what is refused."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any, get_args

import pytest

from subtrie import NATS
from subtrie.hub import Counters, Hub, Mailbox, Slow, SlowReader
from subtrie.mailbox import EACH
from tests.subtrie.event_loops import AT_ONCE, NEVER, Connection, check, now, run_loop, run_turned, turns


class TestBursts:
    @pytest.mark.parametrize("slow", ["close", "drop", "wait"])
    @run_loop
    async def test_a_client_that_reads_gets_all_of_a_burst_larger_than_its_room(self, slow: Any) -> None:
        hub: Hub[bytes] = Hub(room=1_000, patience=NEVER)
        reader = Connection()
        async with hub.connect(reader.send) as client:
            client.subscribe("t", slow=slow)
            for n in range(10_000):
                assert await hub.publish("t", b"%d" % n) == 1
            await reader.has(10_000)
        assert reader.got == [b"%d" % n for n in range(10_000)]
        check(hub)

    @run_loop
    async def test_slow_readers_take_no_more_memory_than_their_rooms(self) -> None:
        hub: Hub[bytes] = Hub(room=100_000, patience=AT_ONCE)
        slow = [Connection(reads=False) for _ in range(4)]
        fast = Connection()

        async def serve(connection: Connection) -> None:
            async with hub.connect(connection.send) as client:
                client.subscribe("#")
                await asyncio.Event().wait()

        tasks = [asyncio.create_task(serve(each)) for each in [*slow, fast]]
        await turns()
        for _ in range(450):
            await hub.publish("t", b"x" * 10_000)
            assert sum(client.mailbox.bytes for client in hub.clients) <= 5 * 100_000
        await fast.has(450)
        assert len(hub.clients) == 1
        assert hub.counters.closed_as_slow == 4
        tasks[-1].cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in ended] == [SlowReader] * 4 + [asyncio.CancelledError]
        check(hub)

    @run_loop
    async def test_a_slow_client_delays_no_other(self) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=NEVER)
        slow, fast = Connection(reads=False), Connection()
        async with hub.connect(slow.send) as first, hub.connect(fast.send) as second:
            first.subscribe("t", slow="wait")
            second.subscribe("t")
            await hub.publish("t", b"1")  # is being sent
            await turns()
            await hub.publish("t", b"2")  # waits
            stuck = asyncio.create_task(hub.publish("t", b"3"))
            await fast.has(3)
            assert not stuck.done()
            slow.reads.set()
            assert await stuck == 2
            await slow.has(3)
        check(hub)

    @run_loop
    async def test_one_copy_however_many_filters_of_a_client_match(self) -> None:
        hub: Hub[bytes] = Hub()
        reader = Connection()
        async with hub.connect(reader.send) as client:
            client.subscribe("a/+")
            client.subscribe("a/#")
            assert await hub.publish("a/b", b"x") == 1
            await reader.has(1)
            await turns()
            assert client.unsubscribe("a/+")
        assert reader.got == [b"x"]


class TestPatience:
    """What a slow client costs publishers: `patience`, once more for each mailbox that it takes, and no more."""

    @pytest.mark.parametrize("messages", [30, 1_000])
    @pytest.mark.parametrize("slow", ["close", "drop", "newest"])
    @run_turned
    async def test_a_client_that_trickles_costs_publishers_its_patience_and_what_it_takes(
        self, slow: Slow, messages: int
    ) -> None:
        hub: Hub[bytes] = Hub(room=1_000, patience=0.3)
        fast = Connection()
        taken = 0

        async def trickle(_: bytes) -> None:
            nonlocal taken
            taken += 1
            await asyncio.sleep(0.25)

        async def serve() -> None:
            async with hub.connect(trickle) as client:
                client.subscribe("p/#", slow=slow)
                await asyncio.Event().wait()

        serving = asyncio.create_task(serve())
        async with hub.connect(fast.send) as client:
            client.subscribe("p/#")
            await turns()
            for n in range(messages):
                await hub.publish(f"p/{n}", bytes(400))
            assert len(fast.got) >= messages - 2
            assert now() <= 0.3 * (1 + taken * (400 + EACH) / 1_000)
            assert now() < 1
        serving.cancel()
        await asyncio.wait([serving])
        check(hub)

    @pytest.mark.parametrize("seed", range(20))
    @run_turned
    async def test_whatever_a_reader_does_publishers_wait_no_longer_than_the_bound(self, seed: int) -> None:
        chance = Random(seed)
        box: Mailbox[bytes] = Mailbox(room=chance.choice([1, 500, 5_000]), patience=chance.choice([0.1, 1, 10]))
        taken = waited = 0.0

        async def read() -> None:
            nonlocal taken
            while True:
                taken += len(await box.get()) + EACH
                if chance.random() < 0.7:
                    await asyncio.sleep(chance.choice([0.001, 0.1, box.patience * 0.99, box.patience * 3]))

        reading = asyncio.create_task(read())
        for _ in range(500):
            began = now()
            await box.put(
                bytes(chance.randrange(1_000)), key=chance.choice([None, 1]), slow=chance.choice(["drop", "newest"])
            )
            waited += now() - began
            assert waited <= box.patience * (1 + taken / box.room) + 1e-6, seed
            if chance.random() < 0.1:
                await asyncio.sleep(chance.choice([0.01, 1]))
        reading.cancel()
        await asyncio.wait([reading])

    @run_turned
    async def test_a_burst_of_many_publishers_reaches_a_client_that_reads_quickly_enough(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=1_000, patience=1)
        async with asyncio.TaskGroup() as tasks:
            puts = [tasks.create_task(box.put(bytes(400))) for _ in range(100)]
            for _ in range(100):
                await asyncio.sleep(0.4)
                await box.get()
        assert all(put.result() for put in puts)
        assert now() > 30

    @pytest.mark.parametrize("slow", ["close", "drop"])
    @run_turned
    async def test_a_reader_that_takes_less_than_its_room_in_its_patience_is_slow(self, slow: Slow) -> None:
        box: Mailbox[bytes] = Mailbox(room=1_000, patience=1)
        puts = [asyncio.create_task(box.put(bytes(400), slow=slow)) for _ in range(100)]
        for _ in range(3):
            await asyncio.sleep(0.6)
            if not box.closed.is_set() and len(box):
                await box.get()
        await asyncio.gather(*puts)
        assert now() == pytest.approx(1 + 3 * 0.464)
        assert box.closed.is_set() == (slow == "close")

    @run_turned
    async def test_a_reader_that_was_slow_has_to_catch_up_and_gets_back_only_what_it_earned(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=10 * (EACH + 1), patience=10)

        async def waits() -> float:
            before = now()
            await box.put(b"x", slow="drop")
            return now() - before

        for _ in range(10):
            assert await waits() == 0
        assert await waits() == 10
        for _ in range(9):
            await box.get()
            assert await waits() == 0  # there is room
            assert await waits() == 0  # there is none
            assert box.is_stalled
        while len(box):
            await box.get()
        assert not box.is_stalled
        for _ in range(10):
            await waits()
        assert await waits() == 10

    @run_turned
    async def test_the_figure_of_the_page_on_web_sockets(self) -> None:
        box: Mailbox[bytes] = Mailbox()

        async def read() -> None:
            while True:
                await asyncio.sleep(4.9)
                await box.get()

        reading = asyncio.create_task(read())
        while box.offer(bytes(400)):
            pass
        while await box.put(bytes(400)):
            pass
        assert box.closed.is_set()
        assert round(now(), 3) == 5.002
        reading.cancel()
        await asyncio.wait([reading])

    @run_turned
    async def test_what_is_taken_counts_by_its_bytes(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=1_000, patience=10)
        assert box.offer(bytes(100 - EACH))
        assert not await box.put(bytes(1_000), slow="drop")
        assert now() == 10
        await box.get()  # a tenth of the room
        assert box.offer(bytes(1_000))
        assert not await box.put(b"", slow="drop")
        assert now() == 11

    @run_turned
    async def test_a_client_that_is_given_up_closes_at_once_whoever_waited_for_it(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=1, patience=10)
        assert box.offer(b"x")
        waits_on = asyncio.create_task(box.put(b"1", slow="wait"))
        dropped = asyncio.create_task(box.put(b"2", slow="drop"))
        await asyncio.sleep(3)
        later = asyncio.create_task(box.put(b"3", slow="newest"))
        assert not await dropped
        assert not await later
        assert now() == 10
        assert not waits_on.done()
        assert not await box.put(b"4")
        assert now() == 10
        assert not await waits_on
        assert box.counters.closed_as_slow == 1

    @run_turned
    async def test_publishers_that_are_ready_to_wait_use_up_no_patience(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=1, patience=10)
        assert box.offer(b"x")
        waits_on = [asyncio.create_task(box.put(b"1", slow="wait")) for _ in range(2)]
        await asyncio.sleep(100)
        assert not box.is_stalled
        assert not await box.put(b"2", slow="drop")
        assert now() == 110
        for _ in range(3):
            await box.get()
        assert await asyncio.gather(*waits_on) == [True, True]

    @run_turned
    async def test_a_publisher_that_is_cancelled_uses_up_no_more_patience(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=1, patience=10)
        assert box.offer(b"x")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(4):
                await box.put(b"1")
        await asyncio.sleep(100)
        assert not box.is_stalled
        assert not await box.put(b"2", slow="drop")
        assert now() == 110

    @run_turned
    async def test_clients_that_are_slow_together_are_waited_for_together(self) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=10)

        async def serve() -> None:
            async with hub.connect(Connection(reads=False).send) as client:
                client.subscribe("t")
                await asyncio.Event().wait()

        serving = [asyncio.create_task(serve()) for _ in range(20)]
        await turns()
        for n in range(20):
            await hub.publish("t", b"%d" % n)
        assert now() == 10
        ended = await asyncio.gather(*serving, return_exceptions=True)
        assert [type(each) for each in ended] == [SlowReader] * 20

    @run_loop
    async def test_messages_come_in_the_order_of_publish_also_if_room_is_made_meanwhile(self) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=NEVER)
        connection = Connection(reads=False)
        async with hub.connect(connection.send) as client:
            client.subscribe("t")
            await hub.publish("t", b"0")  # is being sent
            await turns()
            await hub.publish("t", b"1")  # waits
            second = asyncio.create_task(hub.publish("t", b"2"))
            connection.reads.set()
            third = asyncio.create_task(hub.publish("t", b"3"))
            await asyncio.gather(second, third)
            await connection.has(4)
        assert connection.got == [b"0", b"1", b"2", b"3"]

    @pytest.mark.parametrize("slow", get_args(Slow))
    @run_loop
    async def test_messages_come_in_the_order_of_publish_but_the_newest_take_the_place_of_older_ones(
        self, slow: Slow
    ) -> None:
        hub: Hub[bytes] = Hub()
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

    @run_loop
    async def test_topics_that_change_more_often_than_their_reader_takes_have_their_turns(self) -> None:
        hub: Hub[bytes] = Hub()
        got: list[bytes] = []
        ready = asyncio.Semaphore(0)

        async def send(message: bytes) -> None:
            got.append(message)
            await ready.acquire()

        async with hub.connect(send) as client:
            client.subscribe("+", slow="newest")
            for n in range(30):
                for topic in ("a", "b", "c"):
                    await hub.publish(topic, topic.encode())
                if n % 2:
                    ready.release()
                await turns()
        assert {topic: got[1:].count(topic) for topic in (b"a", b"b", b"c")} == {b"a": 5, b"b": 5, b"c": 5}


class TestNewest:
    """What is newer takes the place of what is older in a mailbox of any fullness, and never the other way round."""

    @pytest.mark.parametrize("longer", [0, 1, 100])
    @pytest.mark.parametrize("others_wait", [False, True])
    @run_turned
    async def test_a_newer_one_replaces_an_older_one_also_in_a_full_mailbox(
        self, others_wait: bool, longer: int
    ) -> None:
        hub: Hub[bytes] = Hub(room=300, patience=1)
        connection = Connection(reads=False)
        async with hub.connect(connection.send) as client:
            client.subscribe("#", slow="newest")
            await hub.publish("first", b"")  # is being sent
            await turns()
            for topic in (b"gold", b"oil", b"tin"):
                await hub.publish(topic.decode(), topic + b" 1" + b"." * 20)
            waits = asyncio.create_task(hub.publish("zinc", bytes(100)))
            if not others_wait:
                waits.cancel()
            await turns()
            for topic in (b"gold", b"oil", b"tin"):
                assert await hub.publish(topic.decode(), topic + b" 2" + b"." * (20 + longer)) == 1
                assert client.mailbox.bytes <= 2 * 300
            connection.reads.set()
            await connection.has(4)
            await asyncio.wait([waits])
            await turns()
        got = [message[:6].strip(b".") for message in connection.got if not message.startswith(b"\0")]
        assert got == [b"", b"gold 2", b"oil 2", b"tin 2"]
        check(hub)

    @run_turned
    async def test_of_those_that_wait_for_room_the_newest_has_the_place(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=200, patience=NEVER)
        assert box.offer(bytes(136))
        older = asyncio.create_task(box.put(b"gold 1", "gold", "newest"))
        other = asyncio.create_task(box.put(b"oil 1" + bytes(100), "oil", "newest"))
        await turns()
        newer = asyncio.create_task(box.put(b"gold 2", "gold", "newest"))
        await turns()
        assert older.done()
        await box.get()
        assert [await box.get(), (await box.get())[:5]] == [b"gold 2", b"oil 1"]
        assert [await older, await newer, await other] == [False, True, True]
        assert (box.counters.taken, box.counters.dropped, box.bytes) == (3, 1, 0)

    @run_turned
    async def test_an_older_one_goes_where_the_newer_one_is_too_long_by_far(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=200, patience=1)
        assert box.offer(b"x")
        assert box.offer(b"gold 1", "gold")
        assert not await box.put(b"gold 2" + bytes(1_000), "gold", "newest")
        assert await box.get() == b"x"
        assert (len(box), box.bytes) == (0, 0)
        assert (box.counters.taken, box.counters.dropped) == (2, 2)
        assert box.offer(b"gold 3", "gold")
        assert await box.get() == b"gold 3"

    @run_turned
    async def test_a_cancelled_one_takes_nobody_with_it(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=1, patience=NEVER)
        assert box.offer(b"x")
        puts = [asyncio.create_task(box.put(b"gold %d" % n, "gold", "newest")) for n in range(3)]
        await turns()
        puts[1].cancel()
        await turns()
        assert await box.get() == b"x"
        assert await box.get() == b"gold 2"
        assert await asyncio.gather(*puts, return_exceptions=True) == [False, False, True]

    @pytest.mark.parametrize("seed", range(30))
    @run_turned
    async def test_no_older_one_comes_when_a_newer_one_has_been_refused(self, seed: int) -> None:
        chance = Random(seed)
        room = chance.choice([1, 300, 1_000])
        box: Mailbox[tuple[int, int]] = Mailbox(room, chance.choice([0.1, 1, 10]), lambda _: sizes.pop())
        sizes: list[int] = []
        puts: list[tuple[int, asyncio.Task[bool]]] = []
        got: list[tuple[int, int]] = []
        refused = [-1] * 4  # of each key, the newest

        async def read() -> None:
            while True:
                key, n = await box.get()
                assert n > refused[key], seed
                got.append((key, n))
                await asyncio.sleep(chance.choice([0, 0, 0.05, 1]))

        async def put(key: int, n: int) -> bool:
            taken = await box.put((key, n), key, "newest")
            if not taken:
                refused[key] = max(refused[key], n)
            return taken

        reading = asyncio.create_task(read())
        for n in range(300):
            key = chance.randrange(4)
            sizes.append(chance.choice([0, 1, 2, 50, 900]))
            puts.append((key, asyncio.create_task(put(key, n))))
            await turns(1)
            assert box.bytes <= max(2 * room, 900 + EACH), seed
            if chance.random() < 0.3:
                await asyncio.sleep(chance.choice([0, 0.05, 1]))
        taken = await asyncio.gather(*(put for _, put in puts))
        await asyncio.sleep(NEVER)
        assert not reading.done(), seed
        reading.cancel()
        await asyncio.wait([reading])
        numbers = [n for _, n in got]
        assert len(numbers) == len(set(numbers)), seed
        for key in range(4):
            mine = [n for of, n in got if of == key]
            assert mine == sorted(mine), seed
            last = max((n for n, (of, _) in enumerate(puts) if of == key and taken[n]), default=-1)
            assert (mine or [-1])[-1] == last or refused[key] > last, seed
        assert (box.bytes, len(box)) == (0, 0), seed
        assert box.counters.sent + box.counters.dropped == 300, seed

    @run_loop
    async def test_a_member_of_a_group_that_also_subscribes_for_itself_gets_both_copies(self) -> None:
        hub: Hub[bytes] = Hub()
        connection = Connection(reads=False)
        filters = ("a/+", "a/#", "$share/g/a/+", "$share/g/a/#", "$share/h/a/+")
        async with hub.connect(connection.send) as client:
            for filter in filters:
                client.subscribe(filter, slow="newest")
            assert await hub.publish("a/b", b"0") == 4
            await turns()
            for n in range(1, 9):
                assert await hub.publish("a/b", b"%d" % n) == 4
            connection.reads.set()
            await connection.has(5)
            await turns()
        assert connection.got == [b"0"] + 4 * [b"8"]  # one was being sent
        assert hub.counters.taken == hub.counters.sent + hub.counters.dropped
        check(hub)


class TestCounters:
    @pytest.mark.parametrize("way", ["raises", "is cancelled"])
    @run_loop
    async def test_a_send_that_does_not_return_is_not_counted_as_sent(self, way: str) -> None:
        hub: Hub[bytes] = Hub()
        begun = asyncio.Event()

        async def send(message: bytes) -> None:
            if message == b"last":
                begun.set()
                if way == "raises":
                    raise ConnectionResetError
                await asyncio.Event().wait()

        async def serve() -> None:
            async with hub.connect(send) as client:
                client.subscribe("t")
                for message in (b"first", b"last", b"never"):
                    await hub.publish("t", message)
                await begun.wait()
                if way == "raises":
                    await asyncio.Event().wait()

        ended = await asyncio.gather(serve(), return_exceptions=True)
        assert [type(each) for each in ended] == [ConnectionResetError if way == "raises" else type(None)]
        counters = hub.counters
        assert (counters.taken, counters.sent, counters.dropped) == (3, 1, 2)

    @run_loop
    async def test_a_message_of_a_publisher_that_is_cancelled_counts_as_dropped(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=1, patience=NEVER)
        assert box.offer(b"x")
        put = asyncio.create_task(box.put(b"y"))
        await turns()
        put.cancel()
        await asyncio.wait([put])
        await turns()
        assert (box.counters.taken, box.counters.dropped) == (1, 1)
        assert await box.get() == b"x"
        assert box.offer(b"z")

    def test_each_counter_is_described(self) -> None:
        for name in Counters.__dataclass_fields__:
            assert f"{name}: " in (Counters.__doc__ or "")


class TestSeveralSubscriptions:
    @run_loop
    async def test_a_group_gives_a_copy_of_its_own(self) -> None:
        hub: Hub[bytes] = Hub()
        reader = Connection()
        async with hub.connect(reader.send) as client:
            for filter in ("a/+", "a/#", "$share/g/a/#", "$share/g/a/+", "$share/h/a/#"):
                client.subscribe(filter)
            assert await hub.publish("a/b", b"x") == 4
            await reader.has(4)
            await turns()
        assert hub.counters.sent == len(reader.got) == 4

    @pytest.mark.parametrize("second", get_args(Slow))
    @pytest.mark.parametrize("first", get_args(Slow))
    @run_turned
    async def test_the_policy_that_promises_most_decides(self, first: Slow, second: Slow) -> None:
        decides = next(each for each in ("wait", "close", "newest", "drop") if each in (first, second))
        hub: Hub[bytes] = Hub(room=1, patience=1)
        connection = Connection(reads=False)

        async def serve() -> None:
            async with hub.connect(connection.send) as client:
                client.subscribe("p/1", slow=first)
                client.subscribe("p/+", slow=second)
                await asyncio.Event().wait()

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
        serving.cancel()
        await asyncio.wait([serving])
        await last
        check(hub)


@pytest.mark.parametrize("make", [Hub, Mailbox])
@pytest.mark.parametrize("size", [5, None, "len"])
def test_a_size_that_is_no_function_is_refused(make: Any, size: Any) -> None:
    with pytest.raises(TypeError, match="size must be a function"):
        make(size=size)


@pytest.mark.parametrize("size", [-100, 1.5, None, "1"])
@run_loop
async def test_a_size_that_is_no_number_of_bytes_is_refused_and_nobody_gets_the_message(size: Any) -> None:
    answers = [10, size, 10]
    hub: Hub[Any] = Hub(size=lambda _: answers.pop(0))
    readers = [Connection(), Connection()]
    async with hub.connect(readers[0].send) as one, hub.connect(readers[1].send) as other:
        one.subscribe("t")
        other.subscribe("t")
        assert await hub.publish("t", object()) == 2
        with pytest.raises(ValueError, match="size must return a whole number of bytes"):
            await hub.publish("t", object())
        assert await hub.publish("t", object()) == 2
        await turns()
        assert [len(each.got) for each in readers] == [2, 2]
    mailbox: Mailbox[object] = Mailbox(size=lambda _: size)
    with pytest.raises(ValueError, match="size must return"):
        mailbox.offer(object())
    with pytest.raises(ValueError, match="size must return"):
        await mailbox.put(object())
    assert (len(mailbox), mailbox.bytes) == (0, 0)


@run_loop
async def test_what_is_shown_says_what_waits_and_for_whom() -> None:
    hub: Hub[bytes] = Hub(room=1_000, patience=AT_ONCE)
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


@run_loop
async def test_a_message_counts_by_its_bytes_or_is_refused() -> None:
    mailbox: Mailbox[Any] = Mailbox(room=1_000)
    for message, size in ((b"abc", 3), ("äöü", 6), (memoryview(bytes(8)).cast("I"), 8)):
        before = mailbox.bytes
        assert mailbox.offer(message)
        assert mailbox.bytes - before == size + EACH
    with pytest.raises(TypeError, match=r"how many bytes has a dict\? .* size="):
        mailbox.offer({"celsius": 21})
    assert len(mailbox) == 3
    sized: Mailbox[dict[str, bytes]] = Mailbox(size=lambda message: len(message["payload"]))
    assert sized.offer({"payload": b"x"})
    assert sized.bytes == 1 + EACH


@run_loop
async def test_a_client_leaves_a_group_of_a_dialect_with_groups() -> None:
    hub: Hub[bytes] = Hub(NATS)
    async with hub.connect(Connection().send) as client:
        assert client.subscribe("jobs.*", queue="workers")
        assert not client.unsubscribe("jobs.*")
        assert client.unsubscribe("jobs.*", queue="workers")
        assert len(hub.routes) == 0
    check(hub)
