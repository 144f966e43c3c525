"""Brokers: the cost of a message from publisher to subscribers through a real broker, beside that of a match alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from benchmarks.brokers import Broker, Session
from benchmarks.brokers.installed import present
from benchmarks.matchers import PAHO, TRIE, Entrant, filled, translated
from benchmarks.matchers import present as installed
from benchmarks.model import Benchmark, Contender, Group, same, timed
from benchmarks.suite.throughput import call_each
from benchmarks.workloads import throughput_filters, throughput_topics

CLIENTS = 20


def _groups(quick: bool) -> Iterator[Group]:
    filters = throughput_filters(count=50 if quick else 1_000)
    topics = throughput_topics(filters, 200 if quick else 5_000)
    answers = filled(TRIE, filters, _client)
    yield [_in_process(entrant, filters, topics) for entrant in installed([TRIE, PAHO])]
    for broker in present():
        with broker.running() as port, broker.session(port) as session:
            for number, filter in enumerate(filters):
                session.subscribe(translated(filter, broker.dialect), _client(number))
            published = [translated(topic, broker.dialect) for topic in topics]
            for topic, delivered in zip(topics, session.deliveries(published), strict=True):
                same(delivered, answers.match(topic), f"{broker.name}: {topic}")
            yield [_through(broker, session, published)]


def _client(number: int) -> int:
    """Return the client that has the filter with this number."""
    return number % CLIENTS


def _in_process(entrant: Entrant, filters: Sequence[str], topics: Sequence[str]) -> Contender:
    matcher = filled(entrant, filters, _client)
    own = entrant.texts(topics)
    return Contender(f"{entrant.name}, in process", partial(timed, partial(call_each, matcher.match, own)), len(own))


def _through(broker: Broker, session: Session, topics: Sequence[str]) -> Contender:
    return Contender(broker.name, partial(timed, partial(session.deliveries, topics)), len(topics))


BENCHMARKS = [
    Benchmark(
        name="brokers",
        title=f"Throughput workload with {CLIENTS} subscribers: through a broker on loopback, and in process",
        operation="message",
        groups=_groups,
        baseline="SubscriptionTrie, in process",
        unit="us",
        repeats=5,
        note=(
            "A broker's figure includes publishing, routing, sending and receiving with one Python client: it is the"
            " cost of a message through a broker, not of a match. The deliveries of each broker are checked against the"
            " trie's answers first."
        ),
    )
]
