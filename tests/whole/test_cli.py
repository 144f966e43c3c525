"""The command line of subtrie: what it prints, what it says of what is wrong, and its exit status.

Each case is a row: files, arguments, and what comes of it. What needs a process of its own follows.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import snapshot
import subtrie
from subtrie.cli import lines as cli_lines
from subtrie.cli import main
from subtrie.cli.progress import progress_bars

pytestmark = pytest.mark.once  # the twin and the build do not matter

SUBSCRIPTIONS = "a.*\talice\na.b\tbob\n#\tcarol\na.#\talice\n"
TOPICS = "a.b\nx\na.c\n"
MATCHES = "a.b\talice\na.b\tbob\na.b\tcarol\nx\tcarol\na.c\talice\na.c\tcarol\n"
MATCH = ("match", "--subscriptions", "subscriptions", "--topics", "topics")
EXPORT = ("export", "--subscriptions", "subscriptions", "--output", "set.parquet")
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, so that reports have short file names."""
    monkeypatch.chdir(tmp_path)
    Path("subscriptions").write_text(SUBSCRIPTIONS)
    Path("topics").write_text(TOPICS)
    return tmp_path


class Case(NamedTuple):
    """Files, arguments, and what comes of them; what is not said is as in the first case."""

    subscriptions: bytes | str = SUBSCRIPTIONS
    topics: bytes | str = TOPICS
    more: tuple[str, ...] = ()
    status: int = 0
    out: str = MATCHES
    err: str = ""


def bad_subscription(line: bytes | str, reason: str, out: str = MATCHES) -> Case:
    """One line is bad, between others."""
    line = line if isinstance(line, bytes) else line.encode()
    return Case(b"\n".join([b"#\tdora", line, b""]), "a\n", (), 1, "a\tdora\n", f"subscriptions:2: {reason}\n")


def bad_topic(line: bytes, reason: str) -> Case:
    return Case(topics=b"a.b\n" + line + b"\nx\na.c\n", status=1, err=f"topics:2: {reason}\n")


def bad_json(line: str, reason: str) -> Case:
    return Case(f"{line}\n#\tdora\n", "a\n", ("--dialect", "mqtt"), 1, "a\tdora\n", f"subscriptions:1: {reason}")


BOM = b"\xef\xbb\xbf"
OPTIONS = 'a/+\talice\t{"qos": 1}\n{"filter": "a/#", "subscriber": "bob", "options": {"no_local": true}}\n#\tcarol\n'
CASES = {
    "topics with their subscribers": Case(),
    "no last line end, and those of Windows": Case(
        SUBSCRIPTIONS.strip().replace("\n", "\r\n"), TOPICS.strip().replace("\n", "\r\n")
    ),
    "a byte order mark": Case(BOM + SUBSCRIPTIONS.encode(), BOM + TOPICS.encode()),
    "another dialect": Case(OPTIONS, "a/b\n$x\n", ("--dialect", "mqtt"), out="a/b\talice\na/b\tbob\na/b\tcarol\n"),
    "no subscriber": bad_subscription(b"a.b", "not filter<TAB>subscriber: 'a.b'"),
    "an empty line": bad_subscription(b"", "not filter<TAB>subscriber: ''"),
    "an empty subscriber": bad_subscription(b"a.b\t", r"not filter<TAB>subscriber: 'a.b\t'"),
    "a third column": bad_subscription(b"a\tb\tc", r"not filter<TAB>subscriber: 'a\tb\tc'"),
    "NUL": bad_subscription(b"a\0\talice", r"forbidden character '\x00' at character 1 of 'a\x00'"),
    "no UTF-8": bad_subscription(b"a\xff\talice", "not UTF-8: invalid start byte at byte 1"),
    "a long line": bad_subscription(b"a" * 200_000, "longer than 131072 bytes"),
    "a tab in a topic": bad_topic(b"a\tb", r"a tab in the topic 'a\tb'"),
    "NUL in a topic": bad_topic(b"a\0", r"forbidden character '\x00' at character 1 of 'a\x00'"),
    "a topic that is no UTF-8": bad_topic(b"\xe4", "not UTF-8: unexpected end of data at byte 0"),
    "a long topic": bad_topic(b"a" * 200_000, "longer than 131072 bytes"),
    "an option": bad_json('a\tb\t{"qos": 3}', "the option qos of MQTT is one of 0, 1, 2, not 3"),
    "no JSON": bad_json("a\tb\t{qos}", "the third column is no JSON object: Expecting property name"),
    "another object": bad_json('{"filter": "a"}', "not an object of filter, subscriber (both texts) and options"),
    "a list": bad_json("[1]", "not filter<TAB>subscriber: '[1]'"),
    "deep JSON": bad_json("{" * 5_000, "the line is no JSON object"),
    "several bad lines": Case(
        f"bad\n{SUBSCRIPTIONS}worse\n", TOPICS + "a\tb\n", (), 1,
        err="subscriptions:1: not filter<TAB>subscriber: 'bad'\nsubscriptions:6: not filter<TAB>subscriber: 'worse'\n"
        "topics:4: a tab in the topic 'a\\tb'\n",
    ),
    "a lone surrogate": Case('{"filter": "a", "subscriber": "\\ud800ä"}\n', "a\n", out="a\t\\ud800ä\n"),
    **{
        f"the subscriber {subscriber!r}": Case(
            json.dumps({"filter": "a", "subscriber": subscriber}) + "\na\tcarol\n", "a\n", (), 1, "a\tcarol\n",
            f"subscriptions:1: a tab or a line end in the subscriber {subscriber!r}: use --json\n",
        )
        for subscriber in ("x\ny\tz", "x\ty", "x\n", "\n", "x\r", "\t")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_match(name: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    case = CASES[name]
    for file, text in ("subscriptions", case.subscriptions), ("topics", case.topics):
        Path(file).write_bytes(text if isinstance(text, bytes) else text.encode())
    status = main([*MATCH, *case.more])
    out, err = (each.decode() for each in capfdbinary.readouterr())
    assert (status, out, err[: len(case.err)], not err or bool(case.err)) == (case.status, case.out, case.err, True)


def test_json_has_a_line_for_each_subscription(capfd: pytest.CaptureFixture[str]) -> None:
    rows = [OPTIONS, *(json.dumps({"filter": "a/b", "subscriber": odd}) + "\n" for odd in ("x\ny\tz", "\ud800ä"))]
    Path("subscriptions").write_text("".join(rows))
    Path("topics").write_text("a/b\n$x\n")
    assert main([*MATCH, "--dialect", "mqtt", "--json"]) == 0
    found = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(one["topic"], one["filter"], one["subscriber"], str(one["options"])) for one in found] == [
        ("a/b", "a/+", "alice", "{'qos': 1}"),
        ("a/b", "a/#", "bob", "{'no_local': True}"),
        ("a/b", "#", "carol", "{}"),
        ("a/b", "a/b", "x\ny\tz", "{}"),
        ("a/b", "a/b", "\ud800ä", "{}"),
    ]


def test_long_lines_are_skipped_and_not_read_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_lines, "MAX_LINE_BYTES", 8)
    read: list[int] = []

    class Stream(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            line = super().readline(size)
            read.append(len(line))
            return line

    bad = cli_lines.BadLines()
    lines = list(cli_lines.LineFile("file", Stream(b"12345678\n123456789\n" + b"x" * 1_000 + b"\nend"), bad))
    assert (lines, bad.count, max(read) <= 9) == ([(4, "end")], 3, True)


@pytest.mark.parametrize(("lines", "status", "count"), [(SUBSCRIPTIONS, 0, 4), (f"bad\n{SUBSCRIPTIONS}", 1, 4)])
def test_an_export_can_be_loaded(lines: str, status: int, count: int, capfd: pytest.CaptureFixture[str]) -> None:
    Path("subscriptions").write_text(lines)
    assert main([*EXPORT]) == status
    assert f"{count} subscriptions written to set.parquet\n" in capfd.readouterr().err
    loaded = snapshot.load("set.parquet")
    assert sorted(loaded.match("a.b")) == ["alice", "bob", "carol"]
    loaded.check()


# --------------------------------------------------------------------------------------------------- what cannot be done

MISTAKES = {
    (): "the following arguments are required: match | export",
    ("match", "--topics", "topics"): "required: --subscriptions",
    ("match",): "required: --subscriptions, --topics",
    (*EXPORT, "--dialect", "smtp"): "invalid choice: 'smtp'",
    ("match", "--subscriptions", "-", "--topics", "-"): "standard input can be read only once",
    (*EXPORT[:4], ""): "python -m subtrie export: [Errno ",
    (*EXPORT[:4], "."): "python -m subtrie export: [Errno ",
    (*EXPORT[:4], "missing/set.parquet"): "python -m subtrie export: [Errno ",
    ("match", "--subscriptions", "gone", "--topics", "topics"): "match: [Errno 2] No such file or directory: 'gone'\n",
    ("match", "--subscriptions", "subscriptions", "--topics", "gone"): "No such file or directory: 'gone'\n",
    ("--version",): f"subtrie {subtrie.__version__}\n",
}


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_a_mistake_is_said_in_the_last_line_with_status_2(
    arguments: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    try:
        status: object = main([*arguments])
    except SystemExit as ended:
        status = ended.code
    assert MISTAKES[arguments] in "".join(capfd.readouterr()).splitlines(keepends=True)[-1]
    assert status == (2 if arguments != ("--version",) else 0)


@pytest.mark.parametrize("closed", ["stdin", "stdout"])
def test_standard_input_or_output_that_is_closed(
    closed: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, closed, None)
    assert main([*MATCH[:4], "-"]) == 2
    name = {"stdin": "standard input", "stdout": "standard output"}[closed]
    assert capfd.readouterr().err == f"python -m subtrie match: [Errno 9] Bad file descriptor: '<{name}>'\n"


@pytest.mark.parametrize("full", [False, True], ids=["closed", "full"])
@pytest.mark.parametrize(("topics", "status"), [("topics", 1), ("gone", 2)])
def test_remarks_that_cannot_be_written_change_nothing(topics: str, status: int, full: bool) -> None:
    Path("topics").write_bytes(TOPICS.encode() + b"\xff\n")
    nowhere = "2>/dev/full" if full else "2>&-"
    words = shlex.join([sys.executable, "-m", "subtrie", *MATCH[:4], topics])
    ended = subprocess.run(f"{words} {nowhere}", shell=True, env=found_anywhere(), stdout=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stdout.decode()) == (status, MATCHES if status == 1 else "")


def test_an_extra_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert main([*EXPORT]) == 2
    assert "pip install 'subtrie[arrow]'" in capfd.readouterr().err


@pytest.mark.parametrize("where", ["on a terminal", "elsewhere", "over other output", "without rich"])
def test_progress_is_shown_on_a_terminal_alone(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.StringIO()
    monkeypatch.setattr(told, "isatty", lambda: where != "elsewhere")
    monkeypatch.setattr(sys, "stderr", told)
    monkeypatch.setenv("TERM", "xterm")
    if where == "without rich":
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    with progress_bars(shown=where != "over other output") as add_bar:
        add_bar("messages matched", 10)(5)
    assert ("messages matched" in told.getvalue()) == bool(told.getvalue()) == (where == "on a terminal")


# ----------------------------------------------------------------------------------------------- in a process of its own


def started(*command: str, **environment: str) -> Any:
    """Start a command in which the sources are found from any working directory; return the process."""
    pipe, words = subprocess.PIPE, [sys.executable, "-m", *command]
    return subprocess.Popen(words, env=found_anywhere(**environment), stdin=pipe, stdout=pipe, stderr=pipe)


def found_anywhere(**environment: str) -> dict[str, str]:
    """The environment of a process that finds the sources."""
    found = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": found} | environment


def test_utf8_is_written_whatever_the_locale() -> None:
    Path("subscriptions").write_text("größe.*\tÄnne\n", encoding="utf-8")
    Path("topics").write_text("größe.ß\n", encoding="utf-8")
    process = started("subtrie", *MATCH, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert process.communicate()[0].decode() == "größe.ß\tÄnne\n"


@pytest.mark.parametrize("piped", ["subscriptions", "topics"])
def test_either_file_may_be_standard_input(piped: str) -> None:
    process = started("subtrie", *("-" if each == piped else each for each in MATCH))
    out, err = process.communicate(Path(piped).read_bytes() + b"\xff\n")
    assert (process.returncode, out.decode(), err.partition(b":")[0]) == (1, MATCHES, b"<standard input>")


def test_a_topic_is_answered_before_the_next_one_comes_and_a_reader_that_goes_ends_it() -> None:
    with started("subtrie", *MATCH[:4], "-") as process:
        for _ in range(2):
            process.stdin.write(b"x\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"x\tcarol\n"
        process.stdout.close()
        process.stdin.write(b"x\n" * 10)
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_command_that_is_interrupted_within_an_exec_ends_with_its_status_and_not_by_the_signal() -> None:
    Path("interrupted.py").write_text(
        "import signal, sys\n"
        "from subtrie.cli import ended\n"
        "sys.exit(ended('it', lambda _: exec('signal.raise_signal(signal.SIGINT)'), None))\n"
    )
    process = started("interrupted")
    assert (process.communicate()[1], process.returncode) == (b"interrupted\n", 130)
