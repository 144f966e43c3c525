"""Real brokers against our matchers: the same subscriptions and messages must reach the same subscribers.

`make test-brokers` installs the servers and runs this. Without the servers it is skipped, with a message. The name of a
failed test contains its seed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import pytest

from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie
from subtrie.baselines.naive import NaiveMatcher
from tests.brokers import Broker, Refused, Session
from tests.brokers.installed import BROKERS
from tests.subtrie.support import is_valid
from tests.subtrie.test_groups import Ways

pytestmark = pytest.mark.brokers

SUBSCRIBERS = 4
WORDS = {
    AMQP: ["a", "b", "A", "", " ", "é", "a#b", "##", "$s", "a/b"],
    MQTT: ["a", "b", "A", "", " ", "é", "$s", "a.b", "*"],
    NATS: ["a", "b", "A", "é", "a>", "**", "$s", "a/b", "#"],
}
CHARACTERS = {AMQP: ".*#a", MQTT: "/+#a$", NATS: ".*>a"}


@pytest.fixture(scope="module", params=BROKERS, ids=lambda broker: broker.name)
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
    rng = random.Random(seed)
    trie, naive = SubscriptionTrie(broker.dialect), NaiveMatcher(broker.dialect)
    with broker.session(port) as session:
        for _ in range(6):
            change(rng, session, trie, naive)
            topics = [random_topic(rng, broker.dialect) for _ in range(60)]
            for topic, delivered in zip(topics, session.deliveries(topics), strict=True):
                assert set(delivered) == set(trie.match(topic)) == set(naive.match(topic)), topic
                subscriptions = Counter(entry.subscriber for entry in trie.entries(topic))
                assert Counter(delivered) <= subscriptions, f"more copies than subscriptions: {topic}"
    trie.check()


def change(rng: random.Random, session: Session, trie: SubscriptionTrie, naive: NaiveMatcher) -> None:
    """Add some subscriptions, and remove some."""
    for _ in range(12):
        filter, subscriber = random_filter(rng, trie.dialect), rng.randrange(SUBSCRIBERS)
        if naive.subscribe(filter, subscriber):
            assert trie.subscribe(filter, subscriber)
            session.subscribe(filter, subscriber)
    standing = sorted((entry.filter, entry.subscriber) for entry in trie.subscriptions())
    for filter, subscriber in rng.sample(standing, len(standing) // 3):
        assert trie.unsubscribe(filter, subscriber)
        assert naive.unsubscribe(filter, subscriber)
        session.unsubscribe(filter, subscriber)


@pytest.mark.parametrize("seed", range(4))
def test_of_each_group_one_member_gets_a_message(running: tuple[Broker, int], seed: int) -> None:
    """Every subscription has a subscriber of its own, so a delivery tells which subscription it was for. Mosquitto
    delivers nothing on reserved topics to groups."""
    broker, port = running
    if broker.dialect is AMQP:
        pytest.skip("a group in RabbitMQ is a queue with several consumers, and a queue is one subscriber")
    rng, numbers, ways = random.Random(seed), count(), Ways(broker.dialect)
    trie, members = SubscriptionTrie(broker.dialect), list[Member]()
    with broker.session(port) as session:
        for _ in range(4):
            rng.shuffle(members)
            for gone in members[: len(members) // 3]:
                assert ways.unsubscribe(trie, *gone)
                session.unsubscribe(told(ways, gone), gone.number)
            del members[: len(members) // 3]
            for _ in range(10):
                new = Member(random_filter(rng, broker.dialect), rng.choice([f"g{seed}", f"h{seed}"]), next(numbers))
                members.append(new)
                assert ways.subscribe(trie, *new)
                session.subscribe(told(ways, new), new.number)
            topics = [random_topic(rng, broker.dialect) for _ in range(40)]
            topics = [topic for topic in topics if broker.dialect is NATS or not topic.startswith("$")]
            for topic, delivered in zip(topics, session.deliveries(topics), strict=True):
                groups = groups_reached(ways, members, topic)
                for found in (delivered, trie.match(topic), list(trie.match_iter(topic))):
                    assert sorted(len(group.intersection(found)) for group in groups) == [1] * len(found), topic
    trie.check()


class Member(NamedTuple):
    """A subscription as a member of a group."""

    filter: str
    group: str
    number: int


def told(ways: Ways, member: Member) -> str:
    """The text that the broker gets: for NATS, the group after the filter."""
    filter = ways.filter(member.filter, member.group)
    return f"{filter} {member.group}" if ways.dialect.queue_groups else filter


def groups_reached(ways: Ways, members: list[Member], topic: str) -> list[set[int]]:
    """The members of each group that a message is for."""
    groups: dict[Any, set[int]] = {}
    for filter, group, number in members:
        if ways.dialect.matches(ways.dialect.split_filter(filter), ways.dialect.split_topic(topic)):
            groups.setdefault(ways.group(filter, group), set()).add(number)
    return list(groups.values())


@pytest.mark.parametrize("seed", range(3))
def test_what_we_refuse_as_a_filter_is_refused_there(running: tuple[Broker, int], seed: int) -> None:
    broker, port = running
    texts = random_texts(random.Random(seed), broker.dialect)
    assert accepted(broker, port, texts, subscribe) == [is_valid(broker.dialect.split_filter, text) for text in texts]


@pytest.mark.parametrize("seed", range(3))
def test_what_we_refuse_as_a_topic_is_refused_there(running: tuple[Broker, int], seed: int) -> None:
    broker, port = running
    texts = random_texts(random.Random(seed), broker.dialect)
    assert accepted(broker, port, texts, publish) == [is_valid(broker.dialect.split_topic, text) for text in texts]


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


def test_where_we_disagree(running: tuple[Broker, int]) -> None:
    """Each of these is a decision of ours; a failure shows that a broker now agrees with us."""
    broker, port = running
    for text, expected in DISAGREEMENTS[broker.name].items():
        assert (*ours(broker, text), *theirs(broker, port, text)) == expected, text[:20]


def test_limits_are_the_same(running: tuple[Broker, int]) -> None:
    broker, port = running
    for text in LIMITS[broker.name]:
        assert ours(broker, text) == theirs(broker, port, text), text[:20]


def ours(broker: Broker, text: str) -> tuple[str, str]:
    splits = (broker.dialect.split_filter, broker.dialect.split_topic)
    return word(is_valid(splits[0], text)), word(is_valid(splits[1], text))


def theirs(broker: Broker, port: int, text: str) -> tuple[str, str]:
    (as_filter,), (as_topic,) = accepted(broker, port, [text], subscribe), accepted(broker, port, [text], publish)
    return word(as_filter), word(as_topic)


def word(is_accepted: bool) -> str:
    return "accepts" if is_accepted else "refuses"


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
    assert dialect.many_words is not None
    wild = [dialect.one_word, dialect.many_words] * 3
    return valid(dialect.split_filter, lambda: random_words(rng, dialect, [*WORDS[dialect], *wild]))


def random_topic(rng: random.Random, dialect: Dialect) -> str:
    wild = [dialect.one_word] if dialect.wildcards_in_topics else []
    return valid(dialect.split_topic, lambda: random_words(rng, dialect, [*WORDS[dialect], *wild]))


def random_words(rng: random.Random, dialect: Dialect, words: Sequence[str]) -> str:
    # Few different words, so that filters and topics match often.
    likely = [*words[:2]] * 4
    return dialect.join(rng.choices([*words, *likely], k=rng.randint(1, 4)))


def random_texts(rng: random.Random, dialect: Dialect) -> list[str]:
    """Return texts that consist mostly of separators and wildcards."""
    return ["".join(rng.choices(CHARACTERS[dialect], k=rng.randint(1, 6))) for _ in range(100)]


def valid(split: Callable[[str], object], make: Callable[[], str]) -> str:
    """Return the first valid text that is made."""
    while not is_valid(split, text := make()):
        pass
    return text
