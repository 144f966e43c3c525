"""Histories: the operations that threads called on a shared object, with their times and answers.

A history is the evidence that a checker judges. It holds one `Operation` per call, instead of one event for the call
and one for the return, so the two cannot be paired wrongly. Times are ticks of one clock that all threads share;
only their order matters. A call at the same tick as a return counts as overlapping it. That can hide a violation, but
never makes one up.

Three kinds of operation:

* completed, with a known answer;
* completed, with an answer that was not recorded (`UNSEEN`);
* pending (`returned is None`): it may take effect at any time after its call, or never.
"""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from operator import itemgetter
from typing import Any, Final, NamedTuple

from stress.source import is_ours, module_of
from stress.values import FrozenDict, FrozenList, FrozenSet

Time = int | float
Call = tuple[str, tuple[Any, ...]]
"""A call to make: the name of a method, and its arguments."""


MAIN: Final = "main"
"""The thread that calls an object before its threads begin, and when they have ended."""


ALONE: Final = "wrong_alone"
"""In a header: the same calls are wrong if one thread makes them."""


class _Unseen(Enum):
    UNSEEN = "unseen"

    def __repr__(self) -> str:
        return "?"


UNSEEN: Final = _Unseen.UNSEEN
"""The result of an operation whose answer was not recorded: every answer is possible."""


ANSWERS: Final = (Exception, SystemExit, GeneratorExit)
"""The exceptions that count as an answer of the object. KeyboardInterrupt does not: it may be the user's Ctrl-C."""
NAN: Final = float("nan")
"""The one NaN in arguments and answers. So a NaN that was read is the one that was written, although it is not equal to
itself."""
_LONGEST: Final = 2_000


class ChangingAnswer(TypeError):
    """An answer that may change after the operation, so that it cannot be compared. The object, as it is called, cannot
    be judged."""


class HistoryError(ValueError):
    """A history that cannot be read; the message names the file, the line and what is wrong there."""

    def __init__(self, reason: str, *, source: str = "<history>", line: int = 0) -> None:
        if len(reason) > _LONGEST:  # what it quotes may be all of a large file
            reason = f"{reason[: _LONGEST // 2]} ... {reason[-_LONGEST // 4 :]}"
        self.reason, self.source, self.line = reason, source, line
        super().__init__(f"{source}:{line}: {reason}" if line else f"{source}: {reason}")


_Type: Final = type
_Class = type[BaseException]
Frames = tuple[tuple[str, int, str], ...]
"""Where an exception was raised: the file, line and function of each call, the latest last."""


@dataclass(frozen=True, eq=False)
class Raised:
    """An exception as the result of an operation. Two of them are equal when the classes of the exceptions are.

    Args:
        type: the class, or its name. A name stands for the built-in exception of that name; if there is none, for every
            class of that name.
        message: the text of the exception. It does not count.
        home: the full name of the class, if `type` does not tell it.
        frames: where it was raised.

    >>> Raised("KeyError", "'a'") == Raised(KeyError), Raised(KeyError) == Raised(ValueError)
    (True, False)
    """

    type: str
    message: str = ""
    home: str = ""
    frames: Frames = field(default=(), repr=False)

    def __init__(self, type: str | _Class, message: str = "", home: str = "", frames: Frames = ()) -> None:
        kind: Any = getattr(builtins, type, None) if isinstance(type, str) else type
        if not home and isinstance(kind, _Type) and issubclass(kind, BaseException):
            home = f"{module_of(kind)}.{kind.__qualname__}"
        name = type if isinstance(type, str) else type.__name__
        for field_name, value in (("type", name), ("message", message), ("home", home), ("frames", frames)):
            object.__setattr__(self, field_name, value)

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        """The result that represents `error`."""
        try:
            told = str(error)
        except Exception:  # noqa: BLE001 - it is the `__str__` of a user's class
            told = ""
        return cls(type(error), told, frames=_frames_of(error))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Raised):
            return NotImplemented
        return self.type == other.type and (self.home == other.home or not self.home or not other.home)

    def __hash__(self) -> int:
        return hash((Raised, self.type))

    def __repr__(self) -> str:
        return f"raised {self.type}({self.message})" if self.message else f"raised {self.type}"


_MOST_FRAMES: Final = 12


def _frames_of(error: BaseException) -> Frames:
    """Where an exception was raised, without the frames of this package; of a deep recursion, the innermost ones."""
    frames: list[tuple[str, int, str]] = []
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_ours(code.co_filename):
            frames.append((code.co_filename, traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    return tuple(frames[-_MOST_FRAMES:])


@dataclass(frozen=True)
class Opaque:
    """An object of a user's class, read back from a file: only its `repr` is known."""

    text: str

    def __repr__(self) -> str:
        return self.text


class Operation(NamedTuple):
    """One call on the shared object: `thread` called `op(*args)` at `call`, and got `result` at `returned`
    (None: pending).
    """

    id: int
    thread: int | str
    call: Time
    returned: Time | None
    op: str
    args: tuple[Hashable, ...]
    result: Hashable

    @property
    def pending(self) -> bool:
        """Whether this operation did not return: it may take effect at any later time, or never."""
        return self.returned is None

    def describe(self) -> str:
        """The call and its answer in short form: ``get('a') -> 1``."""
        call = f"{self.op}({', '.join(map(show, self.args))})"
        return f"{call} never returned" if self.pending else f"{call} -> {show(self.result)}"


def show(value: Any) -> str:
    """`value` in short form, with sets in braces and sorted.

    >>> show(frozenset({("b", 2), ("a", 1)}))
    "{('a', 1), ('b', 2)}"
    """
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(show, value))) + "}"
    if type(value) is FrozenList:
        return f"[{', '.join(map(show, value))}]"
    if type(value) is FrozenDict:
        return "{" + ", ".join(sorted(f"{show(key)}: {show(item)}" for key, item in value.items())) + "}"
    if isinstance(value, tuple) and type(value) is tuple:
        return f"({', '.join(map(show, value))}{',' * (len(value) == 1)})"
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - it is the repr of a user's class
        return f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"


def shortened(text: str, most: int) -> str:
    """The text, or as much of it as fits."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


@dataclass(frozen=True, repr=False)
class History:
    """Operations in the order of their calls. `header` tells their origin.

    Keys of `header` that this package writes and reads: `spec` (name), `initial` (start state), `clock`,
    `python`, `gil`, `switch_interval`, `seed`, `threads`, `workload`. All are optional.
    """

    operations: tuple[Operation, ...]
    header: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<History of {len(self)} operations>"

    def __len__(self) -> int:
        return len(self.operations)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations)

    @property
    def overlap(self) -> float:
        """The share of operations, from 0 to 1, that ran while an operation of another thread was running.

        A stress run whose operations never overlapped has tested nothing.
        """
        return len(overlapping(self.operations)) / len(self.operations) if self.operations else 0.0


def of_one_thread(operations: Iterable[Operation]) -> bool:
    """Whether at most one thread made the calls, beside those at the start and at the end."""
    return len({each.thread for each in operations} - {MAIN}) < 2


def overlapping(operations: Iterable[Operation]) -> set[int]:
    """The ids of the operations that ran while another thread's operation was running. O(n log n)."""
    ordered = sorted(operations, key=lambda operation: operation.call)
    found: set[int] = set()
    latest, its_end = -1, float("-inf")  # of the operations so far, the one that runs longest
    for operation in ordered:
        if operation.call <= its_end:
            found |= {latest, operation.id}
        end = float("inf") if operation.returned is None else operation.returned
        if end > its_end:
            latest, its_end = operation.id, end
    return found


def calls_and_returns(operations: Sequence[Operation]) -> list[tuple[bool, Operation]]:
    """Each call, and each return as (True, operation), by time; at the same tick, calls come first. O(n log n)."""
    events = [(each.call, False, each) for each in operations]
    events += [(each.returned, True, each) for each in operations if each.returned is not None]
    return [event[1:] for event in sorted(events, key=itemgetter(0, 1))]


def refuse_other_things(operations: Iterable[Any]) -> None:
    """What a history is made of is operations, whose arguments and answers can be told apart. O(n).

    Raises:
        HistoryError: one is something else, or is not hashable.
    """
    for each in operations:
        if not isinstance(each, Operation):
            raise HistoryError(f"a history is made of stress.Operation, not {type(each).__name__}: {each!r}")
        try:
            hash((each.args, each.result))
        except TypeError:
            raise HistoryError(
                f"arguments and answers must be hashable (stress.freeze makes them so): {each.describe()}"
            ) from None


def refuse_two_at_once(operations: Iterable[Operation], source: str = "<history>") -> None:
    """Refuse a history in which a thread begins a call during another one. (Pending operations are exempt: the thread
    may have given them up.) O(n log n).

    Raises:
        HistoryError: a thread is in two calls at once.
    """
    latest: dict[int | str, Operation] = {}
    for operation in sorted(operations, key=lambda each: (each.call, each.returned or each.call)):
        before = latest.get(operation.thread)
        if before is not None and before.returned is not None and operation.call < before.returned:
            raise HistoryError(
                f"thread {operation.thread!r} is in two calls at once: {before.describe()}, from {before.call} to "
                f"{before.returned}, and {operation.describe()}, called at {operation.call}",
                source=source,
            )
        latest[operation.thread] = operation


_ATOMS: Final = frozenset({type(None), bool, int, float, str, bytes, Raised, Opaque})


def freeze(value: Any) -> Hashable:
    """An immutable value equal to `value`, for later comparison, which is shown like it (`stress.values`).

    Raises:
        ChangingAnswer: `value` is, or contains, a live view, an iterator or another object that may change after
        the operation.

    >>> freeze([1, {"a": 2}]), freeze([1, {"a": 2}]) == (1, {"a": 2}), {freeze([1])}
    ([1, {'a': 2}], True, {[1]})
    """
    if type(value) in _ATOMS:
        return steady(value)  # type: ignore[no-any-return]
    if isinstance(value, BaseException):
        return Raised.of(value)
    if isinstance(value, (list, tuple)):
        return (FrozenList if isinstance(value, (list, FrozenList)) else tuple)(map(freeze, value))
    if isinstance(value, (set, frozenset)):
        return (FrozenSet if isinstance(value, (set, FrozenSet)) else frozenset)(map(freeze, value))
    if isinstance(value, Mapping):
        return FrozenDict((freeze(key), freeze(item)) for key, item in value.items())
    return _unchanging(value)


def steady(value: Any) -> Any:
    """An argument of a call: `NAN` for a NaN, lists, dictionaries and sets frozen, everything else as it is."""
    kind = type(value)
    if kind is float:
        return NAN if value != value else value
    if kind is tuple:
        return tuple(map(steady, value))
    if kind is list:
        return FrozenList(map(steady, value))
    if kind is dict:
        return FrozenDict((steady(key), steady(item)) for key, item in value.items())
    return FrozenSet(value) if kind is set else value


def _unchanging(value: Any) -> Hashable:
    if isinstance(value, Awaitable):
        raise ChangingAnswer(f"a result of type {type(value).__name__} is no answer yet: let the operation wait for it")
    if isinstance(value, Iterator) or type(value).__name__ in {"dict_keys", "dict_values", "dict_items"}:
        raise ChangingAnswer(
            f"a result of type {type(value).__name__} is read when the round is over, and may have changed "
            "by then: let the operation answer with a list, tuple or frozenset made from it"
        )
    try:
        hash(value)
    except TypeError:
        raise ChangingAnswer(
            f"a result of type {type(value).__name__} may change after the operation: let it answer with "
            "an immutable copy"
        ) from None
    return value  # type: ignore[no-any-return]


def renumbered(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """The operations in the order of their calls, with ids 0, 1, 2, ..."""
    ordered = sorted(operations, key=lambda operation: operation.call)
    return tuple(operation._replace(id=number) for number, operation in enumerate(ordered))


def until(operations: Iterable[Operation], moment: Time) -> list[Operation]:
    """The history as known at `moment`: later calls are removed, and operations that returned later are pending."""
    return [
        each if each.returned is not None and each.returned <= moment else each._replace(returned=None, result=UNSEEN)
        for each in operations
        if each.call <= moment
    ]
