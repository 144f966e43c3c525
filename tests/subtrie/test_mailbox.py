"""A mailbox: its bound in bytes, and what becomes of a reader that is too slow for it."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from subtrie.hub import Mailbox, SlowReader
from subtrie.mailbox import EACH
from tests.subtrie.event_loops import AT_ONCE, NEVER, run_loop, turns


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


@run_loop
async def test_a_mailbox_refuses_a_policy_that_does_not_exist_also_if_there_is_room() -> None:
    mailbox: Mailbox[bytes] = Mailbox()
    with pytest.raises(ValueError, match="close, drop, newest, wait, not 'zz'"):
        await mailbox.put(b"x", slow="zz")  # type: ignore[arg-type]
    assert len(mailbox) == 0
