"""The order in which values were pushed onto a stack and popped, derived from the times of pushes and pops.

If no value is pushed twice, each value is on the stack for one interval, and two intervals never cross: one contains
the other, or they are disjoint. A value is certainly there from the return of its push to the call of its pop. At a
moment that no such certain interval covers, the stack may as well be empty: each value that is there can come a
little later, or go a little earlier. So the values fall into *blocks*, separated by such moments, and each block is
judged by itself. A block needs a value that can be at the bottom for all of it; every value that can may be there.
Without these values, those above them fall into blocks in turn. A block in which no value can be at the bottom is a
contradiction. A value that is never popped comes at a moment when no value is there that is popped later. A pop that
found nothing took effect when the stack was empty. A value whose push and pop overlap comes and goes at one moment,
and affects no other value.

A block is looked through once for each level of values in it. So a stack on which thousands of values lie at once is
left to the search.

(The idea of removing values until none is left is by Lee and Mathur, *Efficient Decrease-and-Conquer Linearizability
Monitoring*.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import Final

from stress.specs.moments import EVER, Contradiction, Interval, Moment, Passage, chain, overlooked

Change = tuple[Hashable, bool]
"""A value, and whether it was pushed (or popped)."""
_Timed = tuple[Moment, int, Change]
"""A change, its moment, and its rank among several changes at one moment."""
_Block = list[Passage]
"""Values that are certainly there without a gap between them, by the beginnings of these times."""
_MOST_LOOKS: Final = 3_000_000


def read_off(passages: Sequence[Passage], pops_of_nothing: Sequence[Interval]) -> list[Change] | Contradiction | None:
    """The pushes and pops in an order in which they may have taken effect; None if it would take long to find one."""
    popped = [each for each in passages if each.was_got]
    left = [each for each in passages if not each.was_got]
    stays = [each.stay() for each in popped]
    missed = overlooked([*stays, *(each.stay() for each in left)], pops_of_nothing)
    if missed is not None:
        return missed[0]
    missed = overlooked(stays, [each.put for each in left])
    if missed is not None:  # a value that stays for ever came while one that is popped was there
        found, push = missed
        return Contradiction((*found.values, *(each.value for each in left if each.put == push)))
    certain = [each for each in popped if each.put.returned < each.got.called]
    blocks = _blocks(sorted(certain, key=lambda each: each.put.returned))
    bounds, timed = list(map(_bounds, blocks)), _changes(blocks)
    if not isinstance(timed, list):
        return timed
    for each in popped:
        since, until, _ = each.stay()
        if since > until:
            moment = max(each.put.called, until)
            timed += [(moment, 0, (each.value, True)), (moment, 1, (each.value, False))]
    last_look = max((each.called for each in pops_of_nothing), default=-EVER)
    for each in left:
        moment, rank = each.put.returned, 0
        at = bisect_left(bounds, (moment, -EVER)) - 1
        if at >= 0 and bounds[at][1] >= moment:  # it comes before a block that is there then
            moment, rank = bounds[at][0], -1
        if moment < last_look:  # the stack was found empty after this value had to come
            return Contradiction((each.value, *(_together(blocks[at]) if rank else ())))
        timed.append((moment, rank, (each.value, True)))
    return [change for _, _, change in sorted(timed, key=lambda each: each[:2])]


def _blocks(values: Sequence[Passage]) -> list[_Block]:
    """The blocks into which values fall, which are given by the beginnings of the times at which they are there."""
    blocks: list[_Block] = []
    until = -EVER
    for each in values:
        if each.put.returned > until:
            blocks.append([])
        blocks[-1].append(each)
        until = max(until, each.got.called)
    return blocks


def _bounds(block: _Block) -> tuple[Moment, Moment]:
    """The moments at which the times begin and end."""
    return block[0].put.returned, max(each.got.called for each in block)


def _together(block: _Block) -> tuple[Hashable, ...]:
    return chain([each.stay() for each in block])


def _changes(blocks: Sequence[_Block]) -> list[_Timed] | Contradiction | None:
    """The pushes and pops of the values in these blocks, with their times."""
    timed: list[_Timed] = []
    waiting, looks = list(blocks), 0
    while waiting:
        block = waiting.pop()
        looks += len(block)
        if looks > _MOST_LOOKS:
            return None
        first, end = _bounds(block)
        above = []
        for each in block:
            if each.put.called < first and each.got.returned > end:  # it can be below all others
                timed += [(first, len(timed), (each.value, True)), (end, -len(timed), (each.value, False))]
            else:
                above.append(each)
        if len(above) == len(block):
            return Contradiction(_together(block))
        waiting += _blocks(above)
    return timed
