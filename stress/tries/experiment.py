"""An experiment: one scenario on one copy of the tries, executed and judged as `stress.explorer.experiment` says.

The trie is made once; after each execution all its slots are put back. In the end no invariant of its structure may be
broken, and unless somebody stopped half-way, it may have no more nodes than if its content had just been put in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from stress.explorer.experiment import Experiment, Finding, Look
from stress.explorer.machine import BoundCall, Execution
from stress.explorer.patience import patience
from stress.explorer.scenario import Scenario
from stress.history import UNSEEN, Operation
from stress.spec import Spec
from stress.specs import Map, Subscriptions
from stress.tries.names import TrieNames
from stress.tries.scenarios import STARTS, Start
from stress.tries.structure import fingerprint, shape
from stress.tries.targets import MapUnderTest
from stress.tries.trie_copy import TrieCopy

__all__ = ["BrokenStart", "Finding", "TrieExperiment"]

_SPECS: Final[dict[str, Callable[..., Spec]]] = {"map": Map, "subscriptions": Subscriptions}
_CONTENT: Final = {"map": "items", "subscriptions": "subscriptions"}
_LATER: Final = "later"


class BrokenStart(Exception):
    """A call that makes the start raises: nobody need look for a schedule in which this twin is wrong."""


class TrieExperiment(Experiment):
    """A scenario on a twin.

    Raises:
        BrokenStart: its start cannot be made.
    """

    def __init__(self, twin: TrieCopy, scenario: Scenario) -> None:
        super().__init__(twin.machine, scenario)
        self.twin = twin
        self.start = STARTS[scenario.target][scenario.start]
        self.spec = _spec(scenario.target, self.start)
        if self.start.left is not None:
            (op, args), _ = self.start.left
            self.before = (Operation(0, "gone", -2, None, op, args, UNSEEN),)
        with patience(twin.seam):
            self.subject = self._made()
        twin.seam.journal.clear()
        self._trie = _trie(self.subject)
        self._calls = [[(getattr(self.subject, op), args) for op, args in calls] for calls in scenario.threads]
        self._structures: dict[Any, Look] = {}

    def _made(self) -> Any:
        try:
            return self.twin.make(self.scenario.target, self.start)
        except Exception as error:
            named = f"{self.scenario.target}, {self.scenario.start}"
            raise BrokenStart(f"the start cannot be made ({named}): {type(error).__name__}: {error}") from error

    def names(self) -> TrieNames:
        """As `Experiment.names`."""
        return TrieNames()

    def _plans(self) -> Sequence[Sequence[BoundCall]]:
        return self._calls

    def _look(self, execution: Execution) -> Look:
        """What the trie holds now, and which of its invariants is broken."""
        structure = fingerprint(self._trie._root)
        whole = all(begun == -1 for begun in execution.begun)
        key = (structure, whole)
        look = self._structures.get(key)
        if look is None:
            mark = len(self.twin.seam.journal)
            content, broken = self._examine(whole)
            self.twin.seam.take_back(mark)
            seen = () if content is UNSEEN else ((_CONTENT[self.scenario.target], (), content),)
            look = self._structures[key] = Look(structure, seen, broken)
        return look

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
        fresh = self.twin.empty(self.scenario.target, exact=self.start.exact)
        put = fresh.mapping.__setitem__ if self.scenario.target == "map" else fresh.subscribe
        for args in content:
            put(*args)
        return shape(self.twin.nodes, _trie(fresh))

    def _stir(self) -> None:
        """Change everything that the scenario is about."""
        for place in {place for places in self.start.places for place in places}:
            if self.scenario.target == "map":
                self.subject.mapping[place[0]] = _LATER
            else:
                self.subject.subscribe(place[0], _LATER)
                self.subject.unsubscribe(*place[:2])


def _spec(target: str, start: Start) -> Spec:
    """The specification, whose initial state is the start."""
    model = _SPECS[target]()
    state = model.initial
    for op, args in start.calls:
        state = model.step(state, op, args)[0]
    return _SPECS[target](state)


def _trie(subject: Any) -> Any:
    return subject.mapping if isinstance(subject, MapUnderTest) else subject.trie
