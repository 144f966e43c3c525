"""`python -m stress`. However often, and whenever, Ctrl-C is pressed, the exit status is that of a command."""

import atexit
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

_pressed = _over = False


def _ctrl_c(number: int, frame: Any) -> None:
    global _pressed
    _pressed = True
    if not _over:
        signal.default_int_handler(number, frame)


def run(module: str) -> None:
    """Import the module of a command line, call its `main`, and end the process with its status."""
    global _over
    status = 2
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _ctrl_c)
        from stress.cli import output

        try:
            status = import_module(module).main()
        except KeyboardInterrupt:  # once more, while the first one was dealt with
            status = output.status_now()
        _over = True  # from here on, nothing changes the verdict
    except KeyboardInterrupt:
        _over = True
        with suppress(OSError, AttributeError):  # it is None if it was closed before the start
            sys.stderr.write("interrupted\n")
    if _pressed:  # the interpreter would end by the signal if it came within an `exec`, whatever happened since
        atexit._run_exitfuncs()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    run(f"{__package__}.cli")  # under the name that was asked for: subtrie.stress, too
