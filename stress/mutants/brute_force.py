"""Linearizability by trying every order of the operations: too slow for anything but small histories, and too plain to
be wrong. It is what mutants of the checker are held to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, count, permutations
from random import Random
from typing import Any

__all__ = ["histories", "linearizable"]


def linearizable(operations: Sequence[Any], spec: Any) -> bool:
    """Whether some order respects real time and is what `spec` allows. Pending operations may be left out."""
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


def histories(random: Random, operation: Any, unseen: Any) -> Iterator[list[Any]]:
    """Small histories of a register, some right, some wrong, for ever: calls of two or three threads, with ties, and
    some pending at the end. `operation` makes one.
    """
    while True:
        numbers = count()
        found = []
        for thread in range(random.choice((2, 2, 3))):
            now = random.randrange(3)
            for _ in range(random.choice((1, 2))):
                called, returned = now, now + random.randrange(4)
                now = returned + random.randrange(1, 3)
                op, args, answers = random.choice(_CALLS)
                found.append(operation(next(numbers), thread, called, returned, op, args, random.choice(answers)))
            if random.random() < 0.4:
                found[-1] = found[-1]._replace(returned=None, result=unseen)
        yield found


_CALLS: Any = [
    ("write", (1,), (None,)),
    ("write", (2,), (None,)),
    ("read", (), (None, 1, 2)),
    ("read", (), (0, 1, 2)),
    ("cas", (1, 2), (True, False)),
    ("cas", (2, 1), (True, False)),
]
