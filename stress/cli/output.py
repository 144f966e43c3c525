"""What a command says on standard output, and what becomes of it if nobody takes it.

Every line of a verdict is said together with the exit status that it stands for. If it cannot be said, because whoever
read has gone or the disk is full, the command ends. Its exit status is 1 if something was found wrong by then, and else
2: a verdict that nobody got is none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

__all__ = ["Undelivered", "be_quiet", "flush", "say", "written"]


class Undelivered(Exception):
    """What was to be said cannot be said. `status` is the exit status that follows; `why` is empty if a
    reader has gone, who knows.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


_wrong = False


def say(text: str, status: int = 0) -> None:
    """Print `text`, which says that things are as the exit status has it.

    Raises:
        Undelivered: nobody gets it.
    """
    global _wrong
    _wrong = _wrong or status == 1
    _delivered(lambda: print(text, flush=True))


def flush() -> None:
    """See that all that was said is delivered.

    Raises:
        Undelivered: it is not.
    """
    _delivered(sys.stdout.flush)


def begin() -> None:
    """A command begins."""
    global _wrong
    _wrong = False


def _delivered(deliver: Callable[[], object]) -> None:
    try:
        deliver()
    except BrokenPipeError:
        raise Undelivered(_status(), "") from None
    except OSError as error:
        raise Undelivered(_status(), f"the output could not be written: {error.strerror or error}") from None


def _status() -> int:
    return 1 if _wrong else 2


def be_quiet() -> None:
    """Whatever is left to be written goes nowhere, so that the interpreter does not stumble over it when it ends."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def written(write: Callable[[str], object], path: str) -> bool:
    """Write a file besides. If that fails, it is said, and what was found is told all the same."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write(path)
    except OSError as error:
        print(f"{path} could not be written: {error.strerror or error}", file=sys.stderr)
        return False
    return True
