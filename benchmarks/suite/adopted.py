"""An adopted broker: messages through amqtt, unchanged and with the trie instead of its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import cycle, islice

from benchmarks.matchers import translated
from benchmarks.model import Benchmark, Contender, Group, check, timed
from benchmarks.workloads import growing_filters
from subtrie import MQTT, SubscriptionTrie
from tests.brokers.amqtt import AS_IT_COMES, ON_A_TRIE, clients, missing

MESSAGES = {10: 5_000, 1_000: 2_000, 10_000: 400}
"""The number of messages in a repeat, by the number of subscriptions."""
CLIENTS = 20
NAMES = {AS_IT_COMES: "amqtt", ON_A_TRIE: "amqtt on a trie"}


def _groups(quick: bool) -> Iterator[Group]:
    if left_out := missing():
        print(f"amqtt left out: {left_out}")
        return
    for size, messages in {10: 20}.items() if quick else MESSAGES.items():
        filters = [translated(filter, MQTT) for filter in growing_filters(size)]
        spread = islice(cycle(filters[:: max(1, size // messages)]), messages)
        topics = [filter.replace("+", "w7") for filter in spread]
        subscriptions = [(filter, number % CLIENTS) for number, filter in enumerate(filters)]
        trie: SubscriptionTrie[int] = SubscriptionTrie(MQTT)
        trie.subscribe_many(subscriptions)
        answers = [[one.subscriber for one in trie.deliveries(topic)] for topic in topics]
        expected = Counter(subscriber for answer in answers for subscriber in answer)
        with ExitStack() as brokers:
            group: Group = []
            for kind, name in NAMES.items():
                running = brokers.enter_context(clients(kind, subscriptions))
                delivered = running.deliveries(topics, expected)
                check([sorted(who) for who in delivered] == [sorted(who) for who in answers], name)
                work = partial(running.deliveries, topics, expected)
                group.append(Contender(name, partial(timed, work), messages, size))
            yield group


BENCHMARKS = [
    Benchmark(
        name="adopted",
        title=f"amqtt, a broker in Python, with {CLIENTS} clients: as it comes, and with the trie as its table",
        operation="message",
        groups=_groups,
        baseline=NAMES[AS_IT_COMES],
        unit="us",
        x_label="subscriptions",
        plot="growth",
        repeats=9,
        note=(
            "Time from the first message published to the last one received, at quality of service 0, by a client in"
            " another process. Nearly every message reaches one subscriber. Both brokers run at the same time and are"
            " measured in turn; both have only amqtt's plugin for anonymous logins. The receivers of each message are"
            " checked against the trie's answers first. The broker is examples/amqtt_on_a_trie.py."
        ),
    )
]
