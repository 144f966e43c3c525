"""The asyncio hub: what is left after every way out of a client's block, and which exception comes out of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import product
from typing import Any, get_args

import pytest

from subtrie.hub import Client, Closed, Slow, SlowReader
from tests.subtrie.event_loops import AT_ONCE, NEVER, new_hub, now, run_loop, run_turned, turns

# -------------------------------------------------------------------------------------------- every way with every other

Sends = ("hangs", "swallows its cancellation", "raises when it is cancelled", "takes long to end")
Bodies = ("waits", "returns", "raises", "raises in its clean-up")
Events = {
    "nothing": None,
    "cancel": None,
    "slow": SlowReader,
    "mailbox closed": SlowReader,
    "closed": Closed,
    "send raises": OSError,
}


def expected(send: str, body: str, event: str) -> set[type[BaseException]]:
    """What comes out of the block: why it was broken off, what its body and its last `send` raised; a SlowReader only
    where nothing else went wrong. A cancellation from outside comes alone, unless the clean-up has put its own error in
    its place."""
    if event == "cancel" and body != "raises in its clean-up":
        return {asyncio.CancelledError}
    found: set[type[BaseException]] = {KeyError} if body == "raises in its clean-up" else set()
    found |= {LookupError} if body == "raises" and event == "nothing" else set()
    found |= {ConnectionResetError} if send == "raises when it is cancelled" and event != "send raises" else set()
    reason = Events[event]
    if reason is not None and not (reason is SlowReader and found):
        found.add(reason)
    return found


def flat(error: BaseException | None) -> set[type[BaseException]]:
    if isinstance(error, BaseExceptionGroup):
        return {kind for each in error.exceptions for kind in flat(each)}
    return set() if error is None else {type(error)}


@pytest.mark.parametrize("event", Events)
@pytest.mark.parametrize("send", Sends)
@run_turned
async def test_nothing_is_left_and_no_failure_is_lost(event: str, send: str) -> None:
    """And publishers that wait for the client go on."""
    for body in Bodies:
        hub = new_hub(room=1, patience=0.5)

        async def sending(message: bytes) -> None:
            try:
                await asyncio.sleep(1 if event == "send raises" else NEVER)
                raise OSError
            except asyncio.CancelledError:
                if send == "raises when it is cancelled":
                    raise ConnectionResetError from None
                if send == "takes long to end":
                    await asyncio.sleep(10)
                if send != "swallows its cancellation":
                    raise

        async def serve() -> None:
            async with hub.connect(sending) as client:  # noqa: B023
                client.subscribe("t", slow="close" if event == "slow" else "wait")
                await hub.publish("t", b"is being sent")  # noqa: B023
                try:
                    await asyncio.sleep(2 if body in ("returns", "raises") else 3)  # noqa: B023
                    if body == "raises":  # noqa: B023
                        raise LookupError
                finally:
                    if body == "raises in its clean-up":  # noqa: B023
                        raise KeyError

        began = now()
        serving = asyncio.create_task(serve())
        await turns()
        (client,) = hub.clients
        await asyncio.sleep(0.5)
        publishers = [asyncio.create_task(hub.publish("t", b"x")) for _ in range(3)]
        await asyncio.sleep(0.5)
        if event == "cancel":
            serving.cancel()
        elif event == "mailbox closed":
            client.mailbox.close()
        elif event == "closed":
            client.close("so")
            client.close("again")
        await asyncio.wait([serving])
        ended = asyncio.CancelledError() if serving.cancelled() else serving.exception()
        assert flat(ended) == expected(send, body, event), (send, body, event)
        assert now() - began == pytest.approx((1 if event != "nothing" else 2 + (body not in ("returns", "raises"))) + 10 * (
            send == "takes long to end" and event != "send raises")), (send, body, event)  # fmt: skip
        assert serving.cancelling() == (event == "cancel")
        assert await asyncio.gather(*publishers) == [1, 0, 0]
        counters = hub.counters
        assert counters.sent + counters.dropped == 1 + len(publishers)
        assert counters.sent == (send == "swallows its cancellation" and event != "send raises")
        assert counters.closed_as_slow == (event == "slow")
        assert await hub.publish("t", b"x") == 0
        with pytest.raises(ConnectionError, match="left"):
            client.subscribe("t")
        client.close("late")


@pytest.mark.parametrize("where", ["in the block", "in send"])
@run_loop
async def test_an_exception_keeps_what_caused_it(where: str) -> None:
    hub = new_hub()
    reasons = KeyError("context"), LookupError("cause")

    def fail() -> None:
        try:
            raise reasons[0]
        except KeyError:
            # without a hash, as an error that is a dataclass
            raise type("Gone", (ConnectionResetError,), {"__hash__": None})("gone") from reasons[1]

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


@pytest.mark.parametrize("slow", get_args(Slow))
@pytest.mark.parametrize("what", ["what send awaits", "the task that sends", "the task that sends nothing"])
@run_turned
async def test_a_send_that_others_cancel_breaks_the_block_off(what: str, slow: Slow) -> None:
    hub = new_hub(room=1, patience=1)
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
    for n in range(1 + (what != "the task that sends nothing")):
        await hub.publish("t", b"%d" % n)
        await turns()
    publishers = [asyncio.create_task(hub.publish("t", b"%d" % n)) for n in range(2, 5)]
    (sender,) = {*senders}
    assert sender is not None
    (waits if what == "what send awaits" else sender).cancel()
    with pytest.raises(ConnectionError, match="cancelled") as caught:
        await serving
    assert sender.cancelled(), "asyncio.run tells of a task that ends in another way when it cancels all"
    assert not isinstance(caught.value, SlowReader)
    assert not serving.cancelling()
    await asyncio.gather(*publishers)
    assert now() == 0


# --------------------------------------------------------------------------- a cancellation beside another end is not lost


@pytest.mark.parametrize("later", range(6))
@pytest.mark.parametrize("way", ["slow", "send raises", "send raises at the end", "return"])
@run_turned
async def test_a_cancellation_beside_another_end_is_raised_and_once(way: str, later: int) -> None:
    hub = new_hub(room=1, patience=AT_ONCE)
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
    if way == "slow":
        await hub.publish("t", b"1")
        breaking: Any = asyncio.create_task(hub.publish("t", b"2"))
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


@pytest.mark.parametrize("breaks", ["nothing", "the mailbox", "send", "both, in a task that was cancelled before"])
@pytest.mark.parametrize("ends", ["its own error", "its own error later", "nothing", "a send that takes long"])
@run_turned
async def test_a_scope_that_takes_its_cancellation_back_leaves_none(ends: str, breaks: str) -> None:
    """Timeouts cancel, and take that back: whatever the block made of it, the task goes on uncancelled."""
    hub = new_hub(room=1, patience=AT_ONCE)
    task = asyncio.current_task()
    assert task is not None
    if breaks.startswith("both"):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(1)

    async def send(_: bytes) -> None:
        try:
            await asyncio.sleep(NEVER if breaks in ("nothing", "the mailbox") else 1)
            raise ConnectionResetError
        finally:
            if ends == "a send that takes long":
                await asyncio.sleep(10)

    async def live() -> None:
        async with hub.connect(send) as client:
            client.subscribe("t")
            await hub.publish("t", b"x")
            if breaks not in ("nothing", "send"):
                asyncio.get_running_loop().call_at(1 + now(), client.mailbox.close)
            try:
                await asyncio.sleep(NEVER)
            finally:
                if ends == "its own error later":
                    await asyncio.sleep(1)
                if ends.startswith("its own"):
                    raise KeyError("cleaning up failed")

    before = task.cancelling()
    for late, scopes in product((0, 1, 5), (1, 2)):
        with pytest.raises(BaseException) as caught:  # noqa: PT011  (which is said below)
            async with asyncio.timeout_at(now() + 1 + late), AsyncExitStack() as stack:
                for _ in range(scopes - 1):
                    await stack.enter_async_context(asyncio.timeout_at(now() + 1))
                await live()
        assert flat(caught.value) <= {KeyError, SlowReader, ConnectionResetError, TimeoutError}
        assert ends != "its own error" or KeyError in flat(caught.value)
        assert task.cancelling() == before
        await turns()  # a cancellation that has been left comes here


LATE: dict[str, Callable[[Client[bytes]], object]] = {
    "the mailbox": lambda client: client.mailbox.close(),
    "send": lambda client: client._hub.publish("t", b"x"),
    "send, which others cancel": lambda client: client._hub.publish("t", b"x"),
}


@pytest.mark.parametrize("way", LATE)
@run_turned
async def test_a_block_that_is_broken_off_as_it_ends_leaves_no_cancellation(way: str) -> None:
    hub = new_hub()

    async def send(_: bytes) -> None:
        raise ConnectionResetError if way == "send" else asyncio.CancelledError

    with pytest.raises(SlowReader if way == "the mailbox" else ConnectionError) as caught:
        async with hub.connect(send) as client:
            client.subscribe("t")
            late: Any = LATE[way](client)
            if late is not None:
                await late
    assert "slowly" not in str(caught.value)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await turns()
