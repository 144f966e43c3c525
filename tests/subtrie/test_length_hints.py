"""Iterators know how many items are left, if their trie does."""

from collections.abc import Callable, Iterable
from operator import length_hint
from typing import Any

import pytest

from ctrie import Ctrie, CtrieSet
from subtrie import SubscriptionTrie, TopicStore
from subtrie.fields import FieldMatcher, Present

NUMBER = 300


def a_map() -> Ctrie:
    trie = Ctrie()
    for number in range(NUMBER):
        trie[number] = number
    return trie


def a_set() -> CtrieSet:
    members = CtrieSet()
    for number in range(NUMBER):
        members.add(number)
    return members


def a_trie() -> SubscriptionTrie:
    trie = SubscriptionTrie()
    for number in range(NUMBER):
        trie.subscribe(f"a/{number}", number % 7)
    return trie


def a_store() -> TopicStore:
    store = TopicStore()
    for number in range(NUMBER):
        store[f"a/{number}"] = number
    return store


def a_matcher() -> FieldMatcher:
    matcher = FieldMatcher()
    for number in range(NUMBER):
        matcher.subscribe([Present("a")], number)
    return matcher


KINDS: dict[str, Callable[[], Iterable[Any]]] = {
    "map": a_map,
    "keys": lambda: a_map().keys(),
    "values": lambda: a_map().values(),
    "items": lambda: a_map().items(),
    "set": a_set,
    "trie": a_trie,
    "subscriptions": lambda: a_trie().subscriptions(),
    "store": a_store,
    "matcher": a_matcher,
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_iterator_knows_how_many_items_are_left(kind: str) -> None:
    items = iter(KINDS[kind]())
    assert iter(items) is items
    for left in range(NUMBER, 0, -1):
        assert length_hint(items, -1) == left
        next(items)
    assert length_hint(items, -1) == 0
    assert list(items) == []
    assert length_hint(items, -1) == 0


@pytest.mark.parametrize("made", [Ctrie([(1, 1), (2, 2), (1, 3)]), CtrieSet([1, 2, 1]), CtrieSet({1, 2})])
def test_what_was_made_at_once_has_a_hint(made: Iterable[Any]) -> None:
    assert length_hint(iter(made), -1) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_of_an_iterator_has_all(kind: str) -> None:
    items = KINDS[kind]()
    assert len(list(iter(items))) == NUMBER


def test_what_others_change_meanwhile_does_not_matter() -> None:
    trie = a_map()
    items = iter(trie)
    for number in range(NUMBER, 2 * NUMBER):
        trie[number] = number
    assert length_hint(items) == NUMBER
    assert sorted(items) == list(range(NUMBER))


class Refuses:
    """A key that raises when it is compared."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError


def test_in_doubt_there_is_no_hint() -> None:
    trie: Ctrie[Any, int] = Ctrie({1: 1})
    with pytest.raises(ZeroDivisionError):
        trie[Refuses()] = 1
    assert length_hint(iter(trie), -1) == -1
    assert list(iter(trie)) == [1]
    assert trie.approximate_len() == 1
    assert length_hint(iter(trie), -1) == 1


def test_a_found_subscriber_has_no_hint() -> None:
    assert length_hint(a_matcher().subscriptions(1), -1) == -1
    assert length_hint(a_trie().subscriptions(subscriber=1), -1) == -1
