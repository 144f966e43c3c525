"""Calls and returns as numbers in one order, and what follows from them about the values in an object.

The specifications that decide histories at a glance (`Spec.glance`) compare moments. These are distinct numbers, so no
two are equal. A call at the same tick as a return comes before it, because the two operations overlap.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from operator import attrgetter
from typing import Final, NamedTuple

from stress.history import Operation

EVER: Final = float("inf")

Moment = float


class Interval(NamedTuple):
    """When an operation ran: the numbers of its call and of its return; `EVER` if it never returned."""

    called: Moment
    returned: Moment


class Stay(NamedTuple):
    """A value that is certainly there between two moments."""

    since: Moment
    until: Moment
    value: Hashable


@dataclass(eq=False)
class Passage:
    """A value that passed through an object: when the operations ran that put it in and got it out. That it was got is
    not known if `got` begins `EVER`.
    """

    value: Hashable
    put: Interval
    got: Interval
    is_placed: bool = False

    @property
    def was_got(self) -> bool:
        """Whether it is known to have been got out."""
        return self.got.called < EVER

    def stay(self) -> Stay:
        """The interval in which it is certainly there."""
        return Stay(self.put.returned, self.got.called, self.value)


def passages(value: Hashable, put: Sequence[Interval], got: Sequence[Interval]) -> list[Passage]:
    """The passages of a value that was put in and got out so often, the first call and the first return of each kind
    together, and so on. So it is certainly there, once at least, exactly when one of them says so. O(n log n).
    """
    puts, gets = (map(Interval, *(sorted(each[end] for each in its) for end in (0, 1))) for its in (put, got))
    return [Passage(value, *each) for each in zip_longest(puts, gets, fillvalue=Interval(EVER, EVER))]


class Contradiction(NamedTuple):
    """Values whose operations alone have no linearization."""

    values: tuple[Hashable, ...]


def intervals(operations: Sequence[Operation]) -> list[Interval]:
    """When each of the operations ran, from 0 on. O(n log n)."""
    count = len(operations)
    times = [each.call for each in operations]
    times += [EVER if each.returned is None else each.returned for each in operations]
    moments = [EVER] * (2 * count)
    for number, at in enumerate(sorted(range(2 * count), key=times.__getitem__)):  # stable, so calls come first
        if times[at] < EVER:
            moments[at] = number
    return list(map(Interval, moments[:count], moments[count:]))


def overlooked(stays: Iterable[Stay], looks: Iterable[Interval]) -> tuple[Contradiction, Interval] | None:
    """Values such that at every moment of an operation that found nothing, at least one of them was there, and the
    interval of that operation; None if there are none. If one value alone will do, it is one: the fewer there are, the
    easier are they to search. O(n log n).
    """
    there = sorted((each for each in stays if each.since < each.until), key=attrgetter("since"))
    together: list[Stay] = []  # each was there before the last of its predecessors went
    longest, at, found = Stay(-EVER, -EVER, None), 0, None
    for look in sorted(looks):
        while at < len(there) and there[at].since < look.called:
            if there[at].since >= longest.until:
                together = []
            together.append(there[at])
            longest = max(longest, there[at], key=attrgetter("until"))
            at += 1
        if longest.until > look.returned:
            return Contradiction((longest.value,)), look
        ahead, until, last = at, longest.until, list[Stay]()
        while not found and until <= look.returned and ahead < len(there) and there[ahead].since < until:
            last.append(there[ahead])
            until = max(until, there[ahead].until)
            ahead += 1
        if until > look.returned:
            found = Contradiction(chain([each for each in [*together, *last] if each.until > look.called])), look
    return found


def chain(stays: Sequence[Stay]) -> tuple[Hashable, ...]:
    """As few of the values, given in order of arrival, as cover the time from the first arrival to the last departure
    without a gap.
    """
    kept: list[Stay] = []
    for each in stays:
        if kept and each.until <= kept[-1].until:
            continue
        while len(kept) > 1 and each.since < kept[-2].until:
            kept.pop()
        kept.append(each)
    return tuple(each.value for each in kept)
