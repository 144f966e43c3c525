"""The sets of filters that an index keeps (subtrie/_trie/reverse_index.py), against a set."""

from __future__ import annotations

import random
from typing import Any

import pytest

from subtrie._trie.reverse_index import check_filed, find_filed, keys_in, settled, with_filed, without_filed

KEYS: list[Any] = [f"a.{n}" for n in range(60)] + [(f"a.{n}", "queue") for n in range(20)] + [("a.1", "other")]


@pytest.mark.parametrize("seed", range(20))
def test_a_set_has_what_was_put_into_it(seed: int) -> None:
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
        versions.append((filed, frozenset(there)))
        assert (find_filed(filed, key) is not None) is (key in there)
    for version, members in versions:
        if members:
            check_filed(version)
        assert sorted(map(str, keys_in(version))) == sorted(map(str, members))


@pytest.mark.parametrize("count", [1, 2, 16, 17, 300, 3_000])
def test_a_set_grows_and_goes(count: int) -> None:
    filed: Any = None
    for number in range(count):
        filed = with_filed(filed, settled(f"plant/{number}"))
        assert find_filed(filed, f"plant/{number}").key == f"plant/{number}"
    check_filed(filed)
    assert find_filed(filed, "plant/none") is None
    assert find_filed(filed, ("plant/0", "queue")) is None
    for number in range(count):
        assert find_filed(filed, f"plant/{number}") is not None
        filed = without_filed(filed, f"plant/{number}")
        if number % 100 == 99 and filed is not None:
            check_filed(filed)
    assert filed is None


def test_the_set_of_one_text_is_the_text_itself() -> None:
    text = "a.b"
    assert with_filed(None, settled(text)) is text
    assert keys_in(with_filed(None, settled(("a", "q")))) == [("a", "q")]
    assert without_filed(with_filed(with_filed(None, settled("x")), settled(text)), "x") is text


@pytest.mark.parametrize("count", [0, 1, 2, 3, 16, 17, 300])
def test_what_is_not_filed_is_not_removed(count: int) -> None:
    filed: Any = None
    for number in range(count):
        filed = with_filed(filed, settled(f"plant/{number}"))
    with pytest.raises(KeyError, match="plant/none"):
        without_filed(filed, "plant/none")
