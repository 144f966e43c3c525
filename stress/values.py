"""Lists, dictionaries and sets in a history: they are shown as what they are, and can be hashed and not changed.

A history is made of arguments and answers that are compared, put into sets and kept. So a container that may change is
frozen where it comes in (`history.freeze`, `history.steady`), and made anew for each call of an object (`fresh`), which
may keep or change what it is given. A frozen list is equal to a list and to a tuple of the same items, a frozen
dictionary to a dictionary and to a frozen set of its pairs, a frozen set to a set.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final, NoReturn


class FrozenList(tuple[Any, ...]):
    """A list.

    >>> given = FrozenList([1, 2])
    >>> given, [1, 2] == given == (1, 2), [0] + given, (0,) + given
    ([1, 2], True, [0, 1, 2], (0, 1, 2))
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __radd__(self, other: Any) -> Any:
        return type(other)((*other, *self))  # a list and it is a list, and a tuple and it a tuple


class FrozenDict(dict[Hashable, Any]):
    """A dictionary.

    >>> {FrozenDict(a=1)}, FrozenDict(a=1) == {"a": 1}, frozenset({("a", 1)}) == FrozenDict(a=1)
    ({{'a': 1}}, True, True)
    """

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __eq__(self, other: object) -> bool:
        return frozenset(self.items()) == other if isinstance(other, frozenset) else dict.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("an argument or answer in a history cannot be changed: take a copy, {**it}")

    __setitem__ = __delitem__ = __ior__ = _refuse
    pop = popitem = setdefault = update = clear = _refuse


class FrozenSet(frozenset[Any]):
    """A set."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(set(self))


_ATOMS: Final = frozenset({type(None), bool, int, float, str, bytes})


def fresh(value: Any) -> Any:
    """The value as it was given, in containers of its own. O(n).

    >>> fresh((1, FrozenList([FrozenDict(a=FrozenSet([2]))])))
    (1, [{'a': {2}}])
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is tuple:
        return value if _ATOMS.issuperset(map(type, value)) else tuple([fresh(item) for item in value])
    if kind is FrozenList:
        return [fresh(item) for item in value]
    if kind is FrozenDict:
        return {key: fresh(item) for key, item in value.items()}
    return set(value) if kind is FrozenSet else value
