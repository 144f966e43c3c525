"""Many subscriptions into a trie that has some: each C-node is replaced once for all rows below it. For those that are
taken out of one see taking.py.

The sorted rows (filling.py) go down the trie together. At each I-node those that need a new branch in its C-node, or
end at one of its branches, or split it, make one C-node, which one GCAS puts in place. The others go on, at the I-nodes
and at the levels below.

An I-node of an older generation is copied on the way, as by any writer. So every I-node that a GCAS here changes is of
the root's generation, which the rows began with. If the GCAS fails, or if the change is not one of these (at a tomb, or
at words of one hash), the rows are left, and are done one by one afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cython

if not cython.compiled:
    from ctrie._bulk import hash_at
    from ctrie._cnode import CNode, branch_at, new_cnode, with_branch, with_other_branch
    from ctrie._machine import (
        EVERY,
        W,
        check_signals,
        check_stack,
        flag_at,
        is_out_of_track,
        keep_track,
        popcount,
        release_items,
    )
    from ctrie._nodes import INode, gcas, gcas_read, new_inode, rdcss_read_root, renewed, two_snodes
    from subtrie._trie.branch import Branch, changed_branch, is_wanted, new_branch, subscribers_of, words_in
    from subtrie._trie.filling import (
        DEEP,
        FILLED,
        NOT_EMPTY,
        OVERTAKEN,
        Filling,
        fill,
        let_go,
        new_filling,
        order,
        put_row,
        row_at,
        shared_until,
    )
    from subtrie._trie.match.plan import Matchable
    from subtrie._trie.taking import is_single, numbers_of, take_rows
    from subtrie._trie.warming import warm_rows

from subtrie._trie.filling import WordsCollide


def change_rows(
    trie: Matchable,
    place: Callable[[Any, Any], Any],
    filters: list[Any],
    subscribers: list[Any],
    options: list[Any],
    strict: bool = False,
    takes: bool = False,
) -> tuple[int, list[int]]:
    """Subscribe all rows or, if `takes`, unsubscribe them; return how many were not there, or were, and the numbers of
    the rows that remain to be done one by one.

    All rows are checked first; an error of `Filling.read` changes nothing. If the trie is empty, and remembers no
    answers, all of them appear at one instant.
    """
    filling = new_filling(trie, place, filters, subscribers, options, strict, takes)
    count = len(filters)
    try:
        filling.read()
        outcome = NOT_EMPTY if takes or trie._cache is not None else _filled(filling)
        if outcome == FILLED:
            return filling.answer
        if outcome == OVERTAKEN:
            filling.left.extend(range(count))
        elif takes and count > 0:
            take_rows(filling, count)
        elif outcome == NOT_EMPTY and count > 0:
            top = rdcss_read_root(trie._root)
            filling._gen = top.gen
            order(filling, 0, count, 0)
            _merge(filling, top, 0, 0, count, 0)
        return filling.count, _each_once(filling.left, count)
    finally:
        let_go(filling)


def _each_once(numbers: list[int], count: int) -> list[int]:
    """Return the numbers, which are less than `count`, in the order in which each comes first."""
    seen = bytearray(count)
    once: list[int] = []
    for place, number in enumerate(numbers):
        if place % EVERY == 0:
            check_signals()
        if not seen[number]:
            seen[number] = 1
            once.append(number)
    release_items(numbers)
    return once


def _filled(f: Filling) -> int:
    try:
        return fill(f)
    except WordsCollide:
        f.count = 0
        return OVERTAKEN


def _merge(f: Filling, inode: INode, lev: int, start: int, end: int, depth: int) -> None:
    """Change what is below an I-node at depth `lev` of a level for rows number `start` to `end`, which are sorted by
    their words number `depth`."""
    check_stack()
    later = _merge_here(f, inode, lev, start, end, depth)
    f.above.append(inode)
    for below, below_lev, first, last, below_depth, levels in later:
        f.above.extend(levels)
        _merge(f, below, below_lev, first, last, below_depth)
        del f.above[len(f.above) - len(levels) :]
    f.above.pop()


def _merge_here(f: Filling, inode: INode, lev: int, start: int, end: int, depth: int) -> list[Any]:
    """Change the C-node of an I-node for the rows. Return those that go on: at which I-node, and the new levels that
    lead to it. Nothing below is changed before the C-node is: if its change fails, none of the rows has been done."""
    check_signals()
    root = f._trie._root
    main = gcas_read(root, inode)
    if depth >= DEEP or not isinstance(main, CNode):
        f.left.extend(numbers_of(f, start, end))
        return []
    old: CNode = main
    cn = old
    count = f.count
    begun: list[int] = []  # the numbers of the rows that have changed `cn`
    later: list[Any] = []  # the rows that go on
    warm_rows(f._ordered, cn, lev, start, end, depth)
    while start < end:
        flag = flag_at(hash_at(f._ordered, start), lev)
        stop = start + 1
        while stop < end and flag_at(hash_at(f._ordered, stop), lev) == flag:
            stop += 1
        cn = _with_rows(f, cn, lev, start, stop, depth, begun, later)
        start = stop
    if is_out_of_track(inode, cn):
        _keep_track(f, inode)
    # Success: the changes of these rows take effect, at the read of the root. Failure: another thread has changed the
    # I-node, or has taken a snapshot; no other thread has seen `cn`.
    if cn is not old and not gcas(root, inode, old, cn):
        f.count = count
        for _, _, first, last, _, _ in later:
            begun.extend(numbers_of(f, first, last))
        f.left.extend(begun)
        return []
    release_items(begun)
    return later


def _keep_track(f: Filling, inode: INode) -> None:
    """Have the collector track the nodes that lead to what an I-node is about to get (c/untracked.h)."""
    for each in (*f.above, inode):
        keep_track(each)
        keep_track(gcas_read(f._trie._root, each))


def _with_rows(
    f: Filling, cn: CNode, lev: int, start: int, stop: int, depth: int, begun: list[int], later: list[Any]
) -> CNode:
    """Return a C-node with the changes of rows for one of its branches, as far as they can be made there."""
    flag = flag_at(hash_at(f._ordered, start), lev)
    pos = popcount(cn.bitmap & (flag - 1))
    if cn.bitmap & flag and isinstance(branch_at(cn, pos), INode):
        inode: INode = branch_at(cn, pos)
        below = _present(f, inode)
        later.append((below, lev + W, start, stop, depth, ()))
        return cn if below is inode else with_other_branch(cn, pos, below)
    numbers = numbers_of(f, start, stop)
    count = f.count
    known = len(later)
    f.refused = False
    changed: Any = None
    try:
        if cn.bitmap & flag:
            branch: Branch = branch_at(cn, pos)
            changed = _beside(f, branch, lev + W, start, stop, depth, later)
            if changed is branch and not f.refused:
                release_items(numbers)
                return cn
        else:
            changed = f.new_below(start, stop, depth, lev + W)
    except WordsCollide:
        f.refused = True
    if f.refused:
        f.count = count
        f.left.extend(numbers)
        del later[known:]
        return cn
    begun.extend(numbers)
    if not cn.bitmap & flag:
        return with_branch(cn, flag, pos, changed)
    return with_other_branch(cn, pos, changed)


def _beside(f: Filling, branch: Branch, lev: int, start: int, stop: int, depth: int, later: list[Any]) -> Any:
    """Return what takes the place of a branch: itself, another branch, or the I-node of several. It may be that the
    rows belong to it. `f.refused`: that takes more than a change of the C-node."""
    if f.end_of_word(start, stop) < stop:
        f.refused = True
        return branch
    if hash_at(f._ordered, start) != branch.hash:
        added: Branch = f.new_below(start, stop, depth, lev)
        return new_inode(two_snodes(branch, added, lev, f._gen), f._gen)
    whole = True
    end = 0
    for place in range(start, stop):
        if place % EVERY == 0:
            check_signals()
        shared = shared_until(branch, row_at(f._ordered, place), depth, f._trie._plan.separator)
        if shared == 0:
            f.refused = True
            return branch
        whole = whole and shared > 0
        end = shared if place == start else min(abs(end), abs(shared))
    if whole:
        return _with_rows_of(f, branch, start, stop, end, later)
    return _parted(f, branch, start, stop, depth, abs(end), later)


def _parted(f: Filling, chain: Branch, start: int, stop: int, depth: int, end: int, later: list[Any]) -> Branch:
    """Return a chain split before the words number `end` of the rows, with the rows."""
    plan = f._trie._plan
    words = words_in(chain, plan.separator)
    rest = words[end - depth :]
    lower = new_branch(rest, plan.separator, plan.hash_in_filter(rest[0]), subscribers_of(chain), chain.next)
    level = new_inode(new_cnode(flag_at(lower.hash, 0), (lower,)), f._gen)
    upper = new_branch(words[: end - depth], plan.separator, chain.hash, None, level)
    own: list[Any] = []
    changed = _with_rows_of(f, upper, start, stop, end, own)
    for _, _, first, last, _, _ in own:  # in the level, which no other thread has yet
        later.extend((*on, (level, *levels)) for *on, levels in _merge_here(f, level, 0, first, last, end))
    f.refused = not is_wanted(changed) and is_single(gcas_read(f._trie._root, level))  # no row has parted after all
    return changed


def _with_rows_of(f: Filling, branch: Branch, start: int, stop: int, end: int, later: list[Any]) -> Branch:
    """Return what takes the place of a branch for rows that have all its words, which end before their words number
    `end`."""
    ordered = f._ordered
    audience = subscribers_of(branch)
    grown = audience
    longer = start
    for place in range(start, stop):
        if place % EVERY == 0:
            check_signals()
        row = row_at(ordered, place)
        if row.size > end:
            put_row(ordered, longer, row)
            longer += 1
        else:
            grown = f.joined(grown, row)
    below = branch.next
    if longer > start:
        if below is not None:
            below = _present(f, below)
            order(f, start, longer, end)
            later.append((below, 0, start, longer, end, ()))
        else:
            below = f.level(start, longer, end)
    return branch if grown is audience and below is branch.next else changed_branch(branch, grown, below)


def _present(f: Filling, inode: INode) -> INode:
    """Return an I-node, or a copy of it if it is of an older generation."""
    return inode if inode.gen is f._gen else renewed(f._trie._root, inode, f._gen)
