"""The exporter thread: takes a snapshot while the other threads work, and queries Spark about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any

from examples.demo.cut import faults, holdings_in_spark, is_step, standing_faults, step_key
from examples.demo.publish import Publisher
from examples.demo.steps import Writer
from subtrie import SubscriptionTrie

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOP = 5
"""The number of rows shown of a query's answer."""


class Exporter:
    """Takes, exports and judges one cut. When the other threads are done, it can query the cut.

    Args:
        spark: the session to export to.
        standing: a snapshot of the subscriptions that no writer touches.
        topics: returns the topics about which Spark is asked.

    :ivar rows: rows of the exported set, as Spark counts them
    :ivar faults: the reasons why the cut is not consistent
    :ivar snapshot_us: how long the snapshot call took, in microseconds
    :ivar messages_meanwhile: messages that were matched between the snapshot call and Spark's verdict on the
        cut
    :ivar judged: set when Spark has judged the cut, or can no longer do so
    :ivar moments: the milestones reached, each with its time on the clock of `time.perf_counter`
    :ivar top_filters: the filters with the most subscribers, and their numbers
    :ivar top_topics: the topics with the most subscribers, and their numbers
    """

    def __init__(
        self,
        spark: SparkSession,
        standing: SubscriptionTrie,
        writers: Sequence[Writer],
        publishers: Sequence[Publisher],
        topics: Callable[[], list[str]],
    ) -> None:
        self._spark = spark
        self._standing = standing
        self._writers = writers
        self._publishers = publishers
        self._topics = topics
        self.rows = 0
        self.faults: list[str] = []
        self.snapshot_us = 0.0
        self.messages_meanwhile = 0
        self.judged = Event()
        self.moments: list[tuple[float, str]] = []
        self.top_filters: list[tuple[str, int]] = []
        self.top_topics: list[tuple[str, int]] = []
        self.stopping = False
        self._exported: tuple[SubscriptionTrie, DataFrame]

    def run(self, trie: SubscriptionTrie, halfway: Event) -> None:
        """Take, export and judge the cut once the publishers are ``halfway``, unless stopped before."""
        halfway.wait()
        try:
            if not self.stopping:
                self._export(trie)
        finally:
            self.judged.set()

    def _export(self, trie: SubscriptionTrie) -> None:
        from snapshot import to_spark

        cut, before, after = self._take(trie)
        self._note(f"a snapshot was taken in {self.snapshot_us:,.1f} microseconds")
        messages = self._messages()
        frame = to_spark(cut, self._spark, key=step_key)
        self.rows = frame.count()
        self._note(f"{self.rows:,} rows of it are in Spark")
        self.faults = self._judge(frame, before, after)
        self.messages_meanwhile = self._messages() - messages
        self._note("Spark finds the cut inconsistent" if self.faults else "Spark finds the cut consistent")
        self._exported = cut, frame

    def ask(self) -> None:
        """Ask Spark the questions that a person would have about the exported set."""
        import pyarrow as pa

        from snapshot import match_spark

        cut, frame = self._exported
        topics = self._spark.createDataFrame(pa.table({"topic": pa.array(self._topics(), pa.string())}))
        matches = match_spark(topics, cut, key=step_key)
        self.top_filters = _most_subscribers(self._of_people(frame), "filter")
        self.top_topics = _most_subscribers(self._of_people(matches), "topic")
        self._note("Spark has answered what it was asked")

    def _take(self, trie: SubscriptionTrie) -> tuple[SubscriptionTrie, list[int], list[int]]:
        before = [writer.completed for writer in self._writers]
        start = time.perf_counter()
        cut = trie.snapshot()
        self.snapshot_us = (time.perf_counter() - start) * 1e6
        return cut, before, [writer.completed for writer in self._writers]

    def _note(self, what: str) -> None:
        self.moments.append((time.perf_counter(), what))

    def _messages(self) -> int:
        return sum(publisher.messages for publisher in self._publishers)

    def _judge(self, frame: DataFrame, before: list[int], after: list[int]) -> list[str]:
        from snapshot import to_spark

        slots = [writer.slots for writer in self._writers]
        return [
            *faults(holdings_in_spark(frame, self._writers), slots, before, after),
            *standing_faults(frame, to_spark(self._standing, self._spark)),
        ]

    def _of_people(self, frame: DataFrame) -> DataFrame:
        """The frame without the demo's own subscriptions, if there are others."""
        return frame.where(~is_step()) if len(self._standing) else frame


def _most_subscribers(frame: DataFrame, column: str) -> list[tuple[str, int]]:
    from pyspark.sql import functions as F

    counted = frame.groupBy(column).agg(F.count_distinct("subscriber").alias("subscribers"))
    rows: list[Any] = counted.orderBy(F.desc("subscribers"), column).limit(TOP).collect()
    return [(row[0], row[1]) for row in rows]
