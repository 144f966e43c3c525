"""The trace of one execution: who accessed which slot, what was read there, and which compare-and-set succeeded.

Nodes get names in the order in which they turn up: a letter for their kind and a number. The legend tells what each of
them held when it was first met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from stress.explorer.experiment import Experiment, Finding
from stress.explorer.machine import Machine
from stress.explorer.scenario import describe
from stress.explorer.slots import LOAD
from stress.history import UNSEEN, show

__all__ = ["Drift", "Given", "Trace", "trace"]


_MOST_STEPS: Final = 120
"""Steps of an execution that are told: whatever is longer goes in circles."""


class Drift(Exception):
    """An order of steps does not fit the scenario: the source has changed since it was noted."""


class Given:
    """The strategy that follows the order of an earlier execution."""

    def __init__(self, order: Sequence[int]) -> None:
        self._order = order
        self._machine: Machine | None = None

    def begin(self, machine: Machine) -> None:
        """As `Strategy.begin`."""
        self._machine = machine

    def decide(self, me: int) -> int:
        """As `Strategy.decide`. Threads that make no step any more have stopped for ever."""
        machine = self._machine
        assert machine is not None
        if machine.step == machine.limit and me >= 0:
            return me  # and the machine ends it, as it did the first time
        if machine.step >= len(self._order):
            machine.enabled = 0
            return -1
        to = self._order[machine.step]
        if not machine.enabled >> to & 1:
            raise Drift(f"thread {to} has no step number {machine.step} to make")
        return to


@dataclass(frozen=True)
class Trace:
    """The steps of an execution as (thread, text), the calls and returns among them; and the names' `legend`."""

    steps: tuple[tuple[int, str], ...]
    legend: tuple[tuple[str, str], ...]


def trace(experiment: Experiment, order: Sequence[int]) -> tuple[Trace, Finding | None]:
    """Execute the scenario of `experiment` in the order of an earlier execution, and tell what happens.

    Raises:
        Drift: the order does not fit.
    """
    names = _Names()
    accesses: list[tuple[int, str]] = []
    machine = experiment.twin.machine

    def observe(thread: int, slot: Any, expected: Any, desired: Any) -> None:
        if len(accesses) < _MOST_STEPS:
            accesses.append((thread, names.access(slot, expected, desired)))

    machine.observe = observe
    try:
        _, finding = experiment.run(Given(order))
    finally:
        machine.observe = None
    calls = _calls(experiment, machine)
    steps: list[tuple[int, str]] = []
    for step, access in enumerate(accesses):
        steps += calls.get(2 * step, [])
        steps.append(access)
        steps += calls.get(2 * step + 1, [])
    if len(order) > _MOST_STEPS:
        steps.append((order[_MOST_STEPS], f"(and so on: {len(order):,} steps in all)"))
    if finding is not None:
        finding = Finding(finding.scenario, tuple(order), finding.kind, finding.trouble, finding.history)
    return Trace(tuple(steps), tuple(names.legend)), finding


def _calls(experiment: Experiment, machine: Machine) -> dict[int, list[tuple[int, str]]]:
    """The calls and returns, by time."""
    found: dict[int, list[tuple[int, str]]] = {}
    execution = machine.execution
    answers = iter(execution.answers)
    for thread, (calls, log) in enumerate(zip(experiment.scenario.threads, execution.logs, strict=True)):
        for call, (called, returned, _) in zip(calls, log, strict=False):
            found.setdefault(called, []).append((thread, f"{describe(call)} ..."))
            found.setdefault(returned, []).append((thread, f"... {call[0]} -> {show(next(answers, UNSEEN))}"))
        if execution.begun[thread] >= 0:
            found.setdefault(execution.begun[thread], []).append((thread, f"{describe(calls[len(log)])} ..."))
    return found


_LETTERS: Final = {"RDCSSDescriptor": "D", "FailedNode": "F", "Branch": "S", "Slot": "X", "Event": "E"}
_FIELDS: Final = {"INode": "main", "Root": "node", "RDCSSDescriptor": "verdict", "Event": "set", "Slot": "value"}
_PLAIN: Final = (type(None), bool, int, float, str)


class _Names:
    """Names of nodes, and words for accesses of their slots."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._counts: dict[str, int] = {}
        self._kept: list[Any] = []  # so that no other object takes a named one's place in memory
        self.legend: list[tuple[str, str]] = []

    def access(self, slot: Any, expected: Any, desired: Any) -> str:
        kind = type(slot).__name__
        if kind == "_Nowhere":
            return "(no slot)"
        field = f"{self.of(slot)}.{_FIELDS.get(kind, 'prev')}"
        found = slot._value
        if expected is LOAD:
            return f"{field}: read {self.of(found)}"
        swap = f"{field}: CAS {self.of(expected)} -> {self.of(desired)}"
        return f"{swap} done" if found is expected else f"{swap} failed, it is {self.of(found)}"

    def of(self, node: Any) -> str:
        """The node's name; a new one if it has none."""
        if isinstance(node, _PLAIN):
            return str(node)
        name = self._names.get(id(node))
        if name is None:
            kind = type(node).__name__
            letter = _LETTERS.get(kind, kind[0])
            number = self._counts[letter] = self._counts.get(letter, 0) + 1
            name = self._names[id(node)] = f"{letter}{number}"
            self._kept.append(node)
            at = len(self.legend)
            self.legend.insert(at, (name, ""))
            self.legend[at] = (name, f"{kind} {self._content(node)}".rstrip())
        return name

    def _content(self, node: Any) -> str:
        kind = type(node).__name__
        if kind == "CNode":
            return f"of {self.of(node.gen)}: {self._listed(node.array)}"
        if kind == "LNode":
            return self._listed(node.entries)
        if kind == "TNode":
            return "of nothing" if node.sn is None else f"of {self._leaf(node.sn)}"
        if kind == "FailedNode":
            return f"for {self.of(node.wrapped)}"
        if kind == "RDCSSDescriptor":
            return f"from {self.of(node.old)}, if its main is {self.of(node.expected)}, to {self.of(node.new)}"
        if kind == "INode":
            return f"of {self.of(node.gen)}"
        if kind == "Root":
            return "read-only" if node.readonly else ""
        return ""

    def _listed(self, nodes: Sequence[Any]) -> str:
        told = (self.of(each) if type(each).__name__ == "INode" else self._leaf(each) for each in nodes)
        return f"[{', '.join(told)}]"

    def _leaf(self, sn: Any) -> str:
        level = getattr(sn, "next", None)
        held = "" if sn.value is None else f": {self._value(sn.value)}"
        return f"{sn.key}{held}" + (f" >> {self.of(level)}" if level is not None else "")

    def _value(self, value: Any) -> str:
        if type(value).__name__ == "Entry":
            return str(value.subscriber)
        if type(value).__name__ == "SetNode":
            return f"{value.size} subscribers"
        if isinstance(value, tuple):
            return "+".join(map(self._value, value))
        return str(value)
