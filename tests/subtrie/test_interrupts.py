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


def changed(numbers: dict[str, int]) -> Iterator[Any]:
    m = Ctrie(numbers)
    newer = m.snapshot()
    newer.update(dict.fromkeys(numbers, -1))
    return newer.diff(m)


Called = tuple[Callable[..., Any], *tuple[Any, ...]]
OF_MAPS: dict[str, Callable[[dict[str, int]], Called]] = {
    "fill a map from a dict": lambda numbers: (Ctrie().update, numbers),
    "fill a map from a list": lambda numbers: (Ctrie().update, list(numbers.items())),
    "make a map": lambda numbers: (Ctrie, numbers),
    "make a set": lambda numbers: (CtrieSet, numbers),
    "Ctrie.get_many": lambda _: (Ctrie({"a": 1}).get_many, ["a"] * 2 * MANY),
    "CtrieSet.contains_many": lambda _: (CtrieSet("a").contains_many, ["a"] * 2 * MANY),
    "walk a map": lambda numbers: (list, Ctrie(numbers)),
    "compare maps": lambda numbers: (operator.eq, Ctrie(numbers), Ctrie(numbers)),
    "list a difference": lambda numbers: (list, changed(numbers)),
}
OF_TRIES: dict[str, Callable[[list[tuple[str, int]]], Called]] = {
    "fill a trie": lambda rows: (SubscriptionTrie().subscribe_many, rows),
    "fill one level": lambda _: (SubscriptionTrie().subscribe_many, [(str(number), number) for number in range(MANY)]),
    **{
        many: lambda rows, many=many: (getattr(trie_of(rows[:1000]), many), [filter for filter, _ in rows])  # type: ignore[misc]
        for many in ("match_many", "deliveries_many", "match_columns")
    },
    "fill a field matcher": lambda _: (
        FieldMatcher().subscribe_many, [([Equals("a", number)], number) for number in range(MANY // 8)],
    ),
    **{
        f"fields, {many}": lambda _, many=many: (getattr(of_fields(), many), [{"a": 1}] * MANY)  # type: ignore[misc]
        for many in ("match_many", "deliveries_many")
    },
}  # fmt: skip


def trie_of(rows: list[tuple[str, int]]) -> SubscriptionTrie[int]:
    trie: SubscriptionTrie[int] = SubscriptionTrie()
    trie.subscribe_many(rows)
    return trie


def of_fields() -> FieldMatcher:
    matcher = FieldMatcher()
    matcher.subscribe([Equals("a", 1)], "ann")
    return matcher


def expect_undone(name: str, call: Callable[..., Any], *arguments: Any) -> None:
    """What a call was to fill is still empty, and all of it is sound."""
    ends_early(call, *arguments)
    changed: Any = getattr(call, "__self__", None)
    if hasattr(changed, "check"):
        assert not name.startswith("fill") or not changed
        changed.check()


@pytest.mark.parametrize("name", OF_MAPS)
def test_a_call_of_maps(name: str, numbers: dict[str, int]) -> None:
    expect_undone(name, *OF_MAPS[name](numbers))


@pytest.mark.parametrize("name", OF_TRIES)
def test_a_call_of_tries_and_matchers(name: str, rows: list[tuple[str, int]]) -> None:
    expect_undone(name, *OF_TRIES[name](rows))


def test_an_update_of_what_is_not_empty_has_stored_some(numbers: dict[str, int]) -> None:
    m: Ctrie[str, int] = Ctrie({"first": 1})
    ends_early(m.update, numbers)
    assert all(numbers.get(key, 1) == value for key, value in m.items())
    assert "first" in m
    assert f"key {MANY - 1}" not in m
    m.check()
