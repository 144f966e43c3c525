"""The asyncio hub: what is left after every way out of a client's block, and which exception comes out of it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any, get_args

import pytest

from subtrie import TopicError
from subtrie.hub import Hub, Slow, SlowReader
from tests.subtrie.event_loops import AT_ONCE, NEVER, Connection, check, now, run_loop, run_turned, turns


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
        assert hub.counters.dropped == 20  # one of them while it was sent
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

    @pytest.mark.parametrize("slow", get_args(Slow))
    @pytest.mark.parametrize("what", ["what send awaits", "the task that sends", "the task that sends nothing"])
    @run_turned
    async def test_a_send_that_others_cancel_breaks_the_block_off(self, what: str, slow: Slow) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=1)
        waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        senders: list[asyncio.Task[Any] | None] = []

        async def send(message: bytes) -> None:
            senders.append(asyncio.current_task())
            if message == b"1":
                await waits

        async def serve() -> None:
            async with hub.connect(send) as client:
                client.subscribe("t", slow=slow)
                await asyncio.sleep(NEVER)

        serving = asyncio.create_task(serve())
        await turns()
        await hub.publish("t", b"0")
        await turns()
        if what != "the task that sends nothing":
            await hub.publish("t", b"1")
            await turns()
        publishers = [asyncio.create_task(hub.publish("t", b"%d" % n)) for n in range(2, 5)]
        (sender,) = {*senders}
        assert sender is not None
        (waits if what == "what send awaits" else sender).cancel()
        with pytest.raises(ConnectionError, match="cancelled") as caught:
            await serving
        assert isinstance(caught.value.__cause__, asyncio.CancelledError)
        assert not isinstance(caught.value, SlowReader)
        assert not serving.cancelling()
        await asyncio.gather(*publishers)
        assert now() == 0
        check(hub)

    @pytest.mark.parametrize("way", ["return", "raise", "cancel", "slow"])
    @run_turned
    async def test_a_send_that_swallows_its_cancellation_does_not_hold_the_block(self, way: str) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=AT_ONCE)
        got: list[bytes] = []

        async def send(message: bytes) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                got.append(message)

        async def serve() -> None:
            async with hub.connect(send) as client:
                client.subscribe("t")
                await hub.publish("t", b"0")
                await turns()
                await hub.publish("t", b"1")
                if way == "raise":
                    raise LookupError
                if way == "slow":
                    await hub.publish("t", b"2")
                if way != "return":
                    await asyncio.Event().wait()

        serving = asyncio.create_task(serve())
        await turns(30)
        if way == "cancel":
            serving.cancel()
        (ended,) = await asyncio.gather(serving, return_exceptions=True)
        raised = {"return": type(None), "raise": LookupError, "cancel": asyncio.CancelledError, "slow": SlowReader}
        assert type(ended) is raised[way]
        assert got == [b"0"]
        assert hub.counters.sent == 1
        check(hub)

    @run_turned
    async def test_a_client_has_left_when_its_block_ends_also_if_the_last_send_goes_on(self) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=NEVER)

        async def send(_: bytes) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(100)  # says good-bye

        async def serve() -> None:
            async with hub.connect(send) as client:
                client.subscribe("t", slow="wait")
                await asyncio.sleep(1)

        serving = asyncio.create_task(serve())
        await turns()
        await asyncio.gather(*(hub.publish("t", b"%d" % n) for n in range(5)))
        assert now() == 1
        assert await hub.publish("t", b"x") == 0
        assert not serving.done()
        await serving
        assert now() == 101
        check(hub)


class TestCancellation:
    """A task that is cancelled while its client's block is broken off: the cancellation is not lost."""

    @pytest.mark.parametrize("later", range(6))
    @pytest.mark.parametrize("way", ["slow", "send raises", "send raises at the end", "return"])
    @run_turned
    async def test_a_cancellation_beside_another_end_is_raised_and_once(self, way: str, later: int) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=AT_ONCE)
        breaks, cleaned = asyncio.Event(), asyncio.Event()

        async def send(_: bytes) -> None:
            try:
                await breaks.wait()
            finally:
                if way == "send raises at the end":
                    raise ConnectionResetError
            if way == "send raises":
                raise ConnectionResetError

        async def live() -> None:
            try:
                async with hub.connect(send) as client:
                    client.subscribe("t")
                    await breaks.wait() if way == "return" else await asyncio.sleep(NEVER)
            except ConnectionError:
                pass
            await asyncio.Event().wait()  # a cancellation that was lost is missed here

        async def serve() -> None:
            try:
                await live()
            finally:
                await turns()
                cleaned.set()

        serving = asyncio.create_task(serve())
        await turns()
        await hub.publish("t", b"0")
        await turns()
        breaking: asyncio.Task[Any]
        if way == "slow":
            await hub.publish("t", b"1")
            breaking = asyncio.create_task(hub.publish("t", b"2"))
        else:
            breaking = asyncio.create_task(asyncio.sleep(0))
            breaks.set()
        await turns(later)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        await breaking
        assert now() < 1
        assert cleaned.is_set(), "the clean-up was broken off, too"
        assert serving.cancelling() == 1
        check(hub)

    @pytest.mark.parametrize("way", ["slow", "send raises"])
    @run_turned
    async def test_a_timeout_at_that_moment_is_a_timeout(self, way: str) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=AT_ONCE)

        async def send(_: bytes) -> None:
            await asyncio.sleep(1)
            if way == "send raises":
                raise ConnectionResetError

        async def serve() -> None:
            async with asyncio.timeout(1), hub.connect(send) as client:
                client.subscribe("t")
                await hub.publish("t", b"0")
                if way == "slow":
                    await turns()
                    await hub.publish("t", b"1")
                    asyncio.get_running_loop().call_at(1, client.mailbox.close)
                await asyncio.sleep(NEVER)

        with pytest.raises(TimeoutError):
            await serve()
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await turns()
        check(hub)

    @run_turned
    async def test_a_cancellation_while_the_last_send_ends_is_raised_with_what_the_block_raised(self) -> None:
        hub: Hub[bytes] = Hub()

        async def send(_: bytes) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(10)

        async def serve() -> None:
            async with hub.connect(send) as client:
                client.subscribe("t")
                await hub.publish("t", b"x")
                await turns()
                raise LookupError

        serving = asyncio.create_task(serve())
        await asyncio.sleep(5)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await serving
        assert isinstance(caught.value.__context__, LookupError)
        assert now() == 10
        check(hub)

    @pytest.mark.parametrize("breaks", ["nothing", "the mailbox", "send"])
    @pytest.mark.parametrize("ends", ["its own error", "its own error later", "nothing", "a send that takes long"])
    @pytest.mark.parametrize("scopes", [1, 2])
    @run_turned
    async def test_a_scope_that_takes_its_cancellation_back_leaves_none(
        self, scopes: int, ends: str, breaks: str
    ) -> None:
        """Timeouts cancel, and take that back: whatever the block made of it, the task goes on uncancelled."""
        hub: Hub[bytes] = Hub(room=1, patience=AT_ONCE)

        async def send(_: bytes) -> None:
            try:
                await asyncio.sleep(1 if breaks == "send" else NEVER)
                raise ConnectionResetError
            finally:
                if ends == "a send that takes long":
                    await asyncio.sleep(10)

        async def live() -> None:
            async with hub.connect(send) as client:
                client.subscribe("t")
                await hub.publish("t", b"x")
                if breaks == "the mailbox":
                    asyncio.get_running_loop().call_at(1, client.mailbox.close)
                try:
                    await asyncio.sleep(NEVER)
                finally:
                    if ends == "its own error later":
                        await asyncio.sleep(1)
                    if ends.startswith("its own"):
                        raise KeyError("cleaning up failed")

        task = asyncio.current_task()
        assert task is not None
        before = task.cancelling()
        for late in (0, 1, 5):
            try:
                async with asyncio.timeout_at(now() + 1 + late), AsyncExitStack() as stack:
                    for _ in range(scopes - 1):
                        await stack.enter_async_context(asyncio.timeout_at(now() + 1))
                    await live()
            except* (KeyError, ConnectionError, TimeoutError):
                pass
            assert task.cancelling() == before
            await turns()  # a cancellation that has been left comes here
        check(hub)

    @run_turned
    async def test_the_error_of_a_clean_up_comes_out_of_a_timeout(self) -> None:
        hub: Hub[bytes] = Hub()
        with pytest.raises(KeyError):
            async with asyncio.timeout(1), hub.connect(Connection().send):
                try:
                    await asyncio.sleep(NEVER)
                finally:
                    raise KeyError
        await turns()
        check(hub)

    @pytest.mark.parametrize("way", ["the mailbox", "send"])
    @run_turned
    async def test_a_block_that_is_broken_off_as_it_ends_leaves_no_cancellation(self, way: str) -> None:
        hub: Hub[bytes] = Hub()

        async def send(_: bytes) -> None:
            raise ConnectionResetError

        with pytest.raises(SlowReader if way == "the mailbox" else ConnectionResetError):
            async with hub.connect(send) as client:
                client.subscribe("t")
                if way == "the mailbox":
                    client.mailbox.close()
                else:
                    await hub.publish("t", b"x")
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await turns()
        check(hub)

    @run_turned
    async def test_a_task_that_was_cancelled_before_hears_why_its_block_ends(self) -> None:
        hub: Hub[bytes] = Hub(room=1, patience=AT_ONCE)

        async def serve() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                with pytest.raises(SlowReader):
                    async with hub.connect(Connection(reads=False).send) as client:
                        client.subscribe("t")
                        client.mailbox.close()
                        await asyncio.sleep(NEVER)

        serving = asyncio.create_task(serve())
        await turns()
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        check(hub)
