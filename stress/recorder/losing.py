"""Whether a lost change would have been seen: evidence that a right verdict says something where all answers are alike.

The total of all accounts is the same after every transfer, so no answer depends on what was called before, and still a
transfer that is lost by half would be told. So a few calls are made by one thread, on fresh objects, and after one of
them a single one of its changes is taken back: of an attribute, a container or the like. If then an answer is one that
the specification does not allow, or a call does not return, a fault of that kind would have been found.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import CellType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final

from stress.answers import attributes_of
from stress.checker.check import Budget, check
from stress.explorer.kinds import Kind, kind_of
from stress.history import ANSWERS, Call, History, Operation, freeze
from stress.rest import rest_of
from stress.source import is_ours
from stress.spec import Spec
from stress.values import fresh
from stress.verdicts import Verdict

__all__ = ["make_only_what_is_wanted_first", "would_tell_of_a_lost_change"]

_CALLS: Final = 12
"""Calls that are made on each object."""
_TRIALS: Final = 150
_SECONDS: Final = 3.0
_PATIENCE: Final = 0.2
"""Seconds after which a call waits if its thread sleeps, ..."""
_STARVED: Final = 10.0
"""... and in which a thread that is busy must come to its end."""
_LOOKS: Final = 4
_MOST: Final = 2_000
"""Objects that are looked at, as parts of the one under test."""
_LINES: Final = 5_000
"""Lines of Python after which calls count as endless."""
_BUDGET: Final = Budget(steps=20_000, seconds=0.5)
_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes})
_ABSENT: Final = object()
Parts = dict[int, tuple[Any, Any]]
"""The parts of an object by their identities, each with what it holds."""


def would_tell_of_a_lost_change(make: Callable[[], Any], calls: Sequence[Call], spec: Spec) -> bool:
    """Whether the answers to the first of these calls would be refused if one of their changes were lost. Nothing is
    known, so the answer is False, if they wait or are refused as they are, or take too long.
    """
    calls, until, trials = calls[:_CALLS], time.monotonic() + _SECONDS, 0
    one, other = make(), make()
    trial = _Trial(make, calls, spec, frozenset(_picture(one, ())) & frozenset(_picture(other, ())))
    if trial.is_refused(None) is not False:
        return False
    for at in (None, *range(len(calls))):
        number = 0
        while trials < _TRIALS and time.monotonic() < until:
            lost = _Lost(at, number)
            trials += 1
            is_refused = trial.is_refused(lost)
            if is_refused is not False:
                return bool(is_refused)
            if lost.is_beyond:
                break
            number += 1
    return False


def make_only_what_is_wanted_first(make: Callable[[], Any], calls: Sequence[Call], spec: Spec) -> bool:
    """Whether an object consists of parts that are understood, of which only its first call changes any, and then all
    calls answer something: what the first of them has made, for instance, which others could get half made.
    """
    try:
        subject = make()
        answers, before = [], _picture(subject, ())
        for at, (op, args) in enumerate(calls[:_CALLS]):
            answers.append(spec.normalise(op, getattr(subject, op)(*fresh(args))))
            now = _picture(subject, ())
            if at and (now.keys() != before.keys() or any(_changes(before, now))):
                return False
            before = now
    except Exception:  # noqa: BLE001 - an answer that is an exception may depend on anything
        return False
    return None not in answers and not any(kind_of(type(each)) in _UNKNOWN for each, _ in before.values())


_UNKNOWN: Final = (Kind.FOREIGN, Kind.ITERATOR, Kind.GENERATOR)


class _Lost:
    """Change number `number` of those that a call makes, to be taken back when the line is done that makes it: of call
    number `at`, or of each.
    """

    def __init__(self, at: int | None, number: int) -> None:
        self._at, self._number = at, number
        self._left = 0
        self._subject: Any = None
        self._shared: Collection[int] = ()
        self._before: Parts = {}
        self._looks = False
        self.is_beyond = True
        """Whether no call makes so many changes."""

    def begin(self, subject: Any, at: int, shared: Collection[int]) -> None:
        """Call number `at` begins."""
        if self._at is None or at == self._at:
            self._subject, self._shared, self._looks, self._left = subject, shared, True, self._number
            self._before = _picture(subject, shared)

    def look(self) -> None:
        """A line has been passed."""
        if not self._looks:
            return
        now = _picture(self._subject, self._shared)
        for undo in _changes(self._before, now):
            if not self._left:
                self._looks = self.is_beyond = False
                undo()
                return
            self._left -= 1
        self._before = now

    def end(self) -> None:
        """The call has returned."""
        self.look()
        self._looks = False


class _Endless(BaseException):
    """The calls do not come to an end."""


@dataclass
class _Trial:
    """Calls that one thread makes on fresh objects. `shared` are the parts that all objects have, which lose nothing:
    what is wrong with them, later objects would inherit.
    """

    make: Callable[[], Any]
    calls: Sequence[Call]
    spec: Spec
    shared: Collection[int]

    def is_refused(self, lost: _Lost | None) -> bool | None:
        """Whether the specification refuses the answers, or some call does not return; None if nobody knows."""
        operations: list[Operation] = []
        raised: list[BaseException] = []

        def work() -> None:
            sys.settrace(_traced(lost))
            try:
                operations.extend(self._made(lost))
            except BaseException as error:  # noqa: BLE001 - looked at below
                raised.append(error)
            finally:
                sys.settrace(None)

        thread = threading.Thread(target=work, daemon=True, name="stress-losing")
        thread.start()
        until = time.monotonic() + _STARVED
        thread.join(_PATIENCE)
        while thread.is_alive():
            if _sleeps(thread):
                return True
            if time.monotonic() > until:
                return None
        if raised:
            return True if type(raised[0]) is _Endless else None
        return check(History(tuple(operations)), self.spec, budget=_BUDGET).verdict is Verdict.ILLEGAL

    def _made(self, lost: _Lost | None) -> Iterator[Operation]:
        subject, spec = self.make(), self.spec
        for at, (op, args) in enumerate(self.calls):
            if lost is not None:
                lost.begin(subject, at, self.shared)
            try:
                answer = spec.normalise(op, getattr(subject, op)(*fresh(args)))
            except ANSWERS as error:
                answer = freeze(error)
            yield Operation(at, 0, 2 * at, 2 * at + 1, op, args, answer)
            if lost is not None:
                lost.end()


def _sleeps(thread: threading.Thread) -> bool:
    """Whether a thread waits, and does not only take long."""
    for _ in range(_LOOKS):
        thread.join(_PATIENCE / _LOOKS)
        if not thread.is_alive() or not rest_of(thread.native_id)[0]:
            return False
    return True


def _traced(lost: _Lost | None) -> Any:
    """A trace function that lets a change be lost, and ends calls which go round and round."""
    lines = 0

    def trace(frame: FrameType, _: str, __: Any) -> Any:
        nonlocal lines
        if is_ours(frame.f_code.co_filename) or frame.f_code.co_filename == threading.__file__:
            return None
        lines += 1
        if lines > _LINES:
            raise _Endless
        if lost is not None:
            lost.look()
        return trace

    return trace


def _picture(subject: Any, shared: Collection[int]) -> Parts:
    """The parts of an object but those `shared`, each with what it holds, or `_ABSENT` if that cannot be put back."""
    found: Parts = {}
    waiting, seen = [subject], {id(subject), *shared}
    while waiting and len(found) < _MOST:
        each = waiting.pop(0)
        found[id(each)] = each, _content(each)
        behind = each.__closure__ or () if type(each) is FunctionType else gc.get_referents(each)
        for part in behind:
            if type(part) not in _ATOMS and id(part) not in seen and not _is_outside(part):
                seen.add(id(part))
                waiting.append(part)
    return found


def _is_outside(part: Any) -> bool:
    """Whether something is no part of an object; nor are locks and caches of functions, which lose nothing."""
    of = type(part)
    return (
        issubclass(of, (type, ModuleType, CodeType, FrameType))
        or of.__module__ in _OF_THREADS
        or kind_of(of) is Kind.CACHE
    )


_OF_THREADS: Final = frozenset({"threading", "_thread"})


def _content(each: Any) -> Any:
    """What an object holds; `_ABSENT` if that cannot be put back."""
    if issubclass(type(each), dict):
        return dict(each)
    if issubclass(type(each), (list, deque)):
        return list(each)
    if issubclass(type(each), set):
        return set(each)
    if issubclass(type(each), (bytearray, array)):
        return each[:]
    if type(each) is CellType:
        return _of_cell(each)
    if hasattr(type(each), "compare_and_set") and hasattr(type(each), "load"):
        return each.load()
    return dict(attributes_of(each)) or _ABSENT


def _of_cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _ABSENT


def _changes(before: Parts, now: Parts) -> Iterator[Callable[[], object]]:
    """Functions each of which takes back a change between two pictures."""
    for each, old in before.values():
        if old is not _ABSENT:
            yield from _undoing(each, old, now[id(each)][1] if id(each) in now else _content(each))


def _undoing(each: Any, old: Any, new: Any) -> Iterator[Callable[[], object]]:
    """Functions each of which takes one change back, or half of it where one value takes the place of another."""
    if issubclass(type(each), dict):
        for key in (*old, *(key for key in new if key not in old)):
            values = old.get(key, _ABSENT), new.get(key, _ABSENT)
            if values[0] is not values[1]:
                yield from (partial(_put, each, key, value) for value in _lost(*values))
    elif issubclass(type(each), (list, deque)):
        kind: Any = list if issubclass(type(each), list) else deque
        differing = [at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one is not other]
        if differing or len(old) != len(new):
            yield partial(_fill, each, kind.clear, kind.extend, old)
        for at in differing:
            yield from (partial(kind.__setitem__, each, at, value) for value in _lost(old[at], new[at]))
    elif issubclass(type(each), set):
        if old != new:
            yield partial(_fill, each, set.clear, set.update, old)
    elif issubclass(type(each), (bytearray, array)):
        if old != new and len(old) == len(new):
            yield partial(each.__setitem__, slice(None), old)
    elif type(each) is CellType:
        if old is not new and old is not _ABSENT:
            yield from (partial(setattr, each, "cell_contents", value) for value in _lost(old, new))
    elif hasattr(type(each), "compare_and_set"):
        if old is not new:
            yield from (partial(each.compare_and_set, new, value) for value in _lost(old, new))
    else:
        for name in {} if new is _ABSENT else new:
            before = old.get(name, _ABSENT)
            if before is not new[name]:
                yield from (partial(_set, each, name, value) for value in _lost(before, new[name]))


def _lost(old: Any, new: Any) -> Iterator[Any]:
    """What is there if a change is lost: the old value, or a new one with an item of the old one."""
    yield old
    kind = type(new)
    if type(old) is not kind or kind not in (tuple, list, dict) or len(old) != len(new):
        return
    if kind is dict:
        differing = [key for key in new if key in old and old[key] is not new[key]]
        if len(differing) > 1:
            yield {**new, differing[0]: old[differing[0]]}
        return
    at = next((at for at, (one, other) in enumerate(zip(old, new, strict=True)) if one is not other), len(new))
    if at < len(new) - 1:
        yield kind((*new[:at], old[at], *new[at + 1 :]))


def _put(owner: dict[Any, Any], key: Any, value: Any) -> None:
    if value is _ABSENT:
        dict.__delitem__(owner, key)
    else:
        dict.__setitem__(owner, key, value)


def _fill(owner: Any, clear: Callable[[Any], object], fill: Callable[[Any, Any], object], items: Any) -> None:
    clear(owner)
    fill(owner, items)


def _set(owner: Any, name: str, value: Any) -> None:
    if value is _ABSENT:
        object.__delattr__(owner, name)
    else:
        object.__setattr__(owner, name, value)
