"""The same random operations on a Ctrie and on Scala's TrieMap give the same answers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from ctrie import Ctrie
from tests.ctrie.triemap import ABSENT, TrieMap, java_hash, scala

pytestmark = pytest.mark.spark  # it needs the jars of pyspark, and Java

# Each pair is an operation on a TrieMap and the same on a Ctrie, with a key and two values.
OPERATIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "get": (lambda s, k, v, w: s.get(k), lambda m, k, v, w: m.get(k, ABSENT)),
    "in": (lambda s, k, v, w: s.contains(k), lambda m, k, v, w: k in m),
    "put_if_absent": (lambda s, k, v, w: s.put_if_absent(k, v), lambda m, k, v, w: m.put_if_absent(k, v, ABSENT)),
    "pop": (lambda s, k, v, w: s.pop(k), lambda m, k, v, w: m.pop(k, ABSENT)),
    "replace": (lambda s, k, v, w: s.replace(k, v), lambda m, k, v, w: m.replace(k, v)),
    "replace_if": (lambda s, k, v, w: s.replace_if(k, v, w), lambda m, k, v, w: m.replace_if(k, v, w)),
    "remove_if": (lambda s, k, v, w: s.remove_if(k, v), lambda m, k, v, w: m.remove_if(k, v)),
    "len": (lambda s, k, v, w: s.size(), lambda m, k, v, w: len(m)),
    "not": (lambda s, k, v, w: s.is_empty(), lambda m, k, v, w: not m),
}


def put(trie: Any, k: str | None, value: int) -> Any:
    old = trie.get(k, ABSENT)
    trie[k] = value
    return old


class Both(NamedTuple):
    scala: TrieMap
    ctrie: Any

    def check(self) -> None:
        assert self.scala.content() == dict(self.ctrie.items())
        self.ctrie.check()


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    with scala() as machine:
        yield machine


def colliding_words(pairs: int) -> list[str]:
    """Return 2 ** pairs words with one hash: in Java, "Aa" and "BB" have the same hash."""
    words = [""]
    for _ in range(pairs):
        words = [word + ending for word in words for ending in ("Aa", "BB")]
    return words


UNIVERSES: dict[str, list[str | None]] = {
    "few": [None, *"abcdefg"],
    "colliding": [*colliding_words(3), "a", None],
    "many": [f"k{number}" for number in range(400)],
}


def test_the_colliding_words_collide_there_and_here(jvm: Any) -> None:
    words = colliding_words(3)
    assert {java_hash(word) for word in words} == {jvm.java.util.Objects.hashCode(word) for word in words}
    assert len({java_hash(word) for word in words}) == 1
    assert len(words) == 8


@pytest.mark.parametrize("universe", UNIVERSES)
@pytest.mark.parametrize("seed", range(3))
def test_the_same_operations_give_the_same_answers(jvm: Any, universe: str, seed: int) -> None:
    chance = random.Random(seed)
    keys = UNIVERSES[universe]
    live = [Both(TrieMap(jvm), Ctrie(hash=java_hash))]
    frozen: list[Both] = []
    for step in range(700):
        both = chance.choice(live)
        k, v, w = chance.choice(keys), chance.randrange(3), chance.randrange(3)
        what = chance.random()
        if what < 0.25:
            assert both.scala.put(k, v) == put(both.ctrie, k, v)
        elif what < 0.95:
            name = chance.choice(list(OPERATIONS))
            there, here = OPERATIONS[name]
            assert here(both.ctrie, k, v, w) == there(both.scala, k, v, w), f"step {step}: {name}({k!r}, {v}, {w})"
        elif what < 0.955:
            both.scala.clear()
            both.ctrie.clear()
        elif what < 0.98:
            live = [*live, Both(both.scala.snapshot(), both.ctrie.snapshot())][-4:]
        else:
            # Only live ones are frozen: in Scala, a snapshot of a read-only snapshot raises a NullPointerException.
            frozen = [*frozen, Both(both.scala.readonly_snapshot(), both.ctrie.readonly_snapshot())][-3:]
        if frozen:
            look = chance.choice(frozen)
            assert look.ctrie.get(k, ABSENT) == look.scala.get(k)
    for both in [*live, *frozen]:
        both.check()
