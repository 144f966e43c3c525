"""Publishers that take a directory over from each other and are killed. What each of them acknowledged is noted.

`python -m tests.snapshot.contending_publishers` starts one for each line of standard input, while others may still run. It
is forked, since imports would take longer than the test, and before anything asks an object store. Its process number is
printed.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import snapshot
from tests.snapshot.crashing_publisher import import_arrow, publish_on


def main() -> None:
    """Start a publisher for each line."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps those that ended
    for line in sys.stdin:
        where, notes, options = json.loads(line)
        process = os.fork()
        if process == 0:
            try:
                publish_on(where, f"{notes}.{os.getpid()}", **options)
            except snapshot.FencedError:
                os._exit(0)
            except BaseException as error:  # noqa: BLE001 (the test reads it)
                with open(f"{notes}.failed", "a") as failed:
                    failed.write(f"{error!r}\n")
                os._exit(1)
        print(process, flush=True)


if __name__ == "__main__":
    import_arrow()
    main()
