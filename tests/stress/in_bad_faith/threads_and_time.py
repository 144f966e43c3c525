"""What the standard library has for threads, and for time."""

# mypy: ignore-errors

from __future__ import annotations

import asyncio
import contextvars
import functools
import itertools
import queue
import threading
from typing import Any

from tests.stress.in_bad_faith.cases import Locked, Number, is_right, is_wrong


@is_wrong
class OfLocal:
    """What is of one thread does not count for all."""

    def __init__(self) -> None:
        self.mine = threading.local()

    def increment(self) -> int:
        self.mine.n = getattr(self.mine, "n", 0) + 1
        return self.mine.n


class Seen(threading.local):
    def __init__(self) -> None:
        self.seen = 0


seen = Seen()


@is_right
class OfLocalOfItsOwn(Locked):
    """Each thread keeps its values while the others run."""

    def __init__(self) -> None:
        super().__init__()
        self.mine = Seen()

    def increment(self) -> int:
        self.mine.seen += 1
        with self.lock:
            self.n += 1
            return self.n if self.mine.seen == 1 else -1


@is_right
class OfLocalThatOutlives(OfLocalOfItsOwn):
    """A variable of the module has values of each thread, which begin anew with each thread."""

    def __init__(self) -> None:
        super().__init__()
        self.mine = seen


@is_right
class OfLocalCopies(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.mine = threading.local()

    def increment(self) -> int:
        with self.lock:
            self.mine.n = self.n + 1
            self.n = self.mine.n
        return self.mine.n


CURRENT: Any = contextvars.ContextVar("CURRENT", default=0)


@is_wrong
class OfContextVariable:
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def increment(self) -> int:
        with self.lock:
            CURRENT.set(CURRENT.get() + 1)
            return CURRENT.get()


@is_wrong
class OfCondition:
    """Looks once, and not again after it was woken."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.n = 0
        self.busy = False

    def increment(self) -> int:
        with self.changed:
            if self.busy:
                self.changed.wait(1)
            self.busy = True
        n = self.n
        self.n = n + 1
        with self.changed:
            self.busy = False
            self.changed.notify()
        return n + 1


@is_right
class OfConditionWaitFor(OfCondition):
    def increment(self) -> int:
        with self.changed:
            self.changed.wait_for(lambda: not self.busy)
            self.busy = True
        self.n += 1
        n = self.n
        with self.changed:
            self.busy = False
            self.changed.notify()
        return n


@is_wrong
class OfSemaphore:
    def __init__(self) -> None:
        self.enter = threading.Semaphore(2)
        self.n = 0

    def increment(self) -> int:
        with self.enter:
            self.n += 1
            return self.n


@is_right
class OfSemaphoreOfOne(OfSemaphore):
    def __init__(self) -> None:
        super().__init__()
        self.enter = threading.BoundedSemaphore(1)


@is_wrong
class OfEvent:
    def __init__(self) -> None:
        self.free = threading.Event()
        self.free.set()
        self.n = 0

    def increment(self) -> int:
        self.free.wait()
        self.free.clear()
        n = self.n
        self.n = n + 1
        self.free.set()
        return n + 1


@is_wrong
class OfBarrier:
    def __init__(self) -> None:
        self.together = threading.Barrier(2)
        self.n = 0

    def increment(self) -> int:
        self.together.wait()
        n = self.n
        self.n = n + 1
        return n + 1


@is_wrong
class OfQueueAsLock:
    def __init__(self) -> None:
        self.queue: Any = queue.Queue()
        self.queue.put(0)

    def increment(self) -> int:
        if self.queue.empty():
            return -1
        n = self.queue.get()
        self.queue.put(n + 1)
        return n + 1


@is_right
class OfQueue:
    def __init__(self) -> None:
        self.queue: Any = queue.LifoQueue()
        self.queue.put(0)

    def increment(self) -> int:
        n = self.queue.get()
        self.queue.put(n + 1)
        return n + 1


@is_right
class OfSimpleQueue(OfQueue):
    def __init__(self) -> None:
        self.queue: Any = queue.SimpleQueue()
        self.queue.put(0)


@is_wrong
class OfTryLock(Locked):
    def increment(self) -> int:
        got = self.lock.acquire(blocking=False)
        try:
            self.n += 1
            return self.n
        finally:
            if got:
                self.lock.release()


@is_wrong
class OfTwoLocks:
    def __init__(self) -> None:
        self.locks = [threading.Lock(), threading.Lock()]
        self.turns = itertools.count()
        self.n = 0

    def increment(self) -> int:
        with self.locks[next(self.turns) % 2]:
            self.n += 1
            return self.n


@is_wrong
class OfDoubleChecked(Locked):
    """Publishes before it fills."""

    def __init__(self) -> None:
        super().__init__()
        self.made: Any = None

    def get(self) -> Any:
        if self.made is None:
            with self.lock:
                if self.made is None:
                    self.made = []
                    self.made += [1, 2]
        return tuple(self.made)


@is_right
class OfDoubleCheckedAndFilled(OfDoubleChecked):
    def get(self) -> Any:
        if self.made is None:
            with self.lock:
                if self.made is None:
                    made = [1]
                    made.append(2)
                    self.made = made
        return tuple(self.made)


@is_right
class OfRLock:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.n = 0

    def one_more(self) -> None:
        with self.lock:
            self.n += 1

    def increment(self) -> int:
        with self.lock:
            self.one_more()
            return self.n


@is_right
class OfCount:
    def __init__(self) -> None:
        self.increment = itertools.count(1).__next__


@is_right
class OfSetDefault:
    def __init__(self) -> None:
        self.taken: dict[int, object] = {}

    def take(self) -> int:
        me = object()
        return int(self.taken.setdefault(1, me) is me)


@is_right
class OfDecorator(Locked):
    def locked(method: Any) -> Any:
        @functools.wraps(method)
        def work(self: Any, *args: Any) -> Any:
            with self.lock:
                return method(self, *args)

        return work

    @locked
    def increment(self) -> int:
        self.n += 1
        return self.n


TOTAL = 0
GUARD = threading.Lock()


@is_wrong
class OfModule:
    def __init__(self) -> None:
        global TOTAL
        TOTAL = 0

    def increment(self) -> int:
        global TOTAL
        TOTAL += 1
        return TOTAL


@is_right
class OfModuleUnderLock(OfModule):
    def increment(self) -> int:
        global TOTAL
        with GUARD:
            TOTAL += 1
            return TOTAL


@is_wrong
class OfGlobals:
    def __init__(self) -> None:
        globals()["TOTAL"] = 0

    def increment(self) -> int:
        globals()["TOTAL"] = globals()["TOTAL"] + 1
        return TOTAL


@is_right
class OfFuture(Locked):
    """Who comes first does the work, the other one waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.done: Any = None
        self.taken = False

    def take(self) -> int:
        with self.lock:
            first = self.done is None
            if first:
                self.done = threading.Event()
        if first:
            self.done.set()
            return 1
        self.done.wait()
        return 0


@is_wrong
class OfLoop(Number):
    """An event loop in each call."""

    async def work(self) -> int:
        self.n += 1
        return self.n

    def increment(self) -> int:
        work = self.work()
        try:
            return asyncio.run(work)
        finally:
            work.close()


@is_wrong
class OfConnectionCount:
    """The limit is looked at outside of the lock (urllib3 1252 and the like)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.left = 1

    def take(self) -> int:
        if self.left <= 0:
            return 0
        with self.lock:
            self.left -= 1
        return 1
