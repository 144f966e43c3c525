"""`python -m tests.tries run map ...`: campaigns on the structures of this distribution."""

from __future__ import annotations

import argparse

from stress.cli import run
from tests.tries.targets import TARGETS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `run`."""
    run.add_arguments(parser, TARGETS)


def main(arguments: argparse.Namespace) -> int:
    """Run the targets one after another until one is found wrong."""
    return run.main(arguments, TARGETS)
