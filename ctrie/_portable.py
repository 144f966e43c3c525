"""The portable body of the slot, without C code of ours: for interpreters with a GIL, if nothing could be compiled.

The slot is an atomic 64-bit *ticket* (from the `atomics` package), and a table maps tickets to objects. No ticket is
used twice, so a compare-and-set of tickets has no ABA problem. A thread that does not find its ticket in the table
knows that the slot has changed.
"""

import itertools
from reprlib import recursive_repr
from types import GenericAlias
from typing import Any, NoReturn, Self

import atomics

_tickets = itertools.count(1)  # next() is atomic under the GIL


class Slot:
    """The one kind of place that several threads may change; see `ctrie._native.Slot` for the compiled one."""

    __slots__ = ("_objects", "_ticket")

    def __new__(cls, *_: object, **__: object) -> Self:
        slot = object.__new__(cls)
        slot._ticket = atomics.atomic(width=8, atype=atomics.UINT)
        slot._objects = {}
        slot.initialise(None)
        return slot

    _ticket: Any
    _objects: dict[int, object]

    def initialise(self, value: object) -> None:
        ticket = next(_tickets)
        self._objects = {ticket: value}
        self._ticket.store(ticket)

    def load(self) -> Any:
        while True:
            try:
                return self._objects[self._present()]
            except KeyError:
                continue  # progress: the ticket was replaced between the two reads, so another thread succeeded

    def _present(self) -> int:
        try:
            return self._ticket.load()  # type: ignore[no-any-return]
        except ValueError:
            # The collector is finalising a cycle that contains this slot, and has already finalised the ticket. Only
            # the collector's thread can be here, in a finalizer.
            return next(iter(self._objects))

    def _swing(self, ticket: int, new: int) -> bool:
        try:
            return self._ticket.cmpxchg_strong(ticket, new).success  # type: ignore[no-any-return]
        except ValueError:
            return True  # as in _present

    def compare_and_set(self, expected: object, desired: object) -> bool:
        new = next(_tickets)
        while True:
            ticket = self._present()
            try:
                if self._objects[ticket] is not expected:
                    return False
            except KeyError:
                continue  # as in load
            self._objects[new] = desired
            # Success: `desired` is the value, and the slot will never hold `ticket` again.
            if self._swing(ticket, new):
                del self._objects[ticket]
                return True
            del self._objects[new]  # another thread won, perhaps with the same object: look again


class AtomicReference:
    """A reference to any object that threads read and replace atomically. `ctrie._native` documents it."""

    __slots__ = ("__weakref__", "_slot")
    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(self, value: object = None) -> None:
        self._slot = Slot()
        self._slot.initialise(value)

    def load(self) -> Any:
        return self._slot.load()

    def compare_and_set(self, expected: object, desired: object) -> bool:
        return self._slot.compare_and_set(expected, desired)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an AtomicReference is shared, not copied or pickled: make another one, AtomicReference(ref.load())"
        )

    @recursive_repr("AtomicReference(...)")
    def __repr__(self) -> str:
        return f"AtomicReference({self.load()!r})"


def drain() -> int:
    """Return 0: a replaced value is dropped at once, so nothing waits for release."""
    return 0
