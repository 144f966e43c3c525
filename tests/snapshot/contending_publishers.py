"""Publishers that take a directory over from each other and are killed. What each of them acknowledged is noted.

`python -m tests.snapshot.contending_publishers` starts one for each line of standard input, while others may still run. It
is forked, since imports would take longer than the test. Its process number is printed.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys

import snapshot
from tests.snapshot.crashing_publisher import changes_of, step_of


def publish_until_fenced(where: str, notes: str) -> None:
    """Take over, publish one step after another, and note each acknowledged version in a file of this process."""
    trie, publisher = snapshot.take_over(where)
    noted = os.open(f"{notes}.{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    step = step_of(trie)
    while True:
        step += 1
        for filter, subscriber, options in changes_of(step):
            if options is None:
                trie.unsubscribe(filter, subscriber)
            else:
                trie.subscribe(filter, subscriber, **options)
        os.write(noted, f"{publisher.publish()} {step}\n".encode())


def main() -> None:
    """Start a publisher for each line."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps those that ended
    for line in sys.stdin:
        where, notes = json.loads(line)
        process = os.fork()
        if process == 0:
            try:
                publish_until_fenced(where, notes)
            except snapshot.FencedError:
                os._exit(0)
            except BaseException as error:  # noqa: BLE001 (the test reads it)
                with open(f"{notes}.failed", "a") as failed:
                    failed.write(f"{error!r}\n")
                os._exit(1)
        print(process, flush=True)


if __name__ == "__main__":
    for module in ("pyarrow.compute", "pyarrow.parquet", "pandas"):  # pyarrow imports pandas at its first use
        importlib.import_module(module)
    main()
