"""Words, filters and topics of every size and kind: each question finds the filters that the dialect itself names.

The subscriber of a filter is the filter, so a text that is changed or taken for another one is noticed, too.
"""

from __future__ import annotations

import gc
import random
import tracemalloc
from dataclasses import replace
from itertools import product
from time import process_time

import pytest

from ctrie import drain
from subtrie import AMQP, MQTT, Dialect, SubscriptionTrie
from tests.subtrie.support import (
    LAX,
    OWN_DIALECTS,
    PATHS,
    either_layout,
    every_dialect,
    filled,
    is_valid,
    made,
    stands_for,
)

ROOMY = replace(AMQP, max_bytes=1_000_000, max_words=10_000, max_wildcards=10_000)


def expect(trie: SubscriptionTrie, *topics: str) -> None:
    dialect, here = trie.dialect, {one.filter: trie.dialect.split_filter(one.filter) for one in trie}
    for topic in topics:
        words = dialect.split_topic(topic)
        wanted = sorted(filter for filter, split in here.items() if dialect.matches(split, words))
        for found in (trie.match(topic), trie.match_iter(topic), *trie.match_many([topic, topic])):
            assert sorted(found) == wanted, topic
        for entries in (trie.entries(topic), trie.deliveries(topic), trie.deliveries_many([topic])[0]):
            assert sorted(one.filter for one in entries) == wanted, topic
        assert (trie.has_match(topic), trie.count(topic)) == (bool(wanted), len(wanted)), topic


def emptied(trie: SubscriptionTrie) -> None:
    """Everything goes again, and leaves nothing."""
    for one in list(trie):
        assert one.filter == one.subscriber
        assert trie.unsubscribe(one.filter, one.subscriber)
    assert trie.stats()["branches"] == 0
    trie.check()


# --------------------------------------------------------------------------------------------------------------- words

# Stored in one, two or four bytes a character, with common beginnings, and on both sides of 8 and 16 bytes.
ODD_WORDS = [
    *("", "é", "éa", "éaaaaaaa", "aé"),
    *("я", "яa", "яaaa", "яaaaa", "aя"),
    *("𝄞", "𝄞a", "𝄞𝄞", "𝄞𝄞a", "a𝄞"),
    *("a" * size for size in (1, 2, 7, 8, 9, 15, 16, 17, 24, 25)),
    *("a" * 7 + "b", "a" * 8 + "b", "a" * 15 + "b", "a" * 16 + "b"),
    *("a\x01", "a\xff", "a\u0100", "\x01", "\xff", "\u0100", "\uffff", "\U00010000", "\U0010ffff"),
    *("*", "#", "**", "*#", "+", ">", "$", "$a", "a*", "#a", "a>"),
]


@every_dialect
@either_layout
def test_words_of_every_width_and_length(dialect: Dialect, exact: bool) -> None:
    """Every word as a filter of its own and beside every other one; only the same word finds it."""
    roomy = replace(dialect, max_bytes=1_000)
    words = [word for word in ODD_WORDS if is_valid(roomy.split_filter, word)]
    trie = filled(
        *(roomy.join(way) for word in words for way in ((word,), ("x", word), (roomy.one_word, word))),
        dialect=roomy, exact=exact,
    )  # fmt: skip
    topics = [
        text
        for w in words
        for text in (w, roomy.join(("x", w)), roomy.join((w, w)))
        if is_valid(roomy.split_topic, text)
    ]
    expect(trie, *topics)
    trie.check()
    emptied(trie)


LETTERS = {"ascii": "ab", "latin": "é\xff", "two bytes": "→a", "four bytes": "😀é"}
LENGTHS = [*range(10), 15, 16, 17, 300]


@pytest.mark.parametrize("letters", LETTERS.values(), ids=LETTERS)
def test_two_words_in_a_chain_that_is_parted_and_joined_again(letters: str) -> None:
    trie = made(replace(AMQP, max_bytes=10_000))
    for first, second in product(LENGTHS, repeat=2):
        chain, other = (
            f"{first}.{(letters * first)[:first]}.{(letters * second)[:second]}{end}" for end in ("", ".other")
        )
        assert trie.subscribe(chain, chain)
        assert trie.match(chain) == (chain,)
        assert trie.match(chain + letters[0]) == ()
        assert trie.subscribe(other, other)
        assert trie.subscribe(f"{chain}{letters[1]}", "parts the words")
        assert (trie.match(chain), trie.match(other)) == ((chain,), (other,))
        before = trie.snapshot()
        for filter, subscriber in ((other, other), (f"{chain}{letters[1]}", "parts the words")):
            assert trie.unsubscribe(filter, subscriber)
        assert [one.filter for one in trie] == [chain]
        assert (trie.match(chain), trie.match(other), before.match(other)) == ((chain,), (), (other,))
        assert trie.unsubscribe(chain, chain)


@pytest.mark.parametrize("separator", [".", "/", "\x01", "\x7f", "\xb7", "\u2192"])
def test_words_are_found_wherever_they_lie(separator: str) -> None:
    """A text is read eight characters at a time, so three words in a row have lengths around the multiples of eight."""
    dialect = replace(AMQP, separator=separator, max_bytes=1_000)
    sizes = [0, 1, 3, 6, 7, 8, 9, 15, 16, 17]
    trie = made(
        dialect,
        rows=[*((dialect.join(("*", "b" * size, "*")), size) for size in sizes), (dialect.join(("#", "c" * 7)), "c")],
    )
    for one, two, three in product(sizes, repeat=3):
        found = trie.match(dialect.join(("a" * one, "b" * two, "c" * three)))
        assert set(found) == ({two, "c"} if three == 7 else {two}), (one, two, three)


def test_texts_go_with_the_filters() -> None:
    trie = made(replace(AMQP, max_bytes=10_000))

    def turn() -> None:
        texts = [f"{number}.{'w' * 200}.{'→' * 100}" for number in range(500)]
        for text in texts:
            trie.subscribe(text, text)
        emptied(trie)
        drain()
        gc.collect()  # which also frees the tuples that CPython keeps for the next ones

    tracemalloc.start()
    try:
        turn()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(4):
            turn()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 20_000, "2,000 texts of 400 bytes and more were not all freed"


# ------------------------------------------------------------------------------------------------- filters and topics

WILD_SIZES = [*range(5), 7, 31, 61, 62, 63, 64, 65, 66, 100, 127, 128, 129, 200]


@pytest.mark.parametrize("size", WILD_SIZES)
@either_layout
def test_topics_of_many_words(size: int, exact: bool) -> None:
    """Positions are kept in a machine word for up to 63 words, and in an integer of any size for more."""
    rng = random.Random(size)
    topic = [rng.choice("ab") for _ in range(size)]
    trie = made(ROOMY, exact=exact)
    for _ in range(60 if size < 100 else 20):  # the dialect is slow for long ones
        at, to = sorted(rng.choices(range(size + 1), k=2))
        around: list[list[str]] = [
            topic,
            [*topic[:at], "#", *topic[to:]],
            [*topic[:at], "*", *topic[at + 1 :]],
            [*topic[:at], "*", *topic[at:]],
            [*topic[:at], "#", "*", "#", *topic[to:]],
            ["#", *topic[at:to], "#"],
            ["*"] * rng.choice([size, size - 1, size + 1]),
            ["#", *["*"] * rng.choice([size, size - 1, size + 1]), "#"],
            [*topic, "#", "#"],
        ]
        filter = ROOMY.join(rng.choice(around))
        trie.subscribe(filter, filter)
    expect(trie, *(ROOMY.join(words) for words in (topic, topic[1:], [*topic, "a"], topic[::-1])))
    emptied(trie)


@either_layout
@pytest.mark.parametrize("size", [1, 2, 62, 63, 64, 65, 100])
@pytest.mark.parametrize("word", ["a", "of-more-than-seven", "é-long-enough-for-the-heap", "日本", "😀", ""])
def test_what_the_wildcards_stood_for(word: str, size: int, exact: bool) -> None:
    topic = ".".join([word] * size)
    wild = {topic, "#", ".".join(["*"] * size), f"{word}.#", f"#.{word}.#", f"*.{word}.#", f"#.{word}.*", f"#.{word}"}
    trie = filled(*wild, dialect=ROOMY, exact=exact)
    for one in (*trie.deliveries(topic), *trie.deliveries_many([topic] * 9)[8]):
        assert one.words == stands_for(ROOMY, one.filter, topic)
    expect(trie, topic)
    emptied(trie)


@pytest.mark.parametrize(
    "dialect", [AMQP, PATHS, LAX, OWN_DIALECTS[3], OWN_DIALECTS[-1]], ids=lambda dialect: dialect.name
)
def test_every_filter_of_four_words_and_topic_of_five(dialect: Dialect) -> None:
    one, many = dialect.one_word, dialect.many_words or "b"
    texts = [dialect.join(words) for size in range(1, 5) for words in product(("a", one, many), repeat=size)]
    trie = filled(*(text for text in texts if is_valid(dialect.split_filter, text)), dialect=dialect)
    for size in range(1, 6):
        for words in product(("a", "b"), repeat=size):
            if is_valid(dialect.split_topic, dialect.join(words)):
                topic = dialect.join(words)
                expect(trie, topic)
                assert all(given.words == stands_for(dialect, given.filter, topic) for given in trie.deliveries(topic))


HOSTILE = [
    "#." * 15 + "b",
    "#.a." * 15 + "#",
    "#.a.#.a." * 7 + "b",
    "#." * 100 + "#",
    "#.*." * 31 + "#",
    "#",
    "*." * 30 + "#",
]
TABLE: dict[str, tuple[Dialect, list[str], list[str]]] = {
    "what would take for ever with backtracking": (
        AMQP, HOSTILE, [".".join("a" * 31), ".".join("a" * 30 + "b"), ".".join("ab" * 15), ".".join("a" * 120), "", "b"],
    ),
    "a wildcard is an ordinary word of an AMQP topic": (
        AMQP, ["a.*", "a.#", "a.b", "*.*", "#", "*", "#.b", "a.*.#"],
        ["a.*", "a.#", "*", "#", "*.#", "#.b", "a.*.b", "a.#.b", ""],
    ),
    "no words and one empty word": (
        AMQP, ["", ".", "..", "#", "*", "*.", ".*", "#.", "#.#", ".#"], ["", ".", "..", "a", "a.", ".a", "..."],
    ),
    "a reserved topic": (MQTT, ["$s/a", "$s/+", "+/a", "#", "+/+", "$s/#", "+/#"], ["$s/a", "s/a", "$s", "a/$s", "$t/a"]),
    "none and an empty word": (MQTT, ["a/#", "+/+/#", "#", "+"], ["a", "a/", "a//", "/b", "/", "a/b/c"]),
    "more than a match has room for at first": (
        ROOMY,
        [*map(".".join, product(*((word, "*") for word in "abcdefghi"))),
         *(".".join(words) for size in range(1, 6) for words in product("a*#", repeat=size))],
        ["a.b.c.d.e.f.g.h.i", "a.a.a.a", "a" + ".a" * 62, "a" + ".a" * 80],
    ),
}  # fmt: skip


@either_layout
@pytest.mark.parametrize("name", TABLE)
def test_what_is_odd_about_some_filters(name: str, exact: bool) -> None:
    dialect, filters, topics = TABLE[name]
    trie = filled(*filters, dialect=dialect, exact=exact)
    expect(trie, *topics)
    emptied(trie)


@pytest.mark.parametrize("exact", [False, True])
def test_a_dialect_that_splits_texts_in_its_own_way_is_asked(exact: bool) -> None:
    class Folding(Dialect):
        def split_filter(self, text: str) -> tuple[str, ...]:
            return super().split_filter(text.lower())

        def split_topic(self, text: str) -> tuple[str, ...]:
            return super().split_topic(text.lower())

    trie = filled("A.b", "A.*", "#.B", dialect=Folding("folding", ".", one_word="*", many_words="#"), exact=exact)
    wanted = ["#.B", "A.*", "A.b"]
    assert sorted(trie.match("a.B")) == sorted(trie.match_iter("a.B")) == wanted
    assert [sorted(found) for found in trie.match_many(["a.B"] * 20)] == [wanted] * 20
    words = {one.filter: one.words for one in trie.deliveries("A.B")}
    assert words == {"a.b": (), "a.*": ("b",), "#.b": (("a",),)}
    assert trie.has_match("X.B")


# ---------------------------------------------------------------------------------------------------------------- time


@pytest.mark.parametrize("words", [64, 8_000])
def test_a_topic_of_many_words_is_matched_in_a_moment(words: int) -> None:
    """Each word of such a filter once cost a look at each word of the topic: 18 seconds for 8,000."""
    trie = filled(*(".".join([*["#", letter] * (words // 2)]) for letter in "ab"), dialect=ROOMY)
    assert trie.match(".".join(["a"] * words)) == (".".join(["#", "a"] * (words // 2)),)


def test_what_many_wildcards_stood_for_takes_no_exponential_time() -> None:
    trie = filled(".".join(["#", "a"] * 60 + ["#"]), dialect=ROOMY)
    (one,) = trie.deliveries(".".join(["a"] * 200))
    start = process_time()
    assert one.words == (*[()] * 60, ("a",) * 140)
    assert process_time() - start < 5
