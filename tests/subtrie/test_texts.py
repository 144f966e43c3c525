"""The texts of filters: whatever their characters and lengths, they come back unchanged, differ from all others, and
are freed with the filters."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctrie import drain
from subtrie import AMQP, SubscriptionTrie

ROOMY = replace(AMQP, max_bytes=10_000, max_words=200)
LETTERS = {"ascii": "ab", "latin": "é\xff", "two bytes": "→a", "four bytes": "😀é"}
LENGTHS = [*range(10), 15, 16, 17, 300]


def word(letters: str, length: int) -> str:
    return (letters * length)[:length]


def filters(trie: SubscriptionTrie) -> set[str]:
    return {found.filter for found in trie.subscriptions()}


@pytest.fixture
def trie() -> Iterator[SubscriptionTrie]:
    trie = SubscriptionTrie(ROOMY)
    yield trie
    trie.check()


@pytest.mark.parametrize("letters", LETTERS.values(), ids=LETTERS)
class TestWordsOfEveryLength:
    def test_of_one_word(self, trie: SubscriptionTrie, letters: str) -> None:
        texts = {word(letters, length) for length in LENGTHS} - {""}
        for text in texts:
            trie.subscribe(text, text)
        assert filters(trie) == texts
        assert all(trie.match(text) == (text,) for text in texts)

    def test_of_two_words_in_one_chain(self, trie: SubscriptionTrie, letters: str) -> None:
        for first in LENGTHS:
            for second in LENGTHS:
                text = f"{first}.{word(letters, first)}.{word(letters, second)}"
                trie.subscribe(text, text)
                assert trie.match(text) == (text,)
                assert trie.match(text + letters[0]) == ()
                assert filters(trie) == {text}
                assert trie.unsubscribe(text, text)

    def test_parted_and_joined_again(self, trie: SubscriptionTrie, letters: str) -> None:
        for length in LENGTHS:
            long, other = f"x.{word(letters, length)}.end", f"x.{word(letters, length)}.other"
            trie.subscribe(long, 1)
            trie.subscribe(other, 2)
            assert filters(trie) == {long, other}
            assert (trie.match(long), trie.match(other)) == ((1,), (2,))
            assert trie.unsubscribe(other, 2)
            assert (filters(trie), trie.match(long), trie.match(other)) == ({long}, (1,), ())
            assert trie.unsubscribe(long, 1)

    def test_kept_when_subscribers_come_and_go(self, trie: SubscriptionTrie, letters: str) -> None:
        for length in LENGTHS:
            text = f"y.{word(letters, length)}"
            for subscriber in range(3):
                trie.subscribe(text, subscriber)
            assert trie.unsubscribe(text, 0)
            assert sorted(trie.match(text)) == [1, 2]
            assert filters(trie) == {text}
            trie.clear()

    def test_in_a_snapshot_that_outlives_them(self, trie: SubscriptionTrie, letters: str) -> None:
        texts = {f"z.{word(letters, length)}" for length in LENGTHS}
        for text in texts:
            trie.subscribe(text, 1)
        before = trie.snapshot()
        for text in texts:
            assert trie.unsubscribe(text, 1)
        drain()
        assert filters(before) == texts
        assert all(before.match(text) == (1,) for text in texts)
        before.check()


TEXTS = st.lists(st.text("aé→😀", max_size=9), min_size=1, max_size=4).map(".".join).filter(bool)


@given(texts=st.sets(TEXTS, max_size=12), asked=st.lists(TEXTS, max_size=6))
def test_are_told_from_all_others(texts: set[str], asked: list[str]) -> None:
    trie = SubscriptionTrie(ROOMY)
    for text in texts:
        trie.subscribe(text, text)
    assert filters(trie) == texts
    for topic in [*texts, *asked]:
        assert trie.match(topic) == ((topic,) if topic in texts else ())
    trie.check()


def test_go_with_the_filters(trie: SubscriptionTrie) -> None:
    def turn() -> None:
        for number in range(500):
            trie.subscribe(f"{number}.{'w' * 200}.{'→' * 100}", number)
        for number in range(500):
            assert trie.unsubscribe(f"{number}.{'w' * 200}.{'→' * 100}", number)
        drain()

    tracemalloc.start()
    try:
        turn()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(4):
            turn()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 100_000, "2,000 texts of 400 bytes and more were not all freed"
