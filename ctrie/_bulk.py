"""Many keys at once: the nodes of a trie built from its leaves up, where nobody sees them, and published by one RDCSS.

One by one, each key copies the C-node that it goes into, and all of them are dropped again but the last. Here the pairs
are brought into the order of the trie, where those below each node stand next to one another, and each node is made
once, with all that it holds.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

if not cython.compiled:
    from ctrie._arrays import GROUPS, W, flag_at
    from ctrie._cnode import CNode, Gen, MainNode, branch_at, new_cnode
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
else:
    from cython.cimports.ctrie._arrays import GROUPS, W, flag_at
    from cython.cimports.ctrie._cnode import CNode, Gen, MainNode, branch_at, new_cnode
    from cython.cimports.ctrie._nodes import (
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
        """Return the pairs in the order in which a trie has them; of one hash, in theirs."""
        return sorted(pairs, key=lambda pair: [pair.hash >> lev & (GROUPS - 1) for lev in range(0, HASH_BITS, W)])

    def hash_at(ordered: list[Any], i: int) -> int:
        """Return the hash of pair number `i`."""
        return ordered[i].hash  # type: ignore[no-any-return]

    def pair_at(ordered: list[Any], i: int) -> Any:
        """Return pair number `i`."""
        return ordered[i]

    def let_go(ordered: list[Any]) -> None:
        """For the compiled twin, which has to give memory back."""


def fill_root(root: Root, pairs: list[Any], equal: Callable[[Any, Any], Any] | None) -> bool:
    """Store `pairs`, of which later ones count, if the trie is empty; tell whether it was. Linearizes where the RDCSS
    commits: all of them appear at one instant. Lock-free: it does not try again."""
    old = rdcss_read_root(root)
    main = gcas_read(root, old)
    cn: CNode = main  # type: ignore[assignment]  # the first I-node of a trie is never tombed
    if cn.bitmap != 0:
        return False
    gen = Gen()
    ordered = in_order(pairs)
    try:
        filled = cnode_of(ordered, 0, len(pairs), 0, gen, equal)
    finally:
        let_go(ordered)
    # Success: the trie, which was empty until then, holds all of them. Failure: another thread has stored something or
    # has taken a snapshot meanwhile.
    return rdcss_root(root, old, main, new_inode(filled, gen))


def cnode_of(ordered: Any, start: int, end: int, lev: int, gen: Gen, equal: Callable[[Any, Any], Any] | None) -> CNode:
    """Return a C-node for depth `lev` that leads to pairs number `start` to `end`, which agree below it."""
    bitmap = 0
    branches: list[Any] = []
    while start < end:
        flag = flag_at(hash_at(ordered, start), lev)
        stop = start + 1
        while stop < end and flag_at(hash_at(ordered, stop), lev) == flag:
            stop += 1
        bitmap |= flag
        if stop == start + 1:
            branches.append(pair_at(ordered, start))
        else:
            branches.append(_branch_of(ordered, start, stop, lev + W, gen, equal))
        start = stop
    return new_cnode(bitmap, tuple(branches))


def _branch_of(ordered: Any, start: int, end: int, lev: int, gen: Gen, equal: Callable[[Any, Any], Any] | None) -> Any:
    """Return what leads to pairs from a C-node, at depth `lev`: an I-node, or the only pair if all have one key."""
    main: MainNode
    if lev >= HASH_BITS:
        kept = _distinct([pair_at(ordered, i) for i in range(start, end)], equal)
        if len(kept) == 1:
            return kept[0]
        main = new_lnode(tuple(kept))
    else:
        cn = cnode_of(ordered, start, end, lev, gen, equal)
        only = _only_pair(cn)
        if only is not None:
            return only
        main = cn
    return new_inode(main, gen)


def _only_pair(cn: CNode) -> SNode | None:
    """I5: the pair that is all that a C-node leads to, if it is: a key that was given more than once."""
    if cn.bitmap & (cn.bitmap - 1):
        return None
    branch = branch_at(cn, 0)
    return branch if isinstance(branch, SNode) else None


def _distinct(pairs: list[Any], equal: Callable[[Any, Any], Any] | None) -> list[Any]:
    """Return pairs of one hash without those whose keys come again: the first key object with the last value."""
    kept: list[Any] = []
    for sn in pairs:
        pair: Pair = sn
        for place, known in enumerate(kept):
            first: Pair = known
            if same_key(first, pair.key, pair.hash, equal):
                kept[place] = new_pair(first.key, first.hash, pair.value)
                break
        else:
            kept.append(pair)
    return kept


@contextmanager
def collector_paused() -> Iterator[None]:
    """Have the collector of cycles not run of itself within the block. What is built there is all held on to,
    so a collection finds nothing, and by the collector's reckoning there would be one after each quarter of growth."""
    paused = gc.isenabled()
    if paused:
        gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
