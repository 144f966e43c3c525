"""What a trie holds at one instant, without another snapshot where nothing has changed since the last one.

After a snapshot the root is of a new generation, and no I-node below its main node is. Whoever writes then begins by
putting another main node there. So as long as nothing that the main node leads to is of the root's generation, nothing
below it has changed since, and nothing below it ever will (I2 and I3 in ctrie/_nodes.py): the main node is a snapshot
by itself. Of two reads between which nobody writes, the second therefore neither makes a generation, which would be to
write where all threads read, nor makes later writers copy nodes again.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from typing import Any

if not cython.compiled:
    from ctrie._arrays import popcount
    from ctrie._cnode import Gen, MainNode, bitmap_of, child_at
    from ctrie._nodes import (
        INode,
        Root,
        Rooted,
        freeze_root,
        gcas_read,
        gen_of,
        new_inode,
        new_root,
        rdcss_read_root,
        root_of,
    )
    from ctrie._slot import borrow, borrowed, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import next_of
else:
    from cython.cimports.ctrie._arrays import popcount
    from cython.cimports.ctrie._cnode import Gen, MainNode, bitmap_of, child_at
    from cython.cimports.ctrie._native import borrow, borrowed, is_exactly, peek, pin, unpin
    from cython.cimports.ctrie._nodes import (
        INode,
        Root,
        Rooted,
        freeze_root,
        gcas_read,
        gen_of,
        new_inode,
        new_root,
        rdcss_read_root,
        root_of,
    )
    from cython.cimports.subtrie._trie.branch import next_of


def main_for_good(trie: Rooted) -> MainNode:
    """Return a main node for the first I-node of a trie below which nothing changes any more, with the content that the
    trie has now. O(branches of one node). Linearizes at the read of that main node, or the moment before its I-node was
    displaced; else as a snapshot. Lock-free: writes, but to help, only where something was written since the last
    snapshot."""
    pin()
    first = peek(root_of(trie))
    if is_exactly(first, INode):
        main = peek(first)
        if peek(main) is borrow(None) and _leads_to_none_of(main, gen_of(first)):
            kept: MainNode = borrowed(main)
            unpin()
            return kept
    unpin()
    root = freeze_root(trie._root)
    return gcas_read(root, rdcss_read_root(root))


def _leads_to_none_of(main: Any, gen: Any) -> bool:
    """Tell whether no I-node that a main node of the first level leads to is of a certain generation."""
    for i in range(popcount(bitmap_of(main))):
        node = child_at(main, i)
        if not is_exactly(node, INode):
            node = next_of(node)
        if node is not borrow(None) and gen_of(node) is gen:
            return False
    return True


def root_over(main: MainNode) -> Root:
    """Return a read-only root whose content is what `main_for_good` has returned."""
    return new_root(new_inode(main, Gen()), True)


def frozen_root(trie: Rooted) -> Root:
    """Return a read-only root with the content that a trie has now. Cost and progress as `main_for_good`."""
    return trie._root if trie._root.readonly else root_over(main_for_good(trie))
