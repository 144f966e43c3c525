"""Two tries made into one: the operators and comparisons of sets.

Both are walked at once, node beside node. What only one of them has below a branch is taken as it is, or left out, by
one look at that branch; so is what both share, as two snapshots do. Only below the other branches is each key compared.
The new trie is a read-only one, as if it were the snapshot of a third. Whoever wants to change it makes a fork.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cython

if not cython.compiled:
    from ctrie._bulk import only_pair
    from ctrie._cnode import (
        Branches,
        CNode,
        Gen,
        add_branch,
        branch_at,
        cnode_of_branches,
        drop_branches,
        new_branches,
        share_branch,
    )
    from ctrie._descent import warm_ahead, warm_branches
    from ctrie._machine import W, check_signals, flag_at, popcount
    from ctrie._nodes import (
        HASH_BITS,
        LNode,
        Pair,
        Root,
        TNode,
        gcas_read,
        new_inode,
        new_lnode,
        new_root,
        rdcss_read_root,
        same_key,
        two_snodes,
    )
    from ctrie._slot import borrow

# Which keys are kept:
MINE = 1  # those of the first trie that the other one lacks
THEIRS = 2  # those of the other one that the first lacks
BOTH = 4  # those of both, as the first has them
BOTH_AS_THEIRS = 8  # those of both, as the other has them


class Combining:
    """Two read-only tries on the way to one. Private to its thread."""

    __slots__ = ("asks", "common", "equal", "gen", "kept", "mine", "theirs", "uncounted")
    mine: Root
    theirs: Root
    equal: Callable[[Any, Any], Any] | None
    kept: int
    asks: bool  # whether there is any key to keep is all that matters
    common: int  # how many keys both have, without those of branches that both share
    uncounted: bool  # whether they share a branch
    gen: Gen

    def top(self) -> CNode:
        """Return the first C-node of the combination."""
        x, y = rdcss_read_root(self.mine), rdcss_read_root(self.theirs)
        return self.cnode(gcas_read(self.mine, x), gcas_read(self.theirs, y), 0)

    def cnode(self, x: Any, y: Any, lev: int) -> CNode:
        """Return the C-node at depth `lev` for two C-nodes, or a C-node and a pair. It is `x` or `y` if it has the
        same branches."""
        if not cython.compiled:
            branches = Branches()
        new_branches(branches)
        mine, theirs = _flags(x, lev), _flags(y, lev)
        left = mine & theirs | (mine if self.kept & MINE else 0) | (theirs if self.kept & THEIRS else 0)
        warm_branches(borrow(x), left)
        warm_branches(borrow(y), left)
        bitmap = 0
        as_mine = as_theirs = True
        try:
            while left:
                flag = left & (~left + 1)
                left ^= flag
                warm_ahead(borrow(x), left & (~left + 1))
                warm_ahead(borrow(y), left & (~left + 1))
                one = _branch(x, mine, flag)
                other = _branch(y, theirs, flag)
                if one is None:
                    branch = other
                elif other is None:
                    branch = one
                else:
                    branch = self.branch(one, other, lev + W)
                if branch is None:
                    continue
                as_mine = as_mine and branch is one
                as_theirs = as_theirs and branch is other
                bitmap |= flag
                if branch is one:
                    share_branch(branches, branch, x)
                elif branch is other:
                    share_branch(branches, branch, y)
                else:
                    add_branch(branches, branch)
                if self.asks:
                    break
            if as_mine and bitmap == mine and isinstance(x, CNode):
                return x
            if as_theirs and bitmap == theirs and isinstance(y, CNode):
                return y
            return cnode_of_branches(bitmap, branches)
        finally:
            drop_branches(branches)

    def branch(self, x: Any, y: Any, lev: int) -> Any:
        """Return the branch at depth `lev` for two branches, each an I-node or a pair; None for nothing."""
        if x is y:
            return self.shared(x, x)
        one, other = _content(self.mine, x), _content(self.theirs, y)
        if isinstance(one, Pair) and isinstance(other, Pair):
            return self.pair(one, other, lev)
        if one is other:
            return self.shared(x, one)
        check_signals()
        if lev >= HASH_BITS:
            return self.collisions(one, other)
        cn = self.cnode(one, other, lev)
        if cn is one:
            return x
        if cn is other:
            return y
        if cn.bitmap == 0:
            return None
        only = only_pair(cn)
        return new_inode(cn, self.gen) if only is None else only

    def shared(self, branch: Any, content: Any) -> Any:
        """Return what is kept of a branch that both share."""
        if isinstance(content, Pair):
            self.common += 1
        else:
            self.uncounted = True
        return branch if self.kept & (BOTH | BOTH_AS_THEIRS) else None

    def pair(self, x: Pair, y: Pair, lev: int) -> Any:
        """Return the branch at depth `lev` for two pairs."""
        if same_key(x, y.key, y.hash, self.equal):
            return self.of_both(x, y)
        if self.kept & MINE and self.kept & THEIRS:
            return new_inode(two_snodes(x, y, lev, self.gen), self.gen)
        return x if self.kept & MINE else y if self.kept & THEIRS else None

    def of_both(self, x: Pair, y: Pair) -> Pair | None:
        """Return what is kept of a key that both have."""
        self.common += 1
        return x if self.kept & BOTH else y if self.kept & BOTH_AS_THEIRS else None

    def collisions(self, x: Any, y: Any) -> Any:
        """Return the branch for pairs all of whose hash bits agree: two L-nodes, or an L-node and a pair."""
        rest = _entries(y)
        kept: list[Any] = []
        for one in _entries(x):
            for place, other in enumerate(rest):
                if same_key(one, other.key, other.hash, self.equal):
                    del rest[place]
                    both = self.of_both(one, other)
                    if both is not None:
                        kept.append(both)
                    break
            else:
                if self.kept & MINE:
                    kept.append(one)
        if self.kept & THEIRS:
            kept.extend(rest)
        if len(kept) < 2:
            return kept[0] if kept else None
        return new_inode(new_lnode(tuple(kept)), self.gen)


def _flags(node: Any, lev: int) -> int:
    """Return the flags of a C-node, or the one that a pair has at depth `lev`."""
    if isinstance(node, CNode):
        cn: CNode = node
        return cn.bitmap
    pair: Pair = node
    return flag_at(pair.hash, lev)


def _branch(node: Any, bitmap: int, flag: int) -> Any:
    """Return the branch for `flag` of a node with these flags, or None."""
    if not bitmap & flag:
        return None
    return branch_at(node, popcount(bitmap & (flag - 1))) if isinstance(node, CNode) else node


def _content(root: Root, branch: Any) -> Any:
    """Return the main node of an I-node; but a pair, in a tomb or not, stands for itself."""
    if isinstance(branch, Pair):
        return branch
    main = gcas_read(root, branch)
    if isinstance(main, TNode):
        tn: TNode = main
        return tn.sn
    return main


def _entries(node: Any) -> list[Any]:
    if isinstance(node, LNode):
        ln: LNode = node
        return list(ln.entries)
    return [node]


def _prepared(mine: Root, theirs: Root, equal: Callable[[Any, Any], Any] | None, kept: int, asks: bool) -> Combining:
    both: Combining = Combining.__new__(Combining)
    both.mine = mine
    both.theirs = theirs
    both.equal = equal
    both.kept = kept
    both.asks = asks
    both.common = 0
    both.uncounted = False
    both.gen = Gen()
    return both


def combined(mine: Root, theirs: Root, equal: Callable[[Any, Any], Any] | None, kept: int) -> tuple[Root, int]:
    """Return a read-only trie of those keys of two read-only tries that are kept, and how many keys both have; -1 if
    that is not known, since they share branches. O(n) for the keys below branches that both have and do not share; O(1)
    for any other branch."""
    both = _prepared(mine, theirs, equal, kept, False)
    root = new_root(new_inode(both.top(), both.gen), True)
    return root, -1 if both.uncounted else both.common


def has_any(mine: Root, theirs: Root, equal: Callable[[Any, Any], Any] | None, kept: int) -> bool:
    """Return whether there are keys to keep; see `combined`. It stops at the first."""
    return _prepared(mine, theirs, equal, kept, True).top().bitmap != 0
