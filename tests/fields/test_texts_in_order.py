"""Ranges of texts and of bytes, which the index tells apart by their first bytes: found where they hold."""

from __future__ import annotations

import random
from typing import Any

import pytest

from subtrie.fields import AtLeast, AtMost, FieldMatcher, GreaterThan, LessThan, Prefix, Suffix, Within

CHARACTERS = ["\0", "a", "b", "\x7f", "\x80", "\u07ff", "\u0800", "\ud7ff", "\ud800", "\udfff", "\ue000", "\uffff"]
CHARACTERS += ["\U00010000", "\U0010ffff", "\xe9"]


class Loud(str):
    """A text of a subclass."""

    __slots__ = ()


def some_text(rng: random.Random, kind: str) -> Any:
    """One that other texts share some characters with, about as many as the index has of each."""
    if kind == "bytes":
        first = rng.choice([b"", b"aaaaaa", b"\xff\xdf\xff\xff\xff\xff", b"\x7f\xef\xff\xff\xff\xff", b"\x80"])
        return first + bytes(rng.choice([0, 1, 97, 223, 224, 254, 255]) for _ in range(rng.randrange(9)))
    beginning = rng.choice(["", "aaaaa", "aaaaaaa", "\U00010000a\x80", "\u07ffa\x80"])
    return beginning + "".join(rng.choice(CHARACTERS) for _ in range(rng.randrange(5)))


def some_range(rng: random.Random, kind: str) -> Any:
    one, other = sorted([some_text(rng, kind), some_text(rng, kind)])
    make: Any = rng.choice([Within, Within, AtLeast, AtMost, LessThan, GreaterThan, Prefix, Suffix])
    if make is Within:
        return Within("f", one, other + other[:1], rng.random() < 0.2, rng.random() < 0.2)
    if make is Suffix and kind == "bytes":
        make = Prefix
    return make("f", one)


@pytest.mark.parametrize("kind", ["str", "bytes"])
@pytest.mark.parametrize("seed", range(3))
def test_ranges_of_texts_are_found_where_they_hold(seed: int, kind: str) -> None:
    rng = random.Random(seed)
    criteria: list[Any] = []
    while len(criteria) < 400:
        try:
            criteria.append(some_range(rng, kind))
        except ValueError:  # nothing lies within
            continue
    matcher = FieldMatcher()
    for number, criterion in enumerate(criteria):
        matcher.subscribe([criterion], number)
    matcher.check()
    found = 0
    for step in range(400):
        value = some_text(rng, kind)
        if kind == "str" and step % 5 == 0:
            value = Loud(value)
        wanted = {number for number, criterion in enumerate(criteria) if criterion.holds(value)}
        assert set(matcher.match_all({"f": value})) == wanted, (seed, value)
        found += len(wanted)
    assert found > 4_000
    for number in range(0, 400, 2):
        assert matcher.unsubscribe([criteria[number]], number)
    matcher.check()
    assert {s.subscriber for s in matcher} == set(range(1, 400, 2))
