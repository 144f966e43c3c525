"""A log of calls in memory that several processes share, so that it outlives the process that makes them.

Each thread has a part of its own. When a call has returned, its times and its answer are appended there, and then the
count at the beginning of the part goes up. The calls themselves are not written: they follow from the seed and the
number of the batch, which stand at the beginning of the log together with what the process is doing.

What is left after a death is a history like any other. The last call of each thread is pending in it: begun or about to
begin.
"""

from __future__ import annotations

import marshal
import multiprocessing
from collections.abc import Callable, Sequence
from ctypes import c_char, c_longlong
from struct import Struct
from typing import Any, Final

from stress.history import UNSEEN, Call, Operation, Raised, renumbered

__all__ = ["PHASES", "CallLog"]

PHASES: Final = ("starting", "making the object", "calling it", "judging what was seen", "checking the object")
"""What a process may be doing."""
_ENTRY: Final = Struct("<qqH")
_LONGEST: Final = 46
"""Bytes of an answer that are kept; of longer ones it is known only that there was one."""
_ROOM: Final = _ENTRY.size + _LONGEST
_PACKED: Final = frozenset({type(None), bool, int, float, str})

Keep = Callable[[int, int, Any], None]


class CallLog:
    """The log of one process, for batches of at most so many `calls` in each of so many `threads`."""

    def __init__(self, threads: int, calls: int) -> None:
        self._room = 8 + calls * _ROOM
        self._state = multiprocessing.RawArray(c_longlong, 2)
        self._parts = [multiprocessing.RawArray(c_char, self._room) for _ in range(threads)]
        self._counts = multiprocessing.RawArray(c_longlong, threads)

    def begin(self, batch: int) -> None:
        """A new batch begins."""
        for thread in range(len(self._parts)):
            self._counts[thread] = 0
        self._state[1] = batch

    def enter(self, phase: str) -> None:
        """The process begins with one of `PHASES`."""
        self._state[0] = PHASES.index(phase)

    def writer(self, thread: int) -> Keep:
        """What a thread calls when a call has returned, with its times and its answer. Takes half a microsecond."""
        part, counts = memoryview(self._parts[thread]).cast("B"), self._counts
        pack, size, room, dumps, packed = _ENTRY.pack_into, _ENTRY.size, self._room, marshal.dumps, _PACKED
        at = written = 0

        def keep(called: int, returned: int, answer: Any) -> None:
            nonlocal at, written
            kind = type(answer)
            told = dumps(answer) if kind in packed else _unusual(answer)
            length = len(told)
            if length > _LONGEST:
                told, length = b"", 0
            if at + size + length > room:
                return
            pack(part, at, called, returned, length)
            at += size
            part[at : at + length] = told
            at += length
            written += 1
            counts[thread] = written

        return keep

    # What the first process reads.

    @property
    def batch(self) -> int:
        """The number of the batch."""
        return self._state[1]

    @property
    def phase(self) -> str:
        """What the process is doing, or was when it died."""
        return PHASES[self._state[0]]

    @property
    def progress(self) -> tuple[int, ...]:
        """Something that changes whenever the process gets further."""
        return (*self._state, *self._counts)

    def operations(self, plans: Sequence[Sequence[Sequence[Call]]]) -> tuple[Operation, ...]:
        """What the threads saw that make these calls, round by round."""
        found = []
        for thread, plan in enumerate(plans):
            calls = [call for calls in plan for call in calls]
            entries = self._entries(thread)
            for (op, args), (called, returned, answer) in zip(calls, entries, strict=False):
                found.append(Operation(0, thread, called, returned, op, args, answer))
            if len(entries) < len(calls):
                op, args = calls[len(entries)]
                found.append(Operation(0, thread, entries[-1][1] if entries else -1, None, op, args, UNSEEN))
        return renumbered(found)

    def _entries(self, thread: int) -> list[tuple[int, int, Any]]:
        part, at, entries = bytes(self._parts[thread].raw), 0, []
        for _ in range(self._counts[thread]):
            called, returned, length = _ENTRY.unpack_from(part, at)
            at += _ENTRY.size
            entries.append((called, returned, _told(part[at : at + length]) if length else UNSEEN))
            at += length
        return entries


_RAISED: Final = b"!"  # with which nothing begins that marshal writes


def _unusual(answer: Any) -> bytes:
    if isinstance(answer, BaseException):
        return _RAISED + type(answer).__name__.encode()
    if type(answer) is tuple:
        try:
            return marshal.dumps(answer)
        except ValueError:
            pass
    return b""


def _told(text: bytes) -> Any:
    return Raised(text[1:].decode()) if text.startswith(_RAISED) else marshal.loads(text)
