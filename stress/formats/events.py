"""Converts events, as other tools record them, to operations.

Those tools write one event when a process invokes an operation, and another when it learns the result:

* `ok`: the operation took effect, and this is its answer;
* `fail`: it did not happen, so the operation is dropped. A failed `cas` of a jepsen log is different: it is a completed
  compare-and-set that answered false, whatever its value, unless an error follows that value;
* `info`, or no second event: unknown. The operation is pending for ever.

The order of the events is the order of the lines; it serves as the clock. A process does one thing at a time; after an
`info` it may continue as if it were another process. An `info` of a process without a running operation is not about
the object. Nor is an event of a process with a name (`:nemesis`) whose `:f` is not an operation of the object. A value
that cannot be read matters only where it is needed.

A history covers several objects if its events have a `:key`, or if their values are pairs of a key and a value, as in
jepsen's independent tests.

A read that completes with nil says nothing in an EDN history (as in Knossos, whose models accept it in any state). In a
log of jepsen, nil is a value.

A specification says what an object does. How a tool writes down the calls of such an object is a matter of its format:
one reader is for all kinds of objects, with a word about those that are written in a way of their own, and another for
transactions.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from stress.alike import alike
from stress.by_key import PerKey
from stress.formats.edn import EdnMap, KeyedPair, Name, Unreadable, plain, read_edn
from stress.history import UNSEEN, History, HistoryError, Operation, renumbered
from stress.spec import Spec, arity
from stress.specs.map import VALUELESS, Map
from stress.specs.registers import KeyValue, MultiRegister, Register

_TYPES: Final = frozenset({"invoke", "ok", "fail", "info"})


@dataclass(frozen=True)
class Event:
    """One event: on `line`, `process` has an event of `type` for operation `f`. `value` and `key` are `UNSEEN` if it
    has none; `erred` means that a log reports an error after the value.
    """

    line: int
    process: Hashable
    type: str
    f: str
    value: Any = UNSEEN
    key: Any = UNSEEN
    erred: bool = False


LOG_LINE: Final = re.compile(
    r"(?>.*?jepsen\.util)\S*+\s++(?:-\s++)?(?P<process>\S+)\s+:(?P<type>\w+)\s+:(?P<f>\S+)(?P<value>.*)"
)
"""An event in a log of jepsen: ``INFO  jepsen.util - 3  :invoke  :read  nil``."""

HISTORY_LINE: Final = re.compile(
    r"\s*(?P<process>\d+|:\S+)\s+:(?P<type>invoke|ok|fail|info)\s+:(?P<f>\S+)(?P<value>.*)"
)
"""An event in the `history.txt` that jepsen writes: the same, without the prefix of a logger."""


def log_events(text: str, shape: re.Pattern[str]) -> Iterator[Event]:
    """The events of a jepsen log, one on each line, matched by `shape`. Other lines are skipped."""
    for number, line in enumerate(text.splitlines(), start=1):
        match = shape.match(line)
        if match is None or match["type"] not in _TYPES:
            continue
        values: list[Any] = []
        try:
            values += (value for _, value in read_edn(match["value"]))
        except HistoryError as error:
            values.append(Unreadable(error.reason))
        value, *rest = values or [UNSEEN]
        process = int(match["process"]) if match["process"].isdigit() else Name(match["process"].removeprefix(":"))
        erred = rest not in ([], [None]) and rest[0] != "hint"  # a hint is no error
        yield Event(number, process, match["type"], match["f"], plain(value), erred=erred)


def edn_events(text: str, source: str) -> Iterator[Event]:
    """The events of an EDN history: maps with `:process :type :f :value` and an optional `:key`. They are top-level
    values, or the items of one vector or list.
    """
    for line, value in read_edn(text, source):
        for event in value if isinstance(value, tuple) else (value,):
            yield _event(event, source, event.line if isinstance(event, EdnMap) else line)


def _event(event: Any, source: str, line: int) -> Event:
    if not isinstance(event, EdnMap):
        shape = "{:process 0, :type :ok, :f :read, :value 1}"
        raise HistoryError(f"an event is a map such as {shape}, not {event!r}", source=source, line=line)
    needed = ("process", "type") if event.get("type") == "info" else ("process", "type", "f")
    missing = [name for name in needed if name not in event]
    if missing:
        raise HistoryError(f"an event has no :{' and no :'.join(missing)}: {event!r}", source=source, line=line)
    if event["type"] not in _TYPES:
        reason = f"the type of an event is :invoke, :ok, :fail or :info, not {event['type']!r}"
        raise HistoryError(reason, source=source, line=line)
    process = event["process"] if isinstance(event["process"], Name) else plain(event["process"])
    value, key = (plain(event.get(name, UNSEEN)) for name in ("value", "key"))
    return Event(line, process, str(event["type"]), str(event.get("f", "")), value, key)


Read = tuple[str, tuple[Hashable, ...], Hashable]
"""Operation, arguments and result."""
_SILENT: Final[dict[type[Spec], frozenset[str]]] = {
    Register: frozenset({"write"}),
    KeyValue: frozenset({"put", "append"}),
}
"""Operations that answer nothing, whatever their completion says."""


class Reader:
    """Reads the events of a specification."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.names_keys = isinstance(spec, (KeyValue, Map))
        """Whether the `:key` of an event is the first argument of an operation. If not, it names a separate object."""

    def knows(self, f: str) -> bool:
        """Whether events of that name may describe an operation; `read_event` decides."""
        return not self.spec.vocabulary or f in self.spec.vocabulary

    def read_event(self, f: str, invoked: Any, completed: Any, key: Any = UNSEEN) -> Read:
        """The operation, arguments and result of an event pair of an EDN history.

        Args:
            f: the operation's name.
            invoked: the value of the invocation; `UNSEEN` if it carries none.
            completed: the value of the completion; `UNSEEN` if it never completed or carries none.
            key: the `:key` of the events, if there is one and `names_keys` says that it is an argument.

        A vector is a list of arguments, unless the operation takes only one.
        """
        if (
            key is UNSEEN and self.names_keys and f in VALUELESS
        ):  # [key nil] asks for a key, and comes back as [key value]
            is_pair = isinstance(invoked, tuple) and bool(invoked)
            for told in (invoked, completed) if isinstance(self.spec, KeyValue) else ():
                if isinstance(told, tuple) and len(told) != 2:
                    raise ValueError(f"the value of {f} must be a pair, not {told!r}")
            if (is_pair or isinstance(self.spec, KeyValue)) and isinstance(completed, tuple) and len(completed) == 2:
                completed = completed[1]
            key, invoked = (invoked[0], None) if is_pair else (key, invoked)
        given = () if key is UNSEEN else (key,)
        return f, (*given, *self._arguments(f, invoked, len(given))), self._answer(f, invoked, completed)

    def known(self, op: str, result: Hashable) -> Hashable:
        """The answer that an EDN history gives for an operation. A read of nil says nothing: in such histories it means
        that the answer is unknown. But a map answers nil if nothing is there.
        """
        return UNSEEN if result is None and op in self.spec.read_only and not isinstance(self.spec, Map) else result

    def _answer(self, f: str, invoked: Any, completed: Any) -> Any:
        """The answer in a completion. One that only repeats the arguments says nothing, unless it is that of a
        compare-and-set: it is done.
        """
        if completed is UNSEEN:
            return UNSEEN
        if any(isinstance(self.spec, kind) and f in silent for kind, silent in _SILENT.items()):
            return None
        if isinstance(self.spec, Register):
            return (f == "cas" and not isinstance(completed, bool)) or completed
        is_same = invoked is not None and completed == invoked and alike(completed, invoked)
        return UNSEEN if is_same and f not in self.spec.read_only else self.spec.normalise(f, completed)

    def _arguments(self, f: str, invoked: Any, given: int) -> tuple[Hashable, ...]:
        """The arguments in the value of an invocation, after `given` other arguments. nil counts as an argument only
        where one is wanted, and a vector as a single argument where only one is possible.
        """
        least, most = arity(self.spec.parameters.get(f))
        if invoked is UNSEEN or most == given or (invoked is None and least <= given):
            return ()
        return invoked if isinstance(invoked, tuple) and most != given + 1 else (invoked,)


class MultiRegisterReader(Reader):
    """Reads the events of `MultiRegister`."""

    def knows(self, f: str) -> bool:
        """As `Reader.knows`."""
        return f == "txn" or f in _KINDS

    def known(self, op: str, result: Hashable) -> Hashable:
        """As `Reader.known`."""
        return tuple(UNSEEN if value is None else value for value in result) if isinstance(result, tuple) else result

    def read_event(self, f: str, invoked: Any, completed: Any, key: Any = UNSEEN) -> Read:
        """As `Reader.read_event`."""
        steps = _transaction(f, invoked if completed in (UNSEEN, None) else completed)
        plain = tuple(("read", key) if kind == "read" else (kind, key, *value) for kind, key, *value in steps)
        seen = tuple(value[0] if value else UNSEEN for kind, _, *value in steps if kind == "read")
        return "txn", plain, UNSEEN if completed is UNSEEN else seen


_KINDS: Final = {"r": "read", "read": "read", "w": "write", "write": "write"}


def _transaction(f: str, value: Any) -> list[tuple[Any, ...]]:
    """The steps of a transaction such as ``[[:r 0 nil] [:w 1 2]]``, or of a read or write of registers."""
    if f in _KINDS:
        pairs = value if isinstance(value, frozenset) else [value]
        value = tuple((f, *pair) if isinstance(pair, tuple) else pair for pair in pairs)
    elif not isinstance(value, tuple):
        raise ValueError(f"a transaction is a vector of [:read key value] and [:write key value], not {value!r}")
    elif value and not isinstance(value[0], tuple):
        value = (value,)
    for step in value:
        is_step = isinstance(step, tuple) and len(step) in (2, 3) and str(step[0]) in _KINDS
        if not is_step or (_KINDS[str(step[0])] == "write" and len(step) != 3):
            raise ValueError(
                f"{step!r} is no step of a transaction: it must be [:read key value] or [:write key value]"
            )
    return [(_KINDS[str(step[0])], *step[1:]) for step in value]


def pair_events(events: Iterable[Event], spec: Spec, source: str, *, is_log: bool) -> tuple[History, Spec]:
    """The history of these events, and the specification to judge it by. If the events have keys, there is one object
    for each key.

    Raises:
        HistoryError: the events do not fit together, or name operations that `spec` does not have.
    """
    reader = (MultiRegisterReader if isinstance(spec, MultiRegister) else Reader)(spec)
    about = [event for event in events if not isinstance(event.process, Name) or reader.knows(event.f)]
    pairing = _Pairing(reader, source, is_log)
    pairing.take(_keyed(about, reader))
    judged = PerKey(spec) if pairing.keyed else spec
    return History(renumbered(pairing.done), {"spec": spec.name, "source": source, "clock": "order of lines"}), judged


def _keyed(events: Sequence[Event], reader: Reader) -> Iterable[Event]:
    """The events, with keys taken out of values that are pairs of a key and a value."""
    tagged = KeyedPair if any(isinstance(event.value, KeyedPair) for event in events) else None
    shape = tagged or (tuple if _have_keys(events, reader) else None)
    if shape is None:
        return events
    return [
        replace(event, key=event.value[0], value=event.value[1])
        if isinstance(event.value, shape) and len(event.value) == 2 and event.key is UNSEEN
        else event
        for event in events
    ]


def _have_keys(events: Sequence[Event], reader: Reader) -> bool:
    """Whether untagged pairs can only be keys with values: for example, no call asks a register for ``[1 nil]``."""
    if reader.names_keys:
        return False
    told = [event for event in events if event.type in {"invoke", "ok"} and event.value is not UNSEEN]
    asked = [event.value for event in told if event.type == "invoke" and event.f in reader.spec.read_only]
    pairs = all(isinstance(event.value, tuple) and len(event.value) == 2 for event in told)
    return bool(asked) and pairs and all(value[1] is None for value in asked)


class _Pairing:
    """Pairs up invocations and completions, process by process. `done` are the operations, and `keyed` tells whether
    their events have keys: either all of them do, or none.
    """

    def __init__(self, reader: Reader, source: str, is_log: bool) -> None:
        self._reader, self._source, self._is_log = reader, source, is_log
        self.done: list[Operation] = []
        self.keyed: bool | None = None

    def take(self, events: Iterable[Event]) -> None:
        running: dict[Hashable, tuple[int, Event]] = {}
        for time, event in enumerate(events):
            called, invoked = running.pop(event.process, (time, None))
            told = f"process {event.process} completes {event.f}"
            if event.type == "invoke":
                if invoked is not None:
                    told = f"process {event.process} invokes {event.f} while what it invoked on line"
                    self._complain(event, f"{told} {invoked.line} is open")
                running[event.process] = time, event
            elif invoked is None:
                if event.type != "info":
                    self._complain(event, f"{told}, but has invoked nothing")
            elif event.key not in (UNSEEN, invoked.key):
                self._complain(event, f"{told} of key {event.key!r}, not {invoked.key!r}")
            elif event.f != invoked.f:
                self._complain(event, f"{told}, not the {invoked.f} of line {invoked.line}")
            elif event.type == "ok":
                self._add(invoked, called, time, event)
            elif event.type == "info":
                self._add(invoked, called, None, None)
            elif (
                self._is_log and event.f == "cas" and not event.erred
            ):  # its value repeats the call, or gives the reason
                self._add(invoked, called, time, None, answer=False)
        for called, invoked in running.values():
            self._add(invoked, called, None, None)

    def _add(
        self, invoked: Event, called: int, returned: int | None, event: Event | None, answer: Any = UNSEEN
    ) -> None:
        for each in (invoked, event or invoked):
            for told in (each.value, each.key):
                if isinstance(told, Unreadable):
                    self._complain(each, told.reason)
        keyed = invoked.key is not UNSEEN and not self._reader.names_keys
        if self.keyed not in (None, keyed):
            self._complain(invoked, "some events carry a :key and others do not")
        self.keyed = keyed
        completion = UNSEEN if event is None else event.value
        inner_key = invoked.key if self._reader.names_keys else UNSEEN
        try:
            op, args, result = self._reader.read_event(invoked.f, invoked.value, completion, inner_key)
        except ValueError as error:
            self._complain(event or invoked, str(error))
        except (TypeError, LookupError):
            self._complain(event or invoked, f"{invoked.f} of {invoked.value!r} cannot answer {completion!r}")
        thread = invoked.process if isinstance(invoked.process, int) else str(invoked.process)
        if answer is not UNSEEN:
            result = answer
        elif not self._is_log:
            result = self._reader.known(op, result)
        operation = Operation(len(self.done), thread, called, returned, op, args, result)
        complaint = self._reader.spec.complaint(operation)
        if complaint is not None:
            self._complain(invoked, complaint)
        self.done.append(operation._replace(args=(invoked.key, *args)) if keyed else operation)

    def _complain(self, event: Event, reason: str) -> NoReturn:
        raise HistoryError(reason, source=self._source, line=event.line)
