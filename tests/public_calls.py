"""Every public call, as a case: how to make an object, what to call, and what the object then holds.

`tests/whole/test_no_memory.py` fails each of their allocations in turn. `uncovered()` names the public methods that have no
case, so that a new method cannot be forgotten.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import ctrie
import subtrie
import subtrie.columns
import subtrie.fields
from ctrie import AtomicReference, Ctrie, CtrieSet
from subtrie import AMQP, MQTT, NATS, Delivery, Subscription, SubscriptionTrie, TopicStore
from subtrie.fields import (
    Absent,
    AtLeast,
    Equals,
    FieldMatcher,
    NotIn,
    OneOf,
    Prefix,
    Present,
    RoutingMatcher,
    Within,
    explain,
    flattened,
    from_pattern,
    pattern_rows,
    to_pattern,
)


class Thing:
    """A subscriber or a value: compared by identity, and its references are counted by the test."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"thing {self.number}"


class Colliding:
    """A key whose hash is that of all others of its kind."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Colliding) and self.number == other.number

    def __repr__(self) -> str:
        return f"colliding {self.number}"


THINGS = [Thing(number) for number in range(60)]
COLLIDING = [Colliding(number) for number in range(12)]
FILTERS = [
    *("a.b.c", "a.b.d", "a.b", "a.*.c", "a.*", "b.c.d.e", "b.c", "b.#", "x.y.z", "x.y.q", "x.y.abcdefghi"),
    *("ab.a", "ab.abcdefghi", "abcdefghi.a", "abcdefghi.b", "l.m.n.o.p", "l.m.n.o.q", "€.x", "😀.y.z"),
]
PAIRS = [(("key", number), THINGS[number % 50]) for number in range(40)]
ROWS = [(f"r{number % 9}.s{number}", THINGS[number % 50]) for number in range(60)]
MESSAGE = {"a": 3, "p": 5, "c": "x01"}
LONG = ".".join("a" * 100)


class Case(NamedTuple):
    """`changes`: how many changes the call makes, each at an instant of its own. "one" is all or nothing."""

    name: str
    make: Callable[[], Any]
    call: Callable[[Any], Any]
    content: Callable[[Any], Any]
    changes: str = "one"


def case_of(kind: str, default: Any, name: str, call: Any, make: Any = None, changes: str = "one") -> Case:
    """A case of a method of a class."""
    return Case(f"{kind}.{name}".lstrip("."), make or default, call, content, changes)


def trie(filters: Iterable[str] = FILTERS, **settings: Any) -> SubscriptionTrie:
    made = SubscriptionTrie(**settings)
    for place, filter in enumerate(filters):
        for more in range(1 + place % 4):
            made.subscribe(filter, THINGS[(place + more) % 30], qos=more % 3)
    return made


def nats() -> SubscriptionTrie:
    made = SubscriptionTrie(NATS)
    for number in range(12):
        made.subscribe(f"a.{number % 3}", THINGS[number], queue=f"q{number % 2}")
    return made


def mqtt() -> SubscriptionTrie:
    made = SubscriptionTrie(MQTT, index=True)
    for number in range(12):
        made.subscribe(f"$share/g{number % 2}/a/+", THINGS[number], qos=1)
    made.subscribe("a/#", THINGS[20])
    return made


class Told(SubscriptionTrie):
    """A trie and what its listener was told."""

    __slots__ = ("told",)

    def __init__(self) -> None:
        self.told: dict[Any, bool] = {}
        super().__init__(on_interest=self.told.__setitem__)
        for filter in FILTERS:
            self.subscribe(filter, THINGS[1])

    def watched(self, row: Subscription) -> Any:
        return row.filter


class ToldOfGroups(SubscriptionTrie):
    """The same for a listener of groups."""

    __slots__ = ("told",)

    def __init__(self) -> None:
        self.told: dict[Any, bool] = {}
        super().__init__(NATS, on_group_interest=lambda *notice: self.told.__setitem__(notice[:2], notice[2]))
        for filter in ("a.1", "a.2"):
            self.subscribe(filter, THINGS[1])
            self.subscribe(filter, THINGS[1], queue="q")

    def watched(self, row: Subscription) -> Any:
        return row.filter, row.options.get("queue")


def ctrie_of(pairs: Iterable[Any] = PAIRS) -> Ctrie[Any, Any]:
    return Ctrie(dict(pairs))


def colliding() -> Ctrie[Any, Any]:
    return Ctrie(dict.fromkeys(COLLIDING[:10], 1))


def store() -> TopicStore[Any]:
    return TopicStore(AMQP, {f: THINGS[i] for i, f in enumerate(FILTERS) if "*" not in f and "#" not in f})


def matcher(**settings: Any) -> FieldMatcher:
    made = FieldMatcher(**settings)
    for number in range(25):
        made.subscribe(criteria(number), THINGS[number], qos=number)
    return made


def criteria(number: int) -> list[Any]:
    third = Prefix("c", f"x{number % 3}") if number % 2 else OneOf("c", ["u", "v", number])
    return [Equals("a", number % 5), Within("p", number, number + 4), third]


def router() -> RoutingMatcher:
    made = RoutingMatcher(AMQP)
    for number in range(20):
        made.subscribe(f"a.{number % 4}.*", [Equals("a", number % 3)], THINGS[number])
    return made


# ------------------------------------------------------------------------------------------------------------- contents


def content(made: Any) -> Any:
    """What an object holds. A listener must know what there is once a later change has been told. In the interpreted twin
    there may be no memory between a change and its notice, which then waits for the next change of that filter."""
    if isinstance(made, AtomicReference):
        return made.load()
    if isinstance(made, (Told, ToldOfGroups)):
        made.subscribe("later", THINGS[59])
        made.unsubscribe("later", THINGS[59])
        known = {watched for watched, wanted in made.told.items() if wanted}
        there = {made.watched(each) for each in made.subscriptions()}
        assert known == there or ctrie.twin == "interpreted"
    return sorted(map(shown, made.items() if hasattr(made, "items") else made or ()))


def shown(answer: Any) -> str:
    """An answer in a form that can be compared: without an order where there is none, and without addresses."""
    if isinstance(answer, (Subscription, Delivery)):
        answer = answer.as_dict()
    if isinstance(answer, dict):
        answer = list(answer.items())
    if isinstance(answer, (list, tuple)):
        return f"[{', '.join(sorted(map(shown, answer)))}]"
    if isinstance(answer, (SubscriptionTrie, TopicStore, FieldMatcher, RoutingMatcher)):
        return type(answer).__name__
    return repr(answer)


# ---------------------------------------------------------------------------------------------------------------- cases

X = "x.y.abcdefghi"


def trie_cases() -> list[Case]:
    case = partial(case_of, "SubscriptionTrie", trie)
    gone = [(filter, THINGS[place % 30]) for place, filter in enumerate(FILTERS)]

    return [
        case("subscribe, groups told", lambda t: t.subscribe("a.1", THINGS[2], queue="p"), ToldOfGroups),
        case("unsubscribe, groups told", lambda t: t.unsubscribe("a.1", THINGS[1], queue="q"), ToldOfGroups),
        case("unsubscribe_all, groups told", lambda t: t.unsubscribe_all(THINGS[1]), ToldOfGroups, "several"),
        case("clear, groups told", lambda t: t.clear(), ToldOfGroups),
        case("subscribe", lambda t: t.subscribe("a.b.new", THINGS[33], qos=1), trie),
        case("subscribe, options", lambda t: t.subscribe("a.b.c", THINGS[0], qos=2, who="me"), trie),
        case("subscribe, long", lambda t: t.subscribe(LONG, THINGS[33]), trie),
        case("subscribe, index", lambda t: t.subscribe("a.b.new", THINGS[33], qos=1), lambda: trie(index=True)),
        case("subscribe, index, once more", lambda t: t.subscribe(X, THINGS[10], qos=1), lambda: trie(index=True)),
        case("subscribe, weak", lambda t: t.subscribe("a.q", THINGS[34]), lambda: trie(weak=True)),
        case("subscribe, exact", lambda t: t.subscribe("a.q.r", THINGS[34]), lambda: trie(exact=True)),
        case("subscribe, cache", lambda t: t.subscribe("a.q.r", THINGS[34]), lambda: trie(cache=8)),
        case("subscribe, queue", lambda t: t.subscribe("a.1", THINGS[30], queue="q9"), nats),
        case("subscribe, share", lambda t: t.subscribe("$share/g0/a/+", THINGS[30], qos=2), mqtt),
        case("subscribe, told", lambda t: t.subscribe("n.n", THINGS[34]), Told),
        case("unsubscribe", lambda t: t.unsubscribe(X, THINGS[10]), trie),
        case("unsubscribe, none", lambda t: t.unsubscribe(X, THINGS[59]), trie),
        case("unsubscribe, index", lambda t: t.unsubscribe(X, THINGS[10]), lambda: trie(index=True)),
        case("unsubscribe, weak", lambda t: t.unsubscribe(X, THINGS[10]), lambda: trie(weak=True)),
        case("unsubscribe, queue", lambda t: t.unsubscribe("a.1", THINGS[1], queue="q1"), nats),
        case("unsubscribe, share", lambda t: t.unsubscribe("$share/g0/a/+", THINGS[2]), mqtt),
        case("unsubscribe, told", lambda t: t.unsubscribe("b.#", THINGS[1]), Told),
        case("unsubscribe_all", lambda t: t.unsubscribe_all(THINGS[5]), trie, "several"),
        case("unsubscribe_all, index", lambda t: t.unsubscribe_all(THINGS[5]), lambda: trie(index=True), "several"),
        case("unsubscribe_all, told", lambda t: t.unsubscribe_all(THINGS[1]), Told, "several"),
        case("subscribe_many", lambda t: t.subscribe_many(ROWS), trie, "several"),
        case("subscribe_many, empty", lambda t: t.subscribe_many(ROWS), SubscriptionTrie),
        case("subscribe_many, index", lambda t: t.subscribe_many(ROWS), lambda: trie(index=True), "several"),
        case("unsubscribe_many", lambda t: t.unsubscribe_many(gone), trie, "several"),
        case(
            "unsubscribe_many, told", lambda t: t.unsubscribe_many([(f, THINGS[1]) for f in FILTERS]), Told, "several"
        ),
        case("clear", lambda t: t.clear(), trie),
        case("clear, cache", lambda t: t.clear(), lambda: trie(cache=8)),
        case("clear, index", lambda t: t.clear(), lambda: trie(index=True)),
        case("clear, told", lambda t: t.clear(), Told),
        case("match", lambda t: t.match("a.b.c")),
        case("match, weak", lambda t: t.match("a.b.c"), lambda: trie(weak=True)),
        case("match, cache", lambda t: [t.match("a.b.c") for _ in range(3)], lambda: trie(cache=16)),
        case("match, exact", lambda t: t.match("a.b.c"), lambda: trie(exact=True)),
        case("match, long", lambda t: t.match(LONG)),
        case("match, beyond ASCII", lambda t: t.match("€.x")),
        case("match, share", lambda t: len(t.match("a/1")), mqtt),
        case("match, queue", lambda t: len(t.match("a.1")), nats),
        case("match_iter", lambda t: list(t.match_iter("a.b.c"))),
        case("match_iter, beyond ASCII", lambda t: list(t.match_iter("€.x"))),
        case("match_many", lambda t: t.match_many(["a.b.c", "x.y.z", "b.q", "€.x"] * 30)),
        case("match_columns", lambda t: len(t.match_columns(["a.b.c", "x.y.z"] * 20))),
        case("count", lambda t: t.count("a.b.c")),
        case("has_match", lambda t: (t.has_match("a.b.c"), t.has_match("zz"), t.has_match("€.x"))),
        case("deliveries", lambda t: t.deliveries("a.b.c")),
        case("deliveries, best", lambda t: len(t.deliveries("a.b.c", merge="best"))),
        case("deliveries, share", lambda t: len(t.deliveries("a/1")), mqtt),
        case("deliveries_many", lambda t: t.deliveries_many(["a.b.c", "b.c"] * 20)),
        case("deliveries_of", lambda t: t.deliveries_of("a.b.c", THINGS[0])),
        case("deliveries_of, best", lambda t: t.deliveries_of("a.b.c", THINGS[0], merge="best")),
        case("deliveries_of, share", lambda t: len(t.deliveries_of("a/1", THINGS[2])), mqtt),
        case("deliveries_of, beyond ASCII", lambda t: t.deliveries_of("€.x", THINGS[0])),
        case("groups", lambda t: len(t.groups("a/+")), mqtt),
        case("members", lambda t: len(t.members("a.1", "q1")), nats),
        case("entries", lambda t: list(t.entries("a.b.c"))),
        case("entries, best", lambda t: len(list(t.entries("a.b.c", merge="best")))),
        case("overlapping", lambda t: list(t.overlapping("a.#"))),
        case("subscriptions", lambda t: list(t.subscriptions())),
        case("subscriptions, filter", lambda t: list(t.subscriptions("a.b.c"))),
        case("subscriptions, index", lambda t: list(t.subscriptions(subscriber=THINGS[5])), lambda: trie(index=True)),
        case("filters", lambda t: t.filters(THINGS[5])),
        case("filters, index", lambda t: t.filters(THINGS[5]), lambda: trie(index=True)),
        case("topics", lambda t: list(t.topics())),
        case("stats", lambda t: len(t.stats()), lambda: trie(cache=4, index=True)),
        case("snapshot", lambda t: (len(t.snapshot()), t.snapshot().taken_at is None)),
        case("snapshot_id", lambda t: len(t.snapshot().snapshot_id)),
        case("taken_at", lambda t: t.taken_at),
        case("dialect", lambda t: (t.dialect.name, t.weak)),
        case("weak", lambda t: t.weak, lambda: trie(weak=True)),
        case("fork", lambda t: t.fork().subscribe("zz", THINGS[1])),
        case("diff", lambda t: len(list(t.diff(SubscriptionTrie())))),
        case("__eq__", lambda t: t == t.snapshot()),
        case("__ne__", lambda t: t != t.snapshot()),
        case("__hash__", lambda t: hash(t) == hash(t)),
        case("__len__", lambda t: (len(t), bool(t))),
        case("__len__, weak", lambda t: (len(t), bool(t)), lambda: trie(weak=True)),
        case("approximate_len", lambda t: t.fork().approximate_len()),
        case("approximate_filters", lambda t: t.approximate_filters()),
        case("__bool__", lambda t: bool(t)),
        case("__iter__", lambda t: list(t)),
        case("__contains__", lambda t: (("a.b.c", THINGS[0]) in t, ("a.b.c", THINGS[59]) in t)),
        case("__repr__", lambda t: repr(t)),
        case("__copy__", lambda t: len(copy.copy(t))),
        case("__reduce__", lambda t: t.__reduce__()[0], lambda: trie(index=True)),
        case("check", lambda t: t.check(), lambda: trie(filters=FILTERS[:6], index=True)),
        case("__init__", lambda _: len(trie(cache=4, index=True)), lambda: None),
        Case("unpickled SubscriptionTrie", lambda: None, lambda _: len(REMADE[0](*REMADE[1])), content),
        case("snapshot, then a change", lambda t: (t.snapshot(), t.subscribe("a.b.new", THINGS[31]))[1], trie),
    ]


REMADE: Any = SubscriptionTrie().__reduce__()
PICKLED = pickle.dumps(Ctrie({number: number for number in range(30)}))


def ctrie_cases() -> list[Case]:
    case = partial(case_of, "Ctrie", ctrie_of)

    more = {("new", number): number for number in range(60)}
    return [
        case("__setitem__", lambda m: m.__setitem__(("key", 99), THINGS[1])),
        case("__setitem__, there", lambda m: m.__setitem__(("key", 9), THINGS[1])),
        case("__setitem__, colliding", lambda m: m.__setitem__(COLLIDING[11], 2), colliding),
        case("__delitem__", lambda m: m.__delitem__(("key", 3))),
        case("__delitem__, colliding", lambda m: m.__delitem__(COLLIDING[3]), colliding),
        case("compute", lambda m: m.compute(("key", 3), lambda value: 5)),
        case("compute, new", lambda m: m.compute(("key", 93), lambda value: 5)),
        case("get_or_create", lambda m: m.get_or_create(("key", 77), lambda: 5)),
        case("put_if_absent", lambda m: m.put_if_absent(("key", 78), 5)),
        case("replace", lambda m: m.replace(("key", 3), 5)),
        case("replace_if", lambda m: m.replace_if(("key", 3), THINGS[3], 9)),
        case("remove_if", lambda m: m.remove_if(("key", 3), THINGS[3])),
        case("pop", lambda m: m.pop(("key", 3))),
        case("popitem", lambda m: m.popitem(), lambda: ctrie_of(PAIRS[:1])),
        case("setdefault", lambda m: m.setdefault(("key", 100), 1)),
        case("update", lambda m: m.update(more), changes="several"),
        case("update, empty", lambda m: m.update(more), Ctrie),
        case("update, empty, colliding", lambda m: m.update(dict.fromkeys(COLLIDING, 1)), Ctrie),
        case("__ior__", lambda m: len(m.__ior__(more)), changes="several"),
        case("clear", lambda m: m.clear()),
        case("get", lambda m: (m.get(("key", 3)), m.get(("no", 3)), m[("key", 4)])),
        case("get, colliding", lambda m: [m.get(key) for key in COLLIDING], colliding),
        case("__getitem__", lambda m: m[("key", 3)]),
        case("get_many", lambda m: m.get_many([("key", number) for number in range(60)])),
        case("__contains__", lambda m: (("key", 3) in m, ("no", 3) in m)),
        case("items", lambda m: list(m.items())),
        case("keys", lambda m: list(m.keys())),
        case("values", lambda m: list(m.values())),
        case("__iter__", lambda m: list(m)),
        case("__len__", lambda m: (len(m), bool(m))),
        case("approximate_len", lambda m: m.approximate_len()),
        case("__bool__", lambda m: bool(m)),
        case("split", lambda m: sum(len(list(part)) for part in m.split(3))),
        case("snapshot", lambda m: (m.snapshot().update({("key", 3): 1}), m.__setitem__(("key", 4), 9))[1]),
        case("readonly_snapshot", lambda m: len(m.readonly_snapshot())),
        case("copy", lambda m: len(m.copy())),
        case("diff", lambda m: len(list(m.diff(Ctrie())))),
        case("__copy__", lambda m: len(copy.copy(m))),
        case("__deepcopy__", lambda m: len(m.__deepcopy__({})), lambda: Ctrie({1: [2], 3: [4]})),
        case("__eq__", lambda m: (m == dict(PAIRS), m == ctrie_of(), m != {})),
        case("__or__", lambda m: (len(m | {1: 2}), len({1: 2} | m))),
        case("__ror__", lambda m: len({1: 2} | m)),
        case("__repr__", lambda m: len(repr(m))),
        case("__reduce__", lambda m: len(m.__reduce__())),
        case("__setstate__", lambda m: pickle.loads(PICKLED).get(3), Ctrie),
        case("check", lambda m: m.check()),
        case("__init__", lambda m: len(Ctrie(more))),
        case("__init__, functions", lambda m: len(Ctrie(more, hash=hash))),
    ]


def set_cases() -> list[Case]:
    case = partial(case_of, "CtrieSet", lambda: CtrieSet(range(40)))

    some = set(range(20, 60))
    return [
        case("add", lambda s: s.add(99)),
        case("discard", lambda s: s.discard(9)),
        case("remove", lambda s: s.remove(9)),
        case("pop", lambda s: s.pop(), lambda: CtrieSet([1])),
        case("clear", lambda s: s.clear()),
        case("__and__", lambda s: (len(s & some), len(some & s))),
        case("__or__", lambda s: (len(s | some), len(some | s))),
        case("__xor__", lambda s: (len(s ^ some), len(some ^ s))),
        case("__sub__", lambda s: (len(s - some), len(some - s))),
        *[
            case(name, lambda s, name=name: len(getattr(s, name)(some)))
            for name in ("__rand__", "__ror__", "__rxor__", "__rsub__")
        ],
        case("__ior__", lambda s: len(s.__ior__(some)), changes="several"),
        case("__iand__", lambda s: len(s.__iand__(some)), changes="several"),
        case("__isub__", lambda s: len(s.__isub__(some)), changes="several"),
        case("__ixor__", lambda s: len(s.__ixor__(some)), lambda: CtrieSet(range(40)), "not to be repeated"),
        *[
            case(name, lambda s, name=name: len(getattr(s, name)(some)))
            for name in ("union", "intersection", "difference", "symmetric_difference")
        ],
        *[case(name, lambda s, name=name: getattr(s, name)(some)) for name in ("issuperset", "issubset")],
        *[
            case(name, lambda s, name=name: getattr(s, name)(some), changes="several")
            for name in ("update", "intersection_update", "difference_update")
        ],
        case(
            "symmetric_difference_update",
            lambda s: s.symmetric_difference_update(some),
            lambda: CtrieSet(range(40)),
            "not to be repeated",
        ),
        case("copy", lambda s: len(s.copy())),
        case("__contains__", lambda s: (3 in s, 99 in s)),
        case("contains_many", lambda s: s.contains_many(list(range(60)))),
        case("__iter__", lambda s: list(s)),
        case("__len__", lambda s: len(s)),
        case("approximate_len", lambda s: s.approximate_len()),
        case("__bool__", lambda s: bool(s)),
        case("__eq__", lambda s: (s == set(range(40)), s == {1})),
        case("__ge__", lambda s: (s >= {1}, s > {1}, s <= {1}, s < {1})),
        *[case(name, lambda s, name=name: getattr(s, name)(some)) for name in ("__gt__", "__le__", "__lt__")],
        case("__hash__", lambda s: s.__hash__ is None),
        case("isdisjoint", lambda s: s.isdisjoint(some)),
        case("split", lambda s: sum(len(list(part)) for part in s.split(3))),
        case("snapshot", lambda s: s.snapshot().add(99)),
        case("readonly_snapshot", lambda s: len(s.readonly_snapshot())),
        case("diff", lambda s: len(list(s.diff(CtrieSet())))),
        case("__copy__", lambda s: len(copy.copy(s))),
        case("__repr__", lambda s: len(repr(s))),
        case("__reduce__", lambda s: len(s.__reduce__())),
        case("check", lambda s: s.check()),
        case("__init__", lambda s: len(CtrieSet(some))),
    ]


def store_cases() -> list[Case]:
    case = partial(case_of, "TopicStore", store)

    many = {f"u{number % 7}.v{number}": number for number in range(60)}
    return [
        case("__setitem__", lambda s: s.__setitem__("a.b.zz", 1)),
        case("__setitem__, there", lambda s: s.__setitem__("a.b", 1)),
        case("__delitem__", lambda s: s.__delitem__("a.b")),
        case("pop", lambda s: s.pop("x.y.abcdefghi")),
        case("popitem", lambda s: s.popitem(), lambda: TopicStore(AMQP, {"a.b": THINGS[1]})),
        case("setdefault", lambda s: s.setdefault("new.one", 1)),
        case("update", lambda s: s.update(many), changes="several"),
        case("update, empty", lambda s: s.update(many), lambda: TopicStore(AMQP), "several"),
        case("clear", lambda s: s.clear()),
        case("get", lambda s: (s.get("a.b"), s.get("no"), s["a.b.c"], s.get("€.x"))),
        case("__getitem__", lambda s: s["€.x"]),
        case("__contains__", lambda s: ("a.b" in s, "zz" in s)),
        case("matching", lambda s: list(s.matching("x.#"))),
        case("matching, all", lambda s: list(s.matching("#"))),
        case("matching, but", lambda s: list(s.matching("#", but=("x.#",)))),
        case("joined", lambda s: len(list(s.joined(trie())))),
        case("joined, few", lambda s: len(list(s.joined(trie(filters=FILTERS[:6]))))),
        case("items", lambda s: list(s.items())),
        case("keys", lambda s: list(s.keys())),
        case("values", lambda s: list(s.values())),
        case("__iter__", lambda s: list(s)),
        case("__len__", lambda s: len(s)),
        case("approximate_len", lambda s: s.approximate_len()),
        case("__bool__", lambda s: bool(s)),
        case("__eq__", lambda s: s == s.snapshot()),
        case("__ne__", lambda s: s != s.snapshot()),
        case("__hash__", lambda s: s.__hash__ is None),
        case("snapshot", lambda s: len(s.snapshot())),
        case("fork", lambda s: s.fork().__setitem__("q", 1)),
        case("diff", lambda s: len(list(s.diff(TopicStore(AMQP))))),
        case("put", lambda s: s.put("a.b.zz", 1, 5.0)),
        case("entries", lambda s: len(list(s.entries()))),
        case("changes", lambda s: len(list(s.changes(TopicStore(AMQP))))),
        case("expire", lambda s: s.expire()),
        case("stored_at", lambda s: s.stored_at("a.b") is None),
        case("max_topics", lambda s: s.max_topics),
        case("max_age", lambda s: s.max_age),
        case("dialect", lambda s: s.dialect.name),
        case("__copy__", lambda s: len(copy.copy(s))),
        case("__repr__", lambda s: repr(s)),
        case("__reduce__", lambda s: len(s.__reduce__())),
        case("check", lambda s: s.check()),
        case("__init__", lambda s: len(TopicStore(AMQP, many))),
    ]


def matcher_cases() -> list[Case]:
    case = partial(case_of, "FieldMatcher", matcher)

    def weak() -> FieldMatcher:
        return matcher(weak=True)

    one = [Equals("a", 3), Within("p", 3, 9), OneOf("c", [1, 2])]
    many = [([Equals("z", number)], THINGS[number]) for number in range(30)]
    return [
        case("subscribe", lambda f: f.subscribe(one, THINGS[40], qos=1)),
        case("subscribe, weak", lambda f: f.subscribe(one, THINGS[40]), weak),
        case("unsubscribe", lambda f: f.unsubscribe(criteria(3), THINGS[3])),
        case("unsubscribe, weak", lambda f: f.unsubscribe(criteria(3), THINGS[3]), weak),
        case("replace", lambda f: f.replace(criteria(3), one, THINGS[3])),
        case("subscribe_many", lambda f: f.subscribe_many(many)),
        case("unsubscribe_all", lambda f: f.unsubscribe_all(THINGS[3])),
        case("clear", lambda f: f.clear()),
        case("match_all", lambda f: f.match_all(MESSAGE)),
        case("match_all, weak", lambda f: f.match_all(MESSAGE), weak),
        case("match_any", lambda f: f.match_any(MESSAGE)),
        case("hits", lambda f: f.hits(MESSAGE)),
        case("match_many", lambda f: f.match_many([MESSAGE] * 10)),
        case("deliveries", lambda f: len(f.deliveries(MESSAGE))),
        case("deliveries_many", lambda f: len(f.deliveries_many([MESSAGE] * 10))),
        case("subscriptions", lambda f: len(list(f.subscriptions()))),
        case("__iter__", lambda f: len(list(f))),
        case("__len__", lambda f: (len(f), bool(f))),
        case("approximate_len", lambda f: f.approximate_len()),
        case("__bool__", lambda f: bool(f)),
        case("__contains__", lambda f: (criteria(3), THINGS[3]) in f),
        case("snapshot", lambda f: len(f.snapshot())),
        case("fork", lambda f: f.fork().subscribe(one, THINGS[40])),
        case("diff", lambda f: len(list(f.diff(FieldMatcher())))),
        case("__eq__", lambda f: (f == f.snapshot(), f == FieldMatcher())),
        case("__copy__", lambda f: len(copy.copy(f))),
        case("__repr__", lambda f: repr(f)),
        case("__reduce__", lambda f: len(f.__reduce__())),
        case("check", lambda f: f.check()),
        case("__init__", lambda f: len(matcher())),
    ]


def router_cases() -> list[Case]:
    case = partial(case_of, "RoutingMatcher", router)

    one = [Equals("a", 2), Present("q")]
    many = [(f"z.{number}", [Equals("z", number)], THINGS[number]) for number in range(20)]
    return [
        case("subscribe", lambda r: r.subscribe("a.1.*", one, THINGS[41])),
        case("subscribe, new filter", lambda r: r.subscribe("€.*", one, THINGS[41])),
        case("unsubscribe", lambda r: r.unsubscribe("a.1.*", [Equals("a", 1)], THINGS[1])),
        case("subscribe_many", lambda r: r.subscribe_many(many)),
        case("unsubscribe_all", lambda r: r.unsubscribe_all(THINGS[1])),
        case("clear", lambda r: r.clear()),
        case("match", lambda r: r.match("a.1.x", {"a": 1})),
        case("match, beyond ASCII", lambda r: r.match("a.€.x", {"a": 1})),
        case("match_many", lambda r: r.match_many([("a.1.x", {"a": 1})] * 10)),
        case("deliveries", lambda r: len(r.deliveries("a.1.x", {"a": 1}))),
        case("deliveries_many", lambda r: len(r.deliveries_many([("a.1.x", {"a": 1})] * 10))),
        case("replace", lambda r: r.replace("a.1.*", [Equals("a", 1)], one, THINGS[1])),
        case("subscriptions", lambda r: len(list(r.subscriptions()))),
        case("__iter__", lambda r: len(list(r))),
        case("__len__", lambda r: len(r)),
        case("__bool__", lambda r: bool(r)),
        case("__contains__", lambda r: ("a.1.*", [Equals("a", 1)], THINGS[1]) in r),
        case("snapshot", lambda r: len(r.snapshot())),
        case("fork", lambda r: r.fork().subscribe("a.1.*", one, THINGS[41])),
        case("diff", lambda r: len(list(r.diff(RoutingMatcher(AMQP))))),
        case("dialect", lambda r: r.dialect.name),
        case("__eq__", lambda r: (r == r.snapshot(), r == RoutingMatcher(AMQP))),
        case("__copy__", lambda r: len(copy.copy(r))),
        case("__repr__", lambda r: repr(r)),
        case("__reduce__", lambda r: len(r.__reduce__())),
        case("check", lambda r: r.check()),
        case("__init__", lambda r: len(router())),
    ]


class _Texts:
    def subscriber(self, subscriber: Any) -> str:
        return repr(subscriber)

    def option(self, name: str, value: Any) -> str:
        return str(value)


def other_cases() -> list[Case]:
    case = partial(case_of, "", trie)
    reference = partial(case_of, "AtomicReference", lambda: AtomicReference(1))

    def columns(made: SubscriptionTrie) -> int:
        rows = subtrie.columns.walk(made, _Texts())
        rows.fill(1000, 1 << 20)
        return rows.taken().rows

    row = Subscription("a.*", THINGS[3], {"qos": 1})
    delivery = trie().deliveries("a.b.c")[0]
    rules = [Absent("n"), AtLeast("p", 1), NotIn("c", [1, 2]), Present("q")]
    pattern = {"a": [3, 4], "b": {"c": [{"prefix": "x"}]}}
    few = FieldMatcher()
    few.subscribe_many([(criteria(number), THINGS[number]) for number in range(5)])
    event = {"a": 1, "b": [{"c": 1}, {"c": 2}]}
    return [
        case("columns.walk", columns),
        reference("compare_and_set", lambda r: r.compare_and_set(r.load(), "other")),
        reference("load", lambda r: r.load()),
        reference("__reduce__", _refusal),
        reference("__repr__", lambda r: repr(r)),
        reference("__init__", lambda r: AtomicReference(3).load()),
        *[
            each
            for name, dialect, filter, topic in (
                ("AMQP", AMQP, "a.*.#", "a.b.€"),
                ("MQTT", MQTT, "a/+/#", "a/b/€"),
                ("NATS", NATS, "a.*.>", "a.b.€"),
            )
            for each in (
                case(f"{name}.split", lambda t, d=dialect, f=filter, s=topic: (d.split_filter(f), d.split_topic(s))),
                case(
                    f"{name}.matches",
                    lambda t, d=dialect, f=filter, s=topic: d.matches(d.split_filter(f), d.split_topic(s)),
                ),
                case(
                    f"{name}.overlaps", lambda t, d=dialect, f=filter: d.overlaps(d.split_filter(f), d.split_filter(f))
                ),
                case(
                    f"{name}.subsumes", lambda t, d=dialect, f=filter: d.subsumes(d.split_filter(f), d.split_filter(f))
                ),
            )
        ],
        case("Subscription", lambda t: (repr(row), row == Subscription("a.*", THINGS[3]), row.as_dict(), list(row))),
        case("Delivery", lambda t: (len(repr(delivery)), delivery.as_dict()["filter"], delivery.filter)),
        case("Criterion", lambda t: [(rule == rule, rule.name, rule.arguments) for rule in rules]),
        case("Criterion.__init__", lambda t: (repr(OneOf("a", [1, 2, 3])), repr(Within("p", 1, 2)))),
        case("from_pattern", lambda t: len(from_pattern(pattern))),
        case("to_pattern", lambda t: to_pattern([Equals("a", 3)])),
        case("pattern_rows", lambda t: len(list(pattern_rows(few.subscriptions())))),
        # The verdict alone: without memory, the interpreter may fail to note that the repr of a set has ended, and shows the
        # set as "frozenset(...)" from then on.
        case("explain", lambda t: explain(from_pattern(pattern), event).partition("\n")[0]),
        case("flattened", lambda t: flattened({"a": {"b": 1}, "c": [1, 2]})),
        case("drain", lambda t: ctrie.drain()),
    ]


def _refusal(reference: AtomicReference[Any]) -> str:
    try:
        reference.__reduce__()
    except TypeError as error:
        return str(error)
    raise AssertionError("it was copied")


def all_cases() -> dict[str, Case]:
    kinds = (trie_cases, ctrie_cases, set_cases, store_cases, matcher_cases, router_cases, other_cases)
    return {case.name: case for kind in kinds for case in kind()}


# What Python itself gives every class, and what is only an alias or a view of a type.
_OF_EVERY_CLASS = {
    *("__init_subclass__", "__subclasshook__", "__new__", "__class_getitem__", "__class__", "__doc__", "__module__"),
    *("__signature__", "__slots__", "__annotations__", "__abstractmethods__", "__orig_bases__", "__weakref__"),
    *("__pyx_vtable__", "__parameters__", "__dict__", "__hash__", "__ne__"),
}


def uncovered() -> set[str]:
    """The public methods of the classes that hold something that no case calls."""
    have = {name.partition(",")[0] for name in all_cases()}
    kinds = (Ctrie, CtrieSet, AtomicReference, SubscriptionTrie, TopicStore, FieldMatcher, RoutingMatcher)
    missing = set()
    for kind in kinds:
        for name in dir(kind):
            public = not name.startswith("_") or name.startswith("__")
            own = getattr(kind, name, None) is not getattr(object, name, None) and name not in _OF_EVERY_CLASS
            compares = name in {"__lt__", "__le__", "__gt__", "__ge__"} and kind is not CtrieSet
            if (
                public
                and own
                and not compares
                and callable(getattr(kind, name))
                and f"{kind.__name__}.{name}" not in have
            ):
                missing.add(f"{kind.__name__}.{name}")
    return missing
