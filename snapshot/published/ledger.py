"""The published keys of subscribers: no two share a key, and each keeps its key while it has subscriptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from functools import partial

from snapshot.texts import Key, SubscriberKeys
from snapshot.turns import attempted
from subtrie.columns import Changed


class Ledger:
    """The keys of all subscribers that are published, each with the number of its subscriptions.

    Before a version is committed, its changes become a `Trial`, which changes nothing here. After the commit, the trial
    is booked. Memory: one entry for each subscriber.

    Args:
        key: turns a subscriber into a string.
    """

    def __init__(self, key: Key) -> None:
        self.key = key
        self._keys: dict[Hashable, str] = {}
        self._owners: dict[str, Hashable] = {}
        self._counts: Counter[Hashable] = Counter()

    def trial(self, changes: Iterable[Changed], *, strict: bool = True) -> Trial:
        """The keys after some changes, which may come in any order.

        Args:
            strict: whether a subscriber that cannot have its key is an error; if not, the trial lacks it.

        Raises:
            TypeError: `key` did not return a string.
            ValueError: two subscribers have the same key, or a key cannot be encoded as UTF-8.
        """
        moved: Counter[Hashable] = Counter()
        for change in changes:
            if change.before is None:
                moved[change.subscriber] += 1
            elif change.after is None:
                moved[change.subscriber] -= 1
        trial = Trial(moved)
        given = SubscriberKeys(self.key)
        for subscriber in [each for each in moved if each not in self._keys]:
            key, error = attempted(partial(self._new_key, given, subscriber, moved), strict=strict)
            if key is not None:
                trial.new_keys[subscriber] = key
            elif error is not None:
                trial.lacking[subscriber] = error
                del moved[subscriber]
        return trial

    def _new_key(self, given: SubscriberKeys, subscriber: Hashable, moved: Counter[Hashable]) -> str:
        """The key of a new subscriber. It differs from the others, and from the keys of subscribers that remain."""
        key = given.subscriber(subscriber)
        owner = self._owners.get(key)
        if key in self._owners and self._counts[owner] + moved[owner] > 0:
            raise ValueError(
                f"subscribers {owner!r} and {subscriber!r} both have the key {key!r}; "
                "give a key= function that tells them apart"
            )
        return key

    def lacks(self, subscriber: Hashable) -> bool:
        """Whether a subscriber has no key yet."""
        return subscriber not in self._keys

    def of(self, trial: Trial, subscriber: Hashable) -> str:
        """The key of a subscriber of the last version or of the trial. It raises the error for which it has none."""
        known = self._keys.get(subscriber)
        if known is not None:
            return known
        if subscriber in trial.lacking:
            raise trial.lacking[subscriber]
        return trial.new_keys[subscriber]

    def book(self, trial: Trial) -> None:
        """Apply a trial whose version has been committed."""
        for subscriber, number in trial.moved.items():
            if number < 0:
                self._counts[subscriber] += number
                if not self._counts[subscriber]:
                    del self._counts[subscriber], self._owners[self._keys.pop(subscriber)]
        for subscriber, key in trial.new_keys.items():
            if trial.moved[subscriber] > 0:
                self._keys[subscriber], self._owners[key] = key, subscriber
        for subscriber, number in trial.moved.items():
            if number > 0:
                self._counts[subscriber] += number


class Trial:
    """The effect of changes on a ledger: how many subscriptions each subscriber gains or loses, the new keys, and the
    errors of subscribers that cannot have theirs."""

    def __init__(self, moved: Counter[Hashable]) -> None:
        self.moved = moved
        self.new_keys: dict[Hashable, str] = {}
        self.lacking: dict[Hashable, Exception] = {}
