# distutils: extra_compile_args = FAST
"""Maps of the index: an immutable hash trie of C-nodes, which a change copies in part.

    None                 nothing
    Cell                 one key, with its hash and what it leads to
    CNode                up to 64 branches, W hash bits a node: Cells and CNodes
    tuple of Cell        keys whose hashes agree in every bit, below the last bits

The nodes are those of a Ctrie, without I-nodes. A C-node holds its branches itself and has many of them, so a search
waits for memory two or three times among 100,000 keys, where one in the sets of keyed.py waits eight times. Those
are made for changes and copy less.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import CNode, branch_at, branches_of, new_cnode, with_branch, with_other_branch, without_branch
    from ctrie._machine import W, flag_at, inserted, popcount, removed, replaced
    from subtrie._trie.keyed import Keyed, set_size

from ctrie._machine import groups_of

_HASH_BITS = 64


if not cython.compiled:  # the C body is in maps.pxd

    def note_few(cell: Cell) -> None:
        """Write down in the cell the few entries that it leads to. For the compiled twin."""

    def untrack_entry(entry: object) -> None:
        """Take what a subscription has off the collector's list, as `untrack_constant` does, but on builds without a
        GIL. For the compiled twin."""


class Crowd:
    """Entries that are filed at one place, so many that they are filed there once more (index.py)."""

    __slots__ = ("count",)
    count: int


class Cell(Keyed):
    """A key, and what it leads to."""

    __slots__ = ("value",)
    value: Any


def crowd_size(filed: Any) -> int:
    """Return how many entries are filed at a place. O(1)."""
    if isinstance(filed, Crowd):
        crowd: Crowd = filed
        return crowd.count
    return set_size(filed)


def new_cell(key: object, hash: int, value: Any) -> Cell:
    """Return an entry of a map."""
    cell: Cell = Cell.__new__(Cell)
    cell.key = key
    cell.hash = hash
    cell.value = value
    note_few(cell)
    untrack_entry(cell)
    return cell


def find_in_map(cells: Any, key: object, hash: int) -> Cell | None:
    """Return a key's cell, or None. O(log n)."""
    node = cells
    shift = 0
    while isinstance(node, CNode):
        cn: CNode = node
        flag = flag_at(hash, shift)
        if not cn.bitmap & flag:
            return None
        node = branch_at(cn, popcount(cn.bitmap & (flag - 1)))
        shift += W
    if node is None:
        return None
    for cell in node if type(node) is tuple else (node,):
        found: Cell | None = cell
        if found is None:
            raise TypeError("None is no cell")
        if found.hash == hash and (found.key is key or found.key == key):
            return found
    return None


def with_cell(node: Any, cell: Cell, found: Cell | None, shift: int = 0) -> Any:
    """Return the map with a cell, in the place of `found` (its key's present cell) unless that is None. O(log n)."""
    if isinstance(node, CNode):
        cn: CNode = node
        flag = flag_at(cell.hash, shift)
        pos = popcount(cn.bitmap & (flag - 1))
        if not cn.bitmap & flag:
            return with_branch(cn, flag, pos, cell)
        return with_other_branch(cn, pos, with_cell(branch_at(cn, pos), cell, found, shift + W))
    if node is found:  # nothing at all, perhaps
        return cell
    if shift >= _HASH_BITS:
        if type(node) is not tuple:
            return (node, cell)
        return inserted(node, len(node), cell) if found is None else replaced(node, _place_of(node, found), cell)
    other: Cell = node
    return with_cell(new_cnode(flag_at(other.hash, shift), (other,)), cell, None, shift)


def without_cell(node: Any, found: Cell, shift: int = 0) -> Any:
    """Return the map without the cell `found`, which it has. O(log n)."""
    if node is found:
        return None
    if type(node) is tuple:
        left = removed(node, _place_of(node, found))
        return left if len(left) > 1 else left[0]
    cn: CNode = node
    flag = flag_at(found.hash, shift)
    pos = popcount(cn.bitmap & (flag - 1))
    below = without_cell(branch_at(cn, pos), found, shift + W)
    changed = with_other_branch(cn, pos, below) if below is not None else without_branch(cn, flag, pos)
    if not changed.bitmap & (changed.bitmap - 1) and isinstance(branch_at(changed, 0), Cell):
        return branch_at(changed, 0)  # the only one left, which needs no path
    return changed


def _place_of(cells: tuple[Any, ...], found: Cell) -> int:
    """Return where the very object `found` is."""
    for pos, cell in enumerate(cells):
        if cell is found:
            return pos
    raise AssertionError("the cell was read from this map")


def cells_of(cells: Any) -> list[Cell]:
    """Return all cells of a map. O(n)."""
    listed: list[Cell] = []
    stack = [cells]
    while stack:
        top = stack.pop()
        if isinstance(top, CNode):
            stack.extend(branches_of(top))
        elif type(top) is tuple:
            stack.extend(top)
        elif top is not None:
            listed.append(top)
    return listed


def check_map(cells: Any) -> None:
    """Raise AssertionError if the map is ill-formed, or does not find one of its cells by the key."""
    _check_node(cells, 0, 0)
    for cell in cells_of(cells):
        assert find_in_map(cells, cell.key, cell.hash) is cell, f"{cell.key!r} is not found"


def _check_node(node: Any, shift: int, path: int) -> None:
    """Check a node that all hashes reach whose lowest `shift` bits are `path`."""
    if isinstance(node, CNode):
        cn: CNode = node
        groups, branches = groups_of(cn.bitmap), branches_of(cn)
        assert len(groups) == len(branches), f"{len(groups)} bits are set for {len(branches)} branches"
        assert branches, "a node without branches"
        assert len(branches) > 1 or not isinstance(branches[0], Cell), "a path to a single cell"
        for group, branch in zip(groups, branches, strict=True):
            _check_node(branch, shift + W, path | group << shift)
        return
    assert type(node) is not tuple or (shift >= _HASH_BITS and len(node) > 1), "a list of cells above the last bits"
    for cell in cells_of(node):
        assert cell.hash & ((1 << shift) - 1) == path, f"{cell.key!r} is in a wrong place"
