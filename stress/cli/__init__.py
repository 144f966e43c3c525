"""The command line: `python -m stress run | explore | check | replay | mutants`.

Each command has a module here, which is imported when the command is used, with `add_arguments(parser)` and
`main(arguments) -> int`. That returns the exit status: 0 all is well, 1 something is wrong, 2 something could not be
decided, or the command was not understood. The status is that of a program that SIGPIPE ended if whoever read the
output has gone before its end.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

__all__ = ["COMMANDS", "main"]

COMMANDS: Final = {
    "run": "record a structure under stress, and judge what its threads saw",
    "explore": "try every interleaving of small scenarios",
    "check": "judge recorded histories",
    "replay": "show again what is wrong with a recorded history",
    "mutants": "let seeded faults show that the tests would catch them",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; returns the exit status."""
    try:
        try:
            return _run(sys.argv[1:] if argv is None else list(argv))
        finally:
            sys.stdout.flush()  # so that a reader who has gone shows here, and not when the interpreter ends
    except BrokenPipeError:
        if not _reader_has_gone():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left would be written on exit
        return 128 + signal.SIGPIPE


def _reader_has_gone() -> bool:
    """Whether nobody reads standard output; other pipes may break as well."""
    output = select.poll()
    output.register(sys.stdout, 0)
    return bool(output.poll(0))


def _run(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m stress", description="Linearizability testing for concurrent Python objects."
    )
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = next((word for word in argv if not word.startswith("-")), None)
    for name, told in COMMANDS.items():
        subparser = parsers.add_parser(name, help=told, description=f"{told.capitalize()}.")
        if name == chosen:
            import_module(f"stress.cli.{name}").add_arguments(subparser)
    arguments = parser.parse_args(argv)
    status: int = import_module(f"stress.cli.{arguments.command}").main(arguments)
    return status
