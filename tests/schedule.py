"""Deterministic tests of the tries: keys on exact paths, a thread switch at an exact access, and known faults. Scenarios
are explored elsewhere (`tests/every_schedule.py`).

`load_twin()` imports a private copy of the interpreted twin, whichever twin the test process runs, on a slot of its own
that calls a hook before every access. Since no operation waits for another, a second thread that runs while the first
is held at an access is simply a call from that hook. So no real thread is needed, nothing depends on chance, and a
failing schedule is named by the operations and the numbers of accesses.

`load_twin(fault)` imports a copy with a fault in its source. A test that passes on that copy does not test for the
fault.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from stress.explorer.slots import Seam
from stress.tries.hashes import on_path, unmix
from stress.tries.source_copy import Change as Fault
from stress.tries.source_copy import import_privately, interpreted_twin
from stress.tries.stand_ins import slot_module

__all__ = [
    "LIVELOCK",
    "Fault",
    "Key",
    "Livelock",
    "Schedule",
    "Switched",
    "Twin",
    "Watch",
    "hash_of",
    "key",
    "load_twin",
    "unmix",
]

LIVELOCK = 100_000  # accesses; an operation of these tests needs less than a tenth of it, unless it loops


# -------------------------------------------------------------------------------------------------- keys on exact paths


class Key(NamedTuple):
    """A key whose mixed hash is `hash`, for tries made with `hash=hash_of`."""

    name: str
    hash: int

    def __repr__(self) -> str:
        return self.name


def key(name: str, *groups: int) -> Key:
    """Return a key that takes branch `groups[0]` at the root, `groups[1]` one level below it, and so on, then 0."""
    return Key(name, on_path(*groups))


def hash_of(key: Key) -> int:
    return unmix(key.hash)


# ------------------------------------------------------------------------------------------------ switches at accesses


class Livelock(AssertionError):
    """An operation made so many accesses that it must be in an endless loop."""


class Suspended(BaseException):
    """Ends an operation in the middle, as if its thread never ran again."""


class Watch:
    """The accesses of one call. `number` counts them; a change is a compare-and-set that succeeds."""

    def __init__(self) -> None:
        self.number = 0
        self.touched: set[object] = set()
        self.changed: set[object] = set()

    def access(self, slot: object) -> None:
        self.number += 1
        if self.number > LIVELOCK:
            raise Livelock(f"{LIVELOCK} accesses, and no end")
        self.touched.add(slot)

    def change(self, slot: object) -> None:
        self.changed.add(slot)


class Switches(Watch):
    """Makes each call in `calls` just before the access with its number. `next` becomes the next access at which the
    last call, made later, could have another effect."""

    def __init__(self, schedule: Schedule, calls: Mapping[int, Callable[[], Any]]) -> None:
        super().__init__()
        self._schedule = schedule
        self._calls = calls
        self._last = Watch()
        self.results: list[Any] = []
        self.next: int | None = None

    def access(self, slot: object) -> None:
        super().access(slot)
        if self.number in self._calls:
            self._last = Watch()
            self.results.append(self._schedule.watched(self._last, self._calls[self.number]))
            self.next = None
        if slot in self._last.changed:
            self._conflict()

    def change(self, slot: object) -> None:
        if slot in self._last.touched:
            self._conflict()

    def _conflict(self) -> None:
        if self.next is None:
            self.next = self.number + 1


class Suspension(Watch):
    def __init__(self, after_change: int) -> None:
        super().__init__()
        self._changes_left = after_change

    def change(self, slot: object) -> None:
        super().change(slot)
        self._changes_left -= 1
        if self._changes_left == 0:
            raise Suspended


class Interference(Watch):
    def __init__(self, schedule: Schedule, other: Callable[[int], Any]) -> None:
        super().__init__()
        self._schedule = schedule
        self._other = other

    def access(self, slot: object) -> None:
        super().access(slot)
        self._schedule.watched(Watch(), lambda: self._other(self.number))


class Switched(NamedTuple):
    first: Any  # result
    others: list[Any]  # results
    next: int | None  # the next access at which to try the last switch; None if no later one can make a difference


class _WatchOfThread(threading.local):
    watch: Watch | None = None


class Schedule:
    """Runs operations on the slots of one twin with other operations in between."""

    def __init__(self) -> None:
        self._of_thread = _WatchOfThread()

    def access(self, slot: object, *_: object) -> None:
        """Called by every slot before it is read or changed."""
        watch = self._of_thread.watch
        if watch is not None:
            watch.access(slot)

    def change(self, slot: object) -> None:
        """Called by every slot after it has been changed."""
        watch = self._of_thread.watch
        if watch is not None:
            watch.change(slot)

    def watched(self, watch: Watch, operation: Callable[[], Any]) -> Any:
        outer, self._of_thread.watch = self._of_thread.watch, watch
        try:
            return operation()
        finally:
            self._of_thread.watch = outer

    def count(self, operation: Callable[[], Any]) -> int:
        """Run `operation` undisturbed and return how many accesses it made."""
        watch = Watch()
        self.watched(watch, operation)
        return watch.number

    def switch(self, first: Callable[[], Any], others: Mapping[int, Callable[[], Any]]) -> Switched:
        """Run `first`. For every k in `others`, hold it before its access number k while another thread runs
        `others[k]`.

        For the last k, there is no need to try the values up to the result's `next`: they would only swap accesses to
        different slots, or reads, so every operation would read what it read this time. LookupError if `first` ends
        before it has made k accesses.
        """
        switches = Switches(self, others)
        result = self.watched(switches, first)
        if len(switches.results) < len(others):
            raise LookupError(f"there is no access number {max(others)}")
        return Switched(result, switches.results, switches.next)

    def suspend(self, operation: Callable[[], Any], after_change: int) -> bool:
        """Run `operation` until it has changed slots `after_change` times, and never any further.

        Return whether it made that many changes; otherwise it has ended. (A suspension between two changes would leave
        the same behind as one right after the first change.)
        """
        suspension = Suspension(after_change)
        try:
            self.watched(suspension, operation)
        except Suspended:
            return True
        else:
            return False
        finally:
            outer = self._of_thread.watch
            if outer is not None:
                outer.touched |= suspension.touched
                outer.changed |= suspension.changed

    def interfere(self, operation: Callable[[], Any], other: Callable[[int], Any]) -> Any:
        """Run `operation`; before its k-th access call `other(k)`, for every k. Return the operation's result."""
        return self.watched(Interference(self, other), operation)


# ------------------------------------------------------------------------------------------------- private copies


class Twin:
    """A private copy of the interpreted packages. `modules` has them by name."""

    def __init__(self, modules: dict[str, ModuleType], schedule: Schedule) -> None:
        self.modules = modules
        self.schedule = schedule
        self.nodes: Any = modules["ctrie._nodes"]
        self.Ctrie: Any = modules["ctrie"].Ctrie
        self.CtrieSet: Any = modules["ctrie"].CtrieSet


@functools.cache
def load_twin(fault: Fault | None = None, packages: Sequence[str] = ("ctrie",)) -> Twin:
    """Import a private copy of `packages` from their sources, with `fault` in them if one is given."""
    schedule, seam = Schedule(), Seam(takes_back=False)
    seam.before, seam.after = schedule.access, schedule.change
    ours = {"ctrie._slot": slot_module(seam), "ctrie._build_choice": interpreted_twin()}
    return Twin(import_privately(packages, ours, [] if fault is None else [fault]), schedule)
