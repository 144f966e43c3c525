"""Numbers that cost nothing: `approximate_len` is exact at rest, whatever has come and gone. `len` is exact always.

The machines of tests/ctrie and tests/fields compare both after any sequence of operations, and test_failing_comparisons.py
after changes that raise.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from types import FrameType
from typing import Any

import pytest

from ctrie import Ctrie, twin
from subtrie import MQTT, SubscriptionTrie, TopicStore
from tests.own_code import is_own
from tests.threads import run_together


def counted(what: Any) -> int:
    """The number of things in it, by looking at each."""
    return sum(1 for _ in what)


def expect_known(*made: Any) -> None:
    for each in made:
        assert each.approximate_len() == len(each) == counted(each)
        if isinstance(each, SubscriptionTrie):
            assert each.approximate_filters() == each.stats()["filters"]


def test_while_threads_change_and_cut() -> None:
    """`len` is at least what was seen to be there, and both are exact when all are at rest."""
    m, trie, grown = Ctrie[int, int](), SubscriptionTrie[int](), Ctrie[int, None]()
    copies: list[Any] = []

    def change(seed: int) -> None:
        random = Random(seed)
        for n in range(600):
            key = random.randrange(50)
            if random.random() < 0.5:
                m[key] = n
                trie.subscribe(f"a.{key % 7}", key)
            else:
                m.pop(key, None)
                trie.unsubscribe(f"a.{key % 7}", key)

    def cut() -> None:
        for n in range(60):
            copies.extend((m.snapshot(), m.readonly_snapshot(), trie.fork(), trie.snapshot()))
            if n % 7 == 0:
                m.clear()
                trie.clear()

    def add() -> None:
        for n in range(4_000):
            grown[n] = None

    def ask() -> None:
        there = 0
        while there < 4_000:
            while there in grown:
                there += 1
            assert there <= len(grown) <= 4_000

    run_together([*(partial(change, seed) for seed in range(3)), cut, cut, add, ask])  # type: ignore[arg-type]
    expect_known(m, trie, grown, *copies)


class Interrupted(BaseException):
    """What a signal's handler raises in the middle of a change."""


def interruptions(call: Callable[[], object]) -> Iterator[None]:
    """Make the call, each time from the start with one more line of this package that runs before it is interrupted,
    until it ends by itself. Only the interpreted twin has lines."""
    for lines in itertools.count(1):
        left = lines

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal left
            if not is_own(frame.f_code):
                return None
            left -= event == "line"
            if left == 0 and event == "line":
                raise Interrupted
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            call()
        except Interrupted:
            pass
        finally:
            sys.settrace(before)
        yield
        if left > 0:
            return


numbers = itertools.count(10)
Parts = tuple[Any, Any, Any]
INTERRUPTED: dict[str, Callable[[Parts], object]] = {
    "set": lambda parts: parts[0].__setitem__(1, 2),
    "new": lambda parts: parts[0].__setitem__(next(numbers), 2),
    "delete": lambda parts: parts[0].pop(2, None),
    "update": lambda parts: Ctrie.update(parts[0], {next(numbers): 1}),
    "clear": lambda parts: parts[0].clear(),
    "subscribe": lambda parts: parts[1].subscribe("a/+", next(numbers)),
    "unsubscribe": lambda parts: parts[1].unsubscribe("a/b", 0),
    "store": lambda parts: parts[2].__setitem__(f"b/{next(numbers)}", 1),
    "drop": lambda parts: parts[2].pop("a", None),
}


@pytest.mark.skipif(twin == "compiled", reason="a signal does not interrupt the compiled code of a change")
@pytest.mark.parametrize("name", INTERRUPTED)
def test_is_right_wherever_a_change_is_interrupted(name: str) -> None:
    m, trie, store = parts = Ctrie[Any, Any](), SubscriptionTrie[Any](MQTT), TopicStore[Any](MQTT)
    m.update({key: 0 for key in range(3)})
    for _ in interruptions(lambda: INTERRUPTED[name](parts)):
        for one in parts:
            assert len(one) == counted(one)
        m[2] = 1
        trie.subscribe("a/b", 0)
        store["a"] = 1
    assert m.approximate_len() == counted(m)


# The module whose `end_change` counts: what is changed, and changes of it.
COUNTED_LATE: dict[str, tuple[Callable[[], Any], list[Callable[[Any], object]]]] = {
    "ctrie._ctrie": (lambda: Ctrie({1: 2, 3: 4}), [lambda m: m.pop(1), lambda m: m.__delitem__(3)]),
    "ctrie._descent": (Ctrie, [lambda m: m.__setitem__(1, 2), lambda m: m.put_if_absent(3, 4)]),
    "subtrie._trie.changeable": (SubscriptionTrie, [lambda t: t.subscribe("a", 1), lambda t: t.unsubscribe("a", 1)]),
    "subtrie._trie.topic_edits": (TopicStore, [lambda s: s.__setitem__("a", 1), lambda s: s.pop("a")]),
}


@pytest.mark.skipif(twin == "compiled", reason="in the compiled twin the two are one body")
@pytest.mark.parametrize("module", COUNTED_LATE)
def test_len_counts_what_is_committed_but_not_counted_yet(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    end, seen = importlib.import_module(module).end_change, []
    make, calls = COUNTED_LATE[module]
    what = make()

    def look(*arguments: Any) -> None:
        seen.append((len(what) == counted(what), what.approximate_len() == counted(what)))
        end(*arguments)

    monkeypatch.setattr(f"{module}.end_change", look)
    for call in calls:
        call(what)
    assert seen == [(True, False)] * len(calls)
