"""Names for the trace of any object: a reference is named by its place, a node by a letter and a number, and a plain
value by itself.

`head` is the reference in that attribute of the object, `entries['a.b']` one in its dictionary, `N1.next` one of a
node. The legend tells what nodes held when they first occurred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from stress.answers import attributes_of
from stress.explorer.containers import is_a, items_in
from stress.explorer.held import held
from stress.explorer.slots import LOAD, Place
from stress.explorer.synchronization import Primitive
from stress.history import Raised, show

__all__ = ["NodeNames", "ObjectNames"]

_PLAIN: Final = (type(None), bool, int, float, complex, str, bytes, Raised, type)
_SERIES: Final[Mapping[type, tuple[str, str]]] = {
    tuple: ("(", ")"), list: ("[", "]"), set: ("{", "}"), frozenset: ("{", "}"),
}  # fmt: skip


class NodeNames:
    """Words for the objects in a trace: nodes have names, a letter and a number each, which `legend` explains."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._counts: dict[str, int] = {}
        self._kept: list[Any] = []  # kept alive, so that no other object gets the address of a named one
        self.legend: list[tuple[str, str]] = []

    def access(self, slot: Any, expected: Any, desired: Any) -> str:
        """The description of an access that is about to be made."""
        raise NotImplementedError

    def of(self, value: Any) -> str:
        """A word for a value."""
        raise NotImplementedError

    def _access_of(self, place: str, slot: Any, expected: Any, desired: Any) -> str:
        found = slot._value
        if expected is LOAD:
            return f"{place}: read {self.of(found)}"
        swap = f"{place}: CAS {self.of(expected)} -> {self.of(desired)}"
        return f"{swap} done" if found is expected else f"{swap} failed, it is {self.of(found)}"

    def _next(self, letter: str) -> str:
        number = self._counts[letter] = self._counts.get(letter, 0) + 1
        return f"{letter}{number}"

    def _introduce(self, node: Any, letter: str, content: Callable[[], str]) -> str:
        """Give a node a name. What it holds, which may need names, too, comes after it in the legend."""
        name = self._names[id(node)] = self._next(letter)
        self._kept.append(node)
        at = len(self.legend)
        self.legend.append((name, ""))
        self.legend[at] = name, content()
        return name


class ObjectNames(NodeNames):
    """Names of the objects in an execution, and words for its accesses. `subject` returns the explored object."""

    def __init__(self, subject: Callable[[], Any]) -> None:
        super().__init__()
        self._subject = subject
        self._nodes: list[tuple[str, Any]] = []

    def access(self, slot: Any, expected: Any, desired: Any) -> str:
        """As `NodeNames.access`."""
        if isinstance(slot, Place):
            return slot.what if slot._name is None else f"{slot.what}: {'read' if expected is LOAD else 'write'}"
        if isinstance(slot, Primitive):
            waits = expected is not LOAD and slot._value is not expected
            return f"{self._place(getattr(slot, 'of', slot))}.{desired}{' waits' if waits else ''}"
        return self._access_of(self._place(slot), slot, expected, desired)

    def _place(self, reference: Any) -> str:
        """The place of a reference; searched for again if it was not there at the last search."""
        if id(reference) not in self._names:
            for prefix, holder in [("", self._subject()), *((f"{name}.", node) for name, node in self._nodes)]:
                for each, place in held(holder, (object,)):
                    if _is_reference(each):
                        self._names.setdefault(id(each), prefix + place)
                        self._kept.append(each)
        return self._names[id(reference)] if id(reference) in self._names else self._new(reference)

    def of(self, value: Any) -> str:
        """As `NodeNames.of`."""
        if is_a(value, _PLAIN):
            return value.__name__ if is_a(value, type) else show(value)
        if type(value) in _SERIES:
            opening, closing = _SERIES[type(value)]
            items = map(self.of, value) if isinstance(value, (tuple, list)) else sorted(map(self.of, value))
            return f"{opening}{', '.join(items)}{',' * (type(value) is tuple and len(value) == 1)}{closing}"
        if type(value) is dict:
            return "{" + ", ".join(f"{self.of(key)}: {self.of(item)}" for key, item in value.items()) + "}"
        if _is_reference(value):
            return self._place(value)
        return self._names.get(id(value)) or self._new(value)

    def _new(self, node: Any) -> str:
        kind = type(node).__name__

        def content() -> str:
            if is_a(node, Primitive):
                return kind
            self._nodes.append((self._names[id(node)], node))
            told = [f"{each}={self.of(value)}" for each, value in _attributes(node) if not _is_reference(value)]
            return f"{kind}: {', '.join(told)}" if told else kind

        return self._introduce(node, kind.lstrip("_")[:1].upper(), content)


def _is_reference(value: Any) -> bool:
    return is_a(value, Primitive) or (type(value).__name__ == "AtomicReference" and hasattr(value, "_value"))


def _attributes(node: Any) -> Iterator[tuple[str, Any]]:
    if is_a(node, tuple):
        yield from zip(getattr(type(node), "_fields", ()), items_in(node), strict=False)
    yield from attributes_of(node)
