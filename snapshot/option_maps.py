"""Options read back from a column of maps of text to text.

A set usually has few different maps. So the rows are first compared as columns, by numbers for their names and values.
Then each different map becomes Python objects once.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from snapshot._extras import extra
from snapshot.storing import options_of
from snapshot.text_columns import as_text, first_null, integers_in, strings_in
from subtrie.columns import RowError

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SHARED = 4096
"""How many different maps batches share. Most sets have few; a row with a map of its own takes 200 bytes more."""

MOST_COMPARED = 16
"""A row with at most so many options is compared with others. A row with more gets a map of its own."""

Options = dict[str, Any]


class OptionReader:
    """Reads the options of one batch after another.

    Args:
        json_options: names of the options whose texts are JSON; all other values are strings.
        own: whether the rows come from an export, in which options are never null.
        tags: whether there may be tagged texts (`snapshot.storing`).
    """

    def __init__(self, json_options: frozenset[str], *, own: bool = False, tags: bool = False) -> None:
        self._json_options = json_options
        self._own = own
        self._tags = tags
        self._shared: dict[tuple[str | None, ...], Options] = {}  # by names and texts

    def read(self, column: pa.Array, first: int) -> list[Options | None]:
        """The options of each row, None for no options. Rows with equal options may share one dictionary.

        Args:
            first: the number of the first row, for errors.

        Raises:
            ValueError: the column does not hold maps of text. Or, naming the row: a forbidden null, an option without a
                name or twice in a row, or a text that is not JSON.
        """
        if self._own and column.null_count:
            raise RowError(first + first_null(column), "options are null")
        pairs = _pairs_of(column)
        if len(pairs.names) == 0:
            return [None] * len(column)
        maps = _Maps(pairs)
        if pairs.names.null_count:
            raise RowError(first + maps.row_of(first_null(pairs.names)), "an option has no name")
        kinds = maps.kinds()
        held = {kind: self._of_row(maps, row, first) for kind, row in _first_rows(kinds).items()}
        return list(map(held.__getitem__, kinds))

    def _of_row(self, maps: _Maps, row: int, first: int) -> Options | None:
        names, texts = maps.row(row)
        if not names:
            return None
        key = (*names, *texts)
        held = self._shared.get(key)
        if held is None:
            try:
                held = options_of(names, texts, self._json_options, tags=self._tags)
            except ValueError as error:
                raise RowError(first + row, str(error)) from error
            if len(self._shared) < MOST_SHARED:
                self._shared[key] = held
        return held


def maps_of(column: pa.Array, most: int) -> tuple[list[int], list[tuple[list[str], list[str | None]]]]:
    """A number for each row, the same for the same options in the same order; and the names and texts of the options
    that the first ``most`` numbers mean. Every option has a name.
    """
    maps = _Maps(_pairs_of(column))
    kinds = maps.kinds()
    first_rows = _first_rows(kinds)
    numbers = dict(zip(first_rows, range(len(first_rows)), strict=True))
    return list(map(numbers.__getitem__, kinds)), [maps.row(row) for row in islice(first_rows.values(), most)]


def _first_rows(kinds: list[int]) -> dict[int, int]:
    """The first row of each kind, in the order of the rows."""
    first_rows = dict(zip(reversed(kinds), range(len(kinds) - 1, -1, -1), strict=True))
    return dict(sorted(first_rows.items(), key=_by_row))


def _by_row(kind: tuple[int, int]) -> int:
    return kind[1]


class _Pairs(NamedTuple):
    """The names and values of all maps, one after another; where each row's pairs start, and how many it has."""

    names: pa.Array
    values: pa.Array
    starts: pa.Array
    lengths: pa.Array


def _pairs_of(column: pa.Array) -> _Pairs:
    """The pairs of the maps. A null has none.

    Raises:
        ValueError: the column does not hold maps of text.
    """
    pa, pc = extra("pyarrow"), extra("pyarrow.compute")
    kind = column.type
    if pa.types.is_map(kind):
        names, values = column.keys, column.items
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if not pa.types.is_struct(kind.value_type) or kind.value_type.num_fields != 2:
            raise ValueError(f"column 'options' must hold maps of text to text, not {kind}")
        names, values = column.values.flatten()
    else:
        raise ValueError(f"column 'options' must hold maps of text to text, not {kind}")
    offsets = column.offsets.cast(pa.int64())
    start, end = offsets[0].as_py(), offsets[-1].as_py()
    lengths = pc.subtract(offsets[1:], offsets[:-1])
    if column.null_count:  # Arrow may hold pairs even for a null
        lengths = pc.if_else(column.is_valid(), lengths, 0)
    starts = pc.subtract(offsets[:-1], start)
    return _Pairs(as_text(names[start:end], "options"), as_text(values[start:end], "options"), starts, lengths)


class _Maps:
    """The maps of a batch, with numbers for their names and values."""

    def __init__(self, pairs: _Pairs) -> None:
        self._pairs = pairs
        self._names = pairs.names.dictionary_encode()
        self._values = pairs.values.dictionary_encode()  # nulls stay nulls, without a number
        self._name_texts = strings_in(self._names.dictionary)
        self._value_texts: list[str | None] = [*strings_in(self._values.dictionary), None]
        no_value = len(self._value_texts) - 1
        self._value_numbers = self._values.indices.fill_null(no_value)
        self._name_at = integers_in(self._names.indices)
        self._value_at = integers_in(self._value_numbers)

    def kinds(self) -> list[int]:
        """A number for each row: the same for the same names and values in the same order."""
        pa, pc = extra("pyarrow"), extra("pyarrow.compute")
        starts, lengths = self._pairs.starts, self._pairs.lengths
        names = self._names.indices.cast(pa.int64())
        pairs = pc.add(pc.multiply(names, len(self._value_texts)), self._value_numbers)
        pairs = pairs.dictionary_encode()
        different, numbers = len(pairs.dictionary), pairs.indices.cast(pa.int64())
        rows = pa.array(range(1, len(lengths) + 1), pa.int64())
        kinds = pc.if_else(pc.greater(lengths, MOST_COMPARED), rows, 0)
        for place in range(min(MOST_COMPARED, pc.max(lengths).as_py() or 0)):
            at = pc.if_else(pc.greater(lengths, place), pc.add(starts, place), None)
            here = pc.fill_null(numbers.take(at), different)
            kinds = pc.add(pc.multiply(kinds, different + 1), here).dictionary_encode().indices.cast(pa.int64())
        return integers_in(kinds.cast(pa.int32())).tolist()

    def row(self, row: int) -> tuple[list[str], list[str | None]]:
        """The names and the texts of a row's options."""
        start, length = self._pairs.starts[row].as_py(), self._pairs.lengths[row].as_py()
        names = [self._name_texts[number] for number in self._name_at[start : start + length]]
        return names, [self._value_texts[number] for number in self._value_at[start : start + length]]

    def row_of(self, pair: int) -> int:
        """The row that has this pair."""
        pc = extra("pyarrow.compute")
        ends = pc.add(self._pairs.starts, self._pairs.lengths)
        return int(pc.index(pc.greater(ends, pair), True).as_py())
