"""`python -m stress`: what it prints and writes, and its exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stress import Counter, History, Operation, Workload
from stress.cli import COMMANDS, main
from stress.formats import jsonl
from tests.stress.test_run import COUNTING, LOST_INCREMENTS, LockedCounter, LossyCounter
from tests.terminal import drawn_by

pytestmark = pytest.mark.once  # Python that is the same everywhere

HISTORIES = Path(__file__).parents[1] / "data" / "histories"
GOOD, BAD = str(HISTORIES / "kv" / "c01-ok.txt"), str(HISTORIES / "kv" / "c01-bad.txt")

locked = Workload(LockedCounter, Counter(), COUNTING, name="locked")
lossy = [Workload(LossyCounter, Counter(), COUNTING, name="lossy")]
HERE = "tests.stress.test_command_line"


def stress(*words: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stress", *words], capture_output=True, text=True, timeout=100, check=False, **settings
    )


class TestCommands:
    def test_help_lists_what_there_is(self) -> None:
        listed = stress("--help")

        assert listed.returncode == 0
        assert all(name in listed.stdout for name in COMMANDS)

    def test_importing_the_package_loads_next_to_nothing(self) -> None:
        code = """import stress, sys
print([name for name in sys.modules if name.startswith(("stress", "ctrie", "subtrie", "rich", "atomics", "pytest"))])"""
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

        assert ran.stdout == "['stress']\n"


class TestNumbers:
    @pytest.mark.parametrize(
        ("command", "option"),
        [
            *(("run", option) for option in ("--duration", "--rounds", "--threads", "--processes")),
            *(("explore", option) for option in ("--duration", "--patience")),
            *((command, "--budget") for command in ("check", "replay")),
        ],
    )
    def test_that_are_not_positive_are_refused(
        self, command: str, option: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for number in ("0", "-1"):
            with pytest.raises(SystemExit) as ended:
                main([command, *([GOOD] if option == "--budget" else []), option, number])
            assert ended.value.code == 2
            assert f"error: argument {option}: must be more than 0, not {number}\n" in capsys.readouterr().err

    @pytest.mark.parametrize("number", ["nan", "long"])
    def test_that_are_none_are_refused(self, number: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            main(["explore", "--duration", number])
        assert "error: argument --duration: " in capsys.readouterr().err


def told_nobody(*words: str) -> tuple[int, str]:
    """The exit status and the complaint of a command whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as nobody:
        command = [sys.executable, "-m", "stress", *words]
        ended = subprocess.run(command, stdout=nobody, stderr=subprocess.PIPE, text=True, timeout=100, check=False)
    return ended.returncode, ended.stderr


class TestPipes:
    @pytest.mark.parametrize(
        "words",
        [
            ["check", "--spec", "kv", GOOD, BAD],
            ["check", "--spec", "kv", BAD],
            ["replay", "--spec", "kv", GOOD],
            ["replay", "--spec", "kv", BAD],
            ["run", f"{HERE}:locked", "--rounds", "2", "--processes", "2"],
            ["explore", f"{HERE}:locked", "--duration", "0.1"],
        ],
    )
    def test_it_ends_quietly_when_its_reader_has_gone(self, words: list[str]) -> None:
        """A verdict that could not be written does not count, but a fault that was found does."""
        assert told_nobody(*words) == (1 if words[3:] == [BAD] else 2, "")

    def test_so_does_help(self) -> None:
        assert told_nobody("check", "--help")[1] == ""

    def test_another_pipe_that_breaks_is_a_fault(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def judge(*words: Any) -> int:
            raise BrokenPipeError("between two processes")

        monkeypatch.setattr("stress.cli.check.main", judge)

        assert main(["check", GOOD]) == 2
        assert "between two processes" in capsys.readouterr().err


class TestCheck:
    @pytest.mark.parametrize(
        ("files", "status"), [([GOOD], 0), ([GOOD, GOOD], 0), ([BAD], 1), ([GOOD, BAD], 1), ([BAD, "missing"], 1)]
    )
    def test_status(self, files: list[str], status: int) -> None:
        assert main(["check", "--spec", "kv", *files]) == status

    def test_files_are_named_with_their_verdicts(self, capsys: pytest.CaptureFixture[str]) -> None:
        main(["check", "--spec", "kv", GOOD, BAD])

        good, bad = capsys.readouterr().out.splitlines()
        assert good.startswith(f"{GOOD}: linearizable (58 operations, ")
        assert bad.startswith(f"{BAD}: NOT linearizable (38 operations, ")

    def test_as_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        main(["check", "--spec", "kv", "--json", GOOD, BAD])

        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [(row["file"], row["verdict"], row["operations"]) for row in rows] == [
            (GOOD, "linearizable", 58),
            (BAD, "illegal", 38),
        ]

    def test_what_cannot_be_decided(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        rows = [Operation(at, at, at, 1_000, "put", ("k", at), None) for at in range(14)]
        rows += [Operation(14 + at, 14, 2_000 + 2 * at, 2_001 + 2 * at, "get", ("k",), at) for at in range(2)]
        jsonl.save(History(tuple(rows), {"spec": "map"}), tmp_path / "hard.jsonl")

        assert main(["check", "--budget", "5000", str(tmp_path / "hard.jsonl")]) == 2
        assert "undecided" in capsys.readouterr().out

    def test_what_cannot_be_read_is_told_with_file_and_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        bad = tmp_path / "bad.edn"
        bad.write_text("{:process 0 :type :invoke :f :get :key 1}\n}\n")

        assert main(["check", "--spec", "kv", str(bad), GOOD]) == 2
        told = capsys.readouterr()
        assert told.err == f"{bad}:2: '}}' closes nothing: nothing is open\n"
        assert told.out.startswith(f"{GOOD}: linearizable")

    def test_a_call_that_does_not_exist_is_no_verdict(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        bad = tmp_path / "bad.jsonl"
        bad.write_text('{"stress": 1}\n[0, 0, 1, 2, "get", [], null]\n')

        assert main(["check", "--spec", "kv", str(bad), GOOD]) == 2
        told = capsys.readouterr()
        assert told.err == f"{bad}: get of thread 0, called at 1: the call is get(key), not get()\n"
        assert told.out.startswith(f"{GOOD}: linearizable")

    @pytest.mark.parametrize(("initial", "status"), [("nil", 1), ("3", 0), ("4", 1), ('"3"', 1)])
    def test_initial_state(self, tmp_path: Path, initial: str, status: int) -> None:
        log = tmp_path / "read.log"
        log.write_text("INFO jepsen.util - 0 :invoke :read nil\nINFO jepsen.util - 0 :ok :read 3\n")

        assert main(["check", "--spec", "register", "--initial", initial, str(log)]) == status

    @pytest.mark.parametrize(("initial", "status"), [(None, 1), ("0", 0)])
    def test_initial_state_of_many_registers(self, tmp_path: Path, initial: str | None, status: int) -> None:
        history = tmp_path / "txn.edn"
        history.write_text(
            "{:process 0 :type :invoke :f :txn :value [[:r :x nil]]} {:process 0 :type :ok :f :txn :value [[:r :x 0]]}"
        )
        start = [] if initial is None else ["--initial", initial]

        assert main(["check", "--spec", "multi-register", *start, str(history)]) == status

    def test_a_start_that_is_no_value(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["check", "--spec", "kv", "--initial", "[1", GOOD]) == 2
        assert "--initial:1: '[' is never closed" in capsys.readouterr().err

    def test_without_a_specification(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["check", GOOD]) == 2
        assert "name a specification with --spec" in capsys.readouterr().err


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestRun:
    def test_all_is_well(self, elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", f"{HERE}:locked", "--rounds", "30", "--processes", "1", "--seed", "9"]) == 0

        out = capsys.readouterr().out
        assert out.startswith(f"{HERE}:locked: linearizable; ")
        assert "30 rounds" in out
        assert "seed 9" in out
        assert not list(elsewhere.iterdir())

    def test_something_is_wrong(self, elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The report, the history, the page, and the command that shows it again."""
        words = ["run", f"{HERE}:lossy", f"{HERE}:locked", "--duration", "30", "--report", "page.html"]

        assert main(words) == 1
        out = capsys.readouterr().out
        headline = next(line for line in out.splitlines() if line.startswith("NOT linearizable: "))
        assert headline.removeprefix("NOT linearizable: ") in LOST_INCREMENTS
        assert "python -m stress replay stress-failure.jsonl" in out
        assert ":locked" not in out  # it stops at the first object that is wrong
        assert "<!doctype html>" in (elsewhere / "page.html").read_text()

        assert main(["replay", "stress-failure.jsonl", "--report", "again.html"]) == 1
        assert headline in capsys.readouterr().out
        assert "<!doctype html>" in (elsewhere / "again.html").read_text()
        assert main(["check", "stress-failure.jsonl"]) == 1

    def test_as_json(self, elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
        main(["run", f"{HERE}:locked", f"{HERE}:lossy", "--rounds", "400", "--json", "--save", "kept.jsonl"])

        good, bad = (json.loads(line) for line in capsys.readouterr().out.splitlines())
        assert (good["verdict"], good["found"], good["history"]) == ("linearizable", None, None)
        assert (bad["verdict"], bad["history"]) == ("illegal", "kept.jsonl")
        assert bad["found"] in LOST_INCREMENTS
        assert bad["sentence"].endswith(".")
        assert good["rounds"] == 400
        assert 0 < good["overlap"] <= 1

    @pytest.mark.parametrize(
        ("words", "complaint"),
        [
            (["nothing"], "nothing is called 'nothing': there is module:attribute for your own"),
            (["no_such_module:x"], "no_such_module:x: No module named 'no_such_module'"),
            ([f"{HERE}:GOOD"], "is no Workload, nor a list of them, nor something that makes an object, but a str"),
        ],
    )
    def test_what_is_not_understood(self, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", *words]) == 2
        assert complaint in capsys.readouterr().err

    @pytest.mark.parametrize("processes", ["1", "2"])
    def test_ctrl_c_leaves_a_report(self, tmp_path: Path, processes: str) -> None:
        """The process announces itself through the workload's factory, and is then interrupted."""
        (tmp_path / "announced.py").write_text(
            "import os, stress\n"
            "from tests.stress.test_run import LockedCounter, COUNTING\n"
            "made = []\n"
            "def announce():\n"
            "    made.append(1)\n"
            "    if len(made) == 3: os.write(1, b'ready\\n')\n"
            "    return LockedCounter()\n"
            "it = stress.Workload(announce, stress.Counter(), COUNTING)\n"
        )
        words = ["run", "announced:it", "--duration", "600", "--processes", processes, "--seed", "3"]
        path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
        with subprocess.Popen(
            [sys.executable, "-m", "stress", *words],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        ) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == "ready\n"
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=100)

        report = out.replace("ready\n", "")
        assert report.startswith("announced:it: undecided (it was interrupted")
        assert report.rstrip().endswith("seed 3")
        assert running.returncode == 2


class TestProgress:
    def test_a_line_is_drawn_on_a_terminal_and_leave_standard_output_alone(self) -> None:
        for words, shown in (
            (["check", "--spec", "kv", GOOD, BAD], "checking"),
            (["run", f"{HERE}:locked", "--rounds", "400", "--processes", "1"], "overlapping"),
        ):
            drawn, printed = drawn_by([sys.executable, "-m", "stress", *words])
            assert shown in drawn
            assert "linearizable" in printed
            assert "linearizable" not in drawn

    def test_none_is_drawn_elsewhere(self) -> None:
        assert stress("check", "--spec", "kv", GOOD, BAD).stderr == ""


class TestReplay:
    def test_a_right_history(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["replay", "--spec", "kv", GOOD]) == 0
        assert capsys.readouterr().out.startswith("linearizable\n")

    def test_a_wrong_one(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["replay", "--spec", "kv", BAD, "--report", str(tmp_path / "page.html")]) == 1
        assert "The crucial window: " in capsys.readouterr().out
        assert (tmp_path / "page.html").stat().st_size > 10_000

    def test_what_is_no_file_goes_to_the_explorer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("stress.cli.explore.replay", lambda arguments: len(arguments.what))

        assert main(["replay", "token"]) == 5
