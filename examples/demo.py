"""A busy trie, and one instant of it in Spark: `make demo`.

Half of the threads write, in numbered steps; the others match messages, and count
answers that no instant can have. Halfway one call takes a snapshot, and Spark counts it
while all threads go on.

A writer has some filters, its slots. Step `s` subscribes `(writer, s)` to the filter
of slot `s % slots` and then unsubscribes step `s - slots` from it. So each filter has
one subscriber or two at every instant, and after `n` operations a writer holds one
unbroken range of steps, another one for each `n`. A row that is lost, doubled or of
another instant breaks the range, or puts it outside of what was done by then.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import snapshot
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from subtrie import AMQP, SubscriptionTrie
from subtrie.cli.progress import Advance, progress_bars

Step = tuple[int, int]
Trie = SubscriptionTrie[Step]
TABLES = ("gold oil pork", "lon ny hk jo", "usd eur gbp", "buy sell", "spot late open")
FILTERS, TOPICS, CHUNK, SEED = 1_000, 200, 500, 3


def texts(count: int, wild: float, chance: random.Random) -> list[str]:
    tables = [table.split() for table in TABLES]
    drawn = (
        ["*" if chance.random() < wild else chance.choice(words) for words in tables]
        for _ in range(count)
    )
    return [".".join(words) for words in drawn]


class Writer:
    """`completed` is how many operations are done; one more may have begun."""

    def __init__(self, trie: Trie, number: int, filters: list[str]) -> None:
        self.trie, self.number, self.filters = trie, number, filters
        self.completed = 0
        for step in range(len(filters)):
            self.change(trie.subscribe, step)

    def filter_of(self, step: int) -> str:
        return self.filters[step % len(self.filters)]

    def change(self, call: Callable[[str, Step], bool], step: int) -> None:
        if not call(self.filter_of(step), (self.number, step)):
            raise RuntimeError(f"step {step} of writer {self.number} was lost")
        self.completed += 1

    def run(self, stop: Event) -> None:
        slots = step = len(self.filters)
        while not stop.is_set():
            self.change(self.trie.subscribe, step)
            self.change(self.trie.unsubscribe, step - slots)
            step += 1


class Publisher:
    """Matches messages; `least` is how many filters match each topic."""

    def __init__(self, trie: Trie, least: dict[str, int], writers: int) -> None:
        self.trie, self.least, self.writers = trie, least, writers
        self.messages = self.wrong = 0

    def run(self, seed: int, share: int, stop: Event, advance: Advance) -> None:
        chance, topics = random.Random(seed), list(self.least)
        while not stop.is_set():
            for topic in chance.choices(topics, k=CHUNK):
                surplus = len(self.trie.match(topic)) - self.least[topic]
                self.wrong += not 0 <= surplus <= self.writers
            self.messages += CHUNK
            advance(CHUNK)
            if self.messages >= share:  # from here on at an easy pace
                stop.wait(0.02)


def faults(
    rows: DataFrame, writers: list[Writer], before: list[int], after: list[int]
) -> list[str]:
    """What Spark finds in the rows that no instant can have."""
    parts = F.split("subscriber", " ")
    step = parts[1].cast("long")
    answers = rows.groupBy(parts[0].cast("int")).agg(
        F.count("*"),
        F.count_distinct(step),
        F.min(step),
        F.max(step),
        F.count_if(parts[2] != F.col("filter")),
    )
    held = {row[0]: row[1:] for row in answers.collect()}
    found = []
    for one, least, most in zip(writers, before, after, strict=True):
        count, distinct, first, last, misplaced = held.get(one.number, (0,) * 5)
        unbroken = count == distinct == last - first + 1 and not misplaced
        possible = 0 <= count - len(one.filters) <= 1
        if not unbroken or not possible or not least <= count + 2 * first <= most + 1:
            found.append(f"writer {one.number}: {count} rows, steps {first} to {last}")
    return found


def demonstrate(spark: SparkSession, threads: int, messages: int) -> int:
    """Print what happened; return the exit status."""
    chance, trie, stop = random.Random(SEED), Trie(), Event()
    filters, topics = texts(FILTERS, 0.5, chance), texts(TOPICS, 0, chance)
    rules = [AMQP.split_filter(filter) for filter in filters]
    least = {
        topic: sum(AMQP.matches(rule, AMQP.split_topic(topic)) for rule in rules)
        for topic in topics
    }
    half = threads // 2
    writers = [Writer(trie, number, filters[number::half]) for number in range(half)]
    publishers = [Publisher(trie, least, half) for _ in range(threads - half)]

    def matched() -> int:
        return sum(one.messages for one in publishers)

    def key(step: Step) -> str:
        return f"{step[0]} {step[1]} {writers[step[0]].filter_of(step[1])}"

    with progress_bars() as add_bar, ThreadPoolExecutor(threads) as pool:
        bar, share = add_bar("messages", messages), messages // len(publishers)
        running = [pool.submit(writer.run, stop) for writer in writers]
        for seed, one in enumerate(publishers):
            running.append(pool.submit(one.run, seed, share, stop, bar))
        try:
            while matched() < messages // 2 and not any(it.done() for it in running):
                time.sleep(0.01)
            before, began = [one.completed for one in writers], time.perf_counter()
            cut = trie.snapshot()
            took = time.perf_counter() - began
            after, earlier = [one.completed for one in writers], matched()
            rows = snapshot.to_spark(cut, spark, key=key)
            wrong, count = faults(rows, writers, before, after), rows.count()
            while matched() < messages and not any(it.done() for it in running):
                time.sleep(0.01)
        finally:
            stop.set()
    for future in running:
        future.result()
    trie.check()
    lost = sum(one.wrong for one in publishers)
    print(f"{half} threads wrote, {len(publishers)} matched {matched():,} messages")
    print(f"the snapshot took {took * 1e6:,.0f} microseconds; Spark has {count:,} rows")
    print(f"{matched() - earlier:,} messages since; {lost:,} answers were wrong")
    verdict = wrong or ["Spark: one instant, of each writer a prefix of its steps"]
    print(*verdict, sep="\n")
    return 1 if wrong or lost else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.demo")
    parser.add_argument("--threads", type=int, default=4, help="half of them write")
    parser.add_argument(
        "--messages", type=int, default=200_000, help="at least so many"
    )
    options = parser.parse_args(arguments)
    if options.threads < 2 or options.messages < 1:
        parser.error("it needs two threads and a message")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        return demonstrate(spark, options.threads, options.messages)
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
