"""A mailbox: its bound in bytes, its order, and what becomes of a reader that is too slow for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Any, NamedTuple

import pytest

from subtrie.hub import Hub, Mailbox, Slow, SlowReader
from subtrie.mailbox import EACH
from tests.subtrie.event_loops import AT_ONCE, NEVER, now, run_loop, run_turned, turns

# ----------------------------------------------------------------------------------------------------------- timelines


class Timeline(NamedTuple):
    """What happens to a mailbox, at which second: ("put", name, bytes with EACH, policy, key), ("get", number),
    ("cancel", name) or ("close",). And what comes of it: when each put ends, and whether its message was taken (None if
    it was cancelled); what is read; what the mailbox has dropped, and whether it is closed as slow."""

    room: int
    patience: float
    events: list[tuple[Any, ...]]
    ends: dict[str, tuple[bool | None, float]]
    read: str
    dropped: int = 0
    is_slow: bool = False


def puts(at: float, names: str, size: int, slow: Slow = "close", key: object = None) -> list[tuple[Any, ...]]:
    return [(at, "put", name, size, slow, key) for name in names.split()]


FULL = puts(0, "x", 200)
TIMELINES = {
    "a message larger than the room is taken when nothing else waits": Timeline(
        10, AT_ONCE, [*puts(0, "x", 1_000), *puts(0, "y", 70, "drop"), (1, "get", 1)],
        {"x": (True, 0), "y": (False, 0)}, "x", dropped=1,
    ),
    "messages come in the order of their calls also when they waited for room": Timeline(
        200, NEVER, [*puts(0, "a b c d e f", 100), (1, "get", 1), (2, "get", 2), (3, "get", 3)],
        dict(zip("abcdef", [(True, 0), (True, 0), (True, 1), (True, 2), (True, 2), (True, 3)], strict=True)), "a b c d e f",
    ),
    "the newest of a key replaces the one before in its place, also in a full mailbox for which others wait": Timeline(
        200, NEVER, [*puts(0, "g1", 100, "newest", "g"), *puts(0, "o1", 100, "newest", "o"), *puts(0, "z", 100),
                     *puts(1, "g2", 100, "newest", "g"), *puts(1, "g3", 200, "newest", "g"), (2, "get", 1), (3, "get", 1),
                     (4, "get", 1), *puts(5, "g4", 100, "newest", "g"), (5, "get", 1)],
        {"g1": (True, 0), "o1": (True, 0), "z": (True, 2), "g2": (True, 1), "g3": (True, 1), "g4": (True, 5)}, "g3 o1 z g4",
        dropped=2,
    ),
    "of those that wait for room the newest has the place": Timeline(
        200, NEVER, [*FULL, *puts(0, "g1", 70, "newest", "g"), *puts(0, "o1", 170, "newest", "o"),
                     *puts(1, "g2", 70, "newest", "g"), (2, "get", 1), (3, "get", 1), (4, "get", 1)],
        {"x": (True, 0), "g1": (False, 1), "o1": (True, 3), "g2": (True, 2)}, "x g2 o1", dropped=1,
    ),
    "an older one goes where the newer one is too long by far": Timeline(
        200, 1, [*puts(0, "x", 65), *puts(0, "g1", 70, "newest", "g"), *puts(0, "g2", 1_070, "newest", "g"), (2, "get", 1),
                 *puts(3, "g3", 70, "newest", "g"), (3, "get", 1)],
        {"x": (True, 0), "g1": (True, 0), "g2": (False, 1), "g3": (True, 3)}, "x g3", dropped=2,
    ),
    "a newest one that is cancelled takes nobody with it": Timeline(
        200, NEVER, [*FULL, *puts(0, "g0", 70, "newest", "g"), *puts(1, "g1", 70, "newest", "g"),
                     *puts(2, "g2", 70, "newest", "g"), (2, "cancel", "g1"), (3, "get", 1), (3, "get", 1)],
        {"x": (True, 0), "g0": (False, 1), "g1": (False, 2), "g2": (True, 3)}, "x g2", dropped=2,
    ),
    "a publisher that is cancelled leaves its place to the next": Timeline(
        150, NEVER, [*puts(0, "x", 65), *puts(0, "y", 1_000), *puts(0, "z", 65), (5, "cancel", "y"), (6, "get", 2)],
        {"x": (True, 0), "y": (None, 5), "z": (True, 5)}, "x z", dropped=1,
    ),
    "close lets all go on": Timeline(
        1, NEVER, [*FULL, *puts(0, "a b", 65, "wait"), (3, "close"), *puts(4, "c", 65, "wait")],
        {"x": (True, 0), "a": (False, 3), "b": (False, 3), "c": (False, 4)}, "", dropped=4,
    ),
    "a burst of many publishers reaches a reader that is quick enough": Timeline(
        1_000, 1, [*puts(0, "a b c d e f g h i j", 464), *((0.4 * n, "get", 1) for n in range(1, 11))],
        {name: (True, max(0, round(0.4 * (n - 1), 6))) for n, name in enumerate("abcdefghij")}, "a b c d e f g h i j",
    ),
    "a reader that takes less than its room in its patience is slow, and its mailbox is closed": Timeline(
        1_000, 1, [*puts(0, "a b c d e f g", 464), *((0.6 * n, "get", 1) for n in (1, 2, 3))],
        {**dict.fromkeys("ab", (True, 0)), "c": (True, 0.6), "d": (True, 1.2), "e": (True, 1.8),
         **dict.fromkeys("fg", (False, 2.392))}, "a b c", dropped=4, is_slow=True,
    ),
    "or the messages are dropped": Timeline(
        1_000, 1, [*puts(0, "a b c d e f g", 464, "drop"), *((0.6 * n, "get", 1) for n in (1, 2, 3))],
        {**dict.fromkeys("ab", (True, 0)), "c": (True, 0.6), "d": (True, 1.2), "e": (True, 1.8),
         **dict.fromkeys("fg", (False, 2.392))}, "a b c", dropped=2,
    ),
    "a stalled reader costs its publishers one wait, and what is taken counts by its bytes": Timeline(
        1_000, 10, [*puts(0, "x", 100), *puts(0, "y z", 1_064, "drop"), *puts(10, "u", 1_064, "drop"), (10, "get", 1),
                    *puts(10, "v", 1_064, "drop"), *puts(10, "w", 64, "drop")],
        {"x": (True, 0), **dict.fromkeys("yz", (False, 10)), "u": (False, 10), "v": (True, 10), "w": (False, 11)}, "x",
        dropped=4,
    ),
    "a reader that was slow has to catch up": Timeline(
        130, 10, [*puts(0, "a b c", 65, "drop"), (10, "get", 1), *puts(10, "d e", 65, "drop"), (11, "get", 2),
                  *puts(11, "f g h", 65, "drop")],
        {**dict.fromkeys("ab", (True, 0)), "c": (False, 10), "d": (True, 10), "e": (False, 10), **dict.fromkeys("fg", (True, 11)),
         "h": (False, 21)}, "a b d", dropped=3,
    ),
    "a client that is given up closes at once whoever waited for it": Timeline(
        1, 10, [*FULL, *puts(0, "a", 65, "wait"), *puts(0, "b", 65, "drop"), *puts(3, "c", 65, "newest"), *puts(12, "d", 65)],
        {"x": (True, 0), "a": (False, 12), "b": (False, 10), "c": (False, 10), "d": (False, 12)}, "", dropped=5, is_slow=True,
    ),
    "publishers that are ready to wait use up no patience": Timeline(
        1, 10, [*FULL, *puts(0, "a b", 65, "wait"), *puts(100, "c", 65, "drop"), (111, "get", 1), (112, "get", 1), (113, "get", 1)],
        {"x": (True, 0), "a": (True, 111), "b": (True, 112), "c": (False, 110)}, "x a b", dropped=1,
    ),
    "a publisher that is cancelled uses up no more patience": Timeline(
        1, 10, [*FULL, *puts(0, "a", 65), (4, "cancel", "a"), *puts(100, "b", 65, "drop")],
        {"x": (True, 0), "a": (None, 4), "b": (False, 106)}, "", dropped=2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TIMELINES)
@run_turned
async def test_a_timeline(name: str) -> None:
    line = TIMELINES[name]
    sizes: dict[str, int] = {}
    box: Mailbox[str] = Mailbox(line.room, line.patience, sizes.__getitem__)
    tasks: dict[str, asyncio.Task[None]] = {}
    ends: dict[str, tuple[bool | None, float]] = {}
    read: list[str] = []

    async def put(name: str, slow: Slow, key: object) -> None:
        ends[name] = None, 0
        try:
            taken = await box.put(name, key, slow)
        except asyncio.CancelledError:
            ends[name] = None, now()
            raise
        ends[name] = taken, now()

    for at, what, *how in line.events:
        await asyncio.sleep(at - now())
        await turns(3)
        if what == "put":
            sizes[how[0]] = how[1] - EACH
            tasks[how[0]] = asyncio.create_task(put(how[0], how[2], how[3]))
            await turns(3)
        elif what == "get":
            read += [await box.get() for _ in range(how[0])]
        elif what == "cancel":
            tasks[how[0]].cancel()
        else:
            box.close()
            with pytest.raises(SlowReader):
                await box.get()
    await asyncio.wait(tasks.values())
    assert {who: (taken, round(at, 6)) for who, (taken, at) in ends.items()} == line.ends
    assert " ".join(read) == line.read
    counters = box.counters
    assert (counters.sent, counters.dropped, counters.closed_as_slow) == (len(read), line.dropped, line.is_slow)
    assert box.closed.is_set() == (line.is_slow or ("close",) in [event[1:] for event in line.events])
    assert box.bytes == sum(sizes[one.message] + EACH for one in box._waiting)


@run_turned
async def test_the_figure_of_the_page_on_the_hub() -> None:
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


# ---------------------------------------------------------------------------------------------- whatever publishers do


@pytest.mark.parametrize("seed", range(40))
@run_turned
async def test_whatever_publishers_and_the_reader_do(seed: int) -> None:
    """Messages come in order, and of a key no older one after a newer one; what waits is bounded, and so is the time for
    which a lonely publisher waits; each message is read or dropped."""
    chance = Random(seed)
    alone = seed % 4 == 0  # no publisher waits beside another one
    room = chance.choice([1, 300, 1_000])
    sizes: dict[int, int] = {}
    box: Mailbox[tuple[int, int]] = Mailbox(room, chance.choice([0.1, 1, 10]), lambda message: sizes[message[1]])
    puts: dict[int, asyncio.Task[None]] = {}
    answers: dict[int, bool] = {}
    got: list[tuple[int, int]] = []
    earned = waited = 0.0
    refused = Counter[int]()  # of each key, the newest
    keyed = chance.random() < 0.5

    async def read() -> None:
        nonlocal earned
        while True:
            key, n = await box.get()
            assert not keyed or n >= refused[key], seed
            earned += sizes[n] + EACH
            got.append((key, n))
            await asyncio.sleep(chance.choice([0, 0, 0.05, 1, box.patience * 0.99, box.patience * 3]))

    async def put(key: int, n: int) -> None:
        nonlocal waited
        began = now()
        policies: list[Slow] = ["newest"] if keyed else ["drop"] if alone else ["drop", "drop", "wait"]
        slow = chance.choice(policies)
        offered = not keyed and chance.random() < 0.3
        answers[n] = box.offer((key, n)) if offered else await box.put((key, n), key if keyed else None, slow)
        waited += now() - began
        assert not alone or waited <= box.patience * (1 + earned / room) + 1e-6, seed
        if not answers[n]:
            refused[key] = max(refused[key], n + 1)

    reading = asyncio.create_task(read())
    for n in range(300):
        sizes[n] = chance.choice([0, 1, 2, 50, 900])
        puts[n] = asyncio.create_task(put(chance.randrange(4), n))
        await turns(1)  # the order of calls is the order in which tasks begin
        if alone:
            await puts[n]
        elif chance.random() < 0.1 and not keyed:
            chance.choice(list(puts.values())).cancel()
        assert box.bytes <= max(2 * room, 900 + EACH), seed
        if chance.random() < 0.3:
            await asyncio.sleep(chance.choice([0, 0.05, 1]))
    await asyncio.wait(puts.values())
    await asyncio.sleep(NEVER)
    assert not reading.done(), seed
    reading.cancel()
    await asyncio.wait([reading])
    numbers = [n for _, n in got]
    for key in range(4):
        mine = [n for of, n in got if of == key]
        assert mine == sorted(set(mine)), seed
    assert keyed or numbers == sorted(numbers), seed
    assert keyed or {n for n, taken in answers.items() if taken} <= set(numbers), seed
    assert not {n for n, taken in answers.items() if not taken} & set(numbers), seed
    assert (box.bytes, len(box)) == (0, 0), seed
    assert box.counters.sent == len(got), seed
    assert box.counters.sent + box.counters.dropped <= 300, seed
    assert box.counters.sent + box.counters.dropped >= len(answers) or not keyed, seed


# ------------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        *(({name: value}, ValueError, name) for name, value in (("room", 0), ("room", "1 MiB"), ("patience", -1))),
        *(({"patience": value}, ValueError, "patience") for value in (float("nan"), None)),
        *(({"size": size}, TypeError, "size must be a function") for size in (5, None, "len")),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [Mailbox, Hub])
def test_bounds_that_make_no_sense_are_refused(
    make: Any, wrong: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        make(**wrong)


@run_loop
async def test_messages_without_a_size_and_policies_that_do_not_exist_are_refused() -> None:
    box: Mailbox[Any] = Mailbox(room=1_000)
    for message, size in ((b"abc", 3), ("äöü", 6), (memoryview(bytes(8)).cast("I"), 8)):
        before = box.bytes
        assert box.offer(message)
        assert box.bytes - before == size + EACH
    with pytest.raises(TypeError, match=r"how many bytes has a dict\? .* size="):
        box.offer({"celsius": 21})
    with pytest.raises(ValueError, match="close, drop, newest, wait, not 'zz'"):
        await box.put(b"x", slow="zz")  # type: ignore[arg-type]
    assert len(box) == 3
    for wrong in (-100, 1.5, None, "1"):
        other: Mailbox[object] = Mailbox(size=lambda _: wrong)  # type: ignore[arg-type, return-value]  # noqa: B023
        with pytest.raises(ValueError, match="size must return a whole number of bytes"):
            other.offer(object())
        with pytest.raises(ValueError, match="size must return"):
            await other.put(object())
        assert (len(other), other.bytes) == (0, 0)
