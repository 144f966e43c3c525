"""Topics and filters in each dialect, and what they mean: published cases, rules, relations by brute force.

`test_refusals.py` has the reason and the place of each offence.
"""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import subtrie.dialects
from subtrie.dialects import AMQP, MQTT, NATS, Dialect
from subtrie.errors import TopicError
from tests.subtrie.support import is_valid

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


def lines(name: str, kind: str) -> list[dict[str, Any]]:
    """The published cases of a kind; there are some of each."""
    found = [case for case in map(json.loads, (VECTORS / name).read_text().splitlines()) if kind in case]
    assert len(found) > 50
    return found


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


class TestPublishedCases:
    def test_matching(self) -> None:
        for case in lines("topics.jsonl", "matches"):
            assert matches(DIALECTS[case["dialect"]], case["filter"], case["topic"]) == case["matches"], case

    def test_validity(self) -> None:
        for case in lines("topics.jsonl", "valid"):
            kind = "filter" if "filter" in case else "topic"
            dialect = DIALECTS[case["dialect"]]
            taken = case["valid"] or (case["dialect"], kind, case[kind]) in DEPARTURES
            assert is_valid(getattr(dialect, f"split_{kind}"), case[kind]) == taken, case

    def test_relations(self) -> None:
        for case in lines("relations.jsonl", "relation"):
            assert related(DIALECTS[case["dialect"]], case["relation"], case["a"], case["b"]) == case["result"], case

    def test_departures_are_accepted(self) -> None:
        for dialect, kind, text in DEPARTURES:
            assert DIALECTS[dialect].join(getattr(DIALECTS[dialect], f"split_{kind}")(text)) == text


class TestErrors:
    def test_a_message_can_be_written_anywhere_and_an_error_survives_a_pickle(self) -> None:
        with pytest.raises(TopicError) as caught:
            AMQP.split_topic("a\ud800\n")
        error = caught.value
        assert str(error).encode("ascii") == rb"lone surrogate at character 1 of 'a\ud800\n'"
        copy = pickle.loads(pickle.dumps(error))
        assert (copy.text, copy.position, copy.reason, str(copy)) == (error.text, 1, "lone surrogate", str(error))

    def test_it_shows_the_neighbourhood_of_the_offence_only(self) -> None:
        with pytest.raises(TopicError) as caught:
            MQTT.split_topic("x" * 5_000 + "\0" + "y" * 5_000)
        assert "x\\x00y" in str(caught.value)
        assert "forbidden character" in repr(caught.value)
        assert max(len(str(caught.value)), len(repr(caught.value))) < 250

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


OURS: Any = Dialect
NAMES = (
    "__annotations__",
    "__module__",
    "__qualname__",
    "__post_init__",
    "_wildcards",
    "is_wild",
    *OURS.__match_args__,
)
THEIRS: Any = dataclass(frozen=True, repr=False)(
    type("Dialect", (), {name: vars(Dialect)[name] for name in NAMES if name in vars(Dialect)})
)
RULES = ("own", ".", "*", "#")


class TestFrozenDataclass:
    """To whoever looks, a dialect is one of the standard library."""

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda kind: kind("own"),
            lambda kind: kind(*RULES, colour="red"),
            lambda kind: kind(*range(30)),
            lambda kind: kind("own", "..", "*", "#"),
            lambda kind: setattr(kind(*RULES), "name", "other"),
            lambda kind: setattr(kind(*RULES), "colour", "red"),
            lambda kind: delattr(kind(*RULES), "name"),
            lambda kind: setattr(type("Derived", (kind,), {})(*RULES), "name", "other"),
            lambda kind: hash(kind(*RULES, forbidden=["a"])),
            lambda kind: kind(*RULES) < kind(*RULES),
            lambda kind: replace(kind(*RULES), colour="red"),
            lambda kind: dataclass(type("Thawed", (kind,), {"__annotations__": {"version": "int"}})),
        ],
    )
    def test_it_refuses_the_same_in_the_same_words(self, wrong: Callable[[Any], object]) -> None:
        said = []
        for kind in (OURS, THEIRS):
            with pytest.raises(Exception) as raised:  # noqa: B017, PT011 - which one is compared
                wrong(kind)
            said.append((raised.type, str(raised.value)))
        assert said[0] == said[1]

    @pytest.mark.parametrize("kind", [OURS, THEIRS], ids=["ours", "theirs"])
    def test_it_is_compared_taken_apart_and_derived_from(self, kind: Any) -> None:
        one, plain = kind(*RULES), type("Plain", (kind,), {})
        of_plain = plain(*RULES)
        assert signature(kind, eval_str=True) == signature(THEIRS, eval_str=True)
        assert str(kind.__dataclass_params__) == str(THEIRS.__dataclass_params__)
        assert repr(fields(kind)) == repr(fields(THEIRS))
        assert hash(one) == hash(tuple(asdict(one).values())) and one == kind(*RULES) != of_plain
        of_plain.colour = "red"  # a name of its own
        del of_plain.colour
        match one:
            case kind("own", ".", one_word, many_words, 0, many_last=False):
                assert (one_word, many_words) == ("*", "#")
            case _:
                raise AssertionError("no match")
        coloured: Any = dataclass(frozen=True, kw_only=True)(
            type("Coloured", (kind,), {"__annotations__": {"colour": "str"}})
        )
        red = coloured(*RULES, colour="red")
        assert (red.colour, replace(red, max_words=7).max_words, fields(red)[-1].name) == ("red", 7, "colour")
        for each in (one, of_plain, red) if kind is OURS else ():  # what the package itself replaces by
            assert each.__replace__(max_words=7) == replace(each, max_words=7) != each


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
            ({"share_prefix": "$share", "queue_groups": True}, "exclude each other"),
            *(({"options": options}, "options must be a tuple|an option is declared by its name") for options in (
                {"level": int}, ["level"], ("level",), (("level",),), (("level", ()),), (("level", range(0)),), ((5, int),),
                (("level", "abc"),), (("", int),))),
        ],
    )  # fmt: skip
    def test_must_not_contradict_itself(self, rule: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            replace(AMQP, **rule)

    def test_options_have_values_of_several_types(self) -> None:
        own = Dialect("own", ":", "*", "#", options=(("level", ("low", 3)), ("ratio", float)))
        own.check_options({"level": "low", "ratio": 0.5})
        own.check_options({"level": 3, "ratio": None})
        with pytest.raises(TypeError, match="the option level of own is a str or an int, not 2"):
            own.check_options({"level": 2.5})
        with pytest.raises(ValueError, match="the option level of own is one of low, 3, not 4"):
            own.check_options({"level": 4})

    def test_misspelt_names_are_not_remembered_for_ever(self) -> None:
        """Such names may come from strangers."""
        for number in range(3_000):
            MQTT.check_options({f"name{number}": 1})
        assert subtrie.dialects._almost.cache_info().currsize <= 1_024


def test_texts_mean_their_words_and_are_checked() -> None:
    for dialect, filter, topic, matches in (
        (MQTT, "room/+", "room/12", True),
        (MQTT, "room/+", "hall/12", False),
        (MQTT, "$share/g/room/+", "room/12", True),
        (AMQP, "#", "", True),
        (AMQP, "a.*", ("a", "b"), True),
    ):
        assert dialect.matches(filter, topic) is matches
    assert [MQTT.subsumes(filter, "/") for filter in ("+", "#")] == [False, True]
    assert [NATS.overlaps("a.*", other) for other in ("*.b", "b.>")] == [True, False]
    for bad, topic, reason in (("room/a+", "room/12", "inside a word"), ("room/+", "room/+", "in a topic")):
        with pytest.raises(TopicError, match=reason):
            MQTT.matches(bad, topic)


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
