"""The published keys of subscribers: no two share a key, and each keeps its key while it has subscriptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

from snapshot.texts import Key, SubscriberKeys
from subtrie import Subscription, SubscriptionTrie
from subtrie.columns import Changed


class Ledger:
    """The keys of all subscribers that are published, each with the number of its subscriptions.

    Before a version is committed, its changes become a `Trial`, which changes nothing here. After the commit, the trial
    is booked. Memory: one entry for each subscriber.

    :param key: turns a subscriber into a string
    """

    def __init__(self, key: Key) -> None:
        self.key = key
        self._keys: dict[Hashable, str] = {}
        self._owners: dict[str, Hashable] = {}
        self._counts: Counter[Hashable] = Counter()

    def trial(self, changes: Iterable[Changed]) -> Trial:
        """The keys after some changes, which may come in any order.

        :raises TypeError: `key` did not return a string
        :raises ValueError: two subscribers have the same key, or a key cannot be encoded as UTF-8
        """
        moved: Counter[Hashable] = Counter()
        for change in changes:
            if change.before is None:
                moved[change.subscriber] += 1
            elif change.after is None:
                moved[change.subscriber] -= 1
        return Trial(moved, self._new_keys(moved))

    def _new_keys(self, moved: Counter[Hashable]) -> dict[Hashable, str]:
        """The keys of new subscribers. Each differs from the others, and from the keys of subscribers that remain."""
        given = SubscriberKeys(self.key)
        new = {subscriber: given.of(subscriber) for subscriber in moved if subscriber not in self._keys}
        for subscriber, key in new.items():
            owner = self._owners.get(key)
            if key in self._owners and self._counts[owner] + moved[owner] > 0:
                raise ValueError(
                    f"subscribers {owner!r} and {subscriber!r} both have the key {key!r}; "
                    "give a key= function that tells them apart. Nothing was published"
                )
        return new

    def of(self, trial: Trial, subscriber: Hashable) -> str:
        """The key of a subscriber of the last version or of the trial."""
        known = self._keys.get(subscriber)
        return trial.new_keys[subscriber] if known is None else known

    def book(self, trial: Trial) -> None:
        """Apply a trial whose version has been committed."""
        for subscriber, number in trial.moved.items():
            if number < 0:
                self._counts[subscriber] += number
                if not self._counts[subscriber]:
                    del self._counts[subscriber], self._owners[self._keys.pop(subscriber)]
        for subscriber, key in trial.new_keys.items():
            self._keys[subscriber], self._owners[key] = key, subscriber
        for subscriber, number in trial.moved.items():
            if number > 0:
                self._counts[subscriber] += number


class Trial:
    """The effect of changes on a ledger: how many subscriptions each subscriber gains or loses, and the new keys."""

    def __init__(self, moved: Counter[Hashable], new_keys: dict[Hashable, str]) -> None:
        self.moved = moved
        self.new_keys = new_keys

    def keyed(self, changes: Iterable[Changed], ledger: Ledger) -> Iterator[Changed]:
        """The changes with keys instead of subscribers."""
        for change in changes:
            yield change._replace(subscriber=ledger.of(self, change.subscriber))

    def keyed_all(self, trie: SubscriptionTrie, ledger: Ledger) -> Iterator[Subscription]:
        """All subscriptions with keys instead of subscribers."""
        for held in trie.subscriptions():
            yield Subscription(held.filter, ledger.of(self, held.subscriber), held.options)
