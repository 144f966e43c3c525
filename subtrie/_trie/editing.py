"""Edits of a trie's filters: made with its plan, and applied to its root.

A change descends from the root. On free-threaded builds it would count a reference to every node on its path, so all
writers would write to the counts of the nodes near the root at once. So the first attempt begins with borrowed
references, under a pin (ctrie/c/epoch.h), and takes references of its own where it stops. It passes the nodes that
`_attempt` in ctrie/_nodes.py would pass without a change: I-nodes of the root's generation with nothing pending, and
branches of which the filter has all words. It stops at any other node, and `_go_on` continues there. The plan and the
root are borrowed from the trie.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from operator import attrgetter
from typing import Any

if not cython.compiled:
    from ctrie._arrays import W, flag_at, popcount
    from ctrie._cnode import CNode, bitmap_of, child_at
    from ctrie._nodes import INode, Root, SNode, edit_trie, gen_of, hash_of, root_of, value_of
    from ctrie._slot import borrow, borrowed, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import (
        FilterEdit,
        Subscribe,
        Unsubscribe,
        next_of,
        sole_hash_of,
        subscribe_edit,
        unsubscribe_edit,
    )
    from subtrie._trie.match.plan import Matchable, Plan
    from subtrie._trie.packed_key import words_followed_in
    from subtrie._trie.subscribers import Entry
else:
    from cython.cimports.ctrie._arrays import W, flag_at, popcount
    from cython.cimports.ctrie._cnode import CNode, bitmap_of, child_at
    from cython.cimports.ctrie._native import borrow, borrowed, is_exactly, peek, pin, unpin
    from cython.cimports.ctrie._nodes import INode, Root, SNode, edit_trie, gen_of, hash_of, root_of, value_of
    from cython.cimports.subtrie._trie.branch import (
        FilterEdit,
        Subscribe,
        Unsubscribe,
        next_of,
        sole_hash_of,
        subscribe_edit,
        unsubscribe_edit,
    )
    from cython.cimports.subtrie._trie.match.plan import Matchable, Plan
    from cython.cimports.subtrie._trie.packed_key import words_followed_in
    from cython.cimports.subtrie._trie.subscribers import Entry


if not cython.compiled:  # borrowed; the compiled one (editing.pxd) counts no reference
    plan_of = attrgetter("_plan")


def new_subscribe(
    trie: Matchable, words: tuple[str, ...], hashes: tuple[int, ...], group: str | None, entry: Entry
) -> Subscribe:
    """Return an edit that adds `entry` to the filter of these words, or to its queue group."""
    plan = plan_of(trie)
    return subscribe_edit(cython.cast(Plan, plan), cython.cast(Plan, plan).separator, words, hashes, group, entry)


def new_unsubscribe(
    trie: Matchable, words: tuple[str, ...], hashes: tuple[int, ...], group: str | None, subscriber: Any, hash: int
) -> Unsubscribe:
    """Return an edit that removes a subscriber."""
    plan = plan_of(trie)
    separator = cython.cast(Plan, plan).separator
    return unsubscribe_edit(cython.cast(Plan, plan), separator, words, hashes, group, subscriber, hash)


def edit_filter(trie: Matchable, edit: FilterEdit) -> SNode | None:
    """Apply `edit`, as `edit_trie` does."""
    return edit_trie(cython.cast(Root, root_of(trie)), edit, _approach(trie, edit))


def _approach(trie: Matchable, edit: FilterEdit) -> bool:
    """Move the edit as near to its filter's end as it comes without a change. Return False if it cannot start.

    Generations are compared only to save a GCAS that would fail. `parent_main` is not set: only walks after the change
    need it, and these begin at the root."""
    hashes = edit.hashes
    words = edit.words
    separator = edit.separator
    pin()
    inode = peek(root_of(trie))
    if not is_exactly(inode, INode):
        unpin()
        return False
    hash = hashes[0]
    lev = depth = 0
    bare_above = False
    parent = borrow(None)
    parent_lev = 0
    parent_hash = hash
    while True:
        # One step of `_go_on`, `_enter` and `advance`.
        main = peek(inode)
        if not is_exactly(main, CNode) or peek(main) is not borrow(None):
            break
        flag = flag_at(hash, lev)
        if not bitmap_of(main) & flag:
            break
        branch = child_at(main, popcount(bitmap_of(main) & (flag - 1)))
        if is_exactly(branch, INode):
            if gen_of(branch) is not gen_of(inode):
                break
            parent, parent_lev, parent_hash = inode, lev, hash
            inode = branch
            lev += W
            continue
        below = next_of(branch)
        if hash_of(branch) != hash or below is borrow(None) or gen_of(below) is not gen_of(inode):
            break
        taken = words_followed_in(branch, words, depth, separator)
        if taken <= 0 or depth + taken >= len(words):
            break
        parent, parent_lev, parent_hash = inode, lev, hash
        inode = below
        lev = 0
        bare_above = sole_hash_of(branch) == 0 and value_of(branch) is borrow(None)
        depth += taken
        hash = hashes[depth]
    here: INode = borrowed(inode)
    parent_here: INode | None = borrowed(parent)
    unpin()
    edit.rewind()
    edit.inode = here
    edit.lev = lev
    edit.hash = hash
    edit.parent = parent_here
    edit.parent_lev = parent_lev
    edit.parent_hash = parent_hash
    edit.depth = depth
    edit.bare_above = bare_above
    return True
