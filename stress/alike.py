"""When a recorded answer is the one that a specification gives: if it is equal, and of the same types.

Python calls True, 1 and 1.0 equal. As answers they differ: an object that answers 1 where it should answer True is
wrong. So the kinds of numbers count, also within tuples, lists, sets and mappings. A list is a tuple of the same items,
as everywhere in histories (`history.freeze`), and of other objects equality alone decides.

The checker puts states into dictionaries and sets, where a state that holds True is one that holds 1. To refuse an
answer by its type would then be unsound: the state with the right type may have been taken for the other. So the first
such answer ends the judgement (`TypesCount`), which begins again with states that are told apart by types, too
(`frozen_states.judged`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from numbers import Integral, Number, Real
from types import NoneType
from typing import Any, Final

from stress.history import UNSEEN


class Again(BaseException):
    """A judgement has to begin again, with other states. Code that catches what a specification raises lets it pass."""


class TypesCount(Again):
    """An answer differs only by its type from the one that a step gives. From now on types of states count."""


_states_have_types: ContextVar[bool | None] = ContextVar("states_have_types", default=None)
"""Whether the states of the present judgement are told apart by types. None: there is no judgement."""


@contextmanager
def judging(*, typed: bool) -> Iterator[None]:
    """In the block a history is judged. `typed`: states are told apart by types, too."""
    before = _states_have_types.set(typed)
    try:
        yield
    finally:
        _states_have_types.reset(before)


def fits(result: Hashable, answer: Any) -> bool:
    """Whether a recorded result is the answer of a step.

    Raises:
        TypesCount: it differs only by its type, and the states of this judgement are not told apart by types.

    >>> fits(1, 1), fits((1, 2), (1, 2)), fits(True, 1), fits((1.0,), (1,))
    (True, True, False, False)
    """
    if result is UNSEEN or result is answer:
        return True
    if result != answer:
        return False
    if alike(result, answer):
        return True
    if _states_have_types.get() is False:
        raise TypesCount
    return False


_ATOMS: Final = frozenset({NoneType, bool, int, float, str, bytes})
_PLAIN: Final = _ATOMS - {bool, float}
"""Equal values of these types are of the same one."""
_NESTED: Final = frozenset({tuple, frozenset})
_QUICK: Final = _PLAIN | _NESTED


def alike(one: Any, other: Any) -> bool:
    """Whether two equal values are of the same types, as far as types count."""
    if type(one) is type(other) and type(one) in _ATOMS:
        return True
    parts = [one, other]  # level by level, which is some ten times as fast as value by value
    while _QUICK.issuperset(map(type, parts)):
        parts = list(chain.from_iterable(each for each in parts if type(each) in _NESTED))
        if not parts:
            return True
    return bool(_typed(one) == _typed(other))


def _kind(value: Any) -> type:
    """The kind of a number. Those of other libraries are of the kind that they say."""
    kind = type(value)
    if kind.__name__ in ("bool", "bool_"):
        return bool
    if isinstance(value, Integral):
        return int
    return float if isinstance(value, float) or (isinstance(value, Real) and kind.__name__ != "Fraction") else kind


def are_mixed(values: Iterable[Hashable]) -> bool:
    """Whether some of the values are equal and not of the same types. O(n).

    >>> are_mixed([1, 2, "a", 1]), are_mixed([1, "a", (2,), True]), are_mixed([(1,), (1.0,)])
    (False, True, True)
    """
    values = list(values)
    return not _PLAIN.issuperset(map(type, values)) and len(set(map(typed_key, values))) > len(set(values))


def typed_key(value: Hashable) -> Hashable:
    """A key that tells a value also from equal ones of other types."""
    return _typed(value), value


class _Typed(tuple[Any, ...]):
    """The types of a value, which count, with what has no parts."""

    __slots__ = ()


def _typed(value: Any) -> Hashable:
    """What equal values have in common if they are of the same types, as far as types count. A list is a tuple, an
    array of bytes is bytes, and a mapping is the set of its pairs.
    """
    kind = type(value)
    if kind is str or kind is bytes or value is None:
        return value  # type: ignore[no-any-return]
    if kind in _ATOMS:
        return _Typed((kind, value))
    if isinstance(value, (tuple, list)):
        return _Typed((tuple, *map(_typed, value)))
    if isinstance(value, (set, frozenset, Mapping)):
        return _Typed((frozenset, frozenset(map(_typed, value.items() if isinstance(value, Mapping) else value))))
    if isinstance(value, bytearray):
        return bytes(value)
    is_number = isinstance(value, Number) or kind.__name__ in ("bool", "bool_")  # those of numpy are none
    return _Typed((_kind(value), value)) if is_number else value
