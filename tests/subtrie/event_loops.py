"""Event loops for the tests of the hub and its mailboxes: one that ends, and one whose clock jumps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from selectors import DefaultSelector, SelectorKey
from typing import Any

from subtrie.hub import Hub

NEVER = 1_000.0  # seconds that no test waits for
AT_ONCE = 0.0


HUBS: list[Hub[Any]] = []  # of the test that runs


def new_hub(*arguments: Any, **named: Any) -> Hub[Any]:
    """A hub, which is checked at the end of the test."""
    HUBS.append(Hub(*arguments, **named))
    return HUBS[-1]


def run_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in an event loop; whatever hangs is a failure."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        async def bounded() -> None:
            HUBS.clear()
            async with asyncio.timeout(30):
                await test(*arguments, **named)
            check_hubs()
            others = asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]
            assert others == set(), "a task is left"

        asyncio.run(bounded())

    return run


class TurnedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next timer when there is nothing else to do: seconds take no time."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(self.Selector(self))

    def time(self) -> float:
        return self.now

    class Selector(DefaultSelector):
        def __init__(self, loop: TurnedLoop) -> None:
            super().__init__()
            self.loop = loop

        def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
            assert timeout is not None, "nothing is left that could happen"
            self.loop.now += max(timeout, 0)
            return super().select(0)


def run_turned(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in a loop whose clock jumps."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        async def bounded() -> None:
            HUBS.clear()
            async with asyncio.timeout(NEVER * 10):
                await test(*arguments, **named)
            check_hubs()

        with asyncio.Runner(loop_factory=TurnedLoop) as runner:
            runner.run(bounded())

    return run


def now() -> float:
    return asyncio.get_running_loop().time()


def check_hubs() -> None:
    """Nothing is left of clients that have gone."""
    while HUBS:
        hub = HUBS.pop()
        hub.routes.check()
        assert {one.subscriber for one in hub.routes} <= hub.clients
        assert hub.clients or not hub.routes


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
