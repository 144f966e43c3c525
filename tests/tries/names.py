"""Names of a trie's nodes in a trace, in order of appearance: a letter for the kind and a number. The legend tells what
each node held when it first occurred. What a node of the compiled twin holds comes from the collector of cycles, which
lists all references of an object in the order of its fields.

And a trie's nodes as plain values, to compare the results of two executions, and to find nodes that a trie does not
need.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from stress.explorer.names import NodeNames

LETTERS: Final = {"RDCSSDescriptor": "D", "FailedNode": "F", "Branch": "S", "Slot": "X", "Lock": "E"}
FIELDS: Final = {"INode": "main", "Root": "node", "RDCSSDescriptor": "verdict", "Lock": "free", "Slot": "value"}
_HELD: Final = {
    "CNode": ("array",), "LNode": ("entries",), "TNode": ("sn",), "FailedNode": ("wrapped",), "INode": ("gen",),
    "RDCSSDescriptor": ("old", "expected", "new"), "Root": ("readonly",),
}  # fmt: skip
PLAIN: Final = (type(None), bool, int, float, str)


class TrieNames(NodeNames):
    """Names of nodes, and words for accesses of their slots."""

    def access(self, slot: Any, expected: Any, desired: Any) -> str:
        """As `NodeNames.access`."""
        kind = type(slot).__name__
        if kind == "_Nowhere":
            return "(no slot)"
        return self._access_of(f"{self.of(slot)}.{FIELDS.get(kind, 'prev')}", slot, expected, desired)

    def of(self, node: Any) -> str:
        """The node's name; a new one if it has none."""
        if isinstance(node, PLAIN):
            return str(node)
        if id(node) in self._names:
            return self._names[id(node)]
        kind = type(node).__name__
        return self._introduce(node, LETTERS.get(kind, kind[0]), lambda: f"{kind} {self._content(node)}".rstrip())

    def _content(self, node: Any) -> str:
        match type(node).__name__, *self._held(node):
            case "CNode" | "LNode", listed:
                return self._listed(listed)
            case "TNode", sn:
                return "of nothing" if sn is None else f"of {self._leaf(sn)}"
            case "FailedNode", wrapped:
                return f"for {self.of(wrapped)}"
            case "RDCSSDescriptor", old, expected, new:
                return f"from {self.of(old)}, if its main is {self.of(expected)}, to {self.of(new)}"
            case "INode", gen:
                return f"of {self.of(gen)}"
            case "Root", readonly:
                return "read-only" if readonly else ""
        return ""

    def _held(self, node: Any) -> list[Any]:
        """What a node holds that its name tells of."""
        return [getattr(node, name) for name in _HELD.get(type(node).__name__, ())]

    def _listed(self, nodes: Sequence[Any]) -> str:
        told = (self.of(each) if type(each).__name__ == "INode" else self._leaf(each) for each in nodes)
        return f"[{', '.join(told)}]"

    def _leaf(self, sn: Any) -> str:
        level = getattr(sn, "next", None)
        held = "" if sn.value is None else f": {self._value(sn.value)}"
        return f"{sn.key}{held}" + (f" >> {self.of(level)}" if level is not None else "")

    def _value(self, value: Any) -> str:
        if type(value).__name__ == "Entry":
            return str(value.key)
        if type(value).__name__ == "SetNode":
            return f"{value.size} subscribers"
        if isinstance(value, tuple):
            return "+".join(map(self._value, value))
        return str(value)


_HEAD: Final = object.__basicsize__
"""The offset of the slot in an object with one slot."""


class CompiledNames(TrieNames):
    """As `TrieNames`, for slots that are identified by their addresses."""

    def access(self, slot: Any, expected: Any, desired: Any) -> str:
        """As `NodeNames.access`."""
        if not hasattr(slot, "address"):
            return super().access(slot, expected, desired)
        return self._access_of(f"{self._owner(slot)}.{FIELDS.get(slot.kind, 'prev')}", slot, expected, desired)

    def _owner(self, slot: Any) -> str:
        identity = slot.address - _HEAD
        if identity not in self._names:
            self._names[identity] = self._next(LETTERS.get(slot.kind, slot.kind[0]))
            self.legend.append((self._names[identity], slot.kind))
        return self._names[identity]

    def _held(self, node: Any) -> list[Any]:
        held = gc.get_referents(node)
        match type(node).__name__:
            case "CNode":
                return [held[:0:-1]]
            case "LNode" | "TNode" | "INode":
                return held[-1:]
            case "FailedNode":
                return held[:1]
            case "RDCSSDescriptor":
                return held[1:]
        return []

    def _leaf(self, sn: Any) -> str:
        held = gc.get_referents(sn)
        value = next((each for each in held if isinstance(each, PLAIN) and each != sn.key and each is not None), None)
        below = [self.of(each) for each in held if type(each).__name__ == "INode"]
        return f"{sn.key}{'' if value is None else f': {value}'}{''.join(f' >> {each}' for each in below)}"


def fingerprint(value: Any) -> Any:
    """Everything reachable from a node, as tuples. Objects without content (generations) are numbered in the order in
    which they are found.
    """
    bare: dict[Any, int] = {}

    def print_of(value: Any) -> Any:
        kind: Any = type(value)
        if kind in PLAIN:
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
