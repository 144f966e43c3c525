"""Real brokers against our matchers: the same subscriptions and messages must reach the same subscribers.

`make test-brokers` installs the servers and runs this. Without the servers it is skipped, with a message. The name of a
failed test contains its seed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest

from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie
from subtrie.baselines.naive import NaiveMatcher
from tests.brokers import Broker, Refused, Session
from tests.brokers.mosquitto import MOSQUITTO
from tests.brokers.nats import NATS as NATS_SERVER
from tests.brokers.rabbitmq import RABBITMQ
from tests.subtrie.support import is_valid

pytestmark = pytest.mark.brokers

WORDS = {
    AMQP: ["a", "b", "A", "", " ", "é", "a#b", "##", "$s", "a/b"],
    MQTT: ["a", "b", "A", "", " ", "é", "$s", "a.b", "*"],
    NATS: ["a", "b", "A", "é", "a>", "**", "$s", "a/b", "#"],
}
CHARACTERS = {AMQP: ".*#a", MQTT: "/+#a$", NATS: ".*>a"}


@pytest.fixture(scope="module", params=[MOSQUITTO, RABBITMQ, NATS_SERVER], ids=lambda broker: broker.name)
def running(request: pytest.FixtureRequest) -> Iterator[tuple[Broker, int]]:
    broker: Broker = request.param
    missing = broker.missing()
    if missing:
        pytest.skip(f"{missing}: `make test-brokers` installs it")
    with broker.running() as port:
        yield broker, port


@pytest.mark.parametrize("seed", range(8))
def test_a_message_is_delivered_to_those_whom_match_names(running: tuple[Broker, int], seed: int) -> None:
    broker, port = running
    rng, dialect = random.Random(seed), broker.dialect
    trie, naive = SubscriptionTrie(dialect), NaiveMatcher(dialect)
    with broker.session(port) as session:
        for _ in range(6):
            for _ in range(12):
                filter, subscriber = random_filter(rng, dialect), rng.randrange(4)
                if naive.subscribe(filter, subscriber):
                    assert trie.subscribe(filter, subscriber)
                    session.subscribe(filter, subscriber)
            standing = sorted((entry.filter, entry.subscriber) for entry in trie.subscriptions())
            for filter, subscriber in rng.sample(standing, len(standing) // 3):
                assert trie.unsubscribe(filter, subscriber)
                assert naive.unsubscribe(filter, subscriber)
                session.unsubscribe(filter, subscriber)
            topics = [random_topic(rng, dialect) for _ in range(60)]
            for topic, delivered in zip(topics, session.deliveries(topics), strict=True):
                assert set(delivered) == set(trie.match(topic)) == set(naive.match(topic)), topic
                subscriptions = Counter(entry.subscriber for entry in trie.entries(topic))
                assert Counter(delivered) <= subscriptions, f"more copies than subscriptions: {topic}"
    trie.check()


@pytest.mark.parametrize("seed", range(4))
def test_of_each_group_one_member_gets_a_message(running: tuple[Broker, int], seed: int) -> None:
    """Every subscription has a subscriber of its own, so a delivery tells which subscription it was for. Mosquitto
    delivers nothing on reserved topics to groups."""
    broker, port = running
    if broker.dialect is AMQP:
        pytest.skip("a group in RabbitMQ is a queue with several consumers, and a queue is one subscriber")
    rng, trie, is_nats = random.Random(seed), SubscriptionTrie(broker.dialect), broker.dialect is NATS
    with broker.session(port) as session:
        for number in range(40):
            group, filter = f"{rng.choice('gh')}{seed}", random_filter(rng, broker.dialect)
            filter = filter if is_nats else f"$share/{group}/{filter}"
            trie.subscribe(filter, number, **{"queue": group} if is_nats else {})
            session.subscribe(f"{filter} {group}" if is_nats else filter, number)
            if number % 10 < 9:
                continue
            for gone in rng.sample(sorted(trie.subscriptions(), key=str), 3):
                assert trie.unsubscribe_many([gone]) == 1
                told = f"{gone.filter} {gone.options['queue']}" if is_nats else gone.filter
                session.unsubscribe(told, gone.subscriber)
            topics = [random_topic(rng, broker.dialect) for _ in range(40)]
            topics = [topic for topic in topics if is_nats or not topic.startswith("$")]
            for topic, delivered in zip(topics, session.deliveries(topics), strict=True):
                groups: dict[object, set[int]] = {}
                for held in trie.entries(topic):
                    groups.setdefault(held.options.get("queue", held.filter), set()).add(held.subscriber)
                for found in (delivered, trie.match(topic), list(trie.match_iter(topic))):
                    assert sorted(len(some.intersection(found)) for some in groups.values()) == [1] * len(found), topic
    trie.check()


@pytest.mark.parametrize("seed", range(3))
def test_what_we_refuse_is_refused_there(running: tuple[Broker, int], seed: int) -> None:
    """As a filter, and as a topic; texts that consist mostly of separators and wildcards."""
    broker, port = running
    rng, dialect = random.Random(seed), broker.dialect
    for use, split in ((subscribe, dialect.split_filter), (publish, dialect.split_topic)):
        texts = ["".join(rng.choices(CHARACTERS[dialect], k=rng.randint(1, 6))) for _ in range(100)]
        assert accepted(broker, port, texts, use) == [is_valid(split, text) for text in texts]


DISAGREEMENTS = {
    # What our dialect does with a text as a filter and as a topic, then what the broker does; docs/topics.md says why.
    "Mosquitto": {
        "a\nb": ("accepts", "accepts", "refuses", "refuses"),
        "a\x01b": ("accepts", "accepts", "refuses", "refuses"),
        "a\uffff": ("accepts", "accepts", "refuses", "refuses"),
        "$SYS/a": ("accepts", "accepts", "accepts", "refuses"),
        "$share": ("refuses", "accepts", "refuses", "refuses"),
        "$share/g/a": ("accepts", "accepts", "accepts", "refuses"),
        "$share/g": ("refuses", "accepts", "accepts", "refuses"),
        "$share/g/": ("refuses", "accepts", "accepts", "refuses"),
        "$share//a": ("refuses", "accepts", "accepts", "refuses"),
        "$share/g/$share/h/a": ("refuses", "accepts", "accepts", "refuses"),
    },
    "RabbitMQ": {"a\0b": ("refuses", "refuses", "accepts", "accepts")},
    "NATS": {
        "a\0b": ("refuses", "refuses", "accepts", "accepts"),
        ".".join("a" * 257): ("refuses", "refuses", "accepts", "accepts"),
        "a" * 4_096: ("accepts", "accepts", "refuses", "refuses"),
    },
}
LIMITS = {
    "Mosquitto": ["/" * 200, "/" * 201, "a" * 65_535, "a\0b", "$share/g+/a", "$SHARE/g/a", "\ufeffa"],
    "RabbitMQ": ["", "a" * 255, "." * 254, "a\nb", "#.#.#.#.a"],
    "NATS": [".".join("a" * 256), "a" * 4_080, "a" * 5_000, "a\x01b", "$SYS.a"],
}


def test_limits_are_the_same_but_where_we_disagree(running: tuple[Broker, int]) -> None:
    """Each disagreement is a decision of ours; a failure shows that a broker now agrees with us."""
    broker, port = running
    for text in [*DISAGREEMENTS[broker.name], *LIMITS[broker.name]]:
        ours = [is_valid(split, text) for split in (broker.dialect.split_filter, broker.dialect.split_topic)]
        theirs = [accepted(broker, port, [text], use)[0] for use in (subscribe, publish)]
        words = tuple("accepts" if is_accepted else "refuses" for is_accepted in ours + theirs)
        assert words == DISAGREEMENTS[broker.name].get(text, words[:2] * 2), text[:20]


def subscribe(session: Session, text: str) -> None:
    session.subscribe(text, 0)


def publish(session: Session, text: str) -> None:
    session.deliveries([text])


def accepted(broker: Broker, port: int, texts: Sequence[str], use: Callable[[Session, str], None]) -> list[bool]:
    """Return for each text whether the broker accepts it; a session ends at the first text that it refuses."""
    answers: list[bool] = []
    while len(answers) < len(texts):
        with broker.session(port) as session:
            try:
                for text in texts[len(answers) :]:
                    use(session, text)
                    answers.append(True)
            except Refused:
                answers.append(False)
    return answers


def random_filter(rng: random.Random, dialect: Dialect) -> str:
    return random_text(rng, dialect, [dialect.one_word, str(dialect.many_words)] * 3, dialect.split_filter)


def random_topic(rng: random.Random, dialect: Dialect) -> str:
    wild = [dialect.one_word] if dialect.wildcards_in_topics else []
    return random_text(rng, dialect, wild, dialect.split_topic)


def random_text(rng: random.Random, dialect: Dialect, wild: list[str], split: Callable[[str], object]) -> str:
    """A valid text of few different words, so that filters and topics match often."""
    words = [*WORDS[dialect], *wild]
    while not is_valid(split, text := dialect.join(rng.choices(words + words[:2] * 4, k=rng.randint(1, 4)))):
        pass
    return text
