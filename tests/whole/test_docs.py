"""The manual: its snippets run and print what it shows, its links lead somewhere, its command lines are understood."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import snapshot
import stress.cli
import subtrie.cli
from subtrie import MQTT, SubscriptionTrie
from subtrie.hub import Hub

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

from docs.shown_code import page_with_code
from tests.snippets import run_page, snippets
from tests.tries import cli as tries

ROOT = Path(__file__).parents[2]
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)
TEXTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
ELSEWHERE = {"stress.md", "spark.md", "published.md", "published-format.md"}
"""Pages that cannot be run as they are: `tests/stress` tests the first and its folder; the others are tested below."""


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def has_snippets(page: Path) -> bool:
    return (
        page.name not in ELSEWHERE
        and page.parent.name != "stress"
        and any(each.runs for each in snippets(page.read_text(encoding="utf-8")))
    )


@pytest.mark.parametrize("page", [page for page in PAGES if has_snippets(page)], ids=named)
def test_snippets_run_and_show_what_the_page_shows(page: Path) -> None:
    assert run_page(page)


@pytest.mark.once
@pytest.mark.parametrize("page", PAGES, ids=named)
def test_code_of_examples_is_as_the_examples_have_it(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "{literalinclude}" not in text
    assert page_with_code(text) == text, "run `python -m docs.shown_code`"


def test_a_session_that_shows_something_else_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nn = 1\n```\n\n```pycon\n>>> n\n2\n\n```\n")
    with pytest.raises(AssertionError, match=r"Expected:\n\s+2\n\s*Got:\n\s+1\n"):
        run_page(page)


@pytest.mark.once
def test_the_page_on_published_directories_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page assumes a trie and seven versions."""
    monkeypatch.chdir(tmp_path)
    trie: SubscriptionTrie[str] = SubscriptionTrie()
    with snapshot.Publisher(trie, "subscriptions") as publisher:
        for n in range(7):
            trie.subscribe(f"stock.{n}", "ann")
            publisher.publish()
    assert run_page(ROOT / "docs" / "published.md", {"trie": trie}) >= 3


@pytest.mark.once
def test_the_page_on_spark_is_understood(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data frames are made, with all their columns, but not computed; other tests of Spark compare rows. Blocks that
    leave something out, such as `(...)`, are not run."""
    from pyspark.sql.classic.dataframe import DataFrame

    monkeypatch.setattr(DataFrame, "show", lambda frame, *_, **__: frame.columns)
    trie: SubscriptionTrie[str] = SubscriptionTrie()
    where = str(tmp_path / "published")
    with snapshot.Publisher(trie, where) as publisher:
        for n in range(7):
            trie.subscribe(f"stock.{n}", "ann")
            publisher.publish()
    spark.createDataFrame([("a.b",)], "topic string").write.parquet(str(tmp_path / "messages.parquet"))
    orders = spark.createDataFrame([("EUR", 12.0)], "currency string, price double")
    names = {"spark": spark, "trie": trie, "orders": orders}
    ran = 0
    for snippet in snippets((ROOT / "docs" / "spark.md").read_text(encoding="utf-8")):
        if re.search(r"\(\.\.\.|, \.\.\.\)", snippet.text):
            continue
        text = snippet.text.replace('"/data/subscriptions"', repr(where))
        text = re.sub(r'"(\w+\.parquet)"', lambda file: repr(str(tmp_path / file[1])), text)
        exec(compile("\n" * snippet.line + text, "spark.md", "exec"), names)
        ran += 1
    assert ran >= 6


@pytest.mark.once
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="Sphinx is not installed")
def test_the_manual_is_made_without_a_warning(tmp_path: Path) -> None:
    """As `make docs` does it: here a link that leads nowhere is one, wherever its page has been included from."""
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    done = subprocess.run([*command, "docs", str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "index.html").exists()


# ---------------------------------------------------------------------------------------------------------------- sizes

WIDEST = 88  # characters of code that a page shows beside its menus; `examples/ruff.toml` says the same of examples
LONGEST = 300  # lines


def code_lines(text: str) -> Iterator[str]:
    """The lines of code blocks, without what a program has printed."""
    for kind, block in re.findall(r"^```([\w{}-]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            prompt = {"pycon": (">>> ", "... "), "console": ("$ ", "> ")}.get(kind)
            if not kind.startswith("{") and kind != "text" and (prompt is None or line.startswith(prompt)):
                yield line


@pytest.mark.once
@pytest.mark.parametrize("page", [*PAGES, *TEXTS], ids=named)
def test_code_is_not_wider_than_a_page(page: Path) -> None:
    assert [line for line in code_lines(page.read_text(encoding="utf-8")) if len(line) > WIDEST] == []


@pytest.mark.once
def test_a_wide_line_is_noticed() -> None:
    wide = "x" * 89
    page = f"```pycon\n>>> {wide}\n{wide}\n```\n\n```sh\n{wide}\n```\n\n```text\n{wide}\n```\n"
    assert [line for line in code_lines(page) if len(line) > WIDEST] == [f">>> {wide}", wide]


@pytest.mark.once
def test_docstrings_have_the_sections_of_one_style() -> None:
    """Google's (`Args:`, `Returns:`, `Raises:`), of which the manual makes its reference."""
    of_another = re.compile(
        r"^ *:(param|arg|returns?|rtype|raises?|type)\b|^ *(Parameters|Returns|Raises)\n *---|^ *(Parameters|Arguments):$",
        re.MULTILINE,
    )
    rooms = (ROOT / room for room in ("ctrie", "subtrie", "snapshot", "stress", "benchmarks", "examples", "tools"))
    found = [named(file) for room in rooms for file in room.rglob("*.py") if of_another.search(file.read_text("utf-8"))]
    assert found == []


@pytest.mark.once
def test_no_page_is_too_long_to_read() -> None:
    lengths = {named(page): len(page.read_text(encoding="utf-8").splitlines()) for page in PAGES}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 200


@pytest.mark.once
def test_the_extras_of_the_page_on_installing_are_there() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^\| `(\S+)` \|", page, re.MULTILINE))
    declared = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    )
    ours = {"test", "lint", "docs", "release", "s3-server"}  # for the work on the package
    assert shown == declared - ours


# ------------------------------------------------------------------------------------------------------------- messages


async def talk(send: Any, message: Any) -> None:
    hub: Hub[Any] = Hub(MQTT)
    async with hub.connect(send) as client:
        client.subscribe("a")
        await hub.publish("a", message)
        await asyncio.Event().wait()


async def do_nothing(_: object) -> None:
    pass


def trie_of(dialect: Any = MQTT, **options: Any) -> SubscriptionTrie[Any]:
    return SubscriptionTrie(dialect, **options)


def follow_too_early() -> None:
    with tempfile.TemporaryDirectory() as folder, snapshot.Publisher(trie_of(), folder):
        snapshot.follow(folder)


def import_the_sources() -> None:
    """As in a clone in which nothing was compiled."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ctrie").mkdir()
        (Path(folder) / "setup.py").touch()
        for source in (ROOT / "ctrie").glob("*.py"):
            shutil.copy(source, Path(folder) / "ctrie")
        environment = {**os.environ, "CTRIE_SLOT": "native", "CTRIE_TWIN": ""}
        done = subprocess.run(
            [sys.executable, "-S", "-c", "import ctrie"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    kind, _, text = done.stderr.splitlines()[-1].partition(": ")
    assert kind == "ImportError"
    raise ImportError(text)


class Fresh:
    def __init__(self) -> None:
        self.calls = 0

    def get(self) -> object:
        self.calls += 1
        return object()


RAISED: dict[str, Callable[[], object]] = {
    "TopicError: '#' is not the last word at character 2 of 'a/#/b'": lambda: trie_of().subscribe("a/#/b", "x"),
    "TopicError: wildcard '+' in a topic at character 2 of 'a/+'": lambda: trie_of().match("a/+"),
    "TopicError: longer than 65535 bytes": lambda: trie_of().match("a" * 65_536),
    "TopicError: more than 201 words": lambda: trie_of().match("/" * 201),
    "TypeError: a topic must be a str, not bytes": lambda: trie_of().match(b"a"),  # type: ignore[arg-type]
    "TypeError: dialect must be a Dialect, such as AMQP, not str": lambda: trie_of("mqtt"),
    "TypeError: unhashable type: 'list'": lambda: trie_of().subscribe("a", []),
    "TypeError: MQTT knows no option Qos; did you mean qos?": lambda: trie_of().subscribe("a", "x", Qos=1),
    "ValueError: the option qos of MQTT is one of 0, 1, 2, not 3": lambda: trie_of().subscribe("a", "x", qos=3),
    "TypeError: cannot create weak reference to 'str' object": lambda: trie_of(weak=True).subscribe("a", "x"),
    "ValueError: weak and index exclude each other": lambda: trie_of(weak=True, index=True),
    "TypeError: this SubscriptionTrie is a read-only snapshot": lambda: trie_of().snapshot().clear(),
    "TypeError: on_interest must be a function that is called": lambda: trie_of(on_interest=do_nothing),
    "TypeError: object NoneType can't be used in 'await' expression": lambda: asyncio.run(talk([].append, b"x")),
    "TypeError: how many bytes has a dict?": lambda: asyncio.run(talk(do_nothing, {})),
    "FileNotFoundError: ... is not a published directory": lambda: snapshot.restore(ROOT / "docs"),
    "ImportError: this is the source of ctrie": import_the_sources,
    "NotPublishedError: ... nothing has been published yet": follow_too_early,
    "SpecError: ... answers ... the first time and ... the second": lambda: stress.explore(
        Fresh, None, [[("get",)], [("get",)]]
    ),
}
ELSEWHERE_RAISED = {"ModuleNotFoundError: ... pip install 'subtrie[spark]'"}  # by tests of the wheel


@pytest.mark.once
@pytest.mark.parametrize("message", RAISED)
def test_the_page_on_trouble_has_messages_that_are_raised(message: str) -> None:
    kind, _, text = message.partition(": ")
    with pytest.raises(Exception, match=".*".join(map(re.escape, text.split("... ")))) as caught:
        RAISED[message]()
    assert type(caught.value).__name__ == kind


@pytest.mark.once
def test_every_message_of_the_page_on_trouble_is_tried() -> None:
    page = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    first_cells = re.findall(r"^\| (.+?) \| ", page, re.MULTILINE)
    assert {each for cell in first_cells for each in re.findall(r"`(\w+: .+?)`", cell)} - {
        "subtrie: the compiled modules could not be built"
    } == RAISED.keys() | ELSEWHERE_RAISED


# ---------------------------------------------------------------------------------------------------------------- links


def slug(heading: str) -> str:
    """The anchor of a heading, as the site and Markdown viewers make it."""
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)} | set(
        re.findall(r"^\((.*)\)=$", text, re.MULTILINE)
    )


@pytest.mark.once
@pytest.mark.parametrize("page", [*PAGES, *TEXTS], ids=named)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    dead = []
    for target in re.findall(r"\]\(<?([^)\s>]+)>?\)", without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        if not there.exists() or (anchor and there.suffix == ".md" and anchor not in anchors(there)):
            dead.append(target)
    assert not dead


@pytest.mark.once
def test_files_that_pages_name_are_there() -> None:
    """The files of the packages, examples and tests that a page names."""
    missing = []
    for page in [*PAGES, *TEXTS]:
        text = page.read_text(encoding="utf-8")
        named_files = re.findall(r"`((?:examples|tests|ctrie|subtrie|snapshot|stress)/[\w/]+\.(?:py|pyx|h|pxd))`", text)
        missing += [(page.name, file) for file in named_files if not (ROOT / file).exists()]
    assert not missing


@pytest.mark.once
def test_every_example_is_on_a_page() -> None:
    manual = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    examples = [path.name for path in (ROOT / "examples").glob("*.py")]
    assert [name for name in examples if name not in manual] == []


@pytest.mark.once
@pytest.mark.parametrize("page", [*PAGES, *TEXTS], ids=named)
def test_rows_of_a_table_have_as_many_cells_as_its_head(page: Path) -> None:
    """A bar begins a new cell, even inside code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = table.splitlines()
        assert [row for row in rows if len(re.findall(r"(?<!\\)\|", row)) != rows[0].count("|")] == []


# --------------------------------------------------------------------------------------------------- the command lines

USED = re.compile(r"python -m (subtrie|stress|tests\.tries) (\w+)((?: [^\n`|>&#]*)?)")


@pytest.mark.once
def test_options_that_pages_use_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    used: dict[tuple[str, str], set[str]] = {}
    for page in [*PAGES, *TEXTS]:
        for module, command, rest in USED.findall(page.read_text(encoding="utf-8")):
            used.setdefault((module, command), set()).update(re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest))
    assert ("subtrie", "match") in used
    mains: dict[str, Callable[[list[str]], int]] = {
        "subtrie": subtrie.cli.main, "stress": stress.cli.main, "tests.tries": tries.main,
    }  # fmt: skip
    for (module, command), options in used.items():
        with pytest.raises(SystemExit) as ended:
            mains[module]([command, "--help"])
        help = capsys.readouterr().out
        assert ended.value.code == 0, f"there is no python -m {module} {command}"
        assert {each for each in options if not re.search(rf"{each}\b", help)} == set(), f"{module} {command}"


@pytest.mark.once
def test_programs_that_pages_name_are_there() -> None:
    """Targets of make, benchmarks, and modules that are run."""
    from benchmarks.suite import all_benchmarks

    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    names = all_benchmarks().keys()
    wrong = []
    for page in [*PAGES, *TEXTS]:
        text = page.read_text(encoding="utf-8")
        code = "\n".join(
            re.findall(r"`([^`\n]+)`", text)
            + re.findall(r"^```(?:sh|console)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        )
        wrong += [
            (named(page), f"make {each}")
            for each in re.findall(r"^(?:\$ )?make ([a-z-]+)", code, re.MULTILINE)
            if each not in targets
        ]
        wrong += [
            (named(page), f"benchmark {each}")
            for command in re.findall(r"python -m benchmarks((?: [a-z][a-z0-9-]*)+)", code)
            for each in command.split()
            if each not in names
        ]
        wrong += [
            (named(page), f"python -m {each}")
            for each in re.findall(r"python -m ([a-z_.]+)", code)
            if each.split(".")[0] in ("benchmarks", "docs", "examples", "stress", "subtrie", "tools")
            and importlib.util.find_spec(each) is None
        ]
    assert wrong == []


SESSION = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
GIVEN = re.compile(r"^<!-- file: (\S+) -->\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.once
def test_commands_print_what_the_page_shows(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    for name, text in GIVEN.findall(page):
        (tmp_path / name).write_text(text, encoding="utf-8")
    commands = [
        each for session in SESSION.findall(page) for each in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]
    ]
    assert len(commands) > 2
    here = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
    for each in commands:
        first, *lines = each.split("\n")
        while lines[0].startswith("> "):  # the command goes on
            first += "\n" + lines.pop(0)[2:]
        command, shown = first, "\n".join(lines)
        done = subprocess.run(
            ["bash", "-c", f"({command}) 2>&1"],
            cwd=tmp_path,
            env=os.environ | here,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == shown, command
