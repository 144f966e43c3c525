"""The demonstration's command: its output, its messages, and its exit status."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.demo.command import main
from tests.whole.test_cli import MATCHES, TOPICS, command, environment, folder, run

__all__ = ["folder"]  # a fixture that all tests here use

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.once  # processes that start and end; the twin and the build do not matter

DEMO = "examples.demo"


class TestMistakes:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--subscriptions", "-", "--topics", "-"], "standard input can be read only once"),
            (["--dialect", "mqtt"], "the workload of the demo is AMQP's"),
            (["--topics", "topics"], "--subscriptions and --topics belong together"),
            (["--threads", "1"], "must be at least 2, not 1"),
            (["--messages", "0"], "must be at least 1, not 0"),
            (["--filters", "many"], "invalid"),
            (
                ["--subscriptions", "subscriptions", "--topics", "topics", "--seed", "1"],
                "--messages, --filters and --seed make a workload",
            ),
        ],
    )
    def test_arguments_that_make_no_sense(
        self, arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        assert message in capfd.readouterr().err


class TestJava:
    @pytest.fixture(autouse=True)
    def no_java(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(folder))

    def install(self, text: str, status: int = 0) -> None:
        """Replace Java by a program that prints `text` as its version."""
        Path("java").write_text(f"#!/bin/sh\necho '{text}' >&2\nexit {status}\n")
        Path("java").chmod(0o755)

    @pytest.mark.parametrize("arguments", [[], ["--subscriptions", "subscriptions", "--topics", "topics"]])
    def test_missing(self, arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
        assert main(arguments) == 2
        assert "Java was not found. " in self.advice(capfd)

    def test_too_old(self, capfd: pytest.CaptureFixture[str]) -> None:
        self.install('openjdk version "11.0.20" 2023-07-18')
        assert main([]) == 2
        assert 'is too old: openjdk version "11.0.20"' in self.advice(capfd)

    def test_ancient(self, capfd: pytest.CaptureFixture[str]) -> None:
        self.install('java version "1.8.0_392"')
        assert main([]) == 2
        assert "is too old" in self.advice(capfd)

    def test_broken(self, capfd: pytest.CaptureFixture[str]) -> None:
        self.install("Unable to locate a Java Runtime.", status=1)
        assert main([]) == 2
        assert "is no working Java" in self.advice(capfd)

    def test_not_where_java_home_says(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setenv("JAVA_HOME", "elsewhere")
        assert main([]) == 2
        assert f"{Path('elsewhere', 'bin', 'java')} is no working Java" in self.advice(capfd)

    @staticmethod
    def advice(capfd: pytest.CaptureFixture[str]) -> str:
        shown = capfd.readouterr().err
        assert "sudo apt-get install openjdk-17-jre-headless" in shown
        return shown


@pytest.mark.spark
@pytest.mark.timeout(300)
class TestDemo:
    def test_ends_with_a_table_and_status_0(
        self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("examples.demo.command.local_spark", lambda: nullcontext(spark))
        assert main(["--messages", "2000", "--filters", "100", "--threads", "3", "--seed", "9"]) == 0
        shown, errors = capfd.readouterr()
        assert errors == ""
        assert "seed 9" in shown
        assert "cut consistent         yes" in shown
        assert "wrong matches          0 of 2,000" in shown

    def test_writes_the_matches_of_files_and_its_table_beside_them(self) -> None:
        Path("topics").write_text(TOPICS + "a\tb\n")
        done = run("--subscriptions", "subscriptions", "--topics", "-", given=Path("topics").read_bytes(), module=DEMO)
        assert (done.returncode, done.stdout.decode()) == (1, MATCHES)
        shown = done.stderr.decode()
        assert shown.startswith("<standard input>:4: a tab in the topic")
        assert "cut consistent         yes" in shown

    def test_can_be_interrupted(self) -> None:
        with subprocess.Popen(
            command("--messages", "1000000000", module=DEMO),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"OpenAMQ matching test")
            process.send_signal(signal.SIGINT)
            _, shown = process.communicate(timeout=280)
        assert (process.returncode, shown) == (130, b"interrupted\n")

    def test_is_interrupted_once_java_has_started_which_would_run_for_ever_otherwise(
        self, interrupts: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        started = []

        def launch_gateway(*_: object) -> None:
            signal.raise_signal(signal.SIGINT)
            started.append("gateway")

        monkeypatch.setattr("pyspark.java_gateway.launch_gateway", launch_gateway)
        assert main([]) == 130
        assert started == ["gateway"]
        assert capfd.readouterr().err == "interrupted\n"
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_is_interrupted_before_java_has_started_by_asking_twice(
        self, interrupts: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def launch_gateway(*_: object) -> None:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("not interrupted")

        monkeypatch.setattr("pyspark.java_gateway.launch_gateway", launch_gateway)
        assert main([]) == 130

    def test_goes_on_where_interrupts_are_ignored(self, interrupts: None, monkeypatch: pytest.MonkeyPatch) -> None:
        def launch_gateway(*_: object) -> None:
            signal.raise_signal(signal.SIGINT)
            raise OSError("went on")

        monkeypatch.setattr("pyspark.java_gateway.launch_gateway", launch_gateway)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert main([]) == 2


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Python's own handling of Ctrl-C, since a Spark session of this process leaves its own behind."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)
