"""The nodes of a trie as plain values, to compare the results of two executions, and to find nodes that a trie does not
need.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import Any

_ATOMS = frozenset({type(None), bool, int, float, str})


def fingerprint(value: Any) -> Any:
    """Everything reachable from a node, as tuples. Objects without content (generations) are numbered in the order in
    which they are found.
    """
    bare: dict[Any, int] = {}

    def print_of(value: Any) -> Any:
        kind: Any = type(value)
        if kind in _ATOMS:
            return value
        if isinstance(value, tuple):  # a delivery, too
            return tuple([print_of(item) for item in value])
        if kind is frozenset:
            return frozenset([print_of(item) for item in value])
        if kind is dict or kind is MappingProxyType:  # options
            return kind.__name__, *[(name, print_of(item)) for name, item in value.items()]
        fields = _fields_of(kind)
        if not fields:
            return kind.__name__, bare.setdefault(value, len(bare))
        return (kind.__name__, *[print_of(getattr(value, name, None)) for name in fields])

    return print_of(value)


@cache
def _fields_of(kind: type) -> tuple[str, ...]:
    """The attributes of a node's class."""
    names = [name for base in kind.__mro__ for name in base.__dict__.get("__slots__", ())]
    return tuple([name for name in names if not name.startswith("__")] + ["_value"] * hasattr(kind, "_value"))


def shape(nodes: Any, trie: Any) -> Any:
    """The kinds of a trie's nodes and their places, without values and generations, and with L-nodes unordered."""

    def of(inode: Any) -> Any:
        main = nodes.gcas_read(trie._root, inode)
        children = [
            of(child) if isinstance(child, nodes.INode) else of_snode(child)
            for child in nodes.branches(trie._root, inode)
        ]
        return type(main).__name__, frozenset(children) if isinstance(main, nodes.LNode) else tuple(children)

    def of_snode(sn: Any) -> Any:
        level = getattr(sn, "next", None)
        return sn.key, None if level is None else of(level)

    return of(nodes.rdcss_read_root(trie._root))
