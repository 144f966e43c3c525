"""Runs the snippets of a page in order, as one program: `python tests/snippets.py docs/tutorial.md ...`.

It needs only the standard library, so it runs where only the package is installed, without pytest. `--plain` leaves out
snippets that need an extra: Spark, Arrow, `stress`.

    ```python    is executed
    ```pycon     is a session: it is executed, and its output compared

A block that comes right after `<!-- not run: why -->` is skipped. Other fenced blocks are not snippets.
"""

from __future__ import annotations

import doctest
import linecache
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FENCE = re.compile(
    r"(?P<left><!-- not run: [^>]+ -->\n+)?^```(?P<kind>[a-z]+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
EXTRAS = re.compile(r"\b(pyspark|spark|(snapshot|stress)\.\w+\(|import (snapshot|stress)\b)", re.IGNORECASE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Snippet(NamedTuple):
    """A block of code in a page."""

    kind: str
    text: str
    line: int
    """The line where its code begins, counted from 0."""
    runs: bool


def snippets(page: str) -> Iterator[Snippet]:
    """Yield the blocks of Python of a page."""
    for found in FENCE.finditer(page):
        if found["kind"] in ("python", "pycon"):
            line = page.count("\n", 0, found.start("text"))
            yield Snippet(found["kind"], found["text"], line, found["left"] is None)


def run_page(path: Path, names: dict[str, Any] | None = None, plain: bool = False) -> int:
    """Run the blocks of a page, with `names` defined; return how many ran. If `plain`, omit those that need an extra.

    Raises:
        AssertionError: a session does not show what the page says.
    """
    names = {"__name__": path.stem, **(names or {})}
    said: list[str] = []
    ran = 0
    for snippet in snippets(path.read_text(encoding="utf-8")):
        if not snippet.runs or (plain and EXTRAS.search(snippet.text)):
            continue
        ran += 1
        if snippet.kind == "python":
            # The code keeps the line numbers of the page, and `inspect` finds its source.
            source = "\n" * snippet.line + snippet.text
            name = f"<{path.name}, line {snippet.line + 1}>"
            linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
            exec(compile(source, name, "exec"), names)
            continue
        parsed = doctest.DocTestParser().get_doctest(snippet.text, names, path.name, str(path), snippet.line)
        # A session copies its names; later blocks need what it defines.
        parsed.globs = names
        doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(parsed, out=said.append, clear_globs=False)
    assert not said, "\n".join(said)
    return ran


if __name__ == "__main__":
    sys.path[:] = [
        folder for folder in sys.path if Path(folder) != Path(__file__).parent
    ]  # it has folders named as packages
    plainly = "--plain" in sys.argv[1:]
    for page in sys.argv[1:]:
        if page != "--plain":
            print(run_page(Path(page), plain=plainly), page)
