"""Users' own objects under every schedule: right ones are explored to the end, wrong ones are refuted and explained."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import ctrie
import stress
from ctrie import AtomicReference
from stress import Deferred, Verdict, explore, switch_point
from stress import Set as SetSpec
from stress.cli import main
from stress.explorer import object_experiment
from stress.explorer.coroutines import Threads
from stress.explorer.token import origin_in

pytestmark = [pytest.mark.slow, pytest.mark.once]  # Python that is the same everywhere

ROOT = Path(__file__).parents[2]
NATIVE = AtomicReference


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
        switch_point("read the sum")
        n = self.n
        switch_point("write the sum")
        self.n = n + amount

    def value(self) -> int:
        switch_point("read the sum")
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

    def subscribe(self, topic: str, who: str) -> bool:
        there = self.subscribers[topic]
        while not there.compare_and_set(old := there.load(), old | {who}):
            pass
        return who not in old

    def unsubscribe(self, topic: str, who: str) -> bool:
        there = self.subscribers[topic]
        while not there.compare_and_set(old := there.load(), old - {who}):
            pass
        return who in old

    def match(self, topic: str) -> frozenset[str]:
        return self.subscribers[topic].load() | self.subscribers["*"].load()  # type: ignore[no-any-return]


class MatcherSpec(stress.Spec):
    initial = frozenset[Any]()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        match op:
            case "subscribe":
                return state | {args}, args not in state
            case "unsubscribe":
                return state - {args}, args in state
        return state, frozenset(who for topic, who in state if topic in (*args, "*"))


ADDS = [[("add", 1)], [("add", 2)]]
VALUE = [("value",)]


class TestRightObjects:
    @pytest.mark.parametrize(
        ("make", "spec", "threads", "at_end"),
        [
            (Total, TotalSpec, [*ADDS, [("value",)]], VALUE),
            (Stack, StackSpec, [[("push", 1), ("pop",)], [("push", 2), ("pop",)]], [("pop",)]),
            (Stack, StackSpec, [[("push", 1)], [("push", 2)], [("pop",)]], [("pop",), ("pop",)]),
            (Stack, StackSpec, [[("push", 1), ("snapshot",)], [("push", 2), ("pop",)]], []),
            (Matcher, MatcherSpec, [[("subscribe", "a", "x")], [("match", "a"), ("match", "a")]], []),
        ],
        ids=str,
    )
    def test_are_explored_to_the_end(self, make: Any, spec: Any, threads: Any, at_end: Any) -> None:
        outcome = explore(make, spec(), threads, at_end=at_end)

        assert outcome, outcome.report()
        assert outcome.verdict is Verdict.LINEARIZABLE
        assert outcome.executions > 4
        assert f"{outcome.executions:,} executions" in outcome.summary
        assert explore(make, spec(), threads, at_end=at_end).executions == outcome.executions

    def test_schedules_with_few_preemptions_are_fewer(self) -> None:
        numbers = [explore(Total, TotalSpec(), ADDS, preemptions=most).executions for most in range(3)]

        assert numbers == sorted(set(numbers))
        assert numbers[0] == 2

    def test_drawn_schedules_are_as_many_as_asked_for(self) -> None:
        outcome = explore(Total, TotalSpec(), ADDS, samples=100, seed=7)

        assert outcome
        assert outcome.executions == 100
        assert "100 schedules drawn at random, seed 7" in outcome.summary


class Touched:
    """Two steps, and nothing else."""

    def touch(self) -> None:
        switch_point("one")
        switch_point("other")


class TouchedSpec(stress.Spec):
    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return state, None


class TestEverySchedule:
    """Two threads with two steps each have six orders of steps, three threads ninety."""

    @pytest.mark.parametrize(("size", "orders"), [(1, 1), (2, 6), (3, 90)])
    def test_no_schedule_is_left_out(self, size: int, orders: int) -> None:
        threads = [[("touch",)]] * size

        assert explore(Touched, TouchedSpec(), threads, preemptions=6).executions == orders
        assert explore(Touched, TouchedSpec(), threads).executions == orders  # each step depends on all others

    def test_what_nobody_could_tell_apart_is_executed_once(self) -> None:
        class Readers(stress.Spec):
            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                return state, 0

        reads = [[("value",)]] * 3
        apart = explore(Total, Readers(), reads, preemptions=6).executions

        assert apart == 6
        assert explore(Total, Readers(), [[("value",), ("value",)], [("value",)]], preemptions=6).executions == 3


WRONG: dict[str, tuple[Callable[[], Any], stress.Spec, Any, Any]] = {
    "a lost update": (LossyTotal, TotalSpec(), [[("add", 1), ("value",)], [("add", 2)], [("value",)]], VALUE),
    "a lost update of plain code": (PlainTotal, TotalSpec(), [[("add", 1), ("value",)], [("add", 2)]], VALUE),
    "a torn match": (
        Matcher,
        MatcherSpec(),
        [[("match", "b"), ("match", "a")], [("subscribe", "b", "z"), ("subscribe", "a", "x"), ("subscribe", "*", "y")]],
        [],
    ),
}
SMALL = {
    "a lost update": ("LossyTotal: add(2) | value()", "LossyTotal: add(1) | add(2)"),
    "a lost update of plain code": ("PlainTotal: add(1) | add(2)",),
    "a torn match": ("Matcher: match('a') | subscribe('a', 'x'); subscribe('*', 'y')",),
}


@pytest.fixture(scope="module", params=WRONG)
def wrong(request: pytest.FixtureRequest) -> tuple[str, stress.Explored]:
    make, spec, threads, at_end = WRONG[request.param]
    return request.param, explore(make, spec, threads, at_end=at_end)


class TestWrongObjects:
    def test_are_refuted_with_the_fewest_calls(self, wrong: tuple[str, stress.Explored]) -> None:
        name, outcome = wrong

        assert not outcome
        assert outcome.verdict is Verdict.ILLEGAL
        assert outcome.found is not None
        assert outcome.found.facts["scenario"] in SMALL[name]

    def test_a_sentence_says_what_is_wrong(self, wrong: tuple[str, stress.Explored]) -> None:
        report = wrong[1].report()

        assert "NOT linearizable: lost update" in report
        assert " was lost: thread " in report

    def test_the_token_brings_the_execution_back(self, wrong: tuple[str, stress.Explored]) -> None:
        name, outcome = wrong
        make, spec, threads, at_end = WRONG[name]
        again = explore(make, spec, threads, at_end=at_end, replay=outcome.token)

        assert f"To see it again: python -m stress replay {outcome.token}\n" in outcome.report()
        assert not again
        assert again.executions == 1
        assert again.token == outcome.token
        assert again.report().partition("\n")[2] == outcome.report().partition("\n")[2]

    def test_the_command_line_needs_nothing_but_the_token(
        self, wrong: tuple[str, stress.Explored], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["replay", wrong[1].token]) == 1
        assert wrong[1].report().partition("\n\n")[2].rstrip() in capsys.readouterr().out

    @pytest.mark.parametrize("schedules", [{"preemptions": 1}, {"samples": 1_000, "seed": 1}], ids=str)
    def test_other_schedules_find_it_too(self, schedules: Any) -> None:
        for make, spec, threads, at_end in WRONG.values():
            assert explore(make, spec, threads, at_end=at_end, **schedules).verdict is Verdict.ILLEGAL

    def test_the_page_can_be_saved(self, tmp_path: Path) -> None:
        outcome = explore(LossyTotal, TotalSpec(), ADDS, at_end=VALUE)
        outcome.save_html(str(tmp_path / "page.html"))

        assert "n: CAS 0 -> " in (tmp_path / "page.html").read_text()
        with pytest.raises(ValueError, match="nothing was found"):
            explore(Total, TotalSpec(), ADDS).save_html(str(tmp_path / "other.html"))


class TestTraces:
    def test_references_are_named_by_where_they_lie(self) -> None:
        make, spec, threads, _ = WRONG["a torn match"]
        report = explore(make, spec, threads).report()

        for line in (
            "| subscribe('a', 'x') ...",
            "| subscribers['a']: read {}",
            "| subscribers['a']: CAS {} -> {'x'} done",
            "  subscribers['*']: read {'y'}",
            "  ... match -> {'y'}",
        ):
            assert line in report

    def test_every_step_has_its_file_and_line(self) -> None:
        make, spec, threads, _ = WRONG["a torn match"]
        found = explore(make, spec, threads).found
        assert found is not None
        assert found.steps is not None
        accesses = [text for _, text in found.steps.rows if "..." not in text]
        assert accesses
        assert all(re.search(r"  \(test_own_structures\.py:\d+\)$", text) for text in accesses)

    def test_a_compare_and_set_that_fails_says_what_it_found(self) -> None:
        report = explore(LossyTotal, TotalSpec(), ADDS, at_end=VALUE).report()

        assert "n: CAS 0 -> 1 failed, it is 2" in report or "n: CAS 0 -> 2 failed, it is 1" in report

    def test_switch_points_say_what_was_about_to_be_done(self) -> None:
        make, spec, threads, at_end = WRONG["a lost update of plain code"]

        assert "(write the sum)" in explore(make, spec, threads, at_end=at_end).report()

    def test_nodes_have_names_and_so_have_the_references_in_them(self) -> None:
        report = explore(OneWay, TotalSpec(), [[("add", 1)], [("add", 2)]], at_end=VALUE).report()

        assert "head: read L1" in report
        assert "L1.next: read None" in report
        assert "L1.next: CAS None -> L" in report
        assert "    L1  Link: amount=0" in report


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


class Spinning(Total):
    """A sum behind a lock; a thread tries again until it has the lock."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = AtomicReference(False)

    def add(self, amount: int) -> None:
        while not self.lock.compare_and_set(False, True):
            pass
        self.n.compare_and_set(n := self.n.load(), n + amount)
        self.lock.compare_and_set(True, False)


class Halves:
    """A sum in two halves. `add` changes one after the other."""

    def __init__(self) -> None:
        self.one, self.other = Total(), Total()

    def add(self, amount: int) -> None:
        self.one.add(amount)
        self.other.add(amount)

    def value(self) -> int:
        return self.one.value() + self.other.value()


class HalvesSpec(TotalSpec):
    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return super().step(state, op, tuple(2 * each for each in args))


class TestLockFreedom:
    def test_a_thread_that_stops_for_ever_hinders_nobody(self) -> None:
        ended = explore(Stack, StackSpec(), [[("push", 1)], [("pop",)]], at_end=[("pop",)])
        stopped = explore(Stack, StackSpec(), [[("push", 1)], [("pop",)]], at_end=[("pop",)], stops=True)

        assert stopped, stopped.report()
        assert stopped.executions > ended.executions
        assert "threads that stop for ever" in stopped.summary

    def test_who_waits_by_trying_again_is_right_while_all_go_on(self) -> None:
        outcome = explore(Spinning, TotalSpec(), ADDS, at_end=VALUE)

        assert outcome, outcome.report()

    def test_who_waits_for_a_thread_that_stops_goes_in_circles(self) -> None:
        outcome = explore(Spinning, TotalSpec(), ADDS, stops=True)

        assert outcome.summary.startswith("NOT all right: a livelock; ")
        assert "the threads go in circles" in outcome.report()
        assert not explore(Spinning, TotalSpec(), ADDS, replay=outcome.token)

    def test_what_a_thread_leaves_half_done_is_seen(self) -> None:
        """Either thread may be the one that stops."""
        half_way: list[list[tuple[Any, ...]]] = [[("add", 1)], [("value",)]]
        for threads in (half_way, half_way[::-1]):
            assert explore(Halves, HalvesSpec(), threads[:1], at_end=VALUE)
            outcome = explore(Halves, HalvesSpec(), threads, at_end=VALUE, preemptions=0, stops=True)
            assert outcome.verdict is Verdict.ILLEGAL
            assert not explore(Halves, HalvesSpec(), threads, at_end=VALUE, replay=outcome.token)

    def test_it_is_seen_although_the_others_do_nothing(self) -> None:
        assert not explore(Halves, HalvesSpec(), [[("add", 1)]], at_end=VALUE, stops=True)


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

        threads: list[Any] = [[("push", 1), ("snapshot",)], [("push", 2)]]

        assert explore(Stack, StackSpec(), threads)
        assert not explore(Live, StackSpec(), threads)

    def test_an_exception_is_an_answer(self) -> None:
        class Strict(Total):
            def value(self) -> int:
                raise KeyError(self.n.load())

        assert "raised KeyError" in explore(Strict, TotalSpec(), ADDS, at_end=VALUE).report()

    def test_specifications_of_the_package_do(self) -> None:
        class Members:
            def __init__(self) -> None:
                self.members: AtomicReference[frozenset[Any]] = AtomicReference(frozenset())

            def add(self, member: str) -> bool:
                while not self.members.compare_and_set(old := self.members.load(), old | {member}):
                    pass
                return member not in old

            def contains(self, member: str) -> bool:
                return member in self.members.load()

        assert explore(Members, SetSpec(), [[("add", "x")], [("add", "x"), ("contains", "x")]])


class Idle(Total):
    """Reads, and adds nothing."""

    def add(self, amount: int) -> None:
        self.n.load()


class Elsewhere:
    """Knows the reference as an attribute of its package."""

    def __init__(self) -> None:
        self.n = ctrie.AtomicReference(0)

    add, value = LossyTotal.add, LossyTotal.value


Renamed = AtomicReference


class ByAnotherName(Elsewhere):
    def __init__(self) -> None:
        self.n = Renamed(0)


class ByADefault(Elsewhere):
    def __init__(self, make: Any = AtomicReference) -> None:
        self.n = make(0)


class ByANamedDefault(Elsewhere):
    def __init__(self, *, make: Any = AtomicReference) -> None:
        self.n = make(0)


class OfItsClass(Elsewhere):
    __slots__ = ()
    make = AtomicReference

    def __init__(self) -> None:
        self.n = self.make(0)


MAKERS: dict[str, Any] = {"n": {"n": AtomicReference}}


class FromATable(Elsewhere):
    def __init__(self) -> None:
        self.n = MAKERS["n"]["n"](0)


def in_a_function() -> type:
    from ctrie import AtomicReference as Local

    class ByALocalName(Elsewhere):
        def __init__(self) -> None:
            self.n = Local(0)

    return ByALocalName


@dataclass
class AsAField(Elsewhere):
    n: Any = field(default_factory=AtomicReference)

    def __post_init__(self) -> None:
        self.n.compare_and_set(None, 0)


@pytest.mark.parametrize(
    "given",
    [
        {"threads": [[("add", 1, 2)]]},
        {"threads": [[("value",)]], "at_start": [("add",)]},
        {"threads": [[("value",)]], "at_end": [("add", 1, 2)]},
        {"threads": [("value",), ("add", stress.unique, stress.one_of(1, 2))]},
        {"threads": stress.Scenarios([("value",)], roles=[[("value",)], [("value",), ("add",)]])},
    ],
)
def test_calls_that_do_not_fit_the_object_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"'add' has (no|2) arguments, but the method is Total\.add\(.*\)"):
        explore(Total, TotalSpec(), **given)


class LossyFromTwo:
    """A counter that loses updates, but only those that find 2 in it."""

    def __init__(self) -> None:
        self.n = AtomicReference(0)

    def increment(self) -> int:
        while True:
            n: int = self.n.load()
            if self.n.compare_and_set(n, n + 1):
                return n + 1
            if n == 2:
                return n + 1

    def value(self) -> int:
        found: int = self.n.load()
        return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_of_a_drawn_scenario_no_call_is_left_that_can_go(seed: int) -> None:
    outcome = explore(LossyFromTwo, stress.Counter(), [("increment",), ("value",)], seed=seed)

    assert outcome.verdict is Verdict.ILLEGAL
    origin = origin_in(outcome.token)
    assert origin is not None
    at_start, *_, at_end = origin.read()
    assert outcome.found is not None
    threads = outcome.found.facts["scenario"]
    assert (len(at_start) + threads.count("increment()") + threads.count("value()") + len(at_end)) == 4, (
        outcome.report()
    )


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot be forked here")
def test_a_forked_process_has_none_of_the_threads_that_explored_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without greenlets, the explorer uses threads, and keeps them from one exploration to the next."""
    coroutines = Threads()
    monkeypatch.setattr(object_experiment, "_coroutines", lambda: coroutines)
    assert explore(Total, TotalSpec(), ADDS)

    child = multiprocessing.get_context("fork").Process(target=explore, args=(Total, TotalSpec(), ADDS), daemon=True)
    child.start()
    child.join(30)
    is_done = child.exitcode is not None
    child.kill()

    assert is_done
    assert child.exitcode == 0
