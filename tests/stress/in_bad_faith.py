"""Small classes in bad faith: each hides its state, or its steps, in another corner of Python. `CASES` has for each name
whether it is right, the class, the specification and the calls of each thread.
"""

# mypy: ignore-errors

from __future__ import annotations

import abc
import array
import asyncio
import bisect
import builtins
import collections
import configparser
import contextlib
import contextvars
import copy
import csv
import ctypes
import dataclasses
import enum
import functools
import gc
import heapq
import io
import itertools
import operator
import os
import pathlib
import pickle
import queue
import random
import re
import sqlite3
import string
import struct
import sys
import tempfile
import threading
import types
import unittest.mock
import weakref
from typing import Any, ClassVar, NamedTuple

import stress

CASES: dict[str, tuple[bool, Any, Any, Any]] = {}
TWICE: Any = [[("increment",)], [("increment",)]]
PUT_AND_READ: Any = [[("put", 1)], [("read",)]]


class Pair(stress.Spec):
    """Two values that are put together, and read together."""

    initial = (0, 0)

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return ((args[0], args[0]), None) if op == "put" else (state, state)


class Full(stress.Spec):
    """Something that is made when it is first wanted."""

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return None, (1, 2)


class Once(stress.Spec):
    """A value that is taken once."""

    initial = 1

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return (0, state) if op == "take" else (state, state)


def is_right(made: Any) -> Any:
    """The class is right."""
    return _noted(made, True)


def is_wrong(made: Any) -> Any:
    """The class is wrong."""
    return _noted(made, False)


def _noted(made: Any, right: bool) -> Any:
    if hasattr(made, "increment"):
        case = right, made, stress.Counter(), TWICE
    elif hasattr(made, "put"):
        case = right, made, Pair(), PUT_AND_READ
    elif hasattr(made, "get"):
        case = right, made, Full(), [[("get",)], [("get",)]]
    elif hasattr(made, "take"):
        case = right, made, Once(), [[("take",)], [("take",)]]
    else:
        case = right, made, stress.Counter(), TWICE
    CASES[made.__name__] = case
    return made


class Locked:
    """Has a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n = 0


# ---------------------------------------------------------------------------------------------- attributes, and classes


class Positive:
    """A descriptor that keeps its value in a table of its own."""

    def __init__(self) -> None:
        self.values: Any = weakref.WeakKeyDictionary()

    def __get__(self, owner: Any, _: Any = None) -> Any:
        return self if owner is None else self.values.get(owner, 0)

    def __set__(self, owner: Any, value: int) -> None:
        if value < 0:
            raise ValueError(value)
        self.values[owner] = value


@is_wrong
class OfDescriptor:
    n = Positive()

    def increment(self) -> int:
        n = self.n
        self.n = n + 1
        return n + 1


@is_right
class OfDescriptorUnderLock(Locked):
    m = Positive()

    def increment(self) -> int:
        with self.lock:
            self.m = self.m + 1
            return self.m


@is_wrong
class OfGetattr:
    def __init__(self) -> None:
        object.__setattr__(self, "held", {"n": 0})

    def __getattr__(self, name: str) -> Any:
        try:
            return self.held[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self.held[name] = value

    def increment(self) -> int:
        self.n += 1
        return self.n


@is_wrong
class OfGetattribute:
    def __init__(self) -> None:
        self.n = 0

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)

    def increment(self) -> int:
        n = self.n
        self.n = n + 1
        return n + 1


class Counting(type):
    """Counts on itself."""

    def bump(cls) -> int:
        cls.count = getattr(cls, "count", 0) + 1
        return cls.count


@is_wrong
class OfMetaclass:
    def __init__(self) -> None:
        self.kind = Counting("Kind", (), {})
        self.lock = threading.Lock()

    def increment(self) -> int:
        with self.lock:
            pass
        return self.kind.bump()


@is_right
class OfMetaclassUnderLock:
    def __init__(self) -> None:
        self.kind = Counting("Kind", (), {})
        self.lock = threading.Lock()

    def increment(self) -> int:
        with self.lock:
            return self.kind.bump()


@is_wrong
@dataclasses.dataclass
class OfDataclass:
    n: int = 0
    seen: list[int] = dataclasses.field(default_factory=list)

    def increment(self) -> int:
        self.seen.append(self.n)
        self.n = len(self.seen)
        return self.n


@dataclasses.dataclass(frozen=True)
class State:
    n: int = 0


@is_wrong
class OfReplace:
    def __init__(self) -> None:
        self.state = State()

    def increment(self) -> int:
        self.state = dataclasses.replace(self.state, n=self.state.n + 1)
        return self.state.n


class Row(NamedTuple):
    a: int
    b: int


@is_wrong
class OfNamedTuple:
    def __init__(self) -> None:
        self.row = Row(0, 0)

    def put(self, x: int) -> None:
        self.row = self.row._replace(a=x)
        self.row = self.row._replace(b=x)

    def read(self) -> Any:
        return tuple(self.row)


@is_right
class OfNamedTupleAtOnce:
    def __init__(self) -> None:
        self.row = Row(0, 0)

    def put(self, x: int) -> None:
        self.row = self.row._replace(a=x, b=x)

    def read(self) -> Any:
        return tuple(self.row)


@is_wrong
class OfSlots:
    __slots__ = ("__n", "other")

    def __init__(self) -> None:
        self.__n = self.other = 0

    def increment(self) -> int:
        self.__n, self.other = self.__n + 1, 0
        return self.__n


@is_wrong
class OfCachedProperty:
    """Two threads may each make the value, and the first one's is lost."""

    @functools.cached_property
    def box(self) -> list[int]:
        return [1]

    def take(self) -> int:
        box = self.box
        return box.pop() if box else 0


@is_wrong
class OfEnum:
    class Phase(enum.Enum):
        NEW = 1
        DONE = 0

    def __init__(self) -> None:
        self.phase = self.Phase.NEW

    def take(self) -> int:
        if self.phase is self.Phase.NEW:
            self.phase = self.Phase.DONE
            return 1
        return 0


@is_wrong
class OfAbstractBase(abc.ABC):  # noqa: B024
    def __init__(self) -> None:
        self.__dict__["n"] = 0

    def increment(self) -> int:
        self.__dict__["n"] += 1
        return self.__dict__["n"]


@is_wrong
class OfVars:
    def __init__(self) -> None:
        self.n = 0

    def increment(self) -> int:
        found = vars(self)
        found.update(n=found["n"] + 1)
        return self.n


@is_wrong
class OfNamespace:
    def __init__(self) -> None:
        self.space = types.SimpleNamespace(n=0)

    def increment(self) -> int:
        self.space.n += 1
        return self.space.n


@is_wrong
class OfClassVariable:
    n: ClassVar[int] = 0

    def __init__(self) -> None:
        type(self).n = 0

    def increment(self) -> int:
        cls = type(self)
        cls.n += 1
        return cls.n


@is_wrong
class OfFunctionAttribute:
    def __init__(self) -> None:
        def work() -> int:
            work.n += 1
            return work.n

        work.n = 0
        self.work = work

    def increment(self) -> int:
        return self.work()


# ------------------------------------------------------------------------------------------------------------ functions


@is_wrong
class OfClosure:
    def __init__(self) -> None:
        n = 0

        def work() -> int:
            nonlocal n
            n += 1
            return n

        self.increment = work


@is_right
class OfClosureUnderLock:
    def __init__(self) -> None:
        n, lock = 0, threading.Lock()

        def work() -> int:
            nonlocal n
            with lock:
                n += 1
                return n

        self.increment = work


@is_wrong
class OfGenerator:
    """A generator that is kept, and written to what threads share after it was resumed."""

    def __init__(self) -> None:
        self.n = 0

    def work(self) -> Any:
        n = yield self.n
        self.n = n + 1
        yield n + 1

    def increment(self) -> int:
        work = self.work()
        return work.send(next(work))


@is_right
class OfKeptGeneratorUnderLock(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.numbers = (n for n in itertools.count(1))

    def increment(self) -> int:
        with self.lock:
            return next(self.numbers)


@is_wrong
class OfCoroutine:
    def __init__(self) -> None:
        self.n = 0

    async def work(self) -> int:
        n = self.n
        self.n = n + 1
        return n + 1

    def increment(self) -> int:
        try:
            self.work().send(None)
        except StopIteration as done:
            return done.value
        return 0


@is_wrong
class OfAsyncGenerator:
    def __init__(self) -> None:
        self.n = 0

    async def numbers(self) -> Any:
        n = self.n
        self.n = n + 1
        yield n + 1

    async def work(self) -> int:
        async for n in self.numbers():
            return n
        return 0

    def increment(self) -> int:
        try:
            self.work().send(None)
        except StopIteration as done:
            return done.value
        return 0


@is_wrong
class OfFinally:
    def __init__(self) -> None:
        self.n = 0

    def increment(self) -> int:
        n = self.n
        try:
            return n + 1
        finally:
            self.n = n + 1


@is_right
class OfExcept:
    def __init__(self) -> None:
        self.left = [1]

    def take(self) -> int:
        try:
            left = self.left[0]
            self.left.remove(left)
        except (IndexError, ValueError):
            return 0
        else:
            return left if len(self.left) == 0 else 2


@is_wrong
class OfPartialExcept:
    def __init__(self) -> None:
        self.left = {"it": 1}

    def take(self) -> int:
        found = self.left.get("it", 0)
        with contextlib.suppress(KeyError):
            del self.left["it"]
        return found


@is_wrong
class OfContextManager:
    def __init__(self) -> None:
        self.n = 0

    @contextlib.contextmanager
    def one_more(self) -> Any:
        n = self.n
        yield n + 1
        self.n = n + 1

    def increment(self) -> int:
        with self.one_more() as n:
            return n


@is_right
class OfExitStack(Locked):
    def increment(self) -> int:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.lock)
            self.n += 1
            return self.n


@is_wrong
class OfMatch:
    def __init__(self) -> None:
        self.state: Any = {"it": 1}

    def take(self) -> int:
        match self.state:
            case {"it": found}:
                self.state = {}
                return found
            case _:
                return 0


@is_wrong
class OfText:
    """The value is changed by what is shown."""

    def __init__(self) -> None:
        self.n = 0

    def __format__(self, _: str) -> str:
        self.n += 1
        return str(self.n)

    def increment(self) -> int:
        return int(f"{self}")


@is_wrong
class OfOperators:
    def __init__(self) -> None:
        self.n = 0

    def __iadd__(self, n: int) -> Any:
        self.n = self.n + n
        return self

    def increment(self) -> int:
        this = self
        this += 1
        return self.n


@is_wrong
class OfComparison:
    """Sorting calls back."""

    class Item:
        def __init__(self, of: Any) -> None:
            self.of = of

        def __lt__(self, other: Any) -> bool:
            n = self.of.n
            self.of.n = n + 1
            self.of.last = n + 1
            return True

    def __init__(self) -> None:
        self.n = self.last = 0

    def increment(self) -> int:
        sorted([self.Item(self), self.Item(self)])
        return self.n


@is_wrong
class OfHash:
    """A dictionary calls back."""

    class Key:
        def __init__(self, of: Any) -> None:
            self.of = of

        def __hash__(self) -> int:
            self.of.n = self.of.n + 1
            return 1

    def __init__(self) -> None:
        self.n = 0

    def increment(self) -> int:
        {}.get(self.Key(self))
        return self.n


@is_wrong
class OfPartial:
    def __init__(self) -> None:
        self.cell = [0]
        self.increment = functools.partial(self._work, self.cell)

    @staticmethod
    def _work(cell: list[int]) -> int:
        cell[0] += 1
        return cell[0]


@is_wrong
class OfReduce:
    def __init__(self) -> None:
        self.n = 0

    def put_one(self, total: int, more: int) -> int:
        self.n = total + more
        return self.n

    def increment(self) -> int:
        return functools.reduce(self.put_one, [1], self.n)


@is_wrong
class OfMethodCaller:
    def __init__(self) -> None:
        self.left = [1]

    def take(self) -> int:
        return operator.methodcaller("pop")(self.left) if self.left else 0


# ----------------------------------------------------------------------------------------------------------- containers


@is_wrong
class OfHeap:
    def __init__(self) -> None:
        self.heap = [1]

    def take(self) -> int:
        return heapq.heappop(self.heap) if self.heap else 0


@is_wrong
class OfBisect:
    def __init__(self) -> None:
        self.sorted: list[int] = []

    def increment(self) -> int:
        at = bisect.bisect(self.sorted, len(self.sorted))
        self.sorted.insert(at, len(self.sorted))
        return len(self.sorted)


@is_wrong
class OfDeque:
    def __init__(self) -> None:
        self.left = collections.deque([1])

    def take(self) -> int:
        return self.left.popleft() if self.left else 0


@is_right
class OfDequeAtOnce:
    def __init__(self) -> None:
        self.left = collections.deque([1])

    def take(self) -> int:
        try:
            return self.left.popleft()
        except IndexError:
            return 0


@is_wrong
class OfOrderedDict:
    def __init__(self) -> None:
        self.kept = collections.OrderedDict(a=0, b=0)

    def put(self, x: int) -> None:
        for key in ("a", "b"):
            self.kept[key] = x
            self.kept.move_to_end(key)

    def read(self) -> Any:
        return tuple(self.kept[key] for key in ("a", "b"))


@is_wrong
class OfBag:
    def __init__(self) -> None:
        self.bag: Any = collections.Counter()

    def increment(self) -> int:
        self.bag["n"] += 1
        return self.bag["n"]


@is_wrong
class OfBagUpdate:
    def __init__(self) -> None:
        self.bag: Any = collections.Counter()

    def increment(self) -> int:
        self.bag.update(["n"])
        return self.bag.total()


@is_wrong
class OfDefaultDict:
    def __init__(self) -> None:
        self.of: Any = collections.defaultdict(list)

    def increment(self) -> int:
        self.of["n"].append(1)
        return len(self.of["n"])


@is_wrong
class OfArray:
    def __init__(self) -> None:
        self.numbers = array.array("q", [0])

    def increment(self) -> int:
        self.numbers[0] += 1
        return self.numbers[0]


@is_wrong
class OfStruct:
    def __init__(self) -> None:
        self.bytes = bytearray(8)

    def increment(self) -> int:
        (n,) = struct.unpack_from("q", self.bytes)
        struct.pack_into("q", self.bytes, 0, n + 1)
        return n + 1


@is_wrong
class OfMemoryView:
    def __init__(self) -> None:
        self.view = memoryview(bytearray(2))

    def put(self, x: int) -> None:
        self.view[0] = x
        self.view[1] = x

    def read(self) -> Any:
        return tuple(self.view)


@is_wrong
class OfBytesIO:
    def __init__(self) -> None:
        self.file = io.BytesIO(b"\0")

    def increment(self) -> int:
        self.file.seek(0)
        n = self.file.read(1)[0]
        self.file.seek(0)
        self.file.write(bytes([n + 1]))
        return n + 1


@is_wrong
class OfSet:
    def __init__(self) -> None:
        self.taken: set[int] = set()

    def take(self) -> int:
        if 1 in self.taken:
            return 0
        self.taken |= {1}
        return 1


@is_wrong
class OfChain:
    def __init__(self) -> None:
        self.parts = [[0], [0]]

    def put(self, x: int) -> None:
        self.parts[0][0] = x
        self.parts[1][0] = x

    def read(self) -> Any:
        return tuple(itertools.chain.from_iterable(self.parts))


@is_wrong
class OfTee:
    def __init__(self) -> None:
        self.a, self.b = [0], [0]

    def put(self, x: int) -> None:
        self.a[:] = [x]
        self.b[:] = [x]

    def read(self) -> Any:
        one, _ = itertools.tee(part[0] for part in (self.a, self.b))
        return tuple(one)


@is_wrong
class OfStarred:
    def __init__(self) -> None:
        self.of = {"a": 0, "b": 0}

    def put(self, x: int) -> None:
        self.of |= {"a": x}
        self.of |= {"b": x}

    def read(self) -> Any:
        return tuple({**self.of}.values())


@is_wrong
class OfCopy:
    def __init__(self) -> None:
        self.state = {"pair": [0, 0]}

    def put(self, x: int) -> None:
        new = copy.copy(self.state)
        new["pair"][0] = x
        new["pair"][1] = x

    def read(self) -> Any:
        return tuple(copy.deepcopy(self.state)["pair"])


@is_right
class OfCopyOnWrite:
    def __init__(self) -> None:
        self.state = {"pair": [0, 0]}

    def put(self, x: int) -> None:
        new = copy.deepcopy(self.state)
        new["pair"][:] = [x, x]
        self.state = new

    def read(self) -> Any:
        return tuple(self.state["pair"])


@is_wrong
class OfWeakReference:
    class Box:
        def __init__(self) -> None:
            self.n = 0

    def __init__(self) -> None:
        self.box = self.Box()
        self.weak = weakref.ref(self.box)
        self.proxy = weakref.proxy(self.box)

    def increment(self) -> int:
        n = self.proxy.n
        self.weak().n = n + 1
        return n + 1


@is_wrong
class OfMappingProxy:
    def __init__(self) -> None:
        self.of = {"a": 0, "b": 0}
        self.shown = types.MappingProxyType(self.of)

    def put(self, x: int) -> None:
        self.of["a"] = x
        self.of["b"] = x

    def read(self) -> Any:
        return self.shown["a"], self.shown["b"]


@is_wrong
class OfUserList(collections.UserList[int]):
    def __init__(self) -> None:
        super().__init__([1])

    def take(self) -> int:
        return self.pop() if len(self) else 0


# ---------------------------------------------------------------------------------------------------- threads and time


@is_wrong
class OfLocal:
    """What is of one thread does not count for all."""

    def __init__(self) -> None:
        self.mine = threading.local()

    def increment(self) -> int:
        self.mine.n = getattr(self.mine, "n", 0) + 1
        return self.mine.n


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
class OfConditionWaitFor:
    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.n = 0
        self.busy = False

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
class OfSemaphoreOfOne:
    def __init__(self) -> None:
        self.enter = threading.BoundedSemaphore(1)
        self.n = 0

    def increment(self) -> int:
        with self.enter:
            self.n += 1
            return self.n


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
class OfSimpleQueue:
    def __init__(self) -> None:
        self.queue: Any = queue.SimpleQueue()
        self.queue.put(0)

    def increment(self) -> int:
        n = self.queue.get()
        self.queue.put(n + 1)
        return n + 1


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
class OfDoubleCheckedAndFilled(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.made: Any = None

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
class OfModuleUnderLock:
    def __init__(self) -> None:
        global TOTAL
        TOTAL = 0

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
class OfLoop:
    """An event loop in each call."""

    def __init__(self) -> None:
        self.n = 0

    async def work(self) -> int:
        self.n += 1
        return self.n

    def increment(self) -> int:
        work = self.work()
        try:
            return asyncio.run(work)
        finally:
            work.close()


# ----------------------------------------------------------------------------------------------------------- second look


@is_wrong
class OfSlotDescriptor:
    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 0

    def increment(self) -> int:
        slot = type(self).__dict__["n"]
        n = slot.__get__(self)
        slot.__set__(self, n + 1)
        return n + 1


@is_wrong
class OfBoundGetattribute:
    def __init__(self) -> None:
        self.n = 0

    def increment(self) -> int:
        n = self.__getattribute__("n")
        self.__setattr__("n", n + 1)
        return n + 1


@is_wrong
class OfCell:
    def __init__(self) -> None:
        self.cell = types.CellType(0)

    def increment(self) -> int:
        self.cell.cell_contents += 1
        return self.cell.cell_contents


@is_wrong
class OfConfiguration:
    """A class of the standard library that is not explored."""

    def __init__(self) -> None:
        self.of = configparser.ConfigParser()
        self.of.read_dict({"a": {"n": "0"}})

    def increment(self) -> int:
        n = self.of.getint("a", "n")
        self.of.set("a", "n", str(n + 1))
        return n + 1


@is_right
class OfConfigurationUnderLock(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.of = configparser.ConfigParser()
        self.of.read_dict({"a": {"n": "0"}})

    def increment(self) -> int:
        with self.lock:
            n = self.of.getint("a", "n")
            self.of.set("a", "n", str(n + 1))
            return n + 1


@is_wrong
class OfOwnConfiguration(configparser.ConfigParser):
    def __init__(self) -> None:
        super().__init__()
        self.read_dict({"a": {"n": "0"}})

    def increment(self) -> int:
        n = self.getint("a", "n")
        self.set("a", "n", str(n + 1))
        return n + 1


@is_wrong
class OfMock:
    def __init__(self) -> None:
        self.mock = unittest.mock.Mock()

    def increment(self) -> int:
        self.mock()
        return self.mock.call_count


@is_wrong
class OfRandom:
    """Numbers that were drawn twice."""

    def __init__(self) -> None:
        self.random = random.Random(1)
        self.of = {self.random.random(): at for at in range(1, 9)}
        self.random.seed(1)

    def increment(self) -> int:
        state = self.random.getstate()
        found = self.of[self.random.random()]
        after = self.random.getstate()
        self.random.setstate(state)
        self.random.setstate(after)
        return found


@is_wrong
class OfPickle:
    class Both:
        def __init__(self) -> None:
            self.a = self.b = 0

    def __init__(self) -> None:
        self.both = OfPickle.Both()

    def put(self, x: int) -> None:
        self.both.a = x
        self.both.b = x

    def read(self) -> Any:
        found = pickle.loads(pickle.dumps(self.both))
        return found.a, found.b


@is_wrong
class OfNamespaces:
    def __init__(self) -> None:
        self.space = types.SimpleNamespace(a=0, b=0)

    def put(self, x: int) -> None:
        self.space.a = x
        self.space.b = x

    def read(self) -> Any:
        if self.space == types.SimpleNamespace(a=1, b=0):
            return 1, 0
        return (1, 1) if self.space == types.SimpleNamespace(a=1, b=1) else (0, 0)


@is_wrong
class OfBuiltins:
    def __init__(self) -> None:
        builtins.total_of_builtins = 0

    def increment(self) -> int:
        n = total_of_builtins  # noqa: F821
        builtins.total_of_builtins = n + 1
        return n + 1


IMPORTED = 0


@is_wrong
class OfImport:
    def __init__(self) -> None:
        sys.modules[__name__].IMPORTED = 0

    def increment(self) -> int:
        from tests.stress.in_bad_faith import IMPORTED

        sys.modules[__name__].IMPORTED = IMPORTED + 1
        return IMPORTED + 1


@is_wrong
class OfClassAssigned:
    """Becomes another class."""

    def take(self) -> int:
        if type(self) is OfClassAssigned:
            self.__class__ = Empty
            return 1
        return 0


class Empty(OfClassAssigned):
    pass


@is_wrong
class OfReplacedMethod:
    def take(self) -> int:
        self.take = self.nothing
        return 1

    def nothing(self) -> int:
        return 0


@is_right
class OfReplacedMethodUnderLock(Locked):
    def take(self) -> int:
        with self.lock:
            if "take" in vars(self):
                return 0
            self.take = self.nothing
            return 1

    def nothing(self) -> int:
        return 0


@is_wrong
class OfFinalizer:
    class Guard:
        def __init__(self, of: Any) -> None:
            self.of = of

        def __del__(self) -> None:
            self.of.n = getattr(self.of, "n", 0) + 1

    def __init__(self) -> None:
        self.n = 0

    def increment(self) -> int:
        guard = self.Guard(self)
        del guard
        return self.n


@is_wrong
class OfWeakCallback:
    class Thing:
        pass

    def __init__(self) -> None:
        self.n = 0

    def gone(self, _: Any) -> None:
        self.n = self.n + 1

    def increment(self) -> int:
        thing = self.Thing()
        watched = weakref.ref(thing, self.gone)
        del thing
        return self.n if watched() is None else -1


@is_wrong
class OfJoin:
    def __init__(self) -> None:
        self.parts = ["0", "0"]

    def put(self, x: int) -> None:
        self.parts[0] = str(x)
        self.parts[1] = str(x)

    def read(self) -> Any:
        a, b = ",".join(self.parts).split(",")
        return int(a), int(b)


@is_wrong
class OfTemplate:
    def __init__(self) -> None:
        self.values = {"a": 0, "b": 0}

    def put(self, x: int) -> None:
        self.values["a"] = x
        self.values["b"] = x

    def read(self) -> Any:
        a, b = string.Template("$a $b").substitute(self.values).split()
        return int(a), int(b)


@is_wrong
class OfPercent:
    def __init__(self) -> None:
        self.values = {"a": 0, "b": 0}

    def put(self, x: int) -> None:
        self.values["a"] = x
        self.values["b"] = x

    def read(self) -> Any:
        a, b = ("%(a)d %(b)d" % self.values).split()  # noqa: UP031
        return int(a), int(b)


@is_wrong
class OfExceptionState:
    def __init__(self) -> None:
        self.error = ValueError(0)

    def increment(self) -> int:
        self.error.args = (self.error.args[0] + 1,)
        return self.error.args[0]


@is_wrong
class OfContext:
    """A context that both threads run in."""

    def __init__(self) -> None:
        self.context = contextvars.copy_context()
        self.lock = threading.Lock()
        self.variable: Any = contextvars.ContextVar("n", default=0)

    def work(self) -> int:
        n = self.variable.get()
        self.variable.set(n + 1)
        return n + 1

    def increment(self) -> int:
        with self.lock:
            pass
        n = self.context.get(self.variable, 0)
        return self.context.run(self.work) if n >= 0 else 0


@is_wrong
class OfNestedClass:
    """A class that each call makes."""

    def __init__(self) -> None:
        self.n = 0

    def increment(self) -> int:
        outer = self

        class More:
            def __init__(self) -> None:
                outer.n += 1

        More()
        return self.n


@is_wrong
class OfUnpacking:
    def __init__(self) -> None:
        self.l = [0, 0]

    def put(self, x: int) -> None:
        (self.l[0], self.l[1]) = (x, x)

    def read(self) -> Any:
        a, *b = self.l
        return a, *b


@is_wrong
class OfDelete:
    def __init__(self) -> None:
        self.left = 1

    def take(self) -> int:
        if hasattr(self, "left"):
            left = getattr(self, "left", 0)
            with contextlib.suppress(AttributeError):
                del self.left
            return left
        return 0


@is_wrong
class OfWalrus:
    def __init__(self) -> None:
        self.of: dict[str, int] = {}

    def increment(self) -> int:
        self.of["n"] = (n := self.of.get("n", 0)) + 1
        return n + 1


@is_wrong
class OfSortKey:
    def __init__(self) -> None:
        self.l = [0, 0]

    def put(self, x: int) -> None:
        self.l[0] = x
        self.l[1] = x

    def read(self) -> Any:
        seen: list[int] = []
        max(range(2), key=lambda at: seen.append(self.l[at]) or 0)
        return tuple(seen)


@is_wrong
class OfLruCacheAsLock:
    def __init__(self) -> None:
        self.n = 0
        self.once = functools.lru_cache(self._once)

    def _once(self) -> int:
        self.n += 1
        return self.n

    def take(self) -> int:
        before = self.n
        self.once()
        return 1 if before == 0 else 0


@is_wrong
class OfUnguardedWait:
    """A bare except around a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n = 0

    def increment(self) -> int:
        while True:
            try:
                with self.lock:
                    n = self.n
                self.n = n + 1
                return n + 1
            except:  # noqa: E722
                continue


# --------------------------------------------------------------------------------------------- right without a lock


@is_right
class OfVersion(Locked):
    """A sequence lock: readers try again."""

    def __init__(self) -> None:
        super().__init__()
        self.version = self.a = self.b = 0

    def put(self, x: int) -> None:
        with self.lock:
            self.version += 1
            self.a = x
            self.b = x
            self.version += 1

    def read(self) -> Any:
        while True:
            version = self.version
            if version % 2 == 0:
                found = self.a, self.b
                if self.version == version:
                    return found


@is_right
class OfTickets:
    """Tickets, and whose turn it is."""

    def __init__(self) -> None:
        self.tickets = itertools.count()
        self.turn = self.n = 0

    def increment(self) -> int:
        mine = next(self.tickets)
        while self.turn != mine:
            pass
        self.n += 1
        found = self.n
        self.turn = mine + 1
        return found


@is_right
class OfPeterson:
    """Mutual exclusion of two threads by plain variables."""

    def __init__(self) -> None:
        self.wants = [False, False]
        self.waits = self.n = 0
        self.names = itertools.count()
        self.local = threading.local()

    def increment(self) -> int:
        me = next(self.names) % 2
        self.wants[me] = True
        self.waits = me
        while self.wants[1 - me] and self.waits == me:
            pass
        self.n += 1
        found = self.n
        self.wants[me] = False
        return found


@is_right
class OfSpinningTryLock(Locked):
    def increment(self) -> int:
        while not self.lock.acquire(blocking=False):
            pass
        try:
            self.n += 1
            return self.n
        finally:
            self.lock.release()


@is_right
class OfReadersAndWriters:
    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.readers, self.writing = 0, False
        self.a = self.b = 0

    def put(self, x: int) -> None:
        with self.changed:
            while self.readers or self.writing:
                self.changed.wait()
            self.writing = True
        self.a = x
        self.b = x
        with self.changed:
            self.writing = False
            self.changed.notify_all()

    def read(self) -> Any:
        with self.changed:
            while self.writing:
                self.changed.wait()
            self.readers += 1
        found = self.a, self.b
        with self.changed:
            self.readers -= 1
            self.changed.notify_all()
        return found


@is_right
class OfSetDefaultBox:
    def __init__(self) -> None:
        self.of: dict[str, Any] = {}

    def get(self) -> Any:
        return self.of.setdefault("it", (1, 2))


@is_right
class OfDequeOfTokens:
    def __init__(self) -> None:
        self.numbers = collections.deque(range(1, 10))

    def increment(self) -> int:
        return self.numbers.popleft()


@is_right
class OfSwap:
    """One attribute that refers to all of the state."""

    def __init__(self) -> None:
        self.pair = (0, 0)

    def put(self, x: int) -> None:
        self.pair = (x, x)

    def read(self) -> Any:
        a, b = self.pair
        return a, b


# ------------------------------------------------------------------------------------------------------------ third look


@is_wrong
class OfCalledMethod:
    def __init__(self) -> None:
        self.l: list[int] = []

    def increment(self) -> int:
        list(map(self.l.append, [1]))
        return len(self.l)


@is_wrong
class OfSentinel:
    """Counts what it takes away, one after another."""

    def __init__(self) -> None:
        self.l = [1, 2, 3]

    def take(self) -> int:
        return 1 if sum(iter(self.l.pop, 1)) == 5 else 0


@is_wrong
class OfStarmap:
    def __init__(self) -> None:
        self.d = {"a": 0, "b": 0}

    def put(self, x: int) -> None:
        for _ in itertools.starmap(self.d.__setitem__, [("a", x), ("b", x)]):
            pass

    def read(self) -> Any:
        return tuple(map(self.d.get, ("a", "b")))


class Numbers(array.array):  # type: ignore[type-arg]
    pass


@is_wrong
class OfOwnArray:
    def __init__(self) -> None:
        self.of = Numbers("q", [0])
        self.of.n = 0

    def increment(self) -> int:
        n = self.of.n
        self.of.n = n + 1
        return n + 1


@is_wrong
class OfSelfReplacing(Locked):
    """Right if one thread calls it, as often as it wants."""

    def take(self) -> int:
        with self.lock:
            self.take = self.nothing
        return 1

    def nothing(self) -> int:
        return 0


@is_wrong
class OfLateBinding:
    """A method that is an attribute, and that calls replace."""

    def __init__(self) -> None:
        self.increment = self.first
        self.n = 0

    def first(self) -> int:
        self.increment = self.others
        self.n = 1
        return 1

    def others(self) -> int:
        self.n += 1
        return self.n


@is_right
class OfAppendAndPop:
    def __init__(self) -> None:
        self.free = [3, 2, 1]
        self.increment = self.free.pop


@is_wrong
class OfWeakSet:
    class Item:
        pass

    def __init__(self) -> None:
        self.items = [self.Item(), self.Item()]
        self.known: Any = weakref.WeakSet()
        self.turns = itertools.count()

    def increment(self) -> int:
        self.known.add(self.items[next(self.turns) % 2])
        return len(self.known)


@is_wrong
class OfWeakValues:
    class Item:
        n = 0

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.known: Any = weakref.WeakValueDictionary()

    def take(self) -> int:
        if "it" in self.known:
            return 0
        item = self.known["it"] = self.Item()
        self.kept.append(item)
        return 1


@is_wrong
class OfChainMap:
    def __init__(self) -> None:
        self.of: Any = collections.ChainMap({}, {"n": 0})

    def increment(self) -> int:
        self.of["n"] += 1
        return self.of["n"]


@is_wrong
class OfPriorityQueue:
    def __init__(self) -> None:
        self.queue: Any = queue.PriorityQueue()
        self.queue.put(1)

    def take(self) -> int:
        return self.queue.get() if self.queue.qsize() else 0

    # A get that waits for ever is a fault: `take` answers 0 if there is nothing.


@is_wrong
class OfStringIO:
    def __init__(self) -> None:
        self.text = io.StringIO()

    def increment(self) -> int:
        print("x", end="", file=self.text)
        return len(self.text.getvalue())


@is_wrong
class OfGroupBy:
    def __init__(self) -> None:
        self.l = [0, 0]

    def put(self, x: int) -> None:
        self.l[0] = x
        self.l[1] = x

    def read(self) -> Any:
        return tuple(each for _, group in itertools.groupby(self.l, key=id) for each in group)


@is_wrong
class OfZip:
    def __init__(self) -> None:
        self.a, self.b = [0], [0]

    def put(self, x: int) -> None:
        self.a[0] = x
        self.b[0] = x

    def read(self) -> Any:
        return next(zip(self.a, self.b, strict=True))


@is_wrong
class OfIndirectModule:
    """Calls through a table in another module."""

    def __init__(self) -> None:
        self.n = 0
        self.table = {"get": operator.attrgetter("n"), "set": object.__setattr__}

    def increment(self) -> int:
        n = self.table["get"](self)
        self.table["set"](self, "n", n + 1)
        return n + 1


@is_wrong
class OfProperty:
    def __init__(self) -> None:
        self._n = 0

    n = property(operator.attrgetter("_n"), lambda self, n: setattr(self, "_n", n))

    def increment(self) -> int:
        self.n += 1
        return self._n


@is_right
class OfLockedProperty(Locked):
    @property
    def increment(self) -> Any:
        return self._increment

    def _increment(self) -> int:
        with self.lock:
            self.n += 1
            return self.n


@is_right
class OfLockBehindCall(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.take_lock, self.give_lock = self.lock.acquire, self.lock.release

    def increment(self) -> int:
        self.take_lock()
        try:
            self.n = self.n + 1
            return self.n
        finally:
            self.give_lock()


@is_right
class OfEventLoopOfOne:
    """A combining queue: whoever has the lock does the work of all."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wanted: Any = collections.deque()
        self.n = 0

    def increment(self) -> int:
        mine: list[int] = []
        self.wanted.append(mine)
        while not mine:
            if self.lock.acquire(blocking=False):
                try:
                    while self.wanted:
                        self.n += 1
                        self.wanted.popleft().append(self.n)
                finally:
                    self.lock.release()
        return mine[0]


@is_right
class OfImmutableMap:
    def __init__(self) -> None:
        self.map: Any = types.MappingProxyType({"a": 0, "b": 0})

    def put(self, x: int) -> None:
        self.map = types.MappingProxyType({"a": x, "b": x})

    def read(self) -> Any:
        return tuple(self.map.values())


# ------------------------------------------------------------------------- published faults, rebuilt as small as they go


@is_wrong
class OfLinecache:
    """Looks whether a line is there, and then takes it: `clear` comes between (CPython gh-133253)."""

    def __init__(self) -> None:
        self.lines = {"a": 0, "b": 0}

    def put(self, x: int) -> None:
        self.lines.clear()
        self.lines.update(a=x, b=x)

    def read(self) -> Any:
        if "a" in self.lines:
            return self.lines["a"], self.lines["b"]
        return 0, 0


@is_wrong
class OfGauss:
    """Keeps the second of two numbers for the next call, which two calls get (`random.gauss`)."""

    def __init__(self) -> None:
        self.drawn = itertools.count(1)
        self.kept: int | None = next(self.drawn)

    def increment(self) -> int:
        kept = self.kept
        self.kept = None
        return next(self.drawn) if kept is None else kept


@is_wrong
class OfCacheIncrement:
    """Gets, and then sets (`incr` of caches)."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.cache = {"n": 0}

    def get_one(self) -> int:
        with self.lock:
            return self.cache["n"]

    def set_one(self, n: int) -> None:
        with self.lock:
            self.cache["n"] = n

    def increment(self) -> int:
        n = self.get_one() + 1
        self.set_one(n)
        return n


SETTINGS: Any = None


@is_wrong
class OfSysconfig:
    """A variable of a module, which is set before it is filled (CPython gh-92452)."""

    def __init__(self) -> None:
        global SETTINGS
        SETTINGS = None

    def get(self) -> Any:
        global SETTINGS
        if SETTINGS is None:
            SETTINGS = {}
            SETTINGS["a"] = 1
            SETTINGS["b"] = 2
        return SETTINGS.get("a"), SETTINGS.get("b")


@is_wrong
class OfPool:
    """A pool that is made anew after a fork: whoever looks first may get the old one (redis-py 906 and the like)."""

    def __init__(self) -> None:
        self.process, self.free = 0, [0]

    def take(self) -> int:
        if self.process != 1:
            self.process = 1
            self.free = [1]
        return self.free.pop() if self.free else 0


@is_wrong
class OfWhilePop:
    """`while items: items.pop()` in two threads."""

    def __init__(self) -> None:
        self.items = [1]

    def take(self) -> int:
        found = 0
        while self.items:
            found += self.items.pop()
        return found


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


@is_wrong
class OfSharedGenerator:
    """Two threads resume one generator: "generator already executing"."""

    def __init__(self) -> None:
        self.last = 0
        self.numbers = self.made()

    def made(self) -> Any:
        while True:
            self.last = self.last + 1
            yield self.last

    def increment(self) -> int:
        return next(self.numbers)


@is_wrong
class OfViewInACall:
    """Each call makes a view of its own of the same bytes."""

    def __init__(self) -> None:
        self.bytes = bytearray(1)

    def take(self) -> int:
        view = memoryview(self.bytes)
        if view[0] == 0:
            view[0] = 1
            return 1
        return 0


@is_right
class OfBufferInACall(Locked):
    """Each call has bytes of its own."""

    def increment(self) -> int:
        view = memoryview(bytearray(2))
        with self.lock:
            self.n += 1
            view[0] = self.n
        return view[0]


# ------------------------------------------------------------------------------------------------- outside the process


PLACE = tempfile.mkdtemp()
FILE = tempfile.TemporaryFile()  # noqa: SIM115


@is_wrong
class OfFile(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.path = os.path.join(PLACE, "number")
        with open(self.path, "w") as file:
            file.write("0")

    def increment(self) -> int:
        with self.lock:
            self.n += 1
        return self._increment()

    def _increment(self) -> int:
        with open(self.path) as file:
            n = int(file.read() or 0) + 1
        with open(self.path, "w") as file:
            file.write(str(n))
        return n


@is_right
class OfFileUnderLock(OfFile):
    def increment(self) -> int:
        with self.lock:
            return self._increment()


@is_wrong
class OfPath(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.path = pathlib.Path(PLACE) / "path"
        self.path.write_text("0")

    def increment(self) -> int:
        with self.lock:
            self.n += 1
        n = int(self.path.read_text() or 0) + 1
        self.path.write_text(str(n))
        return n


@is_wrong
class OfExistingFile(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.path = os.path.join(PLACE, "taken")
        if os.path.exists(self.path):
            os.unlink(self.path)

    def take(self) -> int:
        if os.path.exists(self.path):
            return 0
        open(self.path, "w").close()
        return 1


@is_right
class OfExclusiveFile(OfExistingFile):
    def take(self) -> int:
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return 0
        return 1


@is_wrong
class OfFileDescriptor:
    def __init__(self) -> None:
        self.fd = FILE.fileno()
        os.pwrite(self.fd, b"0", 0)

    def increment(self) -> int:
        n = int(os.pread(self.fd, 10, 0)) + 1
        os.pwrite(self.fd, str(n).encode(), 0)
        return n


@is_right
class OfPipe(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.source, self.end = os.pipe()
        os.write(self.end, b"0")

    def increment(self) -> int:
        with self.lock:
            n = int(os.read(self.source, 1)) + 1
            os.write(self.end, str(n).encode())
            return n


@is_wrong
class OfDatabase(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.held = sqlite3.connect(":memory:", check_same_thread=False)
        self.held.execute("CREATE TABLE numbers (n)")
        self.held.execute("INSERT INTO numbers VALUES (0)")

    def increment(self) -> int:
        with self.lock:
            self.n += 1
        return self._increment()

    def _increment(self) -> int:
        n = self.held.execute("SELECT n FROM numbers").fetchone()[0] + 1
        self.held.execute("UPDATE numbers SET n = ?", (n,))
        return n


@is_right
class OfDatabaseUnderLock(OfDatabase):
    def increment(self) -> int:
        with self.lock:
            return self._increment()


@is_wrong
class OfFieldSizeLimit(Locked):
    def __init__(self) -> None:
        super().__init__()
        csv.field_size_limit(131_072)

    def increment(self) -> int:
        with self.lock:
            self.n += 1
        n = csv.field_size_limit() + 1
        csv.field_size_limit(n)
        return n - 131_072


@is_wrong
class OfCollectorThreshold(Locked):
    def __init__(self) -> None:
        super().__init__()
        gc.set_threshold(*gc.get_threshold()[:2], 10)

    def increment(self) -> int:
        with self.lock:
            self.n += 1
        *before, n = gc.get_threshold()
        gc.set_threshold(*before, n + 1)
        return n - 9


class Numbers2(ctypes.Structure):
    _fields_: ClassVar = [("n", ctypes.c_int), ("more", ctypes.c_int * 2)]


@is_wrong
class OfStructure(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.held = Numbers2()

    def increment(self) -> int:
        with self.lock:
            self.n += 1
        self.held.n += 1
        return self.held.n


@is_wrong
class OfArrayInStructure(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.held = Numbers2()

    def increment(self) -> int:
        with self.lock:
            self.n += 1
        self.held.more[1] += 1
        return self.held.more[1]


@is_right
class OfStructureUnderLock(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.held = Numbers2()

    def increment(self) -> int:
        with self.lock:
            self.held.n += 1
            return self.held.n


@is_right
class OfAnnotations(Locked):
    def __init__(self) -> None:
        super().__init__()

        @functools.singledispatch
        def step(by: Any) -> int:
            raise TypeError(by)

        @step.register
        def _(by: int) -> int:
            self.n += by
            return self.n

        self.step = step

    def increment(self) -> int:
        with self.lock:
            return self.step(1)


@is_right
class OfNamedTupleMadeHere(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.held = collections.namedtuple("Held", "n more")(0, 0)

    def increment(self) -> int:
        with self.lock:
            self.held = self.held._replace(n=self.held.n + 1)
            return self.held.n


@is_wrong
class OfRegularExpression:
    def __init__(self) -> None:
        self.text = "n=0"

    def increment(self) -> int:
        self.text = re.sub(r"\d+", lambda found: str(int(found.group()) + 1), self.text)
        return int(self.text[2:])


@is_wrong
class OfDefaultValue:
    def __init__(self) -> None:
        def increment(box: Any = [0]) -> int:  # noqa: B006
            box[0] = box[0] + 1
            return box[0]

        self.step = increment
        increment.__defaults__[0][0] = 0

    def increment(self) -> int:
        return self.step()


class Numbered(type):
    made = 0

    def __call__(cls) -> Any:
        n = Numbered.made
        Numbered.made = n + 1
        made = super().__call__()
        made.number = n + 1
        return made


class Made(metaclass=Numbered):
    pass


@is_wrong
class OfCountingMetaclass:
    def __init__(self) -> None:
        Numbered.made = 0

    def increment(self) -> int:
        return Made().number


@is_wrong
class OfIdentity:
    def __init__(self) -> None:
        self.box = [0]

    def increment(self) -> int:
        while True:
            seen, n = id(self.box), self.box[0]
            if id(self.box) == seen:
                self.box = [n + 1]
                return n + 1


@is_right
class OfPublishedDict:
    def __init__(self) -> None:
        self.held = {"a": 0, "b": 0}

    def put(self, value: int) -> None:
        new = dict(self.held)
        new["a"] = new["b"] = value
        self.held = new

    def read(self) -> tuple[int, int]:
        held = self.held
        return held["a"], held["b"]


@is_wrong
class OfPublishedDictReadTwice(OfPublishedDict):
    def read(self) -> tuple[int, int]:
        return self.held["a"], self.held["b"]
