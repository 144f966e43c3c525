"""The strategies: which thread makes each step.

`reduced`: every execution with a different visible result, and as few others as possible.

Dynamic partial order reduction (Flanagan and Godefroid, POPL 2005) in the form of source sets with sleep sets
(Abdulla, Aronis, Jonsson, Sagonas: *Optimal Dynamic Partial Order Reduction*, POPL 2014). `Step` defines which steps
depend on each other.

If two steps of an execution depend on each other but could have happened in the other order, the explorer goes back and
executes that order. Executions that differ only by swaps of independent steps are executed once.

A thread that waits for a lock can make no step, so a release and the next taking of the lock cannot be swapped. Instead
the two that took it are: the next one may come first if it happened later for no other reason. A thread that waits to
the end counts as if it took the lock then.

`bounded`, depth first, by number of preemptions: every schedule with at most a given number, those with fewer first.

A preemption lets another thread make a step although the previous thread could continue. Most faults need one or two
preemptions, and there are few schedules with so few. So a fault is found with the plainest schedule that shows it.

A preempted thread sleeps until another thread makes a step on which the preempted thread's own next step depends. If it
continued earlier, the preemption would have no effect: preempting it one step later gives the same execution, except
for swaps of independent steps, with no more preemptions. Of all such schedules, the one in which threads run on for as
long as they can is executed. (A thread that did not begin, because another one did, does not sleep: to let it go first
might take one more preemption.) For the same reason no thread is preempted before an access of a slot that, as far as
is known, only one thread accesses or no thread changes. The first execution that shows otherwise brings up the
schedules that were put off.

`sampled`: schedules drawn at random, where every thread that can make a step makes it with the same probability.

`stopped_for_ever`: one thread stops, at every point in turn. All the others must come to their ends without it.

This tests lock-freedom and helping. The first thread makes k steps and no more, for every k until it ends by itself.
Meanwhile the others run under every schedule with at most the given number of preemptions. The first thread's last call
is pending: it may have taken effect or not.

`minimise` makes a finding small: fewer calls, then fewer preemptions, each time by a new search.

The result is a finding of its own, which has been executed and judged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from operator import ge
from random import Random
from typing import Any, Final, NamedTuple

from stress.checker.waiting import may_wait
from stress.explorer.coroutines import MAIN
from stress.explorer.experiment import Experiment, Finding
from stress.explorer.machine import NO_STEPS, Drift, Execution, Machine, Step, Strategy, lowest, name_of
from stress.explorer.scenario import Scenario
from stress.explorer.slots import Several
from stress.explorer.trace import execute_again
from stress.history import Call
from stress.spec import Spec

__all__ = [
    "Switch", "Switches", "bounded", "drawn_of", "in_all_ways", "minimise", "reduced", "sampled",
    "stopped_for_ever",
]  # fmt: skip


# --------------------------------------------------------------------------------------- every execution that differs


@dataclass(slots=True)
class _Node:
    """The state before a step: which threads can make it, which have and which should, and which need not (`asleep`,
    because the next step of a sleeping thread has been seen already). `clock` has, for each thread, the number of its
    last step that happened before this step or is this step. `slept` are the threads that were asleep at first.
    """

    enabled: int
    asleep: dict[int, Step]
    chosen: int
    wanted: int = 0
    done: int = 0
    step: Step | None = None
    clock: Sequence[int] = ()
    slept: int = 0

    def next(self) -> int:
        """Another thread to make the step; `MAIN` if there is none."""
        left = self.wanted & ~(self.done | self.slept)
        return lowest(left) if left else MAIN


class _Reduction(Strategy):
    """The strategy, and its present path."""

    def __init__(self, threads: int) -> None:
        self.path: list[_Node] = []
        self._threads = threads
        self._given = 0
        self._latest: list[int] = []
        """The last step of each thread before the one whose races are looked for."""
        self._names: list[Any] = []
        self._wrote: set[int] = set()

    def begin(self, machine: Machine) -> None:
        super().begin(machine)
        self._given = len(self.path)

    def decide(self, me: int) -> int:
        """As `Strategy.decide`: first along the path, then on with the running thread, unless it is asleep."""
        machine = self.machine
        at = machine.step
        if at < self._given:
            to = self.path[at].chosen
            if not machine.enabled >> to & 1:
                raise Drift.at(to, at)
            return to
        if at < len(self.path):  # the step was given to a thread that began to wait instead
            del self.path[at:]
        asleep = self._asleep(machine.execution) if at and self.path[-1].asleep else {}
        slept = 0
        for thread in asleep:
            slept |= 1 << thread
        awake = machine.enabled & ~slept
        if not awake:
            return MAIN
        to = me if me >= 0 and awake >> me & 1 else lowest(awake)
        self.path.append(_Node(machine.enabled, asleep, to, wanted=1 << to, done=1 << to, slept=slept))
        return to

    def _asleep(self, execution: Execution) -> dict[int, Step]:
        """The threads asleep after the last step: those asleep before, except the ones that depend on the step."""
        node = self.path[-1]
        step = execution.step(len(self.path) - 1)
        return {
            thread: other
            for thread, other in node.asleep.items()
            if thread != node.chosen and not other.depends_on(step)
        }

    def learn(self, execution: Execution) -> None:
        """Record the steps of the execution, and where they could have happened in another order."""
        path, order = self.path, execution.order
        del path[len(order) :]
        first = max(self._given - 1, 0)
        self._compare(execution, min(first, len(order)))
        self._latest = [-1] * self._threads
        for at in range(first):
            self._latest[path[at].chosen] = at
        for later in range(first, len(order)):
            path[later].step = execution.step(later)
            taken, freed = execution.taken.get(later, NO_STEPS)
            latest = self._latest[path[later].chosen]
            for earlier in self._racing(later, freed):
                # Unless the step has let a thread on, which could make no step before it.
                let_on = path[earlier + 1].enabled & ~path[earlier].enabled
                if latest >= earlier or not let_on >> path[later].chosen & 1:
                    self._want(earlier, later, path[later].clock)
            if taken >= 0 <= freed:
                self._want_lock(taken, freed, later, latest)
        self._want_of_blocked(execution)

    def _compare(self, execution: Execution, first: int) -> None:
        """Compare the steps before `first` with those of the previous execution, which must be the same.

        Raises:
            Drift: they differ.
        """
        names, wrote = execution.names(), execution.wrote
        if first and (names[:first] != self._names[:first] or min(wrote ^ self._wrote, default=first) < first):
            raise Drift()
        self._names, self._wrote = names, wrote

    def _want_lock(self, earlier: int, freed: int, later: int, latest: int) -> None:
        """Step `later` takes a lock that step `freed` has released and `earlier` has taken. While it was taken, nobody
        could take it, so the race is between those who took it: if nothing but the lock lets `later` happen after
        `earlier`. `latest` is the step of its thread before it.
        """
        path = self.path
        node = path[later]
        step = node.step
        assert step is not None
        clock = path[latest].clock if latest >= 0 else [-1] * self._threads
        for at in range(later - 1, earlier, -1):
            other = path[at]
            if (
                at > clock[other.chosen]
                and other.step is not None
                and (at > freed or (at < freed and other.step.slot != step.slot))
                and step.depends_on(other.step)
            ):
                clock = list(map(max, clock, other.clock))
        if clock[path[earlier].chosen] < earlier:
            self._want(earlier, later, clock)

    def _want_of_blocked(self, execution: Execution) -> None:
        """Threads that wait for locks to the end could have taken them before others did."""
        path, end = self.path, len(self.path)
        for thread, (lock, taken) in execution.blocked.items():
            if taken >= 0:
                calls = execution.begun[thread] in (-2, 2 * end)
                path.append(_Node(0, {}, thread, step=Step(name_of(lock), True, calls, False)))
                self._want_lock(taken, end, end, self._latest[thread])
                path.pop()

    def _racing(self, later: int, freed: int) -> list[int]:
        """The steps that race with step `later`, whose clock is set. To be called for each step in order. The step that
        has `freed` the lock that this one takes comes before it in any case.
        """
        path, racing = self.path, []
        node = path[later]
        step, thread = node.step, node.chosen
        assert step is not None
        clock, latest = [-1] * self._threads, self._latest
        for at in range(later - 1, -1, -1):
            other = path[at]
            if at > clock[other.chosen]:
                if other.chosen == thread:
                    clock = list(map(max, clock, other.clock))
                elif other.step is not None and step.depends_on(other.step):
                    if at != freed:
                        racing.append(at)
                    clock = list(map(max, clock, other.clock))
                else:
                    continue
                if all(map(ge, clock, latest)):
                    break  # all earlier steps happened before
        clock[thread] = latest[thread] = later
        node.clock = clock
        return racing

    def _want(self, earlier: int, later: int, clock: Sequence[int]) -> None:
        """Have `later` happen before `earlier` in some execution: mark a thread to begin that can lead there."""
        path = self.path
        node = path[earlier]
        if node.wanted == node.enabled:
            return
        thread = node.chosen
        free = [at for at in range(earlier + 1, later) if path[at].clock[thread] < earlier]
        free.append(later)
        firsts: dict[int, int] = {}  # of each thread, its first step that need not happen after `earlier`
        initials = 0
        for at in free:
            thread, its = path[at].chosen, clock if at == later else path[at].clock
            if thread not in firsts:
                if all(its[other] < first for other, first in firsts.items()):
                    initials |= 1 << thread
                firsts[thread] = at
        initials &= node.enabled
        if initials & node.wanted:
            return
        mine = 1 << path[later].chosen
        node.wanted |= mine if initials & mine else initials & -initials if initials else node.enabled

    def retreat(self) -> bool:
        """Go back to the last step that another thread should make; False if there is none."""
        path = self.path
        while path:
            node = path[-1]
            assert node.step is not None
            node.asleep[node.chosen] = node.step
            to = node.next()
            if to != MAIN:
                node.chosen, node.step = to, None
                node.done |= 1 << to
                return True
            path.pop()
        return False


def reduced(experiment: Experiment) -> Iterator[Finding | None]:
    """Execute one schedule of every class of equivalent ones; yield the finding or None for each."""
    strategy = _Reduction(len(experiment.scenario.threads))
    while True:
        execution, finding = experiment.run(strategy)
        yield finding  # first: whoever has found something wrong needs no more, and to learn of a livelock takes long
        strategy.learn(execution)
        if not strategy.retreat():
            return


# ---------------------------------------------------------------------------------------------------- few preemptions


class Switch(NamedTuple):
    """Thread `to` makes step `at`. If that preempts another thread, `instead` is what that thread would have done.
    `last` is the step before it.
    """

    at: int
    to: int
    instead: Step | None = None
    last: Step | None = None


Schedule = tuple[Switch, ...]
"""Switches in the order of steps. At all other steps the running thread continues."""

_NEVER = Switch(-1, MAIN)


class Switches(Strategy):
    """The strategy that makes exactly the switches of one schedule; a sleeping thread does not run. `asleep` gives, for
    every step, the threads that slept when it was decided, as bits.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.asleep: list[int] = []
        self._schedule = schedule
        self._rest = iter(schedule)
        self._next = _NEVER
        self._sleepers: dict[int, Step] = {}

    def begin(self, machine: Machine) -> None:
        """As `Strategy.begin`."""
        super().begin(machine)
        self._rest = iter(self._schedule)
        self._next = next(self._rest, _NEVER)
        self._sleepers.clear()
        self.asleep.clear()

    def decide(self, me: int) -> int:
        """As `Strategy.decide`."""
        machine = self.machine
        at, sleepers, asleep = machine.step, self._sleepers, 0
        if sleepers:
            self._wake(machine.execution.step(at - 1))
            for thread in sleepers:
                asleep |= 1 << thread
        del self.asleep[at:]  # the step was given to a thread that began to wait instead
        self.asleep.append(asleep)
        if at == self._next.at:
            return self._switch(me)
        if me >= 0 and machine.enabled >> me & 1:
            return me
        awake = machine.enabled & ~asleep
        return lowest(awake) if awake else MAIN

    def _switch(self, me: int) -> int:
        _, to, instead, _ = self._next
        if not self.machine.enabled >> to & 1:
            raise Drift.at(to, self.machine.step)
        if instead is not None:
            self._sleepers[self.machine.execution.order[-1]] = instead
        self._next = next(self._rest, _NEVER)
        return to

    def _wake(self, made: Step) -> None:
        for thread in [thread for thread, step in self._sleepers.items() if step.depends_on(made)]:
            del self._sleepers[thread]


def bounded(
    experiment: Experiment, preemptions: int, within: Callable[[Strategy], Strategy] | None = None
) -> Iterator[Finding | None]:
    """Execute the schedules with at most this number of preemptions, one of each class with the same visible result.
    Yield the finding or None for each. A schedule that turns out to be like an earlier one is cut short. `within`
    turns the strategy of each schedule into the one to follow.

    Raises:
        Drift: an execution does not begin like the one that it shares its beginning with.
    """
    waiting = _Waiting(preemptions)
    while (schedule := waiting.next()) is not None:
        switches = Switches(schedule)
        execution, finding = experiment.run(switches if within is None else within(switches))
        yield finding
        first = schedule[-1].at + 1 if schedule else 0
        if first > 1 and (len(execution.order) < first or execution.step(first - 2) != schedule[-1].last):
            raise Drift()
        waiting.note(execution, first)
        for switch in _alternatives(execution, switches.asleep, first):
            waiting.add((*schedule, switch))


def _alternatives(execution: Execution, asleep: list[int], first: int) -> Iterator[Switch]:
    """Every other decision from step `first` on."""
    order, enabled = execution.order, execution.enabled
    for at in range(first, len(order)):
        others = enabled[at] & ~asleep[at] & ~(1 << order[at])
        if others:
            preempts = at > 0 and order[at] == order[at - 1] and bool(enabled[at] >> order[at - 1] & 1)
            instead, last = execution.step(at) if preempts else None, execution.step(at - 1) if at else None
            while others:
                thread = lowest(others)
                others &= others - 1
                yield Switch(at, thread, instead, last)


class _Waiting:
    """The schedules to execute, those with fewer preemptions first; and those that are put off until a slot turns out
    to be contended.
    """

    def __init__(self, preemptions: int) -> None:
        self._levels: list[list[Schedule]] = [[] for _ in range(preemptions + 1)]
        self._levels[0].append(())
        self._idle: dict[Any, list[Schedule]] = {}
        self._accessed: dict[Any, int] = {}
        self._changed: set[Any] = set()

    def next(self) -> Schedule | None:
        """Any of those with the fewest preemptions; None if none is left."""
        return next((level.pop() for level in self._levels if level), None)

    def add(self, schedule: Schedule) -> None:
        """Add a schedule, unless it has too many preemptions."""
        level = _preemptions(schedule)
        if level >= len(self._levels):
            return
        instead = schedule[-1].instead
        if (
            instead is None
            or instead.calls
            or instead.returns
            or type(instead.slot) is Several
            or self._is_contended(instead.slot)
        ):
            self._levels[level].append(schedule)
        else:
            self._idle.setdefault(instead.slot, []).append(schedule)

    def note(self, execution: Execution, first: int) -> None:
        """Learn from the steps of an execution, from `first` on, which threads access which slots."""
        for at in range(first, len(execution.order)):
            name = name_of(execution.slots[at])
            for each in name if type(name) is Several else (name,):
                self._note(each, execution.order[at], at in execution.wrote)

    def _note(self, name: Any, thread: int, wrote: bool) -> None:
        known = self._accessed.get(name, 0)
        threads = known | 1 << thread
        if wrote:
            self._changed.add(name)
        elif threads == known:
            return
        self._accessed[name] = threads
        if self._is_contended(name):
            for schedule in self._idle.pop(name, ()):
                self._levels[_preemptions(schedule)].append(schedule)

    def _is_contended(self, name: Any) -> bool:
        threads = self._accessed.get(name, 0)
        return name in self._changed and bool(threads & threads - 1)


def _preemptions(schedule: Schedule) -> int:
    return sum(switch.instead is not None for switch in schedule)


# ---------------------------------------------------------------------------------------------------------- at random


_AGAIN: Final = 25
"""One schedule in so many is executed again."""


def drawn_of(threads: int, random: Callable[[], float]) -> int:
    """One of some threads, which are given as bits."""
    for _ in range(int(random() * threads.bit_count())):
        threads &= threads - 1
    return lowest(threads)


class _Uniform(Strategy):
    def __init__(self, random: Random) -> None:
        self._random = random.random

    def decide(self, me: int) -> int:
        return drawn_of(self.machine.enabled, self._random)


def sampled(experiment: Experiment, random: Random) -> Iterator[Finding | None]:
    """Execute schedules for ever.

    Raises:
        Drift: a schedule that was executed a second time, as some are, gave another execution.
    """
    strategy = _Uniform(random)
    for number in count():
        execution, finding = experiment.run(strategy)
        yield finding
        if number % _AGAIN == 0 and finding is None and not execution.trouble:
            execute_again(experiment, execution)


# ----------------------------------------------------------------------------------------------------- a thread stops


class _Stops(Strategy):
    """Another strategy, except that thread 0 makes only `steps` steps. `stopped`: it would have made more."""

    _strategy: Strategy

    def __init__(self, steps: int) -> None:
        self._steps, self.stopped = steps, False

    def around(self, strategy: Strategy) -> Strategy:
        """This one, with another strategy in it."""
        self._strategy = strategy
        return self

    def begin(self, machine: Machine) -> None:
        super().begin(machine)
        self._strategy.begin(machine)

    def decide(self, me: int) -> int:
        machine = self.machine
        if machine.enabled & 1 and machine.execution.order.count(0) >= self._steps:
            machine.enabled &= ~1
            self.stopped = True
        if not machine.enabled:
            return MAIN
        return self._strategy.decide(me if me >= 0 and machine.enabled >> me & 1 else MAIN)


def stopped_for_ever(experiment: Experiment, preemptions: int = 0) -> Iterator[Finding | None]:
    """Stop thread 0 after each of its steps; yield the finding or None for every execution."""
    for steps in count(1):
        stops = _Stops(steps)
        yield from bounded(experiment, preemptions, stops.around)
        if not stops.stopped:
            return


# --------------------------------------------------------------------------------------------------- smaller findings


_WAITS: Final = ("livelock", "deadlock")
_EXECUTIONS: Final = 2_000
_REDUCED: Final = 500
_SAMPLES: Final = 1_000
_MOST_PREEMPTIONS: Final = 3


def minimise(
    finding: Finding, experiment_on: Callable[[Scenario], Experiment], spec: Spec | None = None, seconds: float = 10.0
) -> Finding:
    """A finding with as few calls and preemptions as can be found in `seconds`. `experiment_on` makes the experiment on
    a smaller scenario. With its specification, there are also fewer calls before and after the threads.
    """
    deadline = time.monotonic() + seconds
    found: Finding | None = finding
    while found is not None:
        finding, found = found, None
        for smaller in _smaller(finding.scenario, spec):
            found = _first(experiment_on(smaller), deadline)
            if found is not None and found.kind != finding.kind and found.kind in _WAITS:
                found = None  # without the call that ends a wait, a right object waits for ever
            if found is not None or time.monotonic() > deadline:
                break
    if finding.kind == "livelock":  # the threads go in circles and switch without end
        return finding
    fewest = islice(bounded(experiment_on(finding.scenario), _MOST_PREEMPTIONS), 5 * _EXECUTIONS)
    return _found(fewest, deadline) or finding


def _smaller(scenario: Scenario, spec: Spec | None) -> Iterator[Scenario]:
    """The scenario without one of its threads, or one of its calls; with its specification, then also without all calls
    before or after, or without one of them, if no call before has to wait then.
    """
    threads = scenario.threads
    for at, calls in enumerate(threads):
        for left in _shorter(calls):
            if left or len(threads) > 1:
                yield replace(scenario, threads=(*threads[:at], *filter(None, [left]), *threads[at + 1 :]))
    if spec is not None:
        yield from (replace(scenario, at_end=left) for left in _shorter(scenario.at_end))
        fewer = (left for left in _shorter(scenario.at_start) if not may_wait(spec, left))
        yield from (replace(scenario, at_start=left) for left in fewer)


def _shorter(calls: tuple[Call, ...]) -> Iterator[tuple[Call, ...]]:
    """None of several calls, and all but one."""
    if len(calls) > 1:
        yield ()
    yield from (calls[:at] + calls[at + 1 :] for at in range(len(calls)))


def _first(experiment: Experiment, deadline: float) -> Finding | None:
    """The first finding in a scenario, if there is one before the deadline."""
    return _found(in_all_ways(experiment, Random(0), _REDUCED, _EXECUTIONS, _SAMPLES), deadline)


def in_all_ways(
    experiment: Experiment, random: Random, few: int, with_few_preemptions: int, samples: int
) -> Iterator[Finding | None]:
    """All executions that differ, if they are fewer than `few`; else so many of these, then at most so many with two
    preemptions, and some at random, since what one strategy cannot find another may find soon.
    """
    executions = 0
    for finding in islice(reduced(experiment), few):
        executions += 1
        yield finding
    if executions == few:
        yield from islice(bounded(experiment, 2), with_few_preemptions)
        yield from islice(sampled(experiment, random), samples)


def _found(tried: Iterator[Finding | None], deadline: float) -> Finding | None:
    for finding in tried:
        if finding is not None:
            return finding
        if time.monotonic() > deadline:
            return None
    return None
