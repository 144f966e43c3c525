"""The standard output of a command, and what happens if it cannot be written.

Every line of a verdict is written together with the exit status that it stands for. If a line cannot be written,
because the reader has gone or the disk is full, the command ends. Its exit status is then 1 if a fault was found
before, else 2: a verdict that did not reach anybody does not count.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path


class Undelivered(Exception):
    """The output cannot be written. `status` is the exit status that follows; `why` is empty if the reader has gone,
    since the reader knows.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


_wrong = False


def found_wrong(is_wrong: bool = True) -> None:
    """Something is wrong, which is said later. The exit status is 1, whatever happens until then."""
    global _wrong
    _wrong = _wrong or is_wrong


def say(text: str, status: int = 0) -> None:
    """Print `text`, whose meaning is that of the exit status `status`.

    Raises:
        Undelivered: it cannot be written.
    """
    found_wrong(status == 1)
    _delivered(lambda: print(text, flush=True))


def flush() -> None:
    """Write out all buffered output.

    Raises:
        Undelivered: that fails.
    """
    _delivered(lambda: sys.stdout.flush())


def aside(text: object) -> None:
    """Print a remark on standard error. If that cannot be written, nothing is lost, and the exit status is the same."""
    if sys.stderr is None:  # it was closed before the start
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        with open(os.devnull, "w") as nowhere:  # what is left in the buffer must not fail once more in the end
            os.dup2(nowhere.fileno(), 2)


def begin() -> None:
    """A command begins."""
    global _wrong
    _wrong = False


def _delivered(deliver: Callable[[], object]) -> None:
    if sys.stdout is None:
        raise Undelivered(status_now(), "the output could not be written: it is closed")
    try:
        deliver()
    except BrokenPipeError:
        raise Undelivered(status_now(), "") from None
    except OSError as error:
        raise Undelivered(status_now(), f"the output could not be written: {error.strerror or error}") from None


def status_now(otherwise: int = 2) -> int:
    """The exit status if the command ends here: 1 if a fault was found before."""
    return 1 if _wrong else otherwise


def be_quiet() -> None:
    """Discard all output that is left, so that the interpreter does not fail on it when it ends."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)


def written(write: Callable[[str], object], path: str) -> bool:
    """Write an additional file. A failure is reported on standard error, and does not affect the findings."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write(path)
    except OSError as error:
        aside(f"{path} could not be written: {error.strerror or error}")
        return False
    return True
