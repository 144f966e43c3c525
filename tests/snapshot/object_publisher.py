"""A publisher that is killed, of a directory in an object store that fails. The set at each step is known."""

from __future__ import annotations

import datetime
import json
import os
import sys
from typing import NoReturn

import snapshot
from tests.snapshot.crashing_publisher import changes_of, import_arrow, step_of

STORAGE = {"retry_config": {"max_retries": 1, "retry_timeout": datetime.timedelta(seconds=5)}}


def publish_at(where: str, notes: str, keep: int | None) -> NoReturn:
    """Take over, continue from there, publish each step, and note each acknowledged version in a file."""
    while True:
        try:
            trie, publisher = snapshot.take_over(where, keep=keep, storage=STORAGE)
            break
        except snapshot.FencedError:
            os._exit(1)
        except OSError:
            continue
    noted = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    step = step_of(trie)
    while True:
        step += 1
        for filter, subscriber, new in changes_of(step):
            if new is None:
                trie.unsubscribe(filter, subscriber)
            else:
                trie.subscribe(filter, subscriber, **new)
        while True:
            try:
                version = publisher.publish()
                break
            except snapshot.FencedError:
                os._exit(1)
            except OSError:
                continue
        os.write(noted, f"{version} {step}\n".encode())


def main() -> None:
    """Start a publisher for each line of standard input. It is forked, before anything asked the store."""
    for line in sys.stdin:
        where, notes, keep = json.loads(line)
        process = os.fork()
        if process == 0:
            publish_at(where, notes, keep)
        print(process, flush=True)


if __name__ == "__main__":
    import_arrow()
    main()
