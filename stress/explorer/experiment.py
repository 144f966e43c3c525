"""An experiment: one scenario on one copy of the tries, to be executed again and again, and every execution judged.

The object is made once; after each execution all its slots are put back. An execution is all right if

* its threads came to an end, as many as were not stopped for ever;
* its history, with a last look at the whole object, is linearizable, and every snapshot showed the same twice, before
  and after all of the object was changed;
* no invariant of the structure is broken, and unless somebody stopped half-way, it has no more nodes than if its
  content had just been put in.

Few of many executions differ in what is judged, so verdicts are remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from stress.check import is_linearizable
from stress.explorer.machine import LIVELOCK, Execution, Strategy
from stress.explorer.scenario import STARTS, Scenario
from stress.explorer.structure import fingerprint, shape
from stress.explorer.twin import Endless, Twin, patience
from stress.history import UNSEEN, History, Operation, Raised, renumbered
from stress.record import Deferred
from stress.spec import Spec
from stress.specs import Map, Subscriptions
from stress.targets import MapUnderTest

__all__ = ["Experiment", "Finding"]

_SPECS: Final[dict[str, Callable[..., Spec]]] = {"map": Map, "subscriptions": Subscriptions}
_CONTENT: Final = {"map": "items", "subscriptions": "subscriptions"}
_LATER: Final = "later"


@dataclass(frozen=True)
class Finding:
    """What is wrong with an execution: `kind` is "history", "structure", "livelock" or "deadlock". `order` are the
    threads that made its steps, which is all that is needed to have it again.
    """

    scenario: Scenario
    order: tuple[int, ...]
    kind: str
    trouble: str
    history: History


class Experiment:
    """A scenario on a twin."""

    def __init__(self, twin: Twin, scenario: Scenario) -> None:
        self.twin, self.scenario = twin, scenario
        self.start = STARTS[scenario.target][scenario.start]
        with patience(twin.seam):
            self.subject = twin.make(scenario.target, self.start)
        twin.seam.journal.clear()
        self._trie = _trie(self.subject)
        self._plans = [[(getattr(self.subject, op), args) for op, args in calls] for calls in scenario.threads]
        self._structures: dict[Any, tuple[Any, str]] = {}
        self._verdicts: dict[Any, tuple[str, str]] = {}

    @cached_property
    def spec(self) -> Spec:
        """The specification, whose initial state is the scenario's start."""
        model = _SPECS[self.scenario.target]()
        state = model.initial
        for op, args in self.start.calls:
            state = model.step(state, op, args)[0]
        return _SPECS[self.scenario.target](state)

    def run(self, strategy: Strategy) -> tuple[Execution, Finding | None]:
        """Execute the scenario once, as `strategy` decides, and judge it, unless the strategy cut it short."""
        execution = self.twin.machine.run(self._plans, strategy)
        try:
            if execution.cut:
                return execution, None
            with patience(self.twin.seam):
                return execution, self._judge(execution)
        except Endless:
            return execution, self._finding(execution, "livelock", _UNENDING["afterwards"], ())
        finally:
            self.twin.seam.take_back()

    def _judge(self, execution: Execution) -> Finding | None:
        if execution.trouble:
            return self._finding(execution, execution.trouble, _UNENDING[execution.trouble], ())
        structure = fingerprint(self._trie._root)
        whole = all(begun == -1 for begun in execution.begun)
        content, broken = self._structure(structure, whole)
        answers = execution.answers = self._answers(execution)
        key = (_precedence(execution), answers, structure)
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._verdicts[key] = self._verdict(execution, answers, content, broken)
        return self._finding(execution, *verdict, answers, content) if verdict[0] else None

    def _structure(self, structure: Any, whole: bool) -> tuple[Any, str]:
        """What the object holds now, and which of its invariants is broken."""
        key = (structure, whole)
        if key not in self._structures:
            mark = len(self.twin.seam.journal)
            self._structures[key] = self._examine(whole)
            self.twin.seam.take_back(mark)
        return self._structures[key]

    def _examine(self, whole: bool) -> tuple[Any, str]:
        look = _CONTENT[self.scenario.target]
        try:
            needed = whole and self.start.left is None
            nodes = shape(self.twin.nodes, self._trie) if needed else None
            content = self.spec.normalise(look, getattr(self.subject, look)())
            self._trie.check()
        except Exception as error:  # noqa: BLE001 - a broken trie may raise anything
            return UNSEEN, f"an invariant is broken: {type(error).__name__}: {error}"
        if needed and nodes != self._fresh(content):
            return content, f"there are nodes that nobody needs: {nodes}"
        return content, ""

    def _fresh(self, content: Any) -> Any:
        """The nodes of an object into which `content` has just been put."""
        fresh = self.twin.empty(self.scenario.target)
        put = fresh.mapping.__setitem__ if self.scenario.target == "map" else fresh.subscribe
        for args in content:
            put(*args)
        return shape(self.twin.nodes, _trie(fresh))

    def _answers(self, execution: Execution) -> tuple[Any, ...]:
        """What every completed call answered, thread by thread. Snapshots are read, before and after a change of
        everything.
        """
        normalise = self.spec.normalise
        raw = [answer for log in execution.logs for _, _, answer in log]
        deferred = [answer for answer in raw if type(answer) is Deferred]
        if deferred:
            for each in deferred:
                each.first = each.read()
            self._stir()
        ops = [op for calls, log in zip(self.scenario.threads, execution.logs, strict=True)
               for (op, _), _ in zip(calls, log, strict=False)]  # fmt: skip
        found = []
        for op, answer in zip(ops, raw, strict=True):
            seen = answer.answer() if type(answer) is Deferred else answer
            found.append(seen if type(seen) is Raised else normalise(op, seen))
        return tuple(found)

    def _stir(self) -> None:
        """Change everything that the scenario is about."""
        for place in {place for places in self.start.places for place in places}:
            if self.scenario.target == "map":
                self.subject.mapping[place[0]] = _LATER
            else:
                self.subject.subscribe(place[0], _LATER)
                self.subject.unsubscribe(*place[:2])

    def _verdict(self, execution: Execution, answers: tuple[Any, ...], content: Any, broken: str) -> tuple[str, str]:
        if not is_linearizable(self._operations(execution, answers, content), self.spec):
            return "history", "the history is not linearizable"
        return ("structure", broken) if broken else ("", "")

    def _finding(
        self, execution: Execution, kind: str, trouble: str, answers: tuple[Any, ...], content: Any = UNSEEN
    ) -> Finding:
        operations = renumbered(self._operations(execution, answers, content))
        header = {"spec": self.spec.name, **self.spec.options(), "threads": len(self.scenario.threads)}
        return Finding(self.scenario, tuple(execution.order), kind, trouble, History(operations, header))

    def _operations(self, execution: Execution, answers: tuple[Any, ...], content: Any) -> list[Operation]:
        """The history: what a thread left half-way before, the threads' calls, and the look at the end."""
        found: list[Operation] = []
        told = iter(answers)
        if self.start.left is not None:
            (op, args), _ = self.start.left
            found.append(Operation(0, "gone", -2, None, op, args, UNSEEN))
        for thread, (calls, log) in enumerate(zip(self.scenario.threads, execution.logs, strict=True)):
            for (op, args), (called, returned, _) in zip(calls, log, strict=False):
                found.append(Operation(len(found), thread, called, returned, op, args, next(told, UNSEEN)))
            if execution.begun[thread] >= 0:
                op, args = calls[len(log)]
                found.append(Operation(len(found), thread, execution.begun[thread], None, op, args, UNSEEN))
        if content is not UNSEEN:
            end = 2 * len(execution.order)
            found.append(Operation(len(found), "main", end, end + 1, _CONTENT[self.scenario.target], (), content))
        return found


def _trie(subject: Any) -> Any:
    return subject.mapping if isinstance(subject, MapUnderTest) else subject.trie


_UNENDING: Final = {
    "livelock": f"for {LIVELOCK:,} steps no call has returned: the threads go in circles",
    "deadlock": "no thread gets any further: each waits for another",
    "afterwards": "a call that runs alone, after the others, does not return",
}


def _precedence(execution: Execution) -> tuple[int, ...]:
    """Which calls came before which returns, and the other way round: all that a checker can make of the times. Thread
    n is n + 1 where it calls, and -n - 1 where it returns; what calls, or returns, in a row is in no order.
    """
    events: list[tuple[int, int]] = []
    for thread, log in enumerate(execution.logs, start=1):
        for called, returned, _ in log:
            events.append((called, thread))
            events.append((returned, -thread))
        if execution.begun[thread - 1] >= 0:
            events.append((execution.begun[thread - 1], thread))
    events.sort()
    found = [thread for _, thread in events]
    for at in range(1, len(found)):  # insertion sort, but for calls among calls and returns among returns only
        while at and (found[at] > 0) == (found[at - 1] > 0) and found[at] < found[at - 1]:
            found[at - 1], found[at] = found[at], found[at - 1]
            at -= 1
    return tuple(found)
