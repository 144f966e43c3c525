"""`python -m tests.tries replay TOKEN`: one schedule of a trie again."""

from __future__ import annotations

import argparse

from tests.tries.cli.explore import replay as main

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `replay`."""
    parser.add_argument("what", metavar="TOKEN", help="a token of `explore`")
    parser.add_argument("--report", metavar="FILE.html", help="write a page about it")
