"""Operators and comparisons of two sets, compared with those of `set`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from ctrie import CtrieSet
from tests.threads import run_together

OPERATORS = (operator.and_, operator.or_, operator.sub, operator.xor)
COMPARISONS = (
    operator.le,
    operator.lt,
    operator.ge,
    operator.gt,
    operator.eq,
    operator.ne,
    lambda one, other: one.isdisjoint(other),
)


class Word:
    """A key that is equal to another object."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


def drawn(random: Random, hash: Callable[[Any], int] | None) -> tuple[CtrieSet, set[int]]:
    """Return a set of some numbers, and what it holds."""
    model = set(random.sample(range(400), random.choice((0, 1, 2, 40, 300))))
    return CtrieSet(model, hash=hash), model


def changed(random: Random, members: CtrieSet, model: set[int]) -> tuple[CtrieSet, set[int]]:
    """Return a fork with some changes."""
    fork, changed = members.snapshot(), set(model)
    for number in random.sample(range(400), random.choice((0, 1, 3, 200))):
        if random.random() < 0.6:
            fork.discard(number)
            changed.discard(number)
        else:
            fork.add(number)
            changed.add(number)
    return fork, changed


def compare(one: CtrieSet, one_model: set[Any], other: CtrieSet, other_model: set[Any]) -> None:
    for operate in OPERATORS:
        made, expected = operate(one, other), operate(one_model, other_model)
        assert len(made) == made.approximate_len() == len(expected)
        assert set(made) == expected
        made.check()
        made.add(-1)  # it changes alone
        for number in expected:
            assert made.discard(number)
        assert set(made) == {-1}
        made.check()
    for compare in COMPARISONS:
        assert compare(one, other) is compare(one_model, other_model)
    for members, model in ((one, one_model), (other, other_model)):
        assert set(members) == model
        members.check()


@pytest.mark.parametrize("hash", [None, lambda number: number % 7, lambda number: 1], ids=["own", "seven", "one"])
@pytest.mark.parametrize("seed", range(12))
def test_two_of_them(seed: int, hash: Callable[[Any], int] | None) -> None:
    random = Random(seed)
    one, one_model = drawn(random, hash)
    other, other_model = drawn(random, hash)
    compare(one, one_model, other, other_model)
    compare(one, one_model, one, one_model)


@pytest.mark.parametrize("hash", [None, lambda number: number % 7, lambda number: 1], ids=["own", "seven", "one"])
@pytest.mark.parametrize("seed", range(12))
def test_a_set_and_a_fork_of_it(seed: int, hash: Callable[[Any], int] | None) -> None:
    random = Random(seed)
    one, one_model = drawn(random, hash)
    fork, fork_model = changed(random, one, one_model)
    compare(one, one_model, fork, fork_model)
    compare(fork, fork_model, one.readonly_snapshot(), one_model)
    compare(*changed(random, one, one_model), fork, fork_model)


def test_which_of_two_equal_objects_is_kept() -> None:
    mine, theirs = [Word(text) for text in "abc"], [Word(text) for text in "bcd"]
    one, other = CtrieSet(mine), CtrieSet(theirs)
    assert set(map(id, one | other)) == set(map(id, [*mine, theirs[2]]))
    assert set(map(id, one & other)) == set(map(id, theirs[:2]))
    assert set(map(id, one.intersection(other))) == set(map(id, mine[1:]))
    assert set(map(id, one - other)) == {id(mine[0])}
    assert set(map(id, one ^ other)) == {id(mine[0]), id(theirs[2])}
    assert set(map(id, one | theirs)) == set(map(id, [*mine, theirs[2]]))


def test_of_other_orders() -> None:
    """Where sets hash or compare in ways of their own, the left one's way counts."""
    long = CtrieSet(["a", "bb", "cc"], hash=len, equal=lambda x, y: len(x) == len(y))
    plain = CtrieSet(["xx", "yyy"])
    assert sorted(map(len, long)) == [1, 2]
    assert set(long & plain) == {"xx"}
    assert set(long - plain) == {"a"}
    assert set(plain - long) == {"xx", "yyy"}
    for made in (long & plain, long | plain, long - plain, long ^ plain, plain | long):
        made.check()


def test_a_subclass_that_shows_something_else() -> None:
    class Shown(CtrieSet):
        def __iter__(self) -> Iterator[Any]:
            return iter([1, 2])

        def __contains__(self, member: object) -> bool:
            return member in (1, 2)

        def __len__(self) -> int:
            return 2

    assert set(CtrieSet([2, 3]) & Shown([9])) == {2}
    assert set(CtrieSet([2, 3]) - Shown([9])) == {3}
    assert CtrieSet([1, 2]) == Shown([9])
    assert CtrieSet([1]) < Shown([9])


def test_a_comparison_that_raises_changes_nothing() -> None:
    def refuse(one: object, other: object) -> bool:
        raise RuntimeError("these are not compared")

    texts = list(map(str, range(300)))
    one, other = (CtrieSet(map(Word, part), hash=hash, equal=refuse) for part in (texts[:200], texts[100:]))
    for operate in OPERATORS:
        with pytest.raises(RuntimeError, match="not compared"):
            operate(one, other)
    assert len(one) == len(other) == 200


def test_while_other_threads_change_both() -> None:
    """Each thread adds a number to one set and takes it from the other, so no instant of one set has gaps."""
    one, other = CtrieSet(range(1_000)), CtrieSet(range(1_000))

    def grow() -> None:
        for number in range(1_000, 1_400):
            one.add(number)

    def shrink() -> None:
        for number in range(400):
            other.discard(number)

    def operate() -> None:
        for _ in range(40):
            only = sorted(one - other)
            low = [number for number in only if number < 1_000]
            high = [number for number in only if number >= 1_000]
            assert low == list(range(len(low)))
            assert high == list(range(1_000, 1_000 + len(high)))
            both = sorted(one & other)
            assert both == list(range(both[0], 1_000))
            assert len(one | other) >= 1_000

    run_together([grow, shrink, operate, operate])
    for members in (one, other):
        members.check()
