"""The command line: its output, its messages, and its exit status."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import snapshot
import subtrie
from subtrie.cli import lines as cli_lines
from subtrie.cli import main
from subtrie.cli.progress import progress_bars

pytestmark = pytest.mark.once  # processes that start and end; the twin and the build do not matter

SUBSCRIPTIONS = "a.*\talice\na.b\tbob\n#\tcarol\na.#\talice\n"
TOPICS = "a.b\nx\na.c\n"
MATCHES = "a.b\talice\na.b\tbob\na.b\tcarol\nx\tcarol\na.c\talice\na.c\tcarol\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, so that reports have short file names."""
    monkeypatch.chdir(tmp_path)
    Path("subscriptions").write_text(SUBSCRIPTIONS)
    Path("topics").write_text(TOPICS)
    return tmp_path


def run(*arguments: str, given: bytes = b"", module: str = "subtrie") -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own."""
    return subprocess.run(
        command(*arguments, module=module),
        input=given,
        capture_output=True,
        check=False,
        env=environment(),
        timeout=280,
    )


def command(*arguments: str, module: str = "subtrie") -> list[str]:
    return [sys.executable, "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The environment of this process, in which the sources are found from any working directory."""
    root = str(Path(__file__).parents[2])
    return os.environ | {"PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}


def match(capfdbinary: pytest.CaptureFixture[bytes]) -> tuple[int, str, str]:
    """Run `match` on the two files; return the status, the output and the error output."""
    status = main(["match", "--subscriptions", "subscriptions", "--topics", "topics"])
    out, err = capfdbinary.readouterr()
    return status, out.decode(), err.decode()


class TestMatch:
    def test_writes_topics_with_their_subscribers(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        assert match(capfdbinary) == (0, MATCHES, "")

    def test_reads_files_without_a_last_line_end_and_with_those_of_windows(
        self, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        Path("subscriptions").write_bytes(SUBSCRIPTIONS.strip().replace("\n", "\r\n").encode())
        Path("topics").write_bytes(TOPICS.strip().replace("\n", "\r\n").encode())
        assert match(capfdbinary) == (0, MATCHES, "")

    def test_writes_utf8_whatever_the_locale(self) -> None:
        Path("subscriptions").write_text("größe.*\tÄnne\n", encoding="utf-8")
        Path("topics").write_text("größe.ß\n", encoding="utf-8")
        done = subprocess.run(
            command("match", "--subscriptions", "subscriptions", "--topics", "topics"),
            capture_output=True,
            check=True,
            env=environment() | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        )
        assert done.stdout.decode() == "größe.ß\tÄnne\n"

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (b"a.b", "not filter<TAB>subscriber: 'a.b'"),
            (b"", "not filter<TAB>subscriber: ''"),
            (b"a.b\t", r"not filter<TAB>subscriber: 'a.b\t'"),
            (b"a\tb\tc", r"not filter<TAB>subscriber: 'a\tb\tc'"),
            (b"a\0\talice", r"forbidden character '\x00' at character 1 of 'a\x00'"),
            (b"a\xff\talice", "not UTF-8: invalid start byte at byte 1"),
            (b"a" * 200_000, "longer than 131072 bytes"),
        ],
    )
    def test_reports_a_bad_subscription_and_goes_on(
        self, capfdbinary: pytest.CaptureFixture[bytes], line: bytes, reason: str
    ) -> None:
        Path("subscriptions").write_bytes(b"a.*\tdora\n" + line + b"\n" + SUBSCRIPTIONS.encode())
        status, out, err = match(capfdbinary)
        assert (status, err) == (1, f"subscriptions:2: {reason}\n")
        assert "a.b\tdora\n" in out
        assert "x\tcarol\n" in out

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (b"a\tb", r"a tab in the topic 'a\tb'"),
            (b"a\0", r"forbidden character '\x00' at character 1 of 'a\x00'"),
            (b"\xe4", "not UTF-8: unexpected end of data at byte 0"),
            (b"a" * 200_000, "longer than 131072 bytes"),
        ],
    )
    def test_reports_a_bad_topic_and_goes_on(
        self, capfdbinary: pytest.CaptureFixture[bytes], line: bytes, reason: str
    ) -> None:
        Path("topics").write_bytes(b"a.b\n" + line + b"\nx\na.c\n")
        assert match(capfdbinary) == (1, MATCHES, f"topics:2: {reason}\n")

    def test_reports_all_bad_lines_by_their_numbers(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        Path("subscriptions").write_text("bad\n" + SUBSCRIPTIONS + "worse\n")
        Path("topics").write_text(TOPICS + "a\tb\n")
        status, out, err = match(capfdbinary)
        assert (status, out) == (1, MATCHES)
        assert [line.split(": ")[0] for line in err.splitlines()] == ["subscriptions:1", "subscriptions:6", "topics:4"]

    @pytest.mark.parametrize("piped", ["subscriptions", "topics"])
    def test_reads_either_file_from_standard_input(self, piped: str) -> None:
        names = {"subscriptions": "subscriptions", "topics": "topics", piped: "-"}
        given = Path(piped).read_bytes() + b"\xff\n"
        done = run("match", "--subscriptions", names["subscriptions"], "--topics", names["topics"], given=given)
        assert (done.returncode, done.stdout.decode()) == (1, MATCHES)
        assert done.stderr.startswith(b"<standard input>:")

    def test_answers_a_topic_from_standard_input_before_the_next_one_comes(self) -> None:
        arguments = command("match", "--subscriptions", "subscriptions", "--topics", "-")
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for _ in range(2):
                process.stdin.write(b"x\n")
                process.stdin.flush()
                assert process.stdout.readline() == b"x\tcarol\n"
            process.stdin.close()
        assert process.returncode == 0

    def test_ends_when_its_reader_goes(self) -> None:
        Path("topics").write_text("a.b\n" * 100_000)
        arguments = command("match", "--subscriptions", "subscriptions", "--topics", "topics")
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() == b"a.b\talice\n"
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 0

    def test_a_byte_order_mark_is_no_part_of_the_first_line(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        for name in ("subscriptions", "topics"):
            Path(name).write_bytes(b"\xef\xbb\xbf" + Path(name).read_bytes())
        assert match(capfdbinary) == (0, MATCHES, "")

    def test_other_dialects_options_and_json(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        Path("subscriptions").write_text(
            'a/+\talice\t{"qos": 1}\n{"filter": "a/#", "subscriber": "bob", "options": {"no_local": true}}\n#\tcarol\n'
        )
        Path("topics").write_text("a/b\n$x\n")
        files = ["--subscriptions", "subscriptions", "--topics", "topics", "--dialect", "mqtt"]
        assert main(["match", *files]) == 0
        assert capfdbinary.readouterr().out == b"a/b\talice\na/b\tbob\na/b\tcarol\n"
        assert main(["match", *files, "--json"]) == 0
        found = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
        assert [(one["topic"], one["filter"], one["subscriber"], one["options"]) for one in found] == [
            ("a/b", "a/+", "alice", {"qos": 1}),
            ("a/b", "a/#", "bob", {"no_local": True}),
            ("a/b", "#", "carol", {}),
        ]

    @pytest.mark.parametrize("subscriber", ["x\ny\tz", "x\ty", "x\n", "\n", "x\r", "\t"])
    def test_a_subscriber_that_would_be_several_lines_or_columns_is_refused_unless_the_answer_is_json(
        self, capfd: pytest.CaptureFixture[str], subscriber: str
    ) -> None:
        Path("subscriptions").write_text(json.dumps({"filter": "a", "subscriber": subscriber}) + "\na\tcarol\n")
        Path("topics").write_text("a\n")
        files = ["match", "--subscriptions", "subscriptions", "--topics", "topics"]
        assert main(files) == 1
        out, err = capfd.readouterr()
        assert out == "a\tcarol\n"
        assert err == f"subscriptions:1: a tab or a line end in the subscriber {subscriber!r}: use --json\n"
        assert main([*files, "--json"]) == 0
        found = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        assert sorted(one["subscriber"] for one in found) == sorted([subscriber, "carol"])

    @pytest.mark.parametrize("json_lines", [False, True])
    def test_a_lone_surrogate_is_written_as_an_escape(
        self, capfd: pytest.CaptureFixture[str], json_lines: bool
    ) -> None:
        Path("subscriptions").write_text('{"filter": "a", "subscriber": "\\ud800ä"}\n')
        Path("topics").write_text("a\n")
        files = ["match", "--subscriptions", "subscriptions", "--topics", "topics"]
        assert main([*files, "--json"] if json_lines else files) == 0
        out = capfd.readouterr().out
        assert "\\ud800ä" in out
        assert not json_lines or json.loads(out)["subscriber"] == "\ud800ä"

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ('a\tb\t{"qos": 3}', "the option qos of MQTT is one of 0, 1, 2, not 3"),
            ("a\tb\t{qos}", "the third column is no JSON object: Expecting property name"),
            ('{"filter": "a"}', "not an object of filter, subscriber (both texts) and options"),
            ("[1]", "not filter<TAB>subscriber: '[1]'"),
            ("{" * 5_000, "the line is no JSON object"),
        ],
    )
    def test_reports_bad_options(self, capfd: pytest.CaptureFixture[str], line: str, reason: str) -> None:
        Path("subscriptions").write_text(f"{line}\n#\tcarol\n")
        status = main(["match", "--subscriptions", "subscriptions", "--topics", "topics", "--dialect", "mqtt"])
        out, err = capfd.readouterr()
        assert status == 1
        assert err.startswith(f"subscriptions:1: {reason}")
        assert "carol" in out


def test_says_its_version(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capfd.readouterr().out == f"subtrie {subtrie.__version__}\n"


class TestLongLines:
    def test_are_skipped_and_not_read_into_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cli_lines, "MAX_LINE_BYTES", 8)
        read = []

        class Stream:
            def __init__(self, text: bytes) -> None:
                self._text = text

            def readline(self, size: int) -> bytes:
                end = self._text.find(b"\n") + 1 or len(self._text)
                line, self._text = self._text[: min(end, size)], self._text[min(end, size) :]
                read.append(len(line))
                return line

        bad = cli_lines.BadLines()
        stream = Stream(b"12345678\n123456789\n" + b"x" * 1_000 + b"\nend")
        lines = list(cli_lines.LineFile("file", stream, bad))  # type: ignore[arg-type]
        assert lines == [(4, "end")]
        assert bad.count == 3
        assert max(read) <= 9


class TestExport:
    def test_writes_a_file_that_can_be_loaded(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        assert main(["export", "--subscriptions", "subscriptions", "--output", "set.parquet"]) == 0
        assert capfdbinary.readouterr() == (b"", b"4 subscriptions written to set.parquet\n")
        loaded = snapshot.load("set.parquet")
        assert sorted(loaded.match("a.b")) == ["alice", "bob", "carol"]
        loaded.check()

    def test_reports_bad_lines_and_exports_the_others(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        Path("subscriptions").write_text("bad\na\talice\n")
        assert main(["export", "--subscriptions", "subscriptions", "--output", "set.parquet"]) == 1
        assert capfdbinary.readouterr().err.startswith(b"subscriptions:1: not filter<TAB>subscriber")
        assert len(snapshot.load("set.parquet")) == 1

    def test_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
        assert main(["export", "--subscriptions", "subscriptions", "--output", "set.parquet"]) == 2
        assert b"pip install 'subtrie[arrow]'" in capfdbinary.readouterr().err


class TestMistakes:
    def test_both_files_from_standard_input(self, capfd: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stopped:
            main(["match", "--subscriptions", "-", "--topics", "-"])
        assert stopped.value.code == 2
        assert "standard input can be read only once" in capfd.readouterr().err

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "the following arguments are required: match | export"),
            (["match", "--topics", "topics"], "required: --subscriptions"),
            (["match"], "required: --subscriptions, --topics"),
            (["export", "--subscriptions", "subscriptions", "--dialect", "smtp"], "invalid choice: 'smtp'"),
        ],
    )
    def test_arguments_that_make_no_sense(
        self, arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        assert message in capfd.readouterr().err

    @pytest.mark.parametrize("output", ["", ".", "missing/set.parquet"])
    def test_a_file_that_cannot_be_written(self, output: str, capfd: pytest.CaptureFixture[str]) -> None:
        assert main(["export", "--subscriptions", "subscriptions", "--output", output]) == 2
        shown = capfd.readouterr().err
        assert shown.startswith("python -m subtrie export: [Errno ")
        assert len(shown.splitlines()) == 1

    @pytest.mark.parametrize("closed", ["stdin", "stdout"])
    def test_standard_input_or_output_that_is_closed(
        self, closed: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, closed, None)
        assert main(["match", "--subscriptions", "subscriptions", "--topics", "-"]) == 2
        name = {"stdin": "standard input", "stdout": "standard output"}[closed]
        assert capfd.readouterr().err == f"python -m subtrie match: [Errno 9] Bad file descriptor: '<{name}>'\n"

    @pytest.mark.parametrize("missing", ["subscriptions", "topics"])
    def test_a_file_that_cannot_be_read(self, missing: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        Path(missing).unlink()
        status, out, err = match(capfdbinary)
        assert (status, out) == (2, "")
        assert err == f"python -m subtrie match: [Errno 2] No such file or directory: '{missing}'\n"


class TestProgress:
    def test_is_shown_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert "messages matched" in self.shown(monkeypatch)

    def test_is_not_shown_elsewhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.shown(monkeypatch, on_a_terminal=False) == ""

    def test_is_not_shown_over_other_output(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.shown(monkeypatch, beside_output=False) == ""

    def test_is_not_shown_without_rich(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "rich.progress", None)
        assert self.shown(monkeypatch) == ""

    @staticmethod
    def shown(monkeypatch: pytest.MonkeyPatch, *, on_a_terminal: bool = True, beside_output: bool = True) -> str:
        """The text on standard error while a bar advances."""
        terminal = Terminal(on_a_terminal)
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        with progress_bars(shown=beside_output) as add_bar:
            add_bar("messages matched", 10)(5)
        return terminal.getvalue()


class Terminal(io.StringIO):
    """Standard error, on a terminal or elsewhere."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def test_a_command_that_is_interrupted_within_an_exec_ends_with_its_status_and_not_by_the_signal() -> None:
    Path("interrupted_within_an_exec.py").write_text(
        "import signal, sys\n"
        "from subtrie.cli import ended\n"
        "sys.exit(ended('it', lambda _: exec('signal.raise_signal(signal.SIGINT)'), None))\n"
    )
    done = run(module="interrupted_within_an_exec")
    assert (done.returncode, done.stderr) == (130, b"interrupted\n")
