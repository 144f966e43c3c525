"""The explorer: its schedules are complete and repeatable, it sees what it should, and the tries pass."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stress.explorer.bounded import Switch, Switches, bounded
from stress.explorer.coroutines import Greenlets, Threads
from stress.explorer.dpor import reduced
from stress.explorer.machine import Execution, Machine, lowest
from stress.explorer.minimise import minimise
from stress.explorer.sampling import sampled
from stress.explorer.scenario import Scenario
from stress.explorer.suspension import delayed, stopped_for_ever
from stress.explorer.token import TokenError
from stress.explorer.trace import Drift, trace
from stress.reports import text as report_text
from tests.scripts import run_script
from tests.terminal import drawn_by
from tests.threads import run_together
from tests.tries.cli import main
from tests.tries.experiment import Finding, TrieExperiment
from tests.tries.mutants.catalogue import MUTANTS, find
from tests.tries.mutants.mutant import Mutant
from tests.tries.report import report_on_trie
from tests.tries.scenarios import CORE, STARTS, VARIANTS, pairs, random_scenario, snapshots, stops, triples
from tests.tries.structure import fingerprint
from tests.tries.token import Token, decode, encode
from tests.tries.trie_copy import TrieCopy, load_copy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.once,
]  # the explorer imports the interpreted twin whatever twin the tests run

SEED = int(os.environ.get("STRESS_SEED", "1"))
SHARE = 6 if find_spec("greenlet") else 15
"""The tests try one scenario of so many; the seed decides which one. `make stress` tries all of them."""
TRIES = ("map", "subscriptions")


@pytest.fixture(scope="module")
def twin() -> TrieCopy:
    return load_copy()


def scenario(target: str, start: str, *threads: Any) -> Scenario:
    return Scenario(target, start, tuple(thread if isinstance(thread[0], tuple) else (thread,) for thread in threads))


GET = ("get", ("a",))
PUT, PUT_BESIDE = ("__setitem__", ("a", 1001)), ("__setitem__", ("a2", 1002))
POP = ("pop", ("a", None))
ITEMS = ("items", ())

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
        assert finding is None, f"{finding.trouble}: {encode(Token(finding.scenario, finding.order))}"
        executions += 1
    return executions


def first(attempts: Iterator[Finding | None]) -> Finding:
    return next(finding for finding in attempts if finding is not None)


def seen(twin: TrieCopy, each: Scenario, attempts: Callable[[TrieExperiment], Iterator[Finding | None]]) -> set[Any]:
    """What can be observed of each execution: precedence, answers and the final content."""
    experiment = TrieExperiment(twin, each)
    clean(attempts(experiment))
    return set(experiment._verdicts)


def executions(attempts: Iterator[Finding | None], twin: TrieCopy) -> Iterator[Execution]:
    """The executions that ended."""
    for finding in attempts:
        assert finding is None
        if not twin.machine.execution.cut:
            yield twin.machine.execution


def every_schedule(experiment: TrieExperiment, preemptions: int) -> Iterator[Finding | None]:
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


class TestSchedules:
    @pytest.mark.parametrize("each", TWO_THREADS, ids=str)
    def test_reduction_leaves_nothing_out(self, twin: TrieCopy, each: Scenario) -> None:
        """As far as is known, there is room for four preemptions, and for three if the first thread makes one call."""
        most = 4 if each.threads[0][1:] else 3
        assert seen(twin, each, reduced) == seen(twin, each, lambda experiment: bounded(experiment, most))

    @pytest.mark.parametrize("each", THREE_THREADS, ids=str)
    def test_reduction_of_three_threads(self, twin: TrieCopy, each: Scenario) -> None:
        found = seen(twin, each, reduced)
        assert found >= seen(twin, each, lambda experiment: bounded(experiment, 3))
        assert found >= seen(twin, each, lambda experiment: islice(sampled(experiment, Random(SEED)), 2_000))

    @pytest.mark.parametrize("mutant", SHOWN_BY_A_PAIR, ids=lambda mutant: mutant.name)
    def test_what_is_wrong_is_found_all_the_same(self, mutant: Mutant) -> None:
        twin = load_copy(mutant.changes)
        experiment = TrieExperiment(twin, Scenario(mutant.of, *mutant.shown_by))
        assert any(finding is not None for finding in islice(reduced(experiment), 3_000))

    def test_an_access_of_what_is_no_slot_is_found_wrong(self) -> None:
        twin = load_copy(find("an aborted write puts back too much").changes)
        assert first(reduced(TrieExperiment(twin, scenario("map", "empty", PUT, ITEMS)))).kind == "history"

    @pytest.mark.parametrize("preemptions", [0, 1, 2])
    @pytest.mark.parametrize("each", [*TWO_THREADS, *THREE_THREADS], ids=str)
    def test_a_bound_leaves_nothing_out(self, twin: TrieCopy, each: Scenario, preemptions: int) -> None:
        every = seen(twin, each, lambda experiment: every_schedule(experiment, preemptions))
        assert seen(twin, each, lambda experiment: bounded(experiment, preemptions)) == every

    @pytest.mark.parametrize("target", TRIES)
    def test_nor_does_it_in_scenarios_drawn_at_random(self, twin: TrieCopy, target: str) -> None:
        random = Random(SEED)
        for _ in range(4):
            each = random_scenario(target, random, sizes=((1, 1), (1, 2), (1, 1, 1)))
            every = seen(twin, each, lambda experiment: every_schedule(experiment, 1))
            assert seen(twin, each, lambda experiment: bounded(experiment, 1)) == every, str(each)

    def test_what_need_not_be_executed_mostly_is_not(self, twin: TrieCopy) -> None:
        each = TWO_THREADS[1]
        every = clean(every_schedule(TrieExperiment(twin, each), 2))
        assert clean(bounded(TrieExperiment(twin, each), 2)) < every / 2
        assert clean(reduced(TrieExperiment(twin, each))) < every / 3

    @pytest.mark.parametrize("preemptions", [0, 1, 2])
    def test_bounded_schedules_differ_and_keep_the_bound(self, twin: TrieCopy, preemptions: int) -> None:
        experiment = TrieExperiment(twin, TWO_THREADS[1])
        orders = [execution.order for execution in executions(bounded(experiment, preemptions), twin)]
        assert len(set(map(tuple, orders))) == len(orders)
        switches = [sum(one != other for one, other in zip(order, order[1:], strict=False)) for order in orders]
        assert max(switches) == preemptions + 1  # and one switch that is no preemption, where the first thread ends
        assert switches == sorted(switches)

    def test_all_threads_remember_their_answers_in_one_place(self, twin: TrieCopy) -> None:
        own_stripe: Any = vars(twin.modules["subtrie._trie.match.matching"])["own_stripe"]
        together, stripes = threading.Barrier(8), set[int]()

        def look() -> None:
            together.wait()
            stripes.add(own_stripe(1))

        run_together([look] * 8)
        assert len(stripes) == 1

    def test_threads_do_as_greenlets_do(self, twin: TrieCopy) -> None:
        if isinstance(twin.machine.coroutines, Threads):
            pytest.skip("greenlet is not installed")
        runs = []
        for each in (Greenlets(), Threads()):
            experiment = TrieExperiment(load_copy(coroutines=each), TWO_THREADS[5])
            runs.append([(tuple(experiment.twin.machine.execution.order)) for _ in bounded(experiment, 1)])
            runs[-1] += [tuple(experiment.twin.machine.execution.order) for _ in stopped_for_ever(experiment)]
        assert runs[0] == runs[1]

    def test_every_thread_is_delayed_after_each_of_its_steps(self, twin: TrieCopy) -> None:
        experiment = TrieExperiment(twin, TWO_THREADS[5])
        orders = [tuple(twin.machine.execution.order) for _ in delayed(experiment)]
        for thread, other in ((0, 1), (1, 0)):
            begun = [order for order in orders if order[0] == thread]
            made = [order.index(other) for order in begun]
            assert made == [*range(1, len(made)), len(made) - 1]  # in the last one, the delayed thread had ended before
            for order, steps in zip(begun, made, strict=True):
                rest = order[steps:]
                assert set(rest[: rest.count(other)]) == {other}, "the other one runs to its end"

    def test_every_execution_starts_from_the_same_state(self, twin: TrieCopy) -> None:
        experiment = TrieExperiment(twin, scenario("map", "about to tomb", POP, ("snapshot", ())))
        before = fingerprint(experiment.subject.trie._root)
        clean(islice(sampled(experiment, Random(SEED)), 50))
        clean(islice(stopped_for_ever(experiment), 20))
        assert fingerprint(experiment.subject.trie._root) == before

    @pytest.mark.parametrize("target", ["map", "subscriptions"])
    def test_every_process_starts_from_the_same_state(self, target: str) -> None:
        """Python hashes texts differently in every process; a token must lead to the same nodes in all of them."""
        script = (
            "from tests.tries.scenarios import STARTS\n"
            "from tests.tries.structure import fingerprint\n"
            "from tests.tries.trie_copy import load_copy\n"
            f"twin, target = load_copy(), {target!r}\n"
            "for name, start in STARTS[target].items():\n"
            "    print(name, fingerprint(twin.make(target, start).trie._root))\n"
        )
        (status, told, errors), other = (run_script(script, PYTHONHASHSEED=seed) for seed in "12")
        assert (status, errors) == (0, "")
        assert other == (status, told, errors)

    def test_an_answer_that_cannot_be_read_is_a_finding(self, twin: TrieCopy, monkeypatch: pytest.MonkeyPatch) -> None:
        experiment = TrieExperiment(twin, scenario("map", "one key", ("snapshot", ()), GET))
        monkeypatch.setattr(experiment, "_stir", lambda: 1 // 0)
        finding = first(bounded(experiment, 0))
        assert (finding.kind, finding.order) == ("structure", tuple(twin.machine.execution.order))
        assert (
            finding.trouble == "what was answered cannot be read: ZeroDivisionError: integer division or modulo by zero"
        )

    def test_the_same_seed_gives_the_same_schedules(self, twin: TrieCopy) -> None:
        def orders() -> list[Any]:
            random = Random(SEED)
            experiment = TrieExperiment(twin, random_scenario("map", random))
            return [twin.machine.execution.order for _ in islice(sampled(experiment, random), 20)]

        assert orders() == orders()


class TestMatrix:
    def test_every_pair_of_operations_meets_on_every_start(self) -> None:
        for target in STARTS:
            met = {(each.start, *sorted((each.threads[0][0][0], each.threads[1][0][0]))) for each in pairs(target)}
            by_start = [start.operations_of(target) for start in STARTS[target].values()]
            others = [[op for op in operations if op not in CORE[target]] for operations in by_start]
            variants = [[op for op in operations if op in VARIANTS] for operations in others]
            expected = sum(len(operations) * (len(operations) + 1) // 2 for operations in by_start)
            left_out = sum(
                len(some) * (len(some) + 1) // 2 + len(some) * (len(all_others) - len(some))
                for some, all_others in zip(variants, others, strict=True)
            )
            assert len(met) == expected - left_out

    @pytest.mark.parametrize("target", TRIES)
    def test_three_threads_with_two_preemptions(self, twin: TrieCopy, target: str) -> None:
        chosen = Random(SEED).sample(list(triples(target)), 6)
        most = 4_500 // SHARE
        assert sum(clean(islice(bounded(TrieExperiment(twin, each), 2), most)) for each in chosen) > most

    @pytest.mark.parametrize("target", STARTS)
    def test_a_change_beside_a_snapshot(self, twin: TrieCopy, target: str) -> None:
        there = list(snapshots(target))
        for each in Random(SEED).sample(there, min(12, len(there))):
            clean(islice(bounded(TrieExperiment(twin, each), 2), 300))

    @pytest.mark.parametrize("target", ["shares", "exclusions", "topics", "fields", "routes"])
    def test_groups_topic_stores_and_fields(self, twin: TrieCopy, target: str) -> None:
        for each in Random(SEED).sample(list(pairs(target)), 15):
            clean(islice(bounded(TrieExperiment(twin, each), 2), 200))
        for each in Random(SEED).sample(list(stops(target)), 10):
            clean(islice(stopped_for_ever(TrieExperiment(twin, each)), 200))

    @pytest.mark.parametrize("setting", ["index", "on_interest"])
    def test_what_observes_changes(self, twin: TrieCopy, setting: str) -> None:
        there = [each for each in pairs("subscriptions") if STARTS["subscriptions"][each.start].has(setting)]
        for each in Random(SEED).sample(there, 12):
            clean(islice(bounded(TrieExperiment(twin, each), 2), 200))

    @pytest.mark.parametrize("target", TRIES)
    def test_scenarios_drawn_at_random(self, twin: TrieCopy, target: str) -> None:
        random = Random(SEED)
        for _ in range(300 // SHARE):
            clean(islice(sampled(TrieExperiment(twin, random_scenario(target, random)), random), 60))

    def test_a_level_tombed_below_a_filter_that_is_wanted_again_is_put_back(self, twin: TrieCopy) -> None:
        there = ("a", "x")
        each = scenario("subscriptions", "a subscriber above", ("subscribe", there), ("unsubscribe", there))
        clean(reduced(TrieExperiment(twin, each)))

    def test_a_snapshot_and_a_helper_do_not_hinder_each_other_for_ever(self, twin: TrieCopy) -> None:
        clean(reduced(TrieExperiment(twin, scenario("map", "empty", PUT, ITEMS))))


@pytest.fixture(scope="module")
def broken() -> tuple[TrieCopy, Finding]:
    """A faulty twin, and the first finding in it, made as small as possible."""
    twin = load_copy(find("GCAS without a look at the generation").changes)
    random = Random(SEED)
    while True:
        experiment = TrieExperiment(twin, random_scenario("map", random, ["one key"]))
        for finding in islice(sampled(experiment, random), 100):
            if finding is not None:
                return twin, minimise(finding, partial(TrieExperiment, twin))


class TestFindings:
    def test_a_finding_is_small(self, broken: tuple[TrieCopy, Finding]) -> None:
        _, finding = broken
        assert sum(map(len, finding.scenario.threads)) <= 3
        assert len(finding.order) < 60

    def test_it_is_explained(self, broken: tuple[TrieCopy, Finding]) -> None:
        report = report_on_trie(*broken, "GCAS without a look at the generation")
        text = report_text.render(report)
        assert text.startswith("NOT linearizable: ")
        assert any(name in text for name in ("resurrected key", "snapshot changed", "lost update", "stale read"))
        assert ".prev: CAS C" in text
        assert " done" in text
        assert ".node: read I" in text
        assert "thread 0" in text
        assert "where, when first met," in text
        assert "To see it again: python -m tests.tries replay x1." in text

    def test_its_token_brings_it_back(
        self, broken: tuple[TrieCopy, Finding], capsys: pytest.CaptureFixture[str]
    ) -> None:
        _, finding = broken
        token = encode(Token(finding.scenario, finding.order, "GCAS without a look at the generation"))
        assert decode(token).scenario == finding.scenario
        assert main(["replay", token]) == 1
        assert str(finding.scenario) in capsys.readouterr().out

    def test_without_the_fault_nothing_is_wrong(
        self, broken: tuple[TrieCopy, Finding], capsys: pytest.CaptureFixture[str]
    ) -> None:
        _, finding = broken
        status = main(["replay", encode(Token(finding.scenario, finding.order))])
        told = capsys.readouterr()
        assert (status, told.out.startswith("Nothing is wrong")) == (0, True) or (status, "no step" in told.err) == (
            2,
            True,
        )

    def test_the_page_has_the_steps(self, broken: tuple[TrieCopy, Finding], tmp_path: Any) -> None:
        _, finding = broken
        token = encode(Token(finding.scenario, finding.order, "GCAS without a look at the generation"))
        main(["replay", token, "--report", str(tmp_path / "page.html")])
        page = (tmp_path / "page.html").read_text()
        assert '"trace": [[' in page
        assert "CAS C" in page

    @pytest.mark.parametrize(
        ("mutant", "told"), [("clear does not return", "livelock"), ("get_or_create leaves others waiting", "deadlock")]
    )
    def test_what_never_ends_is_told(self, mutant: str, told: str) -> None:
        twin = load_copy(find(mutant).changes)
        each = scenario("map", "empty", ("get_or_create", ("a", 1)), ("get_or_create", ("a", 2)), ("clear", ()))
        report = report_on_trie(twin, first(bounded(TrieExperiment(twin, each), 1)))
        text = report_text.render(report)
        assert text.startswith(f"NOT all right: a {told}\n")
        assert len(text.splitlines()) < 400


class TestTokens:
    @pytest.mark.parametrize("text", ["x1.", "x1.AAAA", "x1.eNo", "no token"])
    def test_what_is_none(self, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(TokenError):
            decode(text)
        assert main(["replay", text]) == 2
        assert text in capsys.readouterr().err

    def test_a_token_may_be_longer_than_a_file_name(self, capsys: pytest.CaptureFixture[str]) -> None:
        calls = tuple(("get", (f"key {Random(number).random()}",)) for number in range(20))
        each = Scenario("map", "empty", (calls,))
        token = encode(Token(each, (0,) * 60))
        assert len(token) > 255
        assert main(["replay", token]) == 0
        assert "Nothing is wrong" in capsys.readouterr().out

    def test_an_order_that_does_not_fit(self, twin: TrieCopy) -> None:
        with pytest.raises(Drift):
            trace(TrieExperiment(twin, TWO_THREADS[0]), [0] * 20)

    def test_an_order_that_fits(self, twin: TrieCopy) -> None:
        experiment = TrieExperiment(twin, TWO_THREADS[0])
        execution, _ = experiment.run(Switches((Switch(1, 1),)))
        told, finding = trace(experiment, execution.order)
        assert finding is None
        texts = [text.partition("  (")[0] for _, text in told.steps]
        assert texts[:3] == ["get('a') ...", "R1.node: read I1", "__setitem__('a', 1001) ..."]
        assert texts[-1] == "... get -> 1001"
        assert dict(told.legend)["C1"] == "CNode []"


class TestCommand:
    @staticmethod
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.tries", "explore", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)

    def test_as_json(self) -> None:
        ran = self.run("map", "--duration", "2", "--seed", str(SEED), "--json")
        told = json.loads(ran.stdout)
        assert ran.returncode == (1 if told["found"] else 2)  # the matrix takes longer
        assert told["seed"] == SEED
        assert told["executions"] >= sum(told["scenarios"].values())
        assert told["of"]["pairs"] > 10_000

    def test_a_part_of_the_matrix(self) -> None:
        ran = self.run("routes", "--part", "pairs")
        assert ran.returncode == 0
        assert " pairs of operations, with two preemptions (" in ran.stdout

    def test_progress_is_drawn_on_a_terminal(self) -> None:
        words = ["explore", "map", "--duration", "1", "--seed", str(SEED), "--processes", "1"]
        drawn, printed = drawn_by([sys.executable, "-m", "tests.tries", *words])
        assert " executions: " in drawn
        assert "\n  " in printed
        assert " pairs of operations, " in printed

    def test_an_unknown_target(self) -> None:
        ran = self.run("maps")
        assert ran.returncode == 2
        assert (
            ran.stderr
            == "nothing is called 'maps': there are map, subscriptions, shares, exclusions, topics, fields, routes\n"
        )

    def test_ctrl_c_leaves_a_report(self) -> None:
        command = [sys.executable, "-m", "tests.tries", "explore", "subscriptions", "--duration", "60", "--json"]
        command += ["--processes", "2"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for_children(process.pid, 2)
        process.send_signal(signal.SIGINT)
        told = json.loads(process.communicate(timeout=100)[0])
        assert told["interrupted"] or told["found"]


def wait_for_children(pid: int, number: int) -> None:
    """Wait until the process has started so many others: then its command is under way."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    while len(children.read_text().split()) < number:
        os.sched_yield()
