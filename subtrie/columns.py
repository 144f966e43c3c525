"""Sets of subscriptions, and their differences, as what columns are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from subtrie._trie.trie import SubscriptionTrie

_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class Changed(NamedTuple):
    """A difference of two instants: the options that a subscription has had and has, None where it was not there."""

    filter: str
    group: str | None
    subscriber: Any
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


def changed(newer: SubscriptionTrie, older: SubscriptionTrie) -> Iterator[Changed]:
    """Iterate over what is different in one trie from an older one: `SubscriptionTrie.diff`, with both sides' options.

    >>> t = SubscriptionTrie()
    >>> cut = t.snapshot()
    >>> t.subscribe("a", 1, qos=1)
    True
    >>> [(one.filter, one.subscriber, one.before, dict(one.after)) for one in changed(t, cut)]
    [('a', 1, None, {'qos': 1})]
    """
    for filter, group, before, after in newer._changed(older):
        subscriber = (before if after is None else after).subscriber
        yield Changed(filter, group, subscriber, _options(before), _options(after))


def _options(entry: Any) -> Mapping[str, Any] | None:
    if entry is None:
        return None
    return _NO_OPTIONS if entry.options is None else entry.options
