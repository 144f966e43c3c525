"""What `Ctrie` and `CtrieSet` share with dict and set: views, argument forms, types in brackets, repr."""

import collections.abc
from collections.abc import Iterable, Iterator
from reprlib import recursive_repr
from types import GenericAlias
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

# Their `__class_getitem__`. It stands there without an annotation, which Cython does not know on attributes of classes.
SUBSCRIPTED: Any = classmethod(GenericAlias)


class NoDefault:
    """The default of a parameter that has none: without it, the call does something else."""

    def __repr__(self) -> str:
        return "<no default>"


_ABSENT = NoDefault()


class KeysView(collections.abc.KeysView[K]):
    """The keys of one instant."""

    __slots__ = ()
    _mapping: Any

    def __iter__(self) -> Iterator[K]:
        return iter(self._mapping)


class ValuesView(collections.abc.ValuesView[V]):
    """The values of one instant."""

    __slots__ = ()
    _mapping: Any

    def __iter__(self) -> Iterator[V]:
        return self._mapping._iter_values()  # type: ignore[no-any-return]

    def __contains__(self, value: object) -> bool:
        return any(v is value or v == value for v in self)


class ItemsView(collections.abc.ItemsView[K, V]):
    """The (key, value) pairs of one instant."""

    __slots__ = ()
    _mapping: Any

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return self._mapping._iter_items()  # type: ignore[no-any-return]

    def __contains__(self, item: object) -> bool:
        if not isinstance(item, tuple) or len(item) != 2:
            return False
        found = self._mapping.get(item[0], _ABSENT)  # and not by `[]`, which asks `__missing__`
        return found is not _ABSENT and (found is item[1] or bool(found == item[1]))


def pairs_of(mapping_or_pairs: Any) -> Iterable[tuple[Any, Any]]:
    """Return the pairs of any argument that `dict.update` accepts."""
    if hasattr(mapping_or_pairs, "items"):
        return mapping_or_pairs.items()  # type: ignore[no-any-return]
    if hasattr(mapping_or_pairs, "keys"):
        return ((key, mapping_or_pairs[key]) for key in mapping_or_pairs.keys())  # noqa: SIM118  as dict.update does
    return mapping_or_pairs  # type: ignore[no-any-return]


def not_a_pair(item: Any, number: int, refusal: Exception) -> Exception:
    """Return the exception for an item that could not be unpacked into key and value; `number` is its position."""
    what = "a pair has two parts, key and value" if isinstance(refusal, ValueError) else "not a (key, value) pair"
    return type(refusal)(f"item {number} of what a Ctrie is to hold is {item!r:.60}: {what}")


@recursive_repr("Ctrie({...})")
def mapping_repr(mapping: Any) -> str:
    inside = ", ".join(f"{key!r}: {value!r}" for key, value in mapping.items())
    return f"{type(mapping).__name__}({{{inside}}})" if inside else f"{type(mapping).__name__}()"


@recursive_repr("CtrieSet({...})")
def set_repr(members: Any) -> str:
    inside = ", ".join(map(repr, members))
    return f"{type(members).__name__}({{{inside}}})" if inside else f"{type(members).__name__}()"
