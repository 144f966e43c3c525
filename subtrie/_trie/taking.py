"""Many subscriptions out of a trie: each C-node is replaced once for all rows that end at it or empty what is below it.

The sorted rows (filling.py) go down the trie together, and the nodes are changed on the way back. A C-node's
replacement lacks what its own rows took, and what the levels and I-nodes below were left with stands in place of those
that were tombed: an S-node, or nothing. If that leaves nothing, or a single branch that belongs further up, a tomb is
put in place at once. So the nodes are those that changes one by one leave (I5, I6), without a C-node for each of them.

    take          the rows of one I-node: first of those below it, then of its own C-node
    steps         what becomes of the branches that the rows reach, in the order of the branches

An I-node of an older generation is copied on the way down, so each I-node that a GCAS here changes is of the root's
generation, which the rows began with. If a GCAS fails, its rows are left, and are done one by one afterwards.

What one by one is done after a change (`_clear_path` in _edits.py) has to be done here too: who leaves a level with a
single branch, or takes the subscribers above it, looks whether the other has happened meanwhile. If it has, if a GCAS
that should have moved a tomb's content up fails, or if a subscriber's `__eq__` raises between the two, the path of one
of the rows is cleared as one by one.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._bulk import hash_at
    from ctrie._cnode import (
        Branches,
        CNode,
        MainNode,
        add_branch,
        branch_at,
        cnode_of_branches,
        drop_branches,
        new_branches,
        share_branch,
        with_other_branch,
        without_branch,
    )
    from ctrie._edits import clear_path, contracted
    from ctrie._machine import EVERY, W, check_signals, check_stack, flag_at, popcount
    from ctrie._nodes import INode, Root, SNode, TNode, gcas, gcas_read, new_tnode, rdcss_read_root, renewed, root_of
    from subtrie._trie.branch import (
        Branch,
        FilterEdit,
        Unsubscribe,
        changed_branch,
        is_wanted,
        subscribers_of,
        unsubscribe_edit,
    )
    from subtrie._trie.filling import DEEP, Filling, group_of, order, put_row, row_at, shared_until, subscriber_of
    from subtrie._trie.groups import members_of, with_members
    from subtrie._trie.keyed import find_keyed, without_keyed
    from subtrie._trie.match.plan import Plan, plan_of
    from subtrie._trie.warming import warm_rows


FEW = 2  # changes of a C-node that are made in copies of it


class Taking:
    """Rows that are taken out of a trie. `unburied` are rows on the way to tombs whose content the C-node above has yet
    to take, `unclear` those whose paths are to be cleared in the end."""

    __slots__ = ("edit", "filling", "renews", "unburied", "unclear")
    filling: Filling
    edit: FilterEdit  # for `without_level`
    renews: bool  # one of the last steps leads to a copy of an I-node
    unburied: list[int]
    unclear: list[int]


class BranchChange:
    """What rows do at a branch, `was`. `branch` takes its place, or nothing (None); `own`: it has lost subscribers.
    Rows number `start` to `going` go on at the I-node `below`, which is a level if `lev` is 0; those up to `end` end at
    the branch. A level may be there without rows: the branch that leads to it has lost its last subscriber. `number` is
    the number of one of the rows."""

    __slots__ = ("below", "branch", "depth", "end", "flag", "going", "lev", "number", "own", "single", "start", "was")
    flag: int
    was: Any
    own: bool
    branch: Any
    below: INode | None
    lev: int
    depth: int
    start: int
    going: int
    end: int
    number: int
    single: bool  # the level was left with a single branch, below a subscriber


def take_rows(f: Filling, count: int) -> None:
    """Unsubscribe all rows; those that remain to be done one by one are noted in `f.left`."""
    root = f._trie._root
    top = rdcss_read_root(root)
    f._gen = top.gen
    order(f, 0, count, 0)
    t: Taking = Taking.__new__(Taking)
    t.filling = f
    t.edit = _unsubscribe(f, (), ())
    t.unburied = []
    t.unclear = []
    try:
        _take(t, top, 0, 0, count, 0, False, row_at(f._ordered, 0).number)
    finally:
        t.unclear.extend(t.unburied)
        for number in t.unclear:
            _clear(f, number)


def _clear(f: Filling, number: int) -> None:
    """Roll up and bury what is on the path of a row."""
    _, words, hashes, _ = f._place(f._filters[number], None)
    clear_path(cython.cast(Root, root_of(f._trie)), _unsubscribe(f, words, hashes))


def _unsubscribe(f: Filling, words: tuple[str, ...], hashes: tuple[int, ...]) -> Unsubscribe:
    """Return an edit that only serves to descend, to roll up and to bury."""
    plan = plan_of(f._trie)
    separator = cython.cast(Plan, plan).separator
    return unsubscribe_edit(cython.cast(Plan, plan), separator, words, hashes, None, None, 0)


def _take(t: Taking, inode: INode, lev: int, start: int, end: int, depth: int, bare: bool, number: int) -> bool:
    """Take out the rows number `start` to `end`, which are sorted by their words number `depth`, below an I-node at
    depth `lev` of a level. `bare`: it is a level's first, and the branch above has no subscribers. Return whether it is
    a level that has a single branch, below a subscriber."""
    check_signals()
    check_stack()
    f = t.filling
    root = f._trie._root
    main = gcas_read(root, inode)
    if depth >= DEEP or not isinstance(main, CNode):
        f.left.extend(numbers_of(f, start, end))
        return False
    old: CNode = main
    known = f.count
    t.renews = False
    steps = _steps(t, old, lev, start, end, depth)
    own = f.count - known
    f.count = known
    if t.renews:
        copied = _renewing(old, steps)
        # Success: the I-nodes below are of the root's generation. Failure: another thread has changed the I-node, or
        # has taken a snapshot.
        if not gcas(root, inode, old, copied):
            f.left.extend(numbers_of(f, start, end))
            return False
        old = copied
    known = len(t.unburied)
    for step in steps:
        below: INode | None = step.below
        if below is not None:
            above = step.lev == 0 and not is_wanted(step.branch)
            step.single = _take(t, below, step.lev, step.start, step.going, step.depth, above, step.number)
    top = depth == 0 and lev == 0
    main = old
    changes = _see_what_is_left(t, steps)
    if changes or (bare and is_single(old)):
        main = _to_publish(_changed(old, steps, changes), lev, bare, top)
        # Success: the subscriptions of these rows end, at the read of the root, and the C-node no longer leads to the
        # tombs below. Failure: another thread has changed the I-node, or has taken a snapshot.
        if not gcas(root, inode, old, main):
            for step in steps:
                f.left.extend(numbers_of(f, step.going, step.end))
            t.unclear.extend(t.unburied[known:])
            del t.unburied[known:]
            return False
        f.count += own
    _look_again(t, inode, main, steps)
    del t.unburied[known:]
    if isinstance(main, TNode):
        t.unburied.append(number)
        return False
    return lev == 0 and not top and is_single(main)


def _to_publish(cn: CNode, lev: int, bare: bool, top: bool) -> MainNode:
    """Return the main node for a C-node that has lost branches."""
    if bare and is_single(cn):
        return new_tnode(branch_at(cn, 0))
    return contracted(cn, lev, top)


def is_single(main: MainNode) -> bool:
    """Tell whether a main node is a C-node with one S-node."""
    if not isinstance(main, CNode):
        return False
    cn: CNode = main
    return popcount(cn.bitmap) == 1 and isinstance(branch_at(cn, 0), SNode)


def _look_again(t: Taking, inode: INode, main: MainNode, steps: list[Any]) -> None:
    """Find out, after the C-node's change, whether a level below has come to be one that must be rolled up."""
    root = t.filling._trie._root
    for step in steps:
        below: INode | None = step.below
        if below is None or step.lev > 0 or step.branch is None:
            continue
        if step.single:
            if gcas_read(root, inode) is not main:
                t.unclear.append(step.number)
        elif not is_wanted(step.branch) and is_single(gcas_read(root, below)):
            t.unclear.append(step.number)


# ---------------------------------------------------------------------------------------------------------------- steps


def _steps(t: Taking, cn: CNode, lev: int, start: int, end: int, depth: int) -> list[Any]:
    """Return what rows do at the branches of a C-node. Those that are not there do nothing."""
    f = t.filling
    steps: list[Any] = []
    warm_rows(f._ordered, cn, lev, start, end, depth)
    while start < end:
        flag = flag_at(hash_at(f._ordered, start), lev)
        stop = start + 1
        while stop < end and flag_at(hash_at(f._ordered, stop), lev) == flag:
            stop += 1
        if cn.bitmap & flag:
            child = branch_at(cn, popcount(cn.bitmap & (flag - 1)))
            if isinstance(child, INode):
                below = _present(t, child)
                number = row_at(f._ordered, start).number
                steps.append(_new_step(flag, child, below, False, below, lev + W, depth, start, stop, stop, number))
            else:
                step = _at_branch(t, child, flag, start, stop, depth)
                if step is not None:
                    steps.append(step)
        start = stop
    return steps


def _at_branch(t: Taking, branch: Branch, flag: int, start: int, stop: int, depth: int) -> BranchChange | None:
    """Return what rows do at a branch, if anything. Those that go on are moved to the front, in front of those that end
    there."""
    f = t.filling
    ordered = f._ordered
    while start < stop and hash_at(ordered, start) != branch.hash:
        start += 1
    going = end = start
    words = 0
    audience = subscribers_of(branch)
    left = audience
    for place in range(start, stop):
        if place % EVERY == 0:
            check_signals()
        if hash_at(ordered, place) != branch.hash:
            break
        row = row_at(ordered, place)
        shared = shared_until(branch, row, depth, f._trie._plan.separator)
        if shared <= 0 or (row.size > shared and branch.next is None):
            continue  # it is not there
        words = shared
        put_row(ordered, place, row_at(ordered, end))
        if row.size > shared:
            put_row(ordered, end, row_at(ordered, going))
            put_row(ordered, going, row)
            going += 1
        else:
            put_row(ordered, end, row)
            left = _without(f, left, row)
        end += 1
    if going == start and left is audience:
        return None
    number = row_at(ordered, start).number
    below: INode | None = branch.next
    visits = below is not None and (going > start or left is None)
    if visits:
        below = _present(t, below)  # type: ignore[arg-type]
        order(f, start, going, words)
    changed = _replaced(branch, audience, left, below)
    own = left is not audience
    return _new_step(flag, branch, changed, own, below if visits else None, 0, words, start, going, end, number)


def _replaced(branch: Branch, audience: Any, left: Any, below: INode | None) -> Branch | None:
    """Return what takes the place of a branch with these subscribers."""
    if left is audience and below is branch.next:
        return branch
    return None if left is None and below is None else changed_branch(branch, left, below)


def _without(f: Filling, audience: Any, row: Any) -> Any:
    """Return the subscribers of a filter without that of a row."""
    group = group_of(row)
    members = members_of(audience, group)
    present: Any = find_keyed(members, subscriber_of(row), row.owner_hash)
    if present is None:
        return audience
    f.count += 1
    return with_members(audience, group, without_keyed(members, present), None, present)


def _present(t: Taking, inode: INode) -> INode:
    """Return an I-node, or a copy of it if it is of an older generation."""
    f = t.filling
    if inode.gen is f._gen:
        return inode
    t.renews = True
    return renewed(f._trie._root, inode, f._gen)


def _new_step(
    flag: int,
    was: Any,
    branch: Any,
    own: bool,
    below: INode | None,
    lev: int,
    depth: int,
    start: int,
    going: int,
    end: int,
    number: int,
) -> BranchChange:
    step: BranchChange = BranchChange.__new__(BranchChange)
    step.flag = flag
    step.was = was
    step.branch = branch
    step.own = own
    step.below = below
    step.lev = lev
    step.depth = depth
    step.start = start
    step.going = going
    step.end = end
    step.number = number
    step.single = False
    return step


# -------------------------------------------------------------------------------------------------------------- C-nodes


def _renewing(cn: CNode, steps: list[Any]) -> CNode:
    """Return a C-node that leads to the copies of I-nodes, without another change."""
    for step in steps:
        below: INode | None = step.below
        if below is None or step.branch is step.was:
            continue
        if step.own:
            branch: Branch = step.was
            if branch.next is below:
                continue
            step.was = changed_branch(branch, subscribers_of(branch), below)
        else:
            step.was = step.branch
        cn = with_other_branch(cn, popcount(cn.bitmap & (step.flag - 1)), step.was)
    return cn


def _see_what_is_left(t: Taking, steps: list[Any]) -> int:
    """Note what is left of the branches, after the rows below them are done; return how many have changed."""
    changes = 0
    for step in steps:
        below: INode | None = step.below
        if below is not None:
            main = gcas_read(t.filling._trie._root, below)
            if isinstance(main, TNode):
                tomb: TNode = main
                if step.lev > 0:
                    step.branch = tomb.sn
                else:
                    t.edit.inode = below
                    branch: Branch = step.branch
                    step.branch = branch.without_level(t.edit, tomb.sn)
                step.below = None
        changes += step.branch is not step.was
    return changes


def _changed(cn: CNode, steps: list[Any], changes: int) -> CNode:
    """Return a C-node with what the steps leave. So many of them have changed something."""
    if changes > FEW:
        return _of_branches(cn, steps)
    for step in steps:
        if step.branch is not step.was:
            pos = popcount(cn.bitmap & (step.flag - 1))
            cn = without_branch(cn, step.flag, pos) if step.branch is None else with_other_branch(cn, pos, step.branch)
    return cn


def _of_branches(cn: CNode, steps: list[Any]) -> CNode:
    """Return the same, made branch by branch: for more changes than a few, each of which would copy all others."""
    if not cython.compiled:
        branches = Branches()
    new_branches(branches)
    bitmap = 0
    try:
        left = cn.bitmap
        pos = at = 0
        while left:
            flag = left & (~left + 1)
            left ^= flag
            branch = branch_at(cn, pos)
            pos += 1
            if at < len(steps) and cython.cast(BranchChange, steps[at]).flag == flag:
                branch = cython.cast(BranchChange, steps[at]).branch
                at += 1
                if branch is None:
                    continue
                add_branch(branches, branch)
            else:
                share_branch(branches, branch, cn)
            bitmap |= flag
        return cnode_of_branches(bitmap, branches)
    finally:
        drop_branches(branches)


def numbers_of(f: Filling, start: int, end: int) -> list[int]:
    """Return the numbers of rows."""
    numbers: list[int] = []
    for place in range(start, end):
        if place % EVERY == 0:
            check_signals()
        numbers.append(row_at(f._ordered, place).number)
    return numbers
