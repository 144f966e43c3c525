"""Files of a published directory as the data source reads them: opened, and in the columns that Spark expects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS, schema
from snapshot.published.store import Files

if TYPE_CHECKING:
    import pyarrow as pa


@contextmanager
def parquet_file(store: Files, name: str) -> Iterator[Any]:
    """Open a Parquet file."""
    with store.open(name) as opened:
        yield extra("pyarrow.parquet").ParquetFile(opened, page_checksum_verification=True)


def shaped(rows: pa.Table | pa.RecordBatch, names: list[str]) -> Iterator[pa.RecordBatch]:
    """The columns of these names. A column that a file of an earlier version lacks is null."""
    pa = extra("pyarrow")
    kinds = {field.name: field.type for field in schema()}
    has = set(rows.schema.names)
    columns = [
        rows.column(name) if name in has else pa.nulls(rows.num_rows, kinds.get(name, pa.string())) for name in names
    ]
    yield from pa.table(columns, names=names).to_batches(max_chunksize=BATCH_ROWS)
