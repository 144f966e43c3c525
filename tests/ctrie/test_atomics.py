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
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.scripts import WARNINGS
from tests.threads import run_together

pytestmark = pytest.mark.compiled  # no body has an interpreted twin
GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
ROOT = Path(__file__).parents[2]
THREADS, ROUNDS = 4, 200


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
    return partial(slot, body) if request.param == "Slot" else body.AtomicReference


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


def test_values_are_told_apart_by_identity(make: Any) -> None:
    old, new = object(), object()
    ref = make(old)
    assert ref.load() is old
    assert ref.compare_and_set(object(), new) is False
    assert ref.load() is old
    assert ref.compare_and_set(old, new) is True
    assert ref.load() is new
    assert not ref.compare_and_set(old, new)
    for value in (None, old, new, old, float("nan")):  # a value may come back, or be unequal to itself
        assert ref.compare_and_set(ref.load(), value)
        assert ref.load() is value
        assert ref.compare_and_set(value, value)
    pairs: list[tuple[Any, Any]] = [
        (1, True),
        (1.0, 1),
        ([], []),
        ("ab" * 50, "".join(["ab"] * 50)),
        (AlwaysEqual(), object()),
    ]
    for value, equal in pairs:
        assert value == equal
        assert not make(value).compare_and_set(equal, None)


def test_a_reference_as_an_object(body: Any) -> None:
    one, other = body.AtomicReference(), body.AtomicReference("a")
    assert (one.load(), repr(other), len({one, other})) == (None, "AtomicReference('a')", 2)
    assert body.AtomicReference("a") != other
    assert body.AtomicReference[int].__origin__ is body.AtomicReference
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"shared, not copied or pickled: .* AtomicReference\(ref.load\(\)\)"):
            copied(one)
    assert one.compare_and_set(None, [one])
    assert repr(one) == "AtomicReference([AtomicReference(...)])"
    assert one.compare_and_set(one.load(), None)
    weak = weakref.ref(one)
    del one
    assert weak() is None


# --------------------------------------------------------------------------------------------------------- competition


def test_of_competing_sets_exactly_one_succeeds_and_its_value_stays(make: Any) -> None:
    first = object()
    refs = [make(first) for _ in range(ROUNDS)]

    def compete() -> list[object]:
        mine = [object() for _ in refs]
        return [value if ref.compare_and_set(first, value) else None for ref, value in zip(refs, mine, strict=True)]

    for ref, values in zip(refs, zip(*run_together([compete] * THREADS), strict=True), strict=True):
        assert [value for value in values if value is not None] == [ref.load()]


def test_n_sets_that_each_succeed_are_n_changes_and_seen_in_order(make: Any) -> None:
    ref = make([0])

    def count_up() -> None:
        for _ in range(ROUNDS):
            while not ref.compare_and_set(old := ref.load(), [old[0] + 1]):
                pass

    def read() -> None:
        seen = [0]
        while seen[-1] < (THREADS - 1) * ROUNDS:
            seen.append(ref.load()[0])
        assert seen == sorted(seen)

    run_together([read] + [count_up] * (THREADS - 1))
    assert ref.load() == [(THREADS - 1) * ROUNDS]


def test_a_new_object_is_never_taken_for_one_that_somebody_expects(make: Any) -> None:
    ref = make([0])
    for number in range(500):
        expected = ref.load()
        assert ref.compare_and_set(expected, None)
        assert ref.compare_and_set(None, [number])  # it could get the same address if `expected` were not held
        assert not ref.compare_and_set(expected, None)


def test_a_stack_of_nodes_that_come_and_go_loses_and_repeats_nothing(make: Any) -> None:
    top = make(None)

    def push(item: int) -> None:
        while not top.compare_and_set(below := top.load(), (item, below)):
            pass

    def pop() -> int:
        while (node := top.load()) is None or not top.compare_and_set(node, node[1]):
            pass
        return node[0]  # type: ignore[no-any-return]

    def toss(thread: int) -> list[int]:
        popped = []
        for number in range(ROUNDS):
            push(thread * ROUNDS + number)
            popped.append(pop())
        return popped

    tossed = run_together([partial(toss, thread) for thread in range(THREADS)])
    assert sorted(itertools.chain(*tossed)) == list(range(THREADS * ROUNDS))
    assert top.load() is None


# ------------------------------------------------------------------------------------------------------------- release


def test_every_value_is_released_once_and_not_before_its_time(body: Any, make: Any) -> None:
    ended: list[int] = []
    first = Tracked(ended)
    numbers, ref = [first.number], make(first)
    assert not ref.compare_and_set(object(), Tracked(ended))  # what is refused is released
    body.drain()
    assert ended == [first.number + 1]
    ended.clear()
    for _ in range(10):  # what is set to itself is held once
        assert ref.compare_and_set(first, ref.load())
    loaded = ref.load()
    assert ref.compare_and_set(first, Tracked(ended))
    del first
    body.drain()
    assert ended == []  # it is held elsewhere
    del loaded
    body.drain()
    assert ended == numbers
    numbers.append(ref.load().number)
    assert ref.compare_and_set(ref.load(), Tracked(ended))
    body.drain()
    assert ended == numbers
    numbers.append(ref.load().number)
    del ref  # the present value is released with its slot
    body.drain()
    assert ended == numbers
    assert body.drain() == 0


def test_values_that_threads_compete_over_are_released_once_whatever_their_finalizers_do(body: Any, make: Any) -> None:
    """This includes those of threads that have ended."""
    ended: list[int] = []
    ref = make(Tracked(ended))
    made: list[int] = [ref.load().number]

    class Meddler(Tracked):
        def __del__(self) -> None:
            super().__del__()
            ref.compare_and_set(ref.load(), None)
            body.drain()

    def replace(kind: type[Tracked]) -> None:
        for _ in range(ROUNDS):
            value = kind(ended)
            made.append(value.number)
            ref.compare_and_set(ref.load(), value)

    def read() -> None:
        for _ in range(5 * ROUNDS):
            value = ref.load()
            assert value is None or value.number in range(value.number + 1)  # it is alive and intact

    for kind in (Tracked, Meddler, Tracked):
        run_together([partial(replace, kind)] * (THREADS - 1) + [read])
    ref.compare_and_set(ref.load(), None)
    assert body.drain() == 0
    ref.compare_and_set(ref.load(), None)
    assert body.drain() == 0
    assert sorted(ended) == sorted(made)


def test_what_a_finalizer_raises_goes_to_the_hook_for_it(body: Any, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda hooked: reported.append(str(hooked.exc_value)))

    class Failing:
        def __del__(self) -> None:
            raise ValueError(f"beside {ref.load()}")

    ref = make(Failing())
    assert ref.compare_and_set(ref.load(), "next")
    body.drain()
    assert (reported, ref.load()) == (["beside next"], "next")


class Owner:
    """It holds a slot that leads back to it, and uses it in the end."""

    def __init__(self, ref: Any, used: list[bool]) -> None:
        self.ref, self.used = ref, used

    def __del__(self) -> None:
        self.used.append(self.ref.load() is self and self.ref.compare_and_set(self, None))


@pytest.mark.parametrize("times", [0, 100])
def test_a_cycle_through_a_slot_is_collected(body: Any, make: Any, times: int) -> None:
    alive = [make([number]) for number in range(100)]
    used: list[bool] = []
    ref = make(None)  # older than its owner, so that the collector comes to it first
    owner = Owner(ref, used)
    for _ in range(times):  # some of the replaced values are left waiting for release
        ref.compare_and_set(ref.load(), [owner])
    ref.compare_and_set(ref.load(), owner)
    weak = weakref.ref(owner)
    del ref, owner
    body.drain()
    gc.collect()
    body.drain()
    assert (weak(), used) == (None, [True])
    assert [ref.load() for ref in alive] == [[number] for number in range(100)]


# ------------------------------------------------------------------------------------------------- the end of processes

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
FREE_THREADED = pytest.mark.freethreaded

# What a process does, and what it prints. It ends with status 0, and says nothing of errors.
SCRIPTS = [
    pytest.param("""
        for ref in refs:
            ref.compare_and_set(ref.load(), object())
        child = os.fork()
        for ref in refs:
            assert ref.compare_and_set(ref.load(), [os.getpid()])
        assert body.drain() == 0
        if child:
            assert os.waitpid(child, 0)[1] == 0
            print([ref.load() == [os.getpid()] for ref in refs].count(True))
        """, "8\n", id="a child goes on with the values of its parent"),
    pytest.param("""
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
        """, f"{[0] * 10}\n", id="a child of a process whose threads are busy works, drains and exits"),
    pytest.param("""
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
        """, "0\n", id="a child forked by another thread works"),
    pytest.param("""
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
        """, "0\n0\n", id="what a thread was releasing keeps nobody in the child from releasing", marks=FREE_THREADED),
    pytest.param("""
        chain = None
        for _ in range(300_000 if "_native" in body.__name__ else 5_000):
            chain = body.AtomicReference(chain)
        del chain
        """, "", id="a long chain is dropped without deep recursion"),
    # Another library's destructor of thread-specific data may run after ours, and run Python code.
    pytest.param("""
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
        """, "", id="a thread that reads while it ends is a reader", marks=FREE_THREADED),
    pytest.param("""
        @atexit.register
        def last():
            assert all(ref.compare_and_set(ref.load(), "last") for ref in refs)
            body.drain()
            print("last:", refs[0].load())
        """, "last: last\n", id="values are still there for functions that run at exit"),
    pytest.param("""
        started = start(3, daemon=True)
        before = refs[0].load()
        while refs[0].load() is before:
            pass
        print("exits")
        """, "exits\n", id="the interpreter exits while daemon threads are busy"),
    pytest.param("""
        class Meddler:
            def __del__(self, ref=refs[0], new=object):
                ref.compare_and_set(ref.load(), new())

        for ref in refs[1:]:
            ref.compare_and_set(ref.load(), Meddler())
        """, "", id="finalizers may use slots while the interpreter goes down"),
    pytest.param("""
        go = threading.Event()

        def late():
            go.wait()
            for number in range(1000):
                refs[0].compare_and_set(refs[0].load(), [number])
            print(refs[0].load())

        threading.Thread(target=late).start()
        go.set()
        """, "[999]\n", id="a thread that ends after the main one is waited for"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "prints"), SCRIPTS)
def test_a_process_ends_as_it_should(body: Any, script: str, prints: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "faulthandler",
            *WARNINGS,
            "-c",
            PROLOGUE.format(body=body.__name__) + textwrap.dedent(script),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, prints, "")
