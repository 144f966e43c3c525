"""State in attributes, and in classes."""

# mypy: ignore-errors

from __future__ import annotations

import abc
import dataclasses
import functools
import weakref
from typing import Any, ClassVar, NamedTuple

from tests.stress.in_bad_faith.cases import Locked, Number, is_right, is_wrong


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
class OfGetattribute(Number):
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
class OfMetaclass(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.kind = Counting("Kind", (), {})

    def increment(self) -> int:
        with self.lock:
            pass
        return self.kind.bump()


@is_right
class OfMetaclassUnderLock(OfMetaclass):
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
class OfNamedTupleAtOnce(OfNamedTuple):
    def put(self, x: int) -> None:
        self.row = self.row._replace(a=x, b=x)


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
class OfAbstractBase(abc.ABC):  # noqa: B024
    def __init__(self) -> None:
        self.__dict__["n"] = 0

    def increment(self) -> int:
        self.__dict__["n"] += 1
        return self.__dict__["n"]


@is_wrong
class OfVars(Number):
    def increment(self) -> int:
        found = vars(self)
        found.update(n=found["n"] + 1)
        return self.n


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


@is_wrong
class OfExchangedSpaceAfterAStep(Number):
    """Changes an attribute, exchanges the dictionary that has it, and changes it again."""

    def increment(self):
        self.n = self.n
        self.__dict__ = dict(self.__dict__)
        self.n = self.n + 1
        return self.n


@is_wrong
class OfAttributeThatComesAgain(Number):
    """Deletes an attribute between two of its changes."""

    def increment(self):
        n = self.n
        self.n = n
        del self.n
        self.n = n + 1
        return n + 1


@is_wrong
class OfTwoWrites:
    """The second of two changes of an attribute is the one that counts."""

    def __init__(self):
        self.both = 0, 0

    def put(self, n):
        self.both = n, 0
        self.both = n, n

    def read(self):
        return self.both
