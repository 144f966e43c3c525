"""Tries built from columns: those of an export, and those that other engines made from one.

The caller gets the trie when all rows are in, so no one sees it half-built. Every filter is validated, and every error
names the row, counted from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapshot._extras import extra
from snapshot.dialect_fields import KNOWN
from snapshot.file_metadata import FileMetadata
from snapshot.option_maps import TYPES, options_in
from snapshot.sparks import table_from
from snapshot.storing import JSON, QUEUE, subscriber_of, types_text
from snapshot.text_columns import as_text, distinct_in, expanded, pieces, require_sound, shared_strings_in, text_column
from subtrie import Dialect, SubscriptionTrie
from subtrie.columns import EXCLUSIONS, RowError, loaded
from subtrie.tagged import MARK, form_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

USED = ("filter", "subscriber", "options", TYPES, "group", "dialect")
"""The columns that a trie is built from."""

Columns = tuple[list[Any], list[Any], list[Any]]
"""Filters, subscribers and options, None for none."""


def from_arrow(data: Any, dialect: Dialect | None = None, *, exact: bool = False) -> SubscriptionTrie:
    """Build a subscription trie from columns.

    Args:
        data: a ``pyarrow`` table, record batch or reader of batches, or anything else that exports an Arrow stream,
            such as a Polars or DuckDB frame. It needs the columns ``filter`` and ``subscriber``, text without nulls. It
            may have ``options``, a map of text to text; ``types``, as in files of `snapshot.write`; ``group``, text;
            and ``dialect``, text. Other columns are ignored.
        dialect: the dialect. None: the one that the column ``dialect`` names, which is AMQP, MQTT or NATS.
        exact: as for `SubscriptionTrie`.

    Returns:
        A new, writable trie. All subscribers are strings. So are the options of rows without ``types``, except those to
        which the dialect gives another type.

    Raises:
        ImportError: pyarrow is not installed.
        TypeError: ``data`` is none of these.
        TopicError: the dialect refuses a filter; this error and the next name the row.
        ValueError: the buffers of the data contradict themselves; a column is missing or has another type; a null; a
            subscription that occurs twice; a row of another dialect, or in a group that its filter does not name.

    O(n). It takes memory for the trie and, meanwhile, for all filters and some 100 bytes a row besides the data.

    >>> import pyarrow
    >>> table = pyarrow.table({"filter": ["a.*", "b"], "subscriber": ["alice", "bob"]})
    >>> from subtrie import AMQP
    >>> sorted(from_arrow(table, AMQP).match("a.x"))
    ['alice']
    """
    building = None if dialect is None else Building(_of_texts(dialect), exact=exact)
    for batch in _reader(data):
        if len(batch):
            building = building or Building(_of_texts(_named_in(batch)), exact=exact)
            building.add(batch)
    if building is None:
        raise ValueError("no rows, so none names the dialect: give dialect=, such as dialect=AMQP")
    return building.finished()


def from_spark(frame: DataFrame, dialect: Dialect | None = None, *, exact: bool = False) -> SubscriptionTrie:
    """Build a subscription trie from the rows of a Spark data frame, with the columns of `from_arrow`.

    The driver collects the rows as Arrow and holds them once, besides the trie. If they do not fit, let Spark write
    Parquet, and `load` that. It raises what `from_arrow` raises.

    Raises:
        ImportError: pyarrow or pyspark is not installed.
    """
    extra("pyspark.sql")
    wanted = [name for name in USED if name in frame.columns]
    return from_arrow(table_from(frame.select(*wanted)), dialect, exact=exact)


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
    raise TypeError(
        f"the data must be an Arrow table, a reader of record batches or a stream, not {type(data).__name__}"
    )


def _named_in(batch: pa.RecordBatch) -> Dialect:
    """The dialect that the first row names."""
    if "dialect" not in batch.schema.names:
        raise ValueError("no column names the dialect: give dialect=, such as dialect=AMQP")
    require_sound(batch, ["dialect"])
    name = batch.column("dialect")[0].as_py()
    if name not in KNOWN:
        raise ValueError(f"row 0: {name!r} is not one of the dialects {', '.join(KNOWN)}: give dialect=")
    return KNOWN[name]


def _of_texts(dialect: Dialect) -> FileMetadata:
    """The meaning of texts that come without one: strings, except exclusions, and options to which the dialect gives
    another type."""
    typed = (name for name, allowed in dialect.options if not _is_text(allowed))
    return FileMetadata(dialect, False, 0, json_options=frozenset([EXCLUSIONS, *typed]), tags=False)


def _is_text(allowed: Any) -> bool:
    return allowed is str or (not isinstance(allowed, type) and isinstance(allowed[0], str))


class RowReader:
    """Makes filters, subscribers and options of the texts of one batch after another.

    Args:
        meaning: what the texts stand for.
        own: whether the rows come from a file that an export made: options are never null, and columns are sound.
    """

    def __init__(self, meaning: FileMetadata, *, own: bool) -> None:
        self._meaning = meaning
        self._types = types_text(dict.fromkeys(meaning.json_options or (), JSON))
        self._own = own

    def read(self, batch: pa.RecordBatch, first: int = 0) -> Columns:
        """The rows of a batch.

        Args:
            first: the number of the first row, for errors.

        Raises:
            ValueError: a column is missing or has another type, a null, or a text that stands for nothing.
        """
        filters = shared_strings_in(text_column(batch, "filter", first))
        subscribers, rows = distinct_in(text_column(batch, "subscriber", first))
        options: list[dict[str, Any] | None] = [None] * len(batch)
        if "options" in batch.schema.names:
            options = options_in(batch, first, self._types, own=self._own)
        has_tags = self._meaning.tags and any(text.startswith(MARK) for text in subscribers)
        plain = not (self._meaning.integer_subscribers or has_tags)
        known: list[Any] = subscribers if plain else self._subscribers(subscribers, rows, first)
        return filters, expanded(known, rows), options

    def named(self, batch: pa.RecordBatch) -> Columns:
        """What names the subscriptions of the rows of a batch: of the options, only the queue group. The types of
        others may have been different when they were written."""
        filters, subscribers, queues = self.read(batch.drop_columns(["options"]))
        if self._meaning.dialect.queue_groups:
            texts = extra("pyarrow.compute").map_lookup(batch.column("options"), QUEUE, "first").to_pylist()
            queues = [None if text is None else {QUEUE: subscriber_of(text, integers=False)} for text in texts]
        return filters, subscribers, queues

    def _subscribers(self, texts: list[str], rows: list[int], first: int) -> list[Any]:
        """The subscribers of the distinct texts of a column; ``rows`` holds the number of each row's text."""
        integers = self._meaning.integer_subscribers
        found: list[Any] = []
        for number, text in enumerate(texts):
            try:
                found.append(subscriber_of(text, integers=integers))
            except ValueError as error:
                raise RowError(first + rows.index(number), str(error)) from error
        return found


class Building:
    """A trie being built from batches of rows.

    Args:
        meaning: what their texts stand for.
        own: as for `RowReader`.
    """

    def __init__(self, meaning: FileMetadata, *, own: bool = False, exact: bool = False) -> None:
        self._dialect = meaning.dialect
        self._own = own
        self._reader = RowReader(meaning, own=own)
        self._exact = exact
        self._added: Columns = ([], [], [])

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows.

        Raises:
            ValueError: a column is missing or has another type, a null, another dialect, or a group that is not the
                filter's.
        """
        if not self._own:
            require_sound(batch, USED)
        for piece in pieces(batch):
            self._add(piece)

    def _add(self, batch: pa.RecordBatch) -> None:
        first = len(self._added[0])
        columns = self._reader.read(batch, first)
        self._check_dialect(batch, first)
        self._check_groups(batch, columns[0], columns[2], first)
        for column, values in zip(self._added, columns, strict=True):
            column.extend(values)

    def finished(self) -> SubscriptionTrie:
        """The trie.

        Raises:
            ValueError: any other fault that `from_arrow` names; a TopicError is one.
        """
        return loaded(self._dialect, *self._added, exact=self._exact)

    def _check_dialect(self, batch: pa.RecordBatch, first: int) -> None:
        if "dialect" not in batch.schema.names:
            return
        pc = extra("pyarrow.compute")
        names = as_text(batch.column("dialect"), "dialect")
        other = pc.index(pc.equal(names, self._dialect.name).fill_null(False), False).as_py()
        if other >= 0:
            name = names[other].as_py()
            raise RowError(first + other, f"it is of the dialect {name!r}, not {self._dialect.name!r}")

    def _check_groups(
        self, batch: pa.RecordBatch, filters: list[str], options: list[dict[str, Any] | None], first: int
    ) -> None:
        """Compare each group with the filter or the option ``queue``, which name it. A missing option is filled in."""
        column = batch.column("group") if "group" in batch.schema.names else None
        if column is None or column.null_count == len(batch):
            return
        for row, group in enumerate(as_text(column, "group").to_pylist()):
            if group is None:
                continue
            if self._dialect.queue_groups:
                held = options[row] or {}
                if "queue" not in held:
                    held = options[row] = {**held, "queue": group}
                named = held["queue"]
                if group.startswith(MARK) and group == MARK + form_of(named):
                    continue
            else:
                named = self._dialect.unshare(tuple(filters[row].split(self._dialect.separator)))[0]
            if named != group:
                raise RowError(first + row, f"it is in the group {group!r}, and its filter or options name {named!r}")
