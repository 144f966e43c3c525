"""Numbers that cost nothing: exact at rest, whatever has come and gone. `len` is exact always."""

from __future__ import annotations

import copy
import importlib
import itertools
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from types import FrameType
from typing import Any

import pytest

from ctrie import Ctrie, CtrieSet, twin
from subtrie import MQTT, SubscriptionTrie, TopicStore
from subtrie.fields import Equals, FieldMatcher
from tests.own_code import is_own
from tests.threads import run_together


def counted(what: Any) -> int:
    """The number of things in it, by looking at each."""
    return sum(1 for _ in what)


def test_of_a_map() -> None:
    random, m = Random(1), Ctrie[Any, Any]()
    copies: list[Ctrie[Any, Any]] = []
    for n in range(2_000):
        key = random.randrange(60)
        match random.randrange(14):
            case 0 | 1 | 2 | 3:
                m[key] = n
            case 4 | 5:
                m.pop(key, None)
            case 6:
                m.put_if_absent(key, n)
                m.setdefault(key + 1, n)
            case 7:
                m.remove_if(key, m.get(key))
            case 8:
                m.replace(key, 3)
                m.replace_if(key, 3, 4)
            case 9:
                m.compute(key, lambda _: 1)
                m.get_or_create(key + 1, lambda: 2)
            case 10 if m:
                m.popitem()
            case 11 if random.random() < 0.1:
                m.clear()
            case 12:
                copies += [m.snapshot(), m.readonly_snapshot(), copy.copy(m), pickle.loads(pickle.dumps(m))]
                m.update({1: 2, "x": n})
        assert m.approximate_len() == len(m) == counted(m)
    assert all(one.approximate_len() == len(one) == counted(one) for one in copies)
    assert Ctrie([(1, 2), (1, 3)]).approximate_len() == 1


def test_of_keys_that_are_equal_by_the_map_alone() -> None:
    """A dict has both, and the map takes them for one."""

    def lowered(key: str) -> int:
        return hash(key.lower())

    def same(one: str, other: str) -> bool:
        return one.lower() == other.lower()

    m = Ctrie({"a": 1, "A": 2, "b": 3}, hash=lowered, equal=same)
    assert len(m) == m.approximate_len() == counted(m) == 2
    members = CtrieSet({"a", "A", "b"}, hash=lowered, equal=same)
    assert len(members) == members.approximate_len() == counted(members) == 2
    assert len(members | {"B"}) == len(members & {"A", "B", "c"}) == 2


def test_of_a_set() -> None:
    s = CtrieSet([1, 2, 1])
    s |= {3, 4}
    s.discard(1)
    assert s.approximate_len() == (s | {4}).approximate_len() == 3
    assert CtrieSet({1, 2}).approximate_len() == 2


def expect_known(trie: SubscriptionTrie[Any]) -> None:
    assert trie.approximate_len() == len(trie) == counted(trie)
    assert trie.approximate_filters() == trie.stats()["filters"]


@pytest.mark.parametrize("settings", [{}, {"index": True}, {"exact": True}, {"cache": 8}], ids=str)
def test_of_a_trie(settings: dict[str, Any]) -> None:
    random, trie = Random(2), SubscriptionTrie[Any](MQTT, **settings)
    filters = ["a", "a/b", "a/+", "#", "a/b/c", "$share/g/a/b", "$share/g/a/b/c/d", "x/y"]
    for _ in range(1_000):
        filter, who = random.choice(filters), random.randrange(4)
        match random.randrange(9):
            case 0 | 1 | 2:
                trie.subscribe(filter, who)
            case 3:
                trie.subscribe(filter, who, qos=1)
            case 4 | 5:
                trie.unsubscribe(filter, who)
            case 6:
                trie.unsubscribe_all(who)
            case 7 if random.random() < 0.1:
                trie.clear()
            case 8:
                some = [(random.choice(filters), random.randrange(4)) for _ in range(9)]
                trie.subscribe_many(some)
                trie.unsubscribe_many(some[::2])
                for other in (trie.fork(), trie.snapshot(), pickle.loads(pickle.dumps(trie))):
                    expect_known(other)
        expect_known(trie)


def test_of_a_change_whose_comparison_raises() -> None:
    class Odd:
        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            raise ValueError("odd")

    trie = SubscriptionTrie[Any](index=True)
    trie.subscribe("a", Odd())
    for _ in range(3):
        with pytest.raises(ValueError, match="odd"):
            trie.subscribe("a", Odd())
        expect_known(trie)


def test_of_a_store() -> None:
    random, store = Random(3), TopicStore[Any](MQTT)
    for n in range(1_000):
        topic = random.choice(["a", "a/b", "a/b/c", "x"])
        match random.randrange(8):
            case 0 | 1 | 2:
                store[topic] = n
            case 3:
                store.setdefault(topic, 1)
            case 4 | 5:
                store.pop(topic, None)
            case 6:
                store.update({"q": 1, "a": 2})
            case 7 if random.random() < 0.1:
                store.clear()
        fork = store.fork()
        assert (
            fork.approximate_len()
            == store.snapshot().approximate_len()
            == len(store)
            == store.approximate_len()
            == counted(store)
        )
        fork["new"] = 1
        assert fork.approximate_len() == len(fork) == counted(fork)


def test_of_criteria() -> None:
    matcher = FieldMatcher()
    matcher.subscribe([Equals("a", 1)], "x")
    assert matcher.approximate_len() == 1


def test_while_threads_change_and_cut() -> None:
    m = Ctrie[int, int]()
    trie = SubscriptionTrie[int]()
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

    work: list[Callable[[], None]] = [*(partial(change, seed) for seed in range(3)), cut, cut]
    run_together(work)
    for one in (m, trie, *copies):
        assert one.approximate_len() == len(one) == counted(one)
    expect_known(trie)


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
            if event == "line":
                left -= 1
                if left == 0:
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


@pytest.mark.skipif(twin == "compiled", reason="a signal does not interrupt the compiled code of a change")
@pytest.mark.parametrize(
    "name", ["set", "new", "delete", "update", "clear", "subscribe", "unsubscribe", "store", "drop"]
)
def test_is_right_wherever_a_change_is_interrupted(name: str) -> None:
    m: Ctrie[Any, Any] = Ctrie({key: 0 for key in range(3)})
    trie: SubscriptionTrie[Any] = SubscriptionTrie(MQTT)
    store: TopicStore[Any] = TopicStore(MQTT, topics={"a": 1})
    trie.subscribe("a/b", 0)
    numbers = itertools.count(10)
    call: Callable[[], object] = {
        "set": lambda: m.__setitem__(1, 2),
        "new": lambda: m.__setitem__(next(numbers), 2),
        "delete": lambda: m.pop(2, None),
        "update": lambda: Ctrie.update(m, {next(numbers): 1}),
        "clear": lambda: m.clear(),
        "subscribe": lambda: trie.subscribe("a/+", next(numbers)),
        "unsubscribe": lambda: trie.unsubscribe("a/b", 0),
        "store": lambda: store.__setitem__(f"b/{next(numbers)}", 1),
        "drop": lambda: store.pop("a", None),
    }[name]
    for _ in interruptions(call):
        for one in (m, trie, store):
            assert len(one) == counted(one)
        m[2] = 1
        trie.subscribe("a/b", 0)
        store["a"] = 1
    assert m.approximate_len() == counted(m)


@pytest.mark.skipif(twin == "compiled", reason="in the compiled twin the two are one body")
@pytest.mark.parametrize(
    "module", ["ctrie._ctrie", "ctrie._descent", "subtrie._trie.changeable", "subtrie._trie.topic_edits"]
)
def test_len_counts_what_is_committed_but_not_counted_yet(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    end, seen, late = importlib.import_module(module).end_change, [], 0
    what: Any
    calls: list[Callable[[], object]]
    match module:
        case "ctrie._ctrie":
            what = Ctrie[Any, Any]({1: 2, 3: 4})
            calls = [lambda: what.pop(1), lambda: what.__delitem__(3)]
        case "ctrie._descent":
            what = Ctrie[Any, Any]()
            calls = [lambda: what.__setitem__(1, 2), lambda: what.put_if_absent(3, 4)]
        case "subtrie._trie.changeable":
            what = SubscriptionTrie[Any]()
            calls = [lambda: what.subscribe("a", 1), lambda: what.unsubscribe("a", 1)]
        case _:
            what = TopicStore[Any]()
            calls = [lambda: what.__setitem__("a", 1), lambda: what.pop("a")]

    def look(*arguments: Any) -> None:
        nonlocal late
        seen.append(len(what) == counted(what))
        late += what.approximate_len() != counted(what)
        end(*arguments)

    monkeypatch.setattr(f"{module}.end_change", look)
    for call in calls:
        call()
    assert len(seen) == late == len(calls)
    assert all(seen)


def test_len_is_at_least_what_was_seen() -> None:
    """One adds numbers in order. Others look how far it is, and then for the length: not less."""
    m: Ctrie[int, None] = Ctrie()
    trie: SubscriptionTrie[int] = SubscriptionTrie()
    wrong: list[tuple[int, ...]] = []

    def add() -> None:
        for n in range(4_000):
            trie.subscribe("a", n)
            m[n] = None

    def ask() -> None:
        there = 0
        while there < 4_000 and not wrong:
            while there in m:
                there += 1
            seen = len(m), len(trie)
            if min(seen) < there or max(seen) > 4_000:
                wrong.append((there, *seen))

    run_together([add, ask, ask])
    assert not wrong
