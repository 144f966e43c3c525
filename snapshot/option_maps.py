"""Options read back from a column of maps of text to text, and one of their types (`snapshot.storing`).

A set usually has few different maps. So the rows are first compared as columns, by a short text for each. Then each
different map becomes Python objects once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from snapshot._extras import extra
from snapshot.storing import options_of
from snapshot.text_columns import as_text, expanded, first_null, integers_in
from subtrie.columns import RowError

if TYPE_CHECKING:
    import pyarrow as pa

TYPES = "types"
"""The column of types."""

Pairs = tuple[tuple[str, ...], tuple[str | None, ...]]
"""The names and the texts of a row's options."""


def options_in(batch: pa.RecordBatch, first: int, types: str, *, own: bool = False) -> list[dict[str, Any] | None]:
    """The options of each row, None for no options. Rows with equal options share one dictionary.

    Args:
        batch: has the column ``options``, and perhaps that of their types.
        first: the number of the first row, for errors.
        types: the types of options in rows that do not say them.
        own: whether the rows come from an export, in which options are never null.

    Raises:
        ValueError: the column does not hold maps of text. Or, naming the row: a forbidden null, an option without a
            name or twice in a row, or a text that is not JSON.
    """
    column = batch.column("options")
    if own and column.null_count:
        raise RowError(first + first_null(column), "options are null")
    given = batch.column(TYPES) if TYPES in batch.schema.names else None
    has_types = given is not None and given.null_count < len(batch)
    maps = maps_of(column, as_text(given, TYPES) if has_types else None, first)
    held: list[dict[str, Any] | None] = []
    for number in range(len(maps.texts)):
        try:
            said = maps.types_of(number)
            held.append(options_of(*maps.pairs(number), types if said is None else said) or None)
        except ValueError as error:
            raise RowError(first + maps.numbers.index(number), str(error)) from error
    return expanded(held, maps.numbers)


class Maps(NamedTuple):
    """The different maps of a column, told apart by their types, too, if there is a column of types.

    Args:
        numbers: the number of each row's map: the same for the same options in the same order.
        texts: a text for each number: for each option, the numbers of its name and its value, which a null lacks;
            and that of the types, which a null lacks.
        names: the names, by number.
        values: the values, by number.
        types: the types, by number.
    """

    numbers: list[int]
    texts: list[str]
    names: list[str]
    values: list[str]
    types: list[str]

    def pairs(self, number: int) -> Pairs:
        """The options of a map."""
        text = self.texts[number].partition(";")[0]
        pairs = [pair.split(":") for pair in text.split(",")] if text else []
        names = tuple(self.names[int(name)] for name, _ in pairs)
        return names, tuple(self.values[int(value)] if value else None for _, value in pairs)

    def types_of(self, number: int) -> str | None:
        """The types of its options."""
        text = self.texts[number].partition(";")[2]
        return self.types[int(text)] if text else None


def maps_of(column: pa.Array, types: pa.StringArray | None = None, first: int = 0) -> Maps:
    """The different maps of a column. A null has no options.

    Args:
        types: the types of the options of each row.
        first: the number of the first row, for errors.

    Raises:
        ValueError: the column does not hold maps of text, or an option has no name.
    """
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    text = pa.large_string()
    names, values, offsets = _parts_of(column)
    numbers = names.indices.cast(text), pc.fill_null(values.indices.cast(text), "")
    pairs = pc.binary_join_element_wise(*numbers, pa.scalar(":", text))  # null without a name, as is the row then
    texts = pc.binary_join(pa.LargeListArray.from_arrays(offsets, pairs), pa.scalar(",", text))
    texts = pc.if_else(column.is_valid(), texts, "")  # Arrow may hold pairs even for a null
    if texts.null_count:
        raise RowError(first + first_null(texts), "an option has no name")
    kinds = (pa.nulls(len(column), pa.string()) if types is None else types).dictionary_encode()
    rows = pc.binary_join_element_wise(
        texts, pc.fill_null(kinds.indices.cast(text), ""), pa.scalar(";", text)
    ).dictionary_encode()
    different = (each.to_pylist() for each in (rows.dictionary, names.dictionary, values.dictionary, kinds.dictionary))
    return Maps(integers_in(rows.indices).tolist(), *different)


def _parts_of(column: pa.Array) -> tuple[pa.DictionaryArray, pa.DictionaryArray, pa.Int64Array]:
    """The names and values of all maps, one after another, and where those of each row begin and end.

    Raises:
        ValueError: the column does not hold maps of text.
    """
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    kind = column.type
    if pa.types.is_map(kind):
        names, values = column.keys, column.items
    elif (
        (pa.types.is_list(kind) or pa.types.is_large_list(kind))
        and pa.types.is_struct(kind.value_type)
        and kind.value_type.num_fields == 2
    ):
        names, values = column.values.flatten()
    else:
        raise ValueError(f"column 'options' must hold maps of text to text, not {kind}")
    offsets = column.offsets.cast(pa.int64())
    held = slice(offsets[0].as_py(), offsets[-1].as_py())
    names, values = (as_text(part[held], "options").dictionary_encode() for part in (names, values))
    return names, values, pc.subtract(offsets, offsets[0])
