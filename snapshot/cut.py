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
    """Freeze ``source``: O(1), whatever its size, and nobody who writes to it waits."""
    return Cut(source.snapshot(), uuid.uuid4().hex, datetime.datetime.now(datetime.UTC))
