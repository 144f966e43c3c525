"""`SubscriptionTrie`: who is subscribed to what, for many threads at once."""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from subtrie.dialects import AMQP, Dialect
from subtrie.errors import TopicError

if not cython.compiled:
    from ctrie._nodes import Root, clear_root, edit_trie, empty_root, fork_root, freeze_root, rdcss_read_root
    from subtrie._branch import Branch, subscribe_edit, unsubscribe_edit
    from subtrie._match_interpreted import (
        Matchable,
        Plan,
        filter_path,
        has_match,
        hash_in_filter,
        match,
        match_many,
        read_paths,
    )
    from subtrie._subscribers import find_entry, new_entry, set_size, subscriber_hash
else:
    from cython.cimports.ctrie._nodes import (
        Root,
        clear_root,
        edit_trie,
        empty_root,
        fork_root,
        freeze_root,
        rdcss_read_root,
    )
    from cython.cimports.subtrie._branch import Branch, subscribe_edit, unsubscribe_edit
    from cython.cimports.subtrie._match import Matchable, Plan, filter_path, has_match, match, match_many
    from cython.cimports.subtrie._subscribers import find_entry, new_entry, set_size, subscriber_hash

    from subtrie._match import hash_in_filter, read_paths

from ctrie._nodes import check_level, differences, snodes
from subtrie._matching import branch_in, path_of, words_of
from subtrie._subscribers import changed_entries, check_set, iter_entries

_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class Subscription(NamedTuple):
    """That `subscriber` is on `filter`, with `options`, a read-only mapping."""

    filter: str
    subscriber: Any
    options: Mapping[str, Any] = _NO_OPTIONS


class Change(NamedTuple):
    """A difference of two instants: `kind` is "added", "removed" or "updated" (other options)."""

    subscription: Subscription
    kind: str


class SubscriptionTrie(Matchable):
    """A set of subscriptions that any number of threads change and match topics against, without locks.

    `SubscriptionTrie(dialect=AMQP)` holds (filter, subscriber) pairs with options. Subscribers are any hashable objects
    and are compared as dict keys are. Filters and topics follow the dialect; what it refuses raises `TopicError`.

    Every operation is linearizable and lock-free. `match` in particular answers for one instant: a subscriber that was
    reachable throughout, through whatever filters, is never missed. A snapshot is O(1).

    To change: `subscribe`, `unsubscribe`, `unsubscribe_all`, `clear`
    To match: `match`, `match_many`, `has_match`, `count`, `entries`
    To list: `subscriptions`, `filters`, `len`, `stats`
    For an instant: `snapshot`, `fork`, `diff`
    For tests: `check`

    Source: Prokopec, Bronson, Bagwell, Odersky: Concurrent Tries with Efficient Non-Blocking Snapshots, PPoPP 2012,
    with topic words in the place of hash bits.

    >>> t = SubscriptionTrie()
    >>> t.subscribe("*.stock.#", "anna"), t.subscribe("eur.stock.*", "bert", qos=1)
    (True, True)
    >>> sorted(t.match("eur.stock.db"))
    ['anna', 'bert']
    >>> t.match("stock.nasdaq")
    ()
    """

    __slots__ = ("__weakref__", "dialect")
    dialect: Dialect

    if cython.compiled:

        def __cinit__(self, *_: object, **__: object) -> None:
            self._root, self._plan, self.dialect = _UNMADE, _UNMADE_PLAN, AMQP
    else:

        def __new__(cls, *_: object, **__: object) -> SubscriptionTrie:
            self = object.__new__(cls)
            self._root, self._plan, self.dialect = _UNMADE, _UNMADE_PLAN, AMQP
            return self

    def __init__(self, dialect: Dialect = AMQP) -> None:
        if not isinstance(dialect, Dialect):
            raise TypeError(f"dialect must be a Dialect, such as AMQP, not {type(dialect).__name__}")
        if self._root is not _UNMADE:
            raise TypeError("a SubscriptionTrie is initialised once; make another one")
        self.dialect = dialect
        self._plan = Plan(dialect)
        self._root = empty_root()

    # ----------------------------------------------------------------------------------------------------- to change

    def subscribe(self, filter: str, subscriber: Any, /, **options: Any) -> bool:
        """Put `subscriber` on `filter`; tell whether it was not there. Options replace the ones it had.

        Raises TopicError for what is no filter and TypeError for an unhashable subscriber, and then changes nothing.
        O(words + log n). Linearizes at the commit of one compare-and-set.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), t.subscribe("a.*", 1, qos=2), len(t)
        (True, False, 1)
        """
        self._writable()
        words, hashes = self._path(filter)
        entry = new_entry(subscriber, subscriber_hash(subscriber), options or None)
        edit = subscribe_edit(words, hashes, entry)
        edit_trie(self._root, edit)
        return edit.present is None

    def unsubscribe(self, filter: str, subscriber: Any, /) -> bool:
        """Take `subscriber` off `filter`; tell whether it was there. Errors and cost as `subscribe`.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), t.unsubscribe("a.*", 1), t.unsubscribe("a.*", 1)
        (True, True, False)
        """
        self._writable()
        words, hashes = self._path(filter)
        edit = unsubscribe_edit(words, hashes, subscriber, subscriber_hash(subscriber))
        edit_trie(self._root, edit)
        return edit.present is not None

    def unsubscribe_all(self, subscriber: Any, /) -> int:
        """Take `subscriber` off every filter that it is on now; return their number. O(n): it looks at all of them.

        Each filter is left at an instant of its own. A subscription made meanwhile may stay.
        """
        self._writable()
        return sum(self.unsubscribe(filter, subscriber) for filter in self.filters(subscriber))

    def clear(self) -> None:
        """Remove everything, at one instant. O(1)."""
        self._writable()
        clear_root(self._root)

    # ------------------------------------------------------------------------------------------------------ to match

    def match(self, topic: str, /) -> tuple[Any, ...]:
        """Return the distinct subscribers of every filter that matches `topic`, in no particular order.

        Raises TopicError for what is no topic. The work is bounded by (levels that the topic reaches) x (its words),
        however many wildcards the filters have. Linearizable: all of the answer held at one instant during the call.
        Lock-free: never waits, and never writes but to help a pending write.
        """
        return match(self, topic)

    def match_many(self, topics: Iterable[str], /) -> list[tuple[Any, ...]]:
        """Return `match` of each topic. Each answer is of one instant; they are not all of the same one.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.#", 1)
        True
        >>> t.match_many(["a", "b", "a.b"])
        [(1,), (), (1,)]
        """
        return match_many(self, topics)

    def has_match(self, topic: str, /) -> bool:
        """Tell whether anybody would get a message on `topic`; stops at the first."""
        return has_match(self, topic)

    def count(self, topic: str, /) -> int:
        """Return the number of distinct subscribers that `topic` has."""
        return len(match(self, topic))

    def entries(self, topic: str, /) -> Iterator[Subscription]:
        """Iterate over the subscriptions that `topic` reaches, at one instant fixed by the call.

        A subscriber that several filters bring appears once for each.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), t.subscribe("#", 1, qos=2)
        (True, True)
        >>> sorted((s.filter, s.subscriber, dict(s.options)) for s in t.entries("a.b"))
        [('#', 1, {'qos': 2}), ('a.*', 1, {})]
        """
        return _spelled(read_paths(self, topic), self.dialect)

    # ------------------------------------------------------------------------------------------------------- to list

    def subscriptions(self, filter: str | None = None, subscriber: Any = None) -> Iterator[Subscription]:
        """Iterate over all subscriptions, or those of one `filter` (this very one, not what it matches), or of one
        `subscriber` (None: any), at one instant fixed by the call. O(n); O(words) for one filter.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), t.subscribe("b", 2)
        (True, True)
        >>> list(t.subscriptions(filter="a.*"))
        [Subscription(filter='a.*', subscriber=1, options=mappingproxy({}))]
        """
        root = freeze_root(self._root)
        if filter is None:
            found = _walk(root)
        else:
            words, hashes = self._path(filter)
            branch = _branch_at(root, words, hashes)
            found = iter([] if branch is None or branch.value is None else [(branch, path_of(words))])
        if subscriber is None:
            return _spelled(found, self.dialect)
        return _of_subscriber(found, self.dialect, subscriber, subscriber_hash(subscriber))

    def filters(self, subscriber: Any, /) -> list[str]:
        """Return the filters that `subscriber` is on, at one instant. O(n)."""
        walk = _walk(freeze_root(self._root))
        return [found.filter for found in _of_subscriber(walk, self.dialect, subscriber, subscriber_hash(subscriber))]

    def __len__(self) -> int:
        """The number of subscriptions at one instant. O(number of filters)."""
        return sum(set_size(branch.value) for branch, _ in _walk(freeze_root(self._root)))

    def __bool__(self) -> bool:
        return next(_walk(freeze_root(self._root)), None) is not None

    def stats(self) -> dict[str, int]:
        """Return counts of one instant: filters, subscriptions, branches, depth (words of the longest filter), widest
        level (words) and widest fan-out (subscribers of one filter). O(n).

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.b", 1), t.subscribe("a.c", 1)
        (True, True)
        >>> t.stats()["branches"], t.stats()["depth"]
        (3, 2)
        """
        counts = dict.fromkeys(("filters", "subscriptions", "branches", "depth", "widest_level", "widest_fanout"), 0)
        for branches, depth in _levels(freeze_root(self._root)):
            counts["branches"] += len(branches)
            counts["widest_level"] = max(counts["widest_level"], len(branches))
            for branch in branches:
                size = set_size(branch.value)
                counts["depth"] = max(counts["depth"], depth if size else 0)
                counts["filters"] += size > 0
                counts["subscriptions"] += size
                counts["widest_fanout"] = max(counts["widest_fanout"], size)
        return counts

    # ----------------------------------------------------------------------------------------------------- an instant

    def snapshot(self) -> SubscriptionTrie:
        """Return the present content as a trie that never changes; its mutators raise TypeError. O(1), lock-free."""
        return self._with_root(freeze_root(self._root))

    def fork(self) -> SubscriptionTrie:
        """Return a trie with the present content that can be changed independently of this one. O(1), lock-free."""
        return self._with_root(fork_root(self._root))

    def diff(self, older: SubscriptionTrie, /) -> Iterator[Change]:
        """Iterate over what is different here from `older`, a snapshot of this trie (or of an ancestor).

        Both are taken as they are at the call. Takes time proportional to the number of changes: parts that both share
        are skipped.

        >>> t = SubscriptionTrie()
        >>> t.subscribe("a", 1)
        True
        >>> before = t.snapshot()
        >>> t.subscribe("b", 2), t.unsubscribe("a", 1)
        (True, True)
        >>> sorted((change.kind, change.subscription.filter) for change in t.diff(before))
        [('added', 'b'), ('removed', 'a')]
        """
        if not isinstance(older, SubscriptionTrie):
            raise TypeError(f"diff() takes a SubscriptionTrie, not {type(older).__name__}")
        return _changes(_frozen(older), _frozen(self), self.dialect)

    def __copy__(self) -> SubscriptionTrie:
        return self.snapshot() if self._root.readonly else self.fork()

    def __reduce__(self) -> Any:
        raise TypeError("a SubscriptionTrie is not pickled: its subscribers live here. snapshot.write() saves one")

    def check(self) -> None:
        """Raise AssertionError if an invariant of the structure is broken. O(n); at rest only.

        >>> SubscriptionTrie().check()
        """
        root = self._root
        levels: list[Any] = [None]
        while levels:
            level = levels.pop()
            for branch in check_level(root, level):
                self._check_branch(branch)
                if branch.next is not None:
                    levels.append(branch.next)
        for branch, path in _walk(freeze_root(root)):
            words, hashes = self._path(self.dialect.join(words_of(path)))
            assert _branch_at(root, words, hashes) is branch, f"{self.dialect.join(words)!r} is stored but not found"

    # ------------------------------------------------------------------------------------------------------ internals

    def _check_branch(self, branch: Any) -> None:
        assert isinstance(branch, Branch), f"{branch!r} is no branch"
        assert branch.value is not None or branch.next is not None, f"the branch {branch.key!r} has no use"
        assert branch.hash == hash_in_filter(self.dialect, branch.key), (
            f"the branch {branch.key!r} has another word's hash"
        )
        check_set(branch.value)

    def _writable(self) -> None:
        if self._root.readonly:
            raise TypeError(
                "this SubscriptionTrie is a read-only snapshot; take .fork() of it for one that can be changed"
            )

    def _path(self, filter: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
        words, hashes = filter_path(self._plan, filter)
        if words[0] == self.dialect.share_prefix:
            raise TopicError(filter, 0, "shared subscriptions are not supported")
        return words, hashes

    def _with_root(self, root: Root) -> SubscriptionTrie:
        other: SubscriptionTrie = SubscriptionTrie.__new__(SubscriptionTrie)
        other.dialect = self.dialect
        other._plan = self._plan
        other._root = root
        return other


def _frozen(trie: SubscriptionTrie) -> Root:
    return freeze_root(trie._root)


def _levels(root: Root) -> Iterator[tuple[list[Any], int]]:
    """Yield the branches of every level of one instant, and the level's depth, the first being 1."""
    stack: list[tuple[Any, int]] = [(rdcss_read_root(root), 1)]
    while stack:
        level, depth = stack.pop()
        branches = list(snodes(root, [level]))
        yield branches, depth
        stack.extend((branch.next, depth + 1) for branch in branches if branch.next is not None)


def _walk(root: Root) -> Iterator[tuple[Any, Any]]:
    """Yield (branch, path) for every branch of one instant with subscribers; paths as in _matching.py."""
    stack: list[tuple[Any, Any]] = [(rdcss_read_root(root), None)]
    while stack:
        level, path = stack.pop()
        for branch in snodes(root, [level]):
            here = (path, branch.key)
            if branch.value is not None:
                yield branch, here
            if branch.next is not None:
                stack.append((branch.next, here))


def _branch_at(root: Root, words: tuple[str, ...], hashes: tuple[int, ...]) -> Any:
    """Return the branch where a filter ends, or None."""
    level: Any = rdcss_read_root(root)
    branch = None
    for word, hash in zip(words, hashes, strict=True):
        branch = None if level is None else branch_in(root, level, word, hash)
        if branch is None:
            return None
        level = branch.next
    return branch


def _spelled(found: Iterable[tuple[Any, Any]], dialect: Dialect) -> Iterator[Subscription]:
    """Yield the subscriptions of the branches found."""
    for branch, path in found:
        filter = dialect.join(words_of(path))
        for entry in iter_entries(branch.value):
            yield _subscription(filter, entry)


def _subscription(filter: str, entry: Any) -> Subscription:
    options = _NO_OPTIONS if entry.options is None else MappingProxyType(entry.options)
    return Subscription(filter, entry.subscriber, options)


def _of_subscriber(
    found: Iterable[tuple[Any, Any]], dialect: Dialect, subscriber: Any, hash: int
) -> Iterator[Subscription]:
    for branch, path in found:
        entry = find_entry(branch.value, subscriber, hash)
        if entry is not None:
            yield _subscription(dialect.join(words_of(path)), entry)


def _changes(older: Root, newer: Root, dialect: Dialect) -> Iterator[Change]:
    pairs: list[tuple[Any, Any, Any]] = [(rdcss_read_root(older), rdcss_read_root(newer), None)]
    while pairs:
        old_level, new_level, path = pairs.pop()
        for old, new in differences(older, newer, None, [(old_level, new_level)]):
            here = (path, (old if new is None else new).key)
            old_set, old_next = (None, None) if old is None else (old.value, old.next)
            new_set, new_next = (None, None) if new is None else (new.value, new.next)
            if old_next is not new_next:
                pairs.append((old_next, new_next, here))
            filter = ""
            for before, after in changed_entries(old_set, new_set):
                if before is not None and after is not None and before.options == after.options:
                    continue  # taken off and put back
                filter = filter or dialect.join(words_of(here))
                kind = "added" if before is None else "removed" if after is None else "updated"
                yield Change(_subscription(filter, before if after is None else after), kind)


# The root of a trie between __new__ and __init__: read-only, so that nothing can be lost in it.
_UNMADE: Root = freeze_root(empty_root())
_UNMADE_PLAN: Plan = Plan(AMQP)
