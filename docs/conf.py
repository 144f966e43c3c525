"""Configuration of the manual, for Sphinx."""

import os

# Docstrings are read from the interpreted twin, which knows the signatures.
os.environ["CTRIE_TWIN"] = "interpreted"

project = "ctrie"
author = "The ctrie authors"
copyright = f"2026, {author}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.intersphinx", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "ctrie"

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
myst_heading_anchors = 3
