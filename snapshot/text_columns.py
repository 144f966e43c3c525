"""Columns of text as Python strings, made all at once. `distinct_in` makes equal texts once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapshot._extras import extra
from subtrie.columns import RowError, strings

if TYPE_CHECKING:
    import pyarrow as pa


def text_column(batch: pa.RecordBatch, name: str, first: int = 0) -> pa.StringArray:
    """A column of text without nulls, of any of Arrow's types for text.

    :param first: the number of the first row, for errors
    :raises ValueError: there is no such column, it has a null, or it does not hold text
    """
    if name not in batch.schema.names:
        raise ValueError(f"there is no column {name!r}, only {batch.schema.names}")
    column = batch.column(name)
    if column.null_count:
        raise RowError(first + first_null(column), f"{name} is null")
    return as_text(column, name)


def as_text(column: pa.Array, name: str) -> pa.StringArray:
    """The column as plain strings.

    :raises ValueError: it does not hold text
    """
    pa = extra("pyarrow")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise ValueError(f"column {name!r} must hold text, not {column.type}")
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def strings_in(texts: pa.StringArray) -> list[str]:
    """The texts of a column without nulls."""
    _, offsets, text = texts.buffers()
    if len(texts) == 0:
        return []
    ends = memoryview(offsets).cast("B")[4 * texts.offset : 4 * (texts.offset + len(texts) + 1)]
    return strings(ends, memoryview(b"" if text is None else text).cast("B"))


def integers_in(numbers: pa.Int32Array) -> memoryview:
    """The numbers of a column without nulls."""
    content = memoryview(numbers.buffers()[1]).cast("B")
    return content[4 * numbers.offset : 4 * (numbers.offset + len(numbers))].cast("i")


def distinct_in(texts: pa.StringArray) -> tuple[list[str], list[int]]:
    """The different texts of a column without nulls, and for each row the number of its text."""
    encoded = texts.dictionary_encode()
    numbers: list[int] = integers_in(encoded.indices).tolist()
    return strings_in(encoded.dictionary), numbers


def expanded(values: list[Any], numbers: list[int]) -> list[Any]:
    """The value at each of these numbers."""
    return list(map(values.__getitem__, numbers))


def first_null(column: pa.Array) -> int:
    """The place of the first null."""
    pc = extra("pyarrow.compute")
    return int(pc.index(column.is_null(), True).as_py())
