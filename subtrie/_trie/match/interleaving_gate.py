"""The gate of the interleaved traversals (interleaved.py): it measures, during a call, whether they pay.

In a small trie they do not. The first topic of each block shows whether the trie is small. If it is not, the first
TRIED groups are matched alternately one by one and side by side, and timed; the slowest of either kind does not count,
since something else may have slowed it down. The way that is clearly cheaper is used for the next groups. Then there is
another trial, each time after twice as many groups as long as the result is the same. In a large trie the first groups
are matched side by side before any trial.

A trie that remembers answers, or keeps filters without a wildcard by their whole text, is always asked one by one.

In the interpreted twin nothing is ever fetched (`PREFETCHES`), so the gate stays shut. There only tests and the
explorer open it.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from typing import Any

if not cython.compiled:
    from ctrie._nodes import root_of
    from subtrie._trie.match.gate_state import (
        FEWEST,
        GROUP,
        LARGE,
        MOST_ROUNDS,
        PREFETCHES,
        ROUNDS,
        SMALL,
        TRIED,
        Gate,
        fetch_characters,
        has_room,
        nanoseconds,
        text_at,
    )
    from subtrie._trie.match.interleaved import estimated_size, take_group
    from subtrie._trie.match.plan import Matchable, holds_weakly, is_exact, plan_of, remembers, split_in_place
    from subtrie._trie.match.scratch import Scratch, begin_trails, end_trails, enter, leave, let_go, start
    from subtrie._trie.match.steps import scratch_at, topic_at, trails_at
    from subtrie._trie.match.walk import Trails, Traversal, address
else:
    from cython import address

if not cython.compiled:  # in interleaving_gate.pxd, an enum: what is asked of topics
    SUBSCRIBERS = 0
    DELIVERIES = 1
    NUMBERS = 2


def take_next(w: Gate, trie: Matchable, block: list[Any], at: int, asked: int) -> bool:
    """Traverse the next GROUP topics of a block side by side, if that pays, and take references to what was found.
    Then those topics whose traversal (`topic_at`) has a size have their answers, and the group must be ended."""
    count = min(len(block) - at, GROUP)
    if at == 0:
        _look(w, trie, block)
    if not w.pays or count < FEWEST or not _is_turn(w, count) or not has_room(w) or not enter():
        return False
    w.count = count
    for i in range(count):
        fetch_characters(text_at(block, at + i))
    for i in range(count):
        split_in_place(topic_at(w.group, i), plan_of(trie), text_at(block, at + i))
        _start(scratch_at(w.group, i), trails_at(w.group, i), trie, asked)
    take_group(root_of(trie), w.group, count, w.steps)
    return True


def _start(s: Scratch, trails: Trails, trie: Matchable, asked: int) -> None:
    start(s, False)
    if asked == SUBSCRIBERS:
        s.weak = holds_weakly(trie)
    elif asked == DELIVERIES:
        begin_trails(s, trails)
        s.shared = holds_weakly(trie)  # Python code will find out which are alive
    else:
        s.only_hashes = True


def end_group(w: Gate) -> None:
    """Give back what was taken and not handed on."""
    for i in range(w.count):
        if topic_at(w.group, i).trails:
            end_trails(trails_at(w.group, i))
        let_go(scratch_at(w.group, i))
    leave()


def _is_turn(w: Gate, count: int) -> bool:
    """Return whether the next topics are to be traversed side by side."""
    if count < GROUP:  # its time would say nothing
        return w.better
    now = nanoseconds() if w.round <= TRIED else 0
    if 0 < w.round <= TRIED:
        kind = w.round & 1
        w.spent[kind] += now - w.since
        w.longest[kind] = max(w.longest[kind], now - w.since)
    if w.round == TRIED:
        _decide(w)
    w.round += 1
    if w.round > w.rounds:
        _begin_trial(w)
        now = nanoseconds()
        w.round = 1
    w.since = now
    return w.better if w.round > TRIED else w.round & 1 == 1


def _decide(w: Gate) -> None:
    without = w.spent[0] - w.longest[0]
    better = w.spent[1] - w.longest[1] < without - without // 8
    w.rounds = min(2 * w.rounds, MOST_ROUNDS) if better == w.better else ROUNDS
    w.better = better


def _begin_trial(w: Gate) -> None:
    w.round = 0
    for kind in range(2):
        w.spent[kind] = 0
        w.longest[kind] = 0


def _look(w: Gate, trie: Matchable, block: list[Any]) -> None:
    """Find out whether groups may pay."""
    paid = w.pays
    w.pays = False
    if not PREFETCHES or len(block) < FEWEST or is_exact(trie) or remembers(trie):
        return
    about = _size_seen_by(trie, text_at(block, 0))
    w.pays = about >= SMALL
    if w.pays and w.rounds == 0:
        w.rounds = ROUNDS
        w.better = about >= LARGE
        _begin_trial(w)
        w.round = ROUNDS - 2 * TRIED if w.better else 0
    elif w.pays and not paid and w.round <= TRIED:
        _begin_trial(w)  # the last one has been interrupted


def _size_seen_by(trie: Matchable, topic: Any) -> float:
    """Return about how many branches there are, as the way of one topic shows."""
    if not cython.compiled:
        walk = Traversal()
    if not split_in_place(address(walk), plan_of(trie), topic):
        return 0
    return estimated_size(root_of(trie), address(walk))
