"""Publishers that take a directory over from each other and are killed. What each of them acknowledged is noted.

`python -m tests.snapshot.killed` starts one for each line of standard input, while others may still run. It is forked,
since imports would take longer than the test, and before anything asks an object store. Its process number is printed.
The set at each step is known, so the tests can tell which step was published.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import snapshot
from subtrie import SubscriptionTrie
from tests.snapshot.world import LEFT

SLOTS = 40
COUNTER = "the.step"


def content(step: int) -> dict[tuple[str, str], dict[str, Any]]:
    """The subscriptions after a step: each step adds one, removes one, and changes the options of one."""
    held: dict[tuple[str, str], dict[str, Any]] = {}
    for number in range(step + 1):
        for filter, subscriber, options in changes_of(number):
            held.pop((filter, subscriber), None)
            if options is not None:
                held[filter, subscriber] = options
    return held


def changes_of(step: int) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """The changes of a step: filter, subscriber, and options; None for a removal."""
    yield COUNTER, "counter", {"step": step}
    yield f"a.{step % SLOTS}.*", f"s{step % 7}", {"step": step}
    yield f"a.{(step * 3) % SLOTS}.*", f"s{(step + 2) % 7}", None


def step_of(trie: SubscriptionTrie) -> int:
    """The step that a trie has reached; -1 if it has reached none."""
    return next((held.options["step"] for held in trie.subscriptions(filter=COUNTER)), -1)


def publish_on(where: str, notes: str, *, storage: dict[str, Any] | None = None, **options: Any) -> NoReturn:
    """Take over, continue from there, publish each step, and note each acknowledged version in a file. What an object
    store refuses is tried again."""
    options["keep"] = LEFT if options["keep"] == "some" else options["keep"]
    attempts = (lambda call: call()) if storage is None else persistently
    trie, publisher = attempts(lambda: snapshot.take_over(where, storage=storage, **options))
    noted = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    step = step_of(trie)
    while True:
        step += 1
        for filter, subscriber, new in changes_of(step):
            if new is None:
                trie.unsubscribe(filter, subscriber)
            else:
                trie.subscribe(filter, subscriber, **new)
        os.write(noted, f"{attempts(publisher.publish)} {step}\n".encode())


def persistently(call: Callable[[], Any]) -> Any:
    """Call again and again while requests fail."""
    while True:
        with contextlib.suppress(OSError):
            return call()


def main() -> None:
    """Start a publisher for each line."""
    for module in ("pyarrow.compute", "pyarrow.parquet", "pandas"):  # pyarrow imports pandas at its first use
        importlib.import_module(module)
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
    main()
