"""Who calls: each thread of a scenario is one `threading.Thread`, with one number, for the whole of an execution.
Whoever calls before and after them is the main thread. Calls that are made one after another, to find out what is
right, are made by the threads whose calls they are.

A number is odd, and larger than any that a system gives to a process: no real thread has it. It is the same in every
process, so that what depends on it goes the same way in each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from stress.explorer.policy import Refused
from stress.explorer.slots import MAIN, Seam
from stress.explorer.wholes import OWN_THREAD

__all__ = ["By", "explored_identity"]

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

    def start(self) -> None:
        raise RuntimeError("threads can only be started once")

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
