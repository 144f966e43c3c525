"""The order in which values were in a register, derived from the times at which they were written and read.

If no value is written twice, the write and the reads of a value belong together: nothing else can come between them.
One value goes *before* another if any operation on the first returned before any on the second was called. If each goes
before the other, they contradict each other. If no two values do, there is an order, and the operations have a
linearization, except perhaps for compare-and-sets that failed (after Gibbons and Korach, *Testing Shared Memories*,
1997). A compare-and-set that succeeded makes its new value follow the old one directly: the two are links of a *chain*.
Then *before* is defined between chains.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from stress.history import UNSEEN, Operation
from stress.specs.moments import EVER, Contradiction, Interval, Moment, Unplaced, intervals


@dataclass(eq=False)
class _Held:
    """A value, the operation that wrote it, with its interval (None: it was there at the start, or was not written),
    the operations that saw it, and the value by which a compare-and-set replaced it.
    """

    value: Hashable
    written: Interval | None = None
    follows: Hashable = UNSEEN
    seen: list[Interval] = field(default_factory=list)
    followed_by: list[Hashable] = field(default_factory=list)


@dataclass(eq=False)
class _Chain:
    """Values that follow each other directly. Also which of their operations returned first, and which was called last,
    as a moment and the place of its value.
    """

    values: list[Hashable]
    first_return: tuple[Moment, int]
    last_call: tuple[Moment, int]
    is_placed: bool = False

    def between(self) -> list[Hashable]:
        """The values that suffice to show when the chain must have been there."""
        first, last = sorted((self.first_return[1], self.last_call[1]))
        return self.values[first : last + 1]


def read_off(operations: Sequence[Operation], start: Hashable) -> list[Hashable] | Contradiction | None:
    """The values, from `start` on, in an order in which the register may have held them; None if one was written twice.
    O(n log n) for few threads.
    """
    held = _held(operations, start)
    if held is None:
        return None
    twice = next((each for each in held.values() if len(each.followed_by) > 1), None)
    if twice is not None:
        return Contradiction((twice.value, *twice.followed_by))
    chains: list[_Chain] = []
    for each in held.values():
        if each.follows is UNSEEN:
            chain = _chain(each, held, start)
            if isinstance(chain, Contradiction):
                return chain
            chains.append(chain)
    in_some = {value for chain in chains for value in chain.values}
    if len(in_some) < len(held):  # compare-and-sets form a cycle
        return Contradiction(tuple(value for value in held if value not in in_some))
    order = _in_order(chains)
    return order if isinstance(order, Contradiction) else [value for chain in order for value in chain.values]


def _held(operations: Sequence[Operation], start: Hashable) -> dict[Hashable, _Held] | None:
    """The values that were certainly in the register at some time; None if a value was written twice."""
    written = {start: _Held(start)}  # perhaps: nobody may know whether a write took effect
    seen: list[tuple[Hashable, Interval]] = []
    certain = [start]
    for (_, _, _, returned, op, args, result), ran in zip(operations, intervals(operations), strict=True):
        if op == "read":
            if result is not UNSEEN:
                seen.append((result, ran))
        elif op not in {"write", "cas"}:
            return None
        elif op == "write" or result is not False:
            value = args[-1]
            if value in written:
                return None
            written[value] = _Held(value, ran, args[0] if op == "cas" else UNSEEN)
            if result is not UNSEEN if op == "cas" else returned is not None:
                certain.append(value)
    certain += {value: None for value, _ in seen}
    held: dict[Hashable, _Held] = {}
    while certain:
        value = certain.pop()
        here = held.get(value) or written.get(value) or _Held(value)
        if value not in held and here.follows is not UNSEEN:  # so the old value was there, too
            certain.append(here.follows)
        held[value] = here
    for value, ran in seen:
        held[value].seen.append(ran)
    for each in held.values():
        if each.follows is not UNSEEN:
            held[each.follows].followed_by.append(each.value)
    return held


def _chain(first: _Held, held: dict[Hashable, _Held], start: Hashable) -> _Chain | Contradiction:
    """The values that follow `first`; a contradiction if an operation on one of them comes before a predecessor's."""
    values: list[Hashable] = []
    first_return, last_call = (EVER, 0), (-EVER, 0)
    if first.written is None:
        if first.value != start:
            return Contradiction((first.value,))
        first_return = last_call = (-1, 0)
    here = first
    while True:
        at = len(values)
        values.append(here.value)
        for runs in ([here.written] if here.written else []), here.seen:
            if runs:
                earliest = min(map(attrgetter("returned"), runs))
                if earliest < last_call[0]:
                    return Contradiction(tuple(values[last_call[1] :]))
                first_return = min(first_return, (earliest, at))
                last_call = max(last_call, (max(runs).called, at))
        if not here.followed_by:
            return _Chain(values, first_return, last_call)
        here = held[here.followed_by[0]]


def _in_order(chains: Iterable[_Chain]) -> list[_Chain] | Contradiction:
    """The chains in an order that agrees with the times. The next chain is either the one whose last call is earliest,
    or the one whose first return is earliest: all others must come after the latter.
    """
    chains = list(chains)
    by_call = Unplaced(sorted(chains, key=lambda each: each.last_call))
    by_return = Unplaced(sorted(chains, key=lambda each: each.first_return))
    order: list[_Chain] = []
    while (earliest := by_call.first()) is not None:
        first, second = by_return.first(), by_return.second()
        assert first is not None
        blocks = second if earliest is first else first
        if blocks is not None and blocks.first_return < earliest.last_call:
            if earliest is first or (second is not None and second.first_return < first.last_call):
                assert second is not None
                return Contradiction((*first.between(), *second.between()))
            earliest = first
        earliest.is_placed = True
        order.append(earliest)
    return order
