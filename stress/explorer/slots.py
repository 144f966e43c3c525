"""The explored bodies of the slot and of the event: the seam at which a scheduler sees every access.

`Seam` belongs to one private copy of the packages. Its `before` is called before every access: with the slot alone for
a load, with the expected and the desired value for a compare-and-set. Between that call and the access nothing happens,
so `before` knows what the access will find. `after` is called when a compare-and-set has succeeded.

Only slots change, so a journal of their changes is enough to undo an execution.

Places that threads share without a slot, such as attributes, are `Place`. Where no machine runs, `OneThread` is the
scheduler, and `AccessLimit` ends calls that never return. The clock of an explored object shows what its threads have
slept and waited in vain, and stands still otherwise: but a thread that goes round and round, looking at it, is let on
by a long time that passes. If the object looks at its clock at all, that is a step, and so is a sleep.
"""

from __future__ import annotations

import _thread
from collections import deque
from collections.abc import Callable, Iterable
from itertools import count
from types import GenericAlias
from typing import Any, Final

__all__ = [
    "A_LONG_TIME", "CLOCK", "FOREIGN", "LOAD", "MAIN", "WOULD_WAIT", "AccessLimit", "Attempt", "Endless", "OneThread",
    "Place", "Seam", "Several", "meet", "reference_class", "words_of",
]  # fmt: skip

LOAD: Final = object()
"""Used as the expected value: the access is a load."""
MAIN: Final = -1
"""The identity of whoever runs outside the scenario's threads."""


class Seam:
    """The place where the slots of one copy of the packages call a scheduler.

    A `scheduler` has methods: `name` gives a new slot a name, the same in every execution in which its maker does the
    same. `identity` is the number of the thread that runs, and `caller` that of the thread whose call runs, also if it
    is made to see what the call answers alone. `wait` runs other threads until an event is set, and `wake` resumes
    those that wait for it.

    `clock` are the seconds that have passed for the explored object since it was made: those that its threads have
    slept, or waited in vain.

    Args:
        takes_back: whether changes can be undone. Replaced values are kept alive until then.
    """

    def __init__(self, takes_back: bool = True) -> None:
        self.before: Callable[..., None] | None = None
        self.after: Callable[[Any], None] | None = None
        self.scheduler: Any = None
        self.clock = 0.0
        self.home = 0
        """The real thread that explores."""
        self.threads = 0
        """How many threads the scenario has."""
        self.callers: dict[int, Any] = {}
        """The threads that have been asked for, by their numbers."""
        self.stands_for: Callable[[Any], Any] | None = None
        self.journal: deque[tuple[Any, Any]] = deque(maxlen=None if takes_back else 0)

    def is_mine(self) -> bool:
        """Whether the real thread that asks is one that runs the object."""
        coroutines = getattr(self.scheduler, "coroutines", None)
        running = self.home if coroutines is None else coroutines.thread_of_the_running(self.home)
        return _thread.get_ident() == running

    def caller(self) -> int | None:
        """The thread whose call runs; None if this is no thread of the exploration."""
        scheduler = self.scheduler
        return None if scheduler is None or not self.is_mine() else scheduler.caller()

    def take_back(self, mark: int = 0) -> None:
        """Undo every change since the journal had `mark` entries."""
        journal = self.journal
        while len(journal) > mark:
            slot, value = journal.pop()
            slot._value = value


def reference_class(seam: Seam) -> Any:
    """A replacement for the class `ctrie.AtomicReference`, and thereby for the slots of nodes: its objects report to
    `seam`.
    """

    class Slot:
        _value: Any = None
        _name: int | None = None

        def __new__(cls, *_: object, **__: object) -> Any:
            slot = object.__new__(cls)
            scheduler = seam.scheduler
            if scheduler is not None:
                slot._name = scheduler.name()
            return slot

        def initialise(self, value: object) -> None:
            seam.journal.append((self, self._value))
            self._value = value

        def load(self) -> Any:
            before = seam.before
            if before is not None:
                before(self)
            return self._value

        def compare_and_set(self, expected: object, desired: object) -> bool:
            before = seam.before
            if before is not None:
                before(self, expected, desired)
            found = self._value
            if found is not expected:
                return False
            seam.journal.append((self, found))
            self._value = desired
            after = seam.after
            if after is not None:
                after(self)
            return True

    class AtomicReference(Slot):
        __class_getitem__: Any = classmethod(GenericAlias)

        def __init__(self, value: object = None) -> None:
            self.initialise(value)

        def __repr__(self) -> str:
            return f"AtomicReference({self.load()!r})"

    return AtomicReference


class Endless(BaseException):
    """A call that runs alone makes more accesses than any call needs."""


class AccessLimit:
    """Limits the number of accesses within the block, where no machine is running: one more raises `Endless`. A loop
    that makes one at every turn comes to this limit before `PlainState.spin` refuses it as one that shows no access.
    """

    def __init__(self, seam: Seam, accesses: int = 200_000) -> None:
        self._seam, self._left = seam, accesses

    def __enter__(self) -> None:
        self._seam.before = self._before

    def __exit__(self, *_: object) -> None:
        self._seam.before = None

    def _before(self, *_: object) -> None:
        self._left -= 1
        if self._left < 0:
            raise Endless("a call that runs alone does not return")


WOULD_WAIT: Final = "the calling thread would wait for ever, since no other one runs"
_ROUNDS_IN_NO_TIME: Final = 4
A_LONG_TIME: Final = 86_400.0
"""Seconds: more than anybody waits for."""

CLOCK: Final = ("", "the clock")
"""The place of the clock."""


class OneThread:
    """The scheduler where no threads run: it names what is made, as no thread can, and knows the clock."""

    def __init__(self, seam: Seam) -> None:
        self._seam = seam
        self._has_looked = False
        self.name = count(-1, -1).__next__

    def identity(self) -> int:
        """As `Seam` says of `identity`."""
        return MAIN

    caller = identity

    def uses_clock(self, *, sleeps: bool) -> None:
        """The thread is about to sleep, or looks at the clock."""
        self._has_looked = self._has_looked or not sleeps

    def park(self, _: Any, timeout: float | None) -> bool:
        """As `Machine.park`: every timeout is over at once. Where the factory waits, the caller of the exploration is
        told.
        """
        if timeout is None:
            raise RuntimeError(WOULD_WAIT) if self._seam.before is None else Endless(WOULD_WAIT)
        self._seam.clock += timeout
        return False

    def goes_round(self, rounds: int, changes: bool) -> bool:
        """The thread goes round and round, and makes no steps. Answers whether that is in vain, as far as is known. If
        it has looked at the clock since, a long time passes.
        """
        if self._has_looked and rounds > _ROUNDS_IN_NO_TIME:
            self._has_looked = False
            self._seam.clock += A_LONG_TIME
        return False


FOREIGN: Final = ("objects of other languages", None)
"""The name of the one place for all that is written in C and not known, and for what is outside the process."""


class Place:
    """A place of plain values."""

    __slots__ = ("_name", "what")
    _value: Any = None

    def __init__(self, name: Any, what: str) -> None:
        self._name, self.what = name, what


class Attempt(Place):
    """A place as accessed by a step that changes it only if it `succeeds` then. If not, the step is a read."""

    __slots__ = ("_succeeds",)

    def __init__(self, name: Any, what: str, succeeds: Callable[[], bool]) -> None:
        super().__init__(name, what)
        self._succeeds = succeeds

    @property
    def _value(self) -> Any:
        return None if self._succeeds() else False


class Several(frozenset[Any]):
    """The names of all places that one step accesses, as one name."""


def meet(one: Any, other: Any) -> bool:
    """Whether two names have a place in common."""
    if one == other:
        return True
    if type(one) is Several:
        return not one.isdisjoint(other) if type(other) is Several else other in one
    return type(other) is Several and one in other


def words_of(keys: Iterable[tuple[Any, Any]]) -> str:
    """The places that a step accesses, for a reader."""
    return ", ".join(dict.fromkeys(map(_told, keys)))


def _told(key: tuple[Any, Any]) -> str:
    where, name = key
    if name is None:
        return f"items of {where}" if where != FOREIGN[0] else where
    return f"{where}.{name}" if where else str(name)
