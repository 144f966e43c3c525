"""What pages say is so: their snippets and commands run and print what is shown, and all that they name is there."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
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
from benchmarks.suite import all_benchmarks
from docs.shown_code import page_with_code
from subtrie import MQTT, SubscriptionTrie
from subtrie.hub import Hub
from tests.snippets import run_page, snippets
from tests.tries import cli as tries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[2]
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)
TEXTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
ELSEWHERE = {"stress.md", "explorer.md", "other-objects.md", "spark.md", "published.md", "published-format.md"}
"""Pages that cannot be run as they are: `tests/stress` and `tests/snapshot` run them, or tests below."""
WIDEST = 88  # characters of code that a page shows beside its menus; `examples/ruff.toml` says the same of examples
LONGEST = 300  # lines
FENCED = re.compile(r"^```([\w{}-]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


# -------------------------------------------------------------------------------------------------------------- what runs


RUNNING = [page for page in PAGES if any(each.runs for each in snippets(page.read_text("utf-8")))]


@pytest.mark.parametrize("page", [page for page in RUNNING if page.name not in ELSEWHERE], ids=named)
def test_snippets_run_and_show_what_the_page_shows(page: Path) -> None:
    assert run_page(page)


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SubscriptionTrie[str]:
    """The trie that two pages assume, published in seven versions in the working directory."""
    monkeypatch.chdir(tmp_path)
    trie: SubscriptionTrie[str] = SubscriptionTrie()
    with snapshot.Publisher(trie, "subscriptions") as publisher:
        for n in range(7):
            trie.subscribe(f"stock.{n}", "ann")
            publisher.publish()
    return trie


@pytest.mark.once
def test_the_page_on_published_directories_runs(published: SubscriptionTrie[str]) -> None:
    assert run_page(ROOT / "docs" / "published.md", {"trie": published}) >= 3


@pytest.mark.once
def test_the_page_on_spark_is_understood(
    spark: SparkSession, published: SubscriptionTrie[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data frames are made, with all their columns, but not computed; other tests of Spark compare rows. Blocks that
    leave something out, such as `(...)`, are not run."""
    from pyspark.sql.classic.dataframe import DataFrame

    monkeypatch.setattr(DataFrame, "show", lambda frame, *_, **__: frame.columns)
    messages = spark.sql("select 'a.b' as topic, now() as sent_at")
    messages.write.parquet(str(Path("messages.parquet").absolute()))
    names = {"spark": spark, "trie": published}
    page = (ROOT / "docs" / "spark.md").read_text("utf-8").replace("/data/subscriptions", "subscriptions")
    page = re.sub(r'"(\w+\.parquet|subscriptions)"(?=[,)])', lambda file: repr(str(Path(file[1]).absolute())), page)
    whole = [each for each in snippets(page) if not re.search(r"\(\.\.\.|, \.\.\.\)", each.text)]
    for snippet in whole:
        exec(compile("\n" * snippet.line + snippet.text, "spark.md", "exec"), names)
    assert len(whole) >= 6


@pytest.mark.once
def test_commands_print_what_the_page_shows(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    for name, text in re.findall(r"^<!-- file: (\S+) -->\n```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        (tmp_path / name).write_text(text, "utf-8")
    sessions = "".join(text for kind, text in FENCED.findall(page) if kind == "console")
    here = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
    commands = re.findall(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", sessions, re.MULTILINE)
    for command, shown in commands:
        script = f"({command.replace(chr(10) + '> ', chr(10))}) 2>&1"
        printed = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=os.environ | here, stdout=subprocess.PIPE)  # noqa: PLW1510
        assert printed.stdout.decode() == shown, command
    assert len(commands) > 2


@pytest.mark.once
@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="Sphinx is not installed")
def test_the_manual_is_made_without_a_warning(tmp_path: Path) -> None:
    """As `make docs` does it: here a link that leads nowhere is one, wherever its page has been included from."""
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "docs", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# ---------------------------------------------------------------------------------------------- what is wrong with a page


def too_wide(text: str, _: Path) -> Iterator[str]:
    """Lines of code that are too wide, without what a program has printed."""
    for kind, block in FENCED.findall(text):
        prompt = {"pycon": (">>> ", "... "), "console": ("$ ", "> ")}.get(kind, "")
        for line in block.splitlines() if kind != "text" and not kind.startswith("{") else ():
            if line.startswith(prompt) and len(line) > WIDEST:
                yield line


def too_long(text: str, page: Path) -> list[int]:
    lines = text.count("\n")
    return [lines] if lines > LONGEST or (page.name == "README.md" and lines >= 200) else []


def other_than_the_example(text: str, _: Path) -> list[str]:
    """Run `python -m docs.shown_code`."""
    return ["code of an example"] if page_with_code(text) != text or "{literalinclude}" in text else []


def anchors(text: str) -> set[str]:
    """Those of headings, as the site and Markdown viewers make them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    shown = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in shown}


def dead_links(text: str, page: Path) -> Iterator[str]:
    """Links to no file or no heading, and those that show nothing where a viewer does not know the other page."""
    prose = re.sub(r"`[^`\n]*`", "CODE", FENCED.sub("", text))
    for shown, target in re.findall(r"\[([^\]]*)\]\(<?([^)\s>]+)>?\)", prose):
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        leads = there.exists() and (not anchor or there.suffix != ".md" or anchor in anchors(there.read_text("utf-8")))
        if not re.match(r"[a-z]+:", target) and not (shown and leads):
            yield target


def missing_files(text: str, _: Path) -> list[str]:
    rooms = r"`((?:examples|tests|ctrie|subtrie|snapshot|stress|docs|tools)/[\w/]+\.(?:py|pyx|h|pxd|toml))`"
    made = re.sub(r"<!-- begin of.*?<!-- end -->", "", text, flags=re.DOTALL)  # what was there when it was made
    return [file for file in re.findall(rooms, made) if not (ROOT / file).exists()]


def uneven_tables(text: str, _: Path) -> list[str]:
    """Rows with more or fewer cells than the head. A bar begins a new cell, even inside code."""
    tables = [each.splitlines() for each in re.findall(r"(?:^\|.*\n)+", FENCED.sub("", text), re.MULTILINE)]
    return [row for rows in tables for row in rows if len(re.findall(r"(?<!\\)\|", row)) != rows[0].count("|")]


TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
OURS = ("benchmarks", "docs", "examples", "stress", "subtrie", "tests", "tools")


def missing_programs(text: str, _: Path) -> list[str]:
    """Targets of make, benchmarks, and modules that are run."""
    code = "\n".join(
        re.findall(r"`([^`\n]+)`", text) + [block for kind, block in FENCED.findall(text) if kind != "text"]
    )
    made = set(re.findall(r"^(?:\$ )?make ([a-z-]+)", code, re.MULTILINE)) - TARGETS
    asked = {
        name for names in re.findall(r"python -m benchmarks((?: [a-z][a-z0-9-]*)+)", code) for name in names.split()
    }
    modules = {each for each in re.findall(r"python -m ([a-z_.]+)", code) if each.split(".")[0] in OURS}
    return [
        *made,
        *(asked - all_benchmarks().keys()),
        *(each for each in modules if not importlib.util.find_spec(each)),
    ]


def breaks_at_the_prompt(text: str, page: Path) -> list[str]:
    """Blocks with an empty line in a class. Up to Python 3.12 that ends it, if the block is pasted."""
    pasted = [
        each.text for each in snippets(text) if each.kind == "pycon" or (each.runs and page.name == "tutorial.md")
    ]
    return [block for block in pasted if re.search(r"^\.\.\.\n\.\.\. |^\n+ ", block, re.MULTILINE)]


WRONG: dict[Callable[[str, Path], Any], str] = {
    too_wide: f"```sh\n{'x' * 89}\n```\n",
    too_long: "\n" * 301,
    other_than_the_example: "<!-- not run: Broker of examples/small_broker.py -->\n```python\n1\n```\n",
    dead_links: "[install](#install) [two](#two)",
    missing_files: "`tests/nowhere.py`",
    uneven_tables: "| a | b |\n| --- | --- |\n| 1 |\n",
    missing_programs: "`make nothing`",
    breaks_at_the_prompt: "```pycon\n>>> class A:\n...     a = 1\n...\n...     b = 2\n```\n",
}


@pytest.mark.once
@pytest.mark.parametrize("wrong", WRONG, ids=lambda each: each.__name__)
def test_nothing_is_wrong_with_a_page_that_would_be_seen(wrong: Callable[[str, Path], Any]) -> None:
    assert [(named(page), each) for page in (*PAGES, *TEXTS) for each in wrong(page.read_text("utf-8"), page)] == []
    assert len(list(wrong(WRONG[wrong], ROOT / "docs" / "install.md"))) == 1


@pytest.mark.once
def test_options_that_pages_use_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    used = re.compile(r"python -m (subtrie|stress|tests\.tries) (\w+)((?: [^\n`|>&#]*)?)")
    mains: dict[str, Callable[[list[str]], int]] = {
        "subtrie": subtrie.cli.main, "stress": stress.cli.main, "tests.tries": tries.main,
    }  # fmt: skip
    found = [each for page in (*PAGES, *TEXTS) for each in used.findall(page.read_text("utf-8"))]
    for module, command in {each[:2] for each in found}:
        with pytest.raises(SystemExit, match=r"^0$"):
            mains[module]([command, "--help"])
        known = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
        rest = " ".join(each[2] for each in found if each[:2] == (module, command))
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest)) <= known, f"{module} {command}"
    assert len(found) > 5


@pytest.mark.once
def test_every_example_is_on_a_page_and_short() -> None:
    manual = "".join(page.read_text("utf-8") for page in PAGES)
    examples = sorted((ROOT / "examples").glob("*.py"))
    assert [
        path.name for path in examples if path.name not in manual or path.read_text("utf-8").count("\n") >= 150
    ] == []
    assert len(examples) <= 10


@pytest.mark.once
def test_the_extras_of_the_page_on_installing_are_there() -> None:
    shown = set(re.findall(r"^\| `(\S+)` \|", (ROOT / "docs" / "install.md").read_text("utf-8"), re.MULTILINE))
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert shown == declared.keys() - {"test", "lint", "docs", "release", "s3-server"}  # for the work on the package


# --------------------------------------------------------------------------------------------------------------- messages


async def talk(send: Any, message: Any) -> None:
    hub: Hub[Any] = Hub(MQTT)
    async with hub.connect(send) as client:
        client.subscribe("a")
        await hub.publish("a", message)
        await asyncio.Event().wait()


def trie_of(dialect: Any = MQTT, **options: Any) -> SubscriptionTrie[Any]:
    return SubscriptionTrie(dialect, **options)


def follow_too_early() -> None:
    with tempfile.TemporaryDirectory() as folder, snapshot.Publisher(trie_of(), folder):
        snapshot.follow(folder)


class Fresh:
    def get(self) -> object:
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
    "TypeError: subscribe() takes ... positional arguments": lambda: trie_of().subscribe("a", "x", {"qos": 1}),  # type: ignore[call-arg]
    "ValueError: the option qos of MQTT is one of 0, 1, 2, not 3": lambda: trie_of().subscribe("a", "x", qos=3),
    "TypeError: cannot create weak reference to 'str' object": lambda: trie_of(weak=True).subscribe("a", "x"),
    "ValueError: weak and index exclude each other": lambda: trie_of(weak=True, index=True),
    "TypeError: this SubscriptionTrie is a read-only snapshot": lambda: trie_of().snapshot().clear(),
    "TypeError: on_interest must be a function that is called": lambda: trie_of(on_interest=talk),
    "TypeError: send is awaited for each message": lambda: asyncio.run(talk(follow_too_early, b"x")),
    "TypeError: object NoneType can't be used in 'await' expression": lambda: asyncio.run(talk([].append, b"x")),
    "TypeError: how many bytes has a dict?": lambda: asyncio.run(talk(asyncio.sleep, {})),
    "FileNotFoundError: ... is not a published directory": lambda: snapshot.restore(ROOT / "docs"),
    "NotPublishedError: ... nothing has been published yet": follow_too_early,
    "SpecError: ... answers ... the first time and ... the second": lambda: stress.explore(
        Fresh, None, [[("get",)], [("get",)]]
    ),
}
OF_AN_INSTALLATION = {  # test_wheel.py and test_packaging.py have these
    "ImportError: this is the source of ctrie",
    "ModuleNotFoundError: ... pip install 'subtrie[spark]'",
    "subtrie: the compiled modules could not be built",
}


@pytest.mark.once
@pytest.mark.parametrize("message", RAISED)
def test_the_page_on_trouble_has_messages_that_are_raised(message: str) -> None:
    kind, _, text = message.partition(": ")
    with pytest.raises(Exception, match=".*".join(map(re.escape, text.split("... ")))) as caught:
        RAISED[message]()
    assert type(caught.value).__name__ == kind


@pytest.mark.once
def test_every_message_of_the_page_on_trouble_is_tried() -> None:
    first_cells = re.findall(r"^\| (.+?) \| ", (ROOT / "docs" / "operating.md").read_text("utf-8"), re.MULTILINE)
    shown = {each for cell in first_cells for each in re.findall(r"`(\w+: .+?)`", cell)}
    assert shown == RAISED.keys() | OF_AN_INSTALLATION
