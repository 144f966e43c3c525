"""The subcommands of `python -m stress`, and the modules that hold them.

A module is imported when its command is used, and a command whose module does not exist is not offered. Such
a module has `add_arguments(parser)` and `main(arguments) -> int`, which returns the exit status: 0 all is
well, 1 something is wrong, 2 something could not be decided, or the command was not understood. The status is
that of a program that SIGPIPE ended if whoever read the output has gone before its end.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final

__all__ = ["COMMANDS", "Command", "available", "main", "module_of"]


@dataclass(frozen=True)
class Command:
    """A subcommand: the module that does it, and what the list of commands says."""

    module: str
    help: str


COMMANDS: Final = {
    "run": Command("stress.run_command", "record a structure under stress, and judge what its threads saw"),
    "explore": Command("stress.explore_command", "try every interleaving of small scenarios"),
    "check": Command("stress.check_command", "judge recorded histories"),
    "replay": Command("stress.replay_command", "show again what is wrong with a recorded history"),
    "mutants": Command("stress.mutants_command", "let seeded faults show that the tests would catch them"),
}


def available() -> dict[str, Command]:
    """The commands whose modules exist."""
    return {name: command for name, command in COMMANDS.items() if find_spec(command.module) is not None}


def module_of(name: str) -> ModuleType | None:
    """The module of a command, imported; None if it does not exist."""
    return import_module(COMMANDS[name].module) if name in available() else None


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
    for name, command in available().items():
        subparser = parsers.add_parser(name, help=command.help, description=f"{command.help.capitalize()}.")
        if name == chosen:
            import_module(command.module).add_arguments(subparser)
    arguments = parser.parse_args(argv)
    status: int = import_module(COMMANDS[arguments.command].module).main(arguments)
    return status
