"""What stands in for modules of the packages that wait or change shared state, in a copy to explore."""

from __future__ import annotations

import importlib
from types import ModuleType

from stress.explorer.slots import Seam, reference_class


def slot_module(seam: Seam) -> ModuleType:
    """A replacement for the module `ctrie._slot`, with slots that report to `seam`."""
    module = ModuleType("ctrie._slot")
    reference = reference_class(seam)
    slot = reference.__base__
    vars(module).update(
        vars(importlib.import_module("ctrie._slot")),
        AtomicReference=reference,
        Slot=slot,
        drain=lambda: 0,
        load=slot.load,
        compare_and_set=slot.compare_and_set,
        initialise=slot.initialise,
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
