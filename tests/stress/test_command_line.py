"""`python -m stress`, and that of the tries: for each command what it prints and writes, and its exit status, which is 0,
1, 2 or 3, and the right one, however a run ends."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stress
from stress import History, Operation
from stress.cli import COMMANDS, main
from stress.formats import jsonl
from stress.verdicts import Verdict, verdict_of
from tests.stress.objects import LOST_INCREMENTS
from tests.terminal import drawn_by
from tests.tries.cli import main as tries_main

pytestmark = pytest.mark.once  # Python that is the same everywhere

ROOT = Path(__file__).parents[2]
HISTORIES = ROOT / "tests" / "data" / "histories" / "kv"
OBJECTS = """
import ctypes, itertools, os, signal, sys, time
import stress
from tests.stress.objects import COUNTING, LockedCounter, LossyCounter

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

class Announced(LockedCounter):
    "Tells of its third object."
    def __init__(self):
        super().__init__()
        if next(made) == 3: os.write(1, b"ready\\n")

class Stuck(LockedCounter):
    def increment(self):
        found = super().increment()
        if found == 40:
            self.lock.acquire()
        return found

class Unmade:
    "Its factory never returns."
    def __init__(self): ctypes.CDLL(None).sleep(1000)
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

class Spec(stress.Counter):
    name = ""
    operations = COUNTING

def workload(factory): return stress.Workload(factory, stress.Counter(), COUNTING)
segfault, killed, aborted, left, unmakeable, announced, stuck, locked, lossy, exits, sleeps, faults, mortal, unmade = map(workload, (
    Segfault, Killed, Aborted, Left, Unmakeable, Announced, Stuck, LockedCounter, LossyCounter, Exits, Sleeps, Faults,
    WrongAndMortal, Unmade,
))
both = [locked, unmade]
too_many, misspelt = (
    stress.Workload(LockedCounter, stress.Counter(), [*COUNTING, wrong]) for wrong in [("value", 1), ("valve",)]
)
"""
"""A user's module."""
HARD = [Operation(at, at, at, 1_000, "put", ("k", at), None) for at in range(14)]
HARD += [Operation(14 + at, 14, 2_000 + 2 * at, 2_001 + 2 * at, "get", ("k",), at) for at in range(2)]
TEXTS = {
    "objects.py": OBJECTS,
    "script.py": "import sys\nsys.exit(0)\n",
    "good.jsonl": '{"stress": 1, "spec": "counter"}\n[0,0,0,5,"increment",[],1]\n[1,1,1,5,"increment",[],2]\n',
    "bad.jsonl": '{"stress": 1, "spec": "counter"}\n[0,0,0,5,"increment",[],1]\n[1,1,1,5,"increment",[],1]\n',
    "nameless.jsonl": '{"stress": 1}\n[0,0,1,2,"increment",[],1]\n',
    "nothing.jsonl": '{"stress": 1, "spec": "register"}\n',
    "no-call.jsonl": '{"stress": 1}\n[0, 0, 1, 2, "get", [], null]\n',
    "bad.edn": "{:process 0 :type :invoke :f :get :key 1}\n}\n",
    "read.log": "INFO jepsen.util - 0 :invoke :read nil\nINFO jepsen.util - 0 :ok :read 3\n",
    "txn.edn": "{:process 0 :type :invoke :f :txn :value [[:r :x nil]]} {:process 0 :type :ok :f :txn :value [[:r :x 0]]}",
    "kv-good.txt": (HISTORIES / "c01-ok.txt").read_text(),
    "kv-bad.txt": (HISTORIES / "c01-bad.txt").read_text(),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with the user's objects and histories."""
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    jsonl.save(History(tuple(HARD), {"spec": "map"}), tmp_path / "hard.jsonl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    monkeypatch.delitem(sys.modules, "objects", raising=False)
    return tmp_path


def run(line: str, capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The exit status of a command line, what it printed, and its remarks."""
    words = shlex.split(line)
    command = tries_main if {"mutants", "map"} & {*words} else main
    try:
        status = command(words)
    except SystemExit as ended:  # of argparse
        status = int(ended.code or 0)
    told = capfd.readouterr()
    assert "Traceback" not in told.err
    return status, told.out, told.err


GOOD, BAD = r"kv-good.txt: linearizable \(58 operations, .*\n", r"kv-bad.txt: NOT linearizable \(38 operations, .*\n"
ONCE = "--rounds 20 --processes 1 --seed 9"
CASES: list[tuple[str, int, str, str]] = [
    ("--help", 0, ".*".join(COMMANDS), ""),
    # check
    ("check --spec kv kv-good.txt", 0, GOOD, ""),
    ("check --spec kv kv-bad.txt", 1, BAD, ""),
    ("check --spec kv kv-good.txt kv-bad.txt", 1, f"^{GOOD}{BAD}$", ""),
    ("check --spec kv kv-bad.txt missing", 1, BAD, "missing: No such file"),
    ("check --spec kv bad.edn kv-good.txt", 2, f"^{GOOD}", "^bad.edn:2: '}' closes nothing: nothing is open\n$"),
    ("check --spec kv no-call.jsonl kv-good.txt", 2, f"^{GOOD}",
     r"^no-call.jsonl: get of thread 0, called at 1: the call is get\(key\), not get\(\)\n$"),
    ("check --budget 5000 hard.jsonl", 2, "undecided", ""),
    ("check nothing.jsonl", 2, "holds no operations", ""),
    ("check kv-good.txt", 2, "", "name a specification with --spec"),
    ("check --spec nowhere:Spec x.jsonl", 2, "", "No such file"),
    ("check --spec objects.py:Spec nameless.jsonl", 0, "linearizable", ""),
    *((f"check --spec register --initial {start} read.log", status, "linearizable", "")
      for start, status in (("nil", 1), ("3", 0), ("4", 1), ("'\"3\"'", 1))),
    ("check --spec multi-register txn.edn", 1, "NOT", ""),
    ("check --spec multi-register --initial 0 txn.edn", 0, "linearizable", ""),
    ("check --spec kv --initial [1 kv-good.txt", 2, "", r"--initial:1: '\[' is never closed"),
    # replay
    ("replay --spec kv kv-good.txt", 0, "^linearizable\n", ""),
    ("replay --spec kv kv-bad.txt --report page.html", 1, "The crucial window: ", ""),
    ("replay o1.damaged", 2, "", "the token is damaged"),
    # run
    (f"run objects:locked {ONCE}", 0, "^objects:locked: linearizable; .*20 rounds.*seed 9", ""),
    ("run objects:LockedCounter --spec objects:Spec --rounds 200", 0, "linearizable", ""),
    ("run objects:segfault --duration 20 --processes 1", 1,
     r"a process was ended by SIGSEGV \(a segmentation fault\).*in increment\(\).*objects.py.*in die", ""),
    ("run objects:killed --duration 20 --processes 2", 1, r"a process was ended by SIGKILL.*in increment\(\)", ""),
    ("run objects:aborted --duration 20 --processes 1", 1,
     r"a process was ended by SIGABRT \(it aborted\).*in increment\(\).*in die", ""),
    ("run objects:left --duration 20 --processes 2", 1,
     r"a process was ended by itself with exit status 3.*in increment\(\)", ""),
    ("run objects:exits --rounds 20 --seed 1", 1, "NOT linearizable", ""),
    ("run objects:mortal --seed 1 --processes 1 --duration 20", 1, "NOT linearizable", ""),
    ("run objects:lossy --duration 20 --save /dev/full --report /dev/full", 1, "NOT linearizable",
     "/dev/full could not be written: No space left on device"),
    ("run objects:unmakeable --rounds 2", 3, "", "RuntimeError: no such luck"),
    ("run objects:locked --spec objects:made", 2, "", "is no specification"),
    ("run nothing", 2, "", "nothing is called 'nothing': there is module:attribute for your own"),
    ("run no_such_module:x", 2, "", "no_such_module:x: No module named 'no_such_module'"),
    ("run objects:__file__", 2, "",
     "is no Workload, nor a list of them, nor something that makes an object, but a str"),
    ("run script.py:it", 2, "", "script.py:it: SystemExit: 0"),
    # run and explore
    *((f"{command} objects:{target}", status, "", told) for command in ("run", "explore") for target, status, told in (
        ("LockedCounter", 2, "nothing tells what to call on objects:LockedCounter"),
        ("too_many", 3, r"'value' has 1 argument, but the method is LockedCounter.value\(\)"),
        ("misspelt", 3, "LockedCounter has no method 'valve'"))),
    # explore
    ("explore objects:sleeps --seed 1 --duration 1 --patience 1", 1,
     "a call has not returned for 1 s, in a schedule of Sleeps: .*in increment", ""),
    ("explore objects:faults --seed 1", 1,
     r"SIGSEGV \(a segmentation fault\), in a schedule of Faults: .*objects.py.*again: the same command with --seed 1", ""),
    ("explore objects:lossy --seed 1 --report .", 1, "NOT linearizable", "could not be written"),
    # numbers
    *((f"{command} {option} {number}", 2, "", f"error: argument {option}: must be more than 0, not {number}\n")
      for number in (0, -1)
      for command, option in (
          *(("run", each) for each in ("--duration", "--rounds", "--threads", "--processes")),
          *(("explore", each) for each in ("--duration", "--patience")), ("check x", "--budget"), ("replay x",
             "--budget"))),
    *((f"explore --duration {number}", 2, "", "error: argument --duration: ") for number in ("nan", "long")),
]  # fmt: skip
"""A command, its exit status, and what is found in its output and among its remarks."""


@pytest.mark.parametrize("target", ["unmade", "both"])
def test_what_has_not_begun_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], target: str
) -> None:
    """Code is prepared for its exploration, however long that takes, before any call is made."""
    monkeypatch.setattr("stress.cli.explore.PATIENCE", 1.0)
    ended, printed, _ = run(f"explore objects:{target} --patience 1 --duration 1", capfd)
    assert (ended, "undecided (no call was made within 1 s: let " in printed) == (2, True), printed


@pytest.mark.parametrize(("line", "status", "out", "err"), CASES, ids=[case[0] for case in CASES])
def test_a_command(line: str, status: int, out: str, err: str, capfd: pytest.CaptureFixture[str]) -> None:
    ended, printed, remarks = run(line, capfd)
    assert ended == status, printed + remarks
    assert re.search(out, printed, re.DOTALL), printed
    assert re.search(err, remarks, re.DOTALL), remarks
    assert err or not remarks


@pytest.mark.parametrize(
    ("target", "seen", "again"),
    [
        ("segfault --duration 20", "SIGSEGV", "NOT all right: a process that died"),
        (
            "stuck --duration 30 --patience 1",
            r"nothing has moved for 1 s.*objects.py.*self.lock",
            "NOT all right: a call that never returns.*self.lock",
        ),
        (
            "lossy objects:locked --duration 30",
            f"NOT linearizable: ({'|'.join(LOST_INCREMENTS)})\n",
            "NOT linearizable: ",
        ),
    ],
)
def test_what_a_run_found_is_kept_and_shown_again(
    target: str, seen: str, again: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Once, a death and a hang were shown again as "linearizable"."""
    status, out, _ = run(f"run objects:{target} --report page.html", capfd)
    assert (status, bool(re.search(seen, out, re.DOTALL))) == (1, True), out
    assert "python -m stress replay stress-failure.jsonl" in out
    assert ":locked" not in out  # it stops at the first object that is wrong
    kept = [json.loads(line) for line in (folder / "stress-failure.jsonl").read_text().splitlines()[1:]]
    assert kept
    assert "segfault" not in target or all(line[3] is None for line in kept)  # the calls that were running
    status, out, _ = run("replay stress-failure.jsonl --report again.html", capfd)
    assert (status, bool(re.search(again, out, re.DOTALL))) == (1, True), out
    assert run("check stress-failure.jsonl", capfd)[0] == 1
    for page in ("page.html", "again.html"):
        assert "<!doctype html>" in (folder / page).read_text()


def test_the_replay_line_of_a_report_works(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run("run objects:LossyCounter --spec objects:Spec --duration 20", capfd)
    assert (status, "NOT linearizable" in out) == (1, True), out
    again = re.findall("To see it again: python -m stress (.*)", out)[0]
    status, out, err = run(again, capfd)
    assert (status, err, "NOT linearizable" in out) == (1, "", True)
    (folder / "objects.py").write_text(f"{OBJECTS}\n# corrected\n")
    words, settings = command(again)
    ended = subprocess.run(words, stdout=subprocess.PIPE, timeout=100, check=False, **settings)
    assert "objects.py has changed since" in ended.stderr


def test_as_json(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run("check --spec kv --json kv-good.txt kv-bad.txt", capfd)
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["file"], row["verdict"], row["operations"]) for row in rows] == [
        ("kv-good.txt", "linearizable", 58), ("kv-bad.txt", "illegal", 38),
    ]  # fmt: skip
    _, out, _ = run("run objects:locked objects:lossy --rounds 400 --json --save kept.jsonl", capfd)
    good, bad = map(json.loads, out.splitlines())
    assert (good["verdict"], good["found"], good["history"], good["rounds"]) == ("linearizable", None, None, 400)
    assert 0 < good["overlap"] <= 1
    assert (bad["verdict"], bad["history"], bad["sentence"][-1]) == ("illegal", "kept.jsonl", ".")
    assert bad["found"] in LOST_INCREMENTS


def command(line: str, **settings: Any) -> list[Any]:
    """The words and the settings of a process that runs a command line."""
    words = shlex.split(line)
    module = "tests.tries" if {"mutants", "map"} & {*words} else "stress"
    return [[sys.executable, "-m", module, *words], {"text": True, "stderr": subprocess.PIPE, **settings}]


@pytest.mark.parametrize(
    ("output", "line", "told"),
    [
        *(("full", line, "No space left on device") for line in (
            "run objects:locked --rounds 20", "explore objects:locked --duration 0.2", "check good.jsonl",
            "replay bad.jsonl", "mutants --list")),
        *(("gone", line, "") for line in ("run objects:locked --rounds 20", "check good.jsonl bad.jsonl",
           "replay good.jsonl")),
        *(("closed", line, "it is closed") for line in (
            "check good.jsonl", "check bad.jsonl", "check good.jsonl bad.jsonl", "mutants unmutated")),
    ],
)  # fmt: skip
def test_a_verdict_that_could_not_be_written_does_not_count(output: str, line: str, told: str) -> None:
    """But a fault that was found does."""
    words, settings = command(line)
    if output == "closed":
        words = ["sh", "-c", f"exec {shlex.join(words)} >&-"]
    reading, gone = os.pipe()
    os.close(reading)
    with open("/dev/full", "w") as full, open(gone, "w") as nobody:
        to = {"full": full, "gone": nobody, "closed": None}[output]
        ended = subprocess.run(words, stdout=to, timeout=100, check=False, **settings)
    found = line.endswith(" bad.jsonl") and "good" not in line  # a command ends at the first line that nobody gets
    assert ended.returncode == (1 if found else 2), ended.stderr
    assert told in ended.stderr if told else ended.stderr == ""
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(("file", "status"), [("good.jsonl", 0), ("missing.jsonl", 2), ("bad.jsonl", 1)])
def test_remarks_that_cannot_be_written_change_nothing(file: str, status: int) -> None:
    with open("/dev/full", "w") as full:
        words, settings = command(f"check {file}", stderr=full)
        assert subprocess.run(words, timeout=100, check=False, **settings).returncode == status


def test_another_pipe_that_breaks_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def judge(*words: Any) -> int:
        raise BrokenPipeError("between two processes")

    monkeypatch.setattr("stress.cli.check.main", judge)
    status, _, err = run("check good.jsonl", capfd)
    assert (status, "between two processes" in err) == (2, True)


@pytest.mark.parametrize(
    "line",
    [
        "run objects:announced --seed 3 --processes 1",
        "run objects:announced --processes 2",
        "explore objects:announced",
    ],
)
def test_ctrl_c_leaves_a_report(line: str) -> None:
    """The process announces itself, and is then interrupted."""
    words, settings = command(f"{line} --duration 600", stdout=subprocess.PIPE)
    with subprocess.Popen(words, **settings) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=100)
    assert running.returncode == 2, err
    assert "Traceback" not in err
    assert "interrupted" in out + err
    assert "seed 3" not in line or re.fullmatch(r"objects:announced: undecided \(it was interrupted.*seed 3\n", out)


def test_progress_is_drawn_on_a_terminal_only() -> None:
    for line, shown in (
        ("check --spec kv kv-good.txt kv-bad.txt", "checking"),
        ("run objects:locked --rounds 400 --processes 1", "overlapping"),
    ):
        drawn, printed = drawn_by(command(line)[0])
        assert shown in drawn
        assert "linearizable" in printed
        assert "linearizable" not in drawn


def test_what_is_no_file_goes_to_the_explorer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stress.cli.explore.replay", lambda arguments: len(arguments.what))
    assert main(["replay", "token"]) == 5


def test_something_wrong_goes_before_all_that_is_missing() -> None:
    assert verdict_of(found=True, missing=["it was interrupted"]) is Verdict.ILLEGAL
    assert verdict_of(found=False, missing=["it was interrupted"]) is Verdict.UNKNOWN
    assert verdict_of(found=False, missing=[]) is Verdict.LINEARIZABLE


def test_the_package_is_imported_bit_by_bit() -> None:
    """It also works where there is no module `resource`, as on Windows."""
    code = """import stress, sys
print([name for name in sys.modules if name.startswith(("stress", "ctrie", "subtrie", "rich", "atomics", "pytest"))])
sys.modules["resource"] = None
print(stress.check([stress.Operation(0, 0, 1, 2, "increment", (), 1)], stress.Counter()).verdict.name)"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "['stress']\nLINEARIZABLE\n"
    assert sorted(stress._HOME_OF) == sorted(stress.__all__)
    assert all(getattr(stress, name) is not None for name in stress.__all__ if name != "EVERYTHING")


# ---------------------------------------------------------------------------------------------------- in runs of pytest

PYTEST: dict[str, tuple[str, str, int, list[str]]] = {
    "a right object, a wrong one and an undecided one": (
        """
def test_right(linearizable):
    assert linearizable(LockedCounter, stress.Counter(), COUNTING, rounds=30).rounds == 30

@pytest.mark.stress(seed=4321, duration=30)
def test_wrong(linearizable):
    linearizable(LossyCounter, stress.Counter(), COUNTING)

def test_undecided(linearizable):
    linearizable(LockedCounter, stress.Counter(), COUNTING, duration=0)
""", "", 1,
        ["stress seed 4321: NOT linearizable; ", "To run it again: pytest --stress-seed=4321", "NOT linearizable: ",
         "python -m stress replay ", "FAILED", "2 failed, 1 passed",
         "undecided (no batch was recorded and judged in this time: let `duration` be longer); 0 operations"],
    ),
    **{
        f"the test goes before the mark, and the command line before all{options}": (
            f"""
pytestmark = pytest.mark.stress(seed=1, threads=4, rounds=3)

@pytest.mark.stress(seed=2)
def test_marked(linearizable):
    outcome = linearizable(LockedCounter, stress.Counter(), COUNTING)
    assert (outcome.seed, outcome.rounds) == ({seed} or 2, 3)

def test_called(linearizable):
    outcome = linearizable(LockedCounter, stress.Counter(), COUNTING, seed=3)
    assert (outcome.seed, outcome.rounds) == ({seed} or 3, 3)
""", options, 0, ["2 passed"],
        )
        for seed, options in ((None, ""), (77, "--stress-seed=77 --stress-duration=50"))
    },
    "options are explained": ("", "--help", 0, ["--stress-seed", "--stress-duration"]),
    "a duration of nothing": ("", "--stress-duration=0", 4, ["--stress-duration: must be more than 0, not 0"]),
}  # fmt: skip


@pytest.mark.parametrize("name", PYTEST)
def test_the_plugin(name: str, folder: Path) -> None:
    tests, options, status, told = PYTEST[name]
    (folder / "test_it.py").write_text(
        f"import pytest, stress\nfrom tests.stress.objects import COUNTING, LockedCounter, LossyCounter\n{tests}"
    )
    words = [
        "-p",
        "subtrie_pytest",
        "-p",
        "no:cacheprovider",
        "--strict-markers",
        f"--rootdir={folder}",
        *options.split(),
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(folder)], capture_output=True, text=True, timeout=100, cwd=ROOT,
        check=False,
    )  # fmt: skip
    assert ran.returncode == status, ran.stdout
    assert [each for each in told if each not in ran.stdout + ran.stderr] == []
    assert "Traceback (most" not in ran.stdout
