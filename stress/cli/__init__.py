"""The command line: `python -m stress run | explore | check | replay`.

Each command has a module, which is imported when the command is used. The module has `add_arguments(parser)` and
`main(arguments) -> int`, which returns the exit status:

* 0: all was judged, and right;
* 1: something is wrong;
* 2: nothing can be said: the run was not finished, interrupted, empty, without overlap or not decided, or the command
  was not understood, could not read its input, or could not write its output;
* 3: the command broke off: the work, the specification or the command itself failed by an exception. Nothing can be
  said either, but unlike 2, more time would not help.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final

from stress.cli import output
from stress.history import HistoryError
from stress.processes import WorkFailed
from stress.recorder.fresh import Refused
from stress.spec import SpecError

COMMANDS: Final = {
    "run": "record a structure under stress, and judge what its threads saw",
    "explore": "try every interleaving of small scenarios",
    "check": "judge recorded histories",
    "replay": "show again what is wrong with a recorded history",
}
"""What each command does; its module is here, and has its name."""
BROKEN_OFF: Final = 3
"""The exit status of a command that an exception ended."""


Commands = Mapping[str, tuple[str, str]]
"""The commands, by name: what each does, and its module."""


def main(argv: Sequence[str] | None = None, program: str = "stress", commands: Commands | None = None) -> int:
    """Run the command that the arguments name; returns the exit status. `program` and its `commands` may be others."""
    if commands is None:
        commands = {name: (does, f"{__name__}.{name}") for name, does in COMMANDS.items()}
    output.begin()
    try:
        status = _run(sys.argv[1:] if argv is None else list(argv), program, commands)
        output.flush()
    except output.Undelivered as undelivered:
        output.be_quiet()
        if undelivered.why:
            output.aside(undelivered.why)
        return undelivered.status
    except KeyboardInterrupt:
        output.aside("interrupted")
        return output.status_now()
    except (HistoryError, OSError) as error:
        output.aside(error)
        return output.status_now()
    except (WorkFailed, SpecError, Refused) as error:
        output.aside(error)
        return output.status_now(BROKEN_OFF)
    except Exception:  # noqa: BLE001 - status 1 would mean that the object is wrong
        output.aside(f"{traceback.format_exc()}The command failed. This says nothing about the object.")
        return BROKEN_OFF
    return status


def _run(argv: list[str], program: str, commands: Commands) -> int:
    parser = argparse.ArgumentParser(
        prog=f"python -m {program}", description="Linearizability testing for concurrent Python objects."
    )
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = next((word for word in argv if not word.startswith("-")), None)
    for name, (does, module) in commands.items():
        subparser = parsers.add_parser(name, help=does, description=f"{does.capitalize()}.")
        if name == chosen:
            import_module(module).add_arguments(subparser)
    arguments = parser.parse_args(argv)
    try:
        status: int = import_module(commands[arguments.command][1]).main(arguments)
    except SystemExit as told:  # its status would be taken for a verdict
        output.aside(f"sys.exit({told.code!r}) was called before the end. This says nothing about the object.")
        return output.status_now(BROKEN_OFF)
    return status
