"""Branches: the S-nodes of a subscription trie, and the edits that subscribe and unsubscribe.

A level holds the words that filters have at one position. It is a Ctrie level (ctrie/_nodes.py), hashed by word, and
each of its S-nodes is a *branch*:

    Branch(word, subscribers, next)      subscribers: those of the filter that ends here (subscribers.py, groups.py)
                                         next: the I-node of the level of the words that follow, or None
    Chain(words, subscribers, next)      the same after several words, joined by the separator, hashed by the first:
                                         no filter ends or branches off between them

Most filters have one subscriber. Then `value` is the subscriber itself, or a Sole if it has options, and `alone` its
hash, which saves an entry, or a part of one. Otherwise `alone` is 0. A subscriber whose hash is 0 always has an entry.

A filter is the path of its words. Wildcards are words like others, but with hashes of their own (words.py). A branch is
immutable; subscribing and unsubscribing replace it, by GCAS on the I-node whose main node holds it. A branch without
subscribers and without a next level is never published. When the last branch of a level is removed, the level's I-node
is tombed, and the branch that leads to it loses its level, or is removed too: the Ctrie's protocol, one level up.

A filter is inserted as one chain. A later filter that leaves the chain splits it: the first words then lead to a new
level of two branches, and the chain's next level, if any, moves down unchanged, with the same I-node. Tombs undo this.
If a level is left with one branch, below a branch without subscribers, it is tombed with that branch in it, and any
thread that meets the tomb merges the two branches. The thread whose change left the level so ensures this (I6). If it
finds a subscriber above, it checks again after its change whether that still holds.

Invariant
  I6  When no change is in progress and none was interrupted, no level except the first has a single branch, unless the
      branch that leads to it has a subscriber.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import Gen, new_cnode
    from ctrie._machine import flag_at, leaf_after, new_leaf
    from ctrie._nodes import Edit, INode, SNode, hash_of, new_inode, two_snodes, value_of
    from ctrie._slot import borrow, borrowed
    from subtrie._trie.groups import members_of, with_members
    from subtrie._trie.keyed import find_keyed, with_keyed, without_keyed
    from subtrie._trie.packed_key import (
        TextNode,
        copy_key,
        drop_texts,
        key_begins,
        set_key,
        words_followed,
        words_followed_in,
    )
    from subtrie._trie.subscribers import Entry, entry_alone, entry_of, may_be_tracked, new_sole


class Branch(TextNode):
    """A word of a filter (`key`), the subscribers of the filter that ends with it, and the next level."""

    __slots__ = ("alone", "next")
    next: INode | None
    alone: int  # the hash of the only subscriber, if `value` is that or its Sole

    def with_level(self, level: INode) -> SNode:
        return changed_branch(self, subscribers_of(self), level)

    def without_level(self, edit: Edit, last: SNode | None) -> SNode | None:
        if self.next is not edit.inode:
            return self
        if last is None:
            return changed_branch(self, subscribers_of(self), None) if is_wanted(self) else None
        if is_wanted(self):  # there is a subscriber again since the level was tombed
            return changed_branch(self, subscribers_of(self), _level_of(last, edit.inode.gen))
        filter_edit: FilterEdit = edit  # type: ignore[assignment]
        branch: Branch = last  # type: ignore[assignment]
        chain = branch_of(True, self.hash, subscribers_of(branch), branch.next)
        set_key(chain, filter_edit.separator.join((self.key, branch.key)))
        return chain


class Chain(Branch):
    """Several words of a filter, joined. `hash` belongs to the first word, all else to the last."""

    __slots__ = ()


leaf_after(Branch.__new__(Branch))
leaf_after(Chain.__new__(Chain))
drop_texts(Branch)
drop_texts(Chain)


if not cython.compiled:  # views of borrowed branches; the compiled ones (branch.pxd) count no references
    sole_hash_of = attrgetter("alone")
    next_of = attrgetter("next")


def branch_of(long: bool, hash: int, subscribers: Any, next: INode | None) -> Branch:
    """Make a branch without words yet, of one word or, if `long`, of several. `hash` belongs to the first word."""
    entry: Entry | None = subscribers if isinstance(subscribers, Entry) else None
    branch: Branch
    if entry is not None and next is None:
        branch = new_leaf(Chain if long else Branch, entry.key, may_be_tracked(entry.options))
    else:
        branch = new_leaf(Chain if long else Branch, subscribers, next)
    branch.hash = hash
    branch.value = subscribers
    branch.alone = 0
    branch.next = next
    if entry is not None and entry.hash != 0:
        branch.value = entry.key if entry.options is None else new_sole(entry.key, entry.options)
        branch.alone = entry.hash
    return branch


def subscribers_of(branch: Branch) -> Any:
    """Return the set of subscribers of the filter that ends with a branch (subscribers.py, groups.py)."""
    return entry_alone(branch.value, branch.alone) if branch.alone != 0 else branch.value


def is_wanted(branch: Branch) -> bool:
    """Return whether there are any."""
    return branch.alone != 0 or branch.value is not None


def new_branch(words: tuple[str, ...], separator: str, hash: int, subscribers: Any, next: INode | None) -> Branch:
    """Make a branch of one word or more. `hash` belongs to the first word."""
    branch = branch_of(len(words) > 1, hash, subscribers, next)
    set_key(branch, words[0] if len(words) == 1 else separator.join(words))
    return branch


def changed_branch(branch: Branch, subscribers: Any, next: INode | None) -> Branch:
    """Make a branch with the same words."""
    copy = branch_of(isinstance(branch, Chain), branch.hash, subscribers, next)
    copy_key(copy, branch)
    return copy


def words_in(branch: Branch, separator: str) -> tuple[str, ...]:
    """Return the words of a branch."""
    return tuple(branch.key.split(separator)) if isinstance(branch, Chain) else (branch.key,)


@cython.no_gc
@cython.freelist(8)
@cython.cclass
class Place:
    """Where the subscriptions to a filter are: its words, as the trie stores them, and their hashes; the group, if any;
    and filter and queue group as they were given."""

    __slots__ = ("filter", "group", "hashes", "queue", "words")
    words: tuple[str, ...]  # at least one
    hashes: tuple[int, ...]
    group: str | None
    filter: str
    queue: str | None

    def given(self) -> tuple[str, str | None]:
        """Return filter and queue group as plain strings, since no methods of users may compare them."""
        return str.__str__(self.filter), None if self.queue is None else str.__str__(self.queue)


@cython.no_gc
@cython.cclass
class FilterEdit(Edit):
    """A change of the subscribers of one filter. It descends by the filter's words."""

    __slots__ = (
        "attempts",
        "bare",
        "bare_above",
        "crossed",
        "crossed_group",
        "depth",
        "followed",
        "group",
        "hashes",
        "parts",
        "plan",
        "present",
        "separator",
        "words",
    )
    plan: Any  # borrowed: the caller holds the trie
    separator: str  # the plan's
    group: str | None
    attempts: int
    present: Entry | None  # afterwards: the entry that the subscriber had
    crossed: bool  # afterwards: the filter had no subscribers before, or has none now
    crossed_group: bool  # afterwards: the same of those whose set changes: the group, or the subscribers in no group
    words: tuple[str, ...]  # at least one
    hashes: tuple[int, ...]
    depth: int
    # About the branch that `below` was last called with:
    followed: int  # how many of its words are the filter's next ones
    parts: bool  # it has other words after them
    bare: bool  # it has no subscribers
    bare_above: bool  # the branch that leads to the present level has none

    def begin(
        self, plan: Any, separator: str, words: tuple[str, ...], hashes: tuple[int, ...], group: str | None
    ) -> None:
        """Set whose subscribers change: those of the filter, or of its queue group."""
        self.plan = borrow(plan)
        self.separator = separator
        self.words = words
        self.hashes = hashes
        self.group = group
        self.settled = self.tracks = False  # also if it is interrupted before it is applied
        self.attempts = 0
        self.crossed = self.crossed_group = False

    def rewind(self) -> None:
        if not self.settled:
            self.attempts += 1
        self.depth = 0
        self.hash = self.hashes[0]

    def same(self, sn: SNode) -> bool:
        if self.depth == len(self.words):
            return False  # it only clears tombs, and has reached the end of the filter
        branch: Branch = sn  # type: ignore[assignment]
        return key_begins(branch, self.words[self.depth], self.separator)

    def below(self, sn: SNode) -> INode | None:
        branch: Branch = sn  # type: ignore[assignment]
        self._follow(branch)
        if self.parts:
            return None
        if self.depth + self.followed < len(self.words):
            return branch.next
        # Work may remain below: to roll a level up, or to restore a level that was tombed while there were no
        # subscribers here, if there are some again.
        return branch.next if self.settled and (self.bare or self.entombed) else None

    def level_passed(self, sn: Any) -> Any:
        below = next_of(sn)
        if hash_of(sn) != self.hash or below is borrow(None):
            return borrow(None)
        followed = words_followed_in(sn, self.words, self.depth, self.separator)
        if followed <= 0 or self.depth + followed >= len(self.words):
            return borrow(None)
        self.followed = followed
        self.bare = sole_hash_of(sn) == 0 and value_of(sn) is borrow(None)
        return below

    def _follow(self, branch: Branch) -> None:
        """Find how many words of `branch` the filter follows; it has the first."""
        self.bare = not is_wanted(branch)
        followed = words_followed(branch, self.words, self.depth, self.separator) if isinstance(branch, Chain) else 1
        self.followed = abs(followed)
        self.parts = followed < 0

    def advance(self) -> None:
        self.bare_above = self.bare
        self.depth += self.followed
        self.hash = self.hashes[self.depth] if self.depth < len(self.words) else 0

    def rolls_up(self) -> bool:
        return self.bare_above

    def _branch(self, start: int, stop: int, subscribers: Any, next: INode | None) -> Branch:
        """Make a branch with the filter's words from `start` to `stop`."""
        return new_branch(self.words[start:stop], self.separator, self.hashes[start], subscribers, next)


@cython.no_gc
@cython.cclass
class Subscribe(FilterEdit):
    """Add `entry` to the subscribers."""

    __slots__ = ("entry",)
    entry: Entry

    def create(self) -> SNode | None:
        self.present = None
        self.crossed = self.crossed_group = True
        return self._path_from(self.depth)

    def change(self, sn: SNode) -> SNode | None:
        branch: Branch = sn  # type: ignore[assignment]
        end = self.depth + self.followed
        if self.parts or end < len(self.words):
            self.present = None
            self.crossed = self.crossed_group = True
            if self.parts:
                return self._parted(branch, end)
            # The filter continues, but there is no level yet.
            return changed_branch(branch, subscribers_of(branch), _level_of(self._path_from(end), self.inode.gen))
        self.crossed = self.bare
        entry = self.entry
        audience = subscribers_of(branch)
        members = members_of(audience, self.group)
        present = find_keyed(members, entry.key, entry.hash, self)
        self.present = present
        self.crossed_group = members is None
        if present is not None:
            if present.options is None and entry.options is None:
                return sn
            entry = entry_of(present.key, entry)  # as in a dict, the first object stays
        grown = with_members(audience, self.group, with_keyed(members, entry, present), entry, present)
        return changed_branch(branch, grown, branch.next)

    def _parted(self, branch: Branch, end: int) -> Branch:
        """Split a chain where the filter leaves it, or ends within it."""
        rest = words_in(branch, self.separator)[self.followed :]
        lower_hash = borrowed(self.plan).hash_in_filter(rest[0])
        lower = new_branch(rest, self.separator, lower_hash, subscribers_of(branch), branch.next)
        if end == len(self.words):
            here = with_members(None, self.group, self.entry, self.entry, None)
            return self._branch(self.depth, end, here, _level_of(lower, self.inode.gen))
        gen = self.inode.gen
        both = new_inode(two_snodes(lower, self._path_from(end), 0, gen), gen)
        return self._branch(self.depth, end, None, both)

    def _path_from(self, depth: int) -> Branch:
        """Make the branch for the words from `depth` on."""
        audience = with_members(None, self.group, self.entry, self.entry, None)
        return self._branch(depth, len(self.words), audience, None)


@cython.no_gc
@cython.cclass
class Unsubscribe(FilterEdit):
    """Remove a subscriber."""

    __slots__ = ("subscriber", "subscriber_hash")
    subscriber: Any
    subscriber_hash: int

    def create(self) -> SNode | None:
        self.present = None
        self.crossed = self.crossed_group = False
        return None

    def change(self, sn: SNode) -> SNode | None:
        self.present = None
        self.crossed = self.crossed_group = False
        self.emptied = False
        branch: Branch = sn  # type: ignore[assignment]
        if self.parts or self.depth + self.followed < len(self.words):
            return sn
        audience = subscribers_of(branch)
        members = members_of(audience, self.group)
        present = find_keyed(members, self.subscriber, self.subscriber_hash, self)
        self.present = present
        if present is None:
            return sn
        others = without_keyed(members, present)
        left = with_members(audience, self.group, others, None, present)
        self.crossed = left is None
        self.crossed_group = others is None
        if left is None and branch.next is None:
            return None
        self.emptied = left is None
        return changed_branch(branch, left, branch.next)


def _level_of(only: SNode, gen: Gen) -> INode:
    return new_inode(new_cnode(flag_at(only.hash, 0), (only,)), gen)


def subscribe_edit(plan: Any, separator: str, place: Place, entry: Entry) -> Subscribe:
    edit: Subscribe = Subscribe.__new__(Subscribe)
    edit.begin(plan, separator, place.words, place.hashes, place.group)
    edit.entry = entry
    return edit


def unsubscribe_edit(plan: Any, separator: str, place: Place, subscriber: object, hash: int) -> Unsubscribe:
    edit: Unsubscribe = Unsubscribe.__new__(Unsubscribe)
    edit.begin(plan, separator, place.words, place.hashes, place.group)
    edit.subscriber = subscriber
    edit.subscriber_hash = hash
    return edit
