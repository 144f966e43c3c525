"""Many keys at once: a trie's nodes are built from the leaves up, privately, and published by one RDCSS.

Storing the keys one by one copies a C-node for each key, and only the last copy of each C-node survives. Here the pairs
are first sorted into the order of the trie, so that the pairs below each node are adjacent. Each node is then made
once, complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import (
        Branches,
        CNode,
        Gen,
        MainNode,
        add_branch,
        branch_at,
        cnode_of_branches,
        drop_branches,
        new_branches,
    )
    from ctrie._machine import GROUPS, W, check_signals, flag_at
    from ctrie._nodes import (
        HASH_BITS,
        Pair,
        Root,
        SNode,
        gcas_read,
        new_inode,
        new_lnode,
        new_pair,
        rdcss_read_root,
        rdcss_root,
        same_key,
    )


if not cython.compiled:  # the compiled bodies (_bulk.pxd, c/sort.h) sort by C numbers

    def in_order(pairs: list[Any]) -> list[Any]:
        """Move the pairs out of the list into the order of the trie. Pairs with the same hash keep their order."""
        ordered = sorted(pairs, key=lambda pair: [pair.hash >> lev & (GROUPS - 1) for lev in range(0, HASH_BITS, W)])
        pairs.clear()
        return ordered

    def never_tracked(pairs: list[Any]) -> bool:
        """Tell whether the collector tracks none of the pairs. It is of use to the compiled twin only."""
        return False

    def hash_at(ordered: list[Any], i: int) -> int:
        """Return the hash of pair number `i`."""
        return ordered[i].hash  # type: ignore[no-any-return]

    def take_pair(ordered: list[Any], i: int) -> Any:
        """Take pair number `i` out of its place."""
        return ordered[i]

    def move_pair(branches: Branches, ordered: list[Any], i: int, untracked: bool) -> None:
        """Move pair number `i` to the branches."""
        add_branch(branches, ordered[i])

    def let_go(ordered: list[Any], count: int) -> None:
        """Free the places of the pairs, and the pairs that were not taken. Only the compiled twin has such memory."""


def fill_root(root: Root, pairs: list[Any], equal: Callable[[Any, Any], Any] | None) -> int:
    """Store `pairs` if the trie is empty; return how many keys they have. -1: it was not empty, and nothing is stored.
    If a key occurs twice, its last value counts. The list loses its pairs. Linearizes at the commit of the RDCSS: all
    pairs appear at one instant. Lock-free: there is only one attempt."""
    old = rdcss_read_root(root)
    main = gcas_read(root, old)
    cn: CNode = main  # type: ignore[assignment]  # the first I-node of a trie is never tombed
    if cn.bitmap != 0:
        return -1
    gen = Gen()
    count = len(pairs)
    repeated: list[Any] = []
    untracked = never_tracked(pairs)
    ordered = in_order(pairs)
    try:
        filled = cnode_of(ordered, 0, count, 0, gen, equal, untracked, repeated)
    finally:
        let_go(ordered, count)
    # Success: the trie was empty until this instant and now holds all pairs. Failure: another thread has stored
    # something or taken a snapshot in the meantime.
    done = rdcss_root(root, old, main, new_inode(filled, gen))
    return count - len(repeated) if done else -1


def cnode_of(
    ordered: Any,
    start: int,
    end: int,
    lev: int,
    gen: Gen,
    equal: Callable[[Any, Any], Any] | None,
    untracked: bool,
    repeated: list[Any],
) -> CNode:
    """Return a C-node at depth `lev` for pairs number `start` to `end`, whose hashes agree below `lev`. It takes them
    out of their places. No reference is counted on the way: the pairs of a large trie lie anywhere in memory.
    `untracked` promises that the collector tracks none of them. Pairs whose keys occur again go to `repeated`."""
    if not cython.compiled:
        branches = Branches()
    new_branches(branches)
    bitmap = 0
    try:
        while start < end:
            flag = flag_at(hash_at(ordered, start), lev)
            stop = start + 1
            while stop < end and flag_at(hash_at(ordered, stop), lev) == flag:
                stop += 1
            bitmap |= flag
            if stop == start + 1:
                move_pair(branches, ordered, start, untracked)
            else:
                branch = _branch_of(ordered, start, stop, lev + W, gen, equal, untracked, repeated)
                add_branch(branches, branch)
            start = stop
        return cnode_of_branches(bitmap, branches)
    finally:
        drop_branches(branches)  # an error leaves some


def _branch_of(
    ordered: Any,
    start: int,
    end: int,
    lev: int,
    gen: Gen,
    equal: Callable[[Any, Any], Any] | None,
    untracked: bool,
    repeated: list[Any],
) -> Any:
    """Return the branch for these pairs at depth `lev`: an I-node, or the only pair if all have the same key."""
    main: MainNode
    if lev == W:  # at most once for each branch of the first C-node
        check_signals()
    if lev >= HASH_BITS:
        kept = _distinct([take_pair(ordered, i) for i in range(start, end)], equal, repeated)
        if len(kept) == 1:
            return kept[0]
        main = new_lnode(tuple(kept))
    else:
        cn = cnode_of(ordered, start, end, lev, gen, equal, untracked, repeated)
        only = only_pair(cn)
        if only is not None:
            return only
        main = cn
    return new_inode(main, gen)


def only_pair(cn: CNode) -> SNode | None:
    """Return the pair if it is all that the C-node holds (I5), else None. This happens if a key was given twice."""
    if cn.bitmap & (cn.bitmap - 1):
        return None
    branch = branch_at(cn, 0)
    return branch if isinstance(branch, SNode) else None


def _distinct(pairs: list[Any], equal: Callable[[Any, Any], Any] | None, repeated: list[Any]) -> list[Any]:
    """Return pairs with the same hash without those whose keys occur again, which go to `repeated`: the first key
    object stays, with the last value."""
    kept: list[Any] = []
    for sn in pairs:
        pair: Pair = sn
        for place, known in enumerate(kept):
            first: Pair = known
            if same_key(first, pair.key, pair.hash, equal):
                kept[place] = new_pair(first.key, first.hash, pair.value)
                repeated.append(pair)
                break
        else:
            kept.append(pair)
    return kept
