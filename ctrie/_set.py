# distutils: extra_compile_args = SMALL
"""`CtrieSet`: the keys of a `Ctrie` as a mutable set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableSet, Set
from itertools import chain
from operator import attrgetter
from typing import Any, Final, Self

import cython

if not cython.compiled:
    from ctrie._ctrie import REMOVE, Ctrie, compares_as
    from ctrie._descent import NoValue, is_there
    from ctrie._nodes import empty_root

    members_of = attrgetter("_members")  # borrowed; the compiled one (_set.pxd) counts no reference

from ctrie._subclasses import attributes_of, set_attributes
from ctrie._views import SUBSCRIPTED, set_repr

_NEW: Final = object()


def _at_rest(mine: CtrieSet, theirs: Any) -> tuple[CtrieSet, Any]:
    """Return the operands, each as of one instant: an operator of collections.abc reads them several times."""
    return mine.readonly_snapshot(), theirs.readonly_snapshot() if isinstance(theirs, CtrieSet) else theirs


# The members of a set between __new__ and __init__. They are read-only, so nothing can be stored in them and lost.
_UNMADE: Ctrie = Ctrie.__new__(Ctrie)


class OneByOne:
    """The members of a set, and what is done with one of them. A subclass of MutableSet cannot be a C type, but this
    class is one. So its methods count no references to the members: all threads would write to that count."""

    __slots__ = ("_members",)
    _members: Ctrie

    if cython.compiled:

        def __cinit__(self, *_: object, **__: object) -> None:
            self._members = _UNMADE
    else:

        def __new__(cls, *_: object, **__: object) -> Self:
            self = object.__new__(cls)
            self._members = _UNMADE
            return self

    def add(self, value: Any) -> bool:
        """Add `value`; return whether it was new. O(log n), lock-free."""
        return cython.cast(Ctrie, members_of(self))._put_if_absent(value, None, NoValue) is NoValue

    def discard(self, value: Any) -> bool:
        """Remove `value` if it is there; return whether it was. O(log n), lock-free."""
        return cython.cast(Ctrie, members_of(self))._edit(REMOVE, value, None, None) is not None

    def __contains__(self, value: object) -> bool:
        members = members_of(self)
        hash = cython.cast(Ctrie, members)._hash_of(value)
        return is_there(cython.cast(Ctrie, members), value, hash, cython.cast(Ctrie, members)._equal)


def _hold(made: OneByOne, members: Ctrie) -> None:
    """Give a new set its members, for good: threads that use them count no reference."""
    if made._members is not _UNMADE:
        raise TypeError("a CtrieSet is initialised once; make another one")
    made._members = members


def _of_members(cls: type[CtrieSet], members: Ctrie) -> CtrieSet:
    """Unpickle. A module-level function, since an unpickler that admits only this package would refuse `getattr`."""
    return cls._of(members)


class CtrieSet(OneByOne, MutableSet[Any]):  # type: ignore[misc]  # its `add` and `discard` return something
    """A concurrent set that any number of threads use without locks, with snapshots in constant time.

    `CtrieSet(iterable=(), /, *, hash=None, equal=None)` is a `MutableSet`. `add`, `discard`, `remove` and `in` are
    linearizable and lock-free, O(log n) with base 64; an operation on the whole set sees one instant. The set operators
    make a new CtrieSet with the same `hash` and `equal`, of one instant of this set and, if that is one, of the other
    CtrieSet. O(n). Those in place make a separate atomic change for each member.

    >>> s = CtrieSet("abc")
    >>> before = s.readonly_snapshot()
    >>> s.add("d"), s.add("d")
    (True, False)
    >>> sorted(s), sorted(before), sorted(s - before)
    (['a', 'b', 'c', 'd'], ['a', 'b', 'c'], ['d'])
    """

    __slots__ = ("__weakref__",)
    __class_getitem__ = SUBSCRIPTED
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        iterable: Iterable[Any] = (),
        /,
        *,
        hash: Callable[[Any], int] | None = None,
        equal: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        members = Ctrie(hash=hash, equal=equal)
        _hold(self, members)
        members._add_keys(iterable)

    @classmethod
    def _of(cls, members: Ctrie) -> CtrieSet:
        made = cls.__new__(cls)
        _hold(made, members)
        return made

    def _with_members(self, members: Ctrie) -> CtrieSet:
        other = self._of(members)
        set_attributes(other, attributes_of(self, CtrieSet))
        return other

    def _from_iterable(self, iterable: Iterable[Any]) -> CtrieSet:  # type: ignore[override]
        """Build the results of the operators of collections.abc, with this set's hash and equality."""
        made = cython.cast(Ctrie, self._members)._with_root(empty_root())
        made._add_keys(iterable)
        return self._with_members(made)

    def _as_mine(self, other: Iterable[Any]) -> CtrieSet:
        """Return the members of `other`, of one instant, as a set that hashes and compares as this one."""
        alike = isinstance(other, CtrieSet) and compares_as(self._members, other._members)
        return other.readonly_snapshot() if alike else self._from_iterable(other)  # type: ignore[attr-defined]

    def remove(self, value: Any) -> None:
        """Remove `value`. If several threads remove it, one succeeds.

        A subclass with a `discard` of its own has it called after a search: then several may succeed.

        Raises:
            KeyError: It is not there.
        """
        if type(self).discard is not OneByOne.discard:
            super().remove(value)
        elif not self.discard(value):
            raise KeyError(value)

    def pop(self) -> Any:
        """Remove some member and return it. Lock-free.

        Raises:
            KeyError: There is none.
        """
        try:
            return self._members.popitem()[0]
        except KeyError:
            raise KeyError("pop(): the CtrieSet is empty") from None

    def clear(self) -> None:
        """Remove all members at one instant. O(1)."""
        self._members.clear()

    def contains_many(self, values: Iterable[Any]) -> list[bool]:
        """Return, for each of many values in their order, whether it is in the set; see `Ctrie.get_many`.

        >>> CtrieSet("ab").contains_many("bc")
        [True, False]
        """
        return [found is not _NEW for found in self._members.get_many(values, _NEW)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def approximate_len(self) -> int:
        """As `Ctrie.approximate_len`.

        >>> CtrieSet("ab").approximate_len()
        2
        """
        return self._members.approximate_len()

    def __bool__(self) -> bool:
        return bool(self._members)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Set):
            return NotImplemented
        mine, theirs = _at_rest(self, other)
        return len(mine) == len(theirs) and all(member in theirs for member in mine)

    def __le__(self, other: Any) -> bool:
        return MutableSet.__le__(*_at_rest(self, other))

    def __lt__(self, other: Any) -> bool:
        return MutableSet.__lt__(*_at_rest(self, other))

    def __ge__(self, other: Any) -> bool:
        return MutableSet.__ge__(*_at_rest(self, other))

    def __gt__(self, other: Any) -> bool:
        return MutableSet.__gt__(*_at_rest(self, other))

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """Return whether no member of `other` is in the set, as of one instant. O(len(other))."""
        return MutableSet.isdisjoint(*_at_rest(self, other))

    def __and__(self, other: Iterable[Any]) -> CtrieSet:
        if not isinstance(other, Iterable):
            return NotImplemented
        mine = self.readonly_snapshot()
        return self._from_iterable(member for member in other if member in mine)

    def __or__(self, other: Iterable[Any]) -> CtrieSet:
        if not isinstance(other, Iterable):
            return NotImplemented
        return self._from_iterable(chain(self, other))

    def __sub__(self, other: Iterable[Any]) -> CtrieSet:
        if not isinstance(other, Iterable):
            return NotImplemented
        theirs = self._as_mine(other)
        return self._from_iterable(member for member in self if member not in theirs)

    def __rsub__(self, other: Iterable[Any]) -> CtrieSet:
        if not isinstance(other, Iterable):
            return NotImplemented
        return self._as_mine(other) - self

    def __xor__(self, other: Iterable[Any]) -> CtrieSet:
        if not isinstance(other, Iterable):
            return NotImplemented
        theirs = self._as_mine(other)
        mine = self.readonly_snapshot()
        return (mine - theirs) | (theirs - mine)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __ior__(self, other: Iterable[Any]) -> Self:
        self._members.update((member, None) for member in other)
        return self

    def __iand__(self, other: Iterable[Any]) -> Self:
        self._refuse_if_read_only()
        return super().__iand__(other)  # type: ignore[arg-type]

    def __isub__(self, other: Iterable[Any]) -> Self:
        self._refuse_if_read_only()
        return super().__isub__(other)  # type: ignore[arg-type]

    def __ixor__(self, other: Iterable[Any]) -> Self:
        self._refuse_if_read_only()
        kind = type(self)
        if other is self or kind.add is not OneByOne.add or kind.discard is not OneByOne.discard:
            return super().__ixor__(other if other is self else self._as_mine(other))
        for member in self._as_mine(other):
            # Progress: a round that changes nothing found that others had added the member, and then removed it.
            while not self.add(member) and not self.discard(member):
                pass
        return self

    def union(self, *others: Iterable[Any]) -> CtrieSet:
        """Return a set with the members of this one and of all others."""
        return self._from_iterable(chain(self, *others))

    def intersection(self, *others: Iterable[Any]) -> CtrieSet:
        """Return a set with the members that all others have, too."""
        made = self.snapshot()
        made.intersection_update(*others)
        return made

    def difference(self, *others: Iterable[Any]) -> CtrieSet:
        """Return a set with the members that no other has."""
        made = self.snapshot()
        made.difference_update(*others)
        return made

    def symmetric_difference(self, other: Iterable[Any]) -> CtrieSet:
        """Return a set with the members that only one of the two has."""
        return self ^ other

    def update(self, *others: Iterable[Any]) -> None:
        """Add the members of all others, each by a separate atomic change."""
        for other in others:
            self |= other

    def intersection_update(self, *others: Iterable[Any]) -> None:
        """Remove the members that one of the others does not have, each by a separate atomic change."""
        for other in others:
            self &= self._from_iterable(other)

    def difference_update(self, *others: Iterable[Any]) -> None:
        """Remove the members of all others, each by a separate atomic change."""
        for other in others:
            self -= self._from_iterable(other)

    def symmetric_difference_update(self, other: Iterable[Any]) -> None:
        """Remove the members that the other has, too, and add its other ones, each by a separate atomic change."""
        self ^= self._from_iterable(other)

    def issubset(self, other: Iterable[Any]) -> bool:
        """Return whether `other` has all members, as of one instant."""
        return self <= self._from_iterable(other)

    def issuperset(self, other: Iterable[Any]) -> bool:
        """Return whether all members of `other` are in the set, as of one instant."""
        return self >= self._from_iterable(other)

    def copy(self) -> CtrieSet:
        """Return a copy: `copy.copy`."""
        return self.__copy__()

    def _refuse_if_read_only(self) -> None:
        """Raise the TypeError now. The mixins would raise it only at the first member that they have to change."""
        self._members.update()

    def __repr__(self) -> str:
        return set_repr(self)

    def snapshot(self) -> CtrieSet:
        """Return a CtrieSet with the present members that can be changed independently of this one. O(1)."""
        return self._with_members(self._members.snapshot())

    def readonly_snapshot(self) -> CtrieSet:
        """Return a CtrieSet with the present members that never changes: its mutators raise TypeError. O(1)."""
        return self._with_members(self._members.readonly_snapshot())

    def diff(self, older: CtrieSet) -> Iterator[tuple[Any, bool]]:
        """Yield (member, added) for every member that only one of `older` and this set has; see `Ctrie.diff`."""
        if not isinstance(older, CtrieSet):
            raise TypeError(f"diff() takes a CtrieSet, not {type(older).__name__}")
        return ((member, old is _NEW) for member, old, _ in self._members.diff(older._members, _NEW))

    def split(self, n: int) -> list[Iterator[Any]]:
        """Return up to `n` iterators that together yield one instant's members, each once."""
        return [(member for member, _ in part) for part in self._members.split(n)]

    def __copy__(self) -> CtrieSet:
        return self._with_members(self._members.__copy__())

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_members, (type(self), self._members), attributes_of(self, CtrieSet)

    def check(self) -> None:
        """Raise AssertionError if an invariant of the structure is broken. O(n); at rest only."""
        self._members.check()
