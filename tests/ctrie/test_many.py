"""Many keys at once: `get_many`, `contains_many`, and a Ctrie that is filled from its leaves up."""

from __future__ import annotations

import gc
import pickle
import random
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ctrie import Ctrie, CtrieSet, drain
from subtrie import SubscriptionTrie
from tests.threads import run_together

pytestmark = pytest.mark.racing


class Key:
    """A key with a chosen hash."""

    def __init__(self, name: str, hash: int) -> None:
        self.name, self.hash = name, hash

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.name.lower() == other.name.lower()


def some_keys(count: int, seed: int) -> list[Any]:
    """Strings, integers, tuples, and keys with few different hashes."""
    chance = random.Random(seed)
    kinds = (str, int, lambda i: (i, str(i)), lambda i: Key(f"k{i}", i % 7))
    return [chance.choice(kinds)(chance.randrange(count)) for _ in range(count)]


class TestManyAnswers:
    @pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 300])
    def test_are_those_of_as_many_gets(self, count: int) -> None:
        keys = some_keys(count, seed=count)
        m = Ctrie({key: i for i, key in enumerate(keys[::2])})
        assert m.get_many(keys, "none") == [m.get(key, "none") for key in keys]
        assert m.get_many(iter(keys)) == [m.get(key) for key in keys]
        assert CtrieSet(keys[::2]).contains_many(keys) == [key in m for key in keys]
        m.check()

    def test_meet_tombs_and_older_generations(self) -> None:
        keys = some_keys(200, seed=1)
        m: Ctrie[Any, Any] = Ctrie()
        for key in keys:
            m[key] = 1
        before = m.readonly_snapshot()
        for key in keys[::3]:
            m.pop(key, None)
        assert m.get_many(keys) == [m.get(key) for key in keys]
        assert before.get_many(keys) == [1] * len(keys)
        m.check()

    def test_raise_what_hashing_raises(self) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            Ctrie().get_many(["a", []])

    def test_while_others_write(self) -> None:
        m = Ctrie({i: 0 for i in range(2000)})
        keys = list(range(2000))

        def write() -> None:
            for key in keys:
                m[key] = 1
                m.pop(key + 10_000, None)
                m.readonly_snapshot()

        writer = threading.Thread(target=write)
        writer.start()
        while writer.is_alive():
            assert set(m.get_many(keys)) <= {0, 1}
        writer.join()
        assert m.get_many(keys) == [1] * 2000
        m.check()


class TestFilledAtOnce:
    @pytest.mark.parametrize("count", [1, 2, 64, 65, 3000])
    @pytest.mark.parametrize("seed", range(3))
    def test_has_the_structure_that_one_by_one_gives(self, count: int, seed: int) -> None:
        keys = some_keys(count, seed)
        pairs = [(key, i) for i, key in enumerate(keys)]
        one_by_one: Ctrie[Any, Any] = Ctrie()
        for key, value in pairs:
            one_by_one[key] = value
        for filled in (Ctrie(pairs), Ctrie(tuple(pairs)), Ctrie(dict(pairs)), Ctrie(iter(pairs))):
            assert filled == one_by_one
            assert {id(key) for key in Ctrie(pairs)} == {id(key) for key in one_by_one}
            filled.check()
        if not any(isinstance(key, Key) for key in keys):
            assert Ctrie(pairs)._shape() == one_by_one._shape()  # type: ignore[attr-defined]

    def test_a_key_given_again_keeps_its_first_object_and_has_the_last_value(self) -> None:
        first, again = Key("a", 5), Key("A", 5)
        m = Ctrie([(first, 1), (Key("b", 5), 2), (again, 3)])
        assert m[again] == 3
        assert len(m) == 2
        assert any(key is first for key in m)
        m.check()

    def test_only_the_same_key(self) -> None:
        m = Ctrie([("a", 1), ("a", 2)])
        assert dict(m) == {"a": 2}
        m.check()

    def test_later_stores_and_snapshots_are_as_ever(self) -> None:
        m = Ctrie({i: i for i in range(500)})
        before = m.readonly_snapshot()
        m.update({i: -i for i in range(1000)})
        assert dict(before) == {i: i for i in range(500)}
        assert dict(m) == {i: -i for i in range(1000)}
        for i in range(1000):
            del m[i]
        assert m._shape() == ("C",)  # type: ignore[attr-defined]
        m.check()

    def test_what_cannot_be_stored_changes_nothing(self) -> None:
        m: Ctrie[Any, Any] = Ctrie()
        with pytest.raises(TypeError, match="unhashable"):
            m.update([("a", 1), ([], 2)])
        assert not m
        m.check()

    @pytest.mark.parametrize("count", [1, 100, 5000])
    def test_objects_are_freed_with_the_trie(self, count: int) -> None:
        """This includes the objects of keys that are given twice, and those that the collector tracks."""
        values = [Key("value", 0) for _ in range(count)]
        alive = [weakref.ref(value) for value in values]
        pairs: list[tuple[Any, Any]] = [(Key(f"k{i % (count // 2 + 1)}", i % 50), v) for i, v in enumerate(values)]
        m = Ctrie(pairs)
        assert dict(m.items()) == dict(pairs)
        m.check()
        del pairs, values
        m.clear()
        drain()
        gc.collect()
        assert not any(reference() for reference in alive)


class TestCollector:
    """It is the user's: code that a filling runs finds it as it was, and whoever switches it meanwhile has the last
    word."""

    FILLINGS: dict[str, Callable[[Any], Any]] = {
        "map of a generator": lambda keys: Ctrie((key, None) for key in keys),
        "map of a dict": lambda keys: Ctrie(dict.fromkeys(keys)),
        "update": lambda keys: Ctrie().update([(key, None) for key in keys]),
        "set of a generator": lambda keys: CtrieSet(key for key in keys),
        "set of a list": lambda keys: CtrieSet(list(keys)),
        "or": lambda keys: CtrieSet("a") | (key for key in keys),
        "and": lambda keys: CtrieSet("a") & (key for key in keys),
        "xor": lambda keys: CtrieSet("a") ^ {key: None for key in keys}.keys(),
        "union": lambda keys: CtrieSet("a").union(keys),
        "subscriptions": lambda keys: SubscriptionTrie().subscribe_many((str(key), key) for key in keys),
        "subscriptions of a list": lambda keys: SubscriptionTrie().subscribe_many([("a", key) for key in keys]),
    }

    @pytest.mark.parametrize("filling", FILLINGS)
    @pytest.mark.parametrize("is_on", [True, False])
    def test_is_as_the_user_set_it(self, filling: str, is_on: bool) -> None:
        seen: list[bool] = []

        class Looking:
            def __hash__(self) -> int:
                seen.append(gc.isenabled())
                return 5

        def keys() -> Iterator[Looking]:
            for _ in range(3):
                seen.append(gc.isenabled())
                yield Looking()

        (gc.enable if is_on else gc.disable)()
        try:
            self.FILLINGS[filling](keys())
            assert seen
            assert set(seen) == {is_on}
            assert gc.isenabled() is is_on
            (gc.disable if is_on else gc.enable)()
            assert gc.isenabled() is not is_on
        finally:
            gc.enable()

    @pytest.mark.parametrize("filling", FILLINGS)
    def test_stays_off_if_somebody_switches_it_off_meanwhile(self, filling: str) -> None:
        def keys() -> Iterator[str]:
            yield "a"
            run_together([gc.disable])
            yield "b"

        try:
            self.FILLINGS[filling](keys())
            assert not gc.isenabled()
        finally:
            gc.enable()


class TestRefusals:
    @pytest.mark.parametrize(
        ("pairs", "error", "message"),
        [([1, 2], TypeError, r"item 0 .* is 1: not a"), ([("a", 1), ("b", 1, 2)], ValueError, r"item 1 .* two parts")],
    )
    def test_what_is_no_pair(self, pairs: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            Ctrie(pairs)

    def test_a_hash_that_is_no_integer(self) -> None:
        with pytest.raises(TypeError, match="returned str, not int"):
            Ctrie(hash=lambda _: "x")["a"]  # type: ignore[arg-type, return-value]

    def test_what_is_no_function(self) -> None:
        with pytest.raises(TypeError, match=r"get_or_create.* not int"):
            Ctrie().get_or_create("a", 5)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"compute.* not int"):
            Ctrie().compute("a", 5)  # type: ignore[call-overload]


@pytest.mark.parametrize("threads", [2, 3])
def test_factories_that_ask_for_one_anothers_keys_are_told(threads: int) -> None:
    m: Ctrie[int, Any] = Ctrie()
    all_began = threading.Barrier(threads)
    refused: list[int] = []

    def make(number: int) -> None:
        def factory() -> str:
            all_began.wait()
            try:
                m.get_or_create((number + 1) % threads, lambda: "made by another")
            except RuntimeError:
                refused.append(number)
            return f"made by {number}"

        m.get_or_create(number, factory)

    makers = [threading.Thread(target=make, args=(number,)) for number in range(threads)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(60)
    assert not any(maker.is_alive() for maker in makers)
    assert refused
    assert dict(m) == {number: f"made by {number}" for number in range(threads)}
    m.check()


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["INode", "Pair", "LNode", "TNode", "Root", "RDCSSDescriptor"])
def test_internals_refuse_pickling(name: str) -> None:
    import ctrie._nodes

    kind = getattr(ctrie._nodes, name)
    with pytest.raises(TypeError, match=r"pickle|by the package alone"):
        pickle.dumps(kind.__new__(kind))
    assert not [each for each in vars(ctrie._nodes) if each.startswith("__pyx_unpickle")]


def test_a_sets_pickle_names_no_builtin() -> None:
    copied = pickle.dumps(CtrieSet("ab"))
    assert b"getattr" not in copied
    assert pickle.loads(copied) == CtrieSet("ab")
