"""Subclasses of the public classes stay what they are, with the attributes that they add."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from ctrie import Ctrie, CtrieSet
from subtrie import MQTT, SubscriptionTrie, TopicStore
from subtrie.fields import Equals, FieldMatcher, RoutingMatcher


class Named(Ctrie):
    pass


class NamedSet(CtrieSet):
    pass


class NamedTrie(SubscriptionTrie):
    pass


class NamedStore(TopicStore):
    pass


class NamedFields(FieldMatcher):
    pass


class NamedRoutes(RoutingMatcher):
    pass


class Slotted(Ctrie):
    __slots__ = ("__own", "name")

    def own(self, *value: object) -> object:
        if value:
            self.__own = value[0]
        return self.__own


class SlottedSet(CtrieSet):
    __slots__ = "name"  # noqa: PLC0205


class SlottedTrie(SubscriptionTrie):
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__(MQTT, index=True)
        self.name = name


class SlottedStore(TopicStore):
    __slots__ = ("name",)


WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "old pickle": lambda made: pickle.loads(pickle.dumps(made, 2)),
    "snapshot": lambda made: made.snapshot(),
    "readonly": lambda made: (made.readonly_snapshot if hasattr(made, "readonly_snapshot") else made.snapshot)(),
    "fork": lambda made: made.fork() if hasattr(made, "fork") else made.snapshot(),
    "copy of a snapshot": lambda made: copy.copy(made.snapshot()),
    "pickle of a snapshot": lambda made: pickle.loads(pickle.dumps(made.snapshot())),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "kind", [Named, NamedSet, NamedTrie, NamedStore, NamedFields, NamedRoutes, SlottedSet, SlottedStore]
)
def test_attributes_stay(kind: Any, way: str) -> None:
    source = kind()
    source.name = ["n"]
    made = WAYS[way](source)
    assert type(made) is kind
    assert made.name == ["n"]
    made.check()


@pytest.mark.parametrize("way", WAYS)
def test_private_slots_stay_and_content_too(way: str) -> None:
    source = Slotted({1: 2})
    source.own("mine")
    made = WAYS[way](source)
    assert made.own() == "mine"
    assert not hasattr(made, "name")
    assert made == {1: 2}


@pytest.mark.parametrize("way", WAYS)
def test_a_subclass_that_takes_something_else(way: str) -> None:
    source = SlottedTrie("n")
    source.subscribe("a/+", 1)
    made = WAYS[way](source)
    assert (type(made), made.name, made.dialect, made.match("a/b")) == (SlottedTrie, "n", MQTT, (1,))
    made.check()


class PlainDiscard(CtrieSet):
    def discard(self, value: object) -> None:  # type: ignore[override]
        """Return nothing, as that of collections.abc does."""
        super().discard(value)


def test_remove_with_a_discard_of_its_own() -> None:
    members = PlainDiscard("ab")
    members.remove("a")
    with pytest.raises(KeyError):
        members.remove("a")
    assert members == {"b"}


class Filled(Ctrie):
    def __missing__(self, key: object) -> object:
        return f"no {key}"


def test_missing() -> None:
    trie = Filled({1: "one"})
    assert (trie[1], trie[2], trie.get(2), 2 in trie) == ("one", "no 2", None, False)


def forgetful(base: Any) -> Any:
    class Forgetful(base):  # type: ignore[misc]
        def __init__(self) -> None:  # without super().__init__()
            self.name = "n"

    return Forgetful()


CHANGES: list[tuple[Any, Callable[[Any], object]]] = [
    (Ctrie, lambda m: m.__setitem__(1, 2)),
    (CtrieSet, lambda m: m.add(1)),
    (SubscriptionTrie, lambda t: t.subscribe("a", 1)),
    (TopicStore, lambda s: s.__setitem__("a", 1)),
    (FieldMatcher, lambda f: f.subscribe([Equals("a", 1)], 1)),
    (RoutingMatcher, lambda r: r.subscribe("a", [], 1)),
]


@pytest.mark.parametrize(("base", "change"), CHANGES)
def test_a_subclass_that_forgets_to_initialise_its_base_is_told(base: Any, change: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match=r"is not initialised, .* calls super\(\)\.__init__\(\)"):
        change(forgetful(base))


@pytest.mark.parametrize(("base", "change"), CHANGES)
def test_a_copy_of_a_snapshot_is_read_only(base: Any, change: Callable[[Any], object]) -> None:
    made = base()
    frozen = made.readonly_snapshot() if base in (Ctrie, CtrieSet) else made.snapshot()
    for copied in (copy.copy(frozen), copy.deepcopy(frozen), pickle.loads(pickle.dumps(frozen))):
        with pytest.raises(TypeError, match="is a read-only snapshot"):
            change(copied)
    change(copy.copy(made))
    assert len(made) == 0
    made.check()
