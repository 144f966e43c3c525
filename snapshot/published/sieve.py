"""Which changes of a version can be stored. A subscription that cannot be is set aside; the others are published."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from snapshot.columns import Row
from snapshot.published.ledger import Ledger
from snapshot.storing import Storing, Texts
from snapshot.turns import attempted
from subtrie import Subscription, SubscriptionTrie
from subtrie.columns import Changed
from subtrie.tagged import has_surrogates

Stored = tuple[str, str, Texts | None, Texts | None]
"""A change as it is stored: filter, subscriber, and the options before and after, None for none."""

SubscriptionKey = tuple[str, str | None, Hashable]
"""What names a subscription: its filter, its queue group, its subscriber."""


class Refused(NamedTuple):
    """A subscription that is not published.

    Args:
        filter: its filter.
        subscriber: its subscriber.
        options: its options.
        reason: why it cannot be stored.
    """

    filter: str
    subscriber: Hashable
    options: Mapping[str, Any]
    reason: str


class Sieve:
    """The changes of one version, without those that cannot be stored.

    Args:
        raw: the changes of the trie since the last version; called for each pass.
        before: the subscriptions that the last version lacks.
        ledger: the keys of subscribers, if they have keys.
        queues: whether a subscription is named by its queue group, too.
        strict: whether one that cannot be stored is an error instead.

    Raises:
        ValueError: strict, and two subscribers have the same key.

    `trial` is the effect of the changes on the ledger, and `key` gives a subscriber its key.
    """

    def __init__(
        self,
        raw: Callable[[], Iterator[Changed]],
        before: Mapping[SubscriptionKey, Refused],
        ledger: Ledger | None,
        *,
        queues: bool,
        strict: bool,
    ) -> None:
        self._raw = raw
        self._before = before
        self._ledger = ledger
        self._queues = queues
        self._owners: Mapping[str, Hashable] | None = None
        self._uncounted: set[SubscriptionKey] = set()
        self.strict = strict
        self.refused = dict(before)
        self.trial = None if ledger is None else ledger.trial(self._effective(), strict=strict)
        self.key = None if ledger is None or self.trial is None else functools.partial(ledger.of, self.trial)

    def from_trie(self, raw: Callable[[], Iterator[Changed]], owners: Mapping[str, Hashable] | None = None) -> None:
        """Take other changes.

        Args:
            owners: the subscribers, if those of the changes are keys already.
        """
        self._raw, self._owners = raw, owners

    def keyed(self, trie: SubscriptionTrie, owners: dict[str, Hashable]) -> Iterator[Subscription]:
        """All subscriptions, with keys instead of subscribers if there are keys.

        Args:
            owners: gets the subscriber of each key.
        """
        if self.key is None:
            yield from trie.subscriptions()
            return
        for held in trie.subscriptions():
            queue = held.options.get("queue") if self._queues else None
            key, error = attempted(functools.partial(self.key, held.subscriber))
            if key is not None:
                owners[key] = held.subscriber
                yield Subscription(held.filter, key, held.options)
            elif error is not None:
                self._refuse((held.filter, queue, held.subscriber), held.options, error)

    def _refuse(self, key: SubscriptionKey, options: Mapping[str, Any], error: Exception) -> None:
        """Set a subscription aside. Its subscriber does not get the key for it."""
        if self.trial is not None and key not in self._uncounted and key[2] not in self.trial.lacking:
            self._uncounted.add(key)
            self.trial.moved[key[2]] -= 1
        self.refused[key] = Refused(key[0], key[2], options, f"{type(error).__name__}: {error}")

    def stored(self, storing: Storing) -> Iterator[Stored]:
        """The changes as they are stored. Deletes come first if an insert may have the same subscription.

        Raises:
            TypeError: strict, and a subscription cannot be rebuilt.
        """
        passes: list[Iterable[Changed]] = [self._effective()]
        if self.key is not None and self._owners is None:
            deletes = (change for change in self._effective() if change.after is None)
            passes = [deletes, (change for change in self._effective() if change.after is not None)]
        for change in itertools.chain.from_iterable(passes):
            key, texts = self._key_of(change), None
            if change.after is not None:
                texts = self._texts(storing, key, change.after)
            if texts is not None or change.after is None:
                self.refused.pop(key, None)
            if texts is None and change.before is None:
                continue
            subscriber, after = texts or (storing.subscriber(self._published(change.subscriber)), None)
            before = None if change.before is None else _as_before(storing, change.before)
            yield change.filter, subscriber, before, after

    def rows(self, trie: SubscriptionTrie, storing: Storing) -> Iterator[Row]:
        """All subscriptions of a trie that can be stored, as texts."""
        for held in trie.subscriptions():
            queue = held.options.get("queue") if self._queues else None
            key = (held.filter, queue, held.subscriber)
            if key in self.refused:
                continue
            texts = self._texts(storing, key, held.options)
            if texts is not None:
                subscriber, options = texts
                yield held.filter, subscriber, *options

    def _effective(self) -> Iterator[Changed]:
        """The changes from what was published: of subscriptions that were set aside, nothing was. Those that could not
        have their key come again, since another subscriber may have left it."""
        ledger = self._ledger
        again = {key: one for key, one in self._before.items() if ledger is not None and ledger.lacks(key[2])}
        for change in self._raw():
            key = self._key_of(change)
            again.pop(key, None)
            if key not in self._before:
                yield change
            elif change.after is None:
                self.refused.pop(key, None)
            else:
                yield change._replace(before=None)
        for (filter, group, subscriber), one in again.items():
            yield Changed(filter, group, subscriber, None, one.options)

    def _key_of(self, change: Changed) -> SubscriptionKey:
        subscriber = change.subscriber
        if self._owners is not None:
            subscriber = self._owners.get(subscriber, subscriber)
        return change.filter, change.group if self._queues else None, subscriber

    def _texts(self, storing: Storing, key: SubscriptionKey, options: Mapping[str, Any]) -> tuple[str, Texts] | None:
        """The texts of a subscriber and of options; None if the subscription cannot be stored."""
        filter, _, subscriber = key

        def texts() -> tuple[str, Texts]:
            if has_surrogates(filter):
                raise ValueError("the filter cannot be encoded as UTF-8")
            given = subscriber if self.key is None else self.key(subscriber)
            return storing.subscriber(given), storing.options(options)

        found, error = attempted(texts, strict=self.strict)
        if error is not None:
            self._refuse(key, options, error)
        return found

    def _published(self, subscriber: Hashable) -> Hashable:
        """What is published for a subscriber of a change, which is a key already if the changes come with owners."""
        return subscriber if self.key is None or self._owners is not None else self.key(subscriber)


def _as_before(storing: Storing, options: Mapping[str, Any]) -> Texts:
    """The options that a subscription had. They only serve other programs, so a value may have none any more."""
    try:
        return storing.options(options)
    except (TypeError, ValueError):
        kept = {name: value for name, value in options.items() if isinstance(value, str)}
        return Storing(None, tags=True).options(kept)
