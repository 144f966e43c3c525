"""Faults that were found in widely used Python code, rebuilt from their published descriptions, and the same code
mended. `CASES` has for each name the wrong class, the right one, and the calls of each thread. No specification is
needed: what threads get must be what the calls give in some order.
"""

# mypy: ignore-errors

from __future__ import annotations

import itertools
import threading
from typing import Any

from tests.stress.one_at_a_time import one_at_a_time

CASES: dict[str, tuple[Any, Any, Any]] = {}
TWICE: Any = [[("get",)], [("get",)]]


def published(name: str, threads: Any = TWICE) -> Any:
    """Notes a pair: the class is the right one, and derives from the wrong one."""

    def note(right: Any) -> Any:
        CASES[name] = right.__mro__[1], right, threads
        return right

    return note


class Instance:
    """Whoever comes second waits for the lock, and then makes another one."""

    def __init__(self) -> None:
        self.lock, self.instance, self.made = threading.Lock(), None, 0

    def make(self) -> Any:
        self.made += 1
        return ["loop", self.made]

    def get(self) -> Any:
        if self.instance is None:
            with self.lock:
                self.instance = self.make()
        return self.instance[1]


@published("pyftpdlib 220")
class InstanceLookedAtAgain(Instance):
    def get(self) -> Any:
        if self.instance is None:
            with self.lock:
                if self.instance is None:
                    self.instance = self.make()
        return self.instance[1]


class Loop:
    """The same where it is: in attributes of the class."""

    lock = threading.Lock()
    instance: Any = None
    made = 0

    def __init__(self) -> None:
        type(self).instance, type(self).made = None, 0

    def get(self) -> Any:
        kind = type(self)
        if kind.instance is None:
            with kind.lock:
                kind.made += 1
                kind.instance = ["loop", kind.made]
        return kind.instance[1]


@published("pyftpdlib 220, class attributes")
class LoopLookedAtAgain(Loop):
    def get(self) -> Any:
        kind = type(self)
        if kind.instance is None:
            with kind.lock:
                if kind.instance is None:
                    kind.made += 1
                    kind.instance = ["loop", kind.made]
        return kind.instance[1]


class Variables:
    """The dictionary is shown before it is filled."""

    def __init__(self) -> None:
        self.variables: Any = None

    def get(self) -> Any:
        if self.variables is None:
            self.variables = {}
            self.variables["prefix"] = "/usr"
            self.variables["base"] = "/usr/local"
        return self.variables.get("prefix"), self.variables.get("base")


@published("CPython 92452")
class VariablesFilledFirst(Variables):
    def get(self) -> Any:
        if self.variables is None:
            found = {}
            found["prefix"] = "/usr"
            found["base"] = "/usr/local"
            self.variables = found
        return self.variables.get("prefix"), self.variables.get("base")


CONFIGURATION: Any = None


class Configuration:
    """The same in a variable of the module."""

    def __init__(self) -> None:
        global CONFIGURATION
        CONFIGURATION = None

    def get(self) -> Any:
        global CONFIGURATION
        if CONFIGURATION is None:
            CONFIGURATION = {}
            CONFIGURATION["prefix"] = "/usr"
            CONFIGURATION["base"] = "/usr/local"
        return CONFIGURATION.get("prefix"), CONFIGURATION.get("base")


@published("CPython 92452, a module's variable")
class ConfigurationFilledFirst(Configuration):
    def get(self) -> Any:
        global CONFIGURATION
        if CONFIGURATION is None:
            found = {}
            found["prefix"] = "/usr"
            found["base"] = "/usr/local"
            CONFIGURATION = found
        return CONFIGURATION.get("prefix"), CONFIGURATION.get("base")


class PoolAfterFork:
    """A pool that notices that it is in a new process, says so, and then forgets the old connections."""

    def __init__(self) -> None:
        self.lock, self.process, self.free = threading.Lock(), 1, ["of the parent"]

    def reset(self) -> None:
        self.process = 2
        self.free = []

    def get(self) -> str:
        if self.process != 2:
            self.reset()
        return self.free.pop() if self.free else "new"


@published("redis-py 906")
class PoolSaysSoLast(PoolAfterFork):
    def get(self) -> str:
        if self.process != 2:
            with self.lock:
                if self.process != 2:
                    self.free = []
                    self.process = 2
        return self.free.pop() if self.free else "new"


class Socket:
    def __init__(self) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False


class Connection:
    """Looks whether there is a socket, and closes it: another thread has put None there."""

    def __init__(self) -> None:
        self.lock, self.socket = threading.Lock(), Socket()

    def disconnect(self) -> bool:
        if self.socket is None:
            return False
        self.socket.close()
        self.socket = None
        return False


published("redis-py 732", [[("disconnect",)], [("disconnect",)]])(one_at_a_time(Connection, "disconnect"))


class NamedPool:
    pass


class Pools:
    """The pool is in the table before it has its name."""

    def __init__(self) -> None:
        self.pools: dict[str, NamedPool] = {}

    def get(self) -> str:
        pool = self.pools.get("a")
        if pool is None:
            pool = NamedPool()
            self.pools["a"] = pool
            pool.name = "a"
        return pool.name


@published("django-redis-cache 213")
class PoolsNamedFirst(Pools):
    def get(self) -> str:
        pool = self.pools.get("a")
        if pool is None:
            pool = NamedPool()
            pool.name = "a"
            self.pools["a"] = pool
        return pool.name


class Memo:
    """One lock for each key, of which two threads make one each: who has acquired his releases that of the other."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.running: dict[str, Any] = {}
        self.guard = threading.Lock()

    def lock_of(self, key: str) -> None:
        if self.running.get(key) is None:
            self.running[key] = threading.Lock()

    def get(self) -> int:
        if "a" not in self.known:
            self.lock_of("a")
            self.running["a"].acquire()
            try:
                if "a" not in self.known:
                    self.known["a"] = 1
            finally:
                self.running["a"].release()
        return self.known["a"]


@published("web.py 214")
class MemoUnderGuard(Memo):
    def lock_of(self, key: str) -> None:
        with self.guard:
            super().lock_of(key)


class Managed:
    """A table of pools with room for one. Whoever adds a second one closes the first, which may be in use."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.pools: dict[str, list[str]] = {}

    def pool_of(self, host: str) -> list[str]:
        with self.lock:
            if host not in self.pools:
                for other in [*self.pools]:
                    self.pools.pop(other).append("closed")
                self.pools[host] = []
            return self.pools[host]

    def ask(self, host: str) -> str:
        pool = self.pool_of(host)
        if "closed" in pool:
            raise ConnectionError(host)
        return f"answer of {host}"


published("urllib3 1252", [[("ask", "a")], [("ask", "b")]])(one_at_a_time(Managed, "ask"))


class Rule:
    def __init__(self, weight: int) -> None:
        self.weight = weight

    def key(self) -> int:
        return self.weight


class Routes:
    """The rules are sorted when they are first asked for; while a list is sorted, it looks empty."""

    def __init__(self) -> None:
        self.lock, self.rules, self.must_sort = threading.Lock(), [Rule(2), Rule(1)], True

    def update(self) -> None:
        if self.must_sort:
            self.rules.sort(key=Rule.key)
            self.must_sort = False

    def match(self) -> int | None:
        self.update()
        for rule in self.rules:
            return rule.weight
        return None


published("werkzeug 546", [[("match",)], [("match",)]])(one_at_a_time(Routes, "update"))


class Lines:
    """Looks whether a line is there, and then takes it."""

    def __init__(self) -> None:
        self.lines = {"a": "text"}

    def forget(self) -> None:
        self.lines.clear()

    def line(self) -> str:
        if "a" in self.lines:
            return self.lines["a"]
        return ""


@published("CPython 133253", [[("line",)], [("forget",)]])
class LinesAtOnce(Lines):
    def line(self) -> str:
        return self.lines.get("a", "")


class Gauss:
    """Keeps the second of two numbers for the next call, which two calls get."""

    def __init__(self) -> None:
        self.lock, self.kept, self.drawn = threading.Lock(), 1, itertools.count(2)

    def get(self) -> int:
        kept = self.kept
        self.kept = None
        return next(self.drawn) if kept is None else kept


published("random.gauss")(one_at_a_time(Gauss, "get"))


class Emptied:
    """`while items: items.pop()`"""

    def __init__(self) -> None:
        self.items = [1]

    def empty(self) -> int:
        found = 0
        while self.items:
            found += self.items.pop()
        return found


@published("while items: items.pop()", [[("empty",)], [("empty",)]])
class EmptiedAtOnce(Emptied):
    def empty(self) -> int:
        found = 0
        try:
            while True:
                found += self.items.pop()
        except IndexError:
            return found


class Cache:
    """Gets under a lock, and sets under a lock."""

    def __init__(self) -> None:
        self.lock, self.values = threading.RLock(), {"n": 0}

    def incr(self) -> int:
        with self.lock:
            value = self.values["n"] + 1
        with self.lock:
            self.values["n"] = value
        return value


published("LocMemCache.incr", [[("incr",)], [("incr",)]])(one_at_a_time(Cache, "incr"))


class Counted:
    """Counts over a view of a dictionary that another thread adds to."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.made = {"a": 1, "b": 1}

    def count(self) -> int:
        return sum(each for each in self.made.values())

    def connect(self, node: str) -> int:
        found = self.count()
        self.made[node] = 1
        return found


published("redis-py-cluster 353, a generator", [[("connect", "c")], [("connect", "d")]])(
    one_at_a_time(Counted, "connect")
)


class CountedInALoop(Counted):
    def count(self) -> int:
        found = 0
        for each in self.made.values():
            found += each
        return found


published("redis-py-cluster 353, a loop", [[("connect", "c")], [("connect", "d")]])(
    one_at_a_time(CountedInALoop, "connect")
)


class Numbers:
    """Two threads resume one generator."""

    def __init__(self) -> None:
        self.lock, self.last = threading.Lock(), 0
        self.numbers = self.all()

    def all(self) -> Any:
        while True:
            self.last += 1
            yield self.last

    def get(self) -> int:
        return next(self.numbers)


published("a generator of two threads")(one_at_a_time(Numbers, "get"))


# ----------------------------------------------------------------- what other checkers of linearizability are tested on


class Cell:
    def __init__(self) -> None:
        self.is_there = False


class SetWithSnapshot:
    """A snapshot reads twice and compares: what went and came again in between looks the same."""

    def __init__(self) -> None:
        self.lock, self.cells = threading.RLock(), {1: Cell(), 2: Cell()}

    def add(self, key: int) -> bool:
        with self.lock:
            was, self.cells[key].is_there = self.cells[key].is_there, True
            return not was

    def remove(self, key: int) -> bool:
        with self.lock:
            was, self.cells[key].is_there = self.cells[key].is_there, False
            return was

    def snapshot(self) -> Any:
        while True:
            first = [self.cells[1].is_there, self.cells[2].is_there]
            second = [self.cells[1].is_there, self.cells[2].is_there]
            if first == second:
                return first


CHANGES = [("add", 1), ("remove", 1), ("add", 2), ("remove", 2), ("add", 1), ("remove", 1), ("add", 2)]


published("a snapshot that compares twice", [[("snapshot",)], CHANGES])(one_at_a_time(SetWithSnapshot, "snapshot"))


class ManySwitches:
    """It takes a switch at each of several places to get in where nobody should be."""

    def __init__(self) -> None:
        self.lock, self.is_open = threading.Lock(), False

    def pass_by(self) -> None:
        self.is_open = True
        self.is_open = False

    def get(self) -> bool:
        return all(self.is_open for _ in range(3))


published("many switches", [[("get",)], [("pass_by",), ("pass_by",), ("pass_by",)]])(
    one_at_a_time(ManySwitches, "pass_by", "get")
)


class Accounts:
    """Two accounts under a lock each: a transfer locks them in the order of its arguments."""

    def __init__(self) -> None:
        self.locks = {"a": threading.Lock(), "b": threading.Lock()}
        self.has = {"a": 1, "b": 1}

    def ordered(self, one: str, other: str) -> Any:
        return one, other

    def move(self, one: str, other: str) -> int:
        first, second = self.ordered(one, other)
        with self.locks[first], self.locks[second]:
            self.has[one] -= 1
            self.has[other] += 1
            return self.has[one]


@published("locks in two orders", [[("move", "a", "b")], [("move", "b", "a")]])
class AccountsInOrder(Accounts):
    def ordered(self, one: str, other: str) -> Any:
        return sorted((one, other))


class Bounded:
    """A `notify` that wakes one thread of the wrong kind."""

    def __init__(self) -> None:
        self.changed, self.items = threading.Condition(), []

    def put(self, item: int) -> None:
        with self.changed:
            while self.items:
                self.changed.wait()
            self.items.append(item)
            self.wake()

    def get(self) -> int:
        with self.changed:
            while not self.items:
                self.changed.wait()
            item = self.items.pop()
            self.wake()
            return item

    def wake(self) -> None:
        self.changed.notify()


@published("notify of the wrong thread", [[("put", 1), ("put", 2)], [("get",)], [("get",)]])
class BoundedNotifyAll(Bounded):
    def wake(self) -> None:
        self.changed.notify_all()
