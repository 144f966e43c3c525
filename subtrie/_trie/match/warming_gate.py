"""The gate of the warming passes (warming.py): it measures, during a call, whether they pay.

In a small trie they never do. The first topic of each block shows whether the trie is small. If it is not, the first
TRIED groups are matched alternately with and without a pass, and timed; the slowest of either kind does not count,
since something else may have slowed it down. The way that is clearly cheaper is used for the next groups. Then there is
another trial, each time after twice as many groups as long as the result is the same. In a large trie the first groups
are warmed before any trial.

In the interpreted twin nothing is ever fetched (`PREFETCHES`), so the gate stays shut.
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
    from subtrie._trie.match.plan import Matchable, is_exact, plan_of, split_in_place
    from subtrie._trie.match.steps import topic_at
    from subtrie._trie.match.walk import Traversal, address
    from subtrie._trie.match.warming import estimated_size, warm
else:
    from cython import address
    from cython.cimports.ctrie._nodes import root_of
    from cython.cimports.subtrie._trie.match.gate_state import (
        GROUP,
        LARGE,
        MOST_ROUNDS,
        PREFETCHES,
        ROUNDS,
        SMALL,
        TRIED,
        fetch_characters,
        has_room,
        nanoseconds,
        text_at,
    )
    from cython.cimports.subtrie._trie.match.plan import is_exact, plan_of, split_in_place
    from cython.cimports.subtrie._trie.match.steps import topic_at
    from cython.cimports.subtrie._trie.match.warming import estimated_size, warm


def warm_next(w: Gate, trie: Matchable, block: list[Any], at: int) -> None:
    """Fetch what the matches of the next GROUP topics of a block will read, if that pays."""
    size = min(len(block) - at, GROUP)
    if at == 0:
        _look(w, trie, block)
    if not w.pays or size < GROUP or not _is_turn_to_warm(w) or not has_room(w, GROUP):
        return
    for i in range(size):
        fetch_characters(text_at(block, at + i))
    for i in range(size):
        split_in_place(topic_at(w.topics, i), plan_of(trie), text_at(block, at + i))
    warm(root_of(trie), w.topics, size, w.here, w.there)


def _is_turn_to_warm(w: Gate) -> bool:
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
    """Return whether a pass may pay."""
    paid = w.pays
    w.pays = False
    if not PREFETCHES or len(block) < GROUP:
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
    if is_exact(trie) or not split_in_place(address(walk), plan_of(trie), topic):
        return 0
    return estimated_size(root_of(trie), address(walk))
