"""Things that outlive an execution: each execution begins with them as they were before the first."""

# mypy: ignore-errors

from __future__ import annotations

import argparse
import array
import collections
import itertools
import random
import threading
import weakref
from typing import Any

from tests.stress.in_bad_faith.cases import is_right, is_wrong

LOCK = threading.Lock()


class Bare:
    pass


BARE = Bare()


@is_right
class OfEmptyOutliving:
    """Calls make objects of the same class."""

    def increment(self) -> int:
        with LOCK:
            Bare()
            BARE.n = getattr(BARE, "n", 0) + 1
            return BARE.n


@is_right
class OfOwnInstance:
    def increment(self) -> int:
        with LOCK:
            ROOT.n = getattr(ROOT, "n", 0) + 1
            return ROOT.n


ROOT = OfOwnInstance()


@is_wrong
class OfOwnInstanceWithoutLock:
    def increment(self) -> int:
        n = OPEN.n = getattr(OPEN, "n", 0) + 1
        return n


OPEN = OfOwnInstanceWithoutLock()


def within() -> Any:
    """As a test makes its class, with what the class needs."""
    root = Bare()

    class OfClosureOutliving:
        def increment(self) -> int:
            with LOCK:
                Bare()
                root.n = getattr(root, "n", 0) + 1
                return root.n

    return OfClosureOutliving


is_right(within())


@is_right
class OfGivenSingleton:
    def __new__(cls) -> Any:
        return SINGLE or object.__new__(cls)

    def __init__(self) -> None:
        pass

    def increment(self) -> int:
        with LOCK:
            self.n = getattr(self, "n", 0) + 1
            return self.n


SINGLE: Any = None
SINGLE = OfGivenSingleton()


class WithSlot:
    __slots__ = ("m", "n")


class WithSlotAndMore(WithSlot):
    pass


SLOTTED, UNSET = WithSlotAndMore(), WithSlot()
SLOTTED.n = 0


@is_right
class OfOutlivingSlot:
    def increment(self) -> int:
        with LOCK:
            SLOTTED.n += 1
            UNSET.n = getattr(UNSET, "n", 0) + 1
            return SLOTTED.n if SLOTTED.n == UNSET.n else -1


class Closed:
    pass


class Open(Closed):
    pass


STATE = Closed()


@is_right
class OfOutlivingClass:
    """What it is tells its state."""

    def take(self) -> int:
        with LOCK:
            if type(STATE) is Open:
                return 0
            STATE.__class__ = Open
            return 1


def counted(n: int = 0) -> int:
    return n


@is_right
class OfOutlivingDefaults:
    def increment(self) -> int:
        with LOCK:
            counted.__defaults__ = (counted() + 1,)
            return counted()


def left() -> int:
    return 1


def nothing() -> int:
    return 0


@is_right
class OfOutlivingCode:
    def take(self) -> int:
        with LOCK:
            n = left()
            left.__code__ = nothing.__code__
            return n


ERROR = ValueError(0)


@is_right
class OfOutlivingException:
    def increment(self) -> int:
        with LOCK:
            ERROR.args = (ERROR.args[0] + 1,)
            return ERROR.args[0]


ORDERED = collections.OrderedDict(a=1, b=2, c=3)


@is_right
class OfOutlivingOrder:
    """The second call finds what the first has moved to the front."""

    def increment(self) -> int:
        with LOCK:
            name, _ = ORDERED.popitem(last=False)
            ORDERED["z"] = ORDERED.pop("z", 0) + 1
            if name == "a":
                ORDERED.move_to_end("c", last=False)
            return {"a": 1, "c": 2}[name]


ARRAY, BYTES = array.array("q", [0]), bytearray(1)


@is_right
class OfOutlivingArray:
    def increment(self) -> int:
        with LOCK:
            ARRAY[0] += 1
            BYTES[0] += 1
            return ARRAY[0] if ARRAY[0] == BYTES[0] else -1


RANDOM, DRAWN = random.Random(1), random.Random(1)
FIRST = [DRAWN.random() for _ in range(2)]


@is_right
class OfOutlivingRandom:
    def increment(self) -> int:
        with LOCK:
            return FIRST.index(RANDOM.random()) + 1


NUMBERS = itertools.count(1)


@is_right
class OfOutlivingCount:
    def increment(self) -> int:
        return next(NUMBERS)


GIVEN = (n for n in itertools.count(1))


@is_right
class OfOutlivingGenerator:
    def increment(self) -> int:
        with LOCK:
            return next(GIVEN)


class Kept:
    def __init__(self) -> None:
        self.n, self.lock = 0, threading.Lock()

    def increment(self) -> int:
        with self.lock:
            self.n += 1
            return self.n


class Part:
    def __init__(self) -> None:
        self.n, self.l = 0, [0]


FREE = [Part(), Part()]


@is_right
class OfTakenFromPool:
    """Each object has a part that nobody else has, and that is older."""

    def __init__(self) -> None:
        self.part = FREE.pop()

    def increment(self) -> int:
        with LOCK:
            self.part.n += 1
            self.part.l[0] += 1
            return self.part.n if self.part.n == self.part.l[0] else -1


@is_wrong
class OfTakenFromPoolWithoutLock(OfTakenFromPool):
    def increment(self) -> int:
        self.part.n += 1
        return self.part.n


POOL = itertools.cycle([Kept(), Kept()])


@is_right
class OfTakenInTurns:
    """The factory gives one object of two again and again, as it was left."""

    def __new__(cls) -> Any:
        return next(POOL)

    def increment(self) -> int:
        raise NotImplementedError


LIKE_A_DICTIONARY = collections.UserDict(n=0)


@is_right
class OfOutlivingUserDict:
    def increment(self) -> int:
        with LOCK:
            LIKE_A_DICTIONARY["n"] += 1
            return LIKE_A_DICTIONARY["n"]


@is_wrong
class OfOutlivingUserDictWithoutLock:
    def increment(self) -> int:
        n = OPEN_DICTIONARY["n"] = OPEN_DICTIONARY["n"] + 1
        return n


OPEN_DICTIONARY = collections.UserDict(n=0)
BY_OBJECT: Any = weakref.WeakKeyDictionary({BARE: 0})


@is_right
class OfOutlivingWeakKeys:
    def increment(self) -> int:
        with LOCK:
            BY_OBJECT[BARE] += 1
            return BY_OBJECT[BARE]


PARSED = argparse.Namespace(n=0)


@is_right
class OfOutlivingArguments:
    """Its class is taken as a whole."""

    def increment(self) -> int:
        with LOCK:
            PARSED.n += 1
            return PARSED.n
