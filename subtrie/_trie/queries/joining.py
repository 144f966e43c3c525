"""A store joined with a trie: which stored messages its subscriptions get.

Each topic of the store is matched with the trie, as a new message would be. If the trie has a few filters only, like
the subscriptions of one session, only the topics that one of them matches are looked at: the store finds these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from subtrie._trie.match.deliveries import Delivery, merged
from subtrie._trie.match.matching import all_entries
from subtrie._trie.match.reading import words_of
from subtrie.dialects import Dialect

FEW = 64  # filters: to find the topics of so many costs no more than a few walks of the whole store would


def few_filters(trie: Any, dialect: Dialect) -> list[str] | None:
    """Return the filters of a read-only trie, without groups; None if there are more than a few."""
    found = [dialect.join(words_of(path)) for path in islice(trie._paths(), FEW + 1)]
    return None if len(found) > FEW else found


def joined(entries: Iterable[Any], trie: Any, merge: str, by: str) -> Iterator[tuple[str, Any, tuple[Delivery, ...]]]:
    """Yield (topic, value, deliveries) for the entries of a store that a read-only trie has subscriptions to."""
    for entry in entries:
        topic = entry[0]
        found = merged(all_entries(trie, topic, True), merge, by)
        if found:
            yield topic, entry[1], found  # type: ignore[misc]  # asked for as deliveries
