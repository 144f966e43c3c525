"""Finds the branch where a filter or topic ends, with borrowed references.

It is the descent of `_end_of_path` in ctrie/_descent.py, through the levels of all words. To count references would be
to write to nodes that all readers share.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import CNode, bitmap_of, child_at
    from ctrie._descent import help_pending
    from ctrie._machine import W, flag_at, popcount
    from ctrie._nodes import INode, Root, hash_of, rdcss_read_root, root_of
    from ctrie._slot import borrow, borrowed, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import Branch, Chain, next_of
    from subtrie._trie.match.plan import Matchable
    from subtrie._trie.match.walk import (
        Traversal,
        address,
        begins_branch,
        is_part,
        length_of,
        text_in,
        word_end,
    )
else:
    from cython import address


def find_in_place(trie: Matchable, t: Traversal) -> Branch | None:
    """Return the branch where the words in `t` end, or None; not for the exact layout, whose texts may be several
    words. Size 0 afterwards: this has not been decided, and is to be asked of `branch_at` (listing.py). Linearizes at
    the last read of a main node, or just before that node was cut off. Progress: it restarts only after it has helped
    to complete another thread's write or snapshot."""
    while True:
        pin()
        inode = peek(root_of(trie))
        if not is_exactly(inode, INode):
            unpin()
            rdcss_read_root(cython.cast(Root, root_of(trie)))
            continue
        depth = 0
        word = address(t.words[0])
        hash = word.hash
        while True:
            main = peek(inode)
            if peek(main) is not borrow(None):
                # A GCAS is pending here: complete it, and start again.
                help_pending(cython.cast(Root, root_of(trie)), inode, main)
                break
            if not is_exactly(main, CNode):  # a tomb, or words with one hash
                unpin()
                t.size = 0
                return None
            flag = flag_at(hash, 0)
            if not bitmap_of(main) & flag:
                unpin()
                return None
            child = child_at(main, popcount(bitmap_of(main) & (flag - 1)))
            if is_exactly(child, INode):
                inode = child
                hash >>= W
                continue
            if hash_of(child) != word.hash or not begins_branch(word, child, t.separator):
                unpin()
                return None
            depth += 1
            if is_exactly(child, Chain):
                depth = _along(t, child, word.length, depth)
            if depth == t.size:
                found: Branch = borrowed(child)
                unpin()
                return found
            inode = next_of(child)
            if depth == 0 or inode is borrow(None):
                unpin()
                return None
            word = address(t.words[depth])
            hash = word.hash


def _along(t: Traversal, branch: Any, at: int, depth: int) -> int:
    """Return how many words have been followed after a chain, `depth` of them up to the end of its first one, at `at`;
    0 if they are not its words."""
    chain = text_in(branch)
    length = length_of(address(chain))
    while at < length:
        start = at + 1
        at = word_end(address(chain), start, t.separator)
        if depth == t.size or not is_part(address(t.words[depth]), address(chain), start, at):
            return 0
        depth += 1
    return depth
