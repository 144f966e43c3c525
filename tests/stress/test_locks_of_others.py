"""Locks that others use than those who acquired them, conditions over locks of one's own, and the inner state of
primitives: explored, or refused by name."""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress
from json import encoder
from typing import Any

import pytest

import ctrie
import stress
from stress import Verdict, explore

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")


class Lent:
    """Somebody else may release the lock while its holder notifies."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.condition = threading.Condition(self.lock)

    def tell(self) -> str:
        self.lock.acquire()
        try:
            self.condition.notify()
        except RuntimeError:
            return "not acquired"
        finally:
            self.free()
        return "told"

    def free(self) -> None:
        with suppress(RuntimeError):
            self.lock.release()


class Waiting(Lent):
    """Waits with a lock that another thread may have released."""

    def tell(self) -> str:
        self.lock.acquire()
        try:
            return str(self.condition.wait(1))
        except RuntimeError:
            return "not acquired"
        finally:
            self.free()


@pytest.mark.parametrize("factory", [Lent, Waiting])
def test_a_lock_that_another_thread_releases_is_looked_at_in_a_step(factory: Any) -> None:
    outcome = explore(factory, None, [[("tell",)], [("free",)]])
    assert outcome.verdict is Verdict.ILLEGAL
    assert "not acquired" in outcome.report()


class OwnLock:
    def __init__(self) -> None:
        self.inner = threading.Lock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        return self.inner.acquire(blocking, timeout)

    def release(self) -> None:
        self.inner.release()

    __enter__ = acquire

    def __exit__(self, *_: object) -> None:
        self.release()


class NoLock(OwnLock):
    """Guards nothing, and says that it does."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        return blocking

    def release(self) -> None:
        pass

    __enter__ = acquire


class Channel:
    """Hands items over under a condition."""

    make_lock: Any = OwnLock

    def __init__(self) -> None:
        self.condition: Any = threading.Condition(self.make_lock())
        self.items: list[int] = []

    def put(self, item: int) -> None:
        with self.condition:
            self.items.append(item)
            self.condition.notify()

    def get(self) -> int:
        with self.condition:
            if not self.items:
                self.condition.wait()
            return self.items.pop(0)


class OverSemaphore(Channel):
    make_lock = staticmethod(lambda: threading.Semaphore(1))


class OverNothing(Channel):
    make_lock = NoLock


class ChannelSpec(stress.Spec):
    initial = ()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "put":
            return (*state, *args), None
        return (state[1:], state[0]) if state else stress.WAITS


@pytest.mark.parametrize("spec", [None, ChannelSpec()])
@pytest.mark.parametrize(("factory", "right"), [(Channel, True), (OverSemaphore, True), (OverNothing, False)])
def test_a_condition_over_a_lock_of_ones_own(factory: Any, right: bool, spec: Any) -> None:
    outcome = explore(factory, spec, [[("put", 1)], [("get",)]])
    assert outcome.verdict is (Verdict.LINEARIZABLE if right else Verdict.ILLEGAL), outcome.report()


class Inner:
    """Uses what is not for users."""

    def __init__(self) -> None:
        self.semaphore: Any = threading.Semaphore(0)
        self.event: Any = threading.Event()
        self.condition: Any = threading.Condition()
        self.lock: Any = threading.Lock()

    def add(self) -> None:
        self.semaphore._value += 1

    def open(self) -> None:
        self.semaphore._value = 1

    def set(self) -> None:
        self.event._flag = True

    def count(self) -> int:
        return len(self.condition._waiters)

    def by_name(self) -> None:
        setattr(self.semaphore, "_value", 1)  # noqa: B010

    def asked(self) -> Any:
        return getattr(self.semaphore, "_value")  # noqa: B009

    def as_a_dictionary(self) -> None:
        self.semaphore.__dict__["_value"] = 1

    def variables(self) -> Any:
        return vars(self.event)

    def begin(self) -> None:
        self.lock._at_fork_reinit()

    def lend(self) -> None:
        self.condition._lock = threading.Lock()


@pytest.mark.parametrize(
    ("op", "told"),
    [
        ("add", "reads Semaphore._value"),
        ("open", "changes Semaphore._value"),
        ("set", "changes Event._flag"),
        ("count", "reads Condition._waiters"),
        ("by_name", "changes Semaphore._value"),
        ("asked", "reads Semaphore._value"),
        ("as_a_dictionary", "reads Semaphore.__dict__"),
        ("variables", "reads Event.__dict__"),
        ("begin", "reads Lock._at_fork_reinit"),
        ("lend", "changes Condition._lock"),
    ],
)
def test_the_inner_state_of_a_primitive_is_refused_by_name(op: str, told: str) -> None:
    outcome = explore(Inner, None, [[(op,)], [(op,)]])
    assert outcome.verdict is Verdict.UNKNOWN
    assert told in outcome.summary
    assert f"in Inner.{op}" in outcome.summary


class Opened(Inner):
    def __init__(self) -> None:
        super().__init__()
        self.open()


def test_so_it_is_in_the_factory() -> None:
    with pytest.raises(ValueError, match=r"changes Semaphore\._value"):
        explore(Opened, None, [[("count",)], [("count",)]])


class Owned:
    """Asks whether it has a lock, as libraries do."""

    def __init__(self) -> None:
        self.lock: Any = threading.RLock()

    def has(self) -> bool:
        with self.lock:
            return bool(self.lock._is_owned())


def test_whether_a_lock_is_owned_may_be_asked() -> None:
    assert explore(Owned, None, [[("has",)], [("has",)]]).verdict is Verdict.LINEARIZABLE


TOKEN = threading.Lock()
REENTRANT = threading.RLock()


class Held:
    """A call leaves a lock that outlives the object held, for another one to release."""

    def hold(self) -> None:
        TOKEN.acquire()

    def free(self) -> None:
        TOKEN.release()


class Entered:
    """The methods of the locks are read from their classes, by code that is given steps only when it has run."""

    def __init__(self) -> None:
        self.n = 0

    def add(self) -> int:
        with ExitStack() as stack:
            stack.enter_context(TOKEN)
            stack.enter_context(REENTRANT)
            self.n += 1
            return self.n


def test_a_lock_that_one_call_leaves_held_is_so_in_every_order_that_is_tried() -> None:
    outcome = explore(Held, None, [[("hold",), ("free",)], [("hold",), ("free",)]], duration=60)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary
    assert not TOKEN.locked()


def test_no_lock_of_the_program_is_left_held() -> None:
    for _ in range(2):
        outcome = explore(Entered, None, [[("add",)], [("add",)]])
        assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary
        assert not TOKEN.locked()
        assert not REENTRANT._is_owned()  # type: ignore[attr-defined]


REAL = threading.RLock()


class OfC:
    """Right: what is written in C holds a lock while it calls back, and all threads of an exploration may be one."""

    def __init__(self) -> None:
        self.n = 0
        self.encoder: Any = encoder.c_make_encoder(  # type: ignore[attr-defined]
            None, self.text, str, REAL, ":", ",", False, False, True
        )

    def text(self, _: object) -> str:
        self.n += 1
        return str(self.n)

    def increment(self) -> int:
        self.encoder(self, 0)
        return self.n


def test_a_lock_that_an_object_of_c_holds_is_refused() -> None:
    outcome = explore(OfC, None, [[("increment",)], [("increment",)]], seed=1)
    assert outcome.verdict is Verdict.UNKNOWN
    assert "a Encoder is written in C and holds a real RLock" in outcome.summary
