"""Nodes and the cycle collector: for the functions that make nodes, and for `_commit` in _edits.py.

This is the interpreted text, in which every node is an ordinary object. The compiled bodies are in C (`c/leaf.h`,
`c/untracked.h`). The rule: a node that leads to nothing that the collector tracks is not tracked either.
"""

from __future__ import annotations

from typing import Any


def leaf_after(first: object) -> None:
    """Register the type of `first` for `new_leaf`. No field of `first` is set."""


def new_leaf(kind: type[Any], one: object, other: object) -> Any:
    """Return a new leaf of this type, which will refer to `one` and `other` only."""
    return object.__new__(kind)


def untrack(node: object, one: object, other: object) -> None:
    """Untrack a node that refers to `one` and `other` only, if the collector tracks neither of them."""


def untrack_above(inode: object, main: object) -> None:
    """Untrack an I-node if the collector does not track its main node."""


def is_out_of_track(inode: object, main: object) -> bool:
    """Tell whether `main` is tracked and the I-node, which leads to it, is not."""
    return False


def keep_track(node: object) -> None:
    """Have the collector track a node."""
