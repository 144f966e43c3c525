"""Configuration of the manual, for Sphinx."""

import os
from pathlib import Path
from typing import Any

# Docstrings are read from the interpreted twin, which knows the signatures.
os.environ["CTRIE_TWIN"] = "interpreted"

project = "subtrie"
author = "The subtrie authors"
copyright = f"2026, {author}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",  # docstrings of `stress` have sections
    "sphinx.ext.viewcode",
]
napoleon_numpy_docstring = False
exclude_patterns = ["_build"]
html_theme = "furo"
# A line of code holds 92 characters beside the two columns of links; `tests/whole/test_docs.py` allows 88.
html_theme_options = {
    "light_css_variables": {"code-font-size": "0.8em"},
}
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_title = "subtrie"

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
myst_heading_anchors = 3


def without_last_blank_lines(_: Any, page: Any) -> None:
    """A session in Markdown ends in an empty line, as doctest wants it; a reader needs none."""
    for block in page.findall(lambda node: node.tagname == "literal_block"):
        text = block.astext().rstrip()
        block[:] = [type(block[0])(text)]
        block.rawsource = text


def without_numbers_of_fields(*event: Any) -> bool | None:
    """The fields of a named tuple that have no docstring of their own are in its signature already."""
    text = getattr(event[3], "__doc__", None) or ""
    return True if text.startswith("Alias for field number") else None


def without_types(*event: Any) -> None:
    """`sphinx.ext.napoleon` takes what is before a colon in an attribute's first line for its type."""
    if event[1] in ("attribute", "data", "property"):
        event[5][:0] = ["..", ""]  # an empty comment


def without_signature(*event: Any) -> None:
    """The compiled classes have their signatures in their docstrings' first lines, as those of CPython do."""
    if event[5][1:2] == ["--"]:
        del event[5][:2]


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", without_signature, priority=400)
    app.connect("autodoc-process-docstring", without_types, priority=400)
    app.connect("doctree-read", without_last_blank_lines)
    app.connect("autodoc-skip-member", without_numbers_of_fields)
