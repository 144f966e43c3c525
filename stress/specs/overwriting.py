"""The order in which values were in a register, derived from the times at which they were written and read.

If no value is written twice, the write and the reads of a value belong together: nothing else can come between them. So
one value goes *before* another if any operation on the first returned before any on the second was called. If a value
has an operation that returned before another one on it was called, it was certainly there between the two. No two
values were there at one moment. Any other value was there at one moment at least, between the last call and the first
return of its operations. If it finds one at which no value was certainly there, there is an order, and the operations
have a linearization, except perhaps for compare-and-sets that failed. (After Gibbons and Korach, *Testing Shared
Memories*, 1997. Compare-and-sets that succeeded are left to the search.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import pairwise
from operator import attrgetter

from stress.history import UNSEEN, Operation
from stress.specs.moments import EVER, Contradiction, Interval, Stay, intervals


def read_off(operations: Sequence[Operation], start: Hashable) -> list[Hashable] | Contradiction | None:
    """The values, from `start` on, in an order in which the register may have held them; None if one was written twice,
    or a compare-and-set may have changed it. O(n log n).
    """
    written, seen = {start: Interval(-1, -1)}, defaultdict[Hashable, list[Interval]](list)
    for each, ran in zip(operations, intervals(operations), strict=True):
        if each.op == "read":
            seen[each.result].append(ran)
        elif each.op == "write" and each.args[0] not in written:
            written[each.args[0]] = ran
        elif each.op != "cas" or each.result is not False:
            return None
    seen.pop(UNSEEN, None)
    stays: list[Stay] = []
    points: list[Stay] = []
    for value in {**written, **seen}:
        runs = [*([written[value]] if value in written else []), *seen[value]]
        first_return, last_call = min(map(attrgetter("returned"), runs)), max(map(attrgetter("called"), runs))
        if value not in written or any(read.returned < written[value].called for read in seen[value]):
            return Contradiction((value,))
        if first_return < EVER:  # else nobody knows whether it was there
            (stays if first_return < last_call else points).append(Stay(first_return, last_call, value))
    stays.sort()
    for one, other in pairwise(stays):
        if other.since < one.until:
            return Contradiction((one.value, other.value))
    order = [(each.since, each.value) for each in stays]
    for first_return, moment, value in points:
        at = bisect_left(stays, moment, key=attrgetter("since")) - 1
        if at >= 0 and stays[at].until > moment:  # it is not there before the other has gone
            moment = stays[at].until
            if moment > first_return:
                return Contradiction((stays[at].value, value))
        order.append((moment, value))
    return [value for _, value in sorted(order, key=lambda each: each[0])]
