"""The demonstration: writers and publishers at work on one trie, and one instant of it in Spark.

Half of the threads are writers, which subscribe and unsubscribe in numbered steps without pause; the others publish.
When half of the messages are matched, a snapshot is taken and exported to Spark while all threads continue. Spark
checks that it contains, for each writer, exactly a prefix of its operations. Every publisher checks each of its matches
against the subscriptions that existed all the time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from examples.demo.crew import Crew
from examples.demo.export import Exporter
from examples.demo.feed import Feed, Portion
from examples.demo.publish import FilePublisher, MessagePublisher, Publisher
from examples.demo.steps import Writer, writers_for
from examples.demo.watch import Watch
from examples.demo.workload import openamq
from subtrie import SubscriptionTrie, TopicError
from subtrie.cli.lines import LineFile, topic_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PORTION = 64
"""The number of topics of a file that a publisher takes at a time."""
Show = Callable[[Watch], AbstractContextManager[object]]
"""Shows the watch for as long as its context lasts."""
SAMPLE = 1_000
"""The number of topics of a file about which Spark is asked."""


class Outcome(NamedTuple):
    """A finished demonstration: its threads, its duration, and the results of the export."""

    trie: SubscriptionTrie
    writers: list[Writer]
    publishers: list[Publisher]
    exporter: Exporter
    crew: Crew
    watch: Watch

    @property
    def is_good(self) -> bool:
        """Whether the cut was consistent and no match was wrong."""
        return not self.exporter.faults and not any(publisher.wrong for publisher in self.publishers)


def run_workload(
    spark: SparkSession,
    show: Show,
    *,
    threads: int,
    messages: int,
    filters: int,
    seed: int,
    until_judged: bool = False,
) -> Outcome:
    """Demonstrate the OpenAMQ matching test.

    Args:
        spark: the session to which the cut is exported.
        show: shows the progress.
        threads: writers and publishers together, at least 2.
        messages: messages that all publishers together match.
        until_judged: continue to match after that, until Spark has judged the cut.
        filters: subscriptions held at a time.
        seed: determines the workload and the messages; the interleaving of the threads is up to the machine.
    """
    trie = SubscriptionTrie()
    workload = openamq(filters, seed)
    writers = writers_for(workload.filters, threads // 2)
    count = threads - threads // 2
    publishers: list[Publisher] = []
    exporter = Exporter(spark, trie.snapshot(), writers, publishers, lambda: workload.topics)
    until = exporter.judged if until_judged else None
    publishers += [
        MessagePublisher(workload, share, len(writers), f"{seed} publisher {number}", until)
        for number, share in enumerate(_shares(messages, count))
    ]
    crew = Crew(trie, writers, publishers, exporter, halfway=messages // 2)
    return Outcome(trie, writers, publishers, exporter, crew, _watched(crew, show, messages))


def run_files(
    spark: SparkSession,
    show: Show,
    *,
    threads: int,
    trie: SubscriptionTrie,
    topics: LineFile,
    out: BinaryIO,
) -> Outcome:
    """Demonstrate a user's own subscriptions and topics.

    The subscriptions stay as they are. The writers add their own to the same filters and remove them again. The
    publishers match every topic once. The user's subscribers of each topic are written in the order of the topics.

    Args:
        spark: the session to which the cut is exported.
        show: shows the progress.
        threads: writers and publishers together, at least 2.
        trie: the user's subscriptions, all subscribers being strings.
        topics: the topics; bad ones are reported.
        out: receives a line ``topic<TAB>subscriber`` for each match.
    """
    standing = trie.snapshot()
    writers = writers_for([held.filter for held in standing.subscriptions()], threads // 2)
    count = threads - threads // 2
    feed, sample = Feed(out, limit=2 * count), dict[str, None]()
    publishers: list[Publisher] = [FilePublisher(feed, topics) for _ in range(count)]
    exporter = Exporter(spark, standing, writers, publishers, lambda: list(sample))
    crew = Crew(trie, writers, publishers, exporter, halfway=1, on_stop=feed.close)
    watch = _watched(crew, show, None, meanwhile=lambda: _offer_all(topics, feed, trie, sample))
    return Outcome(trie, writers, publishers, exporter, crew, watch)


def _watched(crew: Crew, show: Show, messages: int | None, meanwhile: Callable[[], object] = lambda: None) -> Watch:
    """Let the crew work, and then query Spark."""
    with Watch(crew, messages) as watch, show(watch):
        crew.work(meanwhile)
        crew.exporter.ask()
    return watch


def _shares(total: int, count: int) -> list[int]:
    return [total // count + (number < total % count) for number in range(count)]


def _offer_all(topics: LineFile, feed: Feed, trie: SubscriptionTrie, sample: dict[str, None]) -> None:
    numbered = topic_lines(topics)
    while portion := list(islice(numbered, PORTION)):
        _extend(sample, portion, trie)
        if not feed.offer(portion):
            break
    feed.end()


def _extend(sample: dict[str, None], portion: Portion, trie: SubscriptionTrie) -> None:
    """Add topics that the dialect accepts, until there are enough."""
    for _, topic in portion:
        if len(sample) >= SAMPLE:
            return
        try:
            trie.dialect.split_topic(topic)
        except TopicError:
            continue
        sample[topic] = None
