"""Configuration of the manual, for Sphinx."""

import os

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
# A line of code holds 104 characters beside the two columns of links.
html_theme_options = {
    "light_css_variables": {"code-font-size": "0.75em"},
}
html_title = "subtrie"

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
myst_heading_anchors = 3
