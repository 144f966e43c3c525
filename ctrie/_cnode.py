"""C-nodes: a bitmap, and one branch for each set bit.

This is the interpreted text; the compiled body (`_cnode.pyx`) keeps the branches in the node itself (`cnode.h`).
"""

from __future__ import annotations

from typing import Any

from ctrie._machine import inserted, removed, replaced
from ctrie._slot import Slot


class Gen:
    """A generation. It has no content: generations are compared by identity."""

    __slots__ = ()


class MainNode(Slot):
    """The content of an I-node. Its own slot is `prev`: None once committed, else the main node that it replaces (a
    pending GCAS) or a FailedNode (an aborted GCAS)."""

    __slots__ = ()


class CNode(MainNode):
    """Branches: bit i of `bitmap` tells whether hash group i has one; `array` holds the branches in group order."""

    __slots__ = ("array", "bitmap")
    bitmap: int
    array: tuple[Any, ...]


def new_cnode(bitmap: int, array: tuple[Any, ...]) -> CNode:
    cn: CNode = CNode.__new__(CNode)
    cn.bitmap = bitmap
    cn.array = array
    return cn


class Branches(list[Any]):
    """Branches that become a C-node together."""


def new_branches(branches: Branches) -> None:
    """Begin with no branch."""


def add_branch(branches: Branches, branch: Any) -> None:
    """Add a branch, for a group beyond those of the others."""
    branches.append(branch)


def share_branch(branches: Branches, branch: Any, cn: Any) -> None:
    """The same as `add_branch`, of a branch that C-node `cn` has too."""
    branches.append(branch)


def drop_branches(branches: Branches) -> None:
    """Free the branches that have not become a node. Only the compiled twin has such memory."""


def cnode_of_branches(bitmap: int, branches: Branches) -> CNode:
    """Return a C-node of these branches."""
    return new_cnode(bitmap, tuple(branches))


def branch_at(cn: CNode, pos: int) -> Any:
    """Return the branch at position `pos`."""
    return cn.array[pos]


def bitmap_of(cn: Any) -> int:
    """Return the bitmap of a borrowed C-node."""
    return cn.bitmap  # type: ignore[no-any-return]


def child_at(cn: Any, pos: int) -> Any:
    """As `branch_at`; both the C-node and the result are borrowed."""
    return cn.array[pos]


def branches_of(cn: CNode) -> tuple[Any, ...]:
    """Return all branches, in the order of their groups."""
    return cn.array


def with_branch(cn: CNode, flag: int, pos: int, branch: object) -> CNode:
    """Return a copy with one more branch, for the group of `flag`, at position `pos`."""
    return new_cnode(cn.bitmap | flag, inserted(cn.array, pos, branch))


def with_other_branch(cn: CNode, pos: int, branch: object) -> CNode:
    """Return a copy with `branch` at position `pos`."""
    return new_cnode(cn.bitmap, replaced(cn.array, pos, branch))


def without_branch(cn: CNode, flag: int, pos: int) -> CNode:
    """Return a copy without the branch at position `pos`, which belongs to the group of `flag`."""
    return new_cnode(cn.bitmap ^ flag, removed(cn.array, pos))
