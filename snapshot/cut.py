"""One instant of a subscription trie, with the name and the time that its exported rows carry."""

from __future__ import annotations

import datetime
from typing import Any, Final, NamedTuple

from snapshot.topics import Limits, limits_of, mirrored
from subtrie import SubscriptionTrie, TopicStore

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Cut(NamedTuple):
    """A read-only snapshot, its name, when it was taken (UTC), and the limits of the topic store that it mirrors."""

    trie: SubscriptionTrie
    snapshot_id: str
    taken_at: datetime.datetime
    limits: Limits | None = None


def cut_of(source: SubscriptionTrie | TopicStore[Any]) -> Cut:
    """Freeze ``source``. All exports of one snapshot have its name and time. It raises what `frozen` raises."""
    trie = frozen(source)
    name, taken_at = trie.snapshot_id, trie.taken_at
    assert name is not None
    assert taken_at is not None
    return Cut(trie, name, _EPOCH + datetime.timedelta(microseconds=taken_at // 1000), limits_of(source))


def pair_of(newer: SubscriptionTrie, older: SubscriptionTrie) -> tuple[Cut, SubscriptionTrie]:
    """Freeze two tries that are to be compared.

    :raises TypeError: one of them is not a subscription trie
    :raises ValueError: they have different dialects
    """
    base, cut = frozen(older), cut_of(newer)
    if cut.trie.dialect != base.dialect:
        raise ValueError(
            f"snapshots of different dialects have no difference: {cut.trie.dialect.name}, {base.dialect.name}"
        )
    return cut, base


def frozen(source: SubscriptionTrie | TopicStore[Any]) -> SubscriptionTrie:
    """Return a snapshot of ``source``, or ``source`` if it is one. O(1); writers do not wait.

    :raises TypeError: ``source`` is not a subscription trie
    """
    source = mirrored(source)
    if not isinstance(source, SubscriptionTrie):
        raise TypeError(f"the source must be a SubscriptionTrie or a snapshot of one, not {type(source).__name__}")
    return source.snapshot()
