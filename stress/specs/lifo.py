"""The order in which values were pushed onto a stack and popped, derived from the times of pushes and pops.

If no value is pushed twice, each value is on the stack for one interval, and two intervals never cross: one contains
the other, or they are disjoint. A value is certainly there from the return of its push to the call of its pop. At a
moment that no such certain interval covers, the stack may as well be empty: each value that is there can come a little
later, or go a little earlier. So the values fall into *blocks*, separated by such moments, and each block is judged by
itself. A block needs a value that can be at the bottom for all of it; any value that can will do. Without that value,
the values above it fall into blocks in turn. A block in which no value can be at the bottom is a contradiction. A value
that is never popped comes at a moment when no value is there that is popped later. A pop that found nothing took effect
when the stack was empty. A value whose push and pop overlap comes and goes at one moment, and affects no other value.

(The idea of removing values until none is left is by Lee and Mathur, *Efficient Decrease-and-Conquer Linearizability
Monitoring*.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final

from stress.specs.moments import EVER, Contradiction, Interval, Moment, Passage, chain, overlooked

Change = tuple[Hashable, bool]
"""A value, and whether it was pushed (or popped)."""


_Timed = tuple[Moment, int, Change]
"""A change, its moment, and its rank among several changes at one moment."""


def read_off(passages: Sequence[Passage], pops_of_nothing: Sequence[Interval]) -> list[Change] | Contradiction:
    """The pushes and pops in an order in which they may have taken effect. O(n log n) for few threads."""
    popped = [each for each in passages if each.was_got]
    early = next((each for each in popped if each.got.returned < each.put.called), None)
    if early is not None:
        return Contradiction((early.value,))
    left = [each for each in passages if not each.was_got]
    stays = [each.stay() for each in popped]
    missed = overlooked([*stays, *(each.stay() for each in left)], pops_of_nothing)
    if missed is not None:
        return missed[0]
    missed = overlooked(stays, [each.put for each in left])
    if missed is not None:  # a value that stays for ever came while one that is popped was there
        found, push = missed
        return Contradiction((*found.values, *(each.value for each in left if each.put == push)))
    blocks = _Blocks([each for each in popped if each.stay().since < each.stay().until])
    timed = blocks.changes()
    if isinstance(timed, Contradiction):
        return timed
    for each in popped:
        since, until, _ = each.stay()
        if since > until:
            moment = max(each.put.called, until)
            timed += [(moment, 0, (each.value, True)), (moment, 1, (each.value, False))]
    last_look = max((each.called for each in pops_of_nothing), default=-EVER)
    for each in left:
        moment, rank, block = blocks.latest_gap(each.put.returned)
        if moment < last_look:  # the stack was found empty after this value had to come
            return Contradiction((each.value, *block))
        timed.append((moment, rank, (each.value, True)))
    return [change for _, _, change in sorted(timed, key=lambda each: each[:2])]


class _Blocks:
    """Values that are popped, and are certainly there for some time. The moments at which any certain interval begins
    or ends bound *cells*: cell n is between moments n and n + 1.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._begins = {each.put.returned: each for each in passages}
        self._moments = sorted([*self._begins, *(each.got.called for each in passages)])
        self._cell = {moment: cell for cell, moment in enumerate(self._moments)}
        self._running = self._pushes_running()
        self._blocks: list[tuple[int, int]] = []

    def _pushes_running(self) -> dict[Passage, list[Passage]]:
        """For each value, the values whose push was running when its push returned."""
        running: dict[Passage, None] = {}
        found: dict[Passage, list[Passage]] = {}
        calls = sorted(self._passages, key=lambda each: each.put.called)
        at = 0
        for moment, value in sorted(self._begins.items()):
            while at < len(calls) and calls[at].put.called < moment:
                running[calls[at]] = None
                at += 1
            found[value] = list(running)
            del running[value]
        return found

    def _cells(self, value: Passage) -> tuple[int, int]:
        """The first cell in which a value is certainly there, and the first one after these."""
        return self._cell[value.put.returned], self._cell[value.got.called]

    def changes(self) -> list[_Timed] | Contradiction:
        """The pushes and pops of all values, with their times."""
        cover = _Cover(len(self._moments), map(self._cells, self._passages))
        self._blocks = list(cover.blocks(0, max(len(self._moments) - 1, 0)))
        timed: list[_Timed] = []
        blocks = list(self._blocks)
        while blocks:
            first, end = blocks.pop()
            bottom = self._bottom(first, end)
            if bottom is None:
                return Contradiction(chain([each.stay() for each in self._values(first, end) if not each.is_placed]))
            timed += [
                (self._moments[first], len(timed), (bottom.value, True)),
                (self._moments[end], -len(timed), (bottom.value, False)),
            ]
            bottom.is_placed = True
            cover.take(*self._cells(bottom))
            blocks += cover.blocks(first, end)
        return timed

    def _bottom(self, first: int, end: int) -> Passage | None:
        """A value that can be below all others of a block."""
        finish = self._moments[end]
        for each in self._running[self._begins[self._moments[first]]]:
            if not each.is_placed and each.got.returned > finish > each.put.returned:
                return each
        return None

    def _values(self, first: int, end: int) -> Iterator[Passage]:
        """The values of a block, in the order in which they are certainly there."""
        return (self._begins[moment] for moment in self._moments[first:end] if moment in self._begins)

    def latest_gap(self, moment: Moment) -> tuple[Moment, int, tuple[Hashable, ...]]:
        """The latest moment, up to the given one, at which none of these values need be there, the rank of a change at
        that moment, and the values that are there at the given moment.
        """
        at = bisect_left(self._blocks, moment, key=lambda block: self._moments[block[0]]) - 1
        if at < 0 or self._moments[self._blocks[at][1]] < moment:
            return moment, 0, ()
        first, end = self._blocks[at]
        return self._moments[first], -1, chain([each.stay() for each in self._values(first, end)])


_GONE: Final = 1 << 40


class _Cover:
    """The number of intervals that cover each cell, as a tree of minima."""

    def __init__(self, cells: int, stretches: Iterable[tuple[int, int]]) -> None:
        self._leaves = 1 << max(cells - 1, 1).bit_length()
        least = [0] * (2 * self._leaves)
        for first, end in stretches:
            least[self._leaves + first] += 1
            least[self._leaves + end] -= 1
        for leaf in range(self._leaves + 1, 2 * self._leaves):
            least[leaf] += least[leaf - 1]
        for node in range(self._leaves - 1, 0, -1):
            least[node] = min(least[2 * node], least[2 * node + 1])
        self._least, self._more = least, [0] * (2 * self._leaves)

    def take(self, first: int, end: int) -> None:
        """One stretch less."""
        self._add(first, end, -1)

    def blocks(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """The intervals without a gap from `first` to `end`, cell by cell; each gap is visited once."""
        begin = first
        while begin < end:
            gap = self._gap(begin, end)
            if gap > begin:
                yield begin, gap
            if gap < end:
                self._add(gap, gap + 1, _GONE)
            begin = gap + 1

    def _gap(self, first: int, end: int) -> int:
        """The first cell from `first` on that no interval covers; `end` if there is none."""
        found = self._gap_below(1, 0, self._leaves, 0, first, end)
        return end if found is None else found

    def _gap_below(self, node: int, low: int, high: int, more: int, first: int, end: int) -> int | None:
        if high <= first or low >= end or self._least[node] + more > 0:
            return None
        if node >= self._leaves:
            return low
        more += self._more[node]
        middle = (low + high) // 2
        left = self._gap_below(2 * node, low, middle, more, first, end)
        return self._gap_below(2 * node + 1, middle, high, more, first, end) if left is None else left

    def _add(self, first: int, end: int, amount: int) -> None:
        least, more = self._least, self._more
        low, high = first + self._leaves, end + self._leaves
        ends = low, high - 1
        while low < high:
            if low & 1:
                least[low] += amount
                more[low] += amount
                low += 1
            if high & 1:
                high -= 1
                least[high] += amount
                more[high] += amount
            low, high = low >> 1, high >> 1
        for node in ends:
            while node := node >> 1:
                least[node] = min(least[2 * node], least[2 * node + 1]) + more[node]
