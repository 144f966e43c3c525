"""The reverse index of a SubscriptionTrie: the sets of filters that it keeps, and subscribers that raise.

`test_linearizability.py` has it under every schedule of two and three changes, `test_machine.py` in any sequence of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from subtrie import SubscriptionTrie
from subtrie._trie.reverse_index import check_filed, find_filed, keys_in, settled, with_filed, without_filed

# ---------------------------------------------------------------------------------------------------- sets of filters

KEYS: list[Any] = [f"a.{n}" for n in range(600)] + [(f"a.{n}", "queue") for n in range(20)] + [("a.1", "other")]


@pytest.mark.parametrize("seed", range(20))
def test_a_set_has_what_was_put_into_it(seed: int) -> None:
    """Every version of it."""
    rng = random.Random(seed)
    filed: Any = None
    there: set[Any] = set()
    versions: list[tuple[Any, frozenset[Any]]] = []
    for _ in range(400):
        key = rng.choice(KEYS[: rng.choice([2, 20, len(KEYS)])])
        if rng.random() < rng.choice([0.3, 0.7]):
            filed = with_filed(filed, settled(key))
            there.add(key)
        elif key in there:
            filed = without_filed(filed, key)
            there.discard(key)
        else:
            with pytest.raises(KeyError):
                without_filed(filed, key)
        versions.append((filed, frozenset(there)))
        assert (find_filed(filed, key) is not None) is (key in there)
    for version, members in versions:
        if members:
            check_filed(version)
        assert len(members) != 1 or isinstance(version, str) is any(isinstance(one, str) for one in members)
        assert sorted(map(str, keys_in(version))) == sorted(map(str, members))


# ------------------------------------------------------------------------------------------------ subscribers that raise


class Sore:
    """A subscriber with the same hash as others, which may be compared so many times."""

    comparisons_left = 1_000

    def __init__(self, name: object = None) -> None:
        self.name = object() if name is None else name

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        if not Sore.comparisons_left:
            raise ZeroDivisionError
        Sore.comparisons_left -= 1
        return isinstance(other, Sore) and self.name == other.name


@pytest.fixture
def allow() -> Iterator[Callable[[int], None]]:
    yield lambda number: setattr(Sore, "comparisons_left", number)
    Sore.comparisons_left = 1_000


@pytest.mark.parametrize("filter", ["a", "b"])
@pytest.mark.parametrize("change", [SubscriptionTrie.subscribe, SubscriptionTrie.unsubscribe])
@pytest.mark.parametrize("was_on", [True, False])
def test_where_a_comparison_raises_the_index_too_is_as_it_was(
    change: Callable[[Any, str, Any], bool], filter: str, was_on: bool, allow: Callable[[int], None]
) -> None:
    """Wherever that is: before the index has the filter, after that, and when the trie refuses the change."""
    raised = 0
    for allowed, again in product(range(6), (False, True)):
        trie = SubscriptionTrie(index=True)
        one, other = Sore("one"), Sore("other")
        trie.subscribe("a", one)
        if was_on:
            trie.subscribe(filter, other)
        before = len(trie)
        allow(allowed)
        try:
            changed = change(trie, filter, Sore("other") if again else other)
        except ZeroDivisionError:
            raised, changed = raised + 1, False
        allow(1_000)
        assert len(trie) - before == (0 if not changed else 1 if change is SubscriptionTrie.subscribe else -1)
        assert trie.filters(other) == [found.filter for found in trie if found.subscriber is not one]
        trie.check()
        trie.unsubscribe(filter, other)
        assert trie.filters(other) == []
    assert raised


def test_a_subscriber_that_raises_does_not_keep_the_others_filed_when_all_is_cleared(
    allow: Callable[[int], None],
) -> None:
    trie = SubscriptionTrie(index=True)
    trie.subscribe_many([("a", Sore()), ("b", Sore()), ("c", "plain")])
    allow(0)
    trie.clear()
    allow(1_000)
    assert trie.filters("plain") == []
    trie.check()
