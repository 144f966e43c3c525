"""The set as a Python worker of Spark holds it, and the join of messages with it.

A worker keeps a set between tasks, queries and micro-batches, under the name of its content. The subscribers of its
trie are row numbers, so a match returns row numbers. Arrow alone then makes the joined rows from the columns of the set
and of the messages. This trie has no groups, since workers could not agree on whose turn it is.

A new version of a set is made from the changes: new rows are appended, and a fork of the trie refers to them. The
earlier set stays as it was, for tasks that still use it.
"""

from __future__ import annotations

import zlib
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

from snapshot._extras import extra
from snapshot.collection import staying_objects
from snapshot.columns import BATCH_ROWS, sums
from snapshot.option_numbers import OptionMap, numbered, renumbered
from subtrie import Dialect, SubscriptionTrie, TopicError
from subtrie.columns import row_numbers

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Numbers = np.ndarray[Any, Any]

JOINED = ("filter", "subscriber", "options")
"""The columns of the set that a matched message gets."""

NUMBER = "_option"
"""The column of numbers of options."""

PORTION_BYTES = 64 * 1024 * 1024
"""How much memory the rows joined at a time take, at most; a single row may take more. A string column holds 2 GiB."""

MOST_SETS = 2
"""How many sets a worker keeps: those used last. Two versions of one set share nearly all their memory."""

MOST_PARTS = 16
"""How many parts a set has, one for each update, before all but the first are merged."""

FIRST_TOPICS, MOST_TOPICS = 256, 16_384
"""How many topics are matched at a time: the first number at the start, then as many as give about `BATCH_ROWS`
matches, up to the second."""


class Part(NamedTuple):
    """Rows of a set, numbered from ``start``: the columns `JOINED`, and the numbers that options have."""

    start: int
    rows: pa.RecordBatch


class HeldSet(NamedTuple):
    """A set: its rows, of which some may have been removed; the bytes in the texts of each row; what the numbers of
    options mean; and a trie whose subscribers are the numbers of the rows that remain."""

    dialect: Dialect
    parts: tuple[Part, ...]
    sizes: Numbers
    options: tuple[OptionMap, ...]
    rows: SubscriptionTrie

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


def forget() -> None:
    """Drop all sets."""
    _held.clear()


# How a set is made ----------------------------------------------------------------------------------------------------


def built(batches: Iterable[pa.RecordBatch], dialect: Dialect) -> HeldSet:
    """The set with these rows, whose columns are `JOINED`."""
    pa, np = extra("pyarrow"), extra("numpy")
    table = pa.Table.from_batches(batches, _schema()).combine_chunks()
    rows = SubscriptionTrie(replace(dialect, share_prefix=None, queue_groups=False))
    empty = HeldSet(dialect, (), np.zeros(0, np.int64), (), rows)
    return _appended(empty, table.to_batches())


def advanced(held: HeldSet, feeds: Iterable[pa.Table]) -> HeldSet:
    """The set after these changes, each a table of `JOINED` and ``_change_type``; ``held`` stays as it is.

    The time is proportional to the changes, except that the sizes of all rows are copied.
    """
    pc = extra("pyarrow.compute")
    held = held._replace(rows=held.rows.fork())
    for feed in feeds:
        kind = feed.column("_change_type")
        gone = feed.filter(pc.is_in(kind, value_set=_strings(["delete", "update_preimage"])))
        came = feed.filter(pc.is_in(kind, value_set=_strings(["insert", "update_postimage"])))
        _take_away(held, gone)
        held = _appended(held, came.select(JOINED).combine_chunks().to_batches())
    return held


def _schema() -> pa.Schema:
    pa = extra("pyarrow")
    texts = pa.string()
    return pa.schema([("filter", texts), ("subscriber", texts), ("options", pa.map_(texts, texts))])


def _strings(values: Sequence[str]) -> pa.Array:
    return extra("pyarrow").array(values, extra("pyarrow").string())


def _appended(held: HeldSet, batches: Iterable[pa.RecordBatch]) -> HeldSet:
    np = extra("numpy")
    parts, sizes, options, end = list(held.parts), [held.sizes], held.options, held.end
    for batch in batches:
        if batch.num_rows:
            filters = (behind_group(filter, held.dialect) for filter in batch.column("filter").to_pylist())
            with staying_objects():
                held.rows.subscribe_many(zip(filters, range(end, end + batch.num_rows), strict=False))
            numbers, options = numbered(batch.column("options"), options)
            parts.append(Part(end, batch.append_column(NUMBER, numbers)))
            sizes.append(_sizes(batch).to_numpy())
            end += batch.num_rows
    return held._replace(parts=_merged(parts), sizes=np.concatenate(sizes), options=options)


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


def _take_away(held: HeldSet, gone: pa.Table) -> None:
    """Remove the subscriptions of these rows from the trie.

    :raises ValueError: one of them is not there
    """
    names = list(_names(gone, held.dialect))
    filters = {behind_group(filter, held.dialect) for filter, _, _ in names}
    candidates = [(filter, found.subscriber) for filter in filters for found in held.rows.subscriptions(filter=filter)]
    numbers = extra("numpy").array([number for _, number in candidates], extra("numpy").int64)
    numbers.sort()
    by_name: dict[Any, int] = {}
    for rows, texts in _taken(held, numbers):
        by_name.update(zip(_names(texts, held.dialect), rows.tolist(), strict=True))
    try:
        held.rows.unsubscribe_many([(behind_group(name[0], held.dialect), by_name[name]) for name in names])
    except KeyError as missing:
        raise ValueError(f"the change feed takes away a subscription that is not there: {missing}") from None


def _names(rows: pa.Table | pa.RecordBatch, dialect: Dialect) -> Iterator[tuple[str, str, str | None]]:
    """The filter, subscriber and queue group of each row, which together name its subscription."""
    filters, subscribers = rows.column("filter").to_pylist(), rows.column("subscriber").to_pylist()
    return zip(filters, subscribers, _queues(rows, dialect), strict=True)


def _queues(rows: pa.Table | pa.RecordBatch, dialect: Dialect) -> list[str | None]:
    if not dialect.queue_groups:
        return [None] * rows.num_rows
    queues: list[str | None] = extra("pyarrow.compute").map_lookup(rows.column("options"), "queue", "first").to_pylist()
    return queues


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


def _taken(held: HeldSet, rows: Numbers) -> Iterator[tuple[Numbers, pa.RecordBatch]]:
    """The rows with these numbers, which ascend by part: for each part, the numbers in it and their rows."""
    pa = extra("pyarrow")
    for part, numbers in _by_part(held, rows):
        yield numbers, part.rows.take(pa.array(numbers - part.start))


def _by_part(held: HeldSet, rows: Numbers) -> Iterator[tuple[Part, Numbers]]:
    """The parts that have rows of these ascending numbers, with the numbers. A single part has all, in any order."""
    if len(held.parts) == 1:
        yield held.parts[0], rows
        return
    for part in held.parts:
        first, end = rows.searchsorted([part.start, part.start + part.rows.num_rows])
        if end > first:
            yield part, rows[first:end]


# The join -------------------------------------------------------------------------------------------------------------


class Job(NamedTuple):
    """What the workers are asked to do.

    :param topic: the number of the column that holds the topic
    :param key: the number of the column whose text chooses a member of each group; None joins all members
    :param keep: how many columns of the messages, from the first, go into the result
    :param names: the names of the result's columns
    :param mode: what happens to a bad topic, in Spark's words: FAILFAST, PERMISSIVE or DROPMALFORMED
    :param version: the value of a further column, or None for no such column
    :param options: what the numbers in a last column mean; empty for no such column. Where a row has a number, its
        ``options`` are null
    """

    topic: int
    key: int | None
    keep: int
    names: list[str]
    mode: str
    version: int | None = None
    options: tuple[OptionMap, ...] = ()


def join(batches: Iterable[pa.RecordBatch], job: Job, held: HeldSet) -> Iterator[pa.RecordBatch]:
    """The rows of the result for these messages."""
    matcher = _Matcher(held.rows, job.mode)
    for messages in batches:
        kept_columns = messages.select(list(range(job.keep)))
        matcher.bad = []
        for positions, rows in matcher.matches(_topics(messages.column(job.topic))):
            if job.key is not None:
                positions, rows = _one_of_each_group(positions, rows, messages.column(job.key), held)
            for some, numbers in _portions(kept_columns, held.sizes, positions, rows):
                yield from _joined(kept_columns, some, numbers, job, held)
        if matcher.bad and job.mode == "PERMISSIVE":
            yield _marked(kept_columns, matcher.bad, job)


def _joined(
    messages: pa.RecordBatch, positions: Numbers, rows: Numbers, job: Job, held: HeldSet
) -> Iterator[pa.RecordBatch]:
    pa, np = extra("pyarrow"), extra("numpy")
    if len(held.parts) > 1:
        order = np.argsort(rows, kind="stable")
        positions, rows = positions[order], rows[order]
    done = 0
    for part, numbers in _by_part(held, rows):
        some = positions[done : done + len(numbers)]
        done += len(numbers)
        *subscriptions, options = _subscriptions(part.rows, pa.array(numbers - part.start), job, held)
        columns = [*messages.take(pa.array(some)).columns, *subscriptions]
        yield from _batches(columns, len(some), None, options, job)


def _subscriptions(rows: pa.RecordBatch, places: pa.Array, job: Job, held: HeldSet) -> Iterator[pa.Array]:
    """The columns `JOINED` and the numbers of options, of the rows at these places."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    yield from rows.select(["filter", "subscriber"]).take(places).columns
    numbers = renumbered(held.options, job.options).take(rows.column(NUMBER).take(places))
    options = rows.column("options")
    if numbers.null_count == 0:
        yield pa.nulls(len(places), options.type)
    else:
        yield options.take(pc.if_else(numbers.is_null(), places, None))
    yield numbers


def _batches(
    columns: list[Any], rows: int, errors: list[str] | None, options: pa.Array, job: Job
) -> Iterator[pa.RecordBatch]:
    pa = extra("pyarrow")
    if job.mode == "PERMISSIVE":
        columns.append(pa.nulls(rows, pa.string()) if errors is None else pa.array(errors, pa.string()))
    if job.version is not None:
        columns.append(pa.repeat(pa.scalar(job.version, pa.int64()), rows))
    if job.options:
        columns.append(options)
    yield from pa.table(columns, names=job.names).to_batches(max_chunksize=BATCH_ROWS)


def _marked(messages: pa.RecordBatch, bad: list[tuple[int, str]], job: Job) -> pa.RecordBatch:
    """The messages whose topics are bad, each with its error."""
    pa = extra("pyarrow")
    positions, errors = [position for position, _ in bad], [error for _, error in bad]
    columns = [*messages.take(pa.array(positions)).columns, *(pa.nulls(len(bad), kind) for kind in _schema().types)]
    return next(_batches(columns, len(bad), errors, pa.nulls(len(bad), pa.int32()), job))


def _topics(column: pa.Array) -> list[Any]:
    """The topics. If one is not UTF-8, which Spark allows, it is given as bytes."""
    pa = extra("pyarrow")
    try:
        topics: list[Any] = column.to_numpy(zero_copy_only=False).tolist()  # ten times as fast as to_pylist()
    except (UnicodeDecodeError, pa.ArrowException):
        topics = [_text(value) for value in column.cast(pa.binary()).to_pylist()]
    return topics


def _text(value: bytes | None) -> str | bytes | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value


class _Matcher:
    """Matches topics, as many at a time as give about `BATCH_ROWS` matches, and keeps the errors of bad topics."""

    def __init__(self, rows: SubscriptionTrie, mode: str) -> None:
        self._rows = rows
        self._mode = mode
        self._step = FIRST_TOPICS
        self.bad: list[tuple[int, str]] = []

    def matches(self, topics: list[Any]) -> Iterator[tuple[Numbers, Numbers]]:
        """Pairs of arrays: the positions of messages, and the rows of the subscriptions that match them."""
        np = extra("numpy")
        start = 0
        while start < len(topics):
            some = topics[start : start + self._step]
            offsets, rows = (np.frombuffer(column, np.int64) for column in self._found(some, start))
            if len(rows):
                yield np.repeat(np.arange(start, start + len(some)), np.diff(offsets)), rows
            start += len(some)
            self._step = min(MOST_TOPICS, max(1, int(BATCH_ROWS * len(some) / max(1, len(rows)))))

    def _found(self, topics: list[Any], start: int) -> tuple[Any, Any]:
        """The place where the rows of each topic begin, and the rows."""
        try:
            return row_numbers(self._rows, topics)
        except (TopicError, TypeError):
            found = [self._one(topic, position) for position, topic in enumerate(topics, start)]
            return array("q", accumulate(map(len, found), initial=0)), array("q", chain.from_iterable(found))

    def _one(self, topic: Any, position: int) -> tuple[int, ...]:
        if topic is None:
            return ()
        try:
            return self._rows.match(_as_text(topic))
        except TopicError as error:
            if self._mode == "FAILFAST":
                raise
            self.bad.append((position, str(error)))
            return ()


def _as_text(topic: str | bytes) -> str:
    if isinstance(topic, str):
        return topic
    raise TopicError(topic.decode(errors="replace"), 0, "not UTF-8")


def _portions(
    messages: pa.RecordBatch, sizes: Numbers, positions: Numbers, rows: Numbers
) -> Iterator[tuple[Numbers, Numbers]]:
    """The matches in portions, halved until each can be joined within `PORTION_BYTES` or is a single match."""
    half = len(rows) // 2
    if half and _most_bytes(messages, sizes, positions, rows) > PORTION_BYTES:
        yield from _portions(messages, sizes, positions[:half], rows[:half])
        yield from _portions(messages, sizes, positions[half:], rows[half:])
    elif len(rows):
        yield positions, rows


def _most_bytes(messages: pa.RecordBatch, sizes: Numbers, positions: Numbers, rows: Numbers) -> int:
    """An upper bound of the memory that the joined rows take, whatever the types of the messages' columns.

    It assumes that every message has as many matches as the one with the most.
    """
    np = extra("numpy")
    first, last = int(positions[0]), int(positions[-1])
    most_matches = int(np.bincount(positions - first).max())
    of_messages: int = messages.slice(first, last - first + 1).nbytes * most_matches
    return of_messages + int(sizes[rows].sum())


# Groups ---------------------------------------------------------------------------------------------------------------


def _one_of_each_group(positions: Numbers, rows: Numbers, keys: pa.Array, held: HeldSet) -> tuple[Numbers, Numbers]:
    """All matches in no group, and one member of each group, which the key's checksum chooses."""
    np = extra("numpy")
    order = np.argsort(rows, kind="stable")
    members: dict[tuple[int, str], list[tuple[str, str, int]]] = {}
    chosen = []
    numbers = rows[order]
    for start, subscriptions in _starts(_taken(held, numbers)):
        for offset, (filter, subscriber, group) in enumerate(_grouped(subscriptions, held.dialect)):
            match = int(order[start + offset])
            if group is None:
                chosen.append(match)
            else:
                members.setdefault((int(positions[match]), group), []).append((subscriber, filter, match))
    texts = keys.to_pylist()
    for (position, group), found in members.items():
        found.sort(key=lambda member: (member[0].encode(), member[1].encode()))
        chosen.append(found[place_of(texts[position], group, len(found))][2])
    kept_matches = np.array(sorted(chosen), np.int64)
    return positions[kept_matches], rows[kept_matches]


def place_of(key: str | None, group: str, members: int) -> int:
    """The place of the member that gets a message, among ``members`` that are ordered by subscriber and filter.

    >>> place_of("message 7", "workers", 3)
    0
    """
    return zlib.crc32(f"{key or ''}\0{group}".encode()) % members


def _starts(taken: Iterator[tuple[Numbers, pa.RecordBatch]]) -> Iterator[tuple[int, pa.RecordBatch]]:
    start = 0
    for numbers, subscriptions in taken:
        yield start, subscriptions
        start += len(numbers)


def _grouped(rows: pa.RecordBatch, dialect: Dialect) -> Iterator[tuple[str, str, str | None]]:
    """Filter, subscriber and group of each row. An MQTT group belongs to its filter, so the filter names it."""
    prefix = None if dialect.share_prefix is None else dialect.share_prefix + dialect.separator
    for filter, subscriber, queue in _names(rows, dialect):
        yield filter, subscriber, filter if prefix is not None and filter.startswith(prefix) else queue
