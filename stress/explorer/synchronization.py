"""The explored bodies of `threading`: locks, conditions, events, semaphores, barriers, simple queues and thread-locals.

Every operation on one is a step that the scheduler grants, like an access of a reference. Who takes a lock and is ready
to wait for it makes no step until the lock is free. Anybody else who finds that it has to wait has made a step, too,
which is a read; then it makes no step until another thread changes what it waits for.
A wait with a timeout may end at any time: that its time is up is a step like any other. The clock shows how much time
threads have waited in vain, and slept.

Each thread of a scenario is one `threading.Thread`, with one number, for the whole of an execution. Whoever calls
before and after them is the main thread. Calls that are made one after another, to find out what is right, are made by
the threads whose calls they are. A number is odd, and larger than any that a system gives to a process: no real thread
has it. It is the same in every process, so that what depends on it goes the same way in each.

Conditions, events, semaphores and barriers are the text of Python's own `threading` on top of the explored locks: who
uses one takes and releases its lock. `queue.Queue` and the like need nothing more. A method without a word of its own
does what the original's does.
"""

from __future__ import annotations

import _thread
import threading
import time
import types
from collections import deque
from collections.abc import Callable
from typing import Any, Final, cast

from stress.explorer.kinds import LOCKS
from stress.explorer.policy import CLOCKS, OWN_THREAD, Refused
from stress.explorer.slots import LOAD, MAIN, WOULD_WAIT, Seam

__all__ = ["By", "ExploredThreading", "Primitive", "explored_identity", "refuse_private"]

_SUPPORTED: Final = frozenset({"_is_owned", "_release_save", "_acquire_restore", "_lock"})
_REAL: Final = (threading.Lock(), threading.RLock(), threading.Condition(), threading.Event(), threading.Semaphore())
_PRIVATE: Final = {"__dict__"} | {
    name for each in _REAL for name in dir(each) if name[0] == "_" != name[1] and name not in _SUPPORTED
}
"""Names of the inner state of the real primitives, of which the explored ones have only some."""


class Primitive:
    """A primitive as the scheduler sees it: a place with a name, and a value that tells whether an access changes
    it."""

    seam: Seam
    is_lock = False
    _name: Any = None
    _value: Any = None

    def _made(self) -> None:
        scheduler = self.seam.scheduler
        self._name = None if scheduler is None else scheduler.name()

    def _step(self, doing: str, expected: Any = LOAD) -> None:
        """Make a step, which changes something if the value is `expected` then."""
        before = self.seam.before
        if before is not None:
            before(self, expected, doing)

    def _change(self, doing: str) -> None:
        """Make a step that changes something in any case, but nothing for the thread itself."""
        before = self.seam.before
        if before is not None:
            before(_Change(self), None, doing)

    def _me(self) -> int:
        scheduler = self.seam.scheduler
        return MAIN if scheduler is None else scheduler.caller()

    def _wait(self, timeout: float | None) -> bool:
        """Make no step until another thread changes this primitive; return whether one did in time."""
        park = getattr(self.seam.scheduler, "park", None)
        if park is None:
            raise RuntimeError(WOULD_WAIT)
        return bool(park(self, timeout))

    def _wake(self) -> None:
        scheduler = self.seam.scheduler
        if scheduler is not None and hasattr(scheduler, "wake"):
            scheduler.wake(self)

    def waits_for(self) -> str:
        """A description of what a thread waits for here."""
        return f"a {type(self).__name__}"

    def begin_as(self, instance: Any) -> None:
        """Take the state of a real primitive."""
        vars(self).update({name: value for name, value in vars(instance).items() if name != "_cond"})


def refuse_private(primitive: Any, name: str, changes: bool, where: object) -> None:
    """Refuse the use of a private attribute of a primitive: an explored one has others, whose use would be no step.

    Raises:
        ValueError: it is used by the factory.
        Refused: or by a call.
    """
    if issubclass(type(primitive), Primitive) and (
        name in _PRIVATE if not changes else name in _PRIVATE | _SUPPORTED or primitive.is_lock
    ):
        does, what = "changes" if changes else "reads", f"{type(primitive).__name__}.{name}"
        told = f"{does} {what}, which is inner state and cannot be explored ({where})"
        raise ValueError(told) if primitive.seam.before is None else Refused(told)


class _Change(Primitive):
    """A primitive as accessed by a step that changes it in any case."""

    is_quiet = True

    def __init__(self, changed: Primitive) -> None:
        self._name, self.of = changed._name, changed


class Lock(Primitive):
    """As `threading.Lock`."""

    is_lock = True
    _value: Any = False
    _holder = MAIN
    _releasing = "release"

    def __init__(self) -> None:
        self._made()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        limit = 0 if not blocking else None if timeout < 0 else timeout
        scheduler: Any = self.seam.scheduler
        if limit is None and getattr(scheduler, "fair", False):
            if not scheduler.take(self, "acquire"):
                return False
        else:
            self._step("acquire", False)
            while self._value:
                if limit == 0 or not self._wait(limit):
                    if limit:
                        self._step("acquire in vain")
                    return False
                self._step("acquire", False)
        self._value, self._holder = True, self._me()
        return True

    def release(self) -> None:
        self._step(self._releasing, True)
        if not self._value:
            raise RuntimeError("release unlocked lock")
        self._value, self._holder = False, MAIN
        self._wake()

    def locked(self) -> bool:
        self._step("locked")
        return bool(self._value)

    acquire_lock, release_lock, locked_lock = acquire, release, locked

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _is_owned(self) -> bool:
        """As a condition asks for it: whether anybody has acquired the lock, who may not be the one that asks."""
        self._step("look whether it is acquired")
        return bool(self._value)

    def waits_for(self) -> str:
        return f"a {type(self).__name__} that thread {self._holder} holds"

    def begin_as(self, instance: Any) -> None:
        if type(instance) is LOCKS[0]:
            self._value = instance.locked()


class _Guard(Lock):
    """The lock of an event, a semaphore or a barrier: its holder alone asks whose it is, which is not a step."""

    def _is_owned(self) -> bool:
        return bool(self._value) and self._holder == self._me()


class RLock(_Guard):
    """As `threading.RLock`. Only its holder can tell that it was acquired again, so that is not a step."""

    _count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not (self._value and self._holder == self._me()) and not super().acquire(blocking, timeout):
            return False
        self._count += 1
        return True

    def release(self) -> None:
        if not self._is_owned():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            super().release()

    __enter__ = acquire

    def _release_save(self) -> int:
        count, self._count = self._count, 0
        super().release()
        return count

    def _acquire_restore(self, count: int) -> None:
        super().acquire()
        self._count = count


class _Notice(Lock):
    """What one waiter of a condition waits for: it is made acquired, and who notifies the waiter releases it."""

    is_lock = False
    is_quiet = True
    _value: Any = True
    _releasing = "notify"
    _is_new = True

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._is_new:
            self._is_new = False
            return True
        while self._value and blocking and self._wait(None if timeout < 0 else timeout):
            pass
        self._step("wait")
        return not self._value

    def waits_for(self) -> str:
        return "a notify"


class _Waiters(deque[Any]):
    """The waiters of a condition whose lock may be another thread's, or guard nothing."""

    of: Primitive

    def append(self, waiter: Any) -> None:
        self.of._change("begin to wait")
        super().append(waiter)

    def remove(self, waiter: Any) -> None:
        self.of._change("wait no more")
        super().remove(waiter)

    def __len__(self) -> int:
        self.of._step("look who waits")
        return super().__len__()


class Condition(Primitive):
    """What a copy of `threading.Condition` has beside that. If its lock knows its holder, that guards its waiters: they
    are no places.
    """

    def __init__(self, lock: Any = None) -> None:
        self._made()
        if isinstance(lock, LOCKS) and self.seam.stands_for is not None:
            lock = self.seam.stands_for(lock)
        cast("Any", super()).__init__(lock)
        if lock is not None and not isinstance(lock, _Guard):
            self._waiters = _Waiters()
            self._waiters.of = self


class Event(Primitive):
    """What a copy of `threading.Event` has beside that: it is looked at without its lock, too."""

    _cond: Any
    _flag: bool

    def is_set(self) -> bool:
        self._cond._lock._step("is_set")
        return self._flag


class _Local:
    """As `threading.local`."""

    seam: Seam

    def __init__(self) -> None:
        object.__setattr__(self, "_of", {})

    def _mine(self) -> dict[str, Any]:
        scheduler = object.__getattribute__(self, "seam").scheduler
        me = MAIN if scheduler is None else scheduler.caller()
        found: dict[str, Any] = object.__getattribute__(self, "_of").setdefault(me, {})
        return found

    def __getattribute__(self, name: str) -> Any:
        mine = object.__getattribute__(self, "_mine")()
        if name == "__dict__":
            return mine
        return mine[name] if name in mine else object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__getattribute__(self, "_mine")()[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del object.__getattribute__(self, "_mine")()[name]
        except KeyError:
            raise AttributeError(name) from None


class ExploredThreading:
    """The explored primitives on one seam. `everything` maps the originals to them, `instances` the types of those that
    there are.
    """

    def __init__(self, seam: Seam) -> None:
        def on_seam(cls: Any, **more: Any) -> Any:
            return type(cls.__name__.strip("_"), (cls,), {"seam": seam, **more})

        def clock_like(clock: Callable[[], float]) -> Callable[[], float]:
            start = clock()

            def look() -> float:
                scheduler: Any = seam.scheduler
                if scheduler is None:
                    return clock()
                scheduler.uses_clock(sleeps=False)
                return start + (seam.clock if type(start) is float else int(seam.clock * 1e9))

            return look

        def sleep(seconds: float) -> None:
            scheduler: Any = seam.scheduler
            if scheduler is None:
                time.sleep(seconds)
            else:
                scheduler.uses_clock(sleeps=True)
                seam.clock += seconds

        lock, rlock = on_seam(Lock), on_seam(RLock)
        names: dict[str, Any] = {}

        def as_written(cls: Any, *more: type) -> Any:
            made = names[cls.__name__] = type(cls.__name__, (*more, _rebuilt(cls, names)), {"seam": seam})
            return made

        kinds: dict[Any, Any] = {
            threading.Lock: lock,
            threading.RLock: rlock,
            threading.Condition: as_written(threading.Condition, Condition),
            threading.Event: as_written(threading.Event, Event),
            threading.Semaphore: as_written(threading.Semaphore, Primitive),
            threading.BoundedSemaphore: as_written(threading.BoundedSemaphore),
            threading.local: on_seam(_Local),
        }
        self.instances: dict[type, Any] = {type(threading.Lock()): lock, type(threading.RLock()): rlock}
        self.instances.update({kind: made for kind, made in kinds.items() if isinstance(kind, type)})
        self.everything: dict[Any, Any] = {
            **kinds,
            threading.Barrier: _rebuilt(threading.Barrier, names),
            **explored_identity(seam),
            time.sleep: sleep,
            **{clock: clock_like(clock) for clock in CLOCKS},
        }
        by_id = {id(old): new for old, new in self.everything.items()}
        self.modules: dict[types.ModuleType, types.ModuleType] = {}
        for real in (threading, time, _thread):
            module = self.modules[real] = types.ModuleType(real.__name__)
            vars(module).update({name: by_id.get(id(value), value) for name, value in vars(real).items()})
        guard = type("Lock", (_Guard,), {"seam": seam})
        names.update(vars(self.modules[threading]), Lock=guard, _allocate_lock=on_seam(_Notice))
        self.everything[threading] = self.modules[threading]

    def instead_of(self, instance: Any) -> Any:
        """An explored primitive to replace a real one that was made before. None stands for one of another class."""
        kind, name = self.instances.get(type(instance)), type(instance).__qualname__
        if kind is None:
            raise Refused(
                f"a {name} holds real locks, which keep no thread out here: let it be one of `threading` itself"
            )
        if isinstance(instance, threading.Condition):
            return kind(vars(instance)["_lock"])
        made = kind()
        made.begin_as(instance)
        return made


def _rebuilt(cls: type, names: dict[str, Any]) -> type:
    """A class with the same methods, whose global variables are `names`. They count as the explorer's own code."""
    own = types.CellType()

    def bound(value: Any) -> Any:
        if isinstance(value, types.FunctionType):
            code = value.__code__.replace(co_filename=__file__)
            made = types.FunctionType(code, names, value.__name__, value.__defaults__, value.__closure__ and (own,))
            made.__kwdefaults__ = value.__kwdefaults__
            return made
        return property(bound(value.fget)) if isinstance(value, property) else value

    body = {name: bound(value) for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    made = own.cell_contents = type(cls.__name__, tuple(names.get(each.__name__, each) for each in cls.__bases__), body)
    return made


_FIRST: Final = 140_737_000_000_001
_FIRST_NATIVE: Final = 4_200_001


class By(str):
    """The name of a call, with the thread that makes it, which counts for what it answers."""

    by: int

    @classmethod
    def thread(cls, op: str, number: int) -> By:
        """The call `op` of a thread."""
        made = cls(op)
        made.by = number
        return made

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True and (type(other) is not By or other.by == self.by)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class _Thread(threading.Thread):
    """Stands for a thread of the scenario. It lives on after its calls, as one of a pool does."""

    number: int

    def join(self, timeout: float | None = None) -> None:
        raise Refused("the object waits for the end of a thread that calls it")

    def is_alive(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Thread({self.name}, started {self.ident})>"


_Thread.__module__, _Thread.__name__, _Thread.__qualname__ = "threading", "Thread", "Thread"


class _Refusing(type):
    """The class of `threading.Thread` while an object is explored: there are threads, and none can be made."""

    seam: Seam

    def __instancecheck__(cls, instance: Any) -> bool:
        return issubclass(type(instance), threading.Thread)

    def __call__(cls, *_: Any, **__: Any) -> Any:
        raise ValueError(OWN_THREAD) if cls.seam.before is None else Refused(OWN_THREAD)


def explored_identity(seam: Seam) -> dict[Any, Any]:
    """What takes the places of `get_ident`, `current_thread` and the like on a seam. Where no explored thread runs,
    they answer what the real ones do.
    """
    pattern = vars(threading.Thread(name="MainThread", daemon=False))
    del pattern["_started"]  # a real event

    def of(number: int) -> _Thread:
        callers = seam.callers
        if number not in callers:
            made = callers[number] = object.__new__(_Thread)
            vars(made).update(pattern, number=number)
            made._ident, made._native_id = _FIRST + 2 * (number + 1), _FIRST_NATIVE + number + 1  # type: ignore[attr-defined]
            if number != MAIN:
                made.name = f"explored-{number}"
        return callers[number]  # type: ignore[no-any-return]

    def explored(real: Callable[[], Any], answer: Callable[[int], Any]) -> Callable[[], Any]:
        def asked() -> Any:
            me = seam.caller()
            return real() if me is None else answer(me)

        return asked

    answers: dict[Callable[[], Any], Callable[[int], Any]] = {
        threading.get_ident: lambda me: _FIRST + 2 * (me + 1),
        threading.get_native_id: lambda me: _FIRST_NATIVE + me + 1,
        threading.current_thread: of,
        threading.main_thread: lambda _: of(MAIN),
        threading.enumerate: lambda _: [of(each) for each in range(MAIN, seam.threads)],
        threading.active_count: lambda _: seam.threads + 1,
    }
    made = {real: explored(real, answer) for real, answer in answers.items()}
    for old, new in (("currentThread", threading.current_thread), ("activeCount", threading.active_count)):
        made[getattr(threading, old)] = made[new]
    return {**made, threading.Thread: _Refusing("Thread", (threading.Thread,), {"seam": seam})}
