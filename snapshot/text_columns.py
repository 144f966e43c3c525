"""Columns of text as Python strings, made all at once. `distinct_in` makes equal texts once.

A column may hold numbers of texts, and a long text can stand in many rows. So `pieces` cuts rows by what their texts
take when they are written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS, BATCH_TEXT
from subtrie.columns import RowError, strings

if TYPE_CHECKING:
    import pyarrow as pa

LONG = 256
"""How many bytes the texts of a column have on average, at least, if they are long."""


def text_column(batch: pa.RecordBatch, name: str, first: int = 0) -> pa.StringArray:
    """A column of text without nulls, of any of Arrow's types for text.

    Args:
        first: the number of the first row, for errors.

    Raises:
        ValueError: there is no such column, it has a null, or it does not hold text.
    """
    if name not in batch.schema.names:
        raise ValueError(f"there is no column {name!r}, only {batch.schema.names}")
    column = as_text(batch.column(name), name)
    if column.null_count:
        raise RowError(first + first_null(column), f"{name} is null")
    return column


def as_text(column: pa.Array, name: str) -> pa.StringArray:
    """The column as plain strings.

    Raises:
        ValueError: it does not hold text.
    """
    pa = extra("pyarrow")
    kind = _kind_of(column)
    if not _is_text(kind):
        raise ValueError(f"column {name!r} must hold text, not {column.type}")
    if pa.types.is_dictionary(column.type) and pa.types.is_string_view(kind):  # which Arrow does not write out
        column = pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.string()))
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _kind_of(column: pa.Array) -> pa.DataType:
    """The type of a column's values, which may be numbered ones."""
    kind = column.type
    return kind.value_type if extra("pyarrow").types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    types = extra("pyarrow").types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def require_sound(batch: pa.RecordBatch, names: Iterable[str]) -> None:
    """Require that columns are what Arrow says they are: data from elsewhere may point beyond its own buffers.

    Raises:
        ValueError: one is not.
    """
    # First the shape of all columns: if one cannot be an array, as a map with a null among its names, Arrow ends the
    # process once it is asked for that column.
    _require_valid(batch, "the data", full=False)
    for name in names:
        if name in batch.schema.names:
            _require_valid(batch.column(name), f"column {name!r}", full=True)


def _require_valid(data: pa.RecordBatch | pa.Array, what: str, *, full: bool) -> None:
    try:
        data.validate(full=full)
    except (extra("pyarrow").ArrowException, UnicodeDecodeError) as error:
        raise ValueError(f"{what} is damaged: {error}") from error


TEXTS = ("filter", "subscriber", "options", "types")
"""The columns whose texts are counted: any others are short."""


def text_in(rows: pa.RecordBatch) -> int:
    """How many bytes the filters, subscribers and options of rows have together, written out."""
    return sum(_length(texts) for name in TEXTS if name in rows.schema.names for texts in _texts_of(rows.column(name)))


def pieces(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows in pieces, each of at most `BATCH_ROWS` rows. A piece has at most `BATCH_TEXT` bytes of text, written
    out, or is one row.
    """
    for start in range(0, len(rows), BATCH_ROWS):
        yield from _halves(rows.slice(start, BATCH_ROWS))


def _halves(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if len(rows) == 1 or text_in(rows) <= BATCH_TEXT:
        yield rows
        return
    middle = len(rows) // 2
    yield from _halves(rows.slice(0, middle))
    yield from _halves(rows.slice(middle))


def _texts_of(column: pa.Array) -> list[pa.Array]:
    """The arrays of text in a column: of maps, those of their names and values."""
    types = extra("pyarrow").types
    found = [column]
    if len(column) and (types.is_map(column.type) or types.is_list(column.type) or types.is_large_list(column.type)):
        held = slice(column.offsets[0].as_py(), column.offsets[-1].as_py())
        pairs = column.values[held]
        found = pairs.flatten() if types.is_struct(pairs.type) else []
    return [texts for texts in found if _is_text(_kind_of(texts))]


def _length(texts: pa.Array) -> int:
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    if pa.types.is_dictionary(texts.type):
        lengths = _lengths(texts.dictionary).take(texts.indices.drop_null())
    else:
        lengths = _lengths(texts)
    return pc.sum(lengths).as_py() or 0


def _lengths(texts: pa.Array) -> pa.Int64Array:
    """How many bytes each text has. A null has none, or so many as a null of views says."""
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    if not pa.types.is_string_view(texts.type):
        return pc.fill_null(pc.binary_length(texts), 0).cast(pa.int64())
    views = memoryview(texts.buffers()[1] or b"").cast("B")[16 * texts.offset : 16 * (texts.offset + len(texts))]
    return pa.array(views.cast("i")[::4].tolist(), pa.int64())


def strings_in(texts: pa.StringArray) -> list[str]:
    """The texts of a column without nulls."""
    _, offsets, text = texts.buffers()
    if len(texts) == 0:
        return []
    ends = memoryview(offsets).cast("B")[4 * texts.offset : 4 * (texts.offset + len(texts) + 1)]
    return strings(ends, memoryview(b"" if text is None else text).cast("B"))


def shared_strings_in(texts: pa.StringArray) -> list[str]:
    """The same. Equal texts are one string, where texts are long: then each of them costs more than to compare it."""
    return strings_in(texts) if texts.nbytes <= LONG * len(texts) else expanded(*distinct_in(texts))


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
    return int(extra("pyarrow.compute").index(column.is_null(), True).as_py())
