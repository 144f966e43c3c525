"""Names of the compiled twin's nodes in a trace. The content of a node comes from the collector of cycles, which lists
all references of an object in the order of its fields.
"""

from __future__ import annotations

import gc
from typing import Any, Final

from tests.tries.names import FIELDS, LETTERS, PLAIN, TrieNames

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
