"""The data source ``subscriptions``: the changes between versions of a published directory, for Spark and its SQL.

Executors read the Parquet files themselves, several at a time, as Arrow batches; no row goes through the driver.
`snapshot.register` registers it with a session; a set is read by `snapshot.read`. The options have Delta's names:

========================= ========================================== ===================================================
option                    value                                      meaning
========================= ========================================== ===================================================
``path``                  the published directory                    also the argument of ``load``
``storage``               an object of JSON                          what an object store's client needs to know
``readChangeFeed``        ``true``                                   rows are changes, with the columns of
                                                                     `snapshot.published.feed`; needed
``startingVersion``       1 or more                                  the first version whose changes are read; a batch
                                                                     needs it
``endingVersion``         1 or more                                  the last such version; for a batch, the newest by
                                                                     default; a stream then reads no later one
``maxVersionsPerTrigger`` 1 or more                                  at most so many versions go into one batch of a
                                                                     stream, from Spark 4.2 on
========================= ========================================== ===================================================

Any other option or value is refused (`snapshot.source.options`). A stream without ``startingVersion`` begins with the
whole set of the newest version, or of ``endingVersion`` if that is earlier, as inserts.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from snapshot.published.feed import feed_schema
from snapshot.source.changes import Changes, Stream
from snapshot.source.options import NAME, Options
from snapshot.sparks import struct_of


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
        columns: StructType = struct_of(feed_schema())
        return columns

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        return Changes(self._asked(schema).require(stream=False), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream."""
        return Stream(self._asked(schema).require(stream=True), schema)

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
        known = {field.name: field.dataType for field in self.schema()}
        for field in schema.fields:
            if known.get(field.name) != field.dataType:
                columns = ", ".join(f"{name} {kind.simpleString()}" for name, kind in known.items())
                raise ValueError(f"{NAME} has no column {field.name} {field.dataType.simpleString()}, but {columns}")
        return self._options


def _read_only() -> Exception:
    return NotImplementedError(
        "subscriptions are read by Spark and not written, since a directory has one publisher, which numbers its "
        "versions. To write rows, make a trie of them with snapshot.from_spark(df) and publish it with "
        "snapshot.Publisher(trie, path), or write a plain format, such as df.write.parquet(path)"
    )
