"""The data source ``subscriptions``: the content of a published directory, for Spark and its SQL.

Executors read the Parquet files themselves, several at a time, as Arrow batches; no row goes through the driver.
`snapshot.register` registers it with a session. The options have Delta's names:

================================ ====================================================================================
``path``                         the published directory; also the argument of ``load``
``versionAsOf``                  a version's number
``timestampAsOf``                a time in ISO's format, with a zone
``readChangeFeed``               ``true``: rows are changes, with the columns of `snapshot.published.feed`
``startingVersion``              for changes: the first version whose changes are read
``endingVersion``                for changes, but not for a stream: the last such version; the newest by default
``maxVersionsPerTrigger``        for a stream: at most so many versions go into one batch
================================ ====================================================================================

A stream always consists of changes, and needs ``readChangeFeed``. Without ``startingVersion`` it begins with the whole
set of the newest version, as inserts.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS, schema
from snapshot.published import Directory, Version, open_directory
from snapshot.published.store import Files

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

CHANGE_COLUMNS = "_change_type string, _commit_version bigint, _commit_timestamp timestamp"
KNOWN = ("versionAsOf", "timestampAsOf", "readChangeFeed", "startingVersion", "endingVersion", "maxVersionsPerTrigger")
"""Names of the options besides the path. Spark ignores their case."""

PARTITION_ROWS = 250_000
"""About how many rows of a full instant one task reads."""

NOT_PUSHED = ("words", "options", "snapshot_id", "taken_at")
"""Columns by which files are not filtered. Arrow cannot compare the first two; the others may be those of another
version in the files."""

MOST_PARTITIONS = 64
NOTHING_YET = -1
"""The offset of a stream that has read nothing."""


class Subscriptions(DataSource):
    """The data source, without filters pushed down."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = _Options(options)

    @classmethod
    def name(cls) -> str:
        """The name for ``format`` and ``USING``."""
        return "subscriptions"

    def schema(self) -> str:
        """The columns of `snapshot.columns`, and those of a change."""
        return f"{_ddl()}, {CHANGE_COLUMNS}" if self._options.changes else _ddl()

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        return _Changes(self._options, schema) if self._options.changes else _Instant(self._options, schema.names)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream."""
        if not self._options.changes:
            raise ValueError('a stream of subscriptions is one of changes: option("readChangeFeed", "true")')
        return _Stream(self._options, schema)


class FilteredSubscriptions(Subscriptions):
    """The data source for sessions with ``spark.sql.python.filterPushdown.enabled``; other sessions refuse it."""

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch, which reads only the rows that the query needs."""
        return super().reader(schema) if self._options.changes else _FilteredInstant(self._options, schema.names)


class _Options:
    """The options, checked."""

    def __init__(self, given: MutableMapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        unknown = sorted(self._given.keys() - {"path", *map(str.lower, KNOWN)})
        if unknown:
            raise ValueError(f"subscriptions has no option {unknown[0]!r}; it has path, {', '.join(KNOWN)}")
        if not self._text("path"):
            raise ValueError("subscriptions needs the path of a published directory: load(path)")
        self.path = self._given["path"]
        self.changes = self._flag("readChangeFeed")
        self.start = self._number("startingVersion")
        self.end = self._number("endingVersion")
        self.most = self._number("maxVersionsPerTrigger")
        self.at: int | datetime.datetime | None = self._number("versionAsOf")
        time = self._time("timestampAsOf")
        if time is not None:
            if self.at is not None:
                raise ValueError("versionAsOf and timestampAsOf exclude each other")
            self.at = time

    def directory(self) -> Directory:
        return open_directory(self.path)

    def _text(self, name: str) -> str | None:
        return self._given.get(name.lower())

    def _flag(self, name: str) -> bool:
        text = self._text(name) or "false"
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{name} must be true or false, not {text!r}")
        return text.lower() == "true"

    def _number(self, name: str) -> int | None:
        text = self._text(name)
        try:
            return None if text is None else int(text)
        except ValueError:
            raise ValueError(f"{name} must be the number of a version, not {text!r}") from None

    def _time(self, name: str) -> datetime.datetime | None:
        text = self._text(name)
        try:
            return None if text is None else datetime.datetime.fromisoformat(text)
        except ValueError:
            example = "2026-11-24T12:00:00Z"
            raise ValueError(f"{name} must be a time in ISO's format, such as {example}, not {text!r}") from None


def _ddl() -> str:
    """The columns of an exported set as Spark writes them."""
    names = {"list<item: string>": "array<string>", "map<string, string>": "map<string,string>", "int32": "int"}
    names |= {"list<element: string>": "array<string>", "int64": "bigint", "bool": "boolean"}
    kinds = ((field.name, str(field.type)) for field in schema())
    return ", ".join(
        f"`{name}` {'timestamp' if kind.startswith('timestamp') else names.get(kind, kind)}" for name, kind in kinds
    )


# An instant -----------------------------------------------------------------------------------------------------------


class _Rows(InputPartition):
    """Row groups of a full instant, without the rows that the feeds remove; or the rows that the feeds add."""

    def __init__(self, version: Version, full: str | None, groups: list[int], feeds: list[str]) -> None:
        super().__init__(None)
        self.snapshot_id, self.taken_at = version.snapshot_id, version.time.isoformat()
        self.queues = version.dialect.queue_groups
        self.full, self.groups, self.feeds = full, groups, feeds

    def stamped(self, rows: pa.Table | pa.RecordBatch) -> pa.Table | pa.RecordBatch:
        """The rows with the version's name and time. Its files may have those of earlier versions."""
        if not self.feeds:
            return rows
        pa = extra("pyarrow")
        taken_at = pa.scalar(datetime.datetime.fromisoformat(self.taken_at), pa.timestamp("us", tz="UTC"))
        for name, value in (("snapshot_id", self.snapshot_id), ("taken_at", taken_at)):
            rows = rows.set_column(rows.schema.get_field_index(name), name, pa.repeat(value, rows.num_rows))
        return rows


class _Instant(DataSourceReader):
    def __init__(self, options: _Options, names: list[str], at: int | None = None) -> None:
        self._options = options
        self._names = names
        self._at = options.at if at is None else at
        self._wanted: list[tuple[str, str, Any]] = []

    def partitions(self) -> Sequence[InputPartition]:
        directory = self._options.directory()
        version = directory.version_at(self._at)
        full, later = directory.parts(version)
        assert full.full is not None
        name = full.full.path
        feeds = [each.feed.path for each in later if each.feed is not None]
        groups = _groups_of(directory.store, name)
        parts: list[InputPartition] = [_Rows(version, name, some, feeds) for some in groups]
        return [*parts, _Rows(version, None, [], feeds)] if feeds else parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Rows)
        ds, store = extra("pyarrow.dataset"), self._options.directory().store
        changed = [_parquet(store, name).read() for name in partition.feeds]
        if partition.full is None:
            rows = _brought(changed, partition.queues, _expression(self._wanted))
            yield from _shaped(partition.stamped(rows), self._names)
            return
        gone = _changed_names(changed, partition.queues)
        fragment = ds.ParquetFileFormat().make_fragment(store.open(partition.full), row_groups=partition.groups or None)
        for batch in fragment.to_batches(filter=_expression(self._wanted), batch_size=BATCH_ROWS):
            kept = batch if gone is None else batch.filter(_not_in(_row_names(batch, partition.queues), gone))
            yield from _shaped(partition.stamped(kept), self._names)


class _FilteredInstant(_Instant):
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take the filters that Parquet's statistics help with; Spark applies all of them again."""
        for filter in filters:
            operator = _OPERATORS.get(type(filter))
            attribute = getattr(filter, "attribute", None)
            if operator is not None and attribute is not None and len(attribute) == 1:
                name = attribute[0]
                if name in schema().names and name not in NOT_PUSHED:
                    self._wanted.append((name, operator, getattr(filter, "value", None)))
            yield filter


_OPERATORS: dict[type[Filter], str] = {
    EqualTo: "=",
    In: "in",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    StringStartsWith: "starts",
}


def _expression(wanted: list[tuple[str, str, Any]]) -> Any:
    pc = extra("pyarrow.compute")
    found = None
    for name, operator, value in wanted:
        field = pc.field(name)
        one = {
            "=": lambda f, v: f == v,
            "in": lambda f, v: f.isin(list(v)),
            "<": lambda f, v: f < v,
            "<=": lambda f, v: f <= v,
            ">": lambda f, v: f > v,
            ">=": lambda f, v: f >= v,
            "starts": lambda f, v: pc.starts_with(f, v),
        }[operator](field, value)
        found = one if found is None else found & one
    return found


def _groups_of(store: Files, name: str) -> list[list[int]]:
    """The row groups of a file, in one list for each task that is to read it."""
    metadata = _parquet(store, name).metadata
    groups: list[list[int]] = []
    rows = PARTITION_ROWS
    for number in range(metadata.num_row_groups):
        if rows >= PARTITION_ROWS:
            groups.append([])
            rows = 0
        groups[-1].append(number)
        rows += metadata.row_group(number).num_rows
    return groups


def _parquet(store: Files, name: str) -> Any:
    return extra("pyarrow.parquet").ParquetFile(store.open(name), page_checksum_verification=True)


def _row_names(rows: pa.Table | pa.RecordBatch, queues: bool) -> Any:
    """One text for each row, which names its subscription: filter, subscriber and, in a dialect with queues, queue."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    filters, subscribers = rows.column("filter"), rows.column("subscriber")
    texts = [pc.binary_length(filters).cast(pa.string()), filters]
    if queues:
        queue = pc.fill_null(pc.map_lookup(rows.column("options"), "queue", "first"), "")
        texts += [pc.binary_length(queue).cast(pa.string()), queue]
    return pc.binary_join_element_wise(*texts, subscribers, ":")


def _changed_names(changed: list[pa.Table], queues: bool) -> Any:
    pa = extra("pyarrow")
    if not changed:
        return None
    return pa.concat_arrays([chunk for table in changed for chunk in _row_names(table, queues).chunks])


def _not_in(names: Any, gone: Any) -> Any:
    pc = extra("pyarrow.compute")
    return pc.invert(pc.is_in(names, value_set=gone))


def _brought(changed: list[pa.Table], queues: bool, expression: Any) -> pa.Table:
    """The rows of the feeds that exist after all feeds: the last row of each name, unless it is a delete."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    last: dict[str, tuple[int, int]] = {}
    for number, table in enumerate(changed):
        kinds = table.column("_change_type").to_pylist()
        names = _row_names(table, queues).to_pylist()
        for kinds_now in (("delete",), ("insert", "update_postimage")):  # deletes come first
            for row, (name, kind) in enumerate(zip(names, kinds, strict=True)):
                if kind in kinds_now:
                    last[name] = (number, row)
    tables = []
    for number, table in enumerate(changed):
        rows = sorted(row for at, row in last.values() if at == number)
        kept = table.take(pa.array(rows, pa.int64()))
        kept = kept.filter(pc.not_equal(kept.column("_change_type"), "delete"))
        tables.append(kept if expression is None else kept.filter(expression))
    return pa.concat_tables(tables)


def _as_inserts(rows: pa.RecordBatch, version: int, time: str) -> pa.Table:
    """Rows of a full instant with the columns of changes."""
    pa = extra("pyarrow")
    stamp = pa.scalar(datetime.datetime.fromisoformat(time), pa.timestamp("us", tz="UTC"))
    return (
        pa.Table.from_batches([rows])
        .append_column("_change_type", pa.repeat("insert", len(rows)))
        .append_column("_commit_version", pa.repeat(pa.scalar(version, pa.int64()), len(rows)))
        .append_column("_commit_timestamp", pa.repeat(stamp, len(rows)))
    )


def _shaped(rows: pa.Table | pa.RecordBatch, names: list[str]) -> Iterator[pa.RecordBatch]:
    """The columns of these names. A column that a file of an earlier version lacks is null."""
    pa = extra("pyarrow")
    kinds = {field.name: field.type for field in schema()}
    has = set(rows.schema.names)
    columns = [
        rows.column(name) if name in has else pa.nulls(rows.num_rows, kinds.get(name, pa.string())) for name in names
    ]
    yield from pa.table(columns, names=names).to_batches(max_chunksize=BATCH_ROWS)


# Changes --------------------------------------------------------------------------------------------------------------


class _Files(InputPartition):
    """Feeds, or full instants, whose rows count as inserts of their version."""

    def __init__(self, files: list[tuple[str, int, str, bool]]) -> None:
        super().__init__(None)
        self.files = files


class _ChangeReader:
    def __init__(self, options: _Options, schema: StructType) -> None:
        self._options = options
        self._names = list(schema.names)

    def _between(self, after: int, until: int) -> list[InputPartition]:
        """Partitions of the changes from one version to another."""
        directory = self._options.directory()
        versions: list[Version] = []
        for number in range(after + 1, until + 1):
            version = directory.get(number)
            if version is not None and version.kind == "claim":
                continue
            if version is None or (version.feed is None and version.base != number):
                directory.version_at(number)  # raises an error that says which versions are kept
                raise AssertionError(f"version {number} appeared while it was looked for")
            versions.append(version)
        files = [_file(version) for version in versions]
        if not files:
            return [_Files([])]  # for no partitions, Spark calls the reader without one
        size = max(1, -(-len(files) // MOST_PARTITIONS))
        return [_Files(files[first : first + size]) for first in range(0, len(files), size)]

    def _read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Files)
        store = self._options.directory().store
        for name, version, time, is_feed in partition.files:
            for batch in _parquet(store, name).iter_batches(batch_size=BATCH_ROWS):
                yield from _shaped(batch if is_feed else _as_inserts(batch, version, time), self._names)


def _file(version: Version) -> tuple[str, int, str, bool]:
    file = version.feed or version.full
    assert file is not None
    return file.path, version.version, version.time.isoformat(), version.feed is not None


class _Changes(_ChangeReader, DataSourceReader):
    def partitions(self) -> Sequence[InputPartition]:
        if self._options.start is None:
            raise ValueError("readChangeFeed needs startingVersion, the first version whose changes are read")
        start, end = self._options.start, self._options.end
        if end is not None and start > end:
            raise ValueError(f"startingVersion {start} comes after endingVersion {end}")
        directory = self._options.directory()
        directory.version_at(end)  # raises an error if there is none
        if end is None:
            newest = directory.newest()
            assert newest is not None
            end = newest.version  # perhaps a claim
        if start > end + 1:
            directory.version_at(start)  # raises an error that says which versions are kept
        return self._between(start - 1, end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._read(partition)


class _Stream(_ChangeReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Without `SupportsTriggerAvailableNow`, ``availableNow`` with a limit would stop after the first batch."""

    def __init__(self, options: _Options, schema: StructType) -> None:
        super().__init__(options, schema)
        self._target: int | None = None

    def initialOffset(self) -> dict[str, int]:
        start = self._options.start
        return {"version": NOTHING_YET if start is None else start - 1}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self._options.most is None else ReadMaxFiles(self._options.most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._newest()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        newest = self._newest() if self._target is None else self._target
        if start["version"] != NOTHING_YET and isinstance(limit, ReadMaxFiles):
            newest = min(newest, start["version"] + limit.max_files)
        return {"version": max(start["version"], newest)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        if start["version"] != NOTHING_YET:
            return self._between(start["version"], end["version"])
        version = self._options.directory().version_at(end["version"])
        instant = _Instant(self._options, schema().names, at=version.version)
        return [_Whole(rows, version) for rows in instant.partitions()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, _Whole):
            return self._read_whole(partition)
        return self._read(partition)

    def _newest(self) -> int:
        return self._options.directory().version_at(None).version

    def _read_whole(self, partition: _Whole) -> Iterator[pa.RecordBatch]:
        """A part of a whole set, as inserts."""
        instant = _Instant(self._options, schema().names)
        for batch in instant.read(partition.rows):
            yield from _shaped(_as_inserts(batch, partition.version, partition.time), self._names)


class _Whole(InputPartition):
    """Rows of the whole set that a stream begins with."""

    def __init__(self, rows: InputPartition, version: Version) -> None:
        super().__init__(None)
        self.rows, self.version, self.time = rows, version.version, version.time.isoformat()
