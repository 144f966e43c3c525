"""Many rows wait for the memory of a large trie together, instead of one after the other.

Rows that are sorted like the trie go down it one by one. Each of them waits for the nodes on its way. So before the
rows of a C-node go on, each sends a descent ahead; of many rows, the first for each branch of the C-node, since the
others come to other C-nodes first. The descents advance together, by one node each in turn, and ask the processor for
the next one. They decide and answer nothing. Where one finds a node that is not at rest, or words that are not the
row's, it ends.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._bulk import hash_at
    from ctrie._cnode import CNode, bitmap_of, child_at
    from ctrie._descent import prefetch_child, prefetch_node, prefetch_text
    from ctrie._machine import W, flag_at, popcount
    from ctrie._nodes import INode, hash_of, value_of
    from ctrie._slot import borrow, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import Branch, Chain, next_of, sole_hash_of
    from subtrie._trie.filling import fetch_row, row_at
    from subtrie._trie.keyed import key_in
    from subtrie._trie.match.walk import fetch_text_apart, item_of, prefetch_wanted, size_of

    AHEAD = 16  # in warming.pxd, a size of C arrays

FEW = 4  # rows of one C-node that are not worth it
MANY = 64  # rows of one C-node of which each has its own descent


def warm_rows(ordered: Any, cn: CNode, lev: int, start: int, end: int, depth: int) -> None:
    """Prefetch what rows read below a C-node at depth `lev` of a level, which have been sorted by their words number
    `depth`."""
    if end - start < FEW:
        return
    if not cython.compiled:
        rows: list[Any] = [None] * AHEAD
    each = end - start <= MANY
    flag = count = 0
    while start < end:
        if each or flag_at(hash_at(ordered, start), lev) != flag:
            flag = flag_at(hash_at(ordered, start), lev)
            rows[count] = row_at(ordered, start)
            count += 1
        start += 1
        if count == AHEAD or start == end:
            _descend(borrow(cn), lev, rows, count, depth)
            count = 0


def _descend(cn: Any, lev: int, rows: Any, count: int, depth: int) -> None:
    if not cython.compiled:
        nodes: list[Any] = [None] * AHEAD
        levs, places, depths = [0] * AHEAD, [0] * AHEAD, [0] * AHEAD
    for i in range(count):
        fetch_row(rows[i])
        nodes[i], levs[i], places[i], depths[i] = cn, lev, -1, depth
    pin()
    left = count
    while left:
        left = 0
        for i in range(count):
            node = nodes[i]
            if node is borrow(None):
                continue
            left += 1
            nodes[i] = borrow(None)
            if is_exactly(node, INode):
                nodes[i] = peek(node)
                prefetch_node(nodes[i])
            elif is_exactly(node, CNode):
                if places[i] >= 0:
                    nodes[i] = child_at(node, places[i])
                    places[i] = -1
                    prefetch_text(nodes[i])
                else:
                    flag = flag_at(rows[i].words[depths[i]].hash, levs[i])
                    if bitmap_of(node) & flag:
                        nodes[i] = node
                        places[i] = popcount(bitmap_of(node) & (flag - 1))
                        levs[i] += W
                        prefetch_child(node, places[i])
            elif is_exactly(node, tuple):
                if places[i] < 0:
                    nodes[i] = node
                _fetch_members(node, places[i] >= 0)
                places[i] = 0
            elif _is_branch(node) and hash_of(node) == rows[i].words[depths[i]].hash:
                fetch_text_apart(node)
                depths[i] += 1
                if depths[i] == rows[i].size or next_of(node) is borrow(None):
                    prefetch_wanted(node)
                    if not sole_hash_of(node):
                        nodes[i] = value_of(node)  # a tuple of several subscribers, mostly
                elif is_exactly(node, Branch):
                    nodes[i] = next_of(node)
                    levs[i] = 0
                    prefetch_node(nodes[i])
    unpin()


def _is_branch(node: Any) -> bool:
    return is_exactly(node, Branch) or is_exactly(node, Chain)


def _fetch_members(several: Any, keys: bool) -> None:
    """Have a few subscribers of one filter fetched: first what holds each, then its key."""
    for i in range(size_of(several)):
        prefetch_node(key_in(item_of(several, i)) if keys else item_of(several, i))
