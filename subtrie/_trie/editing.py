"""Edits of a trie's filters: made with its plan, and applied to its root. Both are borrowed from the trie: all writers
would write to their counts.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from typing import Any

if not cython.compiled:
    from ctrie._edits import edit_trie
    from ctrie._nodes import Root, SNode, root_of
    from subtrie._trie.branch import (
        FilterEdit,
        Subscribe,
        Unsubscribe,
        subscribe_edit,
        unsubscribe_edit,
    )
    from subtrie._trie.match.plan import Matchable, Plan, plan_of
    from subtrie._trie.subscribers import Entry


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
    found = edit_trie(cython.cast(Root, root_of(trie)), edit)
    edit.applied = True
    return found
