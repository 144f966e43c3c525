"""The subscription set as a Parquet file that any Parquet reader understands, and a trie rebuilt from one.

The file holds the columns of `snapshot.columns` and no others, and in its metadata a `snapshot.file_metadata` and a
`snapshot.digest` of the recipe and the rows. It holds data only: nothing in it is executed, and every filter
is validated again when it is loaded.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS, encode, in_batches, schema
from snapshot.cut import cut_of
from snapshot.digest import Digest
from snapshot.file_metadata import FileMetadata, Recorder
from snapshot.texts import Key, SubscriberKeys
from subtrie import SubscriptionTrie, TopicError

METADATA_KEY = b"ctrie.subscriptions"
DIGEST_KEY = b"ctrie.digest"


def write(source: SubscriptionTrie, path: str | os.PathLike[str], *, key: Key | None = None) -> None:
    """Write all subscriptions of one instant into the Parquet file ``path``.

    The file appears, or replaces the one before it, only when it is complete.

    :param source: a subscription trie, or a snapshot of one
    :param path: where to write; Spark reads it with ``spark.read.parquet(path)``
    :param key: turns a subscriber into a string; `load` then gives the strings back
    :raises ImportError: pyarrow is not installed
    :raises OSError: the file cannot be written
    :raises TypeError: ``source`` is no subscription trie, or a subscriber or an option could not be rebuilt from
        its text
    :raises ValueError: two subscribers have the same key

    O(n) time; memory for one batch of 65,536 rows and one entry a distinct subscriber. Linearizes where
    `to_arrow` does.
    """
    pq = extra("pyarrow.parquet")
    target = Path(path)
    if not target.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    cut, keys = cut_of(source), SubscriberKeys(key)
    recorder, digest = Recorder(cut.trie.dialect, keyed=key is not None), Digest()
    try:
        with pq.ParquetWriter(unfinished, schema(), compression="zstd", write_page_checksum=True) as writer:
            for subscriptions in in_batches(cut.trie.subscriptions()):
                for held in subscriptions:
                    recorder.note(held)
                for batch in encode(subscriptions, cut, keys):
                    digest.note(batch)
                    writer.write_batch(batch)
            recipe = recorder.metadata().to_json().encode()
            writer.add_key_value_metadata({METADATA_KEY: recipe, DIGEST_KEY: digest.text(recipe)})
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> SubscriptionTrie:
    """Rebuild a subscription trie from a file that `write` made.

    :param path: the file
    :returns: a new, writable trie with the same dialect, filters, subscribers and options; where the file was
        written with a ``key``, the subscribers are the keys
    :raises ImportError: pyarrow is not installed
    :raises OSError: the file cannot be read
    :raises ValueError: the file was not made by `write`, or not by this version of it, or is damaged
    :raises TopicError: a filter in the file is not one of its dialect

    O(n) time; memory for the trie and one batch of rows.
    """
    pq = extra("pyarrow.parquet")
    with _naming(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        recipe_text, digest_text = _metadata(file)
        recipe, digest = FileMetadata.from_json(recipe_text), Digest()
        trie = SubscriptionTrie(recipe.dialect)
        subscribed = 0
        for batch in _batches(file):
            subscribed += _subscribe(trie, recipe, batch)
            digest.note(batch)
        if subscribed != recipe.rows:
            raise ValueError(f"{subscribed} subscriptions, where {recipe.rows} were written")
        if digest.text(recipe_text) != digest_text:
            raise ValueError("other subscriptions than were written")
    return trie


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let what pyarrow says of a file that it cannot make sense of, by errors of many classes, be a ValueError."""
    try:
        yield
    except TopicError:
        raise
    except (ValueError, OSError, extra("pyarrow").ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not pyarrow's
            raise
        raise ValueError(
            f"{os.fspath(path)} is not a subscription set written by snapshot.write, "
            f"or not by this version of it, or is damaged: {error}"
        ) from error


def _metadata(file: Any) -> tuple[bytes, bytes]:
    """The texts of the recipe and of the digest."""
    metadata = file.metadata.metadata or {}
    if METADATA_KEY not in metadata or not file.schema_arrow.equals(schema()):
        raise ValueError("other columns, or no recipe")
    return metadata[METADATA_KEY], metadata.get(DIGEST_KEY, b"")


def _batches(file: Any) -> Iterator[Any]:
    """The rows, some at a time, never from two batches that were written: they may fit into memory only singly."""
    for group in range(file.num_row_groups):
        yield from file.iter_batches(BATCH_ROWS, row_groups=[group], columns=["filter", "subscriber", "options"])


def _subscribe(trie: SubscriptionTrie, recipe: FileMetadata, batch: Any) -> int:
    """Subscribe what the rows stand for; return how many were not there."""
    columns = (batch.column(name).to_pylist() for name in ("filter", "subscriber", "options"))
    try:
        return trie.subscribe_many(recipe.subscription(*row) for row in zip(*columns, strict=True))
    except TypeError as error:  # the name of a queue group that is no string
        raise ValueError(str(error)) from error
