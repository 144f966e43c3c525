"""One instant of a subscription trie, with the name and the time that its exported rows carry."""

from __future__ import annotations

import datetime
import uuid
from typing import NamedTuple

from subtrie import SubscriptionTrie


class Cut(NamedTuple):
    """A read-only snapshot, the identifier of this export of it, and when it was taken (UTC)."""

    trie: SubscriptionTrie
    snapshot_id: str
    taken_at: datetime.datetime


def cut_of(source: SubscriptionTrie) -> Cut:
    """Freeze ``source`` and name the export of it. As `frozen`."""
    return Cut(frozen(source), uuid.uuid4().hex, datetime.datetime.now(datetime.UTC))


def frozen(source: SubscriptionTrie) -> SubscriptionTrie:
    """Freeze ``source``: O(1), whatever its size, and nobody who writes to it waits.

    :raises TypeError: ``source`` is no subscription trie
    """
    if not isinstance(source, SubscriptionTrie):
        raise TypeError(f"a SubscriptionTrie or a snapshot of one is wanted, not {type(source).__name__}")
    return source.snapshot()
