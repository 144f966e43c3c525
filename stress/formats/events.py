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
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from stress.by_key import PerKey
from stress.formats.edn import EdnMap, KeyedPair, Name, Unreadable, plain, read_edn
from stress.formats.readers import Reader, reader_of
from stress.history import UNSEEN, History, HistoryError, Operation, renumbered
from stress.spec import Spec

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
        yield Event(number, process, match["type"], match["f"], _value(value), erred=erred)


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
    process = event["process"] if isinstance(event["process"], Name) else _value(event["process"])
    value, key = (_value(event.get(name, UNSEEN)) for name in ("value", "key"))
    return Event(line, process, str(event["type"]), str(event.get("f", "")), value, key)


def _value(value: Any) -> Any:
    """The value of an event, or an `Unreadable` if a part of it is one."""
    try:
        return plain(value)
    except ValueError as error:
        return Unreadable(str(error))


def pair_events(events: Iterable[Event], spec: Spec, source: str, *, is_log: bool) -> tuple[History, Spec]:
    """The history of these events, and the specification to judge it by. If the events have keys, there is one object
    for each key.

    Raises:
        HistoryError: the events do not fit together, or name operations that `spec` does not have.
    """
    reader = reader_of(spec)
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
