# distutils: extra_compile_args = SMALL
"""The edits of a topic store: one value for each topic.

A topic is a filter without wildcards. Its entry takes the place of a filter's only subscriber: the tuple of its text,
its value and the time when it was stored, called a pair here, since the walk looks at the first two only.
So the descent, the splitting of chains and the tombs are those of `branch.py`. The only difference is that a new pair
always replaces the old one.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._edits import edit_trie
    from ctrie._machine import untrack
    from ctrie._nodes import Root, SNode, root_of
    from ctrie._tally import begin_change, end_change, end_in_doubt
    from subtrie._trie.branch import Branch, FilterEdit, Subscribe, Unsubscribe, changed_branch, is_wanted
    from subtrie._trie.match.plan import Matchable, Plan, plan_of
    from subtrie._trie.subscribers import new_entry

# The hash of every pair, which takes the place of a subscriber. Pairs are never searched, so any hash but 0 will do
# (branch.py).
_HASH = 1


@cython.no_gc
@cython.cclass
class Put(Subscribe):
    """Store a pair for a topic. Afterwards, `kept` is the pair that was there before, or None."""

    __slots__ = ("kept", "only_new")
    only_new: bool  # a present pair stays
    kept: Any

    def create(self) -> SNode | None:
        self.kept = None
        return Subscribe.create(self)

    def change(self, sn: SNode) -> SNode | None:
        branch: Branch = sn  # type: ignore[assignment]
        if self.parts or self.depth + self.followed < len(self.words):
            self.kept = None
            return Subscribe.change(self, sn)
        self.kept = branch.value
        self.crossed = not is_wanted(branch)
        if self.only_new and is_wanted(branch):
            return sn
        return changed_branch(branch, self.entry, branch.next)


@cython.no_gc
@cython.cclass
class Remove(Unsubscribe):
    """Remove the pair of a topic, if it is `expected` or that is None. Then `kept` is the removed one, or None."""

    __slots__ = ("expected", "kept")
    expected: Any
    kept: Any

    def create(self) -> SNode | None:
        self.kept = None
        return Unsubscribe.create(self)

    def change(self, sn: SNode) -> SNode | None:
        self.kept = None
        self.crossed = self.emptied = False
        branch: Branch = sn  # type: ignore[assignment]
        if self.parts or self.depth + self.followed < len(self.words) or not is_wanted(branch):
            return sn
        if self.expected is not None and branch.value is not self.expected:
            return sn
        self.kept = branch.value
        self.crossed = True
        if branch.next is None:
            return None
        self.emptied = True
        return changed_branch(branch, None, branch.next)


def put_topic(
    store: Matchable, words: tuple[str, ...], hashes: tuple[int, ...], pair: tuple[str, Any, float], only_new: bool
) -> tuple[str, Any, float] | None:
    """Store `pair`, that of a topic and its value; return the pair that was there before. With `only_new`, a
    present pair stays. Linearizes at the commit of one compare-and-set, or as `get` if nothing changes. Lock-free."""
    edit: Put = Put.__new__(Put)
    untrack(pair, pair[0], pair[1])  # otherwise every node of the store would be on the collector's list
    edit.entry = new_entry(pair, _HASH, None)
    edit.only_new = only_new
    _make(edit, store, words, hashes, 1)
    return edit.kept  # type: ignore[no-any-return]


def remove_topic(
    store: Matchable, words: tuple[str, ...], hashes: tuple[int, ...], expected: tuple[str, Any, float] | None = None
) -> tuple[str, Any, float] | None:
    """Remove the pair of a topic, if it is `expected` or that is None, and return it. Linearizes as `put_topic`.
    Lock-free."""
    edit: Remove = Remove.__new__(Remove)
    edit.expected = expected
    _make(edit, store, words, hashes, -1)
    return edit.kept  # type: ignore[no-any-return]


def _make(edit: FilterEdit, store: Matchable, words: tuple[str, ...], hashes: tuple[int, ...], more: int) -> None:
    """Make a change, which gives the store so many more topics if it has an effect."""
    plan = plan_of(store)
    edit.begin(cython.cast(Plan, plan), cython.cast(Plan, plan).separator, words, hashes, None)
    in_doubt = True
    begin_change(store._tally)
    try:
        edit_trie(cython.cast(Root, root_of(store)), edit)
        in_doubt = False
    finally:
        if in_doubt:
            end_in_doubt(store._tally)
        else:
            end_change(store._tally, more if edit.crossed else 0, 0)
