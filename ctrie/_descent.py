"""Lookups and plain stores: the descents that most calls take, with borrowed references.

On free-threaded builds a reader that counted references during its descent would write to nodes that all readers share.
These descents count nothing until they arrive; a pin keeps the nodes on their path alive (`c/epoch.h`). While pinned,
they run no Python code, allocate nothing and drop no reference. To compare keys by `__eq__` they take a reference,
unpin, and then compare. In the interpreted twin a borrowed reference is an ordinary one, and pins do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import CNode, MainNode, bitmap_of, branch_at, child_at, with_branch, with_other_branch
    from ctrie._machine import W, flag_at, is_out_of_track, popcount
    from ctrie._nodes import (
        INode,
        LNode,
        Pair,
        Root,
        Rooted,
        SNode,
        TNode,
        gcas,
        gcas_complete,
        gen_of,
        hash_of,
        key_of,
        new_inode,
        new_pair,
        rdcss_read_root,
        root_of,
        same_key,
        two_snodes,
        value_of,
    )
    from ctrie._slot import borrow, borrowed, is_exactly, peek, pin, unpin
    from ctrie._tally import begin_change, end_change, end_in_doubt

    GROUP = 16  # keys that `prefetch_paths` walks together; a larger group does not save more time

UNDONE = 0
STORED = 1
THERE = 2
ADDED = 3


class NoValue:
    """Stands for the value of a key that has none. It is the class itself that is passed and compared: compiled, it is
    never freed, so nobody counts references to it. All threads would write to the count of another object."""


def help_pending(root: Root, inode: Any, main: Any) -> None:
    """Complete the GCAS that is pending in `inode`. Both nodes are borrowed and pinned; the pin is released on return.
    This is a separate function because its references are dropped at its end, which must not happen while pinned."""
    kept_inode: INode = borrowed(inode)
    kept_main: MainNode = borrowed(main)
    unpin()
    gcas_complete(root, kept_inode, kept_main)


def _end_of_path(trie: Rooted, hash: int) -> Any:
    """Return the S-node, L-node or T-node at the end of the path of `hash`, or None; borrowed and *pinned*. Progress:
    it restarts only after it has helped to complete another thread's write or snapshot."""
    while True:
        pin()
        lev = 0
        node = peek(root_of(trie))
        if not is_exactly(node, INode):
            unpin()
            rdcss_read_root(trie._root)
            continue
        while True:
            main = peek(node)
            if peek(main) is not borrow(None):
                break
            if not is_exactly(main, CNode):
                return main
            bitmap = bitmap_of(main)
            flag = flag_at(hash, lev)
            if not bitmap & flag:
                return borrow(None)
            node = child_at(main, popcount(bitmap & (flag - 1)))
            if not is_exactly(node, INode):
                return node
            lev += W
        # A GCAS is pending here: complete it, and start again.
        help_pending(trie._root, node, main)


def _compared(end: Any, key: object, hash: int, equal: Callable[[Any, Any], Any] | None) -> SNode | None:
    """Return the S-node of `key` among those that `end` holds."""
    if isinstance(end, SNode):
        sn: SNode = end
        return sn if same_key(sn, key, hash, equal) else None
    if isinstance(end, LNode):
        ln: LNode = end
        for entry in ln.entries:
            if same_key(entry, key, hash, equal):
                return entry  # type: ignore[no-any-return]
        return None
    tn: TNode = end
    return tn.sn if tn.sn is not None and same_key(tn.sn, key, hash, equal) else None


def find(trie: Rooted, key: object, hash: int, equal: Callable[[Any, Any], Any] | None) -> SNode | None:
    """Return the S-node of `key`, or None. Linearizes at the last read of a main node, or just before that node was cut
    off. Lock-free; writes only to help."""
    end = _end_of_path(trie, hash)
    if end is borrow(None):
        unpin()
        return None
    kept = borrowed(end)
    unpin()
    return _compared(kept, key, hash, equal)


def is_there(trie: Rooted, key: object, hash: int, equal: Callable[[Any, Any], Any] | None) -> bool:
    """Tell whether `key` has a value; in all else as `find`."""
    end = _end_of_path(trie, hash)
    if end is borrow(None):
        unpin()
        return False
    if is_exactly(end, Pair):
        same: bool = hash_of(end) == hash
        if not same or same_without_python(key_of(end), key, equal):
            unpin()
            return same
    kept = borrowed(end)
    unpin()
    return _compared(kept, key, hash, equal) is not None


def find_value(trie: Rooted, key: object, hash: int, equal: Callable[[Any, Any], Any] | None, default: Any) -> Any:
    """Return the value of `key`, or `default`; in all else as `find`."""
    end = _end_of_path(trie, hash)
    if end is borrow(None):
        unpin()
        return default
    if is_exactly(end, Pair):
        if hash_of(end) != hash:
            unpin()
            return default
        if same_without_python(key_of(end), key, equal):
            value = borrowed(value_of(end))
            unpin()
            return value
    kept = borrowed(end)
    unpin()
    sn = _compared(kept, key, hash, equal)
    return default if sn is None else sn.value


if not cython.compiled:  # the compiled bodies (prefetch.h) make the processor load memory into its caches

    def prefetch_node(node: Any) -> None:
        """Prefetch the head of a node."""

    def prefetch_child(cn: Any, pos: int) -> None:
        """Prefetch branch number `pos` of a C-node."""

    def prefetch_text(key: Any) -> None:
        """Prefetch a key and the content by which it is compared."""


def prefetch_walk(here: tuple[Any, ...], stack: list[Any]) -> None:
    """Prefetch what a walk reads soon: the main nodes of the I-nodes that it has found `here`; what the C-node of the
    last but one I-node on its stack leads to; and the keys and values in that of the last one, which was the last but
    one before, so that its pairs are in the caches by now."""
    left = len(stack)
    pin()
    for i in range(len(here)):
        if not is_exactly(borrow(here[i]), Pair):
            prefetch_node(peek(borrow(here[i])))
    for i in range(max(left - 2, 0), left):
        if not is_exactly(borrow(stack[i]), INode):
            continue
        main = peek(borrow(stack[i]))
        if not is_exactly(main, CNode):
            continue
        for pos in range(popcount(bitmap_of(main))):
            child = child_at(main, pos)
            if i < left - 1:
                prefetch_node(child)
            elif is_exactly(child, Pair):
                prefetch_node(key_of(child))
                prefetch_node(value_of(child))
    unpin()


def prefetch_paths(trie: Rooted, hashes: Any, count: int) -> None:
    """Prefetch into the processor's caches what `find_value` will read, for up to GROUP hashes.

    All descents advance together, level by level, so that their waits for memory overlap. This function decides and
    answers nothing. Where it reads a node that is not at rest, it stops and leaves that path to `find_value`.
    """
    if not cython.compiled:
        nodes: list[Any] = [None] * GROUP
        places = [0] * GROUP
    pin()
    top = peek(root_of(trie))
    left = count if is_exactly(top, INode) else 0
    for i in range(left):
        nodes[i] = peek(top)
    lev = 0
    while left:
        for i in range(count):
            if nodes[i] is not borrow(None):
                if is_exactly(nodes[i], CNode) and bitmap_of(nodes[i]) & flag_at(hashes[i], lev):
                    places[i] = popcount(bitmap_of(nodes[i]) & (flag_at(hashes[i], lev) - 1))
                    prefetch_child(nodes[i], places[i])
                else:
                    nodes[i] = borrow(None)
        for i in range(count):
            if nodes[i] is not borrow(None):
                nodes[i] = child_at(nodes[i], places[i])
                prefetch_node(nodes[i])
        left = 0
        for i in range(count):
            if nodes[i] is borrow(None):
                continue
            if is_exactly(nodes[i], INode):
                nodes[i] = peek(nodes[i])
                prefetch_node(nodes[i])
                left += 1
            else:
                if is_exactly(nodes[i], Pair) and hash_of(nodes[i]) == hashes[i]:
                    prefetch_text(key_of(nodes[i]))
                    prefetch_node(value_of(nodes[i]))
                nodes[i] = borrow(None)
        lev += W
    unpin()


if not cython.compiled:  # the compiled body (_descent.pxd) calls their type's comparison directly, which cannot fail

    def same_without_python(stored: Any, key: object, equal: Callable[[Any, Any], Any] | None) -> bool:
        """Tell whether the keys are known to be the same without running Python code: they are identical, or two exact
        strings or integers that are equal."""
        if stored is key:
            return True
        kind = type(key)
        return equal is None and type(stored) is kind and (kind is str or kind is int) and bool(stored == key)


def put_quickly(
    trie: Rooted, key: object, hash: int, equal: Callable[[Any, Any], Any] | None, value: object, only_new: bool
) -> int:
    """Store `value` if one GCAS suffices: every node on the path is of the root's generation and at rest.

    STORED: the value is stored, the key was there; ADDED: it was not, its branch was free, or held another key with
    another hash.
    THERE: the key was there and, with `only_new`, keeps its value. UNDONE: nothing was done, and the caller must use
    `edit_trie`, which makes the same GCAS by way of an Edit. Linearizes as `edit_trie`. Never waits, never repeats."""
    pin()
    node = peek(root_of(trie))
    if not is_exactly(node, INode):
        unpin()
        return UNDONE
    gen = gen_of(node)
    lev = 0
    while True:
        main = peek(node)
        if peek(main) is not borrow(None) or not is_exactly(main, CNode):
            unpin()
            return UNDONE
        bitmap = bitmap_of(main)
        flag = flag_at(hash, lev)
        pos = popcount(bitmap & (flag - 1))
        if not bitmap & flag:
            break
        child = child_at(main, pos)
        if not is_exactly(child, INode):
            if hash_of(child) != hash:
                break
            same = same_without_python(key_of(child), key, equal)
            if same and not only_new:
                break
            unpin()
            return THERE if same else UNDONE
        if gen_of(child) is not gen:  # checked only to save a GCAS that would fail
            unpin()
            return UNDONE
        node = child
        lev += W
    added = not bitmap & flag or hash_of(child_at(main, pos)) != hash
    inode = cython.cast(INode, borrowed(node))
    cn = cython.cast(CNode, borrowed(main))
    unpin()
    changed = _with_pair(cn, inode, flag, pos, lev, key, hash, value)
    if is_out_of_track(inode, changed):
        return UNDONE
    done, in_doubt = False, True
    begin_change(trie._tally)
    try:
        done, in_doubt = gcas(cython.cast(Root, root_of(trie)), inode, cn, changed), False
    finally:
        if in_doubt:
            end_in_doubt(trie._tally)
        else:
            end_change(trie._tally, done and added, 0)
    if not done:
        return UNDONE
    return ADDED if added else STORED


def _with_pair(cn: CNode, inode: INode, flag: int, pos: int, lev: int, key: object, hash: int, value: object) -> CNode:
    """Return `cn`, the main node of `inode`, with one more pair; or with a new value for the pair at `pos`, if that has
    the hash."""
    if not cn.bitmap & flag:
        return with_branch(cn, flag, pos, new_pair(key, hash, value))
    there = cython.cast(Pair, branch_at(cn, pos))
    if there.hash == hash:
        return with_other_branch(cn, pos, new_pair(there.key, hash, value))  # as in a dict, the first key object stays
    gen = inode.gen
    both = new_inode(two_snodes(there, new_pair(key, hash, value), lev + W, gen), gen)
    return with_other_branch(cn, pos, both)
