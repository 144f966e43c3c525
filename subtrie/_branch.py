"""Branches: the S-nodes of a subscription trie, and the edits that subscribe and unsubscribe.

A level holds the words that filters have at one position. It is a Ctrie level (ctrie/_nodes.py), hashed by word, and
each of its S-nodes is a *branch*:

    Branch(word, subscribers, next)      subscribers: who is on the filter that ends here (_subscribers.py, _groups.py)
                                         next: the I-node of the level of the words that follow, or None

A filter is the path of its words, wildcards like any other word but with hashes of their own (_words.py). A branch is
immutable; subscribing and unsubscribing replace it, by GCAS on the I-node whose main node holds it. A branch without
subscribers and without a next level is never published. When the last branch of a level goes, the level's I-node is
tombed and the branch that leads to it loses it, or goes too: the Ctrie's protocol, one level up.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from typing import Any

if not cython.compiled:
    from ctrie._nodes import BRANCH_MASK, Edit, Gen, INode, Root, SNode, new_cnode, new_inode, renewed_inode
    from ctrie._slot import untrack
    from subtrie._groups import members_of, with_members
    from subtrie._subscribers import Entry, find_entry, new_entry, with_entry, without_entry
else:
    from cython.cimports.ctrie._native import untrack
    from cython.cimports.ctrie._nodes import (
        BRANCH_MASK,
        Edit,
        Gen,
        INode,
        Root,
        SNode,
        new_cnode,
        new_inode,
        renewed_inode,
    )
    from cython.cimports.subtrie._groups import members_of, with_members
    from cython.cimports.subtrie._subscribers import Entry, find_entry, new_entry, with_entry, without_entry


class Branch(SNode):
    """A word of a filter (`key`), who is subscribed to what ends with it (`value`), and where longer ones go on."""

    __slots__ = ("next",)
    next: INode | None

    def renewed(self, root: Root, gen: Gen) -> SNode:
        level = self.next
        if level is None or level.gen is gen:
            return self
        return new_branch(self.key, self.hash, self.value, renewed_inode(root, level, gen))

    def without_level(self, level: INode) -> SNode | None:
        if self.next is not level:
            return self
        return None if self.value is None else new_branch(self.key, self.hash, self.value, None)


def new_branch(word: str, hash: int, subscribers: Any, next: INode | None) -> Branch:
    branch: Branch = Branch.__new__(Branch)
    branch.key = word
    branch.hash = hash
    branch.value = subscribers
    branch.next = next
    if next is None and isinstance(subscribers, Entry):
        entry: Entry = subscribers
        untrack(branch, entry.subscriber, entry.options)
    return branch


class FilterEdit(Edit):
    """A change of the subscribers of one filter: descends by its words."""

    __slots__ = ("attempts", "crossed", "depth", "group", "hashes", "words")
    group: str | None
    attempts: int
    crossed: bool  # afterwards: the filter had no subscribers before, or has none now
    words: tuple[str, ...]  # at least one
    hashes: tuple[int, ...]
    depth: int

    def rewind(self) -> None:
        if not self.settled:
            self.attempts += 1
        self.depth = 0
        self.hash = self.hashes[0]

    def same(self, sn: SNode) -> bool:
        return bool(sn.key == self.words[self.depth])

    def below(self, sn: SNode) -> INode | None:
        if self.depth + 1 == len(self.words):
            return None
        branch: Branch = sn  # type: ignore[assignment]
        return branch.next

    def advance(self) -> None:
        self.depth += 1
        self.hash = self.hashes[self.depth]


class Subscribe(FilterEdit):
    """Put `entry` among the subscribers. `present` is, afterwards, the entry that its subscriber had, or None."""

    __slots__ = ("entry", "present")
    entry: Entry
    present: Entry | None

    def create(self) -> SNode | None:
        self.present = None
        self.crossed = True
        return self._path_from(self.depth)

    def change(self, sn: SNode) -> SNode | None:
        branch: Branch = sn  # type: ignore[assignment]
        self.crossed = branch.value is None
        if self.depth + 1 < len(self.words):  # the filter goes on where no level is yet
            self.present = None
            self.crossed = True
            rest = _level_of(self._path_from(self.depth + 1), self.gen)
            return new_branch(branch.key, branch.hash, branch.value, rest)
        entry = self.entry
        members = members_of(branch.value, self.group)
        present = find_entry(members, entry.subscriber, entry.hash)
        self.present = present
        if present is not None:
            if present.options is None and entry.options is None:
                return sn
            entry = new_entry(present.subscriber, entry.hash, entry.options)  # as in a dict, the first object stays
        grown = with_members(branch.value, self.group, with_entry(members, entry, present))
        return new_branch(branch.key, branch.hash, grown, branch.next)

    def _path_from(self, depth: int) -> Branch:
        """Make the branches for the words from `depth` on, the last one with the entry."""
        last = len(self.words) - 1
        branch = new_branch(self.words[last], self.hashes[last], with_members(None, self.group, self.entry), None)
        while last > depth:
            last -= 1
            branch = new_branch(self.words[last], self.hashes[last], None, _level_of(branch, self.gen))
        return branch


class Unsubscribe(FilterEdit):
    """Take a subscriber off. `present` is, afterwards, the entry that it had, or None."""

    __slots__ = ("present", "subscriber", "subscriber_hash")
    subscriber: Any
    subscriber_hash: int
    present: Entry | None

    def create(self) -> SNode | None:
        self.present = None
        self.crossed = False
        return None

    def change(self, sn: SNode) -> SNode | None:
        self.present = None
        self.crossed = False
        branch: Branch = sn  # type: ignore[assignment]
        if self.depth + 1 < len(self.words):
            return sn
        members = members_of(branch.value, self.group)
        present = find_entry(members, self.subscriber, self.subscriber_hash)
        self.present = present
        if present is None:
            return sn
        left = with_members(branch.value, self.group, without_entry(members, present))
        self.crossed = left is None
        if left is None and branch.next is None:
            return None
        return new_branch(branch.key, branch.hash, left, branch.next)


def _level_of(only: Branch, gen: Gen) -> INode:
    return new_inode(new_cnode(1 << (only.hash & BRANCH_MASK), (only,), gen), gen)


def subscribe_edit(words: tuple[str, ...], hashes: tuple[int, ...], group: str | None, entry: Entry) -> Subscribe:
    edit: Subscribe = Subscribe.__new__(Subscribe)
    edit.group = group
    edit.attempts = 0
    edit.words = words
    edit.hashes = hashes
    edit.entry = entry
    return edit


def unsubscribe_edit(
    words: tuple[str, ...], hashes: tuple[int, ...], group: str | None, subscriber: object, hash: int
) -> Unsubscribe:
    edit: Unsubscribe = Unsubscribe.__new__(Unsubscribe)
    edit.group = group
    edit.attempts = 0
    edit.words = words
    edit.hashes = hashes
    edit.subscriber = subscriber
    edit.subscriber_hash = hash
    return edit
