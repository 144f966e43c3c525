"""`Ctrie` as a mapping: CPython's own tests of dict-like types, what it takes and refuses, and where it differs from dict."""

from __future__ import annotations

import collections.abc
import copy
import gc
import io
import math
import pickle
import unittest
import weakref
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, get_args

import pytest

from ctrie import Ctrie, CtrieSet
from tests.ctrie.oracle import OPERATIONS, READ_ONLY, equal_if_folded

try:
    from test import mapping_tests
except ImportError:  # some distributions of Python omit it
    mapping_tests = None

if mapping_tests is not None:

    class TestMappingProtocolOfCPython(mapping_tests.TestHashMappingProtocol):  # type: ignore[misc, unused-ignore]
        """CPython's own tests for dict-like types."""

        type2test = Ctrie

        # A Ctrie has no `fromkeys`, since `hash` and `equal` are keyword arguments, and a copy of another kind.
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
            self.assertTrue(d == d)  # noqa: PLR0124

        def test_popitem(self) -> None:
            """It may take any pair, so it may take different pairs from two tries with the same content."""
            mapping_tests.BasicTestMappingProtocol.test_popitem(self)

        def tearDown(self) -> None:
            unittest.TestCase.tearDown(self)


# --------------------------------------------------------------------------------------------------- what is refused


class NotInitialised(Ctrie):
    def __init__(self) -> None:
        pass


# A call that is refused, with the error and what it says. Where a map takes part, it is `m`, and holds {1: 1} afterwards.
make: Any = Ctrie  # a type checker would refuse some of these
REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda m: m[("absent", 2)], KeyError, r"\('absent', 2\)"),
    (lambda m: m.pop(("absent", 2)), KeyError, r"\('absent', 2\)"),
    (lambda m: m.__delitem__(("absent", 2)), KeyError, r"\('absent', 2\)"),
    (lambda m: make().popitem(), KeyError, "the Ctrie is empty"),
    (lambda m: hash(m), TypeError, "unhashable"),
    (lambda m: m.get(), TypeError, "get"),
    (lambda m: m.put_if_absent(2), TypeError, "put_if_absent"),
    (lambda m: m.pop(1, 2, 3), TypeError, "pop"),
    (lambda m: m | [("a", 1)], TypeError, "unsupported operand"),
    (lambda m: [("a", 1)] | m, TypeError, "unsupported operand"),
    (lambda m: m.get_many(["a", []]), TypeError, "unhashable"),
    (lambda m: m.update([([], 1)]), TypeError, "unhashable"),
    (lambda m: m.update(42), TypeError, "int"),
    (lambda m: m.update([1]), TypeError, "item 0 .* is 1: not a"),
    (lambda m: m.update([(1,)]), ValueError, "item 0 .* two parts"),
    (lambda m: m.update(["abc"]), ValueError, "item 0 .* two parts"),
    (lambda m: make([1, 2]), TypeError, "item 0 .* is 1: not a"),
    (lambda m: make([("a", 1), ("b", 1, 2)]), ValueError, "item 1 .* two parts"),
    (lambda m: make([("a", 1), ([], 2)]), TypeError, "unhashable"),
    (lambda m: make(hash=1), TypeError, "hash must be callable or None, not int"),
    (lambda m: make(equal=1), TypeError, "equal must be callable or None, not int"),
    (lambda m: make(hash=lambda _: "x")["a"], TypeError, "returned str, not int"),
    (lambda m: make({"k": 1}, hash=lambda k: k), TypeError, "returned str, not int"),
    (lambda m: m.get_or_create("a", 5), TypeError, "get_or_create.* not int"),
    (lambda m: m.compute("a", 5), TypeError, "compute.* not int"),
    (lambda m: m.diff({}), TypeError, r"diff\(\) takes a Ctrie, not dict"),
    (lambda m: m.diff(make(hash=len)), ValueError, "the same `hash` and `equal`"),
    (lambda m: m.split(0), ValueError, "at least one part, not 0"),
    (lambda m: m.split(-1), ValueError, "at least one part, not -1"),
    (lambda m: pickle.dumps(make({1: 1}, hash=lambda k: 0)), Exception, "lambda"),
    (lambda m: NotInitialised().__setitem__(1, 1), TypeError, "is not initialised"),
    (lambda m: m.readonly_snapshot().update(), TypeError, READ_ONLY),
    (lambda m: m.readonly_snapshot().get_or_create(2, lambda: m.clear()), TypeError, READ_ONLY),
    (lambda m: m.readonly_snapshot().compute(1, lambda value: m.clear()), TypeError, READ_ONLY),
    (lambda m: m.readonly_snapshot().compute(1, lambda value: None, absent=None), TypeError, READ_ONLY),
]


@pytest.mark.parametrize(("call", "error", "says"), REFUSED)
def test_what_is_refused_is_told_and_changes_nothing(call: Any, error: type[Exception], says: str) -> None:
    m: Any = Ctrie({1: 1})
    with pytest.raises(error, match=says):
        call(m)
    assert m == {1: 1}
    m.check()


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_unhashable_key_is_refused_by_every_operation(name: str) -> None:
    m: Any = Ctrie({1: 1})
    with pytest.raises(TypeError, match="unhashable"):
        OPERATIONS[name].call(m, [], 1, 2)
    assert m == {1: 1}
    m.check()


def test_an_update_that_fails_half_way_keeps_what_came_before() -> None:
    """As in a dict: each pair is stored by itself."""
    m: Any = Ctrie()
    with pytest.raises(ZeroDivisionError):
        m.update((number, 1 // (2 - number)) for number in range(5))
    assert set(m) == {0, 1}
    m.check()


# ----------------------------------------------------------------------------------------------------- what is taken


class Keyed:
    """It has keys and items, and is no mapping."""

    def keys(self) -> str:
        return "ab"

    def __getitem__(self, k: str) -> str:
        return k.upper()


CONTENT = {"a": "A", "b": "B"}
SOURCES: dict[str, Callable[[], Any]] = {
    "dict": lambda: dict(CONTENT),
    "list": lambda: list(CONTENT.items()),
    "tuple": lambda: tuple(CONTENT.items()),
    "iterator": lambda: iter(CONTENT.items()),
    "generator": lambda: ((k, k.upper()) for k in "ab"),
    "proxy": lambda: MappingProxyType(CONTENT),
    "map": lambda: Ctrie(CONTENT),
    "items of a map": lambda: Ctrie(CONTENT).items(),
    "no mapping": Keyed,
    "given twice": lambda: [("a", "x"), *CONTENT.items()],
}


@pytest.mark.parametrize("name", SOURCES)
def test_it_takes_what_dict_takes(name: str) -> None:
    source = SOURCES[name]()
    made: Any = Ctrie(source)
    assert made == CONTENT
    updated: Any = Ctrie({"a": 0, "c": 1})
    updated.update(SOURCES[name](), d=2)
    assert updated == {**CONTENT, "c": 1, "d": 2}
    updated["a"] = 0
    updated |= SOURCES[name]()
    assert updated == {**CONTENT, "c": 1, "d": 2}
    made["a"] = "changed"
    assert not isinstance(source, Ctrie) or source == CONTENT
    for each in (made, updated):
        each.check()


def test_keyword_arguments_may_have_any_name() -> None:
    m: Any = Ctrie()
    m.update(mapping_or_pairs=1, self=2, hash=3)
    m.update(m)
    assert m == {"mapping_or_pairs": 1, "self": 2, "hash": 3}
    m.check()


def test_values_need_no_equality_to_be_stored() -> None:
    class Incomparable:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

    value = Incomparable()
    m: Any = Ctrie()
    m["k"] = value
    m["k"] = Incomparable()
    m.replace("k", value)
    m.compute("k", lambda found: found)
    assert m.setdefault("k") is value
    assert m.replace_if("k", value, float("nan"))
    assert math.isnan(m.compute("k", lambda found: found + 1))
    assert not m.remove_if("k", float("nan"))
    assert m.remove_if("k", m["k"])
    m.check()


def test_unlike_a_dict() -> None:
    assert (Ctrie() != [], Ctrie() == set(), Ctrie({"a": None}) != {"b": None}) == (True, False, True)
    folded: Any = Ctrie({"Ab": 1}, hash=len, equal=equal_if_folded)
    assert (folded | {"aB": 2}).items() == {("Ab", 2)}
    assert ({"aB": 2} | folded).items() == {("aB", 1)}
    assert folded.get_or_create("AB", lambda: 2) == 1
    m: Any = Ctrie({"a": 1, "b": 2})
    assert m.keys() & {"a", "z"} == {"a"}
    assert m.items() <= {**m}.items()
    assert (("a", 1) in m.items(), ("c", 3) in m.items(), 2 in m.values()) == (True, False, True)
    zero: Any = type("Zero", (Ctrie,), {"__missing__": lambda *_: 0})
    assert zero({"a": 1}).items() & {("a", 1), ("a", 0), ("b", 0), ("a",), "a1", 1, None} == {("a", 1)}
    views = (collections.abc.KeysView, collections.abc.ItemsView, collections.abc.ValuesView)
    assert all(map(isinstance, (m.keys(), m.items(), m.values()), views))


def test_it_is_a_mutable_mapping_with_weak_references() -> None:
    m: Any = Ctrie()
    assert isinstance(m, collections.abc.MutableMapping)
    assert {name for name in dir(collections.abc.MutableMapping) if name[0] != "_"} <= set(dir(m))
    assert get_args(Ctrie[str, int]) == (str, int)
    weak = weakref.ref(m)
    del m
    assert weak() is None


def test_one_that_was_never_initialised_is_empty_and_cannot_be_changed() -> None:
    for unmade in (Ctrie.__new__(Ctrie), NotInitialised()):
        assert (len(unmade), bool(unmade), unmade.get(1), list(unmade)) == (0, False, None, [])


@pytest.mark.parametrize("way", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_copies_of_what_holds_itself(way: Callable[[Any], Any]) -> None:
    value = [1]
    m: Any = Ctrie({"list": value})
    m["self"] = m
    made = way(m)
    assert made["self"] is made
    assert made["list"] == value
    assert made["list"] is not value
    holder: Any = Ctrie({"list": []})
    holder["list"].append(holder.readonly_snapshot())
    frozen = way(holder["list"][0])
    assert frozen["list"][0] is frozen
    with pytest.raises(TypeError, match=READ_ONLY):
        frozen["list"][0]["x"] = 1
    for each in (made, m, frozen):
        each.check()
    made.clear()
    m.clear()
    gc.collect()


# ------------------------------------------------------------------------------------------------------------- pickles


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["INode", "Pair", "LNode", "TNode", "Root", "RDCSSDescriptor"])
def test_internals_refuse_pickling(name: str) -> None:
    import ctrie._nodes

    kind = getattr(ctrie._nodes, name)
    with pytest.raises(TypeError, match=r"pickle|by the package alone"):
        pickle.dumps(kind.__new__(kind))
    assert not [each for each in vars(ctrie._nodes) if each.startswith("__pyx_unpickle")]


@pytest.mark.parametrize("made", [Ctrie({1: 2}), CtrieSet("ab"), CtrieSet("ab", hash=len, equal=equal_if_folded)])
def test_a_pickle_names_nothing_that_the_package_and_its_user_do_not_have(made: Any) -> None:
    """An unpickler that admits only these names must be enough. If it also had to admit `builtins.getattr`, for example,
    it would admit anything."""

    class Only(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            assert module.partition(".")[0] in ("ctrie", "tests") or (module, name) == ("builtins", "len")
            return super().find_class(module, name)

    assert Only(io.BytesIO(pickle.dumps(made))).load() == made
