"""The subscription set as a Parquet file that any Parquet reader understands, and a trie rebuilt from one.

The file holds the columns of `snapshot.columns`, its rows sorted by filter: all of them, or as many at a time as fit
into memory. So a reader that looks for a filter skips most of the file. Its metadata hold a `snapshot.file_metadata`,
and a `snapshot.digest` of that and the rows. The file is data only: loading executes nothing in it, and validates every
filter again. A file that another engine, such as Spark, made from it lacks the metadata, so it is loaded by its columns
alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, overload

from snapshot._extras import extra
from snapshot.build import USED, Building, from_arrow
from snapshot.columns import BATCH_ROWS, Cut, Row, batches_of, cut_of, in_batches, schema, set_batches, stored_schema
from snapshot.digest import OLD_PARTS, PARTS, Digest
from snapshot.file_metadata import FileMetadata
from snapshot.merging import MOST
from snapshot.older import current
from snapshot.paths import Location, Path, location_of, parquet_files, replaced_whole
from snapshot.storing import JSON, MOST_TYPES, Storing, types_text
from snapshot.text_columns import TEXTS, pieces, text_in
from snapshot.texts import Key, SubscriberKeys
from snapshot.topics import Limits, of_kind, topics_of
from subtrie import Dialect, SubscriptionTrie, TopicError, TopicStore
from subtrie.columns import INTEGER_TEXTS, INTEGERS, STRINGS
from subtrie.tagged import MARK, rebuilds

if TYPE_CHECKING:
    import pyarrow as pa

METADATA_KEY = b"ctrie.subscriptions"
DIGEST_KEY = b"ctrie.digest"

MOST_SORTED = 16
"""How many batches of rows are sorted together: a million rows. Some 210 MB were seen to be needed for that."""


def write(source: SubscriptionTrie | TopicStore[Any], path: Path, *, key: Key | None = None) -> None:
    """Write all subscriptions of one instant into the Parquet file ``path``.

    The file appears, or replaces an earlier one, only when it is complete. Until then it has another name, which begins
    with a dot. A process that is killed leaves only that file behind.

    Args:
        source: a subscription trie, or a snapshot of one; or a `TopicStore` (`snapshot.topics`).
        path: where to write: a path, or a URI of any file system that pyarrow knows (``s3://bucket/key``).
            Spark reads it with ``spark.read.parquet(path)``.
        key: turns a subscriber into a string; the subscribers of the trie that `load` returns are these strings.

    Raises:
        ImportError: pyarrow is not installed.
        IsADirectoryError: the path is a folder.
        OSError: the file cannot be written.
        TypeError: ``source`` is not a subscription trie, or a subscriber or an option has no form from which it could
            be rebuilt (see `snapshot.storing`).
        ValueError: two subscribers have the same key, or pyarrow does not know the file system.

    O(n log n) time. It takes memory for a million rows, since they are sorted, and, with a ``key``, for one entry for
    each distinct subscriber. The linearization point is that of `to_arrow`.
    """
    write_set(cut_of(source), path, key)


def write_set(
    cut: Cut,
    path: Path,
    key: Key | None = None,
    rows: Callable[[Storing], Iterable[Row]] | None = None,
    integers: bool | None = None,
    *,
    tags: bool = True,
) -> tuple[int, bool | None]:
    """Write all subscriptions. Return how many there are, and whether subscribers are integers: None if there are none.

    Args:
        rows: what makes rows of the subscriptions if they cannot be written without Python objects; None: `_rows_of`.
        integers: the type that subscribers have already.
        tags: whether there may be tagged texts.
    """
    try:
        count, found = _write_plain(cut, path, key)
        if found is None or integers in (None, found):
            return count, integers if found is None else found
    except (TypeError, ValueError):  # or they come again
        pass
    except Exception as error:
        if rows is None or not tags or isinstance(error, OSError | MemoryError):
            raise  # otherwise it is of a value or a key function, and `rows` sets the subscription aside
    storing = Storing(integers, tags=tags)
    given = _rows_of(cut, storing, key) if rows is None else rows(storing)
    batches = (with_types(batch, [row[3] for row in some]) for some, batch in batches_of(given, cut))
    return _written(path, cut, batches, lambda rows: storing.integers)


def _write_plain(cut: Cut, path: Path, key: Key | None) -> tuple[int, bool | None]:
    """Write all subscriptions without making Python objects of their texts.

    Raises:
        TypeError: the type of a column does not express a value, which a tagged text might.
        ValueError: the same; or two subscribers have the same key.
    """
    keys = _Faithful(key)

    def integers(rows: int) -> bool | None:
        kinds = STRINGS if keys.is_given and rows else keys.kinds & ~INTEGER_TEXTS
        if kinds not in (0, STRINGS, INTEGERS):
            raise ValueError("subscribers of several types")
        return kinds == INTEGERS if kinds else None

    return _written(path, cut, (_typed(batch, keys) for batch in set_batches(cut, keys)), integers)


class _Faithful(SubscriberKeys):
    """Refuses the values of options that cannot be rebuilt from their texts."""

    def option(self, name: str, value: object) -> str | None:
        if isinstance(value, str) or not rebuilds(value):
            raise ValueError(f"the option {name!r} needs a tagged text")
        return super().option(name, value)


def _typed(batch: pa.RecordBatch, keys: SubscriberKeys) -> pa.RecordBatch:
    """The batch with the types of all options so far.

    Raises:
        ValueError: an option is a string in one row and not in another; or there are too many; or a text would be taken
            for a tagged one.
    """
    pc = extra("pyarrow.compute")
    kinds = {name: kinds & ~INTEGER_TEXTS for name, kinds in keys.option_kinds.items()}
    text = types_text({name: JSON for name, kind in kinds.items() if not kind & STRINGS})
    if len(text) > MOST_TYPES or any(kind & STRINGS and kind != STRINGS for kind in kinds.values()):
        raise ValueError("options whose types differ")
    if any(pc.any(pc.starts_with(batch.column(name), MARK)).as_py() for name in ("subscriber", "group")):
        raise ValueError(f"a subscriber or a queue group begins with {MARK!r}")
    return with_types(batch, [text] * len(batch))


def with_types(batch: pa.RecordBatch, types: list[str]) -> pa.RecordBatch:
    """The rows with the types of their options."""
    pa = extra("pyarrow")
    return pa.record_batch([*batch.columns, pa.array(types, pa.string())], schema=stored_schema())


def _rows_of(cut: Cut, storing: Storing, key: Key | None) -> Iterator[Row]:
    """All subscriptions as a `Storing` turns them into texts."""
    given = None if key is None else SubscriberKeys(key).subscriber
    for some in in_batches(cut.subscriptions()):
        storing.decide(some)
        for held in some:
            try:
                subscriber = held.subscriber if given is None else given(held.subscriber)
                yield held.filter, storing.subscriber(subscriber), *storing.options(held.options)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{error}, in {held!r}") from error


def _written(
    path: Path, cut: Cut, batches: Iterable[pa.RecordBatch], integers: Callable[[int], bool | None]
) -> tuple[int, bool | None]:
    """Write rows, sorted, into a file, which appears at the end if there was no error. Return as `write_set` does.

    Args:
        integers: tells, after the last row, whether subscribers are integers; it gets the number of rows.
    """
    with (
        replaced_whole(location_of(path)) as stream,
        extra("pyarrow.parquet").ParquetWriter(
            stream, stored_schema(), compression="zstd", write_page_checksum=True
        ) as writer,
    ):
        digest, rows = Digest(), 0
        for batch in _sorted(batches):
            rows += len(batch)
            digest.note(batch)
            writer.write_batch(batch)
        found = integers(rows)
        text = FileMetadata(cut.trie.dialect, found is True, rows, cut.limits).to_json().encode()
        writer.add_key_value_metadata({METADATA_KEY: text, DIGEST_KEY: digest.text(text)})
    return rows, found


def _sorted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows sorted by filter, as many at a time as `MOST_SORTED` batches and `MOST` bytes of text have."""
    some: list[pa.RecordBatch] = []
    text = 0
    for batch in batches:
        more = text_in(batch)
        if some and (len(some) == MOST_SORTED or text + more > MOST):
            yield from _in_order(some)
            some, text = [], 0
        some.append(batch)
        text += more
    yield from _in_order(some)


def _in_order(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = extra("pyarrow").Table.from_batches(batches, stored_schema()).combine_chunks()
    batches.clear()  # whose memory the rows in order need
    order = extra("pyarrow.compute").sort_indices(rows.column("filter"))
    for first in range(0, len(rows), BATCH_ROWS):
        for batch in rows.take(order[first : first + BATCH_ROWS]).to_batches():
            yield from pieces(batch)


@overload
def load(
    path: Path, *, dialect: Dialect | None = None, kind: type[SubscriptionTrie] | None = None
) -> SubscriptionTrie: ...


@overload
def load(path: Path, *, dialect: Dialect | None = None, kind: type[TopicStore[Any]]) -> TopicStore[Any]: ...


def load(
    path: Path, *, dialect: Dialect | None = None, kind: type[SubscriptionTrie | TopicStore[Any]] | None = None
) -> SubscriptionTrie | TopicStore[Any]:
    """Rebuild a subscription trie from a file that `write` made, or that another engine made from one.

    Args:
        path: the file, or a folder of Parquet files such as Spark writes; a path or a URI.
        dialect: the dialect, for files without the metadata of `write`. None: the one in the metadata, or else the one
            that the column ``dialect`` names.
        kind: `TopicStore` or `SubscriptionTrie`, if you know what was written; anything else is refused then. None:
            whichever it is; type checkers take it for a trie.

    Returns:
        A new, writable trie with the same dialect, filters, subscribers and options. If the file was written with a
        ``key``, the subscribers are the keys. Without the metadata, all subscribers and options are strings. Of a file
        with a topic store, the store, with the limits that it had.

    Raises:
        ImportError: pyarrow is not installed.
        OSError: the file cannot be read.
        ValueError: the file is damaged, has another version, or holds no subscriptions; the error names the row.
        TopicError: the dialect refuses a filter in the file.

    O(n) time; memory for the trie, and meanwhile for all filters and some 100 bytes a row.
    """
    trie, limits = load_set(path, dialect=dialect)
    return of_kind(kind, topics_of(trie, limits, is_mirror=False), os.fspath(path))  # type: ignore[no-any-return]


def load_set(path: Path, *, dialect: Dialect | None = None) -> tuple[SubscriptionTrie, Limits | None]:
    """The same, as a trie also if the rows are those of a topic store, and that store's limits."""
    location = location_of(path)
    with _naming(location):
        paths = parquet_files(location)
        if len(paths) == 1:
            with _opened(location, paths[0]) as file:
                if not {METADATA_KEY, DIGEST_KEY}.isdisjoint(file.metadata.metadata or {}):
                    return _loaded(file, dialect)
                _refuse_hidden_metadata(location, paths[0], file)
        return from_arrow(_stream(location, paths), dialect), None


def load_opened(content: Any, name: str) -> tuple[SubscriptionTrie, Limits | None]:
    """The same, of an opened file of `write`."""
    with _naming(Location(None, name, name)), _parquet(content) as file:
        return _loaded(file, None)


def _loaded(file: Any, dialect: Dialect | None) -> tuple[SubscriptionTrie, Limits | None]:
    """The trie of a file with the metadata of `write`, and the limits of the topic store that it mirrors."""
    text, digest_text = _metadata(file)
    metadata = FileMetadata.from_json(text)
    digest = Digest(PARTS if metadata.json_options is None else OLD_PARTS)
    if dialect is not None and dialect != metadata.dialect:
        raise ValueError(f"its dialect is {metadata.dialect.name}, not the {dialect.name} that was given")
    building = Building(metadata, own=True)
    for batch in _batches(file):
        for piece in pieces(batch):
            plain = piece.cast(extra("pyarrow").schema([stored_schema().field(name) for name in piece.schema.names]))
            digest.note(plain)
            building.add(current(plain, metadata.json_options, tags=metadata.tags))
    trie = building.finished()  # its errors, which name rows, come first
    if digest.text(text) != digest_text:
        raise ValueError("other subscriptions than were written")
    return trie, metadata.limits


def _metadata(file: Any) -> tuple[bytes, bytes]:
    """The texts of the metadata and of the digest."""
    metadata = file.metadata.metadata or {}
    names = stored_schema().names
    known = extra("pyarrow").schema([field for field in file.schema.to_arrow_schema() if field.name in names])
    if METADATA_KEY not in metadata or not (known.equals(stored_schema()) or known.equals(schema())):
        raise ValueError("other columns, or no metadata")
    return metadata[METADATA_KEY], metadata.get(DIGEST_KEY, b"")


def _refuse_hidden_metadata(location: Location, path: str, file: Any) -> None:
    """Refuse a file whose metadata are hidden by damage: it would be read as one without, and all values as texts.

    One changed bit in the footer's structure can hide them. It leaves the bytes of at least one of the keys intact.
    """
    footer, ending = file.metadata.serialized_size, 8  # a length and a mark end a Parquet file
    with location.files.open_input_file(path) as content:
        content.seek(content.size() - ending - footer)
        text = content.read(footer)
    if METADATA_KEY in text or DIGEST_KEY in text:
        raise ValueError("its metadata cannot be found where it was written")


@contextmanager
def _opened(location: Location, path: str) -> Iterator[Any]:
    with location.files.open_input_file(path) as content, _parquet(content) as file:
        yield file


def _parquet(content: Any) -> Any:
    pq = extra("pyarrow.parquet")
    metadata = pq.read_metadata(content)
    options = {"page_checksum_verification": True, "metadata": metadata, "read_dictionary": _texts_of(metadata)}
    return pq.ParquetFile(content, pre_buffer=False, **options)


def _texts_of(metadata: Any) -> list[str]:
    """The paths of the columns of text, which are read as numbers of texts: a short file can stand for long ones."""
    columns = (metadata.schema.column(place) for place in range(len(metadata.schema)))
    return [
        each.path for each in columns if each.physical_type == "BYTE_ARRAY" and each.path.partition(".")[0] in TEXTS
    ]


def _batches(file: Any) -> Iterator[Any]:
    """The rows in batches. A batch never spans two written ones, since memory may have room for only one of them."""
    there = [name for name in USED if name in file.schema_arrow.names]
    for group in range(file.num_row_groups):
        yield from file.iter_batches(BATCH_ROWS, row_groups=[group], columns=there, use_threads=False)


def _stream(location: Location, paths: list[str]) -> Any:
    """A reader of the rows of several files, with the columns of the first."""
    pa = extra("pyarrow")
    with _opened(location, paths[0]) as file:
        first = file.schema_arrow
    there = [first.field(name) for name in USED if name in first.names]
    return pa.RecordBatchReader.from_batches(pa.schema(there), _rows(location, paths))


def _rows(location: Location, paths: list[str]) -> Iterator[Any]:
    for path in paths:
        with _opened(location, path) as file:
            yield from _batches(file)


@contextmanager
def _naming(location: Location) -> Iterator[None]:
    """Turn pyarrow's errors about a file that it cannot read, which have many classes, into a ValueError."""
    try:
        yield
    except TopicError:
        raise
    except (ValueError, OSError, extra("pyarrow").ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not pyarrow's
            raise
        raise ValueError(
            f"{location.name} is not a subscription set written by snapshot.write, "
            f"or not by this version of it, or is damaged: {error}"
        ) from error
