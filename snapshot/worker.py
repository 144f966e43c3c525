"""The join of messages with a set, by a Python worker of Spark.

A match in the set (`snapshot.held_sets`) returns row numbers. Arrow alone then makes the joined rows from the columns
of the set and of the messages.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS
from snapshot.held_sets import NUMBER, HeldSet, by_part, joined_schema, names_of, taken
from snapshot.option_numbers import OptionMap, renumbered
from snapshot.published.errors import NotPublishedError
from subtrie import Dialect, SubscriptionTrie, TopicError
from subtrie.columns import row_numbers

if TYPE_CHECKING:
    import pyarrow as pa

    from snapshot.held_sets import Numbers, Spans

PORTION_BYTES = 64 * 1024 * 1024
"""How much memory the rows joined at a time take, at most; a single row may take more. A string column holds 2 GiB."""

FIRST_TOPICS, MOST_TOPICS = 256, 16_384
"""How many topics are matched at a time: the first number at the start, then as many as give about `BATCH_ROWS`
matches, up to the second."""


NEVER = -(2**63)
"""The time of a message that has none."""


class Job(NamedTuple):
    """What the workers are asked to do.

    Args:
        topic: the number of the column that holds the topic.
        key: the number of the column whose text chooses a member of each group; None joins all members.
        keep: how many columns of the messages, from the first, go into the result.
        names: the names of the result's columns.
        mode: what happens to a bad topic, in Spark's words: FAILFAST, PERMISSIVE or DROPMALFORMED.
        version: the value of a further column, or None for no such column.
        as_of: the number of the column that holds the time of a message; None for a set of one version.
        options: what the numbers in a last column mean; empty for no such column. Where a row has a number, its
            ``options`` are null.
    """

    topic: int
    key: int | None
    keep: int
    names: list[str]
    mode: str
    version: int | None = None
    as_of: int | None = None
    options: tuple[OptionMap, ...] = ()


def join(batches: Iterable[pa.RecordBatch], job: Job, held: HeldSet) -> Iterator[pa.RecordBatch]:
    """The rows of the result for these messages."""
    matcher = _Matcher(held.rows, job.mode)
    for messages in batches:
        kept_columns = messages.select(list(range(job.keep)))
        matcher.bad = []
        spans = None if job.as_of is None else held.spans
        times = None if spans is None or job.as_of is None else _times(messages.column(job.as_of), spans)
        for positions, rows in matcher.matches(_topics(messages.column(job.topic))):
            if spans is not None and times is not None:
                there = spans.hold(rows, times[positions])
                positions, rows = positions[there], rows[there]
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
    for part, numbers in by_part(held, rows):
        some, positions = np.split(positions, [len(numbers)])
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
    columns = [
        *messages.take(pa.array(positions)).columns,
        *(pa.nulls(len(bad), kind) for kind in joined_schema().types),
    ]
    return next(_batches(columns, len(bad), errors, pa.nulls(len(bad), pa.int32()), job))


def _times(column: pa.Array, spans: Spans) -> Numbers:
    """The times of messages, in microseconds; for null, one before all.

    Raises:
        NotPublishedError: one is before the oldest version.
    """
    pa, np = extra("pyarrow"), extra("numpy")
    times = column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).fill_null(NEVER).to_numpy()
    early = times[(times < spans.times[0]) & (times != NEVER)]
    if len(early):
        first, oldest = (np.datetime64(int(each), "us") for each in (early.min(), spans.times[0]))
        raise NotPublishedError(f"a message is of {first} (UTC), and the oldest version that is kept of {oldest}")
    return times  # type: ignore[no-any-return]


def _topics(column: pa.Array) -> list[Any]:
    """The topics. If one is not UTF-8, which Spark allows, all are given as bytes."""
    pa = extra("pyarrow")
    try:
        return column.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]  # ten times as fast as to_pylist()
    except (UnicodeDecodeError, pa.ArrowException):
        return column.cast(pa.binary()).to_pylist()  # type: ignore[no-any-return]


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
            text = topic.decode(errors="replace") if isinstance(topic, bytes) else topic
            if isinstance(topic, bytes) and text.encode() != topic:
                raise TopicError(text, 0, "not UTF-8")
            return self._rows.match(text)
        except TopicError as error:
            if self._mode == "FAILFAST":
                raise
            self.bad.append((position, str(error)))
            return ()


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
    subscriptions = chain.from_iterable(_grouped(texts, held.dialect) for _, texts in taken(held, rows[order]))
    for match, (filter, subscriber, group) in zip(order.tolist(), subscriptions, strict=True):
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


def _grouped(rows: pa.RecordBatch, dialect: Dialect) -> Iterator[tuple[str, str, str | None]]:
    """Filter, subscriber and group of each row. An MQTT group belongs to its filter, so the filter names it."""
    prefix = None if dialect.share_prefix is None else dialect.share_prefix + dialect.separator
    for filter, subscriber, queue in names_of(rows, dialect):
        yield filter, subscriber, filter if prefix is not None and filter.startswith(prefix) else queue
