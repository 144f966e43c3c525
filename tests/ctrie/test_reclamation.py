"""What the tries and the slots keep alive, and how long: nothing unreachable, and nothing longer than needed.

References are dropped by counting alone: the collector is off in these tests, except where cycles are the subject. On
free-threaded interpreters, `drain` ends the wait for readers that might still exist.
"""

from __future__ import annotations

import gc
import itertools
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ctrie import AtomicReference, Ctrie, CtrieSet, drain, twin
from tests.keys import Key, hash_of, key
from tests.threads import LIMIT, meanwhile, run_together
from tests.twins import Twin, load_twin

pytestmark = [pytest.mark.usefixtures("little_to_collect"), pytest.mark.racing]

SANITIZED = "thread-sanitizer" in str(sysconfig.get_config_var("CONFIG_ARGS"))
"""Under ThreadSanitizer, calls take more stack than CPython's limit on nested calls allows for."""


class Thing:
    """A key or value that can be referenced weakly."""


class Colliding(Thing):
    """A key with the same hash as all others."""

    def __hash__(self) -> int:
        return 7


@pytest.fixture(autouse=True)
def by_counting_alone() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()
    assert drain() == 0


def assert_released(*weak: weakref.ref[Any]) -> None:
    drain()
    assert [ref() for ref in weak] == [None] * len(weak)


class TestCtrie:
    @pytest.mark.parametrize("beside", [0, 1, 100])
    @pytest.mark.parametrize("kind", [Thing, Colliding])
    @pytest.mark.parametrize(
        "change",
        [
            lambda m, k: m.__setitem__(k, None),
            lambda m, k: m.pop(k),
            lambda m, k: m.replace(k, None),
            lambda m, k: m.replace_if(k, m[k], None),
            lambda m, k: m.remove_if(k, m[k]),
            lambda m, k: m.compute(k, lambda value: None),
            lambda m, k: m.clear(),
            lambda m, k: [m.popitem() for _ in range(len(m))] and None,
        ],
        ids=["set", "pop", "replace", "replace_if", "remove_if", "compute", "clear", "popitem"],
    )
    def test_a_value_that_is_replaced_or_removed(
        self, change: Callable[[Any, Any], Any], kind: type[Thing], beside: int
    ) -> None:
        trie: Any = Ctrie((kind(), None) for _ in range(beside))
        k, value = kind(), Thing()
        trie[k] = value
        weak = weakref.ref(value)
        del value
        change(trie, k)
        assert_released(weak)
        trie.check()

    @pytest.mark.parametrize("kind", [Thing, Colliding])
    def test_a_key_that_is_removed(self, kind: type[Thing]) -> None:
        trie: Any = Ctrie((kind(), None) for _ in range(3))
        k = kind()
        trie[k] = None
        weak = weakref.ref(k)
        del trie[k], k
        assert_released(weak)
        trie.check()

    def test_a_key_that_was_not_stored_because_an_equal_one_was_there(self) -> None:
        class Equal(Colliding):
            __hash__ = Colliding.__hash__

            def __eq__(self, other: object) -> bool:
                return isinstance(other, Equal)

        trie: Any = Ctrie({Equal(): 1})
        k = Equal()
        trie[k] = 2
        weak = weakref.ref(k)
        del k
        assert_released(weak)
        assert list(trie.values()) == [2]

    def test_a_value_that_was_refused(self) -> None:
        trie: Any = Ctrie({1: "there"})
        value = Thing()
        weak = weakref.ref(value)
        trie.put_if_absent(1, value)
        trie.setdefault(1, value)
        trie.replace(2, value)
        trie.replace_if(1, "not there", value)
        trie.pop(3, value)
        del value
        assert_released(weak)

    def test_all_of_a_trie_that_is_dropped(self) -> None:
        things = [Thing() for _ in range(1000)]
        weak = [weakref.ref(thing) for thing in things]
        trie = Ctrie(zip(things, reversed(things), strict=True))
        del things
        del trie
        assert_released(*weak)

    def test_what_only_a_dropped_snapshot_held(self) -> None:
        value = Thing()
        weak = weakref.ref(value)
        trie: Any = Ctrie({1: value, 2: None})
        frozen, fork = trie.readonly_snapshot(), trie.snapshot()
        del value
        trie[1] = None
        del frozen
        drain()
        assert weak() is fork[1]
        del fork
        assert_released(weak)

    def test_what_a_fork_has_replaced(self) -> None:
        trie: Any = Ctrie(dict.fromkeys(range(100)))
        fork = trie.snapshot()
        value = Thing()
        weak = weakref.ref(value)
        fork[50] = value
        del value
        fork[50] = None
        assert_released(weak)

    def test_what_an_abandoned_iterator_held(self) -> None:
        value = Thing()
        weak = weakref.ref(value)
        trie: Any = Ctrie({1: None, 2: value, 3: None})
        del value
        iterators = [iter(trie), iter(trie.items()), iter(trie.values()), *trie.split(2), trie.diff(Ctrie())]
        for iterator in iterators:
            next(iterator)
        trie.clear()
        del iterator, iterators
        assert_released(weak)

    def test_keys_taken_from_a_view_do_not_hold_the_values(self) -> None:
        value = Thing()
        weak = weakref.ref(value)
        trie: Any = Ctrie({1: value})
        del value
        keys = list(trie.keys())
        trie.clear()
        assert_released(weak)
        assert keys == [1]

    def test_what_get_or_create_needed_to_keep_others_waiting(self) -> None:
        trie: Any = Ctrie()
        k = Thing()
        weak = weakref.ref(k)
        trie.get_or_create(k, Thing)
        with pytest.raises(ZeroDivisionError):
            trie.get_or_create(Thing(), lambda: 1 // 0)
        del trie[k], k
        assert_released(weak)

    def test_a_set_holds_only_its_members(self) -> None:
        member = Thing()
        weak = weakref.ref(member)
        members = CtrieSet([member, 1])
        members.discard(member)
        del member
        assert_released(weak)

    def test_a_chain_of_snapshots_does_not_hold_the_first(self) -> None:
        value = Thing()
        weak = weakref.ref(value)
        trie: Any = Ctrie(dict.fromkeys(range(100)) | {0: value})
        del value
        for number in itertools.islice(itertools.cycle(range(100)), 300):
            trie = trie.snapshot()
            trie[number] = number
        assert_released(weak)
        trie.check()


class TestUndecidedOrAborted:
    """What aborted operations leave, on the interpreted nodes."""

    A, A2, B = key("a", 1, 1), key("a2", 1, 2), key("b", 2)

    @pytest.fixture
    def twin(self) -> Twin:
        return load_twin()

    def filled(self, twin: Twin) -> Any:
        trie = twin.Ctrie(hash=hash_of)
        trie.update([(self.A, None), (self.A2, None), (self.B, None)])
        return trie

    @pytest.mark.parametrize("k", [A, B], ids=str)
    def test_the_value_of_an_aborted_write(self, twin: Twin, k: Key) -> None:
        trie = self.filled(twin)
        value = Thing()
        weak = weakref.ref(value)
        pending = 1
        twin.suspend(lambda: trie.replace(k, value), pending)
        del value
        assert weak() is not None
        frozen = trie.readonly_snapshot()
        assert (frozen[k], trie[k]) in ((None, None), (weak(), weak()))
        trie[k] = None
        del frozen
        assert_released(weak)

    def test_the_value_of_an_aborted_write_beside_the_snapshot_that_aborted_it(self, twin: Twin) -> None:
        trie = self.filled(twin)
        value = Thing()
        weak = weakref.ref(value)
        twin.suspend(lambda: trie.replace(self.A, value), 1)
        del value
        frozen = trie.readonly_snapshot()
        assert frozen[self.A] is None
        assert_released(weak)

    def test_what_an_aborted_snapshot_would_have_held(self, twin: Twin) -> None:
        trie = self.filled(twin)
        value = Thing()
        weak = weakref.ref(value)
        trie[self.B] = value
        del value
        proposed = 1
        twin.suspend(trie.snapshot, proposed)
        trie[self.B] = None
        assert_released(weak)


class TestFinalizers:
    """Users' finalizers run when no operation is half done, so they may use the map that they came from."""

    @pytest.mark.parametrize(
        "change",
        [
            lambda m: m.__setitem__(1, None),
            lambda m: m.pop(1),
            lambda m: m.clear(),
            lambda m: m.compute(1, lambda value: None),
            lambda m: m.popitem(),
        ],
        ids=["set", "pop", "clear", "compute", "popitem"],
    )
    def test_a_finalizer_may_write_to_the_map(self, change: Callable[[Any], Any]) -> None:
        trie: Any = Ctrie()

        class Meddler:
            def __del__(self) -> None:
                trie["met"] = len(trie)
                trie.snapshot()

        trie[1] = Meddler()
        change(trie)
        drain()
        assert "met" in trie
        trie.check()

    def test_a_finalizer_may_start_the_next_one(self) -> None:
        trie: Any = Ctrie()

        class Successor:
            def __init__(self, number: int) -> None:
                self.number = number

            def __del__(self) -> None:
                if self.number:
                    trie.replace(1, Successor(self.number - 1))

        trie[1] = Successor(50)
        for _ in range(51):
            trie.replace(1, None)
            drain()
        assert trie[1] is None
        trie.check()

    def test_a_weak_references_callback_may_use_the_map(self) -> None:
        trie: Any = Ctrie()
        value = Thing()
        weak = weakref.ref(value, lambda dead: trie.pop("key", None))
        trie["key"] = "companion"
        trie["thing"] = value
        del value
        del trie["thing"]
        assert_released(weak)
        assert not trie


class TestCycles:
    @pytest.mark.parametrize("kind", ["value", "key", "colliding key", "dict", "list", "nested tuple", "slots"])
    def test_a_cycle_through_a_trie_is_collected(self, kind: str) -> None:
        """This includes a reference back to the trie that is added later, to an object not tracked at first."""

        class Slots:
            __slots__ = ("bus",)

        trie: Any = Ctrie((number, None) for number in range(100))
        weak = weakref.ref(trie)
        holder: Any
        if kind == "dict":
            holder = {}
            trie["holder"] = holder
            holder["bus"] = trie
        elif kind == "list":
            holder = []
            trie["holder"] = holder
            holder.append(trie)
        elif kind == "nested tuple":
            inner: list[Any] = []
            trie["holder"] = (1, (inner,))
            inner.append(trie)
        elif kind == "slots":
            holder = Slots()
            trie["holder"] = holder
            holder.bus = trie
        else:
            holder = Colliding() if kind == "colliding key" else Thing()
            trie.update({holder: None, Colliding(): None} if "key" in kind else {"holder": holder})
            holder.bus = trie
        gc.collect()
        assert weak() is trie
        holder = inner = None  # type: ignore[assignment]
        del trie
        drain()
        gc.collect()
        assert weak() is None

    def test_a_cycle_through_a_snapshot_is_collected(self) -> None:
        trie: Any = Ctrie()
        trie["itself"] = trie.snapshot()
        trie["its snapshot"] = trie.readonly_snapshot()
        trie["itself"]["its fork"] = trie
        weak = weakref.ref(trie)
        del trie
        drain()
        gc.collect()
        assert weak() is None

    def test_a_collection_beside_writers_takes_nothing_away(self) -> None:
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


class TestSize:
    def test_a_large_trie_and_a_deep_one_are_dropped_without_deep_recursion(self) -> None:
        """Dropping an object that holds an object that holds ... must not nest calls without limit."""
        value = Thing()
        weak = weakref.ref(value)
        trie: Any = Ctrie(dict.fromkeys(range(5_000), value))
        chain: Any = None
        for _ in range(12_000 if twin == "compiled" and not SANITIZED else 2_000):
            chain = Ctrie({1: chain})
        del value
        done: list[bool] = []

        def drop() -> None:
            nonlocal trie, chain
            trie = chain = None
            done.append(True)

        run_together([drop])
        assert done
        assert_released(weak)


class TestThreads:
    """Values that threads retire while others read."""

    @pytest.mark.freethreaded
    def test_values_are_released_while_all_are_busy(self) -> None:
        """Values are released before the threads come to rest. How many wait depends on how long the system lets a
        reader sleep between two instructions, so the bound is a wide one."""
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

        def read() -> None:
            for _ in range(100):
                ref.load()

        with meanwhile(replace, replace, read):
            while len(made) < 200_000:
                replace()
        assert max(waiting) < len(made) // 2
        assert drain() == 0
        assert len(made) - len(ended) == 1

    @pytest.mark.freethreaded
    def test_what_ended_threads_left_is_released_by_those_that_go_on(self) -> None:
        trie: Any = Ctrie()
        weak: list[weakref.ref[Any]] = []

        def leave_garbage(number: int) -> None:
            value = Thing()
            weak.append(weakref.ref(value))
            trie[number] = value
            trie[number] = None

        run_together([lambda number=number: leave_garbage(number) for number in range(8)])
        # A single thread would not look for what others left, and on a busy machine the other one may not run for a while.
        with meanwhile(lambda: trie.update(other=Thing())):
            for number in range(3_000_000):
                trie["busy"] = [number]
                if number % 1_000 == 0 and not any(ref() for ref in weak):
                    break
        assert [ref() for ref in weak] == [None] * 8

    def test_threads_that_come_and_go_leave_nothing(self) -> None:
        trie: Any = Ctrie()
        weak: list[weakref.ref[Any]] = []

        def work(number: int) -> None:
            value = Thing()
            weak.append(weakref.ref(value))
            trie[number] = value
            assert trie.pop(number) is value

        for batch in range(20):
            run_together([lambda number=number: work(number) for number in range(batch * 10, batch * 10 + 10)])
        assert not trie
        assert_released(*weak)
        trie.check()

    def test_a_reader_that_is_held_in_a_comparison_does_not_stop_the_release_of_the_rest(self) -> None:
        """The reader holds only the node that it compares with."""
        entered, go = threading.Event(), threading.Event()

        class Slow(Colliding):
            def __eq__(self, other: object) -> bool:
                entered.set()
                assert go.wait(LIMIT)
                return self is other

            __hash__ = Colliding.__hash__

        trie: Any = Ctrie({Slow(): None})
        reader = threading.Thread(target=lambda: trie.get(Slow()), daemon=True)
        reader.start()
        assert entered.wait(LIMIT)
        weak = []
        for _ in range(1000):
            value = Thing()
            weak.append(weakref.ref(value))
            trie["other"] = value
        del value
        trie["other"] = None
        try:
            assert_released(*weak)
        finally:
            go.set()
            reader.join(LIMIT)


def test_the_reference_count_of_a_shared_value_is_as_before() -> None:
    value = [1]
    trie: Any = Ctrie()
    before = sys.getrefcount(value)
    for number in range(100):
        trie[number % 10] = value
    frozen = trie.readonly_snapshot()
    trie.clear()
    assert [found for found in frozen.values() if found is not value] == []
    del frozen
    drain()
    assert sys.getrefcount(value) == before
