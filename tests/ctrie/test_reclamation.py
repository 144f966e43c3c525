"""What the tries and the slots keep alive, and how long: nothing unreachable, and nothing longer than needed.

References are dropped by counting alone: the collector is off in these tests, except where cycles are the subject. On
free-threaded interpreters, `drain` ends the wait for readers that might still exist.
"""

from __future__ import annotations

import gc
import itertools
import sysconfig
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from ctrie import AtomicReference, Ctrie, CtrieSet, drain, twin
from tests.ctrie.oracle import OPERATIONS
from tests.keys import hash_of, key
from tests.threads import LIMIT, finish, meanwhile, run_together, start
from tests.twins import load_twin

pytestmark = [pytest.mark.usefixtures("little_to_collect"), pytest.mark.racing]

SANITIZED = "thread-sanitizer" in str(sysconfig.get_config_var("CONFIG_ARGS"))
"""Under ThreadSanitizer, calls take more stack than CPython's limit on nested calls allows for."""


class Thing:
    """A key or value that can be referenced weakly."""


class Colliding(Thing):
    """A key with the same hash as all others."""

    def __hash__(self) -> int:
        return 7


class Equal(Colliding):
    """A key that is equal to all others of its kind."""

    __hash__ = Colliding.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal)


@pytest.fixture(autouse=True)
def by_counting_alone() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()
    assert drain() == 0


def assert_released(*weak: weakref.ref[Any]) -> None:
    drain()
    assert [ref() for ref in weak] == [None] * len(weak)


# ------------------------------------------------------------------------------------------------- what is let go of

CHANGES: dict[str, Callable[[Any, Any, Any], Any]] = {
    **{name: lambda m, k, old, name=name: OPERATIONS[name].call(m, k, old, None) for name in ("set", "pop", "del", "replace", "replace_if", "remove_if", "compute")},
    "clear": lambda m, k, old: m.clear(),
    "popitem": lambda m, k, old: [m.popitem() for _ in range(len(m))] and None,
}  # fmt: skip


@pytest.mark.parametrize("kind", [Thing, Colliding])
@pytest.mark.parametrize("name", CHANGES)
def test_a_value_that_is_replaced_or_removed_and_a_key_that_is_removed(name: str, kind: type[Thing]) -> None:
    for beside in (0, 1, 100):
        trie: Any = Ctrie((kind(), None) for _ in range(beside))
        k, value = kind(), Thing()
        trie[k] = value
        weak, weak_key = weakref.ref(value), weakref.ref(k)
        CHANGES[name](trie, k, value)
        del k, value
        assert_released(weak)
        if name in ("pop", "del", "remove_if", "clear", "popitem"):
            assert_released(weak_key)
        trie.check()


def refused(thing: Any) -> Any:
    trie: Any = Ctrie({1: "there"})
    trie.put_if_absent(1, thing)
    trie.setdefault(1, thing)
    trie.replace(2, thing)
    trie.replace_if(1, "not there", thing)
    trie.pop(3, thing)
    return trie


def key_of_an_equal_one(thing: Any) -> Any:
    k = Equal()
    k.thing = thing  # type: ignore[attr-defined]
    trie: Any = Ctrie({Equal(): 1})
    trie[k] = 2
    return trie


def dropped(thing: Any) -> None:
    things = [Thing() for _ in range(1000)]
    Ctrie(zip([*things, thing], [thing, *things], strict=True))


def dropped_snapshot(thing: Any) -> Any:
    trie: Any = Ctrie({1: thing, 2: None})
    frozen, fork = trie.readonly_snapshot(), trie.snapshot()
    trie[1] = None
    del frozen
    drain()
    assert fork[1] is thing
    return trie


def replaced_in_a_fork(thing: Any) -> Any:
    trie: Any = Ctrie(dict.fromkeys(range(100)))
    fork = trie.snapshot()
    fork[50] = thing
    fork[50] = None
    return trie, fork


def of_abandoned_iterators(thing: Any) -> Any:
    trie: Any = Ctrie({1: None, 2: thing, 3: None})
    for look in (iter(trie), iter(trie.items()), iter(trie.values()), *trie.split(2), trie.diff(Ctrie())):
        next(look)
    keys = list(trie.keys())  # keys taken from a view do not hold the values
    trie.clear()
    return trie, keys


def of_get_or_create(thing: Any) -> Any:
    trie: Any = Ctrie()
    trie.get_or_create(thing, Thing)
    with pytest.raises(ZeroDivisionError):
        trie.get_or_create(Thing(), lambda: 1 // 0)
    del trie[thing]
    return trie


def discarded(thing: Any) -> Any:
    members = CtrieSet([thing, 1])
    members.discard(thing)
    return members


def first_of_a_chain(thing: Any) -> Any:
    trie: Any = Ctrie(dict.fromkeys(range(100)) | {0: thing})
    for number in itertools.islice(itertools.cycle(range(100)), 300):
        trie = trie.snapshot()
        trie[number] = number
    return trie


A, A2, B = key("a", 1, 1), key("a2", 1, 2), key("b", 2)


def left(thing: Any, k: Any, snapshot: bool) -> Any:
    """What an aborted operation leaves, on the interpreted nodes: a write that a snapshot aborts, or a snapshot."""
    twin = load_twin()
    trie = twin.Ctrie({A: None, A2: None, B: None}, hash=hash_of)
    if snapshot:
        trie[k] = thing
        twin.suspend(trie.snapshot, 1)
        trie[k] = None
        return trie
    twin.suspend(lambda: trie.replace(k, thing), 1)
    frozen = trie.readonly_snapshot()
    assert (frozen[k], trie[k]) in ((None, None), (thing, thing))
    if frozen[k] is thing:
        trie[k], frozen = None, None
    return trie, frozen


SCENARIOS: dict[str, Callable[[Any], Any]] = {
    "refused": refused,
    "a key that is not stored because an equal one is there": key_of_an_equal_one,
    "in a map that is dropped": dropped,
    "in a snapshot that is dropped": dropped_snapshot,
    "replaced in a fork": replaced_in_a_fork,
    "of abandoned iterators": of_abandoned_iterators,
    "of get_or_create": of_get_or_create,
    "discarded": discarded,
    "in the first of a chain of snapshots": first_of_a_chain,
    "of an aborted write": partial(left, k=A, snapshot=False),
    "of an aborted write at the root": partial(left, k=B, snapshot=False),
    "of an aborted snapshot": partial(left, k=B, snapshot=True),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_not_needed_any_more_is_released(name: str) -> None:
    thing = Thing()
    weak = weakref.ref(thing)
    kept = SCENARIOS[name](thing)
    del thing
    assert_released(weak)
    if hasattr(kept, "check"):
        kept.check()


# ---------------------------------------------------------------------------------------------------------- finalizers


@pytest.mark.parametrize("name", CHANGES)
def test_users_finalizers_run_when_no_operation_is_half_done(name: str) -> None:
    """So they may write to the map that they came from, and start the next one there."""
    trie: Any = Ctrie()

    class Meddler:
        left = 50

        def __del__(self) -> None:
            trie["met"] = len(trie)
            trie.snapshot()
            if self.left:
                successor = Meddler()
                successor.left = self.left - 1
                trie[1] = successor

    trie[1] = Meddler()
    for _ in range(51):
        CHANGES[name](trie, 1, trie.get(1))
        drain()
    assert "met" in trie or name in ("clear", "popitem")
    assert not isinstance(trie.get(1), Meddler)
    trie.check()


# --------------------------------------------------------------------------------------------------------------- cycles


class Slots:
    __slots__ = ("bus",)


def through_attribute(trie: Any, holder: Any, as_key: bool = False) -> None:
    trie.update({holder: None, Colliding(): None} if as_key else {"holder": holder})
    holder.bus = trie


def through_list(trie: Any, inside: Callable[[Any], Any]) -> None:
    inner: list[Any] = []
    trie["holder"] = inside(inner)
    inner.append(trie)


def through_snapshots(trie: Any) -> None:
    trie["itself"] = trie.snapshot()
    trie["its snapshot"] = trie.readonly_snapshot()
    trie["itself"]["its fork"] = trie


# A reference back to the map that is added later, to an object that is not tracked at first.
CYCLES: dict[str, Callable[[Any], None]] = {
    "value": lambda trie: through_attribute(trie, Thing()),
    "key": lambda trie: through_attribute(trie, Thing(), as_key=True),
    "colliding key": lambda trie: through_attribute(trie, Colliding(), as_key=True),
    "slots": lambda trie: through_attribute(trie, Slots()),
    "list": lambda trie: through_list(trie, lambda inner: inner),
    "dict": lambda trie: through_list(trie, lambda inner: {"inner": inner}),
    "nested tuple": lambda trie: through_list(trie, lambda inner: (1, (inner,))),
    "snapshots": through_snapshots,
}


@pytest.mark.parametrize("name", CYCLES)
def test_a_cycle_through_a_trie_is_collected(name: str) -> None:
    trie: Any = Ctrie((number, None) for number in range(100))
    weak = weakref.ref(trie)
    CYCLES[name](trie)
    gc.collect()
    assert weak() is trie
    del trie
    drain()
    gc.collect()
    assert weak() is None


def test_a_collection_beside_writers_takes_nothing_away() -> None:
    trie: Any = Ctrie()
    numbers = itertools.count()

    def write() -> None:
        number = next(numbers)
        trie[number % 100] = [number]
        assert trie.get(number % 100, [0])[0] >= 0

    with meanwhile(write, write):
        for _ in range(5):
            gc.collect()
    assert set(trie) <= set(range(100))
    trie.check()


def test_a_large_trie_and_a_deep_one_are_dropped_without_deep_recursion() -> None:
    """Dropping an object that holds an object that holds ... must not nest calls without limit."""
    value = Thing()
    weak = weakref.ref(value)
    held: list[Any] = [Ctrie(dict.fromkeys(range(5_000), value)), None]
    for _ in range(12_000 if twin == "compiled" and not SANITIZED else 2_000):
        held[1] = Ctrie({1: held[1]})
    del value
    run_together([held.clear])
    assert_released(weak)


# -------------------------------------------------------------------------------------------------------------- threads


@pytest.mark.freethreaded
def test_values_are_released_while_all_are_busy() -> None:
    """Values are released before the threads come to rest. How many wait depends on how long the system lets a reader
    sleep between two instructions, so the bound is a wide one."""
    made: list[None] = []  # lists, since a finalizer could run in the middle of `count += 1`
    ended: list[None] = []
    waiting: list[int] = []

    class Counted:
        def __init__(self) -> None:
            made.append(None)
            waiting.append(len(made) - len(ended))

        def __del__(self) -> None:
            ended.append(None)

    ref: Any = AtomicReference(Counted())

    def replace() -> None:
        for _ in range(100):
            ref.compare_and_set(ref.load(), Counted())

    with meanwhile(replace, replace, lambda: [ref.load() for _ in range(100)]):
        while len(made) < 200_000:
            replace()
    assert max(waiting) < len(made) // 2
    assert drain() == 0
    assert len(made) - len(ended) == 1


def leave_garbage(trie: Any, number: int, weak: list[weakref.ref[Any]]) -> None:
    value = Thing()
    weak.append(weakref.ref(value))
    trie[number] = value
    assert trie.pop(number) is value


@pytest.mark.freethreaded
def test_what_ended_threads_left_is_released_by_those_that_go_on() -> None:
    trie: Any = Ctrie()
    weak: list[weakref.ref[Any]] = []
    run_together([partial(leave_garbage, trie, number, weak) for number in range(8)])
    # A single thread would not look for what others left, and on a busy machine the other one may not run for a while.
    with meanwhile(lambda: trie.update(other=Thing())):
        for number in range(3_000_000):
            trie["busy"] = [number]
            if number % 1_000 == 0 and not any(ref() for ref in weak):
                break
    assert [ref() for ref in weak] == [None] * 8
    trie.check()


def test_threads_that_come_and_go_leave_nothing() -> None:
    trie: Any = Ctrie()
    weak: list[weakref.ref[Any]] = []
    for batch in range(20):
        run_together([partial(leave_garbage, trie, number, weak) for number in range(batch * 10, batch * 10 + 10)])
    assert not trie
    assert_released(*weak)
    trie.check()


def test_a_reader_that_is_held_in_a_comparison_does_not_stop_the_release_of_the_rest() -> None:
    """The reader holds only the node that it compares with."""
    entered, go = threading.Event(), threading.Event()

    class Slow(Colliding):
        __hash__ = Colliding.__hash__

        def __eq__(self, other: object) -> bool:
            entered.set()
            assert go.wait(LIMIT)
            return self is other

    trie: Any = Ctrie({Slow(): None})
    reader = start([lambda: trie.get(Slow())])
    assert entered.wait(LIMIT)
    weak = []
    for _ in range(1000):
        trie["other"] = Thing()
        weak.append(weakref.ref(trie["other"]))
    trie["other"] = None
    try:
        assert_released(*weak)
    finally:
        go.set()
        finish(reader)
    trie.check()
