"""The compiled twin on explored slots: the machine code that ships, but for the operations of its slots.

Modules that were built with CTRIE_EXPLORED=1 ask `explored_seam` before every access (`seam/` has it). Here that
seam meets the explorer's machine, which runs on it as on the interpreted copy's: the same scenarios, strategies and
verdicts. What differs:

* There is one such twin in a process, and none without `make explored`, which builds it apart and sets PYTHONHASHSEED.
* A slot is known by its address, and named when it is made. What has been made is kept until the execution is taken
  back, so no address is used twice.
* A read cannot raise. Where a call is to end there, it goes on, alone, to its next access that can.
* The seam holds the modules to the rules of pins (`ctrie/c/epoch.h`); to break one is a finding.
* With `ideal`, values are released as early as the rules of pins allow, and every execution begins on a fresh trie.
  Under PYTHONMALLOC=debug a pointer that is used after its pin then leads to a finding, or to a crash.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Final
from unittest import mock

from stress.explorer.coroutines import Coroutines
from stress.explorer.experiment import Finding, Look
from stress.explorer.machine import BoundCall, Execution, Strategy
from stress.explorer.scenario import Scenario
from stress.explorer.slots import LOAD, threading_module
from stress.history import UNSEEN
from stress.recorder.record import Deferred
from stress.tries.compiled_names import CompiledNames
from stress.tries.experiment import CONTENT, TrieExperiment
from stress.tries.hashes import HASHES, SUBSCRIBER_HASHES, W, unmix
from stress.tries.scenarios import Start
from stress.tries.targets import SubscriptionsUnderTest
from stress.tries.trie_copy import LEVELS, TrieCopy

__all__ = ["CompiledCopy", "CompiledExperiment", "NotBuilt", "load_compiled"]

MODULE: Final = "explored_seam"


class NotBuilt(RuntimeError):
    """This process does not run modules that can be explored."""


class Place:
    """A slot of the compiled twin, as the machine knows slots: by `_name` (None: made before all executions), and what
    it holds now. `kind` is the type that it is in.
    """

    __slots__ = ("_name", "_peek", "address", "kind")

    def __init__(self, peek: Any, address: int, name: int | None, kind: str) -> None:
        self._peek, self.address, self._name, self.kind = peek, address, name, kind

    @property
    def _value(self) -> Any:
        return self._peek(self.address)


class _Journal:
    """As `Seam.journal`."""

    def __init__(self, seam: CompiledSeam) -> None:
        self._seam = seam

    def __len__(self) -> int:
        return self._seam.native.changes()  # type: ignore[no-any-return]

    def clear(self) -> None:
        self._seam.keep()


class CompiledSeam:
    """As `stress.explorer.slots.Seam`. `native` is the module behind it."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self.scheduler: Any = None
        self.journal: Any = _Journal(self)
        self.ideal = False
        self._before: Any = None
        self._made: dict[int, Place] = {}
        self._lasting: dict[int, Place] = {}
        self._count = 0
        native.begin(False)

    @property
    def before(self) -> Any:
        """As `Seam.before`."""
        return self._before

    @before.setter
    def before(self, function: Any) -> None:
        self._before = function
        self.native.set_functions(None if function is None else self._access, self._note)

    @property
    def after(self) -> Any:
        """As `Seam.after`."""
        return None

    @after.setter
    def after(self, function: Any) -> None:
        self.native.set_after(None if function is None else partial(function, None))

    def begin(self, ideal: bool) -> None:
        """Forget all slots. With `ideal`, what is displaced from now on is released as soon as it may be."""
        self._lasting.clear()
        self._made.clear()
        self.ideal, self._count = ideal, 0
        self.before = None
        self.native.begin(ideal)

    def keep(self) -> None:
        """What has been made until now, and changed, stays."""
        self.native.take_back(0, True, False)
        self._lasting.update(self._made)
        self._made.clear()

    def take_back(self, mark: int = 0) -> None:
        """As `Seam.take_back`."""
        if self.ideal:
            return
        self.native.take_back(mark, mark == 0)
        if mark == 0:
            self._made.clear()

    @contextmanager
    def call(self, thread: int = 0) -> Iterator[None]:
        """A call by a thread, from 1 on, or by whoever explores."""
        self.native.enter(thread)
        try:
            yield
        finally:
            self.native.leave()

    def _name(self) -> int | None:
        if self.scheduler is not None:
            return self.scheduler.name()  # type: ignore[no-any-return]
        if self.ideal:  # a fresh trie for each execution, made alike
            self._count += 1
            return -self._count
        return None

    def _note(self, address: int, count: int, kind: str) -> None:
        for number in range(count):
            at = address + 8 * number
            self._made[at] = Place(self.native.peek, at, self._name(), kind.rpartition(".")[2])

    def _access(self, address: int, expected: Any = LOAD, desired: Any = None) -> None:
        place = self._made.get(address) or self._lasting.get(address)
        if place is None:
            place = self._lasting[address] = Place(self.native.peek, address, None, "Slot")
        self._before(place, expected, desired)


class CompiledCopy(TrieCopy):
    """The twin of this process."""

    seam: Any

    def __init__(self, seam: CompiledSeam, ideal: bool, coroutines: Coroutines | None) -> None:
        modules = {name: sys.modules[name] for name in ("ctrie", "subtrie", "subtrie.fields", "ctrie._nodes")}
        super().__init__(modules, seam, coroutines)  # type: ignore[arg-type]
        self.ideal = ideal

    def make(self, target: str, start: Start) -> Any:
        """As `TrieCopy.make`."""
        with self.seam.call():
            return super().make(target, start)

    def empty(self, target: str, **settings: Any) -> Any:
        """As `TrieCopy.empty`."""
        subject = super().empty(target, **settings)
        return _Named(subject.trie) if type(subject) is SubscriptionsUnderTest else subject


class _Subscriber(str):
    """A subscriber whose hash lies on the path of its name."""

    __slots__ = ()

    def __hash__(self) -> int:
        raw = unmix(SUBSCRIBER_HASHES[str.__str__(self)])
        return raw - (1 << 64) if raw >> 63 else raw


_SUBSCRIBERS: Final[dict[str, _Subscriber]] = {}


def _named(subscriber: str) -> Any:
    known = _SUBSCRIBERS.get(subscriber)
    if known is None and subscriber in SUBSCRIBER_HASHES:
        known = _SUBSCRIBERS[subscriber] = _Subscriber(subscriber)
    return subscriber if known is None else known


def _plain(answer: Any) -> Any:
    """An answer with the names of subscribers in their places."""
    if isinstance(answer, str):
        return str.__str__(answer)
    return type(answer)(map(_plain, answer)) if isinstance(answer, (tuple, list)) else answer


class _Named(SubscriptionsUnderTest):
    """As `SubscriptionsUnderTest`, of subscribers that stand where `SUBSCRIBER_HASHES` has them."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.trie, name)
        return lambda *args: _plain(method(*args))

    def subscribe(self, filter: str, subscriber: str) -> Any:
        """As the trie's."""
        return self.trie.subscribe(filter, _named(subscriber))

    def unsubscribe(self, filter: str, subscriber: str) -> Any:
        """As the trie's."""
        return self.trie.unsubscribe(filter, _named(subscriber))

    def filters(self, subscriber: str) -> Any:
        """As the trie's."""
        return list(self.trie.filters(_named(subscriber)))

    def entries(self, topic: str) -> Any:
        """As of any trie."""
        return _plain(super().entries(topic))

    def deliveries(self, topic: str) -> Any:
        """As of any trie."""
        return _plain(super().deliveries(topic))

    def match_many(self, topic: str) -> Any:
        """As of any trie."""
        return _plain(super().match_many(topic))

    def deliveries_many(self, topic: str) -> Any:
        """As of any trie."""
        return _plain(super().deliveries_many(topic))

    def subscriptions(self) -> Any:
        """As of any trie."""
        return _plain(super().subscriptions())

    def snapshot(self) -> Deferred:
        """As of any trie."""
        taken = super().snapshot()
        return Deferred(lambda: _plain(taken.read()))


class CompiledExperiment(TrieExperiment):
    """A scenario on the compiled twin."""

    twin: CompiledCopy

    def __init__(self, twin: CompiledCopy, scenario: Scenario) -> None:
        twin.seam.begin(False)
        self._fresh_shapes: dict[Any, Any] = {}
        super().__init__(twin, scenario)
        if twin.ideal:
            twin.seam.begin(True)

    def run(self, strategy: Strategy) -> tuple[Execution, Finding | None]:
        """As `Experiment.run`; and whether a rule of pins has been broken."""
        seam = self.twin.seam
        execution, finding = super().run(strategy)
        fault = seam.native.fault()
        if fault is not None and finding is None:
            finding = self._finding(execution, "structure", fault, execution.answers)
        return execution, finding

    def names(self) -> CompiledNames:
        """As `Experiment.names`."""
        return CompiledNames()

    def _plans(self) -> Sequence[Sequence[BoundCall]]:
        super()._plans()
        self.twin.seam.native.begin_order()
        if self.twin.ideal:
            self.subject = self._trie = None
            self.twin.seam.begin(True)
            self.subject = self._made()
            self._follow_subject()
        return [
            [(partial(self._call, number, method), args) for method, args in calls]
            for number, calls in enumerate(self._calls, start=1)
        ]

    def _call(self, thread: int, method: Any, *args: Any) -> Any:
        with self.twin.seam.call(thread):
            return method(*args)

    def _judge(self, execution: Execution) -> Finding | None:
        with self.twin.seam.call():
            return super()._judge(execution)

    def _look(self, execution: Execution) -> Look:
        """As of any trie; but a structure cannot be told from another one as quickly as it can be looked at."""
        whole = all(begun == -1 for begun in execution.begun)
        mark = len(self.twin.seam.journal)
        content, broken = self._examine(whole)
        if mark:
            self.twin.seam.take_back(mark)
        seen = () if content is UNSEEN else ((CONTENT[self.scenario.target], (), content),)
        return Look((None if content is UNSEEN else content, broken), seen, broken)

    def _shape(self, trie: Any) -> Any:
        root = next(held for held in _held_by(trie) if type(held).__name__ == "Root")
        return _shape_of(self.twin.nodes, root, None)

    def _fresh(self, content: Any) -> Any:
        if content not in self._fresh_shapes:
            self._fresh_shapes[content] = super()._fresh(content)
        return self._fresh_shapes[content]


def _held_by(node: Any) -> list[Any]:
    return gc.get_referents(node)


def _shape_of(nodes: Any, root: Any, inode: Any) -> Any:
    """The kinds of nodes below an I-node, and of the levels below these."""
    levels = []
    for branch in nodes.check_level(root, inode):
        below = [held for held in _held_by(branch) if type(held) is nodes.INode]
        levels += [(branch.key, _shape_of(nodes, root, level)) for level in below]
    return _without_order(nodes.shape(root, inode)), frozenset(levels)


def _without_order(shape: Any) -> Any:
    kind = shape[0]
    if kind == "S":
        return shape
    inner = map(_without_order, shape[1:])
    return kind, frozenset(inner) if kind == "L" else tuple(inner)


def load_compiled(ideal: bool = False, coroutines: Coroutines | None = None) -> CompiledCopy:
    """The twin of this process, as `load_copy`.

    Raises:
        NotBuilt: its modules are not those of `make explored`, or their hashes are other ones in each process.
    """
    return CompiledCopy(_seam(), ideal, coroutines)


@cache
def _seam() -> CompiledSeam:
    """The seam of this process, whose modules are imported with names on the paths of `HASHES`."""
    try:
        native = importlib.import_module(MODULE)
    except ModuleNotFoundError:
        raise NotBuilt("the modules here cannot be explored: make explored builds such ones, and runs them") from None
    if os.environ.get("PYTHONHASHSEED") != "0":
        raise NotBuilt("schedules of compiled modules come again with PYTHONHASHSEED=0 only: make explored sets it")
    for word, hash in HASHES.items():
        native.know(word, hash)
    with mock.patch.object(os, "urandom", bytes):  # the secret of words that are on no path
        for name in ("ctrie", "subtrie", "subtrie.fields"):
            importlib.import_module(name)
    nodes: Any = importlib.import_module("ctrie._nodes")
    if not hasattr(nodes, "__pyx_capi__"):
        raise NotBuilt("this process runs the interpreted twin: make explored runs the compiled one")
    native.set_int(nodes.__pyx_capi__["HASH_BITS"], LEVELS * W)
    _follow(native, importlib.import_module("ctrie._native").Slot)
    seam = CompiledSeam(native)
    explored = threading_module(seam)  # type: ignore[arg-type]
    for name in ("ctrie._creation", "ctrie._thread_owner"):
        vars(importlib.import_module(name))["threading"] = explored
    return seam


def _follow(native: Any, kind: type) -> None:
    """Be told of all slots that are made; C-nodes and rows say it themselves."""
    if kind.__name__ != "CNode":
        native.follow(kind)
    kinds: list[type] = kind.__subclasses__()
    for below in kinds:
        _follow(native, below)
