"""Private copies of the interpreted twin, whichever twin the test process runs, on slots that can be watched.

`load_twin(fault)` imports a copy with a fault in its source. A test that passes on that copy does not test for the
fault.

`Together` is a scenario for the explorer that a test judges itself, for what no specification tells. `count`, `changes`,
`suspend` and `interfere` are for one operation alone: no schedule is chosen there.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

from stress.explorer.experiment import Experiment, Finding
from stress.explorer.machine import BoundCall, Execution, Machine
from stress.explorer.scenario import Scenario
from stress.explorer.slots import Seam
from stress.history import UNSEEN
from tests.tries.source_copy import Change as Fault
from tests.tries.source_copy import import_privately, interpreted_twin
from tests.tries.stand_ins import slot_module
from tests.tries.trie_copy import suspend

__all__ = ["Fault", "Together", "Twin", "load_twin"]

LIVELOCK = 100_000  # accesses; an operation of these tests needs less than half of it, unless it loops


class Twin:
    """A private copy of the interpreted packages. `modules` has them by name."""

    def __init__(self, modules: dict[str, ModuleType], seam: Seam) -> None:
        self.modules, self.seam = modules, seam
        self.nodes: Any = modules["ctrie._nodes"]
        self.Ctrie: Any = modules["ctrie"].Ctrie
        self.CtrieSet: Any = modules["ctrie"].CtrieSet

    @functools.cached_property
    def machine(self) -> Machine:
        machine = Machine(self.seam)
        machine.most = LIVELOCK
        return machine

    def count(self, operation: Callable[[], Any]) -> int:
        """Run `operation` and return how many accesses it made."""
        numbers: list[int] = []
        self.interfere(operation, numbers.append)
        return len(numbers)

    def interfere(self, operation: Callable[[], Any], other: Callable[[int], Any]) -> Any:
        """Run `operation`; before its k-th access call `other(k)`, for every k. Return the operation's answer."""
        numbers = iter(range(1, LIVELOCK))

        def before(*_: object) -> None:
            number = next(numbers, 0)
            assert number, "livelock"
            self.seam.before = None
            try:
                other(number)
            finally:
                self.seam.before = before

        self.seam.before = before
        try:
            return operation()
        finally:
            self.seam.before = None

    def changes(self, operation: Callable[[], Any]) -> int:
        """Run `operation` and return how often it changed a slot."""
        changed: list[object] = []
        self.seam.after = changed.append
        try:
            operation()
        finally:
            self.seam.after = None
        return len(changed)

    def suspend(self, operation: Callable[[], Any], after_changes: int) -> None:
        """Run `operation` until it has changed slots this many times, and never any further."""
        suspend(self.seam, operation, after_changes)


@functools.cache
def load_twin(fault: Fault | None = None, packages: Sequence[str] = ("ctrie",)) -> Twin:
    """Import a private copy of `packages` from their sources, with `fault` in them if one is given."""
    seam = Seam(takes_back=False)
    ours = {"ctrie._slot": slot_module(seam), "ctrie._build_choice": interpreted_twin()}
    return Twin(import_privately(packages, ours, [] if fault is None else [fault]), seam)


class Together(Experiment):
    """Functions of one fresh object, each in a thread of its own. After every schedule `judge` is called with the
    object and with what they answered (UNSEEN where one stopped), and raises if that is wrong. `execution` is the
    latest one.
    """

    def __init__(
        self,
        twin: Twin,
        make: Callable[[], Any],
        functions: Sequence[Callable[[Any], Any]],
        judge: Callable[..., object],
    ) -> None:
        super().__init__(twin.machine, Scenario("", "", tuple(((f"call {n}", ()),) for n in range(len(functions)))))
        self._make, self._functions, self._is_right = make, functions, judge
        self.execution = Execution()

    def _plans(self) -> Sequence[Sequence[BoundCall]]:
        seam = self.machine.seam
        names: Any = SimpleNamespace(name=itertools.count(-1, -1).__next__)  # the same in every execution
        seam.scheduler = names
        try:
            self._object = self._make()
        finally:
            seam.scheduler = None
        return [[(function, (self._object,))] for function in self._functions]

    def _judge(self, execution: Execution) -> Finding | None:
        self.execution = execution
        assert not execution.trouble, execution.trouble
        answers = [log[0][2] if log else UNSEEN for log in execution.logs]
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        self._is_right(self._object, *answers)
        return None
