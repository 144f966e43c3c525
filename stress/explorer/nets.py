"""What is tried before "every schedule" is said. If it shows an answer that is not right, a step was missed.

Between two steps a thread does nothing that another one can tell, if the explorer has missed no step. So some schedules
are executed in which threads also stop where there is no step (`missed_between`). The sites of the instrumented code
are the places to stop at. Each of these schedules changes threads once, or twice: of the many places, most are passed
by in all schedules that are told from others by steps alone.

Then threads of the operating system make the same calls for a moment (`contradiction`). What they see must be among
what the explorer has seen.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from random import Random
from types import FrameType
from typing import Any, Final

from stress.checker.check import Budget, check
from stress.checker.waiting import may_wait
from stress.explorer import sites
from stress.explorer.experiment import Experiment
from stress.explorer.machine import Drift, Machine, Strategy, frames
from stress.explorer.outliving import Snapshot
from stress.explorer.policy import Refused, Treatment, treatment_of
from stress.explorer.scenario import Scenario
from stress.explorer.strategies import drawn_of
from stress.history import Call
from stress.outside import Outside
from stress.recorder.around import executed
from stress.recorder.record import record
from stress.spec import Spec
from stress.verdicts import Verdict

__all__ = ["contradiction", "missed_between"]

_SECONDS: Final = 0.1
"""How long each net takes."""
_MOST_SECONDS: Final = 2.0
_LEAST: Final = 60
"""Executions, however long they take."""
_MOST: Final = 200
_LONGEST: Final = 3_000
"""Places to stop at, in one execution."""
_PASSING: Final = frozenset({"meets_new", "turn", "go_on", "note_made"})
"""What a site tells the state that is no use of anything. All else is told just before its instruction."""


def missed_between(experiment: Experiment, state: Any, random: Random, seconds: float | None = None) -> str:
    """Where a step was missed, as far as these schedules show it; empty if they show nothing. `seconds`: how long it
    may take; None: as long as it needs for the least number of executions.
    """
    machine = experiment.machine
    stopping = _Stopping(random)
    sites.use(_Stops(state, machine, stopping))
    machine.between = True
    soon, late = (_SECONDS, _MOST_SECONDS) if seconds is None else (seconds, seconds)
    try:
        begun = time.monotonic()
        for number, (first, at) in enumerate(_places(stopping, len(experiment.scenario.threads), random)):
            stopping.begins_with, stopping.at = first, at
            _, finding = experiment.run(stopping)
            if finding is not None and finding.kind != "livelock":
                where = "; ".join(dict.fromkeys(stopping.stopped)) or "where a call begins"
                return f"an access was not seen: what happens is wrong if a thread stops between steps ({where})"
            if number >= _MOST or time.monotonic() - begun >= (soon if number >= _LEAST else late):
                break
    except (Drift, Refused):
        pass  # such an execution shows nothing
    finally:
        machine.between = False
        sites.use(state)
    return ""


def _places(stopping: _Stopping, threads: int, random: Random) -> Iterator[tuple[int, frozenset[int]]]:
    """Which thread begins, and the numbers of the places where threads change: one place, and then two. The first time
    and the last time that each site is passed come before all others, which may be thousands of turns of one loop.
    """
    lengths = []
    ends: set[tuple[int, int]] = set()
    for first in range(threads):
        yield first, frozenset()
        lengths.append(min(stopping.passed, _LONGEST))
        ends.update((first, at) for passed in stopping.passes.values() for at in passed)
    once = [(first, at) for first, length in enumerate(lengths) for at in range(1, length)]
    for places in (sorted(ends), [each for each in once if each not in ends]):
        for first, at in sorted(places, key=lambda _: random.random()):
            yield first, frozenset({at})
    while True:
        first = int(random.random() * threads)
        yield first, frozenset(1 + int(random.random() * lengths[first]) for _ in range(2))


class _Stopping(Strategy):
    """Lets a thread go on, but for the places in `at`, which are counted along an execution."""

    def __init__(self, random: Random) -> None:
        self._random = random.random  # its other methods may have steps
        self.at: frozenset[int] = frozenset()
        self.begins_with = 0
        self.passed = 0
        self.passes: dict[tuple[int, int], tuple[int, int]] = {}
        """The first and the last number of each site in each thread, along the execution."""
        self.stopped: list[str] = []
        """Where a thread has stopped between steps."""

    def begin(self, machine: Machine) -> None:
        """As `Strategy.begin`."""
        super().begin(machine)
        self.passed = 0
        self.passes.clear()
        self.stopped.clear()

    def decide(self, me: int) -> int:
        """As `Strategy.decide`."""
        if not self.passed:
            self.passed = 1
            return self.begins_with
        self.passed += 1
        enabled = self.machine.enabled
        if me >= 0 and enabled >> me & 1:
            if self.passed not in self.at or enabled == 1 << me:
                return me
            enabled &= ~(1 << me)
        return drawn_of(enabled, self._random)


class _All:
    """Contains all."""

    def __contains__(self, _: object) -> bool:
        return True


class _Stops:
    """Stands for the state of an exploration before the sites, and lets threads stop at them."""

    def __init__(self, state: Any, machine: Machine, strategy: _Stopping) -> None:
        self._state, self._machine, self._strategy, self.names = state, machine, strategy, _All()

    def __getattr__(self, name: str) -> Any:
        # Before the site calls the method: that one looks at the frame from which it is called.
        if name not in _PASSING and self._state.listens and self._machine.seam.before is not None:
            self._stop(sys._getframe(1))
        return getattr(self._state, name)

    def _stop(self, frame: FrameType) -> None:
        strategy, site = self._strategy, frame.f_locals.get("self")

        def noting(me: int) -> int:
            to = strategy.decide(me)
            here, at = (me, id(site)), strategy.passed
            strategy.passes[here] = strategy.passes.get(here, (at, at))[0], at
            if to != me:
                strategy.stopped.append(str(site))
            return to

        # A function without steps that has called back what runs may hold a lock of the system's.
        if all(treatment_of(each.f_code) is not Treatment.OPAQUE for each in frames()):
            self._machine.pause(noting)


_MOST_ROUNDS: Final = 40
_PATIENCE: Final = 1.0
_YIELDS: Final = (0.2, 0.05, 0.5)
_BUDGET: Final = Budget(steps=200_000, seconds=1.0)


def contradiction(factory: Callable[[], Any], spec: Spec, scenario: Scenario, seed: int) -> str:
    """What speaks against the verdict that every schedule is right; empty if nothing does, or nothing can be told."""
    calls = scenario.calls
    with Outside():
        if may_wait(spec, calls):
            return ""
        before, until = Snapshot([factory]), time.monotonic() + _SECONDS
        try:
            for number in range(_MOST_ROUNDS):
                try:
                    history = executed(
                        factory(), scenario.threads, spec, scenario.at_start, scenario.at_end,
                        yields=_YIELDS[number % len(_YIELDS)], seed=f"{seed}/{number}",
                    )  # fmt: skip
                finally:
                    before.put_back()
                if check(history, spec, budget=_BUDGET).verdict is Verdict.ILLEGAL:
                    if not _is_right(factory, spec, calls, before):
                        break  # what outlives the object has changed
                    told = ", ".join(f"thread {each.thread}: {each.describe()}" for each in history)
                    return f"real threads got what none of these schedules gives ({told}): use stress.run"
                if time.monotonic() >= until:
                    break
        except Exception:  # noqa: BLE001 - a call that waits, or one at the start that needs the explorer
            pass
    return ""


def _is_right(factory: Callable[[], Any], spec: Spec, calls: list[Call], before: Snapshot) -> bool:
    """Whether one thread alone gets right answers now: what outlives the object may be in another state. What
    the calls change is put back to how it was `before`.
    """
    try:
        history = record(factory(), [[calls]], spec, patience=_PATIENCE)
        return check(history, spec, budget=_BUDGET).verdict is Verdict.LINEARIZABLE
    except Exception:  # noqa: BLE001 - as above
        return False
    finally:
        before.put_back()
