"""Objects of a reader's own: references, threads, refusals, and what is around an exploration."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest

import ctrie
from ctrie import AtomicReference
from stress import Verdict, explore
from stress.cli import main
from stress.explorer import kinds, policy
from stress.explorer.token import TokenError
from tests.stress.test_own_structures import (
    ADDS,
    NATIVE,
    ROOT,
    VALUE,
    AsAField,
    ByADefault,
    ByANamedDefault,
    ByAnotherName,
    Elsewhere,
    FromATable,
    Idle,
    LossyTotal,
    OfItsClass,
    PlainTotal,
    Renamed,
    Stack,
    StackSpec,
    Total,
    TotalSpec,
    in_a_function,
)

pytestmark = [pytest.mark.slow, pytest.mark.once]  # Python that is the same everywhere


class TestReferences:
    @pytest.mark.parametrize(
        "make",
        [
            Elsewhere, ByAnotherName, ByADefault, ByANamedDefault, OfItsClass, in_a_function(), AsAField,
            lambda: Elsewhere(),
        ],
    )  # fmt: skip
    def test_any_name_will_do(self, make: Any) -> None:
        gc.collect()  # the collector then ignores tuples and dictionaries that cannot be part of a cycle
        assert explore(make, TotalSpec(), ADDS, at_end=VALUE).verdict is Verdict.ILLEGAL

    def test_one_made_by_a_name_that_is_not_found_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"n is of type AtomicReference, and was made before .* by a name"):
            explore(FromATable, TotalSpec(), ADDS, at_end=VALUE)

    def test_afterwards_all_names_are_as_they_were(self) -> None:
        explore(Total, TotalSpec(), ADDS)
        with pytest.raises(AttributeError):
            explore(Total, TotalSpec(), [[("multiply", 2)]])

        assert ctrie.AtomicReference is NATIVE
        assert AtomicReference is NATIVE
        assert Renamed is NATIVE
        for make in (Total, in_a_function(), AsAField):
            assert type(make().n) is NATIVE

    def test_explored_ones_do_as_others_do(self) -> None:
        class Shown(Total):
            def value(self) -> Any:
                assert isinstance(self.n, AtomicReference)
                return repr(self.n)

        class ShownSpec(TotalSpec):
            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                return state, repr(AtomicReference(0))

        assert explore(Shown, ShownSpec(), [[("value",)], [("value",)]])

    def test_outside_of_explorations_switch_points_do_nothing(self) -> None:
        total = PlainTotal()
        total.add(3)

        assert total.value() == 3


class TestThreadsOfTheProcess:
    def test_explorations_may_run_in_any(self) -> None:
        outcomes: list[Any] = []
        for _ in range(2):
            thread = threading.Thread(target=lambda: outcomes.append(explore(Total, TotalSpec(), ADDS)))
            thread.start()
            thread.join(60)
            outcomes.append(explore(Total, TotalSpec(), ADDS))

        assert [bool(outcome) for outcome in outcomes] == [True] * 4
        assert len({outcome.executions for outcome in outcomes}) == 1

    def test_ctrl_c_is_no_answer(self) -> None:
        class Ending(Total):
            def value(self) -> int:
                self.n.load()
                raise KeyboardInterrupt

        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                explore(Ending, TotalSpec(), [[("add", 1)], [("value",)]])
        assert explore(Total, TotalSpec(), ADDS)


class TestRefusals:
    def test_no_thread_or_no_call(self) -> None:
        wrong: list[Any] = [[], [[]], [[("add", 1)], []]]
        for threads in wrong:
            with pytest.raises(ValueError, match="a call in every thread"):
                explore(Total, TotalSpec(), threads)

    def test_two_kinds_of_schedules(self) -> None:
        with pytest.raises(ValueError, match="choose one"):
            explore(Total, TotalSpec(), ADDS, preemptions=1, samples=1)

    def test_an_object_in_which_the_explorer_sees_nothing(self) -> None:
        class Plain:
            def add(self, amount: int) -> None:
                pass

        with pytest.raises(ValueError, match=r"there is nothing to explore: no call of Plain: add\(1\) \| add\(2\) "):
            explore(Plain, TotalSpec(), ADDS)

    def test_an_object_whose_calls_all_raise(self) -> None:
        class Mistaken:
            def add(self, amount: Any) -> Any:
                return int(f"{amount} pounds")

        with pytest.raises(ValueError, match=r"a switch_point; each of them raised ValueError\(invalid"):
            explore(Mistaken, None, ADDS)

    def test_an_object_whose_calls_all_raise_after_an_access_is_right_and_that_is_said(self) -> None:
        class Mistaken(Total):
            def add(self, amount: int) -> None:
                total: Any = self.n.load()
                total.add(amount)

        outcome = explore(Mistaken, None, ADDS)
        assert outcome.verdict is Verdict.LINEARIZABLE
        assert "and each call raised AttributeError('int' object has no attribute 'add')" in outcome.summary

    def test_an_object_that_does_not_do_the_same_each_time(self) -> None:
        turns = itertools.count()

        class Moody(Total):
            def add(self, amount: int) -> None:
                for _ in range(5 - next(turns) % 5):
                    self.n.load()
                super().add(amount)

        with pytest.raises(ValueError, match="Moody does not do the same each time"):
            explore(Moody, TotalSpec(), ADDS)

    def test_locks_taken_in_the_order_of_their_addresses(self) -> None:
        class Bank:
            made: ClassVar = itertools.count()

            def __init__(self) -> None:
                self.locks = [threading.Lock(), threading.Lock()]
                if next(self.made) % 2:  # as `sorted(locks, key=id)` may do it
                    self.locks.reverse()
                self.n = 0

            def add(self, amount: int) -> int:
                with self.locks[0], self.locks[1]:
                    self.n += amount
                    return self.n

        with pytest.raises(
            ValueError, match=r"step \d+ accesses object \d, where it had accessed object \d \(what goes by"
        ):
            explore(Bank, None, [[("add", 1)], [("add", 2)]])

    def test_one_that_does_another_thing_in_between_alone(self) -> None:
        """The first and the last execution are alike. One in between begins like them, and then does something else."""
        made = itertools.count()

        class Once(Total):
            def __init__(self) -> None:
                super().__init__()
                self.other, self.is_third = AtomicReference(0), next(made) == 5

            def add(self, amount: int) -> None:
                (self.other if self.is_third else self.n).load()
                self.n.load()
                super().add(amount)

        with pytest.raises(ValueError, match="begins as an earlier one accesses something else"):
            explore(Once, TotalSpec(), ADDS)
        assert next(made) > 5

    def test_time_that_does_not_suffice_proves_nothing(self) -> None:
        outcome = explore(Stack, StackSpec(), [[("push", 1)] * 4] * 3, duration=0.05)

        assert outcome.verdict is Verdict.UNKNOWN
        assert not outcome
        assert "but time was up" in outcome.summary

    def test_no_schedule_proves_nothing_either(self) -> None:
        assert explore(Stack, StackSpec(), [[("pop",)]], samples=0).verdict is Verdict.UNKNOWN

    @pytest.mark.parametrize("text", ["x1.eNqLNtGJjjaM1Yk2io0F", "o1.", "o1.AAAA"])
    def test_what_is_no_token(self, text: str) -> None:
        with pytest.raises(TokenError):
            explore(Total, TotalSpec(), ADDS, replay=text)

    def test_a_token_of_other_calls(self) -> None:
        token = explore(LossyTotal, TotalSpec(), ADDS, at_end=VALUE).token

        with pytest.raises(TokenError, match="the token is of 2 calls, and these are 1"):
            explore(LossyTotal, TotalSpec(), [[("add", 1)]], at_end=VALUE, replay=token)

    def test_a_token_of_code_that_has_changed(self) -> None:
        token = explore(LossyTotal, TotalSpec(), ADDS, at_end=VALUE).token

        outcome = explore(Total, TotalSpec(), ADDS, at_end=VALUE, replay=token)  # Total is right in this schedule
        assert outcome.verdict is Verdict.UNKNOWN
        assert "nothing is wrong in the schedule of the token alone; the token is of LossyTotal" in outcome.summary
        with pytest.raises(TokenError, match="does not fit"):
            explore(Idle, TotalSpec(), ADDS, at_end=VALUE, replay=token)


class TestWithPytest:
    def test_the_fixture_fails_with_the_report(self, tmp_path: Path) -> None:
        (tmp_path / "test_it.py").write_text(
            "from tests.stress.test_own_structures import ADDS, VALUE, LossyTotal, Total, TotalSpec\n"
            "def test_right(every_schedule):\n"
            "    assert every_schedule(Total, TotalSpec(), ADDS, samples=10, seed=3).executions == 10\n"
            "def test_wrong(every_schedule):\n"
            "    every_schedule(LossyTotal, TotalSpec(), ADDS, at_end=VALUE)\n"
        )
        words = ["-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(tmp_path)]
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *words], capture_output=True, text=True, timeout=100, cwd=ROOT, check=False
        )

        assert "1 failed, 1 passed" in ran.stdout, ran.stdout
        assert "NOT linearizable: lost update; every schedule" in ran.stdout
        assert "To see it again: python -m stress replay o1." in ran.stdout
        assert "Traceback" not in ran.stdout


class TestReplayFromTheCommandLine:
    """A new process replays a schedule and knows nothing but the token."""

    SOURCE = """
        import threading, stress
        from stress import Workload

        class Hits:
            def __init__(self):
                self.n = 0
            def increment(self):
                n = self.n
                self.n = n + 1
                return n + 1
            def value(self):
                return self.n

        class Two(Hits):
            pass

        class HitsSpec(stress.Spec):
            initial = 0
            read_only = frozenset({"value"})
            operations = [("increment",), ("value",)]
            def step(self, state, op, args):
                return (state + 1, state + 1) if op == "increment" else (state, state)

        both = [Workload(Two, stress.Counter(), [("value",)]), Workload(Hits, HitsSpec(), HitsSpec.operations)]
        """

    def run(self, directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "stress", *words],
            capture_output=True, text=True, timeout=100, cwd=directory, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    @pytest.mark.parametrize("words", [["counted:Hits", "--spec", "counted:HitsSpec"], ["counted:both"]], ids=str)
    def test_what_explore_prints_replays_what_it_found(self, tmp_path: Path, words: list[str]) -> None:
        source = tmp_path / "counted.py"
        source.write_text(textwrap.dedent(self.SOURCE))
        found = self.run(tmp_path, "explore", *words, "--seed", "1")
        assert found.returncode == 1, found.stdout + found.stderr
        command = found.stdout.rpartition("To see it again: python -m stress ")[2].split()

        again = self.run(tmp_path, *command)

        assert again.returncode == 1, again.stdout + again.stderr
        assert again.stdout.partition("\n\n")[2] == found.stdout.partition("\n\n")[2]

        source.write_text(source.read_text().replace("return n + 1\n", "return n + 1  # as before\n", 1))
        changed = self.run(tmp_path, *command)
        assert changed.returncode == 1
        assert "counted.py has changed since: the token is for the earlier version." in changed.stderr

        source.write_text(textwrap.dedent(self.SOURCE).replace("self.n = n + 1", "self.n += 1"))
        mended = self.run(tmp_path, *command)
        assert mended.returncode == 2, mended.stdout + mended.stderr

    def test_an_object_that_is_gone(self, capsys: pytest.CaptureFixture[str]) -> None:
        token = explore(LossyTotal, TotalSpec(), ADDS, at_end=VALUE, target="nowhere:Total").token

        assert main(["replay", token]) == 2
        assert "nowhere:Total: No module named 'nowhere'" in capsys.readouterr().err

    def test_a_token_that_cannot_know_its_object(self, capsys: pytest.CaptureFixture[str]) -> None:
        outcome = explore(lambda: LossyTotal(), TotalSpec(), ADDS, at_end=VALUE)
        assert f"To see it again: stress.explore(..., replay={outcome.token!r})" in outcome.report()

        assert main(["replay", outcome.token]) == 2
        assert "give it to stress.explore" in capsys.readouterr().err


class UnderLock:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.total = 0

    def add(self, number: int) -> int:
        with self.lock:
            self.total += number
            return self.total


@pytest.mark.parametrize(
    ("made", "spec", "threads"),
    [
        (Stack, StackSpec(), [[("push", 1)], [("pop",)]]),
        (UnderLock, TotalSpec(), ADDS),
        (PlainTotal, TotalSpec(), ADDS),
    ],
)
def test_explorations_leave_nothing_behind(made: Any, spec: Any, threads: Any) -> None:
    """Each makes classes and code of its own: a process that explores for a day must not keep them."""

    def left() -> tuple[int, int, int]:
        gc.collect()
        return len(gc.get_objects()), len(kinds._kinds), len(policy._known)

    for _ in range(2):
        explore(made, spec, threads)
    before = left()
    for _ in range(5):
        explore(made, spec, threads)
    after = left()
    assert all(now - then < 5 for now, then in zip(after, before, strict=True)), (before, after)
