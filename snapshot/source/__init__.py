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

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

from snapshot.columns import schema
from snapshot.source.changes import Changes, Stream
from snapshot.source.instants import FilteredInstant, Instant
from snapshot.source.options import Options

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

CHANGE_COLUMNS = "_change_type string, _commit_version bigint, _commit_timestamp timestamp"


class Subscriptions(DataSource):
    """The data source, without filters pushed down."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = Options(options)

    @classmethod
    def name(cls) -> str:
        """The name for ``format`` and ``USING``."""
        return "subscriptions"

    def schema(self) -> str:
        """The columns of `snapshot.columns`, and those of a change."""
        return f"{_ddl()}, {CHANGE_COLUMNS}" if self._options.changes else _ddl()

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        return Changes(self._options, schema) if self._options.changes else Instant(self._options, schema.names)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream."""
        if not self._options.changes:
            raise ValueError('a stream of subscriptions is one of changes: option("readChangeFeed", "true")')
        return Stream(self._options, schema)


class FilteredSubscriptions(Subscriptions):
    """The data source for sessions with ``spark.sql.python.filterPushdown.enabled``; other sessions refuse it."""

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch, which reads only the rows that the query needs."""
        return super().reader(schema) if self._options.changes else FilteredInstant(self._options, schema.names)


def _ddl() -> str:
    """The columns of an exported set as Spark writes them."""
    names = {"list<item: string>": "array<string>", "map<string, string>": "map<string,string>", "int32": "int"}
    names |= {"list<element: string>": "array<string>", "int64": "bigint", "bool": "boolean"}
    kinds = ((field.name, str(field.type)) for field in schema())
    return ", ".join(
        f"`{name}` {'timestamp' if kind.startswith('timestamp') else names.get(kind, kind)}" for name, kind in kinds
    )
