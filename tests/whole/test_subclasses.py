"""Subclasses of the public classes stay what they are, with the attributes that they add; so do copies of snapshots."""

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
    def __missing__(self, key: object) -> object:
        return f"no {key}"


class NamedSet(CtrieSet):
    __slots__ = "name"  # noqa: PLC0205


class NamedTrie(SubscriptionTrie):
    pass


class NamedStore(TopicStore):
    pass


class NamedFields(FieldMatcher):
    pass


class NamedRoutes(RoutingMatcher):
    pass


class Slotted(Ctrie):
    __slots__ = ("__own", "name", "unset")

    def own(self, *value: object) -> object:
        if value:
            self.__own = value[0]
        return self.__own


class SlottedTrie(SubscriptionTrie):
    """One that takes something else."""

    __slots__ = ("name",)

    def __init__(self, name: str = "n") -> None:
        super().__init__(MQTT, index=True)
        self.name = name


# A change of an empty one, and what it then holds.
CHANGES: dict[type, Callable[[Any], object]] = {
    Ctrie: lambda m: m.__setitem__(1, 2),
    CtrieSet: lambda m: m.add(1),
    SubscriptionTrie: lambda t: t.subscribe("a", 1),
    TopicStore: lambda s: s.__setitem__("a", 1),
    FieldMatcher: lambda f: f.subscribe([Equals("a", 1)], 1),
    RoutingMatcher: lambda r: r.subscribe("a", [], 1),
}
KINDS = (Named, NamedSet, NamedTrie, NamedStore, NamedFields, NamedRoutes, Slotted, SlottedTrie)


def frozen(made: Any) -> Any:
    return made.readonly_snapshot() if hasattr(made, "readonly_snapshot") else made.snapshot()


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "old pickle": lambda made: pickle.loads(pickle.dumps(made, 2)),
}
WAYS = COPIES | {
    "snapshot": lambda made: made.snapshot(),
    "readonly": frozen,
    "fork": lambda made: made.fork() if hasattr(made, "fork") else made.snapshot(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_attributes_and_content_stay(kind: Any, way: str) -> None:
    source = kind()
    source.name = ["n"]
    change = next(change for base, change in CHANGES.items() if isinstance(source, base))
    change(source)
    if kind is Slotted:
        source.own("mine")
    for made in (WAYS[way](source), WAYS[way](source.snapshot())):
        assert (type(made), made.name, made) == (kind, ["n"], source)
        made.check()
        if kind is Slotted:
            assert (made.own(), hasattr(made, "unset")) == ("mine", False)
        if kind is Named:
            assert (made[1], made[2], made.get(2), 2 in made) == (2, "no 2", None, False)
        if kind is SlottedTrie:
            assert (made.dialect, made.match("a")) == (MQTT, (1,))


class Forgetful:
    """Mixed into a class whose `__init__` it does not call."""

    def __init__(self) -> None:
        self.name = "n"


@pytest.mark.parametrize("base", CHANGES)
def test_read_only_and_not_initialised_ones_refuse_changes(base: Any) -> None:
    made = base()
    for way in COPIES.values():
        with pytest.raises(TypeError, match="is a read-only snapshot"):
            CHANGES[base](way(frozen(made)))
        CHANGES[base](way(made))
    with pytest.raises(TypeError, match=r"is not initialised, .* calls super\(\)\.__init__\(\)"):
        CHANGES[base](type("Forgetting", (Forgetful, base), {})())
    assert len(made) == 0
    made.check()
