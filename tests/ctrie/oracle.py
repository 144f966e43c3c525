"""What every operation on one key answers and does, as a table, and a map with a set beside it that is compared with it.

`OPERATIONS` is used wherever a test is about any operation. `Pair` is the oracle of the machine in test_stateful.py.
"""

from __future__ import annotations

import copy
import operator
import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from ctrie import Ctrie, CtrieSet
from ctrie._machine import GROUPS
from tests.keys import Key, hash_of
from tests.keys import key as at

ABSENT: Any = "absent"
READ_ONLY = "read-only snapshot"


def same(one: Any, other: Any) -> bool:
    """Equal as `in` has it: a value that is unequal to itself, too."""
    return one is other or bool(one == other)


class Operation(NamedTuple):
    """`call(map, key, old, new)`, and `effect(was, old, new)`: what it answers, and what is there afterwards."""

    call: Callable[[Any, Any, Any, Any], Any]
    effect: Callable[[Any, Any, Any], tuple[Any, Any]]


def told(value: Any) -> str:
    return repr(value)[:5]


READS = {
    "get": Operation(lambda m, k, old, new: m.get(k, ABSENT), lambda was, old, new: (was, was)),
    "in": Operation(lambda m, k, old, new: k in m, lambda was, old, new: (was is not ABSENT, was)),
    "getitem": Operation(lambda m, k, old, new: m[k], lambda was, old, new: (KeyError if was is ABSENT else was, was)),
}  # fmt: skip
OPERATIONS = READS | {
    "set": Operation(lambda m, k, old, new: m.__setitem__(k, new), lambda was, old, new: (None, new)),
    "update": Operation(lambda m, k, old, new: m.update([(k, new)]), lambda was, old, new: (None, new)),
    "ior": Operation(lambda m, k, old, new: len(m.__ior__({k: new})) > 0, lambda was, old, new: (True, new)),
    "put_if_absent": Operation(
        lambda m, k, old, new: m.put_if_absent(k, new, ABSENT),
        lambda was, old, new: (was, new if was is ABSENT else was),
    ),
    "setdefault": Operation(
        lambda m, k, old, new: m.setdefault(k, new), lambda was, old, new: 2 * (new if was is ABSENT else was,)
    ),
    "get_or_create": Operation(
        lambda m, k, old, new: m.get_or_create(k, lambda: new),
        lambda was, old, new: 2 * (new if was is ABSENT else was,),
    ),
    "replace": Operation(
        lambda m, k, old, new: m.replace(k, new),
        lambda was, old, new: (False, was) if was is ABSENT else (True, new),
    ),
    "replace_if": Operation(
        lambda m, k, old, new: m.replace_if(k, old, new),
        lambda was, old, new: (True, new) if same(was, old) else (False, was),
    ),
    "remove_if": Operation(
        lambda m, k, old, new: m.remove_if(k, old),
        lambda was, old, new: (True, ABSENT) if same(was, old) else (False, was),
    ),
    "pop": Operation(lambda m, k, old, new: m.pop(k, ABSENT), lambda was, old, new: (was, ABSENT)),
    "del": Operation(
        lambda m, k, old, new: m.__delitem__(k), lambda was, old, new: (KeyError if was is ABSENT else None, ABSENT)
    ),
    "compute": Operation(
        lambda m, k, old, new: m.compute(k, told, ABSENT), lambda was, old, new: (told(was), told(was))
    ),
    "compute or remove": Operation(
        lambda m, k, old, new: m.compute(k, lambda was: ABSENT if same(was, old) else new, ABSENT, absent=ABSENT),
        lambda was, old, new: 2 * (ABSENT if same(was, old) else new,),
    ),
}  # fmt: skip


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """What a call answers, or KeyError."""
    try:
        return call(*arguments)
    except KeyError:
        return KeyError


# ---------------------------------------------------------------------------------------------------------------- keys


class Universe(NamedTuple):
    """Keys, the functions of a map that tell them apart, and what tells them apart in a dict."""

    keys: list[Any]
    options: dict[str, Any]
    norm: Callable[[Any], Any]


class Text(str):
    """A text with the hash of 0."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 0


def itself(key: Any) -> Any:
    return key


def folded(text: str) -> str:
    return text.lower()


def equal_if_folded(one: str, other: str) -> bool:
    return one.lower() == other.lower()


UNIVERSES = {
    # They part at the root, or one, two, three or ten levels below it, or collide.
    "on paths": Universe(
        [
            at("a", 1, 1), at("b", 1, 2), at("c", 1, 3), at("d", 2), at("e", GROUPS - 1), at("f", 4, 4, 4, 1),
            at("g", 4, 4, 4, 2), at("h", 4, 4, 5), Key("i", 3), Key("j", 3), Key("k", 3), Key("l", 3 | 1 << 63),
            Key("m", 3 | 1 << 60),
        ],
        {"hash": hash_of},
        itself,
    ),
    # Of one hash by nature, or equal but of different kinds. The first of equal ones stays.
    "alike": Universe(
        [
            0, "", b"", False, 2**61 - 1, Decimal(0), (), Text("x"), Text("y"), -1, -2, Decimal(-2), 1, True, 1.0,
            2**61, "a", b"a", None, float("nan"),
        ],
        {},
        itself,
    ),
    "by its own functions": Universe(
        ["a", "A", "b", "B", "aa", "Aa", "bb", "bB", "cc", "ccc", "CCC"], {"hash": len, "equal": equal_if_folded}, folded
    ),
    "many": Universe(list(range(400)), {}, itself),
    "many that collide": Universe([Key(f"k{i}", i % 7) for i in range(120)], {"hash": hash_of}, itself),
}  # fmt: skip

COPIES: dict[str, Callable[[Any], Any]] = {
    "snapshot": lambda made: made.snapshot(),
    "readonly_snapshot": lambda made: made.readonly_snapshot(),
    "copy": copy.copy,
    "method": lambda made: made.copy(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "old pickle": lambda made: pickle.loads(pickle.dumps(made, 2)),
}
ALGEBRA: dict[str, Callable[[Any, Any], Any]] = {
    "union": operator.or_,
    "intersection": operator.and_,
    "difference": operator.sub,
    "symmetric_difference": operator.xor,
}
IN_PLACE = {
    **{f"__i{operate.__name__.strip('_')}__": operate for operate in ALGEBRA.values()},
    **{f"{name}_update": operate for name, operate in ALGEBRA.items() if name != "union"},
    "update": operator.or_,
}
COMPARISONS = (operator.le, operator.lt, operator.ge, operator.gt, operator.eq, operator.ne)
KINDS: dict[str, Callable[[Any], Any]] = {"it": itself, "set": set, "list": list, "iter": iter, "dict": dict.fromkeys}


def kinds(trie: Any) -> Counter[str]:
    """How many nodes of each kind a map has."""
    return Counter(re.findall(r"\('([CLST])'", repr(trie._shape())))


class Pair:
    """A map and the set of its keys, and what they must hold: by what tells keys apart, the first of equal keys and the
    latest value."""

    def __init__(
        self, universe: Universe, content: Iterable[tuple[Any, Any]], types: tuple[Any, Any] = (Ctrie, CtrieSet)
    ) -> None:
        pairs = list(content)
        self.universe, self.types, self.readonly = universe, types, False
        self.held: dict[Any, tuple[Any, Any]] = {}
        for key, value in pairs:
            self._hold(key, value)
        self.map: Any = types[0](pairs, **universe.options)
        self.members: Any = types[1]([key for key, _ in pairs], **universe.options)

    def _hold(self, key: Any, value: Any) -> None:
        n = self.universe.norm(key)
        self.held[n] = self.held.get(n, (key, None))[0], value

    # ---------------------------------------------------------------------------------------------------------- changes

    def operate(self, name: str, key: Any, old: Any, new: Any) -> None:
        call, effect = OPERATIONS[name]
        n = self.universe.norm(key)
        was = self.held[n][1] if n in self.held else ABSENT
        if self.readonly and name not in READS:
            with pytest.raises(TypeError, match=READ_ONLY):
                call(self.map, key, old, new)
            for refused in (self.members.add, self.members.discard):
                with pytest.raises(TypeError, match=READ_ONLY):
                    refused(key)
            return
        answer, after = effect(was, old, new)
        assert same(outcome(call, self.map, key, old, new), answer)
        if after is not ABSENT:
            self._hold(key, after)
        elif was is not ABSENT:
            del self.held[n]
        if name in READS:
            assert (key in self.members) is (was is not ABSENT)
        elif after is ABSENT:
            assert self.members.discard(key) is (was is not ABSENT)
        else:
            assert self.members.add(key) is (was is ABSENT)

    def take_any(self, from_set: bool) -> None:
        """`popitem` of the map, or `pop` of the set."""
        if self.readonly or not self.held:
            for refused in (self.map.popitem, self.members.pop):
                with pytest.raises(
                    TypeError if self.readonly else KeyError, match=READ_ONLY if self.readonly else "is empty"
                ):
                    refused()
            return
        key = self.members.pop() if from_set else self.map.popitem()[0]
        kept, value = self.held.pop(self.universe.norm(key))
        assert repr(key) == repr(kept)
        if from_set:
            assert same(self.map.pop(key), value)
        else:
            self.members.remove(key)

    def clear(self) -> None:
        for made in (self.map, self.members):
            if self.readonly:
                with pytest.raises(TypeError, match=READ_ONLY):
                    made.clear()
            else:
                made.clear()
                self.held = {}

    def change_in_place(self, name: str, other: Pair, kind: str) -> None:
        """An operation of sets that changes the left one; the map is brought to the same keys."""
        change = getattr(self.members, name)
        if self.readonly:
            with pytest.raises(TypeError, match=READ_ONLY):
                change(KINDS[kind](other.members))
            return
        wanted = IN_PLACE[name](set(self.held), set(other.held))
        theirs = dict(other.held)
        change(KINDS[kind](other.members))
        for n in {*self.held, *theirs}:
            if n not in wanted and n in self.held:
                del self.map[self.held.pop(n)[0]]
            elif n in wanted and n not in self.held:
                self.held[n] = theirs[n]
                self.map[theirs[n][0]] = theirs[n][1]

    # -------------------------------------------------------------------------------------------------------- new ones

    def copied(self, way: str) -> Pair:
        made = copy.copy(self)
        made.map, made.members = COPIES[way](self.map), COPIES[way](self.members)
        made.readonly = way == "readonly_snapshot" or (self.readonly and way != "snapshot")
        made.held = dict(self.held)
        if "pickle" in way:  # its keys are others, and one that is unequal to itself is found by identity
            assert told_of(made.map.items()) == told_of(self.held.values())
            assert told_of(made.members) == told_of(key for key, _ in self.held.values())
            if made.readonly:
                with pytest.raises(TypeError, match=READ_ONLY):
                    made.members.clear()
            made.held = {self.universe.norm(key): (key, value) for key, value in made.map.items()}
            made.members = self.types[1](made.map, **self.universe.options)
            if made.readonly:
                made.members = made.members.readonly_snapshot()
        return made

    def union(self, other: Pair, with_map: bool) -> Pair:
        """Of the maps: the right one's values, the left one's keys."""
        made = Pair(self.universe, [*self.held.values(), *other.held.values()], self.types)
        made.map = self.map | (other.map if with_map else dict(other.map.items()))
        return made

    def combined(self, name: str, other: Pair, kind: str) -> Pair:
        """An operation of sets, as operator and as method, with the right one or both as they are or of another kind."""
        operate, right = ALGEBRA[name], KINDS[kind]
        wanted = operate(set(self.held), set(other.held))
        answers = [operate(self.members, right(other.members)), getattr(self.members, name)(right(other.members))]
        answers += [operate(right(self.members), other.members)] if kind != "iter" else []
        for made in answers:
            assert len(made) == made.approximate_len() == len(wanted)
            assert {self.universe.norm(member) for member in made} == wanted
            assert type(made) is self.types[1]
            made.check()
        return Pair(self.universe, [(member, None) for member in answers[0]], self.types)

    # --------------------------------------------------------------------------------------------------------- readings

    def compare(self, other: Pair) -> None:
        mine, theirs = ({n: value for n, (_, value) in one.held.items()} for one in (self, other))
        assert (self.map == other.map) is (mine == theirs)
        assert (self.map != other.map) is (mine != theirs)
        for compares in COMPARISONS:
            assert compares(self.members, other.members) is compares(set(mine), set(theirs))
        assert self.members.isdisjoint(other.members) is set(mine).isdisjoint(theirs)
        assert self.members.issubset(iter(other.members)) is set(mine).issubset(theirs)
        assert self.members.issuperset(list(other.members)) is set(mine).issuperset(theirs)
        norm = self.universe.norm
        changed = {n for n in mine | theirs if not same(mine.get(n, ABSENT), theirs.get(n, ABSENT))}
        changes = [(norm(key), old, new) for key, old, new in self.map.diff(other.map, ABSENT)]
        assert len(changes) == len(changed)
        assert told_of(changes) == told_of((n, theirs.get(n, ABSENT), mine.get(n, ABSENT)) for n in changed)
        found = [(norm(member), is_there) for member, is_there in self.members.diff(other.members)]
        assert told_of(found) == told_of((n, n in mine) for n in mine.keys() ^ theirs.keys())

    def look_up(self) -> None:
        """Each key: this starts no generation."""
        keys, norm = self.universe.keys, self.universe.norm
        wanted = [self.held[norm(key)][1] if norm(key) in self.held else ABSENT for key in keys]
        assert all(map(same, self.map.get_many(keys, ABSENT), wanted))
        assert all(same(self.map.get(key, ABSENT), value) for key, value in zip(keys, wanted, strict=True))
        assert self.members.contains_many(iter(keys)) == [value is not ABSENT for value in wanted]

    def read(self, parts: int = 3) -> None:
        """The whole of both, in every way."""
        pairs = told_of(self.held.values())
        keys = told_of(key for key, _ in self.held.values())
        for made, wanted in (
            (self.map, keys),
            (self.members, keys),
            (self.map.items(), pairs),
            (self.map.keys(), keys),
        ):
            assert told_of(made) == wanted
            assert (len(made), bool(made)) == (len(wanted), bool(wanted))
        assert told_of(self.map.values()) == told_of(value for _, value in self.held.values())
        for value in (None, 0, "v", "unknown"):
            assert (value in self.map.values()) is any(same(value, held) for _, held in self.held.values())
        assert self.map.approximate_len() == self.members.approximate_len() == len(pairs)
        assert told_of(pair for part in self.map.split(parts) for pair in part) == pairs
        assert told_of(key for part in self.members.split(parts) for key in part) == keys
        if self.universe.norm is itself:
            assert self.map == dict(self.held.values()) == self.map
            assert {*keys} == {*told_of(set(self.members))}

    def check(self) -> None:
        """At rest: the structure is sound, and that of a map into which the same keys were put one by one."""
        self.look_up()
        self.read()
        self.map.check()
        self.members.check()
        fresh = self.types[0](**self.universe.options)
        for key, value in self.held.values():
            fresh[key] = value
        assert kinds(self.map) == kinds(fresh)


def told_of(things: Iterable[Any]) -> list[str]:
    """In any order, equal things of different kinds told apart."""
    return sorted(map(repr, things))
