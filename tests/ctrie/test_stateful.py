"""Any sequence of operations on a map and a set, their snapshots, forks and copies, compared with dict and set."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from ctrie import Ctrie, CtrieSet
from tests.ctrie.oracle import ALGEBRA, COPIES, IN_PLACE, KINDS, OPERATIONS, UNIVERSES, Pair, Universe, told_of
from tests.twins import Fault, load_twin

NAN = float("nan")
values = st.sampled_from([None, 0, 1, "v", NAN])
numbers = st.integers(0, 19)
pairs_of_numbers = st.lists(st.tuples(numbers, values), max_size=8)
kinds = st.sampled_from(sorted(KINDS))


def emptied(trie: Any) -> Any:
    made = trie.snapshot()
    made.clear()
    return made


# What shows one instant of a map, however long it is kept: pairs, keys or values.
LOOKS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "items": (lambda pair: pair.map.items(), lambda key, value: (key, value)),
    "iter(items)": (lambda pair: iter(pair.map.items()), lambda key, value: (key, value)),
    "keys": (lambda pair: pair.map.keys(), lambda key, value: key),
    "values": (lambda pair: pair.map.values(), lambda key, value: value),
    "iter(values)": (lambda pair: iter(pair.map.values()), lambda key, value: value),
    "iter": (lambda pair: iter(pair.map), lambda key, value: key),
    "split": (lambda pair: (each for part in pair.map.split(2) for each in part), lambda key, value: (key, value)),
    "diff": (lambda pair: pair.map.diff(emptied(pair.map)), lambda key, value: (key, None, value)),
    "members": (lambda pair: iter(pair.members), lambda key, value: key),
    "split set": (lambda pair: (each for part in pair.members.split(2) for each in part), lambda key, value: key),
    "diff of a set": (lambda pair: pair.members.diff(emptied(pair.members)), lambda key, value: (key, True)),
}


class MapAndSet(RuleBasedStateMachine):
    pairs, looks = Bundle("pairs"), Bundle("looks")

    def __init__(self) -> None:
        super().__init__()
        self.all: list[Pair] = []
        self.steps = 0

    def kept(self, pair: Pair) -> Pair:
        self.all.append(pair)
        return pair

    def content(self, drawn: list[tuple[int, Any]]) -> list[tuple[Any, Any]]:
        return [(self.universe.keys[number % len(self.universe.keys)], value) for number, value in drawn]

    @initialize(name=st.sampled_from([name for name in UNIVERSES if "many" not in name]))
    def begin(self, name: str) -> None:
        self.universe = UNIVERSES[name]

    @rule(target=pairs, drawn=pairs_of_numbers)
    def create(self, drawn: list[tuple[int, Any]]) -> Pair:
        return self.kept(Pair(self.universe, self.content(drawn)))

    @rule(target=pairs, source=pairs, way=st.sampled_from(sorted(COPIES)))
    def copy(self, source: Pair, way: str) -> Pair:
        return self.kept(source.copied(way))

    @rule(target=pairs, one=pairs, other=pairs, with_map=st.booleans())
    def union(self, one: Pair, other: Pair, with_map: bool) -> Pair:
        return self.kept(one.union(other, with_map))

    @rule(target=pairs, name=st.sampled_from(sorted(ALGEBRA)), one=pairs, other=pairs, kind=kinds)
    def combine(self, name: str, one: Pair, other: Pair, kind: str) -> Pair:
        return self.kept(one.combined(name, other, kind))

    @rule(dropped=consumes(pairs))
    def drop(self, dropped: Pair) -> None:
        self.all = [pair for pair in self.all if pair is not dropped]

    @rule(
        pair=pairs, calls=st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), numbers, values, values), min_size=1)
    )
    def operate(self, pair: Pair, calls: list[tuple[str, int, Any, Any]]) -> None:
        for name, number, old, new in calls:
            pair.operate(name, self.universe.keys[number % len(self.universe.keys)], old, new)

    @rule(pair=pairs, how=st.sampled_from(["popitem", "pop", "clear"]))
    def take_any(self, pair: Pair, how: str) -> None:
        if how == "clear":
            pair.clear()
        else:
            pair.take_any(from_set=how == "pop")

    @rule(name=st.sampled_from(sorted(IN_PLACE)), one=pairs, other=pairs, kind=kinds)
    def change_in_place(self, name: str, one: Pair, other: Pair, kind: str) -> None:
        one.change_in_place(name, other, kind)

    @rule(target=looks, pair=pairs, name=st.sampled_from(sorted(LOOKS)))
    def begin_to_look(self, pair: Pair, name: str) -> tuple[Any, list[str]]:
        take, form = LOOKS[name]
        return take(pair), told_of(form(*each) for each in pair.held.values())

    @rule(look=consumes(looks))
    def look(self, look: tuple[Any, list[str]]) -> None:
        taken, wanted = look
        assert told_of(taken) == wanted

    @rule(one=pairs, other=pairs)
    def compare(self, one: Pair, other: Pair) -> None:
        one.compare(other)

    @rule(pair=pairs, parts=st.integers(1, 5))
    def read(self, pair: Pair, parts: int) -> None:
        pair.read(parts)

    @invariant()
    def one_of_them_holds_what_it_must(self) -> None:
        if self.all:
            self.steps += 1
            self.all[self.steps % len(self.all)].look_up()

    def teardown(self) -> None:
        for pair in self.all:
            pair.check()


TestMapAndSet = MapAndSet.TestCase
TestMapAndSet.settings = settings(stateful_step_count=30)


# ---------------------------------------------------------------------------------------------- more keys, and faults


def walk(universe: Universe, seed: int, steps: int, types: tuple[Any, Any] = (Ctrie, CtrieSet)) -> None:
    """Random steps on hundreds of keys, so that the nodes of a snapshot and its source differ at every level."""
    random = Random(seed)
    half = random.sample(universe.keys, len(universe.keys) // 2)
    everything = [Pair(universe, [(key, 0) for key in half], types)]
    for _ in range(steps):
        one, other = random.choice(everything), random.choice(everything)
        for key in random.choices(universe.keys, k=random.choice((1, 3, 30))):
            one.operate(random.choice(sorted(OPERATIONS)), key, random.choice((0, None)), random.choice((0, None, "v")))
        everything = [*everything, one.copied(random.choice(("snapshot", "readonly_snapshot", "copy")))][-5:]
        if random.random() < 0.3:
            one.compare(other)
        if random.random() < 0.2:
            everything += [one.combined(random.choice(sorted(ALGEBRA)), other, "it"), one.union(other, with_map=False)]
            other.change_in_place(random.choice(sorted(IN_PLACE)), one, "it")
        if random.random() < 0.3:
            other.read(random.choice((1, 5, 64)))
    for pair in everything:
        pair.check()


@pytest.mark.parametrize("name", [name for name in UNIVERSES if "many" in name])
@pytest.mark.parametrize("seed", range(3))
def test_many_keys(seed: int, name: str) -> None:
    walk(UNIVERSES[name], seed, steps=40)


NODES, EDITS = "ctrie._nodes", "ctrie._edits"
APART = "new_root(new_inode(gcas_read(new_root(old, True), old), Gen()), False)"


@pytest.mark.once
@pytest.mark.parametrize(
    "fault",
    [
        Fault("a read-only snapshot keeps the new root", NODES, "new_root(snapshot_root(root), True)", "new_root(snapshot_root(root) and rdcss_read_root(root), True)"),
        Fault("a fork shares the root", NODES, f"return {APART}", "return root"),
        Fault("a fork shares the node of its source", NODES, f"return {APART}", "return new_root(rdcss_read_root(root), False)"),
        Fault("a fork is of the generation of its source", NODES, APART, "new_root(old, False)"),
        Fault("a snapshot starts no generation", NODES, "new_inode(main, Gen())", "new_inode(main, old.gen)"),
        Fault("differences skip what has the same shape", NODES, "        if old_main is new_main:", "        if getattr(old_main, 'bitmap', 0) == getattr(new_main, 'bitmap', 1):"),
        Fault("a part is left out", NODES, "nodes[i::n] for i in range(min(", "nodes[i::n] for i in range(1, min("),
        Fault("a part is taken twice", NODES, "[nodes[i::n] for i", "[nodes[i :: n - 1] for i"),
        Fault("hash bits run out early", NODES, "if lev >= HASH_BITS:", "if lev >= HASH_BITS - 4:"),
        Fault("hash bits run out late", NODES, "if lev >= HASH_BITS:", "if lev >= HASH_BITS + W:"),
        Fault("two keys lie in the wrong order", NODES, "(x, y) if i < j else (y, x)", "(x, y)"),
        Fault("a removal leaves a C-node with one key", EDITS, "if size > 1 or first_of_trie:", "if size or first_of_trie:"),
        Fault("an L-node keeps its last entry", EDITS, "new_tnode(entries[0]) if len(entries) == 1 else", ""),
        Fault("an L-node takes a key twice", EDITS, "return new_lnode(replaced(ln.entries, pos, branch))", "return new_lnode((*ln.entries, branch))"),
        Fault("an L-node removes its first entry", EDITS, "removed(ln.entries, pos)", "ln.entries[1:]"),
        Fault("tombs are not cleared away", EDITS, "    edit.settled = True\n    return RESTART", "    return DONE"),
        Fault("a trie's own equality is ignored", "ctrie._ctrie", "edit.equal = self._equal", "edit.equal = None"),
    ],
    ids=lambda fault: fault.name,
)  # fmt: skip
def test_the_fault_is_noticed(fault: Fault) -> None:
    with pytest.raises((AssertionError, AttributeError, LookupError, RuntimeError, ValueError)):
        walk_on(load_twin(fault))


@pytest.mark.once
def test_without_a_fault() -> None:
    walk_on(load_twin())


def walk_on(twin: Any) -> None:
    for universe in UNIVERSES.values():
        walk(universe, seed=1, steps=12, types=(twin.Ctrie, twin.CtrieSet))
