"""The subject of every strategy: one scenario on one object, executed again and again, with every execution judged.

An execution is right if

* all its threads, except those stopped for ever, came to an end;
* its history, with a last look at the object, is linearizable, and every snapshot showed the same twice;
* no invariant of the object is broken in the end.

Subclasses define how an object reaches its start and how it is looked at in the end: one for the tries, and
`object_experiment` for any other object. Many executions lead to few different histories, so verdicts are remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from stress.alike import typed_key
from stress.checker.check import is_linearizable
from stress.checker.waiting import wait_as_they_should
from stress.explorer.machine import BoundCall, Execution, Machine, Strategy
from stress.explorer.names import NodeNames
from stress.explorer.scenario import Scenario, describe
from stress.explorer.slots import AccessLimit, Endless
from stress.history import UNSEEN, ChangingAnswer, History, Operation, Raised, renumbered
from stress.recorder.record import Deferred
from stress.reference import name_of
from stress.spec import Spec

__all__ = ["NOTHING_SEEN", "Experiment", "Finding", "Look"]


@dataclass(frozen=True)
class Finding:
    """The fault of an execution: `kind` is "history", "structure", "livelock" or "deadlock". `order` are the threads
    that made its steps; they are enough to execute it again.
    """

    scenario: Scenario
    order: tuple[int, ...]
    kind: str
    trouble: str
    history: History


class Look(NamedTuple):
    """What is seen of the object in the end: calls as (name, arguments, answer), and the broken invariant, if any.
    Looks with equal keys are alike.
    """

    key: Any
    calls: tuple[tuple[str, tuple[Any, ...], Any], ...] = ()
    broken: str = ""


UNSEEN_LOOK: Final = Look(None)
NOTHING_SEEN: Final = Look(((), ""))
"""The look at an object of which nobody asks anything in the end."""


class Experiment:
    """A scenario on some object: `run` executes it once."""

    machine: Machine
    scenario: Scenario
    spec: Spec
    before: tuple[Operation, ...] = ()
    """Calls that a thread left unfinished before the start."""

    def __init__(
        self, machine: Machine, scenario: Scenario, known_as: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """`known_as` are the operations that have other names in the specification."""
        self.machine, self.scenario = machine, scenario
        self._calls = [[(known_as.get(op, op), args) for op, args in calls] for calls in scenario.threads]
        self._verdicts: dict[Any, tuple[str, str]] = {}

    # For subclasses to define.

    def _plans(self) -> Sequence[Sequence[BoundCall]]:
        """The calls of each thread, on an object in the state of the start."""
        raise NotImplementedError

    def _look(self, execution: Execution) -> Look:
        """A look at the object, when no thread runs any more."""
        raise NotImplementedError

    def _stir(self) -> None:
        """Change everything that snapshots may show, between their two readings."""

    def names(self) -> NodeNames:
        """Fresh names for the trace of the next execution."""
        raise NotImplementedError

    # Common to all subclasses.

    def run(self, strategy: Strategy) -> tuple[Execution, Finding | None]:
        """Execute the scenario once, as `strategy` decides; judge it, unless the strategy cut it short."""
        seam = self.machine.seam
        execution = self.machine.run(self._plans(), strategy)
        try:
            if execution.cut:
                return execution, None
            with AccessLimit(seam):
                return execution, self._judge(execution)
        except Endless:
            return execution, self._finding(execution, "livelock", _UNENDING["afterwards"], ())
        finally:
            seam.take_back()

    def _judge(self, execution: Execution) -> Finding | None:
        if execution.trouble:
            if self._wait_as_they_should(execution):
                return None
            return self._finding(execution, execution.trouble, self._unending(execution), execution.answers)
        look = self._look(execution)
        try:
            answers = execution.answers = self._answers(execution)
        except ChangingAnswer:
            raise
        except Exception as error:  # noqa: BLE001 - a snapshot of a broken trie may raise anything
            trouble = f"what was answered cannot be read: {type(error).__name__}: {error}"
            return self._finding(execution, "structure", trouble, ())
        key = (execution.precedence(), typed_key(answers), look.key)
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._verdicts[key] = self._verdict(execution, answers, look)
        return self._finding(execution, *verdict, answers, look) if verdict[0] else None

    def _wait_as_they_should(self, execution: Execution) -> bool:
        """Whether no thread can continue, and the specification agrees that none can."""
        if execution.trouble != "deadlock":
            return False
        answers = execution.answers = self._answers(execution)
        operations = self._operations(execution, answers, UNSEEN_LOOK)
        key = (execution.precedence(), typed_key(answers), "all wait")
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._verdicts[key] = ("" if wait_as_they_should(operations, self.spec) else "deadlock", "")
        return not verdict[0]

    def _unending(self, execution: Execution) -> str:
        told = _UNENDING[execution.trouble]
        waits = []
        for thread, awaited in sorted(execution.waiting.items()):
            op, args = self.scenario.threads[thread][len(execution.logs[thread])]
            waits.append(f"thread {thread} waits in {describe((op, args))} for {awaited}")
        return f"{told}: {', '.join(waits)}" if waits else told

    def _answers(self, execution: Execution) -> tuple[Any, ...]:
        """The answers of all completed calls, thread by thread. Snapshots are read before and after a change of
        everything.
        """
        deferred = [answer for log in execution.logs for _, _, answer in log if type(answer) is Deferred]
        if deferred:
            for each in deferred:
                each.first = each.read()
            self._stir()
        found, normalise = [], self.spec.normalise
        for calls, log in zip(self._calls, execution.logs, strict=True):
            for (op, _), (_, _, answer) in zip(calls, log, strict=False):
                seen = answer.answer() if type(answer) is Deferred else answer
                found.append(seen if type(seen) is Raised else normalise(op, seen))
        return tuple(found)

    def _verdict(self, execution: Execution, answers: tuple[Any, ...], look: Look) -> tuple[str, str]:
        if not is_linearizable(self._operations(execution, answers, look), self.spec):
            return "history", "the history is not linearizable"
        return ("structure", look.broken) if look.broken else ("", "")

    def _finding(
        self, execution: Execution, kind: str, trouble: str, answers: tuple[Any, ...], look: Look = UNSEEN_LOOK
    ) -> Finding:
        operations = renumbered(self._operations(execution, answers, look))
        header = {"spec": name_of(self.spec), **self.spec.options(), "threads": len(self.scenario.threads)}
        return Finding(self.scenario, tuple(execution.order), kind, trouble, History(operations, header))

    def _operations(self, execution: Execution, answers: tuple[Any, ...], look: Look) -> list[Operation]:
        """The history: calls left unfinished before the start, the threads' calls, and the look at the end."""
        found = list(self.before)
        told = iter(answers)
        for thread, (calls, log) in enumerate(zip(self._calls, execution.logs, strict=True)):
            for (op, args), (called, returned, _) in zip(calls, log, strict=False):
                found.append(Operation(len(found), thread, called, returned, op, args, next(told, UNSEEN)))
            if execution.begun[thread] >= 0:
                op, args = calls[len(log)]
                found.append(Operation(len(found), thread, execution.begun[thread], None, op, args, UNSEEN))
        for end, (op, args, answer) in enumerate(look.calls, start=len(execution.order)):
            found.append(Operation(len(found), "main", 2 * end, 2 * end + 1, op, args, answer))
        return found


_UNENDING: Final[Mapping[str, str]] = {
    "livelock": "no call returns any more: the threads go in circles",
    "deadlock": "no thread gets any further",
    "afterwards": "a call that runs alone, after the others, does not return",
}
