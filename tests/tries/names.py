"""Names of a trie's nodes in a trace, in order of appearance: a letter for the kind and a number. The legend tells what
each node held when it first occurred.
"""

from __future__ import annotations

from collections.abc import Sequence
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
