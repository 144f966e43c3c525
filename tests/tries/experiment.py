"""An experiment: one scenario on one copy of the tries, executed and judged as `stress.explorer.experiment` says.

The trie is made once; after each execution all its slots are restored. In the end its structure must not break an
invariant. Unless a thread stopped half-way, it must have no more nodes than a trie into which the same content was just
put.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any, Final, cast

from stress.checker.check import is_linearizable
from stress.explorer.experiment import Experiment, Look
from stress.explorer.machine import BoundCall, Execution
from stress.explorer.scenario import Scenario
from stress.explorer.slots import AccessLimit
from stress.history import UNSEEN, Operation
from stress.spec import Spec
from stress.specs import Map, Subscriptions
from tests.tries.fields import Fields
from tests.tries.names import TrieNames, fingerprint, shape
from tests.tries.scenarios import STARTS, Start
from tests.tries.specs import KNOWN_AS, Exclusions, Shares
from tests.tries.trie_copy import NOTICES, TrieCopy

_SPECS: Final[dict[str, Callable[..., Spec]]] = {
    "map": Map, "subscriptions": Subscriptions, "shares": Shares, "topics": Map,
    "exclusions": Exclusions, "fields": Fields, "routes": Fields,
}  # fmt: skip
CONTENT: Final = {
    "map": "items", "subscriptions": "subscriptions", "shares": "subscriptions", "topics": "items",
    "exclusions": "subscriptions", "fields": "subscriptions", "routes": "subscriptions",
}  # fmt: skip
"""The operation that reads the content in the end."""
_BY_FIELDS: Final = frozenset({"fields", "routes"})
"""Targets that are one state in one slot. The nodes of a state depend on the order of the changes; `check` examines
them."""
_LATER: Final = "later"
_SEVERAL: Final = {"subscribe_many": "subscribe", "unsubscribe_many": "unsubscribe"}
"""Calls of a subscription trie that make several changes, each at an instant of its own."""


class BrokenStart(Exception):
    """A call that makes the start raises: this twin is wrong without any schedule."""


class TrieExperiment(Experiment):
    """A scenario on a twin.

    Raises:
        BrokenStart: its start cannot be made.
    """

    def __init__(self, twin: TrieCopy, scenario: Scenario) -> None:
        super().__init__(twin.machine, scenario, KNOWN_AS)
        self.twin = twin
        self.start = STARTS[scenario.target][scenario.start]
        self.spec = _spec(scenario.target, self.start)
        if self.start.left is not None:
            (op, args), _ = self.start.left
            self.before = (Operation(0, "gone", -2, None, KNOWN_AS.get(op, op), args, UNSEEN),)
        with AccessLimit(twin.seam):
            self.subject = self._made()
        twin.seam.journal.clear()
        self._follow_subject()
        self._structures: dict[Any, Look] = {}

    def _follow_subject(self) -> None:
        self._trie = self.subject.trie
        self._notices = _Notices(self._trie) if any(map(self.start.has, NOTICES)) else None
        self._bound = [[(getattr(self.subject, op), args) for op, args in calls] for calls in self.scenario.threads]

    def _made(self) -> Any:
        try:
            return self.twin.make(self.scenario.target, self.start)
        except Exception as error:
            named = f"{self.scenario.target}, {self.scenario.start}"
            raise BrokenStart(f"the start cannot be made ({named}): {type(error).__name__}: {error}") from error

    def names(self) -> TrieNames:
        """As `Experiment.names`."""
        return TrieNames()

    def _operations(self, execution: Execution, answers: tuple[Any, ...], look: Look) -> list[Operation]:
        operations = super()._operations(execution, answers, look)
        if self.scenario.target != "subscriptions":
            return operations
        readings = [_readings(each) for each in operations]
        found: list[Operation] = []
        for reading in product(*readings):  # a number is right if some changes, as many as it says, explain all
            parts = [part for parts in reading for part in parts]
            found = [part._replace(id=number) for number, part in enumerate(parts)]
            if all(len(each) == 1 for each in readings) or is_linearizable(found, self.spec):
                break
        return found

    def _plans(self) -> Sequence[Sequence[BoundCall]]:
        self.twin.begin()
        if self._notices is not None:
            self._notices.take_back()
        return self._bound

    def _look(self, execution: Execution) -> Look:
        """The present content of the trie, and the invariant that is broken, if any."""
        structure = self._structure()
        whole = all(begun == -1 for begun in execution.begun)
        key = (structure, whole, None if self._notices is None else self._notices.told)
        look = self._structures.get(key)
        if look is None:
            look = self._structures[key] = self._examined(whole)._replace(key=key)
        return look

    def _examined(self, whole: bool) -> Look:
        """A look that is like another one if it shows the same."""
        mark = len(self.twin.seam.journal)
        content, broken = self._examine(whole)
        if mark:  # otherwise there is nothing that must stay
            self.twin.seam.take_back(mark)
        if content is UNSEEN:
            return Look((None, broken), (), broken)
        return Look((content, broken), ((CONTENT[self.scenario.target], (), content),), broken)

    def _structure(self) -> Any:
        if self.scenario.target in _BY_FIELDS:
            return fingerprint(getattr(self._trie, "_fields", self._trie)._slot)
        return fingerprint((self._trie._root, getattr(self._trie, "_index", None)))

    def _examine(self, whole: bool) -> tuple[Any, str]:
        look = CONTENT[self.scenario.target]
        try:
            needed = whole and self.start.left is None and self.scenario.target not in _BY_FIELDS
            nodes = self._shape(self._trie) if needed else None
            content: Any = self.spec.normalise(look, getattr(self.subject, look)())
            if whole or not self.start.has("index"):  # a thread that stopped half-way may have left the index unsettled
                self._trie.check()
        except Exception as error:  # noqa: BLE001 - a broken trie may raise anything
            return UNSEEN, f"an invariant is broken: {type(error).__name__}: {error}"
        if needed and nodes != self._fresh(content):
            return content, f"there are nodes that nobody needs: {nodes}"
        if self._notices is not None:
            return content, self._notices.trouble({*map(self._watched, content)} if whole else None)
        return content, ""

    def _watched(self, subscription: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a listener is told of for the first of such subscriptions."""
        words = subscription[0].split("/")
        group = words[1] if words[0] == "$share" else None
        filter = "/".join(words if group is None else words[2:])
        return (filter, group) if self.start.has("on_group_interest") else (filter,)

    def _fresh(self, content: Any) -> Any:
        """The nodes of an object into which `content` has just been put."""
        fresh = self.twin.empty(self.scenario.target, **{"exact": True} if self.start.has("exact") else {})
        put = fresh.__setitem__ if CONTENT[self.scenario.target] == "items" else fresh.subscribe
        for args in content:
            put(*args)
        return self._shape(fresh.trie)

    def _shape(self, trie: Any) -> Any:
        return shape(self.twin.nodes, trie)

    def _stir(self) -> None:
        """Change everything that the scenario is about."""
        for place in {place for places in self.start.places for place in places}:
            if CONTENT[self.scenario.target] == "items":
                self.subject.__setitem__(place[0], _LATER)
            else:
                self.subject.subscribe(place[0], _LATER)
                self.subject.unsubscribe(*place[:2])


def _readings(operation: Operation) -> list[list[Operation]]:
    """What an operation may say about the changes that it makes: each list has one operation for each of them. A number
    tells how many changed something, and not which. One that cannot be is each one's answer, and wrong.
    """
    if operation.op not in _SEVERAL:
        return [[operation]]
    op, rows = _SEVERAL[operation.op], cast("tuple[tuple[str, str], ...]", operation.args)
    told, many = operation.result, len(rows)
    answers: list[Sequence[Any]] = [[told] * many]
    if type(told) is int and 0 <= told <= many:
        answers = [[at in those for at in range(many)] for those in combinations(range(many), told)]
    return [
        [
            operation._replace(thread=f"{operation.thread}.{place}", op=op, args=args, result=answer)
            for place, (args, answer) in enumerate(zip(rows, each, strict=True))
        ]
        for each in answers
    ]


def _spec(target: str, start: Start) -> Spec:
    """The specification, with the start as its initial state."""
    model = _SPECS[target]()
    state = model.initial
    for op, args in start.calls:
        state = model.step(state, KNOWN_AS.get(op, op), args)[0]
    return _SPECS[target](state)


class _Notices:
    """The state of a listener outside slots, which only the thread that delivers may touch; as it was at the start."""

    def __init__(self, trie: Any) -> None:
        self._notices = next(held for held in gc.get_referents(trie) if type(held).__name__ == "Notices")
        self._listener = self._notices._listener
        self._at_start = frozenset(self._notices._told), self._listener.wanted

    @property
    def told(self) -> Any:
        """The notices that the listener has received."""
        return self._listener.wanted, self._listener.broken

    def take_back(self) -> None:
        """Restore the state of the start."""
        told, wanted = self._at_start
        self._notices._told.clear()
        self._notices._told.update(told)
        self._notices._drained.clear()
        self._listener.wanted, self._listener.broken = wanted, ""

    def trouble(self, filters: set[tuple[Any, ...]] | None) -> str:
        """The fault of the notices, if these filters, or groups, have subscribers; None: that is not known."""
        wanted, broken = self.told
        if not broken and filters is not None and wanted != filters:
            return f"the listener has been told of {sorted(wanted, key=str)}, and there are {sorted(filters, key=str)}"
        return str(broken)
