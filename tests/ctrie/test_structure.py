"""The shape of the trie: where keys are, how deep, what collisions become, and that nothing is left after removals."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from ctrie import Ctrie
from ctrie._machine import GROUPS, W
from tests.keys import Key, hash_of, key, unmix
from tests.twins import Fault, load_twin

HASH_BITS = 64


def keys_that_agree_below(bit: int) -> tuple[Key, Key]:
    """Return two keys whose hashes differ in `bit` and agree in all bits below it."""
    common = random.Random(bit).getrandbits(HASH_BITS)
    low = common & (1 << bit) - 1
    return Key("one", low), Key("other", low | 1 << bit)


def colliding(number: int) -> list[Key]:
    return [Key(f"k{i}", 0x0123_4567_89AB_CDEF) for i in range(number)]


def trie_of(*keys: Key, make: Callable[..., Any] = Ctrie) -> Any:
    trie = make(hash=hash_of)
    for k in keys:  # one by one, each on its own path
        trie[k] = k.name
    return trie


def kinds(shape: tuple[Any, ...]) -> Iterator[str]:
    kind, *children = shape
    yield kind
    if kind != "S":
        for child in children:
            yield from kinds(child)


def depth(shape: tuple[Any, ...]) -> int:
    kind, *children = shape
    return 0 if kind == "S" else 1 + max(map(depth, children), default=0)


class TestPlaces:
    @pytest.mark.once
    def test_unmix_is_the_inverse_of_mix(self) -> None:
        mix = load_twin().nodes.mix
        for mixed in (0, 1, GROUPS - 1, 1 << 63, (1 << 64) - 1, 0x0123_4567_89AB_CDEF):
            assert mix(unmix(mixed)) == mixed

    def test_the_hash_is_read_a_group_at_a_time(self) -> None:
        far = trie_of(key("a", 0), key("b", GROUPS - 1), key("c", 7))
        assert far._shape() == ("C", ("S", key("a", 0)), ("S", key("c", 7)), ("S", key("b", GROUPS - 1)))
        near = trie_of(key("a", 3, 1), key("b", 3, 0))
        assert near._shape() == ("C", ("C", ("S", key("b", 3, 0)), ("S", key("a", 3, 1))))

    @pytest.mark.parametrize("bit", range(HASH_BITS))
    def test_keys_that_differ_in_one_bit_part_at_its_level(self, bit: int) -> None:
        trie = trie_of(*keys_that_agree_below(bit))
        assert depth(trie._shape()) == bit // W + 1
        assert set(kinds(trie._shape())) == {"C", "S"}
        trie.check()

    def test_keys_that_differ_in_no_bit_share_an_l_node_below_the_last_one(self) -> None:
        one, other = colliding(2)
        trie = trie_of(one, other)
        assert list(kinds(trie._shape())).count("C") == -(-HASH_BITS // W)
        assert list(kinds(trie._shape())).count("L") == 1
        trie.check()

    def test_python_hashes_spread(self) -> None:
        """Python's hash of an integer is the integer itself: without mixing, a stride would build one long branch."""
        for stride in (1, GROUPS, 1 << 20, 1 << 40):
            trie: Any = Ctrie(dict.fromkeys(range(0, 1000 * stride, stride)))
            assert depth(trie._shape()) <= 6
            trie.check()

    def test_all_sixty_four_bits_of_a_custom_hash_are_used(self) -> None:
        trie: Any = Ctrie({0: "low", 1: "high"}, hash=lambda k: k << 63)
        assert "L" not in kinds(trie._shape())
        assert (trie[0], trie[1]) == ("low", "high")

    def test_a_custom_hash_may_be_negative_or_longer_than_the_hash_bits(self) -> None:
        trie: Any = Ctrie({-1: "minus", 5 + (1 << 70): "long"}, hash=lambda k: k)
        assert trie[-1] == "minus"
        assert trie[5 + (1 << 70)] == "long"
        trie.check()


class TestReturnValues:
    """Each operation that changes a key, in each place that the key can have in the structure."""

    A, A2, A3 = key("a", 1, 1), key("a2", 1, 2), key("a3", 1, 3)
    K1, K2, K3 = colliding(3)

    # The present keys, and the one that is changed.
    PLACES = {
        "in an empty trie": ([], A),
        "alone": ([A], A),
        "where a branch is free": ([A, A2], A3),
        "where an S-node must be split": ([A], A2),
        "in a C-node below": ([A, A2], A),
        "where an L-node must be made": ([K1], K2),
        "in an L-node": ([K1, K2], K1),
        "absent from an L-node": ([K1, K2], K3),
        "in a large L-node": ([K1, K2, K3], K3),
        "where an L-node has just shrunk": ([K1], K1),
    }

    @pytest.fixture(params=PLACES)
    def place(self, request: pytest.FixtureRequest) -> tuple[Any, dict[Key, str], Key]:
        """A trie, a dict with the same content, and a key."""
        keys, looked_at = self.PLACES[request.param]
        trie = trie_of(*keys)
        if "shrunk" in request.param:
            trie[self.K2] = "gone"
            del trie[self.K2]
        return trie, {k: k.name for k in keys}, looked_at

    def same(self, trie: Any, model: dict[Key, str]) -> None:
        assert dict(trie.items()) == model
        assert len(trie) == len(model)
        trie.check()

    def test_put_if_absent(self, place: Any) -> None:
        trie, model, k = place
        assert trie.put_if_absent(k, "new", "absent") == model.get(k, "absent")
        self.same(trie, {k: "new", **model})

    def test_setdefault(self, place: Any) -> None:
        trie, model, k = place
        assert trie.setdefault(k, "new") == model.setdefault(k, "new")
        self.same(trie, model)

    def test_set(self, place: Any) -> None:
        trie, model, k = place
        trie[k] = "new"
        assert trie[k] == "new"
        self.same(trie, {**model, k: "new"})

    def test_replace(self, place: Any) -> None:
        trie, model, k = place
        assert trie.replace(k, "new") is (k in model)
        self.same(trie, {**model, k: "new"} if k in model else model)

    def test_replace_if(self, place: Any) -> None:
        trie, model, k = place
        assert trie.replace_if(k, "another", "new") is False
        self.same(trie, model)
        assert trie.replace_if(k, k.name, "new") is (k in model)
        self.same(trie, {**model, k: "new"} if k in model else model)

    def test_remove_if(self, place: Any) -> None:
        trie, model, k = place
        assert trie.remove_if(k, "another") is False
        self.same(trie, model)
        assert trie.remove_if(k, k.name) is (k in model)
        model.pop(k, None)
        self.same(trie, model)

    def test_pop(self, place: Any) -> None:
        trie, model, k = place
        assert trie.pop(k, "absent") == model.pop(k, "absent")
        self.same(trie, model)

    def test_del(self, place: Any) -> None:
        trie, model, k = place
        if k in model:
            del trie[k], model[k]
        else:
            with pytest.raises(KeyError):
                del trie[k]
        self.same(trie, model)

    def test_compute(self, place: Any) -> None:
        trie, model, k = place
        assert trie.compute(k, lambda value: f"<{value}>", "absent") == f"<{model.get(k, 'absent')}>"
        self.same(trie, {**model, k: f"<{model.get(k, 'absent')}>"})

    def test_get_or_create(self, place: Any) -> None:
        trie, model, k = place
        assert trie.get_or_create(k, lambda: "new") == model.setdefault(k, "new")
        self.same(trie, model)

    def test_popitem(self, place: Any) -> None:
        trie, model, _ = place
        if model:
            k, value = trie.popitem()
            assert model.pop(k) == value
        else:
            with pytest.raises(KeyError):
                trie.popitem()
        self.same(trie, model)

    def test_every_operation_after_every_removal(self, place: Any) -> None:
        """After a removal, any next operation must handle the place that is left."""
        _, model, _ = place
        operations: list[Callable[[Any, Key], Any]] = [
            lambda m, k: m.get(k),
            lambda m, k: m.__setitem__(k, "new"),
            lambda m, k: m.setdefault(k, "new"),
            lambda m, k: m.pop(k, None),
            lambda m, k: len(m),
            lambda m, k: sorted(m.items()),
            lambda m, k: sorted(m.snapshot().items() if hasattr(m, "snapshot") else m.items()),
        ]
        for removed in model:
            for operation in operations:
                for k in (*model, self.A3, self.K3):
                    trie, expected = trie_of(*model), dict(model)
                    del trie[removed], expected[removed]
                    assert operation(trie, k) == operation(expected, k)
                    self.same(trie, expected)


class TestRemoval:
    @pytest.mark.parametrize("seed", range(3))
    def test_nothing_is_left_when_all_keys_are_gone(self, seed: int) -> None:
        keys = [*range(1000), *colliding(10), *keys_that_agree_below(60), *keys_that_agree_below(17)]
        random.Random(seed).shuffle(keys)
        trie: Any = Ctrie(dict.fromkeys(keys), hash=lambda k: hash_of(k) if isinstance(k, Key) else k)
        random.Random(seed + 1).shuffle(keys)
        for k in keys:
            del trie[k]
        assert trie._shape() == ("C",)
        trie.check()

    @pytest.mark.parametrize("seed", range(3))
    def test_the_shape_does_not_tell_what_was_removed(self, seed: int) -> None:
        """After any history, the nodes are those of a trie into which the remaining keys were inserted one by one."""
        chance = random.Random(seed)
        universe = [key(str(number), *(chance.choice((1, 2)) for _ in range(6))) for number in range(60)]
        trie = trie_of(*universe)
        for k in chance.sample(universe, 50):
            if chance.random() < 0.2:
                trie.snapshot()
            trie.pop(k)
            fresh = trie_of(*trie)
            assert sorted(kinds(trie._shape())) == sorted(kinds(fresh._shape()))
            assert depth(trie._shape()) == depth(fresh._shape())
        trie.check()

    def test_the_root_is_never_tombed(self) -> None:
        trie = trie_of(key("a", 1), key("b", 2))
        del trie[key("a", 1)]
        assert trie._shape() == ("C", ("S", key("b", 2)))
        del trie[key("b", 2)]
        assert trie._shape() == ("C",)
        trie.check()

    def test_the_last_key_of_a_long_branch_climbs_to_the_root(self) -> None:
        one, other = keys_that_agree_below(63)
        trie = trie_of(one, other)
        del trie[one]
        assert trie._shape() == ("C", ("S", other))
        trie.check()


class TestCollisions:
    def test_an_update_does_not_add_a_second_entry(self) -> None:
        one, other = colliding(2)
        trie = trie_of(one, other)
        trie[one] = "new"
        assert (trie[one], len(trie)) == ("new", 2)
        del trie[one]
        assert one not in trie
        assert trie[other] == other.name
        trie.check()

    @pytest.mark.parametrize("seed", range(5))
    def test_any_order_of_insertions_and_removals(self, seed: int) -> None:
        chance = random.Random(seed)
        keys = colliding(8)
        trie = trie_of()
        model: dict[Any, Any] = {}
        for _ in range(300):
            k = chance.choice(keys)
            if chance.random() < 0.5:
                assert trie.put_if_absent(k, k.name) == model.get(k)
                model.setdefault(k, k.name)
            else:
                assert trie.pop(k, None) == model.pop(k, None)
            assert dict(trie.items()) == model
        trie.check()

    def test_conditional_operations_on_a_hundred_colliding_keys(self) -> None:
        keys = colliding(100)
        trie = trie_of(*keys)
        for k in keys:
            assert not trie.remove_if(k, "another")
            assert not trie.replace_if(k, "another", "new")
            assert trie.replace_if(k, k.name, "new")
            assert trie.put_if_absent(k, "newer") == "new"
            assert trie.replace(k, "newest")
        assert list(trie.values()) == ["newest"] * 100
        for k in keys:
            assert trie.remove_if(k, "newest")
            assert not trie.remove_if(k, "newest")
        assert not trie
        trie.check()

    def test_a_new_colliding_key_is_stored_with_its_default(self) -> None:
        one, other, third = colliding(3)
        trie = trie_of(one, other)
        assert trie.setdefault(third, "default") == "default"
        assert trie[third] == "default"
        trie.check()

    def test_thousands_of_colliding_keys_need_no_deep_recursion(self) -> None:
        keys = colliding(1500)  # more than the nested calls allowed below; building an L-node is quadratic
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(len_of_stack() + 150)
        try:
            trie = trie_of(*keys)
            assert len(trie) == len(keys)
            assert sum(len(list(part)) for part in trie.split(4)) == len(keys)
            assert all(k in trie for k in keys[::100])
            frozen = trie.readonly_snapshot()
            for k in keys[:100]:
                del trie[k]
            assert sum(1 for _ in trie.diff(frozen)) == 100
            trie.check()
            del trie, frozen
        finally:
            sys.setrecursionlimit(limit)

    def test_custom_equality_holds_among_colliding_keys(self) -> None:
        """Hash modulo 4, equality modulo 8: 0 and 8 are one key, 0 and 4 collide."""
        trie: Any = Ctrie(hash=lambda k: k % 4, equal=lambda one, other: one % 8 == other % 8)
        for k in range(32):
            trie[k] = k
        assert sorted(trie.items()) == [(k, k + 24) for k in range(8)]
        assert trie[12] == 28
        assert trie.replace_if(20, 28, "new")
        assert trie.pop(4) == "new"
        assert 12 not in trie
        assert 8 in trie
        trie.check()

    def test_the_survivor_of_a_collision_is_found_by_the_tries_own_hash(self) -> None:
        """The trie's hash differs from the key's own."""
        trie: Any = Ctrie({"ab": 1, "ba": 2}, hash=lambda k: sum(map(ord, k)))
        assert "L" in kinds(trie._shape())
        del trie["ab"]
        assert trie["ba"] == 2
        trie["ba"] = 3
        assert dict(trie.items()) == {"ba": 3}
        trie.check()

    def test_keys_of_many_types_with_one_hash(self) -> None:
        trie: Any = Ctrie(hash=lambda k: 0)
        keys = [0, "0", b"0", 0.5, None, (0,), frozenset(), 1j, len, object()]
        for value, k in enumerate(keys):
            trie[k] = value
        for value, k in enumerate(keys):
            assert trie[k] == value
        assert len(trie) == len(keys)
        trie.check()


@pytest.mark.once
class TestCheck:
    """`check` names the invariant that is broken. The tests break one by hand, on the interpreted nodes."""

    A, A2, A3, B = key("a", 1, 1), key("a2", 1, 2, 1), key("a3", 1, 2, 2), key("b", 2)
    K1, K2 = colliding(2)

    @pytest.fixture
    def nodes(self) -> Any:
        return load_twin().nodes

    def broken(self, *keys: Key, path: Sequence[int], main: Callable[[Any], Any]) -> Any:
        """A trie of `keys` in which the I-node at the end of `path` (the places of branches) holds `main(held)`, where
        `held` is what it held before."""
        trie = trie_of(*keys, make=load_twin().Ctrie)
        trie.check()
        inode = self.inode(trie, path)
        nodes = load_twin().nodes
        nodes.initialise(inode, main(nodes.load(inode)))
        return trie

    def inode(self, trie: Any, path: Sequence[int]) -> Any:
        nodes = load_twin().nodes
        inode = nodes.load(trie._root)
        for pos in path:
            inode = nodes.load(inode).array[pos]
        return inode

    def test_an_i_node_of_the_present_generation_below_an_older_one(self, nodes: Any) -> None:
        trie = trie_of(self.A, self.A2, self.A3, make=load_twin().Ctrie)
        self.inode(trie, [0]).gen = nodes.Gen()
        with pytest.raises(AssertionError, match="I3"):
            trie.check()

    def test_a_bit_without_a_branch(self, nodes: Any) -> None:
        trie = self.broken(self.A, self.B, path=[], main=lambda cn: nodes.new_cnode(cn.bitmap | 1, cn.array))
        with pytest.raises(AssertionError, match="I4"):
            trie.check()

    def test_a_key_in_the_branch_of_another_hash(self, nodes: Any) -> None:
        trie = self.broken(self.A, self.B, path=[], main=lambda cn: nodes.new_cnode(cn.bitmap, cn.array[::-1]))
        with pytest.raises(AssertionError, match=r"I4: [ab] is"):
            trie.check()

    def test_a_key_below_the_branch_of_another_hash(self, nodes: Any) -> None:
        edits: Any = load_twin().modules[EDITS]
        stray = nodes.new_pair(key("stray", 3, 9), key("stray", 3, 9).hash, "value")
        trie = self.broken(
            self.A, self.A2, path=[0], main=lambda cn: edits.with_branch(cn, 1 << 9, len(cn.array), stray)
        )
        with pytest.raises(AssertionError, match="I4: stray is off the path"):
            trie.check()

    def test_an_l_node_where_the_hash_has_bits_left(self, nodes: Any) -> None:
        trie = self.broken(self.A, self.A2, path=[0], main=lambda cn: nodes.new_lnode(cn.array))
        with pytest.raises(AssertionError, match="I4: an L-node at depth"):
            trie.check()

    def test_an_l_node_of_one_entry(self, nodes: Any) -> None:
        path = [0] * (HASH_BITS // W + 1)
        trie = self.broken(self.K1, self.K2, path=path, main=lambda ln: nodes.new_lnode(ln.entries[:1]))
        with pytest.raises(AssertionError, match="I4: an L-node of one entry"):
            trie.check()

    @pytest.mark.parametrize("left", [0, 1])
    def test_a_c_node_that_should_have_been_tombed(self, nodes: Any, left: int) -> None:
        trie = self.broken(
            self.A, key("a4", 1, 2), path=[0], main=lambda cn: nodes.new_cnode((1 << 1) * left, cn.array[:left])
        )
        with pytest.raises(AssertionError, match="I5"):
            trie.check()

    def test_the_first_i_node_tombed(self, nodes: Any) -> None:
        trie = self.broken(self.A, path=[], main=lambda cn: nodes.new_tnode(cn.array[0]))
        with pytest.raises(AssertionError, match="I5: the first"):
            trie.check()


def len_of_stack() -> int:
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    return depth


def test_len_and_truth_of_empty_tries() -> None:
    emptied: Any = Ctrie({1: 1})
    del emptied[1]
    cleared: Any = Ctrie({1: 1})
    cleared.clear()
    for empty in (Ctrie(), emptied, cleared, Ctrie().snapshot(), cleared.readonly_snapshot()):
        assert len(empty) == 0
        assert not empty
        assert list(empty) == []
        empty.check()


NODES = "ctrie._nodes"
EDITS = "ctrie._edits"


def shape_notices(make: Callable[..., Any]) -> None:
    """Some of the tests above, on a trie of any twin."""
    for bit in (3, 17, 59, 61, 63):
        one, other = keys_that_agree_below(bit)
        trie = trie_of(other, one, make=make)
        assert depth(trie._shape()) == bit // W + 1
        trie.check()
        del trie[one]
        assert trie._shape() == ("C", ("S", other))
        trie.check()
    keys = colliding(4)
    trie = trie_of(*keys, make=make)
    assert list(kinds(trie._shape())).count("C") == -(-HASH_BITS // W)
    trie[keys[1]] = "new"
    for k in reversed(keys):
        assert trie.pop(k) == ("new" if k == keys[1] else k.name)
        trie.check()
    assert trie._shape() == ("C",)
    eights: Any = make(hash=lambda k: k % 4, equal=lambda one, other: one % 8 == other % 8)
    for n in range(32):
        eights[n] = n
    assert sorted(eights.items()) == [(k, k + 24) for k in range(8)]
    eights.check()


@pytest.mark.once
@pytest.mark.parametrize(
    "fault",
    [
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
    shape_notices(load_twin().Ctrie)
    with pytest.raises((AssertionError, AttributeError, KeyError, IndexError)):
        shape_notices(load_twin(fault).Ctrie)
