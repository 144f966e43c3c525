# distutils: extra_compile_args = SMALL
"""A trie's content at one instant, without another snapshot if nothing has changed since the last one.

After a snapshot the root has a new generation, and no I-node below its main node has it. The next writer begins by
replacing the main node. So as long as the main node leads to no I-node of the root's generation, nothing below it has
changed since the snapshot, and nothing below it ever will (I2 and I3 in ctrie/_nodes.py): the main node is itself a
snapshot. So if there is no write between two reads, the second read makes no generation, which would write where all
threads read, and does not make later writers copy nodes again.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import Gen, MainNode, bitmap_of, child_at
    from ctrie._machine import popcount
    from ctrie._nodes import INode, Root, Rooted, freeze_root, gen_of, new_inode, new_root, root_of
    from ctrie._slot import borrow, borrowed, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import next_of


def frozen_root(trie: Rooted) -> Root:
    """Return a read-only root with a trie's present content, perhaps over a main node of the trie itself.

    O(branches of one node). The linearization point is the read of that main node, or the moment before its I-node was
    replaced; otherwise it is that of the snapshot. Lock-free. Except to help other threads, it writes only if the trie
    was written to since the last snapshot."""
    if trie._root.readonly:
        return trie._root
    pin()
    first = peek(root_of(trie))
    if is_exactly(first, INode):
        main = peek(first)
        if peek(main) is borrow(None) and _leads_to_none_of(main, gen_of(first)):
            kept: MainNode = borrowed(main)
            unpin()
            return new_root(new_inode(kept, Gen()), True)
    unpin()
    return freeze_root(trie._root)


def _leads_to_none_of(main: Any, gen: Any) -> bool:
    """Return whether no I-node that a main node of the first level leads to has this generation."""
    for i in range(popcount(bitmap_of(main))):
        node = child_at(main, i)
        if not is_exactly(node, INode):
            node = next_of(node)
        if node is not borrow(None) and gen_of(node) is gen:
            return False
    return True
