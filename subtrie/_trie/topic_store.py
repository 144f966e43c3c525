# distutils: extra_compile_args = SMALL
"""`TopicStore`: the last value of each topic, found by filters, for many threads at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from functools import cache
from math import inf, nextafter
from operator import attrgetter, itemgetter
from time import monotonic, time
from typing import Any

import cython

from subtrie.dialects import AMQP, Dialect, require_dialect
from subtrie.errors import TopicError

if not cython.compiled:
    from ctrie._machine import release
    from ctrie._nodes import Root, clear_root, empty_root, fork_root, freeze_root
    from ctrie._tally import Tally, approximate_length, begin_clear, end_clear, length, read, taken_over
    from subtrie._trie.frozen import frozen_root
    from subtrie._trie.lookup import find_in_place
    from subtrie._trie.match.plan import Matchable, Plan, path_by
    from subtrie._trie.match.topic_rules import TopicRules, topic_in_place, topic_path
    from subtrie._trie.match.walk import Traversal, address
    from subtrie._trie.queries.topics_matching import topics_along
    from subtrie._trie.topic_edits import put_topic, remove_topic
    from subtrie._trie.words import MANY_WORDS, ONE_WORD
else:
    from cython import address

from ctrie import AtomicReference
from ctrie._nodes import NODES, check_level
from ctrie._subclasses import attributes_of, not_to_be_changed, set_attributes
from ctrie._views import SUBSCRIPTED, NoDefault
from subtrie._trie.branch import Branch, Chain, is_wanted, words_in
from subtrie._trie.exclusions import BUT
from subtrie._trie.exclusions import checked as checked_exclusions
from subtrie._trie.exclusions import words_of as exclusions_of
from subtrie._trie.match.deliveries import Delivery, check_merge
from subtrie._trie.match.plan import word_hash
from subtrie._trie.match.topic_rules import topic_rules
from subtrie._trie.queries.joining import few_filters, joined
from subtrie._trie.queries.listing import branch_at, entry_changes, filter_count, value_changes, walk
from subtrie._trie.trie import SubscriptionTrie

_ABSENT: Any = NoDefault()

# An entry has topic, value and time; if it expires, the time on the clock `monotonic` when it does; and if that is its
# own, the seconds that it lasts.
_TOPIC, _VALUE, _PAIR, _ROW = itemgetter(0), itemgetter(1), itemgetter(0, 1), itemgetter(0, 1, 2)

_JITTER = 0.001
"""How many seconds, at most, pass between the readings of two clocks, one after the other."""
_FEWEST = 1000
"""How many topics are added, at least, before a writer looks for those that are too old."""


if not cython.compiled:  # borrowed; the compiled one (topic_store.pxd) counts no reference
    rules_of = attrgetter("_rules")


class TopicStore(Matchable):
    """TopicStore(dialect=..., topics=(), *, max_age=None, max_topics=None)\n--\n
    The last value of each topic, found by filters. Any number of threads may read and change it without locks.

    `TopicStore(dialect=AMQP, topics=())` maps topics to values. A broker keeps its retained messages in one. Topics and
    filters follow the dialect, including MQTT's rules for `$` topics; a text that it refuses raises `TopicError`.
    `topics` is a mapping, or an iterable of (topic, value).

    It is a `MutableMapping`. Each operation is linearizable and lock-free. An operation on all topics, or on all that a
    filter matches, sees one instant. Afterwards, writers copy each node once, at their first change of it.

    Each value has the time when it was stored (`stored_at`, `entries`). What is older than `max_age` seconds is not
    there any more, for any question. When there are more than `max_topics`, those stored longest ago are removed, an
    eighth of `max_topics` at once. Writers do this, when the store has grown by as many topics as could make it
    necessary, and then remove what is too old, too; so both cost a writer O(1) on average. `expire` does it at once.

    Times are those of the wall clock, but none is before an earlier one of the store: if the clock is set back, they go
    on from the latest. Ages are measured by a clock that nobody sets; only that of a value with a time of its own
    (`put`) is told by the wall clock, once, when it is put.

    Source: the Ctrie of `SubscriptionTrie`, with topics instead of filters.

    >>> store = TopicStore()
    >>> store["eur.stock.db"] = 11.5
    >>> store["usd.stock.ge"] = 98
    >>> sorted(store.matching("*.stock.#"))
    [('eur.stock.db', 11.5), ('usd.stock.ge', 98)]
    """

    __slots__ = ("__weakref__", "_ahead", "_as_of", "_asked_by", "_room", "_rules", "dialect", "max_age", "max_topics")
    __class_getitem__ = SUBSCRIPTED
    __hash__ = None  # type: ignore[assignment]
    dialect: Dialect
    _rules: TopicRules  # how its topics are split; `_plan` is the plan that these have
    _asked_by: Plan  # the plan of the dialect's filters
    max_age: float | None
    max_topics: int | None
    _as_of: float | None  # of a snapshot: when it was taken, on the clock `monotonic`
    _room: AtomicReference[int] | None  # how many more topics there may be before something must be removed
    _ahead: AtomicReference[float] | None  # how far its times are ahead of `monotonic`, if it limits their number

    if cython.compiled:

        def __cinit__(self, *_: object, **__: object) -> None:
            self._root, self._plan, self._asked_by = _UNMADE, _UNMADE_PLAN, _UNMADE_PLAN
            self.dialect, self._rules = AMQP, _UNMADE_RULES
            self.max_age = self.max_topics = self._as_of = self._room = self._ahead = None
            self._tally = Tally()
    else:

        def __new__(cls, *_: object, **__: object) -> TopicStore:
            self = object.__new__(cls)
            self._root, self._plan, self._cache, self._home = _UNMADE, _UNMADE_PLAN, None, None
            self.dialect, self._rules, self._asked_by = AMQP, _UNMADE_RULES, _UNMADE_PLAN
            self.max_age = self.max_topics = self._as_of = self._room = self._ahead = None
            self._tally = Tally()
            return self

    def __init__(
        self,
        dialect: Dialect = AMQP,
        topics: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
        *,
        max_age: float | None = None,
        max_topics: int | None = None,
    ) -> None:
        require_dialect(dialect)
        if self._root is not _UNMADE:
            raise TypeError("a TopicStore is initialised once; make another one")
        _check_limits(max_age, max_topics)
        self.max_age, self.max_topics = max_age, max_topics
        self._ahead = AtomicReference(time() - monotonic())
        self._room = AtomicReference(_FEWEST if max_topics is None else max_topics)
        self._begin(dialect, empty_root())
        self.update(topics)

    def _begin(self, dialect: Dialect, root: Root) -> None:
        self._rules = topic_rules(dialect)
        self._plan = self._rules.literal
        self._asked_by = _plan_of_filters(dialect)
        self.dialect = dialect
        self._root = root

    # ----------------------------------------------------------------------------------------------------- to change

    def __setitem__(self, topic: str, value: Any) -> None:
        """Store `value` for `topic`; it replaces any earlier value. O(words). Linearizes at the commit of one
        compare-and-set.

        Raises:
            TopicError: `topic` is not a topic.
            TypeError: This is a read-only snapshot.
        """
        self._writable()
        words, hashes = self._path(topic)
        self._put(words, hashes, self._entry(str.__str__(topic), value))

    def put(self, topic: str, value: Any, stored_at: float | None = None, *, expires: float | None = None) -> None:
        """Store `value` for `topic`, which is not there any more `expires` seconds after it was stored, or `max_age` if
        that is less. Pickles, files and published directories keep that.

        `stored_at` is another time, to restore a value with its age: in seconds, as `time.time()` gives them. A value
        from the future has no age, and the times of later ones are not before it. The rest is as in
        `store[topic] = value`.

        Raises:
            ValueError: `expires` is not more than 0, or `stored_at` is no time.

        >>> store = TopicStore(max_age=3600)
        >>> store.put("a", 1, time() - 1800)
        >>> store.put("b", 1, time() - 5400)
        >>> store.put("c", 1, expires=60)
        >>> sorted(store)
        ['a', 'c']
        """
        self._writable()
        words, hashes = self._path(topic)
        if stored_at is not None and not -inf < stored_at < inf:  # all that comes later would be as late
            raise ValueError(f"stored_at must be a time, not {stored_at!r}")
        if expires is not None:
            if not expires > 0:
                raise ValueError(f"expires must be more than 0 seconds, not {expires!r}")
            if self.max_age is None:
                self.max_age = inf  # from now on, who asks looks at the ages
        self._put(words, hashes, self._entry(str.__str__(topic), value, stored_at, -inf, expires))

    def setdefault(self, topic: str, default: Any = None) -> Any:
        """Return the value of `topic`; if there is none, store `default` and return that. Errors, cost and
        linearization point are those of `store[topic] = value`.

        >>> store = TopicStore()
        >>> store.setdefault("a", 1), store.setdefault("a", 2)
        (1, 1)
        """
        self._writable()
        words, hashes = self._path(topic)
        entry = self._entry(str.__str__(topic), default)
        # Progress: a round that does not return found a value that had expired, and removed it.
        while (found := put_topic(self, words, hashes, entry, True)) is not None:
            if self._is_there(found):
                return found[1]
            self._remove(words, hashes, found)
        self._count_more()
        return default

    @cython.binding(True)  # type: ignore[untyped-decorator]  # for its signature: that default has no text
    def pop(self, topic: str, default: Any = _ABSENT) -> Any:
        """Remove `topic` and return its value. If there is none, return `default`, or raise KeyError. Other errors,
        cost and linearization point are those of `store[topic] = value`.

        Raises:
            KeyError: There is no value, and no `default`.

        >>> store = TopicStore(topics={"a": 1})
        >>> store.pop("a"), store.pop("a", None)
        (1, None)
        """
        self._writable()
        words, hashes = self._path(topic)
        found = self._remove(words, hashes, None)
        if found is None or not self._is_there(found):
            if default is _ABSENT:
                raise KeyError(topic)
            return default
        return found[1]

    def __delitem__(self, topic: str) -> None:
        """Remove `topic`. The rest is as in `pop`.

        Raises:
            KeyError: It has no value.
        """
        self.pop(topic)

    def popitem(self) -> tuple[str, Any]:
        """Remove some topic and return it with its value. Lock-free.

        Raises:
            KeyError: There is none.

        >>> TopicStore(topics={"a": 1}).popitem()
        ('a', 1)
        """
        self._writable()
        # Progress: a round that does not return found that another thread had removed the same topic.
        while True:
            some = next(self._there(), None)
            if some is None:
                raise KeyError("popitem(): the store is empty")
            topic = some[0]
            found = self.pop(topic, _ABSENT_PAIR)
            if found is not _ABSENT_PAIR:
                return topic, found

    def update(self, topics: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), /) -> None:
        """Store every topic of a mapping, or of an iterable of (topic, value), in order, each by a change of its own.

        All topics are checked first: if one is bad, nothing is stored. Beyond `max_topics` the last ones stay.

        Raises:
            TopicError: For a bad topic.

        >>> store = TopicStore()
        >>> store.update({"a": 1, "b.c": 2})
        >>> len(store)
        2
        """
        pairs = list(topics.items() if isinstance(topics, Mapping) else topics)
        if not pairs:
            return
        self._writable()
        checked = [(*self._path(topic), str.__str__(topic), value) for topic, value in pairs]
        before = -inf
        for words, hashes, topic, value in checked:
            entry = self._entry(topic, value, None, before)
            before = entry[2]
            self._put(words, hashes, entry)

    def expire(self) -> int:
        """Remove what is older than `max_age`, and the oldest topics beyond `max_topics`; return how many. O(n).

        What another thread stores meanwhile stays. Lock-free.

        >>> store = TopicStore(topics={"a": 1, "b": 2}, max_age=60)
        >>> store.put("b", 2, time() - 61)
        >>> store.expire()
        1
        """
        self._writable()
        stored = [branch.value for branch, _ in walk(freeze_root(self._root))]
        there = [each for each in stored if self._is_there(each)]
        gone = [each for each in stored if not self._is_there(each)] if len(there) < len(stored) else []
        most: Any = self.max_topics
        room: Any = self._room
        if most is not None and (len(there) > most or room.load() < 0):
            there.sort(key=itemgetter(2))
            gone += there[: max(0, len(there) - (most - most // 8))]
        removed = 0
        for each in gone:
            words, hashes = self._path(each[0])
            removed += self._remove(words, hashes, each) is not None
        if most is None and room is not None:
            # Progress: a round that goes on found that another thread had counted, too.
            while (left := room.load()) < 0 and not room.compare_and_set(left, max(len(there), _FEWEST)):
                pass
        return removed

    def clear(self) -> None:
        """Remove everything, at one instant. Lock-free. O(1), and O(n) to free what nothing else needs."""
        self._writable()
        before = begin_clear(self._tally)
        cleared = False
        try:
            dropped = clear_root(self._root)
            cleared = True
        finally:
            end_clear(self._tally, before, cleared)
        release(dropped, NODES)
        room: Any = self._room
        if room is not None and self.max_topics is not None:
            # What is added at the same time may be counted twice or not at all. Progress: as in `_add_room`.
            while not room.compare_and_set(room.load(), self.max_topics):
                pass

    # --------------------------------------------------------------------------------------------------------- to ask

    def matching(self, filter: str, *, but: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
        """Iterate over (topic, value) for every topic that `filter` matches and none of `but`, its exclusions, all of
        one instant during the call.

        These are the stored messages that a new subscription gets. The order is arbitrary. For the filter of a shared
        subscription, only the part after the group counts. The call raises the errors of `SubscriptionTrie.subscribe`
        for exclusions. O(levels that the filter's words reach), which is O(words + answers), and more if there are
        topics that begin like the filter and continue differently. AMQP's `#` anywhere but at the end costs O(topics
        that begin with the words before it). Lock-free; linearizes as `snapshot`.

        Raises:
            TopicError: At the call, for a text that is not a filter.

        >>> from subtrie import MQTT
        >>> store = TopicStore(MQTT, {"sensors/1/heat": 20, "sensors/2/heat": 21, "$SYS/load": 1})
        >>> sorted(store.matching("+/+/heat"))
        [('sensors/1/heat', 20), ('sensors/2/heat', 21)]
        >>> len(list(store.matching("#"))), list(store.matching("$SYS/#"))
        (2, [('$SYS/load', 1)])
        >>> sorted(store.matching("sensors/#", but=("sensors/+/cold", "sensors/2/#")))
        [('sensors/1/heat', 20)]
        """
        words, hashes = path_by(self._asked_by, filter)
        if len(words) > 2 and words[0] == self.dialect.share_prefix:
            words, hashes = words[2:], hashes[2:]
        found = self._matched(frozen_root(self), words, hashes)
        return self._pairs(found if but == () else self._without(found, filter, but))

    def joined(
        self, trie: SubscriptionTrie, *, merge: str = "all", by: str = "qos"
    ) -> Iterator[tuple[str, Any, tuple[Delivery, ...]]]:
        """Iterate over (topic, value, deliveries) for every topic that reaches a subscription of `trie`, with a
        Delivery for each of these, as if the value were a message on the topic now.

        The order is arbitrary. The content of the store is of one instant during the call, and so is that of the trie;
        but these are two instants, that of the trie first. So nobody misses a message of a publisher that stores it
        first and then delivers it: what is stored after the second instant is matched after the first. For a
        subscription in a group the Delivery has the name of the `group`; each member has one: nobody is drawn
        (MQTT sends stored messages to none of them). `merge` and `by` are as in `SubscriptionTrie.deliveries`.

        O(topics), each for the cost of `deliveries`; if the trie has at most 64 filters, O(topics that these match),
        and a `matching` for each filter at the call. Lock-free; linearizes as two snapshots.

        Raises:
            TypeError: `trie` is no SubscriptionTrie.
            ValueError: The dialect of `trie` is another one; or for another `merge`.

        >>> from subtrie import MQTT, SubscriptionTrie
        >>> store = TopicStore(MQTT, {"sensors/1/heat": 20, "sensors/2/heat": 21, "doors/1": "open"})
        >>> trie = SubscriptionTrie(MQTT)
        >>> trie.subscribe("sensors/+/heat", "ann", but=("sensors/2/heat",)), trie.subscribe("#", "bob")
        (True, True)
        >>> for topic, value, deliveries in sorted(store.joined(trie)):
        ...     print(topic, value, sorted(one.subscriber for one in deliveries))
        doors/1 open ['bob']
        sensors/1/heat 20 ['ann', 'bob']
        sensors/2/heat 21 ['bob']
        """
        if not isinstance(trie, SubscriptionTrie):
            raise TypeError(f"joined() takes a SubscriptionTrie, not {type(trie).__name__}")
        if trie.dialect != self.dialect:
            raise ValueError(f"joined() takes a trie of the same dialect: {self.dialect.name}, not {trie.dialect.name}")
        check_merge(merge, by)
        subscriptions = trie.snapshot()
        root = frozen_root(self)
        filters = few_filters(subscriptions, self.dialect)
        found: Iterable[Any] = ()
        if filters is None:
            found = (branch.value for branch, _ in walk(root))
        else:
            paths = [path_by(self._asked_by, filter) for filter in filters]
            found = {entry[0]: entry for path in paths for entry in self._matched(root, *path)}.values()
        return joined(found if self.max_age is None else self._young(found), subscriptions, merge, by)

    def _matched(self, root: Root, words: tuple[str, ...], hashes: tuple[int, ...]) -> Iterable[Any]:
        """Return the entries below a read-only root that a filter matches, also those that are too old."""
        dialect = self.dialect
        if dialect.zero_words and words == ("",):
            branch = branch_at(root, words, hashes, dialect.separator)
            return () if branch is None or not is_wanted(branch) else (branch.value,)
        size = hashes.index(MANY_WORDS) if MANY_WORDS in hashes else len(hashes)
        open = size < len(words)
        found = topics_along(
            root,
            tuple([None if hashes[i] == ONE_WORD else words[i] for i in range(size)]),
            dialect.separator,
            open,
            size + dialect.many_min if open else size,
            dialect.reserved_prefix if hashes[0] in (ONE_WORD, MANY_WORDS) else None,
            dialect.zero_words,
        )
        if size + 1 >= len(words):
            return found
        return (entry for entry in found if dialect.matches(words, dialect.split_topic(entry[0])))

    def _without(self, entries: Iterable[Any], filter: str, but: Any) -> Iterator[Any]:
        """Return those of the entries that a filter matches whose topics are not among its exclusions."""
        dialect = self.dialect
        texts = checked_exclusions(dialect, filter, {BUT: but}).get(BUT, ())
        parts = exclusions_of(dialect, texts)

        def is_left(entry: Any) -> bool:
            topic = dialect.split_topic(entry[0])
            return not any(dialect.matches(words, topic) for words in parts)

        return (entry for entry in entries if is_left(entry))

    def __getitem__(self, topic: str) -> Any:
        """The value of `topic`. O(words), lock-free.

        Raises:
            KeyError: There is none.
            TopicError: `topic` is not a topic.
        """
        entry = self._found(topic)
        if not self._is_there(entry):
            raise KeyError(topic)
        return entry[1]

    def get(self, topic: str, default: Any = None) -> Any:
        """Return the value of `topic`, or `default`. O(words), lock-free.

        Raises:
            TopicError: `topic` is not a topic.

        >>> TopicStore(topics={"a": 1}).get("a"), TopicStore().get("a", 0)
        (1, 0)
        """
        entry = self._found(topic)
        return entry[1] if self._is_there(entry) else default

    def __contains__(self, topic: object) -> bool:
        """Return whether `topic` has a value; False for an object that is not a topic."""
        try:
            is_there = self._is_there(self._found(topic))
        except (TopicError, TypeError):
            is_there = False
        return is_there

    def __iter__(self) -> Iterator[str]:
        """Iterate over the topics of one instant. O(n)."""
        return map(_TOPIC, self._there())

    def keys(self) -> list[str]:
        """Return the topics of one instant. O(n)."""
        return list(self)

    def values(self) -> list[Any]:
        """Return the values of one instant. O(n)."""
        return list(map(_VALUE, self._there()))

    def items(self) -> list[tuple[str, Any]]:
        """Return the topics of one instant with their values. O(n).

        >>> TopicStore(topics={"a": 1}).items()
        [('a', 1)]
        """
        return list(map(_PAIR, self._there()))

    def entries(self) -> Iterator[tuple[str, Any, float]]:
        """Iterate over (topic, value, time when it was stored, in seconds) for the topics of one instant. O(n).

        >>> [(topic, value) for topic, value, stored_at in TopicStore(topics={"a": 1}).entries()]
        [('a', 1)]
        """
        return self._rows(self._there())

    def stored_at(self, topic: str) -> float:
        """When the value of `topic` was stored: seconds, as `time.time()` gives them. Errors and cost are those of
        `store[topic]`.

        >>> TopicStore(topics={"a": 1}).stored_at("a") <= time()
        True
        """
        entry = self._found(topic)
        if not self._is_there(entry):
            raise KeyError(topic)
        return entry[2]  # type: ignore[no-any-return]

    def __len__(self) -> int:
        """The number of topics at one instant. O(1); O(n) with `max_age`, while another thread changes the store, and
        for the first call after what leaves `approximate_len` O(n)."""
        if self.max_age is not None:
            return sum(1 for _ in self._there())
        return length(self._tally, lambda: filter_count(_frozen(self)))

    def approximate_len(self) -> int:
        """Return the number of topics without counting them: exact when no change is in progress, otherwise less or
        more by those that are. Values that have expired count until they are removed. O(1); O(n) for the first call
        after a snapshot, fork or `clear` that overlapped a change.

        >>> TopicStore(topics={"a": 1, "b": 2}).approximate_len()
        2
        """
        return approximate_length(self._tally, False, lambda: filter_count(_frozen(self)))

    def __bool__(self) -> bool:
        return next(self._there(), None) is not None

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a mapping with the same topics and equal values. If it is a store, its dialect must
        be the same, too. O(n)."""
        if not isinstance(other, Mapping):
            return NotImplemented
        if isinstance(other, TopicStore) and self.dialect != other.dialect:
            return False
        return dict(self.items()) == dict(other.items())

    def __repr__(self) -> str:
        kind = ", read-only" if self._root.readonly else ""
        return f"<{type(self).__name__}: {self.dialect.name}{kind}>"

    # ----------------------------------------------------------------------------------------------------- an instant

    def snapshot(self) -> TopicStore:
        """Return the present content as a store that never changes; its mutators raise TypeError. O(1), lock-free.

        >>> store = TopicStore(topics={"a": 1})
        >>> before = store.snapshot()
        >>> store["a"] = 2
        >>> before["a"], store["a"]
        (1, 2)
        """
        if self._root.readonly:
            return self
        before = read(self._tally)
        root = freeze_root(self._root)
        other = self._with_content(root, taken_over(self._tally, before))
        other._as_of = monotonic()
        other._ahead = self._ahead
        return other

    def fork(self) -> TopicStore:
        """Return a store with the present content that can be changed independently of this one, and has the same
        limits. O(1), lock-free; of a snapshot with `max_topics`, as `len`. A fork of a snapshot lives on: values go on
        to age."""
        before = read(self._tally)
        root = fork_root(self._root)
        other = self._with_content(root, taken_over(self._tally, before))
        left = 0 if self._room is None else self._room.load()
        if self._room is None and self.max_topics is not None:  # of a snapshot
            left = self.max_topics - length(self._tally, lambda: filter_count(_frozen(self)))
        other._room = AtomicReference(left)
        other._ahead = AtomicReference(time() - monotonic() if self._ahead is None else self._ahead.load())
        return other

    def diff(self, older: TopicStore, absent: Any = None) -> Iterator[tuple[str, Any, Any]]:
        """Iterate over (topic, old value, new value) for every topic that differs from `older`, a snapshot of this
        store or of an ancestor. `absent` means that there is no value. What is too old counts as removed when `expire`
        or a writer removes it. O(changes).

        >>> store = TopicStore(topics={"a": 1, "b": 2})
        >>> before = store.snapshot()
        >>> store["a"], store["c"] = 3, 4
        >>> sorted(store.diff(before))
        [('a', 1, 3), ('c', None, 4)]
        """
        _comparable(self, older)
        return value_changes(_frozen(older), freeze_root(self._root), self.dialect.separator, absent)

    def changes(self, older: TopicStore) -> Iterator[tuple[Any, Any]]:
        """Iterate over (old entry, new entry) for every topic that was stored or removed since `older`, also with an
        equal value. Entries are those of `entries`; None means that there is none. What is too old counts as removed
        when `expire` or a writer removes it. Arguments and cost are those of `diff`.

        >>> store = TopicStore(topics={"a": 1})
        >>> before = store.snapshot()
        >>> store["a"] = 1
        >>> [(old[1], new[1]) for old, new in store.changes(before)]
        [(1, 1)]
        """
        _comparable(self, older)
        found = entry_changes(_frozen(older), freeze_root(self._root), self.dialect.separator)
        return found if self.max_age is None else ((old and _ROW(old), new and _ROW(new)) for old, new in found)

    def __copy__(self) -> TopicStore:
        return self.snapshot() if self._root.readonly else self.fork()

    def __reduce__(self) -> Any:
        frozen = self.snapshot()
        limits = (self.max_age, self.max_topics, frozen._lifetimes())
        content = (type(self), self.dialect, list(frozen.entries()), self._root.readonly, limits)
        return _restored, content, attributes_of(self, TopicStore)

    def check(self) -> None:
        """Raise AssertionError if an invariant of the structure is broken. O(n); at rest only."""
        levels: list[Any] = [None]
        while levels:
            for branch in check_level(self._root, levels.pop()):
                self._check_branch(branch)
                if branch.next is not None:
                    levels.append(branch.next)
        for branch, _ in walk(freeze_root(self._root)):
            assert self._found(branch.value[0]) is branch.value, f"{branch.value[0]!r} is not found"

    # ------------------------------------------------------------------------------------------------------ internals

    def _check_branch(self, branch: Any) -> None:
        assert isinstance(branch, Branch), f"{branch!r} is no branch"
        assert is_wanted(branch) or branch.next is not None, f"the branch {branch.key!r} has no use"
        words = words_in(branch, self.dialect.separator)
        assert isinstance(branch, Chain) == (len(words) > 1), f"{branch.key!r} has {len(words)} words"
        assert branch.hash == word_hash(words[0]), f"the branch {branch.key!r} has another word's hash"
        if is_wanted(branch):
            assert branch.value[0].endswith(branch.key), f"{branch.key!r} keeps {branch.value[0]!r}"

    def _writable(self) -> None:
        if self._root.readonly:
            made = self._root is not _UNMADE
            raise not_to_be_changed("TopicStore", made, "take .fork() of it for one that can be changed")

    def _entry(
        self,
        topic: str,
        value: Any,
        stored_at: float | None = None,
        after: float = -inf,
        expires: float | None = None,
    ) -> tuple[Any, ...]:
        """Make the entry of a value that is stored now, and later than `after`, or that was stored at another time."""
        wall, running = time(), monotonic()
        if stored_at is None:
            at = max(self._not_before(wall, running, _JITTER), nextafter(after, inf))
        else:
            self._not_before(stored_at, running, 0.0)
            at = stored_at
        if self.max_age is None:
            return topic, value, at
        age = 0.0 if stored_at is None else max(0.0, wall - stored_at)
        if expires is None:
            return topic, value, at, running + self.max_age - age
        return topic, value, at, running + min(expires, self.max_age) - age, expires

    def _not_before(self, at: float, running: float, jitter: float) -> float:
        """Return the time `at`, or if there was a later one, the time that has come since; `running` is the present
        moment on the clock `monotonic`. Both clocks go on together, so only a clock that is set, or a time of the
        future, sets this one ahead."""
        ahead: Any = self._ahead
        # Progress: a round that does not return found that another thread had set it ahead.
        while True:
            lead: float = ahead.load()
            if lead >= at - running - jitter:
                return max(at, running + lead)
            if ahead.compare_and_set(lead, at - running):
                return at

    def _put(self, words: tuple[str, ...], hashes: tuple[int, ...], entry: Any) -> None:
        if put_topic(self, words, hashes, entry, False) is None:
            self._count_more()

    def _remove(self, words: tuple[str, ...], hashes: tuple[int, ...], expected: Any) -> Any:
        found = remove_topic(self, words, hashes, expected)
        if found is not None and self._is_counted():
            self._add_room(1)
        return found

    def _is_there(self, entry: Any) -> bool:
        """Return whether there is an entry, and it has not expired."""
        return entry is not None and (len(entry) == 3 or entry[3] > self._clock())

    def _clock(self) -> float:
        return monotonic() if self._as_of is None else self._as_of

    def _lifetimes(self) -> dict[str, float]:
        """How many seconds the values last that expire by themselves. O(1) if none ever did, otherwise O(n)."""
        return {} if self.max_age is None else {each[0]: each[4] for each in self._there() if len(each) == 5}

    def _there(self) -> Iterator[Any]:
        """The entries of one instant that are not too old."""
        entries = (branch.value for branch, _ in walk(freeze_root(self._root)))
        return iter(entries) if self.max_age is None else self._young(entries)

    def _young(self, entries: Iterable[Any]) -> Iterator[Any]:
        now = self._clock()
        return (entry for entry in entries if len(entry) == 3 or entry[3] > now)

    def _rows(self, entries: Iterator[Any]) -> Iterator[tuple[str, Any, float]]:
        return entries if self.max_age is None else map(_ROW, entries)

    def _pairs(self, entries: Iterable[Any]) -> Iterator[tuple[str, Any]]:
        return map(_PAIR, entries if self.max_age is None else self._young(entries))

    def _count_more(self) -> None:
        """Count an added topic; if there may be too many now, remove some."""
        if self._is_counted() and self._add_room(-1) < 0:
            self.expire()

    def _is_counted(self) -> bool:
        return self._room is not None and (self.max_age is not None or self.max_topics is not None)

    def _add_room(self, more: int) -> int:
        """Let there be so many more topics; return how many that makes. Each topic that is added or removed is counted
        once, by the thread whose change it is."""
        room: Any = self._room
        # Progress: a round that does not return found that another thread had counted, too.
        while True:
            left: int = room.load()
            if room.compare_and_set(left, left + more):
                return left + more

    def _found(self, topic: Any) -> Any:
        """Return the entry of a topic, or None."""
        if not cython.compiled:
            topic_words = Traversal()
        t = address(topic_words)
        in_place = topic_in_place(t, cython.cast(TopicRules, rules_of(self)), topic)
        branch = find_in_place(self, t) if in_place else None
        if t.size == 0:
            words, hashes = self._path(topic)
            branch = branch_at(self._root, words, hashes, self.dialect.separator)
        return None if branch is None else branch.value

    def _path(self, topic: Any) -> tuple[tuple[str, ...], tuple[int, ...]]:
        return topic_path(cython.cast(TopicRules, rules_of(self)), topic)

    def _with_content(self, root: Root, tally: Tally) -> TopicStore:
        other: TopicStore = type(self).__new__(type(self))
        other.max_age, other.max_topics = self.max_age, self.max_topics
        other._begin(self.dialect, root)
        set_attributes(other, attributes_of(self, TopicStore))
        other._tally = tally
        return other


def _restored(
    kind: type[TopicStore],
    dialect: Dialect,
    rows: list[tuple[str, Any, float]],
    readonly: bool,
    limits: tuple[float | None, int | None, dict[str, float] | None],
) -> TopicStore:
    """Unpickle: every topic is validated again."""
    max_age, max_topics, own = limits
    store = kind.__new__(kind)
    if readonly:
        TopicStore.__init__(store, dialect)
        store._room = None  # it counts nothing, so nothing is removed
        store.max_age = max_age  # so its forks know what expires
    else:
        TopicStore.__init__(store, dialect, max_age=max_age, max_topics=max_topics)
    for topic, value, stored_at in rows:
        store.put(topic, value, stored_at, expires=own.get(topic) if own else None)
    if not readonly:
        return store
    frozen: TopicStore = store.snapshot()
    frozen.max_topics, frozen._as_of = max_topics, -inf  # what was there when the snapshot was taken is there
    return frozen


def _check_limits(max_age: object, max_topics: object) -> None:
    if max_age is not None and (isinstance(max_age, bool) or not isinstance(max_age, int | float)):
        raise TypeError(f"max_age must be a number of seconds, not {max_age!r}")
    if max_age is not None and not max_age > 0:
        raise ValueError(f"max_age must be more than 0 seconds, not {max_age!r}")
    if max_topics is not None and (isinstance(max_topics, bool) or not isinstance(max_topics, int)):
        raise TypeError(f"max_topics must be an integer, not {max_topics!r}")
    if max_topics is not None and max_topics < 1:
        raise ValueError(f"max_topics must be 1 or more, not {max_topics}")


def _comparable(newer: TopicStore, older: Any) -> None:
    if not isinstance(older, TopicStore):
        raise TypeError(f"diff() takes a TopicStore, not {type(older).__name__}")
    if older.dialect != newer.dialect:
        raise ValueError(f"diff() takes a store of the same dialect: {newer.dialect.name}, not {older.dialect.name}")


@cache
def _plan_of_filters(dialect: Dialect) -> Plan:
    return Plan(dialect, False)


def _frozen(store: TopicStore) -> Root:
    return freeze_root(store._root)


_ABSENT_PAIR: Any = object()
# The root of a store between __new__ and __init__. It is read-only, so that nothing can be lost in it.
_UNMADE: Root = freeze_root(empty_root())
_UNMADE_PLAN: Plan = Plan(AMQP, False)
_UNMADE_RULES: TopicRules = topic_rules(AMQP)

MutableMapping.register(TopicStore)
