"""Threads that try again and again until they succeed: what fails changes nothing, so whoever repeats it waits. Loops
that change something at every turn have no end of schedules, and are no livelock.
"""

# mypy: ignore-errors

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import Any

import pytest

import ctrie
from stress import Verdict, explore

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")
INCREMENTS = [[("increment",)], [("increment",)]]


class Spinning:
    """A counter with a lock of its own making: one token, which a thread takes and puts back."""

    tokens: Any = [1]

    def __init__(self) -> None:
        self.n = 0
        self.free = self.tokens.copy()

    def increment(self) -> int:
        while not self.take():
            pass
        self.n += 1
        n = self.n
        self.put()
        return n

    def take(self) -> bool:
        with contextlib.suppress(IndexError, KeyError, ValueError):
            self.remove()
            return True
        return False

    def remove(self) -> None:
        self.free.pop()

    def put(self) -> None:
        self.free.append(1)


class ByRemove(Spinning):
    def remove(self) -> None:
        self.free.remove(1)


class ByDeletion(Spinning):
    def remove(self) -> None:
        del self.free[0]


class ByDeque(Spinning):
    tokens = deque([1])

    def remove(self) -> None:
        self.free.popleft()


class BySet(Spinning):
    tokens = {1}

    def remove(self) -> None:
        self.free.remove(1)

    def put(self) -> None:
        self.free.add(1)


class ByDictionary(Spinning):
    tokens = {"token": 1}

    def take(self) -> bool:
        return self.free.pop("token", None) is not None

    def put(self) -> None:
        self.free["token"] = 1


class ByDeletedKey(ByDictionary):
    def take(self) -> bool:
        return Spinning.take(self)

    def remove(self) -> None:
        del self.free["token"]


class BySetDefault(Spinning):
    tokens: Any = {}

    def take(self) -> bool:
        me = threading.get_ident()
        return self.free.setdefault("holder", me) == me

    def put(self) -> None:
        del self.free["holder"]


RIGHT = [Spinning, ByRemove, ByDeletion, ByDeque, BySet, ByDictionary, ByDeletedKey, BySetDefault]


def with_two_tokens(spinning: Any) -> type:
    class Two(spinning):  # type: ignore[misc]
        tokens = [1, 1] if isinstance(spinning.tokens, list) else deque([1, 1])

    return Two


# One in four on other interpreters, where a step takes longer.
@pytest.mark.parametrize(
    "spinning", [pytest.param(each, marks=[pytest.mark.once] * (n % 4 > 0)) for n, each in enumerate(RIGHT)]
)
def test_a_lock_of_ones_own_making_is_right(spinning: Any) -> None:
    outcome = explore(spinning, None, INCREMENTS)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary


@pytest.mark.parametrize("spinning", [Spinning, ByRemove, ByDeletion, ByDeque])
def test_two_tokens_are_no_lock(spinning: Any) -> None:
    outcome = explore(with_two_tokens(spinning), None, INCREMENTS)
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary


class Polling:
    """Counts how often it looks."""

    def __init__(self) -> None:
        self.done, self.looks = False, 0
        self.lock = threading.Lock()

    def wait(self) -> bool:
        while not self.done:
            self.looks += 1
        return True

    def finish(self) -> None:
        self.done = True


class PollingUnderLock(Polling):
    def wait(self) -> bool:
        while True:
            with self.lock:
                self.looks += 1
                if self.done:
                    return True


class NeverDone(Polling):
    """A livelock: nobody ends the wait."""

    def finish(self) -> None:
        self.looks = 0


@pytest.mark.parametrize("polling", [Polling, PollingUnderLock])
def test_who_counts_its_looks_is_not_accused(polling: Any) -> None:
    outcome = explore(polling, None, [[("wait",)], [("finish",)]])
    assert outcome.verdict is Verdict.UNKNOWN, outcome.summary
    assert "every round changes something" in outcome.summary


def test_a_wait_without_end_is_not_said_to_be_right() -> None:
    outcome = explore(NeverDone, None, [[("wait",)], [("finish",)]])
    assert outcome.verdict is not Verdict.LINEARIZABLE, outcome.summary
