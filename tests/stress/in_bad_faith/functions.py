"""State in functions, and steps in what calls them."""

# mypy: ignore-errors

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import threading
from typing import Any

from tests.stress.in_bad_faith.cases import Locked, Number, is_right, is_wrong


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
class OfGenerator(Number):
    """A generator that is kept, and written to what threads share after it was resumed."""

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
class OfCoroutine(Number):
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
class OfAsyncGenerator(OfCoroutine):
    async def numbers(self) -> Any:
        n = self.n
        self.n = n + 1
        yield n + 1

    async def work(self) -> int:
        async for n in self.numbers():
            return n
        return 0


@is_wrong
class OfFinally(Number):
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
class OfContextManager(Number):
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
class OfText(Number):
    """The value is changed by what is shown."""

    def __format__(self, _: str) -> str:
        self.n += 1
        return str(self.n)

    def increment(self) -> int:
        return int(f"{self}")


@is_wrong
class OfOperators(Number):
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
class OfHash(Number):
    """A dictionary calls back."""

    class Key:
        def __init__(self, of: Any) -> None:
            self.of = of

        def __hash__(self) -> int:
            self.of.n = self.of.n + 1
            return 1

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
class OfReduce(Number):
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


@is_right
class OfDispatchUnderLock(Locked):
    """Every call makes a function that it fills, and calls."""

    @functools.singledispatchmethod
    def add(self, amount: object) -> int:
        raise TypeError

    @add.register
    def _(self, amount: int) -> int:
        with self.lock:
            self.n += amount
            return self.n

    def increment(self) -> int:
        return self.add(1)


@is_wrong
class OfFunctionsThatAreMade:
    """Every call makes a function and fills it, and gives it to others."""

    def __init__(self) -> None:
        self.latest = None

    def increment(self) -> int:
        def made() -> int:
            return made.n

        before = self.latest
        made.n = 0
        self.latest = made
        made.n = 1 if before is None else before.n + 1
        return made()


@is_right
class OfGeneratorThatIsLeft(Locked):
    """The generator holds the lock until it is let go."""

    def counted(self) -> Any:
        with self.lock:
            self.n += 1
            yield self.n

    def increment(self) -> int:
        for n in self.counted():  # noqa: B007
            break
        return n


@is_wrong
class OfGeneratorThatIsLeftTooEarly(OfGeneratorThatIsLeft):
    def increment(self) -> int:
        for _ in self.counted():
            break
        return self.n
