"""A busy trie, and one instant of it in Spark: `make demo`.

Half of the threads write, in numbered steps; the others match messages, and count
answers that no instant can have. Halfway one call takes a snapshot, which Spark counts.
A writer has some filters, its slots. Step `s` subscribes `(writer, s)` to the filter of
slot `s % slots`, and then unsubscribes step `s - slots`. So it holds one unbroken range
of steps, another one after each operation. A row that is lost, doubled or of another
instant breaks the range, or puts it outside of what was done by then.
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

Step = tuple[int, int]
Trie = SubscriptionTrie[Step]
TABLES = ("gold oil pork", "lon ny hk jo", "usd eur gbp", "buy sell", "spot late open")
FILTERS, TOPICS, SEED = 1_000, 200, 3
SETTINGS = """spark.driver.host=127.0.0.1 spark.log.level=ERROR spark.ui.enabled=false
              spark.ui.showConsoleProgress=false spark.sql.shuffle.partitions=2"""


def texts(count: int, wild: float, chance: random.Random) -> list[str]:
    def word(table: str) -> str:
        return "*" if chance.random() < wild else chance.choice(table.split())

    return [".".join(map(word, TABLES)) for _ in range(count)]


class Writer:
    """`completed` is how many operations are done. One more may have begun."""

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


def faults(rows: DataFrame, writers: list[Writer], *done: list[int]) -> list[str]:
    """What no instant can have in the rows, given what was `done` around it."""
    parts = F.split("subscriber", " ")
    step, misplaced = parts[1].cast("long"), F.count_if(parts[2] != F.col("filter"))
    figures = F.count("*"), F.count_distinct(step), F.min(step), F.max(step), misplaced
    answers = rows.groupBy(parts[0].cast("int")).agg(*figures)
    held = {row[0]: row[1:] for row in answers.collect()}
    found = []
    for one, least, most in zip(writers, *done, strict=True):
        count, distinct, first, last, elsewhere = held.get(one.number, (0,) * 5)
        unbroken = count == distinct == last - first + 1 and not elsewhere
        possible = 0 <= count - len(one.filters) <= 1
        if not unbroken or not possible or not least <= count + 2 * first <= most + 1:
            found.append(f"writer {one.number}: {count} rows, steps {first} to {last}")
    return found


def demonstrate(spark: SparkSession, threads: int, messages: int) -> int:
    """Print what happened; return the exit status."""
    chance, trie, stop = random.Random(SEED), Trie(), Event()
    filters, topics = texts(FILTERS, 0.5, chance), texts(TOPICS, 0, chance)
    rules = [AMQP.split_filter(filter) for filter in filters]
    split = {topic: AMQP.split_topic(topic) for topic in topics}
    least = {t: sum(AMQP.matches(rule, split[t]) for rule in rules) for t in topics}
    half = threads // 2
    writers = [Writer(trie, number, filters[number::half]) for number in range(half)]
    matched, lost = [0] * (threads - half), [0] * (threads - half)

    def publish(number: int) -> None:
        while not stop.is_set():
            for topic, few in least.items():
                lost[number] += not 0 <= len(trie.match(topic)) - few <= half
            matched[number] += len(least)
            stop.wait(0.02 * (sum(matched) >= messages))  # then at an easy pace

    def key(step: Step) -> str:
        return f"{step[0]} {step[1]} {writers[step[0]].filter_of(step[1])}"

    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(one.run, stop) for one in writers]
        running += [pool.submit(publish, number) for number in range(threads - half)]

        def wait_for(number: int) -> None:
            while sum(matched) < number and not any(each.done() for each in running):
                time.sleep(0.01)

        try:
            wait_for(messages // 2)
            before, began = [one.completed for one in writers], time.perf_counter()
            cut, took = trie.snapshot(), time.perf_counter() - began
            after, earlier = [one.completed for one in writers], sum(matched)
            rows = snapshot.to_spark(cut, spark, key=key)
            wrong, count = faults(rows, writers, before, after), rows.count()
            wait_for(messages)
        finally:
            stop.set()
    _ = [each.result() for each in running]  # raises what they raised
    trie.check()
    print(f"{half} threads wrote, {len(matched)} matched {sum(matched):,} messages")
    print(f"the snapshot took {took * 1e6:,.0f} microseconds; Spark has {count:,} rows")
    since = sum(matched) - earlier
    print(f"{since:,} messages since; {sum(lost):,} answers were wrong")
    print(*wrong or ["Spark: one instant, of each writer a prefix of its steps"])
    return 1 if wrong or any(lost) else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.demo")
    parser.add_argument("--threads", type=int, default=4, help="half of them write")
    parser.add_argument("--messages", type=int, default=200_000, help="at least")
    options = parser.parse_args(arguments)
    if options.threads < 2 or options.messages < 1:
        parser.error("it needs two threads and a message")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]")
    for setting in SETTINGS.split():
        builder = builder.config(*setting.split("="))
    with builder.getOrCreate() as spark:
        return demonstrate(spark, options.threads, options.messages)


if __name__ == "__main__":
    sys.exit(main())
