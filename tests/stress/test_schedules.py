"""The explorer's schedules: reduction and bounds lose nothing that could be seen, and every schedule comes again.

Both are compared with all schedules, of small scenarios of the tries, and of random programs that use locks, conditions,
events, semaphores, references, plain attributes, containers, and loops that wait.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from random import Random
from typing import Any

import pytest

import stress
from ctrie import AtomicReference
from stress.explorer.coroutines import Greenlets, Threads
from stress.explorer.experiment import Finding, ObjectExperiment, explored_references, subject_of
from stress.explorer.machine import Machine, lowest
from stress.explorer.policy import Refused
from stress.explorer.scenario import Scenario
from stress.explorer.strategies import bounded, reduced, sampled, stopped_for_ever
from tests.scripts import run_script
from tests.stress.objects import LockedCounter
from tests.threads import run_together
from tests.tries.campaign import delayed
from tests.tries.experiment import TrieExperiment
from tests.tries.mutants.catalogue import MUTANTS, find
from tests.tries.mutants.mutant import Mutant
from tests.tries.names import fingerprint
from tests.tries.scenarios import STARTS, random_scenario
from tests.tries.trie_copy import TrieCopy, load_copy

pytestmark = pytest.mark.once  # the explorer imports the interpreted twin whatever twin the tests run

SEED = int(os.environ.get("STRESS_SEED", "1"))
Attempts = Callable[[Any], Iterator[Finding | None]]


@pytest.fixture(scope="module")
def twin() -> TrieCopy:
    return load_copy()


def scenario(target: str, start: str, *threads: Any) -> Scenario:
    return Scenario(target, start, tuple(thread if isinstance(thread[0], tuple) else (thread,) for thread in threads))


GET, ITEMS, POP = ("get", ("a",)), ("items", ()), ("pop", ("a", None))
PUT, PUT_BESIDE = ("__setitem__", ("a", 1001)), ("__setitem__", ("a2", 1002))
TWO_THREADS = [
    scenario("map", "empty", GET, PUT),
    scenario("map", "empty", PUT, PUT_BESIDE),
    scenario("map", "about to tomb", POP, ("get", ("a2",))),
    scenario("map", "one key", ("get_or_create", ("b", 1)), ("get_or_create", ("b", 2))),
    scenario("map", "one key", (("get", ("b",)), GET), (("__setitem__", ("b", 6)), ("__setitem__", ("a", 7)))),
    scenario("subscriptions", "one filter", ("unsubscribe", ("a.b", "x")), ("match", ("a.b",))),
]
THREE_THREADS = [
    scenario("map", "empty", GET, GET, GET),
    scenario("map", "empty", GET, ("get", ("b",)), PUT),
    scenario("map", "one key", GET, PUT, ("__setitem__", ("a", 1003))),
]
SHOWN_BY_A_PAIR = [
    mutant
    for mutant in MUTANTS
    if mutant.shown_by
    and [len(calls) for calls in mutant.shown_by[1]] == [1, 1]
    and not STARTS[mutant.of][mutant.shown_by[0]].has("on_interest")
]


def clean(attempts: Iterator[Finding | None]) -> int:
    """The number of executions. None may be wrong."""
    executions = 0
    for finding in attempts:
        assert finding is None
        executions += 1
    return executions


def seen(twin: TrieCopy, each: Scenario, attempts: Attempts) -> set[Any]:
    """What can be observed of each execution: precedence, answers and the final content."""
    experiment = TrieExperiment(twin, each)
    clean(attempts(experiment))
    return set(experiment._verdicts)


class Beginning:
    """A strategy that begins with a given order. Then the running thread continues, or the first that can run."""

    def __init__(self, order: list[int]) -> None:
        self.order = order

    def begin(self, machine: Machine) -> None:
        self.machine = machine

    def decide(self, me: int) -> int:
        machine = self.machine
        if machine.step < len(self.order):
            return self.order[machine.step]
        return me if me >= 0 and machine.enabled >> me & 1 else lowest(machine.enabled)


def every(experiment: Any, preemptions: int) -> Iterator[Finding | None]:
    """Every schedule with at most so many preemptions, including those that are equivalent to another one."""
    waiting: list[tuple[list[int], int]] = [([], preemptions)]
    while waiting:
        given, left = waiting.pop()
        execution, finding = experiment.run(Beginning(given))
        yield finding
        order, enabled = execution.order, execution.enabled
        for step in range(len(given), len(order)):
            preempts = step > 0 and bool(enabled[step] >> order[step - 1] & 1)
            others = [thread for thread in range(3) if enabled[step] >> thread & 1 and thread != order[step]]
            if left or not preempts:
                waiting += [([*order[:step], thread], left - preempts) for thread in others]


@pytest.mark.parametrize("each", [*TWO_THREADS, *THREE_THREADS], ids=str)
def test_nothing_is_left_out(twin: TrieCopy, each: Scenario) -> None:
    """As far as is known, there is room for four preemptions, and for three if the first thread makes one call."""
    for most in range(3):
        assert seen(twin, each, lambda it, most=most: bounded(it, most)) == seen(
            twin, each, lambda it, most=most: every(it, most)
        )
    most = 4 if each.threads[0][1:] else 3
    found, within = seen(twin, each, reduced), seen(twin, each, lambda it: bounded(it, most))
    assert found >= within | seen(twin, each, lambda it: islice(sampled(it, Random(SEED)), 2_000))
    assert found == within or each in THREE_THREADS


@pytest.mark.parametrize("target", ["map", "subscriptions"])
def test_nor_is_it_in_scenarios_drawn_at_random(twin: TrieCopy, target: str) -> None:
    random = Random(SEED)
    for _ in range(4):
        each = random_scenario(target, random, sizes=((1, 1), (1, 2), (1, 1, 1)))
        assert seen(twin, each, lambda it: bounded(it, 1)) == seen(twin, each, lambda it: every(it, 1)), str(each)


@pytest.mark.slow("tries each of these mutants once more; test_mutants.py tries all by other strategies")
@pytest.mark.parametrize("mutant", SHOWN_BY_A_PAIR, ids=lambda mutant: mutant.name)
def test_what_is_wrong_is_found_all_the_same(mutant: Mutant) -> None:
    experiment = TrieExperiment(load_copy(mutant.changes), Scenario(mutant.of, *mutant.shown_by))
    assert any(finding is not None for finding in islice(reduced(experiment), 3_000))


@pytest.mark.parametrize(
    ("mutant", "each", "kind"),
    [
        ("", scenario("map", "empty", PUT, ITEMS), ""),  # a snapshot and a helper do not hinder each other for ever
        (
            "",
            scenario("subscriptions", "a subscriber above", ("subscribe", ("a", "x")), ("unsubscribe", ("a", "x"))),
            "",
        ),
        ("an aborted write puts back too much", scenario("map", "empty", PUT, ITEMS), "history"),  # of what is no slot
    ],
)
def test_the_reduction_finds_what_is_wrong_and_nothing_else(mutant: str, each: Scenario, kind: str) -> None:
    twin = load_copy(find(mutant).changes if mutant else ())
    found = [finding.kind for finding in reduced(TrieExperiment(twin, each)) if finding is not None]
    assert found[:1] == [kind] * bool(kind)


def test_what_need_not_be_executed_mostly_is_not(twin: TrieCopy) -> None:
    def count(attempts: Attempts) -> int:
        return clean(attempts(TrieExperiment(twin, TWO_THREADS[1])))

    all_of_them = count(lambda it: every(it, 2))
    assert count(lambda it: bounded(it, 2)) < all_of_them / 2
    assert count(reduced) < all_of_them / 3


@pytest.mark.parametrize("preemptions", [0, 1, 2])
def test_bounded_schedules_differ_and_keep_the_bound(twin: TrieCopy, preemptions: int) -> None:
    machine = twin.machine
    attempts = bounded(TrieExperiment(twin, TWO_THREADS[1]), preemptions)
    orders = [tuple(machine.execution.order) for _ in attempts if not machine.execution.cut]
    assert len(set(orders)) == len(orders)
    switches = [sum(one != other for one, other in zip(order, order[1:], strict=False)) for order in orders]
    assert max(switches) == preemptions + 1  # and one switch that is no preemption, where the first thread ends
    assert switches == sorted(switches)


def test_every_thread_is_delayed_after_each_of_its_steps(twin: TrieCopy) -> None:
    orders = [tuple(twin.machine.execution.order) for _ in delayed(TrieExperiment(twin, TWO_THREADS[5]))]
    for thread, other in ((0, 1), (1, 0)):
        begun = [order for order in orders if order[0] == thread]
        made = [order.index(other) for order in begun]
        assert made == [*range(1, len(made)), len(made) - 1]  # in the last one, the delayed thread had ended before
        for order, steps in zip(begun, made, strict=True):
            rest = order[steps:]
            assert set(rest[: rest.count(other)]) == {other}, "the other one runs to its end"


def test_threads_do_as_greenlets_do() -> None:
    pytest.importorskip("greenlet")
    runs = []
    for kind in (Greenlets, Threads):
        experiment = TrieExperiment(load_copy(coroutines=kind()), TWO_THREADS[5])
        attempts = (*bounded(experiment, 1), *stopped_for_ever(experiment))
        runs.append([tuple(experiment.twin.machine.execution.order) for _ in attempts])
    assert runs[0] == runs[1]


def test_all_threads_remember_their_answers_in_one_place(twin: TrieCopy) -> None:
    own_stripe: Any = vars(twin.modules["subtrie._trie.match.matching"])["own_stripe"]
    together = threading.Barrier(8)

    def look() -> Any:
        together.wait()
        return own_stripe(1)

    assert len(set(run_together([look] * 8))) == 1


def test_every_execution_starts_from_the_same_state_and_a_seed_gives_the_same_schedules(twin: TrieCopy) -> None:
    def orders() -> list[Any]:
        experiment = TrieExperiment(twin, scenario("map", "about to tomb", POP, ("snapshot", ())))
        before = fingerprint(experiment.subject.trie._root)
        found = [twin.machine.execution.order for _ in islice(sampled(experiment, Random(SEED)), 50)]
        clean(islice(stopped_for_ever(experiment), 20))
        assert fingerprint(experiment.subject.trie._root) == before
        return found

    assert orders() == orders()


@pytest.mark.parametrize("target", ["map", "subscriptions"])
def test_every_process_starts_from_the_same_state(target: str) -> None:
    """Python hashes texts differently in every process; a token must lead to the same nodes in all of them."""
    script = (
        "from tests.tries.scenarios import STARTS\n"
        "from tests.tries.names import fingerprint\n"
        "from tests.tries.trie_copy import load_copy\n"
        f"twin, target = load_copy(), {target!r}\n"
        "for name, start in STARTS[target].items():\n"
        "    print(name, fingerprint(twin.make(target, start).trie._root))\n"
    )
    (status, told, errors), other = (run_script(script, PYTHONHASHSEED=seed) for seed in "12")
    assert (status, errors) == (0, "")
    assert other == (status, told, errors)


# ------------------------------------------------------------------------------------------------------ random programs


class Anything(stress.Spec):
    initial = 0

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Any) -> Any:
        return (state,)


class Machinery:
    def __init__(self) -> None:
        self.locks = [threading.Lock(), threading.Lock()]
        self.event, self.semaphore = threading.Event(), threading.Semaphore(1)
        self.condition, self.is_open = threading.Condition(self.locks[0]), False
        self.reference: Any = AtomicReference(0)
        self.n = self.m = 0
        self.table: dict[int, int] = {}

    def run(self, tag: int, program: tuple[tuple[str, int], ...]) -> Any:
        seen: list[Any] = []
        held: list[int] = []
        for what, which in program:
            try:
                self.do(what, which, tag, held, seen)
            except RuntimeError as error:  # of who does not hold the lock
                seen.append(str(error))
        for lock in held:
            self.locks[lock].release()
        return tuple(seen)

    def do(self, what: str, which: int, tag: int, held: list[int], seen: list[Any]) -> None:
        match what:
            case "lock" if which not in held:
                self.locks[which].acquire()
                held.append(which)
            case "try" if which not in held:
                seen.append(self.locks[which].acquire(blocking=False))
                held += [which] * seen[-1]
            case "unlock" if held:
                self.locks[held.pop()].release()
            case "free":  # whoever holds it
                self.locks[which].release()
                held[:] = [each for each in held if each != which]
            case "signal":
                self.condition.notify()
            case "await":
                seen.append(self.condition.wait(which or None))
            case "n":
                self.n = self.n * 10 + tag
            case "m":
                seen.append(self.m)
                self.m = tag
            case "put":
                self.table[which] = tag
            case "list":
                seen.append(tuple(self.table.values()))
            case "load":
                seen.append(self.reference.load())
            case "swap":
                self.reference.compare_and_set(self.reference.load(), tag)
            case "set":
                self.event.set()
            case "wait":
                seen.append(self.event.wait(1))
            case "until" if 0 not in held:
                with self.condition:
                    while not self.is_open:
                        self.condition.wait()
            case "notify" if 0 not in held:
                with self.condition:
                    self.is_open = True
                    self.condition.notify_all()
            case "semaphore":
                with self.semaphore:
                    seen.append(self.n)
            case "spin":
                while self.reference.load() == 0:
                    pass


WORDS = (
    "lock", "lock", "try", "unlock", "n", "m", "put", "list", "load", "swap", "set", "wait", "semaphore", "spin",
    "until", "notify", "free", "signal", "await",
)  # fmt: skip
MOST = 1_000
"""The limit of schedules for each program."""


class Watched(ObjectExperiment):
    """An experiment that notes what could be seen."""

    def seen_by(self, attempts: Attempts) -> set[Any]:
        """Empty if there are too many schedules, or a loop whose schedules have no end."""
        self.seen, self.loops = set[Any](), False
        try:
            for number, _ in enumerate(attempts(self)):
                if self.loops or number == MOST:
                    return set()
        except Refused:
            return set()
        return self.seen

    def _judge(self, execution: Any) -> Any:
        made = self._object
        left = made.n, made.m, tuple(made.table.items()), made.reference._value
        self.seen.add((execution.trouble, execution.precedence(), self._answers(execution), left))
        self.loops = self.loops or execution.trouble == "livelock"


def drawn(random: Random) -> Scenario:
    """A program for two or three threads."""
    threads, tag = random.choice((2, 2, 3)), iter(range(1, 100))
    calls, lengths = (random.choice((1, 1, 2)), (1, 2, 3)) if threads == 2 else (1, (1, 2))

    def call() -> Any:
        words = tuple((random.choice(WORDS), random.randrange(2)) for _ in range(random.choice(lengths)))
        return "run", (next(tag), words)

    return Scenario("Machinery", "", tuple(tuple(call() for _ in range(calls)) for _ in range(threads)))


@pytest.mark.slow("runs all schedules of five random programs for each seed")
@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_of_a_random_program(seed: int) -> None:
    random, compared = Random(seed), 0
    with ExitStack() as stack:
        machine = stack.enter_context(explored_references())
        subject = stack.enter_context(subject_of(machine, Machinery, Anything(), None))
        for program in [drawn(random) for _ in range(5)]:
            whole = Watched(machine, subject, program).seen_by(lambda it: every(it, 99))
            while subject.plain.knowledge.grew:  # as the explorer does: what is a step depends on all that has run
                subject.plain.begin_again()
                whole = Watched(machine, subject, program).seen_by(lambda it: every(it, 99))
            if whole:
                compared += 1
                for attempts in (reduced, lambda it: bounded(it, 99)):
                    assert Watched(machine, subject, program).seen_by(attempts) == whole, program
    assert compared


@pytest.mark.parametrize(("calls", "orders"), [((1, 1), 2), ((3, 3), 20), ((1, 1, 1), 6), ((2, 2, 1), 30)])
def test_who_waits_for_a_lock_makes_no_step(calls: tuple[int, ...], orders: int) -> None:
    """There are as many executions as orders in which the threads can take the lock."""
    outcome = stress.explore(LockedCounter, stress.Counter(), [[("increment",)] * number for number in calls])
    assert (outcome.verdict, outcome.executions) == (stress.Verdict.LINEARIZABLE, orders)
