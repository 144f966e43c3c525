"""Linearizability by trying every order of the operations, which is slow but too simple to be wrong, and small histories
to try it on. Mutants of the checker are compared with it, and so is the checker as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, combinations, count, permutations
from random import Random
from typing import Any, Final

from stress.history import UNSEEN, Call, Operation, Raised
from stress.recorder.workload import Draw, one_of, unique
from stress.spec import Spec
from stress.specs import Counter, KeyValue, Map, MultiRegister, Mutex, Queue, Register, Set, Stack, Subscriptions
from tests.tries.fields import Fields
from tests.tries.specs import Topics


def linearizable(operations: Sequence[Any], spec: Any) -> bool:
    """Whether some order respects real time and is allowed by `spec`. Pending operations may be left out."""
    pending = [each for each in operations if each.returned is None]
    completed = [each for each in operations if each.returned is not None]
    chosen = chain.from_iterable(combinations(pending, size) for size in range(len(pending) + 1))
    return any(
        _in_real_time(order) and _allowed(order, spec) for some in chosen for order in permutations([*completed, *some])
    )


def _in_real_time(order: Sequence[Any]) -> bool:
    return not any(
        later.returned is not None and later.returned < earlier.call for earlier, later in combinations(order, 2)
    )


def _allowed(order: Sequence[Any], spec: Any) -> bool:
    states: set[Hashable] = {spec.initial}
    for each in order:
        result = UNSEEN if each.returned is None else each.result
        states = {after for state in states for after in spec.successors(state, each.op, each.args, result)}
    return bool(states)


_KEY, _VALUE, _MADE, _TEXT = one_of("a", "b"), one_of(0, 1, 2), one_of(1, 2, 3, 4), one_of("x", "y", "z")
_TOPIC, _TOPICS = one_of("a.b", "c"), one_of("#", "a.*", "c")
_FILTER, _WHO, _UNDER = one_of("a.b", "*.b", "c"), one_of(0, 1), one_of("a.b", "x.b", "c")
_CRITERIA, _MESSAGE = one_of("f=1", "f>=0 & g", "!g"), one_of("f=1", "f=2 g=1", "g=1")
_STEP = one_of(
    *(("read", each) for each in 3 * "xyz"), *(("write", each, value) for each in "xyz" for value in range(3))
)

KINDS: Final[dict[str, tuple[Spec, list[tuple[Any, ...]]]]] = {
    "register": (Register(0), [("read",), ("write", _VALUE), ("cas", _VALUE, _VALUE)]),
    "register of unique values": (Register(0), [("read",), ("write", unique), ("cas", _VALUE, unique), ("cas", 0, unique)]),
    "kv": (KeyValue(), [("get", _KEY), ("get", _KEY), ("put", _KEY, _TEXT), ("append", _KEY, _TEXT)]),
    "multi-register": (MultiRegister(0), [("txn", _STEP), ("txn", _STEP, _STEP)]),
    "mutex": (Mutex(), [("acquire",), ("release",)]),
    "counter": (Counter(), [("increment",), ("value",), ("add", 2), ("decrement",)]),
    "queue": (Queue(), [("enqueue", one_of(None, 1, 2)), ("dequeue",), ("len",)]),
    "queue of unique values": (Queue(), [("enqueue", unique), ("enqueue", unique), ("dequeue",), ("dequeue",), ("len",)]),
    "stack": (Stack(), [("push", one_of(None, 1, 2)), ("pop",), ("len",)]),
    "stack of unique values": (Stack(), [("push", unique), ("push", unique), ("pop",), ("pop",), ("len",)]),
    "set": (
        Set(),
        [*((op, _WHO) for op in ("add", "discard", "remove", "contains")), ("items",), ("len",), ("pop",), ("clear",)],
    ),
    "set of unique members": (Set(), [("add", unique), ("add", unique), ("discard", _MADE), ("contains", _MADE), ("len",)]),
    "map": (
        Map(),
        [
            ("get", _KEY), ("put", _KEY, _VALUE), ("put_if_absent", _KEY, _VALUE), ("pop", _KEY, None),
            ("delitem", _KEY), ("replace", _KEY, _VALUE), ("replace_if", _KEY, _VALUE, _VALUE),
            ("remove_if", _KEY, _VALUE), ("compute", _KEY, 1), ("items",), ("keys",), ("values",), ("len",),
            ("clear",), ("popitem",),
        ],
    ),
    "subscriptions": (
        Subscriptions(),
        [
            ("subscribe", _FILTER, _WHO), ("subscribe", _FILTER, _WHO), ("unsubscribe", _FILTER, _WHO),
            ("unsubscribe_all", _WHO), ("match", _UNDER), ("match", _UNDER), ("has_match", _UNDER), ("count", _UNDER),
            ("entries", _UNDER), ("filters", _WHO), ("subscriptions",), ("len",), ("clear",),
        ],
    ),
    "topics": (
        Topics(),
        [
            ("put", _TOPIC, _VALUE), ("put", _TOPIC, _VALUE), ("setdefault", _TOPIC, _VALUE), ("get", _TOPIC),
            ("pop", _TOPIC, None), ("popitem",), ("matching", _TOPICS), ("matching", _TOPICS), ("items",), ("clear",),
        ],
    ),
    "fields": (
        Fields(),
        [
            ("subscribe", _CRITERIA, _WHO), ("subscribe", _CRITERIA, _WHO), ("unsubscribe", _CRITERIA, _WHO),
            ("subscribe_many", one_of(*(((each, 0), ("f=1", 2)) for each in ("f=1", "f>=0 & g", "!g")))),
            ("unsubscribe_all", _WHO), ("match", _MESSAGE), ("match", _MESSAGE), ("match_any", _MESSAGE),
            ("hits", _MESSAGE), ("subscriptions",), ("clear",),
        ],
    ),
}  # fmt: skip
"""What each kind of history is of, and which operations it has."""

UNIQUE: Final = tuple(kind for kind in KINDS if "unique" in kind)
"""Nothing is put in twice there, so times tell the order of much."""


def histories(random: Random, kind: str) -> Iterator[list[Operation]]:
    """Histories of a kind without end, some right, some wrong: up to six calls at random times, answered in an order that
    these times allow. Often one answer is then replaced by one from another state. Sometimes an operation never
    returns, or its answer was not recorded.
    """
    spec, _ = KINDS[kind]
    while True:
        fresh = count(1).__next__
        spans = _spans(random, random.randrange(2, 7))
        calls = [drawn(kind, random, fresh) for _ in spans]
        order = sorted(range(len(spans)), key=lambda at: random.uniform(*spans[at]))
        results = _answers(random, spec, calls, order, [drawn(kind, random, fresh) for _ in range(3)])
        found = []
        for number, ((called, returned), call) in enumerate(zip(spans, calls, strict=True)):
            pending = random.random() < _PENDING
            result = UNSEEN if pending or random.random() < _UNSEEN else results[number]
            found.append(Operation(number, number, called, None if pending else returned, *call, result))
        yield found


_PENDING, _UNSEEN, _WRONG, _TIES = 0.12, 0.05, 0.7, 0.2


def _spans(random: Random, size: int) -> list[list[int]]:
    """The times of calls and returns, some with many ties."""
    moments = [*range(6)] * size if random.random() < _TIES else [*range(100)]
    times = sorted(random.sample(moments, 2 * size))
    owners = random.sample([*range(size)] * 2, 2 * size)
    return [[time for time, owner in zip(times, owners, strict=True) if owner == number] for number in range(size)]


def _answers(
    random: Random, spec: Spec, calls: Sequence[Call], order: Sequence[int], others: Sequence[Call]
) -> dict[int, Any]:
    """The answers of the calls in an order. A wrong one is of a state on the way there, or where other calls lead."""
    visited, results = [spec.initial], {}
    for number in order:
        state, results[number] = answer(spec, visited[-1], calls[number], random)
        visited.append(state)
    if random.random() < _WRONG:
        elsewhere = spec.initial
        for call in others:
            elsewhere, _ = answer(spec, elsewhere, call, random)
        states = [*visited, elsewhere]
        found = (
            (at, answer(spec, random.choice(states), calls[at], random)[1]) for at in random.sample(order, len(order))
        )
        results.update(next(([each] for each in found if each[1] != results[each[0]]), []))
    return results


def drawn(kind: str, random: Random, fresh: Callable[[], int]) -> Call:
    """A call of a kind."""
    op, *args = random.choice(KINDS[kind][1])
    return op, tuple(arg.draw(random, fresh) if isinstance(arg, Draw) else arg for arg in args)


def answer(spec: Spec, state: Any, call: Call, random: Random) -> tuple[Any, Any]:
    """A state after the call, and an answer that the call may give: from `step`, or chosen where it cannot tell."""
    op, args = call
    if op == "popitem":
        item = random.choice(sorted(state.items())) if state else None
        return (state.without(item[0]), item) if item else (state, Raised("KeyError"))
    if op == "pop" and isinstance(spec, Set):
        member = min(state, default=None)
        return (state - {member}, member) if state else (state, Raised("KeyError"))
    if isinstance(spec, Mutex):
        after = list(spec.successors(state, op, args, None))
        return (after[0], None) if after else (state, Raised("RuntimeError") if op == "release" else False)
    return spec.step(state, op, args)
