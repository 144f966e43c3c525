# distutils: extra_compile_args = SMALL
"""A subscription trie as it is changed: every change with its count, its filing in the index and its notice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import cython

from subtrie.dialects import AMQP, Dialect
from subtrie.errors import RowError, TopicError

if not cython.compiled:
    from ctrie._edits import edit_trie
    from ctrie._machine import EVERY, check_signals, release, release_items
    from ctrie._nodes import Edit, Root, clear_root, empty_root, freeze_root, root_of
    from ctrie._tally import Tally, begin_change, begin_clear, end_change, end_clear, end_in_doubt, end_with_doubts
    from subtrie._trie.branch import (
        Branch,
        Chain,
        FilterEdit,
        Place,
        Subscribe,
        Unsubscribe,
        is_wanted,
        subscribe_edit,
        subscribers_of,
        unsubscribe_edit,
        words_in,
    )
    from subtrie._trie.duties import Duty
    from subtrie._trie.filling import NOT_FILLED, Row, fill_empty, is_empty, new_row
    from subtrie._trie.groups import members_of
    from subtrie._trie.interest import Watched
    from subtrie._trie.keyed import find_keyed
    from subtrie._trie.match.answer_cache import forget
    from subtrie._trie.match.plan import Matchable, Plan, filter_path, is_plain_filter, plan_of
    from subtrie._trie.queries.listing import branch_at
    from subtrie._trie.reverse_index import ReverseIndex, new_filing
    from subtrie._trie.subscribers import Entry, checked_entry, subscriber_hash

from ctrie._nodes import check_level
from ctrie._subclasses import not_to_be_changed
from subtrie._trie.exact_layout import exact_path, plain_words
from subtrie._trie.exclusions import BUT
from subtrie._trie.exclusions import checked as checked_exclusions
from subtrie._trie.groups import PARTS, check_value
from subtrie._trie.match.deliveries import Subscription
from subtrie._trie.match.plan import hash_in_filter, word_hash
from subtrie._trie.match.reading import words_of
from subtrie._trie.queries.listing import Spelled, spelled, spelled_for, walk
from subtrie._trie.reverse_index import filed_in, keys_in
from subtrie._trie.weak_subscribers import Held, hold
from subtrie._trie.words import MARKED


class Changeable(Matchable):
    """A subscription trie without its questions (trie.py has them). Its methods are documented as those of
    `SubscriptionTrie`."""

    __slots__ = ("__weakref__", "_index", "_name", "_notices", "_retries", "_taken_at", "dialect")
    dialect: Dialect
    _index: ReverseIndex | None
    _notices: Any  # Notices or None
    _retries: Any  # a slot with a number; None in a snapshot
    _taken_at: int | None  # of a snapshot
    _name: Any  # of a snapshot: a slot with its name, or with None until the name is first read

    if cython.compiled:

        def __cinit__(self, *_: object, **__: object) -> None:
            self._root, self._plan, self.dialect = _UNMADE, _UNMADE_PLAN, AMQP
            self._tally = Tally()
    else:

        def __new__(cls, *_: object, **__: object) -> Self:
            self = object.__new__(cls)
            self._root, self._plan, self._cache, self.dialect = _UNMADE, _UNMADE_PLAN, None, AMQP
            self._tally = Tally()
            self._index = self._notices = self._retries = self._home = self._taken_at = self._name = None
            return self

    # ----------------------------------------------------------------------------------------------------- to change

    def subscribe(self, filter: str, subscriber: Any, **options: Any) -> bool:
        """Subscribe `subscriber` to `filter`; return whether this is a new subscription. Options replace earlier ones.

        One option means the same in all dialects: `but`, a tuple of up to 64 filters, its exclusions. The subscription
        then gets what matches `filter` and none of them. It counts for no question about another topic, nor for
        `overlapping` with a filter all of whose common topics are excluded. A subscribe without `but` ends them.

        Errors change nothing. O(words + log n), and O(words of the filter x words) for each exclusion. Linearizes at
        the commit of one compare-and-set.

        Raises:
            TopicError: The dialect refuses the filter or an exclusion.
            TypeError: The subscriber has no hash, or the trie is `weak` and it does not support weak references (an
                int, a str or a tuple, say).
            TypeError, ValueError: The dialect refuses an option (see `Dialect.check_options`); `but` is no tuple of
                texts; an exclusion names a group, or takes nothing out of the filter; or they take out all of it.

        >>> from subtrie import SubscriptionTrie
        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), t.subscribe("a.*", 1, qos=2), len(t)
        (True, False, 1)
        >>> t.subscribe("b.#", 3, but=("b.secret.#",)), t.match("b.x"), t.match("b.secret.x")
        (True, (3,), ())
        """
        self._writable()
        place = self._place_with(filter, options)
        if options:
            options = self._checked_options(filter, options)
        return self._put(place, self._entry(place, subscriber, subscriber_hash(subscriber), options or None))

    def unsubscribe(self, filter: str, subscriber: Any, *, queue: str | None = None) -> bool:
        """Unsubscribe `subscriber` from `filter`, or from its queue group; return whether there was such a
        subscription. Other errors, and the cost, are those of `subscribe`.

        Raises:
            TypeError: For a `queue` if the dialect has no queue groups.

        >>> from subtrie import SubscriptionTrie
        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), t.unsubscribe("a.*", 1), t.unsubscribe("a.*", 1)
        (True, True, False)
        """
        self._writable()
        return self._remove(self._place(filter, queue), subscriber, subscriber_hash(subscriber))

    def subscribe_many(self, subscriptions: Iterable[tuple[Any, ...] | Subscription]) -> int:
        """Subscribe every (filter, subscriber) or (filter, subscriber, options) given; return how many are new.

        All filters and subscribers are checked first. If that raises, nothing is subscribed. If the trie is empty and
        has no `index`, `cache`, `on_interest` or `weak`, all of them appear at one instant. Otherwise each is an atomic
        change, in the order given, so other threads may see one without another. Of a subscription given several times,
        the last options count. O(n) times `subscribe`; lock-free.

        Raises:
            TopicError, TypeError: One is bad, as in `subscribe`.
            ValueError: For a tuple of another size.

        >>> from subtrie import SubscriptionTrie
        >>> t = SubscriptionTrie()
        >>> t.subscribe_many([("a.*", 1), ("b", 2, {"qos": 1}), ("a.*", 1)])
        2
        >>> t.fork().subscribe_many(t.subscriptions())
        0
        """
        self._writable()
        filters, subscribers, options = _columns_of(subscriptions)
        return self._change_many(filters, subscribers, options, False, False)

    def unsubscribe_many(self, subscriptions: Iterable[tuple[Any, ...] | Subscription]) -> int:
        """Unsubscribe every (filter, subscriber) or (filter, subscriber, options) given; return how many there were.

        Checks, changes and cost are as in `subscribe_many` into a trie that is not empty. Options do not matter, except
        the `queue` of a dialect with queue groups.

        >>> from subtrie import SubscriptionTrie
        >>> t = SubscriptionTrie()
        >>> t.subscribe("a.*", 1), t.unsubscribe_many([("a.*", 1), ("b", 2)])
        (True, 1)
        """
        self._writable()
        filters, subscribers, options = _columns_of(subscriptions)
        return self._change_many(filters, subscribers, options, False, True)

    def unsubscribe_all(self, subscriber: Any) -> int:
        """Unsubscribe `subscriber` from all its filters; return their number.

        Every subscription whose `subscribe` had returned before the call is removed, unless it is made again meanwhile.
        A subscription that is made meanwhile may stay. Each one is removed at an instant of its own. O(n); with an
        index, the cost of `unsubscribe` for each filter. Lock-free.

        Raises:
            TypeError: For an unhashable subscriber.

        >>> from subtrie import SubscriptionTrie
        >>> t = SubscriptionTrie(index=True)
        >>> t.subscribe_many([("a", 1), ("b.*", 1), ("a", 2)]), t.unsubscribe_all(1), len(t)
        (3, 2, 1)
        """
        self._writable()
        hash = subscriber_hash(subscriber)
        if self._index is not None:
            found = self._spelled_filed(subscriber, hash)
            removed = self._remove_all(found, subscriber, hash)
            release_items(found)
            return removed
        before: list[Any] = [freeze_root(self._root)]
        removed = self._remove_all(spelled_for(walk(before[0]), self.dialect, subscriber, hash), subscriber, hash)
        release(before, PARTS)
        return removed

    def _remove_all(self, found: Iterable[Spelled], subscriber: Any, hash: int) -> int:
        queues = self.dialect.queue_groups
        removed = 0
        for filter, group, _ in found:
            check_signals()
            removed += self._remove(self._place(filter, group if queues else None), subscriber, hash)
        return removed

    def clear(self) -> None:
        """Remove everything, at one instant. O(1), and O(n) to free what nothing else needs; an index is updated
        afterwards, which takes the time of n changes."""
        self._writable()
        notice = None if self._notices is None else Duty(None)
        filings = None if self._index is None else Duty(None)
        cleared = False
        dropped: list[Any] = []
        try:
            before = begin_clear(self._tally)
            try:
                dropped = clear_root(self._root)
                cleared = True
            finally:
                end_clear(self._tally, before, cleared)
            if self._cache is not None:
                forget(self._cache)
            if filings is not None:
                self._settle(filings, None, False)
        finally:
            if notice is not None and cleared:
                self._tell(notice)
        release(dropped, PARTS)

    def _is_made(self) -> bool:
        """Return whether `__init__` has run."""
        return self._root is not _UNMADE

    def _writable(self) -> None:
        if self._root.readonly:
            raise not_to_be_changed(
                "SubscriptionTrie", self._is_made(), "take .fork() of it for one that can be changed"
            )

    def _path(self, filter: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
        words, hashes = filter_path(self, filter)
        return exact_path(self.dialect, words, hashes, word_hash) if self._plan.exact else (words, hashes)

    def _place(self, filter: str, queue: str | None) -> Place:
        """Return the place of the subscriptions to `filter`, or to its queue group if one is given."""
        words, hashes = filter_path(self, filter)
        group = None
        if queue is not None:
            self.dialect.check_queue(queue)
            group = str.__str__(queue)
        elif self._plan.share is not None and words[0] == self._plan.share and len(words) > 2:
            words, hashes, group = words[2:], hashes[2:], words[1]
        if self._plan.exact:
            words, hashes = exact_path(self.dialect, words, hashes, word_hash)
        place: Place = Place.__new__(Place)
        place.words, place.hashes, place.group, place.filter, place.queue = words, hashes, group, filter, queue
        return place

    def _place_with(self, filter: str, options: dict[str, Any] | None) -> Place:
        """Return the place of a subscription with these options."""
        return self._place(filter, options.get("queue") if options and self.dialect.queue_groups else None)

    def _place_filed(self, key: Any) -> Place:
        """Return the place of a key of the index."""
        return self._place(key[0], key[1]) if isinstance(key, tuple) else self._place(key, None)

    def _change_many(
        self, filters: list[Any], subscribers: list[Any], options: list[Any], strict: bool, removes: bool
    ) -> int:
        """Subscribe, or unsubscribe if it `removes`, what three columns say, which nobody else uses; return how many
        were new, or were there. With `strict`, errors name the row, and a subscription that is there already is one."""
        if not len(filters) == len(subscribers) == len(options):
            raise ValueError("columns of different lengths")
        observed = self._index is not None or self._notices is not None or self._home is not None
        fills = not removes and not observed and self._cache is None and len(filters) > 0 and is_empty(self._root)
        rows: list[Row] = []
        # What the second pass needs. To unsubscribe, that is numbers only, which the collector need not go through.
        checked: list[Any] = []
        number = 0
        try:
            for number in range(len(filters)):
                if number % EVERY == 0:
                    check_signals()
                own = options[number]
                # Where the words of a filter can be found in place, no place is made of them to fill an empty trie.
                plain = fills and own is None and is_plain_filter(self, filters[number])
                place: Any = None if plain else self._place_with(filters[number], own)
                hash = subscriber_hash(subscribers[number])
                if own is not None:
                    options[number] = own = self._checked_options(filters[number], own) or None
                checked.append(hash if removes else self._entry(place, subscribers[number], hash, own))
                if plain:
                    rows.append(new_row(number, checked[number], None, filters[number], 0))
                elif fills:
                    text = self._plan.separator.join(place.words)
                    whole = self._plan.exact and len(place.words) == 1
                    rows.append(new_row(number, checked[number], place.group, text, -1 if whole else 0))
        except TopicError as error:
            if not strict:
                raise
            raise TopicError(error.text, error.position, f"row {number}: {error.reason}") from None
        except (TypeError, ValueError) as error:
            if not strict:
                raise
            raise RowError(number, str(error)) from error
        changed = self._fill(rows, filters, strict) if fills else NOT_FILLED
        if changed == NOT_FILLED:
            changed = self._change_each(filters, subscribers, options, checked, strict, removes)
        for column in (rows, checked, filters, subscribers, options):
            release_items(column)
        return changed

    def _change_each(
        self,
        filters: list[Any],
        subscribers: list[Any],
        options: list[Any],
        checked: list[Any],
        strict: bool,
        removes: bool,
    ) -> int:
        """Do what `_change_many` does with each row, after all have been checked."""
        changed = 0
        for number in range(len(filters)):
            if number % EVERY == 0:
                check_signals()
            place = self._place_with(filters[number], options[number])
            if removes:
                changed += self._remove(place, subscribers[number], checked[number])
            elif self._put(place, checked[number]):
                changed += 1
            elif strict:
                raise RowError(number, f"subscriber {subscribers[number]!r} is on {filters[number]!r} already")
        return changed

    def _fill(self, rows: list[Row], filters: list[Any], strict: bool) -> int:
        """Subscribe the rows, if the trie is empty; return NOT_FILLED if it is not."""
        added, doubts = NOT_FILLED, 1
        begin_change(self._tally)
        try:
            added = fill_empty(self, rows, filters, strict)
            doubts = 0
        finally:
            filled = added != NOT_FILLED
            end_with_doubts(self._tally, added if filled else 0, 0, doubts, filled or doubts)
        return added

    def _load(self, filters: list[Any], subscribers: list[Any], options: list[Any]) -> None:
        """Subscribe rows that are each new (`loaded` in subtrie/columns.py)."""
        # A subscriber's `__hash__` may change those that were given.
        filters, subscribers, options = [*filters], [*subscribers], [*options]
        self._change_many(filters, subscribers, options, True, False)

    def _checked_options(self, filter: str, options: dict[str, Any]) -> dict[str, Any]:
        """Return options as they are kept. Errors as `subscribe`."""
        self.dialect.check_options(options)
        return checked_exclusions(self.dialect, filter, options) if BUT in options else options

    def _entry(self, place: Place, subscriber: Any, hash: int, options: dict[str, Any] | None) -> Entry:
        if self._home is not None:
            subscriber = hold(subscriber, hash, place.given(), self._home)
        return checked_entry(subscriber, hash, options, self.dialect)

    def _put(self, place: Place, entry: Entry) -> bool:
        plan = plan_of(self)
        edit = subscribe_edit(cython.cast(Plan, plan), cython.cast(Plan, plan).separator, place, entry)
        self._make(place, edit)
        return edit.present is None

    def _remove(self, place: Place, subscriber: Any, hash: int) -> bool:
        plan = plan_of(self)
        edit = unsubscribe_edit(cython.cast(Plan, plan), cython.cast(Plan, plan).separator, place, subscriber, hash)
        self._make(place, edit)
        return edit.present is not None

    def _make(self, place: Place, edit: FilterEdit) -> None:
        """Make a change. The notice that may follow is made before: later there may be no memory for it (duties.py)."""
        notice: Duty | None = None
        if self._notices is not None:
            filter = self.dialect.join(plain_words(edit.words, edit.hashes))
            notice = Duty((filter, edit.group) if self._notices.of_groups else filter)
        adds = isinstance(edit, Subscribe)
        in_doubt = True
        begin_change(self._tally)
        try:
            if self._index is None:
                edit_trie(cython.cast(Root, root_of(self)), edit)
            elif adds:
                self._put_filed(place, cython.cast(Subscribe, edit))
            else:
                self._remove_filed(place, cython.cast(Unsubscribe, edit))
            in_doubt = False
        finally:  # a subscriber's __eq__ may raise after the change
            if in_doubt:
                end_in_doubt(self._tally)
            elif adds:
                end_change(self._tally, edit.present is None, edit.crossed)
            else:
                end_change(self._tally, -(edit.present is not None), -edit.crossed)
            if edit.attempts > 1 or (notice is not None and (self._crosses(edit) or self._notices.is_any_left())):
                self._after(edit, notice)

    def _crosses(self, edit: FilterEdit) -> bool:
        """Return whether a change that has been made is one that notices tell of."""
        return edit.crossed_group if self._notices.of_groups else edit.crossed

    def _after(self, edit: FilterEdit, notice: Duty | None) -> None:
        """Count the retries of a change that has been made, and deliver its notice."""
        retries = edit.attempts - 1 - edit.tracks
        if retries > 0:
            self._count_retries(retries)
        if notice is not None:
            self._tell(notice if self._crosses(edit) else None)

    def _tell(self, notice: Duty | None) -> None:
        """Put a notice on the list, and deliver what is on it. Without memory, the next change delivers it."""
        notices = self._notices
        if notice is not None:
            notices.put(notice)
        raised: Exception | None = None
        try:  # noqa: SIM105 (compiled, it costs nothing)
            raised = notices.deliver(self._is_wanted)
        except MemoryError:
            pass  # the change stands
        if raised is not None:
            raise raised

    def _let_go(self, held: Held) -> None:
        """Remove the subscription of a dead subscriber's reference, if it is still there. O(words + log n), lock-free.
        Linearizes as `unsubscribe`; no caller sees this, since the subscription was not shown any more."""
        filter, queue = held.key
        self._remove(self._place(filter, queue), held, held.hash)

    def _count_retries(self, number: int) -> None:
        retries = self._retries
        # Progress: a round that does not return found that another thread has counted its retries.
        while True:
            counted = retries.load()
            # Success: our retries are counted. Failure: another thread has counted its own.
            if retries.compare_and_set(counted, counted + number):
                return

    def _is_wanted(self, watched: Watched) -> bool:
        filter = watched if isinstance(watched, str) else watched[0]
        words, hashes = self._path(filter)
        branch = branch_at(self._root, words, hashes, self._plan.separator)
        if branch is None or filter is watched:
            return branch is not None and is_wanted(branch)
        return members_of(subscribers_of(branch), watched[1]) is not None

    # With an index. reverse_index.py explains the order of the steps.

    def _put_filed(self, place: Place, edit: Subscribe) -> None:
        self._catch_up()
        entry = edit.entry
        index: ReverseIndex = self._index  # type: ignore[assignment]
        owner = index.owner_of(entry.key, entry.hash)
        filing = new_filing(_filing_key(place))
        after = Duty((place, owner, entry.hash, filing))
        index.file(owner, entry.hash, filing)
        is_there = False
        try:
            edit_trie(cython.cast(Root, root_of(self)), edit)
            is_there = True
        finally:
            self._settle(after, edit, is_there)

    def _remove_filed(self, place: Place, edit: Unsubscribe) -> None:
        self._catch_up()
        hash = edit.subscriber_hash
        after = Duty((place, self._index.owner_of(edit.subscriber, hash), hash, None))  # type: ignore[union-attr]
        edit_trie(cython.cast(Root, root_of(self)), edit)
        self._settle(after, edit, False)

    def _settle(self, after: Duty, edit: Edit | None, is_there: bool) -> None:
        """Do what a change leaves to be done in the index. If that fails, the next change does it."""
        try:
            self._finish(after, edit, is_there)
        except BaseException as raised:
            self._index.left.put(after)  # type: ignore[union-attr]
            if not isinstance(raised, Exception):
                raise

    def _finish(self, duty: Duty, edit: Edit | None, is_there: bool) -> None:
        """Confirm a filing, and strike it if the subscription is not there. `is_there`: it was when it was filed."""
        index: ReverseIndex | None = self._index
        if index is None:
            raise TypeError("there is no such duty without an index")
        if duty.what is None:
            self._withdraw_all()
            return
        place, owner, hash, filing = duty.what
        touched = filing is not None and index.confirm(owner, hash, filing)
        if touched or not is_there:
            self._withdraw(place, owner, hash, edit)

    def _catch_up(self) -> None:
        """Settle what earlier changes have left: there was no memory, or a user's `__eq__` had raised."""
        left = self._index.left  # type: ignore[union-attr]
        if left.first() is not None:
            left.do_all(lambda duty: self._finish(duty, None, False))

    def _withdraw(self, place: Place, subscriber: Any, hash: int, edit: Edit | None) -> None:
        """Strike a subscription from the index if it is not in the trie. Users' `__eq__` is not called if the filings
        are stored under `subscriber` itself, nor for comparisons that `edit` has made before."""
        index: ReverseIndex = self._index  # type: ignore[assignment]
        owner = index.owner_of(subscriber, hash)
        key = _filing_key(place)
        # Progress: a round that does not return found that another thread has changed this subscriber's filters.
        while True:
            pair = index.to_strike(owner, hash, key)
            if pair is None or _entry_at(self._root, self._plan.separator, place, subscriber, hash, edit) is not None:
                return
            if index.strike(owner, hash, key, pair):
                return

    def _withdraw_all(self) -> None:
        """Withdraw every filing whose subscription is not in the trie. The subscribers are those that the filings are
        stored under, so the `__eq__` of others, which may raise, is not called."""
        index: ReverseIndex = self._index  # type: ignore[assignment]
        raised: Exception | None = None
        before: list[Any] = [freeze_root(index._root)]
        for subscriber, hash, key in filed_in(before[0]):
            check_signals()
            try:
                self._withdraw(self._place_filed(key), subscriber, hash, None)
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 (raised after all others have been withdrawn)
                raised = raised or error
        release(before, PARTS)
        if raised is not None:
            raise raised

    def _spelled_for(self, subscriber: Any) -> Iterable[Spelled]:
        """Return all subscriptions of one subscriber, at one instant."""
        hash = subscriber_hash(subscriber)
        if self._index is None:
            return spelled_for(walk(freeze_root(self._root)), self.dialect, subscriber, hash)
        return self._spelled_filed(subscriber, hash)

    def _spelled_filed(self, subscriber: Any, hash: int) -> list[Spelled]:
        root, keys = self._filed(subscriber, hash)
        found = []
        for key in keys:
            place = self._place_filed(key)
            entry = _entry_at(root, self._plan.separator, place, subscriber, hash, None)
            if entry is not None:
                found.append((place.filter, place.group, entry))
        return found

    def _filed(self, subscriber: Any, hash: int) -> tuple[Root, list[Any]]:
        """Return a read-only root, and the filters with their queue groups that were filed at its instant."""
        index: ReverseIndex = self._index  # type: ignore[assignment]
        # Progress: a round that does not return found that another thread has changed this subscriber's filters.
        while True:
            pair = index.pair_of(subscriber, hash)
            root = freeze_root(self._root)
            if index.pair_of(subscriber, hash) is pair:
                return root, [] if pair is None else keys_in(pair.value)

    def check(self) -> None:
        """Raise AssertionError if an invariant of the structure is broken. O(n); at rest only.

        >>> from subtrie import SubscriptionTrie
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
        for branch, path in walk(freeze_root(root)):
            words, hashes = self._path(self.dialect.join(words_of(path)))
            found = branch_at(root, words, hashes, self.dialect.separator)
            assert found is branch, f"{self.dialect.join(words)!r} is stored but not found"
        if self._index is not None:
            self._check_index()

    def _check_branch(self, branch: Any) -> None:
        assert isinstance(branch, Branch), f"{branch!r} is no branch"
        assert is_wanted(branch) or branch.next is not None, f"the branch {branch.key!r} has no use"
        words = words_in(branch, self.dialect.separator)
        assert self.dialect.join(words) == branch.key, f"{branch.key!r} is not what its words spell"
        assert isinstance(branch, Chain) == (len(words) > 1), f"{branch.key!r} has {len(words)} words"
        own = MARKED if self._plan.exact and branch.hash == MARKED else hash_in_filter(self.dialect, words[0])
        assert branch.hash == own, f"the branch {branch.key!r} has another word's hash"
        check_value(subscribers_of(branch))

    def _check_index(self) -> None:
        index: ReverseIndex = self._index  # type: ignore[assignment]
        self._catch_up()
        index.check()
        filed = {(hash, key) for _, hash, key in index.everything()}
        for filter, group, entry in spelled(walk(freeze_root(self._root)), self.dialect):
            key = filter if group is None or not self.dialect.queue_groups else (filter, group)
            owner = index.owner_of(entry.key, entry.hash)
            assert index.find_member(owner, entry.hash, key) is not None, f"{filter!r} is not filed"
            filed.discard((entry.hash, key))
        assert not filed, f"filed but not subscribed: {filed}"


def _entry_at(root: Root, separator: str, place: Place, subscriber: Any, hash: int, edit: Edit | None) -> Entry | None:
    branch = branch_at(root, place.words, place.hashes, separator)
    if branch is None:
        return None
    return find_keyed(members_of(subscribers_of(branch), place.group), subscriber, hash, edit)  # type: ignore[no-any-return]


def _filing_key(place: Place) -> Any:
    """Return filter and queue group as they are filed."""
    filter, queue = place.given()
    return filter if queue is None else (filter, queue)


def _columns_of(subscriptions: Iterable[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the filters, the subscribers and the options (None: none) of given subscriptions."""
    filters: list[Any] = []
    subscribers: list[Any] = []
    options: list[Any] = []
    for one in subscriptions:
        if len(filters) % EVERY == 0:
            check_signals()
        given = one if type(one) is tuple and len(one) == 2 else _fields(one)
        filters.append(given[0])
        subscribers.append(given[1])
        options.append(dict(given[2]) or None if len(given) == 3 else None)
    return filters, subscribers, options


def _fields(subscription: Any) -> tuple[Any, ...]:
    """Return filter, subscriber and options of one given subscription."""
    if isinstance(subscription, (tuple, Subscription)) and len(subscription) in (2, 3):
        fields = (*subscription,) if len(subscription) == 3 else (*subscription, {})
        if not isinstance(fields[2], Mapping):
            raise TypeError(f"the options of a subscription are a mapping, not {fields[2]!r}")
        for name in fields[2]:
            if not isinstance(name, str):
                raise TypeError(f"the name of an option is a str, not {name!r}")
        return fields
    raise ValueError(f"a subscription is (filter, subscriber) or (filter, subscriber, options), not {subscription!r}")


# The root of a trie between __new__ and __init__. It is read-only, so that nothing can be lost in it.
_UNMADE: Root = freeze_root(empty_root())
_UNMADE_PLAN: Plan = Plan(AMQP, False)
