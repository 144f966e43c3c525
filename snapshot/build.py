"""Tries built from columns: those of an export, and what other engines have made of them.

A trie is built where nobody sees it, and handed out when all rows are in; so nothing is half-built. Every filter is
validated, and every error names the row, counted from 0.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ctrie._bulk import collector_paused
from snapshot._extras import extra
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie
from subtrie.columns import RowError, build, strings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

USED = ("filter", "subscriber", "options", "group", "dialect")
"""The columns of which a trie is built."""

MOST_SHARED = 4096
"""Different options that subscriptions share. Most sets have few, and options of one's own take 200 bytes."""

KNOWN = {dialect.name: dialect for dialect in (AMQP, MQTT, NATS)}
"""The dialects that their names stand for."""


def from_arrow(data: Any, dialect: Dialect | None = None, *, exact: bool = False) -> SubscriptionTrie:
    """Build a subscription trie from columns.

    :param data: a ``pyarrow`` table, record batch or reader of batches, or anything that hands out an Arrow stream: a
        Polars or DuckDB frame, say. Columns ``filter`` and ``subscriber``, text without nulls; perhaps ``options``, a
        map of text to text; ``group``, text; ``dialect``, text. All others are left alone, those of an export too
    :param dialect: the dialect; without it, the one that the column ``dialect`` names, of AMQP, MQTT and NATS
    :param exact: as for `SubscriptionTrie`
    :returns: a new, writable trie; all subscribers are strings, and so are options, but for those that the dialect
        knows to be others
    :raises ImportError: pyarrow is not installed
    :raises TypeError: ``data`` is nothing of that kind
    :raises TopicError: a filter is not one of the dialect; the row is named, as in all that follow
    :raises ValueError: a column is missing or of another type; a null; a subscription that occurs twice; a row of
        another dialect, or in a group that its filter does not name

    O(n); memory for the trie and one batch.

    >>> import pyarrow
    >>> table = pyarrow.table({"filter": ["a.*", "b"], "subscriber": ["alice", "bob"]})
    >>> from subtrie import AMQP
    >>> sorted(from_arrow(table, AMQP).match("a.x"))
    ['alice']
    """
    building: Building | None = None
    for batch in _reader(data):
        if len(batch):
            building = building or Building(dialect or _named_in(batch), exact=exact)
            building.add(batch)
    if building is None:
        if dialect is None:
            raise ValueError("no rows, so none names the dialect: give dialect=, such as dialect=AMQP")
        building = Building(dialect, exact=exact)
    return building.finished()


def from_spark(frame: DataFrame, dialect: Dialect | None = None, *, exact: bool = False) -> SubscriptionTrie:
    """Build a subscription trie from the rows of a Spark data frame, with the columns of `from_arrow`.

    Its rows are collected by the driver, as Arrow, and held there once beside the trie. For a set that does not fit,
    let Spark write Parquet, and `load` that. Errors as `from_arrow`.

    :raises ImportError: pyarrow or pyspark is not installed
    """
    extra("pyspark.sql")
    wanted = [name for name in USED if name in frame.columns]
    return from_arrow(frame.select(*wanted).toArrow(), dialect, exact=exact)


def _reader(data: Any) -> Any:
    pa = extra("pyarrow")
    if isinstance(data, pa.RecordBatch):
        return [data]
    if isinstance(data, pa.Table):
        return data.to_batches()
    if isinstance(data, pa.RecordBatchReader):
        return data
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    raise TypeError(f"an Arrow table, reader of record batches, or stream is wanted, not {type(data).__name__}")


def _named_in(batch: pa.RecordBatch) -> Dialect:
    """The dialect that the first row names."""
    if "dialect" not in batch.schema.names:
        raise ValueError("no column names the dialect: give dialect=, such as dialect=AMQP")
    name = batch.column("dialect")[0].as_py()
    if name not in KNOWN:
        raise ValueError(f"row 0: {name!r} is none of the dialects {', '.join(KNOWN)}: give dialect=")
    return KNOWN[name]


class Meaning(NamedTuple):
    """What the texts of rows stand for.

    :param integer_subscribers: whether the subscribers are integers (else strings)
    :param json_options: names of the options whose texts are JSON (all others are strings)
    """

    integer_subscribers: bool = False
    json_options: frozenset[str] = frozenset()


def _meaning_of_texts(dialect: Dialect) -> Meaning:
    """What texts stand for of which nothing is said: strings, but for options of which the dialect knows better."""
    return Meaning(json_options=frozenset(name for name, allowed in dialect.options if not _is_text(allowed)))


def _is_text(allowed: Any) -> bool:
    return allowed is str or (not isinstance(allowed, type) and isinstance(allowed[0], str))


class Building:
    """A trie being built from batches of rows.

    :param meaning: what their texts stand for; by default, strings, and what the dialect knows not to be strings
    :param own: the rows are those of an export, in which options are never null
    """

    def __init__(
        self, dialect: Dialect, meaning: Meaning | None = None, *, own: bool = False, exact: bool = False
    ) -> None:
        self._dialect = dialect
        self._meaning = meaning or _meaning_of_texts(dialect)
        self._own = own
        self._bulk = build(dialect, exact=exact)
        self._shared: dict[tuple[str | None, ...], dict[str, Any]] = {}  # options by their names and texts

    @property
    def rows(self) -> int:
        """How many rows are in."""
        return int(self._bulk.rows)

    def add(self, batch: pa.RecordBatch) -> None:
        """Put rows in. Afterwards, as after all rows, the trie is what `finished` returns.

        :raises ValueError: of which TopicError is one; see `from_arrow`
        """
        with collector_paused():
            self._add(batch)

    def _add(self, batch: pa.RecordBatch) -> None:
        first = self.rows
        filters = strings_of(batch, "filter", first)
        subscribers: list[Any] = strings_of(batch, "subscriber", first)
        options = self._options(batch, first)
        self._check_dialect(batch, first)
        self._check_groups(batch, filters, options, first)
        if self._meaning.integer_subscribers:
            subscribers = _integers(subscribers, first)
        self._bulk.add(filters, subscribers, options)

    def finished(self) -> SubscriptionTrie:
        """The trie."""
        trie: SubscriptionTrie = self._bulk.finished()
        return trie

    def _options(self, batch: pa.RecordBatch, first: int) -> list[dict[str, Any] | None]:
        if "options" not in batch.schema.names:
            return [None] * len(batch)
        column = batch.column("options")
        if self._own and column.null_count:
            raise RowError(first + _first_null(column), "options are null")
        names, texts, ends = _pairs(column)
        if len(names) == 0:
            return [None] * len(batch)
        values = self._values(names, texts, ends, first)
        options: list[dict[str, Any] | None] = []
        shared = self._shared
        start = ends[0]
        for end in ends[1:]:
            key = (*names[start:end], *texts[start:end])
            held = shared.get(key)
            if held is None and end > start:
                held = dict(zip(names[start:end], values[start:end], strict=True))
                if len(held) < end - start:
                    raise RowError(first + len(options), f"an option occurs twice among {names[start:end]}")
                if len(shared) < MOST_SHARED:
                    shared[key] = held
            options.append(held)
            start = end
        return options

    def _values(self, names: list[str], texts: list[str | None], ends: list[int], first: int) -> list[Any]:
        """What the texts of options stand for."""
        read = self._meaning.json_options
        if not read or read.isdisjoint(names):
            return texts
        known: dict[str, Any] = {}  # what numbers and truths came before
        values: list[Any] = []
        for name, text in zip(names, texts, strict=True):
            if text is None or name not in read:
                values.append(text)
                continue
            value = known.get(text)
            if value is None:
                try:
                    value = json.loads(text)
                except (ValueError, RecursionError) as error:
                    row = sum(end <= len(values) for end in ends) - 1
                    raise RowError(first + row, f"option {name!r} is not JSON: {error}") from error
                if isinstance(value, int | float | str):
                    known[text] = value
            values.append(value)
        return values

    def _check_dialect(self, batch: pa.RecordBatch, first: int) -> None:
        if "dialect" not in batch.schema.names:
            return
        pc = extra("pyarrow.compute")
        other = pc.index(pc.equal(batch.column("dialect"), self._dialect.name).fill_null(False), False).as_py()
        if other >= 0:
            name = batch.column("dialect")[other].as_py()
            raise RowError(first + other, f"it is of the dialect {name!r}, not {self._dialect.name!r}")

    def _check_groups(
        self, batch: pa.RecordBatch, filters: list[str], options: list[dict[str, Any] | None], first: int
    ) -> None:
        """Compare groups with what names them: the filter, or the option ``queue``, filled in if it is missing."""
        column = batch.column("group") if "group" in batch.schema.names else None
        if column is None or column.null_count == len(batch):
            return
        for row, group in enumerate(column.to_pylist()):
            if group is None:
                continue
            if self._dialect.queue_groups:
                held = options[row] or {}
                if "queue" not in held:
                    held = options[row] = {**held, "queue": group}
                named = held["queue"]
            else:
                named = self._dialect.unshare(tuple(filters[row].split(self._dialect.separator)))[0]
            if named != group:
                raise RowError(first + row, f"it is in the group {group!r}, and its filter or options name {named!r}")


def strings_of(batch: pa.RecordBatch, name: str, first: int = 0) -> list[str]:
    """The texts of a column without nulls, of any type of text that Arrow has.

    :raises ValueError: there is no such column, or a null in it
    """
    if name not in batch.schema.names:
        raise ValueError(f"there is no column {name!r}, only {batch.schema.names}")
    column = batch.column(name)
    if column.null_count:
        raise RowError(first + _first_null(column), f"{name} is null")
    return _strings(_as_text(column, name))


def _as_text(column: pa.Array, name: str) -> pa.Array:
    pa = extra("pyarrow")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise ValueError(f"column {name!r} must hold text, not {column.type}")
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _strings(texts: pa.Array) -> list[str]:
    _, offsets, text = texts.buffers()
    if len(texts) == 0:
        return []
    ends = memoryview(offsets).cast("B")[4 * texts.offset : 4 * (texts.offset + len(texts) + 1)]
    return strings(ends, memoryview(b"" if text is None else text).cast("B"))


def _first_null(column: pa.Array) -> int:
    pc = extra("pyarrow.compute")
    return int(pc.index(column.is_null(), True).as_py())


def _pairs(column: pa.Array) -> tuple[list[str], list[str | None], list[int]]:
    """The names and values of all maps, one after another, and where each begins; a null is empty.

    :raises ValueError: the column holds no maps of text
    """
    pa = extra("pyarrow")
    kind = column.type
    if pa.types.is_map(kind):
        names, values = column.keys, column.items
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if not pa.types.is_struct(kind.value_type) or kind.value_type.num_fields != 2:
            raise ValueError(f"column 'options' must hold maps of text to text, not {kind}")
        names, values = column.values.field(0), column.values.field(1)
    else:
        raise ValueError(f"column 'options' must hold maps of text to text, not {kind}")
    if column.null_count:  # of which there may be something behind
        return _pairs_with_nulls(column)
    ends = column.offsets.to_pylist()
    texts: list[str | None] = list(_strings(_as_text(values, "options").fill_null("")))
    if values.null_count:
        texts = [text if there else None for text, there in zip(texts, values.is_valid().to_pylist(), strict=True)]
    return _strings(_as_text(names, "options")), texts, ends


def _pairs_with_nulls(column: pa.Array) -> tuple[list[str], list[str | None], list[int]]:
    names: list[str] = []
    texts: list[str | None] = []
    ends = [0]
    for pairs in column.to_pylist():
        for pair in pairs or ():
            name, text = pair.values() if isinstance(pair, dict) else pair
            names.append(name)
            texts.append(text)
        ends.append(len(names))
    return names, texts, ends


def _integers(texts: list[str], first: int) -> list[int]:
    try:
        return list(map(int, texts))
    except ValueError:
        for row, text in enumerate(texts):
            try:
                int(text)
            except ValueError as error:
                raise RowError(first + row, str(error)) from error
        raise
