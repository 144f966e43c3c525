"""After an exploration all is as it was: names, code, locks, settings of the process, and how much memory it needs. The
process may go on meanwhile."""

from __future__ import annotations

import dataclasses
import gc
import multiprocessing
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, ClassVar

import pytest

import ctrie
import stress
from ctrie import AtomicReference
from stress import Counter, Verdict, explore, treat
from stress.explorer import experiment, kinds, outliving, policy
from stress.explorer.coroutines import Threads
from stress.explorer.outliving import Snapshot

once = pytest.mark.once  # Python that is the same everywhere
TWICE: list[Any] = [[("increment",)], [("increment",)]]
REAL, NATIVE, TOKEN, REENTRANT = threading.Lock, AtomicReference, threading.Lock(), threading.RLock()
Renamed = AtomicReference


def compiled_again() -> Any:
    """A function whose code is equal to that of the others, and not the same."""
    names: dict[str, Any] = {}
    exec("def increment(self):\n    self.n += 1\n    return self.n", names)
    return names["increment"]


OTHERS = [compiled_again() for _ in range(6)]


class Plain:
    """Loses updates; so does what has the same text."""

    def __init__(self) -> None:
        self.n = 0
        self.add = OTHERS[self.n]

    increment = compiled_again()


class Calling(Plain):
    """Calls a function that is reached in no other way."""

    def increment(self) -> Any:
        return self.add(self)


class Guarded(Plain):
    def __init__(self, make: Any = threading.Lock) -> None:
        super().__init__()
        self.lock = make()

    def increment(self) -> Any:
        with self.lock:
            return super().increment() + 0 * self.add(Plain())


@dataclasses.dataclass
class One:
    n: int = 0


@dataclasses.dataclass
class Other:
    n: int = 0


class OfTwins:
    """Uses classes whose methods Python has compiled from one text."""

    def __init__(self) -> None:
        self.one, self.other = One(), Other()

    def increment(self) -> int:
        self.one = One(self.one.n + 1)
        self.other = Other(self.one.n)
        return self.other.n


class Entered(Plain):
    """The methods of the locks are read from their classes, by code that is given steps only when it has run."""

    lock: ClassVar[Any] = TOKEN

    def increment(self) -> int:
        with ExitStack() as stack:
            stack.enter_context(self.lock)
            stack.enter_context(REENTRANT)
            self.n += 1
            return self.n


class Total:
    def __init__(self) -> None:
        self.n = Renamed(0)

    def increment(self) -> int:
        while not self.n.compare_and_set(n := self.n.load(), n + 1):
            pass
        return int(n) + 1


FUNCTIONS: list[Any] = [
    Plain.increment, *OTHERS, Calling.increment, Guarded.increment, OfTwins.increment, One.__init__, Other.__init__,
]  # fmt: skip


@pytest.fixture(params=[pytest.param(False, marks=once), True])
def frozen(request: pytest.FixtureRequest) -> Iterator[None]:
    """The collector knows of nothing that there is, or of all."""
    if request.param:
        gc.freeze()
    yield
    gc.unfreeze()


def test_functions_have_their_code_again(frozen: None) -> None:
    """Code that gets steps twice ends the process."""
    codes = [each.__code__ for each in FUNCTIONS]
    for _ in range(2):
        for factory in (Plain, Calling, OfTwins):
            assert explore(factory, Counter(), TWICE).verdict is Verdict.ILLEGAL
        assert explore(Guarded, Counter(), TWICE).verdict is Verdict.LINEARIZABLE
        assert all(each.__code__ is code for each, code in zip(FUNCTIONS, codes, strict=True))


@once
def test_names_are_what_they_were_and_locks_are_free() -> None:
    for _ in range(2):
        assert explore(Entered, Counter(), TWICE)
        assert not TOKEN.locked()
        assert not REENTRANT._is_owned()  # type: ignore[attr-defined]
    explore(Total, Counter(), TWICE)
    with pytest.raises(AttributeError):
        explore(Guarded, Counter(), [[("multiply", 2)]])
    assert Entered.lock is TOKEN
    assert Guarded.__init__.__defaults__ == (REAL,) == (threading.Lock,)
    assert ctrie.AtomicReference is AtomicReference is Renamed is NATIVE
    assert type(Total().n) is NATIVE
    assert sys.modules["threading"] is threading


@once
class Warns:
    """What `catch_warnings` puts back is what another thread has put there."""

    def increment(self) -> int:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("once", UserWarning, stacklevel=1)
            return len(caught)


@once
def test_warnings_are_handled_as_before() -> None:
    with warnings.catch_warnings(record=True):  # what one call has put there may be there when another one warns
        before = warnings.filters, list(warnings.filters), warnings.showwarning
        explore(Warns, None, TWICE, seed=1)
        assert (warnings.filters, list(warnings.filters), warnings.showwarning) == before


class Waste:
    def __del__(self) -> None:
        self.found[0] += 1

    found: list[int]


class Forgetting(Guarded):
    """Each call leaves garbage that only the collector finds, and that counts when it is found."""

    def __init__(self) -> None:
        super().__init__()
        self.found = [0]

    def increment(self) -> int:
        with self.lock:
            self.n += 1
            waste: Any = Waste()
            waste.me, waste.found = waste, self.found
            return self.n


@once
def test_garbage_is_not_collected_in_the_middle_of_an_execution() -> None:
    before = gc.get_threshold()
    gc.set_threshold(60, 1, 1)
    try:
        outcome = explore(Forgetting, None, [[("increment",)] * 2, [("increment",)] * 2])
    finally:
        gc.set_threshold(*before)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary
    assert gc.isenabled()


@once
@pytest.mark.parametrize("made", [Total, Guarded, Plain])
def test_nothing_of_it_is_kept(made: Any) -> None:
    """Each makes classes and code of its own: a process that explores for a day must not keep them."""

    def left() -> tuple[int, int, int]:
        gc.collect()
        return len(gc.get_objects()), len(kinds._kinds), len(policy._known)

    for _ in range(2):
        explore(made, Counter(), TWICE)
    before = left()
    for _ in range(5):
        explore(made, Counter(), TWICE)
    after = left()
    assert all(now - then < 5 for now, then in zip(after, before, strict=True)), (before, after)


class Incomparable:
    """Raises if it is compared."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError


@once
class TestModules:
    def test_keep_what_belongs_to_pytest(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        """A module of tests can name pytest's session, and with it all tests. It goes on while an object is explored."""
        monkeypatch.setattr(sys.modules[__name__], "SESSION", [request.session], raising=False)
        before = Snapshot()
        monkeypatch.setattr(request.session, "changed_meanwhile", True, raising=False)
        before.put_back()
        assert hasattr(request.session, "changed_meanwhile")

    def test_are_copied_without_a_comparison(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kept = [Incomparable(), {"a": Incomparable()}]
        monkeypatch.setattr(sys.modules[__name__], "KEPT", kept, raising=False)
        before, there = Snapshot(), list(map(id, kept))
        kept.append(Incomparable())
        with monkeypatch.context() as without:
            without.delattr("os.putenv")  # no variable of the process has changed, so none is written
            before.put_back()
        assert list(map(id, kept)) == there

    def test_that_are_too_large_are_not_known_to_be_put_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(outliving, "_MOST", 10)
        outcome = explore(Guarded, Counter(), TWICE)
        assert outcome.verdict is Verdict.UNKNOWN
        assert "hold more objects than can be put back" in outcome.summary


@once
class TestMeanwhile:
    def test_other_threads_are_neither_explored_nor_disturbed(self) -> None:
        over, errors = threading.Event(), []

        def work_on() -> None:
            try:
                while not over.is_set():
                    names: dict[str, Any] = {}
                    exec("def work(items):\n    return sum(each for each in items)\n", names)
                    names["work"]([1])
            except BaseException as error:  # noqa: BLE001 - the explorer ends code by exceptions of its own
                errors.append(error)

        thread = threading.Thread(target=work_on)
        thread.start()
        try:
            outcomes = [explore(Guarded, Counter(), TWICE) for _ in range(3)]
        finally:
            over.set()
            thread.join()
        assert not errors
        assert all(outcomes), [each.summary for each in outcomes]

    def test_a_lock_that_another_thread_may_hold_is_no_deadlock(self) -> None:
        """Code that was ended had taken it. While another thread of the program's runs, nobody knows whose it is."""
        over = threading.Event()
        thread = threading.Thread(target=over.wait)
        thread.start()
        try:
            outcome = explore(Entered, Counter(), TWICE)
        finally:
            over.set()
            thread.join()
            if TOKEN.locked():
                TOKEN.release()
        assert outcome.verdict is not Verdict.ILLEGAL, outcome.report()

    def test_any_thread_may_explore(self) -> None:
        outcomes: list[Any] = []
        for _ in range(2):
            thread = threading.Thread(target=lambda: outcomes.append(explore(Total, Counter(), TWICE)))
            thread.start()
            thread.join(60)
            outcomes.append(explore(Total, Counter(), TWICE))
        assert [bool(outcome) for outcome in outcomes] == [True] * 4
        assert len({outcome.executions for outcome in outcomes}) == 1

    @pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot be forked here")
    def test_a_forked_process_has_none_of_the_threads_that_explored_before(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without greenlets, the explorer uses threads, and keeps them from one exploration to the next."""
        coroutines = Threads()
        monkeypatch.setattr(experiment, "_coroutines", lambda: coroutines)
        assert explore(Total, Counter(), TWICE)
        child = multiprocessing.get_context("fork").Process(target=explore, args=(Total, Counter(), TWICE), daemon=True)
        child.start()
        child.join(30)
        is_done = child.exitcode is not None
        child.kill()
        assert is_done
        assert child.exitcode == 0


class Told:
    """Two values that belong together, and are written by Python code that has no steps."""

    def __init__(self) -> None:
        self.values = {"a": 0, "b": 0}

    def move(self) -> None:
        self.values["a"] = 1
        self.values["b"] = 1

    def total(self) -> str:
        import json

        return json.dumps(self.values, indent=1)


class Disturbed(Told):
    """Each change by itself is right. What is written while one comes is not known."""

    def move(self) -> None:
        self.values["c"] = 1


class ToldOnce(Told):
    def move(self) -> None:
        self.values = {"a": 1, "b": 1}


@once
def test_a_treatment_counts_until_it_is_taken_back() -> None:
    calls: Any = [[("move",)], [("total",)]]
    treat("json", "one step")
    try:
        outcome = stress.explore(Told, None, [[("move",), ("move",)], [("total",)]], seed=1)
        disturbed = explore(Disturbed, None, calls, seed=1)
        once = explore(ToldOnce, None, calls, seed=1)
    finally:
        treat("json", None)
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary
    assert "dumps, which another thread disturbs, ran without steps" in disturbed.summary
    assert once
    assert explore(Disturbed, None, calls, seed=1).verdict is not Verdict.UNKNOWN
