"""Topics and filters in each dialect, and what they mean: published cases, limits, relations by brute force."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from subtrie.dialects import AMQP, MQTT, NATS, Dialect, Words
from subtrie.errors import TopicError

pytestmark = pytest.mark.once  # only texts and words; the Python code is the same everywhere

VECTORS = Path(__file__).parents[1] / "data" / "vectors"
DIALECTS = {"amqp": AMQP, "mqtt": MQTT, "nats": NATS}

ONE_BROKER = "RabbitMQ refuses more than two #; AMQP does not, and matching here is polynomial for any number"
UNENFORCED = "the standard's alphabet of words, which no broker enforces"
DEPARTURES = {
    ("amqp", "filter", "#.*.#.*.#"): ONE_BROKER,
    ("amqp", "filter", "a.#.b.#.c.#"): ONE_BROKER,
    ("amqp", "filter", "#.#.#"): ONE_BROKER,
    ("amqp", "filter", "#.#.#.#"): ONE_BROKER,
    ("amqp", "filter", ".".join("#" * 15)): ONE_BROKER,
    ("amqp", "filter", ".".join("#" * 128)): ONE_BROKER,
    ("amqp", "topic", "a_b"): UNENFORCED,
}
"""Texts that a published case calls invalid and that we accept, with the reason; docs/topics.md says the same."""


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (VECTORS / name).read_text().splitlines()]


def cases(name: str, kind: str) -> list[Any]:
    chosen = [line for line in lines(name) if kind in line]
    return [pytest.param(line, id=f"{line['dialect']}-{number}") for number, line in enumerate(chosen)]


def matches(dialect: Dialect, filter_text: str, topic_text: str) -> bool:
    """Compare as texts; no filter matches a topic that the dialect refuses."""
    words = dialect.split_filter(filter_text)
    try:
        return dialect.matches(words, dialect.split_topic(topic_text))
    except TopicError:
        return False


def related(dialect: Dialect, relation: str, a_text: str, b_text: str) -> bool:
    """Compare two filters as texts; one that the dialect refuses has no relation to any other."""
    try:
        a, b = dialect.split_filter(a_text), dialect.split_filter(b_text)
    except TopicError:
        return False
    return dialect.overlaps(a, b) if relation == "overlap" else dialect.subsumes(b, a)


def splitter(dialect: Dialect, kind: str) -> Callable[[str], Words]:
    return dialect.split_filter if kind == "filter" else dialect.split_topic


class TestPublishedCases:
    @pytest.mark.parametrize("case", cases("topics.jsonl", "matches"))
    def test_matching(self, case: dict[str, Any]) -> None:
        assert matches(DIALECTS[case["dialect"]], case["filter"], case["topic"]) == case["matches"]

    @pytest.mark.parametrize("case", cases("topics.jsonl", "valid"))
    def test_validity(self, case: dict[str, Any]) -> None:
        kind = "filter" if "filter" in case else "topic"
        split = splitter(DIALECTS[case["dialect"]], kind)
        if case["valid"] or (case["dialect"], kind, case[kind]) in DEPARTURES:
            split(case[kind])
        else:
            with pytest.raises(TopicError):
                split(case[kind])

    @pytest.mark.parametrize("case", cases("relations.jsonl", "relation"))
    def test_relation(self, case: dict[str, Any]) -> None:
        assert related(DIALECTS[case["dialect"]], case["relation"], case["a"], case["b"]) == case["result"]

    @pytest.mark.parametrize(("dialect", "kind", "text"), DEPARTURES)
    def test_departure_is_accepted(self, dialect: str, kind: str, text: str) -> None:
        words = splitter(DIALECTS[dialect], kind)(text)
        assert DIALECTS[dialect].join(words) == text


class TestRefusals:
    """The reason and the position of each fault, as docs/topics.md lists them."""

    @pytest.mark.parametrize(
        ("dialect", "kind", "text", "position", "reason"),
        [
            (MQTT, "filter", "", 0, "empty filter"),
            (MQTT, "topic", "", 0, "empty topic"),
            (NATS, "filter", "", 0, "empty filter"),
            (NATS, "topic", "a..b", 2, "empty word"),
            (NATS, "filter", "a.b.", 4, "empty word"),
            (NATS, "filter", "a b", 1, "forbidden character ' '"),
            (NATS, "filter", "a.>.b", 2, "'>' is not the last word"),
            (NATS, "topic", "a.*", 2, "wildcard '*' in a topic"),
            (MQTT, "filter", "a/#/b", 2, "'#' is not the last word"),
            (MQTT, "filter", "a/bc+/d", 4, "wildcard '+' inside a word"),
            (MQTT, "filter", "a/b#", 3, "wildcard '#' inside a word"),
            (MQTT, "topic", "a/+", 2, "wildcard '+' in a topic"),
            (MQTT, "topic", "a/b+", 3, "wildcard '+' inside a word"),
            (MQTT, "filter", "$share", 6, "shared subscription without a group"),
            (MQTT, "filter", "$share/", 7, "shared subscription without a group"),
            (MQTT, "topic", "$share", None, None),
            (MQTT, "filter", "$share//t", 7, "shared subscription without a group"),
            (MQTT, "filter", "$share/g", 8, "shared subscription without a filter"),
            (MQTT, "filter", "$share/g/", 9, "shared subscription without a filter"),
            (MQTT, "filter", "$share/g+/t", 8, "wildcard '+' in the name of a group"),
            (MQTT, "filter", "$share/g/$share/h/t", 9, "shared subscription inside another"),
            (MQTT, "filter", "$share/g/$share", 9, "shared subscription inside another"),
            (MQTT, "topic", "/".join("a" * 202), 402, "more than 201 words"),
            (AMQP, "filter", "a" * 254 + "é", 254, "longer than 255 bytes"),
            (AMQP, "topic", "a" * 256, 255, "longer than 255 bytes"),
            (AMQP, "topic", "." * 255, None, None),
            (NATS, "topic", "a." * 2_047 + "bc", 512, "more than 256 words"),
            (NATS, "filter", ".".join("*" * 65), 128, "more than 64 wildcards"),
            (MQTT, "filter", "/".join("+" * 65), 128, "more than 64 wildcards"),
            *((dialect, "topic", "a\0", 1, r"forbidden character '\x00'") for dialect in DIALECTS.values()),
            *((dialect, "filter", "a\0", 1, r"forbidden character '\x00'") for dialect in DIALECTS.values()),
            *((dialect, "topic", "a\ud800b", 1, "lone surrogate") for dialect in DIALECTS.values()),
            *((dialect, "filter", "é\udfff", 1, "lone surrogate") for dialect in DIALECTS.values()),
        ],
    )
    def test_offence_and_position(
        self, dialect: Dialect, kind: str, text: str, position: int | None, reason: str | None
    ) -> None:
        split = splitter(dialect, kind)
        if reason is None:
            assert dialect.join(split(text)) == text
            return
        with pytest.raises(TopicError) as caught:
            split(text)
        error = caught.value
        assert (error.text, error.position, error.reason) == (text, position, reason)
        assert str(error).startswith(f"{reason} at character {position} of ")

    @pytest.mark.parametrize("kind", ["filter", "topic"])
    @pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
    @pytest.mark.parametrize("text", [None, b"a.b", 7, ("a", "b")])
    def test_only_a_str_is_split(self, dialect: Dialect, kind: str, text: Any) -> None:
        with pytest.raises(TypeError, match=f"a {kind} must be a str, not {type(text).__name__}"):
            splitter(dialect, kind)(text)

    def test_wildcards_are_counted(self) -> None:
        sparing = replace(AMQP, max_wildcards=2)
        assert sparing.split_filter("*.a.#") == ("*", "a", "#")
        with pytest.raises(TopicError, match="more than 2 wildcards at character 6"):
            sparing.split_filter("*.a.#.*")

    def test_message_can_be_written_anywhere(self) -> None:
        with pytest.raises(TopicError) as caught:
            AMQP.split_topic("a\ud800\n")
        assert str(caught.value).encode("ascii") == rb"lone surrogate at character 1 of 'a\ud800\n'"

    def test_message_shows_the_neighbourhood_of_the_offence_only(self) -> None:
        with pytest.raises(TopicError) as caught:
            MQTT.split_topic("x" * 5_000 + "\0" + "y" * 5_000)
        assert "x\\x00y" in str(caught.value)
        assert len(str(caught.value)) < 250

    def test_nor_does_repr_flood_a_log(self) -> None:
        with pytest.raises(TopicError) as caught:
            MQTT.split_topic("x" * 5_000 + "\0" + "y" * 5_000)
        assert "forbidden character" in repr(caught.value)
        assert len(repr(caught.value)) < 250

    def test_what_is_checked_is_the_text_itself(self) -> None:
        """The methods of a subclass of str make no difference."""

        class Lying(str):
            def split(self, *_: Any) -> list[Any]:  # type: ignore[override]
                return ["a.b", None]

            def isascii(self) -> bool:
                return True

            def count(self, *_: Any) -> int:
                return 0

            def __contains__(self, _: object) -> bool:
                return False

        for split in (AMQP.split_topic, AMQP.split_filter):
            assert split(Lying("a.b")) == ("a", "b")
            assert [type(word) for word in split(Lying("a.b"))] == [str, str]
            for refused in ("a\0", "\ud800", "." * 256):
                with pytest.raises(TopicError):
                    split(Lying(refused))
        with pytest.raises(TopicError, match="forbidden character ' '"):
            NATS.check_queue(Lying("two words"))

    def test_error_survives_a_pickle(self) -> None:
        error = TopicError("a.b", 1, "wrong")
        copy = pickle.loads(pickle.dumps(error))
        assert (copy.text, copy.position, copy.reason, str(copy)) == ("a.b", 1, "wrong", str(error))


class TestOwnDialect:
    def test_is_made_of_rules(self) -> None:
        paths = Dialect("paths", separator="/", one_word="*", many_words="**", zero_words=True)
        assert paths.matches(paths.split_filter("**/b/*"), paths.split_topic("a/b/c"))
        assert not paths.matches(paths.split_filter("**/b/*"), paths.split_topic("a/b"))

    def test_may_have_no_wildcard_for_many_words(self) -> None:
        flat = Dialect("flat", separator=":", one_word="?", many_words=None)
        assert flat.matches(("a", "?"), ("a", "b"))
        assert not flat.overlaps(("?",), ("a", "b"))
        assert flat.subsumes(("?", "b"), ("a", "b"))

    @pytest.mark.parametrize(
        ("rule", "message"),
        [
            ({"separator": ".."}, "separator must be one character"),
            ({"separator": ""}, "separator must be one character"),
            ({"one_word": "a.b"}, "a wildcard must be a word of its own, not 'a.b'"),
            ({"many_words": ""}, "a wildcard must be a word of its own, not ''"),
            ({"many_words": "*"}, "one_word and many_words must differ"),
            ({"many_min": 2}, "many_min must be 0 or 1, not 2"),
            ({"max_words": 0}, "must be at least"),
            ({"max_bytes": 2**70}, "max_bytes must be at most"),
            ({"share_prefix": ""}, "share_prefix must be an ordinary word of its own, not ''"),
            ({"share_prefix": "a.b"}, "share_prefix must be an ordinary word of its own, not 'a.b'"),
            ({"share_prefix": "*"}, "share_prefix must be an ordinary word"),
            ({"reserved_prefix": ""}, "reserved_prefix must be a text of one character or more"),
            ({"forbidden": "\0."}, "'.' is forbidden, and a separator or in a wildcard"),
            ({"forbidden": "#"}, "'#' is forbidden"),
        ],
    )
    def test_must_not_contradict_itself(self, rule: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            replace(AMQP, **rule)


def test_shared_subscription_means_the_filter_behind_the_group() -> None:
    shared = MQTT.split_filter("$share/workers/jobs/#")
    assert MQTT.unshare(shared) == ("workers", ("jobs", "#"))
    assert MQTT.matches(shared, ("jobs", "new"))
    assert not MQTT.matches(shared, ("$share", "workers", "jobs"))
    assert MQTT.overlaps(shared, ("+", "new"))
    assert MQTT.subsumes(("jobs", "#"), shared)
    assert MQTT.subsumes(shared, ("jobs", "new"))


def test_matching_is_polynomial_in_the_number_of_wildcards() -> None:
    """An exponential matcher would never return from this."""
    hostile = AMQP.split_filter(".".join(["#", "a"] * 60 + ["b"]))
    topic = AMQP.split_topic(".".join("a" * 120))
    assert not AMQP.matches(hostile, topic)
    assert not AMQP.subsumes(hostile, topic)
    assert not AMQP.overlaps(hostile, topic)


RESERVED = replace(MQTT, name="reserved", many_last=False, share_prefix=None)
"""A reserved prefix together with # anywhere: no broker has both, but a user's dialect may."""


@pytest.mark.parametrize(
    ("dialect", "literals"),
    [
        pytest.param(AMQP, ("a", "b"), id="amqp"),
        pytest.param(MQTT, ("a", "$s"), id="mqtt"),
        pytest.param(NATS, ("a", "b"), id="nats"),
        pytest.param(RESERVED, ("a", "$s"), id="reserved"),
        pytest.param(replace(RESERVED, zero_words=True, many_min=1), ("a", "$s"), id="reserved-zero-words"),
    ],
)
def test_relations_agree_with_all_short_topics(dialect: Dialect, literals: tuple[str, str]) -> None:
    """All filters of up to three words are compared with each other: topics of up to six words tell them apart."""
    assert dialect.many_words is not None
    topics = [
        words
        for size in range(0 if dialect.zero_words else 1, 7)
        for words in itertools.product((*literals, "another"), repeat=size)
    ]
    filters = [
        words
        for size in range(1, 4)
        for words in itertools.product((*literals, dialect.one_word, dialect.many_words), repeat=size)
        if not dialect.many_last or dialect.many_words not in words[:-1]
    ]
    matched = {words: {topic for topic in topics if dialect.matches(words, topic)} for words in filters}
    for a, b in itertools.product(filters, repeat=2):
        assert dialect.overlaps(a, b) == (not matched[a].isdisjoint(matched[b])), (a, b)
        assert dialect.subsumes(a, b) == (matched[a] >= matched[b]), (a, b)
