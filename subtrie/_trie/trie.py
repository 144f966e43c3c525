# distutils: extra_compile_args = FAST
"""`SubscriptionTrie`: a set of subscriptions, matched with topics, for many threads at once."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from time import time_ns
from typing import TYPE_CHECKING, Any

import cython

from subtrie.dialects import AMQP, Dialect, require_dialect
from subtrie.errors import TopicError

if not cython.compiled:
    from ctrie._machine import own_methods
    from ctrie._nodes import Root, empty_root, fork_root, freeze_root
    from ctrie._slot import borrow
    from ctrie._tally import Tally, approximate_length, length, read, taken_over
    from subtrie._trie.branch import Branch, is_wanted, subscribers_of
    from subtrie._trie.changeable import Changeable
    from subtrie._trie.choosing import new_choice
    from subtrie._trie.frozen import frozen_root
    from subtrie._trie.groups import is_member, members_of
    from subtrie._trie.lookup import find_in_place
    from subtrie._trie.match import batches, matching
    from subtrie._trie.match.answer_cache import counts as cache_counts
    from subtrie._trie.match.answer_cache import new_cache
    from subtrie._trie.match.deliveries import check_merge, merged
    from subtrie._trie.match.plan import Plan, filter_path, plan_of, split_filter_in_place
    from subtrie._trie.match.walk import Traversal, address
    from subtrie._trie.reverse_index import new_index
    from subtrie._trie.subscribers import Entry, Sole, living, subscriber_hash
else:
    from cython import address

from ctrie._slot import AtomicReference
from ctrie._subclasses import attributes_of, set_attributes
from ctrie._views import SUBSCRIPTED
from subtrie._trie.exact_layout import plain_words
from subtrie._trie.groups import sets_of
from subtrie._trie.interest import Notices
from subtrie._trie.keyed import iter_keyed
from subtrie._trie.match.deliveries import Delivery, Subscription, entries_later
from subtrie._trie.match.plan import hash_in_filter
from subtrie._trie.match.reading import path_of
from subtrie._trie.queries.listing import (
    Change,
    Spelled,
    branch_at,
    changed,
    changes,
    dead_among,
    filter_count,
    literal_filters,
    shown,
    shown_all,
    shown_members,
    spelled,
    spelled_for,
    statistics,
    subscription_count,
    walk,
)
from subtrie._trie.queries.overlapping import has_wildcard, overlapping

# The two columns.py, which few need, are imported where they are asked.
if TYPE_CHECKING:
    from array import array


class SubscriptionTrie(Changeable):
    """SubscriptionTrie(dialect=..., *, index=False, cache=0, on_interest=None, on_group_interest=None, weak=False, \
exact=False)\n--\n
    A set of subscriptions. Any number of threads may change it and match topics with it, without locks.

    `SubscriptionTrie(dialect=AMQP, *, index=False, cache=0, on_interest=None, on_group_interest=None, weak=False,
    exact=False)` holds (filter, subscriber) pairs with options. Subscribers are any hashable objects,
    and are compared like dict keys. Filters and topics follow the dialect; a text that it refuses raises `TopicError`.

    With `cache`, each thread remembers the answers to so many topics (rounded up to a power of two, at most 65,536). It
    returns a remembered answer only while this is still the right answer, so only the time differs. This pays if topics
    recur. It is off by default, since remembered answers keep their subscribers alive.

    With `index=True`, the trie also knows the filters of each subscriber. Then `filters`, `unsubscribe_all` and
    `subscriptions(subscriber=...)` take time proportional to these filters, and not to the whole set. A subscribe and
    an unsubscribe cost about three times as much, and `clear` is O(n). Snapshots and forks have no index.

    `on_interest` is a function of a filter and a bool. The trie calls it when a filter gets its first subscriber (True)
    and when it loses its last one (False), whatever groups they are in. Threads that change the trie call it, one at a
    time, after the change. For each filter, True and False alternate. Short-lived changes may be left out, but once no
    change is in progress, the last calls have told the state of the trie. If it raises, the error reaches a thread
    whose change remains; if that thread's call makes several changes, the later ones are not made. A notice that Ctrl-C
    or a lack of memory interrupts is given again with the next change, so the function may get it twice. Snapshots,
    forks and pickles have no `on_interest`.

    `on_group_interest` is the same as a function of a filter, a group and a bool: the trie calls it when this group of
    the filter gets its first member (True) and when it loses its last one (False). The group is a name, or None for the
    subscribers in no group. The filter is the one without the name. `on_group_interest` excludes `on_interest`, whose
    notices follow from its own.

    With `weak=True`, the trie keeps no subscriber alive. The subscriptions of a subscriber that nothing else holds end
    at the moment when the interpreter clears the weak references to it. Of equal subscribers, the first one counts, as
    always; when it dies, the others have to subscribe again. An answer is of one instant, without the subscribers that
    have died since. Snapshots and forks keep no subscriber alive either, and show no dead one. A bound method lives as
    long as its object. Options are held strongly. A match costs up to twice as much, and counting is O(n). `weak`
    excludes `cache` and `index`.

    With `exact=True`, a filter without a wildcard is stored by its whole text and found by one probe. As long as no
    other filter could match, a topic that equals such a filter is neither split nor validated again. This pays if most
    filters have no wildcard. `overlapping` with a wildcard then costs O(filters without one).

    Every operation is lock-free, and linearizable but for those whose docstrings say that they change one subscription
    after another (`subscribe_many` into a trie that holds some, `unsubscribe_many`, `unsubscribe_all`). `match` answers
    for one instant: a subscriber that was reachable throughout, by whatever filters, is never missed.

    To change: `subscribe`, `unsubscribe`, `subscribe_many`, `unsubscribe_many`, `unsubscribe_all`, `clear`
    To match: `match`, `match_many`, `match_columns`, `match_iter`, `has_match`, `count`, `overlapping`
    To deliver: `deliveries`, `deliveries_many`, `deliveries_of`, `entries`
    To list: `subscriptions`, `filters`, `groups`, `members`, `topics`, `len`, `stats`
    For an instant: `snapshot`, `fork`, `diff`
    For tests: `check`

    Source: Prokopec, Bronson, Bagwell, Odersky: Concurrent Tries with Efficient Non-Blocking Snapshots, PPoPP 2012,
    with topic words instead of hash bits.

    Raises:
        ValueError: `on_interest` is given with `on_group_interest`, or `cache` or `index` with `weak`.

    >>> t = SubscriptionTrie()
    >>> t.subscribe("*.stock.#", "anna"), t.subscribe("eur.stock.*", "bert", qos=1)
    (True, True)
    >>> sorted(t.match("eur.stock.db"))
    ['anna', 'bert']
    """

    __class_getitem__ = SUBSCRIPTED
    __slots__ = ()

    def __init__(
        self,
        dialect: Dialect = AMQP,
        *,
        index: bool = False,
        cache: int = 0,
        on_interest: Callable[[str, bool], object] | None = None,
        on_group_interest: Callable[[str, str | None, bool], object] | None = None,
        weak: bool = False,
        exact: bool = False,
    ) -> None:
        require_dialect(dialect)
        if isinstance(cache, bool) or not isinstance(cache, int):
            raise TypeError(f"cache must be a number of topics, not {type(cache).__name__}")
        if weak and cache:
            raise ValueError("weak and cache exclude each other: what is remembered keeps its subscribers alive")
        if weak and index:
            raise ValueError("weak and index exclude each other: the index keeps the subscribers that it lists alive")
        if on_interest is not None and on_group_interest is not None:
            raise ValueError("on_interest and on_group_interest exclude each other: the second one tells more")
        if self._is_made():
            raise TypeError("a SubscriptionTrie is initialised once; make another one")
        self.dialect = dialect
        self._plan = Plan(dialect, exact)
        self._index = new_index() if index else None
        self._cache = new_cache(cache) if cache else None
        listener = on_interest if on_group_interest is None else on_group_interest
        self._notices = None if listener is None else Notices(listener, on_group_interest is not None)
        self._retries = AtomicReference(0)
        self._home = weakref.ref(self) if weak else None
        self._root = empty_root()

    # ------------------------------------------------------------------------------------------------------ to match

    def match(self, topic: str, /) -> tuple[Any, ...]:
        """Return the distinct subscribers of every filter that matches `topic`, in no particular order.

        `topic` is a positional argument, since this is the fastest call. The work is bounded by (levels that the topic
        reaches) x (its words), however many wildcards the filters have. Linearizable: the whole answer was true at one
        instant during the call. Lock-free: it never waits, and writes only to help a pending write.

        Raises:
            TopicError: For a text that is not a topic.
        """
        return matching.match(self, topic)

    def match_iter(self, topic: str) -> Iterator[Any]:
        """Iterate over the result of `match`. Subscribers of the filter that equals the topic come first.

        The whole answer is of one instant during the call. If there is such a filter, the first costs O(words + its
        subscribers), however many other filters there are: the others are matched later. After a change of the trie, it
        takes a snapshot. Subscribers with exclusions, and members of groups, come with the others. A topic that equals
        a filter is not validated at the call. Calls users' `__hash__` if there is such a filter. Lock-free. Linearizes
        at the read of one main node, or as `snapshot`. It is a generator, for one thread at a time.

        Raises:
            TopicError: At the call, for a bad topic, unless it equals a filter.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.#", "wide"), t.subscribe("a.b", "exact")
        (True, True)
        >>> list(t.match_iter("a.b"))
        ['exact', 'wide']
        """
        frozen = self._with_content(frozen_root(self), self._tally)
        own = frozen._own(topic)
        if not own and self._home is None:
            return iter(matching.match(frozen, topic))
        if not own:
            self.dialect.split_topic(topic)  # nobody is held before he is asked for
        return _own_first(own, frozen, topic)

    def match_many(self, topics: Iterable[str]) -> list[tuple[Any, ...]]:
        """Return `match` of each topic. Each answer is of one instant during the call, but not all of the same one. If
        `topics` is a list or tuple, a topic that occurs several times is usually matched once.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.#", 1)
        True
        >>> t.match_many(["a", "b", "a.b"])
        [(1,), (), (1,)]
        """
        if isinstance(topics, str):
            raise TypeError("match_many() takes several topics; match() takes one")
        return batches.match_many(self, topics)

    def match_columns(self, topics: Iterable[str]) -> tuple[array[int], array[int], list[Any]]:
        """Return `match_many` as flat columns: offsets, numbers, subscribers. The subscribers of topic i are
        `subscribers[n] for n in numbers[offsets[i] : offsets[i + 1]]`; each subscriber is listed once. Offsets and
        numbers are 64-bit integers and can be read as buffers. Calls users' `__hash__`.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.#", "ann"), t.subscribe("a.b", "bob")
        (True, True)
        >>> offsets, numbers, subscribers = t.match_columns(["a", "x", "a"])
        >>> list(offsets), list(numbers), subscribers
        ([0, 1, 1, 2], [0, 0], ['ann'])
        """
        if isinstance(topics, str):
            raise TypeError("match_columns() takes several topics; match() takes one")
        from subtrie._trie.match.columns import columns_of

        return columns_of(self.match_many, topics)

    def _match_numbers(self, topics: list[str]) -> tuple[bytes, bytes]:
        return batches.match_numbers(self, topics)

    def has_match(self, topic: str, /) -> bool:
        """Return whether a message on `topic` would reach any subscriber. It stops at the first, except with
        `weak=True`. Errors, progress and linearization point are those of `match`."""
        if self._home is not None:
            return len(matching.match(self, topic)) > 0
        return matching.has_match(self, topic)

    def count(self, topic: str) -> int:
        """Return the number of distinct subscribers that `match` would return. If a member of a group has a
        subscription of its own, too, that depends on which member is drawn."""
        return len(matching.match(self, topic))

    # If a default were a name, the compiled method would have no signature that `inspect` can read.
    def deliveries(
        self,
        topic: str,
        *,
        merge: str = "all",
        by: str = "qos",
        key: Any = None,
        sender: Any = None,
        without: Iterable[Any] = (),
    ) -> tuple[Delivery, ...]:
        """Return a Delivery (subscriber, options, group, filter) for each subscription that gets a message on `topic`,
        in no particular order. From each group, that is only one member, drawn by lot for each message; or, with `key`,
        the one that the hash of the key chooses, which is the same as long as it stays; but not `sender`, a subscriber,
        unless nobody else is in the group. Members with an option `weight` (1 to 1,000) are drawn so many times as
        often.

        Those in `without`, subscribers that are not there now, say, get nothing: the others of a group are drawn from,
        and a group in which nobody else is gets none.

        A group member that is also subscribed outside the group gets the message twice. If several filters deliver to a
        subscriber outside of groups, `merge` decides: "all" keeps all deliveries, "one" keeps any one, "best" keeps one
        whose option `by` is greatest (any one of equals; a missing option, or None, is less than any value). Deliveries
        to group members are always kept.

        It costs about twice as much as `match`, and with `key` O(members) for each group; the text of a filter is made
        only when it is read. Linearizable and lock-free, like `match`. The cache remembers the answer if it contains no
        groups.

        Raises:
            TopicError: For a text that is not a topic.
            ValueError: For any other `merge`.
            TypeError: The options of one subscriber cannot be compared, or `key`, `sender` or one of `without` has no
                hash.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", "ann", qos=1), t.subscribe("#", "ann", qos=2)
        (True, True)
        >>> sorted((one.subscriber, one.options["qos"], one.filter) for one in t.deliveries("a.b"))
        [('ann', 1, 'a.*'), ('ann', 2, '#')]
        >>> [one.options["qos"] for one in t.deliveries("a.b", merge="best")]
        [2]
        >>> t.deliveries("a.b", without={"ann"})
        ()
        """
        if merge != "all":
            check_merge(merge, by)
        if key is None and sender is None and type(without) is tuple and not without:
            found = matching.deliveries(self, topic, None)
        else:
            if isinstance(without, str):
                raise TypeError(f"without= takes several subscribers, in a set or a list, not {without!r}")
            absent = frozenset(without)
            found = matching.deliveries(self, topic, new_choice(key, sender, absent))
            if absent:
                found = tuple([one for one in found if one.subscriber not in absent])
        return found if merge == "all" else merged(found, merge, by)  # type: ignore[return-value]

    def deliveries_many(
        self, topics: Iterable[str], *, merge: str = "all", by: str = "qos"
    ) -> list[tuple[Delivery, ...]]:
        """Return `deliveries` of each topic. Each answer is of one instant during the call, but not all of the same
        one. It takes no `key`, `sender` or `without`: call `deliveries` for these.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.#", 1)
        True
        >>> [[one.subscriber for one in found] for found in t.deliveries_many(["a", "b"])]
        [[1], []]
        """
        if isinstance(topics, str):
            raise TypeError("deliveries_many() takes several topics; deliveries() takes one")
        check_merge(merge, by)
        found = batches.deliveries_many(self, topics)
        return found if merge == "all" else [merged(one, merge, by) for one in found]  # type: ignore[return-value, misc]

    def entries(self, topic: str, *, merge: str = "all", by: str = "qos") -> Iterator[Subscription]:
        """Iterate over the subscriptions that `topic` reaches, all of one instant during the call.

        This is like `deliveries`, but names all members of each group. Errors, `merge`, progress and
        cost are those of `deliveries`. The cache never remembers the answer. All subscriptions are found at the call;
        the text of a filter is made when it is read.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), t.subscribe("#", 1, qos=2)
        (True, True)
        >>> sorted((s.filter, s.subscriber, dict(s.options)) for s in t.entries("a.b"))
        [('#', 1, {'qos': 2}), ('a.*', 1, {})]
        >>> [s.filter for s in t.entries("a.b", merge="best")]
        ['#']
        """
        check_merge(merge, by)
        if self._home is not None:
            return entries_later(matching.raw_entries(self, topic), self, topic, merge, by)  # type: ignore[return-value]
        return iter(merged(matching.all_entries(self, topic, False), merge, by))  # type: ignore[arg-type]

    def deliveries_of(
        self, topic: str, subscriber: Any, *, merge: str = "all", by: str = "qos"
    ) -> tuple[Delivery, ...]:
        """Return a Delivery for each subscription of one `subscriber` that `topic` reaches.

        This is what `entries` would name of the subscriber, whatever the number of others. For a
        subscription in a group, the Delivery has the name of the `group`, and says that the subscriber gets the
        messages for which it is drawn. `merge` and `by` are as in `deliveries`.

        Other errors are those of `deliveries`. O(work of a match + log subscribers for each filter found + groups of
        these filters). Linearizable and lock-free, like `match`; the cache does not serve it.

        Raises:
            TypeError: For an unhashable subscriber.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", "ann", qos=1), t.subscribe("#", "ann"), t.subscribe("#", "bob")
        (True, True, True)
        >>> sorted(one.filter for one in t.deliveries_of("a.b", "ann"))
        ['#', 'a.*']
        >>> [one.options["qos"] for one in t.deliveries_of("a.b", "ann", merge="best")], t.deliveries_of("a.b", "eve")
        ([1], ())
        """
        check_merge(merge, by)
        found = matching.deliveries_of(self, topic, subscriber, subscriber_hash(subscriber))
        return merged(found, merge, by)  # type: ignore[return-value]

    def overlapping(self, filter: str) -> Iterator[Subscription]:
        """Iterate over the subscriptions on filters that share a topic with `filter`, all of one instant during the
        call.

        This is the reverse of `match`: it finds the subscriptions that messages on topics of a filter could reach.
        `dialect.overlaps` tells whether two filters share a topic. A subscription with exclusions is among them if one
        of these topics is outside of them. (If there are so many wildcards in its exclusions that this takes more than
        20,000 steps, it is among them, too.) The trie is walked along `filter`: O(levels whose path shares the
        beginning of a topic with it), or O(n) for one of more than 62 words; a filter without a wildcard costs about
        what `entries` does. Lock-free; linearizes as `snapshot`, or without a wildcard as `match`.

        Raises:
            TopicError: For a text that is not a filter.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("*.stock", 1), t.subscribe("eur.#", 2), t.subscribe("usd.bond", 3)
        (True, True, True)
        >>> sorted(found.filter for found in t.overlapping("eur.*"))
        ['*.stock', 'eur.#']
        """
        dialect = self.dialect
        if self._plan.exact or not filter:
            words = dialect.split_filter(filter)
            hashes = tuple(hash_in_filter(dialect, word) for word in words)
        else:
            words, hashes = filter_path(self, filter)
        given = dialect.unshare(words)[1]
        hashes = hashes[len(words) - len(given) :]
        if self._plan.splits and not has_wildcard(hashes):
            try:  # it has one topic, itself; and what matches that is found quicker
                return SubscriptionTrie.entries(self, dialect.join(given))
            except TopicError:
                pass  # what is a filter need not be a topic
        found = overlapping(freeze_root(self._root), dialect, self._plan.exact, given, hashes)
        return shown_all(found, dialect, given)

    # ------------------------------------------------------------------------------------------------------- to list

    def subscriptions(self, filter: str | None = None, subscriber: Any = None) -> Iterator[Subscription]:
        """Iterate over all subscriptions, or those of one `filter` (exactly this one, not the filters that it matches),
        or of one `subscriber` (None: any), all of one instant during the call. O(n); O(words) for one filter; for one
        subscriber as `filters`.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), t.subscribe("b", 2)
        (True, True)
        >>> list(t.subscriptions(filter="a.*"))
        [Subscription(filter='a.*', subscriber=1, options=mappingproxy({}))]
        """
        if filter is None:
            if subscriber is None:
                return shown_all(walk(freeze_root(self._root)), self.dialect)
            return shown(self._spelled_for(subscriber))
        return shown(self._spelled_at(filter, subscriber))

    def filters(self, subscriber: Any) -> list[str]:
        """Return the filters of `subscriber`, at one instant during the call. O(n); with an index, O(words) for each
        filter. Lock-free.

        Raises:
            TypeError: For an unhashable subscriber.

        >>> t = SubscriptionTrie(index=True)
        >>> t.subscribe("a.*", 1), t.filters(1), t.filters(2)
        (True, ['a.*'], [])
        """
        return list(dict.fromkeys(filter for filter, _, _ in self._spelled_for(subscriber)))

    def groups(self, filter: str) -> dict[str, tuple[Subscription, ...]]:
        """Return the groups of `filter` by their names, each with the subscriptions of its members, all of one instant.

        In a dialect whose filters may name a group (MQTT's `$share/name/filter`), `filter` may be the part after it, or
        name a group itself; then the answer has no other group. A group without a member does not exist. O(words +
        members of all its groups). Lock-free. Linearizes as `in`.

        Raises:
            TopicError: For a text that is not a filter.

        >>> from subtrie import NATS
        >>> t = SubscriptionTrie(NATS)
        >>> t.subscribe("jobs", "ann", queue="w"), t.subscribe("jobs", "bob", queue="w"), t.subscribe("jobs", "eve")
        (True, True, True)
        >>> {name: sorted(one.subscriber for one in members) for name, members in t.groups("jobs").items()}
        {'w': ['ann', 'bob']}
        """
        audience, words, named = self._audience_of(filter)
        sets = sets_of(audience) if named is None else ((named, members_of(audience, named)),)
        found = {
            group: shown_members(members, self.dialect, group, words) for group, members in sets if group is not None
        }
        return {group: members for group, members in found.items() if members}

    def members(self, filter: str, group: str) -> tuple[Subscription, ...]:
        """Return the subscriptions of the members of one group of `filter`, in no particular order; `()` if there is no
        such group. `filter` may name the group itself, as in `groups`. O(words + members of this group). Lock-free.
        Linearizes as `in`.

        Raises:
            TopicError: For a text that is not a filter.
            ValueError: `filter` names another group.

        >>> from subtrie import MQTT
        >>> t = SubscriptionTrie(MQTT)
        >>> t.subscribe("$share/w/jobs/#", "ann", qos=1), t.subscribe("jobs/#", "eve")
        (True, True)
        >>> t.members("jobs/#", "w"), t.members("jobs/#", "x")
        ((Subscription(filter='$share/w/jobs/#', subscriber='ann', options=mappingproxy({'qos': 1})),), ())
        """
        if not isinstance(group, str):
            raise TypeError(f"the name of a group is a str, not {type(group).__name__}")
        audience, words, named = self._audience_of(filter)
        if named not in (None, group):
            raise ValueError(f"the filter {filter!r} names the group {named!r}, not {group!r}")
        return shown_members(members_of(audience, group), self.dialect, group, words)

    def topics(self) -> Iterator[str]:
        """Iterate over the filters without a wildcard, each once, all of one instant during the call. O(n).

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.b", 1), t.subscribe("a.*", 1), t.subscribe("a.b", 2)
        (True, True, True)
        >>> list(t.topics())
        ['a.b']
        """
        return literal_filters(self._present(), self.dialect)

    def __len__(self) -> int:
        """The number of subscriptions at one instant. O(1); O(number of filters) while another thread changes the trie,
        and for the first call after what leaves `approximate_len` O(n); O(n) if subscribers are weakly held."""
        if self._home is not None:
            return subscription_count(self._present())
        return length(self._tally, lambda: subscription_count(freeze_root(self._root)))

    def approximate_len(self) -> int:
        """Return the number of subscriptions without counting them: exact when no change is in progress, otherwise less
        or more by those that are. O(1); O(n) for the first call after a snapshot, fork or `clear` that overlapped a
        change. Where subscribers are weakly held, those that died stay counted in a fork or snapshot.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), t.subscribe("a.*", 2), t.approximate_len()
        (True, True, 2)
        """
        return approximate_length(self._tally, False, lambda: subscription_count(freeze_root(self._root)))

    def approximate_filters(self) -> int:
        """Return the number of filters, as `approximate_len` that of subscriptions. The first call after an empty trie
        was filled by `subscribe_many` is O(n), too.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), t.subscribe("a.*", 2), t.approximate_filters()
        (True, True, 1)
        """
        return approximate_length(self._tally, True, lambda: filter_count(freeze_root(self._root)))

    def __iter__(self) -> Iterator[Subscription]:
        """Iterate over all subscriptions of one instant, like `subscriptions()`. O(n).

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), [one.subscriber for one in t]
        (True, [1])
        """
        return self.subscriptions()

    def __contains__(self, subscription: object) -> bool:
        """Return whether there is a subscription (filter, subscriber), in any group. False for any other object.
        O(words + log n). Linearizes at the read of the main node that holds the filter's last branch.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), ("a.*", 1) in t, ("a.*", 2) in t
        (True, True, False)
        """
        if not isinstance(subscription, (tuple, Subscription)) or len(subscription) < 2:
            return False
        try:
            has = self._has(subscription[0], subscription[1])
        except (TopicError, TypeError):
            has = False
        return has

    def __repr__(self) -> str:
        kind = ", read-only" if self._root.readonly else ""
        return f"<{type(self).__name__}: {self.dialect.name}{kind}>"

    def __bool__(self) -> bool:
        return next(walk(self._present()), None) is not None

    def stats(self) -> dict[str, int]:
        """Return counts. O(n).

        Of one instant: filters, subscriptions, groups, branches, nodes (I-nodes, main nodes and branches), depth (words
        of the longest filter), widest level (words) and widest fan-out (subscribers of one filter). Since the trie was
        made: retries, which are attempts at a change that failed because of another thread's change. Since it was last
        cleared: the matches that the cache answered, and those that it did not.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.b", 1), t.subscribe("a.c", 1)
        (True, True)
        >>> t.stats()["branches"], t.stats()["depth"]
        (3, 2)
        """
        hits, misses = (0, 0) if self._cache is None else cache_counts(self._cache)
        retries = 0 if self._retries is None else self._retries.load()
        counts = statistics(self._present(), self._plan.separator)
        return {**counts, "retries": retries, "cache_hits": hits, "cache_misses": misses}

    # ----------------------------------------------------------------------------------------------------- an instant

    def snapshot(self) -> SubscriptionTrie:
        """Return the present content as a trie that never changes; its mutators raise TypeError. O(1), lock-free. A
        snapshot is its own snapshot."""
        if self._taken_at is not None:
            return self
        before = read(self._tally)
        root = freeze_root(self._root)
        return self._with_content(root, taken_over(self._tally, before))

    @property
    def taken_at(self) -> int | None:
        """When this snapshot was taken, in nanoseconds since the epoch; None for a trie that is not a snapshot.

        >>> t = SubscriptionTrie()
        >>> t.taken_at is None, t.snapshot().taken_at <= t.snapshot().taken_at
        (True, True)
        """
        return self._taken_at

    @property
    def snapshot_id(self) -> str | None:
        """The name of this snapshot, drawn at random when it is first read; None for a trie that is not a snapshot.

        >>> s = SubscriptionTrie().snapshot()
        >>> s.snapshot_id == s.snapshot_id, s.snapshot_id == SubscriptionTrie().snapshot().snapshot_id
        (True, False)
        """
        if self._name is None:
            return None
        if self._name.load() is None:
            # Success: this is its name for ever. Failure: another thread has named it.
            self._name.compare_and_set(None, os.urandom(16).hex())
        return self._name.load()  # type: ignore[no-any-return]

    @property
    def weak(self) -> bool:
        """Whether subscribers are weakly held.

        >>> SubscriptionTrie().weak, SubscriptionTrie(weak=True).weak
        (False, True)
        """
        return self._home is not None

    def fork(self) -> SubscriptionTrie:
        """Return a trie with the present content that can be changed independently of this one. O(1), lock-free."""
        before = read(self._tally)
        root = fork_root(self._root)
        return self._with_content(root, taken_over(self._tally, before))

    def diff(self, older: SubscriptionTrie) -> Iterator[Change]:
        """Iterate over the changes from `older`, a snapshot of this trie or of an ancestor, to this trie.

        The call fixes the instants of both. O(changes): parts that both share are skipped.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a", 1)
        True
        >>> before = t.snapshot()
        >>> t.subscribe("b", 2), t.unsubscribe("a", 1)
        (True, True)
        >>> sorted((change.kind, change.subscription.filter) for change in t.diff(before))
        [('added', 'b'), ('removed', 'a')]
        """
        return changes(*self._both(older), self.dialect)

    def _changed(self, older: SubscriptionTrie) -> Iterator[tuple[str, str | None, Any, Any]]:
        """The same as `diff`, for columns.py: (filter, group, old entry, new entry)."""
        return changed(*self._both(older), self.dialect)

    def _paths(self) -> Iterator[Any]:
        """Yield the path of each filter of one instant, for joining.py."""
        return (path for _, path in walk(freeze_root(self._root)))

    def _columns(self, texts: Any, ask: bool) -> Any:
        """Begin a walk that fills columns with the present subscriptions, for columns.py, which alone asks for it."""
        from subtrie._trie.queries.columns import set_columns

        return set_columns(freeze_root(self._root), self.dialect, texts, ask)

    def _both(self, older: Any) -> tuple[Root, Root]:
        """Return the read-only roots of both sides of a difference. Errors as `diff`."""
        if not isinstance(older, SubscriptionTrie):
            raise TypeError(f"diff() takes a SubscriptionTrie, not {type(older).__name__}")
        other = cython.cast(SubscriptionTrie, older)
        if other.dialect != self.dialect:
            raise ValueError(f"diff() takes a trie of the same dialect: {self.dialect.name}, not {other.dialect.name}")
        if other._plan.exact != self._plan.exact:
            raise ValueError(f"diff() takes a trie made with the same exact={self._plan.exact}")
        return freeze_root(other._root), freeze_root(self._root)

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a trie of the same dialect with the same subscriptions and equal options, each at
        one instant. Settings such as `cache` do not matter. O(n)."""
        if not isinstance(other, SubscriptionTrie):
            return NotImplemented
        return self is other or bool(self.dialect == other.dialect and _content(self) == _content(other))

    def __hash__(self) -> int:
        """By identity, unlike `==`: a trie changes, and must be found again as a key or a subscriber."""
        return object.__hash__(self)

    def __copy__(self) -> SubscriptionTrie:
        return self.snapshot() if self._root.readonly else self.fork()

    def __reduce__(self) -> Any:
        """Pickle the subscriptions of one instant, with dialect and settings. Subscribers and options must be
        picklable. The unpickled trie has no `on_interest`, like a fork. A snapshot stays a snapshot, of the same
        instant."""
        if self._home is not None:
            raise TypeError("a SubscriptionTrie with weak=True is not pickled: nobody would hold its subscribers")
        settings = {
            "index": self._index is not None,
            "cache": 0 if self._cache is None else self._cache.size,
            "exact": self._plan.exact,
        }
        frozen = self.snapshot()
        instant = (frozen.taken_at, frozen.snapshot_id) if frozen is self else None
        rows = list(frozen.subscriptions())
        columns = (
            [one.filter for one in rows],
            [one.subscriber for one in rows],
            [dict(one.options) or None for one in rows],
        )
        return _restored, (type(self), self.dialect, settings, columns, instant), attributes_of(self, SubscriptionTrie)

    # ------------------------------------------------------------------------------------------------------ internals

    def _present(self) -> Root:
        """Return a read-only root of one instant, without subscribers that had died before the call. If subscribers are
        weakly held, this removes inherited subscriptions of dead ones, and costs O(n)."""
        root = freeze_root(self._root)
        dead = [] if self._home is None else dead_among(root)
        if not dead:
            return root
        trie = self.fork() if self._root.readonly else self
        for held in dead:
            trie._let_go(held)
        return freeze_root(trie._root)

    def _spelled_at(self, filter: str, subscriber: Any) -> Iterable[Spelled]:
        """Return the subscriptions on one filter, of all subscribers or of one."""
        place = self._place(filter, None)
        branch = branch_at(freeze_root(self._root), place.words, place.hashes, self._plan.separator)
        wanted = branch is not None and is_wanted(branch)
        found = [(branch, path_of(plain_words(place.words, place.hashes)))] if wanted else []
        if subscriber is None:
            listed = spelled(found, self.dialect)
        else:
            listed = spelled_for(found, self.dialect, subscriber, subscriber_hash(subscriber))
        if self.dialect.queue_groups:
            return listed
        return [one for one in listed if one[1] == place.group]  # the filter of a group is a different filter

    def _audience_of(self, filter: str) -> tuple[Any, tuple[str, ...], str | None]:
        """Return the subscribers of a filter, its words, and the name of the group, if it names one."""
        place = self._place(filter, None)
        branch = branch_at(self._root, place.words, place.hashes, self._plan.separator)
        audience = None if branch is None else subscribers_of(branch)
        return audience, plain_words(place.words, place.hashes), place.group

    def _own(self, topic: str) -> list[Entry]:
        """Return the entries of the filter that equals a topic, in no group and without exclusions."""
        try:
            audience, words, group = self._audience_of(topic)
        except (TopicError, TypeError):
            audience, words, group = None, (), None
        if group is not None or any(map(self.dialect.is_wild, words)):
            return []
        return [entry for entry in iter_keyed(members_of(audience, None)) if type(entry) is Entry]

    def _has(self, filter: str, subscriber: Any) -> bool:
        if not cython.compiled:
            filter_words = Traversal()
        t = address(filter_words)
        hash = subscriber_hash(subscriber)
        if not self._plan.exact and split_filter_in_place(t, plan_of(self), borrow(filter)):
            branch = find_in_place(self, t)
            if t.size:
                return branch is not None and self._is_among(branch, None, subscriber, hash)
        audience, _, group = self._audience_of(filter)
        return is_member(audience, group, self._plan.unites, subscriber, hash)

    def _is_among(self, branch: Branch, group: str | None, subscriber: Any, hash: int) -> bool:
        if branch.alone and self._home is None:
            own = branch.value.subscriber if type(branch.value) is Sole else branch.value
            return branch.alone == hash and (own is subscriber or bool(own == subscriber))
        return is_member(subscribers_of(branch), group, self._plan.unites, subscriber, hash)

    def _with_content(self, root: Root, tally: Tally) -> SubscriptionTrie:
        cls = type(self)
        other: SubscriptionTrie = cls.__new__(cls)
        if cls is not SubscriptionTrie:
            set_attributes(other, attributes_of(self, SubscriptionTrie))
        other.dialect = self.dialect
        other._plan = self._plan
        other._cache = None if self._cache is None else new_cache(self._cache.size)
        other._home = None if self._home is None else weakref.ref(other)
        if root.readonly:
            other._taken_at = time_ns()
            other._name = AtomicReference(None)
        else:
            other._retries = AtomicReference(0)
        other._root = root
        other._tally = tally
        return other


def _own_first(own: list[Entry], frozen: Any, topic: str) -> Iterator[Any]:
    """Yield the subscribers of a topic, those with these entries first."""
    handed = set()
    for entry in own:
        alive = living(entry)
        if alive is not None:
            handed.add(alive.key)
            yield alive.key
    for subscriber in frozen.match(topic):
        if subscriber not in handed:
            yield subscriber


def _content(trie: SubscriptionTrie) -> dict[Any, Any]:
    """Return every subscription of one instant with its options."""
    listed = spelled(walk(freeze_root(trie._root)), trie.dialect)
    return {(filter, group, entry.key): entry.options for filter, group, entry in listed}


def _restored(
    kind: type[SubscriptionTrie], dialect: Dialect, settings: dict[str, Any], columns: tuple[Any, ...], instant: Any
) -> SubscriptionTrie:
    """Unpickle: every filter and every option is validated again."""
    trie = kind.__new__(kind)
    SubscriptionTrie.__init__(trie, dialect, **settings)
    filters, subscribers, options = columns
    made = cython.cast(SubscriptionTrie, trie)  # `__init__` has taken it
    made._change_many([*filters], [*subscribers], [*options], False, False)
    return trie if instant is None else _snapshot_of(trie, instant)


def _snapshot_of(trie: SubscriptionTrie, instant: tuple[int, str]) -> SubscriptionTrie:
    snapshot = trie.snapshot()
    snapshot._taken_at, name = instant
    snapshot._name = AtomicReference(name)
    return snapshot


own_methods(SubscriptionTrie)
