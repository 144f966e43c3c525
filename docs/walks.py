"""What a call passes on its way: counted by running it, so that the map of the code is true.

    PYTHONHASHSEED=0 CTRIE_TWIN=interpreted python -m docs.walks

Each call runs once on the interpreted twin under a profiler that notes every function of this package which is entered,
but for those of one statement: most of these are views of borrowed nodes, which are nothing in the compiled twin.
The table goes into `docs/design.md`, between two marks; `tests/whole/test_figures.py` runs this and compares.
"""

from __future__ import annotations

import ast
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "design.md"
BEGIN, END = "<!-- walks -->", "<!-- end of walks -->"
ROOMS = tuple(str(ROOT / room) + "/" for room in ("ctrie", "subtrie", "snapshot"))


def passed(call: Callable[[], object]) -> tuple[list[str], list[str]]:
    """Return the functions of the package that a call enters, and their files, in the order of the way."""
    entered: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if (
            event == "call"
            and code.co_filename.startswith(ROOMS)
            and not code.co_name.startswith("<")
            and code.co_firstlineno not in _of_one_statement(code.co_filename)
        ):
            entered.setdefault(code)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    functions = [code.co_qualname for code in entered]
    files = list(
        dict.fromkeys(str(Path(code.co_filename).relative_to(ROOT)) for code in entered)
    )
    return functions, files


@cache
def _of_one_statement(file: str) -> frozenset[int]:
    """Return the first lines of the functions that have one statement beside a docstring."""
    found = set()
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if len(body) < 2 and not isinstance(
                body[0] if body else None, (ast.If, ast.For, ast.While, ast.Try)
            ):
                found.add(
                    min([node.lineno, *(each.lineno for each in node.decorator_list)])
                )
    return frozenset(found)


def walks() -> list[tuple[str, list[str], list[str]]]:
    """Run each call; return its name, functions and files."""
    from ctrie import Ctrie
    from snapshot import Publisher
    from subtrie import MQTT, SubscriptionTrie
    from subtrie.fields import Equals, FieldMatcher

    m = Ctrie({n: n for n in range(1_000)})
    trie: SubscriptionTrie[str] = SubscriptionTrie(MQTT)
    for n in range(100):
        trie.subscribe(f"a/{n}/+", f"client {n}", qos=1)
    fields: FieldMatcher = FieldMatcher()
    fields.subscribe([Equals("a", 1)], "ann")
    found = []
    with tempfile.TemporaryDirectory() as folder, Publisher(trie, folder) as publisher:
        publisher.publish()
        calls: list[tuple[str, Callable[[], object]]] = [
            ("`m[k]`", lambda: m[7]),
            ("`m[k] = v`", lambda: m.__setitem__(7, 8)),
            ("`subscribe`, a new filter", lambda: trie.subscribe("b/1/+", "bob")),
            ("`unsubscribe`", lambda: trie.unsubscribe("b/1/+", "bob")),
            ("`match`", lambda: trie.match("a/7/x")),
            ("`has_match`", lambda: trie.has_match("a/7/x")),
            ("`deliveries`", lambda: trie.deliveries("a/7/x")),
            ("`list(match_iter)`", lambda: list(trie.match_iter("a/7/x"))),
            ("`FieldMatcher.match_all`", lambda: fields.match_all({"a": 1})),
            ("`Publisher.publish`, one change", publisher.publish),
        ]
        for name, call in calls:
            if name.startswith("`Publisher"):
                trie.subscribe("c/1", "cat")
            call()  # what happens only the first time is not on the way
            if name.startswith(("`subscribe", "`unsubscribe")):
                trie.subscribe("b/1/+", "bob") if "un" in name else trie.unsubscribe(
                    "b/1/+", "bob"
                )
            if name.startswith("`Publisher"):
                trie.subscribe("c/2", "cat")
            found.append((name, *passed(call)))
    return found


def table() -> str:
    """Return the table of all walks."""
    lines = [
        "| call | functions | files, in the order of the way |",
        "| --- | ---: | --- |",
    ]
    for name, functions, files in walks():
        shown = ", ".join(f"`{file}`" for file in files[:6]) + (
            ", ..." if len(files) > 6 else ""
        )
        lines.append(f"| {name} | {len(functions)} | {len(files)}: {shown} |")
    return "\n".join(lines)


def page_with(shown: str, text: str) -> str:
    """Return the page's text with the table in its place."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{shown}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Put the table into the page; with a name, show that walk function by function."""
    import ctrie

    if ctrie.twin != "interpreted":
        sys.exit(
            "walks are counted on the interpreted twin: PYTHONHASHSEED=0 CTRIE_TWIN=interpreted python -m docs.walks"
        )
    if len(sys.argv) > 1:
        for name, functions, files in walks():
            if sys.argv[1] in name:
                print(name, len(functions), "functions,", len(files), "files")
                print("\n".join(functions))
        return
    PAGE.write_text(page_with(table(), PAGE.read_text()))


if __name__ == "__main__":
    main()
