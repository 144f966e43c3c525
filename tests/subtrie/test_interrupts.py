"""Ctrl-C during one long call ends it: the handlers of signals run in between, and what they raise leaves nothing half
done."""

from __future__ import annotations

import gc
import operator
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import pytest

from ctrie import Ctrie, CtrieSet
from subtrie import SubscriptionTrie
from subtrie.fields import Equals, FieldMatcher

pytestmark = pytest.mark.compiled  # the interpreter itself looks for signals between two lines

MANY = 400_000  # at least 20 ms for each call
TIMES = 10  # a call: the clock of a process's own time ticks every 4 to 10 ms, and on a busy machine another process has some ticks


class Stopped(BaseException):
    """Raised by the handler of a signal, as KeyboardInterrupt is."""


def stop(*_: object) -> None:
    raise Stopped


@contextmanager
def a_signal_soon() -> Iterator[None]:
    """Have a signal sent as soon as this process has worked for another millisecond."""
    gc.disable()  # what a handler raises while code runs that the collector calls (hypothesis has some) is ignored
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.001)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        gc.enable()


def ends_early(call: Callable[..., Any], *arguments: Any) -> None:
    """Check that a call ends by the signal. If it does not, it is made again, and a TypeError follows at once: no Python
    code is run between them, which would look for signals. The signal is then raised while the TypeError is handled."""
    call_and_more = chain(map(call, *([one] * TIMES for one in arguments)), map(ord, ["more than one character"]))
    with pytest.raises(Stopped) as stopped, a_signal_soon():
        list(call_and_more)
    assert stopped.value.__context__ is None, "the call was not stopped"


@pytest.fixture(scope="module")
def numbers() -> dict[str, int]:
    return {f"key {number}": number for number in range(MANY)}


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, int]]:
    return [(f"a{number % 500}.b{number // 500}", number) for number in range(MANY)]


class TestMaps:
    @pytest.mark.parametrize("given", [dict, lambda numbers: list(numbers.items())], ids=["dict", "list"])
    def test_filling_is_left_undone(self, numbers: dict[str, int], given: Callable[[Any], Any]) -> None:
        m: Ctrie[str, int] = Ctrie()
        ends_early(m.update, given(numbers))
        assert not m
        m.check()

    def test_making_one(self, numbers: dict[str, int]) -> None:
        ends_early(Ctrie, numbers)
        ends_early(CtrieSet, numbers)

    def test_update_has_stored_some(self, numbers: dict[str, int]) -> None:
        m: Ctrie[str, int] = Ctrie({"first": 1})
        ends_early(m.update, numbers)
        assert all(numbers.get(key, 1) == value for key, value in m.items())
        assert "first" in m
        assert f"key {MANY - 1}" not in m
        m.check()

    def test_looking_up(self) -> None:
        m, members = Ctrie({"a": 1}), CtrieSet("a")
        ends_early(m.get_many, ["a"] * 2 * MANY)
        ends_early(members.contains_many, ["a"] * 2 * MANY)

    def test_walking(self, numbers: dict[str, int]) -> None:
        m = Ctrie(numbers)
        changed = m.snapshot()
        changed.update({key: -1 for key in numbers})
        ends_early(list, m)
        ends_early(operator.eq, m, Ctrie(numbers))
        ends_early(list, changed.diff(m))


class TestSubscriptions:
    def test_filling_is_left_undone(self, rows: list[tuple[str, int]]) -> None:
        t: SubscriptionTrie[int] = SubscriptionTrie()
        ends_early(t.subscribe_many, rows)
        assert not t
        t.check()

    def test_one_level_of_many_words(self) -> None:
        t: SubscriptionTrie[int] = SubscriptionTrie()
        ends_early(t.subscribe_many, [(str(number), number) for number in range(MANY)])
        assert not t

    @pytest.mark.parametrize("many", ["match_many", "deliveries_many", "match_columns"])
    def test_matching(self, rows: list[tuple[str, int]], many: str) -> None:
        t: SubscriptionTrie[int] = SubscriptionTrie()
        t.subscribe_many(rows[:1000])
        ends_early(getattr(t, many), [filter for filter, _ in rows])
        t.check()


class TestFields:
    def test_filling_is_left_undone(self) -> None:
        matcher = FieldMatcher()
        ends_early(matcher.subscribe_many, [([Equals("a", number)], number) for number in range(MANY // 8)])
        assert not matcher
        matcher.check()

    @pytest.mark.parametrize("many", ["match_many", "deliveries_many"])
    def test_matching(self, many: str) -> None:
        matcher = FieldMatcher()
        matcher.subscribe([Equals("a", 1)], "ann")
        ends_early(getattr(matcher, many), [{"a": 1}] * MANY)
        matcher.check()
