"""The subscription set as a Parquet file that any Parquet reader understands, and a trie rebuilt from one.

The file holds the columns of `snapshot.columns` and no others, and in its metadata a `snapshot.file_metadata` and a
`snapshot.digest` of that and the rows. It holds data only: nothing in it is executed, and every filter is validated
again when it is loaded. What another engine has made of it, Spark say, has lost the metadata, and is loaded by its
columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ctrie._bulk import collector_paused
from snapshot._extras import extra
from snapshot.build import USED, Building, Meaning, from_arrow
from snapshot.columns import BATCH_ROWS, schema, set_batches
from snapshot.cut import cut_of
from snapshot.digest import Digest
from snapshot.file_metadata import FileMetadata, metadata_of
from snapshot.paths import Path, Place, parquet_files, place_of, replaced_whole
from snapshot.texts import Key, SubscriberKeys
from subtrie import Dialect, SubscriptionTrie, TopicError

METADATA_KEY = b"ctrie.subscriptions"
DIGEST_KEY = b"ctrie.digest"


def write(source: SubscriptionTrie, path: Path, *, key: Key | None = None) -> None:
    """Write all subscriptions of one instant into the Parquet file ``path``.

    The file appears, or replaces the one before it, only when it is complete: until then it has another name, which
    begins with a dot. A process that is killed leaves that behind, and nothing else.

    :param source: a subscription trie, or a snapshot of one
    :param path: where to write, a path or a URI of any file system that pyarrow or fsspec knows (``s3://bucket/key``);
        Spark reads it with ``spark.read.parquet(path)``
    :param key: turns a subscriber into a string; `load` then gives the strings back
    :raises ImportError: pyarrow is not installed
    :raises IsADirectoryError: the path is a folder
    :raises OSError: the file cannot be written
    :raises TypeError: ``source`` is no subscription trie, or a subscriber or an option could not be rebuilt from
        its text
    :raises ValueError: two subscribers have the same key, or nobody knows the file system

    O(n) time; memory for one batch of 65,536 rows, and one entry a distinct subscriber if there is a ``key``.
    Linearizes where `to_arrow` does.
    """
    pq = extra("pyarrow.parquet")
    cut, keys, digest = cut_of(source), SubscriberKeys(key), Digest()
    rows = 0
    with (
        replaced_whole(place_of(path)) as stream,
        pq.ParquetWriter(stream, schema(), compression="zstd", write_page_checksum=True) as writer,
    ):
        for batch in set_batches(cut, keys):
            rows += len(batch)
            digest.note(batch)
            writer.write_batch(batch)
        metadata = metadata_of(cut, keys, rows).to_json().encode()
        writer.add_key_value_metadata({METADATA_KEY: metadata, DIGEST_KEY: digest.text(metadata)})


def load(path: Path, *, dialect: Dialect | None = None) -> SubscriptionTrie:
    """Rebuild a subscription trie from a file that `write` made, or from what another engine has made of it.

    :param path: the file, or a folder of Parquet files such as Spark writes; a path or a URI
    :param dialect: the dialect, for files without the metadata of `write`; else that of `write` is taken, or the one
        that the column ``dialect`` names
    :returns: a new, writable trie with the same dialect, filters, subscribers and options; where the file was
        written with a ``key``, the subscribers are the keys. Without the metadata, all subscribers and options are
        strings
    :raises ImportError: pyarrow is not installed
    :raises OSError: the file cannot be read
    :raises ValueError: the file is damaged, or of another version, or holds no subscriptions; the row is named
    :raises TopicError: a filter in the file is not one of its dialect

    O(n) time; memory for the trie and one batch of rows. Python's collector of cycles rests meanwhile, in all threads.
    """
    place = place_of(path)
    with _naming(place), collector_paused():
        paths = parquet_files(place)
        if len(paths) == 1:
            with _opened(place, paths[0]) as file:
                if not {METADATA_KEY, DIGEST_KEY}.isdisjoint(file.metadata.metadata or {}):
                    return _loaded(file, dialect)
                _refuse_hidden_metadata(place, paths[0], file)
        return from_arrow(_stream(place, paths), dialect)


def _loaded(file: Any, dialect: Dialect | None) -> SubscriptionTrie:
    """The trie of a file with the metadata of `write`."""
    text, digest_text = _metadata(file)
    metadata, digest = FileMetadata.from_json(text), Digest()
    if dialect is not None and dialect != metadata.dialect:
        raise ValueError(f"its dialect is {metadata.dialect.name}, not the {dialect.name} that was given")
    meaning = Meaning(metadata.integer_subscribers, metadata.json_options)
    building = Building(metadata.dialect, meaning, own=True)
    for batch in _batches(file):
        building.add(batch)
        digest.note(batch)
    if building.rows != metadata.rows:
        raise ValueError(f"{building.rows} subscriptions, where {metadata.rows} were written")
    if digest.text(text) != digest_text:
        raise ValueError("other subscriptions than were written")
    return building.finished()


def _metadata(file: Any) -> tuple[bytes, bytes]:
    """The texts of the metadata and of the digest."""
    metadata = file.metadata.metadata or {}
    if METADATA_KEY not in metadata or not file.schema_arrow.equals(schema()):
        raise ValueError("other columns, or no metadata")
    return metadata[METADATA_KEY], metadata.get(DIGEST_KEY, b"")


def _refuse_hidden_metadata(place: Place, path: str, file: Any) -> None:
    """Damage can hide the metadata from the reader, which then sees texts where other values were written.

    One changed bit in the footer's structure does that. It leaves the bytes of at least one of the keys as they were.
    """
    footer, ending = file.metadata.serialized_size, 8  # a length and a mark end a Parquet file
    with place.files.open_input_file(path) as content:
        content.seek(content.size() - ending - footer)
        text = content.read(footer)
    if METADATA_KEY in text or DIGEST_KEY in text:
        raise ValueError("its metadata cannot be found where it was written")


@contextmanager
def _opened(place: Place, path: str) -> Iterator[Any]:
    pq = extra("pyarrow.parquet")
    with place.files.open_input_file(path) as content, pq.ParquetFile(content, page_checksum_verification=True) as file:
        yield file


def _batches(file: Any) -> Iterator[Any]:
    """The rows, some at a time, never from two batches that were written: they may fit into memory only singly."""
    there = [name for name in USED if name in file.schema_arrow.names]
    for group in range(file.num_row_groups):
        yield from file.iter_batches(BATCH_ROWS, row_groups=[group], columns=there)


def _stream(place: Place, paths: list[str]) -> Any:
    """A reader of the rows of some files, of which the first says which columns there are."""
    pa = extra("pyarrow")
    with _opened(place, paths[0]) as file:
        first = file.schema_arrow
    there = [first.field(name) for name in USED if name in first.names]
    return pa.RecordBatchReader.from_batches(pa.schema(there), _rows(place, paths))


def _rows(place: Place, paths: list[str]) -> Iterator[Any]:
    for path in paths:
        with _opened(place, path) as file:
            yield from _batches(file)


@contextmanager
def _naming(place: Place) -> Iterator[None]:
    """Let what pyarrow says of a file that it cannot make sense of, by errors of many classes, be a ValueError."""
    try:
        yield
    except TopicError:
        raise
    except (ValueError, OSError, extra("pyarrow").ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not pyarrow's
            raise
        raise ValueError(
            f"{place.name} is not a subscription set written by snapshot.write, "
            f"or not by this version of it, or is damaged: {error}"
        ) from error
