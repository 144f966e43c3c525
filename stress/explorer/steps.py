"""Dependence: what matters when a step is swapped with a step of another thread.

Two steps of different threads depend on each other if

* both access one slot, and one of them changes it (a failing compare-and-set is a read);
* one of them returns from a call and the other one begins a call: their order is the real-time order of the history.

Executions that differ only by swaps of neighbouring independent steps have the same visible result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from stress.explorer.machine import Execution
from stress.explorer.places import Several, meet

__all__ = ["Step", "name_of", "step_of"]


class Step(NamedTuple):
    """`slot` is the slot's name, as `name_of` has it."""

    slot: Any
    wrote: bool
    calls: bool
    returns: bool

    def depends_on(self, other: Step) -> bool:
        """Whether the order of the two matters."""
        if self.wrote or other.wrote:
            mine, its = self.slot, other.slot
            if mine == its or ((type(mine) is Several or type(its) is Several) and meet(mine, its)):
                return True
        return (self.calls and other.returns) or (self.returns and other.calls)


def name_of(execution: Execution, at: int) -> Any:
    """The place that step number `at` of an execution accesses: the slot's name, or the slot itself if it is older than
    the execution. An object that is not a slot has no name.
    """
    slot = execution.slots[at]
    name = getattr(slot, "_name", None)
    return slot if name is None else name


def step_of(execution: Execution, at: int) -> Step:
    """Step number `at` of an execution."""
    return Step(name_of(execution, at), at in execution.wrote, at in execution.called, at in execution.returned)
