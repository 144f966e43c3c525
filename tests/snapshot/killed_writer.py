"""A process that writes a set, and is killed at a point that the test names.

`python -m tests.snapshot.killed_writer PATH POINT`, where POINT is batch-2 (before the second batch is written), flush (before
the bytes are made durable), move (before the file gets its name), or moved (after it has its name).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq

import snapshot
from snapshot import columns, paths
from subtrie import SubscriptionTrie

ROWS = 150
"""More than one batch; a batch has a hundred rows here."""


def main(path: str, point: str) -> None:
    writer: Any = pq.ParquetWriter
    reached = 0

    def batch(original: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal reached
        reached += 1
        if point == f"batch-{reached}":
            die()
        return original(*arguments)

    def before(name: str, original: Callable[..., Any], *arguments: Any) -> Any:
        if point == name:
            die()
        return original(*arguments)

    write_batch, flush, location_of = writer.write_batch, os.fsync, paths.location_of
    writer.write_batch = lambda *arguments: batch(write_batch, *arguments)
    os.fsync = lambda *arguments: before("flush", flush, *arguments)

    class Files:
        """The file system, with a `move` that can kill this process."""

        def __init__(self, files: Any) -> None:
            self.files = files

        def __getattr__(self, name: str) -> Any:
            return getattr(self.files, name)

        def move(self, old: str, new: str) -> None:
            before("move", self.files.move, old, new)
            before("moved", lambda: None)

    import snapshot.parquet as module

    changed: Any = module
    if point.startswith("move"):
        changed.location_of = lambda path: location_of(path)._replace(files=Files(location_of(path).files))
    columns.BATCH_ROWS = 100
    trie = SubscriptionTrie()
    trie.subscribe_many((f"new.{number}", number) for number in range(ROWS))
    snapshot.write(trie, path)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
