"""Files of a published directory as the data source reads them: verified, and in the columns that Spark expects.

A feed is read by the task that needs it, and compared with its digest. A full instant is compared as a whole when a
query is planned; then tasks read parts of it, whose pages have checksums of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS, schema
from snapshot.published.contents import read_whole
from snapshot.published.manifest import DataFile
from snapshot.published.store import Files

if TYPE_CHECKING:
    import pyarrow as pa


@contextmanager
def parquet_file(store: Files, name: str) -> Iterator[Any]:
    """Open a Parquet file that was compared with its digest before."""
    with store.open(name) as opened:
        yield extra("pyarrow.parquet").ParquetFile(opened, page_checksum_verification=True)


def feed_file(store: Files, file: DataFile) -> Any:
    """A Parquet file that fits into memory, compared with its digest.

    :raises DamagedError: it has other bytes than were written
    """
    return extra("pyarrow.parquet").ParquetFile(read_whole(store, file))


def shaped(rows: pa.Table | pa.RecordBatch, names: list[str]) -> Iterator[pa.RecordBatch]:
    """The columns of these names. A column that a file of an earlier version lacks is null."""
    pa = extra("pyarrow")
    kinds = {field.name: field.type for field in schema()}
    has = set(rows.schema.names)
    columns = [
        rows.column(name) if name in has else pa.nulls(rows.num_rows, kinds.get(name, pa.string())) for name in names
    ]
    yield from pa.table(columns, names=names).to_batches(max_chunksize=BATCH_ROWS)
