"""The data source ``subscriptions``: the content of a published directory, for Spark and its SQL.

Executors read the Parquet files themselves, several at a time, as Arrow batches; no row goes through the driver.
`snapshot.register` registers it with a session. The options have Delta's names:

========================= ============================================= ==================================
option                    value                                         honoured by
========================= ============================================= ==================================
``path``                  the published directory; also the argument of all readers
                          ``load``
``storage``               what an object store's client needs to know,  all readers
                          as an object of JSON: its region, keys ...
``readChangeFeed``        ``true``: rows are changes, with the columns  all readers
                          of `snapshot.published.feed`
``versionAsOf``           a version's number, 1 or more                 the set of one version
``timestampAsOf``         a time in ISO's format, with a zone           the set of one version
``startingVersion``       the first version whose changes are read,     the changes between versions, which
                          1 or more                                     need it, and a stream
``endingVersion``         the last such version; for changes, the       the changes between versions, and a
                          newest by default                             stream, which then reads no later one
``maxVersionsPerTrigger`` at most so many versions go into one batch,   a stream, from Spark 4.2 on
                          1 or more
========================= ============================================= ==================================

Any other option, value or reader is refused (`snapshot.source.options`). A stream always consists of changes, and needs
``readChangeFeed``. Without ``startingVersion`` it begins with the whole set of the newest version, or of
``endingVersion`` if that is earlier, as inserts.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from snapshot.columns import schema
from snapshot.source.changes import Changes, Stream
from snapshot.source.instants import Instant
from snapshot.source.options import NAME, Options, Reader

CHANGE_COLUMNS = {
    "_change_type": StringType(),
    "_commit_version": LongType(),
    "_commit_timestamp": TimestampType(),
}


class Subscriptions(DataSource):
    """The data source."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = Options(options)

    @classmethod
    def name(cls) -> str:
        """The name for ``format`` and ``USING``."""
        return NAME

    def schema(self) -> StructType:
        """The columns of `snapshot.columns`, and those of a change."""
        return StructType([StructField(name, kind) for name, kind in _columns(self._options.changes).items()])

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        options = self._asked(schema)
        options.require(Reader.CHANGES if options.changes else Reader.INSTANT)
        return Changes(options, schema) if options.changes else Instant(options, schema.names)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream."""
        return Stream(self._asked(schema).require(Reader.STREAM), schema)

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        """Refuse to write."""
        raise _read_only()

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:
        """Refuse to write."""
        raise _read_only()

    def _asked(self, schema: StructType) -> Options:
        """The options of a query for these columns.

        Raises:
            ValueError: the columns are not those of this source.
        """
        known = _columns(self._options.changes)
        for field in schema.fields:
            if known.get(field.name) != field.dataType:
                columns = ", ".join(f"{name} {kind.simpleString()}" for name, kind in known.items())
                raise ValueError(f"{NAME} has no column {field.name} {field.dataType.simpleString()}, but {columns}")
        return self._options


def _columns(changes: bool) -> dict[str, DataType]:
    """The columns of an exported set, or of changes."""
    text = StringType()
    kinds: dict[str, DataType] = {
        "words": ArrayType(text),
        "depth": IntegerType(),
        "wildcards": IntegerType(),
        "options": MapType(text, text),
        "taken_at": TimestampType(),
    }
    columns = {name: kinds.get(name, text) for name in schema().names}
    return columns | CHANGE_COLUMNS if changes else columns


def _read_only() -> Exception:
    return NotImplementedError(
        "subscriptions are read by Spark and not written, since a directory has one publisher, which numbers its "
        "versions. To write rows, make a trie of them with snapshot.from_spark(df) and publish it with "
        "snapshot.Publisher(trie, path), or write a plain format, such as df.write.parquet(path)"
    )
