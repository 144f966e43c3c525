"""The command line of the tries: what `python -m stress` does for users' objects, for structures known by name; and
mutants.
"""

from collections.abc import Sequence
from typing import Final

from stress.cli import main as _main

_COMMANDS: Final = {
    "run": "record the structures of this distribution under stress, and judge what their threads saw",
    "explore": "try every interleaving of small scenarios of the tries",
    "replay": "execute the schedule of a token again",
    "mutants": "let seeded faults show that the tests would catch them",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; returns the exit status."""
    return _main(argv, "tests.tries", {name: (does, f"{__name__}.{name}") for name, does in _COMMANDS.items()})
