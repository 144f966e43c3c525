"""What a writer does: `edit_trie` carries an `Edit` out (both protocols by which it does so are in _nodes.py).

An attempt descends towards the key (`_approach`, which borrows, then `_go_on`), asks the edit for the new S-node, and
commits one new main node. On its way it copies an I-node of an older generation (`_enter`), clears a tomb away
(`_bury`), and tombs a level that is left with nothing (`_roll_up`).
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import (
        CNode,
        MainNode,
        bitmap_of,
        branch_at,
        child_at,
        with_branch,
        with_other_branch,
        without_branch,
    )
    from ctrie._machine import W, flag_at, inserted, is_out_of_track, keep_track, popcount, removed, replaced
    from ctrie._nodes import (
        Edit,
        INode,
        LNode,
        Root,
        SNode,
        TNode,
        gcas,
        gcas_read,
        gen_of,
        new_inode,
        new_lnode,
        new_tnode,
        rdcss_read_root,
        renewed,
        two_snodes,
    )
    from ctrie._slot import borrow, borrowed, is_exactly, peek, pin, unpin

DONE = 0
RESTART = 1
AGAIN = 2


def edit_trie(root: Root, edit: Edit) -> SNode | None:
    """Carry `edit` out; return the S-node that was there. Linearizes at the commit of its GCAS or, if nothing changes,
    at the read of the main node that shows so. Lock-free: an attempt is repeated only if another thread committed a
    change, took a snapshot, or left a tomb on the path."""
    edit.settled = edit.emptied = edit.entombed = edit.compared = edit.tracks = False
    edit.said = None
    outcome = _attempt(root, edit)
    while outcome == RESTART:
        if edit.settled:
            _clear_path(root, edit)
            break
        outcome = _attempt(root, edit)
    return edit.found


def _clear_path(root: Root, edit: Edit) -> None:
    """Remove the tombs that the change has left on its path. Tombs that remain because memory ran out are harmless: the
    next change on that path removes them. Progress as `edit_trie`."""
    try:
        while _attempt(root, edit) == RESTART:
            pass
    except MemoryError:
        pass


def _attempt(root: Root, edit: Edit) -> int:
    edit.rewind()
    return _from_root(root, edit) if edit.tracks or not _approach(root, edit) else _go_on(root, edit)


def _from_root(root: Root, edit: Edit) -> int:
    edit.inode = rdcss_read_root(root)
    edit.lev = 0
    edit.parent = None
    return _go_on(root, edit)


def _approach(root: Root, edit: Edit) -> bool:
    """Move the edit as near to its key as it comes without a change. Return False if it cannot leave the root.

    An edit counts a reference to every node where it stands. If it began at the root, all writers would write to the
    counts of the nodes near the root at once. So it passes those with borrowed references, under a pin: the nodes that
    `_go_on` would pass without a change, which are I-nodes of the root's generation with nothing pending, and S-nodes
    that lead on. Where it stops, it takes references, and `_go_on` continues.

    A walk after a change stops no later than at a level which that change may have left with one S-node: there the
    edit's own S-node is gone, or the edit's key ends in the S-node above."""
    pin()
    inode = peek(borrow(root))
    if not is_exactly(inode, INode):
        unpin()
        return False
    lev = parent_lev = 0
    parent_hash = edit.hash
    parent = parent_main = borrow(None)
    while True:
        # One step of `_go_on` and `_enter`. Generations are compared only to save a GCAS that would fail.
        main = peek(inode)
        if not is_exactly(main, CNode) or peek(main) is not borrow(None):
            break
        flag = flag_at(edit.hash, lev)
        if not bitmap_of(main) & flag:
            break
        branch = child_at(main, popcount(bitmap_of(main) & (flag - 1)))
        in_level = is_exactly(branch, INode)
        below = branch if in_level else edit.level_passed(branch)
        if below is borrow(None) or gen_of(below) is not gen_of(inode):
            break
        parent, parent_main, parent_lev, parent_hash = inode, main, lev, edit.hash
        inode = below
        if in_level:
            lev += W
        else:
            lev = 0
            edit.advance()
    here: INode = borrowed(inode)
    parent_here: INode | None = borrowed(parent)
    parent_main_here: MainNode | None = borrowed(parent_main)
    unpin()
    edit.inode = here
    edit.lev = lev
    edit.parent = parent_here
    edit.parent_main = parent_main_here
    edit.parent_hash = parent_hash
    edit.parent_lev = parent_lev
    return True


def _go_on(root: Root, edit: Edit) -> int:
    while True:
        main = gcas_read(root, edit.inode)
        if edit.tracks:
            keep_track(edit.inode)
            keep_track(main)
        if isinstance(main, CNode):
            if edit.settled and _is_one_snode(edit, main) and _roll_up(root, edit, main):
                return RESTART
            outcome = _edit_cnode(root, edit, main)
        elif isinstance(main, LNode):
            outcome = _edit_lnode(root, edit, main)
        else:
            _bury(root, edit, main)  # type: ignore[arg-type]
            return RESTART
        if outcome != AGAIN:
            return outcome


def _edit_cnode(root: Root, edit: Edit, cn: CNode) -> int:
    flag = flag_at(edit.hash, edit.lev)
    pos = popcount(cn.bitmap & (flag - 1))
    if not cn.bitmap & flag:
        return _add_to_cnode(root, edit, cn, flag, pos)
    child = branch_at(cn, pos)
    if isinstance(child, INode):
        return _enter(root, edit, cn, pos, child, None)
    sn: SNode = child
    if sn.hash != edit.hash or not edit.same(sn):
        return _split(root, edit, cn, pos)
    return _edit_snode(root, edit, cn, pos, sn)


def _edit_lnode(root: Root, edit: Edit, ln: LNode) -> int:
    for pos, entry in enumerate(ln.entries):
        sn: SNode = entry
        if edit.same(sn):
            return _edit_snode(root, edit, ln, pos, sn)
    added = _created(edit)
    if added is None:
        return DONE
    return _commit(root, edit, ln, new_lnode(inserted(ln.entries, len(ln.entries), added)))


def _edit_snode(root: Root, edit: Edit, main: MainNode, pos: int, sn: SNode) -> int:
    """Entry number `pos` of `main` is the key's own S-node: descend through it, or change it."""
    below = edit.below(sn)
    if below is not None:
        return _enter(root, edit, main, pos, below, sn)
    edit.found = sn
    if edit.settled:
        return DONE
    new = edit.change(sn)
    if new is sn:
        return DONE
    if new is None:
        return _remove(root, edit, main, _without_snode(edit, main, pos))
    changed = _with_other(main, pos, new)
    return _remove(root, edit, main, changed) if edit.emptied else _commit(root, edit, main, changed)


def _without_snode(edit: Edit, main: MainNode, pos: int) -> MainNode:
    if isinstance(main, CNode):
        cn: CNode = main
        left = without_branch(cn, flag_at(edit.hash, edit.lev), pos)
        return contracted(left, edit.lev, edit.parent is None)
    ln: LNode = main  # type: ignore[assignment]
    return _without_entry(ln, pos)


def _created(edit: Edit) -> SNode | None:
    if edit.settled:
        return None
    edit.found = None
    return edit.create()


def _add_to_cnode(root: Root, edit: Edit, cn: CNode, flag: int, pos: int) -> int:
    added = _created(edit)
    if added is None:
        return DONE
    return _commit(root, edit, cn, with_branch(cn, flag, pos, added))


def _split(root: Root, edit: Edit, cn: CNode, pos: int) -> int:
    """The branch at `pos` is an S-node with another key: replace it by an I-node that holds both."""
    added = _created(edit)
    if added is None:
        return DONE
    gen = edit.inode.gen
    both = new_inode(two_snodes(branch_at(cn, pos), added, edit.lev + W, gen), gen)
    return _commit(root, edit, cn, with_other_branch(cn, pos, both))


def _enter(root: Root, edit: Edit, main: MainNode, pos: int, inode: INode, above: SNode | None) -> int:
    """Descend to `inode`, entry number `pos` of `main`, if it is of the root's generation; else replace it there by a
    copy that is, and try again. If `above` is not None, `inode` is the first I-node of the level below that S-node."""
    if inode.gen is not edit.inode.gen:
        copy = renewed(root, inode, edit.inode.gen)
        changed = _with_other(main, pos, copy if above is None else above.with_level(copy))
        # Committed: the same I-node now leads to the copy. Otherwise another thread has written.
        return AGAIN if _commit(root, edit, main, changed) == DONE else RESTART
    edit.parent = edit.inode
    edit.parent_main = main
    edit.parent_hash = edit.hash
    edit.parent_lev = edit.lev
    edit.inode = inode
    if above is None:
        edit.lev += W
    else:
        edit.lev = 0
        edit.advance()
    return AGAIN


def _commit(root: Root, edit: Edit, old: MainNode, new: MainNode) -> int:
    if is_out_of_track(edit.inode, new):
        edit.tracks = True  # the next attempt has the path tracked as it descends, so this happens once
        return RESTART
    return DONE if gcas(root, edit.inode, old, new) else RESTART


def _remove(root: Root, edit: Edit, old: MainNode, new: MainNode) -> int:
    if _commit(root, edit, old, new) == RESTART:
        return RESTART
    if not (isinstance(new, TNode) or edit.emptied or _is_one_snode(edit, new)):
        return DONE
    # The removal is done. Walk the path again until it has no tomb and no level to roll up.
    edit.settled = True
    return RESTART


def _is_one_snode(edit: Edit, main: MainNode) -> bool:
    """Tell whether `main`, the main node of `edit.inode`, is a whole nested level with only one S-node."""
    if edit.lev > 0 or edit.parent is None or not isinstance(main, CNode):
        return False
    cn: CNode = main
    return popcount(cn.bitmap) == 1 and isinstance(branch_at(cn, 0), SNode)


def _roll_up(root: Root, edit: Edit, cn: CNode) -> bool:
    """Tomb a level of one S-node if the S-node above can hold that one directly. True: walk the path again. False: the
    S-node above could not, and was the same after the level was read; a thread that changes it will roll the level
    up."""
    if not edit.rolls_up():
        return gcas_read(root, edit.parent) is not edit.parent_main  # type: ignore[arg-type]
    # Committed: the level never gets another S-node, and any writer that finds the tomb moves its last S-node into the
    # level above. Otherwise another thread has changed the level. In both cases the next walk finds what is left to do.
    gcas(root, edit.inode, cn, new_tnode(branch_at(cn, 0)))
    edit.entombed = True
    return True


def _bury(root: Root, edit: Edit, tomb: TNode) -> None:
    """Move the content of the tombed `edit.inode` into its parent. This tries once: the caller starts again in any
    case, and a try fails only if another thread has committed a change."""
    assert edit.parent is not None, "the first I-node of a trie is never tombed"
    main = gcas_read(root, edit.parent)
    if isinstance(main, CNode):
        left = _cnode_without_tomb(edit, main, tomb, _is_first(root, edit.parent))
    elif isinstance(main, LNode):
        left = _lnode_without_tomb(edit, main, tomb)
    else:
        return  # the parent has been tombed too: its own parent must be changed first
    if left is not None:
        # Committed: the parent no longer leads to the tomb.
        gcas(root, edit.parent, main, left)


def _is_first(root: Root, inode: INode) -> bool:
    """Tell whether an I-node is the trie's first one."""
    pin()
    top = peek(borrow(root))
    if is_exactly(top, INode):
        same = top is borrow(inode)
        unpin()
        return same
    unpin()
    return rdcss_read_root(root) is inode


def _cnode_without_tomb(edit: Edit, cn: CNode, tomb: TNode, first_of_trie: bool) -> MainNode | None:
    flag = flag_at(edit.parent_hash, edit.parent_lev)
    if not cn.bitmap & flag:
        return None
    pos = popcount(cn.bitmap & (flag - 1))
    child = branch_at(cn, pos)
    if child is edit.inode:
        new = tomb.sn
    elif isinstance(child, SNode):
        sn: SNode = child
        new = sn.without_level(edit, tomb.sn)
    else:
        return None
    if new is child:
        return None
    left = without_branch(cn, flag, pos) if new is None else with_other_branch(cn, pos, new)
    return contracted(left, edit.parent_lev, first_of_trie)


def _lnode_without_tomb(edit: Edit, ln: LNode, tomb: TNode) -> MainNode | None:
    for pos, entry in enumerate(ln.entries):
        sn: SNode = entry
        new = sn.without_level(edit, tomb.sn)
        if new is None:
            return _without_entry(ln, pos)
        if new is not sn:
            return new_lnode(replaced(ln.entries, pos, new))
    return None


def _with_other(main: MainNode, pos: int, branch: Any) -> MainNode:
    """Return a copy of a C-node or L-node with `branch` at position `pos`."""
    if isinstance(main, CNode):
        return with_other_branch(main, pos, branch)
    ln: LNode = main  # type: ignore[assignment]
    return new_lnode(replaced(ln.entries, pos, branch))


def contracted(cn: CNode, lev: int, first_of_trie: bool) -> MainNode:
    """Return the main node to publish for `cn`, which has just lost a branch (I5)."""
    size = popcount(cn.bitmap)
    if size > 1 or first_of_trie:
        return cn
    if size == 0:
        return new_tnode(None)
    only = branch_at(cn, 0)
    if lev > 0 and isinstance(only, SNode):
        return new_tnode(only)
    return cn


def _without_entry(ln: LNode, pos: int) -> MainNode:
    entries = removed(ln.entries, pos)
    return new_tnode(entries[0]) if len(entries) == 1 else new_lnode(entries)
