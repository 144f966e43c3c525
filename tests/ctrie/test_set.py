"""`CtrieSet`: a MutableSet with the snapshots of a Ctrie."""

from __future__ import annotations

import collections.abc
import copy
import io
import itertools
import operator
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctrie import CtrieSet
from tests.threads import meanwhile, run_together

OPERATORS: list[Callable[[Any, Any], Any]] = [
    operator.and_,
    operator.or_,
    operator.sub,
    operator.xor,
    operator.le,
    operator.lt,
    operator.ge,
    operator.gt,
    operator.eq,
    lambda one, other: one.isdisjoint(other),
]

members = st.sets(st.integers(0, 12) | st.none())


def same_letters(one: str, other: str) -> bool:
    return one.lower() == other.lower()


class TestOfOneThread:
    def test_add_and_discard_tell_whether_they_did_something(self) -> None:
        members = CtrieSet("ab")
        assert members.add("c") is True
        assert members.add("c") is False
        assert members.discard("a") is True
        assert members.discard("a") is False
        assert members == {"b", "c"}
        members.check()

    def test_remove_of_an_absent_member(self) -> None:
        members = CtrieSet("a")
        members.remove("a")
        with pytest.raises(KeyError):
            members.remove("a")

    def test_pop_takes_each_once(self) -> None:
        members = CtrieSet(range(100))
        assert sorted(members.pop() for _ in range(100)) == list(range(100))
        with pytest.raises(KeyError, match="the CtrieSet is empty"):
            members.pop()
        members.check()

    def test_none_is_a_member_like_others(self) -> None:
        members = CtrieSet([None])
        assert None in members
        assert list(members) == [None]
        assert members.add(None) is False
        assert members.discard(None) is True
        assert not members

    def test_size_and_truth(self) -> None:
        members = CtrieSet()
        assert (len(members), bool(members)) == (0, False)
        members.add(1)
        assert (len(members), bool(members)) == (1, True)
        members.clear()
        assert (len(members), bool(members)) == (0, False)
        members.check()

    def test_repr(self) -> None:
        assert repr(CtrieSet()) == "CtrieSet()"
        assert repr(CtrieSet("a")) == "CtrieSet({'a'})"

    def test_it_is_a_mutable_set_and_unhashable(self) -> None:
        assert isinstance(CtrieSet(), collections.abc.MutableSet)
        with pytest.raises(TypeError):
            hash(CtrieSet())
        assert get_args(CtrieSet[int]) == (int,)

    def test_an_unhashable_member_is_refused(self) -> None:
        members: Any = CtrieSet([1])
        for refuse in (members.add, members.discard, members.__contains__):
            with pytest.raises(TypeError):
                refuse([])
        assert members == {1}


class TestAlgebra:
    """The operators are those of set, whatever the other operand is."""

    OPERATORS = (operator.or_, operator.and_, operator.sub, operator.xor)
    COMPARISONS = (operator.eq, operator.ne, operator.le, operator.lt, operator.ge, operator.gt)

    @given(one=members, other=members)
    def test_operators(self, one: set[Any], other: set[Any]) -> None:
        for apply in self.OPERATORS:
            for made in (
                apply(CtrieSet(one), other),
                apply(CtrieSet(one), CtrieSet(other)),
                apply(one, CtrieSet(other)),
            ):
                assert isinstance(made, CtrieSet)
                assert made == apply(one, other)
                made.check()

    @given(one=members, other=members)
    def test_comparisons(self, one: set[Any], other: set[Any]) -> None:
        for compare in self.COMPARISONS:
            assert compare(CtrieSet(one), other) is compare(one, other)
            assert compare(CtrieSet(one), CtrieSet(other)) is compare(one, other)
        assert CtrieSet(one).isdisjoint(other) is one.isdisjoint(other)

    @pytest.mark.parametrize("in_place", [operator.ior, operator.iand, operator.isub, operator.ixor])
    def test_in_place(self, in_place: Callable[[Any, Any], Any]) -> None:
        for other in ({2, 3}, set(), CtrieSet({1, 2})):
            members, model = CtrieSet({1, 2}), {1, 2}
            changed = in_place(members, other)
            assert changed is members
            assert members == in_place(model, set(other))
            members.check()

    @pytest.mark.parametrize("in_place", [operator.ior, operator.iand, operator.isub, operator.ixor])
    def test_in_place_with_itself(self, in_place: Callable[[Any, Any], Any]) -> None:
        members, model = CtrieSet({1, 2}), {1, 2}
        assert in_place(members, members) == in_place(model, model)
        members.check()

    def test_with_something_else(self) -> None:
        assert CtrieSet("a") != ["a"]
        assert CtrieSet() != 0

    def test_they_keep_hash_and_equality(self) -> None:
        words: Any = CtrieSet(["Apple", "pear"], hash=lambda word: ord(word[0].lower()), equal=same_letters)
        assert "APPLE" in words
        assert "APPLE" in words | {"fig"}
        assert "PEAR" in words & {"Pear"}
        assert words - {"APPLE"} == {"pear"}
        words -= {"APPLE"}
        assert words == {"pear"}


class TestInstants:
    def test_snapshots_are_apart(self) -> None:
        members: Any = CtrieSet("ab")
        frozen, fork = members.readonly_snapshot(), members.snapshot()
        members.add("c")
        fork.discard("a")
        assert (frozen, fork, members) == ({"a", "b"}, {"b"}, {"a", "b", "c"})
        assert frozen.snapshot().add("z")
        for each in (members, frozen, fork):
            each.check()

    def test_an_iterator_is_of_the_instant_at_which_it_was_made(self) -> None:
        members = CtrieSet("ab")
        iterator = iter(members)
        members.clear()
        assert sorted(iterator) == ["a", "b"]

    @pytest.mark.parametrize("operate", OPERATORS)
    @pytest.mark.parametrize("meddled_at", [0, 1, 2])
    @pytest.mark.parametrize("there", ["a", "ax", "b", "bx", "ab"])
    def test_operators_look_at_one_instant(
        self, there: str, meddled_at: int, operate: Callable[[Any, Any], Any]
    ) -> None:
        """The other operand changes the set while it is read, as another thread might."""
        members = CtrieSet(there)
        looks = 0

        class Meddling(collections.abc.Set[str]):
            def __iter__(self) -> Iterator[str]:
                for member in "ab":
                    self.look()
                    yield member

            def __contains__(self, member: object) -> bool:
                self.look()
                return member in ("a", "b")

            def __len__(self) -> int:
                return 2

            def look(self) -> None:
                nonlocal looks
                if looks == meddled_at:
                    members.__ixor__({"a", "b"})
                looks += 1

            @classmethod
            def _from_iterable(cls, iterable: Iterable[Any]) -> Any:
                return set(iterable)

        before, other = set(there), {"a", "b"}
        answer = operate(members, Meddling())
        assert answer in (operate(before, other), operate(before ^ other, other))
        members.check()

    @pytest.mark.parametrize("operate", OPERATORS[:4])
    @pytest.mark.parametrize("there", ["a", "b", "ab"])
    def test_operators_whose_left_operand_knows_none(self, there: str, operate: Callable[[Any, Any], Any]) -> None:
        members = CtrieSet(there)

        def meddling() -> Iterator[str]:
            yield "a"
            members.__ixor__({"a", "b"})
            yield "b"

        before, other = set(there), {"a", "b"}
        assert operate(meddling(), members) in (operate(other, before), operate(other, before ^ other))
        members.check()

    @pytest.mark.parametrize("operate", OPERATORS)
    def test_operators_between_two_of_them(self, operate: Callable[[Any, Any], Any]) -> None:
        for mine, theirs in itertools.product(["", "a", "ab", "bc", "abc"], repeat=2):
            assert operate(CtrieSet(mine), CtrieSet(theirs)) == operate(set(mine), set(theirs))

    def test_diff(self) -> None:
        members = CtrieSet("abc")
        before = members.readonly_snapshot()
        members.add("d")
        members.discard("a")
        members.discard("b")
        members.add("b")
        assert sorted(members.diff(before)) == [("a", False), ("d", True)]

    def test_diff_is_of_the_instant_of_the_call(self) -> None:
        members = CtrieSet("ab")
        changes = members.diff(members.readonly_snapshot())
        members.add("c")
        assert list(changes) == []
        with pytest.raises(TypeError, match="diff\\(\\) takes a CtrieSet, not set"):
            members.diff({"a"})  # type: ignore[arg-type]
        members.check()

    @pytest.mark.parametrize("parts", [1, 2, 5, 100])
    def test_split(self, parts: int) -> None:
        members = CtrieSet(range(50))
        assert sorted(member for part in members.split(parts) for member in part) == list(range(50))

    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda members: pickle.loads(pickle.dumps(members))])
    def test_copies_and_pickles(self, again: Callable[[Any], Any]) -> None:
        words = CtrieSet(["Apple", "pear"], hash=len, equal=same_letters)
        made = again(words)
        made.add("fig")
        assert sorted(made) == ["Apple", "fig", "pear"]
        assert sorted(words) == ["Apple", "pear"]
        assert "APPLE" in made
        made.check()
        frozen = again(words.readonly_snapshot())
        assert frozen == words
        with pytest.raises(TypeError):
            frozen.add("fig")


class TestReadOnly:
    """Every mutator raises, even if there is nothing to do."""

    MUTATORS: dict[str, Callable[[Any], Any]] = {
        "add": lambda s: s.add(3),
        "add of a member": lambda s: s.add(1),
        "discard": lambda s: s.discard(1),
        "discard of no member": lambda s: s.discard(9),
        "remove": lambda s: s.remove(1),
        "remove of no member": lambda s: s.remove(9),
        "pop": lambda s: s.pop(),
        "clear": lambda s: s.clear(),
        "ior": lambda s: s.__ior__({3}),
        "ior with nothing": lambda s: s.__ior__(set()),
        "iand": lambda s: s.__iand__({3}),
        "iand with all": lambda s: s.__iand__({1, 2}),
        "isub": lambda s: s.__isub__({1}),
        "isub with nothing": lambda s: s.__isub__(set()),
        "ixor": lambda s: s.__ixor__({1}),
        "ixor with nothing": lambda s: s.__ixor__(set()),
    }

    @pytest.mark.parametrize("mutate", MUTATORS)
    @pytest.mark.parametrize("content", [{1, 2}, set()], ids=["full", "empty"])
    def test_every_mutator_raises(self, mutate: str, content: set[int]) -> None:
        members = CtrieSet(content)
        frozen = members.readonly_snapshot()
        with pytest.raises(TypeError, match="read-only snapshot"):
            self.MUTATORS[mutate](frozen)
        assert frozen == members == content
        members.check()


class TestThreads:
    def test_of_all_who_add_a_member_one_is_told_that_it_was_new(self) -> None:
        members = CtrieSet()
        new = run_together([lambda: [members.add(number) for number in range(200)]] * 4)
        assert [sum(answers) for answers in zip(*new, strict=True)] == [1] * 200
        gone = run_together([lambda: [members.discard(number) for number in range(200)]] * 4)
        assert [sum(answers) for answers in zip(*gone, strict=True)] == [1] * 200
        assert not members
        members.check()

    def test_of_all_who_pop_each_gets_others(self) -> None:
        members = CtrieSet(range(400))
        with meanwhile(lambda: list(members)):
            popped = run_together([lambda: [members.pop() for _ in range(100)]] * 4)
        assert sorted(member for mine in popped for member in mine) == list(range(400))
        members.check()


class Hooked(int):
    """A member that calls `hook` when it is hashed for the given time: between two steps of whoever asks for it."""

    hook: Callable[[], object]
    steps: int

    def __hash__(self) -> int:
        self.steps -= 1
        if self.steps == 0:
            self.hook()
        return int.__hash__(self)


class TestToggles:
    """`^=` is one atomic change of each member, whatever others do in between."""

    @pytest.mark.parametrize("there", [False, True])
    @pytest.mark.parametrize("steps", range(1, 6))
    def test_a_toggle_amid_a_toggle_is_not_lost(self, steps: int, there: bool) -> None:
        members = CtrieSet([1] if there else [])
        member = Hooked(1)
        member.steps = 0
        others = CtrieSet([member])
        member.hook, member.steps = lambda: members.symmetric_difference_update([1]), steps
        members ^= others
        toggled_twice = member.steps <= 0
        member.steps = 0
        assert (1 in members) == (there if toggled_twice else not there)
        members.check()

    def test_of_a_set_and_itself_nothing_is_left(self) -> None:
        members = CtrieSet("ab")
        members ^= members
        assert not members
        members.check()

    def test_a_subclass_with_an_add_and_a_discard_of_its_own_has_them_called(self) -> None:
        class Noting(CtrieSet):
            def add(self, value: Any) -> None:  # type: ignore[override]
                noted.append(("add", value))
                super().add(value)

            def discard(self, value: Any) -> None:  # type: ignore[override]
                noted.append(("discard", value))
                super().discard(value)

        noted: list[tuple[str, Any]] = []
        members = Noting("a")
        noted.clear()
        members ^= {"a", "b"}
        assert sorted(noted) == [("add", "b"), ("discard", "a")]
        assert members == {"b"}
        members.check()

    def test_many_threads_toggle_one_member(self) -> None:
        members = CtrieSet()
        for _ in range(20):
            run_together([lambda: [members.symmetric_difference_update([1]) for _ in range(50)]] * 4)
            assert not members
        members.check()


def test_its_pickle_asks_for_names_of_this_package_alone() -> None:
    """An unpickler that admits only the names of this package must be enough. If it also had to admit
    `builtins.getattr`, for example, it would admit anything."""
    admitted = []

    class Only(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            assert module.partition(".")[0] == "ctrie", (module, name)
            admitted.append(name)
            return super().find_class(module, name)

    assert Only(io.BytesIO(pickle.dumps(CtrieSet([1, 2])))).load() == {1, 2}
    assert "CtrieSet" in admitted


def test_it_is_initialised_once() -> None:
    """Threads use the members of a set without a reference of their own, so these are never replaced."""
    members = CtrieSet("ab")
    with pytest.raises(TypeError, match="initialised once"):
        members.__init__("c")  # type: ignore[misc]
    assert members == {"a", "b"}
    members.check()


def test_one_that_is_not_initialised_is_empty_and_read_only() -> None:
    unmade = CtrieSet.__new__(CtrieSet)
    assert "a" not in unmade
    assert len(unmade) == 0
    for change in (unmade.add, unmade.discard):
        with pytest.raises(TypeError, match="is not initialised"):
            change("a")
    CtrieSet.__init__(unmade, "a")
    assert unmade == {"a"}
    unmade.check()


class TestMethodsOfSet:
    """What `set` has as methods, with any iterables."""

    NAMES = ("union", "intersection", "difference", "update", "intersection_update", "difference_update")
    OF_ONE = ("symmetric_difference", "symmetric_difference_update", "issubset", "issuperset", "isdisjoint")

    @pytest.mark.parametrize("others", [(), ("",), ("bc",), ("abc", "cd"), ("abcd", "bcd", "x")], ids=str)
    @pytest.mark.parametrize("kind", [list, iter, set, CtrieSet, dict.fromkeys], ids=lambda kind: kind.__name__)
    def test_the_same(self, kind: Callable[[str], Any], others: tuple[str, ...]) -> None:
        for name in self.NAMES + (self.OF_ONE if len(others) == 1 else ()):
            ours, theirs = CtrieSet("abc"), set("abc")
            answer = getattr(ours, name)(*map(kind, others))
            expected = getattr(theirs, name)(*others)
            assert answer == expected, name
            assert ours == theirs, name
            assert type(answer) is (CtrieSet if isinstance(expected, set) else type(expected))
        assert CtrieSet("ab").copy() == {"a", "b"}

    def test_with_hash_and_equality_of_its_own(self) -> None:
        ours = CtrieSet(["A", "b"], hash=lambda word: hash(word.lower()), equal=lambda x, y: x.lower() == y.lower())
        assert set(ours.intersection(["a", "B"])) == {"A", "b"}
        assert set(ours.difference(["a"])) == {"b"}
        assert set(ours.symmetric_difference(["B", "c"])) == {"A", "c"}
        assert ours.issubset(iter(["a", "B", "c"]))
        assert ours.issuperset(["B"])

    def test_of_a_read_only_one(self) -> None:
        frozen = CtrieSet("ab").readonly_snapshot()
        assert frozen.union("c") == {"a", "b", "c"}
        assert frozen.difference("a") == {"b"}
        for name in ("update", "intersection_update", "difference_update", "symmetric_difference_update"):
            with pytest.raises(TypeError):
                getattr(frozen, name)("ac")
