"""The order in which members came into a set and went, derived from the times of the operations that saw them.

If no member is added twice, it is there for one interval, which must contain a moment of every operation that saw it,
and a moment outside it of every operation that missed it. Let it come as late and go as early as that allows: then it
is there for the shortest time, and operations that found it missing, or the set empty, can have taken effect before or
after. The choice for one member does not affect the others, so if any order is right, this one is. Operations that show
many members at once are an exception: they may require another order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from stress.history import UNSEEN, Operation, Raised
from stress.specs.moments import EVER, Contradiction, Interval, Stay, intervals, overlooked

__all__ = ["Change", "Order", "read_off"]

Change = tuple[Hashable, bool]
"""A member, and whether it came (or went)."""

_LOOKS: Final = frozenset({"items", "read", "len", "__len__"})
_OF_ONE: Final = frozenset({"add", "discard", "remove", "contains", "__contains__"})
_START: Final = Interval(-1, -1)


class Order(NamedTuple):
    """The changes in order. `doubtful` are the members that were removed by a `discard` whose answer does not say
    so."""

    changes: list[Change]
    doubtful: frozenset[Hashable]


@dataclass(eq=False)
class _Member:
    """The operations on one member: that added it, removed it, saw it, missed it, or may have removed it."""

    value: Hashable
    added: Interval | None = None
    taken: Interval | None = None
    seen: list[Interval] = field(default_factory=list)
    missed: list[Interval] = field(default_factory=list)
    perhaps_taken: list[Interval] = field(default_factory=list)
    is_doubtful: bool = False

    @property
    def never_was(self) -> bool:
        """Whether it may never have been there."""
        return (self.added is None or self.added.returned == EVER) and not self.seen and self.taken is None

    def settle(self) -> bool:
        """If exactly one operation can have removed it, choose that one; return whether nothing is left to choose."""
        if self.taken is None and self.added is not None:
            last_seen = max((each.called for each in self.seen), default=-EVER)
            could = [each for each in self.perhaps_taken if each.returned > max(self.added.called, last_seen)]
            if len(could) > 1:
                return False
            self.is_doubtful = bool(could)
            self.taken = could[0] if could else None
        self.missed += (each for each in self.perhaps_taken if each is not self.taken and each.returned < EVER)
        return True

    def stay(self) -> Stay | None:
        """The shortest interval in which it is there; None if there is none."""
        if self.added is None:
            return None
        ends = [self.added, *self.seen, *([self.taken] if self.taken else ())]
        since, until = min(each.returned for each in ends), max(each.called for each in ends)
        if since < self.added.called or (self.taken is not None and self.taken.returned < until):
            return None
        stay = Stay(since, EVER if self.taken is None else until, self.value)
        return None if any(since < each.called and each.returned < stay.until for each in self.missed) else stay


def read_off(operations: Sequence[Operation], start: Iterable[Hashable]) -> Order | Contradiction | None:
    """The arrivals and departures of members in an order that agrees with the times. None if a member came or went
    twice, or if it is not certain whether it went. O(n log n).
    """
    members = {value: _Member(value, _START) for value in start}
    empty: list[Interval] = []
    for operation, ran in zip(operations, intervals(operations), strict=True):
        if not _is_told(operation, ran, members, empty):
            return None
    stays: list[Stay] = []
    for member in members.values():
        if member.never_was:
            continue
        if not member.settle():
            return None
        stay = member.stay()
        if stay is None:
            return Contradiction((member.value,))
        stays.append(stay)
    missed = overlooked(stays, empty)
    if missed is not None:
        return missed[0]
    doubtful = frozenset(member.value for member in members.values() if member.is_doubtful)
    return Order(_changes(stays), doubtful)


def _is_told(operation: Operation, ran: Interval, members: dict[Hashable, _Member], empty: list[Interval]) -> bool:
    """Record what an operation says about which member; return whether that is certain."""
    _, _, _, returned, op, args, result = operation
    if op in _LOOKS:
        if returned is not None and result in (0, frozenset()):
            empty.append(ran)
        for value in result if isinstance(result, frozenset) else ():
            members.setdefault(value, _Member(value)).seen.append(ran)
        return True
    if op == "pop":
        if returned is None or result is UNSEEN:
            return False
        if isinstance(result, Raised):
            empty.append(ran)
            return True
    elif op not in _OF_ONE:
        return False
    member = members.setdefault(value := result if op == "pop" else args[0], _Member(value))
    if op == "add" and result is not False:
        if member.added is not None:
            return False
        member.added = ran
    elif op == "pop" or (op == "discard" and result is True) or (op == "remove" and result is None):
        if member.taken is not None:
            return False
        member.taken = ran
    elif op in {"discard", "remove"} and result in (None, UNSEEN):
        member.perhaps_taken.append(ran)
    elif op == "add" or (op in {"contains", "__contains__"} and result is True):
        member.seen.append(ran)
    elif returned is not None and result is not UNSEEN:
        member.missed.append(ran)
    return True


def _changes(stays: Iterable[Stay]) -> list[Change]:
    """The changes in the order of their moments. A member that need not be there for any time comes and goes at
    once."""
    timed: list[tuple[float, bool, Change]] = []
    for since, until, value in stays:
        if since >= 0:
            timed.append((min(since, until), False, (value, True)))
        if until < EVER:
            timed.append((until, True, (value, False)))
    return [change for _, _, change in sorted(timed, key=lambda each: each[:2])]
