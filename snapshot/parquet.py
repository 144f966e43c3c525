"""The subscription set as a Parquet file that any Parquet reader understands, and a trie rebuilt from one.

The file holds the columns of `snapshot.columns` and no others, and a `snapshot.recipe` in its metadata. It
holds data only: nothing in it is executed, and every filter is validated again when it is loaded.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from snapshot._extras import extra
from snapshot.columns import BATCH_ROWS, encode, in_batches, schema
from snapshot.cut import cut_of
from snapshot.recipe import Recipe, Recorder
from snapshot.texts import Key, SubscriberKeys
from subtrie import SubscriptionTrie

METADATA_KEY = b"ctrie.subscriptions"


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
    unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    cut, keys = cut_of(source), SubscriberKeys(key)
    recorder = Recorder(cut.trie.dialect, keyed=key is not None)
    try:
        with pq.ParquetWriter(unfinished, schema(), compression="zstd") as writer:
            for subscriptions in in_batches(cut.trie.subscriptions()):
                for held in subscriptions:
                    recorder.note(held)
                writer.write_batch(encode(subscriptions, cut, keys))
            writer.add_key_value_metadata({METADATA_KEY: recorder.recipe().to_json().encode()})
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
    :raises ValueError: the file was not made by `write`, or not by this version of it
    :raises TopicError: a filter in the file is not one of its dialect

    O(n) time; memory for the trie and one batch of rows.
    """
    pq = extra("pyarrow.parquet")
    with pq.ParquetFile(path) as file:
        recipe = _recipe(file, path)
        trie = SubscriptionTrie(recipe.dialect)
        for filter, subscriber, options in _rows(file):
            trie.subscribe(filter, recipe.subscriber(subscriber), **recipe.options(options))
    return trie


def _recipe(file: Any, path: str | os.PathLike[str]) -> Recipe:
    text = (file.metadata.metadata or {}).get(METADATA_KEY)
    if text is None or not file.schema_arrow.equals(schema()):
        raise ValueError(f"{os.fspath(path)} is not a subscription set written by snapshot.write")
    try:
        return Recipe.from_json(text)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)} cannot be read by this version: {error}") from error


def _rows(file: Any) -> Iterator[tuple[str, str, dict[str, str | None]]]:
    for batch in file.iter_batches(BATCH_ROWS, columns=["filter", "subscriber", "options"]):
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            yield row["filter"], row["subscriber"], row["options"]
