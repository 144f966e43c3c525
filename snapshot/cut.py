"""One instant of a subscription trie, with the name and the time that its exported rows carry."""

from __future__ import annotations

import datetime
import uuid
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from subtrie import SubscriptionTrie

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_names: Final[WeakKeyDictionary[SubscriptionTrie, str]] = WeakKeyDictionary()


class Cut(NamedTuple):
    """A read-only snapshot, its name, and when it was taken (UTC)."""

    trie: SubscriptionTrie
    snapshot_id: str
    taken_at: datetime.datetime


def cut_of(source: SubscriptionTrie) -> Cut:
    """Freeze ``source``, unless it is a snapshot, whose exports all have its own name and time. As `frozen`."""
    trie = frozen(source)
    return Cut(trie, _name_of(trie), _EPOCH + datetime.timedelta(microseconds=(trie.taken_at or 0) // 1000))


def _name_of(trie: SubscriptionTrie) -> str:
    """The name that a snapshot has had since it was first exported. Of several that export it at once one gives it."""
    return _names.setdefault(trie, uuid.uuid4().hex)


def frozen(source: SubscriptionTrie) -> SubscriptionTrie:
    """Freeze ``source``: O(1), whatever its size, and nobody who writes to it waits.

    :raises TypeError: ``source`` is no subscription trie
    """
    if not isinstance(source, SubscriptionTrie):
        raise TypeError(f"a SubscriptionTrie or a snapshot of one is wanted, not {type(source).__name__}")
    return source.snapshot()
