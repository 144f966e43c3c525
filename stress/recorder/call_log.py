"""From logs of calls to operations; and a log in memory that several processes share (`CallLog`). It outlives the
process that makes the calls.

Each thread has its own part. When a call has returned, its times and its answer are appended there, and then the count
at the beginning of the part is increased. The calls themselves are not written: they follow from the seed and the
number of the batch, which are at the beginning of the log, together with what the process is doing.

What is left after a death is an ordinary history. The last call of each thread is pending in it: begun or about to
begin. A process that dies may have written over its memory before. So each entry has a checksum, the times of a thread
must follow one another, and a log is read up to the first entry that is not as it was written.
"""

from __future__ import annotations

import marshal
import multiprocessing
from collections.abc import Callable, Collection, Hashable, Sequence
from ctypes import c_char, c_longlong
from struct import Struct
from typing import Any, Final
from zlib import crc32

from stress.history import UNSEEN, Call, Operation, Raised, renumbered, steady

__all__ = ["PHASES", "CallLog", "Entry", "Plan", "operations_of"]

Plan = Sequence[Sequence[Call]]
"""The calls of one thread, round by round."""
Entry = tuple[int, int, Any]
"""The times at which a call was made and returned, and its answer."""

PHASES: Final = ("starting", "making the object", "calling it", "judging what was seen", "checking the object")
"""The activities of a process."""
_ENTRY: Final = Struct("<qqHI")
"""The times, the length of the answer, and a checksum of the times and the answer."""
_TIMES: Final = Struct("<qq")
_LONGEST: Final = 46
"""The most bytes of an answer that are kept. Of a longer answer, only its existence is recorded."""
_ROOM: Final = _ENTRY.size + _LONGEST
_PACKED: Final = frozenset({type(None), bool, int, float, str})


def operations_of(
    plans: Sequence[Plan],
    logs: Sequence[Sequence[Entry]],
    inside: Collection[int],
    answer_of: Callable[[str, Any], Hashable],
) -> tuple[Operation, ...]:
    """The operations of threads that make the calls of their plans, as far as the log of each tells. A thread that is
    `inside` a call began it at some moment after its last return. `answer_of` a name and a raw answer is the answer.
    """
    found = []
    for thread, (plan, log) in enumerate(zip(plans, logs, strict=True)):
        calls = [(op, tuple(map(steady, args))) for calls in plan for op, args in calls]
        for (op, args), (called, returned, answer) in zip(calls, log, strict=False):
            found.append(Operation(0, thread, called, returned, op, args, answer_of(op, answer)))
        if thread in inside and len(log) < len(calls):
            op, args = calls[len(log)]
            found.append(Operation(0, thread, log[-1][1] if log else -1, None, op, args, UNSEEN))
    return renumbered(found)


class CallLog:
    """The log of one process, for batches with at most `calls` calls in each of `threads` threads."""

    def __init__(self, threads: int, calls: int) -> None:
        self._room = 8 + calls * _ROOM
        self._state = multiprocessing.RawArray(c_longlong, 2)
        self._parts = [multiprocessing.RawArray(c_char, self._room) for _ in range(threads)]
        self._counts = multiprocessing.RawArray(c_longlong, threads)

    def begin(self, batch: int) -> None:
        """Begin a new batch."""
        for thread in range(len(self._parts)):
            self._counts[thread] = 0
        self._state[1] = batch

    def enter(self, phase: str) -> None:
        """Note that the process begins one of `PHASES`."""
        self._state[0] = PHASES.index(phase)

    def writer(self, thread: int, also: Callable[[Entry], object]) -> Callable[[Entry], None]:
        """A function that logs a returned call, and gives it to `also`. It takes a microsecond."""
        part, counts = memoryview(self._parts[thread]).cast("B"), self._counts
        pack, size, room, dumps, packed = _ENTRY.pack_into, _ENTRY.size, self._room, marshal.dumps, _PACKED
        times, checksum = _TIMES.pack, crc32
        at = written = 0

        def keep(entry: Entry) -> None:
            nonlocal at, written
            also(entry)
            called, returned, answer = entry
            told = dumps(answer) if type(answer) in packed else _unusual(answer)
            length = len(told)
            if length > _LONGEST:
                told, length = b"", 0
            if at + size + length > room:
                return
            pack(part, at, called, returned, length, checksum(told, checksum(times(called, returned))))
            at += size
            part[at : at + length] = told
            at += length
            written += 1
            counts[thread] = written

        return keep

    # For the first process, which reads the log.

    @property
    def batch(self) -> int:
        """The number of the batch."""
        return self._state[1]

    @property
    def phase(self) -> str:
        """What the process is doing, or was when it died."""
        number = self._state[0]
        return PHASES[number] if 0 <= number < len(PHASES) else "doing what it did not note"

    @property
    def progress(self) -> tuple[int, ...]:
        """A value that changes whenever the process makes progress."""
        return (*self._state, *self._counts)

    def operations(
        self, plans: Sequence[Plan], answer_of: Callable[[str, Any], Hashable] = lambda op, answer: answer
    ) -> tuple[Operation, ...]:
        """The operations of threads that make the calls of `plans`: `operations_of`."""
        threads = range(len(self._parts))
        return operations_of(plans, list(map(self._entries, threads)), threads, answer_of)

    def _entries(self, thread: int) -> list[Entry]:
        part, at, last, entries = bytes(self._parts[thread].raw), 0, -1, list[Entry]()
        for _ in range(min(max(self._counts[thread], 0), self._room // _ENTRY.size)):
            if at + _ENTRY.size > len(part):
                break
            called, returned, length, checksum = _ENTRY.unpack_from(part, at)
            at += _ENTRY.size
            told = part[at : at + length]
            is_whole = checksum == crc32(told, crc32(_TIMES.pack(called, returned)))
            if not (is_whole and last <= called <= returned):
                break
            entries.append((called, returned, _told(told) if length else UNSEEN))
            at, last = at + length, returned
        return entries


_RAISED: Final = b"!"  # nothing that marshal writes begins with it


def _unusual(answer: Any) -> bytes:
    if isinstance(answer, BaseException):
        return _RAISED + Raised(type(answer)).home.removeprefix("builtins.").encode()
    if type(answer) is tuple:
        try:
            return marshal.dumps(answer)
        except ValueError:
            pass
    return b""


def _told(text: bytes) -> Any:
    """The answer in an entry; `UNSEEN` if the process had lost it before it was written."""
    try:
        if not text.startswith(_RAISED):
            return marshal.loads(text)
        home = text[1:].decode()
        return Raised(home.rpartition(".")[2], home=home if "." in home else "")
    except Exception:  # noqa: BLE001 - what is garbage may raise anything
        return UNSEEN
