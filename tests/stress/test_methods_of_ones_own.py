"""What a class has in the place of Python's own methods is called by its user alone: the explorer looks into containers and
objects by the functions of Python's own types. So methods may lock, count, or fail as long as the object is not made."""

# mypy: ignore-errors

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import pytest

import ctrie
from stress import Verdict, explore, run

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")

TWICE: Any = [[("increment",)], [("increment",)]]
PUT_TWICE: Any = [[("put", 1)], [("put", 1)]]


def locked(base: type, *, lock_first: bool) -> type:
    """A container that takes its own lock wherever it is looked into."""

    class Locked(base):
        def __init__(self) -> None:
            if lock_first:
                self.lock = threading.RLock()
            super().__init__()
            if not lock_first:
                self.lock = threading.RLock()

        def put(self, each: int) -> bool:
            with self.lock:
                is_new = each not in self
                if issubclass(base, dict):
                    base.__setitem__(self, each, each)
                elif is_new:
                    (base.add if base is set else base.append)(self, each)
                return is_new and len(self) == 1 and sorted(self) == [each]

    for name in ("__contains__", "__len__", "__iter__", "__eq__", "__repr__", "__getitem__", "keys", "values", "items"):
        if hasattr(base, name):
            setattr(Locked, name, _with_lock(getattr(base, name)))
    Locked.__hash__ = _with_lock(id)
    return Locked


def _with_lock(method: Any) -> Any:
    def call(self: Any, *args: Any) -> Any:
        with self.lock:
            found = method(self, *args)
            return found if not hasattr(found, "__next__") else iter(list(found))

    return call


def halved(made: type) -> type:
    """Wrong: it looks, and then puts."""

    class Halved(made):
        def put(self, each: int) -> bool:
            is_new = each not in self
            super().put(each)
            return is_new

    return Halved


CONTAINERS = (dict, OrderedDict, defaultdict, Counter, list, set, deque)


@pytest.mark.parametrize("lock_first", [True, False])
@pytest.mark.parametrize("base", CONTAINERS)
def test_containers_with_a_lock_of_their_own(base: type, lock_first: bool) -> None:
    made = locked(base, lock_first=lock_first)
    outcome = explore(made, None, PUT_TWICE, seed=1)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.report()
    assert explore(halved(made), None, PUT_TWICE, seed=1).verdict is Verdict.ILLEGAL


class Number:
    def __init__(self) -> None:
        self.lock, self.n = threading.Lock(), 0

    def increment(self) -> int:
        with self.lock:
            self.n += 1
            return self.n


class Asked(dict):
    """Counts how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.lock, self.n = threading.Lock(), 0

    def __contains__(self, key: Any) -> bool:
        with self.lock:
            self.n += 1
        return super().__contains__(key)

    def increment(self) -> bool:
        return 1 in self


class Proxy:
    """Says that it is what it stands for."""

    def __init__(self, of: Any) -> None:
        self._of = of

    @property
    def __class__(self) -> type:
        return type(self._of)

    @property
    def __dict__(self) -> Any:
        return self._of.__dict__

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_of"), name)


class Unmade(Proxy):
    """Goes round and round as long as it stands for nothing."""

    def __init__(self, of: Any) -> None:
        self.mark = None
        super().__init__(of)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)

    @property
    def behind(self) -> Any:
        return object.__getattribute__(self, "_of")


class OfProxy(Number):
    kind: Any = Proxy

    def __init__(self) -> None:
        self.number = self.kind(Number())

    def increment(self) -> int:
        return self.number.increment()


class OfUnmade(OfProxy):
    kind = Unmade


class OfLockedAttributes:
    def __init__(self) -> None:
        object.__setattr__(self, "lock", threading.RLock())
        object.__setattr__(self, "values", {"n": 0})

    def __getattr__(self, name: str) -> Any:
        with self.lock:
            return self.values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        with self.lock:
            self.values[name] = value

    def increment(self) -> int:
        with self.lock:
            self.n += 1
            return self.n


class PutsBack(Number):
    """An item is set by a method of its own, within a lock that it takes again, after a call in C."""

    def __init__(self) -> None:
        self.lock, self.values = threading.RLock(), {"n": 0}

    def __setitem__(self, key: str, value: int) -> None:
        with self.lock:
            self.values[key] = value

    def increment(self) -> int:
        with self.lock:
            n = self.values.pop("n")
            self["n"] = n + 1
            return n + 1


class AnswersNothing(Number):
    __hash__ = None

    def _fail(self, *_: Any) -> Any:
        raise TypeError("nobody may ask")

    __bool__ = __len__ = __eq__ = __repr__ = __iter__ = __contains__ = _fail


class WithoutModule(Number):
    __module__ = None


class OfModuleProperty(Number):
    def __init__(self) -> None:
        self.number = type("Named", (Number,), {"__module__": property(lambda _: "m")})()

    def increment(self) -> int:
        return self.number.increment()


@pytest.mark.parametrize(
    "made", [Asked, PutsBack, OfProxy, OfUnmade, OfLockedAttributes, AnswersNothing, WithoutModule, OfModuleProperty]
)
def test_nobody_asks_the_object_itself(made: Any) -> None:
    outcome = explore(made, None, TWICE, seed=1)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.report()


def test_run_needs_no_name_of_a_module() -> None:
    assert run(OfModuleProperty, None, [("increment",)], rounds=20).verdict is Verdict.LINEARIZABLE
