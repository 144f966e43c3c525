"""Scenarios of the tries, and their sources.

`STARTS` are the states in which a trie's nodes are about to change their kind or their generation. A start is made by
calls. The last of them may be left unfinished by a thread that then stops for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, count, product
from random import Random
from typing import Any, Final

from stress.explorer.scenario import Scenario
from stress.history import Call


@dataclass(frozen=True)
class Start:
    """A state to start from: the calls that make it. `left` is a call in which a thread has stopped for ever, after the
    given number of slot changes. `places` are the subjects of the operations of two threads and a third. `settings` are
    those of the subscription trie: how many answers it remembers (`cache`), whether it keeps filters without a wildcard
    by their whole text (`exact`), has an `index`, or tells a listener of interest (`on_interest`, `on_group_interest`).
    `operations` are the operations to explore here, if not all.
    """

    calls: tuple[Call, ...]
    places: tuple[tuple[Any, ...], ...]
    left: tuple[Call, int] | None = None
    settings: tuple[tuple[str, Any], ...] = ()
    operations: tuple[str, ...] = ()

    def has(self, setting: str) -> Any:
        """The value of a setting."""
        return dict(self.settings).get(setting)

    def operations_of(self, target: str, chosen: Sequence[str] = ()) -> list[str]:
        """The operations of the target that are explored here, restricted to `chosen` if that is not empty."""
        return [op for op in chosen or OPERATIONS[target] if not self.operations or op in self.operations]


# ------------------------------------------------------------------------------------------------------------- the map


def _values(keys: Sequence[str]) -> dict[str, int]:
    """Every key's value at the start."""
    return {key: 10 * number for number, key in enumerate(keys, start=1)}


_SNAPSHOT: Final[Call] = ("readonly_snapshot", ())


def _map(keys: str, *places: str, later: Sequence[Call] = (), left: tuple[Call, int] | None = None) -> Start:
    values = _values(keys.split())
    calls: list[Call] = [("__setitem__", (key, value)) for key, value in values.items()]
    return Start((*calls, *later), tuple(tuple((key, values.get(key, 0)) for key in p.split()) for p in places), left)


_MAPS: Final = {
    "empty": _map("", "a a b", "a a2 b"),
    "one key": _map("a", "a a b", "a b a"),
    "about to split": _map("a", "a a2 a", "a2 a2 a3"),
    "about to tomb": _map("a a2", "a a2 a", "a a b", "a b a2"),
    "a tomb beside a key": _map("a a2 b", "a a2 a3", "a b a2"),
    "beside each other": _map("a a2 b c", "b c a", "a b a2"),
    "about to tomb two levels deep": _map("low1 low2 low3", "low1 low2 low3", "low1 low3 low2"),
    "about to tomb three levels deep": _map("deep1 deep2", "deep1 deep2 deep3", "deep1 deep3 deep2"),
    "about to collide": _map("same1", "same1 same2 same1", "same2 same2 same3"),
    "a collision about to shrink": _map("same1 same2", "same1 same2 same3", "same3 same1 same2"),
    "after a snapshot": _map("a a2 y1 y2", "a a a2", "a y1 a2", later=[_SNAPSHOT]),
    "mixed generations": _map(
        "a y1 y2", "a y1 a2", "a a2 y1", "y3 a2 a",
        later=[_SNAPSHOT, ("__setitem__", ("a", 40)), ("__setitem__", ("a2", 50))],
    ),
    "left with a pending tomb": _map("a a2 b", "a a2 b", "a2 b a", left=(("pop", ("a", None)), 1)),
    "left with a tomb": _map("a a2 b", "a a2 b", "a2 b a", left=(("pop", ("a", None)), 2)),
}  # fmt: skip

Place = Any
_Arguments = Callable[[Place, int], tuple[Any, ...]]


def _key(place: Place, fresh: int) -> tuple[Any, ...]:
    return place[:1]  # type: ignore[no-any-return]


def _key_value(place: Place, fresh: int) -> tuple[Any, ...]:
    return place[0], fresh


def _nothing(place: Place, fresh: int) -> tuple[Any, ...]:
    return ()


_MAP_OPERATIONS: Final[dict[str, _Arguments]] = {
    "get": _key, "__getitem__": _key, "__contains__": _key, "__setitem__": _key_value, "put_if_absent": _key_value,
    "setdefault": _key_value, "get_or_create": _key_value, "replace": _key_value,
    "replace_if": lambda place, fresh: (*place, fresh), "remove_if": lambda place, fresh: place,
    "__delitem__": _key, "pop": lambda place, fresh: (place[0], None), "compute": _key_value,
    "popitem": _nothing, "items": _nothing, "keys": _nothing, "values": _nothing, "__len__": _nothing,
    "clear": _nothing, "snapshot": _nothing, "readonly_snapshot": _nothing,
    "get_many": _key, "update": _key_value,
}  # fmt: skip

# --------------------------------------------------------------------------------------------------- the subscriptions


def _subscriptions(
    filters: str,
    topic: str,
    *places: str,
    later: Sequence[Call] = (),
    left: tuple[Call, int] | None = None,
    operations: str = "",
    **settings: Any,
) -> Start:
    calls: list[Call] = [("subscribe", _pair(each)) for each in filters.split()]
    found = tuple(tuple((*_pair(each), topic) for each in place.split()) for place in places)
    return Start((*calls, *later), found, left, tuple(settings.items()), tuple(operations.split()))


def _pair(text: str) -> tuple[str, str]:
    """`a.b:y` is filter `a.b`, or criteria, with subscriber `y`; without a subscriber, `x`."""
    filter, _, subscriber = text.partition(":")
    return filter, subscriber or "x"


_CROWD: Final = " ".join(f"a.b:s{number}" for number in range(8))
_LEFT: Final[Call] = ("unsubscribe", ("a.b", "x"))
_INDEXED: Final = "subscribe unsubscribe match filters clear snapshot"
_HEARD: Final = "subscribe unsubscribe match clear"
_REMEMBERED: Final[Sequence[Call]] = [("match", ("a.b",))] * 2

_SUBSCRIPTIONS: Final = {
    "empty": _subscriptions("", "a.b", "a.b a.b a.c", "a.b a.c a", "a.b a *.b"),
    "one filter": _subscriptions("a.b", "a.b", "a.b a.b a.c", "a.b a.c a.b", "a.b.c a.b a"),
    "two levels about to go": _subscriptions(
        "a a.b a.b.c", "a.b.c", "a.b.c a.b a", "a.b a.b.c a.c", "a.b.c a.c a.b.c"
    ),
    "a chain": _subscriptions("a.b.c.d", "a.b.c.d", "a.b.c.d a.b.d a", "a.b a.b.c.d a.b.c"),
    "a chain above a level": _subscriptions(
        "a.b.c a.b.d", "a.b.c", "a.b.c a.b a.c", "a.b.c a.b.d a", "a.c a.b.a a.b.c"
    ),
    "a chain below a chain": _subscriptions("a.b.c.d a.c", "a.b.c.d", "a.c a.b.c a.b.c.d", "a.b.c.d a.c a.b"),
    "wildcards in a chain": _subscriptions("a.*.c a.#.c:y", "a.b.c", "a.*.c a.b.c a.#.c:y", "a.* a.*.c a.b.c"),
    "a subscriber above": _subscriptions("a a.b", "a", "a.b a a.c", "a a a.b"),
    "a subscriber above a level above": _subscriptions("a a.b.c a.b.d", "a.b.c", "a.b.c a a.b.d", "a a.b.d a.b.c"),
    "a neighbour below": _subscriptions("a.b a.c", "a.b", "a.b a.c a.b", "a a.b a.c"),
    "neighbours": _subscriptions("a.b a.c a.d", "a.b", "a.b a.c a.d", "a.d a.b a.c"),
    "a neighbour leads on": _subscriptions("a.b a.c.b a.c.d", "a.b", "a.b a.c.b a.c.d", "a.c.d a.b a.c.b"),
    "a subscriber above a neighbour": _subscriptions("a a.b a.c", "a.b", "a a.b a.c", "a.b a a.c"),
    "a subscriber above words that meet": _subscriptions("a a.y1 a.y2", "a.y1", "a.y2 a a.y1", "a.y1 a a.y2"),
    "wildcards": _subscriptions("*.b #:y", "a.b", "a.b *.b #:y", "#:y a.b *.b"),
    "a literal and a wildcard": _subscriptions("a.b", "a.b", "a.b *.b:y a.b:z", "a.b a.#:y *.b"),
    "a wildcard beside words that meet": _subscriptions(
        "a.y1 a.y2 a.y3 *.b:z *.c:z", "a.y1", "a.y1 *.y1:y a.y2", "*.y1:y *.b:z a.y1"
    ),
    "words that meet below a wildcard": _subscriptions(
        "y1:z y2:z #.y1 #.y1:z #.y2:z #.a:z", "y1", "y1 #.y1 y2:z"
    ),
    "a wildcard about to go": _subscriptions("a.c a.d *.b:y *.c:z", "a.b", "a.b *.b:y a.c"),
    "words about to part": _subscriptions("y1 a.y1", "a.y1", "y2 y3 a.y1", "a.y2 a.y1 y2"),
    "words about to meet": _subscriptions(
        "y1.b y2 a.y1 a.y2", "y1.b", "y1.b y2 y1.c", "a.y1 a.y2 a.y3", "y1.c y1.d:y y1.b"
    ),
    "words that part late": _subscriptions("deep1", "deep1", "deep2 deep3 deep1", "deep2 deep1 deep3"),
    "words that meet late": _subscriptions("a.deep1 a.deep2", "a.deep1", "a.deep1 a.deep2 a.deep3"),
    "words of one hash": _subscriptions("same1.b same2", "same1.b", "same1.b same2 same3", "same3 same1.b same2"),
    "after a snapshot": _subscriptions(
        "a.b a.c y1 y2", "a.b", "a.b a.c y1", "a.b y1 a.b.c", later=[("subscriptions", ())]
    ),
    "mixed generations": _subscriptions(
        "b.c b.a d y1 y2", "a.b", "b.d a.c a.b", "y3 a2 b.c", "a.b b.c d",
        later=[("subscriptions", ()), ("unsubscribe", ("d", "x")), ("subscribe", ("a.b", "x")),
               ("subscribe", ("a.d", "x")), ("subscribe", ("a2", "x")), ("subscribe", ("a3", "x"))],
    ),
    "two subscribers": _subscriptions("a.b a.b:y", "a.b", "a.b a.b:y a.c", "a.b a.b a.b:y"),
    "eight subscribers": _subscriptions(_CROWD, "a.b", "a.b:s8 a.b:s0 a.b:s1"),
    "nine subscribers": _subscriptions(f"{_CROWD} a.b:s8", "a.b", "a.b:s8 a.b:s0 a.b:s9"),
    "an answer remembered": _subscriptions(
        "a.b a.c d *.c:y", "a.b", "a.b *.b:y a.b", "a.c #:y a.b", later=_REMEMBERED, cache=4
    ),
    "an answer remembered before a snapshot": _subscriptions(
        "a.b a.c d *.c:y", "a.b", "a.b *.b:y a.c", "a.c #:y a.b", later=[*_REMEMBERED, ("subscriptions", ())], cache=4
    ),
    "exact, a filter of each kind": _subscriptions(
        "a.b a.*:y *.b:z", "a.b", "a.b a.*:y *.b:z", "a.*:y *.b:z a.b", "a.#:y a.b a.*:y", exact=True
    ),
    "exact, texts that meet": _subscriptions("a.b a.c", "a.b", "a.b a.c a.d", "a.d a.*:y a.b", exact=True),
    "exact, a filter behind the mark about to go": _subscriptions(
        "a.*:y b.*:y", "a.b", "a.*:y b.*:y a.b", "a.b a.*:y b.*:y", exact=True
    ),
    "indexed, empty": _subscriptions("", "a.b", "a.b a.b a.c", "a.b a.c a.b:y", operations=_INDEXED, index=True),
    "indexed, one filter": _subscriptions(
        "a.b", "a.b", "a.b a.b a.c", "a.b a.c a.b:y", operations=_INDEXED, index=True
    ),
    "indexed, two filters": _subscriptions("a.b a.c", "a.b", "a.b a.c a.b", operations=_INDEXED, index=True),
    "listened to, empty": _subscriptions(
        "", "a.b", "a.b a.b a.c", "a.b a.c a.b:y", operations=_HEARD, on_interest=True
    ),
    "listened to, one filter": _subscriptions(
        "a.b", "a.b", "a.b a.b a.c", "a.b a.b:y a.c", "a.b a.c a.b", operations=_HEARD, on_interest=True
    ),
    "left with a pending removal": _subscriptions("a.b", "a.b", "a.b a.c a", left=(_LEFT, 1)),
    "left with a pending tomb": _subscriptions("a a.b", "a.b", "a.b a.c a", left=(_LEFT, 1)),
    "left with a tomb": _subscriptions("a a.b", "a.b", "a a.c a.b", left=(_LEFT, 2)),
    "left with a level to roll up": _subscriptions("a.b a.c", "a.c", "a a.c a.b", left=(_LEFT, 2)),
    "left with a pending tomb to roll up": _subscriptions("a.b a.c", "a.c", "a a.c a.b", left=(_LEFT, 3)),
    "left with a tomb of a wildcard to roll up": _subscriptions(
        "a.b a.* *.b:y", "a.c", "a a.c a.*", "a.* a a.b", left=(_LEFT, 4)
    ),
    "left with a tomb to roll up": _subscriptions("a.b a.c", "a.c", "a a.c a.b", "a.b a a.c", left=(_LEFT, 4)),
}  # fmt: skip


def _filter(place: Place, fresh: int) -> tuple[Any, ...]:
    return place[:2]  # type: ignore[no-any-return]


def _topic(place: Place, fresh: int) -> tuple[Any, ...]:
    return place[2:]  # type: ignore[no-any-return]


def _several(place: Place, fresh: int) -> tuple[Any, ...]:
    """Filters beside each other, or below each other, with the subscriber of the place."""
    filters = dict.fromkeys((place[0], "a.b", "a.c", "a.y1", "a.y2"))
    return tuple((filter, place[1]) for filter in filters)


_SUBSCRIPTION_OPERATIONS: Final[dict[str, _Arguments]] = {
    "subscribe": _filter, "unsubscribe": _filter, "match": _topic, "has_match": _topic, "count": _topic,
    "entries": _topic, "filters": lambda place, fresh: place[1:2], "subscriptions": _nothing, "snapshot": _nothing,
    "__len__": _nothing, "clear": _nothing, "deliveries": _topic, "match_many": _topic, "deliveries_many": _topic,
    "match_iter": _topic, "deliveries_of": lambda place, fresh: (place[2], place[1]),
    "subscribe_many": _several, "unsubscribe_many": _several,
}  # fmt: skip

# ----------------------------------------------------------------------------------------- the queue groups of a filter

_SHARED: Final = "$share/g/a/b"


def _shares(members: str, *places: str, operations: str = "", **settings: Any) -> Start:
    """`.x` is a subscriber in no group."""
    calls: tuple[Call, ...] = tuple(("subscribe", _share(each)[:2]) for each in members.split())
    found = tuple(tuple(map(_share, place.split())) for place in places)
    return Start(calls, found, None, tuple(settings.items()), tuple(operations.split()))


def _share(text: str) -> tuple[str, str, str]:
    return ("a/b" if text.startswith(".") else _SHARED), text.lstrip("."), "a/b"


_TOLD: Final = "subscribe unsubscribe members"


_SHARES: Final = {
    "nobody in the group": _shares("", "x y x", "x x y"),
    "one in the group": _shares("x", "x y x", "y z x"),
    "two in the group": _shares("x y", "x y z", "z x y"),
    "listened to, nobody": _shares("", "x x .x", "x .y x", operations=_TOLD, on_group_interest=True),
    "listened to, one in the group": _shares("x", "x y .x", ".y x .y", operations=_TOLD, on_group_interest=True),
    "listened to, one of each": _shares("x .y", "x .y .x", ".y .z x", operations=_TOLD, on_group_interest=True),
}

_SHARE_OPERATIONS: Final[dict[str, _Arguments]] = {
    "subscribe": _filter, "unsubscribe": _filter, "match": _topic, "deliveries": _topic, "has_match": _topic,
    "members": _topic, "groups": _topic, "deliveries_of": lambda place, fresh: (place[2], place[1]),
}  # fmt: skip

# ------------------------------------------------------------------------------------------- the exclusions of a filter


def _exclusions(members: str, *places: str) -> Start:
    """`x!b` is a subscriber to `a.*` without `a.b`."""
    calls: tuple[Call, ...] = tuple(("subscribe", _without(each)) for each in members.split())
    return Start(calls, tuple(tuple((*_without(each), "a.b") for each in place.split()) for place in places))


def _without(text: str) -> tuple[str, str, str]:
    subscriber, _, word = text.partition("!")
    return "a.*", subscriber, word and f"a.{word}"


_EXCLUSIONS: Final = {
    "nobody on the filter": _exclusions("", "x!b y x", "x x!b y"),
    "one without exclusions": _exclusions("x", "x!b x y!b", "x!c x!b x"),
    "one with exclusions": _exclusions("x!b", "x x!c y", "y!b x x!b"),
    "one of each": _exclusions("x!b y", "x y!b z", "y!b x!c x"),
}

_EXCLUSION_OPERATIONS: Final[dict[str, _Arguments]] = {
    "subscribe": lambda place, fresh: place[:3], "unsubscribe": _filter, "match": lambda place, fresh: place[3:],
    "has_match": lambda place, fresh: place[3:], "deliveries": lambda place, fresh: place[3:],
    "match_iter": lambda place, fresh: place[3:], "match_many": lambda place, fresh: place[3:],
    "subscriptions": _nothing, "snapshot": _nothing, "clear": _nothing,
}  # fmt: skip

# --------------------------------------------------------------------------------------------- the values of topics


_TOPICS: Final = {
    "empty": _map("", "a.b a.b a.c", "a.b a a.c"),
    "one topic": _map("a.b", "a.b a.b a.c", "a.b a.c a", "a.b.c a.b a"),
    "a topic above": _map("a a.b", "a.b a a.c", "a a.c a.b"),
    "a topic beside": _map("a.b a.c", "a.b a.c a", "a.b a.b a"),
    "words about to meet": _map("y1.b y2 a.y1 a.y2", "y1.b y2 y1.c", "a.y1 a.y2 a.y3", "y1.c y1.d y1.b"),
    "words of one hash": _map("same1.b same2", "same1.b same2 same3"),
    "after a snapshot": _map("a.b a.c y1 y2", "a.b a.c y1", "a.b y1 a.c", later=[("items", ())]),
}

_TOPIC_OPERATIONS: Final[dict[str, _Arguments]] = {
    "get": _key, "__setitem__": _key_value, "setdefault": _key_value, "pop": lambda place, fresh: (place[0], None),
    "matching": _key, "matching_all": _nothing, "joined": _nothing, "items": _nothing,
    "clear": _nothing, "snapshot": _nothing,
}  # fmt: skip

# --------------------------------------------------------------------------------- the subscriptions of field matchers


def _asked(criteria: str, message: str, *places: str, later: Sequence[Call] = ()) -> Start:
    """Criteria are those of `tests.tries.fields`, apart by commas; each may have a subscriber, as filters may."""
    calls: list[Call] = [("subscribe", _pair(each)) for each in _listed(criteria)]
    found = tuple(tuple((*_pair(each), message) for each in _listed(place)) for place in places)
    return Start((*calls, *later), found)


def _listed(criteria: str) -> list[str]:
    return [each.strip() for each in criteria.split(",") if each.strip()]


_EIGHT_ON_ONE: Final = ", ".join(f"f=1:s{number}" for number in range(8))

_FIELDS: Final = {
    "empty": _asked("", "f=1 g=2", "f=1, f=1, g", "f=1, f>=0 & g:y, f=1"),
    "one subscription": _asked("f=1", "f=1 g=2", "f=1, f=1, g", "f=1, f=1 & g, f=1:y", "f=1, f>=0, g"),
    "one of two criteria": _asked("f=1 & g", "f=1 g=2", "f=1 & g, f=1, g", "g, f=1 & g, f=1 & g:y"),
    "two subscribers": _asked("f=1, f>=0 & g:y", "f=1 g=2", "f=1, f>=0 & g:y, !h", "f>=0 & g:y, f=1:y, f=1"),
    "values of one hash": _asked("f=0, f=:y", "f=0", "f=0, f=, f=0:y", "f=, f=0:y, f!=0"),
    "ranges about to turn": _asked("f>=1, f>=2, f<2:y", "f=3", "f>=3, f>=1, f<2:y", "f<4, f>=2, f>=3"),
    "absence": _asked("!h", "f=1", "!h, f & !h, !h:y", "f & !h, h, !h"),
    "eight on one value": _asked(_EIGHT_ON_ONE, "f=1", "f=1:s8, f=1:s0, f=1:s1", "f=1:s0, f=1:s0, f=1:s8"),
    "hits are counted": _asked(
        "f=1 & g, f=1:y", "f=1 g=2", "f=1 & g, f=1, f=1:y", "f=1, g:y, f=1 & g", later=[("hits", ("f=1",))]
    ),
}  # fmt: skip

_ROUTES: Final = {
    "empty": _asked("", "@a.b f=1", "@a.b, @a.b, @a.*", "@a.b & f=1, @a.* & f=1:y, @a.b"),
    "a filter of each kind": _asked(
        "@a.b & f=1, @a.*:y, @# & f>=1:z", "@a.b f=1", "@a.b & f=1, @a.*:y, @# & f>=1:z",
        "@a.b.*:y, @*.b & f=1, @a.b & f=1",
    ),
    "one filter, other criteria": _asked("@a.* & f=1, @a.* & f=2:y", "@a.b f=1", "@a.* & f=1, @a.* & f=2, @a.*:y"),
}  # fmt: skip


def _many(place: Place, fresh: int) -> tuple[Any, ...]:
    """Two subscriptions at one instant: what the place is about, and the same of another subscriber."""
    return ((place[:2], (place[0], "z")),)


_FIELD_OPERATIONS: Final[dict[str, _Arguments]] = {
    "subscribe": _filter, "unsubscribe": _filter, "match": _topic, "match_any": _topic, "hits": _topic,
    "match_many": _topic, "deliveries": _topic, "subscriptions": _nothing, "snapshot": _nothing, "fork": _nothing,
    "__len__": _nothing, "clear": _nothing, "subscribe_many": _many, "unsubscribe_all": lambda place, fresh: place[1:2],
}  # fmt: skip
_ROUTE_OPERATIONS: Final = {op: made for op, made in _FIELD_OPERATIONS.items() if op not in {"match_any", "hits"}}

STARTS: Final[Mapping[str, Mapping[str, Start]]] = {
    "map": _MAPS, "subscriptions": _SUBSCRIPTIONS, "shares": _SHARES, "exclusions": _EXCLUSIONS,
    "topics": _TOPICS, "fields": _FIELDS, "routes": _ROUTES,
}  # fmt: skip
OPERATIONS: Final[Mapping[str, Mapping[str, _Arguments]]] = {
    "map": _MAP_OPERATIONS,
    "subscriptions": _SUBSCRIPTION_OPERATIONS,
    "shares": _SHARE_OPERATIONS,
    "exclusions": _EXCLUSION_OPERATIONS,
    "topics": _TOPIC_OPERATIONS,
    "fields": _FIELD_OPERATIONS,
    "routes": _ROUTE_OPERATIONS,
}
CORE: Final[Mapping[str, Sequence[str]]] = {
    "map": ("get", "__setitem__", "pop", "compute", "clear", "items", "readonly_snapshot", "snapshot"),
    "subscriptions": ("subscribe", "unsubscribe", "match", "has_match", "clear", "snapshot"),
    "shares": ("subscribe", "unsubscribe", "match", "members"),
    "exclusions": ("subscribe", "unsubscribe", "match", "has_match", "snapshot"),
    "topics": ("get", "__setitem__", "pop", "clear", "snapshot"),
    "fields": ("subscribe", "unsubscribe", "match", "hits", "clear", "snapshot"),
    "routes": ("subscribe", "unsubscribe", "match", "snapshot"),
}
"""Representative operations: each of them reads, changes or replaces different things."""

VARIANTS: Final = frozenset(
    {
        "get_many", "update", "match_many", "match_iter", "deliveries", "deliveries_many", "fork", "groups",
        "subscribe_many", "unsubscribe_many",
    }
)  # fmt: skip
"""Operations that read or change the same as another one, by different code: explored against the representative
ones."""

_THREE: Final = {
    "map": (("__setitem__", "pop", "clear"), ("get", "items", "snapshot")),
    "subscriptions": (("subscribe", "unsubscribe"), ("match", "snapshot")),
    "shares": (("match",), ()),
    "exclusions": (("subscribe", "unsubscribe"), ("match", "snapshot")),
    "topics": (("__setitem__", "pop"), ("matching",)),
    "fields": (("subscribe", "unsubscribe"), ("match", "hits", "snapshot")),
    "routes": (("subscribe", "unsubscribe"), ("match",)),
}

_TWO_VALUES: Final = ((("__setitem__", 1), ("__setitem__", 0)), (("pop", 1), ("pop", 0)))
_TWO_SUBSCRIPTIONS: Final = ((("subscribe", 1), ("unsubscribe", 0)), (("unsubscribe", 1), ("unsubscribe", 0)))

_BESIDE: Final = {
    "map": (
        ("__setitem__", "pop", "compute", "items"),
        (
            *_TWO_VALUES,
            (("snapshot", 0), ("get", 0), ("items", 0)),
            (("__setitem__", 1), ("snapshot", 1), ("get", 0)),
            (("__setitem__", 1), ("readonly_snapshot", 1), ("pop", 0), ("get", 0)),
        ),
    ),
    "subscriptions": (
        ("subscribe", "unsubscribe", "match", "subscriptions"),
        (
            *_TWO_SUBSCRIPTIONS,
            (("snapshot", 0), ("match", 0), ("subscriptions", 0)),
            (("subscribe", 1), ("snapshot", 1), ("match", 0)),
            (("unsubscribe", 1), ("snapshot", 1), ("subscribe", 0), ("match", 0)),
            (("match_iter", 0), ("match", 0)),
        ),
    ),
    "shares": (("subscribe", "unsubscribe"), _TWO_SUBSCRIPTIONS),
    "exclusions": (
        ("subscribe",),
        (*_TWO_SUBSCRIPTIONS, (("snapshot", 0), ("match", 0)), (("match", 0), ("has_match", 0))),
    ),
    "topics": (
        ("__setitem__", "pop", "items"),
        (
            *_TWO_VALUES,
            (("snapshot", 0), ("get", 0), ("matching", 0)),
            (("__setitem__", 1), ("snapshot", 1), ("get", 0)),
        ),
    ),
    "fields": (
        ("subscribe", "unsubscribe"),
        (
            *_TWO_SUBSCRIPTIONS,
            (("snapshot", 0), ("match", 0), ("subscriptions", 0)),
            (("subscribe", 1), ("snapshot", 1), ("match", 0)),
            (("unsubscribe", 1), ("hits", 0), ("subscribe", 0), ("match", 0)),
        ),
    ),
    "routes": (("subscribe", "unsubscribe"), _TWO_SUBSCRIPTIONS),
}
"""Calls, and what another thread does at the same time: operations, each on the first or the second place."""

# ----------------------------------------------------------------------------------------------------------- scenarios


def pairs(target: str) -> Iterator[Scenario]:
    """Every pair of operations, on every start and its places."""
    for name, start in STARTS[target].items():
        for first, second in product(start.operations_of(target), repeat=2):
            if VARIANTS & {first, second} and not set(CORE[target]) & {first, second}:
                continue
            for one, other, *_ in start.places:
                if one != other or first <= second:
                    yield _scenario(target, name, (first, second), (one, other))


def stops(target: str) -> Iterator[Scenario]:
    """Pairs of representative operations, in both orders: the first thread is the one to stop."""
    for name, start in STARTS[target].items():
        for operations in product(start.operations_of(target, CORE[target]), repeat=2):
            for one, other, *_ in start.places:
                yield _scenario(target, name, operations, (one, other))


def triples(target: str) -> Iterator[Scenario]:
    """Three threads with one operation each, of the few that gain most from three; at least one of them writes."""
    writes, others = _THREE[target]
    for name, start in STARTS[target].items():
        for operations in combinations_with_replacement(start.operations_of(target, (*writes, *others)), 3):
            if operations[0] in writes:
                yield _scenario(target, name, operations, start.places[0])


def sequences(target: str) -> Iterator[Scenario]:
    """A call that a thread may leave half-way, beside a thread with several. That one changes something in the same
    nodes, takes a snapshot and reads: a change that is pending below the root then aborts wherever it is found. Or it
    changes something beside what the first thread has found, and then that: what was found, and not kept, is freed.
    """
    firsts, programs = _BESIDE[target]
    for name, start in STARTS[target].items():
        for op in start.operations_of(target, firsts):
            for places, program in product(start.places, programs):
                if all(each in start.operations_of(target) for each, _ in program):
                    fresh = count(1001).__next__
                    first = (op, OPERATIONS[target][op](places[0], fresh()))
                    calls = tuple((op, OPERATIONS[target][op](places[place], fresh())) for op, place in program)
                    yield Scenario(target, name, ((first,), calls))


def _scenario(target: str, start: str, operations: Sequence[str], places: Sequence[Place]) -> Scenario:
    fresh = count(1001).__next__
    calls = [(op, OPERATIONS[target][op](place, fresh())) for op, place in zip(operations, places, strict=True)]
    return Scenario(target, start, tuple((call,) for call in calls))


_SIZES: Final = ((1, 1), (1, 2), (1, 3), (2, 2), (1, 1, 1), (1, 1, 2))


def random_scenario(
    target: str,
    random: Random,
    starts: Sequence[str] = (),
    operations: Sequence[str] = (),
    sizes: Sequence[Sequence[int]] = _SIZES,
) -> Scenario:
    """Threads with as many calls each as one of `sizes` says. The calls are of `operations` (or any), on the places of
    one of `starts` (or of all).

    Values are either unique, so that a read tells which write it saw, or all the same, so that a value can come back.
    """
    name = random.choice(list(starts or STARTS[target]))
    places = random.choice(STARTS[target][name].places)
    unique = count(1001).__next__
    fresh: Callable[[], int] = random.choice([unique, unique, lambda: 10])
    start = STARTS[target][name]
    drawn_from = start.operations_of(target, operations or [*OPERATIONS[target], *CORE[target], *CORE[target]])
    size = random.choice(sizes)
    if target == "shares" and len(size) > 1 and not start.operations:
        # A match takes its turn after the instant of its answer. Two matches beside changes may show that.
        drawn_from = ["match", "deliveries", "has_match"]

    def call() -> Call:
        op = random.choice(drawn_from)
        return op, OPERATIONS[target][op](random.choice(places), fresh())

    return Scenario(target, name, tuple(tuple(call() for _ in range(calls)) for calls in size))
