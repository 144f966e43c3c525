"""Options of subscriptions: equal ones are one object.

Most subscriptions have one of a few sets of options, such as qos=1. So each thread keeps those of the last KNOWN sets,
and a subscription whose options equal one of them takes that one, which never changes. Threads share no such memory:
they would wait for one another at every subscribe. Values of other types than PLAIN are not looked at: they may have no
hash, may compare equal without being the same, or may change.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

KNOWN = 256  # for each thread
PLAIN = frozenset((str, int, bool, bytes, type(None)))


class _Own(threading.local):
    """What the present thread keeps."""

    def __init__(self) -> None:
        self.known = lru_cache(KNOWN, typed=True)(_made)  # typed: 1 and True are two values
        self.viewed = lru_cache(KNOWN, typed=True)(_made_with_view)


def one_of_equals(options: dict[str, Any]) -> dict[str, Any]:
    """Return options that equal the given ones, in values and their types. O(options)."""
    if not PLAIN.issuperset(map(type, options.values())):
        return options
    return _own.known(*options, *options.values())


def with_view(options: dict[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """As `one_of_equals`, with a view of the options, which is one object, too."""
    if not PLAIN.issuperset(map(type, options.values())):
        return options, MappingProxyType(options)
    return _own.viewed(*options, *options.values())


def _made(*names_and_values: Any) -> dict[str, Any]:
    names = len(names_and_values) // 2
    return dict(zip(names_and_values[:names], names_and_values[names:], strict=True))


def _made_with_view(*names_and_values: Any) -> tuple[dict[str, Any], Mapping[str, Any]]:
    options = _made(*names_and_values)
    return options, MappingProxyType(options)


_own = _Own()
