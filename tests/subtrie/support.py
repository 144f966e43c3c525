"""Support for tests of subscription tries: what filters mean, subscribers, groups, and a private copy with words on
exact paths."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple
from zlib import crc32

import pytest
from hypothesis import strategies as st

from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicError
from tests.keys import key
from tests.twins import Fault, Twin, load_twin

# --------------------------------------------------------------------------------------------------------- subscribers


class Subscriber:
    """Compared by identity, may be weakly referenced, and keeps `holds` alive."""

    holds: object = None

    def __init__(self, name: str = "") -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name or "subscriber"


class SameHash(Subscriber):
    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        return self is other


class Equal(Subscriber):
    """A subscriber that equals any other one with the same name."""

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Equal), f"compared with {other!r}"
        return self.name == other.name


class Told:
    """A listener that accepts only that a filter is wanted and no longer wanted in turn."""

    def __init__(self) -> None:
        self.wanted: set[str] = set()

    def __call__(self, filter: str, wanted: bool) -> None:
        assert wanted is (filter not in self.wanted), "the same twice"
        self.wanted ^= {filter}


# --------------------------------------------------------------------------------------------------- what filters mean

PATHS = Dialect(
    "paths", "/", one_word="*", many_words="**", reserved_prefix="_", zero_words=True, share_prefix="$share"
)
WIDE = replace(MQTT, name="wide", one_word="⊕")  # not matched in place
LAX = replace(MQTT, name="lax", many_last=False, share_prefix=None)
OWN_DIALECTS = [
    PATHS,
    WIDE,
    LAX,
    replace(LAX, name="one or more", many_min=1, zero_words=True),
    Dialect("long wildcards", "/", one_word="one", many_words="many", queue_groups=True),
    Dialect("flat", ":", one_word="?", many_words=None, empty_words=False, max_words=3),
]
DIALECTS = [AMQP, MQTT, NATS]
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
either_layout = pytest.mark.parametrize("exact", [False, True], ids=["by words", "exact"])


def splits(dialect: Dialect, filter: tuple[str, ...], topic: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield all that the wildcards may stand for, those first in which an early wildcard stands for few words."""
    if not filter:
        if not topic:
            yield ()
        return
    first, rest = filter[0], filter[1:]
    if first == dialect.many_words:
        for size in range(dialect.many_min, len(topic) + 1):
            for others in splits(dialect, rest, topic[size:]):
                yield topic[:size], *others
    elif topic and first == dialect.one_word:
        for others in splits(dialect, rest, topic[1:]):
            yield topic[0], *others
    elif topic and first == topic[0]:
        yield from splits(dialect, rest, topic[1:])


@functools.cache
def stands_for(dialect: Dialect, filter: str, topic: str) -> tuple[Any, ...] | None:
    """What the wildcards of a filter stand for in a topic; None if it does not match. Each possibility is tried."""
    words, said = dialect.unshare(dialect.split_filter(filter))[1], dialect.split_topic(topic)
    if (
        dialect.reserved_prefix
        and said
        and said[0].startswith(dialect.reserved_prefix)
        and dialect.is_wild(words[0] if words else "")
    ):
        return None
    return next(splits(dialect, words, said), None)


def reaches(dialect: Dialect, filter: str, topic: str, but: Iterable[str] = ()) -> bool:
    """Whether a filter matches, and none of its exclusions does."""
    return stands_for(dialect, filter, topic) is not None and all(
        stands_for(dialect, part, topic) is None for part in but
    )


def is_valid(split: Callable[[str], object], text: str) -> bool:
    """Whether a text is a valid filter or topic; `split` is the dialect's function that splits filters or topics."""
    try:
        split(text)
    except TopicError:
        return False
    return True


class Ways:
    """The arguments to subscribe to a filter in a dialect, with or without a group."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.groups = dialect.queue_groups or dialect.share_prefix is not None

    def filter(self, filter: str, group: str | None) -> str:
        separator = self.dialect.separator
        return filter if group is None or self.dialect.queue_groups else f"$share{separator}{group}{separator}{filter}"

    def options(self, group: str | None) -> dict[str, Any]:
        return {"queue": group} if group is not None and self.dialect.queue_groups else {}

    def group(self, filter: str, group: str) -> Any:
        """The identity of a group: in NATS, only its name."""
        return group if self.dialect.queue_groups else (filter, group)

    def subscribe(self, trie: SubscriptionTrie, filter: str, group: str | None, subscriber: Any, **more: Any) -> bool:
        return trie.subscribe(self.filter(filter, group), subscriber, **self.options(group), **more)

    def unsubscribe(self, trie: SubscriptionTrie, filter: str, group: str | None, subscriber: Any) -> bool:
        return trie.unsubscribe(self.filter(filter, group), subscriber, **self.options(group))


both_ways = pytest.mark.parametrize("dialect", [MQTT, NATS], ids=lambda dialect: dialect.name)


# ---------------------------------------------------------------------------------------------------- texts, any of them

ONE, MANY = "<one>", "<many>"  # words of filters that are wild
LITERAL = ["a", "b", "a", "b", "c", "", "é", "я𝄞", "longer than eight", "longer-than-eight-2", "$s", "_s", "a>", "*"]
WORDS = st.lists(st.sampled_from([*LITERAL, ONE, ONE, ONE, MANY, MANY, MANY]), max_size=4)
LITERAL_WORDS = st.lists(st.sampled_from(LITERAL), max_size=4)


def text_of(dialect: Dialect, words: Iterable[Any]) -> str:
    """A valid filter, or topic, as like the words as the dialect allows."""
    said: list[str] = []
    given = list(words)[: min(dialect.max_words, 4)]
    for at, word in enumerate(given):
        many = word is MANY and dialect.many_words is not None and (at == len(given) - 1 or not dialect.many_last)
        text = str(dialect.many_words) if many else dialect.one_word if word in (ONE, MANY) else word
        said.append(text if word in (ONE, MANY) or is_valid(dialect.split_topic, text or "a") else "b")
    text = dialect.join(said)
    return text if all(is_valid(dialect.split_filter, one) for one in (text, Ways(dialect).filter(text, "g"))) else "a"


def topics_near(dialect: Dialect, filter: str) -> list[str]:
    """Topics that a filter matches, and such as it nearly matches."""
    found = {"a", dialect.join(("a", "b")), f"{dialect.reserved_prefix or ''}s"}
    for one, many in (("b", ()), ("a", ("a",)), ("é", ("a", "b"))):
        words = [
            [one] if w == dialect.one_word else many if w == dialect.many_words else [w]
            for w in dialect.split_filter(filter)
        ]
        found.add(dialect.join(tuple(word for some in words for word in some)))
    return [text for text in sorted(found) if is_valid(dialect.split_topic, text)]


def in_order(found: Iterable[Any]) -> list[Any]:
    return sorted(found, key=repr)


MADE: list[SubscriptionTrie] = []  # in the test that runs


def made(dialect: Dialect = AMQP, rows: Iterable[tuple[Any, ...]] = (), **settings: Any) -> SubscriptionTrie:
    """A trie with these subscriptions, one after another: (filter, subscriber), with or without a dict of options.
    It lives until the end of the test, and is checked there (conftest.py)."""
    trie = SubscriptionTrie(dialect, **settings)
    MADE.append(trie)
    for filter, subscriber, *options in rows:
        trie.subscribe(filter, subscriber, **(options[0] if options else {}))
    return trie


def filled(*filters: str, dialect: Dialect = AMQP, **settings: Any) -> SubscriptionTrie:
    """The same, where each filter has itself as its subscriber."""
    return made(dialect, ((filter, filter) for filter in filters), **settings)


# ------------------------------------------------------------------------------------------- a twin with exact hashes

# The branches that words take, from the first C-node of their level on. `t1`, `t2` and `t3` agree in all 64 bits.
PLACES = {
    "a": (1,),
    "b": (2,),
    "c": (3,),
    "d": (4,),
    "s1": (5, 1),
    "s2": (5, 2),
    "s3": (5, 3),
    "deep1": (6, 6, 6, 1),
    "deep2": (6, 6, 6, 2),
    "deep3": (6, 7),
    "t1": (7,),
    "t2": (7,),
    "t3": (7,),
}
HASHES = {word: key(word, *path).hash for word, path in PLACES.items()}


class On(NamedTuple):
    """A subscription without its options."""

    filter: str
    subscriber: str = "x"


@functools.cache
def subscription_twin(fault: Fault | None = None) -> Twin:
    """Import a private copy of both packages in which the words of PLACES take those paths."""
    twin = load_twin.__wrapped__(fault, ("ctrie", "subtrie"))  # a new copy, not the cached one
    for name in ("match.plan", "changeable", "trie"):
        twin.modules[f"subtrie._trie.{name}"].word_hash = word_hash  # type: ignore[attr-defined]
    stripes: int = vars(twin.modules["subtrie._trie.match.answer_cache"])["STRIPES"]
    for module in twin.modules.values():
        if hasattr(module, "own_stripe"):  # all threads remember their answers in one place
            vars(module)["own_stripe"] = lambda kind: kind * stripes
    return twin


@functools.cache
def word_hash(word: str) -> int:
    """The hash of a word of PLACES, or of any other text, such as a whole filter."""
    return HASHES[word] if word in HASHES else key(word, 8 + crc32(word.encode()) % 40).hash


def twin_trie(twin: Twin, *subscriptions: On, **settings: Any) -> Any:
    """A trie of a private copy."""
    trie = twin.modules["subtrie"].SubscriptionTrie(**settings)
    for on in subscriptions:
        trie.subscribe(*on)
    return trie


@contextmanager
def explained(where: str) -> Iterator[None]:
    try:
        yield
    except Exception as raised:
        raised.add_note(where)
        raise
