"""`Ctrie` as a mapping, on one thread: what it shares with dict, and where it differs."""

from __future__ import annotations

import collections.abc
import math
import operator
import unittest
import weakref
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, get_args

import pytest

from ctrie import Ctrie


@pytest.fixture(params=["spread", "colliding", "after a snapshot"])
def make(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A function that makes a Ctrie with the arguments of dict()."""

    def spread(content: Any = ()) -> Any:
        return Ctrie(content)

    def colliding(content: Any = ()) -> Any:
        return Ctrie(content, hash=lambda k: 0 * hash(k))

    def after_a_snapshot(content: Any = ()) -> Any:
        trie: Any = Ctrie(content)
        trie.snapshot()
        return trie

    return {"spread": spread, "colliding": colliding, "after a snapshot": after_a_snapshot}[request.param]


try:
    from test import mapping_tests
except ImportError:  # some distributions of Python omit it
    mapping_tests = None

if mapping_tests is not None:

    class TestMappingProtocolOfCPython(mapping_tests.TestHashMappingProtocol):  # type: ignore[misc, unused-ignore]
        """CPython's own tests for dict-like types."""

        type2test = Ctrie

        # A Ctrie has no `fromkeys`, since `hash` and `equal` are keyword arguments, and no `copy`, since copy.copy and
        # `snapshot` make copies.
        test_fromkeys = None
        test_copy = None

        def test_constructor(self) -> None:
            self.assertEqual(Ctrie(), self._empty_mapping())
            self.assertEqual(Ctrie({"x": 1, "y": 2}), {"x": 1, "y": 2})
            self.assertRaises(TypeError, lambda: Ctrie(x=1))  # type: ignore[call-arg]

        def test_mutatingiteration(self) -> None:
            """An iterator shows one instant: changes do not disturb it, and raise no error."""
            d: Any = self._full_mapping({1: 1})
            for key in d:
                d[key + 1] = 1
            self.assertEqual(d, {1: 1, 2: 1})

        def test_repr(self) -> None:
            """The text is like that of a dict, inside the name of the type."""
            d: Any = self._full_mapping({1: 2})
            self.assertEqual(repr(d), "Ctrie({1: 2})")
            self.assertEqual(repr(self._empty_mapping()), "Ctrie()")
            d[1] = d
            self.assertEqual(repr(d), "Ctrie({1: Ctrie({...})})")

        def test_popitem(self) -> None:
            """It may take any pair, so it may take different pairs from two tries with the same content."""
            mapping_tests.BasicTestMappingProtocol.test_popitem(self)
            d = self._full_mapping({repr(number): number for number in range(100)})
            self.assertEqual(sorted(d.popitem()[1] for _ in range(100)), list(range(100)))
            self.assertFalse(d)

        def tearDown(self) -> None:
            unittest.TestCase.tearDown(self)


ABSENT = object()

# Keys, present values, values to store.
NONE_GRID = [(k, present, new) for k in (None, "k") for present in (ABSENT, None, "v") for new in (None, "n")]


class TestNone:
    """None is an ordinary key and value; absent is something else."""

    @pytest.fixture(
        params=NONE_GRID, ids=lambda cell: "-".join("absent" if part is ABSENT else str(part) for part in cell)
    )
    def cell(self, request: pytest.FixtureRequest, make: Any) -> Any:
        k, present, new = request.param
        model = {"other": "o"} if present is ABSENT else {"other": "o", k: present}
        return make(model), model, k, new

    def same(self, trie: Any, model: Any, k: Any) -> None:
        assert dict(trie.items()) == model
        assert len(trie) == len(model)
        assert (k in trie) is (k in model)
        assert trie.get(k, ABSENT) is model.get(k, ABSENT)
        if k in model:
            assert trie[k] is model[k]
        trie.check()

    def test_read(self, cell: Any) -> None:
        trie, model, k, _ = cell
        self.same(trie, model, k)

    def test_set(self, cell: Any) -> None:
        trie, model, k, new = cell
        trie[k] = new
        self.same(trie, {**model, k: new}, k)

    def test_put_if_absent(self, cell: Any) -> None:
        trie, model, k, new = cell
        assert trie.put_if_absent(k, new, ABSENT) is model.get(k, ABSENT)
        self.same(trie, {k: new, **model}, k)

    def test_setdefault(self, cell: Any) -> None:
        trie, model, k, new = cell
        assert trie.setdefault(k, new) is model.setdefault(k, new)
        self.same(trie, model, k)

    def test_replace(self, cell: Any) -> None:
        trie, model, k, new = cell
        assert trie.replace(k, new) is (k in model)
        self.same(trie, {**model, k: new} if k in model else model, k)

    @pytest.mark.parametrize("old", [None, "v"])
    def test_replace_if(self, cell: Any, old: Any) -> None:
        trie, model, k, new = cell
        matches = model.get(k, ABSENT) == old
        assert trie.replace_if(k, old, new) is matches
        self.same(trie, {**model, k: new} if matches else model, k)

    @pytest.mark.parametrize("old", [None, "v"])
    def test_remove_if(self, cell: Any, old: Any) -> None:
        trie, model, k, _ = cell
        matches = model.get(k, ABSENT) == old
        assert trie.remove_if(k, old) is matches
        if matches:
            del model[k]
        self.same(trie, model, k)

    def test_pop(self, cell: Any) -> None:
        trie, model, k, _ = cell
        assert trie.pop(k, ABSENT) is model.pop(k, ABSENT)
        self.same(trie, model, k)

    def test_compute(self, cell: Any) -> None:
        trie, model, k, new = cell
        seen = []
        assert trie.compute(k, lambda value: seen.append(value) or new, ABSENT) is new
        assert seen == [model.get(k, ABSENT)]
        self.same(trie, {**model, k: new}, k)

    def test_get_or_create(self, cell: Any) -> None:
        trie, model, k, new = cell
        assert trie.get_or_create(k, lambda: new) is model.setdefault(k, new)
        self.same(trie, model, k)

    def test_popitem(self, cell: Any) -> None:
        trie, model, k, _ = cell
        popped = dict(trie.popitem() for _ in range(len(model)))
        assert popped == model
        self.same(trie, {}, k)


class TestKeyIdentity:
    """As in a dict, the first of several equal keys stays as long as the key exists, whatever stores a value."""

    STORES: dict[str, Callable[[Any, Any], Any]] = {
        "set": lambda m, k: m.__setitem__(k, "new"),
        "put_if_absent": lambda m, k: m.put_if_absent(k, "new"),
        "setdefault": lambda m, k: m.setdefault(k, "new"),
        "replace": lambda m, k: m.replace(k, "new"),
        "replace_if": lambda m, k: m.replace_if(k, "old", "new"),
        "compute": lambda m, k: m.compute(k, lambda value: "new"),
        "get_or_create": lambda m, k: m.get_or_create(k, lambda: "new"),
        "update": lambda m, k: m.update({k: "new"}),
    }

    @pytest.mark.parametrize("store", STORES)
    @pytest.mark.parametrize("equal_key", [True, 1.0, 1 + 0j])
    def test_the_first_key_stays(self, make: Any, store: str, equal_key: Any) -> None:
        trie = make({1: "old"})
        self.STORES[store](trie, equal_key)
        (kept,) = trie
        assert type(kept) is int
        trie.check()

    @pytest.mark.parametrize("store", ["set", "put_if_absent", "setdefault", "compute", "get_or_create", "update"])
    def test_after_a_removal_the_next_key_stays(self, make: Any, store: str) -> None:
        trie = make({1: "old"})
        del trie[1.0]
        self.STORES[store](trie, True)
        (kept,) = trie
        assert kept is True
        trie.check()

    def test_a_key_that_is_unequal_to_itself_is_found_by_identity(self, make: Any) -> None:
        nan = float("nan")
        trie = make({nan: 1})
        assert trie[nan] == 1
        trie[nan] = 2
        assert list(trie.items()) == [(nan, 2)]
        assert float("nan") not in trie
        assert trie.pop(nan) == 2


class TestValues:
    def test_a_value_that_is_unequal_to_itself_is_compared_by_identity_first(self, make: Any) -> None:
        nan, other_nan = float("nan"), float("nan")
        trie = make({"k": nan})
        assert not trie.replace_if("k", other_nan, 1)
        assert not trie.remove_if("k", other_nan)
        assert trie.replace_if("k", nan, other_nan)
        assert trie["k"] is other_nan
        assert math.isnan(trie.compute("k", lambda value: value + 1))
        assert trie.remove_if("k", trie["k"])
        assert not trie
        trie.check()

    def test_equal_values_match(self, make: Any) -> None:
        trie = make({"k": [1]})
        assert trie.replace_if("k", [1], [2])
        assert trie.remove_if("k", [2])

    def test_values_need_no_equality_to_be_stored(self, make: Any) -> None:
        class Incomparable:
            def __eq__(self, other: object) -> bool:
                raise AssertionError("compared")

            __hash__ = None  # type: ignore[assignment]

        value = Incomparable()
        trie = make()
        trie["k"] = value
        trie["k"] = Incomparable()
        trie.replace("k", value)
        trie.compute("k", lambda found: found)
        assert trie.setdefault("k") is value
        assert trie.replace_if("k", value, 1)
        trie.check()


class TestErrors:
    @pytest.mark.parametrize(
        "operation",
        [
            lambda m, k: m[k],
            lambda m, k: m.get(k),
            lambda m, k: k in m,
            lambda m, k: m.__setitem__(k, 1),
            lambda m, k: m.pop(k, None),
            lambda m, k: m.setdefault(k, 1),
            lambda m, k: m.put_if_absent(k, 1),
            lambda m, k: m.replace(k, 1),
            lambda m, k: m.replace_if(k, 1, 2),
            lambda m, k: m.remove_if(k, 1),
            lambda m, k: m.compute(k, lambda value: 1),
            lambda m, k: m.get_or_create(k, lambda: 1),
            lambda m, k: m.update([(k, 1)]),
        ],
    )
    def test_an_unhashable_key_is_refused_and_changes_nothing(self, make: Any, operation: Any) -> None:
        trie = make({1: 1})
        with pytest.raises(TypeError, match="unhashable"):
            operation(trie, [])
        assert dict(trie.items()) == {1: 1}
        trie.check()

    @pytest.mark.parametrize("operation", [operator.getitem, operator.delitem, lambda m, k: m.pop(k)])
    def test_an_absent_key_is_named(self, make: Any, operation: Any) -> None:
        with pytest.raises(KeyError) as caught:
            operation(make({1: 1}), ("absent", 2))
        assert caught.value.args == (("absent", 2),)

    def test_popitem_of_nothing(self, make: Any) -> None:
        with pytest.raises(KeyError, match="empty"):
            make().popitem()

    @pytest.mark.parametrize("name", ["hash", "equal"])
    def test_hash_and_equal_must_be_callable(self, name: str) -> None:
        with pytest.raises(TypeError, match=f"{name} must be callable or None, not int"):
            Ctrie(**{name: 1})  # type: ignore[arg-type]

    def test_a_hash_must_be_an_integer(self) -> None:
        with pytest.raises(TypeError):
            Ctrie({"k": 1}, hash=lambda k: k)

    @pytest.mark.parametrize("pairs", [42, [1], [(1,)], [(1, 2, 3)], ["a"]])
    def test_what_is_no_mapping_and_no_pairs(self, make: Any, pairs: Any) -> None:
        trie = make({1: 1})
        with pytest.raises((TypeError, ValueError)):
            trie.update(pairs)
        assert dict(trie.items()) == {1: 1}

    def test_an_update_that_fails_half_way_keeps_what_came_before(self, make: Any) -> None:
        """As in a dict: each pair is stored by itself."""
        trie = make()
        with pytest.raises(ZeroDivisionError):
            trie.update((number, 1 // (2 - number)) for number in range(5))
        assert set(trie) == {0, 1}
        trie.check()

    def test_a_ctrie_is_unhashable(self) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            hash(Ctrie())

    @pytest.mark.parametrize("call", [lambda m: m.get(), lambda m: m.put_if_absent(1), lambda m: m.pop(1, 2, 3)])
    def test_missing_or_superfluous_arguments(self, call: Any) -> None:
        with pytest.raises(TypeError):
            call(Ctrie())


class TestConstruction:
    CONTENT = {"a": 1, "b": 2, None: 3}

    @pytest.mark.parametrize(
        "source", [CONTENT, list(CONTENT.items()), MappingProxyType(CONTENT), Ctrie(CONTENT), Ctrie(CONTENT).items()]
    )
    def test_from_what_dict_takes(self, source: Any) -> None:
        assert dict(Ctrie(source).items()) == self.CONTENT

    def test_of_nothing(self) -> None:
        assert len(Ctrie()) == 0

    def test_from_a_generator(self) -> None:
        assert dict(Ctrie((k, k) for k in "abc").items()) == {"a": "a", "b": "b", "c": "c"}

    def test_from_keys_and_items_of_an_object_that_is_no_mapping(self) -> None:
        class Keyed:
            def keys(self) -> str:
                return "ab"

            def __getitem__(self, k: str) -> str:
                return k.upper()

        assert dict(Ctrie(Keyed()).items()) == {"a": "A", "b": "B"}  # type: ignore[arg-type]

    def test_it_does_not_share_with_its_source(self) -> None:
        source: Any = Ctrie(self.CONTENT)
        made: Any = Ctrie(source)
        made["a"] = source["b"] = "changed"
        assert (source["a"], made["b"]) == (1, 2)

    def test_an_object_that_was_never_initialised_is_empty_and_cannot_be_changed(self) -> None:
        trie: Any = Ctrie.__new__(Ctrie)
        assert len(trie) == 0
        assert not trie
        assert trie.get(1) is None
        with pytest.raises(TypeError):
            trie[1] = 1
        assert len(Ctrie.__new__(Ctrie)) == 0

    def test_it_can_be_subscripted_for_annotations(self) -> None:
        assert get_args(Ctrie[str, int]) == (str, int)

    def test_it_can_be_referenced_weakly(self) -> None:
        trie: Any = Ctrie()
        weak = weakref.ref(trie)
        assert weak() is trie
        del trie
        assert weak() is None

    def test_subclasses(self) -> None:
        class Defaulting(Ctrie):
            def __getitem__(self, k: Any) -> Any:
                return super().get(k, "default")

        trie: Any = Defaulting({"a": 1})
        assert trie["a"] == 1
        assert trie["b"] == "default"

    def test_it_is_a_mutable_mapping(self) -> None:
        assert isinstance(Ctrie(), collections.abc.MutableMapping)
        missing = [
            name
            for name in dir(collections.abc.MutableMapping)
            if not name.startswith("_") and not hasattr(Ctrie, name)
        ]
        assert missing == []


def emptied(trie: Any) -> Any:
    copied = trie.snapshot()
    copied.clear()
    return copied


class TestViews:
    """Views show the instant at which they were taken: they follow no later change."""

    @pytest.mark.parametrize(
        ("take", "expected"),
        [
            (lambda m: m.keys(), ["a", "b"]),
            (lambda m: m.values(), [1, 2]),
            (lambda m: m.items(), [("a", 1), ("b", 2)]),
            (iter, ["a", "b"]),
            (lambda m: iter(m.items()), [("a", 1), ("b", 2)]),
            (lambda m: iter(m.keys()), ["a", "b"]),
            (lambda m: iter(m.values()), [1, 2]),
            (lambda m: m.split(1)[0], [("a", 1), ("b", 2)]),
            (lambda m: m.diff(emptied(m)), [("a", None, 1), ("b", None, 2)]),
            (lambda m: reversed(sorted(m.items())), [("a", 1), ("b", 2)]),
        ],
        ids=["keys", "values", "items", "iter", "iter-items", "iter-keys", "iter-values", "split", "diff", "sorted"],
    )
    @pytest.mark.parametrize("change", [lambda m: m.update(a=3, c=4), lambda m: m.clear(), lambda m: m.pop("a")])
    def test_it_shows_what_was_there_when_it_was_taken(self, make: Any, take: Any, expected: Any, change: Any) -> None:
        trie = make({"a": 1, "b": 2})
        taken = take(trie)
        change(trie)
        assert sorted(taken) == expected

    def test_two_looks_at_one_view_agree(self, make: Any) -> None:
        trie = make({"a": 1, "b": 2})
        items = trie.items()
        first = list(items)
        trie["c"] = 3
        assert list(items) == first
        assert len(items) == 2
        assert ("c", 3) not in items

    def test_a_view_knows_its_size_and_members(self, make: Any) -> None:
        trie = make({"a": 1, "b": None})
        assert (len(trie.keys()), len(trie.values()), len(trie.items())) == (2, 2, 2)
        assert "a" in trie.keys()  # noqa: SIM118 (the view is the subject)
        assert "z" not in trie.keys()  # noqa: SIM118
        assert None in trie.values()
        assert 2 not in trie.values()
        assert ("b", None) in trie.items()
        assert ("b", 1) not in trie.items()

    def test_keys_and_items_are_sets(self, make: Any) -> None:
        trie = make({"a": 1, "b": 2})
        assert trie.keys() == {"a", "b"}
        assert trie.keys() & {"a", "z"} == {"a"}
        assert trie.keys() | {"z"} == {"a", "b", "z"}
        assert trie.keys() - {"a"} == {"b"}
        assert trie.keys() ^ {"a", "z"} == {"b", "z"}
        assert trie.items() >= {("a", 1)}
        assert trie.keys().isdisjoint({"z"})
        assert isinstance(trie.keys(), collections.abc.KeysView)
        assert isinstance(trie.items(), collections.abc.ItemsView)
        assert isinstance(trie.values(), collections.abc.ValuesView)

    def test_each_key_once(self, make: Any) -> None:
        trie = make({number: None for number in range(300)})
        assert sorted(trie) == list(range(300))
        assert sorted(trie.keys()) == list(range(300))

    def test_an_exhausted_iterator_stays_so(self, make: Any) -> None:
        trie = make({1: 1})
        iterator = iter(trie)
        assert list(iterator) == [1]
        trie[2] = 2
        assert list(iterator) == []

    def test_a_shorter_way_to_a_dict(self, make: Any) -> None:
        """`dict(m)` looks each key up by itself; `dict(m.items())` shows one instant. Without writers they agree."""
        trie = make({"a": 1, None: 2})
        assert dict(trie) == dict(trie.items()) == {**trie.snapshot()} == {"a": 1, None: 2}


class TestEquality:
    def test_with_a_dict(self, make: Any) -> None:
        trie = make({"a": 1, "b": [2]})
        assert trie == {"b": [2], "a": 1}
        assert {"b": [2], "a": 1} == trie
        assert trie != {"a": 1}
        assert trie != {"a": 1, "b": [3]}
        assert trie != {"a": 1, "c": [2]}
        assert trie != {"a": 1, "b": [2], "c": 3}

    def test_with_another_trie(self, make: Any) -> None:
        assert make({"a": 1}) == Ctrie({"a": 1})
        assert make({"a": 1}) != Ctrie({"a": 2})
        assert make({"a": 1}) == make({"a": 1}).readonly_snapshot()

    def test_with_something_else(self, make: Any) -> None:
        assert make() != []
        assert make() != 0
        assert not make() == set()  # noqa: SIM201 (the other operator)

    def test_an_identical_value_is_an_equal_one(self, make: Any) -> None:
        nan = float("nan")
        assert make({"a": nan}) == {"a": nan}
        assert make({"a": nan}) != {"a": float("nan")}

    def test_none_is_not_absence(self, make: Any) -> None:
        assert make({"a": None}) != {"b": None}
        assert make({"a": None}) == {"a": None}

    def test_a_trie_that_holds_itself_equals_itself(self) -> None:
        trie: Any = Ctrie()
        trie["self"] = trie
        assert trie == trie  # noqa: PLR0124
        assert repr(trie) == "Ctrie({'self': Ctrie({...})})"


class TestUnion:
    def test_of_two(self, make: Any) -> None:
        one, other = make({"a": 1, "b": 1}), {"b": 2, "c": 2}
        assert one | other == {"a": 1, "b": 2, "c": 2}
        assert other | one == {"a": 1, "b": 1, "c": 2}
        assert isinstance(one | other, Ctrie)
        assert isinstance(other | one, Ctrie)
        assert one == {"a": 1, "b": 1}

    def test_with_another_trie(self, make: Any) -> None:
        assert make({"a": 1}) | Ctrie({"b": 2}) == {"a": 1, "b": 2}

    def test_in_place(self, make: Any) -> None:
        trie = same = make({"a": 1})
        trie |= {"a": 2, "b": 2}
        trie |= [("c", 3)]
        assert trie is same
        assert trie == {"a": 2, "b": 2, "c": 3}
        trie.check()

    def test_with_something_else(self, make: Any) -> None:
        with pytest.raises(TypeError):
            make() | [("a", 1)]
        with pytest.raises(TypeError):
            [("a", 1)] | make()

    def test_it_keeps_hash_and_equality(self) -> None:
        trie: Any = Ctrie(
            {"a": 1}, hash=lambda k: hash(k.lower()), equal=lambda one, other: one.lower() == other.lower()
        )
        assert (trie | {"A": 2}).items() == {("a", 2)}
        assert ({"A": 2} | trie).items() == {("A", 1)}


class TestUpdate:
    @pytest.mark.parametrize(
        "source", [{"a": 2, "b": 3}, [("a", 2), ("b", 3)], Ctrie({"a": 2, "b": 3}), iter([("a", 2), ("b", 3)])]
    )
    def test_from_what_dict_takes(self, source: Any) -> None:
        trie: Any = Ctrie({"a": 1, "c": 4})
        trie.update(source, d=5)
        assert trie == {"a": 2, "b": 3, "c": 4, "d": 5}
        trie.check()

    def test_keyword_arguments_may_have_any_name(self, make: Any) -> None:
        trie = make()
        trie.update(mapping_or_pairs=1, self=2, hash=3)
        assert trie == {"mapping_or_pairs": 1, "self": 2, "hash": 3}

    def test_from_itself(self, make: Any) -> None:
        trie = make({"a": 1, "b": 2})
        trie.update(trie)
        assert trie == {"a": 1, "b": 2}
        trie.check()


def test_thousands_of_keys() -> None:
    """There are enough keys to take every branch of the upper levels."""
    trie: Any = Ctrie(zip(range(5000), range(5000), strict=True))
    for number in range(0, 5000, 3):
        del trie[number]
    assert len(trie) == sum(1 for number in range(5000) if number % 3)
    assert all(trie.get(number) == (number if number % 3 else None) for number in range(5000))
    trie.check()


class TestComputeThatRemoves:
    def test_removes_keeps_and_stores(self) -> None:
        gone = object()
        trie: Any = Ctrie({"a": 1, "b": 2})
        assert trie.compute("a", lambda value: gone, absent=gone) is gone
        assert "a" not in trie
        assert trie.compute("a", lambda value: value, gone, absent=gone) is gone
        assert "a" not in trie
        assert trie.compute("a", lambda value: 7, absent=gone) == 7
        assert trie.compute("b", lambda value: None if value == 2 else 3, absent=None) is None
        assert trie == {"a": 7}
        assert trie.compute("b", lambda value: None) is None
        assert trie == {"a": 7, "b": None}
        trie.check()

    def test_starts_again_if_the_value_has_changed(self) -> None:
        trie: Any = Ctrie({"a": 1})
        seen: list[int] = []

        def take(value: int) -> None:
            seen.append(value)
            if len(seen) == 1:
                trie["a"] = 5

        assert trie.compute("a", take, absent=None) is None
        assert (seen, "a" in trie) == ([1, 5], False)

    def test_not_of_a_read_only_one(self) -> None:
        with pytest.raises(TypeError):
            Ctrie({"a": 1}).readonly_snapshot().compute("a", lambda value: None, absent=None)
