"""Names of a trie's nodes in a trace, in order of appearance: a letter for the kind and a number. The legend tells what
each node held when it first occurred.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stress.explorer.names import NodeNames

__all__ = ["FIELDS", "LETTERS", "PLAIN", "TrieNames"]

LETTERS: Final = {"RDCSSDescriptor": "D", "FailedNode": "F", "Branch": "S", "Slot": "X", "Lock": "E"}
FIELDS: Final = {"INode": "main", "Root": "node", "RDCSSDescriptor": "verdict", "Lock": "free", "Slot": "value"}
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
        kind = type(node).__name__
        if kind == "CNode":
            return self._listed(node.array)
        if kind == "LNode":
            return self._listed(node.entries)
        if kind == "TNode":
            return "of nothing" if node.sn is None else f"of {self._leaf(node.sn)}"
        if kind == "FailedNode":
            return f"for {self.of(node.wrapped)}"
        if kind == "RDCSSDescriptor":
            return f"from {self.of(node.old)}, if its main is {self.of(node.expected)}, to {self.of(node.new)}"
        if kind == "INode":
            return f"of {self.of(node.gen)}"
        if kind == "Root":
            return "read-only" if node.readonly else ""
        return ""

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
