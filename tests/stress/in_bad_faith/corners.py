"""Corners of the language and of the standard library that are easily overlooked."""

# mypy: ignore-errors

from __future__ import annotations

import array
import builtins
import collections
import configparser
import contextlib
import contextvars
import functools
import io
import itertools
import operator
import pickle
import queue
import random
import string
import sys
import threading
import types
import unittest.mock
import weakref
from typing import Any

from tests.stress.in_bad_faith.cases import Locked, Number, TwoItems, TwoValues, is_right, is_wrong


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
class OfBoundGetattribute(Number):
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
class OfConfigurationUnderLock(OfConfiguration, Locked):
    def __init__(self) -> None:
        Locked.__init__(self)
        OfConfiguration.__init__(self)

    def increment(self) -> int:
        with self.lock:
            return super().increment()


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
        from tests.stress.in_bad_faith.corners import IMPORTED

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
class OfReplacedMethodUnderLock(OfReplacedMethod, Locked):
    def take(self) -> int:
        with self.lock:
            if "take" in vars(self):
                return 0
            self.take = self.nothing
            return 1


@is_wrong
class OfFinalizer(Number):
    class Guard:
        def __init__(self, of: Any) -> None:
            self.of = of

        def __del__(self) -> None:
            self.of.n = getattr(self.of, "n", 0) + 1

    def increment(self) -> int:
        guard = self.Guard(self)
        del guard
        return self.n


@is_wrong
class OfWeakCallback(Number):
    class Thing:
        pass

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
class OfTemplate(TwoValues):
    def read(self) -> Any:
        a, b = string.Template("$a $b").substitute(self.d).split()
        return int(a), int(b)


@is_wrong
class OfPercent(TwoValues):
    def read(self) -> Any:
        a, b = ("%(a)d %(b)d" % self.d).split()  # noqa: UP031
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
class OfNestedClass(Number):
    """A class that each call makes."""

    def increment(self) -> int:
        outer = self

        class More:
            def __init__(self) -> None:
                outer.n += 1

        More()
        return self.n


@is_wrong
class OfUnpacking(TwoItems):
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
class OfSortKey(TwoItems):
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
class OfUnguardedWait(Locked):
    """A bare except around a lock."""

    def increment(self) -> int:
        while True:
            try:
                with self.lock:
                    n = self.n
                self.n = n + 1
                return n + 1
            except:  # noqa: E722
                continue


@is_wrong
class OfSentinel:
    """Counts what it takes away, one after another."""

    def __init__(self) -> None:
        self.l = [1, 2, 3]

    def take(self) -> int:
        return 1 if sum(iter(self.l.pop, 1)) == 5 else 0


@is_wrong
class OfStarmap(TwoValues):
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
class OfSelfReplacing(OfReplacedMethod, Locked):
    """Right if one thread calls it, as often as it wants."""

    def take(self) -> int:
        with self.lock:
            self.take = self.nothing
        return 1


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
class OfGroupBy(TwoItems):
    def read(self) -> Any:
        return tuple(each for _, group in itertools.groupby(self.l, key=id) for each in group)


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
