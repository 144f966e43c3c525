"""What several tests of subscription sets as data need: small tries, what a trie holds, streams, forked publishers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import snapshot
from subtrie import AMQP, MQTT, Dialect, SubscriptionTrie, TopicStore
from tests.snapshot.values import ODD

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


def published(
    where: str | os.PathLike[str], versions: int = 3, *, name: Callable[[int], Any] = "s{}".format, **options: Any
) -> tuple[SubscriptionTrie, snapshot.Publisher]:
    """Publish so many versions, each with one subscription more than the one before."""
    trie = SubscriptionTrie()
    publisher = snapshot.Publisher(trie, where, **options)
    for number in range(versions):
        trie.subscribe(f"a.{number}", name(number), level=number, note=f"n{number}")
        publisher.publish()
    return trie, publisher


def go_on(trie: SubscriptionTrie, publisher: snapshot.Publisher, versions: int, filter: str = "a") -> None:
    """Publish so many more versions."""
    for _ in range(versions):
        trie.subscribe(filter, f"s{publisher.version}")
        publisher.publish()


def manifest(where: Path, number: int) -> Path:
    return where / "_versions" / f"{number:020}.json"


def filled(dialect: Dialect = MQTT) -> TopicStore[Any]:
    """Return a topic store with values of many types, at times that are no whole numbers."""
    store: TopicStore[Any] = TopicStore(dialect)
    for number, value in enumerate([*ODD[:7], *ODD[8:], "null", b"utf8", {"a": [1, None, "x"]}]):
        store.put(dialect.separator.join(("a", str(number))), value, 1_700_000_000.1234567 + number)
    return store


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


def until(true: Callable[[], object], within: float = 60, says: Callable[[], object] = str) -> None:
    """Wait until something is true.

    Args:
        says: what the error says if it is not, within so many seconds.
    """
    deadline = time.monotonic() + within
    while not true():
        assert time.monotonic() < deadline, says()
        time.sleep(0.001)


@contextmanager
def running(module: str) -> Iterator[subprocess.Popen[str]]:
    """Run a module of tests that reads lines from its standard input until there are no more."""
    command = [sys.executable, "-m", f"tests.snapshot.{module}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as program:
        yield program
        assert program.stdin is not None
        program.stdin.close()


def go_back(
    where: Path, trie: SubscriptionTrie, publisher: snapshot.Publisher, newer: int, see: Callable[[], object]
) -> None:
    """Publish two versions, see them, go back to a copy from before, and publish ``newer`` other versions."""
    shutil.copytree(where, where.parent / "copy")
    go_on(trie, publisher, 2, "lost")
    see()
    shutil.rmtree(where)
    shutil.move(where.parent / "copy", where)
    trie, publisher = snapshot.take_over(where)
    go_on(trie, publisher, newer, "other")
