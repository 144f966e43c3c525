"""The explored bodies of the slot and of the event: the seam at which a scheduler sees every access.

`Seam` belongs to one private copy of the packages. Its `before` is called before every access: with the slot alone for
a load, with the expected and the desired value for a compare-and-set. Between that call and the access nothing happens,
so `before` knows what the access will find. `after` is called when a compare-and-set has succeeded.

Only slots change, so a journal of their changes is enough to undo an execution.
"""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Callable
from types import GenericAlias, ModuleType
from typing import Any, Final, Protocol

__all__ = ["LOAD", "Scheduler", "Seam", "slot_module", "threading_module"]

LOAD: Final = object()
"""Used as the expected value: the access is a load."""


class Scheduler(Protocol):
    """The methods of a scheduler that the seam needs, besides `before`."""

    def name(self) -> int:
        """A name for a new slot: the same in every execution in which its maker does the same."""

    def identity(self) -> int:
        """The number of the thread that runs."""

    def wait(self, event: Any) -> None:
        """Run other threads until `event` is set."""

    def wake(self, event: Any) -> None:
        """Resume the threads that wait for `event`."""


class Seam:
    """The place where the slots of one copy of the packages call a scheduler.

    Parameters:
        takes_back: whether changes can be undone. Replaced values are kept alive until then.
    """

    def __init__(self, takes_back: bool = True) -> None:
        self.before: Callable[..., None] | None = None
        self.after: Callable[[Any], None] | None = None
        self.scheduler: Scheduler | None = None
        self.journal: deque[tuple[Any, Any]] = deque(maxlen=None if takes_back else 0)

    def take_back(self, mark: int = 0) -> None:
        """Undo every change since the journal had `mark` entries."""
        journal = self.journal
        while len(journal) > mark:
            slot, value = journal.pop()
            slot._value = value


def slot_module(seam: Seam) -> ModuleType:
    """A replacement for the module `ctrie._slot`, with slots that report to `seam`."""

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

    module = ModuleType("ctrie._slot")
    vars(module).update(vars(importlib.import_module("ctrie._slot")))
    vars(module).update(
        AtomicReference=AtomicReference,
        Slot=Slot,
        drain=lambda: 0,
        load=Slot.load,
        compare_and_set=Slot.compare_and_set,
        initialise=Slot.initialise,
    )
    return module


def threading_module(seam: Seam) -> ModuleType:
    """A replacement for `threading`, for the code of the packages that waits by design (`get_or_create`)."""

    class Lock:
        """As a thread uses it to announce that it is at work: it takes the lock before others know of it, and lets it
        go at the end. Others only pass through it, so the end of their wait is a read.
        """

        _value = True  # it is free

        def __init__(self) -> None:
            self._name = None if seam.scheduler is None else seam.scheduler.name()

        def acquire(self) -> None:
            self._value = False

        def __enter__(self) -> None:
            if seam.scheduler is not None:
                seam.scheduler.wait(self)

        def __exit__(self, *raised: object) -> None:
            pass

        def release(self) -> None:
            if seam.before is not None:
                seam.before(self, self._value, True)
            self._value = True
            if seam.scheduler is not None:
                seam.scheduler.wake(self)

    def get_ident() -> int:
        return 0 if seam.scheduler is None else seam.scheduler.identity()

    module = ModuleType("threading")
    vars(module).update(Lock=Lock, get_ident=get_ident)
    return module
