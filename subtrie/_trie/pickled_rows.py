# distutils: extra_compile_args = SMALL
"""Subscriptions and stored topics in pickles: a flat list, in which a piece of it stands for up to SEVERAL of them.

    text, lengths, options, subscriber, subscriber, ...
    None, text, lengths, time, time, ..., value, value, ..., text, ...

`text` has their filters or topics one after the other, `lengths` tells where each ends, and `options` is None or a
tuple with a dict, or None, for each. The pickle module keeps each text, tuple and dict until its end, and frees them
all at once then, while no other thread runs. So there are few of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import check_signals

SEVERAL = 64


def flattened(subscriptions: Iterable[Any]) -> Iterator[Any]:
    """Yield the items of the list."""
    rest = iter(subscriptions)
    while some := list(islice(rest, SEVERAL)):
        check_signals()
        filters = [one.filter for one in some]
        options = tuple(dict(one.options) or None for one in some)
        yield "".join(filters)
        yield tuple(map(len, filters))
        yield options if any(options) else None
        for one in some:
            yield one.subscriber


def columns_from(flat: Iterable[Any]) -> tuple[list[str], list[Any], list[Any]]:
    """Return filters, subscribers and options (None: none) of the subscriptions in such a list. ValueError if it is no
    such list; what the filters and options are is not looked at."""
    filters: list[str] = []
    subscribers: list[Any] = []
    options: list[Any] = []
    rest = iter(flat)
    for text in rest:
        check_signals()
        lengths, own = next(rest, None), next(rest, None)
        several = _cut(text, lengths)
        filters.extend(several)
        subscribers.extend(islice(rest, len(several)))
        options.extend((None,) * len(several) if own is None else [given and dict(given) for given in own])
    if not len(filters) == len(subscribers) == len(options):
        raise ValueError("this pickle has not as many subscribers and options as filters")
    return filters, subscribers, options


def flattened_entries(entries: Iterable[Any]) -> Iterator[Any]:
    """Yield the items of the list for stored topics."""
    rest = iter(entries)
    yield None
    while some := list(islice(rest, SEVERAL)):
        check_signals()
        yield "".join([topic for topic, _, _ in some])
        yield tuple([len(topic) for topic, _, _ in some])
        for _, _, stored_at in some:
            yield stored_at
        for _, value, _ in some:
            yield value


def entries_from(flat: Iterable[Any]) -> Iterator[tuple[str, Any, float]]:
    """Yield the entries in such a list. ValueError if it is no such list. Older pickles have no None at the beginning,
    and topic, value and time of each, one after the other."""
    rest = iter(flat)
    first = next(rest, None)
    if first is not None:
        rest = chain((first,), rest)
        yield from zip(rest, rest, rest, strict=True)
    for text in rest:
        check_signals()
        topics = _cut(text, next(rest, None))
        times = list(islice(rest, len(topics)))
        yield from zip(topics, list(islice(rest, len(topics))), times, strict=True)


def _cut(text: str, lengths: Any) -> list[str]:
    if lengths is None or sum(lengths) != len(text):
        raise ValueError(f"this pickle does not tell where the texts in {text!r} end")
    found: list[str] = []
    start = 0
    for length in lengths:
        found.append(text[start : start + length])
        start += length
    return found
