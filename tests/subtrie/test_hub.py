"""The asyncio hub: bounds in bytes, slow readers and bursts, and what is left after every way out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from random import Random
from typing import Any

import pytest

from subtrie import NATS, TopicError
from subtrie.hub import EACH, Hub, Mailbox, SlowReader

NEVER = 1_000.0  # seconds that no test waits for
AT_ONCE = 0.0


def run_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in an event loop; whatever hangs is a failure."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(30):
                await test(*arguments, **named)
            others = asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]
            assert others == set(), "a task is left"

        asyncio.run(bounded())

    return run


def check(hub: Hub[Any]) -> None:
    """Nothing is left of clients that have gone, and the numbers of messages add up."""
    hub.routes.check()
    assert {one.subscriber for one in hub.routes} <= hub.clients
    if not hub.clients:
        assert len(hub.routes) == 0


class Connection:
    """A connection that reads nothing until `reads` is set."""

    def __init__(self, reads: bool = True) -> None:
        self.got: list[bytes] = []
        self.reads = asyncio.Event()
        if reads:
            self.reads.set()

    async def send(self, message: bytes) -> None:
        await self.reads.wait()
        self.got.append(message)

    async def has(self, count: int) -> None:
        while len(self.got) < count:
            await asyncio.sleep(0)


async def turns(number: int = 10) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


class TestMailbox:
    @run_loop
    async def test_messages_come_in_the_order_of_their_calls_also_when_they_waited_for_room(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=3 * (EACH + 1), patience=NEVER)
        async with asyncio.TaskGroup() as tasks:
            for n in range(100):
                tasks.create_task(box.put(bytes([n])))
            await turns()
            assert len(box) == 3
            assert [await box.get() for _ in range(100)] == [bytes([n]) for n in range(100)]
        assert (box.bytes, len(box)) == (0, 0)

    @run_loop
    async def test_what_waits_takes_at_most_the_room(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=10_000, patience=AT_ONCE)
        for _ in range(100):
            await box.put(b"x" * 1_000, slow="drop")
            assert box.bytes <= 10_000
        assert box.counters.dropped == 100 - len(box)

    @run_loop
    async def test_a_message_larger_than_the_room_is_taken_when_nothing_else_waits(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=10, patience=AT_ONCE)
        assert await box.put(b"x" * 1_000)
        assert not await box.put(b"y", slow="drop")
        assert await box.get() == b"x" * 1_000

    @run_loop
    async def test_the_newest_of_a_key_replaces_the_one_before_in_its_place(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=10_000)
        for n in range(1_000):
            await box.put(b"gold %d" % n, key="gold", slow="newest")
            await box.put(b"oil %d" % n, key="oil", slow="newest")
        assert [await box.get(), await box.get()] == [b"gold 999", b"oil 999"]
        await box.put(b"gold 1000", key="gold", slow="newest")
        assert await box.get() == b"gold 1000"

    @run_loop
    async def test_messages_that_grow_stay_within_the_room(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=1_000, patience=AT_ONCE)
        for n in range(100):
            await box.put(b"x" * n, key=n % 5, slow="newest")
            assert box.bytes <= 1_000

    @run_loop
    async def test_a_stalled_reader_costs_its_publishers_one_wait(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=1, patience=0.01)
        await box.put(b"1", slow="drop")
        waited = 0
        for _ in range(1_000):
            waited += not box.is_stalled
            assert not await box.put(b"2", slow="drop")
        assert waited == 1
        assert await box.get() == b"1"
        assert not box.is_stalled
        assert await box.put(b"3", slow="drop")

    @run_loop
    async def test_a_publisher_that_is_cancelled_leaves_its_place_to_the_next(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=2 * EACH + 10, patience=NEVER)
        await box.put(b"x")
        large = asyncio.create_task(box.put(b"y" * 1_000))
        small = asyncio.create_task(box.put(b"z"))
        await turns()
        assert not small.done()
        large.cancel()
        assert await small
        with pytest.raises(asyncio.CancelledError):
            await large
        assert [await box.get(), await box.get()] == [b"x", b"z"]

    @run_loop
    async def test_close_lets_all_go_on(self) -> None:
        box: Mailbox[bytes] = Mailbox(room=1, patience=NEVER)
        await box.put(b"x")
        publishers = [asyncio.create_task(box.put(b"y", slow="wait")) for _ in range(5)]
        await turns()
        box.close()
        assert await asyncio.gather(*publishers) == [False] * 5
        with pytest.raises(SlowReader):
            await box.get()
        assert not box.offer(b"z")
        assert not await box.put(b"z", slow="wait")
        assert (box.bytes, len(box), box.counters.dropped) == (0, 0, 7)

    @pytest.mark.parametrize("seed", range(20))
    @run_loop
    async def test_publishers_that_give_up_or_are_cancelled_change_neither_order_nor_count(self, seed: int) -> None:
        chance = Random(seed)
        box: Mailbox[bytes] = Mailbox(room=chance.choice([1, 300, 2_000]), patience=chance.choice([AT_ONCE, NEVER]))
        puts: list[asyncio.Task[bool]] = []
        got: list[bytes] = []

        async def read() -> None:
            while True:
                got.append(await box.get())
                assert box.bytes <= max(box.room, 2_000 + EACH)
                await turns(chance.randrange(3))

        reading = asyncio.create_task(read())
        for n in range(400):
            message = b"%d " % n + b"x" * chance.choice([0, 10, 1_000])
            if chance.random() < 0.3:
                taken = box.offer(message)
                puts.append(asyncio.create_task(asyncio.sleep(0, taken)))
            else:
                puts.append(asyncio.create_task(box.put(message, slow=chance.choice(["drop", "wait"]))))
                await turns(1)  # the order of calls is the order in which tasks begin
            if chance.random() < 0.2:
                chance.choice(puts).cancel()
            await turns(chance.randrange(3))
        ended = await asyncio.gather(*puts, return_exceptions=True)
        while len(box):
            await turns()
        await turns()
        reading.cancel()
        await asyncio.wait([reading])
        numbers = [int(message.split()[0]) for message in got]
        assert numbers == sorted(set(numbers)), seed
        assert {n for n, taken in enumerate(ended) if taken is True} <= set(numbers), seed
        assert not {n for n, taken in enumerate(ended) if taken is False} & set(numbers), seed
        assert box.counters.taken == box.counters.sent == len(got), seed
        assert box.bytes == 0, seed

    @pytest.mark.parametrize(
        "wrong", [{"room": 0}, {"room": "1 MiB"}, {"patience": -1}, {"patience": float("nan")}, {"patience": None}]
    )
    def test_bounds_that_make_no_sense_are_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Mailbox(**wrong)


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


class TestWaysOut:
    @pytest.mark.parametrize("way", ["return", "raise", "bad filter", "cancel", "send raises", "slow"])
    @run_loop
    async def test_nothing_is_left(self, way: str) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=AT_ONCE)
        hangs = asyncio.Event()

        async def send(_: bytes) -> None:
            if way == "send raises":
                raise ConnectionResetError("gone")
            await hangs.wait()

        async def serve() -> None:
            async with hub.connect(send) as client:
                client.subscribe("good/#")
                if way == "raise":
                    raise LookupError("of the body")
                if way == "bad filter":
                    client.subscribe("good/#/bad")
                if way != "return":
                    await asyncio.Event().wait()

        task = asyncio.create_task(serve())
        await turns()
        if way in ("send raises", "slow"):
            for _ in range(3):
                await hub.publish("good/x", b"x")
        if way == "cancel":
            task.cancel()
        raised = {
            "raise": LookupError,
            "bad filter": TopicError,
            "send raises": ConnectionResetError,
            "slow": SlowReader,
            "cancel": asyncio.CancelledError,
        }
        if way == "return":
            await task
        else:
            with pytest.raises(raised[way]):
                await task
        assert hub.clients == set()
        check(hub)
        async with asyncio.timeout(1):
            assert await hub.publish("good/x", b"x") == 0

    @run_loop
    async def test_a_publisher_that_waits_for_a_client_goes_on_when_it_leaves(self) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=NEVER)
        connection = Connection(reads=False)
        async with hub.connect(connection.send) as client:
            client.subscribe("t", slow="wait")
            publishers = [asyncio.create_task(hub.publish("t", b"x")) for _ in range(5)]
            await turns()
        assert sum(await asyncio.gather(*publishers)) == 2
        check(hub)

    @pytest.mark.parametrize("where", ["in the block", "in send"])
    @run_loop
    async def test_an_exception_keeps_what_caused_it(self, where: str) -> None:
        hub: Hub[bytes] = Hub()
        reasons = KeyError("context"), LookupError("cause")

        def fail() -> None:
            try:
                raise reasons[0]
            except KeyError:
                raise ConnectionResetError("gone") from reasons[1]

        async def send(_: bytes) -> None:
            fail()

        with pytest.raises(ConnectionResetError, match="gone") as caught:
            async with hub.connect(send) as client:
                client.subscribe("t")
                if where == "in the block":
                    fail()
                await hub.publish("t", b"x")
                await asyncio.Event().wait()
        assert caught.value.__cause__ is reasons[1]
        assert where == "in send" or caught.value.__context__ is reasons[0]
        check(hub)

    @run_loop
    async def test_two_failures_come_as_a_group_and_none_is_lost(self) -> None:
        hub: Hub[bytes] = Hub()

        async def send(_: bytes) -> None:
            raise ConnectionResetError("of send")

        with pytest.raises(BaseExceptionGroup) as caught:
            async with hub.connect(send) as client:
                client.subscribe("t")
                try:
                    await hub.publish("t", b"x")
                    await asyncio.Event().wait()
                finally:
                    raise LookupError("of the clean-up")
        assert {type(each) for each in caught.value.exceptions} == {ConnectionResetError, LookupError}
        check(hub)

    @run_loop
    async def test_a_client_that_is_closed_while_many_publish_holds_none_of_them(self) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=NEVER)
        stuck, fast = Connection(reads=False), Connection()
        async with hub.connect(fast.send) as other:
            other.subscribe("t")
            with pytest.raises(SlowReader):
                async with hub.connect(stuck.send) as client:
                    client.subscribe("t", slow="wait")
                    publishers = [asyncio.create_task(hub.publish("t", b"%d" % n)) for n in range(20)]
                    await fast.has(20)
                    assert not any(each.done() for each in publishers[2:])
                    client.mailbox.close()
                    await asyncio.Event().wait()
            assert await asyncio.gather(*publishers) == [2, 2] + 18 * [1]
        assert len(fast.got) == 20
        assert hub.counters.dropped == 19  # one was being sent
        check(hub)

    @run_loop
    async def test_a_client_that_has_left_cannot_subscribe(self) -> None:
        hub: Hub[bytes] = Hub()
        async with hub.connect(Connection().send) as client:
            client.subscribe("a")
        with pytest.raises(ConnectionError, match="left") as error:
            client.subscribe("a")
        assert not isinstance(error.value, SlowReader)
        check(hub)

    @run_loop
    async def test_an_unknown_policy_is_refused(self) -> None:
        hub: Hub[bytes] = Hub()
        async with hub.connect(Connection().send) as client:
            with pytest.raises(ValueError, match="close, drop, newest, wait, not 'later'"):
                client.subscribe("a", slow="later")  # type: ignore[arg-type]
        check(hub)

    @run_loop
    async def test_a_publisher_that_is_cancelled_loses_only_its_own_message(self) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=NEVER)
        connection = Connection(reads=False)
        async with hub.connect(connection.send) as client:
            client.subscribe("t")
            await hub.publish("t", b"1")
            await turns()
            await hub.publish("t", b"2")
            late = asyncio.create_task(hub.publish("t", b"3"))
            await turns()
            late.cancel()
            with pytest.raises(asyncio.CancelledError):
                await late
            connection.reads.set()
            await hub.publish("t", b"4")
            await connection.has(3)
        assert connection.got == [b"1", b"2", b"4"]
        check(hub)

    @run_loop
    async def test_many_clients_come_and_go_among_publishers(self) -> None:
        hub: Hub[bytes] = Hub(room=500, patience=AT_ONCE)

        async def visit(n: int) -> None:
            connection = Connection(reads=n % 3 > 0)
            try:
                async with asyncio.timeout(0.01 * (n % 7)), hub.connect(connection.send) as client:
                    client.subscribe("t/#" if n % 2 else "t/+", slow="close" if n % 5 else "newest")
                    await asyncio.Event().wait()
            except (SlowReader, TimeoutError):
                pass

        async def publish() -> None:
            for n in range(500):
                await hub.publish(f"t/{n % 20}", b"x" * (n % 50))

        await asyncio.gather(*(visit(n) for n in range(200)), *(publish() for _ in range(3)))
        assert hub.clients == set()
        check(hub)


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
