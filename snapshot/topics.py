"""A topic store as data: its topics as the rows of a set, so that all that holds for sets holds for stores.

A row is a subscription of a trie that mirrors the store: the topic stands in the column ``filter``, the subscriber is
`HOLDER`, and these options hold the value, all as texts. What is stored says the `Limits` of a store, even if they are
none, and of a set it says none; a name may end like that of a store. The dialect has the store's rules and the store's
name with `SUFFIX`. It has no shared subscriptions, since a topic is none, whatever its first word is; that of shared
subscriptions stands in the known option `SHARED`, which no row has.

============= ========================================================================================
option        content
============= ========================================================================================
``type``      ``text``; ``json``; ``utf8``: bytes that are UTF-8; ``hex``: other bytes; ``tagged``: others
``value``     the text; the JSON; the bytes as text or in hexadecimal digits; a tagged text (`subtrie.tagged`)
``stored_at`` when it was stored, in seconds since 1970 (UTC)
``expires``   how many seconds it lasts from then on, if that is its own
============= ========================================================================================

A value without any of these forms is refused like an option without one: a `Publisher` sets it aside.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import math
import weakref
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from snapshot.dialect_fields import KNOWN
from snapshot.turns import Turns
from subtrie import AMQP, Dialect, SubscriptionTrie, TopicError, TopicStore
from subtrie.tagged import form_of, has_surrogates, json_or_str, rebuilds, tagged, untagged

SUFFIX: Final = " topics"
HOLDER: Final = "retained"
SHARED: Final = "share_prefix"

_log = logging.getLogger("snapshot")


class Limits(NamedTuple):
    """The limits of a topic store: how old its values get, in seconds, and how many there are. None: any."""

    max_age: float | None = None
    max_topics: int | None = None

    @classmethod
    def read(cls, fields: Mapping[str, Any] | None) -> Limits | None:
        """Read what `_asdict` wrote.

        Raises:
            ValueError: or TypeError: it is not that.
        """
        if fields is None:
            return None
        found = cls(fields["max_age"], fields["max_topics"])
        TopicStore(AMQP, max_age=found.max_age, max_topics=found.max_topics)  # raises an error if they are none
        return found


def limits_of(source: object) -> Limits | None:
    """The limits of a topic store; None for anything else."""
    if not isinstance(source, TopicStore):
        return None
    return Limits(None if source.max_age == math.inf else source.max_age, source.max_topics)


class Mirror:
    """A subscription trie with the content of a topic store. Both keep their identity."""

    def __init__(self, store: TopicStore[Any], trie: SubscriptionTrie | None = None) -> None:
        self._store = weakref.ref(store)
        self._turns = Turns()
        self._may_have_more = False  # than the store, which may have made room or let values expire
        # None while the two are made equal: if that is interrupted, or a fork comes in the middle, all is compared.
        self._seen: TopicStore[Any] | None = None
        self.trie = trie if trie is not None else SubscriptionTrie(dialect_for(store.dialect))
        seen: Any = store.snapshot()
        if trie is None:
            write_topics(self.trie, seen._lifetimes(), ((None, entry) for entry in seen.entries()))
        self._seen = seen

    def refresh(self) -> SubscriptionTrie:
        """Bring the trie up to date with the store; return it. O(changes), and O(topics) if the store has ``max_age``.

        A signal's handler that comes in the middle of this gets a trie of its own. O(topics).
        """
        store = self._store()
        if store is None:
            return self.trie
        return self._turns.take(lambda: self._refreshed(store), lambda: Mirror(store).trie, None)

    def _refreshed(self, store: TopicStore[Any]) -> SubscriptionTrie:
        now = frozen(store)
        seen, self._seen = self._seen, None
        if self._may_have_more or seen is None:
            held = self.trie.snapshot().subscriptions()
            write_topics(self.trie, {}, (((each.filter,), None) for each in held if each.filter not in now))
            self._may_have_more = False
        changes = ((None, entry) for entry in now.entries()) if seen is None else now.changes(seen)
        write_topics(self.trie, now._lifetimes(), changes)
        self._seen = now
        return self.trie

    def apply(self, before: SubscriptionTrie | None) -> None:
        """Bring the store up to date with the trie, of which ``before`` is an earlier snapshot: O(changes). None for
        what nobody knows, since something else has written to the store: O(topics)."""
        store = self._store()
        assert store is not None
        self._turns.take(lambda: self._applied(store, before), lambda: None, None)

    def _applied(self, store: TopicStore[Any], before: SubscriptionTrie | None) -> None:
        before = Mirror(store).trie if before is None else before
        # What was removed comes first, since a store with limits might make room for the rest by itself.
        for change in self.trie.diff(before):
            if change.kind == "removed":
                store.pop(change.subscription.filter, None)
        for change in self.trie.diff(before):
            if change.kind != "removed":
                _put(store, change.subscription.filter, change.subscription.options)
        self._seen = store.snapshot()
        self._may_have_more = (store.max_age, store.max_topics) != (None, None)


def frozen(store: TopicStore[Any]) -> Any:
    """A snapshot of a store, without what has expired. O(1), and O(topics) if the store has ``max_age``."""
    if store.max_age is not None:
        with contextlib.suppress(TypeError):  # a snapshot
            store.expire()
    return store.snapshot()


def write_topics(trie: SubscriptionTrie, own: Mapping[str, float], changes: Iterable[tuple[Any, Any]]) -> None:
    """Write changes of a store into a trie: entries before and after, None for none.

    Args:
        own: how long values last that have a time of their own.
    """
    for old, new in changes:
        topic = (new or old)[0]
        try:
            if new is None:
                trie.unsubscribe(topic, HOLDER)
            else:
                trie.subscribe(topic, HOLDER, **_options(new[1], new[2], own.get(topic)))
        except TopicError as error:
            _log.error("the topic %r is not stored: %s", topic, error)


# Mirrors are found by their stores, which have no hash. A mirror goes with its store.
_mirrors: dict[int, Mirror] = {}


def mirror_of(store: TopicStore[Any]) -> Mirror:
    """The mirror of a store; it is made at the first call. O(topics) then."""
    found = _mirrors.get(id(store))
    return found if found is not None else _kept(store, Mirror(store))


def _kept(store: TopicStore[Any], mirror: Mirror) -> Mirror:
    mirror = _mirrors.setdefault(id(store), mirror)
    weakref.finalize(store, _mirrors.pop, id(store), None)
    return mirror


def mirrored(source: Any) -> Any:
    """The trie that stands for a source: of a topic store, its mirror as it is now; any other source itself."""
    return mirror_of(source).refresh() if isinstance(source, TopicStore) else source


def topics_of(trie: Any, limits: Limits | None = None, *, is_mirror: bool = True) -> Any:
    """What a restored trie stands for: a topic store if it mirrors one, or else the trie itself. O(topics).

    Args:
        limits: those of a new store; None if it mirrors none.
        is_mirror: whether the trie becomes the mirror of the store.

    Raises:
        ValueError: a row is not that of a topic.
    """
    if limits is None:
        return trie
    store = TopicStore[Any](dialect_of(trie.dialect), max_age=limits.max_age, max_topics=limits.max_topics)
    for held in trie.subscriptions():
        _put(store, held.filter, held.options)
    if is_mirror:
        _kept(store, Mirror(store, trie))._may_have_more = (store.max_age, store.max_topics) != (None, None)
    return store


def of_kind(kind: type[Any] | None, found: Any, place: str) -> Any:
    """What was found, if it is of this kind.

    Raises:
        ValueError: it is not.
        TypeError: ``kind`` is no such kind.
    """
    if kind not in (None, SubscriptionTrie, TopicStore):
        raise TypeError(f"kind must be SubscriptionTrie or TopicStore, not {kind!r}")
    if kind is not None and not isinstance(found, kind):
        other = "a topic store" if kind is SubscriptionTrie else "a set of subscriptions"
        raise ValueError(f"{place} has {other}, and kind= asks for a {kind.__name__}")
    return found


def dialect_for(dialect: Dialect) -> Dialect:
    """The dialect of a mirror."""
    shared = () if dialect.share_prefix is None else ((SHARED, (dialect.share_prefix,)),)
    options = (*dialect.options, *shared)
    return dataclasses.replace(dialect, name=dialect.name + SUFFIX, share_prefix=None, options=options)


def dialect_of(mirrored: Dialect) -> Dialect:
    """The dialect of the store that has a mirror of this dialect."""
    name = mirrored.name.removesuffix(SUFFIX)
    dialect = dataclasses.replace(mirrored, name=name)
    option, allowed = dialect.options[-1] if dialect.options else ("", ())
    if option == SHARED and isinstance(allowed, tuple):
        dialect = dataclasses.replace(dialect, share_prefix=allowed[0], options=dialect.options[:-1])
    return KNOWN.get(name, dialect) if dialect == KNOWN.get(name) else dialect


def _options(value: object, stored_at: float, expires: float | None) -> dict[str, Any]:
    kind, text = _texts(value)
    own = {} if expires is None else {"expires": repr(float(expires))}
    return {"type": kind, "value": text, "stored_at": repr(float(stored_at)), **own}


def _texts(value: object) -> tuple[str, object]:
    if type(value) is str:
        return ("tagged", tagged(value)) if has_surrogates(value) else ("text", value)
    if type(value) is bytes:
        try:
            return "utf8", value.decode()
        except UnicodeDecodeError:
            return "hex", value.hex()
    try:
        if rebuilds(value):
            return "json", json_or_str(value)
        return "tagged", form_of(value)
    except (TypeError, ValueError):
        return "tagged", value  # whoever stores the row refuses it


def _put(store: TopicStore[Any], topic: str, options: Mapping[str, Any]) -> None:
    """Store the value of a row."""
    try:
        kind, text, stored_at = options["type"], options["value"], float(options["stored_at"])
        value, expires = _READ[kind](text), float(options["expires"]) if "expires" in options else None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{dict(options)} holds no value of a topic: {error!r}") from error
    store.put(topic, value, stored_at, expires=expires)


_READ = {
    "text": lambda text: text,
    "utf8": lambda text: text.encode(),
    "hex": bytes.fromhex,
    "json": json.loads,
    "tagged": untagged,
}
