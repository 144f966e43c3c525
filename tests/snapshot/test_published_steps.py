"""Between any two steps of a call, another publisher acts, or a call of the system fails, or the process is killed:
nothing that was acknowledged is lost, one publisher at most can go on, and every reader sees whole versions."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
from collections.abc import Callable
from typing import Any

import pytest

import snapshot
from snapshot.published import composer
from tests.snapshot.world import FAILING, PLACES, World, at_step, content
from tests.threads import run_together

pytestmark = [
    pytest.mark.once,  # what lies in files is the same on every build
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),  # of a fork of a process with threads
]

CALLS: dict[str, Callable[[World], object]] = {
    "publish": World.publish,
    "take over": World.take_over,
    "reopen": World.reopen,
    "restore": World.restore,
    "follow": World.follow,
    "poll": World.poll,
    "compact": World.compact,
}
OTHERS: dict[str, Callable[[World], object]] = {
    "another publishes": World.publish,
    "another takes over": World.give_to_another,
    "another takes over and publishes": World.give_to_another_who_publishes,
    "what was there is removed": World.remove_what_was_there,
}
FAILURES = [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt()]
STRIDES = [
    pytest.param(24, id="some"),
    pytest.param(1, id="all", marks=pytest.mark.slow("every step; without it some, which are drawn anew each time")),
]


def every_step(
    world: World, call: str, stride: int, do: Callable[[], object], ends: tuple[type[BaseException], ...], **how: Any
) -> None:
    """Do something at every step of a call, or at some, each time in another call; then require that all is well."""
    world.publish()
    with at_step(0, do, **how) as steps:
        CALLS[call](world)
    world.settle()
    number, is_reached = random.randrange(min(stride, steps[0])) + 1, True
    print("first step", number, "keep", world.keep)
    while is_reached:
        # Who could not clear a desk removes nothing until another takes over, and take-overs have more and more steps.
        (world.publish if number // stride % 4 else world.give_to_another_who_publishes)()
        with at_step(number, do, **how) as steps, contextlib.suppress(*ends):
            CALLS[call](world)
        world.settle()
        is_reached = steps[0] >= number
        number += stride


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("where", PLACES, indirect=True)
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("call", CALLS)
def test_another_publisher_acts(
    where: str, call: str, other: str, stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if call == "publish" and other == "another publishes":
        pytest.skip("that is the same publisher")
    monkeypatch.setattr(composer, "FEWEST_FEEDS", 1)  # so that a few versions outweigh a full instant
    world = World(where)

    def act() -> None:  # in a thread of its own, as no handler that asks for more in the middle of the call
        with contextlib.suppress(snapshot.FencedError):
            run_together([lambda: OTHERS[other](world)], 60)

    every_step(
        world, call, stride, act, () if call in ("restore", "follow", "poll", "compact") else (snapshot.FencedError,)
    )


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("where", PLACES, indirect=True)
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("call", CALLS)
def test_an_error_comes(where: str, call: str, error: BaseException, late: bool, stride: int) -> None:
    def fail() -> None:
        raise error

    every_step(World(where), call, stride, fail, (type(error),), calls=FAILING, late=late)


@pytest.mark.parametrize("stride", STRIDES)
def test_the_process_is_killed(where: str, stride: int) -> None:
    world = World(where)
    number = random.randrange(stride) + 1
    print("first step", number, "keep", world.keep)
    killed = True
    while killed:
        copy = snapshot.restore(where)
        world.change(copy, next(world.numbers))
        if (child := os.fork()) == 0:
            signal.alarm(60)
            try:
                with at_step(number, lambda: os.kill(os.getpid(), signal.SIGKILL), calls=FAILING):
                    party = snapshot.take_over(where, keep=world.keep)
                    world.change(party[0], next(world.numbers) - 1)
                    party[1].publish()
            finally:
                os._exit(0)
        killed = os.waitpid(child, 0)[1] == signal.SIGKILL
        world.attempted.append(content(copy))
        assert killed or content(snapshot.restore(where)) == content(copy)
        world.settle()
        number += stride
