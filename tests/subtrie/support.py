"""Support for tests of subscription tries: the allowed answers of every operation, words on exact paths, all schedules.

The specification of an operation is one line about a dict. `explore` runs a case, which is one operation held while
others run, under every schedule that can make a difference, on a private copy of the interpreted twin (see
schedule.py). The answers and the final content must be those of some order of the operations by the specification.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from zlib import crc32

from subtrie import AMQP, TopicError
from tests.schedule import Fault, Twin, key, load_twin

# ------------------------------------------------------------------------------------------------------- specification


class On(NamedTuple):
    """A subscription without its options."""

    filter: str
    subscriber: str = "x"


State = dict[On, Any]  # the option `by` of every subscription, None without options


@functools.cache
def matches(filter: str, topic: str) -> bool:
    return AMQP.matches(AMQP.split_filter(filter), AMQP.split_topic(topic))


def reached(state: State, topic: str) -> State:
    return {on: by for on, by in state.items() if matches(on.filter, topic)}


def wanting(state: State, topic: str) -> frozenset[str]:
    return frozenset(on.subscriber for on in reached(state, topic))


def without(state: State, gone: On) -> State:
    return {on: by for on, by in state.items() if on != gone}


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


class Cut(NamedTuple):
    """The content that a snapshot or fork showed when it was taken. It must show the same for ever."""

    trie: Any
    shown: State


def distinct(subscribers: tuple[str, ...]) -> frozenset[str]:
    assert len(set(subscribers)) == len(subscribers), f"a subscriber twice: {subscribers}"
    return frozenset(subscribers)


def snapshot(trie: Any) -> Cut:
    taken = trie.snapshot()
    return Cut(taken, content(taken))


def fork_and_write(trie: Any, on: On, by: str) -> Cut:
    fork = trie.fork()
    fork.subscribe(*on, by=by)
    return Cut(fork, content(fork))


class Operation(NamedTuple):
    """An operation on a trie, about a subscription and a topic. `outcome` specifies its answer and the state after it.

    Both functions also get the name of the thread, to put it into options.
    """

    run: Callable[[Any, On, str, str], Any]
    outcome: Callable[[State, On, str, str], tuple[Any, State]]


OPERATIONS = {
    "subscribe": Operation(
        lambda t, on, topic, by: t.subscribe(*on),
        lambda s, on, topic, by: (on not in s, {**s, on: None}),
    ),
    "subscribe with options": Operation(
        lambda t, on, topic, by: t.subscribe(*on, by=by),
        lambda s, on, topic, by: (on not in s, {**s, on: by}),
    ),
    "unsubscribe": Operation(
        lambda t, on, topic, by: t.unsubscribe(*on),
        lambda s, on, topic, by: (on in s, without(s, on)),
    ),
    "subscribe_many": Operation(
        lambda t, on, topic, by: t.subscribe_many([on]) == 1,
        lambda s, on, topic, by: (on not in s, {**s, on: None}),
    ),
    "unsubscribe_many": Operation(
        lambda t, on, topic, by: t.unsubscribe_many([on]) == 1,
        lambda s, on, topic, by: (on in s, without(s, on)),
    ),
    "match": Operation(
        lambda t, on, topic, by: distinct(t.match(topic)),
        lambda s, on, topic, by: (wanting(s, topic), s),
    ),
    "has_match": Operation(
        lambda t, on, topic, by: t.has_match(topic),
        lambda s, on, topic, by: (bool(wanting(s, topic)), s),
    ),
    "entries": Operation(
        lambda t, on, topic, by: listed(t.entries(topic)),
        lambda s, on, topic, by: (reached(s, topic), s),
    ),
    "len": Operation(
        lambda t, on, topic, by: len(t),
        lambda s, on, topic, by: (len(s), s),
    ),
    "clear": Operation(
        lambda t, on, topic, by: t.clear(),
        lambda s, on, topic, by: (None, {}),
    ),
    "snapshot": Operation(
        lambda t, on, topic, by: snapshot(t),
        lambda s, on, topic, by: (s, s),
    ),
    "fork and write": Operation(
        lambda t, on, topic, by: fork_and_write(t, on, by),
        lambda s, on, topic, by: ({**s, on: by}, s),
    ),
}


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
    modules = ("match.plan", "match.own_first", "changeable", "trie")
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


def shape(twin: Twin, trie: Any) -> Any:
    """The nodes as nested tuples; an L-node as a set, since its entries have no order."""
    nodes = twin.nodes

    def of(inode: Any) -> Any:
        main = nodes.gcas_read(trie._root, inode)
        children = [
            of(child) if isinstance(child, nodes.INode) else (child.key, child.next and of(child.next))
            for child in nodes.branches(trie._root, inode)
        ]
        return type(main).__name__, frozenset(children) if isinstance(main, nodes.LNode) else tuple(children)

    return of(nodes.rdcss_read_root(trie._root))


@contextmanager
def explained(where: str) -> Iterator[None]:
    try:
        yield
    except Exception as raised:
        raised.add_note(where)
        raise
