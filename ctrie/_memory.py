"""What the collector of cycles is told of nodes: for node factories, and for `_commit` in _nodes.py, which keeps to it.

This is the interpreted text, in which every node is an object like any other. The compiled bodies are in C (`c/leaf.h`,
`c/untracked.h`): a node that leads to nothing which the collector tracks is not tracked either.
"""

from __future__ import annotations

from typing import Any


def leaf_after(first: object) -> None:
    """Say that `new_leaf` may make leaves of this one's type, which has nothing set."""


def new_leaf(kind: type[Any], one: object, other: object) -> Any:
    """Return a new leaf of this type, which is going to lead to `one` and `other` only."""
    return object.__new__(kind)


def untrack(node: object, one: object, other: object) -> None:
    """Take a node that leads to `one` and `other` only off the collector's list, if the collector tracks neither."""


def untrack_above(inode: object, main: object) -> None:
    """The same of an I-node above a main node."""


def is_out_of_track(inode: object, main: object) -> bool:
    """Tell whether the collector would have to track an I-node for `main`, and does not."""
    return False


def keep_track(node: object) -> None:
    """Have the collector track a node."""
