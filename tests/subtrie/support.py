"""Support for tests of subscription tries: contents as dicts, and a private copy with words on exact paths."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from zlib import crc32

from subtrie import AMQP, Dialect, TopicError
from tests.keys import key
from tests.twins import Fault, Twin, load_twin


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


# ------------------------------------------------------------------------------------------------------- specification


class On(NamedTuple):
    """A subscription without its options."""

    filter: str
    subscriber: str = "x"


State = dict[On, Any]  # the option `by` of every subscription, None without options


@functools.cache
def reaches(dialect: Dialect, filter: str, topic: str) -> bool:
    return dialect.matches(dialect.split_filter(filter), dialect.split_topic(topic))


matches = functools.partial(reaches, AMQP)


def listed(subscriptions: Iterable[Any]) -> State:
    """Subscriptions as a state; each must occur once."""
    found = list(subscriptions)
    state = {On(s.filter, s.subscriber): s.options.get("by") for s in found}
    assert len(state) == len(found), f"a subscription twice: {found}"
    return state


def is_valid(split: Callable[[str], object], text: str) -> bool:
    """Whether a text is a valid filter or topic; `split` is the dialect's function that splits filters or topics."""
    try:
        split(text)
    except TopicError:
        return False
    return True


def content(trie: Any) -> State:
    return listed(trie.subscriptions())


# ------------------------------------------------------------------------------------------- a twin with exact hashes

# The branches that words take, from the first C-node of their level on. `t1`, `t2` and `t3` agree in all 64 bits.
PATHS = {
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
HASHES = {word: key(word, *path).hash for word, path in PATHS.items()}


@functools.cache
def subscription_twin(fault: Fault | None = None) -> Twin:
    """Import a private copy of both packages in which the words of PATHS take those paths."""
    twin = load_twin.__wrapped__(fault, ("ctrie", "subtrie"))  # a new copy, not the cached one
    modules = ("match.plan", "changeable", "trie")
    for name in modules:
        twin.modules[f"subtrie._trie.{name}"].word_hash = word_hash  # type: ignore[attr-defined]
    stripes: int = vars(twin.modules["subtrie._trie.match.answer_cache"])["STRIPES"]
    for module in twin.modules.values():
        if hasattr(module, "own_stripe"):  # all threads remember their answers in one place
            vars(module)["own_stripe"] = lambda kind: kind * stripes
    return twin


@functools.cache
def word_hash(word: str) -> int:
    """The hash of a word of PATHS, or of any other text, such as a whole filter."""
    return HASHES[word] if word in HASHES else key(word, 8 + crc32(word.encode()) % 40).hash


def new_trie(twin: Twin, **settings: Any) -> Any:
    return twin.modules["subtrie"].SubscriptionTrie(**settings)


def filled(*subscriptions: On) -> Callable[[Twin], Any]:
    def build(twin: Twin) -> Any:
        trie = new_trie(twin)
        for on in subscriptions:
            trie.subscribe(*on)
        return trie

    return build


@contextmanager
def explained(where: str) -> Iterator[None]:
    try:
        yield
    except Exception as raised:
        raised.add_note(where)
        raise
