"""The compiled twin on explored slots: the machine code that ships, except for the operations of its slots.

Modules that were built with CTRIE_EXPLORED=1 call `explored_seam` before every access (`seam/` contains it). Here that
seam is connected to the explorer's machine, which runs on it as on the interpreted copy: the same scenarios, strategies
and verdicts. The differences:

* There is one such twin in a process, and only after `make explored`, which builds it separately and sets
  PYTHONHASHSEED.
* A slot is identified by its address, and named when it is made. New objects are kept until the execution is undone, so
  no address is used twice.
* A read cannot raise. If a call is to end at a read, it continues, alone, to its next access that can raise.
* The seam checks that the modules obey the rules of pins (`ctrie/c/epoch.h`); a violation is a finding.
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
from stress.explorer.slots import LOAD
from stress.recorder.record import Deferred
from tests.tries.experiment import TrieExperiment
from tests.tries.hashes import HASHES, SUBSCRIBER_HASHES, W, unmix
from tests.tries.names import CompiledNames
from tests.tries.scenarios import Start
from tests.tries.targets import SubscriptionsUnderTest
from tests.tries.trie_copy import LEVELS, TrieCopy, explore_waits

MODULE: Final = "explored_seam"


class NotBuilt(RuntimeError):
    """This process does not run modules that can be explored."""


class Place:
    """A slot of the compiled twin, in the form that the machine uses: its `_name` (None: made before all executions),
    and its present value. `kind` is the type of the object that contains it.
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
    """As `stress.explorer.slots.Seam`. `native` is the module that implements it."""

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
        """Forget all slots. With `ideal`, replaced values are from now on released as soon as the rules allow."""
        self._lasting.clear()
        self._made.clear()
        self.ideal, self._count = ideal, 0
        self.before = None
        self.native.begin(ideal)

    def keep(self) -> None:
        """Keep everything that has been made and changed until now."""
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
        """A call by a thread, from 1 on, or by the exploring code (0)."""
        self.native.enter(thread)
        try:
            yield
        finally:
            self.native.leave()

    def _name(self) -> int | None:
        if self.scheduler is not None:
            return self.scheduler.name()  # type: ignore[no-any-return]
        if self.ideal:  # each execution gets a fresh trie, always made in the same way
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


class _PythonSide:
    """What the seam is to Python code that waits (`threading_module`). While a step is made there, other threads may
    run, and afterwards the native seam is told which thread goes on.
    """

    def __init__(self, seam: CompiledSeam) -> None:
        self._seam = seam

    @property
    def scheduler(self) -> Any:
        """As `Seam.scheduler`."""
        return None if self._seam.scheduler is None else self

    @property
    def before(self) -> Any:
        """As `Seam.before`."""
        return None if self._seam.before is None else partial(self._step, self._seam.before)

    def __getattr__(self, name: str) -> Any:
        """As `Scheduler`, which is asked for names and identities, and told who wakes."""
        return getattr(self._seam.scheduler, name)

    def wait(self, event: Any) -> None:
        """As `Scheduler.wait`."""
        self._step(self._seam.scheduler.wait, event)

    def _step(self, make: Any, *what: Any) -> None:
        native = self._seam.native
        me, made = native.me(), False
        try:
            make(*what)
            made = True
        finally:
            native.go_on(me, made)


_MODULES: Final = ("ctrie", "subtrie", "subtrie.fields", "ctrie._nodes", "subtrie._trie.draws")


class CompiledCopy(TrieCopy):
    """The twin of this process."""

    seam: Any

    def __init__(self, seam: CompiledSeam, ideal: bool, coroutines: Coroutines | None) -> None:
        modules = {name: sys.modules[name] for name in _MODULES}
        super().__init__(modules, seam, coroutines)  # type: ignore[arg-type]
        self.ideal = ideal

    def make(self, target: str, start: Start) -> Any:
        """As `TrieCopy.make`."""
        with self.seam.call():
            return super().make(target, start)

    def empty(self, target: str, **settings: Any) -> Any:
        """As `TrieCopy.empty`."""
        subject = super().empty(target, **settings)
        return Named(subject) if type(subject) is SubscriptionsUnderTest else subject


class _Subscriber(str):
    """A subscriber whose hash is on the path of its name."""

    __slots__ = ()

    def __hash__(self) -> int:
        raw = unmix(SUBSCRIBER_HASHES[str.__str__(self)])
        return raw - (1 << 64) if raw >> 63 else raw


_SUBSCRIBERS: Final = {name: _Subscriber(name) for name in SUBSCRIBER_HASHES}


def _as_known(argument: Any) -> Any:
    """An argument with each subscriber on the path of its name."""
    if isinstance(argument, str):
        return _SUBSCRIBERS.get(argument, argument)
    return tuple(map(_as_known, argument)) if isinstance(argument, tuple) else argument


def _plain(answer: Any) -> Any:
    """An answer with each subscriber replaced by its name."""
    if isinstance(answer, str):
        return str.__str__(answer)
    if isinstance(answer, Deferred):
        return Deferred(lambda: _plain(answer.read()))
    return type(answer)(map(_plain, answer)) if isinstance(answer, (tuple, list)) else answer


class Named:
    """Subscriptions under test, with subscribers whose hashes are those of `SUBSCRIBER_HASHES`. (No filter and no topic
    has the name of one.)"""

    def __init__(self, subject: SubscriptionsUnderTest) -> None:
        self.trie, self._subject = subject.trie, subject

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._subject, name)
        return lambda *args: _plain(method(*map(_as_known, args)))


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
        """As `Experiment.run`; also reports a violation of the rules of pins."""
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
            for number, calls in enumerate(self._bound, start=1)
        ]

    def _call(self, thread: int, method: Any, *args: Any) -> Any:
        with self.twin.seam.call(thread):
            return method(*args)

    def _judge(self, execution: Execution) -> Finding | None:
        with self.twin.seam.call():
            return super()._judge(execution)

    def _look(self, execution: Execution) -> Look:
        """As in the base class, but always anew: comparing structures takes longer than looking at them."""
        return self._examined(all(begun == -1 for begun in execution.begun))

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
    """The twin of this process, like `load_copy`.

    Raises:
        NotBuilt: its modules are not those of `make explored`, or their hashes differ from process to process.
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
    with mock.patch.object(os, "urandom", bytes):  # the hash secret of words that are on no path
        for name in ("ctrie", "subtrie", "subtrie.fields"):
            importlib.import_module(name)
    nodes: Any = importlib.import_module("ctrie._nodes")
    if not hasattr(nodes, "__pyx_capi__"):
        raise NotBuilt("this process runs the interpreted twin: make explored runs the compiled one")
    native.set_int(nodes.__pyx_capi__["HASH_BITS"], LEVELS * W)
    _follow(native, importlib.import_module("ctrie._native").Slot)
    seam = CompiledSeam(native)
    explore_waits(sys.modules, _PythonSide(seam))
    return seam


def _follow(native: Any, kind: type) -> None:
    """Report all slots that are made; C-nodes and rows report their slots by themselves."""
    if kind.__name__ != "CNode":
        native.follow(kind)
    kinds: list[type] = kind.__subclasses__()
    for below in kinds:
        _follow(native, below)
