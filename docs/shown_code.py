"""Code of the examples in pages, as real blocks, so that every reader of Markdown sees it: `python -m docs.shown_code`.

A block after `<!-- not run: NAME of examples/FILE.py -->` is the class or function NAME of that file. This program puts
it there; `tests/whole/test_docs.py` compares. (Plain Markdown shows nothing of
Sphinx's includes.)
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PAGES = ROOT / "docs"
BLOCK = re.compile(
    r"(?P<mark><!-- not run: (?P<name>[\w.]+) of (?P<file>examples/\w+\.py) -->\n)```python\n.*?^```$",
    re.DOTALL | re.MULTILINE,
)


def code_of(name: str, file: str) -> str:
    """Return the source of a class, function or method of an example, with its decorators."""
    text = (ROOT / file).read_text(encoding="utf-8")
    node: ast.AST = ast.parse(text)
    for part in name.split("."):
        found = [
            each
            for each in ast.iter_child_nodes(node)
            if isinstance(each, NAMED) and each.name == part
        ]
        if not found:
            raise LookupError(f"{file} has no class and no function {name}")
        node = found[0]
    assert isinstance(node, NAMED)
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return textwrap.dedent("\n".join(text.splitlines()[first - 1 : node.end_lineno]))


def page_with_code(text: str) -> str:
    """Return a page's text with each such block as the example has it now."""
    return BLOCK.sub(
        lambda found: (
            f"{found['mark']}```python\n{code_of(found['name'], found['file'])}\n```"
        ),
        text,
    )


def main() -> None:
    """Bring all pages up to date."""
    for page in PAGES.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        if (new := page_with_code(text)) != text:
            page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
