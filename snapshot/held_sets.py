"""The set as a Python worker of Spark holds it.

A worker keeps a set between tasks, queries and micro-batches, under the name of its content. The subscribers of its
trie are row numbers, so a match returns row numbers. This trie has no groups, since workers would
draw different members, and a task that is repeated another one.

A new version of a set is made from the changes: new rows are appended, and a fork of the trie refers to them. The
earlier set stays as it was, for tasks that still use it.
"""

from __future__ import annotations

import datetime
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from snapshot._extras import extra
from snapshot.columns import schema, sums
from snapshot.merging import BEFORE, DELETE, merged, of_kind, there_after
from snapshot.option_numbers import OptionMap, numbered
from subtrie import Dialect, SubscriptionTrie
from subtrie.columns import EXCLUSIONS
from subtrie.tagged import untagged

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Numbers = np.ndarray[Any, Any]

JOINED = ("filter", "subscriber", "options")
"""The columns of the set that a matched message gets."""

Name = tuple[str, str, str | None]
"""What names a subscription: filter, subscriber and queue group."""

NUMBER = "_option"
"""The column of numbers of options."""

MOST_SETS = 2
"""How many sets a worker keeps: those used last. Two versions of one set share nearly all their memory."""

MOST_PARTS = 16
"""How many parts a set has, one for each update, before all but the first are merged."""


class Part(NamedTuple):
    """Rows of a set, numbered from ``start``: the columns `JOINED`, and the numbers that options have."""

    start: int
    rows: pa.RecordBatch


class Spans(NamedTuple):
    """When the rows of a set are there: the times of versions in order, in microseconds; and the places of the version
    from which each row is there, and of that from which it is not."""

    times: Numbers
    since: Numbers
    until: Numbers

    def hold(self, rows: Numbers, times: Numbers) -> Numbers:
        """Whether each row is there at a time."""
        places = self.times.searchsorted(times, side="right") - 1
        found: Numbers = (self.since[rows] <= places) & (places < self.until[rows])
        return found


class HeldSet(NamedTuple):
    """A set: its rows, of which some may have been removed; the bytes in the texts of each row; what the numbers of
    options mean; a trie whose subscribers are the numbers of the rows that remain; and, if these are those of several
    versions, when each is there."""

    dialect: Dialect
    parts: tuple[Part, ...]
    sizes: Numbers
    options: tuple[OptionMap, ...]
    rows: SubscriptionTrie
    spans: Spans | None = None

    @property
    def end(self) -> int:
        """The number of the next row."""
        return len(self.sizes)


# What is kept ---------------------------------------------------------------------------------------------------------

_held: OrderedDict[Any, HeldSet] = OrderedDict()


def held_set(name: Any, make: Callable[[], HeldSet]) -> HeldSet:
    """The set of this name. If none is kept, it is made by ``make`` and kept."""
    found = _held.pop(name, None)
    if found is None:
        while len(_held) >= MOST_SETS:  # now, since memory must not hold one more while the new one is made
            _held.popitem(last=False)
        found = make()
    _held[name] = found
    return found


def kept() -> list[Any]:
    """The names of the sets that are kept, the one used last at the end."""
    return list(_held)


# How a set is made ----------------------------------------------------------------------------------------------------


def built(batches: Iterable[pa.RecordBatch], dialect: Dialect) -> HeldSet:
    """The set with these rows, whose columns are `JOINED`."""
    pa, np = extra("pyarrow"), extra("numpy")
    table = pa.Table.from_batches(batches, joined_schema()).combine_chunks()
    rows = SubscriptionTrie(replace(dialect, share_prefix=None, queue_groups=False))
    empty = HeldSet(dialect, (), np.zeros(0, np.int64), (), rows)
    return _appended(empty, table.to_batches())


def advanced(held: HeldSet, feeds: Sequence[pa.Table]) -> HeldSet:
    """The set after the changes of feeds, with the columns `JOINED` and ``_change_type``; ``held`` stays as it is.

    The time is proportional to the changes, except that the sizes of all rows are copied.
    """
    if not feeds:
        return held
    changes = merged(feeds, held.dialect.queue_groups)
    held = held._replace(rows=held.rows.fork())
    gone = _there(held, set(names_of(changes, held.dialect)))
    held.rows.unsubscribe_many((behind_group(name[0], held.dialect), row) for name, row in gone)
    return _appended(held, there_after(changes).select(JOINED).combine_chunks().to_batches())


def with_history(held: HeldSet, feeds: Sequence[pa.Table], times: Sequence[datetime.datetime]) -> HeldSet:
    """The rows of a set, to which nobody else refers, and of all later versions.

    Args:
        feeds: those of the later versions, each apart.
        times: of the version that ``held`` is, and of the later ones.
    """
    np = extra("numpy")
    first = row = held.end
    last: dict[Name, int] = {}  # the row that a name has by now
    begun: dict[Name, int] = {}  # when the row is gone that a name has in `held`
    since, ends = [0] * first, []
    for place, feed in enumerate(feeds, 1):
        for name in names_of(of_kind(feed, DELETE, BEFORE), held.dialect):
            if name in last:
                ends.append((last.pop(name), place))
            else:
                begun[name] = place
        for name in names_of(there_after(feed), held.dialect):
            last[name] = row
            since.append(place)
            row += 1
    ends += [(number, begun[name]) for name, number in _there(held, begun.keys())]
    added = (there_after(feed).select(JOINED).combine_chunks() for feed in feeds)
    held = _appended(held, (batch for rows in added for batch in rows.to_batches()))
    until = np.full(row, len(times))
    for number, place in ends:
        until[number] = place
    stamps = np.array([round(time.timestamp() * 1_000_000) for time in times], np.int64)
    return held._replace(spans=Spans(stamps, np.array(since, np.int64), until))


def joined_schema() -> pa.Schema:
    """The schema of the columns `JOINED`."""
    return extra("pyarrow").schema([schema().field(name) for name in JOINED])


def _appended(held: HeldSet, batches: Iterable[pa.RecordBatch]) -> HeldSet:
    np = extra("numpy")
    parts, sizes, options, end = list(held.parts), [held.sizes], held.options, held.end
    for batch in batches:
        if batch.num_rows:
            filters = (behind_group(filter, held.dialect) for filter in batch.column("filter").to_pylist())
            numbers = range(end, end + batch.num_rows)
            held.rows.subscribe_many(zip(filters, numbers, _exclusions(batch), strict=False))
            of_options, options = numbered(batch.column("options"), options)
            parts.append(Part(end, batch.append_column(NUMBER, of_options)))
            sizes.append(_sizes(batch).to_numpy())
            end += batch.num_rows
    return held._replace(parts=_merged(parts), sizes=np.concatenate(sizes), options=options)


def _exclusions(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """What each row has of its options in the trie: its exclusions, if it has any."""
    pc = extra("pyarrow.compute")
    texts = pc.map_lookup(batch.column("options"), EXCLUSIONS, "first")
    if texts.null_count == len(texts):
        return repeat({}, len(texts))
    return ({} if text is None else {EXCLUSIONS: untagged(text)} for text in texts.to_pylist())


def _merged(parts: list[Part]) -> tuple[Part, ...]:
    """The parts. If there are too many, all but the first are merged into one."""
    if len(parts) <= MOST_PARTS:
        return tuple(parts)
    pa = extra("pyarrow")
    others = pa.Table.from_batches([part.rows for part in parts[1:]]).combine_chunks().to_batches()
    merged, start = parts[:1], parts[1].start
    for batch in others:
        merged.append(Part(start, batch))
        start += batch.num_rows
    return tuple(merged)


def _there(held: HeldSet, names: Collection[Name]) -> Iterator[tuple[Name, int]]:
    """Those of these subscriptions that are there, with the numbers of their rows."""
    filters = {behind_group(filter, held.dialect) for filter, _, _ in names}
    candidates = sorted(found.subscriber for filter in filters for found in held.rows.subscriptions(filter=filter))
    for rows, texts in taken(held, extra("numpy").array(candidates, extra("numpy").int64)):
        for name, row in zip(names_of(texts, held.dialect), rows.tolist(), strict=True):
            if name in names:
                yield name, row


def names_of(rows: pa.Table | pa.RecordBatch, dialect: Dialect) -> Iterator[Name]:
    """The filter, subscriber and queue group of each row, which together name its subscription."""
    filters, subscribers = rows.column("filter").to_pylist(), rows.column("subscriber").to_pylist()
    queues: Iterable[str | None] = repeat(None, rows.num_rows)
    if dialect.queue_groups:
        queues = extra("pyarrow.compute").map_lookup(rows.column("options"), "queue", "first").to_pylist()
    return zip(filters, subscribers, queues, strict=True)


def _sizes(subscriptions: pa.RecordBatch) -> pa.Int64Array:
    """The bytes in the texts of each subscription."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    filters, subscribers, options = (subscriptions.column(name) for name in JOINED)
    names, texts = (pc.binary_length(part).cast(pa.int64()) for part in (options.keys, options.items))
    of_options = sums(pc.add(names, pc.fill_null(texts, 0)), options.offsets)
    return pc.add(of_options, pc.add(pc.binary_length(filters), pc.binary_length(subscribers)))


def behind_group(filter: str, dialect: Dialect) -> str:
    """The filter without the prefix and group of a shared subscription."""
    if dialect.share_prefix is None or not filter.startswith(dialect.share_prefix):
        return filter
    return dialect.join(dialect.unshare(dialect.split_filter(filter))[1])


def taken(held: HeldSet, rows: Numbers) -> Iterator[tuple[Numbers, pa.RecordBatch]]:
    """The rows with these numbers, which ascend by part: for each part, the numbers in it and their rows."""
    for part, numbers in by_part(held, rows):
        yield numbers, part.rows.take(extra("pyarrow").array(numbers - part.start))


def by_part(held: HeldSet, rows: Numbers) -> Iterator[tuple[Part, Numbers]]:
    """The parts that have rows of these ascending numbers, with the numbers. A single part has all, in any order."""
    if len(held.parts) == 1:
        yield held.parts[0], rows
        return
    for part in held.parts:
        first, end = rows.searchsorted([part.start, part.start + part.rows.num_rows])
        if end > first:
            yield part, rows[first:end]
