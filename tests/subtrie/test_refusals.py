"""Bad input to a SubscriptionTrie: the error names the fault and its place, and nothing has changed.

The texts are those that docs/topics.md lists; the dialect and the trie refuse them alike. Subscribers have methods that
raise, block or call the trie.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError, TopicStore
from tests.odd_values import Number
from tests.subtrie.support import LAX, OWN_DIALECTS, either_layout, every_dialect, is_valid, made
from tests.threads import LIMIT, finish, start


def sample(dialect: Dialect, exact: bool = False) -> SubscriptionTrie:
    trie = SubscriptionTrie(dialect, exact=exact)
    for filter in ("a", dialect.join(("a", "b")), dialect.join((dialect.one_word, "b"))):
        trie.subscribe(filter, "ann", qos=1)
    trie.subscribe(dialect.many_words or "a", "bob")
    return trie


def everything(trie: SubscriptionTrie) -> Any:
    topics = [text for text in (trie.dialect.join(("a", "b")), "a") if is_valid(trie.dialect.split_topic, text)]
    listed = sorted((found.filter, found.subscriber, dict(found.options)) for found in trie.subscriptions())
    return len(trie), listed, [sorted(trie.match(topic)) for topic in topics], trie.stats()


@contextmanager
def unchanged(trie: SubscriptionTrie) -> Iterator[None]:
    before = everything(trie)
    yield
    assert everything(trie) == before
    trie.check()


# --------------------------------------------------------------------------------------------------------------- texts

Ask = Callable[[Any, Any], Any]
ABOUT_A_FILTER: dict[str, Ask] = {
    "subscribe": lambda trie, filter: trie.subscribe(filter, "ann"),
    "subscribe with options": lambda trie, filter: trie.subscribe(filter, "new", qos=2),
    "unsubscribe": lambda trie, filter: trie.unsubscribe(filter, "ann"),
    "subscribe_many": lambda trie, filter: trie.subscribe_many([("a", "new"), (filter, "ann")]),
    "unsubscribe_many": lambda trie, filter: trie.unsubscribe_many([("a", "ann"), (filter, "ann")]),
    "subscriptions": lambda trie, filter: trie.subscriptions(filter=filter),
    "overlapping": lambda trie, filter: trie.overlapping(filter),
    "groups": lambda trie, filter: trie.groups(filter),
    "members": lambda trie, filter: trie.members(filter, "g"),
}
ABOUT_A_TOPIC: dict[str, Ask] = {
    "match": lambda trie, topic: trie.match(topic),
    "match_many": lambda trie, topic: trie.match_many(["a", topic]),
    "match_columns": lambda trie, topic: trie.match_columns(["a", topic]),
    "has_match": lambda trie, topic: trie.has_match(topic),
    "count": lambda trie, topic: trie.count(topic),
    "entries": lambda trie, topic: trie.entries(topic),
    "match_iter": lambda trie, topic: trie.match_iter(topic),
    "deliveries": lambda trie, topic: trie.deliveries(topic),
    "deliveries_many": lambda trie, topic: trie.deliveries_many(["a", topic]),
    "deliveries_of": lambda trie, topic: trie.deliveries_of(topic, "ann"),
}
KINDS = {"filter": ABOUT_A_FILTER, "topic": ABOUT_A_TOPIC}

BOTH: list[tuple[Dialect, str, int, str]] = [
    (AMQP, "a" * 256, 255, "longer than 255 bytes"),
    (AMQP, "a" * 254 + "é", 254, "longer than 255 bytes"),
    (AMQP, "é" * 128, 127, "longer than 255 bytes"),
    (MQTT, "a" * 65_536, 65_535, "longer than 65535 bytes"),
    (NATS, "a" * 4_097, 4_096, "longer than 4096 bytes"),
    (MQTT, "/".join(["a"] * 202), 402, "more than 201 words"),
    (NATS, "a." * 2_047 + "bc", 512, "more than 256 words"),
    (MQTT, "", 0, "empty {}"),
    (NATS, "", 0, "empty {}"),
    (NATS, "a..b", 2, "empty word"),
    (NATS, ".a", 0, "empty word"),
    (NATS, "a.", 2, "empty word"),
    (MQTT, "a/b+", 3, "wildcard '+' inside a word"),
    (MQTT, "a#", 1, "wildcard '#' inside a word"),
    *((NATS, f"a.b{space}c", 3, f"forbidden character {space!r}") for space in " \t\n\f\r"),
    *((dialect, "a\0b", 1, r"forbidden character '\x00'") for dialect in (AMQP, MQTT, NATS)),
    *((dialect, "ab\ud800", 2, "lone surrogate") for dialect in (AMQP, MQTT, NATS)),
    *((dialect, "é\udfffb", 1, "lone surrogate") for dialect in (AMQP, MQTT, NATS)),
]
FILTERS: list[tuple[Dialect, str, int, str]] = [
    (MQTT, "a/#/b", 2, "'#' is not the last word"),
    (NATS, "a.>.b", 2, "'>' is not the last word"),
    (NATS, ".".join("*" * 65), 128, "more than 64 wildcards"),
    (replace(AMQP, max_wildcards=2), "*.a.#.*", 6, "more than 2 wildcards"),
    (MQTT, "$share", 6, "shared subscription without a group"),
    (MQTT, "$share/", 7, "shared subscription without a group"),
    (MQTT, "$share//a", 7, "shared subscription without a group"),
    (MQTT, "$share/g", 8, "shared subscription without a filter"),
    (MQTT, "$share/g/", 9, "shared subscription without a filter"),
    (MQTT, "$share/g+/a", 8, "wildcard '+' in the name of a group"),
    (MQTT, "$share/g/$share/h/t", 9, "shared subscription inside another"),
    (MQTT, "$share/g/$share", 9, "shared subscription inside another"),
]
TOPICS: list[tuple[Dialect, str, int, str]] = [
    (MQTT, "a/+", 2, "wildcard '+' in a topic"),
    (MQTT, "a/#", 2, "wildcard '#' in a topic"),
    (NATS, "*.b", 0, "wildcard '*' in a topic"),
    (NATS, "a.>", 2, "wildcard '>' in a topic"),
]
BAD = [("filter", row) for row in (*BOTH, *FILTERS)] + [("topic", row) for row in (*BOTH, *TOPICS)]


@pytest.mark.parametrize(("kind", "row"), BAD, ids=lambda value: repr(value)[:40])
def test_a_bad_text_is_refused_by_the_dialect_and_by_every_way_to_ask(
    kind: str, row: tuple[Dialect, str, int, str]
) -> None:
    dialect, text, position, reason = row
    said = text, position, reason.format(kind)
    split = getattr(dialect, f"split_{kind}")
    for trie in (sample(dialect), sample(dialect, exact=True)):
        with unchanged(trie):
            for ask in (lambda _, text: split(text), *KINDS[kind].values()):
                with pytest.raises(TopicError) as refused:
                    ask(trie, text)
                error = refused.value
                assert (error.text, error.position, error.reason) == said
                assert str(error).startswith(f"{reason.format(kind)} at character {position} of ")


ACCEPTED = [
    *((AMQP, text) for text in ("", "a..b", ".a", "a.", "a*b.c#", "##", "a.*", "#.a.#", "." * 255, " \t")),
    *((MQTT, text) for text in ("/", "a/b c", "/".join(["a"] * 201))),
    *((NATS, text) for text in ("a*.>>", "$share.g.a")),
]


@pytest.mark.parametrize(("dialect", "text"), ACCEPTED, ids=lambda value: repr(value)[:20])
def test_what_looks_bad_and_is_not(dialect: Dialect, text: str) -> None:
    trie = made(dialect)
    assert trie.subscribe(text, 1)
    assert trie.match(text) == (1,)
    assert trie.filters(1) == [text]
    assert trie.unsubscribe(text, 1)
    assert trie.stats()["branches"] == 0


NEARLY = [
    AMQP, MQTT, NATS, LAX, *OWN_DIALECTS[-2:],
    replace(AMQP, name="short AMQP", max_words=3, max_wildcards=1, max_bytes=12),
    replace(NATS, name="odd NATS", reserved_prefix="$", empty_words=True, zero_words=True, forbidden="b\xe9"),
    replace(LAX, name="as it comes", wildcards_in_words=True, wildcards_in_topics=True),
]  # fmt: skip
WORDS = [
    "a",
    "b",
    "",
    "a\xe9",
    "\u044f",
    "\U0001d11e",
    "$s",
    "$share",
    "abcdefgh",
    "abcdefghi",
    "+",
    "#",
    "*",
    ">",
    "one",
]
PARTS = ["a", ".", "/", "+", "#", "*", ">", "\0", " ", "\ud800", "\x7f", "\x80"]
NEARLY_VALID = st.lists(st.sampled_from(WORDS), max_size=6).map(tuple) | st.lists(
    st.sampled_from(PARTS), max_size=12
).map("".join)


def outcome(call: Callable[[], object]) -> Any:
    try:
        call()
    except TopicError as error:
        return error.args
    return None


@given(dialect=st.sampled_from(NEARLY), exact=st.booleans(), texts=st.lists(NEARLY_VALID, min_size=1, max_size=6))
def test_any_text_is_refused_as_the_dialect_refuses_it(dialect: Dialect, exact: bool, texts: list[Any]) -> None:
    """The compiled twin cuts texts itself."""
    trie = SubscriptionTrie(dialect, exact=exact)
    for given_text in texts:
        text = given_text if isinstance(given_text, str) else dialect.join(given_text)
        assert outcome(lambda: trie.subscribe(text, 1)) == outcome(lambda: dialect.split_filter(text))  # noqa: B023
        refused = outcome(lambda: dialect.split_topic(text))  # noqa: B023
        for ask in (trie.match, trie.has_match, trie.deliveries):
            assert outcome(lambda: ask(text)) == refused  # noqa: B023
        assert refused or trie.match(text) == (
            (1,) if any(map(dialect.matches, trie.filters(1), [text] * len(trie))) else ()
        )


@pytest.mark.parametrize("offence", ["\0", "\ud800", " ", "\n", ">", "*", ".."])
def test_an_offence_is_found_wherever_it_lies(offence: str) -> None:
    """A text is read eight characters at a time."""
    trie = made(NATS)
    for before in range(20):
        for after in (0, 1, 7, 9):
            text = "a" * before + offence + "b" * after
            for split, ask in (
                (NATS.split_topic, trie.match),
                (NATS.split_filter, lambda text: trie.subscribe(text, 1)),
            ):
                refused = outcome(lambda: split(text))  # noqa: B023
                assert outcome(lambda: ask(text)) == refused  # noqa: B023
                assert refused is None or refused[:2] == (text, before + (offence == ".." and before > 0)), repr(text)


@every_dialect
def test_no_text_at_all(dialect: Dialect) -> None:
    trie = sample(dialect)
    for text in (None, b"a.b", 7, ("a", "b"), bytearray(b"a")):
        for kind, ways in KINDS.items():
            split: Ask = lambda _, text: getattr(dialect, f"split_{kind}")(text)  # noqa: B023, E731
            for name, ask in (*ways.items(), ("split", split)):
                if text is None and name == "subscriptions":
                    continue  # None asks for all filters
                with (
                    unchanged(trie),
                    pytest.raises(TypeError, match=f"a {kind} must be a str, not {type(text).__name__}"),
                ):
                    ask(trie, text)


class Lying(str):
    def split(self, *_: Any) -> list[Any]:  # type: ignore[override]
        return ["a.b", None]

    def __str__(self) -> str:
        return self.upper()

    def __eq__(self, _: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@pytest.mark.parametrize("settings", [{}, {"index": True}, {"cache": 8}, {"exact": True}], ids=str)
def test_a_str_of_another_class_is_the_text_that_it_is_whatever_its_methods_say(settings: dict[str, Any]) -> None:
    trie = made(rows=[(Lying("a.b"), 1)], **settings)
    assert [(type(found.filter), found.filter) for found in trie.subscriptions()] == [(str, "a.b")]
    for _ in range(3):
        for topic in ("a.b", Lying("a.b")):
            assert trie.match(topic) == tuple(trie.match_iter(topic)) == trie.match_many([topic])[0] == (1,)
        assert trie.match(Lying("a.c")) == ()
    assert trie.filters(1) == ["a.b"]
    assert trie.unsubscribe("a.b", 1)


def test_what_else_is_refused() -> None:
    trie = sample(MQTT)
    wrong: list[tuple[Callable[[], object], type[Exception], str]] = [
        *((lambda dialect=dialect: SubscriptionTrie(dialect), TypeError, "dialect must be a Dialect, such as AMQP, not ")
          for dialect in (None, "AMQP", Dialect)),
        (lambda: trie.__init__(MQTT), TypeError, "is initialised once; make another one"),  # type: ignore[misc]
        *((lambda ask=ask: ask("ab"), TypeError, "takes several topics")
          for ask in (trie.match_many, trie.deliveries_many, trie.match_columns)),
        (lambda: trie.members("a", 1), TypeError, "the name of a group is a str, not int"),  # type: ignore[arg-type]
        (lambda: trie.members("$share/g/a", "h"), ValueError, "names the group 'g', not 'h'"),
        *((lambda other=other: trie.diff(other), TypeError, "takes a SubscriptionTrie, not ") for other in (None, "a.b", AMQP)),
        (lambda: trie.diff(SubscriptionTrie()), ValueError, "same dialect: MQTT, not AMQP"),
        (lambda: trie.diff(SubscriptionTrie(MQTT, exact=True)), ValueError, "exact="),
        (lambda: SubscriptionTrie(MQTT, exact=True).diff(trie), ValueError, "exact="),
        *((lambda size=size: SubscriptionTrie(cache=size), ValueError, f"between 0 and 65536 topics a thread, not {size}")
          for size in (-1, 1 << 17)),
        (lambda: SubscriptionTrie(cache="64"), TypeError, "cache must be a number of topics, not str"),  # type: ignore[arg-type]
        (lambda: SubscriptionTrie(weak=True, index=True), ValueError, "weak and index exclude each other"),
        (lambda: SubscriptionTrie(weak=True, cache=8), ValueError, "weak and cache exclude each other"),
        *((lambda change=change, name=name: change(SubscriptionTrie(NATS), "a", 1, queue=name), error, text)
          for name, error, text in (("", TopicError, "empty"), ("a b", TopicError, "forbidden"), (1, TypeError, "int"))
          for change in (SubscriptionTrie.subscribe, SubscriptionTrie.unsubscribe)),
    ]  # fmt: skip
    for call, error, text in wrong:
        with unchanged(trie), pytest.raises(error, match=text):
            call()


# ------------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("dialect", "options", "error", "said"),
    [
        (NATS, {"qeue": "w"}, TypeError, "NATS knows no option qeue; did you mean queue"),
        (MQTT, {"QoS": 1}, TypeError, "did you mean qos"),
        (AMQP, {"options": vars(int)}, TypeError, r"did you mean \*\*options"),
        (MQTT, {"qos": 3}, ValueError, "the option qos of MQTT is one of 0, 1, 2, not 3"),
        (MQTT, {"qos": "1"}, TypeError, "qos of MQTT is an int, not '1'"),
        (MQTT, {"no_local": 1}, TypeError, "no_local of MQTT is a bool, not 1"),
        (MQTT, {"qos": True}, TypeError, "qos of MQTT is an int, not True"),
        (MQTT, {"subscription_identifier": False}, TypeError, "subscription_identifier of MQTT is an int, not False"),
        # The range has 268,435,455 numbers: to name each would take a minute and gigabytes.
        (MQTT, {"subscription_identifier": 0}, ValueError, r"subscription_identifier of MQTT is from 1 to \d+, not 0"),
        *((MQTT, {"weight": weight}, ValueError, "weight of MQTT is from 1 to 1000") for weight in (0, -1, 1_001)),
        *((MQTT, {"weight": weight}, TypeError, "weight of MQTT is an int") for weight in (True, 1.5, "x")),
        # A misspelt `but` would give secrets away.
        *((dialect, {name: ("a",)}, TypeError, rf"knows no option {name}; did you mean but\?")
          for dialect in (AMQP, MQTT, NATS) for name in ("butt", "But", "BUT", "buts", "bt", "but_")),
    ],
)  # fmt: skip
def test_options_that_the_dialect_cannot_mean_are_refused(
    dialect: Dialect, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    trie = made(dialect)
    with pytest.raises(error, match=said):
        trie.subscribe("a", 1, **options)
    with pytest.raises(error, match=said):
        trie.subscribe_many([("b", 1), ("a", 1, options)])
    assert len(trie) == 0
    free = {"button": "left", "about": 1, "colour": "red", "priority": 5, "option": {"qos": 1}, "options": "x"}
    trie.subscribe("a", 1, **free)  # all other names are free
    assert dict(next(iter(trie)).options) == free


# --------------------------------------------------------------------------------------------------------- subscribers

UNHASHABLE: Any = ["ann"]
ABOUT_A_SUBSCRIBER: dict[str, Ask] = {
    "subscribe": lambda trie, subscriber: trie.subscribe("a.b", subscriber, qos=1),
    "unsubscribe": lambda trie, subscriber: trie.unsubscribe("a.b", subscriber),
    "unsubscribe_all": lambda trie, subscriber: trie.unsubscribe_all(subscriber),
    "subscriptions": lambda trie, subscriber: list(trie.subscriptions(subscriber=subscriber)),
    "subscriptions of a filter": lambda trie, subscriber: list(trie.subscriptions("a.b", subscriber)),
    "filters": lambda trie, subscriber: trie.filters(subscriber),
    "deliveries_of": lambda trie, subscriber: trie.deliveries_of("a.b", subscriber),
}


class Unwilling:
    """Has the hash of the `victim`, and breaks or does something else when it is hashed or compared."""

    def __init__(
        self, victim: object, on_hash: Callable[[], Any] = lambda: None, on_eq: Callable[[], Any] = lambda: None
    ) -> None:
        self.victim = victim
        self.on_hash = on_hash
        self.on_eq = on_eq

    def __hash__(self) -> int:
        self.on_hash()
        return hash(self.victim)

    def __eq__(self, other: object) -> bool:
        self.on_eq()
        return self is other


class Broken(Exception):
    pass


def break_down() -> NoReturn:
    raise Broken


@pytest.mark.parametrize("ask", ABOUT_A_SUBSCRIBER.values(), ids=ABOUT_A_SUBSCRIBER)
def test_a_subscriber_that_cannot_be_hashed_or_compared(ask: Ask) -> None:
    trie = sample(AMQP)
    with unchanged(trie), pytest.raises(TypeError, match="unhashable type: 'list'"):
        ask(trie, UNHASHABLE)
    with unchanged(trie), pytest.raises(TypeError, match="unhashable type: 'list'"):
        trie.subscriptions(subscriber=UNHASHABLE)  # at the call
    for moment in ("on_hash", "on_eq"):
        with unchanged(trie), pytest.raises(Broken):
            ask(trie, Unwilling("ann", **{moment: break_down}))


@pytest.mark.parametrize("crowd", [0, 5, 30], ids=lambda crowd: f"among {crowd}")
@pytest.mark.parametrize("breaks", [True, False])
def test_a_comparison_amid_a_match(crowd: int, breaks: bool) -> None:
    """It takes place only for two different objects with one hash. Whatever it does, the trie stays sound."""
    trie = made()
    written = []

    def come_back() -> None:
        written.append(trie.unsubscribe("a.b", "later") or trie.subscribe("a.b", "later"))

    one, other = (Unwilling(7, on_eq=break_down if breaks else come_back) for _ in range(2))
    trie.subscribe("a.b", one)
    trie.subscribe("*.b", other)
    for n in range(crowd):
        trie.subscribe(f"#.{'b' if n % 2 else '*'}", f"{n}")
    size = len(trie)
    assert (trie.has_match("a.b"), len(list(trie.entries("a.b")))) == (True, size)
    for question in (trie.match, trie.count, lambda topic: trie.match_many([topic])):
        if breaks:
            with pytest.raises(Broken):
                question("a.b")
        else:
            question("a.b")
    assert bool(written) is not breaks
    if not breaks:
        for topic, who in (("c.b", other), ("a.b", one)):
            assert sum(subscriber is who for subscriber in trie.match(topic)) == 1
    trie.unsubscribe("a.b", "later")
    assert len(trie) == size


@pytest.mark.parametrize("name", ["subscribe", "unsubscribe", "deliveries_of"])
@pytest.mark.parametrize("moment", ["on_hash", "on_eq"])
def test_a_subscriber_that_comes_back_to_the_trie(name: str, moment: str) -> None:
    """Its writes take effect; then its own operation continues, after a restart if needed."""
    trie = made(rows=[("a.b", 7)])
    guests: list[str] = []

    def come_back() -> None:
        if len(guests) < 3:
            guests.append(f"guest {len(guests)}")
            assert trie.subscribe("a.b", guests[-1])
            assert trie.match("a.b")

    visitor = Unwilling(7, **{moment: come_back})
    ABOUT_A_SUBSCRIBER[name](trie, visitor)
    assert guests
    setattr(visitor, moment, lambda: None)
    assert set(trie.match("a.b")) - {visitor} == {7, *guests}


def test_a_subscriber_that_blocks_when_compared_holds_nobody_up() -> None:
    trie = made(rows=[("a.b", 7)])
    entered, go_on = threading.Event(), threading.Event()

    def block() -> None:
        entered.set()
        assert go_on.wait(LIMIT)

    slow = Unwilling(7, on_eq=block)
    workers = start([lambda: trie.subscribe("a.b", slow)])
    assert entered.wait(LIMIT)
    assert trie.subscribe("a.b", "other")
    assert trie.unsubscribe("a.b", "other")
    assert trie.subscribe("a.c", "other")
    assert trie.match("a.b") == (7,)
    assert len(trie.snapshot()) == 2
    go_on.set()
    assert finish(workers) == [True]
    assert set(trie.match("a.b")) == {7, slow}


def test_matching_does_not_hash_subscribers() -> None:
    hashed = []
    trie = made()
    one, other = (Unwilling(7, on_hash=lambda: hashed.append(1)) for _ in range(2))
    for filter in ("a.b", "a.*", "#"):
        trie.subscribe(filter, one)
        trie.subscribe(filter, other)
    hashed.clear()
    assert len(trie.match("a.b")) == trie.count("a.b") == 2
    assert trie.has_match("a.b")
    assert not hashed


@pytest.mark.parametrize("crowd", [0, 3, 7, 8, 40], ids=lambda crowd: f"among {crowd}")
def test_subscribers_are_the_same_if_they_are_the_same_key_of_a_dict(crowd: int) -> None:
    """However many others are on the filter. The first object stays, and the last options count."""
    trie = made(rows=[("a", f"{n}") for n in range(crowd)])
    one, other = math.nan, float("nan")
    alike: list[list[Any]] = [[1, 1.0, True], [None], [one], [other], *([Unwilling(7)] for _ in range(5))]
    for first, *same in alike:
        assert trie.subscribe("a", first)
        for again in (first, *same):
            for options in ({}, {"qos": 2}, {}):
                assert not trie.subscribe("a", again, **options)
                (kept,) = (found for found in trie.subscriptions("a") if found.subscriber is first)
                assert dict(kept.options) == options
        assert trie.subscribe("*", [first, *same][-1])
    assert trie.count("a") == crowd + len(alike)
    assert len(list(trie.entries("a"))) == crowd + 2 * len(alike)
    for left, (first, *same) in enumerate(alike, 1 - len(alike)):
        assert sorted(trie.filters(first)) == ["*", "a"]
        assert trie.unsubscribe("a", [first, *same][-1])
        assert not trie.unsubscribe("a", first)
        assert trie.unsubscribe_all(first) == 1
        assert len(trie) == crowd - 2 * left


# ----------------------------------------------------------------------------------------------------------- snapshots


def test_a_snapshot_refuses_every_change_and_a_copy_is_a_fork() -> None:
    trie = sample(AMQP)
    snapshot: Any = trie.snapshot()
    changes: list[Callable[[], object]] = [
        *(lambda ask=ask: ask(snapshot, "a") for ask in list(ABOUT_A_FILTER.values())[:5]),
        lambda: snapshot.unsubscribe("a", "nobody"),
        *(lambda many=many: many([]) for many in (snapshot.subscribe_many, snapshot.unsubscribe_many)),
        *(lambda who=who: snapshot.unsubscribe_all(who) for who in ("ann", "nobody")),
        snapshot.clear,
        copy.copy(snapshot).clear,
    ]
    with unchanged(snapshot), unchanged(trie):
        for change in changes:
            with pytest.raises(TypeError, match=r"read-only snapshot; take \.fork\(\)"):
                change()
        copied = copy.copy(trie)
        copied.subscribe("a", "new")
        copied.check()
    assert (repr(trie), repr(snapshot)) == ("<SubscriptionTrie: AMQP>", "<SubscriptionTrie: AMQP, read-only>")


class Unclear:
    """Such as arrays, whose == gives no truth value."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


SAME = Unclear()


@either_layout
def test_a_difference_of_options_that_are_equal_and_not_the_same(exact: bool) -> None:
    """True is no 1, and -0.0 no 0.0, wherever they stand; an enumeration's 1 is. What does not compare counts as changed,
    unless it is the same object."""
    rows: list[tuple[Any, Any]] = [
        (1, True),
        (0.0, -0.0),
        ([1], [1.0]),
        (Unclear(), Unclear()),
        (SAME, SAME),
        (1, 1),
        ([1.5], [1.5]),
        (Number.ONE, 1),
        ({}, {}),
    ]
    trie = made(exact=exact)
    store = TopicStore(AMQP, {str(number): row[0] for number, row in enumerate(rows)})
    trie.subscribe_many((str(number), "s", {"q": row[0]}) for number, row in enumerate(rows))
    before, stored = trie.snapshot(), store.snapshot()
    for number, row in enumerate(rows):
        trie.subscribe(str(number), "s", q=row[1])
        store[str(number)] = row[1]
    assert sorted(change.subscription.filter for change in trie.diff(before)) == ["0", "1", "2", "3"]
    assert sorted(topic for topic, *_ in store.diff(stored)) == ["0", "1", "2", "3"]
