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

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from operator import attrgetter

from stress.specs.moments import Contradiction, Interval, Passage, overlooked


def read_off(passages: Sequence[Passage], gets_of_nothing: Iterable[Interval]) -> list[Hashable] | Contradiction:
    """The values in an order in which they may have passed through."""
    order = _in_order(passages)
    if isinstance(order, Contradiction):
        return order
    missed = overlooked((each.stay() for each in passages), gets_of_nothing)
    return missed[0] if missed else order


def _in_order(passages: Sequence[Passage]) -> list[Hashable] | Contradiction:
    """The values in an order that agrees with the times. O(n log n) for few threads."""
    got = sorted((each for each in passages if each.was_got), key=attrgetter("got.called"))
    puts = deque(sorted(passages, key=attrgetter("put.returned")))
    gets = deque(sorted(got, key=attrgetter("got.returned")))
    order: list[Hashable] = []
    running: list[Passage] = []  # those left whose get was called before the first return of a get that is left
    seen = 0
    while gets:
        first_put, first_got = puts[0], gets[0]
        while seen < len(got) and got[seen].got.called <= first_got.got.returned:
            running.append(got[seen])
            seen += 1
        bound = min(first_put.put.returned, first_got.got.returned)
        following = next((each for each in running if each.put.called <= bound), None)
        if following is None:
            return Contradiction((first_put.value, first_got.value))
        following.is_placed = True
        running.remove(following)
        order.append(following.value)
        for line in puts, gets:
            while line and line[0].is_placed:
                line.popleft()
    left = sorted((each for each in passages if not each.was_got), key=attrgetter("put.called"))
    return order + [each.value for each in left]
