"""The order in which values passed through a queue, derived from the times at which they were put in and got out.

A search for it is hopeless: the order in which overlapping puts took effect shows only when their values are got, long
afterwards. If no value was put in twice, no search is needed. One value goes *before* another if one of these holds:

* its put returned before the other's put was called;
* its get returned before the other's get was called;
* its get returned before the other's put was called;
* it was got and the other was not.

If any order agrees with all of these, the operations have a linearization, except perhaps for gets that found nothing.
If none agrees, two values contradict each other. And a get cannot have found nothing if at every moment of it some
value was certainly there (after Henzinger, Sezgin and Vafeiadis, *Aspect-Oriented Linearizability Proofs*, CONCUR
2013).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from stress.history import Operation, Time
from stress.specs.moments import EVER, Contradiction, Interval, Stay, overlooked

__all__ = ["Passage", "read_off"]


@dataclass(eq=False)
class Passage:
    """One value: its put (None: it was there at `start`) and its get (None: it is not known to have been got)."""

    value: Hashable
    put: Operation | None
    got: Operation | None
    start: Time
    is_placed: bool = False
    put_called: Time = field(init=False)
    put_returned: Time = field(init=False)
    got_called: Time = field(init=False)
    got_returned: Time = field(init=False)

    def __post_init__(self) -> None:
        self.put_called, self.put_returned = _times(self.put) if self.put else (self.start, self.start)
        self.got_called, self.got_returned = _times(self.got) if self.got else (EVER, EVER)


def _times(operation: Operation) -> tuple[Time, Time]:
    return operation.call, EVER if operation.returned is None else operation.returned


def read_off(passages: Sequence[Passage], gets_of_nothing: Iterable[Operation]) -> list[Hashable] | Contradiction:
    """The values in an order in which they may have passed through."""
    order = _in_order(passages)
    if isinstance(order, Contradiction):
        return order
    stays = (Stay(each.put_returned, each.got_called, each.value) for each in passages)
    looks = (Interval(each.call, each.returned) for each in gets_of_nothing if each.returned is not None)
    missed = overlooked(stays, looks)
    return missed[0] if missed else order


def _in_order(passages: Sequence[Passage]) -> list[Hashable] | Contradiction:
    """The values in an order that agrees with the times. O(n log n) for few threads."""
    got = sorted((each for each in passages if each.got), key=attrgetter("got_called"))
    puts = _FirstLeft(sorted(passages, key=attrgetter("put_returned")))
    gets = _FirstLeft(sorted(got, key=attrgetter("got_returned")))
    order: list[Hashable] = []
    running: list[Passage] = []  # those left whose get was called before the first return of a get that is left
    seen = 0
    while len(order) < len(got):
        first_put, first_got = puts.find(), gets.find()
        while seen < len(got) and got[seen].got_called <= first_got.got_returned:
            running.append(got[seen])
            seen += 1
        bound = min(first_put.put_returned, first_got.got_returned)
        following = next((each for each in running if each.put_called <= bound), None)
        if following is None:
            return Contradiction((first_put.value, first_got.value))
        following.is_placed = True
        running.remove(following)
        order.append(following.value)
    left = sorted((each for each in passages if not each.got), key=attrgetter("put_called"))
    return order + [each.value for each in left]


class _FirstLeft:
    """The first of some passages that has no place in the order yet."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages, self._at = passages, 0

    def find(self) -> Passage:
        while self._passages[self._at].is_placed:
            self._at += 1
        return self._passages[self._at]
