"""Counters that several processes add to while another one watches.

They lie in shared memory. With the `atomics` package an addition is one atomic instruction; without it, each
counter has a lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.shared_memory import SharedMemory
from multiprocessing.synchronize import Lock
from typing import Any, Final

__all__ = ["NAMES", "Counters"]

NAMES: Final = ("rounds", "operations", "overlapping", "undecided", "stop")
_WIDTH: Final = 8


class Counters:
    """One counter for each of `names`, at 0. Make it in one process, hand it to others, `close` it in the
    first.

    >>> counters = Counters()
    >>> counters.add("rounds", 3); counters.add("rounds", 2)
    >>> counters.value("rounds")
    5
    >>> counters.close()
    """

    def __init__(
        self, names: Sequence[str] = NAMES, memory: str | None = None, locks: Sequence[Lock] | None = None
    ) -> None:
        self.names, self._owner = tuple(names), memory is None
        self._memory = SharedMemory(name=memory, create=self._owner, size=_WIDTH * len(self.names))
        self._atomics: Any = None
        if find_spec("atomics") is not None:
            import atomics

            self._atomics = atomics
        context = get_context()
        self._locks: Sequence[Lock] = locks or [context.Lock() for _ in self.names]

    def __reduce__(self) -> tuple[Any, ...]:
        return Counters, (self.names, self._memory.name, self._locks)

    def add(self, name: str, amount: int) -> None:
        """Add `amount` to the counter `name`; nothing that another process adds meanwhile is lost."""
        cell = self._cell(name)
        if self._atomics is not None:
            with self._atomics.atomicview(buffer=cell, atype=self._atomics.INT) as view:
                view.add(amount)
            return
        with self._locks[self.names.index(name)]:
            cell[:] = (int.from_bytes(cell, "little") + amount).to_bytes(_WIDTH, "little")

    def value(self, name: str) -> int:
        """The counter `name` now."""
        return int.from_bytes(self._cell(name), "little")

    def _cell(self, name: str) -> memoryview:
        at = self.names.index(name) * _WIDTH
        memory: Any = self._memory.buf
        return memory[at : at + _WIDTH]  # type: ignore[no-any-return]

    def close(self) -> None:
        """Let go of the shared memory; whoever made it also removes it."""
        self._memory.close()
        if self._owner:
            self._memory.unlink()
            self._owner = False
