"""Spark's daemon of Python workers, with a published set: one set for all workers of a machine.

Spark's daemon forks the workers. This one reads the newest version of a directory before, so they share its memory
(docs/spark.md has figures). Of a later version, each worker keeps what has changed.

Two settings of a session choose it: ``spark.python.daemon.module`` is ``snapshot.daemon``, and
``spark.executorEnv.SUBTRIE_SET`` is the directory, a path that all executors can read. It is in no object store, whose
client the workers could not use, since they are forks of a process that has used it.
"""

from __future__ import annotations

import gc
import os

from pyspark.daemon import manager

from snapshot.held_sets import held_set
from snapshot.published import open_directory
from snapshot.sets import PublishedVersion


def main() -> None:
    """Read the set, and be the daemon.

    Raises:
        KeyError: the setting of the directory is missing.
        ValueError: the directory is in an object store.
        FileNotFoundError: nothing was ever published there.
    """
    directory = open_directory(os.environ["SUBTRIE_SET"])
    if not directory.store.is_local:
        raise ValueError(f"SUBTRIE_SET must be a path, since forks cannot use a client of {directory.store.place}")
    sent = PublishedVersion(directory.store.uri, directory.version_at().marked())
    held_set(sent, sent.made)
    gc.freeze()  # or a collection would write to all pages
    manager()


if __name__ == "__main__":
    main()
