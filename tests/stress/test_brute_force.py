"""The checker against the simplest possible one, on small random histories of every specification.

The simple checker tries all permutations of the operations, with every choice of pending ones. It shares only the
specifications with the real one.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Hashable, Sequence
from random import Random
from typing import Any

import pytest

from stress import (
    UNSEEN,
    Counter,
    KeyValue,
    Map,
    MultiRegister,
    Mutex,
    Operation,
    Queue,
    Raised,
    Register,
    Set,
    Spec,
    Stack,
    Subscriptions,
    check,
    is_linearizable,
)
from stress.checker.components import Component, projections
from stress.checker.search import Search
from stress.checker.unwritten_values import first_without_origin
from tests.tries.fields import Fields
from tests.tries.topics import Topics

pytestmark = pytest.mark.once  # the checker alone, which is the same everywhere

EACH = 1_250  # histories of each of the twelve specifications: 15,000 in all

Call = tuple[str, tuple[Any, ...]]


def any_permutation_is_legal(operations: Sequence[Operation], spec: Spec) -> bool:
    completed = [each for each in operations if each.returned is not None]
    pending = [each for each in operations if each.returned is None]
    for size in range(len(pending) + 1):
        for happened in itertools.combinations(pending, size):
            for order in itertools.permutations([*completed, *happened]):
                if respects_real_time(order) and is_legal(order, spec):
                    return True
    return False


def respects_real_time(order: Sequence[Operation]) -> bool:
    return not any(
        later.returned is not None and later.returned < earlier.call
        for earlier, later in itertools.combinations(order, 2)
    )


def is_legal(order: Sequence[Operation], spec: Spec) -> bool:
    states: set[Hashable] = {spec.initial}
    for op in order:
        result = UNSEEN if op.returned is None else op.result
        states = {after for state in states for after in spec.successors(state, op.op, op.args, result)}
    return bool(states)


def register_call(random: Random) -> Call:
    value = random.randrange(3)
    return random.choice([("read", ()), ("write", (value,)), ("cas", (value, random.randrange(3)))])


def map_call(random: Random) -> Call:
    key, value = random.choice("ab"), random.randrange(3)
    return random.choice(
        [
            ("get", (key,)),
            ("put", (key, value)),
            ("put_if_absent", (key, value)),
            ("pop", (key, None)),
            ("delitem", (key,)),
            ("replace", (key, value)),
            ("replace_if", (key, value, random.randrange(3))),
            ("remove_if", (key, value)),
            ("compute", (key, 1)),
            ("items", ()),
            ("keys", ()),
            ("values", ()),
            ("len", ()),
            ("clear", ()),
            ("popitem", ()),
        ]
    )


def topic_call(random: Random) -> Call:
    topic, value = random.choice(["a.b", "c"]), random.randrange(3)
    return random.choice(
        [
            ("put", (topic, value)),
            ("put", (topic, value)),
            ("setdefault", (topic, value)),
            ("get", (topic,)),
            ("pop", (topic, None)),
            ("popitem", ()),
            ("matching", (random.choice(["#", "a.*", "c"]),)),
            ("matching", (random.choice(["#", "a.*", "c"]),)),
            ("items", ()),
            ("clear", ()),
        ]
    )


def subscription_call(random: Random) -> Call:
    filter, subscriber = random.choice(["a.b", "*.b", "c"]), random.randrange(2)
    topic = random.choice(["a.b", "x.b", "c"])
    return random.choice(
        [
            ("subscribe", (filter, subscriber)),
            ("subscribe", (filter, subscriber)),
            ("unsubscribe", (filter, subscriber)),
            ("unsubscribe_all", (subscriber,)),
            ("match", (topic,)),
            ("match", (topic,)),
            ("has_match", (topic,)),
            ("count", (topic,)),
            ("entries", (topic,)),
            ("filters", (subscriber,)),
            ("subscriptions", ()),
            ("len", ()),
            ("clear", ()),
        ]
    )


def field_call(random: Random) -> Call:
    pair = random.choice(["f=1", "f>=0 & g", "!g"]), random.randrange(2)
    message = random.choice(["f=1", "f=2 g=1", "g=1"])
    return random.choice(
        [
            ("subscribe", pair),
            ("subscribe", pair),
            ("unsubscribe", pair),
            ("subscribe_many", ((pair, ("f=1", 2)),)),
            ("unsubscribe_all", (pair[1],)),
            ("match", (message,)),
            ("match", (message,)),
            ("match_any", (message,)),
            ("hits", (message,)),
            ("subscriptions", ()),
            ("clear", ()),
        ]
    )


def transaction(random: Random) -> Call:
    steps = [
        ("read", random.choice("xyz"))
        if random.random() < 0.5
        else ("write", random.choice("xyz"), random.randrange(3))
        for _ in range(random.randrange(1, 3))
    ]
    return "txn", tuple(steps)


def text_call(random: Random) -> Call:
    key, text = random.choice("ab"), random.choice("xyz")
    return random.choice([("get", (key,)), ("get", (key,)), ("put", (key, text)), ("append", (key, text))])


def stack_call(random: Random) -> Call:
    return random.choice([("push", (random.randrange(3),)), ("pop", ()), ("len", ())])


def queue_call(random: Random) -> Call:
    return random.choice([("enqueue", (random.randrange(3),)), ("dequeue", ()), ("len", ())])


def set_call(random: Random) -> Call:
    member = random.randrange(2)
    names = ["add", "discard", "remove", "contains"]
    return random.choice(
        [*((name, (member,)) for name in names), ("items", ()), ("len", ()), ("pop", ()), ("clear", ())]
    )


def counter_call(random: Random) -> Call:
    return random.choice([("increment", ()), ("value", ()), ("add", (2,)), ("decrement", ())])


def mutex_call(random: Random) -> Call:
    return random.choice([("acquire", ()), ("release", ())])


KINDS: dict[str, tuple[Spec, Callable[[Random], Call]]] = {
    "register": (Register(0), register_call),
    "map": (Map(), map_call),
    "kv": (KeyValue(), text_call),
    "subscriptions": (Subscriptions(), subscription_call),
    "topics": (Topics(), topic_call),
    "fields": (Fields(), field_call),
    "multi-register": (MultiRegister(0), transaction),
    "queue": (Queue(), queue_call),
    "stack": (Stack(), stack_call),
    "set": (Set(), set_call),
    "counter": (Counter(), counter_call),
    "mutex": (Mutex(), mutex_call),
}


def answer(spec: Spec, state: Any, call: Call, random: Random) -> tuple[Any, Any]:
    """A state after the call, and an answer that the call may give: from `step`, or chosen where it cannot tell."""
    op, args = call
    if op == "popitem":
        return (state, Raised("KeyError")) if not state else popped(state, random.choice(sorted(state.items())))
    if op == "pop" and isinstance(spec, Set):
        member = min(state, default=None)
        return (state, Raised("KeyError")) if not state else (state - {member}, member)
    if isinstance(spec, Mutex):
        after = list(spec.successors(state, op, args, None))
        return (after[0], None) if after else (state, Raised("RuntimeError") if op == "release" else False)
    return spec.step(state, op, args)


def popped(state: Any, item: tuple[Any, Any]) -> tuple[Any, Any]:
    return state.without(item[0]), item


def small_history(random: Random, spec: Spec, any_call: Callable[[Random], Call]) -> list[Operation]:
    """Operations at random times, answered in an order that these times allow.

    Often one answer is then replaced by one from another state. Sometimes an operation never returns, or its answer was
    not recorded.
    """
    size = random.randrange(2, 7)
    moments = range(100) if random.random() < 0.8 else [*range(6)] * size  # the latter has many ties
    times = sorted(random.sample(moments, 2 * size))
    owners = [*range(size)] * 2
    random.shuffle(owners)
    spans: dict[int, list[int]] = {number: [] for number in range(size)}
    for time, owner in zip(times, owners, strict=True):
        spans[owner].append(time)
    calls = [any_call(random) for _ in range(size)]
    results = answers(random, spec, calls, sorted(spans, key=lambda number: random.uniform(*spans[number])), any_call)
    history = []
    for number, (op, args) in enumerate(calls):
        called, returned = spans[number]
        pending = random.random() < 0.12
        unseen = pending or random.random() < 0.05
        result = UNSEEN if unseen else results[number]
        history.append(Operation(number, number, called, None if pending else returned, op, args, result))
    return history


def answers(
    random: Random, spec: Spec, calls: Sequence[Call], order: Sequence[int], any_call: Callable[[Random], Call]
) -> dict[int, Any]:
    state: Any = spec.initial
    visited, results = [state], {}
    for number in order:
        state, results[number] = answer(spec, state, calls[number], random)
        visited.append(state)
    if random.random() < 0.7:
        elsewhere: Any = spec.initial
        for _ in range(3):
            elsewhere, _ = answer(spec, elsewhere, any_call(random), random)
        wrong = random.choice(order)
        _, results[wrong] = answer(spec, random.choice([*visited, elsewhere]), calls[wrong], random)
    return results


@pytest.mark.parametrize("kind", KINDS)
def test_same_verdict_as_all_permutations(kind: str) -> None:
    spec, any_call = KINDS[kind]
    random = Random(f"brute force, {kind}")
    verdicts = []
    for _ in range(EACH):
        history = small_history(random, spec, any_call)
        known = any_permutation_is_legal(history, spec)
        assert bool(check(history, spec)) == known, history
        assert is_linearizable(history, spec) == known, history
        if known:
            assert not refuters_that_refute(history, spec), history
            assert first_without_origin(history, spec, [spec.initial]) is None, history
        verdicts.append(known)
    assert 0.02 * EACH < verdicts.count(False) < 0.9 * EACH  # both verdicts occur


def refuters_that_refute(history: list[Operation], spec: Spec) -> list[Sequence[Operation]]:
    """The shortcuts that refute this linearizable history; a sound one does not."""
    part = Component(history, [spec.initial])
    searches = [Search(each.operations, spec, each.starts) for each in projections(part, spec)]
    searches.append(Search(history, spec, [spec.initial], relaxed=True))
    refuting = []
    for search in searches:
        finding = search.advance(sys.maxsize)
        assert finding is not None
        if not finding.linearizable:
            refuting.append(search.operations)
    return refuting
