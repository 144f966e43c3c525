"""What several tests of subscription sets as data need: small tries, what a trie holds, streams, forked publishers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtrie import AMQP, Dialect, SubscriptionTrie

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROOT = Path(__file__).parents[2]
SHORT_LIVED = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Java options for a session of seconds: half the processor time, since Java compiles quickly instead of well."""


def trie_of(*subscriptions: tuple[Any, ...], dialect: Dialect = AMQP, **options: object) -> SubscriptionTrie:
    """Return a trie of filters and subscribers, each with the options given with it, or with ``options``."""
    trie = SubscriptionTrie(dialect)
    for filter, subscriber, *own in subscriptions:
        trie.subscribe(filter, subscriber, **(own[0] if own else options))
    trie.check()
    return trie


def held_by(trie: SubscriptionTrie) -> dict[tuple[str, Any], dict[str, Any]]:
    """Return the options of each subscription."""
    return {(held.filter, held.subscriber): dict(held.options) for held in trie.subscriptions()}


def run_stream(frame: DataFrame, folder: Path, attempts: int = 3) -> int:
    """Run a stream into the folder ``out`` until all that is there is done; return the number of batches.

    Spark gives a Python process ten seconds to start, which was not enough beside eight others. No batch has begun then,
    so the stream is started again.
    """
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except Exception as error:
        if attempts == 1 or "Python worker failed to connect back" not in str(error):
            raise
        return run_stream(frame, folder, attempts - 1)
    return len([progress for progress in query.recentProgress if progress["numInputRows"]])


@contextmanager
def running(module: str) -> Iterator[subprocess.Popen[str]]:
    """Run a module of tests that reads lines from its standard input until there are no more."""
    command = [sys.executable, "-m", f"tests.snapshot.{module}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as program:
        yield program
        assert program.stdin is not None
        program.stdin.close()
