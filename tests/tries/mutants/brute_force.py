"""Linearizability by trying every order of the operations: only for small histories, since it is slow, but too simple
to be wrong. Mutants of the checker are compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, combinations, permutations
from random import Random
from typing import Any, Final

__all__ = ["histories", "linearizable"]


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
    states = {spec.initial}
    for each in order:
        states = {after for state in states for after in spec.successors(state, each.op, each.args, each.result)}
    return bool(states)


def histories(random: Random, operation: Any, unseen: Any) -> Iterator[tuple[str, list[Any]]]:
    """Small histories of registers, a queue, a stack and a set in turn, some right, some wrong, without end: calls of
    two or three threads, with equal times, and some pending at the end. `operation` makes one.
    """
    while True:
        for of, called in _KINDS.items():
            intervals = _intervals(random)
            found = [
                operation(number, thread, call, returned, *told)
                for number, ((thread, call, returned), told) in enumerate(
                    zip(intervals, called(random, intervals), strict=True)
                )
            ]
            last = {each.thread: each.id for each in found}
            for number in last.values():
                if random.random() < _PENDING:
                    found[number] = found[number]._replace(returned=None, result=unseen)
            yield of, found


_PENDING: Final = 0.4


def _intervals(random: Random) -> list[_Interval]:
    """Thread, time of call and time of return of some calls."""
    found = []
    for thread in range(random.choice((2, 3, 3))):
        now = random.randrange(3)
        for _ in range(random.choice((1, 2))):
            called, returned = now, now + random.randrange(7)
            now = returned + random.randrange(1, 3)
            found.append((thread, called, returned))
    return found


def _register_calls(random: Random, intervals: list[_Interval]) -> list[_Told]:
    calls = [random.choice(_REGISTER) for _ in intervals]
    return [(op, args, random.choice(answers)) for op, args, answers in calls]


def _buffer_calls(put: str, get: str, end: int, random: Random, intervals: list[_Interval]) -> list[_Told]:
    """The answers of a queue or a stack, except that one may be replaced by another. No value is put in twice."""
    found: list[_Told] = [(random.choice((put, get, "len")), (), None) for _ in intervals]
    content: list[int] = []
    for number in _in_some_order(random, intervals):
        op = found[number][0]
        if op == put:
            content.append(number)
            found[number] = op, (number,), None
        elif op == "len":
            found[number] = op, (), len(content)
        elif content:
            found[number] = op, (), content.pop(end)
    number = random.randrange(len(found))
    op = found[number][0]
    if op != put:
        found[number] = op, (), random.randrange(len(found)) if op == get else random.randrange(3)
    return found


def _set_calls(random: Random, intervals: list[_Interval]) -> list[_Told]:
    """The answers of a set, except that one may be replaced by another. No member is added twice."""
    found: list[_Told] = [(random.choice(("add", "add", "discard", "contains", "len")), (), None) for _ in intervals]
    content: set[int] = set()
    for number in _in_some_order(random, intervals):
        op, member = found[number][0], number if found[number][0] == "add" else random.randrange(len(found))
        was = member in content
        if op == "len":
            found[number] = op, (), len(content)
            continue
        content = content | {member} if op == "add" else content - {member} if op == "discard" else content
        answer = was if op == "contains" else random.choice((None, was != (op == "add")))
        found[number] = op, (member,), answer
    number = random.randrange(len(found))
    op, args, _ = found[number]
    found[number] = op, args, random.randrange(3) if op == "len" else random.choice((False, True))
    return found


def _unique_register_calls(random: Random, intervals: list[_Interval]) -> list[_Told]:
    """The answers of a register, except that one may be replaced by another. No value is written twice."""
    told: dict[int, _Told] = {}
    held = None
    for number in _in_some_order(random, intervals):
        op = random.choice(("write", "read", "read", "cas"))
        if op == "cas":
            old = random.choice((held, held, random.randrange(len(intervals))))
            told[number] = op, (old, number), old == held
            held = number if old == held else held
        elif op == "write":
            held = number
            told[number] = op, (number,), None
        else:
            told[number] = op, (), held
    found = [told[number] for number in range(len(intervals))]
    number = random.randrange(len(found))
    op, args, answer = found[number]
    found[number] = op, args, {"write": None, "read": random.randrange(len(found)), "cas": not answer}[op]
    return found


def _in_some_order(random: Random, intervals: list[_Interval]) -> list[int]:
    """The numbers of the calls in an order in which they may have taken effect."""
    return sorted(range(len(intervals)), key=lambda number: random.uniform(*intervals[number][1:]))


_Interval = tuple[int, int, int]
_Told = tuple[str, tuple[Any, ...], Any]
_KINDS: Final[dict[str, Callable[[Random, list[_Interval]], list[_Told]]]] = {
    "register": _register_calls,
    "queue": partial(_buffer_calls, "enqueue", "dequeue", 0),
    "unique register": _unique_register_calls,
    "stack": partial(_buffer_calls, "push", "pop", -1),
    "set": _set_calls,
}
_REGISTER: Final[Any] = [
    ("write", (1,), (None,)),
    ("write", (2,), (None,)),
    ("read", (), (None, 1, 2)),
    ("read", (), (0, 1, 2)),
    ("cas", (1, 2), (True, False)),
    ("cas", (2, 1), (True, False)),
]
