"""Verdicts of runs: however a run ends, its exit status is 0, 1, 2 or 3, and it is the right one.

Every case here once ended with another status: with success, or with a traceback.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import stress
from stress import Counter, Verdict
from stress.cli import main
from stress.verdicts import verdict_of
from tests.stress.test_run import COUNTING, LockedCounter, LossyCounter
from tests.tries.cli import main as tries_main

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]

OBJECTS = """
import ctypes, itertools, os, signal, threading, time
import stress
from tests.stress.test_run import COUNTING, LockedCounter, LossyCounter

made = itertools.count()

class Dying(LockedCounter):
    "Dies in the sixth object, in a call."
    def __init__(self):
        super().__init__()
        self.bad = next(made) >= 5
    def increment(self):
        found = super().increment()
        if self.bad and found > 20:
            self.die()
        return found

class Segfault(Dying):
    def die(self): ctypes.string_at(0)
class Killed(Dying):
    def die(self): os.kill(os.getpid(), signal.SIGKILL)
class Aborted(Dying):
    def die(self): os.abort()
class Left(Dying):
    def die(self): os._exit(3)

class Unmakeable:
    def __init__(self): raise RuntimeError("no such luck")

class Slow(LockedCounter):
    def increment(self):
        time.sleep(0.05)
        return super().increment()

class Stuck(LockedCounter):
    def increment(self):
        found = super().increment()
        if found == 40:
            self.lock.acquire()
        return found

class Spec(stress.Counter):
    name = ""
    operations = COUNTING

class Exits(LockedCounter):
    "What it raises says 'success' if it gets through."
    def increment(self): raise SystemExit(0)
class Sleeps(LockedCounter):
    def increment(self): ctypes.CDLL(None).sleep(1000)
class Faults(LockedCounter):
    def increment(self): return super().increment() if self.n < 1 else ctypes.string_at(0)
class WrongAndMortal(LossyCounter):
    "Wrong, and ends the process that looks for a smaller history."
    def __init__(self):
        super().__init__()
        self.again = next(made) > 0
    def increment(self):
        if self.again: os._exit(0)
        return super().increment()

def workload(factory): return stress.Workload(factory, stress.Counter(), COUNTING)
segfault, killed, aborted, left, unmakeable, slow, stuck, locked, lossy = map(
    workload, (Segfault, Killed, Aborted, Left, Unmakeable, Slow, Stuck, LockedCounter, LossyCounter)
)
exits, sleeps, faults, mortal = map(workload, (Exits, Sleeps, Faults, WrongAndMortal))
too_many, misspelt = (
    stress.Workload(LockedCounter, stress.Counter(), [*COUNTING, wrong]) for wrong in [("value", 1), ("valve",)]
)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with the user's objects."""
    (tmp_path / "objects.py").write_text(OBJECTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    return tmp_path


def module_of(words: Sequence[str]) -> str:
    """The module with this command line."""
    return "tests.tries" if {"mutants", "map"}.intersection(words) else "stress"


def command(*words: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module_of(words), *words],
        stdout=settings.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, text=True, timeout=100, check=False,
        **settings,
    )  # fmt: skip


class TestRule:
    def test_something_wrong_goes_before_all_that_is_missing(self) -> None:
        assert verdict_of(found=True, missing=["it was interrupted"]) is Verdict.ILLEGAL
        assert verdict_of(found=False, missing=["it was interrupted"]) is Verdict.UNKNOWN
        assert verdict_of(found=False, missing=[]) is Verdict.LINEARIZABLE


class TestDeath:
    """Case 1: a process of the team that died ended a run with "linearizable" and status 0."""

    @pytest.mark.parametrize(
        ("target", "end", "processes"),
        [
            ("segfault", "SIGSEGV (a segmentation fault)", "1"),
            ("killed", "SIGKILL", "2"),
            ("aborted", "SIGABRT (it aborted)", "1"),
            ("left", "itself with exit status 3", "2"),
        ],
    )
    def test_is_a_finding(self, folder: Path, target: str, end: str, processes: str) -> None:
        ran = command("run", f"objects:{target}", "--duration", "20", "--processes", processes)

        assert ran.returncode == 1, ran.stderr
        assert f"a process was ended by {end}" in ran.stdout
        assert "in increment()" in ran.stdout
        if target in ("segfault", "aborted"):
            assert "objects.py" in ran.stdout
            assert "in die" in ran.stdout

        history = [json.loads(line) for line in (folder / "stress-failure.jsonl").read_text().splitlines()[1:]]
        assert history
        assert all(line[3] is None for line in history)  # the calls that were running

    def test_shows_again_what_it_was(self, folder: Path) -> None:
        command("run", "objects:segfault", "--duration", "20")

        again = command("replay", "stress-failure.jsonl")
        assert again.returncode == 1
        assert "NOT all right: a process that died" in again.stdout
        assert command("check", "stress-failure.jsonl").returncode == 1

    def test_of_a_process_killed_from_outside(self, folder: Path) -> None:
        words = [sys.executable, "-m", "tests.tries", "explore", "map", "--processes", "1"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            os.kill(child_of(running.pid), signal.SIGKILL)
            out, _ = running.communicate(timeout=100)
        assert running.returncode == 1
        assert "ended by SIGKILL" in out

    def test_of_a_process_that_tries_mutants(self, folder: Path) -> None:
        """Case 2: `0 of 0 mutants caught`, and status 0."""
        words = [sys.executable, "-m", "tests.tries", "mutants", "--processes", "1", "unmutated"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            os.kill(child_of(running.pid), signal.SIGKILL)
            assert running.stdout is not None
            assert (
                "DIED      map: unmutated: the process that tried it was ended by SIGKILL" in running.stdout.readline()
            )
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=100)
        assert running.returncode == 1
        assert re.search(r"unfinished: it was interrupted; 1 of \d+ were tried", out)

    def test_through_the_library(self) -> None:
        class Dying(LockedCounter):
            def increment(self) -> int:
                if self.n == 30:
                    os.abort()
                return super().increment()

        outcome = stress.run(Dying, Counter(), COUNTING, duration=20, processes=2, seed=1)
        assert outcome.verdict is Verdict.ILLEGAL
        assert "SIGABRT" in outcome.trouble
        assert outcome.history is not None
        assert "Dying" in outcome.report() or "increment" in outcome.stacks


def children(pid: int) -> list[int]:
    """The children of a process. Where the system has no list of them, all processes are searched; it takes longer."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:  # this system has no such list
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(FileNotFoundError, ProcessLookupError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry.name))
        return found


def child_of(pid: int) -> int:
    """The child of a process, as soon as it has one that stays. One that only asks the system something ends soon."""
    seen: dict[int, int] = {}
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for child in children(pid):
            seen[child] = seen.get(child, 0) + 1
        staying = [child for child, times in seen.items() if times > 50]
        if staying:
            return staying[0]
        time.sleep(0.005)  # between two looks; their number does not matter
    raise AssertionError("it has no child")


class TestUnfinished:
    """Case 3: an unfinished run counted as success."""

    def test_nothing_explored(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert tries_main(["explore", "map", "--duration", "0.01"]) == 2
        assert "0 of the 14,530 scenarios" in capsys.readouterr().out

    @pytest.mark.parametrize("words", [["run", "objects:slow"], ["explore", "map"], ["explore", "objects:locked"]])
    def test_ctrl_c(self, folder: Path, words: list[str]) -> None:
        running = subprocess.Popen(
            [sys.executable, "-m", module_of(words), *words, "--duration", "600"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        with running:
            child_of(running.pid)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=100)
        assert running.returncode == 2, err
        assert "Traceback" not in err
        assert "interrupted" in out + err

    def test_one_thread_alone(self) -> None:
        outcome = stress.run(LockedCounter, Counter(), COUNTING, threads=1, rounds=20, seed=1)
        assert outcome.verdict is Verdict.UNKNOWN
        assert "nothing could overlap" in outcome.summary

    def test_time_is_up_before_anything_is_judged(self) -> None:
        class Slow(LockedCounter):
            def __init__(self) -> None:
                super().__init__()
                time.sleep(0.2)

        outcome = stress.run(Slow, Counter(), COUNTING, duration=0.1, seed=1)
        assert outcome.verdict is Verdict.UNKNOWN
        assert outcome.operations == 0

    def test_a_check_that_answers_false(self) -> None:
        """Case 11, in part."""
        outcome = stress.run(LockedCounter, Counter(), COUNTING, rounds=20, seed=1, check=lambda it: False)
        assert outcome.verdict is Verdict.ILLEGAL
        assert "an invariant is broken after the batch: the check answered False" in outcome.summary


class LossyReference:
    def __init__(self) -> None:
        from ctrie import AtomicReference

        self.n: Any = AtomicReference(0)

    def increment(self) -> int:
        n: int = self.n.load()
        self.n.compare_and_set(n, n + 1)
        return n + 1


class TestHang:
    """Case 13: a saved hang was shown again as "linearizable", without the places of the threads."""

    def test_says_where_every_thread_is_also_when_shown_again(self, folder: Path) -> None:
        ran = command("run", "objects:stuck", "--duration", "30", "--patience", "1")
        assert ran.returncode == 1
        assert "nothing has moved for 1 s" in ran.stdout
        assert "objects.py" in ran.stdout or "test_stress_run.py" in ran.stdout
        assert "with self.lock" in ran.stdout or "self.lock.acquire()" in ran.stdout

        again = command("replay", "stress-failure.jsonl")
        assert again.returncode == 1
        assert "NOT all right: a call that never returns" in again.stdout
        assert "self.lock" in again.stdout
        assert command("check", "stress-failure.jsonl").returncode == 1

    def test_threads_that_only_wait_for_the_others_are_not_accused(self) -> None:
        release = threading.Event()

        class Half(LockedCounter):
            def increment(self) -> int:
                if threading.current_thread().name == "stress-0":
                    release.wait()
                return super().increment()

        outcome = stress.run(Half, Counter(), [("increment",)], rounds=3, seed=1, patience=0.5)
        release.set()
        assert "thread 0 in increment()" in outcome.trouble
        assert "thread 1" not in outcome.trouble
        assert "release.wait()" in outcome.stacks


class TestDuration:
    @pytest.mark.parametrize("processes", [1, 2])
    def test_is_kept_however_slow_the_object_is(self, processes: int) -> None:
        class Slow(LockedCounter):
            def increment(self) -> int:
                time.sleep(0.01)
                return super().increment()

        began = time.monotonic()
        outcome = stress.run(Slow, Counter(), COUNTING, duration=1.5, seed=1, threads=3, processes=processes)
        assert outcome, outcome.report()
        assert time.monotonic() - began < 6  # even on a busy machine; a whole batch would take longer

    def test_a_batch_cut_short_has_no_calls_that_nobody_made(self) -> None:
        class Slow(LockedCounter):
            def increment(self) -> int:
                time.sleep(0.02)
                return super().increment()

        history = stress.record(Slow(), [[[("increment", ())] * 50]] * 2, Counter(), until=time.monotonic() + 0.3)
        assert 0 < len(history) < 100
        assert not any(each.pending for each in history)


DEEP = "[" * 700 + "]" * 700
HEADER = '{"stress": 1, "spec": "register"}\n'


class TestDamagedFiles:
    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (f'{HEADER}[1,0,1{"0" * 400},null,"write",[1],null]\n', None),
            (f'{HEADER}[1,0,1,2,"write",[{DEEP}],null]\n', "nested more than 100 levels deep"),
            (f'{{"stress": 1, "spec": "register", "initial": {DEEP}}}\n', "nested more than 100 levels deep"),
            (HEADER, "holds no operations"),
            ('{"stress": 1, "spec": "counter"}\n[0,0,1,2,"increment",[],{"set":[{"bad":1}]}]\n', "is expected"),
            ('{"stress": 1, "spec": "os:system"}\n[0,0,1,2,"increment",[],1]\n', "say --spec os:system"),
            ('{"stress": 1, "spec": ["x"], "code": [["/dev/zero", "1"]]}\n', "names no specification"),
            ('{"stress": 1, "spec": "counter", "initial": "x"}\n[0,0,1,2,"increment",[],1]\n', ""),
            (f'{HEADER}[0,0,1,2,"write",[NaN],null]\n[1,0,3,4,"read",[],NaN]\n', None),
            ('{"stress": 1, "spec": "counter", "trouble": [1]}\n[0,0,1,2,"increment",[],1]\n', "must be a string"),
        ],
    )
    def test_end_with_a_sentence(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, told: str | None
    ) -> None:
        (tmp_path / "it.jsonl").write_text(text)

        for name in ("check", "replay"):
            status = main([name, str(tmp_path / "it.jsonl")])
            out, err = capsys.readouterr()
            if told is None:
                assert status == 0
            else:
                assert status == 2, out + err
                assert told in out + err or name == "replay"
            assert "Traceback" not in err

    def test_nothing_is_quoted_at_length(self, tmp_path: Path) -> None:
        (tmp_path / "it.jsonl").write_text(f'{HEADER}[0,0,1,2,"write",[{"1," * 100_000}1],null]\n')
        with pytest.raises(stress.HistoryError) as refused:
            stress.read_history(tmp_path / "it.jsonl")
        assert len(str(refused.value)) < 3_000

    def test_edn_with_a_key_twice(self, tmp_path: Path) -> None:
        (tmp_path / "it.edn").write_text("{:process 0, :process 1, :type :invoke, :f :read}\n")
        with pytest.raises(stress.HistoryError, match="a map has a key twice"):
            stress.read_history(tmp_path / "it.edn", "register")

    def test_memory_is_bounded_by_default(self) -> None:
        assert stress.Budget().megabytes <= 400


class TestOutput:
    """A verdict that could not be written does not count."""

    COMMANDS = (
        ("run", "objects:locked", "--rounds", "20"),
        ("explore", "objects:locked", "--duration", "0.2"),
        ("check", "good.jsonl"),
        ("check", "bad.jsonl"),
        ("replay", "bad.jsonl"),
        ("mutants", "--list"),
    )

    @pytest.fixture
    def histories(self, folder: Path) -> Path:
        for name, answers in (("good", (1, 2)), ("bad", (1, 1))):
            rows = "\n".join(f'[{at},{at},{at},5,"increment",[],{answer}]' for at, answer in enumerate(answers))
            (folder / f"{name}.jsonl").write_text(f'{{"stress": 1, "spec": "counter"}}\n{rows}\n')
        return folder

    @pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
    def test_a_full_disk(self, histories: Path, words: tuple[str, ...]) -> None:
        with open("/dev/full", "w") as full:
            ran = command(*words, stdout=full)
        assert ran.returncode == (1 if words[1] == "bad.jsonl" else 2)
        assert "No space left on device" in ran.stderr
        assert "Traceback" not in ran.stderr

    @pytest.mark.parametrize(("files", "status"), [(["good.jsonl"], 0), (["missing.jsonl"], 2), (["bad.jsonl"], 1)])
    def test_remarks_that_cannot_be_written_change_nothing(
        self, histories: Path, files: list[str], status: int
    ) -> None:
        with open("/dev/full", "w") as full:
            ran = subprocess.run(
                [sys.executable, "-m", "stress", "check", *files], stderr=full, timeout=100, check=False
            )
        assert ran.returncode == status

    @pytest.mark.parametrize(("name", "status"), [("good", 2), ("bad", 1)])
    def test_no_output_at_all(self, histories: Path, name: str, status: int) -> None:
        words = f"exec {shlex.quote(sys.executable)} -m stress check {name}.jsonl >&-"
        ran = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=100, check=False)
        assert ran.returncode == status
        assert "it is closed" in ran.stderr

    def test_a_history_that_cannot_be_saved_is_told_all_the_same(self, folder: Path) -> None:
        ran = command("run", "objects:lossy", "--duration", "20", "--save", "/dev/full", "--report", "/dev/full")
        assert ran.returncode == 1
        assert "/dev/full could not be written: No space left on device" in ran.stderr
        assert "NOT linearizable" in ran.stdout


class TestMistakes:
    @pytest.mark.parametrize(
        ("words", "told", "status"),
        [
            (("run", "objects:unmakeable", "--rounds", "2"), "RuntimeError: no such luck", 3),
            (("run", "objects:LockedCounter"), "nothing tells what to call on objects:LockedCounter", 2),
            (("explore", "objects:LockedCounter"), "nothing tells what to call on objects:LockedCounter", 2),
            (("run", "objects:locked", "--spec", "objects:made"), "is no specification", 2),
            (("check", "--spec", "nowhere:Spec", "x.jsonl"), "No such file", 2),
            (("run", "objects:too_many"), "'value' has 1 argument, but the method is LockedCounter.value()", 3),
            (("run", "objects:misspelt"), "LockedCounter has no method 'valve'", 3),
            (("explore", "objects:too_many"), "'value' has 1 argument, but the method is LockedCounter.value()", 3),
            (("explore", "objects:misspelt"), "LockedCounter has no method 'valve'", 3),
            (("replay", "o1.damaged"), "The token is damaged, or does not name its object", 2),
        ],
    )
    def test_are_told_in_a_sentence(self, folder: Path, words: tuple[str, ...], told: str, status: int) -> None:
        ran = command(*words)
        assert ran.returncode == status
        assert told in ran.stderr
        assert "Traceback" not in ran.stderr


class TestOnesOwn:
    """Users' own specifications and objects, on the command line."""

    def test_the_replay_line_of_a_report_works(self, folder: Path) -> None:
        ran = command("run", "objects:LossyCounter", "--spec", "objects:Spec", "--duration", "20")
        assert ran.returncode == 1
        line = next(line for line in ran.stdout.splitlines() if line.startswith("To see it again: "))
        words = line.removeprefix("To see it again: python -m stress ").split()
        again = command(*words)
        assert again.returncode == 1, again.stderr
        assert "NOT linearizable" in again.stdout
        assert again.stderr == ""

        (folder / "objects.py").write_text(OBJECTS + "\n# corrected\n")
        assert "objects.py has changed since" in command(*words).stderr

    def test_a_right_object(self, folder: Path) -> None:
        ran = command("run", "objects:LockedCounter", "--spec", "objects:Spec", "--rounds", "200")
        assert ran.returncode == 0, ran.stdout + ran.stderr

    def test_a_specification_in_a_file(self, folder: Path) -> None:
        (folder / "it.jsonl").write_text('{"stress": 1}\n[0,0,1,2,"increment",[],1]\n')
        assert command("check", "--spec", "objects.py:Spec", "it.jsonl").returncode == 0


class TestExceptions:
    """An exception that ends an interpreter once ended the command, too, with its own exit status."""

    def test_are_answers(self, folder: Path) -> None:
        ran = command("run", "objects:exits", "--rounds", "20", "--seed", "1")
        assert ran.returncode == 1, ran.stdout + ran.stderr
        assert "NOT linearizable" in ran.stdout
        assert "Traceback" not in ran.stderr

    @pytest.mark.parametrize("error", [SystemExit, GeneratorExit])
    def test_in_the_library_too(self, error: type[BaseException]) -> None:
        class Raises(LockedCounter):
            def increment(self) -> int:
                raise error

        for outcome in (
            stress.run(Raises, Counter(), [("increment",)], rounds=2, duration=None, seed=1),
            stress.explore(Raises, Counter(), [("increment",)], seed=1),
        ):
            assert outcome.verdict is Verdict.ILLEGAL
            assert f"raised {error.__name__}" in outcome.report()

    def test_an_answer_that_cannot_be_shown(self) -> None:
        class Odd:
            def __repr__(self) -> str:
                raise RuntimeError("no repr")

        class Unshown(LockedCounter):
            def increment(self) -> Any:
                return Odd()

        outcome = stress.run(Unshown, Counter(), [("increment",)], rounds=2, duration=None, seed=1)
        assert "<Odd, whose repr raises RuntimeError>" in outcome.report()

    def test_of_a_script_that_ends_itself(self, folder: Path) -> None:
        (folder / "script.py").write_text("import sys\nsys.exit(0)\n")
        ran = command("run", "script.py:it")
        assert ran.returncode == 2
        assert "script.py:it: SystemExit: 0" in ran.stderr

    def test_an_answer_that_may_change_is_no_finding_of_the_explorer(self) -> None:
        class Views(LockedCounter):
            def increment(self) -> Any:
                return {}.keys()

        with pytest.raises(TypeError, match="a result of type dict_keys is read when the round is over"):
            stress.explore(Views, Counter(), [("increment",)], seed=1)

    def test_a_check_that_answers_false_is_a_finding_of_the_explorer(self) -> None:
        found = stress.explore(LockedCounter, Counter(), [[("increment",)]] * 2, check=lambda counter: False)
        assert found.verdict is Verdict.ILLEGAL


class TestExplorerInAProcess:
    """When a process died or hung while it explored, the report did not say where, or how to see it again."""

    def test_that_dies_leaves_its_schedule(self, folder: Path) -> None:
        ran = command("explore", "objects:faults", "--seed", "1")
        assert ran.returncode == 1
        assert "SIGSEGV (a segmentation fault), in a schedule of Faults: " in ran.stdout
        assert "objects.py" in ran.stdout
        line = next(line for line in ran.stdout.splitlines() if line.startswith("To see it again: "))
        again = command(*line.removeprefix("To see it again: python -m stress ").split())
        assert again.returncode == 1
        assert "SIGSEGV" in again.stdout

    def test_that_hangs_is_ended(self, folder: Path) -> None:
        ran = command("explore", "objects:sleeps", "--seed", "1", "--duration", "1", "--patience", "1")
        assert ran.returncode == 1
        assert "a call has not returned for 1 s, in a schedule of Sleeps: " in ran.stdout
        assert "in increment" in ran.stdout

    def test_a_page_that_cannot_be_written_loses_no_finding(self, folder: Path) -> None:
        ran = command("explore", "objects:lossy", "--seed", "1", "--report", str(folder))
        assert ran.returncode == 1
        assert "could not be written" in ran.stderr


class TestFewerCalls:
    def test_an_object_that_ends_the_process_loses_no_finding(self, folder: Path) -> None:
        ran = command("run", "objects:mortal", "--seed", "1", "--processes", "1", "--duration", "20")
        assert ran.returncode == 1
        assert "NOT linearizable" in ran.stdout

    def test_ctrl_c_loses_no_finding(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("stress.pursuit._pursued", interrupted)
        assert stress.run(LossyCounter, Counter(), COUNTING, duration=20, seed=1).verdict is Verdict.ILLEGAL

    def test_a_finding_is_told_in_as_few_calls_as_it_takes(self) -> None:
        outcome = stress.run(LossyCounter, Counter(), COUNTING, duration=20, seed=1)
        assert outcome.verdict is Verdict.ILLEGAL
        assert outcome.smaller is not None
        assert len(outcome.smaller.history) <= 3
        assert "The same in fewer calls: NOT linearizable" in outcome.report()

    def test_from_the_state_before_its_window(self) -> None:
        class Bounded:
            def __init__(self) -> None:
                self.items: list[int] = []

            def enqueue(self, item: int) -> bool:
                if len(self.items) >= 3:
                    return False
                self.items.append(item)
                return True

        class BoundedSpec(stress.Spec):
            initial = ()

            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
                return (state, False) if len(state) >= 3 else ((*state, args[0]), True)

        outcome = stress.run(Bounded, BoundedSpec(), [("enqueue", stress.unique)], duration=30, seed=2)
        if outcome.smaller is not None:
            assert len([each for each in outcome.smaller.history if each.thread != "before"]) <= 4

    def test_the_schedule_is_told_if_the_explorer_knows_the_object(self) -> None:
        outcome = stress.run(LossyReference, Counter(), [("increment",)], duration=20, seed=1)
        assert outcome.smaller is not None
        assert outcome.smaller.steps is not None
        assert "What the threads did, step by step" in outcome.report()


def test_it_works_where_there_is_no_module_resource() -> None:
    code = (
        "import sys; sys.modules['resource'] = None\n"
        "import stress\n"
        "print(stress.check([stress.Operation(0, 0, 1, 2, 'increment', (), 1)], stress.Counter()).verdict.name)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, cwd=ROOT, check=False
    )
    assert ran.stdout == "LINEARIZABLE\n", ran.stderr


def test_every_public_name_is_found_where_it_is_said_to_be() -> None:
    assert sorted(stress._HOME_OF) == sorted(stress.__all__)
    assert all(getattr(stress, name) is not None for name in stress.__all__ if name != "EVERYTHING")
