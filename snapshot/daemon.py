"""Spark's daemon of Python workers, with a published set: one set for all workers of a machine.

Spark's daemon forks the workers. This one reads the newest version of a directory before, so they share its memory
(docs/spark.md has figures). Of a later version, each worker keeps what has changed.

Two settings of a session choose it: ``spark.python.daemon.module`` is ``snapshot.daemon``, and
``spark.executorEnv.SUBTRIE_SET`` is the directory, a path or a URI that all executors can read.
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
        FileNotFoundError: nothing was ever published there.
    """
    directory = open_directory(os.environ["SUBTRIE_SET"])
    sent = PublishedVersion(directory.store.uri, directory.version_at().marked())
    held_set(sent, sent.made)
    gc.freeze()  # or a collection would write to all pages
    manager()


if __name__ == "__main__":
    main()
