"""Edits of a trie's filters: made with its plan, carried out on its root.

This is the interpreted text. The compiled body (`editing.pyx`) begins a change with borrowed pointers.
"""

from __future__ import annotations

from typing import Any

from ctrie._nodes import SNode, edit_trie
from subtrie._trie.branch import FilterEdit, Subscribe, Unsubscribe, subscribe_edit, unsubscribe_edit
from subtrie._trie.match.questions_interpreted import Matchable
from subtrie._trie.subscribers import Entry


def new_subscribe(
    trie: Matchable, words: tuple[str, ...], hashes: tuple[int, ...], group: str | None, entry: Entry
) -> Subscribe:
    """Return an edit that puts `entry` on the filter of these words, or on its queue group."""
    return subscribe_edit(trie._plan, trie._plan.separator, words, hashes, group, entry)


def new_unsubscribe(
    trie: Matchable, words: tuple[str, ...], hashes: tuple[int, ...], group: str | None, subscriber: Any, hash: int
) -> Unsubscribe:
    """Return an edit that takes a subscriber off."""
    return unsubscribe_edit(trie._plan, trie._plan.separator, words, hashes, group, subscriber, hash)


def edit_filter(trie: Matchable, edit: FilterEdit) -> SNode | None:
    """Carry `edit` out, as `edit_trie`."""
    return edit_trie(trie._root, edit)
