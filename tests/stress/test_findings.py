"""What `explore` tells of an object: how many schedules there are, the smallest scenario that shows a fault, each step of it,
and a token by which it is had again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import stress
from ctrie import AtomicReference
from stress import Deferred, Scenarios, Verdict, explore
from stress.cli import main
from stress.explorer.token import TokenError, read

pytestmark = pytest.mark.once  # Python that is the same everywhere

ROOT = Path(__file__).parents[2]


class Total:
    """A sum. `add` repeats its compare-and-set until it succeeds."""

    def __init__(self) -> None:
        self.n = AtomicReference(0)

    def add(self, amount: int) -> None:
        while not self.n.compare_and_set(n := self.n.load(), n + amount):
            pass

    def value(self) -> int:
        return self.n.load()  # type: ignore[no-any-return]


class LossyTotal(Total):
    """The same sum, but `add` ignores the result of its compare-and-set."""

    def add(self, amount: int) -> None:
        n = self.n.load()
        self.n.compare_and_set(n, n + amount)


class PlainTotal:
    """A sum in a plain attribute."""

    def __init__(self) -> None:
        self.n = 0

    def add(self, amount: int) -> None:
        self.n += amount

    def value(self) -> int:
        return self.n


class TotalSpec(stress.Spec):
    initial = 0
    read_only = frozenset({"value"})

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return (state + args[0], None) if op == "add" else (state, state)


class Node:
    def __init__(self, item: int, below: Node | None) -> None:
        self.item, self.below = item, below


class Stack:
    """Treiber's stack."""

    def __init__(self) -> None:
        self.head = AtomicReference[Node | None]()

    def push(self, item: int) -> None:
        while not self.head.compare_and_set(top := self.head.load(), Node(item, top)):
            pass

    def pop(self) -> int | None:
        while (top := self.head.load()) is not None:
            if self.head.compare_and_set(top, top.below):
                return top.item  # type: ignore[no-any-return]
        return None

    def snapshot(self) -> Deferred:
        top = self.head.load()
        return Deferred(lambda: tuple(items(top)))


def items(node: Node | None) -> list[int]:
    return [] if node is None else [node.item, *items(node.below)]


class StackSpec(stress.Spec):
    initial = ()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        match op:
            case "push":
                return (*args, *state), None
            case "snapshot":
                return state, state
        return (state[1:], state[0]) if state else (state, None)


class Matcher:
    """Subscribers of single topics and of all topics. A match reads the two at two moments."""

    def __init__(self) -> None:
        nobody: frozenset[str] = frozenset()
        self.subscribers = {topic: AtomicReference(nobody) for topic in ("a", "b", "*")}

    def subscribe(self, topic: str, who: str) -> None:
        there = self.subscribers[topic]
        while not there.compare_and_set(old := there.load(), old | {who}):
            pass

    def match(self, topic: str) -> frozenset[str]:
        return self.subscribers[topic].load() | self.subscribers["*"].load()  # type: ignore[no-any-return]


class MatcherSpec(stress.Spec):
    initial = frozenset[Any]()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "subscribe":
            return state | {args}, None
        return state, frozenset(who for topic, who in state if topic in (*args, "*"))


class Touched:
    """Two steps, and nothing else."""

    def touch(self) -> None:
        self.it = "one"
        self.it = "other"


ADDS: list[Any] = [[("add", 1)], [("add", 2)]]
VALUE: list[Any] = [("value",)]
WRITES = [("subscribe", "b", "z"), ("subscribe", "a", "x"), ("subscribe", "*", "y")]
LOST: tuple[Any, ...] = LossyTotal, TotalSpec(), [[("add", 1), ("value",)], [("add", 2)], [("value",)]], VALUE
PLAIN: tuple[Any, ...] = PlainTotal, TotalSpec(), [[("add", 1), ("value",)], [("add", 2)]], VALUE
TORN: tuple[Any, ...] = Matcher, MatcherSpec(), [[("match", "b"), ("match", "a")], WRITES], []


def explored(wrong: tuple[Any, ...], **how: Any) -> stress.Explored:
    make, spec, threads, at_end = wrong
    return explore(make, spec, threads, at_end=at_end, **how)


class TestSchedules:
    @pytest.mark.parametrize(
        ("make", "spec", "threads", "at_end"),
        [
            (Total, TotalSpec(), [*ADDS, VALUE], VALUE),
            (Stack, StackSpec(), [[("push", 1)], [("push", 2)], [("pop",)]], [("pop",), ("pop",)]),
            (Stack, StackSpec(), [[("push", 1), ("snapshot",)], [("push", 2), ("pop",)]], []),
        ],
    )
    def test_all_of_a_right_object_are_right(self, make: Any, spec: Any, threads: Any, at_end: Any) -> None:
        outcome = explore(make, spec, threads, at_end=at_end)
        assert outcome, outcome.report()
        assert outcome.executions > 4
        assert f"{outcome.executions:,} executions" in outcome.summary
        assert explore(make, spec, threads, at_end=at_end).executions == outcome.executions

    @pytest.mark.parametrize(("size", "orders"), [(1, 1), (2, 6), (3, 90)])
    def test_none_is_left_out(self, size: int, orders: int) -> None:
        """Two threads with two steps each have six orders of steps, three threads ninety."""
        threads = [[("touch",)]] * size
        assert explore(Touched, None, threads, preemptions=6).executions == orders
        assert explore(Touched, None, threads).executions == orders  # each step depends on all others

    def test_with_few_preemptions_are_fewer_and_drawn_ones_are_as_many_as_asked_for(self) -> None:
        numbers = [explore(Total, TotalSpec(), ADDS, preemptions=most).executions for most in range(3)]
        assert numbers == sorted(set(numbers))
        assert numbers[0] == 2
        outcome = explore(Total, TotalSpec(), ADDS, samples=100, seed=7)
        assert outcome
        assert outcome.executions == 100
        assert "100 schedules drawn at random, seed 7" in outcome.summary

    def test_without_time_or_without_one_nothing_is_proved(self) -> None:
        outcome = explore(Stack, StackSpec(), [[("push", 1)] * 4] * 3, duration=0.05)
        assert outcome.verdict is Verdict.UNKNOWN
        assert "but time was up" in outcome.summary
        assert explore(Stack, StackSpec(), [[("pop",)]], samples=0).verdict is Verdict.UNKNOWN

    @pytest.mark.parametrize("how", [{"preemptions": 1}, {"samples": 1_000, "seed": 1}])
    @pytest.mark.parametrize("wrong", [LOST, PLAIN, TORN])
    def test_of_other_kinds_find_the_fault_too(self, wrong: Any, how: Any) -> None:
        assert explored(wrong, **how).verdict is Verdict.ILLEGAL


@pytest.mark.parametrize(
    ("wrong", "small"),
    [
        (LOST, r"LossyTotal: (add\(2\) \| value\(\)|add\(1\) \| add\(2\))"),
        (PLAIN, r"PlainTotal: add\(1\) \| add\(2\)"),
        (TORN, r"Matcher: match\('a'\) \| subscribe\('a', 'x'\); subscribe\('\*', 'y'\)"),
    ],
)
def test_a_fault_is_shown_with_the_fewest_calls_and_had_again_by_its_token(
    wrong: Any, small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = explored(wrong)
    assert outcome.found is not None
    assert re.fullmatch(small, outcome.found.facts["scenario"])
    report = outcome.report()
    assert "NOT linearizable: lost update" in report
    assert f"To see it again: python -m stress replay {outcome.token}\n" in report

    again = explored(wrong, replay=outcome.token)
    assert (again.verdict, again.executions, again.token) == (Verdict.ILLEGAL, 1, outcome.token)
    assert again.report().partition("\n")[2] == report.partition("\n")[2]
    assert main(["replay", outcome.token]) == 1
    assert report.partition("\n\n")[2].rstrip() in capsys.readouterr().out


class LossyFromTwo(Total):
    """A counter that loses updates, but only those that find 2 in it."""

    def increment(self) -> int:
        while True:
            n: int = self.n.load()
            if self.n.compare_and_set(n, n + 1) or n == 2:
                return n + 1


@pytest.mark.parametrize("seed", [1, 2])
def test_of_a_drawn_scenario_no_call_is_left_that_can_go(seed: int) -> None:
    outcome = explore(LossyFromTwo, stress.Counter(), [("increment",), ("value",)], seed=seed)
    assert outcome.verdict is Verdict.ILLEGAL
    origin = read(outcome.token).origin
    assert origin is not None
    at_start, *_, at_end = origin.read()
    assert outcome.found is not None
    threads = outcome.found.facts["scenario"]
    calls = len(at_start) + threads.count("increment()") + threads.count("value()") + len(at_end)
    assert calls == 4, outcome.report()


class Link:
    __slots__ = ("amount", "next")

    def __init__(self, amount: int) -> None:
        self.amount = amount
        self.next = AtomicReference()


class OneWay:
    """A sum as a list of the added numbers. A thread that is too late gives up."""

    def __init__(self) -> None:
        self.head = AtomicReference(Link(0))

    def add(self, amount: int) -> None:
        last = self.head.load()
        while (following := last.next.load()) is not None:
            last = following
        last.next.compare_and_set(None, Link(amount))

    def value(self) -> int:
        link, total = self.head.load(), 0
        while link is not None:
            total, link = total + link.amount, link.next.load()
        return total


class TestTraces:
    @pytest.mark.parametrize(
        ("wrong", "lines"),
        [
            (TORN, ["| subscribe('a', 'x') ...", "| subscribers['a']: CAS {} -> {'x'} done", "  ... match -> {'y'}"]),
            (PLAIN, ["  n: write"]),
            (
                (OneWay, TotalSpec(), ADDS, VALUE),
                ["head: read L1", "L1.next: read None", "L1.next: CAS None -> L", "    L1  Link: amount=0"],
            ),
        ],
    )
    def test_name_what_is_accessed(self, wrong: Any, lines: list[str]) -> None:
        report = explored(wrong).report()
        assert [line for line in lines if line not in report] == []

    def test_say_of_each_step_where_it_is(self) -> None:
        found = explored(TORN).found
        assert found is not None
        assert found.steps is not None
        accesses = [text for _, text in found.steps.rows if "..." not in text]
        assert accesses
        assert all(re.search(r"  \(test_findings\.py:\d+\)$", text) for text in accesses)

    def test_say_what_a_compare_and_set_found(self, tmp_path: Path) -> None:
        outcome = explore(LossyTotal, TotalSpec(), ADDS, at_end=VALUE)
        assert re.search(r"n: CAS 0 -> (1 failed, it is 2|2 failed, it is 1)", outcome.report())
        outcome.save_html(str(tmp_path / "page.html"))
        assert "n: CAS 0 -> " in (tmp_path / "page.html").read_text()
        with pytest.raises(ValueError, match="nothing was found"):
            explore(Total, TotalSpec(), ADDS).save_html(str(tmp_path / "other.html"))


class Halves:
    """A sum in two halves. `add` changes one after the other."""

    def __init__(self) -> None:
        self.one, self.other = Total(), Total()

    def add(self, amount: int) -> None:
        self.one.add(amount)
        self.other.add(amount)

    def value(self) -> int:
        return (self.one.value() + self.other.value()) // 2


class TestThreadsThatStopForEver:
    def test_hinder_nobody_in_a_lock_free_object(self) -> None:
        threads: list[Any] = [[("push", 1)], [("pop",)]]
        ended = explore(Stack, StackSpec(), threads, at_end=[("pop",)])
        stopped = explore(Stack, StackSpec(), threads, at_end=[("pop",)], stops=True)
        assert stopped, stopped.report()
        assert stopped.executions > ended.executions
        assert "threads that stop for ever" in stopped.summary

    def test_leave_half_of_it_done(self) -> None:
        """Either thread may be the one that stops, although the others do nothing."""
        calls: Any = [("add", 2)]
        for threads in ([calls, VALUE], [VALUE, calls], [calls]):
            outcome = explore(Halves, TotalSpec(), threads, at_end=VALUE, preemptions=0, stops=True)
            assert outcome.verdict is Verdict.ILLEGAL
            again = explore(Halves, TotalSpec(), threads, at_end=VALUE, replay=outcome.token)
            assert again.verdict is Verdict.ILLEGAL
        assert explore(Halves, TotalSpec(), [calls], at_end=VALUE)


class TestWhatElseIsLookedAt:
    def test_an_invariant_may_be_checked_in_the_end(self) -> None:
        def check(total: Total) -> None:
            assert total.value() != 3, "three is unlucky"

        outcome = explore(Total, TotalSpec(), ADDS, check=check)
        assert outcome.summary.startswith("NOT all right: a broken structure; ")
        assert "An invariant is broken: AssertionError: three is unlucky" in outcome.report()

    def test_a_snapshot_must_not_change(self) -> None:
        class Live(Stack):
            def snapshot(self) -> Deferred:
                return Deferred(lambda: items(self.head.load()))

        found = explore(Live, StackSpec(), [[("push", 1), ("snapshot",)], [("push", 2)]])
        assert found.verdict is Verdict.ILLEGAL

    def test_an_exception_is_an_answer_but_ctrl_c_is_none(self) -> None:
        class Ending(Total):
            error: type[BaseException] = KeyError

            def value(self) -> int:
                raise self.error(self.n.load())

        assert "raised KeyError" in explore(Ending, TotalSpec(), ADDS, at_end=VALUE).report()
        Ending.error = KeyboardInterrupt
        with pytest.raises(KeyboardInterrupt):
            explore(Ending, TotalSpec(), [[("add", 1)], VALUE])
        assert explore(Total, TotalSpec(), ADDS)

    def test_explored_references_do_as_others_do(self) -> None:
        class Shown(Total):
            def value(self) -> Any:
                return isinstance(self.n, AtomicReference) and repr(self.n) == repr(AtomicReference(0))

        assert "value() -> True" in explore(Shown, TotalSpec(), [VALUE, VALUE]).report()


class TestDrawnScenarios:
    def test_find_a_fault_from_the_operations_alone(self) -> None:
        outcome = explore(PlainTotal, TotalSpec(), [("add", 1), ("value",)], seed=5)
        assert outcome.verdict is Verdict.ILLEGAL
        assert "scenario" in outcome.summary
        assert explore(PlainTotal, TotalSpec(), [("add", 1), ("value",)], seed=5).token == outcome.token

    def test_are_as_many_as_asked_for(self) -> None:
        roles: Any = [[("push", stress.unique)], [("pop",)]]
        outcome = explore(Stack, StackSpec(), Scenarios((), roles=roles, scenarios=15, executions=60), seed=1)
        assert outcome, outcome.report()
        assert "15 scenarios of 2 threads" in outcome.summary

    def test_are_had_again_by_what_the_report_says(self) -> None:
        outcome = explore(
            lambda: PlainTotal(), TotalSpec(), Scenarios([("add", 1), ("value",)], before=3, after=3), seed=3
        )
        said = outcome.report().split("To see it again: stress.explore(..., ")[1].strip().removesuffix(")")
        named: dict[str, Any] = {}
        exec(f"def call(*threads, **named): return threads, named\nfound = call({said})", named)
        (threads,), options = named["found"]
        assert explore(PlainTotal, TotalSpec(), threads, **options).verdict is Verdict.ILLEGAL


MISFIT = r"'add' has (no|2) arguments, but the method is Total\.add\(.*\)"


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"threads": []}, ValueError, "a call in every thread"),
        ({"threads": [[("add", 1)], []]}, ValueError, "a call in every thread"),
        ({"threads": ADDS, "preemptions": 1, "samples": 1}, ValueError, "choose one"),
        ({"threads": [[("add", 1, 2)]]}, ValueError, MISFIT),
        ({"threads": [VALUE], "at_start": [("add",)]}, ValueError, MISFIT),
        ({"threads": [("value",), ("add", stress.unique, stress.one_of(1, 2))]}, ValueError, MISFIT),
        ({"threads": Scenarios([("value",)], roles=[[("value",)], [("value",), ("add",)]])}, ValueError, MISFIT),
        ({"threads": [[("multiply", 2)]]}, AttributeError, "multiply"),
        ({"threads": ADDS, "replay": "x1.eNqLNtGJjjaM1Yk2io0F"}, TokenError, "."),
        ({"threads": ADDS, "replay": "o1.AAAA"}, TokenError, "."),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        explore(Total, TotalSpec(), **given)


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"calls": 0}, {"before": -1}, {"scenarios": 0}])
def test_scenarios_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        Scenarios([("increment",)], **wrong)  # type: ignore[arg-type]


class TestTokens:
    def test_are_of_their_calls_and_of_their_code(self) -> None:
        class Idle(Total):
            def add(self, amount: int) -> None:
                self.n.load()

        token = explore(LossyTotal, TotalSpec(), ADDS, at_end=VALUE).token
        with pytest.raises(TokenError, match="the token is of 2 calls, and these are 1"):
            explore(LossyTotal, TotalSpec(), [[("add", 1)]], at_end=VALUE, replay=token)
        outcome = explore(Total, TotalSpec(), ADDS, at_end=VALUE, replay=token)  # Total is right in this schedule
        assert outcome.verdict is Verdict.UNKNOWN
        assert "nothing is wrong in the schedule of the token alone; the token is of LossyTotal" in outcome.summary
        with pytest.raises(TokenError, match="does not fit"):
            explore(Idle, TotalSpec(), ADDS, at_end=VALUE, replay=token)

    def test_without_their_object_are_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        gone = explore(LossyTotal, TotalSpec(), ADDS, at_end=VALUE, target="nowhere:Total").token
        assert main(["replay", gone]) == 2
        assert "nowhere:Total: No module named 'nowhere'" in capsys.readouterr().err
        nameless = explore(lambda: LossyTotal(), TotalSpec(), ADDS, at_end=VALUE).token
        assert main(["replay", nameless]) == 2
        assert "give it to stress.explore" in capsys.readouterr().err

    SOURCE = textwrap.dedent("""
        import stress
        class Hits:
            def __init__(self):
                self.n = 0
            def increment(self):
                n = self.n
                self.n = n + 1
                return n + 1
            def value(self):
                return self.n
        class HitsSpec(stress.Spec):
            initial = 0
            read_only = frozenset({"value"})
            operations = [("increment",), ("value",)]
            def step(self, state, op, args):
                return (state + 1, state + 1) if op == "increment" else (state, state)
        """)

    def run(self, directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "stress", *words],
            capture_output=True, text=True, timeout=100, cwd=directory, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    @pytest.mark.slow("four processes, one after another")
    def test_are_all_that_a_new_process_needs(self, tmp_path: Path) -> None:
        source = tmp_path / "counted.py"
        source.write_text(self.SOURCE)
        found = self.run(tmp_path, "explore", "counted:Hits", "--spec", "counted:HitsSpec", "--seed", "1")
        assert found.returncode == 1, found.stdout + found.stderr
        command = found.stdout.rpartition("To see it again: python -m stress ")[2].split()
        again = self.run(tmp_path, *command)
        assert again.returncode == 1, again.stdout + again.stderr
        assert again.stdout.partition("\n\n")[2] == found.stdout.partition("\n\n")[2]

        source.write_text(self.SOURCE.replace("return n + 1\n", "return n + 1  # as before\n"))
        changed = self.run(tmp_path, *command)
        assert changed.returncode == 1
        assert "counted.py has changed since: the token is for the earlier version." in changed.stderr
        source.write_text(self.SOURCE.replace("self.n = n + 1", "self.n += 1"))
        mended = self.run(tmp_path, *command)
        assert mended.returncode == 2, mended.stdout + mended.stderr
