"""`CtrieSet` where a set of Python's says nothing of it: other operands that change it, subclasses, and what is refused."""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Iterable, Iterator
from typing import Any, get_args

import pytest

from ctrie import CtrieSet
from tests.ctrie.oracle import ALGEBRA, COMPARISONS, READ_ONLY

OPERATORS = (*ALGEBRA.values(), *COMPARISONS, lambda one, other: one.isdisjoint(other))

# A call that is refused, with the error and what it says. Where a set takes part, it is `s`, and holds {1} afterwards.
REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda s: s.remove("absent"), KeyError, "absent"),
    (lambda s: CtrieSet().pop(), KeyError, "the CtrieSet is empty"),
    (lambda s: hash(s), TypeError, "unhashable"),
    (lambda s: s.add([]), TypeError, "unhashable"),
    (lambda s: s.discard([]), TypeError, "unhashable"),
    (lambda s: [] in s, TypeError, "unhashable"),
    (lambda s: s.diff({1}), TypeError, r"diff\(\) takes a CtrieSet, not set"),
    # Threads use the members of a set without a reference of their own, so these are never replaced.
    (lambda s: s.__init__("c"), TypeError, "initialised once"),
    (lambda s: CtrieSet.__new__(CtrieSet).add(1), TypeError, "is not initialised"),
    (lambda s: CtrieSet.__new__(CtrieSet).discard(1), TypeError, "is not initialised"),
    (lambda s: s.readonly_snapshot().remove(9), TypeError, READ_ONLY),
    (lambda s: s.readonly_snapshot().__ior__(set()), TypeError, READ_ONLY),
    (lambda s: s.readonly_snapshot().__iand__({1}), TypeError, READ_ONLY),
    (lambda s: s.readonly_snapshot().__isub__(set()), TypeError, READ_ONLY),
    (lambda s: s.readonly_snapshot().__ixor__(set()), TypeError, READ_ONLY),
]


@pytest.mark.parametrize(("call", "error", "says"), REFUSED)
def test_what_is_refused_is_told_and_changes_nothing(call: Any, error: type[Exception], says: str) -> None:
    s: Any = CtrieSet([1])
    with pytest.raises(error, match=says):
        call(s)
    assert s == {1}
    s.check()


def test_it_is_a_mutable_set() -> None:
    assert isinstance(CtrieSet(), collections.abc.MutableSet)
    assert get_args(CtrieSet[int]) == (int,)
    assert (repr(CtrieSet()), repr(CtrieSet("a"))) == ("CtrieSet()", "CtrieSet({'a'})")
    assert (CtrieSet("a") != ["a"], CtrieSet() != 0) == (True, True)
    unmade = CtrieSet.__new__(CtrieSet)
    assert ("a" in unmade, len(unmade)) == (False, 0)
    CtrieSet.__init__(unmade, "a")
    assert unmade == {"a"}


def test_methods_take_any_number_of_iterables() -> None:
    for name in ("union", "intersection", "difference", "update", "intersection_update", "difference_update"):
        for others in ((), ("",), ("bc",), ("abc", "cd"), ("abcd", "bcd", "x")):
            ours, theirs = CtrieSet("abc"), set("abc")
            assert getattr(ours, name)(*others) == getattr(theirs, name)(*others)
            assert ours == theirs
            ours.check()


# --------------------------------------------------------------------------------------------------------- one instant


class Meddling(collections.abc.Set[str]):
    """{"a", "b"}, which changes another set the first time that it is looked at after some looks."""

    def __init__(self, looks: int, change: Callable[[], object]) -> None:
        self.looks, self.change = looks, change

    def look(self) -> None:
        self.looks -= 1
        if self.looks == -1:
            self.change()

    def __iter__(self) -> Iterator[str]:
        for member in "ab":
            self.look()
            yield member

    def __contains__(self, member: object) -> bool:
        self.look()
        return member in ("a", "b")

    def __len__(self) -> int:
        return 2

    @classmethod
    def _from_iterable(cls, iterable: Iterable[Any]) -> Any:
        return set(iterable)


@pytest.mark.parametrize("operate", OPERATORS)
def test_operators_look_at_one_instant(operate: Callable[[Any, Any], Any]) -> None:
    """The other operand changes the set while it is read, as another thread might."""
    for there in ("a", "ax", "b", "bx", "ab"):
        for looks in range(3):
            members, before, other = CtrieSet(there), set(there), {"a", "b"}
            meddling = Meddling(looks, lambda members=members: members.__ixor__({"a", "b"}))
            assert operate(members, meddling) in (operate(before, other), operate(before ^ other, other))
            members.check()
            if operate in ALGEBRA.values():  # with a left operand that knows no operators
                members = CtrieSet(there)
                answer = operate(iter(Meddling(looks, lambda members=members: members.__ixor__({"a", "b"}))), members)
                assert answer in (operate(other, before), operate(other, before ^ other))
                members.check()


class Hooked(int):
    """A member that calls `hook` when it is hashed for the given time: between two steps of whoever asks for it."""

    hook: Callable[[], object]
    steps = 0

    def __hash__(self) -> int:
        self.steps -= 1
        if self.steps == 0:
            self.hook()
        return int.__hash__(self)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("steps", range(1, 6))
def test_a_toggle_amid_a_toggle_is_not_lost(steps: int, there: bool) -> None:
    """`^=` is one atomic change of each member, whatever others do in between."""
    members, member = CtrieSet([1] if there else []), Hooked(1)
    others = CtrieSet([member])
    member.hook, member.steps = lambda: members.symmetric_difference_update([1]), steps
    members ^= others
    toggled_twice, member.steps = member.steps <= 0, 0
    assert (1 in members) == (there if toggled_twice else not there)
    members.check()


# ------------------------------------------------------------------------------------------------- whose member, whose way


class Word:
    """A key that is equal to another object."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


def test_which_of_two_equal_objects_is_kept() -> None:
    mine, theirs = [Word(text) for text in "abc"], [Word(text) for text in "bcd"]
    one, other = CtrieSet(mine), CtrieSet(theirs)
    for made, kept in (
        (one | other, [*mine, theirs[2]]),
        (one | theirs, [*mine, theirs[2]]),
        (one & other, theirs[:2]),
        (one.intersection(other), mine[1:]),
        (one - other, mine[:1]),
        (one ^ other, [mine[0], theirs[2]]),
    ):
        assert set(map(id, made)) == set(map(id, kept))
        made.check()


def test_of_sets_that_hash_or_compare_otherwise_the_left_ones_way_counts() -> None:
    long: Any = CtrieSet(["a", "bb", "cc"], hash=len, equal=lambda x, y: len(x) == len(y))
    plain: Any = CtrieSet(["xx", "yyy"])
    assert sorted(map(len, long)) == [1, 2]
    assert (set(long & plain), set(long - plain), set(plain - long)) == ({"xx"}, {"a"}, {"xx", "yyy"})
    assert sorted(map(len, long.copy().__ixor__({"x", "y", "zzz"}))) == [2, 3]
    for made in (long & plain, long | plain, long - plain, long ^ plain, plain | long):
        made.check()


def test_a_comparison_that_raises_changes_nothing() -> None:
    def refuse(one: object, other: object) -> bool:
        raise RuntimeError("these are not compared")

    texts = list(map(str, range(300)))
    one, other = (CtrieSet(map(Word, part), hash=hash, equal=refuse) for part in (texts[:200], texts[100:]))
    for operate in ALGEBRA.values():
        with pytest.raises(RuntimeError, match="not compared"):
            operate(one, other)
    assert len(one) == len(other) == 200


class Shown(CtrieSet):
    """One that shows something else than it holds."""

    def __iter__(self) -> Iterator[Any]:
        return iter([1, 2])

    def __contains__(self, member: object) -> bool:
        return member in (1, 2)

    def __len__(self) -> int:
        return 2


def test_a_subclass_that_shows_something_else() -> None:
    assert set(CtrieSet([2, 3]) & Shown([9])) == {2}
    assert set(CtrieSet([2, 3]) - Shown([9])) == {3}
    assert CtrieSet([1, 2]) == Shown([9])
    assert CtrieSet([1]) < Shown([9])


def test_a_subclass_with_an_add_and_a_discard_of_its_own_has_them_called() -> None:
    noted: list[tuple[str, Any]] = []

    class Noting(CtrieSet):
        def add(self, value: Any) -> None:  # type: ignore[override]
            noted.append(("add", value))
            super().add(value)

        def discard(self, value: Any) -> None:  # type: ignore[override]
            """Return nothing, as that of collections.abc does."""
            noted.append(("discard", value))
            super().discard(value)

    members = Noting("a", hash=lambda text: hash(text.lower()), equal=lambda a, b: a.lower() == b.lower())
    noted.clear()
    members ^= dict.fromkeys("abB").keys()
    members &= {"b", "c"}
    assert sorted(noted) == [("add", "b"), ("discard", "a")]
    members.remove("b")
    with pytest.raises(KeyError):
        members.remove("b")
    assert members == set()
    members.check()
