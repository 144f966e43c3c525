"""Any sequence of operations on a Ctrie, its snapshots and its forks, compared with a dict for each."""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from ctrie import Ctrie
from ctrie._machine import GROUPS
from tests.keys import Key, hash_of, key

ABSENT = "absent"

# Close to one another in every way: they part at the root, or one, two, three or ten levels below it, or collide.
KEYS = [
    key("a", 1, 1), key("b", 1, 2), key("c", 1, 3), key("d", 2), key("e", GROUPS - 1), key("f", 4, 4, 4, 1), key("g", 4, 4, 4, 2),
    key("h", 4, 4, 5), Key("i", 3), Key("j", 3), Key("k", 3), Key("l", 3 | 1 << 63), Key("m", 3 | 1 << 60),
]  # fmt: skip

keys = st.sampled_from(KEYS)
values = st.sampled_from([None, 0, 1, "v"])


class Pair(NamedTuple):
    """A trie and its expected content."""

    trie: Any
    model: dict[Key, Any]
    readonly: bool


class CtrieMachine(RuleBasedStateMachine):
    tries = Bundle("tries")
    frozen = Bundle("frozen")

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[Pair] = []
        self.steps = 0

    def pair(self, trie: Any, model: dict[Key, Any], readonly: bool = False) -> Pair:
        made = Pair(trie, dict(model), readonly)
        self.pairs.append(made)
        return made

    # ------------------------------------------------------------------------------------------------- new ones

    @initialize(target=tries, content=st.dictionaries(keys, values, max_size=8))
    def create(self, content: dict[Key, Any]) -> Pair:
        return self.pair(Ctrie(content, hash=hash_of), content)

    @rule(target=tries, source=tries)
    def snapshot(self, source: Pair) -> Pair:
        return self.pair(source.trie.snapshot(), source.model)

    @rule(target=frozen, source=tries)
    def readonly_snapshot(self, source: Pair) -> Pair:
        return self.pair(source.trie.readonly_snapshot(), source.model, readonly=True)

    @rule(target=tries, source=frozen)
    def fork(self, source: Pair) -> Pair:
        return self.pair(source.trie.snapshot(), source.model)

    @rule(target=frozen, source=frozen)
    def readonly_snapshot_of_a_readonly_snapshot(self, source: Pair) -> Pair:
        return self.pair(source.trie.readonly_snapshot(), source.model, readonly=True)

    @rule(target=tries, source=tries, again=st.sampled_from([copy.copy, lambda trie: pickle.loads(pickle.dumps(trie))]))
    def copy(self, source: Pair, again: Any) -> Pair:
        return self.pair(again(source.trie), source.model)

    @rule(target=tries, one=tries, other=tries)
    def union(self, one: Pair, other: Pair) -> Pair:
        return self.pair(one.trie | other.trie, one.model | other.model)

    @rule(dropped=consumes(frozen))
    def drop(self, dropped: Pair) -> None:
        self.pairs = [pair for pair in self.pairs if pair is not dropped]

    # -------------------------------------------------------------------------------------------------- changes

    @rule(pair=tries, k=keys, value=values)
    def set(self, pair: Pair, k: Key, value: Any) -> None:
        pair.trie[k] = pair.model[k] = value

    @rule(pair=tries, k=keys, value=values)
    def put_if_absent(self, pair: Pair, k: Key, value: Any) -> None:
        assert pair.trie.put_if_absent(k, value, ABSENT) == pair.model.get(k, ABSENT)
        pair.model.setdefault(k, value)

    @rule(pair=tries, k=keys, value=values)
    def setdefault(self, pair: Pair, k: Key, value: Any) -> None:
        assert pair.trie.setdefault(k, value) == pair.model.setdefault(k, value)

    @rule(pair=tries, k=keys)
    def pop(self, pair: Pair, k: Key) -> None:
        assert pair.trie.pop(k, ABSENT) == pair.model.pop(k, ABSENT)

    @rule(pair=tries, k=keys, value=values)
    def replace(self, pair: Pair, k: Key, value: Any) -> None:
        assert pair.trie.replace(k, value) is (k in pair.model)
        if k in pair.model:
            pair.model[k] = value

    @rule(pair=tries, k=keys, old=values, value=values)
    def replace_if(self, pair: Pair, k: Key, old: Any, value: Any) -> None:
        matches = k in pair.model and pair.model[k] == old
        assert pair.trie.replace_if(k, old, value) is matches
        if matches:
            pair.model[k] = value

    @rule(pair=tries, k=keys, old=values)
    def remove_if(self, pair: Pair, k: Key, old: Any) -> None:
        matches = k in pair.model and pair.model[k] == old
        assert pair.trie.remove_if(k, old) is matches
        if matches:
            del pair.model[k]

    @rule(pair=tries, k=keys)
    def compute(self, pair: Pair, k: Key) -> None:
        new = repr(pair.model.get(k, ABSENT))[:5]
        assert pair.trie.compute(k, lambda value: repr(value)[:5], ABSENT) == new
        pair.model[k] = new

    @rule(pair=tries, k=keys, value=values)
    def get_or_create(self, pair: Pair, k: Key, value: Any) -> None:
        assert pair.trie.get_or_create(k, lambda: value) == pair.model.setdefault(k, value)

    @rule(pair=tries)
    def popitem(self, pair: Pair) -> None:
        if pair.model:
            k, value = pair.trie.popitem()
            assert pair.model.pop(k) == value

    @rule(pair=tries)
    def clear(self, pair: Pair) -> None:
        pair.trie.clear()
        pair.model.clear()

    @rule(pair=tries, content=st.dictionaries(keys, values, max_size=4))
    def update(self, pair: Pair, content: dict[Key, Any]) -> None:
        pair.trie.update(content)
        pair.model.update(content)

    # -------------------------------------------------------------------------------------------------- readings

    @rule(pair=tries | frozen, k=keys)
    def look_up(self, pair: Pair, k: Key) -> None:
        assert pair.trie.get(k, ABSENT) == pair.model.get(k, ABSENT)
        assert (k in pair.trie) is (k in pair.model)

    @rule(newer=tries | frozen, older=tries | frozen)
    def compare(self, newer: Pair, older: Pair) -> None:
        assert (newer.trie == older.trie) is (newer.model == older.model)
        changes = {k: (old, new) for k, old, new in newer.trie.diff(older.trie, ABSENT)}
        assert changes == {
            k: (older.model.get(k, ABSENT), newer.model.get(k, ABSENT))
            for k in KEYS
            if older.model.get(k, ABSENT) != newer.model.get(k, ABSENT)
        }

    @rule(pair=tries | frozen, parts=st.integers(1, 5))
    def split(self, pair: Pair, parts: int) -> None:
        pairs = [found for part in pair.trie.split(parts) for found in part]
        assert len(pairs) == len(pair.model)
        assert dict(pairs) == pair.model

    @rule(pair=tries | frozen)
    def count_and_iterate(self, pair: Pair) -> None:
        assert len(pair.trie) == len(pair.model)
        assert bool(pair.trie) is bool(pair.model)
        assert sorted(pair.trie) == sorted(pair.model)
        assert sorted(map(repr, pair.trie.values())) == sorted(map(repr, pair.model.values()))

    @invariant()
    def one_of_them_holds_what_it_must(self) -> None:
        """Each step looks at the next pair, by lookups, since these do not change the generations."""
        if self.pairs:
            self.steps += 1
            pair = self.pairs[self.steps % len(self.pairs)]
            assert {k: pair.trie[k] for k in KEYS if k in pair.trie} == pair.model

    def teardown(self) -> None:
        for pair in self.pairs:
            assert {k: pair.trie[k] for k in KEYS if k in pair.trie} == pair.model
            assert dict(pair.trie.items()) == pair.model
            pair.trie.check()


TestCtrie = CtrieMachine.TestCase
TestCtrie.settings = settings(stateful_step_count=30)
