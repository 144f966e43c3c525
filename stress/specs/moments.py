"""Calls and returns as numbers in one order, and what was certainly there all the time while somebody looked.

The specifications that decide histories at a glance (`Spec.glance`) compare moments. As numbers that all differ, no two
of them are ever at once: a call at the very tick of a return stands before it, for the two operations overlap.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from stress.history import Operation

__all__ = ["EVER", "Contradiction", "Interval", "Stay", "chain", "intervals", "overlooked"]

EVER: Final = float("inf")

Moment = float


class Interval(NamedTuple):
    """When an operation ran: the numbers of its call and of its return, which is `EVER` if it never returned."""

    called: Moment
    returned: Moment


class Stay(NamedTuple):
    """A value that is certainly there between two moments."""

    since: Moment
    until: Moment
    value: Hashable


class Contradiction(NamedTuple):
    """Values that have no linearization, looked at alone."""

    values: tuple[Hashable, ...]


def intervals(operations: Sequence[Operation]) -> list[Interval]:
    """When each of the operations ran, from 0 on. O(n log n)."""
    events = [(each.call, False, at) for at, each in enumerate(operations)]
    events += [(each.returned, True, at) for at, each in enumerate(operations) if each.returned is not None]
    called, returned = [0.0] * len(operations), [EVER] * len(operations)
    for number, (_, is_return, at) in enumerate(sorted(events)):
        (returned if is_return else called)[at] = number
    return list(map(Interval, called, returned))


def overlooked(stays: Iterable[Stay], looks: Iterable[Interval]) -> tuple[Contradiction, Interval] | None:
    """The values of which one or another was there all the time while somebody looked and found nothing, and when that
    was; None if there are none. O(n log n).
    """
    there = sorted((each for each in stays if each.since < each.until), key=attrgetter("since"))
    together: list[Stay] = []  # of which each was there before the last one of those before it went
    gone, at = -EVER, 0
    for look in sorted(looks):
        while at < len(there) and there[at].since < look.called:
            if there[at].since >= gone:
                together, gone = [], -EVER
            together.append(there[at])
            gone = max(gone, there[at].until)
            at += 1
        ahead = at
        until, last = gone, list[Stay]()
        while until <= look.returned and ahead < len(there) and there[ahead].since < until:
            last.append(there[ahead])
            until = max(until, there[ahead].until)
            ahead += 1
        if until > look.returned:
            return Contradiction(chain([each for each in [*together, *last] if each.until > look.called])), look
    return None


def chain(stays: Sequence[Stay]) -> tuple[Hashable, ...]:
    """The values of as few of them, given by the time of their coming, as reach from the first to the end of the last
    one to go.
    """
    kept: list[Stay] = []
    for each in stays:
        if kept and each.until <= kept[-1].until:
            continue
        while len(kept) > 1 and each.since < kept[-2].until:
            kept.pop()
        kept.append(each)
    return tuple(each.value for each in kept)
