"""One conformance suite for every implementation of the atomic slot that this interpreter has: native and portable.

All values are fresh objects: constants are immortal on free-threaded interpreters, and would hide a reference that was
dropped too early, too late or twice. `Tracked` objects report their own end, each by its number.
"""

from __future__ import annotations

import copy
import gc
import importlib
import importlib.util
import itertools
import pickle
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scripts import WARNINGS
from tests.threads import run_together

pytestmark = pytest.mark.compiled  # no body has an interpreted twin
GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
ROOT = Path(__file__).parents[2]
THREADS = 4


def bodies() -> list[str]:
    native = importlib.util.find_spec("ctrie._native") is not None
    portable = GIL and importlib.util.find_spec("atomics") is not None
    return ["ctrie._native"] * native + ["ctrie._portable"] * portable


def slot(body: Any, value: object) -> Any:
    """The seam below `AtomicReference`, as the tries use it."""
    made = body.Slot.__new__(body.Slot)
    body.Slot.initialise(made, value)
    return made


@pytest.fixture(params=bodies())
def body(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The module of one body. Whatever a test did, nothing stays behind when all threads are at rest."""
    module = importlib.import_module(request.param)
    yield module
    assert module.drain() == 0


@pytest.fixture(params=["AtomicReference", "Slot"])
def make(request: pytest.FixtureRequest, body: Any) -> Callable[[object], Any]:
    """A function that makes an atomic reference with an initial value."""
    if request.param == "Slot":
        return lambda value: slot(body, value)
    return body.AtomicReference  # type: ignore[no-any-return]


class Tracked:
    """A fresh object that appends its number to `ended` when it is released."""

    _numbers = itertools.count()

    def __init__(self, ended: list[int]) -> None:
        self.number = next(self._numbers)
        self._ended = ended

    def __del__(self) -> None:
        self._ended.append(self.number)


class AlwaysEqual:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


def test_at_least_one_body_exists() -> None:
    assert bodies()


class TestIdentity:
    def test_load_returns_the_very_object(self, make: Any) -> None:
        value = object()
        assert make(value).load() is value

    def test_a_set_of_the_present_value_succeeds(self, make: Any) -> None:
        old, new = object(), object()
        ref = make(old)
        assert ref.compare_and_set(old, new) is True
        assert ref.load() is new

    def test_a_set_of_another_value_fails_and_changes_nothing(self, make: Any) -> None:
        old = object()
        ref = make(old)
        assert ref.compare_and_set(object(), object()) is False
        assert ref.load() is old

    @pytest.mark.parametrize(
        ("value", "equal"),
        [(1, True), (1.0, 1), ([], []), ("ab" * 50, "".join(["ab"] * 50)), (AlwaysEqual(), object())],
    )
    def test_an_equal_value_is_not_the_value(self, make: Any, value: object, equal: object) -> None:
        assert value == equal
        assert not make(value).compare_and_set(equal, None)

    def test_a_value_that_is_unequal_to_itself_is_the_value(self, make: Any) -> None:
        nan = float("nan")
        assert make(nan).compare_and_set(nan, None)

    def test_a_value_may_be_set_to_itself(self, make: Any) -> None:
        value = object()
        ref = make(value)
        assert ref.compare_and_set(value, value)
        assert ref.load() is value

    def test_none_is_a_value(self, make: Any) -> None:
        ref = make(None)
        assert ref.load() is None
        assert ref.compare_and_set(None, 1)
        assert ref.compare_and_set(1, None)
        assert ref.load() is None


class TestAtomicReference:
    def test_it_starts_with_none(self, body: Any) -> None:
        assert body.AtomicReference().load() is None

    def test_repr_shows_the_value(self, body: Any) -> None:
        assert repr(body.AtomicReference("a")) == "AtomicReference('a')"

    def test_it_can_be_subscripted_for_annotations(self, body: Any) -> None:
        assert body.AtomicReference[int].__origin__ is body.AtomicReference

    def test_it_can_be_referenced_weakly(self, body: Any) -> None:
        ref = body.AtomicReference()
        weak = weakref.ref(ref)
        del ref
        assert weak() is None

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
    def test_it_is_not_copied(self, body: Any, copied: Callable[[Any], Any]) -> None:
        with pytest.raises(TypeError, match=r"shared, not copied or pickled: .* AtomicReference\(ref.load\(\)\)"):
            copied(body.AtomicReference(1))

    def test_it_is_hashed_and_compared_by_identity(self, body: Any) -> None:
        one, other = body.AtomicReference(1), body.AtomicReference(1)
        assert len({one, other}) == 2
        assert one != other


class TestCompetition:
    ROUNDS = 200

    def test_of_competing_sets_exactly_one_succeeds(self, make: Any) -> None:
        first = object()
        refs = [make(first) for _ in range(self.ROUNDS)]

        def compete() -> list[bool]:
            return [ref.compare_and_set(first, object()) for ref in refs]

        successes = run_together([compete] * THREADS)
        assert [sum(round) for round in zip(*successes, strict=True)] == [1] * self.ROUNDS

    def test_whoever_succeeded_is_the_one_whose_value_stays(self, make: Any) -> None:
        first = object()
        refs = [make(first) for _ in range(self.ROUNDS)]

        def compete() -> list[object]:
            mine = [object() for _ in refs]
            return [value for ref, value in zip(refs, mine, strict=True) if ref.compare_and_set(first, value)]

        winners = [value for won in run_together([compete] * THREADS) for value in won]
        assert {id(value) for value in winners} == {id(ref.load()) for ref in refs}

    def test_n_sets_that_each_succeed_are_n_changes(self, make: Any) -> None:
        ref = make([0])

        def count_up() -> None:
            for _ in range(self.ROUNDS):
                while True:
                    old = ref.load()
                    if ref.compare_and_set(old, [old[0] + 1]):
                        break

        run_together([count_up] * THREADS)
        assert ref.load() == [THREADS * self.ROUNDS]

    def test_values_are_read_in_the_order_in_which_they_were_set(self, make: Any) -> None:
        ref = make([0])

        def write() -> None:
            for number in range(1, 1000):
                assert ref.compare_and_set(ref.load(), [number])

        def read() -> list[int]:
            seen = [0]
            while seen[-1] < 999:
                seen.append(ref.load()[0])
            return seen

        for seen in run_together([read] * (THREADS - 1) + [write])[:-1]:
            assert seen is not None
            assert seen == sorted(seen)


class TestABA:
    def test_a_value_that_came_back_is_the_value(self, make: Any) -> None:
        a, b = object(), object()
        ref = make(a)
        assert ref.compare_and_set(a, b)
        assert ref.compare_and_set(b, a)
        assert ref.compare_and_set(a, b)

    def test_a_new_object_is_never_taken_for_one_that_somebody_expects(self, make: Any) -> None:
        ref = make([0])
        for number in range(500):
            expected = ref.load()
            assert ref.compare_and_set(expected, None)
            assert ref.compare_and_set(None, [number])  # it could get the same address if `expected` were not held
            assert not ref.compare_and_set(expected, None)

    def test_a_stack_of_nodes_that_come_and_go_loses_and_repeats_nothing(self, make: Any) -> None:
        top = make(None)
        rounds = 300

        def push(item: int) -> None:
            while True:
                below = top.load()
                if top.compare_and_set(below, (item, below)):
                    return

        def pop() -> int:
            while True:
                node = top.load()
                if node is not None and top.compare_and_set(node, node[1]):
                    return node[0]  # type: ignore[no-any-return]

        def toss(thread: int) -> list[int]:
            popped = []
            for number in range(rounds):
                push(thread * rounds + number)
                popped.append(pop())
            return popped

        tossed = run_together([lambda thread=thread: toss(thread) for thread in range(THREADS)])
        assert sorted(itertools.chain(*tossed)) == list(range(THREADS * rounds))
        assert top.load() is None


class TestRelease:
    """Every value is released exactly once, and not before its time."""

    def test_a_replaced_value_is_released(self, body: Any, make: Any) -> None:
        ended: list[int] = []
        value = Tracked(ended)
        number = value.number
        ref = make(value)
        del value
        assert ended == []
        assert ref.compare_and_set(ref.load(), None)
        body.drain()
        assert ended == [number]

    def test_the_present_value_is_released_with_its_slot(self, body: Any, make: Any) -> None:
        ended: list[int] = []
        ref = make(Tracked(ended))
        number = ref.load().number
        del ref
        body.drain()
        assert ended == [number]

    def test_a_value_that_was_refused_is_released(self, body: Any, make: Any) -> None:
        ended: list[int] = []
        ref = make(None)
        assert not ref.compare_and_set(object(), Tracked(ended))
        body.drain()
        assert len(ended) == 1

    def test_a_value_that_is_held_elsewhere_stays(self, body: Any, make: Any) -> None:
        ended: list[int] = []
        value = Tracked(ended)
        ref = make(value)
        assert ref.compare_and_set(value, None)
        body.drain()
        assert ended == []
        assert value.number >= 0

    def test_a_loaded_value_outlives_its_replacement(self, body: Any, make: Any) -> None:
        ended: list[int] = []
        ref = make(Tracked(ended))
        loaded = ref.load()
        assert ref.compare_and_set(loaded, None)
        body.drain()
        assert ended == []
        number = loaded.number
        del loaded
        body.drain()
        assert ended == [number]

    def test_a_value_set_to_itself_is_held_once(self, body: Any, make: Any) -> None:
        ended: list[int] = []
        ref = make(Tracked(ended))
        for _ in range(10):
            assert ref.compare_and_set(ref.load(), ref.load())
        body.drain()
        assert ended == []
        assert ref.compare_and_set(ref.load(), None)
        body.drain()
        assert len(ended) == 1

    def test_each_of_many_values_that_threads_compete_over_is_released_once(self, body: Any, make: Any) -> None:
        ended: list[int] = []
        ref = make(Tracked(ended))
        made: list[int] = [ref.load().number]

        def replace() -> None:
            for _ in range(500):
                value = Tracked(ended)
                made.append(value.number)
                ref.compare_and_set(ref.load(), value)

        def read() -> None:
            for _ in range(2000):
                value = ref.load()
                assert value.number in range(value.number + 1)  # it is alive and intact

        run_together([replace] * (THREADS - 1) + [read])
        assert body.drain() == 0
        assert sorted([*ended, ref.load().number]) == sorted(made)
        assert ref.compare_and_set(ref.load(), None)
        assert body.drain() == 0
        assert sorted(ended) == sorted(made)

    def test_values_of_threads_that_have_ended_are_released(self, body: Any, make: Any) -> None:
        ended: list[int] = []
        ref = make(None)

        def replace() -> None:
            for _ in range(10):
                ref.compare_and_set(ref.load(), Tracked(ended))

        for _ in range(10):
            run_together([replace] * THREADS)
        assert ref.compare_and_set(ref.load(), None)
        assert body.drain() == 0
        assert len(ended) == len(set(ended)) == 10 * THREADS * 10

    def test_drain_leaves_nothing_when_all_are_at_rest(self, body: Any, make: Any) -> None:
        ref = make(object())
        for _ in range(1000):
            assert ref.compare_and_set(ref.load(), object())
        assert body.drain() == 0
        assert body.drain() == 0


class TestFinalizers:
    """Releasing a value may run users' code, which may use the very slot that released it."""

    def test_a_finalizer_may_read_and_replace_the_value(self, body: Any, make: Any) -> None:
        ref = make(None)
        seen: list[object] = []

        class Successor:
            def __init__(self, generation: int) -> None:
                self.generation = generation

            def __del__(self) -> None:
                seen.append(ref.load())
                if self.generation < 5:
                    ref.compare_and_set(ref.load(), Successor(self.generation + 1))

        ref.compare_and_set(None, Successor(0))
        for _ in range(6):  # each time, the finalizer of the present one replaces None by a successor
            ref.compare_and_set(ref.load(), None)
            body.drain()
        assert seen == [None] * 6
        assert ref.load() is None

    def test_finalizers_of_competing_threads_may_use_the_slot(self, body: Any, make: Any) -> None:
        ref = make(None)
        ended: list[int] = []

        class Meddler(Tracked):
            def __del__(self) -> None:
                super().__del__()
                ref.compare_and_set(ref.load(), object())

        def replace() -> None:
            for _ in range(300):
                ref.compare_and_set(ref.load(), Meddler(ended))

        run_together([replace] * THREADS)
        ref.compare_and_set(ref.load(), None)
        body.drain()
        ref.compare_and_set(ref.load(), None)
        assert body.drain() == 0
        assert len(ended) == len(set(ended)) == THREADS * 300

    def test_a_finalizer_may_drain(self, body: Any, make: Any) -> None:
        drained: list[int] = []

        class Drainer:
            def __del__(self) -> None:
                drained.append(body.drain())

        ref = make(Drainer())
        ref.compare_and_set(ref.load(), None)
        body.drain()
        assert len(drained) == 1

    def test_what_a_finalizer_raises_goes_to_the_hook_for_it(
        self, body: Any, make: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reported: list[str] = []
        monkeypatch.setattr(sys, "unraisablehook", lambda hooked: reported.append(str(hooked.exc_value)))

        class Failing:
            def __del__(self) -> None:
                raise ValueError("on purpose")

        ref = make(Failing())
        assert ref.compare_and_set(ref.load(), "next")
        body.drain()
        assert reported == ["on purpose"]
        assert ref.load() == "next"


class TestCycles:
    def test_a_cycle_through_a_slot_is_collected(self, body: Any, make: Any) -> None:
        class Owner:
            ref: Any

        owner = Owner()
        owner.ref = make(owner)
        weak = weakref.ref(owner)
        del owner
        gc.collect()
        assert weak() is None

    def test_a_finalizer_in_a_cycle_may_use_the_slot_in_it(self, body: Any, make: Any) -> None:
        seen: list[object] = []

        class Owner:
            ref: Any

            def __del__(self) -> None:
                seen.append(self.ref.load() is self)
                seen.append(self.ref.compare_and_set(self, None))

        ref = make(None)  # older than its owner, so that the collector comes to it first
        owner = Owner()
        owner.ref = ref
        assert ref.compare_and_set(None, owner)
        del ref, owner
        gc.collect()
        body.drain()
        assert seen == [True, True]

    def test_a_cycle_through_a_replaced_value_is_collected(self, body: Any, make: Any) -> None:
        class Owner:
            ref: Any

        owner = Owner()
        owner.ref = make(None)
        for _ in range(100):  # some of them are left waiting for release
            owner.ref.compare_and_set(owner.ref.load(), [owner])
        weak = weakref.ref(owner)
        del owner
        body.drain()
        gc.collect()
        assert weak() is None

    def test_a_collection_finds_no_garbage_in_what_is_alive(self, make: Any) -> None:
        refs = [make([number]) for number in range(100)]
        gc.collect()
        assert [ref.load() for ref in refs] == [[number] for number in range(100)]


PROLOGUE = """
import atexit, os, sys, threading, time
import ctrie
import {body} as body

refs = [body.AtomicReference([number]) for number in range(8)]
stop = threading.Event()

def hammer():
    number = 0
    while not stop.is_set():
        number += 1
        ref = refs[number % 8]
        ref.compare_and_set(ref.load(), [number])

def start(threads, daemon):
    started = [threading.Thread(target=hammer, daemon=daemon) for _ in range(threads)]
    for thread in started:
        thread.start()
    return started
"""


def run_script(body: Any, script: str) -> str:
    """Run a script that begins with PROLOGUE in an interpreter of its own, expect a clean exit, and return what it
    printed."""
    code = PROLOGUE.format(body=body.__name__) + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", *WARNINGS, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), f"exit status {done.returncode}\n{done.stderr}"
    return done.stdout


class TestFork:
    def test_the_child_goes_on_with_the_values_of_the_parent(self, body: Any) -> None:
        printed = run_script(
            body,
            """
            for ref in refs:
                ref.compare_and_set(ref.load(), object())
            child = os.fork()
            for ref in refs:
                assert ref.compare_and_set(ref.load(), [os.getpid()])
            assert body.drain() == 0
            if child:
                assert os.waitpid(child, 0)[1] == 0
                print([ref.load() == [os.getpid()] for ref in refs].count(True))
            """,
        )
        assert printed == "8\n"

    def test_a_child_of_a_process_whose_threads_are_busy_works_drains_and_exits(self, body: Any) -> None:
        printed = run_script(
            body,
            """
            threads = start(3, daemon=False)
            children = []
            for _ in range(10):
                child = os.fork()
                if not child:
                    stop.set()
                    for number in range(1000):
                        ref = refs[number % 8]
                        assert ref.compare_and_set(ref.load(), [number])
                    assert body.drain() == 0
                    more = start(2, daemon=True)
                    stop.clear()
                    os._exit(0)
                children.append(child)
            print([os.waitpid(child, 0)[1] for child in children])
            stop.set()
            for thread in threads:
                thread.join()
            assert body.drain() == 0
            """,
        )
        assert printed == f"{[0] * 10}\n"

    def test_a_child_forked_by_another_thread_works(self, body: Any) -> None:
        printed = run_script(
            body,
            """
            def fork():
                child = os.fork()
                if not child:
                    for ref in refs:
                        assert ref.compare_and_set(ref.load(), None)
                    os._exit(body.drain())
                print(os.waitpid(child, 0)[1])

            hammering = start(2, daemon=False)
            forking = threading.Thread(target=fork)
            forking.start()
            forking.join()
            stop.set()
            for thread in hammering:
                thread.join()
            """,
        )
        assert printed == "0\n"

    @pytest.mark.freethreaded
    def test_what_a_thread_was_releasing_keeps_nobody_in_the_child_from_releasing(self, body: Any) -> None:
        printed = run_script(
            body,
            """
            inside, go = threading.Event(), threading.Event()

            class Slow:
                def __del__(self, inside=inside, go=go):
                    inside.set()
                    go.wait()

            def release():
                refs[0].compare_and_set(refs[0].load(), Slow())
                while not inside.is_set():
                    refs[0].compare_and_set(refs[0].load(), object())

            def replace():
                for number in range(20_000):
                    refs[0].compare_and_set(refs[0].load(), [number])
                print(body.drain(), flush=True)

            releasing = threading.Thread(target=release)
            releasing.start()
            inside.wait()
            child = os.fork()
            if not child:
                replacing = threading.Thread(target=replace)
                replacing.start()
                replacing.join()
                os._exit(body.drain() != 0)
            print(os.waitpid(child, 0)[1])
            go.set()
            releasing.join()
            """,
        )
        assert printed == "0\n0\n"


class TestChain:
    def test_a_long_one_is_dropped_without_deep_recursion(self, body: Any) -> None:
        run_script(
            body,
            """
            chain = None
            for _ in range(300_000 if "_native" in body.__name__ else 30_000):
                chain = body.AtomicReference(chain)
            del chain
            """,
        )

    def test_one_that_contains_itself_can_be_shown(self, body: Any) -> None:
        ref = body.AtomicReference(None)
        ref.compare_and_set(None, [ref])
        assert repr(ref) == "AtomicReference([AtomicReference(...)])"
        ref.compare_and_set(ref.load(), None)


class TestExit:
    @pytest.mark.freethreaded
    def test_a_thread_that_reads_while_it_ends_is_a_reader(self, body: Any) -> None:
        """Another library's destructor of thread-specific data may run after ours, and run Python code."""
        run_script(
            body,
            """
            import ctypes
            libc = ctypes.CDLL(None)

            @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
            def at_thread_exit(_):
                reading.set()
                while not stop.is_set():
                    for ref in refs:
                        if type(ref.load()) is not list:
                            wrong.append(ref)

            def read_and_end():
                refs[0].load()
                libc.pthread_setspecific(key, ctypes.c_void_p(1))

            wrong, reading, key = [], threading.Event(), ctypes.c_uint()
            assert libc.pthread_key_create(ctypes.byref(key), at_thread_exit) == 0
            ending = threading.Thread(target=read_and_end)
            ending.start()
            reading.wait()
            for number in range(400_000):
                ref = refs[number % 8]
                ref.compare_and_set(ref.load(), [number])
            stop.set()
            ending.join()
            assert not wrong
            """,
        )

    def test_values_are_still_there_for_functions_that_run_at_exit(self, body: Any) -> None:
        printed = run_script(
            body,
            """
            @atexit.register
            def last():
                assert all(ref.compare_and_set(ref.load(), "last") for ref in refs)
                body.drain()
                print("last:", refs[0].load())
            """,
        )
        assert printed == "last: last\n"

    def test_the_interpreter_exits_while_daemon_threads_are_busy(self, body: Any) -> None:
        printed = run_script(
            body,
            """
            started = start(3, daemon=True)
            before = refs[0].load()
            while refs[0].load() is before:
                pass
            print("exits")
            """,
        )
        assert printed == "exits\n"

    def test_finalizers_may_use_slots_while_the_interpreter_goes_down(self, body: Any) -> None:
        run_script(
            body,
            """
            class Meddler:
                def __del__(self, ref=refs[0], new=object):
                    ref.compare_and_set(ref.load(), new())

            for ref in refs[1:]:
                ref.compare_and_set(ref.load(), Meddler())
            """,
        )

    def test_a_thread_that_ends_after_the_main_one_is_waited_for(self, body: Any) -> None:
        printed = run_script(
            body,
            """
            go = threading.Event()

            def late():
                go.wait()
                for number in range(1000):
                    refs[0].compare_and_set(refs[0].load(), [number])
                print(refs[0].load())

            threading.Thread(target=late).start()
            go.set()
            """,
        )
        assert printed == "[999]\n"
