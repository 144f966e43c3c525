"""Snapshots and what is built on them: isolation both ways, read-only ones, differences, parts, copies and pickles."""

from __future__ import annotations

import copy
import gc
import pickle
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from ctrie import Ctrie, CtrieSet
from tests.keys import Key, hash_of, key
from tests.twins import Fault, load_twin

READ_ONLY = "read-only snapshot"


def content(number: int = 100) -> dict[int, str]:
    return {k: str(k) for k in range(number)}


def changed(trie: Any, seed: int = 0) -> None:
    """Change a trie with `content` at many places, in many ways."""
    chance = random.Random(seed)
    for k in chance.sample(range(150), 60):
        chance.choice(  # type: ignore[no-untyped-call]
            [
                lambda k: trie.__setitem__(k, "set"),
                lambda k: trie.pop(k, None),
                lambda k: trie.replace(k, "replaced"),
                lambda k: trie.setdefault(k, "default"),
                lambda k: trie.compute(k, lambda value: f"{value}!"),
            ]
        )(k)


class TestIsolation:
    @pytest.mark.parametrize("take", ["snapshot", "readonly_snapshot"])
    @pytest.mark.parametrize("seed", range(3))
    def test_a_snapshot_does_not_see_what_is_written_later(self, take: str, seed: int) -> None:
        trie: Any = Ctrie(content())
        taken = getattr(trie, take)()
        changed(trie, seed)
        assert taken == content()
        assert sorted(taken) == sorted(content())
        assert len(taken) == 100
        assert all(taken[k] == value for k, value in content().items())
        assert 120 not in taken
        taken.check()
        trie.check()

    @pytest.mark.parametrize("seed", range(3))
    def test_a_source_does_not_see_what_is_written_to_its_snapshot(self, seed: int) -> None:
        trie: Any = Ctrie(content())
        fork = trie.snapshot()
        changed(fork, seed)
        assert trie == content()
        assert fork != trie
        fork.check()
        trie.check()

    def test_both_may_write_the_same_keys(self) -> None:
        trie: Any = Ctrie(content())
        fork = trie.snapshot()
        for k in range(100):
            trie[k] = "source"
            fork[k] = "fork"
        assert set(trie.values()) == {"source"}
        assert set(fork.values()) == {"fork"}
        trie.clear()
        assert len(fork) == 100
        fork.check()

    def test_an_insertion_after_the_snapshot_is_not_in_it(self) -> None:
        trie: Any = Ctrie({1: "one"})
        frozen = trie.readonly_snapshot()
        trie[2] = "two"
        assert (frozen.get(2), list(frozen), len(frozen)) == (None, [1], 1)

    def test_of_a_cleared_and_refilled_trie(self) -> None:
        trie: Any = Ctrie(content())
        before = trie.readonly_snapshot()
        trie.clear()
        between = trie.readonly_snapshot()
        trie.update(dict.fromkeys(range(10), "again"))
        assert before == content()
        assert between == {}
        assert trie == dict.fromkeys(range(10), "again")
        for each in (before, between, trie):
            each.check()

    @pytest.mark.parametrize("first", ["snapshot", "readonly_snapshot"])
    @pytest.mark.parametrize("second", ["snapshot", "readonly_snapshot"])
    def test_of_a_snapshot(self, first: str, second: str) -> None:
        trie: Any = Ctrie(content())
        taken = getattr(trie, first)()
        again = getattr(taken, second)()
        changed(trie)
        if first == "snapshot":
            taken[0] = "taken"
        if second == "snapshot":
            again[0] = "again"
        assert taken == {**content(), 0: "taken" if first == "snapshot" else "0"}
        assert again == {**content(), 0: "again" if second == "snapshot" else "0"}
        for each in (trie, taken, again):
            each.check()

    def test_a_chain_of_snapshots_of_snapshots(self) -> None:
        models = [content()]
        tries: list[Any] = [Ctrie(content())]
        for link in range(10):
            tries.append(tries[-1].readonly_snapshot().snapshot() if link % 2 else tries[-1].snapshot())
            models.append(dict(models[-1]))
            for older in (link, link + 1):
                tries[older][link] = models[older][link] = f"written to {older} when there were {link}"
                models[older].pop(link + 50, None)
                tries[older].pop(link + 50, None)
        for trie, model in zip(tries, models, strict=True):
            assert trie == model
            trie.check()

    def test_of_an_empty_trie(self) -> None:
        trie: Any = Ctrie()
        fork, frozen = trie.snapshot(), trie.readonly_snapshot()
        fork[1] = trie[2] = None
        assert (list(fork), list(trie), list(frozen)) == ([1], [2], [])

    def test_a_snapshot_keeps_hash_and_equality(self) -> None:
        trie: Any = Ctrie(
            {"a": 1}, hash=lambda k: hash(k.lower()), equal=lambda one, other: one.lower() == other.lower()
        )
        for taken in (trie.snapshot(), trie.readonly_snapshot(), trie.snapshot().readonly_snapshot()):
            assert taken["A"] == 1
            taken.check()


class TestReadOnly:
    MUTATORS: dict[str, Callable[[Any], Any]] = {
        "set": lambda m: m.__setitem__(1, 2),
        "del": lambda m: m.__delitem__(1),
        "del of an absent key": lambda m: m.__delitem__(9),
        "pop": lambda m: m.pop(1),
        "pop with default": lambda m: m.pop(9, None),
        "popitem": lambda m: m.popitem(),
        "clear": lambda m: m.clear(),
        "update": lambda m: m.update({3: 3}),
        "update with nothing": lambda m: m.update(),
        "update with an empty mapping": lambda m: m.update({}),
        "in-place union": lambda m: m.__ior__({3: 3}),
        "in-place union with nothing": lambda m: m.__ior__({}),
        "setdefault": lambda m: m.setdefault(3, 3),
        "setdefault of a present key": lambda m: m.setdefault(1, 3),
        "put_if_absent": lambda m: m.put_if_absent(3, 3),
        "put_if_absent of a present key": lambda m: m.put_if_absent(1, 3),
        "replace": lambda m: m.replace(1, 3),
        "replace of an absent key": lambda m: m.replace(9, 3),
        "replace_if": lambda m: m.replace_if(1, 1, 3),
        "replace_if of another value": lambda m: m.replace_if(1, 9, 3),
        "remove_if": lambda m: m.remove_if(1, 1),
        "remove_if of another value": lambda m: m.remove_if(1, 9),
        "compute": lambda m: m.compute(1, lambda value: 3),
        "get_or_create": lambda m: m.get_or_create(3, lambda: 3),
        "get_or_create of a present key": lambda m: m.get_or_create(1, lambda: 3),
    }

    @pytest.mark.parametrize("mutate", MUTATORS)
    @pytest.mark.parametrize("source", [{1: 1, 2: 2}, {}], ids=["full", "empty"])
    def test_every_mutator_raises(self, mutate: str, source: dict[int, int]) -> None:
        trie: Any = Ctrie(source)
        frozen = trie.readonly_snapshot()
        for read_only in (frozen, frozen.readonly_snapshot(), copy.copy(frozen), pickle.loads(pickle.dumps(frozen))):
            with pytest.raises(TypeError, match=READ_ONLY):
                self.MUTATORS[mutate](read_only)
            assert read_only == source
        assert trie == source
        trie.check()

    def test_the_source_and_snapshots_of_it_can_be_changed(self) -> None:
        trie: Any = Ctrie({1: 1})
        frozen = trie.readonly_snapshot()
        fork = frozen.snapshot()
        fork[1] = 2
        trie[1] = 3
        assert (trie[1], frozen[1], fork[1]) == (3, 1, 2)
        union = frozen | {2: 2}
        union[3] = 3
        assert frozen == {1: 1}

    def test_a_factory_is_not_called_in_vain(self) -> None:
        calls: list[None] = []
        with pytest.raises(TypeError):
            Ctrie().readonly_snapshot().get_or_create(1, lambda: calls.append(None))
        with pytest.raises(TypeError):
            Ctrie().readonly_snapshot().compute(1, lambda value: calls.append(None))
        assert calls == []


class TestDiff:
    def test_of_random_changes(self) -> None:
        for seed in range(5):
            trie: Any = Ctrie(content())
            before = trie.readonly_snapshot()
            changed(trie, seed)
            old, new = dict(before.items()), dict(trie.items())
            absent = object()
            expected = {
                k: (old.get(k, absent), new.get(k, absent))
                for k in old | new
                if old.get(k, absent) != new.get(k, absent)
            }
            found = list(trie.diff(before, absent))
            assert {k: (was, now) for k, was, now in found} == expected
            assert len(found) == len(expected)
            assert Counter(before.diff(trie, absent)) == Counter((k, now, was) for k, was, now in found)

    def test_of_nothing(self) -> None:
        trie: Any = Ctrie(content())
        assert list(trie.diff(trie)) == []
        assert list(trie.diff(trie.snapshot())) == []
        assert list(Ctrie().diff(Ctrie())) == []

    def test_from_and_to_nothing(self) -> None:
        trie: Any = Ctrie(content(10))
        assert sorted(trie.diff(Ctrie())) == [(k, None, str(k)) for k in range(10)]
        assert sorted(Ctrie().diff(trie)) == [(k, str(k), None) for k in range(10)]

    def test_what_was_changed_and_changed_back_is_no_change(self) -> None:
        trie: Any = Ctrie(content())
        before = trie.readonly_snapshot()
        trie[5] = "5".strip()
        trie[6] = "other"
        trie[6] = str(6)
        del trie[7]
        trie[7] = str(7)
        trie[200] = None
        del trie[200]
        assert list(trie.diff(before)) == []

    def test_equal_values_are_no_change_and_none_is_a_value(self) -> None:
        trie: Any = Ctrie({1: [1], 2: None})
        before = trie.readonly_snapshot()
        trie[1] = [1]
        trie[2] = 0
        trie[3] = None
        absent = object()
        assert sorted(trie.diff(before, absent), key=str) == [(2, None, 0), (3, absent, None)]

    @pytest.mark.parametrize("low", [0, 5, 40, 64])
    def test_where_the_shape_differs(self, low: int) -> None:
        """Keys that part at any depth, added and removed: an S-node on one side, an I-node or nothing on the other."""
        keys = [Key(f"k{i}", (i << low) & ((1 << 64) - 1) if low < 64 else 3) for i in range(6)]
        for there in range(1 << 6):
            old = {k: "old" for i, k in enumerate(keys) if there >> i & 1}
            trie: Any = Ctrie(old, hash=hash_of)
            before = trie.readonly_snapshot()
            for k in keys:
                if k in old:
                    del trie[k]
                else:
                    trie[k] = "new"
            expected = {(k, "old", None) if k in old else (k, None, "new") for k in keys}
            assert set(trie.diff(before)) == expected
            trie.check()

    def test_both_sides_are_as_they_were_at_the_call(self) -> None:
        trie: Any = Ctrie({1: 1, 2: 2})
        older = trie.snapshot()
        trie[3] = 3
        changes = trie.diff(older)
        trie[4] = older[5] = 0
        assert list(changes) == [(3, None, 3)]

    def test_between_forks_of_one_trie(self) -> None:
        trie: Any = Ctrie(content())
        one, other = trie.snapshot(), trie.snapshot()
        one[1], other[2] = "one", "other"
        assert sorted(one.diff(other)) == [(1, "1", "one"), (2, "other", "2")]

    def test_between_tries_without_a_common_ancestor(self) -> None:
        one: Any = Ctrie({1: 1, 2: 2, 3: 3})
        assert sorted(one.diff(Ctrie({2: 2, 3: 0, 4: 4}))) == [(1, None, 1), (3, 0, 3), (4, 4, None)]

    def test_custom_equality(self) -> None:
        trie: Any = Ctrie({"a": 1}, hash=lambda k: 0, equal=lambda one, other: one.lower() == other.lower())
        before = trie.readonly_snapshot()
        del trie["a"]
        trie["A"] = 1
        assert list(trie.diff(before)) == []
        trie["b"] = 2
        trie["A"] = 3
        assert sorted(trie.diff(before)) == [("A", 1, 3), ("b", None, 2)]

    def test_of_one_that_compares_its_keys_otherwise(self) -> None:
        with pytest.raises(ValueError, match="the same `hash` and `equal`"):
            Ctrie().diff(Ctrie(hash=lower_hash))

    def test_it_takes_another_ctrie(self) -> None:
        with pytest.raises(TypeError, match=r"diff\(\) takes a Ctrie, not dict"):
            Ctrie().diff({})  # type: ignore[call-overload]

    @pytest.mark.once
    def test_it_looks_only_where_something_was_changed(self) -> None:
        """The test counts the accesses of slots on the interpreted twin."""
        twin = load_twin()
        trie = twin.Ctrie(dict.fromkeys(range(3000)))
        before = trie.readonly_snapshot()
        for k in range(0, 3000, 1000):
            trie[k] = "new"
        accesses = twin.count(lambda: list(trie.diff(before)))
        assert accesses < twin.count(lambda: list(trie)) / 4


class TestSplit:
    @pytest.mark.parametrize("parts", [1, 2, 3, 4, 7, 64, 1000])
    @pytest.mark.parametrize("size", [0, 1, 2, 5, 100, 3000])
    def test_the_parts_are_the_whole_each_pair_once(self, size: int, parts: int) -> None:
        trie: Any = Ctrie(content(size))
        split = trie.split(parts)
        assert len(split) <= parts
        pairs = [pair for part in split for pair in part]
        assert sorted(pairs) == sorted(content(size).items())

    @pytest.mark.parametrize("parts", range(1, 20))
    def test_inside_a_collision_and_along_a_lone_branch(self, parts: int) -> None:
        keys = [*(Key(f"k{i}", 5) for i in range(10)), key("b", 1, 1, 1), key("c", 1, 1, 2)]
        trie: Any = Ctrie(dict.fromkeys(keys), hash=hash_of)
        assert sorted(k for part in trie.split(parts) for k, _ in part) == sorted(keys)

    def test_the_parts_are_of_similar_size(self) -> None:
        sizes = [len(list(part)) for part in Ctrie(content(10_000)).split(8)]
        assert len(sizes) == 8
        assert max(sizes) < 2 * min(sizes)

    def test_the_parts_advance_independently_and_are_of_one_instant(self) -> None:
        trie: Any = Ctrie(content())
        one, other = trie.split(2)
        first = next(one)
        trie.clear()
        assert sorted([first, *other, *one]) == sorted(content().items())

    @pytest.mark.parametrize("parts", [0, -1])
    def test_less_than_one_part(self, parts: int) -> None:
        with pytest.raises(ValueError, match=f"at least one part, not {parts}"):
            Ctrie().split(parts)


def lower_hash(k: str) -> int:
    return len(k)


def lower_equal(one: str, other: str) -> bool:
    return one.lower() == other.lower()


class Holder:
    def __init__(self) -> None:
        self.trie: Any = Ctrie({1: self})


class NamedCtrie(Ctrie):
    name = "none"


class NamedSet(CtrieSet):
    name = "none"


class TestCopyAndPickle:
    WAYS: dict[str, Callable[[Any], Any]] = {
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "pickle": lambda trie: pickle.loads(pickle.dumps(trie)),
        "pickle 2": lambda trie: pickle.loads(pickle.dumps(trie, 2)),
        "pickle twice": lambda trie: pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(trie)))),
    }

    @pytest.fixture(params=WAYS)
    def again(self, request: pytest.FixtureRequest) -> Callable[[Any], Any]:
        return self.WAYS[request.param]

    @pytest.mark.parametrize("source", [{}, {None: None}, content(), {(): [1], "k": Ctrie({1: 2})}])
    def test_the_content_is_the_same(self, again: Any, source: dict[Any, Any]) -> None:
        trie: Any = Ctrie(source)
        made = again(trie)
        assert type(made) is Ctrie
        assert made == trie == source
        assert len(made) == len(trie)
        made.check()

    def test_it_can_be_changed_independently(self, again: Any) -> None:
        trie: Any = Ctrie(content())
        made = again(trie)
        made[1] = "made"
        trie[2] = "source"
        assert (trie[1], made[2]) == ("1", "2")

    def test_it_keeps_hash_and_equality(self, again: Any) -> None:
        trie: Any = Ctrie({"Ab": 1, "cd": 2}, hash=lower_hash, equal=lower_equal)
        made = again(trie)
        assert made["aB"] == 1
        made["AB"] = 3
        assert sorted(made.items()) == [("Ab", 3), ("cd", 2)]
        made.check()

    def test_a_read_only_one_stays_so(self, again: Any) -> None:
        made = again(Ctrie(content()).readonly_snapshot())
        assert made == content()
        with pytest.raises(TypeError, match=READ_ONLY):
            made[1] = 1

    def test_one_of_the_source_at_that_instant(self, again: Any) -> None:
        trie: Any = Ctrie(content())
        made = again(trie)
        trie.clear()
        assert made == content()

    def test_a_copy_shares_the_values_and_a_deep_one_does_not(self) -> None:
        value = [1]
        trie: Any = Ctrie({1: value})
        assert copy.copy(trie)[1] is value
        deep = copy.deepcopy(trie)
        assert deep[1] == value
        assert deep[1] is not value

    @pytest.mark.parametrize("way", ["deepcopy", "pickle"])
    def test_what_holds_itself(self, way: str) -> None:
        again = self.WAYS[way]
        trie: Any = Ctrie()
        trie[1] = trie
        made = again(trie)
        assert made[1] is made
        holder = again(Holder())
        assert holder.trie[1] is holder
        made.clear()
        trie.clear()
        gc.collect()

    @pytest.mark.parametrize("way", ["deepcopy", "pickle"])
    def test_what_a_read_only_one_holds_leads_back_to_a_read_only_one(self, way: str) -> None:
        holder = Holder()
        holder.trie = holder.trie.readonly_snapshot()
        made = self.WAYS[way](holder.trie)
        assert made[1].trie is made
        with pytest.raises(TypeError, match=READ_ONLY):
            made[1].trie[2] = 2

    @pytest.mark.parametrize("kind", [NamedCtrie, NamedSet])
    def test_a_subclass_stays_one_and_keeps_its_attributes(self, again: Any, kind: Any) -> None:
        source: Any = kind({1: "one"})
        source.name = "numbers"
        for made in (again(source), source.snapshot(), source.readonly_snapshot()):
            assert type(made) is kind
            assert made.name == "numbers"
            assert made == source
            made.check()

    def test_functions_that_cannot_be_pickled_are_named(self) -> None:
        with pytest.raises((pickle.PicklingError, AttributeError, TypeError), match="lambda"):
            pickle.dumps(Ctrie({1: 1}, hash=lambda k: 0))


# ------------------------------------------------------------------------------------------------- faults put back

NODES = "ctrie._nodes"


def snapshots_are_apart(make: Callable[..., Any]) -> None:
    """Some of the tests above, on a trie of any twin."""
    trie = make(content())
    frozen = trie.readonly_snapshot()
    trie[0] = "source"
    fork = trie.snapshot()
    for k in range(0, 100, 2):
        trie[k] = "source"
        fork[k] = "fork"
        fork.pop(k + 1)
    trie.update(dict.fromkeys(range(200, 300)))
    assert dict(frozen.items()) == content()
    assert dict(fork.items()) == dict.fromkeys(range(0, 100, 2), "fork")
    assert all(trie[k] == ("source" if k % 2 == 0 else str(k)) for k in range(100))
    differences = {k for k, _, _ in fork.diff(frozen)}
    assert differences == set(range(100))
    assert sorted(k for part in trie.split(5) for k, _ in part) == [*range(100), *range(200, 300)]
    again = frozen.snapshot()
    again[0] = "again"
    assert frozen[0] == "0"
    for each in (trie, frozen, fork, again):
        each.check()


@pytest.mark.once
@pytest.mark.parametrize(
    "fault",
    [
        Fault("a read-only snapshot keeps the new root", NODES, "new_root(snapshot_root(root), True)", "new_root(snapshot_root(root) and rdcss_read_root(root), True)"),
        Fault("a fork shares the root", NODES, "return new_root(new_inode(gcas_read(new_root(old, True), old), Gen()), False)", "return root"),
        Fault("a fork shares the node of its source", NODES, "return new_root(new_inode(gcas_read(new_root(old, True), old), Gen()), False)", "return new_root(rdcss_read_root(root), False)"),
        Fault("a fork is of the generation of its source", NODES, "new_root(new_inode(gcas_read(new_root(old, True), old), Gen()), False)", "new_root(old, False)"),
        Fault("a snapshot starts no generation", NODES, "new_inode(main, Gen())", "new_inode(main, old.gen)"),
        Fault("differences skip what has the same shape", NODES, "        if old_main is new_main:", "        if getattr(old_main, 'bitmap', 0) == getattr(new_main, 'bitmap', 1):"),
        Fault("a part is left out", NODES, "nodes[i::n] for i in range(min(", "nodes[i::n] for i in range(1, min("),
        Fault("a part is taken twice", NODES, "[nodes[i::n] for i", "[nodes[i :: n - 1] for i"),
    ],
    ids=lambda fault: fault.name,
)  # fmt: skip
def test_the_fault_is_noticed(fault: Fault) -> None:
    snapshots_are_apart(load_twin().Ctrie)
    with pytest.raises((AssertionError, KeyError)):
        load_twin(fault).count(lambda: snapshots_are_apart(load_twin(fault).Ctrie))
