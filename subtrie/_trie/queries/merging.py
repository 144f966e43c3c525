"""What becomes of a subscriber whom several filters of one answer name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from subtrie._trie.queries.listing import Spelled

ALL = "all"
ONE = "one"
BEST = "best"
RULES = (ALL, ONE, BEST)


def check_rule(merge: str) -> None:
    """Raise ValueError for what is no rule."""
    if merge not in RULES:
        raise ValueError(f"merge must be one of {', '.join(map(repr, RULES))}, not {merge!r}")


def merged(found: Iterable[Spelled], merge: str) -> Iterable[Spelled]:
    """Keep, of what each subscriber has in no group, all, the first, or the first of the highest `qos`. What it has as
    a member of groups is kept: it may get the message by these or may not."""
    if merge == ALL:
        return found
    return _one_of_each(found, merge == BEST)


def _one_of_each(found: Iterable[Spelled], best: bool) -> Iterator[Spelled]:
    """Users' `__hash__` is not run; `__eq__` only where two hashes agree."""
    kept: dict[int, list[Spelled]] = {}
    for one in found:
        _, group, entry = one
        if group is not None:
            yield one
            continue
        same_hash = kept.setdefault(entry.hash, [])
        at = _position(same_hash, entry.subscriber)
        if at < 0:
            same_hash.append(one)
        elif best and _qos(entry) > _qos(same_hash[at][2]):
            same_hash[at] = one
    for same_hash in kept.values():
        yield from same_hash


def _position(same_hash: list[Spelled], subscriber: Any) -> int:
    for at, (_, _, entry) in enumerate(same_hash):
        if entry.subscriber is subscriber or entry.subscriber == subscriber:
            return at
    return -1


def _qos(entry: Any) -> Any:
    return 0 if entry.options is None else entry.options.get("qos", 0)
