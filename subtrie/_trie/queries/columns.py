# cython: nonecheck=True

"""Fills columns with all subscriptions of one instant, row by row.

The walk is that of `walk` in listing.py, but it can stop anywhere. Its stack holds the I-nodes, branches and sets of
subscribers that it has yet to visit, each with the length (buffers.py) of the words that lead to it. So a batch can end
after any row, even in the middle of a filter with a million subscribers.

Nodes are scattered in memory, and the walk would wait for each of them, for more than half of its time. So it visits a
level for several branches at once, and prefetches what they lead to: one step for all of them before the next step.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import CNode, bitmap_of, child_at
    from ctrie._descent import prefetch_node
    from ctrie._machine import popcount
    from ctrie._nodes import INode, Root, branches, rdcss_read_root
    from ctrie._slot import borrow, is_exactly, peek, pin, unpin
    from subtrie._trie.branch import Branch
    from subtrie._trie.groups import Shared, members_of
    from subtrie._trie.keyed import branches_of
    from subtrie._trie.queries.buffers import GrowingRows, new_rows
    from subtrie._trie.subscribers import Entry, entry_alone

from subtrie._trie.groups import sets_of
from subtrie._trie.weak_subscribers import Held
from subtrie.dialects import Dialect

if not cython.compiled:  # the compiled twin (columns.pxd) makes the processor fetch memory into its caches
    AHEAD = 64  # how many branches are prefetched at once, at least, if the level has so many
    INODES = 8  # how many I-nodes

    def prefetch_branch(branch: Any) -> None:
        """Prefetch a branch or an I-node."""

    def prefetch_value(branch: Any) -> None:
        """Prefetch the objects that a branch refers to."""

    def prefetch_entry(branch: Any) -> None:
        """Prefetch the objects that the only entry of a branch refers to."""

    def prefetch_options(branch: Any) -> None:
        """Prefetch the keys of the options of the only entry of a branch."""


class SetColumns:
    """A walk over a read-only root, and the rows that it fills. For one thread at a time."""

    __slots__ = ("_nodes", "_root", "rows")
    _root: Root
    _nodes: list[Any]  # I-nodes, branches, and (group, set of its members)
    rows: GrowingRows

    def fill(self, rows: int, text: int) -> bool:
        """Continue until there are `rows` rows or `text` bytes of text; return whether there may be more. O(rows)."""
        filling = self.rows
        nodes = self._nodes
        filling.begin()
        while nodes and filling.rows < rows and filling.text() < text:
            node = nodes.pop()
            filling.pop()
            if isinstance(node, Branch):
                self._branch(node)
            elif isinstance(node, INode):
                self._level(node)
            else:
                self._members(node[0], node[1])
        filling.done()
        return len(nodes) > 0

    def _level(self, inode: INode) -> None:
        """Put the children of an I-node on the stack: I-nodes, and above them branches, which are prefetched."""
        inodes: list[INode] = [inode]
        found: list[Branch] = []
        while len(inodes) > 0 and len(found) < AHEAD:
            some = inodes[-INODES:]
            del inodes[-INODES:]
            pin()
            for each in some:
                prefetch_node(peek(borrow(each)))
            for each in some:
                _prefetch_branches(peek(borrow(each)))
            unpin()
            for each in some:
                for below in branches(self._root, each):
                    if isinstance(below, INode):
                        inodes.append(below)
                    else:
                        found.append(below)
        for below in found:
            prefetch_value(borrow(below))
        for below in found:
            prefetch_entry(borrow(below))
        for below in found:
            prefetch_options(borrow(below))
        for node in (inodes, found):
            for below in node:
                self._nodes.append(below)
                self.rows.push()

    def _branch(self, branch: Branch) -> None:
        self.rows.spell(branch)
        if branch.next is not None:
            self._nodes.append(branch.next)
            self.rows.push()
        if branch.alone != 0:
            alone = entry_alone(branch.value, branch.alone)
            self._row(None, alone.key, alone.options)
        elif isinstance(branch.value, Shared):
            for group, members in sets_of(branch.value):
                self._members(group, members)
        else:
            self._members(None, members_of(branch.value, None))

    def _members(self, group: str | None, members: Any) -> None:
        if isinstance(members, Entry):
            entry: Entry = members
            self._row(group, entry.key, entry.options)
        elif members is not None:
            for part in branches_of(members):
                self._nodes.append((group, part))
                self.rows.push()

    def _row(self, group: str | None, subscriber: Any, options: dict[str, Any] | None) -> None:
        if type(subscriber) is Held:
            subscriber = subscriber()
            if subscriber is None:
                return  # it is dead
        self.rows.row(group, subscriber, options)


def _prefetch_branches(main: Any) -> None:
    """Prefetch the children of a borrowed main node if it is a C-node."""
    if is_exactly(main, CNode):
        for i in range(popcount(bitmap_of(main))):
            prefetch_branch(child_at(main, i))


def set_columns(root: Root, dialect: Dialect, texts: Any, ask: bool) -> SetColumns:
    """Begin a walk over a read-only root. `texts` and `ask` are as for `GrowingRows` (buffers.py)."""
    columns: SetColumns = SetColumns.__new__(SetColumns)
    columns._root = root
    columns._nodes = [rdcss_read_root(root)]
    columns.rows = new_rows(dialect, texts, ask)
    columns.rows.push()
    return columns
