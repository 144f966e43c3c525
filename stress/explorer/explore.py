"""Exploring your own object: `stress.explore`.

The object is explored without changes to it. Its class may refer to `ctrie.AtomicReference` and the primitives of
`threading` by any name; while `explore` runs, these names refer to explored implementations (`substitution`,
`synchronization`). Accesses of shared plain attributes and containers become steps automatically (`plain_state`). The
price is that nothing else in the process may make references meanwhile.

The scenario is given by the caller, or many are drawn at random (`scenario`). Schedules, judgement, minimisation and
traces are those of any experiment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, islice
from random import Random
from typing import Any, Final, TypeVar, cast

from stress.checker.check import Verdict
from stress.checker.waiting import may_have_met
from stress.explorer.experiment import (
    Alone,
    Finding,
    ObjectExperiment,
    ObjectMachine,
    Subject,
    explored_references,
    subject_of,
)
from stress.explorer.machine import LIVELOCK, Drift, Execution
from stress.explorer.nets import contradiction, missed_between
from stress.explorer.policy import Refused, treatments
from stress.explorer.races import Races
from stress.explorer.scenario import Scenario, Scenarios, describe
from stress.explorer.sharing import NewCode
from stress.explorer.slots import CLOCK, FOREIGN, Endless, meet
from stress.explorer.strategies import Switches, bounded, in_all_ways, minimise, reduced, sampled, stopped_for_ever
from stress.explorer.token import Origin, TokenError, encode, order_of, origin_of, read
from stress.explorer.trace import Given, execute_again, report_on_finding, trace
from stress.explorer.watch import TimeIsUp, Watch
from stress.frozen_states import class_of
from stress.history import ALONE, MAIN, UNSEEN, Call, Operation, Raised, overlapping
from stress.of_calls import AnyAnswer
from stress.progress_line import following
from stress.recorder.workload import as_calls, refuse_misfits
from stress.reports.html import save as save_page
from stress.reports.report import Report
from stress.reports.text import render_outcome
from stress.seed import draw_seed
from stress.source import changed, digests
from stress.spec import Spec
from stress.spec_check import as_instance, check_spec

__all__ = ["Explored", "explore"]

Calls = Sequence[tuple[Any, ...]]
Attempts = Iterator[Finding | None]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Explored:
    """The outcome of exploring an object. True only if all requested schedules were executed, and no fault was found in
    any of them.

    `verdict` is `UNKNOWN` if time was up before, or no schedule was requested. `executions` is the number of executed
    schedules, `token` is for `explore(..., replay=token)`, and `found` is the report on the fault.
    """

    verdict: Verdict
    schedules: str
    executions: int
    seconds: float
    token: str = ""
    found: Report | None = None
    missing: tuple[str, ...] = ()
    """The reasons why the verdict is `UNKNOWN`."""
    races: tuple[str, ...] = ()
    """The accesses that nothing orders, if they were asked for."""

    def __bool__(self) -> bool:
        return self.verdict is Verdict.LINEARIZABLE and not self.races

    @property
    def summary(self) -> str:
        """One line: what was executed, and the result."""
        verdict = self.verdict.value if self.found is None else self.found.headline
        rate = self.executions / self.seconds if self.seconds else 0.0
        races = f"; {len(self.races)} races" if self.races else ""
        executions = f"{self.executions:,} executions in {self.seconds:.1f} s ({rate:,.0f}/s)"
        return f"{verdict}{races}; {self.schedules}: {executions}"

    def report(self) -> str:
        """The full report, as text."""
        return "\n".join([render_outcome(self.summary, self.found), *self.races])

    def save_html(self, path: str) -> None:
        """Write the report on the fault as a page.

        Raises:
            ValueError: there is no fault.
        """
        if self.found is None:
            raise ValueError("nothing was found, so there is nothing to show")
        save_page(self.found, path)


def explore(
    factory: Callable[[], Any],
    spec: Spec | None,
    threads: Sequence[Any] | Scenarios,
    *,
    at_start: Calls = (),
    at_end: Calls = (),
    check: Callable[[Any], object] | None = None,
    invariant: Callable[[Any], object] | None = None,
    preemptions: int | None = None,
    samples: int | None = None,
    stops: bool = False,
    races: bool = False,
    seed: int | None = None,
    duration: float | None = None,
    replay: str = "",
    target: str = "",
    progress: Callable[[str], object] | None = None,
) -> Explored:
    """Let a few threads call an object under every schedule, and judge all histories.

    Args:
        factory: makes a fresh object in the state `spec.initial`; called for every execution, and must make the same
            object each time.
        spec: the sequential object that it must behave like. None: an answer is right if some sequential order of the
            calls on fresh objects gives it; if there is an `invariant`, every answer is right.
        threads: the calls of each thread: tuples of a method's name and its arguments. Or the operations that threads
            may call, as for `stress.run`: then scenarios are drawn from them; `Scenarios` says how many, and of what
            size. A thread may be a function of the object instead.
        at_start: calls to make before any thread runs.
        at_end: calls to make when no thread runs any more. Their answers count like any other.
        check: raises, or answers False, if an invariant of the object does not hold; called after every execution.
        invariant: the same, and the only demand if there is no specification.
        preemptions: how many preemptions a schedule may have: switches away from a thread that could continue. None:
        any number, and one schedule is executed of each class with the same visible result.
        samples: execute this number of schedules drawn at random instead.
        stops: in addition, let each thread in turn stop for ever after its first step, its second, and so on. The
            others must come to their ends, one after another if `preemptions` is None.
        races: also tell of accesses that nothing orders (`outcome.races`), even if no answer was wrong: one thread
            changes an attribute or a container, another one uses it, and no lock, reference or the like is between
            them. Then the outcome is not true.
        seed: decides what is drawn; drawn at random if None.
        duration: seconds to explore at most; None: no limit. The verdict is `UNKNOWN` if time is up before the end.
        replay: the token of an earlier call with the same arguments: execute that schedule alone. If it shows no fault,
            the verdict is `UNKNOWN`, since one schedule is not all.
        target: the reference of the object, as `module:attribute`, for the token.
        progress: is told of each execution that begins: its scenario.

    Returns:
        the outcome, which is true if nothing is wrong; `outcome.report()` explains it. An execution takes some
        hundred microseconds; their number is exponential in the number of accesses.

    Raises:
        ValueError: the threads access nothing that the explorer can schedule, or the object is not deterministic, or
            `replay` does not fit, or a method does not take as many arguments as a call gives.
        SpecError: the specification contradicts itself, or cannot be used.
        AttributeError: the object has no method with the name of a call.

    Threads that wait for each other are reported as a deadlock, unless the specification says that they wait (`WAITS`).
    A thread that waits by trying again is treated as waiting; with `stops`, it is reported as a livelock.

    >>> import stress
    >>> from ctrie import AtomicReference
    >>> class Hits:
    ...     def __init__(self):
    ...         self.n = AtomicReference(0)
    ...     def increment(self):
    ...         while True:
    ...             n = self.n.load()
    ...             if self.n.compare_and_set(n, n + 1):
    ...                 return n + 1
    >>> outcome = stress.explore(Hits, stress.Counter(), [[("increment",)], [("increment",)]])
    >>> outcome.verdict, outcome.executions
    (<Verdict.LINEARIZABLE: 'linearizable'>, 4)
    """
    if preemptions is not None and samples is not None:
        raise ValueError("schedules with few preemptions, or samples: choose one")
    if (preemptions is not None and preemptions < 0) or (samples is not None and samples < 0):
        raise ValueError("preemptions and samples are 0 or more")
    plan = _Plan(preemptions, samples, stops, draw_seed() if seed is None else seed, duration, races=races)
    start, end = as_calls(at_start), as_calls(at_end)
    scenarios = _scenarios(threads)
    if scenarios is not None and (replay or preemptions is not None or samples is not None or start or end):
        raise ValueError("at_start, at_end, preemptions, samples and replay go with the calls of each thread")
    if check is not None and invariant is not None:
        raise ValueError("check and invariant are the same: give one")
    check = invariant if check is None else check
    if check is not None and not callable(check):
        raise TypeError(f"the invariant must be a function of the object, not {check!r}")
    threads, actions = _actions(threads)

    def bound(made: Any, op: str) -> Callable[..., Any]:
        return partial(actions[op], made) if op in actions else getattr(made, op)

    if spec is None:
        spec = Alone(bound, factory) if invariant is None else AnyAnswer()
    spec = as_instance(spec)
    with explored_references() as machine, subject_of(machine, factory, spec, check) as subject:
        machine.progress = progress
        subject = replace(subject, actions=actions)
        if isinstance(spec, Alone):
            spec.live_in(machine.seam, subject.plain)
        began = time.monotonic()
        outcome: Explored | None = None
        tried: list[Scenario] = []
        with Watch(machine, duration), following("stress.explore", duration, after=_QUIET) as machine.tell:
            if scenarios is not None:
                name = _name_of_fitting(factory, as_calls([*scenarios.operations, *chain(*scenarios.roles)]))
                outcome = _generated(machine, subject, target, name, scenarios, plan, tried)
            else:
                program = tuple(map(as_calls, cast("Sequence[Calls]", threads)))
                made = [call for call in chain(*program) if call[0] not in actions]
                scenario = Scenario(_name_of_fitting(factory, (*start, *made, *end)), "", program, start, end)
                _check_scenario(spec, scenario)
                exploration = _Exploration(machine, subject, target, scenario)
                outcome = exploration.replay(replay) if replay else exploration.run(plan)
                tried.append(scenario)
    if outcome is None:  # code that ran was given steps, for which some interpreters must look everywhere
        seconds = time.monotonic() - began
        outcome = Explored(Verdict.UNKNOWN, f"{plan}, but {_BETWEEN}", 0, seconds, missing=(_BETWEEN,))
    if actions or isinstance(spec, (Alone, AnyAnswer)) or outcome.verdict is not Verdict.LINEARIZABLE:
        return outcome
    for scenario in reversed(tried[-_MOST_MET:]):
        against = contradiction(factory, spec, scenario, plan.seed)
        if against:
            schedules = f"{outcome.schedules}, but {against}"
            return replace(outcome, verdict=Verdict.UNKNOWN, schedules=schedules, missing=(against,))
    return outcome


def _actions(threads: Any) -> tuple[Any, dict[str, Callable[[Any], Any]]]:
    """The threads, with a call in the place of each function of the object, and these functions by their names."""
    if isinstance(threads, (Scenarios, str)) or not any(callable(each) for each in threads):
        return threads, {}
    found: list[Any] = []
    actions: dict[str, Callable[[Any], Any]] = {}
    for number, each in enumerate(threads):
        if not callable(each):
            found.append(each)
            continue
        name = getattr(each, "__name__", "").strip("<>") or f"thread{number}"
        if actions.get(name, each) is not each:
            name = f"{name}{number}"
        actions[name] = each
        found.append([(name,)])
    return found, actions


def _scenarios(threads: Any) -> Scenarios | None:
    """The scenarios to draw; None if the calls of each thread are given."""
    if isinstance(threads, Scenarios):
        return threads
    if isinstance(threads, str) or any(isinstance(each, str) for each in threads):
        as_calls(threads)  # raises: these are calls of threads
    are_operations = all(isinstance(each, tuple) and each and isinstance(each[0], str) for each in threads)
    return Scenarios(threads) if threads and are_operations else None


def _name_of_fitting(factory: Callable[[], Any], calls: Sequence[Call]) -> str:
    """The name of the object's class, if these calls fit the object."""
    made = copy_context().run(factory)  # variables that it sets are not for the next object
    refuse_misfits(made, calls)
    return type(made).__name__


def _check_scenario(spec: Spec, scenario: Scenario) -> None:
    check_spec(spec, [Operation(at, 0, 2 * at, None, *call, UNSEEN) for at, call in enumerate(scenario.calls)])
    if not scenario.threads or not all(scenario.threads):
        raise ValueError("there must be a thread, and a call in every thread")


def _generated(
    machine: ObjectMachine,
    subject: Subject,
    target: str,
    name: str,
    scenarios: Scenarios,
    plan: _Plan,
    tried: list[Scenario],
) -> Explored:
    """Explore one drawn scenario after another, up to the first with a fault. `tried` gets each."""
    began, executions = time.monotonic(), 0
    told = f"{scenarios}, seed {plan.seed}{treatments()}"
    missing: tuple[str, ...] = ()
    for number, scenario in enumerate(scenarios.drawn(subject.spec, Random(plan.seed), name)):
        _check_scenario(subject.spec, scenario)
        tried.append(scenario)
        exploration = _Exploration(machine, subject, target, scenario, began)
        outcome = exploration.run(replace(plan, executions=scenarios.executions, told=told))
        executions += outcome.executions
        missing = outcome.missing
        if outcome.verdict is Verdict.ILLEGAL:
            told = f"scenario {number + 1} of {told}"
        if outcome.verdict is not Verdict.LINEARIZABLE:
            return replace(outcome, schedules="; ".join([told, *missing]), executions=executions)
    return Explored(Verdict.LINEARIZABLE, told, executions, time.monotonic() - began)


@dataclass(frozen=True)
class _Plan:
    """Which schedules to execute, and for how long."""

    preemptions: int | None
    samples: int | None
    stops: bool
    seed: int
    duration: float | None
    executions: int | None = None
    """The most schedules to execute of a drawn scenario."""
    told: str = ""
    races: bool = False

    def __str__(self) -> str:
        return self.told or self._schedules() + treatments()

    def _schedules(self) -> str:
        if self.samples is not None:
            told = f"{self.samples:,} schedules drawn at random, seed {self.seed}"
        elif self.preemptions is not None:
            told = f"every schedule with at most {self.preemptions} preemptions"
        else:
            told = "every schedule that can be told from others"
        return told + (", and with threads that stop for ever" if self.stops else "")


_QUIET: Final = 2.0
"""Seconds before a line on the terminal tells how far an exploration is."""
_AGAIN: Final = 20
"""So often a schedule is executed again before "every schedule" is said: answers may depend on random numbers of the
system, or on where objects lie in memory, and be right by chance."""
_MOST_ROUNDS: Final = 200
_GROWS: Final = (
    f"the exploration has begun again {_MOST_ROUNDS} times, and each time the object did something new: what it makes "
    "has names with numbers in them, perhaps, or its code is made anew"
)
_OTHER_ANSWERS: Final = "the same schedule, executed again, gives other answers"
_EVEN_ALONE: Final = "even calls that are made one after another are not right"
_MOST_EARLY: Final = 20
"""So many wrong answers that come of an access which was not seen; then no other one is looked for."""
_MEETING: Final = 200
"""Executions in which calls may end one another's wait."""
_BETWEEN_OF_ONE: Final = 0.02
"""Seconds of schedules in which threads stop between steps, for one of many drawn scenarios."""
_MOST_MET: Final = 5
"""Drawn scenarios that real threads try, too: the largest."""
_REPLAYED: Final = "the schedule of the token"
_BETWEEN: Final = "time was up between two executions"


class _Exploration:
    """A subject, a scenario on it, and the machine that runs them."""

    def __init__(
        self, machine: ObjectMachine, subject: Subject, target: str, scenario: Scenario, began: float | None = None
    ) -> None:
        self._machine, self._subject, self._target, self._scenario = machine, subject, target, scenario
        self._is_drawn = began is not None
        self._began = time.monotonic() if began is None else began
        self._at_first: tuple[Any, ...] | None = None
        """The answers of calls that were made one after another, before anything else had run to its end."""

    def _on(self, scenario: Scenario) -> ObjectExperiment:
        return ObjectExperiment(self._machine, self._subject, scenario)

    def _in_rounds(self, attempt: Callable[[], _T]) -> _T | None:
        """What an attempt finds, which is made again when it learns more of the program; None if that has no end."""
        plain = self._subject.plain
        plain.aborts = True
        for _ in range(_MOST_ROUNDS):
            try:
                return attempt()
            except NewCode:
                pass
            except Drift:
                if not plain.knowledge.has_grown():
                    raise
            plain.begin_again()
        return None

    def run(self, plan: _Plan) -> Explored:
        """Execute the schedules, up to the first with a fault."""
        races = Races(self._machine)
        self._machine.observe = races.observe if plan.races else None
        try:
            outcome = self._in_rounds(partial(self._round, plan))
        except Drift as drift:
            raise ValueError(f"{self._scenario.target} does not do the same each time: {drift}") from None
        finally:
            self._machine.observe = None
        if outcome is None:
            outcome = replace(self._outcome(f"{plan}, but {_GROWS}", 0, Verdict.UNKNOWN), missing=(_GROWS,))
        return replace(outcome, races=tuple(races.found.values()))

    def _round(self, plan: _Plan) -> Explored:
        """The outcome of all schedules. It does not count if more changed than was known.

        Raises:
            NewCode: code is about to run without steps, or has run.
        """
        executions, early, missing = 0, 0, list[str]()
        returned = [0] * len(self._scenario.threads)
        knowledge = self._subject.plain.knowledge
        earliest: Execution | None = None
        raised: Raised | None = None
        try:
            self._on(self._scenario).run(Switches(()))
            for finding in self._attempts(plan):
                if knowledge.has_grown():
                    raise NewCode
                executions += 1
                self._machine.tell(f"{executions:,} executions", time.monotonic() - self._began)
                made = self._machine.execution
                if self._at_first is None and not made.trouble and made.order == sorted(made.order):
                    self._at_first = made.answers
                returned = list(map(max, returned, map(len, made.logs)))
                raised = _raised_by_all(made) if raised or executions == 1 else None
                if finding is not None:
                    self._refuse_meetings(finding)
                    self._refuse_unknown_circles(finding)
                    self._refuse_what_is_lost(finding)
                    if self._is_early(finding):
                        early += 1
                        if early == _MOST_EARLY:
                            break
                        continue
                    outcome = self._outcome(str(plan), executions, Verdict.ILLEGAL)
                    small = minimise(finding, self._on, self._subject.spec if self._is_drawn else None)
                    small = self._with_one_thread(small)
                    if knowledge.has_grown():
                        raise NewCode
                    return self._explained(outcome, small)
                if earliest is None:
                    earliest = made
                if plan.duration is not None and time.monotonic() - self._began > plan.duration:
                    missing.append("time was up")
                    break
            else:
                if earliest is not None:
                    for _ in range(_AGAIN):
                        execute_again(self._on(self._scenario), earliest)
                    here = self._on(self._scenario), self._subject.plain, Random(plan.seed)
                    missed = missed_between(*here, seconds=_BETWEEN_OF_ONE if self._is_drawn else None)
                    missing += [missed] if missed else []
        except TimeIsUp:
            missing.append("time was up in the middle of an execution")
        except (Refused, Endless) as refused:
            missing.append(str(refused))
        if early:
            missing.append("an access was not seen: calls answer otherwise if each begins just before its first step")
        if knowledge.has_grown() and not missing:
            raise NewCode
        missing += [each for each in self._subject.plain.missing() if each not in missing]
        if not missing and isinstance(self._subject.spec, Alone):
            missing += self._never_returned(returned)
        if not missing and earliest is not None:
            self._refuse_nothing()
        verdict = Verdict.UNKNOWN if missing or not executions else Verdict.LINEARIZABLE
        told = str(plan)
        if CLOCK[1] in knowledge.variables:
            told += ", by a clock that stands still but for sleeps and waits"
        if raised is not None:
            told += f", and each call {raised!r}"
        told = ", but ".join([told, *missing])
        return replace(self._outcome(told, executions, verdict), missing=tuple(missing))

    def _never_returned(self, returned: Sequence[int]) -> list[str]:
        """The reason why nothing is known of calls that wait in every schedule: they would wait alone, too, so that is
        how the object is, and nobody says whether it should be.
        """
        threads = zip(self._scenario.threads, returned, strict=True)
        waiting = [describe(calls[at]) for calls, at in threads if at < len(calls)]
        if not waiting:
            return []
        told = " and ".join(dict.fromkeys(waiting))
        return [f"{told} never returned in any schedule: only a specification can tell whether that is right"]

    def _refuse_meetings(self, finding: Finding) -> None:
        """Without a specification, calls of one thread tell what is right, and not what calls do that wait for one
        another.
        """
        spec = self._subject.spec
        if finding.kind != "history" or not isinstance(spec, Alone):
            return
        met = may_have_met(list(finding.history), spec, cache(self._end_their_wait))
        if met:
            raise Refused(
                f"{' and '.join(sorted(met))} end one another's wait, which no order of calls made by one thread "
                "shows: let an `invariant` judge instead of the answers"
            )

    def _refuse_unknown_circles(self, finding: Finding) -> None:
        """A thread that waits by trying again is known by what it reads again. Of a step that may change something
        unknown, nobody can tell whether it brought the thread any further.
        """
        if finding.kind != "livelock":
            return
        if any(meet(slot._name, FOREIGN) for slot in self._machine.execution.slots[-LIVELOCK:]):
            raise Refused(
                "a loop goes round and round and uses an object of C, or something outside the process, of which "
                "nothing shows what it waits for"
            )

    def _refuse_what_is_lost(self, finding: Finding) -> None:
        """What outlives an execution must be as it was before: the same schedule gives the same answers then."""
        plain = self._subject.plain
        for what, where in plain.lost.items():
            raise Refused(f"{what} ({where})")
        _, again = self._on(finding.scenario).run(Given(finding.order))
        kept = plain.kept_alive()
        if kept:
            raise Refused(kept)
        if again is None or _answers(again) != _answers(finding):
            for what, where in plain.used.items():
                raise Refused(f"the same schedule, executed again, gives other answers, and {what} ({where})")
            raise Drift(_OTHER_ANSWERS)
        if self._at_first is None or finding.scenario is not self._scenario:
            return
        now, is_wrong = self._on(finding.scenario).run(Switches(()))
        if is_wrong is not None:  # perhaps since what was used before any execution had ended
            for what, where in plain.used.items():
                raise Refused(f"{_EVEN_ALONE}, and {what} ({where})")
            if any(meet(slot._name, FOREIGN) for slot in now.slots):
                raise Refused(
                    f"{_EVEN_ALONE}, and they use an object of C or something outside the process, which nothing "
                    "puts back: the factory must"
                )
        if now.answers != self._at_first:
            self._demand_the_same(finding)
            raise Refused(
                "what outlives an execution cannot be put back: calls that are made one after another answer "
                "otherwise than at first"
            )

    def _demand_the_same(self, finding: Finding) -> None:
        """A schedule that was executed again and again, with the same answers, has not given others by chance."""
        for _ in range(_AGAIN):
            _, again = self._on(finding.scenario).run(Given(finding.order))
            if again is None or _answers(again) != _answers(finding):
                raise Drift(_OTHER_ANSWERS)

    def _is_early(self, finding: Finding) -> bool:
        """Whether a call answers otherwise if it begins just before its first step: it has read something before."""
        if finding.kind != "history":
            return False
        late: Finding | None = None
        self._machine.begins_late = True
        try:
            _, late = self._on(finding.scenario).run(Given(finding.order))
        except Drift:
            pass  # what it has read before decides about its steps, too
        finally:
            self._machine.begins_late = False
        if late is not None and _answers(late) == _answers(finding):
            return False
        self._demand_the_same(finding)
        return True

    def _end_their_wait(self, before: tuple[Call, ...], calls: tuple[Call, ...]) -> bool:
        """Whether some calls, each of which waits alone after those `before`, do not all wait if threads make them."""
        scenario = Scenario(self._scenario.target, "", tuple((call,) for call in calls), before)
        return any(any(self._machine.execution.logs) for _ in islice(reduced(self._on(scenario)), _MEETING))

    def _with_one_thread(self, finding: Finding) -> Finding:
        """The finding, with a note if one thread gets wrong answers to the same calls, too: no others are needed."""
        history = finding.history
        calls = [each for each in sorted(history, key=lambda each: each.call) if each.thread != MAIN]
        if finding.kind != "history" or isinstance(self._subject.spec, (Alone, AnyAnswer)) or overlapping(calls):
            return finding
        scenario = replace(finding.scenario, threads=(tuple((each.op, each.args) for each in calls),))
        if self._on(scenario).run(Switches(()))[1] is None:
            return finding
        return replace(finding, history=replace(history, header={**history.header, ALONE: True}))

    def _attempts(self, plan: _Plan) -> Attempts:
        whole = self._on(self._scenario)
        if plan.executions is not None:
            half, quarter = plan.executions // 2, plan.executions // 4
            yield from in_all_ways(whole, Random(plan.seed), half + 1, quarter, quarter)
            return
        if plan.samples is not None:
            yield from islice(sampled(whole, Random(plan.seed)), plan.samples)
        elif plan.preemptions is not None:
            yield from bounded(whole, plan.preemptions)
        else:
            yield from reduced(whole)
        if plan.stops:
            threads = self._scenario.threads
            for at in range(len(threads)):
                turned = replace(self._scenario, threads=threads[at:] + threads[:at])
                yield from stopped_for_ever(self._on(turned), plan.preemptions or 0)

    def _refuse_nothing(self) -> None:
        if self._is_drawn and self._subject.plain.knowledge.codes:
            return  # drawn calls may all read
        execution = self._machine.execution
        if all(slot._name is None or slot._name is CLOCK for slot in execution.slots):
            raised = _raised_by_all(execution)
            raise ValueError(
                f"there is nothing to explore: no call of {self._scenario} accesses an AtomicReference that was made "
                "during the exploration, a lock or the like, or a plain attribute or container that changes"
                f"{'' if raised is None else f'; each of them {raised!r}'}"
            )

    def replay(self, token: str) -> Explored:
        """Execute again the one schedule that the token holds."""
        told, name = read(token), self._scenario.target
        threads, order = told.program(self._scenario.threads), order_of(told.runs)
        since = [f"the token is of {told.target}"] * (told.target != name) + changed(told.code)
        knowledge = self._subject.plain.knowledge
        knowledge.hear(told.known)
        self._subject.plain.begin_again()

        def attempt() -> Finding | None:
            _, finding = trace(self._on(replace(self._scenario, threads=threads)), order)
            if knowledge.has_grown():
                raise NewCode
            return finding

        try:
            finding = self._in_rounds(attempt)
        except Drift as drift:
            raise TokenError(f"the token does not fit (any more): {drift}") from None
        made = len(self._machine.execution.order)
        if made < len(order):
            raise TokenError(f"the token does not fit (any more): of its {len(order)} steps only {made} are made")
        if finding is None:
            return self._outcome("; ".join([f"nothing is wrong in {_REPLAYED} alone", *since]), 1, Verdict.UNKNOWN)
        return self._explained(self._outcome("; ".join([_REPLAYED, *since]), 1, Verdict.ILLEGAL), finding)

    def _given(self, scenario: Scenario) -> str:
        """The arguments with which `explore` explores this scenario alone."""
        if not self._is_drawn:
            return "..."
        threads = ", ".join(map(_written, self._scenario.threads))
        return f"..., [{threads}], at_start={_written(scenario.at_start)}, at_end={_written(scenario.at_end)}"

    def _outcome(self, schedules: str, executions: int, verdict: Verdict = Verdict.LINEARIZABLE) -> Explored:
        return Explored(verdict, schedules, executions, time.monotonic() - self._began)

    def _token(self, finding: Finding) -> tuple[Origin | None, str]:
        """A token for a finding, and the origin in it."""
        subject, threads = self._subject, self._scenario.threads
        calls = (finding.scenario.at_start, *threads, finding.scenario.at_end)
        spec = None if isinstance(subject.spec, Alone) else subject.spec
        origin = None
        if not (subject.actions or isinstance(spec, AnyAnswer)):
            origin = origin_of(subject.factory, spec, self._target, subject.check, calls)
        code = digests(subject.factory, class_of(subject.spec))
        return origin, encode(threads, finding, code, origin, subject.plain.knowledge.told())

    def _explained(self, outcome: Explored, finding: Finding) -> Explored:
        origin, token = self._token(finding)
        again = f"stress.explore({self._given(finding.scenario)}, replay={token!r})"
        if origin is not None:
            again = f"python -m stress replay {token}"
        report = report_on_finding(self._on(finding.scenario), finding, again)
        return replace(outcome, token=token, found=report)


def _raised_by_all(execution: Execution) -> Raised | None:
    """What all calls of an execution raised; None if one of them returned or they raised different exceptions."""
    answers = [answer for log in execution.logs for *_, answer in log]
    raised = {Raised.of(answer) for answer in answers if isinstance(answer, BaseException)}
    return raised.pop() if len(raised) == 1 and all(isinstance(answer, BaseException) for answer in answers) else None


def _answers(finding: Finding) -> list[tuple[Any, ...]]:
    return [(each.thread, each.op, each.args, each.result) for each in finding.history]


def _written(calls: Sequence[Call]) -> str:
    """Calls in the form that `explore` takes."""
    return repr([(op, *args) for op, args in calls])
