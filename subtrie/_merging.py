"""What becomes of a subscriber whom several filters of one answer name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

ALL = "all"
ONE = "one"
BEST = "best"
RULES = (ALL, ONE, BEST)


def check_rule(merge: str) -> None:
    """Raise ValueError for what is no rule."""
    if merge not in RULES:
        raise ValueError(f"merge must be one of {', '.join(map(repr, RULES))}, not {merge!r}")


def merged(found: Iterable[tuple[str, Any]], merge: str) -> Iterable[tuple[str, Any]]:
    """Keep, of the (filter, entry) pairs of each subscriber, all, the first, or the first of the highest `qos`."""
    if merge == ALL:
        return found
    return _one_of_each(found, merge == BEST)


def _one_of_each(found: Iterable[tuple[str, Any]], best: bool) -> Iterator[tuple[str, Any]]:
    """Users' `__hash__` is not run; `__eq__` only where two hashes agree."""
    kept: dict[int, list[tuple[str, Any]]] = {}
    for one in found:
        same_hash = kept.setdefault(one[1].hash, [])
        at = _position(same_hash, one[1].subscriber)
        if at < 0:
            same_hash.append(one)
        elif best and _qos(one[1]) > _qos(same_hash[at][1]):
            same_hash[at] = one
    for same_hash in kept.values():
        yield from same_hash


def _position(same_hash: list[tuple[str, Any]], subscriber: Any) -> int:
    for at, (_, entry) in enumerate(same_hash):
        if entry.subscriber is subscriber or entry.subscriber == subscriber:
            return at
    return -1


def _qos(entry: Any) -> Any:
    return 0 if entry.options is None else entry.options.get("qos", 0)
