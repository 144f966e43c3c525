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
    for name in ("subtrie._trie.match.plan", "subtrie._trie.match.own_first", "subtrie._trie.trie"):
        twin.modules[name].word_hash = word_hash  # type: ignore[attr-defined]
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


@functools.cache
def fresh_shape(twin: Twin, subscriptions: frozenset[On]) -> Any:
    """The nodes of a trie into which the subscriptions were put one by one."""
    return shape(twin, filled(*subscriptions)(twin))


# ----------------------------------------------------------------------------------------------------------- schedules


class Step(NamedTuple):
    operation: str
    on: On

    def __str__(self) -> str:
        return f"{self.operation}({self.on.filter}, {self.on.subscriber})"


class Start(NamedTuple):
    """How a trie is made, the topic to ask about, and the subscriptions for the first and the second operation."""

    build: Callable[[Twin], Any]
    topic: str
    pairs: list[tuple[On, On]]
    abandoned: On | None = None  # a thread has been suspended for ever while it removed this one


class Case(NamedTuple):
    """A start, the operation that is held, and what others do when it is held for the first time, the second, ..."""

    start: Start
    first: Step
    bursts: tuple[tuple[Step, ...], ...]

    def __str__(self) -> str:
        bursts = " | ".join("; ".join(map(str, burst)) for burst in self.bursts)
        return f"{self.first} about {self.start.topic!r}, against {bursts}"


def explore(twin: Twin, case: Case) -> int:
    """Try every schedule of `case` that can make a difference and return how many there were. AssertionError if one of
    them cannot be explained."""
    explicable = [outcome for state in possible_states(twin, case.start) for outcome in sequential(case, state)]
    schedules = 0
    for trie, answers, where in runs(twin, case):
        with explained(where):
            judge(twin, case, trie, answers, explicable)
        schedules += 1
    return schedules


def possible_states(twin: Twin, start: Start) -> list[State]:
    """The states at the start. Until some operation looks, an abandoned operation may or may not have taken effect."""
    state = content(start.build(twin))
    return [state] if start.abandoned is None else [without(state, start.abandoned), {**state, start.abandoned: None}]


def sequential(case: Case, state: State) -> list[tuple[list[Any], State]]:
    """For every place of the first operation among the others: the answers, with its own in front, and what is left."""
    others = [step for burst in case.bursts for step in burst]
    return [in_order(case, others, place, state) for place in range(len(others) + 1)]


def in_order(case: Case, others: list[Step], place: int, state: State) -> tuple[list[Any], State]:
    answers: list[Any] = []
    for step, by in [*((step, "2") for step in others[:place]), (case.first, "1"), *((s, "2") for s in others[place:])]:
        answer, state = OPERATIONS[step.operation].outcome(state, step.on, case.start.topic, by)
        answers.insert(0 if by == "1" else len(answers), answer)
    return answers, state


def runs(twin: Twin, case: Case, earlier: tuple[int, ...] = ()) -> Iterator[tuple[Any, list[Any], str]]:
    """Yield the trie after each schedule, the answers, and a name for the schedule."""
    at: int | None = earlier[-1] + 1 if earlier else 1
    while at is not None:
        ats = (*earlier, at)
        where = f"{case}, held at {list(ats)}"
        trie = case.start.build(twin)
        answers: list[Any] = []
        bursts = {
            at: functools.partial(take_steps, trie, case, burst, answers)
            for at, burst in zip(ats, case.bursts, strict=False)
        }
        try:
            with explained(where):
                switched = twin.schedule.switch(functools.partial(take, trie, case, case.first, "1"), bursts)
        except LookupError:
            return
        if len(ats) < len(case.bursts):
            yield from runs(twin, case, ats)
        else:
            yield trie, [switched.first, *answers], where
        at = switched.next


def take(trie: Any, case: Case, step: Step, by: str) -> Any:
    return OPERATIONS[step.operation].run(trie, step.on, case.start.topic, by)


def take_steps(trie: Any, case: Case, steps: tuple[Step, ...], answers: list[Any]) -> None:
    answers += [take(trie, case, step, "2") for step in steps]


@contextmanager
def explained(where: str) -> Iterator[None]:
    try:
        yield
    except Exception as raised:
        raised.add_note(where)
        raise


def judge(twin: Twin, case: Case, trie: Any, answers: list[Any], explicable: list[tuple[list[Any], State]]) -> None:
    nodes = shape(twin, trie)  # taken before any other operation
    left = content(trie)
    seen = [answer.shown if isinstance(answer, Cut) else answer for answer in answers], left
    assert seen in explicable, f"{seen} is not among {explicable}"
    assert wanting(left, case.start.topic) == distinct(trie.match(case.start.topic))
    trie.check()
    if case.start.abandoned is None:
        assert nodes == fresh_shape(twin, frozenset(left)), f"superfluous nodes: {nodes}"
    for answer in answers:
        if isinstance(answer, Cut):
            keep_apart(trie, answer, left)


def keep_apart(trie: Any, cut: Cut, left: State) -> None:
    """Write to the trie and to a snapshot of it; neither must see the other's writes."""
    assert content(cut.trie) == cut.shown, "a snapshot has changed"
    for on in [*left, *cut.shown]:
        trie.subscribe(*on, by="later")
    assert content(cut.trie) == cut.shown, "a write to a trie shows in its snapshot"
    before = content(trie)
    try:
        for on in cut.shown:
            cut.trie.unsubscribe(*on)
    except TypeError:
        assert content(cut.trie) == cut.shown, "a read-only snapshot was written to"
    assert content(trie) == before, "a write to a fork shows in its source"
    trie.check()
    cut.trie.check()
